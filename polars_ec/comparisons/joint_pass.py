"""The joint pass of models over the log: sums per group, bucket, class and the decisions of all models at once, and estimates from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import and_, or_
from typing import TypeAlias

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL, constant
from polars_ec.comparisons.validation import ClusterKeys, Reference
from polars_ec.formulas.decisions import AT_PRIOR, lower_is_better
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import (
    Clusters,
    Moments,
    Singletons,
    effective_rows,
    exclusive,
    has_rows,
    in_one_cluster,
    is_degenerate,
    rests_on_one_cluster,
    slopes_of,
    summed,
)
from polars_ec.inference.estimator import Differences, Estimator, paired_variance
from polars_ec.numerics import Bools, Floats, Integers, np
from polars_ec.reports.intervals import CostFeatures, DecisionFeatures, Features, ValueFeatures
from polars_ec.reports.models import Model, Requirements, is_multiclass, with_priors
from polars_ec.reports.result import BY_COST, ReportLayout, group_columns, is_moved
from polars_ec.scores.counted import GroupPrior
from polars_ec.scores.folds import bucket
from polars_ec.scores.read import Rows, count_rows
from polars_ec.scores.scores import CLASS, DECISION, BinaryScores, DecidedScores, ManyScores, VectorScores
from polars_ec.sketches.grid import Grid

JOINT, BUCKET = "__ec_class", "__ec_bucket"
"""Columns of the class of a cell's rows, null where they lack something, and of the bucket of their cluster."""

ROWS, UNDECIDED, WEIGHT, WEIGHT2 = "__ec_rows", "__ec_undecided", "__ec_w", "__ec_w2"
"""Sums over the rows of a cell: how many there are; how many lack a threshold or a cost; their weights, and the squares."""

_LESS = " - "

UNEQUAL = {"label": "__ec_unequal_label", "cluster": "__ec_unequal_cluster"}
"""Number of rows in which the models' labels, or their cluster columns, differ."""

KIND = "__ec_kind"
"""The table that a row is of, beside the cells that have sums; null for these."""

UNLIKE = "unlike"
"""Number of rows in which the scores of a model and its reference differ."""

COSTS = ("class_cost", "error_cost")
"""Numbers of a row with costs of its own: what its error costs; and the same if its decision is an error, else 0."""

Pair = tuple[Model, Model | None]
"""A model and its reference; none where groups are compared."""


@dataclass(frozen=True)
class Comparison:
    """A comparison whose arguments are checked."""

    keys: tuple[str, ...]
    models: tuple[Model, ...]
    names: tuple[str, ...]
    reference: Reference
    layout: ReportLayout
    level: float
    buckets: int | None
    min_rows: int | None = None
    grids: tuple[Grid, ...] = ()
    """One per model, if there are ranking metrics."""

    @property
    def pairs(self) -> list[Pair]:
        """Each model, with its reference if that is one of them."""
        if self.reference.model is None:
            return [(model, None) for model in self.models]
        other = next(model for model in self.models if model.name == self.reference.model)
        return [(model, other) for model in self.models if model is not other]

    def columns(self, names: Collection[str], model: Model) -> list[tuple[str, str, bool]]:
        """The columns of those metrics that are compared: each with its metric, and whether it is at the reference prior."""
        metrics = [name for name in self.names if name in names]
        moved = [name for name in metrics if is_moved(name, model)] if self.layout.options.prior.stated else []
        return [(name, name, False) for name in metrics] + [(f"{name}{AT_PRIOR}", name, True) for name in moved]


def product(x: str, y: str) -> str:
    """The sum of x y w^2."""
    return f"{x}*{y}"


def with_weight(x: str) -> str:
    """The sum of x w^2."""
    return f"{x}*w"


def numbers_of(pair: Pair, numbers: Sequence[str]) -> list[str]:
    """The features of metrics besides 1, or the difference between the features of the model and of its reference, for linear metrics.

    Squares and products of two models' losses would lose all digits of a small difference.
    """
    model, reference = pair
    if reference is None:
        return [f"{model.prefix}{name}" for name in numbers]
    # The cost of an error is equal for all models.
    return [
        f"{reference.prefix}{name}" if name == COSTS[0] else f"{model.prefix}{name}{_LESS}{reference.prefix}{name}"
        for name in numbers
    ]


