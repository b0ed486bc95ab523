"""The papers' accuracy theory: both sides recomputed from the definitions, and where it does not hold."""

from fractions import Fraction
from math import exp, isclose, isnan, log, pi, sqrt

import pytest
from tests.mechanisms import brute
from tests.support import reference_hellinger, reference_values

import discreet as dc
from discreet_papers import theory
from discreet_papers.theory import Inequality

UNIFORM = dc.Beta(1, 1)
ONES = (Fraction(1), Fraction(1))


def within(law: brute.Probabilities, x: brute.Outcome, t: float) -> float:
    """P(H < t) by brute force."""

    def distance(r: brute.Outcome) -> float:
        return float(reference_hellinger([1 + c for c in x], [1 + c for c in r]))

    return sum(p for r, p in law.items() if distance(r) < t * (1.0 - 1e-12))


# --- 001, Theorem 4.5 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "k"), [((5, 5), 0), ((5, 5), 2), ((3, 7), 1)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_theorem_4_5_has_the_exact_probabilities_on_its_left(x: brute.Outcome, k: int, epsilon: float) -> None:
    t = brute.hellinger(ONES, x, (x[0] + k + 1, x[1] - k - 1))
    local = brute.local_sensitivity(ONES, x)
    laws = {
        "LSZhang": brute.laplace_law(x, 2.0 / epsilon, noised=2, report=lambda z: z),
        "LSHist": brute.laplace_law(x, 1.0 / epsilon, noised=1, report=lambda z: brute.cut(z, 10)),
        "EHD": brute.exponential_law(ONES, x, epsilon / (2.0 * sqrt(1.0 - pi / 4.0))),
        "EHDL": brute.exponential_law(ONES, x, epsilon / (2.0 * local)),
    }
    rows = theory.theorem_4_5(UNIFORM, x, epsilon, k)
    assert list(rows) == list(laws)
    for name, law in laws.items():
        for row in rows[name]:
            assert isclose(row.left, within(law, x, t), rel_tol=1e-10), row.claim
    assert rows["EHDL"][1].right == pytest.approx((2 * k + 1) / (10 * exp(-epsilon / (2.0 * local))))
    assert rows["EHD"][0].right == pytest.approx((2 * k * exp(-epsilon) + 1) / 10)


