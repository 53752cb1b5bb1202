"""The cells of a log as a table of weights, by fold and class: what calibrators are fitted to, and what they are judged by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.calibration.arrays import Floats, Integers
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import EXACT, SUMS, Grid
from polars_ec.cells.sums import number_groups
from polars_ec.cells.values import scores_of_cells
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.folds import FOLD

# Cells are looked up in a list of all that there could be where it is at most so many times as long as the rows; else sorted.
_SPARSE = 16


@dataclass(frozen=True)
class CellTable:
    """Cells in which rows have weight: those of a group side by side, the lowest scores first.

    `cells` has the columns that say which cell it is, and `group` the number of its group. `weight[f, i]` are the weights of
    class i in fold f, one per cell; where there are no folds, f is 0 alone. `counts` has the rows of each group, fold and
    class: GROUP, FOLD if there are folds, `class` and `n`.
    """

    grid: Grid
    groups: pl.DataFrame
    folds: pl.Series
    cells: pl.DataFrame
    group: Integers
    weight: Floats
    counts: pl.DataFrame

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return self.groups.height

    @property
    def keys(self) -> list[str]:
        """Names of the group columns, without `fold` if there are folds."""
        return [name for name in self.groups.columns if name != GROUP]

    @cached_property
    def log_odds(self) -> Floats:
        """What affine calibrators take of each cell; 0 in bins of raw scores, which only steps are fitted to."""
        if self.grid.score_type == "raw" and self.grid.resolution is not None:
            return np.zeros(self.cells.height)
        values: Floats = self.cells.select(x=scores_of_cells(self.grid).log_odds)["x"].to_numpy()
        return values

    @cached_property
    def _starts(self) -> tuple[Integers, Integers]:
        """The groups that have cells, and where these begin."""
        return np.unique(self.group, return_index=True)

    def reduce(self, function: np.ufunc, values: NDArray[Any], of_none: Any) -> NDArray[Any]:
        """A function such as np.add over the cells of each group, along the last axis; `of_none` where there are none."""
        occupied, starts = self._starts
        found = np.full((*values.shape[:-1], self.n_groups), of_none, dtype=values.dtype)
        if len(starts):
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
            "the group column 'fold' holds null, and calibrate() takes it for the fold of cross-validation: leave out the "
            "rows without a key, or give them one"
        )
    return cells[FOLD].drop_nulls().unique().sort()


def _count_rows(numbered: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows by these columns: first those of cells side by side, which are many times fewer than the cells."""
    changes = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in by)
    starts = numbered.select((changes | (pl.int_range(pl.len()) == 0)).arg_true()).to_series()
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
        lowest, n_above = int(bins.min()) if len(bins) else 0, len(grid.thresholds) + 1
        code = (bins - lowest) * n_above + used["above"].to_numpy()
        n_codes = int(code.max(initial=0)) + 1
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
    """Cells of bin 0 of a grid: one per group, class and side of the grid's threshold, where it has one.

    `weight[s, i, g]` is the weight of class i of group g on side s, and `losses` are sums over the same rows; those that are
    not given are null.
    """
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
    # Of the rows of a class it is not known on which side they are: nothing asks.
    lowest = counts.with_columns(above=pl.when(pl.col("class") >= 0).then(pl.lit(0, dtype=pl.Int16)))
    amounts = [pl.col("n").fill_null(0), pl.col("weight").fill_null(0.0)]
    frame = lowest.join(cells, on=[GROUP, "class", "above"], how="full", coalesce=True, nulls_equal=True)
    frame = frame.with_columns(amounts).sort(GROUP, "class", "above", nulls_last=True)
    keys = table.groups.drop(GROUP)

    def of_keys(rows: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
        return keys[rows[GROUP]].hstack(rows.select(columns)) if keys.width else rows.select(columns)

    sums = of_keys(cells, ["class", "above", *SUMS]) if grid.has_sums else None
    return Cells(of_keys(frame, [c for c in grid.columns if c in frame.columns]), grid, weighted=True, sums=sums)


def counted(table: CellTable) -> Cells:
    """Cells that have the counts of groups and classes, and nothing else."""
    weight = table.total(table.weight.sum(axis=0))
    return rolled_up(table, Grid("raw", 1, classes=table.grid.classes), weight[None], {})
