"""`discreet release`: from a table to a published posterior."""

import sys
from math import prod
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from discreet.commands.about import DateOption, NoteOption, SourceOption, TitleOption, VariableOption, words_of
from discreet.commands.asking import confirm_release, strong_shares
from discreet.commands.data import (
    ByOption,
    CategoriesOption,
    ColumnOption,
    EncodingOption,
    FileArgument,
    ImpossibleOption,
    MapOption,
    NaValuesOption,
    NullsOption,
    OtherGroupOption,
    OtherOption,
    PrivacyIdOption,
    StrictOption,
    WeightOption,
    check_labels,
    opened,
    parse_cells,
    parse_groups,
    parse_labels,
    parse_mapping,
    parse_other_groups,
)
from discreet.commands.files import check_picture, check_place, save_picture, tell_name, write_new
from discreet.commands.options import (
    LEDGER_VARIABLE,
    DeltaOption,
    EpsilonOption,
    GammaOption,
    JsonOption,
    MechanismOption,
    TablePublicOption,
    errors_in_one_line,
    mechanism_options,
    notice,
    notice_little_said,
    parse_list,
    parse_number,
    parse_prior,
    parse_public,
)
from discreet.commands.progress import progress_bar
from discreet.commands.record import print_record
from discreet.commands.release_steps import charge_of, check_budget, check_text, little_protection, note_of, prepared, relation_of
from discreet.errors import DiscreetError, InvalidInputError, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms.base import Prepared
    from discreet.model.cells import Groups
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release

_RECORDS = (".json", ".parquet")
"""How the file of a record is called."""


