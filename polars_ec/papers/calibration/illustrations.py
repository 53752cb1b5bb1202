"""Figures 2 and 3: curves of one model at two priors, and a threshold among instances of which half of the positives go."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.calibration.logs import area
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation

if TYPE_CHECKING:
    from altair import FacetChart, LayerChart, VConcatChart

ROWS, PRIOR, DISTANCE = 300_000, 0.003, 3.0
_MOVES = {
    PRIOR: {"auc_roc": 0.006, "average_precision": 0.053},
    0.5: {"auc_roc": 0.006, "average_precision": 0.007},
}
"""What chance moves areas by, from one such log to the next."""

INSTANCES = "111101101001000010001000000000"
"""Labels from the highest score to the lowest."""
POSITIVE = 8
"""How many of them are decided positive."""


@cache
def _sketches() -> dict[float, ec.Sketch]:
    """By prior: an extremely imbalanced log, and a balanced sample of it, all positives and as many negatives."""
    generator = np.random.RandomState(0)
    label = np.arange(ROWS) < ROWS * PRIOR
    llr = DISTANCE * (DISTANCE * (label - 0.5) + generator.standard_normal(ROWS))
    log = pl.DataFrame({"label": label, "llr": llr})
    return {
        PRIOR: ec.sketch(log, "llr", "label", score_type="llr"),
        0.5: ec.sketch(log.head(2 * label.sum()), "llr", "label", score_type="llr"),
    }


def figure_2() -> Table:
    """The three areas at both priors."""
    rows: list[tuple[str, list[Number | None]]] = []
    expected = {"auc_roc": NormalDist().cdf(DISTANCE / math.sqrt(2))}
    for prior, sketch in _sketches().items():
        expected["average_precision"] = area(prior, DISTANCE)
        found = sketch.evaluate(*expected, "auprg").row(0, named=True)
        cells: list[Number | None] = []
        for metric, value in expected.items():
            cells.append(by_equation(found[metric], value, within=_MOVES[prior][metric]))
        gain = found["auprg"]
        cells.append(between(gain, 0.98, 1, "close to 1") if prior == PRIOR else alone(gain))
        rows.append((f"prior {prior:g}", cells))
    return Table(
        ["AUC-ROC", "AUC-PR", "AUC-PR gain"],
        rows,
        notes=[
            "The paper's log is not public: normal features with means 3 apart, held against the areas of these; allowed: three standard deviations "
            "over 20 draws, which are 0.002 for AUC-ROC, 0.017 and 0.002 for AUC-PR.",
        ],
    )


def draw_figure_2() -> VConcatChart:
    """Three curves, of the imbalanced log above, of the balanced sample below."""
    import altair as alt

    rows = []
    for prior, sketch in _sketches().items():
        charts = (ec.plot.roc(sketch, interval=None), ec.plot.pr(sketch, interval=None), ec.plot.prg(sketch))
        rows.append(alt.hconcat(*charts, title=f"Share of positives {prior:g}"))
    return alt.vconcat(*rows)


def _instances() -> dict[str, pl.DataFrame]:
    """All instances by rank, and those that are left without every second positive."""
    every = pl.DataFrame({"label": [int(label) for label in INSTANCES]}).with_row_index("rank")
    every = every.with_columns(decided=(pl.col("rank") < POSITIVE).cast(pl.Int8))
    second = (pl.col("label") == 1) & (pl.col("label").cum_sum() % 2 == 0)
    return {"(i) all instances": every, "(ii) half of the positives removed": every.filter(~second)}


def figure_3() -> Table:
    """Ratios of both; and the precision of each at the prior of the first."""
    prior = INSTANCES.count("1") / len(INSTANCES)
    rows = []
    for name, frame in _instances().items():
        label, decided = frame["label"].to_numpy() == 1, frame["decided"].to_numpy() == 1
        tpr, fpr = float(decided[label].mean()), float(decided[~label].mean())
        expected = {
            ec.recall: tpr,
            ec.fpr: fpr,
            ec.precision: float(label[decided].mean()),
        }
        cells = [
            by_equation(frame.select(metric("decided", "label", score_type="decision")).item(), value)
            for metric, value in expected.items()
        ]
        calibrated = frame.select(ec.precision("decided", "label", score_type="decision", prior=prior)).item()
        cells.append(by_equation(calibrated, tpr / (tpr + (1 - prior) / prior * fpr)))
        rows.append((name, cells))
    return Table(["recall", "FPR", "precision", f"precision at {prior:.3f}"], rows)


def draw_figure_3() -> VConcatChart:
    """Instances as dots from the highest score to the lowest, the threshold between two of them."""
    import altair as alt

    return alt.vconcat(*(_dots(name, frame) for name, frame in _instances().items()))


def _dots(name: str, frame: pl.DataFrame) -> LayerChart | FacetChart:
    import altair as alt

    from polars_ec.plotting.theme import DASHES, MAIN, OTHER

    ratios = {"precision": ec.precision, "recall": ec.recall, "false-positive rate": ec.fpr}
    told = ", ".join(
        f"{ratio} {frame.select(metric('decided', 'label', score_type='decision')).item():.2f}"
        for ratio, metric in ratios.items()
    )
    table = frame.with_columns(
        kind=pl.when(pl.col("label") == 1).then(pl.lit("positive")).otherwise(pl.lit("negative"))
    )
    colours = alt.Scale(domain=["positive", "negative"], range=[OTHER, MAIN])
    place = alt.X(
        "rank:Q",
        title="instances, the highest score first",
        scale=alt.Scale(domain=[-1, len(INSTANCES)], nice=False),
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    dots = alt.Chart(table, width=620, height=50).mark_circle(size=160, opacity=1)
    threshold = alt.Chart(pl.DataFrame({"rank": [POSITIVE - 0.5]})).mark_rule(strokeDash=DASHES, size=2)
    title = alt.TitleParams(name, subtitle=f"left of the threshold decided positive: {told}", anchor="start")
    colour = alt.Color("kind:N", title=None, scale=colours)
    return alt.layer(dots.encode(x=place, color=colour), threshold.encode(x="rank:Q")).properties(title=title)
