"""A year of months in the shell, with people who stay: its lines and its words are worked out by hand."""

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import Result

import discreet as dc
from tests.cli import support
from tests.cli.support import assert_refused
from tests.requests.study_support import STUDY, written

invoke = partial(support.invoke, columns=80)
MONTHS = [f"2025-{month:02}" for month in range(1, 13)]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "ledger.db"
    done = invoke("ledger", "create", place, "clinic", "--epsilon", "0.2", "--unit", "person", "--every", "month")
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "clinic: ε = 0.2 each month; hides what someone answered in one month, and every month's n is public "
        "(neighbours: replace one person in one month)\n"
        "protects all records of one person in one month; someone who is there for m months is protected by m times ε = 0.2 in all\n"
    )
    return place


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    place = tmp_path / "rows.csv"
    answers = ["never"] * 30 + ["current"] * 12
    place.write_text("\n".join(["who,smoking", *(f"p{number},{answer}" for number, answer in enumerate(answers))]) + "\n")
    return place


def release(rows: Path, ledger: Path, *words: object, epsilon: str = "0.15", who: str = "--privacy-id=who") -> Result:
    question = ("release", rows, "--column", "smoking", "--categories", "never,current", "--epsilon", epsilon, who)
    return invoke(*question, "--ledger", ledger, "--dataset", "clinic", "--quiet", *words)


def test_a_year_with_people_who_stay(rows: Path, ledger: Path, tmp_path: Path) -> None:
    """Twelve releases of 0.15, autumn once more with 0.05: 12 * 0.15 + 3 * 0.05 = 1.95 for whoever is there all year."""
    for month in MONTHS:
        done = release(rows, ledger, "--period", month, "--output", tmp_path / f"{month}.json")
        assert done.exit_code == 0, done.output
    done = invoke("ledger", "spend", ledger, "clinic", "--epsilon", "0.05", "--period", "2025-09..2025-11", "--note", "autumn, elsewhere")
    assert done.stdout == (
        "clinic: spent ε = 0.05 in each month of 2025-09..2025-11 (neighbours: replace one person in one month); left: ε = 0\n"
    )
    lines = json.loads(invoke("ledger", "history", ledger, "clinic", "--json").stdout)
    assert [(line["period"], line["epsilon"]) for line in lines] == [*((month, 0.15) for month in MONTHS), ("2025-09..2025-11", 0.05)]
    left = json.loads(invoke("ledger", "show", ledger, "--json").stdout)
    assert [(one["every"], one["period"]) for one in left] == [("month", month) for month in MONTHS]
    assert [one["left_epsilon"] for one in left] == pytest.approx([0.05] * 8 + [0.0] * 3 + [0.05], rel=1e-15)
    history, shown = invoke("ledger", "history", ledger, "clinic").stdout, invoke("ledger", "show", ledger).stdout
    assert "someone who was there in all 12 months that were charged is protected by ε = 1.95 in all; ε = 0.2 each month; " in history
    for month, spent in zip(MONTHS, ["0.15"] * 8 + ["0.2"] * 3 + ["0.15"], strict=True):
        assert any(month in line and f"ε = {spent} " in line for line in history.splitlines()[-20:])
        assert f"clinic, {month}" in shown
    tables = [line for text in (history, shown) for line in text.splitlines() if line[:1] in "┏┃┡│└"]
    assert max(map(len, tables)) <= 80
    record = invoke("show", tmp_path / "2025-11.json").stdout
    assert "2025-11, declared, not checked; protects all records of one person in" in record


