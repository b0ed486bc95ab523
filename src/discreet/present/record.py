"""A public record in words and in fields: what `release` prints of what it drew, and `show` of what it was given."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.present.about import about_fields, about_lines
from discreet.present.how_read import AS_RELEASED, HowRead, NoiseIntervals, moved_by_prior, whose_lines
from discreet.present.progress import progress_bar
from discreet.present.table_record import MOST_ROWS, group_fields, group_sizes, laid_out, sizes_laid_out, table_figures
from discreet.present.terminal import Lines, cell, notice, print_lines, print_table
from discreet.text import in_percent, listed

if TYPE_CHECKING:
    from discreet.inference.noise_aware import NoiseAware
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release

_MOST_CATEGORIES, _MOST_WORK = 100, 1 << 26
"""Up to here the intervals of a record, whoever wrote it, take seconds and some hundred megabytes."""
_MOST_PAIRS = 2_000_000_000
"""Pairs of possible counts whose distances take some ten seconds."""


def print_record(
    found: "Release",
    after: Lines = (),
    how: HowRead = AS_RELEASED,
    *,
    computed: bool = True,
    hint: str = "",
    err: bool = False,
) -> None:
    """The posterior as a table, and what is promised about it; with what else a command has to say.

    `hint` is put after the words about rows that are records. `computed` says whether a promise by computation was computed here, and is
    not only what a record says. With `err` all of it is printed on standard error.
    """
    noise, mass = NoiseIntervals.of(found, how), how.mass
    if found.by.columns:
        aware, cells = NoiseAwareFigures(), table_figures(found, how)
        print_table(laid_out(found, cells, noise, how), err=err)
        _print_sizes(found, mass, how.reader, err=err)
        none, caution = cells.none, cells.caution(found, noise)
    else:
        aware = noise_aware_figures(found, how)
        print_table(_table(found, aware, noise, how), err=err)
        none, caution = aware.none, aware.caution(found, noise)
    lines = [*about_lines(found, hint), *whose_lines(found, how, none, noise), *prior_lines(how.reader), *_size_line(found, aware, mass)]
    print_lines([*lines, *promise_lines(found, computed=computed), *after], err=err)
    if caution is not None:
        notice(caution)


def _print_sizes(found: "Release", mass: float, reader: "Dirichlet | None", *, err: bool) -> None:
    """How many records each group has, where nothing about that is public."""
    groups = len(found.cells.groups)
    if found.n is None and groups > limits.GROUP_SIZES:
        words = (
            f"private; those of {groups:,} groups are not shown, of up to {limits.GROUP_SIZES:,} they are: posterior.size(group) has one"
        )
        print_lines([("Sizes", words)], err=err)
    elif sizes := group_sizes(found, mass, reader):
        print_table(sizes_laid_out(found, sizes, mass), err=err)


def promise(guarantee: "Guarantee") -> str:
    """The guarantee without the words of the theory."""
    if guarantee.basis == "none":
        return str(guarantee)
    differ = "one person's answers" if guarantee.unit == "person" else "one record"
    stays = f" and in nobody's {guarantee.neighbours.columns}" if guarantee.neighbours.within else ""
    compared = f"with and without one {guarantee.unit}" if guarantee.hides_presence else f"that differ in {differ}{stays}"
    return f"{guarantee.level} differential privacy by {guarantee.grounds}; it compares datasets {compared}"


def guarantee_fields(guarantee: "Guarantee") -> dict[str, Any]:
    """The fields of a guarantee; ε and δ are None where nothing is promised."""
    promised = guarantee.basis != "none"
    return {
        "epsilon": guarantee.epsilon if promised else None,
        "delta": guarantee.delta if promised else None,
        "basis": guarantee.basis,
        "unit": guarantee.unit,
        "neighbours": str(guarantee.neighbours),
    }


def record_fields(found: "Release", how: HowRead = AS_RELEASED) -> dict[str, Any]:
    """What `show` says as fields, with None for what is not available. docs/reference/release.md describes them."""
    from discreet.record.json import written_label

    known = {
        "about": about_fields(found),
        "mechanism": found.mechanism.title,
        "n": found.n,
        "guarantee": guarantee_fields(found.guarantee),
        "verified": {"proof": True, "computation": False, "none": None}[found.guarantee.basis],
        "mass": how.mass,
        "reader_prior": None if how.reader is None else how.reader.concentration.tolist(),
        "shares_of": how.about,
    }
    noise = NoiseIntervals.of(found, how)
    if found.by.columns:
        return known | group_fields(found, noise, how)
    aware = noise_aware_figures(found, how)
    rows: Sequence[Any] = aware.rows or [(None, None, None)] * len(found.counts)
    shares = found.prior.plus(found.counts).concentration
    return known | {
        "size": None if aware.size is None else dict(zip(("mean", "low", "high"), aware.size, strict=True)),
        "not_available": aware.reason,
        **noise.fields(aware.none),
        "categories": [
            {"category": written_label(c), "reported_count": x, "reported_mean": float(share), "mean": mean, "low": low, "high": high}
            | noise.row((0, i))
            for i, (c, x, share, (mean, low, high)) in enumerate(
                zip(found.prior.categories, found.counts, shares / shares.sum(), rows, strict=True)
            )
        ],
    }


def check_work(found: "Release") -> None:
    """Refuse, by what is in a record alone, intervals that would take minutes or gigabytes."""
    k = len(found.counts)
    if k > _MOST_CATEGORIES:
        raise TooLargeError(f"the intervals of {k:,} categories take a while: discreet show RECORD --slow computes them")
    check_pairs([found], "discreet show RECORD --slow")


def check_pairs(found: "Sequence[Release]", typed: str) -> None:
    """Refuse records whose intervals go through so many pairs of possible counts that it takes minutes; `typed` computes them."""
    if (pairs := pairs_of(found)) > _MOST_PAIRS:
        whose = "this record" if len(found) == 1 else "these records"
        raise TooLargeError(
            f"the intervals of {whose} go through about {pairs:,} pairs of possible counts, for a minute or more: {typed} computes them"
        )


def pairs_of(found: "Sequence[Release]") -> int:
    """How many pairs of possible counts the intervals of these records go through, if they are many: once for each mechanism."""
    from discreet.inference.capabilities import capabilities

    listed = {one.mechanism for one in found if one.mechanism.noise is None}
    return sum(capabilities(mechanism).noise_aware_pairs or 0 for mechanism in listed)


@dataclass(frozen=True)
class NoiseAwareFigures:
    """What the noise-aware posterior says, each as a mean and an interval."""

    rows: Sequence[tuple[float, float, float]] = ()
    """Of each category's share."""
    size: tuple[float, int, int] | None = None
    """Of the number of records, if that is private."""
    reason: str | None = None
    """Why there is nothing, if so."""
    none: float | None = None
    """The probability that there are no records, where shares are those of the records and their number is private."""

    def caution(self, found: "Release", noise: NoiseIntervals) -> str | None:
        """What is to be said where the prior moves shares out of the intervals of the noise."""
        if noise.ends is None or self.reason is not None:
            return None
        return moved_by_prior(found.prior.categories, [mean for mean, _, _ in self.rows], noise.ends[0].tolist())


