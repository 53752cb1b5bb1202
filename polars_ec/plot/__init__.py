"""Charts: `ec.plot.roc(log, "score", "label")` and others return Altair charts. They require the extra `plot`.

Without Altair they raise a ModuleNotFoundError that says what to install. Notebooks display a chart. Save it with
`ec.plot.save(chart, "roc.svg")`, and modify it with Altair's methods.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polars_ec.plot.curves import (
        SketchPlots,
        bayes_error,
        bayes_risk,
        cost_curve,
        decision_curve,
        det,
        gains,
        murphy,
        pr,
        prg,
        reliability,
        roc,
        tippett,
    )
    from polars_ec.plot.files import save
    from polars_ec.plot.tables import compare, drift, forest, trend
else:
    _MODULES = {"save": "files", **dict.fromkeys(("compare", "drift", "forest", "trend"), "tables")}

    def __getattr__(name: str) -> Any:
        """Import the module of a chart when the chart is first used."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'curves')}"), name)
        return globals()[name]


__all__ = [
    "SketchPlots",
    "bayes_error",
    "bayes_risk",
    "compare",
    "cost_curve",
    "decision_curve",
    "det",
    "drift",
    "forest",
    "gains",
    "murphy",
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
