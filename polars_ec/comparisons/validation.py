"""Checks of the arguments of comparisons and drifts: metrics, references, periods, clusters."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_ec.arguments.classes import CheckedPrior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import as_expr, did_you_mean, parse_interval
from polars_ec.formulas.decisions import CELLS, OF_CLASSES, direction
from polars_ec.formulas.ranking import ORDER_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.decomposition import FACTORS, MIX
from polars_ec.numerics import Integers
from polars_ec.reports.models import CONFUSION, Model, is_multiclass, metrics_of, named_metrics
from polars_ec.scores.read import check_are_names, join_groups
from polars_ec.typing import IntoExpr

OTHERS = ("rest", "total", "best", "highest", "lowest")
"""References of groups other than a single group."""

FEWEST_BUCKETS = 100
"""With fewer buckets the t distribution has such long tails that no p-value for many groups is small."""

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
"""Columns of a comparison of models besides the group columns."""

RATIO = ("ratio", "ratio_ci_low", "ratio_ci_high")
"""Further columns of a comparison of groups."""

_SHOWN = 10
_MODELS = "at least two models (the first is the reference unless reference= names another)"
_GROUPS = "reference='rest', 'total', 'best', 'highest', 'lowest' or the key of a group"


@dataclass(frozen=True)
class ClusterKeys:
    """The keys of clusters, one, or one per model; and how many buckets they are assigned to."""

    keys: Sequence[pl.Expr]
    buckets: int


@dataclass(frozen=True)
class Reference:
    """The reference: a model; or for groups one of `OTHERS`, or the group with these values of group columns."""

    model: str | None = None
    others: str | None = None
    key: Mapping[str, Any] | None = None

    @property
    def columns(self) -> Mapping[str, pl.DataType]:
        """Columns of the comparison besides the group columns."""
        names = [*COLUMNS]
        place = names.index("p_value") if self.model is None else len(names)
        ratio = RATIO if self.model is None else ()
        return {name: COLUMNS.get(name, pl.Float64()) for name in (*names[:place], *ratio, *names[place:])}


def parse_reference(reference: Any, models: Sequence[str], keys: Sequence[str]) -> Reference:
    """Parse the reference of a call; errors list the options."""
    if reference is None:
        if len(models) < 2:
            raise ValueError(f"score= names only one model, {models[0]!r}: pass {_MODELS}; for groups pass {_GROUPS}")
        return Reference(model=models[0])
    if isinstance(reference, str) and reference in models:
        if len(models) < 2:
            raise ValueError(f"reference={reference!r} is the only model: pass {_MODELS}; for groups pass {_GROUPS}")
        return Reference(model=reference)
    if not keys:
        if isinstance(reference, str) and reference in OTHERS:
            raise ValueError(f"reference={reference!r} compares groups, but there is no by=: pass by=")
        raise ValueError(
            f"reference={reference!r} is not a model: {did_you_mean(str(reference), [*models, *OTHERS])}The models are {', '.join(models)}. To compare groups pass by="
        )
    if isinstance(reference, str) and reference in OTHERS:
        return Reference(others=reference)
    if isinstance(reference, Mapping):
        if not reference:
            raise ValueError("reference={} names no group column")
        for name in reference:
            if name not in keys:
                raise ValueError(
                    f"reference={reference!r} names {name!r}, which is not a column in by=. It has {', '.join(keys)}"
                )
        return Reference(key=dict(reference))
    if isinstance(reference, tuple) and len(keys) > 1 and len(reference) == len(keys):
        return Reference(key=dict(zip(keys, reference, strict=True)))
    if len(keys) > 1:
        raise ValueError(
            f"reference={reference!r} is one value, but by= has the columns {', '.join(keys)}: pass a mapping, such as "
            f"reference={{{keys[-1]!r}: ...}}"
        )
    return Reference(key={keys[0]: reference})


def comparable(metrics: Any) -> tuple[str, ...] | None:
    """The metrics passed, if any; raises errors for metrics whose differences have no intervals."""
    names = named_metrics(metrics)
    check_comparable(names or ())
    return names


def check_comparable(names: Sequence[str]) -> None:
    """Raise ValueError for metrics whose differences have no intervals."""
    for name in names:
        if name == "ece":
            raise ValueError(
                "metrics= holds 'ece', which has no confidence interval near perfect calibration: compare 'nce' or 'nbs', or use calibration_loss"
            )
        if name == CONFUSION or name in CELLS:
            raise ValueError(f"metrics= holds {name!r}, which is a count: compare rates, such as 'recall' and 'fpr'")
        if name.startswith("class_"):
            mean = f"macro_{name.removeprefix('class_')}"
            way_out = f"compare their mean, {mean}" if mean in OF_CLASSES else "compare nec"
            raise ValueError(f"metrics= holds {name!r}, which has one value per class: {way_out}")


def check_prior(prior: CheckedPrior, reference: Reference) -> None:
    """ValueError for a prior of each row where groups are taken together."""
    if reference.others in ("rest", "total") and prior.expression is not None:
        raise ValueError(
            f"prior= is an expression, but reference={reference.others!r} combines groups that may have different "
            "priors: pass a number, or prior='overall'"
        )


def parse_margin(margin: object) -> float | None:
    """The margin of a call, if there is one; ValueError for what is not a positive number."""
    if margin is None:
        return None
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < math.inf:
        raise ValueError(
            f"margin={margin!r} is not a positive number: pass the largest difference that does not matter"
        )
    return float(margin)


def check_direction(names: Sequence[str], reference: Reference) -> None:
    """ValueError for the best group by a metric for which neither direction is better."""
    for name in names:
        if reference.others == "best" and direction(name) is None:
            raise ValueError(
                f"reference='best' is not known for {name!r}, for which neither direction is better: pass 'highest' or 'lowest'"
            )


def reference_groups(reference: Mapping[str, Any], groups: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """The number of the group that each is compared with, with the reference's values; -1 for none. ValueError where there is none at all."""
    found = _places(reference, groups, keys)
    if (found >= 0).any() or not groups.height:
        return found
    each = [_said(value) for value in reference.values()]
    pairs = ", ".join(f"{name!r}: {said}" for name, said in zip(reference, each, strict=True))
    shown = f"{{{pairs}}}" if len(keys) > 1 else each[0]
    there_are = groups.select(list(reference)).unique(maintain_order=True)
    rows = [", ".join(map(_said, row)) for row in there_are.head(_SHOWN).rows()]
    more = f" and {there_are.height - _SHOWN} more" if there_are.height > _SHOWN else ""
    raise ValueError(
        f"reference={shown} is not a group of {', '.join(reference)}. There are {'; '.join(rows)}{more}{_if_text(reference, groups)}"
    )