def noise_aware_figures(found: "Release", how: HowRead, read: "Callable[[], NoiseAware] | None" = None) -> NoiseAwareFigures:
    """Means and intervals, where they can be computed. `read` gives the posterior, where it is not to be computed here."""
    try:
        if not how.slow:
            check_work(found)
        if read is not None:
            posterior = read()
        else:
            with progress_bar() if pairs_of([found]) else nullcontext() as tell:
                posterior = found.noise_aware(how.reader, progress=tell)
        if not how.slow and posterior.work > _MOST_WORK:
            raise TooLargeError("the intervals of this outcome take a while and much memory: discreet show RECORD --slow computes them")
        asked = posterior.records if how.of_records else posterior
        shares = zip(asked.mean(), asked.interval(how.mass), strict=True)
        rows = [(float(mean), float(low), float(high)) for mean, (low, high) in shares]
        size = None if found.n is not None else posterior.size
        if size is None:
            return NoiseAwareFigures(rows)
        fewest, most = size.interval(how.mass)
        none = float(size.pmf(0)) if how.of_records else None
        return NoiseAwareFigures(rows, (float(size.mean()), int(fewest), int(most)), none=none)
    except DiscreetError as error:
        return NoiseAwareFigures(reason=error.in_shell)


def prior_lines(reader: "Dirichlet | None") -> Lines:
    """Which prior was used, if it is not the record's."""
    return [] if reader is None else [("Prior", f"yours, in place of the record's: {', '.join(f'{a:g}' for a in reader.concentration)}")]


