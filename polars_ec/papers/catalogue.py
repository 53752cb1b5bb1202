"""All papers, and what is asked for of them."""

from __future__ import annotations

from collections.abc import Sequence

from polars_ec.papers.analysis.paper import PAPER as ANALYSIS
from polars_ec.papers.calibration.paper import PAPER as CALIBRATION
from polars_ec.papers.entries import Entry, Paper
from polars_ec.papers.expected_cost.paper import PAPER as EXPECTED_COST
from polars_ec.papers.lecture.paper import PAPER as LECTURE
from polars_ec.papers.posteriors.paper import PAPER as POSTERIORS

PAPERS: tuple[Paper, ...] = (ANALYSIS, EXPECTED_COST, POSTERIORS, LECTURE, CALIBRATION)


def asked_for(name: str | None) -> list[tuple[Paper, Sequence[Entry]]]:
    """Everything, a paper (`analysis`), or an entry of one (`analysis/table-4`); ValueError for another name."""
    if name is None:
        return [(paper, paper.entries) for paper in PAPERS]
    of_paper, _, of_entry = name.partition("/")
    for paper in PAPERS:
        if paper.name == of_paper:
            found = [entry for entry in paper.entries if not of_entry or entry.name == of_entry]
            if found:
                return [(paper, found)]
            names = ", ".join(entry.name for entry in paper.entries)
            raise ValueError(f"{name!r}: {paper.name} has {names}")
    raise ValueError(f"{name!r} is no paper: {', '.join(paper.name for paper in PAPERS)}")
