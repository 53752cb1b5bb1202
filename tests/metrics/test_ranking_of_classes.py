"""Areas under ROC curves of K classes: against scikit-learn, Hand and Till's ranks, and the areas of two classes."""

from __future__ import annotations

import math
from itertools import permutations

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.doors import DOORS, QUICK_DOORS, evaluate

NAMES = ("macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc")
RANDOM = np.random.default_rng(0)


def log_of(k: int, n: int = 200) -> pl.DataFrame:
    """Posteriors with many ties, better than random; one class is rare."""
    label = np.concatenate([np.arange(k), RANDOM.integers(0, k, n), np.zeros(n, int)])
    counts = RANDOM.integers(0, 4, (len(label), k)) + 2 * np.eye(k)[label] * RANDOM.integers(0, 2, (len(label), 1))
    counts[:, 0] += counts.sum(axis=1) == 0
    posteriors = counts / counts.sum(axis=1, keepdims=True)
    return pl.DataFrame(
        {"score": posteriors, "label": label, "w": RANDOM.random(len(label)), "g": np.arange(len(label)) % 2},
        schema_overrides={"score": pl.Array(pl.Float64, k)},
    )


LOGS = {k: log_of(k) for k in (2, 3, 6)}


def hand_and_till(q: np.ndarray, y: np.ndarray) -> float:
    """Their Eqs. 3 and 7: sums of ranks of one class among two."""
    areas = []
    for i, j in permutations(range(q.shape[1]), 2):
        of_pair = (y == i) | (y == j)
        own, n_i, n_j = y[of_pair] == i, (y == i).sum(), (y == j).sum()
        areas.append((rankdata(q[of_pair, i])[own].sum() - n_i * (n_i + 1) / 2) / (n_i * n_j))
    return float(np.mean(areas))


