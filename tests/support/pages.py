"""Contents of pages, made from simulated logs; and a browser to open pages in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from polars_ec.page import sources
from polars_ec.page.contents import Contents
from polars_ec.page.request import PageArguments, PageRequest
from polars_ec.page.sources import SketchSource

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = [
    "__proto__",
    "constructor",
    "</script><img src=x onerror=window.pwned=1>",
    "{{7*7}}${7*7}",
    "\u202etxt.exe\u200f",
    "a" * 10_000,
    "a" * 9_000,
    "two\nlines\tand a tab",
    "image",
    "<b onclick=window.pwned=1>&amp;",
    "'\"`;window.pwned=1//",
    "datum['x'].y[z]:q",
    "",
]


def simulated(groups: Sequence[str | None], periods: int, rows: int, seed: int = 0) -> pl.DataFrame:
    """A log of groups with scores of all kinds: sharp and blunt, calibrated and not; in one of them they are of no use."""
    generator = np.random.default_rng(seed)
    group = np.minimum((generator.pareto(0.9, rows) * 3).astype(int), len(groups) - 1)
    group = np.where(generator.random(rows) < 0.6, generator.integers(0, len(groups), rows), group)
    month = generator.integers(0, periods, rows)
    prior = 1 / (1 + np.exp(1.5 - 0.6 * np.sin(group) - 0.05 * month))
    label = generator.random(rows) < prior
    sharpness = 1.2 + 1.2 * np.cos(1.7 * group)
    log_odds = np.log(prior / (1 - prior)) + sharpness * (generator.normal(size=rows) + (label - 0.5) * sharpness)
    log_odds = log_odds * np.where(group % 7 == 3, 1.8, 1) * np.where(group % 8 == 3, -0.3, 1)
    months = [f"{2023 + i // 12}-{i % 12 + 1:02d}-01" for i in range(periods)]
    return pl.DataFrame(
        {
            "group": pl.Series([groups[i] for i in group], dtype=pl.String),
            "month": pl.Series([months[i] for i in month]).str.to_date(),
            "score": 1 / (1 + np.exp(-log_odds)),
            "label": label,
            "user": generator.integers(0, 3000, rows),
        }
    )


def contents_of(log: pl.DataFrame, keys: Sequence[str] = ("group",), period: str | None = "month", **asked) -> Contents:
    """The contents of a page on decisions by which a miss costs five times as much as a false alarm."""
    by = [*keys, *([] if period is None else [period])]
    sketch = log.ec.sketch("score", "label", by=by, cost_fn=5, resolution=8, cluster="user")
    return sources.build_contents(SketchSource(PageRequest(keys=list(keys), period=period, **asked), sketch))


def of_models(log: Any, score: Any, label: Any, **given: Any) -> list[Contents]:
    """The contents of the page of each model, with the arguments of `report_page`."""
    return sources.contents_of(log, score, label, PageArguments(**given))


def one_model(log: Any, score: Any, label: Any, **given: Any) -> Contents:
    """The contents of a page of one model, as `report_page` makes them."""
    (contents,) = of_models(log, score, label, **given)
    return contents


def group_names(n: int) -> list[str]:
    return [f"S{i:03d}" for i in range(n)]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; where there is none, or it does not start, the test is skipped."""
    sync = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"no browser: looked for {', '.join(names)}")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=arguments)
        except sync.Error as error:
            pytest.skip(f"{found} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()
