"""The text of the DuckDB macros, and their registration on a connection."""

from __future__ import annotations

import atexit
import re
import shutil
import threading
import time
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from polars_ec.version import __version__

if TYPE_CHECKING:
    import duckdb

_BEGIN = "BEGIN TRANSACTION;\n"
CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS ec;\n"
_COMMIT = "COMMIT;\n"
_STAMP = re.compile(r"CREATE OR REPLACE TYPE ec\._stamp AS ENUM \((.*?)\);", re.DOTALL)
_PATIENCE = 30  # seconds to wait for another transaction that writes the same macros
_LOWEST = (1, 4, 2)
_one_at_a_time = threading.Lock()


def text(version: str = "2") -> str:
    """The SQL that creates every macro in schema `ec`, for a version of DuckDB; ValueError for a text that is none."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    if match is None:
        raise ValueError(f"{version!r} is not a version of DuckDB: pass one such as 1.4.2 or 2")
    numbers = tuple(map(int, match[1].split(".")))
    if numbers < _LOWEST[: len(numbers)]:
        raise ValueError(f"the macros need DuckDB {'.'.join(map(str, _LOWEST))} or later, not {version}")
    name = "polars_ec_duckdb_1.sql" if numbers < (2,) else "polars_ec.sql"
    installed = files("polars_ec").joinpath(name)
    if installed.is_file():
        return installed.read_text("utf-8")
    return (Path(__file__).parents[2] / "sql" / name).read_text("utf-8")


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the DuckDB macros, so that `ec.nec(score, label)` works in SQL on this connection's database.

    The macros go into schema `ec` of the current database; a file keeps them for later connections. If a database is itself named `ec`, they
    go into its schema main, where the same name resolves. If the current database is read-only, or a file in the format of DuckDB before 1.4,
    they go into a temporary database named `ec`, which lasts as long as the process. Registering again replaces the macros. It does nothing
    if this version of polars_ec has already created them.

    Registration is one transaction: after an error the previous macros remain. Several threads may register on one database at once. Within
    your own transaction, the macros are committed or rolled back with it.

    Parameters
    ----------
    connection
        An open DuckDB connection; other connections to the same database see the macros too.

    Raises
    ------
    TypeError
        An argument that is not a connection, such as a file name.
    ValueError
        A DuckDB version below 1.4.2. The name `ec` belongs to a read-only database, or to both a database and a schema, so that `ec.nec`
        cannot be resolved. The message says what to do.
    duckdb.Error
        Another transaction that writes the macros and does not end; a database that cannot be written.

    Examples
    --------
    >>> import duckdb, polars_ec as ec
    >>> connection = duckdb.connect()
    >>> ec.register(connection)
    >>> log = "(VALUES (0.9, true), (0.4, true), (0.7, false)) AS log(p, y)"
    >>> connection.sql(f"SELECT ec.accuracy(p, y) AS accuracy FROM {log}").fetchall()
    [(0.3333333333333333,)]
    """
    if not hasattr(connection, "cursor"):
        raise TypeError(f"connection={connection!r} is not a DuckDB connection: pass what duckdb.connect(...) returns")
    with connection.cursor() as other:  # an error in a transaction of the caller's would end it
        version = other.execute("SELECT library_version FROM pragma_version()").fetchall()[0][0]
        bundle = text(version)
        other.execute(bundle.partition(_BEGIN)[2].partition(";")[0])
    with _one_at_a_time:
        _register(connection, bundle)


def _register(connection: duckdb.DuckDBPyConnection, bundle: str) -> None:
    # A file in the format of an earlier DuckDB cannot hold macros whose parameters have types.
    fixed = "readonly OR coalesce(tags['storage_version'] < 'v1.4', false)"
    databases = dict(connection.execute(f"SELECT database_name, {fixed} FROM duckdb_databases()").fetchall())
    current, has_schema = connection.execute(
        "SELECT current_database(), count(*) > 0 FROM duckdb_schemas() "
        "WHERE schema_name = 'ec' AND database_name = current_database()"
    ).fetchall()[0]
    if "ec" in databases:
        _register_in_database_ec(connection, bundle, bool(databases["ec"]), bool(has_schema))
    elif not databases[current]:
        _install(connection, bundle, current, "ec")
    elif not (has_schema and _version(connection) == __version__):
        _attach_scratch(connection)
        _register_in_database_ec(connection, bundle, fixed=False, has_schema=bool(has_schema))