@pytest.mark.parametrize(
    ("door", "k"),
    mostly_slow([(d, k) for d in ("function", "namespace", "sql") for k in LOGS], [("function", 6), ("sql", 3)]),
)
def test_areas_are_those_of_scikit_learn(door: str, k: int) -> None:
    log = LOGS[k]
    y, q, w = log["label"].to_numpy(), log["score"].to_numpy(), log["w"].to_numpy()
    theirs = q[:, 1] if k == 2 else q
    for average in ("macro", "weighted"):
        for weight in (None, "w"):
            wanted = roc_auc_score(y, theirs, multi_class="ovr", average=average, sample_weight=weight and w)
            found = evaluate(door, f"{average}_auc_roc", log, weight=weight)
            assert found == pytest.approx(wanted, rel=1e-12)
    found = evaluate(door, "pairwise_auc_roc", log)
    assert found == pytest.approx(roc_auc_score(y, theirs, multi_class="ovo"), rel=1e-12)
    assert found == pytest.approx(hand_and_till(q, y), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_groups_are_logs_of_their_own(engine: str) -> None:
    log = LOGS[3]
    for name in NAMES:
        found = evaluate("function", name, log, by="g", engine=engine)
        assert found == {g: evaluate("function", name, log.filter(g=g)) for g in (0, 1)}


@pytest.mark.parametrize("name", NAMES)
def test_two_classes_have_the_area_of_one(name: str) -> None:
    """Halves, so that 1 - q is exact."""
    q = RANDOM.integers(0, 9, 60) / 8
    log = pl.DataFrame({"q": q, "label": RANDOM.random(60) < q, "w": RANDOM.random(60)})
    log = log.with_columns(score=pl.concat_arr(1 - pl.col("q"), "q"))
    for weight in (None, "w"):
        wanted = log.select(ec.auc_roc("q", "label", weight=weight)).item()
        assert evaluate("function", name, log, weight=weight) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("door", mostly_slow(DOORS, ["function"]))
def test_a_stated_prior_is_one_by_weights(door: str) -> None:
    log, prior = LOGS[3], [0.2, 0.7, 0.1]
    shares = np.bincount(log["label"]) / log.height
    weighted = log.with_columns(v=pl.Series((np.array(prior) / shares)[log["label"]]), prior=pl.lit(prior))
    for name in NAMES[:2]:
        at_prior = evaluate(door, name, log, prior=prior)
        assert at_prior == pytest.approx(evaluate("function", name, weighted, weight="v"), rel=1e-12)
        assert at_prior != pytest.approx(evaluate(door, name, log), rel=1e-3)
        assert evaluate(door, name, weighted, prior="prior") == pytest.approx(at_prior, rel=1e-12)
        of_groups = log.with_columns(prior=pl.when(pl.col("g") == 0).then(pl.lit(prior)).otherwise([0.3, 0.3, 0.4]))
        found = evaluate(door, name, of_groups, by="g", prior="prior")
        assert found[0] == pytest.approx(evaluate("function", name, log.filter(g=0), prior=prior), rel=1e-12)
        assert found[1] == pytest.approx(evaluate("function", name, log.filter(g=1), prior=[0.3, 0.3, 0.4]), rel=1e-12)
        assert evaluate(door, name, of_groups, prior="prior") is None
    pairwise = evaluate(door, "pairwise_auc_roc", log)
    for name in NAMES[:2]:
        assert evaluate(door, name, log, prior="uniform") == pytest.approx(pairwise, rel=1e-12)
    assert evaluate(door, "pairwise_auc_roc", weighted, weight="v") == pytest.approx(pairwise, rel=1e-12)


def test_a_prior_of_one_number_is_a_column_too() -> None:
    log = LOGS[2].with_columns(prior=pl.lit(0.3))
    for name in NAMES[:2]:
        found = evaluate("function", name, log, prior="prior")
        assert found == evaluate("function", name, log, prior=0.3) is not None
    # So it is where more decisions than 4 are counted in another way.
    costs = [[0, 3, 1, 1, 1], [4, 0, 1, 1, 1]]
    assert log.select(ec.nec("score", "label", costs=costs, prior=pl.col("prior"))).item() == pytest.approx(
        log.select(ec.nec("score", "label", costs=costs, prior=0.3)).item(), rel=1e-12
    )


@pytest.mark.parametrize("door", mostly_slow(DOORS, ["function"]))
def test_logarithms_keep_the_order_that_posteriors_lose(door: str) -> None:
    """Posteriors of e^-800 and e^-900 are 0."""
    rows = [[0.0, -900.0, -800.0], [-900.0, 0.0, -800.0], [-900.0, -800.0, 0.0], [0.0, -800.0, -900.0]]
    log = pl.DataFrame({"score": rows, "label": [0, 1, 2, 2]}, schema_overrides={"score": pl.Array(pl.Float64, 3)})
    # Class by class: 2.5 of 3 pairs; all of 3; 2 of 4.
    for score_type, prior in (("log_posteriors", {}), ("log_likelihoods", {"prior": [0.25, 0.25, 0.5]})):
        found = evaluate(door, "macro_auc_roc", log, score_type=score_type, **prior)
        assert found == pytest.approx((2.5 / 3 + 1 + 2 / 4) / 3, rel=1e-12)
        found = evaluate(door, "pairwise_auc_roc", log, score_type=score_type)
        assert found == pytest.approx(((1 + 1.5 / 2) / 2 + 1 + (1 / 2 + 1 / 2) / 2) / 3, rel=1e-12)


@pytest.mark.parametrize("door", mostly_slow(DOORS, ["function"]))
def test_likelihoods_become_posteriors_at_the_prior(door: str) -> None:
    prior = [0.2, 0.7, 0.1]
    log = pl.DataFrame(
        {"score": RANDOM.normal(size=(60, 3)), "label": RANDOM.integers(0, 3, 60)},
        schema_overrides={"score": pl.Array(pl.Float64, 3)},
    )
    options = {"score_type": "log_likelihoods", "prior": prior}
    posteriors = log.with_columns(score=ec.posterior("score", **options))
    for name in NAMES[:2]:
        wanted = evaluate("function", name, posteriors, prior=prior)
        assert evaluate(door, name, log, **options) == pytest.approx(wanted, rel=1e-12)
    even = log.with_columns(score=ec.posterior("score", score_type="log_likelihoods", prior="uniform"))
    wanted = evaluate("function", "pairwise_auc_roc", even)
    assert evaluate(door, "pairwise_auc_roc", log, score_type="log_likelihoods") == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("door", QUICK_DOORS)
def test_undefined_is_null(door: str) -> None:
    q = [[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]]
    groups = {
        "right": (q, [0, 1, 2]),
        "late": ([*q, q[0], None, [0.5, None, 0.5]], [0, 1, 2, None, 1, 1]),
        "without class 2": (q, [0, 1, 1]),
        "one class": (q, [1, 1, 1]),
        "wrong score": ([*q, [0.5, math.nan, 0.5]], [0, 1, 2, 0]),
        "wrong sum": ([*q, [0.5, 0.6, 0.5]], [0, 1, 2, 0]),
        "wrong label": ([*q, q[0]], [0, 1, 2, 3]),
        "nothing": ([None], [0]),
    }
    rows = [(g, score, label) for g, columns in groups.items() for score, label in zip(*columns, strict=True)]
    schema = {"g": pl.String, "score": pl.Array(pl.Float64, 3), "label": pl.Int64}
    log = pl.DataFrame(rows, schema=schema, orient="row")
    for name in NAMES:
        found = evaluate(door, name, log, by="g")
        assert found.pop("right") == found.pop("late") == 1
        # A class without rows and without prior weighs nothing.
        assert (found.pop("without class 2") is not None) == (name == "weighted_auc_roc")
        assert set(found.values()) == {None}


@pytest.mark.parametrize("door", mostly_slow(DOORS, ["function"]))
def test_a_class_of_prior_0_or_1(door: str) -> None:
    log = LOGS[3]
    assert evaluate(door, "macro_auc_roc", log, prior=[0.5, 0.5, 0]) is not None
    two = log.filter(pl.col("label") < 2)
    assert evaluate(door, "macro_auc_roc", two, prior=[0.5, 0.5, 0]) is None
    at_two = evaluate(door, "weighted_auc_roc", two, prior=[0.5, 0.5, 0])
    assert evaluate(door, "weighted_auc_roc", log, prior=[0.5, 0.5, 0]) == at_two is not None
    assert evaluate(door, "weighted_auc_roc", two, prior="uniform") is None
    for name in NAMES:
        assert evaluate(door, name, log.head(0)) is None
    for name in NAMES[:2]:
        assert evaluate(door, name, log, prior=[1, 0, 0]) is None


def test_classes_by_name_and_arrays() -> None:
    log = LOGS[3]
    q, y = log["score"].to_numpy(), np.array(["a", "b", "c"])[log["label"]]
    columns = pl.DataFrame(q, schema=["c", "a", "b"]).with_columns(y=pl.Series(y))
    for name in NAMES:
        wanted = evaluate("function", name, log)
        assert getattr(ec, name)(q, y, classes=["a", "b", "c"]) == wanted
        turned = columns.rename({"c": "a", "a": "b", "b": "c"}).select("y", q=pl.struct("b", "c", "a"))
        assert turned.select(getattr(ec, name)("q", "y", classes=["a", "b", "c"])).item() == wanted
        assert turned.select(pl.col("q").ec.__getattribute__(name)("y", classes=["a", "b", "c"])).columns == [
            f"q_{name}"
        ]


def test_a_null_has_its_reason() -> None:
    q = LOGS[3]["score"].to_numpy()[:3]
    for name in ("macro_auc_roc", "pairwise_auc_roc"):
        with pytest.warns(UserWarning, match=f"{name}\\(\\) is null: no row has the class 2, of 3 rows"):
            assert getattr(ec, name)(q, np.array([0, 1, 1])) is None


def test_errors() -> None:
    log = pl.DataFrame({"p": [0.1, 0.9], "q": [[0.9, 0.1], [0.1, 0.9]], "y": [0, 1]})
    for name in NAMES:
        with pytest.raises(TypeError, match=f"{name} is for one number per class: use auc_roc for one number per row"):
            log.select(getattr(ec, name)("p", "y"))
        with pytest.raises(TypeError, match="one number per class"):
            log.select(getattr(ec, name)("y", "y", score_type="decision"))
        with pytest.raises(ValueError, match=f"'{name}', which is for posteriors of more than two classes"):
            log.ec.report("q", "y", metrics=[name], classes=[0, 1])
        with pytest.raises(duckdb.Error, match=r"\(score DOUBLE\[\], label"):
            evaluate("sql", name, log, "p", "y", score_type="decision")
    with pytest.raises(TypeError, match="one class against the rest, or macro_auc_roc for all classes"):
        log.select(ec.auc_roc("q", "y", classes=[0, 1]))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="needs prior="):
        log.select(ec.macro_auc_roc("q", "y", classes=[0, 1], score_type="log_likelihoods"))
    for theirs, ours in (("roc_auc_ovr", "macro"), ("roc_auc_ovr_weighted", "weighted"), ("roc_auc_ovo", "pairwise")):
        with pytest.raises(AttributeError, match=f"did you mean {ours}_auc_roc"):
            getattr(ec, theirs)
