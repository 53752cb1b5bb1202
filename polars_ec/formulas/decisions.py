"""Decision metrics: one formula for each, on sums per group, and the properties of every metric by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas import averages
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import ORDER_METRICS
from polars_ec.formulas.sums import Detector, Sums, ratio, signed_ratio, term

# Below the one, numbers are taken times the other before they divide: what overflows by it has an infinite quotient anyway.
_SMALL, _ENLARGED = 1e-300, 2.0**60


def expected_cost(sums: Sums, costs: CostMatrix) -> pl.Expr:
    return sums.over_classes(lambda of: term(of.prior, of.mean_cost(costs)))


def nec(sums: Sums, costs: CostMatrix) -> pl.Expr:
    expected, naive = expected_cost(sums, costs), sums.constant_cost(costs)
    # A column over one number is taken times its reciprocal, which is infinite for the smallest ones.
    small = pl.when(naive < _SMALL).then(ratio(expected * _ENLARGED, naive * _ENLARGED))
    return small.otherwise(ratio(expected, naive))


def error_rate(sums: Sums) -> pl.Expr:
    return sums.over_classes(lambda of: term(of.prior, of.rate(right=False)))


def accuracy(sums: Sums) -> pl.Expr:
    return sums.over_classes(lambda of: term(of.prior, of.rate(right=True)))


def balanced_error_rate(sums: Sums) -> pl.Expr:
    return sums.over_classes(lambda of: of.rate(right=False)) / sums.n_classes


def balanced_accuracy(sums: Sums) -> pl.Expr:
    return sums.over_classes(lambda of: of.rate(right=True)) / sums.n_classes


def rate_difference(sums: Sums) -> pl.Expr:
    """R_11 - R_01, from the smaller rates, which have the digits of the difference."""
    decided = sums.rate(1, [1]) - sums.rate(0, [1])
    left = sums.rate(0, [0]) - sums.rate(1, [0])
    return pl.when(sums.rate(1, [1]) > 0.5).then(left).otherwise(decided)


def mcc(sums: Sums) -> pl.Expr:
    if sums.n_classes > 2:
        return averages.class_correlation(averages.Detectors(sums))
    p0, p1 = sums.prior
    positive = sums.joint(1, [1]) + sums.joint(0, [1])
    negative = sums.joint(1, [0]) + sums.joint(0, [0])
    covariance = (p0 * p1).sqrt() * rate_difference(sums)
    return pl.when((p0 != 0) & (p1 != 0)).then(ratio(covariance, (positive * negative).sqrt()))


def likelihood_ratio(sums: Sums, decision: int) -> pl.Expr:
    """Ratio of the rates of `decision` in the positive and in the negative class."""
    return signed_ratio(sums.rate(1, [decision]), sums.rate(0, [decision]))


def net_benefit(sums: Sums, p_t: float | pl.Expr) -> pl.Expr:
    return sums.joint(1, [1]) - sums.joint(0, [1]) * (p_t / (1 - p_t))


def net_benefit_of_all(sums: Sums, p_t: pl.Expr) -> pl.Expr:
    """The net benefit of deciding every case positive."""
    return sums.prior[1] - sums.prior[0] * (p_t / (1 - p_t))


# Of decisions above a posterior t.

FormulasOverT: TypeAlias = Mapping[str, Callable[[Sums, pl.Expr], pl.Expr]]
"""Formulas by name, of the sums and of t."""


def elementary_score(sums: Sums, t: pl.Expr) -> pl.Expr:
    """The mean cost, where a miss costs 1 - t and a false alarm t."""
    return (1 - t) * sums.joint(1, [0]) + t * sums.joint(0, [1])


def risk_over_t(sums: Sums, t: pl.Expr) -> pl.Expr:
    """The mean cost, where a miss costs 1 / t and a false alarm 1 / (1 - t)."""
    of_errors = ((sums.joint(1, [0]), t), (sums.joint(0, [1]), 1 - t))
    missed, alarmed = (pl.when(error > 0).then(error / by).otherwise(error) for error, by in of_errors)
    return missed + alarmed


NET_BENEFITS: Mapping[bool, FormulasOverT] = {
    False: {"net_benefit": net_benefit, "treat_all": net_benefit_of_all},
    True: {
        "net_benefit": lambda sums, t: ratio(net_benefit(sums, t), sums.prior[1]),
        "treat_all": lambda sums, t: ratio(net_benefit_of_all(sums, t), sums.prior[1]),
    },
}
"""The curves of a decision curve; normalised by the prior of the positive class if true."""


def precision_gain(sums: Sums) -> pl.Expr:
    return 1 - signed_ratio(sums.rate(0, [1]), sums.rate(1, [1]))


def recall_gain(sums: Sums) -> pl.Expr:
    p0, p1 = sums.prior
    missed = signed_ratio(sums.rate(1, [0]), sums.rate(1, [1]))
    # Rows of class 0 move it by the prior alone, but where there are none it is known no better than precision gain.
    return pl.when((p0 != 0) & sums.rate(0, [0]).is_not_null()).then(1 - (p1 / p0 * missed).fill_nan(None))


@dataclass(frozen=True)
class Arguments:
    """Arguments of the formulas besides the sums."""

    costs: CostMatrix
    beta: float = 1.0
    p_t: float = 0.0
    decision: int = 1


Scale: TypeAlias = Literal["identity", "log", "ratio", "logit", "atanh"]
"""On which a metric is nearest to normal: shares on logit, losses on log, correlations on atanh; on log too a ratio of two shares, of which either may be small."""

Direction: TypeAlias = Literal["higher", "lower"] | None
"""Which values are better; None for a metric that is neither a loss nor a gain."""


@dataclass(frozen=True)
class Formula:
    """A decision metric: its value, direction, the scale of its intervals, and its domain.

    `square` is whether the numbers of decisions and classes must be equal.
    """

    value: Callable[[Sums, Arguments], pl.Expr]
    better: Direction
    scale: Scale
    binary: bool = True
    square: bool = False
    by_naive_cost: bool = False


CELLS = ("tn", "fp", "fn", "tp")

DECISIONS: Mapping[str, Formula] = MappingProxyType(
    {
        "tn": Formula(lambda sums, _: sums.cell(0, [0]), "higher", "identity"),
        "fp": Formula(lambda sums, _: sums.cell(0, [1]), "lower", "identity"),
        "fn": Formula(lambda sums, _: sums.cell(1, [0]), "lower", "identity"),
        "tp": Formula(lambda sums, _: sums.cell(1, [1]), "higher", "identity"),
        "expected_cost": Formula(lambda sums, a: expected_cost(sums, a.costs), "lower", "log", binary=False),
        "bayes_risk": Formula(lambda sums, a: expected_cost(sums, a.costs), "lower", "log", binary=False),
        "nec": Formula(lambda sums, a: nec(sums, a.costs), "lower", "log", binary=False, by_naive_cost=True),
        "dcf": Formula(lambda sums, a: nec(sums, a.costs), "lower", "log", binary=False, by_naive_cost=True),
        "error_rate": Formula(lambda sums, _: error_rate(sums), "lower", "logit", binary=False),
        "accuracy": Formula(lambda sums, _: accuracy(sums), "higher", "logit", binary=False),
        "balanced_error_rate": Formula(lambda sums, _: balanced_error_rate(sums), "lower", "logit", binary=False),
        "balanced_accuracy": Formula(lambda sums, _: balanced_accuracy(sums), "higher", "logit", binary=False),
        "precision": Formula(lambda sums, _: Detector.of_positive(sums).precision(), "higher", "logit"),
        "recall": Formula(lambda sums, _: sums.rate(1, [1]), "higher", "logit"),
        "specificity": Formula(lambda sums, _: sums.rate(0, [0]), "higher", "logit"),
        "fpr": Formula(lambda sums, _: sums.rate(0, [1]), "lower", "logit"),
        "fnr": Formula(lambda sums, _: sums.rate(1, [0]), "lower", "logit"),
        "decision_share": Formula(
            lambda sums, a: averages.decision_share(sums, a.decision), None, "logit", binary=False
        ),
        "fbeta": Formula(lambda sums, a: Detector.of_positive(sums).fbeta(a.beta), "higher", "logit"),
        "f1": Formula(lambda sums, _: Detector.of_positive(sums).f1(), "higher", "logit"),
        "informedness": Formula(lambda sums, _: rate_difference(sums), "higher", "atanh"),
        "mcc": Formula(lambda sums, _: mcc(sums), "higher", "atanh", binary=False, square=True),
        "lr_plus": Formula(lambda sums, _: likelihood_ratio(sums, 1), "higher", "ratio"),
        "lr_minus": Formula(lambda sums, _: likelihood_ratio(sums, 0), "lower", "ratio"),
        "net_benefit": Formula(lambda sums, a: net_benefit(sums, a.p_t), "higher", "identity"),
        "precision_gain": Formula(lambda sums, _: precision_gain(sums), "higher", "identity"),
        "recall_gain": Formula(lambda sums, _: recall_gain(sums), "higher", "identity"),
    }
)
"""Decision metrics, and the cells of the confusion matrix, for expressions, reports and sketches."""


def _of_detectors(
    value: Callable[[averages.Detectors], pl.Expr], better: Direction = "higher", scale: Scale = "logit"
) -> Formula:
    """A metric of any number of classes, each against the rest."""
    return Formula(lambda sums, _: value(averages.Detectors(sums)), better, scale, binary=False)


OF_CLASSES: Mapping[str, Formula] = MappingProxyType(
    {
        "class_precision": _of_detectors(lambda of: of.per_class(map(Detector.precision, of.each))),
        "class_recall": Formula(lambda sums, _: averages.class_recall(sums), "higher", "logit", binary=False),
        "class_f1": _of_detectors(lambda of: of.per_class(map(Detector.f1, of.each))),
        "class_nec": _of_detectors(averages.class_nec, "lower", "log"),
        "macro_precision": _of_detectors(lambda of: of.macro(Detector.precision)),
        "macro_recall": DECISIONS["balanced_accuracy"],
        "macro_f1": _of_detectors(lambda of: of.macro(Detector.f1)),
        "f1_of_averages": _of_detectors(averages.f1_of_averages),
        "micro_precision": _of_detectors(lambda of: of.one(of.pooled.precision())),
        "micro_recall": DECISIONS["accuracy"],
        "micro_f1": _of_detectors(lambda of: of.one(of.pooled.f1())),
        "weighted_precision": _of_detectors(lambda of: of.weighted(Detector.precision)),
        "weighted_recall": DECISIONS["accuracy"],
        "weighted_f1": _of_detectors(lambda of: of.weighted(Detector.f1)),
    }
)
"""Metrics of any number of classes that sketches do not have: of each class against the rest, as Arrays; averages of them."""


def decision_value(name: str, sums: Sums, arguments: Arguments) -> pl.Expr:
    """The metric of this name; ValueError if it is undefined for these numbers of classes and decisions, or these costs."""
    formula = DECISIONS[name] if name in DECISIONS else OF_CLASSES[name]
    if formula.binary and (sums.n_classes, sums.n_decisions) != (2, 2):
        averaged = (
            f"; class_{name} has the values per class, macro_{name} their mean" if f"macro_{name}" in OF_CLASSES else ""
        )
        raise ValueError(
            f"{name} is for 2 classes and 2 decisions, not {sums.n_classes} x {sums.n_decisions}: expected_cost, nec, "
            f"error_rate and balanced_error_rate take any number{averaged}"
        )
    if formula.square and sums.n_classes != sums.n_decisions:
        raise ValueError(
            f"{name} needs as many decisions as classes, not {sums.n_classes} x {sums.n_decisions}: filter the rows "
            "that are decided for a class, or use expected_cost or nec"
        )
    if formula.by_naive_cost:
        _check_normalisable(arguments.costs)
    return formula.value(sums, arguments)


def _check_normalisable(costs: CostMatrix) -> None:
    if costs.lowest >= 0:
        return
    for i, row in enumerate(costs.values):
        for j, cost in enumerate(row):
            if cost < 0:
                raise ValueError(
                    f"cost of class {costs.classes[i]}, decision {costs.decisions[j]} is {cost}: a negative cost "
                    "cannot be normalised. Pass CostMatrix(costs).normalized(), which gives the same decisions"
                )


# Properties of metrics by their names: the default ones, which way they are better, and whether a prior moves them.

BATTERY = ("nec", "nce", "nbs", "precision", "f1", "recall")
"""Default metrics of a report, in its order, for two classes and two decisions."""

BATTERY_OF_CLASSES = ("nec", "nce", "nbs", "accuracy", "macro_recall", "macro_f1")
"""For more classes, or decisions."""

BATTERY_OF_ONE_CLASS = ("nec", "precision", "recall", "f1")
"""For the decisions for a class against those for the rest."""

OF_RANKS = ("auc_roc", "average_precision", "eer", "min_cllr")
"""For scores that are not posteriors: metrics of their order."""

_MORE_LOSSES = ("cllr", "ece", "eer", "min_expected_cost", "min_dcf", "min_cllr", "rcl", "cal_loss", "elementary_score")
_DIRECTIONS: Mapping[str, Direction] = MappingProxyType(
    {
        **dict.fromkeys((*SCORING_RULES, *_MORE_LOSSES), "lower"),
        **{name: formula.better for name, formula in (*OF_CLASSES.items(), *DECISIONS.items())},
    }
)


def direction(name: str) -> Direction:
    """Which values of the metric of this name are better, also at a stated prior."""
    return _DIRECTIONS.get(name.removesuffix(AT_PRIOR), "higher")


def directions(names: pl.Expr) -> pl.Expr:
    """The directions of a column of names; null where neither is better."""
    return names.str.strip_suffix(AT_PRIOR).replace_strict(_DIRECTIONS, default="higher", return_dtype=pl.String)


def lower_is_better(name: str) -> bool:
    """Whether the metric of this name is a loss."""
    return direction(name) == "lower"


def verdict(name: str, difference: float) -> Literal["better", "worse", "higher", "lower"]:
    """What a value that differs so is called: better or worse, if either direction of the metric is."""
    better, is_higher = direction(name), difference > 0
    if better is None:
        return "higher" if is_higher else "lower"
    return "better" if is_higher == (better == "higher") else "worse"


# Costs below 0 make them metrics of any sign.
_OF_COSTS = ("expected_cost", "bayes_risk")
_POSITIVE = (*SCORING_RULES, "cllr", "epsr", "elementary_score", "min_dcf", "min_expected_cost", "min_cllr")
_OTHER_SCALES: Mapping[str, Scale] = MappingProxyType(
    {**dict.fromkeys(_POSITIVE, "log"), **dict.fromkeys(("auprg", "cal_loss", "rcl"), "identity")}
)


def interval_scale(name: str, costs: CostMatrix | None = None) -> Scale:
    """The scale of the metric of this name, whatever prior it is at; areas and rates that are no metrics of decisions are shares."""
    if costs is not None and name in _OF_COSTS and costs.lowest < 0:
        return "identity"
    formula = DECISIONS.get(name) or OF_CLASSES.get(name)
    return _OTHER_SCALES.get(name, "logit") if formula is None else formula.scale


def highest(name: str, n_classes: int, costs: CostMatrix | None = None) -> float:
    """The upper bound of a metric on a scale without an upper end: the Brier score of certain errors, or the largest of `costs`."""
    if costs is not None and name in ("expected_cost", "bayes_risk"):
        return float(max(map(max, costs.values)))
    return 2 / n_classes if name == "brier" else float("inf")


def worst(name: str) -> Literal["worst", "lowest"]:
    """What the values are called that `worst_first` puts first: the lowest if neither direction is better."""
    return "lowest" if direction(name) is None else "worst"


def worst_first(table: pl.DataFrame, column: str, *, lower: bool) -> pl.DataFrame:
    """The rows in which a metric is known, the worst ones first; `lower` says which way it is better."""
    known = table.filter(pl.col(column).is_not_nan())
    return known.sort(column, descending=lower, maintain_order=True)


AT_PRIOR = "_at_prior"
"""Suffix of the name of a value at a stated prior."""

# The order of the scores of a class is the same whatever its share: only what mixes the classes is moved.
_OF_RANKS = ("average_precision", "auprg", "min_expected_cost", "min_dcf", "macro_auc_roc", "weighted_auc_roc")


def is_moved_by_prior(name: str, costs: CostMatrix | None = None) -> bool:
    """Whether a stated prior gives the metric of this name another value; default costs: those of two classes."""
    if name in ORDER_METRICS:
        return name in _OF_RANKS
    if name not in (*DECISIONS, *OF_CLASSES):
        # Scoring rules and calibration errors are expectations; the confusion matrix is counts.
        return name != "confusion"
    matrix = CostMatrix.binary() if costs is None else costs
    sums = _Watched(matrix)
    decision_value(name, sums, Arguments(matrix))
    return sums.asked


class _Watched(Sums):
    """Empty sums that record whether a formula uses the prior."""

    def __init__(self, costs: CostMatrix) -> None:
        super().__init__(costs.n_decisions, None, costs.n_classes)
        self.asked = False

    def count(self, i: int) -> pl.Expr:  # noqa: ARG002
        return pl.lit(1.0)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:  # noqa: ARG002
        return pl.lit(1.0)

    @property
    def prior(self) -> list[pl.Expr]:
        self.asked = True
        return super().prior
