"""The mechanisms that the papers compare, and ours beside them: how each is built, and its mean error on given data."""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np

from discreet.analysis.dataset_errors import Errors
from discreet.analysis.error_laws import expected_error
from discreet.arrays import Counts
from discreet.errors import TooLargeError
from discreet.mechanisms import (
    Calibrated,
    HellingerGlobal,
    HellingerLocal,
    HellingerSmooth,
    HellingerSmoothDelta,
    LaplaceDimension,
    LaplaceHistogram,
    LaplaceZhang,
    LatticeGeometric,
    Mechanism,
)
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.validation import Number
from discreet_papers.data import Value

__all__ = ["ADDED", "POSTER_DELTA", "SIX", "Rounding", "balanced", "build", "exact_mean", "first_overtaking", "simulated_mean", "uniform"]

Prior = Beta | Dirichlet
Rounding = Literal["floor", "nearest"]

SIX = ("LSDim", "LSHist", "EHD", "EHDL", "EHDS", "EHDS-delta")
"""000's six: lapMech, ilapMech, expMech, expMech^local, and expMech^smoo with a γ-smooth and with a β-smooth sensitivity."""
ADDED = ("Calibrated", "Lattice")
"""What this package adds to their comparison."""

POSTER_DELTA = "1e-8"
_SEED = 20_180_101
_FOLLOWING = 4
"""How many sizes after an overtaking must confirm it: shares of n among up to four categories repeat after so many."""


def uniform(k: int) -> Prior:
    """The papers' unit prior for k categories."""
    return Beta(1, 1) if k == 2 else Dirichlet.uniform(k)


def balanced(n: int, k: int) -> Counts:
    """n records shared evenly; the last categories take what is left, as in the papers' 33, 33, 34."""
    counts = np.full(k, n // k, dtype=np.int64)
    counts[k - n % k :] += 1
    return counts


def build(name: str, prior: Prior, n: int, epsilon: Number = 1, rounding: Rounding = "floor") -> Mechanism:
    """A contender by its short name."""
    if name in ("LSZhang", "LSDim", "LSHist"):
        cls = {"LSZhang": LaplaceZhang, "LSDim": LaplaceDimension, "LSHist": LaplaceHistogram}[name]
        made: Mechanism = cls(prior, n, epsilon, rounding)
        return made
    makers: dict[str, Callable[[], Mechanism]] = {
        "EHD": lambda: HellingerGlobal(prior, n, epsilon),
        "EHDL": lambda: HellingerLocal(prior, n, epsilon),
        "EHDS": lambda: HellingerSmooth(prior, n, epsilon),
        "EHDS-delta": lambda: HellingerSmoothDelta(prior, n, epsilon, POSTER_DELTA),
        "Calibrated": lambda: Calibrated(HellingerSmooth(prior, n, epsilon)),
        "Lattice": lambda: LatticeGeometric(prior, n, epsilon),
    }
    return makers[name]()


def exact_mean(
    name: str,
    n: int,
    k: int = 2,
    epsilon: Number = 1,
    *,
    prior: Prior | None = None,
    counts: Counts | None = None,
    rounding: Rounding = "floor",
) -> float:
    """Mean Hellinger error on balanced data (or these counts) under the unit prior (or this one), without Monte Carlo."""
    mechanism = build(name, prior or uniform(k), n, epsilon, rounding)
    found = expected_error(mechanism, balanced(n, k) if counts is None else counts)
    if found.method == "Monte Carlo":
        raise TooLargeError(f"the mean error of {name} at n = {n}, k = {k} could only be simulated")
    return float(found)


def simulated_mean(name: str, mechanism: Mechanism, counts: Counts, draws: int) -> dict[str, Value]:
    """The average error of so many draws, as in the papers, with its standard error. The seed depends on the setting alone."""
    seed = [_SEED, mechanism.n, mechanism.k, draws, *name.encode()]
    drawn = mechanism.simulate(counts, draws, np.random.default_rng(seed))
    errors = Errors(mechanism.prior, mechanism.space.total, hellinger)(counts, drawn)
    return {"draws": draws, "simulated": float(errors.mean()), "standard_error": float(errors.std(ddof=1) / np.sqrt(draws))}


def first_overtaking(better: Callable[[int], bool], coarse: Iterable[int]) -> int | None:
    """The least n from which `better` is true to the end of an ascending grid; None if it is not true at the end.

    Between the last grid point where it is false and the next one it is found by bisection, and must hold for the few n that follow:
    odd and even n differ a little.
    """
    grid = list(coarse)
    held = [better(n) for n in grid]
    if not held[-1]:
        return None
    last_false = max((i for i, true in enumerate(held) if not true), default=-1)
    if last_false < 0:
        return grid[0]
    low, high = grid[last_false], grid[last_false + 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if better(middle) else (middle, high)
    following = range(high, min(high + _FOLLOWING, grid[last_false + 1]))
    return max((n + 1 for n in following if not better(n)), default=high)
