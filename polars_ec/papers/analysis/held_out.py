"""Sections 3.1, 4.2 and 4.3: what becomes of a calibration, and of its loss, on samples that it was not made of."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.analysis.two_classes import two_class_log
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation
from polars_ec.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors
from polars_ec.papers.small import column, value
from polars_ec.papers.written_out import calibration_error

_Rule = Literal["cross_entropy", "brier"]
_DECIDED: dict[str, Any] = {"score": "decision", "label": "label", "score_type": "decision", "cost_fn": 2}


def labels_as_scores() -> Table:
    """Section 3.1: a map from each score to the class of its sample costs nothing, and much on other samples."""
    log = two_class_log().sort("cal").with_row_index("rank")
    seen, unseen = log.filter(pl.col("rank") % 2 == 0), log.filter(pl.col("rank") % 2 == 1)
    # For a score that was not seen: what was seen of the nearest one.
    mapped = unseen.join_asof(seen.select("cal", decision="label"), on="cal", strategy="nearest")
    bayes = value(unseen, ec.expected_cost("cal", "label", score_type="llr", prior=0.1, cost_fn=2))
    of_unseen = value(mapped, ec.expected_cost(**_DECIDED))
    return column(
        {
            "EC of the map, its own samples": by_equation(
                value(seen.with_columns(decision="label"), ec.expected_cost(**_DECIDED)), 0.0
            ),
            "EC of the map, other samples": between(
                of_unseen, 1.2 * bayes, math.inf, "much above that of Bayes decisions"
            ),
            "EC of Bayes decisions, other samples": alone(bayes),
        },
        "LR-cal of Section 4.8.1, c21 = 2; every other score is seen, and others take the class of the nearest of these.",
    )


@cache
def _calibrated(calibrator: Any) -> pl.DataFrame:
    """Datap-mc1 with its posteriors calibrated on the very samples."""
    log = two_class_log()
    calibration = ec.calibrate(log, "mc1_posterior", "label", calibrator)
    return log.select("label", s=pl.col("mc1_posterior"), better=calibration.apply("mc1_posterior"))


def degroot() -> Table:
    """Section 4.2: the loss as calibrated posteriors expect it, and the part of it that DeGroot calls refinement."""
    rows: list[tuple[str, list[Number | None]]] = []
    for calibrator, good in (("affine", True), ("temperature", False)):
        table = _calibrated(calibrator)
        s, better = (table[name].to_numpy() for name in ("s", "better"))
        rules: tuple[tuple[_Rule, Any], ...] = (("cross_entropy", ec.cross_entropy), ("brier", ec.brier))
        for rule, metric in rules:
            raw, least = (value(table, metric(score, "label")) for score in ("s", "better"))
            expected, refinement = (
                value(table, ec.semi_empirical_epsr(score, "better", rule=rule)) for score in ("s", "better")
            )
            by_hand = _expected_loss(s, better, rule), _expected_loss(better, better, rule)
            numbers: list[Number | None] = [
                alone(raw),
                by_equation(expected, by_hand[0]),
                alone(least),
                by_equation(refinement, by_hand[1]),
                alone(raw - least),
                by_equation(
                    value(table, ec.expected_score_divergence("s", "better", rule=rule)), by_hand[0] - by_hand[1]
                ),
            ]
            apart = abs(expected - raw) / raw
            # Both maps have the least cross-entropy of their kind, so that both decompositions of it are the same.
            same = good or rule == "cross_entropy"
            numbers.append(
                between(100 * apart, 0, 0.2, "about 0") if same else between(100 * apart, 5, 100, "well above 0")
            )
            rows.append((f"{calibrator}, {rule.replace('_', '-')}", numbers))
    return Table(
        ["EPSRraw", "the same, expected", "EPSRemin", "refinement", "CalLoss", "divergence", "EPSRraw, apart in %"],
        rows,
        [
            "Datap-mc1 of two classes. Expected: with classes drawn by the calibrated posteriors, whose own EPSR is the refinement; the divergence is what "
            "is left. The paper has no number: it says that this decomposition and that of CalLoss are alike where the calibration is good, as the "
            "affine map is here, and temperature scaling is not.",
        ],
    )


def _expected_loss(s: Floats, better: Floats, rule: _Rule) -> float:
    """EPSR of posteriors of H2, with classes drawn by `better`."""
    of_1, of_2 = (-np.log(1 - s), -np.log(s)) if rule == "cross_entropy" else (s**2, (1 - s) ** 2)
    return float(((1 - better) * of_1 + better * of_2).mean())


def _sets(n_classes: int, rows: int, sets: int) -> pl.DataFrame:
    """Calibrated log posteriors of several sets of samples, made as those of Section 4.8.3."""
    priors = np.array([0.9, *[0.1 / (n_classes - 1)] * (n_classes - 1)])
    counts = tuple(int(n) for n in np.round(rows * sets * priors))
    means = tuple((float(i),) for i in range(n_classes))
    joint = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15) + np.log(priors)
    log = pl.DataFrame({"label": labels(counts), "s": vectors(log_softmax(joint))}).with_row_index("id")
    return log.with_columns(set=pl.col("id") % sets)


def train_on_test() -> Table:
    """Section 4.2.1: of scores that are calibrated by construction, the loss that calibrators find on their own samples."""
    rows: list[tuple[str, list[Number | None]]] = []
    first = 0.0
    for n_classes, samples in ((2, 1000), (2, 200), (10, 1000)):
        log = _sets(n_classes, samples, 20)
        options: dict[str, Any] = {"by": "set", "score_type": "log_posteriors"}
        own = ec.calibration_loss(log, "s", "label", training="test", **options)["rcl"].mean()
        others = ec.calibration_loss(log, "s", "label", folds=5, fold_by="id", **options)["rcl"].mean()
        assert isinstance(own, float)
        assert isinstance(others, float)
        numbers: list[Number | None] = [
            between(own, first, math.inf, f"above {first:.2g}"),
            between(others, -math.inf, 0, "below 0"),
        ]
        rows.append((f"K {n_classes}, {samples:,} samples", numbers))
        first = first or own
    return Table(
        ["RelCalLoss, trained on the very samples", "cross-validation"],
        rows,
        [
            "In percent, by cross-entropy with the affine map; means of 20 sets. The paper has no number: it says that training on the test samples "
            "overestimates the loss, the more so where samples are few or classes many: it is above that of two classes and 1,000 samples there.",
        ],
    )


def a_bad_calibrator() -> Table:
    """Section 4.2: CalLoss of a good calibrator and of one that is worse than none, on calibrated scores."""
    numbers = {}
    for calibrator, low, high, shown in (("affine", -0.1, 0.1, "about 0"), ("histogram", -math.inf, -1.0, "below 0")):
        options: dict[str, Any] = {"calibrator": calibrator, "folds": 5, "fold_by": "id"}
        found = ec.calibration_loss(two_class_log(), "cal_posterior", "label", **options)
        numbers[f"RelCalLoss of Datap-cal, {calibrator}"] = between(found["rcl"].item(), low, high, shown)
    return column(numbers, "In percent, by cross-entropy, cross-validation with 5 folds; histograms have 15 bins.")


_BINS = (1, 5, 15, 45, 135)
"""Each splits the bins before it, so that ECE cannot fall."""


def ece_by_bins() -> Table:
    """Section 4.3.2: ECE of calibrated scores by the number of bins, of equal width or with equally many samples."""
    log = two_class_log()
    posteriors, label = log["cal_posterior"].to_numpy(), log["label"].to_numpy()
    rank = np.empty(len(posteriors), dtype=np.int64)
    rank[np.argsort(posteriors)] = np.arange(1, len(posteriors) + 1)
    rows: list[tuple[str, list[Number | None]]] = []
    before = math.nan
    for bins in _BINS:
        of_width = value(log, ec.ece("cal_posterior", "label", bins=bins))
        of_mass = value(log, ec.ece("cal_posterior", "label", bins=bins, equal_mass=True))
        numbers: list[Number | None] = [
            by_equation(of_width, calibration_error(posteriors, label, np.ceil(posteriors * bins).astype(np.int64))),
            None if math.isnan(before) else between(of_width - before, 0, 1, "above 0"),
            by_equation(of_mass, calibration_error(posteriors, label, -(-rank * bins // len(rank)))),
        ]
        rows.append((f"{bins} bin{'s' * (bins > 1)}", numbers))
        before = of_width
    return Table(
        ["ECE, bins of equal width", "more than with fewer bins", "ECE, bins of equal mass"],
        rows,
        [
            "Datap-cal of two classes, which are calibrated by construction: all of it is overestimated. Held against Equation 62, in NumPy."
        ],
    )
