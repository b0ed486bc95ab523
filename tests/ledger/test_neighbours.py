"""Budgets and releases about different neighbours: what is charged, refused, stored, shown, and read from older ledgers."""

import json
import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger.ledger import Ledger, Loss
from discreet.model.datasets import Relation
from tests.cli.support import assert_refused, invoke
from tests.record.test_group_privacy import ADD_REMOVE, REPLACE, assert_charged_for_two_steps, without_n

RELATIONS = (REPLACE, ADD_REMOVE)

epsilons = st.fractions(Fraction(1, 10**4), 30, max_denominator=10**4)
deltas = st.one_of(st.just(Fraction(0)), st.integers(1, 10**9).map(lambda m: Fraction(m, 10**24)), st.just(Fraction(1, 10**100)))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("replaced", 1)
    made.create("taking part", 1, neighbours="add or remove one")
    return made


# --- the table --------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(epsilons, deltas)
def test_the_whole_table(tmp_path_factory: pytest.TempPathFactory, epsilon: Fraction, delta: Fraction) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    own = Loss(epsilon, delta)
    for kept in RELATIONS:
        ledger.create(f"kept by {kept}", 100, "0.9", neighbours=kept)
        assert ledger.budget(f"kept by {kept}").neighbours == kept
    for kept, released in product(RELATIONS, RELATIONS):
        dataset = f"kept by {kept}"
        if (kept, released) == (ADD_REMOVE, REPLACE):
            with pytest.raises(BudgetError, match="nothing was spent"):
                ledger.spend(dataset, epsilon, delta, neighbours=released)
            continue
        before = ledger.spent(dataset)
        line = ledger.spend(dataset, epsilon, delta, neighbours=released)
        assert (line.guarantee, line.neighbours) == (own, released)
        if kept is released:
            assert line.loss == own
        else:
            assert_charged_for_two_steps(line.loss, epsilon, delta)
        assert ledger.history(dataset)[-1] == line
        spent = ledger.spent(dataset)
        assert (spent.epsilon, spent.delta) == (before.epsilon + line.loss.epsilon, before.delta + line.loss.delta)


# --- releases ---------------------------------------------------------------------------------------------------------


def test_a_release_without_n_is_charged_by_what_the_dataset_hides(ledger: Ledger) -> None:
    for dataset, charged in (("replaced", "0.8"), ("taking part", "0.4")):
        release = ledger.release(dataset, without_n(), [0, 0])
        assert release.guarantee == dc.Guarantee(0.4, 0.0, "proof", neighbours=ADD_REMOVE)
        (line,) = ledger.history(dataset)
        assert (line.loss, line.guarantee, line.neighbours) == (Loss(Fraction(charged)), Loss(Fraction("0.4")), ADD_REMOVE)
        assert ledger.remaining(dataset) == Loss(1 - Fraction(charged))


@pytest.fixture
def no_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_size: int) -> bytes:
        raise AssertionError("randomness was drawn")

    monkeypatch.setattr(os, "urandom", refused)


DATA = ([0, 0], [1, 0], [0, 1], [7, 1000])


@pytest.mark.usefixtures("no_bits")
def test_refusals_come_before_the_draw_and_say_why_in_words_that_no_data_change(ledger: Ledger) -> None:
    said = set()
    for counts in DATA:
        with pytest.raises(BudgetError) as caught:
            ledger.release("replaced", without_n("0.6"), counts)
        said.add(str(caught.value))
    assert said == {
        "the release needs ε = 1.2 (its own ε = 0.6, for two steps: replacing one is removing one and adding another) and 'replaced' has "
        "ε = 1 left of ε = 1; nothing was spent"
    }
    with pytest.raises(BudgetError) as caught:
        ledger.release("taking part", dc.LatticeGeometric(dc.Beta(1, 1), 7, "0.1"), [3, 4])
    hidden = (
        "the release does not hide how many records there are (neighbours: replace one record), and the budget of 'taking part' does "
        "(neighbours: add or remove one record): no ε covers that, however large; nothing was spent; "
    )
    one_only = " (not a second one for the same people: their losses add up)"
    assert str(caught.value) == hidden + "release without n, or charge another dataset, whose budget replaces one" + one_only
    shell = "release with --public nothing, or charge a dataset that was created with --public total"
    assert caught.value.in_shell == hidden + shell + one_only
    assert ledger.history("replaced") == ledger.history("taking part") == ()


def test_what_is_stored_of_a_release_is_the_same_for_all_data(tmp_path: Path) -> None:
    stored = set()
    for place, counts in enumerate(DATA):
        ledger = Ledger(tmp_path / f"{place}.db")
        ledger.create("survey", 1)
        ledger.release("survey", without_n(), counts)
        with closing(sqlite3.connect(tmp_path / f"{place}.db")) as connection:
            stored.add(tuple(connection.execute("SELECT * FROM discreet_spend").fetchall()))
    assert len(stored) == 1


