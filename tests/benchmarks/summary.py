"""What the measurements say: the table, whether all cases give the same values, and the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.benchmarks.cases import Case
from tests.benchmarks.measure import Measurement

if TYPE_CHECKING:
    import polars as pl

# One list per case, in the order of the rounds: entry r of every case was measured in round r.
Measurements = Mapping[str, Sequence[Measurement]]

_TOLERANCE = 1e-9
_MEGABYTE = 1e6


def table(cases: Sequence[Case], measured: Measurements, rows_of_log: Mapping[str, int]) -> list[str]:
    """One line per case: medians over the rounds; ratios are medians of the ratios within each round."""
    header = f"{'case':6}{'what':58}{'rows':>12}{'seconds':>9}{'x floor':>9}{'s / 1M rows':>13}{'peak MB':>9}{'idle MB':>9}{'x floor':>9}"
    lines = [header, "-" * len(header)]
    for case in cases:
        runs = measured.get(case.name)
        if runs is None:
            continue
        rows = rows_of_log[case.log]
        seconds = median(run.seconds for run in runs)
        time_ratio, memory_ratio = "", ""
        if case.floor in measured and case.rows(rows) == rows:
            time_ratio = f"{_time_ratio(measured, case.name, case.floor):.2f}"
            memory_ratio = f"{_peak(measured, case.name) / _peak(measured, case.floor):.2f}"
        idle = median(run.baseline_bytes for run in runs)
        lines.append(
            f"{case.name:6}{case.what:58}{case.rows(rows):>12,}{seconds:>9.3f}{time_ratio:>9}{seconds / case.rows(rows) * 1e6:>13.4f}"
            f"{_peak(measured, case.name) / _MEGABYTE:>9.0f}{idle / _MEGABYTE:>9.0f}{memory_ratio:>9}"
        )
    return lines


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


def targets(measured: Measurements) -> list[str]:
    """The targets that the cases at hand can say something about, each met or missed."""
    goals = [
        ("(b) takes at most 1.5 x the time of (a)", ("b", "a"), _time_ratio, 1.5, False),
        (
            "(b) on all rows takes at most 1.25 x the peak memory of (b) on a quarter",
            ("b", "b/4"),
            _memory_ratio,
            1.25,
            False,
        ),
        ("(d1) takes at most 1.15 x the time of (d2)", ("d1", "d2"), _time_ratio, 1.15, False),
        ("(b) is at least 8 x as fast as (e)", ("e", "b"), _time_ratio, 8.0, True),
    ]
    lines = []
    for text, (one, other), ratio_of, bound, at_least in goals:
        if one not in measured or other not in measured:
            lines.append(f"{text}: not measured")
            continue
        ratio = ratio_of(measured, one, other)
        met = ratio >= bound if at_least else ratio <= bound
        lines.append(f"{text}: {ratio:.2f} x, {'met' if met else 'missed'}")
    return lines


def _time_ratio(measured: Measurements, one: str, other: str) -> float:
    return median(a.seconds / b.seconds for a, b in zip(measured[one], measured[other], strict=True))


def _memory_ratio(measured: Measurements, one: str, other: str) -> float:
    return _peak(measured, one) / _peak(measured, other)


def _peak(measured: Measurements, name: str) -> float:
    return median(run.peak_bytes for run in measured[name])
