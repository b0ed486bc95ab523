"""Errors, comparisons and plans where n is private: against enumeration of the definition, and the words about the promise."""

import json
from fractions import Fraction
from functools import partial
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from typer.testing import CliRunner

import discreet as dc
from discreet.analysis.error_laws import error_law, error_summary, expected_error
from discreet.cli import app
from discreet.planning.comparison import PUBLIC_CHOICE, PUBLIC_GUESS
from discreet.planning.plans import Plan
from tests.mechanisms import brute
from tests.support import lowered

runner = CliRunner()


def noise_law(epsilon: float) -> dict[int, float]:
    """The two-sided geometric law, out to where it has less than 1e-16."""
    q, reach = exp(-epsilon), int(37 / epsilon) + 2
    return {d: (1 - q) / (1 + q) * q ** abs(d) for d in range(-reach, reach + 1)}


def distance(a: Any, x: Any, r: Any) -> float:
    """The Hellinger distance of two posteriors of any totals, from the normalisers of p, q and sqrt(p q)."""

    def log_normaliser(parameters: Any) -> float:
        return float(gammaln(parameters).sum() - gammaln(parameters.sum()))

    p, q = np.array(a) + np.array(x), np.array(a) + np.array(r)
    exponent = log_normaliser((p + q) / 2) - (log_normaliser(p) + log_normaliser(q)) / 2
    return float(np.sqrt(max(0.0, -np.expm1(exponent))))


def mean_by_definition(prior: dc.Dirichlet | dc.Beta, epsilon: float, x: brute.Outcome) -> float:
    reported: list[dict[int, float]] = []
    for count in x:
        law: dict[int, float] = {}
        for d, p in noise_law(epsilon).items():
            law[max(count + d, 0)] = law.get(max(count + d, 0), 0.0) + p
        reported.append({r: p for r, p in law.items() if p > 1e-13})
    a = prior.concentration
    outcomes = product(*(law.items() for law in reported))
    return sum(float(np.prod([p for _, p in cells])) * distance(a, x, [r for r, _ in cells]) for cells in outcomes)


WORLDS: list[tuple[Any, str, brute.Outcome]] = [
    (dc.Beta(1, 1), "1", (4, 2)),
    (dc.Beta("0.3", 2), "2", (0, 0)),
    (dc.Beta(5, 1), "0.7", (0, 9)),
    (dc.Dirichlet(["1", "0.5", "3"]), "4", (2, 0, 1)),
]


@pytest.mark.parametrize(("prior", "epsilon", "x"), WORLDS)
def test_the_error_of_given_counts_is_that_of_the_definition(prior: Any, epsilon: str, x: brute.Outcome) -> None:
    expected = mean_by_definition(prior, float(epsilon), x)
    mechanism = dc.LatticeGeometric(prior, epsilon=epsilon)
    found = expected_error(mechanism, x)
    assert found.method == "enumeration"
    assert found == pytest.approx(expected, rel=1e-9)
    assert error_law(mechanism, x).mean == pytest.approx(expected, rel=1e-9)
    off = expected_error(dc.LatticeGeometric(prior, epsilon=Fraction(epsilon) * Fraction(9, 10)), x)
    assert off != pytest.approx(expected, rel=1e-2)  # noise that is 10 % off is noticed


@pytest.mark.parametrize("x", [(3, 1, 4), (0, 0, 0)])
def test_simulated_errors_agree_with_the_definition(x: brute.Outcome) -> None:
    """An ε at which the outcomes of three categories are too many to list."""
    prior = dc.Dirichlet([1, 2, 1])
    mechanism = dc.LatticeGeometric(prior, epsilon="0.6")
    drawn = expected_error(mechanism, x)
    exact = error_law(mechanism, x).mean if drawn.method == "Monte Carlo" else float("nan")
    assert abs(drawn - exact) <= 4.0 * drawn.standard_error
    off = error_law(dc.LatticeGeometric(prior, epsilon="0.54"), x).mean
    assert abs(drawn - off) > 4.0 * drawn.standard_error


