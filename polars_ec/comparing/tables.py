"""After the pass: from the sums of the cells to a row for each group, model and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
from polars import selectors as cs

from polars_ec.comparing.choice import COLUMNS
from polars_ec.comparing.comparison import Comparison
from polars_ec.comparing.joint_pass import UNEQUAL, sum_of_groups
from polars_ec.comparing.rank_pass import KIND
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.reporting.models import Model
from polars_ec.rows.read import join_groups

if TYPE_CHECKING:
    from polars_ec.comparing.cells import JointCells
    from polars_ec.comparing.differences import Differences
    from polars_ec.comparing.tidy import Piece

_UNEQUAL_LABELS = "the labels of the models differ in {} rows, so these are not the same rows: a shuffled pair. Join the models' rows by their key"
_UNEQUAL_KEYS = (
    "the cluster keys of the models differ in {} rows: unequal cluster keys. Join the models' rows by their key"
)


def compared(cells: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    # Imported here, for it needs numpy.
    import numpy as np

    from polars_ec.comparing.cells import JointCells, Shape
    from polars_ec.comparing.tidy import tidy

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
        return tidy(_pieces(found, joint, groups, comparison), groups, keys, comparison.reference, comparison.min_rows)


def with_numbers(cells: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups, sorted, and the cells, each with the number of its group."""
    if not keys:
        number = pl.lit(0, dtype=pl.get_index_type()).alias(GROUP)
        return pl.select(number), cells.with_columns(number)
    groups = cells.select(keys).unique().sort(keys).with_row_index(GROUP)
    return groups, join_groups(cells, groups, keys)


def with_sums(groups: pl.DataFrame, cells: pl.DataFrame, models: Sequence[Model]) -> pl.DataFrame:
    """The groups with how many rows they have, of each model; 0 where no cell is theirs."""
    sums = cells.group_by(GROUP).agg(**sum_of_groups(cells, models))
    joined = groups.join(sums, on=GROUP, how="left", maintain_order="left")
    return joined.with_columns((cs.integer() - cs.by_name(groups.columns)).fill_null(0))


def _differences(
    joint: JointCells, ranks: pl.DataFrame, groups: pl.DataFrame, comparison: Comparison
) -> dict[tuple[str, str], Differences]:
    """Those of each model and column of a metric."""
    from polars_ec.comparing.groups import compare_groups, grouped
    from polars_ec.comparing.pairs import compare_models
    from polars_ec.comparing.ranks import ranking_differences
    from polars_ec.comparing.tidy import against_of
    from polars_ec.comparing.values import Metrics, families, with_references

    models, reference = comparison.models, comparison.reference
    against = None if reference.model is not None else against_of(comparison.reference, groups, comparison.keys)
    tables = {m.name: with_references(m, comparison.layout, joint.counts, groups) for m in models}
    made: dict[tuple[str, str], Differences] = {}
    of_sums = [name for name in comparison.names if name not in RANKING_METRICS]
    for family in families(of_sums, models[0].rows.row_costs is not None):
        of = {model.name: Metrics(model, family, comparison.layout) for model in models}
        for model, other in comparison.pairs:
            metrics, table = of[model.name], tables[model.name]
            if other is None:
                assert against is not None
                found = compare_groups(grouped(joint, table, metrics), against, comparison.level)
            else:
                both = (metrics, of[other.name])
                found = compare_models(joint, (table, tables[other.name]), both, comparison.level)
            made |= {(model.name, column): of_column for column, of_column in found.items()}
    if comparison.grids:
        same = {} if against is not None else {model.name: joint.is_reference(model) for model, _ in comparison.pairs}
        made |= ranking_differences(ranks, tables, comparison, against, same)
    return made


def _pieces(
    found: Mapping[tuple[str, str], Differences], joint: JointCells, groups: pl.DataFrame, comparison: Comparison
) -> Iterator[Piece]:
    from polars_ec.comparing.sizes import Sizes
    from polars_ec.comparing.tidy import Piece, in_order

    for model, _ in comparison.pairs:
        sizes = Sizes.of(model, groups, joint.counts, joint.counts2)
        for column in in_order((column for name, column in found if name == model.name), comparison.names):
            yield Piece(model.name, column, found[model.name, column], sizes)
