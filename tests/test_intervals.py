"""Limits of a report's metrics: of independent rows and of clusters, and where there are none."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.special import expit, logit

import polars_ec as ec
from polars_ec.inference.confidence import gradient
from tests.support.cases import mostly_slow
from tests.support.influence import Rows, limits_of_clusters, limits_of_rows

DECISIONS = (
    *("nec", "expected_cost", "error_rate", "accuracy", "balanced_error_rate", "precision", "recall", "specificity"),
    *("fpr", "fnr", "decision_share", "f1", "mcc", "informedness", "lr_plus"),
)
LOSSES = ("cross_entropy", "nce", "brier", "nbs")
UNMOVED = ("recall", "specificity", "fpr", "fnr", "informedness", "balanced_error_rate", "lr_plus")


def make_log(n: int = 900, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 120, n)
    y = rng.random(n) < 0.1 + 0.4 * rng.random(120)[user]
    z = rng.normal(2.2 * y - 1.4, 1.0) + 0.6 * rng.normal(size=120)[user]
    return pl.DataFrame(
        {
            "g": rng.choice(["a", "b", "c"], n, p=[0.25, 0.3, 0.45]),
            "y": y,
            "p": 1 / (1 + np.exp(-z)),
            "w": rng.random(n) * 3,
            "user": [int(u) if u % 7 else None for u in user],
            "day": [f"d{u % 40}" for u in user],
        }
    )


LOG = make_log()


def rows_of(group: pl.DataFrame, options: dict[str, Any], prior: float | None) -> Rows:
    p, y = group["p"].to_numpy(), group["y"].to_numpy().astype(int)
    cost_fn, cost_fp = options.get("cost_fn", 1.0), options.get("cost_fp", 1.0)
    d = p > options.get("threshold", cost_fp / (cost_fn + cost_fp))
    w = group["w"].to_numpy() if "weight" in options else np.ones(len(p))
    return Rows(
        y, d.astype(int), w, -np.log(np.where(y == 1, p, 1 - p)), (y - p) ** 2, np.ones(len(p)), cost_fn, cost_fp, prior
    )


@pytest.mark.quick("rows-plain", "rows-weighted, prior", "clusters-weighted", "clusters-prior")
@pytest.mark.parametrize(
    "options",
    [{}, {"weight": "w"}, {"cost_fn": 4.0, "prior": 0.1}, {"weight": "w", "threshold": 0.3, "prior": 0.6}],
    ids=["plain", "weighted", "prior", "weighted, prior"],
)
@pytest.mark.parametrize("cluster", [None, "day"], ids=["rows", "clusters"])
def test_limits_are_those_of_influence_values(options: dict[str, Any], cluster: str | None) -> None:
    report = LOG.ec.report("p", "y", by="g", metrics=[*DECISIONS, *LOSSES], interval=0.9, cluster=cluster, **options)
    compared = 0
    for row in report.rows(named=True):
        group = LOG.filter(g=row["g"])
        for prior, suffix in [(None, ""), *([(options["prior"], "_at_prior")] if "prior" in options else [])]:
            rows = rows_of(group, options, prior)
            for name in (*DECISIONS, *LOSSES):
                if (suffix and name in UNMOVED) or (suffix and name == "mcc"):
                    continue
                if cluster is None:
                    expected = limits_of_rows(name, rows, 0.9)
                else:
                    bucket = group.select(ec.bucket(cluster)).to_series().to_numpy()
                    expected = limits_of_clusters(name, rows, bucket, 0.9)
                found = row[f"{name}{suffix}_ci_low"], row[f"{name}{suffix}_ci_high"]
                np.testing.assert_allclose(found, expected, rtol=1e-8, err_msg=f"{name}{suffix} of {row['g']}")
                compared += 1
    assert compared == 3 * (19 + 11 * ("prior" in options))


def test_a_row_without_a_cluster_is_one_of_its_own() -> None:
    """As if each had a bucket of its own: many buckets, and keys that are in no other's."""
    log = LOG.with_columns(pl.col("user").cast(pl.String))
    report = log.ec.report("p", "y", metrics=["nec", "nce", "recall"], interval=0.95, cluster="user", weight="w")
    bucket = log.select(ec.bucket("user")).to_series()
    alone = pl.Series(range(1000, 1000 + len(log)))
    keys = log.select(pl.when(bucket.is_not_null()).then(bucket).otherwise(alone)).to_series().to_numpy()
    rows = rows_of(LOG, {"weight": "w"}, None)
    for name in ("nec", "nce", "recall"):
        # How many clusters the rows alone are is told by their weights.
        expected = limits_of_clusters(name, rows, keys, 0.95)
        found = report.select(f"{name}_ci_low", f"{name}_ci_high").row(0)
        np.testing.assert_allclose(found, expected, rtol=2e-4)
    unweighted = log.ec.report("p", "y", metrics=["nec", "nce", "recall"], interval=0.95, cluster="user")
    for name in ("nec", "nce", "recall"):
        expected = limits_of_clusters(name, rows_of(LOG, {}, None), keys, 0.95)
        found = unweighted.select(f"{name}_ci_low", f"{name}_ci_high").row(0)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_columns_are_beside_their_metric() -> None:
    report = LOG.ec.report("p", "y", by="g", prior=0.3, interval=0.95, metrics=["recall", "nec", "ece"], total=True)
    assert report.columns == [
        *("g", "n", "recall", "recall_ci_low", "recall_ci_high", "nec", "nec_ci_low", "nec_ci_high", "nec_kinked"),
        *("nec_at_prior", "nec_at_prior_ci_low", "nec_at_prior_ci_high", "ece", "ece_if_calibrated"),
        *("ece_if_calibrated_high", "ece_at_prior", "class_prior", "small", "total", "n_missing", "n_invalid"),
    ]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"cluster": "user", "buckets": 20},
    {"prior": "overall", "weight": "w", "cluster": "day"},
    {"prior": "uniform", "score_prior": 0.3, "total": True},
    {"per_class": True, "prior": 0.4, "cluster": "user"},
    {"missing": "by_part", "cost_fn": "w", "cluster": "day"},
    {"prior": pl.col("y").mean().over("g"), "cluster": "day"},
    {"costs": [[0, 1, 0.2], [4, 0, 0.3]], "cluster": "day", "metrics": ["nec", "class_recall", "macro_f1", "nce"]},
]


