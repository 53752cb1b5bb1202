"""polarbearings: Polars expressions; intervals by its bootstrap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from examples.benchmarks.task import COST_FN, LEVEL, RESAMPLES, THRESHOLD, Columns, Log, Query

if TYPE_CHECKING:
    import polars as pl

TITLE = "polarbearings"
PACKAGE = "polarbearings"
INSTALL = ("polarbearings",)
TWO_CLASSES = ("metrics", "auc", "intervals")
MANY_CLASSES = ()
IN_MEMORY = ("metrics", "auc", "intervals")

# It decides >= threshold: the next number makes that >.
ABOVE = math.nextafter(THRESHOLD, 1)


def metrics(log: Log) -> Query:
    import polarbearings as pb
    import polars as pl

    cells = pb.confusion_matrix("label", "score", threshold=ABOVE).alias("cells")
    f1 = pb.f1_score("label", "score", threshold=ABOVE).alias("f1")
    losses = [pb.log_loss("label", "score").alias("log_loss"), pb.brier_score("label", "score").alias("brier")]
    cost = (COST_FN * pl.col("fn") + pl.col("fp")) / pl.sum_horizontal("tn", "fp", "fn", "tp")
    plan = _per_segment(log, [cells, f1, *losses]).unnest("cells").with_columns(expected_cost=cost)
    return lambda: plan.drop("threshold").collect(engine="streaming").to_dict(as_series=False)


def auc(log: Log) -> Query:
    import polarbearings as pb

    plan = _per_segment(log, [pb.roc_auc("label", "score").alias("auc")])
    return lambda: plan.collect(engine="streaming").to_dict(as_series=False)


def intervals(log: Log) -> Query:
    import polarbearings as pb
    import polars as pl

    settings = {"by": "segment", "n_resamples": RESAMPLES, "level": LEVEL, "threshold": ABOVE}

    def query() -> Columns:
        bounds = pb.bootstrap_ci(pl.scan_parquet(log.files), pb.f1_score, "label", "score", **settings)
        return bounds.select("segment", f1_low="low", f1_high="high").to_dict(as_series=False)

    return query


def _per_segment(log: Log, metrics: list[pl.Expr]) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(log.files).group_by("segment").agg(metrics)
