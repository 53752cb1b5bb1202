"""The report from a sketch: the battery of the report on rows, laid out as there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_ec.cells.cells import check_keys
from polars_ec.cli.errors import UsageError
from polars_ec.cli.manifest import model_keys
from polars_ec.cli.request import Sketched
from polars_ec.cli.windows import rolled
from polars_ec.intervals.arguments import parse_interval
from polars_ec.reporting.of_cells import columns

_ADDED_BY = {"small": ("min_rows", "interval"), "total": ("total",)}


def sketch_report(sketched: Sketched, layout: Mapping[str, Any], window: int | None) -> pl.DataFrame:
    """The columns of `polars_ec.report`, and `auc_roc` with its bound. NAME_low and NAME_high where the sketch does not know the threshold.

    `layout` has `metrics`, `min_rows`, `total` and how there are intervals, as for `polars_ec.report`; of clusters the sketch knows.
    `window` is how many periods a row is of; None: its own.
    """
    sketch = sketched.sketch
    marks = [name for name, options_of in _ADDED_BY.items() if any(option in layout for option in options_of)]
    check_keys(sketch.keys, marks)
    table = _rows([sketched] if window is None else rolled(sketched, window), layout)
    if "total" in layout:
        table = _with_total(table, sketched, layout)
    # Beside what is read first, as in the report on rows.
    before = table.columns[: table.columns.index("class_prior") + 1]
    return table.select(*before, *marks, pl.exclude(*before, *marks))


def _rows(parts: Iterable[Sketched], layout: Mapping[str, Any]) -> pl.DataFrame:
    # Clusters are those of the sketch.
    intervals = parse_interval({name: value for name, value in layout.items() if name != "buckets"})
    tables = []
    for part in parts:
        made = columns(part.sketch, part.options, layout.get("metrics"), intervals)
        tables.append(in_order(made, part.sketch.keys, part.made_with))
    table = tables[0] if len(tables) == 1 else in_order(pl.concat(tables), part.sketch.keys, part.made_with)
    if "min_rows" not in layout:
        return table
    few = pl.col("n") < layout["min_rows"]
    return table.with_columns(small=few if intervals is None else few | pl.col("small"))


def _with_total(table: pl.DataFrame, sketched: Sketched, layout: Mapping[str, Any]) -> pl.DataFrame:
    """The table with a row over all groups, of each model, as the last."""
    sketch, models = sketched.sketch, model_keys(sketched.made_with)
    if sketch.keys == models:
        raise UsageError("--total adds a row over all groups, and without --by and --every there is one: leave it out")
    # An empty folder has no groups, and nothing over all of them.
    of_all = replace(sketched, sketch=sketch.group_by(*models))
    whole = _rows([of_all], layout).filter(pl.lit(value=table.height > 0))
    parts = [part.with_columns(total=pl.lit(value=is_total)) for part, is_total in ((table, False), (whole, True))]
    return pl.concat(parts, how="diagonal")


def in_order(table: pl.DataFrame, keys: Sequence[str], made_with: Mapping[str, Any]) -> pl.DataFrame:
    """As in the report on rows: nulls first, and within a group the models as they were named."""
    models, order = model_keys(made_with), made_with["--score"]
    by = [pl.col(key).replace_strict(order, range(len(order))) if key in models else pl.col(key) for key in keys]
    return table.sort(by) if by else table
