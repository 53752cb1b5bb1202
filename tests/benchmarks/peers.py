"""Cases of other libraries, of the same metrics or nearly so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.benchmarks.case import N_FOLDS, SAMPLE_ROWS, THRESHOLD, Query
from tests.benchmarks.polars_cases import per_segment, row_key

if TYPE_CHECKING:
    import polars as pl


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
    return lambda: per_segment(pl.scan_parquet(paths), [*metrics, cells]).unnest("cells").drop("threshold")


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
    return lambda: per_segment(pl.scan_parquet(paths), metrics).unnest("ranked").rename({"f": "f1"}).select(kept)


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

    return lambda: per_segment(pl.scan_parquet(paths), [pb.roc_auc("label", "score", pos_label=True).alias("auc_roc")])


def exact_auc_by_polars_ds(paths: list[str]) -> Query:
    import polars as pl
    import polars_ds as pds

    return lambda: per_segment(pl.scan_parquet(paths), [pds.query_roc_auc("label", "score").alias("auc_roc")])


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
        for k in range(N_FOLDS):
            kept = torch.from_numpy(logs[fold != k]), torch.from_numpy(label[fold != k])
            moved, _ = calibrate(*kept, torch.from_numpy(logs[fold == k]), AffineCalLogLoss)
            calibrated[fold == k] = moved.detach().numpy()
        of_class = np.arange(len(label)), label
        return 100 * (1 - calibrated[of_class].mean() / logs[of_class].mean())

    def query() -> pl.DataFrame:
        log = pl.scan_parquet(paths, n_rows=SAMPLE_ROWS)
        sample = log.select("segment", "label", "score", polars_ec.fold(row_key())).collect()
        groups = sorted(sample.partition_by("segment", as_dict=True).items())
        # It stops at a gradient that ours does not stop at: its values are its own.
        return pl.DataFrame({"segment": [s for (s,), _ in groups], "rcl_of_psrcal": [rcl(rows) for _, rows in groups]})

    return query
