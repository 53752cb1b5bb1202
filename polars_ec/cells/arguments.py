"""Where cells decide; and the keywords of a question to them, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import polars as pl

from polars_ec.arguments import Options, did_you_mean, parse_beta, parse_number, parse_options
from polars_ec.cells.cells import check_same
from polars_ec.cells.grid import Grid, SketchScoreType
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.display import number
from polars_ec.exceptions import SketchError
from polars_ec.formulas.battery import BATTERY, OF_RANKS
from polars_ec.formulas.calibration_error import ECE_BINS, EceBins
from polars_ec.formulas.decisions import CELLS, DECISIONS, Arguments
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments, checked_method, checked_share
from polars_ec.priors import CheckedPrior
from polars_ec.typing import EerMethod, IntervalMethod

_COSTS = ("costs", "cost_fn", "cost_fp")
_SHARED = (*_COSTS, "threshold", "prior")
_RANKING_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "sensitivity": partial(checked_share, name="sensitivity"),
    "specificity": partial(checked_share, name="specificity"),
    "method": checked_method,
}
METRICS = (*DECISIONS, "confusion", *SCORING_RULES, "ece", "cllr", *RANKING_METRICS)


@dataclass(frozen=True)
class OperatingPoint:
    """Two by two costs, and the threshold, None for the Bayes threshold of the costs."""

    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], classes: ClassNames) -> OperatingPoint:
        """That which the usual keywords describe."""
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

    def words(self) -> str:
        """In words."""
        return f"Bayes, {self.costs!r}" if self.threshold is None else f"score > {number(self.threshold)}"

    def declared(self, score_type: SketchScoreType, options: Mapping[str, Any]) -> list[float | CostMatrix]:
        """What must be exact of it when a log is sketched with these keywords."""
        if self.threshold is not None:
            return [self.threshold]
        if score_type == "raw" or (score_type == "llr" and options.get("prior") is None):
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


def bayes_threshold(costs: CostMatrix, score_type: str, prior: Any, classes: ClassNames) -> float:
    """Above which score deciding 1 is cheaper, on the scale of the score."""
    if score_type == "raw":
        raise ValueError("raw scores have no Bayes threshold: pass threshold=, on their own scale")
    if score_type != "llr":
        return costs.bayes_threshold_on(score_type)
    options = parse_options({"prior": prior})
    if not options.prior.stated or options.prior.overall or options.prior.expression is not None:
        raise ValueError("the Bayes threshold of LLRs moves with the prior: pass prior= a number, or threshold=")
    shares = options.prior.per_row(classes, None)
    p0, p1 = pl.select(a=shares[0], b=shares[1]).row(0)
    if not 0 < p1 < 1:
        raise ValueError(f"prior={prior!r} leaves one class, and so no threshold for LLRs")
    return costs.bayes_log_odds() - (math.log(p1) - math.log(p0))


def two_by_two(options: Options) -> CostMatrix:
    """The costs, which a sketch takes for two decisions only; ValueError for others."""
    costs = options.costs(2)
    if (costs.n_classes, costs.n_decisions) != (2, 2):
        raise ValueError(
            f"costs= is {costs.n_classes} x {costs.n_decisions}, and a sketch decides between two: evaluate it on the rows"
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
    formula, prior = parse_formula_arguments(names, keywords)
    decides = [name for name in names if name in DECISIONS or name == "confusion"]
    thresholds = {name: _threshold_of(name, grid, formula, keywords, own_threshold) for name in decides}
    if any(name.startswith("min_") for name in names):
        formula.costs.margins()
    ece = ECE_BINS
    if keywords.keys() & {"bins", "norm"}:
        ece = EceBins.of(keywords.get("bins", ECE_BINS.number), keywords.get("norm", ECE_BINS.norm))
    stated: Any = {name: check(keywords[name]) for name, check in _RANKING_CHECKS.items() if name in keywords}
    return EvaluationArguments(prior, formula, thresholds, ece, RankingArguments(formula.costs, **stated))


def parse_formula_arguments(names: Sequence[str], keywords: Mapping[str, Any]) -> tuple[Arguments, CheckedPrior]:
    """What the formulas of decisions take, and the prior."""
    options = parse_options({name: value for name, value in keywords.items() if name in _SHARED})
    p_t = 0.0 if keywords.get("p_t") is None else parse_number(keywords["p_t"], "p_t")
    if "net_benefit" in names and (keywords.get("p_t") is None or not 0 <= p_t < 1):
        raise ValueError(f"net_benefit needs p_t= in [0, 1), not {keywords.get('p_t')}")
    return Arguments(two_by_two(options), parse_beta(keywords.get("beta", 1.0)), p_t), options.prior


def parse_method(method: Any) -> tuple[EerMethod, IntervalMethod]:
    """How an EER is read off its curve, and how intervals are made: one of them is named, the other has its default."""
    if isinstance(method, str) and method in get_args(IntervalMethod):
        return "hull", method  # type: ignore[return-value]
    if isinstance(method, str) and method in get_args(EerMethod):
        return checked_method(method), "influence"
    known = ", ".join((*get_args(EerMethod), *get_args(IntervalMethod)))
    raise ValueError(f"method={method!r} is none of {known}: the first two are of eer, the others of interval=")


def battery(grid: Grid, keywords: Mapping[str, Any]) -> Sequence[str]:
    """The metrics where none are named."""
    if grid.score_type == "raw" or (grid.score_type == "llr" and keywords.get("prior") is None):
        decided = ("precision", "f1", "recall", *CELLS) if keywords.get("threshold") is not None else ()
        return (*decided, *OF_RANKS)
    return (*CELLS, *BATTERY, "auc_roc")


def check_metrics(names: Sequence[str], grid: Grid, llr_prior: Any) -> None:
    """SketchError for a metric that there is not, or that such scores do not have."""
    for name in names:
        if name == "epsr":
            raise SketchError("epsr is a method of its own, for it takes a weight: sketch.epsr(weight)")
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise SketchError(f"{name!r} is not a metric of a sketch: {hint}It has {', '.join(METRICS)}")
        if (name in SCORING_RULES or name == "ece") and grid.score_type == "raw":
            raise SketchError(f"{name} is of posteriors, and the sketch is of raw scores: min_cllr judges their order")
        if name == "ece" and grid.score_type == "llr":
            raise SketchError(
                "ece is of posteriors, and the sketch is of llr scores: sketch ec.posterior(score, prior=...)"
            )
        if name in SCORING_RULES and grid.score_type == "llr" and llr_prior is None:
            raise SketchError(
                f"{name} is of posteriors, and the sketch is of llr scores: pass prior=, which makes posteriors of them, or "
                "take cllr, which needs no prior"
            )
        if name in ("cllr", "dcf") and grid.score_type != "llr":
            raise SketchError(
                f"{name} is of LLRs, and the sketch is of {grid.score_type} scores: sketch ec.llr(score, prior)"
            )


def _threshold_of(
    name: str, grid: Grid, formula: Arguments, keywords: Mapping[str, Any], own_threshold: float | None
) -> float:
    """Where a metric decides: at the stated threshold, but for what decides by itself; else at the costs' own."""
    stated, costs = keywords.get("threshold"), formula.costs
    if name == "net_benefit":
        # At p_t, which has costs of its own.
        costs = CostMatrix.binary(1 - formula.p_t, formula.p_t)
    elif stated is None and name != "bayes_risk":
        stated = own_threshold
    if stated is not None and name != "bayes_risk":
        return parse_number(stated, "threshold") + 0.0  # 0 stands for -0 too
    return grid.declared(bayes_threshold(costs, grid.score_type, keywords.get("prior"), grid.classes)) + 0.0
