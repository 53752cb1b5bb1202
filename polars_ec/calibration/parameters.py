"""The parameters of fitted calibrators, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import polars as pl

from polars_ec.cells.grid import SketchScoreType
from polars_ec.class_names import ClassNames
from polars_ec.rows.folds import FOLD
from polars_ec.typing import ScoreType

Calibrator: TypeAlias = Literal["affine", "temperature", "pav", "histogram"]
"""`affine`: new log-odds = alpha x log-odds + beta, alpha >= 0. `temperature`: the same with beta = 0. `pav`: the isotonic
function of the score. `histogram`: the share of positives in the bin of the posterior."""

CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
REVERSED = "reversed"
"""The reason of scores that point the wrong way: there are parameters all the same."""

AFFINE = ("alpha", "beta", "n", "n_iterations", "gradient_norm", "reason")
STEPS = ("above", "log_odds", "n", "reason")
PARAMETERS = frozenset({*AFFINE, *STEPS})
"""Columns of a `Calibration` that no group column can have the name of; nor `fold`, which is for folds."""


@dataclass(frozen=True, repr=False)
class Parameters:
    """What a `Calibration` holds."""

    frame: pl.DataFrame
    calibrator: Calibrator
    score_type: SketchScoreType | ScoreType
    classes: ClassNames | None = None

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in ("fold", *PARAMETERS)]

    @property
    def is_affine(self) -> bool:
        """Whether the parameters are `alpha` and `beta`, and not steps."""
        return self.calibrator in ("affine", "temperature")

    @property
    def is_of_vectors(self) -> bool:
        """Whether a row's score is a vector of K, and not one number."""
        return isinstance(self.frame.schema.get("beta"), pl.Array)

    @property
    def n_classes(self) -> int:
        """K."""
        beta = self.frame.schema.get("beta")
        return beta.size if isinstance(beta, pl.Array) else 2

    def fits(self, *, out_of_fold: bool) -> tuple[pl.DataFrame, list[str]]:
        """The rows of the fits of all rows, or of those that leave a fold out; and the columns that a row finds its fit by."""
        fold = pl.col(FOLD)
        if out_of_fold:
            return self.frame.filter(fold.is_not_null()), [*self.keys, FOLD]
        return self.frame.filter(fold.is_null()), self.keys
