"""Figures 1 and 2: metrics over the threshold, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

import polars_ec as ec
from polars_ec.papers.expected_cost.two_thresholds import (
    COSTS_OF_A_MISS,
    EASIER,
    PRIORS,
    VARIANCE,
    over_thresholds,
    same_cost,
    two_gaussians,
)
from polars_ec.plotting.theme import COLOURS, DASHES, REST

_WIDTH, _HEIGHT = 250, 240
_LOG_ODDS = "Log posterior odds"
_THRESHOLD = "Threshold on the log posterior odds"
_BIN = 0.25


def figure_1() -> alt.VConcatChart:
    """Densities of the log odds; F1, MCC and NEC over the threshold."""
    curve = over_thresholds(VARIANCE)
    f1, mcc = ([row["threshold"] for row in same_cost(*pair)] for pair in (("not_f1", "nec_1"), ("not_mcc", "nec_4")))
    of_nec = {f"nec_{cost}": f"NEC, c21 = {cost}" for cost in COSTS_OF_A_MISS}
    share = {"share": "Share of class 2"}
    upper = [
        _densities(),
        _lines(curve, {"not_f1": "1 - F1", "nec_1": of_nec["nec_1"], **share}, f1, "F1 and NEC"),
    ]
    lower = [
        _lines(curve, {"not_mcc": "1 - MCC", "nec_4": of_nec["nec_4"], **share}, mcc, "MCC and NEC"),
        _lines(
            curve,
            of_nec,
            [ec.CostMatrix.binary(cost_fn=cost).bayes_log_odds() for cost in COSTS_OF_A_MISS],
            "NEC, Bayes thresholds",
        ),
    ]
    rows = [alt.HConcatChart(hconcat=charts).resolve_scale(color="independent") for charts in (upper, lower)]
    return alt.VConcatChart(vconcat=rows)


def figure_2() -> alt.HConcatChart:
    """F1 and two NEC over the threshold, for two sets of scores."""
    names = {"not_f1": "1 - F1", "nec_1.8": "NEC, c21 = 1.8", "nec_1": "NEC, c21 = 1.0"}
    charts = [
        _lines(over_thresholds(variance), names, [threshold], title, top=top)
        for variance, threshold, title, top in (
            (VARIANCE, -0.6, "Variance 0.20", 1.0),
            (EASIER, 0.0, "Variance 0.06", 0.2),
        )
    ]
    return alt.HConcatChart(hconcat=charts)


def _densities() -> alt.Chart:
    """Of each class, times its prior."""
    log = two_gaussians(VARIANCE)
    place = (pl.col("log_odds") / _BIN).floor() * _BIN
    bars = (
        log.group_by("label", x=place)
        .len()
        .with_columns(density=pl.col("len") / (_BIN * log.height), group=pl.format("Class {}", pl.col("label") + 1))
        .sort("label", "x")
    )
    notes = [f"Each class times its prior, {PRIORS[0]} and {PRIORS[1]}"]
    chart: alt.Chart = (
        alt.Chart(bars.select("x", "density", "group"))
        .mark_line(interpolate="step-after", clip=True)
        .encode(
            alt.X("x:Q", title=_LOG_ODDS, scale=alt.Scale(domain=[-10, 10], nice=False), sort=None),
            alt.Y("density:Q", title="Density"),
            _colour(["Class 1", "Class 2"]),
        )
        .properties(width=_WIDTH, height=_HEIGHT, title=alt.Title("Scores", subtitle=notes, anchor="start"))
    )
    return chart


def _lines(
    curve: pl.DataFrame, names: Mapping[str, str], marks: Sequence[float], title: str, *, top: float = 1.0
) -> alt.LayerChart:
    """Columns over the threshold, with upright lines at some of them."""
    long = (
        curve.select("threshold", *names)
        .rename(names)
        .unpivot(index="threshold", variable_name="group", value_name="value")
        .drop_nulls()
    )
    x = alt.X("threshold:Q", title=_THRESHOLD, scale=alt.Scale(domain=[-6, 6], nice=False), sort=None)
    y = alt.Y("value:Q", title="Metric, or share of rows", scale=alt.Scale(domain=[0, top], nice=False))
    lines = alt.Chart(long).mark_line(clip=True).encode(x, y, _colour([*names.values()]))
    rules = alt.Chart(pl.DataFrame({"threshold": marks})).mark_rule(strokeDash=DASHES, color=REST).encode(x)
    shown = "Dashed: " + ", ".join(f"{mark:.2f}" for mark in marks)
    return alt.LayerChart(layer=[rules, lines]).properties(
        width=_WIDTH, height=_HEIGHT, title=alt.Title(title, subtitle=[shown], anchor="start")
    )


def _colour(groups: list[str]) -> alt.Color:
    scale = alt.Scale(domain=groups, range=[*COLOURS[: len(groups)]])
    return alt.Color("group:N", scale=scale, sort=groups, legend=alt.Legend(title=None, orient="bottom"))
