"""The floor: read the columns, group, count and add up. No metric per segment costs less."""

from __future__ import annotations

from examples.benchmarks.task import Columns, Log, Query

TITLE = "the floor"
PACKAGE = "polars"
INSTALL = (".",)
IN_MEMORY = ()


def floor(log: Log) -> Query:
    import polars as pl

    score = pl.col("score") if log.n_classes == 2 else pl.col("posteriors").arr.sum()
    sums = [pl.len().alias("n"), pl.col("label").cast(pl.Int64).sum(), score.sum().alias("score")]

    def query() -> Columns:
        plan = pl.scan_parquet(log.files).group_by("segment").agg(sums)
        return plan.collect(engine="streaming").to_dict(as_series=False)

    return query
