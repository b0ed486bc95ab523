"""The ledger's database: its tables, and connections whose commits survive a power cut. SQLite files and PostgreSQL servers."""

from functools import cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from discreet import limits
from discreet.errors import InvalidInputError, LedgerError
from discreet.text import may_hold_password

if TYPE_CHECKING:
    from sqlalchemy import URL, Column, Connection, Engine, MetaData, Select, Table


def no_ledger(where: str) -> LedgerError:
    """The error where there is no ledger, with how to make one."""
    fault, private = f"there is no ledger {where}; make one by creating a dataset in it:", "if n is to stay private, with"
    return LedgerError(
        f"{fault} Ledger(location).create(dataset, epsilon=...) ({private} neighbours='add or remove one')",
        in_shell=f"{fault} discreet ledger create LOCATION DATASET --epsilon ... ({private} --public nothing)",
    )


_TABLES_VERSION = 7
"""The version of the tables below; a ledger written by a later version of them is refused, not guessed at.

1: the first. 2: times are days, and a dataset may have a Rényi filter. 3: datasets and spends have a neighbour relation, and a spend
has its release's own ε and δ beside what was charged. 4: a relation may be within groups, and a description may be of a table. 5: a spend
may carry the key of the request that it is for. 6: a spend may name its source. 7: a dataset may have a budget for
each period, and a spend names the periods that it was charged to. A column says since when it is there; all but the first
are nullable. An older ledger is read as it is, and brought up to date by the first transaction that writes to it.
"""


@cache
def metadata() -> "MetaData":
    """The ledger's tables: amounts and days as text, which every database keeps exactly."""
    from sqlalchemy import BigInteger, Column, ForeignKey, Integer, MetaData, String, Table, Text

    tables = MetaData()
    number = BigInteger().with_variant(Integer, "sqlite")
    Table("discreet_ledger", tables, Column("version", Integer, primary_key=True))
    Table(
        "discreet_budget",
        tables,
        Column("dataset", String(limits.NAME_CHARACTERS), primary_key=True),
        Column("epsilon", Text, nullable=False),
        Column("delta", Text, nullable=False),
        Column("unit", Text, nullable=False),
        Column("created", Text, nullable=False),
        Column("filter_order", Text, info={"since": 2}),
        Column("filter_limit", Text, info={"since": 2}),
        Column("neighbours", Text, info={"since": 3}),
        Column("every", Text, info={"since": 7}),
    )
    Table(
        "discreet_spend",
        tables,
        Column("number", number, primary_key=True, autoincrement=True),
        Column("dataset", ForeignKey("discreet_budget.dataset"), nullable=False, index=True),
        Column("epsilon", Text, nullable=False),
        Column("delta", Text, nullable=False),
        Column("unit", Text, nullable=False),
        Column("note", Text, nullable=False),
        Column("description", Text, nullable=False),
        Column("time", Text, nullable=False),
        Column("divergence", Text, info={"since": 2}),
        Column("neighbours", Text, info={"since": 3}),
        Column("guarantee_epsilon", Text, info={"since": 3}),
        Column("guarantee_delta", Text, info={"since": 3}),
        Column("request", Text, info={"since": 5}),
        Column("source", Text, info={"since": 6}),
        Column("period", Text, info={"since": 7}),
    )
    return tables


def budgets() -> "Table":
    """One row a dataset."""
    return metadata().tables["discreet_budget"]


def spends() -> "Table":
    """One row a spend."""
    return metadata().tables["discreet_spend"]


def selected(connection: "Connection", table: "Table") -> "Select[Any]":
    """The rows of a table, with the columns that this ledger has."""
    version = connection.info[_VERSION_FOUND]
    return table.select().with_only_columns(*(column for column in table.c if _since(column) <= version))


def is_made(connection: "Connection") -> bool:
    """Return whether the database holds a ledger."""
    from sqlalchemy import inspect

    return inspect(connection).has_table("discreet_ledger")


def shown_url(url: "URL") -> str:
    """A URL with `HIDDEN` in place of every password, which may also stand among its options."""
    hidden = {name: HIDDEN for name in url.query if "password" in name.lower()}
    return url.update_query_dict(hidden).render_as_string(hide_password=True).replace(quote_plus(HIDDEN), HIDDEN)


def shown_location(location: str) -> str:
    """A ledger's path or URL as it may be shown: as it is written, but for the passwords of a URL."""
    if _is_meant_for_a_url(location):
        return HIDDEN
    if "://" not in location:
        return location
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        url = make_url(location)
    except (SQLAlchemyError, ValueError):
        return HIDDEN
    if "@" in (url.host or ""):
        return HIDDEN
    return shown_url(url) if url.password is not None or any("password" in name.lower() for name in url.query) else location


HIDDEN = "***"
"""The text that stands for a password."""


def _is_meant_for_a_url(location: str) -> bool:
    return "://" not in location and may_hold_password(location)


def make_engine(location: str, timeout: float) -> "Engine":
    """An engine that keeps no connection open between transactions, so that a forked process shares none."""
    from sqlalchemy import NullPool, create_engine, event

    url = _url(location)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": timeout})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        # Read committed: what others have spent must be seen once the budget's row is locked, not as of the transaction's start.
        return create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED", connect_args={"connect_timeout": ceil(timeout)})
    except ImportError:
        raise LedgerError("a ledger on a PostgreSQL server needs the driver: pip install 'psycopg[binary]'") from None


