"""This tree against an earlier revision, side by side in one run: `python -m benchmarks.against REVISION [case ...] [--write]`.

The revision's `src` is unpacked beside this one, and every case runs in fresh processes that take turns, old and new, so that a busy or
throttled machine slows both. Every call but a release begins with empty caches, as a command line's does; `--write` keeps the
table as docs/research/speedups.json.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from functools import _lru_cache_wrapper, partial
from inspect import signature
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from benchmarks.timing import machine, shown, table

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "research" / "speedups.json"
ROUNDS, CALLS = 3, 1000
ENOUGH, LONG, SLOW = 1.0, 15.0, 60.0
"""Seconds of calls that a process makes, up to so many; beyond which one call, with its imports, will do; and a case has one round."""
Action = Callable[[], object]
Row = dict[str, Any]


# --- the cases: only what both revisions can do, imported when it is made -----------------------------------------------


def _process(*words: str) -> Action:
    return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True)  # noqa: S603 - our own interpreter


def _release(name: str, k: int, n: int) -> Action:
    import discreet as dc
    from benchmarks.peers import balanced

    counts = balanced(n, k)
    return lambda: getattr(dc, name)(dc.Dirichlet.uniform(k), n, 1).release(counts, steady=False)


def _law(name: str, k: int, n: int) -> Action:
    import discreet as dc
    from benchmarks.peers import balanced

    counts = balanced(n, k)
    return lambda: getattr(dc, name)(dc.Dirichlet.uniform(k), n, 1).law(counts)


def _of_mechanism(function: str, name: str, k: int, n: int, **options: Any) -> Action:
    import discreet as dc

    return lambda: getattr(dc, function)(getattr(dc, name)(dc.Dirichlet.uniform(k), n, 1), **options)


def _plan(k: int, **options: Any) -> Action:
    """A plan for an error of 0.05, also in revisions in which that was the second argument."""
    import discreet as dc

    ask: Any = dc.plan
    if "error" in signature(ask).parameters:
        return lambda: ask(dc.Dirichlet.uniform(k), error=0.05, **options)
    return lambda: ask(dc.Dirichlet.uniform(k), 0.05, **options)


def _of_prior(function: str, k: int, *arguments: Any, **options: Any) -> Action:
    import discreet as dc

    return lambda: getattr(dc, function)(dc.Dirichlet.uniform(k), *arguments, **options)


def _summaries(promise: str, groups: int, categories: int, epsilon: float) -> Action:
    import numpy as np

    from benchmarks.groups import noisy_table

    z, slope, public = noisy_table(promise, groups, categories, epsilon)
    return _group_summaries(z, np.ones(categories), slope, **public)


def _small_summaries(epsilon: float) -> Action:
    import numpy as np

    from benchmarks.augmentation import CATEGORIES, TOTAL, noisy_table

    z, slope = noisy_table(epsilon, 1)
    return _group_summaries(z, np.ones(CATEGORIES), slope, total=TOTAL)


def _group_summaries(z: Any, a: Any, slope: float, **public: Any) -> Action:
    """Summaries of a table with geometric noise, also in revisions that ask for the slope of the noise."""
    from discreet.inference.tables.summaries import group_summaries

    noise: Any = slope
    if "noise" in signature(group_summaries).parameters:
        from discreet.mechanisms.lattice import GeometricNoise

        noise = GeometricNoise(len(a), slope)
    return lambda: group_summaries(z, a, noise, **public)


def _contrasts(promise: str, groups: int) -> Action:
    from benchmarks.contrasts import noisy_posterior

    return lambda: noisy_posterior(promise, groups).contrasts("current")


_SURVEY = "release examples/survey.csv --column smoking --categories never,former,current --epsilon 1 --privacy-id participant --json"


def _cases() -> dict[str, Callable[[], Action]]:
    cases: dict[str, Callable[[], Action]] = {
        "nothing": lambda: lambda: None,
        "import discreet": partial(_process, "-c", "import discreet"),
        "import compare": partial(_process, "-c", "from discreet import compare"),
        "discreet --help": partial(_process, "-m", "discreet", "--help"),
        "discreet release, the survey": partial(_process, "-m", "discreet", *_SURVEY.split()),
    }
    for k, n in ((2, 100), (2, 10**6), (3, 100), (3, 10**4), (10, 1000), (10, 10**4)):
        cases[f"release HellingerSmooth, k = {k}, n = {n}"] = partial(_release, "HellingerSmooth", k, n)
    for k in (2, 10):
        cases[f"release LatticeGeometric, k = {k}, n = {10**6}"] = partial(_release, "LatticeGeometric", k, 10**6)
    for name in ("HellingerSmooth", "LaplaceHistogram", "LaplaceZhang", "LatticeGeometric"):
        for k, n in ((2, 1000), (3, 100)):
            cases[f"law {name}, k = {k}, n = {n}"] = partial(_law, name, k, n)
    for name in ("HellingerGlobal", "HellingerSmooth"):
        for k, n in ((2, 2000), (3, 60)):
            cases[f"privacy_loss {name}, k = {k}, n = {n}"] = partial(_of_mechanism, "privacy_loss", name, k, n)
    for k, n in ((2, 200), (2, 1500), (3, 30), (3, 300), (4, 100)):
        cases[f"compare, k = {k}, n = {n}"] = partial(_of_prior, "compare", k, n, 1)
    for k in (2, 3):
        cases[f"plan epsilon, k = {k}, n = 1000"] = partial(_plan, k, n=1000)
        cases[f"plan n, k = {k}, epsilon = 1"] = partial(_plan, k, epsilon=1)
    for name in ("HellingerSmooth", "LaplaceZhang", "LatticeGeometric"):
        cases[f"expected_error {name}, k = 3, n = 600"] = partial(_of_mechanism, "expected_error", name, 3, 600, over="predictive")
    for promise in ("sizes public", "nothing public", "total public"):
        cases[f"summaries of 20000 groups x 5, {promise}"] = partial(_summaries, promise, 20_000, 5, 0.5)
    for epsilon in (1.0, 0.25, 0.1):
        cases[f"summaries of 6 groups x 3, N = 150 public, epsilon = {epsilon:g}"] = partial(_small_summaries, epsilon)
    for promise in ("sizes public", "nothing public", "total public"):
        cases[f"contrasts of all pairs of 12 groups, {promise}"] = partial(_contrasts, promise, 12)
    return cases


CASES = _cases()


# --- measuring: in a process of its own ---------------------------------------------------------------------------------


def _processor() -> float:
    """Processor seconds of this process and of those it has waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _empty_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "discreet":
            for thing in vars(module).values():
                if isinstance(thing, _lru_cache_wrapper):
                    thing.cache_clear()


