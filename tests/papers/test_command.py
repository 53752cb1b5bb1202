"""The command `python -m examples.papers`, on two small papers that are made up."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import math
import re
from typing import NamedTuple

import altair as alt
import polars as pl
import pytest

import polars_ec as ec
from examples.papers import catalogue
from examples.papers.__main__ import main
from examples.papers.numbers import Table, alone, between, by_equation, printed
from examples.papers.paper import Entry, Paper
from examples.papers.posteriors.tables import table_2


class Finished(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def invoke(*args) -> Finished:
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main([str(arg) for arg in args])
    return Finished(code, out.getvalue(), error.getvalue())


def fails(code, *args, words=()) -> str:
    """What is told of an error, in one line."""
    result = invoke(*args)
    assert result.exit_code == code
    assert result.stderr.count("\n") == 1
    assert all(word in result.stderr for word in words), result.stderr
    return result.stderr


def nec(cost_fn):
    return ec.nec([0.9, 0.4, 0.7, 0.1], [1, 1, 0, 0], cost_fn=cost_fn)


def costs():
    rows = [
        ("cost 1", [printed(nec(1), "1.0"), between(nec(1), 0, 2, "0 to 2")]),
        ("cost 5", [printed(nec(5), "0.49", within=0.02), between(nec(5), 0, 2, "0 to 2")]),
    ]
    return Table(["NEC", "NEC, read off"], rows, notes=["Costs are of a miss."])


def draw():
    return alt.Chart(pl.DataFrame({"x": [1, 2], "y": [1, 2]})).mark_line().encode(x="x", y="y")


TABLE = Entry("table-1", "Table 1", "table", "costs of decisions", "ec.nec", table=costs)
DEFINED = Entry("equation-1", "Equation 1", "equation", "cost of a sample", "ec.CostMatrix", reason="defines it")
SHORT = Entry(
    "second",
    "Equation 2",
    "equation",
    "NEC",
    "ec.nec",
    table=lambda: Table(["NEC"], [("", [by_equation(nec(1), 1.0)])]),
)
FIGURE = Entry(
    "figure-1", "Figure 1", "figure", "a line", "ec.plot.roc", draw=draw, reason="there is nothing to read off"
)
ONE = Paper("one", "A. Author", "On costs", [DEFINED, SHORT, TABLE, FIGURE], notes=["Classes are counted from 1."])
WIDE = Entry(
    "table-2",
    "Table 2",
    "table",
    "many columns",
    "ec.brier",
    table=lambda: Table([f"column {i}" for i in range(12)], [("row", [printed(0.25, "0.25")] * 11 + [None])]),
)
TWO = Paper("two", "B. Author", "On width", [WIDE])


def test_numbers_that_no_paper_prints(monkeypatch, tmp_path):
    """They are of a kind of their own: in the table, the last line, the legend and the file."""
    numbers = [
        printed(0.25, "0.25"),
        printed(0.25, "0.250", against="notebook"),
        printed(0.26, "0.3", within=0.1, against="figure"),
        printed(0.27, "0.27", against="simulation"),
    ]
    table = Entry(
        "table-1", "Table 1", "table", "kinds", "ec.nec", table=lambda: Table(["a", "b", "c", "d"], [("", numbers)])
    )
    one = Entry("table-2", "Table 2", "table", "one", "ec.nec", table=lambda: Table(["a"], [("", numbers[2:3])]))
    monkeypatch.setattr(catalogue, "PAPERS", (Paper("kinds", "E. Author", "On kinds", [table, one]),))
    text = told("--out", tmp_path)
    assert "0.2500 (0.25)  0.25000 (n 0.250)  0.260 (f 0.3)  0.2700 (s 0.27)" in text
    assert all(f"({mark} 0.25)" in text for mark in "nfs")
    assert "4 of 4 agree, the farthest off by 0.04 (0.1); more than a rounding is allowed for 1\n" in re.sub(
        r"\s*\n {20,}", " ", text
    )
    assert "0.260 (f 0.3); more than a rounding is allowed for 1\n" in re.sub(r"\s*\n {20,}", " ", text)
    assert text.endswith(
        "5 of 5 numbers agree (1 with print, 1 with the authors' notebook, 2 with what is read off a figure, 1 with another simulation)\n"
    )
    kinds = pl.read_csv(tmp_path / "numbers.csv")["held_against"].to_list()
    assert kinds == ["print", "notebook", "figure", "simulation", "figure"]


def wrong_table():
    return Table(
        ["NEC", "beside"], [("a", [printed(0.26, "0.25"), alone(math.nan)]), ("b", [printed(0.25, "0.25"), None])]
    )


WRONG = Paper(
    "wrong", "C. Author", "On errors", [Entry("table-3", "Table 3", "table", "errors", "ec.nec", table=wrong_table)]
)


@pytest.fixture(autouse=True)
def _made_up(monkeypatch):
    monkeypatch.setattr(catalogue, "PAPERS", (ONE, TWO))
    monkeypatch.setenv("COLUMNS", "130")  # the terminal of the tests has any width


def told(*args):
    result = invoke(*args)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_a_paper():
    assert told("one").split("\n\n", 1)[1] == (
        """\
