"""A search that tries to break a statement: the region it went through, and the worst case it found.

A statement is turned into a margin that is positive where it is true and negative where it is false. Floats decide where the margin is
larger than its error; where it is not, ball arithmetic decides, and numbers that agree to 50 digits are a tie. Nothing else is let pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from discreet.arrays import Floats
from discreet.errors import InternalError
from discreet.numerics.balls import working_precision

__all__ = [
    "FLOAT_ERROR",
    "Cases",
    "Search",
    "Ties",
    "ball_case",
    "case",
    "each",
    "equal_case",
    "in_floats",
    "over",
    "relative",
    "search",
    "together",
]

FLOAT_ERROR = 1e-10
"""A float margin (a difference of probabilities, or a relative difference) closer to 0 than this decides nothing."""

_BITS = 320
_TIE = 1e-50
_FEW = 8
Ties = Literal["allowed", "broken"]


class Cases(NamedTuple):
    """The margins of some settings, how far they may be off, what the settings are, and the margins as balls where floats do not decide."""

    margins: Floats
    named: Callable[[int], str]
    error: float = FLOAT_ERROR
    exact: Callable[[int], arb] | None = None


@dataclass(frozen=True)
class Search:
    """The region that was searched, and the worst setting that was found in it."""

    region: Mapping[str, str]
    """What varied, and over which values."""
    settings: int
    broken: int
    """Settings where the statement is false."""
    ties: int
    """Settings where the two sides agree to 50 digits."""
    worst: float
    """The smallest margin: negative if the statement is false somewhere."""
    at: str
    """The setting with the smallest margin."""
    wanted: Literal["every", "some"] = field(default="every")
    """Whether the statement is about every setting, or says that there is one."""

    def __post_init__(self) -> None:
        if not self.region or not all(name and over for name, over in self.region.items()):
            raise InternalError("a search must say what varied and over which values")
        if self.settings < 1:
            raise InternalError("a search that met no setting shows nothing")

    @property
    def holds(self) -> bool:
        """Whether the statement is true wherever it was searched; or, if it says that there is a setting, whether one was found."""
        return self.broken == 0 if self.wanted == "every" else self.broken < self.settings

    @property
    def words(self) -> str:
        """The region in words."""
        return "; ".join(f"{name} {over}" for name, over in self.region.items())


def case(at: str, margin: float, *, error: float = FLOAT_ERROR, exact: Callable[[], arb] | None = None) -> Cases:
    """The cases of a single setting with this margin."""
    return Cases(np.array([margin]), lambda _: at, error, None if exact is None else lambda _: exact())


def each(make: Callable[..., Cases], *values: Iterable[Any]) -> Iterator[Cases]:
    """The cases of every combination of these values, the last of which varies fastest, made when the search comes to them."""
    return (make(*combination) for combination in product(*values))


def search(
    region: Mapping[str, str], cases: Iterable[Cases], *, ties: Ties = "allowed", wanted: Literal["every", "some"] = "every"
) -> Search:
    """Go through all cases. A strict inequality is broken by a tie.

    For a statement that there is some setting, the worst case is the best one: the setting that shows it most clearly.
    """
    settings = broken = tied = 0
    worst, at = np.inf, ""
    sign = 1.0 if wanted == "every" else -1.0
    for margins, named, error, exact in cases:
        found = np.atleast_1d(np.asarray(margins, dtype=np.float64))
        settings += found.size
        if not found.size:
            continue
        if np.isnan(found).any():
            raise InternalError(f"a margin is not a number at {named(int(np.argmax(np.isnan(found))))}")
        signs = np.where(np.abs(found) > error, np.sign(found), 0.0)
        for place in np.nonzero(signs == 0.0)[0]:
            signs[place] = _decided(int(place), named, exact)
        found = np.where(signs == np.sign(found), found, 0.0)  # what floats made of a tie is rounding
        tied += int((signs == 0.0).sum())
        broken += int((signs < 0.0).sum() if ties == "allowed" else (signs <= 0.0).sum())
        i = int(np.argmin(sign * found))
        if sign * found[i] < worst:
            worst, at = sign * float(found[i]), named(i)
    return Search(dict(region), settings, broken, tied, sign * worst, at, wanted)


def together(*searches: Search) -> Search:
    """One search with the settings of several searches of one region."""
    worst = min(searches, key=lambda each: each.worst)
    settings, broken, ties = (sum(column) for column in zip(*((each.settings, each.broken, each.ties) for each in searches), strict=True))
    return Search(worst.region, settings, broken, ties, worst.worst, worst.at, worst.wanted)


def _decided(i: int, named: Callable[[int], str], exact: Callable[[int], arb] | None) -> float:
    """The sign of a margin that floats cannot tell from 0."""
    if exact is None:
        raise InternalError(f"floats do not decide the case {named(i)}, and there is nothing exact to decide it")
    with working_precision(_BITS):
        margin = exact(i)
        if margin > 0:
            return 1.0
        if margin < 0:
            return -1.0
        if not margin.is_finite() or float(margin.rad()) > _TIE:
            raise InternalError(f"{_BITS} bits do not decide the case {named(i)}")
    return 0.0


def ball_case(at: str, margin: Callable[[], arb]) -> Cases:
    """One setting whose margin is computed as a ball and nothing else."""
    with working_precision(_BITS):
        return Cases(np.array([float(margin())]), lambda _: at, np.inf, lambda _: margin())


def equal_case(at: str, left: Callable[[], arb], right: Callable[[], arb]) -> Cases:
    """One setting of a statement that two numbers are equal: they are if 50 digits agree."""
    return ball_case(at, lambda: -abs(left() - right()))


def over(values: Iterable[float | str | int]) -> str:
    """The values something went over, in words: all of them if they are few, or from the least to the largest and how many."""
    listed = [f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value for value in values]
    return ", ".join(listed) if len(listed) <= _FEW else f"{listed[0]} to {listed[-1]} ({len(listed)} values)"


def in_floats(compute: Callable[[], arb]) -> float:
    """The float nearest to a number that is computed as a ball."""
    with working_precision(_BITS):
        return float(compute())


def relative(larger: ArrayLike, smaller: ArrayLike) -> Floats:
    """`larger / smaller - 1`: the margin of `smaller <= larger` for positive numbers."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.divide(larger, smaller) - 1.0, dtype=np.float64)
