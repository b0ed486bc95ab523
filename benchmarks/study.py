"""What counting the six tables of a study in one pass costs, beside the slowest of them alone: a CSV file of 5 million rows."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import duckdb

from benchmarks.timing import shown, table
from discreet.data.count import tallied
from discreet.data.made_labels import Bands
from discreet.data.question import CountingQuestion, question_of

ROWS, PERSONS = 5_000_000, 2_000_000
AGES = {"age": ["18-34", "35-54", "55+"]}
REGIONS = {"region": ["north", "south", "east", "west"]}
ANSWERS = (
    ["never", "former", "current"],
    ["yes", "no"],
    ["low", "mid", "high", "none"],
    ["a", "b", "c", "d", "e"],
    ["good", "fair", "poor"],
)
GROUPS = (AGES | REGIONS, AGES, None, REGIONS, None)
BARS = {None: 1.5, "person": 3.0}
"""How many times as long as the slowest table alone all six may take, by the column of ids."""


def write(path: Path) -> None:
    """A file with five questions, a number, an age, a region and an id."""
    listed = {f"q{i}": labels for i, labels in enumerate(ANSWERS)} | AGES | REGIONS
    columns = [f"{labels!r}[1 + (hash(i + {j}) % {len(labels)})::INT] AS {name}" for j, (name, labels) in enumerate(listed.items(), 2)]
    query = f"""SELECT concat('p', hash(i) % {PERSONS}) AS person, {", ".join(columns)}, (hash(i + 1) % 100) / 10 AS hours
                FROM range({ROWS}) AS t(i)"""  # noqa: S608 - no input of anyone's
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (HEADER)")


def questions(privacy_id: str | None) -> list[CountingQuestion]:
    asked = [question_of(f"q{i}", ANSWERS[i], privacy_id, by=GROUPS[i]) for i in range(len(ANSWERS))]
    return [*asked, question_of("hours", Bands([0, 1, 3, 7]), privacy_id, by=AGES)]


def seconds(path: Path, asked: list[CountingQuestion]) -> float:
    """The lesser of wall-clock and processor time, so that what else the machine does is not counted."""
    wall, processor = perf_counter(), process_time()
    tallied(path, asked)
    return min(perf_counter() - wall, process_time() - processor)


def run() -> str:
    rows = []
    with TemporaryDirectory() as folder:
        write(path := Path(folder, "survey.csv"))
        for privacy_id, bar in BARS.items():
            asked = questions(privacy_id)
            alone = max(seconds(path, [question]) for question in asked)
            together = seconds(path, asked)
            kind = "rows" if privacy_id is None else f"{PERSONS:,} persons"
            rows.append((kind, shown(alone), shown(together), f"{together / alone:.2f} ×", f"≤ {bar:g} ×"))
    head = (f"{ROWS:,} rows, CSV", "slowest table alone", "six tables in one pass", "ratio", "bar")
    return f"## Counting a study\n\n{table(head, rows)}\n"
