"""Many classes: plans whose size does not grow with them, and the numbers of plain NumPy."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.scores import counted
from polars_ec.scores.scores import Decider, index_of
from tests.support.cases import mostly_slow
from tests.support.plans import assert_holds_cells_only, assert_streams

K, M, N = 40, 43, 2000

METRICS: dict[str, Callable[..., pl.Expr]] = {
    name: getattr(ec, name)
    for name in [
        "nec",
        "expected_cost",
        "bayes_risk",
        "error_rate",
        "accuracy",
        "balanced_error_rate",
        "balanced_accuracy",
        "class_precision",
        "class_recall",
        "class_f1",
        "class_nec",
        "macro_precision",
        "macro_f1",
        "f1_of_averages",
        "micro_precision",
        "micro_f1",
        "weighted_precision",
        "weighted_f1",
        "mcc",
        "cross_entropy",
        "nce",
        "brier",
        "nbs",
        "class_prior",
        "confusion",
        "n_rows",
        "n_missing",
        "n_invalid",
        "ece_mc",
        "macro_auc_roc",
        "weighted_auc_roc",
        "pairwise_auc_roc",
    ]
}


def vectors(n_classes: int, n: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(n, n_classes)), rng.integers(0, n_classes, n)
    logits[np.arange(n), labels] += 2
    posteriors = np.exp(logits)
    return posteriors / posteriors.sum(axis=1, keepdims=True), labels


def log_of(posteriors: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], groups: int = 3) -> pl.DataFrame:
    n, n_classes = posteriors.shape
    return pl.DataFrame(
        {
            "g": np.arange(n) % groups,
            "q": pl.Series(posteriors, dtype=pl.Array(pl.Float64, n_classes)),
            "y": labels,
            "w": 0.5 + (np.arange(n) % 7) / 3,
        }
    )


@pytest.mark.parametrize("name", mostly_slow(list(METRICS), ["nec", "nbs", "macro_f1", "mcc", "confusion", "n_rows"]))
def test_a_plan_is_of_the_same_size_whatever_the_number_of_classes(name: str) -> None:
    sizes = []
    for n_classes in (50, 400):
        log = log_of(np.full((2, n_classes), 1 / n_classes), np.array([0, 1]))
        sizes.append(len(log.lazy().group_by("g").agg(METRICS[name]("q", "y", weight="w")).explain()))
    # But for the digits of its numbers.
    assert sizes[1] <= sizes[0] * 1.05


@pytest.mark.parametrize("name", mostly_slow(list(METRICS), ["nec", "nce", "class_nec", "confusion"]))
def test_it_streams(name: str, tmp_path: Path) -> None:
    log_of(*vectors(K, 60)).write_parquet(tmp_path / "log.parquet")
    scan = pl.scan_parquet(tmp_path / "log.parquet")
    assert_streams(scan.group_by("g").agg(METRICS[name]("q", "y")))


def test_a_report_holds_cells_only(tmp_path: Path) -> None:
    log_of(*vectors(K, 60)).write_parquet(tmp_path / "log.parquet")
    scan = pl.scan_parquet(tmp_path / "log.parquet")
    assert_holds_cells_only(scan.ec.report("q", "y", by="g", prior="uniform"))
    assert_holds_cells_only(scan.ec.report("q", "y", by="g", prior="uniform", per_class=True))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("stated", [False, True])
def test_metrics_are_those_of_numpy(stated: bool, weight: str | None) -> None:
    posteriors, labels = vectors(K, N)
    costs = np.random.default_rng(1).uniform(0.1, 3, (K, M))
    log = log_of(posteriors, labels)
    prior = np.arange(1, K + 1) / np.arange(1, K + 1).sum() if stated else None
    options: dict[str, Any] = {"weight": weight, **({} if prior is None else {"prior": prior.tolist()})}
    names = ["nec", "error_rate", "macro_f1", "nce", "nbs", "confusion"]
    found = (
        log.group_by("g")
        .agg(METRICS[name]("q", "y", **_with_costs(name, options, costs)).alias(name) for name in names)
        .sort("g")
    )
    for g in range(3):
        rows = np.arange(N) % 3 == g
        q, y = posteriors[rows], labels[rows]
        w = log["w"].to_numpy()[rows] if weight else np.ones(len(y))
        counts = np.bincount(y, w, K)
        p = counts / counts.sum() if prior is None else prior
        row = (p / counts)[y] * w
        decided, top = (q @ costs).argmin(axis=1), q.argmax(axis=1)
        loss, error = -np.log(q[np.arange(len(y)), y]), q - np.eye(K)[y]
        hits, alarms = (np.bincount(top, row * (top == y), K), np.bincount(top, row * (top != y), K))
        cells = np.zeros((K, M))
        np.add.at(cells, (y, decided), w)
        expected = {
            "nec": (row * costs[y, decided]).sum() / (p @ costs).min(),
            "error_rate": (row * (top != y)).sum(),
            "macro_f1": (2 * hits / (p + hits + alarms)).mean(),
            "nce": (row * loss).sum() / -(p * np.log(p)).sum(),
            "nbs": (row * (error**2).sum(axis=1)).sum() / (p * (1 - p)).sum(),
            "confusion": cells,
        }
        for name in names:
            np.testing.assert_allclose(
                np.asarray(found[name][g].to_list() if name == "confusion" else found[name][g]),
                expected[name],
                rtol=1e-12,
            )


def _with_costs(name: str, options: dict[str, Any], costs: np.ndarray[Any, Any]) -> dict[str, Any]:
    if name == "confusion":
        return {"weight": options["weight"], "costs": costs}
    return {**options, "costs": costs} if name == "nec" else options


def test_the_report_has_what_the_metrics_have() -> None:
    posteriors, labels = vectors(K, N)
    log = log_of(posteriors, labels)
    costs = np.random.default_rng(1).uniform(0.1, 3, (K, M))
    report = log.ec.report("q", "y", by="g", costs=costs, prior="uniform", total=True)
    decided = (posteriors @ costs).argmin(axis=1)
    for row in report.iter_rows(named=True):
        rows = np.ones(N, dtype=bool) if row["total"] else np.arange(N) % 3 == row["g"]
        y, cost = labels[rows], costs[labels[rows], decided[rows]]
        counts = np.bincount(y, minlength=K)
        assert row["n"] == rows.sum()
        assert row["nec"] == pytest.approx(cost.mean() / (counts @ costs / len(y)).min(), rel=1e-12)
        even = np.bincount(y, cost, K) / counts
        assert row["nec_at_prior"] == pytest.approx(even.mean() / costs.mean(axis=0).min(), rel=1e-12)
        assert np.array(row["confusion"]).sum() == rows.sum()


@pytest.mark.parametrize("dtype", ["Array", "List", "Struct"])
def test_a_null_leaves_a_row_out_and_a_wrong_row_makes_the_group_null(dtype: str) -> None:
    posteriors, labels = vectors(K, 40)
    values: list[Any] = [list(map(float, row)) for row in posteriors]
    values[0][3] = None
    values[1] = None
    values[5][2] = float("nan")
    y = [None if i == 3 else K if i == 7 else int(label) for i, label in enumerate(labels)]
    vector = {
        "Array": lambda: pl.Series(values, dtype=pl.Array(pl.Float64, K)),
        "List": lambda: pl.Series([*values[:39], [0.5, 0.5]], dtype=pl.List(pl.Float64)),
        "Struct": lambda: pl.DataFrame(
            {f"c{k}": [None if row is None else row[k] for row in values] for k in range(K)}
        ).to_struct(),
    }[dtype]()
    log = pl.DataFrame({"g": np.arange(40) // 4, "q": vector, "y": y})
    classes = list(range(K)) if dtype == "List" else None
    table = log.group_by("g").agg(
        ec.error_rate("q", "y", classes=classes).alias("error_rate"),
        ec.n_missing("q", "y", classes=classes).alias("missing"),
        ec.n_invalid("q", "y", classes=classes).alias("invalid"),
    )
    table = table.sort("g")
    last = 1 if dtype == "List" else 0
    assert table["missing"].to_list() == [3, *[0] * 9]
    assert table["invalid"].to_list() == [0, 2, *[0] * 7, last]
    right = posteriors.argmax(axis=1) == labels
    wrong = [1 - right[4 * g : 4 * g + 4].mean() for g in range(10)]
    wrong[0] = 1.0 - right[2]
    expected = [None if g == 1 or (g == 9 and last) else share for g, share in enumerate(wrong)]
    assert table["error_rate"].to_list() == pytest.approx(expected)


def test_of_equal_decisions_the_first_is_taken() -> None:
    """By exact arithmetic: posteriors are eighths and costs small whole numbers, so that many decisions tie."""
    rng = np.random.default_rng(2)
    n_classes, n_decisions = 8, 11
    parts = rng.multinomial(8, np.ones(n_classes) / n_classes, size=300)
    costs = rng.integers(0, 3, (n_classes, n_decisions))
    exact = [
        [sum(Fraction(int(part), 8) * int(costs[i, j]) for i, part in enumerate(row)) for j in range(n_decisions)]
        for row in parts
    ]
    assert sum(row.count(min(row)) > 1 for row in exact) > 30
    log = pl.DataFrame({"q": pl.Series(parts / 8, dtype=pl.Array(pl.Float64, n_classes))})
    found = log.select(ec.bayes_decision("q", costs=costs.tolist())).to_series().to_list()
    assert found == [row.index(min(row)) for row in exact]


def test_equal_posteriors_decide_for_the_first_class_and_equal_columns_for_the_first_column() -> None:
    # Thirds and sevenths are not what a float holds: a sum in another order would break the tie.
    for n_classes in (6, 7, 30):
        log = pl.DataFrame(
            {"q": pl.Series(np.full((4, n_classes), 1 / n_classes), dtype=pl.Array(pl.Float64, n_classes))}
        )
        circle = [[float((j - i) % n_classes) for j in range(n_classes)] for i in range(n_classes)]
        # Python's sum() corrects its rounding from 3.12 on; sums of expressions, of SQL and of NumPy's arrays do not.
        in_order = [
            reduce(add, [(row[j] - (n_classes - 1)) * (1 / n_classes) for row in circle]) for j in range(n_classes)
        ]
        assert log.select(ec.bayes_decision("q")).to_series().to_list() == [0] * 4
        twice = [[0.3, 0.1, 0.1, 0.2]] * n_classes
        assert log.select(ec.bayes_decision("q", costs=twice)).to_series().to_list() == [1] * 4
        # All are the same but for rounding, by which the first of the least sums in the order of the classes is the decision.
        decided = log.select(ec.bayes_decision("q", costs=circle)).to_series().to_list()
        assert decided == [in_order.index(min(in_order))] * 4


class RoundedAtWill(np.ndarray[Any, np.dtype[Any]]):
    """An array whose products of matrices are off by as much as any order of summation may make them."""

    def __matmul__(self, other: Any) -> Any:
        product = np.asarray(self) @ other
        bound = len(other) * np.finfo(float).eps * np.abs(other).max()
        return product + np.random.default_rng(5).uniform(-bound, bound, product.shape)


@pytest.mark.parametrize("n_classes", [6, 30, 300])
def test_no_decision_hangs_on_how_a_product_of_matrices_rounds(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    circle = (np.arange(n_classes)[None, :] - np.arange(n_classes)[:, None]) % n_classes * 1.0
    shares = random.integers(1, 3, (20, n_classes)).astype(float)
    shares[0] = 1
    shares /= shares.sum(axis=1, keepdims=True)
    below = circle - circle.max(axis=1, keepdims=True)
    in_order = np.cumsum(shares[:, :, None] * below, axis=1)[:, -1].argmin(axis=1)
    decider = Decider(ec.CostMatrix(circle.tolist()))
    assert decider.decide(shares.view(RoundedAtWill)).tolist() == in_order.tolist()
    for rows in (1, 3, 20):
        blocks = [decider.decide(shares[start : start + rows]) for start in range(0, 20, rows)]
        assert np.concatenate(blocks).tolist() == in_order.tolist()
    assert decider.decide(np.asfortranarray(shares)).tolist() == in_order.tolist()


def test_a_thousand_classes() -> None:
    posteriors, labels = vectors(1000, 300)
    log = log_of(posteriors, labels, groups=1)
    value = log.select(ec.cross_entropy("q", "y")).item()
    assert value == pytest.approx(-np.log(posteriors[np.arange(300), labels]).mean(), rel=1e-12)
    assert log.select(ec.accuracy("q", "y")).item() == pytest.approx((posteriors.argmax(axis=1) == labels).mean())


def test_string_labels_and_log_likelihoods_of_many_classes() -> None:
    posteriors, labels = vectors(K, 200)
    names = [f"class {k}" for k in range(K)]
    log = pl.DataFrame(
        {
            "x": pl.Series(np.log(posteriors) + 5, dtype=pl.Array(pl.Float64, K)),
            "y": pl.Series([names[label] for label in labels]),
        }
    )
    prior = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    moved = posteriors * prior
    moved /= moved.sum(axis=1, keepdims=True)
    counts = np.bincount(labels, minlength=K)
    loss = np.bincount(labels, -np.log(moved[np.arange(200), labels]), K)
    options: dict[str, Any] = {
        "score_type": "log_likelihoods",
        "classes": names,
        "prior": dict(zip(names, prior.tolist(), strict=True)),
    }
    expected = (prior * loss / counts).sum() if counts.all() else None
    assert log.select(ec.cross_entropy("x", "y", **options)).item() == (
        None if expected is None else pytest.approx(expected, rel=1e-12)
    )
    decided = log.select(ec.bayes_decision("x", score_type="log_likelihoods", prior=prior.tolist())).to_series()
    assert decided.to_list() == moved.argmax(axis=1).tolist()


def test_a_shifted_prior_of_many_classes() -> None:
    posteriors, _ = vectors(K, 50)
    target = np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    log = pl.DataFrame({"q": pl.Series(posteriors, dtype=pl.Array(pl.Float64, K))})
    found = log.select(ec.shift_prior("q", "uniform", target.tolist())).to_series().to_numpy()
    expected = posteriors * target
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_report_by_part_keeps_its_weights_and_loses_rows_with_any_null() -> None:
    posteriors, labels = vectors(K, 400)
    values: list[Any] = [list(map(float, row)) for row in posteriors]
    # A null beside the true class: the row is missing, and its loss with it.
    values[0][(labels[0] + 1) % K] = None
    log = log_of(posteriors, labels, groups=1).with_columns(q=pl.Series(values, dtype=pl.Array(pl.Float64, K)))
    row = log.ec.report("q", "y", weight="w", metrics=["nce", "confusion"], missing="by_part").row(0, named=True)
    q, y, w = posteriors[1:], labels[1:], log["w"].to_numpy()[1:]
    p = np.bincount(y, w, K) / w.sum()
    loss = (w * -np.log(q[np.arange(399), y])).sum() / w.sum()
    assert row["nce"] == pytest.approx(loss / -(p[p > 0] * np.log(p[p > 0])).sum(), rel=1e-12)
    assert np.array(row["confusion"]).sum() == pytest.approx(w.sum(), rel=1e-12)
    assert (row["n_missing_label"], row["n_missing_score"], row["n_missing_weight"]) == (0, 1, 0)


def test_the_overall_prior_of_log_likelihoods_of_many_classes() -> None:
    posteriors, labels = vectors(6, 300)
    log = log_of(np.log(posteriors), labels, groups=1)
    row = log.ec.report("q", "y", prior="overall", score_type="log_likelihoods", metrics=["accuracy"]).row(
        0, named=True
    )
    decided = (posteriors * np.bincount(labels, minlength=6)).argmax(axis=1)
    assert row["accuracy"] == pytest.approx((decided == labels).mean(), rel=1e-12)
    counts = log.select(ec.n_rows("q", "y", score_type="log_likelihoods"))
    assert counts.item() == 300


def test_a_row_of_weight_0_is_no_row_also_where_its_loss_is_infinite() -> None:
    log = log_of(*vectors(6, 60))
    lost = pl.DataFrame({"g": [0], "q": [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]], "y": [0], "w": [0.0]}, schema=log.schema)
    values = [METRICS[name]("q", "y", weight="w") for name in ("cross_entropy", "brier", "n_rows")]
    *losses, n_rows = log.select(values).row(0)
    assert pl.concat([log, lost]).select(values).row(0) == (*map(pytest.approx, losses), n_rows + 1)
    assert pl.concat([log, lost]).select(ec.cross_entropy("q", "y")).item() == math.inf


def against_rest(counts: np.ndarray[Any, Any]) -> dict[str, list[float]]:
    """The counts for each class against the rest, by sums of the cells of the confusion matrix."""
    n = len(counts)
    masks = [np.arange(n) == k for k in range(n)]
    return {
        "tp": [counts[k, k] for k in range(n)],
        "fn": [counts[m][:, ~m].sum() for m in masks],
        "fp": [counts[~m][:, m].sum() for m in masks],
        "tn": [counts[~m][:, ~m].sum() for m in masks],
    }


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("decided", [False, True])
def test_a_report_of_each_of_many_classes(decided: bool, weight: str | None) -> None:
    n_classes = 100
    posteriors, labels = vectors(n_classes, N)
    # A class that is never decided has no precision.
    posteriors[:, 7] /= 1e9
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    log = log_of(posteriors, labels).with_columns(d=posteriors.argmax(axis=1))
    prior = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    names = ["recall", "precision", "error_rate"]
    options = {"score_type": "decision", "classes": list(range(n_classes))} if decided else {}
    table = log.ec.report(
        "d" if decided else "q",
        "y",
        by="g",
        metrics=["confusion", *names],
        prior=prior.tolist(),
        weight=weight,
        per_class=True,
        total=True,
        **options,
    )
    assert table["class"].to_list() == [*range(n_classes)] * 4
    assert table["tp"].dtype == (pl.Int64 if weight is None else pl.Float64)
    for g in (0, None):
        rows = np.ones(N, dtype=bool) if g is None else np.arange(N) % 3 == g
        w = log["w"].to_numpy()[rows] if weight else np.ones(rows.sum())
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts, (labels[rows], posteriors[rows].argmax(axis=1)), w)
        assert counts.sum(axis=1).all()
        found = table.filter(pl.col("g").eq_missing(g))
        for name, values in against_rest(counts).items():
            np.testing.assert_allclose(found[name].to_numpy(), values, rtol=1e-12)
        masses = against_rest(counts / counts.sum(axis=1, keepdims=True) * prior[:, None])
        tp, fp, fn = (np.array(masses[name]) for name in ("tp", "fp", "fn"))
        kept = tp + fp > 0
        assert not kept[7]
        precision = found["precision_at_prior"]
        assert precision.is_null().to_list() == (~kept).tolist()
        np.testing.assert_allclose(precision.to_numpy()[kept], tp[kept] / (tp + fp)[kept], rtol=1e-12)
        np.testing.assert_allclose(found["error_rate_at_prior"].to_numpy(), fp + fn, rtol=1e-12)


def test_decisions_between_many_classes_are_reported_as_their_confusion() -> None:
    posteriors, labels = vectors(100, N)
    log = log_of(posteriors, labels, groups=1).with_columns(d=posteriors.argmax(axis=1))
    row = log.ec.report(
        "d", "y", metrics=["confusion", "error_rate"], score_type="decision", classes=list(range(100))
    ).row(0, named=True)
    counts = np.zeros((100, 100), dtype=int)
    np.add.at(counts, (labels, posteriors.argmax(axis=1)), 1)
    assert (np.array(row["confusion"]) == counts).all()
    assert row["error_rate"] == pytest.approx(1 - np.trace(counts) / N, rel=1e-12)


def test_the_classes_of_models_of_other_numbers_of_classes() -> None:
    log = pl.DataFrame({f"q{k}": log_of(*vectors(k, 50))["q"] for k in (2, 5, 6)}).with_columns(
        y=pl.Series(vectors(5, 50)[1])
    )
    table = log.ec.report(["q5", "q6"], "y", per_class=True, metrics=["recall"])
    assert table.select("score", "class").rows() == [(f"q{n}", k) for n in (5, 6) for k in range(n)]
    for n in (5, 6):
        decided = log[f"q{n}"].to_numpy().argmax(axis=1)
        expected = [(decided[log["y"] == k] == k).mean() for k in range(5)]
        assert table.filter(score=f"q{n}")["recall"][:5].to_list() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="'q2' of 2, 'q5' of 5: make one report for each number of classes"):
        log.ec.report(["q2", "q5"], "y")


def test_posteriors_as_far_from_one_as_may_be_are_judged_alike_for_few_and_many_classes() -> None:
    # Summed in class order these are 1 + 1e-6 at most; in another order one rounding more.
    q = [0.007235399050176438, 0.011962482686506118, 0.5377572151653155, 0.04839712901278862, 0.0]
    q += [0.0027539945323416665, 0.3856013089658832, 0.0062924705869885165, 1e-06]
    assert np.cumsum(q)[-1] - 1 <= 1e-6
    log = pl.DataFrame({"q": pl.Series([q], dtype=pl.Array(pl.Float64, 9)), "y": [2]})
    assert log.select(ec.cross_entropy("q", "y")).item() == pytest.approx(-np.log(q[2]), rel=1e-12)


@pytest.mark.parametrize("name", ["nec", "class_f1", "class_prior", "confusion", "ece_mc"])
def test_groups_without_rows_between_others(name: str) -> None:
    log = log_of(*vectors(5, 60), groups=4).with_columns(i=pl.int_range(60))
    metric = METRICS[name]
    mask = pl.col("g") % 2 == 0
    filtered = log.group_by("g").agg(metric(pl.col("q").filter(mask), pl.col("y").filter(mask)).alias("v")).sort("g")
    own = log.group_by("g").agg(metric("q", "y").alias("v")).sort("g")
    for group in range(4):
        found, expected = filtered["v"][group], own["v"][group]
        if group % 2 == 0:
            assert pl.Series([found]).equals(pl.Series([expected]))
        else:
            nothing = log[:0].select(metric("q", "y").alias("v"))["v"][0]
            assert pl.Series([found], dtype=filtered["v"].dtype).equals(pl.Series([nothing], dtype=filtered["v"].dtype))
    rolled = log.rolling("i", period="20i", offset="-30i").agg(metric("q", "y").alias("v"))
    window = log[:20].select(metric("q", "y").alias("v"))["v"]
    # The window of the row 29 begins after that of the row -1.
    assert rolled["v"][29:30].equals(window, check_names=False)
    assert log[:0].select(METRICS["ece_mc"]("q", "y", equal_mass=True)).item() is None


@pytest.mark.parametrize(
    "n_classes", [5, pytest.param(12, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.slow)]
)
def test_windows_that_share_rows_are_counted_some_after_the_others(
    n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "_ROWS_AT_ONCE", 100)
    posteriors, labels = vectors(n_classes, 200)
    log = log_of(posteriors, labels).with_columns(i=pl.int_range(200))
    rolled = log.rolling("i", period="70i").agg(
        ec.accuracy("q", "y"), ec.cross_entropy("q", "y"), ec.class_prior("q", "y")
    )
    right, loss = posteriors.argmax(axis=1) == labels, -np.log(posteriors[np.arange(200), labels])
    for row, (_, accuracy, cross_entropy, shares) in zip(range(200), rolled.iter_rows(), strict=True):
        window = slice(max(row - 69, 0), row + 1)
        assert accuracy == pytest.approx(right[window].mean(), rel=1e-12)
        assert cross_entropy == pytest.approx(loss[window].mean(), rel=1e-12)
        counts = np.bincount(labels[window], minlength=n_classes)
        assert shares == pytest.approx(counts / counts.sum(), rel=1e-12)


_PEAK = """
import resource, sys
import numpy as np, polars as pl, polars_ec as ec

