"""The one DuckDB database of the tests, with the macros registered."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest

from polars_ec.sql.macros import register

needs_duckdb_2 = pytest.mark.skipif(
    duckdb.__version__.startswith("1."), reason="DuckDB 1 plans, types or names it otherwise"
)


@cache
def database() -> duckdb.DuckDBPyConnection:
    """Take a cursor of it: temporary tables, temporary views and registered frames are a cursor's own."""
    connection = duckdb.connect()
    register(connection)
    return connection
