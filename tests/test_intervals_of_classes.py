"""Limits of metrics of many classes, and of score sets, against rows that are drawn anew."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.special import expit, logit

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.reference import BINARY, MULTICLASS, log_of

LIMITS = pl.selectors.ends_with("_ci_low", "_ci_high", "small", "nec_kinked")
LOG = (np.log, np.exp)
SCALES = {"nec": LOG, "nce": LOG, "nbs": LOG, "cross_entropy": LOG, "brier": LOG, "mcc": (np.arctanh, np.tanh)}


def make_log(n_classes: int, n: int, seed: int = 0, groups: int = 1) -> pl.DataFrame:
    """Classes of different sizes, decided with errors; users have an own kind of error."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    y = rng.choice(n_classes, n, p=share)
    user = rng.integers(0, 300, n)
    z = rng.normal(size=(n, n_classes)) + rng.normal(size=(300, n_classes))[user] * 0.5
    z[np.arange(n), y] += 1.5
    q = np.exp(z)
    q /= q.sum(axis=1, keepdims=True)
    vector = pl.Series(q, dtype=pl.Array(pl.Float64, n_classes))
    columns = {"g": rng.integers(0, groups, n), "y": y, "user": user, "w": rng.random(n) + 0.5}
    return pl.DataFrame(columns).with_columns(q=vector, d=pl.Series(q.argmax(axis=1)))


def standard_error(report: pl.DataFrame, name: str, df: float = np.inf) -> float:
    """The standard error of the metric, from its bounds on its scale."""
    forward, inverse = SCALES.get(name, (logit, expit))
    low, high = (float(forward(end)) for end in report.select(f"{name}_ci_low", f"{name}_ci_high").row(0))
    middle = (low + high) / 2
    slope = (inverse(middle + 1e-6) - inverse(middle - 1e-6)) / 2e-6
    return float((high - low) / 2 / stats.t.ppf(0.975, df) * slope)


# Many classes.


def test_macro_averages_of_few_decisions_have_no_limits() -> None:
    """One class has 14 decisions, all of them right: weights count by their effective number."""
    cells = [(0, 0, 300), (1, 1, 200), (1, 0, 40), (2, 2, 14), (2, 0, 26)]
    log = pl.DataFrame(cells, schema=["y", "d", "n"], orient="row").select(pl.col("y", "d").repeat_by("n").explode())
    names = ["macro_precision", "macro_f1", "macro_recall", "accuracy"]
    given = {"score_type": "decision", "classes": [0, 1, 2], "interval": 0.95, "prior": "uniform", "metrics": names}
    one_more = pl.concat([log, pl.DataFrame({"y": [2], "d": [2]})])
    one_of_weight = one_more.with_columns(w=pl.when(pl.int_range(pl.len()) == 580).then(9.0).otherwise(1.0))
    for rows, known in ((log, False), (one_more, True), (one_of_weight.with_columns(weight="w"), False)):
        weight = {"weight": "w"} if "w" in rows.columns else {}
        report = rows.ec.report("d", "y", **given, **weight)
        shown = report.select(pl.col("^macro_precision.*_ci_.*$").is_not_null()).row(0)
        assert shown == (known,) * 4
        others = report.select(pl.col("^(macro_f1|macro_recall|accuracy).*_ci_.*$").is_not_null()).row(0)
        assert all(others)
    without = log.filter(~pl.int_range(pl.len()).is_between(544, 553)).ec.report("d", "y", **given)
    assert without.select(pl.col("^macro_f1.*_ci_.*$").is_null()).row(0) == (True,) * 4


@pytest.mark.quick("options2")
@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"weight": "w", "cluster": "user", "prior": "uniform"}])
def test_classes_in_columns_and_in_lists_have_the_same_limits(options: dict[str, Any]) -> None:
    """Decisions for three classes are counted in columns, and posteriors are read by the kernel."""
    log = make_log(3, 1500, groups=2)
    names = ["nec", "accuracy", "macro_f1", "class_precision", "class_recall", "mcc", "balanced_error_rate"]
    given = {"by": "g", "interval": 0.95, "metrics": names, **options}
    of_decisions = log.ec.report("d", "y", score_type="decision", classes=[0, 1, 2], **given)
    of_posteriors = log.ec.report("q", "y", **given)
    assert_frame_equal(of_posteriors.select(LIMITS), of_decisions.select(LIMITS), rel_tol=1e-9)
    assert of_decisions.select(LIMITS).null_count().sum_horizontal().item() == 0


