"""Requests about a study: about its file before it is released, and about its folder afterwards."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.requests.fields import REQUIRED, Request, Row, asked, changed
from discreet.requests.kinds import AS_JSON, OUTPUT, SWITCH_KIND, TEXT_KIND, YES, file_kind
from discreet.requests.plan import PlanRequest
from discreet.requests.records import RecordRequest, ReportRequest
from discreet.requests.release import ReleaseRequest

if TYPE_CHECKING:
    from discreet.requests.studies.study import Study
    from discreet.validation import SharesOf


@dataclass(frozen=True, kw_only=True)
class StudyRequest(Request):
    """A study, by its file."""

    study: str = asked(TEXT_KIND, "The TOML file of a study.", default=REQUIRED, positional=True)

    def loaded(self) -> "Study":
        """The study that the file declares."""
        from discreet.requests.studies.study import Study

        return Study.load(self.study)


@dataclass(frozen=True, kw_only=True)
class StudyCheckRequest(StudyRequest):
    """A study, and the curator's corrections."""

    corrections: str | None = changed(
        ReleaseRequest,
        "corrections",
        help="The curator's corrections, in place of the file that the study names. They are applied and never published.",
        form=None,
        key="",
    )


@dataclass(frozen=True, kw_only=True)
class StudyReleaseRequest(StudyCheckRequest):
    """A question to release all tables of a study into a folder."""

    output: Path | None = asked(help="Write a record for each table into this new folder.", **OUTPUT)
    ledger: str | None = changed(ReleaseRequest, "ledger", form=None)
    dry_run: bool = asked(SWITCH_KIND, "Say everything that will be public, and charge and draw nothing.")
    yes: bool = asked(help="Release without asking.", **YES)


@dataclass(frozen=True, kw_only=True)
class StudyPlanRequest(StudyRequest):
    """A question for the widths of a study's intervals."""

    n: int | None = changed(
        PlanRequest,
        "n",
        help="How many records or persons there are, as is public, or a guess.",
        option="--records",
        short=("-n", "--n"),
        call="",
    )
    as_json: bool = asked(**AS_JSON)


STUDY_PART, PATHS_PART = "A study: several tables, one ε", "Folder of its paths, number of records"
"""The parts of the form."""


@dataclass(frozen=True, kw_only=True)
class StudyTextRequest(Request):
    """A study as a form holds it: its text, in place of a file."""

    text: str = asked(
        TEXT_KIND,
        form=Row(
            STUDY_PART,
            "The study, as its file says it",
            "Released tables are charged at once: epsilon is for all of them, and weight is a table’s part of it.",
            "[study]\nsource = 'survey.csv'\ndataset = 'survey'\nid = 'participant'\nepsilon = 1.0\n\n"
            "[tables.smoking]\ncolumn = 'smoking'\ncategories = ['never', 'former', 'current']\nby.age = ['18-34', '35+']\nweight = 2",
            words="the study",
            rows=14,
        ),
        default=REQUIRED,
        missing="Open the file of a study, type one, or add tables to it from “One table”",
    )
    folder: str = asked(
        TEXT_KIND,
        form=Row(PATHS_PART, "Folder that its paths start from", "On this machine. Empty: where discreet explore was started."),
        default=".",
    )
    n: int | None = changed(
        PlanRequest,
        "n",
        help="",
        form=Row(PATHS_PART, "How many records, for the plan", "A public number or a guess. Empty: three are shown.", numeric="numeric"),
    )
    ledger: str | None = changed(ReleaseRequest, "ledger", help="")

    def loaded(self) -> "Study":
        """The study that the text declares."""
        from discreet.requests.studies.study import Study

        return Study.of_text(self.text, self.folder)


@dataclass(frozen=True, kw_only=True)
class PublishedRequest(Request):
    """A study that was released, by its folder."""

    folder: Path = asked(file_kind(), "The folder of a study's records, or the study.json in it.", default=REQUIRED, positional=True)
    mass: float = changed(RecordRequest, "mass")
    slow: bool = changed(RecordRequest, "slow")
    about: "SharesOf" = changed(RecordRequest, "about")


@dataclass(frozen=True, kw_only=True)
class PublishedShowRequest(PublishedRequest):
    """The tables of a study that was released."""

    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class PublishedPageRequest(PublishedRequest):
    """The page of a study that was released."""

    output: Path = changed(ReportRequest, "output")
