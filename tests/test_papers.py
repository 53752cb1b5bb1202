"""The worked numbers of the papers that the metrics come from, computed from prediction logs through every door.

A paper's H1, H2, ... are the classes 0, 1, ... here, so that its c12 is the cost of a false alarm and its c21 that of a
miss. Printed numbers are rounded, and must be met to the digits printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.doors import DOORS, evaluate

EVEN = {"cost_fn": 1, "cost_fp": 1}
MISS_TWICE = {"cost_fn": 2, "cost_fp": 1}


# That doors agree is what the tests of properties prove.
@pytest.fixture(params=mostly_slow(DOORS, ["function"]))
def metric(request):
    """A metric through each door: metric(name, frame, **keywords)."""

    def call(name: str, frame: pl.DataFrame, score: str = "score", **keywords: Any) -> Any:
        return evaluate(request.param, name, frame, score, **keywords)

    return call


def printed(value: float, digits: int) -> Any:
    """What rounds to `value`; half a unit more for the halves that papers round either way."""
    return pytest.approx(value, rel=0, abs=0.5 * 10**-digits + 1e-9)


def exactly(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def counted(table: Sequence[Sequence[float]]) -> pl.DataFrame:
    """A log of decisions whose counts are this table (rows true classes), one weighted row per cell."""
    cells = [(i, j, n) for i, row in enumerate(table) for j, n in enumerate(row)]
    schema = {"label": pl.Int16, "score": pl.Int16, "n": pl.Float64}
    return pl.DataFrame(cells, schema=schema, orient="row")


def repeated(table: Sequence[Sequence[int]]) -> pl.DataFrame:
    """The same log with one row per decision."""
    cells = counted(table)
    return cells.select(pl.exclude("n").repeat_by(pl.col("n").cast(pl.Int64)).explode(empty_as_null=False))


def test_both_logs_of_a_table(metric):
    """An asymmetric table: transposed, it has other counts, rates and costs."""
    table = [[50, 20, 30], [5, 40, 5]]
    costs = [[0, 1, 0.5], [7, 0, 2]]
    options = {"costs": costs, "score_type": "decision"}
    cost = (20 * 1 + 30 * 0.5 + 5 * 7 + 5 * 2) / 150
    naive = min(50 * 7, 100 * 1, 100 * 0.5 + 50 * 2) / 150
    for frame, weight in ((counted(table), {"weight": "n"}), (repeated(table), {})):
        assert metric("confusion", frame, **options, **weight) == table
        assert metric("expected_cost", frame, **options, **weight) == exactly(cost)
        assert metric("nec", frame, **options, **weight) == exactly(cost / naive)


# Ferrer, "Analysis and comparison of classification metrics" ---------------------------------------------------------

# N21, N12; NEC with uniform priors, NEC with c21 = 1, NEC with c21 = 2, F1, MCC, R21, R12, R*2, R*1.
TABLE_1 = [  # N1 = N2 = 500
    (0, 50, 0.10, 0.10, 0.10, 0.95, 0.90, 0.00, 0.10, 0.55, 0.45),
    (25, 25, 0.10, 0.10, 0.15, 0.95, 0.90, 0.05, 0.05, 0.50, 0.50),
    (50, 0, 0.10, 0.10, 0.20, 0.95, 0.90, 0.10, 0.00, 0.45, 0.55),
    (0, 250, 0.50, 0.50, 0.50, 0.80, 0.58, 0.00, 0.50, 0.75, 0.25),
    (125, 125, 0.50, 0.50, 0.75, 0.75, 0.50, 0.25, 0.25, 0.50, 0.50),
    (250, 0, 0.50, 0.50, 1.00, 0.67, 0.58, 0.50, 0.00, 0.25, 0.75),
    (0, 450, 0.90, 0.90, 0.90, 0.69, 0.23, 0.00, 0.90, 0.95, 0.05),
    (225, 225, 0.90, 0.90, 1.35, 0.55, 0.10, 0.45, 0.45, 0.50, 0.50),
    (450, 0, 0.90, 0.90, 1.80, 0.18, 0.23, 0.90, 0.00, 0.05, 0.95),
]
TABLE_2 = [  # N1 = 900, N2 = 100
    (0, 90, 0.10, 0.90, 0.45, 0.69, 0.69, 0.00, 0.10, 0.19, 0.81),
    (5, 45, 0.10, 0.50, 0.28, 0.79, 0.78, 0.05, 0.05, 0.14, 0.86),
    (10, 0, 0.10, 0.10, 0.10, 0.95, 0.94, 0.10, 0.00, 0.09, 0.91),
    (0, 450, 0.50, 4.50, 2.25, 0.31, 0.30, 0.00, 0.50, 0.55, 0.45),
    (25, 225, 0.50, 2.50, 1.38, 0.38, 0.33, 0.25, 0.25, 0.30, 0.70),
    (50, 0, 0.50, 0.50, 0.50, 0.67, 0.69, 0.50, 0.00, 0.05, 0.95),
    (0, 810, 0.90, 8.10, 4.05, 0.20, 0.10, 0.00, 0.90, 0.91, 0.09),
    (40, 450, 0.90, 4.90, 2.65, 0.20, 0.06, 0.40, 0.50, 0.51, 0.49),
    (90, 0, 0.90, 0.90, 0.90, 0.18, 0.30, 0.90, 0.00, 0.01, 0.99),
    (45, 45, 0.50, 0.90, 0.68, 0.55, 0.50, 0.45, 0.05, 0.10, 0.90),
]


@pytest.mark.parametrize(
    ("n1", "n2", "row"), [(500, 500, row) for row in TABLE_1] + [(900, 100, row) for row in TABLE_2]
)
def test_tables_1_and_2(metric, n1, n2, row):
    n21, n12, nec_uniform, nec_1, nec_2, f1, mcc, r21, r12, decided_2, decided_1 = row
    frame = counted([[n1 - n12, n12], [n21, n2 - n21]])
    options = {"score_type": "decision", "weight": "n"}
    tp = n2 - n21

    assert metric("fnr", frame, **options) == exactly(n21 / n2) == printed(r21, 2)
    assert metric("fpr", frame, **options) == exactly(n12 / n1) == printed(r12, 2)
    (tn, fp), (fn, tp_found) = metric("confusion", frame, **options)
    assert ((fp + tp_found) / (n1 + n2), (tn + fn) / (n1 + n2)) == (printed(decided_2, 2), printed(decided_1, 2))

    value = metric("nec", frame, prior="uniform", **options)
    assert value == exactly(n12 / n1 + n21 / n2)
    assert value == printed(nec_uniform, 2)
    value = metric("nec", frame, **EVEN, **options)
    assert value == exactly((n12 + n21) / min(n1, n2))
    assert value == printed(nec_1, 2)
    value = metric("nec", frame, **MISS_TWICE, **options)
    assert value == exactly((n12 + 2 * n21) / min(n1, 2 * n2))
    assert value == printed(nec_2, 2)
    value = metric("f1", frame, **options)
    assert value == exactly(2 * tp / (2 * tp + n21 + n12))
    assert value == printed(f1, 2)
    value = metric("mcc", frame, **options)
    determinant = tp * (n1 - n12) - n12 * n21
    assert value == exactly(determinant / math.sqrt(n1 * n2 * (tp + n12) * (n1 - n12 + n21)))
    assert value == printed(mcc, 2)


def test_text_after_table_2(metric):
    """The F1 of 0.62 printed there is the MCC of that system; its F1 is 0.643."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("nec", frame, prior="uniform", **options) == exactly(0.2)
    assert metric("nec", frame, **EVEN, **options) == exactly(1.0)
    assert metric("nec", frame, **MISS_TWICE, **options) == exactly(0.55)
    assert metric("f1", frame, **options) == pytest.approx(0.642857142857, abs=1e-12)
    assert metric("mcc", frame, **options) == pytest.approx(0.624695047554, abs=1e-12)
    assert metric("mcc", frame, **options) == printed(0.62, 2)
    (_, fp), (_, tp) = metric("confusion", frame, **options)
    assert (fp + tp) / 1000 == exactly(0.18)
    always_2 = counted([[0, 900], [0, 100]])
    assert metric("f1", always_2, **options) == exactly(2 / 11)
    assert metric("f1", always_2, **options) == printed(0.18, 2)
    # Always-H2 is the best naive system where a miss costs 10 times a false alarm, and not where they cost the same.
    assert metric("nec", always_2, cost_fn=10, cost_fp=1, **options) == exactly(1.0)
    assert metric("nec", always_2, **EVEN, **options) == exactly(9.0)


