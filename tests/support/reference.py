"""Real score sets, and the values that other implementations computed of them.

They lie in tests/reference (its README.md holds the conventions), and in `examples/papers/scores`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from examples.papers.score_files import SHIPPED

REFERENCE = Path(__file__).parents[1] / "reference"
BINARY = ("pneumoniamnist_resnet50", "sst2_gpt2", "sst2_gpt2_4shot")
TEN_CLASSES = pytest.param("cifar10_resnet-20", marks=pytest.mark.slow)
MULTICLASS = ("agnews_gpt2", TEN_CLASSES, "emotion_final_tst")
# The scale on which each file's posteriors are read; the data made below are read on all of them.
SCALE = {
    "pneumoniamnist_resnet50": "posterior",
    "sst2_gpt2": "log_odds",
    "sst2_gpt2_4shot": "log_posteriors",
    "agnews_gpt2": "log_posteriors",
    "cifar10_resnet-20": "posteriors",
    "emotion_final_tst": "log_posteriors",
}


def scores_of(name: str) -> Path:
    """The file of a score set."""
    own = REFERENCE / "data" / f"{name}.parquet"
    return own if own.exists() else SHIPPED / own.name


@cache
def expected_of(name: str) -> dict[str, Any]:
    return json.loads((REFERENCE / "expected" / f"{name}.json").read_text("utf-8"))


@cache
def log_of(name: str) -> pl.DataFrame:
    """The score set with its scores on every scale."""
    frame = pl.read_parquet(scores_of(name))
    assert frame.schema["label"] == pl.Int16
    log_posteriors = frame.select(pl.exclude("label")).to_numpy()
    return with_scales(frame["label"], log_posteriors, expected_of(name)["empirical_priors"])


def with_scales(label: pl.Series, log_posteriors: np.ndarray, empirical: list[float]) -> pl.DataFrame:
    """Labels, and log posteriors as every kind of score that a metric takes."""
    n_classes = log_posteriors.shape[1]
    names = [f"lp{i}" for i in range(n_classes)]
    frame = pl.DataFrame(log_posteriors, schema=names).insert_column(0, label.alias("label"))
    frame = frame.with_columns(
        log_posteriors=pl.concat_arr(names),
        posteriors=pl.concat_arr([pl.col(name).exp() for name in names]),
        log_likelihoods=pl.concat_arr(
            [pl.col(name) - np.log(share) for name, share in zip(names, empirical, strict=True)]
        ),
    )
    if n_classes == 2:
        log_odds = pl.col("lp1") - pl.col("lp0")
        frame = frame.with_columns(
            log_odds=log_odds, posterior=pl.col("lp1").exp(), llr=log_odds - np.log(empirical[1] / empirical[0])
        )
    return frame.drop(names)
