"""Charts: `ec.plot.roc(sketch)` and its like, each an Altair chart. They need the extra `plot`.

A chart is shown by a notebook, saved by `ec.plot.save(chart, "roc.svg")`, and changed by Altair's own means.
"""

from polars_ec.plot.curves import (
    bayes_error,
    bayes_risk,
    cost_curve,
    det,
    pr,
    prg,
    reliability,
    roc,
    tippett,
)
from polars_ec.plot.files import save
from polars_ec.plot.of_sketch import SketchPlots
from polars_ec.plot.tables import compare, drift, forest, trend

__all__ = [
    "SketchPlots",
    "bayes_error",
    "bayes_risk",
    "compare",
    "cost_curve",
    "det",
    "drift",
    "forest",
    "pr",
    "prg",
    "reliability",
    "roc",
    "save",
    "tippett",
    "trend",
]


def __dir__() -> list[str]:
    """The charts, for completion: not the modules."""
    return sorted(__all__)
