"""One private posterior, by discreet and by what users would take instead: time, memory, error and certified loss in one run.

Every contender runs in a process of its own, through growing numbers of records, until the next size is predicted to take more than
30 s or 4 GB. Whoever chooses from a list is given the list, its scores and the scale: making them is timed on its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec
from math import comb, log
from pathlib import Path
from statistics import quantiles
from time import perf_counter, process_time
from types import ModuleType
from typing import Any

import numpy as np

import discreet as dc
from benchmarks import straightforward
from benchmarks.timing import machine
from discreet.mechanisms import Mechanism

EPSILON = 1
MOST_SECONDS, MOST_MEGABYTES = 30.0, 4096.0
TWO = tuple(10**e for e in range(2, 10))
LEAST_CALLS, CALLS = 4, 26
SHORT, LONG = 0.5, 8.0
"""Seconds of calls to make at least, and at most."""
MORE = (10, 32, 100, 316, 1000, *TWO[2:])
CATEGORIES = range(2, 11)
FEW_CANDIDATES = 300
"""Up to here the papers' way to the scale, which lists all datasets, is faster than discreet's."""
Action = Callable[[], object]


def balanced(n: int, k: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Counts that are neither equal nor extreme: 40 % in the first category, the rest shared."""
    rest = np.full(k - 1, (n - 2 * n // 5) // (k - 1), dtype=np.int64)
    return np.concatenate([[n - rest.sum()], rest])


# --- the contenders: each prepares what it needs for one release -------------------------------------------------------


# Each release is made by a new mechanism. What is kept between releases are tables of public numbers.
def _smooth(n: int, k: int) -> Action:
    counts = balanced(n, k)
    return lambda: dc.HellingerSmooth(dc.Dirichlet.uniform(k), n, EPSILON).release(counts, steady=False)


def _first_smooth(n: int, k: int) -> Action:
    """As if it were the first of its prior and n: without the tables that others have left."""
    from discreet.mechanisms.proposals import listing  # earlier trees, which this file also measures, have none
    from discreet.numerics.proved_floats import gap_table

    release = _smooth(n, k)

    def forgetful() -> None:
        listing.cache_clear()
        gap_table.cache_clear()
        release()

    return forgetful


def _lattice(n: int, k: int) -> Action:
    counts = balanced(n, k)
    return lambda: dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, EPSILON).release(counts, steady=False)


def _papers(n: int, k: int) -> Action:
    return partial(straightforward.release, balanced(n, k), EPSILON, np.random.default_rng(1))


def _scored(n: int, k: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], float]:
    """The same scores for all who choose from a list, and the scale that gives the smooth mechanism's law. Not timed."""
    counts = balanced(n, k)
    return straightforward.scores(counts, straightforward.candidates(n, k)), dc.smooth_sensitivity(dc.Dirichlet.uniform(k), counts, gamma=1)


def _opendp(measure: str, n: int, k: int) -> Action:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scores, sensitivity = _scored(n, k)
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return partial(dp.m.make_noisy_max(*space, getattr(dp, measure)(), scale=4.0 * sensitivity / EPSILON), scores)


def _diffprivlib_mechanisms() -> ModuleType:
    """diffprivlib's mechanisms without its models, which ask for an older scikit-learn than is current."""
    if "diffprivlib" not in sys.modules:
        spec = find_spec("diffprivlib")
        if not isinstance(spec, ModuleSpec) or spec.submodule_search_locations is None:
            raise ModuleNotFoundError("diffprivlib")
        package = ModuleType("diffprivlib")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["diffprivlib"] = package
    import diffprivlib.mechanisms

    return diffprivlib.mechanisms  # type: ignore[no-any-return]


def _diffprivlib(n: int, k: int) -> Action:
    mechanisms = _diffprivlib_mechanisms()
    scores, sensitivity = _scored(n, k)
    utility = scores.tolist()
    del scores
    return lambda: mechanisms.Exponential(epsilon=EPSILON, sensitivity=2.0 * sensitivity, utility=utility).randomise()


