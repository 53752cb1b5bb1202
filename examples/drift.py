"""Where does a change come from: the share of positives, the scores, or the mix of segments? A synthetic log of five months.

In month 1 the posteriors are as good as they can be. In each later month one thing is otherwise, and one learns how drift shows it:
2, positives are twice as frequent, and look as before: prior; 3, the scores get noisier: likelihood; 4, a new segment grows, of which
the model knows nothing: mix. In month 5 more of the cases are hard ones, which the model judges as rightly as ever: both
prior and likelihood move, for drift is an account of the change and cannot know its cause.
"""

import numpy as np
import polars as pl

import polars_ec as ec

# Of each segment: its share of positives, and how well the model sees the class.
SEGMENTS = {"app": (0.10, 1.2), "web": (0.20, 0.9), "new": (0.30, 0.0)}
USERS, CASES = 400, 30
PARTS = ("prior", "likelihood", "mix")
HAPPENED = {2: "twice the positives", 3: "noisier scores", 4: "a new segment", 5: "harder cases"}


def make_month(month: int, generator: np.random.Generator) -> pl.DataFrame:
    """Segment, user, label and posterior of each case; a user has something that the model takes amiss, in every month."""
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

    print("Change from month 1 and its parts, 95% limits, users as clusters; * more than noise")
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
    print("Mean posterior and share of positives, which are near each other where the model is right:")
    for month, posterior, label in (
        log.group_by("month").agg(pl.mean("posterior", "label")).sort("month").collect().rows()
    ):
        print(f"month {month}: {posterior:.3f} {label:.3f}  {HAPPENED.get(month, 'reference')}")


if __name__ == "__main__":
    main()
