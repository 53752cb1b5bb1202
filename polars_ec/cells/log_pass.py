"""The pass over the log that makes a sketch: from rows to cells, by the streaming engine, some rows at a time.

It is a select to a step, because the engine computes a step's columns once, and what expressions repeat as often as they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from polars_ec.cells.cells import SCORE, TARGET
from polars_ec.cells.codes import CELL, COARSE, GROUP, SLOT, STAND_IN, CellCodes, KeyCode
from polars_ec.cells.grid import BUCKET, EXACT, SUMS, WEIGHTS, Grid
from polars_ec.costs import CostMatrix
from polars_ec.rows.batches import ahead, batches
from polars_ec.rows.decisions import decide
from polars_ec.rows.folds import FOLD
from polars_ec.rows.labels import class_index
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import Rows
from polars_ec.rows.scores import BinaryScores, VectorScores, log_loss_of_posterior
from polars_ec.typing import Reduction

if TYPE_CHECKING:
    from polars_ec.cells.posterior_bins import PosteriorBins

_BATCH = 500_000
_OF_MODELS = _SCORE, _INDEX, _WEIGHT = "__score", "__class", "__weight"
_LOGS = ["__log_0", "__log_1"]
_POSITION, _BIN = "__position", "__bin"


def own_names(n_models: int) -> set[str]:
    """Names of columns while rows are read: no group column may be called so."""
    of_models = {f"{name}_{m}" for name in _OF_MODELS for m in range(n_models)}
    return {*_OF_MODELS, *of_models, *_LOGS, _POSITION, _BIN, CELL, COARSE, SLOT, GROUP}


@dataclass(frozen=True)
class Buckets:
    """The bucket of each row, and how many buckets there are."""

    bucket: pl.Expr
    number: int


@dataclass(frozen=True)
class Reduced:
    """The tables of a sketch, each sorted, and its grid."""

    frame: pl.DataFrame
    sums: pl.DataFrame | None
    coarse: pl.DataFrame | None
    grid: Grid


def reduce_log(
    frame: pl.LazyFrame,
    keys: list[pl.Expr],
    fold: pl.Expr | None,
    buckets: Buckets | None,
    models: Mapping[str, Rows],
    grid: Grid,
    reduction: Reduction,
    few_rows: int | None,
) -> Reduced:
    """The cells of a sketch, its sums if it has any, its coarse cells if there are buckets, and their grid.

    That is an exact one of a log of no more than `few_rows`, where these are stated.
    """
    # Imported here, for it needs numpy.
    from polars_ec.cells.counting import Counting
    from polars_ec.cells.posterior_bins import PosteriorBins

    rows = next(iter(models.values()))
    grouped = [*keys, *([] if fold is None else [fold])]
    codes = {name: KeyCode.of(name, dtype) for name, dtype in frame.select(grouped).collect_schema().items()}
    # The columns of all models are read side by side, and cut apart in each batch: the log is read once.
    read = [_one_score(model, reduction, m) for m, model in enumerate(models.values())]
    encoded = [code.encoded(key) for code, key in zip(codes.values(), grouped, strict=True)]
    in_bucket = [] if buckets is None else [buckets.bucket.alias(BUCKET)]
    log = frame.select(*encoded, *in_bucket, *(column for columns in read for column in columns))
    several, tall = len(models) > 1, _is_one_vs_rest(rows, reduction)
    codes |= {name: KeyCode.of(name, pl.Int16()) for name in (SCORE, TARGET)}
    by = [key.meta.output_name() for key in keys]
    names = [*by, *([SCORE] if several else []), *([] if fold is None else [FOLD]), *([TARGET] if tall else [])]
    size = max(_BATCH // (len(rows.labels.in_class) if tall else 1), 1)
    first, others = list[pl.DataFrame](), batches(log, size)
    if few_rows is not None:
        first = _beginning(others, few_rows)
        if sum(batch.height for batch in first) <= few_rows:
            grid = replace(grid, resolution=None)
    cell_codes = CellCodes(grid)
    weights = [] if rows.weight is None else [*WEIGHTS]
    of_names = [codes[name] for name in names]
    sums_of = SUMS if grid.has_sums else ()
    counting = Counting(of_names, grid, weights, sums_of, None if buckets is None else buckets.number)
    kept = [*names, *(BUCKET for _ in in_bucket)]
    coarse = grid.coarse if buckets is not None and grid.is_cut_by_coarse else None
    bins, coarse_bins = (
        PosteriorBins(made)
        if made is not None and made.score_type == "posterior" and made.resolution is not None
        else None
        for made in (grid, coarse)
    )

    def counted(batch: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        for m, model in enumerate(models.values()):
            of_model, own = _rows_of_model(batch, m, model, kept), kept
            if coarse is not None:
                of_model, own = _with_coarse_cells(of_model, coarse, coarse_bins), [*kept, COARSE]
            cells = _cells_of_rows(of_model, model, own, cell_codes, bins)
            # Few batches have such rows, and those that have none need no look at each row.
            if grid.resolution is not None and cells.select(cell_codes.has_unusable(pl.col(CELL))).item():
                cells = cells.with_columns(cell_codes.of_unusable(pl.col(CELL)))
            yield cells

    parts = chain([log.clear()], (batch.lazy() for batch in chain(first, others)))
    # One batch is counted while the next is put into cells.
    for cells in ahead(chain.from_iterable(map(counted, parts))):
        counting.add(cells)
    made = counting.tables()
    named = _named(rows, [*models] if several else [], tall=tall)
    cells, sums, of_buckets = made.cells, made.sums, made.coarse
    if grid.resolution is not None:
        cells = cells.with_columns(**cell_codes.decoded(pl.col(CELL)))
    amounts = ["n", *weights]
    cells = cells.with_columns(named).select(*names, "class", *grid.cell_columns, *amounts)
    if sums is not None:
        sums = sums.with_columns(*named, **cell_codes.of_slot(pl.col(SLOT))).select(*names, "class", "above", *SUMS)
    if of_buckets is not None:
        of_number = CellCodes(grid.coarse).all_decoded()
        of_buckets = of_buckets.hstack(of_number[of_buckets[COARSE]]).with_columns(named)
        of_buckets = of_buckets.select(*names, BUCKET, *of_number.columns, *amounts)
    return Reduced(cells, sums, of_buckets, grid)


def _named(rows: Rows, models: list[str], *, tall: bool) -> list[pl.Expr]:
    """The columns of models, if any are named, and of targets in a tall log, with names in place of numbers."""
    names_of: dict[str, pl.Series] = {}
    if tall:
        known = rows.labels.names
        # "not 1" and 1 have no type in common but text.
        classes = [str(value) for value in known.values] if known.rest else known.values
        names_of[TARGET] = pl.Series(classes, strict=False)
    if models:
        names_of[SCORE] = pl.Series(models)
    return [pl.col(name).replace_strict(range(len(values)), values) for name, values in names_of.items()]


def _beginning(parts: Iterator[pl.DataFrame], few_rows: int) -> list[pl.DataFrame]:
    """The next parts, with more than a few rows, or all parts."""
    first, rows = list[pl.DataFrame](), 0
    while rows <= few_rows and (part := next(parts, None)) is not None:
        first.append(part)
        rows += part.height
    return first


def _rows_of_model(log: pl.LazyFrame, m: int, model: Rows, names: list[str]) -> pl.LazyFrame:
    """The rows of a model, the m-th: their groups, class, score and weight."""
    own = [_SCORE, _INDEX, *([] if model.weight is None else [_WEIGHT])]
    of_row = [pl.lit(m, dtype=pl.Int16).alias(SCORE) if name == SCORE else name for name in names if name != TARGET]
    made = log.select(*of_row, **{name: pl.col(f"{name}_{m}") for name in own})
    return _one_row_per_class(made, len(model.labels.in_class)) if TARGET in names else made


def _cells_of_rows(
    rows: pl.LazyFrame, model: Rows, names: list[str], cell_codes: CellCodes, bins: PosteriorBins | None
) -> pl.DataFrame:
    """The groups of rows, their cell, and the values that are summed."""
    grid = cell_codes.grid
    score, index, weight = pl.col(_SCORE), pl.col(_INDEX), None if model.weight is None else pl.col(_WEIGHT)
    values = {} if weight is None else {"weight": weight, "weight2": weight * weight}
    if grid.resolution is None:
        kept = pl.when(index >= 0).then(score).alias(EXACT)
        return rows.select(*names, index.cast(pl.Int8).alias("class"), kept, **values).collect(engine="streaming")
    cell = CellCodes(grid).encoded(index, score, pl.col(_BIN))
    if grid.has_sums:
        values |= _losses(grid, score, index == 1, weight)
    return _with_bins(rows, grid, bins).select(*names, cell.alias(CELL), **values).collect(engine="streaming")


def _with_coarse_cells(rows: pl.LazyFrame, grid: Grid, bins: PosteriorBins | None) -> pl.LazyFrame:
    """Rows with the number of their cell on the coarse grid."""
    codes = CellCodes(grid)
    cell = codes.of_unusable(codes.encoded(pl.col(_INDEX), pl.col(_SCORE), pl.col(_BIN)))
    return _with_bins(rows, grid, bins).with_columns(cell.alias(COARSE)).drop(_BIN)


def _with_bins(rows: pl.LazyFrame, grid: Grid, bins: PosteriorBins | None) -> pl.LazyFrame:
    """Rows with their bin, and beside posteriors with the logarithms that it follows from."""
    if bins is not None:
        collected = rows.collect(engine="streaming")
        columns = zip([*_LOGS, _BIN], bins.of(collected[_SCORE]), strict=True)
        return collected.lazy().with_columns(column.alias(name) for name, column in columns)
    score = pl.col(_SCORE)
    placed = rows.with_columns(grid.position(score).alias(_POSITION))
    return placed.with_columns(grid.bin(score, pl.col(_POSITION)).alias(_BIN))


def _losses(grid: Grid, score: pl.Expr, positive: pl.Expr, weight: pl.Expr | None) -> dict[str, pl.Expr]:
    """What the sums of a sketch are of; beside the score there are its logarithms."""
    in_class = [~positive, positive]
    scores = BinaryScores(score, "posterior" if grid.score_type == "posterior" else "log_odds", None)
    if grid.score_type == "posterior":
        true, other = scores.true_and_other(in_class)
        log_0, log_1 = map(pl.col, _LOGS)
        log_loss = log_loss_of_posterior(true, other, pl.when(positive).then(log_1).otherwise(log_0))
    else:
        log_loss = scores.log_loss(in_class)
    values = {"log_loss": log_loss, "brier": scores.brier(in_class), "posterior": scores.posteriors[1]}
    if weight is not None:
        values = {name: value * weight for name, value in values.items()}
        # A row of weight 0 counts as no row, also when its loss is infinite, which alone can be.
        values["log_loss"] = pl.when(weight == 0).then(0.0).otherwise(values["log_loss"])
    return values


def _is_one_vs_rest(rows: Rows, reduction: Reduction) -> bool:
    """Whether a row becomes one row for each class."""
    return reduction == "one_vs_rest" and isinstance(rows.scores, VectorScores | ManyScores)


def _one_score(rows: Rows, reduction: Reduction, m: int) -> list[pl.Expr]:
    """Score, class and weight of a row, for the m-th model; class -1 of a wrong row and null of one that misses a part.

    One against the rest: the score is a list, of one for each class, and the class the one of K.
    """
    scores, index, stand_in = rows.scores, class_index(rows.labels), pl.lit(STAND_IN)
    if reduction == "top_label":
        if isinstance(scores, BinaryScores) and scores.score_type != "posterior":
            raise ValueError("reduction='top_label' is of posteriors: sketch ec.posterior(score)")
        score = scores.top_posterior.clip(upper_bound=1)
        top = decide(scores, CostMatrix.zero_one(len(rows.labels.in_class)), None).index
        index = (top == index).cast(pl.Int16)
    elif isinstance(scores, BinaryScores):
        score = scores.score
    else:
        score = scores.of_posteriors(lambda posteriors: pl.concat_list(q.clip(upper_bound=1) for q in posteriors))
        stand_in = pl.lit([STAND_IN] * len(rows.labels.in_class), dtype=pl.List(pl.Float64))
    read = {
        _SCORE: pl.when(rows.usable).then(score).otherwise(stand_in),
        _INDEX: rows.class_or_invalid(index),
    }
    if rows.weight is not None:
        read[_WEIGHT] = pl.when(rows.usable).then(rows.weight).otherwise(0.0)
    return [column.alias(f"{name}_{m}") for name, column in read.items()]


def _one_row_per_class(rows: pl.LazyFrame, n_classes: int) -> pl.LazyFrame:
    index = pl.col(_INDEX)
    targets = pl.concat_list(pl.lit(k, dtype=pl.Int16) for k in range(n_classes))
    tall = rows.with_columns(targets.alias(TARGET)).explode(_SCORE, TARGET)
    in_target = pl.when(index >= 0).then((index == pl.col(TARGET)).cast(pl.Int16)).otherwise(index)
    return tall.with_columns(in_target.alias(_INDEX))