@pytest.mark.quick("6-*")
@pytest.mark.parametrize(
    ("n_classes", "options"),
    mostly_slow(
        product([3, 6], [{}, {"cluster": "user"}, {"weight": "w"}]),
        [(3, {}), (3, {"cluster": "user"}), (6, {"weight": "w"})],
    ),
    ids=str,
)
def test_a_class_against_the_rest_is_a_report_of_two(n_classes: int, options: dict[str, Any]) -> None:
    log = make_log(n_classes, 1500, groups=2)
    given = {"by": "g", "interval": 0.95, "metrics": ["nec", "precision", "recall", "f1", "mcc"], **options}
    classes = list(range(n_classes))
    report = log.ec.report("d", "y", score_type="decision", classes=classes, per_class=True, **given)
    for k in classes:
        two = log.with_columns(pl.col("d", "y") == k).ec.report("d", "y", score_type="decision", **given)
        found = report.filter(pl.col("class") == k)
        assert_frame_equal(found.select(LIMITS), two.select(LIMITS), rel_tol=1e-9)


def test_a_class_against_the_rest_at_a_prior_of_its_own_has_its_limits() -> None:
    """Bounds are the same with classes in columns and in lists, and hold the value."""
    log = make_log(3, 1500)
    given = {"interval": 0.95, "per_class": True, "cluster": "user", "prior": [0.2, 0.3, 0.5]}
    in_columns = log.ec.report("d", "y", score_type="decision", classes=[0, 1, 2], **given)
    in_lists = log.ec.report("q", "y", **given)
    assert_frame_equal(in_lists.select(LIMITS), in_columns.select(LIMITS), rel_tol=1e-9)
    ends = in_columns.select("precision_at_prior_ci_low", "precision_at_prior", "precision_at_prior_ci_high").rows()
    assert all(low < value < high for low, value, high in ends)


@pytest.mark.slow
def test_models_of_many_classes_have_the_limits_of_each() -> None:
    log = make_log(5, 1500, groups=2)
    log = log.with_columns(other=pl.Series(log["q"].to_numpy()[::-1].copy(), dtype=pl.Array(pl.Float64, 5)))
    options = {"by": "g", "interval": 0.95, "cluster": "user", "prior": "overall", "weight": "w", "total": True}
    both = log.ec.report(["q", "other"], "y", **options)
    for score in ("q", "other"):
        alone = log.ec.report(score, "y", **options)
        assert_frame_equal(both.filter(score=score).drop("score"), alone, rel_tol=1e-9)
    assert both.select(LIMITS).null_count().sum_horizontal().item() == 0


def macro_f1(cells: np.ndarray) -> np.ndarray:
    hits = np.einsum("...ii->...i", cells)
    return (2 * hits / (cells.sum(axis=-1) + cells.sum(axis=-2))).mean(axis=-1)


def nec(cells: np.ndarray) -> np.ndarray:
    n, of_class = cells.sum(axis=(-2, -1)), cells.sum(axis=-1)
    return (n - np.einsum("...ii->...", cells)) / (n - of_class.max(axis=-1))


def mcc(cells: np.ndarray) -> np.ndarray:
    n, t, p = cells.sum(axis=(-2, -1)), cells.sum(axis=-1), cells.sum(axis=-2)
    hits = np.einsum("...ii->...", cells)
    return (hits * n - (t * p).sum(axis=-1)) / np.sqrt((n**2 - (t**2).sum(-1)) * (n**2 - (p**2).sum(-1)))


def accuracy(cells: np.ndarray) -> np.ndarray:
    return np.einsum("...ii->...", cells) / cells.sum(axis=(-2, -1))


FORMULAS = {"macro_f1": macro_f1, "nec": nec, "mcc": mcc, "accuracy": accuracy}


def drawn_cells(log: pl.DataFrame, n_classes: int, draws: int, seed: int) -> np.ndarray:
    """Confusion matrices of rows drawn anew, exactly: the counts are multinomial."""
    cells = np.bincount(log["y"].to_numpy() * n_classes + log["d"].to_numpy(), minlength=n_classes**2)
    drawn = np.random.default_rng(seed).multinomial(len(log), cells / len(log), draws)
    return drawn.reshape(draws, n_classes, n_classes).astype(float)


