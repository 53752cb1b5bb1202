"""Cells of ranking metrics as arrays, groups x cells: of one model, or of two whose rows are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.grid import Grid
from polars_ec.cells.ordered import ordered_cells
from polars_ec.cells.ranking_parts import Ranking
from polars_ec.cells.ranking_spread import ranking_influence, ranking_replicates
from polars_ec.formulas.ranking import RankingArguments, evaluate, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.random_parts import PARTS, dealt_out

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_SEED = 0


@dataclass(frozen=True, eq=False)
class Counts:
    """Some cells: the number of the group and of the cell, the sums of w and of w^2; and a bucket, or the cell of another model."""

    group: Integers
    code: Integers
    weight: Floats
    weight2: Floats
    bucket: Integers
    other: Integers
    order: Integers
    """That in which rows are dealt out to parts: the same from the side of the other model."""

    @property
    def turned(self) -> Counts:
        """The same from the side of the other model."""
        return replace(self, code=self.other, other=self.code)

    @cached_property
    def parts(self) -> Floats:
        """Rows of each cell dealt out at random to parts, (parts, cells)."""
        order = self.order
        if not len(order):
            return np.empty((PARTS, 0))
        groups = self.group[order]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        dealt = np.empty((PARTS, len(order)))
        dealt[:, order] = dealt_out(self.weight[order], self.weight2[order], starts, _SEED)
        return dealt


class CellTable:
    """The cells of a grid that occur, with their `class`: arrays have a column for each."""

    def __init__(self, grid: Grid, cells: pl.DataFrame, weighted: bool) -> None:
        self.grid, self.weighted = grid, weighted
        self._columns = cells

    @property
    def label(self) -> Integers:
        """The class of each cell."""
        return self._columns["class"].to_numpy().astype(np.int64)

    def summed(self, groups: Integers, codes: Integers, amounts: Floats, n_groups: int) -> Floats:
        """(groups, cells)."""
        shape = (n_groups, self._columns.height)
        place = groups * shape[1] + codes
        return np.asarray(np.bincount(place, amounts, shape[0] * shape[1]), dtype=np.float64).reshape(shape)

    def frame(self, weight: Floats, weight2: Floats, parts: Integers | None = None) -> pl.DataFrame:
        """The cells with rows, as the functions of ranking metrics take them; `parts`: of each row of the arrays, then of groups and parts."""
        group, cell = np.nonzero(weight)
        columns = self._columns[cell].with_columns(weight=weight[group, cell], __ec_row=pl.Series(group))
        if self.weighted:
            columns = columns.with_columns(weight2=weight2[group, cell])
        if parts is None:
            return columns.rename({"__ec_row": GROUP})
        return columns.with_columns(
            pl.Series(GROUP, group // PARTS), pl.Series("bucket", parts[group], dtype=pl.Int16)
        ).drop("__ec_row")

    def values(self, weight: Floats, metric: str, arguments: RankingArguments, prior: pl.DataFrame | None) -> Floats:
        """The metric of each group, from cells that are in order; NaN where it has none."""
        frame = self.frame(weight, weight)
        found = evaluate(prepare(ordered_cells(frame, self.grid, self.weighted), prior), metric, arguments)
        return _by_group(found.select(GROUP, "value"), len(weight))

    def influence(
        self, weight: Floats, weight2: Floats, metric: str, arguments: RankingArguments, prior: pl.DataFrame | None
    ) -> Floats:
        """Of a row of weight 1 in each cell, (groups, cells); NaN in groups that have no value, 0 where there are no rows."""
        found = ranking_influence(Ranking(self.frame(weight, weight2), self.grid, [metric], arguments, prior), metric)
        cells = self._columns.with_row_index("cell")
        placed = found.join(cells, on=["class", *self.grid.cell_columns], how="left", nulls_equal=True)
        made = np.zeros(weight.shape)
        made[placed[GROUP].to_numpy(), placed["cell"].to_numpy()] = placed["influence"].fill_null(np.nan).to_numpy()
        known = np.zeros(len(weight), dtype=bool)
        known[placed[GROUP].unique().to_numpy()] = True
        made[~known] = np.nan
        return made

    def replicates(
        self, parts: Floats, metrics: Sequence[str], arguments: RankingArguments, prior: pl.DataFrame | None
    ) -> dict[str, Floats]:
        """Each metric without one part after the other, (groups, parts), of weights (groups, parts, cells); NaN for parts without rows."""
        n_groups, n_parts, n_cells = parts.shape
        flat = parts.reshape(n_groups * n_parts, n_cells)
        of_row = np.tile(np.arange(n_parts), n_groups)
        ranking = Ranking(self.frame(flat, flat, of_row), self.grid, metrics, arguments, prior)
        found = ranking_replicates(ranking, _SEED)
        made = {}
        for name in metrics:
            values = np.full((n_groups, n_parts), np.nan)
            used = found.filter(pl.col("weight") > 0)
            values[used[GROUP].to_numpy(), used["part"].to_numpy()] = used[name].fill_null(np.nan).to_numpy()
            made[name] = values
        return made


def _by_group(found: pl.DataFrame, n_groups: int) -> Floats:
    values = np.full(n_groups, np.nan)
    values[found[GROUP].to_numpy()] = found["value"].fill_null(np.nan).to_numpy()
    return values
