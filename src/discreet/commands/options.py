"""What several commands share: options as text, and one way to print and to fail."""

import csv
import json
import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import exp, isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from discreet.errors import CopyWarning, DiscreetError, InvalidInputError
from discreet.text import is_plain, plain

if TYPE_CHECKING:
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release
    from discreet.validation import Public

FAILED = 1
"""Exit code of a command whose answer is no."""
_BAD_INPUT = 2
LEDGER_VARIABLE = "DISCREET_LEDGER"
"""The environment variable that names the ledger where a command is not told one."""
_LONGEST_SIZE = 6
"""Digits of a number of categories."""
_WIDEST, _NARROW = 10_000, 12
"""Columns: more than any terminal has, and what text can be folded to before it is hard to read."""

MECHANISM_NAMES = (
    "LatticeGeometric, LaplaceHistogram, LaplaceZhang, LaplaceDimension, "
    "HellingerSmooth, HellingerSmoothDelta, HellingerGlobal, HellingerLocal"
)
"""Written out, because help must not have to load them."""
MECHANISM_HELP = f"{MECHANISM_NAMES}, or a name of the papers; also as Remapped(...) or Calibrated(...)"
ERROR_SCALE = (
    "Errors are Hellinger distances from the true posterior to the reported one: 0 the same, 1 nothing in common; "
    "0.05 is hard to see in a plot, 0.2 shifts an interval by about half a standard deviation."
)

