"""Polars with polars_ec: metrics as expressions, intervals in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.benchmarks.task import COST_FN, LEVEL, Columns, Log, Query

if TYPE_CHECKING:
    import polars as pl

TITLE = "polars_ec, Polars"
PACKAGE = "polars_ec"
INSTALL = (".",)
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc", "intervals")
IN_MEMORY = ("auc",)


def metrics(log: Log) -> Query:
    import polars_ec as ec

    losses = [ec.cross_entropy(log.score, "label").alias("log_loss"), ec.brier(log.score, "label").alias("brier")]
    if log.n_classes > 2:
        decided = [ec.expected_cost(log.score, "label"), ec.macro_f1(log.score, "label").alias("f1")]
        return _per_segment(log, [decided[0].alias("expected_cost"), decided[1], *losses])
    cost = ec.expected_cost("score", "label", cost_fn=COST_FN).alias("expected_cost")
    f1 = ec.f1("score", "label", cost_fn=COST_FN).alias("f1")
    counts = [ec.confusion("score", "label", cost_fn=COST_FN).struct.field("tn", "fp", "fn", "tp")]
    return _per_segment(log, [*counts, cost, f1, *losses])


def auc(log: Log) -> Query:
    import polars_ec as ec

    area = ec.auc_roc if log.n_classes == 2 else ec.macro_auc_roc
    return _per_segment(log, [area(log.score, "label").alias("auc")])


def intervals(log: Log) -> Query:
    import polars as pl

    import polars_ec as ec

    metric = "f1" if log.n_classes == 2 else "expected_cost"
    costs = {"cost_fn": COST_FN} if log.n_classes == 2 else {}

    def query() -> Columns:
        rows = pl.scan_parquet(log.files)
        report = ec.report(rows, log.score, "label", by="segment", metrics=[metric], interval=LEVEL, **costs)
        bounds = {f"{metric}_{end}": f"{metric}_ci_{end}" for end in ("low", "high")}
        return report.select("segment", **bounds).collect(engine="streaming").to_dict(as_series=False)

    return query


def _per_segment(log: Log, metrics: list[pl.Expr]) -> Query:
    import polars as pl

    plan = pl.scan_parquet(log.files).group_by("segment").agg(metrics)
    return lambda: plan.collect(engine="streaming").to_dict(as_series=False)
