"""The paper, entry by entry in its own order."""

from __future__ import annotations

from polars_ec.papers.entries import Paper

PAPER = Paper(
    "calibration",
    "W. Siblini and others",
    "Master your metrics with calibration",
    entries=[],
)
