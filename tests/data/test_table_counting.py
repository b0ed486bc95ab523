"""Counting by groups. Oracle: the same rows counted in plain Python, by the reading rule of docs/howto/tables.md."""

import io
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from pprint import pformat
from typing import Any

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.data.count import TableCounts, count
from discreet.errors import InvalidInputError, SourceError
from discreet.model.cells import cells_of
from tests.cli.support import assert_refused, invoke
from tests.data.test_sources import SECRET, TABLES, Table, everything_said
from tests.support import lowered

ANSWERS = ("yes", "no", "unknown")
REGIONS = ("north", "south", "elsewhere")
WARDS = (3, 1, 2, 9)
BY: dict[str, Sequence[Any]] = {"region": REGIONS, "ward": WARDS}
HOMES = {"region": "elsewhere", "ward": 9}
LENIENT: dict[str, Any] = {"by": BY, "other_groups": HOMES, "nulls": "unknown", "other": "unknown"}


def rows_of(seed: int, size: int = 80) -> dict[str, list[Any]]:
    """Columns with nulls and values that are not declared; people have several rows."""
    rng = random.Random(seed)  # noqa: S311
    return {
        "answer": rng.choices(["yes", "no", None, "zebra", ""], k=size),
        "region": rng.choices(["north", "south", "North", None], weights=[5, 5, 1, 1], k=size),
        "ward": rng.choices([1, 2, 3, 7, None], weights=[4, 4, 4, 1, 1], k=size),
        "who": rng.choices(range(size // 3), k=size),
        "weight": rng.choices([0, 1, 5], k=size),
    }


def place(labels: Sequence[Any], value: Any, home: Any) -> int:
    return labels.index(value if value in labels else home)


def by_hand(
    columns: dict[str, list[Any]], by: dict[str, Sequence[Any]], homes: dict[str, Any], unit: str = "record"
) -> tuple[list[list[int]], bool]:
    """The counts, nulls and undeclared answers going to the last, and whether someone has rows in two groups."""
    groups: list[tuple[int, ...]] = [()]
    for labels in by.values():
        groups = [(*group, i) for group in groups for i in range(len(labels))]
    known = len(ANSWERS)
    rows = []
    for i, answer in enumerate(columns["answer"]):
        group = groups.index(tuple(place(labels, columns[name][i], homes.get(name)) for name, labels in by.items()))
        code = ANSWERS.index(answer) if answer in ANSWERS else known + 1 if answer is None else known
        rows.append((columns["who"][i] if unit == "person" else i, group, code, columns["weight"][i] if unit == "weight" else 1))
    table, moves = [[0] * known for _ in groups], False
    for who in {row[0] for row in rows}:
        theirs = [row for row in rows if row[0] == who]
        group = min(row[1] for row in theirs)
        code = min(row[2] for row in theirs if row[1] == group)
        table[group][min(code, known - 1)] += theirs[0][3]
        moves = moves or len({row[1] for row in theirs}) > 1
    return table, moves


def options(unit: str) -> dict[str, Any]:
    return {"person": {"privacy_id": "who"}, "weight": {"weight": "weight"}, "record": {}}[unit]


# --- against counting by hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "person", "weight"])
@pytest.mark.parametrize("engine", TABLES)
def test_groups_agree_with_counting_by_hand(engine: str, unit: str) -> None:
    columns = rows_of(seed=hash_of(engine + unit))
    found = count(TABLES[engine](columns), "answer", ANSWERS, **LENIENT, **options(unit))
    expected, moves = by_hand(columns, BY, HOMES, unit)
    assert found.counts.tolist() == expected
    assert found.moves == moves
    assert found.unit == ("person" if unit == "person" else "record")


def hash_of(text: str) -> int:
    return sum(ord(character) << i for i, character in enumerate(text))


@pytest.mark.parametrize("unit", ["record", "person", "weight"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_agree_with_counting_by_hand(tmp_path: Path, ending: str, unit: str) -> None:
    columns = rows_of(seed=5)
    columns["answer"] = [answer or None for answer in columns["answer"]]  # an empty cell of a CSV file is a null
    frame, path = pl.DataFrame(columns), tmp_path / f"survey.{ending}"
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson}[ending](path)  # type: ignore[operator]
    assert count(path, "answer", ANSWERS, **LENIENT, **options(unit)).counts.tolist() == by_hand(columns, BY, HOMES, unit)[0]


LONG: dict[str, Sequence[Any]] = {"region": [f"place {i}" for i in range(50)], "ward": list(range(40))}


@pytest.mark.parametrize("unit", ["record", "person"])
@pytest.mark.parametrize("engine", [*TABLES, "stream"])
def test_long_lists_of_groups_agree_with_counting_by_hand(engine: str, unit: str) -> None:
    rng = random.Random(engine)  # noqa: S311
    columns: dict[str, list[Any]] = {
        "answer": rng.choices(ANSWERS, k=300),
        "region": rng.choices([*LONG["region"], "nowhere", None], k=300),
        "ward": rng.choices([*LONG["ward"], 41], k=300),
        "who": rng.choices(range(200), k=300),
        "weight": [1] * 300,
    }
    homes = {"region": "place 7", "ward": 39}
    expected, moves = by_hand(columns, LONG, homes, unit)
    source: Any = TABLES[engine](columns) if engine in TABLES else io.BytesIO(pl.DataFrame(columns).write_csv().encode())
    found = count(source, "answer", ANSWERS, by=LONG, other_groups=homes, **options(unit))
    assert found.counts.tolist() == expected
    assert found.moves == moves


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        (pa.int8(), range(100)),
        (pa.uint64(), [*range(40), 2**63 - 1]),
        (pa.float64(), range(50)),
        (pa.float32(), range(50)),
        (pa.bool_(), [False, True]),
        (pa.bool_(), ["True", "False"]),
        (pa.large_string(), [*map(str, range(40)), "é", "'", '"', "\\", "\0", "🙂", " ", ""]),
        (pa.dictionary(pa.int32(), pa.string()), [f"place {i}" for i in range(40)]),
    ],
    ids=str,
)
def test_groups_are_compared_like_categories(kind: pa.DataType, labels: Sequence[Any]) -> None:
    values = [label == "True" if isinstance(label, str) and kind == pa.bool_() else label for label in labels]
    table = pa.table({"place": pa.array(values * 2, kind), "answer": ["yes", "no"] * len(values)})
    for source in (table, pl.from_arrow(table), TABLES["DuckDB"]({name: table[name] for name in table.column_names})):
        found = count(source, "answer", ["yes", "no"], by={"place": labels})
        assert found.sizes.tolist() == [2] * len(values)
        assert found.by.labels == (tuple(labels),)


def test_mapping_and_marks_of_missing_answers_are_about_the_answers_alone(table: Table) -> None:
    source = table({"answer": ["Y", "NA"], "region": ["Y", "NA"]})
    found = count(source, "answer", ["yes", "no"], by={"region": ["Y", "NA"]}, mapping={"Y": "yes"}, na_values=["NA"], nulls="no")
    assert found.counts.tolist() == [[1, 0], [0, 1]]


@pytest.fixture(params=["polars", "DuckDB"])
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param]