@pytest.mark.quick("prior-weight-cluster", "per_class-prior-cluster")
@pytest.mark.parametrize(
    "options", mostly_slow(OPTIONS, OPTIONS[::2]), ids=lambda options: "-".join(options) or "plain"
)
def test_values_stay_and_lazy_is_eager_whatever_the_order_of_the_rows(options: dict[str, Any]) -> None:
    report = LOG.ec.report("p", "y", by="g", interval=0.95, **options)
    plain = LOG.ec.report("p", "y", by="g", **{k: v for k, v in options.items() if k not in ("cluster", "buckets")})
    assert_frame_equal(report.select(plain.columns), plain)
    lazy = LOG.sample(fraction=1, shuffle=True, seed=1).lazy().ec.report("p", "y", by="g", interval=0.95, **options)
    assert lazy.collect_schema() == report.schema
    assert_frame_equal(lazy.collect(engine="streaming"), report, rel_tol=1e-9)
    limits = [name for name in report.columns if name.endswith(("_ci_low", "_ci_high"))]
    assert limits
    assert report.select(pl.col(limits).null_count()).sum_horizontal().item() == 0


def test_two_models_have_the_limits_of_each() -> None:
    log = LOG.with_columns(q=pl.col("p") ** 2)
    options = {"by": "g", "interval": 0.95, "cluster": "user", "prior": 0.2}
    both = log.ec.report(["p", "q"], "y", **options)
    for score in ("p", "q"):
        assert_frame_equal(both.filter(score=score).drop("score"), log.ec.report(score, "y", **options))


@pytest.mark.quick("options2")
@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"cluster": "day", "weight": "w", "prior": "overall"}])
def test_the_row_of_all_groups_is_the_report_of_the_log(options: dict[str, Any]) -> None:
    names = [*DECISIONS, *LOSSES, "ece"]
    total = LOG.ec.report("p", "y", by="g", total=True, interval=0.95, metrics=names, **options).filter("total")
    whole = LOG.ec.report("p", "y", interval=0.95, metrics=names, **options)
    assert_frame_equal(total.drop("g", "total"), whole, rel_tol=1e-9)