def test_a_guarantee_says_its_own_neighbours(ledger: Ledger) -> None:
    guarantee = without_n("0.1").guarantee
    assert ledger.spend("replaced", guarantee).loss == Loss(Fraction("0.2"))
    assert ledger.spend("replaced", guarantee, neighbours=ADD_REMOVE).loss == Loss(Fraction("0.2"))
    with pytest.raises(InvalidInputError, match=r"guarantee .* neighbours .*: add or remove one"):
        ledger.spend("replaced", guarantee, neighbours="replace one")
    for wrong in ("neighbors", "", None, ["replace one"]):
        with pytest.raises(InvalidInputError, match="'replace one', 'add or remove one'"):
            ledger.create("new", 1, neighbours=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="neighbours must be"):
        ledger.spend("replaced", "0.1", neighbours="all")
    assert len(ledger.history("replaced")) == 2


# --- records and persons ----------------------------------------------------------------------------------------------


def test_one_record_more_can_change_what_a_person_counts_for() -> None:
    """So a promise about persons that come or go covers a record that comes or goes for two steps, not one."""
    rows = pd.DataFrame({"who": ["a", "a"], "smokes": ["no", "yes"]})
    fewer, more = (dc.count(rows[:size], "smokes", ["yes", "no"], privacy_id="who") for size in (1, 2))
    assert ADD_REMOVE.distance(np.asarray(fewer.counts), np.asarray(more.counts)) == 2


@pytest.mark.parametrize(
    ("kept", "released", "charged"),
    [(REPLACE, REPLACE, 1), (REPLACE, ADD_REMOVE, 2), (ADD_REMOVE, ADD_REMOVE, 2), (ADD_REMOVE, REPLACE, None)],
)
def test_a_promise_to_persons_is_charged_to_a_budget_for_records(tmp_path: Path, kept: Relation, released: Relation, charged: int) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, neighbours=kept)
    guarantee = dc.Guarantee(0.1, 0.0, "proof", "person", released)
    if charged is None:
        with pytest.raises(BudgetError, match="how many persons there are"):
            ledger.spend("survey", guarantee)
        return
    line = ledger.spend("survey", guarantee)
    assert (line.loss.epsilon, line.unit) == (charged * Fraction("0.1"), "person")
    if kept is ADD_REMOVE:
        with pytest.raises(BudgetError, match="answer that its person counts for"):
            ledger.spend("survey", dc.Guarantee(0.5, 0.0, "proof", "person", released))


@pytest.mark.parametrize("kept", RELATIONS)
def test_a_promise_to_records_does_not_keep_one_to_persons(tmp_path: Path, kept: Relation) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1, unit="person", neighbours=kept)
    with pytest.raises(BudgetError, match=r"persons .* records"):
        ledger.release("survey", without_n("0.1"), [3, 4])
    ledger.release("survey", without_n("0.1"), [3, 4], unit="person")
    assert ledger.history("survey")[0].loss.epsilon == (Fraction("0.2") if kept is REPLACE else Fraction("0.1"))


# --- older ledgers ----------------------------------------------------------------------------------------------------


