"""The options of `polars-ec` that several commands have, and what is written in them as Python values."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar

import polars as pl
from polars.exceptions import PolarsError
from typer import Option

from polars_ec.arguments.keywords import parse_interval
from polars_ec.cli.terminal import DataError, UsageError
from polars_ec.comparisons.validation import parse_margin
from polars_ec.output.words import first_line
from polars_ec.typing import IntervalMethod

_KEYWORD = re.compile(
    r"\b(score_type|weight|pos_label|classes|prior|threshold|cost_fn|cost_fp|costs|score|label|by|min_rows|resolution|thresholds|"
    r"metrics|missing|reduction|score_prior|interval|cluster|buckets|method|replicates|seed|reference|margin|mix|period|periods|k|share|"
    r"labelled|calibrator|shift_prior|label_probability)=|\b(total|per_class|exact|unlabelled)=True\b"
)


# Options that go by another name than the keyword.
_CALLED = {"period": "time", "periods": "window"}
_SKETCHED_AT = re.compile(r"sketch\(thresholds=\[(.*?)\]\)")


Missing = Literal["together", "by-part"]
By = Annotated[list[str] | None, Option(help="Group column. Can be repeated.")]
Time = Annotated[str | None, Option(help="Column of dates or timestamps, truncated to periods by --every.")]
Every = Annotated[str | None, Option(help="Length of the periods: 1h, 1d, 1w, 1mo, 1q, 1y.")]
Weight = Annotated[str | None, Option(help="Column of row weights.")]
PosLabel = Annotated[str | None, Option(help="Label value of the positive class.")]
Interval = Annotated[
    float | None,
    Option(help="Level of confidence intervals, such as 0.95. Adds NAME_ci_low and NAME_ci_high to each metric."),
]
Cluster = Annotated[
    str | None, Option(help="Column that groups correlated rows, such as the user or the day, for the intervals.")
]
Buckets = Annotated[int | None, Option(help="Number of hash buckets for the clusters (5 to 1000, default 100).")]
Model = Annotated[
    str | None, Option(help="For a log with a row per model and item: the column of models. --score has their scores.")
]
Item = Annotated[list[str] | None, Option(help="With --model: the column that identifies an item. Can be repeated.")]
Window = Annotated[
    int | None, Option(help="For sketches: rolling windows of this many periods, such as 7 with --every 1d.")
]
Resampling = Annotated[
    IntervalMethod | None, Option(help="How intervals are computed. Default: influence, without resampling.")
]
Replicates = Annotated[int | None, Option(help="Number of bootstrap resamples. Default: 1000.")]
Seed = Annotated[int | None, Option(help="Seed of the resampling. Default: 0.")]
Margin = Annotated[
    float | None,
    Option(
        help="Largest difference between models that does not matter, in units of the metric: says whether one is not worse, or equivalent."
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only results, errors and warnings about the numbers.")]


def stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the command line states."""
    return {name: value for name, value in values.items() if value is not None}


def items(model: str | None, item: Sequence[str] | None) -> dict[str, Any]:
    """The arguments for a log with a row per model and item; UsageError for one without the other."""
    if (model is None) != (item is None):
        raise UsageError("--model and --item go together: pass the column of models and the column of items")
    return {} if model is None else {"model": model, "item": item}


def number_or_column(text: str) -> float | str:
    """A cost or a threshold of all rows, or the column that has one for each row."""
    try:
        return float(text)
    except ValueError:
        return text


