"""Lines for a person: one each, whatever they quote, and nothing between them that nobody wrote."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time as clock
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, wraps
from inspect import Parameter, signature
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from polars.exceptions import PanicException

from polars_ec.output.words import first_line

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
    """Keep off the terminal what Rust prints when it panics: the exception says so in one line. All else but warnings is printed after."""
    try:
        held, terminal = _held(), os.dup(2)
    except (OSError, AttributeError):
        yield
        return
    is_within_another, begin = os.path.sameopenfile(held, terminal), os.lseek(held, 0, os.SEEK_CUR)
    os.dup2(held, 2)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda text, *_: os.write(terminal, f"polars-ec: {escaped(str(text))}\n".encode())  # type: ignore[assignment]
            yield
    except BaseException as error:
        if _is_panic(error):
            os.truncate(held, os.lseek(held, begin, os.SEEK_SET))
        raise
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        if not is_within_another:
            with suppress(OSError):
                os.write(2, os.pread(held, os.lseek(held, 0, os.SEEK_CUR), 0))
            os.truncate(held, os.lseek(held, 0, os.SEEK_SET))


@cache
def _held() -> int:
    """The file that keeps it, and a shell that prints it where this process dies before, as it does without memory."""
    spawn = os.posix_spawn  # AttributeError where there is none, as on Windows
    held, name = tempfile.mkstemp()
    unread = os.open(name, os.O_RDONLY)
    os.unlink(name)
    with suppress(OSError, NotImplementedError):
        end, _ = os.pipe()  # the other end is open as long as this process
        files = [(os.POSIX_SPAWN_DUP2, end, 0), (os.POSIX_SPAWN_DUP2, 2, 1), (os.POSIX_SPAWN_DUP2, unread, 3)]
        spawn("/bin/sh", ["sh", "-c", "read -r end; cat <&3 >&2"], os.environ, file_actions=files, setsid=True)
        os.close(end)
    os.close(unread)
    return held


def _is_panic(error: BaseException | None) -> bool:
    while error is not None:
        # Each library that is written in Rust has a class of its own for it, which none of them hands out.
        if isinstance(error, PanicException) or type(error).__name__ == PanicException.__name__:
            return True
        error = error.__cause__ or error.__context__
    return False


class UsageError(Exception):
    """The command asks for what is not there: exit code 2."""


class DataError(Exception):
    """The data are not what they say they are: exit code 1."""


T = TypeVar("T")


def progress(
    items: Sequence[T], name: Callable[[T], Any], *, label: str, done: str
) -> AbstractContextManager[Iterable[T]]:
    """The items, one by one, while somebody is told of them: on a bar by the last part of their names."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(_with_lines(items, name, done))

    def shown(item: T | None) -> str | None:
        return None if item is None else escaped(name(item).name)

    return typer.progressbar(items, label=label, show_pos=True, item_show_func=shown, file=sys.stderr)


def _with_lines(items: Sequence[T], name: Callable[[T], Any], done: str) -> Iterator[T]:
    """Where there is no terminal to draw a bar on, as in the log of a nightly job: a line every ten seconds."""
    last = clock.monotonic()
    for i, item in enumerate(items):
        now = clock.monotonic()
        if now - last >= 10:
            tell(f"{i} of {len(items)} {done}, now {name(item)}")
            last = now
        yield item


# What messages keep to themselves: passwords, tokens and signed queries, wherever a library has put them into its words.

# What carries a password: a setting of a connection string, of a URL, of a dictionary or of SQL, and the user's part of a URL.
_SETTING = re.compile(
    r"((?:password|passwd|pwd|secret|token|sig|signature|passphrase|(?:[-_]|account|access|api|private)key)"
    r"""(?:\s*(?::=|=>?)\s*|["']\s*[:=]\s*|(?:\s*:\s*|\s+)(?=["'])))('(?:[^'\\]|\\.|'')*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\S+)""",
    re.I,
)
_PASSWORD = re.compile(r"(://[^\s/:@]*:)\S*@")
# Queries may be signed, and hold what nobody else should read.
_QUERY = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s?]*)\?\S+")
_USER = re.compile(r"(://)[^/@\s]*@")


def redacted(text: str) -> str:
    """The text of a message about a database, stars in place of passwords."""
    return _PASSWORD.sub(r"\1***@", _SETTING.sub(r"\1***", text))


def without_queries(text: str) -> str:
    """The text without users, passwords and what follows the `?` in the addresses in it."""
    return _USER.sub(r"\1", _QUERY.sub(r"\1", text))


def without_secrets(text: str) -> str:
    """The text of whatever went wrong, of which nobody knows what is in it."""
    return without_queries(redacted(text))


def why(error: BaseException) -> str:
    """The first line of what went wrong, for people: no password and no query of an address is in it."""
    return without_secrets(first_line(error))


# How a command ends: with an exit code, and one line that says what went wrong.

P = ParamSpec("P")

WRONG_USE, FAILED, TRIPPED = 2, 1, 3
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_PIPE_CLOSED = 141  # 128 + SIGPIPE
DEBUG = "--debug"


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Exit codes and messages as people expect: a line on stderr, and a traceback only for --debug, which this adds."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        debug = bool(kwargs.pop("debug", False))
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except (Exception, KeyboardInterrupt, PanicException) as error:
            raise typer.Exit(report_error(error, debug)) from None

    parameters = signature(command, eval_str=True)
    debug_option = Annotated[bool, typer.Option(DEBUG, help="Show where in the program an error comes from.")]
    added = Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=debug_option)
    guarded.__signature__ = parameters.replace(parameters=[*parameters.parameters.values(), added])  # type: ignore[attr-defined]
    return guarded


def report_error(error: BaseException, debug: bool) -> int:
    """Say in one line what went wrong, and return the exit code."""
    if debug and sys.stderr is not None:
        sys.stderr.write(without_secrets("".join(traceback.format_exception(error))))
    if isinstance(error, KeyboardInterrupt):
        return _INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return _PIPE_CLOSED
    if isinstance(error, UsageError | DataError):
        tell(str(error))
    elif isinstance(error, OSError) and error.strerror:
        tell(error.strerror if error.filename is None else f"{error.filename}: {error.strerror}")
    else:
        what = f"{type(error).__name__}: {without_secrets(first_line(error))}"
        tell(f"unexpected error: {what}" + ("" if debug else f" (the same command with {DEBUG} shows where)"))
    _forget_stdout()
    return WRONG_USE if isinstance(error, UsageError) else FAILED


def _forget_stdout() -> None:
    """Python flushes stdout once more at exit, which would fail aloud where it has failed before."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
