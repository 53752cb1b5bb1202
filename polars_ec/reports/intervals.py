"""Intervals of a report's metrics, computed after the pass from its sums and sums of squares, with the report's own formulas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Request
from polars_ec.formulas.calibration_error import ECE_BINS
from polars_ec.formulas.decisions import highest, interval_scale
from polars_ec.inference.bootstrap import BinnedClusters, Resampled, if_calibrated, resampled_values, variance_of_gaps
from polars_ec.inference.confidence import (
    Clusters,
    Limits,
    Moments,
    PseudoCounts,
    with_cost_pseudocounts,
    with_pseudocounts,
)
from polars_ec.inference.estimator import JACKKNIFE_PARTS, MOST_SLOPES, Estimator
from polars_ec.numerics import Integers, Numbers, np
from polars_ec.reports.models import BUCKET, CLASS_OF_SUMS, ONCE, TWICE, UNITS, Model, is_multiclass, summed_decisions
from polars_ec.scores.scores import CELL, CLASS, DECISION, WEIGHT

Read: TypeAlias = Callable[[str], Numbers]
"""The sums of this name, (..., classes); of `DECISIONS` (..., classes, decisions)."""

DECISIONS, AGAINST = "decisions", "against"
"""Prefix of the sums of all decisions of many classes; and, before a class number, of its one-vs-rest sums, (..., 2, 2)."""


@dataclass(frozen=True, eq=False)
class Features(ABC):
    """Row features of a model, for metrics with the same sums."""

    model: Model

    @property
    def weighted(self) -> bool:
        return self.model.rows.weight is not None

    @abstractmethod
    def linear(self, read: Read) -> Numbers:
        """Sums of w x, (..., classes, features)."""

    @abstractmethod
    def moments(self, read: Read) -> Moments:
        """Sums of w x, and of w^2 x x'."""

    def weight(self, linear: Numbers) -> Numbers:
        """Sums of w, of sums of w x."""
        return linear[..., 0]

    @abstractmethod
    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        """The columns of the table of sums, from sums of w x."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features of a row."""

    @property
    def n_sums(self) -> int:
        """The number of sums of w x in a group."""
        return self.model.rows.costs.n_classes * self.n_features

    @property
    def pseudocounts(self) -> PseudoCounts | None:
        """Adds rows to each class, for decisions; None for losses."""
        return None

    def constant_costs(self, linear: Numbers) -> Numbers:
        """The cost of each constant decision at the group's own prior, (..., constant decisions)."""
        raise NotImplementedError

    def undecided(self, moments: Moments, clusters: Clusters | None) -> tuple[Moments, Clusters | None]:
        """Features for constant decisions, independent of the decisions of the rows."""
        return moments, clusters

    @property
    def values(self) -> Sequence[str]:
        """The sums of what rows have beside being there; none for decisions, of which each has one."""
        return ()

    def in_cells(self, linear: Numbers) -> Mapping[str, Numbers]:
        """Sums of w x, by their names in the cells of many classes."""
        return {name: linear[..., f] for f, name in enumerate((WEIGHT, *self.values))}

    def listed(self, linear: Numbers) -> dict[str, pl.Series]:
        """The column of the cells of groups of many classes, in place of `columns`."""
        arrays = [pl.Series(x, of.ravel()).reshape((len(of), of[0].size)) for x, of in self.in_cells(linear).items()]
        return {f"{self.model.prefix}cells": pl.DataFrame(arrays).to_struct()}

    def named(self, name: str, values: Numbers) -> dict[str, Numbers | pl.Series]:
        """The columns of a sum, (..., classes)."""
        return {f"{self.model.prefix}{name}_{i}": values[..., i] for i in range(values.shape[-1])}


