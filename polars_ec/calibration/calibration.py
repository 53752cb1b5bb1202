"""Fitted calibrators: their parameters as a table, with application to rows, SQL output and files."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_ec.arguments.classes import ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Options, as_expr, parse_options
from polars_ec.arguments.scales import RAW, SCALES, SKETCH_SCORE_TYPES, VECTOR_TYPES, ScoreScale
from polars_ec.exceptions import SketchError
from polars_ec.numerics import Floats, Integers, np
from polars_ec.output.dialects import WarehouseDialect, Writer, is_number, quoted
from polars_ec.output.words import Described, first_line, groups_by
from polars_ec.records import dataclass
from polars_ec.scores.by_row import RowArguments, per_row
from polars_ec.scores.folds import FOLD, HASH_VERSION
from polars_ec.scores.read import join_groups
from polars_ec.scores.scores import (
    BinaryScores,
    ManyScores,
    Scores,
    VectorScores,
    affine_log_odds,
    bind,
    log_softmax,
    sigmoid,
)
from polars_ec.sketches.files import first_fault, read_described, write_described
from polars_ec.typing import IntoExpr

# The parameters of each row, found by its group columns: by expressions alone, which stream and call no Python. The engine has a hash table
# from strings to numbers that it reads batch by batch: that of an Enum. So keys become strings, these the number of a fit, and this picks
# the parameters from a list. A join is of frames and not of expressions, and `replace_strict` wants a whole column at once.

_TEXTS = (pl.String, pl.Categorical, pl.Enum)


def look_up(fits: pl.DataFrame, by: Sequence[str], columns: Sequence[str]) -> list[pl.Expr]:
    """Look up these columns of each row's fit by the row's values of the columns `by`; null where there is no such fit."""
    if not by:
        # One fit, or none.
        return [pl.lit(fits[name].first(), dtype=fits.schema[name]) for name in columns]
    fits = fits.unique(by, keep="first", maintain_order=True)
    if len(by) == 1:
        # The null group, if there is one, gets the number after those of all strings.
        fits = fits.sort(pl.col(by[0]).is_null(), maintain_order=True)
        number = _number_of(fits[by[0]])
    else:
        numbers = [_number_of(fits[name].unique(maintain_order=True)) for name in by]
        joint = pl.concat_str(numbers, separator=" ")
        number = _position(joint, fits.select(joint).to_series())
    return [
        pl.lit(fits[name].to_list(), dtype=pl.List(fits.schema[name])).list.get(number, null_on_oob=True)
        for name in columns
    ]


def _number_of(values: pl.Series) -> pl.Expr:
    """The place of a row's value among those that are not null, null being after them; null for a value of no fit."""
    known = values.drop_nulls()

    def number(inputs: list[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        ((column, dtype),) = inputs
        if not _are_comparable(dtype, values.dtype):
            raise TypeError(
                f"the calibration has groups by {values.name!r} with type {values.dtype}, but the column here is {dtype}: cast it"
            )
        text = _text(column, dtype)
        place = _position(text, known.to_frame().select(_text(pl.col(values.name), values.dtype)).to_series())
        return pl.when(text.is_null()).then(pl.lit(len(known), dtype=pl.UInt32)).otherwise(place)

    return pl.pipe_with_dtype([pl.col(values.name)], number)


def _position(text: pl.Expr, known: pl.Series) -> pl.Expr:
    return text.cast(pl.Enum(known), strict=False).to_physical().cast(pl.UInt32)


def _are_comparable(one: pl.DataType, other: pl.DataType) -> bool:
    return (
        one == other
        or (one.is_integer() and other.is_integer())
        or (one.is_float() and other.is_float())
        or (one in _TEXTS and other in _TEXTS)
    )


def _text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A string for each value, another for another value; that of an equal value of a comparable type is the same."""
    if dtype.is_float():
        number = column.cast(pl.Float64)
        # -0.0 is 0.0.
        return pl.when(number == 0).then(0.0).otherwise(number).cast(pl.String)
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    return (column.to_physical() if dtype.is_temporal() else column).cast(pl.String)


# The parameters of fitted calibrators, as a table; and the calibrated scores of rows, by their groups.

Calibrator: TypeAlias = Literal["affine", "temperature", "gaussian", "pav", "histogram"]
"""`affine`: new log-odds = alpha x log-odds + beta, alpha >= 0. `temperature`: the same with beta = 0, of LLRs
with the prior's log-odds. `gaussian`: those of normal scores of one variance, again affine. `pav`: the isotonic function of the score. `histogram`: the base rate in
the bin of the posterior."""

CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
STEPPED: tuple[Calibrator, ...] = ("pav", "histogram")
"""Calibrators that are step functions; the others are affine."""
REVERSED = "reversed"
"""The reason for scores that point the wrong way, which still have parameters."""

AFFINE = ("alpha", "beta", "n", "n_iterations", "gradient_norm", "reason")
STEPS = ("above", "log_odds", "n", "reason")
PARAMETERS = frozenset({*AFFINE, *STEPS})
"""Columns of a `Calibration` that no group column can have the name of; nor `fold`, which is for folds."""

# Names while scores are calibrated: no group column is called so.
FIT = "__fit"
_X = "__x"


def _reading(calibration: Calibration) -> Options:
    if calibration.is_of_vectors:
        return parse_options({"score_type": calibration.score_type, "classes": range(calibration.n_classes)})
    return parse_options({"score_type": SCALES[calibration.score_type].without_prior.name})


def _reader(calibration: Calibration, name: str) -> Callable[[Scores, CostMatrix, RowArguments], pl.Expr]:
    def read(scores: Scores, _: CostMatrix, __: RowArguments) -> pl.Expr:
        if isinstance(scores, VectorScores | ManyScores):
            if not calibration.is_of_vectors:
                raise TypeError(f"the calibration is for one score per row, but {name!r} is a vector")
            if scores.n_classes != calibration.n_classes:
                raise TypeError(
                    f"the calibration is for {calibration.n_classes} classes, but {name!r} has {scores.n_classes}"
                )
            return scores.of_log_posteriors(pl.concat_arr)
        assert isinstance(scores, BinaryScores)
        return scores.log_odds if calibration.is_affine else scores.score

    return read


# With more classes, arithmetic on arrays is faster than on elements, and its plan does not grow.
_FEW_CLASSES = 8


def softmax_affine(log_posteriors: pl.Expr, alpha: pl.Expr, beta: pl.Expr, n_classes: int) -> pl.Expr:
    """Log posteriors softmax(alpha l + beta), an array; null where there are no parameters."""

    def moved(k: int) -> pl.Expr:
        log_posterior, shift = log_posteriors.arr.get(k), beta.arr.get(k)
        return pl.when(alpha == 0).then(shift).otherwise(alpha * log_posterior + shift)

    def normalised(below: pl.Expr) -> pl.Expr:
        return below - below.arr.eval(pl.element().exp()).arr.sum().log()

    if n_classes <= _FEW_CLASSES:
        scores = bind([moved(k) for k in range(n_classes)], lambda z: log_softmax(z, pl.concat_arr))
    else:
        z = pl.when(alpha == 0).then(beta).otherwise(alpha * log_posteriors + beta)
        scores = bind([z, z.arr.max()], lambda x: normalised(x[0] - x[1]))
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
    fits = numbered(parameters, by)
    of_row = with_fit(rows, fits, by)[FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    value = rows[_X].fill_null(np.nan).to_numpy()
    return pl.Series(log_odds_of_steps(with_fit(parameters, fits, by), of_row, value), nan_to_null=True)


def log_odds_of_steps(steps: pl.DataFrame, of_query: Integers, value: Floats) -> Floats:
    """The log-odds of each value by the steps of its fit, whose number is in their column `FIT`; NaN where there are none."""
    ordered = steps.drop_nulls("above").sort(FIT, "above", maintain_order=True)
    numbers = ordered[FIT].to_numpy().astype(np.int64)
    at = _find_steps(numbers, ordered["above"].to_numpy(), of_query, value)
    return np.append(ordered["log_odds"].to_numpy(), np.nan)[at]


def _find_steps(of_step: Integers, above: Floats, of_query: Integers, value: Floats) -> Integers:
    """The last step of the query's number whose threshold is below its value, -1 for none; steps ascend, the first of a number from -inf."""
    levels = np.unique(above)
    place = of_step * (len(levels) + 1) + np.searchsorted(levels, above)
    wanted = of_query * (len(levels) + 1) + np.searchsorted(levels, value)
    first = np.searchsorted(of_step, np.arange(-1, np.max(of_query, initial=-1) + 1))
    step = np.maximum(np.searchsorted(place, wanted) - 1, first[of_query + 1])
    known = (step < len(of_step)) & ~np.isnan(value)
    known[known] = of_step[step[known]] == of_query[known]
    return np.where(known, step, -1)


# Calibrators as one SQL expression, for warehouses that hold the rows.

# EXP of more than 709 is an error in some engines.
_EXP_RANGE = 700


def _value(writer: Writer, s: str, calibration: Calibration, parameters: pl.DataFrame) -> str:
    if calibration.is_affine:
        return _affine(writer, s, SCALES[calibration.score_type], *parameters.select("alpha", "beta").row(0))
    return _steps(writer, s, parameters["above"].to_list(), parameters["log_odds"].to_list())


def _affine(writer: Writer, s: str, scale: ScoreScale, alpha: float, beta: float) -> str:
    if alpha == 0:
        return writer.number(_sigmoid(beta))
    slope, shift = writer.number(alpha), writer.number(beta)

    def calibrated(x: str) -> str:
        return f"1 / (1 + EXP(-GREATEST(-{_EXP_RANGE}, LEAST({_EXP_RANGE}, {slope} * {x} + {shift}))))"

    if not scale.is_share:
        return calibrated(s)
    s = scale.share_sql(s)
    inner = f"CASE WHEN {s} > 0 AND {s} < 1 THEN {s} END"
    return f"CASE WHEN {s} = 0 THEN 0e0 WHEN {s} = 1 THEN 1e0 ELSE {calibrated(f'(LN({inner}) - LN(1 - {inner}))')} END"


def _steps(writer: Writer, s: str, above: Sequence[float], log_odds: Sequence[float]) -> str:
    lowest, *others = [writer.number(_sigmoid(z)) for z in log_odds]
    conditions = [
        f"WHEN {s} >= {writer.number(-sys.float_info.max)} THEN {q}"
        if t == -math.inf
        else f"WHEN {s} > {writer.number(t)} THEN {q}"
        for t, q in zip(above[1:], others, strict=True)
    ]
    return f"CASE {' '.join(conditions[::-1])} ELSE {lowest} END" if conditions else lowest


def _sigmoid(z: float) -> float:
    small = math.exp(-abs(z))
    return 1 / (1 + small) if z >= 0 else small / (1 + small)


def _equals(writer: Writer, key: str, value: Any) -> str:
    column = quoted(key)
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, datetime.datetime):
        return f"{column} = CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"
    if isinstance(value, datetime.date):
        return f"{column} = CAST('{value.isoformat()}' AS DATE)"
    if not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(
            f"the group column {key!r} holds {value!r}, which to_sql() cannot write: join the table `frame` to the "
            "rows, and use ec.affine or its formula"
        )
    return f"{column} = {writer.literal(key, value)}"


# Fitted calibrators: applied to rows, written as SQL, saved and read.


@dataclass(frozen=True, repr=False)
class Calibration(Described):
    """Fitted calibrators as a plain table, with one row per group and fold, or one per step of these.

    Make one with `Sketch.calibrate`, `lf.ec.calibrate` or `read_parquet`.

    Attributes
    ----------
    frame
        The group columns; `fold` (the fold left out of the fit; null: fitted on all rows); the parameters; `n` rows of the fit; `reason`: why
        there are no parameters, or "reversed". The parameters of affine, temperature and gaussian are `alpha` and `beta`, an array with K
        classes. Except for gaussian, `n_iterations` of Newton's method and `gradient_norm` follow. The latter is the largest absolute
        derivative of the mean loss by a parameter that is not at its bound. pav and histogram have one row per step. Scores strictly above
        `above`, on the scale of the score, and up to the next step have the calibrated `log_odds`. The lowest step includes -inf itself.
    calibrator
        The name of the calibrator.
    score_type
        The kind of score.
    classes
        The class names with K classes, which identify the fields of a struct of scores.
    prior
        With one score per row: the stated prior of the posteriors. None if they refer to the groups' own priors or to an expression, or if
        the file does not contain it.
    """

    frame: pl.DataFrame
    calibrator: Calibrator
    score_type: str
    classes: ClassNames | None = None
    prior: float | None = None

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in ("fold", *PARAMETERS)]

    @property
    def is_affine(self) -> bool:
        """Whether the parameters are `alpha` and `beta` rather than steps."""
        return self.calibrator not in STEPPED

    @property
    def is_of_vectors(self) -> bool:
        """Whether the score of a row is a vector of K numbers."""
        return isinstance(self.frame.schema.get("beta"), pl.Array)

    @property
    def n_classes(self) -> int:
        """The number of classes, K."""
        beta = self.frame.schema.get("beta")
        return beta.size if isinstance(beta, pl.Array) else 2

    def fits(self, *, out_of_fold: bool) -> tuple[pl.DataFrame, list[str]]:
        """The fits on all rows, or those that leave a fold out, and the columns that assign rows to fits."""
        fold = pl.col(FOLD)
        if out_of_fold:
            return self.frame.filter(fold.is_not_null()), [*self.keys, FOLD]
        return self.frame.filter(fold.is_null()), self.keys

    def _calibrated(self, values: list[pl.Expr]) -> pl.Expr:
        """Posteriors from what affine calibrators are of, alpha and beta."""
        x, alpha, beta = values
        if self.is_of_vectors:
            return softmax_affine(x, alpha, beta, self.n_classes).arr.eval(pl.element().exp())
        return bind([affine_log_odds(x, alpha, beta)], lambda moved: sigmoid(moved[0]))

    def _facts(self) -> dict[str, str]:
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
        """Compute the calibrated posterior of each row with the calibrator of its group.

        Use it as an expression on rows that have the group columns under their names, such as `lf.with_columns(calibration.apply("score"))`.
        It streams. For affine, temperature and gaussian it calls no Python code, unless a group column is nested.

        Parameters
        ----------
        score
            Column name or expression, of the kind used in the fit.
        out_of_fold
            Use the calibrator fitted on the other folds. The rows must have a column `fold`, the `polars_ec.fold` of the same key and number
            of folds.

        Returns
        -------
        Float64, or an array with K classes, named `<score>_calibrated`. It is null for missing or invalid scores, for a group without
        calibration, and if there are no parameters.

        Raises
        ------
        TypeError, ValueError
            A score of another kind or another number of classes; a struct whose names differ from the classes; a group column of another type
            (integer sizes, float sizes and kinds of strings may differ).
        SketchError
            `out_of_fold` for a calibration without folds.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"g": ["a"] * 6, "p": [0.9, 0.6, 0.3, 0.7, 0.2, 0.1], "y": [1, 1, 1, 0, 0, 0]})
        >>> calibration = log.ec.sketch("p", "y", by="g", exact=True).calibrate()
        >>> new = pl.DataFrame({"g": ["a", "a", "b"], "p": [0.9, 0.1, 0.5]})
        >>> new.select(calibration.apply("p").round(4))["p_calibrated"].to_list()
        [0.8806, 0.1573, None]
        """
        column = as_expr(score, "score")
        parameters, by = self.fits(out_of_fold=out_of_fold)
        if out_of_fold and parameters.height == 0:
            raise SketchError("the calibration has no folds: make it with folds= and fold_by=")
        name = column.meta.output_name()
        x = per_row("calibrated", column, _reading(self), _reader(self, name), classes=self.classes).alias(_X)
        # Keys of these types have no text that identifies them.
        without_text = any(parameters.schema[key].is_nested() or parameters.schema[key] == pl.Object for key in by)
        if self.is_affine and not without_text:
            alpha, beta = look_up(parameters, by, ["alpha", "beta"])
            return bind([x, alpha, beta], self._calibrated).alias(f"{name}_calibrated")

        def calibrate(rows: pl.Series) -> pl.Series:
            table = rows.struct.unnest()
            if not self.is_affine:
                log_odds = _of_steps(parameters, by, table)
                return log_odds.to_frame().select(sigmoid(pl.first())).to_series()
            found = join_groups(table, parameters.select(*by, "alpha", "beta"), by)
            return found.select(self._calibrated([pl.col(_X), pl.col("alpha"), pl.col("beta")])).to_series()

        dtype = pl.Array(pl.Float64, self.n_classes) if self.is_of_vectors else pl.Float64()
        packed = pl.struct([*by, x])
        return packed.map_batches(calibrate, return_dtype=dtype, is_elementwise=True).alias(f"{name}_calibrated")

    def to_sql(self, score: str, *, dialect: WarehouseDialect = "duckdb") -> str:
        """Write the calibrated posterior as one SQL expression, a CASE over the groups, in the dialect of a warehouse.

        It computes the values of `apply`, except that posteriors below 1e-304 become about 1e-304.

        Parameters
        ----------
        score
            The score, as SQL in that dialect. Group columns are referred to by name.
        dialect
            As for `sketch_query`.

        Raises
        ------
        ValueError
            An unknown dialect, or a score that is not SQL; group columns of types other than strings, numbers, Booleans, dates and times.
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
            raise SketchError("to_sql() is for one score per row, and this calibration is for vectors: use apply()")
        writer = Writer(dialect)
        s = f"CAST({writer.expression('score', score)} AS DOUBLE)"
        parameters, keys = self.fits(out_of_fold=False)
        table = parameters.drop_nulls("alpha" if self.is_affine else "log_odds")
        groups = table.partition_by(keys, maintain_order=True) if keys else [table]
        values = [_value(writer, s, self, group) for group in groups if group.height]
        if not values:
            return writer.write("CAST(NULL AS DOUBLE)")
        if keys:
            conditions = [" AND ".join(_equals(writer, key, group[key][0]) for key in keys) for group in groups]
            branches = " ".join(f"WHEN {c} THEN {value}" for c, value in zip(conditions, values, strict=True))
            values = [f"CASE {branches} END"]
        scale = SCALES[self.score_type]
        right = scale.valid_sql(s) if scale.is_share else is_number(s)
        return writer.write(f"CASE WHEN {right}{writer.and_not_nan(s)} THEN {values[0]} END")

    def write_parquet(self, path: str | Path, *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the parameters, with their meaning, a checksum and any further `metadata` in the metadata of the file."""
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
        """Read a calibration from a file that `write_parquet` made; raises SketchError for any other file, with the reason."""
        frame, about = read_described(path, "calibration")
        calibrator, score_type = about.get("calibrator"), about.get("score_type")
        if calibrator not in CALIBRATORS or not isinstance(score_type, str) or frame.columns != about.get("columns"):
            raise SketchError(
                f"{path} is a damaged calibration: its columns are {frame.columns}, but its metadata say {about}"
            )
        needed = (FOLD, *(STEPS if calibrator in STEPPED else AFFINE))
        lacking = [name for name in needed if name not in frame.columns]
        if lacking:
            raise SketchError(f"{path} is a damaged calibration: it lacks {lacking[0]}")
        version = about.get("hash_version")
        if frame[FOLD].is_not_null().any() and version != HASH_VERSION:
            raise SketchError(
                f"{path} has folds by version {version} of the hash, but this version of polars_ec uses {HASH_VERSION}: calibrate again"
            )
        try:
            names = None if about.get("classes") is None else ClassNames.of_metadata(about["classes"])
        except (KeyError, TypeError, ValueError) as error:
            raise SketchError(f"{path} is a damaged calibration, with invalid metadata: {first_line(error)}") from None
        made = cls(frame, calibrator, score_type, names, about.get("prior"))
        fault = _fault(made)
        if fault is not None:
            raise SketchError(f"{path} is a damaged calibration: {fault}")
        return made


