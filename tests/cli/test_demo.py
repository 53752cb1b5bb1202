"""The demo, on every fourth flight: what it writes, that its engines agree, and its numbers from NumPy."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import polars_ec
from polars_ec.cli import demo
from polars_ec.cli.errors import UsageError


def test_demo(tmp_path):
    """One test, so that one process runs the demo, once."""
    printed = []
    found = demo.run(tmp_path, every_nth=4, echo=printed.append)
    check_log_is_partitioned_by_month(found)
    check_reports_have_every_month_and_carrier(found)
    check_engines_agree(found)
    check_prior_moves(found)
    check_numbers_from_numpy(found)
    check_model_is_better_than_the_prior(found)
    check_calibration_from_numpy(found)
    check_story_tells_the_numbers_of_the_run(found, printed)


def check_log_is_partitioned_by_month(found):
    assert sorted(folder.name for folder in found.log.iterdir()) == sorted(f"month={m}" for m in range(4, 13))
    log = pl.read_parquet(found.log)
    assert log.columns == ["time", "carrier", "origin", "late", "score", "month"]
    assert log["late"].dtype == pl.Boolean
    assert (log["time"].dt.month() == log["month"]).all()
    assert log["late"].null_count() == found.by_month["n_missing"].sum() > 0


def check_reports_have_every_month_and_carrier(found):
    assert found.by_month["time"].dt.month().to_list() == list(range(4, 13))
    assert found.by_carrier.height > 10
    assert found.by_both["n"].sum() == found.by_month["n"].sum() == found.by_carrier["n"].sum()
    assert pl.read_csv(found.log.parent / "report.csv").height == found.by_both.height


def check_calibration_from_numpy(found):
    """Of the largest carrier: Platt scaling by Newton's method, fold by fold."""
    row = found.calibration.sort("n").row(-1, named=True)
    log = pl.read_parquet(found.log).drop_nulls("late").filter(pl.col("carrier") == row["carrier"])
    fold = log.select(polars_ec.fold(pl.col("time").dt.date().cast(pl.Int32)))["fold"].to_numpy()
    late, score = log["late"].to_numpy().astype(float), log["score"].to_numpy()
    x = np.stack([np.log(score / (1 - score)), np.ones_like(score)], axis=1)
    losses = np.zeros_like(score)
    for k in range(5):
        kept, line = fold != k, np.array([1.0, 0.0])
        for _ in range(30):
            q = 1 / (1 + np.exp(-x[kept] @ line))
            line += np.linalg.solve((x[kept].T * (q * (1 - q))) @ x[kept], x[kept].T @ (late[kept] - q))
        losses[~kept] = np.logaddexp(0, -(2 * late[~kept] - 1) * (x[~kept] @ line))
    prior = late.mean()
    entropy = -prior * math.log(prior) - (1 - prior) * math.log(1 - prior)
    raw = -np.log(np.where(late == 1, score, 1 - score)).mean()
    assert row["nce"] == pytest.approx(raw / entropy, rel=1e-9)
    assert row["nce_calibrated"] == pytest.approx(losses.mean() / entropy, rel=1e-4)
    assert row["rcl"] == pytest.approx(100 * (1 - losses.mean() / raw), abs=0.01)


def check_engines_agree(found):
    assert found.largest_difference <= 1e-12


def check_prior_moves(found):
    prior = found.by_month["class_prior"]
    assert prior.max() / prior.min() > 1.5


def check_numbers_from_numpy(found):
    log = pl.read_parquet(found.log).drop_nulls("late")
    late, positive = log["late"].to_numpy(), log["score"].to_numpy() > 1 / 6
    prior = late.mean()
    assert found.prior == pytest.approx(prior, rel=1e-12)
    for row in found.by_month.iter_rows(named=True):
        month = log["month"].to_numpy() == row["time"].month
        hits, alarms = positive[month & late].mean(), positive[month & ~late].mean()
        expected = prior * hits / (prior * hits + (1 - prior) * alarms)
        assert row["precision_at_prior"] == pytest.approx(expected, rel=1e-12)
        assert row["precision"] == pytest.approx(late[month & positive].mean(), rel=1e-12)
        missed, false = (~positive[month & late]).sum(), positive[month & ~late].sum()
        naive = min(5 * late[month].sum(), (~late[month]).sum())
        assert row["nec"] == pytest.approx((5 * missed + false) / naive, rel=1e-12)


def check_model_is_better_than_the_prior(found):
    log = pl.read_parquet(found.log).drop_nulls("late")
    late, score = log["late"].to_numpy(), log["score"].to_numpy()
    ranks = np.argsort(np.argsort(score))
    n1, n0 = late.sum(), (~late).sum()
    assert (ranks[late].sum() - n1 * (n1 - 1) / 2) / (n1 * n0) > 0.6


def check_story_tells_the_numbers_of_the_run(found, printed):
    (text,) = printed
    assert len(text.splitlines()) <= 80
    assert "agree to a relative 1e-12" in text
    for title in ("Per month", "Per carrier"):
        table = text.split(f"{title}\n")[1].split("\n\n")[0].splitlines()
        assert table[0].split()[1:3] == ["n", "nec"]
        assert max(map(len, table)) <= 80
    months = found.by_month.sort("class_prior")
    for column in ("class_prior", "precision", "precision_at_prior"):
        for value in (months[column][0], months[column][-1]):
            assert f"{value:.3f}" in demo.tell(found)


def test_swapped_months_are_those_that_change_places():
    months = pl.DataFrame({"precision": [0.5, 0.4, 0.3], "precision_at_prior": [0.2, 0.3, 0.1]})
    assert [(a["precision"], b["precision"]) for a, b in demo._swapped(months)] == [(0.5, 0.4)]


def test_largest_difference():
    ours = pl.DataFrame({"k": ["a", "b"], "x": [1.0, None]})
    assert demo.largest_difference(ours, ours) == 0
    assert demo.largest_difference(ours, ours.with_columns(x=pl.Series([1.0 + 1e-9, None]))) == pytest.approx(1e-9)
    assert demo.largest_difference(ours, ours.with_columns(x=pl.Series([1.0, 2.0]))) == math.inf
    assert demo.largest_difference(ours, ours.with_columns(k=pl.lit("a"))) == math.inf
    assert demo.largest_difference(ours, ours.head(1)) == math.inf
    infinite = ours.with_columns(x=pl.lit(math.inf))
    assert demo.largest_difference(infinite, infinite) == 0
    assert demo.largest_difference(infinite, infinite.with_columns(x=pl.lit(1.0))) > 1e-12


def test_missing_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'polars_ec\[demo\]'"):
        demo.run(tmp_path)
