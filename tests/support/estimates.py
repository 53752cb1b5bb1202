"""Estimates by sketches of each period, written to files and merged, called as those from rows are."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import polars as pl

import polars_ec as ec

OF_SKETCHES = ("weight", "score_type", "pos_label", "classes", "cluster", "buckets", "cost_fn", "cost_fp", "threshold")


def by_sketches(
    frame: pl.DataFrame,
    score: str | list[str],
    label: str,
    *,
    period: str,
    by: str | Sequence[str] = (),
    metrics: Sequence[str] = (),
    **options: Any,
) -> pl.DataFrame:
    """`ec.estimate`, where a sketch has one file for each period."""
    stated = {name: options.pop(name) for name in OF_SKETCHES if name in options}
    keys = [period, *([by] if isinstance(by, str) else by)]
    logs = frame.partition_by(period) or [frame]
    merged = ec.merge([through_file(log.ec.sketch(score, label, by=keys, unlabelled=True, **stated)) for log in logs])
    found = merged.estimate(*metrics, period=period, **options)
    return found if isinstance(score, list) else found.with_columns(model=pl.lit(score))


def through_file(sketch: ec.Sketch) -> ec.Sketch:
    """The sketch after it was written and read."""
    with tempfile.NamedTemporaryFile() as file:
        sketch.write_parquet(file.name)
        return ec.Sketch.read_parquet(file.name)
