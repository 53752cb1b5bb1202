"""Calibrators: transforms of scores into calibrated posteriors, fitted from a sketch for all groups and folds at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from polars_ec.cells.grid import SKETCH_SCORE_TYPES
from polars_ec.cells.parquet import SCHEMA_VERSION, first_line, read_described, write_described
from polars_ec.class_names import ClassNames
from polars_ec.exceptions import SketchError
from polars_ec.options import as_expr
from polars_ec.rows.folds import FOLD
from polars_ec.rows.scores import VECTOR_TYPES
from polars_ec.typing import Rule

if TYPE_CHECKING:
    from polars_ec.cells.grid import SketchScoreType
    from polars_ec.dialects import WarehouseDialect
    from polars_ec.sketches import Sketch
    from polars_ec.typing import IntoExpr, ScoreType

Calibrator: TypeAlias = Literal["affine", "temperature", "pav", "histogram"]
"""`affine`: new log-odds = alpha x log-odds + beta, alpha >= 0. `temperature`: the same with beta = 0. `pav`: the isotonic
function of the score. `histogram`: the share of positives in the bin of the posterior."""

CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
_AFFINE = ("alpha", "beta", "n", "n_iterations", "gradient_norm", "reason")
_STEPS = ("above", "log_odds", "n", "reason")
PARAMETERS = frozenset({*_AFFINE, *_STEPS})
"""Columns of a `Calibration` that no group column can have the name of; nor `fold`, which is for folds."""
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class Calibration:
    """Fitted calibrators, as a plain table: a row per group and fold, or per step of these.

    Make one with `Sketch.calibrate`, `lf.ec.calibrate` or `read_parquet`.

    Attributes
    ----------
    frame
        The group columns; `fold` (the fold that was left out; null: fitted on all rows); the parameters; `n` rows fitted
        on; `reason`: why there are no parameters, or "reversed". Parameters of affine and temperature: `alpha`, `beta`,
        `n_iterations` of Newton's method, and `gradient_norm`, the largest absolute derivative of the mean loss by a
        parameter, where it is not held at its bound; of K classes `beta` is an array. Of pav and histogram, one row per
        step: scores strictly above `above`, on the scale of the score, and up to the next step, have the calibrated
        `log_odds`. The lowest step is of all scores down to -inf itself.
    calibrator
        Its name.
    score_type
        What the scores are.
    classes
        Of K classes: their names, by which the fields of a struct of scores are found.
    """

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

    def apply(self, score: IntoExpr, *, out_of_fold: bool = False) -> pl.Expr:
        """The calibrated posterior of each row: the transform that all rows of its group made, found by the group columns.

        It goes where rows go, such as `lf.with_columns(calibration.apply("score"))`, and streams: each batch of rows is
        joined to the table of parameters. The rows have the group columns under their names.

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
            A score of another kind, or of another number of classes; a struct of other names than the classes have.
        SketchError
            out_of_fold, and the calibration has no folds.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"g": ["a"] * 6, "p": [0.9, 0.6, 0.3, 0.7, 0.2, 0.1], "y": [1, 1, 1, 0, 0, 0]})
        >>> calibration = log.ec.sketch("p", "y", by="g").calibrate()
        >>> new = pl.DataFrame({"g": ["a", "a", "b"], "p": [0.9, 0.1, 0.5]})
        >>> new.select(calibration.apply("p").round(4))["p_calibrated"].to_list()
        [0.8806, 0.1573, None]
        """
        from polars_ec.calibration.transform import calibrated_posterior

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
          ) >= 0 AND 1 / (
            1 + ABS(CAST(x AS DOUBLE))
          ) <= 1
          THEN CASE WHEN CAST(x AS DOUBLE) > 1.0e0 THEN 1.0e0 ELSE 0.5e0 END
        END
        """
        if self.is_of_vectors:
            raise SketchError("to_sql is of one score a row, and this calibration is of vectors: use apply")
        from polars_ec.calibration.to_sql import calibration_sql

        return calibration_sql(self, score, dialect)

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

    def write_parquet(self, path: str | Path, *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the parameters; and what they mean, a checksum of all this and any further `metadata` in the file's metadata."""
        about = {
            "schema_version": SCHEMA_VERSION,
            "calibrator": self.calibrator,
            "score_type": self.score_type,
            "classes": None if self.classes is None else self.classes.in_metadata(),
            "columns": self.frame.columns,
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
        affine = calibrator in ("affine", "temperature")
        lacking = [name for name in ("fold", *(_AFFINE if affine else _STEPS)) if name not in frame.columns]
        if lacking:
            raise SketchError(f"{path} is a damaged calibration: it lacks {lacking[0]}")
        try:
            names = None if about.get("classes") is None else ClassNames.of_metadata(about["classes"])
        except (KeyError, TypeError, ValueError) as error:
            raise SketchError(
                f"{path} is a damaged calibration: its metadata lack or garble {first_line(error)}"
            ) from None
        made = cls(frame, calibrator, score_type, names)  # type: ignore[arg-type]
        fault = _fault(made)
        if fault is not None:
            raise SketchError(f"{path} is a damaged calibration: it has {fault}")
        return made


def _fault(calibration: Calibration) -> str | None:
    """The first thing in it that no calibrator leads to, in words."""
    # Imported here, for it needs numpy.
    from polars_ec.calibration.affine_functions import REVERSED

    frame, schema = calibration.frame, calibration.frame.schema
    ordinal = calibration.calibrator in ("pav", "histogram")
    names = ("above", "log_odds") if ordinal else ("alpha", "beta")
    known = VECTOR_TYPES if calibration.is_of_vectors else SKETCH_SCORE_TYPES
    if calibration.score_type not in known or (calibration.score_type == "raw" and not ordinal):
        return f"scores that are {calibration.score_type!r}, which it is not of"
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


def calibrate(
    sketch: Sketch, calibrator: Calibrator = "affine", *, prior: Any = None, bins: int = 15, equal_mass: bool = False
) -> Calibration:
    """The transform of scores into calibrated posteriors, fitted for every group of a sketch at once.

    affine: log-odds' = alpha log-odds + beta, where alpha >= 0 and beta make the cross-entropy least, found by Newton's
    method; temperature: the same with beta = 0. The order of the scores is kept: scores that point the wrong way get
    alpha = 0, the limit at which every posterior is the prior (0.5 for temperature), and the reason "reversed". LLRs are
    taken as log-odds are, and become posteriors at the prior. pav: isotonic regression, the posterior that never falls
    with the score and makes every proper scoring rule least, equal scores being one. histogram: the share of positives in
    each bin.

    Parameters
    ----------
    sketch
        Of posteriors, log-odds or LLRs; for pav and the histogram of equal mass also of raw scores. A group column called
        `fold` is taken for the fold of cross-validation: each fold gets the calibrator that the other folds' rows make,
        and the group one of all rows. In an exact sketch every row has its own score, else, for affine and temperature,
        the mean log-odds of its cell; steps begin at edges of cells.
    calibrator
        Its name.
    prior
        See `Prior`; as for `Sketch.evaluate`. Rows of class i weigh P_i over their share. Default None: the group's own.
    bins, equal_mass
        Of the histogram: how many, and whether they are of equal weight instead of equal width. Equal width is exact
        where the edges k / bins of the posterior are declared thresholds; a cell that an edge cuts is below it. A bin
        without rows goes with the one below.

    Returns
    -------
    A `Calibration`. Parameters are null where there are none, and `reason` says why: "wrong rows", "no rows" (of weight),
    "no prior" (one that is no share), "one class"; for affine and temperature, where the cross-entropy has no least
    value: "one score" (all rows in one cell), "separable" (a threshold parts the classes, but for rows of one cell),
    "infinite log-odds" (against the row's class), "not converged". Steps of one class alone have infinite log-odds.

    Raises
    ------
    ValueError
        Another calibrator; raw scores that need log-odds; a fold that is null; a group column with the name of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2 and Eq. 23.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"x": [2.0, 0.5, -1.0, 1.0, -2.0, -3.0], "y": [1, 1, 1, 0, 0, 0]})
    >>> sketch = log.ec.sketch("x", "y", score_type="log_odds", exact=True)
    >>> sketch.calibrate().frame.select(pl.col("alpha", "beta").round(4), "reason").rows()
    [(0.7248, 0.2847, None)]
    >>> sketch.calibrate("pav").frame.select("above", pl.col("log_odds").round(4)).rows()
    [(-inf, -inf), (-2.0, 0.6931), (1.0, inf)]
    """
    from polars_ec.calibration.affine_functions import fit_affine
    from polars_ec.calibration.step_functions import fit_histogram, fit_pav
    from polars_ec.calibration.training_set import group_keys, training_of

    if calibrator not in CALIBRATORS:
        raise ValueError(f"calibrator={calibrator!r} is none of {', '.join(CALIBRATORS)}")
    if isinstance(bins, bool) or not hasattr(bins, "__index__") or bins < 1:
        raise ValueError(f"bins={bins!r} is no whole number from 1")
    ordinal = calibrator == "pav" or (calibrator == "histogram" and equal_mass)
    grid, keys = sketch.grid, group_keys(sketch)
    if grid.score_type == "raw" and not ordinal:
        raise SketchError(
            "raw scores are no log-odds: calibrate them with 'pav', or with 'histogram' and equal_mass=True"
        )
    affine = calibrator in ("affine", "temperature")
    clash = sorted(PARAMETERS.intersection(keys))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which a calibration has too: rename it")
    training = training_of(sketch, prior)
    if calibrator == "pav":
        fitted = fit_pav(training, grid)
    elif calibrator == "histogram":
        fitted = fit_histogram(training, grid, int(bins), equal_mass)
    else:
        fitted = fit_affine(training, with_shift=calibrator == "affine")
    fits = training.frame()
    frame = fits[fitted["fit"]].hstack(fitted.select(_AFFINE if affine else _STEPS))
    frame = frame.sort(*keys, "fold", *([] if affine else ["above"]), nulls_last=True, maintain_order=True)
    return Calibration(frame, calibrator, grid.score_type)


def check_loss(rule: Rule, training: Any) -> None:
    """ValueError if there is no such loss to compare before and after calibration, or no such way to train."""
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is none of {', '.join(RULES)}")
    if not isinstance(training, Calibration) and not (isinstance(training, str) and training in ("cv", "test")):
        raise ValueError(f"training={training!r} is neither 'cv' nor 'test' nor a Calibration")