def gap_of(name: str) -> tuple[str, str] | None:
    """The two numbers whose difference it is, if it is one."""
    first, less, second = name.partition(_LESS)
    return (first, second) if less else None


def sum_jointly(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    pairs: Sequence[Pair],
    models: Sequence[Model],
    requirements: Requirements,
    clusters: ClusterKeys | None,
    labels: Sequence[pl.Expr],
) -> pl.LazyFrame:
    """Sums per group, bucket, class and decisions of the models in `pairs`; their own `labels`, if they have several, must be the same."""
    first = models[0].rows
    asked = [CLASS, *([DECISION] if requirements.decisions else []), *requirements.losses]
    columns = _columns(models, requirements, clusters, labels) | _unlike(frame, pairs)
    row_table = frame.select(*keys, **{m.prefix: m.rows.cells(asked) for m in models}, **columns)
    fields = {f"{m.prefix}{name}": m.column("").struct.field(name) for m in models for name in asked}
    row_table = row_table.with_columns(**fields)
    # With several pairs, by the class for each model: rows that one model lacks belong to the other pairs.
    within = [f"{model.prefix}{CLASS}" for model in models]
    if len(pairs) == 1:
        row_table, within = row_table.with_columns(joint_class(models)), [JOINT]
    within += [BUCKET] if clusters is not None else []
    within += [f"{model.prefix}{DECISION}" for model in models if requirements.decisions]
    schema = row_table.collect_schema()
    sums = {ROWS: pl.len().cast(pl.Int64)}
    sums |= {name: count_rows(pl.col(name)) for name in (UNDECIDED, *UNEQUAL.values()) if name in schema}
    for model in models:
        sums[f"{model.prefix}invalid"] = count_rows(model.column(CLASS) == -1)
        sums |= _constant_priors(model)
    unlike = [f"{model.prefix}{UNLIKE}" for model, reference in pairs if reference is not None]
    sums |= {name: count_rows(pl.col(name)) for name in unlike}
    sums |= _moments(pairs, requirements, first.row_costs is not None, first.weight is not None)
    return row_table.group_by([*(key.meta.output_name() for key in keys), *within]).agg(**sums)


def joint_class(models: Sequence[Model]) -> pl.Expr:
    """The column JOINT: a row that is invalid for one model has a class for the others; a row with missing values in any has none."""
    classes = [model.column(CLASS) for model in models]
    present = reduce(and_, [index.is_not_null() for index in classes])
    return pl.when(present).then(pl.max_horizontal(classes)).alias(JOINT)


def _columns(
    models: Sequence[Model], requirements: Requirements, clusters: ClusterKeys | None, labels: Sequence[pl.Expr]
) -> dict[str, pl.Expr]:
    """Columns for the sums besides the cells of the models."""
    first = models[0].rows
    columns: dict[str, pl.Expr] = {}
    if requirements.decisions and first.decision_faults:
        columns[UNDECIDED] = reduce(or_, first.decision_faults.values())
    for model in models:
        columns |= _row_priors(model)
    if first.weight is not None:
        columns[WEIGHT] = first.weight
    if first.row_costs is not None:
        cost = first.weighted(first.error_cost())
        for model in models:
            columns |= {f"{model.prefix}{COSTS[0]}": cost}
            columns |= {f"{model.prefix}{COSTS[1]}": pl.when(model.rows.errors).then(cost).otherwise(0.0)}
    if clusters is not None:
        columns[BUCKET] = bucket(clusters.keys[0], clusters.buckets)
        if len(clusters.keys) > 1:
            columns[UNEQUAL["cluster"]] = _differ(clusters.keys)
    if len(labels) > 1:
        columns[UNEQUAL["label"]] = _differ(labels)
    return columns


def _unlike(frame: pl.LazyFrame, pairs: Sequence[Pair]) -> dict[str, pl.Expr]:
    """Whether the scores of two models, or the decisions of one score, are not the same in a row; scores of other types never are."""
    columns = {}
    for model, reference in pairs:
        if reference is None:
            continue
        if model.rows.scores is reference.rows.scores:
            columns[f"{model.prefix}{UNLIKE}"] = model.rows.decisions.index != reference.rows.decisions.index
            continue
        scores = [_numbers(of.rows) for of in (model, reference)]
        types = [[frame.select(number).collect_schema().dtypes() for number in of] for of in scores]
        unlike = [_differ(pair) for pair in zip(*scores, strict=True)] if types[0] == types[1] else [pl.lit(value=True)]
        columns[f"{model.prefix}{UNLIKE}"] = reduce(or_, unlike)
    return columns


