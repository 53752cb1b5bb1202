"""The lecture, slide by slide: they are not numbered, and entries are named by their subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_ec.papers.entries import Entry, Paper
from polars_ec.papers.lecture import calibrating, curves, decisions, detection

if TYPE_CHECKING:
    from altair import TopLevelMixin


def _score_histogram() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.score_histogram()


def _error_rates() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.error_rates()


def _roc() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.roc()


def _det() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.det()


def _bayes_error() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.bayes_error()


def _tippett() -> TopLevelMixin:
    from polars_ec.papers.lecture import charts

    return charts.tippett()


_EVALUATION = [
    Entry(
        "accuracy",
        "Accuracy",
        "equation",
        "accuracy and error rate from counts",
        "ec.accuracy, ec.error_rate",
        decisions.accuracy,
    ),
    Entry(
        "rain",
        "Rain",
        "table",
        "a forecast beside none: accuracies of 86 % and 90 %",
        "ec.accuracy, ec.nec",
        decisions.rain_accuracy,
    ),
    Entry(
        "confusion-matrix",
        "Confusion matrix",
        "table",
        "counts by class and decision",
        "ec.confusion",
        decisions.confusion_matrix,
    ),
    Entry(
        "error-rates",
        "Accuracy measures",
        "equation",
        "FNR, FPR, TPR, TNR",
        "ec.fnr, ec.fpr, ec.recall, ec.specificity",
        decisions.error_rates,
    ),
    Entry(
        "weighted-accuracy",
        "Weighted accuracy",
        "equation",
        "a mean of FPR and FNR with a weight",
        "ec.expected_cost",
        decisions.weighted_accuracy,
    ),
    Entry(
        "scores",
        "Scores",
        "equation",
        "LLRs, posterior log ratios, scores without a scale",
        "ec.llr, ec.log_odds",
        curves.scores,
    ),
    Entry(
        "score-thresholding",
        "Score thresholding",
        "figure",
        "scores of both classes, and decisions by a threshold",
        "ec.bayes_decision",
        decisions.score_threshold,
        _score_histogram,
    ),
    Entry(
        "error-rates-by-threshold",
        "Error rates by threshold",
        "figure",
        "FPR and FNR over the threshold, and the equal error rate",
        "ec.fpr, ec.fnr, ec.eer, ec.Sketch.cost_curve",
        curves.error_rates_by_threshold,
        _error_rates,
    ),
    Entry("roc", "ROC curve", "figure", "TPR over FPR", "ec.plot.roc, ec.auc_roc", curves.roc, _roc),
    Entry(
        "det", "DET curve", "figure", "FNR over FPR, on normal deviates", "ec.plot.det, ec.Sketch.det", curves.det, _det
    ),
]

_DECISIONS = [
    Entry(
        "expected-cost",
        "Expected cost of an action",
        "equation",
        "costs weighed by posteriors",
        "ec.expected_cost",
        decisions.expected_costs,
    ),
    Entry(
        "bayes-decision",
        "Bayes decision",
        "text",
        "three classes: costs .95, .75, 1.05, and the unlikeliest class",
        "ec.bayes_decision",
        decisions.bayes_decision,
    ),
    Entry(
        "binary-costs",
        "Binary costs",
        "text",
        "costs of right decisions can be taken off",
        "ec.CostMatrix.normalized",
        decisions.binary_costs,
    ),
    Entry(
        "binary-decision",
        "Binary decision",
        "equation",
        "the lower of two costs, and the sign of r(x)",
        "ec.bayes_decision",
        decisions.binary_decision,
    ),
    Entry(
        "llr-decision",
        "Decision by LLR",
        "equation",
        "prior and costs as a threshold on the LLR",
        "ec.bayes_decision",
        decisions.llr_decision,
    ),
    Entry(
        "effective-prior",
        "Effective prior",
        "equation",
        "applications that decide the same",
        "ec.effective_prior",
        decisions.effective_prior,
    ),
    Entry(
        "bayes-cost",
        "Cost of Bayes decisions",
        "equation",
        "of a row, given its class",
        "ec.row_cost",
        decisions.bayes_cost,
    ),
]

_COSTS = [
    Entry(
        "bayes-risk",
        "Bayes risk",
        "equation",
        "an integral over the densities of the classes",
        "ec.expected_cost",
        detection.bayes_risk,
    ),
    Entry(
        "empirical-bayes-risk",
        "Empirical Bayes risk",
        "text",
        "three classes, from a table of counts",
        "ec.expected_cost",
        detection.empirical_bayes_risk,
    ),
    Entry(
        "dcf-unnormalised",
        "Detection cost function (DCF)",
        "equation",
        "FNR and FPR, each times its prior and cost",
        "ec.expected_cost",
        detection.detection_cost,
    ),
    Entry(
        "dummy-systems",
        "Dummy systems",
        "equation",
        "always accept, always reject",
        "ec.expected_cost, ec.CostMatrix.naive",
        detection.dummy_systems,
    ),
    Entry(
        "dcf",
        "Normalised DCF",
        "equation",
        "divided by the better dummy system",
        "ec.dcf",
        detection.normalised_detection_cost,
    ),
    Entry(
        "dcf-scaled",
        "DCF at the effective prior",
        "equation",
        "the un-normalised cost, scaled",
        "ec.expected_cost, ec.effective_prior",
        detection.scaled_detection_cost,
    ),
    Entry(
        "error-rates-as-dcf",
        "Error rates as DCF",
        "equation",
        "error rate and weighted error rate as costs at a prior",
        "ec.error_rate, ec.balanced_error_rate",
        detection.error_rates_as_costs,
    ),
    Entry(
        "llr-threshold",
        "Optimal threshold",
        "equation",
        "of LLRs, from the effective prior",
        "ec.CostMatrix.bayes_log_odds, ec.dcf",
        detection.llr_threshold,
    ),
    Entry(
        "minimum-and-actual-dcf",
        "Minimum and actual DCF",
        "procedure",
        "at the best threshold, and at that of the prior",
        "ec.dcf, ec.min_dcf, ec.Sketch.bayes_error",
        curves.minimum_cost,
    ),
    Entry(
        "mis-calibration",
        "Mis-calibration",
        "text",
        "actual less minimum DCF",
        "ec.Sketch.bayes_error",
        curves.mis_calibration,
    ),
    Entry(
        "bayes-error-plot",
        "Bayes error plot",
        "figure",
        "DCF over the prior, before and after calibration",
        "ec.plot.bayes_error, ec.Sketch.bayes_error",
        curves.bayes_error_plot,
        _bayes_error,
    ),
    Entry(
        "tippett",
        "Tippett plot, on no slide",
        "figure",
        "shares of scores above each LLR, before and after calibration",
        "ec.plot.tippett, ec.Sketch.tippett",
        curves.tippett,
        _tippett,
    ),
]

_CALIBRATION = [
    Entry(
        "validation-threshold",
        "Threshold of a validation set",
        "procedure",
        "the best threshold there, used elsewhere",
        "ec.Sketch.best_threshold",
        calibrating.validation_threshold,
    ),
    Entry(
        "isotonic-regression",
        "Isotonic regression",
        "procedure",
        "steps that never fall (PAV)",
        "ec.calibrate",
        calibrating.isotonic_regression,
    ),
    Entry(
        "logistic-regression",
        "Prior-weighted logistic regression",
        "procedure",
        "an affine map of least weighted cross-entropy",
        "ec.calibrate",
        calibrating.logistic_regression,
    ),
    Entry(
        "gaussian-score-model",
        "Gaussian score model",
        "procedure",
        "a normal density for each class",
        "ec.calibrate",
        calibrating.gaussian_model,
    ),
    Entry(
        "score-calibration",
        "Score calibration",
        "text",
        "what each way leaves of the cost of mis-calibration",
        "ec.calibrate, ec.Calibration.apply",
        calibrating.score_calibration,
    ),
    Entry(
        "multiclass-cost",
        "Normalised multiclass cost",
        "equation",
        "the risk beside K dummy systems",
        "ec.nec, ec.CostMatrix.naive",
        detection.multiclass_cost,
    ),
]

PAPER = Paper(
    "lecture",
    "S. Cumani",
    "Bayes decisions and model evaluation",
    entries=[*_EVALUATION, *_DECISIONS, *_COSTS, *_CALIBRATION],
    notes=[
        "The lecture's tables of counts and of costs have decisions as rows and classes as columns; those of polars_ec are transposed. H_F is class 0, H_T class 1.",
        "The lecture decides for H_T where s >= t, polars_ec where the score is above the threshold; only rows whose score is t itself differ. "
        "Minimum costs and EER go over all thresholds, either way.",
        "Where two actions cost the same the lecture takes any of them, polars_ec the one of the lowest index: at a posterior of 1/2 and equal costs H_F.",
        "A weighted accuracy, alpha FPR + (1 - alpha) FNR, is a weighted error rate: the lower the better.",
        "Data of the figures are not at hand: they are drawn from 3,000 simulated scores, and their numbers are held against definitions in NumPy.",
    ],
)
