"""What calls for differences have in common, checked: their metrics, clusters and the number of sums that are changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_ec.arguments import as_expr
from polars_ec.comparing.choice import FEWEST_BUCKETS
from polars_ec.comparing.joint_pass import Clusters
from polars_ec.costs import CostMatrix
from polars_ec.intervals.arguments import parse_interval
from polars_ec.reporting.choice import metrics_of
from polars_ec.reporting.models import Model
from polars_ec.reporting.sums import is_collected
from polars_ec.typing import IntoExpr

# Numbers of a class and decision that sums are changed by one by one.
_MOST_CELLS = 200


def check_kinds(models: Sequence[Model]) -> None:
    """ValueError for models of different numbers of classes."""
    if len({(is_collected(model), model.rows.costs.n_classes) for model in models}) > 1:
        sizes = ", ".join(f"{model.name!r} of {model.rows.costs.n_classes}" for model in models)
        raise ValueError(f"score= holds models of different numbers of classes, {sizes}: compare those of each kind")


def metrics_of_all(named: Sequence[str] | None, models: Sequence[Model]) -> tuple[str, ...]:
    """Those asked for, or the usual ones, which all models have."""
    of_models = {model.name: metrics_of(named, model.rows) for model in models}
    first, asked = next(iter(of_models.items()))
    for name, of_model in of_models.items():
        if of_model != asked:
            raise ValueError(
                f"score= holds {first!r}, which has the metrics {', '.join(asked)}, and {name!r}, which has "
                f"{', '.join(of_model)}: pass metrics= that both have"
            )
    return asked


def check_number(costs: CostMatrix) -> None:
    """Sums of decisions are changed one by one."""
    if costs.n_classes * costs.n_decisions > _MOST_CELLS:
        raise ValueError(
            f"{costs.n_classes} classes and {costs.n_decisions} decisions are more than the {_MOST_CELLS} cells whose differences have "
            "intervals: compare losses, metrics=['nce', 'nbs'], or one class against the rest"
        )


def one_or_each(columns: IntoExpr | Sequence[IntoExpr], what: str, models: Sequence[str]) -> list[pl.Expr]:
    """One column for all models, or one for each."""
    if isinstance(columns, str | pl.Expr) or not hasattr(columns, "__iter__"):
        one: Any = columns
        return [as_expr(one, what)]
    each = [as_expr(column, what) for column in columns]
    if len(each) != len(models):
        raise ValueError(
            f"{what}= lists {len(each)} columns, and there are {len(models)} models: pass one, or one for each"
        )
    return each


def of_each_model(each: Sequence[pl.LazyFrame], keys: Sequence[str]) -> pl.LazyFrame:
    """The results of models that are not compared with each other, so that each has all rows with its own score: by group, then model."""
    together = pl.concat(each)
    return together.sort(keys, maintain_order=True) if keys else together


def level_and_clusters(intervals: Mapping[str, Any], models: Sequence[str]) -> tuple[float, Clusters | None]:
    """The level, and the clusters."""
    keys = None if intervals["cluster"] is None else one_or_each(intervals["cluster"], "cluster", models)
    request = parse_interval({**intervals, "cluster": None if keys is None else keys[0]})
    if request is None:
        raise ValueError("interval=None: a difference has intervals, pass their level, such as interval=0.95")
    if keys is None:
        return request.level, None
    if request.buckets < FEWEST_BUCKETS:
        raise ValueError(
            f"buckets={request.buckets} are too few for p-values, which need {FEWEST_BUCKETS} or more: leave it out"
        )
    return request.level, Clusters(keys, request.buckets)
