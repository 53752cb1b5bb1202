"""The log of flights and its sketches, in as many files as the module's FILES says."""

from __future__ import annotations

import duckdb
import pytest

import polars_ec as ec
from polars_ec.cli import sql_report
from tests.support.sketch_jobs import sketch, write_files


@pytest.fixture(scope="session")
def file_of_macros(tmp_path_factory):
    file = tmp_path_factory.mktemp("macros") / "ec.duckdb"
    with duckdb.connect(file) as connection:
        ec.register(connection)
    return file


@pytest.fixture(autouse=True)
def macros_at_hand(file_of_macros, monkeypatch):
    """Reports on DuckDB within this process find the macros in a file, which takes a tenth of the time of creating them."""

    def register(connection):
        connection.execute(f"ATTACH '{file_of_macros}' AS ec (READ_ONLY)")
        ec.register(connection)

    monkeypatch.setattr(sql_report, "register", register)


@pytest.fixture
def logs(request, tmp_path):
    return write_files(tmp_path / "logs", files=request.module.FILES)


@pytest.fixture
def out(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    return tmp_path / "out"
