"""Lines as a chart draws them: with the corners of steps, and at no more points than can be seen."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_ec.plotting.theme import SIZE

Floats: TypeAlias = npt.NDArray[np.float64]

MOST_POINTS = 4500
"""Of all lines of a chart together: Altair takes 5,000 rows, and lines of reference have some."""
_OFF = 0.5


def with_corners(curve: pl.DataFrame) -> pl.DataFrame:
    """The curve as steps, `x` ascending: each point holds from the x before, where a corner is added."""
    place = pl.int_range(pl.len()) * 2
    corners = curve.with_columns(x=pl.col("x").shift().over("group"), __ec_place=place - 1).drop_nulls("x")
    return pl.concat([curve.with_columns(__ec_place=place), corners]).sort("__ec_place").drop("__ec_place")


def thin(curve: pl.DataFrame, widths: tuple[float, float] = (1.0, 1.0), *, most: int = MOST_POINTS) -> pl.DataFrame:
    """The points of lines without which these would be off by half a pixel: of `y`, and of a band, `low` and `high`.

    `widths` are the lengths of the axes. Points without a place are left out; the ends of each line stay. Where there are still more
    than `most`, it is by more than half a pixel.
    """
    curve = curve.filter(pl.all_horizontal(pl.col("x", "y").is_finite()))
    if curve.height < 3:
        return curve
    starts = curve["group"].ne_missing(curve["group"].shift()).to_numpy().copy()
    starts[0] = True
    heights = [name for name in ("y", "low", "high") if name in curve.columns]
    x = curve["x"].to_numpy() / widths[0] * SIZE
    lines = curve.select(heights).cast(pl.Float64).fill_null(np.nan).to_numpy().T / widths[1] * SIZE
    unknown = np.isnan(lines).any(axis=0)
    weight = np.zeros(len(x))
    # A band that begins or ends is seen as far as the chart is wide.
    weight[_and_before(unknown != np.roll(unknown, 1))] = SIZE
    weight[_and_before(starts)] = np.inf
    kept = _weighed(x, lines, weight)
    if len(kept) > most:
        kept = kept[weight[kept] > np.partition(weight[kept], -most - 1)[-most - 1]]
    return curve[kept]


def _and_before(places: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return places | np.roll(places, -1)


def _weighed(x: Floats, lines: Floats, weight: Floats) -> npt.NDArray[np.int64]:
    """The points that Douglas and Peucker keep: between two of them the one that is farthest from their chord, while that is far.

    `weight`, above 0 for those that stay in any case, becomes how far off a line is without each of them.
    """
    kept, places = np.flatnonzero(weight), np.arange(len(x))
    while True:
        part = np.minimum(np.searchsorted(kept, places, side="right") - 1, len(kept) - 2)
        start, end = kept[part], kept[part + 1]
        far = np.zeros(len(x))
        for y in lines:
            far = np.fmax(far, _distance(x, y, start, end))
        farthest = np.maximum.reduceat(far, kept[:-1])
        found = np.flatnonzero((far > _OFF) & (far == farthest[part]))
        if not len(found):
            return kept
        new = found[np.unique(part[found], return_index=True)[1]]
        # No more than those that it came after: who drops light points first drops it before them.
        weight[new] = np.minimum(far[new], np.minimum(weight[start[new]], weight[end[new]]))
        kept = np.union1d(kept, new)


def _distance(x: Floats, y: Floats, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> Floats:
    """Of points from the chords between others."""
    right, up = x[end] - x[start], y[end] - y[start]
    dx, dy = x - x[start], y - y[start]
    length = right**2 + up**2
    along = np.clip(np.divide(dx * right + dy * up, length, out=np.zeros(len(x)), where=length > 0), 0, 1)
    distance: Floats = np.hypot(dx - along * right, dy - along * up)
    return distance
