"""What groups and periods are called in charts: names of users as charts can have them, of which no two are alike."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.words import MISSING, unique

# What no drawing may hold, and what turns the text beside it.
_HIDDEN = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
# Vega keeps groups in objects of JavaScript, in which these are there already: a chart of such a group would be none.
_OF_OBJECTS = (
    *(
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    ),
    *("__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
)
_TIME_FORMATS = ("%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
# Vega measures a text many times, to cut it to the room that there is: of 10,000 characters for a minute.
_LONGEST = 60


def legible(text: pl.Expr) -> pl.Expr:
    """Names on one line, as long as can be read. Two that differ may be alike then."""
    shown = text.str.replace_all(_HIDDEN, "\ufffd")
    short = pl.when(shown.str.len_chars() > _LONGEST).then(shown.str.slice(0, _LONGEST - 1) + "…").otherwise(shown)
    return pl.when(short.is_in(_OF_OBJECTS)).then(short + "\u200b").otherwise(short)


def plain(text: str) -> str:
    """A name of the user's without what no file of a chart may hold."""
    return str(pl.select(legible(pl.lit(text))).item())


def texts(column: pl.Series) -> pl.Series:
    """The values of a column as people read them, nulls as "(missing)"."""
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        shown = column.dt.strftime(time_format(column))
    elif dtype == pl.Duration:
        shown = column.dt.to_string("polars")
    elif dtype.is_nested() or dtype == pl.Binary:
        shown = pl.Series([None if value is None else str(value) for value in column.to_list()], dtype=pl.String)
    else:
        shown = column.cast(pl.String)
    return shown.to_frame().select(legible(pl.first())).to_series().fill_null(MISSING)


def time_format(times: pl.Series) -> str:
    """The shortest way to write these times in which none loses anything."""
    several = times.drop_nulls().unique()
    formats = _TIME_FORMATS[2:] if len(several) < 2 else _TIME_FORMATS
    shown = clock(several)
    units = ("1y", "1mo", "1d", "1m", "1s")[len(_TIME_FORMATS) - len(formats) :]
    for form, unit in zip(formats, units, strict=True):
        if (shown == shown.dt.truncate(unit)).all():
            return form
    return _TIME_FORMATS[-1] + "%.f"


def clock(times: pl.Series) -> pl.Series:
    """What the clock and the calendar of the column's zone show."""
    return times.dt.replace_time_zone(None) if isinstance(times.dtype, pl.Datetime) else times.cast(pl.Datetime("us"))


def names(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """What each row is called by its keys: "AA, EWR". Groups that read alike are numbered, so that none is taken for another."""
    if not keys:
        return pl.Series("group", ["all"] * table.height, dtype=pl.String)
    places = [f"k{i}" for i in range(len(keys))]
    groups = (
        table.select(pl.col(key).alias(place) for key, place in zip(keys, places, strict=True))
        .with_row_index("row")
        .group_by(places, maintain_order=True)
        .agg("row")
    )
    called = pl.select(pl.concat_str([texts(groups[place]) for place in places], separator=", ").alias("name"))
    group = pl.Series("group", unique(called["name"]), dtype=pl.String)
    return groups.select("row", group).explode("row").sort("row")["group"]