@pytest.mark.parametrize(("prior", "n", "epsilon"), [(dc.Beta(1, 2), 5, "1"), (dc.Dirichlet(["1", "1", "0.5"]), 2, "4")])
def test_errors_over_datasets_are_those_of_all_datasets_of_the_guess(prior: Any, n: int, epsilon: str) -> None:
    mechanism = dc.LatticeGeometric(prior, epsilon=epsilon)
    means = {x: mean_by_definition(prior, float(epsilon), x) for x in brute.lattice(n, prior.k)}
    predictive = sum(p * means[x] for x, p in brute.predictive(prior.exact, n).items())
    summary = error_summary(mechanism, n=n)
    assert expected_error(mechanism, over="predictive", n=n) == pytest.approx(predictive, rel=1e-9)
    assert summary.predictive == pytest.approx(predictive, rel=1e-9)
    worst = expected_error(mechanism, over="worst", n=n)
    assert worst == pytest.approx(max(means.values()), rel=1e-9)
    assert worst.at is not None
    assert means[worst.at] == pytest.approx(max(means.values()), rel=1e-9)
    law = error_summary(mechanism, n=n).law
    assert law is not None
    assert law.mean == pytest.approx(predictive, rel=1e-9)


def test_many_records_are_interpolated_and_much_noise_is_simulated() -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)
    exact = expected_error(mechanism, over="predictive", n=600)
    with lowered(ERROR_PAIRS=3_000_000):
        between = expected_error(mechanism, over="predictive", n=600)
    assert (exact.method, between.method) == ("enumeration", "interpolation")
    assert abs(between - exact) <= between.bound < 1e-4 * exact
    assert expected_error(dc.LatticeGeometric(dc.Beta(1, 1), epsilon="0.9"), over="predictive", n=600) > 1.05 * exact
    drawn = expected_error(dc.LatticeGeometric(dc.Beta(1, 1), epsilon="0.01"), over="predictive", n=10**6)
    assert drawn.method == "Monte Carlo"
    assert drawn.standard_error > 0.0


def test_a_guess_is_asked_for_and_nothing_else() -> None:
    private, public = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1), dc.LatticeGeometric(dc.Beta(1, 1), 10, 1)
    for ask in (partial(expected_error, over="predictive"), error_summary):
        with pytest.raises(dc.InvalidInputError, match="n="):
            ask(private)
    with pytest.raises(dc.InvalidInputError, match=r"n = 10 .* n = 9 "):
        expected_error(public, over="predictive", n=9)
    assert expected_error(public, over="predictive", n=10) == expected_error(public, over="predictive")
    with pytest.raises(dc.InvalidInputError, match="leave n out"):
        expected_error(private, [1, 2], n=3)


def test_laws_that_would_be_searches_are_refused() -> None:
    with pytest.raises(dc.TooLargeError, match=r"Remapped\(LatticeGeometric\)"):
        error_law(dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)), [1, 2])


# --- compare and plan ---------------------------------------------------------------------------------------------------


WITHOUT_N = {"LatticeGeometric", "Remapped(LatticeGeometric)", "DiscreteGaussian", "Remapped(DiscreteGaussian)"}


def test_a_comparison_has_the_mechanisms_that_need_no_n_and_the_other_promise() -> None:
    found = dc.compare(dc.Beta(1, 1), 30, 2, public="nothing")
    rows = {row.mechanism: row for row in found.rows}
    assert set(rows) == WITHOUT_N
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=2)
    assert rows["LatticeGeometric"].error == expected_error(mechanism, over="predictive", n=30)
    assert rows["LatticeGeometric"].worst == expected_error(mechanism, over="worst", n=30)
    assert all(row.guarantee == mechanism.guarantee for name, row in rows.items() if "LatticeGeometric" in name)
    others = [row.guarantee for name, row in rows.items() if "DiscreteGaussian" in name]
    assert all(one is not None and one.basis == "computation" for one in others)
    remapped = rows["Remapped(LatticeGeometric)"].error
    assert remapped is not None
    assert abs(remapped - (rows["LatticeGeometric"].error or 0.0)) <= 4.0 * remapped.standard_error
    assert found.optimum is None
    assert "n = 30 (a guess: n is private), ε = 2, neighbours: add or remove one record" in found.caption
    assert "left out" in found.reasons[-1]
    for shown in (str(found), found._repr_html_()):
        assert PUBLIC_GUESS in shown
        assert PUBLIC_CHOICE not in shown
    assert {row["neighbours"] for row in found.to_dicts()} == {"add or remove one"}
    assert "n = 30 (a guess)" in found.plot().get_title()


