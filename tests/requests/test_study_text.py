"""What was typed for a release, kept as the file of a study: it asks for the same."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.question import question_of
from discreet.errors import InvalidInputError
from discreet.requests.release import ReleaseRequest
from discreet.requests.studies.file import study_text, with_table
from discreet.requests.studies.study import Study
from tests.requests.test_fields import RELEASE

WITHOUT = {"weight": None, "mapped": None, "source": None, "mechanism": None, "gamma": None, "delta": None}
WITHOUT |= {"one_row_per_person": None, "period_column": None, "strict": None}
"""What the file of a study has no key for, and what does not go with the rest of the example."""
PLAIN = {"file": "survey.csv", "column": "smoking", "categories": "never,former,current", "epsilon": "0.1"}


def asks_the_same(asked: ReleaseRequest, folder: Path) -> None:
    text = study_text(asked)
    assert text is not None
    (folder / "study.toml").write_text(text, "utf-8")
    study = Study.load(folder / "study.toml")
    (table,) = study.tables
    others = {name: value for name, value in asked.arguments("count").items() if name not in ("encoding", "corrections")}
    assert study.request(table).question().corrected({}) == question_of(asked.column, asked.categories, **others).corrected({})
    assert study.epsilons == {table.name: asked.epsilon}
    assert (study.source, study.encoding, study.dataset) == (asked.file, asked.encoding, asked.dataset)
    assert (study.public, study.period, study.corrections) == (asked.public, asked.period, asked.corrections)
    assert study.request(table).about == asked.about


BANDED = PLAIN | {"categories": None, "bands": "0,1/2,7.5", "missing": "no answer", "one_row_per_person": True}
STRICT = PLAIN | {"strict": True, "other": "current", "nulls": "never"}
RULES = PLAIN | {"by": ["age=bands:18,35 or ?", "d=years:2025..2026"], "other_groups": ["age=?"], "period": "2026-11", "period_column": "d"}


@pytest.mark.parametrize("typed", [PLAIN, BANDED, RULES, STRICT, RELEASE | WITHOUT])
def test_a_study_asks_for_what_was_typed(typed: dict[str, Any], tmp_path: Path) -> None:
    asks_the_same(ReleaseRequest.read(typed, "shell"), tmp_path)


@given(st.lists(st.text(min_size=1, max_size=5).map(str.strip).filter(bool), min_size=1))
def test_any_labels_and_names_are_kept(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    labels = [f"{place}{text}" for place, text in enumerate([*texts, "last"])]
    asked = ReleaseRequest.asking(file="a.csv", column=f"x{texts[0]}", categories=labels, epsilon=Fraction(1))
    asks_the_same(asked, tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize("name", ["weight", "mapped", "mechanism", "source"])
def test_what_a_study_cannot_ask_has_no_file(name: str) -> None:
    assert study_text(ReleaseRequest.read(PLAIN | {name: RELEASE[name] if name != "mapped" else ["No=never"]}, "shell")) is None
    assert study_text(ReleaseRequest.read(PLAIN | {"file": "-"}, "shell")) is None


COMMON = {"file": "/data/survey.csv", "privacy_id": "who", "epsilon": "0.5", "ignore_case": "yes", "trim": ""}
TABLES = [
    {"column": 'smo"king', "categories": 'never\nfor,mer\n"quoted"', "nulls": "never", "prior": "1,2,3"},
    {"column": "smo king", "categories": "a\nb", "by": "age=18-34,35+\nseen=months:2026-01..2026-03 or none", "other_groups": "age=35+"},
    {"column": "smo king", "categories": "a\nb", "by": "age=bands:18,35", "impossible": "18 to under 35,a", "other": "b"},
    {"column": "hours", "bands": "0,1,7.5", "missing": "no answer", "na_values": "NA,.", "variable": "Hours a week"},
]


def request(**fields: str) -> ReleaseRequest:
    return ReleaseRequest.read(COMMON | fields, "form")


def test_each_table_is_counted_as_its_release_would_be() -> None:
    text = ""
    for fields in TABLES:
        text = with_table(text, ".", request(**fields))
    study = Study.of_text(text, ".")
    assert [table.name for table in study.tables] == ["smo-king", "smo-king-2", "smo-king-3", "hours"]
    assert study.epsilons["hours"] == study.epsilon / 4
    for table, fields in zip(study.tables, TABLES, strict=True):
        asked = request(**fields)
        assert study.request(table).question() == question_of(asked.column, asked.categories, **asked.arguments("count")), fields
        assert study.request(table).about.variable == asked.about.variable


def test_a_name_that_is_taken_has_a_number() -> None:
    text = ""
    for _ in range(3):
        text = with_table(text, ".", request(**TABLES[0]))
    assert [table.name for table in Study.of_text(text, ".").tables] == ["smo-king", "smo-king-2", "smo-king-3"]


def test_what_somebody_wrote_stays() -> None:
    before = (
        '# ours\n[study]\nsource = "/data/survey.csv" # here\nid = "who"\nnormalize = ["case"]\nepsilon = 2\n[tables.x]\ncolumn = "x"\n'
    )
    before += 'categories = ["a", "b"]'
    assert with_table(before, ".", request(**TABLES[0])).startswith(before)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"file": "/data/other.csv"}, "another path"),
        ({"privacy_id": ""}, "another id"),
        ({"ignore_case": ""}, "another normalize"),
        ({"mechanism": "LaplaceHistogram"}, "LatticeGeometric releases its tables"),
        ({"source": "Institute"}, "Where the data come from"),
    ],
)
def test_what_a_study_has_not_or_has_otherwise_is_refused(changed: dict[str, str], told: str) -> None:
    text = with_table("", ".", request(**TABLES[0]))
    with pytest.raises(InvalidInputError, match=told):
        with_table(text, ".", request(**(TABLES[0] | changed)))


def test_a_text_that_is_no_study_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        with_table("[study", ".", request(**TABLES[0]))
