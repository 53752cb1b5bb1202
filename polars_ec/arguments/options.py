"""The keywords that families of metrics share: what they mean, each said once, and their defaults.

Editors show the text below a key where that keyword is passed; `help` takes it from here too, see `signatures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import Costs
from polars_ec.typing import IntervalMethod, IntoExpr, RankingScoreType, ScoreType

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "costs": None,
        "cost_fn": 1.0,
        "cost_fp": 1.0,
        "prior": None,
        "threshold": None,
        "score_type": "posterior",
        "weight": None,
        "pos_label": None,
        "classes": None,
        "interval": None,
        "cluster": None,
        "buckets": 100,
        "method": "influence",
        "replicates": 1000,
        "seed": 0,
    }
)


class ScoreTypeOption(TypedDict, total=False):
    """What the scores are."""

    score_type: ScoreType
    """What the scores are. One number a row: "posterior", "percent" (it times 100)
    or "log_odds" of the positive class, "llr" (log-likelihood ratio)
    or "decision" (the decision taken: its index, or its name; `classes` or costs say how many there are if not two). A vector of
    K a row: "posteriors", "log_posteriors" (natural logarithms) or "log_likelihoods". Default "posterior", which for a vector
    column means "posteriors"."""


class WeightOption(TypedDict, total=False):
    """How much each row counts."""

    weight: IntoExpr | None
    """Column or expression of weights, finite and not negative: a row of weight w counts as w rows. Default None: 1 each."""


class LabelOptions(TypedDict, total=False):
    """Which value of the label is which class."""

    pos_label: object
    """Binary: the label's value that is the positive class; every other value is the negative class. Default None: labels
    are Boolean, or integers 0 to K-1, or `classes` lists them."""

    classes: Sequence[object] | None
    """The label's values in class order; a value that is not listed is wrong. Decisions that are strings or categories are
    the classes of that name. Pass it or `pos_label`, not both. Default None: labels are Boolean, or integers 0 to K-1, or
    `pos_label` is given, or scores are vectors and the label is an Enum, whose categories are the classes."""


class RowOptions(ScoreTypeOption, WeightOption, LabelOptions, total=False):
    """How to read the rows."""


class ClassPriorOption(TypedDict, total=False):
    """The class priors that weigh the classes."""

    prior: Prior
    """Class priors that weigh the classes: the positive class's, or one per class (a sequence in class order, or a mapping
    from class), "uniform", or an expression that is constant in the group. The value is the one that the metric would have
    at these priors; posteriors and decisions stay as they are. Only "llr" and "log_likelihoods" need it, which it turns
    into posteriors. Default None: the shares of the classes in the group."""


class RowPriorOption(TypedDict, total=False):
    """The class priors that turn likelihoods into posteriors, row by row."""

    prior: Prior
    """Class priors that turn "llr" and "log_likelihoods" into posteriors, and are needed for these only: the positive
    class's, or one per class (a sequence in class order, or a mapping from class), "uniform", or an expression. Default
    None: no prior."""


class DecisionThresholdOption(TypedDict, total=False):
    """The threshold of binary decisions."""

    threshold: float | IntoExpr | None
    """Binary: decide for the positive class where score > threshold, strictly, on the scale of the score as given. A number,
    or a column's name or an expression for a threshold of each row; one null in it makes the value null. Default None: Bayes
    decisions, those of least expected cost."""


class ErrorCostOptions(TypedDict, total=False):
    """The costs of the two kinds of binary errors."""

    cost_fn: float
    """Binary: the cost of a miss, which is a positive decided negative. Default 1."""

    cost_fp: float
    """Binary: the cost of a false alarm, which is a negative decided positive. Default 1."""


class RowCostOptions(TypedDict, total=False):
    """The costs of the two kinds of binary errors, which may differ by row."""

    cost_fn: float | IntoExpr
    """Binary: the cost of a miss, which is a positive decided negative. A number, or a column's name or an expression for a
    cost of each row; one that is null, NaN, negative or infinite makes the value null. Default 1."""

    cost_fp: float | IntoExpr
    """Binary: the cost of a false alarm, which is a negative decided positive: a number, or one of each row as for `cost_fn`.
    Default 1."""


class CostMatrixOption(TypedDict, total=False):
    """The costs of all decisions."""

    costs: Costs | None
    """Cost matrix, K x M: a `CostMatrix` or nested sequence, whose rows are true classes and whose columns are decisions.
    It replaces `cost_fn` and `cost_fp`. Default None: the costs of these two, and for K > 2 classes 1 for every error."""


class CountOptions(RowOptions, total=False):
    """Row options, and the costs whose shape says how many classes and decisions there are."""

    costs: Costs | None
    """Cost matrix, K x M: a `CostMatrix` or nested sequence. Here only its shape matters, and only for a List column or
    `score_type="decision"`. Default None: as many decisions as classes."""


class PriorOptions(RowOptions, ClassPriorOption, total=False):
    """Row options, and the class priors that weigh the classes."""


class CalibrationOptions(WeightOption, LabelOptions, total=False):
    """Prior options for scores that are to become posteriors."""

    score_type: ScoreType | Literal["raw"]
    """What the scores are. One number a row: "posterior", "percent" (it times 100)
    or "log_odds" of the positive class, "llr" (log-likelihood ratio)
    or "raw", any real score that is higher for the positive class. A vector of K a row: "posteriors" or "log_posteriors"
    (natural logarithms). Default "posterior", which for a vector column means "posteriors"."""

    prior: Prior
    """Class priors of the fit, stated as for `report`: rows of class i weigh P_i over their share, and posteriors are at
    these priors. Default None: the group's own shares."""


