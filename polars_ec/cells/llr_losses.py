"""Losses of log-likelihood ratios at a prior, from cells: between bounds, for a cell knows the bin of its LLRs and no more."""

from __future__ import annotations

import polars as pl

from polars_ec.cells.grid import Grid
from polars_ec.cells.values import log_odds_bounds
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.scores import BinaryScores

_BELOW, _ABOVE, _SHIFT = (f"__{name}" for name in ("below", "above", "shift"))


def of_cells(cells: pl.DataFrame, shifts: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """GROUP and, for each class i, bounds of the summed losses: `log_loss_low_i`, `log_loss_high_i`, `brier_low_i`, ...

    `cells` has GROUP and the columns of a sketch of LLRs, `shifts` GROUP and `shift`: what makes log-odds of an LLR.
    """
    weight, label = pl.col("weight"), pl.col("class")
    below, above = log_odds_bounds(grid)
    used = cells.filter(label >= 0, weight > 0).join(shifts.rename({"shift": _SHIFT}), on=GROUP)
    used = used.with_columns(below.alias(_BELOW), above.alias(_ABOVE))
    is_point = grid.is_point()
    # Losses rise from the end of the bin that is right for the class to the wrong one.
    right, wrong = (_at(pl.when(label == i).then(_ABOVE).otherwise(_BELOW), is_point) for i in (1, 0))
    bounds = {name: (low, high) for name, low, high in zip(("log_loss", "brier"), right, wrong, strict=True)}
    sums = {
        f"{name}_{end}_{i}": pl.when(label == i).then(loss * weight).sum()
        for name, ends in bounds.items()
        for end, loss in zip(("low", "high"), ends, strict=True)
        for i in range(2)
    }
    return used.group_by(GROUP).agg(**sums)


def _at(llr: pl.Expr, is_point: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Log loss and Brier loss of a row with this LLR; infinite ones of open-ended bins stand for large ones."""
    shift = pl.col(_SHIFT)
    scores = BinaryScores(pl.when(shift.is_infinite() & ~is_point).then(shift).otherwise(llr + shift), "log_odds", None)
    in_class = [pl.col("class") == 0, pl.col("class") == 1]
    return scores.log_loss(in_class), scores.brier(in_class)
