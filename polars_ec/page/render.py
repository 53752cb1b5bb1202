"""One HTML text: it asks for nothing, and of its scripts those alone run that are written here."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from polars_ec.page.charts import Figure, figures
from polars_ec.page.contents import Contents
from polars_ec.page.layout import page_of
from polars_ec.page.vega import asset

MOST_BYTES = 2_000_000
MOST_GROUP_PERIODS = 5_000
_LEAST_GROUPS = 20


def render(contents: Contents) -> str:
    """The page, of at most 2 MB: where the log has too many groups, the largest and the worst of them."""
    charts = figures(contents)
    for most_groups, shown in _smaller(contents, charts):
        page = page_of(contents, shown, most_groups)
        html = _filled(page=page, data=script_json(page.data))
        if len(html.encode()) <= MOST_BYTES:
            return html
    raise AssertionError("a page of a few groups without charts is small")


def _smaller(contents: Contents, charts: list[Figure]) -> Iterator[tuple[int, list[Figure]]]:
    """How many groups and which charts to try: fewer groups first, then fewer charts."""
    n_periods = 1 if contents.trend_total is None else max(contents.trend_total.height, 1)
    most = min(max(MOST_GROUP_PERIODS // n_periods, _LEAST_GROUPS), contents.groups.height)
    while most > _LEAST_GROUPS:
        yield most, charts
        most = max(most // 2, _LEAST_GROUPS)
    for n_charts in range(len(charts), -1, -1):
        yield most, charts[:n_charts]


def script_json(value: Any) -> Markup:
    """JSON that can stand in a script element: it has no `<`, and no character that ends a line of a script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def _template() -> tuple[jinja2.Template, dict[str, Markup]]:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    assets = {
        name: Markup(asset(file)) for name, file in (("style", "page.css"), ("vega", "vega.js"), ("script", "page.js"))
    }
    policy = {
        "default-src": "'none'",
        "script-src": f"{_digest(assets['vega'])} {_digest(assets['script'])}",
        "style-src": _digest(assets["style"]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    rules = Markup("; ".join(f"{name} {value}" for name, value in policy.items()))
    return environment.from_string(asset("page.html.jinja")), {**assets, "policy": rules}


def _digest(text: str) -> str:
    """How a content security policy names a script or a style that may be used."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _filled(**values: Any) -> str:
    template, assets = _template()
    return template.render(**assets, **values)
