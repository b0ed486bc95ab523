"""The same records under two names have two budgets, which add up: a ledger keeps the declared source of a spend, and says so first."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import discreet as dc
from discreet.cli import app
from tests.ledger.conftest import make_older


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    found = dc.Ledger(tmp_path / "ledger.db")
    for name in ("survey", "survey again", "other people"):
        found.create(name, 3)
    return found


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text("smoking\n" + "never\n" * 30 + "current\n" * 12, encoding="utf-8")
    return path


def release(file: Path | str, ledger: dc.Ledger, dataset: str, given: str | None = None) -> Result:
    words = ["-c", "smoking", "--categories", "never,current", "-e", "0.5", "--json", "--dataset", dataset]
    place = repr(ledger).removeprefix("Ledger('").removesuffix("')")
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["release", str(file), *words, "--ledger", place], input=given)


SAID = "notice: this source was charged to 'survey' before: a second budget for the same people does not protect them"


def test_a_second_dataset_for_the_same_file_is_remarked_on_and_a_script_goes_on(survey: Path, ledger: dc.Ledger) -> None:
    for _ in range(2):
        assert release(survey, ledger, "survey").stderr == ""
    link = survey.with_name("link.csv")
    link.symlink_to(survey)
    for name in (survey, link, survey.parent / "." / "survey.csv"):
        done = release(name, ledger, "survey again")
        assert done.exit_code == 0
        assert done.stderr.startswith(SAID)
    assert len(ledger.history("survey again")) == 3
    assert "'survey', 'survey again'" in release(survey, ledger, "other people").stderr


def test_another_file_is_another_source(survey: Path, ledger: dc.Ledger) -> None:
    assert release(survey, ledger, "survey").stderr == ""
    other = survey.with_name("wave 2.csv")
    other.write_bytes(survey.read_bytes())  # no digest of the data is kept
    assert release(other, ledger, "survey again").stderr == ""
    assert release("-", ledger, "other people", survey.read_text()).stderr == ""
    assert [line.source for line in ledger.history("other people")] == [None]
    assert [line.source for line in ledger.history("survey")] == [str(survey.resolve())]


def test_in_python_it_is_a_warning_before_anything_is_spent(ledger: dc.Ledger) -> None:
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 9, "0.5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.release("survey", mechanism, [4, 5], source="clinic register")
        ledger.spend("survey", 1, source="clinic register")
        ledger.spend("survey again", 1, source="another register")
        ledger.release("survey again", mechanism, [4, 5])
        with pytest.raises(dc.SecondBudgetWarning, match=r"^this source was charged to 'survey' before"):
            ledger.spend("other people", 1, source="clinic register")
        with pytest.raises(dc.SecondBudgetWarning, match=r"^this source was charged to 'survey' before"):
            ledger.release("other people", mechanism, [4, 5], source="clinic register")
    assert ledger.history("other people") == ()
    with pytest.warns(dc.SecondBudgetWarning) as caught:
        ledger.spend("other people", 1, source="clinic register")
    with pytest.warns(dc.SecondBudgetWarning) as caught_too:
        ledger.release("other people", mechanism, [4, 5], source="clinic register")
    assert {warning.filename for warning in (*caught, *caught_too)} == {__file__}
    assert ledger.charged_elsewhere("survey", "clinic register") == ("other people",)


@pytest.mark.parametrize("source", ["", " ", "two\x00", "x" * 1001, 7])
def test_a_source_is_short_printable_text(ledger: dc.Ledger, source: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"source .* 1000 characters"):
        ledger.spend("survey", 1, source=source)
    assert ledger.history("survey") == ()


def test_a_ledger_of_the_fifth_version_knows_no_sources_until_it_is_written_to(ledger: dc.Ledger, tmp_path: Path) -> None:
    ledger.spend("survey", 1)
    make_older(tmp_path / "ledger.db", 5)
    assert [line.source for line in ledger.history("survey")] == [None]
    assert ledger.charged_elsewhere("survey again", "a.csv") == ()
    ledger.spend("survey", 1, source="a.csv")
    assert ledger.charged_elsewhere("survey again", "a.csv") == ("survey",)
    assert [line.source for line in ledger.history("survey")] == [None, "a.csv"]


@pytest.mark.parametrize("source", ["/x/\ud800y.csv", Path("survey.csv"), ""], ids=["surrogate", "path", "empty"])
def test_a_source_that_is_no_text_is_called_so_before_anything_is_looked_up(ledger: dc.Ledger, source: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="source"):
        ledger.charged_elsewhere("survey", source)
