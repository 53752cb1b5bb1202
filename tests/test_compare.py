"""Differences of models and of groups: against formulas written here, bootstraps and simulated logs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import optimize, stats

import polars_ec as ec
from polars_ec.inference.estimator import adjusted
from tests.support.cases import mostly_slow

METRICS = ["nec", "nce", "nbs", "precision", "f1", "recall"]
NUMBERS = ["value", "value_reference", "difference", "difference_ci_low", "difference_ci_high", "p_value", "p_adjusted"]


def made_log(n: int = 900, seed: int = 1, users: int = 120, groups: int = 3) -> pl.DataFrame:
    """Two correlated models, rows of users, groups of unlike size, weights."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, n)
    y = rng.random(n) < 0.3
    z = np.where(y, 1.0, -1.0) + rng.standard_normal(n) + 0.7 * rng.standard_normal(users)[user]
    return pl.DataFrame(
        {
            "group": np.minimum(rng.geometric(0.5, n) - 1, groups - 1),
            "user": user,
            "y": y,
            "a": 1 / (1 + np.exp(-z)),
            "b": 1 / (1 + np.exp(-z - 0.6 * rng.standard_normal(n))),
            "w": rng.exponential(1, n),
        }
    )


LOG = made_log()


def width(table: pl.DataFrame) -> np.ndarray:
    return (table["difference_ci_high"] - table["difference_ci_low"]).to_numpy()


def battery(y: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """METRICS of rows whose weights are given, (draws, rows): a formula for each, by NumPy."""
    n, n1 = w.sum(-1), (w * y).sum(-1)
    p = n1 / n
    d = q > 0.5
    tp, fp, wrong = ((w * mask).sum(-1) for mask in (d & y, d & ~y, d != y))
    log_loss = (w * -np.log(np.where(y, q, 1 - q))).sum(-1) / n
    brier = (w * (q - y) ** 2).sum(-1) / n
    return np.stack(
        [
            wrong / n / np.minimum(p, 1 - p),
            log_loss / -(p * np.log(p) + (1 - p) * np.log(1 - p)),
            brier / (p * (1 - p)),
            tp / (tp + fp),
            2 * tp / (tp + fp + n1),
            tp / n1,
        ],
        axis=-1,
    )


def strata_interval(psi: np.ndarray, y: np.ndarray, level: float) -> tuple[float, float, float]:
    """Half width, standard error and degrees of freedom from influence values of independent rows: appendix formulas, by NumPy."""
    variance, terms, between = 0.0, 0.0, 0.0
    for mask in (y, ~y):
        n, mean = mask.sum(), psi[mask].mean()
        within = ((psi[mask] - mean) ** 2).sum() * n / (n - 1)
        variance += within + n * mean**2
        between += n * mean**2
        terms += within**2 / (n - 1)
    df = variance**2 / (terms + between**2 / (len(y) - 1))
    return stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance), math.sqrt(variance), df


def test_paired_recall_is_mcnemars_difference_of_discordant_rows() -> None:
    found = LOG.ec.compare(["a", "b"], "y", metrics=["recall"], interval=0.9).row(0, named=True)
    positives = LOG.filter("y")
    d = [(positives[name] > 0.5).to_numpy().astype(float) for name in "ba"]
    n, more, fewer = len(positives), (d[0] > d[1]).sum(), (d[0] < d[1]).sum()
    difference = (more - fewer) / n
    standard_error = math.sqrt(((more + fewer) / n - difference**2) / (n - 1))
    assert found["difference"] == pytest.approx(difference, rel=1e-12)
    half = stats.t.ppf(0.95, n - 1) * standard_error
    assert found["difference_ci_high"] - found["difference"] == pytest.approx(half, rel=1e-8)
    assert found["difference"] - found["difference_ci_low"] == pytest.approx(half, rel=1e-8)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(difference) / standard_error, n - 1), rel=1e-7)


