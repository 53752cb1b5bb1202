"""Values of the label: as the command line states them, and as the log has them.

A positive class that no row of the whole log has may be a label that was mistyped, which looks like a log without positives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.rows.labels import by_likeness, meant_values

# So many different values of the label are looked at, and so many of them are named.
MOST_VALUES = 1000
_NAMED = 5


def label_value(text: str, dtype: pl.DataType) -> Any:
    """A label's value from the command line, as the label's column holds it."""
    if dtype == pl.Boolean and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text) if dtype.is_integer() else float(text) if dtype.is_numeric() else text
    except ValueError:
        raise UsageError(f"{text!r} is not a value of the label, which is {dtype}") from None


def values_and_presence(label: str, positive: Any) -> tuple[pl.Expr, pl.Expr]:
    """What to select of the log: the values of the label in a list, and whether any row has this one."""
    # Comparing categories with a text that is none of them is an error.
    column = pl.col(label).cast(pl.String) if isinstance(positive, str) else pl.col(label)
    values = column.drop_nulls().unique().head(MOST_VALUES)
    return values.implode().alias("values"), (column == positive).any().alias("is_there")


def said_of_positives(found: pl.DataFrame, stated: str, label: str, log: str) -> list[str]:
    """What to say of a log where no positive was counted; `found` is what `values_and_presence` select of it."""
    if found["is_there"].item():
        return []
    warning = without_positives(stated, label, found["values"].item().to_list(), log)
    return [] if warning is None else [warning]


def without_positives(stated: str, label: str, values: Sequence[Any], log: str) -> str | None:
    """What to say of a log in which no row has the stated label; DataError if a value that is there must be meant.

    A log may have no positives yet, so that only a value that differs in case or form is an error.
    """
    there = sorted({_as_text(value) for value in values})
    if not there:
        return None
    meant = meant_values(stated, there)
    what = f"{log}: no row has the label {stated!r} (--pos-label)"
    if meant:
        raise DataError(f"{what}, but {label!r} is {_listed(meant)} in some: is that the one?")
    return f"{what}: {label!r} is {_listed(by_likeness(stated, there))}"


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(values: Sequence[object]) -> str:
    more = f" and {len(values) - _NAMED} others" if len(values) > _NAMED else ""
    return ", ".join(map(repr, values[:_NAMED])) + more
