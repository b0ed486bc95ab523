"""Few candidates: one word decides. Oracles: laws by brute force, every string of bits, and enclosures of every weight."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import limits
from discreet.analysis.audit import with_bits
from discreet.arrays import Counts
from discreet.errors import InternalError
from discreet.mechanisms.hellinger import Exponential
from discreet.mechanisms.proposals import RATE_ERROR, is_listed, listing
from discreet.model.datasets import candidate_count
from discreet.model.sensitivity import TABLED_ERROR
from discreet.numerics.balls import ball, gap_ball, refine, working_precision
from discreet.numerics.proved_floats import DECAY_ERROR, FALL_ERROR, FINE_ERROR, GapTable, decay, fall, fall_of
from discreet.sampling import Listed, SeededBits, Weights, bits
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, World, draws, law_by_enumeration
from tests.support import Floats, mostly_slow

QUICK = [
    World(("1", "1"), (3, 7), "1", "smooth"),
    World(("0.01", "100"), (2, 9), "20", "smooth"),
    World(("0.5", "0.5"), (25, 25), "20", "smooth"),
    World(("1", "1"), (60, 40), "10", "local"),
    World(("1", "1", "1"), (2, 0, 5), "5", "smooth"),
    World(("0.01", "1", "100"), (0, 9, 3), "20", "global"),
    World(("0.5", "0.5", "2", "1"), (1, 3, 0, 2), "20", "local"),
]
SCALE = 46


def sampler_of(world: World, rate: Fraction) -> Listed:
    weights = Weights(world.exact_prior, world.counts, lambda: ball(rate))
    return listing(world.exact_prior, sum(world.counts)).sampler(weights, float(rate))


# --- the law ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", mostly_slow(QUICK[::-1], 3), ids=str)
def test_draws_fit_the_law_and_not_a_rate_ten_percent_off(world: World) -> None:
    law, size = world.law(), 30_000
    assert law.p_value(draws(sampler_of(world, world.rate), size, seed=1)) > FALSE_ALARM
    if law.power(world.law(WRONG), size) > POWER:
        assert law.p_value(draws(sampler_of(world, world.rate * WRONG), size, seed=2)) < FALSE_ALARM


def test_the_test_has_power_in_several_worlds() -> None:
    assert sum(world.law().power(world.law(WRONG), 30_000) > POWER for world in QUICK) >= 4


MECHANISMS = [dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta]
DATA = [(("1", "1"), (40, 60)), (("1e-9", "3"), (0, 5)), (("1/2", "1/2", "1/2"), (4, 0, 11)), (("1e6", "1e-3", "2", "1"), (0, 2, 3, 0))]


def enclosed(mechanism: Exponential, counts: tuple[int, ...], wrong: Fraction = Fraction(1)) -> list[bool]:
    """For every candidate, whether its weight in ball arithmetic lies between the bounds that the sampler draws by."""
    sampler = mechanism._sampler(counts)
    assert isinstance(sampler, Listed)
    rate = refine(lambda: mechanism._rate_ball(np.array(counts)), 128) * ball(wrong)
    weights = Weights(mechanism.prior.exact, counts, lambda: rate)
    found = []
    for index, candidate in enumerate(mechanism._outcomes()):
        with working_precision(256):
            low, high = sampler.bounds(index)
            weight = weights(tuple(int(r) for r in candidate)) * arb(2) ** SCALE
            found.append(bool(low <= weight <= high))
    return found


@pytest.mark.parametrize("cls", MECHANISMS)
@pytest.mark.parametrize(("prior", "counts"), DATA, ids=str)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "1000"])
def test_every_weight_lies_between_its_bounds(
    cls: type[Exponential], prior: tuple[str, ...], counts: tuple[int, ...], epsilon: str
) -> None:
    mechanism = cls(dc.Dirichlet(prior), sum(counts), epsilon)
    assert all(enclosed(mechanism, counts))


def test_a_rate_ten_percent_off_leaves_the_bounds() -> None:
    mechanism = dc.HellingerSmooth(dc.Dirichlet.uniform(2), 100, 1)
    assert enclosed(mechanism, (40, 60), WRONG).count(True) < 5


class HalfAsSure(dc.HellingerSmooth):
    """Twice the sensitivity, and nothing said about tables."""

    def _sensitivity_ball(self, counts: Counts) -> arb:
        return 2 * super()._sensitivity_ball(counts)


def test_whoever_changes_the_sensitivity_changes_what_is_drawn() -> None:
    assert all(enclosed(HalfAsSure(dc.Dirichlet.uniform(2), 100, 1), (40, 60)))


# --- what one word leaves open ----------------------------------------------------------------------------------------


def coarse(world: World, rate: Fraction, scale: int = 6) -> Listed:
    """Bounds of so few units, and words of so few bits, that the fallback is common."""
    weights = Weights(world.exact_prior, world.counts, lambda: ball(rate))
    points = [tuple(int(c) for c in point) for point in world.points]
    highs = [floor(float(refine(lambda p=point: weights(p))) * 2**scale) + 2 for point in points]  # type: ignore[misc]
    return Listed(weights, points.__getitem__, np.cumsum(highs).tolist(), 3, scale, word=8)


@pytest.mark.parametrize("world", [World(("1", "1"), (1, 2), "3", "smooth"), World(("0.5", "1", "2"), (0, 1, 1), "5", "global")], ids=str)
def test_every_string_of_bits_gives_the_exact_law_and_not_one_ten_percent_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "WORD", 8)
    sampler = coarse(world, world.rate)
    law, undecided = law_by_enumeration(sampler.attempt, 16)
    assert law[None] > Fraction(1, 40)  # rejections, which only the fallback makes
    assert undecided < Fraction(1, 40)  # more than 16 bits are rarely needed

    def fits(rate: Fraction) -> bool:
        weights = Weights(world.exact_prior, world.counts, lambda: ball(rate))
        shares = {tuple(map(int, p)): Fraction(float(refine(lambda p=p: weights(tuple(map(int, p)))))) for p in world.points}  # type: ignore[misc]
        bound, close = sampler.total_bound, Fraction(1, 10**12)
        return all(law.get(p, 0) - close <= w / bound <= law.get(p, 0) + undecided + close for p, w in shares.items())

    assert fits(world.rate)
    assert not fits(world.rate * WRONG)


def test_a_weight_outside_its_bounds_is_found_out_and_not_released() -> None:
    world = World(("1", "1"), (1, 2), "3", "smooth")
    good = coarse(world, world.rate)
    highs = [good.bounds(i)[1] for i in range(4)]
    highs[0] += 8
    weights = Weights(world.exact_prior, world.counts, world.ball)
    broken = Listed(weights, [tuple(map(int, p)) for p in world.points].__getitem__, np.cumsum(highs).tolist(), 3, 6)
    with pytest.raises(InternalError, match="nothing was released"):
        draws(broken, 2000, seed=1)


def test_bounds_that_are_far_from_the_weights_are_refused() -> None:
    weights = Weights((Fraction(1), Fraction(1)), (1, 0), lambda: arb(1))
    with pytest.raises(InternalError):
        Listed(weights, lambda i: (i, 1 - i), [2, 3], 3, 6)
    with pytest.raises(InternalError):
        Listed(weights, lambda i: (i, 1 - i), [64, 128], 33, 6)


# --- what is public ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(12, 2), (4, 3), (3, 4)])
def test_whether_candidates_are_listed_does_not_depend_on_the_data(n: int, k: int) -> None:
    mechanism = dc.HellingerSmooth(dc.Dirichlet.uniform(k), n, 1)
    assert {type(mechanism._sampler(tuple(x))) for x in mechanism._outcomes().tolist()} == {Listed}


def test_long_lists_are_left_to_the_other_samplers() -> None:
    one = Fraction(1)
    assert is_listed((one, one), limits.DRAWN_RECORDS)
    assert not is_listed((one, one), limits.DRAWN_RECORDS + 1)
    assert is_listed((one,) * 3, 100)
    assert not is_listed((one,) * 3, 1000)
    assert not is_listed((one,) * 40, 1)
    for k in range(3, limits.DRAWN_CATEGORIES + 1):
        for n in range(1, 400):
            assert not is_listed((one,) * k, n) or candidate_count(n, k) <= 1 << 16


def test_a_draw_takes_one_word_whatever_the_data_and_the_outcome() -> None:
    mechanism = dc.HellingerSmooth(dc.Dirichlet.uniform(3), 20, 1)
    for counts in ([20, 0, 0], [7, 7, 6]):
        taken = np.asarray(with_bits(mechanism, SeededBits(1))(counts, 500))[:, -1]
        assert set(taken.tolist()) == {64}


# --- the floats -------------------------------------------------------------------------------------------------------


def exponentials() -> Floats:
    rng = np.random.default_rng(1)
    cuts = np.arange(0, 64 * 41) / 64.0
    return np.concatenate([10.0 ** rng.uniform(-100, 2, 2000), rng.uniform(0, 41, 2000), cuts, np.nextafter(cuts[1:], 0.0)])


def test_falling_exponentials_keep_their_bounds() -> None:
    points = exponentials()
    assert [fall_of(t) for t in points.tolist()] == fall(points).tolist()
    worst_fall = worst_decay = 0.0
    with working_precision(500):
        for t, fallen, left in zip(points.tolist(), fall(points).tolist(), decay(points).tolist(), strict=True):
            true = (-arb(t)).exp()
            worst_decay = max(worst_decay, abs(float(arb(left) - true)))
            worst_fall = max(worst_fall, abs(float((arb(fallen) - (1 - true)) / (1 - true))) if t else abs(fallen))
    assert worst_fall < FALL_ERROR
    assert worst_decay < DECAY_ERROR
    assert worst_fall > FALL_ERROR / 16  # the bound says something


@given(st.sampled_from(["1", "1/3", "1e-9", "1e-100", "7.5", "1e6", "1e15", "1e100"]), st.integers(1, 60), st.data())
@settings(max_examples=60, deadline=None)
def test_fine_tables_of_gaps_keep_their_bound(prior: str, n: int, data: st.DataObject) -> None:
    a = Fraction(prior)
    x, r = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    table = GapTable(a, n)
    assert table.is_fine
    found = float(table.row(x)[r])
    true = refine(lambda: gap_ball(a + x, a + r), 100)
    assert found == 0.0 if x == r else abs(float(arb(found) / true - 1)) < FINE_ERROR
    assert table.steps[min(x, n - 1)] == float(table.row(min(x, n - 1))[min(x, n - 1) + 1])


@pytest.mark.parametrize("prior", ["1e-100", "1", "1e100"])
def test_the_longest_tables_are_fine_for_the_smallest_and_the_largest_prior(prior: str) -> None:
    assert GapTable(Fraction(prior), limits.DRAWN_RECORDS).is_fine


@given(st.sampled_from([2, 3, 5]), st.data())
@settings(max_examples=80, deadline=None)
def test_sensitivities_from_tables_keep_their_bound(k: int, data: st.DataObject) -> None:
    prior = data.draw(st.lists(st.sampled_from(["1", "0.5", "1e-6", "30", "1e5"]), min_size=k, max_size=k))
    counts = tuple(data.draw(st.lists(st.integers(0, 12), min_size=k, max_size=k).filter(any)))
    tables = listing(tuple(Fraction(a) for a in prior), sum(counts)).tables if sum(counts) else ()
    gamma = data.draw(st.sampled_from(["0.001", "1", "50"]))
    for mechanism in (
        dc.HellingerSmooth(dc.Dirichlet(prior), sum(counts), 1, gamma),
        dc.HellingerLocal(dc.Dirichlet(prior), sum(counts), 1),
    ):
        true = refine(lambda m=mechanism: m._sensitivity_ball(np.array(counts)), 100)  # type: ignore[misc]
        assert abs(float(arb(mechanism._near_sensitivity(tables, counts)) / true - 1)) < TABLED_ERROR


def test_the_bounds_add_up_to_less_than_a_unit() -> None:
    """The errors of rate, distance and exponential, as docs/proofs/exactness.md adds them: the weight is off by less than 2^-46."""
    k, rounding = limits.DRAWN_CATEGORIES, 2.0**-53
    assert TABLED_ERROR + 3 * rounding <= RATE_ERROR
    divergence = FINE_ERROR + k * rounding
    distance = 0.5 * (divergence + FALL_ERROR) + 2 * rounding
    exponent = RATE_ERROR + distance + 2 * rounding
    assert 0.37 * exponent + DECAY_ERROR < 2.0**-SCALE
