"""One class against the rest: what it is to decide for it, rightly and wrongly."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from polars_ec.formulas.sums import Sums, ratio


@dataclass(frozen=True)
class Detector:
    """Probabilities that a row is of the class and decided so, of it and not decided so, and decided so without being of it."""

    hits: pl.Expr
    misses: pl.Expr
    alarms: pl.Expr

    @classmethod
    def of_positive(cls, sums: Sums) -> Detector:
        """That of class 1 of two."""
        return cls(sums.joint(1, [1]), sums.joint(1, [0]), sums.joint(0, [1]))

    @property
    def precision(self) -> pl.Expr:
        return ratio(self.hits, self.hits + self.alarms)

    def fbeta(self, beta: float) -> pl.Expr:
        # Misses weigh beta^2 to 1; as shares, for the square of a large beta is infinite.
        smaller = min(beta, 1 / beta) ** 2
        shares = smaller / (1 + smaller), 1 / (1 + smaller)
        of_misses, of_alarms = shares if beta < 1 else shares[::-1]
        hits, misses, alarms = self.hits, self.misses, self.alarms
        # Without hits it is 0, also where the share of the only errors is too small for a float.
        value = pl.when(hits == 0).then(0.0).otherwise(hits / (hits + misses * of_misses + alarms * of_alarms))
        return pl.when(hits + misses + alarms != 0).then(value)
