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
from polars_ec.rows.read import join_groups

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Overlaps:
    """The cells of windows, by groups that have these columns beside the window."""

    rolling: Rolling
    cells: Cells
    by: Sequence[str]

    def known(self, groups: pl.DataFrame, against: Integers) -> Bools:
        """Whether nothing is in the way of limits: of windows that share periods clusters say what is shared, if all rows are in some."""
        place = self.rolling.places(groups[self.rolling.column])
        other = np.maximum(against, 0)
        apart = np.abs(place - place[other]) >= self.rolling.number
        if self.cells.coarse is None:
            return np.asarray(apart)
        keys = [*self.by, self.rolling.column]
        alone = self.cells.coarse.filter(pl.col(BUCKET).is_null()).select(keys).unique().with_columns(__ec_alone=True)
        has_alone = join_groups(groups, alone, keys)["__ec_alone"].fill_null(value=False).to_numpy()
        return np.asarray(apart | ~(has_alone | has_alone[other]))