def _opendp_histogram(n: int, k: int) -> Action:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return partial(dp.m.make_laplace(*space, scale=2.0 / EPSILON), balanced(n, k).tolist())


def _diffprivlib_histogram(n: int, k: int) -> Action:
    mechanisms = _diffprivlib_mechanisms()
    counts = balanced(n, k).tolist()
    return lambda: [mechanisms.Geometric(epsilon=EPSILON / 2).randomise(count) for count in counts]


def _listing(n: int, k: int) -> Action:
    counts = balanced(n, k)
    return lambda: straightforward.scores(counts, straightforward.candidates(n, k))


def _scale(n: int, k: int) -> Action:
    """The smooth sensitivity, in the way that is faster at this size."""
    counts = balanced(n, k)
    if comb(n + k - 1, k - 1) > FEW_CANDIDATES:
        return lambda: dc.smooth_sensitivity(dc.Dirichlet.uniform(k), counts, gamma=1)
    listed = straightforward.candidates(n, k)
    return lambda: straightforward.smooth_sensitivity(counts, listed)


LISTING: dict[str, Callable[[int, int], Action]] = {
    "the list and its scores alone": _listing,
    "the scale alone": _scale,
    "papers, straightforward": _papers,
    "OpenDP exponential mechanism": partial(_opendp, "zero_concentrated_divergence"),
    "OpenDP noisy max": partial(_opendp, "max_divergence"),
    "diffprivlib Exponential": _diffprivlib,
}
POSTERIORS: dict[str, Callable[[int, int], Action]] = {
    "discreet HellingerSmooth": _smooth,
    "discreet, first of its prior and n": _first_smooth,
    **LISTING,
}
HISTOGRAMS: dict[str, Callable[[int, int], Action]] = {
    "discreet LatticeGeometric": _lattice,
    "OpenDP discrete Laplace": _opendp_histogram,
    "diffprivlib Geometric": _diffprivlib_histogram,
}


# --- measuring: in a process of its own --------------------------------------------------------------------------------


def timed(action: Action) -> dict[str, Any]:
    """Quartiles of repeated calls: at least 25, or as many as fit 8 s, and never fewer than 4; the first does not count.

    Few will not do: OpenDP's time for the very same call varies by a factor of ten and more. Of each call the lesser of wall-clock and
    processor time: waiting for a busy machine is not held against long calls.
    """
    times: list[float] = []
    while len(times) < LEAST_CALLS or (sum(times) < LONG and (len(times) < CALLS or sum(times) < SHORT)):
        wall, processor = perf_counter(), process_time()
        action()
        times.append(min(perf_counter() - wall, process_time() - processor))
    low, middle, high = quantiles(times[1:], n=4)
    return {"seconds": middle, "quartiles": [low, high], "calls": len(times) - 1}


def megabytes() -> float:
    """Peak memory of this process. Not getrusage(), which counts the parent's memory at the time of the fork."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def climb(name: str, k: int, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Measure one contender at growing sizes, and say where it would go beyond the limits instead of going there."""
    prepare = (POSTERIORS | HISTOGRAMS)[name]
    prepare(10, k)()
    start, rows = megabytes(), list[dict[str, Any]]()
    for n in sizes:
        size = comb(n + k - 1, k - 1)
        if rows:
            last, growth = rows[-1], _growth(rows, n, size, lists=name in LISTING)
            seconds, memory = last["seconds"] * growth, max(last["megabytes"], 1.0) * (growth if name in LISTING else 1.0)
            if seconds > MOST_SECONDS or memory > MOST_MEGABYTES:
                rows.append({"peer": name, "k": k, "n": n, "candidates": size, "predicted": [seconds, memory]})
                break
        try:
            found = timed(prepare(n, k))
        except dc.DiscreetError as error:
            rows.append({"peer": name, "k": k, "n": n, "candidates": size, "refused": type(error).__name__})
            break
        rows.append({"peer": name, "k": k, "n": n, "candidates": size, **found, "megabytes": megabytes() - start})
    return rows


