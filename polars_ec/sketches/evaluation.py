"""Metrics from cells, with confidence intervals; exact for sums and at declared thresholds, otherwise with bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import polars as pl

from polars_ec.arguments.classes import CheckedPrior, parse_prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Request
from polars_ec.exceptions import SketchError
from polars_ec.formulas.calibration_error import of_cells as calibration_error_of_cells
from polars_ec.formulas.decisions import CELLS, Scale, highest, interval_scale
from polars_ec.formulas.losses import SCORING_RULES, expected_loss
from polars_ec.formulas.ranking import RANKING_METRICS, evaluate_all, prepare
from polars_ec.formulas.sums import GROUP, MOST_WEIGHT, ratio, row_weight
from polars_ec.inference.bootstrap import (
    BinnedClusters,
    Resampled,
    bootstrap_limits,
    if_calibrated,
    resampled_values,
    variance_of_gaps,
)
from polars_ec.inference.confidence import (
    FEW_OF_A_CLASS,
    Clusters,
    Formula,
    Limits,
    Moments,
    effective_rows,
    extended,
    has_rows,
    is_degenerate,
    limits,
    slopes_of,
    summed,
    with_pseudocounts,
)
from polars_ec.inference.estimator import Differences, Estimator, paired_variance
from polars_ec.numerics import Floats, Integers, floats, np, quiet
from polars_ec.sketches.arguments import EvaluationArguments, battery, check_metrics, parse_arguments
from polars_ec.sketches.binned_losses import llr_losses
from polars_ec.sketches.cells import Cells, check_keys
from polars_ec.sketches.grid import BUCKET, Grid
from polars_ec.sketches.moments import UsableCells, cells_by_bucket, check_squares, usable_rows
from polars_ec.sketches.ranking import Ranking, limits_of_ranks
from polars_ec.sketches.sums import (
    ENDS,
    LOSS_OF,
    SHIFT,
    End,
    GroupSums,
    T,
    decision_column,
    decision_columns,
    edge_columns,
    is_exact,
    is_overall,
    join_losses,
    loss_column,
    loss_columns,
    number_sums,
    ordered_cells,
    overall_prior,
    placed,
    posterior,
    posterior_bounds,
    prior_columns,
    ranking_prior,
    stated_shares,
    tabulate,
    with_group,
)

# Intervals: values come from the fine cells, and variances too unless rows are in clusters.

_ALL = slice(None)


@dataclass(frozen=True)
class Intervals:
    """Inputs for the intervals of metrics of cells: `numbered` and `table` are results of `tabulate`."""

    cells: Cells
    keys: list[str]
    numbered: pl.DataFrame
    table: pl.DataFrame
    arguments: EvaluationArguments
    request: Request

    @cached_property
    def fine(self) -> UsableCells:
        """The cells that values are computed from."""
        return UsableCells(usable_rows(self.numbered, self.cells.weighted), self.cells.grid, self.table.height)

    @cached_property
    def by_bucket(self) -> UsableCells | None:
        """The cells of clusters, if rows are in clusters."""
        return cells_by_bucket(self.cells, self.table, self.keys)

    def small(self) -> pl.Series:
        """Whether a class has so few effective rows that intervals are unreliable."""
        return pl.Series("small", ~(self._rows.min(axis=-1) >= FEW_OF_A_CLASS))

    def of_decisions(self, names: Sequence[str], threshold: float) -> dict[str, Limits]:
        """Bounds of metrics at a threshold; if it may lie within cells, they cover all possible counts."""
        exact = is_exact(self.cells.grid, threshold)
        corners = [(ENDS[0], ENDS[0])] if exact else [(of_1, of_0) for of_1 in ENDS for of_0 in ENDS]
        lows, highs = zip(*(self._at(names, threshold, *corner) for corner in corners), strict=True)
        low, high = reduce(np.fmin, lows), reduce(np.fmax, highs)
        return {name: (low[:, m], high[:, m]) for m, name in enumerate(names)}

    def _at(self, names: Sequence[str], threshold: float, of_1: End, of_0: End) -> Limits:
        prior, arguments = prior_columns(self.arguments), self.arguments.formula
        of_groups = partial(
            self.formula,
            decision_columns(threshold, of_1, of_0),
            [decision_column(name, prior, arguments, threshold, of_1, of_0) for name in names],
        )
        moments = self.decided(threshold, of_1, of_0)
        clusters = self.clusters(threshold, moments)
        scales = [interval_scale(name, arguments.costs) for name in names]
        return Estimator(of_groups, moments, clusters, with_pseudocounts).interval(scales, self.request)

    def decided(self, threshold: float, of_1: End = ENDS[0], of_0: End = ENDS[0]) -> Moments:
        """The sums of the decisions at a threshold."""
        decided = self.sums(decision_columns(threshold, of_1, of_0))
        if not self.cells.weighted:
            return Moments.one_hot(decided, decided)
        return Moments.one_hot(decided, self.fine.decided(threshold, of_1, of_0, self.fine.weight2))

    def clusters(self, threshold: float, moments: Moments) -> Clusters | None:
        """The sums of the same decisions by cluster, if rows are in clusters."""
        return None if self.by_bucket is None else self.by_bucket.decided_clusters(threshold, moments.linear)

    def near_kink(self, threshold: float) -> pl.Series:
        """Whether NEC at the group's own shares is beside the kink of what normalises it."""
        moments = self.decided(threshold)
        costs = np.array(self.arguments.formula.costs.values)

        def constant(decided: Floats) -> Floats:
            of_class = decided.sum(axis=-1)
            with np.errstate(all="ignore"):
                return np.asarray(of_class @ costs / of_class.sum(axis=-1, keepdims=True))

        return pl.Series(Estimator(lambda _: constant, moments, self.clusters(threshold, moments)).near_kink())

    def of_loss(self, name: str, bounds: Limits) -> Limits:
        """Bounds of a metric that is a mean loss, known to lie within this range."""
        loss = LOSS_OF[name]
        shift = self.table[SHIFT].to_numpy() if name != "cllr" and SHIFT in self.table.columns else None
        columns = [loss_columns(loss, end) for end in (("",) if shift is None else ("_low", "_high"))]
        value = loss_column(name, prior_columns(self.arguments), "" if shift is None else "_low")
        return self.of_mean_loss(value, columns, lambda cells: cells.losses(loss, shift), bounds, interval_scale(name))

    # Infinite losses have no interval.
    @quiet
    def of_mean_loss(
        self,
        value: pl.Expr,
        columns: Sequence[list[list[str]]],
        losses: Callable[[UsableCells], Floats],
        bounds: Limits,
        scale: Scale,
    ) -> Limits:
        """Bounds of an expression on the first of these columns, which are sums of a loss or their range.

        `losses` are the approximate losses of the rows in each cell.
        """
        totals = (self.sums(columns[0]) + self.sums(columns[-1])) / 2
        of_groups = partial(self.formula, columns[0], [value])
        formula = of_groups(_ALL)
        by_bucket = self.by_bucket
        cells = self.fine if by_bucket is None else by_bucket.merged[0]
        loss = cells.with_sums(losses(cells), totals[..., 1])
        features, unit = (np.ones_like(loss), loss), np.array([1.0, 0.0])
        moments = cells.moments(features, unit)
        source = moments if by_bucket is None else by_bucket.clusters(features, unit)
        variance = source.variance(slopes_of(formula, totals)[..., 0])
        middle = formula(totals[None])[0]
        known = has_rows(self._rows, several=True) & np.isfinite(cells.total(cells.weight * loss)).all(axis=-1)
        known &= moments.varies & ~is_degenerate(variance.variance, middle[:, 0])
        if isinstance(source, Clusters):
            known &= ~source.rests_on_one(formula, totals)[:, 0]
        if self.request.is_resampled:
            estimates = np.where(known[:, None], middle, np.nan)
            units = _resampled(cells, loss) if by_bucket is None else _resampled(by_bucket, loss[by_bucket.merged[1]])
            ends = bootstrap_limits(of_groups, *units, estimates, self.request)
            low, high = ((end + bound[:, None] - estimates)[:, 0] for end, bound in zip(ends, bounds, strict=True))
            return low, high
        low, high = (limits(bound, variance, scale, self.request.level)[end] for end, bound in enumerate(bounds))
        return np.where(known, low, np.nan), np.where(known, high, np.nan)

    @cached_property
    def amounts(self) -> tuple[Floats, Floats]:
        """Sums over the rows of w and of w^2, (groups, classes)."""
        return self.fine.total(self.fine.weight), self.fine.total(self.fine.weight2)

    @cached_property
    def _rows(self) -> Floats:
        """The effective number of rows, (groups, classes)."""
        return effective_rows(*self.amounts)

    def sums(self, columns: list[list[str]]) -> Floats:
        """(groups, classes, features): columns of the table."""
        flat = [pl.col(name).cast(pl.Float64) for of_class in columns for name in of_class]
        return self.table.select(flat).to_numpy().reshape(-1, 2, 2).astype(np.float64)

    def formula(
        self, columns: list[list[str]], expressions: Sequence[pl.Expr], groups: slice | Integers = _ALL
    ) -> Formula:
        """The expressions as functions of these columns of the table, of some groups; what else they read of it stays."""
        return formula_of(self.table.select(prior_columns(self.arguments) or []), columns, expressions, groups)


