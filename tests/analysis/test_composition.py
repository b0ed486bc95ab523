"""Composition: exact profiles where one pair is not enough, and basic sums where nothing else is known."""

import sys
from fractions import Fraction
from math import exp

import pytest
from dp_accounting.pld import privacy_loss_distribution as distributions

import discreet as dc
from discreet.mechanisms.losses import neighbouring_laws
from discreet.model.datasets import Relation

DELTA = 1e-6


def composed_from_one_pair(mechanism: dc.HellingerSmooth, first_count: int, times: int) -> float:
    """What `times` releases would be said to cost if one pair of datasets stood for all."""
    pair = next(p for p in neighbouring_laws(mechanism) if p.at[0][0] == first_count)
    single = distributions.from_two_probability_mass_functions(dict(enumerate(pair.log_first)), dict(enumerate(pair.log_second)))
    return float(single.self_compose(times).get_epsilon_for_delta(DELTA))


def test_the_worst_loss_pair_alone_would_under_report() -> None:
    mechanism = dc.HellingerSmooth(dc.Beta(1, 1), 100, 1)
    worst_loss = dc.privacy_loss(mechanism).at[0][0]
    assert worst_loss == 1
    from_worst_loss = composed_from_one_pair(mechanism, worst_loss, 50)
    from_the_middle = composed_from_one_pair(mechanism, 49, 50)
    ours = dc.Accountant().add(mechanism, 50).epsilon(DELTA)
    assert from_worst_loss < 4.2
    assert from_the_middle > 7.0
    assert from_the_middle <= ours < 1.1 * from_the_middle


def test_laplace_noise_composes_as_the_accountants_own_does() -> None:
    ours = dc.Accountant().add(dc.LatticeGeometric(dc.Beta(1, 1), 10, "0.5"), 20).epsilon(DELTA)
    theirs = distributions.from_discrete_laplace_mechanism(0.5).self_compose(20).get_epsilon_for_delta(DELTA)
    assert ours == pytest.approx(theirs, rel=1e-2)
    assert ours >= theirs - 1e-9


def test_a_single_release_costs_its_own_profile() -> None:
    mechanism = dc.HellingerSmooth(dc.Beta(1, 1), 50, 1)
    accountant = dc.Accountant().add(mechanism)
    assert accountant.delta("0.2") == pytest.approx(dc.delta_at(mechanism, "0.2").value, rel=1e-3)
    assert accountant.delta("0.2") >= dc.delta_at(mechanism, "0.2").value
    assert accountant.epsilon(0) == 1.0


def test_different_mechanisms_compose() -> None:
    accountant = dc.Accountant()
    accountant = accountant.add(dc.HellingerSmooth(dc.Beta(1, 1), 30, "0.4"), 10).add(dc.LaplaceHistogram(dc.Beta(1, 1), 30, "0.1"), 10)
    assert accountant.basic == (Fraction(5), Fraction(0))
    assert 0.0 < accountant.epsilon(DELTA) < 5.0
    assert accountant.epsilon(DELTA) < accountant.epsilon(1e-9)


def test_basic_sums_are_exact() -> None:
    accountant = dc.Accountant().add(dc.LatticeGeometric(dc.Beta(1, 1), 10, 0.1), 10)
    assert accountant.basic == (Fraction(1), Fraction(0))


def test_where_no_law_can_be_listed_the_guarantee_alone_is_composed() -> None:
    large = dc.HellingerSmooth(dc.Dirichlet.uniform(6), 10**6, "0.1")
    ours = dc.Accountant().add(large, 100).epsilon(DELTA)
    advanced = distributions.from_privacy_parameters(
        distributions.common.DifferentialPrivacyParameters(0.1, 0.0), value_discretization_interval=1e-4
    )
    assert ours == pytest.approx(advanced.self_compose(100).get_epsilon_for_delta(DELTA), rel=0.02)
    assert ours < 10.0


def test_basic_composition_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    accountant = dc.Accountant().add(dc.LatticeGeometric(dc.Beta(1, 1), 10, "0.5"), 4)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)  # as if it were not installed
    assert not accountant.is_exact
    assert accountant.epsilon(DELTA) == 2.0
    assert accountant.delta(2) == 0.0
    assert accountant.delta("1.9") == 1.0


def test_what_has_no_guarantee_cannot_be_composed() -> None:
    with pytest.raises(dc.RefusedError, match="without a guarantee"):
        dc.Accountant().add(dc.HellingerLocal(dc.Beta(1, 1), 10, 1))
    with pytest.raises(dc.InvalidInputError, match="only mechanisms and guarantees"):
        dc.Accountant().add("lattice")  # type: ignore[arg-type]


def test_a_guarantee_alone_can_be_added() -> None:
    accountant = dc.Accountant().add(dc.Guarantee(0.5, 1e-8, "proof"), 2)
    assert accountant.basic == (Fraction(1), Fraction(2, 10**8))
    assert accountant.delta(1) <= 2e-8
    assert accountant.epsilon(0) == float("inf")
    assert accountant.delta("0.99") < 1.0 - exp(-0.1)


@pytest.mark.parametrize("epsilon", [2000, 10**5])
def test_an_epsilon_whose_exponential_is_no_float_is_composed(epsilon: int) -> None:
    for mechanism in (dc.HellingerGlobal(dc.Beta(1, 1), 10, epsilon), dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), 10, epsilon)):
        accountant = dc.Accountant().add(mechanism, times=2)
        assert 0 < accountant.epsilon("1e-6") <= 2 * epsilon
        assert 0 < accountant.delta(epsilon) <= 1


def test_persons_beside_records_are_counted_for_the_records_of_a_person() -> None:
    """A row more of someone who is there already: one count of rows changes, and two of persons."""
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)
    of_records, of_persons = mechanism.release([0, 1]).guarantee, mechanism.release([0, 1], unit="person").guarantee
    rows, persons = ((0, 1), (1, 1)), ((0, 1), (1, 0))  # someone who said the second answer now also says the first
    outcomes = [(i, j) for i in range(-3, 5) for j in range(-3, 5)]
    loss = sum(max(mechanism.log_prob(after, z) - mechanism.log_prob(before, z) for z in outcomes) for before, after in (rows, persons))
    assert loss == pytest.approx(3)
    for accountant in (dc.Accountant(), dc.Accountant(neighbours=Relation.ADD_REMOVE_ONE)):
        assert accountant.add(of_records).add(of_persons).basic == (Fraction(3), Fraction(0))
        assert accountant.add(of_persons).add(mechanism).basic == (Fraction(3), Fraction(0))
        assert accountant.add(of_persons, 2).basic == (Fraction(2), Fraction(0))
    replaced = dc.Accountant(neighbours=Relation.REPLACE_ONE).add(of_records).add(of_persons)
    assert replaced.basic == (Fraction(4), Fraction(0))
    with_delta = dc.Accountant().add(of_records).add(dc.Guarantee(1.0, 1e-6, "proof", "person", Relation.ADD_REMOVE_ONE))
    assert with_delta.basic[1] >= Fraction("3.718e-6")