@dataclass(frozen=True, eq=False)
class ValueFeatures(Features):
    """The presence of a row, and the losses that it has, by their names."""

    values: Sequence[str] = ()

    @property
    def n_features(self) -> int:
        return len(self.values) + 1

    def linear(self, read: Read) -> Numbers:
        return np.stack([read(name) for name in ("count", *self.values)], axis=-1)

    def moments(self, read: Read) -> Moments:
        linear, n = self.linear(read), self.n_features
        square = np.empty((*linear.shape, n))
        square[..., 0, 0] = read(f"count{TWICE}") if self.weighted else linear[..., 0]
        for f, name in enumerate(self.values, start=1):
            square[..., 0, f] = square[..., f, 0] = read(f"{name}{ONCE}") if self.weighted else linear[..., f]
            square[..., f, f] = read(f"{name}{TWICE}")
        # Of two values the second is 0, or the first.
        for f in range(2, n):
            square[..., 1, f] = square[..., f, 1] = square[..., f, f]
        return Moments(linear, square, np.eye(n)[0])

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        columns = dict[str, Numbers | pl.Series]()
        for f, name in enumerate(("count", *self.values)):
            columns |= self.named(name, linear[..., f])
        return columns


@dataclass(frozen=True, eq=False)
class DecisionFeatures(Features):
    """The decision of a row, for metrics of all classes together, or of one class each."""

    of_one_class: bool = False

    @property
    def n_features(self) -> int:
        return self.model.rows.costs.n_decisions

    def linear(self, read: Read) -> Numbers:
        return self._of_decisions(read, "")

    def moments(self, read: Read) -> Moments:
        linear = self.linear(read)
        return Moments.one_hot(linear, self._of_decisions(read, TWICE) if self.weighted else linear)

    def _of_decisions(self, read: Read, suffix: str) -> Numbers:
        if is_multiclass(self.model):
            return read(f"{DECISIONS}{suffix}")
        summed = [read(f"decided_{j}{suffix}") for j in summed_decisions(self.model)]
        if not self.weighted:
            summed.insert(0, read("count") - sum(summed))
        return np.stack(summed, axis=-1)

    def in_cells(self, linear: Numbers) -> Mapping[str, Numbers]:
        return {CELL: linear}

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        columns = self.named("count", linear.sum(axis=-1))
        for j in summed_decisions(self.model):
            columns |= self.named(f"decided_{j}", linear[..., j])
        return columns

    def weight(self, linear: Numbers) -> Numbers:
        total: Numbers = linear.sum(axis=-1)
        return total

    @property
    def pseudocounts(self) -> PseudoCounts:
        return partial(with_pseudocounts, n_classes=2) if self.of_one_class else with_pseudocounts

    def constant_costs(self, linear: Numbers) -> Numbers:
        return _constant_costs(linear, self.model.rows.costs.values)

    def undecided(self, moments: Moments, clusters: Clusters | None) -> tuple[Moments, Clusters | None]:
        return moments.of_classes, None if clusters is None else clusters.of_classes


@dataclass(frozen=True, eq=False)
class OneVsRestFeatures(DecisionFeatures):
    """Whether a row is of the rest or of a class, and decided for the rest or for the class."""

    k: int = field(kw_only=True)
    prefix: str = field(kw_only=True)
    """Prefix of the columns with sums of this class."""

    @property
    def n_sums(self) -> int:
        return 4

    def _of_decisions(self, read: Read, suffix: str) -> Numbers:
        if is_multiclass(self.model):
            return read(f"{AGAINST}{self.k}{suffix}")
        cells = super()._of_decisions(read, suffix)
        is_k = [np.arange(n) == self.k for n in cells.shape[-2:]]
        sides = [np.stack([~mask, mask]).astype(float) for mask in is_k]
        return np.asarray(np.einsum("...ij,ai,bj->...ab", cells, *sides))

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        columns: dict[str, Numbers | pl.Series]
        columns = {f"{self.prefix}count_{i}": linear[..., i, :].sum(axis=-1) for i in range(2)}
        return columns | {f"{self.prefix}{i}{j}": linear[..., i, j] for i in range(2) for j in range(2)}

    def constant_costs(self, linear: Numbers) -> Numbers:
        return _constant_costs(linear, CostMatrix.zero_one(2).values)


@dataclass(frozen=True, eq=False)
class CostFeatures(ValueFeatures):
    """The presence of a row, what an error would cost it, and what it does."""

    values: Sequence[str] = ("class_cost", "error_cost")

    @property
    def pseudocounts(self) -> PseudoCounts:
        return with_cost_pseudocounts

    def constant_costs(self, linear: Numbers) -> Numbers:
        with np.errstate(all="ignore"):
            return np.asarray(linear[..., 1] / linear[..., 0].sum(axis=-1, keepdims=True))


