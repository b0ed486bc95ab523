"""Budgets and tables: what a release is charged within groups, what is refused and in which words, and what is stored of a table."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger.ledger import Ledger, Loss
from discreet.model.datasets import Relation, check_relation
from discreet.present.record import promise, promise_lines
from tests.cli.support import assert_refused, invoke
from tests.ledger.conftest import make_older
from tests.ledger.test_faults import database  # noqa: F401 - an empty ledger on a PostgreSQL server
from tests.postgresql import postgresql  # noqa: F401
from tests.record.test_group_privacy import ADD_REMOVE, assert_charged_for_two_steps

BY = {"region": ["north", "south"], "sex": ["f", "m"]}
TABLE = np.array([[1, 2, 3], [0, 1, 1], [0, 0, 0], [5, 0, 1]])


def within(*columns: str) -> Relation:
    return Relation("replace one", columns)


def of_sizes(epsilon: Any = "0.4", by: Any = None) -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(3), TABLE.sum(axis=1), epsilon, by=by or BY)


def of_total(epsilon: Any = "0.4") -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(3), int(TABLE.sum()), epsilon, by=BY)


def of_nothing(epsilon: Any = "0.4") -> dc.LatticeGeometric:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(3), epsilon=epsilon, by=BY)


# --- the table of charges ---------------------------------------------------------------------------------------------

columns = st.sets(st.sampled_from(["age", "région", "sex", 'a "b", c', "line\nbreak"]), max_size=4).map(sorted)
relations = st.one_of(st.just(ADD_REMOVE), columns.map(lambda names: within(*names)))
units = st.sampled_from(["record", "person"])


def charged_steps(kept: Relation, kept_unit: str, released: Relation, unit: str) -> int | None:
    """The table of docs/howto/ledger.md, cell by cell."""
    if (kept_unit, unit) == ("person", "record"):
        return None
    if released == ADD_REMOVE:
        return 1 if kept == ADD_REMOVE and kept_unit == unit else 2
    if kept == ADD_REMOVE:
        return None
    return 1 if all(name in kept.within for name in released.within) else None


@settings(max_examples=30, deadline=None)
@given(relations, units, relations, units, st.sampled_from([("0.5", "0"), ("1/3", "1e-9")]))
def test_the_whole_table(
    tmp_path_factory: pytest.TempPathFactory, kept: Relation, kept_unit: Any, released: Relation, unit: Any, amount: tuple[str, str]
) -> None:
    ledger = Ledger(location := tmp_path_factory.mktemp("ledger") / "ledger.db")
    epsilon, delta = map(Fraction, amount)
    ledger.create("survey", 100, "0.9", unit=kept_unit, neighbours=kept)
    assert Ledger(location).budget("survey").neighbours == kept
    guarantee = dc.Guarantee(float(epsilon), float(delta), "proof", unit, released)
    steps = charged_steps(kept, kept_unit, released, unit)
    if steps is None:
        with pytest.raises(BudgetError):
            ledger.spend("survey", guarantee)
        assert ledger.history("survey") == ()
        return
    line = ledger.spend("survey", guarantee)
    own = Loss(Fraction(repr(float(epsilon))), Fraction(repr(float(delta))))
    assert (line.guarantee, line.neighbours, line.unit) == (own, released, unit)
    if steps == 1:
        assert line.loss == own
    else:
        assert_charged_for_two_steps(line.loss, own.epsilon, own.delta)
    assert Ledger(location).history("survey") == (line,)
    assert ledger.accountant("survey").basic[0] >= line.loss.epsilon


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=5), st.data())
def test_charges_are_distances_between_what_records_and_persons_count_for(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """One record is changed, in its answer alone or also in its group; each person counts in the first declared group and category."""
    answer, group = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    who, old_group, _ = rows[0]
    counted = [counted_persons([(who, g, answer), *rows[1:]]) for g in (old_group, group)]
    before = counted_persons(rows)
    same_groups = len({(person, g) for person, g, _ in rows}) == len({person for person, _, _ in rows})
    if same_groups:  # as counting asks for where sizes are public
        assert (before.sum(axis=1) == counted[0].sum(axis=1)).all()
    for after in counted:
        assert np.abs(before - after).sum() <= 2  # one step of replacing, two of adding and removing
    fewer = counted_persons(rows[1:])
    assert np.abs(before - fewer).sum() <= 2


def counted_persons(rows: list[tuple[int, int, int]]) -> np.ndarray[Any, Any]:
    """Two groups by three categories: the group of all of a person's rows first, then the answer within it."""
    table = np.zeros((2, 3), dtype=np.int64)
    for person in {row[0] for row in rows}:
        group = min(g for who, g, _ in rows if who == person)
        table[group, min(c for who, g, c in rows if (who, g) == (person, group))] += 1
    return table


