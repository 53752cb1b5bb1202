"""Which files of polars_ec a call passes through, in the order in which they are entered.

Run as `python -m tests.support.trace`: it prints them for a metric in an aggregation, a calibration loss and three intervals.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

import polars_ec as ec

PACKAGE = Path(ec.__file__).parent
# The constructors of dataclasses: those that the standard library compiles have no file.
RECORDS = PACKAGE / "records.py"
# No threshold separates the classes, so that a calibrator is fitted.
FRAME = pl.DataFrame({"s": list("aabbab"), "p": [0.9, 0.4, 0.7, 0.1, 0.3, 0.8], "y": [1, 1, 0, 0, 0, 1]})
JANUARY, FEBRUARY = date(2024, 1, 1), date(2024, 2, 1)
LOG = pl.concat([FRAME] * 40).with_columns(q=pl.col("p").reverse(), month=pl.Series([JANUARY, JANUARY, FEBRUARY] * 80))
NEC = {"metrics": ["nec"], "prior": 0.3, "by": "s"}
CALLS: dict[str, Callable[[], Any]] = {
    "a metric": lambda: FRAME.group_by("s").agg(ec.nec("p", "y")),
    "a calibration loss": lambda: FRAME.ec.calibration_loss("p", "y", training="test"),
    "an interval in a report": lambda: LOG.lazy().ec.report("p", "y", interval=0.95, **NEC).collect(),
    "an interval in compare": lambda: LOG.lazy().ec.compare(["p", "q"], "y", **NEC).collect(),
    "an interval in drift": lambda: LOG.lazy().ec.drift("p", "y", period="month", reference=JANUARY, **NEC).collect(),
}


def visited(call: Callable[[], Any]) -> list[str]:
    """The files whose functions run; what they import is imported before."""
    call()
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE) and file != RECORDS:
            files.setdefault(str(file.relative_to(PACKAGE)))

    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(None)
    return list(files)


if __name__ == "__main__":
    passed = {name: visited(call) for name, call in CALLS.items()}
    if sys.argv[1:] == ["--counts"]:
        print(json.dumps({f"files of {name}": len(files) for name, files in passed.items()}))
    else:
        for name, files in passed.items():
            print(f"{name}: {len(files)} files\n    " + "\n    ".join(files))
