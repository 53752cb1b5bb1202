"""Physical plans of the streaming engine."""

from __future__ import annotations

import re

import polars as pl


def physical_plan(frame: pl.LazyFrame) -> str:
    dot = frame.show_graph(plan_stage="physical", engine="streaming", raw_output=True)
    assert dot is not None
    return dot.split("fallback>")[-1]


def assert_streams(frame: pl.LazyFrame) -> None:
    plan = physical_plan(frame)
    assert "multi-scan[parquet]" in plan
    assert "in-memory-map" not in plan


def assert_holds_cells_only(frame: pl.LazyFrame, scans: int = 1) -> None:
    """Assert that each of so many passes over the log ends in a group-by that streams, before anything is done in memory."""
    plan = physical_plan(frame)
    names = dict(re.findall(r'^(\d+) \[label="([a-z-]+)', plan, flags=re.MULTILINE))
    after = dict(re.findall(r"^(\d+) -> (\d+);", plan, flags=re.MULTILINE))
    starts = [node for node, name in names.items() if name == "multi-scan"]
    assert len(starts) == scans
    for node in starts:
        path = [node]
        while path[-1] in after:
            path.append(after[path[-1]])
        steps = [names[step] for step in path]
        assert "in-memory-map" in steps
        assert steps.index("group-by") < steps.index("in-memory-map")
