"""The auditor refutes a broken mechanism, and accuses a sound one no more often than it says."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import binom

import discreet as dc
from discreet.analysis.audit import with_bits
from discreet.mechanisms.base import Mechanism
from discreet.sampling import CountedBits, SeededBits
from tests.sampling.loop_samplers import LoopHistogram, LoopLattice
from tests.support import Integers

NEIGHBOURS = ([50, 50], [51, 49])


def draws(mechanism: Mechanism, rng: np.random.Generator, counts: ArrayLike, size: int) -> Integers:
    return mechanism._simulate_raw(np.asarray(counts), size, rng)


def lattice(epsilon: int) -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Beta(1, 1), 100, epsilon)


def test_halved_noise_is_caught() -> None:
    """LatticeGeometric at twice the ε is the mechanism with its noise scale halved."""
    broken = dc.audit(partial(draws, lattice(2), np.random.default_rng(1)), *NEIGHBOURS, draws=100_000)
    assert broken.refutes(1.0)
    assert 1.8 < broken.epsilon <= 2.0


def test_false_alarms_are_as_rare_as_stated() -> None:
    """200 seeds at confidence 0.9: more than 30 false alarms would happen to a sound auditor once in 10^4 times at the most."""
    claimed, seeds, confidence = 1.0, 200, 0.9
    alarms = 0
    for seed in range(seeds):
        found = dc.audit(partial(draws, lattice(1), np.random.default_rng(seed)), *NEIGHBOURS, draws=2_000, confidence=confidence)
        alarms += found.refutes(claimed)
    assert alarms <= binom.ppf(1 - 1e-4, seeds, 1 - confidence)


def test_it_comes_close_to_the_true_loss_of_a_sound_mechanism() -> None:
    found = dc.audit(partial(draws, lattice(1), np.random.default_rng(3)), *NEIGHBOURS, draws=100_000)
    assert 0.9 < found.epsilon <= 1.0


def test_any_callable_can_be_audited() -> None:
    """Randomised response that tells the truth three times in four has ε = ln 3."""
    rng = np.random.default_rng(5)

    def respond(counts: ArrayLike, size: int) -> Integers:
        truth = int(np.asarray(counts)[0])
        return np.where(rng.random(size) < 0.75, truth, 1 - truth)

    found = dc.audit(respond, [1, 0], [0, 1], draws=50_000)
    assert np.log(3) - 0.1 < found.epsilon <= np.log(3)


def test_a_delta_is_allowed_for() -> None:
    rng = np.random.default_rng(6)

    def leaky(counts: ArrayLike, size: int) -> Integers:
        """Tells everything with probability 0.01, and nothing otherwise: (0, 0.01)-private."""
        return np.where(rng.random(size) < 0.01, 1 + int(np.asarray(counts)[0]), 0)

    assert dc.audit(leaky, [1, 0], [0, 1], draws=50_000).epsilon > 1.0
    assert dc.audit(leaky, [1, 0], [0, 1], draws=50_000, delta=0.01).epsilon == 0.0


# --- outcome and bits ---------------------------------------------------------------------------------------------------


HALF = (dc.Beta(1, 1), 100, "0.5")
BY_LOOPS = {"LaplaceHistogram": LoopHistogram(*HALF), "LatticeGeometric": LoopLattice(dc.Beta(1, 1), 100, 1)}
"""Positive control: loops take more turns, and so more bits, the larger the noise is."""

BY_INVERSION = {
    "LatticeGeometric": lattice(1),
    "LatticeGeometric, small epsilon": dc.LatticeGeometric(dc.Beta(1, 1), 100, "0.01"),
    "LaplaceHistogram": dc.LaplaceHistogram(*HALF),
    "LaplaceHistogram, nearest": dc.LaplaceHistogram(*HALF, rounding="nearest"),
    "LaplaceDimension": dc.LaplaceDimension(*HALF),
    "LaplaceZhang": dc.LaplaceZhang(*HALF),
}


@pytest.mark.parametrize("name", BY_LOOPS)
def test_the_bits_of_a_loop_give_the_noise_away_and_the_auditor_finds_it(name: str) -> None:
    mechanism = BY_LOOPS[name]
    draw = with_bits(mechanism, SeededBits(1))

    def outcome(counts: ArrayLike, size: int) -> Integers:
        return np.asarray(draw(counts, size))[:, :-1]

    assert not dc.audit(outcome, *NEIGHBOURS, draws=3000).refutes(float(mechanism.epsilon))
    assert dc.audit(draw, *NEIGHBOURS, draws=3000).epsilon > 2.0 * float(mechanism.epsilon)


@pytest.mark.parametrize("name", BY_INVERSION)
def test_the_bits_of_an_inversion_are_as_many_for_any_noise(name: str) -> None:
    mechanism = BY_INVERSION[name]
    rows = [np.asarray(with_bits(mechanism, SeededBits(1))(counts, 500)) for counts in NEIGHBOURS]
    assert len({*rows[0][:, -1], *rows[1][:, -1]}) == 1
    assert not dc.audit(with_bits(mechanism, SeededBits(2)), *NEIGHBOURS, draws=3000).refutes(float(mechanism.epsilon))


def test_the_bits_of_attempts_do_not_give_the_kept_one_away() -> None:
    """Three categories: how many attempts there were is seen, and says nothing about the noise that was kept."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1] * 3), 90, 1)
    draw = with_bits(mechanism, SeededBits(3))
    assert len(np.unique(np.asarray(draw([30, 30, 30], 200))[:, -1])) > 2
    assert not dc.audit(draw, [30, 30, 30], [31, 29, 30], draws=5000).refutes(1.0)


def test_bits_are_counted_and_passed_on() -> None:
    counted, plain = CountedBits(SeededBits(3)), SeededBits(3)
    assert [counted.bits(7), counted.bits(64)] == [plain.bits(7), plain.bits(64)]
    assert counted.taken == 71
    assert counted.secret is False


def test_a_mechanism_itself_is_no_function_to_draw_with() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"mechanism\.simulate.*LatticeGeometric"):
        dc.audit(dc.LatticeGeometric(dc.Beta(1, 1), 5, 1), *NEIGHBOURS)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"confidence": 1.0}, {"confidence": 0.0}, {"delta": 1.0}, {"draws": 0}])
def test_bad_options_are_named(options: dict[str, float]) -> None:
    with pytest.raises(dc.InvalidInputError, match=next(iter(options))):
        dc.audit(lambda _counts, size: np.zeros(size), *NEIGHBOURS, **options)  # type: ignore[arg-type]