@pytest.mark.quick("5-0.03")
@pytest.mark.parametrize(("n_classes", "tolerance"), [(5, 0.03), (20, 0.08)])
def test_standard_errors_of_classes_are_those_of_rows_drawn_anew(n_classes: int, tolerance: float) -> None:
    """Parts are left out for 20 classes: one seed of a hundred parts has a standard error within 7 %, so several are averaged."""
    log = make_log(n_classes, 20_000)
    drawn = drawn_cells(log, n_classes, 4_000, seed=1)
    seeds, df = (range(1), np.inf) if n_classes == 5 else (range(16), 99)
    reports = [log.ec.report("q", "y", interval=0.95, metrics=[*FORMULAS], seed=seed) for seed in seeds]
    for name, formula in FORMULAS.items():
        found = np.sqrt(np.mean([standard_error(report, name, df) ** 2 for report in reports]))
        assert found == pytest.approx(formula(drawn).std(), rel=tolerance), name


@pytest.mark.quick("5")
@pytest.mark.parametrize("n_classes", [5, 20])
def test_standard_errors_of_clusters_of_classes(n_classes: int) -> None:
    """One bucket after the other is left out, with as many buckets as clusters, which is written out here."""
    log = make_log(n_classes, 6_000).with_columns(key=pl.col("user") % 60)
    given = {"interval": 0.95, "cluster": "key", "metrics": [*FORMULAS]}
    report = log.ec.report("q", "y", **given)
    bucket = log.select(ec.bucket("key")).to_series().to_numpy()
    cells = np.zeros((100, n_classes, n_classes))
    np.add.at(cells, (bucket, log["y"].to_numpy(), log["d"].to_numpy()), 1)
    cells = cells[cells.sum(axis=(1, 2)) > 0]
    k = len(cells)
    sizes = cells.sum(axis=(1, 2))
    df = sizes.sum() ** 2 / (sizes**2).sum() - 1
    for name, formula in FORMULAS.items():
        left = formula(cells.sum(axis=0) - cells)
        se = np.sqrt((k - 1) / k * ((left - left.mean()) ** 2).sum())
        found = standard_error(report, name, df)
        assert found == pytest.approx(se, rel=1e-6 if n_classes == 20 else 0.01), name


def test_parts_of_a_group_are_those_that_it_has_alone() -> None:
    log = make_log(16, 4_000, groups=3)
    given = {"interval": 0.95, "metrics": ["nec", "macro_f1", "class_recall"]}
    together = log.ec.report("q", "y", by="g", **given)
    for g in range(3):
        shuffled = log.filter(g=g).sample(fraction=1, shuffle=True, seed=g)
        assert_frame_equal(shuffled.ec.report("q", "y", by="g", **given), together.filter(g=g), rel_tol=1e-12)


@pytest.mark.quick("user")
@pytest.mark.parametrize("cluster", [None, "user"])
def test_a_rate_of_1_of_many_classes_has_the_width_of_one_of_few(cluster: str | None) -> None:
    """As far from 1 as a share of which so many rows had no other value, by the binomial distribution, at least."""
    log = (
        make_log(20, 8_000).filter(pl.col("d") != 19).with_columns(d=pl.when(pl.col("y") == 19).then(19).otherwise("d"))
    )
    given = {"score_type": "decision", "classes": list(range(20)), "interval": 0.95, "cluster": cluster}
    report = log.ec.report("d", "y", metrics=["class_recall", "class_precision"], **given)
    two = log.with_columns(pl.col("d", "y") == 19)
    of_two = two.ec.report("d", "y", score_type="decision", metrics=["recall"], interval=0.95, cluster=cluster)
    n = log["y"].eq(19).sum()
    for name in ("class_recall", "class_precision"):
        low, value, high = (report[f"{name}{end}"].item()[19] for end in ("_ci_low", "", "_ci_high"))
        assert value == high == 1
        assert of_two["recall_ci_low"].item() - 0.02 < low <= 0.025 ** (1 / n)


def test_a_cluster_of_nearly_all_rows_of_many_classes_leaves_few_degrees_of_freedom() -> None:
    log = make_log(20, 4_000).with_row_index("id")
    log = log.with_columns(key=pl.when(pl.col("id") % 10 > 0).then(0).otherwise("id"))
    row = log.ec.report("q", "y", interval=0.95, cluster="key", metrics=["accuracy"]).row(0, named=True)
    bucket = log.select(ec.bucket("key"))["bucket"].to_numpy()
    right = (log["y"] == log["d"]).to_numpy()
    left = np.array([right[bucket != b].mean() for b in np.unique(bucket)])
    se = np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())
    # Less than one: t is 12.7.
    width = logit(row["accuracy_ci_high"]) - logit(row["accuracy_ci_low"])
    assert width == pytest.approx(2 * 12.706 * se / (right.mean() * (1 - right.mean())), rel=1e-4)


