"""Limits by the bootstrap: what is drawn, of the sums that the other limits are made of too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.arguments import Request
from polars_ec.intervals.bootstrap import DenseSums, OneSumEach, Sums, Units, bootstrap
from polars_ec.intervals.estimates import Clusters, Formula
from polars_ec.intervals.limits import Limits
from polars_ec.intervals.spread import Moments

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

FormulaOf: TypeAlias = Callable[[slice], Formula]
"""The formula of the groups of a slice."""

# Bins of a loss to a nat: within one, losses are nearly alike. The first and the last.
_BINS = 8
_RANGE = (-64 * _BINS, 8 * _BINS)
# The smallest ones, that have this share of the sum of squares, are one bin.
_SMALL = 1e-3


def limits_of_draws(formula_of: FormulaOf, units: Units, sums: Sums, estimates: Floats, request: Request) -> Limits:
    """The limits of metrics, (groups, metrics); NaN where there are none. `estimates` are their values, NaN for null."""
    low, high = bootstrap(
        lambda drawn, groups: formula_of(groups)(drawn),
        units,
        sums,
        level=request.level,
        corrected=request.method == "bca",
        replicates=request.replicates,
        seed=request.seed,
    )
    known = np.isfinite(estimates)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def drawn_of_decisions(moments: Moments, clusters: Clusters | None) -> tuple[Units, Sums]:
    """What is drawn of one-hot features: rows of a class and a decision, which are alike; or clusters."""
    n_groups, *shape = moments.linear.shape
    if clusters is None:
        number, amount = _cells(moments)
        used = number > 0
        units = _units(used, number)
        return units, OneSumEach(units, np.nonzero(used)[1], amount[used], tuple(shape))
    number, sums = (clusters.weight > 0).astype(np.float64), clusters.linear
    if clusters.single is not None:
        rows, amount = _cells(clusters.single)
        alone = (amount[..., None] * np.eye(amount.shape[1])).reshape(n_groups, amount.shape[1], *shape)
        number, sums = np.concatenate([number, rows], axis=1), np.concatenate([sums, alone], axis=1)
    units = _units(number > 0, number)
    return units, DenseSums.of(units, sums[number > 0])


def _cells(moments: Moments) -> tuple[Floats, Floats]:
    """Of each class and decision, (groups, cells): how many rows of equal weight say as much, and the weight."""
    n_groups, *shape = moments.linear.shape
    weight = moments.linear.reshape(n_groups, math.prod(shape))
    weight2 = np.diagonal(moments.square, axis1=-2, axis2=-1).reshape(weight.shape)
    with np.errstate(all="ignore"):
        return np.where(weight > 0, weight**2 / weight2, 0.0), weight


def _units(used: Booleans, number: Floats) -> Units:
    return Units(np.cumsum([0, *used.sum(axis=1)]), number[used])


def drawn_of_values(
    group: Integers,
    label: Integers,
    values: Sequence[Floats],
    weight: Floats,
    squares: Sequence[tuple[Floats, Floats]],
    weight2: Floats,
    shape: tuple[int, int],
    bucket: Integers | None = None,
) -> tuple[Units, Sums]:
    """What is drawn of features 1 and some that are 0 or more: rows of a class that have about the same, or clusters (-1: in none).

    Each entry are rows of a group and a class, of which `values` are the means, and `squares` the sums of w^2 x and of w^2 x^2; `shape`
    says how many groups and classes there are.
    """
    n_groups, n_classes = shape
    of_rows = label
    for value in values:
        bins = np.where(_is_small(value, weight, group * n_classes + label), 0, _bins(value))
        of_rows = of_rows * (_RANGE[1] - _RANGE[0] + 1) + bins
    alone = np.ones(len(label), dtype=bool) if bucket is None else bucket < 0
    # Buckets come first, then rows.
    kind = np.where(alone, of_rows, 0 if bucket is None else bucket)
    used = weight > 0
    keys = np.stack([group, alone, kind], axis=1)[used]
    found, unit = np.unique(keys, axis=0, return_inverse=True)
    # NumPy 2.0.0 has an axis more.
    place, size = unit.reshape(-1) * n_classes + label[used], len(found) * n_classes
    with np.errstate(all="ignore"):

        def summed(of: Floats) -> Floats:
            return np.asarray(np.bincount(place, of[used], size).reshape(-1, n_classes), dtype=np.float64)

        sums = np.stack([summed(of) for of in (weight, *(weight * value for value in values))], axis=-1)
        of_weight = summed(weight2)
        rows = sums[..., 0].sum(axis=1) ** 2 / of_weight.sum(axis=1)
        is_row = found[:, 1] == 1
        off = np.zeros_like(sums)
        for f, (once, twice) in enumerate(squares, start=1):
            mean, whole = sums[..., f] / sums[..., 0], summed(twice)
            left = whole - 2 * mean * summed(once) + mean**2 * of_weight
            # What rounding leaves of rows that are all alike; and clusters are drawn as they are.
            off[..., f] = np.sqrt(np.where(is_row[:, None] & (left > 1e-12 * whole), left, 0.0))
    units = Units(np.searchsorted(found[:, 0], np.arange(n_groups + 1)), np.where(is_row, rows, 1.0))
    return units, DenseSums.of(units, sums, off if off.any() else None)


def _bins(value: Floats) -> Integers:
    place = np.full(len(value), -np.inf)
    np.log(value, where=value > 0, out=place)
    bins = np.clip(np.floor(place * _BINS), *_RANGE) - _RANGE[0]
    return np.asarray(bins, dtype=np.int64)


def _is_small(value: Floats, weight: Floats, of: Integers) -> Booleans:
    """Whether the squares of values up to this one are a small share of those of all with this number."""
    order = np.lexsort((value, of))
    with np.errstate(all="ignore"):
        squares = np.cumsum((weight * value**2)[order])
        starts = np.flatnonzero(np.diff(of[order], prepend=-1))
        length = np.diff(starts, append=len(of))
        before, after = np.append(0.0, squares)[starts], np.append(0.0, squares)[starts + length]
        small = squares - np.repeat(before, length) < _SMALL * np.repeat(after - before, length)
    found = np.zeros(len(of), dtype=bool)
    found[order] = small
    return found
