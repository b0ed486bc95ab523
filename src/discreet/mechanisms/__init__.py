"""Every mechanism of the papers, the lattice's own, and `mechanism()`, which finds one by any of its names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from discreet.distributions import Beta, Dirichlet
from discreet.errors import DiscreetError, InvalidInputError
from discreet.mechanisms.base import Law, Mechanism
from discreet.mechanisms.hellinger import (
    Exponential,
    HellingerGlobal,
    HellingerLocal,
    HellingerSmooth,
    HellingerSmoothDelta,
)
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.mechanisms.scores import MetricExponential
from discreet.mechanisms.wrappers import Calibrated, Remapped, Scaled
from discreet.release import Release
from discreet.schema import read_parameters
from discreet.validation import Number, check_positive, shown

__all__ = [
    "MECHANISMS",
    "Calibrated",
    "Exponential",
    "HellingerGlobal",
    "HellingerLocal",
    "HellingerSmooth",
    "HellingerSmoothDelta",
    "LaplaceDimension",
    "LaplaceHistogram",
    "LaplaceZhang",
    "LatticeGeometric",
    "Law",
    "Mechanism",
    "MetricExponential",
    "Remapped",
    "mechanism",
    "mechanism_described",
    "mechanism_from",
]

MECHANISMS: tuple[type[Mechanism], ...] = (
    LaplaceZhang,
    LaplaceDimension,
    LaplaceHistogram,
    HellingerGlobal,
    HellingerLocal,
    HellingerSmooth,
    HellingerSmoothDelta,
    LatticeGeometric,
)
_BY_NAME = {name.casefold(): cls for cls in MECHANISMS for name in (cls.__name__, *cls.names)}

_WRAPPERS: dict[str, Callable[[Any], Mechanism]] = {"remapped": Remapped, "calibrated": Calibrated}
_WRAPPED = re.compile(rf"\s*({'|'.join(_WRAPPERS)})\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_MOST_WRAPPERS = 4
_LARGEST_FACTOR = 10**100
"""Of a calibrated exponent, and one over the smallest: floats must be able to follow."""


def mechanism(name: str, prior: Dirichlet | Beta, n: int, epsilon: Number, **options: Any) -> Mechanism:
    """The mechanism of this name, ours or one of the papers', whatever its case; `options` are those of its class.

    A wrapper is written around it, as in "Remapped(LatticeGeometric)" or "Calibrated(HellingerSmooth)"; the options are those of the
    mechanism inside. This is the only reader of such names: commands, `plan` and `compare` use it too.
    """
    wrappers, inside = _unwrapped(name)
    found = _plain_mechanism(inside, prior, n, epsilon, options)
    for wrapper in reversed(wrappers):
        found = wrapper(found)
    return found


def _unwrapped(name: Any) -> tuple[list[Callable[[Any], Mechanism]], Any]:
    """The wrappers that a name begins with, the outermost first, and the name inside them."""
    wrappers: list[Callable[[Any], Mechanism]] = []
    while isinstance(name, str) and (parts := _WRAPPED.fullmatch(name)):
        wrapper, name = parts.groups()
        wrappers.append(_WRAPPERS[wrapper.casefold()])
        if len(wrappers) > _MOST_WRAPPERS:
            raise InvalidInputError(f"a mechanism can be wrapped {_MOST_WRAPPERS} times, not more often")
    return wrappers, name.strip() if isinstance(name, str) else name


def _plain_mechanism(name: Any, prior: Dirichlet | Beta, n: int, epsilon: Number, options: dict[str, Any]) -> Mechanism:
    cls = _BY_NAME.get(name.casefold()) if isinstance(name, str) else None
    if cls is None:
        close = get_close_matches(shown(name).casefold(), _BY_NAME, n=1, cutoff=0.0)[0]
        known = ", ".join(found.__name__ for found in MECHANISMS)
        raise InvalidInputError(
            f"no mechanism is called {shown(name)!r}; did you mean {_spelled(close)}? All of them: {known}; each also as Remapped(...), "
            "and the Hellinger ones as Calibrated(...)"
        )
    allowed = [option.name for option in fields(cls) if option.name not in ("prior", "n", "epsilon")]
    for option in options:
        if option not in allowed:
            raise InvalidInputError(f"{cls.__name__} has no option {shown(option)!r}; it has {', '.join(allowed) or 'none'}")
    return cls(prior, n, epsilon, **options)


def _spelled(folded: str) -> str:
    cls = _BY_NAME[folded]
    return next(name for name in (cls.__name__, *cls.names) if name.casefold() == folded)


# --- from a record back to its mechanism ------------------------------------------------------------------------------


def mechanism_from(release: Release) -> Mechanism:
    """The mechanism that a record describes, for its laws and likelihoods.

    A `Calibrated` one comes back as the plain `Scaled` mechanism of the recorded factor, which has no guarantee: whether that factor
    is safe was computed by whoever released, and a record is no proof of it.
    """
    return _described(release.mechanism, release.parameters, release.prior, release.n)


def mechanism_described(description: Mapping[str, Any]) -> Mechanism | None:
    """The mechanism of a ledger's line, or None if it describes none that can be made here."""
    try:
        parameters = read_parameters(description["parameters"])
        found = _described(description["mechanism"], parameters, Dirichlet(description["prior"]), description["n"])
        return Calibrated(found.mechanism) if isinstance(found, Scaled) else found
    except (DiscreetError, KeyError, TypeError, ValueError):
        return None


def _described(name: str, parameters: Mapping[str, Any], prior: Dirichlet | Beta, n: int) -> Mechanism:
    options = dict(parameters)
    wrapped = {"Remapped": ("mechanism", "options"), "Calibrated": ("mechanism", "options", "factor")}.get(name)
    if wrapped is None:
        if name not in (cls.__name__ for cls in MECHANISMS):
            raise InvalidInputError(f"no mechanism is called {str(name)[:40]!r}")
        if "epsilon" not in options:
            raise InvalidInputError(f"the parameters of {name} must have epsilon")
        return mechanism(name, prior, n, options.pop("epsilon"), **options)
    if set(options) != set(wrapped):
        raise InvalidInputError(f"the parameters of {name} must be {', '.join(wrapped)}")
    inside = _described(options["mechanism"], options["options"], prior, n)
    if name == "Remapped":
        return Remapped(inside)
    if not isinstance(inside, Exponential) or isinstance(inside, Scaled):
        raise InvalidInputError(f"Calibrated takes a Hellinger mechanism, not {type(inside).__name__}")
    factor = check_positive(options["factor"], "factor")
    if not Fraction(1, _LARGEST_FACTOR) <= factor <= _LARGEST_FACTOR:
        raise InvalidInputError(f"factor must be from 1e-100 to 1e100, got {shown(factor)}")
    return Scaled(inside, factor)
