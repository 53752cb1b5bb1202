"""Affine calibrations find the parameters of a row by expressions: whatever the group columns are."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import polars_ec as ec
from polars_ec.calibration.calibration import Calibration
from tests.support.calibration_logs import simulated
from tests.support.calibration_oracle import sigmoid
from tests.support.plans import assert_streams, physical_plan

INT64 = 2**63 - 1
KEYS = {
    "strings": (["a", "", None, "Ä b"], pl.String),
    "categories": (["a", "b", None], pl.Categorical),
    "enum": (["b", "a", None], pl.Enum(["a", "b", "c"])),
    "integers": ([-1, 0, INT64, None], pl.Int64),
    "large": ([2**64 - 1, 0, None], pl.UInt64),
    "floats": ([0.1 + 0.2, 0.3, -0.0, math.nan, math.inf, None, 5e-324], pl.Float64),
    "small floats": ([0.1, math.nan, None], pl.Float32),
    "Booleans": ([True, None], pl.Boolean),
    "dates": ([dt.date(2024, 2, 29), dt.date(1969, 12, 31), None], pl.Date),
    "times": ([dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1), None], pl.Datetime("us", "Europe/Zurich")),
    "hours": ([dt.time(1), dt.time(1, 0, 0, 1), None], pl.Time),
    "durations": ([dt.timedelta(0), dt.timedelta(microseconds=-1), None], pl.Duration("us")),
    "decimals": ([Decimal("1.50"), Decimal("-1.50"), None], pl.Decimal(10, 2)),
    "bytes": ([b"\xff\x00", b"", None], pl.Binary),
    "null": ([None], pl.Null),
    "vectors": ([[1, 2], [2, 1], None], pl.List(pl.Int64)),
    "structs": ([{"a": 1, "b": None}, {"a": None, "b": "x"}], pl.Struct({"a": pl.Int8, "b": pl.String})),
}


def made_of(fits: pl.DataFrame) -> Calibration:
    """A calibration of log-odds whose n-th fit has alpha n + 1 and beta -n / 2."""
    numbered = fits.with_row_index("i").select(
        *fits.columns,
        *([] if "fold" in fits.columns else [pl.lit(None, pl.Int8).alias("fold")]),
        alpha=pl.col("i") + 1.0,
        beta=pl.col("i") / -2,
        n=pl.lit(1),
        reason=pl.lit(None, pl.String),
    )
    return Calibration(numbered, "affine", "log_odds")


def value(n: int | None, x: float) -> float | None:
    """What the n-th fit makes of log-odds."""
    return None if n is None else pytest.approx(float(sigmoid((n + 1) * x - n / 2)), rel=1e-12)


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_type(kind: str) -> None:
    values, dtype = KEYS[kind]
    keys = pl.DataFrame({"g": pl.Series(values).cast(dtype) if dtype != pl.Null else pl.Series(values)})
    # The last one is not in the calibration, but for the null one alone, in which it is the only one.
    fits = keys.head(max(1, keys.height - 1))
    expected = [value(n if n < fits.height else None, 0.25) for n in range(keys.height)]
    rows = keys.with_columns(x=pl.lit(0.25))
    assert rows.select(made_of(fits).apply("x")).to_series().to_list() == expected
    backwards = rows.reverse().lazy().select(made_of(fits).apply("x")).collect(engine="streaming")
    assert backwards.to_series().to_list() == expected[::-1]


def test_null_is_a_group_and_zeros_are_equal() -> None:
    fits = pl.DataFrame({"g": [None, 0.0, math.nan]})
    rows = pl.DataFrame({"g": [-0.0, math.nan, None, 1.0]}).with_columns(x=pl.lit(-1.0))
    found = rows.select(made_of(fits).apply("x")).to_series().to_list()
    assert found == [value(1, -1.0), value(2, -1.0), value(0, -1.0), None]
    assert rows.select(made_of(fits.tail(2)).apply("x"))["x_calibrated"][2] is None


def test_several_keys() -> None:
    fits = pl.DataFrame(
        [("a", 1, 0), ("a", None, 0), (None, 1, 0), (None, None, 1), ("b", 11, 1), ("b 1", 1, 1)],
        schema={"g": pl.String, "h": pl.Int16, "fold": pl.Int8},
        orient="row",
    )
    rows = fits.with_columns(pl.col("h").cast(pl.UInt64), x=pl.lit(0.5))
    calibration = made_of(fits)
    found = rows.select(calibration.apply("x", out_of_fold=True)).to_series().to_list()
    assert found == [value(n, 0.5) for n in range(fits.height)]
    numbers = {key: n for n, key in enumerate(fits.rows())}
    every = list(product(["a", "b", "b 1", "c", None], [1, 11, 2, None], [0, 1, 2, None]))
    others = pl.DataFrame(every, schema=fits.schema, orient="row").with_columns(x=pl.lit(0.5))
    found = others.select(calibration.apply("x", out_of_fold=True)).to_series().to_list()
    assert found == [value(numbers.get(key), 0.5) for key in every]
    # All fits leave a fold out.
    assert rows.select(calibration.apply("x")).to_series().to_list() == [None] * fits.height


def test_keys_of_another_type_are_refused_when_the_plan_is_made() -> None:
    calibration = made_of(pl.DataFrame({"g": ["1", "2"]}))
    rows = pl.LazyFrame({"g": [1, 2], "x": [0.5, 0.5]})
    with pytest.raises(TypeError, match="by 'g' with type String, but the column here is Int64: cast it"):
        rows.select(calibration.apply("x")).collect_schema()
    strings = rows.with_columns(pl.col("g").cast(pl.String).cast(pl.Categorical)).select(calibration.apply("x"))
    assert strings.collect().to_series().to_list() == [value(0, 0.5), value(1, 0.5)]


@pytest.mark.parametrize("by", [[], ["g"], ["g", "h"]], ids=["no key", "one key", "two keys"])
@pytest.mark.parametrize("calibrator", ["affine", "temperature", "gaussian", "pav"])
def test_no_python_is_called(calibrator, by, tmp_path: Path) -> None:
    log = simulated(400).with_columns(h=pl.col("g") % 2)
    log.write_parquet(tmp_path / "log.parquet")
    calibration = log.ec.sketch("p", "y", by=[*by, "fold"]).calibrate(calibrator)
    for out_of_fold in (False, True):
        plan = pl.scan_parquet(tmp_path / "log.parquet").select("y", calibration.apply("p", out_of_fold=out_of_fold))
        # Step functions do, which shows that this sees it.
        assert ("python_udf" in plan.explain(engine="streaming")) == (calibrator == "pav")
        assert_streams(plan)
        assert "columnar-function" not in physical_plan(plan)
        losses = plan.select(ec.cross_entropy("p_calibrated", "y"))
        assert_streams(losses)


def test_no_python_is_called_for_vectors(tmp_path: Path) -> None:
    log = simulated(400).with_columns(v=pl.concat_arr(1 - pl.col("p"), "p"))
    log.write_parquet(tmp_path / "log.parquet")
    plan = pl.scan_parquet(tmp_path / "log.parquet").select(log.ec.calibrate("v", "y", by="g").apply("v"))
    assert "python_udf" not in plan.explain(engine="streaming")
    assert_streams(plan)
    assert "columnar-function" not in physical_plan(plan)
