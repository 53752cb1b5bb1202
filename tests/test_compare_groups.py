"""Comparisons: many classes, costs by row, ranking metrics, the best group, how often the truth is inside, and misuse."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec
from polars_ec.inference import estimator
from polars_ec.inference.confidence import VarianceComponents, t_quantile
from polars_ec.inference.estimator import with_extreme
from tests.support.cases import mostly_slow


def width(table: pl.DataFrame) -> np.ndarray:
    return (table["difference_ci_high"] - table["difference_ci_low"]).to_numpy()


def log_of(rng: np.random.Generator, n: int, groups: int, spread: float = 1.0) -> pl.DataFrame:
    """Two models that are as good as each other, and groups that are alike."""
    y = rng.random(n) < 0.3
    z = np.where(y, 1.0, -1.0) + rng.standard_normal(n)
    noise = spread * rng.standard_normal((2, n))
    columns = {name: 1 / (1 + np.exp(-z - of)) for name, of in zip("ab", noise, strict=True)}
    return pl.DataFrame({"group": rng.integers(0, groups, n), "y": y, **columns})


LOG = log_of(np.random.default_rng(8), 700, 3)


def test_of_five_classes_against_a_bootstrap() -> None:
    rng = np.random.default_rng(3)
    n, k = 800, 5
    y = rng.integers(0, k, n)
    scores = {}
    base = rng.standard_normal((n, k)) + 1.5 * np.eye(k)[y]
    for name in "ab":
        z = base + 0.7 * rng.standard_normal((n, k))
        scores[name] = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    log = pl.DataFrame({"y": y, **{name: pl.Series(q, dtype=pl.Array(pl.Float64, k)) for name, q in scores.items()}})
    w = rng.multinomial(n, [1 / n] * n, size=1200).astype(float)

    def metrics(q: np.ndarray, w: np.ndarray) -> np.ndarray:
        right = q.argmax(axis=1) == y
        shares = np.stack([(w * (y == i)).sum(-1) for i in range(k)], axis=-1) / w.sum(-1, keepdims=True)
        recalls = [(w * (right & (y == i))).sum(-1) / (w * (y == i)).sum(-1) for i in range(k)]
        loss = (w * -np.log(q[np.arange(n), y])).sum(-1) / w.sum(-1)
        accuracy = (w * right).sum(-1) / w.sum(-1)
        nec = (1 - accuracy) / (1 - shares.max(-1))
        return np.stack([nec, loss / -(shares * np.log(shares)).sum(-1), accuracy, np.mean(recalls, axis=0)], axis=-1)

    found = log.ec.compare(["a", "b"], "y", metrics=["nec", "nce", "accuracy", "macro_recall"])
    expected = metrics(scores["b"], np.ones(n)) - metrics(scores["a"], np.ones(n))
    assert found["difference"].to_numpy() == pytest.approx(expected, rel=1e-9)
    errors = (metrics(scores["b"], w) - metrics(scores["a"], w)).std(axis=0)
    assert width(found) / 2 / 1.963 == pytest.approx(errors, rel=0.09)
    rows = log.with_row_index("row").ec.compare(["a", "b"], "y", metrics=["nec", "nce"], cluster="row", buckets=1000)
    assert width(rows) == pytest.approx(width(found)[:2], rel=0.12)


@pytest.mark.parametrize("prior", ["overall", [0.2, 0.3, 0.5]])
def test_log_likelihoods_have_the_values_of_the_report_on_common_rows(prior: Any) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 200)
    scores = {name: rng.standard_normal((200, 3)) + np.eye(3)[y] for name in "ab"}
    log = pl.DataFrame({"y": y, **{name: pl.Series(q, dtype=pl.Array(pl.Float64, 3)) for name, q in scores.items()}})
    log = log.with_columns(b=pl.when(pl.int_range(pl.len()) > 30).then("b"))
    options: dict[str, Any] = {"metrics": ["nec", "nce"], "score_type": "log_likelihoods", "prior": prior}
    found = log.ec.compare(["a", "b"], "y", **options)
    report = log.drop_nulls().ec.report(["a", "b"], "y", **options)
    for row in found.iter_rows(named=True):
        assert [row["value_reference"], row["value"]] == pytest.approx(report[row["metric"]].to_list())
    assert found["n_missing"].unique().to_list() == [31]


def test_costs_of_each_row_against_a_bootstrap() -> None:
    rng = np.random.default_rng(4)
    log = LOG.with_columns(fn=rng.exponential(3, LOG.height), fp=rng.exponential(1, LOG.height))
    y, a, b, fn, fp = (log[name].to_numpy() for name in ("y", "a", "b", "fn", "fp"))
    w = rng.multinomial(log.height, [1 / log.height] * log.height, size=1500).astype(float)

    def nec(q: np.ndarray, w: np.ndarray) -> np.ndarray:
        cost = np.where(y, fn, fp) * ((q > fp / (fp + fn)) != y)
        return (w * cost).sum(-1) / np.minimum((w * y * fn).sum(-1), (w * ~y * fp).sum(-1))

    found = log.ec.compare(["a", "b"], "y", metrics=["nec"], cost_fn="fn", cost_fp="fp")
    assert found["difference"].item() == pytest.approx(nec(b, np.ones(len(y))) - nec(a, np.ones(len(y))), rel=1e-9)
    assert width(found)[0] / 2 / 1.965 == pytest.approx((nec(b, w) - nec(a, w)).std(), rel=0.08)


def auc(y: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The AUC for each draw of the weights, (draws, rows), by sums over the sorted rows, which have no ties."""
    order = np.argsort(q)
    w, y = w[:, order], y[order]
    below = np.cumsum(w * ~y, axis=1)
    return (w * y * below).sum(-1) / ((w * y).sum(-1) * below[:, -1])


