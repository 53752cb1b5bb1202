"""What metrics and groups are called where people read: in charts, on pages and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

MISSING = "(missing)"
"""A group whose key is null."""
ALL_GROUPS = "all groups"

_AT_PRIOR, _REFERENCE = "_at_prior", " at the reference prior"

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "tn": "True negatives",
        "fp": "False positives",
        "fn": "False negatives",
        "tp": "True positives",
        "n": "Rows",
        "class_prior": "Share of positives",
        "expected_cost": "Expected cost",
        "bayes_risk": "Bayes risk",
        "nec": "Normalised expected cost (NEC)",
        "dcf": "Normalised detection cost (DCF)",
        "c_primary": "Primary cost",
        "error_rate": "Error rate",
        "accuracy": "Accuracy",
        "balanced_error_rate": "Balanced error rate",
        "balanced_accuracy": "Balanced accuracy",
        "precision": "Precision",
        "recall": "Recall",
        "specificity": "Specificity",
        "fpr": "False-positive rate",
        "fnr": "False-negative rate",
        "fbeta": "F-beta",
        "f1": "F1",
        "informedness": "Informedness",
        "mcc": "Matthews correlation (MCC)",
        "lr_plus": "Positive likelihood ratio",
        "lr_minus": "Negative likelihood ratio",
        "net_benefit": "Net benefit",
        "precision_gain": "Precision gain",
        "recall_gain": "Recall gain",
        "macro_precision": "Macro-averaged precision",
        "macro_recall": "Macro-averaged recall",
        "macro_f1": "Macro-averaged F1",
        "f1_of_averages": "F1 of averages",
        "micro_precision": "Micro-averaged precision",
        "micro_recall": "Micro-averaged recall",
        "micro_f1": "Micro-averaged F1",
        "weighted_precision": "Weighted precision",
        "weighted_recall": "Weighted recall",
        "weighted_f1": "Weighted F1",
        "decision_share": "Share of the decision",
        "cross_entropy": "Cross-entropy, nats",
        "nce": "Normalised cross-entropy (NCE)",
        "brier": "Brier score",
        "nbs": "Normalised Brier score (NBS)",
        "epsr": "Expected proper scoring rule",
        "cllr": "Cost of log-likelihood ratios (Cllr), bits",
        "min_cllr": "Minimum Cllr, bits",
        "ece": "Expected calibration error (ECE)",
        "auc_roc": "Area under the ROC curve (AUC)",
        "average_precision": "Average precision",
        "auprg": "Area under the precision-recall-gain curve",
        "eer": "Equal error rate (EER)",
        "ks": "Kolmogorov-Smirnov distance",
        "min_dcf": "Minimum DCF",
        "min_expected_cost": "Minimum expected cost",
        "sensitivity_at_specificity": "Sensitivity at the stated specificity",
        "specificity_at_sensitivity": "Specificity at the stated sensitivity",
        "rcl": "Calibration loss, % of the loss (RCL)",
    }
)

# Of a system that looks at no case: what a metric is to be held against.
_NAIVE = {
    **dict.fromkeys(("nec", "dcf", "nce", "nbs", "cllr", "min_cllr", "min_dcf"), 1.0),
    **dict.fromkeys(("lr_plus", "lr_minus"), 1.0),
    **dict.fromkeys(("balanced_accuracy", "balanced_error_rate", "auc_roc"), 0.5),
    **dict.fromkeys(("informedness", "mcc", "ks"), 0.0),
}


def in_words(column: str) -> str:
    """The title of a metric, or of a column of a report that has it at the reference prior; any other name is its own.

    Examples
    --------
    >>> in_words("nec_at_prior")
    'Normalised expected cost (NEC) at the reference prior'
    """
    name, at_prior = (column.removesuffix(_AT_PRIOR), _REFERENCE * column.endswith(_AT_PRIOR))
    return TITLES[name] + at_prior if name in TITLES else column


def short(column: str) -> str:
    """The same by the abbreviation of the metric, where people have one for it.

    Examples
    --------
    >>> short("nec_at_prior"), short("recall")
    ('NEC at the reference prior', 'Recall')
    """
    title = in_words(column)
    found = re.search(r"\((\w+)\)", title)
    return title if found is None else found[1] + _REFERENCE * title.endswith(_REFERENCE)


def naive_value(column: str) -> float | None:
    """The metric of a system that treats all cases alike, where that is the same number whatever the log is."""
    return _NAIVE.get(column.removesuffix(_AT_PRIOR))


def unique(names: Iterable[str]) -> list[str]:
    """The names of groups, each unlike the others: a second "a" is "a (2)"."""
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        shown, number = name, numbers.get(name, 1)
        while shown in found:
            number += 1
            shown = f"{name} ({number})"
        numbers[name] = number
        found[shown] = None
    return [*found]


def unlike(name: str, taken: Sequence[str]) -> str:
    """The name of one more group, as `unique` has it."""
    return unique([*taken, name])[-1]
