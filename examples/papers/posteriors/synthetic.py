"""The synthetic sets of Appendix C: Gaussian classes, their posteriors, and the same miscalibrated in three ways."""

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from examples.papers.numbers import Rows, alone, printed
from examples.papers.posteriors import PAPER
from examples.papers.simulated import (
    gaussian_classes,
    labels,
    log_likelihoods,
    log_softmax,
    stratified_folds,
    vectors,
    with_folds,
)

SYSTEMS = ("cal", "mcp", "mcs", "mcps")
OVERCONFIDENT = 5.0
"""What log posteriors of `mcs` and `mcps` are multiplied with."""


def class_priors(n_classes: int, first: float = 0.8) -> list[float]:
    """P_1 of the first class, and the same of each other."""
    return [first, *[(1 - first) / (n_classes - 1)] * (n_classes - 1)]


def exchanged_priors(n_classes: int) -> list[float]:
    """Those that `mcp` is made with: 0.9 of the last class, and the same of each other."""
    return [*[0.1 / (n_classes - 1)] * (n_classes - 1), 0.9]


def class_counts(n_classes: int, rows: int, first: float = 0.8) -> tuple[int, ...]:
    """Rows of each class: cut off, as the figures' code has it, not rounded as the paper says."""
    return tuple(int(prior * rows) for prior in class_priors(n_classes, first))


def class_means(n_classes: int) -> tuple[tuple[float, ...], ...]:
    """Unit vectors times the root of a half: the factor is in the figures' code alone."""
    return tuple(tuple(row) for row in (math.sqrt(0.5) * np.eye(n_classes)).tolist())


@cache
def synthetic(counts: tuple[int, ...], variance: float, first: float = 0.8) -> pl.DataFrame:
    """`row`, `label`, and the log posteriors of each system, a column of vectors."""
    n_classes = len(counts)
    means = class_means(n_classes)
    likelihoods = log_likelihoods(gaussian_classes(counts, means, variance), means, variance)
    systems = {}
    for system, overconfident, priors in (
        ("cal", "mcs", class_priors(n_classes, first)),
        ("mcp", "mcps", exchanged_priors(n_classes)),
    ):
        log_posteriors = log_softmax(likelihoods + np.log(priors))
        systems[system] = vectors(log_posteriors)
        systems[overconfident] = vectors(log_softmax(OVERCONFIDENT * log_posteriors))
    return pl.DataFrame({"row": np.arange(sum(counts)), "label": labels(counts), **systems})


def log_odds(system: str) -> pl.Expr:
    """Of the second of two classes."""
    return pl.col(system).arr.get(1) - pl.col(system).arr.get(0)


def two_classes(system: str, rows: int) -> pl.DataFrame:
    """`label`, the system's `log_odds`, and the `true` ones; of the rows that were asked for, those made."""
    frame = synthetic(class_counts(2, rows), 0.15)
    return frame.select("label", log_odds=log_odds(system), true=log_odds("cal"))


def drawn_folds(label: pl.Series, n_classes: int, calibrators: int) -> dict[str, list[NDArray[np.int64]]]:
    """The very folds of Table 1 and of the figures, which each calibrator of each system draws anew.

    The generator that has drawn the classes goes on; between `mcp` and `mcs` are two systems that the paper does not show.
    """
    generator = np.random.RandomState(0)
    generator.standard_normal((len(label), n_classes))
    return {
        system: [stratified_folds(label, generator) for _ in range(calibrators)]
        for system in ("cal", "mcp", "not shown", "nor this", "mcs", "mcps")
    }


@cache
def cross_validated(
    counts: tuple[int, ...], variance: float, calibrators: tuple[str, ...]
) -> Mapping[tuple[str, str], pl.DataFrame]:
    """The rows with the very folds of the figures."""
    frame = synthetic(counts, variance)
    drawn = drawn_folds(frame["label"], len(counts), len(calibrators))
    return {
        (system, calibrator): with_folds(frame, folds)
        for system in SYSTEMS
        for calibrator, folds in zip(calibrators, drawn[system], strict=True)
    }


def _nbs(counts: tuple[int, ...], variance: float) -> float:
    return float(synthetic(counts, variance).select(ec.nbs("cal", "label", score_type="log_posteriors")).item())


@PAPER("appendix-c", columns=["rows", "NBS of cal", "largest difference"])
def appendix_c() -> Rows:
    two, ten = class_counts(2, 400), class_counts(10, 2000)
    moved = ec.shift_prior("cal", class_priors(2), exchanged_priors(2), score_type="log_posteriors")
    scaled = ec.affine(log_odds("cal"), OVERCONFIDENT, 0.0, score_type="log_odds")
    by_prior, by_scale = (
        synthetic(two, 0.15)
        .select(
            (moved.arr.get(1) - pl.col("mcp").arr.get(1)).abs().max().alias("mcp"),
            (scaled - pl.col("mcs").arr.get(1).exp()).abs().max().alias("mcs"),
        )
        .row(0)
    )
    of_two, of_ten = (
        printed(_nbs(*case), text, against="notebook")
        for case, text in (((two, 0.15), "0.36836"), ((ten, 0.08), "0.318248"))
    )
    yield "K = 2, N = 400, cut off", alone(sum(two), decimals=0), of_two, None
    yield "K = 2, N = 400, rounded", alone(400, decimals=0), alone(_nbs((320, 80), 0.15)), None
    yield "K = 10, N = 2000, cut off", alone(sum(ten), decimals=0), of_ten, None
    yield "mcp: cal at exchanged priors", None, None, (by_prior, 0.0)
    yield "mcs: log-odds of cal times 5", None, None, (by_scale, 0.0)
