"""Report columns from a sketch: as for rows, with bounds where cells do not determine a value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import Request as IntervalRequest
from polars_ec.arguments.keywords import parse_options
from polars_ec.formulas.decisions import BATTERY, CELLS, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.reports.models import CONFUSION, named_metrics
from polars_ec.reports.of_decisions import DecisionTables
from polars_ec.reports.of_decisions import columns as columns_of_decisions
from polars_ec.reports.result import is_moved
from polars_ec.sketches.arguments import bayes_threshold
from polars_ec.sketches.cells import check_keys
from polars_ec.sketches.evaluation import evaluate
from polars_ec.sketches.grid import DecisionGrid
from polars_ec.sketches.operating_points import DecidingCells

_RANKING = ("auc_roc",)
_ENDS = ("", "_low", "_high", "_error", "_if_calibrated", "_if_calibrated_high", "_ci_low", "_ci_high", "_kinked")
_OF_GROUP = ("n", "n_missing", "n_invalid", "class_prior")
_SMALL = "small"


@dataclass(frozen=True)
class Point:
    """The operating point of the report: what is `stated` except the prior, else the `threshold` of the sketch.

    `llr_prior` turns LLRs into posteriors. `decisions` are those that the sketch has in place of scores.
    """

    stated: Mapping[str, Any]
    threshold: float | None
    llr_prior: Any
    of_posteriors: bool
    decisions: DecisionTables | None = None

    @classmethod
    def of(cls, sketch: DecidingCells, options: Mapping[str, Any]) -> Point:
        """Operating point of the options."""
        grid, prior = sketch.grid, options.get("prior")
        beside_prior = {name: value for name, value in options.items() if name != "prior"}
        if isinstance(grid, DecisionGrid):
            decisions = DecisionTables(sketch, beside_prior)
            # Other costs are an error here.
            return cls({}, None, None, of_posteriors=True, decisions=decisions)
        stated, threshold = sketch.operating_point.stands_in(beside_prior, grid.classes)
        llr_prior = prior if grid.scale.needs_prior else None
        if isinstance(llr_prior, str) and llr_prior == "overall":
            raise ValueError('prior="overall" differs between the models, because their rows differ: pass a number')
        if llr_prior is not None and "threshold" not in stated and threshold is None:
            # The decisions are those at the prior that turns LLRs into posteriors, whatever weighs the classes after.
            costs = parse_options(stated).costs(2)
            stated["threshold"] = grid.declared(bayes_threshold(costs, grid.scale, llr_prior, grid.classes))
        of_posteriors = grid.scale.has_posteriors or llr_prior is not None
        return cls(stated, threshold, llr_prior, of_posteriors)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords for methods of a sketch."""
        return {**({} if self.threshold is None else {"threshold": self.threshold}), **self.stated}

    @property
    def decides(self) -> bool:
        """Whether there is a threshold."""
        return self.of_posteriors or "threshold" in self.stated or self.threshold is not None

    @property
    def usual(self) -> list[str]:
        """The metrics where none are named."""
        if self.decisions is not None:
            return [*self.decisions.metrics(None)]
        return [name for name in BATTERY if self.of_posteriors or name not in SCORING_RULES] if self.decides else []

    def moved(self, names: Sequence[str]) -> list[str]:
        """Leave out the metrics that a stated prior does not change."""
        if self.decisions is None:
            return [name for name in names if is_moved_by_prior(name)]
        model = self.decisions.model
        return [name for name in names if is_moved(name, model)]


def columns(
    sketch: DecidingCells, options: Mapping[str, Any], metrics: Sequence[str] | None, intervals: IntervalRequest | None
) -> pl.DataFrame:
    """A row per group: the metrics at its own prior and, beside those that depend on it, at the stated prior.

    With intervals each has its bounds, and `small` marks groups with few rows in a class.
    """
    named = named_metrics(metrics)
    if isinstance(sketch.grid, DecisionGrid):
        return columns_of_decisions(sketch, options, metrics, intervals)
    point = Point.of(sketch, options)
    names = [*point.usual, *_RANKING] if named is None else list(named)
    cells = [*CELLS] if named is None and point.decides else []
    return columns_at(sketch, point, options.get("prior"), names, intervals, cells)


def columns_at(
    sketch: DecidingCells,
    point: Point,
    prior: Any,
    names: Sequence[str],
    intervals: IntervalRequest | None,
    cells: Sequence[str] = (),
) -> pl.DataFrame:
    """Columns of these metrics, and then of these counts, where it decides at this point."""
    moved = [name for name in names if is_moved_by_prior(name) and name != "cllr"] if prior is not None else []
    at_point = partial(evaluate, own_threshold=point.threshold, llr_prior=point.llr_prior, request=intervals)
    table = at_point(sketch, [*names, *cells], point.stated)
    small = [] if intervals is None else [_SMALL]
    if moved:
        at_prior = at_point(sketch, moved, {**point.stated, "prior": prior}).drop(*sketch.keys, *_OF_GROUP, *small)
        ends = (*_ENDS, "_threshold")
        other = at_prior.rename({f"{m}{end}": f"{m}_at_prior{end}" for m in moved for end in ends}, strict=False)
        check_keys(sketch.keys, other.columns)
        table = pl.concat([table, other], how="horizontal")
    there = {*table.columns} - {*sketch.keys}
    shown = [
        column
        for name in [part for name in names for part in (CELLS if name == CONFUSION else (name,))]
        for column in (*_of(name, there), *_of(f"{name}_at_prior", there))
    ]
    of_cells = [column for name in cells for column in _of(name, there)]
    return table.select(*sketch.keys, "n", *shown, "class_prior", *small, *of_cells, "n_missing", "n_invalid")


def _of(name: str, columns: Collection[str]) -> Iterator[str]:
    """The columns of a metric: its value, or the bounds of it; not where it is attained."""
    return (f"{name}{end}" for end in _ENDS if f"{name}{end}" in columns)
