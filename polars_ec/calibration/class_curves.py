"""Calibrators of K posteriors for rows in memory: softmax of curves in the log posteriors, with replicates of the fit.

Arrays have classes first and rows last, so that sums over rows are of numbers side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from polars_ec.calibration.calibration import REVERSED
from polars_ec.calibration.logistic_newton import CLOSE_ENOUGH, ROUNDING, Batch, fit_softmax
from polars_ec.calibration.multiclass import settled
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np, quiet

ClassCalibrator: TypeAlias = Literal["spline", "affine", "temperature"]
"""Calibrators of K posteriors; those of `calibrate` have one slope for all classes."""

_KNOTS = (0.2, 0.4, 0.6, 0.8)
# The precision of the normal prior of a class's slopes around the mean of all classes, beside 1 for changes of slope.
_ALIKE = 10.0
_MAX_STEPS = 100
# Numbers that are worked on at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class ClassCurves:
    """Curves of all classes: (fits, classes, parameters), an intercept and the slope of each segment between knots, for scores times 1 / `scale`."""

    knots: Floats
    scale: float
    place: Floats

    def basis(self, logs: Floats) -> Floats:
        """What parameters multiply, (classes, parameters, rows); 0 for a log posterior of -inf."""
        first = self.knots[0] if len(self.knots) else 0.0
        ends = zip([-np.inf, *self.knots], [*self.knots, np.inf], [first, *self.knots], strict=True)
        finite = np.where(np.isfinite(logs), logs, first)
        segments = [(np.clip(finite, low, high) - origin) / self.scale for low, high, origin in ends]
        return np.stack([np.ones_like(logs), *segments], axis=1)

    def posteriors(self, logs: Floats, fits: slice = slice(None)) -> Floats:
        """Calibrated posteriors, (classes, fits, rows), for log posteriors (classes, rows); one of 0 stays so."""
        z = self.place[fits].swapaxes(0, 1) @ self.basis(logs)
        z = np.where((logs > -np.inf)[:, None], z, -np.inf)
        z -= z.max(axis=0)
        np.exp(z, out=z)
        z /= z.sum(axis=0)
        return z


def uncalibrated(n_fits: int, n_classes: int) -> ClassCurves:
    """Posteriors as they are."""
    return ClassCurves(np.zeros(0), 1.0, np.tile([0.0, 1.0], (n_fits, n_classes, 1)))


@dataclass(frozen=True)
class LabelledRows:
    """Log posteriors, (classes, rows), the classes of the rows and their weights, which sum to the effective sample size."""

    logs: Floats
    label: Integers
    weight: Floats

    @property
    def in_class(self) -> Floats:
        """1 for the class of each row, (classes, rows)."""
        return np.equal.outer(np.arange(len(self.logs)), self.label).astype(np.float64)

    def blocks(self, size: int) -> Iterator[tuple[slice, LabelledRows]]:
        """A few rows at a time, so that there are few enough numbers of this size each."""
        number = max(_BLOCK // size, 1)
        for start in range(0, len(self.label), number):
            at = slice(start, start + number)
            yield at, LabelledRows(self.logs[:, at], self.label[at], self.weight[at])

    def scores(self, curves: ClassCurves) -> tuple[Floats, Floats, Floats]:
        """Losses, their gradients by the parameters, (parameters, rows), and the sum of their second derivatives; for the first fit."""
        basis, q = curves.basis(self.logs), curves.posteriors(self.logs, slice(1))[:, 0]
        gradient = ((q - self.in_class)[:, None] * basis).reshape(-1, len(self.label))
        means = (q[:, None] * basis).reshape(gradient.shape)
        hessian = -(means * self.weight) @ means.T
        n = basis.shape[1]
        for k, of_class in enumerate((basis * (q * self.weight)[:, None]) @ basis.swapaxes(1, 2)):
            hessian[k * n : (k + 1) * n, k * n : (k + 1) * n] += of_class
        return -np.log(np.take_along_axis(q, self.label[None], axis=0)[0]), gradient, hessian

    def derivatives(self, curves: ClassCurves) -> tuple[float, Floats, Floats]:
        """The sum of the losses, its gradient and its second derivatives."""
        size = curves.place[0].size
        loss, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
        for _, rows in self.blocks(size):
            losses, of_rows, twice = rows.scores(curves)
            loss += float(losses @ rows.weight)
            gradient += of_rows @ rows.weight
            hessian += twice
        return loss, gradient, hessian


@quiet
def fit_curves(calibrator: ClassCalibrator, rows: LabelledRows, times: Numbers) -> ClassCurves | None:
    """Fit the rows, and then replicates in which they count so many times, (replicates, rows); None without a solution."""
    n_classes, with_shift = len(rows.logs), calibrator != "temperature"
    of_class = np.bincount(rows.label, rows.weight, n_classes)
    own = rows.logs[rows.label, np.arange(len(rows.label))]
    if not of_class.any() or (with_shift and not of_class.all()) or (own == -np.inf).any():
        return None
    shares = of_class / of_class.sum()
    batch = Batch(np.zeros_like(rows.label), rows.logs.T, rows.label, rows.weight / of_class.sum())
    unit = np.array([1 - shares.max() if with_shift else 1.0])
    lines = fit_softmax(lambda _: [batch], np.ones(1, dtype=bool), n_classes, with_shift=with_shift, unit=unit)
    lines, reason = settled(lines, np.array([""], dtype=object), shares[None], with_shift)
    if reason[0] not in ("", REVERSED):
        return None
    curves = ClassCurves(np.zeros(0), 1.0, np.stack([lines.beta, np.tile(lines.alpha, (n_classes, 1)).T], axis=2))
    # Parameters of the fit, by those of the curves: of lines one slope, and the shifts.
    free = np.zeros((n_classes, 2, 1 + n_classes * with_shift))
    free[:, 1, 0] = 1.0
    free[:, 0, 1:] = np.eye(n_classes) if with_shift else 0.0
    penalty = np.zeros((2 * n_classes, 2 * n_classes))
    if calibrator == "spline":
        splines = _fit_splines(rows, curves)
        if splines is None:
            return None
        curves, penalty, is_free = splines
        free = np.eye(is_free.size)[:, is_free]
    return _with_replicates(rows, curves, free.reshape(len(penalty), -1), penalty, times)


def _penalty(n_classes: int) -> Floats:
    """Minus the second derivatives of the log of the prior: of changes of slope, of slopes around their mean, and of the mean intercept, which is 0."""
    n_slopes = len(_KNOTS) + 1
    changes, mean = np.diff(np.eye(n_slopes), axis=0), np.full((n_classes, n_classes), 1 / n_classes)
    penalty = np.zeros((n_classes, n_slopes + 1, n_classes, n_slopes + 1))
    penalty[:, 0, :, 0] = mean
    of_slopes = np.multiply.outer(np.eye(n_classes), changes.T @ changes)
    of_slopes += _ALIKE * np.multiply.outer(np.eye(n_classes) - mean, np.eye(n_slopes))
    penalty[:, 1:, :, 1:] = of_slopes.swapaxes(1, 2)
    return penalty.reshape(n_classes * (n_slopes + 1), -1)


def _fit_splines(rows: LabelledRows, lines: ClassCurves) -> tuple[ClassCurves, Floats, Bools] | None:
    """Curves with knots, their penalty, and which parameters are not at their bound: no slope is below 0. None without a solution.

    Knots are quintiles of the log posteriors by their variance q (1 - q), because labels say nothing about curves where that is 0. By projected
    Newton steps from the lines on.
    """
    q = np.exp(rows.logs)
    spread = (q * (1 - q) * rows.weight).ravel()
    order, total = np.argsort(rows.logs.ravel(), kind="stable"), spread.sum()
    if not total > 0:
        return None
    x, share = rows.logs.ravel()[order], spread[order] / total
    used = share > 0
    x, share = x[used], share[used]
    knots = x[np.minimum(np.searchsorted(np.cumsum(share) + 1e-9, _KNOTS), len(x) - 1)]
    scale = float(np.sqrt(share @ (x - share @ x) ** 2))
    if not scale > 0:
        return None
    slope = lines.place[0, :, 1:]
    first = lines.place[0, :, :1] + slope * knots[0]
    # Curves count from the first knot on, and the softmax ignores what all classes have.
    place = np.concatenate([first - first.mean(), np.repeat(slope * scale, len(knots) + 1, axis=1)], axis=1)
    curves, penalty = ClassCurves(knots, scale, place[None]), _penalty(len(place))
    is_slope, length = np.tile(np.arange(place.shape[1]) > 0, len(place)), 1.0

    def loss_at(curves: ClassCurves) -> tuple[float, Floats, Floats]:
        loss, gradient, hessian = rows.derivatives(curves)
        flat = curves.place.ravel()
        return loss + float(flat @ penalty @ flat) / 2, gradient + penalty @ flat, hessian + penalty

    loss, gradient, hessian = loss_at(curves)
    for _ in range(_MAX_STEPS):
        flat = curves.place.ravel()
        # A slope of 0 that would fall stays there.
        is_free = (flat > 0) | (gradient < 0) | ~is_slope
        step = np.zeros_like(flat)
        step[is_free] = np.linalg.solve(hessian[np.ix_(is_free, is_free)], gradient[is_free])
        gain = float(step @ gradient)
        tried = flat - length * step
        tried[is_slope] = np.maximum(tried[is_slope], 0.0)
        moved = replace(curves, place=tried.reshape(curves.place.shape))
        new = loss_at(moved)
        better = new[0] <= loss * (1 + ROUNDING)
        if better:
            curves, (loss, gradient, hessian) = moved, new
        if gain <= CLOSE_ENOUGH * loss:
            flat = curves.place.ravel()
            return curves, penalty, (flat > 0) | ~is_slope
        length = 1.0 if better else length / 2
    return None


def _with_replicates(
    rows: LabelledRows, curves: ClassCurves, free: Floats, penalty: Floats, times: Numbers
) -> ClassCurves:
    """The fit, and a Newton step from it for each replicate, with the second derivatives of the rows."""
    _, gradient, hessian = rows.derivatives(curves)
    of_replicates, total = np.zeros((len(times), len(gradient))), np.zeros(len(times))
    for at, some in rows.blocks(max(len(gradient), len(times))):
        weight = times[:, at] * some.weight
        of_replicates += weight @ some.scores(curves)[1].T
        total += weight.sum(axis=1)
    off = of_replicates * (rows.weight.sum() / total)[:, None] - gradient
    # Moving all intercepts equally changes nothing.
    step = off @ free @ np.linalg.pinv(free.T @ (hessian + penalty) @ free, hermitian=True) @ free.T
    place = np.concatenate([curves.place, curves.place - step.reshape(-1, *curves.place.shape[1:])])
    place[:, :, 1:] = np.maximum(place[:, :, 1:], 0.0)
    return replace(curves, place=place)
