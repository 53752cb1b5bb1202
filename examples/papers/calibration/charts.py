"""The figures of the paper."""

import math
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.calibration.ranking import NAMES, balanced, imbalanced
from examples.papers.calibration.simulations import (
    INSTANCES,
    KINDS,
    METRICS,
    POSITIVE,
    RUNS,
    by_month,
    extreme_sketches,
    falling_divergence,
    falling_prior,
    instances,
    undersampled,
)
from examples.papers.charts import MAIN, OTHER, SIZE, title

_STROKES = {"symbolType": "stroke", "symbolStrokeWidth": 3, "symbolOpacity": 1}
_SPARSE = alt.Axis(labelOverlap="greedy", labelSeparation=8)


def figure_1() -> alt.VConcatChart:
    """Both forms of AUC-PR by month with their limits, and below them the share of fraud."""
    found = by_month("average_precision")
    areas = ec.plot.trend(found, ["average_precision", "average_precision_at_prior"], x="month")
    return alt.vconcat(areas, ec.plot.trend(found, "class_prior", x="month"))


def figure_2() -> alt.VConcatChart:
    """Three curves, of the imbalanced log above, of the balanced sample below."""
    rows = []
    for prior, sketch in extreme_sketches().items():
        charts = (ec.plot.roc(sketch, interval=None), ec.plot.pr(sketch, interval=None), ec.plot.prg(sketch))
        rows.append(alt.hconcat(*charts, title=f"Share of positives {prior:g}"))
    return alt.vconcat(*rows)


def figure_3() -> alt.VConcatChart:
    """Instances as dots from the highest score to the lowest, the threshold between two of them."""
    return alt.vconcat(*(_dots(name, frame) for name, frame in instances().items()))


def _dots(name: str, frame: pl.DataFrame) -> alt.LayerChart:
    ratios = {"precision": ec.precision, "recall": ec.recall, "false-positive rate": ec.fpr}
    shown = ", ".join(
        f"{ratio} {frame.select(metric('decided', 'label', score_type='decision')).item():.2f}"
        for ratio, metric in ratios.items()
    )
    kind = pl.when(pl.col("label") == 1).then(pl.lit("positive")).otherwise(pl.lit("negative"))
    x = alt.X(
        "rank:Q",
        title="instances, the highest score first",
        scale=alt.Scale(domain=[-1, len(INSTANCES)], nice=False),
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    shades = alt.Scale(domain=["positive", "negative"], range=[OTHER, MAIN])
    dots = alt.Chart(frame.with_columns(kind=kind), width=620, height=50).mark_circle(size=160, opacity=1)
    dots = dots.encode(x, alt.Color("kind:N", title=None, scale=shades))
    threshold = alt.Chart(pl.DataFrame({"rank": [POSITIVE - 0.5]})).mark_rule(strokeDash=[4, 4], size=2)
    chart = dots + threshold.encode(alt.X("rank:Q"))
    return chart.properties(title=title(name, f"left of the threshold decided positive: {shown}"))


def figure_4() -> alt.HConcatChart:
    """Metrics as the prior falls."""
    return _curves(falling_prior(), "prior", "share of positives", "log")


def figure_5() -> alt.HConcatChart:
    """Metrics as the classes come together at random priors."""
    return _curves(falling_divergence(), "divergence", "Kullback-Leibler divergence of the classes", "linear")


def _curves(found: pl.DataFrame, x: str, name: str, scale: Any) -> alt.HConcatChart:
    """Means of the runs with their 95 % limits, a small chart for each metric, plain and calibrated."""
    value, error = pl.col("value").mean(), 1.96 * pl.col("value").std() / math.sqrt(RUNS)
    long = found.drop("run").unpivot(index=x, variable_name="metric").group_by(x, "metric", maintain_order=True)
    table = long.agg(value, low=value - error, high=value + error)
    shades = alt.Scale(range=[MAIN, OTHER])
    paint = alt.Color("kind:N", sort=[*KINDS.values()], scale=shades, legend=alt.Legend(title=None, **_STROKES))
    across = alt.X(f"{x}:Q", title=name, scale=alt.Scale(type=scale, reverse=True, nice=False), axis=_SPARSE)
    charts = []
    for metric, shown in METRICS.items():
        kinds = {metric + end: kind for end, kind in KINDS.items()}
        of_metric = table.filter(pl.col("metric").is_in(list(kinds)))
        of_metric = of_metric.with_columns(kind=pl.col("metric").replace_strict(kinds), metric=pl.lit(shown))
        base = alt.Chart(of_metric, width=220, height=220).encode(across, paint)
        band = base.mark_area(opacity=0.25).encode(alt.Y("low:Q", title=shown), alt.Y2("high:Q"))
        charts.append(band + base.mark_line(point=True).encode(alt.Y("value:Q")))
    return alt.hconcat(*charts)


def figure_6() -> alt.LayerChart:
    """The mean of the runs with the standard deviation of one, and the formula as dots."""
    table = undersampled().with_columns(low=pl.col("mean") - pl.col("sd"), high=pl.col("mean") + pl.col("sd"))
    names = ["undersampling: mean and standard deviation of a run", "formula"]
    legend = alt.Legend(labelLimit=0, orient="top", columns=1, **_STROKES)
    paint = alt.Color("kind:N", title=None, scale=alt.Scale(domain=names, range=[OTHER, MAIN]), legend=legend)
    scale = alt.Scale(type="log", nice=False)
    base = alt.Chart(table, width=SIZE, height=SIZE)
    base = base.encode(alt.X("reference:Q", title="reference prior", scale=scale, axis=_SPARSE), paint)
    runs, formula = (base.transform_calculate(kind=f"'{name}'") for name in names)
    y = alt.Y("low:Q", title="AUC-PR at the reference prior")
    band = runs.mark_area(opacity=0.25).encode(y, alt.Y2("high:Q"))
    dots = formula.mark_point(filled=True, size=60, opacity=1).encode(alt.Y("closed:Q"))
    return alt.layer(band, runs.mark_line().encode(alt.Y("mean:Q")), dots)


def figure_7() -> alt.HConcatChart:
    """Both matrices."""
    charts = []
    x = alt.X("column:N", sort=list(NAMES), title=None, axis=alt.Axis(labelAngle=-45, labelLimit=0))
    y = alt.Y("row:N", sort=list(NAMES), title=None, axis=alt.Axis(labelLimit=0))
    shades = alt.Scale(domain=[0.4, 1], scheme="blues", clamp=True)
    shade = alt.Color("correlation:Q", title="rank correlation", scale=shades)
    light = alt.condition("datum.correlation > 0.7", alt.value("white"), alt.value("black"))
    for name, found in (("balanced", balanced()), ("imbalanced", imbalanced())):
        cells = {"row": np.repeat(NAMES, len(NAMES)), "column": np.tile(NAMES, len(NAMES))}
        table = pl.DataFrame(cells | {"correlation": found.ravel()})
        base = alt.Chart(table, title=name, width=360, height=360).encode(x, y)
        number = base.mark_text(fontSize=10).encode(text=alt.Text("correlation:Q", format=".2f"), color=light)
        charts.append(base.mark_rect().encode(shade) + number)
    return alt.hconcat(*charts)
