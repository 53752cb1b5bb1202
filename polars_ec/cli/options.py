"""The options of `polars-ec` that several commands have, and what is written in them as Python values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import polars as pl
import typer
from polars.exceptions import PolarsError

from polars_ec.cells.parquet import first_line
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.intervals.arguments import parse_interval

_KEYWORD = re.compile(
    r"\b(score_type|weight|pos_label|classes|prior|threshold|cost_fn|cost_fp|costs|score|label|by|min_rows|resolution|thresholds|"
    r"metrics|missing|score_prior|interval|cluster|buckets|method|replicates|seed|reference|mix|period|periods)=|\b(total|per_class)=True\b"
)


# Options that go by another name than the keyword.
_CALLED = {"period": "time", "periods": "window"}
_SKETCHED_AT = re.compile(r"sketch\(thresholds=\[(.*?)\]\)")


class Missing(StrEnum):
    """How rows with a null are counted."""

    together = "together"
    by_part = "by-part"


class Method(StrEnum):
    """How intervals are made."""

    influence = "influence"
    bootstrap = "bootstrap"
    bca = "bca"


By = Annotated[list[str] | None, typer.Option(help="Column of a segment; once more for each further one.")]
Time = Annotated[str | None, typer.Option(help="Column of dates or timestamps, cut to --every.")]
Every = Annotated[str | None, typer.Option(help="Period: 1h, 1d, 1w, 1mo, 1q, 1y.")]
Weight = Annotated[str | None, typer.Option(help="Column of row weights.")]
PosLabel = Annotated[str | None, typer.Option(help="The label's value that is the positive class.")]
Interval = Annotated[
    float | None,
    typer.Option(help="Level of confidence limits, such as 0.95: adds NAME_ci_low and NAME_ci_high to each metric."),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Column of what correlated rows share, such as the user or the day, for intervals."),
]
Buckets = Annotated[
    int | None,
    typer.Option(help="Parts that the clusters are dealt out to by a hash, from 5 to 1000; 100 if not stated."),
]
Window = Annotated[
    int | None,
    typer.Option(
        help="Of sketches: rows of so many periods up to and with their own, such as 7 with --every 1d, in place of one."
    ),
]
Resampling = Annotated[
    Method | None, typer.Option(help="How limits are made. Default: influence, without drawing rows anew.")
]
Replicates = Annotated[int | None, typer.Option(help="How often a bootstrap draws anew. Default: 1000.")]
Seed = Annotated[int | None, typer.Option(help="Of what is drawn at random. Default: 0.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but results, errors and what makes numbers wrong.")
]


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


def parse_prior(text: str, option: str = "--prior", names: Sequence[str] = ("uniform", "overall")) -> Any:
    """A prior as the core takes it; `names` are those that may be said in a word."""
    if text in names:
        return text
    try:
        return float(text)
    except ValueError:
        if text.startswith("["):
            return parse_json(text, option)
    ways = ", ".join(["a share such as 0.1", "shares such as [0.2,0.3,0.5]", *names[:-1]])
    raise UsageError(f"{option} {_short(text)}: pass {ways} or {names[-1]}")


def parse_metrics(texts: Sequence[str]) -> list[str]:
    """The names between commas, of all that was passed."""
    return [name.strip() for text in texts for name in text.split(",")]


def intervals(
    interval: float | None,
    cluster: str | None,
    buckets: int | None,
    method: Method | None,
    replicates: int | None,
    seed: int | None,
) -> dict[str, Any]:
    """What is stated of intervals beside the clusters, as `polars_ec.report` takes it; UsageError for what it would refuse."""
    asked = {
        "interval": interval,
        "cluster": cluster,
        "buckets": buckets,
        "method": None if method is None else method.value,
        "replicates": replicates,
        "seed": seed,
    }
    stated = {name: value for name, value in asked.items() if value is not None}
    with refusals_as_usage_errors():
        parse_interval(stated)
    return {name: value for name, value in stated.items() if name != "cluster"}


def counted_prior(shares: Any) -> Any:
    """The prior that `--prior overall` means: the shares of the classes in the whole log, if they could be counted."""
    if shares is None:
        raise DataError("--prior overall: the log has wrong rows, or none with label and score: state the prior")
    return shares if isinstance(shares, float | str) else list(shares)


def check_counted(groups: pl.DataFrame, *, several: bool) -> None:
    """DataError for a report at the prior of the whole log where that could not be counted, of none of `several` models."""
    sums = pl.col("n", "n_invalid").sum()
    models = groups.group_by("score").agg(sums) if several else groups.select(sums)
    counted_prior(1.0 if any(n and not n_invalid for n, n_invalid in models.select("n", "n_invalid").rows()) else None)


def parse_classes(text: str) -> list[str]:
    """The values between commas, or those of a JSON list."""
    if not text.startswith("["):
        return text.split(",")
    return [value if isinstance(value, str) else json.dumps(value) for value in parse_json(text, "--classes")]


def in_terms_of_options(message: str) -> str:
    """Messages of the core speak of Python keywords, `pos_label=`; here they are options, `--pos-label`."""
    said = _SKETCHED_AT.sub(r"polars-ec sketch --threshold \1", message).replace(
        "lf.ec.compare", "polars-ec compare LOG"
    )
    said = said.replace("compare(reference=...)", "polars-ec compare --reference").replace("rolling(): ", "--window: ")
    options = _KEYWORD.sub(lambda match: f"--{_option(match[1] or match[2])} ", said)
    options = options.replace("--thresholds ", "--threshold ").replace("with .alias()", "in the log")
    return options.replace("  ", " ").replace(" ,", ",").replace(" :", ":").rstrip()


def _option(keyword: str) -> str:
    return _CALLED.get(keyword, keyword.replace("_", "-"))


@contextmanager
def refusals_as_usage_errors() -> Iterator[None]:
    """Around a call of the core that takes what the options say: what it refuses is a mistake in them."""
    try:
        yield
    except (ValueError, TypeError, PolarsError) as error:
        raise UsageError(in_terms_of_options(first_line(error))) from error