def _resampled(cells: UsableCells, loss: Floats) -> Resampled:
    bucket = np.where(cells.bucket < cells.buckets, cells.bucket, -1) if cells.buckets else None
    squares = [(cells.weight2 * loss, cells.weight2 * loss**2)]
    rows = (cells.group, cells.label, [loss], cells.weight, squares, cells.weight2)
    return resampled_values(*rows, (cells.n_groups, 2), bucket)


def formula_of(
    others: pl.DataFrame,
    columns: Sequence[Sequence[str]],
    expressions: Sequence[pl.Expr],
    groups: slice | Integers = _ALL,
) -> Formula:
    """Expressions as functions of the sums of each class, which are these columns; `others` are the columns that stay, of all groups."""
    flat = [name for of_class in columns for name in of_class]
    others = others[groups] if others.width else others

    def values(sums: Floats) -> Floats:
        n_variants, n_groups = sums.shape[:2]
        moved = pl.DataFrame(sums.reshape(n_variants * n_groups, len(flat)), schema=flat, orient="row")
        if others.width:
            moved = moved.hstack(pl.concat([others] * n_variants))
        found = moved.select(e.cast(pl.Float64).alias(f"{i}") for i, e in enumerate(expressions))
        return found.to_numpy().reshape(n_variants, n_groups, len(expressions)).astype(np.float64)

    return values


