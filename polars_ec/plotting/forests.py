"""Charts of a row per group: values, or differences, with their limits, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import altair as alt
import polars as pl

from polars_ec.plotting.data import finite
from polars_ec.plotting.names import names, plain, texts
from polars_ec.plotting.tables import (
    Cut,
    Reach,
    against,
    check_metric,
    columns_before,
    cut,
    faint_if_small,
    heading,
    is_lower_better,
    numbers,
    of_all_groups,
    of_few_rows,
    reach,
    reference_line,
    tooltips,
)
from polars_ec.plotting.theme import MAIN, OTHER, REST, SIZE
from polars_ec.words import ALL_GROUPS, in_words, naive_value

SHOWN = (20, 10)
"""So many of the largest groups, and of the worst or of those that differ most clearly."""
MOST_PANELS = 12

_ROW = 17
_LABEL = 240
_SIZES = (25, 220)
_WORSE, _BETTER, _SAME, _FEW, _UNKNOWN = "worse", "better", "within noise", "few rows", "no limits"
_VERDICTS = {
    _WORSE: (OTHER, "square"),
    _BETTER: (MAIN, "circle"),
    _SAME: (REST, "diamond"),
    _FEW: (REST, "cross"),
    _UNKNOWN: (REST, "triangle"),
}
_REAL = 0.05
_BESIDE = {"Value": "value", "Value of the reference": "value_reference", "p, adjusted": "p_adjusted"}


def forest(report: pl.DataFrame, metric: str) -> alt.LayerChart:
    """That of `polars_ec.plot.forest`."""
    keys = columns_before(report, "n", "ec.report")
    check_metric(report, metric)
    is_total = of_all_groups(report)
    groups, totals = report.filter(~is_total), report.filter(is_total)
    lower = is_lower_better(metric)
    value = pl.col("x").filter(~pl.col("small")).first()
    of = cut(_rows(groups, names(groups, keys), metric), "group", *SHOWN, value if lower else -value)
    in_order = of.table.sort("x", descending=lower, nulls_last=True, maintain_order=True)
    of_totals = _rows(totals, _names_of_totals(totals, keys, of.names), metric)
    whole = pl.concat(
        [in_order.with_columns(total=pl.lit(value=False)), of_totals.with_columns(total=pl.lit(value=True))]
    )
    table = finite(whole)
    naive = naive_value(metric)
    said = [] if naive is None else [f"Dashed line: the naive system, {naive:g}"]
    if table["low"].count():
        said.append("Bars: confidence limits")
    ends = reach(table, "x", [] if naive is None else [naive])
    said += [*_infinite(whole["x"]), *ends.said, *of.said("the worst of the others")]
    if table["small"].any():
        said.append("Faint: few rows")
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
    limits = {"Lower limit": "low", "Upper limit": "high"} if table["low"].count() else {}
    tooltip = tooltips({"Group": "group"}, {"Value": "x", **limits})
    marks = points.encode(x, y, color=paint, shape=shape, size=size, opacity=faint, tooltip=tooltip)
    lines = [] if naive is None else [reference_line("x", naive)]
    chart = alt.LayerChart(layer=[*lines, bars, marks], data=table)
    return chart.properties(width=SIZE, height=alt.Step(_ROW), title=heading(in_words(metric), said, table))


def _rows(report: pl.DataFrame, called: pl.Series, metric: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": called,
            "x": numbers(report, metric, "x"),
            "low": numbers(report, f"{metric}_ci_low", "low"),
            "high": numbers(report, f"{metric}_ci_high", "high"),
            "n": report["n"],
            "small": of_few_rows(report),
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
    """That of `polars_ec.plot.compare`."""
    keys = columns_before(table, "model", "ec.compare")
    columns_before(table, "difference", "ec.compare")
    if "likelihood" in table.columns:
        raise ValueError("the table is of ec.drift, whose changes have parts: pass it to ec.plot.drift")
    metrics = table["metric"].unique(maintain_order=True).to_list()
    if len(metrics) > MOST_PANELS:
        raise ValueError(
            f"the table has {len(metrics)} metrics, more than a chart can show: filter it, such as by pl.col('metric') == {metrics[0]!r}"
        )
    shown = keys if keys and table["model"].n_unique() < 2 else [*keys, "model"]
    called, title = names(table, shown), ", ".join(map(plain, shown))
    tables = {
        metric: _differences(table.filter(metric=metric), called.filter(table["metric"] == metric), metric)
        for metric in metrics
    }
    all_tables = tables or {"value": _differences(table, called, "value")}
    # One legend for all charts, of what is there.
    legend = [verdict for verdict in _VERDICTS if any(verdict in of.table["verdict"] for of, *_ in tables.values())]
    charts = [_chart(of, ends, said, metric, title, legend) for metric, (of, ends, said) in all_tables.items()]
    return charts[0] if len(charts) == 1 else alt.ConcatChart(concat=charts, columns=2)


def _differences(compared: pl.DataFrame, called: pl.Series, metric: str) -> tuple[Cut, Reach, list[str]]:
    """The rows of one metric, the worst difference above, how far their axis goes, and what is to be said about them."""
    lower, is_best = is_lower_better(metric), _is_against_best(compared)
    differences = compared.select(
        called.alias("group"),
        texts(compared["reference"]),
        *_BESIDE.values(),
        "n",
        pl.col("small").fill_null(value=False),
        x=pl.col("difference").fill_nan(None),
        low="difference_ci_low",
        high="difference_ci_high",
        verdict=_verdict(lower=lower, is_best=is_best),
    )
    width = pl.col("high") - pl.col("low")
    clear = pl.when(~pl.col("small") & (width > 0)).then(pl.col("x").abs() / width).first()
    of = cut(differences, "group", *SHOWN, clear)
    in_order = of.table.sort("x", descending=lower, nulls_last=True, maintain_order=True)
    table = finite(in_order)
    said = [*filter(None, [against(table["reference"])])]
    if is_best:
        said.append("Bars: confidence limits for all groups at once; where they reach 0, the group may be the best")
    elif table["low"].count():
        said.append(f"Bars: confidence limits. Better, worse: adjusted p below {_REAL:g}")
    ends = reach(table, "x", [0.0])
    said += [*_infinite(in_order["x"]), *ends.said, *of.said("those of the others that differ most clearly")]
    return replace(of, table=table), ends, said


def _chart(
    of: Cut, ends: Reach, said: Sequence[str], metric: str, title: str, verdicts: Sequence[str]
) -> alt.LayerChart:
    domain = [*_VERDICTS]
    colours, shapes = ([looks[i] for looks in _VERDICTS.values()] for i in (0, 1))
    legend = alt.Legend(title=None, symbolOpacity=1, values=[*verdicts]) if verdicts else None
    paint = alt.Color("verdict:N", sort=domain, scale=alt.Scale(domain=domain, range=colours), legend=legend)
    shape = alt.Shape("verdict:N", sort=domain, scale=alt.Scale(domain=domain, range=shapes), legend=legend)
    base, y, faint = alt.Chart(), _rows_axis(of.table, title), faint_if_small()
    x, low = (
        alt.X(f"{name}:Q", title=f"Difference in {in_words(metric)}", scale=alt.Scale(padding=8, **ends.scale))
        for name in ("x", "low")
    )
    bars = base.mark_rule(clip=True).encode(low, y, alt.X2("high:Q"), color=paint, opacity=faint)
    points = base.mark_point(filled=True, opacity=1, size=60, clip=bool(ends.scale))
    words = {"Group": "group", "Reference": "reference", "Verdict": "verdict"}
    tooltip = tooltips(words, {"Difference": "x", "Lower limit": "low", "Upper limit": "high", **_BESIDE})
    marks = points.encode(x, y, color=paint, shape=shape, opacity=faint, tooltip=tooltip)
    chart = alt.LayerChart(layer=[reference_line("x", 0), bars, marks], data=of.table)
    return chart.properties(width=SIZE, height=alt.Step(_ROW), title=heading(in_words(metric), said, of.table))


def _is_against_best(compared: pl.DataFrame) -> bool:
    """Whether the limits are of distances to the best group: it is there itself, and its limits begin or end at 0."""
    itself = compared.filter(difference=0.0, p_value=1.0)
    return bool(((itself["difference_ci_low"] == 0) != (itself["difference_ci_high"] == 0)).any())


def _verdict(*, lower: bool, is_best: bool) -> pl.Expr:
    """What is said of a difference, which is nothing where there are few rows."""
    low, high, difference = (pl.col(name) for name in ("difference_ci_low", "difference_ci_high", "difference"))
    # Those for all groups at once are of the best group in truth, which the p-value of the pair is not.
    real = ((low > 0) | (high < 0)) if is_best else (pl.col("p_adjusted") < _REAL).fill_null(value=False)
    is_worse = (difference > 0) if lower else (difference < 0)
    return (
        pl.when(low.is_null() | high.is_null() | difference.is_null())
        .then(pl.lit(_UNKNOWN))
        .when("small")
        .then(pl.lit(_FEW))
        .when(~real)
        .then(pl.lit(_SAME))
        .when(is_worse)
        .then(pl.lit(_WORSE))
        .otherwise(pl.lit(_BETTER))
    )


def _rows_axis(table: pl.DataFrame, title: str) -> alt.Y:
    """The rows in their order; long names are cut to what there is room for, and the tooltip has them whole."""
    return alt.Y("group:N", sort=table["group"].to_list(), title=title or None, axis=alt.Axis(labelLimit=_LABEL))


def _infinite(values: pl.Series) -> list[str]:
    """Where there is no mark, and why."""
    number = values.is_infinite().sum()
    return [f"Without a mark: {number:,} infinite"] if number else []
