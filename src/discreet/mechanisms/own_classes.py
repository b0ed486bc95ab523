"""Checks of a user's class when it is defined: a free name, and a promise of its own where its law is its own."""

from inspect import get_annotations

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
