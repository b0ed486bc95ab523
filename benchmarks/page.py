"""docs/research/benchmarks.md and its plot, made from docs/research/benchmarks.json alone: what is published is what was measured."""

import json
import re
from collections.abc import Iterable
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import gigabytes, shown, table
from discreet.plotting.style import MECHANISMS, QUIET, SERIES, dress, house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS = Path(__file__).parent.parent / "docs"
RESEARCH = DOCS / "research"
RECORD, PAGE, PLOT = RESEARCH / "benchmarks.json", RESEARCH / "benchmarks.md", RESEARCH / "benchmarks.png"
SPEEDUPS = RESEARCH / "speedups.json"
OURS = "discreet HellingerSmooth"
ASIDE = ("the list and its scores alone", "the scale alone", "discreet, first of its prior and n")
"""What has a table of its own and no line in the plot."""
HEADS = {
    OURS: "discreet",
    "papers, straightforward": "papers' way",
    "OpenDP exponential mechanism": "OpenDP exponential",
    "diffprivlib Exponential": "diffprivlib",
    "discreet, first of its prior and n": "discreet, first release",
    "the list and its scores alone": "list and scores",
    "the scale alone": "scale",
}
"""Names that leave the numbers of a column room."""
Row = dict[str, Any]


def write(record: Row) -> None:
    """Replace the record, the page and the plot."""
    RECORD.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    PAGE.write_text(page(record))
    draw(record, PLOT)


def write_part(name: str, part: Row, quoted: dict[str, float] | None = None) -> None:
    """Replace one part of the record that was measured by itself, and the page."""
    record = json.loads(RECORD.read_text())
    record[name] = part
    record["quoted"] |= quoted or {}
    RECORD.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    PAGE.write_text(page(record))


_LISTS = """\
OpenDP and diffprivlib are *given* the list of candidates, its scores and the scale before the clock starts
([timed below](#first-releases-lists-and-the-scale)). The scale depends on the data, which their own proofs do not cover. "papers' way" is
the papers' algorithm, written straightforwardly. Ratios in brackets are to discreet; "stops" is a prediction."""
_ASIDE = """\
discreet keeps tables of public numbers between releases of the same prior and n. Ratios are to its later releases."""
_VARIES = """\
OpenDP's exact noisy max varies widely from call to call: which of its variants is ahead at n = 10,000,000 is within that noise."""
_COUNTS = """\
discreet also checks and makes the record. OpenDP's draw is exact, diffprivlib's is in floats."""
_ACCURACY = """\
Mean Hellinger distance from the true posterior to the published one under the prior predictive, at equal ε, and over
[the least that is possible](accuracy.md#how-far-from-the-best-possible-mechanism). The loss is the exact worst case. OpenDP's and
diffprivlib's exponential mechanisms have the *global* sensitivity here, as their guarantees ask. Noisy max and the histograms are simulated
(± a standard error)."""


def page(record: Row) -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    limits = f"{record['limits']['seconds']:g} s or {record['limits']['megabytes'] / 1024:g} GB"
    whole = f"""# Benchmarks

One private posterior, by discreet and by others, measured in one run by `python -m benchmarks --write`, which makes this page. Read the
ratios: times belong to the machine.

{record["machine"]}, {versions}.

ε = {record["epsilon"]}, prior of ones, 40 % of the records in the first category. Each contender goes on
until the next size is predicted to take more than {limits}. A time is the median over releases, each by a new mechanism, of the lesser of
wall-clock and processor time, without the quantum of time.
Memory is what is added to the process after its imports and a first small release.

![Time of one release against the number of records](benchmarks.png)

{tables(record)}
## Against an earlier revision

{_speedups(json.loads(SPEEDUPS.read_text()))}
`python -m benchmarks.bulk --write` and `python -m benchmarks.clock --write` measure one part; other modules of `benchmarks` print
more tables.
"""
    # A part that was measured elsewhere says where.
    return re.sub(rf"\s+On {re.escape(record['machine'])}:", "", whole)


def _speedups(record: Row) -> str:
    told = f"""Both trees in one run, in processes that take turns (`python -m benchmarks.against {record["before"]} --write`).
On {record["machine"]}:"""
    body = [[row["case"], shown(row["before"]), shown(row["after"]), f"{row['before'] / row['after']:.2g}×"] for row in record["rows"]]
    return f"{told}\n\n{table(['', 'before', 'after', 'before / after'], body)}\n"


