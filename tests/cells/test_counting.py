"""Rows counted by whole numbers: groups, places in an array, and the engine's group-by where those are too many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.arguments.scales import POSTERIOR
from polars_ec.sketches import counting, log_pass
from polars_ec.sketches import counting as groups
from polars_ec.sketches import counting as table
from polars_ec.sketches.counting import CELL, CellCodes
from polars_ec.sketches.grid import Grid, SketchScoreType, posterior_logs
from tests.support.cases import mostly_slow

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


MANY_KINDS = ("string", "enum", "int64", "datetime", "struct")

# No whole numbers of 64 bits, or with a range that has no room in 63.
BY_THE_ENGINE = {"int64", "uint64", "int128", "float", "decimal", "list", "struct", "binary", "null"}
_WAYS = {
    "places in an array": {"array"},
    "joined groups": {"array"},
    "by the engine": {"engine"},
    "first one, then the other": {"array", "engine"},
}


@pytest.fixture(params=_WAYS)
def way(request, monkeypatch) -> Iterator[set[str]]:
    """Each way in which rows are counted, in batches of few rows; what has counted rows of the test is noted, and checked."""
    ways: set[str] = set()

    def noted(part: type, name: str) -> None:
        add = part.add

        def add_noted(self, *args) -> object:
            counted = add(self, *args)
            if args[-1].height and counted is not False:
                ways.add(name)
            return counted

        monkeypatch.setattr(part, "add", add_noted)

    noted(table.Table, "array")
    noted(counting.GroupBy, "engine")
    monkeypatch.setattr(log_pass, "_BATCH", 100)
    if request.param == "joined groups":
        monkeypatch.setattr(groups, "_LARGEST_ARRAY", 0)
    if request.param == "by the engine":
        monkeypatch.setattr(table, "_LARGEST", 0)
    if request.param == "first one, then the other":
        rooms = iter([True, True])
        monkeypatch.setattr(table.Table, "has_room_for", lambda *_: next(rooms, False))
    yield ways
    assert ways == _WAYS[request.param] or (
        ways == {"engine"} and request.node.callspec.params.get("name") in BY_THE_ENGINE
    )


@pytest.mark.quick("joined groups-*", "*-string", "*-struct")
@pytest.mark.parametrize(
    ("way", "name"),
    # Every kind of key in an array where it can be, and some of each way that they are counted in.
    mostly_slow(product(_WAYS, KEYS), [("joined groups", name) for name in KEYS] + [*product(_WAYS, MANY_KINDS)]),
    indirect=["way"],
)
def test_group_columns_come_back_as_they_were(way: set[str], name: str) -> None:
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


def test_counts_weights_and_losses_are_those_of_the_rows(way: set[str]) -> None:
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


@pytest.mark.parametrize("largest", [0, 2**22], ids=["joined", "array"])
def test_several_threads_agree_on_the_numbers_of_groups(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Each batch has keys that are new, and beyond the range of those before."""
    monkeypatch.setattr(groups, "_LARGEST_ARRAY", largest)
    random, known = np.random.default_rng(7), groups.Groups(["a", "b"])
    batches = [
        pl.DataFrame({"a": random.integers(-i, i, 50), "b": random.integers(0, 3, 50)}).with_columns(
            pl.col("b").replace(0, None)
        )
        for i in range(1, 200)
    ]
    with ThreadPoolExecutor(8) as pool:
        numbers = [*pool.map(known.numbers, batches)]
    keys = known.keys()
    assert keys.is_unique().all()
    for batch, found in zip(batches, numbers, strict=True):
        assert_frame_equal(keys[found], batch)


def test_months_have_places_in_an_array_until_a_key_is_between_them() -> None:
    known, random = groups.Groups(["month", "g"]), np.random.default_rng(3)
    months = pl.datetime_range(datetime(2025, 1, 1), datetime(2027, 12, 1), "1mo", eager=True).to_physical()
    batches = [
        pl.DataFrame({"month": month.gather(random.integers(0, len(month), 50)), "g": random.integers(0, 200, 50)})
        for month in (
            months[5:6],
            months[7:9],
            months[:3].extend(pl.Series([None], dtype=pl.Int64)),
            months,
            months + 1,
        )
    ]
    numbers = []
    for i, batch in enumerate(batches):
        numbers.append(known.numbers(batch))
        assert (known._places is not None) == (i < 4)
    keys = known.keys()
    assert keys.is_unique().all()
    for batch, found in zip(batches, numbers, strict=True):
        assert_frame_equal(keys[found], batch)


