"""Metrics of the rates of two classes, which do not depend on priors, with class 1 as the positive one."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.metrics.decisions import NOT_BINARY, decision_metric
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions, raises=NOT_BINARY)
def recall(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of the positive class that is decided positive (sensitivity); it does not depend on priors.

    Higher is better; in [0, 1]. R_11 = TP / N_1.

    Returns
    -------
    Float64, one per group; null if there are no positives.

    References
    ----------
    Ferrer, "The expected cost", section 3.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.recall("p", "y").round(4)).item()
    0.5
    """
    return decision_metric("recall", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def specificity(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of the negative class that is decided negative; it does not depend on priors.

    Higher is better; in [0, 1]. R_00 = TN / N_0.

    Returns
    -------
    Float64, one per group; null if there are no negatives.

    References
    ----------
    Ferrer, "The expected cost", appendix C.2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.specificity("p", "y").round(4)).item()
    0.6667
    """
    return decision_metric("specificity", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def fpr(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """False positive rate: share of the negative class that is decided positive.

    Lower is better; in [0, 1]. R_01 = FP / N_0.

    Returns
    -------
    Float64, one per group; null if there are no negatives.

    References
    ----------
    Ferrer, "The expected cost", Eq. 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.fpr("p", "y").round(4)).item()
    0.3333
    """
    return decision_metric("fpr", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def fnr(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """False negative rate: share of the positive class that is decided negative.

    Lower is better; in [0, 1]. R_10 = FN / N_1.

    Returns
    -------
    Float64, one per group; null if there are no positives.

    References
    ----------
    Ferrer, "The expected cost", Eq. 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.fnr("p", "y").round(4)).item()
    0.5
    """
    return decision_metric("fnr", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def informedness(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """True-positive rate minus false-positive rate (Youden's J); it does not depend on priors.

    Higher is better; in [-1, 1]: 0 is uninformative. R_11 - R_01: recall plus specificity minus 1, or 1 - 2 balanced_error_rate.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Youden, "Index for rating diagnostic tests", 1950; Ferrer, "The expected cost", Eq. 6, for the balanced error rate.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.informedness("p", "y").round(4)).item()
    0.1667
    """
    return decision_metric("informedness", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def lr_plus(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Likelihood ratio of a positive decision; it does not depend on priors.

    Higher is better; in [0, inf]. R_11 / R_01, inf without false positives.

    Returns
    -------
    Float64, one per group; null if R_11 = R_01 = 0 or a class has no rows.

    References
    ----------
    Ferrer, "The expected cost", appendix C.2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.lr_plus("p", "y").round(4)).item()
    1.5
    """
    return decision_metric("lr_plus", score, label, options)


@with_options(DecisionOptions, raises=NOT_BINARY)
def lr_minus(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Likelihood ratio of a negative decision; it does not depend on priors.

    Lower is better; in [0, inf]. R_10 / R_00, inf without true negatives.

    Returns
    -------
    Float64, one per group; null if R_10 = R_00 = 0 or a class has no rows.

    References
    ----------
    Ferrer, "The expected cost", appendix C.2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.lr_minus("p", "y").round(4)).item()
    0.75
    """
    return decision_metric("lr_minus", score, label, options)
