"""Cells of some groups after the others, so that what is made of them fits into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from polars_ec.cells.cells import C
from polars_ec.rows.read import join_groups

_SIZE, _BLOCK = "__ec_size", "__ec_block"

# Numbers that are made of a block, about.
_MOST = 2**22


def in_blocks(cells: C, within: Sequence[str], times: int = 1, least: int = 0) -> Iterator[C]:
    """The cells of groups with these keys; of each are made so many `times` its cells, and at least `least` numbers."""
    tables = [table for table in (cells.frame, cells.sums, cells.coarse) if table is not None]
    groups = cells.frame.select(within).unique(maintain_order=True)
    if not within or groups.height < 2:
        yield cells
        return
    sizes = pl.concat(table.select(within) for table in tables).group_by(within).len(_SIZE)
    size = (join_groups(groups, sizes, within)[_SIZE].cast(pl.Int64) * times).clip(least)
    groups = groups.with_columns((size.cum_sum() // _MOST).alias(_BLOCK))
    if groups[_BLOCK].n_unique() == 1:
        yield cells
        return
    parts = [
        join_groups(table, groups, within).partition_by(_BLOCK, as_dict=True, include_key=False) for table in tables
    ]
    by_table = dict(zip(map(id, tables), parts, strict=True))
    for block in groups[_BLOCK].unique(maintain_order=True):

        def of_block(table: pl.DataFrame, block: int = block) -> pl.DataFrame:
            return by_table[id(table)].pop((block,), table.clear())

        yield cells.on_tables(of_block)
