"""The gallery shows each chart there is, by code that makes it."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import polars_ec as ec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "website"))
try:
    from pictures import GALLERY, charts
finally:
    sys.path.remove(str(ROOT / "docs" / "website"))

PAGE = GALLERY.read_text("utf-8")


@pytest.mark.slow
def test_each_picture_is_made_and_there() -> None:
    made = dict(charts())
    assert set(made) == set(re.findall(r"!\[.{10,}\]\((.*)\)", PAGE))
    for picture, chart in made.items():
        spec = chart.to_dict()
        heading = next(part["title"]["text"] for part in (spec, *spec.get("vconcat", [])) if "title" in part)
        drawing = (GALLERY.parent / picture).read_text("utf-8")
        assert drawing.startswith("<svg")
        assert f">{heading}<" in drawing
    # Those of the papers are below, in a folder of their own.
    assert {path.relative_to(GALLERY.parent).as_posix() for path in (GALLERY.parent / "pictures").glob("*.*")} == {
        *made,
        # Of the README, the benchmark of the field and the tutorials.
        "pictures/precision.svg",
        "pictures/field.svg",
        "pictures/tutorial.svg",
        "pictures/tutorial-sql.svg",
    }


def test_each_chart_is_shown() -> None:
    called = re.findall(r"^chart = ec\.plot\.(\w+)\(", PAGE, re.MULTILINE)
    functions = {name for name, _ in inspect.getmembers(ec.plot, inspect.isfunction) if name[0] != "_"}
    assert functions - {"save"} == set(called)
    assert all(f"`{name}`" in PAGE for name in called)
