"""Drift of a sketch: changes between periods or rolling windows, computed from cells instead of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import Request
from polars_ec.comparisons import validation
from polars_ec.comparisons.drift import STRATUM, PeriodChanges, most_strata, numbered_strata
from polars_ec.comparisons.result import Sizes
from polars_ec.comparisons.sketched import SketchTables, check_difference, tables_of, usual_metrics, without_models
from polars_ec.exceptions import SketchError
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import Clusters
from polars_ec.inference.decomposition import StratifiedEstimate
from polars_ec.inference.estimator import Estimator, MetricChange
from polars_ec.numerics import Floats, Integers, np
from polars_ec.scores.read import join_groups
from polars_ec.sketches.cells import SCORE, TARGET, check_keys, in_blocks
from polars_ec.sketches.operating_points import DecidingCells
from polars_ec.sketches.sums import prior_of_rows
from polars_ec.sketches.windows import Overlaps, Rolling

_PLACE = "__ec_place"


@dataclass(frozen=True)
class SketchDriftRequest:
    """Metrics at an operating point, the column of periods, and what each of them is compared with."""

    metrics: Sequence[str]
    keywords: Mapping[str, Any]
    own_threshold: float | None
    period: str
    reference: Any
    mix: Sequence[str]
    request: Request
    min_rows: int | None

    def tables(self, cells: DecidingCells) -> SketchTables:
        """The sums of the groups of these cells."""
        return tables_of(cells)(cells, self.metrics, self.keywords, self.own_threshold, self.request)


def drift_cells(cells: DecidingCells, question: SketchDriftRequest, rolling: Rolling | None = None) -> pl.DataFrame:
    """The result of `Sketch.drift`, or with `rolling` that for the windows over the cells."""
    question = _checked(cells, question)
    period, factors = question.period, validation.factors_of(question.mix)
    by = [key for key in cells.keys if key not in (SCORE, period, *question.mix)]
    check_keys([*by, period], validation.drift_columns(factors))
    # Periods are those of all groups, so a group without the reference is not an error.
    periods = _periods(cells, question, rolling)
    if periods.height:
        against = validation.references(question.reference, periods, [], period)
        if not (isinstance(question.reference, str) and question.reference == validation.PREVIOUS):
            # The value as it is in the column of periods.
            question = replace(question, reference=periods[period][int(against[0])])
    tables = [pl.DataFrame(schema={**cells.frame.select(*by, period).schema, **validation.drift_columns(factors)})]
    for chosen, of_model in without_models(cells):
        # From all groups, with each row counted once even if it is in several windows.
        prior = prior_of_rows(question.keywords.get("prior"), of_model)
        at_prior = replace(question, keywords={**question.keywords, "prior": prior})
        keys = [key for key in by if key != TARGET]
        changes = PeriodChanges.joined(list(_blocks(of_model, keys, at_prior, rolling)))
        table = changes.table(chosen.get(SCORE), question.metrics, [*keys, period], factors, question.min_rows)
        if TARGET in chosen:
            table = table.with_columns(pl.lit(chosen[TARGET], dtype=cells.frame.schema[TARGET]).alias(TARGET))
        tables.append(table.select(tables[0].columns))
    return pl.concat(tables).sort(*by, period, maintain_order=True)


def _checked(cells: DecidingCells, question: SketchDriftRequest) -> SketchDriftRequest:
    keys = [key for key in cells.keys if key not in (SCORE, TARGET)]
    if question.period not in keys:
        raise SketchError(f"period={question.period!r} is not a group column of the sketch. It has {keys}")
    for name in question.mix:
        if name == question.period:
            raise SketchError(f"mix= names {name!r}, which is the period: leave it out")
        if name not in keys:
            raise SketchError(f"mix= names {name!r}, which is not a group column of the sketch. It has {keys}")
    validation.check_reference(question.reference)
    validation.check_period(cells.frame.lazy(), [pl.col(question.period)])
    metrics = list(question.metrics)
    if not metrics:
        metrics = [name for name in usual_metrics(cells, question.keywords) if name not in RANKING_METRICS]
        if not metrics:
            raise SketchError(
                f"the default metrics for {cells.grid.score_type} scores are ranking metrics, whose change cannot be "
                "explained: pass names of metrics, or threshold="
            )
    check_difference(cells, metrics, question.keywords)
    validation.check_movable(metrics)
    return replace(question, metrics=metrics)


def _periods(cells: DecidingCells, question: SketchDriftRequest, rolling: Rolling | None) -> pl.DataFrame:
    """All periods, or windows, that some group has, with their number."""
    if rolling is None:
        found = cells.frame.select(question.period).unique()
    else:
        found = pl.DataFrame({question.period: rolling.windows(cells)})
    return found.sort(question.period).with_row_index(GROUP).select(question.period, GROUP)


def _blocks(
    cells: DecidingCells, by: Sequence[str], question: SketchDriftRequest, rolling: Rolling | None
) -> Iterator[PeriodChanges]:
    """The changes of some groups after the others, of one model and target."""
    order = [*by, question.period, *question.mix]
    ordered = cells if cells.keys == order else cells.group_by(*order)
    # Arrays are of each period, stratum and bucket, however few there are cells in.
    strata = most_strata(numbered_strata(ordered.frame, by, question.mix)) if question.mix else 1
    least = ordered.frame[question.period].n_unique() * strata * (cells.buckets or 1)
    for block in in_blocks(ordered, by, 1 if rolling is None else rolling.number, least):
        windows = block if rolling is None else rolling.rolled(block)
        yield _changes_of(windows, by, question, None if rolling is None else Overlaps(rolling, block, by))


def _changes_of(
    cells: DecidingCells, by: Sequence[str], question: SketchDriftRequest, overlaps: Overlaps | None
) -> PeriodChanges:
    """The changes of the groups of these cells, which are by group, period and stratum."""
    keys = [*by, question.period]
    tables = question.tables(cells.group_by(*keys) if question.mix else cells)
    groups = tables.table.select(GROUP, *keys)
    against = _against(groups, by, question)
    _check_prior(tables, against)
    sizes = Sizes(tables.table["n"], tables.table["n_missing"], *tables.amounts)
    unit, stratum, of_strata = np.arange(groups.height), np.zeros(groups.height, dtype=np.int64), tables
    if question.mix:
        of_strata = question.tables(cells)
        strata = numbered_strata(of_strata.table, by, question.mix)
        places = of_strata.table.select(*keys, *question.mix)
        unit = join_groups(places, groups, keys)[GROUP].to_numpy().astype(np.int64)
        stratum = join_groups(places, strata, [*by, *question.mix])[STRATUM].to_numpy()
    changes, factors = dict[str, MetricChange](), validation.factors_of(question.mix)
    with np.errstate(all="ignore"):
        for periods, of_periods in zip(tables.estimators(), of_strata.estimators(), strict=True):
            stratified = _stratified(periods, of_periods, unit, stratum)
            changes |= periods.decompose(stratified, against, factors, question.request.level)
        if overlaps is not None:
            known = overlaps.known(groups, against)
            changes = {name: change.only(known, known[against >= 0]) for name, change in changes.items()}
    return PeriodChanges(groups, sizes, against, changes)


def _against(groups: pl.DataFrame, by: Sequence[str], question: SketchDriftRequest) -> Integers:
    """For each period of each group the number of the one that it is compared with, -1 for none."""
    period, reference = question.period, question.reference
    is_value = not (isinstance(reference, str) and reference == validation.PREVIOUS)
    if is_value and not groups[period].eq_missing(pl.Series([reference], dtype=groups.schema[period])).any():
        return np.full(groups.height, -1)
    ordered = groups.rename({GROUP: _PLACE}).sort(*by, period).with_row_index(GROUP)
    place = ordered[_PLACE].to_numpy().astype(np.int64)
    of_ordered = validation.references(reference, ordered.drop(_PLACE), list(by), period)
    against = np.empty_like(of_ordered)
    against[place] = np.where(of_ordered < 0, -1, place[of_ordered])
    return against


def _stratified(periods: Estimator, strata: Estimator, unit: Integers, stratum: Integers) -> StratifiedEstimate:
    """Sums of strata, each with the number of its period, and its own within it."""
    n_units, n_strata = len(periods.moments.linear), int(np.max(stratum, initial=0)) + 1

    def placed(values: Floats) -> Floats:
        table = np.zeros((n_units, n_strata, *values.shape[1:]))
        table[unit, stratum] = values
        return table

    clusters = None
    if strata.clusters is not None and periods.clusters is not None:
        of = strata.clusters
        singletons = None if of.singletons is None else of.singletons.mapped(placed)
        clusters = Clusters(np.moveaxis(placed(of.linear), 1, 2), periods.clusters.weight, of.unit, singletons)
    return StratifiedEstimate(strata.moments.mapped(placed), clusters)


def _check_prior(tables: SketchTables, against: Integers) -> None:
    """ValueError where periods that are compared have other stated priors: a change at two priors is not one of the rows."""
    shares = tables.stated_shares
    if shares is None:
        return
    has_both = against >= 0
    own, other = shares[has_both], shares[against[has_both]]
    if (np.abs(own - other) > 1e-12 * np.abs(other)).any():
        raise ValueError(
            "prior= is an expression that differs between periods, and a change is explained at one prior: pass a "
            "number, or an expression that depends only on the groups"
        )