@pytest.mark.parametrize(("metric", "prior"), [("nce", None), ("nce_at_prior", 0.1), ("cross_entropy", None)])
def test_paired_loss_is_the_sum_of_squared_influences(metric: str, prior: float | None) -> None:
    found = LOG.ec.compare(["a", "b"], "y", metrics=[metric.removesuffix("_at_prior")], prior=prior)
    found = found.row(by_predicate=pl.col("metric") == metric, named=True)
    y = LOG["y"].to_numpy()
    p = y.mean() if prior is None else prior
    psi = []
    for name in "ba":
        loss = -np.log(np.where(y, LOG[name], 1 - LOG[name]))
        n, entropy = len(y), -(p * math.log(p) + (1 - p) * math.log(1 - p))
        if metric == "nce":
            psi.append((loss + loss.mean() / entropy * np.log(np.where(y, p, 1 - p))) / (entropy * n))
        elif metric == "nce_at_prior":
            shares = [(mask, share) for mask, share in ((y, p), (~y, 1 - p))]
            psi.append(sum(m * share * (loss - loss[m].mean()) / (entropy * m.sum()) for m, share in shares))
        else:
            psi.append((loss - loss.mean()) / n)
    half, error, df = strata_interval(psi[0] - psi[1], y, 0.95)
    assert found["difference_ci_high"] - found["difference"] == pytest.approx(half, rel=1e-7)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(found["difference"]) / error, df), rel=1e-6)


ONE_CLASS = {
    "row costs": ("expected_cost", {"cost_fp": "c", "cost_fn": "c"}),
    "constant costs": ("expected_cost", {"cost_fp": "one", "cost_fn": "one"}),
    "exact posteriors": ("brier", {}),
    "nearly exact posteriors": ("brier", {}),
}


def one_class_log(kind: str, n: int, seed: int = 5) -> pl.DataFrame:
    """Models of equal cost in truth: `a` has few and large losses in class 0, `b` none there but small ones of about one size in class 1."""
    rng = np.random.default_rng(seed)
    y, rare = rng.random(n) < 0.5, rng.random(n) < 0.15
    if ONE_CLASS[kind][1]:
        small = rng.random(n) < (0.5 if kind == "row costs" else 0.15)
        a, b = np.where(~y & rare, 0.9, 0.1) + 0.8 * y, np.where(y & small, 0.1, 0.9) - 0.8 * ~y
    else:
        a = np.where(y, 1.0, np.where(rare, 0.8, 0.0))
        b = np.where(y, 1 - 0.8 * np.sqrt(0.15), 1e-9 * (kind == "nearly exact posteriors"))
    cost = np.where(y, 0.3, 1.0) * rng.uniform(0.8, 1.2, n)
    return pl.DataFrame({"a": a, "b": b, "y": y, "c": cost, "one": 1.0, "nobody": None})


def losses_of_rows(log: pl.DataFrame, kind: str, model: str) -> np.ndarray:
    q, y = log[model].to_numpy(), log["y"].to_numpy()
    cost = {"row costs": log["c"].to_numpy(), "constant costs": 1.0}.get(kind)
    return (q - y) ** 2 if cost is None else cost * ((q > 0.5) != y)


@pytest.mark.quick("None-*", "nobody-row costs")
@pytest.mark.parametrize("kind", ONE_CLASS)
@pytest.mark.parametrize("cluster", [None, "nobody"])
def test_a_class_without_errors_of_one_model_has_its_variance(cluster: str | None, kind: str) -> None:
    log = one_class_log(kind, 200)
    metric, options = ONE_CLASS[kind]
    gap = losses_of_rows(log, kind, "b") - losses_of_rows(log, kind, "a")
    half, error, df = strata_interval((gap - gap.mean()) / len(gap), log["y"].to_numpy(), 0.95)
    for models, sign in ((["a", "b"], 1), (["b", "a"], -1)):
        found = log.ec.compare(models, "y", metrics=[metric], cluster=cluster, **options).row(0, named=True)
        assert found["difference"] == pytest.approx(sign * gap.mean(), rel=1e-9)
        # A row that is a cluster of its own counts as in the jackknife, which is a little wider.
        assert found["difference_ci_high"] - found["difference"] == pytest.approx(
            half, rel=1e-7 if not cluster else 0.01
        )
        if not cluster:
            p = 2 * stats.t.sf(abs(gap.mean()) / error, df)
            assert found["p_value"] == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("kind", ["row costs", pytest.param("exact posteriors", marks=pytest.mark.slow)])
