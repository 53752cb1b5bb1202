"""Areas under ROC curves of many classes in reports and comparisons, against pairs of rows counted one by one, and rows left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from tests.support.cases import mostly_slow

NAMES = ("macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc")
BOUNDS = pl.selectors.ends_with("_ci_low", "_ci_high")
PRIOR = (0.2, 0.5, 0.3)


def log_of(k: int, n: int, seed: int = 0, *, ties: bool = False) -> pl.DataFrame:
    """Two models of the same rows, `q` the better one; classes of different sizes, and users whose rows are alike."""
    rng = np.random.default_rng(seed)
    share = np.arange(2, k + 2) / np.arange(2, k + 2).sum()
    y = np.concatenate([np.arange(k).repeat(3), rng.choice(k, n - 3 * k, p=share)])
    user = rng.integers(0, 40, n)
    common = rng.normal(size=(n, k)) + rng.normal(size=(40, k))[user] * 0.7
    columns: dict[str, Any] = {"y": y, "user": user, "g": rng.integers(0, 3, n), "w": rng.integers(1, 5, n) / 2}
    for name, by in (("q", 1.6), ("r", 1.0)):
        x = common + rng.normal(size=(n, k)) * 0.5 + by * np.eye(k)[y]
        q = np.exp(x.round() if ties else x)
        columns[name] = (q / q.sum(axis=1, keepdims=True)).round(12 if ties else 15)
        columns[name][:, 0] += 1 - columns[name].sum(axis=1)
    vector = pl.Array(pl.Float64, k)
    return pl.DataFrame(columns, schema_overrides={"q": vector, "r": vector})


def area(name: str, q: np.ndarray, y: np.ndarray, w: np.ndarray, prior: Sequence[float] | None = None) -> np.ndarray:
    """From all pairs of a row of one class and a row of another; `w` may be several weights of the rows, one below the other."""
    k = q.shape[1]
    in_class = y[:, None] == np.arange(k)
    total, pairs = w @ in_class, np.zeros((*w.shape[:-1], k, k))
    for i in range(k):
        above = (q[:, i][:, None] > q[:, i]) + (q[:, i][:, None] == q[:, i]) / 2
        pairs[..., i, :] = ((w * in_class[:, i]) @ above * w) @ in_class / total[..., i, None] / total
    if name == "pairwise_auc_roc":
        return np.asarray((pairs.sum(axis=(-1, -2)) - np.trace(pairs, axis1=-2, axis2=-1)) / k / (k - 1))
    p = total / w.sum(axis=-1, keepdims=True) if prior is None else np.broadcast_to(prior, total.shape)
    each = ((pairs * p[..., None, :]).sum(axis=-1) - np.einsum("...ii->...i", pairs) * p) / (1 - p)
    return np.asarray((p * each).sum(axis=-1) if name == "weighted_auc_roc" else each.mean(axis=-1))


def influences(name: str, log: pl.DataFrame, score: str, w: np.ndarray, prior: Sequence[float] | None) -> np.ndarray:
    """By how much the value grows with the weight of each row."""
    q, y, step = log[score].to_numpy(), log["y"].to_numpy(), 1e-4
    by = np.eye(len(y)) * step
    return np.asarray((area(name, q, y, w + by, prior) - area(name, q, y, w - by, prior)) / 2 / step)


def variance(psi: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Within each class, times n / (n - 1), and between them; and Satterthwaite's degrees of freedom."""
    within, between, rows = [], 0.0, []
    for i in np.unique(y):
        w_i, psi_i = w[y == i], psi[y == i]
        n, mean = w_i.sum() ** 2 / (w_i**2).sum(), w_i @ psi_i / w_i.sum()
        within.append((w_i**2) @ (psi_i - mean) ** 2 * n / (n - 1))
        between += mean**2 * (w_i**2).sum()
        rows.append(n)
    total = sum(within) + between
    parts = sum((v / total) ** 2 / (n - 1) for v, n in zip(within, rows, strict=True))
    return total, 1 / (parts + (between / total) ** 2 / (sum(rows) - 1))


def bounds(value: float, spread: float, df: float) -> tuple[float, float]:
    """By t on the scale of log-odds."""
    half = stats.t.ppf(0.975, df) * np.sqrt(spread) / value / (1 - value)
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def interval(table: pl.DataFrame, column: str) -> tuple[float, float]:
    low, high = table.select(f"{column}_ci_low", f"{column}_ci_high").row(0)
    return float(low), float(high)


