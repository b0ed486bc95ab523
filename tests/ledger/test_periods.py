"""A budget for each period: what is charged to which, all or nothing, and what is refused. Oracle: sums in exact fractions, by period."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger import statements
from discreet.ledger.ledger import Ledger, Loss
from discreet.ledger.statements import Amount
from discreet.model.periods import PeriodRange
from tests.ledger.conftest import make_older

MONTHS = [f"2025-{month:02}" for month in range(1, 13)]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("visits", "0.2", unit="person", every="month")
    made.create("census", 1)
    return made


def of_persons(epsilon: Any = "0.1") -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Beta(1, 1), 50, epsilon)


def left(ledger: Ledger, *periods: str) -> list[Fraction]:
    return [ledger.remaining("visits", period).epsilon for period in periods]


# --- what is charged --------------------------------------------------------------------------------------------------


def test_ten_tenths_are_one_in_every_month(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("visits", 1, unit="person", every="month")
    for month in MONTHS[:2]:
        for _ in range(10):
            ledger.spend("visits", 0.1, period=month)
        assert ledger.remaining("visits", month) == Loss(Fraction(0))
        with pytest.raises(BudgetError, match=f"ε = 0.001 in {month} .* {month} has ε = 0 .* ε = 1;"):
            ledger.spend("visits", "0.001", period=month)
    assert ledger.remaining("visits", MONTHS[2]) == Loss(Fraction(1))
    assert ledger.spent("visits") == Loss(Fraction(2))
    assert [str(one.spent) for one in ledger.periods("visits")] == ["ε = 1", "ε = 1"]


def test_several_periods_are_charged_by_one_line_all_or_nothing(ledger: Ledger) -> None:
    ledger.spend("visits", "0.2", period="2025-02")
    with pytest.raises(BudgetError, match=r"ε = 0.1 .* 2025-01\.\.2025-03 .* 2025-02 has ε = 0 "):
        ledger.spend("visits", "0.1", period="2025-01..2025-03")
    assert left(ledger, "2025-01", "2025-02", "2025-03") == [Fraction("0.2"), 0, Fraction("0.2")]
    line = ledger.spend("visits", "0.1", period="2025-03..2025-05")
    assert left(ledger, *MONTHS[:6]) == [Fraction(text) for text in ("0.2", "0", "0.1", "0.1", "0.1", "0.2")]
    assert ledger.history("visits")[-1] == line
    assert (str(line.period), line.step) == ("2025-03..2025-05", "replace one person in one month")
    assert ledger.spent("visits") == Loss(Fraction("0.5"))
    assert ledger.spent("visits", "2025-03") == Loss(Fraction("0.1"))
    assert [(str(one.period), one.spends) for one in ledger.periods("visits")] == [(f"2025-{month:02}", 1) for month in (2, 3, 4, 5)]
    assert ledger.accountant("visits").basic == (Fraction("0.5"), Fraction(0))


runs = st.tuples(st.integers(0, 11), st.integers(0, 3), st.sampled_from(["0.05", "0.1", "1/15"]))


@settings(max_examples=25)
@given(st.lists(runs, min_size=1, max_size=12))
def test_a_spend_is_taken_if_and_only_if_every_period_allows_it(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[int, int, str]]
) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    ledger.create("visits", "0.2", unit="person", every="month")
    spent = dict.fromkeys(MONTHS, Fraction(0))
    for first, more, amount in wanted:
        run = MONTHS[first : first + more + 1]
        period = run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}"
        if all(spent[month] + Fraction(amount) <= Fraction("0.2") for month in run):
            ledger.spend("visits", amount, period=period)
            spent |= {month: spent[month] + Fraction(amount) for month in run}
        else:
            with pytest.raises(BudgetError):
                ledger.spend("visits", amount, period=period)
    assert left(ledger, *MONTHS) == [Fraction("0.2") - spent[month] for month in MONTHS]
    assert {str(one.period): one.spent.epsilon for one in ledger.periods("visits")} == {month: e for month, e in spent.items() if e}
    assert ledger.spent("visits").epsilon == sum(spent.values())
    assert [one.spent.epsilon for one in ledger.statements()] == ([e for e in spent.values() if e] or [Fraction(0)])


def test_a_release_says_and_is_charged_its_period(ledger: Ledger) -> None:
    release = ledger.release("visits", of_persons(), [20, 30], unit="person", period="2025-11")
    assert str(release.guarantee).endswith("neighbours: replace one person in one month")
    assert release.guarantee.protects == (
        "protects all records of one person in one month; someone who is there for m months is protected by m times ε = 0.1 in all, "
        "with one such release in each"
    )
    assert str(ledger.history("visits")[0].period) == "2025-11"
    assert ledger.spend("visits", release.guarantee).period == PeriodRange.read("2025-11")
    assert left(ledger, "2025-10", "2025-11") == [Fraction("0.2"), 0]
    with pytest.raises(InvalidInputError, match=r"guarantee .*: 2025-11"):
        ledger.spend("visits", release.guarantee, period="2025-12")


def test_tables_of_a_study_are_charged_to_one_period(ledger: Ledger) -> None:
    ready = {name: of_persons("0.05").prepare([20, 30], unit="person", period="2025-11") for name in ("a", "b")}
    line = ledger.charge_together("visits", ready)
    assert (line.loss, str(line.period)) == (Loss(Fraction("0.1")), "2025-11")
    ready["b"] = of_persons("0.05").prepare([20, 30], unit="person", period="2025-12")
    with pytest.raises(InvalidInputError, match="same periods"):
        ledger.charge_together("visits", ready)
    assert left(ledger, "2025-11", "2025-12") == [Fraction("0.1"), Fraction("0.2")]


def test_a_request_is_charged_once_whatever_its_period(ledger: Ledger) -> None:
    ledger.spend("visits", "0.1", period="2025-01", request="key")
    with pytest.raises(dc.RepeatedError):
        ledger.spend("visits", "0.1", period="2025-02", request="key")
    assert left(ledger, "2025-02") == [Fraction("0.2")]


def test_a_filter_is_kept_in_every_period(tmp_path: Path) -> None:
    """Oracle: a dataset for all time with the same filter, which takes as many releases."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("visits", 1, "1e-3", unit="person", every="month", planned_epsilon="0.1")
    ledger.create("all time", 1, "1e-3", unit="person", planned_epsilon="0.1")

    def taken(dataset: str, period: str | None) -> int:
        while ledger.remaining(dataset, period).epsilon >= Fraction("0.1"):
            ledger.spend(dataset, "0.1", period=period)
        with pytest.raises(BudgetError, match="divergence"):
            ledger.spend(dataset, "0.1", period=period)
        return ledger.statement(dataset, period=period).spends

    assert taken("visits", "2025-01") == taken("visits", "2025-02") == taken("all time", None) > 10
    assert ledger.spent("visits") == Loss(Fraction(2), Fraction("0.002"))
    assert ledger.spent("visits", "2025-01").epsilon > 1
    with pytest.raises(BudgetError, match=r"several months .* δ = 0, .* filter"):
        ledger.spend("visits", "0.1", period="2025-03..2025-04")


