"""Areas under ROC curves averaged over classes, from the rows of groups: values, the influence of each row, and intervals.

A row moves the area of its own class as a positive, and the areas of all others as a negative. Its influence on the mean is the sum of these,
each times the weight of its class. That includes what the row changes in the class shares, if these are the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from polars_ec.arguments.keywords import Request
from polars_ec.formulas.class_areas import Ranks
from polars_ec.formulas.ranking import CLASS_AREAS
from polars_ec.formulas.table_sums import Part
from polars_ec.inference import confidence
from polars_ec.inference.ranking import auc_limits
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np
from polars_ec.reports.intervals import HIGH, LOW
from polars_ec.reports.models import BUCKET, Model, bucket_columns, with_total
from polars_ec.reports.ranking import GroupedLog, Rank
from polars_ec.scores.counted import ClassCounts, GroupPrior, in_blocks, packed_groups, unpacked_groups
from polars_ec.scores.read import Rows
from polars_ec.scores.scores import CLASS, ManyScores

_MACRO, _WEIGHTED, _PAIRWISE = CLASS_AREAS


@dataclass(frozen=True)
class AreaInput:
    """What the rows of an area are: structs of CLASS and the column `scores`, perhaps WEIGHT, and BUCKET if they are in clusters."""

    metric: str
    n_classes: int
    scores: str
    n_buckets: int | None = None

    @property
    def is_weighted(self) -> bool:
        """Whether the areas of the classes are weighted by their priors, which are estimates if none is stated."""
        return self.metric == _WEIGHTED

    def prior(self, stated: tuple[float, ...] | GroupPrior | None) -> tuple[float, ...] | GroupPrior | None:
        """The prior that weighs the classes: at equal ones all pairs of classes count alike."""
        return (1 / self.n_classes,) * self.n_classes if self.metric == _PAIRWISE else stated


def order_of(rows: Rows) -> str:
    """The field of the cells of rows by which they are ranked."""
    assert isinstance(rows.scores, ManyScores)
    return rows.scores.order


def area_cells(metric: str, rows: Rows) -> tuple[str, pl.Expr]:
    """The struct of each row, and a name for it; log-likelihoods become posteriors at the prior, those of pairs at equal priors."""
    scores, name = rows.scores, "__ec_area"
    assert isinstance(scores, ManyScores)
    if metric == _PAIRWISE and scores.scale.needs_prior:
        name, scores = f"{name}_even", replace(scores, prior=(1 / scores.n_classes,) * scores.n_classes)
    return name, replace(rows, scores=scores).cells([CLASS, scores.order])


class ClassAreas(ClassCounts):
    """An average area of each group, from lists of its rows."""

    def __init__(self, lists: pl.Series, rows: AreaInput, prior: tuple[float, ...] | Numbers | None) -> None:
        literal, of_groups = (prior, None) if isinstance(prior, tuple) else (None, prior)
        super().__init__(lists, rows.n_classes, rows.n_classes, literal, of_groups)
        self.input, self._part = rows, Part("area", loss=rows.scores, one=True)
        self.weight: Floats = np.ones(len(self._index)) if self._weight is None else self._weight

    def _read(self, cells: pl.Series) -> Numbers:
        counts = super()._read(cells)
        self._bucket: Integers = np.full(len(self._index), -1)
        if BUCKET in self._rows.columns:
            self._bucket = self._rows[BUCKET].fill_null(-1).cast(pl.Int64).to_numpy()
        return counts

    @cached_property
    def _each(self) -> tuple[Floats, Floats]:
        """The area of each class against the rest, (groups, classes), and the influence of each row of weight 1 on it, (rows, classes)."""
        return self.areas_of(self.ranks_by(self.input.scores))

    def _areas(self, part: Part) -> Numbers:  # noqa: ARG002
        return self._each[0]

    @cached_property
    def value(self) -> Floats:
        """(groups,); NaN if it is undefined."""
        area = self.weighted_area if self.input.is_weighted else self.macro_area
        return np.where(self.right == 1, area(self._part), np.nan)

    @cached_property
    def _class_weight(self) -> Floats:
        """The weight of each class in the mean, (groups, classes)."""
        return self.prior if self.input.is_weighted else np.full(self.count.shape, 1 / self.n_classes)

    @cached_property
    def influence(self) -> Floats:
        """The influence of a row of weight 1 on the value, (rows,); NaN where that is undefined."""
        group, (areas, moved) = self._group, self._each
        weight = self._class_weight[group]
        # A row of the rest weighs there as the prior weighs its class.
        is_own = np.arange(self.n_classes) == self._index[:, None]
        weight = np.where(is_own, weight, weight * self._mass_in_rest[:, None])
        influence = np.where(weight == 0, 0.0, weight * moved).sum(axis=1)
        if self.is_stated:
            counted = np.where(self.weight > 0, self.weight * influence, 0.0)
            influence = influence - (self.per_class(counted) / self.count)[group, self._index]
        elif self.input.is_weighted:
            influence = influence + (areas[group, self._index] - self.value[group]) / self.size[group]
        return np.asarray(np.where(np.isfinite(self.value)[group], influence, np.nan))

    @cached_property
    def _mass_in_rest(self) -> Floats:
        """The weight of each row in the rest, in units of its own."""
        if not self.is_stated:
            return np.ones(len(self._index))
        of_class = np.where(self.prior == 0, 0.0, self.prior / self.count)
        return np.asarray(of_class[self._group, self._index], dtype=np.float64)

    def per_row(self, values: Floats) -> Floats:
        """The value of the group of each row."""
        return np.asarray(values[self._group])

    # Sums over rows.

    def per_class(self, amounts: Floats, which: Bools | slice = slice(None)) -> Floats:
        """(groups, classes)."""
        return np.asarray(self._by_class(self._group[which], self._index[which], amounts[which]))

    def _per_bucket(self, amounts: Floats) -> Floats:
        """(groups, buckets, classes); rows without a bucket are left out."""
        assert self.input.n_buckets is not None
        shape, keyed = (self.n_groups, self.input.n_buckets, self.n_classes), self._bucket >= 0
        place = (self._group[keyed] * shape[1] + self._bucket[keyed]) * shape[2] + self._index[keyed]
        return np.asarray(np.bincount(place, amounts[keyed], int(np.prod(shape))), dtype=np.float64).reshape(shape)

    # Variance.

    def components(self, influence: Floats, *, others: bool = False) -> confidence.VarianceComponents:
        """Components of the variance of each group, from the influence of its rows, or of those of all others."""
        psi, w = np.where(self.weight > 0, influence, 0.0), self.weight
        alone = self._bucket < 0

        def taken(sums: Floats) -> Floats:
            return confidence.exclusive(sums) if others else sums

        singletons = confidence.Singletons.of(lambda sums: taken(self.per_class(sums, alone)), w, w**2, psi)
        if self.input.n_buckets is None:
            return confidence.VarianceComponents.of_variance(singletons.variance)
        buckets, by_bucket = (taken(self._per_bucket(of)) for of in (w, w * psi))
        keyless = singletons if alone.any() else None
        components = confidence.cluster_influence(buckets, by_bucket, buckets.sum(axis=-1), keyless).components
        on_one = confidence.in_one_cluster(buckets, keyless).any(axis=-1) & (not others)
        return replace(components, independent=np.where(on_one, np.nan, components.independent))

    def rows_of_area(self, components: confidence.VarianceComponents) -> Floats:
        """The effective sample size as of two classes, (groups, 2), for intervals from few rows; NaN without a variance.

        A class as large as it weighs in the mean, as positive and as negative; in clusters fewer, by the ratio of the variance to that of
        independent rows, or, if neither is positive, as many as there are clusters.
        """
        rows = self._mean_rows(confidence.effective_rows(self.per_class(self.weight), self.per_class(self.weight**2)))
        if self.input.n_buckets is not None:
            alone, w = self._bucket < 0, self.weight
            singletons = self.per_class(w, alone), self.per_class(w**2, alone)
            of_buckets = np.moveaxis(self._per_bucket(w), 1, 2)
            clusters = self._mean_rows(confidence.effective_clusters(of_buckets, *singletons))
            psi = np.where(w > 0, self.influence, 0.0)
            independent = confidence.Singletons.of(self.per_class, w, w**2, psi)
            larger = components.variance / independent.variance.variance
            fewer = np.fmax(rows / np.fmax(larger, 1), 1)
            rows = np.where((larger > 0) & np.isfinite(larger), fewer, np.fmin(rows, clusters))
        rows = np.where(np.isnan(components.variance), np.nan, rows)
        return np.stack([rows, rows], axis=-1)

    def _mean_rows(self, rows: Floats) -> Floats:
        """The size of two equal classes whose area is as uncertain as the mean, (groups,), from the rows of each class."""
        per_rest = np.where(self._class_weight == 0, 0.0, self._class_weight / (1 - self.prior))
        share = self._class_weight + self.prior * (per_rest.sum(axis=1, keepdims=True) - per_rest)
        return np.asarray(2 / np.where(share > 0, share**2 / rows, 0.0).sum(axis=1))

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper bound of each group; NaN without an interval."""
        components = self.components(self.influence)
        variance = confidence.Variance(components.variance, components.df)
        return auc_limits(self.value, variance, self.rows_of_area(components), level)