PriorOption = Annotated[
    str, typer.Option("--prior", help="Concentrations such as 1,1,1, or uniform:K or jeffreys:K for K categories.", show_default=True)
]
ReaderPriorOption = Annotated[
    str | None,
    typer.Option("--prior", help="Your own prior in place of the record's: a concentration for each category, uniform or jeffreys."),
]
SlowOption = Annotated[bool, typer.Option("--slow", help="Compute it also where that takes minutes: many possible counts.")]
RecordsOption = Annotated[int, typer.Option("--n", "-n", help="Number of records; with --public nothing, a guess of it.")]
_PUBLIC_HELP = (
    "What is published about the data beside the release: total, the number of records (or persons), so that only what someone answered "
    "is hidden; {sizes}or nothing, so that it is also hidden whether someone took part."
)
PublicOption = Annotated[str, typer.Option("--public", help=_PUBLIC_HELP.format(sizes=""))]
TablePublicOption = Annotated[
    str,
    typer.Option("--public", help=_PUBLIC_HELP.format(sizes="with --by, sizes, those of every group, so that groups are not hidden; ")),
]
EpsilonOption = Annotated[str, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.")]
MechanismOption = Annotated[str, typer.Option("--mechanism", "-m", help=f"{MECHANISM_HELP}.")]
GammaOption = Annotated[
    str | None, typer.Option(help='For HellingerSmooth: a number, or "best". Leave it unless you reproduce the papers.')
]
DeltaOption = Annotated[str | None, typer.Option(help="For HellingerSmoothDelta. Leave it unless you reproduce the papers.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

Lines = Sequence[tuple[str, str]]
"""A word, and what there is to say about it."""


class _PlainFlags:
    """Help in which a flag has no type: `<bool>` after it looks as if a value were wanted."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class Command(_PlainFlags, TyperCommand):
    """A command of ours."""


class Group(_PlainFlags, TyperGroup):
    """Commands under one name."""


def parse_list(text: str, option: str) -> list[str]:
    """The parts of one line of CSV, without the blanks around them: one that holds a comma is put in double quotes."""
    from discreet.validation import shown

    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise InvalidInputError(
            f"{option} must be one line, separated by commas, with double quotes around a part that has one, as in '\"a,b\",c'; "
            f"got {shown(text)!r}"
        ) from None
    return [part.strip() for row in rows for part in row]


def parse_number(text: str, option: str) -> Fraction:
    """The number that a decimal or a fraction stands for, exactly."""
    from discreet.validation import exact, shown

    try:
        return exact(text, option)
    except InvalidInputError:
        raise InvalidInputError(f"{option} must be a number such as 0.5 or 1/3, got {shown(text)!r}") from None


def parse_share(text: str, option: str) -> Fraction:
    """A number, or a percentage such as 4%, exactly."""
    given = text.strip()
    return parse_number(given[:-1].rstrip(), option) / 100 if given.endswith("%") else parse_number(text, option)


def parse_mass(text: str) -> float:
    """How much probability an interval holds."""
    from discreet.validation import shown

    try:
        level = float(parse_share(text, "--mass"))
    except InvalidInputError:
        level = 0.0
    if not 0.0 < level < 1.0:
        raise InvalidInputError(f"--mass must be a number between 0 and 1, such as 0.9 or 90%, got {shown(text)!r}")
    return level


def parse_public(text: str, *, groups: bool = False) -> "Public":
    """What is public about the data: "total" or "nothing", and "sizes" where there are groups."""
    from discreet.validation import check_public

    return check_public(text, "--public", groups=groups)


def mechanism_options(gamma: str | None, delta: str | None) -> dict[str, Any]:
    """Those of a mechanism's options that were given."""
    options: dict[str, Any] = {} if gamma is None else {"gamma": gamma if gamma == "best" else parse_number(gamma, "--gamma")}
    return options | ({} if delta is None else {"delta": parse_number(delta, "--delta")})


def parse_prior(text: str, categories: Sequence[Hashable] | None = None, option: str = "--prior") -> "Dirichlet":
    """The prior that a text such as `1,1`, `uniform:3` or, where the categories are known, `uniform` stands for."""
    from discreet.model.dirichlet import Dirichlet
    from discreet.validation import shown

    family, colon, size = text.partition(":")
    named = {"uniform": Dirichlet.uniform, "jeffreys": Dirichlet.jeffreys}
    if family in named:
        k = _size(text, family, size if colon else None, categories, option)
        return named[family](k, categories)
    parts = parse_list(text, option)
    if categories is not None and len(parts) != len(categories):
        many = len(categories)
        raise InvalidInputError(f"{option} must be uniform, jeffreys or {many} numbers, one for each category; got {shown(text)!r}")
    try:
        return Dirichlet(parts, categories)
    except InvalidInputError:
        names = "uniform:K, jeffreys:K" if categories is None else "uniform, jeffreys"
        raise InvalidInputError(
            f"{option} must be {names} or a number from 1e-100 to 1e100 for each of two or more categories, such as 1,1 or 1/2,1/2; "
            f"got {shown(text)!r}"
        ) from None


def parse_reader_prior(text: str | None, found: "Release") -> "Dirichlet | None":
    """A reader's prior over the categories of a record, if one is given."""
    return None if text is None else parse_prior(text, found.prior.categories)


def _size(text: str, family: str, size: str | None, categories: Sequence[Hashable] | None, option: str) -> int:
    """The number of categories that a named prior is for: as it says, as the categories are, and not two things at once."""
    from discreet.validation import shown

    known = None if categories is None else len(categories)
    if size is None and known is not None:
        return known
    if size is None or not (size.isascii() and size.isdigit() and len(size) <= _LONGEST_SIZE and int(size) >= 2):
        raise InvalidInputError(f"{option} must name two or more categories after the colon, such as {family}:3; got {shown(text)!r}")
    if known not in (None, int(size)):
        raise InvalidInputError(f"{option} is for {int(size)} categories, and there are {known}: write {option} {family}")
    return int(size)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn an error raised on purpose into one line on standard error and exit code 2: never a traceback."""
    try:
        yield
    except DiscreetError as error:
        _print_line("bold red", "error", " ".join(error.in_shell.splitlines()))
        raise typer.Exit(_BAD_INPUT) from None


def notice(text: str) -> None:
    """One line on standard error, whatever standard output is used for."""
    _print_line("bold yellow", "notice", text)


def _print_line(style: str, word: str, text: str) -> None:
    console = Console(stderr=True, highlight=False, emoji=False)
    console.print(Text.assemble((f"{word}:", style), " ", plain(text)), soft_wrap=True)


@contextmanager
def warnings_as_notices() -> Iterator[None]:
    """Show warnings of discreet that are meant for whoever asked as notices."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CopyWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, CopyWarning):
                notice(str(message))
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        yield


def notice_little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> None:
    """Say it where ε is so small for n records that only the prior speaks. Where n is private it is a guess."""
    said = little_said(n, epsilon, public)
    if said is not None:
        notice(said)


def little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> str | None:
    """What is to be said where only the prior speaks, and None where the data do too."""
    from discreet.analysis.privacy import only_prior_speaks

    steps = n if public == "total" else 2 * n  # to replace a record is to remove one and to add another
    if not only_prior_speaks(steps, epsilon):
        return None
    factor, size = f"{exp(steps * epsilon):.2f}", "datasets" if public == "total" else "datasets of this size"
    return (
        f"ε is so small for n = {n:,} that only the prior speaks: whatever the data are, a release changes the odds between any two "
        f"{size} by a factor of at most {factor}"
    )


def cell(value: Any) -> Text:
    """A value as a cell of a table, without markup and without characters that a terminal would obey."""
    return Text(plain(value))


def print_table(table: Table, *, err: bool = False) -> None:
    """Print a table whole: columns that may not be wrapped keep their width, even where lines then run on, and no cell is cut.

    Foreign text is put into a table as a `cell`. With `err` it is printed on standard error.
    """
    console = Console(highlight=False, emoji=False, stderr=err)
    folding = [column for column in table.columns if not column.no_wrap]
    for column in table.columns:
        if column.no_wrap:  # Rich takes the longest word for the least width of a column, also where it may not break lines
            column.min_width = max(Measurement.get(console, console.options, part).maximum for part in (column.header, *column.cells))
    for column in folding:
        column.overflow, column.max_width = "fold", _NARROW
    narrowest = Measurement.get(console, console.options.update(width=_WIDEST), table).minimum
    for column in folding:
        column.max_width = None
    Console(highlight=False, emoji=False, stderr=err, width=max(console.width, narrowest)).print(table)


def print_lines(lines: Lines, *, err: bool = False) -> None:
    """Each word before its text, which is wrapped beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for word, text in lines:
        grid.add_row(word, cell(text))
    Console(highlight=False, emoji=False, stderr=err).print(grid)


def print_json(value: Any) -> None:
    """JSON on standard output, with null for what is not a finite number.

    Characters that a terminal would obey stand in it by their codes, which JSON reads back.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=2)
    typer.echo("".join(c if c == "\n" or is_plain(c) else json.dumps(c)[1:-1] for c in text))


def _finite(value: Any) -> Any:
    """The same value with None in place of infinities, for which JSON has no number."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
