"""`discreet release`: from a table to a published posterior."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.commands.asking import confirm_release
from discreet.commands.data import opened, parse_categories, parse_mapping, short_name
from discreet.commands.files import check_picture, check_place, save_picture, tell_name, write_new
from discreet.commands.options import (
    LEDGER_VARIABLE,
    MECHANISM_HELP,
    DeltaOption,
    GammaOption,
    JsonOption,
    errors_in_one_line,
    mechanism_options,
    notice,
    notice_little_said,
    parse_list,
    parse_number,
    parse_prior,
)
from discreet.commands.record import print_record
from discreet.errors import DiscreetError, InvalidInputError, LedgerError

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.data.count import CategoryCounts
    from discreet.mechanisms import Mechanism
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release

__all__ = ["release"]

_DEFAULT = "LatticeGeometric"
_LITTLE_PROTECTION = 5
"""The ε above which docs/choosing.md speaks of little protection: e^5 is 148."""
_LISTED = 6
"""Categories that a line lists before it is cut."""


def release(
    file: Annotated[
        str,
        typer.Argument(
            help="A CSV, Parquet or JSON file, a pattern such as 'part-*.parquet', or - for CSV on standard input.", show_default=False
        ),
    ],
    column: Annotated[str, typer.Option("--column", "-c", help="The column that holds the answers.")],
    categories: Annotated[
        str,
        typer.Option(
            help="The declared categories, separated by commas: a,b,c; one that has a comma in quotes: '\"a,b\",c'; or @FILE, a text file "
            "with one on each line. They are public."
        ),
    ],
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy parameter, as a decimal or a fraction.")],
    mechanism: Annotated[str, typer.Option("--mechanism", "-m", help=f"{MECHANISM_HELP}.")] = _DEFAULT,
    prior: Annotated[str, typer.Option(help="uniform, jeffreys, or a concentration for each category: 1,1,1.")] = "uniform",
    privacy_id: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose a row is: protect persons, not rows. A person with several rows counts once, in the first of "
            "--categories that any of their rows says; put the one that matters first. The number of distinct ids is published, as n."
        ),
    ] = None,
    nulls: Annotated[str, typer.Option(help="The declared category that takes missing answers; by default they are an error.")] = "error",
    other: Annotated[str, typer.Option(help="The declared category that takes undeclared answers; by default an error.")] = "error",
    na_values: Annotated[
        str, typer.Option("--na-values", help="What stands for a missing answer, separated by commas: NA,. (an empty cell always does).")
    ] = "",
    mapped: Annotated[
        list[str] | None, typer.Option("--map", help="VALUE=CATEGORY: another way to write a category. May be given several times.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="The encoding of a CSV file, such as latin-1 or cp1252.")] = "utf-8",
    weight: Annotated[
        str | None,
        typer.Option(
            help="The column that says how many records a row stands for, in a table that is already counted. Protected is then one unit "
            "of weight, not a row."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="For services: refuse nothing for what the data say. --other also takes what cannot be read, --nulls rows without an id.",
        ),
    ] = False,
    gamma: GammaOption = None,
    delta: DeltaOption = None,
    ledger: Annotated[str | None, typer.Option(envvar=LEDGER_VARIABLE, help="The budget ledger: a file, or a database URL.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The ledger's name for these records.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the public record to this new JSON file; without it, it is printed.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the posteriors to this new PNG, SVG or PDF file.")] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; for use with --output.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Release without asking, also where no intervals or no verification will be possible.")
    ] = False,
) -> None:
    """Count a column, draw a private posterior from exactly its proven law, and say what it promises.

    The spend is written to the ledger before anything is drawn. What is printed or written may be published. Into a file or a pipe goes
    the record alone; what is for people then goes to standard error.

    Example: discreet release survey.csv --column smoking --categories never,former,current --epsilon 1 --privacy-id participant
    """
    with errors_in_one_line():
        _check_options(file, ledger, dataset, output, plot, quiet=quiet)
        labels = _labels(categories, file)
        known, level = parse_prior(prior, labels), parse_number(epsilon, "--epsilon")
        options = mechanism_options(gamma, delta)
        written: dict[str, Any] = {"na_values": parse_list(na_values, "--na-values"), "mapping": parse_mapping(mapped or [], labels)}
        from discreet.data.count import count

        with opened(file) as source:
            counts = count(source, column, labels, privacy_id, nulls, other, **written, encoding=encoding, weight=weight, strict=strict)
        found = _released(mechanism, known, counts, level, options, ledger, dataset, note=f"{column} of {short_name(file)}", yes=yes)
        if output is not None:
            _keep(found, output)
        if not quiet and (as_json or output is None):
            _print(found)
        if not quiet and not as_json:
            spent = f"none was named, so {_UNADDED}" if ledger is None or dataset is None else _spent(ledger, dataset)
            # Into a file or a pipe goes the record and nothing else.
            counted = _counted(labels, privacy_id, weight, strict=strict)
            print_record(found, [("Counted", counted)], [("Ledger", spent)], err=not sys.stdout.isatty())
        _notices(found, unadded=ledger is None and (as_json or quiet))
        if plot is not None:
            _draw(found, plot, column)


def _check_options(file: str, ledger: str | None, dataset: str | None, output: Path | None, plot: Path | None, *, quiet: bool) -> None:
    """Whatever can be wrong with the options is found before any data is read or budget spent."""
    if (ledger is None) != (dataset is None):
        raise InvalidInputError(
            f"--ledger (or {LEDGER_VARIABLE}) and --dataset go together: which budget is this release to be taken from?"
        )
    if quiet and output is None:
        raise InvalidInputError("--quiet without --output would draw a release that nobody sees")
    taken = {"the private data": file, "the ledger": None if ledger is None else ledger.removeprefix("sqlite:///")}
    if output is not None:
        check_place(output, "--output", taken)
    if plot is not None:
        check_picture(plot)
        check_place(plot, "--plot", taken | {"--output": None if output is None else str(output)})


def _labels(text: str, file: str) -> list[str]:
    """The declared categories."""
    from discreet.validation import shown

    labels = parse_categories(text, file)
    if len(labels) < 2:
        raise InvalidInputError(f"--categories needs at least two, separated by commas, such as yes,no; got {shown(text)!r}")
    if "" in labels:
        where = "a blank line" if text.startswith("@") else "a comma too many"
        raise InvalidInputError(f"--categories has one without a name; remove {where}, or name it: got {shown(text)!r}")
    for label, times in Counter(labels).items():
        if times > 1:
            raise InvalidInputError(f"--categories: {shown(label)!r} is declared twice; name each category once")
    return labels


def _released(
    name: str,
    prior: "Dirichlet",
    counts: "CategoryCounts",
    epsilon: "Fraction",
    options: dict[str, Any],
    ledger: str | None,
    dataset: str | None,
    note: str,
    *,
    yes: bool,
) -> "Release":
    """One draw, charged first if there is a ledger, and asked for before that if readers will miss something."""
    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms import mechanism as find

    mechanism: Mechanism = find(name, prior, counts.total, epsilon, **options)
    prepared = mechanism.prepare(counts)
    notice_little_said(mechanism.n, epsilon)
    confirm_release(mechanism, yes=yes)
    if ledger is None or dataset is None:
        return prepared.draw(steady=True)
    return Ledger(ledger).draw(dataset, prepared, note=note)


def _spent(ledger: str, dataset: str) -> str:
    from discreet.ledger.ledger import Ledger

    try:
        return f"spent before the draw; {Ledger(ledger).remaining(dataset)} left for {dataset!r}"
    except LedgerError:
        return f"spent before the draw; what is left for {dataset!r} could not be read"


_UNADDED = "nobody adds up what this dataset has given away (--ledger, --dataset)"


def _keep(found: "Release", output: Path) -> None:
    """Write the record. What has been drawn is never lost: it goes to a name next to one that was taken meanwhile, or is printed."""
    try:
        tell_name(write_new(output, found.to_json().encode()), output)
    except DiscreetError as error:
        _print(found)
        raise DiscreetError(f"the release was drawn and charged, but {error}; its record was printed instead: keep it") from None


def _print(found: "Release") -> None:
    """The record, before anything else that may fail; on the other stream if this one cannot be written to."""
    try:
        typer.echo(found.to_json())
        sys.stdout.flush()
    except OSError as error:
        typer.echo(found.to_json(), err=True)
        why = error.strerror or "the output cannot be written to"
        raise DiscreetError(f"the release was drawn and charged, but {why}; its record was printed here instead: keep it") from None


def _draw(found: "Release", plot: Path, column: str) -> None:
    try:
        save_picture(found, plot, variable=column)
    except DiscreetError as error:
        again = "discreet show RECORD --plot FILE draws it without another release"
        raise DiscreetError(f"the release was drawn and charged, but {error}; {again}") from None


def _counted(labels: list[str], privacy_id: str | None, weight: str | None, *, strict: bool) -> str:
    if weight is not None:
        return f"each row as many times as {weight!r} says: a record is one unit of its weight"
    if privacy_id is None:
        return "every row is a record; a person with several rows is protected less (--privacy-id)"
    listed = ", ".join(labels[:_LISTED]) + (", ..." if len(labels) > _LISTED else "")
    persons = f"the number of distinct {privacy_id!r}" + (", of rows without one and of rows that cannot be read" if strict else "")
    return f"each person once, in the first of {listed} that any of their rows says; n is {persons}, and published"


def _notices(found: "Release", *, unadded: bool) -> None:
    """What must be known even where nothing else is read."""
    if unadded:
        notice(f"no ledger was named, so {_UNADDED}")
    if found.guarantee.epsilon > _LITTLE_PROTECTION:
        notice(f"ε is above {_LITTLE_PROTECTION}: the odds of what someone answered may change by a factor of more than 148")
