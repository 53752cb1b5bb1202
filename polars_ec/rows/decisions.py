"""Decisions for rows: by threshold, or by Bayes' rule for the costs; and the options that hold these, read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add, or_

import polars as pl

from polars_ec.arguments import BY_ROW, Options
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.rows.many import ManyScores
from polars_ec.rows.scores import BinaryScores, DecidedScores, Scores


@dataclass(frozen=True)
class Decisions:
    """The decision of each row: its index, or (two decisions) whether it is decision 1."""

    n_decisions: int
    positive: pl.Expr | None = None
    number: pl.Expr | None = None

    def among(self, chosen: Collection[int]) -> pl.Expr:
        """Whether the row's decision is one of `chosen`; null where there is none."""
        others = [j for j in range(self.n_decisions) if j not in chosen]
        if len(others) < len(chosen):
            return ~reduce(or_, map(self._is, others)) if others else ~self._is(0) | self._is(0)
        # Of one decision no other is left to choose.
        return reduce(or_, map(self._is, sorted(chosen))) if chosen else ~self._is(0) & self._is(0)

    @property
    def index(self) -> pl.Expr:
        """Int32 index of the decision; null where there is none."""
        if self.positive is not None:
            return self.positive.cast(pl.Int32)
        assert self.number is not None
        # NaN is no decision.
        return self.number.cast(pl.Int32, strict=False)

    def _is(self, j: int) -> pl.Expr:
        if self.positive is not None:
            return self.positive if j == 1 else ~self.positive
        assert self.number is not None
        return self.number == j


@dataclass(frozen=True)
class RowCosts:
    """What an error costs each row: a miss, where the row is of the positive class, and a false alarm, where it is not."""

    fn: pl.Expr
    fp: pl.Expr

    def of_error(self, i: int) -> pl.Expr:
        """Of an error in class i."""
        return self.fn if i == 1 else self.fp

    def favour_positive(self, scores: Scores) -> pl.Expr:
        """Whether deciding 1 is cheaper, if the posteriors are right."""
        if isinstance(scores, BinaryScores):
            shift = scores.prior_log_odds if scores.score_type == "llr" else 0.0
            return scores.score > (self._threshold if scores.score_type == "posterior" else self._log_odds - shift)
        return scores.of_posteriors(lambda q: self.fn * q[1] > self.fp * q[0])

    @property
    def _threshold(self) -> pl.Expr:
        """`CostMatrix.bayes_threshold` row by row."""
        total, half = self.fp + self.fn, self.fp / 2 + self.fn / 2
        share = pl.when(total.is_finite()).then(self.fp / total).otherwise(self.fp / 2 / half)
        return pl.when(total == 0).then(1.0).otherwise(share)

    @property
    def _log_odds(self) -> pl.Expr:
        """`CostMatrix.bayes_log_odds` row by row."""
        ratio = self.fp / self.fn
        sound = (ratio > 0) & ratio.is_finite()
        logarithm = pl.when(sound).then(ratio.log()).otherwise(self.fp.log() - self.fn.log())
        return pl.when(self.fn == 0).then(math.inf).otherwise(logarithm)


def decision_faults(threshold: float | pl.Expr | None, costs: RowCosts | None) -> dict[str, pl.Expr]:
    """What can be wrong with a threshold and costs that rows have of their own: a mask for each kind, never null."""
    found = {}
    if isinstance(threshold, pl.Expr):
        found["threshold is null or NaN"] = ~threshold.is_not_nan().fill_null(False)
    if costs is not None:
        for name, cost in (("cost_fn", costs.fn), ("cost_fp", costs.fp)):
            sound = (cost >= 0) & cost.is_finite()
            found[f"{name} is null, NaN, negative or infinite"] = ~sound.fill_null(False)
    return found


