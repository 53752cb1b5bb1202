"""Losses of the rows of a cell: exact in an exact sketch, otherwise by their bin.

A cell contains only the bin of its rows' log-odds. Each row is evaluated at the middle of the bin, at most half a bin off, or at the finite
edge of an open-ended bin.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_ec.arguments.classes import CheckedPrior, ClassNames
from polars_ec.arguments.scales import LOG_ODDS
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import prepare
from polars_ec.formulas.sums import GROUP, MOST_WEIGHT, Sums, ratio
from polars_ec.scores.read import join_groups
from polars_ec.scores.scores import BinaryScores, sigmoid
from polars_ec.sketches.arguments import EvaluationArguments, parse_formula_arguments
from polars_ec.sketches.cells import Cells, check_keys, keys_of_models
from polars_ec.sketches.grid import EXACT, SUMS, Grid


def scores_of_cells(grid: Grid) -> BinaryScores:
    """The score of the rows of a cell: their very score in an exact sketch, else `log_odds`."""
    if grid.resolution is None:
        return BinaryScores(pl.col(EXACT), grid.scale.without_prior)
    below, above = grid.bin_edges()
    inner = (
        pl.when(below.is_infinite()).then(above).when(above.is_infinite()).then(below).otherwise((below + above) / 2)
    )
    # Both edges of the outermost bins are the infinite score that these hold.
    middle = pl.when(grid.is_point()).then(pl.when(pl.col("bin") > 0).then(math.inf).otherwise(-math.inf))
    return BinaryScores(middle.otherwise(inner), LOG_ODDS)


def log_odds(grid: Grid) -> pl.Expr:
    """Log-odds of the rows of a cell, or their LLR; null for rows that are not usable."""
    return pl.when(pl.col("class") >= 0).then(scores_of_cells(grid).log_odds)


def posterior(grid: Grid) -> pl.Expr:
    """Posterior of class 1 of the rows of a cell, of LLRs at even prior; null for rows that are not usable."""
    return pl.when(pl.col("class") >= 0).then(scores_of_cells(grid).posteriors[1])


def losses(grid: Grid) -> dict[str, pl.Expr]:
    """The values of a row of a cell, by its class, that `SUMS` are sums of."""
    scores, in_class = scores_of_cells(grid), [pl.col("class") == 0, pl.col("class") == 1]
    values = [scores.log_loss(in_class), scores.brier(in_class), scores.posteriors[1]]
    return dict(zip(SUMS, values, strict=True))


def log_odds_bounds(grid: Grid) -> tuple[pl.Expr, pl.Expr]:
    """Least and largest log-odds that the rows of a cell can have; null for rows that are not usable."""
    if grid.resolution is None:
        return log_odds(grid), log_odds(grid)
    below, above = grid.bin_edges()
    usable = pl.when(pl.col("class") >= 0)
    return usable.then(below), usable.then(above)


def posterior_bounds(grid: Grid) -> tuple[pl.Expr, pl.Expr]:
    """Least and largest posterior of class 1 that the rows of a cell can have, beside rounding."""
    if grid.resolution is None:
        return posterior(grid), posterior(grid)
    below, above = log_odds_bounds(grid)
    return sigmoid(below), sigmoid(above)


# Cells summed per group: what the formulas of metrics take.

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
        # From the sums of its own cells, so that their shares are at most 1.
        return self._by_decision[0][i] + self._by_decision[1][i]

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        assert self._by_decision is not None
        return reduce(add, [self._by_decision[j][i] for j in sorted(decided)])

    def total(self, i: int, name: str) -> pl.Expr:
        return pl.col(f"__ec_{name}_{i}")


def number_groups(cells: Cells, keys: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The cells with the number of their group; and the keys of each group with its number."""
    # An error if the cells are those of decisions, which have no scores.
    _ = cells.grid.scale
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
    first = run_starts(table, keys)
    return table.select(keys).filter(first), first.cum_sum() - 1


