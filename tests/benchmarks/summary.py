"""What the measurements say: the table, whether all cases give the same values, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


def time_ratio(measured: Measurements, one: str, other: str) -> float:
    return median(a.seconds / b.seconds for a, b in zip(measured[one], measured[other], strict=True))


def time_ratio_after_a_second(measured: Measurements, one: str, other: str) -> float:
    return median((a.seconds - 1) / b.seconds for a, b in zip(measured[one], measured[other], strict=True))


def cpu_ratio(measured: Measurements, one: str, other: str) -> float:
    return median(a.cpu_seconds / b.cpu_seconds for a, b in zip(measured[one], measured[other], strict=True))


def memory_ratio(measured: Measurements, one: str, other: str) -> float:
    return _peak(measured, one) / _peak(measured, other)


def _peak(measured: Measurements, name: str) -> float:
    return median(run.peak_bytes for run in measured[name])


def table(cases: Sequence[Case], measured: Measurements, rows_of_log: Mapping[str, int]) -> list[str]:
    """One line per case: medians over the rounds; ratios are medians of the ratios within each round."""
    cells = [
        ["case", "what", "rows", "seconds", "x floor", "CPU s", "x floor", "s/M rows", "peak MB", "idle MB", "x floor"],
        *(_line(case, measured, rows_of_log[case.log]) for case in cases if case.name in measured),
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


def _line(case: Case, measured: Measurements, rows_of_log: int) -> list[str]:
    runs, rows = measured[case.name], case.rows(rows_of_log)
    seconds = median(run.seconds for run in runs)
    ratios = ["", "", ""]
    # A ratio says something only where as many rows are read as by the floor.
    if case.floor in measured and rows == rows_of_log:
        ratios = [f"{ratio(measured, case.name, case.floor):.2f}" for ratio in (time_ratio, cpu_ratio, memory_ratio)]
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


@dataclass(frozen=True)
class _Target:
    text: str
    one: str
    other: str
    ratio: Callable[[Measurements, str, str], float]
    bound: float
    at_least: bool = False


_TARGETS = [
    _Target("(b) takes at most 1.5 x the time of (a)", "b", "a", time_ratio, 1.5),
    # The report's state is a few sums per group, so a log four times as long may cost a few buffers more, not four times.
    _Target("(b*4), four times the rows, takes at most 1.25 x the peak memory of (b)", "b*4", "b", memory_ratio, 1.25),
    _Target("(d1) takes at most 1.15 x the time of (d2)", "d1", "d2", time_ratio, 1.15),
    _Target("(s) takes at most 2.5 x the time of (a)", "s", "a", time_ratio, 2.5),
    _Target("(s-m) takes at most 2.5 x the time of (a)", "s-m", "a", time_ratio, 2.5),
    _Target("(s-m) takes at most 2.5 x the time of (a-m)", "s-m", "a-m", time_ratio, 2.5),
    _Target("(s*10), ten times the rows, takes at most 1.2 x the peak memory of (s)", "s*10", "s", memory_ratio, 1.2),
    _Target("(d1) takes at most 1.15 x the time of (d4)", "d1", "d4", time_ratio, 1.15),
    _Target("(r) takes at most 3 x the time of (a) and a second", "r", "a", time_ratio_after_a_second, 3.0),
    _Target("(b) is at least 8 x as fast as (e)", "e", "b", time_ratio, 8.0, at_least=True),
]


def targets(measured: Measurements) -> list[str]:
    """Each target with the ratio measured, and whether it is met."""
    return [_judge(target, measured) for target in _TARGETS]


def _judge(target: _Target, measured: Measurements) -> str:
    if target.one not in measured or target.other not in measured:
        return f"{target.text}: not measured"
    ratio = target.ratio(measured, target.one, target.other)
    met = ratio >= target.bound if target.at_least else ratio <= target.bound
    # The rounds show how much of a ratio near its bound is noise.
    aside = ""
    if target.ratio is time_ratio:
        pairs = zip(measured[target.one], measured[target.other], strict=True)
        rounds = ", ".join(f"{one.seconds / other.seconds:.2f}" for one, other in pairs)
        aside = f" (rounds {rounds}; processor time {cpu_ratio(measured, target.one, target.other):.2f})"
    return f"{target.text}: {ratio:.2f} x, {'met' if met else 'missed'}{aside}"
