"""Names of users as charts can have them."""

from __future__ import annotations

import polars as pl

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
# Vega measures a text many times, to cut it to the room that there is: of 10,000 characters for a minute.
_LONGEST = 60


def legible(text: pl.Expr) -> pl.Expr:
    """Names on one line, as long as can be read. Two that differ may be alike then."""
    shown = text.str.replace_all(_HIDDEN, "\ufffd")
    short = pl.when(shown.str.len_chars() > _LONGEST).then(shown.str.slice(0, _LONGEST - 1) + "…").otherwise(shown)
    return pl.when(short.is_in(_OF_OBJECTS)).then(short + "\u200b").otherwise(short)
