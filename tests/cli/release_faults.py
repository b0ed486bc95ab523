"""Child of the kill tests: runs whole releases in processes that are killed, and prints what had reached a reader as JSON.

It is a process of its own because the test runner has threads, and a forked child of theirs may hang.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import BudgetError
from discreet.ledger.ledger import Ledger
from tests.ledger.fault_children import forked

DATASET = "survey"
EPSILON = "0.5"
AFFORDABLE = 40
"""Releases that the budget pays for; the releasers are killed often enough to run into its end."""
LONGEST_LIFE = 4
"""Times a release takes that a releaser lives at most: some are killed before, some within, some after their first output."""
HEADER, ROWS = "risk\n", "low\n" * 30 + "high\n" * 20
TABLE = np.array([[1, 2, 0, 0, 1]] * 200)
"""A row a group."""


def for_ever(release: Callable[[Path], None], folder: Path, turn: int) -> None:
    """Release again and again, each time to an output of its own, until killed or out of budget."""
    for number in range(1000):
        release(folder / "out" / f"{turn}-{number}")


def until_the_draw(release: Callable[[Path], None], folder: Path, turn: int) -> None:
    """Release, and be killed where random bits are asked for: after the spend and before the output."""
    os.urandom = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment, return-value]
    for_ever(release, folder, turn)


def by_command(output: Path) -> None:
    """A release of the command line."""
    folder = output.parent.parent
    charged = ["--ledger", str(folder / "ledger.db"), "--dataset", DATASET]
    asked = ["--column", "risk", "--categories", "low,high", "--epsilon", EPSILON]
    written = ["--output", str(output.with_suffix(".json")), "--quiet"]
    done = CliRunner().invoke(app, ["release", str(folder / "survey.csv"), *asked, *charged, *written])
    if done.exit_code != 0:
        raise BudgetError(done.output)


def of_a_table(output: Path) -> None:
    """A release of a table, whose groups have public sizes, and a file of it that is there whole or not at all."""
    written(output.with_suffix(".npy"), ledger_of(output).release(DATASET, table(), TABLE).raw)


def carelessly(output: Path) -> None:
    """What a release must not do: draw and write, and charge afterwards."""
    mechanism, ledger = dc.LatticeGeometric(dc.Dirichlet([1, 1], categories=["low", "high"]), 50, EPSILON), ledger_of(output)
    output.with_suffix(".partial").write_text(mechanism.release([30, 20]).to_json())
    output.with_suffix(".partial").rename(output.with_suffix(".json"))
    ledger.spend(DATASET, mechanism.guarantee)


def a_table_carelessly(output: Path) -> None:
    """The same with a table."""
    ledger = ledger_of(output)
    written(output.with_suffix(".npy"), table().release(TABLE).raw)
    ledger.spend(DATASET, table().guarantee)


def ledger_of(output: Path) -> Ledger:
    return Ledger(output.parent.parent / "ledger.db")


def written(output: Path, raw: Any) -> None:
    with output.with_suffix(".partial").open("wb") as file:
        np.save(file, raw)
    output.with_suffix(".partial").rename(output)


def table() -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(5), [4] * len(TABLE), EPSILON, by={"arm": [f"arm {i}" for i in range(len(TABLE))]})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """While someone else holds the ledger's write lock, a releaser can output and cannot charge."""
    holder = sqlite3.connect(folder / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


def until_output(folder: Path, turn: int) -> None:
    """Wait for the first output of a releaser."""
    while not [path for path in (folder / "out").glob(f"{turn}-*") if path.suffix != ".partial"]:
        time.sleep(0.001)


def outcome(folder: Path) -> dict[str, int]:
    """Outputs, spends and partial files, after making sure that the ledger is sound and every output whole."""
    connection = sqlite3.connect(folder / "ledger.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    ledger = Ledger(folder / "ledger.db")
    spent = ledger.spent(DATASET).epsilon
    assert spent <= ledger.datasets()[0].total.epsilon
    outputs = [dc.Release.from_json(path.read_text()) for path in (folder / "out").glob("*.json")]
    assert all(output.n == 50 for output in outputs)
    tables = [np.load(path) for path in (folder / "out").glob("*.npy")]
    assert all(table()._is_outcome(raw) for raw in tables)
    return {
        "outputs": len(outputs) + len(tables),
        "spends": len(ledger.history(DATASET)),
        "partial": len(list((folder / "out").glob("*.partial"))),
    }


def kills(location: str, rounds: int, seed: int, *, release: Callable[[Path], None] = by_command, careless: bool = False) -> dict[str, Any]:
    """Kill a releaser at a random instant, many times, and look at what is there after each; every fourth one is killed at its draw.

    The careless one is killed where it is sure to be found out: after its first output, and before the charge, for which it must wait.
    """
    folder = Path(location)
    (folder / "out").mkdir()
    (folder / "survey.csv").write_text(HEADER + ROWS)
    opened(folder)
    chance = random.Random(seed)  # noqa: S311 - instants of kills, not secrets
    life = LONGEST_LIFE * seconds_for_a_release(release, folder)
    seen = {"uncharged": 0, "journals": 0, "within": 0}
    earlier: Counter[str] = Counter()
    last = outcome(folder)
    for turn in range(rounds):
        if last["spends"] >= AFFORDABLE - 2:  # a budget for the next ones
            earlier.update(last)
            renewed(folder)
            last = outcome(folder)
        if not careless and turn % 4 == 3:
            os.waitpid(forked(partial(until_the_draw, release, folder, turn)), 0)
        else:
            with locked(folder) if careless else nullcontext():
                child = forked(partial(for_ever, release, folder, turn))
                until_output(folder, turn) if careless else time.sleep(chance.uniform(0, life))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        seen["journals"] += (folder / "ledger.db-journal").exists()
        now = outcome(folder)
        seen["uncharged"] += now["outputs"] > now["spends"]
        seen["within"] += now["spends"] > now["outputs"] + (last["spends"] - last["outputs"])
        last = now
    earlier.update(last)
    return {**seen, **earlier}


def renewed(folder: Path) -> None:
    """Make an empty ledger and an empty folder of outputs, so that the two can be compared again."""
    for path in [*(folder / "out").iterdir(), *folder.glob("ledger.db*")]:
        path.unlink()
    opened(folder)


def opened(folder: Path) -> None:
    """Make a ledger whose budget takes tables with public sizes and, as it must, releases with one public total."""
    Ledger(folder / "ledger.db").create(DATASET, AFFORDABLE * float(EPSILON), within=["arm"])


def seconds_for_a_release(release: Callable[[Path], None], folder: Path) -> float:
    """How long a release takes here, once all that it needs has been imported (which the releasers then need not do)."""
    start = 0.0
    for number in range(2):
        start = time.perf_counter()
        release(folder / "out" / f"first-{number}")
    return time.perf_counter() - start


def exhaust(location: str) -> dict[str, Any]:
    """Release until the budget is gone, without any kill."""
    folder = Path(location)
    (folder / "out").mkdir()
    (folder / "survey.csv").write_text(HEADER + ROWS)
    Ledger(folder / "ledger.db").create(DATASET, 3 * float(EPSILON))
    with suppress(BudgetError):
        for_ever(by_command, folder, 0)
    return outcome(folder)


MODES: dict[str, Callable[..., dict[str, Any]]] = {
    "kills": kills,
    "careless": lambda location, rounds, seed: kills(location, rounds, seed, release=carelessly, careless=True),
    "tables": lambda location, rounds, seed: kills(location, rounds, seed, release=of_a_table),
    "careless tables": lambda location, rounds, seed: kills(location, rounds, seed, release=a_table_carelessly, careless=True),
    "exhaust": exhaust,
}

if __name__ == "__main__":
    mode, place, *numbers = sys.argv[1:]
    sys.stdout.write(json.dumps(MODES[mode](place, *map(int, numbers))))
