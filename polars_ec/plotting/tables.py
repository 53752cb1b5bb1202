"""Charts of tidy tables: reports, comparisons, drift."""

from __future__ import annotations

import altair as alt
import polars as pl

from polars_ec.plotting.data import finite, name_of_group
from polars_ec.plotting.theme import BAND, MAIN, SIZE, rule_at
from polars_ec.words import in_words, naive_value


def trend(report: pl.DataFrame, metric: str, x: str, facet: str | None) -> alt.LayerChart | alt.FacetChart:
    """That of `polars_ec.plot.trend`."""
    ends = [f"{metric}_ci_low", f"{metric}_ci_high"]
    limits = {end: name for end, name in zip(ends, ("low", "high"), strict=True) if end in report.columns}
    renamed = {x: "x", metric: "y", **limits, "n": "n"}
    table = finite(
        report.select(
            *(pl.col(old).alias(new) for old, new in renamed.items()), name_of_group([facet] if facet else [])
        )
    )
    base = alt.Chart(table)
    across = alt.X(f"x:{'T' if report.schema[x].is_temporal() else 'O'}", title=x)
    up = alt.Y("y:Q", title=in_words(metric), scale=alt.Scale(zero=False))
    layers = []
    naive = naive_value(metric)
    if naive is not None:
        layers.append(rule_at(naive))
    if limits:
        layers.append(base.mark_area(opacity=BAND, color=MAIN).encode(across, alt.Y("low:Q"), alt.Y2("high:Q")))
    chart = alt.LayerChart(layer=[*layers, base.mark_line(point=True, color=MAIN).encode(across, up)], data=table)
    if facet is None:
        return chart.properties(width=2 * SIZE, height=SIZE, title=in_words(metric))
    return chart.properties(width=160, height=100).facet(alt.Facet("group:N", title=facet), columns=4)
