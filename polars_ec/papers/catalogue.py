"""All papers, and what is asked for of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from polars_ec.papers.analysis.paper import PAPER as ANALYSIS
from polars_ec.papers.calibration.paper import PAPER as CALIBRATION
from polars_ec.papers.entries import Entry, Paper
from polars_ec.papers.expected_cost.paper import PAPER as EXPECTED_COST
from polars_ec.papers.lecture.paper import PAPER as LECTURE
from polars_ec.papers.posteriors.paper import PAPER as POSTERIORS
from polars_ec.papers.posteriors.table_2 import table_2
from polars_ec.papers.score_files import ScoreSet

PAPERS: tuple[Paper, ...] = (ANALYSIS, EXPECTED_COST, POSTERIORS, LECTURE, CALIBRATION)

OF_SCORES = "posteriors/table-2"
"""The entry that takes score files of a user."""

_MOST_NAMES = 10
"""How many names are told to who asks for one that there is not."""

Asked = Sequence[tuple[Paper, Entry]]


def with_scores(extra: Sequence[ScoreSet]) -> Sequence[Paper]:
    """The papers, of which the table of real systems has these as well."""
    more = partial(table_2, extra)
    return [
        replace(
            paper,
            entries=[
                replace(entry, table=more) if paper.name_of(entry) == OF_SCORES else entry for entry in paper.entries
            ],
        )
        for paper in PAPERS
    ]


def asked_for(name: str | None, papers: Sequence[Paper]) -> Asked:
    """Everything, a paper (`analysis`), or an entry of one (`analysis/table-4`); ValueError for another name."""
    everything = [(paper, entry) for paper in papers for entry in paper.entries]
    if name is None:
        return everything
    found = [(paper, entry) for paper, entry in everything if name in (paper.name, paper.name_of(entry))]
    if found:
        return found
    named = next((paper for paper in papers if paper.name == name.partition("/")[0]), None)
    if named is None:
        names = [paper.name for paper in papers]
        searched = [*names, *(paper.name_of(entry) for paper, entry in everything)]
    else:
        names = searched = [named.name, *map(named.name_of, named.entries)]
    listed = list(dict.fromkeys([*get_close_matches(name, searched), *names]))
    others = "" if len(listed) <= _MOST_NAMES else f", or one of {len(listed) - _MOST_NAMES} others"
    raise ValueError(
        f"{name} is no paper{'' if named is None else ' or entry of one'}: take one of {', '.join(listed[:_MOST_NAMES])}{others}"
    )
