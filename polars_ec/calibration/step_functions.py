"""Calibrators that are step functions of the score: isotonic regression (PAV) and histogram binning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Booleans, Floats, Integers
from polars_ec.calibration.training_set import Training, first_reason, reason_column
from polars_ec.cells.grid import EXACT, Grid, posterior_edges
from polars_ec.formulas.hull import upper_hull


@dataclass(frozen=True)
class _Cells:
    """Cells of the fits that can be trained, both classes together: sorted by fit, lowest scores first.

    `above` is a threshold on the scale of the score: a cell is above it, and the lower cells of the fit are not.
    """

    fit: Integers
    positives: Floats
    negatives: Floats
    above: Floats
    value: Floats

    def running(self, values: Floats) -> Floats:
        """Sums from the first cell of the fit on."""
        sums = pl.DataFrame({"fit": self.fit, "value": values}).select(pl.col("value").cum_sum().over("fit"))
        return sums["value"].to_numpy()


@dataclass(frozen=True)
class _Steps:
    """Steps of many fits, sorted as cells are; each is of the scores strictly above `above`, up to the next step."""

    fit: Integers
    above: Floats
    positives: Floats
    negatives: Floats

    @property
    def log_odds(self) -> Floats:
        with np.errstate(divide="ignore"):
            values: Floats = np.log(self.positives / self.negatives)
        return values


def fit_pav(training: Training) -> pl.DataFrame:
    """Isotonic regression: the slopes of the convex hull of each fit's ROC curve."""
    cells = _trainable_cells(training)
    # A ROC curve goes from the highest score down, from a point before the first cell.
    fit, above = cells.fit[::-1], cells.above[::-1]
    down = _Cells(fit, cells.positives[::-1], cells.negatives[::-1], above, cells.value[::-1])
    new = _new(fit)
    place = np.arange(len(fit)) + np.cumsum(new)
    origin = place[new] - 1
    n_points = len(place) + len(origin)
    fp, tp, threshold, of_fit = np.zeros(n_points), np.zeros(n_points), np.zeros(n_points), np.zeros(n_points, np.int64)
    fp[place], tp[place] = down.running(down.negatives), down.running(down.positives)
    threshold[place], of_fit[place], of_fit[origin] = above, fit, fit[new]
    corner = upper_hull(of_fit, fp, tp)
    slope = ~_new(of_fit[corner])[1:]
    lower = corner[1:][slope]
    # Sums of what is between two corners, not differences of running sums, which lose the digits of small weights.
    first = corner[:-1][slope] + 1
    rise, run = _sums_from(first, down.positives, place, n_points), _sums_from(first, down.negatives, place, n_points)
    steps = _Steps(of_fit[lower][::-1], threshold[lower][::-1], rise[::-1], run[::-1])
    return _table(_without_falls(steps), training)


def fit_histogram(training: Training, bins: int, equal_mass: bool) -> pl.DataFrame:
    """The share of positives in each of some bins of the posterior, equally wide or of equal weight."""
    cells = _trainable_cells(training)
    if equal_mass:
        weight = cells.positives + cells.negatives
        below = cells.running(weight) - weight / 2
        total = np.bincount(cells.fit, weight, training.n_fits)[cells.fit]
        bin_, above = np.minimum(below / total * bins, bins - 1).astype(np.int64), cells.above
    else:
        grid = training.table.grid
        edges = np.array([grid.declared(edge) for edge in posterior_edges(bins, grid.score_type)])
        bin_ = np.searchsorted(edges, cells.value, side="left")
        above = np.concatenate([[-np.inf], edges])[bin_]
    starts = np.flatnonzero(_new(cells.fit) | _new(bin_))
    if len(starts) == 0:
        return _table(_Steps(cells.fit, above, cells.positives, cells.negatives), training)
    positives, negatives = (np.add.reduceat(values, starts) for values in (cells.positives, cells.negatives))
    return _table(_Steps(cells.fit[starts], above[starts], positives, negatives), training)


def _without_falls(steps: _Steps) -> _Steps:
    """The steps, neighbours pooled that do not rise: of corners on one line rounding keeps some, and may turn their slopes."""
    while True:
        value = steps.log_odds
        rises = _new(steps.fit)
        rises[1:] |= ~(value[1:] <= value[:-1])
        if rises.all():
            return steps
        starts = np.flatnonzero(rises)
        positives, negatives = (np.add.reduceat(values, starts) for values in (steps.positives, steps.negatives))
        steps = _Steps(steps.fit[starts], steps.above[starts], positives, negatives)


