"""The formulas of metrics on the sums of a table that `tabulate` made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_ec.cells.sums import GroupSums
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.formulas.losses import SCORING_RULES

End: TypeAlias = Literal["least", "most"]
"""Of the rows that a threshold may cut, whether none are decided positive, or all."""

ENDS: Sequence[End] = ("least", "most")
_OPPOSITE: dict[End, End] = {"least": "most", "most": "least"}
LOSS_OF = {**{name: rule.loss for name, rule in SCORING_RULES.items()}, "cllr": "log_loss"}
"""The loss whose mean over each class a metric is made of."""

SHIFT = "__ec_shift"
"""The column that says what makes log-odds of an LLR, where it is asked for losses at a prior."""


def decision_columns(threshold: float, of_1: End, of_0: End) -> list[list[str]]:
    """For either class the columns of its rows that are decided negative, and positive."""
    return [
        [f"__ec_{_OPPOSITE[end]}_negative_{i}_{threshold!r}", f"__ec_{end}_positive_{i}_{threshold!r}"]
        for i, end in enumerate((of_0, of_1))
    ]


def decision_column(
    name: str, prior: list[pl.Expr] | None, formula: Arguments, threshold: float, of_1: End, of_0: End
) -> pl.Expr:
    """A metric of decisions."""
    negative, positive = zip(*decision_columns(threshold, of_1, of_0), strict=True)
    return decision_value(name, GroupSums(prior, [*map(pl.col, positive)], [*map(pl.col, negative)]), formula)


def loss_columns(loss: str, end: str = "") -> list[list[str]]:
    """For either class the columns of its rows, and of the sum of the loss over them."""
    return [[f"__ec_count_{i}", f"__ec_{loss}{end}_{i}"] for i in range(2)]


def loss_column(name: str, prior: list[pl.Expr] | None, end: str = "") -> pl.Expr:
    """A metric that is a mean loss; `end` says which bound of the sums is meant, where they are not known."""
    if name == "cllr":
        return loss_column("cross_entropy", [pl.lit(0.5), pl.lit(0.5)]) / math.log(2)
    sums, rule = GroupSums(prior), SCORING_RULES[name]
    return rule.value(sums, [sums.total(i, rule.loss + end) for i in range(2)])
