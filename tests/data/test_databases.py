"""Tables and queries of real databases: counted there as Arrow counts the same rows, and refused in one line that has no password."""

import datetime
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.databases import check_no_password, name_of
from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.requests.release import ReleaseRequest
from discreet.requests.release_steps import source_of
from discreet.requests.studies.study import Study
from tests.cli.support import assert_refused, invoke
from tests.postgresql import postgresql  # noqa: F401 - a server

pytest.importorskip("ibis")
SECRET = "hunter2secret"  # noqa: S105
NAMES = ("who", "answer", "region", "hours", "visited", "weight", "level")
ROWS: list[tuple[Any, ...]] = [
    (
        i % 60,
        ["yes", "No ", "no", None][i % 4] if i % 7 else "wéird",
        ["north", "south"][i % 2],
        i / 2 if i % 3 else None,
        datetime.date(2026, i % 12 + 1, 3),
        i % 5,
        float(i % 3),
    )
    for i in range(200)
]
ARROW = pa.table({name: [row[i] for row in ROWS] for i, name in enumerate(NAMES)})
CATEGORIES = ["yes", "no", "other"]
MANY = [f"category {i}" for i in range(40)] + CATEGORIES
HOME: dict[str, Any] = {"nulls": "other", "other": "other"}
BY = {"region": ["north", "south"]}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "records": lambda source: dc.count(source, "answer", CATEGORIES, **HOME),
    "many categories": lambda source: dc.count(source, "answer", MANY, **HOME),
    "persons": lambda source: dc.count(source, "answer", CATEGORIES, "who", **HOME),
    "persons by groups": lambda source: dc.count(source, "answer", MANY, "who", **HOME, by=BY),
    "weights": lambda source: dc.count(source, "answer", CATEGORIES, **HOME, weight="weight"),
    "groups of numbers": lambda source: dc.count(source, "answer", CATEGORIES, **HOME, by={"level": [0, 1, 2]}),
    "spelling": lambda source: dc.count(source, "answer", CATEGORIES, **HOME, spelling=["trim", "ignore case"]),
    "bands": lambda source: dc.count(source, "hours", dc.Bands([0, 10, 50], missing="none")),
    "months": lambda source: dc.count(source, "visited", dc.Months("2026-02", "2026-12"), other="2026-12"),
    "years": lambda source: dc.count(source, "answer", CATEGORIES, **HOME, by={"visited": dc.Years(2025, 2027)}),
    "strict": lambda source: dc.count(source, "answer", CATEGORIES, "who", **HOME, strict=True),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sqlite") / "survey.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE answers (who INTEGER, answer TEXT, region VARCHAR(9), hours REAL, visited DATE, weight INTEGER, level REAL)"
        )
        rows = [tuple(cell.isoformat() if isinstance(cell, datetime.date) else cell for cell in row) for row in ROWS]
        connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute('CREATE TABLE "odd ""name" (mixed, "Café" TEXT)')
        connection.executemany('INSERT INTO "odd ""name" VALUES (?, ?)', [(1, "ÉCLAIR"), (1.0, "éclair"), ("1", "no"), ("x", None)])
        connection.commit()
    return path


@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("form", ["{}/answers", "sqlite:///{}/answers", "sqlite:///{} select * from answers"])
def test_a_table_of_sqlite_is_counted_as_it_is(file: Path, form: str, asked: str) -> None:
    found, expected = QUESTIONS[asked](form.format(file)), QUESTIONS[asked](ARROW)
    assert np.asarray(found).tolist() == np.asarray(expected).tolist()
    assert (found.unit, found.categories) == (expected.unit, expected.categories)


def test_a_query_that_leaves_rows_out_is_counted_otherwise(file: Path) -> None:
    source = f"sqlite:///{file} select answer, who from answers where region = 'north'"
    rows = ARROW.filter(pa.array([row[2] == "north" for row in ROWS]))
    assert np.asarray(QUESTIONS["persons"](source)).tolist() == np.asarray(QUESTIONS["persons"](rows)).tolist()
    assert np.asarray(QUESTIONS["persons"](source)).tolist() != np.asarray(QUESTIONS["persons"](ARROW)).tolist()


def test_cells_of_any_type_are_read_as_they_are_written(file: Path) -> None:
    source = f'{file}/odd "name'
    assert dc.count(source, "mixed", [1, "x"]).counts.tolist() == [3, 1]
    found = dc.count(source, "Café", ["éclair", "no", "?"], nulls="?", spelling=["ignore case"])
    assert found.counts.tolist() == [2, 1, 1]


