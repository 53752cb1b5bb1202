"""A chart as a page of its own that asks for nothing: no script runs but those that are written here, whatever names hold."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any


def asset(name: str) -> str:
    """The text of a file that pages with charts are made of."""
    return (files("polars_ec.plotting") / "assets" / name).read_text("utf-8")


def script_json(value: Any) -> str:
    """JSON that can stand in a script element: it has no `<`, and no character that ends a line of a script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(scripts: Sequence[str], style: str) -> str:
    """The content security policy of a page: nothing is loaded, and of scripts and styles these alone are used."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(map(_digest, scripts)),
        "style-src": _digest(style),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def chart_page(spec: dict[str, Any]) -> str:
    """The page of a chart."""
    vega, style = asset("vega.js"), asset("chart.css")
    script = asset("tooltip.js") + asset("chart.js")
    title = spec.get("title", "")
    said = title.get("text", "") if isinstance(title, dict) else title
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy([vega, script], style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(said if isinstance(said, str) else " ".join(map(str, said))) or "Chart"}</title>
<style>{style}</style>
</head>
<body>
<main id="chart"></main>
<dl hidden></dl>
<script type="application/json" id="spec">{script_json(spec)}</script>
<script>{vega}</script>
<script>{script}</script>
</body>
</html>
"""