@pytest.mark.parametrize(
    ("k", "ties"), mostly_slow([(k, ties) for k in (3, 5, 12) for ties in (False, True)], [(3, True)])
)
@pytest.mark.parametrize("weight", [None, "w"])
def test_intervals_are_those_of_the_influence_of_rows(k: int, ties: bool, weight: str | None) -> None:
    log, prior = log_of(k, 200, ties=ties), np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    y, w = log["y"].to_numpy(), np.ones(200) if weight is None else log["w"].to_numpy()
    report = log.ec.report("q", "y", metrics=NAMES, interval=0.95, weight=weight, prior=list(prior))
    for name in NAMES:
        for suffix, stated in (("", None), ("_at_prior", prior)):
            if suffix and name == "pairwise_auc_roc":
                continue
            value = area(name, log["q"].to_numpy(), y, w, stated)
            assert report[f"{name}{suffix}"].item() == pytest.approx(value, rel=1e-12)
            psi = influences(name, log, "q", w, stated)
            assert (w @ psi) == pytest.approx(0, abs=1e-8)
            wanted = bounds(value, *variance(psi, y, w))
            assert interval(report, f"{name}{suffix}") == pytest.approx(wanted, rel=1e-6)
    assert "pairwise_auc_roc_at_prior" not in report.columns


@pytest.mark.parametrize("weight", [None, "w"])
def test_values_are_those_of_scikit_learn(weight: str | None) -> None:
    log = log_of(4, 300, ties=True)
    y, q, w = (log[name].to_numpy() for name in ("y", "q", "w"))
    found = log.ec.report("q", "y", metrics=NAMES, weight=weight).row(0, named=True)
    for average in ("macro", "weighted"):
        wanted = roc_auc_score(y, q, multi_class="ovr", average=average, sample_weight=weight and w)
        assert found[f"{average}_auc_roc"] == pytest.approx(wanted, rel=1e-12)
    if weight is None:
        assert found["pairwise_auc_roc"] == pytest.approx(roc_auc_score(y, q, multi_class="ovo"), rel=1e-12)


@pytest.mark.parametrize("name", mostly_slow(NAMES, ["weighted_auc_roc"]))
def test_the_variance_is_that_of_the_jackknife(name: str) -> None:
    """Each row left out in turn, and each cluster."""
    log = log_of(3, 240)
    q, y, user, w = log["q"].to_numpy(), log["y"].to_numpy(), log["user"].to_numpy(), np.ones(240)

    def spread(of: np.ndarray) -> float:
        units = np.unique(of)
        without = np.array([area(name, q[of != u], y[of != u], w[of != u]) for u in units])
        return float(((without - without.mean()) ** 2).sum() * (len(units) - 1) / len(units))

    for of, options in ((np.arange(240), {}), (user, {"cluster": "user", "buckets": 1000})):
        report = log.ec.report("q", "y", metrics=[name], interval=0.95, **options)
        low, high = logit(interval(report, name))
        value = report[name].item()
        # t differs from the normal quantile by little, for many rows and 40 clusters.
        error = (high - low) / 2 / stats.t.ppf(0.975, 200 if not options else 35) * value * (1 - value)
        assert error == pytest.approx(np.sqrt(spread(of)), rel=0.04)


def as_three_classes(log: pl.DataFrame) -> pl.DataFrame:
    """Two classes, and rows of a third one that a prior of 0 leaves out."""
    p = pl.col("q").arr.get(1) / (pl.col("q").arr.get(0) + pl.col("q").arr.get(1))
    return log.with_columns(p=p, v=pl.concat_arr(1 - p, p, p * 0))


@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("n", mostly_slow([30, 90, 600], [90]))
def test_two_classes_have_the_interval_of_auc_roc(cluster: str | None, n: int) -> None:
    """The interval of auc_roc is computed from cells, and is as wide as Newcombe's in few rows."""
    log = as_three_classes(log_of(3, n))
    options = {"interval": 0.95, "cluster": cluster}
    areas = log.ec.report("v", "y", metrics=["weighted_auc_roc"], prior=[0.4, 0.6, 0], **options)
    auc = log.filter(pl.col("y") < 2).ec.report("p", "y", metrics=["auc_roc"], **options)
    error = auc["auc_roc_error"].item() + 1e-12
    assert areas["weighted_auc_roc_at_prior"].item() == pytest.approx(auc["auc_roc"].item(), abs=error)
    # Few clusters make fewer rows of each class, or of both alike.
    within = 0.02 if cluster and n == 30 else 3e-3
    assert interval(areas, "weighted_auc_roc_at_prior") == pytest.approx(interval(auc, "auc_roc"), abs=within)


