"""The keywords that families of metrics share: what they mean, each said once, their defaults, and their checks at the call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypedDict, get_args

import polars as pl

from polars_ec.costs import CostMatrix, Costs, as_cost_matrix
from polars_ec.priors import Prior, PriorSettings, parse_prior
from polars_ec.typing import IntoExpr, ScoreType

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
    }
)


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


def check_keywords(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """TypeError for the first keyword that the function does not have, with the one that may be meant."""
    for name in given:
        if name not in known:
            raise TypeError(
                f"{function}() has no keyword {name}=: {did_you_mean(name, known)}It has {', '.join(known)}"
            )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The one of the known names that may be meant, as a question; nothing where none is near."""
    # Imported here, for only errors need it.
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}? " if near else ""


@dataclass(frozen=True)
class Options:
    """The shared keywords of one call, checked."""

    score_type: ScoreType
    prior: PriorSettings
    weight: pl.Expr | None
    pos_label: object
    classes: tuple[object, ...] | None
    threshold: float | None
    stated_costs: CostMatrix | None
    cost_fn: float
    cost_fp: float

    def costs(self, n_classes: int) -> CostMatrix:
        """The cost matrix that the call means for this many classes."""
        if self.stated_costs is not None:
            return self.stated_costs
        if n_classes == 2:
            return CostMatrix.binary(self.cost_fn, self.cost_fp)
        if (self.cost_fn, self.cost_fp) != (1, 1):
            raise ValueError(f"cost_fn and cost_fp are for two classes, and there are {n_classes}: pass costs=")
        return CostMatrix.zero_one(n_classes)


def parse_options(options: Mapping[str, Any]) -> Options:
    """Check the shared keywords; what is left out has its default. Errors name the value and the way out."""
    given = {**DEFAULTS, **options}
    if given["score_type"] not in get_args(ScoreType):
        raise ValueError(f"score_type={given['score_type']!r} is none of {', '.join(get_args(ScoreType))}")
    if given["costs"] is not None and (given["cost_fn"], given["cost_fp"]) != (1, 1):
        raise ValueError("pass either costs= or cost_fn= and cost_fp=, not both")
    CostMatrix.binary(given["cost_fn"], given["cost_fp"])
    return Options(
        score_type=given["score_type"],
        prior=parse_prior(given["prior"]),
        weight=None if given["weight"] is None else as_expr(given["weight"], "weight"),
        pos_label=given["pos_label"],
        classes=_parse_classes(given["classes"], given["pos_label"]),
        threshold=None if given["threshold"] is None else parse_number(given["threshold"], "threshold"),
        stated_costs=None if given["costs"] is None else as_cost_matrix(given["costs"]),
        cost_fn=float(given["cost_fn"]),
        cost_fp=float(given["cost_fp"]),
    )


def as_expr(column: IntoExpr, what: str) -> pl.Expr:
    """A column's name or an expression, as an expression."""
    if isinstance(column, str):
        return pl.col(column)
    if isinstance(column, pl.Expr):
        return column
    raise TypeError(f"{what}={column!r} is neither a column's name nor a Polars expression")


def parse_number(value: Any, what: str) -> float:
    """A float that is not NaN."""
    if isinstance(value, bool | str | pl.Expr) or not hasattr(value, "__float__") or math.isnan(float(value)):
        raise ValueError(f"{what}={value!r} is no number")
    return float(value)


def parse_beta(value: Any) -> float:
    """The beta of F_beta."""
    beta = parse_number(value, "beta")
    if not 0 < beta < math.inf:
        raise ValueError(f"beta={value!r} must be above 0 and finite: take recall where only misses count")
    return beta


def _parse_classes(classes: Sequence[object] | None, pos_label: object) -> tuple[object, ...] | None:
    if classes is None:
        return None
    if pos_label is not None:
        raise ValueError("pass either pos_label= (binary) or classes=, not both")
    ordered = isinstance(classes, Iterable) and not isinstance(classes, str | Set | Mapping)
    values = tuple(classes) if ordered else ()
    if (
        any(isinstance(value, list | dict | set) for value in values)
        or len(set(values)) != len(values)
        or len(values) < 2
    ):
        raise ValueError(f"classes={classes!r} must list at least two different label values, in class order")
    return values
