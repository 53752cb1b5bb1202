"""A page is one file: its policy lets its own scripts run and nothing else, it is no larger than promised, and always the same."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import polars as pl
import pytest

import polars_ec as ec
from polars_ec.page.contents import Contents
from polars_ec.page.layout import MOST_BYTES, render
from polars_ec.plot import files
from polars_ec.plot.files import asset
from tests.support.pages import HOSTILE, contents_of, group_names, simulated


@pytest.fixture(scope="module")
def contents() -> Contents:
    return contents_of(simulated(HOSTILE, 2, 4_000), title="<script>alert(1)</script>")


@pytest.fixture(scope="module")
def html(contents) -> str:
    return render(contents)


def test_the_policy_names_the_scripts_and_the_style_by_their_hashes(html) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    rules = {name: values.split(" ") for name, values in (rule.split(" ", 1) for rule in policy.split("; "))}

    def hashes(element: str) -> list[str]:
        bodies = re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        return [f"'sha256-{base64.b64encode(hashlib.sha256(b.encode()).digest()).decode()}'" for b in bodies]

    assert rules == {
        "default-src": ["'none'"],
        "script-src": hashes("script"),
        "style-src": hashes("style"),
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert len(hashes("script")) == 2


def test_names_close_no_element_and_make_none(html) -> None:
    assert html.count("<script") == html.count("</script") == 3
    body = re.sub(r"<script.*?</script>|<style>.*?</style>", "", html, flags=re.DOTALL)
    assert not re.search(r"<(img|b|svg onload)\b", body)
    assert "window.pwned" in body
    data = re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1]
    assert "<" not in data
    assert ">" not in data
    # Of 10,000 letters a few are enough.
    assert "a" * 70 not in html


def test_a_page_asks_for_nothing_from_elsewhere(html) -> None:
    page = html.replace(asset("vega.js.xz"), "")
    # Its links lead to its own sections.
    page = page.replace("img src=x", "").replace('<a href="#', "")
    assert not re.search(r"""(?:src|href|action)\s*=|url\(|@import""", page)


@pytest.mark.slow
def test_the_same_contents_give_the_same_page(contents, html) -> None:
    assert render(contents) == html
    # Nothing is called by a digest of all digits: sums of a log that is read twice may differ in the last ones.
    assert '"name":"data-0"' in html
    assert not re.search(r"data-[0-9a-f]{32}", html)


@pytest.fixture(scope="module")
def many() -> Contents:
    """3,000 groups with names that are long, in tables that are stretched from those of a few."""
    few = contents_of(simulated(group_names(20), 3, 6_000))
    names = [f"{i:05d} {'long name' * 6}" for i in range(3_000)]

    def stretched(table: pl.DataFrame) -> pl.DataFrame:
        numbers = pl.DataFrame({"group": few.groups["group"], "at": range(20)})
        copies = pl.DataFrame({"at": [i % 20 for i in range(3_000)], "new": names})
        both = table.join(numbers, on="group").join(copies, on="at", maintain_order="right")
        return both.with_columns(group="new").select(table.columns)

    groups = stretched(few.groups).sort("n", descending=True, maintain_order=True)
    trend = stretched(few.trend).filter(pl.col("group").is_in(groups["group"][:800].implode()))
    return replace(few, groups=groups, trend=trend, rest=stretched(few.rest), changes=stretched(few.changes))


@pytest.mark.slow
def test_of_too_many_groups_the_largest_and_the_worst_are_shown(many) -> None:
    html = render(many)
    assert MOST_BYTES * 0.7 < len(html.encode()) <= MOST_BYTES
    shown = [int(row) for row in re.findall(r'<tr[^>]* data-row="(\d+)"', html)]
    assert (
        f"This page shows {len(shown):,} of 3,000 groups: the largest, those in the findings, and the worst of the others."
        in html
    )
    assert shown == sorted(shown)
    assert shown[: len(shown) // 2] == list(range(len(shown) // 2))
    worst = many.groups.with_row_index("row").filter(~pl.col("row").is_in(shown))["nec"].max()
    least = many.groups["nec"][shown[len(shown) // 2 + 1 :]].min()
    assert set(many.costly) <= set(shown)
    assert worst is not None
    assert least is not None


@pytest.mark.slow
def test_charts_are_left_out_before_a_page_is_too_large(contents, html, monkeypatch) -> None:
    monkeypatch.setattr("polars_ec.page.layout.MOST_BYTES", len(html.encode()) - 40_000)
    html = render(contents)
    assert re.search(r"\d charts? left out", html)
    assert 'id="chart-roc"' in html


@pytest.mark.slow
def test_the_libraries_are_those_of_vl_convert_with_their_licences() -> None:
    bundled = asset("vega.js.xz")
    versions = re.match(r"/\*!\nVega ([\d.]+), Vega-Embed ([\d.]+)\n", bundled)
    assert versions
    assert asset("vega.LICENSE") in bundled
    assert "</script" not in bundled.lower()
    assert "<!--" not in bundled
    import vl_convert

    if versions.groups() == (vl_convert.get_vega_version(), vl_convert.get_vega_embed_version()):
        assert files.bundle() == bundled


@pytest.mark.slow
def test_pages_of_other_scores(tmp_path) -> None:
    log = simulated(group_names(3), 2, 600)
    vectors = log.with_columns(
        score=pl.concat_arr(0.6 * pl.col("score"), 0.4 * pl.col("score"), 1 - pl.col("score")),
        label=pl.when("label").then(pl.col("user") % 2).otherwise(2),
    )
    nec = {"metrics": ["nec"]}
    decided = {"score_type": "decision", **nec}
    shown = {
        "vectors": (vectors, nec, ["trend", "forest", "drift"]),
        "decisions": (log.with_columns(pl.col("score") > 0.2), decided, ["trend", "forest", "drift"]),
        "llr": (
            log.with_columns(pl.col("score").ec.llr(0.25)),
            {"score_type": "llr"},
            ["trend", "roc", "det", "bayes_error", "forest", "drift"],
        ),
        "one class": (log.with_columns(label=pl.lit(value=True)), nec, []),
        "no rows": (log.head(0), nec, []),
    }
    for name, (rows, options, charts) in shown.items():
        path = ec.report_page(tmp_path / "page.html", rows, "score", "label", by="group", period="month", **options)
        html = path.read_text("utf-8")
        assert re.findall(r'data-chart="(\w+)"', html) == charts, name
        assert len(re.findall(r"<tr[^>]* data-row=", html)) == (0 if name == "no rows" else 3)
        # A group of which nothing is known does not open.
        assert ('class="name"' in html) == bool(charts)
