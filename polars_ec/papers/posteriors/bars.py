"""Bars of systems side by side, with limits where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import altair as alt
import polars as pl

from polars_ec.papers.posteriors.four_systems import WHOLE, Bars
from polars_ec.papers.posteriors.synthetic import SYSTEMS
from polars_ec.plotting.theme import COLOURS, rule_at

_WIDTH_OF_BAR = 13
_HEIGHT = 240


@dataclass(frozen=True)
class Panel:
    """Bars over one axis: of each metric, the number of each system. What lies beyond the axis is cut off."""

    title: str
    bars: Bars
    axis: tuple[float, float]
    naive: float | None = None
    """Where a dashed line says what the naive system has."""
    limits: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)


def figure(title: str, bars: Bars, whole: tuple[float, float], calibration: tuple[float, float]) -> alt.HConcatChart:
    """The metrics of the whole performance on the left, those of calibration on the right, with the ends of their axes."""
    left = {name: bars[name] for name in WHOLE}
    right = {name: of_systems for name, of_systems in bars.items() if name not in WHOLE}
    return panels(
        [
            Panel("Normalised loss (dashed: naive system)", left, whole, naive=1),
            Panel("RCL and calibration error (%)", right, calibration),
        ],
        title,
        ["Bars that reach beyond the axis are cut off"],
    )


def panels(parts: Sequence[Panel], title: str, notes: Sequence[str]) -> alt.HConcatChart:
    """Panels side by side under one legend."""
    chart: alt.HConcatChart = alt.hconcat(*(_panel(part) for part in parts), spacing=30)
    return chart.properties(title=alt.Title(title, subtitle=[*notes], anchor="start"))


def _panel(part: Panel) -> alt.LayerChart:
    nowhere: Mapping[str, tuple[float, float]] = {}
    rows = [
        (metric, system, value, *part.limits.get(metric, nowhere).get(system, (None, None)))
        for metric, of_systems in part.bars.items()
        for system, value in of_systems.items()
    ]
    schema = {"metric": pl.String, "system": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    low, high = part.axis
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        shown=pl.col("value").clip(low, high), base=pl.lit(max(0.0, low))
    )
    base = alt.Chart(table).encode(
        x=alt.X("metric:N", sort=None, title="Metric", axis=alt.Axis(labelAngle=-40, labelLimit=200)),
        xOffset=alt.XOffset("system:N", sort=list(SYSTEMS)),
    )
    scale = alt.Scale(domain=[low, high], nice=False)
    paint = alt.Color(
        "system:N",
        sort=list(SYSTEMS),
        scale=alt.Scale(domain=list(SYSTEMS), range=list(COLOURS[: len(SYSTEMS)])),
        legend=alt.Legend(title="System", orient="top"),
    )
    told = [
        alt.Tooltip("metric:N", title="Metric"),
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("value:Q", title="Value", format=".4~g"),
    ]
    layers: list[alt.Chart] = [
        base.mark_bar().encode(
            y=alt.Y("shown:Q", title=part.title, scale=scale), y2=alt.Y2("base:Q"), color=paint, tooltip=told
        )
    ]
    if part.limits:
        layers.append(
            base.mark_rule(clip=True, color="#333333", strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
        )
    if part.naive is not None:
        layers.append(rule_at(part.naive))
    width = _WIDTH_OF_BAR * (len(SYSTEMS) + 1) * len(part.bars)
    return alt.LayerChart(layer=layers).properties(width=width, height=_HEIGHT)
