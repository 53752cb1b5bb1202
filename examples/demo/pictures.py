"""The report page, and a picture of precision by month."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

import polars_ec as ec
from examples.demo.findings import BUCKETS, COST_FN, COST_FP, LEVEL

_LAYOUT: dict[str, Any] = {
    "interval": LEVEL,
    "cluster": "date",
    "buckets": BUCKETS,
    "cost_fn": COST_FN,
    "cost_fp": COST_FP,
}


def write_page(frame: pl.LazyFrame, month: pl.Expr, prior: float, out: Path) -> list[Path]:
    """The page of carriers and months; flights of a day share its weather."""
    title = "Late flights from New York, 2013"
    file = out / "report.html"
    return [
        ec.report_page(file, frame, "score", "late", by="carrier", period=month, prior=prior, title=title, **_LAYOUT)
    ]


def write_pictures(frame: pl.LazyFrame, month: pl.Expr, prior: float, out: Path) -> list[Path]:
    """Precision by month, as SVG and PNG."""
    chart = precision_chart(frame, month, prior)
    return [ec.plot.save(chart, out / name) for name in ("precision.svg", "precision.png")]


def precision_chart(frame: pl.LazyFrame, month: pl.Expr, prior: float) -> Any:
    """Precision by month, at each month's base rate and at the reference prior, with confidence intervals."""
    import altair as alt

    months = ec.report(frame, "score", "late", by=month.alias("month"), metrics=["precision"], prior=prior, **_LAYOUT)
    chart = ec.plot.trend(months.lazy().collect(engine="streaming"), ["precision", "precision_at_prior"], x="month")
    said = [
        f"If every month had the base rate {prior:.0%}, only the model's own change would be left.",
        f"Bands: {LEVEL:.0%} confidence intervals of each month, days as clusters.",
    ]
    return chart.properties(title=alt.Title("Precision by month", subtitle=said, anchor="start"))
