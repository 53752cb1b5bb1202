"""Numbers and names as a page shows them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from polars_ec.words import in_words

NONE = "–"
_LONGEST = 60
_AT_PRIOR = "_at_prior"
# Marks that turn the direction of the text around them: a name must not turn what stands beside it.
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def number(value: float | None) -> str:
    """Three decimals, or three digits where these say too little: 0.573, 0.0123, 12.3, 12,345."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1000:
        shown = f"{value:,.0f}"
    elif size >= 10:
        shown = f"{value:.1f}"
    elif size >= 0.01 or size == 0:
        shown = f"{value:.3f}"
    else:
        shown = f"{value:.2g}"
    return shown.replace("-", "−")


def signed(value: float | None) -> str:
    """A difference."""
    shown = number(value)
    return shown if value is None or shown == NONE or value <= 0 else f"+{shown}"


def percent(share: float | None) -> str:
    """A share in percent: 20.1 %, 0.12 %."""
    if share is None or math.isnan(share):
        return NONE
    return f"{100 * share:.1f} %" if share >= 0.0095 or share == 0 else f"{100 * share:.2g} %"


def tenths(value: float | None) -> str:
    """One decimal."""
    return NONE if value is None or math.isnan(value) else f"{value:.1f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """A p-value; very small ones are only said to be so."""
    if value is None:
        return NONE
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def limits(low: float | None, high: float | None, show: object = number) -> str:
    """Confidence limits, or nothing where they are not known."""
    assert callable(show)
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def short(metric: str) -> str:
    """What a metric is called where there is little room: its abbreviation, if it has one."""
    title = in_words(metric.removesuffix(_AT_PRIOR))
    abbreviation = re.search(r"\(([^()]+)\)", title)
    return abbreviation[1] if abbreviation else title


def clean(name: str) -> str:
    """A name on one line, without characters that cannot be seen or that turn the text."""
    seen = _TURNS.sub("\N{REPLACEMENT CHARACTER}", name)
    return "".join(
        " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) == "Cc" else c for c in seen
    )


def names(labels: Iterable[str]) -> list[str]:
    """Labels that fit, each still different from the others."""
    taken: set[str] = set()
    found = []
    for label in labels:
        whole = clean(label)
        shown = whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"
        name, count = shown, 1
        while name in taken:
            count += 1
            name = f"{shown} ({count})"
        taken.add(name)
        found.append(name)
    return found
