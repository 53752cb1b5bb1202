"""What the commands ask of a log: a report, a comparison, a drift or an estimate, each answered by a table, from rows or from a sketch."""

from __future__ import annotations

import importlib.util
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from polars_ec import plot
from polars_ec.api.capacities import capacity
from polars_ec.api.comparisons import compare
from polars_ec.api.drifts import drift
from polars_ec.api.estimates import estimate
from polars_ec.api.reports import report
from polars_ec.api.sketches import Sketch, Windows
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import did_you_mean, parse_interval
from polars_ec.cli.gates import Names
from polars_ec.cli.object_store import check_local
from polars_ec.cli.options import PERIOD_NAMES, Periods, counted_prior, is_duration
from polars_ec.cli.output import SideFile, check_place
from polars_ec.cli.terminal import UsageError
from polars_ec.comparisons.items import by_item
from polars_ec.comparisons.validation import OTHERS, PREVIOUS, comparable
from polars_ec.formulas.decisions import AT_PRIOR
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.page.contents import Contents, drift_sentences, report_sentences
from polars_ec.page.request import PageArguments
from polars_ec.page.sources import contents_of
from polars_ec.reports.models import METRICS
from polars_ec.reports.of_cells import Point, columns
from polars_ec.scores.folds import FOLD
from polars_ec.sketches.cells import SCORE, TARGET, check_keys, keys_of_models
from polars_ec.typing import FrameLike


@dataclass(frozen=True)
class RowInput:
    """The rows of a log as a question takes them; `period` is the group column of times, if there is one."""

    frame: FrameLike
    scores: Sequence[str]
    label: str
    by: Sequence[str | pl.Expr]
    period: pl.Expr | None
    cluster: str | None
    options: Mapping[str, Any]

    @property
    def keys(self) -> list[str | pl.Expr]:
        return [*self.by, *([] if self.period is None else [self.period])]

    def none(self) -> RowInput:
        """The input without its rows: what is refused of it is refused before any is read."""
        return replace(self, frame=as_lazy(self.frame).collect_schema().to_frame(eager=False))


@dataclass(frozen=True)
class SketchInput:
    """The sketch of a folder, rolled up, as a question takes it; `made_with` are the options of its files.

    `periods` are its group columns of periods, one mostly, which are of `every`, if it is rolled up to some. `targets` are the classes of
    one-vs-rest sketches in their order, as text.
    """

    sketch: Sketch
    made_with: Mapping[str, Any]
    options: Mapping[str, Any]
    periods: Sequence[str] = ()
    every: str | None = None
    targets: Sequence[str] = ()

    @property
    def period(self) -> str:
        """The one column of periods, where the question is of some."""
        if len(self.periods) > 1:
            raise UsageError(f"--by has the periods twice, as {' and '.join(self.periods)}: name one of them, or none")
        (period,) = self.periods
        return period


LEVEL = PageArguments.interval
"""The level of the limits of a page."""


