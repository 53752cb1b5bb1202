"""The command `polars-ec sketch`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_ec.cli.errors import UsageError
from polars_ec.cli.exit_codes import FAILED, one_line_errors
from polars_ec.cli.objects import check_local
from polars_ec.cli.options import Buckets, By, Cluster, Every, PosLabel, Quiet, Time, Weight, parse_classes, parse_prior
from polars_ec.cli.output import say
from polars_ec.cli.periods import check_period
from polars_ec.cli.progress import progress
from polars_ec.cli.request import Request, SketchOptions
from polars_ec.cli.sketch_job import Vanished
from polars_ec.cli.sketch_job import run as run_job
from polars_ec.cli.terminal import tell
from polars_ec.rows.folds import BUCKETS


@one_line_errors
def sketch(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Parquet, CSV, Arrow IPC or NDJSON files, globs, folders (hive-partitioned or not), each of them also as s3://, "
            "gs:// or az:// addresses; Delta or Iceberg tables, by their folders, or as iceberg:CATALOG.NAMESPACE.TABLE.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the sketches.")],
    score: Annotated[list[str], typer.Option(help="Column of scores; once more for each further model.")],
    label: Annotated[str, typer.Option(help="Column of true classes.")],
    by: By = None,
    time: Time = None,
    every: Every = None,
    resolution: Annotated[int, typer.Option(help="Bins per nat of log-odds.")] = 64,
    exact: Annotated[bool, typer.Option("--exact", help="Keep every distinct score instead of bins.")] = False,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Threshold that must be exact; once more for each further one.")
    ] = None,
    cost_fn: Annotated[float, typer.Option(help="Cost of a missed positive: its Bayes threshold is exact.")] = 1.0,
    cost_fp: Annotated[float, typer.Option(help="Cost of a false alarm.")] = 1.0,
    prior: Annotated[str | None, typer.Option(help="For LLRs: the prior whose Bayes threshold must be exact.")] = None,
    score_type: Annotated[str, typer.Option(help="posterior, log_odds, llr or raw.")] = "posterior",
    weight: Weight = None,
    cluster: Cluster = None,
    buckets: Buckets = BUCKETS,
    pos_label: PosLabel = None,
    classes: Annotated[str | None, typer.Option(help="The label's two values in class order: a,b or JSON.")] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Calendar of the periods of timestamps with a zone or offset, such as Europe/Berlin. Default: UTC. "
            "Timestamps without a zone are taken as they are."
        ),
    ] = None,
    vanished: Annotated[
        Vanished,
        typer.Option(
            help="What becomes of the sketch of an input that is no longer there; stop: it stays, as an error."
        ),
    ] = Vanished.stop,
    quiet: Quiet = False,
) -> None:
    """Reduce a log, file by file, to a folder of small sketches, for `polars-ec report` DIR.

    It can be killed and started again at any moment: the same command goes on, and reads only files, objects and tables that are
    new or changed. A file that cannot be read is reported when the others are done, with exit code 1.
    """
    if any(path.startswith("duckdb:") for path in paths):  # which may go on with a password
        raise UsageError(
            "duckdb: a sketch job is of files, objects, Delta and Iceberg tables: export the table to Parquet"
        )
    check_local("--out", out, "sketches are")
    zone = check_period(time, every, time_zone)
    options: dict[str, Any] = {"cost_fn": cost_fn, "cost_fp": cost_fp, "score_type": score_type}
    parsed = {
        "prior": None if prior is None else parse_prior(prior),
        "weight": weight,
        "pos_label": pos_label,
        "classes": None if classes is None else parse_classes(classes),
    }
    options |= {name: value for name, value in parsed.items() if value is not None}
    if options.get("prior") == "overall":
        raise UsageError("--prior overall: a sketch is made before the whole log is read: state the prior")
    request = Request(score, label, by or [], time, every, options, time_zone=zone, cluster=cluster)
    grid = {"resolution": resolution, "exact": exact, "thresholds": threshold or [], "buckets": buckets}
    told = partial(progress, name=lambda task: task.file, label="sketch", done="inputs read")
    track = nullcontext if quiet else told
    outcome = run_job(paths, out, SketchOptions(request, grid), vanished=vanished, track=track)
    for line in [*([] if quiet else outcome.notes()), *outcome.problems()]:
        tell(line)
    if not quiet:
        say(outcome.summary(out))
    if outcome.failures:
        raise typer.Exit(FAILED)
