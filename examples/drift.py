"""Which part of a change comes from the base rate, the scores or the mix of segments? A synthetic log of five months.

In month 1 the posteriors are calibrated. Each later month changes one thing. Month 2 has twice as many positives with the same
scores: prior. Month 3 has noisier scores: likelihood. In month 4 a new segment grows, which the model does not know: mix.
Month 5 has more hard cases, with posteriors that stay calibrated. There both prior and likelihood change, because drift
describes a change and does not know its cause.
"""

import numpy as np
import polars as pl

import polars_ec as ec

# The base rate of each segment, and the skill of the model there.
SEGMENTS = {"app": (0.10, 1.2), "web": (0.20, 0.9), "new": (0.30, 0.0)}
USERS, CASES = 400, 30
PARTS = ("prior", "likelihood", "mix")
HAPPENED = {2: "twice the positives", 3: "noisier scores", 4: "a new segment", 5: "harder cases"}


def make_month(month: int, generator: np.random.Generator) -> pl.DataFrame:
    """Segment, user, label and posterior of each case; the scores of a user share an error, in every month."""
    rows = USERS * CASES * (3 if month == 5 else 1)
    user = generator.integers(0, USERS, rows)
    number = generator.choice(3, rows, p=[0.4, 0.3, 0.3] if month == 4 else [0.5, 0.5, 0])
    prior, skill = np.array(list(SEGMENTS.values()))[number].T
    label = generator.random(rows) < prior * (2 if month == 2 else 1)
    # Unit variance and means 2 skill apart make the log-likelihood ratio 2 skill x.
    of_user = 0.3 * np.random.default_rng(1).normal(size=USERS)[user]
    x = np.where(label, skill, -skill) + of_user + np.sqrt(1 - 0.3**2) * generator.normal(size=rows)
    noisy = x + generator.normal(size=rows) if month == 3 else x
    log_odds = 2 * skill * noisy + np.log(prior / (1 - prior))
    posterior = 1 / (1 + np.exp(-log_odds))
    frame = pl.DataFrame(
        {"user": user, "segment": np.array([*SEGMENTS])[number], "label": label, "posterior": posterior}
    )
    if month == 5:
        # Whether a case is kept hangs on what the model sees, not on the label: the posteriors stay right.
        frame = frame.filter(pl.Series(generator.random(rows) < np.exp(-((log_odds + 0.5) ** 2) / 2)))
    return frame.with_columns(month=pl.lit(month))


def main() -> None:
    generator = np.random.default_rng(15)
    log = pl.concat([make_month(month, generator) for month in range(1, 6)]).lazy()
    asked = {"period": "month", "reference": 1, "mix": "segment", "metrics": ["nce", "precision"], "threshold": 0.25}
    drift = ec.drift(log, "posterior", "label", cluster="user", **asked).collect()

    print("Change from month 1 and its parts, 95% CI, users as clusters; * significant")
    print(f"{'month':<6}{'metric':<10}{'change':>7}" + "".join(f"  {part:<24}" for part in PARTS) + "  what happened")
    for row in drift.rows(named=True):
        parts = ""
        for part in PARTS:
            low, high = row[f"{part}_ci_low"], row[f"{part}_ci_high"]
            mark = "*" if low > 0 or high < 0 else " "
            parts += f"  {row[part]:+.3f} [{low:+.3f}, {high:+.3f}]{mark}"
        print(f"{row['month']:<6}{row['metric']:<10}{row['difference']:+7.3f}{parts}  {HAPPENED[row['month']]}")

    error = (drift["difference"] - sum(drift[part] for part in PARTS)).abs().max()
    print(f"\nThe parts add up to the change: {error < 1e-12}")
    print("Mean posterior and base rate, which are close if the model is calibrated:")
    for month, posterior, label in (
        log.group_by("month").agg(pl.mean("posterior", "label")).sort("month").collect().rows()
    ):
        print(f"month {month}: {posterior:.3f} {label:.3f}  {HAPPENED.get(month, 'reference')}")


if __name__ == "__main__":
    main()
