"""What several public records say: together (`combine`), or how a probability differs between two of them (`contrast`).

Reading records together spends nothing. What they give away together was decided when they were drawn: the composition of their promises.
`contrast` is about different records, such as those of two years (docs/howto/reading.md, "Several releases").
"""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import CopyWarning, InvalidInputError, RefusedError, TooLargeError
from discreet.inference.contrasts import independent_contrast, vanishing
from discreet.inference.draws import generator, seed_of, seed_of_outcome
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.quantities import Contrast, contrast_columns, contrast_figures
from discreet.inference.reader_priors import agreed_prior
from discreet.inference.several.chains import drawn_posterior
from discreet.inference.several.pooled import counts_of_new_records
from discreet.inference.several.tables import CombinedTable, combined_table
from discreet.inference.tables.table import TablePosterior
from discreet.inference.true_counts import Outcome, counts_of_same_records
from discreet.model.dirichlet import Prior
from discreet.model.size_priors import SizePrior, size_prior_of
from discreet.progress import Progress
from discreet.record.about import CountingRule
from discreet.record.release import Release
from discreet.text import listed
from discreet.validation import check_records, check_share, shown, spelling

if TYPE_CHECKING:
    from discreet.inference.frames import Library


_CHAINS = 1000


class CombineOptions(TypedDict, total=False):
    """The arguments of `combine` that may be left out."""

    prior: Prior | None
    size_prior: Any
    chains: int
    rng: np.random.Generator | int | None
    progress: Progress | None


@overload
def combine(releases: Iterable[Release[Counts]], *, same_data: bool, **options: Unpack[CombineOptions]) -> CombinedTable: ...


@overload
def combine(releases: Iterable[Release[tuple[int, ...]]], *, same_data: bool, **options: Unpack[CombineOptions]) -> NoiseAware: ...


@overload
def combine(releases: Iterable[Release], *, same_data: bool, **options: Unpack[CombineOptions]) -> NoiseAware | CombinedTable: ...


def combine(
    releases: Iterable[Release],
    *,
    same_data: bool,
    prior: Prior | None = None,
    size_prior: Any = None,
    chains: int = _CHAINS,
    rng: np.random.Generator | int | None = None,
    progress: Progress | None = None,
) -> NoiseAware | CombinedTable:
    """The posterior that two or more releases give together. Their order does not matter, and reading them costs no privacy.

    Args:
        releases: public records with the same categories and unit; all of one variable, or all tables of the same groups.
        same_data: True if all are about the same records, as two draws from one dataset are. False if each is about records of its own,
            such as those of another year, of people with the same probabilities.
        prior: what is believed about the categories' probabilities, in every group of a table. Needed if the records' priors differ.
        size_prior: what is believed about each private number of records, as in `Release.noise_aware`.
        chains: how many Markov chains to draw from where sums would be too long.
        rng: a seed or generator for them; a seed that follows from the records if it is left out.
        progress: told the steps done, the steps in all and what they are, where a mechanism's likelihoods take long.

    Returns:
        A `NoiseAware`, which is exact; for releases about different records its counts and its n are those of all of them together. A
        `CombinedDraws`, which answers the same with a Monte Carlo error, where releases about different records leave too many counts
        possible to sum over. Tables give a `CombinedTable`, which has one of these for each group.

    Raises:
        InvalidInputError: the records do not belong together, or their priors differ and none is given.
        TooLargeError: the mechanisms need longer lists than are made.

    A `CopyWarning` says that two releases have the same mechanism and outcome. Two draws may, where few outcomes are likely. Copies of one
    draw would count as two.
    """
    if not isinstance(same_data, (bool, np.bool_)):
        raise InvalidInputError(
            f"same_data must be True (the same records) or False (other records, same probabilities), got {same_data!r}"
        )
    given = _checked(releases)
    if same_data:
        check_one_period(given)
    number, sizes = check_records(chains, "chains"), _size_prior(given, size_prior, bool(same_data))
    if number < 2:
        raise InvalidInputError(f"chains must be 2 or more, so that their spread tells the error; got {number}")
    _warn_of_copies(given)
    reader = _Reader(bool(same_data), sizes, number, progress)
    tables = [release for release in given if release.by.columns]
    seed = seed_of(sorted(seed_of_outcome(release.mechanism, release.raw) for release in given))
    if tables:
        base = int(generator(rng, seed).integers(2**62))
        return combined_table(tables, prior, bool(same_data), partial(_read_group, reader, base))
    outcomes = [Outcome(release.mechanism, tuple(release.raw), release.n) for release in given]
    return reader(agreed_prior([release.prior for release in given], prior), outcomes, generator(rng, seed))


class _Reader:
    """Reads outcomes about one variable together."""

    def __init__(self, same_data: bool, size_prior: SizePrior, chains: int, progress: Progress | None) -> None:
        self.same_data, self.size_prior, self.chains, self.progress = same_data, size_prior, chains, progress

    def __call__(self, prior: Prior, outcomes: Sequence[Outcome], rng: np.random.Generator) -> NoiseAware:
        """The posterior of the outcomes, taken in an order of our own, so that the order given changes nothing."""
        ordered = sorted(outcomes, key=lambda one: repr((one.n, one.mechanism._described(), one.mechanism.prior.exact, one.raw)))
        return replace(self._posterior(prior, ordered, rng), seed=seed_of([seed_of_outcome(one.mechanism, one.raw) for one in ordered]))

    def _posterior(self, prior: Prior, ordered: Sequence[Outcome], rng: np.random.Generator) -> NoiseAware:
        if self.same_data:
            n = _one_total(ordered)
            return NoiseAware(prior, n, counts_of_same_records(prior, n, ordered, self.size_prior, self.progress))
        if any(one.mechanism._levels is not None for one in ordered):
            raise RefusedError("records of several levels are combined about the same data alone: same_data=True")
        held = [one for one in ordered if one.n != 0] or ordered[:1]
        if len(held) == 1:
            return NoiseAware(prior, held[0].n, counts_of_same_records(prior, held[0].n, held, self.size_prior, self.progress))
        totals = [one.n for one in held if one.n is not None]
        n = sum(totals) if len(totals) == len(held) else None
        try:
            return NoiseAware(prior, n, counts_of_new_records(prior, held, self.size_prior, self.progress))
        except TooLargeError:
            return drawn_posterior(prior, held, self.size_prior, self.chains, rng)


