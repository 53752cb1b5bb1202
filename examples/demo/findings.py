"""The results of the demo: its reports, the gain of calibration, confidence intervals and the parts of a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import polars_ec as ec

LATE_MINUTES = 15
TRAINING_MONTHS = 3
COST_FN, COST_FP = 5.0, 1.0
FOLDS = 5
TOLERANCE = 1e-12
# More than there are days, of which most are then alone in their bucket.
LEVEL, BUCKETS, MIN_BUCKETS = 0.95, 1000, 5
BEFORE, AFTER = 4, 9


@dataclass(frozen=True)
class Demo:
    """The reports, the gain of calibration, and the largest difference between the engines."""

    log: Path
    prior: float
    by_month: pl.DataFrame
    by_carrier: pl.DataFrame
    by_both: pl.DataFrame
    calibration: pl.DataFrame
    noise: Noise
    change: Change
    largest_difference: float
    seen: list[Path]
    """The page, and the picture."""


@dataclass(frozen=True)
class Noise:
    """Differences from the rest and intervals of the whole log, with days as clusters and as if flights were independent."""

    carriers: pl.DataFrame
    carriers_independent: pl.DataFrame
    months: pl.DataFrame
    months_independent: pl.DataFrame
    whole: pl.DataFrame
    whole_independent: pl.DataFrame
    kinked: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Names of carriers and months in which both constant decisions cost nearly the same: intervals of NEC are unreliable."""


@dataclass(frozen=True)
class Change:
    """The parts of the change from April to September, with days as clusters and as if flights were independent."""

    days: pl.DataFrame
    independent: pl.DataFrame


def calibration_of(frame: pl.LazyFrame, by_carrier: pl.DataFrame) -> pl.DataFrame:
    """What calibration would gain in each carrier."""
    # Flights of one day share its weather, so they are in one fold.
    losses = ec.calibration_loss(frame, "score", "late", by="carrier", folds=FOLDS, fold_by="date")
    joined = by_carrier.select("carrier", "n", "nce").join(losses.drop("n"), on="carrier", maintain_order="left")
    nce_calibrated = pl.col("nce") * pl.col("calibrated") / pl.col("raw")
    return joined.select("carrier", "n", "nce", "rcl", nce_calibrated=nce_calibrated)


def noise_of(frame: pl.LazyFrame, month: pl.Expr) -> Noise:
    """Compare carriers and months with the rest, and say how sure the whole log is."""
    of_days: dict[str, Any] = {"cluster": "date", "buckets": BUCKETS}
    independent: dict[str, Any] = {}
    costs: dict[str, Any] = {"cost_fn": COST_FN, "cost_fp": COST_FP}
    plans = [
        ec.compare(
            frame, "score", "late", by=by, metrics=["nec"], reference="rest", interval=LEVEL, **clusters, **costs
        )
        for by in ("carrier", month)
        for clusters in (of_days, independent)
    ]
    metrics = ["recall", "nec", "precision"]
    plans += [
        ec.report(frame, "score", "late", metrics=metrics, interval=LEVEL, **clusters, **costs)
        for clusters in (of_days, independent)
    ]
    plans += [
        ec.report(frame, "score", "late", by=by, metrics=["nec"], interval=LEVEL, **of_days, **costs)
        for by in ("carrier", month)
    ]
    *found, carriers, months = pl.collect_all(plans, engine="streaming")
    kinked = [
        table.filter("nec_kinked").select(name_of(key)).to_series()
        for table, key in ((carriers, "carrier"), (months, "time"))
    ]
    return Noise(*found, kinked=frozenset(name for names in kinked for name in names))


def change_of(frame: pl.LazyFrame, month: pl.Expr) -> Change:
    """Explain the change from April to September, with carriers as strata."""
    two = frame.filter(pl.col("time").dt.month().is_in([BEFORE, AFTER]))
    # Not NEC, of which the cheapest constant decision is one in April and the other in September.
    asked: dict[str, Any] = {
        "period": month,
        "mix": "carrier",
        "metrics": ["nce", "precision"],
        "interval": LEVEL,
        "cost_fn": COST_FN,
        "cost_fp": COST_FP,
    }
    days = two.select(pl.col("date").unique()).collect()
    of_days = ec.drift(two, "score", "late", cluster="date", buckets=_buckets_of_one(days), **asked)
    return Change(*pl.collect_all([of_days, ec.drift(two, "score", "late", **asked)], engine="streaming"))


def _buckets_of_one(days: pl.DataFrame) -> int:
    """The most buckets in which no two of the days share one; few days are not to be made fewer."""
    numbers = range(BUCKETS, MIN_BUCKETS - 1, -1)
    return next((b for b in numbers if days.select(ec.bucket("date", b).is_unique().all()).item()), BUCKETS)


def name_of(key: str) -> pl.Expr:
    """The name of a group in the story."""
    return (pl.col(key).dt.strftime("%B") if key == "time" else pl.col(key)).alias("name")
