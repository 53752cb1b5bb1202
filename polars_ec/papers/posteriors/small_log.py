"""A small simulated log, on which equations are evaluated twice: by polars_ec, and as the paper writes them, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.posteriors.synthetic import two_classes as simulated
from polars_ec.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors

COSTS = ec.CostMatrix([[0.0, 1.0, 2.0, 0.4], [1.0, 0.0, 1.0, 0.4], [5.0, 2.0, 0.0, 0.4]])
"""Of three classes and four decisions, of which the last is to abstain."""

C: Floats = np.array(COSTS.values)
"""The same in the paper's notation: c_ij."""


@dataclass(frozen=True)
class SmallLog:
    """The same rows for both sides."""

    frame: pl.DataFrame
    """`q`, posteriors, and `label`."""
    q: Floats
    """Posteriors in the paper's notation, a column per class."""
    h: NDArray[np.int64]
    """Classes, from 0."""

    @property
    def priors(self) -> Floats:
        """The share of each class."""
        shares: Floats = np.bincount(self.h) / len(self.h)
        return shares

    @property
    def log_losses(self) -> Floats:
        """-log q_h of each row."""
        losses: Floats = -np.log(self.q[np.arange(len(self.h)), self.h])
        return losses

    @property
    def brier_losses(self) -> Floats:
        """The squared distance of each row, over K as in Section 2.3.3."""
        losses: Floats = ((self.q - np.eye(self.q.shape[1])[self.h]) ** 2).mean(axis=1)
        return losses


_COUNTS, _VARIANCE = (40, 25, 15), 0.4
_MEANS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@cache
def three_classes() -> SmallLog:
    """80 rows of three classes, with posteriors that are too sure."""
    features = gaussian_classes(_COUNTS, _MEANS, _VARIANCE)
    joint = log_likelihoods(features, _MEANS, _VARIANCE) + np.log(np.array(_COUNTS) / sum(_COUNTS))
    q = np.exp(log_softmax(2 * log_softmax(joint)))
    label = labels(_COUNTS)
    return SmallLog(pl.DataFrame({"q": vectors(q), "label": label}), q, label.to_numpy().astype(np.int64))


@cache
def likelihoods_of_three_classes() -> Floats:
    """Log-likelihoods of the same rows."""
    return log_likelihoods(gaussian_classes(_COUNTS, _MEANS, _VARIANCE), _MEANS, _VARIANCE)


@cache
def two_classes() -> SmallLog:
    """199 rows of two classes, with posteriors at other priors than those of the rows; `q` is the posterior of class 2."""
    made = simulated("mcp", 200)
    frame = made.select(q=ec.posterior("log_odds", score_type="log_odds"), label="label")
    p = frame["q"].to_numpy()
    return SmallLog(frame, np.stack([1 - p, p], axis=1), frame["label"].to_numpy().astype(np.int64))
