"""The pass over a log of many classes: rows are counted by class and decision, and what is found is listed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.reporting.models import Model
from polars_ec.reporting.needs import Needs, missing_parts
from polars_ec.reporting.squares import BUCKET, ONCE, TWICE, bucket_columns, drawn_columns, value_squares
from polars_ec.rows.collected import GroupPrior, collect
from polars_ec.rows.kernel import CLASS, DECISION, WEIGHT
from polars_ec.rows.read import count_rows

# Not "weight", which is a part that may be missing.
_AMOUNT = "amount"


def cells_of_classes(
    frame: pl.LazyFrame, keys: Sequence[pl.Expr], models: Sequence[Model], needs: Needs
) -> pl.LazyFrame:
    """Sums per group, class and decision."""
    names = [CLASS, *([DECISION] if needs.decisions else []), *needs.losses]
    rows = {f"{model.prefix}row": model.rows.cells(names) for model in models}
    rows |= {f"{m.prefix}{part}": mask for m in models for part, mask in missing_parts(m.rows, needs).items()}
    rows |= {f"{m.prefix}reference": p for m in models if (p := _prior_column(m)) is not None}
    fields = [*names, *([] if models[0].rows.weight is None else [WEIGHT])]
    buckets = bucket_columns(needs.interval)
    made = frame.select(*keys, **buckets, **rows).with_columns(
        model.column("row").struct.field(name).alias(f"{model.prefix}{_AMOUNT if name == WEIGHT else name}")
        for model in models
        for name in fields
    )
    cells = drawn_columns(
        needs.interval, [_losses(model, needs) for model in models], pl.col(BUCKET) if buckets else None
    )
    made = made.with_columns(**cells)
    sums: dict[str, pl.Expr] = {"__ec_n": pl.len().cast(pl.Int64)}
    for model in models:
        sums |= {f"{model.prefix}{name}": model.column(name).sum() for name in needs.losses}
        weight = None if model.rows.weight is None else model.column(_AMOUNT)
        sums |= {} if weight is None else {f"{model.prefix}{_AMOUNT}": weight.sum()}
        if needs.interval is not None:
            squares = value_squares({name: model.column(name) for name in needs.losses}, weight)
            squares |= {} if weight is None else {f"{WEIGHT}{TWICE}": (weight * weight).sum()}
            sums |= {f"{model.prefix}{name}": column for name, column in squares.items()}
        sums |= {f"{model.prefix}{part}": count_rows(model.column(part)) for part in needs.parts}
        if _prior_column(model) is not None:
            of_cell = GroupPrior.of_rows(model.column("reference"))
            sums |= {f"{model.prefix}reference": of_cell.vector, f"{model.prefix}known": of_cell.known}
    of_cells = [f"{model.prefix}{name}" for model in models for name in names if name in (CLASS, DECISION)]
    return made.group_by([*(key.meta.output_name() for key in keys), *of_cells, *buckets, *cells]).agg(**sums)


def _losses(model: Model, needs: Needs) -> list[pl.Expr]:
    amount = pl.lit(1.0) if model.rows.weight is None else model.column(_AMOUNT)
    return [model.column(name) / amount for name in needs.losses]


def collected(models: Sequence[Model], needs: Needs) -> list[pl.Expr]:
    """The sums of a group, and the list of its cells, for every model."""
    n = pl.col("__ec_n")
    columns: list[pl.Expr] = []
    for model in models:
        index = model.column(CLASS)
        weight = n.cast(pl.Float64) if model.rows.weight is None else model.column(_AMOUNT)
        held = [index.alias(CLASS), weight.alias(WEIGHT)]
        held += [model.column(DECISION).alias(DECISION)] if needs.decisions else []
        held += [model.column(name).alias(name) for name in needs.losses]
        if needs.interval is not None:
            suffixes = (TWICE,) if model.rows.weight is None else (ONCE, TWICE)
            squares = [f"{name}{suffix}" for name in needs.losses for suffix in suffixes]
            squares += [] if model.rows.weight is None else [f"{WEIGHT}{TWICE}"]
            held += [model.column(name).alias(name) for name in squares]
            held += [pl.col(BUCKET)] if needs.clustered else []
        made = {
            "rows": n.sum(),
            "present": pl.when(index.is_not_null()).then(n).otherwise(0).sum(),
            "invalid": pl.when(index == -1).then(n).otherwise(0).sum(),
            "undecided": pl.lit(0),
            "size": pl.when(index.is_not_null()).then(weight).sum(),
            "cells": collect(pl.struct(held)),
            **{part: model.column(part).sum() for part in needs.parts},
        }
        if _prior_column(model) is not None:
            of_group = GroupPrior.of_rows(model.column("reference"))
            made |= {"reference": pl.when(of_group.known & model.column("known").all()).then(of_group.vector)}
        columns += [column.alias(f"{model.prefix}{name}") for name, column in made.items()]
    return columns


def _prior_column(model: Model) -> pl.Expr | None:
    """The priors that rows hold."""
    vector = model.rows.prior_vector
    return vector if isinstance(vector, pl.Expr) else None
