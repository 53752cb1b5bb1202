"""Which way a metric is better, and which rows are the worst by it."""

from __future__ import annotations

import polars as pl

from polars_ec.formulas.decisions import DECISIONS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES

_OTHER_LOSSES = ("cllr", "ece", "eer", "min_expected_cost", "min_dcf", "min_cllr", "rcl", "cal_loss")


def lower_is_better(name: str) -> bool:
    """Whether the metric of this name is a loss."""
    formula = DECISIONS.get(name) or OF_CLASSES.get(name)
    return formula.better == "lower" if formula is not None else name in SCORING_RULES or name in _OTHER_LOSSES


def worst_first(table: pl.DataFrame, column: str, *, lower: bool) -> pl.DataFrame:
    """The rows in which a metric is known, the worst ones first; `lower` says which way it is better."""
    known = table.filter(pl.col(column).is_not_nan())
    return known.sort(column, descending=lower, maintain_order=True)
