"""The law of the total of all other groups, for every group, without a convolution for each (docs/proofs/inference.md, "Many groups at
once").

Under a tilt that gives all groups together the public total N on average, the law of the total of all but one is a sum over frequencies,

    P(Σ_{h ≠ g} U_h = m)  =  1/L Σ_j Φ(ω_j)/φ_g(ω_j) e^{-i ω_j m} ,    Φ = Π_h φ_h ,  ω_j = 2πj/L ,

for any period L that the total does not leave. The more groups there are, the faster Φ falls, so that few frequencies are left. What the
others add up to at most is known: with `q_d = Σ_u min(V(u), V(u + d))`, the mass of a law that can be paired at distance d,
`|φ(ω)| <= 1 - q_d (1 - |cos(dω/2)|)`, so that `|Φ(ω)| <= exp(-(1 - |cos(dω/2)|) Σ_g q_d)` for every d.
"""

from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.numerics.transforms import Spectra, conjugates, fast_length, laws, rows_times, spectra

_PERIOD_DEPTH = 36.0
"""The depth, in logarithms, to which the law of the total lies within a period."""
_DISTANCES = 2 ** np.arange(9)
_LEAVE_ONE_OUT_RATES = np.geomspace(1e-4, 0.6, 24)
_NEGLIGIBLE = 1e-19
"""The sum of the frequencies that may be left out, relative to the largest probability of a total."""
_TINY = 1e-280
_FREQUENCY_ROUNDING = 1e-15
_TURN = 8
"""The cost of a number of a matrix of turns, against that of one law and one place of it."""


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of some groups to the law of the total: sums over groups, so that those of several blocks can be added."""

    centre: int
    """The sum of the middles of their windows."""
    mean: float
    variance: float
    above: Floats
    """Sums of ln E e^{δ(U - middle)} for several rates δ, and of ln E e^{-δ(U - middle)}."""
    below: Floats
    overlap: Floats
    """Sums of the mass that can be paired at several distances."""

    def __add__(self, other: "Contributions") -> "Contributions":
        names = ("centre", "mean", "variance", "above", "below", "overlap")
        return Contributions(*(getattr(self, name) + getattr(other, name) for name in names))


def rates(slope: float) -> Floats:
    """The rates with which totals are bounded where noise falls with this slope."""
    return np.asarray(slope * _LEAVE_ONE_OUT_RATES)


def contributions(law: Floats, first: Counts, multiplicity: Counts, slope: float) -> Contributions:
    """Return the contributions of laws on windows of one width that begin at `first`, each for so many groups."""
    width = law.shape[1]
    middle = width // 2
    away = np.arange(width, dtype=np.float64) - middle
    many = multiplicity.astype(np.float64)
    mean, square = law @ away, law @ (away * away)
    bounded = np.minimum(rates(slope), 600.0 / max(middle, 1))
    above, below = (many @ np.log(rows_times(law, np.exp(sign * away[:, None] * bounded))) for sign in (1.0, -1.0))
    overlap = [float(many @ np.minimum(law[:, d:], law[:, :-d]).sum(axis=1)) if d < width else 0.0 for d in _DISTANCES.tolist()]
    centre = int((multiplicity * (first + middle)).sum())
    return Contributions(centre, centre + float(many @ mean), float(many @ (square - mean**2)), above, below, np.array(overlap))


def check_period(period: int) -> None:
    """Refuse a total of all groups that has more likely values than are held."""
    if period > limits.TOTAL_PERIOD:
        raise TooLargeError(
            f"the noise spreads the total of all groups over {period:,} values; at most {limits.TOTAL_PERIOD:,} are held. "
            "Less noise (a larger epsilon) needs fewer"
        )


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The frequencies at which transforms are taken, and what the others could change in a probability."""

    period: int
    count: int
    error: float

    @staticmethod
    def of(found: Contributions, total: int, slope: float, span: int) -> "Frequencies":
        """A period that the total does not leave, and all frequencies that matter; `span` is how many values it has at most."""
        rate = rates(slope)
        shift = rate * float(found.centre - total)
        bound = np.maximum(found.above + shift, found.below - shift)
        period = min(int(np.ceil(((bound + _PERIOD_DEPTH) / rate).clip(1.0).min())) + 1, span)
        period = fast_length(period)
        check_period(period)
        omega = 2.0 * np.pi / period * np.arange(period // 2 + 1)
        log_size = np.zeros_like(omega)
        for distance, mass in zip(_DISTANCES.tolist(), found.overlap.tolist(), strict=True):
            log_size = np.minimum(log_size, -max(mass - 1.0, 0.0) * (1.0 - np.abs(np.cos(0.5 * distance * omega))))
        left = 2.0 / period * np.cumsum(np.exp(log_size)[::-1])[::-1]
        peak = 1.0 / np.sqrt(2.0 * np.pi * max(found.variance, 1.0))
        count = max(int((left > _NEGLIGIBLE * peak).sum()), 1)
        return Frequencies(period, count, float(left[count]) if count < len(left) else 0.0)

    @property
    def omega(self) -> Floats:
        return np.asarray(2.0 * np.pi / self.period * np.arange(self.count))

    @property
    def weights(self) -> Floats:
        """The weight of each frequency: all but the first, and but the last of an even period, stand for their negatives too."""
        return np.asarray(conjugates(self.period)[: self.count] / self.period)

    def _few(self, laws: int, width: int) -> bool:
        """Return whether a matrix of all places of a window by all frequencies is made; else a transform has all frequencies of each law.

        A matrix takes some time for each of its numbers, and a little more for each law; a transform a little for each step.
        """
        matrix = width * self.count
        return matrix <= limits.TURN_CELLS and matrix * (_TURN + laws) <= laws * self.period * log2(2 * self.period)

    def _places(self, width: int) -> NDArray[np.int64]:
        """The places of a window about its middle, within the period."""
        return np.asarray((np.arange(width) - width // 2) % self.period)

    def _turns(self, width: int) -> Spectra:
        away = np.arange(width) - width // 2
        return np.asarray(np.exp(2j * np.pi / self.period * ((away[:, None] * np.arange(self.count)) % self.period)))

    def log_spectra(self, law: Floats) -> Spectra:
        """ln φ of each law, about the middle of its window."""
        width = law.shape[1]
        if self._few(*law.shape):
            turns = self._turns(width)
            found = rows_times(law, turns.real) + 1j * rows_times(law, turns.imag)
        else:
            places = self._places(width)
            folded = (np.asarray(np.bincount(places, row, self.period), dtype=np.float64) for row in law)
            found = np.stack([spectra(row, self.period)[: self.count].conj() for row in folded])
        return np.asarray(np.log(np.where(np.abs(found) > _TINY, found, _TINY)))

    def others(self, law: Floats, log_whole: Spectra, offset: int) -> Floats:
        """Return for each law and place u of its window, the probability that all other groups add up to the total less u.

        `log_whole` is the sum of all groups' `log_spectra`, and `offset` the total less the sum of their middles.
        """
        places = (offset % self.period) * np.arange(self.count) % self.period
        turn = np.exp(-2j * np.pi / self.period * places)
        rest = np.exp(log_whole - self.log_spectra(law)) * turn
        if not self._few(*law.shape):
            places = self._places(law.shape[1])
            return np.stack([np.maximum(laws(row, self.period)[places], 0.0) for row in rest])
        rest *= self.weights
        turns = self._turns(law.shape[1]).T
        return np.asarray(np.maximum(rows_times(rest.real, turns.real) - rows_times(rest.imag, turns.imag), 0.0))


def relative_error(frequencies: Frequencies, completion: Floats) -> Floats:
    """Bound the change by the period, the frequencies left out and rounding, where the total has these probabilities."""
    wrong = frequencies.error + 2.0 * float(np.exp(-_PERIOD_DEPTH)) + 1e-16
    with np.errstate(divide="ignore"):
        found = _FREQUENCY_ROUNDING * (8.0 + frequencies.count) + wrong / np.maximum(completion, 0.0)
    return np.minimum(found, 1.0)