class RestAreas(ClassAreas):
    """An average area of all other groups together, for some groups; each takes all rows, those of its own with weight 0."""

    def __init__(
        self, areas: ClassAreas, ranks: Sequence[Ranks], groups: Integers, prior: tuple[float, ...] | Numbers | None
    ) -> None:
        self._of_groups, self._all_ranks = areas, ranks
        super().__init__(pl.Series(groups), areas.input, prior)

    def _read(self, cells: pl.Series) -> Numbers:
        of, groups, n = self._of_groups, cells.to_numpy(), len(self._of_groups.weight)
        self._group, self._index = np.repeat(np.arange(len(groups)), n), np.tile(of._index, len(groups))
        self._weight = np.where(of._group == groups[:, None], 0.0, of.weight).ravel()
        self._bucket = np.tile(of._bucket, len(groups))
        self.wrong = of.wrong.sum() > of.wrong[groups]
        return self._by_class(self._group, self._index, self._weight)

    @cached_property
    def _each(self) -> tuple[Floats, Floats]:
        return self.areas_of([ranks.repeated(self.n_groups) for ranks in self._all_ranks])


# The areas of a report: the rows of each group are listed by the streaming engine, and areas are computed from lists.

_ONE = "__ec_one"


def with_class_areas(
    sums: pl.LazyFrame,
    log: GroupedLog,
    model: Model,
    ranks: Sequence[Rank],
    prior: tuple[float, ...] | GroupPrior | None,
    interval: Request | None,
) -> pl.LazyFrame:
    """Add the areas of this model, with their bounds, to the sums; column names start as the model's do. `prior` is the reference prior."""
    buckets = bucket_columns(interval)
    n_classes, n_buckets = model.rows.costs.n_classes, interval.buckets if interval is not None and buckets else None
    listed = dict(area_cells(rank.metric, model.rows) for rank in ranks)
    joined = sums.with_columns(pl.lit(0).alias(_ONE))
    for name, cells in listed.items():
        lists = _listed(log, cells, buckets, name)
        joined = joined.join(lists, on=[_ONE, *log.names], how="left", nulls_equal=True, maintain_order="left")
    columns = []
    for rank in ranks:
        rows = AreaInput(rank.metric, n_classes, order_of(model.rows), n_buckets)
        at = rows.prior(prior if rank.at_prior else None)
        level = None if interval is None else interval.level
        kernel = _AreasKernel(f"{model.prefix}{rank.column}", rows, at if isinstance(at, tuple) else None, level)
        groups = packed_groups(pl.col(area_cells(rank.metric, model.rows)[0]), at)
        columns.append(groups.map_batches(kernel, return_dtype=kernel.dtype, is_elementwise=True).alias(rank.column))
    added = joined.with_columns(columns).unnest([rank.column for rank in ranks])
    return added.drop(_ONE, *listed)


