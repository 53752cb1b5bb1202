"""How much faster more cores make a case, and what Amdahl's law makes of it on sixteen."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from tests.benchmarks.case import Case
from tests.benchmarks.measure import Measurement, run_apart

CASES = ("a", "b", "s", "s-5", "h-e", "h-c", "r-a")
FAR = 16


def core_counts() -> list[int]:
    """One core, and twice as many as long as the machine has them."""
    held = len(os.sched_getaffinity(0))
    return [2**i for i in range(held.bit_length()) if 2**i <= held]


def on_cores(case: Case, files: list[str], values: Path, rounds: int) -> dict[int, list[Measurement]]:
    """The case with the processor's first core alone, with two, and so on; in rounds, so that noise hits all alike."""
    measured: dict[int, list[Measurement]] = {n: [] for n in core_counts()}
    for _ in range(rounds):
        for n, runs in measured.items():
            runs.append(run_apart(case, files, values, cores=n))
    return measured


def table(measured: Mapping[str, Mapping[int, list[Measurement]]]) -> Iterator[str]:
    """A line per case: time and processor time by the number of cores, the speed-up, and that on many cores by Amdahl's law."""
    yield "| case | cores | time, s | processor time, s | times as fast | Amdahl: on 16 cores |"
    yield "|---|---|---|---|---|---|"
    for name, runs in measured.items():
        alone = median(run.seconds for run in runs[1])
        for n, rounds in runs.items():
            seconds, used = (
                median(values) for values in zip(*((r.seconds, r.cpu_seconds) for r in rounds), strict=True)
            )
            gain = alone / seconds
            far = "" if n == 1 else f"{_amdahl(gain, n):.1f}"
            yield f"| {name} | {n} | {seconds:.2f} | {used:.2f} | {gain:.2f} | {far} |"


def _amdahl(gain: float, n: int) -> float:
    """The gain on many cores, of which n cores gave this one: the part that one core does takes as long on any number."""
    alone = max((n / gain - 1) / (n - 1), 0)
    return 1 / (alone + (1 - alone) / FAR)
