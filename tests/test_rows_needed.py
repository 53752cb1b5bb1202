"""How many rows an interval of a given width needs: against closed forms by scale, and against logs with so many rows."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.optimize import brentq
from scipy.special import expit, logit

import polars_ec as ec
from tests.coverage.systems import COST_FN, Sample, System, draw


def pilot(
    metric: str, value: float | None, low: float | None, high: float | None, n: int = 100, **others: object
) -> pl.DataFrame:
    return pl.DataFrame(
        {"n": [n], metric: [value], f"{metric}_ci_low": [low], f"{metric}_ci_high": [high], **others}, strict=False
    )


def rows(table: pl.DataFrame, metric: str, width: float) -> int | None:
    return ec.rows_needed(table, metric, width=width)["rows_needed"].item()


def test_rows_on_each_scale() -> None:
    half = math.log(0.8 / 0.5) / 2
    assert rows(pilot("nec", 0.6, 0.5, 0.8), "nec", 0.1) == math.ceil(100 * (half / math.asinh(0.1 / 1.2)) ** 2)
    # The half width that was there is the half width that is needed for the same width.
    low, high = expit(logit(0.9) - 0.7), expit(logit(0.9) + 0.7)
    assert rows(pilot("recall", 0.9, low, high), "recall", high - low) == 100
    needed = brentq(lambda a: expit(logit(0.9) + a) - expit(logit(0.9) - a) - 0.05, 0, 5)
    assert rows(pilot("auc_roc_at_prior", 0.9, low, high), "auc_roc_at_prior", 0.05) == math.ceil(
        100 * (0.7 / needed) ** 2
    )
    low, high = math.tanh(math.atanh(0.4) - 0.2), math.tanh(math.atanh(0.4) + 0.2)
    needed = brentq(lambda a: math.tanh(math.atanh(0.4) + a) - math.tanh(math.atanh(0.4) - a) - 0.06, 0, 5)
    assert rows(pilot("mcc", 0.4, low, high), "mcc", 0.06) == math.ceil(100 * (0.2 / needed) ** 2)
    assert rows(pilot("rcl", -3.0, -5.0, -1.0), "rcl", 0.75) == math.ceil(100 * (4 / 0.75) ** 2)
    assert rows(pilot("rcl", -3.0, -5.0, -1.0), "rcl", 400.0) == 1


def test_a_table_of_groups() -> None:
    """The groups and models as they are in the pilot, and the row of the total."""
    table = pl.DataFrame(
        {
            "carrier": ["a", "b", None],
            "score": ["p"] * 3,
            "n": [50, 100, 150],
            "recall": [0.5, 0.5, 0.5],
            "recall_ci_low": [0.4, 0.45, 0.46],
            "recall_ci_high": [0.6, 0.55, 0.54],
            "total": [False, False, True],
            "n_missing": [0, 0, 0],
        }
    )
    found = ec.rows_needed(table, "recall", width=0.2)
    assert found.columns == ["carrier", "score", "total", "n", "recall", "width", "rows_needed"]
    assert found["carrier"].to_list() == ["a", "b", None]
    np.testing.assert_allclose(found["width"], [0.2, 0.1, 0.08])
    assert found["rows_needed"].dtype == pl.Int64
    assert found["rows_needed"][0] == 50
    lazy = ec.rows_needed(table.lazy(), "recall", width=0.2)
    assert lazy.collect_schema() == found.schema
    assert_frame_equal(lazy.collect(), found)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(None, None, None), (0.5, None, None), (1.0, 0.8, 1.0), (0.0, 0.0, 0.2), (0.9, 0.6, 1.0), (0.5, 0.5, 0.5)],
)
def test_null_where_the_pilot_does_not_say(value, low, high) -> None:
    assert rows(pilot("recall", value, low, high), "recall", 0.1) is None


def test_bins_stay_as_wide_as_they_are() -> None:
    """More rows make no bin narrower."""
    half = logit(0.6)
    plain = pilot("auc_roc", 0.5, expit(-half), expit(half))
    binned = pilot("auc_roc", 0.5, expit(-half) - 0.02, expit(half) + 0.02, auc_roc_error=[0.02])
    assert rows(binned, "auc_roc", 0.14) == rows(plain, "auc_roc", 0.1)
    assert rows(binned, "auc_roc", 0.04) is None
    between = pl.DataFrame(
        {"n": [100], "recall_low": [0.48], "recall_high": [0.52], "recall_ci_low": [0.38], "recall_ci_high": [0.62]}
    )
    assert rows(between, "recall", 0.14) == rows(pilot("recall", 0.5, 0.4, 0.6), "recall", 0.1)


def test_many_rows_are_a_number_or_null() -> None:
    assert rows(pilot("nec", 0.5, 0.4, 0.625), "nec", 1e-8) == pytest.approx(
        100 * (math.log(0.625 / 0.4) / 2 / 1e-8) ** 2, rel=1e-6
    )
    assert rows(pilot("nec", 0.5, 0.4, 0.625), "nec", 1e-300) is None


@pytest.mark.parametrize(
    ("metric", "width", "message"),
    [
        ("nec", 0, "width=0 is not a number above 0"),
        ("nec", -0.1, "width=-0.1 is not a number above 0"),
        ("nec", math.nan, "width=nan is not"),
        ("nec", "wide", "width='wide' is not"),
        ("recall", 1, "width=1 covers the whole range of recall, 1"),
        ("mcc", 2.0, r"width=2\.0 covers the whole range of mcc, 2"),
        ("necc", 0.1, "metric='necc' is not a metric with intervals: did you mean nec?"),
        (3, 0.1, "metric=3 is not a metric"),
        ("f1", 0.1, "metric='f1' has no interval in the pilot, which has those of nec, recall, mcc"),
    ],
)
def test_errors(metric, width, message) -> None:
    frames = [pilot(name, 0.5, 0.4, 0.6).drop("n") for name in ("nec", "recall", "mcc")]
    table = pl.concat([pl.DataFrame({"n": [9]}), *frames], how="horizontal")
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        ec.rows_needed(table, metric, width=width)


def test_a_report_without_intervals_is_refused() -> None:
    log = pl.DataFrame({"p": [0.1, 0.8], "y": [0, 1]})
    with pytest.raises(ValueError, match=r"no column 'nec_ci_low': make it by report\(\.\.\., interval=0\.95\)"):
        ec.rows_needed(log.ec.report("p", "y"), "nec", width=0.1)
    with pytest.raises(TypeError, match="pilot= is dict"):
        ec.rows_needed({"n": [1]}, "nec", width=0.1)


@pytest.mark.quick("20")
@pytest.mark.parametrize("of_a_cluster", [None, 20])
def test_so_many_rows_give_that_width(of_a_cluster: int | None) -> None:
    """On average over 100 pilots and 100 logs with as many rows as the pilots ask for, in clusters as large as theirs."""
    metrics = ["recall", "nec", "nce"]
    system, groups = System(prior=0.3, separation=1.5), 100

    def report(rows: int, seed: int) -> pl.DataFrame:
        clusters = rows // of_a_cluster if of_a_cluster else None
        log = draw(Sample(groups, rows, clusters=clusters, systems=(system,)), seed)
        options = {"cluster": "user", "buckets": 1000} if clusters else {}
        return log.ec.report("p", "y", by="group", metrics=metrics, cost_fn=COST_FN, interval=0.95, **options)

    pilots = report(2000, seed=1)
    for seed, metric in enumerate(metrics, start=2):
        width = 0.7 * (pilots[f"{metric}_ci_high"] - pilots[f"{metric}_ci_low"]).mean()
        needed = ec.rows_needed(pilots, metric, width=width)["rows_needed"]
        assert 3500 < needed.median() < 4700
        reached = report(int(needed.median()), seed)
        assert (reached[f"{metric}_ci_high"] - reached[f"{metric}_ci_low"]).mean() == pytest.approx(width, rel=0.05)
