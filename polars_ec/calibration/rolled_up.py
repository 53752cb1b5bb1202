"""A table of cells rolled up to its groups and classes: a sketch of few cells, for what asks no more of the scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Floats
from polars_ec.calibration.cell_table import CellTable
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import SUMS, Grid
from polars_ec.formulas.sums import GROUP


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
    return Cells(of_keys(frame, list(grid.columns)), grid, weighted=True, sums=sums)


def counted(table: CellTable) -> Cells:
    """Cells that have the counts of groups and classes, and nothing else."""
    weight = table.total(table.weight.sum(axis=0))
    return rolled_up(table, Grid("raw", 1, classes=table.grid.classes), weight[None], {})
