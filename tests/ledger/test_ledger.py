"""Budgets and spends. Oracle: the same sums in exact fractions. Kills, races and full disks: see test_ledger_faults.py."""

import json
import sqlite3
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, event

from discreet.data.count import CategoryCounts
from discreet.errors import BudgetError, DiscreetError, InvalidInputError, LedgerError
from discreet.ledger.ledger import Ledger, Loss, composed
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.model.dirichlet import Dirichlet
from discreet.record.guarantee import Guarantee

# --- exact sums -------------------------------------------------------------------------------------------------------


def test_ten_tenths_are_one(ledger: Ledger) -> None:
    for _ in range(10):
        ledger.spend("survey", 0.1)
    assert ledger.spent("survey") == Loss(Fraction(1))
    assert ledger.remaining("survey") == Loss(Fraction(0))
    with pytest.raises(BudgetError, match=r"ε = 0\.0+1 .*'survey'.* ε = 0 .* ε = 1;"):
        ledger.spend("survey", "1e-30")
    assert len(ledger.history("survey")) == 10


@pytest.mark.parametrize("third", ["1/3", Fraction(1, 3)])
def test_three_thirds_are_one(ledger: Ledger, third: Any) -> None:
    for _ in range(3):
        ledger.spend("survey", third)
    assert ledger.remaining("survey").epsilon == 0


def test_three_releases_of_a_third_are_one(ledger: Ledger) -> None:
    """The guarantee is a float, which is a little above a third; the mechanism knows its ε exactly."""
    for _ in range(3):
        ledger.release("survey", LatticeGeometric(Dirichlet.uniform(2), 10, "1/3"), [4, 6])
    assert ledger.remaining("survey").epsilon == 0


@pytest.mark.parametrize("epsilon", [Fraction(10**200 + 1, 3 * 10**200), "0." + "3" * 150])
def test_a_release_with_an_epsilon_of_many_digits_leaves_the_ledger_readable(ledger: Ledger, epsilon: Any) -> None:
    mechanism = LatticeGeometric(Dirichlet.uniform(2), 10, epsilon)
    ledger.release("survey", mechanism, [4, 6])
    assert mechanism.epsilon <= ledger.spent("survey").epsilon < mechanism.epsilon + Fraction(1, 10**15)


def test_no_releases_are_not_charged(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="at least one"):
        ledger.charge_together("survey", {})
    assert not ledger.history("survey")


def test_fractions_whose_sum_is_too_long_are_not_charged_together(ledger: Ledger) -> None:
    epsilons = Fraction(1, 3) + Fraction(1, 3**205), "0.1" + "0" * 90 + "1"
    prepared = {str(e)[:4]: LatticeGeometric(Dirichlet.uniform(2), 10, e).prepare([4, 6]) for e in epsilons}
    with pytest.raises(InvalidInputError, match="nothing was spent"):
        ledger.charge_together("survey", prepared)
    assert not ledger.history("survey")


amounts = st.one_of(
    st.fractions(Fraction(1, 1000), Fraction(2, 3), max_denominator=1000),
    st.decimals("0.001", "0.7", places=4),
    st.floats(1e-6, 0.7),
)


@settings(max_examples=25)
@given(st.lists(amounts, min_size=1, max_size=6))
def test_a_spend_is_taken_if_and_only_if_the_exact_sum_allows_it(tmp_path_factory: pytest.TempPathFactory, wanted: list[Any]) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    ledger.create("survey", 1)
    taken = Fraction(0)
    for amount in wanted:
        value = Fraction(repr(amount)) if isinstance(amount, float) else Fraction(amount)
        if taken + value <= 1:
            assert ledger.spend("survey", amount).loss == Loss(value)
            taken += value
        else:
            with pytest.raises(BudgetError):
                ledger.spend("survey", amount)
        assert ledger.remaining("survey") == Loss(1 - taken)
    assert ledger.spent("survey") == Loss(taken) == composed(line.loss for line in ledger.history("survey"))


