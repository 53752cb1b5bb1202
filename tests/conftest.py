"""Fixtures of every folder of tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import duckdb
import pytest

from tests.support.database import database

# Workers share the cores, where threads of small matrix products only wait for each other. It is read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Expressions are many small objects, of which few are in circles.
gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """The macros on the tests' database; what a module makes there is temporary, so that it is in no other's way."""
    with database().cursor() as cursor:
        yield cursor