def _url(location: str) -> "URL":
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import SQLAlchemyError

    if _is_meant_for_a_url(location):
        raise LedgerError(
            "the ledger is neither the URL of a database, such as postgresql://user@host/database, nor a path that is taken: what stands "
            "between a : and an @, or behind password=, may be a password; write such a path as sqlite:///PATH"
        )
    try:
        url = make_url(location) if "://" in location else URL.create("sqlite", database=str(Path(location).expanduser()))
    except RuntimeError:
        raise InvalidInputError("the ledger's path begins with the home directory of a user who is not known here") from None
    except (SQLAlchemyError, ValueError):
        raise InvalidInputError("the ledger's URL cannot be read; it should look like postgresql://user@host/database") from None
    backend, database = url.get_backend_name(), url.database or ""
    if "@" in (url.host or ""):
        raise InvalidInputError("the user or the password in the ledger's URL has an @: write it as %40 there")
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise InvalidInputError(f"a ledger is an SQLite file or a PostgreSQL database; {backend!r} is not supported")
    if database in ("", ".", ":memory:") or database.startswith("file:"):
        raise InvalidInputError("a ledger must be an ordinary file: a budget kept in memory is forgotten")
    return URL.create("sqlite", database=str(Path(database).absolute()))


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not open transactions of its own: they would not hold the write lock.
    connection.isolation_level = None
    # EXTRA also syncs the directory after the journal is deleted, without which a power cut could undo a commit.
    connection.execute("PRAGMA synchronous = EXTRA")
    # On macOS fsync leaves data in the drive's own memory; F_FULLFSYNC, which this asks for, does not. Elsewhere it does nothing.
    connection.execute("PRAGMA fullfsync = ON")
    # What is replaced is overwritten: times of day that a ledger of the first version held must not stay in the file.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: "Connection") -> None:
    # IMMEDIATE takes the write lock before anything is read, so that no one else can spend between our reading and our writing.
    writing = connection.get_execution_options().get("discreet_mode") == "write"
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def prepare(connection: "Connection", timeout: float, *, writing: bool, new: bool, where: str) -> None:
    """Make sure that this is a ledger of a known version; a new one gets its tables in the transaction of its first dataset."""
    from sqlalchemy import inspect

    on_server = connection.dialect.name != "sqlite"
    if on_server:
        _prepare_server(connection, timeout, writing=writing, new=new)
    names = inspect(connection).get_table_names()
    version = metadata().tables["discreet_ledger"]
    if version.name in names:
        connection.info[_VERSION_FOUND] = _current(connection, where, writing=writing)
        return
    if names and not on_server:
        raise LedgerError(f"{where!r} is a database, but not a ledger")
    if not new:
        raise no_ledger(f"in {where!r}")
    connection.info[_VERSION_FOUND] = _TABLES_VERSION
    if writing:
        metadata().create_all(connection)
        connection.execute(version.insert().values(version=_TABLES_VERSION))


def _current(connection: "Connection", where: str, *, writing: bool) -> int:
    """The version of the ledger's tables, once an older ledger that is about to be written to has been brought up to date."""
    from sqlalchemy import func

    table = metadata().tables["discreet_ledger"]
    found = connection.scalars(table.select()).all()
    if writing and found != [_TABLES_VERSION] and connection.dialect.name != "sqlite":
        connection.exec_driver_sql(_LOCK_TABLES)  # another writer may be bringing it up to date
        found = connection.scalars(table.select()).all()
    if len(found) != 1 or found[0] not in range(1, _TABLES_VERSION + 1):
        raise LedgerError(f"the ledger {where!r} was written by another version of discreet; use that one, or a later one")
    if found == [_TABLES_VERSION] or not writing:
        return int(found[0])
    for name, added in ((t.name, c) for t in metadata().sorted_tables for c in t.c if _since(c) > found[0]):
        connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {added.name} {added.type.compile(connection.dialect)}")
    for column in (budgets().c.created, spends().c.time):
        connection.execute(column.table.update().values({column.name: func.substr(column, 1, _LENGTH_OF_A_DAY)}))
    connection.execute(table.update().values(version=_TABLES_VERSION))
    return _TABLES_VERSION


def _since(column: "Column[Any]") -> int:
    """The first version of the tables that has this column."""
    return int(column.info.get("since", 1))


def _prepare_server(connection: "Connection", timeout: float, *, writing: bool, new: bool) -> None:
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {ceil(1000 * timeout)}")
    if not writing:
        return
    fsync, commit = connection.exec_driver_sql("SELECT current_setting('fsync'), current_setting('synchronous_commit')").one()
    if fsync == "off":
        raise LedgerError("the server runs with fsync = off and may forget a spend; do not release")
    if commit == "off":
        connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
    if new:
        # Tables cannot be locked before they exist; this makes two first datasets wait for each other.
        connection.exec_driver_sql(_LOCK_TABLES)


_LOCK_TABLES = f"SELECT pg_advisory_xact_lock({int.from_bytes(b'discreet', 'big')})"
"""The lock of a number that no other program is likely to lock."""
_VERSION_FOUND = "discreet_version"
_LENGTH_OF_A_DAY = len("2024-06-07")
