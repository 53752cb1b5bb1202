"""Sketches of polars_ec: one small table of bins that all metrics come from. AUC is within a bound of the exact one."""

from __future__ import annotations

from examples.benchmarks.task import COST_FN, LEVEL, THRESHOLD, Columns, Log, Query

TITLE = "polars_ec, sketch"
PACKAGE = "polars_ec"
INSTALL = (".",)
TWO_CLASSES = ("metrics", "auc", "intervals")
MANY_CLASSES = ("auc",)
IN_MEMORY = ()


def metrics(log: Log) -> Query:
    columns = {"expected_cost": "expected_cost", "f1": "f1", "log_loss": "cross_entropy", "brier": "brier"}
    return _of_sketch(log, {"tn": "tn", "fp": "fp", "fn": "fn", "tp": "tp", **columns})


def auc(log: Log) -> Query:
    import polars as pl

    import polars_ec as ec

    if log.n_classes == 2:
        return _of_sketch(log, {"auc": "auc_roc"})

    def query() -> Columns:
        sketch = ec.sketch(pl.scan_parquet(log.files), "posteriors", "label", by="segment")
        return sketch.mean_over_targets("auc_roc").select("segment", auc="auc_roc").to_dict(as_series=False)

    return query


def intervals(log: Log) -> Query:
    return _of_sketch(log, {"f1_low": "f1_ci_low", "f1_high": "f1_ci_high"}, interval=LEVEL)


def _of_sketch(log: Log, columns: dict[str, str], interval: float | None = None) -> Query:
    import polars as pl

    import polars_ec as ec

    def query() -> Columns:
        rows = pl.scan_parquet(log.files)
        sketch = ec.sketch(rows, "score", "label", by="segment", cost_fn=COST_FN, thresholds=[THRESHOLD])
        names = ["confusion", "expected_cost", "f1", "cross_entropy", "brier"] if "f1" in columns else ["auc_roc"]
        names = ["f1"] if interval else names
        return sketch.evaluate(*names, interval=interval).select("segment", **columns).to_dict(as_series=False)

    return query
