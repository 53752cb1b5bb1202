"""The cases: what is measured, one small function each.

A function gets the files of its log and prepares what is not measured (imports, connections, macros); what it returns is
the query, which is. Every query gives a frame sorted by segment whose columns are called as in the report, so that
`summary` can compare the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks import queries
from tests.benchmarks.layout import N_PARTS

if TYPE_CHECKING:
    import polars as pl

COST_FN = 5
PRIOR = 0.1
# Bayes decisions for the costs: positive when the posterior is above this.
THRESHOLD = 1 / (1 + COST_FN)
SAMPLE_ROWS = 500_000

Query = Callable[[], "pl.DataFrame"]


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    what: str
    prepare: Callable[[list[str]], Query]
    log: str = "binary"
    # The case that this one's time and memory are compared with.
    floor: str = "a"
    # How many files are read; more than the log has: it is read again from the start.
    parts: int = N_PARTS
    sample: bool = False

    def rows(self, rows_of_log: int) -> int:
        """How many rows the case reads of a log of this many."""
        read = rows_of_log * self.parts // N_PARTS
        return min(read, SAMPLE_ROWS) if self.sample else read

    def files(self, log: list[str]) -> list[str]:
        """The files it reads of a log."""
        return [log[part % N_PARTS] for part in range(self.parts)]

    @property
    def same_rows(self) -> tuple[str, int, bool]:
        """Equal for cases that read the same rows, whose values must agree."""
        return self.log, self.parts, self.sample


# Polars ---------------------------------------------------------------------------------------------------------------


def floor(paths: list[str], score: str = "score", by_month: bool = False) -> Query:
    """The least that any metric per segment (and month) costs: read the columns, hash the keys, add up."""
    import polars as pl

    keys = ["segment", *([pl.col("ts").dt.truncate("1mo").alias("month")] if by_month else [])]
    column = pl.col(score) if score == "score" else pl.col(score).arr.get(0)
    sums = [
        pl.len().cast(pl.Int64).alias("n"),
        column.sum().alias("sum_score"),
        pl.col("label").sum().alias("sum_label"),
    ]

    def query() -> pl.DataFrame:
        table = pl.scan_parquet(paths).group_by(keys).agg(sums).sort("segment").collect(engine="streaming")
        return table.group_by("segment", maintain_order=True).agg(pl.exclude("month").sum()) if by_month else table

    return query


def cells(paths: list[str]) -> Query:
    """The least that any sketch of 64 bins a nat costs: compute the bin, hash segment, class and bin, count."""
    import polars as pl

    score = pl.col("score")
    log_odds = score.log() - (1 - score).log()

    def query() -> pl.DataFrame:
        # The cell as one key, which is faster than two.
        cell = (log_odds * 64).floor().cast(pl.Int64) * 2 + pl.col("label").cast(pl.Int64)
        log = pl.scan_parquet(paths).select("segment", cell=cell)
        counted = log.group_by("segment", "cell").agg(pl.len().cast(pl.Int64).alias("n")).collect(engine="streaming")
        return counted.group_by("segment").agg(pl.col("n").sum()).sort("segment")

    return query


def report(paths: list[str], n_rows: int | None = None) -> Query:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    return lambda: (
        pl.scan_parquet(paths, n_rows=n_rows)
        .ec.report("score", "label", by="segment", cost_fn=COST_FN, prior=PRIOR)
        .collect(engine="streaming")
    )


def classes_report(paths: list[str]) -> Query:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    return lambda: (
        pl.scan_parquet(paths)
        .ec.report("posteriors", "label", by="segment", prior="uniform")
        .collect(engine="streaming")
    )


def ten_metrics(paths: list[str]) -> Query:
    import polars as pl

    import polars_ec as ec

    decided = [ec.nec, ec.precision, ec.recall, ec.f1, ec.mcc, ec.expected_cost]
    scored = [ec.nce, ec.nbs, ec.brier, ec.cross_entropy]
    return lambda: _per_segment(
        pl.scan_parquet(paths),
        [metric("score", "label", cost_fn=COST_FN).alias(metric.__name__) for metric in decided]
        + [metric("score", "label").alias(metric.__name__) for metric in scored],
    )


def three_classes_metrics(paths: list[str]) -> Query:
    import polars as pl

    import polars_ec as ec

    metrics = [ec.nec, ec.nce, ec.nbs]
    return lambda: _per_segment(
        pl.scan_parquet(paths), [metric("posteriors", "label").alias(metric.__name__) for metric in metrics]
    )


def _per_segment(log: pl.LazyFrame, metrics: list[pl.Expr]) -> pl.DataFrame:
    return log.group_by("segment").agg(metrics).sort("segment").collect(engine="streaming")


def sketch(paths: list[str], by_month: bool = False, resolution: int = 64, models: int = 1) -> Query:
    """The sketch per segment (and more), rolled up to segments, with AUC to within its bound.

    The models are the same scores over again, of which the first is evaluated.
    """
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    keys = ["segment", *([pl.col("ts").dt.truncate("1mo").alias("month")] if by_month else [])]

    def query() -> pl.DataFrame:
        scores = ["score", *(pl.col("score").alias(f"model {m}") for m in range(1, models))]
        made = pl.scan_parquet(paths).ec.sketch(scores, "label", by=keys, cost_fn=COST_FN, resolution=resolution)
        if models > 1:
            made = made.filter(pl.col("score") == "score").group_by("segment")
        rolled = made.group_by("segment") if by_month else made
        table = rolled.evaluate("cross_entropy", "brier", "recall", "auc_roc", cost_fn=COST_FN)
        # What a bound is of, no other case has.
        bounded = {name: f"{name}_at_{resolution}" for name in ("auc_roc", "auc_roc_error")}
        return table.rename(bounded).drop("class_prior")

    return query


def calibration_loss(paths: list[str], n_rows: int | None = None, resolution: int = 64) -> Query:
    """RCL of every segment by affine calibration and 5 folds, from the log to the table."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    def query() -> pl.DataFrame:
        made = pl.scan_parquet(paths, n_rows=n_rows).ec.calibration_loss(
            "score", "label", by="segment", folds=5, fold_by=_row_key(), resolution=resolution
        )
        return made.select("segment", pl.col("rcl").alias(f"rcl_at_{resolution}"))

    return query


