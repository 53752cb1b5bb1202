"""Small logs, in the notation of the paper, on which equations without printed numbers are held against the package.

The paper counts classes from 1, and `H2` is the class of interest: class 1 here.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from examples.papers.numbers import Table, counted, whole
from examples.papers.simulated import Floats, vectors

COUNTS: Floats = np.array([[50.0, 14.0], [6.0, 30.0]])
"""N_ij: rows are true classes, columns decisions."""
RATES: Floats = COUNTS / COUNTS.sum(axis=1, keepdims=True)
"""R_ij = N_ij / N_i*."""
PRIORS: Floats = COUNTS.sum(axis=1) / COUNTS.sum()
"""P_i = N_i* / N."""
DECIDED = counted(COUNTS)
"""The log of `COUNTS`."""
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
POSTERIORS: Floats = np.array(
    [
        [0.70, 0.20, 0.10],
        [0.50, 0.30, 0.20],
        [0.25, 0.40, 0.35],
        [0.85, 0.05, 0.10],
        [0.15, 0.75, 0.10],
        [0.45, 0.35, 0.20],
        [0.05, 0.55, 0.40],
        [0.10, 0.20, 0.70],
        [0.05, 0.50, 0.45],
        [0.40, 0.25, 0.35],
    ]
)
"""s(x) of ten samples, of three classes."""
SCORED = pl.DataFrame({"label": LABELS, "s": vectors(POSTERIORS)})
"""The log of `POSTERIORS`."""
SHARES: Floats = np.bincount(LABELS) / len(LABELS)
"""P_i of these samples."""
COSTS: Floats = np.array([[0.0, 1.0, 4.0, 0.8], [2.0, 0.0, 1.0, 0.8], [3.0, 2.0, 0.0, 0.8]])
"""c_ij of three classes and four decisions: the classes, and to abstain."""
COST_MATRIX = ec.CostMatrix(COSTS.tolist())
"""The same as the package has it."""
BINARY_LABELS = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
BINARY_POSTERIORS: Floats = np.array([0.02, 0.10, 0.15, 0.30, 0.45, 0.65, 0.25, 0.55, 0.80, 0.95])
"""P(H2|x) of ten samples, of two classes."""
BINARY = pl.DataFrame({"label": BINARY_LABELS, "s2": BINARY_POSTERIORS})
"""The log of `BINARY_POSTERIORS`."""
BINARY_SHARES: Floats = np.bincount(BINARY_LABELS) / len(BINARY_LABELS)
"""P_i of these samples."""


def values(log: pl.DataFrame, of_rows: pl.Expr) -> list[float]:
    """A number of each row."""
    return [float(x) for x in log.select(of_rows.alias("value"))["value"]]


def by_sample(computed: list[float], expected: Floats, name: str) -> Table:
    """A number of each sample, beside the paper's equation."""
    pairs = enumerate(zip(computed, expected.tolist(), strict=True), start=1)
    return Table([name], [(f"sample {t}", [(ours, theirs)]) for t, (ours, theirs) in pairs])


def decisions(computed: list[float], expected: NDArray[Any]) -> Table:
    """The decision for each sample; the paper counts them from 1."""
    pairs = enumerate(zip(computed, expected.tolist(), strict=True), start=1)
    return Table(["decision"], [(f"sample {t}", [whole(1 + ours, 1 + theirs)]) for t, (ours, theirs) in pairs])
