"""Tilts of many groups. Oracle: the moments of every count by sums over all counts.

A tilt that is off changes where windows lie and no probability, so what follows from it is right either way, and takes more counts.
"""

import numpy as np
import pytest
from scipy.special import digamma, gammaln, polygamma

from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import GroupCells, RiseTable, balanced_tilts, matched_tilts
from discreet.counts.factors import Kernel
from discreet.numerics.roots import CLOSE

TOP = 12_000
COARSE = 1.02
"""Windows without the last e^-12 of each count: the moments are this much off at most."""


def cells_of(a: Floats, z: Counts, slope: float) -> GroupCells:
    return GroupCells(z, a, Kernel(slope), np.full(z.shape, TOP), RiseTable(a, TOP))


def moments(cells: GroupCells, tilt: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of the total of each group under its tilt."""
    x = np.arange(TOP + 1.0)
    a, z = cells.a[..., None], cells.z[..., None]
    log_weight = gammaln(a + x) - gammaln(x + 1.0) - cells.slope * np.abs(x - z) + tilt[:, None, None] * x
    law = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    law /= law.sum(axis=-1, keepdims=True)
    mean = law @ x
    variance = (law * (x - mean[..., None]) ** 2).sum(axis=-1)
    return mean.sum(axis=1), np.sqrt(variance.sum(axis=1))


def strong_prior(total: int, slope: float) -> GroupCells:
    """Groups of two cells with this prior in all, whose noisy shares are far from the prior's."""
    first = total * np.array([0.05, 0.5, 0.95])
    return cells_of(np.stack([first, total - first], axis=1), np.array([[3000, 100], [2000, 300], [150, 2500]]), slope)


@pytest.mark.parametrize(("total", "slope"), [(500, 0.02), (500, 0.05), (5000, 0.2), (5000, 0.5)])
def test_a_matched_tilt_is_the_slope_of_the_weight_at_the_mean_that_it_gives(total: int, slope: float) -> None:
    """To a half of one over the standard deviation; the slope at the noisy total, where the search begins, is several times as far off."""
    cells = strong_prior(total, slope)

    def log_slope(n: Floats, _: Counts) -> tuple[Floats, Floats]:
        """That of n!/Γ(A + n), and its derivative."""
        return digamma(n + 1.0) - digamma(total + n), polygamma(1, n + 1.0) - polygamma(1, total + n)

    def wrong(tilt: Floats) -> Floats:
        mean, deviation = moments(cells, tilt)
        assert (mean > 6.0 * deviation).all()
        return np.abs(tilt - log_slope(mean, np.arange(3))[0]) * deviation

    assert wrong(matched_tilts(cells, log_slope)).max() <= COARSE * CLOSE
    assert wrong(log_slope(cells.z.sum(axis=1).astype(np.float64), np.arange(3))[0]).max() > 2.0 * CLOSE


@pytest.mark.parametrize(("total", "slope"), [(2, 0.05), (500, 0.05), (5000, 0.5)])
@pytest.mark.parametrize("sizes", [(3100, 2300, 2650), (40, 9000, 700)])
def test_under_a_balanced_tilt_the_mean_total_is_the_size(total: int, slope: float, sizes: tuple[int, ...]) -> None:
    cells = strong_prior(total, slope)
    mean, deviation = moments(cells, balanced_tilts(cells, np.array(sizes)))
    assert (np.abs(mean - sizes) <= COARSE * CLOSE * deviation).all()
