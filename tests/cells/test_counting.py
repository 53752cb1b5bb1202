"""Rows counted by group and cell, which the engine has as one number where it can."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.arguments.scales import POSTERIOR
from polars_ec.sketches.counting import CellCodes
from polars_ec.sketches.grid import LOG_0, LOG_1, Grid, SketchScoreType, posterior_logs

ENUM = pl.Enum(["z", "y", "x"])
KEYS = {
    "string": pl.Series(["a", "", "a string too long to be kept in place", None]),
    "categorical": pl.Series(["a", "b", "c", None], dtype=pl.Categorical),
    "own_categories": pl.Series(["a", "b", "c", None], dtype=pl.Categorical(pl.Categories("own", physical=pl.UInt8))),
    "enum": pl.Series(["x", "y", "z", None], dtype=ENUM),
    "boolean": pl.Series([True, False, True, None]),
    "int64": pl.Series([-(2**63), 2**63 - 1, 0, None]),
    "uint32": pl.Series([0, 2**32 - 1, 7, None], dtype=pl.UInt32),
    "uint64": pl.Series([0, 2**64 - 1, 7, None], dtype=pl.UInt64),
    "int128": pl.Series([-(2**100), 2**100, 0, None], dtype=pl.Int128),
    "float": pl.Series([math.nan, -math.inf, 0.5, None]),
    "decimal": pl.Series([Decimal("1.50"), Decimal("-3.25"), Decimal("0.00"), None]),
    "date": pl.Series([date(1, 1, 1), date(2026, 2, 28), date(9999, 12, 31), None]),
    "datetime": pl.Series([datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, 2, tzinfo=UTC), None, None]),
    "duration": pl.Series([timedelta(days=-1), timedelta(microseconds=1), timedelta(days=900), None]),
    "time": pl.Series([time(0), time(23, 59, 59, 999999), time(12), None]),
    "list": pl.Series([[1, 2], [], [None], None]),
    "struct": pl.Series([{"a": 1}, {"a": None}, {"a": 2}, {"a": 3}]),
    "binary": pl.Series([b"\x00", b"\xff", b"", None]),
    "null": pl.Series([None, None, None, None], dtype=pl.Null),
}


@pytest.mark.parametrize("name", KEYS)
def test_group_columns_come_back_as_they_were(name: str) -> None:
    random, keys = np.random.default_rng(3), KEYS[name].alias("key")
    choice = pl.Series(random.integers(0, 4, 500))
    log = pl.DataFrame({"key": keys.gather(choice), "p": random.random(500), "y": random.random(500) < 0.5})
    sketch = log.ec.sketch("p", "y", by="key", resolution=1)
    assert sketch.frame.schema["key"] == keys.dtype
    counted = sketch.frame.group_by("key").agg(pl.col("n").sum())
    expected = log.group_by("key").agg(pl.len().cast(pl.Int64).alias("n"))
    assert sorted(map(repr, counted.rows())) == sorted(map(repr, expected.rows()))
    assert sorted(map(repr, sketch.sums["key"].unique())) == sorted(map(repr, log["key"].unique()))
    if name not in ("list", "struct"):
        assert sketch.frame["key"].to_list() == sketch.frame["key"].sort(nulls_last=True).to_list() or name == "float"


# Whole numbers of few bits are counted as one number together; these fill what it holds, and more.
TOGETHER = {
    "as one number": ["uint32", "boolean", "int8"],
    "one too many": ["string", "date", "int16", "boolean"],
    "beside others": ["categorical", "float", "int64", "enum"],
    "none": ["int64", "datetime"],
}


@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)
def test_several_group_columns_come_back_as_they_were(names: list[str]) -> None:
    random = np.random.default_rng(4)
    more = {
        "int8": pl.Series([-128, 127, 0, None], dtype=pl.Int8),
        "int16": pl.Series([-(2**15), 2**15 - 1, -1, None], dtype=pl.Int16),
    }
    columns = {name: {**KEYS, **more}[name].gather(random.integers(0, 4, 2000)).alias(name) for name in names}
    log = pl.DataFrame({**columns, "p": random.choice([0.2, 0.3, 0.9], 2000), "y": random.random(2000) < 0.5})
    frame = log.ec.sketch("p", "y", by=names, resolution=1).frame
    bins = {p: math.floor(math.log(p / (1 - p))) for p in (0.2, 0.3, 0.9)}
    rows = log.select(
        *names,
        pl.col("y").cast(pl.Int8).alias("class"),
        pl.col("p").replace_strict(bins, return_dtype=pl.Int32).alias("bin"),
    )
    expected = rows.group_by(rows.columns).agg(pl.len().cast(pl.Int64).alias("n")).sort(rows.columns, nulls_last=True)
    assert_frame_equal(frame.drop("above"), expected)


def test_counts_weights_and_losses_are_those_of_the_rows() -> None:
    random = np.random.default_rng(5)
    n = 3000
    p = random.choice([0.0, 1.0, 0.5, 1 / 11, 0.3, 1e-300, 1 - 2**-53, *random.random(6)], n)
    y, g, h = random.integers(0, 2, n), random.integers(0, 5, n), random.integers(0, 30, n) * 10**14
    w = random.choice([0.0, 0.5, 3.0], n)
    log = pl.DataFrame({"g": [f"g{i}" for i in g], "h": h, "p": p, "y": y, "w": w})
    thresholds = [0.5, 1 / 11]
    sketch = log.ec.sketch("p", "y", by=["g", "h"], weight="w", thresholds=thresholds, resolution=4)
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log(1 - p)
        true = np.where(y == 1, p, 1 - p)
        loss = np.where(w == 0, 0.0, -np.log(true)) * np.where(w == 0, 1.0, w)
    bins = np.clip(np.floor(np.clip(log_odds, -1000, 1000) * 4), -257, 256)
    bins = np.select([p == 0, p == 1], [-258, 257], bins)
    rows = log.with_columns(
        pl.Series("bin", bins.astype(np.int32)),
        pl.Series("class", y.astype(np.int8)),
        pl.Series("above", sum((p > t).astype(np.int16) for t in thresholds)),
        n=pl.lit(1, dtype=pl.Int64),
        weight="w",
        weight2=pl.col("w") ** 2,
        log_loss=pl.Series(loss),
        brier=pl.Series(w * (1 - true) ** 2),
        posterior=pl.Series(w * p),
    )
    cells = rows.group_by("g", "h", "class", "bin", "above").agg(pl.col("n", "weight", "weight2").sum())
    assert_frame_equal(sketch.frame, cells.sort("g", "h", "class", "bin", "above"), rel_tol=1e-12)
    sums = rows.group_by("g", "h", "class", "above").agg(pl.col("log_loss", "brier", "posterior").sum())
    assert_frame_equal(sketch.sums, sums.sort("g", "h", "class", "above"), rel_tol=1e-12)


def test_many_groups_of_wide_keys() -> None:
    random = np.random.default_rng(7)
    columns = {name: random.integers(-(2**62), 2**62, 2000) for name in "abc"}
    log = pl.DataFrame({**columns, "p": random.random(2000), "y": random.random(2000) < 0.5})
    frame = log.ec.sketch("p", "y", by=["a", "b", "c"]).frame
    assert_frame_equal(frame.select("a", "b", "c"), log.select("a", "b", "c").sort("a", "b", "c"))


def test_long_sums_are_as_precise_as_those_of_the_engine() -> None:
    # The same value over and over is what a sum rounds most, and always to one side.
    n = 1_000_000
    log = pl.DataFrame(
        {"p": pl.repeat(0.1, n, eager=True), "y": pl.repeat(0, n, eager=True), "w": pl.repeat(0.1, n, eager=True)}
    )
    sums = log.ec.sketch("p", "y").sums
    assert sums["posterior"].item() == pytest.approx(0.1 * n, rel=2e-11)
    assert log.ec.sketch("p", "y", weight="w").frame["weight"].item() == pytest.approx(0.1 * n, rel=2e-11)


@pytest.mark.parametrize(
    ("score_type", "resolution", "thresholds"),
    [
        ("posterior", 64, (-1.0, 0.0, 1 / 11, 0.5, 0.5 + 2**-52, 1.0, 2.0)),
        ("posterior", 1, ()),
        ("log_odds", 8, (-math.inf, -70.0, -3.0, 0.0, 1 / 3, 64.0, math.inf)),
        ("raw", 2, (-1e300, -1.0, 0.0, 1.0, 5e-324)),
    ],
)
def test_cells_are_numbers_that_ascend_and_tell_class_bin_and_side(
    score_type: SketchScoreType, resolution: int, thresholds: tuple[float, ...]
) -> None:
    grid = Grid(score_type, resolution, tuple(sorted(thresholds)))
    at = [x for x in [*thresholds, 0.0, 0.25, 0.75, 1.0, 1e-300] if abs(x) <= 1 or score_type != "posterior"]
    at = (
        [x for x in at if x >= 0]
        if score_type == "posterior"
        else [*at, -math.inf, math.inf, *np.linspace(-80, 80, 99)]
    )
    scores = pl.Series([y for x in at for y in (np.nextafter(x, -math.inf), x, np.nextafter(x, math.inf))])
    scores = scores.filter(scores.is_between(0, 1)) if score_type == "posterior" else scores
    rows = pl.DataFrame({"s": scores}).join(pl.DataFrame({"c": [-1, 0, 1, None]}, schema={"c": pl.Int8}), how="cross")
    codes, score = CellCodes(grid), pl.col("s")
    found = rows.with_columns(
        cell=codes.encoded(pl.col("c"), score, grid.bin(score, grid.scale.position(score))),
        expected_bin=pl.when(pl.col("c") >= 0).then(grid.bin(score, grid.scale.position(score))),
        expected_above=pl.when(pl.col("c") >= 0).then(
            pl.sum_horizontal([(score > t).cast(pl.Int16) for t in grid.thresholds] or [pl.lit(0)])
        ),
    ).with_columns(**codes.decoded(pl.col("cell")))
    assert found["cell"].is_between(0, codes.number - 1).all()
    assert_frame_equal(
        found.select("class", "bin", "above"),
        found.select(
            pl.col("c").alias("class"),
            pl.col("expected_bin").alias("bin"),
            pl.col("expected_above").cast(pl.Int16).alias("above"),
        ),
    )
    order = found.sort("cell").select("class", "bin", "above")
    assert_frame_equal(order, order.sort("class", "bin", "above", nulls_last=True))


@pytest.mark.parametrize("resolution", [1, 64, 1000, 4096])
def test_posteriors_next_to_an_edge_are_in_the_bin_of_the_engines_logarithm(resolution: int) -> None:
    grid = Grid("posterior", resolution)
    edges = 1 / (1 + np.exp(-np.arange(-64 * resolution - 2, 37 * resolution, max(1, resolution // 64)) / resolution))
    near = [np.nextafter(edges, side) for side in (0, 1)]
    # Of resolution 1000 and 4096, where a logarithm that is off by a unit in the last place is another bin.
    off = [0.003073071272857944, 0.1545959159640307, 0.9306682550156387, 0.0002878359354814648, 0.20335134257761123]
    hostile = [*off, 0.0, 5e-324, 1e-310, 2.3e-308, 1e-28, 1.6e-28, 0.5, 1 - 2.0**-53, 1.0, 0.6]
    score = pl.Series(np.concatenate([edges, *near, np.random.default_rng(0).random(5000), hostile, edges]))
    of_engine = pl.select(*(log.alias(str(i)) for i, log in enumerate(POSTERIOR.share_logs(pl.lit(score)))))
    expected = pl.select(grid.bin(pl.lit(score), grid.scale.position(pl.lit(score)))).to_series()
    q = pl.col("q")
    logs = pl.DataFrame({"q": score}).select(posterior_logs(q, [grid]).alias("logs")).unnest("logs")
    found = logs.select(grid.bin(pl.lit(score), pl.col(LOG_1) - pl.col(LOG_0))).to_series()
    assert found.to_list() == expected.to_list()
    np.testing.assert_allclose(logs[LOG_0].to_numpy(), of_engine["0"].to_numpy(), rtol=3e-16)
    np.testing.assert_allclose(logs[LOG_1].to_numpy(), of_engine["1"].to_numpy(), rtol=3e-16)
