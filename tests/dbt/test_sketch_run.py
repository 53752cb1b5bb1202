"""Sketches that dbt makes, read by Sketch.from_arrow, are those of Polars on the same rows. Run by `make test-dbt`."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support import dbt_project
from tests.support.dbt_project import Project
from tests.support.dbt_sketches import CALLS

pytestmark = pytest.mark.dbt

KEYS = {"outcome || code": pl.col("outcome") + pl.col("code").cast(pl.String)}
COLUMNS = {"Mo nth": pl.col("ts").dt.date().dt.truncate("1mo"), 'a "b"': pl.col("segment")}
METRICS = {
    "raw": ["auc_roc", "average_precision"],
    "llr": ["auc_roc", "cllr"],
    None: ["nec", "precision", "cross_entropy", "brier", "auc_roc"],
}


def scores() -> pl.DataFrame:
    """The seed, with the columns that calls make."""
    return dbt_project.scores().with_columns(**COLUMNS, **KEYS)


def of_polars(name: str) -> ec.Sketch:
    score, label, options = CALLS[name]
    return scores().ec.sketch(
        score,
        label,
        **{**options, "by": list(options["by"]) if isinstance(options.get("by"), dict) else options.get("by", [])},
    )


def read(project: Project, name: str) -> ec.Sketch:
    options = CALLS[name][2]
    kept = {
        option: options[option]
        for option in ("score_type", "resolution", "thresholds", "cluster", "buckets")
        if option in options
    }
    return ec.Sketch.from_arrow(project.table(f"sketch_{name}"), weighted="weight" in options, **kept)


def same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    assert_frame_equal(found, wanted, check_row_order=False, check_dtypes=False, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_cells_and_metrics(project: Project, name: str) -> None:
    found, wanted = read(project, name), of_polars(name)
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
    found, wanted = read(project, name), of_polars(name)
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
    plain = project.table("sketch_weighted")
    assert plain.height > 0
    for name in ("as_view", "in_parentheses", "in_a_with_clause", "of_ephemeral", "of_text", "incremental"):
        same(project.table(f"sketch_{name}"), plain)


def test_a_second_run_and_no_rows(project: Project) -> None:
    height = project.table("sketch_incremental").height
    project.done("run", "--select", "sketch_incremental", "sketch_as_view", "sketch_clusters")
    assert project.table("sketch_incremental").height == height
    # Relations are then queries of no rows.
    emptied = ["sketch_weighted", "sketch_clusters", "sketch_of_text"]
    project.done("run", "--empty", "--select", *emptied)
    assert project.table("sketch_weighted").height == project.table("sketch_clusters").height == 0
    project.done("run", "--select", *emptied)
