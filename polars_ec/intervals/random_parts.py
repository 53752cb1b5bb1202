"""Rows dealt out to parts at random, which are then left out in turn: of what is alike, so that no row is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.spread import effective_rows

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

PARTS = 20
"""What the delete-a-part jackknife of ranking metrics leaves out in turn."""


def dealt_out(weight: Floats, weight2: Floats, starts: Integers, seed: int, n_parts: int = PARTS) -> Floats:
    """The weight of each cell that is in each part, (parts, *cells), from sums of w and of w^2.

    The rows of a cell are as many of equal weight as say as much, at least one, and each is in any part alike. `starts` are the first
    cells of the groups. Draws begin anew in each group, so that no other group changes what becomes of it.
    """
    rows = np.rint(effective_rows(weight, weight2))
    rows = np.where(np.isfinite(rows), np.fmax(rows, weight > 0), 0.0)
    dealt = np.empty((*rows.shape, n_parts), dtype=np.int64)
    for first, last in pairwise(np.append(starts, len(rows))):
        cells = rows[first:last].astype(np.int64)
        dealt[first:last] = np.random.default_rng(seed).multinomial(cells, [1 / n_parts] * n_parts)
    with np.errstate(all="ignore"):
        of_each = np.where(rows > 0, weight / rows, 0.0)
    return np.asarray(np.moveaxis(dealt, -1, 0) * of_each, dtype=np.float64)
