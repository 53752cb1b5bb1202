"""The result of a comparison: a row for each group, model and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl
from polars import selectors as cs

from polars_ec.comparisons.joint_pass import sum_of_groups
from polars_ec.comparisons.validation import RATIO, Reference, reference_groups, shown
from polars_ec.formulas.decisions import AT_PRIOR, directions
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import FEW_OF_A_CLASS, effective_rows, exclusive
from polars_ec.inference.estimator import Against, Differences, adjusted
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np
from polars_ec.reports.models import Model
from polars_ec.scores.read import check_names, join_groups


@dataclass(frozen=True)
class Sizes:
    """Sizes of the groups of a model: the rows that are used, those that lack something, and the sums of w and of w^2, (groups, classes)."""

    n: pl.Series
    n_missing: pl.Series
    weight: Floats
    weight2: Floats

    @classmethod
    def of(cls, model: Model, groups: pl.DataFrame, weight: Floats, weight2: Floats) -> Sizes:
        """Sizes of a model, of which `groups` have the numbers of rows."""
        rows, present, invalid = (groups[f"{model.prefix}{name}"] for name in ("rows", "present", "invalid"))
        return cls(present - invalid, rows - present, weight, weight2)

    @classmethod
    def joined(cls, some: Sequence[Sizes]) -> Sizes:
        """Join the sizes of groups that follow each other."""
        counts = (pl.concat([getattr(of, name) for of in some]) for name in ("n", "n_missing"))
        return cls(*counts, *(np.concatenate([getattr(of, name) for of in some]) for name in ("weight", "weight2")))

    def small(self, reference: Reference, groups: Integers | None, min_rows: int | None) -> Bools:
        """Groups of fewer rows than `min_rows`, or with few of a class, or whose reference, the group of this number, has few."""
        few = _few(self.weight, self.weight2)
        small = few | (self.n.to_numpy() < (min_rows or 0))
        if reference.others == "rest":
            small |= _few(exclusive(self.weight), exclusive(self.weight2))
        elif reference.others == "total":
            small |= _few(*(of.sum(axis=0, keepdims=True) for of in (self.weight, self.weight2)))
        elif groups is not None:
            small |= np.where(groups >= 0, few[np.maximum(groups, 0)], False)
        return small


def of_numbers(values: pl.Series, groups: Integers) -> pl.Series:
    """The values of the groups of these numbers; null for -1."""
    number = pl.Series(groups)
    return values.gather(number.clip(0)).zip_with(number >= 0, pl.Series([None], dtype=values.dtype))


def _few(weight: Floats, weight2: Floats) -> Bools:
    """Whether a class has a small effective sample size."""
    return ~np.asarray(effective_rows(weight, weight2).min(axis=-1) >= FEW_OF_A_CLASS)


# The result of a comparison: a row for each group, model and metric.


@dataclass(frozen=True)
class ResultRow:
    """A metric of a model, with its differences in all groups and their sizes."""

    model: str | None
    column: str
    differences: Differences
    sizes: Sizes
    more: Mapping[str, Numbers | pl.Series] = field(default_factory=dict)
    """Further columns."""


def in_order(columns: Iterable[str], names: Sequence[str]) -> list[str]:
    """The columns of metrics as the result has them: each metric at the groups' own priors, then at the stated one."""
    return sorted(columns, key=lambda column: (names.index(column.removesuffix(AT_PRIOR)), column not in names))


def against_of(reference: Reference, groups: pl.DataFrame, keys: Sequence[str]) -> Against:
    """The reference of each group."""
    if reference.key is not None:
        return reference_groups(reference.key, groups, keys).to_numpy()
    if groups.height == 1:
        raise ValueError(f"reference={reference.others!r} compares groups, but there is only one")
    return reference.others  # type: ignore[return-value]


