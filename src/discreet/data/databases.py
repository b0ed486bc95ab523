"""Tables and queries of a database as lazy tables, by Ibis: PostgreSQL servers and SQLite files. They are grouped in the database.

A source names a table behind its database, as in postgresql://user@host/database/answers, postgresql://host/database/schema.answers or
survey.sqlite/answers. A query stands behind the address and a blank: `postgresql://host/database select sex, smoking from answers`, or
`sqlite:///survey.sqlite select ...`. What a server's own programs know of passwords (~/.pgpass, PGPASSWORD) holds here too.
"""

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from discreet.data.engines import library, within_engine
from discreet.data.lines import LineReading, check_names, check_once
from discreet.errors import InvalidInputError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

SQLITE_FILES = (".db", ".sqlite", ".sqlite3")
_SERVERS = ("postgresql", "postgres")
_HOW = "postgresql://user@host/database/table, or a file and its table as in survey.sqlite/answers; a query stands behind a blank"
_WAIT = 15
"""Seconds within which a server must answer."""


@dataclass(frozen=True)
class _Source:
    """The place of a table: a server's address or a file, and a table in it or a query."""

    place: str
    is_server: bool
    table: str = ""
    query: str = ""

    @property
    def selected(self) -> str:
        """The rows, in SQL."""
        if self.query:
            return self.query
        names = self.table.split(".", 1) if self.is_server else [self.table]
        return f"SELECT * FROM {'.'.join(_quoted(unquote(name)) for name in names)}"  # noqa: S608 - names in quotes


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_database(source: object) -> bool:
    """Return whether a source is the address of a database, or goes on into an SQLite file."""
    if not isinstance(source, str):
        return False
    return is_address(source) or _file_of(source)[0] is not None


def _file_of(path: str) -> tuple[str | None, str]:
    """The SQLite file that a path is or goes on into, None if there is none, and the table that the path names."""
    whole = Path(path).expanduser() if not path.startswith("~") or path.startswith("~/") else Path(path)
    for file, table in ((whole, ""), (whole.parent, whole.name)):
        if file.suffix.lower() in SQLITE_FILES and file.is_file():
            return str(file), table
    return None, ""


def is_address(source: str) -> bool:
    """Return whether a source is an address, and not the path of a file."""
    return "://" in source.split(" ")[0]


def check_no_password(source: str) -> None:
    """Refuse the address of a database that holds a password, also one that is not written as it should be.

    A source is shown, kept and written into ledgers, where a password must not be.
    """
    scheme, _, rest = source.split(" ")[0].partition("://")
    login, at, _ = rest.partition("?")[0].rpartition("@")
    options = parse_qsl(rest.partition("?")[2], keep_blank_values=True)
    if scheme and ((at and (":" in login or "@" in login)) or any("pass" in name.lower() for name, _ in options)):
        raise InvalidInputError(
            "the address of the database holds a password, which would be shown and kept with it: leave it out, and put it into "
            "PGPASSWORD or the file .pgpass, where the database's own programs look for it too"
        )


def name_of(source: str) -> str:
    """Return the name of a source in notes: a file, a sheet or a table, or that it is a query."""
    if not is_address(source):
        return Path(source).name
    try:
        return unquote(_parsed(source).table) or "a query"
    except SourceError:  # counting says what is wrong with it
        return "a database"


def kept_address(source: str) -> str:
    """An address as a ledger keeps it: of a query, which may name people, a digest alone, so that the same query is known again."""
    address, _, query = (part.strip() for part in source.strip().partition(" "))
    return f"{address} query {hashlib.sha256(query.encode(errors='surrogatepass')).hexdigest()[:16]}" if query else address


def _parsed(source: str) -> _Source:
    address, _, query = (part.strip() for part in source.strip().partition(" "))
    if not is_address(source):
        file, table = _file_of(source)
        return _Source(file or source, False, table)
    scheme, _, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        file, table = _file_of(unquote(rest[1:]))
        if file is None:
            raise SourceError("there is no SQLite file at this address: sqlite:/// is followed by its path, which ends in .db or .sqlite")
        return _Source(file, False, table, query)
    if scheme not in _SERVERS:
        raise SourceError(f"only local files and databases are read: {_HOW}; open others with a library that can, and pass the table")
    try:
        parts = urlsplit(address)
        database, *tables = parts.path.removeprefix("/").split("/")
    except ValueError:
        raise SourceError(f"the address of the database cannot be read; it is written as {_HOW}") from None
    if "@" in parts.netloc.rpartition("@")[0] or len(tables) > 1:
        raise SourceError(f"the address of the database cannot be read: an @ or / in a name is written as %40 or %2F in {_HOW}")
    return _Source(parts._replace(path=f"/{database}").geturl(), True, "".join(tables), query)


