"""The limits of a report's metrics: after the pass, from its sums and their squares, by the formulas of the report themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.costs import CostMatrix
from polars_ec.formulas.calibration_error import ECE_BINS
from polars_ec.intervals.arguments import Request
from polars_ec.reporting.chunks import Chunk
from polars_ec.reporting.draws import drawn_limits
from polars_ec.reporting.features import Features
from polars_ec.reporting.models import Model
from polars_ec.reporting.squares import UNITS

if TYPE_CHECKING:
    import numpy as np

    from polars_ec.intervals.estimates import Clusters
    from polars_ec.intervals.limits import Limits
    from polars_ec.intervals.scales import Scale
    from polars_ec.intervals.spread import Moments

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

LOW, HIGH = "_ci_low", "_ci_high"
KINKED, FEWEST = "nec_kinked", "fewest"
IF_CALIBRATED = ("ece_if_calibrated", "ece_if_calibrated_high")
"""Names in the table of sums, after what the estimate's name, or those of the model's columns, begin with."""

# Numbers of a table of changed sums that are made at a time.
_BLOCK = 2**22

# The gradients of more sums than this would take longer than leaving out parts of the rows, the fewer the more sums there are.
_MOST_SLOPES, _PARTS = 200, 100
_MOST_IN_PARTS, _FEWER_PARTS = 2_500, 20
_MOST_SUMS = 40_000


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value with limits: its name in the table of sums, the metric, and the value, an expression on this table.

    `width` says how many values it has: one, or, as an Array, one per class; `costs` are those that decisions have, None for 0 and 1.
    """

    column: str
    metric: str
    value: pl.Expr
    width: int | None = None
    costs: CostMatrix | None = None

    @property
    def dtype(self) -> pl.DataType:
        """Of each of the two columns of its limits."""
        return pl.Float64() if self.width is None else pl.Array(pl.Float64, self.width)


@dataclass(frozen=True, eq=False)
class Family:
    """Estimates of the same features of rows; `layers` are columns that are made of the sums on the way, one of another.

    `kinked` and `fewest` name the columns that say whether NEC is near its kink, and how many rows the smallest class has.
    """

    features: Features
    estimates: Sequence[Estimate]
    layers: Sequence[Mapping[str, pl.Expr]] = ()
    kinked: str | None = None
    fewest: str | None = None

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """What it adds to the table of sums."""
        schema: dict[str, pl.DataType] = {
            f"{estimate.column}{end}": estimate.dtype for estimate in self.estimates for end in (LOW, HIGH)
        }
        schema |= {} if self.kinked is None else {self.kinked: pl.Boolean()}
        return schema | ({} if self.fewest is None else {self.fewest: pl.Float64()})


def with_intervals(
    sums: pl.LazyFrame, families: Sequence[Family], calibrated: Sequence[Model], request: Request
) -> pl.LazyFrame:
    """The sums with the limits of all estimates; and, of the models in `calibrated`, with their ECE if they were calibrated."""
    made: dict[str, pl.DataType] = {}
    for family in families:
        made |= family.schema
    for model in calibrated:
        made |= {f"{model.prefix}{name}": pl.Float64() for name in IF_CALIBRATED}

    def limited(table: pl.DataFrame) -> pl.DataFrame:
        columns: dict[str, list[pl.Series]] = {name: [pl.Series([], dtype=dtype)] for name, dtype in made.items()}
        for chunk in _chunks(table, families, bool(calibrated), request):
            for family in families:
                for name, values in _of_family(chunk, family, request).items():
                    columns[name].append(_series(values, made[name]))
            for model in calibrated:
                for name, values in zip(IF_CALIBRATED, _if_calibrated(chunk, model, request), strict=True):
                    columns[f"{model.prefix}{name}"].append(_series(values, pl.Float64()))
        whole = {name: pl.concat(parts) for name, parts in columns.items()}
        return table.drop(UNITS, strict=False).with_columns(**whole)

    schema = {name: dtype for name, dtype in sums.collect_schema().items() if name != UNITS}
    return sums.map_batches(limited, schema={**schema, **made})


