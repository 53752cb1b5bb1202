"""Ranking metrics of models and groups, and their estimates, from cells of equal log-odds of a log or a sketch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

import polars as pl

from polars_ec.comparisons.joint_pass import BUCKET, KIND, Comparison, Pair, summed_by
from polars_ec.comparisons.validation import ClusterKeys
from polars_ec.formulas.decisions import lower_is_better
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments, evaluate, prepare
from polars_ec.formulas.ranking_influence import SMOOTH_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import (
    Singletons,
    Variance,
    VarianceComponents,
    cluster_influence,
    effective_rows,
    exclusive,
    in_one_cluster,
    limits,
    t_quantile,
)
from polars_ec.inference.estimator import Against, Differences, with_groups
from polars_ec.inference.ranking import more_with_few
from polars_ec.numerics import Bools, Floats, Integers, np
from polars_ec.reports.models import Model, stated_prior
from polars_ec.scores.folds import bucket
from polars_ec.scores.read import class_index
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.counting import STAND_IN, CellCodes
from polars_ec.sketches.evaluation import Intervals
from polars_ec.sketches.grid import Grid
from polars_ec.sketches.moments import UsableCells
from polars_ec.sketches.ranking import Ranking, ranking_influence
from polars_ec.sketches.sums import ordered_cells, ranking_prior

# The passes over the log for ranking metrics: cells of equal log-odds, which have the values; and coarse ones, which have their spread.

MODEL, CODE, OTHER_CODE = "__ec_model", "__ec_code", "__ec_other_code"
"""The number of the model of a cell, the cell, and for two models the cell of the reference."""

AMOUNT, SQUARES = "__ec_amount", "__ec_squares"
"""Rows, or their weight; and the squares of their weights."""

VALUES, BUCKETS, SINGLE = 0, 1, 2
"""Cells of all rows; those of rows in clusters, by bucket; those of rows that are clusters of their own."""


def rank_cells(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    pairs: Sequence[Pair],
    models: Sequence[Model],
    grids: Sequence[Grid],
    clusters: ClusterKeys | None,
) -> list[pl.LazyFrame]:
    """The tables of cells, which have the same columns."""
    number = {model.name: m for m, model in enumerate(models)}
    keyless = pl.lit(value=True) if clusters is None else clusters.keys[0].is_null()
    in_bucket = [] if clusters is None else [bucket(clusters.keys[0], clusters.buckets).alias(BUCKET)]
    tables = []
    for m, (model, grid) in enumerate(zip(models, grids, strict=True)):
        tables.append(_counted(frame, keys, VALUES, m, model, grid))
        if clusters is not None:
            keyed = frame.filter(~keyless)
            tables.append(_counted(keyed, [*keys, *in_bucket], BUCKETS, m, model, grid.coarse))
    for model, reference in pairs:
        m, alone = number[model.name], frame if clusters is None else frame.filter(keyless)
        other = None if reference is None else (reference, grids[number[reference.name]].coarse)
        tables.append(_counted(alone, keys, SINGLE, m, model, grids[m].coarse, other))
    return tables


def _counted(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    kind: int,
    number: int,
    model: Model,
    grid: Grid,
    other: tuple[Model, Grid] | None = None,
) -> pl.LazyFrame:
    """Rows or their weight, by group and cell."""
    rows = model.rows
    weight = pl.lit(1.0) if rows.weight is None else pl.when(rows.usable).then(rows.weight)
    codes = {CODE: _cell(model, grid), **({} if other is None else {OTHER_CODE: _cell(*other)})}
    names = [key.meta.output_name() for key in keys]
    made = frame.select(*keys, weight.alias(AMOUNT), **codes).group_by(*names, *codes)
    amount = pl.col(AMOUNT)
    counted = made.agg(amount.sum(), (amount * amount).sum().alias(SQUARES))
    return counted.with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND), pl.lit(number, dtype=pl.Int16).alias(MODEL))


def _cell(model: Model, grid: Grid) -> pl.Expr:
    rows, codes = model.rows, CellCodes(grid)
    assert isinstance(rows.scores, BinaryScores)
    score = pl.when(rows.usable).then(rows.scores.score).otherwise(STAND_IN)
    index = rows.class_or_invalid(class_index(rows.labels))
    return codes.encoded(index, score, grid.bin(score, grid.scale.position(score)))


# Estimates from cells as arrays.

# The level of the intervals from which variances are derived.
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Counts:
    """Sums of w and of w^2 of cells, with the numbers of their group and cell; and of a bucket, or the cell of another model."""

    group: Integers
    code: Integers
    weight: Floats
    weight2: Floats
    bucket: Integers
    other: Integers


@dataclass(frozen=True, eq=False)
class RankingCells:
    """The cells of a grid that occur, with their `class`: arrays have a column for each."""

    grid: Grid
    cells: pl.DataFrame
    weighted: bool

    @cached_property
    def label(self) -> Integers:
        """The class of each cell."""
        return self.cells["class"].to_numpy().astype(np.int64)

    def frame(self, weight: Floats, weight2: Floats | None = None) -> pl.DataFrame:
        """The cells with rows, as the functions of ranking metrics take them, from arrays (groups, cells)."""
        group, cell = np.nonzero(weight)
        frame = self.cells[cell].with_columns(pl.Series(GROUP, group), weight=weight[group, cell])
        return frame if weight2 is None else frame.with_columns(weight2=weight2[group, cell])


@dataclass(frozen=True, eq=False)
class RankingEstimator:
    """Ranking metrics of the groups of one model, from cells: fine ones have the values, and coarse ones the variances.

    Variances are from the influence of each cell. `invalid` counts rows, (groups,).
    """

    n_groups: int
    n_buckets: int | None
    fine: RankingCells
    coarse: RankingCells
    counts: Counts
    keyed: Counts
    singletons: Counts
    prior: pl.DataFrame | None
    arguments: RankingArguments
    invalid: Floats

    @cached_property
    def _fine_weight(self) -> Floats:
        """(groups, cells)."""
        of = self.counts
        return summed_by((of.group, of.code), of.weight, (self.n_groups, self.fine.cells.height))

    @property
    def _shape(self) -> tuple[int, int]:
        return self.n_groups, self.coarse.cells.height

    @cached_property
    def _alone(self) -> tuple[Floats, Floats]:
        """Sums of w and of w^2 of singletons, (groups, coarse cells)."""
        of = self.singletons
        weight, weight2 = (summed_by((of.group, of.code), w, self._shape) for w in (of.weight, of.weight2))
        return weight, weight2

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """Sums of w and of w^2 of all rows, (groups, coarse cells)."""
        of = self.keyed
        weight, weight2 = (summed_by((of.group, of.code), w, self._shape) for w in (of.weight, of.weight2))
        return weight + self._alone[0], weight2 + self._alone[1]

    @cached_property
    def _by_bucket(self) -> Floats:
        """(groups, buckets, classes): weight."""
        return self._per_bucket(np.ones(self._shape))

    @cached_property
    def _on_one_cluster(self) -> Bools:
        """(groups,): whether all rows of a class are in one bucket."""
        if self.n_buckets is None:
            return np.zeros(self.n_groups, dtype=bool)
        alone, alone2 = (self._per_class(of) for of in self._alone)
        singletons = Singletons(alone, alone2, *[np.zeros_like(alone)] * 3)
        return np.asarray(in_one_cluster(self._by_bucket, singletons).any(axis=-1))

    def _per_bucket(self, influence: Floats) -> Floats:
        """(groups, buckets, classes): sums of w psi, of influences (groups, coarse cells)."""
        assert self.n_buckets is not None
        of = self.keyed
        place = of.group, of.bucket, self.coarse.label[of.code]
        return summed_by(place, of.weight * influence[of.group, of.code], (self.n_groups, self.n_buckets, 2))

    def _of_all_buckets(self, influence: Floats) -> Floats:
        """(groups, buckets, classes): sums of w psi over the rows of all groups."""
        assert self.n_buckets is not None
        of = self.keyed
        whole = summed_by((of.bucket, of.code), of.weight, (self.n_buckets, self._shape[1]))
        labels = [self.coarse.label == i for i in range(2)]
        return np.stack([influence[:, label] @ whole[:, label].T for label in labels], axis=-1)

    def _per_class(self, of_cells: Floats) -> Floats:
        """(groups, classes): sums over coarse cells."""
        return np.stack([of_cells[:, self.coarse.label == i].sum(axis=-1) for i in range(2)], axis=-1)

    def _value(self, metric: str, weight: Floats, invalid: Floats, prior: pl.DataFrame | None) -> Floats:
        """The metric of groups with these weights of the fine cells; NaN where it has none, or rows are invalid."""
        ordered = ordered_cells(self.fine.frame(weight), self.fine.grid, self.fine.weighted)
        found = evaluate(prepare(ordered, prior), metric, self.arguments)
        values = np.full(len(weight), np.nan)
        values[found[GROUP].to_numpy()] = found["value"].fill_null(np.nan).to_numpy()
        return np.where(invalid == 0, values, np.nan)

    def values(self, metric: str) -> Floats:
        """(groups,)."""
        return self._value(metric, self._fine_weight, self.invalid, self.prior)

    def _influence_at(self, metric: str, weight: Floats, weight2: Floats, prior: pl.DataFrame | None) -> Floats:
        """Influence of a row of weight 1 in each coarse cell, (groups, cells); NaN in groups without a value, 0 without rows."""
        table = self.coarse
        usable = UsableCells(table.frame(weight, weight2), table.grid, len(weight))
        ranking = Ranking(usable, table.weighted, [metric], self.arguments, prior)
        found = ranking_influence(ranking, metric)
        cells = table.cells.with_row_index("cell")
        placed = found.join(cells, on=["class", *table.grid.cell_columns], how="left", nulls_equal=True)
        group, influence = placed[GROUP].to_numpy(), np.zeros(weight.shape)
        influence[group, placed["cell"].to_numpy()] = placed["influence"].fill_null(np.nan).to_numpy()
        influence[np.setdiff1d(np.arange(len(weight)), group)] = np.nan
        return influence

    def influence(self, metric: str) -> Floats:
        """Influence of a row of weight 1 in each coarse cell, (groups, cells)."""
        return self._influence_at(metric, *self._weights, self.prior)

    def paired_difference(self, reference: RankingEstimator, metric: str, level: float, *, same: bool) -> Differences:
        """Compare with a model on the same rows: the singletons have the cells of both. They are the `same` where all their scores are."""
        of, influence, other = self.singletons, self.influence(metric), reference.influence(metric)
        psi = influence[of.group, of.code] - other[of.group, reference.singletons.code]
        place, w, w2 = (of.group, self.coarse.label[of.code]), of.weight, of.weight2
        singletons = Singletons.of(lambda x: summed_by(place, x, (self.n_groups, 2)), w, w2, psi)
        if self.n_buckets is None:
            variance = singletons.variance
        else:
            by_bucket, weight = self._per_bucket(influence) - reference._per_bucket(other), self._by_bucket
            keyless = singletons if len(w) else None
            variance = cluster_influence(weight, by_bucket, weight.sum(axis=-1), keyless).variance
            # Models that are the same differ by 0 in one cluster, too.
            variance = variance.only(~self._on_one_cluster | (variance.variance == 0))
        return Differences.tested(self.values(metric), reference.values(metric), variance, level, same=same)

    def difference(self, metric: str, against: Against, level: float) -> Differences:
        """Differences between the groups and what they are compared with."""
        values = self.values(metric)
        components = partial(self._components, metric, values)
        others = {"rest": partial(self._with_rest, metric, values), "total": partial(self._with_total, metric, values)}
        return with_groups(values, components, others, against, lower_is_better(metric), level)

    def _with_rest(self, metric: str, values: Floats) -> tuple[Floats, Callable[[Floats, Floats], Variance]]:
        """Value of all other groups, and from x and y the variance of value / x - rest / y."""
        rest = self._value(metric, exclusive(self._fine_weight), exclusive(self.invalid), self.prior)
        components, others = self._components(metric, values), self._components(metric, rest, others=True)
        return rest, lambda x, y: components.over(x).minus(others.over(y))

    def _with_total(self, metric: str, values: Floats) -> tuple[Floats, Callable[[Floats, Floats], Variance]]:
        """Value of all groups together, of which the rows of a group are some, and from x and y the variance of value / x - total / y."""
        first = None if self.prior is None else self.prior[:1]
        weight, invalid = (of.sum(axis=0, keepdims=True) for of in (self._fine_weight, self.invalid))
        reference = np.repeat(self._value(metric, weight, invalid, first), self.n_groups)
        influence = self.influence(metric)
        w, w2 = (of.sum(axis=0, keepdims=True) for of in self._weights)
        total = np.broadcast_to(self._influence_at(metric, w, w2, first), influence.shape)
        more = self._more_with_few(metric, values, influence, self._of_cells(influence))

        def variance(x: Floats, y: Floats) -> Variance:
            of_total = total / y[:, None]
            inside = self._of_cells(influence / x[:, None] - of_total).plus(more / x**2)
            return inside.minus(self._of_cells(of_total, others=True))

        return reference, variance

    def _components(self, metric: str, values: Floats, *, others: bool = False) -> VarianceComponents:
        """Variance components of each group, or of all others, including the additional variance in the interval of a single value."""
        influence = self._influence_at(metric, *self._weights_of(self._weights, others=others), self.prior)
        components = self._of_cells(influence, others=others)
        return components.plus(self._more_with_few(metric, values, influence, components, others=others))

    @staticmethod
    def _weights_of(weights: tuple[Floats, Floats], *, others: bool) -> tuple[Floats, Floats]:
        return (exclusive(weights[0]), exclusive(weights[1])) if others else weights

    def _of_cells(self, influence: Floats, *, others: bool = False) -> VarianceComponents:
        """Components for the group's own rows, or those of all others, with these influences, (groups, coarse cells)."""
        if self.n_buckets is None:
            return VarianceComponents.of_variance(self._variance_of_rows(influence, others=others))
        by_bucket, buckets = self._per_bucket(influence), self._by_bucket
        if others:
            # The sum over all rows minus that over the group's own.
            by_bucket = self._of_all_buckets(np.nan_to_num(influence)) - by_bucket
            buckets = exclusive(buckets)
        singletons = None
        if len(self.singletons.code):
            singletons = self._singletons(self._alone, influence, others=others)
        components = cluster_influence(buckets, by_bucket, buckets.sum(axis=-1), singletons).components
        known = _is_known(influence) & (others | ~self._on_one_cluster)
        assert components.shared is not None
        shared = np.where(known[:, None], components.shared, np.nan)
        independent = np.where(known, components.independent, np.nan)
        return VarianceComponents(shared, independent, components.df)

    def _variance_of_rows(self, influence: Floats, *, others: bool) -> Variance:
        """Variance as for independent rows."""
        return self._singletons(self._weights, influence, others=others).variance.only(_is_known(influence))

    def _singletons(self, weights: tuple[Floats, Floats], influence: Floats, *, others: bool) -> Singletons:
        """Sums of rows with these weights and squares of them, (groups, coarse cells)."""
        weight, weight2 = self._weights_of(weights, others=others)
        return Singletons.of(self._per_class, weight, weight2, np.where(weight > 0, influence, 0.0))

    def _more_with_few(
        self, metric: str, values: Floats, influence: Floats, components: VarianceComponents, *, others: bool = False
    ) -> Floats:
        """Additional variance if rows are few or a value is near 0 or 1: from Newcombe's interval for AUC, else from logit intervals."""
        variance = components.variance
        if metric not in SMOOTH_METRICS:
            return np.where(variance > 0, 0.0, np.nan)
        if metric != "auc_roc":
            low, high = limits(values, Variance(variance, components.df), "logit", _LEVEL)
            half = t_quantile(0.5 + _LEVEL / 2, components.df)
            more = np.fmax((np.fmax(high - values, values - low) / half) ** 2 - variance, 0)
            return np.where(variance > 0, more, np.nan)
        rows = effective_rows(*(self._per_class(of) for of in self._weights_of(self._weights, others=others)))
        if self.n_buckets is not None:
            # The effective number of independent rows; if neither is positive, the number of clusters.
            larger = variance / self._variance_of_rows(influence, others=others).variance
            clusters = np.fmin(rows, np.fmax(components.df + 1, 1)[:, None])
            rows = np.where((larger > 0)[:, None], np.fmax(rows / np.fmax(larger, 1)[:, None], 1), clusters)
        return more_with_few(values, components, rows)


