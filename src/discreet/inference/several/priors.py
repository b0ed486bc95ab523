"""The one prior under which several records are read."""

from collections.abc import Sequence

from discreet.errors import InvalidInputError
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.validation import spelling

Prior = Dirichlet | Beta
_SHOWN = 5


def agreed_prior(priors: Sequence[Prior], given: Prior | None) -> Prior:
    """The prior that a reader gives, with the labels of the records; without one, that of all records, which must be the same."""
    first = priors[0]
    if given is None:
        for other in priors[1:]:
            if other.exact != first.exact:
                raise InvalidInputError(
                    f"the records have different priors, {_parameters(first)} and {_parameters(other)}: say which to use with prior="
                )
        return first
    if not isinstance(given, (Dirichlet, Beta)):
        raise InvalidInputError(f"prior must be a Dirichlet or a Beta, not {type(given).__name__}")
    if given.k != first.k:
        raise InvalidInputError(f"prior has {given.k} categories and the records have {first.k}")
    if given.is_labelled and [*map(spelling, given.categories)] != [*map(spelling, first.categories)]:
        raise InvalidInputError("prior must have the categories of the records, in their order, or none of its own")
    if isinstance(first, Beta):
        return Beta(given.exact[0], given.exact[1], categories=first.categories)
    return Dirichlet(given.exact, first.categories)


def _parameters(prior: Prior) -> str:
    first = ", ".join(f"{float(a):g}" for a in prior.exact[:_SHOWN])
    return f"({first}{', ...' if prior.k > _SHOWN else ''})"
