"""The page beside the table: what Python makes of the same log, from every kind of source; and the verdict above a table on a terminal."""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import pty
import subprocess
import sys
from dataclasses import fields

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli.html_page import MadePage
from polars_ec.page.of_log import contents_of
from tests.support.cli import READ, ROOT, fails, invoke, sketch

N = 900
BY = ("--by", "carrier")
MONTHLY = (*BY, "--time", "ts", "--every", "1mo", "--cost-fn", "5")


def make_log():
    rng = np.random.default_rng(3)
    late = rng.random(N) < 0.3
    llr = rng.normal(size=N) + 1.2 * late
    hours = np.sort(rng.integers(0, 24 * 90, N))
    return pl.DataFrame(
        {
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in hours],
            "day": hours // 24,
            "carrier": rng.choice(["AA", "B6", "UA"], N),
            "code": rng.choice([7, 10], N),
            "p": 1 / (1 + np.exp(1 - llr)),
            "llr": llr,
            "y": [None if missing else bool(y) for y, missing in zip(late, rng.random(N) < 0.05, strict=True)],
            "late": np.where(late, "yes", "no"),
            "w": rng.integers(0, 5, N) / 2,
            "v": pl.Series(rng.dirichlet([1, 1, 1], N).tolist(), dtype=pl.Array(pl.Float64, 3)),
            "c": rng.integers(0, 3, N),
        }
    )


LOG = make_log()
MONTH = pl.col("ts").dt.truncate("1mo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.drop("v").write_csv(folder / "log.csv")
    for (carrier,), rows in LOG.group_by("carrier", maintain_order=True):
        part = folder / "hive" / f"carrier={carrier}"
        part.mkdir(parents=True)
        rows.drop("carrier").write_parquet(part / "part.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    days = ("--time", "ts", "--every", "1d", "--cost-fn", "5", "--cluster", "day")
    sketch(folder / "log.parquet", out=folder / "sketches", args=(*READ, *BY, *days))
    return folder


@pytest.fixture
def contents(monkeypatch, tmp_path):
    """What the page of a report is made of, and that the report prints the table that it prints without a page."""
    made = []
    monkeypatch.setattr(MadePage, "write", lambda page: made.append(page.contents))

    def of(*args):
        result = invoke("report", *args, "--html", tmp_path / "page.html")
        assert result.exit_code == 0, result.output
        alone = [arg for arg in args if arg not in of.page_only]
        assert result.stdout == invoke("report", *alone).stdout
        return made.pop()

    of.page_only = ()
    return of


def same(ours, theirs):
    """Two contents, but for the titles."""
    for name in (field.name for field in fields(theirs)):
        one, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, pl.DataFrame):
            assert_frame_equal(one, other, rel_tol=1e-12, abs_tol=1e-14)
        elif name != "curves":
            assert one == other, name
