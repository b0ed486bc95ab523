"""Records about periods: version 7, written and read back exactly; every other record is written as before."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InvalidInputError
from discreet.model.periods import PeriodRange
from discreet.present.record import promise_lines
from discreet.record.guarantee import Guarantee
from discreet.sampling import SeededBits

BY = {"sex": ["f", "m"]}


def released(period: str | None = "2026-11", about: dc.About | None = None) -> dc.Release:
    made = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), 60, "0.2").prepare([10, 20, 30], unit="person", about=about, period=period)
    return made.draw(steady=False)


def released_table(period: str) -> dc.Release:
    made = dc.LatticeGeometric(dc.Dirichlet([1, 1]), 6, "0.2", by=BY).prepare(np.array([[1, 2], [3, 0]]), unit="person", period=period)
    return made.draw(steady=False)


@pytest.mark.parametrize("about", [None, dc.About(title="Visits"), dc.About(counting="by hand")], ids=["bare", "title", "counting"])
@pytest.mark.parametrize("period", ["2026-11", "2026-01..2026-03", "2026", "2026-Q3", "2026-11-18"])
def test_a_record_keeps_its_period(period: str, about: dc.About | None) -> None:
    drawn = released("2026-11", about)
    release = replace(drawn, guarantee=replace(drawn.guarantee, period=PeriodRange.read(period)))
    body = json.loads(release.to_json())
    assert (body["version"], body["guarantee"]["period"]) == (7, period)
    assert dc.Release.from_json(release.to_json()) == release
    assert release.guarantee.period == PeriodRange.read(period)


def test_a_table_keeps_its_period_in_json_and_parquet(tmp_path: Path) -> None:
    release = released_table("2026-11")
    assert dc.Release.from_json(release.to_json()) == release
    release.to_parquet(tmp_path / "table.parquet")
    assert dc.read(tmp_path / "table.parquet") == release


def test_records_without_periods_are_written_as_before() -> None:
    for about, version in ((None, 1), (dc.About(title="Visits"), 4)):
        body = json.loads(released(None, about).to_json())
        assert body["version"] == version
        assert list(body["guarantee"]) == ["epsilon", "delta", "basis", "unit", "neighbours"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"period": "2026-1"}, "the guarantee's period must be spelt as"),
        ({"period": 7}, "the guarantee's period must be text"),
        ({"unit": "record"}, "the unit must be|about all records of one person"),
        ({"epsilon": "0.1"}, "the record claims"),
    ],
)
def test_a_record_with_another_promise_is_refused(change: dict[str, Any], words: str) -> None:
    body = json.loads(released().to_json())
    body["guarantee"] |= change
    with pytest.raises(dc.DiscreetError, match=words):
        dc.Release.from_json(json.dumps(body))


def test_a_period_needs_its_version_and_the_version_its_period() -> None:
    body = json.loads(released(about=dc.About(title="Visits")).to_json())
    with pytest.raises(InvalidInputError, match="'period'"):
        dc.Release.from_json(json.dumps(body | {"version": 4}))
    del body["guarantee"]["period"]
    with pytest.raises(InvalidInputError, match="must have a field 'period'"):
        dc.Release.from_json(json.dumps(body))


def test_who_is_protected_by_how_much_is_said() -> None:
    lines = dict(promise_lines(released(), computed=False))
    assert lines["Promise"].endswith("it compares datasets that differ in one person's answers, in one month")
    assert lines["Protected"] == "what a person answered, in all their rows of one month; not that they took part"
    assert lines["Period"] == (
        "2026-11, declared, not checked; protects all records of one person in one month; someone who is there for m months is protected "
        "by m times ε = 0.2 in all, with one such release in each"
    )
    assert lines["Public"].startswith("n = 60 persons, as every month's n is, ")
    assert "Period" not in dict(promise_lines(released(None), computed=False))


def test_an_outcome_that_others_can_draw_promises_nothing_about_its_period() -> None:
    made = dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).prepare([4, 5], unit="person", period="2026")
    release = made.draw(SeededBits(1), steady=False)
    assert (release.guarantee.basis, str(release.guarantee.period)) == ("none", "2026")
    assert dc.Release.from_json(release.to_json()) == release
    assert dict(promise_lines(release, computed=False))["Period"] == "2026, declared, not checked"


def test_a_promise_about_a_period_is_about_persons() -> None:
    with pytest.raises(InvalidInputError, match="count persons"):
        Guarantee(1.0, 0.0, "proof", period=PeriodRange.read("2026"))


def test_releases_of_two_months_are_not_of_the_same_records() -> None:
    first, second = released("2026-10"), released("2026-11")
    with pytest.raises(InvalidInputError, match=r"2026-10, .* 2026-11"):
        dc.combine([first, second], same_data=True)
    dc.combine([first, second], same_data=False)
    dc.combine([first, released("2026-10")], same_data=True)
