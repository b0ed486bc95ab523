"""Every question declares each of its fields once, and the shell, the forms and Python are made from that."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from html import unescape
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.cli.questions import asks
from discreet.cli.study import app as study_app
from discreet.requests.budget import BudgetRequest, ExploreRequest, HistoryRequest, LedgerRequest, SpendRequest
from discreet.requests.fields import REQUIRED, Field, Request, Row, WrongError, asked, changed, fields_of, spoken
from discreet.requests.kinds import POSITIVE_KIND, TEXT_KIND
from discreet.requests.observe import ObserveRequest
from discreet.requests.plan import CompareRequest, PlanRequest, ReproduceRequest, VerifyRequest
from discreet.requests.plan_screen import GoalQuestion, PlanQuestion
from discreet.requests.read_screen import ReadContrast, ReadMargins, ReadOther, ReadRequest, ReadShares, ReadTable, ReadThreshold
from discreet.requests.records import CombineRequest, ContrastRequest, RecordRequest, ReportRequest, ShowRequest
from discreet.requests.release import RECORDS_PART, CheckRequest, ReleaseDelivery, ReleaseRequest
from discreet.requests.studies.questions import (
    PublishedPageRequest,
    PublishedRequest,
    PublishedShowRequest,
    StudyCheckRequest,
    StudyPlanRequest,
    StudyReleaseRequest,
    StudyRequest,
    StudyTextRequest,
)
from discreet.web.budget.view import create_form
from discreet.web.parts import request_command, rows
from discreet.web.plan.routes import plan_form
from discreet.web.read.view import opened_record
from discreet.web.release.view import form_fields, study_fields
from discreet.web.state import Opened, Record

RELEASE = {
    "file": "a b.csv",
    "column": "smoking",
    "categories": 'never,"former, or so",current',
    "epsilon": "1/3",
    "prior": "1,2,1/2",
    "privacy_id": "who",
    "one_row_per_person": True,
    "by": ["region=north,south", 'age="0,39",40+'],
    "other": "current",
    "nulls": "never",
    "strict": True,
    "mapped": ["Never=never", "x=y=current"],
    "trim": True,
    "ignore_case": True,
    "ignore_accents": True,
    "corrections": "corrections.toml",
    "na_values": "NA,.",
    "encoding": "latin-1",
    "weight": "w",
    "other_groups": ["region=south"],
    "impossible": ["south,40+,never"],
    "public": "nothing",
    "mechanism": "LaplaceHistogram",
    "gamma": "best",
    "delta": "1e-8",
    "ledger": "ledger.db",
    "dataset": "survey",
    "period": "2026-01..2026-03",
    "period_column": "date",
    "title": "It's a title",
    "variable": "Do you smoke?",
    "source": "A survey",
    "date": "2024-05",
    "note": "Weights were not used",
}
BANDED = {**RELEASE, "categories": None, "bands": "0,1/2", "missing": "no answer", "mapped": ["none=no answer"]}
"""The same for a column of numbers, which has bands in place of categories."""
BUDGET = {
    "ledger": "ledger.db",
    "dataset": "survey 2024",
    "epsilon": "3",
    "unit": "person",
    "every": "month",
    "public": "sizes",
    "by": ['region,"a,b"'],
    "delta": "1e-6",
    "planned": "0.1",
}
SPEND = {
    "ledger": "ledger.db",
    "dataset": "survey",
    "epsilon": "1/3",
    "delta": "1e-6",
    "period": "2026-11",
    "public": "sizes",
    "by": ["region"],
    "note": "Elsewhere",
}
RECORD = {"record": "a b.json", "mass": "90%", "slow": True, "prior": "1,2", "about": "records"}
PLAN = {
    "width": "4%",
    "price": "1.1",
    "error": "0.05",
    "n": "2700",
    "epsilon": "1/3",
    "prior": "uniform:5",
    "mechanism": "LaplaceHistogram",
    "public": "nothing",
    "expect": "60%,25%,0.15",
    "pooled": "60",
    "expect_strength": "20",
    "worst": True,
    "curve": True,
    "about": "records",
    "by": ["sex=f,m"],
    "expect_groups": "60%,40%",
    "plot": "curve.svg",
    "as_json": True,
}
COMPARE = {"n": "1000", "epsilon": "1/3", "prior": "1/2,2", "public": "nothing", "delta": "1e-6", "errors": False, "as_json": True}
VERIFY = {
    "mechanism": "EHDS",
    "n": "10",
    "public": "nothing",
    "epsilon": "0.5",
    "prior": "jeffreys:3",
    "gamma": "0.25",
    "delta": "1e-8",
    "calibrated": True,
    "as_json": True,
}
CONTRAST = {"first": "north,f", "second": "north,m", "category": "current", "category_option": "former", "group": "south", "as_json": True}
CONTRAST |= {"over": "sex,age", "weights": "alike"}
COMBINE = {"records": ["a.json", "-"], "same_data": False, "prior": "uniform", "mass": "0.9", "seed": "7", "slow": True, "as_json": True}
OBSERVE = {name: RELEASE[name] for name in ("file", "categories", "na_values", "encoding", "title", "variable", "source", "date", "note")}
OBSERVE |= {"noise": "laplace:2", "steps": "rounded:5,suppressed:10", "by": 'region,"a,b"', "column": "smoking", "count": "count"}
OBSERVE |= {"prior": "jeffreys", "n": "310", "sizes": "size", "size_prior": "poisson:150", "impossible": ["south,40+,never"]}
STUDY = {"study": "study.toml"}
STUDY_RELEASE = STUDY | {"corrections": "c.toml", "output": "published", "ledger": "ledger.db", "dry_run": True, "yes": True}
PUBLISHED = {"folder": "published", "mass": "90%", "slow": True, "about": "records"}
EXAMPLES: dict[type[Request], dict[str, Any]] = {
    ReleaseRequest: RELEASE,
    ReleaseDelivery: RELEASE | {"output": "a b.parquet", "plot": "a.PDF", "as_json": True, "quiet": True, "yes": True},
    CheckRequest: RELEASE,
    BudgetRequest: BUDGET,
    SpendRequest: SPEND,
    LedgerRequest: {"ledger": "ledger.db", "as_json": True},
    HistoryRequest: {"ledger": "ledger.db", "dataset": "survey", "as_json": True},
    ExploreRequest: {"port": "8000", "ledger": "ledger.db", "no_browser": True},
    PlanRequest: PLAN,
    CompareRequest: COMPARE,
    VerifyRequest: VERIFY,
    ReproduceRequest: {"only": ["candidates", "one-step"], "quick": True, "out": "a b", "jobs": "2"},
    RecordRequest: RECORD,
    ShowRequest: RECORD
    | {"reference": "north,f", "category": "current", "over": "sex,age", "weights": "alike", "plot": "forest.png"}
    | {"pooled": True, "output": "a.csv", "layout": "cross", "only": "yes", "as_json": True},
    ReportRequest: RECORD | {"output": "a.html"},
    ContrastRequest: RECORD | CONTRAST,
    CombineRequest: COMBINE,
    ObserveRequest: OBSERVE | {"python": True, "output": "theirs.json"},
    StudyRequest: STUDY,
    StudyCheckRequest: STUDY | {"corrections": "c.toml"},
    StudyReleaseRequest: STUDY_RELEASE,
    StudyPlanRequest: STUDY | {"n": "2700", "as_json": True},
    PublishedRequest: PUBLISHED,
    PublishedShowRequest: PUBLISHED | {"as_json": True},
    PublishedPageRequest: PUBLISHED | {"output": "study.html"},
}
"""For every question, something other than the default for each of its fields."""
COMMANDS: dict[type[Request], str] = {
    ReleaseRequest: "release",
    ReleaseDelivery: "release",
    CheckRequest: "check",
    BudgetRequest: "ledger create",
    SpendRequest: "ledger spend",
    LedgerRequest: "ledger show",
    HistoryRequest: "ledger history",
    ExploreRequest: "explore",
    PlanRequest: "plan",
    CompareRequest: "compare",
    VerifyRequest: "verify",
    ReproduceRequest: "reproduce",
    RecordRequest: "report",
    ReportRequest: "report",
    ShowRequest: "show",
    ContrastRequest: "contrast",
    CombineRequest: "combine",
    ObserveRequest: "observe",
    StudyRequest: "study check",
    StudyCheckRequest: "study check",
    StudyReleaseRequest: "study release",
    StudyPlanRequest: "study plan",
    PublishedRequest: "study show",
    PublishedShowRequest: "study show",
    PublishedPageRequest: "study report",
}
"""The command that asks it; `study` before those that take a study."""
_COUNTS = [[30, 12], [25, 20]]
TABLE = Record(dc.LatticeGeometric(dc.Beta(1, 1), 87, 1, by={"region": ["north", "south"]}).release(_COUNTS), "table.json", "json", 1000)
FORMS: dict[type[Request], Callable[[], str]] = {
    ReleaseRequest: lambda: form_fields({}),
    BudgetRequest: lambda: create_form(first=True),
    PlanQuestion: lambda: plan_form({}, {}),
    GoalQuestion: lambda: plan_form({}, {}),
    StudyTextRequest: lambda: study_fields("key", {}),
    **dict.fromkeys(
        (ReadRequest, ReadShares, ReadContrast, ReadOther, ReadThreshold, ReadMargins, ReadTable), lambda: opened_beside_another(TABLE)
    ),
}


def opened_beside_another(record: Record) -> str:
    opened = Opened()
    opened.keep(record)
    return opened_record(opened.keep(record), opened)


def test_every_question_has_an_example() -> None:
    def below(question: type[Request]) -> set[type[Request]]:
        return {question}.union(*map(below, question.__subclasses__()))

    declared = {question for question in below(Request) if fields_of(question) and question.__module__.startswith("discreet.requests.")}
    of_page = {question for question in declared if not any(one.help for one in fields_of(question).values())}
    assert set(EXAMPLES) == declared - of_page == set(COMMANDS)
    assert (
        of_page
        == {
            *(PlanQuestion, GoalQuestion, StudyTextRequest),
            *(ReadRequest, ReadShares, ReadContrast, ReadOther, ReadThreshold, ReadMargins, ReadTable),
        }
        <= set(FORMS)
    )
    assert all(set(example) | {"bands", "missing"} >= set(fields_of(question)) for question, example in EXAMPLES.items())


def example_of(question: type[Request], name: str = "") -> dict[str, Any]:
    """The example of a question in which a field is given."""
    return BANDED if name in ("bands", "missing") else EXAMPLES[question]


EVERY_FIELD = [(question, one) for question in EXAMPLES for one in fields_of(question).values()]


@pytest.mark.parametrize(("question", "one"), EVERY_FIELD, ids=[f"{question.__name__}.{one.name}" for question, one in EVERY_FIELD])
def test_a_field_has_all_its_names_and_is_read_as_it_is_written(question: type[Request], one: Field) -> None:
    assert one.help.endswith((".", ")"))
    assert one.positional or re.fullmatch(r"--[a-z-]+(/--[a-z-]+)?", one.option)
    assert one.default is not REQUIRED or one.called("shell")
    assert one.form is None or (one.form.label and one.form.group and one.called("form"))
    example = example_of(question, one.name)
    found = question.read(example, "shell")
    value = getattr(found, one.name)
    assert one.is_given(value)
    if not one.kind.is_switch:
        shown = one.kind.show(value)
        again = question.read(example | {one.name: shown}, "shell")
        assert getattr(again, one.name) == value
        compile(one.kind.code(value), one.name, "eval")


@pytest.mark.parametrize(("question", "example"), [*EXAMPLES.items(), (ReleaseRequest, BANDED)])
def test_a_question_is_read_again_from_the_command_that_asks_it(question: type[Request], example: dict[str, Any]) -> None:
    found = question.read(example, "shell")
    read: list[Request] = []
    alone = typer.Typer()
    alone.command()(asks(question)(read.append))
    typed = found.shell_words()
    assert typed is not None
    done = CliRunner().invoke(alone, [*typed[0], *typed[1]])
    assert (done.exit_code, read) == (0, [found]), done.output


@pytest.mark.parametrize(
    ("question", "example"), [*((question, EXAMPLES[question]) for question in EXAMPLES if question in FORMS), (ReleaseRequest, BANDED)]
)
def test_a_question_that_was_typed_into_a_form_is_the_same_as_from_the_shell(question: type[Request], example: dict[str, Any]) -> None:
    typed = {name: "\n".join(text) if isinstance(text, list) else "yes" if text is True else text for name, text in example.items()}
    assert question.read(typed, "form") == question.read(example, "shell")


def test_a_field_that_was_not_given_is_no_argument() -> None:
    found = VerifyRequest.read({"mechanism": "EHDS"}, "shell")
    assert found.arguments("mechanism") == {}
    found = VerifyRequest.read({"mechanism": "EHDS", "gamma": "best", "delta": "1e-9"}, "shell")
    assert found.arguments("mechanism") == {"gamma": "best", "delta": Fraction(1, 10**9)}
    assert found.code("mechanism") == ["gamma='best'", "delta='1e-09'"]


def test_categories_may_stand_in_lines_of_a_form() -> None:
    others = {"by": "", "other_groups": "", "impossible": "", "mapped": ""}
    lines = ReleaseRequest.read(RELEASE | others | {"categories": "never\nformer, or so\ncurrent"}, "form")
    assert lines.categories == ["never", "former, or so", "current"]


def test_what_is_wrong_is_called_as_where_it_was_typed() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^--epsilon must be a number"):
        ReleaseRequest.read(RELEASE | {"epsilon": "much"}, "shell")
    with pytest.raises(WrongError) as wrong:
        ReleaseRequest.read(RELEASE | {"epsilon": "much", "column": "", "prior": "1,2"}, "form")
    assert set(wrong.value.by_field) == {"epsilon", "column", "prior"}
    assert wrong.value.by_field["epsilon"].startswith("ε must be a number")
    assert wrong.value.by_field["column"] == "the column that holds the answers is needed"


@pytest.mark.parametrize("question", FORMS)
def test_every_label_is_in_the_form_of_the_page(question: type[Request]) -> None:
    shown = unescape(FORMS[question]())
    for one in fields_of(question).values():
        assert (f'name="{one.name}"' in shown) == (one.form is not None)
        assert one.form is None or {one.form.label, one.form.hint, one.form.placeholder, one.form.value} <= {*parts(shown), ""}


def parts(page: str) -> list[str]:
    """The texts of a page, and the values of its attributes."""
    return [part.strip() for found in re.findall(r'>([^<>]+)<|="([^"]*)"', page) for part in found]


def test_every_option_of_a_command_is_declared_by_its_question() -> None:
    commands: Any = typer.main.get_command(app)
    for question, name in COMMANDS.items():
        found: Any = typer.main.get_command(study_app) if name.startswith("study ") else commands
        for word in name.removeprefix("study ").split():
            found = found.commands[word]
        assert {one.name for one in found.params} >= set(fields_of(question))


# --- one more field ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Longer(ReleaseRequest):
    """A question with one field more."""

    sheet: str | None = asked(
        TEXT_KIND,
        "The sheet of a workbook.",
        Row(RECORDS_PART, "Sheet of a workbook", "As its tab names it.", words="the sheet"),
        call="count",
    )
    epsilon: Any = changed(ReleaseRequest, "epsilon", kind=POSITIVE_KIND, help="Another help.")


def test_a_field_is_added_in_one_place() -> None:
    alone = typer.Typer()
    read: list[Longer] = []
    alone.command()(asks(Longer)(read.append))
    shown = CliRunner(env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).invoke(alone, ["--help"]).output
    assert re.search(r"--sheet +<str> +The sheet of a workbook\.", shown)
    assert "Another help." in shown
    words = ["a.csv", "--column", "c", "--categories", "a,b", "--epsilon", "1", "--sheet", "answers"]
    assert CliRunner().invoke(alone, words).exit_code == 0
    [found] = read
    assert found.sheet == "answers"
    assert found.arguments("count") == {"sheet": "answers"}
    assert "counts = dc.count('a.csv', 'c', prior.categories, sheet='answers')" in found.python()
    assert "--sheet answers" in (request_command("release", found) or "")
    form = rows("release", Longer, RECORDS_PART, {"sheet": "first"})
    assert 'for="release-sheet">Sheet of a workbook</label>' in form
    assert 'name="sheet"' in form
    assert 'value="first"' in form
    assert 'id="release-sheet-hint">As its tab names it.</p>' in form
    assert spoken("name it with --sheet NAME", Longer, "form") == "name it with “Sheet of a workbook”"
    assert fields_of(Longer)["sheet"].called("form") == "the sheet"
    assert "sheet" not in fields_of(ReleaseRequest)