@contextmanager
def opened(source: str, reading: LineReading) -> "Iterator[Table]":
    """The columns of a table or query, lazily."""
    if reading.encoding != "utf-8":
        raise InvalidInputError("encoding is for files; a database says itself how its text is written")
    found = _parsed(source)
    if bool(found.table) == bool(found.query):
        raise SourceError(f"name one table of the database, or a query: {_HOW}")
    with closing(_connection(found)) as connection:
        described = _described(connection, found)
        names = [name for name, _ in described]
        check_names(names, reading.columns, " in the table")
        second = [name.removesuffix(":1") for name in names if name.endswith(":1")]  # as SQLite calls them
        check_once([*names, *second], reading.columns, "the query")
        types = {name: kind for name, kind in described if name in reading.columns}
        if found.is_server:
            _check_types(types, reading)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The 'future.infer_string' option")  # of pandas, which Ibis asks about it
            yield within_engine("opening the table", _table, connection, found, types, reading)


def columns_of(source: str) -> dict[str, str | None]:
    """The columns of a table or query, with the database's own names of their types where it has them. No rows are read."""
    found = _parsed(source)
    with closing(_connection(found)) as connection:
        return {name: kind or None for name, kind in _described(connection, found)}


def _check_types(types: dict[str, str], reading: LineReading) -> None:
    """Refuse ids whose texts may differ where they are equal, so that one person would be several, and dates in strict counting."""
    person = types.get(reading.privacy_id or "", "text")
    if person not in (*_TYPES, *_TEXTS, "numeric"):
        raise InvalidInputError(
            f"privacy_id {reading.privacy_id!r} has type {person or 'of its own'}, whose values may be equal and written in several ways: "
            "make it text in a query"
        )
    for name, kind in types.items():
        if reading.strict and kind in ("date", "timestamp"):
            raise InvalidInputError(
                f"column {name!r} has type {kind}, which cannot be counted strictly, because a database may refuse one of its values: "
                "make it text in a query"
            )


def _connection(found: _Source) -> Any:
    """A connection. What the driver says of one that fails is not shown, since it may repeat what was taken for a name."""
    library("ibis", "databases", "databases")
    if found.query:
        _check_query(found)
    if not found.is_server:
        return _file_connection(found.place)
    psycopg = library("psycopg", "databases", "databases")
    try:
        connection = psycopg.connect(found.place, connect_timeout=_WAIT)
    except psycopg.Error as error:
        reason = next((ours for theirs, ours in _WHY_NOT_OPENED.items() if theirs in str(error)), "it cannot be reached")
    else:
        connection.read_only = True  # said at the beginning of each transaction, so that no function in a query can change anything
        return connection
    raise SourceError(f"the database cannot be opened: {reason}")


def _file_connection(path: str) -> sqlite3.Connection:
    """A file of SQLite that nothing can change, with functions that SQLite lacks."""
    file = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    try:
        [encoding] = file.execute("PRAGMA encoding").fetchone()
    except sqlite3.Error:
        file.close()
        raise
    # SQLite's own knows the letters from A to Z alone.
    file.create_function("lower", 1, lambda text: text.lower() if isinstance(text, str) else text, deterministic=True)
    # SQLite writes 15 digits, in which different numbers are the same text.
    file.create_function("written_number", 1, repr, deterministic=True)
    file.create_function(
        "written_bytes", 1, lambda cell: None if cell is None else cell.decode(encoding, "backslashreplace"), deterministic=True
    )
    return file


_WHY_NOT_OPENED = {
    "no password supplied": "it asks for a password: put it into PGPASSWORD or the file .pgpass",
    "authentication failed": "it refuses the user or the password",
    'role "': "it does not know the user",
    'database "': "there is no database of this name on the server",
    "resolve host": "there is no such host",
    "Connection refused": "no server answers at this host and port",
    "No such file or directory": "no server answers at this host and port",
    "timeout expired": f"no server answers within {_WAIT} seconds",
}
"""Phrases of a driver about connections that fail, and the same in words that repeat nothing."""


def _check_query(found: _Source) -> None:
    """Refuse what is not one question: several statements, or one that would change the database."""
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    try:
        statements = parse(found.query, read="postgres" if found.is_server else "sqlite")
    except SqlglotError:
        statements = []
    if len(statements) != 1 or not isinstance(statements[0], exp.Query) or statements[0].find(exp.DML, exp.Into):
        raise SourceError("a query must be one select, which changes nothing, without a ; at its end")


