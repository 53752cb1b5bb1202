"""Losses of log-likelihood ratios at a prior, from cells: between bounds, for a cell knows the mean of its LLRs and no more."""

from __future__ import annotations

import polars as pl

from polars_ec.cells.grid import EXACT, Grid
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.scores import BinaryScores

# The largest second derivative of the Brier loss by the log-odds, sigmoid^2.
_BRIER_CURVATURE = 0.1541
_BELOW, _ABOVE, _MEAN, _SHIFT = (f"__{name}" for name in ("below", "above", "mean", "shift"))


def of_cells(cells: pl.DataFrame, shifts: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """GROUP and, for each class i, bounds of the summed losses: `log_loss_low_i`, `log_loss_high_i`, `brier_low_i`, ...

    `cells` has GROUP and the columns of a sketch of LLRs, `shifts` GROUP and `shift`: what makes log-odds of an LLR.
    """
    weight = pl.col("weight")
    used = cells.filter(pl.col("class") >= 0, weight > 0).join(shifts.rename({"shift": _SHIFT}), on=GROUP)
    if grid.resolution is None:
        used = used.with_columns(pl.col(EXACT).alias(_MEAN))
        bounds = {
            name: (loss, loss) for name, loss in zip(("log_loss", "brier"), _losses_at(pl.col(_MEAN)), strict=True)
        }
    else:
        below, above = grid.bin_edges()
        mean = pl.col("log_odds") / weight
        used = used.with_columns(below.alias(_BELOW), above.alias(_ABOVE), mean.alias(_MEAN))
        bounds = {"log_loss": _log_loss(), "brier": _brier()}
    sums = {
        f"{name}_{end}_{i}": pl.when(pl.col("class") == i).then(loss * weight).sum()
        for name, ends in bounds.items()
        for end, loss in zip(("low", "high"), ends, strict=True)
        for i in range(2)
    }
    return used.group_by(GROUP).agg(**sums)


def _losses_at(llr: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    scores = BinaryScores(llr + pl.col(_SHIFT), "log_odds", None)
    in_class = [pl.col("class") == 0, pl.col("class") == 1]
    return scores.log_loss(in_class), scores.brier(in_class)


def _log_loss() -> tuple[pl.Expr, pl.Expr]:
    """It is convex: at least its value at the mean, at most what the chord has there."""
    below, above, mean = pl.col(_BELOW), pl.col(_ABOVE), pl.col(_MEAN)
    (at_below, _), (at_above, _), (at_mean, _) = (_losses_at(x) for x in (below, above, mean))
    share = ((mean - below) / (above - below)).clip(0, 1)
    chord = at_below * (1 - share) + at_above * share
    edge, at_edge = (
        pl.when(below.is_infinite()).then(a).otherwise(b) for a, b in ((above, below), (at_above, at_below))
    )
    # In an open bin the loss falls towards 0, or lies by a falling amount above a straight line through the mean.
    rises = pl.when(pl.col("class") == 1).then(below.is_infinite()).otherwise(above.is_infinite())
    beyond = at_edge + pl.when(rises).then((mean - edge).abs()).otherwise(0.0)
    return at_mean, _inside(mean, at_mean, pl.max_horizontal(chord, at_mean), pl.max_horizontal(beyond, at_mean))


def _brier() -> tuple[pl.Expr, pl.Expr]:
    below, above, mean = pl.col(_BELOW), pl.col(_ABOVE), pl.col(_MEAN)
    (_, at_below), (_, at_above), (_, at_mean) = (_losses_at(x) for x in (below, above, mean))
    most = _BRIER_CURVATURE / 2 * ((mean - below) * (above - mean)).clip(0)
    ends = at_below, at_above
    return (
        _inside(mean, at_mean, (at_mean - most).clip(0), pl.min_horizontal(*ends, at_mean)),
        _inside(mean, at_mean, (at_mean + most).clip(0, 1), pl.max_horizontal(*ends, at_mean)),
    )


def _inside(mean: pl.Expr, at_mean: pl.Expr, bounded: pl.Expr, beyond: pl.Expr) -> pl.Expr:
    """What holds for cells of one infinite LLR, for bins with two edges, and for the bins beyond them."""
    is_open = pl.col(_BELOW).is_infinite() | pl.col(_ABOVE).is_infinite()
    return pl.when(mean.is_infinite()).then(at_mean).when(is_open).then(beyond).otherwise(bounded)
