"""A group against others: against one of them, all others, all, or the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.cells import JointCells
from polars_ec.comparing.differences import Differences, differences
from polars_ec.comparing.sides import Parts, Side, between, exclusive
from polars_ec.comparing.values import Metrics
from polars_ec.formulas.directions import lower_is_better
from polars_ec.intervals.estimates import Clusters, Formula, slopes_of
from polars_ec.intervals.quantiles import t_quantile, two_sided_p
from polars_ec.intervals.spread import Moments

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Against: TypeAlias = "Literal['rest', 'total', 'best'] | Integers"
"""What each group is compared with; or the number of the group that it is, -1 for none."""

# Numbers of pairs of groups that are made at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class Grouped:
    """Metrics of groups, by their columns, that are made of the same sums of w x, (groups, classes, features).

    The formulas are those of the groups, of all others of each, of all together, which is one, and of those with these numbers; they know
    how many rows are wrong there.
    """

    columns: Mapping[str, str]
    moments: Moments
    clusters: Clusters | None
    enlarged: Callable[[Moments], Moments] | None
    own: Formula
    rest: Formula
    total: Formula
    some: Callable[[Floats, Integers], Floats]

    @cached_property
    def side(self) -> Side:
        """The groups themselves."""
        return _side(self.own, self.moments, self.clusters, self.enlarged)

    def others(self) -> Side:
        """All others of each group."""
        clusters = None if self.clusters is None else _other_clusters(self.clusters)
        return _side(self.rest, _others(self.moments), clusters, self.enlarged)


def grouped(cells: JointCells, groups: pl.DataFrame, metrics: Metrics) -> Grouped:
    """Those of a family of a report."""
    model, family = metrics.model, metrics.family
    moments = cells.moments(model, family, np.ones(len(cells.weight), dtype=bool))
    # All is added up over groups but priors, which are the same in all.
    counts = [name for name, dtype in groups.schema.items() if dtype.is_integer() and name.startswith(model.prefix)]
    others = groups.with_columns(pl.Series(name, exclusive(groups[name].to_numpy())) for name in counts)
    whole = groups[:1].with_columns(pl.lit(groups[name].sum()).alias(name) for name in counts)
    return Grouped(
        metrics.columns,
        moments,
        None if cells.shape.buckets is None else cells.clusters(model, family),
        metrics.enlarged,
        partial(metrics.of, groups=groups),
        partial(metrics.of, groups=others),
        partial(metrics.of, groups=whole),
        lambda sums, numbers: metrics.of(sums, groups[numbers]),
    )


def compare_groups(of: Grouped, against: Against, level: float) -> dict[str, Differences]:
    """The differences of each metric of a family, by its column."""
    side, linear = of.side, of.moments.linear
    values = of.own(linear[None])[0]
    places = range(len(of.columns))
    if isinstance(against, np.ndarray):
        return {
            column: with_one(values[:, c], side.parts(c, values[:, c]), against, level)
            for c, column in zip(places, of.columns, strict=True)
        }
    if against == "best":
        return {
            column: with_best(values[:, c], side.parts(c, values[:, c]), lower_is_better(name), level)
            for c, (column, name) in zip(places, of.columns.items(), strict=True)
        }
    other = of.others()
    if against == "rest":
        reference = of.rest(other.moments.linear[None])[0]
    else:
        whole = linear.sum(axis=0, keepdims=True)
        reference = np.broadcast_to(of.total(whole[None])[0], values.shape)
        slopes = slopes_of(of.total, whole)
        slopes = np.broadcast_to(slopes, (len(linear), *slopes.shape[1:]))
        at = side.slopes_at
        # The rows of a group are in the total as well.
        more = replace(side, slopes_at=lambda sums: np.asarray(at(sums) - slopes, dtype=np.float64))
        other = Side(other.moments, other.clusters, lambda _: slopes, None)
    made = {}
    for c, column in zip(places, of.columns, strict=True):
        value, compared = values[:, c], reference[:, c]
        own = side.parts(c, value)
        if against == "rest":
            spread = between(own, other.parts(c, compared))
        else:
            ends = side.at_the_end(c, value)
            both = more.parts_of_difference(c, ends), other.parts_of_difference(c, np.zeros_like(ends))
            spread = between(*both).only(np.isfinite(own.variance))
        made[column] = differences(value, compared, spread, level)
    return made


def _side(
    formula: Formula, moments: Moments, clusters: Clusters | None, enlarged: Callable[[Moments], Moments] | None
) -> Side:
    return Side(moments, clusters, partial(slopes_of, formula), enlarged)


def _others(moments: Moments) -> Moments:
    return Moments(exclusive(moments.linear), exclusive(moments.square), moments.unit)


def _other_clusters(clusters: Clusters) -> Clusters:
    single = None if clusters.single is None else _others(clusters.single)
    return Clusters(exclusive(clusters.linear), exclusive(clusters.weight), clusters.unit, single)


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
