"""A comparison of models or of groups, from the cells of the joint pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from polars_ec.comparisons.joint_pass import (
    UNEQUAL,
    Comparison,
    JointCells,
    Metrics,
    Shape,
    compare_models,
    estimator_of,
    families,
    with_references,
)
from polars_ec.comparisons.ranking import KIND, ranking_differences
from polars_ec.comparisons.result import ResultRow, Sizes, against_of, in_order, result_table, with_numbers, with_sums
from polars_ec.comparisons.validation import COLUMNS
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.inference.estimator import Differences
from polars_ec.numerics import np

_UNEQUAL_LABELS = "the labels of the models differ in {} rows, so these are not the same rows: a shuffled pair. Join the models' rows by their key"
_UNEQUAL_KEYS = (
    "the cluster keys of the models differ in {} rows: unequal cluster keys. Join the models' rows by their key"
)


def compared(cells: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    for name, message in (("label", _UNEQUAL_LABELS), ("cluster", _UNEQUAL_KEYS)):
        if UNEQUAL[name] in cells.columns and (number := cells[UNEQUAL[name]].sum()):
            raise ValueError(message.format(number))
    keys = list(comparison.keys)
    groups, numbered = with_numbers(cells, keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **COLUMNS})
    ranks = pl.DataFrame()
    if comparison.grids:
        ranks = numbered.filter(pl.col(KIND).is_not_null())
        numbered = numbered.filter(pl.col(KIND).is_null())
    groups = with_sums(groups, numbered, comparison.models)
    with np.errstate(all="ignore"):
        costs = comparison.models[0].rows.costs
        joint = JointCells(numbered, Shape(groups.height, costs.n_classes, costs.n_decisions, comparison.buckets))
        found = _differences(joint, ranks, groups, comparison)
        rows = _result_rows(found, joint, groups, comparison)
        return result_table(rows, groups, keys, comparison.reference, comparison.min_rows)


def _differences(
    joint: JointCells, ranks: pl.DataFrame, groups: pl.DataFrame, comparison: Comparison
) -> dict[tuple[str, str], Differences]:
    """Differences of each model and column of a metric."""
    models, reference = comparison.models, comparison.reference
    against = None if reference.model is not None else against_of(comparison.reference, groups, comparison.keys)
    tables = {m.name: with_references(m, comparison.layout, joint.counts, groups) for m in models}
    differences: dict[tuple[str, str], Differences] = {}
    of_sums = [name for name in comparison.names if name not in RANKING_METRICS]
    for family in families(of_sums, models[0].rows.row_costs is not None):
        of = {model.name: Metrics(model, family, comparison.layout) for model in models}
        for model, other in comparison.pairs:
            metrics, table = of[model.name], tables[model.name]
            if other is None:
                assert against is not None
                found = estimator_of(joint, table, metrics).difference(against, comparison.level)
            else:
                both = (metrics, of[other.name])
                found = compare_models(joint, (table, tables[other.name]), both, comparison.level)
            differences |= {(model.name, column): of_column for column, of_column in found.items()}
    if comparison.grids:
        same = {} if against is not None else {model.name: joint.is_reference(model) for model, _ in comparison.pairs}
        differences |= ranking_differences(ranks, tables, comparison, against, same)
    return differences


def _result_rows(
    found: Mapping[tuple[str, str], Differences], joint: JointCells, groups: pl.DataFrame, comparison: Comparison
) -> Iterator[ResultRow]:
    for model, _ in comparison.pairs:
        sizes = Sizes.of(model, groups, joint.counts, joint.counts2)
        for column in in_order((column for name, column in found if name == model.name), comparison.names):
            yield ResultRow(model.name, column, found[model.name, column], sizes)
