"""Binned calibration errors of posteriors: the gap between mean posteriors and base rates.

They do not measure quality: a system that always returns the base rate has a calibration error of 0. To measure the quality of posteriors use
`cross_entropy` or `brier`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.keywords import parse_options
from polars_ec.arguments.options import PriorOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.calibration_error import (
    EceBins,
    calibration_error,
    calibration_term,
    in_bin,
    of_equal_mass,
    of_equal_width,
)
from polars_ec.formulas.sums import array, sum_where
from polars_ec.formulas.table_sums import Part
from polars_ec.records import dataclass
from polars_ec.scores.counted import CollectedSums, of_all_groups
from polars_ec.scores.read import Rows, RowSums, class_index, per_group
from polars_ec.typing import EceNorm, IntoExpr


@dataclass(frozen=True)
class _Confidences:
    """Inputs of a calibration error by row: a posterior, and whether its class is the true one."""

    posterior: pl.Expr
    holds: pl.Expr
    is_computed: bool
    """Whether the posterior is worked out from the scores, and not a column."""


_UNSUITABLE = "`bins` that is not a whole number above 0; an unknown `norm`; decisions instead of scores."

_SUMMED_BINS = 32
"""With more bins the plan has the weights once, and rows whose posteriors are computed are collected: planning would take seconds."""


def _of_class_1(rows: Rows) -> _Confidences:
    # A posterior that is given as such goes into the sums as it is: half the time of binding it.
    given = rows.options.scale.is_share
    posterior = rows.scores.posteriors[1] if given else rows.scores.of_posteriors(lambda q: q[1])
    return _Confidences(posterior, rows.labels.in_class[1], not given)


def _of_top_class(rows: Rows) -> _Confidences:
    holds = rows.decisions.index == class_index(rows.labels)
    return _Confidences(rows.scores.top_posterior, holds, is_computed=True)


def _calibration_error(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Mapping[str, Any],
    bins: EceBins,
    confidences: Callable[[Rows], _Confidences],
) -> pl.Expr:
    error_of = _of_equal_mass if bins.equal_mass else _of_equal_width

    def build(rows: Rows) -> pl.Expr:
        if confidences is _of_class_1 and len(rows.labels.in_class) != 2:
            raise ValueError(f"ece is for two classes, but there are {len(rows.labels.in_class)}: use ece_mc")
        sums = rows.sums()
        if isinstance(sums, CollectedSums):
            if bins.equal_mass:
                return sums.guarded_by_group(partial(of_equal_mass, bins=bins))
            gap, share = (sums.part(Part(name, bins=bins.number)) for name in ("gap", "bin_share"))
            return sums.guarded(calibration_error(sums.added(calibration_term(gap, share, bins.norm)), bins.norm))
        return sums.guarded(error_of(rows, sums, confidences(rows), bins))

    return per_group(name, score, label, parse_options(options), build)


def _of_equal_width(rows: Rows, sums: RowSums, confidences: _Confidences, bins: EceBins) -> pl.Expr:
    masks, weights = zip(*sums.row_weights, strict=True)
    if rows.options.scale.needs_prior or (bins.number > _SUMMED_BINS and confidences.is_computed):
        number = pl.coalesce(pl.when(mask).then(pl.lit(i, dtype=pl.Int8)) for i, mask in enumerate(masks))
        counted = pl.when(rows.usable).then(pl.lit(1.0) if rows.weight is None else rows.weight)
        columns = {"posterior": confidences.posterior, "holds": confidences.holds, "mass": counted, "weighed": number}
        return of_all_groups(columns, partial(of_equal_width, bins=bins), weights)
    inside = [in_bin(confidences.posterior, lower, bins.number) for lower in range(bins.number)]
    if bins.number <= _SUMMED_BINS:
        return _of_few_bins(rows, sums, confidences, inside, bins)
    gaps = [_gap(rows, confidences, mask & one) for mask in masks for one in inside]
    # Omit sums that norm 1 does not use.
    shares = [rows.amount(mask & one) for mask in masks for one in inside] if bins.norm == 2 else []
    # From elements of an Array, because Polars copies an expression at each use: the weights would be repeated in every bin.
    of_class = [pl.element().get(len(gaps) + len(shares) + i) for i in range(len(weights))]

    def expectation(start: int) -> pl.Expr:
        slices = [pl.element().slice(start + i * bins.number, bins.number) for i in range(len(weights))]
        return reduce(add, [weight * of_bins for weight, of_bins in zip(of_class, slices, strict=True)])

    term = calibration_term(expectation(0), expectation(len(gaps)) if shares else pl.lit(None), bins.norm)
    known = reduce(add, of_class).is_not_null()
    value = pl.when(known).then(calibration_error(term.sum(), bins.norm))
    return array([*gaps, *shares, *weights]).arr.agg(value)


def _of_few_bins(
    rows: Rows, sums: RowSums, confidences: _Confidences, inside: Sequence[pl.Expr], bins: EceBins
) -> pl.Expr:
    """The calibration error by expressions that a GPU takes too, with the weights in every bin."""
    terms = []
    for one in inside:
        gap = reduce(add, [weight * _gap(rows, confidences, mask & one) for mask, weight in sums.row_weights])
        share = reduce(add, [weight * rows.amount(mask & one) for mask, weight in sums.row_weights])
        terms.append(calibration_term(gap, share, bins.norm))
    return calibration_error(reduce(add, terms), bins.norm)


def _of_equal_mass(rows: Rows, sums: RowSums, confidences: _Confidences, bins: EceBins) -> pl.Expr:
    row_weight = pl.lit(1.0) if rows.weight is None else rows.weight
    defined: pl.Expr = pl.lit(value=True)
    if rows.prior is not None:
        # Class weights matter only at another prior. Without them whole numbers stay whole.
        by_class = [pl.when(mask).then(weight) for mask, weight in sums.row_weights]
        row_weight = row_weight * pl.coalesce(by_class)
        defined = reduce(add, [weight * rows.amount(mask) for mask, weight in sums.row_weights]).is_not_null()
    counted = pl.when(rows.usable).then(row_weight)
    columns = {"posterior": confidences.posterior, "holds": confidences.holds, "mass": counted}
    return pl.when(defined).then(of_all_groups(columns, lambda of_groups: of_equal_mass(of_groups, bins)))


def _gap(rows: Rows, confidences: _Confidences, mask: pl.Expr) -> pl.Expr:
    """Sum of posteriors minus outcomes over the rows in `mask`."""
    posterior = confidences.posterior if rows.weight is None else confidences.posterior * rows.weight
    return sum_where(mask, posterior) - rows.amount(mask & confidences.holds)


@with_options(PriorOptions, raises=f"{_UNSUITABLE} More than two classes.")
def ece(
    score: IntoExpr,
    label: IntoExpr,
    *,
    bins: int = 15,
    norm: EceNorm = 1,
    equal_mass: bool = False,
    **options: Unpack[PriorOptions],
) -> pl.Expr:
    """Expected calibration error (ECE) of binary posteriors: the gap between mean posterior and base rate, bin by bin.

    Lower is better, but it does not measure quality: a system that always returns the prior has 0. In [0, 1], a share, not percent. With
    norm=1 it is sum_b w_b |mean q_1 in b - share of class 1 in b|, where w_b is the share of the rows in bin b. With norm=2 it is the root of
    sum_b w_b (mean q_1 in b - share of class 1 in b)^2. Bin b of B is ((b-1)/B, b/B], closed on the right; a posterior of 0 is in the first
    bin. With `prior`, rows of class i are weighted by P_i / N_i.

    Parameters
    ----------
    score, label
        Column name or expression, one posterior per row.
    bins
        The number of bins of equal width, at least 1; in SQL at most 32. The value depends on it, so compare only values with the same number
        of bins. With LLRs, or log-odds in more than 32 bins, the posteriors of all rows are held in memory.
    norm
        1 (the usual ECE) or 2 (root mean square).
    equal_mass
        Use bins of equal weight instead of equal width. Bin b of B holds the posteriors q with (b-1)/B < F(q) <= b/B, where F(q) is the share
        of rows with a posterior of at most q. Rows with equal posteriors stay together, in the bin of the last of them. Bins that they fill
        before it stay empty. This is exact, but it sorts the rows of a group: it does not stream, and SQL does not offer it.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 27.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.8, 0.3, 0.1], "y": [1, 0, 0, 0]})
    >>> log.select(ec.ece("p", "y", bins=2).round(4)).item()
    0.275
    """
    return _calibration_error("ece", score, label, options, EceBins.of(bins, norm, equal_mass), _of_class_1)


@with_options(PriorOptions, raises=_UNSUITABLE)
def ece_mc(
    score: IntoExpr,
    label: IntoExpr,
    *,
    bins: int = 15,
    norm: EceNorm = 1,
    equal_mass: bool = False,
    **options: Unpack[PriorOptions],
) -> pl.Expr:
    """Expected calibration error of the top class: the gap between its mean posterior and its accuracy, bin by bin.

    Lower is better, but it does not measure quality, and it uses only one of the K posteriors. In [0, 1], a share, not percent. sum_b w_b
    |mean of max_k q_k in b - share of rows in b whose argmax_k q_k is the true class|, as for `ece`; the lowest index wins ties. With
    `prior`, rows of class i are weighted by P_i / N_i.

    Parameters
    ----------
    bins
        The number of bins of equal width in (0, 1], at least 1; those below 1/K stay empty. In SQL at most 32. With more than 32, or
        log-likelihoods, the posteriors of all rows are held in memory.
    norm, equal_mass
        As for `ece`. Bins of equal weight do not stream, and SQL does not offer them.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.5.2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"q": [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]], "y": [0, 2]}, schema_overrides={"q": pl.Array(float, 3)})
    >>> log.select(ec.ece_mc("q", "y", bins=5).round(4)).item()
    0.45
    """
    return _calibration_error("ece_mc", score, label, options, EceBins.of(bins, norm, equal_mass), _of_top_class)