def _constant_costs(cells: Numbers, costs: Sequence[Sequence[float]]) -> Numbers:
    with np.errstate(all="ignore"):
        shares = cells.sum(axis=-1) / cells.sum(axis=(-2, -1))[..., None]
    return np.asarray(shares @ np.asarray(costs))


# Some groups of the table of sums, as arrays, for intervals.


class Chunk:
    """Some rows of the table of sums, and the sums of their buckets."""

    def __init__(self, table: pl.DataFrame, n_buckets: int | None) -> None:
        self.table, self.n_buckets = table, n_buckets
        self._listed: dict[str, _Listed] = {}

    def of_groups(self, model: Model, name: str) -> Numbers:
        """A sum of each group, (groups, classes); NaN if it overflows."""
        if is_multiclass(model):
            return _finite(self._cells(model).sum(name, model, by_bucket=False))
        columns = [self.table[f"{model.prefix}{name}_{i}"].to_numpy() for i in range(model.rows.costs.n_classes)]
        return _finite(np.stack(columns, axis=-1).astype(np.float64))

    def of_buckets(self, model: Model, name: str) -> Numbers:
        """A sum of each bucket, (groups, buckets, classes), and of the rows that are in none."""
        return _finite(self._cells(model).sum(name, model, by_bucket=True))

    def resampled(self, features: Features, names: Sequence[str]) -> Resampled:
        """Units of rows of a group and class that have about the same values of these names, or clusters."""
        model, once, cells = features.model, ONCE if features.weighted else "", self._cells(features.model)
        read_names = [f"{name}{of}" for name in names for of in ("", once, TWICE)]
        read_names += ["count", *([f"count{TWICE}"] if features.weighted else [])]
        sums = {name: np.asarray(cells.column(name, model), dtype=np.float64) for name in read_names}
        weight = sums["count"]
        with np.errstate(all="ignore"):
            means = [sums[name] / weight for name in names]
        squares = [(sums[f"{name}{once}"], sums[f"{name}{TWICE}"]) for name in names]
        weight2 = sums[f"count{TWICE}"] if features.weighted else weight
        shape = (self.table.height, model.rows.costs.n_classes)
        in_bucket = None if self.n_buckets is None else np.where(cells.bucket == self.n_buckets, -1, cells.bucket)
        return resampled_values(cells.group, cells.index, means, weight, squares, weight2, shape, in_bucket)

    def _cells(self, model: Model) -> _Listed:
        """Each model of many classes has cells of its own; all others have theirs in one list."""
        lists, index = (f"{model.prefix}cells", CLASS) if is_multiclass(model) else (UNITS, CLASS_OF_SUMS)
        if lists not in self._listed:
            self._listed[lists] = _Listed(self.table[lists], index, self.n_buckets)
        return self._listed[lists]

    def moments(self, features: Features) -> Moments:
        """Moments of each group."""
        return features.moments(lambda name: self.of_groups(features.model, name))

    def clusters(self, features: Features, unit: Numbers) -> Clusters | None:
        """Buckets of each group; None where rows are independent."""
        if self.n_buckets is None:
            return None
        singletons, n_buckets = None, self.n_buckets
        # Rows without a cluster.
        if (self._cells(features.model).bucket == n_buckets).any():
            singletons = features.moments(lambda name: self.of_buckets(features.model, name)[:, n_buckets])
        weight = self.of_buckets(features.model, "count")[:, :n_buckets].sum(axis=-1)
        linear = features.linear(lambda name: self.of_buckets(features.model, name)[:, :n_buckets])
        return Clusters(linear, weight, unit, singletons)


