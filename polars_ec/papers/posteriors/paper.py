"""The paper, entry by entry in its own order."""

from __future__ import annotations

from polars_ec.papers.entries import Paper

PAPER = Paper(
    "posteriors",
    "L. Ferrer and D. Ramos",
    "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration",
    entries=[],
)
