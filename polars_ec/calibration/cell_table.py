"""The cells of a log as a table of weights by fold and class, to which calibrators are fitted and on which they are evaluated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.numerics import Bools, Floats, Integers, Numbers, Texts, np, quiet
from polars_ec.scores.folds import FOLD
from polars_ec.sketches.cells import Cells, check_keys
from polars_ec.sketches.grid import EXACT, SUMS, Grid
from polars_ec.sketches.sums import number_groups, run_starts, scores_of_cells, stated_priors

# Cells are looked up in a list of all possible cells if it is at most this many times as long as the rows; otherwise they are sorted.
_SPARSE = 16


@dataclass(frozen=True)
class CellTable:
    """Cells with weight, side by side in a group, lowest scores first: `weight[f, i]` of class i in fold f (0 without folds); `counts` of rows."""

    grid: Grid
    groups: pl.DataFrame
    folds: pl.Series
    cells: pl.DataFrame
    group: Integers
    weight: Floats
    counts: pl.DataFrame

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.groups.height

    @property
    def keys(self) -> list[str]:
        """Names of the group columns, without `fold` if there are folds."""
        return [name for name in self.groups.columns if name != GROUP]

    @cached_property
    def log_odds(self) -> Floats:
        """The scores of the cells for affine calibrators; 0 in bins of raw scores, which only steps are fitted to."""
        if self.grid.scale.has_order_only and self.grid.resolution is not None:
            return np.zeros(self.cells.height)
        return self.cells.select(x=scores_of_cells(self.grid).log_odds)["x"].to_numpy()

    @cached_property
    def _starts(self) -> tuple[Integers, Integers]:
        return np.unique(self.group, return_index=True)

    @quiet
    def reduce(self, function: np.ufunc, values: Numbers, of_none: Any) -> Numbers:
        """A function such as np.add over the cells of each group, along the last axis; `of_none` where there are none."""
        occupied, starts = self._starts
        found = np.full((*values.shape[:-1], self.n_groups), of_none, dtype=values.dtype)
        found[..., occupied] = function.reduceat(values, starts, axis=-1)
        return found

    def total(self, values: Floats) -> Floats:
        """Sums over the cells of each group, along the last axis."""
        return self.reduce(np.add, values, 0.0)


def table_of(cells: Cells, *, by_fold: bool = True) -> CellTable:
    """The cells of a log as a table; `by_fold`: a group column `fold` is for cross-validation, else its folds are added up."""
    grid = cells.grid
    numbered, groups = number_groups(cells, cells.keys_beside_fold)
    usable = numbered.filter(pl.col("class") >= 0)
    folds = _folds_of(numbered) if by_fold else pl.Series(FOLD, [], dtype=pl.Int16)
    place = folds.search_sorted(usable[FOLD]).to_numpy() if len(folds) else np.zeros(usable.height, dtype=np.int64)
    used = (usable["weight"] > 0).to_numpy()
    weighted, row = usable.filter(used), 2 * place[used].astype(np.int64)
    number, group, distinct = _number_cells(weighted, groups.height, grid)
    row += weighted["class"].to_numpy()
    shape = (max(len(folds), 1), 2, len(group))
    weight = np.bincount(row * len(group) + number, weighted["weight"].to_numpy(), math.prod(shape))
    counts = _count_rows(numbered, [GROUP, *([FOLD] if len(folds) else []), "class"])
    return CellTable(grid, groups, folds, distinct, group, weight.astype(np.float64).reshape(shape), counts)


def _folds_of(cells: pl.DataFrame) -> pl.Series:
    """The folds in the column `fold`, if there is one; SketchError if a row that counts has none."""
    if FOLD not in cells.columns:
        return pl.Series(FOLD, [], dtype=pl.Int16)
    if cells.filter(pl.col("class") >= 0)[FOLD].null_count():
        raise SketchError(
            "the group column 'fold' holds null, but calibrate() uses it as the fold of cross-validation: filter the "
            "rows without a key, or give them one"
        )
    return cells[FOLD].drop_nulls().unique().sort()


def _count_rows(numbered: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows by these columns: first those of cells side by side, which are many times fewer than the cells."""
    starts = run_starts(numbered, by).arg_true()
    rows = np.add.reduceat(numbered["n"].to_numpy(), starts.to_numpy()) if len(starts) else np.zeros(0, np.int64)
    runs = numbered.select(by)[starts].with_columns(n=pl.Series(rows, dtype=pl.Int64))
    return runs.group_by(by, maintain_order=True).agg(pl.col("n").sum())


