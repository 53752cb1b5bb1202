"""What questions have in common whose answers are tidy: a row for each group, model and metric, with a difference."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_ec.cli.errors import UsageError
from polars_ec.cli.gates import Names
from polars_ec.cli.html_page import Page
from polars_ec.cli.options import counted_prior
from polars_ec.cli.request import Rows, Sketched, Table
from polars_ec.cli.sql_report import by_polars
from polars_ec.comparing.choice import comparable
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.moved_by_prior import is_moved_by_prior
from polars_ec.reporting.of_cells import Point
from polars_ec.sketches import Sketch

_ORDER = "__ec_order"


class Tidy(ABC):
    """A question about differences."""

    mix: Sequence[str] = ()
    window: int | None = None
    page: Page | None = None

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
            if table["n"].sum():
                few = "each, or what it is compared with, has too few rows of a class, or wrong ones"
                return [f"no group has a difference: {few}; polars-ec report counts both (n, n_invalid)"]
            return [f"no group has a difference: do rows have {wrong}. Are --score-type and --classes right?"]
        groups = table.columns[: table.columns.index("reference")]
        notes = []
        # They have no row that counts, and so they are small.
        all_wrong = table.filter(n=0, n_missing=0).select(groups).n_unique() if table.height else 0
        if all_wrong:
            some = "1 group has" if all_wrong == 1 else f"{all_wrong} groups have"
            notes.append(f"{some} nothing but wrong rows: polars-ec report counts them (n_invalid)")
        number = int(table.filter(~pl.col("small")).group_by(groups).agg(lacks=lacks.all())["lacks"].sum())
        if not number:
            return notes
        these = "1 group that is not small has" if number == 1 else f"{number} groups that are not small have"
        return [*notes, f"{these} no difference: do rows have {wrong}"]

    def verdict(self, _table: pl.DataFrame) -> list[str]:
        """Its rows are what it says."""
        return []

    def of_first_metric(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows that a chart is of."""
        return table.filter(pl.col("metric") == pl.col("metric").first())

    def names(self, table: pl.DataFrame) -> Names:
        """What stands before the value."""
        keys = table.columns[: table.columns.index("value")]
        return Names(keys, if_several=("model", "metric"), beside=("reference",), small=True)


def models_of(made_with: Mapping[str, Any]) -> list[str]:
    """The models of a folder of sketches, in their order."""
    scores = made_with["--score"]
    return [scores] if isinstance(scores, str) else list(scores)


def from_sketch(
    sketched: Sketched, layout: Mapping[str, Any], ask: Callable[..., pl.DataFrame], further: Sequence[str] = ()
) -> pl.DataFrame:
    """What a method of a sketch answers, with the metrics that `--prior` moves once more at it, as from rows.

    `ask` takes the names of metrics and the keywords of the operating point and of `layout`; `further` are usual beside the battery.
    """
    sketch, point = sketched.sketch, Point.of(sketched.sketch, sketched.options)
    prior, models = sketched.options.get("prior"), models_of(sketched.made_with)
    keywords = {
        **{name: value for name, value in layout.items() if name in ("interval", "min_rows")},
        **point.keywords,
    }
    names = _metrics(sketch, point, layout.get("metrics"), further)
    moved = [name for name in names if is_moved_by_prior(name)] if prior is not None else []
    place = pl.col("metric").replace_strict(names, range(len(names)), return_dtype=pl.Int64).alias(_ORDER)
    tables = [ask(*names, **keywords).with_columns(place)]
    if moved:
        # Beside those at the groups' own prior.
        at_prior = ask(*moved, **keywords, prior=prior)
        tables.append(at_prior.with_columns(place, pl.col("metric") + "_at_prior"))
    keys = tables[0].columns[: tables[0].columns.index("model")]
    model = pl.col("model").fill_null(models[0])
    order: list[str | pl.Expr] = [model.replace_strict(models, range(len(models)), return_dtype=pl.Int64), _ORDER]
    return pl.concat(tables).sort(*keys, *order, maintain_order=True).with_columns(model).drop(_ORDER)


def _metrics(sketch: Sketch, point: Point, named: Sequence[str] | None, further: Sequence[str]) -> list[str]:
    """Those that are named, or the usual ones."""
    losses = [*SCORING_RULES] if sketch.grid.score_type == "llr" else []
    names = comparable(named)
    if names is None:
        return [*(name for name in point.usual if name not in losses), *further]
    lost = next((name for name in names if name in losses), None)
    if lost is not None:
        raise UsageError(f"--metrics {lost} of LLRs is known within bounds only: ask the rows, or sketch posteriors")
    return list(names)
