"""Distributions of a number that two probabilities make: their difference, ratio and odds ratio."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit, ndtri

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.draws import Estimate, Rng, generator, seed_of, shortest_of_draws, standard_error
from discreet.inference.labelled import FieldsAlone
from discreet.model.dirichlet import equal_tailed
from discreet.numerics.roots import crossing
from discreet.text import chance, evenly, html_fields, html_table, plain
from discreet.validation import check_levels, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEP = 1e-15
"""The step of the search for quantiles, on the scale of the difference or of the logarithm of a ratio."""
_UNFOLLOWED = 1e-13
"""Differences of probabilities that a search does not follow."""
_LEAST_BELOW, _MOST_BELOW = 1e-300, 1.0 - 2.0**-53
"""Probabilities whose places among a normal variable's are finite."""
_STEPS_IN_HALF = 64.0
"""Steps of a density's differences in the middle half of the probability."""
_OUTSIDE_TABLE = 1e-9
"""Probability beyond either end of a table of quantiles."""
_FIRST_NODES, _FINEST_NODES, _NODE_HALVINGS = 33, 1.0 / 64, 12
"""Nodes of such a table, evenly spaced; what two of them have between them at most, unless so many halvings do not reach that."""
_DRAWN_STEPS = 16.0
"""Half of the steps of a density of draws in the middle half of them."""
_SHORTEST_PLACES = 4001
"""Places at which the shortest interval is looked for."""


