"""The sketch in DuckDB against its definition, row by row in plain Python."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import polars as pl
import pytest
from mpmath import mp, mpf

import polars_ec as ec

COLUMNS = {
    "class": pl.Int8,
    "bin": pl.Int32,
    "above": pl.Int16,
    "n": pl.Int64,
    "weight": pl.Float64,
    "weight2": pl.Float64,
    "log_odds": pl.Float64,
    "posterior": pl.Float64,
    "log_loss": pl.Float64,
    "brier": pl.Float64,
}
POSTERIORS = [0.0, 5e-324, 1e-300, 1e-30, 1e-9, 0.1, 0.25, 0.5, 0.50001, 0.75, 0.9, 1 - 1e-9, 1 - 2**-53, 1.0]
LOG_ODDS = [-math.inf, -800.0, -64.001, -64.0, -63.99, -1.0, -1e-9, -0.0, 0.0, 1 / 64, 0.5, 2.0, 63.999, 64.0, math.inf]
RAW = [-math.inf, -1e308, -3.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.3, 1.0, math.e, 7.0, 1e308, math.inf]
SCORES = {"posterior": POSTERIORS, "log_odds": LOG_ODDS, "llr": LOG_ODDS, "raw": RAW}
WRONG = {"posterior": [-0.1, 1.5, math.inf], "log_odds": [], "llr": [], "raw": []}


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    ec.register(connection)
    return connection


def bin_of(x: float, score_type: str, r: int) -> int:
    if score_type == "raw":
        if x == 0:
            return 0
        if math.isinf(x):
            return int(math.copysign(2 * 746 * r + 2, x))
        return int(math.copysign(1, x)) * (math.floor(r * math.log(abs(x))) + 746 * r + 1)
    if score_type == "posterior":
        x = -math.inf if x == 0 else math.inf if x == 1 else math.log(x) - math.log(1 - x)
    if math.isinf(x):
        return -64 * r - 2 if x < 0 else 64 * r + 1
    return -64 * r - 1 if x < -64 else 64 * r if x >= 64 else math.floor(x * r)


def losses(x: float, y: int, score_type: str) -> list[float]:
    """Log-odds, posterior, log loss and Brier loss of a row, in 60 digits."""
    with mp.workdps(60):
        if score_type == "posterior":
            q1, q0 = mpf(x), 1 - mpf(x)
        else:
            q1, q0 = 1 / (1 + mp.exp(-mpf(x))), 1 / (1 + mp.exp(mpf(x)))
        if score_type != "posterior":
            log_odds = mpf(x)
        else:
            log_odds = -mp.inf if q1 == 0 else mp.inf if q0 == 0 else mp.log(q1) - mp.log(q0)
        of_class = q1 if y else q0
        return [float(v) for v in (log_odds, q1, mp.inf if of_class == 0 else -mp.log(of_class), (1 - of_class) ** 2)]


def sketch(rows: list[tuple], score_type: str, r: int, thresholds: list[float]) -> dict[tuple, list[float]]:
    """Cells (group, class, bin, above) with n and the sums."""
    cells: dict[tuple, list[float]] = {}
    for group, score, label, weight in rows:
        if score is None or label is None or weight is None:
            key, values = (group, None, None, None), [0.0] * 6
        elif (
            math.isnan(score)
            or (score_type == "posterior" and not 0 <= score <= 1)
            or label not in (0, 1)
            or not 0 <= weight < math.inf
        ):
            key, values = (group, -1, None, None), [0.0] * 6
        else:
            key = (group, label, bin_of(score, score_type, r), sum(score > t for t in thresholds))
            values = [weight, weight**2]
            if score_type != "raw":
                values += [weight * v if weight else 0.0 for v in losses(score, label, score_type)]
        cell = cells.setdefault(key, [0] * (1 + len(values)))
        cells[key] = [cell[0] + 1, *(a + b for a, b in zip(cell[1:], values, strict=False))]
    return cells


def log_of(score_type: str) -> list[tuple[Any, float | None, int | None, float | None]]:
    rows: list[tuple[Any, float | None, int | None, float | None]] = []
    for i, score in enumerate(SCORES[score_type]):
        for label in (0, 1):
            for group in ("a", None):
                rows += [(group, score, label, 1.5 + i)] * (1 + i % 2)
    rows += [("a", score, 1, 1.0) for score in [*WRONG[score_type], math.nan, None]]
    rows += [("a", 0.5, label, 1.0) for label in (None, 2, -1)]
    rows += [("b", None, 7, 1.0), ("b", 0.5, 1, 0.0), ("b", 0.5, 0, 2.0), ("c", math.nan, 1, None)]
    rows += [("b", SCORES[score_type][0], 1, 0.0)]
    return rows


def sketched(connection, rows: list[tuple], arguments: str) -> pl.DataFrame:
    schema = {"group": pl.String, "score": pl.Float64, "label": pl.Int64, "weight": pl.Float64}
    connection.register("log", pl.DataFrame(rows, schema=schema, orient="row"))
    return pl.DataFrame(connection.sql(f"FROM ec.sketch('log', score, label, {arguments})").to_arrow_table())


def check(frame: pl.DataFrame, cells: dict[tuple, list[float]], keys: int) -> None:
    found = {row[:keys]: row[keys:] for row in frame.iter_rows()}
    assert len(found) == frame.height
    assert found.keys() == cells.keys()
    for key, values in cells.items():
        expected = values[: len(found[key])]
        assert found[key] == pytest.approx(expected, rel=1e-12, abs=1e-15), key


@pytest.mark.parametrize("resolution", [1, 64, 100])
@pytest.mark.parametrize("score_type", list(SCORES))
def test_rows_are_those_of_the_contract(connection, score_type: str, resolution: int) -> None:
    rows = [(*row[:3], 1.0) for row in log_of(score_type)]
    thresholds = [-math.inf, 0.0, 0.25, 0.5]
    frame = sketched(
        connection,
        rows,
        f"groups := ['group'], score_type := '{score_type}', resolution := {resolution}, "
        "thresholds := [0.5, 0.25, '-inf'::DOUBLE, 0, 0.5]",
    )
    names = list(COLUMNS)[:6] if score_type == "raw" else list(COLUMNS)
    assert dict(frame.schema) == {"group": pl.String} | {name: COLUMNS[name] for name in names}
    check(frame, sketch(rows, score_type, resolution, thresholds), 4)


@pytest.mark.parametrize("score_type", list(SCORES))
def test_weights(connection, score_type: str) -> None:
    rows = log_of(score_type) + [("a", 0.5, 1, w) for w in (-1.0, math.nan, math.inf, None)]
    frame = sketched(connection, rows, f"groups := ['GROUP'], score_type := '{score_type}', weight := weight")
    check(frame, sketch(rows, score_type, 64, []), 4)


def test_many_thresholds_and_no_groups(connection) -> None:
    rows = [(None, *row[1:3], 1.0) for row in log_of("posterior")]
    thresholds = [i / 20 for i in range(20)]
    frame = sketched(connection, rows, f"thresholds := {thresholds}")
    assert dict(frame.schema) == COLUMNS
    cells = sketch(rows, "posterior", 64, thresholds)
    check(frame, {key[1:]: values for key, values in cells.items()}, 3)


def test_several_groups_and_expressions(connection) -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE days AS SELECT DATE '2025-01-01' + CAST(i % 40 AS INTEGER) AS day, i % 3 AS team, "
        "CASE WHEN i % 7 = 0 THEN 'nan'::DOUBLE ELSE 2 END AS size, i / 100 AS score, i % 2 = 0 AS late FROM range(100) t(i)"
    )
    frame = pl.DataFrame(
        connection.sql(
            "WITH months AS (SELECT *, month(day) AS month FROM days) "
            "FROM ec.sketch('months', 1 - score, NOT late, groups := ['size', 'month', 'team'])"
        ).to_arrow_table()
    )
    assert frame.columns == ["team", "size", "month", *COLUMNS]
    assert frame["n"].sum() == 100
    assert frame["size"].is_nan().sum() > 0
    assert frame.filter(pl.col("class") == 1)["posterior"].sum() == pytest.approx(
        sum(1 - i / 100 for i in range(1, 100, 2))
    )


def test_no_rows(connection) -> None:
    assert sketched(connection, [], "groups := ['group']").height == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("score, label, groups := ['month']", "month"),
        ("score, label, score_type := 'decision'", "decision"),
        ("score, label, resolution := 0", "resolution"),
        ("score, label, resolution := 1.5", "resolution"),
        ("score, label, thresholds := ['nan'::DOUBLE]", "thresholds"),
        ("score, label, thresholds := [NULL]", "thresholds"),
        ("label, score", "swapped"),
        ("score, label, wieght := 1", "wieght|supplied arguments"),
    ],
)
def test_bad_calls_are_errors(connection, arguments: str, message: str) -> None:
    connection.register("log", pl.DataFrame({"score": [0.3], "label": [1]}))
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"FROM ec.sketch('log', {arguments})").fetchall()
