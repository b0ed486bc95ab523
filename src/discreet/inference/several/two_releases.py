"""`contrast`: how a probability differs between two releases about different records, such as those of two years."""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.contrasts import independent_contrast, vanishing
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.quantities import Contrast, contrast_columns, contrast_figures
from discreet.inference.tables.table import TablePosterior
from discreet.record.release import Release
from discreet.validation import check_share

if TYPE_CHECKING:
    from discreet.inference.frames import Library

Readable = Release | NoiseAware | TablePosterior
"""A release, or its posterior under a prior of the reader's own."""


def contrast(first: Readable, second: Readable, category: Any, mass: float = 0.95, library: "Library" = "pandas") -> Any:
    """Compare the probability of a category in two releases about different records, the first against the second.

    The records must be those of different people: the two posteriors are then independent, and what is known about both together is their
    product. Two draws from the same records are no such pair; `combine(..., same_data=True)` reads them together.

    Args:
        first: A release, or a posterior of one, which `noise_aware(prior)` gives under a prior of the reader's own.
        second: The one that it is compared with: of one variable too, or a table of the same groups.
        category: The label of a category that both have, or a list of labels: the probability is then that of any of them.
        mass: How much probability the intervals of a frame hold.
        library: "pandas", "polars" or "arrow".

    Returns:
        A `Contrast` with the difference, the ratio and the odds ratio. Of two tables a frame with a row for each group: the columns of the
        groups, `difference`, `ratio` and `odds_ratio`, each a median with the columns `_low` and `_high`, and `probability`, that the
        category is more likely in the first. Groups in which there is nothing to infer are left out.

    Raises:
        InvalidInputError: Both are the same release, their units or groups differ, one is a table and the other is not, or a category is
            unknown.
    """
    _check_different(first, second)
    one, other = (given.noise_aware() if isinstance(given, Release) else given for given in (first, second))
    if isinstance(one, NoiseAware) and isinstance(other, NoiseAware):
        return replace(of_one_variable(one, other, category), again=partial(contrast, first, second, category))
    if not isinstance(one, TablePosterior) or not isinstance(other, TablePosterior):
        raise InvalidInputError("a contrast compares two releases of one variable, or two tables; one of these is a table")
    if one.by != other.by:
        raise InvalidInputError("a contrast of two tables compares the same groups; these have different ones")
    from discreet.inference.frames import group_columns, labelled_frame  # Arrow is slow to load

    share = check_share(mass, "mass")
    rows = {group: contrast_figures(found, share) for group, found in _by_group(one, other, category)}
    return labelled_frame(group_columns(one.by, list(rows)), contrast_columns(list(rows.values())), library)


def _check_different(first: Readable, second: Readable) -> None:
    for given in (first, second):
        if not isinstance(given, (Release, NoiseAware, TablePosterior)):
            raise InvalidInputError(f"contrast takes two releases, as dc.read reads them, or two posteriors; got {type(given).__name__}")
    if first is second or (isinstance(first, Release) and isinstance(second, Release) and first == second):
        raise InvalidInputError("a contrast compares releases about different records, and this is the same release twice")
    if isinstance(first, Release) and isinstance(second, Release) and first.guarantee.unit != second.guarantee.unit:
        raise InvalidInputError(f"one of these releases counts {first.guarantee.unit}s and the other {second.guarantee.unit}s")


def of_one_variable(
    first: NoiseAware, second: NoiseAware, category: Any, names: tuple[Hashable, Hashable] = ("first", "second")
) -> Contrast:
    """Compare the probability of a category in two posteriors about different records."""
    laws = first.marginal(category), second.marginal(category)
    one, other = (
        vanishing((float(a), float(given.prior.exact_total - a)), given.counts.first, chosen)
        for given in (first, second)
        for chosen in [given._chosen(category)]
        for a in [sum(given.prior.exact[i] for i in chosen)]
    )
    return independent_contrast(*laws, names=names, priors=(one, other))


def _by_group(first: TablePosterior, second: TablePosterior, category: Any) -> Iterator[tuple[int, Contrast]]:
    """The contrasts of all groups in which there is something to infer in both tables, with their positions."""
    groups = set(first._comparable(first._chosen(category))) & set(second._comparable(second._chosen(category)))
    if len(groups) > limits.CONTRASTS:
        raise TooLargeError(f"a frame has up to {limits.CONTRASTS:,} comparisons, and these would be {len(groups):,}: compare some groups")
    for position in sorted(groups):
        laws = (table._whole_row(position).marginal(category) for table in (first, second))
        yield position, independent_contrast(*laws)
