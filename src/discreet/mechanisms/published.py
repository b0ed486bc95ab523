"""Noise, and then steps in order, by which others changed counts before they published them, as likelihoods (docs/howto/observed.md).

Every step is a rising function of the noisy count, so that what was published says between which two whole numbers the noisy count was.
The probability of that, as a function of the true count, has a concave logarithm if that of the noise has one.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast

import numpy as np
from attrs import evolve, frozen

from discreet import limits
from discreet.arrays import Floats
from discreet.counts.factors import Kernel
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.changed_counts import MatrixChange, RandomizedAnswers, ReadNoise, RoundingByChance
from discreet.mechanisms.gaussian_noise import GaussianNoise, RoundedGaussianNoise
from discreet.mechanisms.laplace import LaplaceNoise
from discreet.mechanisms.lattice import GeometricNoise
from discreet.mechanisms.noise import CellNoise, IndependentNoise
from discreet.validation import check_moderate, exact, items_of, shown

SUPPRESSED = -2 * limits.COUNT
"""The number that stands in a record for a count that was not published."""
_ADDED_UP = 64
"""The number of whole numbers up to which their probabilities are added up one by one."""
Interval = tuple[int | None, int | None]
"""The least and the largest whole number; None where there is none."""
Ties = Literal["even", "up", "away"]


# --- noise ----------------------------------------------------------------------------------------------------------------


class PublishedNoise(ABC):
    """Noise that somebody added to every count, with its scale: the one field that is given."""

    name: ClassVar[str]
    called: ClassVar[str]
    """The name in `dc.noise`."""
    texts: ClassVar[Mapping[str, str]]
    """The name of the noise in the shell and in records, for each field that may be given."""

    def __attrs_post_init__(self) -> None:
        given = [name for name in self.texts if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"{' or '.join(self.texts)} of {self.name} noise must be given, and nothing else: noise of an unknown scale has no "
                "likelihood; ask the publisher for it"
            )
        object.__setattr__(self, given[0], self._read(getattr(self, given[0]), given[0]))

    @staticmethod
    def _read(value: Any, name: str) -> Any:
        """The field that is given, checked."""
        return check_moderate(value, name)

    @property
    def _given(self) -> tuple[str, Any]:
        """The field that is given, and its value."""
        return next((name, getattr(self, name)) for name in self.texts if getattr(self, name) is not None)

    @property
    def words(self) -> str:
        """The noise in a line that readers see."""
        return str(self)

    @abstractmethod
    def on(self, cells: int) -> CellNoise | None:
        """The noise of so many cells; None if none was added to counts."""

    def answers(self, cells: int) -> RandomizedAnswers | None:  # noqa: ARG002
        """The randomization of answers to a question with so many categories; None if counts were changed and not answers."""
        return None

    def __str__(self) -> str:
        """Return the noise as the shell takes it, such as gaussian:4."""
        name, value = self._given
        return f"{self.texts[name]}:{value}"

    def __repr__(self) -> str:
        name, value = self._given
        return f"{self.called}({name}={str(value) if isinstance(value, Fraction) else value!r})"


@frozen(repr=False)
class PublishedGeometric(PublishedNoise):
    """Two-sided geometric noise, P(d) ∝ e^{-ε|d|}: the discrete Laplace distribution of scale 1/ε."""

    epsilon: Any = None
    name: ClassVar[str] = "geometric"
    called: ClassVar[str] = "Geometric"
    texts: ClassVar[Mapping[str, str]] = {"epsilon": "geometric"}

    def on(self, cells: int) -> IndependentNoise:
        """The noise of so many cells."""
        return GeometricNoise(cells, float(self.epsilon))


@frozen(repr=False)
class PublishedLaplace(PublishedNoise):
    """Laplace noise of a scale b, rounded to the nearest whole number: P(0) = 1 - e^{-1/2b}, which is not that of geometric noise."""

    scale: Any = None
    name: ClassVar[str] = "laplace"
    called: ClassVar[str] = "Laplace"
    texts: ClassVar[Mapping[str, str]] = {"scale": "laplace"}

    def on(self, cells: int) -> IndependentNoise:
        """The noise of so many cells."""
        return LaplaceNoise(self.scale, "nearest", cells)


@frozen(repr=False)
class PublishedGaussian(PublishedNoise):
    """Discrete Gaussian noise, P(d) ∝ e^{-d²/2σ²}. `rho` is that of ρ-zCDP where a record changes one count by 1: σ² = 1/2ρ."""

    sigma: Any = None
    rho: Any = None
    name: ClassVar[str] = "gaussian"
    called: ClassVar[str] = "DiscreteGaussian"
    texts: ClassVar[Mapping[str, str]] = {"sigma": "gaussian", "rho": "zcdp"}

    def on(self, cells: int) -> IndependentNoise:
        """The noise of so many cells."""
        return GaussianNoise(cells, float(self.sigma**2 if self.sigma is not None else 1 / (2 * self.rho)))


@frozen(repr=False)
class PublishedRoundedGaussian(PublishedNoise):
    """Normal noise with standard deviation σ, rounded to the nearest whole number: which is not discrete Gaussian noise."""

    sigma: Any = None
    name: ClassVar[str] = "rounded-gaussian"
    called: ClassVar[str] = "Gaussian"
    texts: ClassVar[Mapping[str, str]] = {"sigma": "rounded-gaussian"}

    def on(self, cells: int) -> IndependentNoise:
        """The noise of so many cells."""
        return RoundedGaussianNoise(cells, float(self.sigma**2))


@frozen(repr=False)
class PublishedAnswers(PublishedNoise):
    """Randomized response: every person gave the true category with odds e^ε to each of the others, and answers were counted."""

    epsilon: Any = None
    name: ClassVar[str] = "randomized"
    called: ClassVar[str] = "RandomizedResponse"
    texts: ClassVar[Mapping[str, str]] = {"epsilon": "randomized"}

    def on(self, cells: int) -> None:
        """Return None: no noise was added to counts."""

    def answers(self, cells: int) -> RandomizedAnswers:
        """The randomization of the answers."""
        return RandomizedAnswers(float(self.epsilon), cells)


def _matrix_rows(value: Any, name: str) -> tuple[tuple[Fraction, ...], ...]:
    """The rows of a matrix, each a law that adds up to 1 but for the digits that were published."""
    if isinstance(value, str):
        value = [row.split(",") for row in value.split(";")]
    every = [items_of(row) for row in items_of(value) or ()]
    if not every or any(not row for row in every):
        raise InvalidInputError(
            f"{name} must be the rows of a matrix: for the true counts 0, 1, ... the probabilities of publishing 0, 1, ..."
        )
    if sum(len(row or ()) for row in every) > limits.RECORD_CELLS:
        raise InvalidInputError(f"{name} must have at most {limits.RECORD_CELLS:,} probabilities; beyond the last row it is shifted along")
    rows = tuple(tuple(exact(p, f"{name}[{x}][{z}]") for z, p in enumerate(row or ())) for x, row in enumerate(every))
    for x, row in enumerate(rows):
        if min(row) < 0 or abs(sum(row, Fraction(-1))) > _ADDS_UP:
            raise InvalidInputError(f"{name}[{x}] must be probabilities that add up to 1, those of what a true count {x} is published as")
    return rows


_ADDS_UP = Fraction(1, 10**6)
"""The probabilities of a row may differ from 1 together by this much: offices publish rounded ones."""


@frozen(repr=False)
class PublishedMatrix(PublishedNoise):
    """A count x became z with probability `rows[x][z]`, as with cell keys. Beyond the last row changes are as there: it is shifted along.

    Raises:
        InvalidInputError: A row is no law, or the true counts that may become some z are not consecutive.
    """

    rows: Any = None
    name: ClassVar[str] = "a matrix of"
    called: ClassVar[str] = "Matrix"
    texts: ClassVar[Mapping[str, str]] = {"rows": "matrix"}

    _read = staticmethod(_matrix_rows)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        change = self.on(1)
        for z in range(len(self.rows) + max(map(len, self.rows)) + change.widest):
            held = np.flatnonzero(change.column(z)[1])
            if held.size and int(held[-1] - held[0]) >= held.size:
                raise InvalidInputError(f"the true counts that may be published as {z} must be consecutive: this matrix leaves some out")

    @property
    def words(self) -> str:
        """The size of the matrix."""
        return f"a matrix with rows for counts up to {len(self.rows) - 1:,}"

    def on(self, cells: int) -> MatrixChange:
        """The change of so many cells."""
        return MatrixChange(cells, self.rows)

    def __str__(self) -> str:
        return f"matrix:{';'.join(','.join(map(str, row)) for row in self.rows)}"

    def __repr__(self) -> str:
        return f"Matrix({[[str(p) for p in row] for row in self.rows]!r})"


@frozen(repr=False)
class PublishedRandomRounding(PublishedNoise):
    """A count became one of the two nearest multiples of `to`, the nearer one with the larger probability, so that its mean stays."""

    to: Any = None
    name: ClassVar[str] = "random rounding"
    called: ClassVar[str] = "RandomRounding"
    texts: ClassVar[Mapping[str, str]] = {"to": "random-rounding"}

    @staticmethod
    def _read(value: Any, name: str) -> int:
        """The base, checked."""
        return _whole(value, name, 2)

    def on(self, cells: int) -> RoundingByChance:
        """The change of so many cells."""
        return RoundingByChance(cells, self.to)


_NOISES: Mapping[str, tuple[Any, str]] = {text: (cls, name) for cls in PublishedNoise.__subclasses__() for name, text in cls.texts.items()}
"""The noises by their names in the shell and in records, each with the field that is given."""


def _refuse_consistent(name: str) -> None:
    """Refuse what was made of noisy counts by looking at all of them together, with the reason."""
    if name.strip().casefold() in {"topdown", "consistent", "post-processed"}:
        raise RefusedError(
            f"counts that were made consistent afterwards ({shown(name)}) have no likelihood that can be computed: read the noisy "
            "measurements that they were made from"
        )


def noise_of(given: Any) -> PublishedNoise:
    """Noise as a value, or as text such as "gaussian:4": a name and its scale."""
    if isinstance(given, PublishedNoise):
        return given
    name, _, scale = given.strip().partition(":") if isinstance(given, str) else ("", "", "")
    _refuse_consistent(name)
    if name not in _NOISES or not scale:
        raise InvalidInputError(
            "noise must be dc.noise.Geometric(epsilon=), .DiscreteGaussian(sigma= or rho=), .Laplace(scale=), .Gaussian(sigma=), "
            f".Matrix(rows), .RandomRounding(to=) or .RandomizedResponse(epsilon=); got {shown(given)!r}",
            in_shell="--noise must be geometric:EPSILON, gaussian:SIGMA, zcdp:RHO, laplace:SCALE, rounded-gaussian:SIGMA, "
            f"matrix:@FILE, random-rounding:BASE or randomized:EPSILON; got {shown(given)!r}",
        )
    cls, scaled = _NOISES[name]
    found: PublishedNoise = cls(**{scaled: scale})
    return found


# --- steps ----------------------------------------------------------------------------------------------------------------


class PublishedStep(ABC):
    """Something that was done to every noisy count: a rising function."""

    @abstractmethod
    def before(self, low: int | None, high: int | None) -> Interval | None:
        """Return the whole numbers between which a value was that became one from low to high; None if none did."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the step as the shell takes it, such as rounded:5."""