@pytest.mark.parametrize(
    "options", mostly_slow([{}, {"weight": "w"}, {"cluster": "user"}], [{"cluster": "user"}]), ids=str
)
def test_groups_periods_and_totals_are_logs_of_their_own(options: dict[str, Any]) -> None:
    log = log_of(3, 300)
    asked = {"metrics": NAMES, "interval": 0.95, "prior": PRIOR, **options}
    report = log.ec.report("q", "y", by="g", total=True, **asked)
    columns = [f"{name}{suffix}" for name in NAMES for suffix in ("", "_ci_low", "_ci_high")]
    alone = [log.filter(g=g).ec.report("q", "y", **asked) for g in range(3)]
    together = pl.concat([*alone, log.ec.report("q", "y", **asked)])
    assert_frame_equal(report.select(columns), together.select(columns), rel_tol=1e-12)
    lazy = log.lazy().ec.report("q", "y", by="g", total=True, **asked)
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(lazy.collect(engine=engine), report, rel_tol=1e-12)
    several = log.ec.report(["q", "r"], "y", by="g", **asked)
    assert_frame_equal(several.filter(score="q").select(columns), report[:3].select(columns), rel_tol=1e-12)


COLUMN = pl.lit(list(PRIOR), pl.Array(pl.Float64, 3))


@pytest.mark.parametrize(
    "prior", [PRIOR, pytest.param("uniform", marks=pytest.mark.slow), COLUMN], ids=["one", "even", "column"]
)
@pytest.mark.parametrize("weight", [None, pytest.param("w", marks=pytest.mark.slow)])
def test_values_are_those_of_the_expressions(prior: Any, weight: str | None) -> None:
    log, options = log_of(3, 200), {"prior": prior, "weight": weight}
    report = log.ec.report("q", "y", by="g", metrics=NAMES, **options)
    for name in NAMES:
        function = getattr(ec, name)
        expected = log.group_by("g").agg(value=function("q", "y", weight=weight)).sort("g")["value"]
        assert report[name].to_list() == pytest.approx(expected.to_list(), rel=1e-12)
        if name != "pairwise_auc_roc":
            at = log.group_by("g").agg(value=function("q", "y", **options)).sort("g")["value"]
            assert report[f"{name}_at_prior"].to_list() == pytest.approx(at.to_list(), rel=1e-12)


def test_overall_prior_and_one_that_scores_are_moved_to() -> None:
    log = log_of(3, 200)
    shares = (np.bincount(log["y"]) / log.height).tolist()
    asked = {"by": "g", "metrics": NAMES, "interval": 0.95}
    wanted = log.ec.report("q", "y", prior=shares, **asked)
    assert_frame_equal(log.ec.report("q", "y", prior="overall", **asked), wanted, rel_tol=1e-12)
    moved = log.with_columns(q=ec.shift_prior("q", "uniform", PRIOR)).ec.report("q", "y", prior=PRIOR, **asked)
    found = log.ec.report("q", "y", prior=PRIOR, score_prior="uniform", **asked)
    for name in NAMES:
        at = name if name == "pairwise_auc_roc" else f"{name}_at_prior"
        for end in ("", "_ci_low", "_ci_high"):
            assert found[f"{name}_at_prior{end}"].to_list() == pytest.approx(moved[f"{at}{end}"].to_list(), rel=1e-12)
    assert found["pairwise_auc_roc"].to_list() != pytest.approx(moved["pairwise_auc_roc"].to_list(), rel=1e-3)


@pytest.mark.parametrize("score_type", ["log_posteriors", "log_likelihoods"])
def test_other_scores(score_type: str) -> None:
    log = log_of(3, 150).with_columns(q=pl.col("q").arr.eval(pl.element().log()))
    options = {"score_type": score_type, "prior": PRIOR}
    report = log.ec.report("q", "y", metrics=NAMES, interval=0.95, **options)
    for name in NAMES:
        given = {"score_type": score_type} if name == "pairwise_auc_roc" else options
        value = log.select(getattr(ec, name)("q", "y", **given)).item()
        at = name if name == "pairwise_auc_roc" else f"{name}_at_prior"
        assert report[at].item() == pytest.approx(value, rel=1e-12)
    assert report.select(BOUNDS.is_not_null()).row(0) == (True,) * 10


# Few rows, and rows that lack something.