# Pointwise intervals of curves: at each point those of its metrics, as if it were the only one.

# Numbers of the sums of buckets at points that are made at a time.
_BLOCK = 2**22
_COLUMNS = [edge_columns(i) for i in range(2)]


# Squares of weights may overflow: then there are no intervals.
@quiet
def with_bands(
    points: pl.DataFrame, formulas: Mapping[str, pl.Expr], cells: Cells, costs: CostMatrix, request: Request
) -> dict[str, pl.Series]:
    """`NAME_ci_low` and `NAME_ci_high` of the formulas at each of the points that `at_every_edge` derived from the cells."""
    check_squares(cells.frame, cells.weighted)
    buckets = None if cells.coarse is None else _Buckets(cells, points)
    scales = [interval_scale(name, costs) for name in formulas]
    ends: list[Limits] = []
    size = max(_BLOCK // (16 * (cells.buckets or 1)), 1)
    for start in range(0, points.height, size):
        estimator = _estimator(points[start : start + size], [*formulas.values()], cells, buckets)
        ends.append(estimator.interval(scales, request))
    return {
        f"{name}_ci_{end}": pl.Series(np.concatenate([of[e][:, m] for of in ends] or [np.zeros(0)]), nan_to_null=True)
        for m, name in enumerate(formulas)
        for e, end in enumerate(("low", "high"))
    }


# Squares of weights may overflow: then there are no intervals.
@quiet
def paired_limits(
    value: pl.Expr, points: Sequence[pl.DataFrame], cells: Sequence[Cells], names: Sequence[str], level: float
) -> Limits:
    """Bounds of the difference of a formula between two models of the same rows, at each pair of points alone."""
    of_models = []
    for at, source, name in zip(points, cells, names, strict=True):
        if source.coarse is None or source.coarse[BUCKET].null_count():
            raise SketchError(
                f"the sketch does not know which rows of {name!r} are those of the other model: sketch the log with "
                "cluster=, the cluster column or a row number, which no row lacks"
            )
        of_models.append(_estimator(at, [value], source, _Buckets(source, at)))
    first, second = of_models
    clusters = [of.clusters for of in of_models if of.clusters is not None]
    weight, of_others = (of.linear @ of.unit for of in reversed(clusters))
    if weight.shape != of_others.shape or not np.allclose(weight, of_others):
        raise other_rows(*names)
    slopes, linear = [of.slopes[..., 0] for of in of_models], [of.linear for of in clusters]
    rests_on_one = (first.rests_on_one | second.rests_on_one)[:, 0]
    variance = paired_variance(slopes, linear, weight, rests_on_one).only(second.known)
    tested = Differences.tested(first.values[:, 0], second.values[:, 0], variance, level)
    return tested.low, tested.high


def other_rows(model: str, reference: str | None) -> SketchError:
    """Models that do not have the same rows cannot be compared row by row."""
    return SketchError(
        f"{model!r} does not have the same rows as {reference!r}: sketch only the rows that have scores from all models"
    )


def _estimator(points: pl.DataFrame, formulas: Sequence[pl.Expr], cells: Cells, buckets: _Buckets | None) -> Estimator:
    """The formulas at each of the points, which have sums of weights and of their squares, by class and decision."""
    others = points.select(name for name in points.columns if name.startswith(("__ec_prior", T)))
    sums = (
        points.select(pl.col(name).cast(pl.Float64) for i in range(2) for name in edge_columns(i, squared=squared))
        for squared in (False, cells.weighted)
    )
    moments = Moments.one_hot(*(of.to_numpy().reshape(-1, 2, 2).astype(np.float64) for of in sums))
    clusters = None if buckets is None else buckets.at(points[GROUP].to_numpy(), moments.linear[:, :, 1])
    return Estimator(partial(formula_of, others, _COLUMNS, formulas), moments, clusters, with_pseudocounts)


class _Buckets:
    """The rows of each bucket from the highest score down, of each group and class."""

    def __init__(self, cells: Cells, points: pl.DataFrame) -> None:
        assert cells.coarse is not None
        assert cells.buckets is not None
        self._number = cells.buckets
        groups = points.select(GROUP, *cells.keys).unique(GROUP)
        used = usable_rows(with_group(cells.coarse, groups, cells.keys), cells.weighted).drop_nulls(GROUP)
        ordered = used.sort(GROUP, "class", "bin", "above", descending=[False, False, True, True])
        self._of = {
            (int(group), int(label)): self._running(part)
            for (group, label), part in ordered.partition_by([GROUP, "class"], as_dict=True).items()
        }

    def _running(self, part: pl.DataFrame) -> tuple[Floats, Floats]:
        """The weight above each edge of the cells; and that of each bucket, then of rows in none, and of the squares of their weights."""
        cell = part.select("bin", "above").select(pl.struct(pl.all()).rle_id().alias("cell"))["cell"].to_numpy()
        bucket = part[BUCKET].fill_null(self._number).to_numpy().astype(np.int64)
        sums = np.zeros((int(cell[-1]) + 2, self._number + 2))
        np.add.at(sums, (cell.astype(np.int64) + 1, bucket), part["weight"].to_numpy())
        alone = bucket == self._number
        np.add.at(sums, (cell[alone].astype(np.int64) + 1, self._number + 1), part["weight2"].to_numpy()[alone])
        running = np.cumsum(sums, axis=0)
        return running[:, :-1].sum(axis=1), running

    def at(self, group: Integers, positive: Floats) -> Clusters:
        """The sums at points of these groups, with this weight of each class above, (points, classes)."""
        # Where a point lies within a coarse cell, as many of its rows are above it, in every bucket, as there are of all.
        of_points = np.zeros((len(group), 2, 2, self._number + 2))
        first = np.flatnonzero(np.diff(group, prepend=-1))
        for start, end in zip(first, [*first[1:], len(group)], strict=True):
            for label in range(2):
                found = self._of.get((int(group[start]), label))
                if found is None:
                    continue
                edges, running = found
                x = np.minimum(positive[start:end, label], edges[-1])
                at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
                share = ((x - edges[at]) / (edges[at + 1] - edges[at]))[:, None]
                above = running[at] + share * (running[at + 1] - running[at])
                of_points[start:end, label, 1] = above
                of_points[start:end, label, 0] = running[-1] - above
        linear = np.moveaxis(of_points[..., : self._number], -1, 1)
        singletons = Moments.one_hot(of_points[..., self._number], of_points[..., self._number + 1])
        return Clusters(linear, linear.sum(axis=(2, 3)), np.ones(2), singletons if singletons.weight.any() else None)


@quiet
def share_limits(rows: pl.DataFrame, by_bucket: pl.DataFrame | None, n_buckets: int, request: Request) -> Limits:
    """Bounds of the base rate in each row.

    `rows` has sums of weights, `w0` and `w1`, and of their squares, `v0` and `v1`; `by_bucket` has the same for the rows in clusters, by
    bucket, with the number of the `row`.
    """
    clusters = None
    if by_bucket is not None:
        place = by_bucket["row"].to_numpy().astype(np.int64), by_bucket[BUCKET].fill_null(n_buckets).to_numpy()
        linear = np.zeros((rows.height, n_buckets + 1, 1, 2))
        linear[place] = by_bucket.select("w0", "w1").to_numpy()[:, None]
        alone, singletons = by_bucket.filter(pl.col(BUCKET).is_null()), None
        if alone.height:
            square = np.zeros((rows.height, 1, 2))
            square[alone["row"].to_numpy()] = alone.select("v0", "v1").to_numpy()[:, None]
            singletons = Moments.one_hot(linear[:, -1], square)
        clusters = Clusters(linear[:, :-1], linear[:, :-1].sum(axis=(2, 3)), np.ones(2), singletons)
    sums = Moments.one_hot(*(rows.select(f"{x}0", f"{x}1").to_numpy().astype(np.float64)[:, None] for x in "wv"))
    estimator = Estimator(lambda _: lambda of: np.asarray(of[..., 1] / of.sum(-1)), sums, clusters, with_pseudocounts)
    low, high = estimator.interval(["logit"], request)
    return low[:, 0], high[:, 0]


# The calibration error of calibrated posteriors, which is due to sampling noise alone, from cells.


def error_if_calibrated(intervals: Intervals) -> Limits:
    """The mean of the calibration error, and what it is below at the level of the intervals, at the groups' own shares."""
    fine, request, number = intervals.fine, intervals.request, intervals.arguments.ece.number
    p = _posterior(fine)
    noise = summed(fine.group * number + _bins(fine, p, number), fine.weight2 * p * (1 - p), fine.n_groups, number)
    size = fine.total(fine.weight).sum(axis=-1)
    clusters = None if intervals.by_bucket is None else _clusters(intervals.by_bucket, number)
    return if_calibrated(variance_of_gaps(size, noise, clusters), request.level, request.seed)


def _clusters(cells: UsableCells, number: int) -> BinnedClusters:
    p, n_buckets = _posterior(cells), cells.buckets + 1
    at = (cells.group * n_buckets + cells.bucket) * number + _bins(cells, p, number)
    rows, gaps, noise = (
        summed(at, values, cells.n_groups, n_buckets, number)
        for values in (cells.weight, cells.weight * (p - cells.label), cells.weight2 * p * (1 - p))
    )
    # The last are the rows that are in no bucket.
    return BinnedClusters(rows[:, :-1], gaps[:, :-1], noise[:, -1], rows[:, -1].sum(axis=-1))


def _posterior(cells: UsableCells) -> Floats:
    return cells.of_each(lambda distinct: distinct.select(p=posterior(cells.grid))["p"])


def _bins(cells: UsableCells, p: Floats, number: int) -> Integers:
    grid, found = cells.grid, np.zeros(len(p), dtype=np.int64)
    for k, edge in enumerate(grid.scale.posterior_edges(number), start=1):
        certain, possible = cells.placed(grid.declared(edge))
        found += certain | (possible & (p > k / number))
    return found


# The columns of an evaluation with the interval of each metric beside it.

_COUNTS = (*CELLS, "confusion")


# Squares of weights may overflow: then there are no intervals.
@quiet
def with_limits(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> pl.DataFrame:
    """The columns of `evaluate`, with `small`, and with the interval of each metric after its value and error bounds."""
    added = {"class_prior": [intervals.small()]}
    for name, (low, high) in _all_limits(shown, names, intervals).items():
        after, least, most = _bounds(shown, name)
        added[after] = _columns(name, low, high, least, most, intervals.arguments.formula.costs)
    if "nec" in names and not intervals.arguments.prior.stated:
        kinked = intervals.near_kink(intervals.arguments.thresholds["nec"])
        after = _bounds(shown, "nec")[0]
        added[after].append(pl.select(nec_kinked=pl.when(added[after][0].is_not_null()).then(kinked)).to_series())
    if "ece" in names and intervals.arguments.ece.norm == 1 and not intervals.arguments.prior.stated:
        known = np.isfinite(floats(shown["ece"]))
        added["ece_error"] = [
            pl.Series(f"ece_if_calibrated{end}", np.where(known, values, np.nan), nan_to_null=True)
            for end, values in zip(("", "_high"), error_if_calibrated(intervals), strict=True)
        ]
    check_keys(intervals.keys, [column.name for of_name in added.values() for column in of_name])
    return pl.DataFrame([x for name in shown.columns for x in (shown[name], *added.get(name, ()))])


@quiet
def with_limits_of_loss(
    shown: pl.DataFrame, name: str, intervals: Intervals, losses: Callable[[pl.DataFrame, Grid], pl.Series]
) -> pl.DataFrame:
    """Add the interval of one mean loss, whose sums lie between the columns `low` and `high` of the table; without `small`."""
    after, least, most = _bounds(shown, name)
    group = GroupSums(prior_columns(intervals.arguments))
    value = expected_loss(group, [group.total(i, "low") for i in range(2)])
    ends = [loss_columns(end) for end in ("low", "high")]

    def of_cells(cells: UsableCells) -> Floats:
        return cells.of_each(lambda distinct: losses(distinct, cells.grid))

    low, high = intervals.of_mean_loss(value, ends, of_cells, (least, most), "log")
    added = _columns(name, low, high, least, most)
    return pl.DataFrame([x for column in shown.columns for x in (shown[column], *(added if column == after else ()))])


def _all_limits(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> dict[str, Limits]:
    decided: dict[float, list[str]] = {}
    by_name: dict[str, Limits] = {}
    for name in dict.fromkeys(names):
        if name in LOSS_OF:
            by_name[name] = intervals.of_loss(name, _bounds(shown, name)[1:])
        elif name in intervals.arguments.thresholds and name not in _COUNTS:
            decided.setdefault(intervals.arguments.thresholds[name], []).append(name)
    for threshold, of_threshold in decided.items():
        by_name |= intervals.of_decisions(of_threshold, threshold)
    ranked = [name for name in dict.fromkeys(names) if name in RANKING_METRICS]
    return by_name | (_of_ranks(shown, ranked, intervals) if ranked else {})


def _of_ranks(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> dict[str, Limits]:
    table, arguments, request = intervals.table, intervals.arguments, intervals.request
    groups = table.select(GROUP)
    values = groups.hstack(shown.select(column for name in names for column in (name, f"{name}_error")))
    cells = intervals.fine if intervals.by_bucket is None else intervals.by_bucket
    ranking = Ranking(cells, intervals.cells.weighted, names, arguments.ranking, ranking_prior(table, arguments))
    of_ranks = limits_of_ranks(ranking, values, request)
    joined = groups.join(of_ranks, on=GROUP, how="left", maintain_order="left")
    return {name: (floats(joined[f"{name}_ci_low"]), floats(joined[f"{name}_ci_high"])) for name in names}


def _columns(
    name: str, low: Floats, high: Floats, least: Floats, most: Floats, costs: CostMatrix | None = None
) -> list[pl.Series]:
    """The bounds as columns, wide enough for all possible values."""
    low, high = extended(low, high, least)[0], extended(low, np.minimum(high, highest(name, 2, costs)), most)[1]
    known = np.isfinite(least) & np.isfinite(most) & ~np.isnan(low + high)
    return [
        pl.Series(f"{name}_ci_{end}", np.where(known, values, np.nan), nan_to_null=True)
        for end, values in (("low", low), ("high", high))
    ]


def _bounds(shown: pl.DataFrame, name: str) -> tuple[str, Floats, Floats]:
    """The column of a metric after which its interval is placed, and the range of the metric; NaN if it is null."""
    if f"{name}_low" in shown.columns:
        return f"{name}_high", floats(shown[f"{name}_low"]), floats(shown[f"{name}_high"])
    value = floats(shown[name])
    if f"{name}_error" not in shown.columns:
        return name, value, value
    error = floats(shown[f"{name}_error"])
    return f"{name}_error", value - error, value + error


# Values: exact where sums or declared thresholds give them, else with bounds.


def evaluate(
    cells: Cells,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
    *,
    keys: list[str] | None = None,
    own_threshold: float | None = None,
    llr_prior: Any = None,
    request: Request | None = None,
) -> pl.DataFrame:
    """Evaluate metrics per group of `keys`, at `own_threshold` unless one or costs are stated; `llr_prior` makes posteriors of LLRs."""
    grid, keys = cells.grid, cells.keys if keys is None else keys
    names = list(metrics) or list(battery(grid, keywords))
    if grid.scale.needs_prior and is_overall(keywords.get("prior")):
        # Thresholds of LLRs depend on one prior, which is known before the groups are.
        keywords = {**keywords, "prior": overall_prior(cells) or "overall"}
    made_at = keywords.get("prior") if llr_prior is None else llr_prior
    check_metrics(names, grid, made_at)
    arguments = parse_arguments(names, grid, keywords, own_threshold)
    numbered, table = tabulate(cells, keys, arguments)
    sums = None
    if any(name in SCORING_RULES or name in ("cllr", "ece") for name in names):
        sums = number_sums(cells, numbered, table, keys)
        table = join_losses(table, sums)
    if grid.scale.needs_prior and any(name in SCORING_RULES for name in names):
        assert sums is not None
        table = _join_llr_losses(table, numbered, sums, keys, grid, parse_prior(made_at))
    joined: dict[str, list[str]] = {}
    if any(name in RANKING_METRICS for name in names):
        table, joined = _join_ranks(table, ordered_cells(numbered, grid, cells.weighted), names, arguments)
    if "ece" in names:
        assert sums is not None
        table, joined["ece"] = _join_ece(table, numbered, sums, arguments, grid), ["ece", "ece_error"]
    columns = {"class_prior": pl.col("class_prior")}
    for name in names:
        if name in joined:
            columns |= {column: pl.col(column) for column in joined[name]}
        else:
            columns |= _formula_columns(name, arguments, grid, cells.weighted)
    right = (pl.col("n_invalid") == 0) & (GroupSums(None).size < MOST_WEIGHT)
    guarded = {name: pl.when(right).then(column) for name, column in columns.items()}
    check_keys(keys, guarded)
    shown = table.select(*keys, "n", "n_missing", "n_invalid", **guarded)
    if request is None:
        return shown
    return with_limits(shown, names, Intervals(cells, keys, numbered, table, arguments, request))


def with_error(name: str, low: pl.Expr, high: pl.Expr) -> dict[str, pl.Expr]:
    """A value between these bounds, and its error; if both are infinite the value is known."""
    return {name: (low + high) / 2, f"{name}_error": pl.when(low == high).then(0.0).otherwise((high - low) / 2)}


def _formula_columns(name: str, arguments: EvaluationArguments, grid: Grid, weighted: bool) -> dict[str, pl.Expr]:
    prior = prior_columns(arguments)
    if name == "confusion":
        of_cells = replace(arguments, thresholds=dict.fromkeys(CELLS, arguments.thresholds[name]))
        columns = [_formula_columns(cell, of_cells, grid, weighted) for cell in CELLS]
        return {name: expression for of_cell in columns for name, expression in of_cell.items()}
    if name in SCORING_RULES and grid.scale.needs_prior:
        return with_error(name, *(loss_column(name, prior, f"_{end}") for end in ("low", "high")))
    if name in LOSS_OF:
        return {name: loss_column(name, prior)}
    threshold = arguments.thresholds[name]
    dtype = pl.Int64 if name in CELLS and not weighted else pl.Float64
    corners = [
        decision_column(name, prior, arguments.formula, threshold, of_1, of_0).cast(dtype)
        for of_1 in ENDS
        for of_0 in ENDS
    ]
    if is_exact(grid, threshold):
        return {name: corners[0]}
    # Every metric of decisions is monotone in either count, so it is extreme at the corners of what they can be.
    if name == "mcc":
        # At a corner where all decisions are the same it is not defined, but near there it is as near to 0 as one likes.
        known = pl.any_horizontal([corner.is_not_null() for corner in corners])
        corners = [pl.when(known).then(corner.fill_null(0.0)) for corner in corners]
    return {f"{name}_low": pl.min_horizontal(corners), f"{name}_high": pl.max_horizontal(corners)}


def _join_llr_losses(
    table: pl.DataFrame, numbered: pl.DataFrame, sums: pl.DataFrame, keys: list[str], grid: Grid, prior: CheckedPrior
) -> pl.DataFrame:
    shares = stated_shares(table, keys, prior, grid.classes)
    shift = shares[1].log() - shares[0].log()
    bounds = llr_losses(numbered, sums, table.select(GROUP, shift=shift), grid)
    named = bounds.select(GROUP, pl.exclude(GROUP).name.prefix("__ec_"))
    joined = table.with_columns(shift.alias(SHIFT)).join(named, on=GROUP, how="left", maintain_order="left")
    losses = pl.col(named.columns[1:])
    # A group without such rows adds nothing, but one without a prior, or of LLRs that contradict it, has no losses.
    known = pl.lit(shift).is_not_null() & ~pl.any_horizontal(losses.is_nan().fill_null(value=False))
    return joined.with_columns(pl.when(known).then(losses.fill_null(0.0)))


def _join_ranks(
    table: pl.DataFrame, ordered: pl.DataFrame, names: Sequence[str], arguments: EvaluationArguments
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    ranked, columns = prepare(ordered, ranking_prior(table, arguments)), {}
    ranks = [name for name in names if name in RANKING_METRICS]
    for name, values in evaluate_all(ranked, ranks, arguments.ranking).items():
        named = {c: name if c == "value" else f"{name}_{c}" for c in values.columns if c != GROUP}
        table = table.join(values.rename(named), on=GROUP, how="left", maintain_order="left")
        columns[name] = list(named.values())
    return table, columns


def _join_ece(
    table: pl.DataFrame, numbered: pl.DataFrame, sums: pl.DataFrame, arguments: EvaluationArguments, grid: Grid
) -> pl.DataFrame:
    bins = arguments.ece
    edges = [grid.declared(edge) for edge in grid.scale.posterior_edges(bins.number)]
    exact = all(is_exact(grid, edge) for edge in edges)
    if bins.norm == 2 and not exact:
        raise SketchError(
            "ece with norm=2 has no error bound unless the edges of its bins are thresholds: sketch with thresholds=[k "
            f"/ {bins.number} for k in range(1, {bins.number})], as log-odds for log-odds, or exact=True"
        )
    group = GroupSums(prior_columns(arguments))
    stated = arguments.prior.stated
    even = ratio(pl.lit(1.0), group.size)
    weights = table.select(GROUP, **{f"r{i}": row_weight(group, i) if stated else even for i in range(2)})
    rows = _with_exact_posteriors(sums, numbered) if exact else _with_posteriors_of_bins(numbered, grid)
    values = calibration_error_of_cells(rows, weights, [placed(grid, edge) for edge in edges], bins)
    return table.join(values, on=GROUP, how="left", maintain_order="left")


def _with_exact_posteriors(sums: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    if "weight" not in sums.columns:
        weights = numbered.group_by(GROUP, "class", "above").agg(pl.col("weight").sum())
        sums = sums.join(weights, on=[GROUP, "class", "above"], how="left")
    return sums.with_columns(least=0.0, most=0.0, off=0.0)


def _with_posteriors_of_bins(numbered: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Rows as the calibration error takes them, of cells that know no more of their posteriors than the bin."""
    used = numbered.filter(pl.col("class") >= 0)
    middle, (least, most), weight = posterior(grid), posterior_bounds(grid), pl.col("weight")
    return used.with_columns(posterior=middle, least=least, most=most).with_columns(
        posterior=pl.col("posterior") * weight,
        off=weight * pl.max_horizontal(pl.col("most") - pl.col("posterior"), pl.col("posterior") - pl.col("least")),
    )