@given(st.fractions(0, 10**6), st.integers(0, 10**30), st.integers(0, 40))
def test_amounts_keep_their_value_as_text(fraction: Fraction, digits: int, places: int) -> None:
    for value in (fraction, Fraction(digits, 10**places)):
        shown = str(Loss(value)).removeprefix("ε = ")
        assert Fraction(shown) == value
    assert "/" not in str(Loss(Fraction(digits, 10**places)))


def test_delta_has_a_budget_of_its_own(ledger: Ledger) -> None:
    ledger.create("clinic", 2, "1e-6")
    ledger.spend("clinic", 1, "0.0000006")
    assert str(ledger.remaining("clinic")) == "ε = 1, δ = 0.0000004"
    with pytest.raises(BudgetError):
        ledger.spend("clinic", "0.1", "5e-7")
    with pytest.raises(BudgetError):
        ledger.spend("survey", "0.1", 1e-9)
    ledger.spend("clinic", 1, 4e-7)
    assert ledger.remaining("clinic") == Loss(Fraction(0), Fraction(0))


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_a_spend_is_kept_with_all_that_is_public_about_it(ledger: Ledger, tmp_path: Path) -> None:
    description = {"mechanism": "LatticeGeometric", "epsilon": Fraction(1, 10), "prior": ["0.5", "0.5"], "n": 100}
    before = datetime.now(UTC).date()
    line = ledger.spend("survey", Decimal("0.1"), note="first look", description=description)
    again = Ledger(tmp_path / "ledger.db").history("survey")
    assert again == (line,)
    assert (line.number, line.dataset, line.note, line.unit) == (1, "survey", "first look", "record")
    assert line.description == {**description, "epsilon": "0.1"}
    assert before <= line.day <= datetime.now(UTC).date()


def test_datasets_are_kept_apart_and_listed_by_name(ledger: Ledger) -> None:
    ledger.create("Umfrage 🙂 'x'; DROP TABLE discreet_spend", "0.5", unit="person")
    ledger.spend("Umfrage 🙂 'x'; DROP TABLE discreet_spend", "0.5")
    assert [budget.dataset for budget in ledger.datasets()] == ["Umfrage 🙂 'x'; DROP TABLE discreet_spend", "survey"]
    assert ledger.remaining("survey") == Loss(Fraction(1))
    assert ledger.datasets()[0].total == Loss(Fraction(1, 2))
    assert ledger.budget("Umfrage 🙂 'x'; DROP TABLE discreet_spend") == ledger.datasets()[0]


def test_numbers_rise_across_datasets(ledger: Ledger) -> None:
    ledger.create("other", 1)
    numbers = [ledger.spend(name, "0.1").number for name in ("survey", "other", "survey")]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "secret",
    [np.array([271828, 3]), CategoryCounts(np.array([271828, 3]), ("a", "b"), "record"), {271828}, b"271828", float("nan"), object()],
)
def test_a_description_takes_plain_values_only(ledger: Ledger, tmp_path: Path, secret: Any) -> None:
    for description in ({"counts": secret}, {"nested": [{"counts": secret}]}, secret):
        with pytest.raises(InvalidInputError) as caught:
            ledger.spend("survey", "0.1", description=description)
        assert "271828" not in str(caught.value)
    assert ledger.history("survey") == ()
    assert b"271828" not in (tmp_path / "ledger.db").read_bytes()


# --- guarantees -------------------------------------------------------------------------------------------------------


def test_a_guarantee_is_spent_as_it_is_promised(ledger: Ledger) -> None:
    ledger.create("clinic", 1, "1e-5", unit="person")
    assert ledger.spend("survey", Guarantee(0.1, 0.0, "proof")).loss == Loss(Fraction(1, 10))
    line = ledger.spend("clinic", Guarantee(0.1, 1e-6, "computation", unit="person"))
    assert (line.loss, line.unit) == (Loss(Fraction(1, 10), Fraction(1, 10**6)), "person")


