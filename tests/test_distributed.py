"""Plans that Polars distributes. That of a report holds no Python function; for all others workers need this package."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from polars._utils.cloud import prepare_cloud_plan

import polars_ec as ec

SCHEMA = {
    "p": pl.Float64,
    "q": pl.Float64,
    "y": pl.Boolean,
    "segment": pl.String,
    "v": pl.Array(pl.Float64, 3),
    "k": pl.Int64,
    "w": pl.Float64,
}
LOG = pl.LazyFrame(schema=SCHEMA)
OPTIONS = {"by": "segment", "cost_fn": 5}

WITHOUT_PYTHON: dict[str, Callable[[], pl.LazyFrame]] = {
    "report": lambda: ec.report(LOG, "p", "y", **OPTIONS),
    "report at a prior": lambda: ec.report(LOG, "p", "y", prior=0.1, weight="w", threshold=0.3, total=True, **OPTIONS),
}
WITH_PYTHON: dict[str, Callable[[], pl.LazyFrame]] = {
    "metrics": lambda: LOG.group_by("segment").agg(ec.nec("p", "y", cost_fn=5), ec.nce("p", "y").alias("nce")),
    "rows": lambda: LOG.select(ec.row_cost("p", "y", cost_fn=5), ec.bayes_decision("p").alias("decision")),
    "three classes": lambda: ec.report(LOG, "v", "k", by="segment"),
    "intervals": lambda: ec.report(LOG, "p", "y", interval=0.95, **OPTIONS),
    "compare": lambda: ec.compare(LOG, ["p", "q"], "y", metrics=["nec"], **OPTIONS),
    "ranking": lambda: LOG.group_by("segment").agg(ec.auc_roc("p", "y")),
}


def written(plan: pl.LazyFrame) -> pl.LazyFrame:
    """The plan of a query whose result goes to an object store, as one that is distributed must."""
    return plan.sink_parquet("s3://bucket/result.parquet", lazy=True)


@pytest.mark.parametrize("plan", WITHOUT_PYTHON)
def test_plans_without_python(plan: str) -> None:
    serialized, _ = prepare_cloud_plan(written(WITHOUT_PYTHON[plan]()))
    assert b"polars_ec" not in serialized
    assert b"python" not in serialized.lower()


@pytest.mark.parametrize("plan", WITH_PYTHON)
def test_workers_need_the_package(plan: str) -> None:
    """Polars pickles a function of a module by the module's name."""
    serialized, _ = prepare_cloud_plan(written(WITH_PYTHON[plan]()))
    assert b"polars_ec" in serialized