def _numbers(rows: Rows) -> list[pl.Expr]:
    scores = rows.scores
    if isinstance(scores, ManyScores):
        return [scores.vector]
    if isinstance(scores, VectorScores):
        return scores.elements
    if isinstance(scores, DecidedScores):
        return [scores.index]
    assert isinstance(scores, BinaryScores)
    return [scores.score]


def _differ(columns: Sequence[pl.Expr]) -> pl.Expr:
    return reduce(or_, [columns[0].ne_missing(other) for other in columns[1:]])


def _moments(
    pairs: Sequence[Pair], requirements: Requirements, costs_by_row: bool, weighted: bool
) -> dict[str, pl.Expr]:
    """Sums of the numbers of a row, which are times its weight, and of their products two by two."""
    weight = pl.col(WEIGHT)
    sums = {WEIGHT: weight.sum(), WEIGHT2: (weight * weight).sum()} if weighted else {}
    for numbers in [*((name,) for name in requirements.losses), *([COSTS] if costs_by_row else [])]:
        for pair in pairs:
            sums |= {f"{m.prefix}{name}": m.column(name).sum() for m in pair if m is not None for name in numbers}
            rows = {name: _number(name) for name in numbers_of(pair, numbers)}
            if weighted:
                sums |= {with_weight(name): (weight * row).sum() for name, row in rows.items()}
            names = list(rows)
            sums |= {product(x, y): (rows[x] * rows[y]).sum() for i, x in enumerate(names) for y in names[i:]}
    return sums


def _number(name: str) -> pl.Expr:
    gap = gap_of(name)
    return pl.col(name) if gap is None else pl.col(gap[0]) - pl.col(gap[1])


def _row_priors(model: Model) -> dict[str, pl.Expr]:
    """The priors that rows hold: the share of each class, or, of many, a vector."""
    rows = model.rows
    if rows.options.prior.expression is None:
        return {}
    if is_multiclass(model):
        assert isinstance(rows.prior_vector, pl.Expr)
        return {f"{model.prefix}reference": rows.prior_vector}
    return {f"{model.prefix}reference_{i}": share for i, share in enumerate(rows.row_prior or [])}


def _constant_priors(model: Model) -> dict[str, pl.Expr]:
    """The priors of the rows of a cell; null where they differ."""
    if model.rows.options.prior.expression is not None and is_multiclass(model):
        of_cell = GroupPrior.from_rows(model.column("reference"))
        return {f"{model.prefix}reference": pl.when(of_cell.known).then(of_cell.vector)}
    return {name: constant(pl.col(name)) for name in _row_priors(model)}


def sum_of_groups(cells: pl.DataFrame, models: Sequence[Model]) -> dict[str, pl.Expr]:
    """The columns of a table of groups beside the sums of classes, from these cells: as the report has them."""
    present = pl.col(JOINT).is_not_null()
    columns: dict[str, pl.Expr] = {}
    for model in models:
        columns |= {
            f"{model.prefix}rows": pl.col(ROWS).sum(),
            f"{model.prefix}present": pl.when(present).then(ROWS).otherwise(0).sum(),
            f"{model.prefix}invalid": pl.when(present).then(model.column("invalid")).otherwise(0).sum(),
            f"{model.prefix}undecided": pl.col(UNDECIDED).sum() if UNDECIDED in cells.columns else pl.lit(0),
        }
        columns |= _constant_priors(model)
    return columns


# From the sums to estimates: the formulas of the report as functions of arrays of sums.

# Tables of sums that are evaluated at a time, in numbers.
_BLOCK = 2**22


