"""How far a long job is: a bar in a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

import typer

from polars_ec.cli.terminal import escaped, tell

_SECONDS = 10

T = TypeVar("T")


class _Named(Protocol):
    """What has a last part of its name, as paths have."""

    @property
    def name(self) -> str: ...


def progress(
    items: Sequence[T], name: Callable[[T], _Named], *, label: str, done: str
) -> AbstractContextManager[Iterable[T]]:
    """The items, one by one, while somebody is told of them: on a bar by the last part of their names."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(_told_now_and_then(items, name, done))

    def shown(item: T | None) -> str | None:
        return None if item is None else escaped(name(item).name)

    return typer.progressbar(items, label=label, show_pos=True, item_show_func=shown, file=sys.stderr)


def _told_now_and_then(items: Sequence[T], name: Callable[[T], _Named], done: str) -> Iterator[T]:
    """Where there is no terminal to draw a bar on, as in the log of a nightly job: a line every ten seconds."""
    last = clock.monotonic()
    for i, item in enumerate(items):
        now = clock.monotonic()
        if now - last >= _SECONDS:
            tell(f"{i} of {len(items)} {done}, now {name(item)}")
            last = now
        yield item
