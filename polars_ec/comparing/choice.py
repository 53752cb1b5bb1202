"""What a comparison is of: the metrics that have a difference with limits, and what each is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_ec.arguments import did_you_mean
from polars_ec.formulas.decisions import CELLS, OF_CLASSES
from polars_ec.formulas.sums import GROUP
from polars_ec.priors import CheckedPrior
from polars_ec.reporting.choice import CONFUSION, named_metrics
from polars_ec.rows.read import join_groups

OTHERS = ("rest", "total", "best")
"""What a group may be compared with beside one of them."""

FEWEST_BUCKETS = 100
"""Of fewer buckets the t distribution has so long tails that no p-value of many groups is small."""

COLUMNS: Mapping[str, pl.DataType] = {
    "model": pl.String(),
    "reference": pl.String(),
    "metric": pl.String(),
    **dict.fromkeys(
        ("value", "value_reference", "difference", "difference_ci_low", "difference_ci_high", "p_value", "p_adjusted"),
        pl.Float64(),
    ),
    "small": pl.Boolean(),
    "n": pl.Int64(),
    "n_missing": pl.Int64(),
}
"""What a comparison has beside the columns of groups."""

_SHOWN = 10
_MODELS = "several models, the first of which is the reference or the one that reference= names"
_GROUPS = "reference='rest', 'total', 'best' or the key of a group"


@dataclass(frozen=True)
class Reference:
    """What is compared with: a model; or, of groups, one of `OTHERS`; or the group with these values of group columns."""

    model: str | None = None
    others: str | None = None
    key: Mapping[str, Any] | None = None


def parse_reference(reference: Any, models: Sequence[str], keys: Sequence[str]) -> Reference:
    """What a call compares with; errors say what there is."""
    if reference is None:
        if len(models) < 2:
            raise ValueError(
                f"score= names one model, {models[0]!r}, and nothing to compare it with: pass {_MODELS}; or {_GROUPS}"
            )
        return Reference(model=models[0])
    if isinstance(reference, str) and reference in models:
        if len(models) < 2:
            raise ValueError(f"reference={reference!r} is the one model of score=: pass {_MODELS}; or {_GROUPS}")
        return Reference(model=reference)
    if not keys:
        if isinstance(reference, str) and reference in OTHERS:
            raise ValueError(f"reference={reference!r} compares groups, and without by= there is one: pass by=")
        raise ValueError(
            f"reference={reference!r} is no model: {did_you_mean(str(reference), models)}there are {', '.join(models)}; to compare groups pass by="
        )
    if isinstance(reference, str) and reference in OTHERS:
        return Reference(others=reference)
    if isinstance(reference, Mapping):
        if not reference:
            raise ValueError("reference={} names no group column")
        for name in reference:
            if name not in keys:
                raise ValueError(
                    f"reference={reference!r} names {name!r}, which is no column of by=: it has {', '.join(keys)}"
                )
        return Reference(key=dict(reference))
    if isinstance(reference, tuple) and len(keys) > 1 and len(reference) == len(keys):
        return Reference(key=dict(zip(keys, reference, strict=True)))
    if len(keys) > 1:
        raise ValueError(
            f"reference={reference!r} is one value, and by= has the columns {', '.join(keys)}: pass a mapping, such as "
            f"reference={{{keys[-1]!r}: ...}}"
        )
    return Reference(key={keys[0]: reference})


def comparable(metrics: Any) -> tuple[str, ...] | None:
    """The names that the caller passed, if any; errors for metrics whose differences have no limits."""
    names = named_metrics(metrics)
    check_comparable(names or ())
    return names


def check_comparable(names: Sequence[str]) -> None:
    """ValueError for metrics whose differences have no limits."""
    for name in names:
        if name == "ece":
            raise ValueError(
                "metrics= holds 'ece', which has no interval near calibration: compare 'nce' or 'nbs', or calibration_loss"
            )
        if name == CONFUSION or name in CELLS:
            raise ValueError(f"metrics= holds {name!r}, which is a count: compare rates, such as 'recall' and 'fpr'")
        if name.startswith("class_"):
            mean = f"macro_{name.removeprefix('class_')}"
            way_out = f"compare their mean, {mean}" if mean in OF_CLASSES else "compare nec"
            raise ValueError(f"metrics= holds {name!r}, which has a value for each class: {way_out}")


def check_prior(prior: CheckedPrior, reference: Reference) -> None:
    """ValueError for a prior of each row where groups are taken together."""
    if reference.others in ("rest", "total") and prior.expression is not None:
        raise ValueError(
            f"prior= is an expression, and reference={reference.others!r} has groups together, which have no one prior: state it as a "
            "number, or pass prior='overall'"
        )


def reference_groups(reference: Mapping[str, Any], groups: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """For each group the number of the one that it is compared with, that with the reference's values; -1 for none.

    ValueError where there is no such group at all, which names those that there are.
    """
    found = _places(reference, groups, keys)
    if (found >= 0).any() or not groups.height:
        return found
    each = [_said(value) for value in reference.values()]
    shown = (
        f"{{{', '.join(f'{n!r}: {said}' for n, said in zip(reference, each, strict=True))}}}"
        if len(keys) > 1
        else each[0]
    )
    there_are = groups.select(list(reference)).unique(maintain_order=True)
    rows = [", ".join(map(_said, row)) for row in there_are.head(_SHOWN).rows()]
    more = f" and {there_are.height - _SHOWN} more" if there_are.height > _SHOWN else ""
    raise ValueError(
        f"reference={shown} is no group of {', '.join(reference)}: there are {'; '.join(rows)}{more}{_if_text(reference, groups)}"
    )


def _if_text(reference: Mapping[str, Any], groups: pl.DataFrame) -> str:
    """How to name a time, to whom a text did not."""
    for name, value in reference.items():
        if isinstance(value, str) and groups[name].dtype.is_temporal():
            return f". A time is no text: pass its value, such as {groups[name].drop_nulls().max()!r}"
    return ""


def _said(value: Any) -> str:
    """Times and decimals as one writes them."""
    return repr(value) if isinstance(value, str | bytes | list | dict) else str(value)


def _places(reference: Mapping[str, Any], groups: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    nowhere = pl.Series([-1] * groups.height, dtype=pl.Int64)
    try:
        values = {name: pl.lit(value).cast(groups.schema[name]) for name, value in reference.items()}
        # What loses something on the way to the column's type is in no group.
        kept = pl.select([value.eq_missing(pl.lit(reference[name])).alias(name) for name, value in values.items()])
        if not all(kept.row(0)):
            return nowhere
        wanted = groups.select(keys).with_columns(**values)
        return join_groups(wanted, groups.select(*keys, GROUP), keys)[GROUP].cast(pl.Int64).fill_null(-1)
    except (pl.exceptions.PolarsError, TypeError):
        return nowhere