def test_paired_auc_is_delongs() -> None:
    y = LOG["y"].to_numpy()
    psi = []
    for name in "ba":
        q = LOG[name].to_numpy()
        wins = q[y][:, None] > q[~y][None, :]
        of_rows = np.empty(len(y))
        of_rows[y], of_rows[~y] = wins.mean(axis=1), wins.mean(axis=0)
        psi.append(of_rows)
    gap = psi[0] - psi[1]
    variance = gap[y].var(ddof=1) / y.sum() + gap[~y].var(ddof=1) / (~y).sum()
    found = LOG.ec.compare(["a", "b"], "y", metrics=["auc_roc"])
    assert found["difference"].item() == pytest.approx(gap[y].mean(), abs=5e-4)
    assert width(found)[0] / 2 / 1.965 == pytest.approx(np.sqrt(variance), rel=0.03)


@pytest.mark.parametrize("reference", mostly_slow(["rest", "total", 1], ["total"]))
def test_auc_of_groups_against_a_bootstrap(reference: object) -> None:
    rng = np.random.default_rng(7)
    y, a, group = (LOG[name].to_numpy() for name in ("y", "a", "group"))
    w = rng.multinomial(len(y), [1 / len(y)] * len(y), size=1200).astype(float)
    other = {"rest": group != 0, "total": group >= 0}.get(str(reference), group == 1)
    errors = (auc(y, a, w * (group == 0)) - auc(y, a, w * other)).std()
    rows = LOG.with_row_index("row")
    for cluster in (None, "row"):
        found = rows.ec.compare("a", "y", by="group", metrics=["auc_roc"], reference=reference, cluster=cluster)
        assert width(found)[0] / 2 / 1.97 == pytest.approx(errors, rel=0.15 if cluster else 0.09)


