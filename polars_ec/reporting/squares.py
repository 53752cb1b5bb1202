"""What intervals need of the pass beside the sums: sums of squares, the bucket of each row's cluster, and cells of rows that are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_ec.intervals.arguments import Request
from polars_ec.rows.folds import bucket

BUCKET = "__ec_bucket"
"""The bucket of a row's cluster, null where it has none."""

UNITS = "__ec_units"
"""In the sums of a group, the list of those of its buckets, and of the cells of rows that are drawn together."""

DRAWN = "__ec_drawn"
"""The cell that a row is drawn with: of rows whose losses are about the same; null where it is drawn with its cluster."""

# Bins of a loss to a nat, of one model and of several: within one, losses are nearly alike.
_BINS, _FEWEST_BINS = 8, 2
_LEAST, _MOST = -64, 8

ONCE, TWICE = "_1", "_2"
"""After the name of a sum of w x: the sums of w^2 x and of w^2 x^2."""


def bucket_columns(request: Request | None) -> dict[str, pl.Expr]:
    """One more key of the pass, where rows come in clusters."""
    if request is None or request.cluster is None:
        return {}
    return {BUCKET: bucket(request.cluster, request.buckets)}


def drawn_columns(
    request: Request | None, values: Sequence[Sequence[pl.Expr]], in_bucket: pl.Expr | None
) -> dict[str, pl.Expr]:
    """One more key of the pass, where rows are drawn: of the losses of a row, or what else is 0 or more, of each model."""
    if request is None or not request.is_drawn or not any(values):
        return {}
    bins = max(_BINS // len(values), _FEWEST_BINS)
    cell = pl.lit(0, dtype=pl.Int64)
    for value in (value for of_model in values for value in of_model):
        place = pl.when(value > 0).then(value.log()).clip(_LEAST, _MOST).fill_nan(_LEAST).fill_null(_LEAST)
        cell = cell * ((_MOST - _LEAST) * bins + 1) + ((place - _LEAST) * bins).floor().cast(pl.Int64)
    return {DRAWN: cell if in_bucket is None else pl.when(in_bucket.is_null()).then(cell)}


def amount_squares(masks: Mapping[str, pl.Expr], weight: pl.Expr) -> dict[str, pl.Expr]:
    """Of weighted rows the sums of w^2 where each mask holds. Without weights they are the counts themselves."""
    return {f"{name}{TWICE}": pl.when(mask).then(weight * weight).sum() for name, mask in masks.items()}


def value_squares(values: Mapping[str, pl.Expr], weight: pl.Expr | None) -> dict[str, pl.Expr]:
    """Of values of rows, each times the weight of its row, the sums of the squares; and with weights those of w^2 x."""
    sums = {f"{name}{TWICE}": (value * value).sum() for name, value in values.items()}
    if weight is not None:
        sums |= {f"{name}{ONCE}": (value * weight).sum() for name, value in values.items()}
    return sums


def unit_list(units: Sequence[str], class_column: str, sums: Sequence[str]) -> pl.Expr:
    """The sums of each bucket, or cell of rows that are drawn together, and class of a group."""
    return pl.struct(*units, class_column, *sums).implode(maintain_order=False).alias(UNITS)