def _is_known(influence: Floats) -> Bools:
    return np.asarray(np.isfinite(influence).any(axis=-1))


# From the tables of the pass to the differences of each model and metric.


def ranking_differences(
    cells: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    pair: Pair,
    comparison: Comparison,
    against: Against | None,
    *,
    same: bool,
) -> dict[str, Differences]:
    """By column; `tables` are those of the groups, with the stated prior of each; `same`: whether the model is its reference."""
    estimators = cache(lambda at_prior: _estimators(cells, pair, tables, comparison, at_prior=at_prior))
    differences: dict[str, Differences] = {}
    for column, name, at_prior in comparison.columns(RANKING_METRICS, pair[0]):
        first, *reference = estimators(at_prior)
        differences[column] = (
            first.difference(name, against, comparison.level)
            if against is not None
            else first.paired_difference(reference[0], name, comparison.level, same=same)
        )
    return differences


def _estimators(
    cells: pl.DataFrame, pair: Pair, tables: Mapping[str, pl.DataFrame], comparison: Comparison, *, at_prior: bool
) -> list[RankingEstimator]:
    """Estimators of the model, and of its reference if it has one."""

    def counts(kind: int, number: int, grid: Grid, other: Grid | None = None) -> Counts:
        return _counts(cells.filter(pl.col(KIND) == kind, pl.col(MODEL) == number), grid, other)

    models = [model for model in pair if model is not None]
    numbers = [comparison.models.index(model) for model in models]
    single = counts(SINGLE, numbers[0], *(comparison.grids[m].coarse for m in numbers))
    # The cells of a pair, with the two models swapped for the reference.
    turned, estimators = replace(single, code=single.other, other=single.code), []
    for model, m, unkeyed in zip(models, numbers, (single, turned), strict=False):
        table, weighted, grid = tables[model.name], model.rows.weight is not None, comparison.grids[m]
        fine, (values,) = _placed(grid, [counts(VALUES, m, grid)], weighted)
        coarse, (keyed, alone) = _placed(grid.coarse, [counts(BUCKETS, m, grid.coarse), unkeyed], weighted)
        counted = (fine, coarse, values, keyed, alone)
        prior = None
        if at_prior:
            shares = stated_prior(model, comparison.layout.options)
            assert shares is not None
            prior = table.select(GROUP, p0=shares[0], p1=shares[1])
        arguments = RankingArguments(model.rows.costs)
        invalid = table[f"{model.prefix}invalid"].cast(pl.Float64).to_numpy()
        estimators.append(RankingEstimator(table.height, comparison.buckets, *counted, prior, arguments, invalid))
    return estimators