# --- one record per person --------------------------------------------------------------------------------------------


def test_the_group_is_chosen_before_the_answer_is_looked_at(table: Table) -> None:
    """Choosing group and answer together would count this person in the south, and with the null made a yes in the north."""
    for answer in (None, "yes", "no", "zebra"):
        source = table({"who": [1, 1], "region": ["north", "south"], "answer": [answer, "yes"]})
        found = count(source, "answer", ANSWERS, privacy_id="who", by={"region": ["north", "south"]}, nulls="unknown", other="unknown")
        assert found.sizes.tolist() == [1, 0]
        assert found.moves


def test_margins_may_differ_from_the_count_without_groups(table: Table) -> None:
    source = table({"who": [1, 1], "region": ["north", "south"], "answer": ["no", "yes"]})
    by_region = count(source, "answer", ["yes", "no"], privacy_id="who", by={"region": ["north", "south"]})
    assert by_region.counts.sum(axis=0).tolist() == [0, 1]
    assert count(source, "answer", ["yes", "no"], privacy_id="who").counts.tolist() == [1, 0]


PEOPLE = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["north", "south", "east", None]), st.sampled_from(["yes", "no", None, "zebra"])),
    min_size=1,
    max_size=12,
)


def tally(rows: Sequence[tuple[Any, ...]], **more: Any) -> TableCounts:
    declared = (9, "north", "yes")  # a column without any declared category is taken for a wrong one
    source = pl.DataFrame([declared, *rows], schema={"who": pl.Int64, "region": pl.String, "answer": pl.String}, orient="row")
    homes = {"region": "elsewhere"}
    return count(source, "answer", ANSWERS, "who", "unknown", "unknown", by={"region": REGIONS}, other_groups=homes, **more)