def _chunks(table: pl.DataFrame, families: Sequence[Family], binned: bool, request: Request) -> Iterator[Chunk]:
    """So many groups at a time that the table of their changed sums stays small."""
    n_buckets = None if request.cluster is None else request.buckets
    numbers = [family.features.n_sums for family in families]
    tables = [n * max(4 * n if n <= _MOST_SLOPES else _PARTS, n_buckets or 0) for n in numbers]
    tables += [(n_buckets or 1) * 2 * ECE_BINS.number] if binned else []
    size = max(_BLOCK // max(tables, default=1), 1)
    for start in range(0, table.height, size):
        yield Chunk(table.slice(start, size), n_buckets)


def _of_family(chunk: Chunk, family: Family, request: Request) -> dict[str, Numbers]:
    import numpy as np

    from polars_ec.intervals.estimates import is_beside_kink, limits_of_clusters, limits_of_rows
    from polars_ec.intervals.scales import scale_of

    features = family.features
    if features.n_sums > _MOST_SUMS:
        numbers = {name: dtype.size if isinstance(dtype, pl.Array) else 1 for name, dtype in family.schema.items()}
        return {name: np.full((chunk.table.height, number), np.nan) for name, number in numbers.items()}
    moments = chunk.moments(features)
    clusters = chunk.clusters(features, moments.unit)
    columns: dict[str, Numbers] = {}
    if family.estimates:
        formula = _Formula(chunk.table, family)
        widths = [estimate.width or 1 for estimate in family.estimates]
        scales = [
            scale_of(estimate.metric, estimate.costs)
            for estimate, width in zip(family.estimates, widths, strict=True)
            for _ in range(width)
        ]
        estimates = formula.of_table(moments)
        enlarged = features.enlarging
        ends: Limits
        if request.is_drawn:
            made_of = features, moments, clusters, estimates
            ends = drawn_limits(*made_of, request, lambda g: _Formula(chunk.table[g], family), chunk.entries)
        elif features.n_sums > _MOST_SLOPES:
            ends = _without_parts(formula, features, moments, clusters, estimates, scales, request)
        elif clusters is None:
            ends = limits_of_rows(formula, moments, estimates, scales, request.level, enlarged)
        else:
            ends = limits_of_clusters(formula, moments, clusters, estimates, scales, request.level, enlarged)
        at = 0
        for estimate, width in zip(family.estimates, widths, strict=True):
            for end, values in zip((LOW, HIGH), ends, strict=True):
                columns[f"{estimate.column}{end}"] = values[:, at : at + width]
            at += width
    if family.kinked is not None:
        of_rows, of_clusters = features.undecided(moments, clusters)
        spread_of = of_rows.spread_of if of_clusters is None else of_clusters.spread_of
        beside = is_beside_kink(features.constant_costs, of_rows.linear, spread_of)
        low = next(columns[f"{estimate.column}{LOW}"] for estimate in family.estimates if estimate.metric == "nec")
        columns[family.kinked] = np.where(np.isnan(low[:, 0]), np.nan, beside)
    if family.fewest is not None:
        columns[family.fewest] = moments.rows.min(axis=-1)
    return columns


def _without_parts(
    formula: _Formula,
    features: Features,
    moments: Moments,
    clusters: Clusters | None,
    estimates: Numbers,
    scales: Sequence[Scale],
    request: Request,
) -> Limits:
    import numpy as np

    from polars_ec.intervals.estimates import of_so_many_rows
    from polars_ec.intervals.parts import limits_at_ends, limits_of_parts, merged, split_at_random
    from polars_ec.intervals.spread import FEWEST_CLUSTERS, effective_clusters

    n_parts = _PARTS if features.n_sums <= _MOST_IN_PARTS else _FEWER_PARTS
    if clusters is None and not features.has_decisions:
        nothing = np.full_like(estimates, np.nan)
        return nothing, nothing
    number = None
    if clusters is None:
        parts = split_at_random(moments, n_parts, request.seed)
    else:
        parts = clusters.linear if n_parts == _PARTS else merged(clusters.linear, n_parts)
        if clusters.single is not None and features.has_decisions:
            parts = parts + split_at_random(clusters.single, parts.shape[1], request.seed)
        elif clusters.single is not None:
            # Of losses nobody knows which rows would be in which part.
            estimates = np.where(clusters.single.weight.sum(axis=-1)[:, None] > 0, np.nan, estimates)
        number = effective_clusters((parts @ moments.unit).sum(axis=-1))
    low, high = limits_of_parts(formula, parts, estimates, scales, request.level, number)
    if not features.has_decisions:
        return low, high
    rows = moments if clusters is None else of_so_many_rows(moments, clusters.number)
    least, most = limits_at_ends(formula, rows, features.enlarged(rows), estimates, scales, request.level)
    known = (parts.sum(axis=(2, 3)) > 0).sum(axis=-1)[:, None] >= FEWEST_CLUSTERS
    at_end = ~np.isnan(least) & (known | (clusters is None))
    return np.where(at_end, least, low), np.where(at_end, most, high)


class _Formula:
    """The report's own expressions, on a table whose sums are others."""

    def __init__(self, table: pl.DataFrame, family: Family) -> None:
        self.values = [estimate.value.alias(estimate.column) for estimate in family.estimates]
        self._features = family.features
        needed = {name for value in self.values for name in value.meta.root_names()}
        layers: list[dict[str, pl.Expr]] = []
        for layer in reversed(family.layers):
            kept = {name: value for name, value in layer.items() if name in needed}
            needed |= {name for value in kept.values() for name in value.meta.root_names()}
            layers.insert(0, kept)
        self._layers = [layer for layer in layers if layer]
        made = {name for layer in layers for name in layer}
        self._table, self._others = table, table.select(name for name in table.columns if name in needed - made)
        self._is_in_table = needed <= set(table.columns)

    def of_table(self, moments: Moments) -> Numbers:
        """The values, as the report has them."""
        return _matrix(self._table.select(self.values)) if self._is_in_table else self(moments.linear[None])[0]

    def __call__(self, sums: Numbers) -> Numbers:
        n_variants, n_groups, *shape = sums.shape
        columns = self._features.columns(sums.reshape(-1, *shape))
        table = pl.DataFrame([pl.Series(name, values) for name, values in columns.items()])
        # Of each variant the same: what the formulas ask for beside sums, such as a stated prior.
        others = self._others.drop(columns, strict=False)
        if others.width:
            table = table.hstack(pl.concat([others] * n_variants))
        for layer in self._layers:
            table = table.with_columns(**layer)
        return _matrix(table.select(self.values)).reshape(n_variants, n_groups, -1)


def _if_calibrated(chunk: Chunk, model: Model, request: Request) -> Limits:
    import numpy as np

    from polars_ec.intervals.calibration import BinnedClusters, if_calibrated, variance_of_gaps

    def of_bins(name: str) -> Numbers:
        return np.stack([chunk.of_groups(model, f"{name}_{b}").sum(axis=-1) for b in range(ECE_BINS.number)], axis=-1)

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
    return if_calibrated(variance_of_gaps(size, of_bins("noise"), clusters), request.level, request.seed)


def _matrix(table: pl.DataFrame) -> Numbers:
    """The columns of a table side by side, those of Arrays as many; NaN for null."""
    import numpy as np

    return np.hstack([_numbers(column) for column in table])


def _numbers(column: pl.Series) -> Numbers:
    import numpy as np

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
