"""Charts of the curves of a sketch."""

from __future__ import annotations

import altair as alt

from polars_ec.cells import curves
from polars_ec.cells.deciding import DecidingCells
from polars_ec.plotting.data import Shown, chosen, finite, thin
from polars_ec.plotting.theme import BAND, SIZE, colour, line_through


def roc(cells: DecidingCells, interval: float | None) -> alt.LayerChart:
    """That of `polars_ec.plot.roc`."""
    shown = chosen(cells, "auc_roc")
    curve = curves.roc(shown.cells, interval=interval).rename({"fpr": "x", "tpr": "y"})
    if interval is not None:
        curve = curve.rename({"tpr_ci_low": "low", "tpr_ci_high": "high"}).drop("fpr_ci_low", "fpr_ci_high")
    base = alt.Chart(finite(thin(curve, "x", "y")))
    x = alt.X("x:Q", title="False-positive rate", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("y:Q", title="True-positive rate (recall)", scale=alt.Scale(domain=[0, 1]))
    paint = colour(shown.names, shown.rest, shown.title)
    layers: list[alt.Chart] = [line_through([(0, 0), (1, 1)])]
    if interval is not None:
        band = alt.Y("low:Q")
        layers.append(base.mark_area(opacity=BAND).encode(x, band, alt.Y2("high:Q"), color=paint))
    line = base.mark_line().encode(x, y, order=alt.Order("x:Q"), color=paint, tooltip=_tooltip(shown))
    return _titled(alt.LayerChart(layer=[*layers, line]), "ROC curve", interval)


def _tooltip(shown: Shown) -> list[alt.Tooltip]:
    group = [alt.Tooltip("group:N", title="Group")] if len(shown.names) > 1 else []
    numbers = {"Threshold": "threshold", "False-positive rate": "x", "True-positive rate": "y"}
    return [*group, *(alt.Tooltip(f"{column}:Q", title=title, format=".4~g") for title, column in numbers.items())]


def _titled(chart: alt.LayerChart, title: str, interval: float | None) -> alt.LayerChart:
    band = [] if interval is None else [f"Band: {interval:.4g} limits of each point"]
    return chart.properties(width=SIZE, height=SIZE, title=alt.Title(title, subtitle=band))