@dataclass(frozen=True)
class MetricFamily:
    """Metrics with the same row features: the decision of the row, or 1 and others, such as its loss."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def decides(self) -> bool:
        """Whether it is the decisions."""
        return not self.numbers


def families(names: Sequence[str], costs_by_row: bool) -> list[MetricFamily]:
    """The metrics grouped by their features."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        numbers: tuple[str, ...] = COSTS if costs_by_row and name in BY_COST else ()
        numbers = (SCORING_RULES[name].loss,) if name in SCORING_RULES else numbers
        found.setdefault(numbers, []).append(name)
    return [MetricFamily(tuple(of_family), numbers) for numbers, of_family in found.items()]


def with_references(model: Model, layout: ReportLayout, cells: JointCells, groups: pl.DataFrame) -> pl.DataFrame:
    """The table of groups with the stated prior of each, where it follows from the counts of the classes in all groups."""
    if not layout.options.prior.overall or model.rows.row_prior is not None:
        return groups
    table = _with_sums(groups, ValueFeatures(model), cells.counts[..., None]).lazy()
    prefixed = f"^{model.prefix}reference.*$"
    return groups.hstack(with_priors(table, [model], layout.options, total=False).select(pl.col(prefixed)).collect())


def _with_sums(groups: pl.DataFrame, features: Features, sums: Floats) -> pl.DataFrame:
    """The table of groups, and of each the sums as the report has them."""
    if is_multiclass(features.model):
        size = pl.Series(features.weight(sums).sum(axis=-1))
        return groups.with_columns(**features.listed(sums), **{f"{features.model.prefix}size": size})
    return groups.with_columns(**{name: pl.Series(values) for name, values in features.columns(sums).items()})


