"""A chart as a page of its own that asks for nothing: no script runs but those that are written here, whatever names hold."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 1.5rem; font: 14px system-ui, sans-serif; background: Canvas; color: CanvasText; overflow-x: auto; }
dl { position: fixed; margin: 0; padding: .4rem .6rem; display: grid; grid-template-columns: auto auto; gap: 0 .8rem;
  background: Canvas; border: 1px solid GrayText; pointer-events: none; font-variant-numeric: tabular-nums; max-width: 30rem; }
dl[hidden] { display: none; }
dt { color: GrayText; }
dd { margin: 0; overflow-wrap: anywhere; }
@media print { dl { display: none; } }
"""

# Tooltips are text: Vega's own shows the value of a field called "image" as an image.
_SCRIPT = """
"use strict";
(() => {
  const place = document.getElementById("chart");
  const spec = document.getElementById("spec").textContent;
  const tip = document.querySelector("dl");
  const made = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  const tooltip = (_, event, item, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    tip.replaceChildren(...pairs.flatMap(([name, shown]) => [made("dt", name), made("dd", String(shown))]));
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4))}px`;
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const [ink, grid] = dark.matches ? ["#dddddd", "#444444"] : ["#222222", "#dddddd"];
    const text = { labelColor: ink, titleColor: ink };
    const config = {
      background: null, font: "system-ui, sans-serif", view: { stroke: grid }, header: text, legend: text,
      axis: { ...text, gridColor: grid, domainColor: ink, tickColor: ink }, title: { color: ink, subtitleColor: ink },
    };
    const how = { mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip, config };
    return vegaEmbed(place, JSON.parse(spec), how);
  };
  dark.addEventListener("change", draw);
  draw();
})();
"""


def script_json(value: Any) -> str:
    """JSON that can stand in a script element: it has no `<`, and no character that ends a line of a script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def digest(text: str) -> str:
    """How a content security policy names a script or a style that may be used."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def chart_page(spec: dict[str, Any]) -> str:
    """The page of a chart."""
    # The same script that pages of reports carry.
    vega = (files("polars_ec") / "page" / "assets" / "vega.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src {digest(vega)} {digest(_SCRIPT)}; style-src {digest(_STYLE)}; "
        "base-uri 'none'; form-action 'none'"
    )
    title = spec.get("title", "")
    said = title.get("text", "") if isinstance(title, dict) else title
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(said if isinstance(said, str) else " ".join(map(str, said))) or "Chart"}</title>
<style>{_STYLE}</style>
</head>
<body>
<main id="chart"></main>
<dl hidden></dl>
<script type="application/json" id="spec">{script_json(spec)}</script>
<script>{vega}</script>
<script>{_SCRIPT}</script>
</body>
</html>
"""
