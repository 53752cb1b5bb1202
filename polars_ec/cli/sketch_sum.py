"""The sketches of a folder added up, one in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from polars_ec.cells.cells import add_up
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
    """Sketches added up as they come, in parts by a hash of the cell: so that the parts are added up one after the other.

    What waits in a part takes no more than what is there, and adding up takes several times what it is done to.
    """

    def __init__(self, roll_up: Callable[[Sketch], Sketch]) -> None:
        self._roll_up = roll_up
        self._made: Sketch | None = None
        self._parts: list[list[pl.DataFrame]] = [[] for _ in range(_PARTS)]
        self._sums: list[pl.DataFrame] = []

    def add(self, sketch: Sketch) -> None:
        rolled = self._roll_up(sketch)
        empty = rolled.on_tables(pl.DataFrame.clear)
        self._made = empty if self._made is None else self._made + empty  # which refuses what does not go together
        part = pl.struct(self._cell(rolled)).hash(0) % _PARTS
        name = f"part of {rolled.keys}"  # which no group column is called
        split = rolled.frame.with_columns(part.alias(name)).partition_by(name, include_key=False, as_dict=True)
        if rolled.sums is not None:
            self._sums = [add_up(pl.concat([*self._sums, rolled.sums]))]
        del rolled
        for (number,), frame in split.items():
            waiting = self._parts[number]
            waiting.append(frame)
            if sum(part.height for part in waiting[1:]) > max(_BATCH // _PARTS, waiting[0].height):
                waiting[:] = [add_up(pl.concat(waiting))]

    def total(self) -> Sketch:
        assert self._made is not None
        frames = [self._made.frame]
        for waiting in self._parts:
            frames += [add_up(pl.concat(waiting))] if len(waiting) > 1 else waiting
            waiting.clear()
        together = pl.concat(frames, rechunk=False)
        frames.clear()
        # Column by column, each of which goes before the next one comes: sorting a table needs it twice, and more.
        order = together.select(pl.arg_sort_by(self._cell(self._made), nulls_last=True)).to_series()
        columns = [together.drop_in_place(name).gather(order) for name in together.columns]
        return replace(self._made, frame=pl.DataFrame(columns), sums=self._sums[0] if self._sums else None)

    @staticmethod
    def _cell(sketch: Sketch) -> list[str]:
        return [*sketch.keys, "class", *sketch.grid.cell_columns]