def test_a_release_of_several_periods_has_no_delta(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("visits", 1, "1e-3", unit="person", every="month")
    ledger.spend("visits", "0.1", "1e-4", period="2025-03")
    with pytest.raises(BudgetError, match="must have δ = 0"):
        ledger.spend("visits", "0.1", "1e-4", period="2025-03..2025-04")
    assert ledger.spent("visits") == Loss(Fraction("0.1"), Fraction("0.0001"))


# --- what is refused, with nothing spent ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "period", "words"),
    [
        ("visits", None, "is for each month, and the release does not say which it reads: give period='2026-11'; nothing was spent"),
        ("visits", "2025-Q1", "is for each month, and 2025-Q1 is not spelt so"),
        ("visits", "2025", "is for each month, and 2025 is not spelt so"),
        ("visits", "2025-01-01", "is for each month, and 2025-01-01 is not spelt so"),
        ("visits", "2999-01", "2999-01 has not begun"),
        ("visits", "2025-12..2999-01", "period has at most 400 months"),
        ("visits", "2025-1", "period must be spelt as"),
        ("visits", "Nov 2025", "period must be spelt as"),
        ("census", "2025-01", "is for all time, and the release is about 2025-01 alone: leave it out"),
    ],
)
def test_a_period_that_does_not_fit_is_refused_in_one_line(ledger: Ledger, dataset: str, period: str | None, words: str) -> None:
    for attempt in (
        lambda: ledger.spend(dataset, "0.1", period=period),
        lambda: ledger.release(dataset, of_persons(), [20, 30], unit="person", period=period),
    ):
        with pytest.raises((BudgetError, InvalidInputError)) as caught:
            attempt()
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    assert ledger.history(dataset) == ()


