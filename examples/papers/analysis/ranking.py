"""Sections 4.5 to 4.7: areas under curves, the equal error rate, specificity at a sensitivity, and averages over detectors."""

import math
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.logs import BINARY, BINARY_LABELS, BINARY_POSTERIORS, LABELS, POSTERIORS, SCORED
from examples.papers.analysis.simulated_systems import two_class_log
from examples.papers.numbers import Number, Rows, alone, between, value
from examples.papers.simulated import gaussian_classes, labels, log_likelihoods
from examples.papers.written_out import area_under_pr, area_under_roc, equal_error_rate, operating_points

_SENSITIVITY = 0.95


def _cal(metric: Any, system: str = "cal", **options: Any) -> float:
    """A metric of the LLRs of Section 4.8.1."""
    return value(two_class_log(), metric(system, "label", score_type="llr", **options))


@PAPER("section-4.5")
def curves_of_two_classes() -> Rows:
    points, prior = operating_points(BINARY_POSTERIORS, BINARY_LABELS), BINARY_LABELS.mean()
    roc, pr = (value(BINARY, area("s2", "label")) for area in (ec.auc_roc, ec.average_precision))
    eer = value(BINARY, ec.eer("s2", "label", method="linear"))
    yield "area under the ROC curve", (roc, area_under_roc(*points))
    yield "area under the recall-precision curve, its steps", (pr, area_under_pr(*points, prior))
    yield "equal error rate, between two points of the ROC curve", (eer, equal_error_rate(*points))


@PAPER("monotone-transformations", columns=["AUC of ROC", "AUC of PR", "EER", "NEC, Bayes decisions"])
def monotone_transformations() -> Rows:
    metrics = ((ec.auc_roc, {}), (ec.average_precision, {}), (ec.eer, {}), (ec.nec, {"prior": 0.1}))
    llr = [_cal(metric, **options) for metric, options in metrics]
    *moved, nec = (_cal(metric, 2 * pl.col("cal") + 3, **options) for metric, options in metrics)
    much = between(nec, 1.5 * llr[3], np.inf, "much above")
    yield "LLR", [alone(x) for x in llr]
    yield "2 LLR + 3", *zip(moved, llr[:3], strict=True), much


@PAPER("eer-bound", columns=["least EC over thresholds", "EC of Bayes decisions, cal", "EC of Bayes decisions, mc1"])
def bound_by_the_equal_error_rate() -> Rows:
    eer = _cal(ec.eer)
    for p2 in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        bound = min(eer, p2, 1 - p2)
        # Right by construction is not calibrated on these very samples: with few of a class, chance is seen.
        yield (
            f"P2 {p2:g}",
            between(_cal(ec.min_expected_cost, prior=p2), 0, bound + 1e-12, f"up to {bound:.4f}"),
            between(_cal(ec.bayes_risk, prior=p2), 0, 1.005 * bound, f"up to {bound:.4f}"),
            alone(_cal(ec.bayes_risk, "mc1", prior=p2)),
        )
    largest = max(_cal(ec.min_expected_cost, prior=p / 100) for p in range(45, 56))
    of_eer = between(largest, 0.999 * eer, eer + 1e-12, f"EER {eer:.4f}")
    yield "largest over the priors", of_eer, None, None


def _sorted_llrs() -> tuple[Any, Any]:
    llr, label = two_class_log()["cal"].to_numpy(), two_class_log()["label"].to_numpy()
    return np.sort(llr[label == 0]), np.sort(llr[label == 1])


@PAPER("section-4.6")
def specificity_at_sensitivity() -> Rows:
    of_1, of_2 = _sorted_llrs()
    threshold = of_2[len(of_2) - int(np.ceil(_SENSITIVITY * len(of_2)))]
    computed = _cal(ec.specificity_at_sensitivity, sensitivity=_SENSITIVITY)
    yield "specificity at sensitivity 0.95", (computed, (of_1 < threshold).mean())


@PAPER("sensitivity-at-specificity")
def sensitivity_at_specificity() -> Rows:
    of_1, of_2 = _sorted_llrs()
    # The lowest score of H1 that may be decided as such.
    threshold = of_1[int(np.ceil(_SENSITIVITY * len(of_1))) - 1]
    computed = _cal(ec.sensitivity_at_specificity, specificity=_SENSITIVITY)
    yield "sensitivity at specificity 0.95", (computed, (of_2 > threshold).mean())


