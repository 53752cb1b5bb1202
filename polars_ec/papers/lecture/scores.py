"""Simulated scores, for the lecture's figures, whose data are not at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.simulated import gaussian_classes, labels

COUNTS, MEANS = (4_000, 2_000), ((0.0,), (2.0,))
PRIOR_LOG_ODDS = [x / 4 for x in range(-16, 17)]
"""Of the Bayes error plots."""


@dataclass(frozen=True)
class Application:
    """A working point: the prior of H_T, and what a miss and a false alarm cost."""

    prior: float
    cost_fn: float
    cost_fp: float

    def __str__(self) -> str:
        return f"({self.prior:g}, {self.cost_fn:g}, {self.cost_fp:g})"

    @property
    def threshold(self) -> float:
        """The LLR from which on H_T costs less."""
        return math.log((1 - self.prior) * self.cost_fp / (self.prior * self.cost_fn))

    def cost(self, p_fn: float, p_fp: float) -> float:
        """Of these error rates, before it is normalised."""
        return self.prior * self.cost_fn * p_fn + (1 - self.prior) * self.cost_fp * p_fp


def application(point: Application) -> Any:
    """The keywords of a metric of LLRs."""
    return {"prior": point.prior, "cost_fn": point.cost_fn, "cost_fp": point.cost_fp, "score_type": "llr"}


@cache
def simulated() -> pl.DataFrame:
    """6,000 rows of two normal classes of variance 1, every other one for calibration.

    `llr` is exact; `margin` is too sure by a factor of 2 and too high by 2, as scores are that nobody has calibrated.
    """
    x = gaussian_classes(COUNTS, MEANS, 1.0)[:, 0]
    log = pl.DataFrame({"x": x, "llr": 2 * x - 2, "label": labels(COUNTS)})
    return log.with_columns(margin=2 * pl.col("llr") + 2, trains=pl.int_range(pl.len()) % 2 == 1)


@cache
def training() -> pl.DataFrame:
    """The 3,000 rows that calibrators are fitted to."""
    return simulated().filter("trains")


@cache
def evaluated() -> pl.DataFrame:
    """The other 3,000 rows, and `calibrated`: LLRs that prior-weighted logistic regression makes of the margins."""
    log = simulated().filter(~pl.col("trains"))
    calibration = ec.calibrate(training(), "margin", "label", score_type="raw", prior=0.5)
    return log.with_columns(posterior=calibration.apply("margin")).with_columns(calibrated=ec.llr("posterior", 0.5))


@cache
def sketch(score: str) -> ec.Sketch:
    """One of the scores as LLRs, with the Bayes threshold of each prior of the Bayes error plots."""
    thresholds = [-x for x in PRIOR_LOG_ODDS]
    return ec.sketch(evaluated(), score, "label", score_type="llr", thresholds=thresholds, exact=True)


def wrong_rates(score: str, threshold: float) -> tuple[float, float]:
    """P_fn and P_fp in `evaluated` of deciding for H_T from a threshold on."""
    s, of_t = evaluated()[score].to_numpy(), evaluated()["label"].to_numpy() == 1
    return float(np.mean(s[of_t] < threshold)), float(np.mean(s[~of_t] >= threshold))
