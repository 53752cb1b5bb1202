"""The pass over the log that makes a sketch: from rows to cells, by the streaming engine, some rows at a time.

It is a select to a step, because the engine computes a step's columns once, and what expressions repeat as often as they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
    from polars_ec.cells.counting import Counted
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

    read = _Read.of(frame, keys, fold, buckets, models, reduction)
    first, others = list[pl.DataFrame](), batches(read.log, read.size)
    if few_rows is not None:
        first = _beginning(others, few_rows)
        if sum(batch.height for batch in first) <= few_rows:
            grid = replace(grid, resolution=None)
    n_buckets, sums = (None if buckets is None else buckets.number), (SUMS if grid.has_sums else ())
    counting = Counting(read.codes, grid, read.weights, sums, n_buckets)
    batch_of = _Batch(models, read.kept, grid, grid.coarse if buckets is not None and grid.is_cut_by_coarse else None)
    parts = chain([read.log.clear()], (batch.lazy() for batch in chain(first, others)))
    # One batch is counted while the next is put into cells.
    for cells in ahead(chain.from_iterable(map(batch_of.cells, parts))):
        counting.add(cells)
    return _reduced(counting.tables(), read, grid)


@dataclass(frozen=True)
class _Read:
    """The rows of all models side by side, which are cut apart in each batch, so that the log is read once."""

    log: pl.LazyFrame
    models: Mapping[str, Rows]
    codes: list[KeyCode]
    """Of the columns that cells are grouped by."""
    in_buckets: bool

    @classmethod
    def of(
        cls,
        frame: pl.LazyFrame,
        keys: list[pl.Expr],
        fold: pl.Expr | None,
        buckets: Buckets | None,
        models: Mapping[str, Rows],
        reduction: Reduction,
    ) -> _Read:
        """Those that a pass over the frame reads."""
        grouped = [*keys, *([] if fold is None else [fold])]
        codes = {name: KeyCode.of(name, dtype) for name, dtype in frame.select(grouped).collect_schema().items()}
        encoded = [code.encoded(key) for code, key in zip(codes.values(), grouped, strict=True)]
        in_bucket = [] if buckets is None else [buckets.bucket.alias(BUCKET)]
        scores = [_one_score(model, reduction, m) for m, model in enumerate(models.values())]
        log = frame.select(*encoded, *in_bucket, *(column for columns in scores for column in columns))
        tall = _is_one_vs_rest(next(iter(models.values())), reduction)
        codes |= {name: KeyCode.of(name, pl.Int16()) for name in (SCORE, TARGET)}
        by = [key.meta.output_name() for key in keys]
        several, folds = [SCORE] if len(models) > 1 else [], [] if fold is None else [FOLD]
        names = [*by, *several, *folds, *([TARGET] if tall else [])]
        return cls(log, models, [codes[name] for name in names], buckets is not None)

    @property
    def rows(self) -> Rows:
        """Those of the first model: all have the same labels and weights."""
        return next(iter(self.models.values()))

    @property
    def names(self) -> list[str]:
        """The columns that cells are grouped by."""
        return [code.name for code in self.codes]

    @property
    def kept(self) -> list[str]:
        """What stays of a row beside its cell and its weight."""
        return [*self.names, *([BUCKET] if self.in_buckets else [])]

    @property
    def weights(self) -> list[str]:
        return [] if self.rows.weight is None else [*WEIGHTS]

    @property
    def size(self) -> int:
        """How many rows make a batch."""
        return max(_BATCH // (len(self.rows.labels.in_class) if TARGET in self.names else 1), 1)

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
class _Batch:
    """From rows of the log to their cells, and with buckets to coarse cells where those do not follow from the fine ones."""

    models: Mapping[str, Rows]
    kept: list[str]
    grid: Grid
    coarse: Grid | None

    @cached_property
    def _codes(self) -> CellCodes:
        return CellCodes(self.grid)

    @cached_property
    def _bins(self) -> tuple[PosteriorBins | None, PosteriorBins | None]:
        """Of the grid, and of the coarse one."""
        # Imported here, for it needs numpy.
        from polars_ec.cells.posterior_bins import PosteriorBins

        fine, coarse = (
            PosteriorBins(made)
            if made is not None and made.score_type == "posterior" and made.resolution is not None
            else None
            for made in (self.grid, self.coarse)
        )
        return fine, coarse

    def cells(self, batch: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Those of each model after the other."""
        bins, coarse_bins = self._bins
        for m, model in enumerate(self.models.values()):
            of_model, own = _rows_of_model(batch, m, model, self.kept), self.kept
            if self.coarse is not None:
                of_model, own = _with_coarse_cells(of_model, self.coarse, coarse_bins), [*self.kept, COARSE]
            cells = _cells_of_rows(of_model, model, own, self._codes, bins)
            # Few batches have such rows, and those that have none need no look at each row.
            if self.grid.resolution is not None and cells.select(self._codes.has_unusable(pl.col(CELL))).item():
                cells = cells.with_columns(self._codes.of_unusable(pl.col(CELL)))
            yield cells


def _reduced(made: Counted, read: _Read, grid: Grid) -> Reduced:
    """What was counted, with names in place of numbers."""
    cells, sums, coarse, codes = made.cells, made.sums, made.coarse, CellCodes(grid)
    names, named, amounts = read.names, read.named, ["n", *read.weights]
    if grid.resolution is not None:
        cells = cells.with_columns(**codes.decoded(pl.col(CELL)))
    cells = cells.with_columns(named).select(*names, "class", *grid.cell_columns, *amounts)
    if sums is not None:
        sums = sums.with_columns(*named, **codes.of_slot(pl.col(SLOT))).select(*names, "class", "above", *SUMS)
    if coarse is not None:
        of_number = CellCodes(grid.coarse).all_decoded()
        coarse = coarse.hstack(of_number[coarse[COARSE]]).with_columns(named)
        coarse = coarse.select(*names, BUCKET, *of_number.columns, *amounts)
    return Reduced(cells, sums, coarse, grid)


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
