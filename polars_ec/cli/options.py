"""What every command of `polars-ec` shares: its options as Python values, and its errors in one line."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, ParamSpec

import polars as pl
import typer
from polars.exceptions import PanicException

from polars_ec.cells.parquet import first_line
from polars_ec.cli.logs import DataError, UsageError, label_value
from polars_ec.cli.periods import Periods, check_zone_of_periods, checked_zone
from polars_ec.cli.terminal import tell

P = ParamSpec("P")

_DURATION = re.compile(r"([1-9]\d*(ns|us|ms|s|m|h|d|w|mo|q|y))+")
_KEYWORD = re.compile(
    r"\b(score_type|weight|pos_label|classes|prior|threshold|cost_fn|cost_fp|costs|score|label|by|min_rows|resolution|thresholds)="
)
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_PIPE_CLOSED = 141  # 128 + SIGPIPE
_DEBUG = "--debug"

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but results, errors and what makes numbers wrong.")
]


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
    if debug:
        traceback.print_exception(error)
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
        what = f"{type(error).__name__}: {first_line(error)}"
        tell(f"unexpected error: {what}" + ("" if debug else f" (the same command with {_DEBUG} shows where)"))
    _forget_stdout()
    return 2 if isinstance(error, UsageError) else 1


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


@dataclass(frozen=True)
class Question:
    """What is asked of a log, whichever engine answers."""

    scores: list[str]
    label: str
    by: list[str]
    time: str | None
    every: str | None
    options: dict[str, Any]
    min_rows: int | None = None
    overall_prior: bool = False
    time_zone: str | None = None

    def columns(self) -> dict[str, list[str]]:
        """The columns that the log must have, by option."""
        weight, time = self.options.get("weight"), self.time
        return {
            "--score": self.scores,
            "--label": [self.label],
            "--by": self.by,
            "--time": [] if time is None else [time],
            "--weight": [] if weight is None else [weight],
        }

    def periods(self, dtype: pl.DataType) -> Periods:
        """The periods of the column of times, which has this dtype."""
        assert self.time is not None
        assert self.every is not None
        return Periods(self.time, dtype, self.every, self.time_zone)

    def no_rows(self, names: Sequence[str]) -> pl.LazyFrame:
        """A log of these columns without a row, of types that say nothing against it."""
        label = pl.String if {"pos_label", "classes"} & set(self.options) else pl.Boolean
        dtypes: dict[str, Any] = dict.fromkeys(names, pl.String)
        dtypes |= dict.fromkeys(self.scores, pl.Float64) | {self.label: label}
        if self.options.get("weight") is not None:
            dtypes[self.options["weight"]] = pl.Float64
        if self.time is not None:
            dtypes[self.time] = pl.Datetime("us", "UTC" if self.time_zone is not None else None)
        return pl.LazyFrame(schema=dtypes)

    def for_label(self, dtype: pl.DataType) -> dict[str, Any]:
        """The options, with the label's values as a label of this dtype holds them."""
        options = dict(self.options)
        if "pos_label" in options:
            options["pos_label"] = label_value(options["pos_label"], dtype)
        if "classes" in options:
            options["classes"] = [label_value(value, dtype) for value in options["classes"]]
        return options


def check_period(time: str | None, every: str | None, zone: str | None) -> str | None:
    """Refuse a time without a period, a period without a time, and what is no period or zone; the zone if not the default."""
    if (time is None) != (every is None):
        raise UsageError("--time and --every go together: --time says which column, --every the period")
    check_duration(every)
    check_zone_of_periods(zone, every)
    return checked_zone(zone)


def check_duration(every: str | None) -> None:
    """Refuse what is no period."""
    if every is not None and not _DURATION.fullmatch(every):
        raise UsageError(f"--every {every}: not a period such as 1h, 1d, 1w, 1mo, 1q or 1y")


def parse_json(text: str, option: str) -> Any:
    """JSON, or an error that names the option."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option} {_short(text)}: not JSON ({error.msg} at character {error.pos})") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{option} {_short(text)}: not JSON that can be read: numbers too long, or lists too deep"
        ) from None


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def parse_prior(text: str) -> Any:
    """A prior as the core takes it, or "overall"."""
    if text in ("uniform", "overall"):
        return text
    try:
        return float(text)
    except ValueError:
        if text.startswith("["):
            return parse_json(text, "--prior")
    raise UsageError(
        f"--prior {_short(text)}: pass a share such as 0.1, shares such as [0.2,0.3,0.5], uniform or overall"
    )


def parse_classes(text: str) -> list[str]:
    """The values between commas, or those of a JSON list."""
    if not text.startswith("["):
        return text.split(",")
    return [value if isinstance(value, str) else json.dumps(value) for value in parse_json(text, "--classes")]


def in_terms_of_options(message: str) -> str:
    """Messages of the core speak of Python keywords, `pos_label=`; here they are options, `--pos-label`."""
    options = _KEYWORD.sub(lambda match: f"--{match[1].replace('_', '-')} ", message)
    return options.replace("--thresholds ", "--threshold ").replace("  ", " ").replace(" ,", ",")
