"""Elements that charts share: colours, selection of groups, axes, lines, bands, reference lines and tooltips.

Vega-Lite treats column names as syntax (dots, brackets, colons), so user-defined names become values and titles only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.keywords import parse_interval
from polars_ec.formulas.decisions import lower_is_better, worst, worst_first
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import FEW_OF_A_CLASS
from polars_ec.numerics import Bools, Floats, Integers, LazyModule, np
from polars_ec.output.numbers import MIDNIGHT, number_in_table, with_interval
from polars_ec.output.words import MISSING, in_words, short, unique, unlike
from polars_ec.scores.scores import sigmoid
from polars_ec.sketches.cells import SCORE, TARGET, Cells, without_clusters
from polars_ec.sketches.evaluation import evaluate
from polars_ec.sketches.grid import EXACT
from polars_ec.sketches.operating_points import DecidingCells
from polars_ec.sketches.sums import SUMS_AT_EDGES, T, number_groups, with_group

__all__ = ["alt"]  # what is imported here for others

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair(LazyModule):
        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except ModuleNotFoundError:
                raise ModuleNotFoundError("charts need Altair: pip install 'polars_ec[plot]'") from None

    alt = _Altair("altair")

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
    """A dashed line through points, such as the diagonal of uninformative scores."""
    table = pl.DataFrame(points, schema={"x": pl.Float64, "y": pl.Float64}, orient="row")
    mark: alt.Chart = alt.Chart(table).mark_line(strokeDash=DASHES, color=REST, strokeWidth=1)
    return mark.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))


def colour(
    groups: list[str], rest: str | None, title: str, labels: Mapping[str, str] | None = None
) -> alt.Color | alt.Value:
    """A colour for each group, grey for all others together; one group needs neither colours nor a legend.

    `labels` are what the legend says of a group in place of its name.
    """
    if len(groups) + (rest is not None) <= 1:
        return alt.value(MAIN)
    domain = [*groups, *([] if rest is None else [rest])]
    shades = [*(COLOURS[i % len(COLOURS)] for i in range(len(groups))), *([] if rest is None else [REST])]
    scale = alt.Scale(domain=domain, range=shades)
    # Names are cut to what there is room for; the tooltip has them whole. Symbols are lines, not as pale as bands.
    legend = alt.Legend(
        title=title,
        labelLimit=260 if labels else 180,
        titleLimit=180,
        symbolLimit=0,
        symbolType="stroke",
        symbolStrokeWidth=3,
        symbolOpacity=1,
        symbolDash=[1, 0],
        labelExpr=f"{json.dumps(labels)}[datum.label]" if labels else alt.Undefined,
    )
    return alt.Color("group:N", scale=scale, sort=domain, legend=legend)


# Characters that drawings may not contain, and those that change the direction of text.
_HIDDEN = r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
# Vega keeps groups in objects of JavaScript, in which these are there already: a chart of such a group would be none.
_OF_OBJECTS = (
    "^(constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf"
    "|__proto__|__(define|lookup)(Getter|Setter)__)$"
)
_TIME_FORMATS = ("%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")
# Vega measures a text many times, to cut it to the room that there is: of 10,000 characters for a minute.
_LONGEST = 60


def legible(text: pl.Expr) -> pl.Expr:
    """Names on one line, shortened to a readable length, which may make different names equal."""
    shown = text.str.replace_all(_HIDDEN, "\ufffd")
    short = pl.when(shown.str.len_chars() > _LONGEST).then(shown.str.slice(0, _LONGEST - 1) + "…").otherwise(shown)
    return pl.when(short.str.contains(_OF_OBJECTS)).then(short + "\u200b").otherwise(short)


def plain(text: str) -> str:
    """A user-defined name without characters that are not allowed in chart files."""
    return str(pl.select(legible(pl.lit(text))).item())


def texts(column: pl.Series) -> pl.Series:
    """The values of a column as readable text, nulls as "(missing)"."""
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        shown = column.dt.strftime(time_format(column))
    elif dtype == pl.Duration:
        shown = column.dt.to_string("polars")
    elif dtype.is_nested() or dtype == pl.Binary:
        shown = pl.Series([None if value is None else str(value) for value in column.to_list()], dtype=pl.String)
    else:
        shown = column.cast(pl.String)
    return shown.to_frame().select(legible(pl.first())).to_series().fill_null(MISSING)


def time_format(times: pl.Series) -> str:
    """The shortest way to write these times in which none loses anything."""
    several = times.drop_nulls().unique()
    formats = _TIME_FORMATS[2:] if len(several) < 2 else _TIME_FORMATS
    shown = clock(several)
    units = ("1y", "1mo", "1d", "1m", "1s")[len(_TIME_FORMATS) - len(formats) :]
    for form, unit in zip(formats, units, strict=True):
        if (shown == shown.dt.truncate(unit)).all():
            return form
    return _TIME_FORMATS[-1] + "%.f"


def clock(times: pl.Series) -> pl.Series:
    """The times that the clock and the calendar of the column's zone show."""
    return times.dt.replace_time_zone(None) if isinstance(times.dtype, pl.Datetime) else times.cast(pl.Datetime("us"))


