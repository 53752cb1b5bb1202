"""How charts look: colours that are legible on white and on black, sizes, lines of reference."""

from __future__ import annotations

import altair as alt
import polars as pl

# Okabe and Ito's colours for all kinds of sight, without black and yellow: each has a contrast of 2.5 on white and on black.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56a0d3", "#b8860b")
REST = "#7f7f7f"
MAIN, OTHER = COLOURS[0], COLOURS[1]

SIZE = 320
BAND = 0.18

DASHES = [4, 4]


def rule_at(value: float) -> alt.Chart:
    """A dashed level line, such as that of the naive system."""
    mark: alt.Chart = alt.Chart(pl.DataFrame({"y": [value]})).mark_rule(strokeDash=DASHES, color=REST)
    return mark.encode(y=alt.Y("y:Q"))


def line_through(points: list[tuple[float, float]]) -> alt.Chart:
    """A dashed line through points, such as the diagonal of chance."""
    table = pl.DataFrame(points, schema={"x": pl.Float64, "y": pl.Float64}, orient="row")
    mark: alt.Chart = alt.Chart(table).mark_line(strokeDash=DASHES, color=REST, strokeWidth=1)
    return mark.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))


def colour(groups: list[str], rest: str | None, title: str) -> alt.Color | alt.Value:
    """A colour for each group, grey for all others together; one group needs neither colours nor a legend."""
    if len(groups) + (rest is not None) <= 1:
        return alt.value(MAIN)
    domain = [*groups, *([] if rest is None else [rest])]
    shades = [*(COLOURS[i % len(COLOURS)] for i in range(len(groups))), *([] if rest is None else [REST])]
    # Names are cut to what there is room for; the tooltip has them whole.
    legend = alt.Legend(title=title, labelLimit=180, titleLimit=180, symbolLimit=0, symbolOpacity=1)
    return alt.Color("group:N", scale=alt.Scale(domain=domain, range=shades), sort=domain, legend=legend)