K, context = 5, sys.argv[1]
rng = np.random.default_rng(0)
q, y = rng.dirichlet(np.ones(K), 10_000), rng.integers(0, K, 10_000)
log = pl.DataFrame({"q": pl.Series(q, dtype=pl.Array(pl.Float64, K)), "y": y, "i": np.arange(10_000), "g": y % 4})
nec = ec.nec("q", "y")
log.head(10).rolling("i", period="5i").agg(nec)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if context == "over":
    log.lazy().with_columns(nec.over("g")).collect()
elif context == "streaming over":
    log.lazy().with_columns(nec.over("g")).collect(engine="streaming")
else:
    log.rolling("i", period="1000i").agg(nec)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / (2**20 if sys.platform == "darwin" else 2**10))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("context", "most"), [("over", 60), ("streaming over", 250), ("rolling", 120)])
def test_memory_of_rows_that_are_in_many_windows(context: str, most: float) -> None:
    # Every window has a list of its rows, and over() in the streaming engine gives every row the list of its group: these are small.
    run = [sys.executable, "-c", _PEAK, context]
    assert float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) < most


@pytest.mark.parametrize("n_classes", [3, 25])
@pytest.mark.parametrize("large", [(0.2, 0.1), (0.5, 0.5), (0.7, 0.1), (1 - 1e-12, 5e-13), (0.5000003, 0.5000002)])
def test_normalized_losses_are_divided_by_those_of_the_priors(large: tuple[float, float], n_classes: int) -> None:
    """Whichever class is the largest; also where two are above a half, as priors that sum to 1 but for rounding may be."""
    rng = np.random.default_rng(5)
    prior = np.array([*large, *[max(1 - sum(large), 0) / (n_classes - 2)] * (n_classes - 2)])
    prior = rng.permutation(prior)
    n = 4 * n_classes
    q = pl.Series(rng.dirichlet(np.ones(n_classes), n).ravel()).reshape((n, n_classes))
    log, stated = pl.DataFrame({"q": q, "y": np.arange(n) % n_classes}), prior.tolist()
    found = log.select(
        ec.nce("q", "y", prior=stated).alias("nce") / ec.cross_entropy("q", "y", prior=stated),
        nbs=ec.nbs("q", "y", prior=stated) / ec.brier("q", "y", prior=stated),
    ).row(0)
    top, others = prior.max(), np.sort(prior)[:-1]
    entropy = -(others[others > 0] * np.log(others[others > 0])).sum() - top * np.log1p(-others.sum())
    brier = (others * (1 - others)).sum() + top * others.sum()
    if top <= 0.5:
        used = prior[prior > 0]
        entropy, brier = -(used * np.log(used)).sum(), (used * (1 - used)).sum()
    assert found == pytest.approx((1 / entropy, n_classes / brier), rel=1e-12)


