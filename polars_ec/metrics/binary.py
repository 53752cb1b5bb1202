"""Decision metrics for two classes and two decisions, with class 1 as the positive one, and MCC."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_ec.arguments.keywords import parse_beta, parse_number
from polars_ec.arguments.options import DecisionOptions, ThresholdOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.metrics.decisions import NOT_BINARY, decision_metric
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions, raises=NOT_BINARY)
def precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of the positive decisions that are right; with `prior`, the calibrated precision.

    Higher is better; in [0, 1]. P_1 R_11 / (P_1 R_11 + P_0 R_01).

    Returns
    -------
    Float64, one per group; null if no row is decided positive or a class with prior above 0 has no rows.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", section 2, and Eq. 5 for the calibrated precision.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.precision("p", "y", prior=0.5).round(4)).item()
    0.6
    """
    return decision_metric("precision", score, label, options)


@with_options(DecisionOptions, raises=f"A `beta` that is not above 0, or infinite. {NOT_BINARY}")
def fbeta(score: IntoExpr, label: IntoExpr, *, beta: float = 1.0, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """F score, in which recall counts beta times as much as precision; with `prior`, calibrated.

    Higher is better; in [0, 1]. (1 + beta^2) P_1 R_11 / ((1 + beta^2) P_1 R_11 + beta^2 P_1 R_10 + P_0 R_01).

    Parameters
    ----------
    beta
        The weight of recall relative to precision, above 0 and finite.

    Returns
    -------
    Float64, one per group; null if the denominator is 0 or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 9 to 12; Siblini et al., "Master your metrics with calibration", section 3.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.fbeta("p", "y", beta=2.0).round(4)).item()
    0.5
    """
    return decision_metric("fbeta", score, label, options, beta=parse_beta(beta))


@with_options(DecisionOptions, raises=NOT_BINARY)
def f1(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Harmonic mean of precision and recall; with `prior`, calibrated.

    Higher is better; in [0, 1]. 2 P_1 R_11 / (2 P_1 R_11 + P_1 R_10 + P_0 R_01).

    Returns
    -------
    Float64, one per group; null if the denominator is 0 or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 9; Siblini et al., "Master your metrics with calibration", Eq. 2 and section 3.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.f1("p", "y").round(4)).item()
    0.5
    """
    return decision_metric("f1", score, label, options)


@with_options(DecisionOptions, raises="More or fewer decisions than classes.")
def mcc(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Matthews correlation coefficient between class and decision; for K classes Gorodkin's R_K.

    Higher is better; in [-1, 1]. sqrt(P_0 P_1) (R_11 - R_01) / sqrt(R_*1 R_*0), where R_*j is the share of all rows with decision j. For K
    classes sum_k P_k (R_kk - R_*k) / sqrt((1 - sum_k P_k^2) (1 - sum_k R_*k^2)), which agrees for K = 2.

    Returns
    -------
    Float64, one per group; null if one class has all the prior, all decisions are equal, or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 13 and 14; Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient",
    2004.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.mcc("p", "y").round(4)).item()
    0.1667
    """
    return decision_metric("mcc", score, label, options)


@with_options(ThresholdOptions, raises=f"A `p_t` outside (0, 1). {NOT_BINARY}")
def net_benefit(score: IntoExpr, label: IntoExpr, p_t: float, **options: Unpack[ThresholdOptions]) -> pl.Expr:
    """Net benefit per row of deciding positive above the posterior p_t: hits minus weighted false alarms.

    Higher is better; at most the prior of the positive class. P_1 R_11 - p_t/(1 - p_t) P_0 R_01, which is P_1 minus the expected cost at
    costs 1 (miss) and p_t/(1 - p_t) (false alarm).

    Parameters
    ----------
    p_t
        Probability above 0 and below 1. Rows with posterior > p_t are decided positive, unless `threshold` is given.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", appendix C.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.net_benefit("p", "y", 0.2).round(4)).item()
    0.35
    """
    share = parse_number(p_t, "p_t")
    if not 0 < share < 1:
        raise ValueError(f"p_t={p_t!r} is not a probability threshold: pass a number above 0 and below 1")
    # These costs have p_t as their Bayes threshold, to the last bit: p_t + (1 - p_t) rounds to 1.
    costs = {"cost_fp": share, "cost_fn": 1 - share}
    return decision_metric("net_benefit", score, label, {**options, **costs}, p_t=share)


@with_options(DecisionOptions, raises=NOT_BINARY)
def precision_gain(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Precision rescaled so that deciding every case positive is 0 and perfection is 1; it does not depend on priors.

    Higher is better; in [-inf, 1]. (precision - P_1) / ((1 - P_1) precision) = 1 - R_01/R_11.

    Returns
    -------
    Float64, one per group; null if no row is decided positive, or a class has no rows.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", Eq. 3 and section 3.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.precision_gain("p", "y").round(4)).item()
    0.3333
    """
    return decision_metric("precision_gain", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def recall_gain(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Recall rescaled so that a recall equal to the prior is 0 and perfection is 1; with `prior`, calibrated.

    Higher is better; in [-inf, 1]. (recall - P_1) / ((1 - P_1) recall) = 1 - (P_1/P_0) R_10/R_11.

    Returns
    -------
    Float64, one per group; null if a class has no rows or P_0 = 0.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", Eq. 4 and section 3.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.recall_gain("p", "y").round(4)).item()
    0.3333
    """
    return decision_metric("recall_gain", score, label, options)