@dataclass(frozen=True)
class Metrics:
    """The metrics of a family, of one model: each at the group's own prior and, where one is stated that moves it, at that."""

    model: Model
    family: MetricFamily
    layout: ReportLayout

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns that the metrics become, and the metric of each."""
        return {column: column.removesuffix(AT_PRIOR) for column in self._values}

    @cached_property
    def _values(self) -> dict[str, pl.Expr]:
        """Select the columns of a report that the metrics become, on its table of sums."""
        made = group_columns(self.model, self.family.names, self.layout)
        return {column: value for column, value in made.items() if column.removesuffix(AT_PRIOR) in self.family.names}

    @cached_property
    def features(self) -> Features:
        """The features that its sums are of."""
        if self.family.decides:
            return DecisionFeatures(self.model)
        if self.family.numbers == COSTS:
            return CostFeatures(self.model)
        return ValueFeatures(self.model, self.family.numbers)

    def of(self, sums: Floats, groups: pl.DataFrame) -> Floats:
        """(variants, groups, columns), NaN for null, of sums (variants, groups, classes, features); `groups` has invalid rows and stated priors."""
        n_variants, n_groups = sums.shape[:2]
        if not n_groups:
            return np.empty((n_variants, 0, len(self.columns)))
        flat = sums.reshape(n_variants * n_groups, *sums.shape[2:])
        at_once = max(_BLOCK // flat[0].size // n_groups, 1) * n_groups
        values = [self._evaluated(flat[at : at + at_once], groups) for at in range(0, len(flat), at_once)]
        return np.concatenate(values).reshape(n_variants, n_groups, -1)

    def _evaluated(self, sums: Floats, groups: pl.DataFrame) -> Floats:
        repeated = groups if len(sums) == groups.height else pl.concat([groups] * (len(sums) // groups.height))
        # A stated prior is known, so only the groups' own priors depend on the sums.
        own = replace(self.layout.options, prior=EMPIRICAL)
        table = with_priors(_with_sums(repeated, self.features, sums).lazy(), [self.model], own, total=False)
        values = table.select(**self._values).collect()
        return values.select(pl.all().cast(pl.Float64).fill_null(np.nan)).to_numpy()


# The cells of a joint pass as arrays: sums of groups, and of buckets, for each model alone and for two of them together.


@dataclass(frozen=True)
class Shape:
    """The numbers of groups, classes and decisions, and of buckets if rows are in clusters."""

    groups: int
    classes: int
    decisions: int
    buckets: int | None


CellsTaken: TypeAlias = "Bools | slice"
"""Some of the cells."""

_EVERY = slice(None)


class JointCells:
    """Cells, with the number of their group, of rows that lack nothing."""

    def __init__(self, cells: pl.DataFrame, shape: Shape) -> None:
        self._table = cells.filter(pl.col(JOINT) >= 0)
        self.shape = shape

    def column(self, name: str) -> Floats:
        """A sum of each cell."""
        return self._table[name].cast(pl.Float64).fill_null(0.0).to_numpy()

    def _number(self, name: str) -> Floats:
        gap = gap_of(name)
        return self.column(name) if gap is None else self.column(gap[0]) - self.column(gap[1])

    @cached_property
    def weight(self) -> Floats:
        """Rows, or their weight."""
        return self.column(WEIGHT if WEIGHT in self._table.columns else ROWS)

    @cached_property
    def weight2(self) -> Floats:
        """Rows, or the squares of their weights."""
        return self.column(WEIGHT2 if WEIGHT in self._table.columns else ROWS)

    @cached_property
    def without_key(self) -> CellsTaken | None:
        """Cells whose rows are clusters of their own: those without a key, or all where there are no clusters. None for none."""
        if self.shape.buckets is None:
            return _EVERY
        keys = self._table[BUCKET]
        return keys.is_null().to_numpy() if keys.has_nulls() else None

    @cached_property
    def weight_by_bucket(self) -> Floats:
        """(groups, buckets, classes)."""
        return self._by_bucket(self.weight)

    @cached_property
    def in_one_cluster(self) -> Bools:
        """Classes whose rows are all in one cluster, (groups, classes)."""
        alone = slice(0) if self.without_key is None else self.without_key
        weight, weight2 = (self._by_class(of, cells=alone) for of in (self.weight, self.weight2))
        return in_one_cluster(self.weight_by_bucket, Singletons(weight, weight2, *[np.zeros_like(weight)] * 3))

    @cached_property
    def counts(self) -> Floats:
        """Rows, or their weight, (groups, classes)."""
        return self._by_class(self.weight)

    @cached_property
    def counts2(self) -> Floats:
        """Numbers of rows, or sums of the squares of their weights."""
        return self._by_class(self.weight2)

    def known(self, family: MetricFamily) -> Bools:
        """Groups that have rows of every class; of losses, more than one."""
        return has_rows(effective_rows(self.counts, self.counts2), several=not family.decides)

    def is_reference(self, model: Model) -> bool:
        """Whether a model equals its reference in all rows; within a single group equality may be a coincidence."""
        return not self.column(f"{model.prefix}{UNLIKE}").any()

    def decisions_of(self, model: Model) -> Integers:
        """The decision of each cell; any for rows that have none, which make values null."""
        return np.clip(self._codes(f"{model.prefix}{DECISION}"), 0, self.shape.decisions - 1)

    def linear(self, model: Model, family: MetricFamily, *, by_bucket: bool = False) -> Floats:
        """Sums of w x of a model's rows, (groups, classes, features), or of each bucket, (groups, buckets, classes, features)."""
        sums = self._by_bucket if by_bucket else self._by_class
        if family.decides:
            return sums(self.weight, self.decisions_of(model), self.shape.decisions)
        weight = self.weight_by_bucket if by_bucket else self.counts
        columns = (self.column(f"{model.prefix}{name}") for name in family.numbers)
        return np.stack([weight, *(sums(column) for column in columns)], axis=-1)

    def moments(self, model: Model, family: MetricFamily, alone: CellsTaken) -> Moments:
        """Moments of one model's rows in these cells."""
        if family.decides:
            return Moments.one_hot(*self._decided(self.decisions_of(model), self.shape.decisions, alone))
        return self.moments_of_numbers(numbers_of((model, None), family.numbers), alone)

    def moments_of_numbers(self, names: Sequence[str], alone: CellsTaken) -> Moments:
        """Moments of 1 and numbers of a row, (groups, classes, features)."""
        weighted = WEIGHT in self._table.columns
        shape = (self.shape.groups, self.shape.classes, len(names) + 1)
        linear, square = np.empty(shape), np.empty((*shape, shape[-1]))
        linear[..., 0] = self._by_class(self.weight, cells=alone)
        for i, x in enumerate(names, start=1):
            linear[..., i] = self._by_class(self._number(x), cells=alone)
        # Without weights, w^2 is w.
        square[..., 0, :] = square[..., :, 0] = linear
        if weighted:
            square[..., 0, 0] = self._by_class(self.weight2, cells=alone)
        for i, x in enumerate(names):
            if weighted:
                with_one = self._by_class(self.column(with_weight(x)), cells=alone)
                square[..., 0, i + 1] = square[..., i + 1, 0] = with_one
            for j, y in enumerate(names[i:], start=i):
                of_both = self._by_class(self.column(product(x, y)), cells=alone)
                square[..., i + 1, j + 1] = square[..., j + 1, i + 1] = of_both
        return Moments(linear, square, np.eye(shape[-1])[0])

    def joint_moments(
        self, pair: tuple[Model, Model], family: MetricFamily, alone: CellsTaken
    ) -> Moments | tuple[Floats, Floats]:
        """Moments of the features of a difference of losses; or sums of w and of w^2 by class and the decisions of both models.

        These are (groups, classes, M x M): the model's decision times M plus the reference's.
        """
        if not family.decides:
            return self.moments_of_numbers(numbers_of(pair, family.numbers), alone)
        number, (decisions, others) = self.shape.decisions, map(self.decisions_of, pair)
        return self._decided(decisions * number + others, number**2, alone)

    def _decided(self, decisions: Integers, number: int, cells: CellsTaken) -> tuple[Floats, Floats]:
        w = self._by_class(self.weight, decisions, number, cells)
        return w, self._by_class(self.weight2, decisions, number, cells) if WEIGHT in self._table.columns else w

    def clusters(self, model: Model, family: MetricFamily) -> Clusters:
        """The buckets of one model, and its rows without a key."""
        singletons = None if self.without_key is None else self.moments(model, family, self.without_key)
        weight = self.weight_by_bucket.sum(axis=-1)
        return Clusters(self.linear(model, family, by_bucket=True), weight, self.unit(family), singletons)

    def sums(self, model: Model, family: MetricFamily) -> tuple[Moments, Clusters | None]:
        """Moments of all rows of a model, and its clusters if rows are in clusters."""
        moments = self.moments(model, family, _EVERY)
        return moments, None if self.shape.buckets is None else self.clusters(model, family)

    def unit(self, family: MetricFamily) -> Floats:
        """It times the features of a row is 1."""
        return np.ones(self.shape.decisions) if family.decides else np.eye(len(family.numbers) + 1)[0]

    @cached_property
    def _class_place(self) -> Integers:
        """The place of each cell's class among those of all groups."""
        return self._codes(GROUP) * self.shape.classes + self._codes(JOINT)

    @cached_property
    def _bucket_place(self) -> tuple[CellsTaken, Integers]:
        """The cells with a key, and the place of the class of each among those of all buckets."""
        keys = self._table[BUCKET]
        keyed = keys.is_not_null().to_numpy() if keys.has_nulls() else _EVERY
        place = self._codes(GROUP) * (self.shape.buckets or 0)
        place += self._codes(BUCKET)
        place *= self.shape.classes
        place += self._codes(JOINT)
        return keyed, place[keyed]

    def _codes(self, name: str) -> Integers:
        return self._table[name].cast(pl.Int64).fill_null(0).to_numpy()

    def _by_class(
        self, values: Floats, codes: Integers | None = None, number: int = 1, cells: CellsTaken = _EVERY
    ) -> Floats:
        """Sums of some cells, (groups, classes), and perhaps by codes, of which there is a number."""
        return _summed(values, codes, cells, self._class_place[cells], (self.shape.groups, self.shape.classes, number))

    def _by_bucket(self, values: Floats, codes: Integers | None = None, number: int = 1) -> Floats:
        assert self.shape.buckets is not None
        shape = (self.shape.groups, self.shape.buckets, self.shape.classes, number)
        return _summed(values, codes, *self._bucket_place, shape)


