"""What docs/dbt.md has to be pasted makes a project that dbt runs. Run by `make test-dbt`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_ec  # noqa: F401

pytestmark = pytest.mark.dbt

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dbt.md").read_text("utf-8")
FILES = dict(re.findall(r"^```(?:yaml|jinja)\n(?:#|--) (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def dbt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-c",
        "from dbt.cli.main import cli; cli()",
        "--warn-error",
        "--no-use-colors",
        *arguments,
    ]
    environment = {**os.environ, "DBT_PROFILES_DIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_files_of_the_page(tmp_path: Path) -> None:
    assert set(FILES) >= {
        "packages.yml",
        "profiles.yml",
        "dbt_project.yml",
        "models/nec_by_month.sql",
        "models/sources.yml",
    }
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("/path/to/this/repository", str(ROOT)), "utf-8")
    flights = pl.select(i=pl.int_range(3000)).select(
        carrier=pl.when(pl.col("i") % 2 == 0).then(pl.lit("AA")).otherwise(pl.lit("UA")),
        ts=pl.datetime(2026, 1, 1) + pl.duration(hours=pl.col("i") % 2000),
        score=(pl.col("i") * 0.618034) % 1,
        late=(pl.col("i") * 0.618034) % 1 > (pl.col("i") * 0.414214) % 1,
    )
    with duckdb.connect(tmp_path / "flights.duckdb") as connection:
        rows = flights.to_arrow()
        connection.register("rows", rows)
        connection.execute("CREATE TABLE flights AS FROM rows")
    for command in ("deps", "build"):
        done = dbt(tmp_path, command)
        assert done.returncode == 0, done.stdout
    month = flights.with_columns(month=pl.col("ts").dt.truncate("1mo"))
    wanted = month.ec.report(
        "score", "late", by=["carrier", "month"], metrics=["nec", "precision"], cost_fn=5, prior=0.2
    )
    with duckdb.connect(tmp_path / "flights.duckdb", read_only=True) as connection:
        found = connection.sql("FROM nec_by_month ORDER BY carrier, month").pl()
    assert found.columns == wanted.columns
    assert found["nec_at_prior"].to_list() == pytest.approx(wanted["nec_at_prior"].to_list(), rel=1e-12)

    plain = dbt(tmp_path, "run", "--vars", "{polars_ec_macros: false}")
    assert plain.returncode == 0, plain.stdout
    no_intervals = dbt(tmp_path, "test", "--vars", "{polars_ec_macros: false}")
    assert "interval=0.95: intervals are for DuckDB with the macros" in no_intervals.stdout.replace("\n", " ")