@dataclass(frozen=True, eq=False)
class Quantity(FieldsAlone):
    """The distribution of one number that two probabilities make: their difference, ratio or odds ratio."""

    name: str
    below: Callable[[Floats], Floats]
    """The probabilities of being at most these; of a ratio's logarithm."""
    ends: tuple[float, float]
    """The ends between which quantiles lie; of a ratio, those of its logarithm."""
    moments: Callable[[], tuple[float, float]]
    """Mean and standard deviation, computed when they are asked for."""
    logarithmic: bool = True
    near: Callable[[Floats], tuple[Floats, Floats]] | None = None
    """Places close to the quantiles of some levels, on the scale of `below`, and the probabilities there by another rule; in a row each."""

    @cached_property
    def _known(self) -> tuple[float, float]:
        return self.moments()

    def mean(self) -> float:
        """Expected value. It is infinite if the denominator is so likely to be nearly 0 that there is none."""
        return self._known[0]

    def std(self) -> float:
        """Standard deviation; infinite where the mean or the variance is."""
        return self._known[1]

    def median(self) -> float:
        """The value that is as likely to be exceeded as not."""
        return float(self.ppf(0.5))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        points = np.asarray(x, dtype=np.float64)
        if np.isnan(points).any():
            raise InvalidInputError("x must be numbers, got NaN")
        return self._inside(points, np.array(points >= self.support[1], dtype=np.float64), self.below)

    def _inside(self, points: Floats, beyond: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """A function of places on the scale of `below`, for points inside of the support; what it is beyond is given."""
        inside = (points > self.support[0]) & (points < self.support[1])
        beyond[inside] = function(np.log(points[inside]) if self.logarithmic else points[inside])
        return beyond

    @property
    def support(self) -> tuple[float, float]:
        """The interval in which the number lies, whatever is known."""
        return (0.0, np.inf) if self.logarithmic else (-1.0, 1.0)

    @property
    def alike(self) -> float | None:
        """The value of the number where the two that make it are alike; None for a number that is not made of two."""
        return {"difference": 0.0, "ratio": 1.0, "odds ratio": 1.0}.get(self.name)

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x."""
        return 1.0 - self.cdf(x)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density, by differences of the distribution function: to about five digits of its largest value; 0 outside of the support."""
        points = np.asarray(x, dtype=np.float64)
        found = self._inside(points, np.zeros(points.shape), self._slope)
        return np.divide(found, points, out=found, where=found > 0.0) if self.logarithmic else found

    def _slope(self, y: Floats) -> Floats:
        """The derivative of `below`, by four values around each place that leave an error of the fourth order."""
        steps = np.array([[1.0], [-1.0], [2.0], [-2.0]]) * self._short
        up, down, far_up, far_down = self._inner((y + steps).ravel()).reshape(4, -1)
        return np.maximum(0.0, (8.0 * (up - down) - (far_up - far_down)) / (12.0 * self._short))

    def _inner(self, y: Floats) -> Floats:
        """`below` on the scale of the difference, or of a ratio's logarithm; a difference ends at -1 and 1."""
        return self.below(y) if self.logarithmic else self._inside(y, np.array(y >= 1.0, dtype=np.float64), self.below)

    @cached_property
    def _short(self) -> float:
        """A short way on that scale: a part of what the middle half of the probability lies in."""
        return (self._quantile(0.75) - self._quantile(0.25)) / _STEPS_IN_HALF

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the value with probability q at or below it."""
        levels = check_levels(q)
        return self._quantiles(levels, None if self.near is None else np.stack(self.near(_inside(levels)))[:, 0])

    def _quantiles(self, levels: Floats, near: Floats | None) -> Floats:
        """Quantiles, given places close to them and the probabilities there; where these are not the levels, they are computed."""
        flat = levels.ravel()
        guesses: list[float | None] = [None] * len(flat)
        if near is not None:
            places, found = near
            doubtful = (places > self.ends[0]) & (places < self.ends[1]) & ~(np.abs(found - flat) <= _UNFOLLOWED)
            if doubtful.any():
                found[doubtful] = self.below(places[doubtful])
            guesses = places.tolist()
            self._looked_at.update(zip(places.tolist(), found.tolist(), strict=True))
        inner = np.array([self._quantile(*each) for each in zip(flat.tolist(), guesses, strict=True)]).reshape(levels.shape)
        with np.errstate(over="ignore"):
            return np.exp(inner) if self.logarithmic else inner

    def _quantile(self, q: float, guess: float | None = None) -> float:
        if q in (0.0, 1.0):
            return (-np.inf if q == 0.0 else np.inf) if self.logarithmic else 2.0 * q - 1.0
        target = float(ndtri(q))

        def excess(x: float) -> float:
            """Return how far the probability is from q, on the scale of a normal variable's quantiles, where it is nearly a
            straight line.
            """
            if x not in self._looked_at:
                self._looked_at[x] = float(self.below(np.array([x]))[0])
            found = self._looked_at[x]
            return float(ndtri(np.clip(found, _LEAST_BELOW, _MOST_BELOW))) - target if abs(found - q) > _UNFOLLOWED else 0.0

        low, high = self.ends
        if guess is not None and low < guess < high and excess(guess) == 0.0:
            return guess
        if excess(low) >= 0.0:
            return low
        if excess(high) <= 0.0:
            return high
        low = max((x for x, found in self._looked_at.items() if found < q), default=low)
        high = min((x for x, found in self._looked_at.items() if found > q), default=high)
        return crossing(excess, low, high, _STEP) if excess(low) and excess(high) else low if not excess(low) else high

    @cached_property
    def _looked_at(self) -> dict[float, float]:
        """Probabilities that are known already: one search begins where those before it ended."""
        return {}

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval that holds this much probability."""
        return equal_tailed(self.ppf, mass)

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """The shortest interval that holds this much probability, to about five digits of its length; for a ratio on its own scale."""
        share = check_share(mass, "mass")
        start = np.linspace(0.0, 1.0 - share, _SHORTEST_PLACES)
        low, high = self._table(start), self._table(start + share)
        best = float(start[int(np.argmin(high - low))])
        ends = self.ppf([best, best + share])
        return float(ends[0]), float(ends[1])

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Independent draws, by inversion of a table of the distribution function; its error is below 1e-4 in probability.

        `rng` is a seed or generator. If it is left out, a seed follows from what is drawn from, and the draws are the same every time.
        """
        seed = seed_of(self.name, *(f"{end:.6g}" for end in self.ends))
        return self._table(generator(rng, seed).random(size))

    def _table(self, q: Floats) -> Floats:
        """Quantiles from a table: between its nodes a curve that rises."""
        with np.errstate(over="ignore"):
            found = np.exp(self._curve(q)) if self.logarithmic else self._curve(q)
        return np.where(q <= 0.0, self.support[0], np.where(q >= 1.0, self.support[1], found))

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Places close together where there is probability, and the distribution function there."""
        y = np.linspace(self._quantile(_OUTSIDE_TABLE), self._quantile(1.0 - _OUTSIDE_TABLE), _FIRST_NODES)
        below = self._inner(y)
        for _ in range(_NODE_HALVINGS):
            wide = np.flatnonzero(np.diff(below) > _FINEST_NODES)
            if not wide.size:
                break
            between = 0.5 * (y[wide] + y[wide + 1])
            y, below = np.insert(y, wide + 1, between), np.insert(below, wide + 1, self._inner(between))
        rising = np.concatenate([[True], np.diff(np.maximum.accumulate(below)) > 0.0])
        return y[rising], below[rising]

    @cached_property
    def _curve(self) -> Callable[[Floats], Floats]:
        from scipy.interpolate import PchipInterpolator  # slow to load, and all but draws go without it

        y, below = self._nodes
        curve: Callable[[Floats], Floats] = PchipInterpolator(logit(below), y)
        ends = logit(below[[0, -1]])
        return lambda q: curve(np.clip(logit(np.clip(q, _OUTSIDE_TABLE, 1.0 - _OUTSIDE_TABLE)), *ends))

    def to_scipy(self) -> Any:
        """Return the distribution with the methods of a frozen `scipy.stats` one."""
        from discreet.betas.scipy_bridge import ScipyLaw  # SciPy's statistics are slow to load

        return ScipyLaw(self, self.name, self.support)()

    def plot(self, ax: "Axes | None" = None, mass: float = 0.95) -> "Axes":
        """Draw the density with its median and interval, and a line where two are alike; ratios on a logarithmic scale."""
        from discreet.plotting import plot_quantity

        return plot_quantity(self, ax, mass)

    def _shown(self) -> tuple[str, str]:
        """The median, and the interval with 95 %, in words."""
        return evenly([(self.median(), *self.interval(0.95))], ratios=self.logarithmic)[0]

    def _repr_html_(self) -> str:
        return html_fields(self.name, dict(zip(("median", "95 % interval"), self._shown(), strict=True)))

    def __repr__(self) -> str:
        median, ends = self._shown()
        return f"{self.name}: median {median}, 95 % from {ends}"


@dataclass(frozen=True, eq=False)
class DrawnQuantity(Quantity):
    """The distribution of a number by draws: probabilities have a Monte Carlo error, and its mean may be computed all the same."""

    draw: Callable[[], Floats] = None  # type: ignore[assignment]
    """Makes the draws when they are first asked for."""
    span: tuple[float, float] = (-np.inf, np.inf)
    """The interval in which the number lies."""
    drawn_moments: bool = False
    """Whether its mean and standard deviation are those of the draws."""
    has_density: bool = True

    @classmethod
    def of(cls, name: str, draw: Callable[[], Floats], span: tuple[float, float], **known: Any) -> "DrawnQuantity":
        """The quantity with these draws; `moments` makes its mean and standard deviation where they are computed."""
        fields: dict[str, Any] = {"moments": nothing, "logarithmic": False} | known
        return cls(name, nothing, span, **fields, draw=draw, span=span)

    @cached_property
    def samples(self) -> Floats:
        """The draws, in ascending order."""
        return np.sort(self.draw())

    @property
    def support(self) -> tuple[float, float]:
        """The interval in which the number lies, whatever is known."""
        return self.span

    @cached_property
    def _known(self) -> tuple[float, float]:
        if not self.drawn_moments:
            return self.moments()
        return float(self.samples.mean()), float(self.samples.std(ddof=1)) if len(self.samples) > 1 else np.nan

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.draw(), dtype=dtype, copy=copy)

    def standard_error(self) -> float:
        """The Monte Carlo standard error of the mean; 0 where it is computed."""
        return self.std() / float(np.sqrt(len(self.samples))) if self.drawn_moments else 0.0

    def probability_error(self, mass: float = 0.95) -> float:
        """The Monte Carlo standard error of the probability beyond either end of an interval."""
        return float(standard_error(0.5 * (1.0 - check_share(mass, "mass")) * len(self.samples), len(self.samples)))

    def cdf(self, x: ArrayLike) -> Floats:
        """The part of the draws that are at most x."""
        points = np.asarray(x, dtype=np.float64)
        if np.isnan(points).any():
            raise InvalidInputError("x must be numbers, got NaN")
        return np.asarray(np.searchsorted(self.samples, points, side="right") / len(self.samples))

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the least draw that such a part of the draws are at most."""
        return self._table(check_levels(q))

    def _table(self, q: Floats) -> Floats:
        found = np.quantile(self.samples, q, method="inverted_cdf")
        return np.where(q <= 0.0, self.support[0], np.where(q >= 1.0, self.support[1], found))

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """The shortest interval that holds this part of the draws."""
        low, high = shortest_of_draws(self.samples, mass).tolist()
        return low, high

    def pdf(self, x: ArrayLike) -> Floats:
        """Density, smoothed over an eighth of what the middle half of the draws lies in."""
        if not self.has_density:
            raise RefusedError(f"this {self.name} has finitely many values and no density: cdf(x) has its probabilities")
        points, step = np.asarray(x, dtype=np.float64), float(np.subtract(*self.ppf([0.75, 0.25]))) / _DRAWN_STEPS
        return (self.cdf(points + step) - self.cdf(points - step)) / (2.0 * step) if step > 0.0 else np.zeros(points.shape)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Draws from the draws. `rng` is a seed or generator; if it is left out they are the same every time."""
        return self._table(generator(rng, seed_of(self.name, f"{self.median():.6g}")).random(size))

    def __repr__(self) -> str:
        if self.alike is not None:
            return super().__repr__()
        _, ends = self._shown()
        return f"{self.name}: mean {self.mean():.4g}, sd {self.std():.2g}, 95 % from {ends} ({len(self.samples):,} draws)"