@pytest.fixture
def second_version(tmp_path: Path) -> Path:
    """A ledger as the second version wrote it, with a filter and without."""
    path = tmp_path / "second.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE discreet_ledger (version INTEGER NOT NULL, PRIMARY KEY (version));
            CREATE TABLE discreet_budget (dataset VARCHAR(200) NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL,
                created TEXT NOT NULL, filter_order TEXT, filter_limit TEXT, PRIMARY KEY (dataset));
            CREATE TABLE discreet_spend (number INTEGER NOT NULL, dataset VARCHAR(200) NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
                unit TEXT NOT NULL, note TEXT NOT NULL, description TEXT NOT NULL, time TEXT NOT NULL, divergence TEXT,
                PRIMARY KEY (number), FOREIGN KEY(dataset) REFERENCES discreet_budget (dataset));
            CREATE INDEX ix_discreet_spend_dataset ON discreet_spend (dataset);
            INSERT INTO discreet_ledger VALUES (2);
            INSERT INTO discreet_budget VALUES ('survey', '1', '0.001', 'record', '2024-06-07', NULL, NULL);
            INSERT INTO discreet_budget VALUES ('panel', '1', '0.001', 'person', '2024-06-07', '11', '0.5');
            INSERT INTO discreet_spend VALUES (1, 'survey', '0.2', '0.0001', 'record', '', '{}', '2024-06-08', NULL);
            INSERT INTO discreet_spend VALUES (2, 'panel', '0.3', '0', 'person', '', '{}', '2024-06-08', '0.3');
            """
        )
    return path


def test_an_older_ledger_replaces_one(second_version: Path) -> None:
    before = second_version.read_bytes()
    ledger = Ledger(second_version)
    assert {budget.neighbours for budget in ledger.datasets()} == {REPLACE}
    for dataset in ("survey", "panel"):
        (line,) = ledger.history(dataset)
        assert (line.guarantee, line.neighbours) == (line.loss, REPLACE)
    assert ledger.remaining("survey") == Loss(Fraction("0.8"), Fraction("0.0009"))
    assert ledger.accountant("survey").basic == (Fraction("0.2"), Fraction("0.0001"))
    assert invoke("ledger", "history", second_version, "survey").exit_code == 0
    assert second_version.read_bytes() == before


def test_an_older_ledger_is_brought_up_to_date_by_a_spend(second_version: Path) -> None:
    ledger = Ledger(second_version)
    with pytest.raises(BudgetError, match="for two steps"):
        ledger.spend("survey", "0.5", neighbours=ADD_REMOVE)
    ledger.release("survey", without_n("0.3"), [1, 2])
    assert [str(line.loss) for line in ledger.history("survey")] == ["ε = 0.2, δ = 0.0001", "ε = 0.6"]
    assert [line.neighbours for line in ledger.history("survey")] == [REPLACE, ADD_REMOVE]
    ledger.create("new", 1, neighbours=ADD_REMOVE)
    assert ledger.budget("new").neighbours == ADD_REMOVE
    assert ledger.budget("survey").neighbours == REPLACE
    assert str(ledger.budget("panel").filter) == "Rényi filter of order 11"
    with closing(sqlite3.connect(second_version)) as connection:
        assert connection.execute("SELECT version FROM discreet_ledger").fetchall() == [(7,)]


def test_neighbours_that_someone_has_edited_are_an_error_and_no_spend(ledger: Ledger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE discreet_budget SET neighbours = 'everyone'")
    with pytest.raises(LedgerError, match=r"could not be used: .*; do not release"):
        ledger.spend("replaced", "0.1")


# --- discreet ledger --------------------------------------------------------------------------------------------------


def test_the_command_line_says_neighbours_guarantee_and_charge(tmp_path: Path) -> None:
    location = tmp_path / "ledger.db"
    made = invoke("ledger", "create", location, "hidden", "-e", "2", "--public", "nothing")
    assert made.stdout == "hidden: ε = 2; hides whether someone took part (neighbours: add or remove one record)\n"
    assert invoke("ledger", "create", location, "survey", "-e", "2", "--delta", "1e-3").exit_code == 0
    spent = invoke("ledger", "spend", location, "survey", "-e", "0.5", "--delta", "1e-6", "--public", "nothing")
    assert spent.stdout == (
        "survey: spent ε = 1, δ = 0.00000264872127071 for a release of ε = 0.5, δ = 0.000001 (neighbours: add or remove one record); "
        "left: ε = 1, δ = 0.00099735127872929\n"
    )
    assert invoke("ledger", "spend", location, "hidden", "-e", "0.5").stdout.endswith(
        "(neighbours: add or remove one record); left: ε = 1.5\n"
    )
    shown = json.loads(invoke("ledger", "show", location, "--json").stdout)
    assert [(row["dataset"], row["neighbours"]) for row in shown] == [("hidden", "add or remove one"), ("survey", "replace one")]
    (line,) = json.loads(invoke("ledger", "history", location, "survey", "--json").stdout)
    assert (line["epsilon"], line["guarantee_epsilon"], line["guarantee_delta"], line["neighbours"]) == (
        1.0,
        0.5,
        1e-6,
        "add or remove one",
    )
    assert line["delta"] >= 1e-6 * (1 + exp(0.5))
    table = invoke("ledger", "history", location, "survey").stdout
    for said in ("ε = 1, δ = 0.00000264872127071", "ε = 0.5, δ = 0.000001; add or remove one record", "neighbours: replace one record"):
        assert said in table
    assert "add or remove one record" in invoke("ledger", "show", location).stdout


def test_the_command_line_refuses_in_one_line(ledger: Ledger, tmp_path: Path) -> None:
    location = tmp_path / "ledger.db"
    for command, dataset in (("create", "new"), ("spend", "replaced")):
        refused = invoke("ledger", command, location, dataset, "-e", "1", "--public", "shapes")
        assert_refused(refused, "--public must be total (n is published), sizes (the size of every group is, with --by) or nothing")
    assert_refused(invoke("ledger", "spend", location, "replaced", "-e", "0.6", "--public", "nothing"), "replacing one is removing one")
    assert_refused(invoke("ledger", "spend", location, "taking part", "-e", "0.1", "--public", "total"), "release with --public nothing")
    assert_refused(invoke("ledger", "spend", tmp_path / "none.db", "new", "-e", "1"), "--public nothing")
    assert ledger.history("replaced") == ledger.history("taking part") == ()
