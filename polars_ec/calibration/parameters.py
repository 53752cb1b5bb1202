"""The parameters of fitted calibrators, as a table; and the calibrated scores of rows, by their groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import polars as pl

from polars_ec.arguments import Options, parse_options
from polars_ec.calibration.look_up import can_look_up, look_up
from polars_ec.cells.grid import SketchScoreType
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.rows.by_row import Priors, per_row
from polars_ec.rows.folds import FOLD
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import join_groups
from polars_ec.rows.scores import BinaryScores, Scores, VectorScores, affine_log_odds, bind, log_softmax, sigmoid
from polars_ec.typing import ScoreType

Calibrator: TypeAlias = Literal["affine", "temperature", "gaussian", "pav", "histogram"]
"""`affine`: new log-odds = alpha x log-odds + beta, alpha >= 0. `temperature`: the same with beta = 0. `gaussian`: those of
normal scores of one variance, again affine. `pav`: the isotonic function of the score. `histogram`: the share of positives in
the bin of the posterior."""

CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
STEPPED: tuple[Calibrator, ...] = ("pav", "histogram")
"""Those that are step functions; the others are affine ones."""
REVERSED = "reversed"
"""The reason of scores that point the wrong way: there are parameters all the same."""

AFFINE = ("alpha", "beta", "n", "n_iterations", "gradient_norm", "reason")
STEPS = ("above", "log_odds", "n", "reason")
PARAMETERS = frozenset({*AFFINE, *STEPS})
"""Columns of a `Calibration` that no group column can have the name of; nor `fold`, which is for folds."""

# Names while scores are calibrated: no group column is called so.
FIT = "__fit"
_X = "__x"


@dataclass(frozen=True, repr=False)
class Parameters:
    """What a `Calibration` holds."""

    frame: pl.DataFrame
    calibrator: Calibrator
    score_type: SketchScoreType | ScoreType
    classes: ClassNames | None = None
    prior: float | None = None

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in ("fold", *PARAMETERS)]

    @property
    def is_affine(self) -> bool:
        """Whether the parameters are `alpha` and `beta`, and not steps."""
        return self.calibrator not in STEPPED

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


def calibrated_posterior(calibration: Parameters, score: pl.Expr, out_of_fold: bool) -> pl.Expr:
    """What `Calibration.apply` gives."""
    parameters, by = calibration.fits(out_of_fold=out_of_fold)
    if out_of_fold and parameters.height == 0:
        raise SketchError("the calibration has no folds: make it with folds= and fold_by=")
    name = score.meta.output_name()
    x = per_row(
        "calibrated", score, _reading(calibration), _reader(calibration, name), classes=calibration.classes
    ).alias(_X)

    if calibration.is_affine and can_look_up(parameters, by):
        alpha, beta = look_up(parameters, by, ["alpha", "beta"])
        return bind([x, alpha, beta], _calibrator(calibration)).alias(f"{name}_calibrated")

    def calibrate(rows: pl.Series) -> pl.Series:
        table = rows.struct.unnest()
        if not calibration.is_affine:
            log_odds = _of_steps(parameters, by, table)
            return log_odds.to_frame().select(sigmoid(pl.first())).to_series()
        found = join_groups(table, parameters.select(*by, "alpha", "beta"), by)
        return found.select(_calibrator(calibration)([pl.col(_X), pl.col("alpha"), pl.col("beta")])).to_series()

    dtype = pl.Array(pl.Float64, calibration.n_classes) if calibration.is_of_vectors else pl.Float64()
    packed = pl.struct([*by, x])
    return packed.map_batches(calibrate, return_dtype=dtype, is_elementwise=True).alias(f"{name}_calibrated")


def _calibrator(calibration: Parameters) -> Callable[[list[pl.Expr]], pl.Expr]:
    """The posterior of log-odds, or of log posteriors, and the row's alpha and beta."""

    def of_vectors(values: list[pl.Expr]) -> pl.Expr:
        log_posteriors, alpha, beta = values
        return softmax_affine(log_posteriors, alpha, beta, calibration.n_classes).arr.eval(pl.element().exp())

    def of_numbers(values: list[pl.Expr]) -> pl.Expr:
        return bind([affine_log_odds(*values)], lambda moved: sigmoid(moved[0]))

    return of_vectors if calibration.is_of_vectors else of_numbers


def _reading(calibration: Parameters) -> Options:
    if calibration.is_of_vectors:
        return parse_options({"score_type": calibration.score_type, "classes": range(calibration.n_classes)})
    return parse_options({"score_type": "posterior" if calibration.score_type == "posterior" else "log_odds"})


def _reader(calibration: Parameters, name: str) -> Callable[[Scores, CostMatrix, Priors], pl.Expr]:
    def read(scores: Scores, _: CostMatrix, __: Priors) -> pl.Expr:
        if isinstance(scores, VectorScores | ManyScores) and not calibration.is_of_vectors:
            raise TypeError(f"the calibration is of one number a row, and {name!r} is a vector")
        if isinstance(scores, VectorScores | ManyScores):
            if scores.n_classes != calibration.n_classes:
                raise TypeError(
                    f"the calibration is of {calibration.n_classes} classes, and {name!r} of {scores.n_classes}"
                )
            return scores.of_log_posteriors(pl.concat_arr)
        assert isinstance(scores, BinaryScores)
        return scores.log_odds if calibration.is_affine else scores.score

    return read


def softmax_affine(log_posteriors: pl.Expr, alpha: pl.Expr, beta: pl.Expr, n_classes: int) -> pl.Expr:
    """Log posteriors softmax(alpha l + beta), an array; null where there are no parameters."""

    def moved(k: int) -> pl.Expr:
        log_posterior, shift = log_posteriors.arr.get(k), beta.arr.get(k)
        return pl.when(alpha == 0).then(shift).otherwise(alpha * log_posterior + shift)

    scores = bind([moved(k) for k in range(n_classes)], lambda z: log_softmax(z, pl.concat_arr))
    return pl.when(alpha.is_not_null() & log_posteriors.is_not_null()).then(scores)


def numbered(parameters: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """A row for each fit, one for each value of the columns `by`: its number `FIT`, and its parameters, of steps those of the first."""
    return (parameters.unique(by, maintain_order=True) if by else parameters.head(1)).with_row_index(FIT)


def with_fit(rows: pl.DataFrame, fits: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows with the number of their fit, null where there is none."""
    if not by:
        return rows.with_columns(pl.lit(0 if fits.height else None, dtype=pl.get_index_type()).alias(FIT))
    return join_groups(rows, fits.select(*by, FIT), by)


def _of_steps(parameters: pl.DataFrame, by: list[str], rows: pl.DataFrame) -> pl.Series:
    """Calibrated log-odds of rows, null where they have none."""
    # Imported here, for they need numpy.
    import numpy as np

    from polars_ec.calibration.step_functions import log_odds_of_steps

    fits = numbered(parameters, by)
    of_row = with_fit(rows, fits, by)[FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    value = rows[_X].fill_null(np.nan).to_numpy()
    return pl.Series(log_odds_of_steps(with_fit(parameters, fits, by), FIT, of_row, value), nan_to_null=True)
