"""Which files of polars_ec a call goes through, in the order in which they are entered.

Run as `python -m tests.support.trace`: it prints them for a metric in an aggregation, and for a calibration loss.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl

import polars_ec as ec

PACKAGE = Path(ec.__file__).parent
# No threshold parts the classes, so that a calibrator is fitted.
FRAME = pl.DataFrame({"s": list("aabbab"), "p": [0.9, 0.4, 0.7, 0.1, 0.3, 0.8], "y": [1, 1, 0, 0, 0, 1]})
CALLS: dict[str, Callable[[], Any]] = {
    'frame.group_by("s").agg(ec.nec("p", "y"))': lambda: FRAME.group_by("s").agg(ec.nec("p", "y")),
    'frame.ec.calibration_loss("p", "y", training="test")': lambda: FRAME.ec.calibration_loss(
        "p", "y", training="test"
    ),
}


def visited(call: Callable[[], Any]) -> list[str]:
    """The files whose functions run; what they import is imported before."""
    call()
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            found.setdefault(str(file.relative_to(PACKAGE)))

    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(None)
    return list(found)


if __name__ == "__main__":
    for text, call in CALLS.items():
        files = visited(call)
        print(f"{text}: {len(files)} files\n    " + "\n    ".join(files))
