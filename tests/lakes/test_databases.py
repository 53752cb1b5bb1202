"""Databases that DuckDB reads by an extension: DuckLake and SQLite. Those whose extension is not installed are skipped.

`python -c "import duckdb; duckdb.sql('INSTALL ducklake; INSTALL sqlite')"` installs them, where there is a network.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from polars.testing import assert_frame_equal

from tests.lakes.logs import LOG, make_log, write
from tests.support.cli import READ, fails, typed

pytestmark = pytest.mark.lake

COMMANDS = [("report", "--metrics", "nec,accuracy"), ("compare", "--metrics", "nec,accuracy", "--reference", "total")]


@pytest.fixture(scope="module")
def extension():
    """What skips a test whose extension is not installed."""

    def needed(name):
        with duckdb.connect() as connection:
            connection.execute("SET autoinstall_known_extensions = false")
            try:
                connection.execute(f"LOAD {name}")
            except duckdb.Error as error:
                pytest.skip(f"INSTALL {name} in DuckDB first: {error}".splitlines()[0])

    return needed


@dataclass(frozen=True)
class Lake:
    """A DuckLake whose catalog is a file of DuckDB."""

    folder: Path

    @property
    def path(self):
        return f"duckdb:ducklake:{self.folder}/meta.ducklake"

    def run(self, *statements):
        with duckdb.connect() as connection:
            attached = f"ATTACH 'ducklake:{self.folder}/meta.ducklake' AS l (DATA_PATH '{self.folder}/data/')"
            for statement in (attached, *statements):
                connection.execute(statement)


@pytest.fixture
def lake(extension, tmp_path):
    extension("ducklake")
    write(LOG, tmp_path / "log.parquet")
    made = Lake(tmp_path)
    made.run(f"CREATE TABLE l.log AS FROM '{tmp_path}/log.parquet' WHERE month < 3")
    made.run(
        f"INSERT INTO l.log FROM '{tmp_path}/log.parquet'",
        f"DELETE FROM l.log WHERE rowid < {LOG.filter(LOG['month'] < 3).height}",
        "CREATE SCHEMA l.old",
        f"CREATE TABLE l.old.log AS FROM '{tmp_path}/log.parquet'",
    )
    return made


def asked(tmp_path, path, command, *options):
    return typed(tmp_path, command, path, *READ, "--by", "g", *options)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("table", ["log", "main.log", "old.log"])
def test_ducklake(lake, tmp_path, table, command):
    """Rows that were deleted are in its files."""
    expected = asked(tmp_path, tmp_path / "log.parquet", *command)
    assert_frame_equal(asked(tmp_path, f"{lake.path}::{table}", *command), expected, rel_tol=1e-9)


def test_files_outside_a_ducklake(lake, tmp_path):
    lake.run(f"CREATE VIEW l.spy AS SELECT *, (SELECT size FROM read_text('{__file__}')) AS s FROM l.log")
    fails(1, "compare", f"{lake.path}::spy", *READ, "--by", "g", "--reference", "total", words=["reads files outside"])


def test_what_a_ducklake_has_not(lake, tmp_path):
    fails(2, "report", f"{lake.path}::nope", *READ, words=["has no table 'nope'. The tables are log, old.log"])
    fails(1, "report", f"duckdb:ducklake:{tmp_path}/nope.ducklake::log", *READ, words=["cannot be attached"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_sqlite(extension, tmp_path, command):
    extension("sqlite")
    write(make_log(), tmp_path / "log.parquet")
    connection = sqlite3.connect(tmp_path / "log.db")
    connection.execute("CREATE TABLE log (p DOUBLE, y INTEGER, g TEXT)")
    connection.executemany("INSERT INTO log VALUES (?, ?, ?)", LOG.select("p", LOG["y"].cast(int), "g").rows())
    connection.commit()
    connection.close()
    expected = asked(tmp_path, tmp_path / "log.parquet", *command)
    path = f"duckdb:sqlite:{tmp_path}/log.db::log"
    assert_frame_equal(asked(tmp_path, path, *command), expected, rel_tol=1e-9)
