"""The columns of a frame: what callers name them by, as expressions and as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from polars_ec.options import Options, as_expr
from polars_ec.rows.read import Rows, resolve
from polars_ec.typing import IntoExpr

PRIOR = "__ec_prior"
"""The column of a stated prior that is an expression."""


def with_prior_column(frame: pl.LazyFrame, settings: Options) -> tuple[pl.LazyFrame, Options]:
    """Evaluate a prior that is an expression on the whole log: inside a group by class it would mean another thing."""
    if settings.prior.expression is None:
        return frame, settings
    column = replace(settings.prior, expression=pl.col(PRIOR))
    return frame.with_columns(settings.prior.expression.alias(PRIOR)), replace(settings, prior=column)


def resolve_columns(frame: pl.LazyFrame, score: IntoExpr, label: IntoExpr, settings: Options) -> Rows:
    """The rows of a frame; its schema is read now, so that wrong dtypes are errors at the call."""
    columns = [as_expr(score, "score"), as_expr(label, "label")]
    columns += [c for c in (settings.weight, settings.prior.expression) if c is not None]
    dtypes = frame.select(c.alias(str(i)) for i, c in enumerate(columns)).collect_schema().dtypes()
    return resolve(list(zip(columns, dtypes, strict=True)), settings)


def expand(frame: pl.LazyFrame, columns: IntoExpr | Iterable[IntoExpr], what: str) -> list[pl.Expr]:
    """One expression per column; selectors are expanded."""
    if not isinstance(columns, str | pl.Expr) and not hasattr(columns, "__iter__"):
        raise TypeError(f"{what}={columns!r} is neither a column's name nor an expression nor a sequence of them")
    expressions = [as_expr(c, what) for c in ([columns] if isinstance(columns, str | pl.Expr) else columns)]
    expanded: list[pl.Expr] = []
    for expression in expressions:
        if not expression.meta.has_multiple_outputs():
            expanded.append(expression)
        elif expression.meta.is_column_selection():
            expanded += [pl.col(name) for name in frame.select(expression).collect_schema().names()]
        else:
            raise ValueError(f"{what}= holds an expression of several columns, {expression}: pass them one by one")
    names = [expression.meta.output_name() for expression in expanded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what}= has the name {twice[0]!r} twice: give one of them another with .alias()")
    return expanded