# --- releases ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("strata", 3, within=["sex", "region"])
    made.create("survey", 3)
    made.create("hidden", 3, neighbours="add or remove one")
    return made


@pytest.mark.parametrize(
    ("dataset", "make", "charged"),
    [
        ("strata", of_sizes, "0.4"),
        ("strata", of_total, "0.4"),
        ("strata", of_nothing, "0.8"),
        ("survey", of_total, "0.4"),
        ("survey", of_nothing, "0.8"),
        ("hidden", of_nothing, "0.4"),
    ],
)
def test_all_groups_together_are_charged_once(ledger: Ledger, dataset: str, make: Any, charged: str) -> None:
    release = ledger.release(dataset, make(), TABLE)
    assert np.shape(release.raw) == TABLE.shape
    assert ledger.spent(dataset) == Loss(Fraction(charged))
    assert ledger.accountant(dataset).basic == (Fraction(charged), Fraction(0))
    assert ledger.accountant(dataset).neighbours == ledger.budget(dataset).neighbours


def test_sizes_are_refused_where_someone_may_change_group(ledger: Ledger) -> None:
    ledger.create("by region", 3, within=["region"])
    for dataset, kept in (("survey", "replace one record"), ("by region", "replace one record within region")):
        with pytest.raises(BudgetError) as caught:
            ledger.release(dataset, of_sizes(), TABLE)
        fault = (
            "the release publishes the size of every group by region and sex (neighbours: replace one record within region and sex), and "
            f"the budget of '{dataset}' is also about someone who changes to another of these groups (neighbours: {kept}), which changes "
            "two sizes: no ε covers that, however large; nothing was spent; "
        )
        another = " (not a second one for the same people: their losses add up)"
        python = "release with one public total, n=table.total, or charge another dataset, whose budget is within these columns"
        assert str(caught.value) == fault + python + another
        shell = "release with --public total, or charge a dataset that was created with --public sizes --by region,sex"
        assert caught.value.in_shell == fault + shell + another
    with pytest.raises(BudgetError, match="within region and sex"):
        ledger.release("hidden", of_sizes(), TABLE)
    assert all(ledger.history(name) == () for name in ("survey", "by region", "hidden"))


def test_someone_who_changes_group_is_told_apart_with_certainty() -> None:
    """Why no ε covers it: with public sizes no outcome of one table is an outcome of the other."""
    moved = TABLE.copy()
    moved[0, 0], moved[1, 0] = 0, 1
    release = of_sizes().release(TABLE)
    other = dc.LatticeGeometric(dc.Dirichlet.uniform(3), moved.sum(axis=1), "0.4", by=BY)
    assert of_sizes().log_prob(TABLE, release.raw) > -np.inf
    assert other.log_prob(moved, release.raw) == -np.inf
    assert not other._is_outcome(release.raw)