@pytest.mark.parametrize("ask", [Ledger.remaining, Ledger.statement])
def test_what_is_left_is_asked_of_a_period(ledger: Ledger, ask: Any) -> None:
    with pytest.raises(BudgetError, match="is for each month"):
        ask(ledger, "visits")
    with pytest.raises(BudgetError, match="is for all time"):
        ask(ledger, "census", period="2025-01")


def test_a_budget_for_each_period_is_about_persons(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="give unit='person' with every"):
        ledger.create("rows", 1, every="month")
    with pytest.raises(InvalidInputError, match="every must be 'day'"):
        ledger.create("rows", 1, unit="person", every="week")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="all records of one person"):
        ledger.release("visits", of_persons(), [20, 30], period="2025-01")
    with pytest.raises(BudgetError, match=r"persons .* records"):
        ledger.spend("visits", dc.LatticeGeometric(dc.Beta(1, 1), 50, 1).guarantee, period="2025-01")
    assert [budget.dataset for budget in ledger.datasets()] == ["census", "visits"]


def test_the_periods_of_a_dataset_never_change(ledger: Ledger) -> None:
    for every in ("year", None):
        with pytest.raises(LedgerError, match="its budget cannot be changed"):
            ledger.create("visits", 1, unit="person", every=every)


def test_ids_are_not_joined_over_periods(ledger: Ledger) -> None:
    rows = pd.DataFrame({"who": ["a", "a", "b"], "smoking": ["yes", "no", "no"]})
    counts = dc.count(rows, "smoking", ["yes", "no"], "who")
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1, ("yes", "no")), 2, "0.1")
    with pytest.raises(InvalidInputError, match=r"2025-01\.\.2025-02, .* each month"):
        ledger.release("visits", mechanism, counts, period="2025-01..2025-02")
    with pytest.raises(InvalidInputError, match=r"discreet\.count"):  # which forgot their ids
        ledger.release("visits", mechanism, np.asarray(counts), unit="person", period="2025-01..2025-02")
    assert ledger.history("visits") == ()
    ledger.release("visits", mechanism, counts, period="2025-01")
    single = dc.count(rows, "smoking", ["yes", "no"], one_row_per_person=True)
    ledger.release("visits", dc.LatticeGeometric(mechanism.prior, 3, "0.1"), single, period="2025-02..2025-03")
    assert left(ledger, "2025-01", "2025-02", "2025-03") == [Fraction("0.1")] * 3


# --- other versions, and rows that someone has edited -----------------------------------------------------------------


