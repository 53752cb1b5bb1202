"""Logs with a row per model and item, for the tests of comparisons and pages: each has a column of scores per model in the wide log."""

from __future__ import annotations

import numpy as np
import polars as pl

RNG = np.random.default_rng(6)
N = 600
WIDE = pl.DataFrame(
    {
        "id": np.arange(N) // 2,
        "month": np.arange(N) // 200,
        "epoch": np.arange(N) % 2,
        "topic": np.array(["law", "code"])[np.arange(N) // 2 % 2],
        "w": RNG.integers(1, 4, N).astype(float),
        "bad": RNG.random(N) < 0.3,
    }
).with_columns(
    **{
        name: 1 / (1 + (-(pl.col("bad") * 2.0 - 1.2 + pl.Series(RNG.normal(0, spread, N)))).exp())
        for name, spread in (("judge a", 1.0), ("judge b", 1.5), ("judge c", 2.0))
    }
)
MODELS = ["judge a", "judge b", "judge c"]
LONG = WIDE.unpivot(
    MODELS, index=["id", "month", "epoch", "topic", "w", "bad"], variable_name="judge", value_name="p"
).sample(fraction=1, shuffle=True, seed=1)
OF_ITEMS = {"model": "judge", "item": ["id", "epoch"]}
