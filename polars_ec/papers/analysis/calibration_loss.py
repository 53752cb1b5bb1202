"""Sections 4.2 to 4.4: calibration loss, calibration by an affine function of the log posteriors, and ECE."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import LABELS, POSTERIORS, SCORED
from polars_ec.papers.analysis.two_classes import two_class_log
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation
from polars_ec.papers.simulated import Floats, log_softmax
from polars_ec.papers.small import Pairs, column, side_by_side, value
from polars_ec.papers.written_out import BINS, Integers, bins_of, top_label_error

_RULES: dict[str, Any] = {"cross_entropy": ec.cross_entropy, "brier": ec.brier}


@cache
def _losses(rule: str) -> dict[str, float]:
    """Raw and calibrated loss, their difference and its share in percent, of mc1 with an affine map by cross-validation."""
    options: dict[str, Any] = {"rule": rule, "folds": 5, "fold_by": "id"}
    found = ec.calibration_loss(two_class_log(), "mc1_posterior", "label", **options)
    row: dict[str, float] = found.select("raw", "calibrated", "cal_loss", "rcl").row(0, named=True)
    return row


@cache
def _by_steps() -> dict[str, tuple[float, float]]:
    """EPSRraw and EPSRemin by the steps of the paper: calibrate, put the calibrated posteriors to work."""
    log = two_class_log().with_columns(ec.fold("id", 5))
    calibration = ec.calibrate(log, "mc1_posterior", "label", folds=5, fold_by="id")
    table = log.with_columns(calibration.apply("mc1_posterior", out_of_fold=True).alias("calibrated"))
    return {
        rule: (value(table, metric("mc1_posterior", "label")), value(table, metric("calibrated", "label")))
        for rule, metric in _RULES.items()
    }


def equation_59() -> Table:
    """Calibration loss, beside the difference of both losses by the steps of the paper."""
    numbers = {}
    for rule, (raw, least) in _by_steps().items():
        numbers[f"CalLoss, {rule.replace('_', '-')}"] = by_equation(_losses(rule)["cal_loss"], raw - least)
    return column(numbers, "Datap-mc1 of two classes, affine calibration by cross-validation with 5 folds.")


def equation_60() -> Table:
    """The same in percent of the loss before."""
    numbers = {}
    for rule, (raw, least) in _by_steps().items():
        numbers[f"RelCalLoss, {rule.replace('_', '-')}"] = by_equation(_losses(rule)["rcl"], 100 * (raw - least) / raw)
    return column(numbers)


def equation_61() -> Table:
    """The affine map and temperature scaling, with the parameters that the package has fitted."""
    pairs: Pairs = {}
    for calibrator in ("affine", "temperature"):
        calibration = ec.calibrate(SCORED, "s", "label", calibrator)
        alpha, beta = calibration.frame.select("alpha", "beta").row(0)
        applied = SCORED.select(q=calibration.apply("s"))["q"].to_numpy()
        expected = np.exp(log_softmax(alpha * np.log(POSTERIORS) + np.array(beta)))
        pairs |= {
            f"{calibrator}, sample {t + 1}, s{i + 1}": (applied[t, i], expected[t, i]) for t in (0, 5) for i in range(3)
        }
    return side_by_side(pairs)


def threshold_instead_of_scores() -> Table:
    """Section 4.2.1: two classes and one EC: the loss by the Bayes threshold less that by a threshold of other samples."""
    log = two_class_log().with_columns(ec.fold("id", 2))
    options: dict[str, Any] = {"cost_fn": 2, "score_type": "llr"}
    halves = [log.filter(pl.col("fold") == k) for k in range(2)]
    rows: list[tuple[str, list[Number | None]]] = []
    for system in ("cal", "mc1"):
        decided = []
        for training, test in (halves, halves[::-1]):
            sketch = ec.sketch(training, system, "label", score_type="llr", exact=True)
            best = sketch.best_threshold("expected_cost", cost_fn=2)["threshold"].item()
            decided.append(test.select("label", decision=(pl.col(system) > best).cast(pl.Int16)))
        raw = value(log, ec.expected_cost(system, "label", prior=0.1, **options))
        least = value(pl.concat(decided), ec.expected_cost("decision", "label", score_type="decision", cost_fn=2))
        percent = 100 * (raw - least) / raw
        low, high, shown = (-1.0, 1.0, "about 0") if system == "cal" else (20.0, 100.0, "well above 0")
        rows.append((system, [alone(raw), alone(least), between(percent, low, high, shown)]))
    return Table(
        ["EPSRraw", "EPSRemin", "RelCalLoss"],
        rows,
        ["c21 = 2, thresholds of one half of the samples applied to the other."],
    )


def _scored() -> tuple[Floats, NDArray[np.int16], Integers]:
    """Posteriors of H2, labels and bins, which are closed on the right, of Datap-mc1."""
    log = two_class_log()
    posteriors = log["mc1_posterior"].to_numpy()
    return posteriors, log["label"].to_numpy(), bins_of(posteriors)


def _of_bins() -> tuple[Floats, Floats, Floats]:
    """|B_m|, class2(B_m) and avep2(B_m), of bins with samples."""
    posteriors, labels, bins = _scored()
    sizes: Floats = np.bincount(bins, minlength=BINS).astype(float)
    if not sizes.all():
        raise ValueError("a bin without samples has no mean")
    shares = np.bincount(bins, labels, minlength=BINS) / sizes
    means = np.bincount(bins, posteriors, minlength=BINS) / sizes
    return sizes, shares, means


def _ece() -> float:
    return value(two_class_log(), ec.ece("mc1_posterior", "label", bins=BINS))


def equation_62() -> Table:
    """ECE, bin by bin."""
    sizes, shares, means = _of_bins()
    return side_by_side({"ECE": (_ece(), float((sizes / sizes.sum() * np.abs(shares - means)).sum()))})


def equation_63() -> Table:
    """Of the confidences of three classes."""
    computed = value(SCORED, ec.ece_mc("s", "label", bins=BINS))
    return side_by_side({"ECEmc": (computed, top_label_error(POSTERIORS, LABELS))})


def equation_64() -> Table:
    """Calibration loss by Brier score, sample by sample."""
    options: dict[str, Any] = {"rule": "brier", "calibrator": "histogram", "training": "test"}
    found = ec.calibration_loss(two_class_log(), "mc1_posterior", "label", **options)
    posteriors, labels, bins = _scored()
    calibrated = _of_bins()[1][bins]
    expected = ((posteriors - labels) ** 2 - (calibrated - labels) ** 2).mean()
    return side_by_side(
        {"CalLoss by Brier score, histogram binning on the very samples": (found["cal_loss"].item(), float(expected))}
    )


def equation_65() -> Table:
    """ECE, sample by sample."""
    _, _, bins = _scored()
    _, shares, means = _of_bins()
    return side_by_side({"ECE": (_ece(), float(np.abs(shares - means)[bins].mean()))})


def equation_66() -> Table:
    """ECE as the mean distance of the scores that the package's histogram binning makes from those that they are made of."""
    _, _, bins = _scored()
    quantised = _of_bins()[2][bins]
    calibration = ec.calibrate(two_class_log(), "mc1_posterior", "label", "histogram")
    binned = two_class_log().select(calibration.apply("mc1_posterior")).to_series().to_numpy()
    return side_by_side({"ECE": (_ece(), float(np.abs(binned - quantised).mean()))})