@dataclass(frozen=True)
class PageFile:
    """Where it goes, and what `polars_ec.report_page` takes beside the options: `layout` has `metrics`, `min_rows`, `interval`, `buckets`."""

    file: Path
    title: str | None = None
    layout: Mapping[str, Any] = field(default_factory=dict)

    def check(self, refused: Mapping[str, str]) -> None:
        """UsageError for a page that cannot be made; `refused` are options that are there and that it does not have, with the reason."""
        for option, why in refused.items():
            raise UsageError(f"--html with {option}: {why}: leave one of them out")
        check_local("--html", self.file, "a page is")
        if importlib.util.find_spec("jinja2") is None or importlib.util.find_spec("altair") is None:
            raise UsageError("--html needs Jinja2 and Altair: pip install 'polars_ec[cli,html]'")
        check_place(self.file, "--html", (".html", ".htm"), any_pipe=True)

    def from_rows(self, rows: RowInput) -> list[Contents]:
        arguments = {"by": rows.by, "period": rows.period, "cluster": rows.cluster, **self.layout}
        return self._contents((rows.frame, rows.scores, rows.label), arguments, rows.options)

    def from_sketch(self, sketched: SketchInput) -> list[Contents]:
        if {SCORE, TARGET} <= {*sketched.sketch.keys}:
            raise UsageError(f"--html {self.file}: a page shows the classes of one model: name it with --score")
        period = sketched.period if sketched.periods else None
        by = [key for key in sketched.sketch.keys if key not in (period, SCORE, TARGET, FOLD)]
        layout = {name: value for name, value in self.layout.items() if name != "buckets"}
        return self._contents((sketched.sketch, None, None), {"by": by, "period": period, **layout}, sketched.options)

    def _contents(
        self, log: tuple[Any, Any, Any], arguments: dict[str, Any], options: Mapping[str, Any]
    ) -> list[Contents]:
        point = dict(options)
        if "prior" in point:
            arguments["prior"] = point.pop("prior")
        return contents_of(*log, PageArguments(**arguments, title=self.title, options=point))

    def rendered(self, contents: Sequence[Contents]) -> SideFile:
        """The page of these contents."""
        from polars_ec.page.layout import render  # which needs an extra

        return SideFile("page", self.file, "--html", render(*contents).encode())


_OPTION = "--reference"
_YEAR_OR_MONTH = re.compile(r"\d{4}(?P<month>-\d{2})?")
_OF_YEARS, _OF_MONTHS = re.compile(r"(\d+y)+"), re.compile(r"(\d+(mo|q|y))+")


def reference_of(texts: Sequence[str], models: Sequence[str], keys: Mapping[str, pl.DataType]) -> Any:
    """As `polars_ec.compare` takes it; `keys` are the group columns."""
    if not texts:
        return None
    if len(texts) == 1:
        (text,) = texts
        if text in models or text in OTHERS or not keys:
            return text
        if len(keys) == 1 and "=" not in text:
            ((column, dtype),) = keys.items()
            return {column: value_of(text, dtype, f"{_OPTION} {text}", column)}
    reference: dict[str, Any] = {}
    for text in texts:
        column = _column(text, keys)
        if column in reference:
            raise UsageError(f"{_OPTION} {text}: {column} already has a value. Name one group")
        reference[column] = value_of(text[len(column) + 1 :], keys[column], f"{_OPTION} {text}", column)
    return reference


def _column(text: str, keys: Mapping[str, pl.DataType]) -> str:
    named = [name for name in keys if text.startswith(f"{name}=")]
    if named:
        return max(named, key=len)
    ways = " ".join(f"{_OPTION} {name}=VALUE" for name in keys)
    if "=" in text:
        before = text.partition("=")[0]
        raise UsageError(
            f"{_OPTION} {text}: {before} is not a group column: {did_you_mean(before, keys)}Name a group as {ways}"
        )
    raise UsageError(
        f"{_OPTION} {text}: not a model, and not one of {', '.join(OTHERS)}. Name a group as {ways}, or by some of these columns"
    )


def period_of(text: str | None, column: str, dtype: pl.DataType, every: str) -> Any:
    """As `polars_ec.drift` takes it: a period by its begin, of which years and months may leave out the rest; or the one before each."""
    if text is None or text == PREVIOUS:
        return text
    said, short = f"{_OPTION} {text}", _YEAR_OR_MONTH.fullmatch(text)
    if short is None:
        return value_of(text, dtype, said, column)
    if not (_OF_MONTHS if short["month"] else _OF_YEARS).fullmatch(every):
        raise UsageError(f"{said}: the periods are {every} long. Pass the date that one begins on, such as 2024-05-01")
    return value_of(f"{text}-01" if short["month"] else f"{text}-01-01", dtype, said, column)


def value_of(text: str, dtype: pl.DataType, said: str, column: str) -> Any:
    """The value that a column of this dtype holds; `said` is what the command line says. Times are ISO dates, or with a time."""
    try:
        return _value(text, dtype)
    except (ValueError, InvalidOperation):
        kind = "an ISO date, such as 2024-05-01" if dtype.is_temporal() else f"{dtype}"
        raise UsageError(f"{said}: {text!r} is not a value of {column}, which is {kind}") from None


