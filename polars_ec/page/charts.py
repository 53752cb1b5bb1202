"""The charts of a page: specifications by `plotting`, made small enough to be embedded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import altair as alt

from polars_ec.page.contents import Contents
from polars_ec.page.trends import four_digits
from polars_ec.page.wording import text
from polars_ec.plot import curves, tables
from polars_ec.words import in_words

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart, its heading and what stands below it, and what it shows in words."""

    id: str
    title: str
    caption: str
    words: str
    spec: Spec


_IN_WORDS: Mapping[str, str] = {
    "roc": "True-positive rate over false-positive rate, for every threshold. The table has the areas below, as AUC.",
    "det": "Misses over false alarms, for every threshold.",
    "pr": "Precision over recall, for every threshold.",
    "reliability": "How frequent positives are, over the posterior: on the diagonal scores are calibrated.",
    "cost_curve": "What decisions cost, over the threshold. The table has the costs at the threshold that is in use.",
    "bayes_error": "Detection cost over the prior. The distance between actual and minimum is what calibration would gain.",
    "forest": "Each group with its limits, as in the table.",
    "drift": "Where the change of all rows together comes from, by period.",
}
_CURVES: Mapping[str, tuple[Callable[..., Any], ...]] = MappingProxyType(
    {
        "posterior": (curves.roc, curves.reliability, curves.cost_curve, curves.pr),
        "log_odds": (curves.roc, curves.reliability, curves.cost_curve, curves.pr),
        "llr": (curves.roc, curves.det, curves.bayes_error),
        "raw": (curves.roc, curves.det, curves.pr),
    }
)


def figures(contents: Contents) -> list[Figure]:
    """Those that there is something to show in."""
    main = contents.metrics[0]
    found = []
    cells = contents.curves
    # Of one class alone there is no curve.
    if cells is not None and contents.total["class_prior"].is_between(0, 1, closed="none").any():
        for draw in _CURVES[cells.grid.score_type]:
            takes_interval = "interval" in inspect.signature(draw).parameters
            found.append(
                _figure(draw.__name__, draw(cells, **({"interval": contents.interval} if takes_interval else {})))
            )
    if contents.groups.height > 1 and contents.groups[main].is_finite().any():
        found.append(_figure("forest", tables.forest(contents.groups, main), f"{in_words(main)} of the groups"))
    history = contents.history
    if history is not None and "likelihood" in history.columns and history["difference"].is_finite().any():
        found.append(_figure("drift", tables.drift(history)))
    return found


def _figure(name: str, chart: Any, heading: str = "") -> Figure:
    # Whatever a user has told Altair to do with data and themes: the page holds its data, and has its own looks.
    with alt.data_transformers.enable("default"):
        spec: Spec = chart.to_dict()
    # Of charts one below the other the first has the title.
    first = next((spec[kind][0] for kind in ("vconcat", "hconcat") if kind in spec), spec)
    title, caption = _heading((spec if "title" in spec else first).pop("title", name))
    for unused in ("$schema", "config", "usermeta"):
        spec.pop(unused, None)
    datasets = spec.pop("datasets", {})
    # Altair calls data by a digest of all their digits, of which the last ones differ between two readings of a log.
    spec = _with_names(spec, {key: f"data-{at}" for at, key in enumerate(datasets)})
    spec["datasets"] = {f"data-{at}": _packed(rows) for at, rows in enumerate(datasets.values())}
    return Figure(name, heading or title, caption, f"{heading or title}. {_IN_WORDS[name]}", spec)


def _heading(title: Any) -> tuple[str, str]:
    """The title and the subtitle of a chart."""
    if isinstance(title, str):
        return text(title), ""
    below = title.get("subtitle", "")
    lines = [below] if isinstance(below, str) else below
    return text(title["text"] if isinstance(title["text"], str) else " ".join(title["text"])), ". ".join(
        map(text, lines)
    )


def _with_names(value: Any, names: Mapping[str, str]) -> Any:
    """A specification, or a part of it, in which data have other names."""
    if isinstance(value, list):
        return [_with_names(part, names) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"name"}:
        return {"name": names.get(value["name"], value["name"])}
    return {key: _with_names(part, names) for key, part in value.items()}


def _packed(rows: list[Mapping[str, Any]]) -> Spec:
    """Rows as columns; text as places in a list of texts."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns: dict[str, Any] = {}
    for key in keys:
        values = [row.get(key) for row in rows]
        if any(isinstance(value, str) for value in values):
            texts = list(dict.fromkeys(value for value in values if value is not None))
            places = {text: at for at, text in enumerate(texts)}
            columns[key] = {"texts": texts, "at": [None if value is None else places[value] for value in values]}
        else:
            columns[key] = [four_digits(value) if isinstance(value, float) else value for value in values]
    return {"n": len(rows), "columns": columns}
