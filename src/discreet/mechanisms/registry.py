"""Mechanisms by name: from what a person types, and from what a record or a ledger says.

A class joins by being defined: whatever inherits from `Mechanism` is found by its own name. The names of built-in mechanisms cannot be
taken by others, and a class that is defined again, as in a notebook, takes the place of the one before.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from inspect import isabstract
from typing import Any

from attrs import NOTHING, evolve, fields, fields_dict

from discreet import limits
from discreet.catalogue import built_in
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.bayes_reports import Remapped
from discreet.mechanisms.hellinger import Exponential
from discreet.mechanisms.nested import Nested
from discreet.mechanisms.observed import Observed
from discreet.mechanisms.own_classes import is_built_in, names_of
from discreet.mechanisms.scores import Calibrated
from discreet.model.dirichlet import Prior
from discreet.validation import Number, shown

MECHANISMS: tuple[type[Mechanism], ...] = tuple(getattr(import_module(module), name) for name, module in built_in().items())
"""The built-in mechanisms that release."""
READ_ALONE: tuple[type[Mechanism], ...] = (Observed,)
"""The mechanisms of records whose counts others drew."""
WITH_OPTIONS: tuple[type[Mechanism], ...] = (Nested,)
"""Built-in mechanisms that cannot be made from a prior, n and ε alone, and so stand in no list of all mechanisms."""

_WRAPPERS: dict[str, Callable[[Any], Mechanism]] = {"remapped": Remapped, "calibrated": Calibrated}
_WRAPPED_TITLE = re.compile(rf"\s*({'|'.join(_WRAPPERS)})\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)


# --- from a name ------------------------------------------------------------------------------------------------------


def mechanism(name: str, prior: Prior, n: int | Sequence[int] | None, epsilon: Number, **options: Any) -> Mechanism:
    """Make a mechanism by its name. Commands, `plan` and `compare` read names by this function too.

    Args:
        name: the name here or in the papers, in upper or lower case, with wrappers around it, as in "Calibrated(HellingerSmooth)".
        prior: the prior of the categories' probabilities.
        n: the public number of records, one for each group of a table whose sizes are public, or None if it is private.
        epsilon: the privacy loss.
        options: the options of its class, or of the class inside the wrappers.

    Raises InvalidInputError for a name, a number or an option that is none.
    """
    wrappers, inside = _unwrapped(name)
    found = _made(_class_of(inside), prior, n, epsilon, options)
    for wrapper in reversed(wrappers):
        found = wrapper(found)
    return found


def _unwrapped(name: Any) -> tuple[list[Callable[[Any], Mechanism]], Any]:
    """The wrappers that a name begins with, the outermost first, and the name inside them."""
    wrappers: list[Callable[[Any], Mechanism]] = []
    while isinstance(name, str) and (parts := _WRAPPED_TITLE.fullmatch(name)):
        wrapper, name = parts.groups()
        wrappers.append(_WRAPPERS[wrapper.casefold()])
        if len(wrappers) > limits.WRAPPERS:
            raise InvalidInputError(f"a mechanism can be wrapped {limits.WRAPPERS} times, not more often")
    return wrappers, name.strip() if isinstance(name, str) else name


def _class_of(name: Any) -> type[Mechanism]:
    known = {spelled.casefold(): (spelled, cls) for cls in _classes() for spelled in names_of(cls)}
    if isinstance(name, str) and name.casefold() in known:
        return known[name.casefold()][1]
    close = [known[spelled][0] for spelled in get_close_matches(shown(name).casefold(), known, n=1)]
    meant = f"; did you mean {close[0]}?" if close else "."
    listed = ", ".join(cls.__name__ for cls in MECHANISMS)
    raise InvalidInputError(
        f"no mechanism is called {shown(name)!r}{meant} All of them: {listed}; each also as Remapped(...), "
        "and the Hellinger ones as Calibrated(...)"
    )


def _classes() -> Iterator[type[Mechanism]]:
    """Every mechanism that has been defined: those of others first, in the order of their definition, and the built-in ones last.

    Whoever looks for a name takes the last class that has it, so that nobody else's is taken for a built-in one. (A class that was refused
    when it was defined may still be listed by Python for a while.)
    """
    waiting: list[Any] = [Mechanism]
    built_in = []
    while waiting:
        for cls in waiting.pop(0).__subclasses__():
            waiting.append(cls)
            if isabstract(cls) or cls.__name__.startswith("_"):
                continue
            if is_built_in(cls):
                built_in.append(cls)
            else:
                yield cls
    yield from built_in


def _made(cls: type[Mechanism], prior: Prior, n: int | Sequence[int] | None, epsilon: Any, options: Mapping[str, Any]) -> Mechanism:
    allowed = {option.name: option for option in fields(cls) if option.name not in ("prior", "n", "epsilon", "report", "factor")}
    for name in options:
        if name == "by" and name not in allowed:
            raise InvalidInputError(f"tables are released by LatticeGeometric; {cls.__name__} is for one variable: leave out its groups")
        if name not in allowed:
            fault = f"{cls.__name__} has no option {shown(name)!r}"
            raise InvalidInputError(f"{fault}; it has {', '.join(allowed) or 'none'}", in_shell=f"{fault}: leave out --{name}")
    for name, option in allowed.items():
        if option.default is NOTHING and name not in options:
            raise InvalidInputError(f"{cls.__name__} needs the option {name!r}")
    return cls(prior, n, epsilon, **options) if _takes_epsilon(cls) else cls(prior, n, **options)


def _takes_epsilon(cls: type[Mechanism]) -> bool:
    """Return whether a mechanism has an ε: counts that others published have none that is known here."""
    return bool(fields_dict(cls)["epsilon"].init)


# --- from a description -------------------------------------------------------------------------------------------------


def rebuilt(
    name: str, parameters: Mapping[str, Any], prior: Prior, n: int | tuple[int, ...] | None, layout: Mapping[str, Any] | None = None
) -> Mechanism:
    """The mechanism that `Mechanism.described` describes, of a table if there is a `layout`; InvalidInputError if there is none.

    Whether the factor of a calibrated one is safe is not taken from the description: its `guarantee` computes it.
    """
    options = dict(parameters)
    wrapped = {"Remapped": ("mechanism", "options"), "Calibrated": ("mechanism", "options", "factor")}.get(name)
    if wrapped is None:
        cls = next((cls for cls in reversed([*_classes()]) if cls.__name__ == name), None)
        if cls is None:
            raise InvalidInputError(f"no mechanism is called {shown(name)!r}")
        if "epsilon" not in options and _takes_epsilon(cls):
            raise InvalidInputError(f"the parameters of {name} must have epsilon")
        if options.keys() & set(cls._layout):
            raise InvalidInputError(f"how a table is laid out ({', '.join(cls._layout)}) is not among its parameters")
        return _made(cls, prior, n, options.pop("epsilon", None), {**options, **(layout or {})})
    if set(options) != set(wrapped):
        raise InvalidInputError(f"the parameters of {name} must be {', '.join(wrapped)}")
    inside = rebuilt(options["mechanism"], options["options"], prior, n, layout)
    if name == "Remapped":
        return Remapped(inside)
    if not isinstance(inside, Exponential) or inside.factor != 1:
        raise InvalidInputError(f"Calibrated takes a Hellinger mechanism, not {shown(options['mechanism'])}")
    return evolve(inside, factor=options["factor"])
