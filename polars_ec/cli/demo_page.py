"""What the demo shows: the report page, and precision by month as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from polars_ec.cli.demo_findings import BUCKETS, COST_FN, COST_FP, LEVEL
from polars_ec.pages import report_page
from polars_ec.plot import trend
from polars_ec.plotting.save import save
from polars_ec.reports import report

if TYPE_CHECKING:
    from polars_ec.plot import Chart

_PICTURES = ("precision.svg", "precision.png")


def precision_chart(frame: pl.LazyFrame, month: pl.Expr, prior: float) -> Chart:
    """Precision by month, as it is and at a prior that all months have in common: with limits, days as clusters."""
    months = report(
        frame,
        "score",
        "late",
        by=month,
        metrics=["precision"],
        prior=prior,
        interval=LEVEL,
        cluster="date",
        buckets=BUCKETS,
        cost_fn=COST_FN,
        cost_fp=COST_FP,
    ).collect(engine="streaming")
    return trend(months, ["precision", "precision_at_prior"], x="time")


def show(frame: pl.LazyFrame, month: pl.Expr, prior: float, out: Path) -> list[Path]:
    """Write the page and the picture, and say where they are."""
    page = report_page(
        out / "report.html",
        frame,
        "score",
        "late",
        by="carrier",
        period=month,
        prior=prior,
        interval=LEVEL,
        cluster="date",
        buckets=BUCKETS,
        cost_fn=COST_FN,
        cost_fp=COST_FP,
        title="Late flights from New York, 2013",
    )
    chart = precision_chart(frame, month, prior)
    pictures = [out / name for name in _PICTURES]
    for file in pictures:
        save(chart, file)
    return [page, *pictures]
