"""Figure 1, and section 5 on monitoring: a simulated log by month, in which the share of fraud falls, and at last fraud looks otherwise."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.calibration.logs import area, by_row, f1, rates
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation

if TYPE_CHECKING:
    from altair import VConcatChart

MADE_FOR = 2.5
"""The distance between classes for which posteriors are right."""
HISTORICAL = 0.01
"""The prior for which they are right, and the reference."""
MONTHS = ((0.02, 2.5), (0.014, 2.5), (0.01, 2.5), (0.007, 2.5), (0.005, 2.5), (0.005, 1.8))
"""The share of positives, and the distance of their feature from that of negatives."""
COST = 5.0
_AREA_MOVES, _F1_MOVES, _PART_MOVES = 0.055, 0.05, 0.06
"""What chance moves AUC-PR, F1 and the part of the likelihood by, from one such log to the next."""


def log(generator: np.random.RandomState, rows: int, share: float, distance: float) -> pl.DataFrame:
    """Labels, and log-odds of a model that does not change, whatever share and distance do."""
    odds = math.log(HISTORICAL / (1 - HISTORICAL)) + MADE_FOR * (pl.col("feature") - MADE_FOR / 2)
    return by_row(generator, rows, share, distance).select("label", score=odds)


def at_bayes(prior: float, distance: float) -> float:
    """F1 of these classes at the Bayes threshold of the model."""
    odds = -math.log(COST) - math.log(HISTORICAL / (1 - HISTORICAL))
    return f1(prior, *rates(odds / MADE_FOR + MADE_FOR / 2, distance))


@cache
def sketch() -> ec.Sketch:
    """100,000 payments a month, reduced to a table of counts in one pass."""
    generator = np.random.RandomState(0)
    logs = [log(generator, 100_000, *at).with_columns(month=pl.lit(month)) for month, at in enumerate(MONTHS, start=1)]
    return ec.sketch(pl.concat(logs), "score", "label", by="month", score_type="log_odds", cost_fn=COST)


def by_month(metric: str) -> pl.DataFrame:
    """A metric of each month with its limits, plain and at the historical prior."""
    names = {metric + end: f"{metric}_at_prior{end}" for end in ("", "_ci_low", "_ci_high")}
    plain, calibrated = (sketch().evaluate(metric, prior=prior, interval=0.95) for prior in (None, HISTORICAL))
    return plain.join(calibrated.select("month", *names).rename(names), on="month").sort("month")


def figure_1() -> Table:
    """AUC-PR falls with the share of fraud; calibrated it falls where fraud looks otherwise."""
    rows: list[tuple[str, list[Number | None]]] = []
    for (_, distance), row in zip(MONTHS, by_month("average_precision").iter_rows(named=True), strict=True):
        share = row["class_prior"]
        cells = [
            by_equation(row["average_precision"], area(share, distance), within=_AREA_MOVES),
            by_equation(row["average_precision_at_prior"], area(HISTORICAL, distance), within=_AREA_MOVES),
        ]
        rows.append((f"month {row['month']}", [alone(share), *cells]))
    return Table(
        ["share of fraud", "AUC-PR", "AUC-PR at 0.01"],
        rows,
        notes=[
            "The paper's log is not public: this one is simulated.",
            f"Held against the areas of its normal classes; allowed: {_AREA_MOVES}, three standard deviations over 20 draws of the log, which are "
            "0.012 to 0.019.",
            CLOSER,
        ],
    )


def monitoring() -> Table:
    """The same of F1, and the part of its change since the first month that the likelihood made."""
    parts = {row["month"]: row for row in sketch().drift("f1", period="month").iter_rows(named=True)}
    rows: list[tuple[str, list[Number | None]]] = []
    for (_, distance), row in zip(MONTHS, by_month("f1").iter_rows(named=True), strict=True):
        share, month = row["class_prior"], row["month"]
        cells = [
            by_equation(row["f1"], at_bayes(share, distance), within=_F1_MOVES),
            by_equation(row["f1_at_prior"], at_bayes(HISTORICAL, distance), within=_F1_MOVES),
        ]
        rows.append((f"month {month}", [alone(share), *cells, _part(parts.get(month), distance)]))
    return Table(
        ["share of fraud", "F1", "F1 at 0.01", "part of the likelihood"],
        rows,
        notes=[
            f"Held against F1 of the normal classes, and the part of the likelihood against 0; allowed: {_F1_MOVES} and {_PART_MOVES}, three "
            "standard deviations over 20 draws of the log, which are 0.009 to 0.017 and 0.014 to 0.020.",
            CLOSER,
        ],
    )


CLOSER = "In month 6 positives come closer to negatives."


def _part(row: dict[str, float] | None, distance: float) -> Number | None:
    if row is None:
        return None
    if distance < MADE_FOR:
        return between(row["likelihood"], -1, -_PART_MOVES, "below 0")
    return between(row["likelihood"], -_PART_MOVES, _PART_MOVES, "none")


def draw_figure_1() -> VConcatChart:
    """Both forms of AUC-PR by month with their limits, and below them the share of fraud."""
    import altair as alt

    found = by_month("average_precision")
    areas = ec.plot.trend(found, ["average_precision", "average_precision_at_prior"], x="month")
    return alt.vconcat(areas, ec.plot.trend(found, "class_prior", x="month"))