def test_models_of_one_cost_without_errors_in_a_class_are_seldom_told_apart(kind: str) -> None:
    groups = 1000
    log = one_class_log(kind, 200 * groups).with_columns(group=pl.int_range(pl.len()) % groups)
    metric, options = ONE_CLASS[kind]
    found = log.ec.compare(["a", "b"], "y", by="group", metrics=[metric], **options)
    assert 0.03 < (found["p_value"] < 0.05).mean() < 0.075


@pytest.mark.quick("None-None", "w-user")
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_pairs_against_a_bootstrap(cluster: str | None, weight: str | None) -> None:
    rng = np.random.default_rng(5)
    y, a, b = (LOG[name].to_numpy() for name in "yab")
    n_units, unit = (LOG.height, np.arange(LOG.height)) if cluster is None else (120, LOG[cluster].to_numpy())
    drawn = rng.multinomial(n_units, [1 / n_units] * n_units, size=1500)[:, unit]
    w = drawn * (1.0 if weight is None else LOG[weight].to_numpy())
    errors = (battery(y, b, w) - battery(y, a, w)).std(axis=0)
    found = LOG.ec.compare(
        ["a", "b"], "y", metrics=METRICS, cluster=cluster, weight=weight, buckets=1000 if cluster else 100
    )
    # Half of the width is t times the standard error, whose own is 2 percent of 1,500 draws.
    assert width(found) / 2 / stats.t.ppf(0.975, 60 if cluster else 500) == pytest.approx(
        errors, rel=0.13 if cluster else 0.09
    )
    whole = np.ones(len(y)) if weight is None else LOG[weight].to_numpy()
    assert found["difference"].to_numpy() == pytest.approx(battery(y, b, whole) - battery(y, a, whole), rel=1e-9)


@pytest.mark.quick("rest-user", "total-None", "1-user")
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("reference", ["rest", "total", 1])
def test_groups_against_a_bootstrap(cluster: str | None, reference: object) -> None:
    rng = np.random.default_rng(6)
    y, a, group = (LOG[name].to_numpy() for name in ("y", "a", "group"))
    n_units, unit = (LOG.height, np.arange(LOG.height)) if cluster is None else (120, LOG[cluster].to_numpy())
    w = rng.multinomial(n_units, [1 / n_units] * n_units, size=1500)[:, unit].astype(float)
    other = {"rest": group != 0, "total": group >= 0}.get(str(reference), group == 1)
    errors = (battery(y, a, w * (group == 0)) - battery(y, a, w * other)).std(axis=0)
    found = LOG.ec.compare(
        "a", "y", by="group", metrics=METRICS, cluster=cluster, reference=reference, buckets=1000 if cluster else 100
    ).filter(pl.col("group") == 0)
    assert found["reference"].unique().to_list() == [str(reference)]
    assert width(found) / 2 / stats.t.ppf(0.975, 70 if cluster else 300) == pytest.approx(errors, rel=0.13)


def test_pairs_are_much_narrower_than_two_models_apart() -> None:
    paired = LOG.ec.compare(["a", "b"], "y", metrics=METRICS)
    both = pl.concat(LOG.select("y", pl.lit(name).alias("which"), pl.col(name).alias("score")) for name in ("a", "b"))
    apart = both.ec.compare("score", "y", by="which", reference="a", metrics=METRICS)
    assert paired["difference"].to_numpy() == pytest.approx(apart["difference"].to_numpy(), rel=1e-12)
    assert (width(apart) / width(paired) > 1.5).all()


@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"weight": "w"}, {"prior": 0.1}])
def test_the_same_model_twice_differs_by_nothing(options: dict) -> None:
    found = LOG.with_columns(c="a").ec.compare(["a", "c"], "y", by="group", metrics=[*METRICS, "mcc"], **options)
    assert found.height >= 3 * 7
    assert found.select("difference", "difference_ci_low", "difference_ci_high").unique().rows() == [(0.0, 0.0, 0.0)]
    assert found.select("p_value", "p_adjusted").unique().rows() == [(1.0, 1.0)]


