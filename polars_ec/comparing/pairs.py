"""Two models on the same rows: what a row adds to the difference is what it adds to one value less what it adds to the other."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.cells import Bools, JointCells
from polars_ec.comparing.differences import Differences, differences
from polars_ec.comparing.joint_pass import COSTS, numbers_of
from polars_ec.comparing.values import Metrics
from polars_ec.intervals.spread import Moments, Single, of_clusters, rests_on_one_cluster, stratified

Floats: TypeAlias = NDArray[np.float64]


def compare_models(
    cells: JointCells, groups: tuple[pl.DataFrame, pl.DataFrame], models: tuple[Metrics, Metrics], level: float
) -> dict[str, Differences]:
    """The differences of each metric of a family, of a model and its reference, by the metric's column."""
    metrics, reference = models
    family = metrics.family
    values, slopes = zip(
        *(of.at(cells.linear(of.model, family), table) for of, table in zip(models, groups, strict=True)), strict=True
    )
    alone = None if cells.without_key is None else _moments(cells, metrics, reference, cells.without_key)
    linear = [cells.linear_by_bucket(of.model, family) for of in models] if cells.shape.buckets is not None else []
    known, same = cells.known(family), cells.is_reference(metrics.model)
    made = {}
    for c, column in enumerate(metrics.columns):
        of_both = (slopes[0][..., c], slopes[1][..., c])
        single = None if alone is None else _single(alone, _gradient(metrics, *of_both))
        if not linear:
            assert single is not None
            spread = stratified(single.weight, single.weight2, single.influence, single.squared, single.mixed)
        else:
            # Of each model by itself: those of models that are the same then differ by 0.
            influence = [np.einsum("gkf,gbkf->gbk", slope, sums) for slope, sums in zip(of_both, linear, strict=True)]
            weight = cells.weight_by_bucket
            spread = of_clusters(weight, influence[0] - influence[1], weight.sum(axis=-1), single).spread
            for slope, sums in zip(of_both, linear, strict=True):
                unit = np.ones(sums.shape[-1]) if family.decides else np.eye(sums.shape[-1])[0]
                on_one = rests_on_one_cluster(slope, sums, unit, single)
                # Models that are the same differ by 0 there, too.
                spread = spread.only(~on_one | (spread.variance == 0))
        made[column] = differences(values[0][:, c], values[1][:, c], spread.only(known), level, same)
    return made


def _moments(cells: JointCells, metrics: Metrics, reference: Metrics, alone: Bools) -> Moments | tuple[Floats, Floats]:
    """Of both models' decisions, as sums of w and w^2; or of what the difference of two losses is made of."""
    pair = (metrics.model, reference.model)
    if metrics.family.decides:
        return cells.joint_decisions(pair, alone)
    return cells.moments_of_numbers(numbers_of(pair, metrics.family.numbers), alone)


def _gradient(metrics: Metrics, slopes: Floats, reference: Floats) -> Floats:
    """Of the difference, with respect to the features of the joint moments."""
    gap = slopes - reference
    if metrics.family.decides:
        both = slopes[..., :, None] - reference[..., None, :]
        return both.reshape(*both.shape[:2], -1)
    # Of the gaps of numbers that differ; of others how the slopes do.
    differ = np.array([False, *(name != COSTS[0] for name in metrics.family.numbers)])
    return np.where(differ, slopes, gap)


def _single(moments: Moments | tuple[Floats, Floats], gradient: Floats) -> Single:
    if isinstance(moments, Moments):
        return Single.of(moments, gradient)
    weight, weight2 = moments
    sums = (weight, weight2, gradient * weight, gradient**2 * weight2, gradient * weight2)
    return Single(*(of_cells.sum(axis=-1) for of_cells in sums))
