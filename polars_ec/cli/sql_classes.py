"""The rows of a report on each class against the rest, of a DuckDB table: from the counts of classes and decisions per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_ec.cli.sql_calls import Model
from polars_ec.reports import report

_ROW, _LABEL, _DECISION, _COUNT = "__ec_row", "__ec_class_label", "__ec_class_decision", "__ec_class_count"
# What says which value is which class, and of these what the report on counts needs as well.
_READING = ("pos_label", "classes")


def class_rows(
    table: pl.DataFrame, confusion: str, model: Model, options: Mapping[str, Any], metrics: Sequence[str] | None
) -> pl.DataFrame:
    """The table with a row per class for each of its rows, which have their counts in this column.

    A log of decisions is its counts: the report on them, each with its number as weight, is that on the rows.
    """
    costs = model.checked.costs(model.n_classes)
    numbered = table.with_row_index(_ROW)
    values = _label_values(model)
    counts = [
        (row, label, j, n)
        for row, cells in numbered.select(_ROW, confusion).iter_rows()
        for label, decided in zip(values, _cells(cells, costs.n_classes, costs.n_decisions), strict=True)
        for j, n in enumerate(decided)
    ]
    dtype = model.schema[model.label_name]
    schema = {_ROW: numbered.schema[_ROW], _LABEL: dtype, _DECISION: pl.Int64(), _COUNT: pl.Float64()}
    log = pl.DataFrame(counts, schema=schema, orient="row")
    reading = {name: options[name] for name in _READING if name in options}
    found = report(
        log,
        _DECISION,
        _LABEL,
        by=_ROW,
        metrics=metrics,
        per_class=True,
        score_type="decision",
        weight=_COUNT,
        costs=costs.values,
        prior=model.prior_in_use,
        **reading,
    )
    own = [name for name in found.columns if name in numbered.columns and name != _ROW]
    return numbered.join(found.drop(own), on=_ROW, maintain_order="left_right").drop(_ROW, confusion)


def _cells(cells: Any, n_classes: int, n_decisions: int) -> list[list[float | None]]:
    """Rows are classes; nothing is known of a group that has wrong rows."""
    if cells is None:
        return [[None] * n_decisions] * n_classes
    if isinstance(cells, dict):
        return [[cells["tn"], cells["fp"]], [cells["fn"], cells["tp"]]]
    return [list(row) for row in cells]


def _label_values(model: Model) -> list[Any]:
    """A value of the label for each class, in order."""
    positive: Any = model.checked.pos_label
    if model.checked.classes is not None:
        return list(model.checked.classes)
    if positive is not None:
        # Any other value stands for the rest.
        other = not positive if isinstance(positive, bool) else positive + ("-" if isinstance(positive, str) else 1)
        return [other, positive]
    return [False, True] if model.schema[model.label_name] == pl.Boolean else [*range(model.n_classes)]
