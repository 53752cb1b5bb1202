"""Expressions of the score alone, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import polars as pl

from polars_ec.arguments.classes import CheckedPrior, ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Options, as_expr
from polars_ec.scores.read import Typed, checked_costs, class_names, n_score_classes, read_by_row, read_scores
from polars_ec.scores.scores import ManyScores, RowCosts, Scores, decide, decision_faults
from polars_ec.typing import IntoExpr


class RowArguments(NamedTuple):
    """The arguments of a row function besides the costs: `priors` are class shares, one vector per stated prior with many classes."""

    priors: Sequence[Any]
    threshold: float | pl.Expr | None
    costs: RowCosts | None


def per_row(
    name: str,
    score: IntoExpr,
    options: Options,
    build: Callable[[Scores, CostMatrix, RowArguments], pl.Expr],
    target: CheckedPrior | None = None,
    classes: ClassNames | None = None,
) -> pl.Expr:
    """A row expression of the score alone, named `<score>_<name>`; null for missing and invalid scores.

    `build` gets the class shares of each stated prior: that of the options, then the `target`. `classes` are the classes of the scores, if
    known.
    """
    all_priors = {"prior": options.prior, **({} if target is None else {"target": target})}
    for prior in all_priors.values():
        prior.check_of_group()
    columns = options.columns
    if target is not None and target.expression is not None:
        columns |= {"target": target.expression}

    def resolved(inputs: list[Typed]) -> pl.Expr:
        (expression, dtype), *rest = inputs
        column = expression.meta.output_name()
        option_inputs = dict(zip(columns, rest, strict=True))
        n_classes = n_score_classes(dtype, options)
        fitting = classes if classes is not None and len(classes.values) == n_classes else None
        names = class_names(dtype, fitting or ClassNames(tuple(range(n_classes)), stated=False), column)
        dtypes = {name: dtype for name, (_, dtype) in option_inputs.items()}
        typed = [(prior, dtypes.get(name)) for name, prior in all_priors.items()]
        priors = [prior.per_row(names, prior_dtype) if prior.stated else None for prior, prior_dtype in typed]
        vectors = [prior.vector(names, prior_dtype) for prior, prior_dtype in typed]
        costs = checked_costs(options, names, column)
        scores = read_scores(column, expression, dtype, names, options, priors[0], vectors[0])
        stated: Sequence[Any] = vectors if isinstance(scores, ManyScores) else priors
        arguments = RowArguments([prior for prior in stated if prior is not None], *read_by_row(option_inputs, options))
        built = build(scores, costs, arguments)
        known = [prior[0].is_not_null() for prior in priors if prior is not None]
        if isinstance(scores, ManyScores):
            # Its values for an invalid row are null anyway.
            known = known or [pl.lit(value=True)]
        else:
            known.append(~scores.missing & ~reduce(or_, scores.defects.values()))
        value = pl.when(reduce(and_, known)).then(built)
        return value.alias(f"{column}_{name}")

    return pl.pipe_with_dtype([as_expr(score, "score"), *columns.values()], resolved)


def decision_per_row(name: str, score: IntoExpr, options: Options) -> pl.Expr:
    """The decision of each row by its score alone; null where the row lacks the threshold or the costs that it was to have."""

    def decision(scores: Scores, costs: CostMatrix, by_row: RowArguments) -> pl.Expr:
        faults = decision_faults(by_row.threshold, by_row.costs).values()
        index = decide(scores, costs, by_row.threshold, by_row.costs).index
        return pl.when(~reduce(or_, faults, pl.lit(False))).then(index)

    return per_row(name, score, options, decision)
