"""Group columns of CSV, which has no types: text as it is written, and whole numbers only where no other text says the same.

01 and 1 are two codes, and so are 1.1 and 1.10. What is a number here is written again as it was, so that numbers of one file
and text of the next go together as text, and nothing that was apart has become one.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

_WHOLE_NUMBER = r"^(?:0|-?[1-9][0-9]*)$"


def typed(table: pl.DataFrame, codes: Collection[str]) -> pl.DataFrame:
    """The table with those of the columns that hold nothing but whole numbers, or true and false, as such."""
    return table.with_columns(typing(table, codes))


def typing(table: pl.DataFrame, codes: Collection[str]) -> list[pl.Expr]:
    """What makes those of the columns that hold nothing but whole numbers, or true and false, such."""
    return [_typed(table[name]) for name in codes]


def _typed(column: pl.Series) -> pl.Expr:
    values, as_written = column.drop_nulls().unique(), pl.col(column.name)
    if not values.len():
        return as_written
    if values.is_in(["true", "false"]).all():
        return as_written == "true"
    if values.str.contains(_WHOLE_NUMBER).all() and values.cast(pl.Int64, strict=False).null_count() == 0:
        return as_written.cast(pl.Int64)
    return as_written
