"""Averages over classes of one-vs-rest precision, recall and F1."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.metrics.decisions import decision_metric
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions)
def macro_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the one-vs-rest precision.

    Higher is better; in [0, 1]. (1/K) sum_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik. It judges K detectors, and may disagree with `nec`,
    the cost of the decisions.

    Returns
    -------
    Float64, one per group; null if no row is decided for some class, or a class with prior above 0 has no rows. In the first case
    scikit-learn sets the precision to 0.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.macro_precision("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.7222
    """
    return decision_metric("macro_precision", score, label, options)


@with_options(DecisionOptions)
def macro_recall(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the recall, which equals `balanced_accuracy`; it does not depend on priors.

    Higher is better; in [0, 1]. (1/K) sum_k R_kk. Unlike other averages over classes it is one minus an expected cost, with costs 1/(K P_i)
    for an error in class i (`CostMatrix.balanced`).

    Returns
    -------
    Float64, one per group; null if any class has no rows, in which case scikit-learn sets its recall to 0.

    References
    ----------
    Ferrer, "The expected cost", Eq. 6.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.macro_recall("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6667
    """
    return decision_metric("macro_recall", score, label, options)


@with_options(DecisionOptions)
def macro_f1(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the one-vs-rest F1; `f1_of_averages` is another metric that some call macro F1.

    Higher is better; in [0, 1]. (1/K) sum_k 2 P_k R_kk / (P_k + sum_i P_i R_ik). It judges K detectors, and may disagree with `nec`, the cost
    of the decisions.

    Returns
    -------
    Float64, one per group; null if some class has prior 0 and no row is decided for it, or a class with prior above 0 has no rows. In the
    first case scikit-learn sets the F1 to 0.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.macro_f1("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6556
    """
    return decision_metric("macro_f1", score, label, options)


@with_options(DecisionOptions)
def f1_of_averages(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Harmonic mean of macro precision and macro recall; `macro_f1` is the mean of the F1 of the classes.

    Higher is better; in [0, 1]. 2 p r / (p + r), with p = (1/K) sum_k P_k R_kk / sum_i P_i R_ik and r = (1/K) sum_k R_kk. Both metrics are
    called macro F1 in the literature. scikit-learn has `macro_f1`, which is never above this one. It judges K detectors, and may disagree
    with `nec`, the cost of the decisions.

    Returns
    -------
    Float64, one per group; null if no row is decided for some class, any class has no rows, or no decision is right.

    References
    ----------
    Ferrer, "The expected cost", section 3.3; Opitz and Burst, "Macro F1 and Macro F1", section 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.f1_of_averages("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6933
    """
    return decision_metric("f1_of_averages", score, label, options)


@with_options(DecisionOptions)
def micro_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of the decisions for any class that are right.

    Higher is better; in [0, 1]. sum_k P_k R_kk / sum_k sum_i P_i R_ik. If every decision is for a class, it equals `accuracy`. If some
    decisions abstain, it is the accuracy of the others. It judges K detectors, and may disagree with `nec`, the cost of the decisions.

    Returns
    -------
    Float64, one per group; null if no row is decided for a class or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.micro_precision("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6667
    """
    return decision_metric("micro_precision", score, label, options)


@with_options(DecisionOptions)
def micro_recall(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of rows that are decided for their class, which equals `accuracy`.

    Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost at 0-1 costs.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 5.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.micro_recall("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6667
    """
    return decision_metric("micro_recall", score, label, options)


@with_options(DecisionOptions)
def micro_f1(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """F1 from the hits, misses and false alarms of all classes together.

    Higher is better; in [0, 1]. 2 a / (1 + b), with a = sum_k P_k R_kk and b = sum_k sum_i P_i R_ik. If every decision is for a class, it
    equals `accuracy`. It judges K detectors, and may disagree with `nec`, the cost of the decisions.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.micro_f1("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6667
    """
    return decision_metric("micro_f1", score, label, options)


@with_options(DecisionOptions)
def weighted_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the one-vs-rest precision, weighted by the priors.

    Higher is better; in [0, 1]. sum_k P_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik. It judges K detectors, and may disagree with `nec`, the
    cost of the decisions.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows, or no row is decided for it. In the latter case scikit-learn sets
    its precision to 0.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.weighted_precision("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.7222
    """
    return decision_metric("weighted_precision", score, label, options)


@with_options(DecisionOptions)
def weighted_recall(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the recall, weighted by the priors, which equals `accuracy`.

    Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost at 0-1 costs.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 5.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.weighted_recall("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6667
    """
    return decision_metric("weighted_recall", score, label, options)


@with_options(DecisionOptions)
def weighted_f1(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the one-vs-rest F1, weighted by the priors.

    Higher is better; in [0, 1]. sum_k P_k 2 P_k R_kk / (P_k + sum_i P_i R_ik). It judges K detectors, and may disagree with `nec`, the cost
    of the decisions.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.weighted_f1("d", "y", score_type="decision", costs=costs).round(4)).item()
    0.6556
    """
    return decision_metric("weighted_f1", score, label, options)
