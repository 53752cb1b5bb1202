"""The queries of a sketch and of a report on a PostgreSQL server, through psql. Run by `make test-postgres`."""

from __future__ import annotations

import json
import os
import subprocess
from functools import reduce
from pathlib import Path

import polars as pl
import pytest

from tests.support import report_queries
from tests.support.warehouse_cases import CASES, CLUSTERS, Case, check, make_log

pytestmark = pytest.mark.postgres

TABLE = (
    "CREATE TEMP TABLE log (ts timestamp, segment text, p double precision, x double precision, w double precision, "
    "late boolean, outcome text, code integer, number double precision, account bigint)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("postgres")


@pytest.fixture(scope="module")
def log(folder: Path) -> pl.DataFrame:
    return written(make_log(), folder / "log.csv")


@pytest.fixture(scope="module")
def report_log(folder: Path) -> pl.DataFrame:
    return written(report_queries.make_log(), folder / "report_log.csv")


def written(log: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The log, which is then in a file with every digit."""
    digits = pl.selectors.float().map_elements(repr, return_dtype=pl.String)
    log.with_columns(digits).write_csv(path, null_value="NULL")
    return log


def answer(table: str, csv: Path, query: str) -> pl.DataFrame:
    """What the server makes of the query on the log in a file."""
    server = os.environ.get("DSN", "")
    script = f"{table};\n\\copy log FROM '{csv}' (FORMAT csv, HEADER, NULL 'NULL')\nSELECT row_to_json(t) FROM ({query}) AS t;\n"
    command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", server]
    run = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    # JSON has no infinity.
    infinite = {f'"{sign}Infinity"': f"{sign}Infinity" for sign in ("", "-")}
    text = reduce(lambda text, pair: text.replace(*pair), infinite.items(), run.stdout)
    result = pl.DataFrame([json.loads(line) for line in text.splitlines()], infer_schema_length=None)
    return result.with_columns(pl.col("^month$").str.to_date())


@pytest.mark.parametrize("case", [*CASES, *CLUSTERS], ids=lambda case: case.name)
def test_postgres(case: Case, folder: Path, log: pl.DataFrame) -> None:
    check(case, log, answer(TABLE, folder / "log.csv", case.query("postgres")), least=1e-90)


@pytest.mark.parametrize("case", report_queries.EVERY, ids=lambda case: case.name)
def test_report(case: report_queries.ReportCase, folder: Path, report_log: pl.DataFrame) -> None:
    found = answer(report_queries.TABLE, folder / "report_log.csv", case.query("postgres"))
    # JSON has numbers without types, and nothing but NULL may be of none.
    wanted = case.wanted(report_log)
    typed = found.cast({name: wanted.schema[name] for name in found.columns})
    report_queries.check(case, report_log, typed, least=1e-30)
