"""The paper, entry by entry in its own order."""

from __future__ import annotations

from polars_ec.papers.entries import Paper

PAPER = Paper(
    "expected-cost",
    "L. Ferrer",
    "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric",
    entries=[],
)
