"""One category in two releases about different records, whose posteriors are independent."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.text import listed

if TYPE_CHECKING:
    from discreet.inference.noise_aware import NoiseAware
    from discreet.inference.quantities import Contrast
    from discreet.inference.records import RecordContrast
    from discreet.record.release import Release

PERHAPS_ONE = "both records have the same mechanism and the same outcome; if they are copies of one draw, they are not two groups"
"""The warning about two records that may be one."""
TAKEN = "about different records; two releases about the same records are not compared like this"
"""The assumption about two records that are compared."""


def contrast_of_records(
    found: "Sequence[Release]",
    read: "Callable[[Release], Any]",
    names: tuple[str, str],
    category: Hashable,
    group: Hashable | None,
    *,
    of_records: bool,
) -> "Contrast | RecordContrast":
    """Compare a category between two releases, in one group of both if they are tables; `read` makes the posterior of each.

    Raises:
        InvalidInputError: One is a table and one is not, or the group or the category is not in both.
    """
    from discreet.inference.records import of_different_records
    from discreet.inference.several.two_releases import of_one_variable

    are_tables = {bool(one.by.columns) for one in found}
    if len(are_tables) > 1:
        raise InvalidInputError("one of these records is a table and one is of one variable: compare two tables, or two of one variable")
    if group is not None and are_tables == {False}:
        raise InvalidInputError("--group is for tables, and these records have no groups")
    first, second = (_posterior(one, read, group) for one in found)
    if of_records:
        return of_different_records(first.records.marginal(category), second.records.marginal(category), names)
    return of_one_variable(first, second, category, names)


def _posterior(found: "Release", read: "Callable[[Release], Any]", group: Hashable | None) -> "NoiseAware":
    """The posterior of a release, or of one group of a table."""
    if found.by.columns and group is None:
        raise InvalidInputError(f"a record has groups by {listed(found.by.columns)}: name one of them with --group")
    single: NoiseAware = read(found) if group is None else read(found)[group]
    return single
