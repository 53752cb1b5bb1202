"""One row per metric: what a generic test needs to know to run it through every door."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.support.oracle import Group
from tests.support.slow import mostly_slow

DECISION = ("costs", "cost_fn", "cost_fp", "prior", "threshold", "score_type", "weight")
DCF = DECISION[1:]
THRESHOLD = ("prior", "threshold", "score_type", "weight")
PRIOR = ("prior", "score_type", "weight")
RISK = ("costs", "cost_fn", "cost_fp", "prior", "score_type", "weight")
COUNT = ("costs", "score_type", "weight")
ROW = ("score_type", "weight")


@dataclass(frozen=True)
class Case:
    """A metric, its own arguments, the shared keywords that it takes, and what it is defined for."""

    name: str
    options: tuple[str, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    binary: bool = False
    score_types: tuple[str, ...] = (
        "posterior",
        "percent",
        "log_odds",
        "llr",
        "decision",
        "posteriors",
        "log_posteriors",
        "log_likelihoods",
    )
    infinite: bool = False  # inf is a proper value of it
    moved_by_prior: bool = True
    square: bool = False  # there must be as many decisions as classes
    sketched: bool = True  # sketches have it
    expected: Callable[[Group], float | None] | None = None  # where the oracle's group has no method of this name


_POSTERIORS = ("posterior", "percent", "log_odds", "llr", "posteriors", "log_posteriors", "log_likelihoods")

CASES = [
    Case("confusion", DECISION, moved_by_prior=False),
    Case("n_rows", COUNT),
    Case("n_missing", COUNT),
    Case("n_invalid", COUNT),
    Case("class_prior", COUNT),
    Case("expected_cost", DECISION),
    Case("nec", DECISION),
    Case("error_rate", DECISION),
    Case("accuracy", DECISION),
    Case("balanced_error_rate", DECISION, moved_by_prior=False),
    Case("balanced_accuracy", DECISION, moved_by_prior=False),
    Case("dcf", DCF, binary=True, score_types=("llr", "decision")),
    Case("precision", DECISION, binary=True),
    Case("recall", DECISION, binary=True, moved_by_prior=False),
    Case("specificity", DECISION, binary=True, moved_by_prior=False),
    Case("fpr", DECISION, binary=True, moved_by_prior=False),
    Case("fnr", DECISION, binary=True, moved_by_prior=False),
    Case("fbeta", DECISION, {"beta": 2.0}, binary=True),
    Case("f1", DECISION, binary=True),
    Case(
        "informedness",
        DECISION,
        binary=True,
        moved_by_prior=False,
        expected=lambda g: None if None in (g.recall(), g.fpr()) else g.recall() - g.fpr(),
    ),
    Case("mcc", DECISION, square=True),
    Case("class_precision", DECISION, sketched=False),
    Case("class_recall", DECISION, sketched=False, moved_by_prior=False),
    Case("class_f1", DECISION, sketched=False),
    Case("class_nec", DECISION, sketched=False),
    Case("macro_precision", DECISION, sketched=False),
    Case("macro_recall", DECISION, sketched=False, moved_by_prior=False, expected=lambda g: g.balanced_accuracy()),
    Case("macro_f1", DECISION, sketched=False),
    Case("f1_of_averages", DECISION, sketched=False),
    Case("micro_precision", DECISION, sketched=False),
    Case("micro_recall", DECISION, sketched=False, expected=lambda g: g.accuracy()),
    Case("micro_f1", DECISION, sketched=False),
    Case("weighted_precision", DECISION, sketched=False),
    Case("weighted_recall", DECISION, sketched=False, expected=lambda g: g.accuracy()),
    Case("weighted_f1", DECISION, sketched=False),
    Case("decision_share", DECISION, {"decision": 1}),
    Case("lr_plus", DECISION, binary=True, infinite=True, moved_by_prior=False),
    Case("lr_minus", DECISION, binary=True, infinite=True, moved_by_prior=False),
    Case("net_benefit", THRESHOLD, {"p_t": 0.3}, binary=True),
    Case("precision_gain", DECISION, binary=True, infinite=True, moved_by_prior=False),
    Case("recall_gain", DECISION, binary=True, infinite=True),
    Case("cross_entropy", PRIOR, score_types=_POSTERIORS, infinite=True),
    Case("nce", PRIOR, score_types=_POSTERIORS, infinite=True),
    Case("brier", PRIOR, score_types=_POSTERIORS),
    Case("nbs", PRIOR, score_types=_POSTERIORS),
    Case("bayes_risk", RISK, score_types=_POSTERIORS),
    Case("cllr", ROW, binary=True, score_types=("llr",), infinite=True),
    Case("epsr", PRIOR, {"a": 1.5, "b": 3.0}, binary=True, score_types=_POSTERIORS, infinite=True),
    Case("ece", PRIOR, {"bins": 2, "norm": 2}, binary=True, score_types=_POSTERIORS),
    Case("ece_mc", PRIOR, {"bins": 4, "norm": 1}, score_types=_POSTERIORS),
]

# Metrics of the order of the rows: exact in memory, and within a bound from bins (test_ranking.py); their keywords.
RANKING = {
    "auc_roc": ROW,
    "average_precision": PRIOR,
    "auprg": PRIOR,
    "eer": ROW,
    "min_expected_cost": RISK,
    "min_dcf": ("cost_fn", "cost_fp", "prior", "score_type", "weight"),
    "specificity_at_sensitivity": ROW,
    "sensitivity_at_specificity": ROW,
    "ks": ROW,
    "min_cllr": ROW,
}

# The same of one score for each class. Log-likelihoods are tested apart: what is a tie of them depends on the last digit.
_VECTORS = ("posteriors", "log_posteriors")
RANKING_OF_CLASSES = [
    Case("macro_auc_roc", PRIOR, score_types=_VECTORS, sketched=False),
    Case("weighted_auc_roc", PRIOR, score_types=_VECTORS, sketched=False),
    Case("pairwise_auc_roc", ROW, score_types=_VECTORS, sketched=False),
]

# The threshold that the order of the rows gives: an expression and a macro, exact in memory; its keywords.
LEARNED = {"best_threshold": RISK}

# Metrics of posteriors against reference posteriors, which no label enters; their keywords.
DIVERGENCES = {
    "expected_score_divergence": ("rule", "score_type", "weight"),
    "semi_empirical_epsr": ("rule", "normalized", "score_type", "weight"),
}

# A mean of metrics at several operating points: SQL writes the mean itself. Its keywords.
WITHOUT_MACRO = {"c_primary": ("operating_points", *ROW)}

# Row functions: the options they take, and whether they read a label.
ROW_FUNCTIONS = {
    "bayes_decision": (("costs", "cost_fn", "cost_fp", "prior", "threshold", "score_type"), False),
    "row_cost": (("costs", "cost_fn", "cost_fp", "prior", "threshold", "score_type"), True),
    "row_log_loss": (("prior", "score_type"), True),
    "row_brier": (("prior", "score_type"), True),
    "posterior": (("prior", "score_type"), False),
    "log_odds": (("prior", "score_type"), False),
    "llr": (("score_type",), False),
    "shift_prior": (("score_type",), False),
    "affine": (("score_type",), False),
}

# Functions that are methods of frames.
FRAME_METHODS = (
    "best_threshold",
    "calibrate",
    "calibration_loss",
    "capacity",
    "compare",
    "drift",
    "estimate",
    "report",
    "sketch",
    "validate",
)

STREAMING = {case.name for case in (*CASES, *RANKING_OF_CLASSES)} | set(ROW_FUNCTIONS) | set(DIVERGENCES)
MACROS = STREAMING | set(RANKING) | set(LEARNED)
METRICS = MACROS | set(WITHOUT_MACRO)

# One metric of each family, where each metric is planned anew, which takes the time.
OF_EACH_FAMILY = {
    "auc_roc",
    "bayes_decision",
    "cross_entropy",
    "ece",
    "fbeta",
    "min_dcf",
    "n_rows",
    "nec",
    "shift_prior",
}


def one_of_each_family(values: Iterable[Any]) -> list[Any]:
    """Parameters that are metrics, their names, or tuples that begin with them: `make test-all` has the other metrics too."""
    return mostly_slow(values, [value for value in values if _name_of(value) in OF_EACH_FAMILY])


def _name_of(value: Any) -> str:
    first = value[0] if isinstance(value, tuple) else value
    return str(getattr(first, "name", first))
