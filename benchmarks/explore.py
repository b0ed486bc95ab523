"""How long the page of `discreet explore` takes to answer while a slider moves: requests to a running server."""

from pathlib import Path
from statistics import median
from time import perf_counter

from tests.web.server import Server, explore

from benchmarks.timing import shown, table

CATEGORIES, RECORDS, PUBLIC = (2, 3), (100, 1_000, 10_000), ("total", "nothing")
SWEEP = tuple(f"{10 ** (step / 8):.2g}" for step in range(-16, 9))
"""ε as the slider passes them, from 0.01 to 10."""
MOST_SECONDS = 0.2
"""The bar, for every answer of a sweep."""


def processor_seconds(process: int) -> float:
    """What a process has computed, in all its threads."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def answered(server: Server, **fields: str) -> float:
    """Seconds that one answer takes: the lesser of wall-clock and processor time, since others use the machine too."""
    start, computed = perf_counter(), processor_seconds(server.process)
    status, text = server.post("/plan/answer", **fields)
    taken = min(perf_counter() - start, processor_seconds(server.process) - computed)
    if status != 200 or "points wide" not in text:
        raise AssertionError(text)
    return taken


def run() -> str:
    """A Markdown table: the median and the longest of a sweep over ε, after a first answer, which has a column of its own."""
    rows = []
    with explore() as server:
        answered(server, categories="2", n="7", public="total", epsilon="1")
        for public in PUBLIC:
            for k in CATEGORIES:
                for n in RECORDS:
                    asked = {"categories": str(k), "n": str(n), "public": public}
                    first = answered(server, **asked, epsilon="1")
                    times = [answered(server, **asked, epsilon=epsilon) for epsilon in SWEEP]
                    met = "yes" if max(times) <= MOST_SECONDS else "**no**"
                    rows.append((public, str(k), f"{n:,}", shown(first), shown(median(times)), shown(max(times)), met))
    head = ("public", "k", "n", "first", "median of a sweep", "longest", f"within {shown(MOST_SECONDS)}")
    told = "One answer of the screen for plans while its slider goes from 0.01 to 10, by LatticeGeometric: widths, odds and the example."
    return f"## The page\n\n{told}\n\n{table(head, rows)}\n"
