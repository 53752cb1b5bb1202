"""Fixtures of every folder of tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.sql import macros
from sql.generate import database as database_file
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases that a mark `quick` does not name to `make test-slow`; UsageError where it names none."""
    named: dict[str, bool] = {}
    for item in items:
        mark = item.get_closest_marker("quick")
        if mark is not None:
            test, _, case = item.nodeid.removesuffix("]").partition("[")
            is_quick = any(fnmatchcase(case, pattern) for pattern in mark.args)
            named[test] = named.get(test, False) or is_quick
            if not is_quick:
                item.add_marker(pytest.mark.slow)
    # Single cases may be run by their names.
    if not all(named.values()) and not any("[" in argument for argument in config.args):
        raise pytest.UsageError(f"marks `quick` that name no case: {[test for test in named if not named[test]]}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much processor time the tests took: of this process, and of the workers and all others that it waited for."""
    user, system, children_user, children_system, _ = os.times()
    seconds = user + system + children_user + children_system
    terminalreporter.write_line(f"processor time: {seconds:.0f} s, workers included")


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The macros on the tests' database; what a module makes there is temporary, so that it is in no other's way."""
    with database().cursor() as cursor:
        yield cursor


@pytest.fixture(scope="session")
def file_of_macros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file that has the macros, to be attached as the database `ec`."""
    file = tmp_path_factory.mktemp("macros") / "ec.duckdb"
    database_file.write(file, macros.text(duckdb.__version__), storage_version="latest")
    return file


@pytest.fixture
def macros_at_hand(file_of_macros: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever registers the macros finds them in a file, which takes a tenth of the time of creating them."""
    create = ec.register

    def register(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"ATTACH '{file_of_macros}' AS ec (READ_ONLY)")
        create(connection)

    monkeypatch.setattr(ec, "register", register)
