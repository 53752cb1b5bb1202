"""The question of `polars-ec compare`: the differences of models, or of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec.cells.cells import SCORE
from polars_ec.cli.errors import UsageError
from polars_ec.cli.references import reference_of
from polars_ec.cli.request import Rows, Sketched
from polars_ec.cli.sketch_columns import Point
from polars_ec.cli.tidy_question import Tidy
from polars_ec.comparing.choice import comparable
from polars_ec.comparisons import compare
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.moved_by_prior import is_moved_by_prior
from polars_ec.sketches import Sketch

_ORDER = "__ec_order"
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
            **point.keywords,
        }
        names = _metrics(sketch, point, self.layout.get("metrics"))
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


def _metrics(sketch: Sketch, point: Point, named: Sequence[str] | None) -> list[str]:
    """Those that are named, or the usual ones."""
    losses = [*SCORING_RULES] if sketch.grid.score_type == "llr" else []
    names = comparable(named)
    if names is None:
        return [*(name for name in point.usual if name not in losses), *_RANKING]
    lost = next((name for name in names if name in losses), None)
    if lost is not None:
        raise UsageError(
            f"--metrics {lost} of LLRs is known within bounds only: compare the rows, or sketch posteriors"
        )
    return list(names)
