"""A public record in words and in fields: what `release` prints of what it drew, and `show` of what it was given."""

from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet.commands.options import Lines, cell, print_lines, print_table
from discreet.errors import DiscreetError, TooLargeError

if TYPE_CHECKING:
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release

MASS = 0.95
"""Probability of the intervals that are shown if no other is asked for."""
_MOST_CATEGORIES, _MOST_WORK = 100, 1 << 26
"""Up to here the intervals of a record, whoever wrote it, take seconds and some hundred megabytes."""

_MOST_ROWS = 999
"""Of a table; nobody reads more, and laying them out takes longer than all else."""


def print_record(
    found: "Release",
    before: Lines = (),
    after: Lines = (),
    *,
    mass: float = MASS,
    slow: bool = False,
    computed: bool = True,
    err: bool = False,
) -> None:
    """The posterior as a table, and what is promised about it; with what else a command has to say.

    `computed` says whether a promise by computation was computed here, and is not only what a record says. With `err` all of it is
    printed on standard error.
    """
    print_table(_table(found, mass, slow=slow), err=err)
    print_lines([*before, *_lines(found, computed=computed), *after], err=err)


def promise(guarantee: "Guarantee") -> str:
    """The guarantee without the words of the theory."""
    if guarantee.basis == "none":
        return str(guarantee)
    differ = "one person's answers" if guarantee.unit == "person" else "one record"
    return f"{str(guarantee).partition(';')[0]}; it compares datasets that differ in {differ}"


def guarantee_fields(guarantee: "Guarantee") -> dict[str, Any]:
    """The fields of a guarantee; ε and δ are None where nothing is promised."""
    promised = guarantee.basis != "none"
    return {
        "epsilon": guarantee.epsilon if promised else None,
        "delta": guarantee.delta if promised else None,
        "basis": guarantee.basis,
        "unit": guarantee.unit,
        "neighbours": guarantee.neighbours,
    }


def record_fields(found: "Release", mass: float = MASS, *, slow: bool = False) -> dict[str, Any]:
    """What `show` says as fields, with None for what is not available. docs/release.md describes them."""
    from discreet.record.json import written_label

    try:
        rows: list[Any] = _noise_aware(found, mass, slow=slow)
        reason = None
    except DiscreetError as error:
        rows, reason = [(None, None, None)] * len(found.counts), error.in_shell
    shares = found.prior.plus(found.counts).concentration
    return {
        "mechanism": found.mechanism.title,
        "n": found.n,
        "guarantee": guarantee_fields(found.guarantee),
        "verified": {"proof": True, "computation": False, "none": None}[found.guarantee.basis],
        "mass": mass,
        "not_available": reason,
        "categories": [
            {"category": written_label(c), "reported_count": x, "reported_mean": float(share), "mean": mean, "low": low, "high": high}
            for c, x, share, (mean, low, high) in zip(found.prior.categories, found.counts, shares / shares.sum(), rows, strict=True)
        ],
    }


def check_work(found: "Release") -> None:
    """Refuse, by what is in a record alone, intervals that would take minutes or gigabytes."""
    k = len(found.counts)
    if k > _MOST_CATEGORIES:
        raise TooLargeError(f"the intervals of {k:,} categories take a while: discreet show RECORD --slow computes them")


def _noise_aware(found: "Release", mass: float, *, slow: bool) -> list[tuple[float, float, float]]:
    if not slow:
        check_work(found)
    posterior = found.noise_aware()
    if not slow and posterior.work > _MOST_WORK:
        raise TooLargeError("the intervals of this outcome take a while and much memory: discreet show RECORD --slow computes them")
    return [(float(mean), float(low), float(high)) for mean, (low, high) in zip(posterior.mean(), posterior.interval(mass), strict=True)]


def _lines(found: "Release", *, computed: bool) -> Lines:
    people = found.guarantee.unit == "person"
    protected = "a person answered, in all their rows; not that they took part" if people else "a record says; not that it is in the data"
    claimed = "" if computed or found.guarantee.basis != "computation" else "not verified; the record claims "
    return [
        ("Promise", f"{claimed}{promise(found.guarantee)}"),
        ("Protected", f"{'if that is so, ' if claimed else ''}what {protected}" if found.guarantee.basis != "none" else "nothing"),
        ("Public", f"n = {found.n:,} {'persons' if people else 'records'}, the categories, the prior and the mechanism"),
        ("Mechanism", found.mechanism.title),
    ]


def _table(found: "Release", mass: float, *, slow: bool) -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    table = Table(title="Private posterior")
    table.add_column("category")
    for name in ("reported\ncount", "mean", f"{100.0 * mass:g} % interval,\nnoise allowed for"):
        table.add_column(name, justify="right", no_wrap=True)
    try:
        rows = _noise_aware(found, mass, slow=slow)
        means = [f"{mean:.4f}" for mean, _, _ in rows]
        intervals = [f"{low:.4f} to {high:.4f}" for _, low, high in rows]
    except DiscreetError as error:
        means = intervals = ["not available"] * len(found.counts)
        table.caption = cell(error.in_shell)
    rows_shown = zip(found.prior.categories, found.counts, means, intervals, strict=True)
    for row in islice(rows_shown, _MOST_ROWS):
        table.add_row(*map(cell, row))
    if len(found.counts) > _MOST_ROWS:
        table.add_row(f"{len(found.counts) - _MOST_ROWS:,} more: --json")
    return table
