"""The commands of `polars-ec`: options in, one table out, errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import typer
from polars.exceptions import PanicException
from typer import Option

from polars_ec.arguments.scales import SCORE_TYPES_IN_WORDS, SKETCH_SCORE_TYPES_IN_WORDS
from polars_ec.cli import options, questions, terminal
from polars_ec.cli.answers import RollUp, answer_from_rows, answer_from_sketches
from polars_ec.cli.databases import PREFIX
from polars_ec.cli.gates import AlarmBudget, Gates, Verdict
from polars_ec.cli.object_store import check_local
from polars_ec.cli.output import (
    SHOWN_ROWS,
    Format,
    above,
    check_chart,
    drawn_chart,
    encode,
    format_for,
    is_on_terminal,
    say,
    terminal_width,
    write,
)
from polars_ec.cli.request import RowRequest
from polars_ec.cli.sketch_folder import SketchFolder, is_pos_label_note
from polars_ec.cli.sketch_job import SketchRequest, Vanished
from polars_ec.cli.sketch_job import run as run_job
from polars_ec.cli.terminal import DataError, UsageError
from polars_ec.output.words import first_line
from polars_ec.scores.folds import BUCKETS
from polars_ec.sql import macros
from polars_ec.typing import Reduction
from polars_ec.version import __version__

_by_row = partial(Option, parser=options.number_or_column, metavar="<float or column>")
_SCORE = "Score column: numbers, or arrays of one per class, or such columns as [p_a,p_b]."
_TIME_ZONE = (
    "Time zone of the periods, such as Europe/Berlin, for timestamps with a zone or offset. Default: UTC{}. Timestamps "
    "without a zone are used as they are."
)
_LOGS = (
    "Parquet, CSV, Arrow IPC or NDJSON files; globs; folders (with or without hive partitions); the same at s3://, "
    "gs:// or az:// addresses; Delta or Iceberg tables, by folder or as iceberg:CATALOG.NAMESPACE.TABLE"
)


@dataclass(frozen=True)
class LogOptions:
    """A log, its columns and groups, and where to decide."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help=f"{_LOGS}; a DuckDB table, duckdb:FILE.duckdb::TABLE, or a DuckLake table, duckdb:ducklake:FILE::TABLE; or a "
            "folder made by polars-ec sketch.",
            show_default=False,
        ),
    ]
    score: Annotated[list[str] | None, Option(help=f"{_SCORE} Repeat for more models. Not needed for sketches.")] = None
    label: Annotated[str | None, Option(help="Label column (true classes). Not needed for sketches.")] = None
    by: options.By = None
    time: options.Time = None
    every: options.Every = None
    time_zone: Annotated[str | None, Option(help=_TIME_ZONE.format(", or that of the sketches"))] = None
    cost_fn: Annotated[
        Any,
        _by_row(
            help="Cost of a missed positive: a number, or the column with the cost of each row. Default: 1, or that of the sketches."
        ),
    ] = None
    cost_fp: Annotated[Any, _by_row(help="Cost of a false alarm. Default: 1, or that of the sketches.")] = None
    costs: Annotated[
        str | None, Option(help="Costs as JSON, a row per class, a column per decision: [[0,1,0.1],[5,0,0.1]].")
    ] = None
    prior: Annotated[
        str | None,
        Option(
            help="Reference prior: the prior of the positive class, a list with one prior per class, uniform, or overall (the "
            "base rate of the whole log)."
        ),
    ] = None
    threshold: Annotated[Any, _by_row(help="Positive where score > threshold. Default: Bayes decisions.")] = None
    score_type: Annotated[
        str | None, Option(help=SCORE_TYPES_IN_WORDS.replace("posterior", "posterior (default)", 1))
    ] = None
    weight: options.Weight = None
    pos_label: options.PosLabel = None
    classes: Annotated[str | None, Option(help="Label values in class order: a,b,c or JSON.")] = None
    metrics: Annotated[
        list[str] | None, Option(help="Metrics instead of the default ones: nec,f1,auc_roc. Can be repeated.")
    ] = None
    min_rows: Annotated[int | None, Option(help="Mark groups with fewer rows as small, in the column `small`.")] = None
    cluster: options.Cluster = None
    buckets: options.Buckets = None

    def __post_init__(self) -> None:
        options.check_duration(self.every)
        if self.min_rows is not None and self.min_rows < 0:
            raise UsageError(f"--min-rows {self.min_rows} is negative: pass 0 or more")

    @cached_property
    def layout(self) -> dict[str, Any]:
        """Which metrics, and which groups are small, as `polars_ec.report` and `polars_ec.compare` take it."""
        metrics = None if self.metrics is None else [name.strip() for text in self.metrics for name in text.split(",")]
        return options.stated({"metrics": metrics, "min_rows": self.min_rows})

    @cached_property
    def options(self) -> dict[str, Any]:
        """Costs, threshold and prior."""
        return options.stated(
            {
                "cost_fn": self.cost_fn,
                "cost_fp": self.cost_fp,
                "costs": None if self.costs is None else options.parse_json(self.costs, "--costs"),
                "prior": None if self.prior is None else options.parse_prior(self.prior),
                "threshold": self.threshold,
            }
        )

    @cached_property
    def reading(self) -> dict[str, Any]:
        """What the columns hold."""
        classes = None if self.classes is None else options.parse_classes(self.classes)
        stated = {"score_type": self.score_type, "weight": self.weight, "pos_label": self.pos_label}
        return options.stated({**stated, "classes": classes})

    def request(self, gates: Gates, what: str, others: Mapping[str, Sequence[str]]) -> RowRequest:
        """The request to rows; `others` are further columns, by option."""
        zone = options.check_period(self.time, self.every, self.time_zone)
        if not self.score or self.label is None:
            lacks = [name for name, value in (("--score", self.score), ("--label", self.label)) if not value]
            raise UsageError(
                f"{what} on rows needs {' and '.join(lacks)}: pass column names, such as --score p --label y"
            )
        stated = {"score_type": "posterior", **self.options, **self.reading}
        by = self.by or []
        return RowRequest(self.score, self.label, by, self.time, self.every, stated, zone, self.cluster, gates, others)

    def sketch_options(self) -> Mapping[str, Any]:
        """What is said, by option, that sketches know: they must have been made so."""
        known: dict[str, Any] = {f"--{name.replace('_', '-')}": value for name, value in self.reading.items()}
        score = self.score[0] if self.score and len(self.score) == 1 else self.score
        named = {"--cluster": self.cluster, "--buckets": self.buckets, "--label": self.label, "--score": score or None}
        return known | options.stated(named)


