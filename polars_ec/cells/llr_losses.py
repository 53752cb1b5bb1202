"""Losses of log-likelihood ratios at a prior, from cells: of bins between bounds, for a bin knows not where in it its LLRs are.

An LLR has log-odds at each prior, and its losses at even prior are known in sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_ec.cells.grid import EXACT, Grid
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.scores import BinaryScores

if TYPE_CHECKING:
    from polars_ec.cells.bounded_sums import Booleans, Bounds, Floats

_SHIFT = "__shift"


def of_cells(cells: pl.DataFrame, sums: pl.DataFrame, shifts: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """GROUP and, for each class i, bounds of the summed losses: `log_loss_low_i`, `log_loss_high_i`, `brier_low_i`, ...

    `cells` has GROUP and the columns of a sketch of LLRs, `sums` is what `number_sums` makes of them, and `shifts` has a row
    for each GROUP in order, with `shift`: what makes log-odds of an LLR.
    """
    used = cells.filter(pl.col("class") >= 0, pl.col("weight") > 0)
    if grid.resolution is None:
        return _of_scores(used, shifts)
    # Imported here, for they need numpy.
    import numpy as np

    from polars_ec.cells.bounded_sums import BinnedRows

    rows = BinnedRows.of(used, sums, shifts.height, grid)
    shift = shifts["shift"].fill_null(np.nan).to_numpy()[rows.number // 2]
    against = np.where(rows.number % 2 == 1, -shift, shift)
    return rows.table(
        log_loss=_log_loss(rows.right, rows.wrong, against), brier=_brier(rows.right, rows.wrong, against)
    )


def _of_scores(used: pl.DataFrame, shifts: pl.DataFrame) -> pl.DataFrame:
    """The very sums, of the cells of an exact sketch."""
    scores = BinaryScores(pl.col(EXACT) + pl.col(_SHIFT), "log_odds", None)
    in_class = [pl.col("class") == 0, pl.col("class") == 1]
    losses = {"log_loss": scores.log_loss(in_class), "brier": scores.brier(in_class)}
    sums = {
        f"{name}_{end}_{i}": pl.when(in_class[i]).then(loss * pl.col("weight")).sum()
        for name, loss in losses.items()
        for end in ("low", "high")
        for i in range(2)
    }
    return used.join(shifts.rename({"shift": _SHIFT}), on=GROUP).group_by(GROUP).agg(**sums)


def _log_loss(right: Floats, wrong: Floats, against: Floats) -> Bounds:
    """By the log loss at even prior: ln(1 + e^(x + s)) by ln(1 + e^x), whose slope changes with x in one direction."""
    import numpy as np

    from polars_ec.cells.bounded_sums import Bounds

    at_right, at_wrong = _shifted(right, against, right == wrong), _shifted(wrong, against, right == wrong)
    with np.errstate(all="ignore"):
        slopes = [
            np.exp(np.where(x == -np.inf, against, np.logaddexp(0, -x) - np.logaddexp(0, -z)))
            for x, z in ((right, at_right), (wrong, at_wrong))
        ]
    return Bounds(
        np.logaddexp(0, at_right), np.logaddexp(0, at_wrong), np.minimum.reduce(slopes), np.maximum.reduce(slopes)
    )


def _brier(right: Floats, wrong: Floats, against: Floats) -> Bounds:
    """By the log loss at even prior: sigmoid(x + s)^2 by ln(1 + e^x)."""
    import numpy as np

    from polars_ec.cells.bounded_sums import Bounds

    at_right, at_wrong = _shifted(right, against, right == wrong), _shifted(wrong, against, right == wrong)
    with np.errstate(all="ignore"):
        slopes, rates = [], []
        for x, z in ((right, at_right), (wrong, at_wrong)):
            log_slope = np.logaddexp(0, -x) - 2 * np.logaddexp(0, -z) - np.logaddexp(0, z)
            slopes.append(2 * np.exp(log_slope))
            rates.append(2 / (1 + np.exp(z)) - 1 / (1 + np.exp(-z)) - 1 / (1 + np.exp(x)))
        width = wrong - right
        # The rate at which the logarithm of the slope changes, itself changes by at most 3/4 a nat.
        may_turn = np.minimum(np.abs(rates[0]), np.abs(rates[1])) <= 0.75 * width
        beyond = np.where(may_turn, np.exp(width * (np.maximum(np.abs(rates[0]), np.abs(rates[1])) + 0.75 * width)), 1)
        least, most = np.minimum.reduce(slopes) / beyond, np.maximum.reduce(slopes) * beyond
        # Of large LLRs against their class it is at most twice the maximum of p^2 (1 - p).
        for is_open, largest in ((np.isinf(right), np.inf), (np.isinf(wrong), 0.3)):
            least, most = np.where(is_open, 0.0, least), np.where(is_open, largest, most)
    return Bounds(_square(at_right), _square(at_wrong), least, most)


def _shifted(x: Floats, against: Floats, is_point: Booleans) -> Floats:
    """Log-odds at the prior; an infinite end of a bin stands for large LLRs, but where it is the LLR."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(against) & ~is_point, against, x + against)


def _square(x: Floats) -> Floats:
    import numpy as np

    with np.errstate(over="ignore"):
        squared: Floats = 1 / (1 + np.exp(-x)) ** 2
    return squared
