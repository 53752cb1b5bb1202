"""Fixtures of every folder of tests."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from tests.support.database import database


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The macros on the tests' database; what a module makes there is temporary, so that it is in no other's way."""
    with database().cursor() as cursor:
        yield cursor