def _row_key() -> pl.Expr:
    import polars as pl

    return pl.col("ts").cast(pl.Int64)


# DuckDB ---------------------------------------------------------------------------------------------------------------


def duckdb_query(paths: list[str], sql: str, macros: bool = False) -> Query:
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    if macros:
        import polars_ec as ec

        ec.register(connection)
    query = sql.format(log=f"read_parquet({paths})", threshold=THRESHOLD)

    def run() -> pl.DataFrame:
        # Not a relation, which would plan the query twice: first for the columns' types.
        answer = connection.execute(query)
        return pl.DataFrame(answer.fetchall(), schema=[column[0] for column in answer.description], orient="row")

    return run


# Other libraries ------------------------------------------------------------------------------------------------------


def with_polarbearings(paths: list[str]) -> Query:
    import polarbearings as pb
    import polars as pl

    # It decides >= threshold, polars_ec decides > threshold: the next number makes them the same.
    threshold = math.nextafter(THRESHOLD, 1)
    decided = {"precision": pb.precision, "recall": pb.recall, "f1": pb.f1_score, "mcc": pb.matthews_corrcoef}
    scored = {"cross_entropy": pb.log_loss, "brier": pb.brier_score}
    metrics = [f("label", "score", threshold=threshold, pos_label=True).alias(name) for name, f in decided.items()]
    metrics += [f("label", "score", pos_label=True).alias(name) for name, f in scored.items()]
    cells = pb.confusion_matrix("label", "score", threshold=threshold, pos_label=True).alias("cells")
    return lambda: _per_segment(pl.scan_parquet(paths), [*metrics, cells]).unnest("cells").drop("threshold")


