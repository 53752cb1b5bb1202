"""Rolling windows over the periods of a sketch against sketches of the rows of these periods."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches import cells as cells_module
from polars_ec.sketches import windows as rolling
from tests.support.cases import mostly_slow

FIRST, N_DAYS = date(2024, 2, 20), 24
METRICS = ["nec", "nce", "brier", "auc_roc", "eer", "ece", "f1", "fn"]


def made_log(n: int = 1500) -> pl.DataFrame:
    """Segments of which one is rare, days without rows, wrong and missing rows, an infinite loss, and weights of all sizes."""
    rng = np.random.default_rng(15)
    days = rng.permutation(N_DAYS)[: N_DAYS - 3]
    day = np.append(rng.choice(days, n - 2), [0, N_DAYS - 1])
    y = rng.random(n) < 0.4
    p = 1 / (1 + np.exp(-np.where(y, 1.0, -1.0) - 1.5 * rng.standard_normal(n)))
    p[7], p[8] = 1.5, np.where(y[8], 0.0, 1.0)
    return pl.DataFrame(
        {
            "segment": rng.choice(["a", "b", "rare"], n, p=[0.5, 0.495, 0.005]),
            "day": [FIRST + timedelta(int(i)) for i in day],
            "user": rng.integers(0, 150, n),
            "y": pl.Series(y).set(pl.int_range(n, eager=True) == 11, None),
            "p": p,
            "q": rng.random(n),
            "w": np.exp(3 * rng.standard_normal(n)),
        }
    ).with_columns(segment=pl.when(pl.col("segment") != "b").then("segment"))


LOG = made_log()


def rows_of(log: pl.DataFrame, last: date, periods: int) -> pl.DataFrame:
    """The rows of a window, as rows of its last day."""
    return log.filter(pl.col("day").is_between(last - timedelta(periods - 1), last)).with_columns(day=pl.lit(last))


KINDS = [
    (["segment", "day"], {"cluster": "user"}),
    (["day", "segment"], {"exact": True, "weight": "w"}),
    (["day"], {"weight": "w", "cluster": "user", "resolution": 4}),
    (["day", "segment"], {"thresholds": [0.3], "folds": 3, "fold_by": "user"}),
]


@pytest.mark.filterwarnings("ignore:metrics are null in all groups")
@pytest.mark.quick("2-24")
@pytest.mark.parametrize(
    ("kind", "periods"), mostly_slow(product(range(4), [2, 7, N_DAYS]), [(0, 7), (1, 2), (2, N_DAYS)])
)
def test_a_window_is_the_sketch_of_the_rows_of_its_days(kind: int, periods: int) -> None:
    by, options = KINDS[kind]
    sketch = LOG.ec.sketch("p", "y", by=by, cost_fn=3, **options)
    found = sketch.rolling("day", periods=periods).evaluate(*METRICS, interval=0.9)
    lasts = [FIRST + timedelta(i) for i in range(periods - 1, N_DAYS)]
    assert found["day"].unique().sort().to_list() == lasts
    for last in lasts[:: max(len(lasts) // 2, 1)]:
        rows = rows_of(LOG, last, periods).ec.sketch("p", "y", by=by, cost_fn=3, **options)
        expected = rows.evaluate(*METRICS, interval=0.9)
        # Limits of the EER of independent rows are of parts that are drawn at random.
        drawn = [] if "cluster" in options else ["eer_ci_low", "eer_ci_high"]
        assert_frame_equal(found.filter(day=last).drop(drawn), expected.drop(drawn), rel_tol=1e-9, abs_tol=1e-10)


def test_metrics_of_a_window_are_those_of_its_rows() -> None:
    """Not by another sketch: by the formulas."""
    log = LOG.filter(pl.col("p") <= 1, pl.col("y").is_not_null())
    found = log.ec.sketch("p", "y", by=["day"], exact=True).rolling("day", periods=5).evaluate("brier", "error_rate")
    day, p, y = (log[name].to_numpy() for name in ("day", "p", "y"))
    y = y.astype(bool)
    for last, n, brier, errors in found.select("day", "n", "brier", "error_rate").rows():
        of = (day <= np.datetime64(last)) & (day > np.datetime64(last - timedelta(5)))
        assert n == of.sum()
        assert brier == pytest.approx(np.mean((p[of] - y[of]) ** 2), rel=1e-12)
        assert errors == pytest.approx(np.mean((p[of] > 0.5) != y[of]), rel=1e-12)


def test_a_group_has_the_windows_that_hold_rows_of_it() -> None:
    rare = LOG.filter(pl.col("segment") == "rare")["day"].unique().to_list()
    found = LOG.ec.sketch("p", "y", by=["segment", "day"]).rolling("day", periods=3).evaluate("nec")
    expected = {
        last
        for last in (FIRST + timedelta(i) for i in range(2, N_DAYS))
        if any(last - timedelta(2) <= day <= last for day in rare)
    }
    assert set(found.filter(segment="rare")["day"]) == expected
    assert expected < set(found["day"])


@pytest.mark.slow
def test_what_fits_into_memory_block_by_block_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LOG.head(600).with_columns(segment=pl.col("user") % 4)
    sketch = log.ec.sketch("p", "y", by=["day", "segment"], cluster="user", weight="w", resolution=8)
    windows = sketch.rolling("day", periods=18)
    whole = windows.evaluate("nec", "auc_roc", interval=0.95), windows.drift("nce", reference="previous")
    monkeypatch.setattr(cells_module, "MOST_OF_BLOCK", 2000)
    monkeypatch.setattr(rolling, "_TOGETHER", 1000)
    monkeypatch.setattr(rolling, "MOST_OF_BLOCK", 2000)
    assert len(list(cells_module.in_blocks(sketch, ["segment"], 18))) > 3
    assert len(list(windows._rolling.in_blocks(sketch, None))) > 10
    assert_frame_equal(windows.evaluate("nec", "auc_roc", interval=0.95), whole[0])
    assert_frame_equal(windows.drift("nce", reference="previous"), whole[1])


@pytest.mark.quick("p")
@pytest.mark.parametrize("score", ["p", ["p", "q"]])
def test_the_overall_prior_counts_each_row_once(score: Any) -> None:
    log = LOG.filter(pl.col("p") <= 1)
    windows = log.ec.sketch(score, "y", by=["day", "segment"], cost_fn=3).rolling("day", periods=6)
    share = log["y"].drop_nulls().mean()
    for call in (windows.evaluate, windows.drift):
        assert_frame_equal(call("nec", "nce", prior="overall"), call("nec", "nce", prior=share), rel_tol=1e-9)
    wrong = LOG.ec.sketch("p", "y", by="day").rolling("day").evaluate("nec", prior="overall")
    assert wrong["nec"].null_count() == wrong.height


def test_windows_of_vectors_have_targets() -> None:
    p = LOG["q"].to_numpy()
    log = LOG.select("day", k=pl.col("user") % 3, v=pl.Series(np.stack([p / 2, p / 2, 1 - p], axis=1)))
    windows = log.ec.sketch("v", "k", by="day", exact=True).rolling("day", periods=20)
    expected = rows_of(log, FIRST + timedelta(20), 20).ec.sketch("v", "k", by="day", exact=True)
    found = windows.evaluate("recall", "nce").filter(day=FIRST + timedelta(20))
    assert_frame_equal(found, expected.evaluate("recall", "nce"), rel_tol=1e-9)
    assert windows.drift("recall")["target"].n_unique() == 3


def months(values: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"period": values, "p": 0.7, "y": [i % 2 for i in range(len(values))]})


ZONE = "Europe/Berlin"
SANTIAGO = "America/Santiago"


def local(values: list[datetime], zone: str) -> pl.Series:
    return pl.Series(values).dt.replace_time_zone(zone, ambiguous="earliest")


@pytest.mark.parametrize(
    ("values", "every", "number"),
    [
        (pl.Series([date(2023, 11, 1), date(2023, 12, 1), date(2024, 1, 1), date(2024, 3, 1)]), "1mo", 5),
        (pl.Series([date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31)]), "1mo", 3),
        (pl.Series([date(2024, 1, 1), date(2024, 1, 15), date(2024, 1, 29)]), "1w", 5),
        (pl.Series([datetime(2024, 3, 30), datetime(2024, 4, 2)]), "12h", 7),
        # Days of 23 and of 25 hours; hours that pass while the clock is set back.
        (local([datetime(2024, 3, 29), datetime(2024, 4, 2)], ZONE), "1d", 5),
        (local([datetime(2024, 10, 25), datetime(2024, 10, 29)], ZONE), "1d", 5),
        (local([datetime(2024, 10, 27), datetime(2024, 10, 28)], ZONE), "1h", 26),
        # A day that begins at one o'clock.
        (local([datetime(2024, 9, 7), datetime(2024, 9, 8, 1), datetime(2024, 9, 9)], SANTIAGO), "1d", 3),
        (pl.Series([datetime(2024, 1, 1), datetime(2024, 1, 3)], dtype=pl.Datetime("ns")), "1d", 3),
    ],
)
def test_periods_are_those_of_the_calendar(values: pl.Series, every: str, number: int) -> None:
    sketch = pl.DataFrame({"period": values, "p": 0.7, "y": 1}).ec.sketch("p", "y", by="period")
    made = sketch.rolling("period", periods=number, every=every)
    found = made.evaluate("recall").select("period", "n")
    assert found.rows() == [(values[-1], len(values))]
    assert found.schema["period"] == values.dtype
    with pytest.raises(SketchError, match=f"has {number} periods of '{every}', from .*, fewer than the {number + 1}"):
        sketch.rolling("period", periods=number + 1, every=every)


DAYS = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 4)]


@pytest.mark.parametrize(
    ("values", "call", "error", "message"),
    [
        (DAYS, {"period": "day"}, SketchError, r"period='day' is not a group column of the sketch\. It has"),
        ([1, 2, 3], {}, SketchError, "'period' is Int64, but windows need dates or datetimes"),
        (["2024-01-01"], {}, SketchError, "'period' is String"),
        (
            [*DAYS, None],
            {},
            SketchError,
            r"some rows have no 'period': remove them with sketch\.filter\(pl\.col\('period'\)\.is_not_null\(\)\)",
        ),
        (DAYS, {"every": "2d", "periods": 2}, SketchError, "'period' has 2024-01-02, which is not a whole number of"),
        (
            DAYS,
            {"every": "1h", "periods": 2},
            SketchError,
            "every='1h' is not a step between values of Date: pass '1d', '7d', '1mo' or the like",
        ),
        (DAYS, {"every": "day"}, SketchError, "every='day' is not a step"),
        (DAYS, {"every": "-1d"}, SketchError, "every='-1d' is not a step"),
        (DAYS, {"every": 1}, SketchError, "every=1 is not a step"),
        (DAYS, {"periods": 1}, ValueError, "periods=1 is not a whole number from 2"),
        (DAYS, {"periods": 2.0}, ValueError, "periods=2.0 is not a whole number"),
        (DAYS, {}, SketchError, "has 4 periods of '1d', from 2024-01-01 to 2024-01-04, fewer than the 7 of a window"),
        (
            [datetime(2024, 1, 1), datetime(2024, 1, 2, 5)],
            {"periods": 2},
            SketchError,
            "has 2024-01-02 05:00:00, which",
        ),
        ([datetime(2024, 1, 1)], {"period": ["period"]}, SketchError, "is not a group column"),
        (
            [date(2024, month, 1) for month in (1, 2, 3)],
            {},
            SketchError,
            r"no window of 7 steps of every='1d' holds two of the 3 values of 'period', such as 2024-01-01 and 2024-02-01: pass",
        ),
    ],
)
def test_what_has_no_windows_is_refused(values: list[Any], call: dict[str, Any], error: type, message: str) -> None:
    sketch = months(values).ec.sketch("p", "y", by="period")
    with pytest.raises(error, match=message):
        sketch.rolling(**{"period": "period", **call})


def test_a_sketch_of_no_rows_has_no_windows() -> None:
    sketch = months(DAYS).clear().ec.sketch("p", "y", by="period")
    with pytest.raises(SketchError, match="has 0 periods of '1d', fewer than the 7"):
        sketch.rolling("period")


def test_windows_do_nothing_that_counts_rows_twice() -> None:
    windows = LOG.ec.sketch("p", "y", by="day").rolling("day")
    assert {name for name in dir(windows) if name[0] != "_"} == {
        "sketch",
        "period",
        "periods",
        "every",
        "evaluate",
        "drift",
    }
    with pytest.raises(AttributeError):
        windows.group_by()  # type: ignore[attr-defined]
    with pytest.raises((TypeError, AttributeError, SketchError)):
        ec.merge([windows, windows])  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        windows.periods = 8  # type: ignore[misc]
