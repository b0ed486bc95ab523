"""Claims of 001's Theorem 4.5 and its corollaries: P(H < t) of four mechanisms, and LSHist against EHD."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from math import exp, inf

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.mechanisms.laplace import LaplaceDimension
from discreet.model.dirichlet import Beta
from discreet.model.distances import renyi
from discreet_papers import theory
from discreet_papers.claim import Claim, Condition
from discreet_papers.grids import EPSILONS, EVEN, EVERY, Margin, SearchGrid, balanced_from, less_missed
from discreet_papers.laws import CandidateWindows, Laws, Prior, local_windows, missed, missed_ball, pair, probability_ball, step_windows
from discreet_papers.search import Cases, case, over, search, together
from discreet_papers.theory import PAPER_SENSITIVITY

__all__ = ["CLAIMS"]

# --- Theorem 4.5 ------------------------------------------------------------------------------------------------------


_LARGEST = 700.0
"""An exponent whose exponential is still a float."""


def _hist_equality(_laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
    """P(H < t) less its stated value: the noise below -k, less what lies below the window; exactly 0 where they are the same."""
    stated = np.exp(-epsilon * windows.steps)
    below = np.where(windows.low > 0, np.exp(-epsilon * (windows.x - windows.low)), 0.0)
    return np.asarray(-np.abs(stated - below) / 2.0)


def _hist_lower(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
    """P(H < t) less 1 - e^-kε, in units of e^-kε."""
    below = np.where(windows.low > 0, np.exp(np.minimum(epsilon * (windows.steps - windows.down), _LARGEST)), 0.0)
    above = np.where(windows.high < laws.n, exp(-epsilon), 0.0)
    return np.asarray(1.0 - (below + above) / 2.0)


def _equality_ball(_laws: Laws, windows: CandidateWindows, epsilon: float, i: int) -> arb:
    e = arb(epsilon)
    below = (-e * int(windows.x[i] - windows.low[i])).exp() if windows.low[i] > 0 else arb(0)
    return -abs((-e * int(windows.steps[i])).exp() - below)


def _theorem_hist() -> Claim:
    def inside(_laws: Laws, windows: CandidateWindows, _epsilon: float) -> NDArray[np.bool_]:
        return np.asarray(windows.x > windows.steps)

    def reached(_laws: Laws, windows: CandidateWindows, _epsilon: float) -> NDArray[np.bool_]:
        return np.asarray((windows.down >= windows.steps) | (windows.low == 0))

    bound = less_missed(lambda e, k: (-e * k).exp())
    equal = EVERY.search(step_windows, _hist_equality, exact=_equality_ball)
    lower = EVERY.search(step_windows, _hist_lower, exact=bound)
    within = EVEN.told({"k": "less than half of n"}).search(step_windows, _hist_equality, applies=inside, exact=_equality_ball)
    kept = EVERY.search(step_windows, _hist_lower, applies=reached, exact=bound)
    return Claim(
        "theorem-4.5-LSHist",
        "001, Theorem 4.5",
        "LSHist: P(H < t) = 1 - ½(e^{-kε} + e^{-(k+1)ε}) >= 1 - e^{-kε}, t allowing k steps.",
        {
            "settings": equal.settings,
            "equality broken": equal.broken,
            "lower bound broken": lower.broken,
            "balanced settings": within.settings,
            "|left - right|, (2, 1) under Beta(1, 1), ε = 1, k = 0": _shown_equality(2, 3, 1.0, 0),
        },
        equal,
        (
            Condition(
                "the prior is Beta(a, a), the data are balanced with the first count not the larger, and there are more than k records of "
                "each kind (elsewhere steps up and down differ)",
                within,
            ),
            Condition("only the lower bound is meant, and k steps down are within t or clamped", kept),
        ),
        "001-theorem-4.5",
    )


def _shown_equality(x: int, n: int, epsilon: float, k: int) -> float:
    """How far P(H < t) of LSHist is from its stated value, at one setting under Beta(1, 1)."""
    laws = Laws(Beta(1, 1), n, (x,))
    return -float(_hist_equality(laws, step_windows(laws), epsilon)[k])


_ZHANG_EPSILONS = (0.01, 0.1, 1.0, 5.0, 50.0)


def _zhang_cases(
    worlds: Iterable[tuple[Prior, int]], kept: Callable[[Prior, int, int], bool], *, equality: bool, epsilons: tuple[float, ...]
) -> Iterator[Cases]:
    """LSZhang adds noise to both counts, so P(H >= t) is a sum over the pairs of reported counts at distance t or more."""
    for prior, n in worlds:
        reports = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"), axis=-1).reshape(-1, 2)
        laws = Laws.every(prior, n)
        # The baseline's noise for two categories has the scale 2/ε that LSZhang has.
        noisy = {epsilon: laws.laplace(LaplaceDimension(prior, n, repr(epsilon))) for epsilon in epsilons}
        for x in (x for x in range(n + 1) if kept(prior, n, x)):
            own, others = prior.concentration + np.array([x, n - x]), prior.concentration + reports
            far = np.asarray(renyi(own, others, "0.5")) / 2.0
            for epsilon, k in product(epsilons, range(n - x)):
                probability = np.outer(noisy[epsilon][x], noisy[epsilon][n - x]).reshape(-1)
                # Reports as far as k + 1 steps up are that one and, for balanced data, its mirror image.
                outside = float(probability[far >= laws.exponents[x, x + k + 1] * (1.0 - 1e-11)].sum())
                yield case(f"{_beta(prior)}, {pair(x, n)}, ε = {epsilon:g}, k = {k}", _zhang_margin(outside, k, epsilon, equality=equality))


def _zhang_margin(outside: float, k: int, epsilon: float, *, equality: bool) -> float:
    """P(H < t) against the equality, or against the lower bound, in units of what that leaves."""
    off = exp(-k * epsilon / 2.0)
    if equality:
        off *= 0.5 * (1.0 + exp(-epsilon / 2.0))
    spare = 1.0 - outside / (2.0 * off - off * off)
    return -abs(spare) if equality else spare


def _beta(prior: Prior) -> str:
    return f"Beta({', '.join(f'{float(a):g}' for a in prior.exact)})"


def _theorem_zhang() -> Claim:
    sizes, more = (*range(1, 9), 17), (*range(1, 17), 31)
    priors = (Beta(1, 1), Beta("0.000001", "0.000001"), Beta("0.01", "0.01"), Beta(20, 20), Beta("0.1", 5), Beta(5, "0.001"))
    region = {"prior": "Beta(1, 1)", "n": over(sizes), "data": "every dataset", "ε": over(_ZHANG_EPSILONS), "k": "every k"}
    unit = [(Beta(1, 1), n) for n in sizes]
    equal = search(region, _zhang_cases(unit, lambda *_: True, equality=True, epsilons=(0.1, 1.0, 5.0)))
    lower = search(region, _zhang_cases(unit, lambda *_: True, equality=False, epsilons=_ZHANG_EPSILONS))

    def not_far_below(prior: Prior, n: int, x: int) -> bool:
        return prior.exact[0] + x + 1 >= prior.exact[1] + n - x

    reading = search(
        region | {"prior": f"{len(priors)} priors, parameters 1e-6 to 20", "n": over(more), "data": "every such dataset"},
        _zhang_cases(product(priors, more), not_far_below, equality=False, epsilons=_ZHANG_EPSILONS),
    )
    at = theory.theorem_4_5(Beta(1, 1), (3, 14), 5, 3)["LSZhang"][1]
    return Claim(
        "theorem-4.5-LSZhang",
        "001, Theorem 4.5",
        "LSZhang: P(H < t) = (1 - ½(e^{-kε/2} + e^{-(k+1)ε/2}))² >= (1 - e^{-kε/2})², t allowing k steps.",
        {
            "settings": equal.settings,
            "equality broken": equal.broken,
            "lower bound broken": lower.broken,
            "largest |left - right| / (1 - right)": -equal.worst,
            "P(H < t) less its lower bound, (3, 14), ε = 5, k = 3": at.margin or 0.0,
        },
        equal,
        (Condition("only the lower bound is meant, and the posterior Beta(α, β) has α + 1 >= β, as for balanced data", reading),),
        "001-theorem-4.5",
    )


def _law(name: str, laws: Laws, epsilon: float) -> Floats:
    return laws.exponential(epsilon, PAPER_SENSITIVITY if name == "EHD" else laws.local)


def _decay(name: str, laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
    """The factor of the theorem: e^-ε for EHD, e^{-ε/(2 LS)} for EHDL."""
    return np.full(windows.x.shape, exp(-epsilon)) if name == "EHD" else np.exp(-epsilon / (2.0 * laws.local[windows.row]))


def _lower_margin(name: str) -> Margin:
    def margin(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
        stated = (2.0 * windows.steps * _decay(name, laws, windows, epsilon) + 1.0) / laws.n
        return np.asarray(windows.probability(_law(name, laws, epsilon)) / stated - 1.0)

    return margin


def _lower_ball(name: str) -> Callable[[Laws, CandidateWindows, float, int], arb]:
    """P(H < t) less its lower bound, as a ball: with one record and a large ε both are 1 but for a little."""

    def exact(laws: Laws, windows: CandidateWindows, epsilon: float, i: int) -> arb:
        sensitivity = (1 - arb.pi() / 4).sqrt() if name == "EHD" else laws.local_ball(int(windows.row[i]))
        rate = arb(epsilon) / (2 * sensitivity)
        decay = (-arb(epsilon)).exp() if name == "EHD" else (-rate).exp()
        return probability_ball(laws, windows, i, rate) - (2 * int(windows.steps[i]) * decay + 1) / laws.n

    return exact


def _upper_margin(name: str) -> Margin:
    """1 less P divided by the upper bound, which may be infinite."""

    def margin(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
        shrunk = laws.n * _decay(name, laws, windows, epsilon) / (2.0 * windows.steps + 1.0)
        return np.asarray(1.0 - windows.probability(_law(name, laws, epsilon)) * shrunk)

    return margin


def _no_more_down(_laws: Laws, windows: CandidateWindows, _epsilon: float) -> NDArray[np.bool_]:
    """Whether no more than k steps down are within t, as is so where the posterior's mean is at most a half."""
    return np.asarray(windows.down <= windows.steps)


