"""A chart as a page: its scripts are those that its policy names, and what a name holds is text, in a browser too."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest

import polars_ec as ec
from tests.support.pages import chromium

HOSTILE = ["</script><img src=x onerror='window.pwned=1'>", "__proto__", "constructor", "]]>", "b"]
COLUMN = "image</title><script>window.pwned=1</script>"
REPORT = pl.DataFrame(
    {
        COLUMN: [HOSTILE[i % 5] for i in range(20)],
        "m": [i // 5 for i in range(20)],
        "n": 5,
        "nec": [0.5 + 0.05 * (i % 7) for i in range(20)],
    }
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return ec.plot.save(
        ec.plot.trend(REPORT, "nec", x="m", facet=COLUMN), tmp_path_factory.mktemp("page") / "chart.html"
    )


class Parts(HTMLParser):
    """The elements that a browser makes of a text, and its policy."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.policy = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if dict(attributes).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attributes)["content"]


def test_only_what_the_policy_names_is_run(page):
    text = page.read_text("utf-8")
    parts = Parts(text)
    assert parts.tags.count("script") == 3
    assert "img" not in parts.tags
    assert "unsafe" not in parts.policy
    assert parts.policy.startswith("default-src 'none';")
    blocks = re.findall(r"<(script|style)([^>]*)>(.*?)</\1>", text, re.DOTALL)
    for tag, attributes, block in blocks:
        digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
        is_data = "application/json" in attributes
        assert is_data == (f"'sha256-{digest}'" not in parts.policy), tag
    (spec,) = (json.loads(block) for _, attributes, block in blocks if "application/json" in attributes)
    assert spec == ec.plot.trend(REPORT, "nec", x="m", facet=COLUMN).to_dict()
    assert not re.search(r"""(src|href)=["']?http""", re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL))
    assert len(text.encode()) < 1_100_000


@pytest.mark.slow
def test_a_browser_draws_it_and_runs_no_name(page):
    with chromium() as browser:
        for scheme in ("light", "dark"):
            shown = browser.new_page(color_scheme=scheme)
            said, asked = [], []
            shown.on("console", lambda message, said=said: said.append(message.text))
            shown.on("pageerror", lambda error, said=said: said.append(str(error)))
            shown.on("request", lambda request, asked=asked: asked.append(request.url))
            shown.goto(page.as_uri())
            shown.wait_for_selector("#chart svg .mark-symbol path")
            shown.locator("#chart svg .mark-symbol path").first.hover()
            assert shown.locator("dl dd").first.inner_text() == HOSTILE[0]
            assert shown.evaluate("window.pwned") is None
            assert shown.locator("#chart img").count() == 0
            assert shown.locator("#chart svg .mark-line path").count() == len(HOSTILE)
            assert (said, asked) == ([], [page.as_uri()])
