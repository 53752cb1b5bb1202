"""One-vs-rest metrics, averages of them, and the correlation of K classes with their decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from polars_ec.formulas.sums import Detector, Sums, ratio, term


class Detectors:
    """Each class against the rest: one detector on columns with a value per class, or one for each class."""

    def __init__(self, sums: Sums) -> None:
        self.sums, columns = sums, sums.per_class()
        self.prior, self.of_others, self.one, self.total = columns.prior, columns.of_others, columns.one, columns.total
        self._packed = columns.each
        self.each = [Detector(*of) for of in zip(columns.hits, columns.misses, self.of_others("alarms"), strict=True)]

    def per_class(self, values: Iterable[pl.Expr]) -> pl.Expr:
        """The values of all classes, as an Array; null where there are no rows or no priors."""
        return pl.when((self.sums.size != 0) & self.sums.knows_prior).then(self._packed([*values]))

    def macro(self, value: Callable[[Detector], pl.Expr]) -> pl.Expr:
        """The mean over the classes."""
        return self.one(self.total(map(value, self.each)) / self.sums.n_classes)

    def weighted(self, value: Callable[[Detector], pl.Expr]) -> pl.Expr:
        """The mean over the classes, weighted by the priors."""
        return self.one(self.total(term(p, value(of)) for p, of in zip(self.prior, self.each, strict=True)))

    @property
    def pooled(self) -> Detector:
        """The detector that has the hits, misses and alarms of all."""
        parts = zip(*((of.hits, of.misses, of.alarms) for of in self.each), strict=True)
        return Detector(*map(self.total, parts))


def class_recall(sums: Sums) -> pl.Expr:
    # No prior moves it, and so it needs none.
    return pl.when(sums.size != 0).then(sums.each(lambda of: of.rate(right=True)))


def class_nec(detectors: Detectors) -> pl.Expr:
    """NEC of each class against the rest, all errors costing the same."""
    classes = zip(detectors.each, detectors.prior, detectors.of_others("rest"), strict=True)
    return detectors.per_class(ratio(of.misses + of.alarms, pl.min_horizontal(p, rest)) for of, p, rest in classes)


def f1_of_averages(detectors: Detectors) -> pl.Expr:
    """The harmonic mean of macro precision and macro recall."""
    sums = detectors.sums
    recall_of_all = sums.over_classes(lambda of: of.rate(right=True)) / sums.n_classes

    def harmonic(mean: pl.Expr, recall: pl.Expr) -> pl.Expr:
        # Without hits both are 0.
        return 2 * mean * ratio(recall, mean + recall)

    return sums.bound([detectors.macro(Detector.precision), recall_of_all], harmonic)


def class_correlation(detectors: Detectors) -> pl.Expr:
    """Sum of the K detectors' covariances over the root of those of their variances, with as many decisions as classes."""
    classes = [*zip(detectors.each, detectors.of_others("rejections"), strict=True)]
    # From the four probabilities, because products of margins cancel if a class is rare.
    covariance = detectors.total(of.hits * rejections - of.misses * of.alarms for of, rejections in classes)
    of_class = detectors.total((of.hits + of.misses) * (of.alarms + rejections) for of, rejections in classes)
    of_decision = detectors.total((of.hits + of.alarms) * (of.misses + rejections) for of, rejections in classes)
    # The root of the product without overflow or underflow, exact for equal factors.
    root = of_class * ratio(of_decision, of_class).sqrt()
    # It is at most 1 but for rounding.
    return detectors.one(ratio(covariance, root).clip(-1, 1))


def decision_share(sums: Sums, decision: int) -> pl.Expr:
    """R_*j: the probability of the decision, whatever the class."""
    return sums.over_classes(lambda of: term(of.prior, of.share(decision)))
