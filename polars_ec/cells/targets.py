"""Means over the targets of a sketch: of each class against the rest."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from polars_ec.cells.cells import TARGET, Cells
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import CELLS

_ROWS = ("n", "n_missing", "n_invalid")


def check_targets(cells: Cells, metrics: tuple[str, ...], keywords: Collection[str] = ()) -> None:
    """SketchError for a sketch that is not of one class against the rest, and for what has no mean."""
    if TARGET not in cells.keys:
        raise SketchError(
            f"mean_over_targets() is of sketches of each class against the rest, which have a group column {TARGET!r}: sketch "
            "vectors of K scores; this one has evaluate()"
        )
    if not metrics:
        raise SketchError("mean_over_targets() takes names of metrics, such as 'f1' or 'auc_roc', and there is none")
    if "interval" in keywords:
        raise SketchError(
            "mean_over_targets() has no intervals, for every row is one of each target, and their errors are correlated: "
            "evaluate(interval=) has those of each"
        )
    for name in metrics:
        if name in (*CELLS, "confusion"):
            raise SketchError(f"{name} is a count, which has no mean over targets: evaluate() has it of each")


def average_over_targets(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """A row per group: the counts of its rows, and the plain mean of each metric over the targets, null where one is null.

    `table` is what `evaluate` gives for a sketch with these keys.
    """
    by = [name for name in keys if name != TARGET]
    skipped = (*keys, *_ROWS, "class_prior")
    metrics = [name for name in table.columns if name not in skipped and not name.endswith("_threshold")]
    means = [pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name) for name in metrics]
    # Every row of the log is one of each target.
    columns = [*(pl.col(name).first() for name in _ROWS), *means]
    return table.group_by(by, maintain_order=True).agg(columns) if by else table.select(columns)