def _placed(grid: Grid, counts: list[Counts], weighted: bool) -> tuple[RankingCells, list[Counts]]:
    """The table of the cells that occur, and these with the numbers of their cells in place of codes."""
    codes = np.unique(np.concatenate([of.code for of in counts]))
    decoded = CellCodes(grid).decoded(pl.col("code"))
    cells = pl.DataFrame({"code": pl.Series(codes, dtype=pl.Int32)}).select(**decoded)
    return RankingCells(grid, cells, weighted), [replace(of, code=np.searchsorted(codes, of.code)) for of in counts]


def _counts(cells: pl.DataFrame, grid: Grid, other: Grid | None = None) -> Counts:
    """The cells, but for rows that are not usable."""
    codes = [(CODE, grid), *([(OTHER_CODE, other)] if other is not None else [])]
    usable = [CellCodes(of_code).is_usable(pl.col(name)) for name, of_code in codes]
    used = cells.filter(pl.col(AMOUNT) > 0, *usable)

    def whole(name: str) -> Integers:
        if name not in used.columns:
            return np.zeros(used.height, dtype=np.int64)
        return used[name].cast(pl.Int64).fill_null(0).to_numpy()

    group, code, of_other = whole(GROUP), whole(CODE), whole(OTHER_CODE)
    amount, squares = (used[name].to_numpy() for name in (AMOUNT, SQUARES))
    return Counts(group, code, amount, squares, whole(BUCKET), of_other)


