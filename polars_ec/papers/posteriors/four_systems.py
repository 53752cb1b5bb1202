"""What Figures 2 and 3 share: the metrics of four systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import polars as pl

import polars_ec as ec
from polars_ec.papers.posteriors.synthetic import SYSTEMS

Calibrator = Literal["affine", "temperature", "histogram"]
Rule = Literal["cross_entropy", "brier"]

Bars = Mapping[str, Mapping[str, float]]
"""Of each metric, the number of each system."""

WHOLE = ("NRisk-01", "NRisk-01r", "NRisk-im", "NCE", "NBS")
"""The left panels; what is not of them is of the right ones."""


def costs_of(n_classes: int) -> dict[str, list[list[float]]]:
    """The three cost matrices: 0-1, with a decision to reject that costs 0.1, and 10 for errors on the last class."""
    zero_one = [[float(i != j) for j in range(n_classes)] for i in range(n_classes)]
    return {
        "NRisk-01": zero_one,
        "NRisk-01r": [[*row, 0.1] for row in zero_one],
        "NRisk-im": [*zero_one[:-1], [10 * cost for cost in zero_one[-1]]],
    }


def of_systems(frame: pl.DataFrame, metric: Callable[[str], pl.Expr]) -> dict[str, float]:
    """A metric of each system's column."""
    return frame.select(metric(system).alias(system) for system in SYSTEMS).row(0, named=True)


def whole_performance(frame: pl.DataFrame, n_classes: int) -> dict[str, dict[str, float]]:
    """The left panel."""
    risks = {
        name: of_systems(frame, partial(ec.nec, label="label", costs=costs, score_type="log_posteriors"))
        for name, costs in costs_of(n_classes).items()
    }
    return {
        **risks,
        "NCE": of_systems(frame, partial(ec.nce, label="label", score_type="log_posteriors")),
        "NBS": of_systems(frame, partial(ec.nbs, label="label", score_type="log_posteriors")),
    }


def in_percent(shares: Mapping[str, float]) -> dict[str, float]:
    """Calibration errors as the paper has them."""
    return {system: 100 * share for system, share in shares.items()}


def top_label_errors(frame: pl.DataFrame) -> dict[str, float]:
    """The multi-class calibration error, in percent."""
    return in_percent(of_systems(frame, partial(ec.ece_mc, label="label", score_type="log_posteriors")))