def test_rows_that_are_repeated_under_one_key_leave_the_width() -> None:
    """Independent rows that say nothing new would make it smaller."""
    log = LOG.with_row_index("id")
    three = pl.concat([log] * 3)
    names = ["nec", "precision", "mcc", "nce", "nbs"]
    options = {"by": "g", "metrics": names, "interval": 0.95, "buckets": 1000, "prior": 0.2}
    once, thrice = (frame.ec.report("p", "y", cluster="id", **options) for frame in (log, three))
    limits = [name for name in once.columns if name.endswith(("_ci_low", "_ci_high"))]
    assert_frame_equal(once.select(limits), thrice.select(limits), rel_tol=1e-9)
    independent = three.ec.report("p", "y", by="g", metrics=["nce"], interval=0.95)
    width = pl.col("nce_ci_high").log() - pl.col("nce_ci_low").log()
    ratio = once.select(width).to_series() / independent.select(width).to_series()
    assert ratio.is_between(1.5, 2).all()


def test_a_weight_is_no_further_row() -> None:
    names = [*DECISIONS, *LOSSES]
    twice = LOG.with_columns(w=pl.lit(2.0))
    options = {"by": "g", "metrics": names, "interval": 0.95, "prior": 0.3}
    limits = pl.selectors.ends_with("_ci_low", "_ci_high", "small")
    assert_frame_equal(
        twice.ec.report("p", "y", weight="w", **options).select(limits),
        LOG.ec.report("p", "y", **options).select(limits),
        rel_tol=1e-9,
    )
    without = pl.concat([LOG.with_columns(w=pl.lit(1.0)), LOG.with_columns(w=pl.lit(0.0), p=1 - pl.col("p"))])
    for cluster in (None, "day"):
        assert_frame_equal(
            without.ec.report("p", "y", weight="w", cluster=cluster, **options).select(limits),
            LOG.ec.report("p", "y", cluster=cluster, **options).select(limits),
            rel_tol=1e-9,
        )


def test_costs_in_a_column_have_the_limits_of_numbers() -> None:
    log = LOG.with_columns(fn=pl.lit(3.0), fp=pl.lit(2.0))
    for options in ({}, {"weight": "w"}, {"cluster": "day"}):
        given = {"by": "g", "interval": 0.95, "metrics": ["nec", "expected_cost", "recall"], "prior": 0.2, **options}
        numbers = log.ec.report("p", "y", cost_fn=3, cost_fp=2, **given)
        assert_frame_equal(log.ec.report("p", "y", cost_fn="fn", cost_fp="fp", **given), numbers, rel_tol=1e-9)


def test_a_bayes_risk_has_the_limits_of_what_the_decisions_cost() -> None:
    """Above 1, too: it is no share."""
    for options in ({"cost_fn": 50, "cost_fp": 20, "prior": 0.3}, {"cost_fn": "w", "cluster": "day"}):
        report = LOG.ec.report("p", "y", metrics=["bayes_risk", "expected_cost"], interval=0.95, **options)
        for end in ("_ci_low", "_ci_high"):
            assert report[f"bayes_risk{end}"].item() == pytest.approx(report[f"expected_cost{end}"].item(), rel=1e-12)


def test_the_prior_of_the_log_is_taken_as_known() -> None:
    share = LOG["y"].mean()
    given = {"by": "g", "interval": 0.95, "cluster": "day"}
    overall = LOG.ec.report("p", "y", prior="overall", **given)
    assert_frame_equal(overall, LOG.ec.report("p", "y", prior=share, **given), rel_tol=1e-9)


# Where there is nothing to tell.


def of(y: list[int], p: list[float], **options: Any) -> dict[str, Any]:
    log = pl.DataFrame({"y": y, "p": p, "id": list(range(len(y)))})
    names = ["nec", "recall", "specificity", "accuracy", "nce", "brier"]
    return log.ec.report("p", "y", metrics=names, interval=0.95, **options).row(0, named=True)


def has_limits(row: dict[str, Any], name: str) -> bool:
    low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
    assert (low is None) == (high is None)
    if low is not None:
        assert low <= row[name] <= high
    return low is not None


