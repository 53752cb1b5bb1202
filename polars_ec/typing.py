"""Aliases of the types in public signatures, without imports from the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import polars as pl

__all__ = [
    "AlarmTest",
    "EceNorm",
    "EerMethod",
    "FrameLike",
    "IntervalMethod",
    "IntoExpr",
    "Missing",
    "NotLazy",
    "RankingScoreType",
    "Reduction",
    "Rule",
    "ScoreType",
    "ScoringRule",
    "Values",
]

IntoExpr: TypeAlias = "str | pl.Expr"
"""A column's name, or an expression."""


class HasArrowStream(Protocol):
    """A pandas frame, a pyarrow table or reader, a DuckDB relation, and what else gives its rows as Arrow data."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class HasNative(Protocol):
    """A narwhals frame."""

    def to_native(self) -> Any: ...


class HasScanner(Protocol):
    """A pyarrow dataset."""

    def scanner(self) -> Any: ...


NotLazy: TypeAlias = "pl.DataFrame | HasArrowStream | HasNative | HasScanner"
"""A DataFrame, or a frame of another library."""

FrameLike: TypeAlias = "pl.LazyFrame | NotLazy"
"""A log: a frame of Polars, or of another library."""


class HasArray(Protocol):
    """A Series of Polars or pandas, an array of NumPy, and what else NumPy makes an array of."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


Values: TypeAlias = "Sequence[Any] | HasArray"
"""One value per row: a list, a Series or an array."""

ScoreType: TypeAlias = Literal[
    "posterior", "percent", "log_odds", "llr", "decision", "posteriors", "log_posteriors", "log_likelihoods"
]
"""What the scores are. One number a row (posterior, the same times 100, or log-odds of the positive class, log-likelihood ratio,
index of the decision taken) or a vector of K a row (posteriors, their natural logs, log-likelihoods of the classes)."""

RankingScoreType: TypeAlias = Literal["posterior", "percent", "log_odds", "llr", "raw"]
"""What the scores are whose order is judged: one number a row, "raw" being any real number."""

ScoringRule: TypeAlias = Literal["cross_entropy", "brier"]
"""The logarithmic loss, or the squared error over K."""

EceNorm: TypeAlias = Literal[1, 2]
"""Mean absolute gap, or root mean square gap."""

EerMethod: TypeAlias = Literal["hull", "linear"]
"""On the convex hull of the ROC curve, or linear between the two points of the curve around FPR = FNR."""

IntervalMethod: TypeAlias = Literal["influence", "bootstrap", "bca"]
"""From the influence of rows or clusters on the value; or from resampled ones: the bootstrap's percentiles, or BCa."""

Missing: TypeAlias = Literal["together", "by_part"]
"""How a report counts the rows with a null: together, or also by the part that is null."""

AlarmTest: TypeAlias = Literal["interval", "counts"]
"""What the evidence of alarms is computed from."""

Reduction: TypeAlias = Literal["one_vs_rest", "top_label", "decisions"]
"""What a sketch keeps of K posteriors: each class against all others, whether the likeliest class is the true one, or the decisions."""

Rule: TypeAlias = Literal["cross_entropy", "brier", "bayes_risk", "cllr"]
"""A proper scoring rule; "bayes_risk" is the cost of Bayes decisions, "cllr" the cross-entropy of LLRs at even priors, in bits."""
