"""Cells summed per group: what the formulas of metrics take."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import polars as pl

from polars_ec.cells.arguments import EvaluationArguments, parse_formula_arguments
from polars_ec.cells.cells import SCORE, TARGET, Cells, check_keys
from polars_ec.cells.grid import EXACT, Grid
from polars_ec.cells.values import losses
from polars_ec.class_names import ClassNames
from polars_ec.formulas.sums import GROUP, Sums, ratio
from polars_ec.priors import CheckedPrior
from polars_ec.rows.read import join_groups

_PRIOR = "__ec_prior"


class GroupSums(Sums):
    """Sums of a group, from columns; `positive` and `negative` are those of each class on either side of the threshold."""

    def __init__(
        self,
        prior: list[pl.Expr] | None,
        positive: Sequence[pl.Expr] | None = None,
        negative: Sequence[pl.Expr] | None = None,
    ) -> None:
        super().__init__(2, prior, 2)
        self._by_decision = None if positive is None or negative is None else (negative, positive)

    def count(self, i: int) -> pl.Expr:
        if self._by_decision is None:
            return pl.col(f"__ec_count_{i}")
        # Of the very sums that its cells are, so that their shares are at most 1.
        return self._by_decision[0][i] + self._by_decision[1][i]

    @property
    def size(self) -> pl.Expr:
        return self.count(0) + self.count(1)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        assert self._by_decision is not None
        return reduce(add, [self._by_decision[j][i] for j in sorted(decided)])

    def total(self, i: int, name: str) -> pl.Expr:
        return pl.col(f"__ec_{name}_{i}")


def number_groups(cells: Cells, keys: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells with the number of their group; and the keys of each group with its number."""
    weighed = cells.weighed()
    if not keys:
        zero = pl.lit(0, dtype=pl.get_index_type()).alias(GROUP)
        return weighed.with_columns(zero), pl.DataFrame({GROUP: [0]}, schema={GROUP: pl.get_index_type()})
    runs, run = runs_of(weighed, keys)
    groups = runs.unique(maintain_order=True).with_row_index(GROUP)
    return weighed.with_columns(join_groups(runs, groups, keys)[GROUP].gather(run)), groups


