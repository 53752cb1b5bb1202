"""Logistic regression on one score, for many groups at once: Newton's method with a backtracking line search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from polars_ec.numerics import Bools, Floats, Integers, np, quiet

# Half the squared Newton decrement is what a step can still gain, in nats a row; times the share of the rarer class.
CONVERGED = 1e-20
CLOSE_ENOUGH = 1e-12
# Derivatives of the mean loss by the parameters of scores in standard units.
_FLAT = 1e-7
# The largest relative decrease that one more step may predict at convergence.
_SMALL_GAIN = 1e-9
_MAX_EVALUATIONS = 200
# Points per block: a dozen arrays of this size fit into the cache, which is four times as fast.
_BLOCK = 2**15
# A step must gain this share of what its slope promises, up to what rounding hides.
ARMIJO = 1e-4
ROUNDING = 1e-14


@dataclass(frozen=True)
class LogisticFits:
    """One fit each: the posterior is 1 / (1 + exp(-(alpha x + beta)))."""

    alpha: Floats
    beta: Floats
    n_iterations: Integers
    gradient_norm: Floats
    converged: Bools


@dataclass(frozen=True)
class Points:
    """Scores with the weight of either class, of many fits: those of one fit side by side, from its `starts` on; none is empty."""

    starts: Integers
    x: Floats
    negative: Floats
    positive: Floats

    @cached_property
    def lengths(self) -> Integers:
        """The number of points of each fit."""
        return np.diff(self.starts, append=len(self.x))

    @cached_property
    def weight(self) -> Floats:
        """The weight of both classes."""
        return self.negative + self.positive

    def spread(self, values: Floats) -> Floats:
        """The value of each fit, at each of its points."""
        return np.repeat(values, self.lengths)

    def sums(self, *values: Floats) -> list[Floats]:
        """Sums over the points of each fit."""
        return [np.add.reduceat(value, self.starts) for value in values]

    @cached_property
    def blocks(self) -> list[tuple[slice, Points]]:
        """Fits side by side that stay in the processor's cache together, and which fits they are."""
        firsts = np.unique(self.starts // _BLOCK, return_index=True)[1]
        ends = np.append(firsts[1:], len(self.starts))
        edges = np.append(self.starts, len(self.x))
        found = []
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True):
            part = slice(edges[first], edges[end])
            starts = self.starts[first:end] - edges[first]
            found.append((slice(first, end), Points(starts, self.x[part], self.negative[part], self.positive[part])))
        return found

    def of(self, chosen: Bools) -> Points:
        """The points of the chosen fits."""
        kept, lengths = np.repeat(chosen, self.lengths), self.lengths[chosen]
        return Points(np.cumsum(lengths) - lengths, self.x[kept], self.negative[kept], self.positive[kept])


def _step(value: Floats) -> tuple[Floats, Floats, Floats]:
    """Newton's step from a place with this `_evaluate`, where the scores count from the centre, and the squared Newton decrement."""
    _, by_slope, by_shift, by_slope_twice, by_shift_twice, _ = value
    slope, shift = -by_slope / by_slope_twice, -by_shift / by_shift_twice
    return slope, shift, -slope * by_slope - shift * by_shift


def _evaluate(points: Points, slope: Floats, shift: Floats, origin: Floats, with_shift: bool) -> Floats:
    """Mean loss of each fit at slope x (x - origin) + shift; its first and second derivatives by both; and the `centre` of x - origin.

    The centre is the mean by curvature, and derivatives by slope are at scores that count from there: then no second one is by both.
    Elsewhere their determinant cancels where scores are nearly separable. Without a shift, by which there is none, the centre is 0.
    """
    blocks = [_evaluate_block(block, slope[f], shift[f], origin[f], with_shift) for f, block in points.blocks]
    return np.hstack(blocks)


def _evaluate_block(points: Points, slope: Floats, shift: Floats, origin: Floats, with_shift: bool) -> Floats:
    x = points.x - points.spread(origin)
    z = points.spread(slope)
    z *= x
    z += points.spread(shift)
    odds = np.exp(z)
    inverse = 1 / odds
    # Each class has its own posterior rather than one minus the other's, which would lose all digits at a prior near 1.
    of_negative, of_positive = 1 / (1 + odds), 1 / (1 + inverse)
    loss = np.log1p(np.minimum(odds, inverse))
    loss *= points.weight
    loss += np.maximum(z, 0) * points.negative
    loss -= np.minimum(z, 0) * points.positive
    curvature = of_negative * of_positive
    curvature *= points.weight
    error = np.multiply(points.negative, of_positive, out=of_positive)
    error -= np.multiply(points.positive, of_negative, out=of_negative)
    of_loss, by_shift, by_shift_twice = points.sums(loss, error, curvature)
    centre = points.sums(curvature * x)[0] / by_shift_twice if with_shift else np.zeros(len(slope))
    x -= points.spread(centre)
    by_slope, by_slope_twice = points.sums(error * x, curvature * x**2)
    return np.stack([of_loss, by_slope, by_shift * with_shift, by_slope_twice, by_shift_twice, centre])