def test_no_guarantee_cannot_be_spent(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match="without a privacy guarantee"):
        ledger.spend("survey", Guarantee(0.1, 0.0, "none"))


def test_a_promise_to_records_does_not_keep_one_to_persons(ledger: Ledger) -> None:
    ledger.create("clinic", 1, unit="person")
    with pytest.raises(BudgetError, match="privacy_id"):
        ledger.spend("clinic", Guarantee(0.1, 0.0, "proof", unit="record"))
    assert ledger.spend("survey", Guarantee(0.1, 0.0, "proof", unit="person")).unit == "person"
    assert ledger.spend("clinic", "0.1").unit == "person"


# --- what is refused --------------------------------------------------------------------------------------------------


def test_unknown_and_known_datasets(ledger: Ledger) -> None:
    for action in (ledger.history, ledger.remaining, ledger.spent, lambda name: ledger.spend(name, 1)):
        with pytest.raises(LedgerError, match=r"'Survey' .*'survey'"):
            action("Survey")
    with pytest.raises(LedgerError, match="already in the ledger"):
        ledger.create("survey", 5)
    assert ledger.remaining("survey") == Loss(Fraction(1))


@pytest.mark.parametrize("epsilon", [0, -1, "0", float("inf"), float("nan"), None, True, "one", "1e400", 10**101])
def test_amounts_must_be_positive_numbers(ledger: Ledger, epsilon: Any) -> None:
    with pytest.raises(InvalidInputError):
        ledger.create("new", epsilon)
    with pytest.raises(InvalidInputError):
        ledger.spend("survey", epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, float("nan"), None])
def test_delta_must_be_a_probability_below_one(ledger: Ledger, delta: Any) -> None:
    with pytest.raises(InvalidInputError):
        ledger.create("new", 1, delta)
    with pytest.raises(InvalidInputError):
        ledger.spend("survey", "0.1", delta)


@pytest.mark.parametrize("name", ["", "  ", "a\x00b", "\ud800", "x" * 201, None, 3, "a\x1b[31m"])
def test_names_must_be_text_that_can_be_shown(ledger: Ledger, name: Any) -> None:
    for action in (lambda: ledger.create(name, 1), lambda: ledger.spend(name, 1), lambda: ledger.history(name)):
        with pytest.raises(InvalidInputError):
            action()
    with pytest.raises(InvalidInputError):
        ledger.spend("survey", "0.1", note=name if isinstance(name, str) and len(name) == 3 else "\x00")