_NO_MORE_DOWN = "no more than k steps down are within t, as where the posterior's mean is at most 1/2"


def _exponential_row(name: str, said: str) -> Claim:
    words = {"n": f"{EVERY.region['n']}; 100, 199 and 1,000 balanced", "k": "every k"}

    grid = SearchGrid({**EVERY.region, **words}, lambda: (*EVERY.worlds(), *balanced_from(100).worlds()))
    lower = grid.search(step_windows, _lower_margin(name), exact=_lower_ball(name), ties="broken")
    upper = grid.search(step_windows, _upper_margin(name), ties="broken")
    large = tuple(e for e in EPSILONS if e >= 0.5)
    kept = balanced_from(10).told({"ε": over(large), "k": "every k"})
    low = kept.search(step_windows, _lower_margin(name), epsilons=large, ties="broken")
    high = grid.search(step_windows, _upper_margin(name), applies=_no_more_down, ties="broken")
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
        together(lower, upper),
        (
            Condition(f"only the upper bound is meant, and {_NO_MORE_DOWN}", high),
            Condition("only the lower bound is meant, the prior is Beta(1, 1), the data are balanced, n >= 10 and ε >= 0.5", low),
        ),
        "001-theorem-4.5",
    )


def _theorem_ehd() -> Claim:
    return _exponential_row("EHD", "EHD: (2k e^-ε + 1)/n < P(H < t) < (2k+1)/(n e^-ε), t allowing k steps.")


