"""How far losses before and after calibration would be off, were the rows others: with calibrators fitted anew without each part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Booleans, Floats, Integers
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import BUCKET, EXACT, WEIGHTS, Grid
from polars_ec.cells.moments import floats, usable_rows
from polars_ec.cells.values import scores_of_cells
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.limits import extended, limits
from polars_ec.intervals.random_parts import PARTS, dealt_out
from polars_ec.intervals.scales import Scale
from polars_ec.intervals.spread import jackknife
from polars_ec.rows.folds import FOLD
from polars_ec.rows.read import join_groups

Losses: TypeAlias = Callable[[Cells], pl.DataFrame]
"""What `calibration_loss` gives for cells."""

_SCALES: dict[str, Scale] = {"raw": "log", "calibrated": "log", "cal_loss": "identity", "rcl": "identity"}
_CELL, _PART = "__cell", "part"
_SMALLEST, _LARGEST_BELOW_1 = 5e-324, 1 - 2.0**-53
# Of a sum of weights, what is left when all of them are taken from it again.
_ROUNDING = 1e-12


# Squares of weights may be more than a float holds: then there are no limits.
@np.errstate(all="ignore")
def with_limits(shown: pl.DataFrame, cells: Cells, by_fold: bool, losses: Losses, request: Request) -> pl.DataFrame:
    """The losses of each group with their limits; `by_fold`: they are of cross-validation."""
    parts = parts_of(cells, by_fold, request.seed)
    keys = cells.keys_beside_fold
    number = _PART
    while number in keys:
        number += "_"
    replicates = losses(parts.without_each(number))
    group = _places(parts.groups, shown, keys)
    empty = np.ones((shown.height, PARTS), dtype=bool)
    empty[group] = parts.empty
    place = _places(replicates, shown, keys), replicates[number].to_numpy()
    added = {}
    for name, scale in _SCALES.items():
        values, value = np.full((shown.height, PARTS), np.nan), floats(shown[name])
        values[place] = floats(replicates[name])
        # None where a part that has rows cannot be left out.
        known = (np.isfinite(values) | empty).all(axis=-1) & np.isfinite(value)
        spread = jackknife(np.where(empty, np.nan, values)).only(known)
        ends = extended(*limits(value, spread, scale, request.level), value)
        added[name] = [
            pl.Series(f"{name}_ci_{end}", limit, nan_to_null=True)
            for end, limit in zip(("low", "high"), ends, strict=True)
        ]
    return pl.DataFrame([x for name in shown.columns for x in (shown[name], *added.get(name, ()))])


@dataclass(frozen=True)
class Parts:
    """Cells of usable rows, in order; and how much weight of each, (parts, cells), is in each part.

    `cells` has the group columns, `class` and `score_value`; `groups` has a row for each group of the keys beside the fold, and `group` says
    which of them a cell is of.
    """

    cells: pl.DataFrame
    grid: Grid
    groups: pl.DataFrame
    group: Integers
    weight: Floats

    @property
    def empty(self) -> Booleans:
        """(groups, parts): whether no row is in the part."""
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        return np.asarray(np.add.reduceat(self.weight, starts, axis=1).T <= 0)

    def without_each(self, number: str) -> Cells:
        """The cells without each part, side by side: one more group column says which one is left out."""
        total = self.weight.sum(axis=0)
        rest = total - self.weight
        part, cell = np.nonzero(rest > _ROUNDING * total)
        frame = self.cells[cell].with_columns(
            pl.Series(number, part, dtype=pl.Int16),
            pl.Series("weight", rest[part, cell]),
            n=pl.lit(1, dtype=pl.Int64),
        )
        return Cells(frame, self.grid, weighted=True)


def parts_of(cells: Cells, by_fold: bool, seed: int) -> Parts:
    """Coarse cells of usable rows in parts: by the buckets of their clusters, or dealt out at random."""
    keys = cells.keys_beside_fold
    source, grid = _coarse_cells(cells)
    if cells.coarse is None:
        source = source.with_columns(pl.lit(None, dtype=pl.Int16).alias(BUCKET))
    cell = [*keys, *([FOLD] if by_fold else []), "class", "bin", "above"]
    part, is_alone = pl.col(BUCKET) % PARTS, pl.col(BUCKET).is_null()
    sums = {f"__ec_part_{k}": pl.when(part == k).then("weight").sum() for k in range(PARTS)}
    sums |= {f"__ec_alone_{name}": pl.when(is_alone).then(name).sum() for name in WEIGHTS}
    summed = source.group_by(cell).agg(**sums).sort(cell, nulls_last=True)
    frame = summed.select(cell)
    starts = _changes(frame, keys)
    group = starts.cum_sum().to_numpy().astype(np.int64) - 1
    *in_parts, alone, alone2 = (summed[name].cast(pl.Float64).to_numpy() for name in sums)
    dealt = dealt_out(alone, alone2, np.flatnonzero(starts.to_numpy()), seed)
    scored = frame.with_columns(_scores(frame, grid).alias(EXACT)).drop("bin", "above")
    weight = np.stack(in_parts) + dealt
    return Parts(scored, replace(grid, resolution=None), frame.filter(starts), group, weight)


def without_far(limited: pl.DataFrame, cells: Cells) -> pl.DataFrame:
    """The losses with null for the limits of groups with rows beyond the last bin on the wrong side: nobody knows how much each loses."""
    source, grid = _coarse_cells(cells)
    lowest, highest = grid.infinite_bins
    is_far = pl.col("bin") == pl.when(pl.col("class") == 1).then(lowest + 1).otherwise(highest - 1)
    keys = cells.keys_beside_fold
    far = np.zeros(limited.height, dtype=bool)
    far[_places(source.filter(is_far), limited, keys)] = True
    ends = [f"{name}_ci_{end}" for name in _SCALES for end in ("low", "high")]
    return limited.with_columns(pl.when(pl.Series(~far)).then(name).alias(name) for name in ends)


def _coarse_cells(cells: Cells) -> tuple[pl.DataFrame, Grid]:
    """Those of usable rows that variances are made of, by bucket where rows are in clusters; and their grid."""
    if cells.coarse is None:
        return _coarser(usable_rows(cells.frame, cells.weighted), cells.grid)
    return usable_rows(cells.coarse, cells.weighted), cells.grid.coarse


def _changes(frame: pl.DataFrame, by: list[str]) -> pl.Series:
    """Whether a row is the first of a run of equal ones."""
    changes = [pl.col(name).ne_missing(pl.col(name).shift()) for name in by]
    first = pl.int_range(pl.len()) == 0
    return frame.select(pl.any_horizontal(first, *changes).alias(_CELL))[_CELL]


def _coarser(used: pl.DataFrame, grid: Grid) -> tuple[pl.DataFrame, Grid]:
    """Cells as coarse as those of clusters, where they lie in these; and their grid."""
    if grid.resolution is None:
        score = pl.col(EXACT)
        above = pl.lit(0, dtype=pl.Int16)
        for threshold in grid.thresholds:
            above += (score > threshold).cast(pl.Int16)
        return used.with_columns(bin=grid.coarse.bin(score, grid.position(score)), above=above), grid.coarse
    if grid.is_cut_by_coarse:
        return used, grid
    return used.with_columns(bin=grid.coarse_bin(pl.col("bin"))), grid.coarse


def _scores(frame: pl.DataFrame, grid: Grid) -> pl.Series:
    """A score of each cell, of the scale of the log, on the same side of each declared threshold."""
    scores = scores_of_cells(grid)
    score = scores.log_odds
    if grid.score_type == "posterior":
        score = scores.posteriors[1]
        # Near 1 there are no posteriors as near as log-odds say.
        score = pl.when(grid.is_point()).then(score).otherwise(score.clip(_SMALLEST, _LARGEST_BELOW_1))
    ends = np.array([-np.inf, *grid.thresholds, np.inf])
    above = frame["above"].to_numpy()
    lowest = np.where(above > 0, np.nextafter(ends[above], np.inf), -np.inf)
    return pl.Series(np.clip(floats(frame.select(score).to_series()), lowest, ends[above + 1]))


def _places(rows: pl.DataFrame, shown: pl.DataFrame, keys: list[str]) -> Integers:
    """Which row is shown of the group of each."""
    if not keys:
        return np.zeros(rows.height, dtype=np.int64)
    found = join_groups(rows.select(keys), shown.select(keys).with_row_index(_CELL), keys)[_CELL]
    return found.to_numpy().astype(np.int64)
