"""Decisions by name, as indices in SQL: `rows.named_decisions` says which names there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_ec.dialects import quoted_text
from polars_ec.rows.named_decisions import name_as_text


def index_in_sql(column: str, dtype: pl.DataType, names: Sequence[Any], *, rest: bool) -> str:
    """The index of each row's decision: of what has none of the names -1, or 0 if the first name is all the `rest`."""
    named = list(enumerate(names))[1 if rest else 0 :]
    text = f"CAST({column} AS VARCHAR)"
    places = "".join(f" WHEN {text} = {quoted_text(name_as_text(name, dtype))} THEN {j}" for j, name in named)
    return f"CASE{places} WHEN {column} IS NOT NULL THEN {0 if rest else -1} END"
