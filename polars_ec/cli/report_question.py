"""The question of `polars-ec report`: the battery of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec.cli.gates import Names
from polars_ec.cli.html_page import Page
from polars_ec.cli.options import check_counted
from polars_ec.cli.request import Rows, Sketched, Table
from polars_ec.cli.sketch_report import sketch_report
from polars_ec.cli.sql_report import by_polars, sql_report
from polars_ec.page.verdict import of_report
from polars_ec.reports import report


@dataclass(frozen=True)
class Report:
    """`layout` is what `polars_ec.report` takes beside the options; `several` is whether there are several models.

    `window` is how many periods of sketches each row is of.
    """

    layout: Mapping[str, Any] = field(default_factory=dict)
    several: bool = False
    window: int | None = None
    page: Page | None = None

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
        """Which groups cost more than doing nothing."""
        return of_report(table, self.names(table).keys)

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
