"""Charts as tests look at them: the rows that they draw, and the marks of their drawing."""

from __future__ import annotations

import json
import os
import tempfile
from xml.etree import ElementTree

import polars as pl
import vl_convert

from polars_ec.plot.files import vega_lite_version

_SVG = "{http://www.w3.org/2000/svg}"
_DARK = {"labelColor": "#ddd", "titleColor": "#ddd"}
_KINDS = ("mark-line", "mark-area", "mark-rule", "mark-symbol", "mark-rect")


def data_of(chart):
    """The rows of the one table of a chart, as its specification has them."""
    table = chart.data
    assert isinstance(table, pl.DataFrame)
    spec = chart.to_dict()
    (rows,) = spec["datasets"].values()
    assert len(rows) == table.height
    assert json.loads(json.dumps(rows, allow_nan=False)) == table.to_dicts()
    return table


def rendered(chart, *, dark=False):
    """The marks of the drawing, each its kind and its attributes; of a drawing that is whole, and of which Vega says nothing."""
    if dark:
        chart = chart.configure(background="#111").configure_axis(**_DARK).configure_legend(**_DARK)
    root = ElementTree.fromstring(drawn_in_silence(chart.to_dict()))
    marks = []
    for group in root.iter(f"{_SVG}g"):
        kind = next((name for name in _KINDS if name in group.get("class", "").split()), None)
        if kind is not None and "role-mark" in group.get("class", ""):
            marks += [{"kind": kind.removeprefix("mark-"), **mark.attrib} for mark in group if mark.tag != f"{_SVG}g"]
    text = ElementTree.tostring(root, "unicode")
    assert "NaN" not in text
    assert "undefined" not in text
    return marks


def texts_of(chart):
    """What is written in the drawing."""
    root = ElementTree.fromstring(drawn_in_silence(chart.to_dict()))
    return [text.text for text in root.iter(f"{_SVG}text")]


def drawn_in_silence(spec):
    """The drawing, of which Vega warns of nothing: vl-convert would print it."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            drawing = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version(), show_warnings=True)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        printed.seek(0)
        said = printed.read().decode()
    assert not said, said
    return drawing
