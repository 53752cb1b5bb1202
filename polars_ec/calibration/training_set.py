"""What calibrators are trained on: the cells of a log, for all groups and folds at once.

A fit is of one group: number 0 of all its rows, number 1 + f of the rows outside fold f.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.calibration.arrays import Booleans, Floats, Integers, Texts
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import EXACT, Grid
from polars_ec.cells.sums import cells_and_priors
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.priors import Prior
from polars_ec.rows.folds import FOLD
from polars_ec.rows.scores import BinaryScores


@dataclass(frozen=True)
class Training:
    """Cells of one class with weight, sorted by fit and then by score from the lowest up; and what is known of each fit.

    `cell` numbers the cells in that order, both classes alike; `weight` is at the prior that is asked for, and `log_odds`
    are raw scores where the sketch is of these. Of each fit: `n` rows, `prior_log_odds` of class 1 (NaN where there is no
    prior), `invalid` whether its group has wrong rows.
    """

    groups: pl.DataFrame
    folds: pl.Series
    cells: pl.DataFrame
    fit: Integers
    cell: Integers
    positive: Booleans
    log_odds: Floats
    weight: Floats
    n: Integers
    prior_log_odds: Floats
    invalid: Booleans

    @property
    def n_groups(self) -> int:
        """How many groups there are: fit k of group g has the number k n_groups + g."""
        return self.groups.height

    @property
    def n_fits(self) -> int:
        """How many fits there are."""
        return self.n_groups * (1 + len(self.folds))

    def total(self, values: NDArray[Any]) -> Floats:
        """Sum of `values` over the cells of each fit."""
        return np.bincount(self.fit, values, self.n_fits).astype(np.float64)

    def lowest(self, values: NDArray[Any], chosen: Booleans) -> NDArray[Any]:
        """Least of the chosen `values` of each fit; inf, or the largest integer, where none is chosen."""
        found = np.full(self.n_fits, np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).max, values.dtype)
        np.minimum.at(found, self.fit[chosen], values[chosen])
        return found

    def why_untrained(self) -> list[tuple[Booleans, str]]:
        """Fits that no calibrator can be trained for, and why."""
        of_positives, of_negatives = self.total(self.weight * self.positive), self.total(self.weight * ~self.positive)
        return [
            (self.invalid, "wrong rows"),
            (np.bincount(self.fit, minlength=self.n_fits) == 0, "no rows"),
            (np.isnan(self.prior_log_odds), "no prior"),
            (~((of_positives > 0) & (of_negatives > 0)), "one class"),
        ]

    def frame(self) -> pl.DataFrame:
        """A row per fit: the group columns, and `fold`, null for the fit of all rows."""
        fold = pl.concat([pl.Series(FOLD, [None], dtype=self.folds.dtype), self.folds])
        keys = self.groups.drop(GROUP)
        return pl.concat([keys.with_columns(pl.lit(value, dtype=fold.dtype).alias(FOLD)) for value in fold])


def first_reason(reasons: list[tuple[Booleans, str]]) -> Texts:
    """The first reason that holds for each fit; empty where none does."""
    return np.select([mask for mask, _ in reasons], [text for _, text in reasons], "").astype(np.str_)


def reason_column(reasons: Texts) -> pl.Series:
    """Reasons as a column, with nulls."""
    return pl.Series("reason", [reason or None for reason in reasons.tolist()], dtype=pl.String)


def folds_of(frame: pl.DataFrame) -> pl.Series:
    """The folds in the column `fold`, if there is one."""
    if FOLD not in frame.columns:
        return pl.Series(FOLD, [], dtype=pl.Int16)
    folds: pl.Series = frame[FOLD].unique().sort()
    if folds.null_count():
        raise SketchError(
            "the group column 'fold' holds null, and calibrate() takes it for the fold of cross-validation"
        )
    return folds


def log_odds_of_cells(grid: Grid) -> pl.Expr:
    """What affine calibrators take: the very score of a cell's rows in an exact sketch, else their mean log-odds."""
    if grid.resolution is not None:
        return pl.col("log_odds") / pl.col("weight")
    return BinaryScores(pl.col(EXACT), "posterior" if grid.score_type == "posterior" else "log_odds", None).log_odds


