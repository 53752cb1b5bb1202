"""`--plot`: the chart beside the table, of every source, as what its name says, and what is refused before the log is read."""

from __future__ import annotations

import importlib.util
import json
import re
from datetime import datetime
from itertools import product
from xml.etree import ElementTree

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.plot import files
from tests.support.cases import mostly_slow
from tests.support.cli import fails, invoke, sketch, source

READ = ("--score", "p", "--label", "y")
MONTHS = ("--time", "ts", "--every", "1mo")
COMMANDS = {
    "report": ("report", *READ, "--by", "s"),
    "trend": ("report", *READ, "--by", "s", *MONTHS, "--prior", "0.3", "--interval", "0.95"),
    "compare": ("compare", *READ, "--by", "s", "--reference", "rest"),
    "drift": ("drift", *READ, *MONTHS),
}
N = 360
LOG = pl.DataFrame(
    {
        "s": ["<b>a", "b", "c.d[0]"] * (N // 3),
        "ts": [datetime(2024, 1 + i % 4, 1 + i % 27) for i in range(N)],
        "p": [((i * 37) % 101 + 0.5) / 102 for i in range(N)],
        "q": [((i * 53) % 101 + 0.5) / 102 for i in range(N)],
        "y": [(i * 37) % 101 + (i * 29) % 60 > 80 for i in range(N)],
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    sketch(folder / "log.parquet", out=folder / "sketches", args=(*READ, "--by", "s", "--time", "ts", "--every", "1d"))
    return folder


@pytest.fixture
def drawn(monkeypatch):
    """The charts that are drawn."""
    charts = []
    encoded = files.encoded
    monkeypatch.setattr(files, "encoded", lambda chart, suffix: charts.append(chart) or encoded(chart, suffix))
    return charts


def command(name, path):
    """As a folder of sketches takes it, too."""
    args = COMMANDS[name]
    if str(path).endswith("sketches"):
        args = tuple(arg for arg in args if arg not in (*READ, "--time", "ts"))
    return (args[0], path, *args[1:])


@pytest.mark.quick("log.parquet-compare", "duckdb-report")
@pytest.mark.parametrize(
    ("log", "name"),
    mostly_slow(
        [*product(["log.parquet", "duckdb", "sketches"], COMMANDS)],
        [*product(["log.parquet"], COMMANDS), ("duckdb", "report"), ("sketches", "trend")],
    ),
)
def test_a_chart_of_each_command_and_source(folder, tmp_path, drawn, log, name):
    file = tmp_path / "chart.svg"
    args = command(name, source(folder, log))
    plain, beside = invoke(*args, "--format", "json"), invoke(*args, "--format", "json", "--plot", file)
    assert beside.exit_code == plain.exit_code == 0, beside.output
    table, without = (pl.DataFrame(json.loads(result.stdout)) for result in (beside, plain))
    assert_frame_equal(table, without)
    assert beside.stderr == f"{plain.stderr}polars-ec: the chart is in {file}\n"
    ElementTree.parse(file)
    (chart,) = drawn
    if name == "report":
        assert sorted(chart.data["x"]) == sorted(table["nec"])
    elif name == "trend":
        assert sorted(chart.data["y"]) == sorted([*table["nec"], *table["nec_at_prior"]])
        assert chart.data["measure"].unique().sort()[-1] == "Normalised expected cost (NEC) at prior 0.3"
        assert chart.data["panel"].unique().sort().to_list() == sorted({"<b>a", "b", "c.d[0]"})
        assert chart.data["when"].unique().sort().to_list() == ["2024-01", "2024-02", "2024-03", "2024-04"]
    else:
        first = table.filter(pl.col("metric") == "nec")
        values = chart.data["x"] if name == "compare" else chart.data.filter(part="difference")["y"]
        assert sorted(values) == sorted(first["difference"])


@pytest.mark.quick(".svg-*", ".html-*")
@pytest.mark.parametrize(
    ("suffix", "begins"), [(".svg", b"<svg"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF"), (".html", b"<!doctype html>")]
)
def test_the_name_says_what_it_is(folder, tmp_path, suffix, begins):
    file = tmp_path / f"chart{suffix}"
    result = invoke(*command("report", folder / "log.parquet"), "--plot", file, "--out", tmp_path / "r.csv", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert file.read_bytes().startswith(begins)
    assert (tmp_path / "r.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, "r.csv"]


def test_gates_end_the_command_beside_a_chart(folder, tmp_path):
    file = tmp_path / "chart.svg"
    result = invoke(*command("report", folder / "log.parquet"), "--plot", file, "--fail-if", "n > 0")
    assert result.exit_code == 3
    assert file.exists()


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("chart.jpg", [".jpg", ".svg, .png, .pdf, .html"]),
        ("chart", ["no suffix", ".svg, .png, .pdf, .html"]),
        ("nowhere/chart.svg", ["no folder"]),
        ("folder.svg", ["this is a folder"]),
        ("/dev/null", ["no suffix"]),
    ],
)
def test_refused_before_the_log_is_read(tmp_path, file, words):
    (tmp_path / "folder.svg").mkdir()
    fails(2, "report", tmp_path / "nothing.parquet", *READ, "--plot", tmp_path / file, words=["--plot", *words])


def test_a_chart_is_not_the_table(tmp_path):
    file = tmp_path / "x.svg"
    args = ("report", tmp_path / "nothing.parquet", *READ, "--format", "csv")
    fails(2, *args, "--out", file, "--plot", file, words=["--plot", "--out"])


@pytest.mark.parametrize("lacking", ["altair", "vl_convert"])
def test_without_the_extra(tmp_path, monkeypatch, lacking):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == lacking else find(name, *more))
    words = ["--plot", "pip install 'polars_ec[cli,plot]'"]
    fails(2, "report", tmp_path / "nothing.parquet", *READ, "--plot", tmp_path / "x.svg", words=words)


def test_nothing_is_written_where_there_is_no_chart(folder, tmp_path):
    decided = ("--score", "s", "--label", "s", "--score-type", "decision", "--classes", "<b>a,b,c.d[0]")
    args = ("report", folder / "log.parquet", *decided, "--metrics", "confusion", "--out", tmp_path / "r.json")
    fails(2, *args, "--plot", tmp_path / "x.svg", words=["no metric to draw"])
    assert not [*tmp_path.iterdir()]


def test_models_and_classes_are_lines(folder, tmp_path, drawn):
    args = ("report", folder / "log.parquet", *READ, "--score", "q", *MONTHS, "--plot", tmp_path / "x.svg", "--quiet")
    assert invoke(*args).exit_code == 0
    assert invoke(*args[:6], *MONTHS, "--per-class", *args[-3:]).exit_code == 0
    assert [chart.data["group"].unique().sort().to_list() for chart in drawn] == [["p", "q"], ["false", "true"]]


def test_a_drift_of_one_period_is_an_empty_chart(tmp_path, drawn):
    LOG.head(100).with_columns(ts=datetime(2024, 1, 1)).write_parquet(tmp_path / "log.parquet")
    result = invoke(*command("drift", tmp_path / "log.parquet"), "--plot", tmp_path / "x.svg")
    assert result.exit_code == 0, result.output
    assert drawn[0].data.height == 0
    assert "No rows" in (tmp_path / "x.svg").read_text()


def test_periods_of_sketches_by_their_name(folder, tmp_path, drawn):
    args = ("report", folder / "sketches", "--by", "month", "--by", "s", "--every", "1mo", "--plot", tmp_path / "x.svg")
    assert invoke(*args).exit_code == 0
    assert drawn[0].data["panel"].n_unique() == 3
    assert re.fullmatch(r"2024-0\d", drawn[0].data["when"][0])


def test_the_value_is_that_of_the_package(folder, tmp_path, drawn):
    assert invoke(*command("report", folder / "log.parquet"), "--plot", tmp_path / "x.svg").exit_code == 0
    ours = LOG.ec.report("p", "y", by="s")
    assert dict(drawn[0].data.select("group", "x").rows()) == pytest.approx(dict(ours.select("s", "nec").rows()))
    assert ec.plot.forest(ours, "nec").data.height == 3