def with_polars_ds(paths: list[str]) -> Query:
    import polars as pl
    import polars_ds as pds

    # AUC and average precision come along and cannot be left out; query_confusion_matrix does not run in a group_by of
    # this Polars (it panics on the dtypes of its fields).
    metrics = [
        pds.query_binary_metrics("label", "score", threshold=THRESHOLD).alias("ranked"),
        pds.query_mcc(pl.col("label").cast(pl.UInt32), (pl.col("score") > THRESHOLD).cast(pl.UInt32)).alias("mcc"),
        pds.query_log_loss("label", "score").alias("cross_entropy"),
        pds.query_l2(pl.col("label").cast(pl.Float64), "score").alias("brier"),
    ]
    kept = ["segment", "precision", "recall", "f1", "mcc", "cross_entropy", "brier"]
    return lambda: _per_segment(pl.scan_parquet(paths), metrics).unnest("ranked").rename({"f": "f1"}).select(kept)


def with_scikit_learn(paths: list[str]) -> Query:
    import polars as pl
    from sklearn import metrics

    def per_segment(segment: str, rows: pl.DataFrame) -> dict[str, object]:
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        decision = score > THRESHOLD
        tn, fp, fn, tp = metrics.confusion_matrix(label, decision).ravel().tolist()
        return {
            "segment": segment,
            "tn": tn,
            "fp": fp,
            "fn": fn,
            "tp": tp,
            "precision": metrics.precision_score(label, decision),
            "recall": metrics.recall_score(label, decision),
            "f1": metrics.f1_score(label, decision),
            "cross_entropy": metrics.log_loss(label, score),
            "brier": metrics.brier_score_loss(label, score),
        }

    def query() -> pl.DataFrame:
        sample = pl.scan_parquet(paths, n_rows=SAMPLE_ROWS).select("segment", "label", "score").collect()
        groups = sample.partition_by("segment", as_dict=True)
        return pl.DataFrame([per_segment(segment, rows) for (segment,), rows in sorted(groups.items())])

    return query


def exact_auc_by_polarbearings(paths: list[str]) -> Query:
    import polarbearings as pb
    import polars as pl

    return lambda: _per_segment(pl.scan_parquet(paths), [pb.roc_auc("label", "score", pos_label=True).alias("auc_roc")])


def exact_auc_by_polars_ds(paths: list[str]) -> Query:
    import polars as pl
    import polars_ds as pds

    return lambda: _per_segment(pl.scan_parquet(paths), [pds.query_roc_auc("label", "score").alias("auc_roc")])


def exact_auc_by_scikit_learn(paths: list[str]) -> Query:
    import polars as pl
    from sklearn.metrics import roc_auc_score

    def query() -> pl.DataFrame:
        sample = pl.scan_parquet(paths, n_rows=SAMPLE_ROWS).select("segment", "label", "score").collect()
        groups = sorted(sample.partition_by("segment", as_dict=True).items())
        values = [roc_auc_score(rows["label"], rows["score"]) for _, rows in groups]
        return pl.DataFrame({"segment": [segment for (segment,), _ in groups], "auc_roc": values})

    return query


def calibration_loss_by_psrcal(paths: list[str]) -> Query:
    import numpy as np
    import polars as pl
    import torch
    from psrcal.calibration import AffineCalLogLoss, calibrate

    import polars_ec

    def rcl(rows: pl.DataFrame) -> float:
        posterior = rows["score"].to_numpy()
        logs, label = np.log(np.stack([1 - posterior, posterior], axis=1)), rows["label"].to_numpy().astype(int)
        fold, calibrated = rows["fold"].to_numpy(), np.empty_like(logs)
        for k in range(5):
            kept = torch.from_numpy(logs[fold != k]), torch.from_numpy(label[fold != k])
            moved, _ = calibrate(*kept, torch.from_numpy(logs[fold == k]), AffineCalLogLoss)
            calibrated[fold == k] = moved.detach().numpy()
        of_class = np.arange(len(label)), label
        return 100 * (1 - calibrated[of_class].mean() / logs[of_class].mean())

    def query() -> pl.DataFrame:
        log = pl.scan_parquet(paths, n_rows=SAMPLE_ROWS)
        sample = log.select("segment", "label", "score", polars_ec.fold(_row_key())).collect()
        groups = sorted(sample.partition_by("segment", as_dict=True).items())
        # It stops at a gradient that ours does not stop at: its values are its own.
        return pl.DataFrame({"segment": [s for (s,), _ in groups], "rcl_of_psrcal": [rcl(rows) for _, rows in groups]})

    return query


