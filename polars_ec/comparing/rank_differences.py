"""Differences of ranking metrics: from the influence of each cell where a metric is smooth, else by leaving out one part of the rows after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.differences import Differences, differences
from polars_ec.comparing.groups import Against, with_best, with_one
from polars_ec.comparing.rank_tables import CellTable, Counts
from polars_ec.comparing.sides import Parts, between, exclusive
from polars_ec.formulas.directions import lower_is_better
from polars_ec.formulas.ranking import RankingArguments
from polars_ec.formulas.ranking_influence import SMOOTH_METRICS
from polars_ec.intervals.limits import limits
from polars_ec.intervals.quantiles import normal_quantile, t_quantile
from polars_ec.intervals.random_parts import PARTS
from polars_ec.intervals.ranks import are_few, newcombe
from polars_ec.intervals.spread import Single, Spread, effective_rows, in_one_cluster, jackknife, of_clusters

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

# That of the limits which variances are taken from.
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Ranked:
    """The cells of one model: all of them, from which the values are; and coarse ones of buckets and of rows that are clusters of their own."""

    n_groups: int
    n_buckets: int | None
    fine: CellTable
    coarse: CellTable
    values: Counts
    keyed: Counts
    single: Counts
    prior: pl.DataFrame | None
    arguments: RankingArguments
    invalid: Floats
    """How many rows are wrong, (groups,)."""

    @cached_property
    def fine_weight(self) -> Floats:
        """(groups, cells)."""
        return self.fine.summed(self.values.group, self.values.code, self.values.weight, self.n_groups)

    @cached_property
    def weight(self) -> Floats:
        """(groups, coarse cells)."""
        return self._of_all("weight")

    @cached_property
    def weight2(self) -> Floats:
        """The same of squared weights."""
        return self._of_all("weight2")

    @cached_property
    def alone(self) -> tuple[Floats, Floats]:
        """The same two of rows that are clusters of their own."""
        of, n_groups = self.single, self.n_groups
        weight, weight2 = (self.coarse.summed(of.group, of.code, w, n_groups) for w in (of.weight, of.weight2))
        return weight, weight2

    @cached_property
    def by_bucket(self) -> Floats:
        """(groups, buckets, classes): weight."""
        return self.per_bucket(np.ones_like(self.weight))

    @cached_property
    def on_one_cluster(self) -> Bools:
        """(groups,): whether all rows of a class are in one bucket."""
        if self.n_buckets is None:
            return np.zeros(self.n_groups, dtype=bool)
        alone, alone2 = (self.per_class(of) for of in self.alone)
        single = Single(alone, alone2, *[np.zeros_like(alone)] * 3)
        return np.asarray(in_one_cluster(self.by_bucket, single).any(axis=-1))

    @cached_property
    def _whole(self) -> Floats:
        """(buckets, coarse cells): weight of all groups."""
        assert self.n_buckets is not None
        n_cells = self.weight.shape[1]
        place = self.keyed.bucket * n_cells + self.keyed.code
        summed = np.bincount(place, self.keyed.weight, self.n_buckets * n_cells)
        return np.asarray(summed, dtype=np.float64).reshape(self.n_buckets, n_cells)

    @cached_property
    def parts(self) -> Floats:
        """(groups, parts, coarse cells): weight."""
        n_cells = self.weight.shape[1]
        shape = (self.n_groups, PARTS, n_cells)
        keyed, single = self.keyed, self.single
        place = np.ravel_multi_index((keyed.group, keyed.bucket % PARTS, keyed.code), shape)
        made = np.bincount(place, keyed.weight, int(np.prod(shape))).astype(np.float64).reshape(shape)
        for part, amounts in enumerate(single.parts):
            made[:, part] += self.coarse.summed(single.group, single.code, amounts, self.n_groups)
        return made

    def per_bucket(self, influence: Floats) -> Floats:
        """(groups, buckets, classes): sums of w psi, of influences (groups, coarse cells)."""
        assert self.n_buckets is not None
        of, shape = self.keyed, (self.n_groups, self.n_buckets, 2)
        place = np.ravel_multi_index((of.group, of.bucket, self.coarse.label[of.code]), shape)
        summed = np.bincount(place, of.weight * influence[of.group, of.code], int(np.prod(shape)))
        return np.asarray(summed, dtype=np.float64).reshape(shape)

    def of_all_buckets(self, influence: Floats) -> Floats:
        """The same of the rows of all groups."""
        labels = [self.coarse.label == i for i in range(2)]
        return np.stack([influence[:, of] @ self._whole[:, of].T for of in labels], axis=-1)

    def per_class(self, of_cells: Floats) -> Floats:
        """(groups, classes): sums over coarse cells, (groups, coarse cells)."""
        return np.stack([of_cells[:, self.coarse.label == i].sum(axis=-1) for i in range(2)], axis=-1)

    def value(self, metric: str, weight: Floats, invalid: Floats, prior: pl.DataFrame | None) -> Floats:
        """Of sums of the fine cells, and of rows that are wrong."""
        return np.where(invalid == 0, self.fine.values(weight, metric, self.arguments, prior), np.nan)

    def influence(self, metric: str, weight: Floats, weight2: Floats, prior: pl.DataFrame | None) -> Floats:
        """Of sums of the coarse cells."""
        return self.coarse.influence(weight, weight2, metric, self.arguments, prior)

    def _of_all(self, name: str) -> Floats:
        summed = [
            self.coarse.summed(of.group, of.code, getattr(of, name), self.n_groups) for of in (self.keyed, self.single)
        ]
        return np.asarray(summed[0] + summed[1], dtype=np.float64)


def compare_ranked_models(model: Ranked, reference: Ranked, metric: str, level: float, same: bool) -> Differences:
    """Of two models on the same rows: `single` of the model has the cells of both. They are the `same` where all their scores are."""
    both = (model, reference)
    values = [of.value(metric, of.fine_weight, of.invalid, of.prior) for of in both]
    if metric in SMOOTH_METRICS:
        influences = [of.influence(metric, of.weight, of.weight2, of.prior) for of in both]
        spread = _of_influences(model, reference, influences)
    else:
        found = [of.coarse.replicates(of.parts, [metric], of.arguments, of.prior)[metric] for of in both]
        spread = jackknife(found[0] - found[1])
    return differences(values[0], values[1], spread, level, same)


def _of_influences(model: Ranked, reference: Ranked, influences: list[Floats]) -> Spread:
    single, n_groups = model.single, model.n_groups
    psi = influences[0][single.group, single.code] - influences[1][single.group, reference.single.code]
    label = model.coarse.label[single.code]

    def per_class(of: Floats) -> Floats:
        summed = np.bincount(single.group * 2 + label, of, n_groups * 2)
        return np.asarray(summed, dtype=np.float64).reshape(n_groups, 2)

    w, w2 = single.weight, single.weight2
    sums = [per_class(of) for of in (w, w2, w * psi, w2 * psi**2, w2 * psi)]
    alone = Single(*sums)
    if model.n_buckets is None:
        return alone.spread
    influence = model.per_bucket(influences[0]) - reference.per_bucket(influences[1])
    weight = model.by_bucket
    spread = of_clusters(weight, influence, weight.sum(axis=-1), alone if len(w) else None).spread
    # Models that are the same differ by 0 there, too.
    return spread.only(~model.on_one_cluster | (spread.variance == 0))


def compare_ranked_groups(ranked: Ranked, metric: str, against: Against, level: float) -> Differences:
    """Of each group and what it is compared with."""
    whole, prior = ranked.fine_weight, ranked.prior
    values = ranked.value(metric, whole, ranked.invalid, prior)
    if isinstance(against, np.ndarray) or against == "best":
        parts = _own_parts(ranked, metric, values)
        if isinstance(against, np.ndarray):
            return with_one(values, parts, against, level)
        return with_best(values, parts, lower_is_better(metric), level)
    if against == "rest":
        reference = ranked.value(metric, exclusive(whole), exclusive(ranked.invalid), prior)
    else:
        first = None if prior is None else prior[:1]
        rows, wrong = (of.sum(axis=0, keepdims=True) for of in (whole, ranked.invalid))
        reference = np.repeat(ranked.value(metric, rows, wrong, first), ranked.n_groups)
    sides = _sides(ranked, metric, against, values, reference)
    return differences(values, reference, between(*sides), level)


def _own_parts(ranked: Ranked, metric: str, values: Floats) -> Parts:
    if metric not in SMOOTH_METRICS:
        found = ranked.coarse.replicates(ranked.parts, [metric], ranked.arguments, ranked.prior)[metric]
        return _of_replicates(found, together=ranked.n_buckets is not None)
    influence = ranked.influence(metric, ranked.weight, ranked.weight2, ranked.prior)
    return _with_few(ranked, metric, values, influence)


def _sides(ranked: Ranked, metric: str, against: Against, values: Floats, reference: Floats) -> tuple[Parts, Parts]:
    """The group, and all others or all."""
    is_rest = against == "rest"
    weight, weight2 = ranked.weight, ranked.weight2
    first = None if ranked.prior is None else ranked.prior[:1]
    if metric not in SMOOTH_METRICS:
        own = ranked.coarse.replicates(ranked.parts, [metric], ranked.arguments, ranked.prior)[metric]
        if is_rest:
            rest = ranked.coarse.replicates(exclusive(ranked.parts), [metric], ranked.arguments, ranked.prior)[metric]
            together = ranked.n_buckets is not None
            return _of_replicates(own, together=together), _of_replicates(rest, together=together)
        whole = ranked.parts.sum(axis=0, keepdims=True)
        total = ranked.coarse.replicates(whole, [metric], ranked.arguments, first)[metric]
        return _of_replicates(own, together=True), _of_replicates(np.repeat(total, len(own), axis=0), together=True)
    own = ranked.influence(metric, weight, weight2, ranked.prior)
    if is_rest:
        rest = ranked.influence(metric, exclusive(weight), exclusive(weight2), ranked.prior)
        side = _with_few(ranked, metric, values, own)
        return side, _with_few(ranked, metric, reference, rest, others=True)
    w, w2 = (of.sum(axis=0, keepdims=True) for of in (weight, weight2))
    total = np.broadcast_to(ranked.influence(metric, w, w2, first), own.shape)
    # The rows of a group are in the total as well.
    more = _more_with_few(ranked, metric, values, own, _of_cells(ranked, own, others=False))
    side = _of_cells(ranked, own - total, others=False)
    side = replace(side, own=np.where(side.variance > 0, side.own, 0.0) + more)
    return side, _of_cells(ranked, np.ascontiguousarray(total), others=True)


def _of_cells(ranked: Ranked, influence: Floats, *, others: bool) -> Parts:
    """Of the group's own rows, or those of all others, with these influences, (groups, coarse cells)."""
    if ranked.n_buckets is None:
        spread = _of_rows(ranked, influence, others=others)
        return Parts(None, spread.variance, spread.df)
    by_bucket, buckets = ranked.per_bucket(influence), _taken(ranked.by_bucket, others=others)
    if others:
        # What all rows have under these influences, less what the group's own have.
        by_bucket = ranked.of_all_buckets(np.nan_to_num(influence)) - by_bucket
    alone = _single(ranked, ranked.alone, influence, others=others) if len(ranked.single.code) else None
    of = of_clusters(buckets, by_bucket, buckets.sum(axis=-1), alone)
    shared, own = of.scaled
    known = _is_known(influence) & (others | ~ranked.on_one_cluster)
    return Parts(np.where(known[:, None], shared, np.nan), np.where(known, own, np.nan), of.df)