@dataclass(frozen=True)
class OutputOptions:
    """What becomes of an answer: as what it is written, where to, and when that is a failure."""

    fail_if: Annotated[
        list[str] | None,
        Option(
            metavar="GATE",
            help='Exit with code 3 if the condition on a column holds in a group: "n_missing > 500", in a report "nec_ci_low > 1". Can be repeated.',
        ),
    ] = None
    fail_on_null: Annotated[
        bool, Option("--fail-on-null", help="Make --fail-if judge nulls (as failures) and small groups.")
    ] = False
    false_alarms: Annotated[
        str | None,
        Option(
            metavar="N/UNIT",
            help="Make --fail-if judge the evidence of all periods up to the last, with at most so many false alarms on average: 1/year.",
        ),
    ] = None
    form: Annotated[
        Format | None, Option("--format", help="Default: by the suffix of --out, else table.", case_sensitive=False)
    ] = None
    out: Annotated[
        Path | None,
        Option(help="File to write instead of stdout (.txt, .csv, .parquet, .json, .prom, .md or .tex), or a pipe."),
    ] = None
    plot: Annotated[Path | None, Option(help="File for a chart of the first metric: .svg, .png, .pdf or .html.")] = None
    quiet: options.Quiet = False

    def __post_init__(self) -> None:
        check_local("--out", self.out, "a table is")
        check_local("--plot", self.plot, "a chart is")


