"""Comparisons of a sketch: the same differences, from its cells in place of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.arguments import battery, check_metrics, parse_arguments
from polars_ec.cells.cells import SCORE, TARGET, Cells, check_keys, of_each_model
from polars_ec.cells.formula_columns import ENDS, LOSS_OF, decision_column, decision_columns, loss_column, loss_columns
from polars_ec.cells.intervals import Intervals
from polars_ec.cells.sums import is_exact, is_overall, join_losses, number_sums, overall_prior, prior_columns, tabulate
from polars_ec.comparing.choice import (
    COLUMNS,
    FEWEST_BUCKETS,
    Reference,
    check_comparable,
    check_prior,
    parse_reference,
)
from polars_ec.comparing.differences import Differences, differences
from polars_ec.comparing.groups import Against, Grouped, compare_groups
from polars_ec.comparing.rank_differences import compare_ranked_groups, compare_ranked_models
from polars_ec.comparing.sides import exclusive
from polars_ec.comparing.sizes import Sizes
from polars_ec.comparing.sketched_ranks import have_same_cells, ranked_of
from polars_ec.comparing.tidy import Piece, against_of, tidy
from polars_ec.display import number
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.estimates import Clusters, Formula, one_hot, slopes_of, with_one_row
from polars_ec.intervals.spread import Moments, has_rows, of_clusters, rests_on_one_cluster
from polars_ec.reporting.choice import CONFUSION
from polars_ec.rows.read import join_groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COUNTS = (*CELLS, CONFUSION)
"""What has no difference with limits."""


def compare_cells(
    cells: Cells,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
    own_threshold: float | None,
    reference: Any,
    request: Request,
    min_rows: int | None,
) -> pl.DataFrame:
    """What `Sketch.compare` gives."""
    check_keys(cells.keys, COLUMNS)
    models = cells.frame[SCORE].unique(maintain_order=True).to_list() if SCORE in cells.keys else ["the model"]
    keys = [key for key in cells.keys if key != SCORE]
    against = parse_reference(reference, models, keys)
    names = list(metrics) or [name for name in battery(cells.grid, keywords) if name not in COUNTS]
    check_difference(cells, names, keywords)
    if against.model is not None:
        return _models(SketchTables(cells, names, keywords, own_threshold, request), models, against, min_rows)
    made = []
    for chosen, part in without_models(cells):
        tables = SketchTables(part, names, keywords, own_threshold, request)
        found = _groups(tables, chosen.get(SCORE), part.keys, against, min_rows)
        made.append(found.with_columns(pl.lit(chosen[TARGET]).alias(TARGET)) if TARGET in chosen else found)
    order = [key for key in cells.keys if key != SCORE]
    return pl.concat(made).sort(order, maintain_order=True).select(*order, *COLUMNS)


def without_models(cells: Cells) -> Iterator[tuple[dict[str, Any], Cells]]:
    """The cells of each model and target, without these group columns, which are beside them."""
    for chosen, part in of_each_model(cells):
        yield chosen, part.group_by(*(key for key in cells.keys if key not in chosen)) if chosen else part


def check_difference(cells: Cells, names: Sequence[str], keywords: Mapping[str, Any]) -> None:
    """SketchError for a metric that the sketch does not have, or within bounds only; and for too few buckets."""
    if cells.buckets is not None and cells.buckets < FEWEST_BUCKETS:
        raise SketchError(
            f"the sketch has {cells.buckets} buckets, too few for p-values: sketch its log with buckets={FEWEST_BUCKETS} or more"
        )
    check_metrics(names, cells.grid, keywords.get("prior"))
    check_comparable(names)
    for name in names:
        if names.count(name) > 1:
            raise SketchError(f"{name} is named twice")
    if cells.grid.score_type == "llr":
        for name in names:
            if name in SCORING_RULES:
                raise SketchError(
                    f"{name} of LLRs at a prior is known within bounds only: compare cllr, or sketch ec.posterior(score, prior=...)"
                )


@dataclass(frozen=True)
class SketchTables:
    """The cells of a comparison or a drift, with the sums of their groups."""

    cells: Cells
    names: Sequence[str]
    keywords: Mapping[str, Any]
    own_threshold: float | None
    request: Request

    @cached_property
    def intervals(self) -> Intervals:
        """What variances are made of."""
        cells, keywords = self.cells, dict(self.keywords)
        if cells.grid.score_type == "llr" and is_overall(keywords.get("prior")):
            keywords["prior"] = overall_prior(cells) or "overall"
        arguments = parse_arguments(self.names, cells.grid, keywords, self.own_threshold)
        for name, threshold in arguments.thresholds.items():
            if not is_exact(cells.grid, threshold):
                raise SketchError(
                    f"{name} at {number(threshold)} is known within bounds only: declare it, sketch(thresholds=[{number(threshold)}])"
                )
        numbered, table = tabulate(cells, cells.keys, arguments)
        if any(name in LOSS_OF for name in self.names):
            table = join_losses(table, number_sums(cells, numbered, table, cells.keys))
        return Intervals(cells, cells.keys, numbered, table, arguments, self.request)

    @property
    def table(self) -> pl.DataFrame:
        """A row per group."""
        return self.intervals.table

    @cached_property
    def wrong(self) -> Floats:
        """How many rows of each group are wrong."""
        return self.table["n_invalid"].cast(pl.Float64).to_numpy()

    def families(self) -> Iterator[Grouped]:
        """Metrics by what they are made of."""
        arguments = self.intervals.arguments
        decided: dict[float, list[str]] = {}
        for name, threshold in arguments.thresholds.items():
            decided.setdefault(threshold, []).append(name)
        for threshold, names in decided.items():
            yield self._decided(threshold, names)
        for loss in dict.fromkeys(LOSS_OF[name] for name in self.names if name in LOSS_OF):
            yield self._lost(loss, [name for name in self.names if LOSS_OF.get(name) == loss])

    def _decided(self, threshold: float, names: Sequence[str]) -> Grouped:
        intervals, end = self.intervals, ENDS[0]
        prior, arguments = prior_columns(intervals.arguments), intervals.arguments.formula
        columns = decision_columns(threshold, end, end)
        values = [decision_column(name, prior, arguments, threshold, end, end) for name in names]
        linear = intervals.sums(columns)
        square = intervals.fine.decided(threshold, end, end, intervals.fine.weight2) if self.cells.weighted else linear
        by_bucket = intervals.by_bucket
        clusters = None if by_bucket is None else by_bucket.decided_clusters(threshold, linear)
        return self._grouped(names, one_hot(linear, square), clusters, (columns, values), decides=True)

    def _lost(self, loss: str, names: Sequence[str]) -> Grouped:
        intervals = self.intervals
        columns = loss_columns(loss)
        totals = intervals.sums(columns)
        values = [loss_column(name, prior_columns(intervals.arguments)) for name in names]
        moments, clusters = None, None
        for cells in (intervals.fine, intervals.by_bucket):
            if cells is None:
                continue
            of_rows = cells.with_sums(cells.losses(loss), totals[..., 1])
            features, unit = (np.ones_like(of_rows), of_rows), np.array([1.0, 0.0])
            if cells is intervals.fine:
                made = cells.moments(features, unit)
                moments = Moments(totals, made.square, unit)
            else:
                clusters = cells.clusters(features, unit)
        assert moments is not None
        return self._grouped(names, moments, clusters, (columns, values), decides=False)

    def _grouped(
        self,
        names: Sequence[str],
        moments: Moments,
        clusters: Clusters | None,
        made_of: tuple[list[list[str]], list[pl.Expr]],
        *,
        decides: bool,
    ) -> Grouped:
        formula, n_groups = self.intervals.formula(*made_of), self.table.height

        def right(wrong: Floats) -> Formula:
            return lambda sums: np.where(np.equal(wrong, 0)[:, None], formula(sums), np.nan)

        def total(sums: Floats) -> Floats:
            # The formula is of all groups.
            values = formula(np.ascontiguousarray(np.broadcast_to(sums, (len(sums), n_groups, *sums.shape[2:]))))
            return np.where(self.wrong.sum() == 0, values[:, :1], np.nan)

        def some(sums: Floats, groups: Integers) -> Floats:
            values = self.intervals.formula(*made_of, groups)(sums)
            return np.where(np.equal(self.wrong[groups], 0)[:, None], values, np.nan)

        return Grouped(
            {name: name for name in names},
            moments,
            clusters,
            with_one_row if decides else None,
            right(self.wrong),
            right(exclusive(self.wrong)),
            total,
            some,
        )


def _groups(
    tables: SketchTables, model: str | None, keys: Sequence[str], reference: Reference, min_rows: int | None
) -> pl.DataFrame:
    table = tables.table
    groups = table.select(GROUP, *keys)
    against: Against = against_of(reference, groups, keys)
    check_prior(tables.intervals.arguments.prior, reference)
    level, found = tables.request.level, dict[str, Differences]()
    with np.errstate(all="ignore"):
        for family in tables.families():
            found |= compare_groups(family, against, level)
        ranked = [name for name in tables.names if name in RANKING_METRICS]
        if ranked:
            of_cells = ranked_of(tables.intervals, np.arange(table.height), table.height)
            found |= {name: compare_ranked_groups(of_cells, name, against, level) for name in ranked}
    sizes = Sizes(table["n"], table["n_missing"], *tables.intervals.amounts)
    return tidy((Piece(model, name, found[name], sizes) for name in tables.names), groups, keys, reference, min_rows)


def _models(tables: SketchTables, models: Sequence[str], reference: Reference, min_rows: int | None) -> pl.DataFrame:
    """Models whose rows are the same: by what each bucket adds to either."""
    cells, table = tables.cells, tables.table
    if cells.coarse is None:
        raise SketchError(
            "the cells of several models do not say which rows are the same: sketch the log with cluster=, the key of what correlated "
            "rows share, or of the row; or compare the rows, lf.ec.compare"
        )
    if cells.coarse["bucket"].null_count():
        raise SketchError(
            "rows without a cluster key are not known to be the same for all models: compare the rows, lf.ec.compare"
        )
    keys = [key for key in cells.keys if key != SCORE]
    of_model = {name: table.filter(pl.col(SCORE) == name) for name in models}
    other = of_model[reference.model or ""]
    groups = other.select(*keys, pl.int_range(pl.len(), dtype=pl.get_index_type()).alias(GROUP))
    pieces = []
    for name in models:
        if name == reference.model:
            continue
        own = of_model[name].rename({GROUP: "__ec_row"})
        placed = join_groups(groups, own, keys) if keys else groups.hstack(own)
        if own.height != other.height or not _same_rows(placed, other):
            raise SketchError(
                f"{name!r} has not the same rows as {reference.model!r}: sketch the rows that have the scores of all models"
            )
        places = placed["__ec_row"].to_numpy(), other[GROUP].to_numpy()
        sizes = Sizes(other["n"], other["n_missing"], *(of[places[1]] for of in tables.intervals.amounts))
        pieces += [Piece(name, metric, of, sizes) for metric, of in _of_models(tables, *places).items()]
    return tidy(pieces, groups, keys, reference, min_rows)


def _same_rows(own: pl.DataFrame, other: pl.DataFrame) -> bool:
    """As far as counts tell, and shares of weights, which are rounded."""
    counts = ["n", "n_missing", "n_invalid"]
    shares, others = (table["class_prior"].fill_null(-1.0).to_numpy() for table in (own, other))
    return own.select(counts).equals(other.select(counts)) and np.allclose(shares, others, rtol=1e-9, equal_nan=True)


def _of_models(tables: SketchTables, own: NDArray[Any], other: NDArray[Any]) -> dict[str, Differences]:
    """Of groups at these places of the table, and of the same groups of the reference."""
    level, found = tables.request.level, dict[str, Differences]()
    same = have_same_cells(tables.intervals, own, other, tables.table.height)
    with np.errstate(all="ignore"):
        for family in tables.families():
            values = family.own(family.moments.linear[None])[0]
            slopes = slopes_of(family.own, family.moments.linear)
            assert family.clusters is not None
            weight = family.clusters.linear @ family.clusters.unit
            known = has_rows(family.moments.rows, several=family.enlarged is None)
            for c, name in enumerate(family.columns):
                influence = np.einsum("gkf,gbkf->gbk", slopes[..., c], family.clusters.linear)
                gap = influence[own] - influence[other]
                spread = of_clusters(weight[other], gap, weight[other].sum(axis=-1)).spread
                on_one = rests_on_one_cluster(slopes[..., c], family.clusters.linear, family.clusters.unit)
                spread = spread.only(
                    np.asarray(known)[other] & (~(on_one[own] | on_one[other]) | (spread.variance == 0))
                )
                found[name] = differences(values[own, c], values[other, c], spread, level, same)
        ranked = [name for name in tables.names if name in RANKING_METRICS]
        if ranked:
            both = [ranked_of(tables.intervals, places, tables.table.height) for places in (own, other)]
            found |= {name: compare_ranked_models(both[0], both[1], name, level, same) for name in ranked}
    return {name: found[name] for name in tables.names}