def test_a_class_without_rows() -> None:
    row = of([0] * 30, [0.2, 0.6] * 15)
    assert row["specificity"] == 0.5
    assert not any(has_limits(row, name) for name in ("nec", "specificity", "accuracy", "brier"))
    assert row["nec_kinked"] is None
    assert row["small"]


@pytest.mark.filterwarnings("ignore:.* null")
def test_wrong_rows() -> None:
    row = of([0, 1] * 20, [0.3, 1.6] * 20)
    assert not any(has_limits(row, name) for name in ("nec", "recall", "nce"))


def test_an_infinite_loss() -> None:
    row = of([0, 1] * 20, [0.3, 0.6] * 19 + [0.3, 0.0])
    assert row["nce"] == np.inf
    assert not has_limits(row, "nce")
    assert has_limits(row, "brier")


@pytest.mark.quick("{}-*", "{'cluster*-apart")
@pytest.mark.parametrize("high", [0.95, 0.9], ids=["equal between the classes", "apart"])
@pytest.mark.parametrize("options", [{}, {"cluster": "id"}, {"weight": "w"}, {"method": "bootstrap"}], ids=str)
def test_losses_that_are_all_equal_within_the_classes(high: float, options: dict[str, Any]) -> None:
    """Rows without an error do not say what an error would cost: of the report, and of a sketch of it."""
    log = pl.DataFrame({"y": [0, 1] * 60, "p": [0.05, high] * 60, "id": range(120), "w": [1.0, 2.5, 0.1] * 40})
    cells = {name: options[name] for name in ("cluster", "weight") if name in options}
    method = {"method": options["method"]} if "method" in options else {}
    for one_error in (False, True):
        frame = log.with_columns(p=pl.when(pl.col("id").is_in([7, 8]) & one_error).then(1 - pl.col("p")).otherwise("p"))
        report = frame.ec.report("p", "y", metrics=[*LOSSES, "recall"], interval=0.95, **options)
        sketch = frame.ec.sketch("p", "y", **cells).evaluate(*LOSSES, "recall", interval=0.95, **method)
        for row in (report.row(0, named=True), sketch.row(0, named=True)):
            assert {has_limits(row, name) for name in LOSSES} == {one_error}
            assert not row["small"]
            assert has_limits(row, "recall") or method


