"""Calibrated log-odds of the rows of a table, by their groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_ec._expr import Priors, per_row
from polars_ec._options import parse_options
from polars_ec._scores import BinaryScores, Scores, sigmoid
from polars_ec.metrics.rows import affine_log_odds

if TYPE_CHECKING:
    from polars_ec.calibrators import Calibration
    from polars_ec.costs import CostMatrix
    from polars_ec.typing import ScoreType

REASON = "__reason"
_FIT, _X = "__fit", "__x"


def calibrated_posterior(calibration: Calibration, score: pl.Expr) -> pl.Expr:
    """What `Calibration.apply` gives."""
    keys, parameters = calibration.keys, calibration.frame.filter(pl.col("fold").is_null()).drop("fold")
    name = f"{score.meta.output_name()}_calibrated"
    reading: ScoreType = "posterior" if calibration.score_type == "posterior" else "log_odds"

    def read(scores: Scores, _: CostMatrix, __: Priors) -> pl.Expr:
        if not isinstance(scores, BinaryScores):
            raise TypeError(f"the calibration is of one number a row, and {score.meta.output_name()!r} is a vector")
        return scores.log_odds if calibration.is_affine else scores.score

    x = per_row("calibrated", score, parse_options({"score_type": reading}), read).alias(_X)

    def calibrate(rows: pl.Series) -> pl.Series:
        table = rows.struct.unnest()
        log_odds = transform(parameters, keys, table, table[_X])
        return log_odds.select(sigmoid(pl.col("score"))).to_series()

    packed = pl.struct([*keys, x])
    return packed.map_batches(calibrate, return_dtype=pl.Float64, is_elementwise=True).alias(name)


def transform(parameters: pl.DataFrame, by: list[str], rows: pl.DataFrame, x: pl.Series) -> pl.DataFrame:
    """A row per row: `score`, its calibrated log-odds, and REASON, why it has none.

    `parameters` are those of a `Calibration`, one fit for each value of the columns `by`. `x` is what they take: log-odds,
    or, for steps, what is compared with thresholds.
    """
    fits = (parameters.unique(by, maintain_order=True) if by else parameters.head(1)).with_row_index(_FIT)
    needed = [name for name in (_FIT, "reason", "alpha", "beta") if name in fits.columns]
    found = _join(rows.with_columns(x.alias(_X)).select(*by, _X), fits.select(*by, *needed), by)
    reason = pl.when(pl.col(_FIT).is_null()).then(pl.lit("not calibrated")).otherwise("reason").alias(REASON)
    if "above" not in parameters.columns:
        return found.select(affine_log_odds(pl.col(_X), pl.col("alpha"), pl.col("beta")).alias("score"), reason)
    return found.select(_step_log_odds(_join(parameters, fits.select(*by, _FIT), by), found), reason)


def _join(rows: pl.DataFrame, fits: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    if not by:
        return rows.join(fits, how="cross", maintain_order="left")
    return rows.join(fits, on=by, how="left", nulls_equal=True, maintain_order="left")


def _step_log_odds(steps: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    import numpy as np

    from polars_ec._steps import find_steps

    ordered = steps.drop_nulls("above").sort(_FIT, "above", maintain_order=True)
    of_rows = rows[_FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    values = rows[_X].fill_null(np.nan).to_numpy()
    at = find_steps(ordered[_FIT].cast(pl.Int64).to_numpy(), ordered["above"].to_numpy(), of_rows, values)
    return ordered["log_odds"].gather(pl.Series(at, dtype=pl.Int64).replace({-1: None})).alias("score")
