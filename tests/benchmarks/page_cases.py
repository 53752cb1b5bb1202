"""The report page, from the rows of a log."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.case import COST_FN, PRIOR, Query

if TYPE_CHECKING:
    import polars as pl


def page(paths: list[str], clustered: bool = False) -> Query:
    """That of all segments and months."""
    import polars as pl

    from polars_ec import report_page

    cluster = pl.col("ts").dt.date() if clustered else None

    def query() -> pl.DataFrame:
        with tempfile.TemporaryDirectory() as folder:
            month = pl.col("ts").dt.truncate("1mo").alias("month")
            asked = {"by": "segment", "period": month, "cluster": cluster, "cost_fn": COST_FN, "prior": PRIOR}
            file = report_page(Path(folder) / "page.html", pl.scan_parquet(paths), "score", "label", **asked)
            return pl.DataFrame({f"page_bytes_{clustered}": [file.stat().st_size]})

    return query