def tables(record: Row) -> str:
    """All tables, as Markdown."""
    from benchmarks import bulk, clock  # which measure with what is measured here

    speed, accuracy = record["speed"], record["accuracy"]
    parts = [
        "## One release of the smooth Hellinger mechanism",
        _LISTS,
        *_most(record.get("quoted", {})),
        *(_speed([row for row in speed if row["k"] == k], k) for k in sorted({row["k"] for row in speed})),
        "### First releases, lists and the scale",
        _ASIDE,
        _aside(speed),
        "### n = 1,000,000, k = 2 in detail",
        _VARIES,
        _detail([row for row in speed if (row["k"], row["n"]) == (2, 10**6) and "seconds" in row]),
        "### Growth",
        "Exponents of n, fitted to the times at the upper half of the sizes.",
        _growth(speed),
        "## One release of noisy counts",
        _COUNTS,
        _counts(record["counts"]),
        "## Noise in bulk",
        bulk.tables(record["bulk"]),
        "## What time and bits tell",
        clock.tables(record["clock"]),
        "## Accuracy beside speed",
        _ACCURACY,
        *(_accuracy([row for row in accuracy if row["k"] == k]) for k in sorted({row["k"] for row in accuracy})),
    ]
    return "\n\n".join(parts) + "\n"


def _most(quoted: Row) -> list[str]:
    """What discreet takes at most, at any size measured, of the time of another library."""
    if "most_of_given" not in quoted:
        return []
    given, counted = quoted["most_of_given"], quoted["most_of_counted"]
    return [
        f"Over all sizes discreet takes at most {given:.3g} times as long as a library that is given all this, and at most "
        f"{counted:.3g} times as long as one for which it is counted."
    ]


def _speed(rows: list[Row], k: int) -> str:
    peers = [peer for peer in dict.fromkeys(row["peer"] for row in rows) if peer not in ASIDE]
    at = {(row["peer"], row["n"]): row for row in rows}
    sizes = sorted({n for peer, n in at if peer in peers})
    body = [[f"{n:,}", _size(_candidates(rows, n)), *(_cell(at.get((peer, n)), at.get((OURS, n))) for peer in peers)] for n in sizes]
    return f"### k = {k}\n\n" + table(["n", "candidates", *_heads(peers)], [*body, ["most memory", "", *_memory(rows, peers)]])


def _aside(rows: list[Row]) -> str:
    at = {(row["k"], row["n"], row["peer"]): row for row in rows}
    body = [
        [k, f"{n:,}", *(_cell(at.get((k, n, peer)), at.get((k, n, OURS))) for peer in ASIDE)]
        for k, n in sorted({(k, n) for k, n, peer in at if peer in ASIDE})
    ]
    return table(["k", "n", *_heads(ASIDE)], [*body, ["", "most memory", *_memory(rows, ASIDE)]])


def _memory(rows: list[Row], peers: Iterable[str]) -> list[str]:
    return [f"{max(row.get('megabytes', 0.0) for row in rows if row['peer'] == peer):,.0f} MB" for peer in peers]


def _heads(peers: Iterable[str]) -> list[str]:
    return [HEADS.get(peer, peer) for peer in peers]


def _candidates(rows: list[Row], n: int) -> int:
    return int(next(row["candidates"] for row in rows if row["n"] == n))


def _size(count: int) -> str:
    return f"{count:,}" if count < 10**7 else f"{count:.1e}"


def _detail(rows: list[Row]) -> str:
    ours = next(row["seconds"] for row in rows if row["peer"] == OURS)
    body = [
        [row["peer"], shown(row["seconds"]), " to ".join(shown(t) for t in row["quartiles"]), row["calls"], f"{row['seconds'] / ours:.0f}×"]
        for row in rows
    ]
    return table(["", "median", "middle half of the calls", "calls", "median over discreet's"], body)


