"""How the command line writes a table: to read, or for another program, to stdout or to a file that is whole or not there."""

from __future__ import annotations

import errno
import importlib.util
import io
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from polars_ec.cli.terminal import DataError, UsageError, escaped, panics_unseen
from polars_ec.integrations.openmetrics import as_openmetrics
from polars_ec.integrations.tables import table as written_table
from polars_ec.output.numbers import MIDNIGHT, days_as_dates
from polars_ec.output.whole_file import whole_file
from polars_ec.output.words import first_line

SHOWN_ROWS = 1000
_GAP = "  "
_NARROWEST = 20

# Of a name that is right, and a disk that is not.
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Format(StrEnum):
    """What a report is written as."""

    table = "table"
    csv = "csv"
    parquet = "parquet"
    json = "json"
    openmetrics = "openmetrics"
    markdown = "markdown"
    latex = "latex"


_BY_SUFFIX = {
    "": Format.table,
    ".txt": Format.table,
    ".csv": Format.csv,
    ".parquet": Format.parquet,
    ".json": Format.json,
    ".prom": Format.openmetrics,
    ".md": Format.markdown,
    ".tex": Format.latex,
}


def format_for(stated: Format | None, out: Path | None) -> Format:
    """The stated format, else what the file's name says, else a table."""
    chosen = stated
    if chosen is None:
        suffix = "" if out is None or (_is_special(out) and out.suffix not in _BY_SUFFIX) else out.suffix.lower()
        if suffix not in _BY_SUFFIX:
            raise UsageError(
                f"--out {out}: the suffix {suffix} is not one of {', '.join(filter(None, _BY_SUFFIX))}. Choose a "
                f"format with --format {', '.join(form.value for form in Format)}"
            )
        chosen = _BY_SUFFIX[suffix]
    if chosen is Format.parquet and out is None:
        raise UsageError("--format parquet cannot be printed: name a file with --out FILE")
    return chosen


def encode(table: pl.DataFrame, form: Format, *, names: int = 0, width: int | None = None) -> bytes:
    """The table in this format; DataError for values that it cannot hold, as years with more than four digits are to most.

    A table to read is at most `width` wide: its columns then stand in several parts one below the other, and each begins with the
    first `names` columns, which say what a row is.
    """
    try:
        with panics_unseen():
            if form is Format.parquet:
                buffer = io.BytesIO()
                table.write_parquet(buffer)
                return buffer.getvalue()
            if form is Format.csv:
                return _flat(table).write_csv().encode()
            if form is Format.openmetrics:
                text = as_openmetrics(table, table.columns[:names])
            elif form in (Format.markdown, Format.latex):
                text = written_table(table, "latex" if form is Format.latex else "markdown")
            else:
                text = as_json(table) if form is Format.json else as_text(table, names=names, width=width)
            return f"{text}\n".encode()
    except (PolarsError, PanicException, ValueError, OverflowError) as error:
        raise DataError(f"the report cannot be written as {form.value}: {first_line(error)}") from error


def as_text(table: pl.DataFrame, *, names: int = 0, width: int | None = None) -> str:
    """The table to read: every column, and the first thousand rows; `-` is null. For `names` and `width` see `encode`.

    Confidence limits stand beside what they are of: `0.4312 [0.4021, 0.4602]`.
    """
    limits = {name: ends for name in table.columns if (ends := _limits(table, name))}
    beside = {end for ends in limits.values() for end in ends}
    columns = [
        _with_limits(name, table.select(name, *limits[name])) if name in limits else _column(name, table[name])
        for name in table.columns
        if name not in beside
    ]
    blocks = _column_blocks(columns, names, width)
    return "\n\n".join("\n".join(_GAP.join(row).rstrip() for row in zip(*block, strict=True)) for block in blocks)


def _column(name: str, column: pl.Series) -> list[str]:
    cells = [escaped(name), *_cells(column.head(SHOWN_ROWS))]
    widest = max(map(len, cells))
    to_left = column.dtype in (pl.String, pl.Categorical, pl.Enum)
    return [cell.ljust(widest) if to_left else cell.rjust(widest) for cell in cells]


def _limits(table: pl.DataFrame, name: str) -> tuple[str, ...]:
    ends = (f"{name}_ci_low", f"{name}_ci_high")
    return ends if all(table.schema.get(column) == pl.Float64 for column in (name, *ends)) else ()


def _with_limits(name: str, columns: pl.DataFrame) -> list[str]:
    """The header and the cells, each a value and its limits."""
    values, lows, highs = (_cells(column.head(SHOWN_ROWS)) for column in columns)
    # Where there is no value, there is nothing that has limits.
    limits = ["" if value == "-" else f" [{low}, {high}]" for value, low, high in zip(values, lows, highs, strict=True)]
    widest, longest = (max(map(len, texts), default=0) for texts in (values, limits))
    pairs = zip(values, limits, strict=True)
    cells = [escaped(name), *(f"{value.rjust(widest)}{limit.ljust(longest)}" for value, limit in pairs)]
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _column_blocks(columns: Sequence[list[str]], names: int, width: int | None) -> Iterator[list[list[str]]]:
    """The columns in parts that are narrow enough, each with those that name the rows, and one more at least."""
    first, others = list(columns[:names]), columns[names:]
    part: list[list[str]] = []
    for column in others:
        so_far = sum(len(c[0]) + len(_GAP) for c in [*first, *part])
        if part and width is not None and so_far + len(column[0]) > width:
            yield [*first, *part]
            part = []
        part.append(column)
    yield [*first, *part]


