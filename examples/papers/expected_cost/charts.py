"""Figures 1 and 2: metrics over the threshold."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

import polars_ec as ec
from examples.papers.charts import colour, rule, title
from examples.papers.expected_cost.thresholds import (
    COSTS_OF_A_MISS,
    EASIER,
    PRIORS,
    VARIANCE,
    over_thresholds,
    same_cost,
    two_gaussians,
)

_SHAPE = {"width": 250, "height": 240}
_BIN = 0.25


def figure_1() -> alt.VConcatChart:
    """Densities of the log odds; F1, MCC and NEC over the threshold."""
    f1, mcc = ([row["threshold"] for row in same_cost(*pair)] for pair in (("not_f1", "nec_1"), ("not_mcc", "nec_4")))
    of_nec = {f"nec_{cost}": f"NEC, c21 = {cost}" for cost in COSTS_OF_A_MISS}
    share = {"share": "Share of class 2"}
    bayes = [ec.CostMatrix.binary(cost_fn=cost).bayes_log_odds() for cost in COSTS_OF_A_MISS]
    charts = [
        _densities(),
        _lines(VARIANCE, {"not_f1": "1 - F1", "nec_1": of_nec["nec_1"], **share}, f1, "F1 and NEC"),
        _lines(VARIANCE, {"not_mcc": "1 - MCC", "nec_4": of_nec["nec_4"], **share}, mcc, "MCC and NEC"),
        _lines(VARIANCE, of_nec, bayes, "NEC, Bayes thresholds"),
    ]
    rows = (alt.hconcat(*row).resolve_scale(color="independent") for row in (charts[:2], charts[2:]))
    return alt.vconcat(*rows)


def figure_2() -> alt.HConcatChart:
    """F1 and two NEC over the threshold, for two sets of scores."""
    names = {"not_f1": "1 - F1", "nec_1.8": "NEC, c21 = 1.8", "nec_1": "NEC, c21 = 1.0"}
    return alt.hconcat(
        _lines(VARIANCE, names, [-0.6], "Variance 0.20"), _lines(EASIER, names, [0.0], "Variance 0.06", top=0.2)
    )


def _densities() -> alt.Chart:
    log = two_gaussians(VARIANCE)
    counts = log.group_by("label", x=(pl.col("log_odds") / _BIN).floor() * _BIN).len().sort("label", "x")
    bars = counts.select(
        "x", density=pl.col("len") / (_BIN * log.height), group=pl.format("Class {}", pl.col("label") + 1)
    )
    chart = alt.Chart(bars).mark_line(interpolate="step-after", clip=True)
    return chart.encode(
        alt.X("x:Q", title="Log posterior odds", scale=alt.Scale(domain=[-10, 10], nice=False), sort=None),
        alt.Y("density:Q", title="Density"),
        colour(["Class 1", "Class 2"]),
    ).properties(**_SHAPE, title=title("Scores", f"Each class times its prior, {PRIORS[0]} and {PRIORS[1]}"))


def _lines(
    variance: float, names: Mapping[str, str], marks: Sequence[float], text: str, *, top: float = 1.0
) -> alt.LayerChart:
    curve = over_thresholds(variance).select("threshold", *names).rename(names)
    long = curve.unpivot(index="threshold", variable_name="group").drop_nulls()
    scale = alt.Scale(domain=[-6, 6], nice=False)
    x = alt.X("threshold:Q", title="Threshold on the log posterior odds", scale=scale, sort=None)
    y = alt.Y("value:Q", title="Metric, or share of rows", scale=alt.Scale(domain=[0, top], nice=False))
    chart = rule(x, marks) + alt.Chart(long).mark_line(clip=True).encode(x, y, colour([*names.values()]))
    return chart.properties(**_SHAPE, title=title(text, "Dashed: " + ", ".join(f"{mark:.2f}" for mark in marks)))
