"""What `--reference` names: a model, all other groups, one group by the values of its columns, or a period."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from polars_ec.arguments import did_you_mean
from polars_ec.cli.errors import UsageError
from polars_ec.comparing.choice import OTHERS
from polars_ec.drifting.choice import PREVIOUS

_OPTION = "--reference"
_YEAR_OR_MONTH = re.compile(r"\d{4}(?P<month>-\d{2})?")
_OF_YEARS, _OF_MONTHS = re.compile(r"(\d+y)+"), re.compile(r"(\d+(mo|q|y))+")


def reference_of(texts: Sequence[str], models: Sequence[str], keys: Mapping[str, pl.DataType]) -> Any:
    """As `polars_ec.compare` takes it; `keys` are the group columns."""
    if not texts:
        return None
    if len(texts) == 1:
        (text,) = texts
        if text in models or text in OTHERS or not keys:
            return text
        if len(keys) == 1 and "=" not in text:
            ((column, dtype),) = keys.items()
            return {column: value_of(text, dtype, f"{_OPTION} {text}", column)}
    reference: dict[str, Any] = {}
    for text in texts:
        column = _column(text, keys)
        if column in reference:
            raise UsageError(f"{_OPTION} {text}: {column} has a value already: name one group")
        reference[column] = value_of(text[len(column) + 1 :], keys[column], f"{_OPTION} {text}", column)
    return reference


def _column(text: str, keys: Mapping[str, pl.DataType]) -> str:
    named = [name for name in keys if text.startswith(f"{name}=")]
    if named:
        return max(named, key=len)
    ways = " ".join(f"{_OPTION} {name}=VALUE" for name in keys)
    if "=" in text:
        before = text.partition("=")[0]
        raise UsageError(
            f"{_OPTION} {text}: {before} is no column of the groups: {did_you_mean(before, keys)}A group is named as {ways}"
        )
    raise UsageError(
        f"{_OPTION} {text}: no model, and not one of {', '.join(OTHERS)}; a group is named as {ways}, or by some of them"
    )


def period_of(text: str, column: str, dtype: pl.DataType, every: str) -> Any:
    """As `polars_ec.drift` takes it: a period by its begin, of which years and months may leave out the rest; or the one before each."""
    if text == PREVIOUS:
        return text
    said, short = f"{_OPTION} {text}", _YEAR_OR_MONTH.fullmatch(text)
    if short is None:
        return value_of(text, dtype, said, column)
    if not (_OF_MONTHS if short["month"] else _OF_YEARS).fullmatch(every):
        raise UsageError(f"{said}: periods are of {every}: pass the date that one begins on, such as 2024-05-01")
    return value_of(f"{text}-01" if short["month"] else f"{text}-01-01", dtype, said, column)


def value_of(text: str, dtype: pl.DataType, said: str, column: str) -> Any:
    """The value that a column of this dtype holds; `said` is what the command line says. Times are ISO dates, or with a time."""
    try:
        return _value(text, dtype)
    except (ValueError, InvalidOperation):
        kind = "an ISO date, such as 2024-05-01" if dtype.is_temporal() else f"{dtype}"
        raise UsageError(f"{said}: {text!r} is not a value of {column}, which is {kind}") from None


def _value(text: str, dtype: pl.DataType) -> Any:
    if dtype == pl.Boolean:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse()
    if dtype == pl.Date:
        return date.fromisoformat(text)
    if isinstance(dtype, pl.Datetime):
        moment = datetime.fromisoformat(text)
        if dtype.time_zone is None:
            return moment if moment.tzinfo is None else _refuse()
        zone = ZoneInfo(dtype.time_zone)
        return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
    if dtype.is_integer():
        return int(text)
    if dtype.is_decimal():
        return Decimal(text)
    if dtype.is_float():
        return float(text)
    return text if dtype in (pl.String, pl.Categorical, pl.Enum) else _refuse()


def _refuse() -> Any:
    raise ValueError
