"""Cases of buckets: rows in memory, with keys of several kinds."""

from __future__ import annotations

from tests.benchmarks.case import Query

N_BUCKETS = 100


def floor(paths: list[str]) -> Query:
    """The bare aggregate of the same rows, in memory like them."""
    import polars as pl

    rows = pl.read_parquet(paths)
    sums = [pl.len().cast(pl.Int64).alias("n"), pl.col("score").sum(), pl.col("label").sum()]
    return lambda: rows.lazy().group_by("segment").agg(sums).sort("segment").collect(engine="streaming")


def bucket(paths: list[str], key: str) -> Query:
    """The bucket of every row; and their sum, which that of DuckDB must be equal to."""
    import polars as pl

    import polars_ec as ec

    rows = pl.read_parquet(paths)
    buckets = ec.bucket(key, N_BUCKETS).cast(pl.Int64).sum().alias(f"of_{key}")
    return lambda: rows.lazy().select(buckets).collect(engine="streaming")
