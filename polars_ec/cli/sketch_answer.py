"""Answers from a folder of sketches: their sum, with the groups rolled up."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_ec.cells.sums import overall_prior
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.manifest import Manifest, model_keys
from polars_ec.cli.options import counted_prior, refusals_as_usage_errors
from polars_ec.cli.periods import (
    PERIOD_NAMES,
    Periods,
    check_zone_of_periods,
    checked_zone,
    first_instant,
    is_calendar,
)
from polars_ec.cli.questions import Answer, Question
from polars_ec.cli.request import Sketched
from polars_ec.cli.sketch_folder import SketchFolder, pos_label_note
from polars_ec.cli.sketch_sum import total
from polars_ec.exceptions import SketchError
from polars_ec.sketches import Sketch

_OF_ROWS = {
    "per_class": "sketches are of one class against the other",
    "missing": "sketches count the rows with a null together",
    "score_prior": "sketches hold the losses of the posteriors as they are",
}
_OF_CLUSTERS = ("--cluster", "--buckets")


@dataclass(frozen=True)
class RollUp:
    """The groups that are asked for: columns and, perhaps, a coarser period."""

    by: Sequence[str]
    time: str | None
    every: str | None
    time_zone: str | None = None
    mix: Sequence[str] = ()

    @property
    def keys(self) -> list[str]:
        """All columns that are not those of periods, strata with the groups."""
        return [*self.by, *self.mix]


def answer_from_sketches(
    folder: Path, stated: Mapping[str, Any], roll_up: RollUp, options: Mapping[str, Any], question: Question
) -> Answer:
    """The answer from a folder.

    Parameters
    ----------
    folder
        Where `polars-ec sketch` worked.
    stated
        Options of the command that say what the sketches were made of, by name; they must be right.
    roll_up
        The groups; none: those of the sketches.
    options
        `costs`, `cost_fn`, `cost_fp`, `threshold` (default: what the sketches were made for), `prior` ("overall" is the share
        in all sketches).
    question
        What is asked of their sum.
    """
    for name, why in _OF_ROWS.items():
        if name in question.layout:
            raise UsageError(f"--{name.replace('_', '-')} on {folder}: {why}: report on the rows")
    sketches = SketchFolder(folder)
    manifest = sketches.manifest()
    made_with = manifest.options
    for option, value in stated.items():
        if option in _OF_CLUSTERS and made_with.get("--cluster") is None:
            raise UsageError(
                f"{option} {value}: {folder} was sketched without clusters: sketch the log again with {option}, or report on it"
            )
        if value != made_with[option]:
            made, asked = (", ".join(v) if isinstance(v, list) else v for v in (made_with[option], value))
            raise UsageError(f"{folder} was sketched with {option} {made}, and this asks for {asked}: leave it out")
    if question.page is not None:
        question.page.check_models(several=bool(model_keys(made_with)))
    options = dict(options)
    with refusals_as_usage_errors():
        try:
            rolled_up = total(manifest, sketches.read, lambda sketch: _rolled_up(folder, sketch, made_with, roll_up))
        except SketchError as error:
            raise DataError(f"{folder}: {error}") from error
        rolled_up = _placed(rolled_up, manifest, roll_up)
        if options.get("prior") == "overall":
            options["prior"] = counted_prior(overall_prior(rolled_up))
        periods = () if roll_up.every is None else _periods_in(rolled_up, manifest)
        sketched = Sketched(rolled_up, made_with, options, periods, roll_up.every)
        table = question.of_sketch(sketched)
        page = None if question.page is None else question.page.of_sketch(sketched)
    return Answer(table, _warnings(sketches, manifest) if table["n"].sum() else [], page)


def _warnings(sketches: SketchFolder, manifest: Manifest) -> list[str]:
    positive = manifest.options["--pos-label"]
    if positive is None or manifest.has_positives:
        return []
    meant = sketches.undone().get(pos_label_note(positive))
    if meant is not None:
        raise DataError(meant)
    return [f"{sketches.path}: no row that was sketched has the label {positive!r} (--pos-label)"]


def _rolled_up(folder: Path, sketch: Sketch, made_with: Mapping[str, Any], roll_up: RollUp) -> Sketch:
    time = made_with["--time"]
    by, models = roll_up.keys, model_keys(made_with)
    segments = [key for key in sketch.keys if key not in models]
    if roll_up.time is not None and roll_up.time != time:
        raise UsageError(
            f"{folder} was sketched with --time {time or 'left out'}, and this asks for --time {roll_up.time}"
        )
    if roll_up.every is not None and time is None:
        raise UsageError(f"--every {roll_up.every}: {folder} was sketched without --time, so it has no periods")
    # `--by month --every 1mo` calls the periods so.
    period_name = next((n for n in by if n == PERIOD_NAMES.get(roll_up.every or "") and n not in segments), time)
    for name in by:
        if name not in segments and name != period_name:
            near = difflib.get_close_matches(name, segments, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            alone = "" if time is None else f"; periods of {time} come of --every alone"
            groups = ", ".join(segments) or "none"
            option = "--mix" if name in roll_up.mix else "--by"
            raise UsageError(f"{folder} has no group column {name!r} ({option}): {hint}It has {groups}{alone}")
    check_zone_of_periods(roll_up.time_zone, roll_up.every)
    if roll_up.every is None:
        return sketch if by == segments else sketch.group_by(*by, *models)
    periods = _periods(time, sketch.frame.schema[time], roll_up)
    _check_nested(sketch.frame[time], made_with["--every"], periods)
    if time not in by and period_name not in by:
        by.append(time)
    return sketch.group_by(*(periods.start.alias(n) if n in (time, period_name) else pl.col(n) for n in by), *models)


def _periods(time: str, dtype: pl.DataType, roll_up: RollUp) -> Periods:
    """On the calendar that is asked for, else on that of the sketches' own periods."""
    assert roll_up.every is not None
    own = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    return Periods(time, dtype, roll_up.every, checked_zone(own if roll_up.time_zone is None else roll_up.time_zone))


