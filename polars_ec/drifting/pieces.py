"""From the cells of the joint pass to the changes of each model's metrics, so many groups at a time as memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors as cs

from polars_ec.comparing.cells import JointCells, Shape
from polars_ec.comparing.groups import grouped
from polars_ec.comparing.sizes import Sizes
from polars_ec.comparing.tidy import Piece, in_order
from polars_ec.comparing.values import Metrics, families, with_references
from polars_ec.drifting.asked import Drift
from polars_ec.drifting.changes import (
    Changes,
    StrataCells,
    changes_of,
    joined,
    most_strata,
    numbered_strata,
    one_stratum,
)
from polars_ec.formulas.sums import GROUP
from polars_ec.reporting.models import Model

Integers = NDArray[np.int64]

# Numbers of the sums of periods that are made at a time.
_MOST_AT_ONCE = 2**26


def pieces_of(cells: pl.DataFrame, groups: pl.DataFrame, against: Integers, drift: Drift) -> Iterator[Piece]:
    """Those of each column of a metric, in the order of the result; `against` is what each period is compared with."""
    costs = drift.model.rows.costs
    shape = Shape(groups.height, costs.n_classes, costs.n_decisions, drift.buckets)
    joint = JointCells(cells, shape)
    some = list(_some_periods(cells, against, shape, drift))
    model = drift.model
    table = with_references(model, drift.layout, joint.counts, groups)
    _check_priors(model, table, against, drift.keys)
    sizes = Sizes.of(model, groups, joint.counts, joint.counts2)
    found = joined([periods.changes(table, against, drift) for periods in some])
    for column in in_order(found, drift.metrics):
        yield found[column].piece(model.name, column, sizes, against)


@dataclass(frozen=True)
class _Periods:
    """Some that follow each other, with all that they are compared with; and their cells."""

    start: int
    joint: JointCells
    strata: StrataCells | None

    def changes(self, table: pl.DataFrame, against: Integers, drift: Drift) -> dict[str, Changes]:
        """Those of the metrics; `table` and `against` are of all periods."""
        at = slice(self.start, self.start + self.joint.shape.groups)
        table, against = table[at], np.where(against[at] >= 0, against[at] - self.start, -1)
        found: dict[str, Changes] = {}
        for family in families(drift.metrics, drift.model.rows.row_costs is not None):
            metrics = Metrics(drift.model, family, drift.layout)
            of_periods = grouped(self.joint, table, metrics)
            strata = (
                one_stratum(of_periods, metrics, table)
                if self.strata is None
                else self.strata.of_metrics(metrics, table, of_periods)
            )
            found |= changes_of(of_periods, strata, against, drift.factors, drift.level)
        return {column: changes.moved(self.start) for column, changes in found.items()}


def _some_periods(cells: pl.DataFrame, against: Integers, shape: Shape, drift: Drift) -> Iterator[_Periods]:
    """All, so many at a time that the sums of their strata and buckets do not take all memory."""
    by, mix = drift.by, drift.mix
    n_strata = most_strata(numbered_strata(cells, by, mix)) if mix else 1
    features = max(shape.decisions, 3)
    of_period = n_strata * shape.classes * features * ((shape.buckets or 0) + features)
    bounds = _bounds(against, max(_MOST_AT_ONCE // of_period, 1))
    for start, end in pairwise(bounds):
        group = pl.col(GROUP)
        of_some = cells.filter(group >= start, group < end).with_columns(group - start) if len(bounds) > 2 else cells
        part = Shape(end - start, shape.classes, shape.decisions, shape.buckets)
        yield _Periods(start, JointCells(of_some, part), StrataCells.of(of_some, by, mix, part) if mix else None)


def _bounds(against: Integers, at_once: int) -> list[int]:
    """Where periods are cut into runs of about so many, each with all that it is compared with."""
    number = len(against)
    places = np.arange(number)
    known = np.where(against >= 0, against, places)
    before = np.maximum.accumulate(np.concatenate([[-1], np.maximum(known, places)]))[:number]
    after = np.minimum.accumulate(known[::-1])[::-1]
    starts = np.flatnonzero((before < places) & (after >= places))
    bounds = [0]
    while number - bounds[-1] > at_once:
        later = starts[starts > bounds[-1]]
        if not len(later):
            break
        within = later[later <= bounds[-1] + at_once]
        bounds.append(int(within[-1] if len(within) else later[0]))
    return [*bounds, number]


def _check_priors(model: Model, groups: pl.DataFrame, against: Integers, keys: list[str]) -> None:
    """ValueError where a prior that rows state is not that of the reference: a change at two priors is not one of the rows."""
    if model.rows.options.prior.expression is None:
        return
    pairs = groups.with_row_index("__ec_place").filter(pl.Series(against) >= 0)
    others = groups[against[against >= 0]]
    for name in groups.select(cs.starts_with(f"{model.prefix}reference")).columns:
        differ = (pairs[name] != others[name]).fill_null(False)
        if differ.any():
            at = differ.arg_max()
            assert at is not None
            period, reference = (", ".join(str(value) for value in of.select(keys).row(at)) for of in (pairs, others))
            raise ValueError(
                f"prior= differs between {period} and {reference}, and the parts of a change are at one prior: state one, or one for each "
                "group of by="
            )
