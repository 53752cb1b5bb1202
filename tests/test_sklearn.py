"""Scorers of scikit-learn: their numbers are those of scikit-learn and of plain NumPy, and its tools take them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, TunedThresholdClassifierCV, cross_validate

import polars_ec as ec

RNG = np.random.default_rng(3)
LABELS = {"text": np.array(["a", "b"]), "number": np.array([1, 2]), "bool": np.array([False, True])}


def data(classes: np.ndarray, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    index = np.random.default_rng(1).integers(0, len(classes), n)
    x = np.random.default_rng(2).normal(index[:, None] * [1.0, 0.5], 1.2)
    return x, classes[index]


def nec(y: np.ndarray, decided: np.ndarray, cost_fn: float, weight: np.ndarray | None = None) -> float:
    w = np.ones(len(y)) if weight is None else weight
    cost = w @ np.where(y & ~decided, cost_fn, np.where(~y & decided, 1.0, 0.0))
    return cost / min(cost_fn * w[y].sum(), w[~y].sum())


@pytest.mark.parametrize("kind", LABELS)
def test_two_classes(kind: str) -> None:
    x, y = data(LABELS[kind])
    model, weight = LogisticRegression().fit(x, y), RNG.uniform(0.5, 2, len(y))
    p, positive = model.predict_proba(x)[:, 1], y == LABELS[kind][1]
    label = {"pos_label": "b"} if kind == "text" else {}
    for name, value in {
        "cross_entropy": -metrics.log_loss(positive, p, sample_weight=weight),
        "brier": -metrics.brier_score_loss(positive, p, sample_weight=weight),
        "accuracy": metrics.accuracy_score(positive, p > 0.5, sample_weight=weight),
        "auc_roc": metrics.roc_auc_score(positive, p, sample_weight=weight),
    }.items():
        assert ec.sklearn.scorer(name, **label)(model, x, y, sample_weight=weight) == pytest.approx(value, rel=1e-12), (
            name
        )
    score = ec.sklearn.scorer("nec", cost_fn=5, **label)
    assert score(model, x, y) == pytest.approx(-nec(positive, p > 1 / 6, 5), rel=1e-12)
    assert score(model, x, y, weight) == pytest.approx(-nec(positive, p > 1 / 6, 5, weight), rel=1e-12)
    by_label = ec.sklearn.scorer("nec", cost_fn=5, response_method="predict", **label)
    assert by_label(model, x, y) == pytest.approx(-nec(positive, p > 0.5, 5), rel=1e-12)
    of_first = ec.sklearn.scorer("recall", pos_label=LABELS[kind][0].item())
    assert of_first(model, x, y) == pytest.approx(metrics.recall_score(~positive, p < 0.5), rel=1e-12)


def test_three_classes_of_which_one_is_missing() -> None:
    x, y = data(np.array(["low", "mid", "top"]))
    model = LogisticRegression().fit(x, y)
    some = y != "low"
    for rows in (slice(None), some):
        expected = -metrics.log_loss(y[rows], model.predict_proba(x[rows]), labels=model.classes_)
        assert ec.sklearn.scorer("cross_entropy")(model, x[rows], y[rows]) == pytest.approx(expected, rel=1e-12)
    for method in ("predict", "predict_proba"):
        score = ec.sklearn.scorer("accuracy", response_method=method)
        assert score(model, x, y) == pytest.approx(metrics.accuracy_score(y, model.predict(x)), rel=1e-12)
    macro = metrics.f1_score(y, model.predict(x), average="macro")
    assert ec.sklearn.scorer("macro_f1", response_method="predict")(model, x, y) == pytest.approx(macro, rel=1e-12)


@pytest.mark.parametrize("classes", [np.array(["low", "mid", "top"]), LABELS["text"]], ids=["three", "two"])
def test_areas_of_each_class(classes: np.ndarray) -> None:
    x, y = data(classes)
    model, weight = LogisticRegression().fit(x, y), RNG.uniform(0.5, 2, len(y))
    q = model.predict_proba(x)
    scores = q if len(classes) > 2 else q[:, 1]
    for name, options in {
        "macro_auc_roc": {"multi_class": "ovr", "sample_weight": weight},
        "weighted_auc_roc": {"multi_class": "ovr", "average": "weighted", "sample_weight": weight},
        "pairwise_auc_roc": {"multi_class": "ovo"},
    }.items():
        expected = metrics.roc_auc_score(y, scores, **options)
        found = ec.sklearn.scorer(name)(model, x, y, sample_weight=options.get("sample_weight"))
        assert found == pytest.approx(expected, rel=1e-12), name


def test_cross_validation_and_search() -> None:
    x, y = data(LABELS["bool"])
    scores = cross_validate(
        LogisticRegression(), x, y, scoring={"ours": ec.sklearn.scorer("cross_entropy"), "theirs": "neg_log_loss"}, cv=3
    )
    np.testing.assert_allclose(scores["test_ours"], scores["test_theirs"], rtol=1e-12)
    found = [
        GridSearchCV(LogisticRegression(), {"C": [1e-4, 1e-2, 1.0]}, scoring=scoring, cv=3).fit(x, y)
        for scoring in (ec.sklearn.scorer("brier"), "neg_brier_score")
    ]
    assert found[0].best_params_ == found[1].best_params_
    np.testing.assert_allclose(*(search.cv_results_["mean_test_score"] for search in found), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("positive", [0, 1])
def test_the_threshold_that_is_tuned_is_the_best_one(kind: str, positive: int) -> None:
    x, y = data(LABELS[kind])
    label = LABELS[kind][positive].item()

    def theirs(y_true: np.ndarray, y_pred: np.ndarray, pos_label: object) -> float:
        return nec(y_true == pos_label, y_pred == pos_label, 5)

    by_hand = metrics.make_scorer(theirs, greater_is_better=False, pos_label=label)
    tuned = [
        TunedThresholdClassifierCV(LogisticRegression(), scoring=scoring, cv=StratifiedKFold(3), thresholds=12).fit(
            x, y
        )
        for scoring in (ec.sklearn.scorer("nec", cost_fn=5, pos_label=label), by_hand)
    ]
    assert tuned[0].best_threshold_ == tuned[1].best_threshold_ < 0.4
    assert tuned[0].best_score_ == pytest.approx(tuned[1].best_score_, rel=1e-12)
    of_decisions = ec.sklearn.scorer("nec", cost_fn=5, pos_label=label, response_method="predict")
    assert of_decisions(tuned[0], x, y) == pytest.approx(-nec(y == label, tuned[0].predict(x) == label, 5), rel=1e-12)


def test_thresholds_at_which_the_metric_is_undefined_are_not_chosen() -> None:
    x, y = data(LABELS["text"])
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(), scoring=ec.sklearn.scorer("precision", pos_label="b"), thresholds=[0.5, 2.0], cv=3
    ).fit(x, y)
    assert tuned.best_threshold_ == 0.5


def test_copies() -> None:
    x, y = data(LABELS["text"])
    model, score = LogisticRegression().fit(x, y), ec.sklearn.scorer("nec", cost_fn=5, pos_label="b")
    for other in (copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert other(model, x, y) == score(model, x, y)


def test_errors() -> None:
    x, y = data(LABELS["text"])
    model = LogisticRegression().fit(x, y)
    with pytest.raises(ValueError, match=r"^no scorer of 'log_loss': did you mean cross_entropy\? "):
        ec.sklearn.scorer("log_loss")
    with pytest.raises(ValueError, match="no scorer of 'class_nec'"):
        ec.sklearn.scorer("class_nec")
    with pytest.raises(ValueError, match="brier needs posteriors"):
        ec.sklearn.scorer("brier", response_method="predict")
    with pytest.raises(ValueError, match="is neither"):
        ec.sklearn.scorer("nec", response_method="decision_function")
    with pytest.raises(TypeError, match="weight= is not an option: the estimator has"):
        ec.sklearn.scorer("nec", weight="w")
    with pytest.raises(ValueError, match=r"the label 'c' is not one of the classes \['a', 'b'\]"):
        ec.sklearn.scorer("nec")(model, x, np.where(y == "a", "c", y))
    with pytest.raises(ValueError, match=r"the classes are \['a', 'b'\]: pass pos_label="):
        ec.sklearn.scorer("nec")(model, x, y)
    with pytest.raises(ValueError, match="no threshold changes brier"):
        TunedThresholdClassifierCV(model, scoring=ec.sklearn.scorer("brier"), cv=3).fit(x, y)


def test_options_are_checked_before_a_search_hides_their_error() -> None:
    with pytest.raises(TypeError, match="cost_fm"):
        ec.sklearn.scorer("nec", cost_fm=5)
    with pytest.raises(ValueError, match="prior"):
        ec.sklearn.scorer("nec", prior=1.5)
    for column in ({"cost_fn": "amount"}, {"threshold": pl.col("amount")}, {"prior": pl.col("amount")}):
        with pytest.raises(ValueError, match="name the column 'amount'"):
            ec.sklearn.scorer("nec", **column)
    assert repr(ec.sklearn.scorer("nec", cost_fn=5)) == "ec.sklearn.scorer('nec', cost_fn=5)"
    assert ec.sklearn.scorer("nec", prior=[0.2, 0.3, 0.5])


class _Fixed:
    """An estimator with these posteriors."""

    def __init__(self, classes: list[str], posteriors: Any) -> None:
        self.classes_, self._posteriors = np.array(classes), np.array(posteriors)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return self._posteriors


_TWO = _Fixed(["no", "yes"], [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
_LABELS_OF_TWO = ["no", "yes", "yes", "yes"]


@pytest.mark.parametrize(
    ("estimator", "y", "options", "weight", "message"),
    [
        (_Fixed(["no", "yes"], [0.1, 0.6, 0.3, 0.8]), _LABELS_OF_TWO, {}, None, "it needs 2 columns"),
        (_Fixed(["no"], [[1.0]]), ["no"], {}, None, "the only class is"),
        (_Fixed(["a", "b", "c"], [[0.2, 0.3, 0.5]]), ["c"], {"pos_label": "b"}, None, "is for two classes"),
        (_TWO, [[label] for label in _LABELS_OF_TWO], {}, None, "one label per row"),
        (_TWO, _LABELS_OF_TWO, {"pos_label": "yes"}, [2.0], "one weight per row"),
    ],
)
def test_errors_of_calls(estimator: Any, y: Any, options: dict[str, Any], weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ec.sklearn.scorer("nec", **options)(estimator, [[0]] * len(y), y, sample_weight=weight)


def test_options_by_class_begin_with_the_negative_class() -> None:
    # The posteriors of "no" are 0.9, 0.4, 0.7 and 0.2, and a missed "no" costs 5: decide "no" above 1 / 6; one "no", three wrong.
    cost = ec.sklearn.scorer("expected_cost", costs=[[0, 1], [5, 0]], pos_label="no")
    assert cost(_TWO, [[0]] * 4, _LABELS_OF_TWO) == pytest.approx(-3 / 4)
    assert repr(cost) == "ec.sklearn.scorer('expected_cost', pos_label='no', costs=[[0, 1], [5, 0]])"
    of_arrays = ec.sklearn.scorer("nec", response_method="predict", costs=np.array([[0, 1], [5, 0]]))
    assert repr(of_arrays).startswith("ec.sklearn.scorer('nec', response_method='predict', costs=array(")