# The table ------------------------------------------------------------------------------------------------------------

CASES = [
    Case("a", "Polars: bare group_by(segment).agg(len, sum, sum)", floor),
    Case("b", "polars_ec: the report", report),
    Case("b/2", "polars_ec: the report on half of the rows", report, parts=N_PARTS // 2),
    Case("b/4", "polars_ec: the report on a quarter of the rows", report, parts=N_PARTS // 4),
    # The log over and over: whether memory levels off, beyond the length of the log itself.
    Case("b*4", "polars_ec: the report on the log read four times", report, parts=4 * N_PARTS),
    Case("a/4", "Polars: the bare group_by on a quarter of the rows", floor, parts=N_PARTS // 4),
    Case("a-m", "Polars: bare group_by(segment, month)", partial(floor, by_month=True)),
    Case("a-c", "Polars: bare group_by(segment, class, bin).agg(len)", cells),
    Case("c", "polars_ec: ten metrics as expressions in one agg", ten_metrics),
    Case("d0", "DuckDB: bare count, sum, sum", partial(duckdb_query, sql=queries.FLOOR)),
    Case("d1", "DuckDB: the report's columns by macros", partial(duckdb_query, sql=queries.MACROS, macros=True)),
    Case("d2", "DuckDB: the same by hand, by class first", partial(duckdb_query, sql=queries.HAND_WRITTEN)),
    Case("d3", "DuckDB: naive SQL without data rules", partial(duckdb_query, sql=queries.NAIVE)),
    Case("d4", "DuckDB: the same by hand, one GROUP BY", partial(duckdb_query, sql=queries.DIRECT)),
    Case("e", "polarbearings: confusion, P, R, F1, MCC, log loss, Brier", with_polarbearings),
    Case("f", "polars-ds: P, R, F1 (with AUC), MCC, log loss, Brier", with_polars_ds),
    Case("g", "scikit-learn per segment, on a sample", with_scikit_learn, sample=True),
    Case("g-b", "polars_ec: the report on that sample", partial(report, n_rows=SAMPLE_ROWS), sample=True),
    Case("s", "polars_ec: the sketch by segment, and AUC within a bound", sketch),
    Case("s-m", "polars_ec: the sketch by segment and month, rolled up", partial(sketch, by_month=True)),
    Case("s2", "polars_ec: the sketch of two models by segment", partial(sketch, models=2)),
    Case("s8", "polars_ec: the sketch by segment, resolution 8", partial(sketch, resolution=8)),
    Case("s*10", "polars_ec: the sketch by segment, the log ten times", sketch, parts=10 * N_PARTS),
    Case("s-e", "polarbearings: exact AUC", exact_auc_by_polarbearings),
    Case("s-f", "polars-ds: exact AUC", exact_auc_by_polars_ds),
    Case("s-d", "DuckDB: exact AUC by windows", partial(duckdb_query, sql=queries.EXACT_AUC)),
    Case("s-g", "scikit-learn per segment: exact AUC, on a sample", exact_auc_by_scikit_learn, sample=True),
    Case("r", "polars_ec: RCL per segment, affine, 5 folds", calibration_loss),
    Case("r16", "polars_ec: the same at resolution 16", partial(calibration_loss, resolution=16)),
    Case("r-b", "polars_ec: the same on a sample", partial(calibration_loss, n_rows=SAMPLE_ROWS), sample=True),
    Case("r-p", "psrcal per segment: the same, on that sample", calibration_loss_by_psrcal, sample=True),
    Case("k-a", "K = 10, Polars: bare group_by", partial(floor, score="posteriors"), "classes", "k-a"),
    Case("k-b", "K = 10, polars_ec: the report", classes_report, "classes", "k-a"),
    Case("k-c", "K = 10, polars_ec: NEC, NCE, NBS as expressions", three_classes_metrics, "classes", "k-a"),
    Case(
        "k-d",
        "K = 10, DuckDB: NEC, NCE, NBS by macros",
        partial(duckdb_query, sql=queries.CLASSES_MACROS, macros=True),
        "classes",
        "k-a",
    ),
]
