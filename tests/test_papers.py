"""The papers once more, entry by entry: each number agrees with the paper, each figure is drawn, and nothing is left out."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

import polars_ec as ec
from examples.papers.catalogue import PAPERS, asked_for
from examples.papers.paper import Result, result_of
from examples.papers.texts import numbers_text
from polars_ec.plot.files import encoded

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "website"))
try:
    from papers import PAGES, PICTURES, markdown, page, picture
finally:
    sys.path.remove(str(ROOT / "docs" / "website"))

ENTRIES = {paper.name_of(entry): (paper, entry) for paper, entry in asked_for(None, PAPERS)}

# How many equations, tables and figures the papers have, by their numbers.
NUMBERED = {
    "analysis": {"equation": 71, "table": 5, "figure": 3},
    "expected-cost": {"equation": 30, "table": 1, "figure": 2},
    "posteriors": {"equation": 38, "table": 3, "figure": 5},
    "lecture": {},
    "calibration": {"equation": 6, "table": 0, "figure": 7},
}
# The numbers 67 and 68 are of no equation.
SKIPPED = {"analysis/equation-67", "analysis/equation-68"}
# Those that take more than 0.1 s, each for itself.
SLOW = {
    f"{paper}/{name}"
    for paper, names in {
        "analysis": "costs-for-a-sensitivity degroot ece-by-bins eer-bound equation-38 equation-59 equation-60 equation-64 "
        "figure-2 figure-3 integrals monotone-transformations section-2.1.1 section-2.4 section-2.7 section-2.7.1 "
        "section-4.2 section-4.2.1 section-4.3.2 section-4.8.1 section-4.8.2 section-4.8.3 sensitivity-on-other-data table-3 table-4 table-5 tables-4-and-5 "
        "train-on-test",
        "expected-cost": "appendix-c.1 best-thresholds-of-f costs-of-a-miss eer-bound figure-1 figure-2 section-2.1 "
        "section-4.1 section-4.2 table-1",
        "posteriors": "appendix-e equation-10 equation-12 equation-21 equation-22 equation-30 equation-31 equation-32 "
        "equation-33 figure-1 figure-2 figure-3 figure-5 footnote-6 one-against-others section-3.1 section-3.2 section-3.3 section-3.5 table-1 table-2",
        "lecture": "bayes-error-plot mis-calibration score-calibration",
        "calibration": "figure-1 figure-2 figure-4 figure-5 figure-6 figure-7 section-3.2 section-5-deployment "
        "section-5-monitoring undersampling",
    }.items()
    for name in names.split()
}
MOST_POINTS = 5_000


@cache
def result(name: str) -> Result:
    return result_of(*ENTRIES[name])


def entries(wanted) -> list:
    names = [name for name, (_, entry) in ENTRIES.items() if wanted(entry)]
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.mark.parametrize("name", entries(lambda entry: entry.table is not None))
def test_numbers_agree(name: str) -> None:
    table = result(name).table
    assert table is not None
    assert table.numbers
    wrong = [
        (row, column, number)
        for row, cells in table.rows
        for column, number in zip(table.columns, cells, strict=True)
        if number is not None and not number.agrees
    ]
    assert not wrong
    assert result(name).held
    for note in table.notes:
        assert re.search(r"[.)]$", note), f"half a sentence has a point of its own: {note}"
    kinds = {number.against for number in table.numbers}
    if any(re.search(r"prints no number|[Nn]o number is printed", note) for note in table.notes):
        assert "print" not in kinds, "the notes say that these numbers are not in print"
    # Half a unit of the last digit in print, or last bits of an equation.
    digits = [len(number.shown.partition(",")[0].partition(".")[2]) for number in table.numbers]
    widened = sum(
        number.allowed > 2e-9 + (1e-9 * abs(number.expected) if number.against == "equation" else 0.5 * 10.0**-places)
        for number, places in zip(table.numbers, digits, strict=True)
        if number.allowed is not None and number.decimals
    )
    assert (f"more than a rounding is allowed for {widened}" in numbers_text(result(name))) == (widened > 0)
    assert table.notes or not widened, "a note says why more is allowed"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (_, entry) in ENTRIES.items() if entry.draw is not None])
def test_figures(name: str) -> None:
    """There is something on it, not too much for a page, and the same each time."""
    draw = ENTRIES[name][1].draw
    assert draw is not None
    charts = [draw(), draw()]
    assert 0 < sum(map(len, charts[0].to_dict()["datasets"].values())) <= MOST_POINTS
    first, second = (encoded(chart, ".svg") for chart in charts)
    assert first == second


def test_slow_entries_are_there() -> None:
    assert set(ENTRIES) >= SLOW


def test_names_are_unlike() -> None:
    assert len(ENTRIES) == sum(len(paper.entries) for paper in PAPERS)
    assert all(re.fullmatch(r"[a-z][\w.-]*", entry.name) for _, entry in ENTRIES.values())


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_no_number_of_a_paper_is_left_out(paper) -> None:
    for kind, count in NUMBERED[paper.name].items():
        numbered = [f"{paper.name}/{kind}-{number}" for number in range(1, count + 1)]
        names = [paper.name_of(entry) for entry in paper.entries if re.fullmatch(rf"{kind}-\d+", entry.name)]
        assert names == [name for name in numbered if name not in SKIPPED]
    for entry in paper.entries:
        if re.fullmatch(r"(equation|table|figure)-\d+", entry.name):
            assert entry.title == entry.name.replace("-", " ").capitalize()
            assert entry.kind == entry.name.partition("-")[0]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_what_entries_say(paper) -> None:
    """Each is named as it is in the paper and here, and what is named of polars_ec is there."""
    for entry in paper.entries:
        assert entry.title
        assert entry.what
        assert entry.here.strip("- ")
        for dotted in re.findall(r"\bec\.(\w+(?:\.\w+)*)", f"{entry.here} {entry.reason}"):
            it = ec
            for part in dotted.split("."):
                assert hasattr(it, part), f"{entry.name}: ec.{dotted}"
                it = getattr(it, part)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_page_says_what_is_computed(paper) -> None:
    """But for the last digit of a number, which may be another on another machine."""
    results = [result(paper.name_of(entry)) for entry in paper.entries]
    decimal = re.compile(r"(-?\d+\.\d+)")
    made, kept = (
        decimal.split(text) for text in (page(paper, results), (PAGES / f"{paper.name}.md").read_text("utf-8"))
    )
    assert made[::2] == kept[::2]
    for ours, theirs in zip(made[1::2], kept[1::2], strict=True):
        assert float(ours) == pytest.approx(float(theirs), abs=1.1 * 10.0 ** -len(theirs.partition(".")[2]))


def test_pages_and_pictures_are_those_of_the_entries() -> None:
    assert {file.stem for file in PAGES.iterdir()} == {paper.name for paper in PAPERS}
    drawn = {picture(Result(paper, entry, None)) for paper, entry in ENTRIES.values() if entry.draw}
    assert set(PICTURES.iterdir()) == drawn
    assert all(file.read_text("utf-8").startswith("<svg") for file in drawn)


def test_markdown() -> None:
    assert markdown("ec.f1(beta=2) of R_*2, a `b_c`. ec.nec.") == r"`ec.f1(beta=2)` of R\_\*2, a `b_c`. `ec.nec`."
