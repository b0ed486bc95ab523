"""That every row is another person's can be declared where no column says whose it is; nothing checks it, and the record says so."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app

PRIOR = dc.Dirichlet([1, 1], categories=["never", "current"])
TABLE = pa.table({"smoking": ["never", "current", "never"], "region": ["north", "south", "north"], "w": [1, 2, 3]})


def counted(**options: Any) -> Any:
    return dc.count(TABLE, "smoking", PRIOR.categories, one_row_per_person=True, **options)


def test_rows_are_counted_as_persons(tmp_path: Path) -> None:
    plain, declared = dc.count(TABLE, "smoking", PRIOR.categories), counted()
    assert (plain.unit, declared.unit) == ("record", "person")
    assert declared.counts.tolist() == plain.counts.tolist() == [2, 1]
    assert counted(by={"region": ["north", "south"]}).unit == "person"
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, unit="person")
    mechanism = dc.LatticeGeometric(PRIOR, 3, 1)
    with pytest.raises(dc.BudgetError, match="one_row_per_person=True"):
        ledger.release("survey", mechanism, plain)
    assert ledger.release("survey", mechanism, declared).guarantee.unit == "person"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"privacy_id": "region"}, "^privacy_id: it says whose a row is"),
        ({"weight": "w"}, "^weight: a row stands for many records"),
        ({"one_row_per_person": "yes"}, "must be True or False"),
    ],
)
def test_it_does_not_go_together_with_another_word_about_persons(options: dict[str, Any], says: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=says):
        dc.count(TABLE, "smoking", PRIOR.categories, **{"one_row_per_person": True, **options})


def test_the_record_says_that_it_was_declared() -> None:
    found = dc.LatticeGeometric(PRIOR, 3, 1).release(counted(), about=dc.About())
    assert found.about is not None
    assert found.about.counting == dc.CountingRule("smoking", one_row_per_person=True)
    body = json.loads(found.to_json())
    assert (body["version"], body["about"]["counting"]["one_row_per_person"]) == (5, True)
    assert dc.Release.from_json(found.to_json()) == found
    table: Any = dc.LatticeGeometric(PRIOR, epsilon=1, by={"region": ["north", "south"]}).release(
        counted(by={"region": ["north", "south"]}), about=dc.About()
    )
    assert json.loads(table.to_json())["version"] == 5
    assert dc.Release.from_json(table.to_json()) == table
    without = dc.LatticeGeometric(PRIOR, 3, 1).release(dc.count(TABLE, "smoking", PRIOR.categories), about=dc.About())
    assert json.loads(without.to_json())["version"] == 4  # older versions read it still


def test_a_table_as_parquet_keeps_it(tmp_path: Path) -> None:
    by = {"region": ["north", "south"]}
    table: Any = dc.LatticeGeometric(PRIOR, epsilon=1, by=by).release(counted(by=by), about=dc.About())
    table.to_parquet(tmp_path / "table.parquet")
    assert dc.Release.from_parquet(tmp_path / "table.parquet").about == table.about


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(version=4),
        lambda body: body["about"].update(counting="by hand"),
        lambda body: body["about"]["counting"].pop("one_row_per_person"),
        lambda body: body["about"]["counting"].update(one_row_per_person=1),
        lambda body: body["about"]["counting"].update(one_row_per_person=False),  # the unit is a person
        lambda body: body["about"]["counting"].update(privacy_id="who"),
        lambda body: body["about"]["counting"].update(weight="w"),
        lambda body: body["guarantee"].update(unit="record"),
    ],
)
def test_a_record_that_is_not_what_its_version_says_is_refused(change: Any) -> None:
    body = json.loads(dc.LatticeGeometric(PRIOR, 3, 1).release(counted(), about=dc.About()).to_json())
    change(body)
    with pytest.raises(dc.InvalidInputError):
        dc.Release.from_json(json.dumps(body))


def test_the_command_declares_it(tmp_path: Path) -> None:
    path, place = tmp_path / "survey.csv", str(tmp_path / "ledger.db")
    path.write_text("smoking\nnever\nnever\ncurrent\n", encoding="utf-8")
    dc.Ledger(place).create("survey", 3, unit="person")
    words = ["release", str(path), "-c", "smoking", "--categories", "never,current", "-e", "1", "--ledger", place, "--dataset", "survey"]
    runner = CliRunner(env={"COLUMNS": "300"})
    refused = runner.invoke(app, words)
    assert refused.exit_code == 2
    assert "--privacy-id COLUMN, or, if every row is another person's, declare that, with --one-row-per-person" in refused.stderr
    done = runner.invoke(app, [*words, "--one-row-per-person"])
    assert done.exit_code == 0, done.output
    assert "Counted   every row as another person, which was declared and not checked" in done.stderr
    assert "Protected what a person answered, in the one row that each has; not that they took part" in done.stderr
    assert "n = 3 persons" in done.stderr
    assert dc.Release.from_json(done.stdout).guarantee.unit == "person"
    assert [line.unit for line in dc.Ledger(place).history("survey")] == ["person"]
