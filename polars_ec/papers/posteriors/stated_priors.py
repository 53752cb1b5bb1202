"""Scoring rules with stated priors (Appendix A), and posteriors at other priors (Equation 38)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Table
from polars_ec.papers.posteriors.small_log import likelihoods_of_three_classes, three_classes
from polars_ec.papers.simulated import Floats, vectors
from polars_ec.papers.small import Pairs, side_by_side

_TARGET = (0.2, 0.3, 0.5)


def cross_entropy() -> Table:
    """Equation 36."""
    return _at_both_priors("CE", 8, ec.cross_entropy, three_classes().log_losses)


def brier_score() -> Table:
    """Equation 37."""
    return _at_both_priors("BS", 9, ec.brier, three_classes().brier_losses)


def _at_both_priors(name: str, equation: int, metric: Callable[..., pl.Expr], losses: Floats) -> Table:
    """The mean loss of each class times its prior: as stated, and as it is in the rows, which is the plain mean of that equation."""
    log = three_classes()
    n_h = np.bincount(log.h)
    stated, own = log.frame.select(
        metric("q", "label", prior=_TARGET, score_type="posteriors").alias("stated"),
        metric("q", "label", score_type="posteriors").alias("own"),
    ).row(0)
    return side_by_side(
        {
            f"{name}, priors {_TARGET}": (stated, np.sum(np.array(_TARGET)[log.h] / n_h[log.h] * losses)),
            f"{name}, priors of the rows: Equation {equation}": (own, losses.mean()),
        }
    )


def bayes_rule() -> Table:
    """Equation 38 (and 14), and the same by moving the priors of posteriors that were made with others."""
    log_likelihoods = likelihoods_of_three_classes()
    frame = pl.DataFrame({"x": vectors(log_likelihoods)})
    pairs: Pairs = {}
    made = {}
    for name, priors in (("matched", (0.5, 0.3125, 0.1875)), ("mismatched", (0.05, 0.05, 0.9))):
        joint = np.exp(log_likelihoods) * np.array(priors)
        made[name] = joint / joint.sum(axis=1, keepdims=True)
        here = frame.select(ec.posterior("x", score_type="log_likelihoods", prior=priors)).to_series().to_numpy()
        pairs[f"largest difference of a posterior, {name} priors"] = (np.abs(here - made[name]).max(), 0)
        pairs[f"mean posterior of class 3, {name} priors"] = (here[:, 2].mean(), made[name][:, 2].mean())
    moved = pl.DataFrame({"q": vectors(made["matched"])}).select(
        ec.shift_prior("q", (0.5, 0.3125, 0.1875), (0.05, 0.05, 0.9), score_type="posteriors")
    )
    difference = np.abs(moved.to_series().to_numpy() - made["mismatched"]).max()
    pairs["largest difference, moved from matched to mismatched"] = (difference, 0)
    return side_by_side(pairs)