def _value(text: str, dtype: pl.DataType) -> Any:
    if dtype == pl.Boolean and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if dtype == pl.Date:
        return date.fromisoformat(text)
    if isinstance(dtype, pl.Datetime):
        moment, zone = datetime.fromisoformat(text), None if dtype.time_zone is None else ZoneInfo(dtype.time_zone)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=zone)
        if zone is not None:
            return moment.astimezone(zone)
    elif dtype.is_numeric():
        return int(text) if dtype.is_integer() else Decimal(text) if dtype.is_decimal() else float(text)
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        return text
    raise ValueError


def check_window(window: int | None, every: str | None) -> None:
    """UsageError for a window of fewer than two periods, or of unknown ones."""
    if window is None:
        return
    if window < 2:
        raise UsageError(f"--window {window}: pass 2 or more periods, or leave it out")
    if every is None:
        raise UsageError(f"--window {window} is for periods: pass --every too")


def windows_of(sketched: SketchInput, window: int) -> Windows:
    """The windows over a folder that is rolled up to periods."""
    sketch, period, every = sketched.sketch, sketched.period, sketched.every
    assert every is not None
    if sketch.frame[period].null_count():
        raise UsageError(
            f"--window {window}: some rows have no {period}, so they are in no window. Filter them out before you sketch the log"
        )
    return sketch.rolling(period, periods=window, every=every)


def rolled(sketched: SketchInput, window: int) -> Iterator[SketchInput]:
    """The sketches of the windows, of some groups after the others; `--prior overall` is that of the rows, each of which counts once."""
    windows, prior = windows_of(sketched, window), sketched.options.get("prior")
    for sketch, stated in windows._rolling.in_blocks(sketched.sketch, prior):
        options = sketched.options if stated is None else {**sketched.options, "prior": stated}
        yield replace(sketched, sketch=sketch, options=options)


_ORDER = "__ec_order"


@dataclass(frozen=True)
class Answer:
    """The table that answers a question, and what is to be said about it."""

    table: pl.DataFrame
    warnings: list[str] = field(default_factory=list)
    page: Sequence[Contents] = ()


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """What is asked of a log.

    `layout` is what the function of the package takes beside the options, and `window` how many periods of sketches each row is of.
    `items` are the columns of models and of items, of a log with a row for each. `by` are the columns of segments, and `every` is the period,
    if there are some.
    """

    layout: Mapping[str, Any] = field(default_factory=dict)
    by: Sequence[str] = ()
    every: str | None = None
    window: int | None = None
    mix: Sequence[str] = ()
    page: PageFile | None = None
    items: Mapping[str, Any] = field(default_factory=dict)

    @property
    def others(self) -> Mapping[str, Sequence[str]]:
        """The columns of the log that only this question reads, by option."""
        models = [self.items["model"]] if self.items else []
        return {"--mix": self.mix, "--model": models, "--item": self.items.get("item", ())}

    @property
    def has_intervals(self) -> bool:
        """Whether the answer has intervals, which read the clusters of a sketch."""
        return isinstance(self, DifferenceQuestion) or "interval" in self.layout or self.page is not None

    @abstractmethod
    def from_rows(self, rows: RowInput) -> pl.LazyFrame | pl.DataFrame:
        """Answer from rows; a plan where these are one."""

    @abstractmethod
    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:
        """Answer from a sketch, with the columns of the answer from rows."""

    @abstractmethod
    def check_counted(self, table: pl.DataFrame) -> None:
        """DataError for an answer at the shares of the classes in the whole log where these could not be counted."""

    @abstractmethod
    def lacks_positives(self, table: pl.DataFrame) -> bool:
        """Whether no row of the log may be positive, as where the label was mistyped."""

    @abstractmethod
    def notes(self, table: pl.DataFrame) -> list[str]:
        """What is to be said about an answer."""

    def chart(self, table: pl.DataFrame) -> Any:
        """The chart of the first metric of an answer, if the command has `--plot`."""
        raise NotImplementedError

    @abstractmethod
    def names(self, table: pl.DataFrame) -> Names:
        """What the rows of an answer are called."""

    @property
    def no_looks(self) -> str | None:
        """Why its periods are no independent looks, if they are not."""
        return f"With --window {self.window} windows share rows" if self.window is not None else None

    def _period(self, table: pl.DataFrame, keys: Sequence[str]) -> str | None:
        """The column of periods, which `--by` may have named."""
        if self.every is None:
            return None
        times = [name for name in keys if table.schema[name].is_temporal()]
        not_named = [name for name in times if name not in self.by]
        return [*not_named, *(name for name in times if name == PERIOD_NAMES.get(self.every)), *times][0]

    def verdict(self, table: pl.DataFrame) -> list[str]:  # noqa: ARG002
        """What the answer says, in sentences, to read on a terminal."""
        return []


