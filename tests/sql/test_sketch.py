"""The sketch in DuckDB against its definition, row by row in plain Python."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import duckdb
import polars as pl
import pytest
from mpmath import mp, mpf

from tests.support.cases import mostly_slow
from tests.support.database import needs_duckdb_2

COLUMNS = {
    "class": pl.Int8,
    "bin": pl.Int32,
    "above": pl.Int16,
    "n": pl.Int64,
    "weight": pl.Float64,
    "weight2": pl.Float64,
    "log_loss": pl.Float64,
    "brier": pl.Float64,
    "posterior": pl.Float64,
}
POSTERIORS = [0.0, 5e-324, 1e-300, 1e-30, 1e-9, 0.1, 0.25, 0.5, 0.50001, 0.75, 0.9, 1 - 1e-9, 1 - 2**-53, 1.0]
LOG_ODDS = [-math.inf, -800.0, -64.001, -64.0, -63.99, -1.0, -1e-9, -0.0, 0.0, 1 / 64, 0.5, 2.0, 63.999, 64.0, math.inf]
RAW = [-math.inf, -1e308, -3.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.3, 1.0, math.e, 7.0, 1e308, math.inf]
SCORES = {"posterior": POSTERIORS, "log_odds": LOG_ODDS, "llr": LOG_ODDS, "raw": RAW}
WRONG = {"posterior": [-0.1, 1.5, math.inf], "log_odds": [], "llr": [], "raw": []}


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
    """Log loss, Brier loss and posterior of a row, in 60 digits."""
    with mp.workdps(60):
        if score_type == "posterior":
            q1, q0 = mpf(x), 1 - mpf(x)
        else:
            q1, q0 = 1 / (1 + mp.exp(-mpf(x))), 1 / (1 + mp.exp(mpf(x)))
        of_class = q1 if y else q0
        return [float(v) for v in (mp.inf if of_class == 0 else -mp.log(of_class), (1 - of_class) ** 2, q1)]


def sketch(rows: list[tuple], score_type: str, r: int, thresholds: list[float]) -> dict[tuple, list[float]]:
    """Cells (group, class, bin, above) with n and the sums."""
    cells: dict[tuple, list[float]] = {}
    for group, score, label, weight in rows:
        if score is None or label is None or weight is None:
            key, values = (group, None, None, None), [0.0] * 5
        elif (
            math.isnan(score)
            or (score_type == "posterior" and not 0 <= score <= 1)
            or label not in (0, 1)
            or not 0 <= weight < math.inf
        ):
            key, values = (group, -1, None, None), [0.0] * 5
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


@pytest.mark.parametrize(
    ("score_type", "resolution"),
    mostly_slow(product(SCORES, [1, 64, 100]), [*((kind, 64) for kind in SCORES), ("posterior", 1), ("raw", 100)]),
)
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


@pytest.mark.quick("llr", "posterior")
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


# Names ---------------------------------------------------------------------------------------------------------------

NAMES = ["_ec_class", "_ec_score", "_ec_weight", "_ec_rows", "_ec_key", "_ec_0", "score", "label", "weights", "log", "groups",
         "prior", 'a "b" c', "it's", "Über.Größe", "SELECT", "the group", "p.p"]  # fmt: skip
TABLES = ["my table", 'a "b"', "it's", "Logs.2026", "_ec_rows", "_ec_cells", "SELECT"]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def rows_of(
    connection: duckdb.DuckDBPyConnection, macro: str, table: str, columns: list[str], groups: list[str]
) -> list[tuple]:
    score, label, *weight = map(quoted, columns)
    more = [f"weight := {w}" for w in weight] if macro == "sketch" else []
    arguments = [text(table), score, label, f"groups := [{', '.join(map(text, groups))}]", *more]
    found = connection.execute(f"FROM ec.{macro}({', '.join(arguments)})")
    assert [column for column, *_ in found.description][: len(groups)] == groups
    return sorted(found.fetchall(), key=repr)


@pytest.mark.quick("ranking_exact")
@pytest.mark.parametrize("macro", ["sketch", "ranking_exact"])
def test_columns_of_any_name(macro: str, connection) -> None:
    """Beside the others, as a group, and as score, label and weight."""
    values = "(VALUES (0.9e0, true, 2.0, 'a'), (0.4, true, 1.0, 'b'), (0.7, false, 0.5, 'a'), (0.1, false, 1.0, 'b'), (0.6, NULL, 1.0, 'a'))"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE plain AS FROM {values} AS t(p, y, w, g)")
    wanted = {by: rows_of(connection, macro, "plain", ["p", "y", "w"], list(by)) for by in ("", "g")}
    assert all(wanted.values())
    beside = ", ".join(f"g AS {quoted(name)}" for name in NAMES)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE named AS SELECT *, {beside} FROM plain")
    assert rows_of(connection, macro, "named", ["p", "y", "w"], []) == wanted[""]
    for i in range(0, len(NAMES), 1 if macro == "sketch" else 3):
        name = NAMES[i]
        assert rows_of(connection, macro, "named", ["p", "y", "w"], [name]) == wanted["g"], name
        # Each name comes to be score, label and weight, beside others of these names.
        columns = [NAMES[(i + k) % len(NAMES)] for k in range(3)]
        renamed = ", ".join(f"{old} AS {quoted(new)}" for old, new in zip("pyw", columns, strict=True))
        connection.execute(f"CREATE OR REPLACE TEMP TABLE renamed AS SELECT * RENAME ({renamed}) FROM plain")
        assert rows_of(connection, macro, "renamed", columns, ["g"]) == wanted["g"], columns


@pytest.mark.quick("sketch")
@pytest.mark.parametrize("macro", ["sketch", "ranking_exact"])
@needs_duckdb_2
def test_tables_of_any_name(macro: str, connection) -> None:
    """As after FROM, in quotes where they are needed there."""
    for name in TABLES:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS FROM (VALUES (0.9e0, true), (0.4, false)) AS t(p, y)"
        )
        assert len(rows_of(connection, macro, quoted(name), ["p", "y"], [])) == (2 if macro == "sketch" else 1)
    connection.execute('CREATE SCHEMA IF NOT EXISTS "a.b"; CREATE OR REPLACE TABLE "a.b"."c d" AS FROM "my table"')
    assert rows_of(connection, macro, '"a.b"."c d"', ["p", "y"], []) == rows_of(
        connection, macro, "my table", ["p", "y"], []
    )


@pytest.mark.parametrize(
    ("macro", "name"),
    [
        ("sketch", "class"),
        ("sketch", "Weight"),
        ("sketch", "brier"),
        ("ranking_exact", "n"),
        ("ranking_exact", "AUC_ROC"),
    ],
)
def test_a_group_has_no_name_of_the_result(macro: str, name: str, connection) -> None:
    connection.execute(f"CREATE OR REPLACE TEMP TABLE named AS SELECT 0.5e0 AS p, true AS y, 1 AS {quoted(name)}")
    with pytest.raises(duckdb.Error, match="is also a column of the result: rename it"):
        connection.execute(f"FROM ec.{macro}('named', p, y, groups := [{text(name)}])").fetchall()
    assert len(connection.execute(f"FROM ec.{macro}('named', p, y)").fetchall()) == 1
    connection.execute('CREATE OR REPLACE TEMP TABLE named AS SELECT 0.5e0 AS p, true AS y, 1 AS "ec: class"')
    with pytest.raises(duckdb.Error, match="starts with 'ec: '"):
        connection.execute(f"FROM ec.{macro}('named', p, y)").fetchall()
