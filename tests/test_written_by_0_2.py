"""Files written by version 0.2 are read, and lead to the numbers of the log that they were made of, computed here in NumPy."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli import sketch_folder
from polars_ec.sketches import files
from tests.fixtures.make_0_2 import FOLDER, JOB, JOB_OPTIONS, MODIFIED
from tests.support.buckets import plain_bucket, plain_fold
from tests.support.cli import invoke

LOG = pl.read_parquet(FOLDER / "log.parquet")
USABLE = LOG.filter(pl.col("late").is_not_null())
CARRIERS = ["AA", "B6", "NK", None]
SKETCHES = sorted(file.stem for file in (FOLDER / "sketches").iterdir())
CALIBRATIONS = sorted(file.stem for file in (FOLDER / "calibrations").iterdir())


def read_sketch(name):
    return ec.Sketch.read_parquet(FOLDER / "sketches" / f"{name}.parquet")


def read_calibration(name):
    return ec.Calibration.read_parquet(FOLDER / "calibrations" / f"{name}.parquet")


def by_carrier(rows=USABLE):
    return {carrier: rows.filter(pl.col("carrier").eq_missing(carrier)) for carrier in CARRIERS}


def by_key(table, key="carrier"):
    return {row[key]: row for row in table.iter_rows(named=True)}


def arrays(rows, score="p", label="late"):
    return rows[score].to_numpy(), rows[label].to_numpy().astype(bool)


def confusion(score, late, threshold, weight=1.0):
    """The sums of weights of true negatives, false positives, false negatives and true positives."""
    weight, decided = np.broadcast_to(weight, score.shape), score > threshold
    cells = [(~late & ~decided), (~late & decided), (late & ~decided), (late & decided)]
    return tuple(float(weight[cell].sum()) for cell in cells)


def normalized_cost(score, late, threshold, cost_fn=1.0, cost_fp=1.0):
    _, fp, fn, _ = confusion(score, late, threshold)
    return (cost_fn * fn + cost_fp * fp) / min(cost_fn * late.sum(), cost_fp * (~late).sum())


def log_losses(p, late):
    return -np.log(np.where(late, p, 1 - p))


def auc(score, late):
    above = score[late][:, None] - score[~late][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logit(p):
    return np.log(p / (1 - p))


# Sketches ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SKETCHES)
def test_every_sketch_counts_the_rows_of_the_log(name):
    sketch = read_sketch(name)
    counts = sketch.frame.group_by([key for key in ("score", "target") if key in sketch.keys]).agg(pl.col("n").sum())
    assert counts["n"].unique().to_list() == [LOG.height]
    assert sketch.evaluate().height >= 1


@pytest.mark.quick("clusters_weighted", "exact", "folds", "llrs", "models", "targets")
@pytest.mark.parametrize("name", SKETCHES)
def test_every_sketch_is_written_and_read_again(name, tmp_path):
    sketch = read_sketch(name)
    sketch.write_parquet(tmp_path / "again.parquet")
    again = ec.Sketch.read_parquet(tmp_path / "again.parquet")
    assert again.frame.equals(sketch.frame)
    assert again.evaluate().equals(sketch.evaluate())


def test_posteriors_by_carrier_and_month():
    found = read_sketch("posteriors").evaluate("confusion", "nec", "recall", "cross_entropy", "brier", "auc_roc")
    assert found.height == 12
    for row in found.iter_rows(named=True):
        rows = USABLE.filter(
            pl.col("carrier").eq_missing(row["carrier"]), pl.col("day").dt.truncate("1mo") == row["day"]
        )
        p, late = arrays(rows)
        assert (row["n"], row["class_prior"]) == (len(p), pytest.approx(late.mean()))
        cells = confusion(p, late, 1 / 6)
        assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == cells
        assert row["cross_entropy"] == pytest.approx(log_losses(p, late).mean(), rel=1e-12)
        assert row["brier"] == pytest.approx(((p - late) ** 2).mean(), rel=1e-12)
        if row["carrier"] == "NK":
            assert (row["nec"], row["recall"], row["auc_roc"]) == (None, None, None)
        else:
            assert row["nec"] == pytest.approx(normalized_cost(p, late, 1 / 6, cost_fn=5), rel=1e-12)
            assert row["recall"] == pytest.approx(cells[3] / late.sum(), rel=1e-12)
            assert row["auc_roc"] == pytest.approx(auc(p, late), abs=row["auc_roc_error"] + 1e-12)
            assert row["auc_roc_error"] < 0.01


def test_all_thresholds_of_weighted_rows():
    sketch = read_sketch("weighted")
    assert sketch.weighted
    for threshold in (0.1, 0.25, 0.5):
        found = by_key(sketch.evaluate("confusion", "accuracy", "cross_entropy", threshold=threshold))
        for carrier, rows in by_carrier().items():
            (p, late), w = arrays(rows), rows["w"].to_numpy()
            cells = confusion(p, late, threshold, w)
            row = found[carrier]
            assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == pytest.approx(cells, rel=1e-12)
            assert row["accuracy"] == pytest.approx((cells[0] + cells[3]) / w.sum(), rel=1e-12)
            assert row["cross_entropy"] == pytest.approx((w * log_losses(p, late)).sum() / w.sum(), rel=1e-12)


def test_llrs_at_the_prior_that_they_were_made_for():
    found = by_key(read_sketch("llrs").evaluate("fpr", "recall", "nec", "auc_roc", "cllr", prior=0.2))
    threshold = -np.log(2) - logit(0.2)
    for carrier, rows in by_carrier().items():
        if carrier == "NK":
            continue
        (llr, late), row = arrays(rows, "llr"), found[carrier]
        tn, fp, fn, tp = confusion(llr, late, threshold)
        recall, fpr = tp / (tp + fn), fp / (fp + tn)
        assert (row["recall"], row["fpr"]) == pytest.approx((recall, fpr), rel=1e-12)
        nec = (2 * 0.2 * (1 - recall) + 0.8 * fpr) / min(2 * 0.2, 0.8)
        assert row["nec"] == pytest.approx(nec, rel=1e-12)
        assert row["auc_roc"] == pytest.approx(auc(llr, late), abs=row["auc_roc_error"] + 1e-12)
        losses = np.log2(1 + np.exp(np.where(late, -llr, llr)))
        assert row["cllr"] == pytest.approx((losses[late].mean() + losses[~late].mean()) / 2, rel=1e-12)


def test_log_odds_and_raw_scores():
    x, late = arrays(USABLE, "log_odds")
    row = read_sketch("log_odds").evaluate("confusion", "nec", "cross_entropy").row(0, named=True)
    assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(x, late, np.log(3))
    assert row["nec"] == pytest.approx(normalized_cost(x, late, np.log(3), cost_fp=3), rel=1e-12)
    assert row["cross_entropy"] == pytest.approx(log_losses(sigmoid(x), late).mean(), rel=1e-12)
    found = by_key(read_sketch("raw").evaluate("confusion", "auc_roc"))
    for carrier, rows in by_carrier().items():
        (raw, late), row = arrays(rows, "raw"), found[carrier]
        assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(raw, late, 7.5)
        if carrier != "NK":
            assert row["auc_roc"] == pytest.approx(auc(raw, late), abs=row["auc_roc_error"] + 1e-12)


def test_an_exact_sketch():
    sketch = read_sketch("exact")
    found = by_key(sketch.evaluate("confusion", "auc_roc", "cross_entropy", threshold=0.3))
    for carrier, rows in by_carrier().items():
        (p, late), row = arrays(rows), found[carrier]
        assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(p, late, 0.3)
        assert row["cross_entropy"] == pytest.approx(log_losses(p, late).mean(), rel=1e-9)
        if carrier != "NK":
            assert row["auc_roc"] == pytest.approx(auc(p, late), rel=1e-12)
            assert row["auc_roc_error"] == 0


def test_folds_are_those_of_the_keys_today():
    sketch = read_sketch("folds")
    folds = np.array([plain_fold(user, 4) for user in LOG["user"]])
    counts = sketch.frame.group_by("fold").agg(pl.col("n").sum()).sort("fold").rows()
    assert counts == [(fold, int((folds == fold).sum())) for fold in range(5)]
    # So the calibrators of a fold have seen none of its rows.
    n_fitted = dict(sketch.calibrate().frame.filter(pl.col("carrier") == "AA").select("fold", "n").rows())
    usable = (LOG["late"].is_not_null() & (LOG["carrier"] == "AA").fill_null(False)).to_numpy()
    expected = {fold: int((usable & (folds != fold)).sum()) for fold in range(5)}
    assert n_fitted == {**expected, None: int(usable.sum())}


@pytest.mark.parametrize(("name", "weighted"), [("clusters", False), ("clusters_weighted", True)])
def test_buckets_of_clusters_are_those_of_the_keys_today(name, weighted):
    sketch = read_sketch(name)
    assert (sketch.cluster, sketch.buckets, sketch.hash) == ("user", 20, "murmur3")
    rows = USABLE.with_columns(bucket=pl.Series([plain_bucket(user, 20) for user in USABLE["user"]], dtype=pl.Int16))
    amount = pl.col("weight" if weighted else "n").sum().alias("amount").cast(pl.Float64)
    found = sketch.coarse.group_by("bucket", "class").agg(amount).sort("bucket", "class")
    expected = (
        rows.group_by("bucket", pl.col("late").cast(pl.Int8).alias("class"))
        .agg((pl.col("w").sum() if weighted else pl.len()).cast(pl.Float64).alias("amount"))
        .sort("bucket", "class")
    )
    assert found.equals(expected)


def test_intervals_of_clusters():
    # The standard error of recall is that of a ratio of sums over the buckets; rows without a user are clusters of their own.
    found = by_key(read_sketch("clusters").evaluate("recall", interval=0.95))
    for carrier in ("AA", "B6"):
        rows = by_carrier()[carrier].with_row_index("row")
        p, late = arrays(rows)
        recall = float((p[late] > 0.5).mean())
        cluster = [
            f"row {row}" if user is None else f"bucket {plain_bucket(user, 20)}"
            for row, user in rows.select("row", "user").iter_rows()
        ]
        influence = pl.DataFrame({"cluster": cluster, "psi": late * ((p > 0.5) - recall) / late.sum()})
        error = np.sqrt((influence.group_by("cluster").agg(pl.col("psi").sum())["psi"].to_numpy() ** 2).sum())
        row = found[carrier]
        assert row["recall"] == pytest.approx(recall, rel=1e-12)
        width = row["recall_ci_high"] - row["recall_ci_low"]
        assert row["recall_ci_low"] < recall < row["recall_ci_high"]
        # Quantiles of t, corrections for few clusters and the transform of the ends differ from the plain normal interval by less.
        assert width == pytest.approx(2 * 1.96 * error, rel=0.25)


def test_several_models_and_their_differences():
    sketch = read_sketch("models")
    found = sketch.evaluate("confusion", "cross_entropy", "auc_roc")
    for row in found.iter_rows(named=True):
        p, late = arrays(by_carrier()[row["carrier"]], row["score"])
        assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(p, late, 0.5)
        assert row["cross_entropy"] == pytest.approx(log_losses(p, late).mean(), rel=1e-12)
        if row["carrier"] != "NK":
            assert row["auc_roc"] == pytest.approx(auc(p, late), abs=row["auc_roc_error"] + 1e-12)
    assert found["score"].unique().sort().to_list() == ["p", "q"]
    differences = by_key(read_sketch("models").compare("cross_entropy").filter(pl.col("model") == "q"))
    for carrier, rows in by_carrier().items():
        if carrier == "NK":
            continue
        late = rows["late"].to_numpy()
        difference = log_losses(rows["q"].to_numpy(), late).mean() - log_losses(rows["p"].to_numpy(), late).mean()
        assert differences[carrier]["difference"] == pytest.approx(difference, rel=1e-9)


def test_each_class_of_vectors_against_the_others():
    vectors, kinds = np.array(LOG["shares"].to_list()), LOG["kind"].to_numpy()
    found = by_key(read_sketch("targets").evaluate("confusion", "cross_entropy", "auc_roc"), "target")
    for k, kind in enumerate(["car", "ship", "train"]):
        row, p, is_kind = found[kind], vectors[:, k], kinds == kind
        assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(p, is_kind, 0.5)
        assert row["cross_entropy"] == pytest.approx(log_losses(p, is_kind).mean(), rel=1e-12)
        assert row["auc_roc"] == pytest.approx(auc(p, is_kind), abs=row["auc_roc_error"] + 1e-12)
    top = np.array(["car", "ship", "train"])[vectors.argmax(axis=1)] == kinds
    row = read_sketch("top_label").evaluate("confusion", "brier").row(0, named=True)
    assert row["class_prior"] == pytest.approx(top.mean())
    assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == confusion(vectors.max(axis=1), top, 0.5)
    assert row["brier"] == pytest.approx(((vectors.max(axis=1) - top) ** 2).mean(), rel=1e-12)


def test_wrong_rows_take_the_metrics_of_their_group():
    found = by_key(read_sketch("wrong_rows").evaluate("recall", "cross_entropy"))
    for carrier, rows in by_carrier().items():
        p, late = arrays(rows, "p_wrong")
        row = found[carrier]
        n_wrong = int((p > 1).sum())
        assert (row["n"], row["n_invalid"]) == (len(p) - n_wrong, n_wrong)
        assert (n_wrong > 0) == (carrier == "B6")
        assert (row["cross_entropy"] is None) == (carrier == "B6")
        if not n_wrong:
            assert row["cross_entropy"] == pytest.approx(log_losses(p, late).mean(), rel=1e-12)


def test_stated_costs_and_names_of_classes():
    sketch = read_sketch("costs")
    row = sketch.evaluate("confusion", "expected_cost", "nec").row(0, named=True)
    p, late = LOG["p"].to_numpy(), (LOG["status"] == "late").to_numpy()
    # A decision for "late" costs 2 (1 - p) + p, one for "on time" 8 p.
    tn, fp, fn, tp = confusion(p, late, 2 / 9)
    assert tuple(row[cell] for cell in ("tn", "fp", "fn", "tp")) == (tn, fp, fn, tp)
    assert row["expected_cost"] == pytest.approx((2 * fp + 8 * fn + tp) / len(p), rel=1e-12)
    naive = min(8 * late.sum(), 2 * (~late).sum() + late.sum())
    assert row["nec"] == pytest.approx((2 * fp + 8 * fn + tp) / naive, rel=1e-12)
    assert sketch.evaluate("recall", prior={"late": 0.3, "on time": 0.7})["recall"].item() == pytest.approx(
        tp / (tp + fn)
    )


def test_sketches_of_today_go_with_those_of_before():
    month = pl.col("day").dt.truncate("1mo")
    today = {
        "posteriors": LOG.ec.sketch("p", "late", by=["carrier", month], cost_fn=5),
        "weighted": LOG.ec.sketch("p", "late", by="carrier", weight="w", thresholds=[0.1, 0.25]),
        "llrs": LOG.ec.sketch("llr", "late", by="carrier", score_type="llr", prior=0.2, cost_fn=2, resolution=16),
        "clusters": LOG.ec.sketch("p", "late", by="carrier", cluster="user", buckets=20, resolution=32),
        "folds": LOG.ec.sketch("p", "late", by="carrier", folds=4, fold_by="user"),
    }
    for name, sketch in today.items():
        before = read_sketch(name)
        twice = before + sketch
        cells = [column for column in twice.frame.columns if column not in ("n", "weight", "weight2")]
        # Every row is in the cell that it was in.
        doubled = before.frame.with_columns(pl.col("n") * 2).select(*cells, "n")
        assert twice.frame.select(*cells, "n").sort(cells).equals(doubled.sort(cells)), name


# Calibrations ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_every_calibration_is_written_and_read_again(name, tmp_path):
    calibration = read_calibration(name)
    calibration.write_parquet(tmp_path / "again.parquet")
    again = ec.Calibration.read_parquet(tmp_path / "again.parquet")
    assert again.frame.equals(calibration.frame)
    assert (again.calibrator, again.score_type, again.prior) == (
        calibration.calibrator,
        calibration.score_type,
        calibration.prior,
    )


def gradient(x, late, alpha, beta, prior=None, shift=0.0):
    """The derivatives of the mean cross-entropy of sigmoid(alpha x + beta) by alpha and beta, rows weighted to the prior."""
    weight = np.ones(len(x)) if prior is None else np.where(late, prior / late.mean(), (1 - prior) / (~late).mean())
    residual = weight * (sigmoid(alpha * x + beta + shift) - late)
    return (residual * x).mean(), residual.mean()


def test_affine_by_group_and_out_of_fold():
    calibration = read_calibration("affine")
    rows = LOG.with_columns(fold=pl.Series([plain_fold(user, 4) for user in LOG["user"]], dtype=pl.Int16))
    for row in calibration.frame.iter_rows(named=True):
        fitted = rows.filter(pl.col("carrier").eq_missing(row["carrier"]), pl.col("late").is_not_null())
        fitted = fitted.filter(pl.col("fold") != (-1 if row["fold"] is None else row["fold"]))
        assert row["n"] == fitted.height
        if row["carrier"] == "NK":
            assert (row["alpha"], row["beta"], row["reason"]) == (None, None, "one class")
        else:
            p, late = arrays(fitted)
            assert gradient(logit(p), late, row["alpha"], row["beta"]) == pytest.approx((0, 0), abs=1e-8)
    parameters = {(row["carrier"], row["fold"]): row for row in calibration.frame.iter_rows(named=True)}
    applied = rows.with_columns(whole=calibration.apply("p"), cross_fitted=calibration.apply("p", out_of_fold=True))
    for row in applied.iter_rows(named=True):
        for name, fold in (("whole", None), ("cross_fitted", row["fold"])):
            fit = parameters[row["carrier"], fold]
            expected = None if row["carrier"] == "NK" else sigmoid(fit["alpha"] * logit(row["p"]) + fit["beta"])
            assert row[name] == (None if expected is None else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(
    ("name", "score", "prior"), [("affine_at_a_prior", "log_odds", 0.5), ("affine_of_llrs", "llr", 0.3)]
)
def test_affine_at_a_stated_prior(name, score, prior):
    calibration = read_calibration(name)
    assert calibration.prior == prior
    x, late = arrays(USABLE, score)
    alpha, beta = calibration.frame.select("alpha", "beta").row(0)
    assert gradient(x, late, alpha, beta, prior) == pytest.approx((0, 0), abs=1e-8)
    applied = USABLE.select(calibration.apply(score)).to_series().to_numpy()
    np.testing.assert_allclose(applied, sigmoid(alpha * x + beta), rtol=1e-12)


def test_temperature_gaussian_and_bins():
    x, late = arrays(USABLE, "log_odds")
    alpha, beta = read_calibration("temperature").frame.select("alpha", "beta").row(0)
    assert beta == 0
    assert gradient(x, late, alpha, beta)[0] == pytest.approx(0, abs=1e-8)

    raw, late = arrays(USABLE, "raw")
    variance = 0.4 * raw[late].var() + 0.6 * raw[~late].var()
    slope = (raw[late].mean() - raw[~late].mean()) / variance
    shift = -slope * (raw[late].mean() + raw[~late].mean()) / 2 + logit(0.4)
    gaussian = read_calibration("gaussian")
    assert gaussian.frame.select("alpha", "beta").row(0) == pytest.approx((slope, shift), rel=1e-9)
    applied = USABLE.select(gaussian.apply("raw")).to_series().to_numpy()
    np.testing.assert_allclose(applied, sigmoid(slope * raw + shift), rtol=1e-9)

    # In bins of 1/64 the log-odds are at most 1/128 off.
    p, late = arrays(USABLE)
    alpha, beta = read_calibration("affine_of_bins").frame.select("alpha", "beta").row(0)
    assert gradient(logit(p), late, alpha, beta) == pytest.approx((0, 0), abs=0.01)


def test_histograms_are_shares_of_positives():
    applied = USABLE.with_columns(calibrated=read_calibration("histogram").apply("p"))
    for carrier, rows in by_carrier(applied).items():
        if carrier == "NK":
            assert rows["calibrated"].null_count() == rows.height
            continue
        p, late = arrays(rows)
        bins = np.ceil(p * 5).clip(1)
        expected = [late[bins == b].mean() for b in bins]
        np.testing.assert_allclose(rows["calibrated"].to_numpy(), expected, rtol=1e-12)
    late = USABLE["late"].to_numpy()
    calibrated = USABLE.select(read_calibration("histogram_of_equal_mass").apply("raw")).to_series().to_numpy()
    assert len(np.unique(calibrated)) == 4
    for value in np.unique(calibrated):
        share = late[calibrated == value].mean()
        # A bin is cut where a cell of the sketch ends.
        assert value == pytest.approx(share, rel=1e-12)
        assert (calibrated == value).mean() == pytest.approx(0.25, abs=0.02)


def pooled(score, late):
    """Isotonic regression: pools of equal or falling shares, from the lowest score on."""
    pools = []
    for value in np.unique(score):
        pools.append([late[score == value].sum(), (score == value).sum(), [value]])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            positives, n, values = pools.pop()
            pools[-1] = [pools[-1][0] + positives, pools[-1][1] + n, pools[-1][2] + values]
    return {value: positives / n for positives, n, values in pools for value in values}


def test_isotonic_regression():
    raw, late = arrays(USABLE, "raw")
    of_score = pooled(raw, late)
    calibrated = USABLE.select(read_calibration("pav").apply("raw")).to_series().to_numpy()
    # Scores are in the cells that they are in; where two are in one cell the lower one says where the step is.
    np.testing.assert_allclose(calibrated, [of_score[value] for value in raw], atol=1e-12)


def test_vectors_of_three_classes():
    kinds = ["car", "ship", "train"]
    for name, carriers in (("classes_affine", CARRIERS), ("classes_temperature", ["all"])):
        calibration = read_calibration(name)
        fits = calibration.frame.filter(pl.col("fold").is_null())
        assert fits.height == len(carriers)
        applied = LOG.with_columns(calibrated=calibration.apply("shares"))
        for fit in fits.iter_rows(named=True):
            rows = applied if carriers == ["all"] else by_carrier(applied)[fit["carrier"]]
            logs = np.log(np.array(rows["shares"].to_list()))
            scores = np.exp(fit["alpha"] * logs + np.array(fit["beta"]))
            posteriors = scores / scores.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(np.array(rows["calibrated"].to_list()), posteriors, rtol=1e-9)
            residual = posteriors - (rows["kind"].to_numpy()[:, None] == np.array(kinds))
            assert (residual * logs).sum(axis=1).mean() == pytest.approx(0, abs=1e-7)
            if name == "classes_affine":
                np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-7)


# The folder of a job ------------------------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path):
    """A copy of the folder of sketches; the inputs that it names are not there. One test at a time has them."""
    lock = JOB.with_name(f"{JOB.name}.lock")
    try:
        with open(lock, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            shutil.rmtree(JOB, ignore_errors=True)
            shutil.copytree(FOLDER / "job" / "sketches", tmp_path / "sketches")
            yield tmp_path
            shutil.rmtree(JOB, ignore_errors=True)
    except PermissionError:
        pytest.skip(f"{lock} or {JOB} is another user's")


def expected_of_months(*months):
    """The rows of the report that are checked, by carrier and month."""
    expected = {}
    for carrier, rows in by_carrier().items():
        for month in months:
            of_month = rows.filter(pl.col("day").dt.month() == month)
            (p, late), w = arrays(of_month), of_month["w"].to_numpy()
            cells = confusion(p, late, 0.25, w)
            share = (w * late).sum() / w.sum()
            expected[carrier, month] = (of_month.height, share, *cells, (w * (p - late) ** 2).sum() / w.sum())
    return expected


def reported(folder, tmp_path):
    table = tmp_path / "report.parquet"
    args = ["--by", "carrier", "--time", "day", "--every", "1mo", "--threshold", "0.25", "--metrics", "confusion,brier"]
    result = invoke("report", folder, *args, "--out", table)
    assert result.exit_code == 0, result.output
    columns = ["n", "class_prior", "tn", "fp", "fn", "tp", "brier"]
    return {
        (row["carrier"], row["day"].month): tuple(row[c] for c in columns)
        for row in pl.read_parquet(table).iter_rows(named=True)
    }


def full_report(folder, tmp_path):
    args = ["--by", "carrier", "--time", "day", "--every", "1mo", "--prior", "0.3", "--interval", "0.9"]
    assert invoke("report", folder, *args, "--out", tmp_path / "full.parquet").exit_code == 0
    return pl.read_parquet(tmp_path / "full.parquet")


def stamps(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.parquet")}


def test_a_folder_of_sketches_is_reported_and_grows(job):
    sketches = job / "sketches"
    before = stamps(sketches)
    assert len(before) == 2
    new = shutil.copy(FOLDER / "job" / "2024-03.csv", job)
    # The inputs of before were deleted, and their sketches are what is left of them.
    result = invoke("sketch", new, "--out", sketches, "--vanished", "keep", *JOB_OPTIONS)
    assert result.exit_code == 0, result.output
    assert "1 sketched, 0 unchanged" in result.stdout
    assert f"{LOG.height} rows" in result.stdout
    assert {name: stamps(sketches)[name] for name in before} == before
    expected = expected_of_months(1, 2, 3)
    found = reported(sketches, job)
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == pytest.approx(row, rel=1e-12), key


@pytest.mark.slow
@pytest.mark.skipif(os.path.realpath(JOB) != str(JOB) or sys.platform == "win32", reason=f"{JOB} is reached by a link")
def test_a_job_goes_on_where_version_0_2_stopped(job):
    sketches, logs = job / "sketches", JOB / "logs"
    shutil.copytree(FOLDER / "job" / "logs", logs)
    for name, seconds in MODIFIED.items():
        os.utime(logs / name, (seconds, seconds))
    before = stamps(sketches)
    for _ in range(2):
        result = invoke("sketch", logs, "--out", sketches, *JOB_OPTIONS)
        assert result.exit_code == 0, result.output
        assert "0 sketched, 2 unchanged" in result.stdout
    assert stamps(sketches) == before
    shutil.copy(FOLDER / "job" / "2024-03.csv", logs)
    os.utime(logs / "2024-01.csv", (MODIFIED["2024-01.csv"] + 1,) * 2)
    result = invoke("sketch", logs, "--out", sketches, *JOB_OPTIONS)
    assert result.exit_code == 0, result.output
    assert f"2 sketched, 1 unchanged; {LOG.height} rows" in result.stdout
    expected = expected_of_months(1, 2, 3)
    found = reported(sketches, job)
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert found[key] == pytest.approx(row, rel=1e-12), key
    # And every other number is that of a folder that version 0.2 has never seen.
    assert invoke("sketch", logs, "--out", job / "fresh", *JOB_OPTIONS).exit_code == 0
    assert_frame_equal(full_report(sketches, job), full_report(job / "fresh", job), rel_tol=1e-12)


def test_a_job_with_other_options_is_refused(job):
    options = ["0.3" if option == "0.25" else option for option in JOB_OPTIONS]
    new = shutil.copy(FOLDER / "job" / "2024-03.csv", job)
    result = invoke("sketch", new, "--out", job / "sketches", "--vanished", "keep", *options)
    assert result.exit_code == 2, result.output
    assert "was made with other options: thresholds" in result.stderr


def test_a_table_of_the_macro_is_a_sketch():
    table = pl.read_parquet(FOLDER / "macro_table.parquet")
    options = {"thresholds": [0.25], "weighted": True, "cluster": "user", "buckets": 20}
    found = ec.Sketch.from_arrow(table, **options)
    rates = by_key(found.evaluate("recall", threshold=0.25).filter(pl.col("carrier") != "NK"))
    for carrier in ("AA", "B6"):
        rows = by_carrier()[carrier]
        _, _, fn, tp = confusion(*arrays(rows), 0.25, rows["w"].to_numpy())
        assert rates[carrier]["recall"] == pytest.approx(tp / (fn + tp), rel=1e-12)


def test_the_page_on_upgrading_names_the_schema_versions():
    page = (Path(__file__).parents[1] / "docs/reference/upgrading.md").read_text("utf-8")
    stated = re.findall(r"^\| \w.* \| (\d) \| (\d)(?: (?:and|to) \d)? \| `polars_ec\.(\w+)` \|$", page, re.MULTILINE)
    read = {kind: (str(files.VERSIONS[kind]), str(oldest)) for kind, oldest in files._OLDEST_READ.items()}
    assert {kind: (newest, oldest) for newest, oldest, kind in stated} == read | {
        "input": (str(sketch_folder._VERSION),) * 2
    }


def test_the_fixtures_are_small_and_name_no_machine():
    files = [file for file in Path(FOLDER).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 300_000
