"""Sequential tests over periods: evidence that a metric has crossed a bound, which may be looked at after every period.

The evidence of one period is an e-value for each of a few sizes of the change: 1 or less in the mean while the metric is on the right side
of the bound. A detector multiplies them over the periods since every possible change, and adds these products (Shiryaev and Roberts).
"""

from __future__ import annotations

from functools import reduce

from polars_ec.formulas.decisions import Scale
from polars_ec.inference.confidence import forward, inverse, normal_quantile, slope
from polars_ec.numerics import Floats, Integers, np, quiet

CHANGES = (0.25, 0.5, 1.0, 2.0)
"""Sizes of the change that detectors look for, in standard errors of one period; larger ones are found by the last as well."""

# The mean is narrowest, beside an interval for one look, after some 30 periods like the first.
_MIXTURE = 0.3
_BETS = 16


@quiet
def standard_errors(value: Floats, low: Floats, high: Floats, scale: Scale, level: float) -> Floats:
    """The standard error of an interval on the metric's scale, seen from the value; NaN without an interval, or of width 0.

    At an end of the scale it is that of the longer arm of the interval.
    """
    normal = normal_quantile(0.5 + level / 2)
    error = (forward(scale, high) - forward(scale, low)) / 2 / normal / np.abs(slope(scale, value))
    arm = np.maximum(value - low, high - value)
    error = np.where((error > 0) & np.isfinite(error + forward(scale, value)), error, arm / normal)
    return np.where((arm > 0) & np.isfinite(arm), error, np.nan)


@quiet
def log_evidence_of_estimates(
    value: Floats, low: Floats, high: Floats, bound: float, sign: int, scale: Scale, level: float
) -> Floats:
    """Logarithms of the e-values exp(d z - d^2 / 2) for each size of change, (..., changes); NaN without an interval, or of width 0.

    z is how many standard errors the value is above the bound, or with a `sign` of -1 below it. Values with a large error are more often far from
    the truth on one side, so the distance is taken on the scale and on the metric itself, and the smaller one counts.
    """
    error = standard_errors(value, low, high, scale, level)
    distance = (forward(scale, value) - forward(scale, np.full_like(value, bound))) / np.abs(slope(scale, value))
    on_scale, on_value = sign * distance / error, sign * (value - bound) / error
    scores = np.where(np.isfinite(on_scale), np.minimum(on_scale, on_value), on_value)
    changes = np.array(CHANGES)
    return np.asarray(scores[..., None] * changes - changes**2 / 2)


@quiet
def log_evidence_of_counts(hits: Floats, rows: Floats, share: float) -> Floats:
    """Logarithms of the e-values against a rate of at most `share`, (..., changes), from counts of independent rows; NaN for no rows.

    The product of 1 + l (x - share) over rows x, 0 or 1, with the bet l for which it is the likelihood ratio of a rate that is higher by the
    change.
    """
    error = 1 / np.sqrt(rows * share * (1 - share))
    odds = share / (1 - share) * np.exp(np.array(CHANGES) * error[..., None])
    misses = (rows - hits)[..., None]
    wins = hits[..., None] * (np.log(odds) - np.log1p(odds) - np.log(share))
    evidence = wins - misses * (np.log1p(odds) + np.log1p(-share))
    # Odds beyond all numbers are those of a certain hit.
    certain = np.where(misses > 0, -np.inf, -hits[..., None] * np.log(share))
    return np.where(rows[..., None] > 0, np.where(np.isinf(odds), certain, evidence), np.nan)


def detect(log_evidence: Floats) -> tuple[Floats, Integers]:
    """The evidence after each period, and the number of the period since which the change is most likely, (periods, groups).

    `log_evidence`: logarithms of e-values, (periods, groups, changes); a period of NaN changes nothing. While nothing has changed, the
    mean of the evidence is at most the number of periods, so that it reaches a threshold after that many periods or more in the mean.
    """
    n_periods, *shape = log_evidence.shape
    total, best = np.full(shape, -np.inf), np.full(shape, -np.inf)
    start = np.zeros(shape, dtype=np.int64)
    evidence, since = np.zeros((n_periods, shape[0])), np.zeros((n_periods, shape[0]), dtype=np.int64)
    groups = np.arange(shape[0])
    for t, added in enumerate(log_evidence):
        known = ~np.isnan(added)
        # M_t = (M_{t-1} + 1) e_t, and its largest term, which tells the start of the change.
        start = np.where(known & (best <= 0), t, start)
        total = np.where(known, np.logaddexp(total, 0) + added, total)
        best = np.where(known, np.maximum(best, 0) + added, best)
        with np.errstate(over="ignore"):
            evidence[t] = np.exp(total).mean(axis=-1)
        since[t] = start[groups, best.argmax(axis=-1)]
    return evidence, since


@quiet
def mean_sequence(
    value: Floats, error: Floats, hidden: Floats, scale: Scale, level: float
) -> tuple[Floats, Floats, Floats]:
    """The mean so far of values with these standard errors and errors of bins, (periods, groups), and its bounds; NaN changes nothing.

    They hold for all periods at once. The normal mixture of Robbins, for means and variances that change from period to period, in units of the first error.
    """
    known = ~np.isnan(error)
    n, total, bins = (np.where(known, of, 0.0).cumsum(axis=0) for of in (1.0, value, hidden))
    first = np.where(known & (n == 1), error, 0.0).sum(axis=0)
    variance = (np.where(known, error / first, 0.0) ** 2).cumsum(axis=0) + 1 / _MIXTURE
    half = bins + first * np.sqrt(variance * np.log(_MIXTURE * variance / (1 - level) ** 2))
    mean, ends = total / n, inverse(scale, np.array([-np.inf, np.inf]))
    return mean, np.clip(mean - half / n, *ends), np.clip(mean + half / n, *ends)


@quiet
def rate_sequence(hits: Floats, rows: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """The rate of all rows so far, from counts of independent rows, and its bounds, as those of the mean; NaN changes nothing.

    For each bet b, exp(b hits) / (1 + m (exp(b) - 1))^rows is at most the capital of a gambler, also if the rate changes and m is its mean.
    """
    hits, rows = (np.where(np.isnan(hits), 0.0, of).cumsum(axis=0) for of in (hits, rows))
    bets, mean = 4.0 / 2 ** np.arange(_BETS), hits / rows
    loss = np.log(2 * _BETS / (1 - level))
    low, not_high = (
        reduce(np.maximum, (np.expm1((bet * of - loss) / rows) / np.expm1(bet) for bet in bets), 0 * mean)
        for of in (hits, rows - hits)
    )
    return mean, low, 1 - not_high
