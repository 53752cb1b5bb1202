"""Cases of intervals and comparisons: of independent rows, and of clusters by keys of several kinds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.benchmarks.case import COST_FN, N_FOLDS, PRIOR, Query, Values

if TYPE_CHECKING:
    import polars as pl

    import polars_ec as ec

LEVEL, N_BUCKETS = 0.95, 100
RANKING = ("auc_roc", "average_precision", "eer", "min_dcf")
# What intervals add to a report; it differs with what is correlated.
_OF_INTERVALS = re.compile("_ci_|_kinked$")


def report(paths: list[str], by: str = "segment", cluster: str | None = None, interval: bool = True) -> Query:
    """The report with intervals, or without."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    asked: dict[str, Any] = {"interval": LEVEL, "cluster": cluster, "buckets": N_BUCKETS} if interval else {}

    def query() -> Values:
        log = pl.scan_parquet(paths).ec.report("score", "label", by=by, cost_fn=COST_FN, prior=PRIOR, **asked)
        table = log.collect(engine="streaming")
        return lambda: comparable(table, by, cluster)

    return query


def comparable(table: pl.DataFrame, by: str, cluster: str | None) -> pl.DataFrame:
    """The values of the segments, limits under names that say what they are of; of other groups how many there are."""
    import polars as pl

    if by != "segment":
        return table.select(pl.len().alias(f"groups_of_{by}"), pl.col("n").sum().alias(f"n_of_{by}"))
    limits = [name for name in table.columns if _OF_INTERVALS.search(name)]
    return table.rename({name: f"{name}_by_{cluster or 'row'}" for name in limits})


def models(paths: list[str], compared: bool) -> Query:
    """Two models in one report; or their differences, each segment's with its interval."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    scores: list[str | pl.Expr] = ["score", (0.9 * pl.col("score") + 0.02).alias("blunt")]

    def query() -> Values:
        log, asked = pl.scan_parquet(paths), {"by": "segment", "cost_fn": COST_FN}
        if compared:
            tall = log.ec.compare(scores, "label", metrics=["nec", "nce"], **asked).collect(engine="streaming")
            tall = tall.rename({"value": "of_blunt", "value_reference": "of_score"})
            necs = tall.filter(pl.col("metric") == "nec").sort("segment")
            return lambda: necs.select("segment", "of_blunt", "of_score")
        both = log.ec.report(scores, "label", **asked).collect(engine="streaming")
        wide = {f"of_{name}": pl.col("nec").filter(pl.col("score") == name).first() for name in ("blunt", "score")}
        return lambda: both.group_by("segment").agg(**wide).sort("segment")

    return query


def drift(paths: list[str], cluster: str | None = None) -> Query:
    """Where the changes of five metrics between twelve months come from, of each segment, with the mix of 16 parts of the stores."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    names = ["nec", "nce", "nbs", "precision", "f1"]

    def query() -> Values:
        log = pl.scan_parquet(paths).with_columns(month=pl.col("store") % 12, part=pl.col("store") // 12 % 16)
        call: dict[str, Any] = {
            "by": "segment",
            "mix": "part",
            "metrics": names,
            "cost_fn": COST_FN,
            "cluster": cluster,
        }
        found = log.ec.drift("score", "label", period="month", **call).collect(engine="streaming")
        return lambda: found.select(pl.len().alias("changes"))

    return query


def sketch(paths: list[str], cluster: str | None = None) -> Query:
    """The sketch by segment, with the rows of each bucket of clusters or without."""

    def query() -> Values:
        made = _sketch(paths, cluster)
        return lambda: made.evaluate("cross_entropy", "brier", "recall", cost_fn=COST_FN).drop("class_prior")

    return query


def _sketch(paths: list[str], cluster: str | None) -> ec.Sketch:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    clusters: dict[str, Any] = {} if cluster is None else {"cluster": cluster, "buckets": N_BUCKETS}
    return pl.scan_parquet(paths).ec.sketch("score", "label", by="segment", cost_fn=COST_FN, **clusters)


def evaluated(paths: list[str]) -> Query:
    """The battery and ranking metrics of a sketch with clusters, with intervals: what is left to do after the pass."""
    made = _sketch(paths, "user")
    names = ("nec", "nce", "nbs", "precision", "f1", "recall", *RANKING)

    def query() -> Values:
        table = made.evaluate(*names, cost_fn=COST_FN, interval=LEVEL)
        return lambda: table.select("segment", "n")

    return query


def calibration_loss(paths: list[str]) -> Query:
    """RCL with its interval, calibrators fitted anew in every replicate, of a sketch with clusters."""
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    user: dict[str, Any] = {"cluster": "user", "buckets": N_BUCKETS, "folds": N_FOLDS, "fold_by": "user"}
    made = pl.scan_parquet(paths).ec.sketch("score", "label", by="segment", **user)

    def query() -> Values:
        table = made.calibration_loss(interval=LEVEL)
        return lambda: table.select("segment", "n")

    return query
