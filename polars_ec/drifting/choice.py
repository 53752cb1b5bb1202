"""What a drift is of: the periods, what each is compared with, and the columns of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.choice import COLUMNS, comparable, reference_groups
from polars_ec.drifting.attribution import FACTORS, MIX
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP

Integers = NDArray[np.int64]

PREVIOUS = "previous"
"""Each period is compared with the one before it."""

_BEFORE, _AFTER = "small", "n"


def factors_of(mix: Sequence[Any]) -> tuple[str, ...]:
    """The factors of a change; without strata these have no shares."""
    return FACTORS if mix else tuple(factor for factor in FACTORS if factor != MIX)


def columns_of(factors: Sequence[str]) -> dict[str, pl.DataType]:
    """What a drift has beside the columns of groups and of the period."""
    columns: dict[str, pl.DataType] = {}
    for name, dtype in COLUMNS.items():
        if name == _BEFORE:
            columns |= {column: pl.Float64() for factor in factors for column in columns_of_part(factor)}
        columns[name] = dtype
        if name == _AFTER:
            columns["n_reference"] = pl.Int64()
    return columns


def columns_of_part(factor: str) -> list[str]:
    """The columns of one part."""
    return [factor, f"{factor}_ci_low", f"{factor}_ci_high", f"{factor}_least", f"{factor}_most"]


def movable(metrics: Any) -> tuple[str, ...] | None:
    """The names that the caller passed, if any; errors for metrics whose change has no parts."""
    names = comparable(metrics)
    for name in names or ():
        if name in RANKING_METRICS:
            raise ValueError(
                f"metrics= holds {name!r}, which is made of the order of scores and not of sums: compare(reference=...) has its change"
            )
    return names


def references(reference: Any, groups: pl.DataFrame, by: Sequence[str], period: str) -> Integers:
    """For each period of each group the number of the one that it is compared with: itself for the reference, -1 for none.

    `groups` are sorted, with their numbers.
    """
    if isinstance(reference, str) and reference == PREVIOUS:
        before = groups.select(
            pl.when(pl.col(period).shift().is_not_null())
            .then(pl.col(GROUP).shift())
            .over(by or pl.lit(1), order_by=GROUP)
        ).to_series()
        return before.fill_null(groups[GROUP]).cast(pl.Int64).to_numpy()
    value = groups[period].min() if reference is None else reference
    return reference_groups({period: value}, groups, [*by, period]).to_numpy()
