"""Calibration transformations: Equations 21 to 23, histogram binning, PAV and cross-validation."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.folds import FOLD_KEY, FOLDS, stratified_folds, with_folds
from polars_ec.papers.numbers import Table
from polars_ec.papers.posteriors.small_log import three_classes, two_classes
from polars_ec.papers.simulated import log_softmax
from polars_ec.papers.small import Pairs, side_by_side
from polars_ec.papers.written_out import BINS, affine_of, bins_of, by_other_folds, least_cross_entropy, pooled

_NEWTON = 1e-7
"""Two solvers meet to so many digits."""


def naive_classifier() -> Table:
    """Equation 21: who always answers the class shares is calibrated, and of no use."""
    frame = three_classes().frame
    shares = frame["label"].value_counts().sort("label")["count"] / frame.height
    naive = frame.with_columns(q=pl.lit(shares.to_list(), dtype=pl.Array(pl.Float64, 3)))
    ece, nce, nec = naive.select(
        ec.ece_mc("q", "label", score_type="posteriors").alias("ECEmc"),
        ec.nce("q", "label", score_type="posteriors").alias("NCE"),
        ec.nec("q", "label", score_type="posteriors").alias("NEC"),
    ).row(0)
    loss = ec.calibration_loss(naive, "q", "label", training="test", score_type="posteriors")
    return side_by_side(
        {"ECEmc": (ece, 0), "CalLoss": (loss["cal_loss"].item(), 0), "NCE": (nce, 1), "NRisk-01": (nec, 1)}
    )


def decisions_by_calibrated_posteriors() -> Table:
    """Equation 22: Bayes decisions by P(H | q) are the best that can be made of q: no threshold of q costs less."""
    log = two_classes()
    calibrated = ec.sketch(log.frame, "q", "label", exact=True).calibrate("pav").apply("q")
    pairs: Pairs = {}
    for cost_fn, cost_fp in ((1, 1), (10, 1), (1, 10)):
        risk = log.frame.select(ec.bayes_risk(calibrated, "label", cost_fn=cost_fn, cost_fp=cost_fp)).item()
        p, positive = log.q[:, 1], log.h == 1
        best = min(
            np.mean(np.where(positive, cost_fn * (p <= threshold), cost_fp * (p > threshold)))
            for threshold in (-1.0, *p)
        )
        pairs[f"least cost: misses {cost_fn}, false alarms {cost_fp}"] = (risk, best)
    return side_by_side(pairs, "P(H | q) by PAV on the very rows.")


def affine() -> Table:
    """Equation 23."""
    return _affine("affine")


def temperature() -> Table:
    """Equation 23 with beta = 0."""
    return _affine("temperature")


def _affine(calibrator: Literal["affine", "temperature"]) -> Table:
    with_shift = calibrator == "affine"
    two, three = two_classes(), three_classes()
    fitted = ec.calibrate(two.frame, "q", "label", calibrator).frame.row(0, named=True)
    alpha, beta = least_cross_entropy(np.log(two.q[:, 1] / two.q[:, 0]), two.h, with_shift=with_shift)
    pairs: Pairs = {"two classes: alpha": (fitted["alpha"], alpha)}
    if with_shift:
        pairs["two classes: beta2 - beta1"] = (fitted["beta"], beta)
    of_three = ec.calibrate(three.frame, "q", "label", calibrator, score_type="posteriors")
    s = three.frame.select(of_three.apply("q")).to_series().to_numpy()
    parameters = of_three.frame.row(0, named=True)
    there = np.exp(log_softmax(parameters["alpha"] * np.log(three.q) + np.array(parameters["beta"])))
    pairs["three classes: largest s - softmax(alpha log q + beta)"] = (np.abs(s - there).max(), 0)
    # Where the cross-entropy is least, its derivatives by alpha and by beta are 0.
    pairs["three classes: mean of sum_i s_i log q_i, and of log q_h"] = (
        np.mean(np.sum(s * np.log(three.q), axis=1)),
        -three.log_losses.mean(),
    )
    if with_shift:
        pairs |= {f"three classes: mean s{i + 1}, and P{i + 1}": (s[:, i].mean(), three.priors[i]) for i in range(3)}
    return side_by_side(
        pairs,
        "The equation is held against Newton's method in NumPy, and against what holds at the least cross-entropy.",
        relative=_NEWTON,
    )


def pav() -> Table:
    """Section 2.4.2: the monotonic transformation that is best by every scoring rule."""
    log = two_classes()
    order = np.lexsort((log.h, log.q[:, 1]))
    s = np.empty(len(order))
    s[order] = pooled(log.h[order].astype(float), np.ones(len(order)))
    calibrated = ec.sketch(log.frame, "q", "label", exact=True).calibrate("pav").apply("q")
    here, ce, bs = log.frame.select(
        calibrated.implode().alias("s"),
        ec.cross_entropy(calibrated, "label").alias("CE"),
        ec.brier(calibrated, "label").alias("BS"),
    ).row(0)
    own = np.where(log.h == 1, s, 1 - s)
    return side_by_side(
        {
            "largest difference of a posterior": (np.abs(np.array(here) - s).max(), 0),
            "CE": (ce, -np.log(own).mean()),
            "BS": (bs, np.mean((s - log.h) ** 2)),
        }
    )


def histogram_binning() -> Table:
    """Sections 2.4.2 and 2.5.2: the share of class 2 in each bin."""
    log = two_classes()
    fitted = ec.sketch(log.frame, "q", "label", exact=True).calibrate("histogram", bins=BINS)
    here = log.frame.select(fitted.apply("q")).to_series().to_numpy()
    place = bins_of(log.q[:, 1])
    return side_by_side(
        {
            f"bin {b + 1}: {np.sum(place == b)} rows": (here[place == b].mean(), log.h[place == b].mean())
            for b in np.unique(place)
        }
    )


def cross_validation() -> Table:
    """Section 2.5.3: each fold is calibrated by a fit to the rows of the others."""
    log = two_classes()
    folds = stratified_folds(log.frame["label"], np.random.RandomState(0))
    frame = with_folds(log.frame, folds)
    fitted = ec.calibrate(frame, "q", "label", folds=FOLDS, fold_by=FOLD_KEY)
    here = frame.select("fold", s=fitted.apply("q", out_of_fold=True), h="label")
    x = np.log(log.q[:, 1] / log.q[:, 0])
    s = by_other_folds(affine_of, x, log.h, folds)
    own = np.where(log.h == 1, s, 1 - s)
    pairs: Pairs = {
        f"CE, fold {fold + 1}": (
            here.filter(fold=fold).select(ec.cross_entropy("s", "h")).item(),
            -np.log(own[folds == fold]).mean(),
        )
        for fold in range(FOLDS)
    }
    pairs["CE of all rows"] = (here.select(ec.cross_entropy("s", "h")).item(), -np.log(own).mean())
    return side_by_side(pairs, "Beside fits by Newton's method in NumPy, to 1e-7.", relative=_NEWTON)
