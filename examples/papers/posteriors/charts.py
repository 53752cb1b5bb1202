"""The figures of the paper."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

import polars_ec as ec
from examples.papers.charts import MAIN, OTHER, SIZE, colour, rule, title
from examples.papers.posteriors.figures import (
    BOOTSTRAP_CALIBRATORS,
    DIVERGENCES,
    DRAWS,
    RISK_PRINTED,
    RISK_SYSTEMS,
    WHOLE,
    bars_of_figure_2,
    bars_of_figure_3,
    divergence_curves,
    nbs,
    posteriors,
    rcl,
    risk_log,
)
from examples.papers.posteriors.synthetic import SYSTEMS

_STAR = "M0,-1L0.22,-0.31L0.95,-0.31L0.36,0.12L0.59,0.81L0,0.38L-0.59,0.81L-0.36,0.12L-0.95,-0.31L-0.22,-0.31Z"


def figure_1() -> alt.HConcatChart:
    """Left the Bayes risks, right the same times a (1 - a) / B(2, 2); legends have the normalised scores that are printed."""
    weight = 6 * pl.col("a") * (1 - pl.col("a"))
    curves = {system: _risks(system) for system in RISK_SYSTEMS}
    left, right = (
        {f"{system}, {metric} {RISK_PRINTED[system][k]}": curve for system, curve in curves.items()}
        for k, metric in enumerate(("NCE", "NBS"))
    )
    right = {name: curve.with_columns(risk=pl.col("risk") * weight) for name, curve in right.items()}
    panels = (_risk_panel(left, "Bayes risk"), _risk_panel(right, "Bayes risk times a (1 - a) / B(2, 2)"))
    note = "The area on the left is the cross-entropy in nats, on the right three times the Brier score"
    named = title("Figure 1: Bayes risks over operating points", note)
    return alt.hconcat(*panels, spacing=30, title=named).resolve_scale(color="independent")


def _risks(system: str) -> pl.DataFrame:
    """`a`, `risk`: of a binned sketch, the first operating point in each of 200 steps."""
    sketch = ec.sketch(risk_log(system), "x", "label", score_type="log_odds")
    points = sketch.bayes_risk().select(a="t", risk="bayes_risk").filter(pl.col("a").is_between(0, 1, closed="none"))
    step = (200 * pl.col("a")).floor()
    return points.sort("a").group_by(step.alias("step"), maintain_order=True).first().drop("step")


def _risk_panel(curves: Mapping[str, pl.DataFrame], name: str) -> alt.Chart:
    table = pl.concat(curve.with_columns(system=pl.lit(name)) for name, curve in curves.items())
    legend = {"orient": "top-right", "labelLimit": 200, "fillColor": "white", "symbolType": "stroke"}
    x = alt.X("a:Q", title="a: a miss costs 1 / a, a false alarm 1 / (1 - a)", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("risk:Q", title=name, scale=alt.Scale(domain=[0, 0.7]))
    tooltips = [alt.Tooltip("system:N"), alt.Tooltip("a:Q", format=".3~f"), alt.Tooltip("risk:Q", format=".4~f")]
    chart = alt.Chart(table).mark_line(clip=True).encode(x, y, colour([*curves], "system", **legend), tooltip=tooltips)
    return chart.properties(width=SIZE, height=SIZE)


def figure_2() -> alt.HConcatChart:
    """Two classes: the whole performance on the left, calibration on the right."""
    return _performance("Figure 2: two classes, 399 rows", bars_of_figure_2(), (0, 2), (-30, 105))


def figure_3() -> alt.HConcatChart:
    """Ten classes: the whole performance on the left, calibration on the right."""
    return _performance("Figure 3: ten classes, 1,996 rows", bars_of_figure_3(), (0, 3), (-15, 105))


def _performance(text: str, bars: Any, *axes: tuple[float, float]) -> alt.HConcatChart:
    whole, calibration = (
        {name: bar for name, bar in bars.items() if (name in WHOLE) == left} for left in (True, False)
    )
    panels = (
        _bars("Normalised loss (dashed: naive system)", whole, axes[0]) + rule(alt.Y("y:Q"), [1]),
        _bars("RCL and calibration error (%)", calibration, axes[1]),
    )
    return alt.hconcat(*panels, spacing=30, title=title(text, "Bars that reach beyond the axis are cut off"))


def figure_5() -> alt.HConcatChart:
    """The Brier score and calibration losses of four systems, with bootstrap intervals."""
    brier = {"NBS": {system: nbs(system, DRAWS) for system in SYSTEMS}}
    losses = {name: {system: rcl(system, name, DRAWS) for system in SYSTEMS} for name in BOOTSTRAP_CALIBRATORS}
    panels = (_bars("Normalised Brier score", brier, (0, 2)), _bars("RCL (%)", losses, (-80, 100)))
    named = title("Figure 5: 399 rows, and 95 % limits of 100 bootstraps", "Calibrators are trained anew in each")
    return alt.hconcat(*panels, spacing=30, title=named)


def _bars(name: str, bars: Mapping[str, Mapping[str, Any]], axis: tuple[float, float]) -> alt.LayerChart:
    """Bars of systems side by side, with limits where a number has them, cut off at the ends of the axis."""
    rows = [
        (metric, system, *(found if isinstance(found, tuple) else (found, None, None)))
        for metric, of_systems in bars.items()
        for system, found in of_systems.items()
    ]
    schema = {"metric": pl.String, "system": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        shown=pl.col("value").clip(*axis), base=pl.lit(max(0.0, axis[0]))
    )
    base = alt.Chart(table).encode(
        x=alt.X("metric:N", sort=None, title="Metric", axis=alt.Axis(labelAngle=-40, labelLimit=200)),
        xOffset=alt.XOffset("system:N", sort=list(SYSTEMS)),
    )
    chart = base.mark_bar().encode(
        alt.Y("shown:Q", title=name, scale=alt.Scale(domain=axis, nice=False)),
        alt.Y2("base:Q"),
        colour(SYSTEMS, "system", title="System", orient="top"),
        tooltip=["metric:N", "system:N", alt.Tooltip("value:Q", format=".4~g")],
    )
    limits = base.mark_rule(clip=True, color="#333333", strokeWidth=1.5).encode(alt.Y("low:Q"), alt.Y2("high:Q"))
    layers = [chart, limits] if table["low"].count() else [chart]
    return alt.layer(*layers).properties(width=13 * (len(SYSTEMS) + 1) * len(bars), height=240)


def figure_4() -> alt.HConcatChart:
    """A panel for each divergence, with a star at the mean of s."""
    mean = float(posteriors().mean())
    panels = []
    for name in DIVERGENCES:
        curve = divergence_curves().select("q01", divergence=name)
        low, high = curve["divergence"].min(), curve["divergence"].max()
        room = 0.06 * (high - low)
        x = alt.X("q01:Q", title="q01, posterior of the first class", scale=alt.Scale(domain=[0, 1]))
        scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
        y = alt.Y("divergence:Q", title="Expected divergence", scale=scale)
        star = alt.Chart(pl.DataFrame({"q01": [mean], "divergence": [low]}))
        star = star.mark_point(shape=_STAR, size=130, filled=True, color=OTHER, opacity=1)
        panel = alt.Chart(curve).mark_line(color=MAIN).encode(x, y) + star.encode(x, y)
        panels.append(panel.properties(width=190, height=190, title=alt.Title(name, anchor="middle")))
    note = f"Star: the mean of s, {mean:.3f}; score divergences are least there, absolute distances are not"
    named = title("Figure 4: expected divergence of posteriors s from a fixed vector", note)
    return alt.hconcat(*panels, spacing=25, title=named)
