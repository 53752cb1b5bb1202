"""Metrics as scorers of scikit-learn: `ec.sklearn.scorer("nec", cost_fn=5)`."""

from __future__ import annotations

import math
from typing import Any, Literal

import polars as pl

from polars_ec.arguments.keywords import did_you_mean
from polars_ec.formulas.decisions import DECISIONS, OF_CLASSES, lower_is_better
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS
from polars_ec.metrics.families import function_of
from polars_ec.numerics import np

__all__ = ["scorer"]

# Not those of the confusion matrix, of each class, of one decision and of LLRs, which no estimator has.
_OF_DECISIONS = {
    name for name in (*DECISIONS, *OF_CLASSES) if function_of(name) and not name.startswith(("class_", "dec", "dcf"))
}
_METRICS = sorted({*_OF_DECISIONS, *SCORING_RULES, *ORDER_METRICS, "ece"})


class _Scorer:
    def __init__(self, metric: str, response_method: str, pos_label: Any, options: dict[str, Any]) -> None:
        from sklearn.metrics import make_scorer

        self._metric, self._response, self._label, self._options = metric, response_method, pos_label, options
        self._better = -1.0 if lower_is_better(metric) else 1.0
        # A scorer made by scikit-learn does not see `classes_`; but it has all that is read of a scorer which is not called.
        positive = {} if pos_label is None else {"pos_label": pos_label}
        self._inner = make_scorer(self._of_labels, greater_is_better=self._better > 0, **positive)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":  # copies are asked before they have one
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        response = {} if self._response == "predict_proba" else {"response_method": self._response}
        label = {} if self._label is None else {"pos_label": self._label}
        settings = "".join(f", {name}={value!r}" for name, value in (response | label | self._options).items())
        return f"ec.sklearn.scorer({self._metric!r}{settings})"

    def set_score_request(self, **requests: Any) -> _Scorer:
        self._inner.set_score_request(**requests)
        return self

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        classes, response = np.asarray(estimator.classes_), np.asarray(getattr(estimator, self._response)(X))
        if self._response == "predict":
            score = _indices(response, classes)
        elif response.shape == (len(response), len(classes)):
            score = response
        else:
            raise ValueError(f"predict_proba returns the shape {response.shape}: it needs {len(classes)} columns")
        return self._better * self._value(score, _indices(y, classes), classes, sample_weight)

    def _of_labels(self, y_true: Any, y_pred: Any, sample_weight: Any = None, pos_label: Any = None) -> float:  # noqa: ARG002
        if self._metric not in _OF_DECISIONS:
            raise ValueError(f"no threshold changes {self._metric}: tune it with a decision metric, such as nec")
        classes = np.unique([*y_true, *y_pred])
        value = self._value(_indices(y_pred, classes), _indices(y_true, classes), classes, sample_weight)
        # Thresholds are interpolated between folds, which neither NaN nor infinity survives.
        return -self._better * 1e6 if math.isnan(value) else min(max(value, -1e6), 1e6)

    def _value(self, score: Any, labels: Any, classes: Any, weight: Any) -> float:
        options, is_decision = dict(self._options), score.ndim == 1
        if len(classes) < 2:
            raise ValueError(
                f"the only class is {classes.tolist()}: use folds with rows of each class, such as StratifiedKFold"
            )
        # Areas of classes take one score per class, also of two classes.
        if len(classes) == 2 and self._metric not in CLASS_AREAS:
            if self._label is None and classes.dtype.kind in "OSU":
                raise ValueError(f"the classes are {classes.tolist()}: pass pos_label=, the positive one")
            positive = 1 if self._label is None else _indices([self._label], classes)[0]
            score = (score == positive).astype(int) if is_decision else score[:, positive]
            labels = (labels == positive).astype(int)
        elif self._label is not None and len(classes) > 2:
            raise ValueError(f"pos_label={self._label!r} is for two classes, and the estimator has {classes.tolist()}")
        else:
            options["classes"] = [*range(len(classes))]
        if weight is not None:
            weight = np.asarray(weight, dtype=float)
            if weight.shape != labels.shape:
                raise ValueError(f"sample_weight has the shape {weight.shape}: pass one weight per row, {labels.shape}")
            options["weight"] = pl.lit(pl.Series(weight))
        if is_decision:
            options["score_type"] = "decision"
        function: Any = function_of(self._metric)
        # Names that no option has, for a text among them is the name of a column.
        rows = pl.DataFrame({"__score": score, "__label": labels})
        value = rows.select(function("__score", "__label", **options)).item()
        return math.nan if value is None else float(value)


