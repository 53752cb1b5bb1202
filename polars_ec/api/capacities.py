"""Capacity: the decisions of a team that can look at a limited number of cases in each period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Unpack

import polars as pl

from polars_ec.api.reports import report
from polars_ec.arguments.classes import constant
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.inputs import as_lazy, is_read_once, lazy_if_lazy
from polars_ec.arguments.keywords import as_expr, parse_level, parse_options, parse_whole
from polars_ec.arguments.options import CapacityOptions
from polars_ec.arguments.scales import DECISION
from polars_ec.arguments.signatures import with_options
from polars_ec.comparisons.validation import of_each_model
from polars_ec.formulas.decisions import AT_PRIOR
from polars_ec.formulas.ranking import ROUNDING, checked_share
from polars_ec.formulas.sums import ratio
from polars_ec.reports.models import Pass, pass_over, with_overall_prior
from polars_ec.scores.read import (
    PRIOR,
    Rows,
    check_names,
    class_index,
    count_rows,
    expand,
    join_groups,
    resolve_columns,
    warn_of_nulls,
    with_prior_column,
)
from polars_ec.scores.scores import BinaryScores
from polars_ec.typing import FrameLike, IntoExpr

_PERIOD, _SCORE, _CLASS, _WEIGHT = "__ec_period", "__ec_score", "__ec_class", "__ec_weight"
_LABELS, _DECISIONS = "__ec_label", "__ec_decision"
_COST, _UNCOSTED = "__ec_cost", "__ec_uncosted"
_ROWS = ("n", "n_missing", "n_invalid")
_COLUMNS = (*_ROWS, "class_prior", "selected", "tied", "threshold")
_METRICS = ("precision", "recall", "lift", "expected_cost", "nec")
_REPORTED = [name for name in _METRICS if name != "lift"]
_ENDS = ("_ci_low", "_ci_high")


@with_options(
    CapacityOptions, raises="Neither or both of `k` and `share`; `interval` without `period`; reserved column names."
)
@lazy_if_lazy
def capacity(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    k: int | None = None,
    share: float | None = None,
    period: IntoExpr | None = None,
    by: IntoExpr | Sequence[IntoExpr] = (),
    interval: float | None = None,
    **options: Unpack[CapacityOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """Judge the decision to look at the highest scores only, such as the 50 alerts that a team can handle per day.

    The k highest scores of each period are decided positive, and all others negative. If rows with equal scores compete for the last places,
    each gets an equal chance, and counts and metrics are expected values over the random choice.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. A LazyFrame gives a LazyFrame; all others give a DataFrame. Memory grows with
        the number of distinct scores.
    score
        Column name or expression: one number per row, higher for the positive class; `score_type` says what it is. Several (models) add a
        column `score` with their names; each selects its own rows.
    k
        The number of rows to select in each period of each group. All rows are selected if there are fewer. With `weight`, the sum of the
        weights.
    share
        The share of rows to select instead, above 0 and at most 1. It need not be a whole number of rows: the last row is then selected with
        a probability.
    period
        Column name or expression of the period for which the capacity holds, such as `pl.col("ts").dt.date()`. The result has sums over the
        periods of a group. Default None: each group is one period.
    interval
        The level of the confidence intervals, such as 0.95. They treat periods as independent, and rows of a period as correlated; so they
        need `period`. Default None: no intervals.

    Returns
    -------
    One row per group, sorted. The columns:

    - The group columns, `n`, `n_missing`, `n_invalid` and `class_prior`, as in `report`. Rows with a missing label are no candidates.
    - `selected`, the number of selected rows, and `tied`, the number of rows with equal scores of which only some were selected.
    - `threshold`, the lowest selected score of any period.
    - `precision`, `recall`, `expected_cost` and `nec` of these decisions; `lift`, the share of the positives that were selected over the
      share of all rows that were: 1 for a random choice.
    - With `interval`, `NAME_ci_low` and `NAME_ci_high` after each metric; null for fewer than five periods.

    Values are null if the group has an invalid row or, with costs by row, a row without its costs, or as those of the function of the same
    name are. A warning says which rows are invalid, unless the log is a LazyFrame.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 2, for the costs.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"day": [1, 1, 1, 1, 2, 2, 2], "p": [0.9, 0.5, 0.5, 0.1, 0.8, 0.7, 0.2], "y": [1, 1, 0, 0, 0, 1, 0]}
    ... )
    >>> looked_at = log.ec.capacity("p", "y", k=2, period="day")
    >>> looked_at.select("selected", "tied", "threshold", "precision", pl.col("lift").round(3)).rows()
    [(4.0, 2, 0.5, 0.625, 1.458)]
    """
    execute, log = pass_over(frame), as_lazy(frame)
    if (k is None) == (share is None):
        raise ValueError("pass either k=, the number of rows per period, or share=, the share of rows")
    limit = parse_whole(k, "k", 1) if share is None else checked_share(share, "share") * pl.col(_WEIGHT).sum()
    level = None if interval is None else parse_level(interval)
    if level is not None and period is None:
        raise ValueError(
            f"interval={interval!r} needs period=: intervals come from the differences between the periods"
        )
    checked = parse_options(options, ("cost_fn", "cost_fp"), ranking=True)
    scores, keys = expand(log, score, "score"), expand(log, by, "by")
    several = ["score"] if len(scores) > 1 else []
    columns = {*_COLUMNS, *several, *(f"{name}{end}" for name in _METRICS for end in ("", *_ENDS))}
    check_names(keys, columns, "the result")
    names = [key.meta.output_name() for key in keys]
    if several:
        shared: Any = {"k": k, "share": share, "period": period, "by": by, "interval": interval, **options}
        each = [
            capacity(frame, model, label, **shared).lazy().with_columns(score=pl.lit(model.meta.output_name()))
            for model in scores
        ]
        return of_each_model(each, names).select(*names, "score", pl.exclude(*names, "score"))
    if checked.prior.overall:
        log, overall = with_overall_prior(log, scores[0], label, options, PRIOR, execute)
        checked = replace(checked, prior=overall)
    log, checked = with_prior_column(log, checked)
    rows = resolve_columns(log, scores[0], label, checked)
    if not isinstance(rows.scores, BinaryScores):
        raise TypeError("capacity is for one number per row: use the posterior of one class against the rest")
    if (rows.costs.n_classes, rows.costs.n_decisions) != (2, 2):
        raise ValueError(f"capacity makes 2 decisions, but costs= has {rows.costs.n_decisions}")
    row = {
        _PERIOD: pl.lit(0) if period is None else as_expr(period, "period"),
        _SCORE: rows.scores.score,
        # -1 for an invalid row, and null for a missing one.
        _CLASS: rows.class_or_invalid(class_index(rows.labels)),
        _WEIGHT: pl.lit(1.0) if rows.weight is None else rows.weight,
        PRIOR: pl.lit(None, dtype=pl.Float64) if rows.row_prior is None else rows.row_prior[1],
    }
    if rows.row_costs is not None:
        row |= {_COST: rows.weighted(rows.error_cost()), _UNCOSTED: reduce(or_, rows.decision_faults.values())}
    of_class = [
        pl.when(pl.col(_CLASS) == i).then(name).otherwise(0.0).sum().alias(f"{name}{i}")
        for name in (_WEIGHT, _COST)
        if name in row
        for i in (0, 1)
    ]
    cells = execute(
        log.select(*keys, **row)
        .group_by(*names, _PERIOD, _SCORE)
        .agg(
            *of_class,
            constant(pl.col(PRIOR)),
            n=count_rows(pl.col(_CLASS) >= 0),
            n_missing=pl.col(_CLASS).null_count().cast(pl.Int64),
            n_invalid=count_rows(pl.col(_CLASS) == -1),
            **({_UNCOSTED: pl.col(_UNCOSTED).any()} if _UNCOSTED in row else {}),
        )
    )
    if not isinstance(frame, pl.LazyFrame):
        # Invalid rows, and rows without their costs, make the values of their groups null.
        uncosted = [pl.col(_UNCOSTED).any()] if rows.row_costs is not None else []
        if cells.select(pl.any_horizontal(pl.col("n_invalid").sum() > 0, *uncosted)).collect().item():
            name = scores[0].meta.output_name()
            nulls = f"the capacity of {name!r} is null in groups with invalid rows"
            warn_of_nulls(nulls, frame if is_read_once(frame) else log, {name: rows})
    return _judged(_selected(cells, [*names, _PERIOD], limit), names, rows, level, execute)


def _selected(cells: pl.LazyFrame, keys: Sequence[str], limit: float | pl.Expr) -> pl.LazyFrame:
    """The cells with the share of each that is selected, from the highest score of each period down."""
    weight, above = pl.col(_WEIGHT), pl.col("__ec_above")
    before = weight.cum_sum().shift(1, fill_value=0.0)
    cells = cells.with_columns((pl.col(f"{_WEIGHT}0") + pl.col(f"{_WEIGHT}1")).alias(_WEIGHT)).with_columns(
        before.over(keys, order_by=_SCORE, descending=True).alias("__ec_above"),
        (limit.over(keys) if isinstance(limit, pl.Expr) else pl.lit(float(limit))).alias("__ec_limit"),
    )
    left, rounding = pl.col("__ec_limit") - above, pl.col("__ec_limit") * ROUNDING
    some = pl.when(left + rounding >= weight).then(1.0).otherwise(left / weight)
    return cells.with_columns(pl.when((weight == 0) | (left <= rounding)).then(0.0).otherwise(some).alias("__ec_share"))


def _judged(cells: pl.LazyFrame, names: Sequence[str], rows: Rows, level: float | None, execute: Pass) -> pl.LazyFrame:
    """The result: the expected counts of each period, as four rows with weights, and with their mean costs, that the metrics read."""
    share, by_row = pl.col("__ec_share"), rows.row_costs is not None

    def expected(name: str) -> pl.Expr:
        """In the order of `_LABELS` and `_DECISIONS`."""
        return pl.concat_list((of * pl.col(f"{name}{i}")).sum() for i in (0, 1) for of in (1 - share, share))

    costs = {_COST: expected(_COST), _UNCOSTED: pl.col(_UNCOSTED).any()} if by_row else {}
    periods = cells.group_by(*names, _PERIOD).agg(
        pl.col("n", "n_missing", "n_invalid").sum(),
        constant(pl.col(PRIOR)),
        selected=(share * pl.col(_WEIGHT)).sum(),
        tied=pl.when((share > 0) & (share < 1)).then("n").otherwise(0).sum(),
        threshold=pl.when(share > 0).then(_SCORE).min(),
        **{_WEIGHT: expected(_WEIGHT), **costs},
    )
    four = periods.with_columns(
        # Of any type, as whole numbers.
        pl.col(_PERIOD).rank("dense").fill_null(0),
        pl.lit([0, 0, 1, 1]).alias(_LABELS),
        pl.lit([0, 1, 0, 1]).alias(_DECISIONS),
    ).explode(_LABELS, _DECISIONS, _WEIGHT, *([_COST] if by_row else []))
    if by_row:
        mean = pl.when(pl.col(_WEIGHT) > 0).then(pl.col(_COST) / pl.col(_WEIGHT)).otherwise(0.0)
        four = four.with_columns(pl.when(~pl.col(_UNCOSTED)).then(mean).alias(_COST))
    four = execute(four).cache()
    once = (pl.col(_LABELS) == 0) & (pl.col(_DECISIONS) == 0)
    sums = {name: pl.when(once).then(name).otherwise(0).sum() for name in (*_ROWS, "selected", "tied")}
    of_group = {**sums, "threshold": pl.col("threshold").min()}
    table = four.group_by(names or pl.lit(0).alias(_PERIOD)).agg(constant(pl.col(PRIOR)), **of_group)
    costed = dict.fromkeys(("cost_fn", "cost_fp"), _COST) if by_row else {"costs": CostMatrix(rows.costs.values)}
    keywords: Any = {"score_type": DECISION.name, "weight": _WEIGHT, "by": names, **costed}
    if rows.row_prior is not None:
        keywords["prior"] = pl.col(PRIOR)
    if level is not None:
        keywords |= {"interval": level, "cluster": _PERIOD}
    judged = report(four, _DECISIONS, _LABELS, metrics=[*_REPORTED, "decision_share"], **keywords)
    at = "" if rows.row_prior is None else AT_PRIOR
    of = {name: f"{name}{'' if name == 'recall' else at}" for name in _REPORTED}
    bounds = {f"{name}{end}": f"{of[name]}{end}" for name in _REPORTED for end in _ENDS if level is not None}
    lift = ratio(pl.col("recall"), pl.col(f"decision_share{at}"))
    table = _with(table, judged.select(*names, "class_prior", **of, lift=lift, **bounds), names)
    if bounds and at:
        table = table.with_columns(pl.col(f"precision{end}").truediv(PRIOR).alias(f"lift{end}") for end in _ENDS)
    elif bounds:
        # The lift is the LR+ of the positives against all rows, which are the same periods.
        against_all = pl.concat([four.with_columns(pl.col(_LABELS) * 0), four.filter(pl.col(_LABELS) == 1)])
        lifts = report(against_all, _DECISIONS, _LABELS, metrics=["lr_plus"], **keywords)
        table = _with(table, lifts.select(*names, **{f"lift{end}": f"lr_plus{end}" for end in _ENDS}), names)
    is_valid = pl.col("n_invalid") == 0
    columns = [*_COLUMNS, *(f"{name}{end}" for name in _METRICS for end in ("", *(_ENDS if bounds else ())))]
    shown = {name: pl.col(name) if name in _ROWS else pl.when(is_valid).then(name) for name in columns}
    result = table.select(*names, **shown)
    return result.sort(names) if names else result


def _with(table: pl.LazyFrame, others: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """The groups with their values in another table."""
    return join_groups(table, others, names) if names else table.join(others, how="cross")
