"""All papers, and what is asked for of them."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module

from examples.papers.paper import Entry, Paper
from examples.papers.score_files import ScoreSet

_MODULES = {
    "analysis": "hard_decisions bayes_decisions calibration ranking simulated_systems",
    "expected_cost": "decisions binary_metrics thresholds",
    "posteriors": "scoring_rules calibration figures tables",
    "lecture": "decisions curves",
    "calibration": "equations simulations ranking",
}
PAPERS: tuple[Paper, ...] = tuple(import_module(f"examples.papers.{paper}").PAPER for paper in _MODULES)
for _paper, _names in _MODULES.items():
    for _name in _names.split():
        import_module(f"examples.papers.{_paper}.{_name}")

OF_SCORES = "posteriors/table-2"
"""The entry that takes score files of a user."""
_MOST_NAMES = 10
"""How many names an error message lists."""


def with_scores(extra: Sequence[ScoreSet]) -> Sequence[Paper]:
    """The papers, of which the table of real systems has these as well."""
    from examples.papers.posteriors.tables import table_2

    return [
        replace(
            paper,
            entries=[
                replace(entry, table=lambda: table_2(extra)) if paper.name_of(entry) == OF_SCORES else entry
                for entry in paper.entries
            ],
        )
        for paper in PAPERS
    ]


def asked_for(name: str | None, papers: Sequence[Paper]) -> Sequence[tuple[Paper, Entry]]:
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
