"""Former names of a mechanism's methods, without an underscore until version 0.3: they answer for one version, with a notice.

What a user calls has kept its name. What a class gives and the library asks for begins with an underscore, as in `scipy.stats`.
A class that gives something under its former name is refused: it would have the law of the built-in class, and not its own.
"""

from typing import TYPE_CHECKING, Any
from warnings import warn

from discreet.errors import InvalidInputError
from discreet.mechanisms.own_classes import built_in_names, given, is_built_in

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