@frozen
class ClampedBelow(PublishedStep):
    """Values below `at` became `at`."""

    at: int

    def before(self, low: int | None, high: int | None) -> Interval | None:
        """Return the interval with everything below it, if `at` is in it."""
        if high is not None and high < self.at:
            return None
        return (None if low is None or low <= self.at else low), high

    def __str__(self) -> str:
        return f"clamped:{self.at}"


@frozen
class Rounded(PublishedStep):
    """Values became the nearest multiple of `to`; `ties` says where one in the middle went."""

    to: int
    ties: Ties

    def before(self, low: int | None, high: int | None) -> Interval | None:
        """Return the whole numbers that are rounded to a multiple between low and high."""
        first = None if low is None else -(-low // self.to)
        last = None if high is None else high // self.to
        if first is not None and last is not None and first > last:
            return None
        return (None if first is None else self._first(first)), (None if last is None else self._first(last + 1) - 1)

    def _first(self, multiple: int) -> int:
        """The first whole number that is rounded to this multiple: the middle below it, if a tie goes up there."""
        middle, is_tie = divmod(2 * multiple * self.to - self.to, 2)
        if is_tie:
            return middle + 1
        up = {"up": True, "even": multiple % 2 == 0, "away": multiple > 0}[self.ties]
        return middle if up else middle + 1

    def __str__(self) -> str:
        return f"rounded:{self.to}" if self.ties == "even" else f"rounded:{self.to}:{self.ties}"


@frozen
class SuppressedBelow(PublishedStep):
    """Values below `below` were not published. With `by_true` it was true counts below it that decided."""

    below: int
    by_true: bool

    def before(self, low: int | None, high: int | None) -> Interval | None:
        """Return the part of the interval from `below` on."""
        if self.by_true:
            return low, high
        if high is not None and high < self.below:
            return None
        return (self.below if low is None else max(low, self.below)), high

    def __str__(self) -> str:
        return f"suppressed{'-true' if self.by_true else ''}:{self.below}"


def _whole(value: Any, name: str, least: int | None = None) -> int:
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        number = Fraction(1, 2)
    if number.denominator != 1 or abs(number) > limits.COUNT or (least is not None and number < least):
        above = "" if least is None else f", at least {least}"
        raise InvalidInputError(f"{name} must be a whole number{above}; got {shown(value)!r}")
    return int(number)


def clamped(at: int = 0) -> PublishedStep:
    """The step by which values below `at` became `at`."""
    return ClampedBelow(_whole(at, "at"))


def rounded(to: int, ties: Ties = "even") -> PublishedStep:
    """The step by which values became the nearest multiple of `to`.

    Args:
        to: The base, such as 5.
        ties: Where a value in the middle of two multiples went: to the "even" one, as with Python's `round`, "up", or "away" from 0.
    """
    if ties not in ("even", "up", "away"):
        raise InvalidInputError(f"ties must be 'even', 'up' or 'away'; got {shown(ties)!r}")
    return Rounded(_whole(to, "to", 1), ties)


def suppressed(below: int, by: Literal["noisy", "true"] = "noisy") -> PublishedStep:
    """The step by which small counts were not published: None, or nothing, stands in their place.

    Args:
        below: The least count that is published.
        by: Whether what the noisy count had become decided, or the true count, which no differentially private publisher looks at.
    """
    if by not in ("noisy", "true"):
        raise InvalidInputError(f"by must be 'noisy' or 'true': which count was compared with {shown(below)!r}; got {shown(by)!r}")
    return SuppressedBelow(_whole(below, "below", 1), by == "true")


_STEP_TEXT = re.compile(r"(clamped|rounded|suppressed|suppressed-true):(-?[0-9]+)(?::(even|up|away))?")


def steps_of(given: Any) -> tuple[PublishedStep, ...]:
    """Steps as values, or as one text such as "clamped:0,rounded:5"."""
    if isinstance(given, str):
        return tuple(_step(text.strip()) for text in given.split(",") if text.strip())
    if not isinstance(given, Sequence) or not all(isinstance(one, PublishedStep) for one in given):
        raise InvalidInputError("steps must be a list of dc.noise.clamped(...), .rounded(...) and .suppressed(...), in their order")
    return tuple(given)


def _step(text: str) -> PublishedStep:
    _refuse_consistent(text)
    found = _STEP_TEXT.fullmatch(text)
    if found is None or (found[3] and found[1] != "rounded"):
        raise InvalidInputError(
            f"a step must be clamped:AT, rounded:TO, rounded:TO:up, suppressed:BELOW or suppressed-true:BELOW; got {shown(text)!r}"
        )
    name, number, ties = found.groups()
    if name == "rounded":
        return rounded(int(number), cast(Ties, ties or "even"))
    return clamped(int(number)) if name == "clamped" else suppressed(int(number), "true" if name.endswith("true") else "noisy")


# --- likelihoods ----------------------------------------------------------------------------------------------------------


@frozen
class Between:
    """A noisy count was from low to high, and the true one from `first` to `last`."""

    noise: IndependentNoise
    low: int | None
    high: int | None
    first: int = 0
    last: int | None = None

    @property
    def bends(self) -> tuple[float, ...]:
        """The ends, none beyond the last true count."""
        ends = [float(end) for end in (self.low, self.high) if end is not None] or [0.0]
        return tuple(min(end, float(self.last)) for end in ends) if self.last is not None else tuple(ends)

    @property
    def curvature(self) -> float:
        """The curvature of the noise; that of a sum or a tail is less."""
        return 0.0 if self.low is None and self.high is None else self.noise.curvature

    def __call__(self, x: Floats) -> Floats:
        """ln P(low <= x + noise <= high)."""
        found = self._inside(x)
        if self.first:
            found = np.where(x < self.first, -np.inf, found)
        return np.asarray(found if self.last is None else np.where(x > self.last, -np.inf, found))

    def _inside(self, x: Floats) -> Floats:
        low, high = self.low, self.high
        if low is None:
            return np.zeros_like(x) if high is None else self.noise.log_at_most(high - x)
        if high is None:
            return self.noise.log_at_least(low - x)
        if high == low:
            return self.noise.log_factor(low - x)
        if high - low < _ADDED_UP:
            each = self.noise.log_factor(np.arange(low, high + 1.0)[:, None] - np.ravel(x)[None, :])
            return np.asarray(np.logaddexp.reduce(each, axis=0)).reshape(np.shape(x))
        return self._long(low - x, high - x)

    def _long(self, low: Floats, high: Floats) -> Floats:
        """Return the probability by whichever tails are short."""
        at_least, at_most = self.noise.log_at_least, self.noise.log_at_most
        with np.errstate(divide="ignore", invalid="ignore"):
            above = at_least(low) + np.log(-np.expm1(at_least(high + 1.0) - at_least(low)))
            below = at_most(high) + np.log(-np.expm1(at_most(low - 1.0) - at_most(high)))
            around = np.log1p(-np.exp(at_most(low - 1.0)) - np.exp(at_least(high + 1.0)))
        return np.where(low > 0.0, above, np.where(high < 0.0, below, around))


@frozen
class SteppedNoise(ReadNoise):
    """Noise on every cell, and what was done after it."""

    noise: IndependentNoise
    steps: tuple[PublishedStep, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.noise.cells

    @property
    def slope(self) -> float:
        """The slope of the noise."""
        return self.noise.slope

    @property
    def kernel(self) -> Kernel:
        """The kernel of the noise, which says how wide windows are."""
        return self.noise.kernel

    def seen(self, z: int) -> Between | None:
        """Return the observation of a published count; None if no count can be published so."""
        least = max((step.below for step in self.steps if isinstance(step, SuppressedBelow) and step.by_true), default=0)
        if z == SUPPRESSED:
            return self._unpublished(least)
        found = self._before(z, z, len(self.steps))
        return None if found is None else Between(self.noise, *found, first=least)

    def _before(self, low: int | None, high: int | None, steps: int) -> Interval | None:
        """Return the whole numbers between which a noisy count was that became one from low to high after so many of the steps."""
        for step in reversed(self.steps[:steps]):
            found = step.before(low, high)
            if found is None:
                return None
            low, high = found
        return low, high

    def _unpublished(self, least: int) -> Between | None:
        """Return the observation of a suppressed count: noise is at most the largest count that any of the steps suppresses."""
        if least:
            return Between(self.noise, None, None, last=least - 1)
        ends: list[int] = []
        for place, step in enumerate(self.steps):
            if isinstance(step, SuppressedBelow):
                kept = [self._without(place)._before(None, step.below - 1, place)]
                ends.extend(found[1] for found in kept if found is not None and found[1] is not None)
        return Between(self.noise, None, max(ends)) if ends else None

    def _without(self, places: int) -> "SteppedNoise":
        """Return the noise with the first steps, without those that suppress."""
        return evolve(self, steps=tuple(ClampedBelow(-limits.COUNT) if isinstance(s, SuppressedBelow) else s for s in self.steps[:places]))


def stepped(noise: CellNoise, steps: tuple[PublishedStep, ...]) -> CellNoise:
    """Noise and the steps after it, which must leave a likelihood whose logarithm is concave."""
    if steps and not isinstance(noise, IndependentNoise):
        raise RefusedError("steps come after noise that is added; a matrix and random rounding say what was published: leave out steps")
    kinds = {step.by_true for step in steps if isinstance(step, SuppressedBelow)}
    if len(kinds) > 1:
        raise RefusedError(
            "counts that were suppressed by the true count and by the noisy one are not read: a missing one has no concave likelihood"
        )
    return SteppedNoise(noise, steps) if steps and isinstance(noise, IndependentNoise) else noise


def published_count(value: Any, noise: PublishedNoise) -> int:
    """A published count as a record holds it. One with real noise is rounded to the nearest whole number, which is then read."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return SUPPRESSED
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise InvalidInputError(f"a published count must be a number, or None where it is suppressed; got {shown(value)!r}") from None
    if abs(number) > limits.COUNT:
        raise InvalidInputError(f"published counts must lie between -2**53 and 2**53; got {shown(value)}")
    if number.denominator != 1 and not isinstance(noise, (PublishedLaplace, PublishedRoundedGaussian)):
        raise InvalidInputError(f"{noise.name} noise makes whole numbers, and a published count is {shown(value)}: look at the noise")
    return round(number)
