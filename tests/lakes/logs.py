"""Logs of the tests of lakes, and their reports."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.cli import READ, typed_report

BY = ("--by", "g")


def make_log(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    """Scores, labels, groups, months 1 to 3, codes with zeros before them, dates."""
    random = np.random.default_rng(seed)
    p = ((random.permutation(rows) + 0.5) / rows).round(6)
    index = np.arange(rows)
    return pl.DataFrame(
        {
            "p": p,
            "y": random.random(rows) < p,
            "g": [("a", "b", "c")[i] for i in index % 3],
            "code": [f"{i:03}" for i in index % 4],
            "month": 1 + index * 3 // rows,
        }
    ).with_columns(ts=pl.date(2026, "month", 1))


LOG = make_log()


def write(log: pl.DataFrame, file: Path) -> Path:
    """As a file of the kind that its name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    name = file.name
    if name.endswith(".parquet"):
        log.write_parquet(file)
    elif name.endswith(".csv"):
        log.write_csv(file)
    elif name.endswith(".csv.gz"):
        file.write_bytes(gzip.compress(log.write_csv().encode()))
    elif name.endswith(".arrow"):
        log.write_ipc(file, compression="uncompressed")
    else:
        log.write_ndjson(file)
    return file


def months(folder: Path, suffix: str, log: pl.DataFrame = LOG) -> Path:
    """The log in folders `month=1` and so on, which is a column then."""
    for (month,), rows in log.partition_by("month", as_dict=True).items():
        write(rows.drop("month"), folder / f"month={month}" / f"part{suffix}")
    return folder


def reported(path, *args: str) -> pl.DataFrame:
    """The report by group of what is there."""
    return typed_report(path, *READ, *BY, *args)


def is_report_of(log: pl.DataFrame, path, *args: str) -> None:
    """The report of what is there is the one of these rows."""
    assert_frame_equal(reported(path, *args), ec.report(log, "p", "y", by="g"), rel_tol=1e-12)