def test_losses_of_many_classes_without_a_key_have_no_limits() -> None:
    """No part of the rows has them; as if they did not vary, limits would be too close."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 105
    q = pl.Series(rng.dirichlet(np.ones(105), 1000), dtype=pl.Array(pl.Float64, 105))
    log = pl.DataFrame({"y": y, "user": np.arange(1000) % 200}).with_columns(q=q)
    for key, known in ((pl.col("user"), True), (pl.when(pl.col("user") > 100).then("user"), False)):
        row = log.ec.report("q", "y", interval=0.95, cluster=key, metrics=["cross_entropy"]).row(0, named=True)
        assert (row["cross_entropy_ci_low"] is not None) == known


def test_so_many_classes_that_there_are_no_limits() -> None:
    """Losses of more than a hundred classes have no bounds, and decisions of more than 200."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(250), 600)
    y = np.arange(600) % 250
    log = pl.DataFrame({"y": y}).with_columns(q=pl.Series(q, dtype=pl.Array(pl.Float64, 250)))
    row = log.ec.report("q", "y", interval=0.95, metrics=["nec", "nce"]).row(0, named=True)
    assert row["nec"] is not None
    assert [row[f"{name}_ci_{end}"] for name in ("nec", "nce") for end in ("low", "high")] == [None] * 4


# Score sets.


def standard_errors(name: str, draws: int) -> tuple[list[tuple[str, float, float]], float]:
    """The standard errors of a report and of resampled rows of a score set, and how near they are to be."""
    log = log_of(name).with_columns(y=pl.col("label").cast(pl.Int64))
    binary = name in BINARY
    score, score_type = ("posterior", "posterior") if binary else ("log_posteriors", "log_posteriors")
    frame = log.select(pl.col(score).alias("p"), "y")
    names = [
        "nec",
        "accuracy",
        "cross_entropy",
        "nce",
        "nbs",
        *(["recall", "precision", "f1", "mcc"] if binary else ["macro_f1"]),
    ]
    report = frame.ec.report("p", "y", score_type=score_type, interval=0.95, metrics=names)
    y = frame["y"].to_numpy()
    k = int(y.max()) + 1
    rows = frame.select(
        d=ec.bayes_decision("p", score_type=score_type).cast(pl.Int64),
        log_loss=ec.row_log_loss("p", "y", score_type=score_type, **({} if binary else {"classes": list(range(k))})),
        brier=ec.row_brier("p", "y", score_type=score_type, **({} if binary else {"classes": list(range(k))})),
    )
    d, log_loss, brier = (rows[column].to_numpy() for column in ("d", "log_loss", "brier"))
    rng = np.random.default_rng(0)
    found: dict[str, list[np.ndarray]] = {}
    for _ in range(draws // 100):
        times = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), 100).astype(float)
        place = y * k + d
        cells = np.stack([times @ (place == c) for c in range(k * k)], axis=1).reshape(-1, k, k)
        share = cells.sum(axis=2) / len(y)
        with np.errstate(all="ignore"):
            values = {
                **{metric: formula(cells) for metric, formula in FORMULAS.items()},
                "recall": cells[:, 1, 1] / cells[:, 1].sum(axis=1),
                "precision": cells[:, 1, 1] / cells[:, :, 1].sum(axis=1),
                "f1": 2 * cells[:, 1, 1] / (cells[:, 1].sum(axis=1) + cells[:, :, 1].sum(axis=1)),
                "cross_entropy": times @ log_loss / len(y),
                "nce": times @ log_loss / len(y) / -(share * np.log(share)).sum(axis=1),
                "nbs": times @ brier / len(y) / ((share * (1 - share)).sum(axis=1) / k),
            }
        for metric in names:
            found.setdefault(metric, []).append(values[metric])
    smallest = np.bincount(y).min()
    # Beside the kink the two are not to agree; and half rows are seen where fewer than ten rows are decided so.
    compared = [name for name in names if name != "nec" or not report["nec_kinked"].item()]
    if binary and np.bincount(y * 2 + d, minlength=4).min() < 10:
        compared = [name for name in compared if name in ("accuracy", "cross_entropy", "nce", "nbs")]
    errors = [(name, standard_error(report, name), float(np.concatenate(found[name]).std())) for name in compared]
    return errors, 0.03 if smallest >= 500 else 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draws"),
    [("pneumoniamnist_resnet50", 1_000), *(pytest.param(name, 20_000, marks=pytest.mark.slow) for name in BINARY)],
)
def test_standard_errors_of_score_sets(name: str, draws: int) -> None:
    errors, tolerance = standard_errors(name, draws)
    # What so many draws tell of a standard error.
    noise = 3 / np.sqrt(2 * draws) if draws < 20_000 else 0.0
    for metric, found, expected in errors:
        assert found == pytest.approx(expected, rel=tolerance + noise), metric


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTICLASS)
def test_standard_errors_of_score_sets_of_many_classes(name: str) -> None:
    errors, tolerance = standard_errors(name, 20_000)
    for metric, found, expected in errors:
        assert found == pytest.approx(expected, rel=tolerance), metric