def _number_cells(used: pl.DataFrame, n_groups: int, grid: Grid) -> tuple[Integers, Integers, pl.DataFrame]:
    """The number of each row's cell; and of the cells their group, and the columns that say which they are."""
    group = used[GROUP].to_numpy().astype(np.int64)
    if grid.resolution is None:
        scores, code = np.unique(used[EXACT].to_numpy(), return_inverse=True)
        n_codes = len(scores)
    else:
        bins = used["bin"].to_numpy().astype(np.int64)
        lowest, n_above = int(np.min(bins)) if len(bins) else 0, len(grid.thresholds) + 1
        code = (bins - lowest) * n_above + used["above"].to_numpy()
        n_codes = int(np.max(code, initial=0)) + 1
    number, key = _distinct(group * n_codes + code, n_groups * n_codes)
    of_group, code = np.divmod(key, max(n_codes, 1))
    if grid.resolution is None:
        return number, of_group, pl.DataFrame({EXACT: scores[code]}, schema={EXACT: used.schema[EXACT]})
    bin_, above = np.divmod(code, n_above)
    schema = {"bin": pl.Int32, "above": pl.Int16}
    return number, of_group, pl.DataFrame({"bin": bin_ + lowest, "above": above}, schema_overrides=schema)


def _distinct(key: Integers, size: int) -> tuple[Integers, Integers]:
    """Keys from 0 up to a size: the number of each one among those that occur, and these, sorted."""
    if size > _SPARSE * len(key):
        occurring, number = np.unique(key, return_inverse=True)
        return number, occurring
    occurs = np.zeros(size, dtype=bool)
    occurs[key] = True
    return (np.cumsum(occurs) - 1)[key], np.flatnonzero(occurs)


