"""Section 4.1: the metric at another prior by formula, and as the mean over logs that are undersampled to that prior."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.calibration.logs import GRID, Counts, counted, shares
from polars_ec.papers.numbers import Table, between, by_equation, printed

if TYPE_CHECKING:
    from altair import FacetChart, LayerChart

POSITIVES, NEGATIVES = 492, 284_315
"""Those of the credit card data, a share of 0.0017 positives."""
DISTANCE = 3.0
RUNS = 200
REFERENCES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


def _counts(generator: np.random.RandomState) -> tuple[Counts, Counts]:
    return (
        generator.multinomial(POSITIVES, shares(DISTANCE)),
        generator.multinomial(NEGATIVES, shares(0.0)),
    )


def _kept(reference: float) -> tuple[int, int]:
    """How many positives and negatives are left at a reference prior: all of one class."""
    positives = min(POSITIVES, round(NEGATIVES * reference / (1 - reference)))
    return positives, min(NEGATIVES, round(positives * (1 - reference) / reference))


def _area(prior: float | None = None) -> pl.Expr:
    return ec.average_precision("feature", "label", score_type="raw", weight="n", prior=prior)


def _closed(counts: tuple[Counts, Counts]) -> dict[float, float]:
    """The calibrated AUC-PR of one log at each reference prior, by formula."""
    log = counted(*counts)
    areas = log.select(_area(reference).alias(str(reference)) for reference in REFERENCES)
    return {reference: areas[str(reference)].item() for reference in REFERENCES}


@cache
def undersampled() -> pl.DataFrame:
    """By reference prior: the formula's value, and mean and standard deviation of the runs' plain AUC-PR.

    The rows of a class are shuffled once in each run, and the first ones are kept, as many as the reference prior asks for.
    """
    generator = np.random.RandomState(0)
    counts = _counts(generator)
    closed = _closed(counts)
    places = [np.repeat(np.arange(len(GRID)), of_class) for of_class in counts]
    logs = []
    for run in range(RUNS):
        shuffled = [generator.permutation(rows) for rows in places]
        for reference in REFERENCES:
            left = [rows[:kept] for rows, kept in zip(shuffled, _kept(reference), strict=True)]
            log = counted(*(np.bincount(rows, minlength=len(GRID)) for rows in left))
            logs.append(log.with_columns(reference=pl.lit(reference), run=pl.lit(run)))
    areas = pl.concat(logs).lazy().group_by("reference", "run").agg(area=_area()).sort("run").collect()
    found = areas.group_by("reference").agg(mean=pl.col("area").mean(), sd=pl.col("area").std())
    return found.sort("reference", descending=True).with_columns(
        closed=pl.col("reference").replace_strict(closed, return_dtype=pl.Float64)
    )


def heuristic() -> Table:
    """The mean of the runs beside the formula."""
    rows = []
    for row in undersampled().iter_rows(named=True):
        error = 4 * row["sd"] / math.sqrt(RUNS)
        rows.append((f"reference {row['reference']:g}", [by_equation(row["mean"], row["closed"], within=error)]))
    return Table(
        ["mean of runs (formula)"],
        rows,
        notes=[f"{RUNS} runs, as rows are drawn at random; allowed: four standard errors of their mean."],
    )


def figure_6() -> Table:
    """Both ways at the two priors of which there are numbers, and how far they are apart at the most."""
    found = undersampled()
    apart = found.select(((pl.col("mean") - pl.col("closed")).abs() / pl.col("sd")).max()).item()
    others = [_closed(_counts(np.random.RandomState(seed))) for seed in range(1, 31)]
    rows = []
    for reference, formula, mean, spread in ((0.5, "0.9815", "0.9819", 0.0023), (0.01, "0.680", "0.684", 0.004)):
        row = found.row(by_predicate=pl.col("reference") == reference, named=True)
        within = 3 * float(np.std([log[reference] for log in others], ddof=1))
        cells = [printed(row["closed"], formula, within=within), printed(row["mean"], mean, within=within)]
        low, high = spread / 2.5, spread * 2.5
        rows.append(
            (
                f"reference {reference:g}",
                [*cells, between(row["sd"], low, high, f"{spread:g}"), None],
            )
        )
    rows.append(("largest difference", [None, None, None, between(apart, 0, 0.5, "below 0.5")]))
    return Table(
        ["formula", "mean of runs", "deviation of a run", "difference, in deviations"],
        rows,
        notes=[
            "The credit card data and the paper's model are not at hand. The numbers in brackets are of another simulation, whose reference "
            "priors are not known; here are as many rows and positives as the data have, normal features with means 3 apart, and the two "
            "reference priors at which that comes near. Allowed: three standard deviations from one such log to the next (30 logs); "
            "for that of a run, which is larger the fewer positives there are, a factor of 2.5.",
        ],
    )


def draw_figure_6() -> LayerChart | FacetChart:
    """The mean of the runs with the standard deviation of one, and the formula as dots."""
    import altair as alt

    from polars_ec.plotting.theme import MAIN, OTHER

    table = undersampled().with_columns(low=pl.col("mean") - pl.col("sd"), high=pl.col("mean") + pl.col("sd"))
    across = alt.X(
        "reference:Q",
        title="reference prior",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(labelOverlap="greedy", labelSeparation=8),
    )
    base = alt.Chart(table, width=320, height=320).encode(x=across)
    names = ["undersampling: mean and standard deviation of a run", "formula"]
    colours = alt.Scale(domain=names, range=[OTHER, MAIN])
    legend = alt.Legend(
        labelLimit=0, orient="top", columns=1, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1
    )
    colour = alt.Color("kind:N", title=None, scale=colours, legend=legend)
    runs = base.transform_calculate(kind=f"'{names[0]}'")
    band = runs.mark_area(opacity=0.25).encode(
        y=alt.Y("low:Q", title="AUC-PR at the reference prior"), y2="high:Q", color=colour
    )
    line = runs.mark_line().encode(y="mean:Q", color=colour)
    dots = base.transform_calculate(kind=f"'{names[1]}'").mark_point(filled=True, size=60, opacity=1)
    return alt.layer(band, line, dots.encode(y="closed:Q", color=colour))
