"""What chance alone makes of the calibration error of calibrated posteriors, from cells."""

from __future__ import annotations

import numpy as np

from polars_ec.cells.grid import posterior_edges
from polars_ec.cells.intervals import Intervals
from polars_ec.cells.moments import Floats, Integers, UsableCells
from polars_ec.cells.values import posterior
from polars_ec.intervals.calibration import BinnedClusters, if_calibrated, variance_of_gaps
from polars_ec.intervals.limits import Limits


def error_if_calibrated(intervals: Intervals) -> Limits:
    """The mean of the calibration error, and what it is below at the level of the intervals, at the groups' own shares."""
    fine, request, number = intervals.fine, intervals.request, intervals.arguments.ece.number
    p = _posterior(fine)
    noise = _summed(fine.group * number + _bins(fine, p, number), fine.weight2 * p * (1 - p), (fine.n_groups, number))
    size = fine.total(fine.weight).sum(axis=-1)
    clusters = None if intervals.by_bucket is None else _clusters(intervals.by_bucket, number)
    return if_calibrated(variance_of_gaps(size, noise, clusters), request.level, request.seed)


def _clusters(cells: UsableCells, number: int) -> BinnedClusters:
    p, n_buckets = _posterior(cells), cells.buckets + 1
    at = (cells.group * n_buckets + cells.bucket) * number + _bins(cells, p, number)
    rows, gaps, noise = (
        _summed(at, values, (cells.n_groups, n_buckets, number))
        for values in (cells.weight, cells.weight * (p - cells.label), cells.weight2 * p * (1 - p))
    )
    # The last are the rows that are in no bucket.
    return BinnedClusters(rows[:, :-1], gaps[:, :-1], noise[:, -1], rows[:, -1].sum(axis=-1))


def _posterior(cells: UsableCells) -> Floats:
    values: Floats = cells.of_each(lambda distinct: distinct.select(p=posterior(cells.grid))["p"])
    return values


def _bins(cells: UsableCells, p: Floats, number: int) -> Integers:
    """The bin of the posterior that each cell is in, by its middle where an edge cuts it."""
    grid, found = cells.grid, np.zeros(len(p), dtype=np.int64)
    for k, edge in enumerate(posterior_edges(number, grid.score_type), start=1):
        certain, possible = cells.placed(grid.declared(edge))
        found += certain | (possible & (p > k / number))
    return found


def _summed(at: Integers, values: Floats, shape: tuple[int, ...]) -> Floats:
    return np.bincount(at, values, int(np.prod(shape))).astype(np.float64).reshape(shape)
