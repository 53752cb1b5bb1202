"""The charts of a page: specifications by `plotting`, made small enough to be embedded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from polars_ec.page.contents import Contents
from polars_ec.page.text import clean, names
from polars_ec.page.trends import four_digits
from polars_ec.plotting import curves, tables

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart, its heading and what stands below it, and what it shows in words."""

    id: str
    title: str
    caption: str
    words: str
    spec: Spec


_CURVES: tuple[tuple[str, Callable[..., Any], str], ...] = (
    (
        "roc",
        curves.roc,
        "True-positive rate over false-positive rate. The areas under the curves are the AUC of the table.",
    ),
)


def figures(contents: Contents) -> list[Figure]:
    """Those that there is something to show in."""
    found = []
    if contents.curves is not None:
        for name, draw, words in _CURVES:
            found.append(_figure(name, draw(contents.curves, contents.interval), words))
    return found


def _figure(name: str, chart: Any, words: str) -> Figure:
    # Whatever a user has told Altair to do with data and themes: the page holds its data, and has its own looks.
    with alt.data_transformers.enable("default"):
        spec: Spec = chart.to_dict()
    title, caption = _heading(spec.pop("title", name))
    for unused in ("$schema", "config"):
        spec.pop(unused, None)
    renamed = _Renamed()
    spec["datasets"] = {key: _packed(rows, renamed) for key, rows in spec.get("datasets", {}).items()}
    return Figure(name, title, caption, f"{title}. {words}", _without_long(spec, renamed))


def _heading(title: Any) -> tuple[str, str]:
    """The title and the subtitle of a chart."""
    if isinstance(title, str):
        return clean(title), ""
    below = title.get("subtitle", "")
    lines = [below] if isinstance(below, str) else below
    return clean(title["text"] if isinstance(title["text"], str) else " ".join(title["text"])), ". ".join(
        map(clean, lines)
    )


class _Renamed(dict[str, str]):
    """Names as they are shown, the same wherever they stand: in data and in the domains of scales."""

    def __missing__(self, name: str) -> str:
        shown = names([*self.values(), name])[-1]
        # Vega keeps groups in objects, where this name would be that of their prototype.
        self[name] = f"{shown}\u200b" if shown == "__proto__" else shown
        return self[name]


def _packed(rows: list[Mapping[str, Any]], renamed: _Renamed) -> Spec:
    """Rows as columns; text as places in a list of texts."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns: dict[str, Any] = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        if any(isinstance(value, str) for value in values):
            texts = list(dict.fromkeys(value for value in values if value is not None))
            places = {text: at for at, text in enumerate(texts)}
            shown = [renamed[text] for text in texts]
            columns[key] = {"texts": shown, "at": [None if value is None else places[value] for value in values]}
        else:
            columns[key] = [four_digits(value) if isinstance(value, float) else value for value in values]
    return {"n": len(rows), "columns": columns}


def _without_long(part: Any, renamed: _Renamed) -> Any:
    """The specification with names as in its data."""
    if isinstance(part, Mapping):
        return {key: value if key == "datasets" else _without_long(value, renamed) for key, value in part.items()}
    if isinstance(part, list):
        return [_without_long(value, renamed) for value in part]
    return renamed[part] if isinstance(part, str) and part in renamed else part
