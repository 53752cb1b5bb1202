"""What is asked of a log, whichever door answers: rows in files, a table of DuckDB, a folder of sketches; and of the sketch of each file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.cli.errors import UsageError
from polars_ec.cli.gates import Gates
from polars_ec.cli.labels import label_value
from polars_ec.cli.manifest import COSTS
from polars_ec.cli.periods import Periods
from polars_ec.costs import CostMatrix
from polars_ec.inputs import as_lazy
from polars_ec.sketches import Sketch
from polars_ec.sketching import sketch
from polars_ec.typing import FrameLike

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Request:
    """What is asked of rows, whichever engine answers."""

    scores: list[str]
    label: str
    by: list[str]
    time: str | None
    every: str | None
    options: dict[str, Any]
    time_zone: str | None = None
    cluster: str | None = None
    gates: Gates = field(default_factory=Gates)
    mix: Sequence[str] = ()

    def __post_init__(self) -> None:
        twice = next((name for i, name in enumerate(self.scores) if name in self.scores[:i]), None)
        if twice is not None:
            raise UsageError(f"--score {twice} is there twice: name each model once")

    def columns(self) -> dict[str, list[str]]:
        """The columns that the log must have, by option."""
        weight, time = self.options.get("weight"), self.time
        return {
            "--score": self.scores,
            "--label": [self.label],
            "--by": self.by,
            "--mix": list(self.mix),
            "--time": [] if time is None else [time],
            "--weight": [] if weight is None else [weight],
            "--cluster": [] if self.cluster is None else [self.cluster],
        }

    def periods(self, dtype: pl.DataType) -> Periods:
        """The periods of the column of times, which has this dtype."""
        assert self.time is not None
        assert self.every is not None
        return Periods(self.time, dtype, self.every, self.time_zone)

    def no_rows(self, names: Sequence[str]) -> pl.LazyFrame:
        """A log of these columns without a row, of types that say nothing against it."""
        label = pl.String if {"pos_label", "classes"} & set(self.options) else pl.Boolean
        dtypes: dict[str, Any] = dict.fromkeys(names, pl.String)
        dtypes |= dict.fromkeys(self.scores, pl.Float64) | {self.label: label}
        if self.options.get("weight") is not None:
            dtypes[self.options["weight"]] = pl.Float64
        if self.time is not None:
            dtypes[self.time] = pl.Datetime("us", "UTC" if self.time_zone is not None else None)
        return pl.LazyFrame(schema=dtypes)

    def for_label(self, dtype: pl.DataType) -> dict[str, Any]:
        """The options, with the label's values as a label of this dtype holds them."""
        options = dict(self.options)
        if "pos_label" in options:
            options["pos_label"] = label_value(options["pos_label"], dtype)
        if "classes" in options:
            options["classes"] = [label_value(value, dtype) for value in options["classes"]]
        return options


@dataclass(frozen=True)
class Rows:
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
        """All group columns."""
        return [*self.by, *([] if self.period is None else [self.period])]

    def none(self) -> Rows:
        """The same of a log of these columns without a row: what is refused of it is refused before any is read."""
        return replace(self, frame=as_lazy(self.frame).collect_schema().to_frame(eager=False))

    def key_dtypes(self) -> Mapping[str, pl.DataType]:
        """Of all group columns."""
        return as_lazy(self.frame).select(self.keys).collect_schema()


@dataclass(frozen=True)
class Table:
    """A table of DuckDB as a question takes it: `relation` is SQL, `options` are those of the request, with the label's own values."""

    connection: duckdb.DuckDBPyConnection
    relation: str
    request: Request
    periods: Periods | None
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Sketched:
    """The sketch of a folder, rolled up, as a question takes it; `made_with` are the options of its files.

    `periods` are its group columns of periods, one mostly, which are of `every`, if it is rolled up to some.
    """

    sketch: Sketch
    made_with: Mapping[str, Any]
    options: Mapping[str, Any]
    periods: Sequence[str] = ()
    every: str | None = None

    @property
    def period(self) -> str:
        """The one column of periods, where the question is of some."""
        if len(self.periods) > 1:
            raise UsageError(
                f"--by has the periods twice, as {' and '.join(self.periods)}: name them once, or not at all"
            )
        (period,) = self.periods
        return period


@dataclass(frozen=True)
class SketchOptions:
    """How every input is sketched. `grid` has resolution, thresholds, exact and buckets, as `polars_ec.sketch` takes them."""

    request: Request
    grid: Mapping[str, Any] = field(default_factory=dict)

    def recorded(self) -> dict[str, Any]:
        """What sketches must have in common to be added up; ValueError or TypeError for options that make no sense.

        The grid is the one that comes of the options, so that the same thresholds stated in another way are the same.
        """
        request = self.request
        columns = dict.fromkeys(name for names in request.columns().values() for name in names)
        made = self.sketch(request.no_rows([*columns]))
        return {
            "--score": request.scores[0] if len(request.scores) == 1 else request.scores,
            "--label": request.label,
            "--by": request.by,
            "--time": request.time,
            "--every": request.every,
            "--time-zone": request.time_zone,
            "--weight": request.options.get("weight"),
            "--pos-label": request.options.get("pos_label"),
            "--classes": request.options.get("classes"),
            "--score-type": made.grid.score_type,
            "--resolution": "exact" if made.grid.resolution is None else made.grid.resolution,
            "thresholds (--threshold, --cost-fn, --cost-fp, --prior)": [repr(t) for t in made.grid.thresholds],
            "--cluster": made.cluster,
            "--buckets": made.buckets,
            COSTS: None if made.costs == CostMatrix.binary() else [*map(list, made.costs.values)],
        }

    def sketch(self, frame: pl.LazyFrame) -> Sketch:
        """The sketch of a log whose columns have been checked."""
        request = self.request
        schema = frame.collect_schema()
        # One file may have categories where the next has text, or nanoseconds where it has microseconds.
        categories = (pl.Categorical, pl.Enum)
        keys = [pl.col(c).cast(pl.String) if isinstance(schema[c], categories) else pl.col(c) for c in request.by]
        periods = None
        if request.time is not None:
            periods = request.periods(schema[request.time])
            start = periods.start
            keys.append(start.dt.cast_time_unit("us") if isinstance(periods.dtype, pl.Datetime) else start)
        options = request.for_label(schema[request.label])
        made = sketch(frame, request.scores, request.label, by=keys, cluster=request.cluster, **self.grid, **options)
        return made if periods is None else made.on_tables(periods.placed)