@cache
def gaussian_classes(counts: tuple[int, ...], means: tuple[tuple[float, ...], ...], variance: float) -> np.ndarray:
    """Features of the papers' simulated tables, class by class.

    The tables come from NumPy's legacy generator with seed 0, whose stream is frozen: the same draw gives the printed
    digits, and no tolerance for sampling noise is needed. What the papers call a standard deviation is a variance.
    """
    generator = np.random.RandomState(0)
    spread = math.sqrt(variance)
    return np.concatenate(
        [
            np.array(mean) + spread * generator.standard_normal((count, len(mean)))
            for count, mean in zip(counts, means, strict=True)
        ]
    )


def log_likelihoods(features: np.ndarray, means: Sequence[Sequence[float]], variance: float) -> np.ndarray:
    dimensions = features.shape[1]
    distances = np.stack([((features - np.array(mean)) ** 2).sum(axis=1) for mean in means], axis=1)
    return -distances / (2 * variance) - dimensions / 2 * math.log(2 * math.pi * variance)


def log_softmax(joint: np.ndarray) -> np.ndarray:
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def vectors(counts: Sequence[int], log_posteriors: np.ndarray) -> pl.DataFrame:
    label = pl.Series(np.repeat(np.arange(len(counts)), counts), dtype=pl.Int16)
    scores = pl.Series(log_posteriors, dtype=pl.Array(pl.Float64, log_posteriors.shape[1]))
    return pl.DataFrame({"label": label, "score": scores})


