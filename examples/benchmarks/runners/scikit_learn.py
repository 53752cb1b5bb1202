"""scikit-learn, in a loop over the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.benchmarks.runners.arrays import by_group, with_cost
from examples.benchmarks.task import THRESHOLD, Log, Query

if TYPE_CHECKING:
    import numpy as np

TITLE = "scikit-learn, in a loop"
PACKAGE = "scikit-learn"
INSTALL = ("scikit-learn", "pyarrow")
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc")
IN_MEMORY = ("metrics", "auc", "intervals")


def metrics(log: Log) -> Query:
    from sklearn import metrics as sk

    labels = list(range(log.n_classes))

    def binary(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        decision = score > THRESHOLD
        return {
            **with_cost(*sk.confusion_matrix(label, decision).ravel().tolist()),
            "f1": sk.f1_score(label, decision),
            "log_loss": sk.log_loss(label, score),
            "brier": sk.brier_score_loss(label, score),
        }

    def metrics_of_classes(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        decision = score.argmax(axis=1)
        brier = sk.brier_score_loss(label, score, labels=labels, scale_by_half=False) / log.n_classes
        return {
            "expected_cost": sk.zero_one_loss(label, decision),
            "f1": sk.f1_score(label, decision, average="macro"),
            "log_loss": sk.log_loss(label, score, labels=labels),
            "brier": brier,
        }

    return lambda: by_group(log, binary if log.n_classes == 2 else metrics_of_classes)


def auc(log: Log) -> Query:
    from sklearn.metrics import roc_auc_score

    return lambda: by_group(log, lambda label, score: {"auc": roc_auc_score(label, score, multi_class="ovr")})