def test_an_older_ledger_gets_periods_with_its_first_spend(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("census", 1)
    ledger.spend("census", "0.1")
    make_older(tmp_path / "ledger.db", 6)
    before = (tmp_path / "ledger.db").read_bytes()
    assert ledger.remaining("census") == Loss(Fraction("0.9"))
    assert ledger.periods("census") == ()
    assert [one.period for one in ledger.history("census")] == [None]
    assert (tmp_path / "ledger.db").read_bytes() == before
    ledger.create("visits", 1, unit="person", every="quarter")
    ledger.spend("visits", "0.1", period="2025-Q3")
    assert [str(line.period) for line in ledger.history("visits")] == ["2025-Q3"]


def test_a_ledger_of_a_later_version_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    """The version before this one has the same rule: it would charge a month without knowing it."""
    ledger.spend("visits", "0.1", period="2025-01")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        assert connection.execute("SELECT version FROM discreet_ledger").fetchall() == [(7,)]
        connection.execute("UPDATE discreet_ledger SET version = 8")
    for attempt in (lambda: ledger.spend("visits", "0.1"), ledger.statements):
        with pytest.raises(LedgerError, match="was written by another version of discreet"):
            attempt()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE discreet_budget SET every = 'year' WHERE dataset = 'visits'", "was not charged to its periods"),
        ("UPDATE discreet_budget SET every = NULL WHERE dataset = 'visits'", "was not charged to its periods"),
        ("UPDATE discreet_budget SET every = 'week' WHERE dataset = 'visits'", "edited the periods of a budget"),
        ("UPDATE discreet_spend SET period = NULL", "was not charged to its periods"),
        ("UPDATE discreet_spend SET period = '2025-Q1'", "was not charged to its periods"),
        ("UPDATE discreet_spend SET period = '2025-1'", "edited the period of a spend"),
        ("UPDATE discreet_spend SET period = 7", "edited the period of a spend"),
    ],
)
def test_edited_periods_are_an_error_and_no_spend(ledger: Ledger, tmp_path: Path, statement: str, words: str) -> None:
    ledger.spend("visits", "0.1", period="2025-01")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute(statement)
    every = {"'year'": "2025", "NULL": None}.get(statement.split(" = ")[1].split(" ")[0], "2025-01") if "budget" in statement else "2025-01"
    attempts = (lambda: ledger.spend("visits", "0.1", period=every), ledger.statements, lambda: ledger.periods("visits"))
    for attempt in attempts:
        with pytest.raises(LedgerError, match=rf"{words}.*do not release"):
            attempt()


def test_a_period_has_one_account_however_it_is_made(ledger: Ledger) -> None:
    ledger.spend("visits", "0.2", period="2025-09")
    promised = of_persons("0.2").guarantee
    with pytest.raises(InvalidInputError, match="the first days of a month"):
        ledger.spend("visits", replace(promised, unit="person", period=PeriodRange("month", date(2025, 9, 2), date(2025, 9, 2))))
    with pytest.raises(InvalidInputError, match="has at most 400 months; got 1,209"):  # which no ledger could read back
        replace(promised, unit="person", period=PeriodRange("month", date(1925, 1, 1), date(2025, 9, 1)))
    own = PeriodRange("month", date(2025, 9, 1), date(2025, 9, 1))
    with pytest.raises(BudgetError, match="in 2025-09 has ε = 0 left"):
        ledger.spend("visits", replace(promised, unit="person", period=own))


def test_long_runs_are_added_up_by_their_ends(ledger: Ledger) -> None:
    """Oracle: the sums of each day, one by one."""
    ledger.create("days", 100, unit="person", every="day")
    budget, start = ledger.budget("days"), date(2024, 1, 1)
    runs = [PeriodRange("day", start + timedelta(i % 7), start + timedelta(390 - i % 5)) for i in range(40)]
    amounts: list[Amount] = [(Loss(Fraction(1, 3 + i % 4)), None, run, 1 + i % 3) for i, run in enumerate(runs)]
    found = statements.statements_of(budget, amounts)
    assert [one.period for one in found] == list(PeriodRange("day", start, start + timedelta(390)))
    for one in found:
        charged = [(loss.epsilon, times) for loss, _, run, times in amounts if run is not None and one.period in list(run)]
        assert (one.spends, one.spent.epsilon) == (sum(times for _, times in charged), sum(e * times for e, times in charged))
    for asked in ("2024-01-03..2024-01-20", "2025-01-20..2025-02-10", "2023-12-30..2024-01-02", "2023-01-01"):
        wanted = PeriodRange.read(asked)
        known = {one.period: one.spent for one in found}
        given = statements.statements_of(budget, amounts, wanted)
        assert [(one.period, one.spent) for one in given] == [(day, known.get(day, Loss(Fraction(0)))) for day in wanted]
