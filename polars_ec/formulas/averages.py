"""Metrics of each class against the rest, averages of them, and the correlation of K classes with their decisions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import add

import polars as pl

from polars_ec.formulas.detectors import Detector
from polars_ec.formulas.sums import Sums, array, ratio, term


class Detectors:
    """Each class against the rest, as columns of one value per class.

    Polars copies an expression wherever it is used, and a sum over rows holds the decision of a row, which is long. So the sums
    are made once, parts of an Array, and formulas are of slices of its elements.
    """

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        classes = range(sums.n_classes)
        self._parts = [
            array(sums.prior),
            array(sums.count(k) for k in classes),
            array(sums.cell(k, [k]) for k in classes),
            array(sums.cell(k, _others(k, sums.n_decisions)) for k in classes),
            sums.of_others([[k] for k in classes]),
        ]
        self.prior, count, hits, misses, alarms = map(self._slice, range(5))
        hits, misses = (term(self.prior, ratio(cell, count)) for cell in (hits, misses))
        self.each = Detector(hits, misses, alarms)

    def of_others(self, decided: Sequence[Collection[int]]) -> pl.Expr:
        """For each class the probability of any other class and of one of these decisions."""
        self._parts.append(self.sums.of_others(decided))
        return self._slice(len(self._parts) - 1)

    def per_class(self, value: pl.Expr) -> pl.Expr:
        """The values of all classes, as an Array; null where there are no rows or no priors."""
        values = pl.concat_arr(self._parts).arr.agg(value.implode()).cast(pl.Array(pl.Float64, self.sums.n_classes))
        return pl.when((self.sums.size != 0) & self.sums.prior[0].is_not_null()).then(values)

    def one(self, value: pl.Expr) -> pl.Expr:
        """One value, of sums over the classes."""
        return pl.concat_arr(self._parts).arr.agg(value)

    def _slice(self, part: int) -> pl.Expr:
        return pl.element().slice(part * self.sums.n_classes, self.sums.n_classes)


def class_precision(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.per_class(detectors.each.precision)


def class_recall(sums: Sums) -> pl.Expr:
    # No prior moves it, and so it needs none.
    return pl.when(sums.size != 0).then(pl.concat_arr(_recalls(sums)))


def class_f1(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.per_class(detectors.each.fbeta(1.0))


def class_nec(sums: Sums) -> pl.Expr:
    """NEC of each class against the rest, all errors costing the same."""
    detectors = Detectors(sums)
    rest = detectors.of_others([range(sums.n_decisions)] * sums.n_classes)
    errors = detectors.each.misses + detectors.each.alarms
    return detectors.per_class(ratio(errors, pl.min_horizontal(detectors.prior, rest)))


def macro_precision(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_total(detectors.each.precision) / sums.n_classes)


def macro_f1(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_total(detectors.each.fbeta(1.0)) / sums.n_classes)


def f1_of_averages(sums: Sums) -> pl.Expr:
    """The harmonic mean of macro precision and macro recall."""
    means = array([macro_precision(sums), reduce(add, _recalls(sums)) / sums.n_classes])
    precision, recall = pl.element().first(), pl.element().last()
    # Without hits both are 0, and so it is.
    harmonic = pl.when(recall == 0).then(precision).otherwise(2 * precision * (recall / (precision + recall)))
    return means.arr.agg(harmonic)


def micro_precision(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_pooled(detectors.each).precision)


def micro_f1(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_pooled(detectors.each).fbeta(1.0))


def weighted_precision(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_total(term(detectors.prior, detectors.each.precision)))


def weighted_f1(sums: Sums) -> pl.Expr:
    detectors = Detectors(sums)
    return detectors.one(_total(term(detectors.prior, detectors.each.fbeta(1.0))))


def class_correlation(sums: Sums) -> pl.Expr:
    """Of K classes with as many decisions: the sum of the detectors' covariances over the root of those of their variances."""
    detectors = Detectors(sums)
    d = detectors.each
    rejections = detectors.of_others([_others(k, sums.n_decisions) for k in range(sums.n_classes)])
    # Of the four probabilities, for where a class is rare a product of margins cancels most of another one.
    covariance = d.hits * rejections - d.misses * d.alarms
    of_class = (d.hits + d.misses) * (d.alarms + rejections)
    of_decision = (d.hits + d.alarms) * (d.misses + rejections)
    # The root of the product, which neither overflows nor underflows, and is exact where the two are the same.
    root = _total(of_class) * ratio(_total(of_decision), _total(of_class)).sqrt()
    # It is at most 1 but for rounding.
    return detectors.one(ratio(_total(covariance), root).clip(-1, 1))


def decision_share(sums: Sums, decision: int) -> pl.Expr:
    """R_*j: the probability of the decision, whatever the class."""
    return reduce(add, [sums.joint(i, [decision]) for i in range(sums.n_classes)])


def _total(values: pl.Expr) -> pl.Expr:
    """The sum over the classes; null where a class has no value, over which Polars would pass."""
    return pl.when(values.null_count() == 0).then(values.sum())


def _pooled(each: Detector) -> Detector:
    """The sums over all classes of their hits, misses and false alarms."""
    return Detector(_total(each.hits), _total(each.misses), _total(each.alarms))


def _recalls(sums: Sums) -> list[pl.Expr]:
    return [sums.rate(k, [k]) for k in range(sums.n_classes)]


def _others(k: int, number: int) -> list[int]:
    return [i for i in range(number) if i != k]
