"""Numbers and names as sentences have them: plain text, whatever a log calls its groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from unicodedata import bidirectional

import polars as pl

from polars_ec.words import MISSING

MOST, _LONGEST = 5, 60


def number_in_sentence(value: float, apart_from: float | None = None, *, sign: bool = False) -> str:
    """Three digits, and as many more as it takes not to look like the number that it is apart from."""
    before = 1 if value == 0 else math.floor(math.log10(abs(value))) + 1
    return _shown([value], 3 - before, apart_from, sign=sign)[0]


def with_limits(row: Mapping[str, Any], name: str, apart_from: float | None = None, *, sign: bool = False) -> str:
    """A value and, where they are known, its limits, to two digits of how far these are apart: "0.47 [0.45, 0.49]"."""
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        return "not known"
    if low is None or high is None:
        return number_in_sentence(value, apart_from, sign=sign)
    places = 2 if high <= low else 1 - math.floor(math.log10(high - low))
    shown = _shown([value, low, high], places, apart_from, sign=sign)
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def percent_with_limits(row: Mapping[str, Any], name: str) -> str:
    """The same of a value in percent: "3.9% [3.6%, 4.3%]"."""
    first, *limits = with_limits(row, name, 0.0).split(" ")
    return " ".join([f"{first}%", *(part.replace(",", "%,").replace("]", "%]") for part in limits)])


def share(part: int, of: int) -> str:
    """A share of a number of rows, in percent."""
    value = 100 * part / of
    return "less than 0.1%" if value < 0.1 else f"{value:.1f}%"


def _shown(values: Sequence[float], places: int, apart_from: float | None, *, sign: bool) -> list[str]:
    """With as many places after the point, or more where one would look like the number that it is apart from."""
    texts = list[str]()
    for more in range(7):
        texts = [f"{value:{'+' if sign else ''},.{max(places + more, 0)}f}" for value in values]
        same = [t for value, t in zip(values, texts, strict=True) if value != apart_from and _same(t, apart_from)]
        if not same:
            break
    return texts


def _same(text: str, number: float | None) -> bool:
    return number is not None and float(text.replace(",", "")) == number


def listed(texts: Sequence[str], most: int = MOST) -> str:
    """The first ones, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f", and {more} more" if more > 0 else "")


def names_of(table: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """What each group is called: "AA, EWR"."""
    columns = [[text(value) or "(empty)" for value in table[key].to_list()] for key in keys]
    return [cut(", ".join(parts)) for parts in zip(*columns, strict=True)]


def isolated(name: str) -> str:
    """A name as a sentence has it: one that is written from right to left does not turn the numbers beside it round."""
    return f"\u2068{name}\u2069" if any(bidirectional(c) in ("R", "AL", "AN") for c in name) else name


def text(value: Any) -> str:
    """A value of a key as one writes it, with nothing in it that moves a terminal."""
    if value is None:
        return MISSING
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        value = value.date()
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(value).split()))


def period_text(value: Any, periods: pl.Series) -> str:
    """A period as one writes it: the month, or the year, where all periods begin with one."""
    return period_texts([value], periods)[0]


def period_texts(values: Sequence[Any], periods: pl.Series) -> list[str]:
    """Some of the periods as one writes them."""
    begins = [at for at in periods.to_list() if isinstance(at, date)]
    pattern = ""
    if len(begins) > 1 and all(at.day == 1 and text(at) == str(at)[:10] for at in begins):
        pattern = "%Y" if all(at.month == 1 for at in begins) else "%Y-%m"
    return [
        cut(text(value)) if not isinstance(value, date) else value.strftime(pattern) if pattern else text(value)
        for value in values
    ]


def cut(name: str, longest: int = _LONGEST) -> str:
    """A name, as much of it as there is room for."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def count(number: int, one: str, many: str | None = None) -> str:
    """How many there are of something: "1 row", "1,200 rows"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
