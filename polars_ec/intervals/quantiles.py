"""Quantiles of the normal distribution and of t, and tails of t: one algorithm, the same in both engines.

z = sqrt(df ln(1 + t^2 / df)) makes a nearly normal variable of t (Wallace 1959): its density is k phi(z) h(z^2 / df), where
h(x) = sqrt(x / (1 - e^-x)) is smooth and k is a ratio of gamma functions. So the mass between 0 and z is a sum of few terms by Gauss and
Legendre, the mass beyond z one by Gauss and Laguerre, which keeps its digits however far out, and Halley's steps in z invert them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]

_ROOT = np.sqrt(2 * np.pi)
# Below this mass beyond it, and above this z, the tail is summed; both rules have 12 digits around there.
_TAIL, _FAR = 0.03, 2.1
_STEPS = 3
# With as many degrees of freedom t is normal, to the last digit.
_MOST = 1e30

# Wichura 1988, algorithm AS 241 (PPND16): numerators and denominators, highest power first, around the middle, beyond, and far out.
# fmt: off
_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)
_BEYOND = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)
_FAR_OUT = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)
# fmt: on
WICHURA = {"middle": _MIDDLE, "beyond": _BEYOND, "far_out": _FAR_OUT}
"""The numerators and denominators by how far out they are for."""


def normal_quantile(p: ArrayLike) -> Floats:
    """The quantile of the normal distribution; infinite at 0 and 1, NaN beyond."""
    share = np.asarray(p, dtype=np.float64)
    with np.errstate(all="ignore"):
        q = share - 0.5
        middle = q * _ratio(_MIDDLE, 0.180625 - q * q)
        r = np.sqrt(-np.log(np.minimum(share, 1 - share)))
        outer = np.sign(q) * np.where(r <= 5, _ratio(_BEYOND, r - 1.6), _ratio(_FAR_OUT, r - 5))
    found = np.where(np.abs(q) <= 0.425, middle, outer)
    return np.where((share == 0) | (share == 1), np.copysign(np.inf, q), found)


def t_quantile(p: ArrayLike, df: ArrayLike) -> Floats:
    """The quantile of t with real degrees of freedom, from 1 to infinity; fewer count as 1, and NaN or none give NaN."""
    normal = normal_quantile(p)
    share, normal, n = np.broadcast_arrays(np.asarray(p, dtype=np.float64), normal, _degrees(df))
    beyond = np.minimum(share, 1 - share)
    with np.errstate(all="ignore"):
        z = np.array(np.abs(normal) * (8 * n + 3) / (8 * n + 1))
        tail = beyond < _TAIL
        z[tail] = _from_tail(z[tail], beyond[tail], n[tail])
        z[~tail] = _from_middle(z[~tail], np.abs(share[~tail] - 0.5), n[~tail])
        t = np.copysign(np.exp(z * z / n / 2) * np.sqrt(-n * np.expm1(-z * z / n)), normal)
    return np.where(np.isinf(normal) & ~np.isnan(n), normal, t)


def two_sided_p(t: ArrayLike, df: ArrayLike) -> Floats:
    """The probability of a t that is at least as far from 0; NaN for NaN, or without degrees of freedom."""
    at, n = np.broadcast_arrays(np.abs(np.asarray(t, dtype=np.float64)), _degrees(df))
    with np.errstate(all="ignore"):
        times = at / np.sqrt(n)
        z = np.sqrt(n * np.where(times > 1e8, 2 * np.log(times), np.log1p(times * times)))
        p = np.array(z)
        tail = z > _FAR
        p[tail] = 2 * np.exp(_log_tail(z[tail], n[tail]))
        p[~tail] = 1 - 2 * _middle(z[~tail], n[~tail])
    return np.where(np.isinf(at) & ~np.isnan(n), 0.0, p)


def _degrees(df: ArrayLike) -> Floats:
    n = np.asarray(df, dtype=np.float64)
    return np.where(n > 0, np.clip(n, 1, _MOST), np.nan)


def _ratio(coefficients: tuple[Sequence[float], Sequence[float]], x: Floats) -> Floats:
    above, below = coefficients
    return np.asarray(np.polyval(above, x) / np.polyval(below, x), dtype=np.float64)


def _from_tail(z: Floats, beyond: Floats, n: Floats) -> Floats:
    """The z beyond which there is this mass, from one nearby: its logarithm is nearly a parabola."""
    log_beyond, log_constant = np.log(beyond), np.log(_constant(n))
    for _ in range(_STEPS):
        log_tail = _log_tail(z, n)
        hazard = np.exp(log_constant - z * z / 2 - log_tail) / _ROOT * _h(z * z / n)
        step = (log_tail - log_beyond) / hazard
        z = z + step / (1 + step * (_log_slope(z, n) + hazard) / 2)
    return z


def _from_middle(z: Floats, mass: Floats, n: Floats) -> Floats:
    """The z up to which there is this mass from 0 on, from one nearby."""
    constant = _constant(n)
    for _ in range(_STEPS):
        density = constant * np.exp(-z * z / 2) / _ROOT * _h(z * z / n)
        step = (mass - _middle(z, n)) / density
        z = np.where(mass == 0, 0.0, z + step / (1 + step * _log_slope(z, n) / 2))
    return z


def _middle(z: Floats, n: Floats) -> Floats:
    """The mass between 0 and z."""
    total = np.zeros_like(z)
    for node, weight in _legendre():
        square = (z * node) ** 2
        total += weight * np.exp(-square / 2) * _h(square / n)
    return np.asarray(_constant(n) * z * total / _ROOT, dtype=np.float64)


def _log_tail(z: Floats, n: Floats) -> Floats:
    """The logarithm of the mass beyond z."""
    total = np.zeros_like(z)
    for node, weight in _laguerre():
        total += weight / np.sqrt(-n * np.expm1(-(z * z + 2 * node) / n))
    return np.asarray(np.log(_constant(n) * total / _ROOT) - z * z / 2, dtype=np.float64)


def _h(x: Floats) -> Floats:
    return np.where(x == 0, 1.0, np.sqrt(x / -np.expm1(-x)))


def _log_slope(z: Floats, n: Floats) -> Floats:
    """The derivative of the logarithm of the density."""
    x = z * z / n
    return np.where(x == 0, -z, z / n * (1 / x - 1 / np.expm1(x)) - z)


def _constant(n: Floats) -> Floats:
    """Gamma((n + 1) / 2) / Gamma(n / 2) sqrt(2 / n): by the series of its logarithm, at an argument that is larger by 10."""
    x = n / 2 + 10
    terms = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432)
    ratio = np.sqrt(x * 2 / n) * np.exp(sum(c / x ** (2 * k + 1) for k, c in enumerate(terms)))
    for k in range(10):
        ratio = ratio * ((n + 2 * k) / (n + 2 * k + 1))
    return np.asarray(ratio, dtype=np.float64)


@cache
def _legendre() -> list[tuple[float, float]]:
    """Nodes in (0, 1) and weights of 24: the density is even."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return [(float(x), float(w)) for x, w in zip(nodes, weights, strict=True) if x > 0]


@cache
def _laguerre() -> list[tuple[float, float]]:
    """Those of 32 nodes that weigh anything."""
    nodes, weights = np.polynomial.laguerre.laggauss(32)
    return [(float(x), float(w)) for x, w in zip(nodes, weights, strict=True) if w > 1e-15]