def drawbacks_of_ece() -> Table:
    """Section 4.3.2: one bin sees no miscalibration where the mean posterior is the prior; histogram binning has an EPSR."""
    log = two_class_log()
    prior = pl.col("label").mean()
    # Too unsure on both sides, which leaves the mean where it is.
    shrunk = prior + 0.3 * (pl.col("cal_posterior") - pl.col("cal_posterior").mean())
    unsure = log.select("label", s=shrunk)
    rcl = ec.calibration_loss(unsure, "s", "label", calibrator="histogram", training="test")["rcl"].item()
    return column(
        {
            "ECE, one bin": between(value(unsure, ec.ece("s", "label", bins=1)), 0.0, 1e-9, "0"),
            "ECE, 15 bins": alone(value(unsure, ec.ece("s", "label"))),
            "RelCalLoss by cross-entropy, histogram binning": between(rcl, 20.0, 100.0, "well above 0"),
        }
    )


def calibrated_but_useless() -> Table:
    """Section 4.4: a naive system is calibrated, and worse than a miscalibrated one."""
    log = two_class_log()
    table = log.with_columns(naive=pl.col("label").mean())
    nce = value(table, ec.nce("mc1_posterior", "label"))
    return column(
        {
            "A, naive: ECE": between(value(table, ec.ece("naive", "label")), 0.0, 1e-9, "0"),
            "B, Datap-mc1: ECE": alone(_ece()),
            "A: normalised cross-entropy": by_equation(value(table, ec.nce("naive", "label")), 1.0),
            "B: normalised cross-entropy": between(nce, 0.0, 1.0, "below 1"),
        }
    )
