"""Claims of 001's accuracy theory, evaluated over grids of data, ε and steps with both sides computed."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import exp, inf, log

from discreet.accuracy import error_law
from discreet.distributions import Beta
from discreet.mechanisms import LaplaceHistogram
from discreet.paper import theory
from discreet.paper.claim import Claim, verdict
from discreet.paper.contenders import balanced
from discreet.paper.figures_theory import error_ratio, reach_ratio
from discreet.paper.theory import Inequality
from discreet.sensitivity import local_sensitivity

__all__ = ["CLAIMS"]

_EPSILONS = ("0.5", "1", "2")
_ROUNDING = 1e-9


def _shares(n: int) -> list[tuple[int, int]]:
    """Balanced, lopsided and extreme data of n records."""
    return [(x, n - x) for x in sorted({n // 2, n // 5, 1})]


def _strictest(found: Iterable[Inequality]) -> tuple[int, int]:
    """How many inequalities were evaluated, and how many are false where their premise holds."""
    listed = list(found)
    return len(listed), sum(not each.holds for each in listed)


# --- Theorems 4.1 to 4.4 ----------------------------------------------------------------------------------------------

_SIZES = (2, 3, 5, 10, 30, 100, 300, 1000, 5000, 15_000)


def _theorem_4_1() -> Claim:
    gamma = 0.05
    found = {e: [error_ratio(n, float(e), gamma) / float(e) for n in _SIZES] for e in _EPSILONS}
    limit = {e: (log(1.0 / gamma) / float(e) + 1.0) / float(e) for e in _EPSILONS}
    bounded = all(max(found[e]) <= limit[e] for e in _EPSILONS)
    numbers = {f"largest over n = 2..15,000, ε = {e}": max(found[e]) for e in _EPSILONS}
    numbers |= {f"at n = 15,000, ε = {e}": found[e][-1] for e in _EPSILONS} | {f"(ln(1/γ)/ε + 1)/ε, ε = {e}": limit[e] for e in _EPSILONS}
    return Claim(
        "theorem-4.1",
        "001, Theorem 4.1",
        "ELap(x) / (ε LS(x)) is O(1) in n: LSHist's error, exceeded with probability γ = 0.05, stays within a constant of the "
        "local sensitivity.",
        numbers,
        verdict(bounded),
        "001-theorem-4.1-4.4",
    )


def _theorem_4_2() -> Claim:
    strict = weak = True
    numbers: dict[str, float] = {}
    for n, e in product((10, 100, 1000), _EPSILONS):
        counts, prior = balanced(n, 2), Beta(1, 1)
        law = error_law(LaplaceHistogram(prior, n, e), counts)
        local = local_sensitivity(prior, counts)
        inside = float(law.cdf(local * (1.0 + _ROUNDING)))
        below = float(law.probability[law.support < local * (1.0 - _ROUNDING)].sum())
        strict, weak = strict and below >= 1.0 - exp(-float(e)), weak and inside >= 1.0 - exp(-float(e))
        if n == 100:
            numbers |= {f"P(H < LS), ε = {e}": below, f"P(H <= LS), ε = {e}": inside, f"1 - e^-ε, ε = {e}": 1.0 - exp(-float(e))}
    return Claim(
        "theorem-4.2",
        "001, Theorem 4.2",
        "With γ = e^-ε, ELap(x) = LS(x): P(H < LS(x)) >= 1 - e^-ε for LSHist.",
        numbers,
        verdict(strict, "< is read as <=" if weak else None),
        "001-theorem-4.1-4.4",
    )


def _theorem_4_3() -> Claim:
    settings = list(product((10, 100, 1000, 15_000), (0.5, 1.0, 2.0), (0.3, 0.05, 0.01)))
    down = sum(error_ratio(n, e, g) > reach_ratio(n, e, g, up=False) * (1.0 + _ROUNDING) for n, e, g in settings)
    up = sum(error_ratio(n, e, g) > reach_ratio(n, e, g, up=True) * (1.0 + _ROUNDING) for n, e, g in settings)
    largest = max(reach_ratio(n, e, g, up=True) / (log(1.0 / g) / e) for n, e, g in settings)
    numbers = {"settings": len(settings), "broken with whole steps up to ln(1/γ)/ε": down, "broken with steps rounded up": up}
    reading = "noise of ln(1/γ)/ε is rounded up to whole steps, as the floor needs" if up == 0 else None
    return Claim(
        "theorem-4.3",
        "001, Theorem 4.3",
        "The (1-γ)-error of LSHist over LS(x) is at most the largest H over LS(x) within ln(1/γ)/ε steps, which is O(ln(1/γ)/ε).",
        numbers | {"largest right side / (ln(1/γ)/ε)": largest},
        verdict(down == 0, reading),
        "001-theorem-4.1-4.4",
    )


def _theorem_4_4() -> Claim:
    """With γ = e^{-kε} the (1-γ)-error is at most k steps, so at most k local sensitivities where steps do not grow."""
    ratios = {}
    for n, e, k in product((20, 100, 1000, 15_000), _EPSILONS, (1, 2, 4)):
        ratios[n, e, k] = error_ratio(n, float(e), exp(-k * float(e))) / k
    return Claim(
        "theorem-4.4",
        "001, Theorem 4.4",
        "With γ = e^{-kε} the bound of Theorem 4.3 is O(k): LSHist's (1-γ)-error is at most about k local sensitivities on balanced data.",
        {"largest error / (k LS)": max(ratios.values()), "smallest": min(ratios.values())},
        verdict(max(ratios.values()) <= 1.25),
        "001-theorem-4.1-4.4",
    )


def _corollary_4_4_1() -> Claim:
    within, ratio = [], []
    for n, e in product((4, 10, 100, 1000), _EPSILONS):
        for counts in _shares(n):
            first, second = theory.corollary_4_4_1(Beta(1, 1), counts, e)
            within.append(first)
            ratio.append(second)
    tried, broken = _strictest(within)
    return Claim(
        "corollary-4.4.1",
        "001, Corollary 4.4.1",
        "LSHist is within LS(x) with probability at least 1 - ½(e^-ε + e^-2ε), and its error at that confidence is at most 2 LS(x).",
        {
            "settings": tried,
            "first part broken": broken,
            "smallest P(H <= LS) - stated": min(each.left - each.right for each in within),
            "second part broken": _strictest(ratio)[1],
            "largest error / LS": max(each.left for each in ratio),
        },
        verdict(broken == 0 and _strictest(ratio)[1] == 0),
        "001-theorem-4.1-4.4",
    )


# --- Theorem 4.5 and its corollaries ----------------------------------------------------------------------------------

_STEPS = (0, 1, 2, 4)


def _rows(name: str) -> list[tuple[Inequality, Inequality, int, int, str]]:
    """Both statements of one row of the theorem over data, ε and steps: with n, the first count and ε."""
    settings = [(counts, e, steps) for n, e, steps in product((20, 100, 1000), _EPSILONS, _STEPS) for counts in _shares(n)]
    found = []
    for counts, e, steps in settings:
        first, second = theory.theorem_4_5(Beta(1, 1), counts, e, steps)[name]
        found.append((first, second, sum(counts), counts[0], e))
    return found


def _interior(n: int, x: int) -> bool:
    """Far enough from the edges that nothing is clamped and both sides of x have the same steps, about."""
    return 2 * x == n


def _laplace_row(name: str, where: str, said: str) -> Claim:
    rows = _rows(name)
    equal = [first.true for first, *_ in rows]
    bound = [second.true for _, second, *_ in rows]
    inside = [first.true for first, _, n, x, _ in rows if _interior(n, x)]
    gap = max(abs(first.left - first.right) for first, *_ in rows)
    numbers: dict[str, float] = {"settings": len(rows), "equality broken": equal.count(False), "lower bound broken": bound.count(False)}
    numbers |= {"balanced settings": len(inside), "equality broken there": inside.count(False), "largest |left - right|": gap}
    more = all(first.left >= first.right - _ROUNDING for first, _, n, x, _ in rows if _interior(n, x))
    condition = None
    if all(inside):
        condition = "the data are balanced (elsewhere steps up and down differ)"
    elif all(bound):
        condition = "the data are balanced and = is read as >=" if more else "only the lower bound is meant"
    return Claim(f"theorem-4.5-{name}", where, said, numbers, verdict(all(equal) and all(bound), condition), "001-theorem-4.5")


def _theorem_zhang() -> Claim:
    said = "LSZhang: P(H < t) = (1 - ½(e^{-kε/2} + e^{-(k+1)ε/2}))² >= (1 - e^{-kε/2})², t allowing k steps."
    return _laplace_row("LSZhang", "001, Theorem 4.5", said)


def _theorem_hist() -> Claim:
    return _laplace_row("LSHist", "001, Theorem 4.5", "LSHist: P(H < t) = 1 - ½(e^{-kε} + e^{-(k+1)ε}) >= 1 - e^{-kε}, t allowing k steps.")


def _exponential_row(name: str, said: str) -> Claim:
    rows = _rows(name)
    lower, upper = [first for first, *_ in rows], [second for _, second, *_ in rows]
    worst_low = min(lower, key=lambda each: each.left / each.right if each.right else inf)
    worst_high = max(upper, key=lambda each: each.left / each.right if each.right else inf)
    broken = _strictest(lower)[1], _strictest(upper)[1]
    numbers = {
        "settings": len(rows),
        "lower bound broken": broken[0],
        "smallest P / lower bound": worst_low.left / worst_low.right,
        "upper bound broken": broken[1],
        "largest P / upper bound": worst_high.left / worst_high.right,
    }
    condition = None
    if broken[0] == 0 and broken[1] < len(rows):
        condition = "only the lower bound is meant"
    elif broken[1] == 0 and broken[0] < len(rows):
        condition = "only the upper bound is meant"
    return Claim(f"theorem-4.5-{name}", "001, Theorem 4.5", said, numbers, verdict(broken == (0, 0), condition), "001-theorem-4.5")


def _theorem_ehd() -> Claim:
    return _exponential_row("EHD", "EHD: (2k e^-ε + 1)/n < P(H < t) < (2k+1)/(n e^-ε), t allowing k steps.")


def _theorem_ehdl() -> Claim:
    return _exponential_row("EHDL", "EHDL: (2k e^{-ε/(2LS)} + 1)/n < P(H < t) < (2k+1)/(n e^{-ε/(2LS)}), t allowing k steps.")


_COROLLARY_SIZES = (6, 10, 12, 20, 40, 100, 400, 1000)


def _large_n() -> Claim:
    found = [theory.corollary_4_5_1(Beta(1, 1), balanced(n, 2), e, k) for n, e, k in product(_COROLLARY_SIZES, _EPSILONS, (1, 2))]
    applies = [each for each in found if each.premise]
    actual = {e: theory.actual_crossover(Beta(1, 1), e, 2, most=120) for e in _EPSILONS}
    numbers: dict[str, float] = {"settings where it applies": len(applies), "broken": _strictest(found)[1]}
    numbers |= {f"ahead from n, k = 2, ε = {e}": float(n) if n is not None else inf for e, n in actual.items()}
    numbers |= {
        f"the corollary's n, k = 2, ε = {e}": next(each.crossover or 0.0 for each in [theory.corollary_4_5_1(Beta(1, 1), (6, 6), e, 2)])
        for e in _EPSILONS
    }
    return Claim(
        "large-n",
        "001, Corollary 4.5.1",
        "For n > (2k+1)/(e^-ε (1 - e^{-kε})) LSHist is more accurate than EHD: P(H < t) is larger.",
        numbers,
        verdict(_strictest(found)[1] == 0 and len(applies) > 0),
        "001-corollaries",
    )


def _small_n() -> Claim:
    sizes = (4, 6, 8, 10, 12)
    found = [
        theory.corollary_4_5_2(Beta(1, 1), balanced(n, 2), e, k)
        for n, e, k in product(sizes, ("0.1", "0.5", "1", "2"), (0, 1))
        if n >= 2 * k + 2
    ]
    applies = [each for each in found if each.premise]
    numbers: dict[str, float] = {"settings": len(found), "settings where it applies": len(applies), "broken": _strictest(found)[1]}
    numbers |= {"largest n of a premise, k = 1": max(each.crossover or 0.0 for each in found if "k = 1" in each.claim)}
    always = _strictest(found)[1] == 0
    condition = "its premise is met, which it was in few of these settings" if always else None
    return Claim(
        "small-n",
        "001, Corollary 4.5.2",
        "For n < (2k e^-ε + 1)/(1 - ½(e^{-kε} + e^{-(k+1)ε})) EHD is more accurate than LSHist.",
        numbers,
        verdict(always and len(applies) > 0, condition if not applies else None),
        "001-corollaries",
    )


def _good_outputs() -> Claim:
    found = [theory.corollary_4_5_3(Beta(1, 1), counts, e) for n, e in product(_COROLLARY_SIZES, _EPSILONS) for counts in _shares(n)]
    applies = [each for each in found if each.premise]
    return Claim(
        "good-outputs",
        "001, Corollary 4.5.3",
        "For n > 3/(e^{-ε/c} (1 - e^-ε)), c = 2 sqrt(1-π/4), LSHist is within LS(x) more often than EHD.",
        {
            "settings where it applies": len(applies),
            "broken": _strictest(found)[1],
            "smallest P(LSHist) - P(EHD)": min(each.left - each.right for each in applies),
        },
        verdict(_strictest(found)[1] == 0 and len(applies) > 0),
        "001-corollaries",
    )


# --- the utility table ------------------------------------------------------------------------------------------------


def _utility(kind: str) -> list[tuple[str, Inequality]]:
    found = []
    for n, e, delta in product((100, 1000), _EPSILONS, (0.05, 0.01)):
        for name, rows in theory.utility_table(Beta(1, 1), balanced(n, 2), e, delta).items():
            found += [(name, row) for row in rows if f", {kind} at" in row.claim]
    return found


def _utility_claim(identifier: str, kind: str, said: str, condition: str) -> Claim:
    found = _utility(kind)
    numbers: dict[str, float] = {}
    broken = {}
    for name in dict.fromkeys(name for name, _ in found):
        own = [row for mechanism, row in found if mechanism == name]
        broken[name] = sum(not row.true for row in own)
        numbers |= {f"{name}: settings": len(own), f"{name}: broken": broken[name]}
        numbers[f"{name}: median exact / entry"] = sorted(row.left / row.right for row in own)[len(own) // 2]
    good = [name for name, count in broken.items() if count == 0]
    partly = condition.format(", ".join(good)) if good else None
    return Claim(identifier, "001, utility table", said, numbers, verdict(not any(broken.values()), partly), "001-utility-table")


def _utility_h() -> Claim:
    said = "The H column, with O(·) read as 1 and its ratio the other way up: the error exceeded with probability δ is at most the entry."
    return _utility_claim("utility-h", "H", said, "the mechanism is {}")


def _utility_kl() -> Claim:
    said = "The KL column, with O(·) read as 1: the divergence exceeded with probability δ is at most the entry."
    return _utility_claim("utility-kl", "KL", said, "the mechanism is {}")


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "theorem-4.1": _theorem_4_1,
    "theorem-4.2": _theorem_4_2,
    "theorem-4.3": _theorem_4_3,
    "theorem-4.4": _theorem_4_4,
    "corollary-4.4.1": _corollary_4_4_1,
    "theorem-4.5-LSZhang": _theorem_zhang,
    "theorem-4.5-LSHist": _theorem_hist,
    "theorem-4.5-EHD": _theorem_ehd,
    "theorem-4.5-EHDL": _theorem_ehdl,
    "large-n": _large_n,
    "small-n": _small_n,
    "good-outputs": _good_outputs,
    "utility-h": _utility_h,
    "utility-kl": _utility_kl,
}
