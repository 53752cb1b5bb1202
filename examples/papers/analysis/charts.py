"""The figures of the paper."""

import altair as alt
import polars as pl

from examples.papers.analysis.hard_decisions import BALANCED, IMBALANCED, PAIRS, grid
from examples.papers.analysis.simulated_systems import METRICS, best_of_grid, over_thresholds
from examples.papers.charts import COLOURS, MAIN, REST, rule

_SIZE = 200
_PLAIN = {
    "NEC_b": "NEC, uniform priors",
    "NEC b²=1": "NEC, data priors, β² = 1",
    "NEC b²=2": "NEC, data priors, β² = 2",
    "F1": "F1",
    "MCC": "MCC",
    "1 - F1": "1 − F1",
}


def figure_2() -> alt.VConcatChart:
    """Each pair of metrics as a column of small charts, each set of systems as a row; NEC is cut off at 2, as in the paper."""
    return alt.vconcat(
        *(
            alt.hconcat(*(_scatter(title, grid(totals), *pair) for pair in PAIRS))
            for title, totals in (("P1 = 0.5", BALANCED), ("P1 = 0.9", IMBALANCED))
        )
    )


def _scatter(title: str, systems: pl.DataFrame, x: str, y: str) -> alt.LayerChart:
    known = systems.drop_nulls([x, y]).filter(pl.col(x) <= 2 + 1e-9)
    points = known.select(x=pl.col(x).round(4), y=pl.col(y).round(4)).unique().sort("x", "y")
    # A line that breaks after each point draws dots: as marks of their own they would be half a megabyte of SVG.
    breaks = points.select("x", y=pl.lit(None, pl.Float64))
    broken = pl.concat([part.with_row_index("order") for part in (points, breaks)]).sort("order", maintain_order=True)
    dots = alt.Chart(broken).mark_line(strokeCap="round", strokeWidth=3.7, color=MAIN)
    dots = dots.encode(
        alt.X("x:Q", title=_PLAIN[x], scale=alt.Scale(domain=[0, 2])),
        alt.Y("y:Q", title=_PLAIN[y], scale=alt.Scale(domain=[-1, 1] if y == "MCC" else [0, 1])),
        order="order:Q",
    )
    return (dots + rule(alt.X("x:Q"), [1.0])).properties(width=_SIZE, height=_SIZE, title=title)


def figure_3() -> alt.HConcatChart:
    """Metrics over the threshold; the best ones dotted, Bayes thresholds dashed, in the colour of the metric."""
    names = [_PLAIN[metric.name] for metric in METRICS]
    paint = alt.Color("metric:N", title=None, scale=alt.Scale(domain=names, range=[*COLOURS[:3], REST]), sort=names)
    dashes = alt.Scale(domain=["best", "Bayes"], range=[[1, 3], [6, 4]])
    scale = alt.Scale(domain=[-1, 3], nice=False)
    x = alt.X("threshold:Q", title="Decision threshold on the log-likelihood ratio", scale=scale)
    y = alt.Y("value:Q", title="Metric", scale=alt.Scale(domain=[0, 1.4]))
    charts = []
    for title, system in (("Miscalibrated (LR-mc1)", "mc1"), ("Calibrated (LR-cal)", "cal")):
        # Every second threshold: half a pixel apart.
        curves = over_thresholds(system).gather_every(2).unpivot(index="threshold", variable_name="metric")
        marks = [(_PLAIN[name], "best", at) for name, (at, _) in best_of_grid(system).items()]
        marks += [(_PLAIN[metric.name], "Bayes", metric.bayes) for metric in METRICS if metric.bayes is not None]
        rules = alt.Chart(pl.DataFrame(marks, schema=["metric", "kind", "threshold"], orient="row"))
        chart = alt.Chart(curves.with_columns(pl.col("metric").replace_strict(_PLAIN))).mark_line(clip=True)
        chart = chart.encode(x, y, paint) + rules.mark_rule(strokeWidth=1.5).encode(
            x, paint, alt.StrokeDash("kind:N", title="Threshold", scale=dashes)
        )
        charts.append(chart.properties(width=1.6 * _SIZE, height=1.4 * _SIZE, title=title))
    return alt.hconcat(*charts)
