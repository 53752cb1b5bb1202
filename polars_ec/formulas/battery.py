"""The usual battery of metrics, as reports have it, in its order."""

from __future__ import annotations

BATTERY = ("nec", "nce", "nbs", "precision", "f1", "recall")
"""Of two classes and two decisions."""

BATTERY_OF_CLASSES = ("nec", "nce", "nbs", "accuracy", "macro_recall", "macro_f1")
"""Of more classes, or decisions."""

BATTERY_OF_ONE_CLASS = ("nec", "precision", "recall", "f1")
"""Of the decisions for a class against those for the rest."""

OF_RANKS = ("auc_roc", "average_precision", "eer", "min_cllr")
"""What scores that are not posteriors are judged by: their order."""
