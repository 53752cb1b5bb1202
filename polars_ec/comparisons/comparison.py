"""Comparisons of models or groups, from the cells of the joint pass."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from polars_ec.comparisons import joint_pass
from polars_ec.comparisons.class_areas import ROWS, area_differences
from polars_ec.comparisons.ranking import ranking_differences
from polars_ec.comparisons.result import ResultRow, Sizes, against_of, in_order, result_table, with_numbers, with_sums
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.estimator import Differences
from polars_ec.numerics import np

_UNEQUAL = "the {} of the models differ in {} rows: the rows are not the same. Join the models by a key"


def compared(cells: pl.DataFrame, comparison: joint_pass.Comparison) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    for name, what in (("label", "labels"), ("cluster", "cluster keys")):
        if joint_pass.UNEQUAL[name] in cells.columns and (number := cells[joint_pass.UNEQUAL[name]].sum()):
            raise ValueError(_UNEQUAL.format(what, number))
    keys = list(comparison.keys)
    groups, numbered = with_numbers(cells, keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **comparison.reference.columns})
    ranks = pl.DataFrame()
    if joint_pass.KIND in numbered.columns:
        ranks = numbered.filter(pl.col(joint_pass.KIND).is_not_null())
        numbered = numbered.filter(pl.col(joint_pass.KIND).is_null())
    result_rows = []
    with np.errstate(all="ignore"):
        costs = comparison.models[0].rows.costs
        shape = joint_pass.Shape(groups.height, costs.n_classes, costs.n_decisions, comparison.buckets)
        for pair in comparison.pairs:
            models = [model for model in pair if model is not None]
            of_pair = numbered
            if joint_pass.JOINT not in numbered.columns:
                of_pair = numbered.with_columns(joint_pass.joint_class(models))
            joint, table = joint_pass.JointCells(of_pair, shape), with_sums(groups, of_pair, models)
            differences = _differences(joint, ranks, table, pair, comparison)
            sizes = Sizes.of(pair[0], table, joint.counts, joint.counts2)
            names = in_order(differences, comparison.names)
            result_rows += [ResultRow(pair[0].name, name, differences[name], sizes) for name in names]
        return result_table(result_rows, groups, keys, comparison.reference, comparison.min_rows)


def _differences(
    joint: joint_pass.JointCells,
    ranks: pl.DataFrame,
    groups: pl.DataFrame,
    pair: joint_pass.Pair,
    comparison: joint_pass.Comparison,
) -> dict[str, Differences]:
    """Differences of each column of a metric of a model."""
    model, other = pair
    against = None if other is not None else against_of(comparison.reference, groups, comparison.keys)
    tables = {m.name: joint_pass.with_references(m, comparison.layout, joint, groups) for m in pair if m is not None}
    differences: dict[str, Differences] = {}
    of_sums = [name for name in comparison.names if name not in ORDER_METRICS]
    for family in joint_pass.families(of_sums, model.rows.row_costs is not None):
        metrics, table = joint_pass.Metrics(model, family, comparison.layout), tables[model.name]
        if other is None:
            assert against is not None
            estimator = joint_pass.estimator_of(joint.sums(model, family), table, metrics)
            differences |= estimator.difference(against, comparison.level)
        else:
            both, tables_of_both = (metrics, replace(metrics, model=other)), (table, tables[other.name])
            differences |= joint_pass.compare_models(joint, tables_of_both, both, comparison.level)
    same = against is None and joint.is_reference(model)
    if comparison.grids:
        differences |= ranking_differences(ranks, tables, pair, comparison, against, same=same)
    if any(name in CLASS_AREAS for name in comparison.names):
        rows = ranks.filter(pl.col(joint_pass.KIND) == ROWS).sort(GROUP, maintain_order=True)
        differences |= area_differences(rows, tables, pair, comparison, against, same=same)
    return differences
