"""Curves over thresholds: what is decided at a threshold stays the same down to the next score."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.curves import risk_at
from polars_ec.cells.grid import EXACT
from polars_ec.plotting.layers import Axis
from polars_ec.plotting.lines import with_corners
from polars_ec.rows.scores import sigmoid

# Log-odds of more than a million to one are cut off: hardly any score is beyond.
_FARTHEST = 15.0
_ROOM = 0.03
# Of curves that are bent between points.
_GRID = pl.DataFrame({"x": [i / 400 for i in range(1, 400)]})
_AXIS_TITLES = {
    "posterior": "Threshold",
    "log_odds": "Threshold, log-odds",
    "llr": "Threshold, LLR",
    "raw": "Threshold",
}


def threshold_axis(cells: Cells, curve: pl.DataFrame, marked: Sequence[float]) -> Axis:
    """Of the thresholds of a curve, as far as there are scores, and of those that are marked."""
    score_type = cells.grid.score_type
    title = _AXIS_TITLES[score_type]
    if score_type == "posterior":
        return Axis(title)
    return Axis(
        title, *_ends([curve["threshold"], _highest(cells)["highest"], pl.Series(marked)], bounded=score_type != "raw")
    )


def log_odds_axis(cells: Cells, curve: pl.DataFrame, title: str) -> Axis:
    """The same of thresholds that are log-odds, or LLRs, in the curve, whatever they are in the cells."""
    return Axis(title, *_ends([curve["threshold"], _as_log_odds(cells, _highest(cells))["highest"]], bounded=True))


def over_thresholds(cells: Cells, curve: pl.DataFrame, x: Axis, *, log_odds: bool = False) -> pl.DataFrame:
    """The points of a curve with their place `x`, ascending, with the corners of the steps, from end to end of the axis.

    Nothing is decided positive from the highest score on, nothing negative below the lowest one. A bin is taken for its lower edge.
    """
    highest = _as_log_odds(cells, _highest(cells)) if log_odds else _highest(cells)
    points = _ascending(curve, "threshold", highest)
    groups = points.group_by("group", maintain_order=True)
    first, last = groups.first().select(points.columns), groups.last().select(points.columns)
    ends = [first.with_columns(x=pl.lit(-math.inf)), points, last.with_columns(x=pl.lit(math.inf))]
    whole = pl.concat(ends).with_columns(x=x.within("x"))
    return with_corners(whole.sort(_place(points), maintain_order=True), "after")


def risk_over_t(cells: Cells, errors: pl.DataFrame) -> pl.DataFrame:
    """The risk over t, `x`, of what `joint_errors` gave: between two scores the errors are the same, and their costs move."""
    highest = _highest(cells)
    if cells.grid.score_type == "log_odds":
        highest = highest.with_columns(sigmoid(pl.col("highest")))
    points = _ascending(errors, "t", highest)
    grid = points.select("group").unique(maintain_order=True).join(_GRID, how="cross")
    between = grid.sort("x").join_asof(points.sort("x"), on="x", by="group", check_sortedness=False)
    whole = pl.concat([with_corners(points, "after"), between.select(points.columns)])
    placed = whole.sort(_place(points), "x", maintain_order=True)
    return placed.select("group", "x", y=risk_at("x"))


def _ascending(curve: pl.DataFrame, threshold: str, highest: pl.DataFrame) -> pl.DataFrame:
    """A curve from the lowest threshold up, `x`, of which the last is where the highest scores end."""
    points = curve.join(highest, on="group", how="left", maintain_order="left").reverse()
    return points.with_columns(x=pl.min_horizontal(threshold, "highest")).drop("highest")


def _place(points: pl.DataFrame) -> pl.Expr:
    """The place of a group among those of the points."""
    order = points["group"].unique(maintain_order=True)
    return pl.col("group").replace_strict(order, range(len(order)), return_dtype=pl.Int32)


def _highest(cells: Cells) -> pl.DataFrame:
    """Where the highest scores of each group end, on the scale of the score."""
    used = cells.frame.filter(pl.col("class") >= 0).group_by("group")
    if cells.grid.resolution is None:
        return used.agg(highest=pl.col(EXACT).max())
    top = used.agg(pl.col("bin", "above").max())
    above = top.with_columns(pl.col("bin") + 1).select("group", edge=cells.grid.lower_edge())
    infinite = top["bin"] == cells.grid.infinite_bins[1]
    return above.select("group", highest=pl.when(infinite).then(math.inf).otherwise("edge"))


def _as_log_odds(cells: Cells, highest: pl.DataFrame) -> pl.DataFrame:
    if cells.grid.score_type != "posterior":
        return highest
    p = pl.col("highest").clip(0, 1)
    return highest.with_columns(highest=p.log() - (-p).log1p())


def _ends(of: Sequence[pl.Series], *, bounded: bool) -> tuple[float, float]:
    """Where an axis begins and ends that has these; never one place."""
    places = pl.concat([part.cast(pl.Float64) for part in of])
    # Open bins end at the largest number that there is.
    places = places.filter(places.is_finite() & (places.abs() < 1e300))
    if bounded:
        places = places.clip(-_FARTHEST, _FARTHEST)
    low, high = (places.min(), places.max()) if len(places) else (-1.0, 1.0)
    assert isinstance(low, float)
    assert isinstance(high, float)
    room = _ROOM * (high - low)
    return (low - room, high + room) if room > 1e-9 * max(abs(low), abs(high)) else (low - 1, high + 1)
