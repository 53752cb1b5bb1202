"""polars-ds: Polars expressions. Counts are sums of plain Polars, because its confusion matrix is none in a group-by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.benchmarks.task import COST_FN, THRESHOLD, Log, Query

if TYPE_CHECKING:
    import polars as pl

TITLE = "polars-ds"
PACKAGE = "polars-ds"
INSTALL = ("polars-ds", "pyarrow")
TWO_CLASSES = ("metrics", "auc")
MANY_CLASSES = ("auc",)
IN_MEMORY = ("metrics", "auc", "intervals")


def metrics(log: Log) -> Query:
    import polars as pl
    import polars_ds as pds

    positive, above = pl.col("label") == 1, pl.col("score") > THRESHOLD
    cells = {"tn": ~positive & ~above, "fp": ~positive & above, "fn": positive & ~above, "tp": positive & above}
    counts = {name: cell.cast(pl.Int64).sum() for name, cell in cells.items()}
    cost = (COST_FN * counts["fn"] + counts["fp"]) / pl.len()
    ranked = pds.query_binary_metrics("label", "score", threshold=THRESHOLD)
    losses = [
        pds.query_log_loss("label", "score").alias("log_loss"),
        pds.query_l2(pl.col("label").cast(pl.Float64), "score").alias("brier"),
    ]
    named = [count.alias(name) for name, count in counts.items()]
    return _per_segment(log, [*named, cost.alias("expected_cost"), ranked.struct.field("f").alias("f1"), *losses])


def auc(log: Log) -> Query:
    import polars as pl
    import polars_ds as pds

    if log.n_classes == 2:
        area = pds.query_roc_auc("label", "score")
    else:
        lists = pl.col("posteriors").arr.to_list()
        area = pds.query_multi_roc_auc(pl.col("label").cast(pl.UInt32), lists, log.n_classes, "macro")
    return _per_segment(log, [area.alias("auc")])


def _per_segment(log: Log, metrics: list[pl.Expr]) -> Query:
    import polars as pl

    plan = pl.scan_parquet(log.files).group_by("segment").agg(metrics)
    return lambda: plan.collect(engine="streaming").to_dict(as_series=False)
