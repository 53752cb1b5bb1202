"""Pages in a real browser: they open offline, work by keyboard, in the dark, on paper and on narrow screens, and run no name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polars_ec.page.layout import render
from tests.support.pages import HOSTILE, chromium, contents_of, group_names, simulated

READY = "html[data-ready]"


@dataclass
class Opened:
    """A page, and what it asked for or complained of."""

    page: Any
    path: Path
    troubles: list[str] = field(default_factory=list)

    def open(self, **how: Any) -> None:
        """Anew."""
        self.page.emulate_media(**{"color_scheme": "light", "media": "screen", **how})
        self.page.goto(self.path.as_uri())
        self.page.wait_for_selector(READY, timeout=60_000)

    def names(self) -> list[str]:
        """The groups in the table, as they are shown."""
        return self.page.locator("#rows tr[data-row]:not([hidden]) > th button").all_text_contents()

    def column(self, title: str) -> list[float | None]:
        """What rows are sorted by."""
        heads = self.page.locator("#table thead th").all_text_contents()
        place = [head.strip() for head in heads].index(title) + 1
        cells = self.page.locator(f"#rows tr[data-row] > :nth-child({place})")
        return [None if text == "" else float(text) for text in cells.evaluate_all("all => all.map(c => c.dataset.v)")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@contextmanager
def opened(browser: Any, html: str, folder: Path) -> Iterator[Opened]:
    path = folder / "page.html"
    path.write_text(html, "utf-8", newline="\n")
    page = browser.new_page(viewport={"width": 1200, "height": 900}, offline=True)
    found = Opened(page, path)
    page.on("console", lambda message: found.troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: found.troubles.append(f"dialog: {dialog.message}"))
    page.on("request", lambda r: r.url == path.as_uri() or found.troubles.append(f"request: {r.url}"))
    yield found
    page.close()


@pytest.fixture(scope="module")
def usual(browser, tmp_path_factory) -> Iterator[Opened]:
    """Open a page with nine groups and six months. One group has no name; some have few rows."""
    log = simulated([*group_names(8), None], 6, 1_200)
    log = log.remove((pl.col("group") == "S001") & (pl.col("month") == dt.date(2023, 3, 1)))
    with opened(browser, render(contents_of(log, title="Loans")), tmp_path_factory.mktemp("usual")) as found:
        yield found


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory) -> Iterator[Opened]:
    log = simulated(HOSTILE, 3, 8_000).rename({"group": "__proto__"})
    contents = contents_of(log, ["__proto__"], title="</title><script>window.pwned=1</script>")
    with opened(browser, render(contents), tmp_path_factory.mktemp("hostile")) as found:
        found.open()
        yield found


def violations(page: Any) -> list[str]:
    """What axe-core has against a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed").Axe()
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in axe.run(page).response["violations"]]


@pytest.mark.slow
def test_a_page_opens_offline_and_draws_its_charts(usual) -> None:
    usual.open()
    charts = usual.page.locator("[data-chart]")
    assert charts.count()
    assert usual.page.locator("[data-chart] svg").count() == charts.count()
    assert usual.page.locator("[data-chart] svg path").count() > charts.count()
    assert all(usual.page.locator("[data-chart]").evaluate_all("all => all.map(c => c.ariaLabel)"))
    assert usual.page.locator("h1").text_content() == "Loans"
    assert usual.troubles == []


@pytest.mark.slow
def test_rows_are_sorted_by_click_and_by_keyboard_and_what_is_not_known_is_last(usual) -> None:
    usual.open()
    rows = usual.column("Rows")
    assert rows == sorted(rows, reverse=True)
    head = usual.page.locator("#table").get_by_role("columnheader", name="NEC", exact=True)
    head.get_by_role("button").click()
    values = usual.column("NEC")
    assert values == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    usual.page.keyboard.press("Enter")
    assert usual.column("NEC") == sorted(values)
    assert head.get_attribute("aria-sort") == "ascending"
    assert usual.page.locator("th[aria-sort]").count() == 1
    usual.page.get_by_role("columnheader", name="group", exact=True).get_by_role("button").press("Space")
    assert usual.names() == sorted(usual.names(), key=str.lower)
    # No value for the first group of the table: it is last, whichever way.
    usual.page.locator("#rows tr").first.evaluate("row => row.cells[1].dataset.v = ''")
    for _ in range(2):
        head.get_by_role("button").click()
        assert usual.column("NEC")[-1] is None
    assert usual.troubles == []


@pytest.mark.slow
def test_groups_are_filtered_by_name_and_by_whether_they_are_marked(usual) -> None:
    usual.open()
    every = usual.names()
    usual.page.get_by_label("Filter").fill("s00")
    assert usual.names() == [name for name in every if "S00" in name]
    assert usual.page.locator("#shown").text_content() == f"8 of {len(every)}"
    usual.page.get_by_label("Filter").fill("")
    usual.page.get_by_label("significant only").check()
    marked = usual.page.locator("#rows tr:has(td .word)").count()
    assert 0 < marked < len(every)
    assert len(usual.names()) == marked
    assert usual.troubles == []