def run(log: LogOptions, delivery: OutputOptions, question: questions.Question, what: str) -> None:
    """Answer, write the answer, and end as the gates say; `what` is what messages call it, with its article."""
    chosen = format_for(delivery.form, delivery.out)
    folder = next((Path(path) for path in log.paths if SketchFolder.is_at(Path(path))), None)
    budget = None if delivery.false_alarms is None else _budget(delivery.false_alarms, log, question, folder)
    gates, chart = Gates.of(delivery.fail_if or [], delivery.fail_on_null, budget), delivery.plot
    if chart is not None:
        if chart == delivery.out:
            raise UsageError(f"--plot {chart} is also the --out file: name two files")
        check_chart(chart)
    if folder is None:
        if question.window is not None:
            raise UsageError(f"--window {question.window} needs sketches: run polars-ec sketch on the log first")
        answer = answer_from_rows(log.paths, log.request(gates, what, question.others), question, what)
    else:
        answer = _of_sketches(folder, log, question, what)
    table = answer.table
    gates.check(table.schema)
    for warning in [*answer.warnings, *question.notes(table)]:
        terminal.tell(warning)
    if chosen is Format.table and table.height > SHOWN_ROWS and not delivery.quiet:
        terminal.tell(f"the table shows {SHOWN_ROWS} of {table.height} rows: for all rows use --format csv")
    names = question.names(table)
    verdicts = gates.verdicts(table, names)
    # A file is for an editor, or for a pager, which have room to the right.
    width = terminal_width() if delivery.out is None else None
    content = encode(table, chosen, names=len(names.keys), width=width)
    if chosen is Format.table and delivery.out is None and not delivery.quiet and is_on_terminal():
        content = above(question.verdict(table), terminal_width()) + content
    beside = [
        *([] if question.page is None else [question.page.rendered(answer.page)]),
        *([] if chart is None else [drawn_chart(chart, lambda: question.chart(table))]),
    ]
    write(content, delivery.out)
    for file in beside:
        file.write()
        if not delivery.quiet:
            terminal.tell(f"the {file.what} is in {file.path}")
    _end(gates, verdicts, quiet=delivery.quiet)


def _budget(text: str, log: LogOptions, question: questions.Question, folder: Path | None) -> AlarmBudget:
    """The budget of false alarms; UsageError for a question whose periods are no independent looks, and for weights."""
    if question.no_looks is not None:
        raise UsageError(
            f"--false-alarms {text} is for reports and comparisons of periods with different rows. {question.no_looks}"
        )
    rows = {"--cluster": log.cluster, "--weight": log.weight}
    made_with = rows if folder is None else SketchFolder(folder).manifest().options
    if made_with["--weight"] is not None:
        raise UsageError(
            f"--false-alarms {text} with --weight {made_with['--weight']}: alarms are for rows without weights"
        )
    is_counted = isinstance(question, questions.ReportQuestion) and made_with["--cluster"] is None
    return AlarmBudget.of(text, log.every, question.layout.get("interval"), is_counted=is_counted)


def _end(gates: Gates, verdicts: Sequence[Verdict], *, quiet: bool) -> None:
    """With an exit code of its own where a gate was tripped, and lines that say by what."""
    for verdict in verdicts:
        for line in verdict.lines():
            terminal.tell(line)
    for verdict in verdicts:
        not_judged = verdict.not_judged()
        if not_judged is not None and (verdict.is_blind or not quiet):
            terminal.tell(not_judged)
    if gates.trip(verdicts):
        raise typer.Exit(terminal.TRIPPED)


def _of_sketches(folder: Path, log: LogOptions, question: questions.Question, what: str) -> questions.Answer:
    if len(log.paths) > 1:
        raise UsageError(
            f"{', '.join(log.paths)}: {what} takes one folder of sketches at a time: name only that folder"
        )
    if log.time is not None:
        options.check_period(log.time, log.every, log.time_zone)
    made_with, operating_point = log.sketch_options(), log.options  # which may refuse what was stated
    _tell_undone(folder)
    roll_up = RollUp(log.by or [], log.time, log.every, log.time_zone, question.mix)
    try:
        with terminal.panics_unseen():
            return answer_from_sketches(folder, made_with, roll_up, operating_point, question)
    except PanicException as error:
        raise DataError(f"{folder}: {first_line(error)}") from error


def _tell_undone(folder: Path) -> None:
    """A report of half a log looks like one of the whole."""
    undone = {source: why for source, why in SketchFolder(folder).undone().items() if not is_pos_label_note(source)}
    if undone:
        source, why = next(iter(undone.items()))
        first = why if source in why else f"{source} {why}"
        more = f", and {len(undone) - 1} more" if len(undone) > 1 else ""
        terminal.tell(f"{folder}: the last run of polars-ec sketch is incomplete: {first}{more}")


