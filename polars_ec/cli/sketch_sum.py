"""The sketches of a folder added up, one in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from polars_ec.cells.cells import add_up
from polars_ec.cells.grid import AMOUNTS
from polars_ec.cli.manifest import Entry, Manifest
from polars_ec.sketches import Sketch

# What waits to be added up is kept until it is worth the while; and it is added up in so many parts.
_BATCH = 500_000
_PARTS = 16


def total(manifest: Manifest, read: Callable[[str, Entry], Sketch], roll_up: Callable[[Sketch], Sketch]) -> Sketch:
    """The sum of all sketches of the manifest, each rolled up before it is added.

    `read` gives the sketch of an entry. One sketch is in memory at a time, so that a folder of many takes what its sums take.
    """
    rolled_up = _Sum(roll_up)
    for name, entry in manifest.entries.items():
        sketch = _with_known_types(read(name, entry), entry, manifest)
        rolled_up.add(sketch)
        del sketch
    return rolled_up.total()


def _with_known_types(sketch: Sketch, entry: Entry, manifest: Manifest) -> Sketch:
    """A group column that is null throughout a file says nothing of its dtype: it takes that of the other files."""
    unknown = {manifest.options["--time"]: pl.Datetime("us")}
    keys = [
        pl.lit(None, dtype=manifest.dtypes.get(key, unknown.get(key, pl.String()))).alias(key)
        if dtype is None
        else pl.col(key).cast(manifest.dtypes[key])
        for key, dtype in entry.dtypes.items()
    ]
    return sketch.on_tables(lambda table: table.with_columns(keys))


class _Sum:
    """Sketches added up as they come."""

    def __init__(self, roll_up: Callable[[Sketch], Sketch]) -> None:
        self._roll_up = roll_up
        self._made: Sketch | None = None
        self._cells = _Parts()
        self._coarse = _Parts()
        self._sums: list[pl.DataFrame] = []

    def add(self, sketch: Sketch) -> None:
        rolled = self._roll_up(sketch)
        empty = rolled.on_tables(pl.DataFrame.clear)
        self._made = empty if self._made is None else self._made + empty  # which refuses what does not go together
        if rolled.sums is not None:
            self._sums = [add_up(pl.concat([*self._sums, rolled.sums]))]
        if rolled.coarse is not None:
            self._coarse.add(rolled.coarse)
        tables = [rolled.frame]
        del rolled
        self._cells.add(tables.pop())

    def total(self) -> Sketch:
        assert self._made is not None
        coarse = None if self._made.coarse is None else self._coarse.total(self._made.coarse)
        frame, sums = self._cells.total(self._made.frame), self._sums[0] if self._sums else None
        return replace(self._made, frame=frame, sums=sums, coarse=coarse)


class _Parts:
    """Tables of cells added up as they come, in parts by a hash of the cell: so that the parts are added up one after the other.

    What waits in a part takes no more than what is there, and adding up takes several times what it is done to.
    """

    def __init__(self) -> None:
        self._parts: list[list[pl.DataFrame]] = [[] for _ in range(_PARTS)]

    def add(self, table: pl.DataFrame) -> None:
        cell = _cell(table)
        part = pl.struct(cell).hash(0) % _PARTS
        name = f"part of {cell}"  # which no group column is called
        split = table.with_columns(part.alias(name)).partition_by(name, include_key=False, as_dict=True)
        del table
        for (number,), frame in split.items():
            waiting = self._parts[number]
            waiting.append(frame)
            if sum(part.height for part in waiting[1:]) > max(_BATCH // _PARTS, waiting[0].height):
                waiting[:] = [_added(waiting)]

    def total(self, empty: pl.DataFrame) -> pl.DataFrame:
        """All of them, which have the columns of the empty one, sorted."""
        frames = [empty]
        for waiting in self._parts:
            frames += [_added(waiting)] if len(waiting) > 1 else waiting
            waiting.clear()
        together = pl.concat(frames, how="diagonal", rechunk=False).select(empty.columns)
        frames.clear()
        # Column by column, each of which goes before the next one comes: sorting a table needs it twice, and more.
        order = together.select(pl.arg_sort_by(_cell(empty), nulls_last=True)).to_series()
        return pl.DataFrame([together.drop_in_place(name).gather(order) for name in together.columns])


def _added(tables: list[pl.DataFrame]) -> pl.DataFrame:
    # Some may be of the time before the squares of weights, and then the sum has none.
    return add_up(pl.concat(tables, how="diagonal"))


def _cell(table: pl.DataFrame) -> list[str]:
    """The columns that say which cell a row is."""
    return [name for name in table.columns if name not in AMOUNTS]