def _inside(levels: Floats) -> Floats:
    """Levels in a row, none of which is 0 or 1."""
    return np.clip(levels.ravel(), _LEAST_BELOW, _MOST_BELOW)


def nothing(*_: Any) -> Any:
    """Stand for a function that is not known: draws say it."""
    raise NotImplementedError


def no_mean_of_ratio() -> tuple[float, float]:
    """Refuse: the mean of draws of a ratio says nothing where there is none."""
    raise RefusedError("the mean of a ratio may be infinite, which draws do not show: median() and interval() are known")


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(FieldsAlone):
    """The joint knowledge of how two probabilities θ₁ and θ₂ differ."""

    names: tuple[Hashable, Hashable]
    difference: Quantity
    """θ₁ - θ₂."""
    ratio: Quantity
    """θ₁/θ₂."""
    odds_ratio: Quantity
    """The odds θ₁/(1-θ₁) divided by θ₂/(1-θ₂)."""
    probability: float
    """The probability that the first is larger."""
    error: float
    """About how much probabilities, those of intervals among them, can be off."""
    again: "Callable[[], Contrast] | None" = None
    """Computes it again: what copies and pickles hold in place of its law, which is long."""

    near: "Callable[[Floats], tuple[Floats, Floats]] | None" = None
    """What `near` of all quantities gives, computed together."""

    def quantiles(self, levels: Floats) -> list[Floats]:
        """The quantiles of difference, ratio and odds ratio at these levels."""
        if self.near is None:
            return [quantity.ppf(levels) for quantity in self._quantities]
        found = np.stack(self.near(_inside(levels)), axis=1)
        return [quantity._quantiles(levels, near) for quantity, near in zip(self._quantities, found, strict=True)]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), tuple(self.__getstate__().values())) if self.again is None else (self.again, ())

    @property
    def _quantities(self) -> Sequence[Quantity]:
        return self.difference, self.ratio, self.odds_ratio

    @property
    def larger(self) -> str:
        """The probability that the first is larger as a text, with its error where it comes from draws."""
        if isinstance(self.difference, DrawnQuantity):
            return f"{Estimate(self.probability, self.error)!r} (from draws)"
        return chance(self.probability)

    @property
    def more(self) -> dict[str, float]:
        """Other probabilities about both, by name."""
        return {}

    @property
    def given(self) -> str:
        """What quantities are given, in words, where one may be undefined."""
        return ""

    @property
    def _title(self) -> str:
        return f"{plain(self.names[0])} against {plain(self.names[1])}"

    def __repr__(self) -> str:
        quantities, given = "; ".join(map(repr, self._quantities)), self.given and f"; {self.given}"
        return f"{type(self).__name__}({self._title}; {quantities}; the first is larger: {self.larger}{given})"

    def _repr_html_(self) -> str:
        rows = ((quantity.name, *quantity._shown()) for quantity in self._quantities)
        caption = f"{self._title}: the first is larger with probability {self.larger}{self.given and f'; {self.given}'}"
        return html_table(caption, ("contrast", "median", "95 % interval"), rows)


