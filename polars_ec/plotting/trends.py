"""The chart of a metric over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.plotting.data import finite
from polars_ec.plotting.names import clock, names, plain, texts, time_format
from polars_ec.plotting.tables import (
    MOST_ROWS,
    Cut,
    Reach,
    check_metric,
    columns_before,
    cut,
    faint_if_small,
    heading,
    is_lower_better,
    numbers,
    of_all_groups,
    of_few_rows,
    order_of,
    reach,
    reference_line,
    tooltips,
)
from polars_ec.plotting.theme import BAND, COLOURS, SIZE, colour
from polars_ec.words import in_words, naive_value, unlike

LINES = (4, 2)
PANELS = (8, 4)
"""So many of the largest and of the worst."""

_PANEL = {"width": 170, "height": 100}
_TICKS, _TICKS_OF_PANEL = 12, 4
_MANY_PERIODS = 60
# So many times as long as steps between periods usually are is a gap.
_GAP = 1.5


@dataclass(frozen=True)
class _Axis:
    """The periods: how the axis shows them, and what they are called."""

    title: str
    is_time: bool
    format: str
    ticks: list[int]

    def channel(self, ticks: int) -> alt.X:
        if not self.is_time:
            axis = alt.Axis(labelOverlap=True, labelAngle=-45, labelLimit=100)
            # By it paths go from period to period, too: else they would take their names in the order of the alphabet.
            by_period = alt.EncodingSortField("order", op="min")
            return alt.X("x:O", title=self.title, sort=by_period, axis=axis)
        # Every so many periods, by what they are called: ticks of their own would be at hours that no period begins at.
        at = self.ticks[:: max(1, -(-len(self.ticks) // ticks))]
        axis = alt.Axis(format=self.format, labelOverlap=True, values=at)
        return alt.X("x:T", title=self.title, scale=alt.Scale(type="utc"), axis=axis)


def trend(
    report: pl.DataFrame, metric: str | Sequence[str], x: str, facet: str | Sequence[str] | None
) -> alt.LayerChart | alt.FacetChart:
    """That of `polars_ec.plot.trend`."""
    metrics = [metric] if isinstance(metric, str) else list(metric)
    facets = [] if facet is None else [facet] if isinstance(facet, str) else list(facet)
    keys = columns_before(report, "n", "ec.report")
    for what, name in (("x", x), *(("facet", name) for name in facets)):
        if name not in keys:
            raise ValueError(f"{what}={name!r} is no group column of the report: it has {', '.join(keys) or 'none'}")
    if x in facets:
        raise ValueError(f"facet={x!r} is x= too: leave it out there")
    _check_metrics(report, metrics)
    groups = report.filter(~of_all_groups(report))
    lines = [key for key in keys if key not in (x, *facets)]
    table, axis, left_out = _rows(groups, metrics, x, facets, lines)
    n_periods = table["x"].n_unique()
    most = (MOST_ROWS // max(1, n_periods * len(metrics))) - 1
    if n_periods * len(metrics) > MOST_ROWS:
        raise ValueError(
            f"x={x!r} has {n_periods} periods, more than a chart can show: report on longer ones, such as "
            f"pl.col({x!r}).dt.truncate('1mo')"
        )
    table, of_lines = _summed_up(table, "group", LINES, metrics[0], most)
    table, of_panels = _summed_up(table, "panel", PANELS, metrics[0], most // max(1, table["group"].n_unique()))
    ends = reach(table, "y", _naive(metrics))
    drawn, called = _with_neighbours(_in_parts(table, axis)), ", ".join(map(plain, lines))
    chart = _layers(drawn, metrics, axis, ends, of_lines, called, bool(facets))
    title = heading(_title(metrics), _said(table, metrics, ends, of_panels if facets else of_lines, left_out), table)
    if not facets:
        return chart.properties(width=2 * SIZE, height=SIZE, title=title)
    order = [*of_panels.names, *([_rest(of_panels)] if of_panels.others else [])]
    panel = alt.Facet(
        "panel:N", title=", ".join(map(plain, facets)), sort=order, header=alt.Header(labelLimit=_PANEL["width"])
    )
    return chart.properties(**_PANEL).facet(panel, columns=4).properties(title=title)


def _check_metrics(report: pl.DataFrame, metrics: Sequence[str]) -> None:
    if not metrics:
        raise ValueError("metric=[] names none: pass a column of the report, such as 'nec'")
    for place, metric in enumerate(metrics):
        check_metric(report, metric)
        if metric in metrics[:place]:
            raise ValueError(f"metric= has {metric!r} twice: name each column once")


def _rows(
    report: pl.DataFrame, metrics: Sequence[str], x: str, facets: Sequence[str], lines: Sequence[str]
) -> tuple[pl.DataFrame, _Axis, int]:
    """A row per period, panel, line and metric, by names of our own; the axis; and how many rows have no place on it."""
    # Of no rows there are no instants to make an axis of.
    is_time = report.height > 0 and (isinstance(report.schema[x], pl.Datetime) or report.schema[x] == pl.Date)
    left_out = report[x].null_count() if is_time else 0
    report = report.drop_nulls(x) if is_time else report
    own = report[x]
    periods = own.unique().sort()
    # Periods that read alike are not one.
    when = texts(own) if is_time else names(report, [x])
    shared = report.select(
        x=_instants(own) if is_time else when,
        when=when,
        order=order_of(own),
        panel=names(report, facets),
        group=names(report, lines),
        n="n",
        small=of_few_rows(report),
    )
    parts = [
        shared.with_columns(
            numbers(report, metric, "y"),
            numbers(report, f"{metric}_ci_low", "low"),
            numbers(report, f"{metric}_ci_high", "high"),
            measure=pl.lit(in_words(metric)),
            far=_side(report, metric),
        )
        for metric in metrics
    ]
    ticks = clock(periods).dt.epoch("ms").to_list() if is_time else []
    return (
        finite(pl.concat(parts)),
        _Axis(plain(x), is_time, time_format(periods) if is_time else "", ticks),
        left_out,
    )


def _side(report: pl.DataFrame, metric: str) -> pl.Series:
    """On which side a value is infinite: 1 or -1."""
    value = numbers(report, metric, "far")
    return value.to_frame().select(pl.when(pl.first().is_infinite()).then(pl.first().sign()).cast(pl.Int8)).to_series()


def _instants(times: pl.Series) -> pl.Series:
    """As a scale of UTC takes them, so that they are shown as the column has them, wherever the chart is looked at."""
    return clock(times).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")


def _summed_up(
    table: pl.DataFrame, column: str, shown: tuple[int, int], metric: str, most: int
) -> tuple[pl.DataFrame, Cut]:
    """The table of the largest and the worst names of a column, and as one more name the median and tenths of the others."""
    largest = max(1, min(shown[0], most))
    # Infinite is the worst of all, though no mark can show it.
    y = pl.coalesce(pl.col("far") * math.inf, "y")
    counts = (pl.col("measure") == in_words(metric)) & ~pl.col("small") & y.is_not_null()
    n = pl.col("n").filter(counts).sum()
    mean = pl.when(n > 0).then((y * pl.col("n")).filter(counts).sum() / n)
    of = cut(table, column, largest, max(0, min(shown[1], most - largest)), mean if is_lower_better(metric) else -mean)
    if not of.others:
        return table, of
    beside = "group" if column == "panel" else "panel"
    others = table.filter(~pl.col(column).is_in(of.names))
    together = others.group_by("x", "when", "order", beside, "measure", maintain_order=True).agg(
        pl.lit(_rest(of)).alias(column),
        pl.col("n").sum(),
        pl.lit(value=False).alias("small"),
        pl.col("y").median(),
        pl.col("y").quantile(0.1, "linear").alias("low"),
        pl.col("y").quantile(0.9, "linear").alias("high"),
        pl.lit(None, dtype=pl.Int8).alias("far"),
    )
    return pl.concat([of.table, together.select(table.columns)]), of


def _rest(of: Cut) -> str:
    """What the others are called together, as none of those that are shown."""
    return unlike(f"other {of.others}", of.names)


def _in_parts(table: pl.DataFrame, axis: _Axis) -> pl.DataFrame:
    """With a number for each part of a line: there is none across periods in which a group has no rows, or nobody has any."""
    steps = pl.Series(axis.ticks, dtype=pl.Int64).diff().cast(pl.Float64)
    # Nights and weekends that no log has are as usual as other steps.
    usual = steps.quantile(0.875, "lower")
    after_gap = pl.Series([] if usual is None else (steps > _GAP * usual).arg_true(), dtype=pl.Int64)
    skipped = pl.col("order").diff() > 1
    is_first = skipped | (pl.col("order").is_in(after_gap.implode()) & pl.col("order").diff().is_not_null())
    part = is_first.fill_null(value=False).cum_sum()
    return table.with_columns(part.over("panel", "group", "measure", order_by="order").cast(pl.Int64).alias("part"))


def _with_neighbours(table: pl.DataFrame) -> pl.DataFrame:
    """With a mark where limits have none beside them, so that a band between points would not show them."""
    known = pl.col("low").is_not_null() & pl.col("high").is_not_null()
    beside = [
        known.shift(by, fill_value=False).over("panel", "group", "measure", "part", order_by="order") for by in (1, -1)
    ]
    return table.with_columns(alone=known & ~beside[0] & ~beside[1])


def _layers(
    table: pl.DataFrame,
    metrics: Sequence[str],
    axis: _Axis,
    ends: Reach,
    of_lines: Cut,
    title: str,
    in_panels: bool,
) -> alt.LayerChart:
    base = alt.Chart()
    x = axis.channel(_TICKS_OF_PANEL if in_panels else _TICKS)
    title_of_y = None if in_panels else _title(metrics)
    low, high = alt.Y("low:Q", title=title_of_y), alt.Y2("high:Q")
    lines = len(of_lines.names) + (of_lines.others > 0)
    paint = colour(of_lines.names, _rest(of_lines) if of_lines.others else None, title)
    dash: alt.StrokeDash | alt.Value = alt.value([1, 0])
    if len(metrics) > 1:
        measures = [in_words(metric) for metric in metrics]
        dash = alt.StrokeDash("measure:N", sort=measures, scale=alt.Scale(domain=measures), title="Metric")
        if lines == 1:
            shades = [COLOURS[i % len(COLOURS)] for i in range(len(measures))]
            legend = alt.Legend(
                title=None,
                labelLimit=400,
                orient="bottom",
                direction="vertical",
                symbolType="stroke",
                symbolStrokeWidth=3,
                symbolOpacity=1,
            )
            paint = alt.Color("measure:N", sort=measures, scale=alt.Scale(domain=measures, range=shades), legend=legend)
    up, cut_off = alt.Y("y:Q", title=title_of_y, scale=alt.Scale(zero=False, **ends.scale)), bool(ends.scale)
    layers = [reference_line("y", value) for value in _naive(metrics)]
    if table["low"].count():
        band = base.mark_area(opacity=BAND, clip=cut_off).encode(
            x, low, high, color=paint, detail=["measure:N", "part:N"]
        )
        alone = base.mark_rule(opacity=2 * BAND, strokeWidth=3, clip=cut_off).encode(x, low, high, color=paint)
        layers += [band, alone.transform_filter(alt.datum.alone)]
    layers.append(base.mark_line(clip=cut_off).encode(x, up, color=paint, strokeDash=dash, detail="part:N"))
    many = table["x"].n_unique() > _MANY_PERIODS
    points = base.mark_point(filled=True, size=9 if many or in_panels else 36, clip=cut_off)
    layers.append(points.encode(x, up, color=paint, opacity=faint_if_small(), tooltip=_tooltip(table)))
    return alt.LayerChart(layer=layers, data=table)


def _tooltip(table: pl.DataFrame) -> list[alt.Tooltip]:
    texts_of = {"Group": "panel", "Line": "group", "Period": "when", "Metric": "measure"}
    shown = {title: name for title, name in texts_of.items() if name == "when" or table[name].n_unique() > 1}
    values = {"Value": "y"} | ({"Lower limit": "low", "Upper limit": "high"} if table["low"].count() else {})
    return tooltips(shown, values)


def _title(metrics: Sequence[str]) -> str:
    bases = dict.fromkeys(metric.removesuffix(AT_PRIOR) for metric in metrics)
    return in_words(metrics[0]) if len(metrics) == 1 else ", ".join(map(in_words, bases))


def _naive(metrics: Sequence[str]) -> list[float]:
    return [*dict.fromkeys(value for metric in metrics if (value := naive_value(metric)) is not None)]


def _said(table: pl.DataFrame, metrics: Sequence[str], ends: Reach, of: Cut, left_out: int) -> list[str]:
    said = [f"Dashed line: the naive system, {value:g}" for value in _naive(metrics)]
    if table["low"].count():
        said.append("Band: confidence limits of each point")
    if of.others:
        said.append(f"{_rest(of).capitalize()}: their median, and from 10% to 90% of them")
    if table["small"].any():
        said.append("Faint: few rows")
    said += ends.said
    if left_out:
        said.append(f"Left out: {left_out} without a period")
    return said
