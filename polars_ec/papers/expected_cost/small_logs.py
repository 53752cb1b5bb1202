"""Two small logs, and their counts, rates and priors as the paper writes them, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.simulated import (
    Floats,
    gaussian_classes,
    labels,
    log_likelihoods,
    log_softmax,
    vectors,
)

COSTS = np.array([[0.0, 2.0, 5.0, 1.0], [4.0, 0.0, 3.0, 1.5], [9.0, 2.0, 0.0, 2.5]])
"""c_ij of three classes and four decisions, the last of which is for no class: another matrix than its transpose."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """N_ij, rows true classes and columns decisions, and what the paper makes of them."""

    n: Floats

    @classmethod
    def of(cls, log: pl.DataFrame, decisions: int) -> Counts:
        """Those of the columns `label` and `decision`."""
        n = np.zeros((log["label"].n_unique(), decisions))
        np.add.at(n, (log["label"].to_numpy(), log["decision"].to_numpy()), 1)
        return cls(n)

    @property
    def of_class(self) -> Floats:
        """N_i*."""
        return np.asarray(self.n.sum(axis=1))

    @property
    def of_decision(self) -> Floats:
        """N_*j."""
        return np.asarray(self.n.sum(axis=0))

    @property
    def total(self) -> float:
        """N."""
        return float(self.n.sum())

    @property
    def r(self) -> Floats:
        """R_ij."""
        return np.asarray(self.n / self.of_class[:, None])

    @property
    def p(self) -> Floats:
        """P_i."""
        return self.of_class / self.total


@cache
def three_classes() -> pl.DataFrame:
    """84 rows: `posteriors` and the Bayes decision for `COSTS` as `decision`."""
    counts, means, variance = (42, 28, 14), ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), 0.4
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([0.5, 1 / 3, 1 / 6])
    log = pl.DataFrame({"label": labels(counts), "posteriors": vectors(np.exp(log_softmax(joint)))})
    return log.with_columns(decision=ec.bayes_decision("posteriors", costs=COSTS.tolist()))


@cache
def two_classes() -> pl.DataFrame:
    """90 rows: the `posterior` of class 2, its `log_odds`, and the decision for the likelier class."""
    counts, means, variance = (60, 30), ((0.0,), (1.0,)), 0.5
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([2 / 3, 1 / 3])
    log = pl.DataFrame({"label": labels(counts), "log_odds": joint[:, 1] - joint[:, 0]})
    return log.with_columns(posterior=ec.posterior("log_odds", score_type="log_odds")).with_columns(
        decision=ec.bayes_decision("posterior")
    )


@cache
def three_counts() -> Counts:
    """N_ij of `three_classes`, for its decisions by cost."""
    return Counts.of(three_classes(), 4)


@cache
def two_counts() -> Counts:
    """N_ij of `two_classes`."""
    return Counts.of(two_classes(), 2)


def posteriors_of(log: pl.DataFrame) -> Floats:
    """P(H_i|x), rows by classes."""
    return np.asarray(log["posteriors"].to_numpy())


def integers(column: pl.Series) -> Integers:
    """Classes or decisions, to index with."""
    return np.asarray(column.to_numpy(), dtype=np.int64)
