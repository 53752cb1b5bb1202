"""Cells in files, and in tables that a warehouse made: written, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from polars_ec.arguments import parse_number
from polars_ec.cells.arguments import OperatingPoint
from polars_ec.cells.cells import Cells, add_up
from polars_ec.cells.checks import dtype_of, fault_in_cells, fault_in_types, has_doubles
from polars_ec.cells.grid import EXACT, Grid, checked_resolution, checked_score_type, sorted_thresholds
from polars_ec.cells.parquet import SCHEMA_VERSION, first_line, read_described, write_described
from polars_ec.class_names import UNKNOWN, ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def write_cells(
    cells: Cells, point: OperatingPoint, path: str | Path | IO[bytes], metadata: Mapping[str, str] | None
) -> None:
    """Save the cells and what they mean."""
    write_described(cells.frame, path, "sketch", description(cells, point), metadata)


def description(cells: Cells, point: OperatingPoint) -> dict[str, Any]:
    """What cells mean, as the metadata of their file have it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "score_type": cells.grid.score_type,
        "resolution": cells.grid.resolution,
        "thresholds": [repr(threshold) for threshold in cells.grid.thresholds],
        "weighted": cells.weighted,
        "costs": point.costs.values,
        "threshold": None if point.threshold is None else repr(point.threshold),
        "classes": cells.grid.classes.in_metadata(),
        "keys": cells.keys,
    }


def read_cells(path: str | Path) -> tuple[Cells, OperatingPoint]:
    """What `write_cells` wrote; SketchError for any other file, and for one that is damaged."""
    frame, about = read_described(path, "sketch")
    # Files of the first version know no names of classes, and no costs: they were always evaluated at even ones.
    try:
        grid = Grid(
            checked_score_type(about["score_type"]),
            None if about["resolution"] is None else checked_resolution(about["resolution"]),
            sorted_thresholds(map(_float, _listed(about, "thresholds"))),
            ClassNames.of_metadata(about["classes"]) if "classes" in about else UNKNOWN,
        )
        costs = CostMatrix(about["costs"]) if "costs" in about else CostMatrix.binary()
        sizes = {len(grid.classes.values), costs.n_classes, costs.n_decisions}
        if sizes != {2}:
            raise ValueError(f"what decides between two: its classes and costs are of {sorted(sizes)}")
        stated = about.get("threshold")
        threshold = None if stated is None else parse_number(_float(stated), "threshold")
        keys, weighted = _listed(about, "keys"), about["weighted"]
        if not isinstance(weighted, bool):
            raise TypeError(f"weighted: {weighted!r}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SketchError(f"{path} is a damaged sketch: its metadata lack or garble {first_line(error)}") from None
    expected = [*keys, *grid.columns]
    if about["schema_version"] == 1 and grid.resolution is None and EXACT not in frame.columns:
        frame = frame.rename({"score": EXACT}, strict=False)  # its name before `score` was that of the models
    if frame.columns != expected:
        raise SketchError(f"{path} is a damaged sketch: its columns are {frame.columns}, not {expected}")
    fault = fault_in_types(frame, grid) or fault_in_cells(frame, grid, weighted)
    if fault is None and has_doubles(frame, keys, grid):
        fault = "a cell that is there twice"
    if fault is not None:
        raise SketchError(f"{path} is a damaged sketch: it has {fault}")
    return Cells(frame, grid, weighted), OperatingPoint(costs, threshold)


def cells_of_table(
    table: pa.Table | pl.DataFrame, score_type: str, resolution: int, thresholds: Sequence[float], weighted: bool
) -> Cells:
    """The cells that a warehouse made, checked."""
    grid = Grid(checked_score_type(score_type), checked_resolution(resolution), sorted_thresholds(thresholds))
    made = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    own = list(grid.columns)
    lacking = [name for name in own if name not in made.columns]
    if lacking:
        raise SketchError(
            f"the table lacks {', '.join(lacking)}: it is not a result of a sketch of {score_type} scores"
        )
    above = made["above"].max()
    if isinstance(above, int) and above > len(grid.thresholds):
        raise SketchError(
            f"the table has scores above {above} thresholds, and thresholds= lists {len(grid.thresholds)}: pass "
            "those that the query was made with"
        )
    keys = [name for name in made.columns if name not in own]
    try:
        typed = made.select(*keys, *(pl.col(name).cast(dtype_of(name)) for name in own))
    except pl.exceptions.PolarsError as error:
        raise SketchError(f"the table has no numbers where a sketch has some: {first_line(error)}") from None
    whole = _with_infinite_sums(typed, grid)
    fault = fault_in_cells(whole, grid, weighted)
    if fault is not None:
        hint = ": pass weighted=True if it was made with weights" if "without weights" in fault else ""
        raise SketchError(f"the table is not a sketch of {score_type} scores: it has {fault}{hint}")
    return Cells(add_up(whole), grid, weighted)


def _listed(about: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(about[name], list):
        raise TypeError(f"{name}: {about[name]!r}")
    return list(about[name])


def _float(number: Any) -> float:
    """Of the text that metadata have for it, or of a number; float() takes Booleans too."""
    if isinstance(number, bool):
        raise TypeError(f"a number: {number!r}")
    return float(number)


def _with_infinite_sums(frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """SQL that cannot write infinity leaves it out, where the bin says that it is due."""
    if grid.score_type == "raw":
        return frame
    lowest, highest = grid.infinite_bins
    lost = ((pl.col("class") == 1) & (pl.col("bin") == lowest)) | ((pl.col("class") == 0) & (pl.col("bin") == highest))
    weighs = pl.col("weight") > 0
    inf = float("inf")
    return frame.with_columns(
        log_loss=pl.when(lost & weighs).then(inf).otherwise("log_loss"),
        log_odds=pl.when((pl.col("bin") == lowest) & weighs)
        .then(-inf)
        .when((pl.col("bin") == highest) & weighs)
        .then(inf)
        .otherwise("log_odds"),
    )
