"""Calibration metrics: Equations 24 to 33, and the semi-empirical expectation of Equation 35."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.folds import FOLD_KEY, FOLDS, stratified_folds, with_folds
from polars_ec.papers.numbers import Number, Table, by_equation
from polars_ec.papers.posteriors.small_log import three_classes, two_classes
from polars_ec.papers.simulated import Floats, vectors
from polars_ec.papers.small import Pairs, side_by_side
from polars_ec.papers.written_out import BINS, calibration_error, mean_of_bin, top_label_error

_Rule = Literal["cross_entropy", "brier"]
_NAMES: dict[_Rule, str] = {"cross_entropy": "log loss", "brier": "Brier loss"}


@cache
def _calibrated(*, out_of_fold: bool) -> tuple[pl.DataFrame, Floats, Floats]:
    """Rows of three classes with folds, their posteriors q, and s: what affine calibration makes of these."""
    log = three_classes()
    frame = with_folds(log.frame, stratified_folds(log.frame["label"], np.random.RandomState(0)))
    fitted = ec.calibrate(frame, "q", "label", folds=FOLDS, fold_by=FOLD_KEY, score_type="posteriors")
    frame = frame.with_columns(s=fitted.apply("q", out_of_fold=out_of_fold))
    return frame, log.q, frame["s"].to_numpy()


def _losses(q: Floats, rule: _Rule) -> Floats:
    """C*(H_i, q) of each row, a column per class."""
    if rule == "cross_entropy":
        return -np.log(q)
    errors: Floats = ((q[:, None, :] - np.eye(q.shape[1])) ** 2).mean(axis=2)
    return errors


def _divergences(s: Floats, q: Floats, rule: _Rule) -> Floats:
    """Kullback-Leibler, or squared distance, as the paper writes them after Equation 26."""
    if rule == "cross_entropy":
        kullback_leibler: Floats = np.sum(s * np.log(s / q), axis=1)
        return kullback_leibler
    squares: Floats = np.sum((s - q) ** 2, axis=1) / q.shape[1]
    return squares


_BRIER_NOTE = "The squared distance is over K, as the Brier loss of Section 2.3.3 is."


def expected_divergence() -> Table:
    """Equation 24."""
    frame, q, s = _calibrated(out_of_fold=True)
    pairs: Pairs = {
        f"D, {name}": (
            frame.select(ec.expected_score_divergence("q", "s", rule=rule, score_type="posteriors")).item(),
            _divergences(s, q, rule).mean(),
        )
        for rule, name in _NAMES.items()
    }
    return side_by_side(pairs, _BRIER_NOTE)


def decomposition() -> Table:
    """Equation 25: EPSR = expected divergence + generalised entropy of the reference."""
    frame, q, s = _calibrated(out_of_fold=True)
    pairs: Pairs = {}
    for rule, name in _NAMES.items():
        here = frame.select(
            ec.semi_empirical_epsr("q", "s", rule=rule, score_type="posteriors").alias("EPSR"),
            ec.semi_empirical_epsr("s", "s", rule=rule, score_type="posteriors").alias("entropy"),
        ).row(0)
        entropy = np.sum(s * _losses(s, rule), axis=1).mean()
        pairs |= {
            f"EPSR, {name}": (here[0], _divergences(s, q, rule).mean() + entropy),
            f"entropy of s, {name}": (here[1], entropy),
        }
    return side_by_side(pairs)


def divergence_of_a_row() -> Table:
    """Equation 26: what s expects q to cost more than s."""
    frame, q, s = _calibrated(out_of_fold=True)
    pairs: Pairs = {}
    for rule, name in _NAMES.items():
        there = np.sum(s * (_losses(q, rule) - _losses(s, rule)), axis=1)
        for row in (0, 50, 70):
            divergence = ec.expected_score_divergence("q", "s", rule=rule, score_type="posteriors")
            pairs[f"row {row + 1}, {name}"] = (frame[row].select(divergence).item(), there[row])
    return side_by_side(pairs, _BRIER_NOTE)


def ece() -> Table:
    """Equation 27."""
    log = two_classes()
    there = calibration_error(log.q[:, 1], log.h)
    here = log.frame.select(ec.ece("q", "label", bins=BINS)).item()
    return side_by_side({"ECE, 15 bins": (here, there)}, "A share here, percent in the paper's tables.")


def ece_as_a_distance() -> Table:
    """Equation 28: the mean distance of histogram-calibrated posteriors from the mean posteriors of their bins."""
    log = two_classes()
    calibrated = ec.sketch(log.frame, "q", "label", exact=True).calibrate("histogram", bins=BINS).apply("q")
    s = log.frame.select(calibrated).to_series().to_numpy()
    here = log.frame.select(ec.ece("q", "label", bins=BINS)).item()
    return side_by_side({"ECE, 15 bins": (here, np.abs(s - mean_of_bin(log.q[:, 1])).mean())})


def ece_of_many_classes() -> Table:
    """Section 2.5.2: whether the class of the largest posterior is right, by that posterior."""
    log = three_classes()
    there = top_label_error(log.q, log.h)
    here = log.frame.select(ec.ece_mc("q", "label", bins=BINS, score_type="posteriors")).item()
    return side_by_side({"ECEmc, 15 bins": (here, there)})


def mean_is_the_minimiser() -> Table:
    """Equation 29: of all fixed q0 the mean of s has the least expected divergence, if it is a score divergence."""
    s = 0.2 + 0.6 * np.array([0.0, 0.0, 0.1, 0.3, 0.35, 0.5, 0.65, 0.9, 0.95, 1.0]) ** 2
    grid = np.arange(1, 1000) / 1000
    frame = pl.DataFrame({"s": s}).join(pl.DataFrame({"q0": grid}), how="cross")
    expected = frame.group_by("q0").agg(
        ec.expected_score_divergence("q0", "s", rule=rule).alias(name) for rule, name in _NAMES.items()
    )
    mean = np.round(s.mean(), 3)
    pairs: Pairs = {f"q0 of least divergence, {name}": (expected.sort(name)["q0"][0], mean) for name in _NAMES.values()}
    return side_by_side(
        pairs, "q0 in steps of 0.001. The absolute distance, least at the median, is no such divergence: Figure 4."
    )


@cache
def _calibration_loss(rule: _Rule, *, out_of_fold: bool) -> dict[str, float]:
    """The columns of `ec.calibration_loss`."""
    frame, _, _ = _calibrated(out_of_fold=out_of_fold)
    how: dict[str, Any] = {"folds": FOLDS, "fold_by": FOLD_KEY} if out_of_fold else {"training": "test"}
    return ec.calibration_loss(frame, "q", "label", rule, score_type="posteriors", **how).row(0, named=True)


def _calibration_losses(column: str, equation: Callable[[float, float], float], notes: Sequence[str] = ()) -> Table:
    """A column of `ec.calibration_loss`, beside the equation of the mean losses of q and of s."""
    h = three_classes().h
    rows: list[tuple[str, list[Number]]] = []
    for name, out_of_fold in (("cross-validation", True), ("on the very rows", False)):
        _, q, s = _calibrated(out_of_fold=out_of_fold)
        numbers = []
        for rule in _NAMES:
            found = _calibration_loss(rule, out_of_fold=out_of_fold)[column]
            raw, calibrated = (float(_losses(x, rule)[np.arange(len(h)), h].mean()) for x in (q, s))
            numbers.append(by_equation(found, equation(raw, calibrated)))
        rows.append((name, numbers))
    return Table(tuple(_NAMES.values()), rows, notes)


def calibration_loss() -> Table:
    """Equation 30."""
    return _calibration_losses(
        "cal_loss",
        lambda raw, calibrated: raw - calibrated,
        ("The loss on the very rows is the larger one: trained on what it is tested on, a calibrator finds too much.",),
    )


def raw_loss() -> Table:
    """Equation 31."""
    return _calibration_losses("raw", lambda raw, _: raw)


def calibrated_loss() -> Table:
    """Equation 32."""
    return _calibration_losses("calibrated", lambda _, calibrated: calibrated)


def relative_loss() -> Table:
    """Equation 33."""
    return _calibration_losses("rcl", lambda raw, calibrated: 100 * (raw - calibrated) / raw)


def semi_empirical_cross_entropy() -> Table:
    """Equation 35, by the empirical distribution and by one in which classes are drawn by a calibrated posterior."""
    frame, q, s = _calibrated(out_of_fold=True)
    h = three_classes().h
    empirical = frame.select(ec.cross_entropy("q", "label", score_type="posteriors")).item()
    expected = frame.select(ec.semi_empirical_epsr("q", "s", score_type="posteriors")).item()
    one_hot = vectors(np.eye(3)[h])
    by_labels = frame.with_columns(h=one_hot).select(ec.semi_empirical_epsr("q", "h", score_type="posteriors")).item()
    return side_by_side(
        {
            "empirical": (empirical, three_classes().log_losses.mean()),
            "by the calibrated posterior": (expected, np.sum(s * -np.log(q), axis=1).mean()),
            "by the labels as posteriors": (by_labels, empirical),
        }
    )