class DetectionOptions(PriorOptions, ErrorCostOptions, total=False):
    """Prior options, and the costs of the two kinds of binary errors."""


class ThresholdOptions(PriorOptions, DecisionThresholdOption, total=False):
    """Prior options, and the threshold of binary decisions."""


class DcfOptions(ThresholdOptions, ErrorCostOptions, total=False):
    """Threshold options, and the costs of the two kinds of binary errors."""


class DecisionOptions(ThresholdOptions, RowCostOptions, CostMatrixOption, total=False):
    """All options of a metric of decisions."""


class PageOptions(RowOptions, DecisionThresholdOption, RowCostOptions, CostMatrixOption, total=False):
    """How a page reads the rows, and where it decides."""


class SketchOptions(WeightOption, LabelOptions, ClassPriorOption, ErrorCostOptions, CostMatrixOption, total=False):
    """All options of a sketch, which takes raw scores, and no column for a threshold or a cost."""

    score_type: ScoreType | Literal["raw"]
    """What the scores are: "posterior", "percent" (it times 100)
    or "log_odds" of the positive class, "llr" (losses are at even prior), or here also
    "raw", any real score, on a grid that is equal in ln|score|, hence free of scale. A vector of K a row:
    "posteriors", "log_posteriors" or "log_likelihoods", which become posteriors. Default "posterior"."""

    threshold: float | None
    """The threshold that is exact in the sketch and at which it decides: score > threshold, strictly, on the scale of the
    score as given. Default None: the Bayes threshold of the costs."""


class RiskOptions(DetectionOptions, CostMatrixOption, total=False):
    """Prior options and costs, without a threshold: decisions are always Bayes decisions."""


class RowRiskOptions(PriorOptions, RowCostOptions, CostMatrixOption, total=False):
    """Prior options and costs that may differ by row."""


class RankingScoreTypeOption(TypedDict, total=False):
    """What the scores are whose order is judged."""

    score_type: RankingScoreType
    """What the scores are, one number a row: "posterior", "percent" (it times 100)
    or "log_odds" of the positive class, "llr" (log-likelihood ratio)
    or "raw", any real number that is higher for the positive class; the order alone counts, and this says which numbers
    are wrong. Infinite ones are wrong as posteriors only. Default "posterior"."""


class RankingOptions(RankingScoreTypeOption, WeightOption, LabelOptions, total=False):
    """How to read the rows of a ranking metric."""


class RankingPriorOptions(RankingOptions, ClassPriorOption, total=False):
    """Ranking options, and the class priors that weigh the classes."""


class RankingDetectionOptions(RankingPriorOptions, ErrorCostOptions, total=False):
    """Ranking options with a prior, and the costs of the two kinds of binary errors."""


class RankingRiskOptions(RankingDetectionOptions, CostMatrixOption, total=False):
    """Ranking options with a prior and costs."""


class ScoreOptions(ScoreTypeOption, RowPriorOption, total=False):
    """What the scores are, and the prior that turns likelihoods into posteriors."""


class DivergenceOptions(WeightOption, total=False):
    """How to read posteriors and reference posteriors."""

    score_type: ScoreType
    """What the score and the reference are: "posterior", "percent" (it times 100)
    or "log_odds" of the positive class, or a vector of K a row,
    "posteriors" or "log_posteriors" (natural logarithms). Default "posterior", which for a vector column means
    "posteriors"."""


class RowDecisionOptions(ScoreOptions, DecisionThresholdOption, RowCostOptions, CostMatrixOption, total=False):
    """Options of a decision for one row, without its label."""


class RowScoreOptions(ScoreOptions, LabelOptions, total=False):
    """Options of a loss of one row, without weight."""


class LabelledDecisionOptions(RowDecisionOptions, LabelOptions, total=False):
    """Options of the cost of one row, without weight."""


class LevelOptions(TypedDict, total=False):
    """Whether there are intervals, and how they are made."""

    interval: float | None
    """The level of the intervals, between 0 and 1, such as 0.95: how often they hold what a log without end would give.
    Default None: no intervals."""

    method: IntervalMethod
    """How they are made: "influence", from what each row or cluster adds to the value; or from rows or clusters that are drawn
    anew, with replacement: "bootstrap", the percentiles of the values then, or "bca", those with bias and acceleration corrected.
    Percentiles cover too rarely in small groups, and are no yardstick there: with 5 positives 74 % (recall) and 72 % (AUC), where 95 %
    were asked for. Limits of draws are null where all draws agree, as at rates of 0 and 1, which tells of no width; and where so many of
    them lack a class that limits would hang on these. Default "influence"."""

    replicates: int
    """How many times rows or clusters are drawn anew, at least 2, and for "bca" 100. Default 1000."""

    seed: int
    """Of what is drawn at random, a whole number from 0: the same log and seed give the same limits. Default 0."""


class ClusterOptions(TypedDict, total=False):
    """Which rows are correlated."""

    cluster: IntoExpr | None
    """The key that correlated rows share, such as the user or the day, as a column's name or an expression; a row without one is a
    cluster of its own. Without it rows are taken as independent, and where they are not, intervals are too short, often many times.
    Default None: independent rows."""

    buckets: int
    """How many parts clusters are dealt out to by a hash of the key, as `bucket` does, from 5 to 1000. Default 100."""


class IntervalOptions(LevelOptions, ClusterOptions, total=False):
    """All options of intervals."""


class ReportOptions(DecisionOptions, IntervalOptions, total=False):
    """All options of a report."""


class CalibrationLossOptions(RiskOptions, IntervalOptions, total=False):
    """All options of the losses before and after calibration."""