@settings(max_examples=15)
@given(PEOPLE, st.data())
def test_a_persons_answers_move_no_size_and_all_their_cells_one_count(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    before, (_, regions, answers) = tally(rows), zip(*rows, strict=True)
    whom = rows[0][0]

    def other(values: Sequence[Any]) -> Any:
        return data.draw(st.sampled_from([*values, "yes", "north", None]))

    answered = tally([(who, region, other(answers) if who == whom else answer) for who, region, answer in rows])
    assert answered.sizes.tolist() == before.sizes.tolist()
    assert answered.moves == before.moves
    assert np.abs(answered.counts - before.counts).sum() <= 2
    moved = tally([(who, other(regions), other(answers)) if who == whom else (who, *rest) for who, *rest in rows])
    assert moved.total == before.total == len({who for who, *_ in rows}) + 1
    assert np.abs(moved.counts - before.counts).sum() <= 2
    without = tally([row for row in rows if row[0] != whom])
    assert (before.counts - without.counts).sum() == 1 == np.abs(before.counts - without.counts).sum()
    assert tally(data.draw(st.permutations(rows))).counts.tolist() == before.counts.tolist()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"privacy_id": "who"}, {"weight": "weight"}], ids=str)
@pytest.mark.parametrize(
    ("region", "ward", "message"),
    [
        (SECRET, 1, "^column 'region' .*private.*other_groups=.'region'"),
        (None, 1, "^column 'region' has nulls .* never dropped$"),
        ("north", 271828, "^column 'ward' has values"),
        ("north", None, "^column 'ward' has nulls"),
        (None, 271828, "^column ('region' has nulls|'ward' has values)"),
    ],
    ids=str,
)
def test_values_without_a_group_are_an_error(table: Table, region: Any, ward: Any, message: str, more: dict[str, Any]) -> None:
    columns: dict[str, list[Any]] = {
        "answer": ["yes", "no"],
        "region": ["north", region],
        "ward": [1, ward],
        "who": [1, 1],
        "weight": [1, 2],
    }
    with pytest.raises(SourceError, match=message) as caught:
        count(table(columns), "answer", ANSWERS, by=BY, **more)
    assert caught.value.__context__ is None
    assert not any(secret in everything_said(caught.value) for secret in (SECRET, "271828"))
    assert not any(character.isdigit() for character in str(caught.value))


def test_a_row_without_weight_may_be_anywhere(table: Table) -> None:
    columns: dict[str, list[Any]] = {"answer": ["yes", "zebra"], "region": ["north", "nowhere"], "weight": [3, 0]}
    assert count(table(columns), "answer", ANSWERS, by={"region": REGIONS}, weight="weight").total == 3


NORTHERN: dict[str, Any] = {"by": {"region": ["north", "south"], "sex": ["f", "m"]}, "impossible": [("north", "m", "pregnant")]}


