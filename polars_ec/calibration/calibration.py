"""Fitted calibrators: applied to rows, written as SQL, saved and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from polars_ec.arguments import as_expr
from polars_ec.calibration.parameters import (
    AFFINE,
    CALIBRATORS,
    REVERSED,
    STEPPED,
    STEPS,
    Parameters,
    calibrated_posterior,
)
from polars_ec.calibration.to_sql import calibration_sql
from polars_ec.cells.grid import SKETCH_SCORE_TYPES
from polars_ec.cells.parquet import first_line, read_described, write_described
from polars_ec.class_names import ClassNames
from polars_ec.dialects import WarehouseDialect
from polars_ec.display import as_html, as_line, groups_by
from polars_ec.exceptions import SketchError
from polars_ec.rows.folds import FOLD, HASH_VERSION
from polars_ec.rows.scores import VECTOR_TYPES
from polars_ec.typing import IntoExpr


@dataclass(frozen=True, repr=False)
class Calibration(Parameters):
    """Fitted calibrators, as a plain table: a row per group and fold, or per step of these.

    Make one with `Sketch.calibrate`, `lf.ec.calibrate` or `read_parquet`.

    Attributes
    ----------
    frame
        The group columns; `fold` (the fold that was left out; null: fitted on all rows); the parameters; `n` rows fitted
        on; `reason`: why there are no parameters, or "reversed". Parameters of affine, temperature and gaussian: `alpha`,
        `beta`, and but for gaussian `n_iterations` of Newton's method, and `gradient_norm`, the largest absolute derivative of
        the mean loss by a parameter, where it is not held at its bound; of K classes `beta` is an array. Of pav and histogram, one row per
        step: scores strictly above `above`, on the scale of the score, and up to the next step, have the calibrated
        `log_odds`. The lowest step is of all scores down to -inf itself.
    calibrator
        Its name.
    score_type
        What the scores are.
    classes
        Of K classes: their names, by which the fields of a struct of scores are found.
    prior
        Of one score a row: the share of positives that was stated for the posteriors; None where they are at the groups'
        own, at one that an expression states, or at one that the file does not tell.
    """

    def __repr__(self) -> str:
        return as_line("Calibration", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Calibration", self._facts())

    def _facts(self) -> dict[str, str]:
        """What it holds, in words."""
        fits = self.frame.unique([*self.keys, FOLD])
        whole = fits.filter(pl.col(FOLD).is_null())
        lacking = fits.filter(pl.col("reason").is_not_null(), pl.col("reason") != REVERSED).height
        return {
            "calibrator": self.calibrator,
            "scores": self.score_type,
            "groups": groups_by(whole.height, self.keys),
            "folds": str(fits.filter(pl.col(FOLD).is_not_null())[FOLD].n_unique() or "none"),
            "without parameters": f"{lacking:,} of {fits.height:,}",
        }

    def apply(self, score: IntoExpr, *, out_of_fold: bool = False) -> pl.Expr:
        """The calibrated posterior of each row: the transform that all rows of its group made, found by the group columns.

        It goes where rows go, such as `lf.with_columns(calibration.apply("score"))`, and streams. Of affine, temperature and
        gaussian it is an expression that calls no Python, unless a group column is nested. The rows have the group columns
        under their names.

        Parameters
        ----------
        score
            Column name or expression, of the kind that the calibration was made of.
        out_of_fold
            Take the transform that the other folds' rows made: the rows have a column `fold` too, the `polars_ec.fold` of
            the same key and number.

        Returns
        -------
        Float64, of K classes an array, called `<score>_calibrated`; null for a missing or wrong score, for a group that is not in the
        calibration, and where it has no parameters.

        Raises
        ------
        TypeError, ValueError
            A score of another kind, or of another number of classes; a struct of other names than the classes have; a group
            column of another type, but for other integers, other floats, and strings of another kind.
        SketchError
            out_of_fold, and the calibration has no folds.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"g": ["a"] * 6, "p": [0.9, 0.6, 0.3, 0.7, 0.2, 0.1], "y": [1, 1, 1, 0, 0, 0]})
        >>> calibration = log.ec.sketch("p", "y", by="g", exact=True).calibrate()
        >>> new = pl.DataFrame({"g": ["a", "a", "b"], "p": [0.9, 0.1, 0.5]})
        >>> new.select(calibration.apply("p").round(4))["p_calibrated"].to_list()
        [0.8806, 0.1573, None]
        """
        return calibrated_posterior(self, as_expr(score, "score"), out_of_fold)

    def to_sql(self, score: str, *, dialect: WarehouseDialect = "duckdb") -> str:
        """The calibrated posterior as one SQL expression, a CASE over the groups, in the dialect of a warehouse.

        Parameters
        ----------
        score
            The score, as SQL of the dialect. The group columns go by their names.
        dialect
            As for `sketch_query`.

        Returns
        -------
        The text. Its value is that of `apply`, but that posteriors closer to 0 than 1e-304 are about 1e-304.

        Raises
        ------
        ValueError
            A dialect or score that is none; group columns of other types than strings, numbers, Booleans, dates and times.
        ImportError
            sqlglot is not installed: `pip install 'polars_ec[warehouse]'`.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"x": [1.0, 1.0, 2.0, 2.0], "y": [1, 0, 1, 1]})
        >>> calibration = log.ec.sketch("x", "y", score_type="raw", exact=True).calibrate("pav")
        >>> print(calibration.to_sql("x"))
        CASE
          WHEN 1 / (
            1 + ABS(CAST(x AS DOUBLE))
          ) >= 0
          AND 1 / (
            1 + ABS(CAST(x AS DOUBLE))
          ) <= 1
          AND (
            ISFINITE(CAST(x AS DOUBLE)) OR ISINF(CAST(x AS DOUBLE))
          )
          THEN CASE WHEN CAST(x AS DOUBLE) > 1.0e0 THEN 1.0e0 ELSE 0.5e0 END
        END
        """
        if self.is_of_vectors:
            raise SketchError("to_sql is of one score a row, and this calibration is of vectors: use apply")
        return calibration_sql(self, score, dialect)

    def write_parquet(self, path: str | Path, *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the parameters; and what they mean, a checksum of all this and any further `metadata` in the file's metadata."""
        about = {
            "calibrator": self.calibrator,
            "score_type": self.score_type,
            "classes": None if self.classes is None else self.classes.in_metadata(),
            "prior": self.prior,
            "columns": self.frame.columns,
            "hash_version": HASH_VERSION,
        }
        write_described(self.frame, path, "calibration", about, metadata)

    @classmethod
    def read_parquet(cls, path: str | Path) -> Calibration:
        """The calibration in a file that `write_parquet` made; SketchError for any other file, saying what is wrong with it."""
        frame, about = read_described(path, "calibration")
        calibrator, score_type = about.get("calibrator"), about.get("score_type")
        if calibrator not in CALIBRATORS or not isinstance(score_type, str) or frame.columns != about.get("columns"):
            raise SketchError(
                f"{path} is a damaged calibration: its columns are {frame.columns}, and its metadata say {about}"
            )
        parameters = STEPS if calibrator in STEPPED else AFFINE
        lacking = [name for name in ("fold", *parameters) if name not in frame.columns]
        if lacking:
            raise SketchError(f"{path} is a damaged calibration: it lacks {lacking[0]}")
        version = about.get("hash_version")
        if frame[FOLD].is_not_null().any() and version != HASH_VERSION:
            raise SketchError(
                f"{path} has folds by version {version} of the hash, and this is version {HASH_VERSION}: make it again from the log"
            )
        try:
            names = None if about.get("classes") is None else ClassNames.of_metadata(about["classes"])
        except (KeyError, TypeError, ValueError) as error:
            raise SketchError(
                f"{path} is a damaged calibration: its metadata lack or garble {first_line(error)}"
            ) from None
        made = cls(frame, calibrator, score_type, names, about.get("prior"))  # type: ignore[arg-type]
        fault = _fault(made)
        if fault is not None:
            raise SketchError(f"{path} is a damaged calibration: it has {fault}")
        return made


