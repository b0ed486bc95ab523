"""Claims of 001's Theorem 4.5 and its corollaries: P(H < t) of four mechanisms, and LSHist against EHD."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import exp, inf

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.mechanisms import LaplaceDimension
from discreet.model.dirichlet import Beta
from discreet.model.distances import hellinger
from discreet.paper import theory
from discreet.paper.claim import Claim, Condition
from discreet.paper.grids import BALANCED, EPSILONS, EVERY, UNIT, Grid, Margin, Premise, balanced_from, less_missed
from discreet.paper.laws import Laws, Windows, local_windows, missed, pair, step_windows
from discreet.paper.search import Cases, Search, case, over, search, together
from discreet.paper.theory import PAPER_SENSITIVITY

__all__ = ["CLAIMS"]

# --- Theorem 4.5 ------------------------------------------------------------------------------------------------------


def _hist_equality(_laws: Laws, windows: Windows, epsilon: float) -> Floats:
    """P(H < t) less its stated value: the noise below -k, less what lies below the window; exactly 0 where they are the same."""
    stated = np.exp(-epsilon * windows.steps)
    below = np.where(windows.low > 0, np.exp(-epsilon * (windows.x - windows.low)), 0.0)
    return np.asarray(-np.abs(stated - below) / 2.0)


def _hist_lower(laws: Laws, windows: Windows, epsilon: float) -> Floats:
    """P(H < t) less 1 - e^-kε, in units of e^-kε."""
    return np.asarray(1.0 - missed(windows, laws.n, epsilon) * np.exp(epsilon * windows.steps))


def _equality_ball(_laws: Laws, windows: Windows, epsilon: float, i: int) -> arb:
    e = arb(epsilon)
    below = (-e * int(windows.x[i] - windows.low[i])).exp() if windows.low[i] > 0 else arb(0)
    return -abs((-e * int(windows.steps[i])).exp() - below)


def _hist_search(grid: Grid, *, inside: bool = False) -> tuple[Search, Search]:
    """Searches for settings that break the equality and the lower bound; with `inside`, only where k steps down are not clamped."""
    applies: Premise | None = (lambda _laws, windows, _e: windows.x > windows.steps) if inside else None
    equal = grid.search(step_windows, _hist_equality, applies=applies, exact=_equality_ball)
    return equal, grid.search(step_windows, _hist_lower, applies=applies, exact=less_missed(lambda e, k: (-e * k).exp()))


def _theorem_hist() -> Claim:
    equal, lower = _hist_search(EVERY.told({"k": "0 to 12"}))
    within, _ = _hist_search(BALANCED.told({"k": "0 to 12, less than half of n"}), inside=True)
    return Claim(
        "theorem-4.5-LSHist",
        "001, Theorem 4.5",
        "LSHist: P(H < t) = 1 - ½(e^{-kε} + e^{-(k+1)ε}) >= 1 - e^{-kε}, t allowing k steps.",
        {
            "settings": equal.settings,
            "equality broken": equal.broken,
            "lower bound broken": lower.broken,
            "balanced settings": within.settings,
        },
        equal,
        (Condition("the data are balanced and there are more than k records of each kind (elsewhere steps up and down differ)", within),),
        "001-theorem-4.5",
    )


def _zhang_cases(sizes: Iterable[int], firsts: Callable[[int], Iterable[int]], *, equality: bool) -> Iterator[Cases]:
    """LSZhang adds noise to both counts, so P(H >= t) is a sum over the pairs of reported counts at distance t or more."""
    for n in sizes:
        reports = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"), axis=-1).reshape(-1, 2)
        laws = Laws.every(Beta(1, 1), n)
        for epsilon in (0.1, 1.0, 5.0):
            # The baseline's noise for two categories has the scale 2/ε that LSZhang has.
            noisy = laws.laplace(LaplaceDimension(Beta(1, 1), n, repr(epsilon)))
            for x in firsts(n):
                probability = np.outer(noisy[x], noisy[n - x]).reshape(-1)
                distances = np.asarray(hellinger(np.array([1.0 + x, 1.0 + n - x]), 1.0 + reports))
                for k in range(min(n - x, 5)):
                    t = laws.distances[x, x + k + 1]
                    # Reports as far as k + 1 steps up are that one and, for balanced data, its mirror image.
                    outside = float(probability[distances >= t * (1.0 - 1e-11)].sum())
                    off = exp(-k * epsilon / 2.0)
                    half = 0.5 * (off + off * exp(-epsilon / 2.0))
                    margin = -abs(2.0 * half - half * half - outside) if equality else 1.0 - outside / (2.0 * off - off * off)
                    yield case(f"{pair(x, n)}, ε = {epsilon:g}, k = {k}", margin)


def _theorem_zhang() -> Claim:
    sizes, more = range(1, 9), (*range(2, 17, 2), 40)
    region = {"prior": "Beta(1, 1)", "n": over(sizes), "data": "every dataset", "ε": "0.1, 1, 5", "k": "0 to 4"}
    equal = search(region, _zhang_cases(sizes, lambda n: range(n + 1), equality=True))
    lower = search(region, _zhang_cases(sizes, lambda n: range(n + 1), equality=False))
    middle: Callable[[int], Iterable[int]] = lambda n: (n // 2,)  # noqa: E731
    reading = search(region | {"n": over(more), "data": "balanced"}, _zhang_cases(more, middle, equality=False))
    return Claim(
        "theorem-4.5-LSZhang",
        "001, Theorem 4.5",
        "LSZhang: P(H < t) = (1 - ½(e^{-kε/2} + e^{-(k+1)ε/2}))² >= (1 - e^{-kε/2})², t allowing k steps.",
        {
            "settings": equal.settings,
            "equality broken": equal.broken,
            "lower bound broken": lower.broken,
            "largest |left - right|": -equal.worst,
        },
        equal,
        (
            Condition("only the lower bound is meant, and the prior is Beta(1, 1)", lower),
            Condition("only the lower bound is meant, the prior is Beta(1, 1) and the data are balanced", reading),
        ),
        "001-theorem-4.5",
    )


def _law(name: str, laws: Laws, epsilon: float) -> Floats:
    return laws.exponential(epsilon, PAPER_SENSITIVITY if name == "EHD" else laws.local)


def _decay(name: str, laws: Laws, windows: Windows, epsilon: float) -> Floats:
    """The factor of the theorem: e^-ε for EHD, e^{-ε/(2 LS)} for EHDL."""
    return np.full(windows.x.shape, exp(-epsilon)) if name == "EHD" else np.exp(-epsilon / (2.0 * laws.local[windows.row]))


def _lower_margin(name: str) -> Margin:
    def margin(laws: Laws, windows: Windows, epsilon: float) -> Floats:
        stated = (2.0 * windows.steps * _decay(name, laws, windows, epsilon) + 1.0) / laws.n
        return np.asarray(windows.probability(_law(name, laws, epsilon)) / stated - 1.0)

    return margin


def _upper_margin(name: str) -> Margin:
    """1 less P divided by the upper bound, which may be infinite."""

    def margin(laws: Laws, windows: Windows, epsilon: float) -> Floats:
        shrunk = laws.n * _decay(name, laws, windows, epsilon) / (2.0 * windows.steps + 1.0)
        return np.asarray(1.0 - windows.probability(_law(name, laws, epsilon)) * shrunk)

    return margin


def _exponential_row(name: str, said: str) -> Claim:
    words = {"n": f"{EVERY.region['n']}; 100 and 1,000 balanced", "k": "0 to 12"}

    grid = Grid({**EVERY.region, **words}, lambda: (*EVERY.worlds(), *balanced_from(100).worlds()))
    lower, upper = (grid.search(step_windows, side(name), ties="broken") for side in (_lower_margin, _upper_margin))
    both = together(lower, upper)
    large = (0.5, 1.0, 2.0, 5.0, 20.0)
    kept = balanced_from(10).told({"ε": over(large), "k": "0 to 12"})
    low = kept.search(step_windows, _lower_margin(name), epsilons=large, ties="broken")
    high = BALANCED.told({"k": "0 to 12"}).search(step_windows, _upper_margin(name), ties="broken")
    return Claim(
        f"theorem-4.5-{name}",
        "001, Theorem 4.5",
        said,
        {
            "settings": lower.settings,
            "lower bound broken": lower.broken,
            "smallest P / lower bound": 1.0 + lower.worst,
            "upper bound broken": upper.broken,
            "largest P / upper bound": 1.0 - upper.worst,
        },
        both,
        (
            Condition("only the upper bound is meant, and the data are balanced", high),
            Condition("only the lower bound is meant, the data are balanced, n >= 10 and ε >= 0.5", low),
        ),
        "001-theorem-4.5",
    )


def _theorem_ehd() -> Claim:
    return _exponential_row("EHD", "EHD: (2k e^-ε + 1)/n < P(H < t) < (2k+1)/(n e^-ε), t allowing k steps.")


def _theorem_ehdl() -> Claim:
    return _exponential_row("EHDL", "EHDL: (2k e^{-ε/(2LS)} + 1)/n < P(H < t) < (2k+1)/(n e^{-ε/(2LS)}), t allowing k steps.")


# --- the corollaries of Theorem 4.5 -----------------------------------------------------------------------------------


def _ahead(laws: Laws, windows: Windows, epsilon: float) -> Floats:
    """P(H < t) of LSHist less P(H < t) of EHD."""
    return np.asarray(1.0 - missed(windows, laws.n, epsilon) - windows.probability(_law("EHD", laws, epsilon)))


def _large_premise(laws: Laws, windows: Windows, epsilon: float) -> NDArray[np.bool_]:
    k = np.maximum(windows.steps, 1)
    return np.asarray((windows.steps > 0) & (laws.n * exp(-epsilon) * -np.expm1(-epsilon * k) > 2.0 * k + 1.0))


def _small_premise(laws: Laws, windows: Windows, epsilon: float) -> NDArray[np.bool_]:
    k = windows.steps
    hist = 1.0 - 0.5 * (np.exp(-k * epsilon) + np.exp(-(k + 1) * epsilon))
    return np.asarray(laws.n * hist < 2.0 * k * exp(-epsilon) + 1.0)


def _good_premise(laws: Laws, windows: Windows, epsilon: float) -> NDArray[np.bool_]:
    return np.full(windows.x.shape, laws.n * exp(-epsilon / (2.0 * PAPER_SENSITIVITY)) * -np.expm1(-epsilon) > 3.0)


def _large_n() -> Claim:
    everywhere, unit = (grid.search(step_windows, _ahead, applies=_large_premise, ties="broken") for grid in (EVERY, UNIT))
    actual = {e: theory.actual_crossover(Beta(1, 1), e, 2, most=60) for e in ("0.5", "1", "2")}
    numbers: dict[str, float] = {"settings where it applies": everywhere.settings, "broken": everywhere.broken}
    numbers |= {f"ahead from n, k = 2, ε = {e}": float(n) if n is not None else inf for e, n in actual.items()}
    numbers |= {f"the corollary's n, k = 2, ε = {e}": theory.corollary_4_5_1(Beta(1, 1), (6, 6), e, 2).crossover or 0.0 for e in actual}
    return Claim(
        "large-n",
        "001, Corollary 4.5.1",
        "For n > (2k+1)/(e^-ε (1 - e^{-kε})) LSHist is more accurate than EHD: P(H < t) is larger.",
        numbers,
        everywhere,
        (Condition("the prior is Beta(1, 1)", unit),),
        "001-corollaries",
    )


def _small_n() -> Claim:
    """The smaller grid is the one of the first independent check: n = 2..19, every dataset, k = 0, 1, 2."""

    def behind(laws: Laws, windows: Windows, epsilon: float) -> Floats:
        return -_ahead(laws, windows, epsilon)

    def found(grid: Grid, most: int | None = None, epsilons: tuple[float, ...] = EPSILONS) -> Search:
        windows = step_windows if most is None else partial(step_windows, most=most)
        return grid.search(windows, behind, applies=_small_premise, epsilons=epsilons, ties="broken")

    small = Grid({"n": "2 to 19", "k": "0, 1, 2"}, lambda: (Laws.every(Beta(1, 1), n) for n in range(2, 20)))
    first = found(small, 2, (0.1, 0.5, 1.0, 2.0, 5.0))
    at = theory.corollary_4_5_2(Beta(1, 1), (1, 2), "0.5", 1)
    return Claim(
        "small-n",
        "001, Corollary 4.5.2",
        "For n < (2k e^-ε + 1)/(1 - ½(e^{-kε} + e^{-(k+1)ε})) EHD is more accurate than LSHist.",
        {
            "settings where it applies, Beta(1,1), n = 2..19, k = 0, 1, 2": first.settings,
            "broken there": first.broken,
            "P(H < t) of LSHist, (1, 2), ε = 0.5, k = 1": at.left,
            "P(H < t) of EHD there": at.right,
        },
        found(EVERY),
        (Condition("the data are balanced and n >= 4", found(balanced_from(4))),),
        "001-corollaries",
    )


def _good_outputs() -> Claim:
    found = EVERY.search(local_windows, _ahead, applies=_good_premise, ties="broken")
    return Claim(
        "good-outputs",
        "001, Corollary 4.5.3",
        "For n > 3/(e^{-ε/c} (1 - e^-ε)), c = 2 sqrt(1-π/4), LSHist is within LS(x) more often than EHD.",
        {"settings where it applies": found.settings, "broken": found.broken, "smallest P(LSHist) - P(EHD)": found.worst},
        found,
        figure="001-corollaries",
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "theorem-4.5-LSZhang": _theorem_zhang,
    "theorem-4.5-LSHist": _theorem_hist,
    "theorem-4.5-EHD": _theorem_ehd,
    "theorem-4.5-EHDL": _theorem_ehdl,
    "large-n": _large_n,
    "small-n": _small_n,
    "good-outputs": _good_outputs,
}
