"""Drift of a sketch, and of rolling windows over its periods, against that of the rows that these were made from."""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches import cells as cells_module
from tests.support.cases import mostly_slow

METRICS = ["expected_cost", "nec", "nce", "brier", "precision", "f1", "mcc"]
DECIDED = ["expected_cost", "nec", "precision", "f1", "mcc"]
FIRST = date(2024, 2, 20)


def made_log(n: int = 3000, users: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    day, user = rng.integers(0, 20, n), rng.integers(0, users, n)
    y = rng.random(n) < np.where(day > 9, 0.45, 0.3)
    z = np.where(y, 1.0, -1.0) + rng.standard_normal(n) + 0.5 * rng.standard_normal(users)[user]
    return pl.DataFrame(
        {
            "segment": pl.Series(rng.choice(["a", "b", ""], n)).replace("", None),
            "country": rng.choice(["k", "l", "m"], n, p=[0.5, 0.45, 0.05]),
            "day": [FIRST + timedelta(int(i)) for i in day],
            "week": day // 7,
            "user": user,
            "y": y,
            "p": 1 / (1 + np.exp(-z)),
            "q": 1 / (1 + np.exp(-z - rng.standard_normal(n))),
            "w": rng.exponential(1, n),
        }
    )


LOG = made_log()


def same(found: pl.DataFrame, rows: pl.DataFrame, of_width: float = 0.0) -> None:
    """Values, parts and ranges to the last digits, nulls included; limits to this share of their width."""
    told = [name for name in rows.columns if "_ci_" in name or name in ("p_value", "p_adjusted")]
    assert_frame_equal(found.drop("model", *told), rows.drop("model", *told), rel_tol=1e-9, abs_tol=1e-10)
    for name in told:
        assert found[name].is_null().equals(rows[name].is_null(), null_equal=True), name
        # P-values move by as much as limits do.
        part = name.removesuffix("_ci_low").removesuffix("_ci_high")
        width = 1.0 if part == name else (rows[f"{part}_ci_high"] - rows[f"{part}_ci_low"]).fill_null(0.0).to_numpy()
        gap = np.abs((found[name] - rows[name]).fill_null(0.0).to_numpy())
        assert (gap <= of_width * width + 1e-9).all(), name


def of_rows(log: pl.DataFrame, *metrics: str, **options: Any) -> pl.DataFrame:
    return log.ec.drift("p", "y", metrics=list(metrics), **options)


@pytest.mark.quick("options4-*", "options9-*")
@pytest.mark.parametrize(
    ("options", "reference", "mix"),
    mostly_slow(
        product([{}, {"weight": "w"}], [None, "previous", 1], [[], ["country"]]),
        [({}, None, ["country"]), ({"weight": "w"}, "previous", ["country"]), ({}, 1, [])],
    ),
)
def test_an_exact_sketch_drifts_as_its_rows(options: dict[str, Any], reference: Any, mix: list[str]) -> None:
    sketch = LOG.ec.sketch("p", "y", by=["week", *mix, "segment"], exact=True, cost_fn=3, **options)
    found = sketch.drift(*METRICS, period="week", reference=reference, mix=mix, min_rows=340)
    rows = of_rows(
        LOG, *METRICS, period="week", by="segment", mix=mix, reference=reference, cost_fn=3, min_rows=340, **options
    )
    same(found, rows)
    assert found["small"].n_unique() == 2


@pytest.mark.quick("options1")
@pytest.mark.parametrize("options", [{}, {"weight": "w"}])
def test_clusters_of_a_sketch_have_the_limits_of_those_of_the_rows(options: dict[str, Any]) -> None:
    keyed = {"cluster": pl.when(pl.col("user") > 20).then("user").alias("user"), **options}
    sketch = LOG.ec.sketch("p", "y", by=["segment", "week", "country"], exact=True, cost_fn=3, **keyed)
    rows = of_rows(LOG, *METRICS, period="week", by="segment", mix="country", cost_fn=3, **keyed)
    found = sketch.drift(*METRICS, period="week", mix="country")
    same(found.filter(pl.col("metric").is_in(DECIDED)), rows.filter(pl.col("metric").is_in(DECIDED)))
    same(found, rows, 0.01)
    assert rows["mix_ci_low"].is_not_null().any()


def test_bins_hide_little_of_limits() -> None:
    sketch = LOG.ec.sketch("p", "y", by=["segment", "week", "country"], cost_fn=3)
    rows = of_rows(LOG, *METRICS, period="week", by="segment", mix="country", cost_fn=3)
    same(sketch.drift(*METRICS, period="week", mix="country"), rows, 0.005)


@pytest.mark.quick("mix1")
@pytest.mark.parametrize("mix", [[], ["country"]])
def test_at_a_stated_prior_class_shares_are_a_part_through_the_mix_alone(mix: list[str]) -> None:
    sketch = LOG.ec.sketch("p", "y", by=["week", *mix], cost_fn=3, exact=True)
    found = sketch.drift("nec", "nce", period="week", mix=mix, prior=0.2)
    rows = of_rows(LOG, "nec", "nce", period="week", mix=mix, prior=0.2, cost_fn=3)
    at_prior = rows.filter(pl.col("metric").str.ends_with("_at_prior"))
    same(found, at_prior.with_columns(pl.col("metric").str.strip_suffix("_at_prior")))
    if not mix:
        assert found["prior"].to_list() == pytest.approx([0.0] * found.height, abs=1e-15)
    overall = sketch.drift("nec", period="week", mix=mix, prior="overall")
    assert_frame_equal(overall, sketch.drift("nec", period="week", mix=mix, prior=LOG["y"].mean()), rel_tol=1e-9)


def test_models_and_targets_drift_each_for_itself() -> None:
    both = LOG.ec.sketch(["p", "q"], "y", by=["week", "segment"], exact=True).drift("nec", "nce", period="week")
    same(both, LOG.ec.drift(["p", "q"], "y", period="week", by="segment", metrics=["nec", "nce"]))
    assert both["model"].to_list()[:4] == ["p", "p", "q", "q"]
    p = LOG["q"].to_numpy()
    vectors = LOG.select("week", k=pl.col("user") % 3, v=pl.Series(np.stack([p / 2, p / 2, 1 - p], axis=1)))
    found = vectors.ec.sketch("v", "k", by="week", exact=True).drift("recall", "nce", period="week")
    for target in range(3):
        log = vectors.select("week", y=pl.col("k") == target, p=pl.col("v").arr.get(target))
        expected = of_rows(log, "recall", "nce", period="week")
        same(found.filter(target=target).drop("target"), expected)


def test_llrs_and_raw_scores_drift_by_what_needs_no_prior() -> None:
    log = LOG.with_columns(x=pl.col("p").log() - (-pl.col("p")).log1p())
    for score_type in ("llr", "raw"):
        sketch = log.ec.sketch("x", "y", by="week", score_type=score_type, thresholds=[0.5])
        found = sketch.drift("recall", period="week", threshold=0.5)
        same(found, log.ec.drift("x", "y", period="week", metrics=["recall"], score_type="log_odds", threshold=0.5))
        assert sketch.drift(period="week", threshold=0.5)["metric"].unique(maintain_order=True)[0] == "precision"
        with pytest.raises(SketchError, match="names of metrics, or threshold="):
            sketch.drift(period="week")


def test_llrs_drift_at_a_prior_that_is_an_expression() -> None:
    log = LOG.with_columns(x=pl.col("p").log() - (-pl.col("p")).log1p())
    sketch = log.ec.sketch("x", "y", by="week", score_type="llr", thresholds=[0.5])
    for ask in (partial(sketch.drift, period="week"), partial(sketch.compare, reference="best")):
        assert_frame_equal(ask("nec", threshold=0.5, prior=pl.lit(0.3)), ask("nec", threshold=0.5, prior=0.3))


def test_metrics_that_a_report_does_not_have_are_compared_and_drift_too() -> None:
    log = LOG.with_columns(x=pl.col("p").log() - (-pl.col("p")).log1p())
    llrs = log.ec.sketch("x", "y", by="week", score_type="llr")
    values = dict(log.group_by("week").agg(cllr=ec.cllr("x", "y", score_type="llr")).rows())
    found = llrs.drift("cllr", period="week")
    assert found["value"].to_list() == pytest.approx([values[1], values[2]], rel=1e-12)
    assert found["likelihood"].to_list() == pytest.approx(found["difference"].to_list(), rel=1e-12)
    best = llrs.compare("cllr", reference="best")
    assert best["reference"].unique().to_list() == [str(min(values, key=lambda week: values[week]))]
    with pytest.raises(SketchError, match="cross_entropy from LLRs at a prior is not exact in a"):
        llrs.drift("cross_entropy", period="week", prior=0.5)
    fbeta = LOG.ec.sketch("p", "y", by="week", thresholds=[0.2]).drift(
        "fbeta", "net_benefit", period="week", beta=2, p_t=0.2
    )
    expected = LOG.group_by("week").agg(fbeta=ec.fbeta("p", "y", beta=2), net_benefit=ec.net_benefit("p", "y", p_t=0.2))
    for week, metric, value in fbeta.select("week", "metric", "value").rows():
        assert value == pytest.approx(expected.filter(week=week)[metric][0], rel=1e-12)
    with pytest.raises(SketchError, match="nec is named twice"):
        LOG.ec.sketch("p", "y", by="week").drift("nec", "nec", period="week")


def test_wrong_rows_of_either_period_leave_no_parts() -> None:
    log = LOG.with_columns(p=pl.when((pl.col("week") == 0) & (pl.col("segment") == "a")).then(2.0).otherwise("p"))
    log = log.vstack(LOG.head(1).with_columns(week=pl.lit(1, pl.Int64), segment=pl.lit("b"), p=pl.lit(7.0)))
    found = log.ec.sketch("p", "y", by=["segment", "week", "country"]).drift("nec", "nce", period="week", mix="country")
    parts = [name for name in found.columns if name.split("_")[0] in ("mix", "prior", "likelihood")]
    for frame in (found.filter(segment="a"), found.filter(pl.col("segment") == "b", pl.col("week") == 1)):
        assert frame.height
        assert frame.select("difference", *parts).null_count().row(0) == (frame.height,) * (len(parts) + 1)
    assert (
        found.filter(pl.col("segment") == "b", pl.col("week") == 2).select(parts).null_count().sum_horizontal()[0] == 0
    )


def test_a_group_without_the_reference_is_no_error_and_a_reference_that_nobody_has_is_one() -> None:
    log = LOG.filter((pl.col("segment") != "a") | (pl.col("week") > 0))
    sketch = log.ec.sketch("p", "y", by=["segment", "week"], exact=True)
    found = sketch.drift("nec", period="week", reference=0)
    same(found, of_rows(log, "nec", period="week", by="segment", reference=0))
    assert found.filter(segment="a")["difference"].null_count() == 2
    with pytest.raises(ValueError, match=r"reference=9 is not a group of week\. There are 0; 1; 2"):
        sketch.drift("nec", period="week", reference=9)


SKETCH = LOG.ec.sketch("p", "y", by=["week", "country"], cost_fn=3)


@pytest.mark.parametrize(
    ("metrics", "call", "message"),
    [
        (["nec"], {"period": "month"}, r"period='month' is not a group column of the sketch\. It has \['week'"),
        (["nec"], {"mix": "week"}, "mix= names 'week', which is the period"),
        (["nec"], {"mix": ["state"]}, "mix= names 'state', which is not a group column"),
        (["auc_roc"], {}, "'auc_roc', a ranking metric, whose change cannot be explained"),
        (["tp"], {}, "'tp', which is a count"),
        (["ece"], {}, "no confidence interval near perfect calibration"),
        (["necc"], {}, "'necc' is not a metric"),
        (["nec"], {"threshold": 0.3}, r"nec at threshold 0\.3 is not exact in this sketch: declare it"),
        (["nec"], {"interval": None}, r"interval=None: a drift always has intervals\."),
        (["nec"], {"interval": 95}, "interval=95"),
        (["nec"], {"reference": pl.col("week")}, "is an expression: pass the value of a period"),
        (["nec"], {"min_rows": -1}, "min_rows=-1"),
        (
            ["nec"],
            {"prior": pl.col("class_prior")},
            "differs between periods, and a change is explained at one prior: pass a",
        ),
        (["nec"], {"cost_fm": 3}, "cost_fm"),
    ],
)
def test_what_a_sketch_cannot_tell(metrics: list[str], call: dict[str, Any], message: str) -> None:
    with pytest.raises((SketchError, ValueError, TypeError), match=message):
        SKETCH.drift(*metrics, **{"period": "week", **call})


def test_few_buckets_and_names_that_are_taken() -> None:
    with pytest.raises(SketchError, match="50 buckets, too few for p-values"):
        LOG.ec.sketch("p", "y", by="week", cluster="user", buckets=50).drift("nec", period="week")
    named = LOG.with_columns(mix="country").ec.sketch("p", "y", by=["week", "mix"])
    with pytest.raises(SketchError, match="a group column 'prior', as the"):
        LOG.with_columns(prior="country").ec.sketch("p", "y", by=["week", "prior"]).drift("nec", period="week")
    assert_frame_equal(
        named.drift("nec", period="week", mix="mix"),
        LOG.ec.sketch("p", "y", by=["week", "country"]).drift("nec", period="week", mix="country"),
    )


@pytest.mark.slow
def test_groups_are_taken_apart_some_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sketch = LOG.ec.sketch("p", "y", by=["week", "segment", "country"], cluster="user", resolution=8)
    calls = [{}, {"reference": "previous"}, {"mix": "country"}, {"prior": "overall"}]
    whole = [sketch.drift("nec", "nce", period="week", **call) for call in calls]
    monkeypatch.setattr(cells_module, "MOST_OF_BLOCK", 1000)
    for found, call in zip(whole, calls, strict=True):
        assert_frame_equal(sketch.drift("nec", "nce", period="week", **call), found)


def window(log: pl.DataFrame, last: date, periods: int) -> pl.DataFrame:
    return log.filter(pl.col("day").is_between(last - timedelta(periods - 1), last)).with_columns(day=pl.lit(last))


@pytest.mark.slow
@pytest.mark.parametrize(("options", "apart"), [({}, 9), ({"cluster": "user"}, 3)])
def test_windows_drift_as_the_rows_of_their_days(options: dict[str, Any], apart: int) -> None:
    """Two windows are two periods of rows, of which some are in both: clusters then say which."""
    last = FIRST + timedelta(18)
    reference = last - timedelta(apart)
    sketch = LOG.ec.sketch("p", "y", by=["day", "country", "segment"], cost_fn=3, **options)
    windows = sketch.rolling("day").drift(*METRICS, reference=reference, mix="country")
    pair = pl.concat([window(LOG, end, 7) for end in (reference, last)])
    rows = of_rows(pair, *METRICS, period="day", by="segment", mix="country", reference=reference, cost_fn=3, **options)
    same(windows.filter(day=last).drop("p_adjusted"), rows.drop("p_adjusted"), 0.01)


def test_p_values_are_adjusted_for_all_windows_of_all_groups() -> None:
    found = LOG.ec.sketch("p", "y", by=["segment", "day"]).rolling("day", periods=4).drift("nec", "nce")
    for metric in ("nec", "nce"):
        p = found.filter(pl.col("metric") == metric, pl.col("p_value").is_not_null()).sort("p_value")
        n = p.height
        raw = p["p_value"].to_numpy() * n / np.arange(1, n + 1)
        expected = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1)
        assert p["p_adjusted"].to_list() == pytest.approx(expected.tolist(), rel=1e-12)


