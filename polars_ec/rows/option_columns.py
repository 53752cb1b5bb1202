"""The options of a call that say how rows are read: costs for the classes at hand, and columns of weights, thresholds and costs."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from polars_ec.arguments import BY_ROW, Options
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.rows.decisions import RowCosts


def checked_costs(options: Options, classes: ClassNames, column: str) -> CostMatrix:
    """The costs that the call means for these classes; ValueError where they are of others."""
    n_classes = len(classes.values)
    costs = options.costs(n_classes)
    if costs.n_classes != n_classes:
        raise ValueError(f"costs= has {costs.n_classes} rows, and {column!r} is of {n_classes} classes")
    return costs.for_classes(classes)


def read_by_row(
    given: Mapping[str, tuple[pl.Expr, pl.DataType]], options: Options
) -> tuple[float | pl.Expr | None, RowCosts | None]:
    """The threshold, and the costs where they are columns, as Float64."""
    numbers = {name: _read_number(name, *given[name]) if name in given else getattr(options, name) for name in BY_ROW}
    if not options.costs_by_row:
        return numbers["threshold"], None
    fn, fp = (
        cost if isinstance(cost, pl.Expr) else pl.lit(cost, dtype=pl.Float64)
        for cost in (numbers["cost_fn"], numbers["cost_fp"])
    )
    return numbers["threshold"], RowCosts(fn, fp)


def _read_number(what: str, column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"{what}= must be numbers, and {column.meta.output_name()!r} is {dtype}")
    return column.cast(pl.Float64)


def read_weight(weight: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Weights as Float64."""
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"weights must be numbers, and {weight.meta.output_name()!r} is {dtype}")
    return weight.cast(pl.Float64)
