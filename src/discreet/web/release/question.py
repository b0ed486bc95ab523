"""The question of whoever releases on the page, of one table or a study, and what the page refuses beside what every release does."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from discreet.errors import BudgetError, DiscreetError, InvalidInputError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.base import Prepared
from discreet.model.cells import Groups, cells_of, groups_of
from discreet.model.datasets import Relation
from discreet.model.dirichlet import Dirichlet
from discreet.record.release import Release
from discreet.record.table_json import check_json
from discreet.requests.checks import DataCheck
from discreet.requests.fields import FieldContext, Rule, WrongError, labelled, spoken
from discreet.requests.kinds import number_words
from discreet.requests.parsing import STANDARD_INPUT
from discreet.requests.release import MECHANISMS, ReleaseDelivery, ReleaseRequest, check_offered
from discreet.requests.release_steps import check_budget
from discreet.requests.studies.file import study_text
from discreet.requests.studies.published import manifest
from discreet.requests.studies.questions import StudyReleaseRequest, StudyTextRequest
from discreet.requests.studies.release import check_chargeable, note_of_study, ready_tables
from discreet.requests.studies.study import MANIFEST, Study
from discreet.text import counted, shown
from discreet.web.parts import request_command

FIELDS = labelled(ReleaseRequest)
"""The fields of the form; `upload` stands for `file` where the records were sent by the browser."""


@dataclass(frozen=True)
class TypedQuestion:
    """Everything about a release that is public, and where the records are, as it was typed."""

    fields: Mapping[str, str]
    """The texts as they were typed, without those that are empty."""

    def __getitem__(self, name: str) -> str:
        """Return the text that was typed into a field."""
        return self.fields.get(name, "")

    @property
    def dataset(self) -> str:
        return self["dataset"]


@dataclass(frozen=True)
class ReleaseQuestion(TypedQuestion):
    """A release of one table."""

    request: ReleaseRequest

    @property
    def period(self) -> str | None:
        return self.request.period

    @property
    def ledger_note(self) -> str:
        return self.request.ledger_note

    def ways(self) -> tuple[str | None, str, str | None]:
        """The command, the Python and the file of a study that release the same."""
        delivery = ReleaseDelivery.asking(**vars(self.request), output=Path("record.json"))
        return request_command("release", delivery), self.request.python(names_source=bool(self["file"])), study_text(self.request)

    def check(self, ledger: Ledger) -> None:
        """Refuse what the budget allows at no ε, beside the field that can be changed for it."""
        asked = self.request
        try:
            check_budget(ledger, self.dataset, asked.unit, asked.relation, asked.period)
        except BudgetError as error:
            budget = ledger.budget(self.dataset)
            if (budget.every is None) == (asked.period is not None):
                raise WrongError({"period": spoken(error.in_shell, ReleaseRequest, "form")}) from None
            if budget.unit == "person" and asked.unit == "record":
                told = "name the column that tells them apart or, if every row is another person’s, declare that below"
                raise WrongError({"privacy_id": f"the budget of {budget.dataset!r} protects persons: {told}"}) from None
            if budget.neighbours == Relation.ADD_REMOVE_ONE and asked.public != "nothing":
                hidden = (
                    f"the budget of {budget.dataset!r} hides whether someone took part, so how many there are cannot be published from it"
                )
                raise WrongError({"public": f"{hidden}: choose “Nothing”"}) from None
            raise

    def prepared(self, source: Path | str) -> dict[str, Prepared]:
        """Everything about the table but its draw."""
        return {"": self.request.prepared(self.request.counted(str(source)))}

    def examined(self, source: Path | str) -> DataCheck:
        """Return what is in the way of the table."""
        return self.request.examined(str(source), "form")


def read(fields: Mapping[str, str], kind: type[ReleaseRequest] = ReleaseRequest) -> ReleaseQuestion:
    """The question of a form: a release, or a check, which needs no budget.

    Raises WrongError with what is to be said beside each field that is wrong.
    """
    given = {name: fields[name] for name in (*FIELDS, "upload") if fields.get(name)}
    known = {"file": given.get("file") or given.get("upload") or STANDARD_INPUT}
    rules = {name: rule for name, rule in _rules(given).items() if name != "dataset" or kind is ReleaseRequest}
    return ReleaseQuestion(given, kind.read(given | known, "form", rules))


def _rules(given: Mapping[str, str]) -> Mapping[str, Rule]:
    is_strict = "strict" in given
    return {
        "file": lambda _, __: check_file(given.get("file", ""), given.get("upload", "")),
        "categories": lambda labels, _: Dirichlet.uniform(categories=labels),
        "one_row_per_person": _check_one_row,
        "other": lambda _, known: _check_home(given.get("other", ""), "undeclared", known.other("categories"), needed=is_strict),
        "nulls": lambda _, known: _check_home(given.get("nulls", ""), "missing", known.other("categories"), needed=is_strict),
        "other_groups": lambda found, known: _check_other_groups(found, groups_of(known.other("by")), needed=is_strict),
        "public": _check_public,
        "mechanism": _check_mechanism,
        "impossible": _check_cells,
        "dataset": lambda name, _: _needed(name, "the ledger's name for these records"),
    }


def _needed(text: str | None, what: str) -> None:
    if not text:
        raise InvalidInputError(f"{what} is needed")


def check_file(path: str, upload: str) -> None:
    """Refuse a form without records, with two of them, or with what is for the command line."""
    if bool(path) == bool(upload):
        raise InvalidInputError("give the path of a file, or choose one to send to this page: one of the two")
    if path == STANDARD_INPUT:
        raise InvalidInputError("standard input is for the command line: give the path of a file, or choose one")
    if "**" in path:
        raise InvalidInputError("** may go through all folders of a disk, and is for the command line: name the folder, as in data/*.csv")


def _check_one_row(is_declared: bool, known: FieldContext) -> None:
    if is_declared and known.other("privacy_id") is not None:
        raise InvalidInputError("a column says which person a row is about: name the column, or declare that every row is another person’s")


def _check_home(text: str, kind: str, labels: list[str], *, needed: bool) -> None:
    """Check where answers go that have no category; without such a place they are refused, which strict counting cannot."""
    if needed:
        _needed(text, f"where questions of others are answered, the category that takes {kind} answers")
    if text and text not in labels:
        raise InvalidInputError(f"{shown(text)!r} is not one of the categories: add it to them, or name one that is")


def _check_other_groups(found: Mapping[str, str], groups: Groups, *, needed: bool) -> None:
    for column, labels in zip(groups.columns, groups.labels, strict=True):
        if needed and column not in found:
            raise InvalidInputError(
                f"where questions of others are answered, say which of the groups of {shown(column)!r} takes those that are missing or not "
                f"declared, in a line {shown(column)}=GROUP; list a group of its own for them"
            )
        if column in found and found[column] not in labels:
            raise InvalidInputError(
                f"{shown(found[column])!r} is not one of the groups of {shown(column)!r}: list it there, or name another"
            )
    for column in found:
        if column not in groups.columns:
            raise InvalidInputError(f"no groups of {shown(column)!r} are declared: name a column of the groups above")


def _check_public(public: str, _: FieldContext) -> None:
    if public == "sizes":
        raise InvalidInputError(
            "sizes of groups are published by the command line alone: choose “How many there are” or “Nothing”, or use "
            "discreet release --public sizes"
        )


def _check_mechanism(name: str, known: FieldContext) -> None:
    check_offered(name)
    if known.other("by") is not None and name != MECHANISMS[0]:
        raise InvalidInputError(f"tables are released by {MECHANISMS[0]}; {name} is for one variable: leave out the groups")


def _check_cells(cells: list[tuple[str, ...]], known: FieldContext) -> None:
    """A table whose record would not be JSON is refused, and so are cells that it does not have."""
    if known.other("by") is None:
        return
    size = prod(cells_of(known.other("by"), tuple(known.other("categories")), cells).shape)
    check_json(known.other("by"), size, "discreet release --output TABLE.parquet takes it")


@dataclass(frozen=True)
class StudyQuestion(TypedQuestion):
    """A release of several tables, for one ε: its methods are those of a release of one table."""

    study: Study
    n: int | None
    """The number of records that are planned for."""

    @property
    def period(self) -> str | None:
        return self.study.period

    @property
    def ledger_note(self) -> str:
        return note_of_study(self.study)

    def ways(self) -> tuple[str | None, str, None]:
        """The command and the Python that release the same study from its file."""
        asked = StudyReleaseRequest.asking(study="study.toml", ledger=self["ledger"], output=Path("published"))
        lines = 'study = dc.Study.load("study.toml")', f'study.release({self["ledger"]!r}, "published")'
        return request_command("release", asked), "\n".join(["import discreet as dc", "", *lines]), None

    def check(self, ledger: Ledger) -> None:
        check_chargeable(self.study, ledger)

    def prepared(self, source: Path | str) -> dict[str, Prepared]:  # noqa: ARG002 - the study names it
        return ready_tables(self.study)

    def examined(self, source: Path | str) -> DataCheck:  # noqa: ARG002 - the study names it
        return self.study.check()


Question = ReleaseQuestion | StudyQuestion
"""The question of either form."""


def packed(study: Study, found: Mapping[str, Release]) -> bytes:
    """The folder that the command writes of a study, as one file."""
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as file:
        for name, content in {MANIFEST: manifest(study), **{name: one.to_json().encode() for name, one in found.items()}}.items():
            file.writestr(f"published/{name}.json", content)
    return written.getvalue()


def read_study(fields: Mapping[str, str]) -> StudyQuestion:
    """The study of a form. Raises WrongError with what is to be said beside each field that is wrong."""
    asked = StudyTextRequest.read(fields, "form")
    try:
        study = asked.loaded()
        check_file(study.source, "")
        title = study.title or f"Study of {counted(len(study.tables), 'table')}"
    except DiscreetError as error:
        raise WrongError({"text": str(error)}) from None
    folder = str(Path(asked.folder).expanduser().absolute())
    known = {"title": title, "file": study.path, "dataset": study.dataset or "", "epsilon": number_words(study.epsilon)}
    typed = {name: fields[name] for name in ("text", "ledger") if fields.get(name)}
    return StudyQuestion({**typed, "folder": folder, **known}, study, asked.n)