def _growth(rows: list[dict[str, Any]], n: int, size: int, *, lists: bool) -> float:
    """By how much the next step will cost more: a list at least as much as it grows, others as they have grown so far."""
    if lists:
        return float(size / rows[-1]["candidates"])
    if len(rows) < 2:
        return 1.0
    seen = log(rows[-1]["seconds"] / rows[-2]["seconds"]) / log(rows[-1]["n"] / rows[-2]["n"])
    return float((n / rows[-1]["n"]) ** max(seen, 0.0))


def _climbed(name: str, k: int, sizes: Sequence[int]) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.peers", name, str(k), json.dumps(list(sizes))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own interpreter
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


# --- accuracy beside speed ---------------------------------------------------------------------------------------------


def accuracy(prior: dc.Dirichlet, n: int) -> list[dict[str, Any]]:
    """Mean Hellinger error under the prior predictive and loss at ε = 1, and over the least error that any ε-private mechanism can have."""
    best = dc.optimal(prior, n, EPSILON).value
    smooth = dc.HellingerSmooth(prior, n, EPSILON)
    lattice = dc.LatticeGeometric(prior, n, EPSILON)
    known: list[tuple[str, Mechanism, str]] = [
        ("discreet Remapped(LatticeGeometric)", dc.Remapped(lattice), "exact draw"),
        ("discreet LatticeGeometric", lattice, "exact draw"),
        ("discreet Calibrated(HellingerSmooth)", dc.Calibrated(smooth), "exact draw"),
        ("discreet HellingerSmooth", smooth, "exact draw"),
        ("papers, straightforward", smooth, "of the law; the draw is in floats"),
        ("OpenDP exponential mechanism", dc.HellingerGlobal(prior, n, EPSILON), "global sensitivity; certified as zCDP"),
        ("diffprivlib Exponential", dc.HellingerGlobal(prior, n, EPSILON), "global sensitivity; the draw is in floats"),
    ]
    rows: list[dict[str, Any]] = [
        {
            "peer": name,
            "error": float(dc.expected_error(mechanism, over="predictive")),
            "loss": dc.privacy_loss(mechanism).value,
            "note": note,
        }
        for name, mechanism, note in known
    ]
    rows.append({"peer": "OpenDP noisy max", **_noisy_max_error(prior, n), "loss": None, "note": "global sensitivity; ε by its proof"})
    for name, note in (("OpenDP discrete Laplace", "exact draw"), ("diffprivlib Geometric", "the draw is in floats")):
        rows.append({"peer": name, **_histogram_error(prior, n), "loss": float(EPSILON), "note": f"all k counts, clamped; {note}"})
    return [{**row, "k": prior.k, "n": n, "ratio": row["error"] / best} for row in sorted(rows, key=lambda row: row["error"])]


