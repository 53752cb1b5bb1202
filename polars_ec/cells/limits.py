"""The columns of an evaluation with the limits of each metric beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from polars_ec.cells.calibration_noise import error_if_calibrated
from polars_ec.cells.cells import check_keys
from polars_ec.cells.formula_columns import LOSS_OF, loss_columns
from polars_ec.cells.grid import Grid
from polars_ec.cells.intervals import Intervals
from polars_ec.cells.moments import Floats, floats
from polars_ec.cells.ranking_draws import limits_of_ranks
from polars_ec.cells.ranking_parts import Ranking
from polars_ec.cells.sums import GroupSums, prior_columns, ranking_prior
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.losses import expected_loss
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.limits import Limits, extended

_COUNTS = (*CELLS, "confusion")


# Squares of weights may be more than a float holds: then there are no limits.
@np.errstate(all="ignore")
def with_limits(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> pl.DataFrame:
    """What `evaluate` shows, with `small`, and with the limits of each metric after its value and the bounds of this."""
    added = {"class_prior": [intervals.small()]}
    for name, (low, high) in _all_limits(shown, names, intervals).items():
        after, least, most = _bounds(shown, name)
        added[after] = _columns(name, low, high, least, most)
    if "nec" in names and not intervals.arguments.prior.stated:
        kinked = intervals.beside_kink(intervals.arguments.thresholds["nec"]).alias("nec_kinked")
        after = _bounds(shown, "nec")[0]
        added[after].append(
            pl.select(pl.when(added[after][0].is_not_null()).then(kinked).alias("nec_kinked")).to_series()
        )
    if "ece" in names and intervals.arguments.ece.norm == 1 and not intervals.arguments.prior.stated:
        known = np.isfinite(floats(shown["ece"]))
        added["ece_error"] = [
            pl.Series(f"ece_if_calibrated{end}", np.where(known, values, np.nan), nan_to_null=True)
            for end, values in zip(("", "_high"), error_if_calibrated(intervals), strict=True)
        ]
    check_keys(intervals.keys, [column.name for of_name in added.values() for column in of_name])
    columns = [x for name in shown.columns for x in (shown[name], *added.get(name, ()))]
    return pl.DataFrame(columns)


@np.errstate(all="ignore")
def with_limits_of_loss(
    shown: pl.DataFrame, name: str, intervals: Intervals, losses: Callable[[pl.DataFrame, Grid], pl.Series]
) -> pl.DataFrame:
    """The same of one mean loss, of which the table has the bounds of its sums, `low` and `high`: without `small`."""
    after, *bounds = _bounds(shown, name)
    group = GroupSums(prior_columns(intervals.arguments))
    value = expected_loss(group, [group.total(i, "low") for i in range(2)])
    ends = [loss_columns(end) for end in ("low", "high")]
    low, high = intervals.of_mean_loss(
        value,
        ends,
        lambda cells: cells.of_each(lambda distinct: losses(distinct, cells.grid)),
        (bounds[0], bounds[1]),
        "log",
    )
    added = _columns(name, low, high, *bounds)
    return pl.DataFrame([x for column in shown.columns for x in (shown[column], *(added if column == after else ()))])


def _all_limits(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> dict[str, Limits]:
    decided: dict[float, list[str]] = {}
    found: dict[str, Limits] = {}
    for name in dict.fromkeys(names):
        if name in LOSS_OF:
            found[name] = intervals.of_loss(name, _bounds(shown, name)[1:])
        elif name in intervals.arguments.thresholds and name not in _COUNTS:
            decided.setdefault(intervals.arguments.thresholds[name], []).append(name)
    for threshold, of_threshold in decided.items():
        found |= intervals.of_decisions(of_threshold, threshold)
    ranked = [name for name in dict.fromkeys(names) if name in RANKING_METRICS]
    return found | (_of_ranks(shown, ranked, intervals) if ranked else {})


def _of_ranks(shown: pl.DataFrame, names: Sequence[str], intervals: Intervals) -> dict[str, Limits]:
    table, arguments, request = intervals.table, intervals.arguments, intervals.request
    groups = table.select(GROUP)
    values = groups.hstack(shown.select(column for name in names for column in (name, f"{name}_error")))
    cells = intervals.fine if intervals.by_bucket is None else intervals.by_bucket
    frame = cells.frame if intervals.cells.weighted else cells.frame.drop("weight2")
    prior = ranking_prior(table, arguments)
    of_ranks = limits_of_ranks(Ranking(frame, cells.grid, names, arguments.ranking, prior), values, request)
    joined = groups.join(of_ranks, on=GROUP, how="left", maintain_order="left")
    return {name: (floats(joined[f"{name}_ci_low"]), floats(joined[f"{name}_ci_high"])) for name in names}


def _columns(name: str, low: Floats, high: Floats, least: Floats, most: Floats) -> list[pl.Series]:
    """The limits as columns, so wide that they hold whatever the value may be."""
    low, high = extended(low, high, least)[0], extended(low, high, most)[1]
    known = np.isfinite(least) & np.isfinite(most) & ~np.isnan(low + high)
    return [
        pl.Series(f"{name}_ci_{end}", np.where(known, values, np.nan), nan_to_null=True)
        for end, values in (("low", low), ("high", high))
    ]


def _bounds(shown: pl.DataFrame, name: str) -> tuple[str, Floats, Floats]:
    """The last column of a metric that its limits come after, and what it lies between; NaN where it is null."""
    if f"{name}_low" in shown.columns:
        return f"{name}_high", floats(shown[f"{name}_low"]), floats(shown[f"{name}_high"])
    value = floats(shown[name])
    if f"{name}_error" not in shown.columns:
        return name, value, value
    error = floats(shown[f"{name}_error"])
    return f"{name}_error", value - error, value + error
