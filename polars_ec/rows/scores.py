"""Scores of every type as row expressions: what is missing, what is wrong, posteriors and losses of the true class.

Two shapes, one interface: one number a row for two classes, and a vector a row for K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add, or_
from typing import Any, Protocol

import polars as pl

from polars_ec.rows.kernel import FAULTS, TOLERANCE
from polars_ec.typing import RankingScoreType, ScoreType

SCALAR_TYPES = ("posterior", "log_odds", "llr", "raw", "decision")
VECTOR_TYPES = ("posteriors", "log_posteriors", "log_likelihoods")
NEEDS_PRIOR = "score_type={!r} needs prior=: the prior of a group is not known while its rows are read. Pass {}, or a column that holds {}"


class Scores(Protocol):
    """What metrics ask of scores. `in_class` is one Boolean expression per class: the row's true class."""

    @property
    def missing(self) -> pl.Expr: ...
    @property
    def defects(self) -> dict[str, pl.Expr]: ...
    @property
    def posteriors(self) -> list[pl.Expr]: ...
    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr: ...
    @property
    def top_posterior(self) -> pl.Expr: ...
    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr: ...
    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr: ...


@dataclass(frozen=True)
class BinaryScores:
    """One number a row: a posterior of class 1, log-odds, (with the prior stated) an LLR, or a raw score, which has an order only."""

    score: pl.Expr
    score_type: ScoreType | RankingScoreType
    prior: list[pl.Expr] | None

    @property
    def missing(self) -> pl.Expr:
        return self.score.is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        if self.score_type == "posterior":
            return {"posterior is NaN or outside [0, 1]": ~self.score.is_between(0, 1)}
        if self.score_type == "llr" and self.prior is not None:
            return {"LLR is NaN, or its prior is not a share": self.log_odds.is_nan().fill_null(True)}
        return {f"{self.score_type} is NaN": self.score.is_nan()}

    @cached_property
    def prior_log_odds(self) -> pl.Expr:
        """ln(P_1/P_0) of the stated prior."""
        if self.prior is None:
            raise ValueError(
                NEEDS_PRIOR.format(self.score_type, "a number", "it, such as pl.col(label).mean().over(group)")
            )
        return self.prior[1].log() - self.prior[0].log()

    @cached_property
    def log_odds(self) -> pl.Expr:
        if self.score_type == "posterior":
            return self.score.log() - (-self.score).log1p()
        return self.score + self.prior_log_odds if self.score_type == "llr" else self.score

    @property
    def posteriors(self) -> list[pl.Expr]:
        if self.score_type == "posterior":
            return [1 - self.score, self.score]
        return [sigmoid(-self.log_odds), sigmoid(self.log_odds)]

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        return bind(self.posteriors, build)

    @property
    def top_posterior(self) -> pl.Expr:
        """The larger posterior."""
        return self.of_posteriors(pl.max_horizontal)

    def true_and_other(self, in_class: Sequence[pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
        """Posterior of the true class and of the other one, each without loss of small values."""
        if self.score_type == "posterior":
            q0, q1 = self.posteriors
            return pl.when(in_class[1]).then(q1).otherwise(q0), pl.when(in_class[1]).then(q0).otherwise(q1)
        against = self._log_odds_against(in_class)
        return sigmoid(-against), sigmoid(against)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        if self.score_type == "posterior":
            # One logarithm a row.
            true, other = self.true_and_other(in_class)
            return log_loss_of_posterior(true, other, true.log())
        against = self._log_odds_against(in_class)
        return pl.max_horizontal(against, pl.lit(0.0)) + (-against.abs()).exp().log1p()

    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        _, other = self.true_and_other(in_class)
        return other * other

    def _log_odds_against(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        return pl.when(in_class[1]).then(-self.log_odds).otherwise(self.log_odds)


@dataclass(frozen=True)
class VectorScores:
    """K numbers a row: posteriors, their logs, or (with the prior stated) log-likelihoods."""

    elements: list[pl.Expr]
    wrong_length: pl.Expr | None
    null_element: pl.Expr
    score_type: ScoreType | RankingScoreType
    prior: list[pl.Expr] | None

    @property
    def n_classes(self) -> int:
        return len(self.elements)

    @property
    def missing(self) -> pl.Expr:
        return self.null_element

    @property
    def defects(self) -> dict[str, pl.Expr]:
        wrong_length, *kinds = FAULTS[self.score_type]
        if self.score_type == "log_likelihoods":
            masks = [_any(~(x < math.inf) for x in self.elements), pl.max_horizontal(self.elements) == -math.inf]
            if self.prior is not None:
                masks.append(~(self._log_norm > -math.inf).fill_null(False))
        else:
            of_logs = self.score_type == "log_posteriors"
            wrong = [~(x <= TOLERANCE) if of_logs else ~x.is_between(0, 1) for x in self.elements]
            masks = [_any(wrong), ~((self._total - 1).abs() <= TOLERANCE)]
        found = {} if self.wrong_length is None else {wrong_length: self.wrong_length}
        return found | dict(zip(kinds, masks, strict=False))

    @property
    def _total(self) -> pl.Expr:
        return reduce(add, self.posteriors)

    @cached_property
    def _joint(self) -> list[pl.Expr]:
        if self.prior is None:
            raise ValueError(NEEDS_PRIOR.format(self.score_type, 'one share per class, "uniform"', "them"))
        return [x + p.log() for x, p in zip(self.elements, self.prior, strict=True)]

    @cached_property
    def _log_norm(self) -> pl.Expr:
        return log_sum_exp(self._joint)

    @property
    def posteriors(self) -> list[pl.Expr]:
        if self.score_type == "posteriors":
            return self.elements
        if self.score_type == "log_posteriors":
            return [x.exp() for x in self.elements]
        return [(x - self._log_norm).exp() for x in self._joint]

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        if self.score_type != "log_likelihoods":
            return bind(self.posteriors, build)
        return bind([*self._joint, self._log_norm], lambda x: bind([(x_k - x[-1]).exp() for x_k in x[:-1]], build))

    @property
    def top_posterior(self) -> pl.Expr:
        """The largest posterior."""
        return self.of_posteriors(pl.max_horizontal)

    def of_log_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        """`build` of the logarithms of the posteriors."""
        if self.score_type == "posteriors":
            return build([x.log() for x in self.elements])
        if self.score_type == "log_posteriors":
            return build(self.elements)
        return log_softmax(self._joint, build)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        if self.score_type == "posteriors":
            return -_of_true_class(self.elements, in_class).log()
        if self.score_type == "log_posteriors":
            return -_of_true_class(self.elements, in_class)
        return self._log_norm - _of_true_class(self._joint, in_class)

    def brier(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        def mean_square(posteriors: list[pl.Expr]) -> pl.Expr:
            errors = [q - y.cast(pl.Float64) for q, y in zip(posteriors, in_class, strict=True)]
            return reduce(add, [error * error for error in errors]) / len(errors)

        return self.of_posteriors(mean_square)


@dataclass(frozen=True)
class DecidedScores:
    """Decisions already taken: an index a row. Posteriors and losses cannot be had from them."""

    index: pl.Expr
    names: Sequence[Any]
    n_decisions: int

    @property
    def missing(self) -> pl.Expr:
        return self.index.is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        whole = self.index.is_between(0, self.n_decisions - 1) & (self.index == self.index.floor())
        known = f"0..{self.n_decisions - 1}" if isinstance(self.names, range) else ", ".join(map(str, self.names))
        more = " (with more classes pass classes= or costs=)" if known == "0..1" else ""
        return {f"decision is none of {known}{more}": ~whole}

    @property
    def posteriors(self) -> list[pl.Expr]:
        raise ValueError("score_type='decision' holds no posteriors: this metric needs them")

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        return build(self.posteriors)

    @property
    def top_posterior(self) -> pl.Expr:
        return self.of_posteriors(pl.max_horizontal)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:  # noqa: ARG002
        raise ValueError("score_type='decision' holds no posteriors: a scoring rule needs them")

    brier = log_loss


def log_loss_of_posterior(true: pl.Expr, other: pl.Expr, log_true: pl.Expr) -> pl.Expr:
    """The log loss by the posteriors of the true class and of the other one, of which one is 1 minus the other, and a logarithm.

    1 - q is rounded where q is the other class's posterior: `other - (1 - true)` is exactly what the rounding lost, to first
    order what the logarithm misses, and 0 where nothing was rounded.
    """
    return other - (1 - true) - log_true


def _any(masks: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(or_, masks)


def bind(values: Sequence[pl.Expr], build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
    """`build` of the row's values, each computed once and used by name.

    Polars copies an expression wherever it is used: K posteriors, each with a norm of K terms, in K x M costs, would make
    plans of a million nodes.
    """
    names = [f"v{i}" for i in range(len(values))]
    bound = pl.struct([value.alias(name) for value, name in zip(values, names, strict=True)])
    return bound.struct.with_fields(bound=build([pl.field(name) for name in names])).struct.field("bound")


def log_sum_exp(values: Sequence[pl.Expr]) -> pl.Expr:
    """Natural logarithm of the sum of the exponentials; -inf where all values are."""

    def from_top(x: list[pl.Expr]) -> pl.Expr:
        top = x[-1]
        total = reduce(add, [(x_k - top).exp() for x_k in x[:-1]]).log()
        return pl.when(top == -math.inf).then(-math.inf).otherwise(top + total)

    return bind([*values, pl.max_horizontal(values)], from_top)


def log_softmax(values: Sequence[pl.Expr], build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
    """`build` of log posteriors, from their values up to a summand that is the same for all classes."""
    return bind([*values, log_sum_exp(values)], lambda x: build([x_k - x[-1] for x_k in x[:-1]]))


def _of_true_class(values: Sequence[pl.Expr], in_class: Sequence[pl.Expr]) -> pl.Expr:
    chosen = values[-1]
    for value, mask in zip(values[-2::-1], in_class[-2::-1], strict=True):
        chosen = pl.when(mask).then(value).otherwise(chosen)
    return chosen


def sigmoid(x: pl.Expr) -> pl.Expr:
    """1/(1 + exp(-x)), accurate in both tails."""
    small = (-x.abs()).exp()
    return pl.when(x >= 0).then(1 / (1 + small)).otherwise(small / (1 + small))


def affine_log_odds(log_odds: pl.Expr, alpha: pl.Expr, beta: pl.Expr) -> pl.Expr:
    """Alpha times the log-odds plus beta; with alpha = 0, beta also for infinite ones."""
    return pl.when(alpha == 0).then(beta + pl.when(log_odds.is_not_null()).then(0.0)).otherwise(alpha * log_odds + beta)
