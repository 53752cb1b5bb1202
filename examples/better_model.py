"""Is model b better than model a, and in which segments? The log is synthetic, and both models score the same rows.

The example compares the models per segment, with the user as the cluster and p-values adjusted for the number of segments. It
shows how much too short the intervals are if you ignore the users, and how much wider they are if you ignore that both models
scored the same rows. In this log b is better in "app" and "web" and worse in "shop". In "phone" both are equally good.
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
    """Segment, user, label and two posteriors; the scores of a user share an error in each model."""
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

    print(f"NEC of b minus NEC of a; a miss costs {COST_FN} times a false alarm; the user is the cluster")
    print(f"{'segment':<9}{'a':>6}{'b':>7}{'difference':>12}{'95% CI':>18}{'p adjusted':>12}  verdict")
    for row, apart in zip(compared.rows(named=True), independent["p_adjusted"], strict=True):
        interval = f"[{row['difference_ci_low']:+.3f}, {row['difference_ci_high']:+.3f}]"
        better = "b is better" if row["difference"] < 0 else "a is better"
        verdict = better if row["p_adjusted"] < 0.05 else "not significant"
        told = "" if (row["p_adjusted"] < 0.05) == (apart < 0.05) else f" (with independent rows: {better})"
        print(
            f"{row['segment']:<9}{row['value_reference']:6.3f}{row['value']:7.3f}{row['difference']:+12.3f}{interval:>18}"
            f"{row['p_adjusted']:12.3f}  {verdict}{told}"
        )

    paired, rows = (
        (table["difference_ci_high"] - table["difference_ci_low"]).mean() for table in (compared, independent)
    )
    print(f"\nMean width of the intervals: {paired:.3f}. With independent rows: {rows:.3f}, which is too short.")
    print(f"For two models on different rows: {unpaired.mean():.3f}")


if __name__ == "__main__":
    main()
