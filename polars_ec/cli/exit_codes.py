"""How a command ends: with an exit code, and one line that says what went wrong."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, ParamSpec

import typer
from polars.exceptions import PanicException

from polars_ec.cells.parquet import first_line
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.redaction import without_secrets
from polars_ec.cli.terminal import tell

P = ParamSpec("P")

WRONG_USE, FAILED, TRIPPED = 2, 1, 3
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_PIPE_CLOSED = 141  # 128 + SIGPIPE
_DEBUG = "--debug"


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
            raise typer.Exit(told(error, debug)) from None

    own = signature(command, eval_str=True)
    asked = Annotated[bool, typer.Option(_DEBUG, help="Show where in the program an error comes from.")]
    added = Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=asked)
    guarded.__signature__ = own.replace(parameters=[*own.parameters.values(), added])  # type: ignore[attr-defined]
    return guarded


def told(error: BaseException, debug: bool) -> int:
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
        tell(f"unexpected error: {what}" + ("" if debug else f" (the same command with {_DEBUG} shows where)"))
    _forget_stdout()
    return WRONG_USE if isinstance(error, UsageError) else FAILED


def _forget_stdout() -> None:
    """Python flushes stdout once more at exit, which would fail aloud where it has failed before."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        return
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(app: typer.Typer) -> None:
    """The command line as a program."""
    try:
        app(prog_name="polars-ec")
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(told(error, _DEBUG in sys.argv))
