"""Calibrators of K posteriors for rows in memory: the softmax of curves in the log posteriors, with replicates of the fit.

Arrays have classes first and rows last, so that sums over rows are of numbers side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polars_ec.calibration.calibration import REVERSED
from polars_ec.calibration.logistic_newton import Batch, fit_softmax, minimise_bounded, quintiles, spline_basis
from polars_ec.calibration.multiclass import settled
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np, quiet

CLASS_CALIBRATORS = ("spline", "affine", "temperature")
"""Calibrators of K posteriors: the first has a curve for each class, the others have one slope."""

# The precision of the normal prior of a class's slopes around the mean of all classes, beside 1 for changes of slope.
_ALIKE = 10.0
# Numbers that are worked on at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class ClassCurves:
    """Curves of all classes: (fits, classes, parameters), an intercept and the slope of each segment between knots, for scores times 1 / `scale`."""

    place: Floats
    knots: tuple[float, ...] = ()
    scale: float = 1.0

    def basis(self, logs: Floats) -> Floats:
        """What parameters multiply, (classes, parameters, rows)."""
        first, *_ = *self.knots, 0.0
        return spline_basis(np.where(np.isfinite(logs), logs, first), self.knots, self.scale)

    def posteriors(self, logs: Floats, fits: slice) -> Floats:
        """Calibrated posteriors, (classes, fits, rows), for log posteriors (classes, rows); one of 0 stays so."""
        z = self.place[fits].swapaxes(0, 1) @ self.basis(logs)
        z = np.where((logs > -np.inf)[:, None], z, -np.inf)
        q = np.exp(z - z.max(axis=0))
        return np.asarray(q / q.sum(axis=0), dtype=np.float64)


def one_hot(label: Integers, n_classes: int) -> Floats:
    """1 for the class of each row, (classes, rows)."""
    return np.equal.outer(np.arange(n_classes), label).astype(np.float64)


@dataclass(frozen=True)
class LabelledRows:
    """Log posteriors, (classes, rows), the classes of the rows and their weights, which sum to the effective sample size."""

    logs: Floats
    label: Integers
    weight: Floats

    def derivatives(self, curves: ClassCurves, times: Numbers | None = None) -> tuple[float, Floats, Floats]:
        """The sum of the losses of the first fit, its gradients if rows count so many times, (variants, parameters), and its Hessian."""
        n_rows, size, n = len(self.label), curves.place[0].size, curves.place.shape[2]
        times = np.ones((1, n_rows)) if times is None else times
        loss, gradients, hessian = 0.0, np.zeros((len(times), size)), np.zeros((size, size))
        step = max(_BLOCK // max(size, len(times)), 1)
        for at in (slice(start, start + step) for start in range(0, n_rows, step)):
            logs, weight, in_class = self.logs[:, at], self.weight[at], one_hot(self.label[at], len(self.logs))
            basis, q = curves.basis(logs), curves.posteriors(logs, slice(1))[:, 0]
            loss -= float(np.log((q * in_class).sum(axis=0)) @ weight)
            gradients += (times[:, at] * weight) @ ((q - in_class)[:, None] * basis).reshape(size, -1).T
            means = (q[:, None] * basis).reshape(size, -1)
            hessian -= (means * weight) @ means.T
            for k, of_class in enumerate((basis * (q * weight)[:, None]) @ basis.swapaxes(1, 2)):
                hessian[k * n : (k + 1) * n, k * n : (k + 1) * n] += of_class
        return loss, gradients, hessian


@quiet
def fit_curves(calibrator: str | None, rows: LabelledRows, times: Numbers) -> ClassCurves | None:
    """Fit the rows, and then replicates in which they count so many times, (replicates, rows); None without a solution."""
    if calibrator is None:
        return ClassCurves(np.tile([0.0, 1.0], (1 + len(times), len(rows.logs), 1)))
    n_classes, with_shift = len(rows.logs), calibrator != "temperature"
    of_class = np.bincount(rows.label, rows.weight, n_classes)
    shares, is_impossible = of_class / of_class.sum(), rows.logs[rows.label, np.arange(len(rows.label))] == -np.inf
    if not np.isfinite(shares).all() or (with_shift and not shares.all()) or is_impossible.any():
        return None
    batch = Batch(np.zeros_like(rows.label), rows.logs.T, rows.label, rows.weight / of_class.sum())
    unit = np.array([1 - shares.max() if with_shift else 1.0])
    lines = fit_softmax(lambda _: [batch], np.ones(1, dtype=bool), n_classes, with_shift=with_shift, unit=unit)
    lines, reason = settled(lines, np.array([""], dtype=object), shares[None], with_shift)
    if reason[0] not in ("", REVERSED):
        return None
    curves = ClassCurves(np.stack([lines.beta, np.tile(lines.alpha, (1, n_classes))], axis=2))
    # What lines are free in: one slope, and the shifts.
    slope, shifts = np.tile([0.0, 1.0], n_classes)[:, None], np.kron(np.eye(n_classes), [[1.0], [0.0]])
    free = np.hstack([slope, shifts]) if with_shift else slope
    penalty = np.zeros((2 * n_classes, 2 * n_classes))
    if calibrator == "spline":
        splines = _fit_splines(rows, curves)
        if splines is None:
            return None
        curves, penalty, is_free = splines
        free = np.eye(len(penalty))[:, is_free]
    # A Newton step from the fit for each replicate; moving all intercepts equally changes nothing.
    _, gradients, hessian = rows.derivatives(curves, np.concatenate([np.ones_like(times[:1]), times]))
    inverse = np.linalg.pinv(free.T @ (hessian + penalty) @ free, hermitian=True)
    steps = (gradients[1:] - gradients[:1]) @ free @ inverse @ free.T
    place = np.concatenate([curves.place, curves.place - steps.reshape(-1, *curves.place.shape[1:])])
    place[:, :, 1:] = np.maximum(place[:, :, 1:], 0.0)
    return replace(curves, place=place)


def _penalty(n_classes: int, n: int) -> Floats:
    """Minus the Hessian of the log of the prior: of changes of slope, of slopes around their mean, and of the mean intercept, which is 0."""
    changes, mean = np.diff(np.eye(n - 1), axis=0), np.full((n_classes, n_classes), 1 / n_classes)
    penalty = np.zeros((n_classes, n, n_classes, n))
    penalty[:, 0, :, 0] = mean
    of_slopes = np.multiply.outer(np.eye(n_classes), changes.T @ changes)
    of_slopes += _ALIKE * np.multiply.outer(np.eye(n_classes) - mean, np.eye(n - 1))
    penalty[:, 1:, :, 1:] = of_slopes.swapaxes(1, 2)
    return penalty.reshape(n_classes * n, -1)


def _fit_splines(rows: LabelledRows, lines: ClassCurves) -> tuple[ClassCurves, Floats, Bools] | None:
    """Curves with knots, their penalty, and which parameters are not at their bound: no slope is below 0. None without a solution.

    Knots are quintiles of the log posteriors by their variance q (1 - q), because labels say nothing about curves where that is 0.
    """
    q = np.exp(rows.logs)
    spread = (q * (1 - q) * rows.weight).ravel()
    order = np.flatnonzero(spread > 0)[np.argsort(rows.logs.ravel()[spread > 0], kind="stable")]
    x = rows.logs.ravel()[order]
    if not len(x) or x[0] == x[-1]:
        return None
    knots, scale = quintiles(x, spread[order] / spread.sum())
    # Curves count from the first knot on, and the softmax ignores what all classes have.
    shift, slope = lines.place[0, :, :1], lines.place[0, :, 1:]
    place = np.concatenate([shift - shift.mean(), np.repeat(slope * scale, len(knots) + 1, axis=1)], axis=1)
    curves, penalty = ClassCurves(place[None], tuple(knots.tolist()), scale), _penalty(*place.shape)
    is_slope = np.tile(np.arange(place.shape[1]) > 0, len(place))

    def derivatives(flat: Floats) -> tuple[Floats, Floats, Floats]:
        loss, gradient, hessian = rows.derivatives(replace(curves, place=flat.reshape(1, *place.shape)))
        slopes = flat @ penalty
        return loss + (slopes * flat).sum(axis=1) / 2, gradient + slopes, (hessian + penalty)[None]

    flat, moves = minimise_bounded(derivatives, place.reshape(1, -1), is_slope)
    if moves[0]:
        return None
    return replace(curves, place=flat.reshape(1, *place.shape)), penalty, (flat[0] > 0) | ~is_slope