def test_a_month_that_is_used_up_refuses_and_the_next_one_does_not_pay(rows: Path, ledger: Path, tmp_path: Path) -> None:
    assert release(rows, ledger, "--period", "2025-11", "-o", tmp_path / "first.json").exit_code == 0
    again = release(rows, ledger, "--period", "2025-11", "-o", tmp_path / "second.json")
    assert_refused(again, "the release needs ε = 0.15 in 2025-11 and 'clinic' in 2025-11 has ε = 0.05 left of ε = 0.2; nothing was spent")
    assert not (tmp_path / "second.json").exists()
    assert len(dc.Ledger(ledger).history("clinic")) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "is for each month, and the release does not say which it reads: give --period, such as 2026-11; nothing was spent"),
        (("--period", "2025-1"), "--period must be spelt as 2026, 2026-Q4, 2026-11 or 2026-11-18"),
        (("--period", "Nov 2025"), "--period must be spelt as"),
        (("--period", "2025"), "is for each month, and 2025 is not spelt so: give --period, such as 2026-11"),
        (("--period", "2999-01"), "2999-01 has not begun"),
        (("--period", "2025-03..2025-01"), "--period has two ends, the earlier one first"),
        (("--period", "2025-01..2025-03"), "a rule across periods: release each month by itself"),
    ],
)
def test_what_is_refused_is_refused_in_one_line(rows: Path, ledger: Path, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    assert_refused(release(rows, ledger, *words, "-o", tmp_path / "x.json"), says)
    assert dc.Ledger(ledger).history("clinic") == ()


def test_a_budget_for_all_time_takes_no_period(rows: Path, tmp_path: Path) -> None:
    dc.Ledger(tmp_path / "ledger.db").create("clinic", 1, unit="person")
    done = release(rows, tmp_path / "ledger.db", "--period", "2025-11", "-o", tmp_path / "x.json")
    assert_refused(
        done, "is for all time, and the release is about 2025-11 alone: leave out --period, or charge a dataset that was created"
    )


def test_periods_are_about_persons(rows: Path, tmp_path: Path) -> None:
    done = invoke("ledger", "create", tmp_path / "ledger.db", "clinic", "--epsilon", "1", "--every", "month")
    assert_refused(done, "a budget for each period is about all that a person has in it: give --unit person with --every")
    question = ("release", rows, "-c", "smoking", "--categories", "never,current", "-e", "1", "--period", "2025-11", "-o", tmp_path / "x")
    done = invoke(*question[:-1], tmp_path / "x.json", "--yes")
    assert_refused(done, "say whose a row is, with --privacy-id COLUMN, or that every row is another person's, with --one-row-per-person")


def test_rows_of_different_people_may_be_of_several_months(rows: Path, ledger: Path, tmp_path: Path) -> None:
    done = release(rows, ledger, "--period", "2025-01..2025-03", "-o", tmp_path / "x.json", who="--one-row-per-person")
    assert done.exit_code == 0, done.output
    assert [str(one.left) for one in dc.Ledger(ledger).periods("clinic")] == ["ε = 0.05"] * 3


@pytest.mark.parametrize(
    ("period", "groups", "said"),
    [
        ("2025-11", "months:2025-10..2025-11", "there are groups by seen such as 2025-10, and the release is charged to 2025-11"),
        ("2025-10..2025-11", "months:2025-10..2025-11", None),
        ("2025-11", "years:2024..2025", None),  # such as years of birth
    ],
)
def test_groups_of_months_that_are_not_charged_are_pointed_out(
    period: str, groups: str, said: str | None, ledger: Path, tmp_path: Path
) -> None:
    seen = tmp_path / "seen.csv"
    seen.write_text("smoking,seen\n" + "never,2025-10-03\ncurrent,2025-11-04\n" * 20)
    done = release(seen, ledger, "--by", f"seen={groups}", "--period", period, "-o", tmp_path / "x.json", who="--one-row-per-person")
    assert done.exit_code == 0, done.output
    assert ("such as" in done.stderr) == (said is not None)
    assert said is None or said in done.stderr


def test_a_study_of_one_month(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, unit="person", every="month")
    plain, dated = written(tmp_path), STUDY.replace("[study]", '[study]\nperiod = "2025-11"')
    done = invoke("release", plain, "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "published")
    assert_refused(done, "is for each month, and the release does not say which it reads: give study.period")
    written(tmp_path, dated)
    done = invoke("release", plain, "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "published")
    assert done.exit_code == 0, done.output
    assert "ε = 1 in 2025-11 charged at once; ε = 0 left for 'survey'" in done.stdout
    assert {str(dc.read(tmp_path / "published" / f"{name}.json").guarantee.period) for name in ("smoking", "exercise")} == {"2025-11"}
    written(tmp_path, dated.replace("2025-11", "2025-1"))
    assert_refused(invoke("check", plain), "study.period must be spelt as 2026")


def test_rows_of_other_months_are_left_out_by_their_dates(ledger: Path, tmp_path: Path) -> None:
    """Of a file of three months, each has the rows that its dates say; an id that is there in all of them counts in each."""
    rows = tmp_path / "visits.csv"
    lines = [f"p{number},{answer},2025-{month:02}-{1 + number % 28:02}" for month in (9, 10, 11) for number, answer in _answers(month)]
    rows.write_text("\n".join(["who,smoking,date", *lines]) + "\n")
    for month, persons in ((9, 27), (10, 30), (11, 33)):
        place = tmp_path / f"{month}.json"
        done = release(rows, ledger, "--period", f"2025-{month:02}", "--period-column", "date", "-o", place)
        assert done.exit_code == 0, done.output
        assert dc.read(place).n == persons
        assert "rows of other dates in 'date' were left out" in " ".join(invoke("show", place).stdout.split())
    assert [str(one.left) for one in dc.Ledger(ledger).periods("clinic")] == ["ε = 0.05"] * 3
    again = release(rows, ledger, "--period-column", "date", "-o", tmp_path / "x.json", "--period", "2025-12")
    assert_refused(again, "there are no records to count")
    assert_refused(release(rows, ledger, "--period-column", "date", "-o", tmp_path / "x.json"), "needs --period")
    done = invoke(
        "check",
        rows,
        "-c",
        "smoking",
        "--categories",
        "never,current",
        "--privacy-id",
        "who",
        "--period",
        "2025-09",
        "--period-column",
        "date",
    )
    assert done.exit_code == 0, done.output


def _answers(month: int) -> list[tuple[int, str]]:
    return [(number, "never" if number % 3 else "current") for number in range(3 * month)]


def test_a_study_leaves_out_rows_of_other_months(tmp_path: Path) -> None:
    place = written(tmp_path, STUDY.replace("[study]", '[study]\nperiod = "2025-11"\nperiod_column = "date"'))
    data = tmp_path / "survey.csv"
    head, *lines = data.read_text().splitlines()
    dated = [f"{line},2025-{10 + number % 2}-05" for number, line in enumerate(lines)]
    data.write_text("\n".join([f"{head},date", *dated]) + "\n")
    dc.Ledger(tmp_path / "ledger.db").create("survey", 1, unit="person", every="month")
    done = invoke("release", place, "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "published")
    assert done.exit_code == 0, done.output
    assert {dc.read(tmp_path / "published" / f"{name}.json").n for name in ("smoking", "exercise")} == {30}