def _predictive(prior: dc.Dirichlet, n: int, size: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    shares = rng.dirichlet(np.asarray(prior.concentration, dtype=np.float64), size)
    return np.asarray(rng.multinomial(n, shares))


def _estimate(errors: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    return {"error": float(errors.mean()), "standard_error": float(errors.std() / np.sqrt(len(errors)))}


def _noisy_max_error(prior: dc.Dirichlet, n: int, size: int = 20_000) -> dict[str, float]:
    """By simulation: exponential noise on every score, the largest wins."""
    rng = np.random.default_rng(1)
    a = np.asarray(prior.concentration, dtype=np.float64)
    listed = straightforward.candidates(n, prior.k) + a
    scale = 2.0 * dc.global_sensitivity(prior, n) / EPSILON
    data = _predictive(prior, n, size, rng) + a
    distance = np.stack([np.asarray(dc.hellinger(row, listed)) for row in data])
    chosen = (rng.exponential(scale, distance.shape) - distance).argmax(axis=1)
    return _estimate(distance[np.arange(size), chosen])


def _histogram_error(prior: dc.Dirichlet, n: int, size: int = 200_000) -> dict[str, float]:
    """By simulation: two-sided geometric noise at ε/2 on every count, clamped to [0, n]."""
    rng = np.random.default_rng(2)
    a = np.asarray(prior.concentration, dtype=np.float64)
    data = _predictive(prior, n, size, rng)
    stop = -np.expm1(-EPSILON / 2)
    noise = rng.geometric(stop, data.shape) - rng.geometric(stop, data.shape)
    return _estimate(np.asarray(dc.hellinger(data + a, np.clip(data + noise, 0, n) + a)))


# --- the record ---------------------------------------------------------------------------------------------------------


def measure() -> dict[str, Any]:
    """Everything, as plain values."""
    speed = [row for k in CATEGORIES for name in POSTERIORS for row in _climbed(name, k, TWO if k == 2 else MORE)]
    counts = [row for k in (2, 10) for name in HISTOGRAMS for row in _climbed(name, k, (10**3, 10**6, 10**9))]
    from benchmarks import bulk, clock

    noise = bulk.measure()
    found = {
        "machine": machine(),
        "versions": {name: version(name) for name in ("opendp", "diffprivlib")},
        "epsilon": EPSILON,
        "limits": {"seconds": MOST_SECONDS, "megabytes": MOST_MEGABYTES},
        "speed": speed,
        "counts": counts,
        "bulk": noise,
        "clock": clock.measure(),
        "accuracy": accuracy(dc.Dirichlet.uniform(2), 60) + accuracy(dc.Dirichlet.uniform(3), 8),
    }
    return {**found, "quoted": {**quoted(speed), **bulk.quoted(noise)}}


LIBRARIES = {"opendp": "OpenDP exponential mechanism", "noisy_max": "OpenDP noisy max", "diffprivlib": "diffprivlib Exponential"}


def quoted(speed: list[dict[str, Any]]) -> dict[str, float]:
    """Numbers that pages quote.

    k = 2: how many times as long the others take at n = 10^6, for the fastest library also over the middle half of its calls, and up to
    which n one is faster. Any k: the most that discreet takes of the
    time of another library that is given list, scores and scale, and of one that has to make them.
    """
    rows = {(row["peer"], row["n"]): row for row in speed if row["k"] == 2 and "seconds" in row}
    at = {place: row["seconds"] for place, row in rows.items()}
    ratio = {(peer, n): seconds / at["discreet HellingerSmooth", n] for (peer, n), seconds in at.items()}
    keys = {"papers": "papers, straightforward", **LIBRARIES}
    faster = [n for peer, n in ratio if peer in LIBRARIES.values() and ratio[peer, n] < 1.0]
    given, counted = slowest(speed)
    found = {f"{key}_ratio": ratio[name, 10**6] for key, name in keys.items()}
    best = min((rows[name, 10**6] for name in LIBRARIES.values()), key=lambda row: row["seconds"])
    low, high = (seconds / at["discreet HellingerSmooth", 10**6] for seconds in best["quartiles"])
    found |= {"best_library_ratio": ratio[best["peer"], 10**6], "best_library_ratio, lower": low, "best_library_ratio, upper": high}
    return {**found, "library_faster_to": max(faster, default=0), "most_of_given": given, "most_of_counted": counted}


def slowest(speed: list[dict[str, Any]]) -> tuple[float, float]:
    """The largest ratio of discreet's time to another library's, over all sizes: given what it chooses from, and making it."""
    at = {(row["peer"], row["k"], row["n"]): row["seconds"] for row in speed if "seconds" in row}
    given, counted = [0.0], [0.0]
    for (peer, k, n), seconds in at.items():
        if peer in LIBRARIES.values():
            ours = at["discreet HellingerSmooth", k, n]
            made = sum(at.get((part, k, n), 0.0) for part in ("the list and its scores alone", "the scale alone"))
            given.append(ours / seconds)
            counted.append(ours / (seconds + made))
    return max(given), max(counted)


def run() -> str:
    """Markdown tables."""
    from benchmarks.page import tables

    return tables(measure())


if __name__ == "__main__":
    print(json.dumps(climb(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))))
