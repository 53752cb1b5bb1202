"""What the cells of a sketch can be, whoever made them: a file, or a table of a warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_ec.cells.grid import EXACT, Grid

DTYPES: Mapping[str, pl.DataType] = {
    "class": pl.Int8(),
    "bin": pl.Int32(),
    "above": pl.Int16(),
    EXACT: pl.Float64(),
    "n": pl.Int64(),
}
# Sums over the rows of a cell are rounded.
_ROUNDING = 1e-9
_LEAST_WEIGHT = 1e-290


def dtype_of(name: str) -> pl.DataType:
    """The dtype of a column of a sketch that is not a group column."""
    return DTYPES.get(name, pl.Float64())


def fault_in_types(frame: pl.DataFrame, grid: Grid) -> str | None:
    """The first column that is not of its dtype, in words."""
    schema = frame.schema
    # Exact sketches have had their class in 16 bits.
    right = {name: schema[name] == dtype_of(name) for name in grid.columns} | {"class": schema["class"].is_integer()}
    wrong = next((name for name, is_right in right.items() if not is_right), None)
    return None if wrong is None else f"{wrong!r} is {frame.schema[wrong]}, not {dtype_of(wrong)}"


def fault_in_cells(frame: pl.DataFrame, grid: Grid, weighted: bool) -> str | None:
    """The first thing in these columns that no log can have led to, in words."""
    faults = {
        "a class that is not 0, 1, -1 (wrong rows) or null (missing ones)": ~pl.col("class").is_between(-1, 1),
        "a number of rows that is null or negative": pl.col("n").is_null() | (pl.col("n") < 0),
        **_faults_of_cells(grid),
        **_faults_of_sums(grid, weighted),
    }
    found = frame.select(fault.fill_null(False).any().alias(words) for words, fault in faults.items())
    return next((words for words, is_there in found.row(0, named=True).items() if is_there), None)


def has_doubles(frame: pl.DataFrame, keys: Sequence[str], grid: Grid) -> bool:
    """Whether a cell of a group is there twice."""
    columns = [*keys, "class", *grid.cell_columns]
    return not _is_ascending(frame, columns) and bool(frame.select(columns).is_duplicated().any())


def _is_ascending(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether every row comes after the one before it, as in files that were sorted: a look at neighbours tells so."""
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
    usable = (pl.col("class") >= 0).fill_null(False)
    if grid.resolution is None:
        score = pl.col(EXACT)
        ranges = {EXACT: score.is_not_nan() if grid.score_type != "posterior" else score.is_between(0, 1)}
    else:
        ranges = {
            "bin": pl.col("bin").is_between(*grid.infinite_bins),
            "above": pl.col("above").is_between(0, len(grid.thresholds)),
        }
    faults = {
        f"a value of {name!r} that is not on the grid": pl.when(usable)
        .then(~in_range.fill_null(False))
        .otherwise(pl.col(name).is_not_null())
        for name, in_range in ranges.items()
    }
    if grid.resolution is not None:
        faults["scores that lie on another side of the thresholds: it was made with others"] = (
            usable & _is_cut_elsewhere(grid)
        )
        if grid.score_type != "raw":
            words = "scores outside their bin: it was made with another resolution or of another score_type"
            faults[words] = usable & _is_of_another_bin(grid)
    return faults


def _is_cut_elsewhere(grid: Grid) -> pl.Expr:
    """Whether `above` is not what the thresholds that the scores of the bin may be above make it."""
    thresholds = pl.Series(grid.thresholds, dtype=pl.Float64)
    if grid.score_type == "posterior":
        # Whatever is not between them cuts no posterior but 0 and 1, which have bins of their own.
        thresholds = thresholds.clip(0, 1)
    score = pl.lit(thresholds)
    position = grid.position(score)
    # Engines take logarithms that differ in the last digit, so that one on an edge may be of either bin.
    rounding = pl.when(position.is_finite()).then(_ROUNDING * (1 + position.abs())).otherwise(0.0)
    lower, upper = (pl.select(grid.bin(score, position + sign * rounding)).to_series() for sign in (-1, 1))
    bin_ = pl.col("bin")
    least = sum(((bin_ > at).cast(pl.Int32) for at in upper), pl.lit(0))
    most = sum(((bin_ >= at).cast(pl.Int32) for at in lower), pl.lit(0))
    return ~pl.col("above").is_between(least, most)


def _is_of_another_bin(grid: Grid) -> pl.Expr:
    """Whether the mean log-odds of a cell lie outside its bin; weights near the least number are not held against it."""
    lowest, highest = grid.bin_edges()
    mean = pl.col("log_odds") / pl.col("weight")
    slack = _ROUNDING * (1 + mean.abs())
    known = (pl.col("weight") > _LEAST_WEIGHT) & mean.is_finite()
    return known & ~mean.is_between(lowest - slack, highest + slack)


def _faults_of_sums(grid: Grid, weighted: bool) -> dict[str, pl.Expr]:
    usable = (pl.col("class") >= 0).fill_null(False)
    weight, rows = pl.col("weight"), pl.col("n")
    slack = weight * _ROUNDING
    right = {name: (pl.col(name) >= 0) & pl.col(name).is_not_nan() for name in ("weight", "weight2")}
    if not weighted:
        right = {name: (pl.col(name) - rows).abs() <= rows * _ROUNDING for name in right}
    if grid.score_type != "raw":
        share = {name: (pl.col(name) >= -slack) & (pl.col(name) <= weight + slack) for name in ("posterior", "brier")}
        loss = pl.col("log_loss")
        right |= {
            "log_odds": pl.col("log_odds").is_not_nan(),
            "posterior": share["posterior"],
            "log_loss": (loss >= -slack) & loss.is_not_nan(),
            "brier": share["brier"],
        }
    hint = {} if weighted else dict.fromkeys(("weight", "weight2"), ": without weights it is the number of rows")
    return {
        f"a sum of {name!r} that cannot be{hint.get(name, '')}": pl.when(usable)
        .then(~is_right.fill_null(False))
        .otherwise(pl.col(name).fill_null(0) != 0)
        for name, is_right in right.items()
    }
