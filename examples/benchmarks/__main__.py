"""The command line: say which logs fit, make them, run the solutions, write the results and the page."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from pathlib import Path

from examples.benchmarks.data import Size
from examples.benchmarks.page import html, markdown
from examples.benchmarks.run import COPIES, SHARE, Environments, does_not_fit, free_memory, load, measure_apart, run_all
from examples.benchmarks.runners import FLOOR, NAMES


def main() -> None:
    arguments = _parse()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    environments = Environments(out.resolve() / "environments")
    if arguments.install:
        for name in (FLOOR, *arguments.solutions):
            environments.install(load(name))
    if not environments.python(load(FLOOR)).exists():
        sys.exit("the floor is not installed: run once with --install")
    sizes = [
        Size(rows, groups, classes)
        for rows in arguments.rows
        for groups in arguments.groups
        for classes in arguments.classes
    ]
    sizes = plan(sizes, shutil.disk_usage(out).free)
    run = {"machine": machine(), "repeat": arguments.repeat, "results": []}
    measure = measure_apart(environments, arguments.timeout)
    for result in run_all(sizes, arguments.solutions, out / "logs", environments, arguments.repeat, measure):
        run["results"].append(result)
        # As soon as it is known: what comes after may take hours.
        (out / "field.json").write_text(json.dumps(run, indent=1), "utf-8")
    print(markdown(run))
    (out / "field.html").write_text(html(run), "utf-8")
    print(f"\n{out / 'field.json'}\n{out / 'field.html'}")


def plan(sizes: list[Size], free_disk: int) -> list[Size]:
    """The sizes that fit the machine together, each printed before anything runs."""
    memory, room, fitting = SHARE * free_memory(), SHARE * free_disk, []
    for size in sizes:
        reason = does_not_fit(size, room)
        if reason is None:
            fitting.append(size)
            room -= size.bytes
        in_memory = "" if COPIES * size.bytes <= memory else ", too large for tasks that hold it in memory"
        print(f"{size}: {f'left out, {reason}' if reason else f'{size.bytes / 1e9:.2f} GB{in_memory}'}")
    print(f"free: {free_disk / 1e9:.0f} GB on disk, {free_memory() / 1e9:.0f} GB in memory\n", flush=True)
    return fitting


def machine() -> dict[str, object]:
    """What times depend on; no name and no path."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "cores": os.cpu_count(),
        "memory_gb": memory,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m examples.benchmarks",
        description="Time metrics per group in this package and others, and check every answer (docs/explanation/field.md).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rows", type=_numbers, default="1e6", help="numbers of rows, such as 1e6,1e7")
    parser.add_argument("--groups", type=_numbers, default="100", help="numbers of groups")
    parser.add_argument("--classes", type=_numbers, default="2,10,100", help="numbers of classes")
    parser.add_argument("--solutions", type=_names, default=",".join(NAMES), help="which solutions run")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that a task may take")
    parser.add_argument("--install", action="store_true", help="make the environments that are missing")
    parser.add_argument(
        "--out", type=Path, default=Path("field-output"), help="folder of environments, logs and results"
    )
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    numbers = [int(float(number)) for number in text.split(",")]
    if min(numbers) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} holds a number below 2")
    return numbers


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"no solution {name!r}; there are {', '.join(NAMES)}")
    return names


if __name__ == "__main__":
    main()
