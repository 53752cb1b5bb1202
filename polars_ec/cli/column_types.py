"""Which dtypes of one column in several files mean the same values, and the dtype that holds them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

_UNITS = ("ms", "us", "ns")
_CATEGORIES = (pl.String, pl.Categorical, pl.Enum)


def common_type(dtypes: Iterable[pl.DataType], *, of_keys: bool = True) -> pl.DataType | None:
    """The dtype that values of all these dtypes can be cast to and stay what they are; None if there is none.

    Columns without values have any dtype. Whole numbers and floats are one where they are not keys: among keys, large
    whole numbers would fall together.
    """
    found = list(dict.fromkeys(dtype for dtype in dtypes if dtype != pl.Null))
    if len(found) < 2:
        return found[0] if found else pl.Null()
    if all(dtype.is_integer() for dtype in found):
        small = all(dtype not in (pl.UInt64, pl.Int128, pl.UInt128) for dtype in found)
        return pl.Int64() if small else pl.Int128()
    if all(dtype.is_float() or (dtype.is_integer() and not of_keys) for dtype in found):
        return pl.Float64()
    if all(isinstance(dtype, _CATEGORIES) for dtype in found):
        return pl.String()
    if all(isinstance(dtype, pl.Duration) for dtype in found):
        return pl.Duration(_finest(found))
    if all(isinstance(dtype, pl.Date | pl.Datetime) for dtype in found):
        zones = {dtype.time_zone if isinstance(dtype, pl.Datetime) else None for dtype in found}
        if len(zones) == 1 or None not in zones:
            return pl.Datetime(_finest(found), zones.pop() if len(zones) == 1 else "UTC")
    return None


def _finest(dtypes: Iterable[pl.DataType]) -> Any:
    units = [dtype.time_unit for dtype in dtypes if isinstance(dtype, pl.Datetime | pl.Duration)]
    return max(units, key=_UNITS.index)
