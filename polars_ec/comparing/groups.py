"""A group against others: against one of them, all others, all, or the best."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.cells import JointCells
from polars_ec.comparing.differences import Differences, differences
from polars_ec.comparing.sides import Parts, Side, between, exclusive
from polars_ec.comparing.values import Metrics
from polars_ec.formulas.decisions import DECISIONS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.estimates import Clusters
from polars_ec.intervals.quantiles import t_quantile, two_sided_p
from polars_ec.intervals.spread import Moments

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Against: TypeAlias = "Literal['rest', 'total', 'best'] | Integers"
"""What each group is compared with; or the number of the group that it is, -1 for none."""

# Numbers of pairs of groups that are made at a time.
_BLOCK = 2**22

_LOSSES_OF_RANKS = ("eer", "min_expected_cost", "min_dcf", "min_cllr")


def compare_groups(
    cells: JointCells, groups: pl.DataFrame, metrics: Metrics, against: Against, level: float
) -> dict[str, Differences]:
    """The differences of each metric of a family, by its column."""
    model, family = metrics.model, metrics.family
    every = np.ones(len(cells.weight), dtype=bool)
    moments = cells.moments(model, family, every)
    clusters = None if cells.shape.buckets is None else cells.clusters(model, family)
    side = _side(metrics, moments, clusters, groups)
    values = metrics.of(moments.linear[None], groups)[0]
    if isinstance(against, np.ndarray) or against == "best":
        parts = [side.parts(c, values[:, c]) for c in range(len(metrics.columns))]
        named = zip(metrics.columns.items(), parts, range(len(parts)), strict=True)
        if isinstance(against, np.ndarray):
            return {column: with_one(values[:, c], of, against, level) for (column, _), of, c in named}
        return {column: with_best(values[:, c], of, lower_is_better(name), level) for (column, name), of, c in named}
    rest = _others(moments)
    rest_clusters = None if clusters is None else _other_clusters(clusters)
    if against == "rest":
        others = groups.with_columns(pl.Series(name, exclusive(groups[name].to_numpy())) for name in _counts(groups))
        other = _side(metrics, rest, rest_clusters, others)
        reference = metrics.of(rest.linear[None], others)[0]
    else:
        whole = groups[:1].with_columns(pl.lit(groups[name].sum()).alias(name) for name in _counts(groups))
        value, of_whole = metrics.at(moments.linear.sum(axis=0, keepdims=True), whole)
        reference, slopes_of_whole = np.broadcast_to(value, values.shape), np.broadcast_to(of_whole, side.slopes.shape)
        # The rows of a group are in the total as well.
        own = side.slopes_at
        side = replace(
            side,
            slopes=side.slopes - of_whole,
            slopes_at=lambda sums: np.asarray(own(sums) - of_whole, dtype=np.float64),
        )
        other = Side(rest, rest_clusters, slopes_of_whole, lambda _: slopes_of_whole, None)
    return {
        column: differences(
            values[:, c],
            reference[:, c],
            between(side.parts(c, values[:, c]), other.parts(c, reference[:, c])),
            level,
        )
        for c, column in enumerate(metrics.columns)
    }


def _side(metrics: Metrics, moments: Moments, clusters: Clusters | None, groups: pl.DataFrame) -> Side:
    def slopes_at(sums: Floats) -> Floats:
        return metrics.at(sums, groups)[1]

    return Side(moments, clusters, slopes_at(moments.linear), slopes_at, metrics.family.enlarged)


def _others(moments: Moments) -> Moments:
    return Moments(exclusive(moments.linear), exclusive(moments.square), moments.unit)


def _other_clusters(clusters: Clusters) -> Clusters:
    single = None if clusters.single is None else _others(clusters.single)
    return Clusters(exclusive(clusters.linear), exclusive(clusters.weight), clusters.unit, single)


def _counts(groups: pl.DataFrame) -> list[str]:
    """What is added up over groups: all but priors, which are the same in all."""
    return [name for name, dtype in groups.schema.items() if dtype.is_integer() and name != GROUP]


def with_one(values: Floats, parts: Parts, against: Integers, level: float) -> Differences:
    """Each group with the group of this number."""
    exists = against >= 0
    other = np.where(exists, against, 0)
    spread = between(parts, parts.taken(other)).only(exists)
    reference = np.where(exists, values[other], np.nan)
    # The group itself is its own reference.
    return replace(differences(values, reference, spread, level), reference=against)


def with_best(values: Floats, parts: Parts, lower_is_better: bool, level: float) -> Differences:
    """How far each group is from the best one of all, limits and adjusted p-values being right for all pairs of groups at once.

    The best value may be that of a group that is not the best one in truth. So the limits are of the distance to that one, whichever
    it is: with each pair's difference inside its limits, which a share of the level is given to (Bonferroni), the distance of a group
    is beyond the worst of its limits and this side of 0. So it is for the group of the best value too.
    """
    n_groups = len(values)
    known = np.isfinite(values) & np.isfinite(parts.variance)
    reference = np.full(n_groups, -1)
    low, high, p = np.full((3, n_groups), np.nan)
    if not known.any():
        return Differences(values, np.full(n_groups, np.nan), low, high, p, reference, p)
    chosen = np.flatnonzero(known)
    sign = -1.0 if lower_is_better else 1.0
    best = int(chosen[np.argmax(sign * values[chosen])])
    n_pairs = max(len(chosen) * (len(chosen) - 1) // 2, 1)
    others = parts.taken(chosen)
    width = 1 if parts.shared is None else parts.shared.shape[1]
    at_once = max(_BLOCK // (len(chosen) * width), 1)
    for start in range(0, len(chosen), at_once):
        some = chosen[start : start + at_once]
        spread = between(parts.taken(some[:, None]), others)
        gaps = sign * (values[some][:, None] - values[chosen])
        df = np.fmax(spread.df, 1)
        # The small tail, which has the digits.
        half = -t_quantile((1 - level) / 2 / n_pairs, df) * spread.standard_error
        half = np.where(some[:, None] == chosen, 0.0, half)
        far, near = np.nanmin(gaps - half, axis=1), np.minimum(np.nanmin(gaps + half, axis=1), 0.0)
        low[some], high[some] = (far, near) if sign > 0 else (0.0 - near, 0.0 - far)
        to_best = np.flatnonzero(chosen == best)[0]
        p[some] = two_sided_p(gaps[:, to_best] / spread.standard_error[:, to_best], df[:, to_best])
    p[best] = 1.0
    reference[known] = best
    value = np.where(known, values[best], np.nan)
    return Differences(values, value, low, high, p, reference, np.minimum(p * n_pairs, 1.0))


def lower_is_better(name: str) -> bool:
    """Whether the metric of this name is a loss."""
    if name in SCORING_RULES:
        return True
    formula = DECISIONS.get(name) or OF_CLASSES.get(name)
    return formula.better == "lower" if formula is not None else name in _LOSSES_OF_RANKS
