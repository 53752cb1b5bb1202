"""Vectors of many classes: what `VectorScores` says by an expression per class, said by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.costs import CostMatrix
from polars_ec.rows.kernel import (
    CLASS,
    DECISION,
    FAULT,
    FAULTS,
    LOG_POSTERIORS,
    POSTERIORS,
    TOP,
    WEIGHT,
    RowKernel,
    VectorPrior,
    shifted,
)
from polars_ec.rows.scores import NEEDS_PRIOR
from polars_ec.typing import RankingScoreType, ScoreType

MANY = 4
"""More classes or decisions than these are read by the kernel, whose plan and time are the smaller ones.

Those of so few are nearly as fast by masks, which hold nothing of a row.
"""


@dataclass(frozen=True)
class ManyScores:
    """K numbers a row in one column, in class order: posteriors, their logs, or (with the prior stated) log-likelihoods.

    What it gives of a row that is missing or wrong is null.
    """

    vector: pl.Expr
    n_classes: int
    score_type: ScoreType | RankingScoreType
    prior: VectorPrior
    may_differ: bool
    """Whether vectors may have other lengths than K."""

    def ask(
        self,
        asked: Sequence[str],
        costs: CostMatrix | None = None,
        label: pl.Expr | None = None,
        weight: pl.Expr | None = None,
    ) -> pl.Expr:
        """The struct of what is asked of each row; `label` is an index, -1 for a wrong one."""
        columns = {"score": self.vector, "label": label, "weight": weight}
        literal: tuple[float, ...] | None = None
        if self.score_type == "log_likelihoods":
            # Which rows are wrong no prior changes.
            if self.prior is None and not set(asked) <= {CLASS, FAULT, WEIGHT}:
                raise ValueError(NEEDS_PRIOR.format(self.score_type, 'one share per class, "uniform"', "them"))
            if isinstance(self.prior, pl.Expr):
                columns["prior"] = self.prior
            else:
                literal = self.prior
        kernel = RowKernel(self.n_classes, self.score_type, tuple(asked), costs, literal)
        return kernel.of(**{name: column for name, column in columns.items() if column is not None})

    def one(self, asked: str, costs: CostMatrix | None = None, label: pl.Expr | None = None) -> pl.Expr:
        """What is asked of each row."""
        return self.ask([asked], costs, label).struct.field(asked)

    @property
    def missing(self) -> pl.Expr:
        return self.one(FAULT).is_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        faults, kinds = self.one(FAULT), list(enumerate(FAULTS[self.score_type]))
        return {kind: (faults // 2**bit) % 2 == 1 for bit, kind in (kinds if self.may_differ else kinds[1:])}

    @property
    def posterior_vector(self) -> pl.Expr:
        """The posteriors, as one Array."""
        return self.one(POSTERIORS)

    @property
    def posteriors(self) -> list[pl.Expr]:
        return [self.posterior_vector.arr.get(k) for k in range(self.n_classes)]

    def of_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        return self._of_vector(POSTERIORS, build)

    def of_log_posteriors(self, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        """`build` of the logarithms of the posteriors."""
        return self._of_vector(LOG_POSTERIORS, build)

    def _of_vector(self, which: str, build: Callable[[list[pl.Expr]], pl.Expr]) -> pl.Expr:
        if build in (pl.concat_arr, pl.concat_list):
            return self.one(which) if build is pl.concat_arr else self.one(which).arr.to_list()
        bound = self.ask([which]).struct
        elements = [pl.field(which).arr.get(k) for k in range(self.n_classes)]
        return bound.with_fields(bound=build(elements)).struct.field("bound")

    @property
    def top_posterior(self) -> pl.Expr:
        """The largest posterior."""
        return self.one(TOP)

    def cheapest(self, costs: CostMatrix) -> pl.Expr:
        """The Bayes decision for the costs."""
        return self.one(DECISION, costs)

    def moved(self, from_: VectorPrior, to: VectorPrior) -> pl.Expr:
        """The same evidence at another prior."""
        return shifted(self.vector, self.score_type, self.n_classes, from_, to)

    def log_loss(self, in_class: Sequence[pl.Expr]) -> pl.Expr:
        # Masks, one per class, are what the kernel does without: see `Rows.loss`.
        raise NotImplementedError

    brier = log_loss
