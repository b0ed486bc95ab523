"""Add or remove one: laws, losses and draws where n is private, against enumeration from the definitions."""

from fractions import Fraction
from itertools import product
from math import exp, isclose, log
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import chi2

import discreet as dc
from discreet.arrays import Floats
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.model.datasets import Relation, Space
from discreet.sampling import SeededBits
from tests.support import mostly_slow

WORLDS = 200
PLANTED = (123457, 876543)
"""Counts that no message and no record may show."""


def mass(epsilon: float, distance: int) -> float:
    """The two-sided geometric law, from its definition."""
    q = exp(-epsilon)
    return (1.0 - q) / (1.0 + q) * q ** abs(distance)


def world(seed: int) -> tuple[dc.LatticeGeometric, tuple[int, ...]]:
    """A mechanism and a dataset, in one of eight an empty one."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    epsilon = Fraction(int(rng.integers(1, 400)), 100)
    prior = dc.Dirichlet([Fraction(int(a), 4) for a in rng.integers(1, 20, k)])
    counts = np.zeros(k, dtype=np.int64) if rng.random() < 0.125 else rng.integers(0, 6, k)
    return dc.LatticeGeometric(prior, epsilon=epsilon), tuple(counts.tolist())


def outcomes(mechanism: dc.LatticeGeometric, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    reach = 6 if mechanism.k > 2 else 40
    return list(product(*[range(x - reach, x + reach + 1) for x in counts]))


@pytest.mark.parametrize("seed", mostly_slow(range(WORLDS), 60))
def test_probabilities_and_losses_are_those_of_the_definition(seed: int) -> None:
    mechanism, counts = world(seed)
    epsilon = float(mechanism.epsilon)
    rng = np.random.default_rng(seed)
    near = outcomes(mechanism, counts)
    some = [near[i] for i in rng.integers(0, len(near), 40)]
    law = [[sum(log(mass(level, z - x)) for z, x in zip(raw, counts, strict=True)) for raw in some] for level in (epsilon, 1.1 * epsilon)]
    found = [mechanism.log_prob(counts, raw) for raw in some]
    assert np.allclose(found, law[0], rtol=1e-12, atol=1e-12)
    assert not np.allclose(found, law[1], rtol=1e-3, atol=1e-3)
    category, step = int(rng.integers(mechanism.k)), 1 if min(counts) == 0 or rng.random() < 0.5 else -1
    other = (*counts[:category], counts[category] + step, *counts[category + 1 :])
    losses = np.array(found) - [mechanism.log_prob(other, raw) for raw in some]
    assert dc.privacy_loss(mechanism).value == epsilon
    assert np.abs(losses).max() <= epsilon + 1e-9
    line = np.arange(-2000, 2001)
    levels = (0.0, 0.3 * epsilon, 0.9 * epsilon, epsilon)
    first, second = (np.array([mass(epsilon, int(z) - shift) for z in line]) for shift in (0, 1))
    for level in levels:
        assert isclose(
            dc.delta_at(mechanism, Fraction(level)).value, np.maximum(0.0, first - exp(level) * second).sum(), rel_tol=1e-9, abs_tol=1e-12
        )
    assert not isclose(dc.delta_at(dc.LatticeGeometric(mechanism.prior, epsilon=mechanism.epsilon * Fraction(11, 10)), 0).value,
                       np.maximum(0.0, first - second).sum(), rel_tol=1e-3)  # fmt: skip


@pytest.mark.parametrize("counts", [(0, 0), (3, 0), (2, 5)])
def test_the_law_of_the_report_is_the_noisy_counts_with_0_for_what_is_negative(counts: tuple[int, int]) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 2), epsilon="0.7")
    expected: dict[tuple[int, ...], float] = {}
    for raw in product(range(-80, 90), repeat=2):
        report = tuple(max(z, 0) for z in raw)
        expected[report] = expected.get(report, 0.0) + mass(0.7, raw[0] - counts[0]) * mass(0.7, raw[1] - counts[1])
    law = mechanism.law(counts)
    found = dict(zip((tuple(row) for row in law.counts.tolist()), law.probability, strict=True))
    assert all(isclose(found.get(report, 0.0), p, rel_tol=1e-10, abs_tol=1e-15) for report, p in expected.items())
    assert isclose(law.probability.sum(), 1.0, rel_tol=1e-12)
    assert law.omitted < 1e-15


def chi_square(mechanism: dc.LatticeGeometric, counts: tuple[int, ...], size: int, epsilon: float) -> float:
    """The p value of exact draws against the law of another ε, cells of the first two counts, far ones together."""
    source = SeededBits(7)
    sampler = mechanism._sampler(counts)
    draws = np.array([sampler.draw(source) for _ in range(size)]) - np.array(counts)
    reach = 3
    one = [mass(epsilon, d) for d in range(-reach, reach + 1)]
    cells = np.append(np.outer(one, one).ravel(), 0.0)
    cells[-1] = 1.0 - cells.sum()
    inside = (np.abs(draws[:, :2]) <= reach).all(axis=1)
    index = np.where(inside, (draws[:, 0] + reach) * (2 * reach + 1) + draws[:, 1] + reach, len(cells) - 1)
    seen = np.bincount(index, minlength=len(cells))
    return float(chi2.sf(((seen - size * cells) ** 2 / (size * cells)).sum(), len(cells) - 1))


def test_draws_are_from_the_law_and_a_scale_off_by_a_tenth_is_caught() -> None:
    """False alarms: 1 in 10^4; the seed is fixed."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), epsilon=1)
    assert chi_square(mechanism, (0, 3, 9), 20_000, 1.0) > 1e-4
    assert chi_square(mechanism, (0, 3, 9), 20_000, 1.1) < 1e-4


