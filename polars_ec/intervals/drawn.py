"""Limits by the bootstrap: what is drawn, of the sums that the other limits are made of too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.arguments import Request
from polars_ec.intervals.bootstrap import Sums, Units, bootstrap
from polars_ec.intervals.estimates import Clusters, Formula, Limits
from polars_ec.intervals.spread import Moments

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

FormulaOf: TypeAlias = Callable[[slice], Formula]
"""The formula of the groups of a slice."""

# Bins of a loss to a nat: within one, losses differ too little to matter to a variance. Where they begin and end.
_LOSS_BINS = 8
_LOSS_RANGE = (-64 * _LOSS_BINS, 8 * _LOSS_BINS)


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
    if clusters is None:
        return _together([_cells(moments)])
    parts = [((clusters.weight > 0).astype(np.float64), clusters.linear)]
    return _together(parts if clusters.single is None else [*parts, _cells(clusters.single)])


def _cells(moments: Moments) -> tuple[Floats, Floats]:
    """How many rows of equal weight each cell says as much as, (groups, cells), and its sums, (groups, cells, classes, decisions)."""
    n_groups, *shape = moments.linear.shape
    weight = moments.linear.reshape(n_groups, -1)
    weight2 = np.diagonal(moments.square, axis1=-2, axis2=-1).reshape(n_groups, -1)
    with np.errstate(all="ignore"):
        number = np.where(weight > 0, weight**2 / weight2, 0.0)
    return number, (weight[..., None] * np.eye(weight.shape[1])).reshape(n_groups, -1, *shape)


def _together(parts: list[tuple[Floats, Floats]]) -> tuple[Units, Sums]:
    number, sums = (np.concatenate([part[at] for part in parts], axis=1) for at in range(2))
    used = number > 0
    units = Units(np.cumsum([0, *used.sum(axis=1)]), number[used])
    return units, Sums.of(units, sums[used])


def drawn_of_losses(
    group: Integers,
    label: Integers,
    loss: Floats,
    weight: Floats,
    weight2: Floats,
    shape: tuple[int, int],
    bucket: Integers | None = None,
) -> tuple[Units, Sums]:
    """What is drawn of features 1 and a loss: rows of one class and about one loss, or clusters (-1: a row is in none).

    Each entry are rows of a group and a class, of which this is the mean loss; `shape` says how many groups and classes there are.
    """
    n_groups, n_classes = shape
    place = np.full(len(loss), -np.inf)
    np.log(loss, where=loss > 0, out=place)
    bins = np.clip(np.floor(place * _LOSS_BINS), *_LOSS_RANGE) - _LOSS_RANGE[0]
    of_rows = bins.astype(np.int64) * n_classes + label
    alone = np.ones(len(loss), dtype=bool) if bucket is None else bucket < 0
    first = 0 if bucket is None else int(bucket.max(initial=-1)) + 1
    code = of_rows + first if bucket is None else np.where(alone, of_rows + first, bucket)
    used = weight > 0
    n_codes = int(code.max(initial=0)) + 1
    found, unit = np.unique((group * n_codes + code)[used], return_inverse=True)
    size = len(found) * n_classes

    def total(values: Floats) -> Floats:
        found = np.bincount(unit * n_classes + label[used], values[used], size)
        return found.astype(np.float64).reshape(-1, n_classes)

    with np.errstate(all="ignore"):
        sums = np.stack([total(weight), total(weight * loss)], axis=-1)
        rows = sums[..., 0].sum(axis=1) ** 2 / np.bincount(unit, weight2[used], len(found))
    number = np.where(found % n_codes >= first, rows, 1.0)
    units = Units(np.searchsorted(found // n_codes, np.arange(n_groups + 1)), number)
    return units, Sums.of(units, sums)
