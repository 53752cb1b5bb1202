"""What a page says about itself: what it leaves out, and what is approximate."""

from __future__ import annotations

AT_BAYES = "where they cost least if the scores are right"
INDEPENDENT = (
    "Limits and p-values are as of independent rows, for no clusters were stated: where rows are alike, as those of one user or one "
    "day, limits are too close."
)
NO_PRIOR = (
    "There is no reference prior: the shares of the classes in the whole log could not be counted, for rows are wrong, all "
    "are of one class, or there are none."
)
SAME_ROWS = "What calibration gains (RCL) is of calibrators fitted to the very rows, for there are no folds: of small groups it is too much."
WITHIN_BOUNDS = "known within bounds only at these costs or this threshold, for the sketch was made without: name them in its thresholds="


def no_parts(metric: str) -> str:
    """Of a metric whose change has none."""
    return f"Changes are not told: {metric} is made of the order of scores and not of sums."


def few_buckets(buckets: int | None, needed: int) -> str:
    """Of a sketch whose clusters are too few for comparisons."""
    return f"Nothing is compared: the sketch has {buckets} buckets of clusters, and p-values need {needed} or more."


def without_period(rows: int, period: str) -> str:
    """Of rows that are in no period."""
    return f"{rows:,} rows have no {period}: they are in what is said of groups and of the whole log, and in no period."


def some_trends(shown: int, groups: int) -> str:
    """Of more groups and periods than a page shows."""
    return f"Trends are of {shown:,} of {groups:,} groups: of the largest, and of those of the others that are worst."


def some_calibrated(shown: int) -> str:
    """Of groups whose calibration loss has no limits."""
    return f"What calibration gains (RCL) has limits in the {shown:,} largest groups alone."