def _llrs(counts: tuple[int, int], variance: float) -> pl.DataFrame:
    means = ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, variance), means, variance)
    return pl.DataFrame({"llr": likelihoods[:, 1] - likelihoods[:, 0], "label": labels(counts)})


@PAPER(
    "sensitivity-on-other-data",
    columns=["sensitivity at its threshold", "c12 / c21 of sensitivity 0.95", "over that of the development set"],
)
def sensitivity_on_other_data() -> Rows:
    development, *others = (
        ("development set", _llrs((9_000, 1_000), 0.15)),
        ("other samples", two_class_log().select("label", llr="cal")),
        ("harder: variance 0.3", _llrs((9_000, 1_000), 0.3)),
        ("P2 0.5", _llrs((5_000, 5_000), 0.15)),
    )
    chosen = math.nan
    rows = []
    for name, log in (development, *others):
        sketch = ec.sketch(log, "llr", "label", score_type="llr", exact=True)
        found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=_SENSITIVITY).row(0, named=True)
        first = name == development[0]
        chosen = found["threshold"] if first else chosen
        sensitivity = value(log, ec.recall("llr", "label", threshold=chosen, score_type="llr"))
        by_hand = float((log.filter(pl.col("label") == 1)["llr"].to_numpy() > chosen).mean())
        ratio = 1 / found["cost_fn"]
        rows.append((name, [(sensitivity, by_hand), alone(ratio), None if first else _other(ratio, rows[0][1][1])]))
    return rows


def _other(ratio: float, of_development: Number | None) -> Number:
    times = ratio / of_development.computed
    return between(times, 0, 0.9, "below 1") if times < 1 else between(times, 1.1, np.inf, "above 1")


@PAPER("costs-for-a-sensitivity")
def costs_for_a_sensitivity() -> Rows:
    sketch = ec.sketch(two_class_log(), "cal", "label", score_type="llr", exact=True)
    found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=_SENSITIVITY).row(0, named=True)
    alpha, c21, p2 = found["alpha"], found["cost_fn"], value(two_class_log(), pl.col("label").mean())
    lower, higher = (_sensitivity(_best_threshold(sketch, factor * alpha)) for factor in (0.99, 1.01))
    yield "alpha", alone(alpha)
    yield "c12 / c21 = alpha P2 / P1", (1 / c21, alpha * p2 / (1 - p2))
    yield "c21 at c12 = 1", alone(c21)
    yield "sensitivity", between(found["sensitivity"], _SENSITIVITY, 0.96, "0.95 or a little more")
    yield "at the best threshold, alpha 1 % lower", between(lower, _SENSITIVITY, 1.0, "0.95 or more")
    yield "at the best threshold, alpha 1 % higher", between(higher, 0.9, _SENSITIVITY, "below 0.95")


def _best_threshold(sketch: ec.Sketch, alpha: float) -> float:
    return float(sketch.best_threshold("nec", cost_fn=1.0, cost_fp=alpha, prior=0.5)["threshold"].item())


def _sensitivity(threshold: float) -> float:
    log = two_class_log()
    return value(log, ec.recall("cal", "label", threshold=threshold, score_type="llr"))


@PAPER("section-4.7")
def average_over_detectors() -> Rows:
    of_class = np.arange(3)[:, None] == LABELS
    decided = np.arange(3)[:, None] == POSTERIORS.argmax(axis=1)
    detected = POSTERIORS.T > 0.5
    scores, of_detectors = (
        float((2 * (found & of_class).sum(axis=1) / (found.sum(axis=1) + of_class.sum(axis=1))).mean())
        for found in (decided, detected)
    )
    sketch = ec.sketch(SCORED, "s", "label", thresholds=[0.5])
    mean = sketch.mean_over_targets("f1", threshold=0.5)["f1"].item()
    yield "F1 of the decisions, mean over the classes", (value(SCORED, ec.macro_f1("s", "label")), scores)
    yield "F1 of three detectors at 0.5, mean", (float(mean), of_detectors)