def names(table: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """Name each row by its keys: "AA, EWR". Groups with equal names are numbered to keep them distinct."""
    if not keys:
        return pl.Series("group", ["all"] * table.height, dtype=pl.String)
    places = [f"k{i}" for i in range(len(keys))]
    groups = (
        table.select(pl.col(key).alias(place) for key, place in zip(keys, places, strict=True))
        .with_row_index("row")
        .group_by(places, maintain_order=True)
        .agg("row")
    )
    called = pl.select(pl.concat_str([texts(groups[place]) for place in places], separator=", ").alias("name"))
    group = pl.Series("group", unique(called["name"]), dtype=pl.String)
    return groups.select("row", group).explode("row").sort("row")["group"]


LARGEST, WORST = 4, 2
_MOST_NAMED = 60
_NAME = "__ec_name"


@dataclass(frozen=True)
class Shown:
    """The cells of the groups in a chart: `group` is their name as key; `rest` the name of all others together.

    `title` describes the groups, `notes` the number of rows and the selection of groups, `labels` are for the legend. `model` is the name of
    the one model, if it is known.
    """

    cells: DecidingCells
    names: list[str]
    rest: str | None
    title: str
    notes: list[str]
    labels: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None

    @property
    def all_names(self) -> list[str]:
        """The names of the groups, and of the rest if there is one."""
        return self.names if self.rest is None else [*self.names, self.rest]

    def only(self, curve: pl.DataFrame) -> pl.DataFrame:
        """A curve of the shown cells, in the order of the legend."""
        place = pl.col("group").replace_strict(self.all_names, range(len(self.all_names)), return_dtype=pl.Int32)
        shown = curve.filter(pl.col("group").is_in(self.all_names)).drop(SCORE, TARGET, strict=False)
        return shown.sort(place, maintain_order=True)

    def with_values(self, metric: str, interval: float | None) -> Shown:
        """Add the value of a metric and its confidence interval to the legend, or for one group to the notes."""
        # `Sketch.evaluate` would warn of nulls, which the notes explain.
        table = self.only(evaluate(self.cells, [metric], {}, request=parse_interval({"interval": interval})))
        names = (f"{metric}_ci_low", f"{metric}_ci_high")
        ends = (pl.col(name) if name in table.columns else pl.lit(None).alias(name) for name in names)
        rows = table.select("group", metric, *ends).rows()
        values = {group: with_interval(value, low, high, number_in_table) for group, value, low, high in rows}
        if len(self.all_names) == 1:
            return replace(self, notes=[*self.notes, *(f"{short(metric)} {value}" for value in values.values())])
        # The value first, because what is long is cut at its end.
        labels = {group: f"{value} {group}" for group, value in values.items()}
        return replace(self, title=f"{short(metric)}, {self.title}", labels=labels)

    def without(self, curve: pl.DataFrame) -> list[str]:
        """Name the groups in the legend that have no point in the curve as drawn."""
        drawn = set(curve["group"])
        missing = [name for name in self.all_names if name not in drawn]
        called = ", ".join(missing)
        # A title is never cut, and makes the drawing as wide as it is.
        said = called if len(called) <= _MOST_NAMED else f"{len(missing)} of {len(self.all_names)}"
        return [f"No line: {said}"] if missing and len(self.all_names) > 1 else []


def shown_groups(cells: DecidingCells, metric: str, keywords: Mapping[str, Any] | None = None) -> Shown:
    """The largest groups, the worst of the others by a metric, and the rest added up; groups with invalid rows are left out.

    The rest is not added up over models and targets, which have the same rows.
    """
    keys, model = cells.keys_beside_fold, None
    if SCORE in keys and cells.frame[SCORE].n_unique() == 1:
        keys.remove(SCORE)
        model = str(cells.frame[SCORE][0])
    apart = [key for key in (SCORE, TARGET) if key in keys]
    whole = cells if keys == cells.keys else cells.group_by(*keys)
    numbered, numbers = number_groups(whole, keys)
    groups = _sizes(numbered, numbers, keys)
    right = groups.filter(~pl.col("invalid"))
    names, notes = right["group"].to_list(), [_rows(groups.join(numbers.select(GROUP, *apart), on=GROUP), apart)]
    what, left_out = "curves" if apart else "groups", 0
    if len(names) > LARGEST + WORST:
        others = right[LARGEST:].filter(~pl.col("small"))["group"].to_list()
        beside = _worst(_renamed(without_clusters(whole), keys, numbers, groups, apart), others, metric, keywords or {})
        left_out = len(names) - LARGEST - len(beside)
        notes.append(f"{len(names):,} {what}: {_which(len(beside), metric, left_out, together=not apart)}")
        names = [*names[:LARGEST], *beside]
    if right.height < groups.height:
        notes.append(f"Left out because of invalid rows: {groups.height - right.height:,} of {groups.height:,} {what}")
    title = plain(", ".join(keys))
    if not left_out:
        return Shown(_renamed(whole, keys, numbers, groups, apart), names, None, title, notes, model=model)
    rest = unlike(f"other {left_out:,}", groups["group"].to_list())
    own = pl.col("group").is_in(names) | pl.col("invalid")
    pooled = groups.with_columns(group=pl.when(own).then("group").otherwise(pl.lit(rest)))
    shown = _renamed(whole, keys, numbers, pooled, apart)
    return Shown(shown, names, None if apart else rest, title, notes, model=model)


def finite(table: pl.DataFrame) -> pl.DataFrame:
    """Infinities and NaN as nulls, because JSON parsers reject them."""
    numbers = pl.selectors.float()
    return table.with_columns(pl.when(numbers.is_finite()).then(numbers))


def _sizes(numbered: pl.DataFrame, numbers: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """A row per group that has cells, largest first: its number, a name that no other has, `n`, `small` and `invalid`."""
    label, n = pl.col("class"), pl.col("n")
    of_class = [n.filter(label == i).sum() for i in range(2)]
    counted = numbered.group_by(GROUP).agg(
        n=of_class[0] + of_class[1],
        small=pl.min_horizontal(of_class) < FEW_OF_A_CLASS,
        invalid=n.filter(label == -1).sum() > 0,
    )
    sized = numbers.select(GROUP, group=names(numbers, keys)).join(counted, on=GROUP, maintain_order="left")
    return sized.sort("n", descending=True, maintain_order=True)


def _renamed(
    cells: DecidingCells, keys: list[str], numbers: pl.DataFrame, names: pl.DataFrame, apart: list[str]
) -> DecidingCells:
    """The cells with the names of their groups for keys, added up where these are the same."""
    name_of = names.select(GROUP, pl.col("group").alias(_NAME))

    def change(table: pl.DataFrame) -> pl.DataFrame:
        named = with_group(table, numbers, keys).join(name_of, on=GROUP, how="left", maintain_order="left")
        left = (key for key in keys if key not in apart)
        return named.select(pl.col(_NAME).alias("group"), pl.exclude(GROUP, _NAME, *left))

    return cells.on_tables(change).group_by("group", *apart)


def _worst(cells: DecidingCells, names: list[str], metric: str, keywords: Mapping[str, Any]) -> list[str]:
    """The worst groups of these by a metric; of one that is known within bounds by its worse one."""
    if not names:
        return []
    down = lower_is_better(metric)
    table = cells.filter(pl.col("group").is_in(names)).evaluate(metric, **keywords)
    column = metric if metric in table.columns else f"{metric}_{'high' if down else 'low'}"
    # Infinite is the worst of all, though no mark can show it.
    return worst_first(table, column, lower=down)["group"].head(WORST).to_list()


def _rows(groups: pl.DataFrame, apart: list[str]) -> str:
    of_each = groups.group_by(apart).agg(pl.col("n").sum())["n"].sort().to_list() if apart else [groups["n"].sum()]
    least, most = (of_each[0], of_each[-1]) if of_each else (0, 0)
    return f"{most:,} rows" if least == most else f"{least:,} to {most:,} rows"


def _which(n_worst: int, metric: str, left_out: int, *, together: bool) -> str:
    by = short(metric)
    by = by if by != in_words(metric) else by[0].lower() + by[1:]
    those = f", {worst(metric)} {n_worst} by {by}" if n_worst else ""
    rest = f", other {left_out:,} together" if together else ""
    return f"largest {LARGEST}{those}{rest}"


# A margin beyond the axes, as a share of their length, where lines end that are cut off.
_BEYOND = 0.02


@dataclass(frozen=True)
class Axis:
    """The ends of an axis, its title and tick format. Ends are always explicit, because Vega cannot derive them without data."""

    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: Mapping[str, Any] | None = None

    @property
    def width(self) -> float:
        """The length in its own units."""
        return self.high - self.low

    def within(self, column: str) -> pl.Expr:
        """The column clipped to just beyond the axis, where lines are cut off anyway."""
        margin = _BEYOND * self.width
        return pl.col(column).clip(self.low - margin, self.high + margin)

    def x(self, field: str = "x:Q") -> alt.X:
        """The horizontal channel."""
        # In the order of the data: steps have two points at one place.
        return alt.X(field, sort=None, **self._channel())

    def y(self, field: str = "y:Q") -> alt.Y:
        """The vertical channel."""
        return alt.Y(field, **self._channel())

    def _channel(self) -> dict[str, Any]:
        axis = {} if self.ticks is None else {"axis": alt.Axis(**self.ticks)}
        return {"title": self.title, "scale": alt.Scale(domain=[self.low, self.high], nice=False), **axis}


def curve_layers(
    shown: Shown, table: pl.DataFrame, x: Axis, y: Axis, numbers: Mapping[str, str], *, dashed: bool = False
) -> list[alt.Chart]:
    """A line for each group over its band, if the table has `low` and `high`; `numbers` are titles and columns of tooltips."""
    base = alt.Chart(finite(table))
    paint = colour(shown.names, shown.rest, shown.title, shown.labels)
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
    """The name of the group, if there are several, and numbers, by title and column."""
    group = [alt.Tooltip("group:N", title="Group")] if len(shown.all_names) > 1 else []
    return [*group, *(alt.Tooltip(f"{column}:Q", title=title, format=".4~g") for title, column in numbers.items())]


def mark_at(place: float, text: str, x: Axis, *, line: int = 0) -> list[alt.Chart]:
    """A vertical line with a text at its upper end, on the side with more room."""
    if not x.low <= place <= x.high:
        return []
    base = alt.Chart(pl.DataFrame({"x": [place], "text": [text]}))
    to_the_left = place - x.low > x.width / 2
    words = base.mark_text(align="right" if to_the_left else "left", dx=-4 if to_the_left else 4, color=REST)
    return [
        base.mark_rule(color=REST, strokeDash=[1, 2] if line else DASHES).encode(x.x()),
        words.encode(x.x(), y=alt.value(8 + 13 * line), text=alt.Text("text:N")),
    ]


def at_prior(prior: Prior) -> str:
    """Name the prior after the metric that is at it: " at prior 0.02"; nothing for a group's own."""
    if prior is None:
        return ""
    if isinstance(prior, str):
        return {"uniform": " at prior 0.5", "overall": " at the prior of the whole log"}[prior]
    return f" at prior {prior:.4g}" if isinstance(prior, float | int) else " at the stated prior"


def of_model(title: str, model: str | None) -> str:
    """The title with the name of the one model, if it is known."""
    return title if model is None else f"{title} of {plain(model)}"


def titled(
    layers: Sequence[alt.Chart], shown: Shown, title: str, notes: Sequence[str], size: int = SIZE
) -> alt.LayerChart:
    """The layers as one chart."""
    # All at once, because `properties` copies the layers several times.
    heading = alt.Title(of_model(title, shown.model), subtitle=[*notes], anchor="start")
    return alt.LayerChart(layer=[*layers], width=size, height=size, title=heading)


def band_note(interval: float | None, table: pl.DataFrame, drawn: str = "Band", of: str = "point") -> list[str]:
    """Describe the band, or say that there is none if the table has no known bounds."""
    if interval is None:
        return []
    limits = f"{100 * interval:.4g}% confidence interval of each {of}"
    is_known = table.height == 0 or bool(table.select(pl.col("low").is_finite().any()).item())
    return [f"{drawn}: {limits}" if is_known else f"{limits}: none is known"]


def limits_as_band(curve: pl.DataFrame, column: str) -> pl.DataFrame:
    """The curve with a column as `y` and its bounds, if any, as `low` and `high`."""
    names = {column: "y", f"{column}_ci_low": "low", f"{column}_ci_high": "high"}
    return curve.rename(names, strict=False)


MOST_POINTS = 4500
"""The most points of all lines of a chart together: Altair takes 5,000 rows, and reference lines have some."""
_OFF = 0.5


def with_corners(curve: pl.DataFrame) -> pl.DataFrame:
    """The curve as steps, `x` ascending: each point holds from the x before, where a corner is added."""
    place = pl.int_range(pl.len()) * 2
    corners = curve.with_columns(x=pl.col("x").shift().over("group"), __ec_place=place - 1).drop_nulls("x")
    return pl.concat([curve.with_columns(__ec_place=place), corners]).sort("__ec_place").drop("__ec_place")


def thin(curve: pl.DataFrame, widths: tuple[float, float] = (1.0, 1.0), *, most: int = MOST_POINTS) -> pl.DataFrame:
    """Keep only points without which a line would be off by half a pixel: for `y` and, with a band, `low` and `high`.

    `widths` are the lengths of the axes. Null points are dropped; the ends of each line stay. If more than `most` points remain, the
    tolerance is raised.
    """
    curve = curve.filter(pl.all_horizontal(pl.col("x", "y").is_finite()))
    if curve.height < 3:
        return curve
    starts = curve["group"].ne_missing(curve["group"].shift()).to_numpy().copy()
    starts[0] = True
    heights = [name for name in ("y", "low", "high") if name in curve.columns]
    x = curve["x"].to_numpy() / widths[0] * SIZE
    lines = curve.select(heights).cast(pl.Float64).fill_null(np.nan).to_numpy().T / widths[1] * SIZE
    unknown = np.isnan(lines).any(axis=0)
    weight = np.zeros(len(x))
    # A band that begins or ends is seen as far as the chart is wide.
    weight[_and_before(unknown != np.roll(unknown, 1))] = SIZE
    weight[_and_before(starts)] = np.inf
    kept = _weighed(x, lines, weight)
    if len(kept) > most:
        kept = kept[weight[kept] > np.partition(weight[kept], -most - 1)[-most - 1]]
    return curve[kept]


def _and_before(places: Bools) -> Bools:
    return places | np.roll(places, -1)


def _weighed(x: Floats, lines: Floats, weight: Floats) -> Integers:
    """The points that Douglas and Peucker keep: between two of them the one that is farthest from their chord, while that is far.

    `weight`, above 0 for those that stay in any case, becomes how far off a line is without each of them.
    """
    kept, places = np.flatnonzero(weight), np.arange(len(x))
    while True:
        part = np.minimum(np.searchsorted(kept, places, side="right") - 1, len(kept) - 2)
        start, end = kept[part], kept[part + 1]
        far = np.zeros(len(x))
        for y in lines:
            far = np.fmax(far, _distance(x, y, start, end))
        farthest = np.maximum.reduceat(far, kept[:-1])
        farthest_points = np.flatnonzero((far > _OFF) & (far == farthest[part]))
        if not len(farthest_points):
            return kept
        new = farthest_points[np.unique(part[farthest_points], return_index=True)[1]]
        # No more than those that it came after: who drops light points first drops it before them.
        weight[new] = np.minimum(far[new], np.minimum(weight[start[new]], weight[end[new]]))
        kept = np.union1d(kept, new)


def _distance(x: Floats, y: Floats, start: Integers, end: Integers) -> Floats:
    right, up = x[end] - x[start], y[end] - y[start]
    dx, dy = x - x[start], y - y[start]
    length = right**2 + up**2
    along = np.clip(np.divide(dx * right + dy * up, length, out=np.zeros(len(x)), where=length > 0), 0, 1)
    distance: Floats = np.hypot(dx - along * right, dy - along * up)
    return distance


# Log-odds of more than a million to one are cut off: hardly any score is beyond.
_FARTHEST = 15.0
_ROOM = 0.03
# The number of steps for curves that bend between points.
_BENDS = 400


def threshold_axis(cells: Cells, curve: pl.DataFrame, marked: Sequence[float]) -> Axis:
    """The axis of the thresholds of a curve, as far as there are scores, and of those that are marked."""
    scale = cells.grid.scale
    if scale.is_share:
        return Axis(scale.axis, *scale.bounds)
    places = [*_places(_spans(cells), curve), pl.Series(marked, dtype=pl.Float64)]
    return Axis(scale.axis, *_ends(places, bounded=not scale.has_order_only))


def log_odds_axis(cells: Cells, curve: pl.DataFrame, title: str) -> Axis:
    """The axis of thresholds that are log-odds, or LLRs, in the curve, whatever they are in the cells."""
    return Axis(title, *_ends(_places(_as_log_odds(cells, _spans(cells)), curve), bounded=True))


def over_thresholds(cells: Cells, curve: pl.DataFrame, x: Axis, *, log_odds: bool = False) -> pl.DataFrame:
    """A curve over thresholds, `x`, ascending, from end to end of the axis.

    It falls where scores are: at a score, or from one edge of a bin to the other one, for a bin does not say where in it they lie.
    """
    spans = _as_log_odds(cells, _spans(cells)) if log_odds else _spans(cells)
    return _along(curve, spans).with_columns(x=x.within("x"))


def sums_over_t(cells: Cells, points: pl.DataFrame) -> pl.DataFrame:
    """The points of `points_over_t` for every t, ascending: between two scores the sums are the same, and their costs move."""
    scale = cells.grid.scale
    of_threshold = scale.share if scale.is_share else sigmoid
    spans = _spans(cells).with_columns(of_threshold(pl.col(end)).alias(end) for end in ("from", "to"))
    summed = points.with_columns(pl.col(SUMS_AT_EDGES).cast(pl.Float64))
    edges = _along(summed, spans).with_columns(pl.col("x").clip(0, 1).alias(T)).drop("x")
    return pl.concat([edges, at_same_t(edges)]).sort(GROUP, T, maintain_order=True)


def at_same_t(points: pl.DataFrame) -> pl.DataFrame:
    """Ascending points of each group moved to the same values of t, between 0 and 1."""
    t = np.linspace(0, 1, _BENDS + 1)[1:-1]
    moved = [points.clear()]
    for _, part in points.group_by(GROUP, maintain_order=True):
        x, sums = part[T].to_numpy(), part.select(pl.col(SUMS_AT_EDGES))
        between = [pl.Series(of.name, np.interp(t, x, of.to_numpy())) for of in sums.iter_columns()]
        moved.append(part[[0] * len(t)].with_columns(pl.Series(T, t), *between))
    return pl.concat(moved)


def _along(curve: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """The points of a curve, which has nothing decided positive first, then one cell after the other: from the lowest cell up.

    Before the scores of a cell begin it is decided positive, where they end it is not.
    """
    points = curve.with_columns(__ec_cell=pl.int_range(pl.len()).over("group"))
    begins = points.join(spans, on=["group", "__ec_cell"]).with_columns(x="from", __ec_part=0)
    without = points.with_columns(pl.col("__ec_cell") + 1)
    ends = without.join(spans, on=["group", "__ec_cell"]).with_columns(x="to", __ec_part=1)
    last = begins.sort("__ec_cell").group_by("group").last().select(begins.columns)
    first = ends.sort("__ec_cell").group_by("group").first().select(begins.columns)
    low = last.with_columns(x=pl.lit(-math.inf), __ec_part=-1)
    high = first.with_columns(x=pl.lit(math.inf), __ec_part=2)
    order = curve["group"].unique(maintain_order=True)
    place = pl.col("group").replace_strict(order, range(len(order)), return_dtype=pl.Int32)
    whole = pl.concat([low, begins, ends, high]).sort(place, -pl.col("__ec_cell"), "__ec_part")
    return whole.drop("__ec_cell", "__ec_part", "from", "to")


def _spans(cells: Cells) -> pl.DataFrame:
    grid, cell = cells.grid, cells.grid.cell_columns
    used = cells.frame.filter(pl.col("class") >= 0).select("group", *cell).unique()
    used = used.sort(*cell, descending=True).with_columns(__ec_cell=1 + pl.int_range(pl.len()).over("group"))
    if grid.resolution is None:
        return used.select("group", "__ec_cell", pl.col(EXACT).alias("from"), pl.col(EXACT).alias("to"))
    below = used.with_columns(grid.lower_edge().alias("from"))
    above = below.with_columns(pl.col("bin") + 1).with_columns(edge=grid.lower_edge())
    # No score is beyond the highest bin; and a declared threshold may end a cell before its bin ends.
    beyond = pl.col("bin") > grid.infinite_bins[1]
    declared = dict(enumerate([*grid.thresholds, math.inf]))
    ends = pl.col("above").replace_strict(declared, return_dtype=pl.Float64)
    to = pl.min_horizontal(pl.when(beyond).then(math.inf).otherwise("edge"), ends)
    if grid.scale.is_share:
        to = to.clip(upper_bound=grid.scale.upper)
    return above.select("group", "__ec_cell", "from", to.alias("to"))


def _as_log_odds(cells: Cells, spans: pl.DataFrame) -> pl.DataFrame:
    scale = cells.grid.scale
    return spans.with_columns(scale.log_odds(pl.col("from", "to").clip(*scale.bounds)))


def _places(spans: pl.DataFrame, curve: pl.DataFrame) -> list[pl.Series]:
    return spans.join(curve, on="group", how="semi").select("from", "to").get_columns()


def _ends(values: Sequence[pl.Series], *, bounded: bool) -> tuple[float, float]:
    """The two ends of an axis that holds these values; never one place."""
    places = pl.concat(values)
    # Open bins end at the largest number that there is.
    places = places.filter(places.is_finite() & (places.abs() < 1e300))
    if bounded:
        places = places.clip(-_FARTHEST, _FARTHEST)
    low, high = (places.min(), places.max()) if len(places) else (-1.0, 1.0)
    assert isinstance(low, float)
    assert isinstance(high, float)
    room = _ROOM * (high - low)
    return (low - room, high + room) if room > 1e-9 * max(abs(low), abs(high)) else (low - 1, high + 1)


MOST_ROWS = 5000
"""Altair refuses more in a chart."""

MUTED = 0.35
# An axis extends beyond the values by this many times their typical interval, or by their range if that is larger.
_ROOM_FOR_LIMITS = 3


def columns_before(table: object, marker: str, made_by: str) -> list[str]:
    """The columns that identify the rows of a table: those before the first fixed column."""
    if not isinstance(table, pl.DataFrame):
        way_out = ": collect() it first" if isinstance(table, pl.LazyFrame) else ""
        raise TypeError(
            f"a chart needs the DataFrame that {made_by} makes, and this is a {type(table).__name__}{way_out}"
        )
    if marker not in table.columns:
        raise ValueError(
            f"the table has no column {marker!r}: pass what {made_by} made, with its columns in their order"
        )
    return table.columns[: table.columns.index(marker)]


def check_metric(report: pl.DataFrame, metric: str) -> None:
    """Raise ValueError for a metric that is not a numeric column of a report."""
    after = report.columns[report.columns.index("n") :]
    if metric not in after:
        beside = ("_ci_low", "_ci_high", "_error")
        metrics = [name for name in after if report.schema[name].is_numeric() and not name.endswith(beside)]
        bounds = f"its bounds, {metric}_low and {metric}_high" if f"{metric}_low" in after else ""
        raise ValueError(f"metric={metric!r} is no metric of the report: it has {bounds or ', '.join(metrics)}")
    dtype = report.schema[metric]
    if not dtype.is_numeric():
        each = ": report(per_class=True) has a row for each class" if dtype.is_nested() else ""
        raise ValueError(f"metric={metric!r} is {dtype}, and a chart needs numbers{each}")


def numbers(report: pl.DataFrame, column: str, name: str) -> pl.Series:
    """A column as floats, with NaN as null; all nulls if the report lacks the column."""
    if column not in report.columns:
        return pl.Series(name, [None] * report.height, dtype=pl.Float64)
    return report[column].cast(pl.Float64).fill_nan(None).alias(name)


def is_marked(report: pl.DataFrame, column: str) -> pl.Series:
    """Mark the rows over all groups, "total", or those that the report has as "small"."""
    marked = report.schema.get(column) == pl.Boolean
    return report[column].fill_null(value=False) if marked else pl.repeat(False, report.height, eager=True)


def order_of(periods: pl.Series) -> pl.Series:
    """Number the periods from the earliest on; a null is before all others."""
    own = periods.alias("own").to_frame()
    numbered = own.unique().sort("own").with_row_index("order")
    joined = own.join(numbered, on="own", how="left", nulls_equal=True, maintain_order="left")
    return joined["order"].cast(pl.Int64)


def common_reference(references: pl.Series) -> str | None:
    """Name the reference of all rows, if it is the same."""
    several = references.unique()
    return f"Against {several[0].removesuffix(MIDNIGHT)}" if len(several) == 1 else None


def heading(title: str, notes: Sequence[str], table: pl.DataFrame) -> alt.Title:
    """The title, with notes below it that are needed to read the chart."""
    return alt.Title(title, subtitle=[*notes] if table.height else ["No rows"], anchor="start")


@dataclass(frozen=True)
class Selection:
    """A table of the groups that are shown, their names in order, and how many others there are."""

    table: pl.DataFrame
    names: list[str]
    others: int

    def notes(self, which: str) -> list[str]:
        """Say how many groups there are, and which are shown."""
        shown = len(self.names)
        return [f"{shown} of {shown + self.others} groups: the largest, and {which}"] if self.others else []


def select_groups(table: pl.DataFrame, column: str, largest: int, worst: int, badness: pl.Expr) -> Selection:
    """The largest groups of a column of names, and those of the others with the highest value of an aggregate.

    Up to this many groups are all shown, in the order of the table. A group whose aggregate is null is never among the worst.
    """
    groups = table.group_by(column, maintain_order=True).agg(pl.col("n").sum(), badness.alias("bad"))
    if groups.height <= largest + worst:
        return Selection(table, groups[column].to_list(), 0)
    by_size = groups.sort("n", descending=True, maintain_order=True)
    others = by_size[largest:].drop_nulls("bad").sort("bad", descending=True, maintain_order=True)
    kept = [*by_size[column][:largest], *others[column][:worst]]
    return Selection(table.filter(pl.col(column).is_in(kept)), kept, groups.height - len(kept))


def reference_line(channel: str, value: float) -> alt.Chart:
    """A dashed line at a value of a layered chart, which has it in each of its facets."""
    # Once for the rows of a chart, and not once for each of them. A layer with rows of its own would keep facets from being made.
    mark: alt.Chart = alt.Chart().mark_rule(strokeDash=DASHES, color=REST)
    datum = {"x": alt.XDatum(value)} if channel == "x" else {"y": alt.YDatum(value)}
    return mark.transform_aggregate(rows="count()").encode(**datum)


@dataclass(frozen=True)
class Reach:
    """The ends of an axis with distant bounds, or values of few rows, which would make all others indistinguishable."""

    low: float | None
    high: float | None

    @property
    def scale(self) -> dict[str, Any]:
        """The explicit ends; Vega derives the others from the data."""
        ends = {"domainMin": self.low, "domainMax": self.high}
        return {name: end for name, end in ends.items() if end is not None}

    @property
    def notes(self) -> list[str]:
        """Describe what is cut off."""
        ends = " and ".join(f"{end:.3g}" for end in (self.low, self.high) if end is not None)
        return [f"Cut off at {ends}: wider intervals and values of small groups are cut off"] if ends else []


def reach(table: pl.DataFrame, value: str, also: Sequence[float] = ()) -> Reach:
    """The axis for a column of values with `low`, `high` and `small`; values with many rows, and `also`, are always within it."""
    of_many = table.filter(~pl.col("small"))
    sure = of_many if of_many[value].count() else table
    below, above = sure.select(
        (pl.col(value) - pl.col("low")).median().alias("below"),
        (pl.col("high") - pl.col(value)).median().alias("above"),
    ).row(0)
    values = pl.concat([sure[value].drop_nulls(), pl.Series(also, dtype=pl.Float64)])
    least, most = values.min(), values.max()
    if not isinstance(least, float) or not isinstance(most, float):
        return Reach(None, None)
    room = max(most - least, _ROOM_FOR_LIMITS * (below or 0.0), _ROOM_FOR_LIMITS * (above or 0.0))
    lowest, highest = pl.min_horizontal(pl.col(value, "low").min()), pl.max_horizontal(pl.col(value, "high").max())
    drawn = table.select(low=lowest, high=highest).row(0)
    low, high = least - room, most + room
    return Reach(
        low if room and drawn[0] is not None and drawn[0] < low else None,
        high if room and drawn[1] is not None and drawn[1] > high else None,
    )


def faint_if_small(others: float = 1) -> Any:
    """Draw marks of few rows faintly; `others` is how opaque the rest is."""
    return alt.condition(alt.datum.small, alt.value(MUTED * others), alt.value(others))


def tooltips(words: Mapping[str, str], numbers: Mapping[str, str], *, sign: str = "") -> list[alt.Tooltip]:
    """Columns of texts and of numbers by titles of our own, and last how many rows there are."""
    return [
        *(alt.Tooltip(f"{name}:N", title=title) for title, name in words.items()),
        *(alt.Tooltip(f"{name}:Q", title=title, format=f"{sign}.4~g") for title, name in numbers.items()),
        alt.Tooltip("n:Q", title="Rows", format=","),
    ]
