"""Logs of miscalibrated scores, random ones of few rows, and rows that a calibration is applied to."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import strategies as st

from tests.support.calibration_oracle import sigmoid


def simulated(n: int = 4000, seed: int = 0) -> pl.DataFrame:
    """Log-odds that are miscalibrated in another way in each group, with weights and folds."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, n)
    x = np.round(random.normal(size=n) * 2 + group - 1, 2)
    y = random.random(n) < sigmoid((0.4 + 0.3 * group) * x - 0.5)
    return pl.DataFrame(
        {
            "g": group,
            "x": x,
            "p": sigmoid(x),
            "y": y,
            "w": random.choice([0.0, 0.5, 1.0, 3.0], n),
            "fold": pl.Series(random.integers(0, 5, n), dtype=pl.Int8),
        }
    )


KEYS = st.sampled_from(["a", "b", None])
SCORES = st.sampled_from([0.0, 1.0, 0.5, 0.2, 0.4, 0.7, 0.9, 1e-300, 1 - 2**-53])
POINTS = st.tuples(KEYS, SCORES, st.booleans(), st.sampled_from([1.0, 2.0, 0.25, 0.0]), st.integers(0, 2))
WRONG = st.tuples(KEYS, st.sampled_from([math.nan, None, 2.0]), st.booleans(), st.just(1.0), st.integers(0, 2))


def small_logs(row=POINTS) -> st.SearchStrategy[pl.DataFrame]:
    schema = {"g": pl.String, "p": pl.Float64, "y": pl.Boolean, "w": pl.Float64, "fold": pl.Int8}
    return st.lists(row, max_size=20).map(lambda rows: pl.DataFrame(rows, schema=schema, orient="row"))


def rows_to_calibrate() -> pl.DataFrame:
    """Groups that are calibrated and one that is not, with every kind of score."""
    scores = [0.0, 1e-300, 0.1, 0.5, 0.9, 1 - 2**-53, 1.0, None, math.nan, 1.5]
    log_odds = [-math.inf, -800.0, -2.0, 0.0, 2.0, 800.0, math.inf, None, math.nan, 3.0]
    groups = pl.DataFrame({"g": [0, 1, 2, 3, 4, None]}, schema={"g": pl.Int64})
    return groups.join(pl.DataFrame({"p": scores, "x": log_odds}), how="cross", maintain_order="left_right")
