"""One HTML text: it asks for nothing, and of its scripts those alone run that are written here."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from polars_ec.page.charts import figures
from polars_ec.page.contents import Contents
from polars_ec.page.layout import page_of
from polars_ec.plotting.web import asset, policy, script_json

MOST_BYTES = 2_000_000
_MOST_GROUPS, _LEAST_GROUPS = 2_000, 20


def render(contents: Contents) -> str:
    """The page, of at most 2 MB: where the log has too many groups, the largest and the worst of them."""
    charts = figures(contents)
    most, n_charts = min(contents.groups.height, _MOST_GROUPS), len(charts)
    while True:
        page = page_of(contents, charts[:n_charts], most, left_out=len(charts) - n_charts)
        html = _filled(page=page, data=Markup(script_json(page.data)))
        size = len(html.encode())
        if size <= MOST_BYTES:
            return html
        if most > _LEAST_GROUPS:
            # What the groups take up is about proportional to how many they are.
            fixed = sum(
                len(text)
                for text in (_template()[1]["vega"], *(script_json(chart.spec) for chart in charts[:n_charts]))
            )
            share = max(MOST_BYTES - fixed, 0) / max(size - fixed, 1)
            most = max(_LEAST_GROUPS, min(int(0.95 * share * most), most - 1))
        elif n_charts:
            n_charts -= 1
        else:
            raise AssertionError("a page of a few groups without charts is small")


@cache
def _template() -> tuple[jinja2.Template, dict[str, Markup]]:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    assets = {
        "style": Markup(_asset("page.css")),
        "vega": Markup(asset("vega.js")),
        "script": Markup(asset("tooltip.js") + _asset("page.js")),
    }
    rules = Markup(policy([assets["vega"], assets["script"]], assets["style"]))
    return environment.from_string(_asset("page.html.jinja")), {**assets, "policy": rules}


def _asset(name: str) -> str:
    return (files("polars_ec.page") / "assets" / name).read_text("utf-8")


def _filled(**values: Any) -> str:
    template, assets = _template()
    return template.render(**assets, **values)