def test_a_comparison_with_a_public_n_says_its_promise() -> None:
    found = dc.compare(dc.Beta(1, 1), 4, 1)
    assert "n = 4, ε = 1, neighbours: replace one record" in found.caption
    assert {row["neighbours"] for row in found.to_dicts()} == {"replace one", None}  # None: HellingerLocal promises nothing


@pytest.mark.parametrize("ask", [partial(dc.compare, dc.Beta(1, 1), 4, 1), partial(dc.plan, dc.Beta(1, 1), error=0.1, n=10)])
def test_what_is_public_is_one_of_two_words(ask: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"public must be total .*, got 'all'"):
        ask(public="all")


def test_plans_reach_their_target_with_a_private_n() -> None:
    found = dc.plan(dc.Beta(1, 1), error=0.1, epsilon=1, public="nothing")
    assert isinstance(found, Plan)
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)
    assert found.error == expected_error(mechanism, over="predictive", n=found.n) <= 0.1
    assert expected_error(mechanism, over="predictive", n=found.n - 1) > 0.1
    assert found.to_dict()["public"] == "nothing"
    assert f"needs n = {found.n} for" in str(found)
    assert PUBLIC_GUESS in str(found)
    level = dc.plan(dc.Beta(1, 1), error=0.1, n=50, public="nothing")
    assert expected_error(dc.LatticeGeometric(dc.Beta(1, 1), epsilon=level.epsilon), over="predictive", n=50) <= 0.1


def test_what_a_plan_cannot_be_made_for_is_said() -> None:
    with pytest.raises(dc.InvalidInputError, match="LaplaceZhang needs n"):
        dc.plan(dc.Beta(1, 1), error=0.1, n=50, mechanism="LaplaceZhang", public="nothing")
    with pytest.raises(dc.TooLargeError, match="plan for the mechanism without Remapped"):
        dc.plan(dc.Beta(1, 1), error=0.1, n=50, mechanism="Remapped(LatticeGeometric)", public="nothing")


def test_commands_know_both_promises() -> None:
    options = ["--n", "30", "--epsilon", "2", "--public", "nothing"]
    table = runner.invoke(app, ["compare", *options])
    assert table.exit_code == 0
    words = " ".join(table.stdout.split())
    assert "n = 30 (a guess: n is private)" in words
    assert "add or remove one record" in words
    assert PUBLIC_GUESS in words
    made = json.loads(runner.invoke(app, ["compare", *options, "--json"]).stdout)
    assert (made["public"], made["neighbours"]) == ("nothing", "add or remove one")
    assert {row["mechanism"] for row in made["rows"]} == WITHOUT_N
    usual = json.loads(runner.invoke(app, ["compare", "--n", "4", "--json"]).stdout)
    assert (usual["public"], usual["neighbours"]) == ("total", "replace one")
    plan = runner.invoke(app, ["plan", "--error", "0.1", "--n", "30", "--public", "nothing"])
    assert "30 (a guess: n is private)" in plan.stdout
    assert PUBLIC_GUESS in " ".join(plan.stdout.split())
    assert (
        json.loads(runner.invoke(app, ["plan", "--error", "0.1", "--epsilon", "1", "--public", "nothing", "--json"]).stdout)["public"]
        == "nothing"
    )
    refused = runner.invoke(app, ["plan", "--error", "0.1", "--n", "30", "--public", "nothing", "--mechanism", "LaplaceZhang"])
    assert (refused.exit_code, "needs a public n" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_only_the_prior_speaks_for_twice_as_many_steps() -> None:
    """To replace a record is to remove one and to add another: the odds of two datasets of n records change by at most e^(2nε)."""
    said = runner.invoke(app, ["plan", "--error", "0.6", "--n", "4", "--public", "nothing", "--worst"])
    assert "only the prior speaks" not in said.stderr
    little = runner.invoke(app, ["compare", "--n", "4", "--epsilon", "0.125", "--public", "nothing", "--json"])
    assert "by a factor of at most 2.72" in little.stderr
    assert "only the prior speaks" not in runner.invoke(app, ["compare", "--n", "4", "--epsilon", "0.126", "--public", "nothing"]).stderr
