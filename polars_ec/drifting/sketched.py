"""Drift of a sketch: the same changes and parts, from its cells in place of the rows; and of rolling windows over its periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.arguments import battery
from polars_ec.cells.blocks import in_blocks
from polars_ec.cells.cells import SCORE, TARGET, Cells, check_keys
from polars_ec.cells.sums import prior_columns, prior_of_rows
from polars_ec.cells.windows import Rolling
from polars_ec.comparing.groups import Grouped
from polars_ec.comparing.sizes import Sizes
from polars_ec.comparing.sketched import COUNTS, SketchTables, check_difference, without_models
from polars_ec.drifting.changes import STRATUM, Changes, changes_of, joined, most_strata, numbered_strata, tidied
from polars_ec.drifting.choice import (
    PREVIOUS,
    check_movable,
    check_reference,
    columns_of,
    columns_of_part,
    factors_of,
    references,
)
from polars_ec.drifting.overlaps import Overlaps
from polars_ec.drifting.parts import Strata
from polars_ec.exceptions import SketchError
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.estimates import Clusters
from polars_ec.intervals.spread import Moments
from polars_ec.rows.read import join_groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PLACE = "__ec_place"


@dataclass(frozen=True)
class Question:
    """What is asked of a sketch: metrics at an operating point, the column of periods, and what each of them is compared with."""

    metrics: Sequence[str]
    keywords: Mapping[str, Any]
    own_threshold: float | None
    period: str
    reference: Any
    mix: Sequence[str]
    request: Request
    min_rows: int | None


def drift_cells(cells: Cells, asked: Question, rolling: Rolling | None = None) -> pl.DataFrame:
    """What `Sketch.drift` gives; with `rolling` of the windows over the cells."""
    asked = _checked(cells, asked)
    by = [key for key in cells.keys if key not in (SCORE, asked.period, *asked.mix)]
    columns = columns_of(factors_of(asked.mix))
    check_keys([*by, asked.period], columns)
    # Which periods there are all groups tell, so that a group without the reference is no error.
    periods = _periods(cells, asked, rolling)
    if periods.height:
        asked = replace(asked, reference=_reference(asked, periods))
    made = [pl.DataFrame(schema={**cells.frame.select(*by, asked.period).schema, **columns})]
    for chosen, part in without_models(cells):
        # Of all groups, and of each row once, however many windows it is in.
        prior = prior_of_rows(asked.keywords.get("prior"), part)
        own = replace(asked, keywords={**asked.keywords, "prior": prior})
        keys = [key for key in by if key != TARGET]
        found = _joined(list(_of_blocks(part, keys, own, rolling))).tidied(
            [*keys, asked.period], own, chosen.get(SCORE)
        )
        if TARGET in chosen:
            found = found.with_columns(pl.lit(chosen[TARGET], dtype=cells.frame.schema[TARGET]).alias(TARGET))
        made.append(found.select(made[0].columns))
    return pl.concat(made).sort(*by, asked.period, maintain_order=True)


def _checked(cells: Cells, asked: Question) -> Question:
    keys = [key for key in cells.keys if key not in (SCORE, TARGET)]
    if asked.period not in keys:
        raise SketchError(f"period={asked.period!r} is not a group column of the sketch, which has {keys}")
    for name in asked.mix:
        if name == asked.period:
            raise SketchError(f"mix= names {name!r}, which is the period: its shares are what the periods are made of")
        if name not in keys:
            raise SketchError(f"mix= names {name!r}, which is not a group column of the sketch, which has {keys}")
    check_reference(asked.reference)
    metrics = list(asked.metrics)
    if not metrics:
        usual = battery(cells.grid, asked.keywords)
        metrics = [name for name in usual if name not in (*COUNTS, *RANKING_METRICS)]
        if not metrics:
            raise SketchError(
                f"the sketch is of {cells.grid.score_type} scores, whose usual metrics are made of the order of scores and not of sums: pass "
                "names of metrics, or threshold="
            )
    check_difference(cells, metrics, asked.keywords)
    check_movable(metrics)
    return replace(asked, metrics=metrics)


def _periods(cells: Cells, asked: Question, rolling: Rolling | None) -> pl.DataFrame:
    """All periods, or windows, that some group has, with their number."""
    if rolling is None:
        found = cells.frame.select(asked.period).unique()
    else:
        found = pl.DataFrame({asked.period: rolling.windows(cells)})
    return found.sort(asked.period).with_row_index(GROUP).select(asked.period, GROUP)


def _reference(asked: Question, periods: pl.DataFrame) -> Any:
    """A value of the period, as it is in its column; or that it is the one before each."""
    against = references(asked.reference, periods, [], asked.period)
    if isinstance(asked.reference, str) and asked.reference == PREVIOUS:
        return PREVIOUS
    return periods[asked.period][int(against[0])]


@dataclass(frozen=True)
class _Drifted:
    """The changes between the periods of some groups; `against` says which period each is compared with, -1 for none."""

    groups: pl.DataFrame
    sizes: Sizes
    against: Integers
    changes: Mapping[str, Changes]

    def moved(self, start: int) -> _Drifted:
        """The same where the first of the periods has this number."""
        groups = self.groups.with_columns(pl.col(GROUP) + start)
        against = np.where(self.against >= 0, self.against + start, -1)
        return _Drifted(groups, self.sizes, against, {name: of.moved(start) for name, of in self.changes.items()})

    def tidied(self, keys: Sequence[str], asked: Question, model: str | None) -> pl.DataFrame:
        """The result; p-values are adjusted for the periods of all these groups."""
        pieces = [self.changes[name].piece(model, name, self.sizes, self.against) for name in asked.metrics]
        return tidied(pieces, self.groups, keys, factors_of(asked.mix), asked.min_rows)


def _joined(some: Sequence[_Drifted]) -> _Drifted:
    """Those of groups that follow each other."""
    starts = np.cumsum([0, *(of.groups.height for of in some[:-1])])
    parts = [of.moved(int(start)) for of, start in zip(some, starts, strict=True)]
    return _Drifted(
        pl.concat([of.groups for of in parts]),
        Sizes.joined([of.sizes for of in parts]),
        np.concatenate([of.against for of in parts]),
        joined([of.changes for of in parts]),
    )


def _of_blocks(cells: Cells, by: Sequence[str], asked: Question, rolling: Rolling | None) -> Iterator[_Drifted]:
    """The changes of some groups after the others, of one model and target."""
    order = [*by, asked.period, *asked.mix]
    ordered = cells if cells.keys == order else cells.group_by(*order)
    # Arrays are of each period, stratum and bucket, however few there are cells in.
    strata = most_strata(numbered_strata(ordered.frame, by, asked.mix)) if asked.mix else 1
    least = ordered.frame[asked.period].n_unique() * strata * (cells.buckets or 1)
    for block in in_blocks(ordered, by, 1 if rolling is None else rolling.number, least):
        windows = block if rolling is None else rolling.rolled(block)
        yield _Block(windows, by, asked, None if rolling is None else Overlaps(rolling, block, by)).drifted()


@dataclass(frozen=True)
class _Block:
    """The cells of some groups of one model and target, by group, period and stratum."""

    cells: Cells
    by: Sequence[str]
    asked: Question
    overlaps: Overlaps | None

    def drifted(self) -> _Drifted:
        asked, keys = self.asked, [*self.by, self.asked.period]
        tables = self._tables(self.cells.group_by(*keys) if asked.mix else self.cells)
        groups = tables.table.select(GROUP, *keys)
        against = self._against(groups)
        _check_prior(tables, against)
        sizes = Sizes(tables.table["n"], tables.table["n_missing"], *tables.intervals.amounts)
        with np.errstate(all="ignore"):
            return _Drifted(groups, sizes, against, self._changes(tables, against))

    def _tables(self, cells: Cells) -> SketchTables:
        asked = self.asked
        return SketchTables(cells, asked.metrics, asked.keywords, asked.own_threshold, asked.request)

    def _against(self, groups: pl.DataFrame) -> Integers:
        """For each period of each group the number of the one that it is compared with, -1 for none."""
        period, reference = self.asked.period, self.asked.reference
        is_value = not (isinstance(reference, str) and reference == PREVIOUS)
        if is_value and not groups[period].eq_missing(pl.Series([reference], dtype=groups.schema[period])).any():
            return np.full(groups.height, -1)
        ordered = groups.rename({GROUP: _PLACE}).sort(*self.by, period).with_row_index(GROUP)
        place = ordered[_PLACE].to_numpy().astype(np.int64)
        of_ordered = references(reference, ordered.drop(_PLACE), list(self.by), period)
        against = np.empty_like(of_ordered)
        against[place] = np.where(of_ordered < 0, -1, place[of_ordered])
        return against

    def _changes(self, tables: SketchTables, against: Integers) -> dict[str, Changes]:
        asked, factors = self.asked, factors_of(self.asked.mix)
        groups = tables.table.select(GROUP, *self.by, asked.period)
        unit, stratum, of_strata = np.arange(groups.height), np.zeros(groups.height, dtype=np.int64), tables
        if asked.mix:
            of_strata = self._tables(self.cells)
            strata = numbered_strata(of_strata.table, self.by, asked.mix)
            keys = of_strata.table.select(*self.by, asked.period, *asked.mix)
            unit = join_groups(keys, groups, [*self.by, asked.period])[GROUP].to_numpy().astype(np.int64)
            stratum = join_groups(keys, strata, [*self.by, *asked.mix])[STRATUM].to_numpy()
        found: dict[str, Changes] = {}
        for family, of_family in zip(tables.families(), of_strata.families(), strict=True):
            taken_apart = _strata(family, of_family, unit, stratum)
            found |= changes_of(family, taken_apart, against, factors, asked.request.level)
        if self.overlaps is None:
            return found
        known = self.overlaps.known(groups, against)
        return {name: _told(change, factors, known) for name, change in found.items()}


def _strata(periods: Grouped, strata: Grouped, unit: Integers, stratum: Integers) -> Strata:
    """The sums of strata that are so many, side by side for each period."""
    n_units, n_strata = len(periods.moments.linear), int(stratum.max(initial=0)) + 1
    place = unit * n_strata + stratum

    def spread_out(values: Floats) -> Floats:
        table = np.zeros((n_units * n_strata, *values.shape[1:]))
        table[place] = values
        return table.reshape(n_units, n_strata, *values.shape[1:])

    def of(moments: Moments) -> Moments:
        return Moments(spread_out(moments.linear), spread_out(moments.square), moments.unit)

    clusters = None
    if strata.clusters is not None and periods.clusters is not None:
        single = None if strata.clusters.single is None else of(strata.clusters.single)
        linear = np.moveaxis(spread_out(strata.clusters.linear), 1, 2)
        clusters = Clusters(linear, periods.clusters.weight, strata.clusters.unit, single)
    return Strata(periods.columns, of(strata.moments), clusters, periods.enlarged, periods.some, periods.side)


def _told(change: Changes, factors: Sequence[str], known: NDArray[np.bool_]) -> Changes:
    """Without limits where nothing tells them."""
    of = change.differences
    low, high, p = (np.where(known, values, np.nan) for values in (of.low, of.high, of.p))
    limits = [name for factor in factors for name in columns_of_part(factor)[1:3]]
    parts = {**change.parts, **{name: np.where(known, change.parts[name], np.nan) for name in limits}}
    return Changes(replace(of, low=low, high=high, p=p), parts)


def _check_prior(tables: SketchTables, against: Integers) -> None:
    """ValueError where periods that are compared have other stated priors: a change at two priors is not one of the rows."""
    stated = prior_columns(tables.intervals.arguments)
    if stated is None:
        return
    shares = tables.table.select(stated).cast(pl.Float64).fill_null(np.nan).to_numpy()
    has_both = against >= 0
    own, other = shares[has_both], shares[against[has_both]]
    if (np.abs(own - other) > 1e-12 * np.abs(other)).any():
        raise ValueError(
            "prior= is an expression that differs from one period to another, and a change is told at one prior: state it as a number, or as "
            "an expression of the groups alone"
        )