def test_a_ledger_begins_with_its_first_dataset(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    for action in (ledger.datasets, lambda: ledger.spend("survey", 1)):
        with pytest.raises(LedgerError, match=r"no ledger .*\.create\(") as caught:
            action()
        assert "discreet ledger create" in caught.value.in_shell
    assert not (tmp_path / "ledger.db").exists()
    ledger.create("survey", 1)
    assert (tmp_path / "ledger.db").exists()


def test_an_empty_file_is_a_ledger_that_has_not_begun(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    Ledger(tmp_path / "ledger.db").create("survey", 1)
    assert Ledger(f"sqlite:///{tmp_path}/ledger.db").remaining("survey") == Loss(Fraction(1))


def test_what_is_not_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("minutes of the meeting\n" * 100)
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    cases = {
        tmp_path: "is a directory",
        tmp_path / "none" / "ledger.db": "does not exist",
        tmp_path / "notes.txt": "something else",
        tmp_path / "other.db": "not a ledger",
    }
    for path, why in cases.items():
        with pytest.raises(LedgerError, match=why):
            Ledger(path)
    assert (tmp_path / "notes.txt").read_text().startswith("minutes")


@pytest.mark.parametrize(
    "location", [":memory:", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true", "", "mysql://u@h/d", "x://", "://"]
)
def test_locations_that_cannot_keep_a_budget(location: str) -> None:
    with pytest.raises(DiscreetError):
        Ledger(location)


def test_a_ledger_of_a_later_version_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    for statement in ("UPDATE discreet_ledger SET version = version + 1", "UPDATE discreet_ledger SET version = 0"):
        _edit(tmp_path, statement)
        for action in (ledger.remaining, lambda name: ledger.spend(name, "0.1")):
            with pytest.raises(LedgerError, match="another version"):
                action("survey")


def test_a_ledger_edited_by_hand_is_an_error_and_no_spend(ledger: Ledger, tmp_path: Path) -> None:
    _edit(tmp_path, "UPDATE discreet_budget SET epsilon = 'plenty'")
    with pytest.raises(LedgerError, match="do not release"):
        ledger.spend("survey", "0.1")


def test_a_lock_is_waited_for_and_then_reported(ledger: Ledger, tmp_path: Path) -> None:
    hasty = Ledger(tmp_path / "ledger.db", timeout=0.05)
    holder = sqlite3.connect(tmp_path / "ledger.db")
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError, match=r"0\.05 seconds; do not release"):
            hasty.spend("survey", "0.1")
        assert hasty.remaining("survey") == Loss(Fraction(1))
    finally:
        holder.close()
    hasty.spend("survey", "0.1")


def test_every_commit_reaches_the_disk(ledger: Ledger) -> None:
    settings = {"synchronous": 3, "fullfsync": 1, "journal_mode": "delete"}  # the second is what makes it so on macOS
    found = []

    def look(connection: Connection) -> None:
        found.append({name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in settings})

    event.listen(Engine, "commit", look)
    try:
        ledger.spend("survey", "0.1")
    finally:
        event.remove(Engine, "commit", look)
    assert found
    assert all(one == settings for one in found)


def test_what_is_stored_is_readable_without_discreet(ledger: Ledger, tmp_path: Path) -> None:
    ledger.spend("survey", 0.25, 0, note="why", description={"mechanism": "LaplaceHistogram"})
    connection = sqlite3.connect(tmp_path / "ledger.db")
    row = connection.execute("SELECT number, dataset, epsilon, delta, unit, note, description FROM discreet_spend").fetchone()
    connection.close()
    assert row[:6] == (1, "survey", "0.25", "0", "record", "why")
    assert json.loads(row[6]) == {"mechanism": "LaplaceHistogram"}


def test_history_is_in_order_and_adds_up(ledger: Ledger) -> None:
    lines = [ledger.spend("survey", amount) for amount in ("0.1", "0.2", "0.3")]
    assert ledger.history("survey") == tuple(lines)
    assert list(accumulate(line.loss.epsilon for line in lines))[-1] == ledger.spent("survey").epsilon
    assert all(a.day <= b.day for a, b in pairwise(lines))


# --- bounded amounts --------------------------------------------------------------------------------------------------


def coprime(count: int) -> list[Fraction]:
    """Small amounts with denominators of nearly 100 digits that have no factor in common."""
    return [Fraction(1, 10**99 + 2 * i + 1) for i in range(count)]


def test_amounts_whose_sum_nobody_could_write_are_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1)
    taken = 0
    for amount in coprime(60):
        try:
            ledger.spend("survey", amount)
            taken += 1
        except InvalidInputError as error:
            assert "common denominator of more than 100 digits" in str(error)  # noqa: PT017
    assert 0 < taken == len(ledger.history("survey")) < 5
    assert Fraction(str(ledger.remaining("survey")).removeprefix("ε = ")) == 1 - ledger.spent("survey").epsilon
    ledger.spend("survey", 1e-15)  # decimals are always taken
    ledger.spend("survey", Fraction(1, 2**300))
    ledger.spend("survey", Fraction(1, 5**140))
    assert Fraction(str(ledger.spent("survey")).removeprefix("ε = ")) == ledger.spent("survey").epsilon


def _edit(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "ledger.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
