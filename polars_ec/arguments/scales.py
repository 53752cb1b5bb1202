"""Score types: each is one object with the properties that the package needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.records import dataclass
from polars_ec.typing import RankingScoreType, ScoreType

_Numbers = TypeVar("_Numbers", pl.Expr, pl.Series)

TOLERANCE = 1e-6
"""The tolerance for sums of posteriors, which must be 1."""

SKETCH_SCORE_TYPES: tuple[RankingScoreType, ...] = get_args(RankingScoreType)
"""The score types of which the order is known, so that they can be ranked, binned and sketched."""

_WRONG_LENGTH = "vector has another length than there are classes"
_SUM = "posteriors do not sum to 1"
# Two ways to compute one threshold differ by no more units in the last place: of the posterior, or of log-odds near 1.
_SAME_ULPS = 8
_ULP = 2.0**-52


@dataclass(frozen=True)
class ScoreScale:
    """A score type: what its numbers are, and what follows from them alone."""

    name: str
    faults: tuple[str, ...]
    """Kinds of invalid scores; for vectors these are the bits of the kernel's `faults`."""
    upper: int | None = None
    """The score of a posterior of 1, where scores are shares of it, from 0; None where scores have no bounds."""
    has_posteriors: bool = False
    """Whether posteriors follow from the score alone."""
    needs_prior: bool = False
    """Whether scores are likelihoods, which a prior makes posteriors of."""
    is_vector: bool = False
    has_order_only: bool = False
    axis: str = "Threshold"
    """The name of a threshold on this scale in charts."""

    @property
    def is_share(self) -> bool:
        """Whether scores are posteriors, but for a unit."""
        return self.upper is not None

    @property
    def is_log_odds(self) -> bool:
        """Whether one number a row is log-odds, or becomes such by the prior."""
        return (self.has_posteriors or self.needs_prior) and not (self.is_share or self.is_vector)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest score."""
        return (-math.inf, math.inf) if self.upper is None else (0.0, float(self.upper))

    def has_bayes_threshold(self, options: Mapping[str, Any]) -> bool:
        """Whether the keywords of a call say where Bayes decisions cut the scores."""
        return self.has_posteriors or (self.needs_prior and options.get("prior") is not None)

    @property
    def without_prior(self) -> ScoreScale:
        """The scale that reads the same numbers where no prior is needed: LLRs and raw scores as log-odds are."""
        return self if self.is_share or self.is_vector else LOG_ODDS

    # Scores of one number a row.

    def is_wrong(self, score: pl.Expr) -> pl.Expr:
        """Whether a number is invalid on this scale; null for null."""
        return score.is_nan() if self.upper is None else ~score.is_between(0, self.upper)

    def share(self, score: _Numbers) -> _Numbers:
        """The posterior of scores that are shares."""
        return score if self.upper == 1 else score / self.upper

    def of_share(self, posterior: pl.Expr) -> pl.Expr:
        """Posteriors as scores, where scores are shares."""
        return posterior if self.upper in (None, 1) else posterior * self.upper

    def log_odds(self, score: pl.Expr) -> pl.Expr:
        """Log-odds of scores; of LLRs at even prior."""
        if not self.is_share:
            return score
        share = self.share(score)
        return share.log() - (-share).log1p()

    def share_logs(self, score: pl.Expr) -> list[pl.Expr]:
        """Logarithms of the posteriors of class 0 and 1, rounded as in all SQL engines."""
        return [(1 - self.share(score)).log(), self.share(score).log()]

    def position(self, score: pl.Expr) -> pl.Expr:
        """Position of a score on the axis with bins of equal width: log-odds, or the logarithm of the size of a raw score."""
        if self.has_order_only:
            return score.abs().log()
        if not self.is_share:
            return score
        log_0, log_1 = self.share_logs(score)
        return log_1 - log_0

    # Thresholds.

    def threshold_at(self, posterior: float) -> float:
        """The largest score whose posterior is no more than this one, so that decisions are those of posteriors."""
        if self.upper is None:
            return math.log(posterior) - math.log1p(-posterior)
        if self.upper == 1 or not 0 < posterior < 1:
            return posterior * self.upper
        score = posterior * self.upper
        while score / self.upper > posterior:
            score = math.nextafter(score, 0)
        while math.nextafter(score, self.upper) / self.upper <= posterior:
            score = math.nextafter(score, self.upper)
        return score

    def bayes_threshold(self, costs: CostMatrix) -> float:
        """Above which score deciding 1 is cheaper; of scores that are no shares above which log-odds."""
        return self.threshold_at(costs.bayes_threshold()) if self.is_share else costs.bayes_log_odds()

    def posterior_edges(self, number: int) -> tuple[float, ...]:
        """The inner edges k / number of equally wide bins of the posterior, as scores."""
        if self.is_share:
            return tuple(self.threshold_at(k / number) for k in range(1, number))
        return tuple(math.log(k / (number - k)) for k in range(1, number))

    def is_same_threshold(self, one: float, other: float) -> bool:
        """Whether two thresholds are one, computed in two ways.

        Near 0 log-odds are differences of logarithms, whose rounding is that of numbers near 1.
        """
        if one == other or not (math.isfinite(one) and math.isfinite(other)):
            return one == other
        size = max(abs(one), abs(other), 1.0 if self.is_log_odds else 0.0)
        return abs(one - other) <= _SAME_ULPS * _ULP * size

    # Portable SQL.

    def valid_sql(self, score: str) -> str:
        """Whether a share is one."""
        return f"{score} >= 0 AND {score} <= {self.upper}"

    def share_sql(self, score: str) -> str:
        """The posterior of scores that are shares."""
        return score if self.upper == 1 else f"({score} / {self.upper})"


def _share_scale(name: str, upper: int, axis: str) -> ScoreScale:
    return ScoreScale(name, (f"{name} is NaN or outside [0, {upper}]",), upper, has_posteriors=True, axis=axis)


POSTERIOR = _share_scale("posterior", 1, "Threshold")
PERCENT = _share_scale("percent", 100, "Threshold, %")
LOG_ODDS = ScoreScale("log_odds", ("log_odds is NaN",), has_posteriors=True, axis="Threshold, log-odds")
LLR = ScoreScale("llr", ("llr is NaN",), needs_prior=True, axis="Threshold, LLR")
RAW = ScoreScale("raw", ("raw is NaN",), has_order_only=True)
DECISION = ScoreScale("decision", ())
POSTERIORS = ScoreScale(
    "posteriors", (_WRONG_LENGTH, "posterior is NaN or outside [0, 1]", _SUM), 1, has_posteriors=True, is_vector=True
)
LOG_POSTERIORS = ScoreScale(
    "log_posteriors", (_WRONG_LENGTH, "log posterior is NaN or above 0", _SUM), has_posteriors=True, is_vector=True
)
LOG_LIKELIHOODS = ScoreScale(
    "log_likelihoods",
    (_WRONG_LENGTH, "log-likelihood is NaN or +inf", "all log-likelihoods are -inf", "prior is not a share per class"),
    needs_prior=True,
    is_vector=True,
)

SCALES = {
    scale.name: scale
    for scale in (POSTERIOR, PERCENT, LOG_ODDS, LLR, RAW, DECISION, POSTERIORS, LOG_POSTERIORS, LOG_LIKELIHOODS)
}
VECTOR_TYPES = tuple(name for name, scale in SCALES.items() if scale.is_vector)
SCORE_TYPES_IN_WORDS, SKETCH_SCORE_TYPES_IN_WORDS = (
    f"Type of the scores: {', '.join(names[:-1])} or {names[-1]}."
    for names in (get_args(ScoreType), (*SKETCH_SCORE_TYPES, *VECTOR_TYPES))
)


def score_type_of(options: Mapping[str, Any]) -> Any:
    """The score type that the keywords of a call name, or the default."""
    return options.get("score_type", POSTERIOR.name)


def scale_of(options: Mapping[str, Any]) -> ScoreScale | None:
    """The scale that the keywords of a call name; None where there is no such one."""
    score_type = score_type_of(options)
    return SCALES.get(score_type) if isinstance(score_type, str) else None


def parse_score_type(score_type: Any, *, ranking: bool) -> ScoreScale:
    """The scale of this name; ValueError if it is unknown, or only for ranking metrics."""
    scale = scale_of({"score_type": score_type})
    if scale is None:
        raise ValueError(f"score_type={score_type!r} is none of {', '.join(get_args(ScoreType))}")
    if scale.has_order_only and not ranking:
        raise ValueError(
            "score_type='raw' is for ranking metrics only (auc_roc, eer, ...), because raw scores have just an order. Make "
            "posteriors with ec.calibrate. To decide at a threshold= on their own scale, pass score_type='log_odds'"
        )
    return scale


def parse_sketch_score_type(score_type: Any) -> ScoreScale:
    """The scale of this name, if it can be sketched."""
    if score_type not in SKETCH_SCORE_TYPES:
        raise ValueError(f"score_type={score_type!r} cannot be sketched: pass one of {', '.join(SKETCH_SCORE_TYPES)}")
    return SCALES[score_type]
