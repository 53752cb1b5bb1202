"""torchmetrics, in a loop over the groups; the log loss is PyTorch's own, intervals are by its bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.benchmarks.runners.arrays import by_group, with_cost
from examples.benchmarks.task import LEVEL, RESAMPLES, THRESHOLD, Log, Query

if TYPE_CHECKING:
    import numpy as np

TITLE = "torchmetrics, in a loop"
PACKAGE = "torchmetrics"
INSTALL = ("torchmetrics", "pyarrow")
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc", "intervals")
IN_MEMORY = ("metrics", "auc", "intervals")


def metrics(log: Log) -> Query:
    import torch
    from torch.nn.functional import nll_loss, one_hot
    from torchmetrics.functional import classification as tm
    from torchmetrics.functional import mean_squared_error

    def binary(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        score, label = torch.from_numpy(score), torch.from_numpy(label).long()
        return {
            **with_cost(*tm.binary_confusion_matrix(score, label, THRESHOLD).ravel().tolist()),
            "f1": tm.binary_f1_score(score, label, THRESHOLD).item(),
            "log_loss": nll_loss(torch.stack([1 - score, score], dim=1).log(), label).item(),
            "brier": mean_squared_error(score, label.double()).item(),
        }

    def metrics_of_classes(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        score, label = torch.from_numpy(score), torch.from_numpy(label).long()
        return {
            "expected_cost": 1 - tm.multiclass_accuracy(score, label, log.n_classes, average="micro").item(),
            "f1": tm.multiclass_f1_score(score, label, log.n_classes, average="macro").item(),
            "log_loss": nll_loss(score.log(), label).item(),
            "brier": mean_squared_error(score.ravel(), one_hot(label, log.n_classes).double().ravel()).item(),
        }

    return lambda: by_group(log, binary if log.n_classes == 2 else metrics_of_classes)


def auc(log: Log) -> Query:
    import torch
    from torchmetrics.functional import classification as tm

    def area(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        score, label = torch.from_numpy(score), torch.from_numpy(label).long()
        if log.n_classes == 2:
            return {"auc": tm.binary_auroc(score, label).item()}
        return {"auc": tm.multiclass_auroc(score, label, log.n_classes, average="macro").item()}

    return lambda: by_group(log, area)


def intervals(log: Log) -> Query:
    import torch
    from torchmetrics import MeanMetric
    from torchmetrics.classification import BinaryF1Score
    from torchmetrics.wrappers import BootStrapper

    quantiles = torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    settings = {"num_bootstraps": RESAMPLES, "quantile": quantiles, "sampling_strategy": "multinomial"}
    name = "f1" if log.n_classes == 2 else "expected_cost"
    torch.manual_seed(0)

    def bounds(label: np.ndarray, score: np.ndarray) -> dict[str, float]:
        bootstrap = BootStrapper(BinaryF1Score(THRESHOLD) if log.n_classes == 2 else MeanMetric(), **settings)
        if log.n_classes == 2:
            bootstrap.update(torch.from_numpy(score), torch.from_numpy(label).long())
        else:
            bootstrap.update(torch.from_numpy((score.argmax(axis=1) != label).astype(float)))
        low, high = bootstrap.compute()["quantile"].tolist()
        return {f"{name}_low": low, f"{name}_high": high}

    return lambda: by_group(log, bounds)
