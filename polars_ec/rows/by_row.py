"""Expressions of the score alone, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import polars as pl

from polars_ec.arguments import Options, as_expr
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.priors import CheckedPrior
from polars_ec.rows.decisions import RowCosts, checked_costs, decide, decision_faults, read_by_row
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import Typed
from polars_ec.rows.score_columns import class_names, n_score_classes, read_scores
from polars_ec.rows.scores import Scores
from polars_ec.typing import IntoExpr

Priors = Sequence[Any]
"""Of each stated prior a share for each class; of scores of many classes one vector."""


def per_row(
    name: str,
    score: IntoExpr,
    options: Options,
    build: Callable[[Scores, CostMatrix, Priors], pl.Expr],
    *more_priors: CheckedPrior,
    classes: ClassNames | None = None,
) -> pl.Expr:
    """A row expression of the score alone, called `<score>_<name>`; null for missing and wrong scores.

    `build` gets the shares of each prior that is stated: that of the options, then `more_priors`. `classes` are those
    that the scores must be of, where they are known.
    """
    return _per_row(
        name,
        score,
        options,
        lambda scores, costs, priors, _, __: build(scores, costs, priors),
        *more_priors,
        classes=classes,
    )


def decision_per_row(name: str, score: IntoExpr, options: Options) -> pl.Expr:
    """The decision of each row by its score alone; null where the row lacks the threshold or the costs that it was to have."""

    def decision(
        scores: Scores, costs: CostMatrix, _: Priors, threshold: float | pl.Expr | None, row_costs: RowCosts | None
    ) -> pl.Expr:
        index = decide(scores, costs, threshold, row_costs).index
        return pl.when(~reduce(or_, decision_faults(threshold, row_costs).values(), pl.lit(False))).then(index)

    return _per_row(name, score, options, decision)


def _per_row(
    name: str,
    score: IntoExpr,
    options: Options,
    build: Callable[[Scores, CostMatrix, Priors, float | pl.Expr | None, RowCosts | None], pl.Expr],
    *more_priors: CheckedPrior,
    classes: ClassNames | None = None,
) -> pl.Expr:
    all_priors = [options.prior, *more_priors]
    for prior in all_priors:
        prior.check_of_group()
    columns = [as_expr(score, "score"), *options.columns.values()]
    columns += [prior.expression for prior in more_priors if prior.expression is not None]

    def resolved(inputs: list[Typed]) -> pl.Expr:
        (expression, dtype), *rest = inputs
        column = expression.meta.output_name()
        given = dict(zip(options.columns, rest, strict=False))
        n_classes = n_score_classes(dtype, options)
        fitting = classes if classes is not None and len(classes.values) == n_classes else None
        names = class_names(dtype, fitting or ClassNames(tuple(range(n_classes)), stated=False), column)
        of_priors = [*([given["prior"]] if "prior" in given else []), *rest[len(given) :]]
        remaining = iter(dtype for _, dtype in of_priors)
        dtypes = [None if prior.expression is None else next(remaining) for prior in all_priors]
        priors = [
            prior.per_row(names, dtype) if prior.stated else None
            for prior, dtype in zip(all_priors, dtypes, strict=True)
        ]
        vectors = [prior.vector(names, dtype) for prior, dtype in zip(all_priors, dtypes, strict=True)]
        costs = checked_costs(options, names, column)
        scores = read_scores(column, expression, dtype, names, options, priors[0], vectors[0])
        stated: Sequence[Any] = vectors if isinstance(scores, ManyScores) else priors
        built = build(scores, costs, [prior for prior in stated if prior is not None], *read_by_row(given, options))
        known = [prior[0].is_not_null() for prior in priors if prior is not None]
        if isinstance(scores, ManyScores):
            # What it gives of a wrong row is null by itself.
            known = known or [pl.lit(value=True)]
        else:
            known.append(~scores.missing & ~reduce(or_, scores.defects.values()))
        value = pl.when(reduce(and_, known)).then(built)
        return value.alias(f"{column}_{name}")

    return pl.pipe_with_dtype(columns, resolved)
