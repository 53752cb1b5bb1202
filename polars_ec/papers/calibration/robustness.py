"""Sections 3.2 and 3.3: metrics while the prior falls, and while the classes move together at random priors."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.calibration.logs import CALIBRATED, METRICS, area, drawn, followed
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation, printed

if TYPE_CHECKING:
    from altair import HConcatChart

RUNS = 30
ROWS = 1_000_000
PRIORS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
DIVERGENCES = tuple(k / 10 for k in range(20, 0, -1))
MEANS = (2.0, 1.8)
DISTANCE = 0.2
KINDS = {"": "plain", CALIBRATED: "calibrated to 0.5"}


@cache
def falling_prior() -> pl.DataFrame:
    """Every metric of each run at each prior; the likelihoods stay as they are."""
    generator = np.random.RandomState(0)
    logs = [
        drawn(generator, ROWS, prior, *MEANS).with_columns(prior=pl.lit(prior), run=pl.lit(run))
        for run in range(RUNS)
        for prior in PRIORS
    ]
    return followed(pl.concat(logs), ["prior", "run"])


@cache
def falling_divergence() -> pl.DataFrame:
    """Every metric of each run at each divergence of the classes, at a prior that is drawn anew each time."""
    generator = np.random.RandomState(0)
    logs = [
        drawn(generator, ROWS, generator.uniform(0.001, 0.5), math.sqrt(2 * divergence), 0.0).with_columns(
            divergence=pl.lit(divergence), run=pl.lit(run)
        )
        for run in range(RUNS)
        for divergence in DIVERGENCES
    ]
    return followed(pl.concat(logs), ["divergence", "run"])


def figure_4() -> Table:
    """The two ends of each curve."""
    return Table(
        [f"prior {prior:g}" for prior in (0.5, 0.05, 0.001)],
        [
            ("AUC-PR", _ends("average_precision", "0.549", "0.001")),
            ("AUC-PR, calibrated", _ends("average_precision" + CALIBRATED, "0.549", "0.540")),
            ("best F1", _ends("f1", "0.667", "0.005")),
            ("best F1, calibrated", _ends("f1" + CALIBRATED, "0.667", "0.669")),
            ("AUC-PR gain, median", _ends("auprg", "0.11", "0.42")),
            ("AUC-PR gain, calibrated", _ends("auprg" + CALIBRATED, "0.11", "0.10")),
        ],
        notes=[
            "The paper draws these curves and prints no number; the ones in brackets are of another simulation of its set-up.",
            "Means of 30 logs of a million rows, allowed: three standard deviations of one log, and a rounding.",
            "At a prior of 0.001 the AUC-PR gain is nearly all in the few positives on top: in half of the logs it is outside of 0.1 to 0.6, "
            "so the median is shown, and a quarter allowed.",
            "The paper states no threshold of F1: it is the best one here. Classes are so near to each other that at 0.5 it decides nearly all positive, which has "
            "2 pi0 / (1 + pi0) = 0.667, whatever the model: so steady a number says little.",
        ],
    )


def _ends(metric: str, first: str, last: str) -> list[Number]:
    found = falling_prior()
    cells = []
    for prior, text in ((0.5, first), (0.05, None), (0.001, last)):
        values = found.filter(prior=prior)[metric].to_numpy()
        value = float(np.median(values) if metric == "auprg" else values.mean())
        if text is None:
            cells.append(alone(value))
            continue
        rounding = 0.5 * 10.0 ** -len(text.partition(".")[2])
        within = 0.25 if (metric, prior) == ("auprg", 0.001) else 3 * float(values.std(ddof=1)) + rounding
        cells.append(printed(value, text, within=within))
    return cells


def section_3_2() -> Table:
    """Means of the simulated logs beside the areas under the curves of the normal distributions themselves."""
    rows = []
    for prior in PRIORS:
        values = falling_prior().filter(prior=prior)
        row = []
        for metric, reference in (("average_precision", prior), ("average_precision" + CALIBRATED, 0.5)):
            each = values[metric].to_numpy()
            error = 4 * float(each.std(ddof=1)) / math.sqrt(RUNS)
            row.append(by_equation(float(each.mean()), area(reference, DISTANCE), within=error))
        rows.append((f"prior {prior:g}", row))
    return Table(
        ["AUC-PR", "AUC-PR, calibrated"],
        rows,
        notes=[
            "Held against the area under precision over recall of the two normal distributions; allowed: four standard errors."
        ],
    )


def equation_6() -> Table:
    """AUC-ROC of the two normal classes: the chance that a positive's feature is above a negative's, (mu1 - mu0) / sqrt(2)."""
    rows = []
    for distance in (0.2, 1.0, 2.0):
        log = drawn(np.random.RandomState(0), ROWS, 0.5, distance, 0.0)
        found = ec.sketch(log, "feature", "label", score_type="raw", exact=True, weight="n")
        expected = NormalDist().cdf(distance / math.sqrt(2))
        area = float(found.evaluate("auc_roc")["auc_roc"].item())
        rows.append((f"means {distance:g} apart", [by_equation(area, expected, within=0.002)]))
    return Table(["AUC-ROC"], rows, notes=["A million rows; allowed: four standard errors of an area of 1/2, 0.002."])


def divergence() -> Table:
    """The divergence of the classes is the mean LLR of positives."""
    rows = []
    for distance in (0.2, 1.0, 2.0):
        log = drawn(np.random.RandomState(0), ROWS, 0.5, distance, 0.0).filter("label")
        posterior = 1 / (1 + (-(distance * (pl.col("feature") - distance / 2)) + math.log(0.99 / 0.01)).exp())
        llr = log.select(posterior=posterior).select(ec.llr("posterior", prior=0.01)).to_series()
        mean = float(np.average(llr, weights=log["n"]))
        rows.append((f"means {distance:g} apart", [by_equation(mean, distance**2 / 2, within=0.006 * distance)]))
    return Table(
        ["mean LLR of positives"],
        rows,
        notes=["Posteriors at a prior of 0.01; half a million positives, allowed: four standard errors of the mean."],
    )


def figure_5() -> Table:
    """How often each curve turns back on its way, and its rank correlation with the divergence."""
    single = falling_divergence()
    averaged = single.group_by("divergence").mean().sort("divergence")
    rows = []
    for metric, name in METRICS.items():
        turns, correlation, of_one = _smoothness(averaged, single, metric)
        rows.append(
            (
                name,
                [
                    between(turns, 1, math.inf, "above 0", decimals=0),
                    between(correlation, 0.5, 0.999, "above 0.5, below 1"),
                    between(of_one, 4, math.inf, "above 3", decimals=1),
                ],
            )
        )
        turns, correlation, of_one = _smoothness(averaged, single, metric + CALIBRATED)
        rows.append(
            (
                f"{name}, calibrated",
                [
                    between(turns, 0, 0, "0", decimals=0),
                    between(correlation, 1 - 1e-12, 1 + 1e-12, "1"),
                    between(of_one, 0, 0, "0", decimals=1),
                ],
            )
        )
    return Table(
        ["turns of the mean of 30 runs", "rank correlation with KL", "turns of one run, on average"],
        rows,
        notes=[
            "The paper says in words that calibrated metrics fall smoothly and monotonically and the others do not.",
            f"{len(DIVERGENCES)} divergences from {DIVERGENCES[0]:g} to {DIVERGENCES[-1]:g}; a turn: a step to a smaller one raises the metric.",
        ],
    )


def _smoothness(averaged: pl.DataFrame, single: pl.DataFrame, metric: str) -> tuple[float, float, float]:
    turns = averaged.select((pl.col(metric).diff() < 0).sum()).item()
    correlation = averaged.select(pl.corr("divergence", metric, method="spearman")).item()
    of_runs = single.sort("divergence").group_by("run").agg((pl.col(metric).diff() < 0).sum())
    return float(turns), float(correlation), float(of_runs.select(pl.col(metric).mean()).item())


def _curves(found: pl.DataFrame, x: str, title: str, scale: Literal["log", "linear"]) -> HConcatChart:
    """Means of the runs with their 95 % limits, a small chart for each metric, plain and calibrated."""
    import altair as alt

    from polars_ec.plotting.theme import MAIN, OTHER

    names = {metric + end: (name, kind) for metric, name in METRICS.items() for end, kind in KINDS.items()}
    table = (
        found.drop("run")
        .unpivot(index=x, variable_name="metric")
        .group_by(x, "metric", maintain_order=True)
        .agg(pl.col("value").mean(), error=1.96 * pl.col("value").std() / math.sqrt(RUNS))
        .with_columns(
            low=pl.col("value") - pl.col("error"),
            high=pl.col("value") + pl.col("error"),
            kind=pl.col("metric").replace_strict({key: kind for key, (_, kind) in names.items()}),
            metric=pl.col("metric").replace_strict({key: name for key, (name, _) in names.items()}),
        )
    )
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)
    colour = alt.Color("kind:N", sort=list(KINDS.values()), scale=alt.Scale(range=[MAIN, OTHER]), legend=legend)
    axis = alt.Axis(labelOverlap="greedy", labelSeparation=8)
    charts = []
    for name in METRICS.values():
        across = alt.X(f"{x}:Q", title=title, scale=alt.Scale(type=scale, reverse=True, nice=False), axis=axis)
        base = alt.Chart(table.filter(metric=name), width=220, height=220).encode(x=across, color=colour)
        band = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", title=name), y2="high:Q")
        charts.append(alt.layer(band, base.mark_line(point=True).encode(y="value:Q")))
    return alt.hconcat(*charts)


def draw_figure_4() -> HConcatChart:
    """Metrics as the prior falls."""
    return _curves(falling_prior(), "prior", "share of positives", "log")


def draw_figure_5() -> HConcatChart:
    """Metrics as the classes come together at random priors."""
    return _curves(falling_divergence(), "divergence", "Kullback-Leibler divergence of the classes", "linear")
