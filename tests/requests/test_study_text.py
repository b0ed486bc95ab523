"""What was typed for a release, kept as the file of a study: it asks for the same."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.question import question_of
from discreet.requests.release import ReleaseRequest
from discreet.requests.study import Study
from discreet.requests.study_text import study_text
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
    assert study.question(table).corrected({}) == question_of(asked.column, asked.categories, **others).corrected({})
    assert study.epsilons == {table.name: asked.epsilon}
    assert (study.source, study.encoding, study.dataset) == (asked.file, asked.encoding, asked.dataset)
    assert (study.public, study.period, study.corrections) == (asked.public, asked.period, asked.corrections)
    assert study.words(table) == asked.about


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