def test_an_audit_finds_no_more_than_epsilon_and_finds_a_claim_that_is_too_low() -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)

    def draw(counts: ArrayLike, size: int) -> ArrayLike:
        drawn = mechanism._simulate_raw(np.asarray(counts), size, np.random.default_rng(np.asarray(counts)))
        return drawn[:, :1]  # the count that differs

    found = dc.audit(draw, (0, 0), (1, 0))
    assert not found.refutes(1.0)
    assert found.refutes(0.8)


# --- the relation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_neighbours_and_distances_are_those_of_the_definition(k: int) -> None:
    points = list(product(range(4), repeat=k))
    for x in points:
        near = set(Relation.ADD_REMOVE_ONE.neighbours(x))
        assert near == {y for y in product(range(5), repeat=k) if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 1}
        for y in points:
            steps = int(Relation.ADD_REMOVE_ONE.distance(np.array(x), np.array(y))[()].item())
            assert steps == sum(abs(a - b) for a, b in zip(x, y, strict=True))


def test_steps_of_one_relation_in_the_other() -> None:
    replace, add = Relation.REPLACE_ONE, Relation.ADD_REMOVE_ONE
    assert (replace.steps_of(replace), add.steps_of(add), add.steps_of(replace), replace.steps_of(add)) == (1, 1, 2, None)
    for x in product(range(4), repeat=3):
        for y in replace.neighbours(x):
            assert int(add.distance(np.array(x), np.array(y)).item()) == 2


def test_a_space_without_a_total_has_no_end() -> None:
    space = Space(3, None)
    assert space.relation == Relation.ADD_REMOVE_ONE
    assert not space.is_few(10**9)
    with pytest.raises(dc.TooLargeError, match="no end"):
        space.points()
    with pytest.raises(dc.RefusedError, match="n is private"):
        _ = space.total
    first, second = space.pair()
    assert second in set(space.relation.neighbours(first))


# --- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 0), (7, 1, 2)])
def test_a_release_of_any_dataset_and_its_record(counts: tuple[int, ...]) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 2, 0.5], ["a", "b", "c"]), epsilon="0.5")
    release = mechanism.release(counts)
    assert release.n is None
    assert release.counts == tuple(max(z, 0) for z in release.raw)
    assert str(release.guarantee) == "ε = 0.5 differential privacy by proof (checked: cells_private); neighbours: add or remove one record"
    assert '"n": null' in release.to_json()
    assert dc.Release.from_json(release.to_json()) == release
    assert "private n" in repr(release)
    assert "private n" in release._repr_html_()
    assert dc.verify(release).holds


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"n": null', '"n": 5', "null"),
        ('"version": 2', '"version": 1', "whole number"),
        ('"neighbours": "add or remove one"', '"neighbours": "replace one"', ": replace one.*: add or remove one"),
        ('"neighbours": "add or remove one"', '"neighbours": "nothing"', "neighbours"),
        ('"mechanism": "LatticeGeometric"', '"mechanism": "HellingerGlobal"', "no option"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(old: str, new: str, fault: str) -> None:
    text = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1).release([2, 3]).to_json()
    assert old in text
    with pytest.raises(dc.InvalidInputError, match=fault):
        dc.Release.from_json(text.replace(old, new))