@cache
def two_gaussians(system: str) -> pl.DataFrame:
    """Systems "cal" and "mc1" of Table 3: log posteriors at the priors (0.9, 0.1), and the LLR.

    9,999 rows of H2 and not 10,000: the paper's code truncates (1 - 0.9) * 100000.
    """
    counts, means = (90_000, 9_999), ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15)
    if system == "mc1":
        likelihoods = 0.5 * likelihoods + np.array([0.5, 0.0])
    frame = vectors(counts, log_softmax(likelihoods + np.log([0.9, 0.1])))
    return frame.with_columns(llr=pl.Series(likelihoods[:, 1] - likelihoods[:, 0]))


# Cost of abstaining; EC, NEC and percentage of abstentions.
TABLE_3 = {
    "mc1": [
        (0.01, 0.006, 0.638, 61.5),
        (0.1, 0.030, 0.299, 12.3),
        (0.2, 0.052, 0.521, 6.7),
        (0.4, 0.076, 0.756, 2.0),
        (0.6, 0.079, 0.786, 0.0),
        (1.0, 0.079, 0.786, 0.0),
    ],
    "cal": [
        (0.01, 0.005, 0.534, 41.1),
        (0.1, 0.025, 0.249, 14.1),
        (0.2, 0.035, 0.355, 8.2),
        (0.4, 0.046, 0.456, 2.3),
        (0.6, 0.047, 0.467, 0.0),
        (1.0, 0.047, 0.467, 0.0),
    ],
}


@pytest.mark.parametrize("system", ["mc1", "cal"])
def test_table_3_abstaining(metric, system):
    frame = two_gaussians(system)
    for alpha, cost, normalised, abstained in TABLE_3[system]:
        options = {"costs": ec.CostMatrix.zero_one(2, abstain=alpha), "score_type": "log_posteriors"}
        table = np.array(metric("confusion", frame, **options))
        assert metric("expected_cost", frame, **options) == printed(cost, 3)
        assert metric("nec", frame, **options) == printed(normalised, 3)
        assert 100 * table[:, 2].sum() / table.sum() == printed(abstained, 1)
        # Abstaining never costs less than the surer class where it costs more than one half.
        assert table[:, 2].any() == (alpha < 0.5)


def test_section_4_8_1_decisions_for_unequal_costs(metric):
    """NEC with c21 = 2: by the Bayes threshold 0.605, by the best threshold 0.366.

    The paper reads the first off at the nearest point of a grid of step 0.01, and prints 0.604: a unit of its last digit
    is allowed. The second is the least over a grid of thresholds here too.
    """
    frame = two_gaussians("mc1")
    prior = frame["label"].mean()
    options = {"score_type": "llr", **MISS_TWICE}
    assert metric("nec", frame, "llr", prior=prior, **options) == pytest.approx(0.604, abs=0.001)
    assert metric("nec", frame, "llr", prior=prior, **options) == pytest.approx(0.6049604960496049, rel=1e-9)
    at_threshold = {
        threshold: metric("nec", frame, "llr", threshold=threshold, **options)
        for threshold in np.arange(0.0, 1.2, 0.1).round(1).tolist()
    }
    best = min(at_threshold, key=at_threshold.get)
    assert at_threshold[best] == pytest.approx(0.366, abs=0.001)
    # The shift of the miscalibrated scores is what the Bayes threshold does not know of.
    assert best < 0.5 < math.log(0.9 / 0.1 / 2)


# Ferrer, "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric" -------