# The cells of a sketch as ranking metrics are compared from them.

_CODE = "__ec_code"
# The relative rounding error of a sum of weights in a different order.
_ROUNDING = 1e-9


def ranking_estimator(intervals: Intervals, places: Integers) -> RankingEstimator:
    """Estimate ranking metrics of the groups at these places of the table, which become groups from 0 on."""
    number = _numbers(intervals, places)
    weighted, grid = intervals.cells.weighted, intervals.cells.grid
    fine = _numbered(intervals.fine.frame, number)
    fine_table, (counts,) = _placed_cells(grid, [fine], weighted)
    by_bucket = intervals.by_bucket
    if by_bucket is None:
        rows, coarse = fine, grid
        if not grid.is_cut_by_coarse:
            rows, coarse = fine.with_columns(bin=grid.coarse_bin(pl.col("bin"))), grid.coarse
        rows = rows.group_by(GROUP, "class", *coarse.cell_columns).agg(pl.col("weight", "weight2").sum())
        table, (keyed, alone) = _placed_cells(coarse, [rows.clear(), rows], weighted)
    else:
        rows, coarse = _numbered(by_bucket.frame, number), by_bucket.grid
        has_key = pl.col("bucket").is_not_null()
        table, (keyed, alone) = _placed_cells(coarse, [rows.filter(has_key), rows.filter(~has_key)], weighted)
    prior = ranking_prior(intervals.table, intervals.arguments)
    chosen = None if prior is None else _numbered(prior, number).sort(GROUP)
    wrong = intervals.table["n_invalid"].cast(pl.Float64).to_numpy()[places]
    buckets = None if by_bucket is None else by_bucket.buckets
    arguments = intervals.arguments.ranking
    return RankingEstimator(len(places), buckets, fine_table, table, counts, keyed, alone, chosen, arguments, wrong)