def test_the_row_of_lshist_holds() -> None:
    for n in (10, 60, 400):
        for epsilon in (0.1, 1, 3):
            for k in (0, 1, 3):
                equal, bound = theory.theorem_4_5(UNIFORM, [n // 2, n // 2], epsilon, k)["LSHist"]
                assert equal.holds
                assert bound.holds


def test_the_row_of_lszhang_is_a_lower_bound_and_no_equality() -> None:
    """Two independently noised counts can move together, which hardly moves the posterior: P(H < t) is larger than claimed."""
    equal, bound = theory.theorem_4_5(UNIFORM, [500, 500], 1, 1)["LSZhang"]
    assert not equal.holds
    assert equal.left > 2.0 * equal.right
    assert bound.holds


def test_the_upper_bound_of_ehd_fails() -> None:
    lower, upper = theory.theorem_4_5(UNIFORM, [500, 500], "0.5", 0)["EHD"]
    assert lower.holds
    assert not upper.holds
    assert round(upper.left, 4) == 0.0017
    assert round(upper.right, 4) == 0.0016
    assert "does not hold" in str(upper)
    assert all(row.holds for row in theory.theorem_4_5(UNIFORM, [50, 50], 1, 2)["EHD"])


def test_the_lower_bounds_of_ehd_and_ehdl_count_one_candidate_too_few() -> None:
    """There are n + 1 candidates: with two records and a small ε the true one has hardly more than a third."""
    rows = theory.theorem_4_5(UNIFORM, [1, 1], "0.1", 0)
    for name in ("EHD", "EHDL"):
        assert not rows[name][0].holds
        assert 1 / 3 < rows[name][0].left < rows[name][0].right == 0.5


def test_near_an_end_a_step_down_is_larger_than_two_up() -> None:
    equal, bound = theory.theorem_4_5(dc.Beta("0.1", "0.1"), [1, 4], 1, 1)["LSHist"]
    assert not equal.holds
    assert not bound.holds


# --- 001, corollaries -------------------------------------------------------------------------------------------------


def test_corollary_4_4_1() -> None:
    for counts in ([5, 5], [1, 30], [300, 200]):
        for epsilon in (0.2, 1, 4):
            within_local, ratio = theory.corollary_4_4_1(UNIFORM, counts, epsilon)
            assert within_local.holds
            assert within_local.right == pytest.approx(1.0 - (exp(-epsilon) + exp(-2 * epsilon)) / 2.0)
            assert ratio.holds
            assert ratio.left == pytest.approx(1.0)


def test_corollaries_4_5_1_and_4_5_3_hold_on_balanced_data_and_are_far_from_tight() -> None:
    for epsilon in (0.5, 1, 2):
        for n in (4, 10, 40, 160):
            counts = [n // 2, n // 2]
            for k in (1, 2):
                if n > 2 * k + 1:
                    assert theory.corollary_4_5_1(UNIFORM, counts, epsilon, k).holds
            assert theory.corollary_4_5_3(UNIFORM, counts, epsilon).holds
    claimed = theory.corollary_4_5_1(UNIFORM, [8, 8], 1, 1)
    assert claimed.crossover == pytest.approx(3.0 / (exp(-1.0) * (1.0 - exp(-1.0))))
    assert claimed.premise
    assert theory.actual_crossover(UNIFORM, 1, 1, most=40) == 4
    assert theory.actual_crossover(UNIFORM, 1, most=40) == 3
    third = theory.corollary_4_5_3(UNIFORM, [8, 8], 1)
    assert third.crossover == pytest.approx(3.0 / (exp(-1.0 / (2.0 * sqrt(1.0 - pi / 4.0))) * (1.0 - exp(-1.0))))


def test_corollary_4_5_2() -> None:
    two = theory.corollary_4_5_2(UNIFORM, [1, 1], 1, 0)
    assert two.crossover == pytest.approx(2.0 / (1.0 - exp(-1.0)))
    assert two.premise
    assert two.holds
    larger = theory.corollary_4_5_2(UNIFORM, [50, 50], 1, 0)
    assert not larger.premise
    assert larger.holds
    assert not larger.true
    assert "says nothing" in str(larger)
    false = theory.corollary_4_5_2(dc.Beta(20, 20), [1, 1], 3, 0)
    assert false.premise
    assert not false.holds


# --- 000, Tables 1 and 2, section 6.3 ---------------------------------------------------------------------------------


def test_tables_1_and_2_have_the_digits_that_the_paper_prints() -> None:
    one = {(str(c.mechanism), c.steps): c for c in theory.accuracy_table(UNIFORM, [50, 50], 1)}
    two = {(str(c.mechanism), c.steps): c for c in theory.accuracy_table(UNIFORM, [50, 50], 1, both_sides=True)}
    printed = {
        "lapMech": ((0.19673467014, 0.11932560927, 0.07237464051), (0.19673467014, 0.31606027941, 0.19170024978)),
        "ilapMech": ((0.31606027941, 0.11627207896, 0.04277410743), (0.31606027941, 0.43233235838, 0.1590461864)),
    }
    for name, (first, second) in printed.items():
        for t in range(3):
            for table, digits in ((one, first), (two, second)):
                assert abs(table[name, t].formula - digits[t]) < 1e-10  # the paper truncates
                assert isclose(table[name, t].exact, table[name, t].formula, rel_tol=1e-12)


def test_the_tables_know_any_world() -> None:
    world = next(w for w in reference_values()["worlds"] if w["n"] == 10 and w["prior"] == ["1", "1"])
    dataset = next(d for d in world["datasets"] if d["counts"] == [5, 5])
    cells = {(c.mechanism, c.steps): c for c in theory.accuracy_table(UNIFORM, [5, 5], world["epsilon"])}
    for t in range(3):
        assert isclose(cells["expMech^smoo", t].exact, float(dataset["pmf"]["EHDS"][f"{5 + t},{5 - t}"]), rel_tol=1e-12)
        assert isclose(cells["lapMech", t].exact, float(dataset["laplace"]["LSDim"][f"{5 + t},{5 - t}"]), rel_tol=1e-12)
        assert isclose(cells["lapMech", t].distance, brute.hellinger(ONES, (5, 5), (5 + t, 5 - t)), rel_tol=1e-12, abs_tol=1e-15)
    sides = {(c.mechanism, c.steps): c.exact for c in theory.accuracy_table(UNIFORM, [5, 5], 1, both_sides=True)}
    assert isclose(sides["expMech^smoo", 1], float(dataset["pmf"]["EHDS"]["4,6"]) + float(dataset["pmf"]["EHDS"]["6,4"]), rel_tol=1e-12)
    # next to an end the clamped noise adds up there, which the formula does not know
    edge = {(c.mechanism, c.steps): c for c in theory.accuracy_table(UNIFORM, [9, 1], 1)}
    assert edge["lapMech", 1].exact > 2.0 * edge["lapMech", 1].formula
    assert ("lapMech", 2) not in edge


def test_the_printed_distances_are_slips() -> None:
    """t = 1 lacks sqrt((β-1)/α) and comes out negative under the root; t = 2 has β where β - 1 belongs."""
    cells = {c.steps: c for c in theory.accuracy_table(UNIFORM, [50, 50], 1)}
    assert isnan(cells[1].printed_distance)
    assert isclose(cells[2].printed_distance, sqrt(1.0 - sqrt(1.0 - 1 / 52) * sqrt(1.0 - 1 / 51)), rel_tol=1e-12)
    assert isclose(cells[2].distance, sqrt(1.0 - sqrt(1.0 - 1 / 52) * sqrt(1.0 - 1 / 50)), rel_tol=1e-12)
    low = {c.steps: c for c in theory.accuracy_table(dc.Beta("0.25", "0.25"), [3, 0], 1)}
    assert low[0].printed_distance == 0.0


def test_sizes_at_which_the_smooth_mechanism_is_more_likely_to_be_right() -> None:
    """000 section 6.3 at ε = 1: being exactly right is likelier up to n = 6 (against lapMech) and 2 (ilapMech), not for large data."""
    sizes = {(s.rival, s.steps): s.intervals for s in theory.more_likely_sizes(UNIFORM, 1, most=60)}
    assert sizes["lapMech", 0] == ((2, 6),)
    assert sizes["ilapMech", 0] == ((2, 2),)
    assert sizes["lapMech", 1] == ((1, 10),)
    assert sizes["ilapMech", 2] == ((3, 60),)
    for n, wins in ((6, True), (7, False)):
        x = (n // 2, n - n // 2)
        own = brute.exponential_law(ONES, x, 1.0 / brute.scale("HellingerSmooth", ONES, x, 1.0, 1.0, 1e-8))[x]
        rival = brute.laplace_law(x, 2.0, noised=1, report=lambda z, n=n: brute.cut(z, n))[x]  # type: ignore[misc]
        assert (own > rival) is wins
    at_five = theory.more_likely_sizes(UNIFORM, 5, most=60)
    assert all(s.intervals and s.intervals[-1][1] == 60 for s in at_five)


# --- 001, the utility table; 000 section 3 ----------------------------------------------------------------------------


def test_utility_table() -> None:
    table = theory.utility_table(UNIFORM, [50, 50], 1, 0.05)
    (hist, hist_kl), (zhang, zhang_kl), (ehd,) = table["LSHist"], table["LSZhang"], table["EHD"]
    length = log(20.0)
    assert isclose(hist.right, sqrt(1.0 - ((100 - length) / (100 + length)) ** (length / 2.0)), rel_tol=1e-12)
    assert all(row.holds for row in (hist, hist_kl, zhang, zhang_kl))
    assert hist_kl.right > 1000.0 * hist_kl.left  # a bound, but not one to plan with
    assert not ehd.holds
    law = brute.laplace_law((50, 50), 1.0, noised=1, report=lambda z: brute.cut(z, 100))
    exceeded = sum(p for r, p in law.items() if brute.hellinger(ONES, (50, 50), r) > hist.left * (1.0 + 1e-9))
    assert exceeded <= 0.05
    with pytest.raises(dc.InvalidInputError, match="delta"):
        theory.utility_table(UNIFORM, [5, 5], 1, 0.0)


@pytest.mark.parametrize(("cls", "scale"), [(dc.LaplaceDimension, 2.0), (dc.LaplaceHistogram, 1.0)])
def test_l1_accuracy_is_worse_than_the_tail_of_the_noise(cls: type[dc.LaplaceDimension] | type[dc.LaplaceHistogram], scale: float) -> None:
    """Flooring moves the noise down by up to one record, so the papers' tail e^{-γ/2b} is exceeded."""
    for steps in (1, 3, 8):
        found = theory.l1_accuracy(cls(UNIFORM, 100, Fraction(1)), [50, 50], 2 * steps)
        assert isclose(found.left, 0.5 * (exp(-steps / scale) + exp(-(steps - 1) / scale)), rel_tol=1e-12)
        assert isclose(found.right, exp(-steps / scale), rel_tol=1e-12)
        assert not found.holds


def test_l1_accuracy_of_two_noised_counts() -> None:
    found = theory.l1_accuracy(dc.LaplaceZhang(UNIFORM, 40, Fraction(1)), [20, 20], 6)
    law = brute.laplace_law((20, 20), 2.0, noised=2, report=lambda z: z)
    assert isclose(found.left, sum(p for r, p in law.items() if sum(abs(c - 20) for c in r) >= 6), rel_tol=1e-12)
    assert isclose(found.right, (1.0 + 3.0) * exp(-3.0), rel_tol=1e-12)


# --- the statements themselves ----------------------------------------------------------------------------------------


def test_an_inequality_knows_whether_it_holds() -> None:
    assert Inequality("a", 1.0, "<", 2.0).holds
    assert not Inequality("a", 2.0, "<", 2.0).holds
    assert Inequality("a", 2.0, "<=", 2.0).holds
    assert not Inequality("a", 1.0, "<=", 0.99999999999998).holds
    assert not Inequality("a", 1.0, "<=", 1.0, margin=-1e-30).holds
    assert Inequality("a", 1.0, "<", 1.0, margin=1e-30).holds
    assert Inequality("a", 2.0, "=", 2.0 + 1e-12).holds
    assert not Inequality("a", 2.0, "=", 2.001).holds
    assert Inequality("a", 1.0, ">", 2.0, premise=False).holds
    assert not Inequality("a", 1.0, "<=", float("nan")).holds


def test_the_theory_is_about_two_categories() -> None:
    with pytest.raises(dc.InvalidInputError, match="two categories"):
        theory.theorem_4_5(dc.Dirichlet.uniform(3), [1, 1, 1], 1, 0)
    with pytest.raises(dc.InvalidInputError, match="two categories"):
        theory.l1_accuracy(dc.LaplaceHistogram(dc.Dirichlet.uniform(3), 3, Fraction(1)), [1, 1, 1], 2)
    with pytest.raises(dc.InvalidInputError, match="steps"):
        theory.theorem_4_5(UNIFORM, [5, 5], 1, 5)