def _placed(sketch: Sketch, manifest: Manifest, roll_up: RollUp) -> Sketch:
    """The sum of what `_rolled_up` made, with instants as its periods."""
    time = manifest.options["--time"]
    if roll_up.every is None or time not in manifest.dtypes:
        return sketch
    for name in _periods_in(sketch, manifest):
        periods = _periods(name, manifest.dtypes[time], roll_up)
        sketch = sketch.on_tables(periods.placed)
    return sketch


def _periods_in(sketch: Sketch, manifest: Manifest) -> list[str]:
    """The group columns of periods of what `_rolled_up` made."""
    others = (*manifest.options["--by"], *model_keys(manifest.options))
    return [name for name in sketch.keys if name == manifest.options["--time"] or name not in others]


def _check_nested(starts: pl.Series, fine: str, periods: Periods) -> None:
    """Refuse a roll-up of periods that do not lie inside the coarser ones, as a week that two months share.

    It asks the data's own periods, each of which must begin and end in the same coarse one: so it knows leap years and
    time zones as Polars does.
    """
    time, dtype = starts.name, starts.dtype
    start = pl.col(time)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None and is_calendar(fine):
        # By the clock: the day after one that began at 1 o'clock begins at midnight.
        end = first_instant(start.dt.replace_time_zone(None).dt.truncate(fine).dt.offset_by(fine), dtype.time_zone)
    else:
        end = start.dt.offset_by(fine)
    tick = pl.duration(days=1) if dtype == pl.Date else pl.duration(microseconds=1)
    found = starts.unique().sort().to_frame()
    first, last = (found.select(at.alias(time)).select(periods.start).to_series() for at in (start, end - tick))
    torn = found.filter(first.ne_missing(last))
    if torn.height:
        raise UsageError(
            f"--every {periods.every}: the sketches are of periods of {fine}, and the one from {torn.item(0, 0)} lies in two "
            f"of {periods.every}: sketch with a finer --every"
        )