@quiet
def fit_lines(points: Points, *, held: Floats | None, start: tuple[Floats, Floats]) -> LogisticFits:
    """Minimise the mean logistic loss of each fit over alpha >= 0 and beta, unless it is `held`, from `start`: alpha and beta, NaN where unknown."""
    # Every evaluation serves all fits that have not converged: some take their next Newton step, while others halve theirs.
    total = points.spread(*points.sums(points.weight))
    shares = Points(points.starts, points.x, points.negative / total, points.positive / total)
    of_positives, of_negatives = shares.sums(shares.positive, shares.negative)
    n_fits, with_shift = len(of_positives), held is None
    # In standard units Newton's 2 x 2 systems are well conditioned, wherever the scores lie.
    (mean,) = shares.sums(shares.weight * shares.x) if with_shift else [np.zeros(n_fits)]
    centred = shares.x - shares.spread(mean)
    scale = np.sqrt(shares.sums(shares.weight * centred**2)[0])
    standard = Points(shares.starts, centred / shares.spread(scale), shares.negative, shares.positive)
    known = np.isfinite(start[0])
    slope = np.where(known, start[0] * scale, 0.0)
    # Where alpha is 0, the best beta gives the prior; and losses are in proportion to its rarer class: so are the steps that still matter.
    if held is None:
        shift = np.where(known, start[1] + start[0] * mean, np.log(of_positives / of_negatives))
        rarer = np.minimum(of_positives, of_negatives)
    else:
        shift, rarer = held.copy(), 2 / (1 + np.exp(np.abs(held)))
    slope, shift, n_iterations, gain = _minimise(standard, slope, shift, with_shift, rarer)
    # Rounding may take an alpha of about 0 below it.
    alpha = np.maximum(slope / scale, 0.0)
    beta = shift - alpha * mean
    # At the returned parameters, because alpha x + beta has few digits if scores differ little relative to their size.
    reached = _evaluate(shares, alpha, beta, np.zeros(n_fits), with_shift)
    loss, by_slope, by_beta, *_, centre = reached
    by_alpha = by_slope + centre * by_beta
    steepest = np.maximum(np.abs(by_alpha - mean * by_beta) / scale, np.abs(by_beta))
    converged = (
        (gain <= CLOSE_ENOUGH * rarer)
        # For nearly separable classes slopes are so steep that small derivatives are inconclusive.
        & (_step(reached)[2] <= _SMALL_GAIN * loss)
        & (steepest <= _FLAT * rarer)
        & np.isfinite([scale, alpha, beta]).all(axis=0)
    )
    return LogisticFits(alpha, beta, n_iterations, np.maximum(np.abs(by_alpha), np.abs(by_beta)), converged)


def _minimise(
    points: Points, slope: Floats, shift: Floats, with_shift: bool, unit: Floats
) -> tuple[Floats, Floats, Integers, Floats]:
    """The minimum of each fit's loss, the number of steps, and the gain that one more promises; losses are of size `unit`."""
    n_fits = len(slope)
    n_iterations, origin = np.zeros(n_fits, dtype=np.int64), np.zeros(n_fits)
    value = _evaluate(points, slope, shift, origin, with_shift)
    d_slope, d_shift, gain = _step(value)
    length = np.ones(n_fits)
    active = np.flatnonzero(~(gain <= CONVERGED * unit))
    kept = points.of(~(gain <= CONVERGED * unit))
    moved = np.arange(n_fits)
    for _ in range(_MAX_EVALUATIONS):
        # From the centre on the classes' scores that overlap lose no digits, however steep the slope is.
        centre = origin[moved] + value[-1, moved]
        shift[moved] += slope[moved] * (centre - origin[moved])
        origin[moved] = centre
        if len(active) == 0:
            break
        tried = length[active]
        new_slope, new_shift = slope[active] + tried * d_slope[active], shift[active] + tried * d_shift[active]
        new = _evaluate(kept, new_slope, new_shift, origin[active], with_shift)
        old = value[0, active]
        better = new[0] <= old - ARMIJO * tried * gain[active] + ROUNDING * (unit[active] + np.abs(old))
        length[active] = np.where(better, 1.0, tried / 2)
        moved = active[better]
        slope[moved], shift[moved] = new_slope[better], new_shift[better]
        n_iterations[moved] += 1
        value[:, moved] = new[:, better]
        d_slope[moved], d_shift[moved], gain[moved] = _step(value[:, moved])
        going = ~(gain[active] <= CONVERGED * unit[active])
        if not going.all():
            kept, active = kept.of(going), active[going]
    return slope, shift - slope * origin, n_iterations, gain