@pytest.mark.parametrize("more", [{}, {"privacy_id": "who"}, {"weight": "weight"}], ids=str)
def test_a_count_in_an_impossible_cell_is_an_error(table: Table, more: dict[str, Any]) -> None:
    columns: dict[str, list[Any]] = {"state": ["pregnant", "not"], "region": ["north", "south"], "sex": ["f", "m"]}
    columns |= {"who": [1, 2], "weight": [2, 3]}
    found = count(table(columns), "state", ["pregnant", "not"], **NORTHERN, **more)
    assert found.impossible == (("north", "m", "pregnant"),)
    assert found.counts[1].tolist() == [0, 0]
    columns["sex"] = ["m", "m"]
    with pytest.raises(SourceError, match=r"impossible.*private") as caught:
        count(table(columns), "state", ["pregnant", "not"], **NORTHERN, **more)
    assert not any(word in str(caught.value) for word in ("north", "pregnant", "1", "2"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"by": ["region"]},
        {"by": {}},
        {"by": {"region": []}},
        {"by": {"region": "north"}},
        {"by": {"region": ["north", "north"]}},
        {"by": {"region": [1, "1"]}},
        {"by": {"region": [True, "True"]}},
        {"by": {"region": ["north", None]}},
        {"by": {"region": [0.5]}},
        {"by": {"answer": ["yes"]}},
        {"by": {"who": [1]}, "privacy_id": "who"},
        {"by": {"ward": [1]}, "weight": "ward"},
        {"by": {"*": ["north"]}},
        {"by": {"Region": ["north"]}},
        {"by": {"ward": ["north"]}},
        {"by": {"when": ["north"]}},
        {"other_groups": "north"},
        {"other_groups": {"ward": 1}},
        {"other_groups": {"region": "nowhere"}},
        {"by": {"region": [1, 2]}, "other_groups": {"region": "1"}},
        {"impossible": [("north", "perhaps")]},
        {"impossible": [("nowhere", "yes")]},
        {"impossible": [("yes",)]},
        {"impossible": "yes"},
        {"by": None, "other_groups": {"region": "north"}},
        {"by": None, "impossible": [("north", "yes")]},
        {"strict": True, "nulls": "no", "other": "no"},
        {"strict": True, "nulls": "no", "other": "no", "other_groups": {"region": "north"}, "impossible": [("south", "no")]},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any]) -> None:
    source = pa.table({"answer": ["yes"], "region": ["north"], "ward": [1], "who": [1], "when": pa.array([0], pa.date32())})
    with pytest.raises(InvalidInputError):
        count(**{"source": source, "column": "answer", "categories": ["yes", "no"], "by": {"region": ["north", "south"]}, **arguments})


def test_too_many_cells_are_refused_before_anything_is_read() -> None:
    with lowered(TABLE_CELLS=11), pytest.raises(InvalidInputError, match=r"6 groups of 2 categories .* 11 cells"):
        count("no file.csv", "answer", ["yes", "no"], by={"ward": range(6)})


@pytest.mark.parametrize("missing", ["", None])
@pytest.mark.parametrize("columns", [("region",), ("region", "sex"), ("sex", "region")])
def test_an_empty_text_is_a_missing_group(missing: str | None, columns: tuple[str, ...]) -> None:
    """It goes where a null goes, and to no other group: the labels are told one by one what is in them."""
    table = pa.table({"answer": ["yes", "yes"], "region": ["north", missing], "sex": ["f", "f"]})
    labels = {"region": ["north", "south"], "sex": ["f", "m", "x"]}
    by = {column: labels[column] for column in columns}
    found = count(table, "answer", ["yes", "no"], by=by, other_groups={"region": "south"})
    places = [dict(zip(columns, group, strict=True)) for group in product(*by.values())]
    expected = [int(place["region"] in ("north", "south") and place.get("sex", "f") == "f") for place in places]
    assert found.sizes.tolist() == expected
    with pytest.raises(SourceError, match="null"):
        count(table, "answer", ["yes", "no"], by=by)


# --- engines that compare loosely -------------------------------------------------------------------------------------


def duckdb_column(path: Path, rows: list[tuple[str, str, str]]) -> Any:
    connection = duckdb.connect()
    connection.execute("create table t (who varchar, answer varchar collate nocase, region varchar collate nocase)")
    connection.executemany("insert into t values (?, ?, ?)", rows)
    return connection.table("t")