@pytest.mark.parametrize(
    "kind", ["full", "equal columns", "equal first row", "diagonal", "zero", "abstain", "negative zero"]
)
def test_decisions_are_those_of_all_columns(kind: str) -> None:
    """The lowest index of the least expected cost, whichever way equal columns and diagonals are found."""
    generator = np.random.default_rng(7)
    costs = generator.integers(1, 4, (6, 6)).astype(float)
    if kind == "equal columns":
        costs[:, 4] = costs[:, 1]
    elif kind == "equal first row":
        costs[0] = 1
    elif kind in ("diagonal", "zero", "negative zero"):
        costs = np.zeros((6, 6)) if kind == "zero" else np.diag([-1.0, -2.0, -0.0, -3.0, -1.0, -1.0])
        costs = -0.0 * np.ones((6, 6)) if kind == "negative zero" else costs
    elif kind == "abstain":
        costs = np.hstack([costs, np.full((6, 1), 1.5)])
    # Posteriors in sixteenths: products and sums are exact, and ties are ties.
    shares = generator.multinomial(16, np.full(6, 1 / 6), 500) / 16
    assert Decider(ec.CostMatrix(costs)).decide(shares).tolist() == (shares @ costs).argmin(axis=1).tolist()


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.UInt8, pl.Int64, pl.UInt64, pl.Int128, pl.Float64], ids=lambda dtype: dtype.__name__
)
def test_classes_that_are_numbers(dtype: type[pl.DataType]) -> None:
    """A value of the label that is no class is invalid, and a null is missing, whatever the label can hold."""
    large = [] if dtype == pl.Float64 else [2**63, -(2**63), 2**64 - 1]
    values = [7, 3, *large, 100, 0, *range(200, 240)]
    low, high = {"Int8": (-128, 127), "UInt8": (0, 255)}.get(dtype.__name__, (-(10**6), 10**6))
    labels = [None, *(value for value in [7, 3, 100, 0, 5, 101, 239, -5, low, high] if low <= value <= high)]
    if dtype == pl.UInt64:
        labels = [*(value for value in labels if value is None or value >= 0), 2**64 - 1, 2**63]
    expected = [None if label is None else values.index(label) if label in values else -1 for label in labels]
    assert index_of(pl.Series(labels, dtype=dtype), values).to_list() == expected
    assert index_of(pl.Series([], dtype=dtype), values).to_list() == []
