"""The command `polars-ec drift`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from polars_ec.cli.answers import run
from polars_ec.cli.asked import Asked, Delivery
from polars_ec.cli.drift_question import Drift
from polars_ec.cli.errors import UsageError
from polars_ec.cli.exit_codes import one_line_errors
from polars_ec.cli.options import Window, intervals
from polars_ec.cli.parameters import taking
from polars_ec.cli.windows import check_window


@one_line_errors
@taking(Asked, Delivery)
def drift(
    asked: Asked,
    delivery: Delivery,
    reference: Annotated[
        str | None,
        typer.Option(
            help="What each period is compared with: one of them by the date it begins on, 2024-05-01, of months also 2024-05; or "
            "previous, the one before it. Default: the earliest."
        ),
    ] = None,
    mix: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of strata whose shares may move, as a part of its own; once more for each further one."
        ),
    ] = None,
    window: Window = None,
    interval: Annotated[
        float, typer.Option(help="Level of the confidence limits of the differences and of their parts.")
    ] = 0.95,
) -> None:
    """Take the change of each metric from one period to another apart, a row per group, period, model and metric.

    Its parts are prior, what the shares of the classes add, likelihood, what the rows of a class are like, and with --mix the shares of the
    strata. They add up to the difference; each has confidence limits, NAME_ci_low and NAME_ci_high, for which rows that are not
    independent need --cluster, and NAME_least and NAME_most, its range over the orders in which parts may be taken. Metrics that
    --prior moves are there once more at it, as NAME_at_prior.
    """
    if asked.every is None:
        raise UsageError("a drift is of periods: say which with --every, such as --every 1mo, and of rows with --time")
    check_window(window, asked.every)
    strata = mix or []
    _check_strata(strata, asked)
    layout = asked.layout | intervals(interval, asked.cluster, asked.buckets, None, None, None)
    run(asked, delivery, Drift(asked.every, reference, strata, window, layout), "a drift")


def _check_strata(mix: Sequence[str], asked: Asked) -> None:
    for i, name in enumerate(mix):
        if name in mix[:i]:
            raise UsageError(f"--mix {name} is there twice: name each column once")
        if name == asked.time or name in (asked.by or []):
            other = "--time" if name == asked.time else "--by"
            raise UsageError(
                f"--mix {name} is also {other} {name}, in which its shares never move: leave one of them out"
            )