def _numbers(intervals: Intervals, places: Integers) -> Integers:
    """The numbers that groups become; -1 for those that are left out."""
    number = np.full(intervals.table.height, -1, dtype=np.int64)
    number[places] = np.arange(len(places))
    return number


def have_same_cells(intervals: Intervals, places: Integers, others: Integers) -> bool:
    """Whether all groups at these places have the same rows in each cell as those at the other places."""
    columns = [GROUP, "class", *intervals.cells.grid.cell_columns]
    numbers = (_numbers(intervals, of) for of in (places, others))
    first, second = (_numbered(intervals.fine.frame, of).select(*columns, "weight") for of in numbers)
    both = first.join(second, on=columns, how="full", coalesce=True, nulls_equal=True)
    alike = (pl.col("weight") - pl.col("weight_right")).abs() <= _ROUNDING * pl.col("weight")
    return bool(both.select(alike.fill_null(value=False).all()).item())


def _numbered(frame: pl.DataFrame, number: Integers) -> pl.DataFrame:
    """With the numbers that groups become; without those that are left out."""
    of_variance = pl.Series(GROUP, number[frame[GROUP].to_numpy()])
    return frame.with_columns(of_variance).filter(pl.col(GROUP) >= 0)


def _placed_cells(grid: Grid, frames: Sequence[pl.DataFrame], weighted: bool) -> tuple[RankingCells, list[Counts]]:
    """The table of the cells that occur, and the counts with the numbers of their cells."""
    columns = ["class", *grid.cell_columns]
    cells = pl.concat([frame.select(columns) for frame in frames]).unique().sort(columns)
    numbered = cells.with_row_index(_CODE)
    counts = []
    for frame in frames:
        used = frame.join(numbered, on=columns, how="left", nulls_equal=True)
        group, code = (used[name].to_numpy().astype(np.int64) for name in (GROUP, _CODE))
        bucket = np.zeros(len(group), dtype=np.int64)
        if "bucket" in used.columns:
            bucket = used["bucket"].fill_null(0).to_numpy().astype(np.int64)
        weight, weight2 = (used[name].to_numpy().astype(np.float64) for name in ("weight", "weight2"))
        counts.append(Counts(group, code, weight, weight2, bucket, np.zeros_like(code)))
    return RankingCells(grid, cells, weighted), counts
