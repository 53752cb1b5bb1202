"""The lecture's figures, of simulated scores: its own are not at hand."""

import altair as alt
import polars as pl

import polars_ec as ec
from examples.papers.charts import SIZE, colour, rule, title
from examples.papers.lecture.decisions import PRIOR_LOG_ODDS, evaluated, sketch

_CLASSES = {0: "Class H_F", 1: "Class H_T"}
_AXES = {
    "llr": ("Log-likelihood ratio", -10.0, 8.0),
    "margin": ("Score, not calibrated", -18.0, 18.0),
    "calibrated": ("Calibrated score", -10.0, 8.0),
}
_TITLES = {"margin": "Non calibrated scores", "calibrated": "Calibrated scores"}
_BARS = 36


def score_thresholding() -> alt.LayerChart:
    """Densities of the scores of both classes, and a threshold."""
    return _histogram("llr", "Scores and a threshold")


def error_rates_by_threshold() -> alt.LayerChart:
    """Both error rates over the threshold."""
    names = {"fpr": "False positive rate", "fnr": "False negative rate"}
    curve = sketch("llr").cost_curve(*names).sort("threshold").rename(names)
    steps = pl.DataFrame({"threshold": [x / 10 for x in range(-60, 61)]}).join_asof(curve, on="threshold")
    rates = steps.select("threshold", *names.values())
    long = rates.unpivot(index="threshold", variable_name="group", value_name="rate")
    eer = evaluated().select(ec.eer("llr", "label", method="linear", score_type="llr")).item()
    x = alt.X("threshold:Q", title="Threshold on the log-likelihood ratio", sort=None)
    y = alt.Y("rate:Q", title="Error rate", scale=alt.Scale(domain=[0, 1]))
    chart = rule(y, [eer]) + alt.Chart(long).mark_line().encode(x, y, colour([*names.values()]))
    named = title("Error rates over thresholds", f"Dashed: the equal error rate, {eer:.3f}")
    return chart.properties(width=SIZE, height=SIZE, title=named)


def roc() -> alt.LayerChart:
    """ROC curve of the LLRs."""
    return ec.plot.roc(sketch("llr"))


def det() -> alt.LayerChart:
    """DET curve of the LLRs."""
    return ec.plot.det(sketch("llr"))


def bayes_error_plot() -> alt.VConcatChart:
    """Scores of both classes and their Bayes error plot, before and after calibration."""
    rows = (
        alt.hconcat(_histogram(score, text), ec.plot.bayes_error(sketch(score), PRIOR_LOG_ODDS))
        for score, text in _TITLES.items()
    )
    return alt.vconcat(*rows)


def tippett() -> alt.HConcatChart:
    """Tippett plots before and after calibration."""
    charts = [ec.plot.tippett(sketch(score)) for score in _TITLES]
    for chart, text in zip(charts, _TITLES.values(), strict=True):
        chart.title.text = f"Tippett plot: {text[0].lower()}{text[1:]}"
    return alt.hconcat(*charts)


def _histogram(score: str, text: str) -> alt.LayerChart:
    name, low, high = _AXES[score]
    width = (high - low) / _BARS
    place = ((pl.col(score) - low) / width).floor()
    counts = evaluated().group_by("label", place=place).len().sort("label", "place")
    bars = counts.select(
        group=pl.col("label").replace_strict(_CLASSES, return_dtype=pl.String),
        start=low + width * pl.col("place"),
        end=low + width * (pl.col("place") + 1),
        density=pl.col("len") / pl.col("len").sum().over("label") / width,
    )
    x = alt.X("start:Q", title=name, scale=alt.Scale(domain=[low, high], nice=False))
    y = alt.Y("density:Q", title="Density in the class", stack=None, scale=alt.Scale(domainMin=0))
    shapes = alt.Chart(bars).mark_bar(opacity=0.5, clip=True, binSpacing=0)
    shapes = shapes.encode(x, alt.X2("end:Q"), y, alt.Y2Datum(0), colour([*_CLASSES.values()]))
    return (shapes + rule(x, [0.0])).properties(width=SIZE, height=SIZE, title=title(text, "Dashed: the threshold 0"))
