"""The keywords of a question to cells, checked; and which metrics cells have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polars_ec.cells.grid import Grid
from polars_ec.cells.operating_point import bayes_threshold, two_by_two
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.formulas.battery import BATTERY, OF_RANKS
from polars_ec.formulas.calibration_error import EceBins
from polars_ec.formulas.decisions import CELLS, DECISIONS, Arguments
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments, checked_method, checked_sensitivity
from polars_ec.options import check_keywords, did_you_mean, parse_beta, parse_number, parse_options
from polars_ec.priors import PriorSettings

_SHARED = ("costs", "cost_fn", "cost_fp", "threshold", "prior")
KEYWORDS = (*_SHARED, "beta", "p_t", "sensitivity", "method", "bins", "norm")
METRICS = (*DECISIONS, "confusion", *SCORING_RULES, "ece", "cllr", *RANKING_METRICS)


@dataclass(frozen=True)
class EvaluationArguments:
    """Keywords of one call, checked; and the threshold of each metric of decisions."""

    prior: PriorSettings
    formula: Arguments
    thresholds: Mapping[str, float] = field(default_factory=dict)
    ece: EceBins = field(default_factory=lambda: EceBins.of(15, 1))
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
    sensitivity = checked_sensitivity(keywords.get("sensitivity", 0.95))
    method = checked_method(keywords.get("method", "hull"))
    ece = EceBins.of(keywords.get("bins", 15), keywords.get("norm", 1))
    ranking = RankingArguments(formula.costs, sensitivity, method)
    return EvaluationArguments(prior, formula, thresholds, ece, ranking)


def parse_formula_arguments(names: Sequence[str], keywords: Mapping[str, Any]) -> tuple[Arguments, PriorSettings]:
    """What the formulas of decisions take, and the prior."""
    check_keywords("evaluate", keywords, KEYWORDS)
    options = parse_options({name: value for name, value in keywords.items() if name in _SHARED})
    p_t = 0.0 if keywords.get("p_t") is None else parse_number(keywords["p_t"], "p_t")
    if "net_benefit" in names and (keywords.get("p_t") is None or not 0 <= p_t < 1):
        raise ValueError(f"net_benefit needs p_t= in [0, 1), not {keywords.get('p_t')}")
    return Arguments(two_by_two(options), parse_beta(keywords.get("beta", 1.0)), p_t), options.prior


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
            raise SketchError(
                "a sketch holds the losses of epsr(1, 1) and epsr(2, 2) only: ask for cross_entropy or brier"
            )
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise SketchError(f"{name!r} is no metric of a sketch: {hint}It has {', '.join(METRICS)}")
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
