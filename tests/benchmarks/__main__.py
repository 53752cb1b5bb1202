"""The command line: make the logs, run the cases round by round, print what came out."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks import scaling
from tests.benchmarks.case import SAMPLE_ROWS, Case
from tests.benchmarks.cases import CASES
from tests.benchmarks.layout import log_paths
from tests.benchmarks.measure import ROOT, CaseError, Measurement, run_apart
from tests.benchmarks.summary import disagreements, table
from tests.benchmarks.targets import judged

_FOLDER = ROOT / ".benchmarks"


def main() -> int:
    arguments = _parse()
    named = (
        arguments.only
        or (scaling.CASES if arguments.scaling else ())
        or [case.name for case in CASES if case.on_request == arguments.billion]
    )
    cases = [case for case in CASES if case.name in named]
    rows_of_log = _rows_of_logs(arguments.rows, arguments.classes_rows)
    for kind in sorted({case.log for case in cases}):
        # In a process of its own: numpy and pyarrow would make this one large, and measurements inherit its size.
        command = [sys.executable, "-m", "tests.benchmarks.logs", str(_FOLDER), kind, str(rows_of_log[kind])]
        subprocess.run(command, cwd=ROOT, check=True)
    if arguments.scaling:
        files = {case: case.files(log_paths(_FOLDER, case.log, rows_of_log[case.log])) for case in cases}
        runs = {
            case.name: scaling.on_cores(case, files[case], _FOLDER / "values-scaling.parquet", arguments.repeat)
            for case in cases
        }
        print(f"{_setting()}; median of {arguments.repeat} rounds", *scaling.table(runs), sep="\n")
        return 0
    measured, values, failed = _run(cases, rows_of_log, arguments.repeat)

    print(f"\n{_setting()}; median of {arguments.repeat} interleaved rounds, each case in a fresh process")
    print(", ".join(f"{kind}: {rows:,} rows" for kind, rows in rows_of_log.items()) + f"; samples: {SAMPLE_ROWS:,}")
    print(*table(cases, measured, rows_of_log), sep="\n")
    for name, error in failed.items():
        print(f"({name}) did not run: {error}")
    compared, problems = disagreements(cases, values)
    print(f"\nvalues: {compared} columns compared to 1e-9, {len(problems)} differ", *problems, sep="\n  ")
    print("\ntargets:", *judged([case.name for case in cases], measured), sep="\n  ")
    return 1 if problems or failed else 0


def _rows_of_logs(binary: int, classes: int) -> dict[str, int]:
    """How many rows each log has; those of K classes have about as many posteriors."""
    return {
        "binary": binary,
        "weighted": binary,
        "clustered": binary,
        "keys": max(1, binary // 4),
        "classes": classes,
        "hundred": max(1, classes // 5),
        "thousand": max(1, classes // 50),
    }


def _run(
    cases: list[Case], rows_of_log: dict[str, int], repeat: int
) -> tuple[dict[str, list[Measurement]], dict[str, Path], dict[str, str]]:
    """Measure in rounds of one run per case, so that noise from outside hits all cases alike."""
    measured: dict[str, list[Measurement]] = defaultdict(list)
    values: dict[str, Path] = {}
    failed: dict[str, str] = {}
    for turn in range(repeat):
        for case in cases:
            if case.name in failed:
                continue
            file = _FOLDER / f"values-{cases.index(case)}.parquet"
            try:
                files = case.files(log_paths(_FOLDER, case.log, rows_of_log[case.log]))
                runs = [run_apart(case, files, file) for _ in range(case.runs)]
            except CaseError as error:
                failed[case.name] = str(error)
                measured.pop(case.name, None)
                continue
            run = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
            measured[case.name].append(run)
            values[case.name] = file
            print(f"round {turn + 1}, {case.name}: {run.seconds:.3f} s, {run.peak_bytes / 1e6:.0f} MB", file=sys.stderr)
    return measured, values, failed


def _setting() -> str:
    """What the numbers depend on: the machine and the versions."""
    names = ("polars", "duckdb", "polarbearings", "polars-ds", "scikit-learn")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {versions}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the binary log")
    parser.add_argument("--classes-rows", type=int, default=5_000_000, help="rows of the log with 10 classes")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument(
        "--billion", action="store_true", help="instead of all others, the cases that read the log 50 times"
    )
    parser.add_argument("--scaling", action="store_true", help="instead, some cases on 1, 2, 4 ... cores (Linux)")
    parser.add_argument("--only", type=_names, default=[], help="cases, such as a,b,d1")
    arguments = parser.parse_args()
    if min(arguments.rows, arguments.classes_rows, arguments.repeat) < 1:
        parser.error("--rows, --classes-rows and --repeat are at least 1")
    return arguments


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = sorted(set(names) - {case.name for case in CASES})
    if unknown:
        raise argparse.ArgumentTypeError(f"no case {unknown[0]!r}; there are {', '.join(case.name for case in CASES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