def _theorem_ehdl() -> Claim:
    return _exponential_row("EHDL", "EHDL: (2k e^{-ε/(2LS)} + 1)/n < P(H < t) < (2k+1)/(n e^{-ε/(2LS)}), t allowing k steps.")


# --- the corollaries of Theorem 4.5 -----------------------------------------------------------------------------------


def _ahead(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
    """P(H < t) of LSHist less P(H < t) of EHD."""
    return np.asarray(1.0 - missed(windows, laws.n, epsilon) - windows.probability(_law("EHD", laws, epsilon)))


def _ahead_ball(laws: Laws, windows: CandidateWindows, epsilon: float, i: int) -> arb:
    rate = arb(epsilon) / (2 * (1 - arb.pi() / 4).sqrt())
    return 1 - missed_ball(windows, laws.n, epsilon, i) - probability_ball(laws, windows, i, rate)


def _large_premise(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
    k = np.maximum(windows.steps, 1)
    return np.asarray((windows.steps > 0) & (laws.n * exp(-epsilon) * -np.expm1(-epsilon * k) > 2.0 * k + 1.0))


def _small_premise(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
    k = windows.steps
    hist = 1.0 - 0.5 * (np.exp(-k * epsilon) + np.exp(-(k + 1) * epsilon))
    return np.asarray(laws.n * hist < 2.0 * k * exp(-epsilon) + 1.0)


def _good_premise(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
    return np.full(windows.x.shape, laws.n * exp(-epsilon / (2.0 * PAPER_SENSITIVITY)) * -np.expm1(-epsilon) > 3.0)


def _large_n() -> Claim:
    def kept(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
        return _large_premise(laws, windows, epsilon) & _no_more_down(laws, windows, epsilon)

    everywhere, lower = (EVERY.search(step_windows, _ahead, applies=premise, ties="broken") for premise in (_large_premise, kept))
    actual = {e: theory.actual_crossover(Beta(1, 1), e, 2, most=60) for e in ("0.5", "1", "2")}
    at = theory.corollary_4_5_1(Beta(1, 1), (46, 12), "0.05", 11)
    numbers: dict[str, float] = {"settings where it applies": everywhere.settings, "broken": everywhere.broken}
    numbers |= {"P(H < t) of LSHist, (46, 12), ε = 0.05, k = 11": at.left, "P(H < t) of EHD there": at.right}
    numbers |= {f"ahead from n, k = 2, ε = {e}": float(n) if n is not None else inf for e, n in actual.items()}
    numbers |= {f"the corollary's n, k = 2, ε = {e}": theory.corollary_4_5_1(Beta(1, 1), (6, 6), e, 2).crossover or 0.0 for e in actual}
    return Claim(
        "large-n",
        "001, Corollary 4.5.1",
        "For n > (2k+1)/(e^-ε (1 - e^{-kε})) LSHist is more accurate than EHD: P(H < t) is larger.",
        numbers,
        everywhere,
        (Condition(_NO_MORE_DOWN, lower),),
        "001-corollaries",
    )


def _small_n() -> Claim:
    """The smaller grid is the one of the first independent check: n = 2..19, every dataset, k = 0, 1, 2."""

    def behind(laws: Laws, windows: CandidateWindows, epsilon: float) -> Floats:
        return -_ahead(laws, windows, epsilon)

    def exact(laws: Laws, windows: CandidateWindows, epsilon: float, i: int) -> arb:
        return -_ahead_ball(laws, windows, epsilon, i)

    def symmetric(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
        met = (laws.n >= 4) & (max(laws.prior.exact) <= 1) & (windows.down == windows.steps) & (windows.low > 0)
        return np.asarray(met & _small_premise(laws, windows, epsilon))

    small = SearchGrid({"n": "2 to 19", "k": "0, 1, 2"}, lambda: (Laws.every(Beta(1, 1), n) for n in range(2, 20)))
    few = (0.1, 0.5, 1.0, 2.0, 5.0)
    first = small.search(partial(step_windows, most=2), behind, applies=_small_premise, epsilons=few, ties="broken")
    grid = SearchGrid(EVERY.region, lambda: (*EVERY.worlds(), *balanced_from(100).worlds()))
    at, odd = (theory.corollary_4_5_2(Beta(1, 1), counts, "0.5", k) for counts, k in (((1, 2), 1), ((3, 2), 0)))
    return Claim(
        "small-n",
        "001, Corollary 4.5.2",
        "For n < (2k e^-ε + 1)/(1 - ½(e^{-kε} + e^{-(k+1)ε})) EHD is more accurate than LSHist.",
        {
            "settings where it applies, Beta(1,1), n = 2..19, k = 0, 1, 2": first.settings,
            "broken there": first.broken,
            "P(H < t) of LSHist, (1, 2), ε = 0.5, k = 1": at.left,
            "P(H < t) of EHD there": at.right,
            "P(H < t) of LSHist, (3, 2), ε = 0.5, k = 0": odd.left,
            "P(H < t) of EHD at (3, 2)": odd.right,
        },
        EVERY.search(step_windows, behind, applies=_small_premise, exact=exact, ties="broken"),
        (
            Condition(
                "n >= 4, no prior parameter is above 1, and exactly k steps down are within t and none of them clamped, as for "
                "balanced data whose first count is not the larger",
                grid.told({"n": f"{EVERY.region['n']}; 100, 199 and 1,000 balanced", "k": "every k"}).search(
                    step_windows, behind, applies=symmetric, ties="broken"
                ),
            ),
        ),
        "001-corollaries",
    )


def _good_outputs() -> Claim:
    def some_farther(laws: Laws, windows: CandidateWindows, epsilon: float) -> NDArray[np.bool_]:
        return _good_premise(laws, windows, epsilon) & ((windows.low > 0) | (windows.high < laws.n))

    found = EVERY.search(local_windows, _ahead, applies=_good_premise, exact=_ahead_ball, ties="broken")
    farther = EVERY.search(local_windows, _ahead, applies=some_farther, ties="broken")
    return Claim(
        "good-outputs",
        "001, Corollary 4.5.3",
        "For n > 3/(e^{-ε/c} (1 - e^-ε)), c = 2 sqrt(1-π/4), LSHist is within LS(x) more often than EHD.",
        {
            "settings where it applies": found.settings,
            "broken: every candidate is within LS(x)": found.ties,
            "smallest P(LSHist) - P(EHD) elsewhere": farther.worst,
        },
        found,
        (Condition("some candidate is farther than LS(x); otherwise both are within it for certain", farther),),
        "001-corollaries",
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
