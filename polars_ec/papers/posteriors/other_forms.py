"""What the text mentions in passing: what no function of posteriors adds (footnote 6), the ends of scoring rules, and other forms of ECE."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Table, between, by_equation
from polars_ec.papers.posteriors.small_log import two_classes
from polars_ec.papers.posteriors.synthetic import two_classes as simulated
from polars_ec.papers.simulated import vectors
from polars_ec.papers.small import Pairs, column, side_by_side
from polars_ec.papers.written_out import BINS, bins_of, mean_of_bin

_STEPS = 4
"""Of a posterior that has lost what is between them."""


def data_processing() -> Table:
    """Footnote 6: the information about the class, in percent of its entropy, of posteriors, of a rising function of them, and of steps."""
    frame = simulated("cal", 2_000).with_columns(
        scaled=5 * pl.col("log_odds"),
        steps=(_STEPS * ec.posterior("log_odds", score_type="log_odds")).ceil(),
    )
    found = {}
    for score in ("log_odds", "scaled", "steps"):
        # PAV has the least cross-entropy of all rising functions of a score.
        fitted = ec.sketch(frame, score, "label", score_type="log_odds", exact=True).calibrate("pav")
        found[score] = 100 * (1 - frame.select(ec.nce(fitted.apply(score), "label")).item())
    share = frame.group_by("steps").agg(n=pl.len(), p=pl.col("label").mean())
    n, p = share["n"].to_numpy(), share["p"].to_numpy()
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    prior = frame["label"].to_numpy().mean()
    of_prior = -(prior * math.log(prior) + (1 - prior) * math.log(1 - prior))
    return column(
        {
            "posteriors": between(found["log_odds"], found["steps"], 100, "above that of steps"),
            "log odds times 5": by_equation(found["scaled"], found["log_odds"]),
            f"posteriors in {_STEPS} steps": by_equation(
                found["steps"], 100 * (1 - float(n @ entropy) / (n.sum() * of_prior))
            ),
        },
        f"By PAV on {frame.height:,} rows of cal; of steps beside the entropies of the classes in each step.",
    )


def ends_of_rules() -> Table:
    """Section 3.1: what a posterior of 0 of the true class costs."""
    log = pl.DataFrame({"label": [0], "two": [1.0], "ten": vectors(np.eye(10)[1:2])})
    brier, of_ten, log_loss = log.select(
        ec.row_brier("two", "label").alias("two"),
        ec.row_brier("ten", "label").alias("ten"),
        ec.row_log_loss("two", "label").alias("log"),
    ).row(0)
    return column(
        {
            "Brier loss, two classes": by_equation(brier, 1.0),
            "Brier loss, ten classes, 2 / K": by_equation(of_ten, 0.2),
            "log loss": between(log_loss, math.inf, math.inf, "infinite"),
        }
    )


def other_errors() -> Table:
    """Section 2.5.2: ECE by squares, which is the expected divergence of the Brier loss, and of bins with equally many rows."""
    log = two_classes()
    p, place = log.q[:, 1], bins_of(log.q[:, 1])
    calibrated = ec.sketch(log.frame, "q", "label", exact=True).calibrate("histogram", bins=BINS).apply("q")
    frame = log.frame.with_columns(s=calibrated, mean=mean_of_bin(p))
    squares, mass, divergence = frame.select(
        ec.ece("q", "label", bins=BINS, norm=2).pow(2).alias("squares"),
        ec.ece("q", "label", bins=BINS, equal_mass=True).alias("mass"),
        ec.expected_score_divergence("mean", "s", rule="brier").alias("divergence"),
    ).row(0)
    by_hand = sum(
        np.sum(place == b) / len(p) * (log.h[place == b].mean() - p[place == b].mean()) ** 2 for b in np.unique(place)
    )
    rank = np.empty(len(p), dtype=np.int64)
    rank[np.argsort(p)] = np.arange(1, len(p) + 1)
    excess = np.bincount(-(-rank * BINS // len(p)), p - log.h)
    pairs: Pairs = {
        "ECE of squares, 15 bins": (squares, by_hand),
        "expected divergence, Brier loss, of the bins' means": (divergence, by_hand),
        "ECE, 15 bins of equal mass": (mass, np.abs(excess).sum() / len(p)),
    }
    return side_by_side(pairs)
