"""The page beside the table: of what Python makes of the same log, from every kind of source; and the verdict above a table on a terminal."""

from __future__ import annotations

import datetime as dt
import os
import pty
import subprocess
import sys
import termios
from dataclasses import fields

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.cli import commands
from polars_ec.cli.logs import FileLog
from polars_ec.cli.questions import PageFile
from tests.support.cases import mostly_slow
from tests.support.cli import READ, ROOT, fails, invoke, sketch
from tests.support.pages import one_model as contents_of

BY = ("--by", "carrier")
MONTHLY = (*BY, "--time", "ts", "--every", "1mo", "--cost-fn", "5")
NEC = ("--metrics", "nec")
MONTH = pl.col("ts").dt.truncate("1mo")


def make_log(n=900):
    rng = np.random.default_rng(3)
    late = rng.random(n) < 0.3
    llr = rng.normal(size=n) + 1.2 * late
    hours = np.sort(rng.integers(0, 24 * 90, n))
    return pl.DataFrame(
        {
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in hours],
            "day": hours // 24,
            "carrier": rng.choice(["AA", "B6", "UA"], n),
            "code": rng.choice([7, 10], n),
            "p": 1 / (1 + np.exp(1 - llr)),
            "llr": llr,
            "y": [None if missing else bool(y) for y, missing in zip(late, rng.random(n) < 0.05, strict=True)],
            "late": np.where(late, "yes", "no"),
            "w": rng.integers(0, 5, n) / 2,
            "v": pl.Series(rng.dirichlet([1, 1, 1], n).tolist(), dtype=pl.Array(pl.Float64, 3)),
            "c": rng.integers(0, 3, n),
        }
    )


LOG = make_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.drop("v").write_csv(folder / "log.csv")
    for (carrier,), rows in LOG.group_by("carrier", maintain_order=True):
        part = folder / "hive" / f"carrier={carrier}"
        part.mkdir(parents=True)
        rows.drop("carrier").write_parquet(part / "part.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    days = ("--time", "ts", "--every", "1d", "--cost-fn", "5", "--cluster", "day")
    sketch(folder / "log.parquet", out=folder / "sketches", args=(*READ, *BY, *days))
    return folder


@pytest.fixture
def made(monkeypatch):
    """What pages are of, which are not rendered."""
    made = []
    monkeypatch.setattr(PageFile, "rendered", lambda page, contents: made.extend(contents) or page)
    monkeypatch.setattr(PageFile, "write", lambda page: None, raising=False)
    monkeypatch.setattr(PageFile, "what", "page", raising=False)
    monkeypatch.setattr(PageFile, "path", property(lambda page: page.file), raising=False)
    return made


@pytest.fixture
def without_charts(monkeypatch):
    """Pages are rendered, for what is around them, without their charts."""
    monkeypatch.setattr("polars_ec.page.layout.figures", lambda contents: [])


def same(ours, theirs):
    """Two contents, but for the sketches."""
    for name in (field.name for field in fields(theirs)):
        one, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, pl.DataFrame):
            assert_frame_equal(one, other, rel_tol=1e-9, abs_tol=1e-12)
        elif name != "curves":
            assert one == other, name