@terminal.one_line_errors
@options.taking(LogOptions, OutputOptions)
def report(
    log: LogOptions,
    output: OutputOptions,
    total: Annotated[
        bool, Option("--total", help="Add a last row over all groups, marked in the column `total`.")
    ] = False,
    per_class: Annotated[
        bool, Option("--per-class", help="A row per group and class: the class against the rest.")
    ] = False,
    missing: Annotated[
        options.Missing, Option(help="Count rows with missing values together, or by column.")
    ] = "together",
    score_prior: Annotated[
        str | None,
        Option(
            help="Prior that the posteriors were made with. The columns _at_prior then use posteriors moved from it to --prior."
        ),
    ] = None,
    window: options.Window = None,
    interval: options.Interval = None,
    method: options.Resampling = None,
    replicates: options.Replicates = None,
    seed: options.Seed = None,
    html: Annotated[
        Path | None,
        Option(
            help="HTML report page to write beside the table: a summary in sentences, groups, trends and curves. Its intervals have "
            "the level of --interval (default 0.95), its reference prior is --prior (default overall)."
        ),
    ] = None,
    title: Annotated[str | None, Option(help="Title of the HTML page.")] = None,
    margin: options.Margin = None,
    model: options.Model = None,
    item: options.Item = None,
) -> None:
    """Compute the metrics of a prediction log, one row per group.

    Rows with a missing label, score or weight are left out and counted. A group with invalid rows has no metrics. Columns _at_prior
    have the metrics at the reference prior, _ci_low and _ci_high the bounds of confidence intervals, _error the largest possible error.
    If rows are correlated, the intervals need --cluster. For a folder of sketches, --by and --every combine its groups. Columns _low and
    _high bound the metrics at a threshold for which the sketches are not exact.
    """
    questions.check_window(window, log.every)
    if window is not None and total:
        raise UsageError(
            f"--window {window} with --total: windows overlap, so they have no total. Leave one of them out"
        )
    stated_layout = {
        "total": total or None,
        "per_class": per_class or None,
        "missing": None if missing == "together" else "by_part",
        "score_prior": None if score_prior is None else options.parse_prior(score_prior, "--score-prior", ["uniform"]),
    }
    layout = log.layout | options.stated(stated_layout)
    # Of clusters the page alone may be: it has limits in any case.
    clusters = (log.cluster, log.buckets) if html is None or interval is not None else (None, None)
    layout |= options.intervals(interval, *clusters, method, replicates, seed)
    items, page = options.items(model, item), None
    if html is not None:
        level = questions.LEVEL if interval is None else interval
        of_page = log.layout | options.intervals(level, log.cluster, log.buckets) | items | options.margins(margin)
        page = questions.PageFile(html, title, of_page)
        page.check(
            {
                **({f"--window {window}": "the periods of a page do not overlap"} if window is not None else {}),
                **({"--per-class": "a page shows all classes together"} if per_class else {}),
                **({"--score-prior": "a page uses the original posteriors"} if score_prior is not None else {}),
                **({f"--method {method}": "the intervals of a page are not resampled"} if method is not None else {}),
            }
        )
        for option, other in (("--out", output.out), ("--plot", output.plot)):
            if html == other:
                raise UsageError(f"--html {html} is also the {option} file: name two files")
    elif title is not None or margin is not None:
        stated = f"--title {title}" if title is not None else f"--margin {margin:g}"
        raise UsageError(f"{stated} is for a page: pass --html FILE too")
    several = model is not None or len(log.score or ()) > 1
    question = questions.ReportQuestion(
        layout=layout,
        several=several,
        window=window,
        page=page,
        by=log.by or (),
        every=log.every,
        prior=log.options.get("prior"),
        items=items,
    )
    run(log, output, question, "a report")


@terminal.one_line_errors
@options.taking(LogOptions, OutputOptions)
def compare(
    log: LogOptions,
    output: OutputOptions,
    reference: Annotated[
        list[str] | None,
        Option(
            help="What to compare with: a model (default: the first --score), rest, total, best, highest, lowest, or a group such as carrier=AA "
            "(repeat for several columns). Periods are ISO dates."
        ),
    ] = None,
    model: options.Model = None,
    item: options.Item = None,
    interval: Annotated[float, Option(help="Level of the confidence intervals of the differences.")] = 0.95,
    margin: options.Margin = None,
) -> None:
    """Compare models on the same rows, or groups of one model, one row per group, model and metric.

    Each row has the values, their difference (value - reference), its confidence interval and its p-value. Groups also have the ratio of the
    values with its interval. p_adjusted is adjusted for the number of groups. If rows are correlated, pass --cluster. A group is small if it, or its reference, has fewer than 10 rows of a class.
    With --prior, metrics that depend on the prior have a second row at it, NAME_at_prior.
    """
    layout = log.layout | options.intervals(interval, log.cluster, log.buckets) | options.margins(margin)
    question = questions.CompareQuestion(
        layout=layout,
        by=log.by or (),
        every=log.every,
        reference=reference or (),
        scores=log.score or (),
        items=options.items(model, item),
    )
    run(log, output, question, "a comparison")


