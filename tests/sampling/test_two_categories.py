"""Two categories: exact draws at any n. Oracle: the whole law by brute force, or for large n its window around the data."""

from collections.abc import Iterator
from fractions import Fraction
from math import exp

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.numerics.balls import ball
from discreet.sampling import candidates as module
from discreet.sampling.bits import ladder
from discreet.sampling.candidates import Envelope
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, World, draws
from tests.support import mostly_slow, reference_hellinger

QUICK = [
    World(("1", "1"), (3, 7), "1", "smooth"),
    World(("1", "1"), (40, 20), "0.05", "smooth"),
    World(("0.01", "0.01"), (0, 5), "20", "global"),
    World(("100", "0.5"), (6, 6), "5", "local"),
    World(("0.01", "100"), (2, 9), "20", "smooth"),
    World(("0.5", "0.5"), (25, 25), "20", "smooth"),
    World(("100", "100"), (30, 10), "20", "global"),
    World(("1", "1"), (60, 40), "10", "local"),
]
SLOW = [
    World((a, b), counts, epsilon, mechanism)
    for a, b in [("0.01", "1"), ("0.1", "100"), ("1", "1"), ("10", "3")]
    for counts in [(0, 30), (12, 9)]
    for epsilon, mechanism in [("0.05", "global"), ("1", "local"), ("5", "smooth"), ("20", "smooth"), ("20", "local")]
]


def _check(world: World, size: int) -> bool:
    law = world.law()
    assert law.p_value(draws(Envelope(world.exact_prior, world.counts, world.ball), size, seed=1)) > FALSE_ALARM
    powerful = law.power(world.law(WRONG), size) > POWER
    if powerful:
        assert law.p_value(draws(Envelope(world.exact_prior, world.counts, world.wrong_ball), size, seed=2)) < FALSE_ALARM
    return powerful


@pytest.mark.parametrize("world", mostly_slow(QUICK, 4), ids=str)
def test_draws_fit_the_law_and_not_a_rate_ten_percent_off(world: World) -> None:
    _check(world, 30_000)


def test_the_test_has_power_in_several_worlds() -> None:
    assert sum(world.law().power(world.law(WRONG), 30_000) > POWER for world in QUICK) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("world", SLOW[::6], ids=str)
def test_many_draws_fit_the_law_and_not_a_rate_ten_percent_off(world: World) -> None:
    _check(world, 60_000)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12, 2**53])
def test_large_totals_have_the_law_of_their_window(n: int) -> None:
    """At ε = 1 nearly all the mass is within a few records of the data, where high-precision distances give the law."""
    prior, x = (Fraction(1, 2), Fraction("0.3")), n // 3
    step = reference_hellinger([prior[0] + x, prior[1] + n - x], [prior[0] + x + 1, prior[1] + n - x - 1])
    rate = Fraction(str(float(1 / step)))
    weight = {
        r: exp(-float(rate) * float(reference_hellinger([prior[0] + x, prior[1] + n - x], [prior[0] + r, prior[1] + n - r])))
        if r != x
        else 1.0
        for r in range(x - 40, x + 41)
    }
    law = Law({(r, n - r): w / sum(weight.values()) for r, w in weight.items()})
    sampler = Envelope(prior, (x, n - x), lambda: ball(rate))
    assert len(sampler._blocks) < 30
    assert law.p_value(draws(sampler, 6000, seed=3)) > FALSE_ALARM
    assert law.p_value(draws(Envelope(prior, (x, n - x), lambda: ball(rate * WRONG)), 6000, seed=3)) < FALSE_ALARM


# --- structure --------------------------------------------------------------------------------------------------------

PARAMETERS = st.sampled_from([Fraction(s) for s in ("0.01", "0.3", "1", "7/3", "100")])
RATES = st.sampled_from([Fraction(s) for s in ("0.001", "0.3", "1", "4", "30", "1000")])


@settings(max_examples=60)
@given(st.tuples(PARAMETERS, PARAMETERS), st.integers(0, 60), st.integers(0, 60), RATES)
def test_blocks_cover_every_candidate_once_and_bound_its_weight(prior: tuple[Fraction, Fraction], x: int, y: int, rate: Fraction) -> None:
    if x + y == 0:
        return
    sampler = Envelope(prior, (x, y), lambda: ball(rate))
    covered = []
    with ctx.workprec(200):
        total = arb(0)
        for block in sampler._blocks:
            for distance in range(block.start, block.start + block.size):
                position = x + block.side * distance
                covered.append(position)
                weight = sampler.weight(position)
                assert weight <= arb(block.bound) / arb(2) ** sampler._scale
                total += weight
        acceptance = total * arb(2) ** sampler._scale / sampler._bound
    assert sorted(covered) == list(range(x + y + 1))
    assert acceptance >= 0.5


@settings(max_examples=60)
@given(st.tuples(PARAMETERS, PARAMETERS), st.integers(1, 10**12), st.integers(0, 10**12), RATES)
def test_the_weight_is_that_of_the_definition(prior: tuple[Fraction, Fraction], n: int, part: int, rate: Fraction) -> None:
    x, r = part % (n + 1), part * 7 % (n + 1)
    with ctx.workprec(256):
        weight = Envelope(prior, (x, n - x), lambda: ball(rate)).weight(r)
        distance = arb(0) if r == x else reference_hellinger([prior[0] + x, prior[1] + n - x], [prior[0] + r, prior[1] + n - r])
        reference = (-ball(rate) * distance).exp()
    assert weight.overlaps(reference)
    assert weight.rel_accuracy_bits() > 64


@pytest.mark.parametrize("n", [10**3, 10**6, 10**12])
@pytest.mark.parametrize("rate", ["0.0001", "1", "50", "10000"])
def test_the_number_of_blocks_grows_like_the_logarithm_at_most(n: int, rate: str) -> None:
    sampler = Envelope((Fraction(1), Fraction(1)), (n // 2, n - n // 2), lambda: ball(Fraction(rate)))
    assert len(sampler._blocks) <= 2 * n.bit_length() + 1


def test_wide_first_enclosures_change_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten bits of precision decide next to nothing: everything is left to the enclosures after them."""
    world = QUICK[0]
    expected = draws(Envelope(world.exact_prior, world.counts, world.ball), 500, seed=4)
    refined = []

    def wide(compute: object, precision: int) -> Iterator[arb]:
        yield arb("0.5", "0.5")
        refined.append(precision)
        yield from ladder(compute, 10)  # type: ignore[arg-type]

    sampler = Envelope(world.exact_prior, world.counts, world.ball)
    monkeypatch.setattr(module, "ladder", wide)
    assert draws(sampler, 500, seed=4) == expected
    assert len(refined) >= 500


def test_the_law_is_right_when_bounds_too_come_from_low_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ladder", lambda compute, _: ladder(compute, 16))
    world = QUICK[5]
    assert world.law().p_value(draws(Envelope(world.exact_prior, world.counts, world.ball), 8000, seed=5)) > FALSE_ALARM


def test_one_record() -> None:
    world = World(("1", "2"), (1, 0), "1", "global")
    assert world.law().p_value(draws(Envelope(world.exact_prior, world.counts, world.ball), 3000, seed=6)) > FALSE_ALARM