TEN_PRIORS = (0.8, *[0.2 / 9] * 9)
# Columns in the order EC, NEC, percentage of abstentions.
EXPECTED_COST_TABLE_1 = {
    "naive": {
        "01": (0.20, 1.00, 0),
        "inverse prior": (0.90, 1.00, 0),
        "important class": (0.98, 1.00, 0),
        "abstain 0.05": (0.05, 1.00, 100),
        "abstain 0.30": (0.20, 1.00, 0),
    },
    "argmax": {
        "01": (0.06, 0.32, 0),
        "inverse prior": (0.28, 0.31, 0),
        "important class": (0.36, 0.37, 0),
        "abstain 0.05": (0.06, 1.29, 0),
        "abstain 0.30": (0.06, 0.32, 0),
    },
    "Bayes": {
        "01": (0.06, 0.32, 0),
        "inverse prior": (0.23, 0.26, 0),
        "important class": (0.08, 0.08, 0),
        "abstain 0.05": (0.02, 0.35, 25),
        "abstain 0.30": (0.06, 0.28, 7),
    },
}


def ten_class_costs(name: str) -> ec.CostMatrix:
    if name == "inverse prior":
        return ec.CostMatrix.balanced(TEN_PRIORS)
    if name.startswith("abstain"):
        return ec.CostMatrix.zero_one(10, abstain=float(name.split()[1]))
    costs = 1 - np.eye(10)
    if name == "important class":
        costs[9] *= 100
    return ec.CostMatrix(costs)


@cache
def ten_gaussians() -> pl.DataFrame:
    """10,000 rows, of which truncation leaves 8,000 of H1 and 222 of each other class (the appendix says 100,000)."""
    counts, means = (8_000, *[222] * 9), tuple((float(i),) for i in range(10))
    joint = log_likelihoods(gaussian_classes(counts, means, 0.2), means, 0.2) + np.log(TEN_PRIORS)
    # Posteriors below what a float can hold are 0 here, and sum to 1 all the same.
    frame = vectors(counts, np.exp(log_softmax(joint)))
    return frame.with_columns(argmax=pl.Series(joint.argmax(axis=1)), constant=pl.lit(0))


@pytest.mark.parametrize("costs_name", EXPECTED_COST_TABLE_1["Bayes"])
def test_expected_cost_table_1(metric, costs_name):
    frame, costs = ten_gaussians(), ten_class_costs(costs_name)
    naive_cost, naive_decision = costs.naive(TEN_PRIORS)
    frame = frame.with_columns(constant=pl.lit(naive_decision))
    systems = {
        "naive": {"score": "constant", "score_type": "decision", "costs": costs},
        "argmax": {"score": "argmax", "score_type": "decision", "costs": costs},
        "Bayes": {"score": "score", "score_type": "posteriors", "costs": costs},
    }
    for system, options in systems.items():
        cost, normalised, abstained = EXPECTED_COST_TABLE_1[system][costs_name]
        # The papers' truncated class counts are not in the ratio of the priors: the two agree to the digits printed.
        assert metric("expected_cost", frame, **options) == printed(cost, 2), system
        assert metric("nec", frame, **options) == printed(normalised, 2), system
        table = np.array(metric("confusion", frame, **options))
        share = 100 * table[:, 10:].sum() / table.sum()
        assert share == printed(abstained, 0), system
    assert naive_cost == printed(EXPECTED_COST_TABLE_1["naive"][costs_name][0], 2)


@pytest.mark.parametrize(
    ("costs_name", "cost", "decisions"),
    [
        ("01", 0.2, [0]),
        ("inverse prior", 0.9, range(10)),
        ("important class", 0.8 + 8 * 0.2 / 9, [9]),
        ("abstain 0.05", 0.05, [10]),
        ("abstain 0.30", 0.2, [0]),
    ],
)
def test_expected_cost_table_1_naive_decisions(metric, costs_name, cost, decisions):
    """Constant systems at the nominal priors: which are the best, and what they cost."""
    costs = ten_class_costs(costs_name)
    assert costs.naive(TEN_PRIORS)[0] == exactly(cost)
    assert costs.naive(TEN_PRIORS)[1] in decisions
    systems = [(label, decision) for decision in range(costs.n_decisions) for label in range(10)]
    frame = pl.DataFrame(systems, schema=["label", "score"], orient="row").with_columns(system="score")
    options = {"costs": costs, "prior": list(TEN_PRIORS), "score_type": "decision", "by": "system"}
    normalised, expected = metric("nec", frame, **options), metric("expected_cost", frame, **options)
    for decision in range(costs.n_decisions):
        assert (normalised[decision] == exactly(1.0)) == (decision in decisions)
        assert expected[decision] == exactly(normalised[decision] * cost)


