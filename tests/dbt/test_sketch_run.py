"""Sketches that dbt makes, read by Sketch.from_arrow, are those of Polars on the same rows. Run by `make test-dbt`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

pytestmark = pytest.mark.dbt

PACKAGE = Path(__file__).parents[2] / "sql" / "dbt"
SEED = PACKAGE / "integration_tests" / "seeds" / "scores.csv"
SCHEMA = "polars_ec_dbt_sketch"
DSN = os.environ.get("DSN", "")
ENGINES = ["duckdb", "duckdb_plain", pytest.param("postgres", marks=pytest.mark.skipif(not DSN, reason="needs DSN"))]
MONTH = "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"

THRESHOLDS = [0.5, 0.1, 0.3]
CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "posterior": ("p", "late", {"by": "segment", "thresholds": THRESHOLDS}),
    "weighted": ("p", "late", {"by": ["segment"], "weight": "w", "resolution": 8, "thresholds": [0.5]}),
    "by_month": (
        "p",
        "outcome",
        {"by": {"Mo nth": MONTH, 'a "b"': "segment"}, "pos_label": "it's late", "thresholds": [0.5]},
    ),
    "classes": ("p", "outcome", {"by": ["segment"], "classes": ["on\\time", "it's late"], "thresholds": [0.5]}),
    "codes": ("p", "code", {"by": "segment", "classes": [0, 1], "resolution": 5, "thresholds": [0.5]}),
    "positive_code": ("p", "code", {"pos_label": 1, "by": ["segment"], "thresholds": [0.5]}),
    "log_odds": ("x", "late", {"by": ["segment"], "score_type": "log_odds", "thresholds": [0, -1.5]}),
    "llr": ("x", "late", {"by": ["segment"], "score_type": "llr", "weight": "w", "thresholds": [2.5]}),
    "raw": ("x", "late", {"by": ["segment"], "score_type": "raw", "thresholds": [0.5]}),
    "clusters": ("p", "late", {"by": ["segment"], "cluster": "outcome || code", "buckets": 20, "thresholds": [0.5]}),
    "clusters_of_weights": (
        "x",
        "late",
        {
            "by": ["segment"],
            "cluster": "code",
            "weight": "w",
            "score_type": "log_odds",
            "resolution": 12,
            "thresholds": [0],
        },
    ),
}
KEYS = {"outcome || code": pl.col("outcome") + pl.col("code").cast(pl.String)}
COLUMNS = {"Mo nth": pl.col("ts").dt.date().dt.truncate("1mo"), 'a "b"': pl.col("segment")}
METRICS = {
    "raw": ["auc_roc", "average_precision"],
    "llr": ["auc_roc", "cllr"],
    None: ["nec", "precision", "cross_entropy", "brier", "auc_roc"],
}


def call(name: str, relation: str = "ref('scores')") -> str:
    """The macro's call."""
    score, label, options = CALLS[name]
    given = "".join(f", {option}={value!r}" for option, value in options.items())
    return f"{{{{ polars_ec.sketch({relation}, {score!r}, {label!r}{given}) }}}}"


MODELS = {
    **{name: call(name) for name in CALLS},
    # Where a sketch may stand.
    "as_view": "{{ config(materialized='view') }}\n" + call("weighted"),
    "in_parentheses": f"SELECT * FROM ({call('weighted')}) AS made",
    "in_a_with_clause": f"WITH made AS (\n{call('weighted')}\n) SELECT * FROM made",
    "unchanged": "{{ config(materialized='ephemeral') }} SELECT * FROM {{ ref('scores') }}",
    "of_ephemeral": call("weighted", "ref('unchanged')"),
    "of_text": call("weighted", "'(SELECT * FROM ' ~ ref('scores') ~ ') AS ec_rows -- all'"),
    "incremental": "{{ config(materialized='incremental') }}\n" + call("weighted")
    + "\n{% if is_incremental() %} LIMIT 0 {% endif %}",
}  # fmt: skip


