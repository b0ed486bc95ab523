"""Budgets kept by a Rényi filter. Oracles: divergences added up in 50 digits, and the best attack on a small world, computed exactly.

In the small world every release is `LatticeGeometric` on two categories: its privacy loss is +ε or -ε, with odds of e^ε. An analyst
sees all outcomes, hence the loss so far, and may choose the next release, or stop, in view of it.
"""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from math import exp, gcd, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger.filters import affordable, largest_divergence, largest_epsilon, mechanism_divergence, planned_filter
from discreet.ledger.ledger import Ledger, Loss
from tests.support import mostly_slow

# --- divergences ------------------------------------------------------------------------------------------------------


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def divergence(first: Iterable[Decimal], second: Iterable[Decimal], order: Fraction) -> Decimal:
    """ln Σ P^a Q^(1-a) / (a-1), from the definition."""
    a = decimal(order)
    return sum((p**a * q ** (1 - a) for p, q in zip(first, second, strict=True)), Decimal(0)).ln() / (a - 1)


def told_truly(epsilon: Fraction, order: Fraction) -> Decimal:
    """The divergence of a coin that is told truly with odds of e^ε."""
    odds = decimal(epsilon).exp()
    law = [odds / (1 + odds), 1 / (1 + odds)]
    return divergence(law, law[::-1], order)


epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)
orders = st.fractions(Fraction(1001, 1000), 100, max_denominator=1000)


@given(epsilons, orders)
def test_the_largest_divergence_is_that_of_a_coin_and_rounded_up(epsilon: Fraction, order: Fraction) -> None:
    with localcontext(prec=60):
        truth, charged = told_truly(epsilon, order), decimal(largest_divergence(epsilon, order))
        assert 0 <= charged - truth <= Decimal("1e-20") + truth * Decimal("1e-15")
        assert told_truly(epsilon * Fraction(11, 10), order) > charged  # an ε that is 10 % larger is seen


@given(st.fractions(Fraction(1, 10**6), 50), orders)
def test_what_is_left_in_one_release_is_rounded_down(left: Fraction, order: Fraction) -> None:
    found = largest_epsilon(left, order)
    assert largest_divergence(found, order) <= left
    assert largest_divergence(found * (1 + Fraction(1, 10**4)), order) > left


def test_where_a_divergence_is_extreme_it_is_still_bounded() -> None:
    for epsilon in (Fraction(1, 10**15), Fraction(10**15), Fraction(10**100)):
        for order in (Fraction(1001, 1000), Fraction(10), Fraction(10**6)):
            assert 0 < largest_divergence(epsilon, order) <= max(epsilon, Fraction(1, 10**20))