def _fault(calibration: Calibration) -> str | None:
    """The first thing in it that no calibrator leads to, in words."""
    frame, schema = calibration.frame, calibration.frame.schema
    ordinal = calibration.calibrator in STEPPED
    names = ("above", "log_odds") if ordinal else ("alpha", "beta")
    known = VECTOR_TYPES if calibration.is_of_vectors else SKETCH_SCORE_TYPES
    of_no_raw, of_no_vector = calibration.calibrator == "temperature", calibration.calibrator == "gaussian"
    wrong = (calibration.score_type == RAW.name and of_no_raw) or (calibration.is_of_vectors and of_no_vector)
    if calibration.score_type not in known or wrong:
        return f"unknown score type {calibration.score_type!r}"
    prior = calibration.prior
    if prior is not None and not (isinstance(prior, int | float) and 0 <= prior <= 1):
        return f"invalid prior {prior!r}"
    if calibration.classes is not None and len(calibration.classes.values) != calibration.n_classes:
        return f"{calibration.n_classes} classes in its parameters, but {len(calibration.classes.values)} names"
    numbers = all(schema[name].is_float() for name in names if not schema[name].is_nested())
    if not numbers or not schema["n"].is_integer() or schema["reason"] not in (pl.String, pl.Null):
        return "a parameter is not a number"
    fit = [*calibration.keys, FOLD]
    if frame.select([*fit, "above"] if ordinal else fit).is_duplicated().any():
        return "a fit is listed twice"
    given = pl.all_horizontal([pl.col(name).is_not_null() for name in names])
    has_parameters = (pl.col("reason").is_null() | (pl.col("reason") == REVERSED)).fill_null(False)
    faults = {
        "a number of rows is null or negative": pl.col("n").is_null() | (pl.col("n") < 0),
        "a fit has both parameters and a reason for having none, or neither": given != has_parameters,
        "a parameter is not a number": _is_wrong(names, frame.schema, ordinal),
    }
    if calibration.calibrator == "pav":
        falls = pl.col("log_odds") < pl.col("log_odds").shift(1)
        first = pl.struct(fit).ne_missing(pl.struct(fit).shift(1)).fill_null(value=True)
        faults["the steps are not increasing"] = falls & ~first
    return first_fault(frame, faults)


def _is_wrong(names: Sequence[str], schema: pl.Schema, ordinal: bool) -> pl.Expr:
    """True for a parameter that is NaN; or infinite or negative, where it must not be."""
    if ordinal:
        return pl.any_horizontal([pl.col(name).is_nan() for name in names])
    beta = pl.col("beta").arr.sum() if schema["beta"].is_nested() else pl.col("beta")
    return ~(pl.col("alpha").is_finite() & (pl.col("alpha") >= 0) & beta.is_finite())