def parse_json(text: str, option: str) -> Any:
    """JSON, or an error that names the option."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option} {_short(text)}: not JSON ({error.msg} at character {error.pos})") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{option} {_short(text)}: JSON with numbers that are too long, or lists that are too deep"
        ) from None


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def parse_prior(text: str, option: str = "--prior", names: Sequence[str] = ("uniform", "overall")) -> Any:
    """A prior as the core takes it; `names` are those that may be said in a word."""
    if text in names:
        return text
    try:
        return float(text)
    except ValueError:
        if text.startswith("["):
            return parse_json(text, option)
    ways = ", ".join(["a prior such as 0.1", "one prior per class such as [0.2,0.3,0.5]", *names[:-1]])
    raise UsageError(f"{option} {_short(text)}: pass {ways} or {names[-1]}")


def intervals(
    interval: float | None,
    cluster: str | None,
    buckets: int | None,
    method: IntervalMethod | None = None,
    replicates: int | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """What is stated of intervals beside the clusters, as `polars_ec.report` takes it; UsageError for what it would refuse."""
    values = {"interval": interval, "cluster": cluster, "buckets": buckets}
    values |= {"method": method, "replicates": replicates, "seed": seed}
    with refusals_as_usage_errors():
        parse_interval(stated(values))
    return stated({**values, "cluster": None})


def margins(margin: float | None) -> dict[str, Any]:
    """The margin of a comparison, if it is stated; UsageError for one that is not a positive number."""
    with refusals_as_usage_errors():
        parse_margin(margin)
    return {} if margin is None else {"margin": margin}


def counted_prior(shares: Any) -> Any:
    """The prior that `--prior overall` means: the shares of the classes in the whole log, if they could be counted."""
    if shares is None:
        raise DataError("--prior overall cannot be counted: the log has invalid or no usable rows. Pass a number")
    return shares if isinstance(shares, float | str) else list(shares)


def parse_classes(text: str) -> list[str]:
    """The values between commas, or those of a JSON list."""
    if not text.startswith("["):
        return text.split(",")
    return [value if isinstance(value, str) else json.dumps(value) for value in parse_json(text, "--classes")]


def in_terms_of_options(message: str) -> str:
    """Messages of the core speak of Python keywords, `pos_label=`; here they are options, `--pos-label`."""
    said = _SKETCHED_AT.sub(r"polars-ec sketch --threshold \1", message)
    said = (
        said.replace("lf.ec.compare", "polars-ec compare LOG")
        .replace("compare(reference=...)", "polars-ec compare --reference")
        .replace("rolling(): ", "--window: ")
    )
    options = _KEYWORD.sub(_as_option, said)
    options = options.replace("--thresholds ", "--threshold ").replace("with .alias()", "in the log")
    options = options.replace("such as pl.concat_arr(...)", "such as --score [p_a,p_b,p_c]")
    return options.replace(" [...]", " a,b,c").replace("  ", " ").replace(" ,", ",").replace(" :", ":").rstrip()


def _as_option(match: re.Match[str]) -> str:
    keyword = match[1] or match[2]
    return f"--{_CALLED.get(keyword, keyword.replace('_', '-'))} "


@contextmanager
def refusals_as_usage_errors() -> Iterator[None]:
    """Around a call of the core that takes what the options say: what it refuses is a mistake in them."""
    try:
        yield
    except (ValueError, TypeError, PolarsError) as error:
        raise UsageError(in_terms_of_options(first_line(error))) from error


A = TypeVar("A")
B = TypeVar("B")
P = ParamSpec("P")


def taking(
    first: type[A], last: type[B], without: Collection[str] = ()
) -> Callable[[Callable[Concatenate[A, B, P], None]], Callable[..., None]]:
    """The command has the fields of both dataclasses as parameters, before and after its own, and gets one object of each.

    The fields `without` have their defaults.
    """

    def decorate(command: Callable[Concatenate[A, B, P], None]) -> Callable[..., None]:
        @wraps(command)
        def taken(**arguments: Any) -> None:
            before, after = (
                {field.name: arguments.pop(field.name) for field in fields(kind) if field.name not in without}  # type: ignore[arg-type]
                for kind in (first, last)
            )
            command(first(**before), last(**after), **arguments)  # type: ignore[call-arg]

        parameters = [*_parameters(first), *_parameters(command)[2:], *_parameters(last)]
        kept = [parameter for parameter in parameters if parameter.name not in without]
        taken.__signature__ = signature(command).replace(parameters=kept)  # type: ignore[attr-defined]
        return taken

    return decorate


def _parameters(kind: Callable[..., Any]) -> list[Parameter]:
    parameters = signature(kind, eval_str=True).parameters.values()
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]


# Periods of a log: on which calendar a timestamp is, and where its day, week, month, quarter or year begins.

# An instant is the same whatever zone or offset a file writes it with, so one zone serves for all formats.
DEFAULT_ZONE = "UTC"
# What the usual periods are called.
PERIOD_NAMES = {"1h": "hour", "1d": "day", "1w": "week", "1mo": "month", "1q": "quarter", "1y": "year"}

# With a time zone or without, with seconds or without: ISO 8601 as logs hold it.
_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M%#z", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_DURATION = re.compile(r"([1-9]\d*(ns|us|ms|s|m|h|d|w|mo|q|y))+")
_CALENDAR = re.compile(r"(\d+(d|w|mo|q|y))+")
_PLACED = "__placed"
# Clocks that are put forward at midnight lack the first minutes of that day: by so much it has happened since 1990.
_GAPS = ("0m", "30m", "1h", "2h", "3h", "7h", "1d")


def checked_zone(zone: str | None) -> str | None:
    """The zone, None where it is the default; UsageError for what is not a zone."""
    if zone is None or zone.upper() == DEFAULT_ZONE:
        return None
    try:
        known = zone[:1].isalpha()
        pl.Series([0], dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    except PolarsError:
        known = False
    if not known:
        from zoneinfo import available_timezones  # which few commands need

        by_lower = {name.lower(): name for name in sorted(available_timezones())}
        near = [by_lower[match] for match in difflib.get_close_matches(zone.lower(), by_lower, cutoff=0.7)]
        hint = f"did you mean {' or '.join(near)}?" if near else "pass a name such as Europe/Berlin"
        raise UsageError(f"--time-zone {zone}: not a time zone: {hint}")
    return zone


def check_zone_of_periods(zone: str | None, every: str | None) -> None:
    """Refuse a time zone where there are no periods for it."""
    if zone is not None and every is None:
        raise UsageError(f"--time-zone {zone} is for periods: pass --every too")


def check_period(time: str | None, every: str | None, zone: str | None) -> str | None:
    """Refuse a time without a period, a period without a time, and what is not a period or zone; the zone if not the default."""
    if (time is None) != (every is None):
        raise UsageError("pass both --time and --every: --time names the column, --every the period")
    check_duration(every)
    check_zone_of_periods(zone, every)
    return checked_zone(zone)


def is_duration(text: str) -> bool:
    """Whether it is the length of periods."""
    return _DURATION.fullmatch(text) is not None


def check_duration(every: str | None) -> None:
    """Refuse what is not a period."""
    if every is not None and not is_duration(every):
        raise UsageError(f"--every {every} is not a period such as 1h, 1d, 1w, 1mo, 1q or 1y")


def with_time(frame: pl.LazyFrame, time: str, collect: Callable[[pl.LazyFrame], pl.DataFrame]) -> pl.LazyFrame:
    """The frame with `time` as dates or timestamps: NDJSON and CSV have no type for them. `collect` reads one of its rows."""
    dtype = frame.collect_schema()[time]
    if dtype != pl.String:
        check_time(time, dtype)
        return frame
    text = pl.col(time).str.replace(" ", "T", literal=True)
    sample = collect(frame.select(pl.col(time).drop_nulls().first())).item()
    if sample is None:
        return frame.with_columns(pl.col(time).cast(pl.Datetime))
    for form in _TIME_FORMATS:
        if pl.Series([sample.replace(" ", "T", 1)]).str.to_datetime(form, strict=False).null_count() == 0:
            return frame.with_columns(text.str.to_datetime(form, time_unit="us"))
    raise UsageError(
        f"--time {time} holds text such as {sample!r}, which is not an ISO date or timestamp: convert it first"
    )


def check_time(time: str, dtype: pl.DataType) -> None:
    """Refuse a column that holds neither dates nor timestamps."""
    if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
        raise UsageError(f"--time {time} is {dtype}, not dates or timestamps: convert it first")


@dataclass(frozen=True)
class Periods:
    """The periods of a column: `start` is for the pass over the rows, and `placed` completes the table that came of it."""

    time: str
    dtype: pl.DataType
    every: str
    zone: str | None

    @property
    def start(self) -> pl.Expr:
        """Where the period of each row begins, on the zone's calendar or on the column's own, under the column's name."""
        column = pl.col(self.time)
        if not self.is_zoned:
            return column.dt.truncate(self.every)
        local = column.dt.convert_time_zone(self.zone or DEFAULT_ZONE)
        return (local.dt.replace_time_zone(None) if self.is_local else local).dt.truncate(self.every)

    def placed(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with instants in its column of periods: few, so that it may take some time."""
        if not self.is_local or self.time not in table.columns:
            return table
        assert self.zone is not None
        starts = table.select(pl.col(self.time).unique())
        placed = starts.with_columns(first_instant(pl.col(self.time), self.zone).alias(_PLACED))
        together = table.join(placed, on=self.time, how="left", nulls_equal=True, maintain_order="left")
        return together.with_columns(pl.col(_PLACED).alias(self.time)).drop(_PLACED)

    @property
    def is_zoned(self) -> bool:
        """Whether the column holds instants, which have a date in a time zone only; UsageError for a zone without them."""
        zoned = isinstance(self.dtype, pl.Datetime) and self.dtype.time_zone is not None
        if self.zone is not None and not zoned:
            raise UsageError(
                f"--time-zone {self.zone}: the timestamps in {self.time} ({self.dtype}) have no time zone. Leave the "
                "option out, or add a zone to them"
            )
        return zoned

    @property
    def is_local(self) -> bool:
        """Whether rows are grouped by what the clock shows: a day is one, whether it begins at one midnight or at two."""
        return self.is_zoned and self.zone is not None and is_calendar(self.every)


def is_calendar(every: str) -> bool:
    """Whether a period is of days or longer, which the calendar measures and not the clock."""
    return _CALENDAR.fullmatch(every) is not None


def first_instant(local: pl.Expr, zone: str) -> pl.Expr:
    """The first instant of a day, given by the clock's midnight there: which may come twice that day, or not at all."""
    moved = (local.dt.offset_by(gap) for gap in _GAPS)
    return pl.coalesce(of.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null") for of in moved)