def _fault(calibration: Calibration) -> str | None:
    """The first thing in it that no calibrator leads to, in words."""
    frame, schema = calibration.frame, calibration.frame.schema
    ordinal = calibration.calibrator in STEPPED
    names = ("above", "log_odds") if ordinal else ("alpha", "beta")
    known = VECTOR_TYPES if calibration.is_of_vectors else SKETCH_SCORE_TYPES
    of_no_raw, of_no_vector = calibration.calibrator == "temperature", calibration.calibrator == "gaussian"
    wrong = (calibration.score_type == "raw" and of_no_raw) or (calibration.is_of_vectors and of_no_vector)
    if calibration.score_type not in known or wrong:
        return f"scores that are {calibration.score_type!r}, which it is not of"
    prior = calibration.prior
    if prior is not None and not (isinstance(prior, int | float) and 0 <= prior <= 1):
        return f"a prior of {prior!r}"
    if calibration.classes is not None and len(calibration.classes.values) != calibration.n_classes:
        return f"parameters of {calibration.n_classes} classes and names of {len(calibration.classes.values)}"
    numbers = all(schema[name].is_float() for name in names if not schema[name].is_nested())
    if not numbers or not schema["n"].is_integer() or schema["reason"] not in (pl.String, pl.Null):
        return "a parameter that is not a number"
    fit = [*calibration.keys, FOLD]
    if frame.select([*fit, "above"] if ordinal else fit).is_duplicated().any():
        return "a fit that is there twice"
    given = pl.all_horizontal([pl.col(name).is_not_null() for name in names])
    has_parameters = (pl.col("reason").is_null() | (pl.col("reason") == REVERSED)).fill_null(False)
    faults = {
        "a number of rows that is null or negative": pl.col("n").is_null() | (pl.col("n") < 0),
        "parameters with a reason why there are none, or neither": given != has_parameters,
        "a parameter that is not a number": _is_wrong(names, frame.schema, ordinal),
    }
    if calibration.calibrator == "pav":
        falls = pl.col("log_odds") < pl.col("log_odds").shift(1)
        first = pl.struct(fit).ne_missing(pl.struct(fit).shift(1)).fill_null(value=True)
        faults["steps that fall"] = falls & ~first
    found = frame.select(fault.fill_null(False).any().alias(words) for words, fault in faults.items())
    return next((words for words, is_there in found.row(0, named=True).items() if is_there), None)


def _is_wrong(names: Sequence[str], schema: pl.Schema, ordinal: bool) -> pl.Expr:
    """Whether a parameter is NaN; or infinite or negative, where it must not be."""
    if ordinal:
        return pl.any_horizontal([pl.col(name).is_nan() for name in names])
    beta = pl.col("beta").arr.sum() if schema["beta"].is_nested() else pl.col("beta")
    return ~(pl.col("alpha").is_finite() & (pl.col("alpha") >= 0) & beta.is_finite())