def seconds(name: str) -> float:
    """Median of repeated calls, of each the lesser of wall-clock and processor time; the first does not count if it is followed by more."""
    action, times = CASES[name](), list[float]()
    while not times or (sum(times[1:]) < ENOUGH and len(times) <= CALLS and times[0] < LONG):
        if not name.startswith("release"):
            _empty_caches()
        wall, processor = perf_counter(), _processor()
        action()
        times.append(min(perf_counter() - wall, _processor() - processor))
    return median(times[1:] or times)


def _measured(name: str, source: Path) -> float:
    """Seconds of a case in a fresh process that imports the package from this folder, which it checks."""
    command = [sys.executable, "-m", "benchmarks.against", "--measure", str(source), name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)  # noqa: S603 - our own
    return float(done.stdout)


def checked_seconds(source: Path, name: str) -> float:
    """Seconds of a case in this process, which must have imported the package from this folder."""
    import discreet

    found = Path(discreet.__file__).resolve()
    if not found.is_relative_to(source.resolve()):
        raise RuntimeError(f"measured {found} instead of {source}")
    return seconds(name)


# --- side by side -------------------------------------------------------------------------------------------------------


def _git(*words: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, stdout=subprocess.PIPE).stdout  # noqa: S603, S607


def compare(revision: str, names: Iterable[str], rounds: int = ROUNDS, tell: Callable[[Row], None] = lambda _: None) -> list[Row]:
    """Seconds before, at this revision, and after, in this tree, for every case: medians over rounds that take turns."""
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", revision, "src"))) as archive:
            archive.extractall(folder, filter="data")
        for name in names:
            before, after = list[float](), list[float]()
            while len(before) < rounds and (not before or before[0] < SLOW):
                before.append(_measured(name, Path(folder) / "src"))
                after.append(_measured(name, ROOT / "src"))
            rows.append({"case": name, "before": median(before), "after": median(after), "rounds": len(before)})
            tell(rows[-1])
    return rows


def _cells(row: Row) -> tuple[str, ...]:
    return row["case"], shown(row["before"]), shown(row["after"]), f"{row['before'] / row['after']:.2f}×"


def main(words: list[str]) -> int:
    """Print the table, row by row as it comes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("revision", help="the earlier git revision")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"how the case's name begins; of all: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help=f"keep the table as {RECORD.relative_to(ROOT)}")
    given = parser.parse_args(words)
    chosen = [name for name in CASES if name.startswith(tuple(given.cases)) or (not given.cases and name != "nothing")]
    if not chosen:
        parser.error(f"no case begins so; there are {', '.join(CASES)}")
    revisions = {
        "before": _git("rev-parse", "--short", given.revision).decode().strip(),
        "after": _git("describe", "--always", "--dirty").decode().strip(),
    }
    print(f"{machine()}. Before: {revisions['before']}. After: {revisions['after']}.\n")
    print(table(["case", "before", "after", "ratio"], []), flush=True)
    rows = compare(given.revision, chosen, given.rounds, lambda row: print(f"| {' | '.join(_cells(row))} |", flush=True))
    if given.write:
        RECORD.write_text(json.dumps({"machine": machine(), **revisions, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(checked_seconds(Path(sys.argv[2]), sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:]))
