"""Charts as files: images drawn by vl-convert, and pages that load nothing and run no other scripts."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from polars_ec.output.whole_file import whole_file
from polars_ec.plot.layers import alt

KINDS = (".svg", ".png", ".pdf", ".html")
"""The suffixes of files."""

_PIXELS_PER_INCH = 144
# References within a drawing: targets and uses.
_PART = re.compile(r'(?<= id=")(clip|gradient_)\d+(?=")|(?<=="url\(#)(clip|gradient_)\d+(?=\)")')


def save(chart: alt.TopLevelMixin, path: str | Path) -> Path:
    """Write a chart to a file, completely or not at all, and return its path.

    Parameters
    ----------
    chart
        Any Altair chart.
    path
        The path, in an existing folder. Its suffix determines the format. `.svg`, `.png` and `.pdf` are drawn by vl-convert-python. `.html`
        is a page that works offline, and in which names can never act as code.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec, tempfile
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "site": ["a", "a", "b", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ec.plot.save(ec.plot.forest(log.ec.report("p", "y", by="site"), "nec"), f"{folder}/forest.svg").name
    'forest.svg'
    """
    if not isinstance(chart, alt.TopLevelMixin):
        raise TypeError(f"a {type(chart).__name__} is no chart: pass what ec.plot makes, and then the path")
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: there is no folder {str(file.parent)!r}: make it first")
    content = encoded(chart, file.suffix)
    with whole_file(file) as opened:
        opened.write(content)
    return file


def encoded(chart: Any, suffix: str) -> bytes:
    """Encode a chart as a file with this suffix."""
    kind = suffix.lower()
    if kind not in KINDS:
        raise ValueError(
            f"a chart is one of {', '.join(KINDS)}, and the name ends in {suffix or 'none'}: name the file by what it is to be"
        )
    spec = chart.to_dict()
    if kind == ".html":
        return chart_page(spec).encode()
    # Imported here, for only drawings need it.
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise ModuleNotFoundError("drawings of charts need vl-convert-python: pip install 'polars_ec[plot]'") from None
    if kind == ".svg":
        return _renumbered(vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())).encode()
    if kind == ".png":
        return vl_convert.vegalite_to_png(spec, vl_version=vega_lite_version(), scale=2, ppi=_PIXELS_PER_INCH / 2)
    return vl_convert.vegalite_to_pdf(spec, vl_version=vega_lite_version())


def vega_lite_version() -> str:
    """The version of Vega-Lite that Altair writes specifications for."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _renumbered(svg: str) -> str:
    """Renumber the ids in a drawing from 1, because Vega continues counting between drawings."""
    names = dict.fromkeys(found[0] for found in _PART.finditer(svg))
    new = {name: f"{name.rstrip('0123456789')}{number}" for number, name in enumerate(names, 1)}
    return _PART.sub(lambda found: new[found[0]], svg)


def asset(name: str, package: str = "polars_ec.plot") -> str:
    """Read a style sheet, script or template for pages."""
    file = files(package) / "assets" / name
    return lzma.decompress(file.read_bytes()).decode() if name.endswith(".xz") else file.read_text("utf-8")


def script_json(value: Any) -> str:
    """JSON that is safe in a script element: without `<` and characters that end a line of a script."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(scripts: Sequence[str], style: str) -> str:
    """The content security policy of a page: no requests, and only these scripts and styles."""
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
    """Write the page that shows one chart."""
    vega, style = asset("vega.js.xz"), asset("chart.css")
    script = asset("tooltip.js") + asset("chart.js")
    title = spec.get("title", "")
    heading = title.get("text", "") if isinstance(title, dict) else title
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy([vega, script], style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(heading if isinstance(heading, str) else " ".join(map(str, heading))) or "Chart"}</title>
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


def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, after their licences, as every page with charts carries it (`make vega`)."""
    import vl_convert

    versions = f"Vega {vl_convert.get_vega_version()}, Vega-Embed {vl_convert.get_vega_embed_version()}"
    licences = asset("vega.LICENSE")
    return f"/*!\n{versions}\n\n{licences}*/\n{vl_convert.javascript_bundle('window.vegaEmbed = vegaEmbed;')}\n"
