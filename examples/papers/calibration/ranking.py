"""Section 4.2: whether metrics order models alike, by rank correlations over simulated data sets."""

from functools import cache

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.calibration import PAPER
from examples.papers.calibration.simulations import METRICS, of_sketch
from examples.papers.numbers import Rows, alone, between, printed
from examples.papers.simulated import Floats

MODELS = tuple(f"model {k}" for k in range(30))
AREAS = tuple(METRICS.values())
NAMES = ("AUC-ROC", *AREAS, *(f"{name}, 0.5" for name in AREAS), *(f"{name}, near" for name in AREAS))
"""The ten metrics: plain, calibrated to 0.5, and to a prior near the own one."""


def _logs(sets: int, rows: int, priors: tuple[float, float]) -> pl.DataFrame:
    """Data sets with the scores of 30 models each, which differ in how far positives are from negatives, and how much they spread.

    Features of half the noise are common to the models. A model whose positives spread more is better where few alarms are raised, and
    worse where many are.
    """
    generator = np.random.RandomState(0)
    logs = []
    for data in range(sets):
        label = np.arange(rows) < round(rows * generator.uniform(*priors))
        difficulty, common = generator.uniform(0.8, 3), generator.standard_normal(rows)
        scores = {}
        for model in MODELS:
            distance, spread = difficulty * generator.uniform(0.5, 1.2), generator.uniform(0.9, 1.6)
            noise = (common + generator.standard_normal(rows)) / np.sqrt(2)
            scores[model] = np.where(label, distance + spread * noise, noise)
        logs.append(pl.DataFrame({"data": np.full(rows, data), "label": label, **scores}))
    return pl.concat(logs)


def _correlations(log: pl.DataFrame, near: float) -> Floats:
    """The mean over data sets of the rank correlations of every two metrics over the models."""
    keys = ["data", "score"]
    sketch = ec.sketch(log, list(MODELS), "label", by="data", score_type="log_odds")
    values = sketch.evaluate("auc_roc").select(*keys, pl.col("auc_roc").alias("AUC-ROC"))
    for end, prior in (("", None), (", 0.5", 0.5), (", near", near * pl.col("class_prior"))):
        named = {metric: name + end for metric, name in METRICS.items()}
        values = values.join(of_sketch(sketch, keys, prior).rename(named), on=keys)
    pairs = [pl.corr(a, b, method="spearman").alias(f"{a}|{b}") for a in NAMES for b in NAMES]
    means = values.group_by("data", maintain_order=True).agg(pairs).drop("data").mean()
    return np.array(means.row(0)).reshape(len(NAMES), len(NAMES))


@cache
def balanced() -> Floats:
    """Of 40 data sets of 1,000 rows with 20 to 50 % of positives; near is 1.01 times the own prior."""
    return _correlations(_logs(40, 1_000, (0.2, 0.5)), 1.01)


@cache
def imbalanced() -> Floats:
    """Of 8 data sets of 20,000 rows with 0.2 to 1 % of positives; near is 10 times the own prior."""
    return _correlations(_logs(8, 20_000, (0.002, 0.01)), 10)


def _of(found: Floats, first: str, second: str) -> float:
    return float(found[NAMES.index(first), NAMES.index(second)])


def _mean(found: Floats) -> float:
    return float(found[~np.eye(len(NAMES), dtype=bool)].mean())


def _plain(found: Floats) -> tuple[float, float]:
    """The mean correlation of the three plain areas with each other, and with the best F1."""
    areas = NAMES[:3]
    pairs = [(areas[0], areas[1]), (areas[0], areas[2]), (areas[1], areas[2])]
    return sum(_of(found, *pair) for pair in pairs) / 3, sum(_of(found, name, "best F1") for name in areas) / 3


@PAPER("figure-7", columns=["balanced", "imbalanced"])
def rank_correlations() -> Rows:
    even, rare = balanced(), imbalanced()
    lowest = printed(float(even.min()), "0.81", within=0.06)
    yield "least of all pairs", lowest, between(float(rare.min()), -1, 0.81, "below 0.81")
    yield (
        "mean of all pairs",
        between(_mean(even), 0.9, 1, "above 0.9"),
        between(_mean(rare), -1, _mean(even), "less than balanced"),
    )
    for name in AREAS:
        near, half = f"{name}, near", f"{name}, 0.5"
        own, roc = _of(rare, half, name), _of(rare, half, "AUC-ROC")
        more = between(_of(rare, name, near), own, 1, "more than at 0.5")
        yield f"{name}: near with plain", between(_of(even, name, near), 0.99, 1, "above 0.99"), more
        less = between(own, -1, roc, "less than AUC-ROC")
        yield f"{name}: at 0.5 with plain", between(_of(even, name, half), 0.9, 1, "above 0.9"), less
        of_roc = between(_of(even, half, "AUC-ROC"), 0.8, 1, "above 0.8")
        yield f"{name}: at 0.5 with AUC-ROC", of_roc, between(roc, own, 1, "more than plain")
    (areas, with_f1), (rare_areas, rare_with_f1) = _plain(even), _plain(rare)
    others = max(_of(rare, "best F1", "AUC-ROC"), _of(rare, "best F1", "AUC-PR gain"))
    best = between(_of(rare, "best F1", "AUC-PR"), others, 1, "more than other areas")
    yield "areas with each other", between(areas, with_f1, 1, "more than with F1"), alone(rare_areas)
    yield "areas with best F1", alone(with_f1), alone(rare_with_f1)
    yield "best F1 with AUC-PR", alone(_of(even, "best F1", "AUC-PR")), best
