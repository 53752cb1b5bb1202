"""What questions have in common whose answers are tidy: a row for each group, model and metric, with a difference."""

from __future__ import annotations

from abc import ABC, abstractmethod

import polars as pl

from polars_ec.cli.gates import Names
from polars_ec.cli.options import counted_prior
from polars_ec.cli.request import Rows, Table
from polars_ec.cli.sql_report import by_polars


class Tidy(ABC):
    """A question about differences."""

    @abstractmethod
    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """The answer from rows."""

    def of_table(self, table: Table) -> pl.DataFrame:
        """No macro has differences."""
        return by_polars(table, self.of_rows)

    def check_counted(self, table: pl.DataFrame) -> None:
        """Metrics have values at the groups' own priors, and none at that one."""
        at_prior, own = pl.col("metric").str.ends_with("_at_prior"), (pl.col("metric") + "_at_prior")
        moved = table.filter(at_prior)
        known = table.filter(own.is_in(moved["metric"].implode()))
        if known["difference"].count() and not moved["difference"].count():
            counted_prior(None)

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        """Nothing has limits, which need both classes."""
        return table["difference_ci_low"].null_count() == table.height

    def notes(self, table: pl.DataFrame) -> list[str]:
        """Values that are missing need a reason: groups that are not small have rows of each class, so some must be wrong."""
        wrong = "a wrong score, label or weight? polars-ec report counts them (n_invalid)"
        lacks = pl.col("value").is_null() | (pl.col("value_reference").is_null() & pl.col("reference").is_not_null())
        if table.height and table.select(lacks.all()).item():
            return [f"no group has a difference: do rows have {wrong}. Are --score-type and --classes right?"]
        groups = table.columns[: table.columns.index("reference")]
        number = int(table.filter(~pl.col("small")).group_by(groups).agg(lacks=lacks.all())["lacks"].sum())
        if not number:
            return []
        these = "1 group that is not small has" if number == 1 else f"{number} groups that are not small have"
        return [f"{these} no difference: do rows have {wrong}"]

    def names(self, table: pl.DataFrame) -> Names:
        """What stands before the value."""
        keys = table.columns[: table.columns.index("value")]
        return Names(keys, if_several=("model", "metric"), beside=("reference",), small=True)
