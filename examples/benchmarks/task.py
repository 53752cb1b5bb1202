"""What is computed per segment, and what a runner gets. Runners import it in their environments, so it needs Python alone.

A runner has a function per task that it offers. It gets the log, prepares what is not timed (imports, connections) and returns a
query. The query answers with columns of equal length: `segment`, and those of the task.

    metrics    expected_cost, f1, log_loss, brier; for two classes also the counts tn, fp, fn, tp
    auc        auc
    intervals  f1_low, f1_high for two classes; for more, expected_cost_low, expected_cost_high

With two classes, a missed positive costs 5 and a false alarm 1, so a score above 1/6 is decided positive. With more, each error
costs 1 and the decision is the first class with the largest posterior; F1 and AUC are averages over the classes (each against the
rest), and the Brier score is the mean of the squares over rows and classes. Intervals have level 0.95.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TASKS = ("metrics", "auc", "intervals")
COST_FN = 5
THRESHOLD = 1 / 6
LEVEL = 0.95
# Normal quantile of the level, for intervals that are written by hand.
Z = 1.959963984540054
# Resamples of bootstraps.
RESAMPLES = 200

Columns = dict[str, list]
Query = Callable[[], Columns]


@dataclass(frozen=True)
class Log:
    """The Parquet files of a log, with columns `segment` (string), `label` (0, 1, ...), and `score` or `posteriors` (list)."""

    files: list[str]
    n_classes: int

    @property
    def score(self) -> str:
        """Name of the column of scores: the posterior of class 1, or those of all classes."""
        return "score" if self.n_classes == 2 else "posteriors"
