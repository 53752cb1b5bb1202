"""fairlearn's MetricFrame with metrics of scikit-learn; intervals by its bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.benchmarks.task import COST_FN, LEVEL, RESAMPLES, THRESHOLD, Columns, Log, Query

if TYPE_CHECKING:
    import pandas as pd
    from fairlearn.metrics import MetricFrame

TITLE = "fairlearn, MetricFrame"
PACKAGE = "fairlearn"
INSTALL = ("fairlearn", "pyarrow")
TWO_CLASSES = ("metrics", "auc", "intervals")
# It takes one column of predictions.
MANY_CLASSES = ()
IN_MEMORY = ("metrics", "auc", "intervals")


def metrics(log: Log) -> Query:
    from sklearn import metrics as sk

    counts = {
        "tn": lambda label, score: ((label == 0) & (score <= THRESHOLD)).sum(),
        "fp": lambda label, score: ((label == 0) & (score > THRESHOLD)).sum(),
        "fn": lambda label, score: ((label == 1) & (score <= THRESHOLD)).sum(),
        "tp": lambda label, score: ((label == 1) & (score > THRESHOLD)).sum(),
    }
    scored = {"f1": _f1, "log_loss": sk.log_loss, "brier": sk.brier_score_loss}

    def cost(label: pd.Series, score: pd.Series) -> float:
        return (COST_FN * counts["fn"](label, score) + counts["fp"](label, score)) / len(label)

    return lambda: _columns(_frame(log, {**counts, "expected_cost": cost, **scored}).by_group)


def auc(log: Log) -> Query:
    from sklearn.metrics import roc_auc_score

    return lambda: _columns(_frame(log, {"auc": roc_auc_score}).by_group)


def intervals(log: Log) -> Query:
    quantiles = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]

    def query() -> Columns:
        frame = _frame(log, {"f1": _f1}, n_boot=RESAMPLES, ci_quantiles=quantiles, random_state=0)
        low, high = (bound["f1"] for bound in frame.by_group_ci)
        return {"segment": low.index.tolist(), "f1_low": low.tolist(), "f1_high": high.tolist()}

    return query


def _f1(label: pd.Series, score: pd.Series) -> float:
    from sklearn.metrics import f1_score

    return f1_score(label, score > THRESHOLD)


def _frame(log: Log, metrics: dict[str, object], **bootstrap: object) -> MetricFrame:
    import pandas as pd
    from fairlearn.metrics import MetricFrame

    rows = pd.concat(map(pd.read_parquet, log.files))
    settings = {"y_true": rows["label"], "y_pred": rows["score"], "sensitive_features": rows["segment"]}
    return MetricFrame(metrics=metrics, **settings, **bootstrap)


def _columns(table: pd.DataFrame) -> Columns:
    return {"segment": table.index.tolist(), **{name: column.tolist() for name, column in table.items()}}
