"""The pass over the log: sums per group, bucket, class and the decisions of all models at once, which say how these go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import polars as pl

from polars_ec.priors import constant
from polars_ec.reporting.models import Model
from polars_ec.reporting.needs import Needs
from polars_ec.reporting.sums import is_collected
from polars_ec.rows.collected import GroupPrior
from polars_ec.rows.folds import bucket
from polars_ec.rows.kernel import CLASS, DECISION
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import Rows, count_rows
from polars_ec.rows.scores import BinaryScores, DecidedScores, VectorScores

JOINT, BUCKET = "__ec_class", "__ec_bucket"
"""Columns of the class of a cell's rows, null where they lack something, and of the bucket of their cluster."""

ROWS, UNDECIDED, WEIGHT, WEIGHT2 = "__ec_rows", "__ec_undecided", "__ec_w", "__ec_w2"
"""Sums over the rows of a cell: how many there are; how many lack a threshold or a cost; their weights, and the squares."""

_LESS = " - "

UNEQUAL = {"label": "__ec_unequal_label", "cluster": "__ec_unequal_cluster"}
"""How many rows there are in which the models' labels, or their cluster keys, differ."""

UNLIKE = "unlike"
"""How many rows there are in which a model's scores are not those of its reference."""

COSTS = ("class_cost", "error_cost")
"""Numbers of a row with costs of its own: what its error costs; and the same if its decision is an error, else 0."""

Pair = tuple[Model, Model | None]
"""A model and its reference; none where groups are compared."""


@dataclass(frozen=True)
class Clusters:
    """The keys of clusters, one, or one per model; and how many parts they are dealt out to."""

    keys: Sequence[pl.Expr]
    buckets: int


def product(x: str, y: str) -> str:
    """The sum of x y w^2."""
    return f"{x}*{y}"


def with_weight(x: str) -> str:
    """The sum of x w^2."""
    return f"{x}*w"


def numbers_of(pair: Pair, numbers: Sequence[str]) -> list[str]:
    """What metrics are made of beside 1; or what their difference is: how much larger the model's numbers are than the reference's.

    For metrics are linear in a loss, or in the costs of errors, and in those of any two models alike. And squares and products of
    two models' losses would have no digit of a small difference.
    """
    model, reference = pair
    if reference is None:
        return [f"{model.prefix}{name}" for name in numbers]
    # What an error would cost is the same for all models.
    return [
        f"{reference.prefix}{name}" if name == COSTS[0] else f"{model.prefix}{name}{_LESS}{reference.prefix}{name}"
        for name in numbers
    ]


def of_gap(name: str) -> tuple[str, str] | None:
    """The two numbers whose difference it is, if it is one."""
    first, less, second = name.partition(_LESS)
    return (first, second) if less else None


def sum_jointly(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    pairs: Sequence[Pair],
    models: Sequence[Model],
    needs: Needs,
    clusters: Clusters | None,
    labels: Sequence[pl.Expr],
) -> pl.LazyFrame:
    """Sums per group, bucket, class and decisions.

    `models` are all of those in `pairs`. `labels` are their own, if they have several: they must be the same.
    """
    first = models[0].rows
    asked = [CLASS, *([DECISION] if needs.decisions else []), *needs.losses]
    columns = _columns(models, needs, clusters, labels) | _unlike(frame, pairs)
    made = frame.select(*keys, **{m.prefix: m.rows.cells(asked) for m in models}, **columns)
    made = made.with_columns(
        m.column("").struct.field(name).alias(f"{m.prefix}{name}") for m in models for name in asked
    )
    classes = [model.column(CLASS) for model in models]
    # A row that is wrong for one model has a class for the others; one that lacks anything is used by none.
    present = reduce(and_, [index.is_not_null() for index in classes])
    made = made.with_columns(pl.when(present).then(pl.max_horizontal(classes)).alias(JOINT))
    within = [JOINT, *([BUCKET] if clusters is not None else [])]
    within += [f"{model.prefix}{DECISION}" for model in models if needs.decisions]
    schema = made.collect_schema()
    sums = {ROWS: pl.len().cast(pl.Int64)}
    sums |= {name: count_rows(pl.col(name)) for name in (UNDECIDED, *UNEQUAL.values()) if name in schema}
    for model in models:
        sums[f"{model.prefix}invalid"] = count_rows(pl.col(JOINT).is_not_null() & (model.column(CLASS) == -1))
        sums |= _constant_priors(model)
    unlike = [f"{model.prefix}{UNLIKE}" for model, reference in pairs if reference is not None]
    sums |= {name: count_rows(pl.col(name)) for name in unlike}
    sums |= _moments(pairs, needs, first.row_costs is not None, first.weight is not None)
    return made.group_by([*(key.meta.output_name() for key in keys), *within]).agg(**sums)


