"""Run one task of one runner in this process, and print what it took. Needs Python alone: it runs in the runner's environment.

`python -m examples.benchmarks.worker RUNNER TASK CLASSES ANSWER FILE...`: the columns go to the file ANSWER as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from examples.benchmarks.task import Columns, Log, Query

# A query runs so often, or until so many seconds have passed.
RUNS = 5
SECONDS = 2.0


def main() -> None:
    name, task, n_classes, answer, *files = sys.argv[1:]
    runner = import_module(f"examples.benchmarks.runners.{name}")
    query = getattr(runner, task)(Log(files, int(n_classes)))
    columns, seconds, cpu_seconds, peak = measured(query)
    Path(answer).write_text(json.dumps(columns), "utf-8")
    taken = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak}
    print(json.dumps({**taken, "version": f"{runner.PACKAGE} {version(runner.PACKAGE)}"}))


def measured(query: Query) -> tuple[Columns, float, float, int]:
    """The answer, the time and processor time of the fastest run, and peak memory after the first.

    What takes little runs again, because other work on the machine disturbs it most.
    """
    times, cpu_times, peak = [], [], 0
    while not times or (len(times) < RUNS and sum(times) < SECONDS):
        start, (cpu_start, _) = time.perf_counter(), usage()
        columns = query()
        times.append(time.perf_counter() - start)
        cpu, high_water = usage()
        cpu_times.append(cpu - cpu_start)
        peak = peak or high_water
    return columns, min(times), min(cpu_times), peak


def warm_file_cache(paths: list[str]) -> None:
    """Read the files, so that no solution waits for the disk that another does not."""
    for path in paths:
        with open(path, "rb") as file:
            while file.read(2**22):
                pass


def usage() -> tuple[float, int]:
    """Processor seconds and peak memory so far, of this process and those that it started (Spark has one)."""
    if not Path("/proc/self/status").exists():
        import resource

        own = resource.getrusage(resource.RUSAGE_SELF)
        # Bytes on macOS, the system without /proc.
        return own.ru_utime + own.ru_stime, own.ru_maxrss
    # Of this process more finely than its clock ticks.
    seconds, peak, own = time.process_time(), 0, Path("/proc/self").resolve()
    for process in _tree(own):
        # One that ends meanwhile has no files any more.
        with suppress(OSError):
            if process != own:
                after_name = (process / "stat").read_text("utf-8").rpartition(")")[2].split()
                seconds += (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
            # One that has ended has no memory.
            status = (process / "status").read_text("utf-8").splitlines()
            peak += sum(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return seconds, peak


def _tree(process: Path) -> Iterator[Path]:
    yield process
    for thread in process.glob("task/*/children"):
        for child in thread.read_text("utf-8").split():
            yield from _tree(process.parent / child)


if __name__ == "__main__":
    main()
