"""Figure 1 and Section 3.1: Bayes risks over all operating points, whose areas are the cross-entropy and the Brier score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Table, above, below, by_equation, printed
from polars_ec.papers.posteriors.synthetic import class_counts, log_odds, synthetic

if TYPE_CHECKING:
    from altair import TopLevelMixin

PRIOR = 0.6
COUNTS = class_counts(2, 100_000, PRIOR)

SYSTEMS = {"cal": (0.15, 1.0), "mcs-u": (0.15, 0.48), "mcs-o": (0.15, 2.0), "cal-h": (0.19, 1.0)}
"""Variance, and what log posteriors are multiplied with."""

PRINTED = {"cal": ("0.34", "0.29"), "mcs-u": ("0.42", "0.34"), "mcs-o": ("0.42", "0.31"), "cal-h": ("0.42", "0.36")}
"""NCE and NBS, in the legends."""

_EDGE, _POINTS = 60.0, 60_000
"""Integrals are sums over log-odds of operating points: beyond 60 there is nothing."""


@cache
def log(system: str) -> pl.DataFrame:
    """`label`, and `x`, the log-odds of the second class. Log posteriors times a factor are log-odds times it."""
    variance, factor = SYSTEMS[system]
    return synthetic(COUNTS, variance, PRIOR).select("label", x=factor * log_odds("cal"))


@cache
def losses(system: str) -> Mapping[str, float]:
    """By the package."""
    metrics = {
        "CE": ec.cross_entropy("x", "label", score_type="log_odds"),
        "BS": ec.brier("x", "label", score_type="log_odds"),
        "NCE": ec.nce("x", "label", score_type="log_odds"),
        "NBS": ec.nbs("x", "label", score_type="log_odds"),
        "uniform weight": ec.epsr("x", "label", a=1.0, b=1.0, score_type="log_odds"),
        "Beta weight": ec.epsr("x", "label", a=2.0, b=2.0, score_type="log_odds"),
    }
    return log(system).select(metric.alias(name) for name, metric in metrics.items()).row(0, named=True)


def risk_at(system: str, a: float) -> float:
    """By the package: the Bayes risk of costs 1 / (1 - a) of a false alarm and 1 / a of a miss."""
    risk = ec.bayes_risk("x", "label", cost_fp=1 / (1 - a), cost_fn=1 / a, score_type="log_odds")
    return float(log(system).select(risk).item())


def areas(system: str) -> tuple[float, float]:
    """Equation 12, written out: the areas below the risks, and below those times a (1 - a) / B(2, 2)."""
    frame = log(system)
    x, second = frame["x"].to_numpy(), frame["label"].to_numpy() == 1
    at = (np.arange(_POINTS) + 0.5) * (2 * _EDGE / _POINTS) - _EDGE
    missed = np.searchsorted(np.sort(x[second]), at, side="right") / len(x)
    alarmed = ((~second).sum() - np.searchsorted(np.sort(x[~second]), at, side="right")) / len(x)
    # Both densities carry a (1 - a), by which log-odds become operating points: it takes the place of what would be divided by.
    a = 1 / (1 + np.exp(-at))
    below_risks = missed * (1 - a) + alarmed * a
    width = 2 * _EDGE / _POINTS
    return float(width * below_risks.sum()), float(width * (6 * a * (1 - a) * below_risks).sum())


def figure_1() -> Table:
    """The legends, and the areas."""
    rows = []
    for system, (cross_entropy, brier) in PRINTED.items():
        found, (uniform, weighted) = losses(system), areas(system)
        rows.append(
            (
                system,
                [
                    printed(found["NCE"], cross_entropy),
                    printed(found["NBS"], brier),
                    by_equation(found["CE"], uniform, relative=2e-6),
                    by_equation(found["uniform weight"], uniform, relative=2e-6),
                    by_equation(3 * found["BS"], weighted, relative=2e-6),
                    by_equation(found["Beta weight"], weighted, relative=2e-6),
                ],
            )
        )
    return Table(
        ["NCE", "NBS", "CE (area)", "epsr(1, 1) (area)", "3 BS (area)", "epsr(2, 2) (area)"],
        rows,
        [
            "Areas are sums over 60,000 operating points of the risks of 100,000 rows: good to 2e-6.",
            "A slip: the area on the right, of weight a (1 - a) / B(2, 2), is three times the Brier score with its factor 1 / K. Normalised it falls out.",
            "The figure's code has costs 1 / a of the second class and 1 / (1 - a) of the first, the text the reverse: the axis runs the other way.",
        ],
    )


def section_3_1() -> Table:
    """What the text says of the curves."""
    half = {system: risk_at(system, 0.5) for system in SYSTEMS}
    ends = {a: {system: risk_at(system, a) for system in SYSTEMS} for a in (0.01, 0.99)}
    brier = {system: losses(system)["NBS"] for system in SYSTEMS}
    return Table(
        list(SYSTEMS),
        [
            (
                "risk at a = 1/2 (twice the error rate)",
                [by_equation(half[system], 2 * _error_rate(system)) for system in SYSTEMS],
            ),
            (
                "the same, of cal",
                [
                    None,
                    by_equation(half["mcs-u"], half["cal"]),
                    by_equation(half["mcs-o"], half["cal"]),
                    above(half["cal-h"], half["cal"], "cal"),
                ],
            ),
            *(
                (
                    f"risk at a = {a}",
                    [None, None, None, below(risks["cal-h"], min(risks["mcs-u"], risks["mcs-o"]), "mcs")],
                )
                for a, risks in ends.items()
            ),
            ("NBS", [None, None, below(brier["mcs-o"], brier["cal-h"], "cal-h"), None]),
        ],
    )


def _error_rate(system: str) -> float:
    frame = log(system)
    return float(np.mean((frame["x"].to_numpy() > 0) != (frame["label"].to_numpy() == 1)))


def draw_figure_1() -> TopLevelMixin:
    """Its two panels."""
    from polars_ec.papers.posteriors.risk_curves import draw

    return draw({system: _curve(system) for system in SYSTEMS}, PRINTED)


def _curve(system: str) -> pl.DataFrame:
    """`a`, `risk`: of a binned sketch, the first operating point in each of 200 steps."""
    sketch = ec.sketch(log(system), "x", "label", score_type="log_odds")
    points = sketch.bayes_risk().select(a="t", risk="bayes_risk").filter(pl.col("a").is_between(0, 1, closed="none"))
    step = (200 * pl.col("a")).floor()
    return points.sort("a").group_by(step.alias("step"), maintain_order=True).first().drop("step")
