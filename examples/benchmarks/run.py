"""Environments, sizes, checks and rounds: what a run does, in this order. A result is a dictionary, a line of the result file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from examples.benchmarks.data import Size, check_size, make_log, oracle
from examples.benchmarks.runners import FLOOR
from examples.benchmarks.task import TASKS, Columns, Log
from examples.benchmarks.worker import warm_file_cache

ROOT = Path(__file__).parents[2]
# Libraries of arrays hold the log about three times: as read, as arrays, and in the order of the groups.
COPIES = 3
# What a run may take of the free disk and memory.
SHARE = 0.8
# Relative difference of metrics; difference of areas, so that bins are allowed; of bounds, in halves of the interval's width, so that
# other formulas and the noise of a bootstrap are.
TOLERANCE = {"metrics": 1e-6, "auc": 1e-3, "intervals": 0.5}

Result = dict[str, Any]
# Runs a task and gives what it took with the answer, or raises `RunError`.
Measure = Callable[[str, str, Log], Result]


class RunError(Exception):
    """A task that gave no answer: `status` is a word for the table, the message says why."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Environments:
    """The folder of virtual environments, one for each set of packages that runners install."""

    folder: Path

    def python(self, runner: ModuleType) -> Path:
        """The interpreter of the runner's environment, which need not exist."""
        name = "polars_ec" if runner.INSTALL == (".",) else runner.INSTALL[0]
        return self.folder / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def install(self, runner: ModuleType) -> None:
        """Make the environment, unless it is there; one that pip fails to fill is removed."""
        python = self.python(runner)
        if python.exists():
            return
        home = python.parents[1]
        print(f"pip install {' '.join(runner.INSTALL)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *runner.INSTALL], cwd=ROOT, check=False)
        if done.returncode:
            shutil.rmtree(home)


def load(name: str) -> ModuleType:
    """The module of a runner."""
    return import_module(f"examples.benchmarks.runners.{name}")


def does_not_fit(size: Size, room: float) -> str | None:
    """Why there is no log of this size, if so."""
    if not size.enough_rows:
        return "fewer than 50 rows per group and class"
    return f"{size.bytes / 1e9:.1f} GB on disk" if size.bytes > room else None


def free_memory() -> int:
    """Bytes that are free now, files in the cache included; all that there are where the system does not say."""
    if not Path("/proc/meminfo").exists():
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    (kilobytes,) = re.findall(r"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text("utf-8"), re.MULTILINE)
    return int(kilobytes) * 1024


def run_all(
    sizes: list[Size], names: list[str], folder: Path, environments: Environments, repeat: int, measure: Measure
) -> Iterator[Result]:
    """All solutions on all logs: first each shows on a small log that it is right, then the right ones are timed in rounds."""
    verdicts: dict[tuple[str, str, int], Result] = {}
    # Results of earlier logs that were out of time.
    late: list[Result] = []
    for size in sizes:
        log = make_log(folder, size)
        jobs: list[tuple[str, str, Result]] = [(FLOOR, FLOOR, _result(FLOOR, FLOOR, size))]
        for name in names:
            for task in TASKS:
                result = _result(name, task, size)
                if (refusal := _refusal(load(name), task, size, environments)) is None:
                    key = name, task, size.classes
                    if key not in verdicts:
                        verdicts[key] = _check(name, task, check_size(size.classes), folder, measure)
                        print(f"{name}, {task}, {size.classes} classes: {verdicts[key]['status']}", file=sys.stderr)
                    refusal = verdicts[key]
                    if any(_is_larger(result, other) for other in late):
                        refusal = {"status": "out of time", "detail": "a smaller log already took too long"}
                result |= refusal
                jobs.append((name, task, result))
        answers = {task: oracle(log, size, task) for task in TASKS}
        for _ in range(repeat):
            for name, task, result in jobs:
                if result["status"] == "right":
                    _time(result, measure, answers.get(task), name, task, log)
        for _, _, result in jobs:
            if result["status"] == "out of time":
                late.append(result)
            yield result


def _is_larger(result: Result, other: Result) -> bool:
    same = all(result[name] == other[name] for name in ("solution", "task", "classes"))
    return same and result["rows"] >= other["rows"] and result["groups"] >= other["groups"]


def _result(name: str, task: str, size: Size) -> Result:
    about = {"solution": name, "title": load(name).TITLE, "task": task}
    about |= {"rows": size.rows, "groups": size.groups, "classes": size.classes}
    return {**about, "status": "right", "detail": "", **_untimed()}


def _untimed() -> Result:
    return {"seconds": [], "cpu_seconds": [], "peak_mb": []}


def _refusal(runner: ModuleType, task: str, size: Size, environments: Environments) -> Result | None:
    if task not in (runner.TWO_CLASSES if size.classes == 2 else runner.MANY_CLASSES):
        return {"status": "not offered"}
    if not environments.python(runner).exists():
        return {"status": "not installed"}
    if task in runner.IN_MEMORY and COPIES * size.bytes > SHARE * free_memory():
        return {"status": "not offered", "detail": "the log does not fit in memory"}
    return None


def _check(name: str, task: str, size: Size, folder: Path, measure: Measure) -> Result:
    log = make_log(folder, size)
    try:
        taken = measure(name, task, log)
    except RunError as error:
        return {"status": error.status, "detail": str(error)}
    return {"version": taken["version"], **compare(taken["columns"], oracle(log, size, task), task)}


def _time(result: Result, measure: Measure, expected: Columns | None, name: str, task: str, log: Log) -> None:
    try:
        taken = measure(name, task, log)
    except RunError as error:
        result |= {"status": error.status, "detail": str(error), **_untimed()}
        return
    result["version"] = taken["version"]
    if expected is not None:
        result |= compare(taken["columns"], expected, task)
    if result["status"] == "wrong":
        result |= _untimed()
        return
    result["seconds"].append(taken["seconds"])
    result["cpu_seconds"].append(taken["cpu_seconds"])
    result["peak_mb"].append(taken["peak_bytes"] / 1e6)
    print(f"{name}, {task}: {taken['seconds']:.3f} s, {taken['peak_bytes'] / 1e6:.0f} MB", file=sys.stderr)


def compare(answer: Columns, expected: Columns, task: str) -> Result:
    """Whether an answer is right: the same segments, and each value within the tolerance of the task."""
    rows = {segment: row for row, segment in enumerate(answer["segment"])}
    if len(rows) != len(answer["segment"]) or rows.keys() != set(expected["segment"]):
        return {"status": "wrong", "detail": "other segments"}
    order = [rows[segment] for segment in expected["segment"]]
    errors = {}
    for name, values in expected.items():
        if name == "segment":
            continue
        if name not in answer:
            return {"status": "wrong", "detail": f"no column {name}"}
        scales = [1.0] * len(values)
        if task == "metrics":
            scales = [abs(value) or 1.0 for value in values]
        elif task == "intervals":
            metric = name.rpartition("_")[0]
            ends = zip(expected[f"{metric}_low"], expected[f"{metric}_high"], strict=True)
            scales = [(high - low) / 2 for low, high in ends]
        given = [answer[name][row] for row in order]
        errors[name] = max(map(_error, given, values, scales))
    worst = max(errors, key=errors.__getitem__)
    status = "right" if errors[worst] <= TOLERANCE[task] else "wrong"
    return {
        "status": status,
        "detail": f"{worst} is off by {errors[worst]:.1e}" if status == "wrong" else "",
        "error": errors[worst],
    }


def _error(given: float | None, value: float, scale: float) -> float:
    """The difference in units of the scale; infinite for what is no number, which no tolerance allows."""
    if given is None or given != given:
        return float("inf")
    return abs(float(given) - value) / scale


def last_error(text: str) -> str:
    """The error at the end of a traceback, for the result file, which names no folder of this machine."""
    errors = [line for line in text.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return re.sub(r"(?<!\w)(/[^\s'\":/]+){2,}", "[path]", errors[-1]) if errors else ""


def measure_apart(environments: Environments, timeout: float) -> Measure:
    """Run tasks in processes of their own, each in the runner's environment."""

    def measure(name: str, task: str, log: Log) -> Result:
        warm_file_cache(log.files)
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "answer.json"
            python = environments.python(load(name))
            command = [python, "-m", "examples.benchmarks.worker", name, task, str(log.n_classes), answer, *log.files]
            try:
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout)
            except subprocess.TimeoutExpired:
                raise RunError("out of time", f"more than {timeout:.0f} s") from None
            except OSError as error:
                raise RunError("not installed", error.strerror or "no interpreter") from None
            if done.returncode:
                raise RunError("failed", last_error(done.stderr) or f"ended with status {done.returncode}")
            return {**json.loads(done.stdout.splitlines()[-1]), "columns": json.loads(answer.read_text("utf-8"))}

    return measure