@pytest.mark.parametrize("later", [2**63 - 1, -(2**63), 2**62 + 1])
def test_a_key_that_comes_later_may_be_as_far_away_as_numbers_go(monkeypatch: pytest.MonkeyPatch, later: int) -> None:
    monkeypatch.setattr(log_pass, "_BATCH", 10)
    log = pl.DataFrame({"key": [-1 - later] * 30 + [later] * 30, "p": [0.2, 0.7] * 30, "y": [0, 1] * 30})
    for keys in (log["key"], log["key"].reverse()):
        cells = log.with_columns(keys).ec.sketch("p", "y", by="key").frame
        assert cells.group_by("key").agg(pl.col("n").sum()).sort("key").rows() == [
            (key, 30) for key in sorted([-1 - later, later])
        ]


@pytest.mark.filterwarnings("error")
def test_losses_times_weights_are_infinite_beyond_all_floats_and_0_for_weight_0() -> None:
    log = pl.DataFrame({"p": [5e-324, 0.5, 0.0, 1.0], "y": [1, 0, 1, 0], "w": [1e308, 1.0, 0.0, 0.0]})
    by_class = log.ec.sketch("p", "y", weight="w").sums.group_by("class").agg(pl.col("log_loss").sum()).sort("class")
    assert by_class.rows() == [(0, pytest.approx(math.log(2))), (1, math.inf)]


def test_a_table_counts_more_rows_than_fit_in_32_bits() -> None:
    codes = CellCodes(Grid("posterior", 1))
    counts = table.Table(codes.slots(), (), ())
    rows = pl.DataFrame({"__cell": [5, 5, 7]}, schema={"__cell": pl.Int32})
    assert counts.add(np.zeros(3, dtype=np.int64), 1, rows)
    counts._counts[5] = 2**32 - 1  # as if so many had come
    counts._rows = 2**32 + 2
    assert counts.add(np.zeros(3, dtype=np.int64), 1, rows)
    assert counts.tables()[0]["n"].to_list() == [2**32 + 1, 2]


def test_long_sums_are_precise() -> None:
    n = 1_000_000
    log = pl.DataFrame(
        {"p": pl.repeat(0.1, n, eager=True), "y": pl.repeat(0, n, eager=True), "w": pl.repeat(0.1, n, eager=True)}
    )
    sums = log.ec.sketch("p", "y").sums
    assert sums["posterior"].item() == pytest.approx(0.1 * n, rel=2e-12)
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


def test_places_are_added_to_again_and_rows_that_are_not_usable_have_no_sums(monkeypatch) -> None:
    monkeypatch.setattr(table, "_RECENT", 0)
    random = np.random.default_rng(2)
    # The first and the last cell are of wrong and of missing rows.
    counted = table.Table(pl.Series([1, 0, 0, 1]), ["weight"], ["brier"])
    group, cell, weight = random.integers(0, 2, 600), random.integers(0, 4, 600), random.random(600)
    for at in range(0, 600, 100):
        these = slice(at, at + 100)
        rows = pl.DataFrame({CELL: cell[these].astype(np.int32), "weight": weight[these], "brier": 2 * weight[these]})
        assert counted.add(group[these], 2, rows)
    cells, sums = counted.tables()
    assert sums is not None
    both = [(g, c, (group == g) & (cell == c)) for g in range(2) for c in range(4)]
    assert cells.select(pl.exclude("weight")).rows() == [(g, c, rows.sum()) for g, c, rows in both]
    assert cells["weight"].to_list() == pytest.approx([weight[rows].sum() for *_, rows in both])
    of_group = [2 * weight[(group == g) & (cell > 0) & (cell < 3)].sum() for g in range(2)]
    assert sums.rows() == [(g, 0, pytest.approx(of_group[g])) for g in range(2)]


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
    log_0, log_1, found = posterior_logs(score.to_numpy(), grid)
    assert found.tolist() == expected.to_list()
    np.testing.assert_allclose(log_0, of_engine["0"].to_numpy(), rtol=3e-16)
    np.testing.assert_allclose(log_1, of_engine["1"].to_numpy(), rtol=3e-16)
    # In parts, most of which have no posterior next to an edge.
    parts = [posterior_logs(part, grid)[2] for part in np.array_split(score.to_numpy(), 500)]
    assert np.concatenate(parts).tolist() == expected.to_list()