def promise_lines(found: "Release", *, computed: bool) -> Lines:
    """What a release promises, what that protects and what is public, each in words."""
    claimed = "" if computed or found.guarantee.basis != "computation" else "not verified; the record claims "
    return [
        ("Promise", f"{claimed}{promise(found.guarantee)}"),
        ("Protected", f"{'if that is so, ' if claimed else ''}{_protected(found)}"),
        ("Public", _public(found)),
        ("Mechanism", found.mechanism.title),
    ]


def _protected(found: "Release") -> str:
    """What nobody can tell from a release, and what they can. In a table, also whether the group is told."""
    if found.guarantee.basis == "none":
        return "nothing"
    kept, columns = found.guarantee.neighbours.columns, listed(found.by.columns)
    person = found.guarantee.unit == "person"
    whose, presence = ("their", "that they took part") if person else ("its", "that it is in the data")
    rule = None if found.about is None else found.about.counting
    rows = "in the one row that each has" if rule and not isinstance(rule, str) and rule.one_row_per_person else "in all their rows"
    answer = f"what a person answered, {rows}" if person else "what a record says"
    group = f", {whose} {columns} included" if columns else ""
    if found.guarantee.hides_presence:
        hidden = "whether a person took part, and what they answered" if person else "whether a record is in the data, and what it says"
        return f"{hidden}{group}"
    return f"{answer}; not {whose} {kept}, and not {presence}" if kept else f"{answer}{group}; not {presence}"


def _public(found: "Release") -> str:
    units, space = f"{found.guarantee.unit}s", found.mechanism.space
    context = f"{'the groups, ' if found.by.columns else ''}the categories, the prior and the mechanism"
    if found.n is None:
        return f"{context}; not exactly how many {units} there are"
    sizes = f" and how many there are in each group by {space.relation.columns}" if space.relation.within else ""
    return f"n = {found.n:,} {units}{sizes}, {context}"


def _size_line(found: "Release", aware: NoiseAwareFigures, mass: float) -> Lines:
    """How many records there may be, if that is private."""
    if aware.size is None:
        return []
    mean, low, high = aware.size
    estimate = f"about {mean:,.0f}, between {low:,} and {high:,} with probability {100.0 * mass:g} % or more"
    return [(f"{found.guarantee.unit.title()}s", f"estimated from the noisy counts: {estimate}")]


def _table(found: "Release", aware: NoiseAwareFigures, noise: NoiseIntervals, how: HowRead) -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    table = Table(title="Private posterior")
    table.add_column("category")
    for name in how.headings:
        table.add_column(name, justify="right", no_wrap=True)
    if aware.reason is None:
        figures = in_percent(aware.rows[:MOST_ROWS])
    else:
        figures = [("not available", "not available")] * len(found.counts[:MOST_ROWS])
        table.caption = cell(aware.reason)
    beside = noise.words([(0, i) for i in range(len(figures))])
    for category, count, numbers, alone in zip(found.prior.categories, found.counts, figures, beside, strict=False):
        table.add_row(*map(cell, (category, count, *numbers, *alone)))
    if len(found.counts) > MOST_ROWS:
        table.add_row(f"{len(found.counts) - MOST_ROWS:,} more: --json")
    return table
