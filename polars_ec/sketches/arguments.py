"""The operating point of cells, and the checked keywords of their methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

import polars as pl

from polars_ec.arguments.classes import CheckedPrior, ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Options, did_you_mean, parse_beta, parse_number, parse_options
from polars_ec.arguments.scales import ScoreScale
from polars_ec.exceptions import SketchError
from polars_ec.formulas.calibration_error import ECE_BINS, EceBins
from polars_ec.formulas.decisions import BATTERY, CELLS, DECISIONS, OF_RANKS, Arguments
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments, checked_method, checked_share
from polars_ec.output.words import number
from polars_ec.sketches.grid import Grid, check_same
from polars_ec.typing import EerMethod, IntervalMethod

_COSTS = ("costs", "cost_fn", "cost_fp")
_SHARED = (*_COSTS, "threshold", "prior")
_RANKING_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "sensitivity": partial(checked_share, name="sensitivity"),
    "specificity": partial(checked_share, name="specificity"),
    "method": checked_method,
}
_OF_CLASSES = {
    "macro_auc_roc": "is a mean over classes: call mean_over_targets('auc_roc')",
    "weighted_auc_roc": "is a mean over classes: call mean_over_targets('auc_roc', average='weighted')",
    "pairwise_auc_roc": "compares pairs of classes, and a sketch has each class against the rest: compute it from the rows with "
    "group_by(...).agg(ec.pairwise_auc_roc(...))",
}
METRICS = (*DECISIONS, "confusion", *SCORING_RULES, "ece", "cllr", *RANKING_METRICS)


@dataclass(frozen=True)
class OperatingPoint:
    """Two by two costs, and the threshold, None for the Bayes threshold of the costs."""

    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], classes: ClassNames) -> OperatingPoint:
        """Parse the operating point from the usual keywords."""
        stated = parse_options({name: options[name] for name in (*_COSTS, "threshold") if name in options})
        return cls(two_by_two(stated).for_classes(classes), stated.constant_threshold)

    @classmethod
    def common(cls, points: Iterable[OperatingPoint]) -> OperatingPoint:
        """The one that all have; SketchError if they differ."""
        first, *others = points
        for other in others:
            check_same("costs", first.costs.values, other.costs.values)
            check_same("threshold", first.threshold, other.threshold)
        return first

    def words(self, row_costs: tuple[str, str] | None = None) -> str:
        if self.threshold is not None:
            return f"score > {number(self.threshold)}"
        return f"Bayes, {self.costs!r}" if row_costs is None else "Bayes, cost_fn={}, cost_fp={}".format(*row_costs)

    def declared(self, scale: ScoreScale, options: Mapping[str, Any]) -> list[float | CostMatrix]:
        """The thresholds and costs to be exact when a log is sketched with these keywords."""
        if self.threshold is not None:
            return [self.threshold]
        if not scale.has_bayes_threshold(options):
            return []
        # An error that costs nothing has its threshold where all scores end, which need not be declared.
        return [] if 0 in self.costs.margins() else [self.costs]

    def stands_in(self, keywords: Mapping[str, Any], classes: ClassNames) -> tuple[dict[str, Any], float | None]:
        """The keywords, with these costs where they name none; and then this threshold, if any."""
        stated = {name: value for name, value in keywords.items() if value is not None or name not in _COSTS}
        if not stated.keys() & {*_COSTS}:
            return {**stated, "costs": self.costs}, self.threshold
        (right_0, alarm), (miss, right_1) = self.costs.values
        if "costs" not in stated and right_0 == right_1 == 0:
            return {"cost_fn": miss, "cost_fp": alarm, **stated}, None
        if isinstance(stated.get("costs"), CostMatrix):
            stated["costs"] = stated["costs"].for_classes(classes)
        return stated, None


def bayes_threshold(costs: CostMatrix, scale: ScoreScale, prior: Any, classes: ClassNames) -> float:
    """Above which score deciding 1 is cheaper, on the scale of the score."""
    if scale.has_order_only:
        raise ValueError("raw scores have no Bayes threshold: pass threshold= on their own scale")
    if not scale.needs_prior:
        return scale.bayes_threshold(costs)
    options = parse_options({"prior": prior})
    if not options.prior.stated or options.prior.overall or options.prior.expression is not None:
        raise ValueError("the Bayes threshold of LLRs depends on the prior: pass prior= as a number, or threshold=")
    shares = options.prior.per_row(classes, None)
    p0, p1 = pl.select(a=shares[0], b=shares[1]).row(0)
    if not 0 < p1 < 1:
        raise ValueError(f"prior={prior!r} leaves only one class, so LLRs have no threshold")
    return scale.bayes_threshold(costs) - (math.log(p1) - math.log(p0))


def check_prior(prior: Any, scale: ScoreScale) -> None:
    """ValueError for a prior where no decision needs one."""
    if prior is not None and not scale.needs_prior:
        raise ValueError(
            f"prior={prior!r} sets the decisions for LLRs and log-likelihoods only, but score_type={scale.name!r}: "
            "pass prior= to evaluate()"
        )


def parse_operating_point(
    thresholds: Sequence[float | CostMatrix], scale: ScoreScale, options: Mapping[str, Any], names: ClassNames
) -> tuple[OperatingPoint, list[float]]:
    """The operating point of the keywords, and the thresholds that are to be exact: its own and those that are named."""
    if isinstance(thresholds, str | CostMatrix) or not hasattr(thresholds, "__iter__"):
        raise TypeError(f"thresholds={thresholds!r} is not a sequence: pass a list")
    point = OperatingPoint.of(options, names)
    every = [*point.declared(scale, options), *thresholds]
    meant = [t.for_classes(names) if isinstance(t, CostMatrix) else t for t in every]
    prior = options.get("prior")
    return point, [bayes_threshold(t, scale, prior, names) if isinstance(t, CostMatrix) else t for t in meant]


def two_by_two(options: Options) -> CostMatrix:
    """The costs, which a sketch takes for two decisions only; ValueError for others."""
    costs = options.costs(2)
    if (costs.n_classes, costs.n_decisions) != (2, 2):
        raise ValueError(
            f"costs= is {costs.n_classes} x {costs.n_decisions}, but a sketch has two classes and two decisions: use report() on the rows"
        )
    return costs


@dataclass(frozen=True)
class EvaluationArguments:
    """Keywords of one call, checked; and the threshold of each metric of decisions."""

    prior: CheckedPrior
    formula: Arguments
    thresholds: Mapping[str, float] = field(default_factory=dict)
    ece: EceBins = ECE_BINS
    ranking: RankingArguments = field(default_factory=lambda: RankingArguments(CostMatrix.binary()))


def parse_arguments(
    names: Sequence[str], grid: Grid, keywords: Mapping[str, Any], own_threshold: float | None = None
) -> EvaluationArguments:
    """Check the keywords of these metrics; `own_threshold` is that of decisions for which neither it nor costs are stated."""
    arguments = parse_formula_arguments(names, keywords)
    formula = arguments.formula
    decides = [name for name in names if name in DECISIONS or name == "confusion"]
    thresholds = {name: _threshold_of(name, grid, formula, keywords, own_threshold) for name in decides}
    if any(name.startswith("min_") for name in names):
        formula.costs.margins()
    ece = ECE_BINS
    if keywords.keys() & {"bins", "norm"}:
        ece = EceBins.of(keywords.get("bins", ECE_BINS.number), keywords.get("norm", ECE_BINS.norm))
    stated: Any = {name: check(keywords[name]) for name, check in _RANKING_CHECKS.items() if name in keywords}
    return replace(arguments, thresholds=thresholds, ece=ece, ranking=RankingArguments(formula.costs, **stated))


def parse_formula_arguments(names: Sequence[str], keywords: Mapping[str, Any]) -> EvaluationArguments:
    """Check what the formulas of decisions take, and the prior."""
    options = parse_options({name: value for name, value in keywords.items() if name in _SHARED})
    p_t = 0.0 if keywords.get("p_t") is None else parse_number(keywords["p_t"], "p_t")
    if "net_benefit" in names and (keywords.get("p_t") is None or not 0 <= p_t < 1):
        raise ValueError(f"net_benefit needs p_t= in [0, 1), not {keywords.get('p_t')}")
    formula = Arguments(two_by_two(options), parse_beta(keywords.get("beta", 1.0)), p_t)
    return EvaluationArguments(options.prior, formula)


def parse_method(method: Any) -> tuple[EerMethod, IntervalMethod]:
    """Parse the method of the EER and the method of the intervals: one of them is named, the other has its default."""
    if isinstance(method, str) and method in get_args(IntervalMethod):
        return "hull", method  # type: ignore[return-value]
    if isinstance(method, str) and method in get_args(EerMethod):
        return checked_method(method), "influence"
    known = ", ".join((*get_args(EerMethod), *get_args(IntervalMethod)))
    raise ValueError(f"method={method!r} is not one of {known}: the first two are for eer, the others for interval=")


def battery(grid: Grid, keywords: Mapping[str, Any]) -> Sequence[str]:
    """The metrics where none are named."""
    if not grid.scale.has_bayes_threshold(keywords):
        decided = ("precision", "f1", "recall", *CELLS) if keywords.get("threshold") is not None else ()
        return (*decided, *OF_RANKS)
    return (*CELLS, *BATTERY, "auc_roc")


def check_metrics(names: Sequence[str], grid: Grid, llr_prior: Any) -> None:
    """SketchError for a metric that there is not, or that such scores do not have."""
    for name in names:
        if name == "epsr":
            raise SketchError("epsr needs a weight: call sketch.epsr(weight)")
        if name in _OF_CLASSES:
            raise SketchError(f"{name} {_OF_CLASSES[name]}")
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise SketchError(f"{name!r} is not a metric of a sketch: {hint}The metrics are {', '.join(METRICS)}")
        if (name in SCORING_RULES or name == "ece") and grid.scale.has_order_only:
            raise SketchError(
                f"{name} needs posteriors, but the sketch has raw scores: use min_cllr, which needs only their order"
            )
        if name == "ece" and grid.scale.needs_prior:
            raise SketchError("ece needs posteriors, but the sketch has LLRs: sketch ec.posterior(score, prior=...)")
        if name in SCORING_RULES and grid.scale.needs_prior and llr_prior is None:
            raise SketchError(
                f"{name} needs posteriors, but the sketch has LLRs: pass prior= to make posteriors, or use cllr, which "
                "needs no prior"
            )
        if name in ("cllr", "dcf") and not grid.scale.needs_prior:
            raise SketchError(
                f"{name} needs LLRs, but the sketch has {grid.score_type} scores: sketch ec.llr(score, prior)"
            )


def _threshold_of(
    name: str, grid: Grid, formula: Arguments, keywords: Mapping[str, Any], own_threshold: float | None
) -> float:
    stated, costs = keywords.get("threshold"), formula.costs
    if name == "net_benefit":
        # At p_t, which has costs of its own.
        costs = CostMatrix.binary(1 - formula.p_t, formula.p_t)
    elif stated is None and name != "bayes_risk":
        stated = own_threshold
    if stated is not None and name != "bayes_risk":
        return parse_number(stated, "threshold") + 0.0  # 0 stands for -0 too
    return grid.declared(bayes_threshold(costs, grid.scale, keywords.get("prior"), grid.classes)) + 0.0
