"""What charts of curves are made of: axes, lines with their bands, marks of thresholds, titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from polars_ec.plotting.data import Shown, finite
from polars_ec.plotting.theme import BAND, DASHES, REST, SIZE, colour

# A margin beyond the axes, as a share of their length, where lines end that are cut off.
_BEYOND = 0.02


@dataclass(frozen=True)
class Axis:
    """From where to where, what it is called, and how its ticks are written.

    The ends are always stated: where there is no data, Vega finds none.
    """

    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: Mapping[str, Any] | None = None

    @property
    def width(self) -> float:
        """How long it is, in its own units."""
        return self.high - self.low

    def within(self, column: str) -> pl.Expr:
        """The column, with what lies beyond the axis a little beyond it: there lines are cut off all the same."""
        margin = _BEYOND * self.width
        return pl.col(column).clip(self.low - margin, self.high + margin)

    def x(self, field: str = "x:Q") -> alt.X:
        """As the axis across."""
        # In the order of the data: steps have two points at one place.
        return alt.X(field, sort=None, **self._channel())

    def y(self, field: str = "y:Q") -> alt.Y:
        """As the upright axis."""
        return alt.Y(field, **self._channel())

    def _channel(self) -> dict[str, Any]:
        axis = {} if self.ticks is None else {"axis": alt.Axis(**self.ticks)}
        return {"title": self.title, "scale": alt.Scale(domain=[self.low, self.high], nice=False), **axis}


def curve_layers(
    shown: Shown, table: pl.DataFrame, x: Axis, y: Axis, numbers: Mapping[str, str], *, dashed: bool = False
) -> list[alt.Chart]:
    """A line for each group over its band, if the table has `low` and `high`; `numbers` are titles and columns of tooltips."""
    base = alt.Chart(finite(table))
    paint = colour(shown.names, shown.rest, shown.title)
    layers: list[alt.Chart] = []
    if "low" in table.columns:
        band = base.mark_area(opacity=BAND, clip=True)
        layers.append(band.encode(x.x(), y.y("low:Q"), alt.Y2("high:Q"), color=paint))
    line = base.mark_line(clip=True, strokeDash=DASHES if dashed else [1, 0])
    layers.append(line.encode(x.x(), y.y(), color=paint))
    # A line has one tooltip, that of its first point: so points that are not seen have them.
    points = base.mark_point(opacity=0, size=60, clip=True, aria=False)
    layers.append(points.encode(x.x(), y.y(), tooltip=tooltip(shown, numbers)))
    return layers


def tooltip(shown: Shown, numbers: Mapping[str, str]) -> list[alt.Tooltip]:
    """The name of the group, where there are several, and numbers: titles of our own, and columns."""
    group = [alt.Tooltip("group:N", title="Group")] if len(shown.all_names) > 1 else []
    return [*group, *(alt.Tooltip(f"{column}:Q", title=title, format=".4~g") for title, column in numbers.items())]


def mark_at(place: float, text: str, x: Axis, *, line: int = 0) -> list[alt.Chart]:
    """An upright line with a text at its upper end, on that side of it where there is more room."""
    if not x.low <= place <= x.high:
        return []
    base = alt.Chart(pl.DataFrame({"x": [place], "text": [text]}))
    to_the_left = place - x.low > x.width / 2
    words = base.mark_text(align="right" if to_the_left else "left", dx=-4 if to_the_left else 4, color=REST)
    return [
        base.mark_rule(color=REST, strokeDash=[1, 2] if line else DASHES).encode(x.x()),
        words.encode(x.x(), y=alt.value(8 + 13 * line), text=alt.Text("text:N")),
    ]


def titled(layers: Sequence[alt.Chart], title: str, notes: Sequence[str]) -> alt.LayerChart:
    """The layers as one chart."""
    return alt.LayerChart(layer=[*layers]).properties(
        width=SIZE, height=SIZE, title=alt.Title(title, subtitle=[*notes], anchor="start")
    )


def band_note(interval: float | None, table: pl.DataFrame, drawn: str = "Band", of: str = "point") -> list[str]:
    """What the band is, in words; of a table in which no limits are known that there is none."""
    if interval is None:
        return []
    limits = f"{100 * interval:.4g}% limits of each {of}"
    is_known = table.height == 0 or bool(table.select(pl.col("low").is_finite().any()).item())
    return [f"{drawn}: {limits}" if is_known else f"{limits}: none is known"]


def limits_as_band(curve: pl.DataFrame, column: str) -> pl.DataFrame:
    """The curve with a column as `y` and its limits, if there are any, as `low` and `high`."""
    names = {column: "y", f"{column}_ci_low": "low", f"{column}_ci_high": "high"}
    return curve.rename(names, strict=False)
