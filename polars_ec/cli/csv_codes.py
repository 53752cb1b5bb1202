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
    return table.with_columns(_typed(table[name]) for name in codes)


def _typed(column: pl.Series) -> pl.Series:
    values = column.drop_nulls().unique()
    if not values.len():
        return column
    if values.is_in(["true", "false"]).all():
        return column == "true"
    if values.str.contains(_WHOLE_NUMBER).all() and values.cast(pl.Int64, strict=False).null_count() == 0:
        return column.cast(pl.Int64)
    return column
