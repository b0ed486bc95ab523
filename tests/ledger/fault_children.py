"""Children of the ledger's fault tests: a process that forks spenders, kills or races them, and prints what it saw as JSON.

It is a process of its own because the test runner has threads, and a forked child of theirs may hang.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import BudgetError, DiscreetError, LedgerError, RepeatedError
from discreet.ledger.ledger import Ledger

DATASET = "survey"
AMOUNT = "0.1"
BUDGET = 10_000
KIND: dict[str, Any] = {}
PERIOD: str | None = None
"""What datasets are created with beside their budget, and the periods that spenders charge."""
LONGEST_LIFE = 15
"""Times a spend takes that a spender lives at most: some are killed at once, some after a few outputs."""


def forked(work: Callable[[], None]) -> int:
    """Run work in a child that ends without cleaning up after its parent."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


def spend_and_output(location: str, out: int, *, careless: bool) -> None:
    """Spend, then output, for ever. The careless one outputs first: it must be found out."""
    ledger = Ledger(location)
    if "://" not in location and not Path(location).exists():
        ledger.create(DATASET, BUDGET, **KIND)
    while True:
        if careless:
            os.write(out, f"{len(ledger.history(DATASET)) + 1}\n".encode())
        line = ledger.spend(DATASET, AMOUNT, note="one of many", period=PERIOD)
        if not careless:
            os.write(out, f"{line.number}\n".encode())


def killed_once(location: str, wait: float, *, careless: bool) -> list[int]:
    """The numbers of the spends whose outputs reached a reader before the spender was killed.

    The careless one is killed where it is sure to be found out: after its first output, while a lock held here keeps it from spending.
    """
    reading, writing = os.pipe()
    holder = sqlite3.connect(location, isolation_level=None) if careless else None
    if holder is not None:
        holder.execute("BEGIN IMMEDIATE")
    child = forked(lambda: spend_and_output(location, writing, careless=careless))
    os.close(writing)
    first = os.read(reading, 100).decode() if holder is not None else ""
    if holder is None:
        time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if holder is not None:
        holder.close()
    with os.fdopen(reading) as pipe:
        return [int(line) for line in (first + pipe.read()).split()]


def recorded(location: str) -> list[int]:
    """The numbers of all spends, and that the ledger is sound."""
    ledger = Ledger(location)
    if "://" not in location:
        connection = sqlite3.connect(location)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    try:
        ledger.history(DATASET)
    except LedgerError as error:
        if "no ledger" not in str(error):
            raise
        ledger.create(DATASET, BUDGET, **KIND)  # killed before the first dataset was there: the ledger must still be able to begin
    if PERIOD is not None:  # all of its months were charged the same, or none was
        charged = {one.spent for one in ledger.periods(DATASET)}
        assert len(charged) <= 1
        assert len(ledger.periods(DATASET)) in (0, 3)
    else:
        assert ledger.spent(DATASET).epsilon <= BUDGET
    assert ledger.remaining(DATASET, PERIOD).epsilon >= 0
    return [line.number for line in ledger.history(DATASET)]


def seconds_for_a_spend(location: str) -> float:
    """How long a spend takes here, once all that it needs has been imported (which the spenders then need not do)."""
    recorded(location)
    ledger, tries = Ledger(location), 3
    start = time.perf_counter()
    for _ in range(tries):
        ledger.spend(DATASET, AMOUNT, period=PERIOD)
    return (time.perf_counter() - start) / tries


def kills(location: str, rounds: int, seed: int, *, careless: bool = False) -> dict[str, int]:
    """Kill a spender at a random instant, many times; every third one while it makes a ledger of its own."""
    chance = random.Random(seed)  # noqa: S311 - instants of kills, not secrets
    seen = {"outputs": 0, "spends": 0, "lost": 0, "journals": 0}
    outputs: list[int] = []
    life = LONGEST_LIFE * seconds_for_a_spend(location)
    for turn in range(rounds):
        wait = chance.uniform(0, life)
        if turn % 3 == 2 and not careless and "://" not in location:
            fresh = f"{location}-{turn}"
            reached = killed_once(fresh, wait, careless=careless)
            seen["journals"] += Path(fresh + "-journal").exists()
            seen["lost"] += len(set(reached) - set(recorded(fresh)))
            continue
        outputs += killed_once(location, wait, careless=careless)
        seen["journals"] += Path(location + "-journal").exists()
        numbers = recorded(location)
        seen["lost"] += len(set(outputs) - set(numbers))
        seen["spends"] = len(numbers)
    return {**seen, "outputs": len(outputs)}


