"""Logs from other libraries: convert any table to a LazyFrame, read in batches where it may be larger than memory.

pandas, narwhals, pyarrow and DuckDB are only imported for objects of these libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, Concatenate, ParamSpec, Protocol, cast, overload
from weakref import WeakSet

import polars as pl
from polars.io.plugins import register_io_source

from polars_ec.typing import FrameLike, NotLazy

P = ParamSpec("P")


class LazyIfLazy(Protocol[P]):
    """A function whose table is lazy where the log is: what type checkers see of it."""

    @overload
    def __call__(self, frame: pl.LazyFrame, *args: P.args, **kwargs: P.kwargs) -> pl.LazyFrame: ...
    @overload
    def __call__(self, frame: NotLazy, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame: ...


def lazy_if_lazy(function: Callable[Concatenate[FrameLike, P], pl.LazyFrame | pl.DataFrame]) -> LazyIfLazy[P]:
    """Collect what the function returns, unless the log is lazy."""

    @wraps(function)
    def collected(frame: FrameLike, *args: P.args, **kwargs: P.kwargs) -> pl.LazyFrame | pl.DataFrame:
        table = function(frame, *args, **kwargs)
        return table if isinstance(frame, pl.LazyFrame) else table.lazy().collect(engine="streaming")

    return cast("LazyIfLazy[P]", collected)


# Exhausted readers: reading one again would give an empty log and misleading numbers.
_READ: WeakSet[Any] = WeakSet()


def as_lazy(frame: FrameLike) -> pl.LazyFrame:
    """The log as a LazyFrame; TypeError for what holds no table."""
    if isinstance(frame, pl.LazyFrame):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.lazy()
    table: Any = frame
    if hasattr(table, "to_native"):
        return as_lazy(table.to_native())
    if is_instance(table, "pandas", "DataFrame"):
        return _of_pandas(table).lazy()
    if is_instance(table, "pyarrow.dataset", "Dataset"):
        return _scan(table, table.schema, lambda names: table.scanner(list(names)).to_reader())
    if is_instance(table, "duckdb", "DuckDBPyRelation"):
        return _of_relation(table)
    if hasattr(table, "__arrow_c_stream__") and not isinstance(table, pl.Series):
        return _of_stream(table)
    path = ": for a file pass pl.scan_parquet(path) or pl.scan_csv(path)" if hasattr(table, "endswith") else ""
    raise TypeError(
        f"frame= is {type(table).__name__}, which is not a table: pass a Polars, pandas or narwhals frame, a pyarrow "
        f"Table, RecordBatch, RecordBatchReader or Dataset, a DuckDB relation, or an object with __arrow_c_stream__{path}"
    )


def is_read_once(frame: Any) -> bool:
    """Whether the rows are gone once they have been read."""
    return hasattr(frame, "read_next_batch") or hasattr(frame, "__next__")


def is_instance(value: Any, module: str, name: str) -> bool:
    """Whether this is of a class of a library that may not be installed: it is not imported, for who has the value has it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def _of_pandas(frame: Any) -> pl.DataFrame:
    """Columns and named index levels; NaN becomes null, because pandas marks missing values so."""
    names = [name for name in frame.index.names if name is not None and name not in frame.columns]
    flat = frame.reset_index(level=names) if names else frame
    if not flat.columns.is_unique:
        raise ValueError(f"frame= has two columns {flat.columns[flat.columns.duplicated()][0]!r}: rename one of them")
    return pl.DataFrame([_pandas_column(flat, name) for name in flat.columns])


def _pandas_column(frame: Any, name: Any) -> pl.Series:
    column = frame[name]
    if is_instance(column.dtype, "pandas", "PeriodDtype"):
        # Its own numbers count periods since 1970; Polars has a period by its first moment.
        column = column.dt.to_timestamp()
    try:
        return cast("pl.Series", pl.from_pandas(column)).alias(str(name))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"column {name!r} of the pandas frame has the type {column.dtype}, which Polars does not have ({error}): "
            "convert it, or pass only the columns that you need"
        ) from None


def _of_relation(relation: Any) -> pl.LazyFrame:
    """Each pass is a query of its own, of the columns that it needs."""

    def read(names: Sequence[str]) -> Any:
        return relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in names)).to_arrow_reader()

    return _scan(relation, relation.limit(0).to_arrow_table().schema, read)


def _of_stream(source: Any) -> pl.LazyFrame:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return _scan(source, source.schema, lambda names: source.select(names).to_reader())
    once = is_read_once(source)

    def check(*, unread: bool = True) -> None:
        if once and (not unread or source in _READ):
            raise ValueError(
                f"a {type(source).__name__} can be read only once, and its rows are already read: pass a table, such "
                "as reader.read_all(). For data larger than memory pass a Parquet file, pl.scan_parquet(path)"
            )

    check()
    # The stream opened for the schema is also read first, because opening one may run a query.
    opened = [source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)]

    def read(_: Sequence[str]) -> Any:
        check(unread=bool(opened))
        if once:
            # Not every object takes a weak reference.
            with suppress(TypeError):
                _READ.add(source)
        return opened.pop() if opened else pa.RecordBatchReader.from_stream(source)

    return _scan(source, opened[0].schema, read)


def _scan(source: Any, arrow_schema: Any, read: Callable[[Sequence[str]], Any]) -> pl.LazyFrame:
    """A LazyFrame whose every pass reads the batches of the reader that `read` opens for the columns needed."""
    import pyarrow as pa

    # Polars has no type for intervals of months and days.
    known = [field for field in arrow_schema if not pa.types.is_interval(field.type)]
    names = [field.name for field in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"frame= has two columns {twice[0]!r}: rename one of them")
    counted: list[int] = []

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = names if with_columns is None else with_columns
        left, seen = n_rows, 0
        reader = read(wanted)
        try:
            for batch in reader:
                rows = _as_frame(batch.select(wanted))
                seen += rows.height
                if left is not None:
                    rows = rows.head(left)
                    left -= rows.height
                yield rows if predicate is None else rows.filter(predicate)
                if left == 0:
                    return
        finally:
            # A reader holds the DuckDB connection until it is closed.
            reader.close()
        counted.append(seen)
        if seen != counted[0]:
            raise ValueError(
                f"the second pass over the {type(source).__name__} gave {seen} rows and the first {counted[0]}: pass a "
                "source that can be read twice, such as a table"
            )

    schema = _as_frame(pa.schema(known).empty_table()).schema
    return register_io_source(batches, schema=schema, is_pure=True)


def _as_frame(rows: Any) -> pl.DataFrame:
    made = pl.from_arrow(rows)
    assert isinstance(made, pl.DataFrame)
    return made


# The rows of a lazy frame, some at a time.

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
