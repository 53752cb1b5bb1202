"""The command `polars-ec compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from polars_ec.cli.answers import run
from polars_ec.cli.asked import Asked, Delivery
from polars_ec.cli.compare_question import Compare
from polars_ec.cli.exit_codes import one_line_errors
from polars_ec.cli.options import intervals
from polars_ec.cli.parameters import taking


@one_line_errors
@taking(Asked, Delivery)
def compare(
    asked: Asked,
    delivery: Delivery,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="What is compared with: a model (default: the first --score), rest, total, best, or a group, carrier=AA; "
            "of several columns once more for each. Periods are ISO dates."
        ),
    ] = None,
    interval: Annotated[float, typer.Option(help="Level of the confidence limits of the differences.")] = 0.95,
) -> None:
    """Compare models on the same rows, or groups of one, a row per group, model and metric.

    Each has the values and their difference, which is value - reference, with confidence limits and p-values;
    rows that are not independent need --cluster. p_adjusted is for as many groups as there are. Groups are small where they, or what they
    are compared with, have fewer than 10 rows of a class. Metrics that --prior moves are there once more at it, as NAME_at_prior.
    """
    layout = asked.layout | intervals(interval, asked.cluster, asked.buckets, None, None, None)
    run(asked, delivery, Compare(layout, reference or ()), "a comparison")