def test_thresholds_for_costs(metric):
    """Class 2 where its posterior is above c12 / (c12 + c21), or the log-odds above ln(c12 / c21); printed: -0.6 for 1.8."""
    assert ec.CostMatrix.binary(cost_fn=1.8).bayes_threshold() == exactly(1 / 2.8)
    assert math.exp(0.6) == printed(1.8, 1)
    frame = pl.DataFrame({"score": [-0.6 - 1e-9, -0.6 + 1e-9]})
    options = {"cost_fn": 1.8221188003905089, "score_type": "log_odds"}
    assert metric("bayes_decision", frame, **options) == [0, 1]
    posterior = 1 / (1 + 1.8221188003905089)
    frame = pl.DataFrame({"score": [posterior - 1e-9, posterior + 1e-9]})
    assert metric("bayes_decision", frame, cost_fn=1.8221188003905089) == [0, 1]


def test_abstain_rule(metric):
    """With 0-1 costs and an abstain decision of cost alpha: abstain where every posterior is below 1 - alpha."""
    alpha = 0.3
    scores = [[0.72, 0.18, 0.1], [0.69, 0.21, 0.1], [0.2, 0.05, 0.75], [0.4, 0.3, 0.3], [0.15, 0.701, 0.149]]
    frame = pl.DataFrame({"score": pl.Series(scores, dtype=pl.Array(pl.Float64, 3))})
    costs = ec.CostMatrix.zero_one(3, abstain=alpha)
    expected = [int(np.argmax(q)) if max(q) > 1 - alpha else 3 for q in scores]
    assert metric("bayes_decision", frame, score_type="posteriors", costs=costs) == expected == [0, 3, 2, 3, 1]


def test_net_benefit_and_likelihood_ratio(metric):
    """N22/N - p_t/(1 - p_t) N12/N = P2 - EC with c21 = 1, c12 = p_t/(1 - p_t); LR+ = (1 - NEC)/R12 + 1, uniform priors."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("net_benefit", frame, p_t=0.2, **options) == exactly(0.0675)
    cost = metric("expected_cost", frame, cost_fn=1, cost_fp=0.25, **options)
    assert metric("class_prior", frame, **options) - cost == exactly(0.0675)
    assert metric("lr_plus", frame, **options) == exactly(9.0)
    uniform = metric("nec", frame, prior="uniform", **options)
    assert (1 - uniform) / metric("fpr", frame, **options) + 1 == exactly(9.0)


# Ferrer and Ramos, "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration" ------


@pytest.mark.parametrize(
    ("prior", "cross_entropy", "brier"), [(0.4, 0.6730116670092565, 0.24), (0.2, 0.5004024235381879, 0.16)]
)
def test_naive_posteriors(metric, prior, cross_entropy, brier):
    """Who always answers the prior has the entropy of the priors as CE and sum P (1 - P) / K as Brier score."""
    frame = pl.DataFrame({"score": [prior] * 10, "label": [1] * round(10 * prior) + [0] * round(10 - 10 * prior)})
    assert metric("cross_entropy", frame) == exactly(cross_entropy)
    assert metric("brier", frame) == exactly(brier)
    assert metric("nce", frame) == exactly(1.0)
    assert metric("nbs", frame) == exactly(1.0)


def test_accuracy_identity(metric):
    """With priors (0.8, 0.2), accuracy = 1 - 0.2 times the normalised risk of 0-1 costs."""
    frame = counted([[70, 10], [5, 15]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("accuracy", frame, **options) == exactly(0.85)
    assert 1 - 0.2 * metric("nec", frame, **options) == exactly(0.85)


FIGURE_1 = {  # variance, what the log posteriors are multiplied with, NCE, NBS, Bayes risk at 1/2 (read off the code)
    "cal": (0.15, 1.0, 0.34, 0.29, 0.18806),
    "mcs-u": (0.15, 0.48, 0.42, 0.34, 0.18806),
    "mcs-o": (0.15, 2.0, 0.42, 0.31, 0.18806),
    "cal-h": (0.19, 1.0, 0.42, 0.36, 0.24124),
}


@cache
def figure_1_system(system: str) -> pl.DataFrame:
    variance, scale, *_ = FIGURE_1[system]
    counts, means = (60_000, 40_000), ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5)))
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([0.6, 0.4])
    frame = vectors(counts, log_softmax(scale * joint))
    first, second = (pl.col("score").arr.get(i) for i in range(2))
    return frame.with_columns(log_odds=second - first, posterior=second.exp())


@pytest.mark.parametrize("system", FIGURE_1)
def test_figure_1(metric, system):
    _, _, nce, nbs, risk_at_half = FIGURE_1[system]
    frame = figure_1_system(system)
    assert metric("nce", frame, score_type="log_posteriors") == printed(nce, 2)
    assert metric("nbs", frame, score_type="log_posteriors") == printed(nbs, 2)
    # The figure's costs [[0, 1/(1-a)], [1/a, 0]], at a = 1/2: twice the error rate.
    costs = {"costs": [[0.0, 2.0], [2.0, 0.0]], "score_type": "log_odds"}
    assert metric("bayes_risk", frame, "log_odds", **costs) == exactly(risk_at_half)
    assert metric("error_rate", frame, "log_odds", score_type="log_odds") == exactly(risk_at_half / 2)
    frame = frame.gather_every(20)
    for score in ("log_odds", "posterior"):
        options = {"score_type": score}
        cross_entropy, brier = (metric(name, frame, score, **options) for name in ("cross_entropy", "brier"))
        assert metric("epsr", frame, score, a=1.0, b=1.0, **options) == pytest.approx(cross_entropy, rel=1e-10)
        assert metric("epsr", frame, score, a=2.0, b=2.0, **options) == pytest.approx(3 * brier, rel=1e-10)


# Percentages that the semi-empirical cross-entropy is above the empirical one. The table prints them with the other sign
# than its caption says.
TABLE_1 = {  # what the log posteriors are multiplied with, the priors that they are made with, N: (histogram, true)
    "cal": (1.0, (0.8, 0.2), {200: (6, None), 2000: (8, 5), 20000: (9, None)}),
    "mcs": (5.0, (0.8, 0.2), {200: (153, None), 2000: (143, 10), 20000: (132, 5)}),
    "mcp": (1.0, (0.1, 0.9), {200: (19, None), 2000: (21, 2), 20000: (17, 0)}),
    "mcps": (5.0, (0.1, 0.9), {200: (62, None), 2000: (84, 2), 20000: (82, 0)}),
}


def affine_fit(log_odds: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Log-odds alpha x + beta of least mean log loss, by Newton's method."""
    x = np.stack([log_odds / log_odds.std(), np.ones(len(log_odds))], axis=1)
    parameters = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ parameters))
        parameters -= np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (p - label))
    return x @ parameters


