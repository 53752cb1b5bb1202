"""Lines for a person: one each, whatever they quote, and nothing between them that nobody wrote."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from polars.exceptions import PanicException

# Control characters, ends of lines and changes of direction; and bytes of file names that are not text.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""The text on one line: what would move the cursor, end the line or turn its direction is written out, as `\n` is."""
    return _HIDDEN.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else match[0].encode("unicode_escape").decode()


def tell(text: str) -> None:
    """A line on stderr."""
    if sys.stderr is not None:
        with suppress(OSError):  # where could one tell?
            print(f"polars-ec: {escaped(text)}", file=sys.stderr, flush=True)


@contextmanager
def panics_unseen() -> Iterator[None]:
    """Keep off the terminal what Rust prints when it panics: the exception says so in one line. All else is printed after."""
    try:
        terminal = os.dup(2)
        printed = tempfile.TemporaryFile()  # noqa: SIM115
    except OSError:
        yield
        return
    panicked = False
    os.dup2(printed.fileno(), 2)
    try:
        yield
    except BaseException as error:
        panicked = _is_panic(error)
        raise
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        printed.seek(0)
        if not panicked:
            with suppress(OSError):
                os.write(2, printed.read())
        printed.close()


def _is_panic(error: BaseException | None) -> bool:
    while error is not None:
        # Each library that is written in Rust has a class of its own for it, which none of them hands out.
        if isinstance(error, PanicException) or type(error).__name__ == PanicException.__name__:
            return True
        error = error.__cause__ or error.__context__
    return False
