"""Which metrics have another value at another prior: those whose formulas ask for the priors of the classes."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from polars_ec.costs import CostMatrix
from polars_ec.formulas.decisions import DECISIONS, OF_CLASSES, Arguments, decision_value
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import Sums

AT_PRIOR = "_at_prior"
"""What the name of a value at a stated prior ends with."""

# The order of the scores of a class is the same whatever its share: only what mixes the classes is moved.
_OF_RANKS = ("average_precision", "auprg", "min_expected_cost", "min_dcf")


def is_moved_by_prior(name: str, costs: CostMatrix | None = None) -> bool:
    """Whether a stated prior gives the metric of this name another value; default costs: those of two classes."""
    if name in RANKING_METRICS:
        return name in _OF_RANKS
    if name not in (*DECISIONS, *OF_CLASSES):
        # Scoring rules and calibration errors are expectations; the confusion matrix is counts.
        return name != "confusion"
    matrix = CostMatrix.binary() if costs is None else costs
    sums = _Watched(matrix)
    decision_value(name, sums, Arguments(matrix))
    return sums.asked


class _Watched(Sums):
    """Sums of nothing, which know whether a formula has asked for the prior."""

    def __init__(self, costs: CostMatrix) -> None:
        super().__init__(costs.n_decisions, None, costs.n_classes)
        self.asked = False

    def count(self, i: int) -> pl.Expr:  # noqa: ARG002
        return pl.lit(1.0)

    @property
    def size(self) -> pl.Expr:
        return pl.lit(1.0)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:  # noqa: ARG002
        return pl.lit(1.0)

    @property
    def prior(self) -> list[pl.Expr]:
        self.asked = True
        return super().prior