# Logistic regression on a piecewise linear function of the score, for many fits to the same scores at once: projected Newton.

_QUINTILES = (0.2, 0.4, 0.6, 0.8)
_MAX_STEPS = 100


@quiet
def minimise_bounded(
    derivatives: Callable[[Floats], tuple[Floats, Floats, Floats]], place: Floats, bounded: Bools, least: float = 0.0
) -> tuple[Floats, Bools]:
    """The minima of convex losses above 0, (fits, parameters), from a place on; and which fits have not come to theirs.

    `derivatives` gives the losses, gradients and Hessians of all fits. Bounded parameters are at least 0, and those up to `least` that would fall
    go there.
    """
    place, length, moves = place.copy(), np.ones(len(place)), np.full(len(place), fill_value=True)
    loss, gradient, hessian = derivatives(place)
    for _ in range(_MAX_STEPS):
        is_free = (place > least) | (gradient < 0) | ~bounded
        curvature = np.where(is_free[:, :, None] & is_free[:, None], hessian, np.eye(place.shape[1]))
        # Where weights or scores are extreme, or parameters stand for each other, rounding leaves it singular.
        curvature += ROUNDING * np.trace(curvature, axis1=1, axis2=2)[:, None, None] * np.eye(place.shape[1])
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        moves = ~((np.where(is_free, step, place) * gradient).sum(axis=1) <= CLOSE_ENOUGH * loss)
        tried = place - length[:, None] * step
        tried[:, bounded] = np.maximum(tried[:, bounded], 0.0)
        new = derivatives(tried)
        better = new[0] <= loss * (1 + ROUNDING)
        for value, of_tried in zip((place, loss, gradient, hessian), (tried, *new), strict=True):
            value[better] = of_tried[better]
        length = np.where(better, 1.0, length / 2)
        if not (moves & np.isfinite(loss)).any():
            break
    return place, moves


def quintiles(x: Floats, share: Floats) -> tuple[Floats, float]:
    """The knots of rising scores with these shares of the rows, and their standard deviation."""
    # A share of 0.2 is one, however it is rounded.
    return x[np.searchsorted(np.cumsum(share) + 1e-9, _QUINTILES)], float(np.sqrt(share @ (x - share @ x) ** 2))


def spline_basis(x: Floats, knots: Sequence[float] | Floats, scale: float) -> Floats:
    """What an intercept and the slopes between knots multiply, (..., parameters, scores): 1, and how far a score is into each segment."""
    segments = zip([-np.inf, *knots], [*knots, np.inf], [*knots[:1], *knots] or [0.0], strict=True)
    into = ((np.clip(x, low, high) - origin) / scale for low, high, origin in segments)
    return np.stack([np.ones_like(x), *into], -2)


@quiet
def fit_splines(x: Floats, weight: Floats, unit: float, alpha: Floats, beta: Floats) -> Floats:
    """Log-odds at rising scores x, (fits, scores), with slopes of at least 0 between quintiles of the first fit's scores; NaN without a solution.

    `weight` is (fits, classes, scores), and `unit` that of one row. Changes of slope have a standard normal prior, for scores in standard units, so
    that few rows do not bend the lines alpha x + beta, where Newton's method starts.
    """
    knots, scale = quintiles(x, weight[0].sum(axis=0) / weight[0].sum())
    # In the order of its rows: products of other arrays take seven times as long.
    basis = np.ascontiguousarray(spline_basis(x, knots, scale).T)
    products = (basis[:, :, None] * basis[:, None]).reshape(len(x), -1)
    changes = np.diff(np.eye(basis.shape[1]), axis=0)[1:]
    penalty = unit * changes.T @ changes
    known = np.isfinite(alpha)
    negative, positive = weight[known].swapaxes(0, 1)
    place = np.column_stack([beta + alpha * knots[0], *[alpha * scale] * (len(knots) + 1)])[known]

    def derivatives(place: Floats) -> tuple[Floats, Floats, Floats]:
        z, slopes = place @ basis.T, place @ penalty
        losses = negative * np.logaddexp(0, z) + positive * np.logaddexp(0, -z)
        of_negative, of_positive = 1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))
        gradient = (negative * of_positive - positive * of_negative) @ basis + slopes
        curvature = (negative + positive) * of_negative * of_positive
        hessian = (curvature @ products).reshape(-1, *penalty.shape) + penalty
        return losses.sum(axis=1) + (slopes * place).sum(axis=1) / 2, gradient, hessian

    place, moves = minimise_bounded(derivatives, place, np.arange(len(penalty)) > 0)
    log_odds = np.full((len(weight), len(x)), np.nan)
    log_odds[known] = np.where(moves[:, None], np.nan, place @ basis.T)
    return log_odds


