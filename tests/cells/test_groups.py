"""A group whose key is NaN, which Polars does not find by a sorted key alone: it is a group as others, in a sketch, its calibration and what follows."""

from __future__ import annotations

import math

import polars as pl
import pytest

import polars_ec as ec

LOG = pl.DataFrame(
    {"k": [1.0, math.nan, math.nan, 2.0, 3.0] * 6, "p": [0.9, 0.2, 0.7, 0.4, 0.3, 0.6] * 5, "y": [1, 0, 1, 0, 1, 1] * 5}
)
# The same groups by names that sort, and are found, like any other.
NAMED = LOG.with_columns(pl.col("k").cast(pl.String))
N = {"1.0": 6, "2.0": 6, "3.0": 6, "NaN": 12}


def by_name(table: pl.DataFrame) -> dict[str, tuple]:
    rows = table.drop("k").rows()
    return dict(zip(table["k"].cast(pl.String).to_list(), rows, strict=True))


def same(table: pl.DataFrame, named: pl.DataFrame) -> None:
    found, wanted = by_name(table), by_name(named)
    assert found.keys() == wanted.keys() == N.keys()
    for name in N:
        for value, other in zip(found[name], wanted[name], strict=True):
            assert value == (pytest.approx(other) if isinstance(other, float) else other), name


def test_metrics_of_a_sketch() -> None:
    table = LOG.ec.sketch("p", "y", by="k").evaluate("nec", "auc_roc", "nce", "ece")
    assert {name: row[0] for name, row in by_name(table).items()} == N
    same(table, NAMED.ec.sketch("p", "y", by="k").evaluate("nec", "auc_roc", "nce", "ece"))


@pytest.mark.parametrize("calibrator", ["affine", "pav"])
def test_calibration(calibrator: str) -> None:
    made, named = (log.ec.sketch("p", "y", by="k").calibrate(calibrator) for log in (LOG, NAMED))
    assert made.frame["reason"].null_count() == made.frame.height
    # Sorted, so that Polars joins by merging where it can.
    rows, others = LOG.sort("k"), NAMED.sort(LOG["k"])
    applied = rows.select(made.apply("p"))["p_calibrated"]
    assert applied.to_list() == pytest.approx(others.select(named.apply("p"))["p_calibrated"].to_list())
    of_loss = [log.ec.sketch("p", "y", by="k").calibration_loss(training="test") for log in (LOG, NAMED)]
    same(*of_loss)


def test_calibration_of_vectors_and_at_a_prior_of_each_group() -> None:
    prior = pl.col("k").fill_nan(4) / 10
    of_groups = LOG.ec.calibrate("p", "y", by="k", prior=prior).frame
    assert of_groups["reason"].null_count() == len(N)
    vectors = [log.with_columns(q=pl.concat_arr(1 - pl.col("p"), "p")) for log in (LOG, NAMED)]
    same(*(log.ec.calibration_loss("q", "y", by="k", training="test") for log in vectors))


def test_curves() -> None:
    sketch = LOG.ec.sketch("p", "y", by="k")
    for curve in (sketch.roc(), sketch.roc_hull(), sketch.best_threshold("nec"), ec.equivalent_cost(sketch)):
        assert {str(key) for key in curve["k"]} == {"1.0", "2.0", "3.0", "nan"}
