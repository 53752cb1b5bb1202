"""The integration project of the dbt package, which dbt runs on one engine; and what it leaves there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

PACKAGE = Path(__file__).parents[2] / "sql" / "dbt"
SEED = PACKAGE / "integration_tests" / "seeds" / "scores.csv"
SCHEMA = "polars_ec_dbt"
DSN = os.environ.get("DSN", "")


def scores() -> pl.DataFrame:
    """The seed, as dbt reads it."""
    text = pl.read_csv(SEED, infer_schema=False)
    return text.with_columns(
        pl.col("ts").str.to_datetime(),
        pl.col("code").cast(pl.Int64),
        pl.col("p", "x", "d", "w").cast(pl.Float64),
        late=pl.col("late") == "true",
    ).with_columns(month=pl.col("ts").dt.date().dt.truncate("1mo"))


def run_dbt(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What comes of a command; a warning, such as that of a deprecation, is an error."""
    command = [
        sys.executable,
        "-c",
        "from dbt.cli.main import cli; cli()",
        "--warn-error",
        "--no-use-colors",
        *arguments,
    ]
    given = {**os.environ, **environment, "DBT_PROFILES_DIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Project:
    """A copy of the package, whose integration project dbt runs."""

    folder: Path
    engine: str

    def dbt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What comes of a command."""
        connection = dict(part.split("=", 1) for part in shlex.split(DSN))
        environment = {
            **{f"PG{'DATABASE' if name == 'dbname' else name.upper()}": value for name, value in connection.items()},
            "POLARS_EC_DATABASE": str(self.folder / "log.duckdb"),
            "POLARS_EC_TARGET_NAME": self.engine,
            "POLARS_EC_SCHEMA": SCHEMA,
        }
        plain = ["--vars", "{polars_ec_macros: false}"] if self.engine == "duckdb_plain" else []
        return run_dbt(self.folder, *arguments, *plain, **environment)

    def done(self, *arguments: str) -> None:
        """A command that must succeed."""
        run = self.dbt(*arguments)
        assert run.returncode == 0, run.stdout

    def results(self) -> dict[str, dict[str, Any]]:
        """The status and the number of failures of each node of the last run."""
        run = json.loads((self.folder / "target" / "run_results.json").read_text("utf-8"))
        return {node["unique_id"].split(".")[2]: node for node in run["results"]}

    def table(self, name: str, schema: str | None = None) -> pl.DataFrame:
        """What a model has become."""
        if self.engine != "postgres":
            with duckdb.connect(self.folder / "log.duckdb", read_only=True) as connection:
                return connection.sql(f'SELECT * FROM "{schema or "main"}"."{name}"').pl()
        import psycopg2

        with psycopg2.connect(DSN) as connection, connection.cursor() as cursor:
            cursor.execute(f'SELECT * FROM "{schema or SCHEMA}"."{name}"')
            names = [column.name for column in cursor.description]
            return pl.DataFrame(cursor.fetchall(), schema=names, orient="row", infer_schema_length=None)


def built_project(folder: Path, engine: str, models: Mapping[str, str]) -> Iterator[Project]:
    """The project with further models, built once."""
    ignored = shutil.ignore_patterns("target", "logs", "dbt_packages", "package-lock.yml")
    shutil.copytree(PACKAGE, folder, ignore=ignored)
    project = Project(folder / "integration_tests", engine)
    for name, text in models.items():
        (project.folder / "models" / f"{name}.sql").write_text(text, "utf-8")
    project.done("deps")
    project.done("build", "--exclude", "tag:must_fail")
    yield project
    if engine == "postgres":
        import psycopg2

        with psycopg2.connect(DSN) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA {SCHEMA} CASCADE; DROP SCHEMA IF EXISTS {SCHEMA}_dbt_test__audit CASCADE")
