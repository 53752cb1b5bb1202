"""Types of the public functions, and the keywords that families of metrics share, each documented once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import polars as pl

if TYPE_CHECKING:
    from polars_ec.costs import CostMatrix

__all__ = [
    "Costs",
    "CountOptions",
    "DcfOptions",
    "DecisionOptions",
    "DetectionOptions",
    "DivergenceOptions",
    "EceNorm",
    "EerMethod",
    "IntoExpr",
    "Prior",
    "PriorOptions",
    "Reduction",
    "RiskOptions",
    "RowCostOptions",
    "RowDecisionOptions",
    "RowOptions",
    "RowScoreOptions",
    "Rule",
    "ScoreOptions",
    "ScoreType",
    "ScoreTypeOption",
    "ScoringRule",
    "ThresholdOptions",
]

IntoExpr: TypeAlias = "str | pl.Expr"
"""A column's name, or an expression."""

ScoreType: TypeAlias = Literal[
    "posterior",
    "log_odds",
    "llr",
    "decision",
    "posteriors",
    "log_posteriors",
    "log_likelihoods",
]
"""What the scores are. One number a row (posterior or log-odds of the positive class, log-likelihood ratio, index of
the decision taken) or a vector of K a row (posteriors, their natural logs, log-likelihoods of the classes)."""

ScoringRule: TypeAlias = Literal["cross_entropy", "brier"]
"""The logarithmic loss, or the squared error over K."""

EceNorm: TypeAlias = Literal[1, 2]
"""Mean absolute gap, or root mean square gap."""

EerMethod: TypeAlias = Literal["hull", "linear"]
"""On the convex hull of the ROC curve, or linear between the two points of the curve around FPR = FNR."""

Reduction: TypeAlias = Literal["one_vs_rest", "top_label"]
"""Binary problems that K posteriors make: each class against all others, or whether the likeliest class is the true one."""

Rule: TypeAlias = Literal["cross_entropy", "brier", "bayes_risk"]
"""A proper scoring rule; "bayes_risk" is the cost of Bayes decisions."""

Costs: TypeAlias = "CostMatrix | Sequence[Sequence[float]]"
"""K x M costs, rows = true class, columns = decision."""

Prior: TypeAlias = "float | Sequence[float] | Mapping[Any, float] | Literal['uniform'] | pl.Expr | None"
"""Class priors: None (those of the group at hand), the positive class's share, one share per class (a sequence in class
order, or a mapping from class), "uniform", or an expression that is constant in the group."""


class RowOptions(TypedDict, total=False):
    """How to read the rows.

    score_type
        What the scores are, see `ScoreType`. Default "posterior" (for a vector column: "posteriors").
    weight
        Column or expression of non-negative finite weights; a row of weight w counts as w rows. Default None: 1.
    pos_label
        Binary: the label's value that is the positive class; every other value is the negative class.
    classes
        The label's values in class order; a value that is not listed is wrong. Needed, if pos_label is not given,
        unless the labels are Boolean or integers 0..K-1.
    """

    score_type: ScoreType
    weight: IntoExpr | None
    pos_label: object
    classes: Sequence[object] | None


class CountOptions(RowOptions, total=False):
    """Row options, and the costs whose shape says how many classes and decisions there are.

    costs
        K x M cost matrix. Only its shape matters here, and only for score_type "decision" or a List column.
    """

    costs: Costs | None


class PriorOptions(RowOptions, total=False):
    """Row options, and the class priors that weigh the classes.

    prior
        See `Prior`. Default None: the shares of the classes in the group. The value is the one the metric would have,
        were the class prior that one; posteriors and decisions stay as they are. Only "llr" and "log_likelihoods" are
        turned into posteriors with it, and so need it.
    """

    prior: Prior


class DetectionOptions(PriorOptions, total=False):
    """Prior options, and the costs of the two kinds of binary errors, as in `DcfOptions`."""

    cost_fn: float
    cost_fp: float


class ThresholdOptions(PriorOptions, total=False):
    """Prior options, and the threshold of binary decisions.

    threshold
        Decide for the positive class where score > threshold, strictly, on the scale of the score as given.
    """

    threshold: float | None


class DcfOptions(ThresholdOptions, total=False):
    """Threshold options, and the costs of the two kinds of binary errors.

    cost_fn, cost_fp
        Cost of missing a positive, and of a false alarm. Default 1 each.
    """

    cost_fn: float
    cost_fp: float


class DecisionOptions(DcfOptions, total=False):
    """All options of a metric of decisions.

    costs
        K x M cost matrix, rows = true class, columns = decision; takes the place of cost_fn and cost_fp. Default None.
        Without threshold, decisions are Bayes decisions for these costs.
    """

    costs: Costs | None


class RiskOptions(PriorOptions, total=False):
    """Prior options and costs (as in `DecisionOptions`), without a threshold: decisions are always Bayes decisions."""

    cost_fn: float
    cost_fp: float
    costs: Costs | None


class ScoreTypeOption(TypedDict, total=False):
    """What the scores are: `score_type`, as in `RowOptions`."""

    score_type: ScoreType


class ScoreOptions(ScoreTypeOption, total=False):
    """What the scores are, and the prior that turns likelihoods into posteriors: as in `PriorOptions`, row by row."""

    prior: Prior


class DivergenceOptions(ScoreTypeOption, total=False):
    """How to read posteriors and reference posteriors.

    score_type
        What both are: "posterior" (default; for vector columns "posteriors"), "log_odds" or "log_posteriors".
    weight
        As in `RowOptions`.
    """

    weight: IntoExpr | None


class RowDecisionOptions(ScoreOptions, total=False):
    """Options of a decision for one row, without its label: as in `DecisionOptions`."""

    threshold: float | None
    cost_fn: float
    cost_fp: float
    costs: Costs | None


class RowScoreOptions(ScoreOptions, total=False):
    """Options of a loss of one row: as in `PriorOptions`, without weight."""

    pos_label: object
    classes: Sequence[object] | None


class RowCostOptions(RowDecisionOptions, total=False):
    """Options of the cost of one row: as in `DecisionOptions`, without weight."""

    pos_label: object
    classes: Sequence[object] | None
