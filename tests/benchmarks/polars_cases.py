"""Cases of binary logs in Polars: the floors, and polars_ec. Each function makes ready what is not measured."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.case import COST_FN, N_FOLDS, PRIOR, THRESHOLD, Query, Values

if TYPE_CHECKING:
    import polars as pl


def floor(paths: list[str], score: str = "score", by_month: bool = False) -> Query:
    """The least that any metric per segment (and month) costs: read the columns, hash the keys, add up."""
    import polars as pl

    column = pl.col(score) if score == "score" else pl.col(score).arr.get(0)
    sums = [
        pl.len().cast(pl.Int64).alias("rows"),
        column.sum().alias("sum_score"),
        pl.col("label").sum().alias("sum_label"),
    ]

    def query() -> pl.DataFrame | Values:
        made = pl.scan_parquet(paths).group_by(_keys(by_month)).agg(sums).sort("segment").collect(engine="streaming")
        if not by_month:
            return made
        return lambda: made.group_by("segment", maintain_order=True).agg(pl.exclude("month").sum())

    return query


def _keys(by_month: bool) -> list[Any]:
    import polars as pl

    return ["segment", *([pl.col("ts").dt.truncate("1mo").alias("month")] if by_month else [])]


def cells(paths: list[str]) -> Query:
    """The least that any sketch of 64 bins a nat costs: compute the bin, hash segment, class and bin, count."""
    import polars as pl

    score = pl.col("score")
    log_odds = score.log() - (1 - score).log()

    def query() -> Values:
        # The cell as one key, which is faster than two.
        cell = (log_odds * 64).floor().cast(pl.Int64) * 2 + pl.col("label").cast(pl.Int64)
        log = pl.scan_parquet(paths).select("segment", cell=cell)
        counted = log.group_by("segment", "cell").agg(pl.len().cast(pl.Int64).alias("n")).collect(engine="streaming")
        return lambda: counted.group_by("segment").agg(pl.col("n").sum()).sort("segment")

    return query


def report(paths: list[str], n_rows: int | None = None) -> Query:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    return lambda: (
        pl.scan_parquet(paths, n_rows=n_rows)
        .ec.report("score", "label", by="segment", cost_fn=COST_FN, prior=PRIOR)
        .collect(engine="streaming")
    )


def ten_metrics(paths: list[str]) -> Query:
    import polars as pl

    import polars_ec as ec

    decided = [ec.nec, ec.precision, ec.recall, ec.f1, ec.mcc, ec.expected_cost]
    scored = [ec.nce, ec.nbs, ec.brier, ec.cross_entropy]
    return lambda: per_segment(
        pl.scan_parquet(paths),
        [metric("score", "label", cost_fn=COST_FN).alias(metric.__name__) for metric in decided]
        + [metric("score", "label").alias(metric.__name__) for metric in scored],
    )


def per_segment(log: pl.LazyFrame, metrics: list[pl.Expr]) -> pl.DataFrame:
    return log.group_by("segment").agg(metrics).sort("segment").collect(engine="streaming")


def sketch(
    paths: list[str],
    by_month: bool = False,
    resolution: int = 64,
    models: int = 1,
    folds: bool = False,
    weight: str | None = None,
    thresholds: tuple[float, ...] = (),
    evaluated: bool = False,
) -> Query:
    """The sketch per segment (and more). Its values, those of the segments, are measured where it is `evaluated`.

    The models are the same scores over again, of which the first is evaluated.
    """
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    split: dict[str, Any] = {"folds": N_FOLDS, "fold_by": row_key()} if folds else {}

    def query() -> pl.DataFrame | Values:
        scores = ["score", *(pl.col("score").alias(f"model {m}") for m in range(1, models))]
        made = pl.scan_parquet(paths).ec.sketch(
            scores,
            "label",
            by=_keys(by_month),
            cost_fn=COST_FN,
            resolution=resolution,
            thresholds=thresholds,
            weight=weight,
            **split,
        )

        def values() -> pl.DataFrame:
            rolled = made.filter(pl.col("score") == "score") if models > 1 else made
            table = rolled.group_by("segment").evaluate("cross_entropy", "brier", "recall", "auc_roc", cost_fn=COST_FN)
            # What a bound is of, no other case has.
            bounded = {name: f"{name}_at_{resolution}" for name in ("auc_roc", "auc_roc_error")}
            return table.rename(bounded).drop("class_prior")

        return values() if evaluated else values

    return query


def calibration_loss(paths: list[str], n_rows: int | None = None, resolution: int = 64) -> Query:
    """RCL of every segment by affine calibration and 5 folds, from the log to the table."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    def query() -> pl.DataFrame:
        made = pl.scan_parquet(paths, n_rows=n_rows).ec.calibration_loss(
            "score", "label", by="segment", folds=N_FOLDS, fold_by=row_key(), resolution=resolution
        )
        return made.select("segment", pl.col("rcl").alias(f"rcl_at_{resolution}"))

    return query


def applied(paths: list[str]) -> Query:
    """The calibrated posteriors of all rows, added up; the calibration is made of a part of the log before."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    calibration = pl.scan_parquet(paths[0]).ec.sketch("score", "label", by="segment", resolution=8).calibrate()
    moved = calibration.apply("score").alias("moved")
    return lambda: per_segment(pl.scan_parquet(paths).select("segment", moved), [pl.col("moved").sum()])


def row_key() -> pl.Expr:
    import polars as pl

    return pl.col("ts").cast(pl.Int64)


def exact_auc(paths: list[str], others: bool = False) -> Query:
    import polars as pl

    import polars_ec as ec

    plain = [ec.auc_roc]
    if others:
        plain += [ec.average_precision, ec.auprg, ec.ks, ec.eer, ec.min_cllr, ec.specificity_at_sensitivity]
    metrics = [metric("score", "label").alias(metric.__name__) for metric in plain]
    if others:
        metrics.append(ec.min_dcf("score", "label", prior=0.1).alias("min_dcf"))
    return lambda: per_segment(pl.scan_parquet(paths), metrics)


def folder_of_sketches(paths: list[str]) -> Query:
    """The command's report by segment and month on ten sketches by segment and hour, of a tenth of the rows each."""
    import polars as pl

    scratch = tempfile.TemporaryDirectory(dir=Path(paths[0]).parent.parent)
    # In a process of its own, whose memory is not that of the report.
    command = [sys.executable, "-m", "tests.benchmarks.sketch_folder", scratch.name, *paths]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def query() -> Values:
        from tests.benchmarks.sketch_folder import command_line

        sketches, out = (str(Path(scratch.name) / name) for name in ("sketches", "report.parquet"))
        command_line("report", sketches, "--by", "segment", "--by", "month", "--every", "1mo", "--out", out, "--quiet")
        return lambda: pl.read_parquet(out).group_by("segment").agg(pl.col("n").sum()).sort("segment")

    return query


THRESHOLDS = (0.05, THRESHOLD, 0.5)
