"""Section 5: occasions to choose a reference prior, each on a simulated log of which the rates are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.calibration.logs import area, by_row, f1, precision, rates
from polars_ec.papers.numbers import Table, alone, by_equation

THRESHOLD = 1.5
"""Of the feature, whose means are the distance of the classes and 0."""
AGREED, LOWEST = 0.01, 0.01
_MOVES, _AREA_MOVES = 0.02, {"sample": 0.025, "practice": 0.07}
_HELD = "Held against the value of the normal distributions; allowed: {}, three standard deviations over 20 draws, which are {}."

Groups = Mapping[str, tuple[float, float]]
"""By name: the share of positives, and the distance of their feature from that of negatives."""


def _log(groups: Groups, rows: int = 50_000) -> pl.DataFrame:
    generator = np.random.RandomState(0)
    logs = []
    for group, (share, distance) in groups.items():
        logs.append(by_row(generator, rows, share, distance).with_columns(group=pl.lit(group)))
    return pl.concat(logs)


def populations() -> Table:
    """Precision of three age groups, and at the average prior over all."""
    groups = {"children": (0.01, 2.2), "adults": (0.04, 2.2), "elderly": (0.2, 1.8)}
    return _compared(groups, "precision", precision, "overall", "the average prior")


def agreements() -> Table:
    """F1 of four days, and at the prior that both sides have agreed on."""
    days = {f"day {k}": (share, 2.2) for k, share in enumerate((0.005, 0.03, 0.004, 0.1), start=1)}
    return _compared(days, "f1", f1, AGREED, f"the agreed prior, {AGREED:g}")


def _compared(
    groups: Groups,
    metric: Literal["precision", "f1"],
    formula: Callable[[float, float, float], float],
    prior: float | Literal["overall"],
    called: str,
) -> Table:
    """A metric of groups at their own priors, and at one."""
    log = _log(groups)
    report = ec.report(
        log,
        "feature",
        "label",
        by="group",
        metrics=[metric],
        prior=prior,
        score_type="log_odds",
        threshold=THRESHOLD,
    )
    by_group = {row["group"]: row for row in report.iter_rows(named=True)}
    reference = float(log["label"].to_numpy().mean()) if prior == "overall" else prior
    rows = []
    for group, (_, distance) in groups.items():
        row = by_group[group]
        cells = [alone(row["class_prior"])]
        for name, at in ((metric, row["class_prior"]), (f"{metric}_at_prior", reference)):
            cells.append(by_equation(row[name], formula(at, *rates(THRESHOLD, distance)), within=_MOVES))
        rows.append((group, cells))
    return Table(["share of positives", metric, f"at {called}"], rows, notes=[_HELD.format(_MOVES, "0.002 to 0.007")])


def deployment() -> Table:
    """AUC-PR of a sample at the lowest prior to be expected, and of the log that then comes."""
    logs = {"sample": (0.3, 2.2), "practice": (LOWEST, 2.2)}
    sketch = ec.sketch(_log(logs), "feature", "label", by="group", score_type="log_odds")
    rows = []
    for group, (share, distance) in logs.items():
        cells = [alone(share, decimals=2)]
        one = sketch.filter(pl.col("group") == group)
        for prior in (share, LOWEST):
            found = one.evaluate("average_precision", prior=prior)["average_precision"].item()
            cells.append(by_equation(found, area(prior, distance), within=_AREA_MOVES[group]))
        rows.append((group, cells))
    return Table(
        ["share of positives", "AUC-PR at this share", f"AUC-PR at {LOWEST:g}"],
        rows,
        notes=[
            "The sample promises as much as practice keeps only at the lowest prior.",
            _HELD.format("0.025 of the sample and 0.07 of practice", "up to 0.008 and 0.023"),
        ],
    )