def test_a_perfect_order_has_an_interval_with_a_width() -> None:
    y = np.arange(3).repeat(20)
    log = pl.DataFrame({"q": np.eye(3)[y], "y": y, "u": np.arange(60)}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    for options in ({}, {"cluster": "u", "buckets": 1000}):
        report = log.ec.report("q", "y", metrics=NAMES, interval=0.95, **options)
        for name in NAMES:
            assert report[name].item() == 1
            low, high = interval(report, name)
            # As for two classes of 30 rows: the areas of three classes have 60 rows on either side.
            assert 0.85 < low < 0.97
            assert high == 1


def test_without_a_value_or_a_second_row_of_a_class_there_are_no_bounds() -> None:
    log = log_of(3, 60).select("q", "y", pl.lit("right").alias("g"))
    right = log.ec.report("q", "y", by="g", metrics=NAMES, interval=0.95)
    nothing, wrong = pl.lit(None, pl.Array(pl.Float64, 3)), pl.lit([0.5, np.nan, 0.5], pl.Array(pl.Float64, 3))
    first_of_class = pl.int_range(pl.len()).over("y") == 0
    logs = {
        "late": pl.concat([log, log.with_columns(y=None), log.with_columns(q=nothing)], how="vertical_relaxed"),
        "wrong": pl.concat([log, log[:1].with_columns(q=wrong)]),
        "no 2": log.filter(pl.col("y") != 2),
        "one 2": log.filter((pl.col("y") != 2) | first_of_class),
        "none": log.with_columns(y=None),
    }
    rows = pl.concat([of.with_columns(g=pl.lit(g)) for g, of in logs.items()], how="vertical_relaxed")
    with pytest.warns(UserWarning, match="metrics are null in 1 of 5 rows"):
        report = rows.ec.report("q", "y", by="g", metrics=NAMES, interval=0.95)
    found = {row["g"]: row for row in report.iter_rows(named=True)}
    for name in NAMES:
        for end in ("", "_ci_low", "_ci_high"):
            assert found["late"][f"{name}{end}"] == pytest.approx(right[f"{name}{end}"].item(), rel=1e-12)
            # Of a class without rows the share is 0, and so is its weight in the mean.
            unknown = ["wrong", "none", *([] if name == "weighted_auc_roc" else ["no 2"])]
            assert [found[g][f"{name}{end}"] for g in unknown] == [None] * len(unknown)
        assert found["one 2"][name] is not None
        assert found["one 2"][f"{name}_ci_low"] is None
    assert found["late"]["n_missing"] == 120
    assert rows.clear().ec.report("q", "y", by="g", metrics=NAMES, interval=0.95).height == 0


def test_too_few_clusters_have_no_bounds() -> None:
    log = log_of(3, 120)
    few = log.with_columns(user=pl.col("user") % 4)
    one = log.with_columns(user=pl.when(pl.col("y") == 0).then(-1).otherwise("user"))
    for rows in (few, one):
        report = rows.ec.report("q", "y", metrics=NAMES, interval=0.95, cluster="user")
        assert report.select(BOUNDS).row(0) == (None,) * 6
    keyless = log.with_columns(user=pl.lit(None, pl.Int64))
    columns = [f"{name}{end}" for name in NAMES for end in ("_ci_low", "_ci_high")]
    wanted = log.ec.report("q", "y", metrics=NAMES, interval=0.95).select(columns)
    found = keyless.ec.report("q", "y", metrics=NAMES, interval=0.95, cluster="user").select(columns)
    assert_frame_equal(found, wanted, rel_tol=0.01)


# Comparisons.


def ends(table: pl.DataFrame) -> tuple[float, ...]:
    """The difference, its bounds and its p-value."""
    return table.select("difference", "difference_ci_low", "difference_ci_high", "p_value").row(0)


@pytest.mark.parametrize(("weight", "prior"), mostly_slow(product([None, "w"], [None, PRIOR]), [("w", None)]))
def test_the_difference_of_two_models_has_the_difference_of_influences(
    weight: str | None, prior: tuple[float, ...] | None
) -> None:
    log = log_of(3, 120)
    y, w = log["y"].to_numpy(), np.ones(120) if weight is None else log["w"].to_numpy()
    compared = log.ec.compare(["q", "r"], "y", metrics=NAMES, weight=weight, prior=prior)
    for name in NAMES if prior is None else NAMES[:2]:
        row = compared.filter(metric=name if prior is None else f"{name}_at_prior")
        values = [float(area(name, log[score].to_numpy(), y, w, prior)) for score in ("r", "q")]
        assert row.select("value", "value_reference").row(0) == pytest.approx(values, rel=1e-12)
        psi = influences(name, log, "r", w, prior) - influences(name, log, "q", w, prior)
        spread, df = variance(psi, y, w)
        gap, half = values[0] - values[1], stats.t.ppf(0.975, df) * np.sqrt(spread)
        p = 2 * stats.t.sf(abs(gap) / np.sqrt(spread), df)
        assert ends(row) == pytest.approx((gap, gap - half, gap + half, p), rel=1e-6)


def test_models_in_clusters_are_compared_cluster_by_cluster() -> None:
    log = log_of(3, 300)
    name, q, r, y, w = "macro_auc_roc", *(log[of].to_numpy() for of in ("q", "r", "y")), np.ones(300)
    row = log.ec.compare(["q", "r"], "y", metrics=[name], cluster="user", buckets=1000)
    user = log["user"].to_numpy()
    gaps = []
    for u in np.unique(user):
        kept = user != u
        gaps.append(area(name, r[kept], y[kept], w[kept]) - area(name, q[kept], y[kept], w[kept]))
    error = np.sqrt(((np.array(gaps) - np.mean(gaps)) ** 2).sum() * (len(gaps) - 1) / len(gaps))
    _, low, high, _ = ends(row)
    assert (high - low) / 2 / stats.t.ppf(0.975, 35) == pytest.approx(error, rel=0.04)
    turned = log.ec.compare(["q", "r"], "y", metrics=[name], cluster="user", buckets=1000, reference="r")
    assert ends(turned)[:3] == pytest.approx((-ends(row)[0], -high, -low), rel=1e-12)


def test_rows_that_one_model_lacks_are_left_out_and_equal_models_differ_by_nothing() -> None:
    log = log_of(3, 200)
    is_late = pl.int_range(pl.len()) % 5 == 0
    late = log.with_columns(r=pl.when(~is_late).then("r"))
    wanted = log.filter(~is_late).ec.compare(["q", "r"], "y", by="g", metrics=NAMES)
    found = late.ec.compare(["q", "r"], "y", by="g", metrics=NAMES)
    assert_frame_equal(found.drop("n_missing"), wanted.drop("n_missing"), rel_tol=1e-12)
    assert found["n_missing"].sum() == 40 * len(NAMES)
    lazy = late.lazy().ec.compare(["q", "r"], "y", by="g", metrics=["nce", *NAMES]).collect()
    assert_frame_equal(lazy.filter(pl.col("metric") != "nce"), found, rel_tol=1e-12)
    wrong = log.with_columns(r=pl.when(is_late).then(pl.lit([0.5, 0.6, 0.5], pl.Array(pl.Float64, 3))).otherwise("r"))
    with pytest.warns(UserWarning, match="'r': posteriors do not sum to 1 in 40 of 200 rows"):
        row = wrong.ec.compare(["q", "r"], "y", metrics=NAMES[:1])
    assert row.select("value", "difference", "p_value").row(0) == (None, None, None)
    assert row["value_reference"].item() == log.ec.report("q", "y", metrics=NAMES[:1])[NAMES[0]].item()
    for options in ({}, {"cluster": "user"}):
        same = log.with_columns(r=pl.col("q")).ec.compare(["q", "r"], "y", metrics=NAMES, **options)
        assert same.select("difference", "difference_ci_low", "difference_ci_high").unique().row(0) == (0, 0, 0)


def test_three_models_are_compared_with_the_first_on_rows_of_both() -> None:
    log = log_of(3, 200).with_columns(s=pl.when(pl.int_range(pl.len()) > 50).then("q"))
    found = log.ec.compare(["r", "q", "s"], "y", metrics=NAMES)
    assert_frame_equal(found.filter(model="q"), log.ec.compare(["r", "q"], "y", metrics=NAMES))
    assert found.filter(model="s")["n"].to_list() == [149] * 3


@pytest.mark.parametrize(
    "options", mostly_slow([{}, {"prior": PRIOR}, {"cluster": "user"}, {"weight": "w"}], [{}]), ids=str
)
@pytest.mark.parametrize("name", mostly_slow(NAMES, ["weighted_auc_roc"]))
def test_all_other_groups_are_one_group(name: str, options: dict[str, Any]) -> None:
    log = log_of(3, 300)
    asked = {"by": "g", "metrics": [name], **options}
    rest = log.ec.compare("q", "y", reference="rest", **asked)
    for g in range(3):
        of_two = log.with_columns(g=pl.when(pl.col("g") == g).then(pl.col("g")).otherwise(9))
        one = of_two.ec.compare("q", "y", reference=9, **asked)
        columns = [
            "metric",
            "value",
            "value_reference",
            "difference",
            "difference_ci_low",
            "difference_ci_high",
            "p_value",
        ]
        assert_frame_equal(rest.filter(g=g).select(columns), one.select(columns), rel_tol=1e-9)


def test_groups_and_all_rows() -> None:
    """Variances of independent groups add up; a group and the total share its rows."""
    log, name = log_of(3, 400), "macro_auc_roc"
    of_groups: list[tuple[float, float, float]] = []
    for g in range(3):
        part = log.filter(g=g)
        w = np.ones(part.height)
        value = float(area(name, part["q"].to_numpy(), part["y"].to_numpy(), w))
        of_groups.append((value, *variance(influences(name, part, "q", w, None), part["y"].to_numpy(), w)))
    one = log.ec.compare("q", "y", by="g", metrics=[name], reference=0)
    (first, v, df), *others = of_groups
    for row, (value, v_other, df_other) in zip(one.iter_rows(named=True), others, strict=True):
        both = (v + v_other) ** 2 / (v**2 / df + v_other**2 / df_other)
        half = stats.t.ppf(0.975, both) * np.sqrt(v + v_other)
        assert (row["value"], row["value_reference"]) == pytest.approx((value, first), rel=1e-12)
        assert row["difference_ci_high"] == pytest.approx(value - first + half, rel=1e-6)
    whole = influences(name, log, "q", np.ones(400), None)
    y, group = log["y"].to_numpy(), log["g"].to_numpy()
    for row in log.ec.compare("q", "y", by="g", metrics=[name], reference="total").iter_rows(named=True):
        inside, part = group == row["g"], log.filter(g=row["g"])
        own = influences(name, part, "q", np.ones(part.height), None)
        v_inside, df_inside = variance(own - whole[inside], y[inside], np.ones(inside.sum()))
        v_outside, df_outside = variance(whole[~inside], y[~inside], np.ones((~inside).sum()))
        both = (v_inside + v_outside) ** 2 / (v_inside**2 / df_inside + v_outside**2 / df_outside)
        half = stats.t.ppf(0.975, both) * np.sqrt(v_inside + v_outside)
        assert row["difference_ci_high"] - row["difference"] == pytest.approx(half, rel=1e-6)
    best = log.ec.compare("q", "y", by="g", metrics=[name], reference="best")
    assert best["value_reference"].unique().item() == pytest.approx(max(value for value, *_ in of_groups), rel=1e-12)


def test_errors() -> None:
    log = log_of(3, 60).with_columns(p=pl.col("q").arr.get(1), b=pl.col("y") > 0)
    two = pl.col("q").arr.get(0)
    calls: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
        ("posteriors of more than two classes: use auc_roc", log.ec.report, {"score": "p", "label": "b"}),
        ("more than two classes", log.ec.report, {"score": pl.concat_arr(1 - two, two).alias("two"), "label": "b"}),
        ("more than two classes", log.ec.report, {"score": "y", "label": "y", "score_type": "decision", "classes": [0, 1, 2]}),
        ("method='bootstrap' is not available for 'macro_auc_roc': leave method= out", log.ec.report, {"score": "q", "label": "y", "interval": 0.9, "method": "bootstrap"}),
        ("per_class=True has only metrics of decisions", log.ec.report, {"score": "q", "label": "y", "per_class": True}),
        ("a ranking metric, whose change cannot be explained", log.ec.drift, {"score": "q", "label": "y", "period": "g"}),
        ("more than two classes", log.ec.compare, {"score": ["p", pl.col("p").alias("s")], "label": "b"}),
    ]  # fmt: skip
    for message, call, options in calls:
        with pytest.raises(ValueError, match=message):
            call(metrics=["macro_auc_roc"], **options)
    with pytest.raises(ValueError, match="one class against the rest, or macro_auc_roc for all classes"):
        log.ec.report("q", "y", metrics=["auc_roc"])


def test_rows_needed_of_an_area() -> None:
    pilot = log_of(3, 300).ec.report("q", "y", metrics=["macro_auc_roc"], interval=0.95)
    low, high = interval(pilot, "macro_auc_roc")
    needed = ec.rows_needed(pilot, "macro_auc_roc", width=(high - low) / 2)["rows_needed"].item()
    assert 1100 < needed < 1300
