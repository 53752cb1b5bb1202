"""Scorers for scikit-learn: `ec.sklearn.scorer("nec", cost_fn=5)`. They require scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any

from polars_ec.arguments.keywords import did_you_mean
from polars_ec.formulas.decisions import lower_is_better
from polars_ec.metrics.families import FAMILIES, function_of
from polars_ec.numerics import np

__all__ = ["scorer"]


def scorer(name: str, *, pos_label: Any = None, labels: Any = None, **arguments: Any) -> Any:
    """Make a scorer of scikit-learn from a metric, for `cross_validate`, `GridSearchCV` and `TunedThresholdClassifierCV`.

    Higher is better: losses such as `nec` are negated, as in scikit-learn's `neg_log_loss`. The metric gets the posteriors of
    `predict_proba`. `TunedThresholdClassifierCV` passes decisions instead: with a metric of decisions, such as `expected_cost`, it finds
    the threshold that is best for your costs.

    Parameters
    ----------
    name
        A metric, such as `"nec"`.
    pos_label
        The positive class. Default: the larger of two labels, as in scikit-learn.
    labels
        The classes in the order of `estimator.classes_`. Pass them if a fold may lack one. Default: the sorted labels of the fold.
    **arguments
        Arguments of the metric, such as `cost_fn=5` or `prior=0.1`.

    Returns
    -------
    callable
        `scorer(estimator, X, y, sample_weight=None)`, NaN where the metric is null.

    Raises
    ------
    ValueError
        An unknown metric. When the scorer is called: labels that do not fit the posteriors.
    TypeError
        An argument that the metric does not have.

    Examples
    --------
    >>> import polars_ec as ec
    >>> from sklearn import datasets, linear_model, model_selection
    >>> X, y = datasets.load_iris(return_X_y=True)
    >>> model = linear_model.LogisticRegression(max_iter=1000)
    >>> scores = model_selection.cross_val_score(model, X, y == 1, scoring=ec.sklearn.scorer("nec", cost_fn=2))
    >>> scores.round(2).tolist()
    [-0.7, -0.45, -0.7, -0.85, -0.65]
    """
    from sklearn.metrics import make_scorer

    function = function_of(name)
    if function is None:
        known = [metric for family in FAMILIES for metric in vars(family) if function_of(metric)]
        raise ValueError(f"there is no metric {name!r}: {did_you_mean(name, known)}".rstrip(": "))
    parameters = inspect.signature(function).parameters
    unknown = [argument for argument in arguments if argument not in parameters]
    if unknown:
        raise TypeError(
            f"ec.{name} has no argument {unknown[0]!r}: {did_you_mean(unknown[0], parameters)}".rstrip(": ")
        )

    def score(y_true: Any, y_pred: Any, sample_weight: Any = None, pos_label: Any = pos_label) -> float:
        classes, y_pred = _classes(y_true, labels, pos_label), np.asarray(y_pred)
        if (y_pred.ndim == 1 and len(classes) > 2) or (y_pred.ndim == 2 and y_pred.shape[1] != len(classes)):
            raise ValueError(
                f"the labels {classes} do not fit predictions of shape {y_pred.shape}: pass labels=estimator.classes_"
            )
        codes = {label: code for code, label in enumerate(classes)}
        y = np.array([codes[label] for label in np.asarray(y_true).tolist()])
        options = dict(arguments)
        if y_pred.ndim == 1 and set(y_pred.tolist()) <= codes.keys():
            y_pred = np.array([codes[label] for label in y_pred.tolist()])
            options["score_type"] = "decision"
        if sample_weight is not None:
            options["weight"] = np.asarray(sample_weight, dtype=float)
        value = function(y_pred, y, **options)
        return float("nan") if value is None else float(value)

    return make_scorer(score, response_method="predict_proba", greater_is_better=not lower_is_better(name))


def _classes(y_true: Any, labels: Any, pos_label: Any) -> list[Any]:
    """The classes in the order of the columns of `predict_proba`; of two the positive one last."""
    known: list[Any] = np.unique(np.asarray(y_true)).tolist() if labels is None else np.asarray(labels).tolist()
    if labels is None and len(known) < 2:
        if not set(known) <= {0, 1}:
            raise ValueError(f"the only label is {known}: pass labels=estimator.classes_")
        known = [0, 1]
    outside = set(np.asarray(y_true).tolist()) - set(known)
    if outside:
        raise ValueError(f"the label {next(iter(outside))!r} is not in labels={known}")
    return known if pos_label is None else sorted(known, key=lambda label: bool(label == pos_label))