def duckdb_session(path: Path, rows: list[tuple[str, str, str]]) -> Any:
    connection = duckdb.connect()
    connection.execute("set default_collation = 'nocase'; create table t (who varchar, answer varchar, region varchar)")
    connection.executemany("insert into t values (?, ?, ?)", rows)
    return connection.table("t")


@pytest.mark.parametrize("made", ["create table t (who varchar collate nocase, answer varchar)", "set default_collation = 'nocase'"])
def test_ids_of_duckdb_are_compared_as_they_are_written(made: str) -> None:
    with closing(duckdb.connect()) as connection:
        connection.execute(made)
        connection.execute("create table if not exists t (who varchar, answer varchar)")
        connection.execute("insert into t values ('Ann', 'yes'), ('ann', 'yes'), ('ann', 'no')")
        assert count(connection.table("t"), "answer", ["yes", "no"], "who").counts.tolist() == [2, 0]


def ibis_on_sqlite(path: Path, rows: list[tuple[str, str, str]]) -> Any:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (who text, answer text collate nocase, region text collate nocase)")
        connection.executemany("insert into t values (?, ?, ?)", rows)
    ON_SQLITE.append(ibis.sqlite.connect(path))
    return ON_SQLITE[-1].table("t")


ON_SQLITE: list[Any] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    """Whatever a test has connected to is closed: from Python 3.13 on, a connection that nobody closes is a warning in another test."""
    yield
    while ON_SQLITE:
        ON_SQLITE.pop().disconnect()


@pytest.mark.filterwarnings("ignore:The .future.infer_string. option")  # Ibis reads it when it fetches from SQLite
@pytest.mark.parametrize("privacy_id", [None, "who"])
@pytest.mark.parametrize("groups", [1, 40, 1025], ids="{} groups".format)
@pytest.mark.parametrize("held", [duckdb_column, duckdb_session, ibis_on_sqlite])
def test_a_row_counts_once_however_an_engine_compares(
    tmp_path: Path, held: Callable[..., Any], groups: int, privacy_id: str | None
) -> None:
    """Among more than 32 spellings several equal "yes" where case does not matter, and so do several groups."""
    rows = [("1", "yes", "north"), ("2", "no", "north"), ("3", "yes", "North"), ("4", "a1", "a1")]
    answers = [*(f"a{i}" for i in range(40)), "yes", "no"]
    regions = ["north", "North", "NORTH", *(f"a{i}" for i in range(groups))]
    found = count(
        held(tmp_path / "t.sqlite", rows),
        "answer",
        answers,
        privacy_id,
        mapping={"Yes": "yes", "YES": "yes"},
        by={"region": regions},
        other_groups={"region": "NORTH"},
    )
    assert found.total == len(rows)
    assert found.counts.sum(axis=0)[[1, 40, 41]].tolist() == [1, 2, 1]
    expected = {"north": 2, "North": 1} if held is not ibis_on_sqlite else {"north": 3}
    assert {region: int(size) for region, size in zip(regions, found.sizes, strict=True) if region in expected} == expected


@pytest.mark.parametrize("many", [3, 40])
@pytest.mark.parametrize("held", [duckdb_column, duckdb_session])
def test_nobody_elses_spelling_decides_where_an_answer_counts(tmp_path: Path, held: Callable[..., Any], many: int) -> None:
    """Grouped without regard to case, one spelling would stand for all of them, and whose it is would depend on the order."""
    answers = [*(f"a{i}" for i in range(many)), "yes", "rest"]
    rows = [("1", "YES", "north"), *[("2", "yes", "north")] * 5]
    for ordered in (rows, rows[::-1]):
        found = count(held(tmp_path, ordered), "answer", answers, other="rest")
        assert found.counts[-2:].tolist() == [5, 1]


# --- strictly ---------------------------------------------------------------------------------------------------------

STRICT: dict[str, Any] = {
    "by": {"region": ["north", "elsewhere"]},
    "other_groups": {"region": "elsewhere"},
    "nulls": "unknown",
    "other": "no",
    "strict": True,
}


