"""Privacy losses of tables, under all three promises. Oracle: every noise vector out to a distance, weighed by the definition."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import discreet as dc
from discreet.analysis.audit import with_bits
from discreet.analysis.privacy import privacy_profile
from discreet.mechanisms import LossAtoms
from discreet.model.tables import TableSpace

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

EPSILON = "3"
LEVELS = (-4.0, -3.0, -0.7, 0.0, 0.1, 1.5, 2.9, 3.0, 3.1)
ORDERS = (1.5, 2.0, 3.0)


# --- small worlds -----------------------------------------------------------------------------------------------------

ALL_POSSIBLE: tuple[Any, int, Any] = ({"arm": ["a", "b"]}, 2, [])
ONE_LESS = ({"arm": ["a", "b"]}, 3, [("b", 2)])
UNEVEN = ({"arm": ["a", "b", "c"]}, 2, [("a", 0)])  # of a, one category is left: its size says all
TWO_COLUMNS = ({"arm": ["a", "b"], "sex": ["f", "m"]}, 2, [("a", "f", 1), ("b", "m", 0), ("b", "m", 1)])
WORLDS = (
    (ALL_POSSIBLE, [[1, 1], [2, 0]]),
    (ALL_POSSIBLE, [[0, 0], [1, 2]]),
    (ONE_LESS, [[1, 0, 1], [0, 2, 0]]),
    (ONE_LESS, [[0, 1, 0], [0, 0, 0]]),
    (UNEVEN, [[0, 2], [1, 0], [1, 1]]),
    (UNEVEN, [[0, 1], [0, 0], [1, 1]]),
    (TWO_COLUMNS, [[1, 0], [0, 1], [1, 1], [0, 0]]),
)
PUBLIC = ("sizes", "total", "nothing")


def made(world: tuple[Any, int, Any], table: Integers, public: str, epsilon: Any = EPSILON) -> dc.LatticeGeometric:
    by, k, impossible = world
    n = {"sizes": table.sum(axis=1), "total": int(table.sum()), "nothing": None}[public]
    prior = dc.Dirichlet.uniform(k)
    return dc.LatticeGeometric(prior, n=n, epsilon=epsilon, by=by, impossible=impossible)


CASES = [
    pytest.param(world, np.array(counts), public, id=f"{number // 3}-{public}")
    for number, ((world, counts), public) in enumerate(product(WORLDS, PUBLIC))
]


# --- the oracle -------------------------------------------------------------------------------------------------------


def vectors(cells: int, reach: int, *, keeps_total: bool) -> Integers:
    """Every noise of so many cells that is at most so many steps from none."""
    rows = np.zeros((1, 0), dtype=np.int64)
    values = np.arange(-reach, reach + 1)
    for _ in range(cells - keeps_total):
        rows = np.concatenate([np.repeat(rows, len(values), axis=0), np.tile(values, len(rows))[:, None]], axis=1)
        rows = rows[np.abs(rows).sum(axis=1) <= (2 * reach if keeps_total else reach)]
    if keeps_total:
        rows = np.concatenate([rows, -rows.sum(axis=1, keepdims=True)], axis=1)
        rows = rows[np.maximum(rows, 0).sum(axis=1) <= reach]
    return rows


def steps(noise: Integers, public: str) -> Integers:
    """How many steps lead there: a record that is replaced moves two cells."""
    moved = np.abs(noise).sum(axis=-1)
    return cast(Integers, moved if public == "nothing" else moved // 2)


def all_noise(possible: NDArray[np.bool_], public: str, reach: int) -> Integers:
    """Noise of the whole table, a flattened table a row: the total of every block stays, and cells that cannot occur have none."""
    blocks = [np.flatnonzero(possible)]
    if public == "sizes":
        blocks = [np.flatnonzero(row) + i * possible.shape[1] for i, row in enumerate(possible)]
    result = np.zeros((1, possible.size), dtype=np.int64)
    for block in blocks:
        if len(block) == 0:
            continue
        noise = vectors(len(block), reach, keeps_total=public != "nothing")
        wider = np.repeat(result, len(noise), axis=0)
        wider[:, block] = np.tile(noise, (len(result), 1))
        result = wider[steps(wider, public) <= reach]
    return result


class Enumerated:
    """The losses of all pairs of neighbours of a table, from noise that is listed out to a distance.

    `error` is more than the probability that is left out: each distance further out has far less than the one before.
    """

    def __init__(self, mechanism: dc.LatticeGeometric, counts: Integers, public: str, reach: int, off: float = 1.0) -> None:
        self.epsilon, self.public = off * float(mechanism.epsilon), public
        self.noise = all_noise(mechanism._table.cells.possible, public, reach)
        weight = np.exp(-self.epsilon * steps(self.noise, public))
        self.probability = weight / weight.sum()
        self.error = 3.0 * float(self.probability[steps(self.noise, public) == reach].sum())
        flat = tuple(counts.ravel().tolist())
        self.laws = [self._loss_law(np.subtract(flat, other)) for other in mechanism._table.neighbours(flat)]

    def _loss_law(self, move: Integers) -> tuple[Floats, Floats]:
        """Of ln of the ratio of an outcome's probabilities for two neighbours: its values, and their probabilities for the first.

        The normalisers are the same for both.
        """
        nearer = steps(self.noise + move, self.public) - steps(self.noise, self.public)
        values, owner = np.unique(nearer, return_inverse=True)
        return self.epsilon * values, np.bincount(owner, weights=self.probability).astype(np.float64)

    def loss(self) -> float:
        return max(float(np.abs(loss).max()) for loss, _ in self.laws)

    def delta(self, level: float) -> float:
        return max(float(probability @ np.maximum(0.0, -np.expm1(level - loss))) for loss, probability in self.laws)

    def renyi(self, order: float) -> float:
        return max(log(float(probability @ np.exp((order - 1.0) * loss))) / (order - 1.0) for loss, probability in self.laws)


REACH = {4: 10, 5: 9}
"""How far noise of so many cells is listed."""


def enumerated(mechanism: dc.LatticeGeometric, counts: Integers, public: str, off: float = 1.0) -> Enumerated:
    return Enumerated(mechanism, counts, public, REACH[mechanism._table.k], off)


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("world", "counts", "public"), CASES)
def test_losses_are_those_of_all_pairs_of_neighbours(world: Any, counts: Integers, public: str) -> None:
    mechanism = made(world, counts, public)
    oracle = enumerated(mechanism, counts, public)
    assert oracle.error < 1e-6
    assert dc.privacy_loss(mechanism).value == pytest.approx(oracle.loss(), rel=1e-12)
    for level in LEVELS:
        found = dc.delta_at(mechanism, level)
        assert found.value == pytest.approx(oracle.delta(level), abs=oracle.error)
        assert found.value <= found.bound <= found.value + 1e-11
        assert privacy_profile(mechanism, [level])[0] == pytest.approx(found.value, abs=1e-10)
    for order in ORDERS:
        assert dc.renyi_loss(mechanism, order).value == pytest.approx(oracle.renyi(order), abs=oracle.error * exp(3.0 * (order - 1.0)))
    checked = dc.verify(mechanism)
    assert (checked.holds, checked.slack, checked.verdict) == (True, 0.0, "holds")


@pytest.mark.parametrize("off", [0.9, 1.1])
@pytest.mark.parametrize("public", PUBLIC)
def test_noise_ten_per_cent_off_would_be_seen(public: str, off: float) -> None:
    counts = np.array([[1, 1], [2, 0]])
    mechanism = made(ALL_POSSIBLE, counts, public)
    oracle = enumerated(mechanism, counts, public, off)
    assert abs(dc.privacy_loss(mechanism).value - oracle.loss()) > 0.29
    assert abs(dc.delta_at(mechanism, 0.5).value - oracle.delta(0.5)) > 1e3 * oracle.error
    assert abs(dc.renyi_loss(mechanism, 2).value - oracle.renyi(2)) > 1e3 * oracle.error


@pytest.mark.parametrize(("world", "counts", "public"), CASES)
def test_the_likelihood_is_the_law_that_was_listed(world: Any, counts: Integers, public: str) -> None:
    mechanism = made(world, counts, public)
    oracle = enumerated(mechanism, counts, public)
    chance = np.random.default_rng(20240607)
    for i in [0, *chance.integers(len(oracle.noise), size=20).tolist()]:
        found = mechanism.log_prob(counts, counts + oracle.noise[i].reshape(counts.shape))
        assert found == pytest.approx(log(oracle.probability[i]), abs=oracle.error)
    off_lattice = counts + (~mechanism._table.cells.possible if public == "nothing" else np.eye(*counts.shape, dtype=np.int64))
    if public != "nothing" or not mechanism._table.cells.possible.all():
        assert mechanism.log_prob(counts, off_lattice.astype(np.int64)) == -np.inf


def test_fewer_cells_lose_more() -> None:
    """So the group with the fewest categories, of those in which something can change, is the worst (docs/proofs/tables.md)."""
    for epsilon in ("0.01", "0.5", "3"):
        by_cells = [dc.delta_at(dc.LatticeGeometric(dc.Dirichlet.uniform(k), 9, epsilon), 0).value for k in range(2, 40)]
        assert by_cells == sorted(by_cells, reverse=True)
        q = exp(-float(epsilon))
        assert by_cells[0] == pytest.approx((1 - q) / (1 + q))
        assert by_cells[-1] > (1 - q) / (1 + q**0.5) ** 2


def test_the_worst_group_has_records_and_two_categories() -> None:
    by, counts = {"arm": ["one", "empty", "two", "three"]}, np.array([[0, 0, 5], [0, 0, 0], [1, 1, 0], [1, 2, 3]])
    impossible = [("one", 0), ("one", 1), ("empty", 0), ("two", 2)]
    for k, sizes in ((2, counts.sum(axis=1)), (3, counts.sum(axis=1) * [1, 1, 0, 1])):  # without records, two's categories do not count
        mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), sizes, "0.5", by=by, impossible=impossible)
        alone = dc.LatticeGeometric(dc.Dirichlet.uniform(k), 9, "0.5")
        assert dc.delta_at(mechanism, "0.2").value == dc.delta_at(alone, "0.2").value
        assert dc.renyi_loss(mechanism, 3).bound == dc.renyi_loss(alone, 3).bound


class _LosesMore(dc.LatticeGeometric):
    """A table whose losses are ten per cent above what it claims."""

    @property
    def _claim(self) -> dc.Guarantee:
        return self._by_proof()

    def _loss_atoms(self) -> LossAtoms:
        atoms = super()._loss_atoms()
        assert atoms.largest is not None
        return LossAtoms(atoms.largest * Fraction(11, 10), 1.1 * atoms.loss, atoms.probability)


def test_a_table_that_loses_more_than_it_claims_does_not_verify() -> None:
    made = _LosesMore(dc.Dirichlet.uniform(3), [4, 5], "0.5", by={"arm": ["a", "b"]})
    assert dc.verify(made).verdict == "does not hold"


def test_a_released_table_is_verified() -> None:
    mechanism = made(ALL_POSSIBLE, np.array([[1, 1], [2, 0]]), "sizes")
    found = dc.verify(mechanism.release([[1, 1], [2, 0]]))
    assert found.holds
    assert "neighbours: replace one record within arm" in str(found)


# --- composition ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", PUBLIC)
def test_two_releases_of_a_table_compose_as_their_losses_do(public: str) -> None:
    pytest.importorskip("dp_accounting")
    mechanism = made(ONE_LESS, np.array([[1, 0, 1], [0, 2, 0]]), public)
    both = mechanism._loss_atoms().repeated(2)
    for level in (0.3, 0.9, 1.4):
        truth = float(both.probability @ np.maximum(0.0, -np.expm1(level - both.loss)))
        found = dc.Accountant().add(mechanism, 2).delta(level)
        assert truth <= found <= truth + 2e-3


def test_figures_of_tables_are_about_who_stays_in_all_their_groups() -> None:
    arm, sex = ({"arm": ["a", "b"]}, {"sex": ["f", "m"]})
    by_arm, by_sex = (dc.LatticeGeometric(dc.Dirichlet.uniform(2), [3, 4], "0.5", by=by) for by in (arm, sex))
    total, nothing = (dc.LatticeGeometric(dc.Dirichlet.uniform(2), n, "0.5", by=arm) for n in (7, None))
    for parts, about, epsilon in (
        ([by_arm, by_sex], "replace one record within arm and sex", "1"),
        ([by_arm, total], "replace one record within arm", "1"),
        ([by_arm, by_sex, nothing], "replace one record within arm and sex", "2"),
        ([by_arm, nothing.guarantee], "replace one record within arm", "1.5"),
        ([total, nothing], "replace one record", "1.5"),
        ([nothing, nothing], "add or remove one record", "1"),
    ):
        accountant = dc.Accountant()
        for part in cast(list[Any], parts):
            accountant = accountant.add(part)
        assert accountant.about.of("record") == about
        assert accountant.basic == (Fraction(epsilon), Fraction(0))


def test_fixed_neighbours_refuse_what_publishes_sizes() -> None:
    by_arm = dc.LatticeGeometric(dc.Dirichlet.uniform(2), [3, 4], "0.5", by={"arm": ["a", "b"]})
    for fixed in ("replace one", "add or remove one", 'replace one within ["sex"]'):
        with pytest.raises(dc.RefusedError, match="by arm"):
            dc.Accountant(neighbours=fixed).add(by_arm)  # type: ignore[arg-type]
    for fixed in ('replace one within ["arm"]', 'replace one within ["sex", "arm"]'):
        assert dc.Accountant(neighbours=fixed).add(by_arm).basic[0] == Fraction("0.5")  # type: ignore[arg-type]


def test_persons_of_a_table_and_records_compose_about_records() -> None:
    within = dc.LatticeGeometric(dc.Dirichlet.uniform(2), [3, 4], "0.5", by={"arm": ["a", "b"]}).release([[1, 2], [3, 1]], unit="person")
    single = dc.LatticeGeometric(dc.Dirichlet.uniform(2), 9, "0.5")
    assert dc.Accountant().add(within.guarantee).add(single).basic == (Fraction(1), Fraction(0))


# --- what is not computed ---------------------------------------------------------------------------------------------

TABLE = np.array([[1, 2, 3], [0, 1, 1]])


def table_mechanisms() -> dict[str, dc.LatticeGeometric]:
    return {public: made(({"arm": ["a", "b"]}, 3, []), TABLE, public) for public in PUBLIC}


NOT_FOR_TABLES: dict[str, Callable[[Any], Any]] = {
    "law": lambda m: m.law(TABLE),
    "raw_law": lambda m: m._raw_law(TABLE),
    "outcomes": lambda m: m._outcomes(),
    "listed_laws": lambda m: list(m._listed_laws()),
    "log_probabilities": lambda m: m._log_probabilities(TABLE, TABLE[None]),
    "simulate_raw": lambda m: m._simulate_raw(TABLE, 3, np.random.default_rng(1)),
    "line_law": lambda m: m._line_law(1, np.arange(3.0)),
    "total": lambda m: m.space.total,
    "loss_profile": dc.loss_profile,
    "error_law": lambda m: dc.error_law(m, TABLE),
    "expected_error": lambda m: dc.expected_error(m, TABLE),
    "expected_error over": lambda m: dc.expected_error(m, over="predictive"),
    "worst error": lambda m: dc.expected_error(m, over="worst"),
    "Remapped": dc.Remapped,
    "with_bits": with_bits,
}


@pytest.mark.parametrize("name", NOT_FOR_TABLES)
def test_what_is_for_one_variable_refuses_a_table_in_one_line(name: str) -> None:
    for mechanism in table_mechanisms().values():
        with pytest.raises(dc.RefusedError, match="without by"):
            NOT_FOR_TABLES[name](mechanism)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "privacy_loss": dc.privacy_loss,
    "delta_at": lambda m: dc.delta_at(m, 0.3),
    "renyi_loss": lambda m: dc.renyi_loss(m, 2),
    "verify": lambda m: str(dc.verify(m)),
    "capabilities": dc.capabilities,
    "accountant": lambda m: dc.Accountant().add(m, 3).epsilon("1e-6"),
    "Calibrated": dc.Calibrated,
    "compare": lambda m: isinstance(m.n, tuple) and dc.compare(m.prior, m.n, m.epsilon),  # type: ignore[arg-type]
    "plan": lambda m: isinstance(m.n, tuple) and dc.plan(m.prior, error=0.1, n=m.n),  # type: ignore[arg-type]
    "optimal": lambda m: isinstance(m.n, tuple) and dc.optimal(m.prior, m.n, m.epsilon),  # type: ignore[arg-type]
    "by name": lambda m: dc.mechanism("LatticeGeometric", m.prior, m.n, m.epsilon, by=m.by),
    "wrapped": lambda m: dc.mechanism("Remapped(LatticeGeometric)", m.prior, m.n, m.epsilon, by=m.by),
    "audit": lambda m: dc.audit(m.simulate, np.zeros_like(TABLE), np.zeros_like(TABLE), draws=50),
    "repr": repr,
    "guarantee": lambda m: m.guarantee,
}


@st.composite
def tables(draw: Any) -> dc.LatticeGeometric:
    """Tables of any layout that can be made."""
    labels = [[f"{column}{i}" for i in range(draw(st.integers(1, 3)))] for column in range(draw(st.integers(1, 2)))]
    by = {f"column {i}": names for i, names in enumerate(labels)}
    k = draw(st.integers(2, 3))
    cells = [(*key, category) for key in product(*labels) for category in range(k)]
    impossible = draw(st.lists(st.sampled_from(cells), unique=True, max_size=len(cells)))
    groups = len(cells) // k
    n = draw(st.one_of(st.none(), st.integers(1, 50), st.lists(st.integers(0, 9), min_size=groups, max_size=groups)))
    epsilon = draw(st.sampled_from(["0.001", "0.3", "1", "40"]))
    return dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, epsilon, by=by, impossible=impossible)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_nothing_but_our_own_errors_is_raised_about_a_table(data: st.DataObject) -> None:
    try:
        mechanism = data.draw(tables())
    except dc.InvalidInputError:
        return
    assert isinstance(mechanism.space, TableSpace)
    for ask in (*NOT_FOR_TABLES.values(), *OTHERS.values()):
        with suppress(dc.DiscreetError):
            ask(mechanism)
