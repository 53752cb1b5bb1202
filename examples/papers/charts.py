"""What the figures of several papers share: colours, titles, lines of reference."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

# Okabe and Ito's colours, which people of all kinds of sight tell apart, without black and yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56a0d3", "#b8860b")
MAIN, OTHER, REST = COLOURS[0], COLOURS[1], "#7f7f7f"
SIZE = 320
DASHES = [4, 4]


def colour(groups: Sequence[str], column: str = "group", **legend: Any) -> alt.Color:
    """A colour for each group."""
    scale = alt.Scale(domain=[*groups], range=[*COLOURS[: len(groups)]])
    shown = alt.Legend(**({"title": None, "orient": "bottom"} | legend))
    return alt.Color(f"{column}:N", scale=scale, sort=[*groups], legend=shown)


def title(text: str, *notes: str) -> alt.Title:
    """A title above the left edge, with notes below it."""
    return alt.Title(text, subtitle=[*notes], anchor="start")


def rule(encoding: Any, values: Sequence[float]) -> alt.Chart:
    """Dashed lines at values of an axis, such as `alt.X("x:Q")`."""
    field = encoding.shorthand.partition(":")[0]
    rules = alt.Chart(pl.DataFrame({field: [*values]}, schema={field: pl.Float64}))
    return rules.mark_rule(strokeDash=DASHES, color=REST).encode(encoding)
