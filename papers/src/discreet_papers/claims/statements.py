"""Claims of 002 and 004 about Beta(1, 1): Statements I, II and III, and the algebra of the first one's proof."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from flint import arb

from discreet.model import sensitivity
from discreet.model.dirichlet import Beta
from discreet.model.distances import hellinger_ball
from discreet.numerics.balls import ball
from discreet_papers.claim import Claim, Condition
from discreet_papers.lemmas import induction_algebra
from discreet_papers.search import Cases, ball_case, case, each, equal_case, in_floats, over, relative, search, together
from discreet_papers.sensitivities import between_neighbours, datasets, local_ball

__all__ = ["CLAIMS"]

_UNIT = Beta(1, 1)
_SIZES = range(2, 151)
_REGION = {"prior": "Beta(1, 1)", "n": over(_SIZES), "data": "every dataset"}


def _step_ball(n: int, x: int) -> arb:
    """H(BI(x), BI(x+1)) under Beta(1, 1)."""
    return hellinger_ball([Fraction(1 + x), Fraction(1 + n - x)], [Fraction(2 + x), Fraction(n - x)])


def _growing(outward: bool, places: Callable[[int], range]) -> Iterator[Cases]:
    """For every n the ratio of two steps that follow one another, less 1: the outer over the inner one, or the first over the second."""

    def at(n: int) -> Cases:
        x, steps = np.array(places(n), dtype=np.int64), between_neighbours(n)
        margins = relative(steps[x + 1], steps[x]) if outward else relative(steps[x], steps[x + 1])

        def exact(i: int) -> arb:
            difference = _step_ball(n, int(x[i]) + 1) - _step_ball(n, int(x[i]))
            return difference if outward else -difference

        return Cases(margins, lambda i: f"n = {n}, x = {x[i]}", exact=exact)

    return each(at, _SIZES)


def _statement_one() -> Claim:
    first = search(_REGION, _growing(True, lambda n: range(n // 2, n - 1)), ties="broken")
    second = search(_REGION, _growing(False, lambda n: range(min((n + 1) // 2, n - 2) + 1)), ties="broken")
    mirrored = search(_REGION, _growing(False, lambda n: range(max((n + 1) // 2 - 1, 0))), ties="broken")
    return Claim(
        "statement-1",
        "002 and 004, section 2.1, I",
        "Under Beta(1,1) the distance between neighbouring posteriors grows away from the middle dataset, strictly, on both sides.",
        {
            "first line broken (n = 2..150)": first.broken,
            "second line broken as printed": second.broken,
            "second line broken as the mirror image of the first": mirrored.broken,
        },
        together(first, second),
        (Condition("the second line is read as the mirror image of the first, H(x,x-1) < H(x-1,x-2)", together(first, mirrored)),),
        "002-statements",
    )


def _statement_base() -> Claim:
    """The difference (n-1)²(n+2)(n+4) - (n+3)²n(n-2) is 8(n+1); the beta functions of the proof must agree with it."""
    sizes = range(4, 301, 2)

    def at(n: int, side: Literal["the polynomial", "the square of left over right"]) -> Cases:
        left, right = (n - 1) ** 2 * (n + 2) * (n + 4), (n + 3) ** 2 * n * (n - 2)
        if side == "the polynomial":
            return ball_case(f"n = {n}, {side}", lambda: arb(left - right))
        known = partial(induction_algebra, n, 0)
        return equal_case(f"n = {n}, {side}", lambda: (known().left / known().right) ** 2, lambda: ball(Fraction(left, right)))

    return Claim(
        "statement-1-base",
        "002 and 004, section 2.2.1, the case x = x₀",
        "For even n the first inequality of Statement I is (n-1)²(n+2)(n+4) > (n+3)²n(n-2), that is n > -1.",
        {"left less right, n = 20, over 8(n+1)": float(19**2 * 22 * 24 - 23**2 * 20 * 18) / (8 * 21)},
        search(
            {"n": "the even numbers 4 to 300 (with n = 2 there is no x₀ + 2; odd n are not treated)"},
            each(at, sizes, ("the polynomial", "the square of left over right")),
        ),
        figure="002-statements",
    )


def _statement_induction() -> Claim:
    """Both sides of the inequality must keep their values when the display rewrites them."""
    places = [(n, m) for n in range(8, 41, 2) for m in range(n // 2 - 3)]

    def at(place: tuple[int, int], side: Literal["left", "right"]) -> Cases:
        n, m = place
        known = partial(induction_algebra, n, m)
        name = f"n = {n}, m = {m}, {side}"
        if side == "left":
            return equal_case(name, lambda: known().left, lambda: known().left_rewritten)
        return equal_case(name, lambda: known().right, lambda: known().right_rewritten)

    return Claim(
        "statement-1-induction",
        "002 and 004, section 2.2.1, the step from m to m + 1",
        "The inequality known for m, rewritten with Γ(z+1) = zΓ(z), is the second display of the step, and its factors cancel.",
        {
            "left, n = 20, m = 0": in_floats(lambda: induction_algebra(20, 0).left),
            "left as rewritten": in_floats(lambda: induction_algebra(20, 0).left_rewritten),
            "right, n = 20, m = 0": in_floats(lambda: induction_algebra(20, 0).right),
            "right as rewritten": in_floats(lambda: induction_algebra(20, 0).right_rewritten),
        },
        search({"n": "the even numbers 8 to 40", "m": "0 to n/2 - 4"}, each(at, places, ("left", "right"))),
        figure="002-statements",
    )


_TWO_SIZES = range(2, 61)


def _outward(inside: bool) -> Iterator[Cases]:
    """LS(x) against the step to the outward neighbour; at an end there is none."""

    def at(n: int) -> Cases:
        steps, local = between_neighbours(n), sensitivity.local_sensitivities(_UNIT, datasets(n))
        sides = [(x, x) for x in range((n + 1) // 2, n)] + [(x, x - 1) for x in range(1, n // 2 + 1)]
        x, outer = (np.array(column) for column in zip(*sides, strict=True))
        # LS is the larger of two steps, so it is the outward one if and only if that is not the smaller.
        inner = np.where(outer == x, x - 1, x)

        def exact(i: int) -> arb:
            return _step_ball(n, int(outer[i])) - _step_ball(n, int(inner[i])) if inner[i] >= 0 else arb(0)

        return Cases(-np.abs(steps[outer] / local[x] - 1.0), lambda i: f"n = {n}, x = {x[i]}", exact=exact)

    for n in _TWO_SIZES:
        yield at(n)
        if not inside:
            yield case(f"n = {n}, x = {n}, which has no x + 1", -1.0)
            yield case(f"n = {n}, x = 0, which has no x - 1", -1.0)


def _statement_two() -> Claim:
    region = {"prior": "Beta(1, 1)", "n": over(_TWO_SIZES)}
    everywhere = search(region | {"data": "every dataset"}, _outward(inside=False))
    within = search(region | {"data": "every dataset with 0 < x < n"}, _outward(inside=True))
    return Claim(
        "statement-2",
        "002 and 004, section 2.1, II",
        "Under Beta(1,1) the local sensitivity is the distance to the outward neighbour, for every dataset on either side of the middle.",
        {"broken inside (n = 2..60)": within.broken, "datasets without an outward neighbour": everywhere.broken - within.broken},
        everywhere,
        (Condition("0 < x < n; at an end the only neighbour is the inward one", within),),
        "002-statements",
    )


def _lower_middle(sizes: range) -> Iterator[Cases]:
    """LS of every other dataset over that of the middle, less 1."""

    def at(n: int) -> Cases:
        counts = datasets(n)
        local, middle = sensitivity.local_sensitivities(_UNIT, counts), [n // 2, (n + 1) // 2]
        others = np.delete(np.arange(n + 1), middle)

        def exact(i: int) -> arb:
            return local_ball(_UNIT, counts[others[i]]) - local_ball(_UNIT, counts[middle[0]])

        return Cases(relative(local[others], local[middle].max()), lambda i: f"n = {n}, x = {others[i]}", exact=exact)

    return each(at, sizes)


def _statement_three() -> Claim:
    found = search(_REGION, _lower_middle(_SIZES), ties="broken")
    failing = [n for n in range(2, 12) if not search({"n": str(n)}, _lower_middle(range(n, n + 1)), ties="broken").holds]
    least = max(failing, default=1) + 1
    wide = search(_REGION | {"n": f"{least} to {_SIZES[-1]}"}, _lower_middle(range(least, _SIZES.stop)), ties="broken")
    return Claim(
        "statement-3",
        "002 and 004, section 2.1, III",
        "Under Beta(1,1) every dataset but the middle one has a larger local sensitivity than the middle one.",
        {"sizes where it fails (n = 2..11)": len(failing), "largest of them": max(failing, default=0)},
        found,
        (Condition(f"n >= {least}", wide),),
        "002-statements",
    )


_STATED: Mapping[str, tuple[str, ...]] = {
    "000": ("Definition 1", "Definition 2", "Definition 3", "Definition 4", "Theorem 4.1", "Lemma 5.1"),
    "001": (
        *(f"Theorem {number}" for number in ("3.1", "4.1", "4.2", "4.3", "4.4", "4.5")),
        *(f"Corollary {number}" for number in ("4.4.1", "4.5.1", "4.5.2", "4.5.3")),
    ),
    "002": ("Statement I", "Statement II", "Statement III"),
    "004": ("Statement I", "Statement II", "Statement III", "Lemma 3.1", "Lemma 3.2", "Lemma 3.3"),
}
_CITED: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "000": (
        ("section 4.2.3, the proof", "Theorem 4.1", ""),
        ("section 4.2.3", "Definition 3", ""),
        ("section 5.2.3", "Definition 1", ""),
        ("section 5.2.3", "Definition 4", ""),
        ("section 5.2.3", "Lemma 5.1", ""),
        ("section 8, direction 2", "Theorem 5.1", "Lemma 5.1"),
    ),
    "001": (
        ("the proof of Corollary 4.5.1", "Theorem 2.5", "Theorem 4.5"),
        ("the proof of Corollary 4.5.2", "Theorem 2.5", "Theorem 4.5"),
        ("the proof of Corollary 4.5.3", "Theorem 2.5", "Theorem 4.5"),
        ("the proof of Corollary 4.5.3", "Corollary 2.5.1", "Corollary 4.5.1"),
    ),
    "002": (("section 2.2.2", "Statement I", ""), ("section 2.2.3", "Statement I", ""), ("section 2.2.3", "Statement II", "")),
    "004": (("section 2.2.2", "Statement I", ""), ("section 2.2.3", "Statement I", ""), ("section 2.2.3", "Statement II", "")),
}
"""Where each document cites a statement, which, and which of its own is meant if there is none of that name."""


def _citations() -> Claim:
    cited = [(document, *each) for document, own in _CITED.items() for each in own]

    def cases(*, meant: bool) -> Iterator[Cases]:
        for document, where, name, other in cited:
            there = (other if meant and other else name) in _STATED[document]
            yield case(f"{document}, {where}: {name}", 1.0 if there else -1.0)

    region = {"documents": ", ".join(_CITED), "citations": "all by a number"}
    found = search(region, cases(meant=False))
    return Claim(
        "citations",
        "000, section 8; 001, the corollaries of Theorem 4.5",
        "Every theorem, lemma, corollary and definition that a document cites by its number is stated in it.",
        {"citations": found.settings, "of statements that are not there": found.broken},
        found,
        (
            Condition(
                "000's Theorem 5.1 is read as its Lemma 5.1 (which is about EHDS alone, not EHD), and 001's Theorem 2.5 and Corollary "
                "2.5.1 as 4.5 and 4.5.1",
                search(region, cases(meant=True)),
            ),
        ),
    )


CLAIMS: Mapping[str, Callable[[], Claim]] = {
    "statement-1": _statement_one,
    "statement-1-base": _statement_base,
    "statement-1-induction": _statement_induction,
    "statement-2": _statement_two,
    "statement-3": _statement_three,
    "citations": _citations,
}