def test_windows_are_compared_with_the_one_before_or_the_first() -> None:
    windows = LOG.ec.sketch("p", "y", by=["day"]).rolling("day", periods=7)
    previous = windows.drift("nec", reference="previous")
    assert previous["day"].to_list() == [FIRST + timedelta(i) for i in range(7, 20)]
    assert previous["reference"].to_list() == [str(FIRST + timedelta(i - 1)) for i in range(7, 20)]
    assert previous["value_reference"].to_list()[1:] == previous["value"].to_list()[:-1]
    first = windows.drift("nec")
    assert first["reference"].unique().to_list() == [str(FIRST + timedelta(6))]
    assert first["difference"].null_count() == 0
    with pytest.raises(ValueError, match=r"is not a group of day"):
        windows.drift("nec", reference=FIRST)


@pytest.mark.slow
def test_windows_that_share_days_have_limits_where_clusters_say_what_is_shared() -> None:
    """Else the errors of both would be taken for independent."""

    def limits(**options: Any) -> dict[int, bool]:
        found = LOG.ec.sketch("p", "y", by=["day"], **options).rolling("day", periods=7).drift("nec")
        told = found.with_columns(
            apart=(pl.col("day") - (FIRST + timedelta(6))).dt.total_days(),
            known=pl.col("difference_ci_low").is_not_null(),
        )
        for name in ("p_value", "p_adjusted", "prior_ci_low", "likelihood_ci_high"):
            assert told[name].is_not_null().equals(told["known"].alias(name))
        assert told.select("difference", "prior", "likelihood_most").null_count().sum_horizontal()[0] == 0
        return dict(told.select("apart", "known").rows())

    days = range(1, 14)
    assert limits() == {apart: apart >= 7 for apart in days}
    assert limits(cluster="user") == dict.fromkeys(days, True)
    # Two clusters, or four, are no more than two or four, however many rows they have.
    assert limits(cluster="day") == {apart: apart >= 3 for apart in days}
    # A row that is a cluster of its own, on the tenth day: of windows that both have it nobody knows what they share.
    alone = pl.when(pl.col("day") != FIRST + timedelta(5)).then("user").alias("user")
    assert limits(cluster=alone) == {apart: apart >= 6 for apart in days}


