"""What a calibration makes of the scores of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Floats, Integers
from polars_ec.calibration.cell_table import CellTable
from polars_ec.calibration.parameters import Parameters
from polars_ec.calibration.step_functions import find_steps, values_of_cells
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.folds import FOLD
from polars_ec.rows.read import join_groups
from polars_ec.rows.scores import affine_log_odds

# Names while fits are looked up: no group column is called so.
_FIT, _REASON = "__fit", "__reason"


@dataclass(frozen=True)
class Calibrated:
    """Calibrated log-odds of cells, a row for each fold of the table; NaN where there are none.

    Of each group: whether some of its rows are `lost`, without calibrated log-odds; and the `reason` why they are, or what
    to know of the others.
    """

    log_odds: Floats
    lost: pl.Series
    reason: pl.Series


def calibrated_of(table: CellTable, calibration: Parameters, *, out_of_fold: bool) -> Calibrated:
    """The calibrated log-odds of cells, by the fits of all rows or, of each fold, by the fits that leave it out."""
    parameters, by = calibration.fits(out_of_fold=out_of_fold)
    fits = (parameters.unique(by, maintain_order=True) if by else parameters.head(1)).with_row_index(_FIT)
    of_group = _fits_of_groups(table, fits, by)
    # The last place is of groups that have no fit.
    texts = fits["reason"].cast(pl.String).append(pl.Series(["not calibrated"]))
    has_parameters = fits["alpha" if calibration.is_affine else "log_odds"].is_not_null()
    used = table.reduce(np.logical_or, (table.weight[:, 0] > 0) | (table.weight[:, 1] > 0), of_none=False)
    known = np.append(has_parameters.to_numpy(), False)[of_group]
    of_cell = of_group[:, table.group]
    if calibration.is_affine:
        log_odds = _affine(table, fits, of_cell)
    else:
        log_odds = _stepped(table, _join(parameters, fits, by), of_cell)
    reasons = pl.DataFrame(
        {
            GROUP: np.tile(np.arange(table.n_groups), len(used)),
            "used": used.ravel(),
            "lost": (used & ~known).ravel(),
            _REASON: texts.gather(np.where(of_group < 0, fits.height, of_group).ravel()),
        }
    )
    found = reasons.group_by(GROUP, maintain_order=True).agg(
        pl.col("lost").any(),
        reason=pl.when(~pl.col("used").any())
        .then(pl.lit("no rows"))
        .otherwise(pl.coalesce(pl.col(_REASON).filter(name).drop_nulls().first() for name in ("lost", "used"))),
    )
    return Calibrated(np.where(known[:, table.group], log_odds, np.nan), found["lost"], found["reason"])


def _fits_of_groups(table: CellTable, fits: pl.DataFrame, by: list[str]) -> Integers:
    """The number of the fit of each group, in a row for each fold if fits are by fold; -1 where there is none."""
    folds = table.folds if FOLD in by else table.folds.clear()
    folds = folds if len(folds) else pl.Series(FOLD, [None], dtype=folds.dtype)
    pairs = pl.DataFrame(folds).join(table.groups, how="cross", maintain_order="left_right")
    found = _join(pairs, fits, by)[_FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    return found.reshape(len(folds), table.n_groups)


def _join(rows: pl.DataFrame, fits: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows with the number of their fit."""
    if not by:
        return rows.with_columns(pl.lit(0 if fits.height else None, dtype=pl.get_index_type()).alias(_FIT))
    return join_groups(rows, fits.select(*by, _FIT), by)


def _affine(table: CellTable, fits: pl.DataFrame, of_cell: Integers) -> Floats:
    alpha, beta = (np.append(fits[name].to_numpy(), np.nan)[of_cell.ravel()] for name in ("alpha", "beta"))
    rows = pl.DataFrame({"x": np.tile(table.log_odds, len(of_cell)), "alpha": alpha, "beta": beta})
    moved = rows.select(affine_log_odds(*(pl.col(name) for name in rows.columns))).to_series()
    values: Floats = moved.to_numpy().reshape(of_cell.shape)
    return values


def _stepped(table: CellTable, steps: pl.DataFrame, of_cell: Integers) -> Floats:
    ordered = steps.drop_nulls("above").sort(_FIT, "above", maintain_order=True)
    value = np.tile(values_of_cells(table.grid, table.cells).to_numpy(), len(of_cell))
    numbers = ordered[_FIT].to_numpy().astype(np.int64)
    at = find_steps(numbers, ordered["above"].to_numpy(), of_cell.ravel(), value)
    log_odds: Floats = np.append(ordered["log_odds"].to_numpy(), np.nan)[at]
    return log_odds.reshape(of_cell.shape)