def above(sentences: Sequence[str], width: int) -> bytes:
    """Sentences to read before a table, each a point of a list."""
    wrapper = textwrap.TextWrapper(
        max(width, _NARROWEST), initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )
    return "".join(f"{wrapper.fill(escaped(text))}\n" for text in sentences).encode() + (b"\n" if sentences else b"")


def is_on_terminal() -> bool:
    """Whether somebody reads what is printed."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width() -> int:
    """The width of the terminal on stdout, or as COLUMNS says; 80 where there is none."""
    return shutil.get_terminal_size().columns


def _cells(column: pl.Series) -> list[str]:
    column = days_as_dates(column)
    # A text, of what else is a period in the table.
    if column.name == "reference" and column.dtype == pl.String and column.str.ends_with(MIDNIGHT).all():
        column = column.str.strip_suffix(MIDNIGHT)
    return [*map(_cell, column.to_list())]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"[{', '.join(map(_cell, value))}]"
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:.4f}" if isinstance(value, float) else escaped(str(value))


def as_json(table: pl.DataFrame) -> str:
    """A list of rows, one a line; JSON has neither infinities nor NaN, so they become the texts "Infinity" and "NaN"."""
    rows = [json.dumps(_plain(row), allow_nan=False) for row in table.to_dicts()]
    return "[" + ",\n ".join(rows) + "]"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """CSV has no lists, which become JSON, no bytes, which become digits, and no durations, which are written as in ISO 8601."""
    lists = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    texts = {name: [None if v is None else json.dumps(_plain(v)) for v in table[name].to_list()] for name in lists}
    flat = table.with_columns(pl.Series(name, values, pl.String) for name, values in texts.items())
    return flat.with_columns(pl.col(pl.Binary).bin.encode("hex"), pl.col(pl.Duration).dt.to_string("iso"))


def write(content: bytes, out: Path | None, option: str = "--out") -> None:
    """Write to stdout, or to a file that other programs see only once it is whole; `option` is what names it."""
    if out is None:
        _write_stdout(content)
        return
    try:
        if _is_special(out):  # a pipe or /dev/null is written to, not replaced by a file
            with open(out, "wb") as file:
                file.write(content)
            return
        with whole_file(_target(out, option)) as file:
            file.write(content)
    except BrokenPipeError:
        raise
    except OSError as error:
        kind = DataError if error.errno in _NOT_WRITTEN else UsageError
        raise kind(f"{option} {out}: {error.strerror}") from None


@dataclass(frozen=True)
class SideFile:
    """A file that is written beside the table: what it is, the option that names it, and what is in it."""

    what: str
    path: Path
    option: str
    content: bytes

    def write(self) -> None:
        write(self.content, self.path, self.option)


def check_place(out: Path, option: str, suffixes: Sequence[str], *, any_pipe: bool) -> None:
    """UsageError for a file of another kind than its name says, or where none can be: so early that nothing is read in vain.

    `any_pipe`: the name of a pipe or a device may be any; else it says as that of a file does what is written.
    """
    is_special = _is_special(out)
    if out.suffix.lower() not in suffixes and not (is_special and any_pipe):
        raise UsageError(f"{option} {out}: {out.suffix or 'no suffix'} is not one of {', '.join(suffixes)}")
    if not is_special:
        _target(out, option)


def _target(out: Path, option: str) -> Path:
    target = Path(os.path.realpath(out))
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(f"{option} {out}: {'this is a folder' if target.is_dir() else f'no folder {target.parent}'}")
    return target


def say(text: str) -> None:
    """A line on stdout."""
    _write_stdout(f"{escaped(text)}\n".encode())


def _write_stdout(content: bytes) -> None:
    if sys.stdout is None:
        raise DataError("stdout is closed")
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"stdout: {error.strerror}") from None


def _is_special(out: Path) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    return os.path.exists(out) and not os.path.isfile(out) and not os.path.isdir(out)


_OPTION = "--plot"
# As `polars_ec.plot.files` has them, which cannot be asked before it is known that Altair is there.
_SUFFIXES = (".svg", ".png", ".pdf", ".html")


def check_chart(file: Path) -> None:
    """UsageError for a chart that cannot be made."""
    # What it is drawn as hangs on its name, that of a pipe too.
    check_place(file, _OPTION, _SUFFIXES, any_pipe=False)
    needed = ("altair",) if file.suffix.lower() == ".html" else ("altair", "vl_convert")
    if any(importlib.util.find_spec(name) is None for name in needed):
        raise UsageError(f"{_OPTION} needs Altair and vl-convert-python: pip install 'polars_ec[cli,plot]'")


def drawn_chart(file: Path, chart: Callable[[], Any]) -> SideFile:
    """The chart as a file; UsageError for a table of which there is no chart."""
    from polars_ec.plot.files import encoded  # which needs an extra

    try:
        return SideFile("chart", file, _OPTION, encoded(chart(), file.suffix))
    except ValueError as error:
        raise UsageError(f"{_OPTION} {file}: {error}") from error