def _columns(
    models: Sequence[Model], needs: Needs, clusters: Clusters | None, labels: Sequence[pl.Expr]
) -> dict[str, pl.Expr]:
    """What the sums are made of beside the cells of the models."""
    first = models[0].rows
    columns: dict[str, pl.Expr] = {}
    if needs.decisions and first.decision_faults:
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
    """Whether the scores of two models are not the same in a row; scores of other types never are."""
    columns = {}
    for model, reference in pairs:
        if reference is None:
            continue
        each = [_numbers(of.rows) for of in (model, reference)]
        types = [[frame.select(number).collect_schema().dtypes() for number in numbers] for numbers in each]
        alike = types[0] == types[1]
        found = [_differ(both) for both in zip(*each, strict=True)] if alike else [pl.lit(value=True)]
        columns[f"{model.prefix}{UNLIKE}"] = reduce(or_, found)
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


def _moments(pairs: Sequence[Pair], needs: Needs, costs_by_row: bool, weighted: bool) -> dict[str, pl.Expr]:
    """Sums of the numbers of a row, which are times its weight, and of their products two by two."""
    weight = pl.col(WEIGHT)
    sums = {WEIGHT: weight.sum(), WEIGHT2: (weight * weight).sum()} if weighted else {}
    for numbers in [*((name,) for name in needs.losses), *([COSTS] if costs_by_row else [])]:
        for pair in pairs:
            sums |= {f"{m.prefix}{name}": m.column(name).sum() for m in pair if m is not None for name in numbers}
            rows = {name: _number(name) for name in numbers_of(pair, numbers)}
            if weighted:
                sums |= {with_weight(name): (weight * row).sum() for name, row in rows.items()}
            names = list(rows)
            sums |= {product(x, y): (rows[x] * rows[y]).sum() for i, x in enumerate(names) for y in names[i:]}
    return sums


def _number(name: str) -> pl.Expr:
    both = of_gap(name)
    return pl.col(name) if both is None else pl.col(both[0]) - pl.col(both[1])


def _row_priors(model: Model) -> dict[str, pl.Expr]:
    """The priors that rows hold: the share of each class, or, of many, a vector."""
    rows = model.rows
    if rows.options.prior.expression is None:
        return {}
    if is_collected(model):
        assert isinstance(rows.prior_vector, pl.Expr)
        return {f"{model.prefix}reference": rows.prior_vector}
    return {f"{model.prefix}reference_{i}": share for i, share in enumerate(rows.row_prior or [])}


def _constant_priors(model: Model) -> dict[str, pl.Expr]:
    """The priors of the rows of a cell; null where they differ."""
    if model.rows.options.prior.expression is not None and is_collected(model):
        of_cell = GroupPrior.of_rows(model.column("reference"))
        return {f"{model.prefix}reference": pl.when(of_cell.known).then(of_cell.vector)}
    return {name: constant(pl.col(name)) for name in _row_priors(model)}


def sum_of_groups(cells: pl.DataFrame, models: Sequence[Model]) -> dict[str, pl.Expr]:
    """The columns of a table of groups beside the sums of classes, from these cells: as the report has them."""
    present = pl.when(pl.col(JOINT).is_not_null()).then(ROWS).otherwise(0).sum()
    columns: dict[str, pl.Expr] = {}
    for model in models:
        columns |= {
            f"{model.prefix}rows": pl.col(ROWS).sum(),
            f"{model.prefix}present": present,
            f"{model.prefix}invalid": model.column("invalid").sum(),
            f"{model.prefix}undecided": pl.col(UNDECIDED).sum() if UNDECIDED in cells.columns else pl.lit(0),
        }
        columns |= _constant_priors(model)
    return columns