def test_strictly_everything_has_a_place(tmp_path: Path) -> None:
    file = tmp_path / "survey.csv"
    file.write_bytes(b"who,region,answer\n1,north,yes\n,north,yes\n1,zebra,no\n2,,zebra\n3,north,\n\xff\n4,a,b,c\n\n")
    found = count(file, "answer", ANSWERS, **STRICT)
    assert found.counts.tolist() == [[2, 0, 1], [0, 4, 1]]
    # Rows without an id and lines that cannot be read say nothing about their group.
    persons = count(file, "answer", ANSWERS, privacy_id="who", **STRICT)
    assert persons.counts.tolist() == [[1, 0, 1], [0, 3, 2]]
    assert persons.moves


def test_strictly_an_impossible_answer_is_another_answer(table: Table) -> None:
    source = table({"who": [1, 1, 2, 3], "region": ["north"] * 3 + ["elsewhere"], "answer": ["yes", "unknown", "no", "yes"]})
    for privacy_id, expected in ((None, [[0, 2, 1], [1, 0, 0]]), ("who", [[0, 2, 0], [1, 0, 0]])):
        found = count(source, "answer", ANSWERS, privacy_id, impossible=[("north", "yes")], **STRICT)
        assert found.counts.tolist() == expected


@pytest.mark.parametrize("privacy_id", [None, "who"])
def test_a_strict_table_has_no_public_sizes_whatever_is_in_it(tmp_path: Path, privacy_id: str | None) -> None:
    """One answer that spoils its line changes two sizes: so the sizes are refused, in the same words, with that answer and without it."""
    sizes, said = [], set()
    for answer in (b"yes", b'"yes', b"y\xff", b"y,n"):
        file = tmp_path / "survey.csv"
        file.write_bytes(b"who,region,answer\n1,north,yes\n2,north," + answer + b"\n3,elsewhere,no\n")
        found = count(file, "answer", ANSWERS, privacy_id, **STRICT)
        sizes.append(found.sizes.tolist())
        prior = dc.Dirichlet([1, 1, 1], categories=ANSWERS)
        with pytest.raises(InvalidInputError, match=r"counted strictly, .*nothing was spent$") as refused:
            dc.LatticeGeometric(prior, n=found.sizes, epsilon=1, by=found.by).prepare(found)
        said.add((str(refused.value), refused.value.in_shell))
        assert dc.LatticeGeometric(prior, n=found.total, epsilon=1, by=found.by).prepare(found)
    assert sizes == [[2, 1], [1, 2], [1, 2], [1, 2]]
    assert [shell for _, shell in said] == [
        next(iter(said))[0].replace("give the total as n, or nothing", "use --public total or --public nothing")
    ]


def test_the_command_refuses_strict_with_public_sizes_before_it_reads() -> None:
    words = ["release", "no file.csv", "--column", "a", "--categories", "x,y", "-e", "1", "--by", "region=north,south", "--strict"]
    words += ["--other", "y", "--nulls", "y", "--other-group", "region=south", "--public", "sizes"]
    assert_refused(invoke(*words), "--strict and --public sizes do not go together")


# --- what comes back, and where it goes -------------------------------------------------------------------------------

SURVEY: dict[str, list[Any]] = {"who": [1, 2, 3, 3], "region": ["north", "south", "south", "south"], "answer": ["yes", "yes", "no", "no"]}
PRIOR = dc.Dirichlet([1, 1], categories=["yes", "no"])


def counted(columns: dict[str, list[Any]] = SURVEY) -> TableCounts:
    return count(pa.table(columns), "answer", ["yes", "no"], privacy_id="who", by={"region": ["north", "south"]})


