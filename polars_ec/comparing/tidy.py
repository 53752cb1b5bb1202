"""The result of a comparison: a row for each group, model and metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.choice import COLUMNS, Reference, reference_groups
from polars_ec.comparing.differences import Differences, adjusted
from polars_ec.comparing.groups import Against
from polars_ec.comparing.sizes import Sizes
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.formulas.sums import GROUP


@dataclass(frozen=True)
class Piece:
    """A metric of a model, in all groups, with their rows."""

    model: str | None
    column: str
    differences: Differences
    sizes: Sizes
    more: Mapping[str, NDArray[Any] | pl.Series] = field(default_factory=dict)
    """Further columns."""


def in_order(columns: Iterable[str], names: Sequence[str]) -> list[str]:
    """The columns of metrics as the result has them: each metric at the groups' own priors, then at the stated one."""
    return sorted(columns, key=lambda column: (names.index(column.removesuffix(AT_PRIOR)), column not in names))


def against_of(reference: Reference, groups: pl.DataFrame, keys: Sequence[str]) -> Against:
    """What each group is compared with."""
    if reference.key is not None:
        return reference_groups(reference.key, groups, keys).to_numpy()
    if groups.height == 1:
        raise ValueError(f"reference={reference.others!r} compares groups, and there is one")
    others: Literal["rest", "total", "best"] = reference.others  # type: ignore[assignment]
    return others


def tidy(
    pieces: Iterable[Piece],
    groups: pl.DataFrame,
    keys: Sequence[str],
    reference: Reference,
    min_rows: int | None,
    columns: Mapping[str, pl.DataType] = COLUMNS,
    named_by: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The pieces of each group, one below the other; `groups` has the keys and GROUP, from 0 on.

    A reference that is a group is named by its keys, or by those in `named_by`.
    """
    schema = {**groups.select(keys).schema, **columns}
    shown = [_shown(groups[key]) for key in (keys if named_by is None else named_by)] or [pl.Series([""])]
    labels = groups.select(label=pl.concat_str(shown, separator=", ")).to_series()
    tables = [
        _table(piece, groups.select(*keys, GROUP), labels, reference, min_rows).with_columns(__ec_order=pl.lit(number))
        for number, piece in enumerate(pieces)
    ]
    if not tables:
        return pl.DataFrame(schema=schema)
    return pl.concat(tables).sort(GROUP, "__ec_order").select(*schema)


def _shown(column: pl.Series) -> pl.Series:
    """The values of a group column as text, times without fractions that are 0."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return pl.Series(column.name, ["null" if value is None else str(value) for value in column.to_list()])
    if not column.dtype.is_temporal():
        return column.cast(pl.String).fill_null("null")
    text = column.dt.to_string() if column.dtype == pl.Duration else column.cast(pl.String)
    return text.str.replace(r"\.0+($|\D)", "$1").fill_null("null")


def _table(
    piece: Piece, groups: pl.DataFrame, labels: pl.Series, reference: Reference, min_rows: int | None
) -> pl.DataFrame:
    of = piece.differences
    against = pl.lit(reference.model or reference.others, dtype=pl.String)
    is_itself = np.zeros(groups.height, dtype=bool)
    if of.reference is not None:
        number = pl.Series(of.reference)
        label = labels.gather(number.clip(0)).zip_with(number >= 0, pl.Series([None], dtype=pl.String))
        against = pl.lit(label)
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
    table = groups.with_columns(
        pl.lit(piece.model, dtype=pl.String).alias("model"),
        against.alias("reference"),
        pl.lit(piece.column).alias("metric"),
        **{name: pl.Series(values, nan_to_null=True) for name, values in numbers.items()},
        **{name: pl.Series(values, nan_to_null=True) for name, values in piece.more.items()},
        small=pl.Series(piece.sizes.small(reference, of.reference, min_rows)),
        n=piece.sizes.n,
        n_missing=piece.sizes.n_missing,
    )
    return table.filter(pl.Series(~is_itself))
