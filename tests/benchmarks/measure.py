"""One case in a process of its own, so that its peak memory is its own; the measurement is the last line of stdout."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from examples.benchmarks.worker import warm_file_cache
from tests.benchmarks.case import Case
from tests.benchmarks.cases import CASES

ROOT = Path(__file__).parent.parent.parent
# ru_maxrss counts kilobytes on Linux and bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
# Seconds; what takes longer is not measured.
_LONGEST = 900


@dataclass(frozen=True)
class Measurement:
    """One run: the time of the query alone, peak memory of the process, and what of it was there before the query.

    Processor time is the sum over the threads; it feels other work on the machine less than the time of the clock.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    baseline_bytes: int


class CaseError(Exception):
    """A case that did not run; the message is the last line of its output."""


def run_apart(case: Case, paths: list[str], values: Path, cores: int | None = None) -> Measurement:
    """Run the case in a fresh process, on so many cores, by default all; its values go to the file `values`.

    The caller must be small itself: on Linux a new process starts with its parent's peak as its own.
    """
    warm_file_cache(paths)
    command = [sys.executable, "-m", "tests.benchmarks.measure", case.name, str(values), *paths]
    if cores is not None:
        command = ["taskset", "--cpu-list", f"0-{cores - 1}", *command]
    # Modules are imported as they are where they are installed: compiled.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired:
        raise CaseError(f"it took more than {_LONGEST} s") from None
    if done.returncode:
        last = (done.stderr.strip() or f"ended with status {done.returncode}").splitlines()[-1]
        raise CaseError(last)
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def _measure(case: Case, paths: list[str], values: Path) -> Measurement:
    query = case.prepare(paths)
    baseline = _peak_bytes()
    start, cpu_start = time.perf_counter(), time.process_time()
    result = query()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    peak = _peak_bytes()
    table = result() if callable(result) else result
    table.write_parquet(values)
    return Measurement(seconds, cpu_seconds, peak, baseline)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure one case.")
    parser.add_argument("case")
    parser.add_argument("values", type=Path)
    parser.add_argument("paths", nargs="+")
    arguments = parser.parse_args()
    case = next(case for case in CASES if case.name == arguments.case)
    print(json.dumps(asdict(_measure(case, arguments.paths, arguments.values))))


if __name__ == "__main__":
    main()
