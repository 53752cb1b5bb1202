"""Tables that a warehouse made: the sketch of the same log, or refused."""

from __future__ import annotations

import math

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches.grid import SUMS
from tests.support.warehouse_tables import table_of

COMPLETE = pl.DataFrame(
    {
        "g": ["a", "b", None, "ü"] * 25,
        "p": [(i * 37 % 101 + 1) / 102 for i in range(100)],
        "y": [i * 29 % 7 < 3 for i in range(100)],
        "w": [i % 5 / 2 for i in range(100)],
    }
)
FIRST = pl.int_range(pl.len()) == 0
MADE_WITH = {"resolution": 8, "thresholds": [0.3], "weighted": True}
TABLE = table_of(COMPLETE, by=["g"], resolution=8, thresholds=[0.3], weight="w")


def test_a_table_is_the_sketch_of_its_log():
    found = ec.Sketch.from_arrow(TABLE.to_arrow(), **MADE_WITH)
    expected = COMPLETE.ec.sketch("p", "y", by="g", weight="w", resolution=8, threshold=0.3)
    assert_frame_equal(found.frame, expected.frame)
    assert_frame_equal(found.sums, expected.sums)
    doubled = ec.Sketch.from_arrow(pl.concat([TABLE, TABLE]).to_arrow(), **MADE_WITH)
    assert_frame_equal(doubled.frame, (expected + expected).frame)
    assert_frame_equal(doubled.sums, (expected + expected).sums)
    # A threshold that no score is above cuts no cell.
    unweighted = ec.Sketch.from_arrow(table_of(COMPLETE, by=["g"], thresholds=[1.0]), thresholds=[1.0])
    expected = COMPLETE.ec.sketch("p", "y", by="g", threshold=1.0)
    assert_frame_equal(unweighted.frame, expected.frame)
    assert_frame_equal(unweighted.sums, expected.sums)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": -pl.col("n")}, "a number of rows"),
        ({"class": pl.lit(7, dtype=pl.Int8)}, "a class that is not"),
        ({"class": pl.lit(None, dtype=pl.Int8)}, "a value of 'bin' that is not on the grid"),
        ({"class": pl.lit(None, dtype=pl.Int8), "bin": None, "above": None}, "impossible sum of"),
        ({"bin": pl.col("bin") + 1}, "on the wrong side of the thresholds|for its bins"),
        ({"above": 1 - pl.col("above")}, "on the wrong side of the thresholds"),
        ({"weight": -1 - pl.col("weight")}, "impossible sum of 'weight'"),
        ({"weight": pl.lit(None, dtype=pl.Float64)}, "impossible sum of 'weight'"),
        (
            {"weight2": pl.lit(None, dtype=pl.Float64)},
            "a sum of 'weight2' that is impossible|impossible sum of 'weight2'",
        ),
        (
            {"weight2": pl.col("weight2") * (1 + 1e-6)},
            "a sum of 'weight2' that is impossible|impossible sum of 'weight2'",
        ),
        (
            {"weight2": pl.col("weight2") * (1 - 1e-6)},
            "a sum of 'weight2' that is impossible|impossible sum of 'weight2'",
        ),
        *((({name: pl.lit(math.nan)}), f"sum of '{name}'") for name in ("weight", "weight2", *SUMS)),
        *(({name: pl.when(~FIRST).then(name)}, f"sum of '{name}'") for name in SUMS),
        *(({name: pl.col(name) * 2 + 1}, f"sum of '{name}'") for name in SUMS),
        *(({name: pl.col(name) / 2 - 1e-9}, f"sum of '{name}'") for name in SUMS),
    ],
)
def test_tables_that_no_log_leads_to(changes, words):
    with pytest.raises(SketchError, match=f"the table is not a sketch of posterior scores: it has .*({words})"):
        ec.Sketch.from_arrow(TABLE.with_columns(**changes).to_arrow(), **MADE_WITH)


