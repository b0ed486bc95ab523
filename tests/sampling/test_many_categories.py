"""Three categories or more: exact draws without a list of candidates. Oracle: the whole law by brute force."""

from fractions import Fraction
from itertools import chain
from math import ceil

import numpy as np
import pytest
from flint import arb, ctx, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import InternalError, TooLargeError
from discreet.mechanisms.hellinger import Exponential
from discreet.mechanisms.proposals import good_weights
from discreet.numerics.balls import ball, gap_ball
from discreet.sampling import SeededBits
from discreet.sampling import many_categories as module
from discreet.sampling.bits import ladder
from discreet.sampling.domination import CONSTANT_DEPTH, MOST_EXCESS, Target, certify, plan, slowest_powers
from discreet.sampling.many_categories import Mixture, _leaves, _Table, affinities
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, World, draws
from tests.support import lattice, mostly_slow, reference_hellinger

ONES = ("1", "1", "1")
QUICK = [
    World(ONES, (3, 2, 1), "1", "smooth"),
    World(("0.01", "1", "100"), (0, 4, 1), "20", "global"),
    World(("0.5", "0.5", "0.5"), (4, 4, 4), "20", "smooth"),
    World(("100", "100", "100"), (5, 0, 1), "5", "local"),
    World(ONES, (2, 2, 2), "0.05", "global"),
    World(ONES, (10, 5, 5), "20", "local"),
    World(("1", "1", "1", "1"), (2, 1, 1, 0), "5", "smooth"),
    World(("0.01", "0.1", "10", "100"), (1, 1, 1, 1), "20", "smooth"),
    World(("1", "1", "1", "1"), (3, 3, 3, 2), "20", "smooth"),
]
CUT = [
    World(ONES, (14, 12, 10), "20", "smooth"),
    World(("1", "0.01", "1", "1"), (7, 0, 5, 2), "40", "smooth"),
    World(ONES, (0, 36, 0), "5", "smooth"),
]
"""Worlds in which the tables of the higher powers end long before the range does."""
SLOW = [
    World(prior, counts, epsilon, mechanism)
    for prior, counts in [
        (("0.01", "0.01", "0.01"), (5, 1, 0)),
        (("1", "2", "3"), (7, 7, 6)),
        (("100", "0.1", "5"), (2, 6, 4)),
        (("0.5", "0.5", "0.5", "0.5"), (3, 2, 2, 1)),
        (("0.01", "100", "1", "10"), (4, 0, 2, 0)),
    ]
    for epsilon, mechanism in [("0.05", "local"), ("1", "global"), ("5", "smooth"), ("20", "smooth"), ("20", "local")]
]


def _sampler(world: World) -> Mixture:
    return Mixture(world.exact_prior, world.counts, world.ball, good_weights)


def _check(world: World, size: int) -> bool:
    law = world.law()
    assert law.p_value(draws(_sampler(world), size, seed=1)) > FALSE_ALARM
    powerful = law.power(world.law(WRONG), size) > POWER
    if powerful:
        assert law.p_value(draws(Mixture(world.exact_prior, world.counts, world.wrong_ball, good_weights), size, seed=2)) < FALSE_ALARM
    return powerful


@pytest.mark.parametrize("world", mostly_slow(QUICK, 1) + mostly_slow(CUT, 1), ids=str)
def test_draws_fit_the_law_and_not_a_rate_ten_percent_off(world: World) -> None:
    _check(world, 15_000)


def test_the_test_has_power_in_several_worlds() -> None:
    assert sum(world.law().power(world.law(WRONG), 15_000) > POWER for world in QUICK) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("world", SLOW[::4], ids=str)
def test_many_draws_fit_the_law_and_not_a_rate_ten_percent_off(world: World) -> None:
    _check(world, 60_000)