@terminal.one_line_errors
@options.taking(LogOptions, OutputOptions, without=("false_alarms",))
def drift(
    log: LogOptions,
    output: OutputOptions,
    reference: Annotated[
        str | None,
        Option(
            help="Period to compare with, by the date it begins on (2024-05-01, for months also 2024-05); or previous, the period "
            "before each. Default: the earliest."
        ),
    ] = None,
    mix: Annotated[
        list[str] | None, Option(help="Column of strata: the change of their mix is a separate part. Can be repeated.")
    ] = None,
    window: options.Window = None,
    interval: Annotated[
        float, Option(help="Level of the confidence intervals of the differences and their parts.")
    ] = 0.95,
) -> None:
    """Explain how each metric changed between periods, one row per group, period, model and metric.

    The parts add up to the difference: prior (the base rate), likelihood (the scores within each class) and, with --mix, the mix of the
    strata. NAME_ci_low and NAME_ci_high are the bounds of a part's confidence interval. If rows are correlated, pass --cluster. NAME_least
    and NAME_most are its range over the orders in which parts can change. With --prior, metrics that depend on it have a second row at
    it, NAME_at_prior.
    """
    if log.every is None:
        raise UsageError("a drift compares periods: pass --every, such as --every 1mo, and for rows also --time")
    questions.check_window(window, log.every)
    strata = mix or []
    for i, name in enumerate(strata):
        if name in strata[:i]:
            raise UsageError(f"--mix {name} is named twice: name each column once")
        if name == log.time or name in (log.by or []):
            other = "--time" if name == log.time else "--by"
            raise UsageError(
                f"--mix {name} is also {other} {name}, so its mix never changes within a group: leave one of them out"
            )
    layout = log.layout | options.intervals(interval, log.cluster, log.buckets)
    question = questions.PeriodQuestion(
        by=log.by or (), every=log.every, reference=reference, mix=strata, window=window, layout=layout
    )
    run(log, output, question, "a drift")


@terminal.one_line_errors
@options.taking(
    LogOptions, OutputOptions, without=("threshold", "metrics", "min_rows", "cluster", "buckets", "false_alarms")
)
def capacity(
    log: LogOptions,
    output: OutputOptions,
    k: Annotated[int | None, Option("--k", help="Number of rows to select in each period of each group.")] = None,
    share: Annotated[float | None, Option(help="Share of the rows to select instead, such as 0.05.")] = None,
    period: Annotated[
        str | None,
        Option(
            help="Period for which the capacity holds: a column, or a length of time in --time, such as 1d. Default: each group is one."
        ),
    ] = None,
    interval: options.Interval = None,
) -> None:
    """Judge the decision to look at the highest scores only, such as the 50 alerts that a team can handle per day, one row per group.

    If rows with equal scores compete for the last places, counts and metrics are expected over a random choice; tied counts these rows. The
    intervals come from the differences between the periods. --every makes a row per period of its length.
    """
    in_time = period is not None and options.is_duration(period)
    if in_time and log.time is None:
        raise UsageError(
            f"--period {period} is a length of time: pass --time, the column of times, or a column of periods"
        )
    if interval is not None and period is None:
        raise UsageError(
            f"--interval {interval} needs --period: intervals come from the differences between the periods"
        )
    question = questions.CapacityQuestion(
        layout=options.stated({"k": k, "share": share, "interval": interval}),
        several=len(log.score or ()) > 1,
        by=log.by or (),
        every=log.every,
        period=period,
        time=log.time,
        time_zone=options.checked_zone(log.time_zone),
    )
    run(replace(log, every=period) if in_time and log.every is None else log, output, question, "a capacity")


