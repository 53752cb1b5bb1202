"""Sections 4.5 to 4.7: areas under curves, the equal error rate, specificity at a sensitivity, and averages over detectors."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import BINARY, BINARY_LABELS, BINARY_POSTERIORS, LABELS, POSTERIORS, SCORED
from polars_ec.papers.analysis.two_classes import two_class_log
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation
from polars_ec.papers.simulated import gaussian_classes, labels, log_likelihoods
from polars_ec.papers.small import column, side_by_side, value
from polars_ec.papers.written_out import area_under_pr, area_under_roc, equal_error_rate, operating_points

_SENSITIVITY = 0.95


def curves_of_two_classes() -> Table:
    """Both areas and the equal error rate, by sweeping the threshold over the small log."""
    fpr, tpr = operating_points(BINARY_POSTERIORS, BINARY_LABELS)
    return side_by_side(
        {
            "area under the ROC curve": (value(BINARY, ec.auc_roc("s2", "label")), area_under_roc(fpr, tpr)),
            "area under the recall-precision curve, its steps": (
                value(BINARY, ec.average_precision("s2", "label")),
                area_under_pr(fpr, tpr, BINARY_LABELS.mean()),
            ),
            "equal error rate, between two points of the ROC curve": (
                value(BINARY, ec.eer("s2", "label", method="linear")),
                equal_error_rate(fpr, tpr),
            ),
        }
    )


def monotone_transformations() -> Table:
    """What a rising transformation leaves as it is, and what it does not."""
    log = two_class_log()
    names = {"LLR": "cal", "2 LLR + 3": "other"}
    table = log.with_columns(other=2 * pl.col("cal") + 3)
    found = [
        [
            value(table, ec.auc_roc(column, "label", score_type="llr")),
            value(table, ec.average_precision(column, "label", score_type="llr")),
            value(table, ec.eer(column, "label", score_type="llr")),
            value(table, ec.nec(column, "label", score_type="llr", prior=0.1)),
        ]
        for column in names.values()
    ]
    first, second = found
    rows: list[tuple[str, list[Number | None]]] = [
        ("LLR", [alone(x) for x in first]),
        (
            "2 LLR + 3",
            [
                *(by_equation(x, y) for x, y in zip(second[:3], first[:3], strict=True)),
                between(second[3], 1.5 * first[3], np.inf, "much above"),
            ],
        ),
    ]
    return Table(["AUC of ROC", "AUC of PR", "EER", "NEC, Bayes decisions"], rows)


def bound_by_the_equal_error_rate() -> Table:
    """EC at 0-1 costs of calibrated scores, beside its bound, at several priors."""
    log = two_class_log()
    eer = value(log, ec.eer("cal", "label", score_type="llr"))
    rows: list[tuple[str, list[Number | None]]] = []
    for p2 in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        bound = min(eer, p2, 1 - p2)
        calibrated, miscalibrated = (
            value(log, ec.bayes_risk(system, "label", score_type="llr", prior=p2)) for system in ("cal", "mc1")
        )
        least = value(log, ec.min_expected_cost("cal", "label", score_type="llr", prior=p2))
        below = f"up to {bound:.4f}"
        # Right by construction is not calibrated on these very samples: with few of a class, chance is seen.
        rows.append(
            (
                f"P2 {p2:g}",
                [
                    between(least, 0, bound + 1e-12, below),
                    between(calibrated, 0, 1.005 * bound, below),
                    alone(miscalibrated),
                ],
            )
        )
    largest = max(
        value(log, ec.min_expected_cost("cal", "label", score_type="llr", prior=p / 100)) for p in range(45, 56)
    )
    rows.append(("largest over the priors", [between(largest, 0.999 * eer, eer + 1e-12, f"EER {eer:.4f}"), None, None]))
    return Table(
        ["least EC over thresholds", "EC of Bayes decisions, cal", "EC of Bayes decisions, mc1"],
        rows,
        [
            "Scores of Section 4.8.1. The bound is the least of EER, P1 and P2; it holds for scores that are calibrated on the very samples, "
            "which is the least EC over thresholds. For cal, calibrated but for chance, half a percent more is allowed.",
            "The text says that without calibration EC can grow without bound: at costs of 0 and 1 it is up to 1, and NEC up to 1 / min(P1, P2).",
        ],
    )


def specificity_at_sensitivity() -> Table:
    """Specificity at the highest threshold whose sensitivity is reached, and by a sweep over the scores."""
    log = two_class_log()
    llr, label = log["cal"].to_numpy(), log["label"].to_numpy()
    of_2 = np.sort(llr[label == 1])
    threshold = of_2[len(of_2) - int(np.ceil(_SENSITIVITY * len(of_2)))]
    expected = float((llr[label == 0] < threshold).mean())
    computed = value(log, ec.specificity_at_sensitivity("cal", "label", sensitivity=_SENSITIVITY, score_type="llr"))
    return side_by_side({"specificity at sensitivity 0.95": (computed, expected)})


def sensitivity_at_specificity() -> Table:
    """The other way round: sensitivity where 1 - specificity is fixed."""
    log = two_class_log()
    llr, label = log["cal"].to_numpy(), log["label"].to_numpy()
    of_1 = np.sort(llr[label == 0])
    # The lowest score of H1 that may be decided as such.
    threshold = of_1[int(np.ceil(_SENSITIVITY * len(of_1))) - 1]
    expected = float((llr[label == 1] > threshold).mean())
    computed = value(log, ec.sensitivity_at_specificity("cal", "label", specificity=_SENSITIVITY, score_type="llr"))
    return side_by_side({"sensitivity at specificity 0.95": (computed, expected)})


def _llrs(counts: tuple[int, int], variance: float) -> pl.DataFrame:
    """Scores of two classes whose means are 0 and 1, right by construction."""
    means = ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, variance), means, variance)
    return pl.DataFrame({"llr": likelihoods[:, 1] - likelihoods[:, 0], "label": labels(counts)})


def sensitivity_on_other_data() -> Table:
    """The threshold of a development set elsewhere, and the costs that a fixed sensitivity stands for there."""
    development, *others = (
        ("development set", _llrs((9_000, 1_000), 0.15)),
        ("other samples", two_class_log().select("label", llr="cal")),
        ("harder: variance 0.3", _llrs((9_000, 1_000), 0.3)),
        ("P2 0.5", _llrs((5_000, 5_000), 0.15)),
    )
    chosen = math.nan
    rows: list[tuple[str, list[Number | None]]] = []
    for name, log in (development, *others):
        sketch = ec.sketch(log, "llr", "label", score_type="llr", exact=True)
        found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=_SENSITIVITY).row(0, named=True)
        first = name == development[0]
        chosen = found["threshold"] if first else chosen
        sensitivity = value(log, ec.recall("llr", "label", threshold=chosen, score_type="llr"))
        by_hand = float((log.filter(pl.col("label") == 1)["llr"].to_numpy() > chosen).mean())
        ratio = 1 / found["cost_fn"]
        rows.append(
            (name, [by_equation(sensitivity, by_hand), alone(ratio), None if first else _other(ratio, rows[0][1][1])])
        )
    return Table(
        ["sensitivity at its threshold", "c12 / c21 of sensitivity 0.95", "over that of the development set"],
        rows,
        [
            "The paper has no number, but for a hypothetical c12 / c21 of 2. It says that elsewhere the sensitivity is another, and that another "
            "threshold for the same sensitivity stands for other costs: at least a tenth more or less.",
        ],
    )


def _other(ratio: float, of_development: Number | None) -> Number:
    """Another one by a tenth or more."""
    assert of_development is not None
    times = ratio / of_development.computed
    return between(times, 0, 0.9, "below 1") if times < 1 else between(times, 1.1, np.inf, "above 1")


def costs_for_a_sensitivity() -> Table:
    """The procedure of Section 4.6: alpha for which the best threshold has the sensitivity asked for."""
    sketch = ec.sketch(two_class_log(), "cal", "label", score_type="llr", exact=True)
    found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=_SENSITIVITY).row(0, named=True)
    alpha, c21, p2 = found["alpha"], found["cost_fn"], value(two_class_log(), pl.col("label").mean())
    lower, higher = (_sensitivity(_best_threshold(sketch, factor * alpha)) for factor in (0.99, 1.01))
    return column(
        {
            "alpha": alone(alpha),
            "c12 / c21 = alpha P2 / P1": by_equation(1 / c21, alpha * p2 / (1 - p2)),
            "c21 at c12 = 1": alone(c21),
            "sensitivity": between(found["sensitivity"], _SENSITIVITY, 0.96, "0.95 or a little more"),
            "at the best threshold, alpha 1 % lower": between(lower, _SENSITIVITY, 1.0, "0.95 or more"),
            "at the best threshold, alpha 1 % higher": between(higher, 0.9, _SENSITIVITY, "below 0.95"),
        },
        "LR-cal of Section 4.8.1: to ask for a sensitivity of 0.95 makes a miss cost 22 false alarms. The paper prints no number.",
    )


def _best_threshold(sketch: ec.Sketch, alpha: float) -> float:
    """Of the NEC of Equation 8 with this alpha."""
    return float(sketch.best_threshold("nec", cost_fn=1.0, cost_fp=alpha, prior=0.5)["threshold"].item())


def _sensitivity(threshold: float) -> float:
    log = two_class_log()
    return value(log, ec.recall("cal", "label", threshold=threshold, score_type="llr"))


def average_over_detectors() -> Table:
    """F1 of each class against the rest, averaged, and that such detectors answer none or several classes."""
    of_class = np.arange(3)[:, None] == LABELS
    decided = np.arange(3)[:, None] == POSTERIORS.argmax(axis=1)
    detected = POSTERIORS.T > 0.5
    scores, of_detectors = (
        float((2 * (found & of_class).sum(axis=1) / (found.sum(axis=1) + of_class.sum(axis=1))).mean())
        for found in (decided, detected)
    )
    sketch = ec.sketch(SCORED, "s", "label", thresholds=[0.5])
    mean = sketch.mean_over_targets("f1", threshold=0.5)["f1"].item()
    return side_by_side(
        {
            "F1 of the decisions, mean over the classes": (value(SCORED, ec.macro_f1("s", "label")), scores),
            "F1 of three detectors at 0.5, mean": (float(mean), of_detectors),
        },
        f"{int((detected.sum(axis=0) == 0).sum())} of the 10 samples are of no class for the detectors.",
    )
