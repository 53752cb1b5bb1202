"""Averages over classes of precision, recall and F1 of each class against the rest."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.metrics.decisions import decision_metric
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions)
def macro_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the precision of the class against the rest.

    Higher is better; in [0, 1]. (1/K) sum_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik.

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

    Returns
    -------
    Float64, one per group; null if nothing is decided for some class, where scikit-learn takes 0 for its precision, or a class with
    prior above 0 has no rows.

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
    """Mean over classes of the share of the class that is decided so, which is `balanced_accuracy`; priors do not move it.

    Higher is better; in [0, 1]. (1/K) sum_k R_kk: unlike other averages over classes it is one minus an expected cost, that of the
    costs 1/(K P_i) of an error in class i (`CostMatrix.balanced`).

    Returns
    -------
    Float64, one per group; null if any class has no rows, for which scikit-learn takes 0.

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
    """Mean over classes of the F1 of the class against the rest; `f1_of_averages` is the other F that is called macro.

    Higher is better; in [0, 1]. (1/K) sum_k 2 P_k R_kk / (P_k + sum_i P_i R_ik).

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

    Returns
    -------
    Float64, one per group; null if some class has prior 0 and nothing is decided for it, for which scikit-learn takes 0, or
    a class with prior above 0 has no rows.

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

    Higher is better; in [0, 1]. 2 p r / (p + r), with p = (1/K) sum_k P_k R_kk / sum_i P_i R_ik and r = (1/K) sum_k R_kk. Both are
    called macro F1 by some: scikit-learn's is `macro_f1`, and this one is never below it.

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

    Returns
    -------
    Float64, one per group; null if nothing is decided for some class, any class has no rows, or no decision is right.

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

    Higher is better; in [0, 1]. sum_k P_k R_kk / sum_k sum_i P_i R_ik. Where every decision is for a class it is `accuracy`; where
    some abstain, it is the accuracy of the others.

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

    Returns
    -------
    Float64, one per group; null if nothing is decided for a class or a class with prior above 0 has no rows.

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
    """Share of rows that are decided for their class, which is `accuracy`.

    Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost of 0-1 costs.

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
    """F1 of all classes' hits, misses and false alarms together.

    Higher is better; in [0, 1]. 2 a / (1 + b), with a = sum_k P_k R_kk and b = sum_k sum_i P_i R_ik. Where every decision is for a
    class it is `accuracy`.

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

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
    """Mean over classes, weighted by their priors, of the precision of the class against the rest.

    Higher is better; in [0, 1]. sum_k P_k p_k, with p_k = P_k R_kk / sum_i P_i R_ik.

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

    Returns
    -------
    Float64, one per group; null if nothing is decided for some class with prior above 0, where scikit-learn takes 0 for its
    precision, or such a class has no rows.

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
    """Mean over classes, weighted by their priors, of the share of the class that is decided so, which is `accuracy`.

    Higher is better; in [0, 1]. sum_k P_k R_kk: one minus the expected cost of 0-1 costs.

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
    """Mean over classes, weighted by their priors, of the F1 of the class against the rest.

    Higher is better; in [0, 1]. sum_k P_k 2 P_k R_kk / (P_k + sum_i P_i R_ik).

    It judges K detectors, and not the decisions that are taken: it need not follow what they cost, which `nec` does.

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
