"""The loss with a Beta density as weight over operating points, as a Polars expression.

With posterior q for the true class, the loss is the integral over t from q to 1 of t^(a-2) (1-t)^(b-1) / B(a, b). It is summed from power
series, split at q = 1/2, where they converge at least as fast as 2^-k:

- Above 1/2 the series is in x = 1 - q, with all terms after the first of one sign.
- Below 1/2 and with a >= 2 it is the whole integral minus a series in q with positive terms.
- Below 1/2 and with a < 2 the whole integral may be infinite. The part above 1/2 is then added to the integral from q to 1/2, expanded in t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import polars as pl

from polars_ec.arguments.keywords import parse_number
from polars_ec.records import dataclass

_MIN_PARAMETER, _MAX_PARAMETER = 1e-3, 20.0
_RELATIVE_TAIL = 1e-17
_SMALL_EXPONENT = 0.1
_BINOMIAL_TERMS = 64  # at t <= 1/2 the truncation error is below 2^-64


@dataclass(frozen=True)
class BetaLoss:
    """Loss of a posterior q of the true class, for a Beta(a, b) weight; the other class has Beta(b, a)."""

    a: float
    b: float

    @classmethod
    def of(cls, a: float, b: float) -> BetaLoss:
        """Checked: from 0.001 to 20, for which the error of the series is tested."""
        for name, value in (("a", a), ("b", b)):
            if not _MIN_PARAMETER <= parse_number(value, name) <= _MAX_PARAMETER:
                raise ValueError(
                    f"{name}={value!r}: the Beta weight needs a and b from {_MIN_PARAMETER:g} to {_MAX_PARAMETER:g}"
                )
        return cls(float(a), float(b))

    def loss(self, q: pl.Expr, complement: pl.Expr) -> pl.Expr:
        """The loss; `complement` is 1 - q, given apart because it may be known more accurately."""
        above = self._upper(complement, q, self.a, self.b)
        below = self._whole_less(q, complement) if self.a >= 2 else self._tail_plus(q)
        return pl.when(q >= 0.5).then(above).otherwise(below) / _beta_function(self.a, self.b)

    def _upper(self, x: pl.Expr, rest: pl.Expr, a: float, b: float) -> pl.Expr:
        """Integral of u^(b-1) (1-u)^(a-2) over u from 0 to x <= 1/2."""
        return x.pow(b) * rest.pow(a - 1) * _horner(_positive_series(a, b), x)

    def _whole_less(self, q: pl.Expr, complement: pl.Expr) -> pl.Expr:
        return _beta_function(self.a - 1, self.b) - self._upper(q, complement, self.b + 1, self.a - 1)

    def _tail_plus(self, q: pl.Expr) -> pl.Expr:
        a, b = self.a, self.b
        series = _positive_series(a, b)
        upper_half = math.pow(0.5, a + b - 1) * sum(c * 0.5**k for k, c in enumerate(series))
        # (1-t)^(b-1) = sum_k d_k t^k; the term k = 0 may be singular at t = 0 and is integrated apart.
        d = list(islice(_binomial(b), _BINOMIAL_TERMS))
        divided = [c / (a - 1 + k) for k, c in enumerate(d) if k > 0]
        constant = upper_half + sum(c * math.pow(0.5, a - 1 + k) for k, c in enumerate(divided, start=1))
        return constant + _power_integral(q, a - 1) - q.pow(a) * _horner(divided, q)


def _power_integral(q: pl.Expr, exponent: float) -> pl.Expr:
    """Integral of t^(exponent-1) over t from q to 1/2; accurate around exponent 0, where it is a logarithm."""
    log_ratio = math.log(0.5) - q.log()
    if exponent == 0:
        return log_ratio
    if abs(exponent) > _SMALL_EXPONENT:
        return (math.pow(0.5, exponent) - q.pow(exponent)) / exponent
    # The powers one by one, for half of the least number is 0.
    accurate = q.pow(exponent / 2) * math.pow(0.5, exponent / 2) * 2 * (log_ratio * (exponent / 2)).sinh() / exponent
    return pl.when(q == 0).then(math.pow(0.5, exponent) / exponent if exponent > 0 else math.inf).otherwise(accurate)


def _positive_series(a: float, b: float) -> Sequence[float]:
    """Coefficients (a+b-1)_k / (b)_(k+1), as many as x = 1/2 needs."""
    coefficients, term, total, k = [1 / b], 1 / b, 1 / b, 0
    while True:
        k += 1
        factor = (a + b + k - 2) / (b + k)
        term *= factor / 2
        if 0 <= factor < 1.5 and abs(term) < _RELATIVE_TAIL * total:
            return coefficients
        coefficients.append(coefficients[-1] * factor)
        total += term


def _binomial(b: float) -> Iterator[float]:
    coefficient, k = 1.0, 0
    while True:
        yield coefficient
        k += 1
        coefficient *= (k - b) / k


def _horner(coefficients: Sequence[float], x: pl.Expr) -> pl.Expr:
    value: pl.Expr = pl.lit(coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _beta_function(a: float, b: float) -> float:
    return math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))
