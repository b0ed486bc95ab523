"""The auditor of outcome and time, by made-up times: it finds a clock that tells the noise, and nothing where there is nothing."""

import numpy as np
import pytest
from benchmarks.clock import Drawn, audited

SIZE = 150_000


def drawn(count: int, rng: np.random.Generator, epsilon: float, slower: float) -> Drawn:
    """Two-sided geometric noise on a count. Time is normal, and noise below -4, which is no integer kept ready, takes longer."""
    stop = -np.expm1(-epsilon)
    noise = rng.geometric(stop, SIZE) - rng.geometric(stop, SIZE)
    times = rng.normal(11_500.0, 150.0, SIZE) + slower * (noise < -4)
    return count + noise, times.astype(np.int64)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_clock_that_tells_the_noise_is_found(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    assert audited(drawn(60, rng, epsilon, 400.0), drawn(59, rng, epsilon, 400.0)) > epsilon + 0.3


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_clock_that_tells_nothing_refutes_nothing_and_the_outcome_alone_is_nearly_found(epsilon: float) -> None:
    rng = np.random.default_rng(2)
    assert 0.85 * epsilon < audited(drawn(60, rng, epsilon, 0.0), drawn(59, rng, epsilon, 0.0)) < epsilon


@pytest.mark.parametrize("slower", [0.0, 400.0])
def test_in_the_same_data_nothing_is_found(slower: float) -> None:
    rng = np.random.default_rng(3)
    assert audited(drawn(60, rng, 1.0, slower), drawn(60, rng, 1.0, slower)) < 0.0


def test_the_half_that_chooses_does_not_test() -> None:
    """A difference that only the first half of the draws has chooses an event, and is not found."""
    rng = np.random.default_rng(4)
    first, second = drawn(60, rng, 1.0, 0.0), drawn(60, rng, 1.0, 0.0)
    first[1][: SIZE // 2][first[0][: SIZE // 2] == 58] -= 5000
    assert audited(first, second) < 0.2
