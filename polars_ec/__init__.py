"""Expected cost, proper scoring rules and calibrated metrics, per segment and per period, in Polars and DuckDB.

`import polars_ec as ec` registers the namespace `ec` on Polars expressions and frames. Every metric is a function here,
a method there, and a DuckDB macro (`ec.register(connection)`), with one spelling.
"""

import typing as _typing

from polars_ec import plot as plot
from polars_ec import spark as spark
from polars_ec.api import namespaces as namespaces
from polars_ec.api.alarms import alarms
from polars_ec.api.capacities import capacity
from polars_ec.api.comparisons import compare
from polars_ec.api.drifts import drift
from polars_ec.api.estimates import estimate
from polars_ec.api.planning import rows_needed
from polars_ec.api.reports import report
from polars_ec.api.sketches import Sketch, Windows, equivalent_cost, merge, sketch
from polars_ec.api.thresholds import best_thresholds
from polars_ec.api.validation import validate
from polars_ec.arguments.costs import CostMatrix
from polars_ec.calibration.calibration import Calibration
from polars_ec.calibration.rows import calibrate, calibration_loss
from polars_ec.exceptions import InvalidDataError, SketchError
from polars_ec.integrations import sklearn as sklearn
from polars_ec.integrations.tables import table
from polars_ec.metrics.averages import (
    f1_of_averages,
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
    weighted_f1,
    weighted_precision,
    weighted_recall,
)
from polars_ec.metrics.binary import f1, fbeta, mcc, net_benefit, precision, precision_gain, recall_gain
from polars_ec.metrics.calibration_error import ece, ece_mc
from polars_ec.metrics.classes import class_f1, class_nec, class_precision, class_recall, decision_share
from polars_ec.metrics.counts import class_prior, confusion, n_invalid, n_missing, n_rows
from polars_ec.metrics.decisions import (
    accuracy,
    balanced_accuracy,
    balanced_error_rate,
    dcf,
    error_rate,
    expected_cost,
    nec,
)
from polars_ec.metrics.divergence import expected_score_divergence, semi_empirical_epsr
from polars_ec.metrics.operating_points import c_primary, effective_prior
from polars_ec.metrics.ranking import (
    auc_roc,
    auprg,
    average_precision,
    best_threshold,
    eer,
    ks,
    macro_auc_roc,
    min_cllr,
    min_dcf,
    min_expected_cost,
    pairwise_auc_roc,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    weighted_auc_roc,
)
from polars_ec.metrics.rates import fnr, fpr, informedness, lr_minus, lr_plus, recall, specificity
from polars_ec.metrics.rows import (
    affine,
    bayes_decision,
    llr,
    log_odds,
    posterior,
    row_brier,
    row_cost,
    row_log_loss,
    shift_prior,
)
from polars_ec.metrics.scoring_rules import bayes_risk, brier, cllr, cross_entropy, epsr, nbs, nce
from polars_ec.page.report_page import report_page
from polars_ec.scores.folds import bucket, fold, stratified_fold
from polars_ec.sql.macros import register
from polars_ec.sql.report_query import report_query
from polars_ec.sql.sketch_query import sketch_query
from polars_ec.version import __version__ as __version__

__all__ = [
    "Calibration",
    "CostMatrix",
    "InvalidDataError",
    "Sketch",
    "SketchError",
    "Windows",
    "accuracy",
    "affine",
    "alarms",
    "auc_roc",
    "auprg",
    "average_precision",
    "balanced_accuracy",
    "balanced_error_rate",
    "bayes_decision",
    "bayes_risk",
    "best_threshold",
    "best_thresholds",
    "brier",
    "bucket",
    "c_primary",
    "calibrate",
    "calibration_loss",
    "capacity",
    "class_f1",
    "class_nec",
    "class_precision",
    "class_prior",
    "class_recall",
    "cllr",
    "compare",
    "confusion",
    "cross_entropy",
    "dcf",
    "decision_share",
    "drift",
    "ece",
    "ece_mc",
    "eer",
    "effective_prior",
    "epsr",
    "equivalent_cost",
    "error_rate",
    "estimate",
    "expected_cost",
    "expected_score_divergence",
    "f1",
    "f1_of_averages",
    "fbeta",
    "fnr",
    "fold",
    "fpr",
    "informedness",
    "ks",
    "llr",
    "log_odds",
    "lr_minus",
    "lr_plus",
    "macro_auc_roc",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "mcc",
    "merge",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "min_cllr",
    "min_dcf",
    "min_expected_cost",
    "n_invalid",
    "n_missing",
    "n_rows",
    "nbs",
    "nce",
    "nec",
    "net_benefit",
    "pairwise_auc_roc",
    "posterior",
    "precision",
    "precision_gain",
    "recall",
    "recall_gain",
    "register",
    "report",
    "report_page",
    "report_query",
    "row_brier",
    "row_cost",
    "row_log_loss",
    "rows_needed",
    "semi_empirical_epsr",
    "sensitivity_at_specificity",
    "shift_prior",
    "sketch",
    "sketch_query",
    "specificity",
    "specificity_at_sensitivity",
    "stratified_fold",
    "table",
    "validate",
    "weighted_auc_roc",
    "weighted_f1",
    "weighted_precision",
    "weighted_recall",
]


def __dir__() -> list[str]:
    """What users take from here, for completion: not the modules, whose names are near those of the functions."""
    return sorted([*__all__, "__version__", "plot", "sklearn", "spark"])


# A type checker is to say of such a name that there is none.
if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Imported here, for the names of a package are those of its users.
        from polars_ec.arguments.keywords import did_you_mean

        raise AttributeError(f"polars_ec has no {name!r}: {did_you_mean(name, __all__)}".rstrip(": "), name=name)