def run_starts(table: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """True for the first row of each run of equal ones."""
    changes = [pl.col(name).ne_missing(pl.col(name).shift()) for name in by]
    return table.select(pl.any_horizontal(pl.int_range(pl.len()) == 0, *changes).alias(GROUP))[GROUP]


def number_sums(cells: Cells, numbered: pl.DataFrame, groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Exact `SUMS` by the number of the group, the class and the place that they know; for cells of `number_groups` or `tabulate`."""
    if cells.sums is None:
        weight = pl.col("weight")
        summed = {name: pl.when(weight > 0).then(of * weight).otherwise(0.0) for name, of in losses(cells.grid).items()}
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
    """Masks: all scores of a cell are above the threshold; if not, some may be."""
    never = pl.lit(value=False)
    if grid.resolution is None:
        return pl.col(EXACT) > threshold, never
    if threshold in grid.thresholds:
        return pl.col("above") > grid.thresholds.index(threshold), never
    low, high = grid.scale.bounds
    if not low <= threshold < high:
        return pl.lit(value=threshold < low), never
    # Scores of a higher bin are above it; within its bin the declared thresholds still discriminate.
    at = pl.select(grid.bin(pl.lit(threshold), grid.scale.position(pl.lit(threshold)))).item()
    lower = sum(t < threshold for t in grid.thresholds)
    bin_, above = pl.col("bin"), pl.col("above")
    certain = ((bin_ > at) | (above > lower)) & (bin_ >= at)
    point = grid.is_point()
    return certain, (bin_ == at) & (above == lower) & ~point


def is_exact(grid: Grid, threshold: float) -> bool:
    """True if the counts at this threshold are exact, whatever the data."""
    # No score is cut by a threshold beyond all scores, or at a score that has a cell of its own.
    low, high = grid.scale.bounds
    return grid.resolution is None or threshold in grid.thresholds or not low < threshold < high


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
    """The prior of all groups together, for each score and target; null if a row is invalid, or none is usable."""
    within = keys_of_models(keys)

    def whole(column: str) -> pl.Expr:
        return pl.col(column).sum().over(within) if within else pl.col(column).sum()

    counts = [whole(f"__ec_count_{i}") for i in range(2)]
    size = counts[0] + counts[1]
    right = (whole("n_invalid") == 0) & (size < MOST_WEIGHT)
    shares = {f"{_PRIOR}_{i}": pl.when(right).then(ratio(count, size)) for i, count in enumerate(counts)}
    return table.with_columns(**shares).select(*shares)


def overall_prior(cells: Cells) -> Any:
    """The prior "overall" of these cells in numbers; itself where it means several things, None where it has no meaning."""
    label, classes = pl.col("class"), [str(i) for i in range(len(cells.grid.classes.values))]
    of_class = {name: pl.when(label == i).then("weight").otherwise(0.0).sum() for i, name in enumerate(classes)}
    rows, within = cells.weighed(), keys_of_models(cells.keys)
    sums = rows.group_by(within or pl.lit(0)).agg(**of_class, invalid=(label == -1).any())
    size = pl.sum_horizontal(classes)
    right = ~pl.col("invalid") & (size < MOST_WEIGHT)
    found = sums.select(pl.when(right).then(ratio(pl.col(name), size)) for name in classes).unique()
    if found.height > 1:
        return "overall"
    return None if found.height == 0 or None in found.row(0) else list(found.row(0))


def is_overall(prior: Any) -> bool:
    """Whether this is the word "overall", and no expression or array."""
    return isinstance(prior, str) and prior == "overall"


def prior_of_rows(prior: Any, cells: Cells) -> Any:
    """The stated prior, with "overall" replaced by the class shares in these cells, for derived cells that repeat their rows."""
    return (overall_prior(cells) or pl.lit(None, pl.Float64)) if is_overall(prior) else prior


def prior_columns(arguments: EvaluationArguments) -> list[pl.Expr] | None:
    """The stated shares, of a table that `tabulate` made; None for the groups' own."""
    return [pl.col(f"{_PRIOR}_{i}") for i in range(2)] if arguments.prior.stated else None


def ranking_prior(table: pl.DataFrame, arguments: EvaluationArguments) -> pl.DataFrame | None:
    """The stated shares as the ranking formulas take them; None for the groups' own."""
    stated = prior_columns(arguments)
    return None if stated is None else table.select(GROUP, p0=stated[0], p1=stated[1])


def stated_priors(cells: Cells, keys: list[str], prior: Any) -> pl.DataFrame | None:
    """The stated shares of both classes, a row per group, null if invalid; None for the groups' own."""
    arguments = parse_formula_arguments((), {"prior": prior})
    _, table = tabulate(cells, keys, arguments)
    stated = prior_columns(arguments)
    return None if stated is None else table.select(stated)


# The formulas of metrics on the sums of a table that `tabulate` made.

End: TypeAlias = Literal["least", "most"]
"""Whether none or all of the rows in cells with a threshold inside are decided positive."""

ENDS: Sequence[End] = ("least", "most")
_OPPOSITE: dict[End, End] = {"least": "most", "most": "least"}
LOSS_OF = {**{name: rule.loss for name, rule in SCORING_RULES.items()}, "cllr": "log_loss"}
"""The loss whose mean over each class determines a metric."""

T = "__ec_t"
"""The column with the posterior t above which a point of a curve decides positive, for costs that depend on it."""

LOWEST = "__ec_lowest"
"""The column that marks the point below the lowest score that there may be, at which no threshold is."""

SHIFT = "__ec_shift"
"""The column with the shift from an LLR to log-odds, for losses at a prior."""


def decision_columns(threshold: float, of_1: End, of_0: End) -> list[list[str]]:
    """For either class the columns of its rows that are decided negative, and positive."""
    return [
        [f"__ec_{_OPPOSITE[end]}_negative_{i}_{threshold!r}", f"__ec_{end}_positive_{i}_{threshold!r}"]
        for i, end in enumerate((of_0, of_1))
    ]


def decision_column(
    name: str, prior: list[pl.Expr] | None, formula: Arguments, threshold: float, of_1: End, of_0: End
) -> pl.Expr:
    """A metric of decisions."""
    negative, positive = zip(*decision_columns(threshold, of_1, of_0), strict=True)
    return decision_value(name, GroupSums(prior, [*map(pl.col, positive)], [*map(pl.col, negative)]), formula)


def loss_columns(loss: str, end: str = "") -> list[list[str]]:
    """For either class the columns of its rows, and of the sum of the loss over them."""
    return [[f"__ec_count_{i}", f"__ec_{loss}{end}_{i}"] for i in range(2)]


def loss_column(name: str, prior: list[pl.Expr] | None, end: str = "") -> pl.Expr:
    """A metric that is a mean loss; `end` says which bound of the sums is meant, where they are not known."""
    if name == "cllr":
        return loss_column("cross_entropy", [pl.lit(0.5), pl.lit(0.5)]) / math.log(2)
    sums, rule = GroupSums(prior), SCORING_RULES[name]
    return rule.value(sums, [sums.total(i, rule.loss + end) for i in range(2)])


# Cells in the order of their scores: every operating point that they have.


def ordered_cells(numbered: pl.DataFrame, grid: Grid, weighted: bool) -> pl.DataFrame:
    """Cells of both classes side by side, highest score first, as `prepare` takes them: weights `w1`, `w0` and, if known, squares `v1`, `v0`."""
    label = pl.col("class")
    cell = grid.cell_columns
    # Sums of squared weights only where there are any.
    sums = {"w": "weight", **({"v": "weight2"} if "weight2" in numbered.columns else {})}
    of_classes = {f"{x}{i}": pl.when(label == i).then(name).sum() for x, name in sums.items() for i in (1, 0)}
    cells = (
        numbered.filter(label >= 0)
        .group_by(GROUP, *cell)
        .agg(**of_classes)
        .sort(GROUP, *cell, descending=[False] + [True] * len(cell))
    )
    if grid.resolution is None:
        threshold = pl.col(EXACT).shift(-1).over(GROUP).fill_null(-math.inf)
    else:
        threshold = grid.lower_edge()
    return cells.with_columns(point=grid.is_point(), threshold=threshold, whole=pl.lit(value=not weighted))


def prepared_cells(cells: Cells) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells in the form for ranking formulas, for groups without invalid rows, and the keys of these groups."""
    numbered, groups = number_groups(cells, cells.keys)
    invalid = numbered.filter(pl.col("class") == -1).select(GROUP).unique()
    numbered = numbered.join(invalid, on=GROUP, how="anti", maintain_order="left")
    return prepare(ordered_cells(numbered, cells.grid, cells.weighted), None), groups


def edge_columns(i: int, *, squared: bool = False) -> tuple[str, str]:
    """The columns of the rows of class i that are decided negative, and positive, or of the squares of their weights."""
    return f"__ec_negative{2 * squared}_{i}", f"__ec_positive{2 * squared}_{i}"


SUMS_AT_EDGES = r"^__ec_(negative|positive)[02]_[01]$"
"""The columns that `edge_columns` names."""


def at_every_edge(cells: Cells, arguments: EvaluationArguments) -> tuple[pl.DataFrame, GroupSums]:
    """Every operating point of every group, and its sums as formulas take them."""
    numbered, table = tabulate(cells, cells.keys, arguments)
    table = table.filter(pl.col("n_invalid") == 0)
    steps = ordered_cells(numbered, cells.grid, cells.weighted).with_columns(cells.grid.is_lowest().alias(LOWEST))
    amounts = [name for name in ("w0", "w1", "v0", "v1") if name in steps.columns]
    none = dict.fromkeys(amounts, pl.lit(0.0)) | {LOWEST: pl.lit(value=False)}
    top = table.select(GROUP, threshold=pl.lit(math.inf), **none)
    points = pl.concat([top, steps.select(top.columns)])
    points = points.sort(GROUP, "threshold", descending=[False, True], maintain_order=True)
    running: dict[str, pl.Expr] = {}
    for name in amounts:
        amount, (negative, positive) = pl.col(name), edge_columns(int(name[1]), squared=name[0] == "v")
        running[positive] = amount.cum_sum().over(GROUP)
        # From the bottom up, and not by a difference, which of sums of weights may be below 0.
        running[negative] = amount.cum_sum(reverse=True).shift(-1, fill_value=0.0).over(GROUP)
    points = points.with_columns(**running)
    sums = GroupSums(prior_columns(arguments), *([pl.col(edge_columns(i)[side]) for i in range(2)] for side in (1, 0)))
    return table.join(points, on=GROUP, maintain_order="left_right"), sums