class HidesPresence(dc.LatticeGeometric):
    """It claims what no record with a public n can keep."""

    @property
    def _claim(self) -> dc.Guarantee:
        return dc.Guarantee(float(self.epsilon), 0.0, "proof", neighbours=Relation.ADD_REMOVE_ONE)


def test_a_claim_to_hide_presence_is_refused_where_n_is_published(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", epsilon=1, neighbours="add or remove one")
    with pytest.raises(dc.RefusedError, match="publishes n"):
        ledger.release("clinic", HidesPresence(dc.Beta(1, 1), 5, epsilon=1), [2, 3])
    assert not ledger.history("clinic")
    assert ledger.release("clinic", HidesPresence(dc.Beta(1, 1), epsilon=1), [2, 3]).n is None


@pytest.mark.parametrize("cls", [cls for cls in MECHANISMS if cls not in (dc.LatticeGeometric, dc.DiscreteGaussian)])
def test_mechanisms_about_replacing_say_that_they_need_n(cls: type[Mechanism]) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"needs n.*LatticeGeometric"):
        cls(dc.Beta(1, 1), epsilon=1)


def test_nothing_is_refused_because_of_how_many_there_are() -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)
    for counts in ([0, 0], [2**53, 2**53], [2**53 + 1, 0], [10**30, 5], np.array([2.0**60, 1.0])):
        assert mechanism.release(counts).n is None
    with pytest.raises(dc.InvalidInputError, match="negative"):
        mechanism.release([-1, 3])


@pytest.mark.parametrize("kind", ["b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "g"])
@pytest.mark.filterwarnings("error")
def test_counts_of_every_type_of_number_are_taken(kind: str) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=50)  # hardly any noise
    assert mechanism.release(np.array([0, 0], dtype=kind)).counts == (0, 0)
    assert mechanism.release(np.array([100, 1], dtype=kind)).counts == (100, 1)


@pytest.mark.parametrize("count", [2**53 + 2, 2**64 - 1, 2**64, 10**400])
def test_a_number_that_no_array_holds_is_cut_beside_a_float_too(count: int) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=50)
    assert mechanism.release([1.0, count]).counts == (1, 2**53)
    assert mechanism.release([count, 1]).counts == (2**53, 1)


def test_no_error_shows_a_count() -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1)
    for counts in ([*PLANTED, 1], [PLANTED[0], -PLANTED[1]], [PLANTED[0], PLANTED[1] + 0.5], PLANTED[0]):
        with pytest.raises(dc.InvalidInputError) as caught:
            mechanism.release(counts)
        assert not any(str(count) in str(caught.value) for count in PLANTED)


def test_options_that_need_a_total() -> None:
    with pytest.raises(dc.InvalidInputError, match="n is private"):
        dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1, projection="cut")
    with pytest.raises(dc.InvalidInputError, match="epsilon"):
        dc.LatticeGeometric(dc.Beta(1, 1))


def test_at_equal_epsilon_the_noise_has_less_variance_than_with_a_public_n_and_ties_at_half() -> None:
    """With many cells half the standard deviation; at equal protection of an answer, ε/2 for coming and going, nearly the same."""

    def variance(mechanism: dc.LatticeGeometric) -> float:
        draws: Floats = mechanism._simulate_raw(np.full(50, 100), 4000, np.random.default_rng(1)).astype(np.float64)
        return float(draws.var())

    prior = dc.Dirichlet.uniform(50)
    public, private, half = (
        variance(m)
        for m in (
            dc.LatticeGeometric(prior, 5000, "0.5"),
            dc.LatticeGeometric(prior, epsilon="0.5"),
            dc.LatticeGeometric(prior, epsilon="0.25"),
        )
    )
    assert 0.22 < private / public < 0.28
    assert 0.95 < half / public < 1.10