class _Listed:
    """The cells in the lists of groups, each with its group, its bucket and, in the column `index`, its class."""

    def __init__(self, lists: pl.Series, index: str, n_buckets: int | None) -> None:
        rows = lists.explode(empty_as_null=False, keep_nulls=False).struct.unnest()
        group = np.repeat(np.arange(len(lists)), lists.list.len().to_numpy())
        used = rows[index].fill_null(-1).to_numpy() >= 0
        self._rows, self.group = rows.filter(pl.Series(used)), group[used]
        self.index = self._rows[index].to_numpy().astype(np.int64)
        self.bucket = np.zeros_like(self.group)
        if n_buckets is not None:
            # Rows without a cluster are in one more bucket, the last.
            self.bucket = self._rows[BUCKET].fill_null(n_buckets).to_numpy().astype(np.int64)
        self._shape = (len(lists), (n_buckets or 0) + 1)

    def sum(self, name: str, model: Model, *, by_bucket: bool) -> Numbers:
        """A sum of each group, perhaps bucket, class and perhaps decision."""
        costs, place = model.rows.costs, [self.group, self.bucket, self.index]
        shape = [*self._shape, costs.n_classes]
        name, suffix = name.removesuffix(TWICE), TWICE if name.endswith(TWICE) else ""
        if name == DECISIONS or name.startswith(AGAINST):
            place.append(self._rows[DECISION].to_numpy().astype(np.int64))
            shape.append(costs.n_decisions)
        if name.startswith(AGAINST):
            k = int(name.removeprefix(AGAINST))
            place[2:], shape[2:] = [(values == k).astype(np.int64) for values in place[2:]], [2, 2]
        if name == DECISIONS or name.startswith(AGAINST):
            name = "count"
        if not by_bucket:
            del place[1], shape[1]
        code, values = np.ravel_multi_index(place, shape), self.column(f"{name}{suffix}", model)
        return np.asarray(np.bincount(code, values, minlength=int(np.prod(shape))).reshape(shape))

    def column(self, name: str, model: Model) -> Numbers:
        """The rows or their weight, as `count`, the squares of that, or a loss, of each cell."""
        column = name.replace("count", WEIGHT) if is_multiclass(model) else f"{model.prefix}{name}"
        return self._rows[column].to_numpy()


def _finite(values: Numbers) -> Numbers:
    return np.where(np.isfinite(values), values, np.nan)


# The columns of bounds.

LOW, HIGH = "_ci_low", "_ci_high"
KINKED, FEWEST = "nec_kinked", "fewest"
IF_CALIBRATED = ("ece_if_calibrated", "ece_if_calibrated_high")
"""Names in the table of sums, after what the estimate's name, or those of the model's columns, begin with."""

# Numbers of a table of changed sums that are made at a time.
_BLOCK = 2**22

# With fewer decisions for one of many classes there is no interval: if all few are right, it would have no width.
_FEWEST_DECIDED = {"macro_precision": 15, "macro_f1": 5}

# With more sums per group than this there are no intervals.
_MOST_SUMS = 40_000


@dataclass(frozen=True, eq=False)
class Value:
    """A value with an interval: its name in the table of sums, the metric, and its formula; the report may have another, `shown`.

    `width` is the number of values: one, or, as an Array, one per class; `costs` are those of the decisions, None for 0 and 1.
    """

    column: str
    metric: str
    value: pl.Expr
    shown: pl.Expr | None = None
    width: int | None = None
    costs: CostMatrix | None = None

    @property
    def dtype(self) -> pl.DataType:
        """Data type of each of the two bounds."""
        return pl.Float64() if self.width is None else pl.Array(pl.Float64, self.width)