def _of_rows(ranked: Ranked, influence: Floats, *, others: bool) -> Spread:
    """The same as of independent rows."""
    rows = _single(ranked, (ranked.weight, ranked.weight2), influence, others=others)
    return rows.spread.only(_is_known(influence))


def _single(ranked: Ranked, weights: tuple[Floats, Floats], influence: Floats, *, others: bool) -> Single:
    """The sums of rows with these weights and squares of them, (groups, coarse cells)."""
    weight, weight2 = (_taken(of, others=others) for of in weights)
    psi = np.where(weight > 0, influence, 0.0)
    sums = (weight, weight2, weight * psi, weight2 * psi**2, weight2 * psi)
    return Single(*(ranked.per_class(of) for of in sums))


def _is_known(influence: Floats) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(influence).any(axis=-1))


def _taken(sums: Floats, *, others: bool) -> Floats:
    return exclusive(sums) if others else sums


def _of_replicates(replicates: Floats, *, together: bool) -> Parts:
    """From values without one part each; `together`: parts are of the same rows, or clusters, on both sides."""
    spread = jackknife(replicates)
    # Parts that make no difference say nothing of what other rows would.
    spread = spread.only(spread.variance > 0)
    if not together:
        return Parts(None, spread.variance, spread.df)
    number = np.isfinite(replicates).sum(axis=-1, keepdims=True)
    away = replicates - np.nansum(replicates, axis=-1, keepdims=True) / number
    shared = np.nan_to_num(away) * np.sqrt((number - 1) / number)
    return Parts(shared, np.where(np.isnan(spread.variance), np.nan, 0.0), spread.df)


