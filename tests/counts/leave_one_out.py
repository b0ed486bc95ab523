"""The law of the total of all groups but one, from the parts that summaries of tables use: what tests compare with convolutions."""

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.counts.batched.leave_one_out import Contributions, Frequencies, contributions, relative_error
from discreet.numerics.roots import balancing_tilt


def leave_one_out(log_weight: Floats, first: Counts, total: int, slope: float) -> tuple[Floats, float]:
    """For every group and every u of its window, ln Σ Π_h V_h(u_h) over all u_h of the other groups that add up to `total` less u.

    Args:
        log_weight: ln V of every group, on windows of one width; -inf for no weight.
        first: The first u of each window.
        total: What all groups add up to.
        slope: How fast the laws fall at most, nearly: with what rates totals are bounded.

    Returns:
        The logarithms, up to one constant for each group, -inf where there is nothing; and a bound on how far the law of a group's u
        that follows from them can be off, in probability.
    """
    u = first[:, None] + np.arange(log_weight.shape[1])
    once = np.ones(len(first), dtype=np.int64)

    def tilted(tilt: float) -> tuple[float, float, tuple[Floats, Contributions]]:
        law = _normalised(log_weight + tilt * (u - first[:, None]))
        found = contributions(law, first, once, slope)
        return found.mean, found.variance, (law, found)

    tilt, (law, found) = balancing_tilt(tilted, total, longest=8.0 * slope)
    lowest = int(first.sum())
    highest = lowest + len(first) * (log_weight.shape[1] - 1)
    frequencies = Frequencies.of(found, total, slope, max(highest, total) - min(lowest, total) + 1)
    log_whole = frequencies.log_spectra(law).sum(axis=0)
    others = frequencies.others(law, log_whole, total - found.centre)
    error = float(relative_error(frequencies, (law * others).sum(axis=1)).max())
    with np.errstate(divide="ignore"):
        return np.log(others) + tilt * u, error


def _normalised(log_law: Floats) -> Floats:
    law = np.exp(log_law - log_law.max(axis=1, keepdims=True))
    return np.asarray(law / law.sum(axis=1, keepdims=True))