@dataclass(frozen=True, eq=False)
class Family:
    """Estimates with the same row features; `layers` are intermediate columns, each computed from the previous ones.

    `kinked` and `fewest` name the columns for whether NEC is near its kink, and the number of rows in the smallest class.
    """

    features: Features
    estimates: Sequence[Value]
    layers: Sequence[Mapping[str, pl.Expr]] = ()
    kinked: str | None = None
    fewest: str | None = None

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Columns that it adds to the table of sums."""
        schema: dict[str, pl.DataType] = {f"{of.column}{end}": of.dtype for of in self.estimates for end in (LOW, HIGH)}
        schema |= {} if self.kinked is None else {self.kinked: pl.Boolean()}
        return schema | ({} if self.fewest is None else {self.fewest: pl.Float64()})


def with_intervals(
    sums: pl.LazyFrame, families: Sequence[Family], calibrated: Sequence[Model], request: Request
) -> pl.LazyFrame:
    """Add the bounds of all estimates to the sums, and for the models in `calibrated` their ECE if they were calibrated."""
    dtypes: dict[str, pl.DataType] = {}
    for family in families:
        dtypes |= family.schema
    for model in calibrated:
        dtypes |= {f"{model.prefix}{name}": pl.Float64() for name in IF_CALIBRATED}

    def limited(table: pl.DataFrame) -> pl.DataFrame:
        columns: dict[str, list[pl.Series]] = {name: [pl.Series([], dtype=dtype)] for name, dtype in dtypes.items()}
        for chunk in _chunks(table, families, bool(calibrated), request):
            for family in families:
                for name, values in _of_family(chunk, family, request).items():
                    columns[name].append(_series(values, dtypes[name]))
            for model in calibrated:
                for name, values in zip(IF_CALIBRATED, _if_calibrated(chunk, model, request), strict=True):
                    columns[f"{model.prefix}{name}"].append(_series(values, pl.Float64()))
        whole = {name: pl.concat(parts) for name, parts in columns.items()}
        return table.drop(UNITS, strict=False).with_columns(**whole)

    schema = {name: dtype for name, dtype in sums.collect_schema().items() if name != UNITS}
    return sums.map_batches(limited, schema={**schema, **dtypes})


def _chunks(table: pl.DataFrame, families: Sequence[Family], binned: bool, request: Request) -> Iterator[Chunk]:
    """Blocks of groups whose tables of changed sums stay small."""
    n_buckets = None if request.cluster is None else request.buckets
    numbers = [family.features.n_sums for family in families]
    tables = [n * max(4 * n if n <= MOST_SLOPES else JACKKNIFE_PARTS, n_buckets or 0) for n in numbers]
    tables += [(n_buckets or 1) * 2 * ECE_BINS.number] if binned else []
    size = max(_BLOCK // max(tables, default=1), 1)
    for start in range(0, table.height, size):
        yield Chunk(table.slice(start, size), n_buckets)


def _of_family(chunk: Chunk, family: Family, request: Request) -> dict[str, Numbers]:
    features = family.features
    if features.n_sums > _MOST_SUMS:
        numbers = {name: dtype.size if isinstance(dtype, pl.Array) else 1 for name, dtype in family.schema.items()}
        return {name: np.full((chunk.table.height, number), np.nan) for name, number in numbers.items()}
    moments = chunk.moments(features)
    clusters = chunk.clusters(features, moments.unit)
    columns: dict[str, Numbers] = {}
    if family.estimates:
        of_values = [of for of in family.estimates for _ in range(of.width or 1)]
        scales = [interval_scale(of.metric, of.costs) for of in of_values]
        formula = _MetricFormula(chunk.table, family)
        resampled = partial(chunk.resampled, features, features.values) if features.values else None
        estimator = Estimator(formula.of_groups, moments, clusters, features.pseudocounts, resampled=resampled)
        of_table, at = formula.of_table(moments), 0
        low, high = estimator.interval(scales, request, of_table)
        n_classes = features.model.rows.costs.n_classes
        # Costs of the rows may be of any size.
        costs = [None if isinstance(features, CostFeatures) else of.costs or CostMatrix.zero_one(2) for of in of_values]
        most = [highest(of.metric, n_classes, cost) for of, cost in zip(of_values, costs, strict=True)]
        ends = low, np.minimum(high, np.fmax(most, of_table))
        for estimate in family.estimates:
            width, fewest = estimate.width or 1, _FEWEST_DECIDED.get(estimate.metric)
            few = fewest is not None and n_classes > 2 and moments.rows_of_decisions.min(axis=-1) < fewest
            for end, values in zip((LOW, HIGH), ends, strict=True):
                columns[f"{estimate.column}{end}"] = np.where(np.c_[few], np.nan, values[:, at : at + width])
            at += width
    if family.kinked is not None:
        constant = Estimator(lambda _: features.constant_costs, *features.undecided(moments, clusters))
        low = next(columns[f"{estimate.column}{LOW}"] for estimate in family.estimates if estimate.metric == "nec")
        columns[family.kinked] = np.where(np.isnan(low[:, 0]), np.nan, constant.near_kink())
    if family.fewest is not None:
        columns[family.fewest] = moments.rows.min(axis=-1)
    return columns


class _MetricFormula:
    """The report's own expressions, on a table whose sums are others."""

    def __init__(self, table: pl.DataFrame, family: Family) -> None:
        self._values = [of.value.alias(of.column) for of in family.estimates]
        self._shown = [(of.value if of.shown is None else of.shown).alias(of.column) for of in family.estimates]
        self._family = family
        needed = {name for value in self._values for name in value.meta.root_names()}
        layers: list[dict[str, pl.Expr]] = []
        for layer in reversed(family.layers):
            kept = {name: value for name, value in layer.items() if name in needed}
            needed |= {name for value in kept.values() for name in value.meta.root_names()}
            layers.insert(0, kept)
        self._layers = [layer for layer in layers if layer]
        features = family.features
        self._columns = features.listed if f"{features.model.prefix}cells" in needed else features.columns
        made = {name for layer in layers for name in layer}
        self._table, self._others = table, table.select(name for name in table.columns if name in needed - made)
        self._is_in_table = {name for value in self._shown for name in value.meta.root_names()} <= set(table.columns)

    def of_groups(self, groups: slice | Integers) -> _MetricFormula:
        """The formula of some groups of the table."""
        every = isinstance(groups, slice) and groups == slice(None)
        return self if every else _MetricFormula(self._table[groups], self._family)

    def of_table(self, moments: Moments) -> Numbers:
        """The values, as the report has them."""
        if self._is_in_table:
            return _matrix(self._table.lazy().select(self._shown).collect())
        values: Numbers = self(moments.linear[None])[0]
        return values

    def __call__(self, sums: Numbers) -> Numbers:
        n_variants, n_groups, *shape = sums.shape
        columns = self._columns(sums.reshape(-1, *shape))
        table = pl.DataFrame([pl.Series(name, values) for name, values in columns.items()])
        # Equal for all variants: inputs of the formulas besides sums, such as a stated prior.
        others = self._others.drop(columns, strict=False)
        if others.width:
            table = table.hstack(pl.concat([others] * n_variants))
        # Lazy, because then what formulas share is computed once.
        lazy = table.lazy()
        for layer in self._layers:
            lazy = lazy.with_columns(**layer)
        return _matrix(lazy.select(self._values).collect()).reshape(n_variants, n_groups, -1)