@terminal.one_line_errors
@options.taking(LogOptions, OutputOptions, without=("min_rows", "plot", "false_alarms"))
def estimate(
    log: LogOptions,
    output: OutputOptions,
    reference: Annotated[
        str | None,
        Option(
            help="Period whose labels the calibrator is fitted to, by the date it begins on. Default: the last labelled one before each."
        ),
    ] = None,
    labelled: Annotated[float, Option(help="Share of rows with labels from which a period counts as labelled.")] = 0.9,
    calibrator: Annotated[
        str, Option(help="spline, affine, temperature; 2 classes: gaussian, pav, histogram; none if calibrated.")
    ] = "spline",
    shift_prior: Annotated[
        str | None,
        Option(
            help="em, if only the prior of a period changes: it is estimated from the scores. Or the prior, of K classes a JSON list."
        ),
    ] = None,
    label_probability: Annotated[
        str | None, Option(help="Column of the probability that the label of a row was to come. Default: at random.")
    ] = None,
    interval: Annotated[float, Option(help="Level of the intervals for the values that labels will show.")] = 0.95,
    replicates: Annotated[int, Option(help="Number of bootstrap replicates.")] = 200,
    seed: Annotated[int, Option(help="Seed of the replicates.")] = 0,
) -> None:
    """Estimate metrics before labels come: P(class | score) is assumed unchanged; this cannot be seen without labels.

    There is one row per group, period, model and metric. Empty labels are those to come. Periods with labels are estimated as if they had
    none, and observed and covered show how good the estimate was. If rows are correlated, pass --cluster.
    """
    if log.every is None:
        raise UsageError("an estimate is of periods: pass --every, such as --every 1mo, and --time")
    if log.prior == "overall":  # which a folder of sketches would count
        raise UsageError("--prior 'overall' is not a number, but an estimate takes one")
    stated = {"buckets": log.buckets, "interval": interval, "replicates": replicates, "seed": seed}
    layout = log.layout | options.stated(stated)
    layout |= {"labelled": labelled, "calibrator": None if calibrator.lower() == "none" else calibrator}
    if shift_prior is not None:
        layout["shift_prior"] = options.parse_prior(shift_prior, "--shift-prior", ("em",))
    question = questions.UnlabelledQuestion(
        every=log.every, reference=reference, label_probability=label_probability, layout=layout
    )
    run(log, output, question, "an estimate")


