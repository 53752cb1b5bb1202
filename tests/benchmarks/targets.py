"""The targets, as data: which case may take how much of what, and whether it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.measure import Measurement

# One list per case, in the order of the rounds: entry r of every case was measured in round r.
Measurements = Mapping[str, Sequence[Measurement]]

_MEGABYTE = 1e6


@dataclass(frozen=True)
class Quantity:
    """What of a run is judged, and its unit where there is no floor."""

    of: Callable[[Measurement], float]
    words: str
    unit: str


TIME = Quantity(lambda run: run.seconds, "the time", "s")
PEAK = Quantity(lambda run: run.peak_bytes / _MEGABYTE, "the peak memory", "MB")


@dataclass(frozen=True)
class Target:
    """At most, or `at_least`, `limit` times what the floor takes; without a floor, `limit` of the quantity's unit."""

    about: str
    case: str
    limit: float
    floor: str | None = None
    quantity: Quantity = TIME
    at_least: bool = False

    @property
    def text(self) -> str:
        bound = f"at {'least' if self.at_least else 'most'} {self.limit:g}"
        what = f"{self.about} ({self.case})"
        if self.floor is None:
            return (
                f"{what}: {bound} {self.quantity.unit}{'' if self.quantity is TIME else ' of ' + self.quantity.words}"
            )
        return f"{what}: {bound} x {self.quantity.words} of ({self.floor})"


TARGETS = [
    Target("bucket of integers", "u-i", 0.5, "u-a"),
    Target("bucket of 5,000 strings", "u-s", 1.0, "u-a"),
    Target("bucket of 500,000 strings", "u-l", 1.0, "u-a"),
    Target("sketch by segment", "s", 3.0, "a"),
    Target("sketch with weights, nulls and three thresholds", "w-s", 3.5, "w-a"),
    Target("sketch with 5 folds", "s-5", 4.0, "a"),
    Target("sketch by segment and month", "s-m", 3.0, "a-m"),
    Target("RCL, 200 segments, 5 folds", "r", 5.0, "a"),
    Target("ec.sketch in DuckDB, against SQL by hand", "d-s", 1.15, "d-h"),
    Target("report of a folder of ten sketches", "s-c", 1000, quantity=PEAK),
    Target("sketch, ten times the rows", "s*10", 1.2, "s", PEAK),
    Target("report, ten times the rows", "b*10", 1.2, "b", PEAK),
    Target("K = 100, NEC of a full matrix", "h-c", 3.0, "h-n"),
    Target("K = 100, error rate", "h-e", 2.0, "h-a"),
    Target("K = 100, NCE", "h-x", 2.0, "h-a"),
    Target("K = 100, NBS", "h-b", 2.0, "h-a"),
    Target("K = 100, weighted F1 in DuckDB, against a scan of the column", "h-d", 5.0, "h-d0"),
    # The posteriors themselves are 800 MB.
    Target("K = 1000, NEC of 100,000 rows", "t-c", 1800, quantity=PEAK),
    Target("K = 1000, to plan", "i-k", 0.2),
    Target("K = 1000, to plan, of a List", "i-l", 0.2),
    Target("K = 10, report", "k-b", 2.0, "k-a"),
    Target("K = 10, NEC in DuckDB, against a scan of the column", "k-d", 3.0, "k-d0"),
    Target("to plan NEC of moved posteriors in DuckDB", "i-d", 0.15),
    Target("to plan a report with limits of clusters in DuckDB", "i-q", 0.3),
    Target("ec.register in memory", "i-r", 0.3),
    Target("ec.register again, which has nothing to do", "i-2", 0.02),
    Target("import polars_ec, after polars", "i", 0.06),
    Target("ten metrics in one agg", "c", 2.0, "a"),
    Target("report", "b", 1.5, "a"),
    Target("the report's columns by macros, against SQL by hand", "d1", 1.15, "d4"),
    Target("ec.report in DuckDB, against SQL by hand", "d-r", 1.15, "d2"),
    Target("ec.report with intervals in DuckDB, against SQL by hand", "d-i", 1.3, "d-v"),
    Target("report with intervals", "b-i", 1.15, "b"),
    Target("report with intervals, ten times the rows", "b-i*10", 1.2, "b-i", PEAK),
    Target("report, 100 buckets of an integer", "v-i", 2.2, "v-b"),
    Target("report, 100 buckets of a string", "v-t", 2.8, "v-b"),
    Target("report, 100 buckets, ten times the rows", "v-i*10", 1.2, "v-i", PEAK),
    Target("sketch, 100 buckets of an integer", "v-ki", 1.8, "v-k"),
    Target("sketch, 100 buckets of a string", "v-kt", 2.8, "v-k"),
    Target("ec.sketch in DuckDB, 100 buckets of an integer", "v-di", 3.2, "v-d"),
    Target("ec.sketch in DuckDB, 100 buckets of a string", "v-dt", 3.2, "v-d"),
    Target("intervals of ten metrics, 200 segments, from a sketch", "v-e", 1.0),
    Target("RCL with its interval, 200 segments, from a sketch", "v-l", 5.0),
    Target("two models compared, against their report", "v-c", 1.3, "v-2"),
    Target("polarbearings, against the report", "e", 8.0, "b", at_least=True),
    Target("K = 5, NEC over groups, against K = 4", "x-5", 2.0, "x-4", PEAK),
    Target("a job again that has nothing to do", "x-ja", 0.1, "x-j"),
    Target("windows of 28 days", "x-w", 10),
    Target("windows of 28 days", "x-w", 500, quantity=PEAK),
    Target("ECE of LLRs, 100 bins, 100 rows", "x-e", 0.3),
    Target("a List of three classes, against an Array", "x-l", 1.5, "x-a"),
    Target("three metrics with a decision to abstain, against the decisions", "x-m", 3.0, "x-d"),
    Target("ec.report in DuckDB, a million groups, against SQL by hand", "x-r", 1.5, "x-h"),
    # A quarter, or half, of what they took before there was a target.
    Target("5,000 groups against the best", "x-b", 5),
    Target("ECE with its interval, 5,000 groups", "x-c", 5.5),
    Target("AUC by the bootstrap, 200 groups", "x-s", 5),
    Target("drift, 100 buckets of an integer", "v-fi", 9.85),
    Target("drift, 100 buckets of an integer", "v-fi", 1850, quantity=PEAK),
    Target("intervals of 200,000 groups", "x-i", 10),
    Target("intervals of 200,000 groups of three classes", "x-i3", 10),
]


