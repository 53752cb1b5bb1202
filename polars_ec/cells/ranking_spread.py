"""Spread and limits of ranking metrics, from cells: influence of each cell where a metric is smooth, else the jackknife."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.moments import floats
from polars_ec.cells.ranking_parts import CELL, Clustered, RankedCells, Ranking, Replicates, replicates_of
from polars_ec.formulas.ranking import prepare
from polars_ec.formulas.ranking_influence import (
    OPERATING_POINTS,
    SHARE_VARIANCE,
    SMOOTH_METRICS,
    influence,
    influence_on_share,
)
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.ranks import OPTIMISTIC, auc_limits, ranking_limits_of, summed, widened
from polars_ec.intervals.spread import (
    Moments,
    Single,
    Spread,
    effective_clusters,
    in_one_cluster,
    spread_of_clusters,
    stratified,
)

Floats: TypeAlias = NDArray[np.float64]

_PART = "part"
_UNIT = np.array([1.0, 0.0])
# Of an area, in all rows together: rounding.
_NO_INFLUENCE = 1e-9


@np.errstate(all="ignore")
def ranking_limits(ranking: Ranking, values: pl.DataFrame, level: float, seed: int = 0) -> pl.DataFrame:
    """GROUP and, of each metric, `NAME_ci_low` and `NAME_ci_high`; groups without limits are null, or are left out.

    `values` has GROUP, `NAME` and `NAME_error` of each metric.
    """
    spreads, replicates = ranking_spreads(ranking, seed)
    table = pl.DataFrame({GROUP: ranking.ranked.group_ids})
    estimates = table.join(values, on=GROUP, how="left", maintain_order="left")
    for name, spread in spreads.items():
        value, error = (floats(estimates[column]) for column in (name, f"{name}_error"))
        if name == "auc_roc":
            low, high = auc_limits(value, spread, _independent_rows(ranking, spread), level)
        else:
            is_too_good = name in OPTIMISTIC and (name, ranking.arguments.method) != ("eer", "linear")
            low, high = ranking_limits_of(name, value, spread, replicates.bias(name) if is_too_good else None, level)
        low, high = widened(name, low, high, error)
        table = table.with_columns(
            pl.Series(f"{name}_ci_{end}", of).fill_nan(None) for end, of in (("low", low), ("high", high))
        )
    return table


@np.errstate(all="ignore")
def ranking_spreads(ranking: Ranking, seed: int = 0) -> tuple[dict[str, Spread], Replicates]:
    """The spread of each metric in each group; and replicates of those that have theirs from these, or that are too good."""
    prepared = prepare(ranking.ranked.frame, ranking.prior)
    smooth = {
        name: _of_influence(ranking.ranked, _of_cells(ranking.ranked, _influence(ranking, prepared, name)))
        for name in ranking.metrics
        if name in SMOOTH_METRICS
    }
    left_out = [name for name in ranking.metrics if name in OPTIMISTIC or name not in smooth]
    replicates = replicates_of(ranking, left_out, seed)
    spreads = {name: smooth[name] if name in smooth else replicates.spread(name) for name in ranking.metrics}
    return spreads, replicates


@np.errstate(all="ignore")
def ranking_influence(ranking: Ranking, metric: str) -> pl.DataFrame:
    """The influence of a row of weight 1 in each cell on one of SMOOTH_METRICS: GROUP, `class`, the cell, `influence`.

    The sum of weight times influence over a group is 0. Buckets are taken together.
    """
    found = _influence(ranking, prepare(ranking.ranked.frame, ranking.prior), metric)
    return pl.concat(
        found.filter(pl.col(f"w{i}") > 0).select(
            GROUP, pl.lit(i, dtype=pl.Int8).alias("class"), *ranking.grid.cell_columns, influence=f"influence{i}"
        )
        for i in range(2)
    )


@np.errstate(all="ignore")
def ranking_replicates(ranking: Ranking, seed: int = 0) -> pl.DataFrame:
    """GROUP, `part` from 0 to 19, `weight` of what is in that part, and each metric without it; null where it is not defined.

    The parts are those of `bucket` mod 20, and of independent rows, or rows without a key, a random split that follows from the cells.
    """
    found = replicates_of(ranking, ranking.metrics, seed)
    groups, parts = found.weight.shape
    return pl.DataFrame(
        {
            GROUP: ranking.ranked.group_ids.gather(np.repeat(np.arange(groups), parts)),
            _PART: np.tile(np.arange(parts, dtype=np.int16), groups),
            "weight": found.weight.ravel(),
            **{name: of.ravel() for name, of in found.values.items()},
        }
    ).with_columns(pl.col(*ranking.metrics).fill_nan(None))


def _influence(ranking: Ranking, prepared: pl.DataFrame, metric: str) -> pl.DataFrame:
    """`prepared` with the influence of the rows of its cells."""
    ranked, arguments = ranking.ranked, ranking.arguments
    if metric in OPERATING_POINTS:
        on_share = _of_influence(ranked, _of_cells(ranked, influence_on_share(prepared, metric, arguments)))
        variance = pl.DataFrame({GROUP: ranked.group_ids, SHARE_VARIANCE: on_share.variance}).fill_nan(None)
        prepared = prepared.join(variance, on=GROUP, how="left", maintain_order="left")
    return influence(prepared, metric, arguments, stated=ranking.prior is not None)


def _of_cells(ranked: RankedCells, found: pl.DataFrame) -> Floats:
    """The influence, (cells, classes); NaN in groups that lack a class."""
    of_cells = np.full((ranked.frame.height, 2), np.nan)
    of_cells[found[CELL].to_numpy()] = found.select("influence0", "influence1").to_numpy()
    return of_cells


def _of_influence(ranked: RankedCells, influence: Floats) -> Spread:
    """From the influence of a row in each cell, (cells, classes)."""
    if ranked.clustered is not None:
        return _of_clusters(ranked, ranked.clustered, influence)
    return _of_rows(ranked, influence)


def _of_rows(ranked: RankedCells, influence: Floats) -> Spread:
    weight, weight2 = (ranked.frame.select(f"{x}0", f"{x}1").to_numpy() for x in "wv")

    def per_group(of: Floats) -> Floats:
        # A class that has no rows in a cell has no influence there either.
        used = np.where(weight > 0, of, 0.0)
        return np.stack([summed(ranked.group, used[:, i], ranked.size) for i in range(2)], axis=-1)

    return stratified(
        *(per_group(of) for of in (weight, weight2, weight * influence, weight2 * influence**2, weight2 * influence))
    )


def _of_clusters(ranked: RankedCells, clustered: Clustered, influence: Floats) -> Spread:
    """With the features 1 and psi of a row."""
    with_key, alone = clustered.only(clustered.bucket >= 0), clustered.only(clustered.bucket < 0)
    linear = np.stack([_per_bucket(ranked, with_key, of) for of in _moments_of(with_key, influence)], axis=-1)
    single = None
    if len(alone.cell):
        psi = influence[alone.cell, alone.label]
        sums = [_per_class(ranked, alone, alone.weight2 * psi**power) for power in range(3)]
        square = np.stack([np.stack(sums[:2], axis=-1), np.stack(sums[1:], axis=-1)], axis=-1)
        linear_of_rows = [_per_class(ranked, alone, of) for of in _moments_of(alone, influence)]
        single = Moments(np.stack(linear_of_rows, axis=-1), square, _UNIT)
    gradient = np.broadcast_to(1 - _UNIT, (ranked.size, 2, 2))
    spread = spread_of_clusters(gradient, linear[..., 0].sum(axis=-1), linear, _UNIT, single)
    # Influences of a class add up to 0, in one bucket too.
    differs = _per_class(ranked, clustered, np.abs(_moments_of(clustered, influence)[1])) > _NO_INFLUENCE
    alone_of = None if single is None else Single.of(single, gradient)
    return spread.only(np.asarray(~(in_one_cluster(linear[..., 0], alone_of) & differs).any(axis=-1)))


def _moments_of(of: Clustered, influence: Floats) -> tuple[Floats, Floats]:
    """W and w psi."""
    return of.weight, of.weight * influence[of.cell, of.label]


def _per_bucket(ranked: RankedCells, of: Clustered, amounts: Floats) -> Floats:
    """(groups, buckets, classes): their sums."""
    shape = (ranked.size, int(of.bucket.max(initial=0)) + 1, 2)
    place = (ranked.group[of.cell] * shape[1] + of.bucket) * 2 + of.label
    return summed(place, amounts, int(np.prod(shape))).reshape(shape)


def _per_class(ranked: RankedCells, of: Clustered, amounts: Floats) -> Floats:
    """(groups, classes): their sums."""
    return summed(ranked.group[of.cell] * 2 + of.label, amounts, ranked.size * 2).reshape(ranked.size, 2)


def _independent_rows(ranking: Ranking, spread: Spread) -> Floats:
    """(groups, classes): how many independent rows say as much as these do of the AUC.

    In clusters, fewer by as much as the variance is larger than that of independent rows; where neither is anything, as many as there
    are effective clusters; NaN where these are too few.
    """
    ranked = ranking.ranked
    rows = ranked.rows()
    if ranked.clustered is None:
        return rows
    of_cells = _of_cells(ranked, influence(prepare(ranked.frame, None), "auc_roc", ranking.arguments, stated=False))
    with_key = ranked.clustered.only(ranked.clustered.bucket >= 0)
    alone = ranked.clustered.only(ranked.clustered.bucket < 0)
    weight = _per_bucket(ranked, with_key, with_key.weight)
    one, squared = (_per_class(ranked, alone, of) for of in (alone.weight, alone.weight2))
    clusters = [effective_clusters(weight[..., i], one[:, i], squared[:, i]) for i in range(2)]
    larger = spread.variance / _of_rows(ranked, of_cells).variance
    fewer = rows / np.fmax(larger, 1)[:, None]
    fewest = np.fmin(rows, np.stack(clusters, axis=-1))
    effective = np.where((larger > 0)[:, None] & np.isfinite(fewer), np.fmax(fewer, 1), fewest)
    return np.where(np.isnan(spread.variance)[:, None], np.nan, effective)