def _with_few(ranked: Ranked, metric: str, values: Floats, influence: Floats, *, others: bool = False) -> Parts:
    """With as much variance as the limits of a single value tell of, where rows are few or it is near 0 or 1."""
    parts = _of_cells(ranked, influence, others=others)
    more = _more_with_few(ranked, metric, values, influence, parts, others=others)
    return replace(parts, own=np.where(parts.variance > 0, parts.own, 0.0) + more)


def _more_with_few(
    ranked: Ranked, metric: str, values: Floats, influence: Floats, parts: Parts, *, others: bool = False
) -> Floats:
    """How much more than the variance of a value that is; NaN where nothing is known of it.

    Limits of an AUC are Newcombe's, and others' those on the scale of logits: the further of the two is what counts.
    """
    variance = parts.variance
    if metric != "auc_roc":
        low, high = limits(values, Spread(variance, parts.df), "logit", _LEVEL)
        half = t_quantile(0.5 + _LEVEL / 2, parts.df)
        more = np.fmax((np.fmax(high - values, values - low) / half) ** 2 - variance, 0)
        return np.where(variance > 0, more, np.nan)
    weight, weight2 = (ranked.per_class(_taken(of, others=others)) for of in (ranked.weight, ranked.weight2))
    rows = effective_rows(weight, weight2)
    if ranked.n_buckets is not None:
        # As many independent rows as say as much; where neither is anything, as there are clusters.
        larger = variance / _of_rows(ranked, influence, others=others).variance
        clusters = np.fmin(rows, np.fmax(parts.df + 1, 1)[:, None])
        rows = np.where((larger > 0)[:, None], np.fmax(rows / np.fmax(larger, 1)[:, None], 1), clusters)
    fewest, least = rows.min(axis=-1), np.minimum(values, 1 - values)
    few = are_few(fewest, least)
    low, high = newcombe(values, rows, _LEVEL)
    at_least = (np.fmax(high - values, values - low) / normal_quantile(0.5 + _LEVEL / 2)) ** 2
    more = np.where(few, np.fmax(at_least - np.nan_to_num(variance), 0), 0.0)
    known = np.isfinite(values) & ~np.isnan(parts.df)
    return np.where(known, more, np.nan)
