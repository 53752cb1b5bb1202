"""Score sets of real data: those that are shipped, and files of a user."""

from __future__ import annotations

from pathlib import Path

import polars as pl

SHIPPED = Path(__file__).parent / "scores"
"""Posteriors of four systems of Ferrer and Ramos, Table 2, from the public repositories of L. Ferrer (MIT)."""


def shipped(name: str) -> pl.DataFrame:
    """Labels, and log posteriors as a column of vectors."""
    return as_log(pl.read_parquet(SHIPPED / f"{name}.parquet"))


def as_log(frame: pl.DataFrame) -> pl.DataFrame:
    """`label`, and `lp0`, `lp1`, ... as the column `score`."""
    return frame.select("label", score=pl.concat_arr([name for name in frame.columns if name != "label"]))
