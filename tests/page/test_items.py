"""Pages of logs with a row per model and item: each is the page of a column of scores per model."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli import questions
from polars_ec.cli.output import SideFile
from polars_ec.page.contents import Contents
from tests.support.cli import invoke
from tests.support.items import LONG, MODELS, OF_ITEMS, WIDE
from tests.support.pages import of_models


def assert_same(found: list[Contents], expected: list[Contents]) -> None:
    """Two pages have equal models, tables, notes and options."""
    assert [one.model for one in found] == [one.model for one in expected]
    for one, other in zip(found, expected, strict=True):
        for name in (field.name for field in fields(Contents)):
            value, wanted = getattr(one, name), getattr(other, name)
            if isinstance(wanted, pl.DataFrame):
                assert_frame_equal(value, wanted, rel_tol=1e-9)
            elif name != "curves":
                assert value == (pytest.approx(wanted) if isinstance(wanted, float) else wanted), name


@pytest.mark.quick("options3")
@pytest.mark.parametrize(
    "options",
    [
        {"by": "topic", "cluster": "id", "options": {"cost_fn": 5}},
        {"by": "topic", "period": "month", "reference": 1, "prior": 0.2, "options": {"weight": "w"}},
        {"by": pl.col("topic").str.to_uppercase(), "metrics": ["nec", "recall"], "options": {"cost_fn": "w"}},
        {"options": {"threshold": "w", "pos_label": True}, "metrics": ["recall"], "interval": 0.9},
    ],
)
def test_it_is_the_page_of_columns(options: dict[str, Any]) -> None:
    expected = of_models(WIDE, MODELS, "bad", **options)
    assert_same(of_models(LONG, "p", "bad", **OF_ITEMS, **options), expected)
    assert_same(of_models(LONG.lazy(), pl.col("p"), pl.col("bad"), **OF_ITEMS, **options), expected)


@pytest.mark.slow
def test_the_file_is_that_of_columns(tmp_path) -> None:
    options: dict[str, Any] = {"by": "topic", "period": "month", "cluster": "id", "cost_fn": 5}
    wide = ec.report_page(tmp_path / "wide.html", WIDE, MODELS, "bad", **options).read_bytes()
    assert ec.report_page(tmp_path / "long.html", LONG, "p", "bad", **OF_ITEMS, **options).read_bytes() == wide


@pytest.mark.slow
def test_items_that_a_model_lacks_are_missing() -> None:
    some = LONG.filter(~((pl.col("judge") == "judge b") & (pl.col("id") < 20)))
    first, second, _ = of_models(some, "p", "bad", **OF_ITEMS, metrics=["nec"], options={})
    assert [first.total["n"].item(), first.total["n_missing"].item()] == [WIDE.height, 0]
    assert [second.total["n"].item(), second.total["n_missing"].item()] == [WIDE.height - 40, 40]
    assert second.versus is not None
    assert second.versus["n"].item() == WIDE.height - 40


@pytest.mark.slow
def test_a_log_without_rows_has_no_models() -> None:
    (one,) = of_models(LONG.clear(), "p", "bad", **OF_ITEMS, metrics=["nec"], options={})
    assert (one.model, one.total["n"].item()) == ("", 0)


@pytest.mark.slow
def test_models_of_any_name() -> None:
    names = ["^z.*$", "*", ""]
    log = pl.concat(
        LONG.filter(judge=model).with_columns(judge=pl.lit(name)) for model, name in zip(MODELS, names, strict=True)
    )
    found = of_models(log, "p", "bad", **OF_ITEMS, metrics=["nec"], options={})
    expected = of_models(WIDE, MODELS, "bad", metrics=["nec"], options={})
    assert [one.model for one in found] == sorted(names)
    for one, model in zip(found, ["judge c", "judge b", "judge a"], strict=True):
        (wanted,) = [other for other in expected if other.model == model]
        assert_frame_equal(one.total, wanted.total, rel_tol=1e-9)


SKETCH = WIDE.ec.sketch("judge a", "bad")


@pytest.mark.parametrize(
    ("log", "keywords", "kind", "error"),
    [
        (LONG, {"model": "judge"}, ValueError, "model= and item= go together"),
        (LONG, {"item": "id"}, ValueError, "model= and item= go together"),
        (LONG, {**OF_ITEMS, "item": "id"}, ValueError, "has 2 rows of model"),
        (LONG, {**OF_ITEMS, "period": pl.col("p").round()}, ValueError, "several values of p"),
        (
            LONG,
            {**OF_ITEMS, "model": pl.concat_list("judge")},
            TypeError,
            r"which is List\(String\), and models need names",
        ),
        (
            SKETCH,
            {"score": None, "label": None, **OF_ITEMS},
            TypeError,
            "model='judge' describes rows, and the log is a sketch",
        ),
    ],
)
def test_errors(log: Any, keywords: dict[str, Any], kind: type[Exception], error: str) -> None:
    with pytest.raises(kind, match=error):
        of_models(log, **{"score": "p", "label": "bad", **keywords}, options={})


COMMAND = ("--score", "p", "--label", "bad", "--model", "judge", "--item", "id", "--item", "epoch")


def test_the_command(tmp_path, monkeypatch) -> None:
    """What it asks of the page is what Python asks."""
    LONG.write_parquet(tmp_path / "long.parquet")
    calls = []
    monkeypatch.setattr(questions, "contents_of", lambda *log_and_page: calls.append(log_and_page))
    rendered = lambda page, contents: SideFile("page", page.file, "--html", b"a page")  # noqa: E731
    monkeypatch.setattr(questions.PageFile, "rendered", rendered)
    options = ["--by", "topic", "--cluster", "id", "--metrics", "nec", "--html", tmp_path / "page.html", "--quiet"]
    result = invoke("report", tmp_path / "long.parquet", *COMMAND, *options, "--out", tmp_path / "out.parquet")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "page.html").read_text("utf-8") == "a page"
    # Once without rows, to refuse what can be refused.
    for rows, (frame, *columns, page) in zip((0, LONG.height), calls, strict=True):
        assert frame.select(pl.len()).collect().item() == rows
        assert columns == [["p"], "bad"]
        stated = {name: getattr(page, name) for name in ("model", "item", "by", "cluster", "metrics")}
        assert stated == {**OF_ITEMS, "by": ["topic"], "cluster": "id", "metrics": ["nec"]}


@pytest.mark.slow
def test_the_table_of_the_command(tmp_path) -> None:
    path = tmp_path / "long.parquet"
    LONG.write_parquet(path)
    more = ["--by", "topic", "--total", "--interval", "0.9", "--cluster", "id", "--prior", "overall"]
    result = invoke("report", path, *COMMAND, *more, "--out", tmp_path / "out.parquet")
    assert result.exit_code == 0, result.output
    expected = WIDE.ec.report(MODELS, "bad", by="topic", total=True, interval=0.9, cluster="id", prior="overall")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), expected, rel_tol=1e-9)
    LONG.clear().write_parquet(path)
    result = invoke("report", path, *COMMAND, "--metrics", "nec", "--format", "csv")
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["score,n,nec,class_prior,n_missing,n_invalid"])


def test_errors_of_the_command(tmp_path) -> None:
    path = tmp_path / "long.parquet"
    LONG.write_parquet(path)
    read = ["--score", "p", "--label", "bad"]
    for more, error in (
        (["--model", "judge"], "--model and --item go together"),
        (["--model", "judge", "--item", "it"], "it"),
        (["--model", "judge", "--item", "id"], "has 2 rows of model"),
        (["--model", "judge", "--item", "id", "--score", "w"], "--score holds 2 columns"),
    ):
        result = invoke("report", path, *read, *more)
        assert result.exit_code == 2, result.output
        assert error in result.stderr
    invoke("sketch", path, "--out", tmp_path / "sketches", *read)
    result = invoke("report", tmp_path / "sketches", "--model", "judge", "--item", "id")
    assert "sketches have no items" in result.stderr
