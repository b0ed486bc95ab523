"""What counting costs on top of DuckDB's own group-by, for a Parquet file of 20 million rows: time and memory."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import duckdb

from benchmarks.timing import shown, table
from discreet.data.count import count

ROWS = 20_000_000
PERSONS = 2_000_000
CATEGORIES = ("never", "former", "occasional", "daily", "unknown")
REPEATS = 15
MOST_TIME, MOST_MEMORY = 1.2, 200
"""The bar: times the raw group-by, and MB on top of it."""


def _connected() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


def write(path: Path) -> None:
    labels = ", ".join(f"'{category}'" for category in CATEGORIES)
    query = f"""SELECT [{labels}][1 + (hash(i) % {len(CATEGORIES)})::INT] AS smoking, hash(i + 1) % {PERSONS} AS person,
                       (hash(i + 2) % 100)::INT AS age FROM range({ROWS}) AS t(i)"""  # noqa: S608 - no input of anyone's
    with _connected() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def raw(path: str) -> object:
    with _connected() as connection:
        return connection.execute("SELECT smoking, count(*) FROM read_parquet(?) GROUP BY smoking", [path]).fetchall()


def raw_persons(path: str) -> object:
    query = "SELECT answer, count(*) FROM (SELECT min(smoking) AS answer FROM read_parquet(?) GROUP BY person) GROUP BY answer"
    with _connected() as connection:
        return connection.execute(query, [path]).fetchall()


def counted(path: str) -> object:
    return count(path, "smoking", CATEGORIES)


def counted_persons(path: str) -> object:
    return count(path, "smoking", CATEGORIES, privacy_id="person")


ACTIONS: dict[str, Callable[[str], object]] = {
    "raw": raw,
    "counted": counted,
    "raw_persons": raw_persons,
    "counted_persons": counted_persons,
}


def times(path: str, names: tuple[str, str], repeats: int) -> tuple[float, float]:
    """Median seconds of each, taken in turns so that whatever else the machine does falls on both."""
    taken: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats + 1):
        for name in names:
            start = perf_counter()
            ACTIONS[name](path)
            if turn:
                taken[name].append(perf_counter() - start)
    return median(taken[names[0]]), median(taken[names[1]])


def megabytes(path: str, name: str) -> float:
    """Peak memory of a process that does nothing else."""
    command = [sys.executable, "-m", "benchmarks.sources", name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return float(done.stdout)


def run() -> str:
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "survey.parquet"))
        write(Path(path))
        rows = []
        for what, names, repeats in (
            ("records", ("raw", "counted"), REPEATS),
            ("persons (2 million ids)", ("raw_persons", "counted_persons"), 3),
        ):
            before, after = times(path, names, repeats)
            least, most = megabytes(path, names[0]), megabytes(path, names[1])
            bar = f"≤ {MOST_TIME} × and ≤ {MOST_MEMORY} MB" if what == "records" else ""
            rows.append((what, shown(before), shown(after), f"{after / before:.2f} ×", f"{least:.0f} MB", f"{most - least:+.0f} MB", bar))
    head = ("20 million rows, Parquet", "DuckDB group-by", "`count`", "ratio", "DuckDB's peak memory", "`count` adds", "bar")
    return f"## Counting a file\n\nBoth include opening DuckDB and the file.\n\n{table(head, rows)}\n"


if __name__ == "__main__":
    ACTIONS[sys.argv[1]](sys.argv[2])
    # Not getrusage(), which counts the parent's memory at the time of the fork.
    print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024)
