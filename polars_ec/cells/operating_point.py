"""Where a sketch decides: at a threshold, or at the Bayes threshold of costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec.cells.cells import check_same
from polars_ec.cells.grid import SketchScoreType
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.display import number
from polars_ec.options import Options, parse_options

_COSTS = ("costs", "cost_fn", "cost_fp")


@dataclass(frozen=True)
class OperatingPoint:
    """Two by two costs, and the threshold, None for the Bayes threshold of the costs."""

    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], classes: ClassNames) -> OperatingPoint:
        """That which the usual keywords describe."""
        stated = parse_options({name: options[name] for name in (*_COSTS, "threshold") if name in options})
        return cls(two_by_two(stated).for_classes(classes), stated.threshold)

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
    if score_type == "posterior":
        return costs.bayes_threshold()
    if score_type == "log_odds":
        return costs.bayes_log_odds()
    if score_type == "raw":
        raise ValueError("raw scores have no Bayes threshold: pass threshold=, on their own scale")
    settings = parse_options({"prior": prior})
    if not settings.prior.stated or settings.prior.expression is not None:
        raise ValueError("the Bayes threshold of LLRs moves with the prior: pass prior= a number, or threshold=")
    shares = settings.prior.per_row(classes, None)
    p0, p1 = pl.select(a=shares[0], b=shares[1]).row(0)
    if not 0 < p1 < 1:
        raise ValueError(f"prior={prior!r} leaves one class, and so no threshold for LLRs")
    return costs.bayes_log_odds() - (math.log(p1) - math.log(p0))


def two_by_two(settings: Options) -> CostMatrix:
    """The costs, which a sketch takes for two decisions only; ValueError for others."""
    costs = settings.costs(2)
    if (costs.n_classes, costs.n_decisions) != (2, 2):
        raise ValueError(
            f"costs= is {costs.n_classes} x {costs.n_decisions}, and a sketch decides between two: evaluate it on the rows"
        )
    return costs
