"""Did the model drift, or only the base rate? A synthetic log by segment and month, read lazily.

The example reports per segment and period in one streaming pass, and explains changes with a common prior. The scores are equally
good in every month, while the base rate triples over the year. Precision rises with it. Precision at the common prior stays
constant, up to sampling noise. Only segment "west" drifts, from July on: its precision falls at any prior.
"""

from datetime import date

import numpy as np
import polars as pl

import polars_ec as ec

COST_FN, COST_FP = 5, 1
COMMON_PRIOR = 0.2


def make_log(rows_per_cell: int = 4_000) -> pl.LazyFrame:
    """Time, segment, label and posterior; posteriors know the month's prior, as a model retrained monthly would."""
    generator = np.random.default_rng(7)
    frames = []
    for segment in ("east", "west"):
        for month in range(1, 13):
            prior = 0.1 + 0.2 * (month - 1) / 11
            label = generator.random(rows_per_cell) < prior
            # Unit variance and means 2 apart make the log-likelihood ratio 2 x; the drift is noise that no one told it of.
            feature = generator.normal(np.where(label, 1.0, -1.0))
            if segment == "west" and month >= 7:
                feature = feature + generator.normal(scale=1.0, size=rows_per_cell)
            log_odds = 2 * feature + np.log(prior / (1 - prior))
            days = generator.integers(1, 29, rows_per_cell)
            frames.append(
                pl.DataFrame(
                    {
                        "day": [date(2025, month, int(d)) for d in days],
                        "segment": [segment] * rows_per_cell,
                        "label": label,
                        "posterior": 1 / (1 + np.exp(-log_odds)),
                        "model_prior": [prior] * rows_per_cell,
                    }
                )
            )
    return pl.concat(frames).lazy()


def main() -> None:
    log = make_log()
    threshold = COST_FP / (COST_FP + COST_FN)
    months = (
        log.group_by("segment", pl.col("day").dt.truncate("1mo").alias("month"))
        .agg(
            ec.class_prior("posterior", "label").alias("prior"),
            ec.nec("posterior", "label", cost_fn=COST_FN, cost_fp=COST_FP).alias("nec"),
            ec.nce("posterior", "label").alias("nce"),
            ec.precision("posterior", "label", threshold=threshold).alias("precision"),
            # `prior` weighs the classes and leaves decisions alone. The posteriors hold the month's prior, which moves the
            # decisions too: shifted to the common one, they answer the same question in every month.
            ec.shift_prior("posterior", pl.col("model_prior"), COMMON_PRIOR)
            .ec.precision("label", threshold=threshold, prior=COMMON_PRIOR)
            .alias("precision_at_prior"),
        )
        .sort("segment", "month")
        .collect(engine="streaming")
    )
    print(f"A miss costs {COST_FN} false alarms; common prior {COMMON_PRIOR}")
    print(f"{'segment':<8}{'month':<9}{'prior':>7}{'NEC':>8}{'NCE':>8}{'precision':>11}{'at common prior':>17}")
    for segment, month, *values in months.rows():
        prior, nec, nce, precision, calibrated = values
        line = f"{segment:<8}{month:%Y-%m}  {prior:7.3f}{nec:8.3f}{nce:8.3f}{precision:11.3f}{calibrated:17.3f}"
        print(line)

    print()
    for segment, rows in months.group_by("segment", maintain_order=True):
        first, last = rows.row(0, named=True), rows.row(-1, named=True)
        raw = last["precision"] - first["precision"]
        calibrated = last["precision_at_prior"] - first["precision_at_prior"]
        verdict = "the model drifted" if abs(calibrated) > 0.05 else "only the base rate changed"
        print(f"{segment[0]}: precision {raw:+.2f} over the year, {calibrated:+.2f} at the common prior: {verdict}")


if __name__ == "__main__":
    main()
