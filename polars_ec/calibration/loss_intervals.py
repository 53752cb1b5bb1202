"""Confidence intervals of losses before and after calibration, by refitting calibrators without each part of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import Request
from polars_ec.formulas.decisions import Scale
from polars_ec.inference.bootstrap import percentile_limits, warn_of_time
from polars_ec.inference.confidence import PARTS, Limits, extended, jackknife, limits, random_parts
from polars_ec.numerics import Bools, Floats, Integers, floats, np, quiet
from polars_ec.scores.folds import FOLD
from polars_ec.scores.read import join_groups
from polars_ec.sketches.cells import Cells
from polars_ec.sketches.grid import BUCKET, EXACT, WEIGHTS, Grid
from polars_ec.sketches.moments import NUMBER, PRIOR, REPLICATE, Resampling, resampling, usable_rows
from polars_ec.sketches.sums import is_overall, overall_prior, run_starts, scores_of_cells, stated_priors

_SCALES: dict[str, Scale] = {
    **dict.fromkeys(("raw", "calibrated", "uncertainty"), "log"),
    **dict.fromkeys(("cal_loss", "rcl", "discrimination"), "identity"),
}
_CELL = "__cell"
_SMALLEST, _LARGEST_BELOW_1 = 5e-324, 1 - 2.0**-53
# The rounding error, relative to a sum of weights, when all of them are subtracted again.
_ROUNDING = 1e-12


# Squares of weights may overflow: then there are no intervals.
@quiet
def with_limits(
    shown: pl.DataFrame, cells: Cells, by_fold: bool, losses: Callable[[Cells], pl.DataFrame], request: Request
) -> pl.DataFrame:
    """Add confidence intervals to the losses of each group; `losses` computes them for other cells, `by_fold` is for cross-validation."""
    jackknifed = jackknife_parts(cells, by_fold, request.seed)
    keys = cells.keys_beside_fold
    number = "part"
    while number in keys:
        number += "_"
    replicates = losses(jackknifed.without_each(number))
    group = _places(jackknifed.groups, shown, keys)
    empty = np.ones((shown.height, PARTS), dtype=bool)
    empty[group] = jackknifed.empty
    place = _places(replicates, shown, keys), replicates[number].to_numpy()
    added = {}
    for name, scale in _SCALES.items():
        values, value = np.full((shown.height, PARTS), np.nan), floats(shown[name])
        values[place] = floats(replicates[name])
        # None if a part with rows cannot be left out.
        known = (np.isfinite(values) | empty).all(axis=-1) & np.isfinite(value)
        variance = jackknife(np.where(empty, np.nan, values)).only(known)
        added[name] = extended(*limits(value, variance, scale, request.level), value)
    return _with_ends(shown, added)


def _with_ends(shown: pl.DataFrame, ends: Mapping[str, Limits]) -> pl.DataFrame:
    added = {
        name: [pl.Series(f"{name}_ci_low", low, nan_to_null=True), pl.Series(f"{name}_ci_high", high, nan_to_null=True)]
        for name, (low, high) in ends.items()
    }
    return pl.DataFrame([x for name in shown.columns for x in (shown[name], *added.get(name, ()))])


@dataclass(frozen=True)
class JackknifeParts:
    """Coarse cells of usable rows, with `score_value`, the number of their `group` in `groups`, and `weight` in each part, (parts, cells)."""

    cells: pl.DataFrame
    grid: Grid
    groups: pl.DataFrame
    group: Integers
    weight: Floats

    @property
    def empty(self) -> Bools:
        """Whether a part has no rows, (groups, parts)."""
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        return np.asarray(np.add.reduceat(self.weight, starts, axis=1).T <= 0)

    def without_each(self, number: str) -> Cells:
        """The cells without each part, stacked; a further group column names the part that is left out."""
        total = self.weight.sum(axis=0)
        rest = total - self.weight
        part, cell = np.nonzero(rest > _ROUNDING * total)
        frame = self.cells[cell].with_columns(
            pl.Series(number, part, dtype=pl.Int16), pl.Series("weight", rest[part, cell]), n=pl.lit(1, dtype=pl.Int64)
        )
        return Cells(frame, self.grid, weighted=True)


def jackknife_parts(cells: Cells, by_fold: bool, seed: int) -> JackknifeParts:
    """Coarse cells of usable rows in parts: buckets of clusters, or parts assigned at random."""
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
    starts = run_starts(frame, keys)
    group = starts.cum_sum().to_numpy().astype(np.int64) - 1
    *in_parts, alone, alone2 = (summed[name].cast(pl.Float64).to_numpy() for name in sums)
    dealt = random_parts(alone, alone2, np.flatnonzero(starts.to_numpy()), seed)
    scored = frame.with_columns(_scores(frame, grid).alias(EXACT)).drop("bin", "above")
    weight = np.stack(in_parts) + dealt
    return JackknifeParts(scored, replace(grid, resolution=None), frame.filter(starts), group, weight)


def without_far(limited: pl.DataFrame, cells: Cells) -> pl.DataFrame:
    """Set bounds to null in groups with rows beyond the last bin on the wrong side, because their losses are unknown."""
    source, grid = _coarse_cells(cells)
    lowest, highest = grid.infinite_bins
    is_far = pl.col("bin") == pl.when(pl.col("class") == 1).then(lowest + 1).otherwise(highest - 1)
    keys = cells.keys_beside_fold
    far = np.zeros(limited.height, dtype=bool)
    far[_places(source.filter(is_far), limited, keys)] = True
    ends = [f"{name}_ci_{end}" for name in _SCALES for end in ("low", "high")]
    return limited.with_columns(pl.when(pl.Series(~far)).then(name).alias(name) for name in ends)


def _coarse_cells(cells: Cells) -> tuple[pl.DataFrame, Grid]:
    if cells.coarse is not None:
        return usable_rows(cells.coarse, cells.weighted), cells.grid.coarse
    used, grid = usable_rows(cells.frame, cells.weighted), cells.grid
    if grid.resolution is None:
        score = pl.col(EXACT)
        above = pl.lit(0, dtype=pl.Int16)
        for threshold in grid.thresholds:
            above += (score > threshold).cast(pl.Int16)
        return used.with_columns(bin=grid.coarse.bin(score, grid.scale.position(score)), above=above), grid.coarse
    if grid.is_cut_by_coarse:
        return used, grid
    return used.with_columns(bin=grid.coarse_bin(pl.col("bin"))), grid.coarse


def _scores(frame: pl.DataFrame, grid: Grid) -> pl.Series:
    """A score of each cell, of the scale of the log, on the same side of each declared threshold."""
    scores = scores_of_cells(grid)
    score = scores.log_odds
    if grid.scale.is_share:
        score = scores.posteriors[1]
        # Near 1 there are no posteriors as near as log-odds say.
        score = pl.when(grid.is_point()).then(score).otherwise(score.clip(_SMALLEST, _LARGEST_BELOW_1))
        score = grid.scale.of_share(score)
    ends = np.array([-np.inf, *grid.thresholds, np.inf])
    above = frame["above"].to_numpy()
    lowest = np.where(above > 0, np.nextafter(ends[above], np.inf), -np.inf)
    return pl.Series(np.clip(floats(frame.select(score).to_series()), lowest, ends[above + 1]))


def _places(rows: pl.DataFrame, shown: pl.DataFrame, keys: list[str]) -> Integers:
    if not keys:
        return np.zeros(rows.height, dtype=np.int64)
    found = join_groups(rows.select(keys), shown.select(keys).with_row_index(_CELL), keys)[_CELL]
    return found.to_numpy().astype(np.int64)


# Errors of losses before and after calibration in resampled logs, with refitted calibrators.


# Squares of weights may overflow: then there are no intervals.
@quiet
def with_drawn_limits(
    shown: pl.DataFrame, cells: Cells, losses: Callable[[Cells, Any], pl.DataFrame], prior: Any, request: Request
) -> pl.DataFrame:
    """Add percentile intervals to the losses, by bootstrap of rows or clusters, which keep their fold so that none is in training and test data."""
    keys = cells.keys_beside_fold
    source, at = _at_prior(resampling(cells, keys), cells, keys, prior)
    warn_of_time(source.groups.height, request, seconds=1.5)
    replicated = {name: np.full((request.replicates, source.groups.height), np.nan) for name in _SCALES}
    for drawn in source.replicates(request.replicates, request.seed):
        answer = losses(drawn, at)
        place = answer[REPLICATE].to_numpy(), answer[NUMBER].to_numpy()
        for name, values in replicated.items():
            values[place] = answer[name].cast(pl.Float64).to_numpy()
    group, known = _places(shown, source.groups, keys), source.units.known()
    ends = {}
    for name, values in replicated.items():
        # Null values have no bounds.
        has_limits = known[group] & np.isfinite(floats(shown[name]))
        low, high = (np.where(has_limits, limit[group], np.nan) for limit in percentile_limits(values, request.level))
        ends[name] = low, high
    return _with_ends(shown, ends)


def _at_prior(source: Resampling, cells: Cells, keys: list[str], prior: Any) -> tuple[Resampling, Any]:
    """Take the prior of the original log for all resamples if it is known."""
    if is_overall(prior):
        prior = overall_prior(cells) or prior
    if isinstance(prior, pl.Expr) or is_overall(prior):
        shares = stated_priors(cells, keys, prior)
        assert shares is not None
        return source.at_prior(shares.to_series(1)), pl.col(PRIOR)
    return source, prior
