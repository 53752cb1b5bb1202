"""The sketch query on a PostgreSQL server, through psql. Run by `make test-postgres`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.support.warehouse_cases import CASES, CLUSTERS, Case, check, make_log

pytestmark = pytest.mark.postgres

TABLE = (
    "CREATE TEMP TABLE log (ts timestamp, segment text, p double precision, x double precision, w double precision, "
    "late boolean, outcome text, code integer, number double precision, account bigint)"
)


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return make_log()


@pytest.fixture(scope="module")
def csv(tmp_path_factory, log: pl.DataFrame) -> Path:
    path = tmp_path_factory.mktemp("postgres") / "log.csv"
    digits = pl.col("p", "x", "w", "number").map_elements(repr, return_dtype=pl.String)
    log.with_columns(digits).write_csv(path, null_value="NULL")
    return path


@pytest.mark.parametrize("case", [*CASES, *CLUSTERS], ids=lambda case: case.name)
def test_postgres(case: Case, csv: Path, log: pl.DataFrame) -> None:
    server = os.environ.get("DSN", "")
    query = case.query("postgres")
    script = f"{TABLE};\n\\copy log FROM '{csv}' (FORMAT csv, HEADER, NULL 'NULL')\nSELECT row_to_json(t) FROM ({query}) AS t;\n"
    command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", server]
    run = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    result = pl.DataFrame([json.loads(line) for line in run.stdout.splitlines()], infer_schema_length=None)
    if "month" in result.columns:
        result = result.with_columns(pl.col("month").str.to_date())
    check(case, log, result, least=1e-90)
