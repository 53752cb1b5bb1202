"""Scorers for scikit-learn: their values are those of scikit-learn's own metrics and of plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets, linear_model, metrics, model_selection

import polars_ec as ec

X, DIGITS = datasets.make_classification(600, n_informative=5, n_classes=3, weights=[0.5, 0.3, 0.2], random_state=1)
LATE = np.where(DIGITS == 2, "late", "on time")
WEIGHT = np.random.default_rng(1).uniform(0.5, 2, 600)
MODEL = linear_model.LogisticRegression(max_iter=1000)


def of_folds(scorer, y, **options) -> list[float]:
    return model_selection.cross_validate(MODEL, X, y, scoring=scorer, **options)["test_score"].tolist()


@pytest.mark.parametrize("y", [DIGITS == 2, (DIGITS == 2).astype(int), (DIGITS == 2).astype(float), LATE])
def test_two_classes(y) -> None:
    assert of_folds(ec.sklearn.scorer("cross_entropy"), y) == pytest.approx(of_folds("neg_log_loss", y))
    assert of_folds(ec.sklearn.scorer("accuracy"), y) == pytest.approx(of_folds("accuracy", y))
    assert of_folds(ec.sklearn.scorer("auc_roc"), y) == pytest.approx(of_folds("roc_auc", y))


def test_classes_and_their_weights() -> None:
    fitted = MODEL.fit(X, DIGITS)
    posteriors = fitted.predict_proba(X)
    scorer = ec.sklearn.scorer("cross_entropy", labels=fitted.classes_)
    expected = -metrics.log_loss(DIGITS, posteriors, sample_weight=WEIGHT)
    assert scorer(fitted, X, DIGITS, sample_weight=WEIGHT) == pytest.approx(expected)
    # A fold without the last class.
    rows = DIGITS < 2
    expected = -metrics.log_loss(DIGITS[rows], posteriors[rows], labels=[0, 1, 2])
    assert scorer(fitted, X[rows], DIGITS[rows]) == pytest.approx(expected)


def test_costs_and_the_positive_class() -> None:
    """Decisions at the Bayes threshold 1/6 for a missed late flight that costs 5; `late` comes before `on time`."""
    fitted = MODEL.fit(X, LATE)
    late, positive = LATE == "late", fitted.predict_proba(X)[:, 0] > 1 / 6
    cost = (5 * (late & ~positive).sum() + (~late & positive).sum()) / 600
    scorer = ec.sklearn.scorer("expected_cost", pos_label="late", cost_fn=5)
    assert scorer(fitted, X, LATE) == pytest.approx(-cost)
    assert ec.sklearn.scorer("nec", pos_label="late", cost_fn=5)(fitted, X, LATE) == pytest.approx(
        -cost / min(5 * late.mean(), 1 - late.mean())
    )


def test_a_search_takes_the_model_that_costs_least() -> None:
    y = DIGITS == 2
    search = model_selection.GridSearchCV(MODEL, {"C": [1e-6, 1]}, scoring=ec.sklearn.scorer("nec", cost_fn=5)).fit(
        X, y
    )
    assert search.best_params_ == {"C": 1}
    assert -1 < search.best_score_ < 0


@pytest.mark.parametrize("y", [DIGITS == 2, (DIGITS == 2).astype(float), LATE])
def test_the_threshold_that_costs_least(y) -> None:
    """Of all thresholds, on the rows that the model was fitted to."""
    positive_label = "late" if y is LATE else True
    scorer = ec.sklearn.scorer("expected_cost", pos_label=positive_label, cost_fn=5)
    options = {"cv": "prefit", "refit": False, "thresholds": np.linspace(0.01, 0.99, 99)}
    tuned = model_selection.TunedThresholdClassifierCV(MODEL.fit(X, y), scoring=scorer, **options).fit(X, y)
    late, posteriors = DIGITS == 2, MODEL.predict_proba(X)[:, [*MODEL.classes_].index(positive_label)]

    def cost(threshold: float) -> float:
        positive = posteriors >= threshold
        return float((5 * (late & ~positive).sum() + (~late & positive).sum()) / 600)

    assert -tuned.best_score_ == pytest.approx(min(map(cost, options["thresholds"])))
    assert cost(tuned.best_threshold_) == pytest.approx(-tuned.best_score_)


def test_what_cannot_be_is_an_error() -> None:
    with pytest.raises(ValueError, match="no metric 'nex': did you mean nec"):
        ec.sklearn.scorer("nex")
    with pytest.raises(TypeError, match="no argument 'cost_fm': did you mean cost_f"):
        ec.sklearn.scorer("nec", cost_fm=5)
    fitted = MODEL.fit(X, LATE)
    with pytest.raises(ValueError, match="pos_label=early is not a valid label"):
        ec.sklearn.scorer("nec", pos_label="early")(fitted, X, LATE)
    with pytest.raises(ValueError, match="pass labels"):
        ec.sklearn.scorer("nec")(fitted, X[LATE == "late"], LATE[LATE == "late"])
    with pytest.raises(ValueError, match="do not fit predictions of shape"):
        ec.sklearn.scorer("nec")(MODEL.fit(X, DIGITS), X[DIGITS < 2], DIGITS[DIGITS < 2])
    with pytest.raises(ValueError, match="the label 2 is not in labels"):
        ec.sklearn.scorer("nec", labels=[0, 1])(MODEL.fit(X, DIGITS), X, DIGITS)