def _indices(labels: Any, classes: Any) -> Any:
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"the labels have the shape {labels.shape}: pass one label per row")
    matches = labels[:, None] == classes
    if not matches.any(axis=1).all():
        outside = labels[~matches.any(axis=1)].tolist()[0]
        raise ValueError(f"the label {outside!r} is not one of the classes {classes.tolist()}")
    return matches.argmax(axis=1)


def scorer(
    metric: str,
    *,
    response_method: Literal["predict_proba", "predict"] = "predict_proba",
    pos_label: object = None,
    **options: Any,
) -> Any:
    """Make a scorer of scikit-learn, for `cross_validate`, `GridSearchCV` and `TunedThresholdClassifierCV`.

    Higher is better, so a metric that is a loss is negated. Undefined values are NaN.

    `TunedThresholdClassifierCV` turns the posteriors into labels at each threshold and scores these labels. A threshold at which the metric
    is undefined counts as the worst. To evaluate the tuned classifier, pass `response_method="predict"`: the default ignores its threshold.

    Parameters
    ----------
    metric
        Name of a metric with one number, such as "nec" or "cross_entropy".
    response_method
        "predict_proba": the metric makes the decisions from the posteriors and the costs. "predict": it takes those of the estimator.
    pos_label
        With two classes, the positive one; needed if they are text. Default: the second of `estimator.classes_`.
    options
        Options of the metric, such as `cost_fn`, `costs` or `prior`. Those by class are in the order of `estimator.classes_`. With
        `pos_label`, they are those of the other class, then of the positive one.

    Returns
    -------
    Called as `scorer(estimator, X, y, sample_weight=None)`. It can be copied and pickled.

    Raises
    ------
    ValueError
        An unknown metric, or an option that the metric refuses or that names a column. When called: a label that is none of the classes,
        labels of one class, two text classes without `pos_label`, or an array of the wrong shape.

    Examples
    --------
    >>> import polars_ec as ec
    >>> from sklearn import datasets, dummy, model_selection
    >>> X, y = datasets.load_breast_cancer(return_X_y=True)
    >>> nec = ec.sklearn.scorer("nec", cost_fn=5)
    >>> model_selection.cross_val_score(dummy.DummyClassifier(), X, y, scoring=nec, cv=2).tolist()
    [-1.0, -1.0]
    """
    if metric not in _METRICS:
        raise ValueError(f"no scorer of {metric!r}: {did_you_mean(metric, _METRICS)}Metrics: {', '.join(_METRICS)}")
    if response_method not in ("predict_proba", "predict"):
        raise ValueError(f'response_method={response_method!r} is neither "predict_proba" nor "predict"')
    if response_method == "predict" and metric not in _OF_DECISIONS:
        raise ValueError(f"{metric} needs posteriors, and predict gives labels: use response_method='predict_proba'")
    if refused := {"classes", "weight", "score_type"} & options.keys():
        raise TypeError(
            f"{min(refused)}= is not an option: the estimator has classes, and sample_weight goes to the call"
        )
    function: Any = function_of(metric)
    # Before the call, where scikit-learn turns an error into NaN.
    if columns := {*function("__score", "__label", **options).meta.root_names()} - {"__score", "__label"}:
        raise ValueError(
            f"the options name the column {min(columns)!r}, but a scorer has only scores and labels: pass numbers"
        )
    return _Scorer(metric, response_method, pos_label, options)