def decide(
    scores: Scores, costs: CostMatrix, threshold: float | pl.Expr | None, row_costs: RowCosts | None = None
) -> Decisions:
    """Threshold decisions where a threshold is given, Bayes decisions for the costs elsewhere.

    Where there are `row_costs`, `costs` only have their shape.
    """
    if isinstance(scores, DecidedScores):
        if threshold is not None:
            raise ValueError("threshold= is for scores; score_type='decision' says that decisions are taken already")
        return Decisions(costs.n_decisions, number=scores.index)
    if threshold is not None:
        if not isinstance(scores, BinaryScores):
            raise ValueError("threshold= is for one score a row: vectors are decided by costs=")
        if (costs.n_classes, costs.n_decisions) != (2, 2):
            raise ValueError(f"threshold= makes 2 decisions, and costs= has {costs.n_decisions}")
        return Decisions(2, positive=scores.score > threshold)
    if row_costs is not None:
        return Decisions(2, positive=row_costs.favour_positive(scores))
    if isinstance(scores, BinaryScores) and (costs.n_classes, costs.n_decisions) == (2, 2):
        bayes = _bayes_threshold(scores, costs)
        if bayes is not None:
            return Decisions(2, positive=scores.score > bayes)
        below = _reversed_threshold(scores, costs)
        if below is not None:
            return Decisions(2, positive=below)
    if isinstance(scores, ManyScores):
        return Decisions(costs.n_decisions, number=scores.cheapest(costs))
    cheapest = scores.of_posteriors(lambda posteriors: _cheapest(posteriors, costs))
    return Decisions(costs.n_decisions, number=cheapest)


def _bayes_threshold(scores: BinaryScores, costs: CostMatrix) -> pl.Expr | None:
    """Where deciding 1 becomes cheaper, on the scores' own scale; None where that is not a matter of a threshold."""
    try:
        threshold = costs.bayes_threshold_on(scores.score_type)
    except ValueError:
        return None
    return pl.lit(threshold) - scores.prior_log_odds if scores.score_type == "llr" else pl.lit(threshold)


def _reversed_threshold(scores: BinaryScores, costs: CostMatrix) -> pl.Expr | None:
    """Whether class 1 is decided where being right costs more than an error: below the threshold of the other decisions."""
    (c00, c01), (c10, c11) = costs.values
    if c00 <= c01 or c11 < c10:
        return None
    other = CostMatrix([[c01, c00], [c11, c10]])
    score = scores.score if scores.score_type == "posterior" else scores.log_odds
    return score < other.bayes_threshold_on(scores.score_type)


def _cheapest(posteriors: list[pl.Expr], costs: CostMatrix) -> pl.Expr:
    """Argmin over j of sum_i c_ij q_i, lowest index on ties.

    Each row's maximum is subtracted from its costs: the decision stays, and 0-1 costs become an exact argmax, where
    rounding cannot break a tie.
    """
    reduced = [[c - max(row) for c in row] for row in costs.values]
    expected = []
    for j in range(costs.n_decisions):
        terms = [q * row[j] for q, row in zip(posteriors, reduced, strict=True) if row[j] != 0]
        expected.append(reduce(add, terms) if terms else posteriors[0] * 0.0)
    return pl.concat_arr(expected).arr.arg_min().cast(pl.Int32)


def checked_costs(options: Options, classes: ClassNames, column: str) -> CostMatrix:
    """The costs that the call means for these classes; ValueError where they are of others."""
    n_classes = len(classes.values)
    costs = options.costs(n_classes)
    if costs.n_classes != n_classes:
        raise ValueError(f"costs= has {costs.n_classes} rows, and {column!r} is of {n_classes} classes")
    return costs.for_classes(classes)


def read_by_row(
    given: Mapping[str, tuple[pl.Expr, pl.DataType]], options: Options
) -> tuple[float | pl.Expr | None, RowCosts | None]:
    """The threshold, and the costs where they are columns, as Float64."""
    numbers = {name: _read_number(name, *given[name]) if name in given else getattr(options, name) for name in BY_ROW}
    if not options.costs_by_row:
        return numbers["threshold"], None
    fn, fp = (
        cost if isinstance(cost, pl.Expr) else pl.lit(cost, dtype=pl.Float64)
        for cost in (numbers["cost_fn"], numbers["cost_fp"])
    )
    return numbers["threshold"], RowCosts(fn, fp)


def _read_number(what: str, column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"{what}= must be numbers, and {column.meta.output_name()!r} is {dtype}")
    return column.cast(pl.Float64)


def read_weight(weight: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Weights as Float64."""
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"weights must be numbers, and {weight.meta.output_name()!r} is {dtype}")
    return weight.cast(pl.Float64)