def test_losses_that_are_all_equal_in_the_clusters() -> None:
    """Each user has one error among as many rows: the users differ in nothing."""
    log = pl.DataFrame({"p": [0.1, 0.2, 0.8, 0.7, 0.9, 0.6] * 40, "y": [0, 0, 0, 1, 1, 1] * 40, "id": range(240)})
    log = log.with_columns(user=pl.col("id") // 6)
    one = log.filter(pl.struct("user").is_in(log.group_by(ec.bucket("user")).agg(pl.struct("user").first())["user"]))
    row = one.ec.report("p", "y", metrics=["brier", "nce", "recall"], interval=0.95, cluster="user").row(0, named=True)
    assert not has_limits(row, "brier")
    assert not has_limits(row, "nce")
    assert one["user"].n_unique() >= 20


@pytest.mark.parametrize("cluster", [None, "id"])
def test_limits_stay_in_the_range_of_the_metric(cluster: str | None) -> None:
    """No Brier score is above 1, or 2 / 3 of three classes; bounds that leave everything open are none."""
    log = pl.DataFrame({"p": [0.001, 0.9999, 0.01, 0.0002] * 2, "y": [1, 1, 0, 0] * 2, "id": range(8)})
    log = log.with_columns(q=pl.concat_arr(pl.col("p") / 2, pl.col("p") / 2, 1 - pl.col("p")))
    log = log.with_columns(of_three=pl.when(pl.col("y") == 1).then(pl.col("id") % 2).otherwise(2))
    rows = log.ec.report("p", "y", metrics=LOSSES, interval=0.999, cluster=cluster).row(0, named=True)
    assert rows["brier_ci_high"] == 1
    assert rows["cross_entropy_ci_high"] > 10
    sketch = log.ec.sketch("p", "y", cluster=cluster).evaluate("brier", interval=0.999)
    assert sketch["brier_ci_high"].to_list() == [1]
    three = log.ec.report("q", "of_three", metrics=["brier"], interval=0.999, cluster=cluster)
    assert three["brier_ci_high"].item() == pytest.approx(2 / 3)
    missed = pl.DataFrame({"p": [0.01] * 8 + [0.9], "y": [1] * 8 + [0], "id": range(9)})
    costly = {"cost_fn": 5, "interval": 0.999, "metrics": ["expected_cost", "bayes_risk", "nec"], "cluster": cluster}
    rows = missed.ec.report("p", "y", **costly).row(0, named=True)
    assert rows["expected_cost_ci_high"] == 5
    assert rows["nec_ci_high"] > 9 or not has_limits(rows, "nec")
    rows = missed.with_columns(cost=5.0).ec.report("p", "y", **costly | {"cost_fn": "cost"}).row(0, named=True)
    assert rows["expected_cost_ci_high"] > 5
    sketch = missed.ec.sketch("p", "y", cluster=cluster, cost_fn=5)
    assert sketch.evaluate("expected_cost", cost_fn=5, interval=0.999)["expected_cost_ci_high"].to_list() == [5]
    few = log.head(4).ec.report("p", "y", metrics=LOSSES, interval=1 - 1e-9, cluster=cluster).row(0, named=True)
    assert not any(has_limits(few, name) for name in LOSSES)


def test_one_row_in_a_class() -> None:
    row = of([0] * 20 + [1], [0.1 + 0.02 * i for i in range(20)] + [0.7])
    assert not has_limits(row, "nce")
    assert not has_limits(row, "brier")
    assert has_limits(row, "recall")
    assert row["recall_ci_low"] < 0.5
    assert row["small"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_of_normalized_losses_take_hardly_longer(n_classes: int) -> None:
    """The entropy of the priors is arithmetic of columns: as lists, one a group, it took many times as long as all else."""
    n = 80_000 // n_classes**2
    rng = np.random.default_rng(7)
    posteriors = rng.dirichlet(np.ones(n_classes), n)
    score = posteriors[:, 1] if n_classes == 2 else pl.Series(posteriors.ravel()).reshape((n, n_classes))
    log = pl.DataFrame({"p": score, "y": rng.integers(0, n_classes, n), "g": np.arange(n) // 10})

    def seconds(metric: str) -> float:
        begun = time.process_time()
        log.ec.report("p", "y", by="g", metrics=[metric], interval=0.95)
        return time.process_time() - begun

    of_loss, of_normalized = (min(seconds(metric) for _ in range(3)) for metric in ("cross_entropy", "nce"))
    assert of_normalized < 2.5 * of_loss


def test_no_rows() -> None:
    log = pl.DataFrame({"g": [], "y": [], "p": []}, schema={"g": pl.Int64, "y": pl.Boolean, "p": pl.Float64})
    for cluster in (None, "g"):
        assert log.ec.report("p", "y", by="g", interval=0.95, cluster=cluster).height == 0
        row = log.ec.report("p", "y", interval=0.95, cluster=cluster).row(0, named=True)
        assert row["nec_ci_low"] is None
    unlabelled = pl.DataFrame({"g": [1, 1], "y": [None, None], "p": [0.5, None]}, schema=log.schema)
    for cluster in (None, "g"):
        row = unlabelled.ec.report("p", "y", by="g", interval=0.95, cluster=cluster).row(0, named=True)
        assert row["recall_ci_low"] is None
        assert row["small"]


@pytest.mark.parametrize(("clusters", "known"), [(4, False), (5, True)])
def test_few_clusters(clusters: int, known: bool) -> None:
    log = LOG.with_row_index("id").with_columns(key=pl.col("id") % clusters)
    # Keys that are in buckets of their own.
    assert log.select(ec.bucket("key")).to_series().n_unique() == clusters
    row = log.ec.report("p", "y", interval=0.95, cluster="key").row(0, named=True)
    assert {has_limits(row, name) for name in ("nec", "recall", "nce", "nbs", "f1")} == {known}


def test_a_class_in_one_cluster() -> None:
    """As of one row: nobody knows what positives of other users are like, where these have a share of their own."""
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(60), 10)
    y = user == 7
    log = pl.DataFrame({"y": y, "p": expit(rng.normal(2 * y - 1.4, 1)), "user": user})
    names = ["recall", "specificity", "accuracy", "nce", "balanced_error_rate", "brier", "auc_roc", "precision"]
    row = log.ec.report("p", "y", metrics=names, interval=0.95, cluster="user", prior=0.2).row(0, named=True)
    assert 0 < row["recall"] < 1
    known = {name for name in (*names, "accuracy_at_prior", "brier_at_prior", "nce_at_prior") if has_limits(row, name)}
    assert known == {"specificity", "accuracy", "nce", "brier", "precision"}
    two = log.with_columns(user=pl.when(pl.int_range(pl.len()) == 70).then(8).otherwise("user"))
    row = two.ec.report("p", "y", metrics=names, interval=0.95, cluster="user", prior=0.2).row(0, named=True)
    assert all(has_limits(row, name) for name in (*names, "brier_at_prior"))
    # And so it is with differences.
    other = two.with_columns(pl.col("p").sqrt(), g=1)
    both = pl.concat([log.with_columns(g=0), other]).with_columns(q=pl.col("p") ** 2)
    asked = {"by": "g", "metrics": ["specificity", "recall", "auc_roc", "nce"], "cluster": "user", "prior": 0.2}
    models = both.ec.compare(["p", "q"], "y", **asked)
    groups = both.ec.compare("p", "y", **asked, reference="rest").filter(g=0)
    for found in (models.filter(g=0), groups):
        unknown = found.filter(pl.col("difference_ci_low").is_null())["metric"]
        assert set(unknown) == {"recall", "auc_roc", "nce_at_prior"}
    assert models.filter(g=1)["difference_ci_low"].null_count() == 0


def test_a_cluster_of_nearly_all_rows() -> None:
    log = LOG.with_row_index("id").with_columns(key=pl.when(pl.col("id") % 10 > 0).then(0).otherwise("id"))
    one = log.ec.report("p", "y", interval=0.95, cluster="key").row(0, named=True)
    independent = log.ec.report("p", "y", interval=0.95).row(0, named=True)
    for name in ("nec", "recall", "nce"):
        assert has_limits(one, name)
        # One degree of freedom at least, of which t is 12.7.
        assert (
            one[f"{name}_ci_high"] - one[f"{name}_ci_low"]
            > independent[f"{name}_ci_high"] - independent[f"{name}_ci_low"]
        )


@pytest.mark.parametrize("right", [True, False])
def test_rates_of_0_and_1_have_a_width(right: bool) -> None:
    """The interval for clusters is as wide as that for as many rows: wider than for independent ones."""
    y = [i % 3 == 0 for i in range(300)]
    log = pl.DataFrame({"y": y, "p": [float(a == right) * 0.8 + 0.1 for a in y], "id": range(300)})
    names = ["recall", "precision", "accuracy", "error_rate", "f1", "nec", "mcc", "macro_f1"]
    few = log.with_columns(key=pl.col("id") // 10)
    rows, clusters = (
        frame.ec.report("p", "y", metrics=names, interval=0.95, cluster=key).row(0, named=True)
        for frame, key in ((log, None), (few, "key"))
    )
    for name in names:
        # Where all is wrong the prior alone moves NEC, which the clusters hold alike.
        if rows[name] is None or (name == "nec" and not right):
            continue
        assert has_limits(rows, name)
        assert has_limits(clusters, name)
        width = rows[f"{name}_ci_high"] - rows[f"{name}_ci_low"]
        assert width > 0
        assert clusters[f"{name}_ci_high"] - clusters[f"{name}_ci_low"] > 2 * width
    if right:
        # Half a row more of each decision, on the scale of log-odds: a third of the rows, or of the clusters, are positives.
        sizes = few.group_by(ec.bucket("key")).len()["len"].to_numpy()
        for row, n in ((rows, 101), (clusters, sizes.sum() ** 2 / (sizes**2).sum() / 3 + 1)):
            p = (n - 0.5) / n
            half = stats.t.ppf(0.975, n - 1) * np.sqrt(p * (1 - p) / (n - 1)) / (p * (1 - p))
            assert row["recall_ci_low"] == pytest.approx(expit(logit(p) - half))
            assert row["recall_ci_high"] == 1.0


@pytest.mark.parametrize("n", [10, 40, 150])
def test_rates_of_few_errors_are_held_whatever_the_rate(n: int) -> None:
    # Every number of errors that n positives can make, each with its probability at a rate: there is nothing to simulate.
    errors = np.arange(n + 1)
    cells = pl.DataFrame({"g": errors.repeat(2), "d": [0, 1] * (n + 1), "y": 1})
    cells = cells.with_columns(w=pl.when(d=0).then("g").otherwise(n - pl.col("g")))
    log = cells.select(pl.exclude("w").repeat_by("w").explode(empty_as_null=False))
    log = pl.concat([log, pl.DataFrame({"g": errors.repeat(20), "d": 0, "y": 0})], how="vertical_relaxed")
    report = log.ec.report("d", "y", by="g", score_type="decision", metrics=["recall", "fnr"], interval=0.95).sort("g")
    rates = np.geomspace(0.02 / n, 0.5, 400)
    mass = stats.binom.pmf(errors, n, rates[:, None])
    for name, truth in (("fnr", rates), ("recall", 1 - rates)):
        low, high = (report[f"{name}_ci_{end}"].to_numpy() for end in ("low", "high"))
        held = (low <= truth[:, None]) & (truth[:, None] <= high)
        assert (mass * held).sum(axis=1).min() > 0.93


def test_nec_beside_its_kink() -> None:
    log = pl.DataFrame({"y": [i % 5 == 0 for i in range(500)], "p": np.linspace(0, 1, 500)})
    costs = {
        cost: log.ec.report("p", "y", metrics=["nec"], interval=0.95, cost_fn=cost, prior=0.2) for cost in (1, 3.9, 8)
    }
    assert {cost: report["nec_kinked"].item() for cost, report in costs.items()} == {1: False, 3.9: True, 8: False}
    # The difference of the constant decisions is c P1 - P0, whose standard error is (c + 1) sqrt(P1 P0 / (n - 1)), about.
    edge = lambda c: abs(c * 0.2 - 0.8) / ((c + 1) * np.sqrt(0.16 / 499))  # noqa: E731
    for cost in (4.5, 5.5):
        report = log.ec.report("p", "y", metrics=["nec"], interval=0.95, cost_fn=cost)
        assert abs(edge(cost) - 2) > 0.05
        assert report["nec_kinked"].item() == (edge(cost) < 2)


def test_slopes_are_those_of_the_own_side_of_a_kink() -> None:
    """As of NEC where P1 c_fn is 0.05 % less than P0 c_fp, which is far off for 10^8 rows: their standard errors are 0.02 %."""
    slopes = gradient(lambda sums: sums.min(axis=-1, keepdims=True), np.array([[1.0, 1.0005]]))
    np.testing.assert_allclose(slopes, [[[1.0], [0.0]]], rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.* null")
def test_small_groups() -> None:
    y = [1] * 9 + [0] * 30 + [1] * 10 + [0] * 30
    log = pl.DataFrame({"g": [0] * 39 + [1] * 40, "y": y, "p": np.linspace(0.1, 0.9, 79)})
    assert log.ec.report("p", "y", by="g", interval=0.95)["small"].to_list() == [True, False]
    assert log.ec.report("p", "y", by="g", interval=0.95, min_rows=40)["small"].to_list() == [True, False]
    assert log.ec.report("p", "y", by="g", interval=0.95, min_rows=41)["small"].to_list() == [True, True]
    assert log.ec.report("p", "y", by="g", min_rows=39)["small"].to_list() == [False, False]
    # Of a group of wrong rows no row counts, whatever is asked.
    wrong = log.with_columns(p=pl.when(pl.col("g") == log["g"].max()).then(7.0).otherwise("p"))
    of_rows = wrong.ec.report("p", "y", by="g", metrics=["nec"], interval=0.95)
    of_cells = wrong.ec.sketch("p", "y", by="g").evaluate("nec", interval=0.95)
    assert of_rows["small"].to_list() == of_cells["small"].to_list() == [True, True]
    assert of_rows["n"].to_list()[1] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 95}, "interval=95 is not a level between 0 and 1: pass 0.95"),
        ({"cluster": "user"}, r"cluster='user' is an option of intervals: pass interval=0\.95 too"),
        ({"interval": 0.95, "cluster": "p"}, "is Float64, whose last digits depend"),
        ({"interval": 0.95, "cluster": "user", "buckets": 3}, "buckets=3 is not a whole number from 5 to 1000"),
    ],
)
def test_errors_come_before_the_log_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        LOG.lazy().ec.report("p", "y", **options)


# The calibration error.


def test_ece_if_calibrated_is_that_of_labels_drawn_from_the_posteriors() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 4, 600)
    w = rng.random(600)
    bins = np.clip(np.ceil(p * 15).astype(int) - 1, 0, 14)
    y = rng.random((4000, 600)) < p
    for weight in (np.ones(600), w):
        gaps = np.stack([((p - y) * weight * (bins == b)).sum(axis=1) for b in range(15)], axis=1)
        drawn = np.abs(gaps).sum(axis=1) / weight.sum()
        log = pl.DataFrame({"p": p, "y": y[0], "w": weight})
        row = log.ec.report("p", "y", metrics=["ece"], interval=0.95, weight="w").row(0, named=True)
        assert row["ece"] == pytest.approx(drawn[0])
        assert row["ece_if_calibrated"] == pytest.approx(drawn.mean(), rel=0.03)
        assert row["ece_if_calibrated_high"] == pytest.approx(np.quantile(drawn, 0.95), rel=0.04)


