"""The question of `polars-ec compare`: the differences of models, or of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec.cells.cells import SCORE
from polars_ec.cli.gates import Names
from polars_ec.cli.options import counted_prior
from polars_ec.cli.references import reference_of
from polars_ec.cli.request import Rows, Sketched, Table
from polars_ec.cli.sketch_columns import Point
from polars_ec.cli.sql_report import by_polars
from polars_ec.comparing.choice import comparable
from polars_ec.comparisons import compare
from polars_ec.formulas.moved_by_prior import is_moved_by_prior

_ORDER = "__ec_order"


@dataclass(frozen=True)
class Compare:
    """`layout` is what `polars_ec.compare` takes beside the options, and `reference` what the command line says of it."""

    layout: Mapping[str, Any] = field(default_factory=dict)
    reference: Sequence[str] = ()

    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """That of `polars_ec.compare`."""
        reference = reference_of(self.reference, rows.scores, rows.key_dtypes())
        asked = {"by": rows.keys, "cluster": rows.cluster, "reference": reference, **self.layout, **rows.options}
        return compare(rows.frame, rows.scores, rows.label, **asked)

    def of_table(self, table: Table) -> pl.DataFrame:
        """No macro has differences."""
        return by_polars(table, self.of_rows)

    def of_sketch(self, sketched: Sketched) -> pl.DataFrame:
        """The same columns; clusters are those of the sketch."""
        sketch, point = sketched.sketch, Point.of(sketched.sketch, sketched.options)
        made_with = sketched.made_with["--score"]
        models = [made_with] if isinstance(made_with, str) else list(made_with)
        keys = [key for key in sketch.keys if key != SCORE]
        reference = reference_of(self.reference, models, {key: sketch.frame.schema[key] for key in keys})
        prior = sketched.options.get("prior")
        keywords = {
            "reference": models[0] if reference is None and len(models) > 1 else reference,
            **{name: value for name, value in self.layout.items() if name in ("interval", "min_rows")},
            **({} if point.threshold is None else {"threshold": point.threshold}),
            **point.stated,
        }
        names = comparable(self.layout.get("metrics")) or (*point.usual, "auc_roc")
        moved = [name for name in names if is_moved_by_prior(name)] if prior is not None else []
        place = pl.col("metric").replace_strict(names, range(len(names))).alias(_ORDER)
        tables = [sketch.compare(*names, **keywords).with_columns(place)]
        if moved:
            # Beside those at the groups' own prior.
            at_prior = sketch.compare(*moved, **keywords, prior=prior)
            tables.append(at_prior.with_columns(place, pl.col("metric") + "_at_prior"))
        model = pl.col("model").fill_null(models[0])
        order: list[str | pl.Expr] = [model.replace_strict(models, range(len(models))), _ORDER]
        return pl.concat(tables).sort(*keys, *order, maintain_order=True).with_columns(model).drop(_ORDER)

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