@pytest.mark.quick("day")
@pytest.mark.parametrize("cluster", ["user", "day"])
def test_limits_of_windows_that_share_days_are_those_of_a_bootstrap(cluster: str) -> None:
    """Clusters drawn anew as a whole, for both windows at once, as they are in both."""
    n_days, apart = 21, 7
    rng = np.random.default_rng(3)
    n, users = 4000, 150
    day, user = rng.integers(0, n_days, n), rng.integers(0, users, n)
    of = user if cluster == "user" else day
    y = rng.random(n) < 0.4
    z = np.where(y, 1.0, -1.0) + rng.standard_normal(n) + 0.7 * rng.standard_normal(users)[of]
    log = pl.DataFrame(
        {"day": [FIRST + timedelta(int(i)) for i in day], "user": user, "y": y, "p": 1 / (1 + np.exp(-z))}
    )
    windows = log.ec.sketch("p", "y", by="day", cluster=cluster, buckets=1000).rolling("day", periods=n_days - apart)
    found = windows.drift("error_rate", "brier").filter(day=FIRST + timedelta(n_days - 1))
    p = log["p"].to_numpy()
    for metric, loss in (("error_rate", (p > 0.5) != y), ("brier", (p - y) ** 2)):
        sums = np.stack(
            [
                np.stack(
                    [np.bincount(of[which], weight, of.max() + 1) for weight in (np.ones(which.sum()), loss[which])]
                )
                for which in (day >= apart, day < n_days - apart)
            ]
        )
        times = rng.multinomial(sums.shape[-1], np.full(sums.shape[-1], 1 / sums.shape[-1]), 4000)
        drawn = times @ np.moveaxis(sums, -1, 1)
        means = drawn[..., 1] / drawn[..., 0]
        error = (means[0] - means[1]).std()
        low, high, difference = (
            found.filter(metric=metric).select("difference_ci_low", "difference_ci_high", "difference").row(0)
        )
        assert (high + low) / 2 == pytest.approx(difference, abs=1e-12)
        assert (high - low) / 2 / error == pytest.approx(2.02, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "apart"), [("user", 1), ("user", 5), ("day", 5), ("day", 9)])
