"""Count a log into cells in one streaming pass: check the arguments, then read the rows in batches.

Each step is a separate select, because the engine computes columns of a step once, but repeats shared subexpressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, get_args

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL, UNKNOWN
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.inputs import batches
from polars_ec.arguments.keywords import Options, parse_options
from polars_ec.arguments.scales import POSTERIOR, ScoreScale, parse_sketch_score_type, scale_of, score_type_of
from polars_ec.scores.folds import BUCKETS, FOLD, MURMUR3, bucket, buckets_of_clusters, fold, stratified_fold
from polars_ec.scores.read import Rows, check_names, class_index, expand, resolve_columns, with_prior_column
from polars_ec.scores.scores import MANY, BinaryScores, ManyScores, VectorScores, decide
from polars_ec.sketches.arguments import OperatingPoint, check_prior, parse_operating_point
from polars_ec.sketches.cells import SCORE, TARGET, Cells
from polars_ec.sketches.counting import (
    CELL,
    COARSE,
    GROUP,
    ROW_CLASS,
    ROW_SCORE,
    SLOT,
    STAND_IN,
    CellCodes,
    Counting,
    KeyCode,
)
from polars_ec.sketches.decision_pass import decision_cells
from polars_ec.sketches.grid import BUCKET, EXACT, RESERVED, SUMS, WEIGHTS, Grid, checked_resolution, sorted_thresholds
from polars_ec.typing import IntoExpr, Reduction

_BATCH = 250_000
_RESOLUTION, _COSTS = 64, ("cost_fn", "cost_fp")
_SCORE, _INDEX, _WEIGHT, _POSITION, _BIN = ROW_SCORE, ROW_CLASS, "row_weight", "position", "bin"
_OF_MODEL = (_SCORE, _INDEX, _WEIGHT, _POSITION, _BIN, CELL, COARSE, EXACT, "class", *WEIGHTS, *SUMS)


def _column(name: str, m: int) -> str:
    """The name of this column of the m-th model."""
    return f"__{m}_{name}"


def _of(m: int, name: str) -> pl.Expr:
    return pl.col(_column(name, m))


@dataclass(frozen=True)
class FoldKey:
    """The key whose values are assigned to folds, for cross-validation, and the number of folds."""

    folds: int | None = None
    key: IntoExpr | None = None
    stratified: bool = False

    @property
    def is_stated(self) -> bool:
        return self.folds is not None or self.key is not None

    def fold(self, rows: Rows, keys: list[pl.Expr]) -> pl.Expr | None:
        """The column `fold`, if there are folds."""
        if not self.is_stated:
            return None
        if self.folds is None or self.key is None:
            raise ValueError(
                "pass both folds=5 and fold_by='user_id', the column that keeps related rows in one fold (a row number if rows are independent)"
            )
        if self.stratified:
            return stratified_fold(self.key, [*keys, class_index(rows.labels)], self.folds)
        return fold(self.key, self.folds)


@dataclass(frozen=True)
class ClusterKey:
    """The key of correlated rows, whose values are assigned to buckets by a hash, for intervals."""

    key: IntoExpr | None = None
    buckets: int = BUCKETS

    def bucket(self, log: pl.LazyFrame) -> pl.Expr | None:
        """The bucket of each row, named as its key is, if there are clusters."""
        number = buckets_of_clusters(self.key, self.buckets)
        if self.key is None or number is None:
            return None
        key, *others = expand(log, self.key, "cluster")
        if others:
            raise ValueError(f"cluster={self.key!r} has several columns: pass one, such as pl.concat_str(...)")
        assigned = bucket(key, number).alias(key.meta.output_name())
        log.select(assigned).collect_schema()
        return assigned


def make_cells(
    lazy: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    options: Mapping[str, Any],
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    resolution: int = _RESOLUTION,
    thresholds: Sequence[float | CostMatrix] = (),
    exact: bool = False,
    few_rows: int | None = None,
    reduction: Reduction = "one_vs_rest",
    folds: FoldKey,
    clusters: ClusterKey = ClusterKey(),
) -> tuple[Cells, OperatingPoint]:
    """Reduce a log to cells, exact ones if it has no more than `few_rows`; and the operating point of the keywords."""
    if reduction not in get_args(Reduction):
        raise ValueError(f"reduction={reduction!r} is none of {', '.join(get_args(Reduction))}")
    assigned = clusters.bucket(lazy)
    keys = expand(lazy, by, "by")
    if reduction == "decisions":
        stated = {"resolution": resolution != _RESOLUTION, "thresholds": thresholds, "exact": exact}
        for name in [name for name, is_stated in {**stated, "folds": folds.is_stated}.items() if is_stated]:
            raise ValueError(f"{name}= is for cells of scores, but reduction='decisions' keeps decisions: leave it out")
        checked = parse_options(options, _COSTS)
        check_prior(options.get("prior"), checked.scale)
        lazy, checked = with_prior_column(lazy, checked)
        return decision_cells(lazy, _rows_by_model(lazy, score, label, checked, 2), keys, assigned, clusters.buckets)
    _check_not_by_row(options)
    stated_scale = scale_of(options)
    of_vectors = stated_scale is not None and stated_scale.is_vector
    scale = POSTERIOR if of_vectors else parse_sketch_score_type(score_type_of(options))
    check_prior(options.get("prior"), stated_scale or scale)
    stated_resolution = checked_resolution(resolution)
    models = _rows_by_model(lazy, score, label, _reading(options, stated_scale or scale))
    rows = next(iter(models.values()))
    # Reduced vectors have other classes than the log, without names.
    names = rows.labels.names if isinstance(rows.scores, BinaryScores) and reduction != "top_label" else UNKNOWN
    point, numbers = parse_operating_point(thresholds, scale, options, names)
    grid = Grid(scale.name, None if exact else stated_resolution, sorted_thresholds(numbers), names)
    of_coarse = [] if assigned is None else [BUCKET, *grid.coarse.columns]
    of_few = [] if few_rows is None else [EXACT]
    of_models = {_column(name, m) for name in _OF_MODEL for m in range(len(models))}
    own = {*of_models, CELL, COARSE, SLOT, GROUP, ROW_SCORE, ROW_CLASS, SCORE, TARGET}
    check_names(keys, {*grid.columns, *of_coarse, *of_few, *RESERVED, *own}, "a sketch")
    fold = folds.fold(rows, keys)
    if fold is not None and any(key.meta.output_name() == FOLD for key in keys):
        raise ValueError("by= has a column 'fold', which folds= adds: rename it with .alias()")
    columns = _LogColumns.of(lazy, keys, fold, assigned, models, reduction)
    if assigned is None:
        return _count(columns, grid, few_rows, {}), point
    cluster = {"buckets": int(clusters.buckets), "cluster": assigned.meta.output_name(), "hash": MURMUR3}
    return _count(columns, grid, few_rows, cluster), point


def _check_not_by_row(options: Mapping[str, Any]) -> None:
    for name in _COSTS:
        if isinstance(cost := options.get(name), str | pl.Expr):
            shown = repr(cost) if isinstance(cost, str) else str(cost)
            raise ValueError(
                f"{name}={shown} is a column, but a sketch of scores has one cost for all rows: pass reduction='decisions', or a number"
            )


def _rows_by_model(
    lazy: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    reading: Options,
    kernel_above: int = MANY,
) -> dict[str, Rows]:
    scores = expand(lazy, score, "score")
    models = {model.meta.output_name(): resolve_columns(lazy, model, label, reading, kernel_above) for model in scores}
    (first, one), *others = models.items()
    for name, other in others:
        of_as_many = len(one.labels.in_class) == len(other.labels.in_class)
        same = of_as_many and one.class_names.goes_with(other.class_names)
        if not same or type(one.scores) is not type(other.scores):
            raise TypeError(
                f"score= holds {first!r} and {name!r}, which are not both one number per row or vectors of the same "
                "classes: sketch them one by one"
            )
    return models


def _reading(options: Mapping[str, Any], scale: ScoreScale) -> Options:
    """The options to read rows by: no decision is taken, and no prior turns LLRs and raw scores into anything."""
    checked = parse_options({**options, "score_type": scale.without_prior.name})
    prior = checked.prior if checked.scale.needs_prior else EMPIRICAL
    return replace(checked, prior=prior, stated_costs=None, cost_fn=1.0, cost_fp=1.0, threshold=None)


def _count(columns: _LogColumns, grid: Grid, few_rows: int | None, cluster: Mapping[str, Any]) -> Cells:
    plan = _CellPlan(columns, grid, may_be_exact=few_rows is not None, has_clusters=bool(cluster))
    others = plan.batches()
    # Before anything is counted, so that the engine reads on while NumPy is imported.
    first = _beginning(others, few_rows or 0)
    if few_rows is not None and sum(batch.height for batch in first) <= few_rows:
        grid = replace(grid, resolution=None)
    counting = Counting(columns.codes, grid, columns.weights, SUMS if grid.has_sums else (), cluster.get("buckets"))
    # A log without rows has cells of no rows.
    for batch in chain([plan.cells(columns.log.clear()).collect()], first, others):
        for m in range(len(columns.models)):
            counting.add(plan.rows_of_model(batch, m))
    cells, sums, coarse = counting.tables()
    # Names in place of numbers.
    names, named, amounts, codes = columns.names, columns.named, ["n", *columns.weights], CellCodes(grid)
    if grid.resolution is not None:
        cells = cells.with_columns(**codes.decoded(pl.col(CELL)))
    cells = cells.with_columns(named).select(*names, "class", *grid.cell_columns, *amounts)
    if sums is not None:
        sums = sums.with_columns(*named, **codes.of_slot(pl.col(SLOT))).select(*names, "class", "above", *SUMS)
    if coarse is not None:
        of_number = CellCodes(grid.coarse).all_decoded()
        coarse = coarse.hstack(of_number[coarse[COARSE]]).with_columns(named)
        coarse = coarse.select(*names, BUCKET, *of_number.columns, *amounts)
    return Cells(cells, grid, bool(columns.weights), sums, coarse, **cluster)


@dataclass(frozen=True)
class _LogColumns:
    """The rows of all models side by side, to be cut apart in each batch, so that the log is read once."""

    log: pl.LazyFrame
    models: Mapping[str, Rows]
    codes: list[KeyCode]
    has_buckets: bool

    @classmethod
    def of(
        cls,
        frame: pl.LazyFrame,
        keys: list[pl.Expr],
        fold: pl.Expr | None,
        bucket: pl.Expr | None,
        models: Mapping[str, Rows],
        reduction: Reduction,
    ) -> _LogColumns:
        grouped = [*keys, *([] if fold is None else [fold])]
        codes = {name: KeyCode.of(name, dtype) for name, dtype in frame.select(grouped).collect_schema().items()}
        encoded = [code.encoded(key) for code, key in zip(codes.values(), grouped, strict=True)]
        buckets = [] if bucket is None else [bucket.alias(BUCKET)]
        scores = [_one_score(model, reduction, m) for m, model in enumerate(models.values())]
        log = frame.select(*encoded, *buckets, *(column for columns in scores for column in columns))
        first = next(iter(models.values()))
        tall = reduction == "one_vs_rest" and isinstance(first.scores, VectorScores | ManyScores)
        codes |= {name: KeyCode.of(name, pl.Int16()) for name in (SCORE, TARGET)}
        by = [key.meta.output_name() for key in keys]
        several, folds = [SCORE] if len(models) > 1 else [], [] if fold is None else [FOLD]
        names = [*by, *several, *folds, *([TARGET] if tall else [])]
        return cls(log, models, [codes[name] for name in names], bucket is not None)

    @property
    def rows(self) -> Rows:
        """The rows of the first model: all have the same labels and weights."""
        return next(iter(self.models.values()))

    @property
    def names(self) -> list[str]:
        return [code.name for code in self.codes]

    @property
    def kept(self) -> list[str]:
        """The columns of a row that stay beside its cell and its weight."""
        return [*self.names, *([BUCKET] if self.has_buckets else [])]

    @property
    def weights(self) -> list[str]:
        return [] if self.rows.weight is None else [*WEIGHTS]

    @property
    def named(self) -> list[pl.Expr]:
        """The columns of models, if there are several, and of targets in a tall log, with names in place of numbers."""
        names_of: dict[str, pl.Series] = {}
        if TARGET in self.names:
            known = self.rows.labels.names
            # "not 1" and 1 have no type in common but text.
            classes = [str(value) for value in known.values] if known.rest else known.values
            names_of[TARGET] = pl.Series(classes, strict=False)
        if SCORE in self.names:
            names_of[SCORE] = pl.Series([*self.models])
        return [pl.col(name).replace_strict(range(len(values)), values) for name, values in names_of.items()]


@dataclass(frozen=True)
class _CellPlan:
    """From rows of the log to their cells, those of all models side by side, in one plan of the engine, which works on many cores."""

    columns: _LogColumns
    grid: Grid
    may_be_exact: bool
    has_clusters: bool

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows with their cells, some at a time."""
        if not self._is_tall:
            return batches(self.cells(self.columns.log), _BATCH)
        # A row becomes one per class, which the engine would hold in memory for all current rows.
        parts = batches(self.columns.log, max(_BATCH // len(self.columns.rows.labels.in_class), 1))
        return (self.cells(part.lazy()).collect(engine="streaming") for part in parts)

    def rows_of_model(self, batch: pl.DataFrame, m: int) -> pl.DataFrame:
        """The rows of a batch with the cells of one model, as `Counting` takes them."""
        names = [name for name in _OF_MODEL if _column(name, m) in batch.columns]
        kept = [pl.lit(m, dtype=pl.Int16).alias(SCORE) if name == SCORE else name for name in self.columns.kept]
        return batch.select(*kept, **{name: pl.col(_column(name, m)) for name in names})

    @property
    def _is_tall(self) -> bool:
        return TARGET in self.columns.names

    def cells(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The plan of the cells of these rows."""
        models, grid = range(len(self.columns.models)), self.grid
        names = [name for name in self.columns.kept if name != SCORE]
        if self._is_tall:
            rows = _one_row_per_class(rows, len(self.columns.rows.labels.in_class), models)
        if self.has_clusters and (self.may_be_exact or grid.is_cut_by_coarse):
            rows = _with_codes(rows, COARSE, replace(grid, resolution=None).coarse, models)
            names += [_column(COARSE, m) for m in models]
        if grid.resolution is not None and not grid.has_share_bins:
            rows = _with_codes(rows, CELL, grid, models)
            names += [_column(CELL, m) for m in models]
        values = {_column(name, m): value for m in models for name, value in self._values(m).items()}
        return rows.select(*names, **values)

    def _values(self, m: int) -> dict[str, pl.Expr]:
        """The values that are summed over the rows of a cell, and their class and score if these may define the cell."""
        values, weight, index = dict[str, pl.Expr](), None, _of(m, _INDEX)
        if self.columns.weights:
            weight = _of(m, _WEIGHT)
            values |= {"weight": weight, "weight2": weight * weight}
        if self.may_be_exact or self.grid.resolution is None:
            values |= {"class": index.cast(pl.Int8), EXACT: pl.when(index >= 0).then(_of(m, _SCORE))}
        if self.grid.has_share_bins:
            # NumPy makes the cells and losses of posteriors.
            return values | {_SCORE: _of(m, _SCORE), _INDEX: index.fill_null(2)}
        return values | (_losses(self.grid, m, weight) if self.grid.has_sums else {})


def _beginning(parts: Iterator[pl.DataFrame], few_rows: int) -> list[pl.DataFrame]:
    first, rows = list[pl.DataFrame](), 0
    while rows <= few_rows and (part := next(parts, None)) is not None:
        first.append(part)
        rows += part.height
    return first


def _with_codes(rows: pl.LazyFrame, code: str, grid: Grid, models: Sequence[int]) -> pl.LazyFrame:
    """Rows with the number of their cell."""
    rows = rows.with_columns(grid.scale.position(_of(m, _SCORE)).alias(_column(_POSITION, m)) for m in models)
    rows = rows.with_columns(grid.bin(_of(m, _SCORE), _of(m, _POSITION)).alias(_column(_BIN, m)) for m in models)
    codes = [CellCodes(grid).encoded(_of(m, _INDEX), _of(m, _SCORE), _of(m, _BIN)) for m in models]
    return rows.with_columns(number.alias(_column(code, m)) for m, number in zip(models, codes, strict=True))


def _losses(grid: Grid, m: int, weight: pl.Expr | None) -> dict[str, pl.Expr]:
    score, positive = _of(m, _SCORE), _of(m, _INDEX) == 1
    in_class = [~positive, positive]
    scores = BinaryScores(score, grid.scale.without_prior)
    values = {"log_loss": scores.log_loss(in_class), "brier": scores.brier(in_class), "posterior": scores.posteriors[1]}
    if weight is not None:
        values = {name: value * weight for name, value in values.items()}
        # A row of weight 0 counts as no row, also when its loss is infinite, which alone can be.
        values["log_loss"] = pl.when(weight == 0).then(0.0).otherwise(values["log_loss"])
    return values


def _one_score(rows: Rows, reduction: Reduction, m: int) -> list[pl.Expr]:
    """Score, class (-1: invalid, null: missing) and weight of a row, for the m-th model; one against the rest, a list of K scores."""
    scores, index, stand_in = rows.scores, class_index(rows.labels), pl.lit(STAND_IN)
    if reduction == "top_label":
        score = scores.top_posterior.clip(upper_bound=1)
        if isinstance(scores, BinaryScores):
            if not scores.scale.is_share:
                raise ValueError("reduction='top_label' needs posteriors: sketch ec.posterior(score)")
            score = scores.scale.of_share(score)
        top = decide(scores, CostMatrix.zero_one(len(rows.labels.in_class)), None).index
        index = (top == index).cast(pl.Int16)
    elif isinstance(scores, BinaryScores):
        score = scores.score
    else:
        score = scores.of_posteriors(lambda posteriors: pl.concat_list(q.clip(upper_bound=1) for q in posteriors))
        stand_in = pl.lit([STAND_IN] * len(rows.labels.in_class), dtype=pl.List(pl.Float64))
    read = {_SCORE: pl.when(rows.usable).then(score).otherwise(stand_in), _INDEX: rows.class_or_invalid(index)}
    if rows.weight is not None:
        read[_WEIGHT] = pl.when(rows.usable).then(rows.weight).otherwise(0.0)
    return [column.alias(_column(name, m)) for name, column in read.items()]


def _one_row_per_class(rows: pl.LazyFrame, n_classes: int, models: Sequence[int]) -> pl.LazyFrame:
    targets = pl.concat_list(pl.lit(k, dtype=pl.Int16) for k in range(n_classes))
    tall = rows.with_columns(targets.alias(TARGET)).explode(TARGET, *(_column(_SCORE, m) for m in models))
    indices = {_column(_INDEX, m): _of(m, _INDEX) for m in models}
    in_target = {name: (index == pl.col(TARGET)).cast(pl.Int16) for name, index in indices.items()}
    binary = {name: pl.when(of >= 0).then(in_target[name]).otherwise(of) for name, of in indices.items()}
    return tall.with_columns(**binary)
