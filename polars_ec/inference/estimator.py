"""Estimates of metrics of groups: intervals, differences, and components of differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal, TypeAlias

from polars_ec.arguments.keywords import Request
from polars_ec.formulas.decisions import Scale
from polars_ec.inference.bootstrap import Resampled, bootstrap_limits, resampled_decisions
from polars_ec.inference.confidence import (
    FEWEST_CLUSTERS,
    Clusters,
    Estimate,
    Formula,
    Limits,
    Moments,
    Singletons,
    Variance,
    VarianceComponents,
    at_boundary,
    cluster_influence,
    effective_clusters,
    effective_rows,
    extended,
    is_degenerate,
    jackknife,
    limits,
    random_parts,
    rescaled_to,
    slopes_of,
    t_quantile,
    two_sided_p,
)
from polars_ec.inference.decomposition import ChangePart, StratifiedEstimate, decompose
from polars_ec.numerics import Bools, Floats, Integers, np

Against: TypeAlias = "Literal['rest', 'total', 'best', 'highest', 'lowest'] | Integers"
"""The reference of each group, by name or by the number of a group, -1 for none."""

Others: TypeAlias = "tuple[Floats, Callable[[Floats, Floats], Callable[[int], Variance]]]"
"""The values of what is no group, and from numbers x and y the variance of value / x - reference / y of a metric."""

# The rounding error of a zero difference, relative to the values; and what divides instead of an error of 0.
_EQUAL, _LEAST_ERROR = 1e-12, 1e-200

# With more sums than this, gradients take longer than the jackknife, which uses fewer parts the more sums there are.
MOST_SLOPES, JACKKNIFE_PARTS = 200, 100
_MOST_IN_PARTS, _FEWER_PARTS = 2_500, 20

# Numbers of pairs of groups that are made at a time.
_BLOCK = 2**18


@dataclass(frozen=True)
class Differences:
    """One metric of each group and of what it is compared with, the group of number `reference` if it is one (-1 for none); NaN for null."""

    value: Floats
    value_reference: Floats
    low: Floats
    high: Floats
    p: Floats
    reference: Integers | None = None
    p_adjusted: Floats | None = None
    ratio_low: Floats | None = None
    ratio_high: Floats | None = None

    @property
    def difference(self) -> Floats:
        """Value minus reference."""
        with np.errstate(all="ignore"):
            return np.asarray(self.value - self.value_reference, dtype=np.float64)

    @property
    def ratio(self) -> Floats:
        """Value over reference; NaN if the reference is not positive, or the value is negative."""
        with np.errstate(all="ignore"):
            return np.where((self.value >= 0) & (self.value_reference > 0), self.value / self.value_reference, np.nan)

    def with_ratio(self, logarithms: Differences) -> Differences:
        """Add the bounds of the ratio from those of the difference of the logarithms.

        Bounds that hold for all pairs of groups at once need the logarithm of each group that has a bound of the difference.
        """
        with np.errstate(all="ignore"):
            low, high = extended(np.exp(logarithms.low), np.exp(logarithms.high), self.ratio)
        known = np.isfinite(self.low) & np.isfinite(low + high)
        known &= self.p_adjusted is None or not (np.isfinite(self.low) & np.isnan(logarithms.low)).any()
        return replace(self, ratio_low=np.where(known, low, np.nan), ratio_high=np.where(known, high, np.nan))

    @classmethod
    def tested(
        cls, value: Floats, reference: Floats, variance: Variance, level: float, *, same: bool = False
    ) -> Differences:
        """Add bounds and p-values; a variance of 0 gives none, unless a model is compared with itself (`same`), which always differs by 0."""
        with np.errstate(all="ignore"):
            gap = value - reference
            size = np.fmax(np.abs(value), np.abs(reference))
            degenerate = is_degenerate(variance.variance, size)
            equal = degenerate & (np.abs(gap) <= _EQUAL * size) & same
            variance = variance.only(np.isfinite(gap) & (~degenerate | equal))
            low, high = limits(gap, variance, "identity", level)
            p = two_sided_p(gap / variance.standard_error, np.fmax(variance.df, 1))
        # The engine adds up the same values in another order each time.
        low, high, p = np.where(equal, 0.0, low), np.where(equal, 0.0, high), np.where(equal, 1.0, p)
        return cls(np.where(equal, reference, value), reference, low, high, np.where(np.isnan(low), np.nan, p))


def adjusted(p: Floats) -> Floats:
    """Adjust p-values for how many there are: the false discovery rate (Benjamini and Hochberg)."""
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    times = len(order) / np.arange(1, len(order) + 1)
    values = np.full_like(p, np.nan)
    values[order] = np.minimum(np.minimum.accumulate((p[order] * times)[::-1])[::-1], 1.0)
    return values


@dataclass(frozen=True)
class MetricChange:
    """One metric of each period: its difference from the reference, and the components by factor, for periods with a reference."""

    differences: Differences
    by_factor: Mapping[str, ChangePart]

    def only(self, known: Bools, pairs: Bools) -> MetricChange:
        """Keep bounds and p-values only where they are known, for all periods and for those with a reference."""
        of = self.differences
        low, high, p = (np.where(known, values, np.nan) for values in (of.low, of.high, of.p))
        change_parts = {
            factor: replace(part, low=np.where(pairs, part.low, np.nan), high=np.where(pairs, part.high, np.nan))
            for factor, part in self.by_factor.items()
        }
        return MetricChange(replace(of, low=low, high=high, p=p), change_parts)


@dataclass(frozen=True, eq=False)
class Estimator(Estimate):
    """Estimates with their intervals, differences and decompositions.

    `rest` and `total` are formulas for all other groups of each, and for all as one; `resampled` gives the bootstrap's units, if not decisions.
    """

    rest: Formula | None = None
    total: Formula | None = None
    resampled: Callable[[], Resampled] | None = None

    # Intervals

    def interval(self, scales: Sequence[Scale], request: Request, values: Floats | None = None) -> Limits:
        """Limits of the metrics, (groups, metrics), which hold their values; NaN where there are none."""
        # Losses that are all equal within the classes say nothing of what other rows would lose.
        known = self.moments.varies[:, None] | (self.with_pseudocounts is not None)
        if self.clusters is not None:
            known = known & ~self.rests_on_one
        values = np.where(known, self.values if values is None else values, np.nan)
        if request.is_resampled:
            resampled = resampled_decisions(self.moments, self.clusters) if self.resampled is None else self.resampled()
            return bootstrap_limits(self.formula_of, *resampled, values, request)
        if np.prod(self.moments.linear.shape[1:]) > MOST_SLOPES:
            return self._jackknife_limits(scales, request, values)
        if self.clusters is None:
            return self._row_limits(scales, request.level, values)
        return self._cluster_limits(self.clusters, scales, request.level, values)

    def _row_limits(self, scales: Sequence[Scale], level: float, values: Floats) -> Limits:
        moments, slopes = self.smoothed
        n_classes = moments.linear.shape[1]
        moved = values
        if self.with_pseudocounts is not None:
            moved = self.formula(moments.linear[None])[0]
            if n_classes > 2:
                # With many classes pseudo-counts would move the value by more than its noise, so they are used only at the boundary.
                at_ends = [at_boundary(scale, value) for scale, value in zip(scales, values.T, strict=True)]
                moved = np.where(np.stack(at_ends, axis=-1), moved, values)
        variances = (moments.variance(slopes[..., m]) for m in range(len(scales)))
        # With two classes the interval is centred on the value with pseudo-counts, which is further from the boundary.
        skewed = self.with_pseudocounts is not None and n_classes == 2
        moved = np.where(self.known[:, None], moved, np.nan)
        return _limits_of_each(values, moved, variances, scales, level, skewed)

    def _cluster_limits(self, clusters: Clusters, scales: Sequence[Scale], level: float, values: Floats) -> Limits:
        """Confidence intervals for clusters; at the boundary, such as rates of 0 or 1, those of as many independent rows as there are clusters."""
        variances = [clusters.variance(self.slopes[..., m]) for m in range(len(scales))]
        lows, highs = _limits_of_each(values, np.where(self.known[:, None], values, np.nan), variances, scales, level)
        ends = np.zeros(values.shape, dtype=bool)
        for m, (value, variance, scale) in enumerate(zip(values.T, variances, scales, strict=True)):
            shown = self.known & np.isfinite(value) & np.isfinite(variance.df)
            ends[:, m] = shown & (is_degenerate(variance.variance, value) | at_boundary(scale, value))
        groups = np.flatnonzero(ends.any(axis=-1))
        if self.with_pseudocounts is None:
            return np.where(ends, np.nan, lows), np.where(ends, np.nan, highs)
        if not len(groups):
            return lows, highs
        fewer = rescaled_to(clusters.number, self.moments).taken(groups)

        def of_some(sums: Floats) -> Floats:
            # On the whole table: Polars divides by a column of one row with another last digit.
            every = np.ones((len(sums), len(values), *sums.shape[2:]))
            every[:, groups] = sums
            return self.formula(every)[:, groups]

        of_rows = Estimator(lambda _: of_some, fewer, None, self.with_pseudocounts)
        for limit, instead in zip((lows, highs), of_rows._row_limits(scales, level, values[groups]), strict=True):
            limit[groups] = np.where(ends[groups], instead, limit[groups])
        return lows, highs

    def _jackknife_limits(self, scales: Sequence[Scale], request: Request, values: Floats) -> Limits:
        """Confidence intervals by the jackknife over parts of the rows."""
        decides, clusters = self.with_pseudocounts is not None, self.clusters
        n_parts = JACKKNIFE_PARTS if np.prod(self.moments.linear.shape[1:]) <= _MOST_IN_PARTS else _FEWER_PARTS
        if clusters is None and not decides:
            return np.full_like(values, np.nan), np.full_like(values, np.nan)
        number = None
        if clusters is None:
            part_sums = _random_parts(self.moments, n_parts, request.seed)
        else:
            part_sums = clusters.linear
            if n_parts < JACKKNIFE_PARTS:
                part = np.arange(part_sums.shape[1]) % n_parts
                part_sums = np.stack([part_sums[:, part == p].sum(axis=1) for p in range(n_parts)], axis=1)
            if clusters.singletons is not None and decides:
                part_sums = part_sums + _random_parts(clusters.singletons, part_sums.shape[1], request.seed)
            elif clusters.singletons is not None:
                # For losses the assignment of rows to parts is unknown.
                values = np.where(clusters.singletons.weight.sum(axis=-1)[:, None] > 0, np.nan, values)
            number = effective_clusters((part_sums @ self.moments.unit).sum(axis=-1))
        low, high = self._limits_without(part_sums, number, values, scales, request.level)
        if not decides:
            return low, high
        rows = self.moments if clusters is None else rescaled_to(clusters.number, self.moments)
        least, most = self._boundary_limits(rows, values, scales, request.level)
        known = (part_sums.sum(axis=(2, 3)) > 0).sum(axis=-1)[:, None] >= FEWEST_CLUSTERS
        ends = ~np.isnan(least) & (known | (clusters is None))
        return np.where(ends, least, low), np.where(ends, most, high)

    def _limits_without(
        self, part_sums: Floats, number: Floats | None, values: Floats, scales: Sequence[Scale], level: float
    ) -> Limits:
        """Confidence intervals from sums of w x in parts, (groups, parts, classes, features), with effective `number` if they are unequal.

        NaN if a metric is undefined without a part, and at the boundary, where the spread of the parts does not reflect that of other rows.
        """
        whole = part_sums.sum(axis=1)
        without = self.formula(np.moveaxis(whole[:, None] - part_sums, 1, 0))
        used = part_sums.sum(axis=(2, 3)) > 0
        variances, known = [], []
        for m, (value, scale) in enumerate(zip(values.T, scales, strict=True)):
            replicates = np.where(used, without[..., m].T, np.nan)
            variance = jackknife(replicates)
            if number is not None:
                variance = Variance(variance.variance, np.minimum(variance.df, number - 1))
            variances.append(variance)
            defined = (np.isfinite(replicates) == used).all(axis=1)
            known.append(~at_boundary(scale, value) & ~is_degenerate(variance.variance, value) & defined)
        every_class = (whole.sum(axis=2) > 0).all(axis=1)
        shown = every_class[:, None] & np.stack(known, axis=-1)
        return _limits_of_each(values, np.where(shown, values, np.nan), variances, scales, level)

    def _boundary_limits(self, moments: Moments, values: Floats, scales: Sequence[Scale], level: float) -> Limits:
        """Confidence intervals of metrics at the boundary of their scale, such as rates of 0 and 1; NaN for all others. One-hot features.

        Parts of the rows do not determine the spread there. It is derived from the pseudo-counts instead: the pseudo-errors of one class, or
        of one decision, are left out in turn. A fraction of a row contributes that fraction of the squared effect of a whole row.
        """
        assert self.with_pseudocounts is not None
        at_ends = [at_boundary(scale, value) for scale, value in zip(scales, values.T, strict=True)]
        if not np.any(at_ends):
            return np.full_like(values, np.nan), np.full_like(values, np.nan)
        smoothed = self.with_pseudocounts(moments)
        n_classes, n_decisions = moments.linear.shape[1:]
        wrong = np.where(np.eye(n_classes, n_decisions, dtype=bool), 0.0, smoothed.linear - moments.linear)
        of_class = wrong[:, None] * np.eye(n_classes)[:, :, None]
        of_decision = wrong[:, None] * np.eye(n_decisions)[:, None]
        left = np.concatenate([of_class, of_decision], axis=1)
        added = effective_rows(wrong, np.einsum("gkff->gkf", smoothed.square - moments.square))
        errors = np.concatenate([added.sum(axis=axis) for axis in (-1, -2)], axis=1)
        moved = self.formula(np.concatenate([smoothed.linear[None], smoothed.linear - np.moveaxis(left, 1, 0)]))
        rows = np.concatenate([smoothed.rows, smoothed.rows_of_decisions], axis=1)
        variances, known = [], []
        for m, at_end in enumerate(at_ends):
            with np.errstate(all="ignore"):
                terms = (moved[1:, :, m] - moved[0, :, m]).T ** 2 / errors
                variance: Floats = terms.sum(axis=1)
                df = variance**2 / (terms**2 / np.fmax(rows - 1, 1)).sum(axis=1)
            variances.append(Variance(variance, df))
            known.append(at_end & (variance > 0))
        every_class = np.asarray((moments.rows > 0).all(axis=-1))
        shown = every_class[:, None] & np.stack(known, axis=-1)
        return _limits_of_each(values, np.where(shown, moved[0], np.nan), variances, scales, level)

    def near_kink(self) -> Bools:
        """Whether the two lowest metrics, the costs of constant decisions, differ by less than two standard errors: NEC has a kink there, (groups,)."""
        if self.values.shape[-1] == 1:
            return np.zeros(len(self.values), dtype=bool)
        first, second = np.argsort(self.values, axis=-1, kind="stable")[:, :2].T
        groups = np.arange(len(self.values))
        slopes = self.slopes[groups, ..., second] - self.slopes[groups, ..., first]
        variance = (self.moments if self.clusters is None else self.clusters).variance(slopes)
        with np.errstate(all="ignore"):
            gap = self.values[groups, second] - self.values[groups, first]
            return np.asarray(gap < 2 * variance.standard_error)

    # Differences

    def difference(self, against: Against, level: float) -> dict[str, Differences]:
        """Differences of each metric between the groups and what they are compared with."""
        names, positive = list(enumerate(self.metrics.items())), self.positive_values
        values = [(self.values[:, m], positive[:, m]) for m, _ in names]
        if not isinstance(against, str) or against not in ("rest", "total"):
            return {
                name: with_group(values[m], self.components(m), against, lower, level) for m, (name, lower) in names
            }
        references, variances = self._with_rest() if against == "rest" else self._with_total()
        with np.errstate(all="ignore"):
            one = np.ones_like(positive)
            of_values, of_logarithms = variances(one, one), variances(positive, references)
            return {
                name: with_others(values[m], references[:, m], (of_values(m), of_logarithms(m)), level)
                for m, (name, _) in names
            }

    @cached_property
    def positive_values(self) -> Floats:
        """The values; where they are 0, those with pseudo-counts, which have a logarithm."""
        if self.with_pseudocounts is None or not (self.values == 0).any():
            return self.values
        smoothed, _ = self.smoothed if self.clusters is None else self._rescaled
        return np.where(self.values == 0, self.formula(smoothed.linear[None])[0], self.values)

    def _with_rest(self) -> Others:
        """Compare with all other groups."""
        assert self.rest is not None
        rest = self.rest
        clusters = None if self.clusters is None else self.clusters.exclusive
        others = Estimator(lambda _: rest, self.moments.exclusive, clusters, self.with_pseudocounts)
        of_groups, of_others = cache(self.components), cache(others.components)

        def variances(x: Floats, y: Floats) -> Callable[[int], Variance]:
            return lambda m: of_groups(m).over(x[:, m]).minus(of_others(m).over(y[:, m]))

        return others.values, variances

    def _with_total(self) -> Others:
        """Compare with all groups together, of which the rows of a group are some."""
        assert self.total is not None
        whole = self.moments.linear.sum(axis=0, keepdims=True)
        slopes = slopes_of(self.total, whole)
        slopes = np.broadcast_to(slopes, (len(self.values), *slopes.shape[1:]))
        clusters = None if self.clusters is None else self.clusters.exclusive
        alone = cache(self.components)

        def variances(x: Floats, y: Floats) -> Callable[[int], Variance]:
            of_groups, of_total = x[:, None, None], slopes / y[:, None, None]
            inside = replace(self, derivative=lambda sums: np.asarray(self.slopes_at(sums) / of_groups - of_total))
            outside = Estimator(self.formula_of, self.moments.exclusive, clusters, derivative=lambda _: of_total)

            def variance_of(m: int) -> Variance:
                degenerate = self.is_degenerate(m)
                other = outside.components_of(m, np.zeros_like(degenerate))
                difference = inside.components_of(m, degenerate).minus(other)
                return difference.only(np.isfinite(alone(m).variance))

            return variance_of

        return np.broadcast_to(self.total(whole[None])[0], self.values.shape), variances

    def decompose(
        self, strata: StratifiedEstimate, against: Integers, factors: Sequence[str], level: float
    ) -> dict[str, MetricChange]:
        """Take the changes between periods apart; `against` says which period each is compared with, -1 for none."""
        differences = self.difference(against, level)
        pairs = np.flatnonzero(against >= 0), against[against >= 0]
        degenerate = np.stack([self.is_degenerate(m) for m in range(len(self.metrics))], axis=-1)
        known = np.stack([np.isfinite(of.low) for of in differences.values()], axis=-1)
        if self.clusters is not None:
            # A change of one class's rows is a component at any prior.
            alone = self.clusters.rests_on_one(self.formula, self.moments.linear, at_any_prior=True)
            known &= ~(alone | alone[against])
        of_pairs = degenerate[pairs[0]], degenerate[pairs[1]]
        change_parts = decompose(self, strata, pairs, factors, level, of_pairs, known[pairs[0]])
        return {name: MetricChange(of, change_parts[name]) for name, of in differences.items()}


def _limits_of_each(
    values: Floats,
    centres: Floats,
    variances: Iterable[Variance],
    scales: Sequence[Scale],
    level: float,
    skewed: bool = False,
) -> Limits:
    """Limits of metrics about their centres, so far apart that they hold the values; NaN where a value or centre is not known."""
    lows, highs = np.full_like(values, np.nan), np.full_like(values, np.nan)
    for m, (scale, variance) in enumerate(zip(scales, variances, strict=True)):
        ends = limits(centres[:, m], variance, scale, level, skewed=skewed)
        lows[:, m], highs[:, m] = extended(*ends, np.where(np.isfinite(values[:, m]), values[:, m], np.nan))
    return lows, highs


def _random_parts(moments: Moments, n_parts: int, seed: int) -> Floats:
    """Assign independent rows with one-hot features to parts at random, (groups, parts, classes, decisions)."""
    weight2 = np.einsum("gkff->gkf", moments.square)
    return np.moveaxis(random_parts(moments.linear, weight2, np.arange(len(weight2)), seed, n_parts), 0, 1)


# Two estimates that are compared: a group with another, or with the best; a model with another on the same rows. Groups have two values of
# each metric: the one that is shown, and a positive one, whose logarithm serves the ratio.


def with_others(
    values: tuple[Floats, Floats], reference: Floats, variances: tuple[Variance, Variance], level: float
) -> Differences:
    """Compare groups with what is no group, by the variances of the difference and of that of the logarithms."""
    difference = Differences.tested(values[0], reference, variances[0], level)
    with np.errstate(all="ignore"):
        return difference.with_ratio(Differences.tested(np.log(values[1]), np.log(reference), variances[1], level))


def with_group(
    values: tuple[Floats, Floats], components: VarianceComponents, against: Against, lower_is_better: bool, level: float
) -> Differences:
    """Compare each group with the one of this number, or with the highest or lowest."""

    def compared(of: Floats, components: VarianceComponents) -> Differences:
        if isinstance(against, str):
            return with_extreme(of, components, is_lowest(against, lower_is_better), level)
        return with_one(of, components, against, level)

    with np.errstate(all="ignore"):
        return compared(values[0], components).with_ratio(compared(np.log(values[1]), components.over(values[1])))


def with_groups(
    values: Floats,
    components: Callable[[], VarianceComponents],
    others: Mapping[str, Callable[[], tuple[Floats, Callable[[Floats, Floats], Variance]]]],
    against: Against,
    lower_is_better: bool,
    level: float,
) -> Differences:
    """Compare the groups with another one, or with what is no group: `others` are its values and, from x and y, the variance of value / x - other / y."""
    if not isinstance(against, str) or against not in others:
        return with_group((values, values), components(), against, lower_is_better, level)
    reference, variance = others[against]()
    one = np.ones_like(values)
    with np.errstate(all="ignore"):
        return with_others((values, values), reference, (variance(one, one), variance(values, reference)), level)


def with_one(values: Floats, components: VarianceComponents, against: Integers, level: float) -> Differences:
    """Compare each group with the group of this number."""
    exists = against >= 0
    other = np.where(exists, against, 0)
    variance = components.minus(components.taken(other)).only(exists)
    reference = np.where(exists, values[other], np.nan)
    # The group itself is its own reference.
    return replace(Differences.tested(values, reference, variance, level), reference=against)


def is_lowest(against: str, lower_is_better: bool) -> bool:
    """Whether the extreme group that others are compared with is the lowest."""
    return against == "lowest" or (against == "best" and lower_is_better)


def with_extreme(values: Floats, components: VarianceComponents, lowest: bool, level: float) -> Differences:
    """Compare each group with the highest or lowest, with bounds and adjusted p-values that hold for all pairs of groups simultaneously.

    The group with the highest value need not be the truly highest one. So the interval is for the distance to the truly highest group. Each
    pair's difference gets a Bonferroni share of the level. If all pairwise intervals hold, the distance of a group lies between the worst of
    its bounds and 0. This includes the group with the highest value. The adjusted p-value is the smallest one of its pairs with higher
    groups, times the number of pairs: it is below 1 - level exactly where the interval excludes 0.
    """
    n_groups = len(values)
    known = np.isfinite(values) & np.isfinite(components.variance)
    reference = np.full(n_groups, -1)
    low, high, p, p_adjusted = np.full((4, n_groups), np.nan)
    if known.sum() < 2:
        return Differences(values, low, low, high, p, reference, p)
    chosen = np.flatnonzero(known)
    sign = -1.0 if lowest else 1.0
    best = int(chosen[np.argmax(sign * values[chosen])])
    n_pairs = max(len(chosen) * (len(chosen) - 1) // 2, 1)
    # From the small tail, which keeps the digits, and by the reciprocal of the degrees of freedom, with which the quantile increases.
    tail, size = (1 - level) / 2 / n_pairs, 1000
    quantiles = -t_quantile(tail, np.append(np.inf, size / np.arange(1, size + 2)))
    others = components.taken(chosen)
    alone = VarianceComponents(None, others.variance, others.df)
    width = 1 if others.shared is None else max(others.shared.shape[1] // 64, 1)
    at_once = max(_BLOCK // (len(chosen) * width), 1)
    for start in range(0, len(chosen), at_once):
        at = np.arange(start, min(start + at_once, len(chosen)))
        some = chosen[at]
        both = alone.taken(at[:, None]).minus(alone)
        gaps, df = sign * (values[some][:, None] - values[chosen]), np.fmax(both.df, 1)
        # Exact variances and quantiles are slow: compute them only for pairs whose bound or p-value may be the worst, judged by tabulated
        # quantiles, an approximate tail (Wallace 1959) and variances from a product of matrices, which is rounded.
        squared, rounding = both.variance, _EQUAL * both.variance
        if others.shared is not None:
            squared = squared - 2 * (others.shared[at] @ others.shared.T)
        is_other, place = at[:, None] != np.arange(len(chosen)), (size / df).astype(np.int64)
        least = quantiles[place] * np.sqrt(np.maximum(squared - rounding, 0.0)) * is_other * (1 - _EQUAL)
        most = quantiles[place + 1] * np.sqrt(squared + rounding) * is_other * (1 + _EQUAL)
        worst = gaps - most <= (gaps - least).min(axis=1, keepdims=True)
        worst |= gaps + least <= (gaps + most).min(axis=1, keepdims=True)
        n = np.minimum(df, 1e9)
        tails = (gaps < 0) * n * np.log1p(gaps**2 / (squared + rounding) / n) * ((8 * n + 1) / (8 * n + 3)) ** 2
        worst |= (tails > 0) & (tails >= 0.8 * tails.max(axis=1, keepdims=True))
        row, column = np.nonzero(worst)
        error = others.taken(at[row]).minus(others.taken(column)).standard_error * is_other[worst]
        half = np.full_like(gaps, np.nan)
        half[worst] = -t_quantile(tail, df[worst]) * error
        far, near = np.nanmin(gaps - half, axis=1), np.minimum(np.nanmin(gaps + half, axis=1), 0.0)
        low[some], high[some] = (far, near) if sign > 0 else (0.0 - near, 0.0 - far)
        of_pairs = np.ones_like(gaps)
        of_pairs[worst] = two_sided_p(np.minimum(gaps[worst], 0.0) / np.fmax(error, _LEAST_ERROR), df[worst])
        p_adjusted[some] = np.minimum(of_pairs.min(axis=1) * n_pairs, 1.0)
    to_best = others.minus(components.taken(np.array([best])))
    p[chosen] = two_sided_p((values[chosen] - values[best]) / to_best.standard_error, np.fmax(to_best.df, 1))
    p[best] = 1.0
    reference[known] = best
    value = np.where(known, values[best], np.nan)
    return Differences(values, value, low, high, p, reference, p_adjusted)


def paired_variance(
    slopes: Sequence[Floats],
    linear: Sequence[Floats],
    weight: Floats,
    rests_on_one: Bools,
    singletons: Singletons | None = None,
) -> Variance:
    """Variance of a metric's difference between two models of the same rows, from the sums of both by bucket, and `weight` by class.

    NaN where either metric `rests_on_one` cluster.

    A row adds what it adds to one value less what it adds to the other: by bucket, each by itself, so that equal models differ by 0.
    """
    sums = [np.einsum("gkf,gbkf->gbk", slope, of) for slope, of in zip(slopes, linear, strict=True)]
    variance = cluster_influence(weight, sums[0] - sums[1], weight.sum(axis=-1), singletons).variance
    # Models that are the same differ by 0 in one cluster, too.
    return variance.only(~rests_on_one | (variance.variance == 0))
