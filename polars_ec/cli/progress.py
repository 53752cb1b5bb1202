"""How far a sketch job is: a bar in a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import typer

from polars_ec.cli.sketch_outcome import Task
from polars_ec.cli.terminal import escaped, tell

_SECONDS = 10


def progress(tasks: Sequence[Task]) -> AbstractContextManager[Iterable[Task]]:
    """The tasks, one by one, while somebody is told of them."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(_told_now_and_then(tasks))
    return typer.progressbar(tasks, label="sketch", show_pos=True, item_show_func=_shown, file=sys.stderr)


def _told_now_and_then(tasks: Sequence[Task]) -> Iterator[Task]:
    """Where there is no terminal to draw a bar on, as in the log of a nightly job: a line every ten seconds."""
    last = clock.monotonic()
    for i, task in enumerate(tasks):
        now = clock.monotonic()
        if now - last >= _SECONDS:
            tell(f"{i} of {len(tasks)} inputs read, now {task.file}")
            last = now
        yield task


def _shown(task: Task | None) -> str | None:
    return None if task is None else escaped(task.file.name)
