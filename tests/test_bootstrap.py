"""Bootstrap limits of reports, sketches and calibration losses, against rows and clusters drawn one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from polars_ec.formulas.ranking import areas
from tests.support.cases import mostly_slow

BOOTSTRAP = {"interval": 0.95, "method": "bootstrap"}
METRICS = ["nec", "precision", "recall", "mcc", "nce", "nbs"]


@cache
def log(n: int = 500, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    user = rng.integers(0, n // 5, n)
    x = rng.normal(2.2 * y - 1.5, 1.2) + 0.7 * rng.normal(size=n // 5)[user]
    return pl.DataFrame({"x": x, "y": y, "w": rng.exponential(size=n), "user": user, "s": rng.integers(0, 2, n)})


def value(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    """The metrics of many logs at once, (logs, rows): by their plain formulas."""

    def mean(of: np.ndarray) -> np.ndarray:
        return (w * of).sum(axis=1) / w.sum(axis=1)

    q, d = 1 / (1 + np.exp(-x)), x > 0
    prior, tp, fp, fn = mean(y), mean(d & y), mean(d & ~y), mean(~d & y)
    tn = 1 - tp - fp - fn
    entropy = -prior * np.log(prior) - (1 - prior) * np.log(1 - prior)
    return {
        "nec": (fp + fn) / np.minimum(prior, 1 - prior),
        "precision": tp / (tp + fp),
        "recall": tp / prior,
        "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "nce": mean(np.logaddexp(0, np.where(y, -x, x))) / entropy,
        "nbs": mean((q - y) ** 2) / (prior * (1 - prior)),
    }


def quantiles_of_draws(frame: pl.DataFrame, draw: Callable[[np.random.Generator], np.ndarray], logs: int = 10_000):
    """The outer quantiles of each metric over logs whose rows count as often as a draw says."""
    x, y, w = (frame[name].to_numpy() for name in ("x", "y", "w"))
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(0, logs, 1000):
        times = np.stack([draw(rng) for _ in range(1000)])
        parts.append(value(x, y, w * times))
    whole = {name: np.concatenate([part[name] for part in parts]) for name in METRICS}
    return {name: np.quantile(of, [0.025, 0.975]) for name, of in whole.items()}


def rows_drawn(n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: np.bincount(rng.integers(0, n, n), minlength=n)


def assert_near(found: pl.DataFrame, expected: dict[str, np.ndarray], rel: float = 0.03) -> None:
    for name, (low, high) in expected.items():
        ends = found.select(f"{name}_ci_low", f"{name}_ci_high").row(0)
        assert ends == pytest.approx((low, high), abs=rel * (high - low)), name


@pytest.mark.parametrize(
    ("weight", "logs"), mostly_slow([("w", 10_000), (None, 20_000), ("w", 20_000)], [("w", 10_000)])
)
@pytest.mark.slow
def test_limits_of_a_report_are_those_of_rows_drawn_one_by_one(weight, logs):
    frame = log() if weight else log().with_columns(w=pl.lit(1.0))
    expected = quantiles_of_draws(frame, rows_drawn(frame.height), logs)
    options = {"score_type": "log_odds", "weight": weight}
    found = frame.ec.report("x", "y", **BOOTSTRAP, **options, metrics=METRICS, replicates=logs)
    assert_near(found, expected)
    sketch = frame.ec.sketch("x", "y", **options)
    assert_near(sketch.evaluate(*METRICS, **BOOTSTRAP, replicates=logs), expected)


@pytest.mark.slow
def test_limits_of_clusters_are_those_of_buckets_drawn_one_by_one():
    """Buckets are drawn; and rows without a cluster, each for itself."""
    frame = log().with_columns(w=pl.lit(1.0), user=pl.when(pl.col("user") >= 15).then("user"))
    bucket = frame.select(b=ec.bucket("user", 60))["b"]
    own = pl.Series(np.arange(frame.height) + 1000)
    unit = np.unique(bucket.fill_null(own), return_inverse=True)[1]
    units = unit.max() + 1
    expected = quantiles_of_draws(frame, lambda rng: rows_drawn(units)(rng)[unit])
    options = {"score_type": "log_odds", "cluster": "user", "buckets": 60}
    found = frame.ec.report("x", "y", **BOOTSTRAP, **options, metrics=METRICS, replicates=10_000)
    assert_near(found, expected)
    sketch = frame.ec.sketch("x", "y", **options)
    assert_near(sketch.evaluate(*METRICS, **BOOTSTRAP, replicates=10_000), expected)
    # Rows drawn for themselves say something else.
    rows = frame.ec.report("x", "y", **BOOTSTRAP, score_type="log_odds", metrics=METRICS)
    widths = [f["nce_ci_high"].item() - f["nce_ci_low"].item() for f in (found, rows)]
    assert widths[0] > 1.1 * widths[1]


@pytest.mark.slow
def test_limits_of_many_classes_are_those_of_rows_drawn_one_by_one():
    rng = np.random.default_rng(5)
    label, scores = rng.integers(0, 4, 300), rng.normal(size=(300, 4))
    scores[np.arange(300), label] += 1.3
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    frame = pl.DataFrame({"q": pl.Series(np.exp(logs), dtype=pl.Array(pl.Float64, 4)), "y": label})
    right, loss = logs.argmax(axis=1) == label, -logs[np.arange(300), label]
    brier = ((np.exp(logs) - np.eye(4)[label]) ** 2).mean(axis=1)
    drawn = rng.integers(0, 300, (20_000, 300))
    values = {"accuracy": right, "cross_entropy": loss, "brier": brier}
    expected = {name: np.quantile(of[drawn].mean(axis=1), [0.025, 0.975]) for name, of in values.items()}
    found = frame.ec.report("q", "y", **BOOTSTRAP, metrics=[*values], score_type="posteriors", replicates=20_000)
    assert_near(found, expected)


def test_limits_of_costs_by_row_are_those_of_rows_drawn_one_by_one():
    frame = log(300)
    amount = np.random.default_rng(3).exponential(size=300) ** 1.5
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    # A miss costs the amount, a false alarm 1; each row is decided at its own Bayes threshold.
    alarm = 1 / (1 + np.exp(-x)) > 1 / (1 + amount)
    cost = np.where(y & ~alarm, amount, 0.0) + (~y & alarm)
    drawn = np.random.default_rng(0).integers(0, 300, (20_000, 300))
    expected = {"expected_cost": np.quantile(cost[drawn].mean(axis=1), [0.025, 0.975])}
    found = frame.with_columns(amount=amount).ec.report(
        *("x", "y"), **BOOTSTRAP, score_type="log_odds", cost_fn="amount", metrics=["expected_cost"], replicates=20_000
    )
    assert_near(found, expected)


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_are_nearly_alike_are_not_all_the_same(method, weight):
    """Scores that say little have losses in few bins: at a stated prior only what those of a bin differ by moves their mean."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.28, 0.32, 500)
    y, w = rng.random(500) < p, rng.random(500) + 0.5 if weight else np.ones(500)
    weak = pl.DataFrame({"x": np.log(p / (1 - p)), "y": y, "w": w})
    variance = 0.0
    for of_class, prior in ((y, 0.2), (~y, 0.8)):
        loss, of = -np.log(np.where(y, p, 1 - p))[of_class], w[of_class]
        variance += (prior / of.sum()) ** 2 * (of**2 * (loss - np.average(loss, weights=of)) ** 2).sum()
    asked = {"interval": 0.95, "method": method, "prior": 0.2}
    report = weak.ec.report(
        *("x", "y"), **asked, metrics=["cross_entropy"], score_type="log_odds", weight=weight, replicates=4000
    )
    sketch = weak.ec.sketch("x", "y", score_type="log_odds", weight=weight)
    of_sketch = sketch.evaluate("cross_entropy", **asked, replicates=4000)
    for table, name in ((report, "cross_entropy_at_prior"), (of_sketch, "cross_entropy")):
        width = table[f"{name}_ci_high"].item() - table[f"{name}_ci_low"].item()
        assert width == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.06)


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_costs_of_any_unit_have_the_same_limits(method):
    """Also of amounts so large that they are in one bin."""
    amount = np.random.default_rng(3).exponential(size=400) ** 1.5
    frame = log(400).with_columns(amount=amount, cent=amount * 1e6)
    asked = {"score_type": "log_odds", "threshold": 0.0, "metrics": ["expected_cost"], "replicates": 3000}
    of_units = [
        frame.ec.report("x", "y", **asked, interval=0.95, method=method, cost_fn=unit, cost_fp=unit)
        for unit in ("amount", "cent")
    ]
    low, high, value = (
        [report[f"expected_cost{end}"].item() for report in of_units] for end in ("_ci_low", "_ci_high", "")
    )
    width = high[0] - low[0]
    assert value[1] == pytest.approx(value[0] * 1e6)
    assert (low[1] / 1e6, high[1] / 1e6) == pytest.approx((low[0], high[0]), abs=0.1 * width)


