"""The paper's simulated logs, a normal feature of each class, and the three metrics that are followed on them.

A feature is rounded to a hundredth, so that a log of a million rows is at most 2,902 counted ones. Their counts are multinomial, as those of
rows are that are drawn one by one. The feature ranks as the optimal model does, for the likelihood ratio rises with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.simulated import Floats

Counts = NDArray[np.int_]

GRID = np.arange(-500, 951) / 100

METRICS = {"average_precision": "AUC-PR", "auprg": "AUC-PR gain", "f1": "best F1"}
"""Names here, and those of the paper."""

CALIBRATED = "_calibrated"


@cache
def shares(mean: float) -> Floats:
    """Of a normal feature of variance 1, at each point of the grid."""
    edges = np.append(GRID, GRID[-1] + 0.01) - 0.005
    between: Floats = np.diff([NormalDist(mean).cdf(edge) for edge in edges])
    whole: Floats = between / between.sum()
    return whole


def drawn(generator: np.random.RandomState, rows: int, prior: float, positive: float, negative: float) -> pl.DataFrame:
    """A log of so many rows, from the share of positives and the means of both classes."""
    positives = generator.binomial(rows, prior)
    return counted(
        generator.multinomial(positives, shares(positive)), generator.multinomial(rows - positives, shares(negative))
    )


def by_row(generator: np.random.RandomState, rows: int, share: float, distance: float) -> pl.DataFrame:
    """A log that is drawn row by row: `label` and `feature`, from the share of positives and the distance of the classes."""
    label = generator.uniform(size=rows) < share
    return pl.DataFrame({"label": label, "feature": distance * label + generator.standard_normal(rows)})


def counted(positives: Counts, negatives: Counts) -> pl.DataFrame:
    """Counts at the points of the grid as `feature`, `label` and `n`."""
    columns = {
        "feature": np.tile(GRID, 2),
        "label": np.repeat([True, False], len(GRID)),
        "n": np.concatenate([positives, negatives]),
    }
    return pl.DataFrame(columns).filter(pl.col("n") > 0)


def followed(log: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The metrics of each group, plain and calibrated to 0.5, from one sketch that keeps all features."""
    sketch = ec.sketch(log, "feature", "label", by=by, score_type="raw", exact=True, weight="n")
    plain, calibrated = (of_sketch(sketch, by, prior) for prior in (None, 0.5))
    return plain.join(calibrated, on=by, suffix=CALIBRATED).sort(by)


def of_sketch(sketch: ec.Sketch, by: Sequence[str], prior: float | pl.Expr | None) -> pl.DataFrame:
    """The two areas, and F1 at the threshold that is best for it, of each group at a reference prior."""
    areas = sketch.evaluate("average_precision", "auprg", prior=prior)
    best = sketch.best_threshold("f1", prior=prior)
    return areas.select(*by, "average_precision", "auprg").join(best.select(*by, "f1"), on=by)


def rates(threshold: float, distance: float) -> tuple[float, float]:
    """The true- and the false-positive rate of normal classes with means `distance` and 0, for features above a threshold."""
    # By erfc, which is not 0 where it is small.
    return math.erfc((threshold - distance) / math.sqrt(2)) / 2, math.erfc(threshold / math.sqrt(2)) / 2


def precision(prior: float, tpr: Any, fpr: Any) -> Any:
    """Of rates, or of arrays of them: prior TPR / (prior TPR + (1 - prior) FPR)."""
    return prior * tpr / (prior * tpr + (1 - prior) * fpr)


def f1(prior: float, tpr: float, fpr: float) -> float:
    """2 prior TPR / (prior TPR + (1 - prior) FPR + prior)."""
    return 2 * prior * tpr / (prior * tpr + (1 - prior) * fpr + prior)


def area(prior: float, distance: float) -> float:
    """AUC-PR of these classes: the integral of precision over recall."""
    tpr, fpr = np.array([rates(threshold, distance) for threshold in GRID]).T
    return float(-np.trapezoid(precision(prior, tpr, fpr), tpr))
