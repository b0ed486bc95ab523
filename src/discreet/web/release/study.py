"""A study on the screen for releases: what it declares, and how it is counted, charged by one line and drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from discreet.errors import DiscreetError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.base import Prepared
from discreet.record.release import Release
from discreet.requests.checks import DataCheck
from discreet.requests.fields import WrongError
from discreet.requests.kinds import number_words
from discreet.requests.studies.published import manifest
from discreet.requests.studies.questions import StudyReleaseRequest, StudyTextRequest
from discreet.requests.studies.release import check_chargeable, note_of_study, ready_tables
from discreet.requests.studies.study import MANIFEST, Study
from discreet.text import counted
from discreet.web.code_to_copy import request_command
from discreet.web.release.question import ReleaseQuestion, TypedQuestion, check_file


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