# Multinomial logistic regression with one slope, for many fits at once: Newton's method on sums over batches of rows.

_MAX_PASSES = 60
_BLOCK_OF_SOFTMAX_NEWTON = 16384
# A loss this small, in nats per row, means separable rows: it decreases forever.
_SEPARABLE = 1e-7
# Beyond this share of its curvature the slope is hardly another direction than the shifts.
_COLLINEAR, _STEEPEST = 0.999, 1e12
# Derivatives are differences from 1: where losses are smaller than this, rounding leaves them too few digits to end at.
_LEAST_UNIT = 1e-6


@dataclass(frozen=True)
class Batch:
    """Rows: the fit of each, log posteriors (n x K, finite or -inf), true class, and weight."""

    fit: Integers
    log_posteriors: Floats
    label: Integers
    weight: Floats

    def blocks(self) -> Iterator[Batch]:
        """A few rows at a time, then sorted by fit: a dozen arrays of a block stay in the cache."""
        for start in range(0, len(self.fit), _BLOCK_OF_SOFTMAX_NEWTON):
            order = start + np.argsort(self.fit[start : start + _BLOCK_OF_SOFTMAX_NEWTON], kind="stable")
            yield Batch(self.fit[order], self.log_posteriors[order], self.label[order], self.weight[order])


@dataclass(frozen=True)
class SoftmaxFits(LogisticFits):
    """One fit each: the posteriors are softmax(alpha ln q + beta); beta has mean 0."""

    separable: Bools


Passes = Callable[["Bools"], Iterable[Batch]]
"""Makes a pass over the rows of the fits that are marked."""


def fit_softmax(
    rows: Passes, chosen: Bools, n_classes: int, *, with_shift: bool, unit: Floats, start: SoftmaxFits | None = None
) -> SoftmaxFits:
    """Minimise the mean cross-entropy of each chosen fit, whose weights sum to 1, from where `start` converged; losses are of size `unit`."""
    n_fits = len(chosen)
    # Betas are those of log posteriors that count from the origin.
    place, origin = np.zeros((n_fits, 1 + n_classes)), np.zeros((n_fits, n_classes))
    place[:, 0] = 1.0
    if start is not None:
        near = start.converged
        place[near] = np.column_stack([start.alpha, start.beta])[near]
    step = np.zeros_like(place)
    loss = np.full(n_fits, np.nan)
    gradient = np.full_like(place, np.nan)
    gain = np.full(n_fits, np.nan)
    length = np.ones(n_fits)
    n_iterations = np.zeros(n_fits, dtype=np.int64)
    active, is_off = chosen.copy(), np.zeros(n_fits, dtype=bool)
    for turn in range(_MAX_PASSES):
        if not active.any():
            break
        tried = place + length[:, None] * step
        new_loss, new_gradient, hessian = _sums(rows, active, tried, origin, with_shift)
        enough = new_loss <= loss - ARMIJO * length * gain + ROUNDING * (1 + np.abs(loss))
        better = active & (enough if turn else np.isfinite(new_loss))
        length = np.where(better, 1.0, length / 2)
        place[better], loss[better], gradient[better] = tried[better], new_loss[better], new_gradient[better]
        n_iterations[better] += turn > 0
        step[better], centre = _softmax_step(gradient[better], hessian[better])
        gain[better] = -(step[better] * gradient[better]).sum(axis=1)
        # Once more from the centre on.
        origin[better] += centre
        place[better, 1:] += place[better, :1] * centre
        is_off[better] = centre.any(axis=1)
        active = active & ~((gain <= CONVERGED * unit) & ~is_off) & ~(loss <= _SEPARABLE * unit) & (length > ROUNDING)
    alpha, beta = place[:, 0], place[:, 1:] - place[:, :1] * origin
    gradient_norm = np.abs(gradient).max(axis=1)
    separable = chosen & (loss <= _SEPARABLE * unit)
    found = (gain <= CLOSE_ENOUGH * unit) & (gain <= _SMALL_GAIN * loss) & ~is_off & np.isfinite(beta).all(axis=1)
    # Slopes so steep that scores have few digits left.
    found &= np.abs(np.column_stack([alpha, beta])).max(axis=1) < _STEEPEST
    converged = chosen & found & (unit >= _LEAST_UNIT) & ~separable
    beta -= beta.mean(axis=1, keepdims=True)
    return SoftmaxFits(alpha, beta, n_iterations, gradient_norm, converged, separable)


