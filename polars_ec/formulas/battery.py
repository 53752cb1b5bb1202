"""The usual battery of metrics, as reports have it."""

from __future__ import annotations

MOVED_BY_PRIOR = ("nec", "nce", "nbs", "precision", "f1")
"""Those that a report has at the reference prior too."""

BATTERY = (*MOVED_BY_PRIOR, "recall")

OF_RANKS = ("auc_roc", "average_precision", "eer", "min_cllr")
"""What scores that are not posteriors are judged by: their order."""