def _cell(row: Row | None, ours: Row | None) -> str:
    if row is None:
        return ""
    if "refused" in row:
        return "refused: too large"
    if "predicted" in row:
        seconds, memory = row["predicted"]
        return f"stops ({shown(seconds)}, {gigabytes(memory)})"
    if ours is None or row is ours or "seconds" not in ours:
        return shown(row["seconds"])
    ratio = row["seconds"] / ours["seconds"]
    return f"{shown(row['seconds'])} ({ratio:,.0f}×)" if ratio >= 1000.0 else f"{shown(row['seconds'])} ({ratio:.3g}×)"


def _growth(rows: list[Row]) -> str:
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    categories = sorted({row["k"] for row in rows})
    body = [[peer, *(exponent(row for row in rows if (row["peer"], row["k"]) == (peer, k)) for k in categories)] for peer in peers]
    return table(["", *(f"k = {k}" for k in categories)], body)


def exponent(rows: Iterable[Row]) -> str:
    """The power of n that times grow by."""
    timed = [(log(row["n"]), log(row["seconds"])) for row in rows if "seconds" in row]
    upper = timed[len(timed) // 2 :] if len(timed) >= 4 else timed
    if len(upper) < 2:
        return "one size only"
    x, y = (sum(values) / len(upper) for values in zip(*upper, strict=True))
    slope = sum((u - x) * (v - y) for u, v in upper) / sum((u - x) ** 2 for u, _ in upper)
    return f"$n^{{{slope:.2f}}}$"


def _counts(rows: list[Row]) -> str:
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    at = {(row["peer"], row["k"], row["n"]): row for row in rows}
    cases = sorted({(row["k"], row["n"]) for row in rows})
    return table(["k", "n", *peers], [[k, f"{n:,}", *(_cell(at[peer, k, n], at[peers[0], k, n]) for peer in peers)] for k, n in cases])


def _accuracy(rows: list[Row]) -> str:
    body = [
        [row["peer"], _error(row), f"{row['ratio']:.3f}", "" if row["loss"] is None else f"{row['loss']:.4f}", row["note"]] for row in rows
    ]
    head = ["contender", "mean error", "over the optimum", "loss", ""]
    return f"### k = {rows[0]['k']}, n = {rows[0]['n']}\n\n" + table(head, body)


def _error(row: Row) -> str:
    return f"{row['error']:.4f}" + (f" ± {row['standard_error']:.4f}" if "standard_error" in row else "")


def draw(record: Row, path: Path) -> None:
    """Time against n for two, three and ten categories."""
    speeds(record).savefig(path, dpi=150, metadata={"Software": None})
    keep(path, path)


_WIDEST = 1280
"""Pixels."""


def keep(drawn: Path, kept: Path, *, colours: int = 256) -> None:
    """Write a picture in few bytes: with so many colours, and no wider than a page shows it."""
    from PIL import Image

    with Image.open(drawn) as opened:
        picture = opened.convert("RGB")
        picture.thumbnail((_WIDEST, 4 * _WIDEST), Image.Resampling.LANCZOS)
        picture.quantize(colours, dither=Image.Dither.NONE).save(kept, optimize=True)


def speeds(record: Row) -> "Figure":
    """The picture of all times, with one legend below its panels."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    peers = [peer for peer in dict.fromkeys(row["peer"] for row in record["speed"]) if peer not in ASIDE]
    others = iter(SERIES[1:])  # the first has the colour of our own
    looks = {peer: MECHANISMS["HellingerSmooth"] if peer == OURS else next(others) for peer in peers}
    with house_style(font_family="DejaVu Sans"):
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        for ax, k in zip(axes, (2, 3, 10), strict=True):
            dress(ax)
            for peer, look in looks.items():
                rows = [row for row in record["speed"] if (row["peer"], row["k"]) == (peer, k) and "seconds" in row]
                line = look.line() | ({"linewidth": 2.6, "markersize": 6.5, "zorder": 3} if peer == OURS else {})
                ax.plot([row["n"] for row in rows], [row["seconds"] for row in rows], label=peer, **line)
            ax.axhline(record["limits"]["seconds"], color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)), label="where measuring stops")
            ax.set(xscale="log", yscale="log", xlabel="records, n", title=f"{k} categories")
            ax.xaxis.set_major_locator(LogLocator(numticks=6))
        axes[0].set_ylabel("seconds for one release")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=3.2)
        figure.draw_without_rendering()  # lays it out in this style
    return figure