def _read_group(reader: _Reader, base: int, group: int, prior: Prior, outcomes: Sequence[Outcome]) -> NoiseAware:
    """Read one group of a table, with draws of its own where draws are needed."""
    return reader(prior, outcomes, np.random.default_rng([base, group]))


def _one_total(outcomes: Sequence[Outcome]) -> int | None:
    """The number of records that some outcome makes public; all that do must agree."""
    public = sorted({one.n for one in outcomes if one.n is not None})
    if len(public) > 1:
        fault = f"releases about the same records have one n, and these say n = {listed([str(n) for n in public])}"
        meant = "they are about different records"
        raise InvalidInputError(f"{fault}: with same_data=False {meant}", in_shell=f"{fault}: with --new-data {meant}")
    return public[0] if public else None


# --- what belongs together --------------------------------------------------------------------------------------------


def _checked(releases: Iterable[Release]) -> list[Release]:
    if isinstance(releases, (Release, str, bytes)) or not isinstance(releases, Iterable):
        raise InvalidInputError("give a list of two or more releases, as combine([first, second], same_data=True)")
    given = list(releases)
    for release in given:
        if not isinstance(release, Release):
            raise InvalidInputError(f"combine takes releases, as Release.from_json reads them, not {type(release).__name__}")
    if len(given) < 2:
        fault = f"combine takes two or more releases, got {len(given)}"
        raise InvalidInputError(f"{fault}; one has noise_aware()", in_shell=f"{fault}; one is shown by discreet show")
    if len({id(release) for release in given}) < len(given):
        raise InvalidInputError("a release is given twice: it is one draw, and would count as two")
    for release in given:
        if not release.mechanism._is_outcome(release.raw):
            raise InvalidInputError(f"raw is not a possible outcome of {release.mechanism.title} with these parameters")
    if len({bool(release.by.columns) for release in given}) > 1:
        raise InvalidInputError("some of these releases are tables and some are of one variable; combine those of one kind")
    ours = [release for release in given if release.guarantee.basis != "none"]  # what others count in is not known
    _alike(ours, lambda release: release.guarantee.unit, lambda release: f"{release.guarantee.unit}s", "units")
    _alike(
        given,
        lambda release: [*map(spelling, release.prior.categories)],
        lambda release: ", ".join(shown(str(category)) for category in release.prior.categories[:5]),
        "categories",
    )
    _check_counted_alike(given)
    return given


def drawn_alike(one: Release, other: Release) -> bool:
    """Return whether two records may be copies of one draw. They need not: two draws have the same outcome now and then."""
    return one.mechanism == other.mechanism and np.array_equal(one.raw, other.raw)


def _warn_of_copies(given: Sequence[Release]) -> None:
    for one, other in combinations(given, 2):
        if drawn_alike(one, other):
            warnings.warn(
                "two of these releases have the same mechanism and the same outcome; if they are copies of one draw, it counts as two here",
                CopyWarning,
                stacklevel=3,
            )
            return


def _alike(given: Sequence[Release], value: Callable[[Release], Any], words: Callable[[Release], str], what: str) -> None:
    """Refuse releases that differ in something, and say how the first two that do."""
    for release in given[1:]:
        if value(release) != value(given[0]):
            raise InvalidInputError(f"releases with different {what} are not combined: one has {words(given[0])}, another {words(release)}")


def check_one_period(given: Sequence[Release]) -> None:
    """Refuse releases of different periods, which are not about the same records."""
    _alike(given, lambda release: release.guarantee.period, lambda release: str(release.guarantee.period or "none"), "periods")


def _check_counted_alike(given: Sequence[Release]) -> None:
    """Refuse records that say that they were counted in different ways; the names of columns may differ from year to year."""
    rules = [release.about.counting for release in given if release.about is not None and release.about.counting is not None]
    ways = [_way(rule) if isinstance(rule, CountingRule) else rule for rule in rules]
    if any(way != ways[0] for way in ways[1:]):
        raise InvalidInputError(
            "releases that were counted in different ways are not combined: their counting rules differ in what became of missing or "
            "undeclared answers, in persons or rows, weights, or other spellings (discreet show tells them)"
        )


def _way(rule: CountingRule) -> tuple[object, ...]:
    """Return the way in which a rule counts, whatever its columns are called and in whatever order it names values."""
    unordered = (frozenset((spelling(value), True) for value in rule.na_values), frozenset(rule.mapping), frozenset(rule.other_groups))
    return (rule.unit, rule.weight is None, rule.nulls, rule.other, rule.strict, rule.spelling, *unordered)


def _size_prior(given: Sequence[Release], size_prior: Any, same_data: bool) -> SizePrior:
    private = [release.n is None for release in given]
    if size_prior is not None and not (all(private) if same_data else any(private)):
        raise InvalidInputError("size_prior is for a private number of records; these releases say what it is: leave it out")
    return size_prior_of("flat" if size_prior is None else size_prior)


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
