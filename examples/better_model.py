"""Is model b better than model a, and in which segments? A synthetic log of cases of users, both models on the same rows.

One learns to compare models row by row, segment by segment, with rows of one user as one cluster and p-values adjusted for the
number of segments; what one would believe who took the rows as independent; and how much wider an interval is that does not
know that the models were wrong about the same rows. Truth, in this log: b is better in "app" and "web", worse in "shop",
and in "phone" the models are equally good.
"""

import numpy as np
import polars as pl

import polars_ec as ec

COST_FN = 5
PRIOR = 0.2
# How well a model sees the class, and b against a: log-odds are normal around 2 and -2, times this.
SKILL = 0.8
BETTER = {"app": 1.3, "phone": 1.0, "shop": 0.75, "web": 1.25}


def make_log(users: int = 150, cases: int = 60) -> pl.LazyFrame:
    """Segment, user, label and two posteriors; each user has something that one of the models takes amiss, in all of his cases."""
    generator = np.random.default_rng(14)
    frames = []
    for s, (segment, better) in enumerate(BETTER.items()):
        user = np.repeat(np.arange(users), cases)
        label = generator.random(user.size) < PRIOR
        common = generator.normal(size=user.size)
        scores = {}
        for name, skill in (("a", SKILL), ("b", SKILL * better)):
            of_user = 0.8 * generator.normal(size=users)[user]
            noise = np.sqrt(0.8) * common + np.sqrt(0.2) * generator.normal(size=user.size) + of_user
            # Posteriors as the model believes them: it knows of its noise, and not of its users.
            log_odds = 2 * skill * (np.where(label, skill, -skill) + noise) + np.log(PRIOR / (1 - PRIOR))
            scores[name] = 1 / (1 + np.exp(-log_odds))
        frames.append(
            pl.DataFrame({"user": s * users + user, "late": label, **scores}).with_columns(segment=pl.lit(segment))
        )
    return pl.concat(frames).lazy()


def main() -> None:
    log = make_log()
    asked = {"by": "segment", "metrics": ["nec"], "cost_fn": COST_FN}
    compared = ec.compare(log, ["a", "b"], "late", cluster="user", **asked).collect()
    independent = ec.compare(log, ["a", "b"], "late", **asked).collect()
    # Each model by itself: their intervals say nothing of how they go together.
    alone = ec.report(log, ["a", "b"], "late", interval=0.95, cluster="user", **asked).collect()
    width = pl.col("nec_ci_high") - pl.col("nec_ci_low")
    unpaired = alone.group_by("segment").agg((width**2).sum().sqrt().alias("width")).sort("segment")["width"]

    print(f"NEC of b minus NEC of a; a miss costs {COST_FN} false alarms; rows of a user are one cluster")
    print(f"{'segment':<9}{'a':>6}{'b':>7}{'difference':>12}{'95% limits':>18}{'p adjusted':>12}  verdict")
    for row, apart in zip(compared.rows(named=True), independent["p_adjusted"], strict=True):
        limits = f"[{row['difference_ci_low']:+.3f}, {row['difference_ci_high']:+.3f}]"
        better = "b is better" if row["difference"] < 0 else "a is better"
        verdict = better if row["p_adjusted"] < 0.05 else "no one can say"
        told = "" if (row["p_adjusted"] < 0.05) == (apart < 0.05) else f" (rows as independent: {better})"
        print(
            f"{row['segment']:<9}{row['value_reference']:6.3f}{row['value']:7.3f}{row['difference']:+12.3f}{limits:>18}"
            f"{row['p_adjusted']:12.3f}  {verdict}{told}"
        )

    paired, rows = (
        (table["difference_ci_high"] - table["difference_ci_low"]).mean() for table in (compared, independent)
    )
    print(f"\nMean width of the limits: {paired:.3f}; rows as independent {rows:.3f}, which is too short;")
    print(f"two models that never saw the same rows {unpaired.mean():.3f}")


if __name__ == "__main__":
    main()
