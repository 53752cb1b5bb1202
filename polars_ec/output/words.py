"""How metrics, groups, costs and objects are called where people read: charts, pages, the terminal and notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

MISSING = "(missing)"
"""A group whose key is null."""
ALL_GROUPS = "all groups"

_SHOWN_NUMBERS = 5
_AT_PRIOR, _REFERENCE = "_at_prior", " at the reference prior"

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "tn": "True negatives",
        "fp": "False positives",
        "fn": "False negatives",
        "tp": "True positives",
        "n": "Rows",
        "class_prior": "Base rate",
        "expected_cost": "Expected cost",
        "bayes_risk": "Bayes risk",
        "elementary_score": "Mean elementary score",
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
        "decision_share": "Share of positive decisions",
        "cross_entropy": "Cross-entropy, nats",
        "nce": "Normalised cross-entropy (NCE)",
        "brier": "Brier score",
        "nbs": "Normalised Brier score (NBS)",
        "epsr": "Expected proper scoring rule",
        "cllr": "Cost of log-likelihood ratios (Cllr), bits",
        "min_cllr": "Minimum Cllr, bits",
        "ece": "Expected calibration error (ECE)",
        "auc_roc": "Area under the ROC curve (AUC)",
        "macro_auc_roc": "Macro one-vs-rest AUC",
        "weighted_auc_roc": "Weighted one-vs-rest AUC",
        "pairwise_auc_roc": "Pairwise AUC (Hand and Till)",
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
    **dict.fromkeys(("balanced_accuracy", "balanced_error_rate"), 0.5),
    **dict.fromkeys(("auc_roc", "macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc"), 0.5),
    **dict.fromkeys(("informedness", "mcc", "ks"), 0.0),
}


def in_words(column: str, at_prior: str = _REFERENCE) -> str:
    """The title of a metric, or of a column of a report that has it at the reference prior; any other name is its own.

    Examples
    --------
    >>> in_words("nec_at_prior"), in_words("recall_at_prior", " at prior 0.2")
    ('Normalised expected cost (NEC) at the reference prior', 'Recall at prior 0.2')
    """
    name, at_prior = (column.removesuffix(_AT_PRIOR), at_prior * column.endswith(_AT_PRIOR))
    return TITLES[name] + at_prior if name in TITLES else column


def short(column: str) -> str:
    """The abbreviation of a metric, or its title where it has none.

    Examples
    --------
    >>> short("nec_at_prior"), short("recall")
    ('NEC at the reference prior', 'Recall')
    """
    title = in_words(column)
    found = re.search(r"\((\w+)\)", title)
    return title if found is None else found[1] + _REFERENCE * title.endswith(_REFERENCE)


def naive_value(column: str) -> float | None:
    """The metric of the naive system, if it does not depend on the log."""
    return _NAIVE.get(column.removesuffix(_AT_PRIOR))


def unique(names: Iterable[str]) -> list[str]:
    """The names of groups, each unlike the others: a second "a" is "a (2)"."""
    taken: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        shown, number = name, numbers.get(name, 1)
        while shown in taken:
            number += 1
            shown = f"{name} ({number})"
        numbers[name] = number
        taken[shown] = None
    return [*taken]


def unlike(name: str, taken: Sequence[str]) -> str:
    """The name of one more group, as `unique` has it."""
    return unique([*taken, name])[-1]


class Described:
    """Shown by its facts: on a line, or in a notebook as a table with a row for each."""

    def _facts(self) -> dict[str, str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(f'{fact}: {value}' for fact, value in self._facts().items())})"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, (), [*self._facts().items()])


def html_table(caption: str, header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table whose first column names its rows; all text is escaped."""
    # Imported here, for only notebooks need it.
    from html import escape

    head = f"<thead><tr>{''.join(f'<th>{escape(str(name))}</th>' for name in header)}</tr></thead>" if header else ""
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(f'<td>{escape(str(value))}</td>' for value in others)}</tr>"
        for first, *others in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def number(value: float) -> str:
    """A number, without the .0 of a whole one."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def costs_in_words(costs: Sequence[Sequence[float]]) -> str:
    """The costs of two classes, a row each, and two decisions."""
    (right_0, alarm), (miss, right_1) = costs
    if right_0 == right_1 == 0:
        return f"a miss {number(miss)}, a false alarm {number(alarm)}"
    of_0, of_1 = f"{number(right_0)}, {number(alarm)}", f"{number(miss)}, {number(right_1)}"
    return f"of decisions 0 and 1: class 0 {of_0}; class 1 {of_1}"


def numbers(values: Sequence[float]) -> str:
    """Ascending numbers; of many how many, from where to where."""
    if len(values) > _SHOWN_NUMBERS:
        return f"{len(values)} from {number(values[0])} to {number(values[-1])}"
    return ", ".join(map(number, values)) or "none"


def groups_by(n_groups: int, keys: Sequence[str]) -> str:
    """Count the groups, and name their keys."""
    if not keys:
        return "none"
    shown = ", ".join(keys)
    return f"{n_groups:,} by {shown}"


def first_line(error: BaseException) -> str:
    """The message without the plan or the query that follows it."""
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0]
