"""What intervals need of the pass beside the sums: sums of squares, and the bucket of each row's cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_ec.intervals.arguments import Request
from polars_ec.rows.folds import bucket

BUCKET = "__ec_bucket"
"""The bucket of a row's cluster, null where it has none; and, in the sums of a group, the list of the sums of its buckets."""

ONCE, TWICE = "_1", "_2"
"""After the name of a sum of w x: the sums of w^2 x and of w^2 x^2."""


def bucket_columns(request: Request | None) -> dict[str, pl.Expr]:
    """One more key of the pass, where rows come in clusters."""
    if request is None or request.cluster is None:
        return {}
    return {BUCKET: bucket(request.cluster, request.buckets)}


def amount_squares(masks: Mapping[str, pl.Expr], weight: pl.Expr) -> dict[str, pl.Expr]:
    """Of weighted rows the sums of w^2 where each mask holds. Without weights they are the counts themselves."""
    return {f"{name}{TWICE}": pl.when(mask).then(weight * weight).sum() for name, mask in masks.items()}


def value_squares(values: Mapping[str, pl.Expr], weight: pl.Expr | None) -> dict[str, pl.Expr]:
    """Of values of rows, each times the weight of its row, the sums of the squares; and with weights those of w^2 x."""
    sums = {f"{name}{TWICE}": (value * value).sum() for name, value in values.items()}
    if weight is not None:
        sums |= {f"{name}{ONCE}": (value * weight).sum() for name, value in values.items()}
    return sums


def bucket_list(class_column: str, sums: Sequence[str]) -> pl.Expr:
    """The sums of each bucket and class of a group."""
    return pl.struct(BUCKET, class_column, *sums).implode(maintain_order=False).alias(BUCKET)
