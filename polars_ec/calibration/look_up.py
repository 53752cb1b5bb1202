"""The parameters of each row, found by its group columns: by expressions alone, which stream and call no Python.

The engine has a hash table from strings to numbers that it reads batch by batch: that of an Enum. So keys become strings,
these the number of a fit, and this picks the parameters from a list. A join is of frames and not of expressions, and
`replace_strict` wants a whole column at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def can_look_up(fits: pl.DataFrame, by: Sequence[str]) -> bool:
    """Whether all keys have a string that is theirs alone."""
    return not any(fits.schema[name].is_nested() or fits.schema[name] == pl.Object for name in by)


def look_up(fits: pl.DataFrame, by: Sequence[str], columns: Sequence[str]) -> list[pl.Expr]:
    """These columns of each row's fit, which has the row's values of the columns `by`; null where there is no such fit."""
    if not by:
        # One fit, or none.
        return [pl.lit(fits[name].first(), dtype=fits.schema[name]) for name in columns]
    fits = fits.unique(by, keep="first", maintain_order=True)
    if len(by) == 1:
        # The null group, if there is one, gets the number after those of all strings.
        fits = fits.sort(pl.col(by[0]).is_null(), maintain_order=True)
        number = _number_of(fits[by[0]])
    else:
        numbers = [_number_of(fits[name].unique(maintain_order=True)) for name in by]
        joint = pl.concat_str(numbers, separator=" ")
        number = _position(joint, fits.select(joint).to_series())
    return [
        pl.lit(fits[name].to_list(), dtype=pl.List(fits.schema[name])).list.get(number, null_on_oob=True)
        for name in columns
    ]


def _number_of(values: pl.Series) -> pl.Expr:
    """The place of a row's value among those that are not null, null being after them; null for a value of no fit."""
    known = values.drop_nulls()

    def number(inputs: list[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        ((column, dtype),) = inputs
        if not _are_comparable(dtype, values.dtype):
            raise TypeError(
                f"the calibration is by {values.name!r}, which is {values.dtype} there and {dtype} here: cast it"
            )
        text = _text(column, dtype)
        place = _position(text, known.to_frame().select(_text(pl.col(values.name), values.dtype)).to_series())
        return pl.when(text.is_null()).then(pl.lit(len(known), dtype=pl.UInt32)).otherwise(place)

    return pl.pipe_with_dtype([pl.col(values.name)], number)


def _position(text: pl.Expr, known: pl.Series) -> pl.Expr:
    return text.cast(pl.Enum(known), strict=False).to_physical().cast(pl.UInt32)


def _are_comparable(one: pl.DataType, other: pl.DataType) -> bool:
    return (
        one == other
        or (one.is_integer() and other.is_integer())
        or (one.is_float() and other.is_float())
        or (one in _TEXTS and other in _TEXTS)
    )


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A string for each value, another for another value; that of an equal value of a comparable type is the same."""
    if dtype.is_float():
        number = column.cast(pl.Float64)
        # -0.0 is 0.0.
        return pl.when(number == 0).then(0.0).otherwise(number).cast(pl.String)
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    return (column.to_physical() if dtype.is_temporal() else column).cast(pl.String)