@pytest.mark.parametrize("system", TABLE_1)
@pytest.mark.parametrize("n", [200, 2000, 20000])
def test_table_1_semi_empirical_cross_entropy(metric, system, n):
    scale, priors, printed_values = TABLE_1[system]
    counts, means = (int(0.8 * n), int((1 - 0.8) * n)), ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5)))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15)
    frame = vectors(counts, log_softmax(scale * log_softmax(likelihoods + np.log(priors))))
    label = frame["label"].to_numpy()
    log_odds = frame["score"].to_numpy() @ [-1.0, 1.0]
    fitted = affine_fit(log_odds, label)
    bins = np.clip(np.ceil(15 * np.exp(frame["score"].to_numpy()[:, 1])), 1, 15)
    share = np.array([label[bins == b].mean() for b in bins])
    with np.errstate(divide="ignore"):
        references = {
            "affine": log_softmax(np.stack([np.zeros(len(fitted)), fitted], axis=1)),
            "histogram": np.log(np.stack([1 - share, share], axis=1)),
            "true": log_softmax(likelihoods + np.log([0.8, 0.2])),
        }
    frame = frame.with_columns(pl.Series(k, v, dtype=pl.Array(pl.Float64, 2)) for k, v in references.items())
    empirical = metric("cross_entropy", frame, score_type="log_posteriors")

    def above(reference: str) -> float:
        value = metric("semi_empirical_epsr", frame, label=reference, score_type="log_posteriors")
        return 100 * (value - empirical) / empirical

    histogram, true = printed_values[n]
    # Trained on the very data by cross-entropy, the affine transform leaves its gradient at 0.
    assert above("affine") == pytest.approx(0, abs=1e-6)
    assert above("histogram") == printed(histogram, 0)
    assert true is None or above("true") == printed(true, 0)


