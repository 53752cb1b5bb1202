"""The question of `polars-ec report`: the battery of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec import plot
from polars_ec.cells.cells import SCORE
from polars_ec.cli.gates import Names
from polars_ec.cli.html_page import Page
from polars_ec.cli.options import check_counted
from polars_ec.cli.periods import PERIOD_NAMES
from polars_ec.cli.request import Rows, Sketched, Table
from polars_ec.cli.sketch_report import sketch_report
from polars_ec.cli.sql_report import by_polars, sql_report
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.page.verdict import of_report
from polars_ec.reporting.choice import METRICS
from polars_ec.reports import report


@dataclass(frozen=True)
class Report:
    """`layout` is what `polars_ec.report` takes beside the options; `several` is whether there are several models.

    `window` is how many periods of sketches each row is of; `page` is what is made beside the table; `by` are the columns of segments, and `every` is the period, if there are some.
    """

    layout: Mapping[str, Any] = field(default_factory=dict)
    several: bool = False
    window: int | None = None
    page: Page | None = None
    by: Sequence[str] = ()
    every: str | None = None

    @property
    def mix(self) -> Sequence[str]:
        """A report has no strata."""
        return ()

    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """That of `polars_ec.report`."""
        # Without limits clusters are of the page alone.
        cluster = rows.cluster if "interval" in self.layout else None
        return report(rows.frame, rows.scores, rows.label, by=rows.keys, cluster=cluster, **self.layout, **rows.options)

    def of_table(self, table: Table) -> pl.DataFrame:
        """By the macros, where they can."""
        if "interval" in self.layout:
            return by_polars(table, self.of_rows)
        request = table.request
        return sql_report(
            table.connection,
            table.relation,
            request.scores,
            request.label,
            by=request.by,
            periods=table.periods,
            layout=self.layout,
            options=table.options,
            gates=request.gates,
        )

    def of_sketch(self, sketched: Sketched) -> pl.DataFrame:
        """The same columns, and bounds where the sketch knows no more."""
        return sketch_report(sketched, self.layout, self.window)

    def check_counted(self, table: pl.DataFrame) -> None:
        """Of no model the shares could be counted."""
        check_counted(self._of_groups(table), several=self.several)

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        """No group has any."""
        return bool((self._of_groups(table)["class_prior"].fill_null(0) == 0).all())

    def notes(self, table: pl.DataFrame) -> list[str]:
        """Metrics that are empty need a reason where the table is not all that is looked at."""
        n_invalid = int(self._of_groups(table)["n_invalid"].sum())
        if not n_invalid:
            return []
        rows = "1 row has" if n_invalid == 1 else f"{n_invalid} rows have"
        if self.window is not None:
            # A row counts in several.
            rows = "some rows have"
        return [
            f"{rows} a wrong score, label or weight (n_invalid), and their groups no metrics: are --score-type and --classes right?"
        ]

    def verdict(self, table: pl.DataFrame) -> list[str]:
        """Which groups cost more than treating all cases alike; nothing of several models or classes, whose rows are no groups."""
        metric = next((name for name in table.columns if _is_metric(table, name)), None)
        if metric is None or self.layout.get("per_class") or SCORE in self.names(table).keys:
            return []
        period = self._period(table)
        keys = [name for name in self.names(table).keys if name != period]
        return [sentence.text for sentence in of_report(table, keys, period, metric, self.layout.get("interval"))]

    def chart(self, table: pl.DataFrame) -> Any:
        """Over time if there are periods, beside the value at the reference prior; else a row per group."""
        metric = next((name for name in table.columns if _is_metric(table, name)), None)
        if metric is None:
            raise ValueError("the report has no metric that is one number: ask for one, such as --metrics nec")
        period = self._period(table)
        if period is None:
            return plot.forest(table, metric)
        metrics = [name for name in (metric, f"{metric}{AT_PRIOR}") if name in table.columns]
        facets = [name for name in self.names(table).keys if name in self.by and name != period]
        return plot.trend(table, metrics, x=period, facet=facets or None)

    def _period(self, table: pl.DataFrame) -> str | None:
        """The column of periods, which `--by` may have named."""
        if self.every is None:
            return None
        times = [name for name in self.names(table).keys if table.schema[name].is_temporal()]
        not_named = [name for name in times if name not in self.by]
        return [*not_named, *(name for name in times if name == PERIOD_NAMES.get(self.every)), *times][0]

    def names(self, table: pl.DataFrame) -> Names:
        """What stands before the number of rows."""
        keys = table.columns[: table.columns.index("n")]
        return Names(
            keys, small=bool({"min_rows", "interval"} & set(self.layout)), total=bool(self.layout.get("total"))
        )

    def _of_groups(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows that are of its groups, each once: without the total, and of several classes the last one's."""
        rows = table.filter(~pl.col("total")) if self.layout.get("total") else table
        return rows.filter(pl.col("class") == pl.col("class").last()) if self.layout.get("per_class") else rows


def _is_metric(table: pl.DataFrame, column: str) -> bool:
    return column in METRICS and table.schema[column].is_numeric()
