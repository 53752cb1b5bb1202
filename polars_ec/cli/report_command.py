"""The command `polars-ec report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polars_ec.cli.answers import run
from polars_ec.cli.asked import Asked, Delivery
from polars_ec.cli.errors import UsageError
from polars_ec.cli.exit_codes import one_line_errors
from polars_ec.cli.html_page import LEVEL, Page
from polars_ec.cli.options import Interval, Missing, Replicates, Resampling, Seed, Window, intervals, parse_prior
from polars_ec.cli.parameters import taking
from polars_ec.cli.report_question import Report
from polars_ec.cli.windows import check_window


@one_line_errors
@taking(Asked, Delivery)
def report(
    asked: Asked,
    delivery: Delivery,
    total: Annotated[
        bool, typer.Option("--total", help="A last row over all groups, marked in a column `total`.")
    ] = False,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="A row per group and class: the class against the rest.")
    ] = False,
    missing: Annotated[
        Missing, typer.Option(help="Count the rows with a null together, or also by the part that is null.")
    ] = Missing.together,
    score_prior: Annotated[
        str | None,
        typer.Option(
            help="The prior that the posteriors were made with: columns _at_prior are of posteriors moved from it."
        ),
    ] = None,
    window: Window = None,
    interval: Interval = None,
    method: Resampling = None,
    replicates: Replicates = None,
    seed: Seed = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Page to write beside the table, for the person who decides: a verdict in sentences, groups, trends, curves. "
            "Its limits are of --interval, or 0.95; its reference prior --prior, or overall."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Report the usual battery of metrics on a prediction log, a row per group.

    Rows whose label, score or weight is missing are left out and counted; a group with wrong rows has no metrics.
    Columns that end in _at_prior have the values at the reference prior, those in _error how far off the value may be, and those in
    _ci_low and _ci_high its confidence limits, for which rows that are not independent need --cluster. Of a
    folder of sketches, --by and --every roll up its groups, and NAME_low and NAME_high bound what depends on a threshold that
    the sketches do not know.
    """
    check_window(window, asked.every)
    if window is not None and total:
        raise UsageError(
            f"--window {window} with --total: windows share their rows, which the total has once: ask for one of them"
        )
    asked_layout = {
        "total": total or None,
        "per_class": per_class or None,
        "missing": None if missing is Missing.together else "by_part",
        "score_prior": None if score_prior is None else parse_prior(score_prior, "--score-prior", ["uniform"]),
    }
    layout = asked.layout | {name: value for name, value in asked_layout.items() if value is not None}
    # Of clusters the page alone may be: it has limits in any case.
    clusters = (asked.cluster, asked.buckets) if html is None or interval is not None else (None, None)
    layout |= intervals(interval, *clusters, method, replicates, seed)
    page = None
    if html is not None:
        level = LEVEL if interval is None else interval
        page = Page(html, title, asked.layout | intervals(level, asked.cluster, asked.buckets, None, None, None))
        page.check(
            {
                **({f"--window {window}": "a page is of periods that share no rows"} if window is not None else {}),
                **({"--per-class": "a page is of all classes together"} if per_class else {}),
                **({"--score-prior": "a page is of the posteriors as they are"} if score_prior is not None else {}),
                **({f"--method {method}": "the limits of a page are drawn from nothing"} if method is not None else {}),
            },
            models=len(asked.score or ()),
        )
        for option, other in (("--out", delivery.out), ("--plot", delivery.plot)):
            if html == other:
                raise UsageError(f"--html {html} is {option} too: name two files")
    elif title is not None:
        raise UsageError(f"--title {title} is of a page: say where that goes with --html FILE")
    several = len(asked.score or ()) > 1
    question = Report(layout, several=several, window=window, page=page, by=asked.by or (), every=asked.every)
    run(asked, delivery, question, "a report")
