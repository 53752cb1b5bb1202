"""Risks over operating points, as they are and weighted."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from polars_ec.plotting.theme import COLOURS, SIZE

_HIGHEST = 0.7


def draw(curves: Mapping[str, pl.DataFrame], printed: Mapping[str, tuple[str, str]]) -> alt.HConcatChart:
    """Left the risks, right the same times a (1 - a) / B(2, 2); legends have the normalised scores that are printed."""
    weight = 6 * pl.col("a") * (1 - pl.col("a"))
    left = {f"{name}, NCE {printed[name][0]}": curve for name, curve in curves.items()}
    right = {
        f"{name}, NBS {printed[name][1]}": curve.with_columns(risk=pl.col("risk") * weight)
        for name, curve in curves.items()
    }
    title = alt.Title(
        "Figure 1: Bayes risks over operating points",
        subtitle=["The area on the left is the cross-entropy in nats, on the right three times the Brier score"],
        anchor="start",
    )
    chart: alt.HConcatChart = alt.hconcat(
        _panel(left, "Bayes risk"), _panel(right, "Bayes risk times a (1 - a) / B(2, 2)"), spacing=30, title=title
    ).resolve_scale(color="independent")
    return chart


def _panel(curves: Mapping[str, pl.DataFrame], title: str) -> alt.Chart:
    table = pl.concat(curve.with_columns(system=pl.lit(name)) for name, curve in curves.items())
    paint = alt.Color(
        "system:N",
        sort=list(curves),
        scale=alt.Scale(domain=list(curves), range=list(COLOURS[: len(curves)])),
        legend=alt.Legend(title=None, orient="top-right", labelLimit=200, fillColor="white", symbolType="stroke"),
    )
    mark: alt.Chart = alt.Chart(table).mark_line(clip=True)
    return mark.encode(
        x=alt.X("a:Q", title="a: a miss costs 1 / a, a false alarm 1 / (1 - a)", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("risk:Q", title=title, scale=alt.Scale(domain=[0, _HIGHEST])),
        color=paint,
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("a:Q", format=".3~f"),
            alt.Tooltip("risk:Q", title=title, format=".4~f"),
        ],
    ).properties(width=SIZE, height=SIZE)
