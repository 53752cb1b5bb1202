"""Charts as files: drawings, by vl-convert, and pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import altair as alt

from polars_ec.plotting.web import chart_page
from polars_ec.whole_file import whole_file

KINDS = (".svg", ".png", ".pdf", ".html")
"""What the name of a file may end with."""

_PIXELS_PER_INCH = 144
# What a drawing refers to within itself: where it is, and from where.
_PART = re.compile(r'(?<= id=")(clip|gradient_)\d+(?=")|(?<=="url\(#)(clip|gradient_)\d+(?=\)")')
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def save(chart: Any, path: str | Path) -> Path:
    """That of `polars_ec.plot.save`."""
    _check_chart(chart)
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: there is no folder {str(file.parent)!r}: make it first")
    content = encoded(chart, file.suffix)
    with whole_file(file) as opened:
        opened.write(content)
    return file


def encoded(chart: Any, suffix: str) -> bytes:
    """The chart as a file of this kind has it."""
    kind = suffix.lower()
    if kind not in KINDS:
        raise ValueError(
            f"a chart is one of {', '.join(KINDS)}, and the name ends in {suffix or 'none'}: name the file by what it is to be"
        )
    _check_chart(chart)
    spec = chart.to_dict()
    if kind == ".html":
        return chart_page(spec).encode()
    # Imported here, for only drawings need it.
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise ModuleNotFoundError("drawings of charts need vl-convert-python: pip install 'polars_ec[plot]'") from None
    if kind == ".svg":
        return _numbered_anew(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)).encode()
    if kind == ".png":
        return vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=2, ppi=_PIXELS_PER_INCH / 2)
    return vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE)


def _numbered_anew(svg: str) -> str:
    """Vega goes on counting the parts that drawings refer to: from 1 in each, a chart is the same file whenever it is drawn."""
    names = dict.fromkeys(found[0] for found in _PART.finditer(svg))
    new = {name: f"{name.rstrip('0123456789')}{number}" for number, name in enumerate(names, 1)}
    return _PART.sub(lambda found: new[found[0]], svg)


def _check_chart(chart: object) -> None:
    if not isinstance(chart, alt.TopLevelMixin):
        raise TypeError(f"a {type(chart).__name__} is no chart: pass what ec.plot makes, and then the path")
