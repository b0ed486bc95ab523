"""Claims about counting and formulas: 000 section 6, its Tables 1 and 2, the number of candidates, and the ℓ1 accuracy of section 3."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from math import comb

import numpy as np
from flint import arb

from discreet.arrays import Counts
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.model.datasets import simplex_points
from discreet.model.dirichlet import Beta
from discreet_papers import formulas, theory
from discreet_papers.accuracy_tables import PRINTED, accuracy_rows
from discreet_papers.claim import Claim, Condition
from discreet_papers.laws import Laws, pair
from discreet_papers.search import Cases, Search, case, each, equal_case, in_floats, over, relative, search

__all__ = ["CLAIMS"]

_PARAMETERS = tuple(Fraction(text) for text in ("0.01", "0.3", "1", "2.5", "5", "20", "51", "400"))
_ABOVE = tuple(Fraction(text) for text in ("0.01", "0.5", "1", "3", "21", "50"))
"""By how much β is above the number of steps."""
_Formula = Callable[[Fraction, Fraction, int], arb]


def _candidates() -> Claim:
    sizes = [(n, k) for n in range(1, 13) for k in range(2, 7)]
    counted = {(n, k): len(simplex_points(n, k)) for n, k in sizes}

    def cases(dimensions: tuple[int, ...], formula: Callable[[int, int], int]) -> Iterator[Cases]:
        for n, k in sizes:
            if k in dimensions:
                yield case(f"n = {n}, m = {k}", float(-abs(counted[n, k] - formula(n, k))), error=0.0, exact=lambda: arb(0))

    def printed(n: int, k: int) -> int:
        return comb(n + 1, k - 1)

    every = tuple(range(2, 7))
    return Claim(
        "candidates",
        "000, section 4.2.3",
        "With n records and m categories there are C(n+1, m-1) candidate posteriors.",
        {"counted, n = 12, m = 3": counted[12, 3], "C(n+1, m-1)": printed(12, 3), "C(n+m-1, m-1)": comb(14, 2)},
        search({"n": "1 to 12", "m": "2 to 6"}, cases(every, printed)),
        (
            Condition("m = 2; the number is C(n+m-1, m-1)", search({"n": "1 to 12", "m": "2"}, cases((2,), printed))),
            Condition(
                "it is read as C(n+m-1, m-1)", search({"n": "1 to 12", "m": "2 to 6"}, cases(every, lambda n, k: comb(n + k - 1, k - 1)))
            ),
        ),
    )


# --- 000 section 6.1.1: distances -------------------------------------------------------------------------------------


def _formula_cases(formula: _Formula, steps: tuple[int, ...], *, symmetric: bool | None = None) -> Iterator[Cases]:
    """A formula for H² against the distance. With `symmetric`, only where β - 1 = α."""
    for t in steps:
        for alpha in _PARAMETERS:
            for beta in [alpha + 1] if symmetric else [t + above for above in _ABOVE]:
                if beta > t:
                    at = f"α = {float(alpha):g}, β = {float(beta):g}, t = {t}"
                    yield equal_case(at, partial(formula, alpha, beta, t), partial(formulas.squared_distance, alpha, beta, t))


def _formula_search(formula: _Formula, steps: tuple[int, ...], *, symmetric: bool = False) -> Search:
    beta = "α + 1" if symmetric else f"t more than {over([float(b) for b in _ABOVE])}"
    region = {"t": over(steps), "α": over([float(a) for a in _PARAMETERS]), "β": beta, "digits": "50"}
    return search(region, _formula_cases(formula, steps, symmetric=symmetric))


def _distance_claim(
    identifier: str,
    steps: str,
    said: str,
    numbers: Mapping[str, Callable[[], arb]],
    stated: Search,
    readings: Mapping[str, Search] | None = None,
) -> Claim:
    """A claim about the formula for so many steps: as it is printed, and as it may be read."""
    conditions = tuple(Condition(text, found) for text, found in (readings or {}).items())
    shown = {name: in_floats(compute) for name, compute in numbers.items()}
    return Claim(identifier, f"000, section 6.1.1, {steps}", said, shown, stated, conditions, "000-table-1")


_MIDDLE, _FAR = (Fraction(51), Fraction(51)), (Fraction(3), Fraction(40))
"""The parameters α and β at which distances and formulas are shown."""


def _one_step() -> Claim:
    printed: _Formula = lambda a, b, _: formulas.one_step(a, b)  # noqa: E731
    repaired: _Formula = lambda a, b, _: formulas.one_step(a, b, repaired=True)  # noqa: E731
    return _distance_claim(
        "one-step",
        "t = 1",
        "One step away from Beta(α, β) the squared Hellinger distance is 1 - [Γ(α+½)/Γ(α)] [Γ(β-½)/Γ(β)].",
        {
            "H² from (51, 51)": lambda: formulas.squared_distance(*_MIDDLE, 1),
            "printed formula": lambda: formulas.one_step(*_MIDDLE),
            "from (3, 40)": lambda: formulas.squared_distance(*_FAR, 1),
            "printed formula there": lambda: formulas.one_step(*_FAR),
        },
        _formula_search(printed, (1,)),
        {
            "β - 1 = α; elsewhere the product lacks the factor sqrt((β-1)/α)": _formula_search(printed, (1,), symmetric=True),
            "the product has the factor sqrt((β-1)/α) as well": _formula_search(repaired, (1,)),
        },
    )


def _two_steps() -> Claim:
    return _distance_claim(
        "two-steps",
        "t = 2",
        "Two steps away from Beta(α, β) the squared Hellinger distance is 1 - sqrt(1 - 1/(α+1)) sqrt(1 - 1/β).",
        {
            "H² from (51, 51)": lambda: formulas.squared_distance(*_MIDDLE, 2),
            "printed formula": lambda: formulas.two_steps(*_MIDDLE),
            "with β - 1 for β": lambda: formulas.two_steps(*_MIDDLE, repaired=True),
        },
        _formula_search(lambda a, b, _: formulas.two_steps(a, b), (2,)),
        {"β in it is read as β - 1": _formula_search(lambda a, b, _: formulas.two_steps(a, b, repaired=True), (2,))},
    )


def _even_steps() -> Claim:
    return _distance_claim(
        "even-steps",
        "t even",
        "For even t the squared Hellinger distance is 1 - Π_{k=0}^{t/2-1} sqrt(1 - (t/2)/(α+k+t/2)) Π_{k=1}^{t/2} sqrt(1 - (t/2)/(β-k)).",
        {f"H² from (51, 51), t = {t}": partial(formulas.even_steps, *_MIDDLE, t) for t in (2, 4, 8)},
        _formula_search(formulas.even_steps, (2, 4, 6, 8, 10, 20)),
    )


def _odd_steps() -> Claim:
    return _distance_claim(
        "odd-steps",
        "t odd",
        "For odd t = 2m + 1 the squared Hellinger distance is 1 less the formula of t = 1 times two products of m factors.",
        {
            "H² from (51, 51), t = 3": lambda: formulas.squared_distance(*_MIDDLE, 3),
            "printed formula, t = 3": lambda: formulas.odd_steps(*_MIDDLE, 3),
            "H² from (51, 51), t = 5": lambda: formulas.squared_distance(*_MIDDLE, 5),
            "printed formula, t = 5": lambda: formulas.odd_steps(*_MIDDLE, 5),
        },
        _formula_search(formulas.odd_steps, (3, 5, 7)),
    )


def _floor_sign() -> Claim:
    places = [(t, Fraction(b)) for t in (-1, -2, -5, -40) for b in ("0.05", "1", "2", "100")]
    region = {"t": "-1, -2, -5, -40", "Δ/ε": "0.05, 1, 2, 100"}

    def at(sign: int, place: tuple[int, Fraction]) -> Cases:
        t, b = place
        return equal_case(f"t = {t}, Δ/ε = {float(b):g}", lambda: sign * formulas.floored(t, b)[0], lambda: formulas.floored(t, b)[1])

    return Claim(
        "floor-sign",
        "000, section 6.1.1, first display for t < 0",
        "P(⌊Y⌋ = t) = ½(e^{εt/Δ} - e^{ε(t+1)/Δ}) for t < 0.",
        {
            "printed, t = -1, Δ/ε = 1": in_floats(lambda: formulas.floored(-1, Fraction(1))[0]),
            "true": in_floats(lambda: formulas.floored(-1, Fraction(1))[1]),
        },
        search(region, each(at, (1,), places)),
        (Condition("the sign is changed, as in the next display", search(region, each(at, (-1,), places))),),
    )


_DECREASING_PRIORS = ("0.01", "1", "30")


def _decreasing_cases(*, kept: bool) -> Iterator[Cases]:
    """H to the candidate t steps away with n records, over that with one more; `kept`: no count falls from the one to the other."""
    for text in _DECREASING_PRIORS:
        prior = Beta(text, text)
        laws = {n: Laws.every(prior, n) for n in range(1, 31)}
        for n in range(1, 30):
            for t in (-3, -2, -1, 1, 2, 3):
                x = np.array([x for x in range(n + 1) if 0 <= x + t <= n], dtype=np.int64)
                own = laws[n].distances[x, x + t]
                for shift in (0, 1) if kept else (-1, 0, 1, 2):
                    y = x + shift
                    fits = (y >= 0) & (y <= n + 1) & (y + t >= 0) & (y + t <= n + 1)
                    margins = relative(own[fits], laws[n + 1].distances[y[fits], y[fits] + t])
                    yield Cases(margins, _grown(text, n, t, x[fits], y[fits]), exact=_grown_ball(Fraction(text), n, t, x[fits], y[fits]))


def _grown(prior: str, n: int, t: int, x: Counts, y: Counts) -> Callable[[int], str]:
    return lambda i: f"Beta({prior}, {prior}), {pair(int(x[i]), n)} and {pair(int(y[i]), n + 1)}, t = {t}"


def _grown_ball(a: Fraction, n: int, t: int, x: Counts, y: Counts) -> Callable[[int], arb]:
    def exact(i: int) -> arb:
        before = formulas.squared_distance(a + int(x[i]), a + n - int(x[i]), t)
        return before - formulas.squared_distance(a + int(y[i]), a + n + 1 - int(y[i]), t)

    return exact


def _distances_decrease() -> Claim:
    region = {
        "prior": f"Beta(a, a), a = {', '.join(_DECREASING_PRIORS)}",
        "n": "1 to 29, and one more record",
        "t": "1, 2, 3 steps up and down",
    }
    numbers = {
        f"H two steps up, balanced data, n = {n}": float(Laws(Beta(1, 1), n, (n // 2,)).distances[0, n // 2 + 2]) for n in (10, 100, 1000)
    }
    return Claim(
        "distances-decrease",
        "000, section 6.1",
        "As the data size grows, the distance to the candidate t steps away decreases.",
        numbers,
        search(region | {"data": "any two datasets that differ by at most 2 in a count"}, _decreasing_cases(kept=False), ties="broken"),
        (
            Condition(
                "no count falls as the data grow, as with balanced data",
                search(
                    region | {"data": "every dataset, with one record of either kind added"}, _decreasing_cases(kept=True), ties="broken"
                ),
            ),
        ),
        "000-table-1",
    )


# --- 000 Tables 1 and 2 -----------------------------------------------------------------------------------------------


def _table_digits() -> Claim:
    numbers: dict[str, float] = {}
    found = []
    for (table, mechanism), printed in PRINTED.items():
        data = accuracy_rows(table)
        for steps, text in enumerate(printed):
            value = float(data.one("exact", mechanism=mechanism, steps=steps))
            places = len(text.split(".")[1])
            name = f"Table {table}, {mechanism}, {steps} steps"
            numbers[name] = value
            # The papers cut some digits off where others are rounded: either is the printed number.
            found.append(case(name, 1.0 - abs(value - float(text)) * 10.0**places, error=1e-4))
    return Claim(
        "tables-laplace",
        "000, Tables 1 and 2",
        "The Laplace rows: probabilities of being 0, 1 or 2 steps off at ε = 1.",
        numbers,
        search({"entries": "every printed digit of the 12 numbers", "data": "(50, 50)"}, found),
        figure="000-table-1",
    )


def _fixed_cases(datasets: Callable[[int], range], sizes: range) -> Iterator[Cases]:
    """The probability of each number of steps against that of noise that is not clamped."""

    def at(n: int, epsilon: str, cls: type[LaplaceDimension | LaplaceHistogram], t: int) -> Cases:
        x = np.array(datasets(n))
        mechanism = cls(Beta(1, 1), n, epsilon)
        law = Laws(Beta(1, 1), n, tuple(x.tolist())).laplace(mechanism)
        place = x + t
        inside = (place >= 0) & (place <= n)
        found = np.where(inside, law[np.arange(x.size), np.clip(place, 0, n)], 0.0)
        margins = -np.abs(found / float(np.exp(mechanism.noise.log_factor(np.array(float(t))))) - 1.0)

        def exact(i: int) -> arb:
            return arb(0 if 0 < place[i] < n else -1)  # between the ends the law is that of the noise, term by term

        return Cases(margins, lambda i: f"{pair(int(x[i]), n)}, ε = {epsilon}, {t:+d} steps", exact=exact)

    return each(at, sizes, ("0.1", "1", "5"), (LaplaceDimension, LaplaceHistogram), (-2, -1, 0, 1, 2))


def _table_fixed() -> Claim:
    region = {"ε": "0.1, 1, 5", "steps": "0, 1 and 2 up and down", "mechanisms": "LSDim, LSHist"}
    balanced: Callable[[int], range] = lambda n: range(n // 2, n // 2 + 1)  # noqa: E731
    moved = [n for n in range(1, 31) if not search({"n": str(n)}, _fixed_cases(balanced, range(n, n + 1))).holds]
    return Claim(
        "tables-fixed",
        "000, sections 6.1 and 6.3",
        "With ε and dimension fixed, the Laplace mechanisms' probabilities of 0, 1 or 2 steps do not depend on the data size.",
        {
            "balanced sizes where clamping changes them (n = 1..30)": len(moved),
            "balanced data: unchanged from n": max(moved, default=0) + 1,
        },
        search(region | {"n": "1 to 30", "data": "every dataset"}, _fixed_cases(lambda n: range(n + 1), range(1, 31))),
        (
            Condition(
                "there are at least 3 records of each kind, so that nothing is clamped (balanced data: n >= 6)",
                search(region | {"n": "6 to 30", "data": "every such dataset"}, _fixed_cases(lambda n: range(3, n - 2), range(6, 31))),
            ),
        ),
        "000-table-1",
    )


# --- 000 section 3: ℓ1 accuracy ---------------------------------------------------------------------------------------

_L1_MECHANISMS = (LaplaceHistogram, LaplaceDimension, LaplaceZhang)


def _l1_cases(floored: float) -> Iterator[Cases]:
    for cls in _L1_MECHANISMS:
        for n in (1, 2, 5, 12, 40) if cls is not LaplaceZhang else (1, 2, 5, 12):
            for x in sorted({0, n // 4, n // 2}):
                for epsilon in ("0.1", "1", "5"):
                    for gamma in (2, 4, 8, 16):
                        found = theory.l1_accuracy(cls(Beta(1, 1), n, epsilon), [x, n - x], gamma, floored=floored)
                        at = f"{cls._names[0]}, {pair(x, n)}, ε = {epsilon}, γ = {gamma}"
                        yield case(at, float(relative(found.right, found.left)))


def _l1_accuracy() -> Claim:
    region = {
        "mechanisms": "LSHist, LSDim, LSZhang",
        "n": "1, 2, 5, 12, 40 (LSZhang to 12)",
        "ε": "0.1, 1, 5",
        "γ": "2, 4, 8, 16",
        "data": "an end to the middle",
    }
    hist, dim = (theory.l1_accuracy(cls(Beta(1, 1), 100, 1), [50, 50], 6) for cls in (LaplaceHistogram, LaplaceDimension))
    return Claim(
        "l1-accuracy",
        "000, section 3",
        "P(|α - α̃| + |β - β̃| >= γ) is at most the tail of the noise: e^{-γ/2b} with one noisy count, (1 + γ/b) e^{-γ/b} with two.",
        {"LSHist, n = 100, γ = 6": hist.left, "e^{-γ/2b}": hist.right, "LSDim, n = 100, γ = 6": dim.left, "e^{-γ/2b} for LSDim": dim.right},
        search(region, _l1_cases(0.0)),
        (
            Condition(
                "γ - 2 stands for γ in the tail: flooring adds up to one record to what a count is off by", search(region, _l1_cases(2.0))
            ),
        ),
        "000-section-3",
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "candidates": _candidates,
    "one-step": _one_step,
    "two-steps": _two_steps,
    "even-steps": _even_steps,
    "odd-steps": _odd_steps,
    "floor-sign": _floor_sign,
    "distances-decrease": _distances_decrease,
    "tables-laplace": _table_digits,
    "tables-fixed": _table_fixed,
    "l1-accuracy": _l1_accuracy,
}
