"""The commands that take a study in place of a table: its TOML file, or the folder of its records."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.output_files import check_place, write_new
from discreet.cli.questions import Command, CommandGroup, asks
from discreet.cli.release import confirm_all, tell
from discreet.data.engines import removed_on_termination
from discreet.errors import InvalidInputError
from discreet.present.how_read import HowRead
from discreet.present.record import print_record, record_fields
from discreet.present.terminal import notice, print_json
from discreet.requests.release_steps import charge_of, stand_in
from discreet.requests.studies.questions import (
    PublishedPageRequest,
    PublishedShowRequest,
    StudyCheckRequest,
    StudyPlanRequest,
    StudyReleaseRequest,
)
from discreet.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms.base import Prepared
    from discreet.record.release import Release
    from discreet.requests.studies.study import Study

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})


class StudyGroup(CommandGroup):
    """Commands of which some take a study in place of a table: what they are given says which is meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of this name, for a study where one is given."""
        name, *words = args
        given = [word for before, word in zip(args, words, strict=False) if before not in _FILE_OPTIONS]
        files = [word for word in given if not word.startswith("-")]
        is_study = name in ("check", "release", "plan") and any(word.lower().endswith(".toml") for word in files)
        if is_study or (name in ("report", "show") and any(Path(word).is_dir() or _is_manifest(word, name) for word in files)):
            return name, typer.main.get_command(app).commands[name], words  # type: ignore[attr-defined]
        return super().resolve_command(ctx, args)


def _is_manifest(word: str, name: str) -> bool:
    """Return whether `show` is given the list of a study's tables."""
    from discreet.requests.studies.published import is_manifest

    return name == "show" and is_manifest(Path(word))


_FILE_OPTIONS = ("--corrections", "--output", "-o", "--ledger")
"""Options after which a file is no study."""


@app.command(cls=Command)
@asks(StudyCheckRequest)
def check(asked: StudyCheckRequest) -> None:
    """Look at the data of a study as its release would, and say what is in the way. For the curator alone: do not publish what it says.

    Example: discreet check study.toml
    """
    with removed_on_termination():
        tell(asked.loaded().check(corrections=asked.corrections))


@app.command(cls=Command)
@asks(StudyReleaseRequest)
def release(asked: StudyReleaseRequest) -> None:
    """Release all tables of a study: one charge for all, one record for each, all or nothing.

    The same command never draws twice: where it was interrupted after the charge, it ends what it began, and where it had ended it says so.

    Example: discreet release study.toml --ledger ledger.db --output published/
    """
    from discreet.ledger.ledger import Ledger
    from discreet.requests.studies.release import check_chargeable, ready_tables
    from discreet.requests.studies.release import release as released
    from discreet.requests.studies.study import MANIFEST

    study, output, corrections = asked.loaded(), asked.output, asked.corrections
    book = None if asked.ledger is None else Ledger(asked.ledger)
    with removed_on_termination():
        if asked.dry_run:
            if book is not None:
                check_chargeable(study, book)
            _tell_public(study, ready_tables(study, None, corrections), book)
            _tell_absent(asked, study)
            return
        if output is None:
            raise InvalidInputError("--output must name the new folder for the records, as in --output published/; or say --dry-run")
        was_there = (output / f"{MANIFEST}.json").is_file()
        confirm = partial(confirm_all, ledger=book, dataset=study.dataset, file=study.path, yes=asked.yes)
        found = released(study, book, output, corrections=corrections, confirm=confirm)
    _tell_absent(asked, study)
    if was_there:
        typer.echo(f"{plain(output)} holds this study already: nothing was charged or drawn now")
    else:
        typer.echo(f"wrote {plain(output)}: {', '.join(f'{name}.json' for name in found)}; {_charged(study, found, book)}")


def _tell_absent(asked: StudyReleaseRequest, study: "Study") -> None:
    """Say so if the file of corrections that the study names is not there."""
    from discreet.requests.checks import absent_words

    if asked.corrections is None and study.absent_corrections is not None:
        notice(absent_words(study.absent_corrections))


def _charged(study: "Study", found: "Mapping[str, Release]", ledger: "Ledger | None") -> str:
    if ledger is None or study.dataset is None:
        return "no ledger was named"
    charge = charge_of(ledger, study.dataset, found.values())
    left = ledger.remaining(study.dataset, study.period)
    return f"{charge} charged at once; {left} left for {study.dataset!r}"


def _tell_public(study: "Study", ready: "Mapping[str, Prepared]", ledger: "Ledger | None") -> None:
    from discreet.present.study import print_dry_run
    from discreet.requests.studies.release import note_of_study

    charge = None
    if ledger is not None and study.dataset is not None:
        left = ledger.remaining(study.dataset, study.period)
        charge = f"{charge_of(ledger, study.dataset, ready.values())} to {study.dataset!r}, which has {left} left"
        charge += f", noted as “{note_of_study(study)}”"
    print_dry_run({name: stand_in(one) for name, one in ready.items()}, charge)


@app.command(cls=Command)
@asks(StudyPlanRequest)
def plan(asked: StudyPlanRequest) -> None:
    """Say how wide the intervals of every table will be, and which split of ε widens all tables alike.

    No data are looked at. Groups are taken to be equally large.

    Example: discreet plan study.toml --records 2700
    """
    from discreet.present.study import plan_fields, print_plan

    found = asked.loaded().plan(asked.n)
    if asked.as_json:
        print_json(plan_fields(found))
    else:
        print_plan(found)


@app.command(cls=Command)
@asks(PublishedShowRequest)
def show(asked: PublishedShowRequest) -> None:
    """List the tables of a published study, and what to type next. Told how to read them, show each of them.

    Examples: discreet show published/, or discreet show published/ --about records
    """
    from discreet.present.study import print_study, study_fields
    from discreet.requests.studies.published import read_folder, read_manifest

    place = asked.folder if asked.folder.is_dir() else asked.folder.parent
    title, records = read_manifest(place)["title"], read_folder(place)
    how = HowRead(asked.mass, asked.slow, None, asked.about)
    is_read = any(not one.positional and one.name != "as_json" for one, _ in asked.given())
    if asked.as_json:
        fields = study_fields(title, records)
        print_json(fields | {"records": {name: record_fields(one, how) for name, one in records.items()}} if is_read else fields)
    elif is_read:
        for name, one in records.items():
            typer.echo(f"{plain(place / name)}.json")
            print_record(one, how=how, computed=False)
            typer.echo()
    else:
        print_study(str(place), title, records)


@app.command(cls=Command)
@asks(PublishedPageRequest)
def report(asked: PublishedPageRequest) -> None:
    """Write one HTML page about all tables of a study: each is read alone.

    Example: discreet report published/ --output study.html
    """
    from discreet.present.study import study_page
    from discreet.requests.studies.published import read_folder, read_manifest

    check_place(asked.output, "--output", {}, why="it may be something else")
    records, title = read_folder(asked.folder), read_manifest(asked.folder)["title"]
    written = write_new(asked.output, study_page(records, title, HowRead(asked.mass, asked.slow, None, asked.about)))
    typer.echo(f"wrote {plain(written)}: a page of {counted(len(records), 'table')}")
