"""`discreet release`: from a table to a published posterior."""

import sys
from math import prod
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from discreet.cli.confirmation import confirm_release, notice_little_said
from discreet.cli.options import LEDGER_VARIABLE, DeltaOption, EpsilonOption, GammaOption, JsonOption, MechanismOption, TablePublicOption
from discreet.cli.output_files import check_picture, check_place, save_picture, tell_name, write_new
from discreet.cli.release_options import (
    ByOption,
    CategoriesOption,
    ColumnOption,
    DateOption,
    EncodingOption,
    FileArgument,
    IgnoreCaseOption,
    ImpossibleOption,
    MapOption,
    NaValuesOption,
    NoteOption,
    NullsOption,
    OneRowPerPersonOption,
    OtherGroupOption,
    OtherOption,
    PrivacyIdOption,
    SourceOption,
    StrictOption,
    TitleOption,
    TrimOption,
    VariableOption,
    WeightOption,
)
from discreet.errors import DiscreetError, InvalidInputError, LedgerError
from discreet.present.progress import progress_bar
from discreet.present.record import print_record
from discreet.present.terminal import errors_in_one_line, notice
from discreet.requests.cautions import little_protection, strong_shares
from discreet.requests.declarations import (
    check_labels,
    opened,
    parse_cells,
    parse_groups,
    parse_labels,
    parse_mapping,
    parse_other_groups,
    words_of,
)
from discreet.requests.parsing import mechanism_options, parse_list, parse_number, parse_prior, parse_public
from discreet.requests.release_steps import charge_of, check_budget, check_text, note_of, prepared, relation_of, source_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.ledger.budgets import Unit
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
    one_row_per_person: OneRowPerPersonOption = False,
    by: ByOption = None,
    nulls: NullsOption = "error",
    other: OtherOption = "error",
    na_values: NaValuesOption = "",
    mapped: MapOption = None,
    trim: TrimOption = False,
    ignore_case: IgnoreCaseOption = False,
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
        written: dict[str, Any] = {"na_values": parse_list(na_values, "--na-values"), "mapping": parse_mapping(mapped or [], labels, file)}
        written |= {"encoding": encoding, "weight": weight, "strict": strict, "one_row_per_person": one_row_per_person}
        written["spelling"] = [rule for rule, is_on in (("trim", trim), ("ignore case", ignore_case)) if is_on]
        if ledger is not None and dataset is not None:
            from discreet.ledger.ledger import Ledger

            unit: Unit = "person" if privacy_id is not None or one_row_per_person else "record"
            check_budget(Ledger(ledger), dataset, unit, relation_of(published, groups))
        from discreet.data.count import count

        with opened(file) as data:
            counts = count(data, column, labels, privacy_id, nulls, other, **written, **cells)
        options |= {} if groups is None else {"by": groups, "impossible": cells["impossible"]}
        ready = prepared(mechanism, known, published, counts, level, options, words)
        found = _released(ready, ledger, dataset, note=note_of(column, groups, file), source=source_of(file), yes=yes)
        if output is not None:
            _keep(found, output)
        if not quiet and (as_json or output is None):
            _print(found)
        if not quiet and not as_json:
            spent = "none was named" if ledger is None or dataset is None else _spent(ledger, dataset, found.guarantee)
            # Into a file or a pipe goes the record and nothing else.
            print_record(found, [("Ledger", spent)], hint=" (--privacy-id)", err=not sys.stdout.isatty())
        if plot is not None:
            _draw(found, plot)


def _check_options(file: str, ledger: str | None, dataset: str | None, output: Path | None, plot: Path | None, *, quiet: bool) -> None:
    """Whatever can be wrong with the options is found before any data is read or budget spent."""
    if sys.stdout is None or sys.stderr is None:
        raise InvalidInputError("standard output or standard error is closed, and what is drawn could not be told; redirect it to a file")
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


def _released(ready: "Prepared", ledger: str | None, dataset: str | None, note: str, source: str | None, *, yes: bool) -> "Release":
    """One draw, charged first if there is a ledger, and asked for before that if something speaks against it."""
    from discreet.ledger.charges import second_budget_words
    from discreet.ledger.ledger import Ledger

    mechanism = ready.mechanism
    if mechanism.space.n is not None:
        notice_little_said(mechanism.space.n, mechanism.epsilon)
    weak = strong_shares(mechanism)
    if weak is not None:
        notice(weak)
    large = little_protection(ready.guarantee)
    doubts = [] if large is None else [large]
    if ledger is None or dataset is None:
        confirm_release(mechanism, [*doubts, _UNADDED], yes=yes)
        return ready.draw()
    book = Ledger(ledger)
    said = None if source is None else second_budget_words(book.charged_elsewhere(dataset, source))
    confirm_release(mechanism, [*doubts, *([] if said is None else [said])], yes=yes)
    charge = charge_of(book, dataset, ready.guarantee)
    if charge.why:
        notice(f"the budget of {dataset!r} is charged {charge}")
    return book.draw(dataset, ready, note=note, source=source)


def _spent(ledger: str, dataset: str, guarantee: "Guarantee") -> str:
    from discreet.ledger.ledger import Ledger

    try:
        book = Ledger(ledger)
        return f"{charge_of(book, dataset, guarantee)} spent before the draw; {book.remaining(dataset)} left for {dataset!r}"
    except LedgerError:
        return f"spent before the draw; what is left for {dataset!r} could not be read"


_UNADDED = "no ledger was named, so nobody adds up what these records give away; --ledger and --dataset name one"


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
