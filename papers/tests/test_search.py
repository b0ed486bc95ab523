"""The search behind every verdict: it has a region, catches planted false claims, and lets nothing pass that floats cannot decide."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import discreet as dc
from discreet.errors import InternalError
from discreet.numerics.balls import ball
from discreet_papers import theory
from discreet_papers.claim import HOLDS, HOLDS_NOT, HOLDS_WHEN, Claim, Condition
from discreet_papers.laws import Laws, local_windows, missed, step_windows
from discreet_papers.search import Cases, Search, ball_case, case, equal_case, over, search, together

REGION = {"n": "1 to 3"}


def _claim(found: Search, *conditions: Condition) -> Claim:
    return Claim("planted", "000", "A statement.", {"n": 1.0}, found, conditions)


def test_there_is_no_search_without_a_region() -> None:
    for region in ({}, {"n": ""}, {"": "1 to 3"}):
        with pytest.raises(InternalError, match="what varied"):
            search(region, [case("n = 1", 1.0)])
    with pytest.raises(InternalError, match="met no setting"):
        search(REGION, [])
    with pytest.raises(InternalError, match="met no setting"):
        search(REGION, [Cases(np.array([]), str)])


def test_a_false_claim_is_caught_and_its_worst_case_named() -> None:
    """Negative control: x(3 - x) > 1.5 is false at x = 0, 0.5, 2.5 and 3 only, where it is 0 or 1.25."""
    x = np.arange(7) / 2.0
    found = search(REGION, [Cases(x * (3.0 - x) - 1.5, lambda i: f"x = {x[i]:g}")], ties="broken")
    assert (found.settings, found.broken, found.at, found.worst) == (7, 4, "x = 0", -1.5)
    assert not found.holds
    claim = _claim(found)
    assert claim.kind == HOLDS_NOT
    assert "most at x = 0" in claim.verdict
    inside = search({"x": "1 to 2"}, [case("x = 1", 0.5), case("x = 2", 0.5)])
    conditional = _claim(found, Condition("x is any", found), Condition("1 <= x <= 2", inside))
    assert conditional.kind == HOLDS_WHEN
    assert conditional.verdict == "holds when 1 <= x <= 2 (in all of 2 settings: x 1 to 2)"
    assert _claim(inside).kind == HOLDS


def test_a_slack_of_a_billionth_does_not_save_a_false_statement() -> None:
    """1 <= 0.99999999999998 passed once, by a tolerance of 1e-12."""
    with pytest.raises(InternalError, match="floats do not decide"):
        search(REGION, [case("n = 1", 0.99999999999998 - 1.0)])
    exact = search(REGION, [case("n = 1", 0.99999999999998 - 1.0, exact=lambda: ball(Fraction(-2, 10**14)))])
    assert (exact.broken, exact.ties) == (1, 0)
    tiny = search(REGION, [ball_case("n = 1", lambda: ball(Fraction(1, 10**40)))])
    assert (tiny.holds, tiny.ties) == (True, 0)


def test_ties_are_fifty_equal_digits_and_break_strict_statements() -> None:
    root = [equal_case("n = 1", lambda: arb(2).sqrt() ** 2, lambda: arb(2))]
    assert search(REGION, root).holds
    assert search(REGION, root).ties == 1
    assert not search(REGION, root, ties="broken").holds
    assert not search(REGION, [equal_case("n = 1", lambda: arb(2), lambda: arb(2) + ball(Fraction(1, 10**45)))]).holds


def test_a_margin_that_is_not_a_number_is_an_error() -> None:
    with pytest.raises(InternalError, match="not a number at n = 2"):
        search(REGION, [Cases(np.array([1.0, np.nan]), lambda i: f"n = {i + 1}")])


def test_a_statement_that_there_is_a_case_needs_one() -> None:
    def cases() -> Iterator[Cases]:
        yield case("n = 1", -0.5)
        yield case("n = 2", 0.75)

    found = search(REGION, cases(), wanted="some")
    assert found.holds
    assert (found.at, found.worst) == ("n = 2", 0.75)
    assert _claim(found).verdict == "holds (found at n = 2, among 2 settings: n 1 to 3)"
    none = search(REGION, [case("n = 1", -0.5)], wanted="some")
    assert _claim(none).verdict == "does not hold (not found in 1 setting: n 1 to 3)"


def test_searches_add_up() -> None:
    both = together(search(REGION, [case("a", 1.0)]), search(REGION, [case("b", -2.0)]))
    assert (both.settings, both.broken, both.worst, both.at) == (2, 1, -2.0, "b")
    assert over((1, 2, 3)) == "1, 2, 3"
    assert over(range(1, 21)) == "1 to 20 (20 values)"


def test_a_claim_survives_its_written_form() -> None:
    found = search(REGION, [case("n = 1", -0.5)])
    claim = _claim(found, Condition("n >= 2", search({"n": "2 to 3"}, [case("n = 2", 0.5)])))
    assert Claim.from_json(claim.to_json()) == claim
    assert claim.to_json()["kind"] == HOLDS_WHEN


def test_windows_and_laws_are_those_of_the_theory() -> None:
    """The arrays against what `theory` computes for one setting at a time, and LSHist's law against the mechanism's."""
    prior, n, epsilon = dc.Beta("0.5", 3), 9, 0.7
    laws = Laws.every(prior, n)
    windows, local = step_windows(laws), local_windows(laws)
    law = laws.laplace(dc.LaplaceHistogram(prior, n, "0.7"))
    global_law = laws.exponential(epsilon, theory.PAPER_SENSITIVITY)
    for x in range(n + 1):
        exact = dc.LaplaceHistogram(prior, n, "0.7").law([x, n - x])
        by_count = [exact.probability[exact.counts[:, 0] == r].sum() for r in range(n + 1)]
        assert law[x] == pytest.approx(by_count, rel=1e-12)
        within = theory.corollary_4_4_1(prior, [x, n - x], "0.7")[0]
        assert 1.0 - missed(local, n, epsilon)[x] == pytest.approx(within.left, rel=1e-12)
    for i in range(0, windows.x.size, 3):
        counts = [int(windows.x[i]), n - int(windows.x[i])]
        rows = theory.theorem_4_5(prior, counts, "0.7", int(windows.steps[i]))
        assert windows.probability(law)[i] == pytest.approx(rows["LSHist"][0].left, rel=1e-12)
        assert windows.probability(global_law)[i] == pytest.approx(rows["EHD"][0].left, rel=1e-12)
        assert missed(windows, n, epsilon)[i] == pytest.approx(1.0 - rows["LSHist"][0].left, abs=1e-13)