def result_table(
    rows: Iterable[ResultRow],
    groups: pl.DataFrame,
    keys: Sequence[str],
    reference: Reference,
    min_rows: int | None,
    columns: Mapping[str, pl.DataType] | None = None,
    named_by: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The rows of each group, one below the other; `groups` has the keys and GROUP, from 0 on. A reference group goes by the keys `named_by`."""
    schema = {**groups.select(keys).schema, **(reference.columns if columns is None else columns)}
    values = [shown(groups[key]) for key in (keys if named_by is None else named_by)] or [pl.Series([""])]
    labels = groups.select(label=pl.concat_str(values, separator=", ")).to_series()
    tables = [
        _table(row, groups.select(*keys, GROUP), labels, reference, min_rows).with_columns(__ec_order=pl.lit(number))
        for number, row in enumerate(rows)
    ]
    if not tables:
        return pl.DataFrame(schema=schema)
    return pl.concat(tables).sort(GROUP, "__ec_order").select(*schema)


def _table(
    row: ResultRow, groups: pl.DataFrame, labels: pl.Series, reference: Reference, min_rows: int | None
) -> pl.DataFrame:
    of = row.differences
    against = pl.lit(reference.model or reference.others, dtype=pl.String)
    is_itself = np.zeros(groups.height, dtype=bool)
    if of.reference is not None:
        against = pl.lit(of_numbers(labels, of.reference))
        if reference.key is not None:
            is_itself = of.reference == np.arange(groups.height)
    numbers = {
        "value": of.value,
        "value_reference": of.value_reference,
        "difference": of.difference,
        "difference_ci_low": of.low,
        "difference_ci_high": of.high,
        "p_value": of.p,
        "p_adjusted": adjusted(np.where(is_itself, np.nan, of.p)) if of.p_adjusted is None else of.p_adjusted,
    }
    if of.ratio_low is not None and of.ratio_high is not None:
        numbers |= dict(zip(RATIO, (of.ratio, of.ratio_low, of.ratio_high), strict=True))
    table = groups.with_columns(
        pl.lit(row.model, dtype=pl.String).alias("model"),
        against.alias("reference"),
        pl.lit(row.column).alias("metric"),
        **{name: pl.Series(values, nan_to_null=True) for name, values in numbers.items()},
        **{name: pl.Series(values, nan_to_null=True) for name, values in row.more.items()},
        small=pl.Series(row.sizes.small(reference, of.reference, min_rows)),
        n=row.sizes.n,
        n_missing=row.sizes.n_missing,
    )
    return table.filter(pl.Series(~is_itself))


def with_numbers(cells: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups, sorted, and the cells, each with the number of its group."""
    if not keys:
        number = pl.lit(0, dtype=pl.get_index_type()).alias(GROUP)
        return pl.select(number), cells.with_columns(number)
    groups = cells.select(keys).unique().sort(keys).with_row_index(GROUP)
    return groups, join_groups(cells, groups, keys)


def with_sums(groups: pl.DataFrame, cells: pl.DataFrame, models: Sequence[Model]) -> pl.DataFrame:
    """The groups with how many rows they have, of each model; 0 where no cell is theirs."""
    sums = cells.lazy().group_by(GROUP).agg(**sum_of_groups(cells, models)).collect(engine="streaming")
    joined = groups.join(sums, on=GROUP, how="left", maintain_order="left")
    return joined.with_columns((cs.integer() - cs.by_name(groups.columns)).fill_null(0))


# Whether a difference is significantly smaller than a margin.

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

_NOT_WORSE, _EQUIVALENT = "not_worse", "equivalent"


def with_verdicts(table: FrameT, margin: float | None) -> FrameT:
    """The comparison with `not_worse` and `equivalent` after the p-values; as it is without a margin."""
    if margin is None:
        return table
    names = table.collect_schema().names()
    check_names(map(pl.col, names), (_NOT_WORSE, _EQUIVALENT), "the comparison")
    better = directions(pl.col("metric"))
    is_below, is_above = pl.col("difference_ci_high") < margin, pl.col("difference_ci_low") > -margin
    verdicts = {
        _NOT_WORSE: pl.when(better == "lower").then(is_below).when(better == "higher").then(is_above),
        _EQUIVALENT: is_below & is_above,
    }
    place = names.index("p_adjusted") + 1
    return table.with_columns(**verdicts).select(*names[:place], *verdicts, *names[place:])