def test_ece_if_calibrated_of_clusters() -> None:
    """Rows that are repeated under one key have the gaps of as many rows as there are keys."""
    rng = np.random.default_rng(4)
    p = rng.random(3000)
    log = pl.DataFrame({"p": p, "y": rng.random(3000) < p, "key": range(3000)})
    four = pl.concat([log] * 4)
    given = {"metrics": ["ece"], "interval": 0.95, "buckets": 1000}
    one = log.ec.report("p", "y", metrics=["ece"], interval=0.95).row(0, named=True)
    of_keys = four.ec.report("p", "y", cluster="key", **given).row(0, named=True)
    of_rows = four.ec.report("p", "y", metrics=["ece"], interval=0.95).row(0, named=True)
    for name in ("ece_if_calibrated", "ece_if_calibrated_high"):
        assert of_keys[name] == pytest.approx(one[name], rel=0.05)
        assert of_rows[name] == pytest.approx(one[name] / 2, rel=1e-9)


# All of it, on whatever there may be.

ROWS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([None, 0.0, 0.2, 0.5, 0.51, 0.9, 1.0]),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        st.sampled_from([None, 1, 2, 3, 4, 5, 6, 7]),
        st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=60,
)
RANGES = {"recall": (0, 1), "precision": (0, 1), "f1": (0, 1), "mcc": (-1, 1), "nec": (0, np.inf), "nbs": (0, np.inf)}


