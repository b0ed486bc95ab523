"""Checks of a user's class when it is defined: free names, none of its mechanism's former ones, and a promise for a law of its own.

What a user calls has kept its name. What a class gives and the library asks for begins with an underscore from version 0.3 on, as in
`scipy.stats`; former names answer for one version, with a notice. A class that gives something under its former name is refused: it would
have the law of the built-in class, and not its own.
"""

from inspect import get_annotations
from typing import TYPE_CHECKING, Any
from warnings import warn

from discreet.errors import InvalidInputError

_RESERVED = frozenset({"remapped", "calibrated"})
_FREE = frozenset({"_names", "_look", "_own_report", "_draw_seconds", "_warm_up", "_abc_impl"})
"""Names that a class may give anew under an inherited promise: none of them sees private counts or decides what is drawn."""
_HOOKS = frozenset({"__getattribute__", "__attrs_post_init__"})
"""The names with two underscores that a promise is about."""


def given(base: type) -> frozenset[str]:
    """The names that the body of a class gives, also where it only declares a field."""
    return frozenset(base.__dict__) | frozenset(get_annotations(base))


def built_in_names(cls: type) -> frozenset[str]:
    """Return the names that a class inherits from the built-in classes."""
    return frozenset().union(*(given(base) for base in cls.__mro__ if is_built_in(base)))


def law_names(cls: type) -> frozenset[str]:
    """Return the names that a promise is about: all of the built-in classes but `_FREE` and the promise itself."""
    plain = frozenset(name for name in built_in_names(cls) if not name.startswith("__"))
    return (plain - _FREE - {"_claim", "guarantee"}) | _HOOKS


def is_given_nearer(cls: type, names: frozenset[str], than: str) -> bool:
    """Return whether a class of the user's gives one of the names, itself or by a class beside the mechanism, nearer than the other is
    given.
    """
    for base in cls.__mro__:
        if than in base.__dict__:
            return False
        if not is_built_in(base) and names & given(base):
            return True
    return False


def names_of(cls: type) -> tuple[str, ...]:
    """The names that a class is found by: its own, and not those of the class that it inherits from."""
    return cls.__name__, *cls.__dict__.get("_names", ())


def is_built_in(cls: type) -> bool:
    """Return whether a class is one of discreet's own."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def check_free(cls: type, root: type) -> None:
    """Refuse a class of somebody else's that takes the name of a built-in mechanism, or one that records use for wrappers."""
    if isinstance(cls.__dict__.get("_names", ()), str):
        raise InvalidInputError(f"_names of {cls.__name__} must be a tuple of texts, such as ({cls.__dict__['_names']!r},)")
    own = {name.casefold() for name in names_of(cls)}
    waiting: list[type] = root.__subclasses__()
    taken = own & _RESERVED
    while waiting:
        known = waiting.pop()
        waiting += known.__subclasses__()
        taken |= own & {name.casefold() for name in names_of(known)} if is_built_in(known) else set()
    if taken:
        raise InvalidInputError(f"{', '.join(sorted(taken))!r} is taken by discreet; give the class {cls.__name__} another name")


_FORMER = frozenset(
    {"claim", "raw_law", "sampler", "draw_noise", "draw_seconds", "own_report", "loss_atoms", "names", "needs_total", "theorem"}
    | {"check_size", "line_law", "hellinger_rate", "is_outcome", "is_symmetric", "listed_laws", "outcomes", "log_likelihoods", "warm_up"}
    | {"log_probabilities", "simulate_raw", "most_datasets", "layout", "sensitivity_ball", "near_sensitivity"}
    | {"by_proof", "check_labels", "check_single", "checked", "described", "mean_errors", "options", "recorded", "table", "time_quantum"}
    | {"affected", "beta", "beta_ball", "is_fair", "loss", "noised", "rate", "rate_ball", "scale"}
)
"""Names by which a mechanism may still be asked, and which no class may give."""


class FormerNames:
    """Answers to former names, which are in no list of names."""

    if not TYPE_CHECKING:  # so that type checkers know none of them

        def __getattr__(self, name: str) -> Any:
            if name == "total":
                warn("the public n of a mechanism is space.total from version 0.3 on", DeprecationWarning, stacklevel=2)
                return self.space.total
            if name == "check_release":
                warn("prepare(...) does what check_release did, and its result has the guarantee", DeprecationWarning, stacklevel=2)
                return lambda *args, **named: self.prepare(*args, **named).guarantee
            if name not in _FORMER or not hasattr(type(self), f"_{name}"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            warn(f"{name} of a mechanism is for its own class, and called _{name} from version 0.3 on", DeprecationWarning, stacklevel=2)
            return getattr(self, f"_{name}")


def refuse_former_names(cls: type) -> None:
    """Refuse a class of the user's that gives, itself or by a class beside the mechanism, what has another name in its mechanism now."""
    now = {name: f"_{name}" for name in _FORMER} | {"check_release": "prepare"}
    known = built_in_names(cls)
    for base in cls.__mro__:
        for name in sorted(now.keys() & given(base)) if not is_built_in(base) else ():
            if now[name] in known:
                raise InvalidInputError(f"{base.__name__} gives {name}, which is called {now[name]} from version 0.3 on; rename it there")