def _sums_from(first: Integers, values: Floats, place: Integers, n_points: int) -> Floats:
    """Sums of the values at these places, from each of the first ones up to the next."""
    spread = np.zeros(n_points)
    spread[place] = values
    return np.add.reduceat(spread, first) if len(first) else np.zeros(0)


def values_of_cells(grid: Grid, cells: pl.DataFrame) -> pl.Series:
    """What is compared with the thresholds of steps: a cell of many scores is where its lowest score is."""
    if grid.resolution is None:
        return cells[EXACT]
    # The lower edge of a cell is a threshold that its scores are above, unless they are the lowest that there are.
    lowest = (cells["bin"] == grid.infinite_bins[0]).fill_null(False).to_numpy()
    return pl.Series(np.where(lowest, -np.inf, np.nextafter(_lower_edges(grid, cells), np.inf)))


def log_odds_of_steps(steps: pl.DataFrame, fit: str, of_query: Integers, value: Floats) -> Floats:
    """The log-odds of each value by the steps of its fit, whose number is in their column `fit`; NaN where there are none."""
    ordered = steps.drop_nulls("above").sort(fit, "above", maintain_order=True)
    numbers = ordered[fit].to_numpy().astype(np.int64)
    at = _find_steps(numbers, ordered["above"].to_numpy(), of_query, value)
    log_odds: Floats = np.append(ordered["log_odds"].to_numpy(), np.nan)[at]
    return log_odds


def _find_steps(of_step: Integers, above: Floats, of_query: Integers, value: Floats) -> Integers:
    """The last step with the query's number whose threshold is strictly below its value; -1 where there is none.

    Steps are sorted by number and threshold; the first of a number has -inf, and takes -inf too.
    """
    levels = np.unique(above)
    place = of_step * (len(levels) + 1) + np.searchsorted(levels, above)
    wanted = of_query * (len(levels) + 1) + np.searchsorted(levels, value)
    first = np.searchsorted(of_step, np.arange(-1, of_query.max(initial=-1) + 1))
    step = np.maximum(np.searchsorted(place, wanted) - 1, first[of_query + 1])
    known = (step < len(of_step)) & ~np.isnan(value)
    known[known] = of_step[step[known]] == of_query[known]
    return np.where(known, step, -1)


def _lower_edges(grid: Grid, cells: pl.DataFrame) -> Floats:
    # Rows that are not usable have no cell, and no threshold below it.
    return cells.with_columns(pl.col("above").fill_null(0)).select(edge=grid.lower_edge())["edge"].to_numpy()


def _new(values: Integers) -> Booleans:
    """Where a value differs from the one before."""
    different = np.ones(len(values), dtype=bool)
    different[1:] = values[1:] != values[:-1]
    return different


def _trainable_cells(training: Training) -> _Cells:
    fit, cell = training.points(first_reason(training.why_untrained()) == "")
    negatives, positives = training.weights(fit, cell)
    table = training.table
    value = values_of_cells(table.grid, table.cells).to_numpy()[cell]
    if table.grid.resolution is None:
        above = np.concatenate([[-np.inf], value])[:-1]
    else:
        above = _lower_edges(table.grid, table.cells)[cell]
    # The lowest step is of whatever lies below the rows too.
    return _Cells(fit, positives, negatives, np.where(_new(fit), -np.inf, above), value)


def _table(steps: _Steps, training: Training) -> pl.DataFrame:
    """`fit`, `above`, `log_odds`, `n`, `reason`: a row per step, or one for a fit that has none."""
    above = np.where(_new(steps.fit), -np.inf, steps.above)
    found = pl.DataFrame({"fit": steps.fit, "above": above, "log_odds": steps.log_odds})
    reason = reason_column(first_reason(training.why_untrained()))
    fits = pl.DataFrame({"fit": np.arange(training.n_fits), "n": training.n, "reason": reason})
    joined = fits.join(found, on="fit", how="left", maintain_order="left_right")
    return joined.select("fit", "above", "log_odds", "n", "reason")