def release(
    file: FileArgument,
    column: ColumnOption,
    categories: CategoriesOption,
    epsilon: EpsilonOption,
    mechanism: MechanismOption = "LatticeGeometric",
    prior: Annotated[str, typer.Option(help="uniform, jeffreys, or a concentration for each category: 1,1,1.")] = "uniform",
    privacy_id: PrivacyIdOption = None,
    by: ByOption = None,
    nulls: NullsOption = "error",
    other: OtherOption = "error",
    na_values: NaValuesOption = "",
    mapped: MapOption = None,
    encoding: EncodingOption = "utf-8",
    weight: WeightOption = None,
    strict: StrictOption = False,
    other_group: OtherGroupOption = None,
    impossible: ImpossibleOption = None,
    public: TablePublicOption = "total",
    gamma: GammaOption = None,
    delta: DeltaOption = None,
    ledger: Annotated[str | None, typer.Option(envvar=LEDGER_VARIABLE, help="The budget ledger: a file, or a database URL.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The ledger's name for these records.")] = None,
    title: TitleOption = None,
    variable: VariableOption = None,
    source: SourceOption = None,
    date: DateOption = None,
    note: NoteOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the public record to this new .json file, or a table to .parquet; else print it."),
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
        words = words_of(title, variable, source, date, note, column)
        labels = _labels(categories, file)
        known, level = parse_prior(prior, labels), parse_number(epsilon, "--epsilon")
        groups, options = parse_groups(by or [], file), mechanism_options(gamma, delta)
        cells = _cells(groups, labels, impossible or [], other_group or [], output, as_printed=not quiet and (as_json or output is None))
        published = parse_public(public, groups=groups is not None)
        if strict and published == "sizes":
            raise InvalidInputError(
                "--strict and --public sizes do not go together: an answer that makes its line unreadable would move a published size; use "
                "--public total or --public nothing"
            )
        written: dict[str, Any] = {"na_values": parse_list(na_values, "--na-values"), "mapping": parse_mapping(mapped or [], labels)}
        if ledger is not None and dataset is not None:
            from discreet.ledger.ledger import Ledger

            check_budget(Ledger(ledger), dataset, "record" if privacy_id is None else "person", relation_of(published, groups))
        from discreet.data.count import count

        with opened(file) as data:
            counts = count(
                data, column, labels, privacy_id, nulls, other, **written, **cells, encoding=encoding, weight=weight, strict=strict
            )
        options |= {} if groups is None else {"by": groups, "impossible": cells["impossible"]}
        ready = prepared(mechanism, known, published, counts, level, options, words)
        found = _released(ready, ledger, dataset, note=note_of(column, groups, file), yes=yes)
        if output is not None:
            _keep(found, output)
        if not quiet and (as_json or output is None):
            _print(found)
        if not quiet and not as_json:
            spent = f"none was named, so {_UNADDED}" if ledger is None or dataset is None else _spent(ledger, dataset, found.guarantee)
            # Into a file or a pipe goes the record and nothing else.
            print_record(found, [("Ledger", spent)], hint=" (--privacy-id)", err=not sys.stdout.isatty())
        _notices(found, unadded=ledger is None and (as_json or quiet))
        if plot is not None:
            _draw(found, plot)


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
    if output is not None and output.suffix.lower() not in _RECORDS:
        raise InvalidInputError(f"--output must end in .json, or for a table in .parquet, got {output.name}")


def _cells(
    groups: "Groups | None",
    labels: list[str],
    impossible: list[str],
    other_groups: list[str],
    output: Path | None,
    *,
    as_printed: bool,
) -> dict[str, Any]:
    """What counting is told about the groups, checked; nothing where there are none."""
    from discreet.model.cells import cells_of

    if groups is None:
        if impossible or other_groups:
            raise InvalidInputError("--impossible and --other-group are about groups: declare them with --by")
        if output is not None and _is_parquet(output):
            raise InvalidInputError(
                "--output .parquet is for tables, which --by makes; the record of one variable is JSON: --output x.json"
            )
        return {}
    left_out = parse_cells(impossible)
    size = prod(cells_of(groups, tuple(labels), left_out).shape)
    if as_printed or output is None or not _is_parquet(output):
        check_text(groups, size)
    return {"by": groups, "impossible": left_out, "other_groups": parse_other_groups(other_groups)}


def _labels(text: str, file: str) -> list[str]:
    from discreet.validation import shown

    labels = parse_labels(text, "--categories", file)
    if len(labels) < 2:
        raise InvalidInputError(f"--categories needs at least two, separated by commas, such as yes,no; got {shown(text)!r}")
    check_labels(labels, "--categories", text)
    return labels


def _released(ready: "Prepared", ledger: str | None, dataset: str | None, note: str, *, yes: bool) -> "Release":
    """One draw, charged first if there is a ledger, and asked for before that if readers will miss something."""
    from discreet.ledger.ledger import Ledger

    mechanism = ready.mechanism
    if mechanism.space.n is not None:
        notice_little_said(mechanism.space.n, mechanism.epsilon)
    weak = strong_shares(mechanism)
    if weak is not None:
        notice(weak)
    confirm_release(mechanism, yes=yes)
    if ledger is None or dataset is None:
        return ready.draw(steady=True)
    charge = charge_of(Ledger(ledger), dataset, ready.guarantee)
    if charge.why:
        notice(f"the budget of {dataset!r} is charged {charge}")
    return Ledger(ledger).draw(dataset, ready, note=note)


def _spent(ledger: str, dataset: str, guarantee: "Guarantee") -> str:
    from discreet.ledger.ledger import Ledger

    try:
        book = Ledger(ledger)
        return f"{charge_of(book, dataset, guarantee)} spent before the draw; {book.remaining(dataset)} left for {dataset!r}"
    except LedgerError:
        return f"spent before the draw; what is left for {dataset!r} could not be read"


_UNADDED = "nobody adds up what this dataset has given away (--ledger, --dataset)"


def _keep(found: "Release", output: Path) -> None:
    """Write the record. What has been drawn is never lost: it goes to a name next to one that was taken meanwhile, or is printed."""
    try:
        tell_name(write_new(output, _content(found, output)), output)
    except DiscreetError as error:
        fault = f"the release was drawn and charged, but {error}"
        _print(found, fault)
        raise DiscreetError(f"{fault}; its record was printed instead: keep it") from None


def _content(found: "Release", output: Path) -> "bytes | Callable[[BinaryIO], object]":
    """What is written: JSON, or a table as Parquet where the file is called so."""
    from discreet.record.table_release import TableRelease

    if isinstance(found, TableRelease) and _is_parquet(output):
        from discreet.record.parquet import parquet_writer

        return parquet_writer(found)
    return found.to_json().encode()


def _is_parquet(output: Path) -> bool:
    return output.suffix.lower() == ".parquet"


def _print(found: "Release", fault: str = "the release was drawn and charged, but it is too large for JSON") -> None:
    """The record, before anything else that may fail; on the other stream if this one cannot be written to.

    A table that JSON cannot hold goes to the folder for temporary files, and the fault is raised with its name.
    """
    try:
        text = found.to_json()
    except InvalidInputError:
        from discreet.record.table_release import TableRelease

        if not isinstance(found, TableRelease):
            raise
        place = Path(gettempdir(), f"discreet-{token_hex(8)}.parquet")
        raise DiscreetError(f"{fault}; its record is in {write_new(place, _content(found, place))}: keep it") from None
    try:
        typer.echo(text)
        sys.stdout.flush()
    except OSError as error:
        typer.echo(text, err=True)
        why = error.strerror or "the output cannot be written to"
        raise DiscreetError(f"the release was drawn and charged, but {why}; its record was printed here instead: keep it") from None


def _draw(found: "Release", plot: Path) -> None:
    try:
        with progress_bar():
            save_picture(found, plot)
    except DiscreetError as error:
        again = "discreet show RECORD --plot FILE draws it without another release"
        raise DiscreetError(f"the release was drawn and charged, but {error}; {again}") from None


def _notices(found: "Release", *, unadded: bool) -> None:
    """What must be known even where nothing else is read."""
    if unadded:
        notice(f"no ledger was named, so {_UNADDED}")
    weak = little_protection(found.guarantee)
    if weak is not None:
        notice(weak)