@pytest.fixture
def cells(tmp_path: Path) -> Callable[..., str]:
    """Make a table with one column "cell", of this declared type, beside ids 1, 2, ..., and say where it is."""

    def made(*found: Any, kind: str = "", encoding: str = "UTF-8") -> str:
        path = tmp_path / "cells.sqlite"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA encoding = '{encoding}'")
            connection.execute(f"CREATE TABLE t (who INTEGER PRIMARY KEY, answer TEXT, cell {kind})")
            connection.executemany("INSERT INTO t (answer, cell) VALUES ('yes', ?)", [(cell,) for cell in found])
            connection.execute("UPDATE t SET cell = CAST(x'41FF' AS TEXT) WHERE cell = 'broken'")
            connection.commit()
        return f"{path}/t"

    return made


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_strictly_read_every_cell_of_sqlite_is_a_value(cells: Callable[..., str], encoding: str) -> None:
    """Bytes that are no text, as a blob or as what SQLite calls text, are undeclared values, and no cell makes counting fail."""
    for cell in (b"\xff", b"\xff\xfe\xfd", "broken", "\0", "2026-10-01\0z", "", None, 1.5, 7):
        source = cells("2026-10-03", cell, encoding=encoding)
        months = dc.Months("2026-09", "2026-10")
        assert dc.count(source, "cell", months, other="2026-09", nulls="2026-09", strict=True).total == 2
        assert dc.count(source, "cell", months, other="2026-09", nulls="2026-09", strict=True).counts[1] >= 1
        bands = dc.count(source, "answer", ["yes", "no"], **NO, by={"cell": dc.Bands([0, 9], missing="?")}, other_groups={"cell": "?"})
        assert bands.total == 2
        assert dc.count(source, "cell", ["x", "y"], nulls="y", other="y", strict=True).total == 2


NO: dict[str, Any] = {"nulls": "no", "other": "no", "strict": True}


def test_ids_of_sqlite_are_as_exact_as_the_cells(cells: Callable[..., str]) -> None:
    numbers = cells(0.1 + 0.2, 0.3, 1e20, 2.0, 2, "2", 0.3, kind="")
    assert dc.count(numbers, "answer", ["yes", "no"], "cell").counts.tolist() == [4, 0]
    names = cells("Ann", "ann", "bob", kind="TEXT COLLATE NOCASE")
    assert dc.count(names, "answer", ["yes", "no"], "cell").counts.tolist() == [3, 0]
    assert dc.count(names, "cell", ["ann", "x"], other="x").counts.tolist() == [1, 2]
    many = [f"c{i}" for i in range(40)]
    assert dc.count(names, "cell", ["ann", "x", *many], other="x").counts.tolist()[:2] == [1, 2]
    assert dc.count(names, "answer", ["yes", "no"], by={"cell": ["ann", "Ann", "bob"]}).sizes.tolist() == [1, 1, 1]
    assert dc.count(cells(0.1, 0.5), "cell", ["0.1", "0.5"]).counts.tolist() == [1, 1]


