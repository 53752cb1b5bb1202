"""What the commands that answer with a table are asked alike: of which log, where to decide, and where the answer goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_ec.cli.chart_file import ChartFile
from polars_ec.cli.errors import UsageError
from polars_ec.cli.gates import Gates
from polars_ec.cli.objects import check_local
from polars_ec.cli.options import (
    Buckets,
    By,
    Cluster,
    Every,
    PosLabel,
    Quiet,
    Time,
    Weight,
    parse_classes,
    parse_json,
    parse_metrics,
    parse_prior,
)
from polars_ec.cli.output import Format, format_for
from polars_ec.cli.periods import check_duration, check_period
from polars_ec.cli.request import Request


@dataclass(frozen=True)
class Asked:
    """A log, its columns and groups, and where to decide."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Parquet, CSV, Arrow IPC or NDJSON files, globs, folders (hive-partitioned or not), each of them also as s3://, "
            "gs:// or az:// addresses; Delta or Iceberg tables, by their folders, or as iceberg:CATALOG.NAMESPACE.TABLE; "
            "duckdb:FILE.duckdb::TABLE, or of what else DuckDB attaches, duckdb:ducklake:FILE::TABLE; or a folder that polars-ec sketch made.",
            show_default=False,
        ),
    ]
    score: Annotated[
        list[str] | None, typer.Option(help="Column of scores; once more for each further model. Sketches know it.")
    ] = None
    label: Annotated[str | None, typer.Option(help="Column of true classes. Sketches know it.")] = None
    by: By = None
    time: Time = None
    every: Every = None
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Calendar of the periods of timestamps with a zone or offset, such as Europe/Berlin. Default: UTC, or what "
            "the sketches were made with. Timestamps without a zone are taken as they are."
        ),
    ] = None
    cost_fn: Annotated[
        float | None, typer.Option(help="Cost of a missed positive. Default: 1, or what the sketches were made for.")
    ] = None
    cost_fp: Annotated[
        float | None, typer.Option(help="Cost of a false alarm. Default: 1, or what the sketches were made for.")
    ] = None
    costs: Annotated[
        str | None, typer.Option(help="Costs as JSON, a row per class, a column per decision: [[0,1,0.1],[5,0,0.1]].")
    ] = None
    prior: Annotated[
        str | None,
        typer.Option(
            help="Reference prior: the positive class's share, [shares of the classes], uniform, "
            "or overall (the shares in the whole log)."
        ),
    ] = None
    threshold: Annotated[float | None, typer.Option(help="Positive where score > threshold. Default: Bayes.")] = None
    score_type: Annotated[
        str | None,
        typer.Option(
            help="posterior (default), log_odds, llr, decision, posteriors, log_posteriors or log_likelihoods."
        ),
    ] = None
    weight: Weight = None
    pos_label: PosLabel = None
    classes: Annotated[str | None, typer.Option(help="The label's values in class order: a,b,c or JSON.")] = None
    metrics: Annotated[
        list[str] | None,
        typer.Option(help="Metrics instead of the usual ones: nec,f1,auc_roc. Once more for further ones."),
    ] = None
    min_rows: Annotated[int | None, typer.Option(help="Mark groups with fewer rows in a column `small`.")] = None
    cluster: Cluster = None
    buckets: Buckets = None

    def __post_init__(self) -> None:
        check_duration(self.every)
        if self.min_rows is not None and self.min_rows < 0:
            raise UsageError(f"--min-rows {self.min_rows}: pass 0 or more")

    @cached_property
    def layout(self) -> dict[str, Any]:
        """Which metrics, and which groups are small, as `polars_ec.report` and `polars_ec.compare` take it."""
        metrics = None if self.metrics is None else parse_metrics(self.metrics)
        return _stated({"metrics": metrics, "min_rows": self.min_rows})

    @cached_property
    def options(self) -> dict[str, Any]:
        """Costs, threshold and prior."""
        return _stated(
            {
                "cost_fn": self.cost_fn,
                "cost_fp": self.cost_fp,
                "costs": None if self.costs is None else parse_json(self.costs, "--costs"),
                "prior": None if self.prior is None else parse_prior(self.prior),
                "threshold": self.threshold,
            }
        )

    @cached_property
    def reading(self) -> dict[str, Any]:
        """What the columns hold."""
        classes = None if self.classes is None else parse_classes(self.classes)
        stated = {"score_type": self.score_type, "weight": self.weight, "pos_label": self.pos_label}
        return _stated({**stated, "classes": classes})

    def request(self, gates: Gates, what: str, mix: Sequence[str]) -> Request:
        """Of rows; `mix` are the columns of strata."""
        zone = check_period(self.time, self.every, self.time_zone)
        if not self.score or self.label is None:
            lacks = [name for name, given in (("--score", self.score), ("--label", self.label)) if not given]
            raise UsageError(
                f"{what} on rows needs {' and '.join(lacks)}: the names of columns, such as --score p --label y"
            )
        options = {"score_type": "posterior", **self.options, **self.reading}
        by = self.by or []
        return Request(self.score, self.label, by, self.time, self.every, options, zone, self.cluster, gates, mix)

    def of_sketches(self) -> Mapping[str, Any]:
        """What is said, by option, that sketches know: they must have been made so."""
        known: dict[str, Any] = {f"--{name.replace('_', '-')}": value for name, value in self.reading.items()}
        score = self.score[0] if self.score and len(self.score) == 1 else self.score
        named = {"--cluster": self.cluster, "--buckets": self.buckets, "--label": self.label, "--score": score or None}
        return known | _stated(named)


@dataclass(frozen=True)
class Delivery:
    """What becomes of an answer: as what it is written, where to, and when that is a failure."""

    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GATE",
            help='Exit code 3 where a group has such a value: "nec_at_prior_ci_low > 1". Once more for further ones.',
        ),
    ] = None
    fail_on_null: Annotated[
        bool, typer.Option("--fail-on-null", help="Nulls trip the gates of --fail-if, and small groups may.")
    ] = False
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: by the name of --out, else table.", case_sensitive=False),
    ] = None
    out: Annotated[
        Path | None, typer.Option(help="File to write, instead of stdout: .txt, .csv, .parquet or .json; or a pipe.")
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(help="File of a chart of the first metric, beside the table: .svg, .png, .pdf or .html."),
    ] = None
    quiet: Quiet = False

    def __post_init__(self) -> None:
        check_local("--out", self.out, "a table is")
        check_local("--plot", self.plot, "a chart is")

    @cached_property
    def chart(self) -> ChartFile | None:
        """The file of the chart that is to be drawn; UsageError for one that cannot be made."""
        if self.plot is None:
            return None
        if self.out is not None and self.plot == self.out:
            raise UsageError(f"--plot {self.plot} is --out too: name two files")
        chart = ChartFile(self.plot)
        chart.check()
        return chart

    @cached_property
    def chosen(self) -> Format:
        """As what it is written."""
        return format_for(self.form, self.out)

    @cached_property
    def gates(self) -> Gates:
        """What makes it a failure."""
        return Gates.of(self.fail_if or [], self.fail_on_null)


def _stated(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
