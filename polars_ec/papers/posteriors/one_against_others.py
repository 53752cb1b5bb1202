"""Appendix D: one class against the others, of the ten classes that are at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_ec.papers import written_out
from polars_ec.papers.numbers import Number, Table, alone, by_equation
from polars_ec.papers.posteriors.four_systems import costs_of
from polars_ec.papers.posteriors.table_2 import COLUMNS, SHIPPED_SYSTEMS, measured
from polars_ec.papers.score_files import shipped
from polars_ec.papers.simulated import vectors


def _detector(log: pl.DataFrame, of_class: int) -> pl.DataFrame:
    """Whether the class is this one, and the log posteriors that it is not and that it is."""
    logs = log["score"].to_numpy()
    others = np.logaddexp.reduce(np.delete(logs, of_class, axis=1), axis=1)
    return pl.DataFrame(
        {
            "label": (log["label"] == of_class).cast(pl.Int16),
            "score": vectors(np.stack([others, logs[:, of_class]], axis=1)),
        }
    )


def one_against_others() -> Table:
    """The columns of Table 2 for the first two classes of CIFAR10, raw, calibrated and by PAV."""
    rows: list[tuple[str, Sequence[Number | None]]] = []
    cifar10 = shipped(SHIPPED_SYSTEMS["cifar10-resnet20"])
    for of_class in (0, 1):
        log = _detector(cifar10, of_class)
        scores, label = log["score"].to_numpy(), log["label"].to_numpy()
        risks = [written_out.normalised_risk(scores, label, costs) for costs in costs_of(2).values()]
        expected = {
            **dict(zip(COLUMNS, risks, strict=False)),
            "NCE": written_out.normalised_cross_entropy(scores, label),
            "ECEmc, %": 100 * written_out.top_label_error(np.exp(scores), label),
            "ECE, %": 100 * written_out.calibration_error(np.exp(scores[:, 1]), label),
        }
        for made, values in measured(log, seed=0).items():
            numbers = [
                by_equation(value, expected[name]) if made == "raw" and name in expected else alone(value)
                for name, value in zip(COLUMNS, values, strict=True)
                if value is not None
            ]
            rows.append((f"class {of_class + 1} {made}", numbers))
    return Table(
        COLUMNS,
        rows,
        [
            "The paper has classes 1 and 2 of the 100 of CIFAR100, whose scores are not at hand; here they are of CIFAR10 Resnet-20, in the same way: the "
            "posterior of the class, and 1 less that of all others. So no number can be the printed one: those of raw are held against the paper's equations, in NumPy.",
        ],
    )