def _listed(log: GroupedLog, cells: pl.Expr, buckets: dict[str, pl.Expr], name: str) -> pl.LazyFrame:
    """The rows of each group without missing values, as a list."""
    row = log.frame.select(*log.keys, row=cells, **buckets).filter(pl.col("row").struct.field(CLASS).is_not_null())
    fields = pl.col("row").struct.with_fields(*map(pl.col, buckets)) if buckets else pl.col("row")
    keys = [key.meta.output_name() for key in log.keys]
    lists = log.execute(row.select(*keys, pl.lit(0).alias(_ONE), fields.alias(name)))
    whole = with_total(lists, log.names) if log.total else lists
    return whole.group_by(_ONE, *log.names).agg(pl.col(name))


@dataclass(frozen=True)
class _AreasKernel:
    """Computes an area of groups, and with a `level` its bounds."""

    column: str
    rows: AreaInput
    prior: tuple[float, ...] | None
    level: float | None

    @property
    def columns(self) -> list[str]:
        return [f"{self.column}{end}" for end in (["", LOW, HIGH] if self.level is not None else [""])]

    @property
    def dtype(self) -> pl.Struct:
        return pl.Struct(dict.fromkeys(self.columns, pl.Float64))

    def __call__(self, groups: pl.Series) -> pl.Series:
        return in_blocks(self._of_groups, groups, self.rows.n_classes * (self.rows.n_buckets or 1))

    def _of_groups(self, groups: pl.Series) -> pl.Series:
        lists, prior = unpacked_groups(groups, self.rows.n_classes)
        with np.errstate(all="ignore"):
            areas = ClassAreas(lists, self.rows, prior if self.prior is None else self.prior)
            found = [areas.value, *(areas.limits(self.level) if self.level is not None else ())]
        named = zip(self.columns, found, strict=True)
        return pl.DataFrame([pl.Series(name, of, dtype=pl.Float64, nan_to_null=True) for name, of in named]).to_struct()
