"""The four simulated systems of two classes (Appendix C): calibrated, over-confident, with other priors, and both."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from polars_ec.papers.simulated import gaussian_classes, labels, log_likelihoods, log_softmax, vectors

PRIORS = (0.8, 0.2)
SYSTEMS: dict[str, tuple[float, tuple[float, float]]] = {
    "cal": (1.0, PRIORS),
    "mcs": (5.0, PRIORS),
    "mcp": (1.0, (0.1, 0.9)),
    "mcps": (5.0, (0.1, 0.9)),
}
"""What the log posteriors are multiplied with, and the priors that they are made with."""

MEANS = ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5)))
VARIANCE = 0.15


def class_counts(n: int) -> tuple[int, int]:
    """Cut off, as the paper's run has them: 160 and 39 of 200."""
    return int(0.8 * n), int((1 - 0.8) * n)


def system(name: str, n: int) -> pl.DataFrame:
    """`label`, `score` (log posteriors), the same as `log_odds`, and the `true` log-odds."""
    scale, priors = SYSTEMS[name]
    counts = class_counts(n)
    likelihoods = log_likelihoods(gaussian_classes(counts, MEANS, VARIANCE), MEANS, VARIANCE)
    score = log_softmax(scale * log_softmax(likelihoods + np.log(priors)))
    true = likelihoods + np.log(PRIORS)
    return pl.DataFrame(
        {
            "label": labels(counts),
            "score": vectors(score),
            "log_odds": score[:, 1] - score[:, 0],
            "true": true[:, 1] - true[:, 0],
        }
    )