@pytest.mark.slow
def test_a_group_opens_by_keyboard_with_its_trend_and_its_change(usual) -> None:
    usual.open()
    button = usual.page.locator("#rows button.name").nth(1)
    button.press("Enter")
    usual.page.wait_for_selector("#pane svg .mark-line path")
    assert button.get_attribute("aria-expanded") == "true"
    pane = usual.page.locator("#pane")
    assert "own base rate" in pane.text_content()
    assert "Change from 2023-01 to 2023-06" in pane.text_content()
    change = usual.page.locator("#rows tr[data-row]").nth(1).locator("td").nth(4).text_content()
    assert change.split(" ")[0][:6] in pane.text_content()
    # A point of the line tells its numbers.
    pane.locator("svg .mark-symbol path").first.hover()
    assert "Period2023-0" in usual.page.locator(".tip").text_content()
    button.press("Enter")
    assert usual.page.locator("#pane").count() == 0
    # No line goes across a month without a row.
    usual.page.get_by_role("button", name="S001").click()
    usual.page.wait_for_selector("#pane svg .mark-line path")
    assert [
        d.count("M")
        for d in pane.locator("svg .mark-line path").evaluate_all("all => all.map(p => p.getAttribute('d'))")
    ] == [2, 2]
    assert usual.troubles == []


@pytest.mark.slow
def test_the_table_scrolls_by_keyboard_within_a_region_and_its_head_stays(usual) -> None:
    usual.page.set_viewport_size({"width": 1200, "height": 400})
    usual.open()
    region = usual.page.get_by_role("region", name="Table of groups")
    region.focus()
    usual.page.keyboard.press("End")
    settled = "async e => { for (let i = 0; i < 50 && e.scrollTop < 50; i++) await new Promise(r => setTimeout(r, 20)); return e.scrollTop; }"
    assert region.evaluate(settled) >= 50
    head, box = usual.page.locator("#table thead th").nth(1).bounding_box(), region.bounding_box()
    usual.page.set_viewport_size({"width": 1200, "height": 900})
    assert abs(head["y"] - box["y"]) < 3


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(usual, scheme) -> None:
    usual.open(color_scheme=scheme)
    usual.page.locator("#rows button.name").first.click()
    usual.page.wait_for_selector("#pane svg")
    paper = usual.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 150) == (scheme == "dark")
    assert violations(usual.page) == []


@pytest.mark.slow
def test_a_narrow_page_does_not_scroll_sideways(usual) -> None:
    usual.page.set_viewport_size({"width": 360, "height": 700})
    usual.open()
    usual.page.locator("#rows button.name").first.click()
    usual.page.wait_for_selector("#pane svg")
    width = usual.page.evaluate("document.documentElement.scrollWidth")
    beside = usual.page.evaluate(
        "[...document.querySelectorAll('[data-chart] svg, .card')].filter(c => c.getBoundingClientRect().right > 360).length"
    )
    usual.page.set_viewport_size({"width": 1200, "height": 900})
    assert width == 360
    assert beside == 0


@pytest.mark.slow
def test_all_of_the_table_is_on_paper_in_black_on_white(usual) -> None:
    usual.open(color_scheme="dark", media="print")
    assert usual.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    region = usual.page.locator(".scroll").first
    assert region.evaluate("e => e.scrollHeight <= e.clientHeight + 2 && e.scrollWidth <= e.clientWidth + 2")
    assert not usual.page.get_by_label("Filter").is_visible()


@pytest.mark.slow
def test_names_are_text_and_nothing_else(hostile) -> None:
    shown = hostile.names()
    assert len(shown) == len(HOSTILE)
    assert "{{7*7}}${7*7}" in shown
    assert "</script><img src=x onerror=window.pwned=1>" in shown
    assert max(map(len, shown)) < 70
    assert hostile.page.title() == "</title><script>window.pwned=1</script>"
    for button in hostile.page.locator("#rows button.name").all():
        button.click()
        hostile.page.wait_for_selector("#pane svg")
    for line in hostile.page.locator("[data-chart] svg .mark-line path").all()[:12]:
        line.dispatch_event("mousemove", {"clientX": 300, "clientY": 300})
    assert hostile.page.evaluate("window.pwned") is None
    assert hostile.page.locator("img, b, [onclick], [onerror]").count() == 0
    assert hostile.troubles == []


@pytest.mark.slow
def test_groups_with_names_of_objects_are_in_the_charts(hostile) -> None:
    names = hostile.page.evaluate("JSON.parse(document.getElementById('data').textContent)[0].charts.roc")
    texts = [name for data in names["datasets"].values() for name in data["columns"].get("group", {}).get("texts", [])]
    legend = hostile.page.locator("#chart-roc .role-legend-label text").all_text_contents()
    assert len(set(texts)) == len(legend)
    assert "__proto__" in hostile.page.locator("#chart-roc .role-legend-title text").text_content()
    lines = hostile.page.locator("#chart-roc .mark-line path").count()
    assert lines >= len(legend)


@pytest.mark.slow
def test_axe_finds_nothing_on_a_page_of_200_groups_or_of_hostile_names(browser, hostile, tmp_path) -> None:
    assert violations(hostile.page) == []
    html = render(contents_of(simulated(group_names(200), 24, 60_000)))
    with opened(browser, html, tmp_path) as found:
        found.open()
        assert violations(found.page) == []
        assert found.troubles == []


@pytest.mark.slow
def test_one_group_without_periods(browser, tmp_path) -> None:
    html = render(contents_of(simulated(["a"], 1, 1_000), [], None))
    with opened(browser, html, tmp_path) as found:
        found.open()
        assert found.page.locator("#rows tr").count() == 1
        assert not found.page.get_by_label("Filter").is_visible()
        assert violations(found.page) == []
        assert found.troubles == []


@pytest.mark.slow
def test_without_scripts_the_table_and_the_small_charts_are_there(browser, usual) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(usual.path.as_uri())
    assert page.locator("#rows tr").count() == 9
    assert page.locator("svg.spark path.line").count() >= 9
    assert page.locator("button:enabled").count() == 0
    assert page.locator("noscript").count()
    page.close()
