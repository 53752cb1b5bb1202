"""Curves over thresholds: what is decided stays the same from one score to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.curves import risk_at
from polars_ec.cells.grid import EXACT
from polars_ec.plotting.layers import Axis
from polars_ec.rows.scores import sigmoid

# Log-odds of more than a million to one are cut off: hardly any score is beyond.
_FARTHEST = 15.0
_ROOM = 0.03
# Of curves that are bent between points.
_GRID = np.linspace(0, 1, 401)[1:-1]
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
    places = [*_places(_spans(cells), curve), pl.Series(marked, dtype=pl.Float64)]
    return Axis(title, *_ends(places, bounded=score_type != "raw"))


def log_odds_axis(cells: Cells, curve: pl.DataFrame, title: str) -> Axis:
    """The same of thresholds that are log-odds, or LLRs, in the curve, whatever they are in the cells."""
    return Axis(title, *_ends(_places(_as_log_odds(cells, _spans(cells)), curve), bounded=True))


def over_thresholds(cells: Cells, curve: pl.DataFrame, x: Axis, *, log_odds: bool = False) -> pl.DataFrame:
    """A curve over thresholds, `x`, ascending, from end to end of the axis.

    It falls where scores are: at a score, or from one edge of a bin to the other one, for a bin does not say where in it they lie.
    """
    spans = _as_log_odds(cells, _spans(cells)) if log_odds else _spans(cells)
    return _along(curve, spans).with_columns(x=x.within("x"))


def risk_over_t(cells: Cells, errors: pl.DataFrame) -> pl.DataFrame:
    """The risk over t, `x`, of what `joint_errors` gave: between two scores the errors are the same, and their costs move."""
    spans = _spans(cells)
    if cells.grid.score_type == "log_odds":
        spans = spans.with_columns(sigmoid(pl.col(end)).alias(end) for end in ("from", "to"))
    edges = _along(errors, spans).with_columns(pl.col("x").clip(0, 1))
    parts = []
    for (group,), part in edges.group_by("group", maintain_order=True):
        x = part["x"].to_numpy()
        between = {name: np.interp(_GRID, x, part[name].to_numpy()) for name in ("missed", "alarmed")}
        whole = pl.concat([part.select("x", *between), pl.DataFrame({"x": _GRID, **between})])
        risk = whole.sort("x", maintain_order=True).select("x", y=risk_at("x"))
        parts.append(risk.select(pl.lit(group).alias("group"), "x", "y"))
    return pl.concat(parts) if parts else pl.DataFrame(schema={"group": pl.String, "x": pl.Float64, "y": pl.Float64})


def _along(curve: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """The points of a curve, which has nothing decided positive first, then one cell after the other: from the lowest cell up.

    Before the scores of a cell begin it is decided positive, where they end it is not.
    """
    points = curve.with_columns(__ec_cell=pl.int_range(pl.len()).over("group"))
    begins = points.join(spans, on=["group", "__ec_cell"]).with_columns(x="from", __ec_part=0)
    without = points.with_columns(pl.col("__ec_cell") + 1)
    ends = without.join(spans, on=["group", "__ec_cell"]).with_columns(x="to", __ec_part=1)
    last = begins.sort("__ec_cell").group_by("group").last().select(begins.columns)
    first = ends.sort("__ec_cell").group_by("group").first().select(begins.columns)
    low = last.with_columns(x=pl.lit(-math.inf), __ec_part=-1)
    high = first.with_columns(x=pl.lit(math.inf), __ec_part=2)
    order = curve["group"].unique(maintain_order=True)
    place = pl.col("group").replace_strict(order, range(len(order)), return_dtype=pl.Int32)
    whole = pl.concat([low, begins, ends, high]).sort(place, -pl.col("__ec_cell"), "__ec_part")
    return whole.drop("__ec_cell", "__ec_part", "from", "to")


def _spans(cells: Cells) -> pl.DataFrame:
    """From where to where the scores of each cell lie, on their own scale; the cells of a group numbered from the highest one down."""
    grid, cell = cells.grid, cells.grid.cell_columns
    used = cells.frame.filter(pl.col("class") >= 0).select("group", *cell).unique()
    used = used.sort(*cell, descending=True).with_columns(__ec_cell=1 + pl.int_range(pl.len()).over("group"))
    if grid.resolution is None:
        return used.select("group", "__ec_cell", pl.col(EXACT).alias("from"), pl.col(EXACT).alias("to"))
    below = used.with_columns(grid.lower_edge().alias("from"))
    above = below.with_columns(pl.col("bin") + 1).with_columns(edge=grid.lower_edge())
    # No score is beyond the highest bin; and a declared threshold may end a cell before its bin ends.
    beyond = pl.col("bin") > grid.infinite_bins[1]
    declared = pl.col("above").replace_strict(
        range(len(grid.thresholds) + 1), [*grid.thresholds, math.inf], return_dtype=pl.Float64
    )
    to = pl.min_horizontal(pl.when(beyond).then(math.inf).otherwise("edge"), declared)
    if grid.score_type == "posterior":
        to = to.clip(upper_bound=1)
    return above.select("group", "__ec_cell", "from", to.alias("to"))


def _as_log_odds(cells: Cells, spans: pl.DataFrame) -> pl.DataFrame:
    if cells.grid.score_type != "posterior":
        return spans
    p = pl.col("from", "to").clip(0, 1)
    return spans.with_columns(p.log() - (-p).log1p())


def _places(spans: pl.DataFrame, curve: pl.DataFrame) -> list[pl.Series]:
    """Where scores begin and end that the curve is of."""
    return spans.join(curve, on="group", how="semi").select("from", "to").get_columns()


def _ends(of: Sequence[pl.Series], *, bounded: bool) -> tuple[float, float]:
    """Where an axis begins and ends that has these; never one place."""
    places = pl.concat(of)
    # Open bins end at the largest number that there is.
    places = places.filter(places.is_finite() & (places.abs() < 1e300))
    if bounded:
        places = places.clip(-_FARTHEST, _FARTHEST)
    low, high = (places.min(), places.max()) if len(places) else (-1.0, 1.0)
    assert isinstance(low, float)
    assert isinstance(high, float)
    room = _ROOM * (high - low)
    return (low - room, high + room) if room > 1e-9 * max(abs(low), abs(high)) else (low - 1, high + 1)
