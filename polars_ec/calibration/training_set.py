"""What calibrators are trained on: the cells of a log, for all groups and folds at once.

A fit is of one group: number 0 of all its rows, number 1 + f of the rows outside fold f. Fit k of group g has the number
k n_groups + g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.calibration.arrays import Booleans, Floats, Integers, Texts
from polars_ec.calibration.cell_table import CellTable, counted
from polars_ec.cells.sums import cells_and_priors
from polars_ec.formulas.sums import GROUP
from polars_ec.priors import Prior
from polars_ec.rows.folds import FOLD


@dataclass(frozen=True)
class Training:
    """The cells of a log, and what fits see of them.

    `weight[k, i]` are the weights of class i for fits k, one per cell of the table, at the prior that is asked for. Of each
    fit: `n` rows, `prior_log_odds` of class 1 (NaN where there is no prior), `empty` whether it sees no weight, `invalid`
    whether its group has wrong rows.
    """

    table: CellTable
    weight: Floats
    n: Integers
    prior_log_odds: Floats
    empty: Booleans
    invalid: Booleans

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.table.n_groups

    @property
    def n_fits(self) -> int:
        """How many fits there are."""
        return self.n_groups * len(self.weight)

    @cached_property
    def seen(self) -> Booleans:
        """Which cells fits k see, in a row each."""
        negative, positive = self.weight[:, 0] > 0, self.weight[:, 1] > 0
        return negative | positive

    def total(self, values: Floats) -> Floats:
        """Of each fit, the sum of values that fits k have in row k, one per cell."""
        return self.table.total(values).ravel()

    def any(self, chosen: Booleans) -> Booleans:
        """Of each fit, whether a cell is chosen in row k."""
        return self.table.reduce(np.logical_or, chosen, of_none=False).ravel()

    def range(self, values: NDArray[Any], chosen: Booleans) -> tuple[Floats, Floats]:
        """Of each fit, the least and the largest value of the cells chosen in row k; inf and -inf where none is."""
        lowest = self.table.reduce(np.minimum, np.where(chosen, values, np.inf), np.inf)
        highest = self.table.reduce(np.maximum, np.where(chosen, values, -np.inf), -np.inf)
        return lowest.ravel(), highest.ravel()

    def points(self, fits: Booleans, cells: Booleans | None = None) -> tuple[Integers, Integers]:
        """What the chosen fits see, of all cells or the chosen ones: numbers of fits and cells, sorted by both."""
        seen = self.seen & fits.reshape(len(self.weight), self.n_groups)[:, self.table.group]
        k, cell = np.nonzero(seen if cells is None else seen & cells)
        return k * self.n_groups + self.table.group[cell], cell

    def weights(self, fit: Integers, cell: Integers) -> tuple[Floats, Floats]:
        """The weights of either class at points."""
        k = fit // max(self.n_groups, 1)
        return self.weight[k, 0, cell], self.weight[k, 1, cell]

    def why_untrained(self) -> list[tuple[Booleans, str]]:
        """Fits that no calibrator can be trained for, and why."""
        of_negatives, of_positives = (self.total(self.weight[:, i]) for i in range(2))
        return [
            (self.invalid, "wrong rows"),
            (self.empty, "no rows"),
            (np.isnan(self.prior_log_odds), "no prior"),
            (~((of_positives > 0) & (of_negatives > 0)), "one class"),
        ]

    def frame(self) -> pl.DataFrame:
        """A row per fit: the group columns, and `fold`, null for the fit of all rows."""
        folds = self.table.folds
        fold = pl.concat([pl.Series(FOLD, [None], dtype=folds.dtype), folds])
        keys = self.table.groups.drop(GROUP)
        return pl.concat([keys.with_columns(pl.lit(value, dtype=fold.dtype).alias(FOLD)) for value in fold])


def first_reason(reasons: list[tuple[Booleans, str]]) -> Texts:
    """The first reason that holds for each fit; empty where none does."""
    return np.select([mask for mask, _ in reasons], [text for _, text in reasons], "").astype(np.str_)


def reason_column(reasons: Texts) -> pl.Series:
    """Reasons as a column, with nulls."""
    return pl.Series("reason", [reason or None for reason in reasons.tolist()], dtype=pl.String)


# Sums of weights near the largest float overflow: that is a fit that does not converge.
@np.errstate(all="ignore")
def training_of(table: CellTable, prior: Prior) -> Training:
    """The training sets of the cells of a log."""
    n_folds, n_groups = len(table.folds), table.n_groups
    *_, shares = cells_and_priors(counted(table), table.keys, prior)
    weight = all_and_others(table.weight, n_folds)
    own = table.total(weight)
    prior_log_odds = np.log(own[:, 1] / own[:, 0])
    if shares is not None:
        # Neither class's share is one minus the other's, whose digits rounding takes where it is nearly 1.
        stated = shares.to_numpy().T
        factor = stated / (own / own.sum(axis=1, keepdims=True))
        weight *= factor[:, :, table.group]
        prior_log_odds = np.broadcast_to(np.log(stated[1] / stated[0]), prior_log_odds.shape)
    usable = table.counts.filter(pl.col("class") >= 0)
    n = np.zeros((max(n_folds, 1), n_groups), dtype=np.int64)
    place = table.folds.search_sorted(usable[FOLD]).to_numpy() if n_folds else np.zeros(usable.height, np.int64)
    np.add.at(n, (place, usable[GROUP].to_numpy()), usable["n"].to_numpy())
    invalid = np.zeros(n_groups, dtype=bool)
    invalid[table.counts.filter(pl.col("class") == -1)[GROUP].to_numpy()] = True
    return Training(
        table,
        weight,
        all_and_others(n, n_folds).ravel(),
        prior_log_odds.ravel(),
        (own.sum(axis=1) == 0).ravel(),
        np.tile(invalid, len(weight)),
    )


def all_and_others(by_fold: NDArray[Any], n_folds: int) -> NDArray[Any]:
    """Sums over all folds; then, for each fold, over all others.

    These are added from both ends: a difference would lose digits, and infinities.
    """
    if n_folds == 0:
        whole: NDArray[Any] = by_fold.sum(axis=0, keepdims=True)
        return whole
    sums = np.zeros((n_folds + 1, *by_fold.shape[1:]), dtype=by_fold.dtype)
    others = sums[1:]
    for fold in range(1, n_folds):
        np.add(others[fold - 1], by_fold[fold - 1], out=others[fold])
    after = np.zeros_like(sums[0])
    for fold in range(n_folds - 1, -1, -1):
        others[fold] += after
        after += by_fold[fold]
    sums[0] = after
    return sums
