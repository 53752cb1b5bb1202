"""Rolling windows over the periods of a folder of sketches, as `--window` asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polars_ec.cli.errors import UsageError
from polars_ec.cli.request import Sketched
from polars_ec.drifting.windows import Windows


def check_window(window: int | None, every: str | None) -> None:
    """UsageError for a window of fewer than two periods, or of unknown ones."""
    if window is None:
        return
    if window < 2:
        raise UsageError(f"--window {window}: pass 2 or more periods, or leave it out")
    if every is None:
        raise UsageError(f"--window {window} is of periods: say which with --every")


def windows_of(sketched: Sketched, window: int) -> Windows:
    """Those over a folder that is rolled up to periods."""
    sketch, period, every = sketched.sketch, sketched.period, sketched.every
    assert every is not None
    if sketch.frame[period].null_count():
        raise UsageError(
            f"--window {window}: some rows have no {period}, and so are in no window: sketch the log without them"
        )
    return sketch.rolling(period, periods=window, every=every)


def rolled(sketched: Sketched, window: int) -> Iterator[Sketched]:
    """The sketches of the windows, of some groups after the others; `--prior overall` is that of the rows, each of which counts once."""
    windows, prior = windows_of(sketched, window), sketched.options.get("prior")
    for sketch, stated in windows._rolling.in_blocks(sketched.sketch, prior):
        options = sketched.options if stated is None else {**sketched.options, "prior": stated}
        yield replace(sketched, sketch=sketch, options=options)
