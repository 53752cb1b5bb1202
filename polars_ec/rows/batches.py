"""The rows of a lazy frame, some at a time, and steps that work on them side by side."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar, cast

import polars as pl

T = TypeVar("T")

_SECONDS = 0.1


def batches(frame: pl.LazyFrame, size: int, *, in_order: bool = False) -> Iterator[pl.DataFrame]:
    """About `size` rows at a time, by the streaming engine; whatever ends the query is raised.

    `LazyFrame.collect_batches` ends without a word where the engine panics, as if there were no more rows.
    """
    handed: Queue[pl.DataFrame | BaseException | None] = Queue(maxsize=1)
    stopped = Event()

    def hand(item: pl.DataFrame | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                handed.put(item, timeout=_SECONDS)
            except Full:
                continue
            return False
        return True

    def work() -> None:
        try:
            frame.sink_batches(hand, chunk_size=size, maintain_order=in_order, engine="streaming")
        except BaseException as error:  # a panic is no Exception
            hand(error)
        else:
            hand(None)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while isinstance(item := handed.get(), pl.DataFrame):
            yield item
        if item is not None:
            raise item
    finally:
        stopped.set()
        thread.join()


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, of which a thread makes the next while one is in use; whatever ends them is raised."""
    end = object()
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, end)
        while (item := following.result()) is not end:
            following = thread.submit(next, items, end)
            yield cast("T", item)