def _softmax_step(gradient: Floats, hessian: Floats) -> tuple[Floats, Floats]:
    """Newton's step; or none, and how far the centre of the log posteriors is, where their slope is hardly another direction than the shifts.

    That is so where the classes overlap within a sliver: away from its centre nothing is left of the digits of the slope.
    """
    mixed, by_slope_twice = hessian[:, 1:, :1], hessian[:, 0, 0]
    # Moving all betas equally changes nothing, and the pseudoinverse excludes this direction.
    centre = (np.linalg.pinv(hessian[:, 1:, 1:], hermitian=True) @ mixed)[:, :, 0]
    is_off = (centre * mixed[:, :, 0]).sum(axis=1) > _COLLINEAR * by_slope_twice
    scale = np.ones_like(gradient)
    scale[:, 0] = 1 / np.sqrt(np.where(by_slope_twice > 0, by_slope_twice, 1.0))
    inverse = np.linalg.pinv(hessian * scale[:, :, None] * scale[:, None], hermitian=True)
    step = -scale * (inverse @ (scale * gradient)[:, :, None])[:, :, 0]
    return np.where(is_off[:, None], 0.0, step), np.where(is_off[:, None], centre, 0.0)


def _sums(
    rows: Passes, active: Bools, place: Floats, origin: Floats, with_shift: bool
) -> tuple[Floats, Floats, Floats]:
    n_fits, size = place.shape
    loss, gradient, hessian = np.zeros(n_fits), np.zeros((n_fits, size)), np.zeros((n_fits, size, size))
    for batch in rows(active):
        for block in batch.blocks():
            _add(block, place, origin, loss, gradient, hessian)
    hessian[:, 1:, 0] = hessian[:, 0, 1:]
    if not with_shift:
        gradient[:, 1:], hessian[:, 1:], hessian[:, :, 1:] = 0.0, 0.0, 0.0
    return loss, gradient, hessian


def _add(block: Batch, place: Floats, origin: Floats, loss: Floats, gradient: Floats, hessian: Floats) -> None:
    fit, label, weight = block.fit, block.label, block.weight
    n, betas = np.arange(len(fit)), range(1, place.shape[1])
    possible = block.log_posteriors > -np.inf
    logs = np.where(possible, block.log_posteriors - origin[fit], 0.0)
    z = np.where(possible, place[fit, :1] * logs + place[fit, 1:], -np.inf)
    z -= z[n, label][:, None]
    top = z.max(axis=1, keepdims=True)
    q = np.exp(z - top)
    total = q.sum(axis=1, keepdims=True)
    losses = (top + np.log(total))[:, 0]
    q /= total
    # The scores' derivatives by the parameters are the log posterior, from its mean on, and a unit vector; of these q makes means.
    logs -= (q * logs).sum(axis=1, keepdims=True)
    leaning = q * logs
    means = np.column_stack([leaning.sum(axis=1), q])
    error = means.copy()
    error[:, 0] -= logs[n, label]
    error[n, 1 + label] -= 1.0
    weighted = means * weight[:, None]
    starts = np.flatnonzero(np.diff(fit, prepend=-1))
    fits = fit[starts]

    def add_up(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, starts, axis=0), dtype=np.float64)

    loss[fits] += add_up(losses * weight)
    gradient[fits] += add_up(error * weight[:, None])
    leaning *= weight[:, None]
    hessian[fits, 0, 0] += add_up((leaning * logs).sum(axis=1))
    hessian[fits, 0, 1:] += add_up(leaning)
    hessian[fits[:, None], betas, betas] += add_up(weighted[:, 1:])
    for one, start, end in zip(fits.tolist(), starts.tolist(), [*starts[1:].tolist(), len(fit)], strict=True):
        hessian[one] -= weighted[start:end].T @ means[start:end]