# What a page is made of ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "hive", "duckdb"])
def test_page_of_rows(folder, made, tmp_path, name):
    source = f"duckdb:{folder}/log.duckdb::log" if name == "duckdb" else folder / name
    args = (source, *READ, *MONTHLY, "--title", "Delays", "--cluster", "day", "--min-rows", "250", *NEC)
    result = invoke("report", *args, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"polars-ec: the page is in {tmp_path}/page.html\n"
    options = {"cost_fn": 5.0, "score_type": "posterior"}
    asked = {"by": "carrier", "period": MONTH, "cluster": "day", "min_rows": 250, "title": "Delays", "metrics": ["nec"]}
    same(made[0], contents_of(LOG, "p", "y", **asked, options=options))


OPTIONS = [
    ("--score p --label y", {}),
    ("--score p --label y --weight w --threshold 0.4", {"weight": "w", "threshold": 0.4}),
    (
        "--score llr --label late --pos-label yes --score-type llr --prior 0.2 --by carrier --total",
        {"pos_label": "yes", "score_type": "llr", "prior": 0.2, "by": ["carrier"]},
    ),
    (
        "--score v --label c --costs [[0,1,1],[2,0,1],[3,1,0]] --prior [0.2,0.3,0.5] --by carrier --interval 0.9",
        {"costs": [[0, 1, 1], [2, 0, 1], [3, 1, 0]], "prior": [0.2, 0.3, 0.5], "by": ["carrier"], "interval": 0.9},
    ),
    (
        "--score p --label y --costs [[0,1,0.1],[5,0,0.1]] --by carrier --metrics nec,accuracy --missing by-part",
        {"costs": [[0, 1, 0.1], [5, 0, 0.1]], "by": ["carrier"], "metrics": ["nec", "accuracy"]},
    ),
    ("--score c --label c --score-type decision --classes 0,1,2", {"score_type": "decision", "classes": [0, 1, 2]}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("args", "asked"), mostly_slow(OPTIONS, OPTIONS[2:4]))
def test_options_of_a_page(folder, made, tmp_path, args, asked):
    result = invoke("report", folder / "log.parquet", *args.split(), "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    of_page = ("by", "metrics", "prior", "interval")
    layout = {name: value for name, value in asked.items() if name in of_page}
    options = {"score_type": "posterior", **{name: value for name, value in asked.items() if name not in of_page}}
    score, label = (args.split()[i] for i in (1, 3))
    same(made[0], contents_of(LOG, score, label, **layout, options=options))


ROLLED_UP = [
    ("--by carrier --every 1mo --prior 0.1 --interval 0.8", {"period": "ts", "prior": 0.1, "interval": 0.8}),
    ("--by carrier --every 1mo", {"period": "ts"}),
    ("--by carrier", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("args", "asked"), ROLLED_UP)
def test_page_of_sketches(folder, made, tmp_path, args, asked):
    """The page of the merged sketches, with groups rolled up, equals that of the sketch of the log."""
    own = LOG.ec.sketch("p", "y", by=["carrier", MONTH], cluster="day", cost_fn=5)
    own = own if "period" in asked else own.group_by("carrier")
    result = invoke("report", folder / "sketches", *args.split(), *NEC, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    same(made[0], contents_of(own, None, None, by="carrier", metrics=["nec"], **asked, options={}))


@pytest.mark.slow
def test_periods_of_sketches_by_their_name(folder, made, tmp_path):
    args = (*BY, "--by", "month", "--every", "1mo", *NEC, "--html", tmp_path / "page.html")
    assert invoke("report", folder / "sketches", *args).exit_code == 0
    assert (made[0].keys, made[0].period, made[0].trend.height) == (["carrier"], "month", 9)


@pytest.mark.slow
def test_codes_of_csv_are_numbers_where_the_table_has_numbers(folder, made, tmp_path):
    result = invoke("report", folder / "log.csv", *READ, "--by", "code", *NEC, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert sorted(made[0].groups["code"]) == [7, 10]
    LOG.with_columns(code=pl.col("code").cast(pl.String).str.zfill(2)).drop("v").write_csv(tmp_path / "log.csv")
    result = invoke("report", tmp_path / "log.csv", *READ, "--by", "code", *NEC, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert sorted(made[1].groups["code"]) == ["07", "10"]


@pytest.mark.slow
def test_months_of_a_time_zone(made, tmp_path):
    zoned = LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    zoned.write_parquet(tmp_path / "log.parquet")
    args = (
        tmp_path / "log.parquet",
        *READ,
        *MONTHLY,
        *NEC,
        "--time-zone",
        "Asia/Tokyo",
        "--html",
        tmp_path / "page.html",
    )
    assert invoke("report", *args).exit_code == 0
    own = zoned.select(pl.col("ts").dt.convert_time_zone("Asia/Tokyo").dt.month()).to_series()
    counted = pl.DataFrame({"m": own, "n": zoned["y"].is_not_null()}).group_by("m").agg(pl.col("n").sum()).sort("m")
    assert made[0].trend_total["n"].to_list() == counted["n"].to_list()


@pytest.mark.parametrize("name", mostly_slow(["log.parquet", "log.csv"], ["log.csv"]))
@pytest.mark.slow
def test_an_empty_log_has_a_page(tmp_path, name):
    empty = LOG.clear().drop("v")
    (empty.write_csv if name == "log.csv" else empty.write_parquet)(tmp_path / name)
    result = invoke("report", tmp_path / name, *READ, *MONTHLY, *NEC, "--html", tmp_path / "PAGE.HTM", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "nothing to judge" in (tmp_path / "PAGE.HTM").read_text("utf-8")


# What is written ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_is_what_it_is_without_a_page(folder, tmp_path, without_charts):
    args = (folder / "log.parquet", *READ, *BY, *NEC, "--format", "csv")
    result = invoke("report", *args, "--html", tmp_path / "page.html", "--cluster", "day")
    assert result.stdout == invoke("report", *args).stdout
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_gate_that_trips_leaves_the_page(folder, tmp_path, without_charts):
    args = (folder / "log.parquet", *READ, *NEC, "--fail-if", "n > 1", "--html", tmp_path / "page.html")
    assert invoke("report", *args).exit_code == 3
    assert (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_a_page_that_fails_leaves_what_was_there(folder, tmp_path, monkeypatch, without_charts):
    page = tmp_path / "page.html"
    page.write_text("before")

    def fails_to_write(beside):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: fails_to_write(None))
        result = invoke("report", folder / "log.parquet", *READ, *NEC, "--html", page)
    assert (result.exit_code, result.stderr) == (1, f"polars-ec: --html {page}: No space left on device\n")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "before")]


@pytest.mark.slow
def test_names_that_are_no_markup(tmp_path):
    names = ["</script><img src=x onerror=alert(1)>", "{{7*7}}", "a\u202eb", "x\ny", "__proto__", None]
    log = LOG.with_columns(carrier=pl.Series([names[i % len(names)] for i in range(LOG.height)]))
    log.rename({"carrier": "<b>by</b>"}).write_parquet(tmp_path / "log.parquet")
    by = (*NEC, "--by", "<b>by</b>", "--title", "<script>alert(2)</script>")
    result = invoke("report", tmp_path / "log.parquet", *READ, *by, "--html", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.html").read_text("utf-8")
    for mark in ("<img src=x", "<b>by", "<script>alert", ">49<"):
        assert mark not in text
    assert "&lt;img src=x" in text


# What is refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("--score p --label y --html page.pdf", ["--html page.pdf", ".html"]),
        ("--score p --label y --html nowhere/page.html", ["no folder"]),
        ("--score p --label y --html .", ["--html ."]),
        ("--score p --label y --html page.html --every 1d --time ts --window 7", ["--window 7"]),
        ("--score p --label y --html page.html --per-class", ["--per-class"]),
        ("--score p --label y --html page.html --prior 0.1 --score-prior 0.2", ["--score-prior"]),
        ("--score p --label y --html page.html --interval 0.9 --method bootstrap", ["--method bootstrap"]),
        ("--score p --label y --html page.html --seed 3", ["--seed"]),
        ("--score p --label y --html page.html --interval 95", ["95"]),
        ("--score p --label y --html page.html --buckets 50", ["--buckets 50"]),
        ("--score p --label y --html page.html --cluster day --buckets 50", ["--buckets 50", "100 or more"]),
        ("--score p --label y --html page.html --metrics confusion", ["confusion"]),
        ("--score p --label y --html page.html --out page.html --format csv", ["also the --out file"]),
        ("--score p --label y --title Delays", ["--title Delays", "--html FILE"]),
    ],
)
def test_what_a_page_does_not_have_is_refused_before_the_log_is_read(folder, monkeypatch, args, words):
    def reads(*_):
        raise AssertionError("the log was read")

    monkeypatch.setattr(FileLog, "collect", reads)
    monkeypatch.chdir(folder)
    fails(2, "report", "log.parquet", *args.split(), words=words)


@pytest.mark.parametrize("missing", ["jinja2", "altair"])
def test_a_missing_extra_is_named_before_anything_is_read(monkeypatch, missing, tmp_path):
    monkeypatch.setitem(sys.modules, missing, None)
    args = ("report", tmp_path / "nothing.parquet", *READ, "--html", tmp_path / "page.html")
    assert fails(2, *args) == "polars-ec: --html needs Jinja2 and Altair: pip install 'polars_ec[cli,html]'"


@pytest.mark.slow
def test_several_models_have_one_page(tmp_path, made):
    args = (
        "--score",
        "p",
        "--score",
        "llr",
        "--label",
        "y",
        "--score-type",
        "log_odds",
        "--cluster",
        "day",
        "--cost-fn",
        "5",
    )
    LOG.write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "two", args=args)
    for source in ((tmp_path / "log.parquet", *args), (tmp_path / "two",)):
        made.clear()
        result = invoke("report", *source, *NEC, "--html", tmp_path / "page.html")
        assert result.exit_code == 0, result.output
        assert {contents.model for contents in made} == {"p", "llr"}
        (against,) = [contents.versus for contents in made if contents.versus.height]
        assert against["difference"].is_finite().all()


# On a terminal ------------------------------------------------------------------------------------------------------------


def on_terminal(*args, columns=100):
    """What a command prints there, and what it says beside."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, columns))
    code = "from polars_ec_command import main; main()"
    there = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-c", code, *map(str, args)]
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, cwd=ROOT, env=there) as process:
        os.close(follower)
        printed = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # as Linux says that the other end is closed
                break
            if not part:
                break
            printed += part
        os.close(leader)
        said = process.stderr.read().decode()
    assert process.returncode == 0, said
    return printed.decode().replace("\r\n", "\n"), said


@pytest.mark.slow
def test_the_verdict_stands_above_the_table_on_a_terminal(folder, monkeypatch):
    args = ("report", folder / "log.parquet", *READ, *BY, "--cost-fn", "5", "--interval", "0.95")
    printed, said = on_terminal(*args)
    assert said == ""
    verdict, table = printed.split("\n\n", 1)
    assert all(line.startswith(("- ", "  ")) and len(line) <= 100 for line in verdict.splitlines())
    assert verdict.startswith("- None of 3 groups costs significantly more than the naive system")
    monkeypatch.setenv("COLUMNS", "100")
    assert table == invoke(*args).stdout


@pytest.mark.parametrize(
    ("args", "begins"),
    [
        ((), "- 1 of 3 groups"),
        (("--quiet",), "carrier"),
        (("--format", "csv"), "carrier,"),
        (("--format", "json"), "["),
        (("--per-class",), "carrier"),
        (("--score", "llr", "--score-type", "log_odds"), "carrier"),
        (("--metrics", "auc_roc"), "carrier"),
    ],
)
def test_where_there_is_a_verdict(folder, monkeypatch, args, begins):
    monkeypatch.setattr(commands, "is_on_terminal", lambda: True)
    worse = LOG.with_columns(p=pl.when(carrier="UA").then(1 - pl.col("p")).otherwise("p"))
    worse.write_parquet(folder / "worse.parquet")
    result = invoke("report", folder / "worse.parquet", *READ, *BY, *args)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(begins)
    assert ("costs more than the naive system" in result.stdout) == begins.startswith("- ")


def test_a_comparison_has_no_verdict(folder, monkeypatch):
    monkeypatch.setattr(commands, "is_on_terminal", lambda: True)
    args = ("compare", folder / "log.parquet", *READ, *BY, "--metrics", "nec", "--reference", "rest")
    assert invoke(*args).stdout.startswith("carrier")


@pytest.mark.parametrize(
    ("args", "begins"),
    [
        ((), "- From 2024-01 to 2024-03 Recall fell from 1.000 to 0.500 (significant). The model explains −0.500"),
        (("--reference", "previous"), "- From 2024-02 to 2024-03 Recall fell from 1.000 to 0.500 (significant)."),
        (("--reference", "2024-03"), "- There is no period after 2024-03, so there is no change to judge."),
        (("--by", "carrier"), "- 1 of 2 groups has changed significantly since 2024-01 (Recall). Worse: UA (−1.000)."),
        (("--quiet",), "ts"),
        (("--format", "csv"), "ts,"),
        (("--score", "q"), "ts"),
    ],
)
def test_where_a_drift_has_a_verdict(tmp_path, monkeypatch, args, begins):
    monkeypatch.setattr(commands, "is_on_terminal", lambda: True)
    month, carrier, y = (np.ravel(x) for x in np.meshgrid([1, 2, 3], [0, 1] * 100, [True, False], indexing="ij"))
    p = np.where(y, 0.9, 0.1) * np.where((month == 3) & (carrier == 1) & y, 0.2, 1)
    log = {
        "ts": [dt.date(2024, m, 5) for m in month],
        "carrier": np.array(["AA", "UA"])[carrier],
        "p": p,
        "q": p,
        "y": y,
    }
    pl.DataFrame(log).write_parquet(tmp_path / "log.parquet")
    time = ("--time", "ts", "--every", "1mo", "--metrics", "recall")
    result = invoke("drift", tmp_path / "log.parquet", *READ, *time, *args)
    assert result.exit_code == 0, result.output
    assert " ".join(result.stdout.split()).startswith(begins)


def test_a_file_has_no_verdict(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(commands, "is_on_terminal", lambda: True)
    args = ("report", folder / "log.parquet", *READ, *BY, "--out", tmp_path / "table.txt")
    assert invoke(*args).stdout == ""
    assert (tmp_path / "table.txt").read_text().startswith("carrier")


def test_names_in_a_verdict_stay_on_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "is_on_terminal", lambda: True)
    names = ["a\x1b[31m\nb", "- c"]
    log = LOG.with_columns(carrier=pl.Series(names[i % 2] for i in range(LOG.height)), p=1 - pl.col("p"))
    log.write_parquet(tmp_path / "log.parquet")
    printed = invoke("report", tmp_path / "log.parquet", *READ, *BY).stdout
    first, _ = printed.split("\n- ", 1)
    assert first.startswith("- 2 of 2 groups cost more")
    assert "- c" in first
    assert "\x1b" not in printed
