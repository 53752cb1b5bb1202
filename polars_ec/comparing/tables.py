"""After the pass: from the sums of the cells to a row for each group, model and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import polars as pl
from polars import selectors as cs

from polars_ec.comparing.choice import reference_groups
from polars_ec.comparing.comparison import Comparison
from polars_ec.comparing.joint_pass import UNEQUAL, sum_of_groups
from polars_ec.comparing.rank_pass import KIND
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.read import join_groups

if TYPE_CHECKING:
    from polars_ec.comparing.differences import Differences
    from polars_ec.comparing.groups import Against

COLUMNS: Mapping[str, pl.DataType] = {
    "model": pl.String(),
    "reference": pl.String(),
    "metric": pl.String(),
    **dict.fromkeys(
        ("value", "value_reference", "difference", "difference_ci_low", "difference_ci_high", "p_value", "p_adjusted"),
        pl.Float64(),
    ),
    "n": pl.Int64(),
    "n_missing": pl.Int64(),
}
"""What a comparison has beside the columns of groups."""

_UNEQUAL_LABELS = "the labels of the models differ in {} rows, so these are not the same rows: a shuffled pair. Join the models' rows by their key"
_UNEQUAL_KEYS = (
    "the cluster keys of the models differ in {} rows: unequal cluster keys. Join the models' rows by their key"
)


def compared(cells: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    # Imported here, for it needs numpy.
    import numpy as np

    for name, message in (("label", _UNEQUAL_LABELS), ("cluster", _UNEQUAL_KEYS)):
        if UNEQUAL[name] in cells.columns and (number := cells[UNEQUAL[name]].sum()):
            raise ValueError(message.format(number))
    keys = list(comparison.keys)
    if keys:
        groups = cells.select(keys).unique().sort(keys).with_row_index(GROUP)
        numbered = join_groups(cells, groups, keys)
    else:
        groups = pl.DataFrame({GROUP: [0]}, schema={GROUP: pl.get_index_type()})
        numbered = cells.with_columns(pl.lit(0, dtype=pl.get_index_type()).alias(GROUP))
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **COLUMNS})
    ranks = pl.DataFrame()
    if comparison.grids:
        ranks = numbered.filter(pl.col(KIND).is_not_null())
        numbered = numbered.filter(pl.col(KIND).is_null())
    sums = numbered.group_by(GROUP).agg(**sum_of_groups(cells, comparison.models))
    groups = groups.join(sums, on=GROUP, how="left", maintain_order="left").with_columns(cs.integer().fill_null(0))
    with np.errstate(all="ignore"):
        return _tidy(_differences(numbered, ranks, groups, comparison), groups, comparison)


def _differences(
    cells: pl.DataFrame, ranks: pl.DataFrame, groups: pl.DataFrame, comparison: Comparison
) -> dict[tuple[str, str], Differences]:
    """Those of each model and column of a metric."""
    from polars_ec.comparing.cells import JointCells, Shape
    from polars_ec.comparing.groups import compare_groups
    from polars_ec.comparing.pairs import compare_models
    from polars_ec.comparing.ranks import ranking_differences
    from polars_ec.comparing.values import Metrics, families, with_references

    models, reference = comparison.models, comparison.reference
    costs = models[0].rows.costs
    joint = JointCells(cells, Shape(groups.height, costs.n_classes, costs.n_decisions, comparison.buckets))
    against = None if reference.model is not None else _against(comparison, groups)
    tables = {m.name: with_references(m, comparison.layout, joint.counts, groups) for m in models}
    made: dict[tuple[str, str], Differences] = {}
    of_sums = [name for name in comparison.names if name not in RANKING_METRICS]
    for family in families(of_sums, models[0].rows.row_costs is not None):
        of = {model.name: Metrics(model, family, comparison.layout) for model in models}
        for model, other in comparison.pairs:
            metrics, table = of[model.name], tables[model.name]
            if other is None:
                assert against is not None
                found = compare_groups(joint, table, metrics, against, comparison.level)
            else:
                both = (metrics, of[other.name])
                found = compare_models(joint, (table, tables[other.name]), both, comparison.level)
            made |= {(model.name, column): of_column for column, of_column in found.items()}
    if comparison.grids:
        made |= ranking_differences(ranks, tables, comparison, against)
    return made


def _against(comparison: Comparison, groups: pl.DataFrame) -> Against:
    reference = comparison.reference
    if reference.key is not None:
        return reference_groups(reference.key, groups, comparison.keys).to_numpy()
    if groups.height == 1:
        raise ValueError(f"reference={reference.others!r} compares groups, and by= makes one of these rows")
    others: Literal["rest", "total", "best"] = reference.others  # type: ignore[assignment]
    return others


def _tidy(found: Mapping[tuple[str, str], Differences], groups: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """A row for each group, model and metric."""
    from polars_ec.comparing.differences import adjusted

    keys, schema = list(comparison.keys), {**groups.select(comparison.keys).schema, **COLUMNS}
    label = (
        pl.concat_str([pl.col(key).cast(pl.String).fill_null("null") for key in keys], separator=", ")
        if keys
        else pl.lit("")
    )
    labels = groups.select(label.alias("label"))["label"]
    pieces = []
    for m, (model, _) in enumerate(comparison.pairs):
        n = groups[f"{model.prefix}present"] - groups[f"{model.prefix}invalid"]
        missing = groups[f"{model.prefix}rows"] - groups[f"{model.prefix}present"]
        columns = [column for name, column in found if name == model.name]
        for c, column in enumerate(sorted(columns, key=lambda column: _place(column, comparison.names))):
            of = found[model.name, column]
            against = pl.lit(comparison.reference.model or comparison.reference.others, dtype=pl.String)
            kept = pl.lit(value=True)
            if of.reference is not None:
                at = pl.Series(of.reference)
                against = pl.lit(labels.gather(at.clip(0)).zip_with(at >= 0, pl.Series([None], dtype=pl.String)))
                if comparison.reference.key is not None:
                    # The group itself.
                    kept = pl.lit(at) != pl.int_range(len(at))
            p = of.p.copy()
            if comparison.reference.key is not None:
                p[of.reference == range(len(p))] = float("nan")
            numbers = {
                "value": of.value,
                "value_reference": of.value_reference,
                "difference": of.difference,
                "difference_ci_low": of.low,
                "difference_ci_high": of.high,
                "p_value": of.p,
                "p_adjusted": adjusted(p) if of.p_adjusted is None else of.p_adjusted,
            }
            named = {name: pl.Series(values, nan_to_null=True) for name, values in numbers.items()}
            piece = groups.select(*keys, GROUP).with_columns(
                pl.lit(model.name).alias("model"),
                against.alias("reference"),
                pl.lit(column).alias("metric"),
                **named,
                n=n,
                n_missing=missing,
                __ec_order=pl.lit(m * len(columns) + c),
            )
            pieces.append(piece.filter(kept))
    if not pieces:
        return pl.DataFrame(schema=schema)
    return pl.concat(pieces).sort(GROUP, "__ec_order").select(*schema)


def _place(column: str, names: Sequence[str]) -> tuple[int, bool]:
    name = column.removesuffix("_at_prior")
    return names.index(name), name != column