@pytest.mark.parametrize("cluster", [None, pytest.param("row", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_other_ranking_metrics_have_the_spread_of_their_differences(cluster: str | None) -> None:
    rng = np.random.default_rng(9)
    names = ["eer", "ks", "min_cllr", "average_precision"]
    log = LOG.with_row_index("row")
    found = log.ec.compare(["a", "b"], "y", metrics=names, cluster=cluster, prior=0.1)
    assert found["metric"].to_list() == [*names, "average_precision_at_prior"]
    draws = [log[rng.integers(0, log.height, log.height)].ec.report(["a", "b"], "y", metrics=names) for _ in range(20)]
    errors = [np.std([draw[name][1] - draw[name][0] for draw in draws]) for name in names]
    ratio = width(found)[:4] / 2 / 1.97 / np.array(errors)
    # Of 20 draws: a standard error of 16 percent.
    assert ((ratio > 0.5) & (ratio < 1.7)).all()
    whole = log.ec.report(["a", "b"], "y", metrics=names)
    assert found["difference"][:4].to_list() == pytest.approx([whole[n][1] - whole[n][0] for n in names], abs=1e-12)


AT_BEST = ["eer", "ks", "min_dcf", "min_cllr", "min_expected_cost", "auprg"]


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [None, "row", "nobody"])
def test_swapped_models_have_the_mirrored_limits_of_ranking_metrics(cluster: str | None) -> None:
    log = LOG.with_row_index("row").with_columns(nobody=None)
    found, swapped = (
        log.ec.compare(models, "y", by="group", metrics=AT_BEST, prior=0.1, cluster=cluster)
        for models in (["a", "b"], ["b", "a"])
    )
    assert found["difference_ci_low"].to_list() == pytest.approx((-swapped["difference_ci_high"]).to_list(), abs=1e-12)
    assert found["difference_ci_high"].to_list() == pytest.approx((-swapped["difference_ci_low"]).to_list(), abs=1e-12)
    assert found["p_value"].to_list() == pytest.approx(swapped["p_value"].to_list(), abs=1e-12)


@pytest.mark.slow
def test_limits_of_ranking_metrics_do_not_hang_on_how_rows_are_dealt_to_parts() -> None:
    def widths(log: pl.DataFrame, **options: Any) -> np.ndarray:
        return width(log.ec.compare(["a", "b"], "y", metrics=AT_BEST, **options))

    rng = np.random.default_rng(3)
    rows = widths(LOG)
    assert widths(LOG.with_columns(nobody=None), cluster="nobody") == pytest.approx(rows, rel=0.01)
    for _ in range(2):
        keyed = LOG.with_columns(row=pl.Series(rng.permutation(10**6)[: LOG.height]))
        # 900 clusters of one row in 1,000 buckets, which hold one or a few of them.
        assert widths(keyed, cluster="row", buckets=1000) == pytest.approx(rows, rel=0.08)


@pytest.mark.parametrize(
    ("reference", "cluster"),
    mostly_slow(product([None, "rest", "total", "best", 1], [None, "row"]), [(None, None), ("total", "row")]),
)
def test_ranking_metrics_do_not_hang_on_the_order_of_rows(reference: object, cluster: str | None) -> None:
    score = ["a", "b"] if reference is None else "a"
    log = LOG.with_row_index("row")
    call: dict[str, Any] = {"by": "group", "reference": reference, "metrics": ["auc_roc", "eer"], "cluster": cluster}
    found = log.ec.compare(score, "y", **call)
    assert found["difference_ci_low"].null_count() == 0
    shuffled = log.sample(fraction=1, shuffle=True, seed=1).lazy().ec.compare(score, "y", **call).collect()
    assert_frame_equal(found, shuffled, rel_tol=1e-9, abs_tol=1e-10)


def test_the_same_model_twice_has_the_same_ranks() -> None:
    found = (
        LOG.with_row_index("row")
        .with_columns(c="a")
        .ec.compare(["a", "c"], "y", by="group", metrics=["auc_roc", "eer", "auprg"], prior=0.1)
    )
    assert found.select("difference", "difference_ci_low", "difference_ci_high").unique().rows() == [(0.0, 0.0, 0.0)]
    assert found["p_value"].unique().to_list() == [1.0]


def covered(found: pl.DataFrame, truth: float = 0.0) -> float:
    """The share of intervals that hold the truth, of those that there are."""
    known = found.drop_nulls("difference_ci_low")
    assert known.height > 0.9 * found.height
    return known.select(pl.lit(truth).is_between("difference_ci_low", "difference_ci_high").mean()).item()


def test_no_difference_of_models_is_inside_as_often_as_stated() -> None:
    log = log_of(np.random.default_rng(11), 60_000, 300)
    found = log.ec.compare(["a", "b"], "y", by="group", metrics=["nec", "nce", "nbs", "recall"])
    for name in ("nec", "nce", "nbs", "recall"):
        # 300 groups of 200 rows: a Monte Carlo error of 1.3 percent.
        assert 0.93 - 0.026 < covered(found.filter(pl.col("metric") == name)) < 0.975 + 0.018
    # Where there is no difference all discoveries are false.
    assert (found.group_by("metric").agg((pl.col("p_adjusted") < 0.05).sum())["p_adjusted"] <= 3).all()


@pytest.mark.parametrize("reference", mostly_slow(["rest", "total", 0], ["rest"]))
def test_no_difference_of_groups_is_inside_as_often_as_stated(reference: object) -> None:
    log = log_of(np.random.default_rng(12), 60_000 if reference == 0 else 30_000, 300)
    if reference == 0:
        log = log.with_columns(pl.when(pl.int_range(pl.len()) % 2 == 0).then(0).otherwise("group").alias("group"))
    found = log.ec.compare("a", "y", by="group", metrics=["nce", "recall", "precision"], reference=reference)
    for name, most in (("nce", 0.99), ("recall", 1.0), ("precision", 1.0)):
        assert 0.93 - 0.026 < covered(found.filter(pl.col("metric") == name)) < most


def test_average_precision_of_few_positives_is_no_discovery() -> None:
    """It is near 1 and skewed there: by its variance alone 87 percent of the limits hold the truth, and 1 in 20 groups is a discovery."""
    log = log_of(np.random.default_rng(17), 12_000, 300)
    found = log.ec.compare("a", "y", by="group", metrics=["average_precision"], reference="rest")
    assert covered(found) > 0.93 - 0.026
    assert (found["p_adjusted"] < 0.05).sum() <= 3


def test_clusters_that_cross_groups_are_counted_on_both_sides() -> None:
    """Users have as many rows in either group, and are as good there: what they share cancels in the difference, and the interval knows."""
    rng = np.random.default_rng(13)
    inside, ratio = [], []
    for _ in range(12):
        user, group = np.repeat(np.arange(120), 10), np.tile([0, 1], 600)
        y = np.tile([0, 0, 1, 1, 1], 240) == 1
        skill = 2 * rng.standard_normal(120)[user]
        q = 1 / (1 + np.exp(-(np.where(y, 1, -1) * (1 + skill) + rng.standard_normal(len(y)))))
        log = pl.DataFrame({"group": group, "user": user, "y": y, "q": q})
        call: dict[str, Any] = {"by": "group", "reference": 0, "metrics": ["cross_entropy"]}
        found = log.ec.compare("q", "y", cluster="user", **call)
        inside.append(covered(found))
        ratio.append(width(found)[0] / width(log.ec.compare("q", "y", **call))[0])
    assert np.mean(inside) > 0.8
    # As independent rows they would be taken to differ more than they can.
    assert np.mean(ratio) < 0.8


@pytest.mark.slow
def test_the_distance_to_the_best_group_is_inside_for_all_groups_at_once() -> None:
    rng = np.random.default_rng(14)
    for truth in ([0.0] * 6, [0.0, 0.1, 0.1, 0.3, 0.3, 1.0]):
        n_groups, error, inside = len(truth), 0.2, 0
        parts = VarianceComponents(None, np.full(n_groups, error**2), np.full(n_groups, 30.0))
        for _ in range(100):
            noise = error * rng.standard_normal(n_groups)
            # Variances of 30 degrees of freedom.
            own = error**2 * rng.chisquare(30, n_groups) / 30
            found = with_extreme(
                np.array(truth) + noise, VarianceComponents(None, own, parts.df), lowest=True, level=0.95
            )
            gaps = np.array(truth) - min(truth)
            inside += bool(((found.low <= gaps) & (gaps <= found.high)).all())
            assert ((found.low >= 0) & (found.low <= found.difference) & (found.difference <= found.high)).all()
        assert inside / 100 > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 100)


@pytest.mark.quick("True-True")
@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize("clustered", [True, False])
def test_distances_to_the_best_group_are_the_worst_of_all_pairs(clustered: bool, lowest: bool) -> None:
    rng = np.random.default_rng(18)
    values, independent, df = rng.normal(size=60), rng.exponential(size=60) ** 2, 1 + 20 * rng.exponential(size=60)
    values[:3], independent[3], df[4:6] = (np.nan, values[4], values[4]), np.nan, 1e12
    shared = rng.normal(size=(60, 8)) / 3 if clustered else np.zeros((60, 8))
    components = VarianceComponents(shared if clustered else None, independent, df)
    with np.errstate(all="ignore"):
        found = with_extreme(values, components, lowest, level=0.9)
    known = np.flatnonzero(np.isfinite(values) & np.isfinite(independent))
    variance, n_pairs = (shared**2).sum(axis=1) + independent, len(known) * (len(known) - 1) / 2
    for i in known:
        lows, highs, p = [], [], 1.0
        for j in known:
            freedom = (variance[i] + variance[j]) ** 2 / (variance[i] ** 2 / df[i] + variance[j] ** 2 / df[j])
            error = np.sqrt(independent[i] + independent[j] + ((shared[i] - shared[j]) ** 2).sum()) if i != j else 0.0
            half = stats.t.isf(0.05 / n_pairs, freedom) * error
            gap = values[j] - values[i] if lowest else values[i] - values[j]
            lows.append(gap - half)
            highs.append(gap + half)
            p = min(p, 2 * n_pairs * stats.t.cdf(gap / error, freedom)) if gap < 0 else p
        ends = (-min(*highs, 0), -min(lows)) if lowest else (min(lows), min(*highs, 0))
        assert (found.low[i], found.high[i]) == pytest.approx(ends, rel=1e-9)
        assert found.p_adjusted is not None
        assert found.p_adjusted[i] == pytest.approx(p, rel=1e-9)
        assert (found.p_adjusted[i] < 0.1) == (0 not in ends)
    assert np.isnan(found.low[np.setdiff1d(np.arange(60), known)]).all()


def test_quantiles_of_few_pairs_tell_the_best_of_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quantile takes as long as a hundred other operations: for all pairs of 5,000 groups it took 20 seconds."""
    rng, numbers = np.random.default_rng(19), []

    def counted(p: float, df: Any) -> Any:
        numbers.append(np.size(df))
        return t_quantile(p, df)

    monkeypatch.setattr(estimator, "t_quantile", counted)
    components = VarianceComponents(None, rng.uniform(0.5, 2, 400), rng.uniform(20, 200, 400))
    with_extreme(rng.normal(size=400), components, True, 0.95)
    assert sum(numbers) < 0.02 * 400**2


def test_the_best_group_is_by_the_metrics_own_direction() -> None:
    found = LOG.ec.compare("a", "y", by="group", reference="best", metrics=["nce", "recall"])
    report = LOG.ec.report("a", "y", by="group", metrics=["nce", "recall"])
    for name, best in (("nce", report["nce"].arg_min()), ("recall", report["recall"].arg_max())):
        of_metric = found.filter(pl.col("metric") == name)
        assert best is not None
        assert of_metric["reference"].to_list() == [str(report["group"][best])] * 3
        assert of_metric["difference"][best] == 0
        assert (
            (of_metric["p_adjusted"] < 0.05) == (of_metric["difference_ci_low"] * of_metric["difference_ci_high"] > 0)
        ).all()


def test_each_group_is_compared_with_itself_in_another_period() -> None:
    log = LOG.with_columns(
        month=pl.when(pl.int_range(pl.len()) % 3 == 0).then(date(2024, 4, 1)).otherwise(date(2024, 5, 1))
    )
    found = log.ec.compare("a", "y", by=["group", "month"], reference={"month": date(2024, 4, 1)}, metrics=["nec"])
    assert found.select("group", "month").rows() == [(group, date(2024, 5, 1)) for group in range(3)]
    assert found["reference"].to_list() == [f"{group}, 2024-04-01" for group in range(3)]
    report = log.ec.report("a", "y", by=["group", "month"], metrics=["nec"])
    assert found["value_reference"].to_list() == report.filter(month=date(2024, 4, 1))["nec"].to_list()
    one = log.ec.compare("a", "y", by=["group", "month"], reference=(1, date(2024, 5, 1)), metrics=["nec"])
    assert one.height == 5
    assert one["value_reference"].unique().to_list() == report.filter(group=1, month=date(2024, 5, 1))["nec"].to_list()


def test_reference_groups_are_named_as_one_writes_them() -> None:
    days = {"day": date(2024, 4, 1), "time": datetime(2024, 4, 1, 1, tzinfo=UTC), "length": timedelta(days=1)}
    others = LOG.with_columns(bytes=pl.lit(b"\xff"), vector=pl.concat_list("group"))
    found = others.ec.compare("a", "y", by=["vector", "bytes"], reference="best", metrics=["nec"])
    assert set(found["reference"]) < {f"[{group}], b'\\xff'" for group in range(3)}
    parts = {**days, "fraction": datetime(2024, 4, 1, 0, 0, 0, 500)}
    named = ["2024-04-01", "2024-04-01 01:00:00+00:00", "P1D", "2024-04-01 00:00:00.000500"]
    for (name, first), text in zip(parts.items(), named, strict=True):
        log = LOG.with_columns(
            pl.when(pl.col("group") == 0).then(first).otherwise(first + timedelta(days=1)).alias(name)
        )
        found = log.ec.compare("a", "y", by=name, reference=first, metrics=["nec"])
        assert found["reference"].to_list() == [text], name


def test_rows_without_a_group_are_a_group() -> None:
    log = LOG.with_columns(group=pl.when(pl.col("group") > 0).then("group"))
    for reference in ("rest", "best"):
        found = log.ec.compare("a", "y", by="group", reference=reference, metrics=["nce"])
        known = LOG.ec.compare("a", "y", by="group", reference=reference, metrics=["nce"])
        assert found["group"].to_list() == [None, 1, 2]
        assert_frame_equal(found.drop("group", "reference"), known.drop("group", "reference"))
    of_one = log.ec.compare("a", "y", by="group", reference={"group": None}, metrics=["nce"])
    assert of_one.select("group", "reference").rows() == [(1, "null"), (2, "null")]


def test_groups_that_lack_a_class_have_no_limits() -> None:
    log = pl.concat([LOG, LOG.filter("y").head(4).with_columns(group=pl.lit(9, dtype=pl.Int64))])
    for reference in ("rest", "best", 0):
        found = log.ec.compare("a", "y", by="group", reference=reference, metrics=["nce", "recall"]).filter(group=9)
        assert (
            found.select("difference_ci_low", "difference_ci_high", "p_value", "p_adjusted").null_count().row(0)
            == (2,) * 4
        )


@pytest.mark.parametrize("reference", ["rest", "total"])
def test_a_rate_of_one_in_a_small_group_is_no_discovery(reference: str) -> None:
    few = pl.DataFrame({"group": [5] * 8, "y": [True] * 4 + [False] * 4, "a": [0.9] * 4 + [0.2] * 4, "b": [0.5] * 8})
    found = pl.concat([LOG, few]).with_row_index("row")
    for cluster in (None, "row"):
        of_few = found.ec.compare(
            "a", "y", by="group", reference=reference, metrics=["recall", "auc_roc"], cluster=cluster
        )
        of_few = of_few.filter(group=5)
        assert of_few["value"].to_list() == [1.0, 1.0]
        assert (of_few["p_value"] > 0.05).all()


@pytest.mark.quick("None-rest", "row-best", "None-0")
@pytest.mark.parametrize("reference", ["rest", "total", "best", 0])
@pytest.mark.parametrize("cluster", [None, "row"])
def test_losses_that_are_all_alike_are_no_discovery(reference: object, cluster: str | None) -> None:
    """Eight rows that all lose nothing would be taken to be better than all others for sure."""
    perfect = pl.DataFrame({"group": [5] * 8, "y": [True, False] * 4, "a": [1.0, 0.0] * 4, "b": [0.5] * 8})
    log = pl.concat([LOG, perfect]).with_row_index("row")
    found = log.ec.compare(
        "a", "y", by="group", reference=reference, metrics=["brier", "nce", "average_precision"], cluster=cluster
    )
    assert found.filter(group=5)["value"].to_list() == [0.0, 0.0, 1.0]
    assert found.filter(group=5).select("difference_ci_low", "p_value", "p_adjusted").null_count().row(0) == (3,) * 3
    assert found.filter(group=1)["p_value"].null_count() == 0


@pytest.mark.parametrize("cluster", [None, "row"])
def test_models_that_agree_in_all_rows_of_a_group_may_differ_in_others(cluster: str | None) -> None:
    """Half of the rows have no decision in which the models differ, and yet one of them finds more."""
    rng = np.random.default_rng(15)
    n = 200 * 30
    y, draw = np.tile(np.arange(30) < 15, 200), rng.random(n)
    found_by_b = y & (draw < 0.04)
    b = np.where(found_by_b, 0.6, 0.3 + 0.1 * rng.random(n))
    log = pl.DataFrame({"row": range(n), "group": np.arange(n) // 30, "y": y, "a": np.minimum(b, 0.45), "b": b})
    compared = log.ec.compare(["a", "b"], "y", by="group", metrics=["recall"], cluster=cluster)
    known = compared.drop_nulls("difference_ci_low")
    assert 0.2 < known.height / compared.height < 0.8
    assert known["p_value"].null_count() == 0
    assert known.select(pl.lit(0.04).is_between("difference_ci_low", "difference_ci_high").mean()).item() > 0.9
    assert compared.filter(pl.col("difference") == 0)["p_value"].null_count() == compared.height - known.height
    if cluster is not None:
        sketch = log.ec.sketch(["a", "b"], "y", by="group", cluster=cluster).compare("recall", "auc_roc")
        assert sketch.filter(metric="recall")["p_value"].null_count() == compared["p_value"].null_count()
        assert (sketch["difference_ci_low"] < sketch["difference_ci_high"]).all()


def test_wrong_rows_make_their_groups_null_and_no_other() -> None:
    log = LOG.with_columns(b=pl.when(pl.int_range(pl.len()) == LOG["group"].index_of(1)).then(2.0).otherwise("b"))
    found = log.lazy().ec.compare(["a", "b"], "y", by="group", metrics=["nec", "auc_roc"]).collect()
    wrong = found.filter(group=1)
    assert wrong["value"].null_count() == 2
    assert wrong["value_reference"].null_count() == 0
    assert wrong["difference_ci_low"].null_count() == 2
    assert found.filter(pl.col("group") != 1)["difference_ci_low"].null_count() == 0


@pytest.mark.parametrize(
    ("score", "options", "message"),
    [
        ("a", {}, r"one model, 'a': pass at least two models \(the"),
        (["a", "b"], {"reference": "c"}, r"reference='c' is not a model: The models are a, b\."),
        ("a", {"reference": "rest"}, "pass by="),
        ("a", {"reference": "rest", "by": pl.lit(1).alias("one")}, "there is only one"),
        ("a", {"reference": 7, "by": "group"}, r"reference=7 is not a group of group\. There are 0; 1; 2"),
        (
            "a",
            {"reference": "max", "by": pl.col("group").cast(pl.String)},
            r"reference='max' is not a group of group\. There are .*: did you mean highest\?",
        ),
        (
            "a",
            {"reference": "min"},
            r"reference='min' is not a model: did you mean lowest\? The models are a\. To compare groups pass by=",
        ),
        ("a", {"reference": 0.5, "by": "group"}, r"reference=0\.5 is not a group of group\."),
        ("a", {"reference": "March", "by": "group"}, "reference='March' is not a group"),
        ("a", {"reference": {"month": 7}, "by": "group"}, r"names 'month', which is not a column in by=\."),
        (["a", "b"], {"buckets": 50, "cluster": "group"}, "too few for p-values, which need 100"),
        (["a", "b"], {"buckets": 200}, "pass cluster="),
        (["a", "b"], {"interval": 95}, "pass 0.95"),
        (["a", "b"], {"interval": None}, "always has an interval"),
        (
            ["a", "b"],
            {"label": ["y", "other"]},
            r"the labels of the models differ in .* rows: the rows are not the same",
        ),
        (["a", "b"], {"label": ["y"]}, "label= lists 1 columns, but there are 2 models"),
        (["a", "b"], {"cluster": ["group", "row"]}, "the cluster keys of the models differ"),
        (["a", "b"], {"metrics": ["ece"]}, "no confidence interval near perfect calibration"),
        (["a", "b"], {"metrics": ["tp"]}, "which is a count"),
        (["a", "b"], {"metrics": ["class_f1"]}, "macro_f1"),
        (["a", "b"], {"by": pl.col("group").alias("model")}, "by= has a column 'model'"),
        (
            "a",
            {"reference": "rest", "by": "group", "prior": pl.col("b").mean().over("group")},
            "have different priors: pass",
        ),
    ],
)
def test_misuse_says_what_to_do(score: Any, options: dict[str, Any], message: str) -> None:
    log = LOG.with_row_index("row").with_columns(other=pl.col("y").reverse())
    label = options.pop("label", "y") if "label" in options else "y"
    for frame in (log, log.lazy()):
        with pytest.raises(ValueError, match=message):
            ec.compare(frame, score, label, **options).lazy().collect()


def test_an_empty_log_has_no_groups() -> None:
    found = LOG.clear().ec.compare("a", "y", by="group", reference="rest", metrics=["nec", "auc_roc"])
    assert found.height == 0
    with pytest.warns(UserWarning, match="there are no rows"):
        assert LOG.clear().ec.compare(["a", "b"], "y", metrics=["nec"])["n"].to_list() == [0]