def _if_text(reference: Mapping[str, Any], groups: pl.DataFrame) -> str:
    """A hint for a text that did not match: which of `OTHERS` it may be, or how to name a time."""
    for name, value in reference.items():
        if isinstance(value, str) and (hint := did_you_mean(value, OTHERS)):
            return f": {hint}".rstrip()
        if isinstance(value, str) and groups[name].dtype.is_temporal():
            return f". Text is not a time: pass its value, such as {groups[name].drop_nulls().max()!r}"
    return ""


def _said(value: Any) -> str:
    """Times and decimals as one writes them."""
    return repr(value) if isinstance(value, str | bytes | list | dict) else str(value)


def shown(column: pl.Series) -> pl.Series:
    """The values of a group column as text, times without fractions that are 0."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return pl.Series(column.name, ["null" if value is None else str(value) for value in column.to_list()])
    if not column.dtype.is_temporal():
        return column.cast(pl.String).fill_null("null")
    text = column.dt.to_string() if column.dtype == pl.Duration else column.cast(pl.String)
    return text.str.replace(r"\.0+($|\D)", "$1").fill_null("null")


def _places(reference: Mapping[str, Any], groups: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    nowhere = pl.Series([-1] * groups.height, dtype=pl.Int64)
    try:
        values = {name: pl.lit(value).cast(groups.schema[name]) for name, value in reference.items()}
        # A value that changes when cast to the type of the column matches no group.
        kept = pl.select([value.eq_missing(pl.lit(reference[name])).alias(name) for name, value in values.items()])
        if not all(kept.row(0)):
            return nowhere
        wanted = groups.select(keys).with_columns(**values)
        return join_groups(wanted, groups.select(*keys, GROUP), keys)[GROUP].cast(pl.Int64).fill_null(-1)
    except (pl.exceptions.PolarsError, TypeError):
        return nowhere


# Numbers of a class and decision that sums are changed by one by one.
_MOST_CELLS = 200


def check_kinds(models: Sequence[Model]) -> None:
    """ValueError for models of different numbers of classes."""
    if len({(is_multiclass(model), model.rows.costs.n_classes) for model in models}) > 1:
        sizes = ", ".join(f"{model.name!r} of {model.rows.costs.n_classes}" for model in models)
        raise ValueError(f"score= has models with different numbers of classes, {sizes}: compare them separately")


def metrics_of_all(named: Sequence[str] | None, models: Sequence[Model]) -> tuple[str, ...]:
    """Metrics as named, or the usual ones, which all models have."""
    of_models = {model.name: metrics_of(named, model.rows) for model in models}
    first, metrics = next(iter(of_models.items()))
    for name, of_model in of_models.items():
        if of_model != metrics:
            raise ValueError(
                f"score= holds {first!r} with the metrics {', '.join(metrics)}, and {name!r} with "
                f"{', '.join(of_model)}: pass metrics= that both have"
            )
    return metrics


def check_number(costs: CostMatrix) -> None:
    """Sums of decisions are changed one by one."""
    if costs.n_classes * costs.n_decisions > _MOST_CELLS:
        raise ValueError(
            f"{costs.n_classes} classes and {costs.n_decisions} decisions exceed {_MOST_CELLS} cells, the most for "
            "intervals of differences: compare losses, metrics=['nce', 'nbs'], or one class against the rest"
        )


def one_or_each(columns: IntoExpr | Sequence[IntoExpr], what: str, models: Sequence[str | pl.Expr]) -> list[pl.Expr]:
    """One column for all models, or one for each."""
    if isinstance(columns, str | pl.Expr) or not hasattr(columns, "__iter__"):
        one: Any = columns
        return [as_expr(one, what)]
    each = [as_expr(column, what) for column in columns]
    if len(each) != len(models):
        raise ValueError(
            f"{what}= lists {len(each)} columns, but there are {len(models)} models: pass one column, or one for each model"
        )
    return each


def of_each_model(each: Sequence[pl.LazyFrame], keys: Sequence[str]) -> pl.LazyFrame:
    """The results of models that are not compared with each other, so that each has all rows with its own score: by group, then model."""
    together = pl.concat(each)
    return together.sort(keys, maintain_order=True) if keys else together


def level_and_clusters(intervals: Mapping[str, Any], models: Sequence[str]) -> tuple[float, ClusterKeys | None]:
    """The level, and the clusters."""
    keys = None if intervals["cluster"] is None else one_or_each(intervals["cluster"], "cluster", models)
    request = parse_interval({**intervals, "cluster": None if keys is None else keys[0]})
    if request is None:
        raise ValueError("interval=None: a difference always has an interval. Pass a level such as interval=0.95")
    if keys is None:
        return request.level, None
    if request.buckets < FEWEST_BUCKETS:
        raise ValueError(
            f"buckets={request.buckets} is too few for p-values, which need {FEWEST_BUCKETS} or more: leave it out"
        )
    return request.level, ClusterKeys(keys, request.buckets)


# Periods, and the components of their changes.

PREVIOUS = "previous"
"""Each period is compared with the one before it."""

_BEFORE, _AFTER = "small", "n"
_OWN = "__ec_"


def factors_of(mix: Sequence[Any]) -> tuple[str, ...]:
    """The factors of a change; without strata these have no shares."""
    return FACTORS if mix else tuple(factor for factor in FACTORS if factor != MIX)


def drift_columns(factors: Sequence[str]) -> dict[str, pl.DataType]:
    """Columns of a drift besides the group columns and the period."""
    columns: dict[str, pl.DataType] = {}
    for name, dtype in COLUMNS.items():
        if name == _BEFORE:
            columns |= {column: pl.Float64() for factor in factors for column in part_columns(factor)}
        columns[name] = dtype
        if name == _AFTER:
            columns["n_reference"] = pl.Int64()
    return columns


def part_columns(factor: str) -> list[str]:
    """The columns of one component."""
    return [factor, f"{factor}_ci_low", f"{factor}_ci_high", f"{factor}_least", f"{factor}_most"]


def check_movable(names: Sequence[str]) -> None:
    """Raise ValueError for metrics whose change cannot be decomposed."""
    for name in names:
        if name in ORDER_METRICS:
            raise ValueError(
                f"metrics= holds {name!r}, a ranking metric, whose change cannot be explained: compare(reference=...) has its change"
            )


def check_period(frame: pl.LazyFrame, columns: Sequence[pl.Expr]) -> pl.Expr:
    """The one column of periods, whose values have an order."""
    if len(columns) != 1:
        names = [column.meta.output_name() for column in columns]
        raise ValueError(
            f"period= names {names}, but it takes one column: pass one, such as pl.col('time').dt.truncate('1mo'), and put the others into by="
        )
    dtype = frame.select(columns).collect_schema().dtypes()[0]
    if dtype.is_nested() or dtype.is_object():
        raise TypeError(
            f"period={columns[0].meta.output_name()!r} is {dtype}, whose values have no order: pass dates, numbers or text"
        )
    return columns[0]


def check_names_of_periods(by: Sequence[str], period: str, taken: Collection[str], mix: Sequence[str] = ()) -> None:
    """Raise ValueError for a column with two roles, or with a name that the result, as `taken`, or the pass over the log uses."""
    for what, names in (("by", by), ("period", [period]), ("mix", mix)):
        check_are_names(what, names)
        for name in names:
            if name.startswith(_OWN) or (what != "mix" and name in taken):
                raise ValueError(f"{what}= has a column {name!r}, as the result has: rename it with .alias()")
    if period in by:
        raise ValueError(f"period={period!r} is also a column in by=: leave it out there")
    for name in mix:
        if name == period or name in by:
            other = "the column of period=" if name == period else "a column of by="
            raise ValueError(
                f"mix= has {name!r}, which is also {other}, so its shares never change within a group: leave it out of one of them"
            )


def check_reference(reference: Any) -> None:
    """Raise TypeError for a reference that is not a value."""
    if isinstance(reference, pl.Expr):
        raise TypeError(f"reference={reference} is an expression: pass the value of a period, or {PREVIOUS!r}")


def references(reference: Any, groups: pl.DataFrame, by: Sequence[str], period: str) -> Integers:
    """The number of the period that each is compared with, itself for the reference, -1 for none; `groups` are sorted and numbered."""
    if isinstance(reference, str) and reference == PREVIOUS:
        if shown(groups[period]).eq(PREVIOUS).any():
            raise ValueError(
                f"reference={PREVIOUS!r} is ambiguous, because {period} has a period of this name: rename that period"
            )
        before = groups.select(
            pl.when(pl.col(period).shift().is_not_null())
            .then(pl.col(GROUP).shift())
            .over(by or pl.lit(1), order_by=GROUP)
        ).to_series()
        return before.fill_null(groups[GROUP]).cast(pl.Int64).to_numpy()
    value = groups[period].min() if reference is None else reference
    return reference_groups({period: value}, groups, [*by, period]).to_numpy()
