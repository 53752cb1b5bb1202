"""The lecture's figures, of simulated scores: its own are not at hand."""

from __future__ import annotations

import altair as alt
import polars as pl

import polars_ec as ec
from polars_ec.papers.lecture.scores import PRIOR_LOG_ODDS, evaluated, sketch
from polars_ec.plotting.theme import COLOURS, DASHES, REST, SIZE

_LLR = "Log-likelihood ratio"
_CLASSES = {0: "Class H_F", 1: "Class H_T"}
_NAMES = {"llr": _LLR, "margin": "Score, not calibrated", "calibrated": "Calibrated score"}
_ENDS = {"llr": (-10.0, 8.0), "margin": (-18.0, 18.0), "calibrated": (-10.0, 8.0)}
_TITLES = {"margin": "Non calibrated scores", "calibrated": "Calibrated scores"}
_BARS = 36


def score_histogram() -> alt.LayerChart:
    """Densities of the scores of both classes, and a threshold."""
    return _histogram("llr", "Scores and a threshold")


def error_rates() -> alt.LayerChart:
    """Both error rates over the threshold."""
    curve = sketch("llr").cost_curve("fpr", "fnr")
    thresholds = [x / 10 for x in range(-60, 61)]
    names = {"fpr": "False positive rate", "fnr": "False negative rate"}
    steps = pl.DataFrame({"threshold": thresholds}).join_asof(curve.sort("threshold"), on="threshold")
    long = steps.rename(names).unpivot(index="threshold", variable_name="group", value_name="rate")
    eer = evaluated().select(ec.eer("llr", "label", method="linear", score_type="llr")).item()
    x = alt.X("threshold:Q", title="Threshold on the log-likelihood ratio", sort=None)
    y = alt.Y("rate:Q", title="Error rate", scale=alt.Scale(domain=[0, 1]))
    lines = alt.Chart(long).mark_line().encode(x, y, _colour([*names.values()]))
    level = alt.Chart(pl.DataFrame({"rate": [eer]})).mark_rule(strokeDash=DASHES, color=REST).encode(y)
    title = alt.Title(
        "Error rates over thresholds", subtitle=[f"Dashed: the equal error rate, {eer:.3f}"], anchor="start"
    )
    return alt.LayerChart(layer=[level, lines]).properties(width=SIZE, height=SIZE, title=title)


def roc() -> alt.LayerChart:
    """Of the LLRs."""
    return ec.plot.roc(sketch("llr"))


def det() -> alt.LayerChart:
    """Of the LLRs."""
    return ec.plot.det(sketch("llr"))


def bayes_error() -> alt.VConcatChart:
    """Scores of both classes and their Bayes error plot, before and after calibration."""
    rows = [
        alt.HConcatChart(hconcat=[_histogram(score, title), ec.plot.bayes_error(sketch(score), PRIOR_LOG_ODDS)])
        for score, title in _TITLES.items()
    ]
    return alt.VConcatChart(vconcat=rows)


def tippett() -> alt.HConcatChart:
    """Before and after calibration."""
    charts = [ec.plot.tippett(sketch(score)) for score in _TITLES]
    for chart, title in zip(charts, _TITLES.values(), strict=True):
        chart.title.text = f"Tippett plot: {title[0].lower()}{title[1:]}"
    return alt.HConcatChart(hconcat=charts)


def _histogram(score: str, title: str) -> alt.LayerChart:
    low, high = _ENDS[score]
    width = (high - low) / _BARS
    bars = (
        evaluated()
        .group_by("label", place=((pl.col(score) - low) / width).floor())
        .len()
        .with_columns(pl.col("len") / pl.col("len").sum().over("label") / width)
        .select(
            group=pl.col("label").replace_strict(_CLASSES, return_dtype=pl.String),
            start=low + width * pl.col("place"),
            density="len",
        )
        .with_columns(end=pl.col("start") + width)
        .sort("group", "start")
    )
    scale = alt.Scale(domain=[low, high], nice=False)
    shapes = alt.Chart(bars).mark_bar(opacity=0.5, clip=True, binSpacing=0)
    bars_of = shapes.encode(
        alt.X("start:Q", title=_NAMES[score], scale=scale),
        alt.X2("end:Q"),
        alt.Y("density:Q", title="Density in the class", stack=None, scale=alt.Scale(domainMin=0)),
        alt.Y2Datum(0),
        _colour([*_CLASSES.values()]),
    )
    rule = alt.Chart(pl.DataFrame({"start": [0.0]})).mark_rule(strokeDash=DASHES, color=REST)
    return alt.LayerChart(layer=[bars_of, rule.encode(alt.X("start:Q", title=_NAMES[score], scale=scale))]).properties(
        width=SIZE, height=SIZE, title=alt.Title(title, subtitle=["Dashed: the threshold 0"], anchor="start")
    )


def _colour(groups: list[str]) -> alt.Color:
    scale = alt.Scale(domain=groups, range=[*COLOURS[: len(groups)]])
    return alt.Color("group:N", scale=scale, sort=groups, legend=alt.Legend(title=None, orient="bottom"))