def ratio_of(measured: Measurements, one: str, other: str, of: Callable[[Measurement], float]) -> float:
    """The median of the ratios within each round."""
    return median(of(a) / of(b) for a, b in zip(measured[one], measured[other], strict=True))


def judged(asked: Collection[str], measured: Measurements) -> list[str]:
    """Each target of the cases that were asked for, with what was measured, and whether it is met."""
    return [_judge(target, measured) for target in TARGETS if target.case in asked]


def _judge(target: Target, measured: Measurements) -> str:
    needed = [target.case] if target.floor is None else [target.case, target.floor]
    if any(name not in measured for name in needed):
        return f"not measured: {target.text}"
    of, floor = target.quantity.of, target.floor
    if floor is None:
        rounds = [of(run) for run in measured[target.case]]
        value, unit = median(rounds), target.quantity.unit
    else:
        rounds = [of(one) / of(other) for one, other in zip(measured[target.case], measured[floor], strict=True)]
        value, unit = median(rounds), "x"
    met = value >= target.limit if target.at_least else value <= target.limit
    # The rounds show how much of a value near its bound is noise; processor time feels other work less.
    aside = f"rounds {', '.join(f'{each:.4g}' for each in rounds)}"
    if target.quantity is TIME:
        used = (
            median(run.cpu_seconds for run in measured[target.case])
            if floor is None
            else ratio_of(measured, target.case, floor, lambda run: run.cpu_seconds)
        )
        aside = f"processor time {used:.3g} {unit}; {aside}"
    return f"{'met' if met else 'missed'}: {target.text}: {value:.3g} {unit} ({aside})"
