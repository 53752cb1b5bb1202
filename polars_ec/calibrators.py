"""Calibrators: transforms of scores into calibrated posteriors, fitted from a sketch for all groups and folds at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from polars_ec._described import SCHEMA_VERSION, read_described, write_described
from polars_ec.exceptions import SketchError

if TYPE_CHECKING:
    from polars_ec._grid import SketchScoreType
    from polars_ec.sketch import Sketch

Calibrator: TypeAlias = Literal["affine", "temperature"]
"""`affine`: new log-odds = alpha x log-odds + beta, alpha >= 0. `temperature`: the same with beta = 0."""

CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
_PARAMETERS = ("alpha", "beta", "n", "n_iterations", "gradient_norm", "reason")


@dataclass(frozen=True)
class Calibration:
    """Fitted calibrators, as a plain table: a row per group and fold.

    Make one with `Sketch.calibrate` or `read_parquet`.

    Attributes
    ----------
    frame
        The group columns; `fold` (the fold that was left out; null: fitted on all rows); `alpha`, `beta`; `n` rows fitted
        on; `n_iterations` of Newton's method; `gradient_norm`, the largest absolute derivative of the mean loss by a
        parameter, where it is not held at its bound; `reason`: why there are no parameters, or "reversed".
    calibrator
        Its name.
    score_type
        What the scores are.
    """

    frame: pl.DataFrame
    calibrator: Calibrator
    score_type: SketchScoreType

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in ("fold", *_PARAMETERS)]

    def write_parquet(self, path: str | Path, *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the parameters, with what they mean, and any further `metadata`, in the file's metadata."""
        about = {
            "schema_version": SCHEMA_VERSION,
            "calibrator": self.calibrator,
            "score_type": self.score_type,
            "columns": self.frame.columns,
        }
        write_described(self.frame, path, "calibration", about, metadata)

    @classmethod
    def read_parquet(cls, path: str | Path) -> Calibration:
        """The calibration in a file that `write_parquet` made; SketchError for any other file, saying what is wrong with it."""
        frame, about = read_described(path, "calibration")
        if frame.columns != about["columns"]:
            raise SketchError(
                f"{path} is a damaged calibration: its columns are {frame.columns}, not {about['columns']}"
            )
        return cls(frame, about["calibrator"], about["score_type"])


def affine_log_odds(log_odds: pl.Expr, alpha: pl.Expr, beta: pl.Expr) -> pl.Expr:
    """Alpha times the log-odds plus beta; with alpha = 0, beta also for infinite ones."""
    return pl.when(alpha == 0).then(beta + pl.when(log_odds.is_not_null()).then(0.0)).otherwise(alpha * log_odds + beta)


def calibrate(sketch: Sketch, calibrator: Calibrator = "affine", *, prior: Any = None) -> Calibration:
    """The transform of scores into calibrated posteriors, fitted for every group of a sketch at once.

    affine: log-odds' = alpha log-odds + beta, where alpha >= 0 and beta make the cross-entropy least, found by Newton's
    method; temperature: the same with beta = 0. The order of the scores is kept: scores that point the wrong way get
    alpha = 0, the limit at which every posterior is the prior (0.5 for temperature), and the reason "reversed". LLRs are
    taken as log-odds are, and become posteriors at the prior.

    Parameters
    ----------
    sketch
        Of posteriors, log-odds or LLRs. A group column called `fold` is taken for the fold of cross-validation: each fold
        gets the calibrator that the other folds' rows make, and the group one of all rows. In an exact sketch every row
        has its own score, else the mean log-odds of its cell.
    calibrator
        Its name.
    prior
        See `Prior`; as for `Sketch.evaluate`. The cross-entropy is the one at this prior: rows of class i weigh P_i over
        their share. Default None: the group's own.

    Returns
    -------
    A `Calibration`. Parameters are null where the cross-entropy has no least value, and `reason` says why: "wrong rows",
    "no rows" (of weight), "no prior" (one that is no share), "one class", "one score" (all rows in one cell), "separable" (a threshold
    parts the classes, but for rows of one cell), "infinite log-odds" (against the row's class), "not converged".

    Raises
    ------
    ValueError
        Another calibrator; raw scores; a fold that is null; a group column with the name of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2 and Eq. 23.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"x": [2.0, 0.5, -1.0, 1.0, -2.0, -3.0], "y": [1, 1, 1, 0, 0, 0]})
    >>> calibration = log.ec.sketch("x", "y", score_type="log_odds", exact=True).calibrate()
    >>> calibration.frame.select(pl.col("alpha", "beta").round(4), "reason").rows()
    [(0.7248, 0.2847, None)]
    """
    from polars_ec._affine import fit_affine
    from polars_ec._training import group_keys, training_of

    if calibrator not in CALIBRATORS:
        raise ValueError(f"calibrator={calibrator!r} is none of {', '.join(CALIBRATORS)}")
    if sketch.grid.score_type == "raw":
        raise SketchError("raw scores have no log-odds: sketch posteriors, log-odds or LLRs")
    keys = group_keys(sketch)
    clash = sorted(set(keys) & set(_PARAMETERS))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which a calibration has too: rename it")
    training = training_of(sketch, prior)
    fitted = fit_affine(training, with_shift=calibrator == "affine")
    frame = training.frame().hstack(fitted).sort(*keys, "fold", nulls_last=True)
    return Calibration(frame, calibrator, sketch.grid.score_type)