def test_limits_of_windows_that_share_days_cover_a_known_difference(cluster: str, apart: int) -> None:
    """Many logs at once, as groups of a sketch: errors with a known rate on each day, that users, or days, share."""
    rng = np.random.default_rng(12)
    logs, periods, per_day, users = 300, 12, 30, 60
    n_days = periods + apart
    log, day, _ = (of.reshape(-1) for of in np.indices((logs, n_days, per_day)))
    user = rng.integers(0, users, len(day))
    rate = np.where(day >= periods, 0.4, 0.25)
    which = user if cluster == "user" else day
    moved = rng.uniform(-0.15, 0.15, (logs, n_days + users))[log, which]
    is_wrong = rng.random(len(day)) < rate + moved
    y = rng.random(len(day)) < 0.5
    frame = pl.DataFrame({"log": log, "user": user + users * log, "y": y, "p": np.where(is_wrong == y, 0.2, 0.8)})
    frame = frame.with_columns(day=pl.lit(FIRST) + pl.duration(days=pl.Series(day)), of_day=pl.Series(day) + 100 * log)
    sketch = frame.ec.sketch(
        "p", "y", by=["log", "day"], cluster="user" if cluster == "user" else "of_day", buckets=1000
    )
    found = sketch.rolling("day", periods=periods).drift("error_rate", reference=FIRST + timedelta(periods - 1))
    last = found.filter(day=FIRST + timedelta(n_days - 1))
    truth = 0.15 * apart / periods
    covered = (last["difference_ci_low"] <= truth) & (last["difference_ci_high"] >= truth)
    assert last.height == logs
    # Days that only one of the windows has move the variance with the difference: there limits are too wide rather than too narrow.
    assert 0.91 <= covered.mean() <= (0.985 if cluster == "user" else 1)


def test_each_model_has_all_rows_with_its_own_score() -> None:
    rng = np.random.default_rng(8)
    log = pl.DataFrame(
        {"t": rng.integers(1, 4, 900), "y": rng.random(900) < 0.3, "a": rng.random(900), "b": rng.random(900)}
    )
    log = log.with_columns(a=pl.when(pl.int_range(pl.len()) % 5 > 0).then("a"))
    of_two, asked = log.ec.drift(["a", "b"], "y", period="t", metrics=["nec"]), ["metric", "difference", "prior", "n"]
    cells = log.ec.sketch(["a", "b"], "y", by="t", exact=True).drift("nec", period="t")
    assert_frame_equal(of_two.select("t", "model", *asked), cells.select("t", "model", *asked))
    compared = log.ec.compare(["a", "b"], "y", by="t", metrics=["nec"], reference="rest")
    assert compared["model"].to_list() == ["a", "b"] * 3
    for model in ("a", "b"):
        alone = log.ec.compare(model, "y", by="t", metrics=["nec"], reference="rest")
        assert_frame_equal(compared.filter(model=model), alone)
        assert alone["n"].sum() == log[model].count()
