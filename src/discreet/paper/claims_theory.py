"""Claims of 001 about LSHist's error in local sensitivities (Theorems 4.1 to 4.4, Corollary 4.4.1), and its utility table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import product
from math import ceil, exp, log

import numpy as np
from flint import arb

from discreet.arrays import Floats
from discreet.model.dirichlet import Beta
from discreet.paper import theory
from discreet.paper.claim import Claim, Condition
from discreet.paper.contenders import balanced
from discreet.paper.grids import EPSILONS, EVERY, less_missed, setting
from discreet.paper.laws import Laws, Windows, edge_windows, local_windows, missed, missed_ball, radius_windows
from discreet.paper.quantiles import error_ratio
from discreet.paper.search import Cases, Search, case, over, search

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


def _against(laws: Laws, windows: Windows, epsilon: float, gamma: float) -> Cases:
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
    def margin(laws: Laws, windows: Windows, epsilon: float) -> Floats:
        return np.asarray(1.0 - missed(windows, laws.n, epsilon) * exp(epsilon))

    def strictly(laws: Laws) -> Windows:
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

    def margin(laws: Laws, windows: Windows, epsilon: float) -> Floats:
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

_UTILITY = tuple(product((5, 20, 100, 300), ("0.5", "1", "2"), (0.3, 0.05, 0.01)))
_UTILITY_REGION = {"prior": "Beta(1, 1)", "data": "balanced", "n": "5, 20, 100, 300", "ε": "0.5, 1, 2", "δ": "0.3, 0.05, 0.01"}


def _utility_claim(
    identifier: str, measure: theory.Measure, said: str, conditions: Mapping[str, Callable[[str, int, float], bool]]
) -> Claim:
    rows = [
        (name, n, e, delta, row)
        for n, e, delta in _UTILITY
        for name, found in theory.utility_table(Beta(1, 1), balanced(n, 2), e, delta).items()
        for row in found
        if row.measure == measure and not np.isnan(row.right)
    ]

    def found(region: Mapping[str, str], wanted: Callable[[str, int, float], bool]) -> Search:
        cases = [
            case(f"{name}, n = {n}, ε = {e}, δ = {delta:g}", row.margin if row.margin is not None else row.right - row.left)
            for name, n, e, delta, row in rows
            if wanted(name, n, delta)
        ]
        return search(region, cases)

    numbers: dict[str, float] = {}
    for name in dict.fromkeys(name for name, *_ in rows):
        own = [row for mechanism, *_, row in rows if mechanism == name]
        numbers |= {f"{name}: settings": len(own), f"{name}: broken": sum(not row.true for row in own)}
        numbers[f"{name}: median exact / entry"] = sorted(row.left / row.right for row in own)[len(own) // 2]
    region = _UTILITY_REGION | {"left out": "settings where the entry is not real (L >= n)"}
    return Claim(
        identifier,
        "001, utility table",
        said,
        numbers,
        found(region, lambda _name, _n, _d: True),
        tuple(Condition(text, found(region | {"where": text}, wanted)) for text, wanted in conditions.items()),
        "001-utility-table",
    )


def _utility_h() -> Claim:
    said = "The H column, with O(·) read as 1 and its ratio the other way up: the error exceeded with probability δ is at most the entry."
    conditions: dict[str, Callable[[str, int, float], bool]] = {
        "the mechanism is LSHist or LSZhang": lambda name, _n, _d: name != "EHD",
        "the mechanism is LSHist or LSZhang and δ <= 0.05": lambda name, _n, d: name != "EHD" and d <= 0.05,
        "the mechanism is LSHist or LSZhang, δ <= 0.05 and n >= 100": lambda name, n, d: name != "EHD" and d <= 0.05 and n >= 100,
    }
    return _utility_claim("utility-h", "H", said, conditions)


def _utility_kl() -> Claim:
    said = "The KL column, with O(·) read as 1: the divergence exceeded with probability δ is at most the entry."
    return _utility_claim("utility-kl", "KL", said, {})


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "theorem-4.1": _theorem_4_1,
    "theorem-4.2": _theorem_4_2,
    "theorem-4.3": _theorem_4_3,
    "theorem-4.4": _theorem_4_4,
    "corollary-4.4.1": _corollary_4_4_1,
    "utility-h": _utility_h,
    "utility-kl": _utility_kl,
}