def race(location: str, processes: int, affordable: int) -> dict[str, int]:
    """A race for a plain budget."""
    ledger = Ledger(location, timeout=60)
    ledger.create(DATASET, f"{affordable}.05")
    return raced(ledger, "1", processes)


def filter_race(location: str, processes: int, affordable: int) -> dict[str, int]:
    """A race for the last of what a filter allows beyond the plain sum."""
    from discreet.ledger.filters import affordable as allowed

    ledger = Ledger(location, timeout=60)
    rule = ledger.create(DATASET, 1, "1e-3", planned_epsilon=AMOUNT).filter
    assert rule is not None
    for _ in range(allowed(rule, Fraction(AMOUNT)) - affordable):
        ledger.spend(DATASET, AMOUNT)
    assert ledger.spent(DATASET).epsilon >= 1
    return raced(ledger, AMOUNT, processes)


def period_race(location: str, processes: int, affordable: int) -> dict[str, int]:
    """A race for the last of one of three months, which all are charged together."""
    ledger = Ledger(location, timeout=60)
    ledger.create(DATASET, processes, unit="person", every="month")
    ledger.spend(DATASET, processes - affordable, period="2025-02")
    seen = raced(ledger, "1", processes, period="2025-01..2025-03")
    left = [int(ledger.remaining(DATASET, month).epsilon) for month in ("2025-01", "2025-02", "2025-03")]
    assert left == [processes - affordable, 0, processes - affordable]
    return seen


def period_kills(location: str, rounds: int, seed: int) -> dict[str, int]:
    """Kill spenders that charge three months at once."""
    global PERIOD
    PERIOD = "2025-01..2025-03"
    KIND.update(unit="person", every="month")
    return kills(location, rounds, seed)


def request_race(location: str, processes: int) -> dict[str, int]:
    """A race of one request, sent many times, for a budget that would pay for all of them."""
    ledger = Ledger(location, timeout=60)
    ledger.create(DATASET, processes)
    return raced(ledger, "1", processes, request="the same")


def raced(ledger: Ledger, amount: str, processes: int, request: str | None = None, period: str | None = None) -> dict[str, int]:
    """Many processes, let go at once, each try to take one share of what only some can have."""
    gate, opener = os.pipe()
    reading, writing = os.pipe()

    def one() -> None:
        os.close(opener)
        os.read(gate, 1)
        try:
            ledger.spend(DATASET, amount, request=request, period=period)
            os.write(writing, b"+")
        except (BudgetError, RepeatedError):
            os.write(writing, b"-")
        except BaseException as error:
            os.write(writing, b"?")
            sys.stderr.write(f"{error}\n")

    children = [forked(one) for _ in range(processes)]
    os.close(opener)
    os.close(writing)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    return {"spent": told.count("+"), "refused": told.count("-"), "failed": told.count("?"), "lines": len(ledger.history(DATASET))}


def read_only(_location: str) -> dict[str, Any]:
    """Spend from a ledger that may only be read, as a user who must obey permissions."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.db")
        ledger = Ledger(path)
        ledger.create(DATASET, 1)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(65534)
        try:
            told = attempt(ledger)
            left = str(ledger.remaining(DATASET))
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            Path(folder).chmod(0o755)
        return {"told": told, "left": left}


def too_large(location: str) -> dict[str, Any]:
    """Spend when no file may grow: what a full disk looks like to a program, without one."""
    import resource

    ledger = Ledger(location)
    ledger.create(DATASET, 1)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    told = attempt(ledger)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    before = str(ledger.remaining(DATASET))
    ledger.spend(DATASET, AMOUNT)
    return {"told": told, "left": before, "then": str(ledger.remaining(DATASET))}


def attempt(ledger: Ledger) -> str:
    """What a spend is told."""
    try:
        ledger.spend(DATASET, AMOUNT)
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}"
    return "spent"


MODES: dict[str, Callable[..., dict[str, Any]]] = {
    "kills": kills,
    "careless": lambda location, rounds, seed: kills(location, rounds, seed, careless=True),
    "race": race,
    "request race": request_race,
    "filter-race": filter_race,
    "period-race": period_race,
    "period-kills": period_kills,
    "read-only": read_only,
    "too-large": too_large,
}

if __name__ == "__main__":
    mode, location, *numbers = sys.argv[1:]
    sys.stdout.write(json.dumps(MODES[mode](location, *map(int, numbers))))
