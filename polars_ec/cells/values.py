"""What the rows of a cell are worth: exactly in an exact sketch, else by their bin.

A cell knows in which bin of log-odds its rows are. They are taken for its middle, which is half a bin off at most; in an
open-ended bin for its finite edge.
"""

from __future__ import annotations

import math

import polars as pl

from polars_ec.cells.grid import EXACT, SUMS, Grid
from polars_ec.rows.scores import BinaryScores, sigmoid


def scores_of_cells(grid: Grid) -> BinaryScores:
    """The score of the rows of a cell: their very score in an exact sketch, else `log_odds`."""
    if grid.resolution is None:
        return BinaryScores(pl.col(EXACT), "posterior" if grid.score_type == "posterior" else "log_odds", None)
    below, above = grid.bin_edges()
    inner = (
        pl.when(below.is_infinite()).then(above).when(above.is_infinite()).then(below).otherwise((below + above) / 2)
    )
    # Both edges of the outermost bins are the infinite score that these hold.
    middle = pl.when(grid.is_point()).then(pl.when(pl.col("bin") > 0).then(math.inf).otherwise(-math.inf))
    return BinaryScores(middle.otherwise(inner), "log_odds", None)


def log_odds(grid: Grid) -> pl.Expr:
    """Log-odds of the rows of a cell, or their LLR; null for rows that are not usable."""
    return pl.when(pl.col("class") >= 0).then(scores_of_cells(grid).log_odds)


def posterior(grid: Grid) -> pl.Expr:
    """Posterior of class 1 of the rows of a cell, of LLRs at even prior; null for rows that are not usable."""
    return pl.when(pl.col("class") >= 0).then(scores_of_cells(grid).posteriors[1])


def losses(grid: Grid) -> dict[str, pl.Expr]:
    """What `SUMS` are sums of: of a row of a cell, by its class."""
    scores, in_class = scores_of_cells(grid), [pl.col("class") == 0, pl.col("class") == 1]
    values = [scores.log_loss(in_class), scores.brier(in_class), scores.posteriors[1]]
    return dict(zip(SUMS, values, strict=True))


def log_odds_bounds(grid: Grid) -> tuple[pl.Expr, pl.Expr]:
    """Least and largest log-odds that the rows of a cell can have; null for rows that are not usable."""
    if grid.resolution is None:
        return log_odds(grid), log_odds(grid)
    below, above = grid.bin_edges()
    usable = pl.when(pl.col("class") >= 0)
    return usable.then(below), usable.then(above)


def posterior_bounds(grid: Grid) -> tuple[pl.Expr, pl.Expr]:
    """Least and largest posterior of class 1 that the rows of a cell can have, beside rounding."""
    if grid.resolution is None:
        return posterior(grid), posterior(grid)
    below, above = log_odds_bounds(grid)
    return sigmoid(below), sigmoid(above)