def test_a_filter_is_charged_by_the_losses_of_the_table(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    budget = ledger.create("strata", 3, "1e-6", within=["region", "sex"], planned_epsilon="0.1")
    assert budget.filter is not None
    ledger.release("strata", of_sizes("0.1"), TABLE)
    ledger.release("strata", of_nothing("0.1"), TABLE)
    ledger.spend("strata", "0.1")
    sizes, nothing, alone = (line.divergence or 0 for line in ledger.history("strata"))
    order = budget.filter.order
    assert 0 <= sizes - Fraction(dc.renyi_loss(of_sizes("0.1"), order).bound) < Fraction(1, 10**19)
    assert 0 <= nothing - 2 * Fraction(dc.renyi_loss(of_nothing("0.1"), order).bound) < Fraction(1, 10**19)
    assert sizes < alone


# --- what is stored ---------------------------------------------------------------------------------------------------


def test_a_description_has_a_digest_of_the_sizes_and_not_a_million_numbers(tmp_path: Path) -> None:
    ledger, groups = Ledger(tmp_path / "ledger.db"), 100_000
    ledger.create("strata", 1, within=["place"])
    sizes = [7] * groups
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(2), sizes, "0.5", by={"place": range(groups)}, impossible=[(3, 1)])
    ledger.release("strata", mechanism, np.array([[7, 0]] * groups))
    (line,) = ledger.history("strata")
    digest = sha256(",".join(["7"] * groups).encode()).hexdigest()
    assert line.description["table"] == {
        "columns": ["place"],
        "groups": groups,
        "cells": 2 * groups - 1,
        "public": "sizes",
        "sizes": f"sha256:{digest}",
    }
    assert line.description["n"] == 7 * groups
    assert len(json.dumps(dict(line.description))) < 1000
    assert ledger.accountant("strata").epsilon(0) == 0.5


@pytest.mark.parametrize("make", [of_sizes, of_total, of_nothing])
def test_an_accountant_takes_a_table_by_its_charge(ledger: Ledger, make: Any) -> None:
    """Made again from its description, it would be a mechanism of one variable, with other losses."""
    ledger.release("strata", make(), TABLE)
    charged = ledger.history("strata")[0].loss
    ((part, times),) = ledger.accountant("strata").parts
    assert (part, times) == (dc.Guarantee(float(charged.epsilon), 0.0, "proof", neighbours=within("region", "sex")), 1)


def test_what_is_stored_of_a_table_is_the_same_for_all_data_of_its_promise(tmp_path: Path) -> None:
    for make, tables in ((of_nothing, (TABLE, 0 * TABLE, TABLE + 7)), (of_sizes, (TABLE, TABLE[:, ::-1]))):
        stored = set()
        for place, table in enumerate(tables):
            path = tmp_path / f"{make.__name__} {place}.db"
            Ledger(path).create("survey", 1, within=["region", "sex"])
            Ledger(path).release("survey", make(), table)
            with closing(sqlite3.connect(path)) as connection:
                stored.add(tuple(connection.execute("SELECT * FROM discreet_spend").fetchall()))
        assert len(stored) == 1


def test_a_relation_is_read_as_it_is_written() -> None:
    for names in ((), ("sex",), ("b", "a", "a"), ('a "b", c', "[x]", "line\nbreak", "é", "‮")):
        relation = within(*names)
        assert check_relation(str(relation)) == relation
        assert relation.within == tuple(sorted(set(names)))
    for wrong in (
        "replace one within []",
        'replace one within [""]',
        "replace one within [1]",
        'replace one within "sex"',
        'replace one within ["a"',
        'replace one within ["\\ud800"]',
        'add or remove one within ["sex"]',
        "replace one within " + "[" * 10_000 + "]" * 10_000,
    ):
        with pytest.raises(InvalidInputError):
            check_relation(wrong)