REFUSED = {
    "no table": ("{file}/nothing", "the database has no table 'nothing'"),
    "no table named": ("{file}", "name one table of the database, or a query"),
    "no file": ("sqlite:///{file}.gone/answers", "there is no SQLite file"),
    "two statements": ("sqlite:///{file} select * from answers; drop table answers", "one select"),
    "a way out": ("sqlite:///{file} select 1 as answer) as x; drop table answers; --", "one select"),
    "a change": ("sqlite:///{file} delete from answers", "one select"),
    "no such column": ("sqlite:///{file} select nothing from answers", "does not understand the query"),
    "other column": ("sqlite:///{file} select who from answers", "there is no column 'answer' in the table"),
    "column twice": ("sqlite:///{file} select answer, region as answer from answers", "more than once"),
    "other database": (f"mysql://u:{SECRET}@host/db/t", "only local files and databases are read"),
    "no server": (f"postgresql://u:{SECRET}@127.0.0.1:9/db/t", "no server answers"),
    "a misspelt address": (f"postgresql://u:{SECRET}@x@127.0.0.1:9/db/t", "written as %40"),
    "a folder too many": (f"postgresql://u:{SECRET}@127.0.0.1:9/db/t/u", "written as %40 or %2F"),
    "no port": (f"postgresql://u:{SECRET}@127.0.0.1:port/db/t", "cannot be opened"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_are_one_line_without_a_password(file: Path, what: str) -> None:
    source, said = REFUSED[what]
    with pytest.raises(DiscreetError) as refused:
        dc.count(source.format(file=file), "answer", CATEGORIES, **HOME)
    assert said in str(refused.value)
    assert SECRET not in str(refused.value) + repr(refused.value.__cause__) + repr(refused.value.__context__)
    assert "\n" not in str(refused.value)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (200,)


def test_undeclared_values_are_refused_and_encodings_are_for_files(file: Path) -> None:
    with pytest.raises(SourceError, match="declared categories and nulls") as refused:
        dc.count(f"{file}/answers", "answer", ["yes", "no"])
    assert "wéird" not in str(refused.value)
    with pytest.raises(InvalidInputError, match="encoding is for files"):
        dc.count(f"{file}/answers", "answer", ["yes", "no"], encoding="latin-1")
    with pytest.raises(SourceError, match="ignoring accents"):
        dc.count(f"{file}/answers", "answer", ["yes", "no"], spelling=["ignore accents"])


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://u:{SECRET}@host/db/t",
        f"postgresql://host/db/t?user=u&password={SECRET}",
        f"postgresql://u@{SECRET}@host/db/t",
        f"postgresql://u:{SECRET}@host/db select x from t",
    ],
)
def test_a_question_holds_no_password(address: str, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=r"\.pgpass") as refused:
            check_no_password(address)
        assert SECRET not in str(refused.value)
    done = invoke("release", address, "--column", "a", "--categories", "y,n", "--epsilon", "1", "--yes")
    assert_refused(done, ".pgpass")
    assert SECRET not in done.output
    (tmp_path / "study.toml").write_text(f'[study]\nsource = "{address}"\nepsilon = 1\n[tables.a]\ncolumn = "a"\ncategories = ["y", "n"]\n')
    with pytest.raises(InvalidInputError, match=r"\.pgpass"):
        Study.load(tmp_path / "study.toml").check()


def test_an_address_without_a_password_is_kept_as_it_is() -> None:
    address = "postgresql://steward@host:5432/db/clinic.answers?sslmode=require"
    check_no_password(address)
    check_no_password("folder/with:colon@file.csv")
    assert source_of(address) == address
    queries = [f"postgresql://host/db select a from b where name <> '{name}'" for name in ("Jane Doe", "John Doe", "Jane Doe")]
    first, second, again = map(source_of, queries)
    assert first == again != second
    assert str(first).startswith("postgresql://host/db query ")
    assert "Doe" not in f"{first}{second}"
    assert "select" not in f"{first}{second}"
    assert name_of(address) == "clinic.answers"
    assert name_of("postgresql://host/db select a from b") == "a query"
    assert name_of("data/survey.sqlite/answers") == "answers"
    asked = ReleaseRequest.read({"file": address, "column": "a", "categories": "y,n", "epsilon": "1"}, "shell")
    assert asked.ledger_note == "a of clinic.answers"
    assert f"dc.count({address!r}, 'a', prior.categories)" in asked.python()


def test_a_release_from_the_shell_and_of_a_study(file: Path, tmp_path: Path) -> None:
    where = f"{file}/answers"
    ledger = tmp_path / "ledger.db"
    assert invoke("ledger", "create", ledger, "survey", "--epsilon", "200").exit_code == 0
    options = ["--column", "answer", "--categories", "yes,no,other", "--other", "other", "--nulls", "other", "--epsilon", "80", "--yes"]
    done = invoke("release", where, *options, "--ledger", ledger, "--dataset", "survey", "--output", tmp_path / "record.json")
    assert done.exit_code == 0, done.output
    expected = np.asarray(QUESTIONS["records"](ARROW)).tolist()
    record = dc.read(tmp_path / "record.json")
    assert list(record.counts) == expected  # at this ε noise is 0 but for a chance below 1e-15
    assert str(file) not in (tmp_path / "record.json").read_text()
    [line] = dc.Ledger(ledger).history("survey")
    assert (line.note, line.source) == ("answer of answers", where)
    refused = invoke("release", f"{file}/nothing", *options, "--ledger", ledger, "--dataset", "survey")
    assert_refused(refused, "has no table 'nothing'")
    assert len(dc.Ledger(ledger).history("survey")) == 1
    (tmp_path / "study.toml").write_text(
        f'[study]\nsource = "sqlite:///{file} select * from answers"\nepsilon = 1\n'
        '[tables.a]\ncolumn = "answer"\ncategories = ["yes", "no", "other"]\nother = "other"\nnulls = "other"\n'
    )
    assert Study.load(tmp_path / "study.toml").check().tables[0].undeclared == {"answer": ["No ", "wéird"]}


