"""Logs, sketches and charts for the tests of charts, and what is drawn in a chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec


def simulated(n: int, n_groups: int = 1) -> pl.DataFrame:
    """Posteriors, LLRs and labels, in groups that are the smaller the later they come, and some of them worse."""
    random = np.random.default_rng(n)
    group = random.zipf(1.4, n) % n_groups
    label = random.random(n) < 0.3
    llr = random.normal(size=n) + np.where(label, 1.2, -0.8) * np.where(group % 5 == 3, -0.5, 1)
    posterior = 1 / (1 + np.exp(-llr + 0.8))
    return pl.DataFrame({"p": posterior, "llr": llr, "y": label.astype(int), "g": group})


LOG, GROUPS = simulated(600), simulated(8000, 200)
PRIORS = [x / 2 for x in range(-10, 11)]
EXACT = LOG.ec.sketch("p", "y", cost_fn=3, exact=True)
LLRS = LOG.ec.sketch("llr", "y", score_type="llr", thresholds=PRIORS)


def rows_of(chart, mark: str, *, dashed: bool = False) -> pl.DataFrame:
    """The data of the layers with such a mark that tell groups apart, or have a tooltip."""
    for spec, data in layers(chart.to_dict()):
        drawn = spec["mark"]
        if drawn["type"] == mark and "group" in data[0] and (drawn.get("strokeDash", [1, 0]) != [1, 0]) is dashed:
            return pl.DataFrame(data, infer_schema_length=None)
    raise AssertionError(f"no {mark} with data")


def layers(spec: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each layer that has data, with them."""

    def walk(part: dict[str, Any], name: str | None) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        name = part.get("data", {}).get("name", name)
        for inner in [
            *part.get("layer", []),
            *part.get("vconcat", []),
            *part.get("hconcat", []),
            *part.get("concat", []),
        ]:
            yield from walk(inner, name)
        if "mark" in part and spec["datasets"][name]:
            yield part, spec["datasets"][name]

    yield from walk(spec, None)


def plot(name: str, sketch: ec.Sketch = EXACT, *args, **keywords):
    return getattr(ec.plot, name)(sketch, *args, **keywords)
