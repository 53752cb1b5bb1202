"""Charts of the tables from reports, comparisons and drifts: rows of groups, metrics over time, and components of changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from polars_ec.arguments.classes import Prior, parse_prior
from polars_ec.formulas.decisions import AT_PRIOR, direction, lower_is_better, verdict, worst
from polars_ec.output.words import ALL_GROUPS, in_words, naive_value, short, unlike
from polars_ec.plot.layers import (
    BAND,
    COLOURS,
    MAIN,
    MOST_ROWS,
    OTHER,
    REST,
    SIZE,
    Reach,
    Selection,
    alt,
    at_prior,
    check_metric,
    clock,
    colour,
    columns_before,
    common_reference,
    faint_if_small,
    finite,
    heading,
    is_marked,
    names,
    numbers,
    of_model,
    order_of,
    plain,
    reach,
    reference_line,
    select_groups,
    texts,
    time_format,
    tooltips,
)
from polars_ec.sketches.cells import SCORE

ROWS = (20, 10)
"""The numbers of largest groups shown, and of the worst or most clearly different ones."""
MOST_PANELS = 12

_ROW = 17
_LABEL = 240
_SIZES = (25, 220)
_SAME, _FEW, _UNKNOWN = "not significant", "few rows", "no interval"
_VERDICTS = {
    **dict.fromkeys(("worse", "lower"), (OTHER, "square")),
    **dict.fromkeys(("better", "higher"), (MAIN, "circle")),
    _SAME: (REST, "diamond"),
    _FEW: (REST, "cross"),
    _UNKNOWN: (REST, "triangle"),
}
_REAL = 0.05
_BESIDE = {"Value": "value", "Value of the reference": "value_reference", "Adjusted p-value": "p_adjusted"}


def forest(report: pl.DataFrame, metric: str) -> alt.LayerChart:
    """Plot a metric of each group with its confidence interval, one row per group, the worst at the top.

    The size of a point grows with the rows of the group; `small` groups are faint. A row over all groups is at the bottom, as a diamond.

    Parameters
    ----------
    report
        A collected result of `ec.report`. Among many groups the 20 largest are shown, and the 10 worst of the others.
    metric
        A column of it.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "site": ["a", "a", "b", "b"]})
    >>> chart = ec.plot.forest(log.ec.report("p", "y", by="site", total=True), "brier")
    Traceback (most recent call last):
    ValueError: metric='brier' is no metric of the report: it has n, nec, nce, nbs, precision, f1, recall, class_prior, tn, fp, fn, tp, ...
    >>> chart = ec.plot.forest(log.ec.report("p", "y", by="site", total=True), "nce")
    >>> chart.data["group"].to_list()
    ['a', 'b', 'all groups']
    """
    keys = columns_before(report, "n", "ec.report")
    check_metric(report, metric)
    model = _one_model(report, keys)
    if model is not None and len(keys) > 1:
        keys.remove(SCORE)
    is_total = is_marked(report, "total")
    groups, totals = report.filter(~is_total), report.filter(is_total)
    lower = lower_is_better(metric)
    value = pl.col("x").filter(~pl.col("small")).first()
    rows = _group_rows(groups, names(groups, keys), metric)
    selection = select_groups(rows, "group", *ROWS, value if lower else -value)
    in_order = selection.table.sort("x", descending=lower, nulls_last=True, maintain_order=True)
    total_rows = _group_rows(totals, _names_of_totals(totals, keys, selection.names), metric)
    both = ((in_order, False), (total_rows, True))
    whole = pl.concat(rows.with_columns(total=pl.lit(value=is_whole)) for rows, is_whole in both)
    table = finite(whole)
    naive = naive_value(metric)
    notes = [] if naive is None else [f"Dashed line: the naive system, {naive:g}"]
    if table["low"].count():
        notes.append("Bars: confidence intervals")
    ends = reach(table, "x", [] if naive is None else [naive])
    notes += [*_infinite(whole["x"]), *ends.notes, *selection.notes(f"the {worst(metric)} of the others")]
    if table["small"].any():
        notes.append("Faint: few rows")
    paint = alt.condition(alt.datum.total, alt.value(OTHER), alt.value(MAIN))
    shape = alt.condition(alt.datum.total, alt.value("diamond"), alt.value("circle"))
    size = alt.Size("n:Q", scale=alt.Scale(range=_SIZES), legend=None)
    base, y = alt.Chart(), _rows_axis(table, ", ".join(map(plain, keys)))
    x, low = (
        alt.X(f"{name}:Q", title=in_words(metric), scale=alt.Scale(zero=False, padding=8, **ends.scale))
        for name in ("x", "low")
    )
    faint = faint_if_small()
    bars = base.mark_rule(clip=True).encode(low, y, alt.X2("high:Q"), color=paint, opacity=faint)
    points = base.mark_point(filled=True, opacity=1, clip=bool(ends.scale))
    limits = {"Lower bound": "low", "Upper bound": "high"} if table["low"].count() else {}
    tooltip = tooltips({"Group": "group"}, {"Value": "x", **limits})
    marks = points.encode(x, y, color=paint, shape=shape, size=size, opacity=faint, tooltip=tooltip)
    lines = [] if naive is None else [reference_line("x", naive)]
    chart = alt.LayerChart(layer=[*lines, bars, marks], data=table)
    title = heading(of_model(in_words(metric), model), notes, table)
    return chart.properties(width=SIZE, height=alt.Step(_ROW), title=title)


def _group_rows(report: pl.DataFrame, called: pl.Series, metric: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": called,
            "x": numbers(report, metric, "x"),
            "low": numbers(report, f"{metric}_ci_low", "low"),
            "high": numbers(report, f"{metric}_ci_high", "high"),
            "n": report["n"],
            "small": is_marked(report, "small"),
        }
    )


def _names_of_totals(totals: pl.DataFrame, keys: Sequence[str], taken: Sequence[str]) -> pl.Series:
    """The columns of groups are null there; those of models and classes are not."""
    beside = [key for key in keys if totals[key].null_count() < totals.height]
    called = [f"{ALL_GROUPS}, {name}" if beside else ALL_GROUPS for name in names(totals, beside)]
    while any(name in taken for name in called):
        called = [f"({name})" for name in called]
    return pl.Series("group", called, dtype=pl.String)


def compare(table: pl.DataFrame) -> alt.LayerChart | alt.ConcatChart:
    """Plot the differences from `ec.compare` with their confidence intervals, one chart per metric.

    Each group or model has a row, the worst at the top. Colour and shape mark groups or models that are significantly better or worse than
    the reference: those with an adjusted p-value below 0.05. Against the best, highest or lowest group it is those whose simultaneous
    interval excludes 0. `small` groups are not marked. A `decision_share` is marked as higher or lower.

    Parameters
    ----------
    table
        A collected result of `ec.compare` with at most 12 metrics. Among many groups the 20 largest are shown, and the 10 of the others
        whose differences are largest relative to their intervals.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"a": [0.9, 0.4, 0.7, 0.1], "b": [0.9, 0.8, 0.2, 0.1], "y": [1, 0, 1, 0]})
    >>> chart = ec.plot.compare(log.ec.compare(["a", "b"], "y", metrics=["nec"]))
    >>> chart.data.select("group", "x", "verdict").rows()
    [('b', 1.0, 'few rows')]
    """
    keys = columns_before(table, "model", "ec.compare")
    columns_before(table, "difference", "ec.compare")
    if "likelihood" in table.columns:
        raise ValueError("the table comes from ec.drift, whose changes have parts: pass it to ec.plot.drift")
    metrics = table["metric"].unique(maintain_order=True).to_list()
    if len(metrics) > MOST_PANELS:
        raise ValueError(
            f"the table has {len(metrics)} metrics, more than a chart can show: filter it, such as by pl.col('metric') == {metrics[0]!r}"
        )
    n_models = table["model"].n_unique()
    shown = keys if keys and n_models < 2 else [*keys, "model"]
    model = table["model"][0] if keys and n_models == 1 else None
    called, title = names(table, shown), ", ".join(map(plain, shown))
    tables = {
        metric: _differences(table.filter(metric=metric), called.filter(table["metric"] == metric), metric)
        for metric in metrics
    }
    all_tables = tables or {"value": _differences(table, called, "value")}
    # One legend for all charts, with the values that occur.
    legend = [
        verdict
        for verdict in _VERDICTS
        if any(verdict in selection.table["verdict"] for selection, *_ in tables.values())
    ]
    charts = [
        _chart(selection, ends, notes, metric, of_model(in_words(metric), model), title, legend)
        for metric, (selection, ends, notes) in all_tables.items()
    ]
    return charts[0] if len(charts) == 1 else alt.ConcatChart(concat=charts, columns=2)


def _differences(compared: pl.DataFrame, called: pl.Series, metric: str) -> tuple[Selection, Reach, list[str]]:
    """The rows of one metric, the worst difference first, with the reach of their axis and notes."""
    extreme = _extreme_reference(compared, metric)
    differences = compared.select(
        called.alias("group"),
        texts(compared["reference"]),
        *_BESIDE.values(),
        "n",
        pl.col("small").fill_null(value=False),
        x=pl.col("difference").fill_nan(None),
        low="difference_ci_low",
        high="difference_ci_high",
        verdict=_verdict(metric, is_simultaneous=extreme is not None),
    )
    width = pl.col("high") - pl.col("low")
    clear = pl.when(~pl.col("small") & (width > 0)).then(pl.col("x").abs() / width).first()
    selection = select_groups(differences, "group", *ROWS, clear)
    in_order = selection.table.sort("x", descending=lower_is_better(metric), nulls_last=True, maintain_order=True)
    table = finite(in_order)
    notes = [*filter(None, [common_reference(table["reference"])])]
    if extreme is not None:
        notes.append(f"Bars: simultaneous confidence intervals. A group whose interval reaches 0 may be the {extreme}")
    elif table["low"].count():
        words = ", ".join(sorted(verdict(metric, sign) for sign in (1.0, -1.0)))
        notes.append(f"Bars: confidence intervals. {words.capitalize()}: adjusted p below {_REAL:g}")
    ends = reach(table, "x", [0.0])
    notes += [*_infinite(in_order["x"]), *ends.notes, *selection.notes("those of the others that differ most clearly")]
    return replace(selection, table=table), ends, notes


def _chart(
    selection: Selection, ends: Reach, notes: Sequence[str], metric: str, title: str, rows: str, verdicts: Sequence[str]
) -> alt.LayerChart:
    domain = [*_VERDICTS]
    colours, shapes = ([looks[i] for looks in _VERDICTS.values()] for i in (0, 1))
    legend = alt.Legend(title=None, symbolOpacity=1, values=[*verdicts]) if verdicts else None
    paint = alt.Color("verdict:N", sort=domain, scale=alt.Scale(domain=domain, range=colours), legend=legend)
    shape = alt.Shape("verdict:N", sort=domain, scale=alt.Scale(domain=domain, range=shapes), legend=legend)
    base, y, faint = alt.Chart(), _rows_axis(selection.table, rows), faint_if_small()
    x, low = (
        alt.X(f"{name}:Q", title=f"Difference in {in_words(metric)}", scale=alt.Scale(padding=8, **ends.scale))
        for name in ("x", "low")
    )
    bars = base.mark_rule(clip=True).encode(low, y, alt.X2("high:Q"), color=paint, opacity=faint)
    points = base.mark_point(filled=True, opacity=1, size=60, clip=bool(ends.scale))
    words = {"Group": "group", "Reference": "reference", "Verdict": "verdict"}
    tooltip = tooltips(words, {"Difference": "x", "Lower bound": "low", "Upper bound": "high", **_BESIDE})
    marks = points.encode(x, y, color=paint, shape=shape, opacity=faint, tooltip=tooltip)
    chart = alt.LayerChart(layer=[reference_line("x", 0), bars, marks], data=selection.table)
    return chart.properties(width=SIZE, height=alt.Step(_ROW), title=heading(title, notes, selection.table))


def _extreme_reference(compared: pl.DataFrame, metric: str) -> str | None:
    """The kind of group whose distances have intervals, if any: it is in the table itself, and intervals end or start at 0."""
    itself = compared.filter(difference=0.0, p_value=1.0)
    starts, ends = (itself[f"difference_ci_{end}"] == 0 for end in ("low", "high"))
    if not (starts != ends).any():
        return None
    end, extreme = ("higher", "highest") if ends.sum() > starts.sum() else ("lower", "lowest")
    return "best" if end == direction(metric) else extreme


def _verdict(metric: str, *, is_simultaneous: bool) -> pl.Expr:
    """The verdict on a difference; none with few rows."""
    low, high, difference = (pl.col(name) for name in ("difference_ci_low", "difference_ci_high", "difference"))
    # Simultaneous intervals refer to the truly best group, unlike the p-value of a pair.
    real = ((low > 0) | (high < 0)) if is_simultaneous else (pl.col("p_adjusted") < _REAL).fill_null(value=False)
    return (
        pl.when(low.is_null() | high.is_null() | difference.is_null())
        .then(pl.lit(_UNKNOWN))
        .when("small")
        .then(pl.lit(_FEW))
        .when(~real)
        .then(pl.lit(_SAME))
        .when(difference > 0)
        .then(pl.lit(verdict(metric, 1.0)))
        .otherwise(pl.lit(verdict(metric, -1.0)))
    )


def _rows_axis(table: pl.DataFrame, title: str) -> alt.Y:
    return alt.Y("group:N", sort=table["group"].to_list(), title=title or None, axis=alt.Axis(labelLimit=_LABEL))


def _infinite(values: pl.Series) -> list[str]:
    number = values.is_infinite().sum()
    return [f"Without a mark: {number:,} infinite"] if number else []


LINES = (4, 2)
PANELS = (8, 4)
"""The numbers of largest and of worst groups shown."""

_TREND_PANEL = {"width": 170, "height": 100}
_TICKS, _TICKS_OF_PANEL = 12, 4
_DENSE_TREND = 60
# A step between periods this many times the usual one is a gap.
_GAP = 1.5


@dataclass(frozen=True)
class _PeriodAxis:
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
        # Ticks at every n-th period, by name, because automatic ticks may be at hours at which no period starts.
        at = self.ticks[:: max(1, -(-len(self.ticks) // ticks))]
        axis = alt.Axis(format=self.format, labelOverlap=True, values=at)
        return alt.X("x:T", title=self.title, scale=alt.Scale(type="utc"), axis=axis)


def trend(
    report: pl.DataFrame,
    metric: str | Sequence[str],
    *,
    x: str,
    facet: str | Sequence[str] | None = None,
    prior: Prior = None,
) -> alt.LayerChart | alt.FacetChart:
    """Plot a metric over time, with its confidence intervals if the report has them.

    `small` rows are faint. A dashed line shows the naive system, if its value is the same for all logs.

    Parameters
    ----------
    report
        A collected result of `ec.report`; its row over all groups is left out.
    metric
        A column of it; or several, such as `["precision", "precision_at_prior"]`, with one line each.
    x
        The column of periods: dates and timestamps, which are shown in the time zone of the column, or numbers, text and Enums, in their
        order.
    facet
        A group column, or several, for one small chart per group. Among many groups the 8 largest and the 4 worst of the others are shown.
        One more chart summarises the rest, with the median in each period and a band from 10% to 90%. Group columns that are neither `x` nor
        in `facet`, including models and classes, become lines; among many the 4 largest and the 2 worst.
    prior
        The reference prior that the report was made with, to name it in the chart: a report has no column of it. It changes no value.
        Default: metrics at it are "at the reference prior".

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "month": [1, 1, 2, 2]})
    >>> chart = ec.plot.trend(log.ec.report("p", "y", by="month", prior=0.2), "nec_at_prior", x="month", prior=0.2)
    >>> chart.title.text
    'Normalised expected cost (NEC) at prior 0.2'
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    facets = [] if facet is None else [facet] if isinstance(facet, str) else list(facet)
    keys = columns_before(report, "n", "ec.report")
    for what, name in (("x", x), *(("facet", name) for name in facets)):
        if name not in keys:
            raise ValueError(
                f"{what}={name!r} is not a group column of the report, which has {', '.join(keys) or 'none'}"
            )
    if x in facets:
        raise ValueError(f"facet={x!r} is also x=: leave it out of facet=")
    _check_metrics(report, metrics)
    words = _titles(metrics, prior)
    groups = report.filter(~is_marked(report, "total"))
    lines = [key for key in keys if key not in (x, *facets)]
    table, axis, left_out = _period_rows(groups, words, x, facets, lines)
    n_periods = table["x"].n_unique()
    most = (MOST_ROWS // max(1, n_periods * len(metrics))) - 1
    if n_periods * len(metrics) > MOST_ROWS:
        raise ValueError(
            f"x={x!r} has {n_periods} periods, more than a chart can show: report on longer ones, such as "
            f"pl.col({x!r}).dt.truncate('1mo')"
        )
    main = metrics[0]
    table, line_selection = _with_rest(table, "group", LINES, main, words[main], most)
    at_most = most // max(1, table["group"].n_unique())
    table, panel_selection = _with_rest(table, "panel", PANELS, main, words[main], at_most)
    ends = reach(table, "y", _naive(metrics))
    drawn, called = _with_neighbours(_with_segments(table, axis)), ", ".join(map(plain, lines))
    chart = _trend_layers(drawn, words, axis, ends, line_selection, called, bool(facets))
    title = heading(
        of_model(_trend_title(words), _one_model(groups, keys)),
        _trend_notes(table, metrics, ends, panel_selection if facets else line_selection, left_out),
        table,
    )
    if not facets:
        return chart.properties(width=2 * SIZE, height=SIZE, title=title)
    order = [*panel_selection.names, *([_rest(panel_selection)] if panel_selection.others else [])]
    header = alt.Header(labelLimit=_TREND_PANEL["width"])
    panel = alt.Facet("panel:N", title=", ".join(map(plain, facets)), sort=order, header=header)
    return chart.properties(**_TREND_PANEL).facet(panel, columns=4).properties(title=title)


def _check_metrics(report: pl.DataFrame, metrics: Sequence[str]) -> None:
    if not metrics:
        raise ValueError("metric=[] names none: pass a column of the report, such as 'nec'")
    for place, metric in enumerate(metrics):
        check_metric(report, metric)
        if metric in metrics[:place]:
            raise ValueError(f"metric= has {metric!r} twice: name each column once")


def _period_rows(
    report: pl.DataFrame, words: Mapping[str, str], x: str, facets: Sequence[str], lines: Sequence[str]
) -> tuple[pl.DataFrame, _PeriodAxis, int]:
    """A row per period, panel, line and metric, by names of our own; the axis; and how many rows have no place on it."""
    # Without rows there are no instants for an axis.
    is_time = report.height > 0 and (isinstance(report.schema[x], pl.Datetime) or report.schema[x] == pl.Date)
    left_out = report[x].null_count() if is_time else 0
    report = report.drop_nulls(x) if is_time else report
    period = report[x]
    periods = period.unique().sort()
    # Periods with equal texts stay separate.
    when = texts(period) if is_time else names(report, [x])
    shared = report.select(
        # For a scale of UTC, so that times are shown as the column has them, wherever the chart is looked at.
        x=clock(period).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ") if is_time else when,
        when=when,
        order=order_of(period),
        panel=names(report, facets),
        group=names(report, lines),
        n="n",
        small=is_marked(report, "small"),
    )
    measures = [
        shared.with_columns(
            numbers(report, metric, "y"),
            numbers(report, f"{metric}_ci_low", "low"),
            numbers(report, f"{metric}_ci_high", "high"),
            numbers(report, metric, "far"),
            measure=pl.lit(title),
        )
        for metric, title in words.items()
    ]
    # On which side a value is infinite: 1 or -1.
    far = pl.when(pl.col("far").is_infinite()).then(pl.col("far").sign()).cast(pl.Int8)
    ticks = clock(periods).dt.epoch("ms").to_list() if is_time else []
    return (
        finite(pl.concat(measures).with_columns(far)),
        _PeriodAxis(plain(x), is_time, time_format(periods) if is_time else "", ticks),
        left_out,
    )


def _with_rest(
    table: pl.DataFrame, column: str, shown: tuple[int, int], metric: str, measure: str, most: int
) -> tuple[pl.DataFrame, Selection]:
    """The table of the largest and the worst names of a column, and as one more name the median and tenths of the others."""
    largest = max(1, min(shown[0], most))
    # Infinite is the worst of all, though no mark can show it.
    y = pl.coalesce(pl.col("far") * math.inf, "y")
    counts = (pl.col("measure") == measure) & ~pl.col("small") & y.is_not_null()
    n = pl.col("n").filter(counts).sum()
    mean = pl.when(n > 0).then((y * pl.col("n")).filter(counts).sum() / n)
    n_worst, badness = max(0, min(shown[1], most - largest)), mean if lower_is_better(metric) else -mean
    selection = select_groups(table, column, largest, n_worst, badness)
    if not selection.others:
        return table, selection
    beside = "group" if column == "panel" else "panel"
    others = table.filter(~pl.col(column).is_in(selection.names))
    together = others.group_by("x", "when", "order", beside, "measure", maintain_order=True).agg(
        pl.lit(_rest(selection)).alias(column),
        pl.col("n").sum(),
        pl.lit(value=False).alias("small"),
        pl.col("y").median(),
        pl.col("y").quantile(0.1, "linear").alias("low"),
        pl.col("y").quantile(0.9, "linear").alias("high"),
        pl.lit(None, dtype=pl.Int8).alias("far"),
    )
    return pl.concat([selection.table, together.select(table.columns)]), selection


def _rest(selection: Selection) -> str:
    return unlike(f"other {selection.others}", selection.names)


def _with_segments(table: pl.DataFrame, axis: _PeriodAxis) -> pl.DataFrame:
    """Number the segments of each line, which is interrupted at periods without rows of the group or of all groups."""
    steps = pl.Series(axis.ticks, dtype=pl.Int64).diff().cast(pl.Float64)
    # Nights and weekends that no log has are as usual as other steps.
    usual = steps.quantile(0.875, "lower")
    after_gap = pl.Series([] if usual is None else (steps > _GAP * usual).arg_true(), dtype=pl.Int64)
    skipped = pl.col("order").diff() > 1
    is_first = skipped | (pl.col("order").is_in(after_gap.implode()) & pl.col("order").diff().is_not_null())
    part = is_first.fill_null(value=False).cum_sum()
    return table.with_columns(part.over("panel", "group", "measure", order_by="order").cast(pl.Int64).alias("part"))


def _with_neighbours(table: pl.DataFrame) -> pl.DataFrame:
    """Mark bounds without neighbours, which a band between points would not show."""
    known = pl.col("low").is_not_null() & pl.col("high").is_not_null()
    line = ("panel", "group", "measure", "part")
    beside = [known.shift(by, fill_value=False).over(line, order_by="order") for by in (1, -1)]
    return table.with_columns(alone=known & ~beside[0] & ~beside[1])


def _trend_layers(
    table: pl.DataFrame,
    words: Mapping[str, str],
    axis: _PeriodAxis,
    ends: Reach,
    line_selection: Selection,
    title: str,
    in_panels: bool,
) -> alt.LayerChart:
    base = alt.Chart()
    x = axis.channel(_TICKS_OF_PANEL if in_panels else _TICKS)
    title_of_y = None if in_panels else _trend_title(words)
    low, high = alt.Y("low:Q", title=title_of_y), alt.Y2("high:Q")
    lines = len(line_selection.names) + (line_selection.others > 0)
    paint = colour(line_selection.names, _rest(line_selection) if line_selection.others else None, title)
    dash: alt.StrokeDash | alt.Value = alt.value([1, 0])
    if len(words) > 1:
        measures = [*words.values()]
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
    layers = [reference_line("y", value) for value in _naive(words)]
    if table["low"].count():
        band = base.mark_area(opacity=BAND, clip=cut_off)
        layers.append(band.encode(x, low, high, color=paint, detail=["measure:N", "part:N"]))
        # Of a layer without rows Vega complains.
        if table["alone"].any():
            alone = base.mark_rule(opacity=2 * BAND, strokeWidth=3, clip=cut_off).encode(x, low, high, color=paint)
            layers.append(alone.transform_filter(alt.datum.alone))
    layers.append(base.mark_line(clip=cut_off).encode(x, up, color=paint, strokeDash=dash, detail="part:N"))
    is_dense = table["x"].n_unique() > _DENSE_TREND
    points = base.mark_point(filled=True, size=9 if is_dense or in_panels else 36, clip=cut_off)
    layers.append(points.encode(x, up, color=paint, opacity=faint_if_small(), tooltip=_tooltip(table)))
    return alt.LayerChart(layer=layers, data=table)


def _tooltip(table: pl.DataFrame) -> list[alt.Tooltip]:
    texts_of = {"Group": "panel", "Line": "group", "Period": "when", "Metric": "measure"}
    shown = {title: name for title, name in texts_of.items() if name == "when" or table[name].n_unique() > 1}
    values = {"Value": "y"} | ({"Lower bound": "low", "Upper bound": "high"} if table["low"].count() else {})
    return tooltips(shown, values)


def _titles(metrics: Sequence[str], prior: Prior) -> dict[str, str]:
    """The title of each metric; of those at the reference prior with the prior, if it is stated."""
    if prior is None:
        return {metric: in_words(metric) for metric in metrics}
    parse_prior(prior)
    if not any(metric.endswith(AT_PRIOR) for metric in metrics):
        raise ValueError(
            f"prior={prior!r} names the reference prior, and no metric is at it: pass metric={metrics[0] + AT_PRIOR!r}, or leave prior= out"
        )
    return {metric: in_words(metric, at_prior(prior)) for metric in metrics}


def _trend_title(words: Mapping[str, str]) -> str:
    bases = dict.fromkeys(metric.removesuffix(AT_PRIOR) for metric in words)
    return next(iter(words.values())) if len(words) == 1 else ", ".join(map(in_words, bases))


def _one_model(table: pl.DataFrame, keys: Sequence[str]) -> str | None:
    """The name of the one model of a report, if it has a column of models."""
    named = table[SCORE].unique().to_list() if SCORE in keys and table.schema[SCORE] == pl.String else []
    return named[0] if len(named) == 1 else None


def _naive(metrics: Iterable[str]) -> list[float]:
    return [*dict.fromkeys(value for metric in metrics if (value := naive_value(metric)) is not None)]


def _trend_notes(
    table: pl.DataFrame, metrics: Sequence[str], ends: Reach, selection: Selection, left_out: int
) -> list[str]:
    notes = [f"Dashed line: the naive system, {value:g}" for value in _naive(metrics)]
    if table["low"].count():
        notes.append("Band: confidence interval of each point")
    if selection.others:
        notes.append(f"{_rest(selection).capitalize()}: median, and the range from the 10th to the 90th percentile")
    if table["small"].any():
        notes.append("Faint: few rows")
    notes += ends.notes
    if left_out:
        notes.append(f"Left out: {left_out} without a period")
    return notes


# The columns of the parts, in their order.
_WORDS = {"mix": "Mix of strata", "prior": "Base rate", "likelihood": "Model (scores within the classes)"}
_SHADES = dict(zip(_WORDS, (COLOURS[2], COLOURS[4], COLOURS[1]), strict=True))
_WHOLE = "difference"
_DRIFT_PANEL = {"width": 200, "height": 120}
_DENSE_DRIFT = 40
# Opacity of bars, so that marks over them stay visible.
_BAR = 0.6


def drift(table: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """Plot the components of the changes from `ec.drift`: bars per period, and the whole change as a point with its confidence interval.

    Components that increase the metric are stacked above 0, and those that decrease it below; the point is their sum.

    Parameters
    ----------
    table
        A collected result of `ec.drift`. Groups, models and metrics become small charts; among many, the 8 largest, and the 4 of the others
        with the largest change for the worse.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"p": [0.9, 0.4, 0.7, 0.1] * 20, "y": [1, 0, 1, 0, 0, 0, 1, 0] * 10, "month": [4] * 4 * 10 + [9] * 40}
    ... )
    >>> chart = ec.plot.drift(log.ec.drift("p", "y", period="month", metrics=["nec"]))
    >>> chart.data["part"].to_list()
    ['Base rate', 'Model (scores within the classes)', 'difference']
    """
    before = columns_before(table, "model", "ec.drift")
    if "likelihood" not in table.columns or not before:
        raise ValueError(
            "the table has no parts of changes, or no periods: pass the result of ec.drift; for differences call ec.plot.compare"
        )
    *keys, period = before
    metrics = table["metric"].unique(maintain_order=True).to_list()
    panels = [*keys, *(name for name in ("model", "metric") if table[name].n_unique() > 1)]
    factors = [factor for factor in _WORDS if factor in table.columns]
    rows = _component_rows(table, period, panels, factors)
    n_periods = rows["x"].n_unique()
    most = MOST_ROWS // (max(1, n_periods) * (len(factors) + 1))
    if not most:
        raise ValueError(
            f"the table has {n_periods} periods, more than a chart can show: take longer ones, such as "
            f"pl.col({period!r}).dt.truncate('1mo')"
        )
    largest = max(1, min(PANELS[0], most))
    last = pl.col("worse").filter(pl.col("part") == _WHOLE, ~pl.col("small")).last()
    selection = select_groups(rows, "panel", largest, max(0, min(PANELS[1], most - largest)), last)
    shown = selection.table.drop("worse")
    what = in_words(metrics[0]) if len(metrics) == 1 else "each metric"
    which = "changed most for the worse" if any(map(direction, metrics)) else "fell most"
    title = heading(
        of_model(f"Change of {what}", table["model"][0] if table["model"].n_unique() == 1 else None),
        [*_drift_notes(shown), *selection.notes(f"of the others those that {which}")],
        shown,
    )
    chart = _drift_layers(shown, factors, plain(period), what, bool(panels))
    if not panels or not selection.names:
        return chart.properties(width=2 * SIZE, height=SIZE, title=title)
    facet = alt.Facet(
        "panel:N",
        title=", ".join(map(plain, panels)),
        sort=selection.names,
        header=alt.Header(labelLimit=_DRIFT_PANEL["width"]),
    )
    facets = chart.properties(**_DRIFT_PANEL).facet(facet, columns=3).properties(title=title)
    # Each of several metrics has its own scale.
    return facets.resolve_scale(y="independent") if len(metrics) > 1 else facets


def _component_rows(table: pl.DataFrame, period: str, panels: list[str], factors: list[str]) -> pl.DataFrame:
    """A row for each component, with the ends of its bar, and one for the whole change, each with its bounds.

    Components that increase the metric are stacked above 0, and those that decrease it below.
    """
    called = table.with_columns(pl.col("metric").map_elements(short, return_dtype=pl.String))
    shared = finite(
        table.select(
            names(table, [period]).alias("x"),
            order_of(table[period]).alias("order"),
            names(called, panels).alias("panel"),
            texts(table["reference"]),
            pl.col("small").fill_null(value=False),
            "n",
            **{f"{name}_{end}": f"{name}_ci_{end}" for name in (_WHOLE, *factors) for end in ("low", "high")},
            **{name: name for name in (_WHOLE, *factors)},
        )
    )
    # Infinite is the worst of all, though no mark can show it.
    signs = pl.Series([1.0 if lower_is_better(metric) else -1.0 for metric in table["metric"]], dtype=pl.Float64)
    shared = shared.with_columns(worse=table["difference"] * signs)
    fixed = ["x", "order", "panel", "reference", "small", "n", "worse"]

    def bars(name: str, words: str, start: pl.Expr) -> pl.DataFrame:
        value = pl.col(name)
        low, high = (pl.col(f"{name}_{end}").alias(end) for end in ("low", "high"))
        part, end = pl.lit(words).alias("part"), (start + value).alias("end")
        return shared.select(*fixed, part, value.alias("y"), start.alias("start"), end, low, high)

    components = []
    for i, factor in enumerate(factors):
        value = pl.col(factor)
        alike = [pl.when(pl.col(other).sign() == value.sign()).then(other).otherwise(0) for other in factors[:i]]
        start = pl.when(value.is_not_null()).then(pl.sum_horizontal(pl.lit(0.0), *alike))
        components.append(bars(factor, _WORDS[factor], start))
    return pl.concat([*components, bars(_WHOLE, _WHOLE, pl.lit(None, dtype=pl.Float64))])


def _drift_notes(rows: pl.DataFrame) -> list[str]:
    notes = [
        common_reference(rows["reference"]) or "Each against its own reference",
        "Point and line: the whole change with its confidence interval. Bars: its parts, which add up to it",
    ]
    if rows.filter(pl.col("part") != _WHOLE)["y"].has_nulls():
        notes.append("No bar: the part is not known")
    if rows["small"].any():
        notes.append("Faint: few rows")
    return notes


def _drift_layers(rows: pl.DataFrame, factors: list[str], period: str, title: str, in_panels: bool) -> alt.LayerChart:
    words = [_WORDS[factor] for factor in factors]
    domain = [*words, _WHOLE]
    shades = [*(_SHADES[factor] for factor in factors), REST]
    legend = alt.Legend(title=None, symbolOpacity=1, orient="bottom", values=words, labelLimit=300)
    paint = alt.Color("part:N", sort=domain, scale=alt.Scale(domain=domain, range=shades), legend=legend)
    is_dense = rows["x"].n_unique() > _DENSE_DRIFT
    axis = alt.Axis(labelAngle=-45, labelOverlap=True, labelLimit=100)
    x = alt.X("x:O", title=period, sort=alt.EncodingSortField("order", op="min"), axis=axis)
    called = None if in_panels else f"Change of {title}"
    start, value, low = (alt.Y(f"{name}:Q", title=called) for name in ("start", "y", "low"))
    numbers = {"Change by it": "y", "Lower bound": "low", "Upper bound": "high"}
    words_of = {"Period": "x", "Reference": "reference", "Part": "part"}
    tooltip = tooltips(({"Group": "panel"} if in_panels else {}) | words_of, numbers, sign="+")
    base, whole_if = alt.Chart(), alt.datum.part == _WHOLE
    bars = base.mark_bar().encode(x, start, alt.Y2("end:Q"), color=paint, opacity=faint_if_small(_BAR), tooltip=tooltip)
    limits = base.mark_rule(color=REST, strokeWidth=1 if is_dense else 2).encode(x, low, alt.Y2("high:Q"))
    point = base.mark_point(filled=True, color=REST, size=12 if is_dense or in_panels else 60)
    points = point.encode(x, value, opacity=faint_if_small(), tooltip=tooltip)
    whole = [layer.transform_filter(whole_if) for layer in (limits.encode(opacity=faint_if_small()), points)]
    layers = [reference_line("y", 0), bars.transform_filter(alt.datum.part != _WHOLE), *whole]
    return alt.LayerChart(layer=layers, data=rows)
