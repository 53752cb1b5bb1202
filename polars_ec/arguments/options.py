"""Define the keywords that families of metrics share, with their texts and defaults.

Editors show the text below a key where that keyword is passed. `help` uses the same text, see `signatures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import Costs
from polars_ec.typing import IntervalMethod, IntoExpr, RankingScoreType, ScoreType, Values

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "by": (),
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
    """The kind of score. One number per row: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class,
    "llr" (log-likelihood ratio) or "decision" (index or name of the decision). `classes` or the costs define the number of
    decisions if it is not two. K numbers per row: "posteriors", "log_posteriors" (natural logarithms) or "log_likelihoods".
    Default "posterior", which means "posteriors" for a vector column."""


class WeightOption(TypedDict, total=False):
    """How much each row counts."""

    weight: IntoExpr | None
    """Column or expression of weights, finite and not negative. A row of weight w counts as w rows. Default None: 1 each."""


class LabelOptions(TypedDict, total=False):
    """Which value of the label is which class."""

    pos_label: object
    """Binary: the label value of the positive class; all other values are the negative class. Default None: labels are
    Boolean, or integers 0 to K-1, or listed in `classes`."""

    classes: Sequence[object] | None
    """The label values in class order; any other value is invalid. Decisions given as strings or categories refer to the
    classes by name. Pass either this or `pos_label`. Default None: labels are Boolean or integers 0 to K-1, or `pos_label`
    is given. With vector scores and an Enum label, the categories are the classes."""


class RowOptions(ScoreTypeOption, WeightOption, LabelOptions, total=False):
    """How to read the rows."""


class ClassPriorOption(TypedDict, total=False):
    """The class priors of the metric."""

    prior: Prior
    """Class priors at which to compute the metric. Pass the prior of the positive class, one per class (a sequence in class
    order, or a mapping from class), "uniform", or an expression that is constant in the group. Posteriors and decisions stay
    as they are. "llr" and "log_likelihoods" need a prior to become posteriors. Default None: the group's own priors."""


class DecisionThresholdOption(TypedDict, total=False):
    """The threshold of binary decisions."""

    threshold: float | IntoExpr | None
    """Binary: decide for the positive class if score > threshold (strictly), on the scale of the score as given. Pass a number,
    or a column name or expression with one threshold per row. A null threshold makes the value null. Default None: Bayes
    decisions, which minimise the expected cost."""


class ErrorCostOptions(TypedDict, total=False):
    """The costs of the two kinds of binary errors."""

    cost_fn: float
    """Binary: the cost of a miss, which is a positive decided negative. Default 1."""

    cost_fp: float
    """Binary: the cost of a false alarm, which is a negative decided positive. Default 1."""


class RowCostOptions(TypedDict, total=False):
    """The costs of the two kinds of binary errors, which may differ by row."""

    cost_fn: float | IntoExpr
    """Binary: the cost of a miss, which is a positive decided negative. A number, or a column name or expression with one cost
    per row. A cost that is null, NaN, negative or infinite makes the value null. Default 1."""

    cost_fp: float | IntoExpr
    """Binary: the cost of a false alarm, which is a negative decided positive. A number, or one cost per row as for `cost_fn`.
    Default 1."""


class CostMatrixOption(TypedDict, total=False):
    """The costs of all decisions."""

    costs: Costs | None
    """Cost matrix, K x M: a `CostMatrix` or nested sequence, with true classes as rows and decisions as columns. It replaces
    `cost_fn` and `cost_fp`. Default None: those two costs, or a cost of 1 for every error with K > 2 classes."""


class CountOptions(RowOptions, total=False):
    """Row options, and the costs whose shape defines the number of classes and decisions."""

    costs: Costs | None
    """Cost matrix, K x M: a `CostMatrix` or nested sequence. Only its shape matters, and only for a List column or
    `score_type="decision"`. Default None: as many decisions as classes."""


class PriorOptions(RowOptions, ClassPriorOption, total=False):
    """Row options, and the class priors of the metric."""


class CalibrationOptions(WeightOption, LabelOptions, total=False):
    """Prior options for scores that a calibrator turns into posteriors."""

    score_type: ScoreType | Literal["raw"]
    """The kind of score. One number per row: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class,
    "llr" (log-likelihood ratio) or "raw", any real score that is higher for the positive class. K numbers per row:
    "posteriors" or "log_posteriors" (natural logarithms). Default "posterior", which means "posteriors" for a vector column."""

    prior: Prior
    """Class priors of the fit, in the same forms as for `report`. Rows of class i are weighted by P_i over their share, and
    posteriors refer to these priors. Default None: the group's own priors."""


class ThresholdOptions(PriorOptions, DecisionThresholdOption, total=False):
    """Prior options, and the threshold of binary decisions."""


class DcfOptions(ThresholdOptions, ErrorCostOptions, total=False):
    """Threshold options, and the costs of the two kinds of binary errors."""


class DecisionOptions(ThresholdOptions, RowCostOptions, CostMatrixOption, total=False):
    """All options of a metric of decisions."""


class PageOptions(RowOptions, DecisionThresholdOption, RowCostOptions, CostMatrixOption, total=False):
    """How a page reads the rows, and its operating point."""


class SketchOptions(WeightOption, LabelOptions, ClassPriorOption, RowCostOptions, CostMatrixOption, total=False):
    """All options of a sketch, which accepts raw scores, but no column as threshold; as costs only with `reduction="decisions"`."""

    score_type: ScoreType | Literal["raw"]
    """The kind of score. One number per row: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class,
    "llr" (with losses at a prior of 0.5), or "raw", any real score on a grid uniform in ln|score|.
    K numbers per row: "posteriors", "log_posteriors" or "log_likelihoods", which become posteriors. Default "posterior"."""

    threshold: float | None
    """The threshold at which the sketch decides, exactly: score > threshold (strictly), on the scale of the score as given.
    Default None: the Bayes threshold of the costs."""