# --- structure --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", QUICK + CUT + mostly_slow(SLOW, 5), ids=str)
def test_the_bound_is_above_the_weight_of_every_candidate(world: World) -> None:
    sampler = _sampler(world)
    with ctx.workprec(200):
        total, bound = arb(0), Fraction(0)
        for point in world.points:
            candidate = tuple(int(c) for c in point)
            weight = sampler.weight(candidate)
            assert weight <= ball(sampler.bound(candidate))
            total, bound = total + weight, bound + sampler.bound(candidate)
        claimed = sampler.total_bound
        assert bound <= claimed <= bound * (1 + Fraction(1, 2**20))  # the surplus that is drawn as "start again"
        assert total / ball(claimed) >= 0.9


@pytest.mark.slow
def test_tables_that_end_far_too_early_cost_acceptance_and_not_exactness(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no product form reaches is the uniform form's, whose weight must make up for it; without that the bound would be broken."""
    world = CUT[0]
    monkeypatch.setattr(module, "_CUT_BITS", 1 - world_bits(world))

    def broken() -> bool:
        sampler = _sampler(world)
        assert min(table.end - table.start for component in sampler._components for table in _leaves(component.root)) < 10
        with ctx.workprec(200):
            candidates = [tuple(int(c) for c in point) for point in world.points]
            return any(sampler.weight(candidate) > ball(sampler.bound(candidate)) for candidate in candidates)

    assert not broken()
    assert world.law().p_value(draws(_sampler(world), 2000, seed=3)) > FALSE_ALARM
    monkeypatch.setattr(_Table, "beyond", fmpz(0))
    assert broken()


@pytest.mark.parametrize("world", CUT, ids=str)
def test_the_tables_of_high_powers_end_before_the_range_does(world: World) -> None:
    leaves = [leaf for component in _sampler(world)._components for leaf in _leaves(component.root)]
    assert min(leaf.end - leaf.start for leaf in leaves) < sum(world.counts) // 2


def world_bits(world: World) -> int:
    """Bits of the number of candidates, which the depth of the tables is counted from."""
    return len(world.points).bit_length()


@pytest.mark.parametrize("counts", [(400_000, 350_000, 250_000), (600_000, 399_900, 100)], ids=str)
def test_a_million_records_fit_the_law_of_the_neighbourhood(counts: tuple[int, ...]) -> None:
    """Oracle: the weights by definition within 30 records, which hold all but a millionth of the mass."""
    prior, n = (Fraction(1),) * 3, sum(counts)
    with ctx.workprec(300):
        first, second, third = (a + x for a, x in zip(prior, counts, strict=True))
        rate = 2 / reference_hellinger([first, second, third], [first - 1, second + 1, third])
        wrong = rate * ball(WRONG)
    around = [
        (counts[0] + i, counts[1] + j, counts[2] - i - j)
        for i in range(-30, 31)
        for j in range(-30, 31)
        if min(counts[0] + i, counts[1] + j, counts[2] - i - j) >= 0
    ]
    sampler = Mixture(prior, counts, lambda: rate, good_weights)
    with ctx.workprec(300):
        weights = {r: float(sampler.weight(r)) for r in around}
    total = sum(weights.values())
    law = Law({r: w / total for r, w in weights.items()})
    found = draws(sampler, 4000, seed=2)
    assert all(sum(r) == n for r in found)
    assert law.p_value(found) > FALSE_ALARM
    assert law.p_value(draws(Mixture(prior, counts, lambda: wrong, good_weights), 4000, seed=2)) < FALSE_ALARM


@pytest.mark.parametrize(("prior", "rate"), [(("1e30", "1e30", "1e30"), "1e15"), (("1e100", "1e-9", "1e100"), "0.5")], ids=str)
def test_priors_whose_candidates_nearly_coincide_can_be_drawn_from(prior: tuple[str, ...], rate: str) -> None:
    sampler = Mixture(tuple(Fraction(a) for a in prior), (2, 1, 2), lambda: arb(rate), good_weights)
    with ctx.workprec(1500):
        for point in lattice(5, 3):
            candidate = tuple(int(c) for c in point)
            assert sampler.weight(candidate) <= ball(sampler.bound(candidate))
    assert len(set(draws(sampler, 100, seed=1))) > 10


def test_a_huge_rate_neither_fills_the_memory_nor_takes_long() -> None:
    sampler = _sampler(World(ONES, (3, 3, 4), "1e15", "global"))
    assert set(draws(sampler, 8_000, seed=0)) == {(3, 3, 4)}


PARAMETERS = st.sampled_from([Fraction(s) for s in ("1e-9", "0.01", "0.3", "1", "7/3", "100", "0.1234567890123")])


@settings(max_examples=60)
@given(PARAMETERS, st.integers(1, 40), st.integers(0, 40), st.integers(30, 150), st.floats(1e-6, 30.0))
def test_affinities_are_right_to_two_units_as_far_as_they_go(a: Fraction, n: int, x: int, bits: int, depth: float) -> None:
    x = min(x, n)
    table = affinities(a, x, n, bits, depth)
    assert table.start <= max(0, x - 1)
    assert table.end >= min(n, x + 1)
    with ctx.workprec(400):
        for r in range(n + 1):
            scaled = (-gap_ball(a + x, a + r)).exp() * arb(2) ** bits
            if table.start <= r <= table.end:
                assert arb(table[r]) - 2 <= scaled <= arb(table[r])
            else:
                assert table[r] == 0
                assert scaled <= arb(table.beyond)
                assert scaled <= arb(2) ** (bits - depth) * (1 + arb(2) ** -20)  # not cut before it was time
        for end, inner in ((table.start, table.start + 1), (table.end, table.end - 1)):
            if end not in (0, n) and abs(end - x) > 1:  # and not after it
                assert (-gap_ball(a + x, a + inner)).exp() >= arb(2) ** -depth / 2


@settings(max_examples=60)
@given(PARAMETERS, st.integers(1, 40), st.integers(0, 40), st.integers(0, 12), st.integers(0, 60))
def test_a_trimmed_table_keeps_the_data_and_bounds_what_it_lost(a: Fraction, n: int, x: int, doublings: int, cut: int) -> None:
    x, bits, negligible = min(x, n), 100, fmpz(1) << 100 - cut
    table = affinities(a, x, n, bits, 1e9)
    for _ in range(doublings):
        table = table.times(table, bits)
    trimmed = table.trimmed(negligible)
    assert trimmed[x] >= 1 << bits
    for r in range(n + 1):
        assert trimmed[r] in (0, table[r])
        if trimmed[r] == 0:
            assert table[r] <= trimmed.beyond <= negligible


@pytest.mark.parametrize("world", [QUICK[2], QUICK[8], CUT[1]], ids=str)
def test_every_node_claims_at_least_what_its_parts_hold(world: World) -> None:
    sampler = _sampler(world)
    n = sum(world.counts)
    for component in sampler._components:
        assert component.mass == component.root.coefficient(n)
        waiting = list(component.root.parts or ())
        while waiting:
            node = waiting.pop()
            assert min(node.mass) >= 1
            if node.parts:
                waiting += node.parts
                for records, mass in enumerate(node.mass, start=node.start):
                    held, claimed = node.coefficient(records), mass << sampler._bits
                    assert held <= claimed <= held + (1 << sampler._bits)


@pytest.mark.parametrize("world", QUICK, ids=str)
def test_the_weight_is_that_of_the_definition_and_so_is_the_first_enclosure(world: World) -> None:
    sampler = _sampler(world)
    posterior = [a + x for a, x in zip(world.exact_prior, world.counts, strict=True)]
    quickly = 0.0
    for point in world.points:
        candidate = tuple(int(c) for c in point)
        with ctx.workprec(256):
            other = [a + r for a, r in zip(world.exact_prior, candidate, strict=True)]
            distance = arb(0) if candidate == world.counts else reference_hellinger(posterior, other)
            reference = (-world.ball() * distance).exp()
            assert sampler.weight(candidate).overlaps(reference)
            quick = sampler._table_weight(candidate)
        assert quick.overlaps(reference)
        if quick.is_finite():  # the tables reach it
            assert quick.rel_accuracy_bits() > 20
            quickly += world.law().probability[candidate]
    assert quickly > 0.99


# --- the bound by exponentials ----------------------------------------------------------------------------------------


@st.composite
def targets(draw: st.DrawFn) -> Target:
    rate = draw(st.floats(1e-3, 1e3))
    nearest = 10.0 ** draw(st.floats(-8.0, 1.0))
    return plan(arb(rate), arb(nearest), draw(st.floats(0.1, 60.0)))


def _bounded(target: Target, weights: list[int], scale: int, divergence: arb) -> bool:
    with ctx.workprec(256):
        bound = sum((arb(w) * (-divergence * M).exp() for w, M in zip(weights, target.powers, strict=True)), arb(0))
        return bool((-target.rate * (-(-divergence).expm1()).sqrt()).exp() * arb(2) ** scale <= bound)


@settings(max_examples=60)
@given(targets(), st.data())
def test_the_exponentials_lie_above_the_target_whatever_weights_they_started_from(target: Target, data: st.DataObject) -> None:
    good = good_weights(target)
    poor = data.draw(st.lists(st.floats(-20.0, 5.0), min_size=len(target.powers), max_size=len(target.powers)))
    for start in (good, poor):
        weights = certify(target, start, 120)
        assert sum(weights) >= 1 << 120  # at D = 0
        for _ in range(8):
            share = data.draw(st.floats(0.0, 1.0))
            divergence = target.grid[0] * (200.0 / target.grid[0]) ** share if target.grid[0] < 200.0 else target.grid[0]
            assert _bounded(target, weights, 120, arb(max(divergence, target.grid[0])))


def test_the_certificate_needs_the_constant() -> None:
    target = plan(arb(2), arb("0.01"), 5.0)
    with pytest.raises(InternalError):
        certify(target, [float("-inf")] * len(target.powers), 64)


# --- the acceptance, for any data ---------------------------------------------------------------------------------------

HANGING = [
    (dc.HellingerGlobal(dc.Dirichlet([100] * 100), 30, 10), (30, *[0] * 99)),
    (dc.HellingerGlobal(dc.Dirichlet([100] * 40), 30, 10), (30, *[0] * 39)),
    (dc.HellingerSmooth(dc.Dirichlet([1000] * 20), 30, 10), (30, *[0] * 19)),
]
"""Attempts for these once succeeded with probabilities from 2^-14 to 2^-57: weights were chosen as if counts need not add up to n."""


@pytest.mark.parametrize(("mechanism", "counts"), HANGING, ids=["k = 100", "k = 40", "smooth"])
def test_attempts_succeed_for_counts_in_a_corner(mechanism: Exponential, counts: tuple[int, ...]) -> None:
    """Of 40 attempts that succeed with probability 0.8, fewer than 20 do so once in 10^5 times; the bits are fixed."""
    sampler, source = mechanism._sampler(counts), SeededBits(1)
    assert sum(sampler.attempt(source) is not None for _ in range(40)) >= 20


@pytest.mark.parametrize("world", QUICK + CUT + mostly_slow(SLOW, 5), ids=str)
def test_attempts_succeed_as_often_as_is_proved(world: World) -> None:
    sampler = _sampler(world)
    with ctx.workprec(200):
        total = sum((sampler.weight(tuple(int(c) for c in point)) for point in world.points), arb(0))
        assert total >= ball(sampler.least_acceptance * sampler.total_bound)


def _excess(target: Target, log_weights: list[float]) -> float:
    """The largest of Σ_M w_M e^{-MD} / max(g, e^-depth), with weights raised to where the sum is nowhere below g, on a grid of its own."""
    with ctx.workprec(200):
        scale = 200 + 2 * ceil(target.depth)  # weights are rounded up to whole units, which are far below e^-depth
        weights = certify(target, log_weights, scale)
        worst = arb(sum(weights)) * arb(2) ** -scale
        for divergence in np.geomspace(target.grid[0], max(60.0, 2 * target.grid[0]), 200).tolist():
            total = sum((arb(w) * (arb(-divergence) * M).exp() for w, M in zip(weights, target.powers, strict=True)), arb(0))
            g = (-target.rate * (-arb(-divergence).expm1()).sqrt()).exp().max(arb(-target.depth).exp())
            worst = worst.max(total * arb(2) ** -scale / g)
        return float(worst)


@settings(max_examples=40, deadline=None)
@given(st.floats(-3.0, 9.0), st.floats(-12.0, 1.0), st.floats(0.0, 3.0))
def test_no_rate_no_data_and_no_size_have_a_bound_that_is_far_above_the_weights(rate: float, nearest: float, depth: float) -> None:
    """Pointwise, so that it holds for every dataset. With the fit, and with the weights that are there when it fails."""
    target = plan(arb(10.0**rate), arb(10.0**nearest), 10.0**depth)
    assert _excess(target, good_weights(target)) <= MOST_EXCESS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.optimize.nnls", _failing)
        assert _excess(target, good_weights(target)) <= MOST_EXCESS


def test_a_bound_far_above_the_weights_is_found_out() -> None:
    """Without the powers in the middle the same weights are a thousand times too high."""
    target = plan(arb(200), arb("1e-4"), 60.0)
    kept = [power in (0, target.powers[-1]) for power in target.powers]
    assert _excess(target, [w if keep else float("-inf") for w, keep in zip(good_weights(target), kept, strict=True)]) > 1000 * MOST_EXCESS


@pytest.mark.parametrize("depth", [8.0, 40.0, 300.0, 1500.0])
def test_no_rate_needs_more_of_the_tables_than_the_slowest_powers_say(depth: float) -> None:
    """Tables grow with 1/sqrt(M) and a constant: both sums are at most those of the powers that the rule for refusals counts."""
    allowed = slowest_powers(depth)
    for exponent in np.linspace(-1.0, 12.0, 60):
        for nearest in (1e-12, 1e-6, 1e-2):
            needed = sorted(plan(arb(10.0**exponent), arb(nearest), depth - CONSTANT_DEPTH).sparse)[1:]
            assert len(needed) <= len(allowed) + 1
            assert sum(power**-0.5 for power in needed) <= sum(power**-0.5 for power in allowed) + 1.0


# --- enclosures, sizes ------------------------------------------------------------------------------------------------


def test_a_wide_first_enclosure_changes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    world = QUICK[2]
    expected = draws(_sampler(world), 500, seed=4)
    sampler = _sampler(world)
    exact: list[int] = []

    def counted(compute: object, precision: int) -> chain[arb]:
        exact.append(precision)
        return chain([arb("0.5", "0.5")], ladder(compute, 10))  # type: ignore[arg-type]

    monkeypatch.setattr(module, "ladder", counted)
    monkeypatch.setattr(sampler, "_table_weight", lambda _: arb("0.5", "0.5"))
    assert draws(sampler, 500, seed=4) == expected
    assert len(exact) >= 500


def test_a_first_enclosure_that_is_not_a_number_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    world = QUICK[0]
    expected = draws(_sampler(world), 200, seed=4)
    sampler = _sampler(world)
    monkeypatch.setattr(sampler, "_table_weight", lambda _: arb.nan())
    assert draws(sampler, 200, seed=4) == expected


def test_a_broken_bound_raises_instead_of_being_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = _sampler(QUICK[0])
    monkeypatch.setattr(sampler, "_bound_units", lambda _: 1)
    with pytest.raises(InternalError, match="nothing was released"):
        sampler.draw(SeededBits(0))


def test_many_categories_draw_candidates() -> None:
    counts = (400, 300, 200, 90, 10, 0, 0, 0, 0, 0)
    sampler = Mixture((Fraction(1, 2),) * 10, counts, lambda: ball(Fraction(30)), good_weights)
    for candidate in draws(sampler, 5, seed=1):
        assert sum(candidate) == 1000
        assert min(candidate) >= 0


@pytest.mark.parametrize("rate", [10**3, 10**4, 10**5, 10**7])
def test_a_law_that_is_nearly_one_point_is_proposed_as_such(rate: int) -> None:
    """All the mass is at the data, so what the proposal claims, in units of its weight, is the number of attempts per draw."""
    prior = tuple(Fraction(a) for a in ("0.3", "1e-9", "1", "1e-9", "0.3", "1"))
    sampler = Mixture(prior, (35, 153, 210, 124, 164, 343), lambda: ball(Fraction(rate)), good_weights)
    assert sampler.total_bound < Fraction(11, 10)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.HellingerSmooth(dc.Dirichlet.uniform(20), 100_000, 20),
        dc.HellingerGlobal(dc.Dirichlet([100] * 100), 1000, 50),
        dc.HellingerGlobal(dc.Dirichlet([1000] * 150), 300, 100),
    ],
    ids=lambda mechanism: f"k = {mechanism.k}, n = {mechanism.n}",
)
def test_attempts_succeed_also_with_many_categories(mechanism: Exponential) -> None:
    """There the far tail spans hundreds of orders of magnitude, and what is done about it must not cost the bulk."""
    counts, source = (mechanism.space.total // mechanism.k,) * mechanism.k, SeededBits(1)
    sampler = mechanism._sampler(counts)
    assert sum(sampler.attempt(source) is not None for _ in range(40)) >= 20


def _failing(*_: object) -> None:
    raise RuntimeError("too many iterations")


def test_a_fit_that_fails_costs_time_and_not_exactness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.optimize.nnls", _failing)
    for world in (QUICK[1], QUICK[2], QUICK[8]):
        assert world.law().p_value(draws(_sampler(world), 4000, seed=5)) > FALSE_ALARM


def test_what_does_not_fit_in_memory_is_refused_by_public_numbers_alone() -> None:
    for counts in ((10**9, 0, 0), (10**8, 10**8, 8 * 10**8)):
        with pytest.raises(TooLargeError) as caught:
            Mixture((Fraction(1),) * 3, counts, lambda: ball(Fraction(1)), good_weights)
        assert "n = 1000000000 " in str(caught.value)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(PARAMETERS, st.integers(0, 300)), min_size=3, max_size=9), st.floats(0.01, 100.0))
def test_no_dataset_needs_more_entries_than_the_rule_for_refusals_says(world: list[tuple[Fraction, int]], rate: float) -> None:
    prior, counts = tuple(a for a, _ in world), tuple(x for _, x in world)
    if not sum(counts):
        return
    held = 0
    with pytest.MonkeyPatch.context() as patch:
        build = module._tree

        def counted(tables: list[_Table], total: int, bits: int) -> object:
            nonlocal held
            tree = build(tables, total, bits)
            held += sum(len(node.mass) for node in _nodes(tree))
            return tree

        patch.setattr(module, "_tree", counted)
        sampler = Mixture(prior, counts, lambda: arb(rate), good_weights)
    held += sum(len(table.entries) for table in sampler._tables)
    assert held <= module.most_entries(prior, sum(counts))


def _nodes(node: module._Node) -> list[module._Node]:
    return [node, *chain.from_iterable(map(_nodes, node.parts or ()))]


def test_few_records() -> None:
    for world in (World(ONES, (1, 0, 0), "20", "global"), World(("1e-9", "1", "1"), (1, 1, 0), "1", "smooth")):
        assert world.law().p_value(draws(_sampler(world), 3000, seed=6)) > FALSE_ALARM
