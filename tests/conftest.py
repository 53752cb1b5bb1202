"""Fixtures of every folder of tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_ec as ec
from tests.support.database import database

# Workers share the cores, where threads of small matrix products only wait for each other. It is read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# And each worker has one thread of Polars; tests/metrics/test_threads.py has several of them, and processes that tests start have
# as many as there are cores. It is read when Polars makes them.
if "PYTEST_XDIST_WORKER" in os.environ and "POLARS_MAX_THREADS" not in os.environ:
    os.environ["POLARS_MAX_THREADS"] = "1"
    pl.thread_pool_size()
    del os.environ["POLARS_MAX_THREADS"]

# Expressions are many small objects, of which few are in circles.
gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The macros on the tests' database; what a module makes there is temporary, so that it is in no other's way."""
    with database().cursor() as cursor:
        yield cursor


@pytest.fixture(scope="session")
def file_of_macros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file that has the macros, to be attached as the database `ec`."""
    file = tmp_path_factory.mktemp("macros") / "ec.duckdb"
    with duckdb.connect(file) as connection:
        ec.register(connection)
    return file


@pytest.fixture
def macros_at_hand(file_of_macros: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever registers the macros finds them in a file, which takes a tenth of the time of creating them."""
    create = ec.register

    def register(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"ATTACH '{file_of_macros}' AS ec (READ_ONLY)")
        create(connection)

    monkeypatch.setattr(ec, "register", register)
    monkeypatch.setattr("polars_ec.cli.sql_report.register", register)