def test_limits_hold_the_truth_where_classes_are_many() -> None:
    """A row more in each class must not move what is estimated: with twelve classes that was 2.5 standard errors."""
    rng = np.random.default_rng(0)
    n_classes, n, groups, right = 12, 300, 200, 0.9
    y = rng.integers(0, n_classes, (groups, n))
    d = np.where(rng.random((groups, n)) < right, y, (y + 1 + rng.integers(0, n_classes - 1, (groups, n))) % n_classes)
    log = pl.DataFrame({"g": np.repeat(np.arange(groups), n), "y": y.ravel(), "d": d.ravel()})
    options: dict[str, Any] = {"by": "g", "interval": 0.95, "classes": [*range(n_classes)], "score_type": "decision"}
    report = log.ec.report("d", "y", metrics=["accuracy", "macro_recall"], **options)
    for name in ("accuracy", "macro_recall"):
        held = report.select(pl.lit(right).is_between(f"{name}_ci_low", f"{name}_ci_high").mean()).item()
        # Two hundred groups: 95 % less three Monte Carlo errors.
        assert held > 0.90, name


@pytest.mark.quick("0", "3", "30")
@pytest.mark.parametrize("wrong", [0, 1, 3, 12, 30])
def test_limits_of_an_accuracy_of_many_classes_are_about_those_of_a_share(wrong: int) -> None:
    """Ten classes have 30 rows each; where none is wrong, the accuracy is 1 but for rounding."""
    y = np.arange(300) % 10
    d = np.where(np.arange(300) < wrong, (y + 1 + np.arange(300) // 10) % 10, y)
    options: dict[str, Any] = {"interval": 0.95, "score_type": "decision", "classes": [*range(10)]}
    report = pl.DataFrame({"y": y, "d": d}).ec.report("d", "y", metrics=["accuracy"], **options)
    low, high = report.select("accuracy_ci_low", "accuracy_ci_high").row(0)
    exact = stats.binomtest(300 - wrong, 300).proportion_ci(0.95, "exact")
    assert exact.low - 0.04 < low < exact.low + 0.005
    assert abs(high - exact.high) < 0.005


@pytest.mark.quick("clusters")
@pytest.mark.parametrize("options", [{}, {"cluster": pl.int_range(pl.len()) // 6}], ids=["rows", "clusters"])
def test_rates_of_1_of_so_many_classes_that_parts_are_left_out(options: dict[str, Any]) -> None:
    """Parts of the rows are all right too, which says nothing of the width; limits are about those of a share all the same."""
    y = np.arange(600) % 20
    given: dict[str, Any] = {"interval": 0.95, "score_type": "decision", "classes": [*range(20)], **options}
    for wrong in (0, 3):
        d = np.where(np.arange(600) < wrong, (y + 1) % 20, y)
        report = pl.DataFrame({"y": y, "d": d}).ec.report("d", "y", metrics=["accuracy", "class_recall"], **given)
        lows = report["class_recall_ci_low"][0].to_numpy()
        # 30 rows of a class; one wrong, or none. Of clusters there are as few as three for each class.
        for of_class, errors in () if options else ((lows[:wrong], 1), (lows[wrong:], 0)):
            exact = stats.binomtest(30 - errors, 30).proportion_ci(0.95, "exact").low
            assert np.all((of_class > exact - 0.15) & (of_class < exact + 0.04)), (wrong, of_class)
        exact = stats.binomtest(600 - wrong, 600).proportion_ci(0.95, "exact").low
        assert exact - (0.25 if options else 0.03) < report["accuracy_ci_low"].item() < exact