class EstimateOptions(WeightOption, LabelOptions, ClassPriorOption, ErrorCostOptions, CostMatrixOption, total=False):
    """The options of an estimate, which has one threshold and one cost of each error for all rows."""

    score_type: ScoreType
    """The kind of score. One number per row: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class.
    K numbers per row: "posteriors" or "log_posteriors". Default "posterior"."""

    threshold: float | None
    """Decide for the positive class if score > threshold (strictly), on the scale of the score as given. Default None: Bayes
    decisions, which minimise the expected cost."""


class CurveOptions(LabelOptions, total=False):
    """How a chart reads the rows of a log, or values; a sketch has read them already."""

    by: IntoExpr | Sequence[IntoExpr] | Values
    """For a log: names or expressions of the group columns. For values: the group of each row.
    Default (): one group."""

    score_type: ScoreType | Literal["raw"]
    """The kind of score, as for `sketch`. Default "posterior"."""

    weight: IntoExpr | Values | None
    """The weights of the rows: a column or expression, or values. Default None: 1 each."""

    cluster: IntoExpr | Values | None
    """The cluster column, or the cluster of each value, which groups correlated rows, such as the user or the day. Default None:
    independent rows."""

    buckets: int
    """The number of hash buckets for the clusters, from 5 to 1000. Default 100."""


class RiskOptions(PriorOptions, ErrorCostOptions, CostMatrixOption, total=False):
    """Prior options and costs, without a threshold: decisions are always Bayes decisions."""


class RowRiskOptions(PriorOptions, RowCostOptions, CostMatrixOption, total=False):
    """Prior options and costs that may differ by row."""


class RankingScoreTypeOption(TypedDict, total=False):
    """What the scores are, for ranking metrics."""

    score_type: RankingScoreType
    """The kind of score, one number per row: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class,
    "llr" (log-likelihood ratio) or "raw", any real number that is higher for the positive class. Ranking metrics use only the
    order; the kind defines which values are invalid. Infinite values are invalid only as posteriors. Default "posterior"."""


class RankingOptions(RankingScoreTypeOption, WeightOption, LabelOptions, total=False):
    """How to read the rows of a ranking metric."""


class RankingPriorOptions(RankingOptions, ClassPriorOption, total=False):
    """Ranking options, and the class priors of the metric."""


class RankingDetectionOptions(RankingPriorOptions, ErrorCostOptions, total=False):
    """Ranking options with a prior, and the costs of the two kinds of binary errors."""


class RankingRiskOptions(RankingDetectionOptions, CostMatrixOption, total=False):
    """Ranking options with a prior and costs."""


class CapacityOptions(RankingPriorOptions, RowCostOptions, CostMatrixOption, total=False):
    """Ranking options with a prior and costs that may differ by row."""


class ScoreOptions(ScoreTypeOption, total=False):
    """What the scores are, and the prior that turns likelihoods into posteriors."""

    prior: Prior
    """Class priors that turn "llr" and "log_likelihoods" into posteriors; other score types do not need them. Pass the prior
    of the positive class, one per class (a sequence in class order, or a mapping from class), "uniform", or an expression.
    Default None: no prior."""


class DivergenceOptions(WeightOption, total=False):
    """How to read posteriors and reference posteriors."""

    score_type: ScoreType
    """The kind of both score and reference: "posterior", "percent" (posterior times 100) or "log_odds" of the positive class, or
    with K numbers per row "posteriors" or "log_posteriors" (natural logarithms). Default "posterior", which means
    "posteriors" for a vector column."""


class RowDecisionOptions(ScoreOptions, DecisionThresholdOption, RowCostOptions, CostMatrixOption, total=False):
    """Options of a decision for one row, without its label."""


class RowScoreOptions(ScoreOptions, LabelOptions, total=False):
    """Options of a loss of one row, without weight."""


class LabelledDecisionOptions(RowDecisionOptions, LabelOptions, total=False):
    """Options of the cost of one row, without weight."""


class IntervalOptions(TypedDict, total=False):
    """All options of intervals: their level and method, and which rows are correlated."""

    interval: float | None
    """The level of the confidence intervals, between 0 and 1, such as 0.95: how often they contain the value of an infinite log.
    Default None: no intervals."""

    method: IntervalMethod
    """The method of the intervals. "influence" uses the influence of each row or cluster on the value. "bootstrap" resamples rows
    or clusters with replacement and takes percentiles; "bca" also corrects bias and acceleration. Percentiles cover too rarely in
    small groups: with 5 positives, nominal 95 % intervals cover 74 % (recall) or 72 % (AUC). Bounds from resampling are null if
    all resamples agree, as at rates of 0 and 1, or if too many of them lack a class. Default "influence"."""

    replicates: int
    """The number of resamples, at least 2, or 100 for "bca". Default 1000."""

    seed: int
    """The random seed, a whole number from 0. The same log and seed give the same bounds. Default 0."""

    cluster: IntoExpr | None
    """Column name or expression of the cluster column, which groups correlated rows, such as the user or the day. A row with a null
    there is its own cluster. Without it rows count as independent; if they are correlated, the intervals are too narrow.
    Default None: independent rows."""

    buckets: int
    """The number of buckets to which clusters are assigned by hash, as by `bucket`, from 5 to 1000. Default 100."""


class ReportOptions(DecisionOptions, IntervalOptions, total=False):
    """All options of a report."""


class CalibrationLossOptions(RiskOptions, IntervalOptions, total=False):
    """All options of the losses before and after calibration."""