A. Author, "On costs"
=====================
- Classes are counted from 1.

one/table-1. Table 1: costs of decisions

                  NEC    NEC, read off  off by (allowed)
cost 1   1.000 (1.0)   1.0000 (0 to 2)          0 (0.05)
cost 5  0.5000 (0.49)  0.5000 (0 to 2)       0.01 (0.02)
- Costs are of a miss.

entry       what                in polars_ec   computed (held against)
one/
equation-1  cost of a sample    ec.CostMatrix  defines it
second      Equation 2: NEC     ec.nec         1.000000 (=1.000000)
table-1     costs of decisions  ec.nec         4 of 4 agree, the farthest off by 0.01 (0.02);
                                               more than a rounding is allowed for 1
figure-1    a line              ec.plot.roc    there is nothing to read off

5 of 5 numbers agree (2 with print, 1 with an equation, 2 with words or a range)
"""
    )


def test_an_entry_and_all_papers():
    assert "Equation 2" not in told("one/table-1")
    assert told("one/equation-1").endswith("\nthere are no numbers to compare\n")
    everything = told()
    assert everything.index("\none/\n") < everything.index("\ntwo/\n")
    assert "\n16 of 16 numbers agree (" in everything


@pytest.mark.parametrize("width", [60, 80, 130, 200])
def test_lines_are_as_wide_as_the_terminal(monkeypatch, width):
    """Tables that are wider come in parts; in a narrow one the rows of entries are laid out one below the other."""
    monkeypatch.setenv("COLUMNS", str(width))
    parts = told("two").split("many columns\n\n")[1].split("\n\n")[:-2]
    assert all(part.splitlines()[1].startswith("row  0.2500 (0.25)") for part in parts)
    assert len(parts) == {60: 4, 80: 3, 130: 2, 200: 1}[width]
    assert max(map(len, told().splitlines())) <= width
    row = "table-2: many columns\n    ec.brier\n" if width < 110 else "table-2  many columns  ec.brier     "
    assert row in told("two")


def test_what_agrees_to_the_last_bits_is_not_off():
    assert told("two").count("off by") == 0


@pytest.mark.parametrize(
    ("name", "line"),
    {
        "tow": "tow is no paper: take one of two, one",
        "one/tabel-1": "one/tabel-1 is no paper or entry of one: take one of one/table-1, one/figure-1, one, one/equation-1, one/second",
        "table-2": "table-2 is no paper: take one of two/table-2, one/table-1, ",
        "one/": "one/ is no paper or entry of one: take one of one",
    }.items(),
)
def test_a_name_that_there_is_not(name, line):
    assert line in fails(2, name)


def test_a_number_that_disagrees(monkeypatch):
    monkeypatch.setattr(catalogue, "PAPERS", (TWO, WRONG))
    result = invoke()
    assert result.exit_code == 1
    assert result.stderr == "papers: 12 of 14 numbers agree (12 with print); disagreements in wrong/table-3\n"
    assert "\na  0.2600 (0.25) !   nan !  " in result.stdout
    assert "\nb  0.2500 (0.25)            " in result.stdout
    assert "1 of 3 agree, the farthest off by 0.01 (0.005)" in result.stdout
    assert result.stdout.endswith("\n12 of 14 numbers agree (12 with print)\n")
    assert invoke("two").exit_code == 0


def test_a_folder(tmp_path):
    out = tmp_path / "some" / "where"
    assert told("--out", out) == told()
    assert {file.name for file in out.iterdir()} == {"numbers.csv", "one-figure-1.svg"}
    assert (out / "one-figure-1.svg").read_text("utf-8").startswith("<svg")
    numbers = pl.read_csv(out / "numbers.csv")
    assert numbers.height == 16
    row = numbers.row(by_predicate=(pl.col("row") == "cost 5") & (pl.col("column") == "NEC"), named=True)
    assert row.pop("allowed") == pytest.approx(0.02, abs=2e-9)
    assert row == {
        "paper": "one",
        "entry": "table-1",
        "row": "cost 5",
        "column": "NEC",
        "computed": 0.5,
        "shown": "0.49",
        "expected": 0.49,
        "difference": pytest.approx(0.01),
        "agrees": True,
        "held_against": "print",
    }
    (tmp_path / "file").touch()
    assert "file" in fails(2, "--out", tmp_path / "file")


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """A score file, where the papers have the table that takes it."""
    entry = Entry("table-2", "Table 2", "table", "real systems", "ec.nce", table=table_2)
    paper = Paper("posteriors", "L. Ferrer and D. Ramos", "Evaluating posteriors", [entry, SHORT])
    monkeypatch.setattr(catalogue, "PAPERS", (ONE, paper))
    p1 = [0.1, 0.2, 0.3, 0.6, 0.7, 0.9] * 5
    columns = {"label": [0, 0, 1, 0, 1, 1] * 5, "p0": [1 - p for p in p1], "p1": p1}
    pl.DataFrame(columns).write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_many_names_are_not_all_told(monkeypatch):
    entries = [Entry(f"part-{i}", f"Part {i}", "text", "a part", "ec.nec", reason="none") for i in range(30)]
    monkeypatch.setattr(catalogue, "PAPERS", (Paper("many", "D. Author", "On parts", entries),))
    fails(2, "many/x", words=["take one of many, many/part-0, ", "many/part-8, or one of 21 others"])


@pytest.mark.slow
def test_scores_of_another_system(scores):
    without, of_it = (told("posteriors/table-2", *args) for args in ((), ("--scores", f"mine={scores}")))
    raw = ec.nce([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    (line,) = (line for line in of_it.splitlines() if line.startswith("mine raw") and f" {raw:.5f} " in line)
    assert "(" not in line
    assert of_it.splitlines()[-1] == without.splitlines()[-1]
    # Under a name of the paper they are held against its row.
    result = invoke("posteriors", "--scores", f"fvcaus={scores}")
    assert result.exit_code == 1
    assert "(3.915) !" in result.stdout
    assert "disagreements in posteriors/table-2" in result.stderr


def test_scores_that_cannot_be(scores, tmp_path):
    for given, word in {
        "mine": "NAME=FILE",
        "=a": "NAME=FILE",
        " =a": "NAME=FILE",
        "a=": "NAME=FILE",
        f"a\x1b[31m={scores}": "at most 40 letters, on one line",
        f"{'a' * 41}={scores}": "at most 40 letters, on one line",
        "a=nowhere.csv": "there is no nowhere.csv",
    }.items():
        fails(2, "--scores", given, words=[word])
    fails(2, "--scores", f"a={scores}", "--scores", f"a={scores}", words=["two of that name"])
    fails(2, "one", "--scores", f"a={scores}", words=["posteriors/table-2, which one leaves out"])
    fails(1, "--scores", f"cifar10-vgg19={scores}", words=["2 classes, and cifar10-vgg19 of the paper has 10"])
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n", "utf-8")
    fails(1, "--scores", f"a={tmp_path}/wrong.csv", words=[f"--scores a={tmp_path}/wrong.csv: ", "lp0"])


def test_figures_need_an_extra(tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "vl_convert" else found(name))
    result = invoke("--out", tmp_path)
    assert result.exit_code == 0
    assert "pip install 'polars_ec[plot]'" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["numbers.csv"]
    assert invoke("two", "--out", tmp_path).stderr == ""
    assert invoke().stderr == ""