def test_values_are_those_of_the_report_on_rows_that_all_models_have() -> None:
    log = LOG.with_columns(
        a=pl.when(pl.int_range(pl.len()) % 7 > 0).then("a"), b=pl.when(pl.int_range(pl.len()) % 5 > 0).then("b")
    )
    found = log.ec.compare(["a", "b"], "y", by="group", metrics=METRICS, prior="overall")
    common = log.drop_nulls().ec.report(["a", "b"], "y", by="group", metrics=METRICS, prior="overall")
    for row in found.iter_rows(named=True):
        for model, value in ((row["model"], row["value"]), (row["reference"], row["value_reference"])):
            expected = common.row(
                by_predicate=(pl.col("group") == row["group"]) & (pl.col("score") == model), named=True
            )
            assert value == pytest.approx(expected[row["metric"]], rel=1e-12)
            assert row["n"] == expected["n"]
    of_group = log.group_by("group").agg(pl.any_horizontal(pl.col("a", "b").is_null()).sum().alias("missing"))
    counted = dict(of_group.rows())
    assert {row["group"]: row["n_missing"] for row in found.iter_rows(named=True)} == counted


THREE = {
    "decisions and losses": ({}, METRICS),
    "weights and groups": ({"weight": "w", "by": "group"}, METRICS),
    "clusters": ({"cluster": ["user", "user", "user"]}, ["nec", "brier"]),
    "row costs": ({"cost_fn": "w"}, ["nec", "expected_cost"]),
    "overall prior": ({"prior": "overall", "by": "group"}, ["nce", "precision"]),
    "ratios at the overall prior": ({"prior": "overall", "score_type": "llr"}, ["nec", "nce"]),
    "ranks": ({"by": "group"}, ["auc_roc", "eer", "brier"]),
    "own labels": ({}, ["nec"]),
}


@pytest.mark.quick("row costs", "clusters", "ratios at the overall prior", "ranks", "own labels")
@pytest.mark.parametrize("kind", THREE)
def test_pairs_are_compared_on_the_rows_that_have_the_scores_of_both(kind: str) -> None:
    options, metrics = THREE[kind]
    row = pl.int_range(pl.len())
    log = LOG.with_columns(
        a=pl.when(row % 29 != 0).then("a"), c=pl.when(row % 3 != 1).then(1 - pl.col("b") * pl.col("w").exp())
    )
    log = log.with_columns(c=pl.col("c").clip(0.01, 0.99))
    if options.get("score_type"):
        log = log.with_columns(pl.col("a", "b", "c").log() - (1 - pl.col("a", "b", "c")).log())
    label = ["y", "y", "y"] if kind == "own labels" else "y"
    found = log.ec.compare(["a", "b", "c"], label, metrics=metrics, reference="b", **options)
    groups = log["group"].n_unique() if "by" in options else 1
    for model in ("a", "c"):
        # By the report on these rows alone, and by no pass that knows of a third model.
        used = log.filter(pl.col(model).is_not_null())
        of_model = found.filter(pl.col("model") == model)
        assert of_model["n"].sum() == len(of_model) // groups * used.height
        assert (of_model["n"] + of_model["n_missing"]).sum() == len(of_model) // groups * log.height
        told = {k: v for k, v in options.items() if k != "cluster"}
        reports = {m: used.ec.report(m, "y", metrics=metrics, **told) for m in (model, "b")}
        for metric in of_model["metric"].unique():
            rows = of_model.filter(pl.col("metric") == metric)
            for column, name in (("value", model), ("value_reference", "b")):
                assert rows[column].to_list() == pytest.approx(reports[name][metric].to_list(), rel=1e-9)
        alone = used.ec.compare(
            [model, "b"],
            "y",
            metrics=metrics,
            reference="b",
            **(told | ({"cluster": "user"} if "cluster" in options else {})),
        )
        assert_frame_equal(of_model.drop("n_missing"), alone.drop("n_missing"), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("reference", "options"),
    mostly_slow(
        product([None, "rest", "total", "best", 1], [{}, {"cluster": "user"}, {"cluster": "user", "weight": "w"}]),
        [(None, {}), ("rest", {"cluster": "user", "weight": "w"}), ("best", {})],
    ),
)
def test_the_order_of_the_rows_does_not_matter_and_lazy_is_eager(reference: object, options: dict) -> None:
    score = ["a", "b"] if reference is None else "a"
    call = {"by": "group", "reference": reference, "metrics": ["nec", "nce"], **options}
    found = LOG.ec.compare(score, "y", **call)
    shuffled = LOG.sample(fraction=1, shuffle=True, seed=3)
    lazy = pl.concat([shuffled.head(500).lazy(), shuffled.tail(-500).lazy()]).ec.compare(score, "y", **call)
    assert lazy.collect_schema() == found.schema
    assert_frame_equal(found, lazy.collect(), rel_tol=1e-9, abs_tol=1e-10)