def test_a_relation_that_someone_has_edited_is_no_spend(ledger: Ledger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("UPDATE discreet_budget SET neighbours = 'replace one within []' WHERE dataset = 'strata'")
    with pytest.raises(LedgerError, match="neighbours of a row; do not release"):
        ledger.release("strata", of_sizes(), TABLE)


def test_a_ledger_of_the_third_version_is_brought_up_to_date_by_a_spend(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM discreet_budget WHERE dataset = 'strata'")
    make_older(path, 3)
    before = path.read_bytes()
    assert [str(budget.neighbours) for budget in ledger.datasets()] == ["add or remove one", "replace one"]
    assert path.read_bytes() == before
    ledger.release("survey", of_total(), TABLE)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT version FROM discreet_ledger").fetchall() == [(7,)]


@pytest.mark.slow
def test_a_server_keeps_relations_and_tables(database: str) -> None:  # noqa: F811
    ledger = Ledger(database)
    ledger.create("strata", 3, within=["région", 'a "b"'])
    ledger.create("survey", 3)
    mechanism = of_sizes(by={"région": BY["region"], 'a "b"': BY["sex"]})
    ledger.release("strata", mechanism, TABLE)
    assert ledger.budget("strata").neighbours == ledger.history("strata")[0].neighbours == within("région", 'a "b"')
    with pytest.raises(BudgetError, match="two sizes"):
        ledger.release("survey", mechanism, TABLE)
    assert str(ledger.remaining("strata")) == "ε = 2.6"


# --- what is given in Python and in the shell ---------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["sex", b"sex", 3, None, [""], [3], [["sex"]], ["\ud800"], ["x" * 10**6]])
def test_columns_must_be_listed(ledger: Ledger, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="within must"):
        ledger.create("new", 1, within=wrong)
    with pytest.raises(InvalidInputError, match="within must"):
        ledger.spend("strata", 1, within=wrong)
    assert len(ledger.datasets()) == 3


def test_a_relation_is_said_once(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="neighbours says itself within which columns"):
        ledger.create("new", 1, neighbours='replace one within ["sex"]', within=["region"])
    with pytest.raises(InvalidInputError, match="only replacing one can be within groups"):
        ledger.create("new", 1, neighbours="add or remove one", within=["region"])
    with pytest.raises(InvalidInputError, match=r"guarantee .* neighbours"):
        ledger.spend("strata", of_sizes().guarantee, within=["region"])
    assert ledger.spend("strata", of_sizes().guarantee, within=["sex", "region"]).loss == Loss(Fraction("0.4"))
    assert ledger.spend("strata", "0.1", within=["sex"]).neighbours == within("sex")
    assert ledger.spend("strata", "0.1").neighbours == within("region", "sex")
    with pytest.raises(BudgetError, match="by age and sex"):
        ledger.spend("strata", "0.1", within=["sex", "age"])


def test_the_command_line_says_what_is_hidden_within_groups(tmp_path: Path) -> None:
    location = tmp_path / "ledger.db"
    made = invoke("ledger", "create", location, "strata", "-e", "3", "--public", "sizes", "--by", "sex, region")
    assert made.stdout == (
        "strata: ε = 3; hides what someone answered, not their region and sex and not that they took part; the sizes of these groups are "
        "public (neighbours: replace one record within region and sex)\n"
    )
    spent = invoke("ledger", "spend", location, "strata", "-e", "0.5", "--public", "sizes", "--by", "sex")
    assert spent.stdout == "strata: spent ε = 0.5 (neighbours: replace one record within sex); left: ε = 2.5\n"
    assert invoke("ledger", "spend", location, "strata", "-e", "0.5").stdout.endswith("within region and sex); left: ε = 2\n")
    assert invoke("ledger", "spend", location, "strata", "-e", "0.5", "--public", "nothing").stdout.endswith("left: ε = 1\n")
    (row,) = json.loads(invoke("ledger", "show", location, "--json").stdout)
    assert row["neighbours"] == 'replace one within ["region", "sex"]'
    assert "within region and sex" in " ".join(invoke("ledger", "show", location).stdout.split())
    lines = json.loads(invoke("ledger", "history", location, "strata", "--json").stdout)
    assert [line["neighbours"] for line in lines] == [
        'replace one within ["sex"]',
        'replace one within ["region", "sex"]',
        "add or remove one",
    ]
    table = invoke("ledger", "history", location, "strata")
    assert table.exit_code == 0
    assert "neighbours: replace one record within region and sex" in table.stdout


def test_the_command_line_refuses_groups_in_one_line(ledger: Ledger, tmp_path: Path) -> None:
    location = tmp_path / "ledger.db"
    for command, dataset in (("create", "new"), ("spend", "strata")):
        base = ("ledger", command, location, dataset, "-e", "1")
        assert_refused(invoke(*base, "--public", "sizes"), "--public sizes needs the columns that the groups are made of")
        assert_refused(invoke(*base, "--public", "total", "--by", "sex"), "give it together with --public sizes")
        assert_refused(invoke(*base, "--public", "sizes", "--by", "sex,,region"), "--by of a budget names columns alone")
        assert_refused(invoke(*base, "--public", "sizes", "--by", ""), "--by of a budget names columns alone")
    assert_refused(invoke("ledger", "spend", location, "strata", "-e", "1", "--by", "sex"), "give it together with --public sizes")
    spent = invoke("ledger", "spend", location, "survey", "-e", "1", "--public", "sizes", "--by", "sex")
    assert_refused(spent, "or charge a dataset that was created with --public sizes --by sex")
    assert all(ledger.history(name) == () for name in ("strata", "survey", "hidden"))


# --- words ------------------------------------------------------------------------------------------------------------


def test_every_promise_of_a_table_has_a_sentence_of_its_own() -> None:
    said = {
        make.__name__: (str(make("0.5").guarantee), promise(make("0.5").guarantee), make("0.5").guarantee.hides_presence)
        for make in (of_sizes, of_total, of_nothing)
    }
    checked = "ε = 0.5 differential privacy by proof (checked: "
    assert said == {
        "of_sizes": (
            f"{checked}blocks_private); neighbours: replace one record within region and sex",
            f"{checked}blocks_private); it compares datasets that differ in one record and in nobody's region and sex",
            False,
        ),
        "of_total": (
            f"{checked}fixed_total_private); neighbours: replace one record",
            f"{checked}fixed_total_private); it compares datasets that differ in one record",
            False,
        ),
        "of_nothing": (
            f"{checked}cells_private); neighbours: add or remove one record",
            f"{checked}cells_private); it compares datasets with and without one record",
            True,
        ),
    }


def test_what_is_protected_and_what_is_public_is_said_for_every_promise() -> None:
    said = {}
    for make, unit in product((of_sizes, of_total, of_nothing), ("record", "person")):
        lines = dict(promise_lines(make().release(TABLE, unit=unit), computed=True))
        said[make.__name__, unit] = (lines["Protected"], lines["Public"])
    context = "the groups, the categories, the prior and the mechanism"
    assert said == {
        ("of_sizes", "record"): (
            "what a record says; not its region and sex, and not that it is in the data",
            f"n = 14 records and how many there are in each group by region and sex, {context}",
        ),
        ("of_sizes", "person"): (
            "what a person answered, in all their rows; not their region and sex, and not that they took part",
            f"n = 14 persons and how many there are in each group by region and sex, {context}",
        ),
        ("of_total", "record"): (
            "what a record says, its region and sex included; not that it is in the data",
            f"n = 14 records, {context}",
        ),
        ("of_total", "person"): (
            "what a person answered, in all their rows, their region and sex included; not that they took part",
            f"n = 14 persons, {context}",
        ),
        ("of_nothing", "record"): (
            "whether a record is in the data, and what it says, its region and sex included",
            f"{context}; not exactly how many records there are",
        ),
        ("of_nothing", "person"): (
            "whether a person took part, and what they answered, their region and sex included",
            f"{context}; not exactly how many persons there are",
        ),
    }


def test_columns_are_printed_as_text_alone() -> None:
    relation = within("a\x1b[2Jb", "c‮d")
    assert relation.of("person") == "replace one person within a\\x1b[2Jb and c\\u202ed"


def test_a_person_whose_group_is_a_column_keeps_it_through_other_columns() -> None:
    """A budget within two columns takes sizes by one of them: whoever keeps both keeps the one."""
    frame = pd.DataFrame({"region": ["n", "s"], "sex": ["f", "m"], "risk": ["low", "high"]})
    for changed, answer in product(range(2), ("low", "high")):
        other = frame.copy()
        other.loc[changed, "risk"] = answer
        for columns in (["region"], ["sex"], ["region", "sex"]):
            assert frame.groupby(columns).size().equals(other.groupby(columns).size())
