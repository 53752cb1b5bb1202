"""The file that `report_page` writes, and what it refuses before the log is read."""

import sys

import polars as pl
import pytest

import polars_ec as ec

LOG = pl.DataFrame(
    {"s": ["a", "b"] * 60, "m": [1, 1, 2, 2] * 30, "p": [0.9, 0.2, 0.6, 0.3] * 30, "y": [True, False, False, True] * 30}
)


@pytest.mark.slow
def test_the_page_is_one_file_and_the_same_each_time(tmp_path) -> None:
    pytest.importorskip("jinja2")
    path = tmp_path / "page.html"
    path.write_text("of yesterday", encoding="utf-8")
    assert ec.report_page(path, LOG, "p", "y", by="s", period="m", metrics=["nec"], title="Late <flights>") == path
    text = path.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "Late &lt;flights&gt;" in text
    assert "Late <flights>" not in text
    assert "From m 1 to m 2 NEC " in text
    again = ec.report_page(
        str(tmp_path / "again.html"), LOG.lazy(), "p", "y", by="s", period="m", metrics=["nec"], title="Late <flights>"
    )
    assert again.read_bytes() == path.read_bytes()
    assert sorted(at.name for at in tmp_path.iterdir()) == ["again.html", "page.html"]


def test_a_folder_that_is_not_there_is_an_error_before_the_log_is_read(tmp_path) -> None:
    pytest.importorskip("jinja2")
    never = LOG.lazy().map_batches(lambda _: pytest.fail("the log is read"), schema=LOG.schema)
    with pytest.raises(ValueError, match="there is no folder"):
        ec.report_page(tmp_path / "none" / "page.html", never, "p", "y")
    with pytest.raises(TypeError, match="has no keyword treshold=: did you mean threshold"):
        ec.report_page(tmp_path / "page.html", never, "p", "y", treshold=0.5)


def test_what_is_not_installed_is_named_with_the_way_out(tmp_path, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("polars_ec.page.layout", "polars_ec.page.layout"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'polars_ec\[html\]'"):
        ec.report_page(tmp_path / "page.html", LOG, "p", "y")


def test_a_path_that_no_browser_opens_is_an_error_before_the_log_is_read(tmp_path) -> None:
    pytest.importorskip("jinja2")
    never = LOG.lazy().map_batches(lambda _: pytest.fail("the log is read"), schema=LOG.schema)
    for name in ("report.pdf", "report"):
        with pytest.raises(ValueError, match=r"a page is HTML.* end it in \.html"):
            ec.report_page(tmp_path / name, never, "p", "y")
    with pytest.raises(TypeError, match="path= comes first, and is a DataFrame"):
        ec.report_page(LOG, "p", "y")  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


@pytest.mark.quick("options0-*", "options3-*", "options4-*")
@pytest.mark.parametrize(
    ("options", "costs", "decisions"),
    [
        ({"cost_fn": 5}, "a miss 5, a false alarm 1", "Bayes decisions (the least expected cost by the score)"),
        ({"cost_fn": 5, "threshold": 0.5}, "a miss 5, a false alarm 1", "score &gt; 0.5"),
        (
            {"costs": [[0, 1], [4, 1]]},
            "of decisions 0 and 1: class 0 0, 1; class 1 4, 1",
            "Bayes decisions (the least expected cost by the score)",
        ),
        ({"cost_fn": "w"}, "cost_fn=w, cost_fp=1", "Bayes decisions (the least expected cost by the score)"),
        ({"cost_fn": "w", "threshold": 0.5}, "cost_fn=w, cost_fp=1", "score &gt; 0.5"),
    ],
)
def test_the_page_says_in_words_what_decides(tmp_path, options, costs, decisions) -> None:
    pytest.importorskip("jinja2")
    log = LOG.with_columns(w=pl.lit(5.0))
    text = ec.report_page(tmp_path / "page.html", log, "p", "y", metrics=["nec"], **options).read_text("utf-8")
    assert f"<dt>Costs</dt><dd>{costs}</dd>\n<dt>Decisions</dt><dd>{decisions}</dd>" in text
    assert "CostMatrix(" not in text
