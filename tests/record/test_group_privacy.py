"""Group privacy: what a promise about one step is worth for two. Oracles: sums in 60 digits, and laws listed outcome by outcome."""

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.arrays import Counts, Floats
from discreet.errors import BudgetError, InvalidInputError
from discreet.ledger.filters import largest_divergence
from discreet.ledger.ledger import Ledger, Loss
from discreet.mechanisms import Law, Mechanism
from discreet.model.datasets import Relation
from discreet.record.guarantee import group_privacy
from discreet.sampling import BitSource

REPLACE, ADD_REMOVE = Relation.REPLACE_ONE, Relation.ADD_REMOVE_ONE


def without_n(epsilon: Any = "0.4", k: int = 2) -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(k), epsilon=epsilon)


# --- ε and δ ---------------------------------------------------------------------------------------------------------


def for_two_steps(epsilon: Fraction, delta: Fraction) -> Decimal:
    """(1 + e^ε) δ."""
    e, d = (Decimal(value.numerator) / value.denominator for value in (epsilon, delta))
    return (1 + e.exp()) * d


def assert_charged_for_two_steps(loss: Loss, epsilon: Fraction, delta: Fraction) -> None:
    assert loss.epsilon == 2 * epsilon
    with localcontext(prec=60):
        truth, charged = for_two_steps(epsilon, delta), Decimal(loss.delta.numerator) / loss.delta.denominator
        assert truth <= charged <= truth * (1 + Decimal("1e-11")) + Decimal("1e-100")


@pytest.mark.parametrize("epsilon", ["0.5", "1e-9", "1e60", "12345678901234567890", "1/3"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-99", "0.99999"])
def test_what_a_group_is_charged_is_bounded_at_the_edges(epsilon: str, delta: str) -> None:
    found = Loss(*group_privacy(Fraction(epsilon), Fraction(delta), 2))
    if found.delta == 1:
        with localcontext(prec=60):
            assert Fraction(epsilon) > 10**4 or for_two_steps(Fraction(epsilon), Fraction(delta)) >= 1 - Decimal("1e-11")
    else:
        assert_charged_for_two_steps(found, Fraction(epsilon), Fraction(delta))


def hockey_stick(first: list[Fraction], second: list[Fraction], factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), p - factor * q) for p, q in zip(first, second, strict=True)), Fraction(0))