def _described(connection: Any, found: _Source) -> Sequence[tuple[str, str]]:
    """The names of all columns and their types, once the database has understood the table or query. No rows are read.

    A type is "" where it is not known, as it is in SQLite, whose cells have types of their own.
    """
    cursor = connection.cursor()
    try:
        cursor.execute(f"SELECT * FROM ({found.selected}) AS counted LIMIT 0")  # noqa: S608 - what the curator asks
        columns: Any = cursor.description
        if not found.is_server:
            return [(column[0], "") for column in columns]
        known = connection.adapters.types
        found_types = [(column, known.get(column.type_code)) for column in columns]  # an array's is that of its elements
        return [(column.name, info.name if info is not None and info.oid == column.type_code else "") for column, info in found_types]
    except Exception as error:  # of the driver's own kinds, which are not known before it is imported
        kind = type(error).__name__
    finally:
        cursor.close()
    if found.query:
        raise SourceError(f"the database does not understand the query ({kind}): try it with the database's own program")
    raise SourceError(f"the database has no table {unquote(found.table)!r} that this user may read ({kind})")


_TYPES = {
    "bool": "boolean",
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp('UTC')",
}
"""Types of PostgreSQL that stay what they are. All others, such as enumerations, numeric and uuid, are read as text."""


_TEXTS = ("text", "varchar", "bpchar", "name", "uuid")
"""Types of PostgreSQL whose values are equal where their texts are."""


def _table(connection: Any, found: _Source, types: dict[str, str], reading: LineReading) -> "Table":
    """The columns as a table of Ibis: what is text to us is text in the query."""
    import ibis

    kinds = {name: _TYPES.get(kind, "string") for name, kind in types.items()}
    written = dict(zip(types, map(_quoted, types), strict=True))
    for name, column in written.items():
        if not found.is_server:
            written[name] = _cell_text(column, strict=reading.strict)
        elif kinds[name] in ("date", "timestamp") and name != reading.privacy_id:
            # To ask for the year of infinity is an error in some versions. It is of no period, as what was before Christ is.
            written[name] = f"CASE WHEN isfinite({column}) OR {column} IS NULL THEN {column} ELSE '0001-01-01 BC' END"
        elif kinds[name] == "string":
            is_exact = types[name] == "numeric" and name == reading.privacy_id  # 1 and 1.0 are one person
            # The database's own collation calls texts equal only if they are the same; that of a column may not.
            written[name] = f'CAST({f"trim_scale({column})" if is_exact else column} AS text) COLLATE "default"'
    columns = ", ".join(f"{text} AS {_quoted(name)}" for name, text in written.items())
    backend = (ibis.postgres if found.is_server else ibis.sqlite).from_connection(connection)
    table: Table = backend.sql(f"SELECT {columns} FROM ({found.selected}) AS counted", schema=kinds)  # noqa: S608 - as above
    return table


def _cell_text(column: str, *, strict: bool) -> str:
    """A cell of SQLite, which may be of any type, as text: each is as a CSV file has it, and a whole number has no point.

    Strictly read, bytes that are no text become a text too, because functions of Python would refuse them.
    """
    whole = f"CAST({column} AS INTEGER)"
    number = f"CASE WHEN {column} = {whole} THEN CAST({whole} AS TEXT) ELSE written_number({column}) END"
    other = f"written_bytes(CAST({column} AS BLOB))" if strict else f"CAST({column} AS TEXT)"
    return f"CASE WHEN typeof({column}) = 'real' THEN {number} ELSE {other} END"


# --- tables of ours beside those of the database -----------------------------------------------------------------------


def arrow_list(texts: list[str], codes: list[int]) -> "pa.Table":
    """A table of texts and their codes, in columns "text" and "found"."""
    import pyarrow as pa

    return pa.table({"text": pa.array(texts, pa.string()), "found": pa.array(codes, pa.int64())})


def listed(table: "Table", texts: list[str], codes: list[int]) -> "Table":
    """Return texts and codes as a table where a table of Ibis is; part of the question on PostgreSQL, where a reader may not write."""
    import ibis

    backend: Any = table.get_backend()
    if backend.name != "postgres":
        return ibis.memtable(arrow_list(texts, codes))
    lists = (json.dumps(values).replace("'", "''") for values in (texts, codes))
    text, code = (f"json_array_elements_text(CAST('{values}' AS json))" for values in lists)
    query = f"SELECT text, CAST(code AS bigint) AS found FROM (SELECT {text} AS text, {code} AS code) AS listed"  # noqa: S608 - in quotes
    found: Table = backend.sql(query, schema={"text": "string", "found": "int64"})
    return found
