"""After the pass: from the sums of the cells to a row for each group, period, model and metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors as cs

from polars_ec.comparing.choice import Reference
from polars_ec.comparing.joint_pass import sum_of_groups
from polars_ec.drifting.choice import columns_of, references
from polars_ec.formulas.sums import GROUP
from polars_ec.reporting.models import Model
from polars_ec.reporting.tables import Layout
from polars_ec.rows.read import join_groups

if TYPE_CHECKING:
    import numpy as np

    from polars_ec.comparing.tidy import Piece
    from polars_ec.drifting.changes import Changes

    Integers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Drift:
    """What is asked, checked: `by` and `mix` name columns of groups and of strata, `period` the column of periods."""

    by: tuple[str, ...]
    period: str
    mix: tuple[str, ...]
    factors: tuple[str, ...]
    models: tuple[Model, ...]
    names: tuple[str, ...]
    reference: Any
    layout: Layout
    level: float
    buckets: int | None
    min_rows: int | None

    @property
    def keys(self) -> list[str]:
        """Of a period of a group."""
        return [*self.by, self.period]


def drifted(cells: pl.DataFrame, drift: Drift) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    # Imported here, for it needs numpy.
    import numpy as np

    keys = drift.keys
    groups = cells.select(keys).unique().sort(keys).with_row_index(GROUP)
    numbered = join_groups(cells, groups, keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **columns_of(drift.factors)})
    sums = numbered.group_by(GROUP).agg(**sum_of_groups(cells, drift.models))
    groups = groups.join(sums, on=GROUP, how="left", maintain_order="left")
    groups = groups.with_columns((cs.integer() - cs.by_name(keys)).fill_null(0))
    against = references(drift.reference, groups, drift.by, drift.period)
    from polars_ec.comparing.tidy import tidy

    with np.errstate(all="ignore"):
        pieces = list(_pieces(numbered, groups, against, drift))
        # Of any value: which period is the reference of each the pieces say themselves.
        reference = Reference(key={drift.period: None})
        return tidy(pieces, groups, keys, reference, drift.min_rows, columns_of(drift.factors), [drift.period])


def _pieces(cells: pl.DataFrame, groups: pl.DataFrame, against: Integers, drift: Drift) -> Iterator[Piece]:
    """Those of each model and column of a metric, in the order of the result."""
    from polars_ec.comparing.cells import JointCells, Shape
    from polars_ec.comparing.groups import grouped
    from polars_ec.comparing.sizes import Sizes
    from polars_ec.comparing.tidy import Piece
    from polars_ec.comparing.values import Metrics, families, with_references
    from polars_ec.drifting.changes import StrataCells, changes_of, one_stratum

    costs = drift.models[0].rows.costs
    shape = Shape(groups.height, costs.n_classes, costs.n_decisions, drift.buckets)
    joint = JointCells(cells, shape)
    strata = StrataCells.of(cells, drift.mix, shape) if drift.mix else None
    for model in drift.models:
        table = with_references(model, drift.layout, joint.counts, groups)
        _check_priors(model, table, against, drift.keys)
        n = groups[f"{model.prefix}present"] - groups[f"{model.prefix}invalid"]
        missing = groups[f"{model.prefix}rows"] - groups[f"{model.prefix}present"]
        sizes = Sizes(n, missing, joint.counts, joint.counts2)
        of_reference = n.gather(pl.Series(against).clip(0)).zip_with(
            pl.Series(against) >= 0, pl.Series([None], dtype=n.dtype)
        )
        found: dict[str, Changes] = {}
        for family in families(drift.names, model.rows.row_costs is not None):
            metrics = Metrics(model, family, drift.layout)
            of_periods = grouped(joint, table, metrics)
            taken_apart = (
                one_stratum(of_periods, metrics, table) if strata is None else strata.of_metrics(metrics, table)
            )
            found |= changes_of(of_periods, taken_apart, against, drift.factors, drift.level)
        names = drift.names
        for column in sorted(found, key=lambda c: (names.index(c.removesuffix("_at_prior")), c not in names)):
            more: dict[str, Any] = {**found[column].parts, "n_reference": of_reference}
            yield Piece(model.name, column, found[column].differences, sizes, more)


def _check_priors(model: Model, groups: pl.DataFrame, against: Integers, keys: list[str]) -> None:
    """ValueError where a prior that rows state is not that of the reference: a change at two priors is not one of the rows."""
    if model.rows.options.prior.expression is None:
        return
    pairs = groups.with_row_index("__ec_place").filter(pl.Series(against) >= 0)
    others = groups[against[against >= 0]]
    for name in groups.select(cs.starts_with(f"{model.prefix}reference")).columns:
        differ = (pairs[name] != others[name]).fill_null(False)
        if differ.any():
            at = differ.arg_max()
            assert at is not None
            period, reference = (", ".join(str(value) for value in of.select(keys).row(at)) for of in (pairs, others))
            raise ValueError(
                f"prior= differs between {period} and {reference}, and the parts of a change are at one prior: state one, or one for each "
                "group of by="
            )
