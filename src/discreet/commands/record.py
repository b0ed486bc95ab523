"""A public record in words: what `release` prints of what it drew, and `show` of what it was given."""

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from discreet.commands.options import Lines, print_lines, print_table
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.release import Guarantee, Release

__all__ = ["print_record", "promise"]


def print_record(found: "Release", before: Lines = (), after: Lines = ()) -> None:
    """The posterior as a table, and what is promised about it; with what else a command has to say."""
    print_table(_table(found))
    print_lines([*before, *_lines(found), *after])


def promise(guarantee: "Guarantee") -> str:
    """The guarantee without the words of the theory."""
    if guarantee.basis == "none":
        return str(guarantee)
    differ = "one person's answers" if guarantee.unit == "person" else "one row"
    return f"{str(guarantee).partition(';')[0]}; it compares datasets that differ in {differ}"


def _lines(found: "Release") -> Lines:
    people = found.guarantee.unit == "person"
    name = found.mechanism.title
    best = ", the most accurate one with a proof: within a few percent of the best possible" if name == "LatticeGeometric" else ""
    protected = "a person answered, in all their rows; not that they took part" if people else "a row says; not that it is in the data"
    return [
        ("Promise", promise(found.guarantee)),
        ("Protected", f"what {protected}" if found.guarantee.basis != "none" else "nothing"),
        ("Public", f"n = {found.n:,} {'persons' if people else 'records'}, the categories, the prior and the mechanism"),
        ("Mechanism", f"{name}{best}"),
    ]


def _table(found: "Release") -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    table = Table(title="Private posterior")
    table.add_column("category")
    for name in ("reported\ncount", "mean", "95 % interval,\nnoise allowed for"):
        table.add_column(name, justify="right", no_wrap=True)
    try:
        posterior = found.noise_aware()
        means = [f"{mean:.4f}" for mean in posterior.mean()]
        intervals = [f"{low:.4f} to {high:.4f}" for low, high in posterior.interval(0.95)]
    except DiscreetError as error:
        means = intervals = ["not available"] * len(found.counts)
        table.caption = Text(str(error))
    for row in zip(found.prior.categories, found.counts, means, intervals, strict=True):
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