# --- many contrasts ---------------------------------------------------------------------------------------------------


def compared_pairs(places: Sequence[int], reference: int | None) -> list[tuple[int, int]]:
    """The pairs of places that are compared: all others with a reference, or without one all with all.

    Raises TooLargeError where there are more than a frame has.
    """
    pairs = [(i, j) for i in places for j in (places if reference is None else [reference]) if (i < j if reference is None else i != j)]
    if len(pairs) > limits.CONTRASTS:
        raise TooLargeError(
            f"a frame has up to {limits.CONTRASTS:,} comparisons, and these would be {len(pairs):,}: name a reference, or compare them one "
            "by one, those of groups with iter_contrasts(category, reference)"
        )
    return pairs


_FIGURES = tuple(name + end for name in ("difference", "ratio", "odds_ratio") for end in ("", "_low", "_high"))


def contrast_figures(found: Contrast, mass: float) -> dict[str, float]:
    """The numbers of a contrast in a frame: of each quantity its median and the ends of its interval, and which of the two is larger.

    Shares of records may be the same, and their ratios undefined: these have the probabilities of that as well.
    """
    levels = np.array([0.5, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])
    numbers = np.concatenate(found.quantiles(levels)).tolist()
    return {**dict(zip(_FIGURES, numbers, strict=True)), "probability": found.probability, **found.more}


def contrast_columns(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The columns of a frame that has a row for each contrast."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else (*_FIGURES, "probability"))}
