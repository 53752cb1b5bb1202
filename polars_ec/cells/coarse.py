"""Rows counted once more, by the bucket of their cluster and in coarse cells: what variances of correlated rows are made of."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.cells.codes import CELL, COARSE, CellCodes, KeyCode
from polars_ec.cells.counting import Counting
from polars_ec.cells.grid import BUCKET, Grid


class CoarseCells:
    """The coarse cells of a log, as its rows come in: those of the pass, with `BUCKET`, and `COARSE` where they need it."""

    def __init__(self, keys: Sequence[KeyCode], grid: Grid, weights: Sequence[str]) -> None:
        self._codes = CellCodes(grid.coarse)
        self._cells = None if grid.is_cut_by_coarse else CellCodes(grid).coarsened(self._codes)
        self._counting = Counting([*keys, KeyCode.of(BUCKET, pl.Int16())], grid.coarse, weights, ())
        self._columns = [*(key.name for key in keys), BUCKET, *weights]

    def add(self, rows: pl.DataFrame) -> None:
        """Count more rows."""
        cell = rows[COARSE] if self._cells is None else self._cells.gather(rows[CELL])
        self._counting.add(rows.select(self._columns).with_columns(cell.alias(CELL)))

    def table(self) -> pl.DataFrame:
        """The cells of the usable rows by the values of the group columns and by bucket, sorted."""
        cells, _ = self._counting.tables()
        usable = cells.filter(pl.col(CELL).is_between(1, self._codes.number - 2))
        return usable.with_columns(**self._codes.decoded(pl.col(CELL)))
