"""Grids of priors, datasets and ε on which the statements of 001 are searched for a setting that breaks them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.model.dirichlet import Beta
from discreet_papers.laws import CandidateWindows, Laws, missed_ball, pair
from discreet_papers.search import Cases, Search, Ties, over, search

__all__ = ["EPSILONS", "EVEN", "EVERY", "Margin", "Premise", "SearchGrid", "balanced_from", "less_missed", "setting"]

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 50.0)
_EVEN = ("0.000001", "0.01", "20", "1000000")
"""Parameters a of the priors Beta(a, a) beside Beta(1, 1)."""
_PRIORS = (*((a, a) for a in _EVEN), ("0.1", "5"), ("5", "0.001"), ("0.000001", "1000000"), ("1e-12", "1"))
_UNIT_SIZES, _PRIOR_SIZES, _BALANCED_SIZES = (*range(1, 21), 40, 58, 120), (1, 2, 3, 5, 8, 14, 36), (*range(1, 41), 100, 199, 1000)
Margin = Callable[[Laws, CandidateWindows, float], Floats]
Premise = Callable[[Laws, CandidateWindows, float], NDArray[np.bool_]]


@dataclass(frozen=True)
class SearchGrid:
    """Priors and datasets that a statement about windows is searched on."""

    region: Mapping[str, str]
    """What varies, in words."""
    worlds: Callable[[], Iterable[Laws]]
    """The laws of each prior and number of records; called once for every search."""

    def told(self, words: Mapping[str, str]) -> "SearchGrid":
        """The same grid, with these words for some of what varies."""
        return SearchGrid({**self.region, **words}, self.worlds)

    def search(
        self,
        windows: Callable[[Laws], CandidateWindows],
        margin: Margin,
        *,
        applies: Premise | None = None,
        exact: Callable[[Laws, CandidateWindows, float, int], arb] | None = None,
        epsilons: tuple[float, ...] = EPSILONS,
        ties: Ties = "allowed",
    ) -> Search:
        """Search all windows of this grid, where the premise applies, for a setting that breaks the statement."""
        return search(self.region, _window_cases(self.worlds(), windows, margin, applies, exact, epsilons), ties=ties)


def _all_data() -> Iterator[Laws]:
    yield from (Laws.every(Beta(1, 1), n) for n in _UNIT_SIZES)
    yield from (Laws.every(Beta(a, b), n) for (a, b), n in product(_PRIORS, _PRIOR_SIZES))


EVERY = SearchGrid(
    {
        "prior": f"Beta(1, 1) and {len(_PRIORS)} more, parameters 1e-12 to 1e6",
        "n": f"{over(_UNIT_SIZES)} ({over(_PRIOR_SIZES)} for the {len(_PRIORS)})",
        "data": "every dataset",
        "ε": over(EPSILONS),
    },
    _all_data,
)


def balanced_from(least: int) -> SearchGrid:
    """Balanced data of so many records or more, under Beta(1, 1); with an odd number of records, either count the larger."""
    sizes = [n for n in _BALANCED_SIZES if n >= least]
    region = {"prior": "Beta(1, 1)", "n": over(sizes), "data": "balanced, either count the larger", "ε": over(EPSILONS)}
    return SearchGrid(region, lambda: (Laws(Beta(1, 1), n, tuple(sorted({n // 2, (n + 1) // 2}))) for n in sizes))


EVEN = SearchGrid(
    {
        "prior": f"Beta(a, a), a = 1, {', '.join(_EVEN)}",
        "n": over(_BALANCED_SIZES),
        "data": "balanced, the first count not the larger",
        "ε": over(EPSILONS),
    },
    lambda: (Laws(Beta(a, a), n, (n // 2,)) for a, n in product(("1", *_EVEN), _BALANCED_SIZES)),
)


def _window_cases(
    worlds: Iterable[Laws],
    windows: Callable[[Laws], CandidateWindows],
    margin: Margin,
    applies: Premise | None,
    exact: Callable[[Laws, CandidateWindows, float, int], arb] | None,
    epsilons: tuple[float, ...],
) -> Iterator[Cases]:
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


def setting(laws: Laws, windows: CandidateWindows, epsilon: float) -> Callable[[int], str]:
    """The settings of some windows in words."""
    prior = ", ".join(f"{float(a):g}" for a in laws.prior.exact)
    return lambda i: f"Beta({prior}), {pair(int(windows.x[i]), laws.n)}, ε = {epsilon:g}, k = {windows.steps[i]}"


def less_missed(stated: Callable[[arb, int], arb]) -> Callable[[Laws, CandidateWindows, float, int], arb]:
    """A stated probability, of ε and k, less what LSHist misses a window by: for cases that floats do not decide."""
    return lambda laws, windows, epsilon, i: stated(arb(epsilon), int(windows.steps[i])) - missed_ball(windows, laws.n, epsilon, i)