def _if_calibrated(chunk: Chunk, model: Model, request: Request) -> Limits:
    def by_bucket(name: str) -> Numbers:
        return np.stack([chunk.of_buckets(model, f"{name}_{b}") for b in range(ECE_BINS.number)], axis=-1)

    clusters = None
    if chunk.n_buckets is not None:
        rows, posterior = by_bucket("bin"), by_bucket("posterior")
        gaps = posterior.sum(axis=2) - rows[:, :, 1]
        clusters = BinnedClusters(
            rows.sum(axis=2)[:, :-1], gaps[:, :-1], by_bucket("noise").sum(axis=2)[:, -1], rows.sum(axis=(2, 3))[:, -1]
        )
    size = chunk.of_groups(model, "count").sum(axis=-1)
    noise = [chunk.of_groups(model, f"noise_{b}").sum(axis=-1) for b in range(ECE_BINS.number)]
    return if_calibrated(variance_of_gaps(size, np.stack(noise, axis=-1), clusters), request.level, request.seed)


def _matrix(table: pl.DataFrame) -> Numbers:
    """The columns of a table side by side, those of Arrays as many; NaN for null."""
    return np.hstack([_numbers(column) for column in table])


def _numbers(column: pl.Series) -> Numbers:
    n = len(column)
    if isinstance(column.dtype, pl.Array):
        width = column.dtype.shape[0]
        flat = column.reshape((-1,)) if n else pl.Series([], dtype=pl.Float64)
        return np.asarray(flat.to_numpy(), dtype=np.float64).reshape(n, width)
    return np.asarray(column.cast(pl.Float64).to_numpy(), dtype=np.float64)[:, None]


def _series(values: Numbers, dtype: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.Array):
        return pl.Series(values.ravel(), nan_to_null=True).reshape(values.shape)
    return pl.Series(values.ravel(), nan_to_null=True).cast(dtype)