class DifferenceQuestion(Question):
    """A question whose answer has a row for each group, model and metric, with a difference."""

    def check_counted(self, table: pl.DataFrame) -> None:
        """Metrics have values at the groups' own priors, and none at that one."""
        moved = table.filter(pl.col("metric").str.ends_with("_at_prior"))
        known = table.filter((pl.col("metric") + "_at_prior").is_in(moved["metric"].implode()))
        if known["difference"].count() and not moved["difference"].count():
            counted_prior(None)

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        return table["difference_ci_low"].null_count() == table.height

    def notes(self, table: pl.DataFrame) -> list[str]:
        """Values that are missing need a reason: groups that are not small have rows of each class, so some must be wrong."""
        wrong = "an invalid score, label or weight? See n_invalid in polars-ec report"
        lacks = pl.col("value").is_null() | (pl.col("value_reference").is_null() & pl.col("reference").is_not_null())
        if table.height and table.select(lacks.all()).item():
            if table["n"].sum():
                few = "every group, or its reference, has too few rows of a class, or invalid rows"
                return [f"no group has a difference: {few}. See n and n_invalid in polars-ec report"]
            return [f"no group has a difference: do rows have {wrong}. Are --score-type and --classes right?"]
        groups = table.columns[: table.columns.index("reference")]
        notes = []
        # They have no row that counts, and so they are small.
        all_wrong = table.filter(n=0, n_missing=0).select(groups).n_unique() if table.height else 0
        if all_wrong:
            some = "1 group has" if all_wrong == 1 else f"{all_wrong} groups have"
            notes.append(f"{some} only invalid rows. See n_invalid in polars-ec report")
        number = int(table.filter(~pl.col("small")).group_by(groups).agg(lacks=lacks.all())["lacks"].sum())
        if not number:
            return notes
        these = "1 group that is not small has" if number == 1 else f"{number} groups that are not small have"
        return [*notes, f"{these} no difference: do rows have {wrong}"]

    def first_metric_rows(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(pl.col("metric") == pl.col("metric").first())

    def names(self, table: pl.DataFrame) -> Names:
        keys = table.columns[: table.columns.index("value")]
        period = self._period(table, keys)
        return Names(keys, if_several=("model", "metric"), beside=("reference",), small=True, period=period)


def models_of(made_with: Mapping[str, Any]) -> list[str]:
    """The models of a folder of sketches, in their order."""
    scores = made_with["--score"]
    return [scores] if isinstance(scores, str) else list(scores)


def sketched_differences(
    sketched: SketchInput, layout: Mapping[str, Any], ask: Callable[..., pl.DataFrame], further: Sequence[str] = ()
) -> pl.DataFrame:
    """What a method of a sketch answers, with the metrics that `--prior` moves once more at it, as from rows.

    `ask` takes the names of metrics and the keywords of the operating point and of `layout`; `further` are usual beside the battery.
    """
    sketch, point = sketched.sketch, Point.of(sketched.sketch, sketched.options)
    prior, models = sketched.options.get("prior"), models_of(sketched.made_with)
    keywords = {
        **{name: value for name, value in layout.items() if name in ("interval", "min_rows", "margin")},
        **point.keywords,
    }
    names = _metrics(sketch, point, layout.get("metrics"), further)
    moved = point.moved(names) if prior is not None else []
    place = pl.col("metric").replace_strict(names, range(len(names)), return_dtype=pl.Int64).alias(_ORDER)
    tables = [ask(*names, **keywords).with_columns(place)]
    if moved:
        # Beside those at the groups' own prior.
        at_prior = ask(*moved, **keywords, prior=prior)
        tables.append(at_prior.with_columns(place, pl.col("metric") + "_at_prior"))
    keys = tables[0].columns[: tables[0].columns.index("model")]
    model = pl.col("model").fill_null(models[0])
    order: list[str | pl.Expr] = [model.replace_strict(models, range(len(models)), return_dtype=pl.Int64), _ORDER]
    return pl.concat(tables).sort(*keys, *order, maintain_order=True).with_columns(model).drop(_ORDER)


def _metrics(sketch: Sketch, point: Point, named: Sequence[str] | None, further: Sequence[str]) -> list[str]:
    names = comparable(named)
    if point.decisions is not None:
        return [*point.decisions.metrics(names)]
    losses = [*SCORING_RULES] if sketch.grid.scale.needs_prior else []
    if names is None:
        return [*(name for name in point.usual if name not in losses), *further]
    lost = next((name for name in names if name in losses), None)
    if lost is not None:
        raise UsageError(
            f"--metrics {lost} from LLRs is not exact in sketches: report on the log, or sketch posteriors"
        )
    return list(names)


_RANKING = ("auc_roc",)


@dataclass(frozen=True, kw_only=True)
class CompareQuestion(DifferenceQuestion):
    """The question of `polars-ec compare`: differences of models, or of groups from `reference`, as the command line says it.

    `scores` are the models that the command line names.
    """

    reference: Sequence[str] = ()
    scores: Sequence[str] = ()

    @property
    def no_looks(self) -> str | None:
        # The models of a log by item are values of a column.
        models = self.scores if not self.items else [x for x in self.reference if "=" not in x and x not in OTHERS]
        if not self.reference or (len(self.reference) == 1 and self.reference[0] in models):
            return None
        groups = f"With --reference {' '.join(self.reference)} the differences of groups may share rows"
        return f"{groups}. To compare models, name them with --score"

    def from_rows(self, rows: RowInput) -> pl.LazyFrame | pl.DataFrame:
        # The models of a log by item are not known before it is read.
        models = rows.scores if not self.items else [text for text in self.reference if "=" not in text]
        reference = reference_of(self.reference, models, as_lazy(rows.frame).select(rows.keys).collect_schema())
        arguments = {**self.layout, **self.items, **rows.options, "cluster": rows.cluster, "reference": reference}
        # What a warning about nulls says, the notes say.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            return compare(rows.frame, rows.scores, rows.label, by=rows.keys, **arguments)

    def chart(self, table: pl.DataFrame) -> Any:
        return plot.compare(self.first_metric_rows(table))

    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:
        sketch, models = sketched.sketch, models_of(sketched.made_with)
        keys = {key: sketch.frame.schema[key] for key in sketch.keys if key != SCORE}
        reference = reference_of(self.reference, models, keys)
        against = models[0] if reference is None and len(models) > 1 else reference
        return sketched_differences(sketched, self.layout, partial(sketch.compare, reference=against), _RANKING)


def _columns_of_periods(rows: RowInput, reference: str | None, every: str) -> dict[str, Any]:
    """The columns of a question about periods, and the reference that the command line names."""
    assert rows.period is not None
    ((column, dtype),) = as_lazy(rows.frame).select(rows.period).collect_schema().items()
    named = period_of(reference, column, dtype, every)
    return {"period": rows.period, "by": rows.by, "cluster": rows.cluster, "reference": named}


@dataclass(frozen=True, kw_only=True)
class PeriodQuestion(DifferenceQuestion):
    """The question of `polars-ec drift`: where changes between periods of `every` come from; `reference` is as the command line says it."""

    every: str
    reference: str | None = None

    def from_rows(self, rows: RowInput) -> pl.LazyFrame | pl.DataFrame:
        columns = {"mix": self.mix, **_columns_of_periods(rows, self.reference, self.every)}
        return drift(rows.frame, rows.scores, rows.label, **columns, **self.layout, **rows.options)

    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:
        sketch, period = sketched.sketch, sketched.period
        reference = period_of(self.reference, period, sketch.frame.schema[period], self.every)
        arguments = {"reference": reference, "mix": tuple(self.mix)}
        if self.window is None:
            return sketched_differences(sketched, self.layout, partial(sketch.drift, period=period, **arguments))
        windows = windows_of(sketched, self.window)
        return sketched_differences(sketched, self.layout, partial(windows.drift, **arguments))

    def chart(self, table: pl.DataFrame) -> Any:
        return plot.drift(self.first_metric_rows(table))

    def notes(self, table: pl.DataFrame) -> list[str]:
        nothing = "no group has another period beside the reference, so there is no change to explain"
        return super().notes(table) if table.height else [nothing]

    def verdict(self, table: pl.DataFrame) -> list[str]:
        """How the first metric changed, and which part of the change is significant; nothing of several models."""
        if not table.height or table["model"].n_unique() > 1:
            return []
        rows = self.first_metric_rows(table)
        *keys, period = table.columns[: table.columns.index("model")]
        found = drift_sentences(rows, keys, period, rows["metric"][0], self.layout.get("interval", 0.95))
        return [sentence.text for sentence in found]


@dataclass(frozen=True, kw_only=True)
class UnlabelledQuestion(Question):
    """The question of `polars-ec estimate`: metrics of periods of `every` before their labels come; `reference` is as the command line says it."""

    every: str
    reference: str | None = None
    label_probability: str | None = None

    @property
    def others(self) -> Mapping[str, Sequence[str]]:
        return {"--label-probability": [] if self.label_probability is None else [self.label_probability]}

    def from_rows(self, rows: RowInput) -> pl.DataFrame:
        columns = _columns_of_periods(rows, self.reference, self.every)
        columns["label_probability"] = self.label_probability
        return estimate(rows.frame, rows.scores, rows.label, **columns, **self.layout, **rows.options)

    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:
        sketch, period = sketched.sketch, sketched.period
        if self.label_probability is not None:
            raise UsageError(
                f"--label-probability {self.label_probability}: sketches do not have it. Estimate from the log"
            )
        reference = period_of(self.reference, period, sketch.frame.schema[period], self.every)
        layout = {name: value for name, value in self.layout.items() if name not in ("metrics", "buckets")}
        metrics = self.layout.get("metrics") or ()
        table = sketch.estimate(*metrics, period=period, reference=reference, **layout, **sketched.options)
        return table.with_columns(pl.col("model").fill_null(models_of(sketched.made_with)[0]))

    def check_counted(self, table: pl.DataFrame) -> None:
        """An estimate has no values at the shares of the classes in the whole log."""

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        return table.select(pl.col("value", "observed").is_null().all()).row(0) == (True, True)

    def notes(self, table: pl.DataFrame) -> list[str]:
        if table["value"].count():
            return []
        return [
            "no period has an estimate: rows are invalid, or no earlier period has enough labels. For the latter pass "
            "--reference, --labelled or --calibrator none"
        ]

    def names(self, table: pl.DataFrame) -> Names:
        return Names(table.columns[: table.columns.index("value")], ("model", "metric"), beside=("reference",))


# Columns of a report, by the options that add them.
_ADDED_BY = {"small": ("min_rows", "interval"), "total": ("total",)}


def _in_order(table: pl.DataFrame, sketched: SketchInput) -> pl.DataFrame:
    """As in the report on rows: nulls first, and within a group the models as they were named and the classes in their order."""
    keys, orders = sketched.sketch.keys, {SCORE: sketched.made_with["--score"], TARGET: sketched.targets}
    by = [
        pl.col(key).cast(pl.String).replace_strict(orders[key], range(len(orders[key])))
        if key in orders
        else pl.col(key)
        for key in keys
    ]
    return table.sort(by) if by else table


@dataclass(frozen=True, kw_only=True)
class ReportQuestion(Question):
    """The question of `polars-ec report`: the default metrics of each group.

    `several`: there are several models. `prior` is the reference prior, for the title of a chart.
    """

    several: bool = False
    prior: Any = None

    def from_rows(self, rows: RowInput) -> pl.LazyFrame | pl.DataFrame:
        # Without limits clusters are of the page alone.
        cluster = rows.cluster if "interval" in self.layout else None
        # What a warning about nulls says, the notes say.
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            report_on = partial(report, by=rows.keys, cluster=cluster, **self.layout, **rows.options)
            if not self.items:
                return report_on(rows.frame, rows.scores, rows.label)
            further: Any = {"columns": [*rows.keys, cluster], "options": rows.options}
            wide, scores, label = by_item(as_lazy(rows.frame), rows.scores, rows.label, **self.items, **further)
            items = wide.collect(engine="streaming")
            table = report_on(items, scores, label)
        # A log without rows has no models.
        return table if items.height else table.clear()

    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:
        # `auc_roc` has its bound, and NAME_low and NAME_high are there where the sketch does not know the threshold.
        marks = [name for name, options in _ADDED_BY.items() if any(option in self.layout for option in options)]
        check_keys(sketched.sketch.keys, marks)
        table = self._window_rows([sketched] if self.window is None else rolled(sketched, self.window))
        if "total" in self.layout:
            table = self._with_total(table, sketched)
        # Beside what is read first, as in the report on rows.
        before = table.columns[: table.columns.index("class_prior") + 1]
        return table.select(*before, *marks, pl.exclude(*before, *marks))

    def _window_rows(self, windows: Iterable[SketchInput]) -> pl.DataFrame:
        # Clusters are those of the sketch.
        intervals = parse_interval({name: value for name, value in self.layout.items() if name != "buckets"})
        tables = []
        for window in windows:
            report_columns = columns(window.sketch, window.options, self.layout.get("metrics"), intervals)
            tables.append(_in_order(report_columns, window))
        table = tables[0] if len(tables) == 1 else _in_order(pl.concat(tables), window)
        if "min_rows" not in self.layout:
            return table
        few = pl.col("n") < self.layout["min_rows"]
        return table.with_columns(small=few if intervals is None else few | pl.col("small"))

    def _with_total(self, table: pl.DataFrame, sketched: SketchInput) -> pl.DataFrame:
        """The table with a row over all groups, of each model, as the last."""
        models = keys_of_models(sketched.sketch.keys)
        if sketched.sketch.keys == models:
            raise UsageError(
                "--total adds a row over all groups, but without --by and --every there is only one group: leave it out"
            )
        # An empty folder has no groups, and nothing over all of them.
        over_all = replace(sketched, sketch=sketched.sketch.group_by(*models))
        whole = self._window_rows([over_all]).filter(pl.lit(value=table.height > 0))
        return pl.concat(
            [table.with_columns(total=pl.lit(value=False)), whole.with_columns(total=pl.lit(value=True))],
            how="diagonal",
        )

    def check_counted(self, table: pl.DataFrame) -> None:
        groups, sums = self._group_rows(table), pl.col("n", "n_invalid").sum()
        models = groups.group_by("score").agg(sums) if self.several else groups.select(sums)
        if not any(n and not n_invalid for n, n_invalid in models.select("n", "n_invalid").rows()):
            counted_prior(None)

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        return bool((self._group_rows(table)["class_prior"].fill_null(0) == 0).all())

    def notes(self, table: pl.DataFrame) -> list[str]:
        """Metrics that are empty need a reason where the table is not all that is looked at."""
        n_invalid = int(self._group_rows(table)["n_invalid"].sum())
        if not n_invalid:
            return []
        rows = "1 row has" if n_invalid == 1 else f"{n_invalid} rows have"
        if self.window is not None:
            # A row counts in several.
            rows = "some rows have"
        return [
            f"{rows} an invalid score, label or weight (n_invalid), so their groups have no metrics: are --score-type and --classes right?"
        ]

    def verdict(self, table: pl.DataFrame) -> list[str]:
        """Which groups cost more than treating all cases alike; nothing of several models or classes, whose rows are no groups."""
        metric = _first_metric(table)
        if metric is None or self.layout.get("per_class") or self._model_keys(table):
            return []
        names = self.names(table)
        period = names.period
        keys = [name for name in names.keys if name != period]
        sentences = report_sentences(table, keys, period, metric, self.layout.get("interval"))
        return [sentence.text for sentence in sentences]

    def chart(self, table: pl.DataFrame) -> Any:
        """Over time if there are periods, beside the value at the reference prior; else a row per group."""
        metric = _first_metric(table)
        if metric is None:
            raise ValueError("the report has no metric to draw: pass one with a single value, such as --metrics nec")
        period = self.names(table).period
        if period is None:
            return plot.forest(table, metric)
        metrics = [name for name in (metric, f"{metric}{AT_PRIOR}") if name in table.columns]
        facets = [name for name in self.names(table).keys if name in self.by and name != period]
        return plot.trend(table, metrics, x=period, facet=facets or None, prior=self.prior if metrics[1:] else None)

    def names(self, table: pl.DataFrame) -> Names:
        keys = table.columns[: table.columns.index("n")]
        small, total = bool({"min_rows", "interval"} & set(self.layout)), bool(self.layout.get("total"))
        return Names(keys, small=small, total=total, period=self._period(table, keys))

    @property
    def no_looks(self) -> str | None:
        return "With --total one row is over all periods" if "total" in self.layout else super().no_looks

    def _group_rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows that are of its groups, each once: without the total, and of several classes the last one's."""
        rows = table.filter(~pl.col("total")) if self.layout.get("total") else table
        classes = "class" if self.layout.get("per_class") else TARGET if TARGET in self._model_keys(table) else None
        return rows if classes is None else rows.filter(pl.col(classes) == pl.col(classes).last())

    def _model_keys(self, table: pl.DataFrame) -> list[str]:
        """The columns of models and classes, which are no columns of the log."""
        names = self.names(table)
        return [key for key in keys_of_models(names.keys) if key not in (*self.by, names.period)]


@dataclass(frozen=True, kw_only=True)
class CapacityQuestion(ReportQuestion):
    """The question of `polars-ec capacity`: the k highest scores of each `period`, which is a column, or how long the periods of `time` are.

    Without `every` the periods of the rows, if there are some, are those of the capacity.
    """

    period: str | None = None
    time: str | None = None
    time_zone: str | None = None

    @property
    def others(self) -> Mapping[str, Sequence[str]]:
        return {"--period": [] if self.period is None or is_duration(self.period) else [self.period]}

    def from_rows(self, rows: RowInput) -> pl.LazyFrame | pl.DataFrame:
        period: pl.Expr | str | None = self.period
        if self.period is not None and self.time is not None and is_duration(self.period):
            dtype = as_lazy(rows.frame).collect_schema()[self.time]
            period = Periods(self.time, dtype, self.period, self.time_zone).start
        by = rows.by if self.every is None else rows.keys
        return capacity(rows.frame, rows.scores, rows.label, by=by, period=period, **self.layout, **rows.options)

    def from_sketch(self, sketched: SketchInput) -> pl.DataFrame:  # noqa: ARG002
        raise UsageError("a capacity needs rows: pass the log. Sketch.gains has the share of rows above each threshold")

    def verdict(self, table: pl.DataFrame) -> list[str]:  # noqa: ARG002
        """None: the sentences of a report are about its own thresholds."""
        return []

    def names(self, table: pl.DataFrame) -> Names:
        return Names(table.columns[: table.columns.index("n")])


def _first_metric(table: pl.DataFrame) -> str | None:
    return next((name for name, dtype in table.schema.items() if name in METRICS and dtype.is_numeric()), None)
