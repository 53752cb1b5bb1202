"""What the measurements say: the table, and whether all cases give the same values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.benchmarks.case import Case
from tests.benchmarks.targets import Measurements, ratio_of

if TYPE_CHECKING:
    import polars as pl

_TOLERANCE = 1e-9
_MEGABYTE = 1e6


def _peak(measured: Measurements, name: str) -> float:
    return median(run.peak_bytes for run in measured[name])


def table(cases: Sequence[Case], measured: Measurements, rows_of_log: Mapping[str, int]) -> list[str]:
    """One line per case: medians over the rounds; ratios are medians of the ratios within each round."""
    floors = {case.name: case for case in cases if case.name in measured}
    cells = [
        ["case", "what", "rows", "seconds", "x floor", "CPU s", "x floor", "s/M rows", "peak MB", "idle MB", "x floor"],
        *(_line(case, floors.get(case.floor), measured, rows_of_log[case.log]) for case in floors.values()),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if position < 2 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def _line(case: Case, floor: Case | None, measured: Measurements, rows_of_log: int) -> list[str]:
    runs, rows = measured[case.name], case.rows(rows_of_log)
    seconds = median(run.seconds for run in runs)
    ratios = ["", "", ""]
    # A ratio says something only where the floor reads the same rows.
    if floor is not None and floor.same_rows == case.same_rows:
        quantities = (lambda run: run.seconds, lambda run: run.cpu_seconds, lambda run: run.peak_bytes)
        ratios = [f"{ratio_of(measured, case.name, case.floor, of):.2f}" for of in quantities]
    return [
        case.name,
        case.what,
        f"{rows:,}",
        f"{seconds:.3f}",
        ratios[0],
        f"{median(run.cpu_seconds for run in runs):.3f}",
        ratios[1],
        f"{seconds / rows * 1e6:.4f}",
        f"{_peak(measured, case.name) / _MEGABYTE:.0f}",
        f"{median(run.baseline_bytes for run in runs) / _MEGABYTE:.0f}",
        ratios[2],
    ]


def disagreements(cases: Sequence[Case], values: Mapping[str, Path]) -> tuple[int, list[str]]:
    """How many columns were compared, and those in which two cases that read the same rows differ.

    Every column is compared with that of the first case that has it.
    """
    # Imported this late because the process that starts the measurements must stay small.
    import polars as pl

    first: dict[tuple[object, str], tuple[str, pl.Series]] = {}
    compared, problems = 0, []
    for case in cases:
        if case.name not in values:
            continue
        frame = pl.read_parquet(values[case.name])
        for column in frame:
            if column.dtype.is_nested():
                continue
            name, reference = first.setdefault((case.same_rows, column.name), (case.name, column))
            if name == case.name:
                continue
            compared += 1
            if not _agree(column, reference):
                problems.append(f"{column.name} of ({case.name}) is not that of ({name})")
    return compared, problems


def _agree(one: pl.Series, other: pl.Series) -> bool:
    if len(one) != len(other) or (one.is_null() != other.is_null()).any():
        return False
    if not one.dtype.is_numeric():
        return bool((one == other).all())
    a, b = one.drop_nulls().cast(float), other.drop_nulls().cast(float)
    # Equal infinities differ by NaN, so they are looked at first.
    return bool(((a == b) | ((a - b).abs() <= _TOLERANCE * b.abs())).all())
