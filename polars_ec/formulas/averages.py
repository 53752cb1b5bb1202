"""One-vs-rest metrics, averages of them, and the correlation of K classes with their decisions."""

from __future__ import annotations

import polars as pl

from polars_ec.formulas.sums import Detector, Sums, ratio, term


class Detectors:
    """Each class against the rest, as columns of one value per class."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self._columns = sums, sums.per_class()
        self.prior, self.of_others, self.one = self._columns.prior, self._columns.of_others, self._columns.one
        self.each = Detector(self._columns.hits, self._columns.misses, self.of_others("alarms"))

    def per_class(self, value: pl.Expr) -> pl.Expr:
        """The values of all classes, as an Array; null where there are no rows or no priors."""
        return pl.when((self.sums.size != 0) & self.sums.knows_prior).then(self._columns.each(value))

    def macro(self, value: pl.Expr) -> pl.Expr:
        """The mean over the classes."""
        return self.one(_total(value) / self.sums.n_classes)

    def weighted(self, value: pl.Expr) -> pl.Expr:
        """The mean over the classes, weighted by the priors."""
        return self.one(_total(term(self.prior, value)))

    @property
    def pooled(self) -> Detector:
        """The detector that has the hits, misses and alarms of all."""
        return Detector(_total(self.each.hits), _total(self.each.misses), _total(self.each.alarms))


def class_recall(sums: Sums) -> pl.Expr:
    # No prior moves it, and so it needs none.
    return pl.when(sums.size != 0).then(sums.each(lambda of: of.rate(right=True)))


def class_nec(detectors: Detectors) -> pl.Expr:
    """NEC of each class against the rest, all errors costing the same."""
    rest = detectors.of_others("rest")
    errors = detectors.each.misses + detectors.each.alarms
    return detectors.per_class(ratio(errors, pl.min_horizontal(detectors.prior, rest)))


def f1_of_averages(detectors: Detectors) -> pl.Expr:
    """The harmonic mean of macro precision and macro recall."""
    sums = detectors.sums
    recall_of_all = sums.over_classes(lambda of: of.rate(right=True)) / sums.n_classes

    def harmonic(precision: pl.Expr, recall: pl.Expr) -> pl.Expr:
        # Without hits both are 0.
        return 2 * precision * ratio(recall, precision + recall)

    return sums.bound([detectors.macro(detectors.each.precision), recall_of_all], harmonic)


def class_correlation(detectors: Detectors) -> pl.Expr:
    """Sum of the K detectors' covariances over the root of those of their variances, with as many decisions as classes."""
    d = detectors.each
    rejections = detectors.of_others("rejections")
    # From the four probabilities, because products of margins cancel if a class is rare.
    covariance = d.hits * rejections - d.misses * d.alarms
    of_class = (d.hits + d.misses) * (d.alarms + rejections)
    of_decision = (d.hits + d.alarms) * (d.misses + rejections)
    # The root of the product without overflow or underflow, exact for equal factors.
    root = _total(of_class) * ratio(_total(of_decision), _total(of_class)).sqrt()
    # It is at most 1 but for rounding.
    return detectors.one(ratio(_total(covariance), root).clip(-1, 1))


def decision_share(sums: Sums, decision: int) -> pl.Expr:
    """R_*j: the probability of the decision, whatever the class."""
    return sums.over_classes(lambda of: term(of.prior, of.share(decision)))


def _total(values: pl.Expr) -> pl.Expr:
    """The sum over the classes; null where a class has no value, over which Polars would pass."""
    return pl.when(values.null_count() == 0).then(values.sum())