@pytest.mark.parametrize("reference", [None, "rest"])
def test_rows_that_are_there_twice_under_one_key_say_no_more(reference: object) -> None:
    log = LOG.with_row_index("row")
    score = ["a", "b"] if reference is None else "a"
    call = {"by": "group", "reference": reference, "metrics": METRICS, "cluster": "row"}
    once, twice = (frame.ec.compare(score, "y", **call) for frame in (log, pl.concat([log, log])))
    assert_frame_equal(once.select(NUMBERS), twice.select(NUMBERS), rel_tol=1e-9, abs_tol=1e-10)
    forgotten = pl.concat([log, log]).ec.compare(score, "y", **{**call, "cluster": None})
    assert width(forgotten) / width(once) == pytest.approx(math.sqrt(0.5), rel=0.15)


@pytest.mark.parametrize("reference", [None, "rest", "total", 1])
def test_rows_without_a_key_are_clusters_of_their_own(reference: object) -> None:
    score = ["a", "b"] if reference is None else "a"
    call = {"by": "group", "reference": reference, "metrics": ["nce", "nec"]}
    keyless = LOG.with_columns(user=pl.lit(None, dtype=pl.Int64))
    assert width(keyless.ec.compare(score, "y", cluster="user", **call)) == pytest.approx(
        width(LOG.ec.compare(score, "y", **call)), rel=0.02
    )


def test_p_values_are_adjusted_for_the_groups() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.5, 0.011])
    known = p[~np.isnan(p)]
    for at in np.flatnonzero(~np.isnan(p)):
        # The least of p_j m / (rank of p_j) over all p_j that are as large.
        expected = min(q * len(known) / (known <= q).sum() for q in known if q >= p[at])
        assert adjusted(p)[at] == pytest.approx(min(expected, 1), rel=1e-12)
    assert np.isnan(adjusted(p)[1])
    found = LOG.ec.compare(["a", "b"], "y", by="group", metrics=METRICS)
    for _, of_metric in found.group_by("metric"):
        assert of_metric["p_adjusted"].to_numpy() == pytest.approx(adjusted(of_metric["p_value"].to_numpy()), rel=1e-12)


def test_areas_of_models_in_few_uneven_clusters_vary_as_without_one_after_the_other() -> None:
    """Some clusters are ten times as large as others. The standard error is solved from limits at two levels."""
    rng = np.random.default_rng(5)
    user = rng.choice(9, 600, p=np.repeat([0.25, 0.06, 0.02], [3, 3, 3]) / 0.99)
    y = rng.random(600) < 0.4
    a, b = ((1.2 * y + rng.normal(size=600) + rng.normal(size=9)[user]) for _ in range(2))
    log = pl.DataFrame({"a": a, "b": b, "y": y, "user": user})
    # A bucket may be of several users.
    bucket = log.select(ec.bucket("user")).to_series().to_numpy()

    def gap(rows: np.ndarray) -> float:
        areas = [(x[rows & y][:, None] > x[rows & ~y]).mean() for x in (a, b)]
        return float(areas[1] - areas[0])

    left = np.array([gap(bucket != one) for one in np.unique(bucket)])
    expected = np.sqrt((len(left) - 1) / len(left) * ((left - gap(np.ones(600, dtype=bool))) ** 2).sum())
    options = {"score_type": "log_odds", "metrics": ["auc_roc"], "cluster": "user"}
    halves = [
        log.ec.compare(["a", "b"], "y", interval=level, **options)
        .select((pl.col("difference_ci_high") - pl.col("difference_ci_low")) / 2)
        .item()
        for level in (0.5, 0.95)
    ]
    df = optimize.brentq(lambda d: stats.t.ppf(0.975, d) / stats.t.ppf(0.75, d) - halves[1] / halves[0], 0.5, 1000)
    assert halves[1] / stats.t.ppf(0.975, df) == pytest.approx(expected, rel=0.06)
