"""The one prior under which several records are read."""

from collections.abc import Sequence

from discreet.errors import InvalidInputError
from discreet.inference.reader_priors import reader_prior
from discreet.model.dirichlet import Prior

_SHOWN_PARAMETERS = 5


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
    return reader_prior(given, first)


def _parameters(prior: Prior) -> str:
    first = ", ".join(f"{float(a):g}" for a in prior.exact[:_SHOWN_PARAMETERS])
    return f"({first}{', ...' if prior.k > _SHOWN_PARAMETERS else ''})"
