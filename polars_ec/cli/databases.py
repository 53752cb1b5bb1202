"""Tables of databases that DuckDB attaches: its own files, and whatever else it has an extension for."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polars.exceptions import PanicException, PolarsError

from polars_ec.cli.discovery import status
from polars_ec.cli.terminal import DataError, UsageError, panics_unseen, redacted
from polars_ec.output.dialects import quoted, quoted_text
from polars_ec.output.words import first_line

if TYPE_CHECKING:
    import duckdb

PREFIX = "duckdb:"
_PLAIN = re.compile(r"(?P<database>.+?)::(?P<table>.+)", re.DOTALL)
# Connection strings may have the separator in them, as in host=::1, and names of tables do not.
_TYPED = re.compile(r"(?P<database>.+)::(?P<table>.+?)", re.DOTALL)
# As DuckDB has it: one letter is a drive of Windows.
_TYPE = re.compile(r"(?P<type>[A-Za-z0-9_]{2,}):")
_MOTHERDUCK = ("md", "motherduck")
_NOT_INSTALLED = re.compile(r'Install it first using "INSTALL (\w+)"|requires the extension (\w+) to be loaded')
_UNKNOWN = re.compile(r'Extension "[^"]*?([^"/\\]+)\.duckdb_extension" not found')


@dataclass(frozen=True)
class Database:
    """A database as DuckDB's ATTACH takes it, and a table in it; `type` is what stands in front, null for a DuckDB file."""

    text: str
    table: str
    type: str | None = None

    @classmethod
    def of(cls, path: str) -> Database:
        """The database and table that a path of the command means, which begins with `duckdb:`; UsageError if it names no table."""
        path = path.removeprefix(PREFIX)
        plain = _PLAIN.fullmatch(path)
        if plain is None:
            raise UsageError(f"{redacted(PREFIX + path)}: name a DuckDB table as duckdb:FILE.duckdb::TABLE")
        typed, kind = _TYPED.fullmatch(path), _TYPE.match(plain["database"])
        # A file may have a colon in its name.
        if typed is None or kind is None or os.path.lexists(plain["database"]):
            return cls(plain["database"], plain["table"])
        return cls(typed["database"], typed["table"], kind["type"].lower())

    @property
    def name(self) -> str:
        return redacted(self.text)

    @property
    def catalog(self) -> str:
        """What it is called in queries. A database of MotherDuck keeps its name."""
        if self.type in _MOTHERDUCK:
            return self.text.partition(":")[2].partition("?")[0]
        return "log"

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Attach it, read-only; from then on nothing but it can be read, and one state of it.

        What it brings along, such as a view, could read any file on this machine, so that files outside it are closed. Those that
        hold the tables of a DuckLake are in a folder that it names.
        """
        import duckdb

        self._check()
        if self.type is not None:
            connection.execute("SET autoinstall_known_extensions = false")
        try:
            # A database of one's own in MotherDuck takes neither another name nor options.
            kind = "TYPE duckdb, " if self.type is None else ""
            named = "" if self.type in _MOTHERDUCK else f" AS log ({kind}READ_ONLY)"
            connection.execute(f"ATTACH {quoted_text(self.text)}{named}")
            if self.type == "ducklake":
                self._open_folder(connection)
        except (duckdb.Error, UnicodeError) as error:
            raise self._refused(error) from error
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        if self.type is not None:
            # Others may write to it between one pass and the next.
            connection.execute("BEGIN TRANSACTION")

    def _check(self) -> None:
        """Refuse a file that is not there; SQLite makes an empty database of it."""
        file = self.text if self.type is None else self.text.partition(":")[2]
        if self.type not in (None, "sqlite"):
            return
        there = status(file)
        if there is None or not stat.S_ISREG(there.st_mode):
            kind = "SQLite" if self.type else "DuckDB"
            raise UsageError(f"{redacted(file)}: {f'no such {kind} file' if there is None else 'not a regular file'}")

    def _open_folder(self, connection: duckdb.DuckDBPyConnection) -> None:
        ((folder,),) = connection.execute("SELECT data_path FROM ducklake_settings('log')").fetchall()
        scheme = re.match(r"(\w+)://", folder)
        if scheme is not None:
            connection.execute(f"LOAD {'azure' if scheme[1].startswith(('az', 'abfs')) else 'httpfs'}")
            # Stored secrets are read from files when the first is needed.
            connection.execute("SELECT count(*) FROM duckdb_secrets()").fetchall()
        connection.execute(f"SET allowed_directories = [{quoted_text(folder)}]")

    def _refused(self, error: Exception) -> Exception:
        needed, unknown = _NOT_INSTALLED.search(str(error)), _UNKNOWN.search(str(error))
        if needed is not None:
            extension = needed[1] or needed[2]
            return UsageError(
                f"{self.name}: DuckDB needs its extension {extension}, which is not installed. Install it once with "
                f"python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
            )
        if unknown is not None:
            return UsageError(
                f"{self.name}: there is no such DuckDB file, nor a DuckDB extension {unknown[1]!r} to read it"
            )
        what = "read as a DuckDB database" if self.type is None else "attached"
        return DataError(f"{self.name} cannot be {what}: {redacted(first_line(error))}")

    def relation(self, connection: duckdb.DuckDBPyConnection) -> str:
        """The quoted name of the table or view; its schema is the one that names are in by themselves, unless it is said."""
        catalog = quoted(self.catalog)
        with refusals_as_data_errors():
            default_schema = "main" if self.type is None else self._default_schema(connection)
            rows = connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? "
                "AND table_schema NOT IN ('information_schema', 'pg_catalog') "
                "ORDER BY table_schema <> ?, table_schema, table_name",
                [self.catalog, default_schema],
            ).fetchall()
        for schema, name in rows:
            full = (f"{schema}.{name}", f'"{schema}"."{name}"')
            if self.table in full or (schema == default_schema and self.table in (name, f'"{name}"')):
                return f"{catalog}.{quoted(schema)}.{quoted(name)}"
        there = ", ".join(name if schema == default_schema else f"{schema}.{name}" for schema, name in rows)
        raise UsageError(f"{self.name} has no table {self.table!r}. The tables are {there or 'none at all'}")

    def _default_schema(self, connection: duckdb.DuckDBPyConnection) -> str:
        """`main` in most, `public` in PostgreSQL."""
        connection.execute(f"USE {quoted(self.catalog)}")
        ((schema,),) = connection.execute("SELECT current_schema()").fetchall()
        connection.execute("USE memory")
        return str(schema)


@contextmanager
def refusals_as_data_errors() -> Iterator[None]:
    """Around a query whose mistakes are not those of the command's options."""
    import duckdb

    try:
        with panics_unseen():
            yield
    except duckdb.PermissionException as error:
        raise DataError(
            "this view or table reads files outside its database, which is not allowed: copy it into a table of the "
            f"database ({redacted(first_line(error))})"
        ) from error
    except (duckdb.Error, PolarsError, PanicException) as error:
        raise DataError(f"DuckDB: {redacted(first_line(error))}") from error