# --- a server ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(postgresql: str) -> str:  # noqa: F811
    """The address of the server, with a place for the table: the same rows as in the file, and others."""
    import psycopg

    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("CREATE TYPE reply AS ENUM ('yes', 'no', 'No ', 'wéird')")
        connection.execute(
            "CREATE TABLE answers (who integer, answer text, region varchar(9), hours double precision, visited date, weight integer, "
            "level real, enumerated reply, seen timestamptz, exact numeric(6, 2), born date)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO answers VALUES (%s, %s, %s, %s, %s, %s, %s, %s, '2026-01-01', 12.50, 'infinity')",
                [(*row, row[1]) for row in ROWS],
            )
        connection.execute("CREATE SCHEMA clinic CREATE VIEW recent AS SELECT * FROM public.answers")
        connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
    return postgresql.replace("/postgres?", "/postgres{}?")


@pytest.mark.slow
class TestServer:
    @pytest.mark.parametrize("asked", QUESTIONS)
    @pytest.mark.parametrize("table", ["/answers", "/clinic.recent", " with a as (select * from answers) select * from a"])
    def test_a_table_is_counted_where_it_is(self, server: str, table: str, asked: str) -> None:
        is_query = table.startswith(" ")
        source = server.format("" if is_query else table) + (table if is_query else "")
        if asked == "strict" and is_query:
            source = server.format("") + " select who, answer from answers"
        found, expected = QUESTIONS[asked](source), QUESTIONS[asked](ARROW)
        assert np.asarray(found).tolist() == np.asarray(expected).tolist()

    def test_only_counts_leave_the_server(self, server: str) -> None:
        """What the server was asked about the table groups it there: its log has no other question."""
        import psycopg

        address = server.format("")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE large AS SELECT i AS who, (ARRAY['yes', 'no'])[1 + i % 2] AS answer FROM generate_series(1, 300000) i"
            )
            connection.execute("ALTER ROLE curator SET log_statement = 'all'")
        try:
            assert dc.count(server.format("/large"), "answer", ["yes", "no"], "who").counts.tolist() == [150000, 150000]
        finally:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("ALTER ROLE curator RESET ALL")
        folder = Path(address.partition("host=")[2])
        log = (folder / "log").read_text()
        asked = [one for one in log.split("LOG:") if "large" in one and "CREATE TABLE" not in one]
        assert [" LIMIT 0" in one or ("GROUP BY" in one and "COUNT(*)" in one) for one in asked] == [True, True]

    def test_types_of_a_server(self, server: str) -> None:
        source = server.format("/answers")
        assert np.asarray(dc.count(source, "enumerated", CATEGORIES, **HOME)).tolist() == np.asarray(QUESTIONS["records"](ARROW)).tolist()
        assert dc.count(source, "exact", dc.Bands([0, 12.5, 13])).counts.tolist() == [0, 200, 0]
        with pytest.raises(InvalidInputError, match="depends on the zone"):
            dc.count(source, "seen", dc.Months("2026-01", "2026-12"))
        with pytest.raises(InvalidInputError, match="cannot be counted strictly"):
            dc.count(source, "born", dc.Years(2026, 2027), nulls="2027", other="2027", strict=True)
        born = dc.count(source, "answer", CATEGORIES, **HOME, by={"born": dc.Years(2026, 2027)}, other_groups={"born": "2027"})
        assert born.sizes.tolist() == [0, 200]
        with pytest.raises(SourceError, match=r"'born' .*no dates"):
            dc.count(source, "answer", CATEGORIES, **HOME, dated=("born", "2026-02"))
        accents = dc.count(source, "answer", ["yes", "no", "weird", "x"], nulls="x", other="x", spelling=["ignore accents"])
        assert accents.counts.tolist()[2] == sum(row[1] == "wéird" for row in ROWS)

    def test_one_person_is_one_however_the_id_is_written(self, server: str) -> None:
        """The server's own number of distinct ids is the oracle; where texts may differ and ids be equal, ids are refused."""
        import psycopg

        with psycopg.connect(server.format(""), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS citext")
            for kind, values in {
                "numeric": "('1'), ('1.0'), ('1.00'), ('100'), ('NaN'), ('NaN')",
                "char(5)": "('ab'), ('ab  '), ('c')",
                "varchar(5)": "('1'), ('1.0'), ('1')",
                "uuid": "('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')",
                "bigint": "('1'), ('01'), ('2')",
                "boolean": "('t'), ('true'), ('f')",
                "date": "('2026-01-01'), ('20260101'), ('infinity')",
                "double precision": "('0'), ('-0'), ('1')",
            }.items():
                connection.execute("DROP TABLE IF EXISTS ids")
                connection.execute(f"CREATE TABLE ids (id {kind}, answer text DEFAULT 'yes'); INSERT INTO ids VALUES {values}")
                [persons] = connection.execute("SELECT count(DISTINCT id) FROM ids").fetchone() or ()
                assert dc.count(server.format("/ids"), "answer", ["yes", "no"], "id").counts.tolist() == [persons, 0], kind
            for kind in ("interval", "jsonb", "citext", "reply", "time", "bytea", "integer[]", "timetz", "inet"):
                connection.execute("DROP TABLE IF EXISTS ids")
                connection.execute(f"CREATE TABLE ids (id {kind}, answer text)")
                with pytest.raises(InvalidInputError, match="make it text in a query"):
                    dc.count(server.format("/ids"), "answer", ["yes", "no"], "id")
            assert dc.count(server.format("") + " select id::text, 'yes' as answer from ids", "answer", ["yes", "no"], "id").total == 0

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ibis leaves the cursor of a failed query open
    def test_nothing_is_changed_and_nothing_need_be_written(self, server: str) -> None:
        """A function in a query cannot write, not even where the query gives itself leave; many categories need no table of ours."""
        import psycopg

        with psycopg.connect(server.format(""), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (x text); INSERT INTO kept VALUES ('a'), ('it''s \\ \"é\" %s')")
            connection.execute(
                "CREATE SEQUENCE steps; "
                "CREATE FUNCTION wipe() RETURNS text LANGUAGE plpgsql AS $$ begin delete from kept; return 'a'; end $$"
            )
            leave = "set_config('default_transaction_read_only', 'off', false)"
            for chosen in ("wipe()", "nextval('steps')::text", f"case when {leave} = 'off' then wipe() end"):
                with pytest.raises(SourceError, match="counting the table failed"):
                    dc.count(server.format("") + f" select {chosen} as x from kept", "x", ["a", "b"])
            twice = f"case current_setting('default_transaction_read_only') when 'off' then wipe() else {leave} end"
            with pytest.raises(SourceError):  # the second question, whether all values are numbers, would wipe
                dc.count(server.format("") + f" select {twice} as x from kept", "x", ["a", "b"])
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (2,)
            connection.execute("ALTER ROLE curator SET default_transaction_read_only = on")
        try:
            many = [*(f"c{i}" for i in range(40)), "a", 'it\'s \\ "é" %s']
            assert dc.count(server.format("/kept"), "x", many).counts.tolist() == [0] * 40 + [1, 1]
        finally:
            with psycopg.connect(server.format(""), autocommit=True, options="-c default_transaction_read_only=off") as connection:
                connection.execute("ALTER ROLE curator RESET ALL")

    def test_texts_are_compared_exactly_whatever_the_collation(self, server: str) -> None:
        import psycopg

        with psycopg.connect(server.format(""), autocommit=True) as connection:
            connection.execute("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
            connection.execute("CREATE TABLE collated (id text COLLATE loose, x text COLLATE loose)")
            connection.execute("INSERT INTO collated VALUES ('Ann', 'A'), ('ann', 'a'), ('bob', 'b')")
        arrow = pa.table({"id": ["Ann", "ann", "bob"], "x": ["A", "a", "b"]})
        for categories in (["a", "b"], [*(f"c{i}" for i in range(40)), "a", "b"]):
            for options in ({}, {"privacy_id": "id"}, {"by": {"id": ["ann", "bob", "Ann"]}}):
                found, expected = (dc.count(t, "x", categories, other="b", **options) for t in (server.format("/collated"), arrow))
                assert np.asarray(found).tolist() == np.asarray(expected).tolist()

    def test_refusals(self, server: str) -> None:
        for place, said in {
            server.format("/nothing"): "has no table 'nothing'",
            server.replace("/postgres{}", "/elsewhere/answers"): "no database of this name",
            server.replace("curator@", "stranger@").format("/answers"): "does not know the user",
            server.replace("curator@", f"reader:{SECRET}@").format("/answers"): "has no table 'answers' that this user may read",
            server.format("") + " select * from answers; drop table answers": "one select",
            server.format("") + " with d as (delete from answers returning *) select * from d": "one select",
            server.format("") + " select nothing from answers": "does not understand the query (UndefinedColumn)",
        }.items():
            with pytest.raises(SourceError) as refused:
                dc.count(place, "answer", CATEGORIES, **HOME)
            assert said in str(refused.value)
            assert SECRET not in str(refused.value)
