"""Combine a year of daily sketches to months and to the year: each day of the log is read once.

The example keeps a small file per day instead of the log, adds the days up, and reads a ranking metric with its error bound.
The Bayes error curve per month, actual against minimum DCF, shows the loss by miscalibration. From July on the log-likelihood
ratios are twice too large: the actual cost rises, the minimum cost does not.
"""

import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import polars_ec as ec

PRIOR_LOG_ODDS = [-3.0, -1.0, 1.0, 3.0]
ROWS_A_DAY = 500


def log_of(day: date) -> pl.DataFrame:
    """What a detector gave on one day: LLRs, and what was true."""
    generator = np.random.default_rng(day.toordinal())
    positive = generator.random(ROWS_A_DAY) < 0.3
    # Unit variance and means 2 apart make the log-likelihood ratio 2 x.
    llr = 2 * generator.normal(np.where(positive, 1.0, -1.0))
    return pl.DataFrame({"day": [day] * ROWS_A_DAY, "llr": llr * (2 if day.month >= 7 else 1), "positive": positive})


def main() -> None:
    # The thresholds that the plot will ask for are declared, so that its actual costs are exact.
    thresholds = [-x for x in PRIOR_LOG_ODDS]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(365):
            day = date(2025, 1, 1) + timedelta(i)
            sketch = log_of(day).ec.sketch(
                "llr", "positive", by="day", score_type="llr", resolution=16, thresholds=thresholds
            )
            sketch.write_parquet(Path(folder) / f"{day}.parquet")
        days = ec.merge([ec.Sketch.read_parquet(path) for path in sorted(Path(folder).iterdir())])

    months = days.group_by(pl.col("day").dt.truncate("1mo").alias("month"))
    year = months.group_by()
    print(f"cells: {days.frame.height:,} of days, {months.frame.height:,} of months, {year.frame.height:,} of the year")
    found = year.evaluate("auc_roc", "cllr", "min_cllr").row(0, named=True)
    print(f"year: {found['n']:,} rows, AUC {found['auc_roc']:.3f} +- {found['auc_roc_error']:.3f}")

    curve = months.bayes_error(PRIOR_LOG_ODDS)
    print("month      " + "".join(f"  prior log-odds {x:+.0f}" for x in PRIOR_LOG_ODDS) + "   (actual / minimum DCF)")
    for (month,), points in curve.group_by("month", maintain_order=True):
        cells = [f"{row['dcf']:10.3f} / {row['min_dcf']:.3f}" for row in points.to_dicts()]
        print(f"{month}", *cells)
    halves = curve.group_by(half=pl.when(pl.col("month").dt.month() < 7).then(1).otherwise(2)).agg(
        pl.col("dcf", "min_dcf").mean().round(1)
    )
    for half, actual, minimum in halves.sort("half").rows():
        print(f"half {half}: actual DCF {actual}, minimum DCF {minimum} on average")


if __name__ == "__main__":
    main()
