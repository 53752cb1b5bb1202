"""Metrics from cells: exact where sums or declared thresholds give them, else with bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_ec.cells.arguments import EvaluationArguments, battery, check_metrics, parse_arguments
from polars_ec.cells.cells import Cells, check_keys
from polars_ec.cells.formula_columns import ENDS, LOSS_OF, SHIFT, decision_column, loss_column
from polars_ec.cells.grid import Grid, posterior_edges
from polars_ec.cells.llr_losses import of_cells as llr_losses_of_cells
from polars_ec.cells.ordered import ordered_cells
from polars_ec.cells.sums import (
    GroupSums,
    is_exact,
    is_overall,
    join_losses,
    number_sums,
    overall_prior,
    placed,
    prior_columns,
    ranking_prior,
    stated_shares,
    tabulate,
)
from polars_ec.cells.values import posterior, posterior_bounds
from polars_ec.exceptions import SketchError
from polars_ec.formulas.calibration_error import of_cells as calibration_error_of_cells
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS, prepare
from polars_ec.formulas.ranking import evaluate as evaluate_ranks
from polars_ec.formulas.sums import GROUP, ratio, row_weight
from polars_ec.intervals.arguments import Request
from polars_ec.priors import CheckedPrior, parse_prior


def evaluate(
    cells: Cells,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
    *,
    keys: list[str] | None = None,
    own_threshold: float | None = None,
    llr_prior: Any = None,
    request: Request | None = None,
) -> pl.DataFrame:
    """What `Sketch.evaluate` gives, per group of these `keys`; default: of all.

    `own_threshold` is the sketch's, for decisions that neither a threshold nor costs were stated for. `llr_prior` makes
    posteriors of LLRs, whatever weighs the classes; default: `prior`. `request` says which intervals there are.
    """
    grid, keys = cells.grid, cells.keys if keys is None else keys
    names = list(metrics) or list(battery(grid, keywords))
    if grid.score_type == "llr" and is_overall(keywords.get("prior")):
        # Thresholds of LLRs hang on one prior, known before the groups are.
        keywords = {**keywords, "prior": overall_prior(cells) or "overall"}
    made_at = keywords.get("prior") if llr_prior is None else llr_prior
    check_metrics(names, grid, made_at)
    arguments = parse_arguments(names, grid, keywords, own_threshold)
    numbered, table = tabulate(cells, keys, arguments)
    sums = None
    if any(name in SCORING_RULES or name in ("cllr", "ece") for name in names):
        sums = number_sums(cells, numbered, table, keys)
        table = join_losses(table, sums)
    if grid.score_type == "llr" and any(name in SCORING_RULES for name in names):
        assert sums is not None
        table = _join_llr_losses(table, numbered, sums, keys, grid, parse_prior(made_at))
    joined: dict[str, list[str]] = {}
    if any(name in RANKING_METRICS for name in names):
        table, joined = _join_ranks(table, ordered_cells(numbered, grid, cells.weighted), names, arguments)
    if "ece" in names:
        assert sums is not None
        table, joined["ece"] = _join_ece(table, numbered, sums, arguments, grid), ["ece", "ece_error"]
    columns: dict[str, pl.Expr] = {}
    for name in names:
        if name in joined:
            columns |= {column: pl.col(column) for column in joined[name]}
        else:
            columns |= _formula_columns(name, arguments, grid, cells.weighted)
    # Weights may add up to more than a float holds.
    right = (pl.col("n_invalid") == 0) & GroupSums(None).size.is_finite()
    guarded = {
        name: pl.when(right).then(column) for name, column in {"class_prior": pl.col("class_prior"), **columns}.items()
    }
    check_keys(keys, guarded)
    shown = table.select(*keys, "n", "n_missing", "n_invalid", **guarded)
    if request is None:
        return shown
    # Imported here, for it needs numpy.
    from polars_ec.cells.intervals import Intervals
    from polars_ec.cells.limits import with_limits

    return with_limits(shown, names, Intervals(cells, keys, numbered, table, arguments, request))


def _formula_columns(name: str, arguments: EvaluationArguments, grid: Grid, weighted: bool) -> dict[str, pl.Expr]:
    prior = prior_columns(arguments)
    if name == "confusion":
        of_cells = replace(arguments, thresholds=dict.fromkeys(CELLS, arguments.thresholds[name]))
        return {
            column: expression
            for cell in CELLS
            for column, expression in _formula_columns(cell, of_cells, grid, weighted).items()
        }
    if name in SCORING_RULES and grid.score_type == "llr":
        low, high = (loss_column(name, prior, f"_{end}") for end in ("low", "high"))
        # Where both are infinite the value is known.
        error = pl.when(low == high).then(0.0).otherwise((high - low) / 2)
        return {name: (low + high) / 2, f"{name}_error": error}
    if name in LOSS_OF:
        return {name: loss_column(name, prior)}
    threshold = arguments.thresholds[name]
    dtype = pl.Int64 if name in CELLS and not weighted else pl.Float64
    corners = [
        decision_column(name, prior, arguments.formula, threshold, of_1, of_0).cast(dtype)
        for of_1 in ENDS
        for of_0 in ENDS
    ]
    if is_exact(grid, threshold):
        return {name: corners[0]}
    # Every metric of decisions is monotone in either count, so it is extreme at the corners of what they can be.
    if name == "mcc":
        # At a corner where all decisions are the same it is not defined, but near there it is as near to 0 as one likes.
        known = pl.any_horizontal([corner.is_not_null() for corner in corners])
        corners = [pl.when(known).then(corner.fill_null(0.0)) for corner in corners]
    return {f"{name}_low": pl.min_horizontal(corners), f"{name}_high": pl.max_horizontal(corners)}


def _join_llr_losses(
    table: pl.DataFrame,
    numbered: pl.DataFrame,
    sums: pl.DataFrame,
    keys: list[str],
    grid: Grid,
    prior: CheckedPrior,
) -> pl.DataFrame:
    """The sums of the losses that the LLRs have as posteriors at this prior, as bounds."""
    shares = stated_shares(table, keys, prior, grid.classes)
    shift = shares[1].log() - shares[0].log()
    bounds = llr_losses_of_cells(numbered, sums, table.select(GROUP, shift=shift), grid)
    named = bounds.rename({name: f"__ec_{name}" for name in bounds.columns if name != GROUP})
    joined = table.with_columns(shift.alias(SHIFT)).join(named, on=GROUP, how="left", maintain_order="left")
    names = [name for name in named.columns if name != GROUP]
    # A group without such rows adds nothing, but one without a prior, or of LLRs that contradict it, has no losses.
    known = pl.lit(shift).is_not_null() & ~pl.any_horizontal(
        [pl.col(name).is_nan().fill_null(value=False) for name in names]
    )
    return joined.with_columns(pl.when(known).then(pl.col(name).fill_null(0.0)) for name in names)


def _join_ranks(
    table: pl.DataFrame, ordered: pl.DataFrame, names: Sequence[str], arguments: EvaluationArguments
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """The ranking metrics among these, and the columns of each."""
    ranked, columns = prepare(ordered, ranking_prior(table, arguments)), {}
    for name in names:
        if name in RANKING_METRICS:
            values = evaluate_ranks(ranked, name, arguments.ranking)
            named = {c: name if c == "value" else f"{name}_{c}" for c in values.columns if c != GROUP}
            table = table.join(values.rename(named), on=GROUP, how="left", maintain_order="left")
            columns[name] = list(named.values())
    return table, columns


def _join_ece(
    table: pl.DataFrame, numbered: pl.DataFrame, sums: pl.DataFrame, arguments: EvaluationArguments, grid: Grid
) -> pl.DataFrame:
    bins = arguments.ece
    edges = [grid.declared(edge) for edge in posterior_edges(bins.number, grid.score_type)]
    exact = all(is_exact(grid, edge) for edge in edges)
    if bins.norm == 2 and not exact:
        raise SketchError(
            f"ece with norm=2 has no bound where an edge of a bin may be inside a cell: sketch with thresholds=[k / "
            f"{bins.number} for k in range(1, {bins.number})], as log-odds for log-odds, or exact=True"
        )
    group = GroupSums(prior_columns(arguments))
    stated = arguments.prior.stated
    even = ratio(pl.lit(1.0), group.size)
    weights = table.select(GROUP, **{f"r{i}": row_weight(group, i) if stated else even for i in range(2)})
    rows = _with_exact_posteriors(sums, numbered) if exact else _with_posteriors_of_bins(numbered, grid)
    values = calibration_error_of_cells(rows, weights, [placed(grid, edge) for edge in edges], bins)
    return table.join(values, on=GROUP, how="left", maintain_order="left")


def _with_exact_posteriors(sums: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Rows as the calibration error takes them, where declared thresholds say in which of its bins they are."""
    if "weight" not in sums.columns:
        weights = numbered.group_by(GROUP, "class", "above").agg(pl.col("weight").sum())
        sums = sums.join(weights, on=[GROUP, "class", "above"], how="left")
    return sums.with_columns(least=0.0, most=0.0, off=0.0)


def _with_posteriors_of_bins(numbered: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Rows as the calibration error takes them, of cells that know no more of their posteriors than the bin."""
    used = numbered.filter(pl.col("class") >= 0)
    middle, (least, most), weight = posterior(grid), posterior_bounds(grid), pl.col("weight")
    return used.with_columns(posterior=middle, least=least, most=most).with_columns(
        posterior=pl.col("posterior") * weight,
        off=weight * pl.max_horizontal(pl.col("most") - pl.col("posterior"), pl.col("posterior") - pl.col("least")),
    )