def _summed(
    values: Floats, codes: Integers | None, cells: CellsTaken, place: Integers, shape: tuple[int, ...]
) -> Floats:
    """Sums of some cells at these places, and perhaps by codes, which are the last axis of the shape."""
    if codes is None:
        return summed(place, values[cells], *shape[:-1])
    return summed(place * shape[-1] + codes[cells], values[cells], *shape)


def summed_by(codes: tuple[Integers, ...], values: Floats, shape: tuple[int, ...]) -> Floats:
    """Sums of the values by these codes, as an array of this shape."""
    return summed(np.ravel_multi_index(codes, shape) if len(values) else np.empty(0, np.int64), values, *shape)


# Estimates of the groups of a log, and of the same rows by two models.


def estimator_of(sums: tuple[Moments, Clusters | None], groups: pl.DataFrame, metrics: Metrics) -> Estimator:
    """Estimate the metrics of a family in each group, from its sums."""
    model = metrics.model
    # All is added up over groups but priors, which are the same in all.
    counts = [name for name, dtype in groups.schema.items() if dtype.is_integer() and name.startswith(model.prefix)]
    others = groups.with_columns(pl.Series(name, exclusive(groups[name].to_numpy())) for name in counts)
    whole = groups[:1].with_columns(pl.lit(groups[name].sum()).alias(name) for name in counts)
    return Estimator(
        lambda some: partial(metrics.of, groups=groups[some]),
        *sums,
        metrics.features.pseudocounts,
        {column: lower_is_better(name) for column, name in metrics.columns.items()},
        rest=partial(metrics.of, groups=others),
        total=partial(metrics.of, groups=whole),
    )