def neighbours(n: int, k: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every ordered pair of neighbouring datasets."""
    datasets = [(i, n - i) for i in range(n + 1)] if k == 2 else [(i, j, n - i - j) for i in range(n + 1) for j in range(n - i + 1)]
    return [(x, y) for x, y in permutations(datasets, 2) if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 2]


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(10), Fraction(200)])
@pytest.mark.parametrize("name", ["HellingerSmooth", "HellingerGlobal"])
@pytest.mark.parametrize(("prior", "n"), [((1, 1), 8), (("0.1", 3), 6), ((1, 2, 3), 3)])
def test_the_divergence_of_listed_laws(name: str, prior: Any, n: int, order: Fraction) -> None:
    mechanism, off = (dc.mechanism(name, dc.Dirichlet(prior), n, epsilon) for epsilon in ("0.7", "0.77"))
    worst = float(max(_from_laws(mechanism, first, second, order) for first, second in neighbours(n, len(prior))))
    found = dc.renyi_loss(mechanism, order)
    assert worst <= found.bound <= worst * (1 + 1e-8)
    assert dc.renyi_loss(off, order).value > found.bound * 1.05
    assert found.bound <= float(largest_divergence(Fraction(7, 10), order))


def _from_laws(mechanism: dc.mechanisms.Mechanism, first: tuple[int, ...], second: tuple[int, ...], order: Fraction) -> Decimal:
    laws = [[Decimal(value).exp() for value in mechanism.law(counts).log_probability.tolist()] for counts in (first, second)]
    return divergence(laws[0], laws[1], order)


@pytest.mark.parametrize("order", mostly_slow([Fraction(10), Fraction(3, 2), Fraction(40)], 1))
@pytest.mark.parametrize(
    ("name", "k", "options"),
    [("LatticeGeometric", 2, {}), ("LatticeGeometric", 3, {}), ("LaplaceHistogram", 2, {"rounding": "nearest"}), ("LaplaceZhang", 2, {})],
)
def test_the_divergence_of_noise(name: str, k: int, options: dict[str, str], order: Fraction) -> None:
    """Over all raw outcomes near the data; what is further out has a probability below 1e-15."""
    mechanism, off = (dc.mechanism(name, dc.Dirichlet.uniform(k), 2, epsilon, **options) for epsilon in ("2", "2.2"))
    first, second = (2, *(0,) * (k - 1)), (1, 1, *(0,) * (k - 2))
    free = len(mechanism.release(first).raw) - (name == "LatticeGeometric")
    raws = [(*row, 2 - sum(row)) if name == "LatticeGeometric" else row for row in product(range(-38, 40), repeat=free)]
    log_laws = [np.array([mechanism.log_prob(counts, raw) for raw in raws]) for counts in (first, second)]
    a = float(order)
    truth = max(np.log(np.exp(a * p - (a - 1) * q).sum()) / (a - 1) for p, q in permutations(log_laws))
    found = dc.renyi_loss(mechanism, order)
    assert found.bound == pytest.approx(truth, rel=1e-9)
    assert found.bound >= found.value == pytest.approx(truth, rel=1e-11)
    assert dc.renyi_loss(off, order).value > found.bound * 1.05


def test_the_order_must_be_one_that_is_computed() -> None:
    for order in (1, "1.0001", 0, -2, float("nan"), 10**7, "two"):
        with pytest.raises(InvalidInputError, match="order must be"):
            dc.renyi_loss(dc.LatticeGeometric(dc.Beta(1, 1), 10, 1), order)


@pytest.mark.parametrize(
    ("epsilon", "delta", "planned"), [(3, "1e-6", "0.1"), (1, "0.01", "0.05"), ("0.1", "1e-9", "1e-4"), (20, "1e-12", "0.1")]
)
def test_the_limit_is_what_the_conversion_allows_and_rounded_down(epsilon: Any, delta: str, planned: Any) -> None:
    """By the conversion as it is proved, from a divergence to δ; the ledger uses it solved for the divergence."""
    rule = planned_filter(Loss(Fraction(epsilon), Fraction(delta)), planned)
    with localcontext(prec=60):
        a, gap = decimal(rule.order), decimal(rule.limit - Fraction(epsilon))
        found = ((a - 1) * gap).exp() / a * (1 - 1 / a) ** (a - 1)
        assert Decimal(delta) * (1 - Decimal("1e-13")) <= found <= Decimal(delta)


# --- the small world --------------------------------------------------------------------------------------------------


def best_attack(menu: tuple[Fraction, ...], allowed: Callable[[tuple[int, ...]], bool], claim: Callable[[tuple[int, ...]], float]) -> float:
    """The true δ of an analyst who chooses releases from a menu and stops, always to make it largest.

    `allowed` says whether a list, given by how many of each it has, may have been released; `claim` is the ε that is stated for it.
    The hockey-stick divergence of the whole conversation is the mean of (1 - e^(ε - loss))+ at its end.
    """
    may, stated, truly = cache(allowed), cache(claim), [1.0 / (1.0 + exp(-float(epsilon))) for epsilon in menu]
    unit = Fraction(gcd(*(epsilon.numerator * 1000 // epsilon.denominator for epsilon in menu)), 1000)
    steps = [int(epsilon / unit) for epsilon in menu]

    @cache
    def value(taken: tuple[int, ...], loss: int) -> float:
        found = max(0.0, 1.0 - exp(min(700.0, stated(taken) - loss * float(unit)))) if loss > 0 else 0.0
        for i, step in enumerate(steps):
            longer = (*taken[:i], taken[i] + 1, *taken[i + 1 :])
            if may(longer):
                found = max(found, truly[i] * value(longer, loss + step) + (1.0 - truly[i]) * value(longer, loss - step))
        return found

    return value((0,) * len(menu), 0)


def test_what_is_composed_afterwards_is_not_valid_for_an_analyst_who_stops() -> None:
    pytest.importorskip("dp_accounting", reason="exact composition needs the extra `accounting`")
    delta, most = 0.01, 100
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 10, "0.2")
    stated = {times: dc.Accountant().add(mechanism, times).epsilon(delta) for times in [*range(6, 30, 3), *range(30, most + 1, 10)]}

    def attack(claim: Callable[[tuple[int, ...]], float]) -> float:
        return best_attack((Fraction(1, 5),), lambda taken: taken[0] <= most, claim)

    fixed = attack(lambda taken: stated[most] if taken[0] == most else inf)
    assert 0.9 * delta < fixed <= delta  # for a list fixed beforehand the figure is right
    assert attack(lambda taken: stated.get(taken[0], inf)) > 3 * delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "menu"),
    [
        ("1", "0.01", ("0.1",)),
        ("1", "0.01", ("0.1", "0.3")),
        ("1", "0.01", ("0.1", "0.9")),
        ("2", "0.001", ("0.1",)),
        ("2", "0.001", ("0.2", "1")),
        ("3", "0.05", ("0.5", "1.5")),
    ],
)
def test_no_analyst_gets_more_out_of_a_filter_than_it_promises(epsilon: str, delta: str, menu: tuple[str, ...]) -> None:
    """By the rule of the ledger: a list may be released if its sum or its divergences are within what was fixed beforehand."""
    total, amounts = Loss(Fraction(epsilon), Fraction(delta)), tuple(Fraction(amount) for amount in menu)
    rule = planned_filter(total, menu[0])
    charges = [largest_divergence(amount, rule.order) for amount in amounts]

    def attack(stretch: int) -> float:
        def allowed(taken: tuple[int, ...]) -> bool:
            by_sum = sum((n * a for n, a in zip(taken, amounts, strict=True)), Fraction(0)) <= total.epsilon
            return by_sum or sum((n * c for n, c in zip(taken, charges, strict=True)), Fraction(0)) <= stretch * rule.limit

        return best_attack(amounts, allowed, lambda _: float(epsilon))

    truth = attack(1)
    assert 0.0 < truth <= float(delta)  # more than the plain sum is released, under which no loss exceeds ε
    if len(menu) == 1:
        assert attack(3) > float(delta)  # a limit that is far too high is seen


# --- the ledger -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("survey", 1, "1e-3", planned_epsilon="0.1")
    return made


def spend_all(ledger: Ledger, amount: str, most: int = 200) -> int:
    """How many such spends are taken."""
    for number in range(most):
        try:
            ledger.spend("survey", amount)
        except BudgetError:
            return number
    return most


def test_a_filter_takes_as_many_releases_as_it_says_and_the_sum_fewer(ledger: Ledger, tmp_path: Path) -> None:
    rule = ledger.budget("survey").filter
    assert rule is not None
    taken = spend_all(ledger, "0.1")
    assert taken == affordable(rule, Fraction(1, 10)) > 10
    charges = [line.divergence for line in ledger.history("survey")]
    assert sum(charges) <= rule.limit < sum(charges) + charges[0]  # type: ignore[operator, arg-type]
    assert ledger.spent("survey") == Loss(Fraction(taken, 10))
    assert Ledger(tmp_path / "ledger.db").budget("survey").filter == rule


def test_what_the_sum_allows_is_never_refused(ledger: Ledger) -> None:
    assert ledger.remaining("survey") == Loss(Fraction(1))
    ledger.spend("survey", 1)
    assert ledger.remaining("survey").epsilon < 1
    with pytest.raises(BudgetError, match=r"Rényi.*'survey'.*nothing was spent"):
        ledger.spend("survey", 1)
    assert len(ledger.history("survey")) == 1


@settings(max_examples=10)
@given(st.lists(st.fractions(Fraction(1, 100), Fraction(2, 3), max_denominator=100), min_size=1, max_size=12))
def test_what_remains_is_taken_and_no_more(tmp_path_factory: pytest.TempPathFactory, wanted: list[Fraction]) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    budget = ledger.create("survey", 1, "1e-3", planned_epsilon="0.05")
    assert budget.filter is not None
    total, charged = Fraction(0), Fraction(0)
    for amount in wanted:
        cost = largest_divergence(amount, budget.filter.order)
        if total + amount <= 1 or charged + cost <= budget.filter.limit:
            assert ledger.spend("survey", amount).divergence == cost
            total, charged = total + amount, charged + cost
        else:
            with pytest.raises(BudgetError):
                ledger.spend("survey", amount)
    left = ledger.remaining("survey").epsilon
    with pytest.raises(BudgetError):
        ledger.spend("survey", left * Fraction(10002, 10000) + Fraction(1, 10**6))
    if left:
        ledger.spend("survey", left)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.LatticeGeometric(dc.Dirichlet.uniform(5), 60, "0.1"),
        dc.LaplaceHistogram(dc.Dirichlet.uniform(5), 60, "0.1"),
        dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), 60, "0.1")),
        dc.HellingerSmooth(dc.Beta(1, 1), 60, "0.1"),
        dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 60, "0.1")),
    ],
)
def test_a_release_is_charged_by_its_own_laws(ledger: Ledger, mechanism: dc.mechanisms.Mechanism) -> None:
    rule = ledger.budget("survey").filter
    assert rule is not None
    counts = [30, *(0,) * (mechanism.k - 2), 30]
    ledger.release("survey", mechanism, counts)
    (line,) = ledger.history("survey")
    assert line.divergence is not None
    bound, most = dc.renyi_loss(mechanism, rule.order).bound, largest_divergence(Fraction(1, 10), rule.order)
    assert min(Fraction(bound), most) <= line.divergence <= most
    assert line.divergence <= Fraction(bound) + Fraction(1, 10**20)


@pytest.mark.parametrize(
    "mechanism", [dc.HellingerSmooth(dc.Dirichlet.uniform(6), 10**4, "0.1"), dc.HellingerSmooth(dc.Beta(1, 1), 40_000, "0.1")]
)
def test_where_laws_are_not_listed_the_epsilon_is_charged(ledger: Ledger, mechanism: dc.mechanisms.Mechanism) -> None:
    rule = ledger.budget("survey").filter
    assert rule is not None
    ledger.release("survey", mechanism, [mechanism.space.total, *(0,) * (mechanism.k - 1)])
    assert ledger.history("survey")[0].divergence == largest_divergence(Fraction(1, 10), rule.order)


@pytest.mark.parametrize("epsilon", ["1e-15", "1e-6", 700, 10**6, "1e15"])
@pytest.mark.parametrize("prior", [["1e-100", 1], ["1e100", "1e-100"], [1, 1, 1]])
@pytest.mark.parametrize("name", ["LatticeGeometric", "LaplaceHistogram", "HellingerSmooth", "HellingerGlobal"])
def test_laws_at_the_edge_of_floats_are_charged_soundly(tmp_path: Path, name: str, prior: list[Any], epsilon: Any) -> None:
    """Above nothing, which a NaN in a maximum would make of it, and at most what the ε alone would be charged."""
    mechanism = dc.mechanism(name, dc.Dirichlet(prior), 3, epsilon)
    for order in (Fraction(1001, 1000), Fraction(10), Fraction(10**6)):
        most = largest_divergence(mechanism.epsilon, order)
        assert mechanism_divergence(mechanism, order) > 0
        if epsilon in ("1e15", 10**6) and name in ("LatticeGeometric", "LaplaceHistogram"):
            assert mechanism_divergence(mechanism, order) > Fraction(99, 100) * most


def test_a_line_that_the_filter_was_not_charged_for_stops_all_spends(ledger: Ledger, tmp_path: Path) -> None:
    ledger.spend("survey", "0.1")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE discreet_spend SET divergence = NULL")
    for action in (lambda: ledger.spend("survey", "0.1"), lambda: ledger.remaining("survey")):
        with pytest.raises(LedgerError, match="edited the ledger; do not release"):
            action()
    assert len(ledger.history("survey")) == 1


def test_a_filter_takes_no_release_with_a_delta(ledger: Ledger) -> None:
    for spent in (dc.Guarantee(0.1, 1e-9, "proof"), Loss(Fraction(1, 10), Fraction(1, 10**9))):
        with pytest.raises(BudgetError, match="δ = 0 alone; nothing was spent"):
            ledger.spend("survey", spent)
    mechanism = dc.HellingerSmoothDelta(dc.Beta(1, 1), 20, 1, delta="1e-4")
    with pytest.raises(BudgetError, match="δ = 0 alone"):
        ledger.release("survey", mechanism, [10, 10])
    one = mechanism.prepare([10, 10])
    for other in (mechanism, dc.LatticeGeometric(dc.Beta(1, 1), 20, "0.1"), dc.DiscreteGaussian(dc.Beta(1, 1), 20, rho="1e-4")):
        with pytest.raises(BudgetError, match="δ = 0 alone"):  # nor does one that is charged together with others
            ledger.charge_together("survey", {"a": one, "b": other.prepare([10, 10])})
    assert ledger.history("survey") == ()


@pytest.mark.parametrize(
    ("epsilon", "delta", "planned", "says"),
    [
        (1, 0, "0.1", "delta above 0"),
        (1, "1e-6", 2, "at most the budget's epsilon"),
        (1, "1e-6", 1, "releases of ε = 1 .*, 1"),
        (1, "1e-6", "0.5", "no more releases"),
        (1, "1e-6", 0, "greater than 0"),
        (1, "1e-6", "many", "planned_epsilon must be"),
        (1, "1e-6", float("nan"), "must be a finite number"),
    ],
)
def test_filters_that_cannot_be_or_are_of_no_use(tmp_path: Path, epsilon: Any, delta: Any, planned: Any, says: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    with pytest.raises(InvalidInputError, match=says):
        ledger.create("survey", epsilon, delta, planned_epsilon=planned)
    assert not (tmp_path / "ledger.db").exists()


def test_the_smaller_the_planned_releases_the_more_a_filter_gains() -> None:
    total = Loss(Fraction(3), Fraction(1, 10**6))
    gains = [affordable(planned_filter(total, planned), Fraction(planned)) * Fraction(planned) / 3 for planned in ("0.1", "0.05", "0.01")]
    assert all(fewer < more for fewer, more in pairwise([Fraction(1), *gains]))


# --- releases whose loss has no largest value ---------------------------------------------------------------------------


def gaussian(n: int | None = 100, **options: Any) -> dc.DiscreteGaussian[tuple[int, ...]]:
    return dc.DiscreteGaussian(dc.Beta(1, 1), n, **options)


def test_gaussian_releases_are_charged_their_rho_and_close_the_plain_sum(tmp_path: Path) -> None:
    """The sum of ε would let the last one in. A conversation with a Gaussian release must end within the filter."""
    ledger = Ledger(tmp_path / "ledger.db")
    budget = ledger.create("d", 2, "1e-6", planned_epsilon="0.1")
    assert budget.filter is not None
    order, limit = budget.filter.order, budget.filter.limit
    part = gaussian(rho=Fraction(round(limit / order / 4 * 10**6), 10**6))  # four of them are nearly all
    for number in range(1, 4):
        ledger.release("d", part, [40, 60])
        charged = ledger.statement("d").divergence
        assert charged is not None
        assert float(charged) == pytest.approx(number * float(part.rho * order), rel=1e-9)
    small = dc.LatticeGeometric(dc.Beta(1, 1), 100, "0.9")  # within the sum of ε, were it not for the others, and beyond the filter
    with pytest.raises(BudgetError, match=r"Rényi divergence.*nothing was spent"):
        ledger.release("d", small, [40, 60])
    alone = Ledger(tmp_path / "other.db")
    alone.create("d", 2, "1e-6", planned_epsilon="0.1")
    alone.release("d", small, [40, 60])
    assert ledger.remaining("d").epsilon < Fraction("0.9") < alone.remaining("d").epsilon


def test_a_promise_of_epsilon_and_delta_without_a_mechanism_passes_no_filter(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("d", 2, "1e-6", planned_epsilon="0.1")
    with pytest.raises(BudgetError, match="DiscreteGaussian"):
        ledger.spend("d", gaussian(epsilon="0.1", delta="1e-9").guarantee)
    assert ledger.spent("d").epsilon == 0


def test_a_budget_without_a_delta_takes_no_gaussian_release_and_one_with_a_delta_does(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("pure", 2)
    ledger.create("approximate", 2, "1e-6")
    with pytest.raises(BudgetError, match=r"no δ.*created with a δ"):
        ledger.release("pure", gaussian(epsilon=1), [40, 60])
    ledger.release("approximate", gaussian(epsilon=1, delta="1e-7"), [40, 60])
    assert ledger.spent("approximate") == Loss(Fraction(1), Fraction(1, 10**7))


def test_where_two_counts_change_the_exact_delta_of_both_is_charged(tmp_path: Path) -> None:
    """A release without n, from a budget that replaces a record: (2ε, δ(2ε)), far below (1 + e^ε) δ."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("d", 3, "1e-6")
    part = gaussian(None, epsilon=1, delta="1e-7")
    ledger.release("d", part, [40, 60])
    spent = ledger.spent("d")
    exact = dc.delta_at(gaussian(100, rho=2 * part.rho), 2)  # σ² = 1/(2ρ) is 1/(2ρ) too
    assert spent.epsilon == 2
    assert exact.value * (1 - 1e-9) < float(spent.delta) < exact.value * (1 + 1e-9) < 3.7e-7
    kept = Ledger(tmp_path / "kept.db")
    budget = kept.create("d", 3, "1e-6", planned_epsilon="0.1")
    assert budget.filter is not None
    kept.release("d", gaussian(None, rho="0.001"), [40, 60])
    assert float(kept.statement("d").divergence or 0) == pytest.approx(2 * 0.001 * float(budget.filter.order), rel=1e-9)