def _register_in_database_ec(connection: duckdb.DuckDBPyConnection, bundle: str, fixed: bool, has_schema: bool) -> None:
    if has_schema:
        raise ValueError(
            "both a database and a schema are called ec, so DuckDB cannot tell which one ec.nec is in: DROP SCHEMA ec "
            "(with its database's name before it), or attach the database under another name"
        )
    if not fixed:
        _install(connection, bundle.replace(CREATE_SCHEMA, ""), "ec", "main")
    elif _version(connection) != __version__:
        raise ValueError(
            "the database called ec is read-only, or a file in the format of DuckDB before 1.4, and lacks these macros, and "
            "its name hides any schema ec: attach it under another name (ATTACH 'ec.duckdb' AS log (READ_ONLY)), or register "
            "the macros while it is writable"
        )


def _install(connection: duckdb.DuckDBPyConnection, bundle: str, database: str, schema: str) -> None:
    """Run the bundle, one transaction, again if another one that writes the same macros was first."""
    import duckdb

    if _is_stamped(connection, bundle, database, schema):
        return
    if _in_transaction(connection):
        _write(connection, bundle)
        return
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.begin()
            _write(connection, bundle)
            connection.commit()
        except BaseException as error:
            with suppress(duckdb.TransactionException):  # there is none to roll back when COMMIT is what failed
                connection.rollback()
            conflict = isinstance(error, duckdb.TransactionException) and "conflict" in str(error)
            if not conflict or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(0.05)


def _write(connection: duckdb.DuckDBPyConnection, bundle: str) -> None:
    for statement in _parsed(bundle.replace(_BEGIN, "").replace(_COMMIT, "")):
        connection.execute(statement)


@cache
def _parsed(statements: str) -> list[duckdb.Statement]:
    """Parsing takes a third of the time that registering takes: done once for all connections of the process."""
    import duckdb

    return duckdb.extract_statements(statements)


def _is_stamped(connection: duckdb.DuckDBPyConnection, bundle: str, database: str, schema: str) -> bool:
    """Whether the macros that are there have the stamp that this bundle ended with when it was written."""
    query = "SELECT labels FROM duckdb_types() WHERE type_name = '_stamp' AND database_name = ? AND schema_name = ?"
    noted, stamp = connection.execute(query, [database, schema]).fetchone(), _STAMP.search(bundle)
    assert stamp is not None
    return noted is not None and noted[0] == [connection.execute(stamp[1]).fetchall()[0][0]]


def _in_transaction(connection: duckdb.DuckDBPyConnection) -> bool:
    """True if two statements have the same transaction; to ask by BEGIN would end one of the caller's."""
    first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
    return bool(first == second)


def _attach_scratch(connection: duckdb.DuckDBPyConnection) -> None:
    """A writable database called `ec`: in memory, or in a file where the whole instance is read-only."""
    import duckdb

    try:
        connection.execute("ATTACH ':memory:' AS ec")
    except duckdb.CatalogException:
        import tempfile

        folder = tempfile.mkdtemp(prefix="polars_ec_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = str(Path(folder) / "macros.duckdb").replace("'", "''")
        connection.execute(f"ATTACH '{path}' AS ec (READ_WRITE, STORAGE_VERSION 'v1.4.0')")


def _version(connection: duckdb.DuckDBPyConnection) -> str | None:
    import duckdb

    try:
        rows = connection.execute("SELECT ec.version()").fetchall()
    except duckdb.Error:
        return None
    return str(rows[0][0])