def compare_models(
    cells: JointCells, groups: tuple[pl.DataFrame, pl.DataFrame], models: tuple[Metrics, Metrics], level: float
) -> dict[str, Differences]:
    """Differences of each metric of a family between a model and its reference, by the metric's column."""
    metrics, family = models[0], models[0].family
    linear = [cells.linear(of.model, family) for of in models]
    formulas = [partial(of.of, groups=table) for of, table in zip(models, groups, strict=True)]
    values = [formula(sums[None])[0] for formula, sums in zip(formulas, linear, strict=True)]
    slopes = [slopes_of(formula, sums) for formula, sums in zip(formulas, linear, strict=True)]
    pair_of_models, keyless = (models[0].model, models[1].model), cells.without_key
    joint = None if keyless is None else cells.joint_moments(pair_of_models, family, keyless)
    clustered = () if cells.shape.buckets is None else models
    by_bucket = [cells.linear(of.model, family, by_bucket=True) for of in clustered]
    known, same = cells.known(family), cells.is_reference(metrics.model)
    tried = zip(formulas, linear, strict=True) if by_bucket else ()
    rests_on_one = [rests_on_one_cluster(*of, cells.unit(family), cells.in_one_cluster) for of in tried]
    differences = {}
    for c, column in enumerate(metrics.columns):
        pair = (slopes[0][..., c], slopes[1][..., c])
        singletons = None if joint is None else _singletons(joint, _joint_gradient(family, pair, linear))
        if by_bucket:
            rests = np.logical_or(*(of[:, c] for of in rests_on_one))
            variance = paired_variance(pair, by_bucket, cells.weight_by_bucket, rests, singletons)
        else:
            assert singletons is not None
            variance = singletons.variance
        value, reference = (of[:, c] for of in values)
        if isinstance(joint, Moments) and not same:
            variance = variance.only(~is_degenerate(variance.variance, abs(value) + abs(reference), joint.varies))
        differences[column] = Differences.tested(value, reference, variance.only(known), level, same=same)
    return differences


def _joint_gradient(family: MetricFamily, pair: tuple[Floats, Floats], linear: Sequence[Floats]) -> Floats:
    """Gradient of the difference, with respect to the features of the joint moments."""
    slopes, reference = pair
    if family.decides:
        gradient = slopes[..., :, None] - reference[..., None, :]
        return gradient.reshape(*gradient.shape[:2], -1)
    # Metrics are linear in numbers that differ, so one slope is that of their gap: the one by the larger sum, for a sum of 0 has none.
    differ = np.array([False, *(name != COSTS[0] for name in family.numbers)])
    return np.where(differ, np.where(linear[0] < linear[1], reference, slopes), slopes - reference)


def _singletons(moments: Moments | tuple[Floats, Floats], gradient: Floats) -> Singletons:
    if isinstance(moments, Moments):
        return moments.singletons(gradient)
    weight, weight2 = moments
    sums = (weight, weight2, gradient * weight, gradient**2 * weight2, gradient * weight2)
    return Singletons(*(of_cells.sum(axis=-1) for of_cells in sums))