def with_group(table: pl.DataFrame, groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Cells, or sums, with the number of their group, which `groups` has beside the keys."""
    if not keys:
        return table.with_columns(pl.lit(0, dtype=pl.get_index_type()).alias(GROUP))
    runs, run = runs_of(table, keys)
    return table.with_columns(join_groups(runs, groups.select(GROUP, *keys), keys)[GROUP].gather(run))


def runs_of(table: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, pl.Series]:
    """The keys of each run of cells of one group, and the run of each cell: they stand side by side as a rule, so that there are few."""
    changes = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
    first = table.select((pl.any_horizontal(changes) | (pl.int_range(pl.len()) == 0)).alias(GROUP))[GROUP]
    return table.select(keys).filter(first), first.cum_sum() - 1


def number_sums(cells: Cells, numbered: pl.DataFrame, groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """`SUMS` by the number of the group, the class, and where rows lie as far as these sums know: exact in any case.

    `numbered` and `groups` are what `number_groups` or `tabulate` gives for these cells.
    """
    if cells.sums is None:
        weight = pl.col("weight")
        summed = {
            name: pl.when(weight > 0).then(value * weight).otherwise(0.0) for name, value in losses(cells.grid).items()
        }
        cell = [GROUP, "class", *cells.grid.cell_columns]
        return numbered.filter(pl.col("class") >= 0).select(*cell, "weight", **summed)
    return with_group(cells.sums, groups, keys)


def tabulate(cells: Cells, keys: list[str], arguments: EvaluationArguments) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells with the number of their group; and a row per group: its keys, sums and stated prior."""
    check_keys(keys, ("n", "n_missing", "n_invalid", "class_prior"))
    numbered, groups = number_groups(cells, keys)
    table = _sum_per_group(numbered, groups, arguments.thresholds.values(), cells.grid)
    if not arguments.prior.stated:
        return numbered, table
    shares = stated_shares(table, keys, arguments.prior, cells.grid.classes)
    return numbered, table.with_columns(share.alias(f"{_PRIOR}_{i}") for i, share in enumerate(shares))


def _sum_per_group(cells: pl.DataFrame, groups: pl.DataFrame, thresholds: Iterable[float], grid: Grid) -> pl.DataFrame:
    """One row per group: rows, and the sums of the classes, as columns."""
    label, weight = pl.col("class"), pl.col("weight")

    def total(mask: pl.Expr, value: pl.Expr) -> pl.Expr:
        return pl.when(mask).then(value).sum()

    sums = {
        "n": total(label >= 0, pl.col("n")),
        "n_missing": total(label.is_null(), pl.col("n")),
        "n_invalid": total(label == -1, pl.col("n")),
    }
    for i in range(2):
        sums[f"__ec_count_{i}"] = total(label == i, weight)
    for threshold in set(thresholds):
        certain, possible = placed(grid, threshold)
        for i in range(2):
            # Each by its own sum: a difference of sums of weights may be below 0.
            decided = {
                "least_positive": certain,
                "most_positive": certain | possible,
                "least_negative": ~certain & ~possible,
                "most_negative": ~certain,
            }
            sums |= {f"__ec_{name}_{i}_{threshold!r}": total((label == i) & x, weight) for name, x in decided.items()}
    counted = cells.group_by(GROUP).agg(**sums)
    table = groups.join(counted, on=GROUP, how="left", maintain_order="left")
    filled = table.with_columns(pl.col(name).fill_null(0) for name in sums)
    n1, n0 = pl.col("__ec_count_1"), pl.col("__ec_count_0")
    return filled.with_columns(class_prior=ratio(n1, n1 + n0))


def join_losses(table: pl.DataFrame, sums: pl.DataFrame) -> pl.DataFrame:
    """The table of `tabulate` with what the formulas of scoring rules take, of the result of `number_sums`."""
    named = {
        f"__ec_{name}_{i}": pl.when(pl.col("class") == i).then(name).sum()
        for name in ("log_loss", "brier")
        for i in range(2)
    }
    summed = sums.group_by(GROUP).agg(**named)
    joined = table.join(summed, on=GROUP, how="left", maintain_order="left")
    return joined.with_columns(pl.col(*named).fill_null(0.0))


def placed(grid: Grid, threshold: float) -> tuple[pl.Expr, pl.Expr]:
    """Whether all scores of a cell are above the threshold; whether, if not, some may be."""
    never = pl.lit(value=False)
    if grid.resolution is None:
        return pl.col(EXACT) > threshold, never
    if threshold in grid.thresholds:
        return pl.col("above") > grid.thresholds.index(threshold), never
    if grid.score_type == "posterior" and not 0 <= threshold < 1:
        return pl.lit(value=threshold < 0), never
    # Scores of a higher bin are above it; within its bin the declared thresholds still tell.
    at = pl.select(grid.bin(pl.lit(threshold), grid.position(pl.lit(threshold)))).item()
    lower = sum(t < threshold for t in grid.thresholds)
    bin_, above = pl.col("bin"), pl.col("above")
    certain = ((bin_ > at) | (above > lower)) & (bin_ >= at)
    point = grid.is_point()
    return certain, (bin_ == at) & (above == lower) & ~point


def is_exact(grid: Grid, threshold: float) -> bool:
    """Whether the counts at this threshold are exact, whatever the data."""
    # No score is cut by a threshold beyond all scores, or at a score that has a cell of its own.
    never_cuts = not 0 < threshold < 1 if grid.score_type == "posterior" else math.isinf(threshold)
    return grid.resolution is None or threshold in grid.thresholds or never_cuts


def stated_shares(table: pl.DataFrame, keys: list[str], prior: CheckedPrior, classes: ClassNames) -> list[pl.Series]:
    """The stated shares of both classes, a row per group of a table of sums; null where they are none."""
    if prior.overall:
        return _overall_shares(table, keys).get_columns()
    dtype = None
    # A prior sees what the reader of the result sees.
    public = table.select(*keys, "n", "class_prior")
    if prior.expression is not None:
        public = public.with_columns(prior.expression.alias(_PRIOR))
        dtype = public.schema[_PRIOR]
        prior = replace(prior, expression=pl.col(_PRIOR))
    named = {f"{_PRIOR}_{i}": share for i, share in enumerate(prior.per_row(classes, dtype))}
    return public.with_columns(**named).select(*named).get_columns()


def _overall_shares(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The shares of both classes in all groups together, of each score and target for itself: they are of other classes.

    Null where a row of these groups is wrong, or none is used.
    """
    within = [name for name in (SCORE, TARGET) if name in keys]

    def whole(column: str) -> pl.Expr:
        return pl.col(column).sum().over(within) if within else pl.col(column).sum()

    counts = [whole(f"__ec_count_{i}") for i in range(2)]
    size = counts[0] + counts[1]
    right = (whole("n_invalid") == 0) & size.is_finite()
    shares = {f"{_PRIOR}_{i}": pl.when(right).then(ratio(count, size)) for i, count in enumerate(counts)}
    return table.with_columns(**shares).select(*shares)


def overall_prior(cells: Cells) -> Any:
    """What "overall" means for these cells, as numbers; itself where it means several things, None where it has no meaning."""
    numbered, groups = number_groups(cells, cells.keys)
    found = _overall_shares(_sum_per_group(numbered, groups, (), cells.grid), cells.keys).unique()
    if found.height > 1:
        return "overall"
    return None if found.height == 0 or None in found.row(0) else list(found.row(0))


def is_overall(prior: Any) -> bool:
    """Whether it is the word for the shares in all cells; an expression or an array is none."""
    return isinstance(prior, str) and prior == "overall"


def prior_of_rows(prior: Any, cells: Cells) -> Any:
    """The prior as stated, but for "overall" the shares in these cells: for what is made of them and has their rows more than once."""
    return (overall_prior(cells) or pl.lit(None, pl.Float64)) if is_overall(prior) else prior


def prior_columns(arguments: EvaluationArguments) -> list[pl.Expr] | None:
    """The stated shares, of a table that `tabulate` made; None for the groups' own."""
    return [pl.col(f"{_PRIOR}_{i}") for i in range(2)] if arguments.prior.stated else None


def ranking_prior(table: pl.DataFrame, arguments: EvaluationArguments) -> pl.DataFrame | None:
    """The stated shares as the ranking formulas take them; None for the groups' own."""
    stated = prior_columns(arguments)
    return None if stated is None else table.select(GROUP, p0=stated[0], p1=stated[1])


def cells_and_priors(
    cells: Cells, keys: list[str], prior: Any
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """The cells with the number of their group; a row per group, with its keys and counts; the stated priors.

    Of class 0 and of class 1, of each group, null where the prior is none; None in all where none is stated.
    """
    formula, checked = parse_formula_arguments((), {"prior": prior})
    arguments = EvaluationArguments(checked, formula)
    numbered, table = tabulate(cells, keys, arguments)
    stated = prior_columns(arguments)
    return numbered, table, None if stated is None else table.select(stated)
