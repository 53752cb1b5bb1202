"""When to say "I don't know": tables of two papers by Ferrer on costs with an abstain decision, and on ten classes.

One learns that an abstain decision is one more column of the cost matrix, that Bayes decisions need calibrated
posteriors, and that the largest posterior is the wrong decision wherever errors do not all cost the same. The data are
the papers' own simulation (NumPy's legacy generator, seed 0; what the papers call a standard deviation is a variance).
"""

import numpy as np
import polars as pl

import polars_ec as ec

TABLE_3 = {  # cost of abstaining: printed EC, NEC and percentage abstained
    "mc1": {0.01: (0.006, 0.638, 61.5), 0.1: (0.030, 0.299, 12.3), 0.2: (0.052, 0.521, 6.7), 0.4: (0.076, 0.756, 2.0)},
    "cal": {0.01: (0.005, 0.534, 41.1), 0.1: (0.025, 0.249, 14.1), 0.2: (0.035, 0.355, 8.2), 0.4: (0.046, 0.456, 2.3)},
}
for _system, _printed in (("mc1", (0.079, 0.786, 0.0)), ("cal", (0.047, 0.467, 0.0))):
    TABLE_3[_system] |= {0.6: _printed, 1.0: _printed}

TABLE_1 = {  # printed EC, NEC and percentage abstained, of the naive system, of argmax and of Bayes decisions
    "0-1": [(0.20, 1.00, 0), (0.06, 0.32, 0), (0.06, 0.32, 0)],
    "1/(K P_i)": [(0.90, 1.00, 0), (0.28, 0.31, 0), (0.23, 0.26, 0)],
    "last row x 100": [(0.98, 1.00, 0), (0.36, 0.37, 0), (0.08, 0.08, 0)],
    "abstain 0.05": [(0.05, 1.00, 100), (0.06, 1.29, 0), (0.02, 0.35, 25)],
    "abstain 0.30": [(0.20, 1.00, 0), (0.06, 0.32, 0), (0.06, 0.28, 7)],
}


def simulate(counts: list[int], variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and log-likelihoods up to a constant, of Gaussian classes with means 0, 1, 2, ..."""
    generator = np.random.RandomState(0)
    draws = [i + np.sqrt(variance) * generator.standard_normal(n) for i, n in enumerate(counts)]
    distances = np.concatenate(draws)[:, None] - np.arange(len(counts))
    constant = np.log(2 * np.pi * variance) / 2
    return np.repeat(np.arange(len(counts)), counts), -(distances**2) / (2 * variance) - constant


def posteriors(joint: np.ndarray) -> pl.Series:
    q = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    return pl.Series(q, dtype=pl.Array(pl.Float64, q.shape[1]))


def costs_and_abstentions(log: pl.DataFrame, systems: list[str], costs: ec.CostMatrix) -> list[tuple[float, ...]]:
    """EC, NEC and the percentage of rows decided as no class, of columns of decisions."""
    decided, options = pl.col(systems), {"costs": costs, "score_type": "decision"}
    row = log.select(
        decided.ec.expected_cost("label", **options),
        decided.ec.nec("label", **options),
        ((decided == costs.n_classes).mean() * 100).name.suffix("_abstained"),
    ).row(0)
    return [row[i :: len(systems)] for i in range(len(systems))]


def show(name: str, computed: tuple[float, ...], printed: tuple[float, ...]) -> None:
    cells = [f"{c:8.3f} ({p:g})" for c, p in zip(computed, printed, strict=True)]
    print(f"  {name:<24}" + "".join(f"{cell:>19}" for cell in cells))


def main() -> None:
    print(
        'Ferrer, "Analysis and comparison of classification metrics", Table 3: EC, NEC, abstained %; computed (printed)'
    )
    label, likelihoods = simulate([90_000, 9_999], 0.15)
    systems = {"mc1": 0.5 * likelihoods + np.array([0.5, 0.0]), "cal": likelihoods}
    for system, scores in systems.items():
        log = pl.DataFrame({"label": label, "q": posteriors(scores + np.log([0.9, 0.1]))})
        for alpha, printed in TABLE_3[system].items():
            costs = ec.CostMatrix.zero_one(2, abstain=alpha)
            decisions = log.with_columns(ec.bayes_decision("q", costs=costs).alias("Bayes"))
            show(f"{system}, abstain {alpha}", *costs_and_abstentions(decisions, ["Bayes"], costs), printed)

    print('\nFerrer, "No need for ad-hoc substitutes: the expected cost...", Table 1: the same')
    priors = np.array([0.8, *[0.2 / 9] * 9])
    label, likelihoods = simulate([8_000, *[222] * 9], 0.2)
    log = pl.DataFrame({"label": label, "q": posteriors(likelihoods + np.log(priors))})
    log = log.with_columns(ec.bayes_decision("q").alias("argmax"))
    matrices = {"0-1": ec.CostMatrix.zero_one(10), "1/(K P_i)": ec.CostMatrix.balanced(priors.tolist())}
    matrices["last row x 100"] = ec.CostMatrix(np.where(np.eye(10), 0, [[1]] * 9 + [[100]]))
    matrices |= {f"abstain {alpha:.2f}": ec.CostMatrix.zero_one(10, abstain=alpha) for alpha in (0.05, 0.30)}
    for name, costs in matrices.items():
        naive = pl.lit(costs.naive(priors.tolist())[1])
        decisions = log.with_columns(naive=naive, Bayes=ec.bayes_decision("q", costs=costs))
        rows = costs_and_abstentions(decisions, ["naive", "argmax", "Bayes"], costs)
        for system, computed, printed in zip(("naive", "argmax", "Bayes"), rows, TABLE_1[name], strict=True):
            show(f"{name}, {system}", computed, printed)


if __name__ == "__main__":
    main()