@terminal.one_line_errors
def sketch(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help=f"{_LOGS}.", show_default=False)],
    out: Annotated[Path, Option(help="Folder for the sketches.")],
    score: Annotated[list[str], Option(help=f"{_SCORE} Can be repeated for more models.")],
    label: Annotated[str, Option(help="Label column (true classes).")],
    by: options.By = None,
    time: options.Time = None,
    every: options.Every = None,
    resolution: Annotated[int, Option(help="Bins per nat of log-odds.")] = 64,
    exact: Annotated[bool, Option("--exact", help="Keep every distinct score instead of bins.")] = False,
    threshold: Annotated[
        list[float] | None, Option(help="Threshold at which the metrics are exact. Can be repeated.")
    ] = None,
    cost_fn: Annotated[
        Any,
        _by_row(
            help="Cost of a missed positive. Its Bayes threshold is exact. With --reduction decisions also a column."
        ),
    ] = 1.0,
    cost_fp: Annotated[Any, _by_row(help="Cost of a false alarm, as for --cost-fn.")] = 1.0,
    costs: Annotated[
        str | None, Option(help="For --reduction decisions: costs as JSON, a row per class, a column per decision.")
    ] = None,
    prior: Annotated[
        str | None,
        Option(
            help="For LLRs: prior whose Bayes threshold is exact. For log-likelihoods: prior that makes them posteriors."
        ),
    ] = None,
    reduction: Annotated[
        Reduction,
        Option(
            help="How K-class scores become binary: each class against the rest, or whether the top label is right. Or decisions: the "
            "counts of the Bayes decisions, for the metrics of decisions and losses of all classes together."
        ),
    ] = "one_vs_rest",
    score_type: Annotated[str, Option(help=SKETCH_SCORE_TYPES_IN_WORDS)] = "posterior",
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    buckets: options.Buckets = BUCKETS,
    unlabelled: Annotated[
        bool, Option("--unlabelled", help="Keep the scores of rows with an empty label, for polars-ec estimate.")
    ] = False,
    pos_label: options.PosLabel = None,
    classes: Annotated[str | None, Option(help="Label values in class order: a,b,c or JSON.")] = None,
    time_zone: Annotated[str | None, Option(help=_TIME_ZONE.format(""))] = None,
    vanished: Annotated[
        Vanished,
        Option(
            help="What to do with the sketch of an input that has vanished: stop with an error, keep it, or drop it."
        ),
    ] = Vanished.stop,
    quiet: options.Quiet = False,
) -> None:
    """Summarise a log, file by file, in a folder of small sketches, for `polars-ec report` FOLDER.

    You can stop and restart the command at any time. It reads only files, objects and tables that are new or changed. If a file cannot be
    read, the command finishes the others, reports the error and ends with exit code 1.
    """
    if any(path.startswith(PREFIX) for path in paths):  # which may go on with a password
        raise UsageError(
            f"{PREFIX} a sketch job takes files, objects, Delta and Iceberg tables only: export the table to Parquet"
        )
    check_local("--out", out, "sketches are")
    zone = options.check_period(time, every, time_zone)
    stated: dict[str, Any] = {"cost_fn": cost_fn, "cost_fp": cost_fp, "score_type": score_type}
    thresholds = threshold or []
    if reduction == "decisions":
        if len(thresholds) > 1:
            raise UsageError("--threshold: --reduction decisions keeps the decisions at one threshold. Pass it once")
        stated |= dict(zip(["threshold"], thresholds, strict=False))
        thresholds = []
    elif costs is not None:
        raise UsageError("--costs is for --reduction decisions: pass --cost-fn and --cost-fp")
    if costs is not None:
        stated["costs"] = options.parse_json(costs, "--costs")
    parsed = {
        "prior": None if prior is None else options.parse_prior(prior),
        "weight": weight,
        "pos_label": pos_label,
        "classes": None if classes is None else options.parse_classes(classes),
    }
    stated |= options.stated(parsed)
    if stated.get("prior") == "overall":
        raise UsageError("--prior overall is not known before the whole log is read: pass a number")
    request = RowRequest(score, label, by or [], time, every, stated, time_zone=zone, cluster=cluster)
    grid = {"resolution": resolution, "exact": exact, "thresholds": thresholds, "buckets": buckets}
    grid |= {"reduction": reduction, "unlabelled": unlabelled}
    told = partial(terminal.progress, name=lambda task: task.file, label="sketch", done="inputs read")
    track = nullcontext if quiet else told
    outcome = run_job(paths, out, SketchRequest(request, grid), vanished=vanished, track=track)
    for line in [*([] if quiet else outcome.notes()), *outcome.problems()]:
        terminal.tell(line)
    if not quiet:
        say(outcome.summary(out))
    if outcome.failures:
        raise typer.Exit(terminal.FAILED)


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example, with an HTML page: polars-ec report log.csv --score p --label y --by segment --cost-fn 5 --html report.html",
)


def _show_version(is_shown: bool) -> None:
    if is_shown:
        say(f"polars-ec {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Compute expected costs, proper scoring rules and calibration from a prediction log, per group and period."""


app.command(
    short_help="Metrics per group, as a table, an HTML page or a chart.",
    epilog="Example: polars-ec report log.csv --score p --label y --by segment --time day --every 1mo --cost-fn 5 --html report.html",
)(report)
app.command(short_help="Differences between models or groups, with confidence intervals.")(compare)
app.command(short_help="Why metrics changed from one period to another.")(drift)
app.command(short_help="What the highest scores of each period are worth to a team with limited capacity.")(capacity)
app.command(short_help="Metrics of periods before their labels come.")(estimate)
app.command(short_help="Summarise a log in small sketches for the other commands.")(sketch)


@app.command("sql")
@terminal.one_line_errors
def print_sql(
    out: Annotated[Path | None, Option(help="File to write instead of stdout.")] = None,
    duckdb: Annotated[str, Option(help="Version of DuckDB that loads the macros; 1.4.2 or later.")] = "2",
) -> None:
    """Print the SQL macros, for any DuckDB client."""
    try:
        bundle = macros.text(duckdb)
    except ValueError as error:
        raise UsageError(f"--duckdb: {error}") from None
    write(bundle.encode(), out)


def main() -> None:
    """The command line as a program."""
    try:
        app(prog_name="polars-ec")
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(terminal.report_error(error, terminal.DEBUG in sys.argv))