def test_no_smaller_delta_would_do() -> None:
    """Three datasets in a row, each one step from the next: what is charged is reached, and twice δ would be too little."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 100)
    odds = Fraction(exp(0.5))  # whose logarithm is 0.5 up to a rounding, here and below
    chain = [[p, 1 - p] for p in ((1 + odds) * delta, delta, Fraction(0))]
    for first, second in pairwise(chain):
        assert max(hockey_stick(first, second, odds), hockey_stick(second, first, odds)) == delta
    needed = hockey_stick(chain[0], chain[2], odds**2)
    charged = group_privacy(epsilon, delta, 2)[1]
    assert needed > 2 * delta
    assert float(charged) == pytest.approx(float(needed), rel=1e-11)


@settings(max_examples=200)
@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=3, max_size=3), st.sampled_from(["0.1", "0.5", "2"]))
def test_group_privacy_holds_for_any_laws(weights: list[list[int]], epsilon: str) -> None:
    laws = [[Fraction(w + 1, sum(row) + 3) for w in row] for row in weights]
    odds = Fraction(exp(float(epsilon)))
    delta = max(hockey_stick(one, other, odds) for first, second in pairwise(laws) for one, other in ((first, second), (second, first)))
    charged = group_privacy(Fraction(epsilon), delta, 2)[1]
    for one, other in ((laws[0], laws[2]), (laws[2], laws[0])):
        assert hockey_stick(one, other, odds**2) <= charged * (1 + Fraction(1, 10**12))


# --- filters and accountants, against listed laws -----------------------------------------------------------------------


def listed(counts: tuple[int, ...], epsilon: float) -> Floats:
    """The probabilities of all noisy counts, each noise from -reach to reach about its own count, by the definition of the mechanism."""
    reach = int(40 / epsilon)
    q, ends = exp(-epsilon), range(-reach, reach + 1)
    cells = [np.array([(1 - q) / (1 + q) * q ** abs(z - x) for z in ends]) for x in counts]
    law = cells[0]
    for cell in cells[1:]:
        law = np.multiply.outer(law, cell).ravel()
    return law


REPLACED = [((1, 0), (0, 1)), ((2, 3), (3, 2)), ((1, 0, 1), (1, 1, 0))]


def true_delta(first: Floats, second: Floats, epsilon: float) -> float:
    return float(np.maximum(0.0, first - exp(epsilon) * second).sum())


@pytest.mark.parametrize(("first", "second"), REPLACED)
def test_a_filter_is_charged_the_divergence_of_a_replaced_record(tmp_path: Path, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    rule = ledger.create("survey", 3, "1e-6", planned_epsilon="0.1").filter
    assert rule is not None
    mechanism = without_n(1, len(first))
    ledger.release("survey", mechanism, first)
    (line,) = ledger.history("survey")
    p, q, order = listed(first, 1.0), listed(second, 1.0), float(rule.order)
    truth = log(float((p * (p / q) ** (order - 1)).sum())) / (order - 1)
    assert line.divergence is not None
    assert truth * (1 - 1e-9) <= line.divergence <= truth * (1 + 1e-9)
    assert dc.renyi_loss(mechanism, rule.order).bound < 0.51 * truth  # what one step is charged would be half of it
    assert line.divergence < largest_divergence(Fraction(2), rule.order)
    assert ledger.spend("survey", "0.1", neighbours=ADD_REMOVE).divergence == largest_divergence(Fraction(1, 5), rule.order)
    with pytest.raises(BudgetError, match="δ = 0 alone; nothing was spent"):
        ledger.spend("survey", "0.1", "1e-9", neighbours=ADD_REMOVE)


def test_a_filter_of_a_dataset_that_hides_n_is_charged_one_step(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    rule = ledger.create("survey", 1, "1e-3", planned_epsilon="0.1", neighbours=ADD_REMOVE).filter
    assert rule is not None
    ledger.release("survey", without_n("0.1", 3), [0, 0, 0])
    assert ledger.history("survey")[0].divergence == largest_divergence(Fraction(1, 10), rule.order)


@pytest.mark.parametrize(("first", "second"), REPLACED)
def test_an_accountant_tells_what_replacing_a_record_costs(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    mechanism = without_n(1, len(first))
    accountant = dc.Accountant(neighbours=REPLACE).add(mechanism)
    p, q = listed(first, 1.0), listed(second, 1.0)
    for level in ("0.2", "1", "1.7"):
        truth = max(true_delta(p, q, float(level)), true_delta(q, p, float(level)))
        assert truth <= accountant.delta(level) <= 1.005 * truth
        assert dc.Accountant().add(mechanism).delta(level) < 0.95 * truth  # of one that comes or goes, which is less
    assert Loss(*accountant.basic) == Loss(Fraction(2))
    assert accountant.epsilon(0) == 2


def two_coins(epsilon: float, times: int) -> Iterator[tuple[float, float]]:
    """The losses of so many releases of ε about a replaced record, with their probabilities: each is two coins told truly."""
    odds = exp(epsilon)
    law = {0: 1.0}
    for _ in range(2 * times):
        law = {
            loss: law.get(loss - 1, 0.0) * odds / (1 + odds) + law.get(loss + 1, 0.0) / (1 + odds)
            for loss in range(min(law) - 1, max(law) + 2)
        }
    return ((epsilon * loss, p) for loss, p in law.items())


def test_the_ledgers_accountant_composes_what_was_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 10)
    for _ in range(5):
        ledger.release("survey", without_n("0.5", 3), [1, 2, 0])
    accountant = ledger.accountant("survey")
    assert Loss(*accountant.basic) == Loss(Fraction(5)) == ledger.spent("survey")
    for level in (0.5, 1.5, 3.0):
        truth = sum(p * max(0.0, 1 - exp(level - loss)) for loss, p in two_coins(0.5, 5))
        assert truth <= accountant.delta(level) <= 1.01 * truth
    ledger.spend("survey", "0.5", neighbours=ADD_REMOVE)
    assert Loss(*ledger.accountant("survey").basic) == Loss(Fraction(6))
    assert isinstance(ledger.accountant("survey").parts[-1][0], dc.Guarantee)


def test_a_promise_to_persons_is_composed_as_it_was_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, neighbours=ADD_REMOVE)
    ledger.release("survey", without_n("0.1"), [3, 4], unit="person")
    assert Loss(*ledger.accountant("survey").basic) == Loss(Fraction("0.2")) == ledger.spent("survey")


def test_an_accountant_adds_up_promises_about_different_neighbours() -> None:
    hides_n, shows_n = without_n("0.4"), dc.LatticeGeometric(dc.Beta(1, 1), 10, "0.1")
    assert Loss(*dc.Accountant().add(hides_n, 3).basic) == Loss(Fraction("1.2"))
    assert Loss(*dc.Accountant().add(hides_n).add(shows_n).basic) == Loss(Fraction("0.9"))
    assert dc.Accountant().add(shows_n).add(hides_n).epsilon("1e-9") <= 0.9
    with_delta = dc.Accountant(neighbours="replace one").add(dc.Guarantee(0.5, 1e-6, "proof", neighbours=ADD_REMOVE), 2)  # type: ignore[arg-type]
    assert with_delta.basic[0] == 2
    assert 1 <= float(with_delta.basic[1]) / (2e-6 * (1 + exp(0.5))) <= 1 + 1e-10
    with pytest.raises(dc.RefusedError, match="publishes n"):
        dc.Accountant(neighbours=ADD_REMOVE).add(shows_n)
    with pytest.raises(InvalidInputError, match="neighbours must be"):
        dc.Accountant(neighbours="total")  # type: ignore[arg-type]


class SaysNothing(Mechanism):
    """The same outcome for all data, without a public n: nothing is known of it but its law and its promise."""

    _needs_total = False

    @property
    def _claim(self) -> dc.Guarantee:
        return self._by_proof()

    def _raw_law(self, counts: Counts) -> Law:
        return Law(np.zeros_like(counts)[None], np.zeros(1))

    def _draw_noise(self, source: BitSource) -> list[int]:
        raise AssertionError(source)


@pytest.mark.parametrize(("kept", "steps"), [(ADD_REMOVE, 1), (REPLACE, 2)])
def test_where_laws_are_not_listed_the_guarantee_is_charged_and_composed(tmp_path: Path, kept: Relation, steps: int) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    rule = ledger.create("survey", 1, "1e-3", planned_epsilon="0.05", neighbours=kept).filter
    assert rule is not None
    mechanism = SaysNothing(dc.Beta(1, 1), epsilon="0.1")
    with pytest.raises(AssertionError):
        ledger.release("survey", mechanism, [3, 4])  # charged, and then drawn
    (line,) = ledger.history("survey")
    charged = steps * Fraction(1, 10)
    assert (line.loss, line.divergence) == (Loss(charged), largest_divergence(charged, rule.order))
    assert ledger.accountant("survey").epsilon("1e-9") == float(charged)
    assert ledger.accountant("survey").delta(charged / 2) < 1
