"""Physical plans of the streaming engine."""

from __future__ import annotations

import polars as pl


def physical_plan(frame: pl.LazyFrame) -> str:
    dot = frame.show_graph(plan_stage="physical", engine="streaming", raw_output=True)
    assert dot is not None
    return dot.split("fallback>")[-1]


def assert_streams(frame: pl.LazyFrame) -> None:
    plan = physical_plan(frame)
    assert "multi-scan[parquet]" in plan
    assert "in-memory-map" not in plan
