"""A chart in a file: of the kind that its name says, whole or not there."""

from __future__ import annotations

from xml.etree import ElementTree

import altair as alt
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.plot.files import encoded


def made_chart():
    report = pl.DataFrame({"g": ["a", "b"], "n": [100, 50], "nec": [0.5, 0.7]})
    return ec.plot.forest(report, "nec")


def test_files_are_what_their_names_say(tmp_path):
    chart = made_chart()
    for suffix, begins in ((".SVG", b"<svg"), (".html", b"<!doctype html>")):
        file = ec.plot.save(chart, tmp_path / f"chart{suffix}")
        assert file.read_bytes().startswith(begins)
    ElementTree.fromstring(encoded(chart, ".svg"))
    with pytest.raises(FileNotFoundError):
        ec.plot.save(chart, tmp_path / "nowhere" / "chart.svg")
    assert len([*tmp_path.iterdir()]) == 2


def test_a_drawing_is_the_same_each_time():
    frame = pl.DataFrame({"x": [1, 2], "y": [1, 2]})
    with_gradient = alt.Chart(frame).mark_rect(clip=True).encode(x="x:O", y="y:O", color="y:Q")
    for chart, parts in ((made_chart(), [b"clip1"]), (with_gradient, [b"clip1", b"gradient_2"])):
        first, second = (encoded(chart, ".svg") for _ in range(2))
        assert first == second
        for part in parts:
            assert first.count(b' id="%b"' % part) == 1
            assert b'="url(#%b)"' % part in first


def test_a_file_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    import vl_convert

    def fails(*_, **__):
        raise ValueError("no")

    file = tmp_path / "chart.svg"
    file.write_text("old")
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", fails)
    with pytest.raises(ValueError, match="no"):
        ec.plot.save(made_chart(), file)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
