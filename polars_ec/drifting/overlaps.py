"""Windows that share periods: which of their differences have limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import BUCKET
from polars_ec.cells.windows import Rolling
from polars_ec.intervals.spread import FEWEST_CLUSTERS
from polars_ec.rows.read import join_groups

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


_BY = "__ec_by"

# Numbers of pairs and buckets that are looked at together.
_TOGETHER = 2**22


@dataclass(frozen=True)
class Overlaps:
    """The cells of the periods that windows are made of, by groups that have these columns beside the period."""

    rolling: Rolling
    cells: Cells
    by: Sequence[str]

    def known(self, windows: pl.DataFrame, against: Integers) -> Bools:
        """Whether the difference of each window from the one of this number, -1 for none, has limits for all that they share.

        What rows of the same periods add to both is known where these are in clusters: it is known of each bucket. The difference rests on
        the periods that are in one of the two alone, and so on the clusters that have rows there: too few of them do not say how much
        it varies.
        """
        place = self.rolling.places(windows[self.rolling.column])
        ends = np.stack([place, place[np.maximum(against, 0)]])
        known = np.asarray(np.abs(ends[0] - ends[1]) >= self.rolling.number)
        shared = np.flatnonzero((against >= 0) & ~known & (ends[0] != ends[1]))
        if self.cells.coarse is None or self.cells.buckets is None or not len(shared):
            return known
        group, held = self._held(windows, self.cells.coarse, self.cells.buckets)
        earlier, later = ends.min(axis=0) + 1, ends.max(axis=0) + 1
        at_once = max(_TOGETHER // held.shape[-1], 1)
        for first in range(0, len(shared), at_once):
            some = shared[first : first + at_once]
            of, end, last = group[some], earlier[some], later[some]
            begin, start = end - self.rolling.number, last - self.rolling.number
            in_both = held[of, end, -1] - held[of, start, -1]
            in_one = (held[of, start] - held[of, begin]) + (held[of, last] - held[of, end])
            known[some] = (in_both == 0) & ((in_one > 0).sum(axis=-1) >= FEWEST_CLUSTERS)
        return known

    def _held(self, windows: pl.DataFrame, coarse: pl.DataFrame, buckets: int) -> tuple[Integers, NDArray[np.int32]]:
        """The number of the group of each window; and of each group in how many periods before each one a bucket had rows.

        The last bucket is that of rows in none.
        """
        groups = windows.select(self.by).unique().with_row_index(_BY) if self.by else pl.DataFrame({_BY: [0]})
        column = self.rolling.column
        found = coarse.select(*self.by, column, BUCKET).unique()
        of_windows, of_found = (
            join_groups(table, groups, self.by)[_BY].to_numpy().astype(np.int64)
            if self.by
            else np.zeros(table.height, dtype=np.int64)
            for table in (windows, found)
        )
        held = np.zeros((groups.height, len(self.rolling.periods) + 1, buckets + 1), dtype=np.int32)
        held[of_found, self.rolling.places(found[column]) + 1, found[BUCKET].fill_null(buckets).to_numpy()] = 1
        return of_windows, np.cumsum(held, axis=1, dtype=np.int32)
