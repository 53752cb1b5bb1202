"""What every command of `polars-ec` shares: its options as Python values, and its errors in one line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import polars as pl
import typer

from polars_ec._sources import DataError, UsageError, label_value

P = ParamSpec("P")

_DURATION = re.compile(r"([1-9]\d*(ns|us|ms|s|m|h|d|w|mo|q|y))+")
_KEYWORD = re.compile(
    r"\b(score_type|weight|pos_label|classes|prior|threshold|cost_fn|cost_fp|costs|score|label|by|min_rows|resolution|thresholds)="
)
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_PIPE_CLOSED = 141  # 128 + SIGPIPE


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Exit codes and messages as people expect: a line on stderr, no traceback."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except UsageError as error:
            code, message = 2, str(error)
        except DataError as error:
            code, message = 1, str(error)
        except KeyboardInterrupt:
            code, message = _INTERRUPTED, ""
        except BrokenPipeError:
            # Python flushes stdout once more at exit, which would fail aloud.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code, message = _PIPE_CLOSED, ""
        else:
            return
        if message:
            typer.echo(f"polars-ec: {message}", err=True)
        raise typer.Exit(code)

    return guarded


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

    def for_label(self, dtype: pl.DataType) -> dict[str, Any]:
        """The options, with the label's values as a label of this dtype holds them."""
        options = dict(self.options)
        if "pos_label" in options:
            options["pos_label"] = label_value(options["pos_label"], dtype)
        if "classes" in options:
            options["classes"] = [label_value(value, dtype) for value in options["classes"]]
        return options


def check_period(time: str | None, every: str | None) -> None:
    """Refuse a time without a period, a period without a time, and what is no period."""
    if (time is None) != (every is None):
        raise UsageError("--time and --every go together: --time says which column, --every the period")
    check_duration(every)


def check_duration(every: str | None) -> None:
    """Refuse what is no period."""
    if every is not None and not _DURATION.fullmatch(every):
        raise UsageError(f"--every {every}: not a period such as 1h, 1d, 1w, 1mo, 1q or 1y")


def parse_json(text: str, option: str) -> Any:
    """JSON, or an error that names the option."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option} {text}: not JSON ({error.msg} at character {error.pos})") from None


def parse_prior(text: str) -> Any:
    """A prior as the core takes it, or "overall"."""
    if text in ("uniform", "overall"):
        return text
    try:
        return float(text)
    except ValueError:
        if text.startswith("["):
            return parse_json(text, "--prior")
    raise UsageError(f"--prior {text}: pass a share such as 0.1, shares such as [0.2,0.3,0.5], uniform or overall")


def parse_classes(text: str) -> list[str]:
    """The values between commas, or those of a JSON list."""
    if not text.startswith("["):
        return text.split(",")
    return [value if isinstance(value, str) else json.dumps(value) for value in parse_json(text, "--classes")]


def in_terms_of_options(message: str) -> str:
    """Messages of the core speak of Python keywords, `pos_label=`; here they are options, `--pos-label`."""
    return _KEYWORD.sub(lambda match: f"--{match[1].replace('_', '-')} ", message).replace("  ", " ").replace(" ,", ",")
