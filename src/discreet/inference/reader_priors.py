"""The prior of whoever reads a release, in place of the one that the record says (docs/howto/reading.md).

A record says how probable its outcome was given any true counts. That is the mechanism's own law, with the mechanism's own prior where
its scores use one. What a reader believes about the categories before is another matter, and may be any Dirichlet over them.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from discreet.errors import InvalidInputError
from discreet.model.cells import Groups
from discreet.model.dirichlet import Beta, Dirichlet, Prior
from discreet.validation import items_of, shown, spelling

_SHOWN_PARAMETERS = 5


def reader_prior(given: Any, recorded: Prior) -> Prior:
    """A reader's prior with the categories of the recorded one, which it must have; that one itself if none is given.

    Labels are compared if both priors have them. Otherwise categories are taken in their order, with the labels of the record.
    """
    if given is None:
        return recorded
    if not isinstance(given, (Dirichlet, Beta)):
        raise InvalidInputError(f"prior must be a Dirichlet, or a Beta for two categories, got {type(given).__name__}")
    if given.k != recorded.k:
        raise InvalidInputError(f"prior must have a concentration for each of the {recorded.k} categories of the release, got {given.k}")
    if given.is_labelled and recorded.is_labelled and not _same(given.categories, recorded.categories):
        names = ", ".join(repr(category) for category in recorded.categories[:10]) + (", ..." if recorded.k > 10 else "")
        raise InvalidInputError(f"prior must have the categories of the release, in its order: {names}")
    if isinstance(given, Beta):
        return Beta(given.exact[0], given.exact[1], recorded.categories)
    return Dirichlet(given.exact, recorded.categories)


def reader_priors(given: Any, recorded: Prior, exceptions: Mapping[int, Prior], by: Groups) -> tuple[Prior, dict[int, Prior]]:
    """The prior of all groups of a table, and those of groups, by their positions, that have one of their own.

    Args:
        given: One prior for all groups; a mapping of groups to their priors, in which those left out keep the recorded one; a list with a
            prior for each group; or None.
        recorded: The prior that the record gives to all groups but some.
        exceptions: The recorded priors of these.
        by: The groups.
    """
    if given is None:
        return recorded, dict(exceptions)
    if isinstance(given, Mapping):
        return recorded, {**exceptions, **_named(given, recorded, by)}
    if isinstance(given, (Dirichlet, Beta)) or (listed := items_of(given)) is None:
        return reader_prior(given, recorded), {}
    if len(listed) != len(by):
        raise InvalidInputError(f"prior must be one for all groups, or one for each of the {len(by):,} groups; got {len(listed):,}")
    return recorded, {position: reader_prior(_required(one), recorded) for position, one in enumerate(listed)}


def _named(given: Mapping[Hashable, Any], recorded: Prior, by: Groups) -> dict[int, Prior]:
    found: dict[int, Prior] = {}
    for group, prior in given.items():
        position = by.index(group)
        if position in found:
            raise InvalidInputError(f"prior must name each group once; it names {shown(by[position])!r} twice")
        found[position] = reader_prior(_required(prior), recorded)
    return found


def _required(prior: Any) -> Any:
    if prior is None:
        raise InvalidInputError("prior must give a Dirichlet or a Beta to each group, got None for one; leave that group out of a mapping")
    return prior


def _same(one: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> bool:
    return [*map(spelling, one)] == [*map(spelling, other)]


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
