"""Claims of 001 about LSHist's error in local sensitivities (Theorems 4.1 to 4.4, Corollary 4.4.1), and its utility table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from math import ceil, exp, log
from typing import NamedTuple

import numpy as np
from flint import arb
from scipy.optimize import brentq

from discreet.arrays import Floats
from discreet.model.dirichlet import Beta
from discreet_papers import theory
from discreet_papers.claim import Claim, Condition
from discreet_papers.grids import EPSILONS, EVERY, less_missed, setting
from discreet_papers.laws import CandidateWindows, Laws, edge_windows, local_windows, missed, missed_ball, pair, radius_windows
from discreet_papers.quantiles import error_ratio
from discreet_papers.search import Cases, Search, case, over, search

__all__ = ["CLAIMS"]

# --- Theorems 4.1 to 4.4 ----------------------------------------------------------------------------------------------

_GAMMAS = (0.5, 0.3, 0.05, 0.01)


def _constant_cases(
    worlds: Iterable[Laws], limit: Callable[[float, float], float], gammas: Callable[[float], tuple[float, ...]]
) -> Iterator[Cases]:
    """P(H <= limit · LS) against 1 - γ, in units of γ: the (1 - γ)-error is within so many local sensitivities."""
    for laws in worlds:
        for epsilon in EPSILONS:
            for gamma in gammas(epsilon):
                yield _against(laws, radius_windows(laws, limit(epsilon, gamma) * laws.local), epsilon, gamma)


def _against(laws: Laws, windows: CandidateWindows, epsilon: float, gamma: float) -> Cases:
    """1 less the probability that LSHist reports outside a window, in units of γ."""
    named = setting(laws, windows, epsilon)

    def exact(i: int) -> arb:
        return arb(gamma) - missed_ball(windows, laws.n, epsilon, i)

    return Cases(1.0 - missed(windows, laws.n, epsilon) / gamma, lambda i: f"{named(i)}, γ = {gamma:.3g}", exact=exact)


def _theorem_4_1() -> Claim:
    numbers = {f"at n = {n:,}, ε = {e:g}": error_ratio(n, e, 0.05) / e for e in (0.5, 1.0, 2.0) for n in (2, 100, 15_000)}
    return Claim(
        "theorem-4.1",
        "001, Theorem 4.1",
        "ELap(x) / (ε LS(x)) is O(1) in n: LSHist's error, exceeded with probability γ, is at most 2 (ln(1/γ)/ε + 1) local sensitivities.",
        numbers,
        search(
            EVERY.told({"γ": over(_GAMMAS)}).region,
            _constant_cases(EVERY.worlds(), lambda e, g: 2.0 * (log(1.0 / g) / e + 1.0), lambda _: _GAMMAS),
        ),
        figure="001-theorem-4.1-4.4",
    )


def _theorem_4_2() -> Claim:
    def margin(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
        return np.asarray(1.0 - missed(windows, laws.n, epsilon) * exp(epsilon))

    def strictly(laws: Laws) -> CandidateWindows:
        return local_windows(laws, equal=False)

    exact = less_missed(lambda e, _: (-e).exp())
    numbers: dict[str, float] = {}
    laws = Laws(Beta(1, 1), 100, (50,))
    for e in (0.5, 1.0, 2.0):
        below, inside = (1.0 - float(missed(found, 100, e)[0]) for found in (strictly(laws), local_windows(laws)))
        numbers |= {f"P(H < LS), ε = {e:g}": below, f"P(H <= LS), ε = {e:g}": inside, f"1 - e^-ε, ε = {e:g}": 1.0 - exp(-e)}
    return Claim(
        "theorem-4.2",
        "001, Theorem 4.2",
        "With γ = e^-ε, ELap(x) = LS(x): P(H < LS(x)) >= 1 - e^-ε for LSHist.",
        numbers,
        EVERY.search(strictly, margin, exact=exact),
        (Condition("< is read as <=", EVERY.search(local_windows, margin, exact=exact)),),
        "001-theorem-4.1-4.4",
    )


def _within_steps(worlds: Iterable[Laws], *, up: bool) -> Iterator[Cases]:
    """P(H <= the farthest candidate within ln(1/γ)/ε steps) against 1 - γ; with steps rounded up, that distance against 2 LS a step too."""
    for laws in worlds:
        reached = cache(partial(edge_windows, laws))
        for epsilon, gamma in product(EPSILONS, _GAMMAS):
            reach = log(1.0 / gamma) / epsilon
            steps = min(ceil(reach) if up else int(reach), laws.n)
            windows = reached(steps)
            yield _against(laws, windows, epsilon, gamma)
            if up:
                ends = np.maximum(windows.x - steps, 0), np.minimum(windows.x + steps, laws.n)
                far = np.maximum(*(laws.distances[windows.row, end] for end in ends))
                yield Cases(2.0 * steps * laws.local[windows.row] / far - 1.0, setting(laws, windows, epsilon))


def _theorem_4_3() -> Claim:
    region = EVERY.told({"γ": over(_GAMMAS)}).region
    down, up = (search(region, _within_steps(EVERY.worlds(), up=up)) for up in (False, True))
    return Claim(
        "theorem-4.3",
        "001, Theorem 4.3",
        "The (1-γ)-error of LSHist over LS(x) is at most the largest H over LS(x) within ln(1/γ)/ε steps, which is O(ln(1/γ)/ε).",
        {"settings": down.settings, "broken with whole steps up to ln(1/γ)/ε": down.broken, "broken with steps rounded up": up.broken},
        down,
        (Condition("ln(1/γ)/ε is rounded up to whole steps, as the floor needs, and O(·) is twice that", up),),
        "001-theorem-4.1-4.4",
    )


def _theorem_4_4() -> Claim:
    steps = (1, 2, 4, 8)
    ratios = [error_ratio(n, e, exp(-k * e)) / k for n, e, k in product((5, 20, 100, 1000), (0.1, 0.5, 1.0, 2.0), (1, 2, 4))]

    def cases() -> Iterator[Cases]:
        for k in steps:
            yield from _constant_cases(EVERY.worlds(), lambda _e, _g, k=k: 2.0 * k, lambda e, k=k: (exp(-k * e),))  # type: ignore[misc]

    return Claim(
        "theorem-4.4",
        "001, Theorem 4.4",
        "With γ = e^{-kε} the bound of Theorem 4.3 is O(k): LSHist's (1-γ)-error is at most 2k local sensitivities.",
        {"largest error / (k LS), balanced data": max(ratios), "smallest": min(ratios)},
        search(EVERY.told({"k": over(steps)}).region, cases()),
        figure="001-theorem-4.1-4.4",
    )


def _corollary_4_4_1() -> Claim:
    def spare(epsilon: float) -> float:
        return 0.5 * exp(-epsilon) + 0.5 * exp(-2.0 * epsilon)

    def margin(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
        return np.asarray(1.0 - missed(windows, laws.n, epsilon) / spare(epsilon))

    exact = less_missed(lambda e, _: ((-e).exp() + (-2 * e).exp()) / 2)
    found = EVERY.search(local_windows, margin, exact=exact)
    ratios = [
        theory.corollary_4_4_1(Beta(1, 1), counts, e)[1].left for counts in ((1, 1), (5, 5), (1, 30), (50, 50)) for e in ("0.1", "1", "5")
    ]
    return Claim(
        "corollary-4.4.1",
        "001, Corollary 4.4.1",
        "LSHist is within LS(x) with probability at least 1 - ½(e^-ε + e^-2ε), so its error at that confidence is at most 2 LS(x).",
        {"settings": found.settings, "broken": found.broken, "settings with equality": found.ties, "largest error / LS": max(ratios)},
        found,
        figure="001-theorem-4.1-4.4",
    )


# --- the utility table ------------------------------------------------------------------------------------------------

_SIZES = (1, 2, 3, 5, 7, 8, 9, 11, 20, 40)
_LEVELS, _DELTAS = ("0.01", "0.1", "0.5", "1", "2", "5", "20"), (0.45, 0.3, 0.05, 0.01, 1e-6)
_UTILITY_REGION = {
    "prior": "Beta(1, 1)",
    "data": "balanced, either count the larger, and all of one kind",
    "n": over(_SIZES),
    "ε": over(_LEVELS),
    "δ": over(_DELTAS),
    "left out": "settings where the entry is not real (L >= n)",
}


class _Row(NamedTuple):
    """One entry of the utility table at one setting."""

    mechanism: str
    x: int
    n: int
    epsilon: str
    delta: float
    found: theory.Inequality

    @property
    def at(self) -> str:
        return f"{self.mechanism}, {pair(self.x, self.n)}, ε = {self.epsilon}, δ = {self.delta:g}"

    @property
    def reach(self) -> float:
        """The length L of the entry."""
        return theory.utility_reach(self.n, float(self.epsilon), self.delta)[self.mechanism]

    @property
    def balanced(self) -> bool:
        return abs(2 * self.x - self.n) <= 1

    @property
    def case(self) -> Cases:
        """1 less the error over the entry. With one record the KL entry is 0, and so is the divergence of data reported as they are."""
        found = self.found
        entry = theory.utility_entry(self.n, self.reach) if found.measure == "H" else found.right
        margin = found.margin if found.margin is not None else found.right - found.left
        nothing = found.left == found.right == 0.0
        return case(self.at, margin / entry if entry else margin, exact=(lambda: arb(0)) if nothing else None)


@cache
def _utility_rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(name, x, n, e, delta, row)
        for n, e, delta in product(_SIZES, _LEVELS, _DELTAS)
        for x in sorted({0, n // 2, (n + 1) // 2})
        for name, found in theory.utility_table(Beta(1, 1), [x, n - x], e, delta).items()
        for row in found
        if not np.isnan(row.right)
    )


def _utility_claim(
    identifier: str, measure: theory.Measure, said: str, shown: Mapping[str, float], conditions: Mapping[str, Callable[[_Row], bool]]
) -> Claim:
    rows = [row for row in _utility_rows() if row.found.measure == measure]

    def found(wanted: Callable[[_Row], bool]) -> Search:
        return search(_UTILITY_REGION, (row.case for row in rows if wanted(row)))

    numbers: dict[str, float] = {}
    for name in dict.fromkeys(row.mechanism for row in rows):
        own = [row.found for row in rows if row.mechanism == name and row.n > 1]
        numbers |= {f"{name}: settings, n > 1": len(own), f"{name}: broken, n > 1": sum(not row.true for row in own)}
        numbers[f"{name}: median exact / entry, n > 1"] = sorted(row.left / row.right for row in own)[len(own) // 2]
    return Claim(
        identifier,
        "001, utility table",
        said,
        {**numbers, **shown},
        found(lambda _: True),
        tuple(Condition(text, found(wanted)) for text, wanted in conditions.items()),
        "001-utility-table",
    )


def _broken_reach(sizes: Iterable[int]) -> float:
    """The largest L at which LSHist's H entry is broken for some ε and δ: balanced data, Beta(1, 1).

    As ε grows, the error is exceeded with probability δ as soon as L is above the steps to the nearest candidate outside, so that a
    window's next distance is the error from there on, and its entry is broken up to the L where the two are equal.
    """
    worst = 0.0
    for n in sizes:
        laws = Laws(Beta(1, 1), n, tuple(sorted({n // 2, (n + 1) // 2})))
        for x, exponents in zip(laws.firsts, laws.exponents, strict=True):
            for edge in exponents[exponents < exponents.max() * _NEARLY]:
                outside = np.nonzero(exponents > edge / _NEARLY)[0]
                below, above = outside[outside < x], outside[outside > x]
                start = min(([x - 1 - below.max()] if below.size else []) + ([above.min() - x] if above.size else []))
                worst = max(worst, _entry_reaches(n, float(exponents[outside].min()), float(start)))
    return worst


_NEARLY = 1.0 - 1e-11
"""Distances whose ratio is closer to 1 are those of a candidate and its mirror image."""


def _entry_reaches(n: int, exponent: float, start: float) -> float:
    """The L from which the entry is as large as a distance with this exponent, if that is beyond `start`; else 0."""
    if start >= n or theory.utility_entry(n, start) >= exponent:
        return 0.0
    return float(brentq(lambda length: theory.utility_entry(n, length) - exponent, start, n * (1.0 - 1e-12)))


def _utility_h() -> Claim:
    said = "The H column, with O(·) read as 1 and its ratio the other way up: the error exceeded with probability δ is at most the entry."

    def kept(row: _Row, least: float) -> bool:
        return row.mechanism != "EHD" and row.balanced and row.reach >= least

    conditions: dict[str, Callable[[_Row], bool]] = {
        "the prior is Beta(1, 1) (smaller parameters break it), the mechanism is LSHist or LSZhang, the data are balanced, and L "
        "(ln(1/δ)/ε for LSHist) is at least 4.1; with 20 records or more, 2.2": lambda row: kept(row, 4.1 if row.n < 20 else 2.2),
    }
    numbers = {"largest L of a broken LSHist entry, balanced data": _broken_reach(range(1, 41))}
    numbers["largest with 20 records or more"] = _broken_reach((*range(20, 41), 100, 199))
    for counts, e in (((10, 10), 5), ((0, 100), 1)):
        at = theory.utility_table(Beta(1, 1), counts, e, 0.05)["LSHist"][0]
        numbers |= {f"LSHist, {counts}, ε = {e}, δ = 0.05: error": at.left, f"its entry at {counts}": at.right}
    return _utility_claim("utility-h", "H", said, numbers, conditions)


def _utility_kl() -> Claim:
    said = "The KL column, with O(·) read as 1: the divergence exceeded with probability δ is at most the entry."
    at = theory.utility_table(Beta(1, 1), [0, 7], "0.01", 0.45)["LSHist"][1]
    numbers = {"LSHist, (0, 7), ε = 0.01, δ = 0.45: KL": at.left, "its entry": at.right}
    text = (
        "the prior is Beta(1, 1) (smaller parameters break it), n >= 2 and nε >= 1 (with one record the entry is 0; with more noise than "
        "that it can be below the divergence)"
    )
    return _utility_claim("utility-kl", "KL", said, numbers, {text: lambda row: row.n >= 2 and row.n * float(row.epsilon) >= 1.0})


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "theorem-4.1": _theorem_4_1,
    "theorem-4.2": _theorem_4_2,
    "theorem-4.3": _theorem_4_3,
    "theorem-4.4": _theorem_4_4,
    "corollary-4.4.1": _corollary_4_4_1,
    "utility-h": _utility_h,
    "utility-kl": _utility_kl,
}
