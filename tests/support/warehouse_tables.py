"""The table that a warehouse makes of a log, by plain formulas over rows of float64 scores: no row is missing or wrong."""

from __future__ import annotations

import polars as pl


def table_of(
    log: pl.DataFrame,
    *,
    by: list[str] | None = None,
    score_type: str = "posterior",
    resolution: int = 64,
    thresholds: list[float] | None = None,
    weight: str | None = None,
) -> pl.DataFrame:
    """Cells with their sums, of the columns `p` (a posterior, or log-odds) and `y`."""
    score, positive, keys = pl.col("p"), pl.col("y").cast(pl.Int8) == 1, by or []
    x = (score / (1 - score)).log() if score_type == "posterior" else score
    q = score if score_type == "posterior" else 1 / (1 + (-score).exp())
    true = pl.when(positive).then(q).otherwise(1 - q)
    w = pl.lit(1.0) if weight is None else pl.col(weight).cast(pl.Float64)
    above = pl.sum_horizontal([pl.lit(0), *((score > t).cast(pl.Int16) for t in thresholds or [])])
    values = {"log_loss": -true.log(), "brier": (1 - true) ** 2, "posterior": q}
    cell = {
        "class": positive.cast(pl.Int8),
        "bin": (x * resolution).floor().cast(pl.Int32),
        "above": above.cast(pl.Int16),
    }
    weights = {"weight": w, **({} if weight is None else {"weight2": w**2})}
    rows = log.select(*keys, **cell, **weights, **{name: value * w for name, value in values.items()})
    made = rows.group_by(*keys, *cell).agg(pl.len().cast(pl.Int64).alias("n"), pl.col(*weights, *values).sum())
    return made.select(*keys, *cell, "n", *weights, *values).sort(*keys, *cell)