# Sums of log-odds near the largest float overflow: that is a fit of infinite log-odds, or one that does not converge.
@np.errstate(all="ignore")
def training_of(cells: Cells, prior: Prior) -> Training:
    """The training sets of the cells of a log."""
    keys, grid = cells.keys_beside_fold, cells.grid
    folds = folds_of(cells.frame)
    numbered, groups, stated = cells_and_priors(cells, keys, prior)
    shares = None if stated is None else stated.to_numpy().T
    order = [GROUP, *grid.cell_columns]
    used = numbered.filter(pl.col("class") >= 0, pl.col("weight") > 0).sort(*order, "class")
    same = [pl.col(name).eq_missing(pl.col(name).shift()) for name in order]
    new_cell = ~pl.all_horizontal(same) | (pl.int_range(pl.len()) == 0)
    new = new_cell | (pl.col("class") != pl.col("class").shift())
    # Bins of raw scores hold no sums of them, and only steps are fitted to those.
    exact = grid.resolution is None
    summed = not exact and grid.score_type != "raw"
    log_odds = log_odds_of_cells(grid) if exact or summed else pl.lit(0.0)
    used = used.with_columns(__cell=new_cell.cum_sum() - 1, __node=new.cum_sum() - 1, __log_odds=log_odds)
    firsts = used.filter(new)
    node = used["__node"].to_numpy().astype(np.int64)
    fold = _places(used, folds)

    def by_fold(values: pl.Series) -> NDArray[Any]:
        table = np.zeros((max(len(folds), 1), firsts.height), dtype=values.to_numpy().dtype)
        table[fold, node] = values.to_numpy()
        return table

    ones = pl.Series(np.ones(len(node), dtype=np.int64))
    columns = [ones, used["weight"], *([used["log_odds"]] if summed else [])]
    n_cells, weight, *sums = (all_and_others(by_fold(column), len(folds)) for column in columns)
    number, at = np.nonzero(n_cells)
    group = firsts[GROUP].to_numpy().astype(np.int64)[at]
    x = sums[0][number, at] / weight[number, at] if sums else firsts["__log_odds"].to_numpy()[at]
    fit = number * groups.height + group
    positive = firsts["class"].to_numpy()[at] == 1
    weights, prior_log_odds = _at_prior(fit, positive, weight[number, at], groups.height * len(n_cells), shares)
    distinct = used.filter(new_cell).select(GROUP, *grid.cell_columns)
    cell = firsts["__cell"].to_numpy().astype(np.int64)[at]
    rows = numbered.filter(pl.col("class") >= 0).group_by(GROUP, *([FOLD] if len(folds) else [])).agg(pl.col("n").sum())
    counts = np.zeros((max(len(folds), 1), groups.height), dtype=np.int64)
    counts[_places(rows, folds), rows[GROUP].to_numpy().astype(np.int64)] = rows["n"].to_numpy()
    n = all_and_others(counts, len(folds)).ravel()
    invalid = np.tile((groups["n_invalid"] > 0).to_numpy(), len(n_cells))
    return Training(
        groups.select(GROUP, *keys), folds, distinct, fit, cell, positive, x, weights, n, prior_log_odds, invalid
    )


def _places(frame: pl.DataFrame, folds: pl.Series) -> Integers:
    """Which of the folds each row is in; 0 where there are none."""
    if not len(folds):
        return np.zeros(frame.height, dtype=np.int64)
    return folds.search_sorted(frame[FOLD]).to_numpy().astype(np.int64)


def all_and_others(by_fold: NDArray[Any], n_folds: int) -> NDArray[Any]:
    """Sums over all folds; then, for each fold, over all others.

    These are added from both ends: a difference would lose digits, and infinities.
    """
    whole: NDArray[Any] = by_fold.sum(axis=0, keepdims=True)
    if n_folds == 0:
        return whole
    before, after = np.zeros_like(by_fold), np.zeros_like(by_fold)
    before[1:] = by_fold.cumsum(axis=0)[:-1]
    after[:-1] = by_fold[::-1].cumsum(axis=0)[::-1][1:]
    return np.concatenate([whole, before + after])


def _at_prior(
    fit: Integers, positive: Booleans, weight: Floats, n_fits: int, shares: Floats | None
) -> tuple[Floats, Floats]:
    """Weights that give the classes the stated shares, and the prior log-odds of class 1.

    Neither class's share is one minus the other's, whose digits rounding takes where it is nearly 1.
    """
    own = np.stack([np.bincount(fit, weight * ~positive, n_fits), np.bincount(fit, weight * positive, n_fits)])
    if shares is None:
        return weight, np.log(own[1] / own[0])
    stated = np.tile(shares, n_fits // max(shares.shape[1], 1))
    factor = stated / (own / own.sum(axis=0))
    return weight * factor[positive.astype(np.int64), fit], np.log(stated[1] / stated[0])
