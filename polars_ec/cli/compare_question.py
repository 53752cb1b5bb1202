"""The question of `polars-ec compare`: the differences of models, or of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from polars_ec import plot
from polars_ec.cells.cells import SCORE
from polars_ec.cli.references import reference_of
from polars_ec.cli.request import Rows, Sketched
from polars_ec.cli.tidy_question import Tidy, from_sketch, models_of
from polars_ec.comparisons import compare

_RANKING = ("auc_roc",)


@dataclass(frozen=True)
class Compare(Tidy):
    """`layout` is what `polars_ec.compare` takes beside the options, and `reference` what the command line says of it."""

    layout: Mapping[str, Any] = field(default_factory=dict)
    reference: Sequence[str] = ()

    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """That of `polars_ec.compare`."""
        reference = reference_of(self.reference, rows.scores, rows.key_dtypes())
        asked = {"by": rows.keys, "cluster": rows.cluster, "reference": reference, **self.layout, **rows.options}
        return compare(rows.frame, rows.scores, rows.label, **asked)

    def chart(self, table: pl.DataFrame) -> Any:
        """Its differences."""
        return plot.compare(self.of_first_metric(table))

    def of_sketch(self, sketched: Sketched) -> pl.DataFrame:
        """The same columns; clusters are those of the sketch."""
        sketch, models = sketched.sketch, models_of(sketched.made_with)
        keys = {key: sketch.frame.schema[key] for key in sketch.keys if key != SCORE}
        reference = reference_of(self.reference, models, keys)
        against = models[0] if reference is None and len(models) > 1 else reference
        return from_sketch(sketched, self.layout, partial(sketch.compare, reference=against), _RANKING)
