"""Draws of probabilities: where they begin, estimates from them with their errors, and the forms in which other libraries take them.

Draws begin at the seed or generator that is given, and otherwise at a seed that follows from what is public. So two readers of one record
who ask the same question publish the same number, and one reader who asks twice gets it twice.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.text import html_fields
from discreet.validation import check_share

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism


Rng = np.random.Generator | int | None
"""A generator, a seed, or None for the seed of the record."""


def seed_of(*public: object) -> int:
    """A seed that follows from public values alone, by their text."""
    return int.from_bytes(sha256(repr(public).encode()).digest()[:16])


def seed_of_outcome(mechanism: "Mechanism", raw: Any) -> int:
    """The seed of what one mechanism drew."""
    outcome = raw.tolist() if isinstance(raw, np.ndarray) else list(raw)
    return seed_of(mechanism._described(), mechanism.prior.exact, mechanism.space.n, outcome)


def generator(rng: Rng, seed: Rng) -> np.random.Generator:
    """The generator that is given or that begins at the seed that is given, and otherwise one that begins at `seed`.

    Where there is neither, as of a posterior that was made by hand, draws are others every time.
    """
    return np.random.default_rng(seed if rng is None else rng)


DRAWS = 10_000
"""Draws where nobody asks for another number."""
_DRAWN_TOGETHER = 1 << 23
"""Probabilities that are drawn at once: 64 MB, some times."""
_DRAWN_IN_LOGARITHMS = 0.02
"""Parameters below this may give draws that are all too small for floats, and are drawn in logarithms."""


@dataclass(frozen=True)
class Estimate:
    """A probability that was estimated from independent draws, and the standard error of that. `float()` gives the value."""

    value: float
    standard_error: float

    def _repr_html_(self) -> str:
        return html_fields("Estimated from draws", {"probability": repr(self)})

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        decimals = max(0, -int(f"{self.standard_error:.0e}".partition("e")[2]))  # of the error as it is rounded to one digit
        return f"{self.value:.{decimals}f} ± {self.standard_error:.{decimals}f}"


def estimated(event: Callable[[Floats], ArrayLike], draw: Callable[[int], Floats], cells: int, size: int) -> Estimate:
    """The part of `size` draws of so many cells each for which the event holds.

    Its standard error is that of a proportion of which one more success and one more failure were seen, so that it is never 0.
    """
    batch, hits = max(1, _DRAWN_TOGETHER // cells), 0
    for start in range(0, size, batch):
        rows = min(batch, size - start)
        holds = np.asarray(event(draw(rows)))
        if holds.shape != (rows,) or holds.dtype != np.bool_:
            raise InvalidInputError("event must give one True or False for each row of draws, as theta[:, 0] > theta[:, 1] does")
        hits += int(holds.sum())
    return Estimate(hits / size, float(standard_error(hits, size)))


def check_draws(draws: int, cells: int) -> None:
    """Refuse more draws than are held."""
    if draws * cells > limits.TABLE_DRAWS:
        raise TooLargeError(
            f"{draws:,} draws of {cells:,} cells are more than the {limits.TABLE_DRAWS:,} numbers that are drawn; "
            f"ask for at most {limits.TABLE_DRAWS // cells:,}"
        )


def standard_error(hits: ArrayLike, size: int) -> Floats:
    """Return the standard error of proportions seen so often, as if one more success and one more failure had been seen."""
    smoothed = (np.asarray(hits) + 1.0) / (size + 2.0)
    return cast(Floats, np.sqrt(smoothed * (1.0 - smoothed) / size))


def dirichlet_draws(a: Floats, rng: np.random.Generator) -> Floats:
    """One draw of Dir(a) for each row of parameters, which are on the last axis."""
    if float(a.min(initial=1.0)) >= _DRAWN_IN_LOGARITHMS:
        gamma = rng.standard_gamma(a)
    else:
        logs = _log_gammas(a, rng)
        gamma = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return cast(Floats, gamma / gamma.sum(axis=-1, keepdims=True))


def log_odds_draws(a: Floats, place: int, rng: np.random.Generator) -> Floats:
    """Log-odds of one category in the draws that `dirichlet_draws` makes, which differ where probabilities are rounded to 0 or to 1."""
    logs = _log_gammas(a, rng)
    return np.asarray(logs[..., place] - np.logaddexp.reduce(np.delete(logs, place, axis=-1), axis=-1))


def _log_gammas(a: Floats, rng: np.random.Generator) -> Floats:
    """The logarithm of a draw of a Gamma variable for each parameter."""
    if float(a.min(initial=1.0)) >= _DRAWN_IN_LOGARITHMS:
        return cast(Floats, np.log(rng.standard_gamma(a)))
    return cast(Floats, np.log(rng.standard_gamma(a + 1.0)) + np.log(rng.random(a.shape)) / a)  # G_a = G_{a+1} U^{1/a}


def shortest_of_draws(samples: Floats, mass: float) -> Floats:
    """The shortest intervals that hold this part of the draws, which are on the first axis: (low, high) on a new last axis."""
    ordered = np.sort(samples, axis=0)
    held = min(len(ordered) - 1, int(np.ceil(check_share(mass, "mass") * len(ordered))))
    start = np.argmin(ordered[held:] - ordered[: len(ordered) - held], axis=0)[None]
    ends = [np.take_along_axis(ordered, start + step, axis=0)[0] for step in (0, held)]
    return cast(Floats, np.stack(ends, axis=-1))


# --- other libraries --------------------------------------------------------------------------------------------------


def needed(name: str) -> Any:
    """A library that is only needed here, or InvalidInputError that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise InvalidInputError(f"{name} is not installed: pip install 'discreet[arviz]'") from None


def coordinates(labels: Iterable[Hashable]) -> list[Any]:
    """Coordinates that xarray can index: the labels themselves if they are all strings or all whole numbers, else their text."""
    given = list(labels)
    for kind in (str, int):
        if all(type(label) is kind for label in given):
            return given
    return [str(label) for label in given]


def arviz_of(dataset: Any) -> Any:
    """A dataset of draws as what the installed ArviZ takes: `InferenceData` before version 1, an `xarray.DataTree` from then on."""
    with warnings.catch_warnings():
        # Before version 1 ArviZ announces that version once a day when it is imported. This function gives what either version takes.
        warnings.simplefilter("ignore", FutureWarning)
        arviz = needed("arviz")
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(posterior=dataset)
    return needed("xarray").DataTree.from_dict({"posterior": dataset})
