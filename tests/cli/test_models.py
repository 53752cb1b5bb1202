"""Several models in one log: sketched in one pass into one folder, whose report has a row for each."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from polars_ec.cli.sketch_folder import SketchFolder
from tests.support.cli import fails, in_three_files, invoke, sketch, typed, typed_report
from tests.support.sketch_jobs import same

MODELS = ("--score", "q", "--score", "p", "--label", "y")
GROUPS = ("--by", "s", "--time", "ts", "--every", "1d")


def make_log(n=600):
    rng = np.random.default_rng(5)
    late = rng.random(n) < 0.3
    p, q = (1 / (1 + np.exp(1 - rng.normal(size=n) - slope * late)) for slope in (1.2, 2.5))
    return pl.DataFrame(
        {
            "s": rng.choice(["a", "b"], n),
            "ts": pl.Series(np.sort(rng.integers(0, 60, n))).cast(pl.Date),
            "p": p,
            "q": [None if missing else value for missing, value in zip(rng.random(n) < 0.1, q, strict=True)],
            "y": late,
        }
    )


LOG = make_log()


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return in_three_files(LOG, tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def out(logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "sketches"
    assert "3 sketched, 0 unchanged; 600 rows" in sketch(logs, out=folder, args=(*MODELS, *GROUPS)).stdout
    return folder


@pytest.mark.quick("()", "*'1mo'*")
@pytest.mark.parametrize(
    "args", [(), ("--by", "s"), ("--by", "s", "--every", "1mo", "--prior", "0.2"), ("--every", "1w")], ids=str
)
def test_the_report_of_the_folder_is_that_of_the_rows(logs, out, args):
    theirs = typed_report(logs, *MODELS, *args, *(("--time", "ts") if "--every" in args else ()))
    ours = typed_report(out, *args)
    assert theirs["score"].head(2).to_list() == ["q", "p"]
    same(ours.select(theirs.columns), theirs)


@pytest.mark.slow
def test_each_model_is_as_if_it_were_alone(logs, out, tmp_path):
    both = typed_report(out, "--by", "s")
    for model in "pq":
        sketch(logs, out=tmp_path / model, args=("--score", model, "--label", "y", *GROUPS))
        same(both.filter(score=model).drop("score"), typed_report(tmp_path / model, "--by", "s"))


@pytest.mark.quick("report-*")
@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("report", ("--by", "s", "--interval", "0.95", "--total", "--prior", "overall")),
        ("compare", ("--by", "s", "--reference", "rest")),
        ("drift", ("--every", "1mo", "--by", "s")),
    ],
)
def test_one_of_the_models_is_asked_for(logs, out, tmp_path, command, args):
    """Its answer is that of a folder that has no other model."""
    sketch(logs, out=tmp_path / "alone", args=("--score", "p", "--label", "y", *GROUPS))
    theirs = typed(tmp_path, command, tmp_path / "alone", *args)
    assert theirs.height
    same(typed(tmp_path, command, out, "--score", "p", *args), theirs)


def test_some_of_the_models_are_asked_for_in_their_order(out):
    both = typed_report(out)
    assert both["score"].to_list() == ["q", "p"]
    same(typed_report(out, "--score", "p", "--score", "q"), both.reverse())


@pytest.mark.slow
def test_one_of_the_models_has_a_page(logs, out, tmp_path):
    """With the numbers of the rows."""
    sketch(logs, out=tmp_path / "alone", args=("--score", "p", "--label", "y", *GROUPS))
    pages = []
    for folder, asked in ((out, ("--score", "p")), (tmp_path / "alone", ())):
        assert invoke("report", folder, *asked, "--by", "s", "--html", tmp_path / "page.html").exit_code == 0
        pages.append((tmp_path / "page.html").read_text())
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_a_page_shows_several_models(logs, out, tmp_path):
    page = ("--html", tmp_path / "page.html")
    for log in ((out,), (logs, *MODELS)):
        assert invoke("report", *log, *page).exit_code == 0
        text = (tmp_path / "page.html").read_text("utf-8")
        assert text.count("<article") == 2
        assert "Model q has the lowest NEC" in text


def test_an_input_is_read_once(logs, tmp_path, monkeypatch):
    """And counts once, whatever the number of models."""
    from polars_ec.cli import sketch_job

    read, opened = [], sketch_job.open_log
    monkeypatch.setattr(sketch_job, "open_log", lambda paths: read.append(*paths) or opened(paths))
    sketch(logs, out=tmp_path / "out", args=MODELS)
    assert sorted(read) == sorted(logs.iterdir())
    records = SketchFolder(tmp_path / "out").records().values()
    assert [record.rows for record in records] == [200] * 3
    assert sum(record.positives for record in records) == LOG["y"].sum()


def test_wrong_rows_are_counted_of_the_model_that_has_most(tmp_path):
    pl.DataFrame({"p": [1.5, 2.0, 0.3], "q": [7.0, 0.2, 0.1], "y": [0, 1, 1]}).write_parquet(tmp_path / "log.parquet")
    result = sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=MODELS)
    assert "2 of the sketched rows have an invalid score" in result.stderr
    assert "; 3 rows" in result.stdout


@pytest.mark.parametrize(
    ("made", "args", "words"),
    [
        (None, ("--by", "score"), "no group column 'score' (--by): It has s, ts; for periods of ts pass only --every"),
        (None, ("--score", "r"), "was sketched with --score q, p, not r: leave the option out"),
        (None, ("--score", "p", "--score", "p"), "--score q, p, not p, p"),
        (None, ("--score", "p", "--html", "page.html", "--label", "s"), "--label y, not s"),
        (MODELS[:4] + MODELS[:2] + MODELS[4:], (), "--score q is named twice: name each model once"),
        ((*MODELS, "--by", "score"), (), "--by has a column 'score', which is also a column of a sketch"),
    ],
    ids=str,
)
def test_what_is_refused(logs, out, tmp_path, made, args, words):
    if made is None:
        assert words in fails(2, "report", out, *args)
    else:
        rows = LOG.with_columns(score=pl.lit("x"))
        rows.write_parquet(tmp_path / "log.parquet")
        assert words in fails(2, "sketch", tmp_path / "log.parquet", "--out", tmp_path / "out", *made)


def test_the_scores_may_be_repeated(out):
    assert invoke("report", out, *MODELS, "--format", "csv").exit_code == 0


def test_models_that_a_comma_parts_are_named_one_at_a_time(logs):
    words = "name one at a time, --score p --score q"
    assert words in fails(2, "report", logs, "--score", "p,q", "--label", "y")


def test_other_models_are_another_folder(logs, out):
    message = fails(2, "sketch", logs, "--out", out, *MODELS[2:], *GROUPS)
    assert f'--score {json.dumps(["q", "p"])} and "p"' in message


def test_a_log_in_which_a_model_is_missing_is_named(logs, out, tmp_path):
    folder = tmp_path / "logs"
    LOG.drop("q").write_parquet(folder / "new.parquet", mkdir=True)
    result = sketch(logs, folder, out=tmp_path / "out", args=(*MODELS, *GROUPS), code=1)
    assert "new.parquet has no column 'q' (--score)" in result.stderr
    told = invoke("report", tmp_path / "out", "--by", "s", "--out", tmp_path / "report.parquet").stderr
    assert "is incomplete" in told
    same(pl.read_parquet(tmp_path / "report.parquet"), typed_report(out, "--by", "s"))
