"""The question of `polars-ec drift`: where the changes from one period to another come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from polars_ec import plot
from polars_ec.cli.references import period_of
from polars_ec.cli.request import Rows, Sketched
from polars_ec.cli.tidy_question import Tidy, from_sketch
from polars_ec.cli.windows import windows_of
from polars_ec.drifts import drift
from polars_ec.inputs import as_lazy

_NOTHING = "no group has a period beside the reference: there is nothing to take apart"


@dataclass(frozen=True)
class Drift(Tidy):
    """`layout` is what `polars_ec.drift` takes beside the options; `reference` is what the command line says of it, of periods of `every`."""

    every: str
    reference: str | None = None
    mix: Sequence[str] = ()
    window: int | None = None
    layout: Mapping[str, Any] = field(default_factory=dict)

    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """That of `polars_ec.drift`."""
        assert rows.period is not None
        ((column, dtype),) = as_lazy(rows.frame).select(rows.period).collect_schema().items()
        asked: dict[str, Any] = {
            "by": rows.by,
            "mix": self.mix,
            "cluster": rows.cluster,
            "reference": self._reference(column, dtype),
        }
        return drift(rows.frame, rows.scores, rows.label, period=rows.period, **asked, **self.layout, **rows.options)

    def of_sketch(self, sketched: Sketched) -> pl.DataFrame:
        """The same columns; clusters are those of the sketch."""
        sketch, period = sketched.sketch, sketched.period
        reference = self._reference(period, sketch.frame.schema[period])
        asked = {"reference": reference, "mix": tuple(self.mix)}
        if self.window is None:
            return from_sketch(sketched, self.layout, partial(sketch.drift, period=period, **asked))
        return from_sketch(sketched, self.layout, partial(windows_of(sketched, self.window).drift, **asked))

    def chart(self, table: pl.DataFrame) -> Any:
        """Its changes and their parts."""
        return plot.drift(self.of_first_metric(table))

    def notes(self, table: pl.DataFrame) -> list[str]:
        """A table without rows needs a reason too."""
        return super().notes(table) if table.height else [_NOTHING]

    def _reference(self, column: str, dtype: pl.DataType) -> Any:
        return None if self.reference is None else period_of(self.reference, column, dtype, self.every)