def test_the_result_knows_what_was_counted_and_shows_none_of_it() -> None:
    found = counted()
    assert found.counts.dtype == found.sizes.dtype == np.int64
    assert (found.counts.tolist(), found.sizes.tolist(), found.total, found.unit) == ([[1, 0], [1, 1]], [1, 2], 3, "person")
    assert (found.by.columns, found.by.labels, found.categories) == (("region",), (("north", "south"),), ("yes", "no"))
    assert (len(found), found.impossible, found.moves) == (2, (), False)
    assert np.asarray(found, dtype=float).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    for array in (found.counts, found.sizes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    private = TableCounts(np.array([[271828, 314159]]), cells_of({"x": ["a"]}, ("yes", "no")), "record", moves=True)
    shown = "".join([repr(private), str(private), f"{private}", pformat(private), pformat([private]), repr({"counts": private})])
    assert not any(secret in shown for secret in ("271828", "314159", "True"))
    assert repr(private) == "TableCounts(1 groups, 2 categories, unit='record')"


def test_sums_beyond_the_largest_count_are_refused_as_public_numbers() -> None:
    cells = cells_of({"x": ["a", "b"]}, tuple(range(2000)))
    large = TableCounts(np.full((2, 2000), 2**53, dtype=np.int64), cells, "record")
    assert large.sizes.tolist() == [2**53 + 1] * 2
    assert large.total == 2**53 + 1


@pytest.mark.parametrize("public", ["sizes", "total", None])
def test_mechanisms_take_the_result(public: str | None) -> None:
    found = counted()
    n = getattr(found, public) if public else None
    released = dc.LatticeGeometric(PRIOR, n, 1, by=found.by, impossible=found.impossible).release(found)
    assert np.asarray(released.raw).shape == (2, 2)
    assert released.guarantee.unit == "person"
    unnamed = dc.LatticeGeometric(dc.Dirichlet([1, 1]), n, 1, by={"region": ["north", "south"]})
    assert unnamed.prepare(found).guarantee.unit == "person"
    others = (
        dc.LatticeGeometric(dc.Dirichlet([1, 1], categories=["no", "yes"]), n, 1, by=found.by),
        dc.LatticeGeometric(PRIOR, n, 1, by={"region": ["south", "north"]}),
        dc.LatticeGeometric(PRIOR, n, 1, by={"place": ["north", "south"]}),
        dc.LatticeGeometric(PRIOR, n, 1, by=found.by, impossible=[("north", "no")]),
    )
    for other in others:
        with pytest.raises(InvalidInputError, match="impossible cells"):
            other.prepare(found)


def test_labels_that_are_spelled_alike_are_the_same_groups() -> None:
    found = count(pa.table({"answer": [1, 2], "ward": [1, 2]}), "answer", [1, 2], by={"ward": [1, 2]})
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1], categories=["1", "2"]), found.total, 1, by={"ward": ["1", "2"]})
    assert mechanism.prepare(found).guarantee.unit == "record"


def test_sizes_are_not_published_where_someone_is_in_two_groups() -> None:
    """Whether that is so depends on ids and groups alone, and so is the same whatever anyone answered."""
    wandering = SURVEY | {"region": ["north", "south", "south", "north"]}
    for answers in (["yes", "yes", "no", "no"], ["no", "no", "yes", "no"]):
        found = counted(wandering | {"answer": answers})
        with pytest.raises(InvalidInputError, match=r"more than one group.*total as n"):
            dc.LatticeGeometric(PRIOR, found.sizes, 1, by=found.by).prepare(found)
        for n in (found.total, None):
            assert dc.LatticeGeometric(PRIOR, n, 1, by=found.by).prepare(found).guarantee.unit == "person"


# --- many groups ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("make", [Path, pl.scan_parquet, pq.read_table], ids=["file", "polars", "pyarrow"])
def test_a_hundred_thousand_groups(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    groups, records, labels = 100_000, 300_000, ["a", "b", "c", "d", "e"]
    rng = np.random.default_rng(1)
    group, answer = rng.integers(0, groups, records), rng.integers(0, 5, records)
    path = tmp_path / "survey.parquet"
    pq.write_table(pa.table({"town": np.char.add("town ", group.astype(str)), "answer": np.array(labels)[answer]}), path)
    found = count(make(path), "answer", labels, by={"town": [f"town {i}" for i in range(groups)]})
    expected = np.zeros((groups, 5), dtype=np.int64)
    np.add.at(expected, (group, answer), 1)
    assert np.array_equal(found.counts, expected)
