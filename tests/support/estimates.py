"""Estimates by sketches of each period, written to files and merged, called as those from rows are; and what clusters do to intervals."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

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


def check_clusters(estimate: Callable[..., pl.DataFrame], log: pl.DataFrame, **call: Any) -> None:
    """Rows without a cluster are clusters of their own, four copies of each row double the width, and few clusters have no bounds."""
    plain = estimate(log, **call)
    same = log.with_columns(user=pl.when(pl.col("user") < 0).then("user"))
    assert_frame_equal(estimate(same, cluster="user", **call), plain, rel_tol=1e-9)
    width = pl.col("value_ci_high") - pl.col("value_ci_low")
    repeated = pl.concat([log.with_row_index("row")] * 4)
    narrow, wide = (estimate(repeated, cluster=c, **call) for c in (None, "row"))
    ratio = (wide.select(width).to_series() / narrow.select(width).to_series()).to_numpy()
    assert ratio == pytest.approx([2, 2], abs=0.4)
    found = estimate(log.with_columns(user=pl.col("user") % 3), cluster="user", **call)
    assert found["value"].to_list() == pytest.approx(plain["value"].to_list(), rel=1e-12)
    assert found["value_ci_low"].null_count() == found["value_ci_high"].null_count() == 2
