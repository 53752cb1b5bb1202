"""What a drift is of: the periods, what each is compared with, and the columns of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.comparing.choice import COLUMNS, comparable, reference_groups
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

MIX, PRIOR, LIKELIHOOD = "mix", "prior", "likelihood"
FACTORS = (MIX, PRIOR, LIKELIHOOD)
"""The shares of the strata; of the classes in each; and what rows of a class in a stratum are like."""

PREVIOUS = "previous"
"""Each period is compared with the one before it."""

_BEFORE, _AFTER = "small", "n"
_OWN = "__ec_"


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
    check_movable(names or ())
    return names


def check_movable(names: Sequence[str]) -> None:
    """ValueError for metrics whose change has no parts."""
    for name in names:
        if name in RANKING_METRICS:
            raise ValueError(
                f"metrics= holds {name!r}, which is made of the order of scores and not of sums: compare(reference=...) has its change"
            )


def check_period(frame: pl.LazyFrame, columns: Sequence[pl.Expr]) -> pl.Expr:
    """The one column of periods, whose values have an order."""
    if len(columns) != 1:
        names = [column.meta.output_name() for column in columns]
        raise ValueError(
            f"period= names {names}, and it is one column: name one, such as pl.col('time').dt.truncate('1mo'); others are of by="
        )
    dtype = frame.select(columns).collect_schema().dtypes()[0]
    if dtype.is_nested() or dtype.is_object():
        raise TypeError(
            f"period={columns[0].meta.output_name()!r} is {dtype}, whose values have no order: pass a date, a number or text"
        )
    return columns[0]


def check_names_of_drift(by: Sequence[str], period: str, mix: Sequence[str]) -> None:
    """ValueError for a column that is to be two things, or is called what the result or the pass over the log calls its own."""
    taken = columns_of(factors_of(mix))
    for what, names in (("by", by), ("period", [period]), ("mix", mix)):
        for name in names:
            if name.startswith(_OWN) or (what != "mix" and name in taken):
                raise ValueError(f"{what}= has a column {name!r}, which the drift has too: rename it with .alias()")
    if period in by:
        raise ValueError(f"period={period!r} is a column of by= too: leave it out there")
    for name in mix:
        if name == period or name in by:
            other = "the column of period=" if name == period else "a column of by="
            raise ValueError(
                f"mix= has {name!r}, which is {other}, so that its shares in a group never move: leave it out of one of them"
            )


def check_reference(reference: Any) -> None:
    """TypeError for what is no value."""
    if isinstance(reference, pl.Expr):
        raise TypeError(f"reference={reference} is an expression: pass the value of a period, or {PREVIOUS!r}")


def references(reference: Any, groups: pl.DataFrame, by: Sequence[str], period: str) -> Integers:
    """For each period of each group the number of the one that it is compared with: itself for the reference, -1 for none.

    `groups` are sorted, with their numbers.
    """
    if isinstance(reference, str) and reference == PREVIOUS:
        if groups[period].cast(pl.String, strict=False).eq(PREVIOUS).any():
            raise ValueError(
                f"reference={PREVIOUS!r} is a period of {period}, and the word for the one before each: give this period another name"
            )
        before = groups.select(
            pl.when(pl.col(period).shift().is_not_null())
            .then(pl.col(GROUP).shift())
            .over(by or pl.lit(1), order_by=GROUP)
        ).to_series()
        return before.fill_null(groups[GROUP]).cast(pl.Int64).to_numpy()
    value = groups[period].min() if reference is None else reference
    return reference_groups({period: value}, groups, [*by, period]).to_numpy()