def test_figure_1_scoring_rule_is_the_integral_of_bayes_risks():
    """The left plot's area is the cross-entropy: sum the Bayes risks over operating points a and compare.

    One door is enough: that the doors agree on risks and on epsr is tested above.
    """
    frame = figure_1_system("cal").gather_every(40)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s, ds = (nodes + 1) / 2, weights / 2
    # The risk is steep near 0 and 1, where this substitution puts more points.
    points, widths = s**2 * (3 - 2 * s), 6 * s * (1 - s) * ds
    risks = frame.select(
        ec.bayes_risk("log_odds", "label", cost_fp=1 / (1 - a), cost_fn=1 / a, score_type="log_odds").alias(str(i))
        for i, a in enumerate(points.tolist())
    ).row(0)
    # The risk of 2,500 rows has as many steps: about three digits can be had.
    expected = evaluate("function", "epsr", frame, "log_odds", score_type="log_odds")
    assert np.dot(risks, widths) == pytest.approx(expected, rel=2e-3)


# Cumani, lecture "Bayes decisions and model evaluation" --------------------------------------------------------------


def test_rain(metric):
    """The lecture's table has predictions as rows; here rows are what came. Rain is the positive class."""
    frame = counted([[300, 30], [20, 15]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("confusion", frame, **options) == [[300, 30], [20, 15]]
    assert metric("accuracy", frame, **options) == exactly(315 / 365) == printed(0.86, 2)
    assert metric("error_rate", frame, **options) == exactly(0.136986301369863)
    assert metric("nec", frame, **options) == exactly(1.4285714285714286)
    assert metric("fnr", frame, **options) == exactly(0.5714285714285714)
    assert metric("fpr", frame, **options) == exactly(0.09090909090909091)
    assert metric("recall", frame, **options) == exactly(0.42857142857142855)
    assert metric("specificity", frame, **options) == exactly(0.9090909090909091)
    assert metric("balanced_accuracy", frame, **options) == exactly(0.6688311688311688)
    assert metric("n_rows", repeated([[300, 30], [20, 15]]), score_type="decision") == 365
    always_clear = counted([[330, 0], [35, 0]])
    assert metric("accuracy", always_clear, **options) == exactly(0.9041095890410958) == printed(0.90, 2)
    assert metric("nec", always_clear, **options) == exactly(1.0)


STEPS = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_bayes_decision_of_three_classes(metric):
    """The cheapest decision is the class with the lowest posterior, because it lies between the other two."""
    posteriors = [0.4, 0.25, 0.35]
    frame = pl.DataFrame({"score": pl.Series([posteriors], dtype=pl.Array(pl.Float64, 3))})
    options = {"score_type": "posteriors"}
    assert metric("bayes_decision", frame, costs=STEPS, **options) == [1]
    assert metric("bayes_decision", frame, **options) == [0]
    # The expected costs of the three actions, as those of constant decisions where the posteriors are the priors.
    for action, cost in enumerate([0.95, 0.75, 1.05]):
        constant = pl.DataFrame({"label": [0, 1, 2], "score": [action] * 3})
        value = metric("expected_cost", constant, costs=STEPS, prior=posteriors, score_type="decision")
        assert value == exactly(cost)
    assert ec.CostMatrix(STEPS).naive(posteriors) == (exactly(0.75), 1)


def test_bayes_decision_does_not_transpose_costs(metric):
    """The lecture's costs are symmetric; these are not, and their transpose decides 0."""
    frame = pl.DataFrame({"score": pl.Series([[0.4, 0.25, 0.35]], dtype=pl.Array(pl.Float64, 3))})
    costs = np.array([[0, 1, 2], [4, 0, 1], [9, 1, 0]])
    assert (np.array([0.4, 0.25, 0.35]) @ costs).argmin() == 1
    assert (costs @ np.array([0.4, 0.25, 0.35])).argmin() == 0
    assert metric("bayes_decision", frame, costs=costs.tolist(), score_type="posteriors") == [1]
    assert metric("bayes_decision", frame, costs=costs.T.tolist(), score_type="posteriors") == [0]


def test_empirical_bayes_risk(metric):
    predictions_as_rows = [[205, 111, 56], [145, 199, 121], [50, 92, 225]]
    table = np.array(predictions_as_rows).T.tolist()
    frame = counted(table)
    priors = [0.3, 0.4, 0.3]
    options = {"score_type": "decision", "weight": "n", "costs": STEPS}
    assert metric("confusion", frame, **options) == table
    assert [sum(row) for row in table] == [400, 402, 402]
    # Each class's term of the sum: costs of that class alone.
    terms = []
    for i in range(3):
        alone = [row if k == i else [0, 0, 0] for k, row in enumerate(STEPS)]
        terms.append(metric("expected_cost", frame, prior=priors, **{**options, "costs": alone}))
    assert terms == exactly([0.18375, 0.20199004975124382, 0.17388059701492536])
    # The slide cuts off its terms, and prints the sum of the cut terms: 0.55962.
    assert terms == [pytest.approx(term, abs=1e-5) for term in (0.18375, 0.20199, 0.17388)]
    assert metric("expected_cost", frame, prior=priors, **options) == exactly(0.5596206467661692)
    assert metric("expected_cost", frame, prior=priors, **options) == printed(0.55962, 5)
    assert metric("nec", frame, prior=priors, **options) == exactly(0.9327010779436153)
    assert metric("expected_cost", frame, **options) == exactly(0.5656146179401993)
    for action, cost in enumerate([1.0, 0.6, 1.0]):
        constant = pl.DataFrame({"label": [0, 1, 2], "score": [action] * 3})
        value = metric("expected_cost", constant, costs=STEPS, prior=priors, score_type="decision")
        assert value == exactly(cost)


def test_empirical_bayes_risk_of_asymmetric_costs(metric):
    """The same table at costs whose transpose gives another risk."""
    table = np.array([[205, 145, 50], [111, 199, 92], [56, 121, 225]])
    costs = np.array([[0, 1, 2], [4, 0, 1], [9, 1, 0]])
    risk = ((table * costs).sum(axis=1) / table.sum(axis=1) * [0.3, 0.4, 0.3]).sum()
    options = {"score_type": "decision", "weight": "n", "prior": [0.3, 0.4, 0.3]}
    assert metric("expected_cost", counted(table.tolist()), costs=costs.tolist(), **options) == exactly(risk)
    assert metric("expected_cost", counted(table.tolist()), costs=costs.T.tolist(), **options) != exactly(risk)


def test_detection_cost(metric):
    """The effective prior pi C_fn / (pi C_fn + (1 - pi) C_fp) says it all: 0.1 with costs 1 and 9 is 0.0122 with even costs."""
    effective = 0.012195121951219514
    assert exactly(effective) == 0.1 * 1 / (0.1 * 1 + 0.9 * 9)
    threshold = -math.log(effective / (1 - effective))
    generator = np.random.default_rng(3)
    label = np.repeat([0, 1], [600, 200])
    llr = generator.normal(np.where(label == 1, 4.0, -4.0), 3.0)
    frame = pl.DataFrame({"score": llr, "label": label})
    miss, false_alarm = (llr[label == 1] <= threshold).mean(), (llr[label == 0] > threshold).mean()
    assert miss > 0
    assert false_alarm > 0
    expected = (0.1 * 1 * miss + 0.9 * 9 * false_alarm) / min(0.1 * 1, 0.9 * 9)
    options = {"score_type": "llr"}
    assert metric("dcf", frame, prior=0.1, cost_fn=1, cost_fp=9, **options) == exactly(expected)
    assert metric("dcf", frame, prior=effective, **options) == exactly(expected)
    decisions = metric("bayes_decision", frame, prior=0.1, cost_fn=1, cost_fp=9, **options)
    assert decisions == (llr > threshold).astype(int).tolist()
    # Costs the other way round are another problem.
    assert metric("dcf", frame, prior=0.1, cost_fn=9, cost_fp=1, **options) != exactly(expected)


# Siblini et al., "Master your metrics with calibration" --------------------------------------------------------------


def test_calibrated_precision(metric):
    """TP / (TP + r FP) with r = pi (1 - pi0) / (pi0 (1 - pi)); pi0 = pi is the plain metric."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("precision", frame, **options) == exactly(0.5)
    for prior, expected in ((0.5, 0.9), (0.1, 0.5), (0.01, 0.08333333333333333)):
        r = 0.1 * (1 - prior) / (prior * 0.9)
        assert metric("precision", frame, prior=prior, **options) == exactly(expected)
        assert expected == exactly(90 / (90 + r * 90))
        assert expected == exactly(0.9 / (0.9 + (1 - prior) / prior * 0.1))
    assert metric("f1", frame, prior=0.5, **options) == exactly(0.9)
    assert metric("f1", frame, prior=0.1, **options) == exactly(metric("f1", frame, **options))


def test_precision_gain_and_recall_gain(metric):
    """A reference prior leaves precision gain as it is, and recall gain is (recall - pi0) / ((1 - pi0) recall)."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    plain = metric("precision_gain", frame, **options)
    assert plain == exactly((0.5 - 0.1) / ((1 - 0.1) * 0.5))
    for prior in (0.5, 0.1, 0.01):
        assert metric("precision_gain", frame, prior=prior, **options) == exactly(plain)
        expected = (0.9 - prior) / ((1 - prior) * 0.9)
        assert metric("recall_gain", frame, prior=prior, **options) == exactly(expected)
