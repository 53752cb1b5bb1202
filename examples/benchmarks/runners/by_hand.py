"""What somebody writes in SQL who knows the formulas: one query per task, for engines that differ in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from examples.benchmarks.task import COST_FN, THRESHOLD, Columns, Z

BINARY_COUNTS = f"""
SELECT segment, COUNT(*) AS n,
    SUM(CASE WHEN label = 1 THEN 1 ELSE 0 END) AS positives,
    SUM(CASE WHEN label = 1 AND score > {THRESHOLD!r} THEN 1 ELSE 0 END) AS tp,
    SUM(CASE WHEN label = 0 AND score > {THRESHOLD!r} THEN 1 ELSE 0 END) AS fp,
    AVG(-LN(CASE WHEN label = 1 THEN score ELSE 1 - score END)) AS log_loss,
    AVG((score - label) * (score - label)) AS brier
FROM log GROUP BY segment
"""
BINARY_METRICS = f"""
WITH counts AS ({BINARY_COUNTS}), four AS (
    SELECT segment, n, n - positives - fp AS tn, fp, positives - tp AS fn, tp, log_loss, brier FROM counts)
SELECT segment, tn, fp, fn, tp, 1e0 * ({COST_FN} * fn + fp) / n AS expected_cost,
    2e0 * tp / (2 * tp + fn + fp) AS f1, log_loss, brier
FROM four
"""
# F1 = 2 tp / (2 tp + fp + fn) is a ratio of sums: its variance is the sum of the squared residuals over the squared denominator.
BINARY_INTERVALS = f"""
WITH counts AS ({BINARY_COUNTS}), ratios AS (
    SELECT segment, tp, positives - tp + fp AS errors, 2e0 * tp / (tp + positives + fp) AS f1, tp + positives + fp AS below
    FROM counts
), spread AS (
    SELECT segment, f1, {Z} * SQRT(4 * tp * (1 - f1) * (1 - f1) + errors * f1 * f1) / below AS half FROM ratios)
SELECT segment, f1 - half AS f1_low, f1 + half AS f1_high FROM spread
"""
CELLS = """
WITH decided AS (
    SELECT segment, label, {decision} AS decision, {true_posterior} AS posterior, {squares} AS squares FROM log
), cells AS (
    SELECT segment, label, decision, COUNT(*) AS n, SUM(-LN(posterior)) AS loss, SUM(squares - 2 * posterior + 1) AS square
    FROM decided GROUP BY segment, label, decision
)"""
MANY_METRICS = """
{cells}, true_classes AS (
    SELECT segment, label AS class, SUM(n) AS n_true, SUM(CASE WHEN label = decision THEN n ELSE 0 END) AS hits
    FROM cells GROUP BY segment, label
), decided_classes AS (
    SELECT segment, decision AS class, SUM(n) AS n_decided FROM cells GROUP BY segment, decision
), classes AS (
    SELECT t.segment AS segment, AVG(2e0 * hits / (n_true + COALESCE(n_decided, 0))) AS f1
    FROM true_classes AS t LEFT JOIN decided_classes AS d ON t.segment = d.segment AND t.class = d.class GROUP BY t.segment
), totals AS (
    SELECT segment, 1e0 * SUM(CASE WHEN label = decision THEN 0 ELSE n END) / SUM(n) AS expected_cost,
        SUM(loss) / SUM(n) AS log_loss, SUM(square) / SUM(n) / {n_classes} AS brier
    FROM cells GROUP BY segment
)
SELECT c.segment AS segment, expected_cost, f1, log_loss, brier FROM totals AS s JOIN classes AS c ON s.segment = c.segment
"""
MANY_INTERVALS = """
WITH counts AS (
    SELECT segment, COUNT(*) AS n, AVG(CASE WHEN {decision} = label THEN 0e0 ELSE 1e0 END) AS e FROM log GROUP BY segment
)
SELECT segment, e - {z} * SQRT(e * (1 - e) / n) AS expected_cost_low, e + {z} * SQRT(e * (1 - e) / n) AS expected_cost_high
FROM counts
"""
# Ties count half: a positive is above all negatives of lower scores, and half of those of its own.
AREAS = """
WITH ranked AS ({one_against_rest}), scores AS (
    SELECT segment, class, score, SUM(CASE WHEN label = class THEN 1 ELSE 0 END) AS positives,
        SUM(CASE WHEN label = class THEN 0 ELSE 1 END) AS negatives
    FROM ranked GROUP BY segment, class, score
), below AS (
    SELECT segment, class, positives, negatives,
        SUM(negatives) OVER (PARTITION BY segment, class ORDER BY score) - negatives / 2e0 AS below
    FROM scores
), areas AS (
    SELECT segment, class, SUM(positives * below) / (1e0 * SUM(positives) * SUM(negatives)) AS auc
    FROM below GROUP BY segment, class
)
SELECT segment, AVG(auc) AS auc FROM areas GROUP BY segment
"""
POSITIVES = "SELECT segment, label, 1 AS class, score FROM log"


@dataclass(frozen=True)
class Dialect:
    """How an engine says: the first class with the largest posterior, that of the true class, the sum of squares, a row per class."""

    decision: str
    true_posterior: str
    squares: str
    one_against_rest: str

    def sql(self, task: str, n_classes: int) -> str:
        """The query of a task."""
        if n_classes == 2:
            binary = {"metrics": BINARY_METRICS, "intervals": BINARY_INTERVALS}
            return binary[task] if task in binary else AREAS.format(one_against_rest=POSITIVES)
        if task == "auc":
            return AREAS.format(one_against_rest=self.one_against_rest)
        if task == "intervals":
            return MANY_INTERVALS.format(decision=self.decision, z=Z)
        cells = CELLS.format(decision=self.decision, true_posterior=self.true_posterior, squares=self.squares)
        return MANY_METRICS.format(cells=cells, n_classes=n_classes)


def columns(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Columns:
    """The rows of an answer, column by column."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
