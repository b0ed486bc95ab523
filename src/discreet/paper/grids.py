"""The grids that 001's theory is searched on: all datasets of few records, many of some, small and large ε and priors."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.model.dirichlet import Beta
from discreet.paper.laws import Laws, Windows, missed_ball, pair
from discreet.paper.search import Cases, over

__all__ = [
    "BALANCED_REGION",
    "EPSILONS",
    "EVERY_REGION",
    "UNIT_REGION",
    "Margin",
    "Premise",
    "all_data",
    "balanced_data",
    "less_missed",
    "setting",
    "unit_data",
    "window_cases",
]

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0)
_PRIORS = (("0.01", "0.01"), ("20", "20"), ("0.1", "5"), ("5", "0.001"))
_UNIT_SIZES, _PRIOR_SIZES, _BALANCED_SIZES = (*range(1, 21), 40), (1, 2, 3, 5, 8, 36), (*range(1, 41), 100, 1000)
UNIT_REGION = {"prior": "Beta(1, 1)", "n": over(_UNIT_SIZES), "data": "every dataset", "ε": over(EPSILONS)}
EVERY_REGION = {
    "prior": "Beta(1, 1) and 4 more, parameters 0.001 to 20",
    "n": f"{over(_UNIT_SIZES)} ({over(_PRIOR_SIZES)} for the 4)",
    "data": "every dataset",
    "ε": over(EPSILONS),
}
BALANCED_REGION = {"prior": "Beta(1, 1)", "n": over(_BALANCED_SIZES), "data": "balanced", "ε": over(EPSILONS)}

Margin = Callable[[Laws, Windows, float], Floats]
Premise = Callable[[Laws, Windows, float], NDArray[np.bool_]]


def unit_data() -> Iterator[Laws]:
    """Beta(1, 1), every dataset."""
    return (Laws.every(Beta(1, 1), n) for n in _UNIT_SIZES)


def all_data() -> Iterator[Laws]:
    """Beta(1, 1) and other priors, every dataset."""
    yield from unit_data()
    yield from (Laws.every(Beta(a, b), n) for (a, b), n in product(_PRIORS, _PRIOR_SIZES))


def balanced_data(least: int = 1) -> Iterator[Laws]:
    """Beta(1, 1), balanced data of so many records or more."""
    return (Laws(Beta(1, 1), n, (n // 2,)) for n in _BALANCED_SIZES if n >= least)


def window_cases(
    worlds: Iterable[Laws],
    windows: Callable[[Laws], Windows],
    margin: Margin,
    *,
    applies: Premise | None = None,
    exact: Callable[[Laws, Windows, float, int], arb] | None = None,
    epsilons: tuple[float, ...] = EPSILONS,
) -> Iterator[Cases]:
    """The margins of a statement about windows, where its premise applies."""
    for laws in worlds:
        every = windows(laws)
        if not every.x.size:
            continue
        for epsilon in epsilons:
            kept = every if applies is None else every.where(applies(laws, every, epsilon))
            if kept.x.size:
                yield Cases(
                    margin(laws, kept, epsilon),
                    setting(laws, kept, epsilon),
                    exact=None if exact is None else lambda i, w=laws, k=kept, e=epsilon: exact(w, k, e, i),  # type: ignore[misc]
                )


def setting(laws: Laws, windows: Windows, epsilon: float) -> Callable[[int], str]:
    """The settings of some windows in words."""
    prior = ", ".join(f"{float(a):g}" for a in laws.prior.exact)
    return lambda i: f"Beta({prior}), {pair(int(windows.x[i]), laws.n)}, ε = {epsilon:g}, k = {windows.steps[i]}"


def less_missed(stated: Callable[[arb, int], arb]) -> Callable[[Laws, Windows, float, int], arb]:
    """A stated probability, of ε and k, less what LSHist misses a window by: for cases that floats do not decide."""
    return lambda laws, windows, epsilon, i: stated(arb(epsilon), int(windows.steps[i])) - missed_ball(windows, laws.n, epsilon, i)
