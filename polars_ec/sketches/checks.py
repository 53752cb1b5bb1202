"""What the cells of a sketch can be, whoever made them: a file, or a table of a warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_ec.arguments.scales import LOG_ODDS
from polars_ec.scores.scores import BinaryScores, sigmoid
from polars_ec.sketches.cells import Cells
from polars_ec.sketches.grid import BUCKET, EXACT, SUMS, WEIGHTS, Grid
from polars_ec.sketches.sums import log_odds_bounds

DTYPES: Mapping[str, pl.DataType] = {
    "class": pl.Int8(),
    "bin": pl.Int32(),
    "above": pl.Int16(),
    EXACT: pl.Float64(),
    BUCKET: pl.Int16(),
    "n": pl.Int64(),
}
# Sums over the rows of a cell are rounded.
_ROUNDING = 1e-9
# PostgreSQL takes products of small weights for 0, and no engine has digits for the least of them.
_LEAST_WEIGHT = 1e-80
_LEAST_NUMBERS = 1e-320
_LEAST_SQUARED = 1e-140
_ROW = "row of the table"
_USABLE = (pl.col("class") >= 0).fill_null(value=False)


def dtype_of(name: str) -> pl.DataType:
    """The dtype of a column of a sketch that is not a group column."""
    return DTYPES.get(name, pl.Float64())


def fault_in_file(cells: Cells) -> str | None:
    """The first thing in the tables of a file that no log can have led to, in words."""
    frame, sums, coarse, grid, weighted = cells.frame, cells.sums, cells.coarse, cells.grid, cells.weighted
    keys = cells.keys
    for table in (frame, sums, coarse):
        fault = None if table is None else _fault_in_types(table, keys)
        if fault is not None:
            return fault
    fault = _fault_in_cells(frame, grid, weighted)
    if fault is None and _has_doubles(frame, [*keys, "class", *grid.cell_columns]):
        return "a cell that is there twice"
    if fault is None and coarse is not None:
        fault = fault_in_coarse(cells, coarse)
    if fault is not None or sums is None:
        return fault
    weighed = frame if weighted else frame.with_columns(weight=pl.col("n").cast(pl.Float64))
    return _fault_in_sums(weighed, sums, [*keys, "class", "above"], grid)


def fault_in_coarse(cells: Cells, coarse: pl.DataFrame) -> str | None:
    """The first thing in the coarse cells that no log can have led to, or another one than to the cells."""
    grid, assigned = cells.grid.coarse, pl.col(BUCKET)
    of_coarse = {
        "a bucket that none of its clusters is in": ~assigned.is_between(0, (cells.buckets or 0) - 1),
        "coarse cells of rows that are not usable": ~_USABLE,
    }
    fault = first_fault(coarse, of_coarse) or _fault_in_cells(coarse, grid, cells.weighted)
    if fault is None and _has_doubles(coarse, [*cells.keys, BUCKET, "class", *grid.cell_columns]):
        fault = "a coarse cell that is there twice"
    return fault or _fault_in_margins(cells, coarse)


def _fault_in_margins(cells: Cells, coarse: pl.DataFrame) -> str | None:
    by = [*cells.keys, "class"]
    fine = cells.frame.lazy().filter(pl.col("class") >= 0)
    if not cells.grid.is_cut_by_coarse:
        by += cells.grid.cell_columns
        fine = fine.with_columns(bin=cells.grid.coarse_bin(pl.col("bin")))
    amounts = ["n", *(name for name in WEIGHTS if name in coarse.columns)]
    tables = {"fine": fine, "coarse": coarse.lazy()}
    parts = [table.select(*by, **{f"{of}_{x}": x for x in amounts}) for of, table in tables.items()]
    both = pl.concat(parts, how="diagonal").group_by(by).agg(pl.exclude(by).sum()).collect(engine="streaming")
    off = [
        (pl.col(f"fine_{x}") != pl.col(f"coarse_{x}")) & ~(_difference(x) <= pl.col(f"fine_{x}") * _ROUNDING)
        for x in amounts
    ]
    return first_fault(both, {"coarse cells that do not add up to its cells": pl.any_horizontal(off)})


def _difference(amount: str) -> pl.Expr:
    return (pl.col(f"fine_{amount}") - pl.col(f"coarse_{amount}")).abs()


def fault_in_table(table: pl.DataFrame, grid: Grid, weighted: bool) -> str | None:
    """The first thing in a table of cells with their sums that no log can have led to, in words."""
    fault = _fault_in_cells(table, grid, weighted) or (None if weighted else fault_in_weights(table))
    if fault is not None or not grid.has_sums:
        return fault
    fault = first_fault(
        table, {f"a sum of {x!r} that cannot be": ~_USABLE & (pl.col(x).fill_null(0) != 0) for x in SUMS}
    )
    # A cell may be there in several rows: so each row is a cell here.
    used = table.filter(_USABLE).with_row_index(_ROW)
    return fault or _fault_in_sums(used, used, [_ROW, "class", *grid.cell_columns], grid)


def _fault_in_types(table: pl.DataFrame, keys: Sequence[str]) -> str | None:
    own = {name: dtype for name, dtype in table.schema.items() if name not in keys}
    wrong = next((name for name, dtype in own.items() if dtype != dtype_of(name)), None)
    return None if wrong is None else f"{wrong!r} is {own[wrong]}, not {dtype_of(wrong)}"


def _fault_in_cells(frame: pl.DataFrame, grid: Grid, weighted: bool) -> str | None:
    weight = pl.col("weight")
    right = (weight >= 0) & weight.is_not_nan()
    faults = {
        "a class that is not 0, 1, -1 (wrong rows) or null (missing ones)": ~pl.col("class").is_between(-1, 1),
        "a number of rows that is null or negative": pl.col("n").is_null() | (pl.col("n") < 0),
        **_faults_of_cells(grid),
    }
    if weighted:
        words = "a sum of 'weight' that cannot be"
        faults[words] = pl.when(_USABLE).then(~right.fill_null(value=False)).otherwise(weight.fill_null(0) != 0)
    if weighted and WEIGHTS[1] in frame.columns:
        squares = pl.col(WEIGHTS[1])
        words = "a sum of 'weight2' that cannot be that of the squares of the weights"
        faults[words] = pl.when(_USABLE).then(~_are_squares(squares)).otherwise(squares.fill_null(0) != 0)
    return first_fault(frame, faults)


def _are_squares(squares: pl.Expr) -> pl.Expr:
    """True if this can be the sum of the squares of `n` weights that add up to `weight`."""
    weight, rows = pl.col("weight"), pl.col("n")
    most = squares <= weight**2 * (1 + _ROUNDING) + rows * _LEAST_NUMBERS
    # No digits are lost to squares that no float holds.
    has_digits = (weight > rows * _LEAST_SQUARED) & (weight < 1 / _LEAST_SQUARED)
    least = ~has_digits | (squares * rows >= weight**2 * (1 - _ROUNDING))
    return ((squares >= 0) & squares.is_not_nan() & most & least).fill_null(value=False)


def first_fault(frame: pl.DataFrame, faults: Mapping[str, pl.Expr]) -> str | None:
    found = frame.select(fault.fill_null(value=False).any().alias(words) for words, fault in faults.items())
    return next((words for words, is_there in found.row(0, named=True).items() if is_there), None)


def _has_doubles(table: pl.DataFrame, columns: Sequence[str]) -> bool:
    return not _is_ascending(table, columns) and bool(table.select(columns).is_duplicated().any())


def _is_ascending(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """True if every row comes after the one before it, as in files that were sorted: a look at neighbours tells so."""
    after = pl.lit(value=False)
    for column in map(pl.col, reversed(columns)):
        before = column.shift(1)
        larger = (column > before).fill_null(column.is_null() & before.is_not_null())
        after = larger | (column.eq_missing(before) & after)
    try:
        return bool(frame.select(after.slice(1).all()).item())
    except pl.exceptions.PolarsError:  # group columns that have no order
        return False


def _faults_of_cells(grid: Grid) -> dict[str, pl.Expr]:
    if grid.resolution is None:
        ranges = {EXACT: ~grid.scale.is_wrong(pl.col(EXACT))}
    else:
        ranges = {
            "bin": pl.col("bin").is_between(*grid.infinite_bins),
            "above": pl.col("above").is_between(0, len(grid.thresholds)),
        }
    faults = {
        f"a value of {name!r} that is not on the grid": pl.when(_USABLE)
        .then(~in_range.fill_null(False))
        .otherwise(pl.col(name).is_not_null())
        for name, in_range in ranges.items()
    }
    if grid.resolution is not None:
        faults["scores that lie on another side of the thresholds: it was made with others"] = (
            _USABLE & _is_cut_elsewhere(grid)
        )
    return faults


def _is_cut_elsewhere(grid: Grid) -> pl.Expr:
    """True if `above` is not what the thresholds that the scores of the bin may be above make it."""
    # Whatever is not between its ends cuts no posterior but 0 and 1, which have bins of their own.
    score = pl.lit(pl.Series(grid.thresholds, dtype=pl.Float64).clip(*grid.scale.bounds))
    position = grid.scale.position(score)
    # Engines take logarithms that differ in the last digit, so that one on an edge may be of either bin.
    rounding = pl.when(position.is_finite()).then(_ROUNDING * (1 + position.abs())).otherwise(0.0)
    lower, upper = (pl.select(grid.bin(score, position + sign * rounding)).to_series() for sign in (-1, 1))
    bin_ = pl.col("bin")
    least = sum(((bin_ > at).cast(pl.Int32) for at in upper), pl.lit(0))
    most = sum(((bin_ >= at).cast(pl.Int32) for at in lower), pl.lit(0))
    return ~pl.col("above").is_between(least, most)


def fault_in_weights(table: pl.DataFrame) -> str | None:
    """The first sum of weights that is not the number of rows, in a table of rows without weights."""
    rows = pl.col("n")
    wanted = pl.when(_USABLE).then(rows).otherwise(0)
    faults = {
        f"a sum of {name!r} that cannot be: without weights it is the number of rows": ~(
            (pl.col(name) - wanted).abs() <= rows * _ROUNDING
        ).fill_null(value=False)
        for name in WEIGHTS
        if name in table.columns
    }
    return first_fault(table, faults)


def _fault_in_sums(frame: pl.DataFrame, sums: pl.DataFrame, by: Sequence[str], grid: Grid) -> str | None:
    """The first of the sums by these columns that cannot be that of the cells, which have `weight`."""
    lost = {f"a sum of {name!r} that cannot be: it is null or NaN": ~pl.col(name).is_not_nan() for name in SUMS}
    null = {words: fault.fill_null(value=True) for words, fault in lost.items()}
    weight = pl.col("weight")
    of_row = {
        f"{name}_{end}": value
        for name, ends in _bounds_of_losses(grid).items()
        for end, value in zip(("least", "most"), ends, strict=True)
    }
    least_weight = {"least": _LEAST_WEIGHT, "most": 0.0}
    bounds = {
        name: pl.when(weight > least_weight[name.rsplit("_", 1)[1]]).then(pl.col(name) * weight).sum()
        for name in of_row
    }
    used = frame.lazy().filter(pl.col("class") >= 0)
    # Bins are few where cells are many.
    bins = used.select("class", "bin").unique().with_columns(**of_row).collect(engine="streaming")
    of_cells = used.join(bins.lazy(), on=["class", "bin"]).group_by(by).agg(pl.col("n").sum(), cells=1, **bounds)
    of_sums = sums.lazy().select(*by, *SUMS, sums=1)
    numbers = [pl.col("n", *bounds, *SUMS, "cells", "sums").sum()]
    compared = pl.concat([of_cells, of_sums], how="diagonal").group_by(by).agg(numbers).collect(engine="streaming")
    faults = {
        "sums of no cells": pl.col("cells") == 0,
        "cells without sums": pl.col("sums") == 0,
        "a sum that is there twice": pl.col("sums") > 1,
    }
    for name in SUMS:
        least, most = pl.col(f"{name}_least"), pl.col(f"{name}_most")
        above = pl.col(name) > most * (1 + _ROUNDING) + pl.col("n") * _LEAST_NUMBERS
        words = "it was made with another resolution or of another score_type"
        faults[f"a sum of {name!r} that its bins do not allow: {words}"] = above | (
            pl.col(name) < least * (1 - _ROUNDING)
        )
    return first_fault(sums, null) or first_fault(compared, faults)


def _bounds_of_losses(grid: Grid) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Bounds of what `SUMS` are sums of, for a row of a cell, whatever logarithm an engine took."""
    below, above = log_odds_bounds(grid)
    below, above = (
        pl.when(edge.is_finite()).then(edge + sign * _ROUNDING * (1 + edge.abs())).otherwise(edge)
        for sign, edge in ((-1, below), (1, above))
    )
    label = pl.col("class")
    in_class = [label == 0, label == 1]
    ends = (above, below), (below, above)
    right, wrong = (BinaryScores(pl.when(label == 1).then(of_1).otherwise(of_0), LOG_ODDS) for of_1, of_0 in ends)
    return {
        "log_loss": (right.log_loss(in_class), wrong.log_loss(in_class)),
        "brier": (right.brier(in_class), wrong.brier(in_class)),
        "posterior": (sigmoid(below), sigmoid(above)),
    }