@dataclass(frozen=True)
class Project:
    """A copy of the package, whose integration project has the models of this file."""

    folder: Path
    engine: str

    def dbt(self, *arguments: str) -> str:
        """What a command prints; a warning, such as that of a deprecation, is an error."""
        connection = dict(part.split("=", 1) for part in shlex.split(DSN))
        environment = {
            **os.environ,
            **{f"PG{'DATABASE' if name == 'dbname' else name.upper()}": value for name, value in connection.items()},
            "DBT_PROFILES_DIR": str(self.folder),
            "POLARS_EC_DATABASE": str(self.folder / "log.duckdb"),
            "POLARS_EC_TARGET_NAME": self.engine,
            "POLARS_EC_SCHEMA": SCHEMA,
        }
        plain = ["--vars", "{polars_ec_macros: false}"] if self.engine == "duckdb_plain" else []
        command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--warn-error", "--no-use-colors"]
        run = subprocess.run(
            [*command, *arguments, *plain],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout
        return run.stdout

    def table(self, name: str) -> pl.DataFrame:
        """What a model has become."""
        if self.engine != "postgres":
            with duckdb.connect(self.folder / "log.duckdb", read_only=True) as connection:
                return connection.sql(f'FROM main."{name}"').pl()
        import psycopg2

        with psycopg2.connect(DSN) as connection, connection.cursor() as cursor:
            cursor.execute(f'SELECT * FROM {SCHEMA}."{name}"')
            names = [column.name for column in cursor.description]
            return pl.DataFrame(cursor.fetchall(), schema=names, orient="row", infer_schema_length=None)


@pytest.fixture(scope="module", params=ENGINES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp(request.param) / "dbt"
    ignored = shutil.ignore_patterns("target", "logs", "dbt_packages", "package-lock.yml", "models")
    shutil.copytree(PACKAGE, folder, ignore=ignored)
    project = Project(folder / "integration_tests", request.param)
    (project.folder / "models").mkdir()
    seeds = project.folder / "seeds" / "seeds.yml"
    seeds.write_text(seeds.read_text("utf-8").partition("    data_tests:")[0], "utf-8")
    for name, text in MODELS.items():
        (project.folder / "models" / f"{name}.sql").write_text(text, "utf-8")
    project.dbt("deps")
    project.dbt("seed")
    project.dbt("run")
    yield project
    if request.param == "postgres":
        import psycopg2

        with psycopg2.connect(DSN) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def scores() -> pl.DataFrame:
    """The seed, as dbt reads it, with the columns that calls make."""
    text = pl.read_csv(SEED, infer_schema=False)
    log = text.with_columns(
        pl.col("ts").str.to_datetime(),
        pl.col("code").cast(pl.Int64),
        pl.col("p", "x", "d", "w").cast(pl.Float64),
        late=pl.col("late") == "true",
    )
    return log.with_columns(**COLUMNS, **KEYS)


def of_polars(name: str) -> ec.Sketch:
    score, label, options = CALLS[name]
    return scores().ec.sketch(
        score,
        label,
        **{**options, "by": list(options["by"]) if isinstance(options.get("by"), dict) else options.get("by", [])},
    )


def read(project: Project, model: str, name: str) -> ec.Sketch:
    options = CALLS[name][2]
    kept = {
        option: options[option]
        for option in ("score_type", "resolution", "thresholds", "cluster", "buckets")
        if option in options
    }
    return ec.Sketch.from_arrow(project.table(model), weighted="weight" in options, **kept)


def same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_cells_and_metrics(project: Project, name: str) -> None:
    found, wanted = read(project, name, name), of_polars(name)
    assert found.frame.height > 0
    same(found.frame, wanted.frame.select(found.frame.columns))
    metrics = METRICS.get(CALLS[name][2].get("score_type"), METRICS[None])
    threshold = max(CALLS[name][2]["thresholds"])
    values = [sketch.evaluate(*metrics, threshold=threshold) for sketch in (found, wanted)]
    same(values[0], values[1].select(values[0].columns))
    assert values[0].select(pl.col(metrics).is_not_null().any()).row(0) == (True,) * len(metrics)


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith("clusters")])
def test_intervals_by_cluster(project: Project, name: str) -> None:
    """By another hash buckets are others; there are as many rows in them."""
    found, wanted = read(project, name, name), of_polars(name)
    assert (
        found.hash
        == {"duckdb": "murmur3", "duckdb_plain": "md5 by duckdb", "postgres": "md5 by postgres"}[project.engine]
    )
    assert found.coarse is not None
    assert wanted.coarse is not None
    keys = [column for column in wanted.coarse.columns if column not in ("bucket", "n", "weight", "weight2")]
    by_cell = [frame.group_by(keys).agg(pl.col("n").sum()) for frame in (found.coarse, wanted.coarse)]
    same(by_cell[0], by_cell[1])
    if project.engine == "duckdb":
        same(found.coarse, wanted.coarse.select(found.coarse.columns))
        limits = [sketch.evaluate("nec", threshold=0.5, interval=0.9) for sketch in (found, wanted)]
        same(limits[0], limits[1].select(limits[0].columns))


def test_where_a_sketch_may_stand(project: Project) -> None:
    plain = project.table("weighted")
    assert plain.height > 0
    for name in ("as_view", "in_parentheses", "in_a_with_clause", "of_ephemeral", "of_text", "incremental"):
        same(project.table(name), plain)


def test_a_second_run_and_no_rows(project: Project) -> None:
    height = project.table("incremental").height
    project.dbt("run", "--select", "incremental", "as_view", "clusters")
    assert project.table("incremental").height == height
    # Relations are then queries of no rows.
    project.dbt("run", "--empty", "--select", "weighted", "clusters", "of_text")
    assert project.table("weighted").height == project.table("clusters").height == 0