def test_tables_that_were_made_otherwise():
    for changes, words in (
        ({"weighted": False}, "without weights it is the number of rows: pass weighted=True"),
        ({"resolution": 64}, "the wrong side of the thresholds"),
        ({"score_type": "log_odds"}, "thresholds"),
        ({"thresholds": []}, "scores above 1 thresholds, but thresholds= lists 0"),
    ):
        with pytest.raises(SketchError, match=words):
            ec.Sketch.from_arrow(TABLE.to_arrow(), **{**MADE_WITH, **changes})
    of_before = TABLE.with_columns(log_odds="weight")
    with pytest.raises(SketchError, match="of an earlier version of polars_ec: make it again with this version"):
        ec.Sketch.from_arrow(of_before, **MADE_WITH)
    with pytest.raises(SketchError, match="the table lacks weight, brier"):
        ec.Sketch.from_arrow(TABLE.drop("weight", "brier"), **MADE_WITH)


def test_classes_without_names_are_those_of_any_log():
    scores = {"p": [0.1, 0.9]}
    plain = [pl.DataFrame({**scores, "y": y}).ec.sketch("p", "y") for y in ([False, True], [0, 1])]
    named = pl.DataFrame({**scores, "y": ["no", "yes"]}).ec.sketch("p", "y", classes=["no", "yes"])
    other = pl.DataFrame({**scores, "y": ["no", "yes"]}).ec.sketch("p", "y", classes=["yes", "no"])
    table = ec.Sketch.from_arrow(table_of(pl.DataFrame({**scores, "y": [0, 1]}), thresholds=[0.5]), thresholds=[0.5])
    for one in (*plain, table):
        for two in (*plain, table, named):
            for merged in (one + two, two + one):
                assert merged.frame["n"].sum() == 4
                if two is named:
                    assert merged.grid.classes.known == ("no", "yes")
    with pytest.raises(SketchError, match="different classes"):
        named + other


@pytest.mark.parametrize("name", ["class", "bin", "above", "n"])
def test_numbers_that_are_not_whole_are_refused(name: str) -> None:
    cell = {
        "class": 1,
        "bin": 10,
        "above": 0,
        "n": 3,
        "weight": 3.0,
        "log_loss": 1.84,
        "brier": 0.63,
        "posterior": 1.62,
    }
    table = pl.DataFrame(cell)
    assert ec.Sketch.from_arrow(table.cast({name: pl.Float64})).frame["n"].item() == 3
    assert ec.Sketch.from_arrow(table.cast({name: pl.Decimal(20, 2)})).frame["n"].item() == 3
    with pytest.raises(ec.SketchError, match=f"values of '{name}' that are not whole numbers"):
        ec.Sketch.from_arrow(table.with_columns(pl.col(name) + 0.25), weighted=True)


def test_decisions_without_rows_need_their_costs():
    """Rows name the costs of their query; without any there is no telling how many classes there were."""
    connection = duckdb.connect()
    ec.register(connection)
    connection.sql(
        "CREATE TABLE log AS SELECT [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]][1 + i % 2] AS q, i % 3 AS y FROM range(30) t(i)"
    )
    table = connection.sql("FROM ec.sketch('log', q, y, classes := 3, reduction := 'decisions')").pl()
    with pytest.raises(SketchError, match="has no rows, which would name the costs of its query: pass costs= or cl"):
        ec.Sketch.from_arrow(table.clear())
    zero_one = ec.CostMatrix.zero_one(3)
    ec.Sketch.from_arrow(table.clear(), classes=pl.Series(["x", "y"]))
    whole, empty = ec.Sketch.from_arrow(table), ec.Sketch.from_arrow(table.clear(), costs=zero_one)
    named = ec.Sketch.from_arrow(table, classes=["x", "y", "z"])
    assert (whole + empty).evaluate("accuracy").item(0, "accuracy") == pytest.approx(1 / 3)
    assert_frame_equal((named + ec.Sketch.from_arrow(table.clear(), classes=["x", "y", "z"])).frame, named.frame)
    with pytest.raises(SketchError, match="has 2 classes, but the stated costs have 3: pass a label value for each"):
        ec.Sketch.from_arrow(table.clear(), costs=zero_one, classes=["x", "y"])
    with pytest.raises(SketchError, match="has 2 classes, but the costs of the table have 3: pass a label value for"):
        ec.Sketch.from_arrow(table, classes=["x", "y"])
    with pytest.raises(ValueError, match="with a column 'decision': leave it out"):
        ec.Sketch.from_arrow(TABLE, classes=["x", "y"])