def rolled_up(table: CellTable, grid: Grid, weight: Floats, losses: Mapping[str, Floats]) -> Cells:
    """Cells of one bin per group g, class i and side s of the grid's threshold, of `weight[s, i, g]` and sums of `losses`, null if not given."""
    side, label, group = np.indices(weight.shape)
    cells = pl.DataFrame(
        {
            GROUP: group.ravel(),
            "class": label.ravel(),
            "bin": np.zeros(weight.size),
            "above": side.ravel(),
            "weight": weight.ravel(),
            **{name: losses[name].ravel() if name in losses else None for name in SUMS},
        },
        # Types also of columns without any value.
        schema_overrides={
            GROUP: pl.get_index_type(),
            "class": pl.Int8,
            "bin": pl.Int32,
            "above": pl.Int16,
            **dict.fromkeys(SUMS, pl.Float64),
        },
    )
    counts = table.counts.group_by(GROUP, "class").agg(pl.col("n").sum())
    # The side of the rows of a class is unknown, and not used.
    lowest = counts.with_columns(above=pl.when(pl.col("class") >= 0).then(pl.lit(0, dtype=pl.Int16)))
    amounts = [pl.col("n").fill_null(0), pl.col("weight").fill_null(0.0)]
    frame = lowest.join(cells, on=[GROUP, "class", "above"], how="full", coalesce=True, nulls_equal=True)
    frame = frame.with_columns(amounts).sort(GROUP, "class", "above", nulls_last=True)
    keys = table.groups.drop(GROUP)
    check_keys(keys.columns, grid.columns)

    def of_keys(rows: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
        return keys[rows[GROUP]].hstack(rows.select(columns)) if keys.width else rows.select(columns)

    sums = of_keys(cells, ["class", "above", *SUMS]) if grid.has_sums else None
    return Cells(of_keys(frame, [c for c in grid.columns if c in frame.columns]), grid, weighted=True, sums=sums)


def counted(table: CellTable) -> Cells:
    """Cells that have the counts of groups and classes, and nothing else."""
    weight = table.total(table.weight.sum(axis=0))
    return rolled_up(table, Grid("raw", 1, classes=table.grid.classes), weight[None], {})


# What calibrators are trained on. A fit is of one group: number 0 of all its rows, number 1 + f of the rows outside fold f. Fit k of group g
# has the number k n_groups + g.


@dataclass(frozen=True)
class Training:
    """What fits see of the cells: `weight[k, i]` of class i for fits k at the prior; of each fit rows, prior, and whether it is `empty` or `invalid`."""

    table: CellTable
    weight: Floats
    n: Integers
    prior_log_odds: Floats
    empty: Bools
    invalid: Bools

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return self.table.n_groups

    @property
    def n_fits(self) -> int:
        """The number of fits."""
        return self.n_groups * len(self.weight)

    @cached_property
    def seen(self) -> Bools:
        """The cells that fits k see, in a row each."""
        negative, positive = self.weight[:, 0] > 0, self.weight[:, 1] > 0
        return negative | positive

    def total(self, values: Floats) -> Floats:
        """The sum for each fit of values that fits k have in row k, one per cell."""
        return self.table.total(values).ravel()

    def any(self, chosen: Bools) -> Bools:
        """True for each fit with a cell chosen in row k."""
        return self.table.reduce(np.logical_or, chosen, of_none=False).ravel()

    def range(self, values: Numbers, chosen: Bools) -> tuple[Floats, Floats]:
        """The least and the largest value for each fit of the cells chosen in row k; inf and -inf where none is."""
        lowest = self.table.reduce(np.minimum, np.where(chosen, values, np.inf), np.inf)
        highest = self.table.reduce(np.maximum, np.where(chosen, values, -np.inf), -np.inf)
        return lowest.ravel(), highest.ravel()

    def points(self, fits: Bools, cells: Bools | None = None) -> tuple[Integers, Integers]:
        """The numbers of the chosen fits and of the cells that they see, of all or the chosen ones, sorted by both."""
        seen = self.seen & fits.reshape(len(self.weight), self.n_groups)[:, self.table.group]
        k, cell = np.nonzero(seen if cells is None else seen & cells)
        return k * self.n_groups + self.table.group[cell], cell

    def weights(self, fit: Integers, cell: Integers) -> tuple[Floats, Floats]:
        """The weights of either class at points."""
        k = fit // max(self.n_groups, 1)
        return self.weight[k, 0, cell], self.weight[k, 1, cell]

    def why_untrained(self) -> list[tuple[Bools, str]]:
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


def first_reason(reasons: list[tuple[Bools, str]]) -> Texts:
    """The first reason that holds for each fit; empty where none does."""
    return np.select([mask for mask, _ in reasons], [text for _, text in reasons], "").astype(np.str_)


def reason_column(reasons: Texts) -> pl.Series:
    """Reasons as a column, with nulls."""
    return pl.Series("reason", [reason or None for reason in reasons.tolist()], dtype=pl.String)


# Sums of weights near the largest float overflow: that is a fit that does not converge.
@quiet
def training_of(table: CellTable, prior: Prior) -> Training:
    """The training sets of the cells of a log."""
    n_folds, n_groups = len(table.folds), table.n_groups
    shares = stated_priors(counted(table), table.keys, prior)
    weight = all_and_others(table.weight, n_folds)
    class_weight = table.total(weight)
    prior_log_odds = np.log(class_weight[:, 1] / class_weight[:, 0])
    if shares is not None:
        # Neither class's share is one minus the other's, whose digits rounding takes where it is nearly 1.
        stated = shares.to_numpy().T
        factor = stated / (class_weight / class_weight.sum(axis=1, keepdims=True))
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
        (class_weight.sum(axis=1) == 0).ravel(),
        np.tile(invalid, len(weight)),
    )


def all_and_others(by_fold: Numbers, n_folds: int) -> Numbers:
    """Sums over all folds; then, for each fold, over all others, added from both ends: a difference would lose digits, and infinities."""
    if n_folds == 0:
        whole: Numbers = by_fold.sum(axis=0, keepdims=True)
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
