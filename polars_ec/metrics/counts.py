"""Counts of a group: confusion counts, used and unused rows, and class priors."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from polars_ec.arguments.keywords import BY_ROW, parse_options
from polars_ec.arguments.options import CountOptions, DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.sums import pack_confusion
from polars_ec.scores.counted import CollectedSums
from polars_ec.scores.read import Rows, count_rows, empirical_prior, per_group
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions)
def confusion(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Counts N_ij of the rows of class i with decision j: rows of the matrix are true classes, columns are decisions.

    Parameters
    ----------
    prior
        Class priors, only for the Bayes decisions of "llr" and "log_likelihoods". Pass the prior of the positive class, one per class (a
        sequence in class order, or a mapping from class), "uniform", or an expression that is constant in the group.

    Returns
    -------
    Binary: a struct of tn, fp, fn and tp, Int64, or Float64 sums of weights. Otherwise an Array (K x M) of these types. Null if the group has
    invalid rows; all 0 without usable rows.

    References
    ----------
    Ferrer, "The expected cost", section 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.confusion("p", "y", threshold=0.5)).item()
    {'tn': 1, 'fp': 1, 'fn': 1, 'tp': 1}
    """
    return per_group("confusion", score, label, parse_options(options, BY_ROW), _confusion)


def _confusion(rows: Rows) -> pl.Expr:
    sums, dtype = rows.sums(), pl.Int64 if rows.weight is None else pl.Float64
    if isinstance(sums, CollectedSums):
        return sums.confusion(dtype)
    cells = [[sums.cell(i, [j]) for j in range(sums.n_decisions)] for i in range(sums.n_classes)]
    return sums.guarded(pack_confusion(cells, dtype))


@with_options(CountOptions)
def n_rows(score: IntoExpr, label: IntoExpr, **options: Unpack[CountOptions]) -> pl.Expr:
    """Number of rows that metrics use: those without missing or invalid values.

    n_rows + n_missing + n_invalid is the number of rows of the group. Weights do not count.

    Returns
    -------
    Int64, never null.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, None, 0.7], "y": [1, 1, 0]})
    >>> log.select(ec.n_rows("p", "y")).item()
    2
    """
    return per_group("n_rows", score, label, parse_options(options), lambda rows: count_rows(rows.usable))


@with_options(CountOptions)
def n_missing(score: IntoExpr, label: IntoExpr, **options: Unpack[CountOptions]) -> pl.Expr:
    """Number of rows with missing values: the label, the score (or a part of it) or the weight is null. They are left out.

    Returns
    -------
    Int64, never null.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, None, 0.7], "y": [1, 1, None]})
    >>> log.select(ec.n_missing("p", "y")).item()
    2
    """
    return per_group("n_missing", score, label, parse_options(options), lambda rows: count_rows(~rows.present))


@with_options(CountOptions)
def n_invalid(score: IntoExpr, label: IntoExpr, **options: Unpack[CountOptions]) -> pl.Expr:
    """Number of rows with invalid values; a single one makes the metrics of the group null.

    Invalid scores are NaN, posteriors outside [0, 1], vectors that do not sum to 1 within 1e-6 or have another length, and unknown decisions.
    Labels are invalid if they are not a class, and weights if they are negative, infinite or NaN.

    Returns
    -------
    Int64, never null.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 1.5, float("nan")], "y": [1, 1, 0]})
    >>> log.select(ec.n_invalid("p", "y")).item()
    2
    """
    return per_group("n_invalid", score, label, parse_options(options), lambda rows: count_rows(rows.invalid))


@with_options(CountOptions)
def class_prior(score: IntoExpr, label: IntoExpr, **options: Unpack[CountOptions]) -> pl.Expr:
    """Base rate of the positive class (binary) or share of each class, by weight, among the rows that metrics use.

    In [0, 1]. P_i = N_i / N, where N is the number of all these rows.

    Returns
    -------
    Float64, one per group; with more than two classes an Array of K.

    References
    ----------
    Ferrer, "The expected cost", Eq. 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.2, 0.7, 0.1], "y": [1, 0, 0, 0]})
    >>> log.select(ec.class_prior("p", "y")).item()
    0.25
    """
    return per_group("class_prior", score, label, parse_options(options), empirical_prior)
