"""The cells of a sketch as ranking metrics are compared from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.grid import Grid
from polars_ec.cells.intervals import Intervals
from polars_ec.cells.sums import ranking_prior
from polars_ec.comparing.rank_differences import Ranked
from polars_ec.comparing.rank_tables import CellTable, Counts
from polars_ec.formulas.sums import GROUP

_CODE = "__ec_code"
# Of a sum of weights, that is added up in another order.
_ROUNDING = 1e-9


def ranked_of(intervals: Intervals, places: NDArray[np.integer], n_rows: int) -> Ranked:
    """Of the groups at these places of the table, which become groups from 0 on."""
    number = np.full(n_rows, -1, dtype=np.int64)
    number[places] = np.arange(len(places))
    weighted, grid = intervals.cells.weighted, intervals.cells.grid
    fine = _numbered(intervals.fine.frame, number)
    values_table, (values,) = _placed(grid, [fine], weighted)
    by_bucket = intervals.by_bucket
    if by_bucket is None:
        rows, coarse = fine, grid
        if not grid.is_cut_by_coarse:
            rows, coarse = fine.with_columns(bin=grid.coarse_bin(pl.col("bin"))), grid.coarse
        rows = rows.group_by(GROUP, "class", *coarse.cell_columns).agg(pl.col("weight", "weight2").sum())
        table, (keyed, single) = _placed(coarse, [rows.clear(), rows], weighted)
    else:
        rows, coarse = _numbered(by_bucket.frame, number), by_bucket.grid
        has_key = pl.col("bucket").is_not_null()
        table, (keyed, single) = _placed(coarse, [rows.filter(has_key), rows.filter(~has_key)], weighted)
    prior = ranking_prior(intervals.table, intervals.arguments)
    chosen = None if prior is None else _numbered(prior, number).sort(GROUP)
    wrong = intervals.table["n_invalid"].cast(pl.Float64).to_numpy()[places]
    arguments = intervals.arguments.ranking
    buckets = None if by_bucket is None else by_bucket.buckets
    return Ranked(len(places), buckets, values_table, table, values, keyed, single, chosen, arguments, wrong)


def have_same_cells(
    intervals: Intervals, places: NDArray[np.integer], others: NDArray[np.integer], n_rows: int
) -> bool:
    """Whether all groups at these places have the same rows in each cell as those at the other places."""
    columns = [GROUP, "class", *intervals.cells.grid.cell_columns]
    sides = []
    for of in (places, others):
        number = np.full(n_rows, -1, dtype=np.int64)
        number[of] = np.arange(len(of))
        sides.append(_numbered(intervals.fine.frame, number).select(*columns, "weight"))
    both = sides[0].join(sides[1], on=columns, how="full", coalesce=True, nulls_equal=True)
    alike = (pl.col("weight") - pl.col("weight_right")).abs() <= _ROUNDING * pl.col("weight")
    return bool(both.select(alike.fill_null(value=False).all()).item())


def _numbered(frame: pl.DataFrame, number: NDArray[np.int64]) -> pl.DataFrame:
    """With the numbers that groups become; without those that are left out."""
    of_rows = pl.Series(GROUP, number[frame[GROUP].to_numpy()])
    return frame.with_columns(of_rows).filter(pl.col(GROUP) >= 0)


def _placed(grid: Grid, frames: Sequence[pl.DataFrame], weighted: bool) -> tuple[CellTable, list[Counts]]:
    """The table of the cells that occur, and the counts with the numbers of their cells."""
    columns = ["class", *grid.cell_columns]
    cells = pl.concat([frame.select(columns) for frame in frames]).unique().sort(columns)
    numbered = cells.with_row_index(_CODE)
    counts = []
    for frame in frames:
        used = frame.join(numbered, on=columns, how="left", nulls_equal=True)
        group, code = (used[name].to_numpy().astype(np.int64) for name in (GROUP, _CODE))
        bucket = np.zeros(len(group), dtype=np.int64)
        if "bucket" in used.columns:
            bucket = used["bucket"].fill_null(0).to_numpy().astype(np.int64)
        weight, weight2 = (used[name].to_numpy().astype(np.float64) for name in ("weight", "weight2"))
        counts.append(Counts(group, code, weight, weight2, bucket, np.zeros_like(code), np.lexsort((code, group))))
    return CellTable(grid, cells, weighted), counts