def areas_of_draws(x: np.ndarray, y: np.ndarray, w: np.ndarray, logs: int) -> np.ndarray:
    """The area under the ROC curve of logs whose rows are drawn one by one, from all pairs; scores have no ties."""
    pairs = (x[y][:, None] > x[~y]).astype(float)
    rng = np.random.default_rng(0)
    times = w * np.stack([rows_drawn(len(x))(rng) for _ in range(logs)])
    return ((times[:, y] @ pairs) * times[:, ~y]).sum(axis=1) / times[:, y].sum(axis=1) / times[:, ~y].sum(axis=1)


def test_limits_of_areas_are_those_of_rows_drawn_one_by_one():
    frame = log(250)
    drawn = areas_of_draws(frame["x"].to_numpy(), frame["y"].to_numpy(), np.ones(250), 5000)
    expected = {"auc_roc": np.quantile(drawn, [0.025, 0.975])}
    sketch = frame.ec.sketch("x", "y", score_type="log_odds")
    assert_near(sketch.evaluate("auc_roc", **BOOTSTRAP, replicates=3000), expected, rel=0.06)


@pytest.mark.parametrize("seed", [1, 4, 16])
def test_areas_that_round_above_1_have_limits(seed):
    """One row of 40 is on the wrong side, so that many resamples have an area of 1, or a bit more by the rounding of weights."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2 == 1
    x = np.where(y, 2.0, -2.0) + rng.uniform(-1, 1, 40)
    x[0], w = 1.5, rng.lognormal(size=40)
    frame = pl.DataFrame({"x": x, "y": y, "w": w})
    found = frame.ec.sketch("x", "y", score_type="log_odds", weight="w").evaluate("auc_roc", **BOOTSTRAP)
    assert found["auc_roc_ci_high"].item() == 1.0
    expected = np.quantile(areas_of_draws(x, y, w, 2000), 0.025)
    assert found["auc_roc_ci_low"].item() == pytest.approx(expected, abs=0.1 * (1 - expected))


@pytest.mark.parametrize("unit", [1.0, 1e-305, 1e150, 1e290])
def test_areas_of_cells_are_those_of_their_rows(unit):
    """Tables of cells at once, with ties, empty cells and no rows of a class, in any unit of weight."""
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 4, (5, 3, 20, 2)) * unit
    weight[0, 0, :, 1] = 0
    found = areas(weight)
    assert found.shape == (5, 3)
    assert np.isnan(found[0, 0])
    score, label = np.repeat(-np.arange(20.0), 2), np.tile([0, 1], 20)
    for table, area in [*zip(weight.reshape(15, 40), found.ravel(), strict=True)][1:]:
        assert area == pytest.approx(roc_auc_score(label, score, sample_weight=table / unit), rel=1e-12)


@pytest.mark.quick("bca-user", "bootstrap-None")
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_limits_hang_on_the_seed_and_the_rows_of_the_group_alone(method, cluster):
    options = {"interval": 0.9, "method": method, "cluster": cluster, "score_type": "log_odds", "replicates": 200}
    options["metrics"] = ["nec", "nce", "f1"]
    frame = log().with_columns(user=pl.when(pl.col("user") > 9).then("user"))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    whole = frame.ec.report("x", "y", by="s", total=True, **options)
    assert_same(shuffled.lazy().ec.report("x", "y", by="s", total=True, **options).collect(), whole)
    alone = frame.filter(pl.col("s") == 1).ec.report("x", "y", by="s", **options)
    assert_same(alone, whole.filter(pl.col("s") == 1, ~pl.col("total")).drop("total"))
    of_all = frame.ec.report("x", "y", **options)
    assert_same(of_all, whole.filter("total").drop("total", "s"))
    other = frame.ec.report("x", "y", **options, seed=1)
    assert other["nce_ci_low"].item() != pytest.approx(of_all["nce_ci_low"].item(), rel=1e-9)


def assert_same(one: pl.DataFrame, other: pl.DataFrame) -> None:
    assert_frame_equal(one, other, rel_tol=1e-9, abs_tol=0)
    assert one.select(pl.col("^.*_ci_.*$").is_not_null().all()).row(0) == (True,) * 6


def test_sketches_merged_have_the_limits_of_the_whole():
    frame, options = log(), {"score_type": "log_odds", "cluster": "user"}
    parts = [part.ec.sketch("x", "y", **options) for part in frame.partition_by("s")]
    whole = frame.ec.sketch("x", "y", **options)
    for names in (("nec", "nce"), ("auc_roc", "eer")):
        asked = {"interval": 0.95, "method": "bca", "replicates": 100}
        assert_frame_equal(ec.merge(parts).evaluate(*names, **asked), whole.evaluate(*names, **asked))


def test_a_report_and_a_sketch_agree():
    """The same draws, of the same counts."""
    frame, asked = log(), {**BOOTSTRAP, "replicates": 200, "prior": 0.2}
    names = {
        "nec": "nec_at_prior",
        "recall": "recall",
        "auc_roc": "auc_roc",
        "eer": "eer",
        "min_dcf": "min_dcf_at_prior",
    }
    of_report = frame.ec.report("x", "y", **asked, metrics=[*names], score_type="log_odds")
    of_sketch = frame.ec.sketch("x", "y", score_type="log_odds").evaluate(*names, **asked)
    for name, in_report in names.items():
        for end in ("low", "high"):
            assert of_report[f"{in_report}_ci_{end}"].item() == pytest.approx(of_sketch[f"{name}_ci_{end}"].item())


def test_rows_that_are_there_twice_in_their_cluster_change_nothing():
    once = log()
    twice = pl.concat([once, once])
    options = {"cluster": "user", "score_type": "log_odds", "metrics": METRICS}
    limits = [frame.ec.report("x", "y", **BOOTSTRAP, **options).select("^.*_ci_.*$") for frame in (once, twice)]
    assert_frame_equal(*limits)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_no_limits_where_draws_tell_of_none(method):
    """Rates of 0 and 1, absent classes, invalid rows, infinite losses and few clusters have no bounds."""
    options = {"interval": 0.95, "method": method, "replicates": 100, "metrics": ["recall", "cross_entropy"]}
    certain = pl.DataFrame({"p": [0.9, 0.8, 0.7, 0.2, 0.1, 0.3], "y": [1, 1, 1, 0, 0, 0]})

    def limits(frame: pl.DataFrame, **more):
        return frame.ec.report("p", "y", **options, **more).select("^.*_ci_low$").row(0)

    recall, loss = limits(certain)
    assert recall is None
    assert loss is not None
    assert limits(certain.filter(pl.col("y") == 0)) == (None, None)
    assert limits(certain.with_columns(p=pl.col("p") + (pl.col("p") == 0.9))) == (None, None)
    impossible = pl.concat([certain, pl.DataFrame({"p": [0.0, 0.4], "y": [1, 1]})])
    recall, loss = limits(impossible)
    assert recall is not None
    assert loss is None
    few = pl.concat([certain] * 9).with_columns(day=pl.int_range(pl.len()) % 4, p=pl.int_range(1, pl.len() + 1) / 60)
    assert limits(few, cluster="day") == (None, None)
    assert None not in limits(few)


def test_a_threshold_that_cuts_cells_leaves_room_for_them():
    frame = log()
    exact = frame.ec.sketch("x", "y", score_type="log_odds", thresholds=[0.31])
    cut = frame.ec.sketch("x", "y", score_type="log_odds", resolution=4)
    of_exact, of_cut = (s.evaluate("recall", threshold=0.31, **BOOTSTRAP, replicates=4000) for s in (exact, cut))
    assert of_cut["recall_ci_low"].item() < of_exact["recall_ci_low"].item()
    assert of_cut["recall_ci_high"].item() > of_exact["recall_ci_high"].item()
    assert of_cut["recall_low"].item() < of_exact["recall"].item() < of_cut["recall_high"].item()


@pytest.mark.slow
def test_calibrators_are_trained_anew_by_group_and_seed(monkeypatch):
    frame = log(800).with_columns(row=pl.int_range(pl.len()))
    sketch = frame.ec.sketch("x", "y", by="s", score_type="log_odds", folds=5, fold_by="row")
    asked = {**BOOTSTRAP, "replicates": 40}
    for prior in (None, 0.2, 0.25 + 0.25 * pl.col("s"), "overall"):
        both = sketch.calibration_loss(prior=prior, **asked)
        assert both["rcl_ci_low"].null_count() == 0
        assert (both["rcl_ci_low"] < both["rcl_ci_high"]).all()
        if not isinstance(prior, str):
            alone = sketch.filter(pl.col("s") == 1).calibration_loss(prior=prior, **asked)
            assert_frame_equal(alone, both.filter(pl.col("s") == 1))
    whole = sketch.calibration_loss(**asked)
    with monkeypatch.context() as patch:
        patch.setattr("polars_ec.sketches.moments._MOST", 1000)
        assert_frame_equal(sketch.calibration_loss(**asked), whole)
    seeds = [sketch.calibration_loss(**asked, seed=seed)["rcl_ci_low"].to_list() for seed in (0, 1)]
    assert seeds[0] != seeds[1]
    with pytest.raises(
        ValueError,
        match=r'method="bca" would refit the calibrator once for each row: pass method="bootstrap" or "influence"',
    ):
        sketch.calibration_loss(interval=0.95, method="bca")


def test_calibrators_trained_anew_on_clusters():
    """Rows that are there twice, in their cluster and fold, leave the limits about as they are; rows of their own would not."""
    frame = log(800)
    twice = pl.concat([frame, frame])
    options = {"score_type": "log_odds", "folds": 5, "fold_by": "user", "cluster": "user"}
    found = [
        f.ec.sketch("x", "y", **options).calibration_loss(**BOOTSTRAP, replicates=200).row(0, named=True)
        for f in (frame, twice)
    ]
    for name in ("raw_ci_low", "raw_ci_high", "rcl_ci_low", "rcl_ci_high"):
        assert found[0][name] == pytest.approx(found[1][name], rel=1e-6), name


def test_the_pass_of_a_drawn_report_streams():
    lazy = log().lazy().ec.report("x", "y", by="s", score_type="log_odds", **BOOTSTRAP)
    assert isinstance(lazy, pl.LazyFrame)
    plan = lazy.explain(engine="streaming")
    assert "__ec_resampled" in plan
    assert plan.count("PROJECT") == 1


@pytest.mark.parametrize("groups", [{}, {"by": "segment"}])
def test_a_log_without_rows_has_no_limits(groups):
    log = pl.DataFrame(schema={"p": pl.Float64, "y": pl.Int64, "segment": pl.String, "user": pl.Int64})
    for options in ({}, {"cluster": "user"}):
        sketch = log.ec.sketch("p", "y", **groups, **options)
        for metrics in (["recall", "cross_entropy"], ["auc_roc", "eer"]):
            found = sketch.evaluate(*metrics, interval=0.95, method="bootstrap", replicates=10)
            assert found.height == (0 if groups else 1)
            assert found.select(pl.selectors.contains("_ci_").null_count()).row(0) == (found.height,) * 4


@pytest.mark.parametrize("weight", [1e200, 1e-200])
def test_weights_whose_squares_no_float_holds_have_no_limits(weight):
    log = pl.DataFrame({"p": [0.2, 0.7, 0.6, 0.4] * 9, "y": [0, 1] * 18, "w": [weight] * 36})
    log = pl.concat([log.with_columns(part=pl.lit("a")), log.with_columns(part=pl.lit("b"), w=1.0)])
    sketch = log.ec.sketch("p", "y", by="part", weight="w", exact=True)
    drawn = {"interval": 0.95, "method": "bootstrap", "replicates": 20}
    tables = [
        sketch.evaluate("recall", "cross_entropy", "auc_roc", **drawn),
        sketch.calibration_loss(training="test", **drawn),
        log.ec.report("p", "y", by="part", metrics=["recall", "cross_entropy"], weight="w", **drawn),
    ]
    for table in tables:
        limits = table.sort("part").select(pl.selectors.ends_with("_ci_low", "_ci_high"))
        assert set(limits.row(0)) == {None}
        assert None not in limits.row(1)


def test_many_groups_are_warned_of_before_they_are_resampled(monkeypatch):
    """A bootstrap of ranking metrics or of refitted calibrators warns before it takes minutes."""
    monkeypatch.setattr("polars_ec.inference.bootstrap._LONG", 0.05)
    frame = log().with_columns(pl.col("x").alias("s").rank("ordinal") % 5)
    sketch = frame.ec.sketch("x", "y", by="s", score_type="log_odds", folds=2, fold_by="user")
    for seconds, call in [
        (r"10 groups with 100 replicates take about 0 s. Leave out method=", partial(sketch.evaluate, "auc_roc", "ks")),
        (r"5 groups with 100 replicates take about 1 s. Leave out method=", sketch.calibration_loss),
    ]:
        with pytest.warns(pl.exceptions.PerformanceWarning, match=seconds):
            call(**BOOTSTRAP, replicates=100)
    # Of sums a group takes milliseconds.
    sketch.evaluate("nec", **BOOTSTRAP, replicates=100)


def test_the_order_of_weighted_rows_changes_no_draw():
    """Sums of weights differ in the last bits, of which a draw may make another one."""
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    columns = {"g": rng.integers(0, 5, 3000), "p": p, "y": rng.random(3000) < p, "w": rng.gamma(2, 1, 3000)}
    how = {"by": "g", "weight": "w", "interval": 0.95, "method": "bootstrap", "replicates": 50}
    first, *others = (
        pl.DataFrame(columns).sample(fraction=1, shuffle=True, seed=seed).ec.report("p", "y", **how).select(cs.float())
        for seed in range(4)
    )
    for other in others:
        np.testing.assert_allclose(other.to_numpy(), first.to_numpy(), rtol=1e-9)