@pytest.mark.filterwarnings("ignore:.* null")
@settings(max_examples=10, deadline=None)
@given(rows=ROWS, clustered=st.booleans(), weighted=st.booleans())
def test_limits_hold_the_value_and_are_in_range(rows: list[Any], clustered: bool, weighted: bool) -> None:
    log = pl.DataFrame(
        rows, schema={"y": pl.Int8, "p": pl.Float64, "w": pl.Float64, "u": pl.Int64, "g": pl.String}, orient="row"
    )
    options: dict[str, Any] = {"by": "g", "metrics": [*RANGES], "interval": 0.95, "prior": 0.3}
    options |= {"cluster": "u"} if clustered else {}
    options |= {"weight": "w"} if weighted else {}
    report = log.ec.report("p", "y", **options)
    for row in report.rows(named=True):
        used = log.filter(pl.col("g") == row["g"], pl.col("p").is_not_null())
        used = used.filter(pl.col("w") > 0) if weighted else used
        both = used["y"].n_unique() == 2
        for name, (least, most) in RANGES.items():
            for column in (name, f"{name}_at_prior"):
                if column not in row:
                    continue
                low, high, value = row[f"{column}_ci_low"], row[f"{column}_ci_high"], row[column]
                assert (low is None) == (high is None)
                if value is None or not np.isfinite(value) or not both:
                    assert low is None
                elif low is None:
                    # A mean loss of 0 is at the end of its scale.
                    assert clustered or name == "nbs"
                else:
                    assert least <= low <= value <= high <= most
                    if not clustered and name != "nbs":
                        assert low < high
