"""Calibration from the rows of a log: in a few passes with K classes, by a sketch with two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, Unpack, cast

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import INTERVAL_KEYWORDS, Options, parse_interval, parse_options
from polars_ec.arguments.options import CalibrationLossOptions, CalibrationOptions, RiskOptions
from polars_ec.arguments.scales import LOG_ODDS, LOG_POSTERIORS, RAW, scale_of, score_type_of
from polars_ec.arguments.signatures import with_options
from polars_ec.calibration.calibration import PARAMETERS, STEPPED, Calibration, Calibrator, softmax_affine
from polars_ec.calibration.cells import LOSS_COLUMNS, NAMES, check_calibrator, check_loss, compare
from polars_ec.calibration.cells import calibrate as calibrate_cells
from polars_ec.calibration.cells import calibration_loss as loss_of_cells
from polars_ec.calibration.multiclass import fit_classes
from polars_ec.exceptions import SketchError
from polars_ec.formulas.losses import prior_loss
from polars_ec.metrics.counts import class_prior, n_rows
from polars_ec.metrics.scoring_rules import bayes_risk, brier, cross_entropy
from polars_ec.scores.folds import FOLD
from polars_ec.scores.read import (
    Rows,
    check_names,
    class_prior_of_log,
    expand,
    join_groups,
    per_group,
    resolve_columns,
    with_prior_column,
)
from polars_ec.scores.scores import ManyScores, VectorScores
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.sums import is_overall
from polars_ec.typing import FrameLike, IntoExpr, Rule

OptionsT = TypeVar("OptionsT", CalibrationOptions, CalibrationLossOptions)

# Up to this many rows calibrators use the exact scores. With more, memory must not grow with the distinct scores.
_FEW_ROWS = 100_000
# Names while rows are read: no group column is called so.
_LABEL, _WEIGHT, _PRIOR, _RAW, _CALIBRATED = "__label", "__weight", "__prior", "__raw", "__calibrated"
_REASON, _FOUND, _GROUP, _INVALID = "__reason", "__found", "__group", "__invalid"


@with_options(
    CalibrationOptions,
    raises="A calibrator that does not support K classes, or raw scores; other errors of `Sketch.calibrate`.",
)
def calibrate(
    frame: FrameLike,
    score: IntoExpr,
    label: IntoExpr,
    calibrator: Calibrator = "affine",
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    folds: int | None = None,
    fold_by: IntoExpr | None = None,
    stratified: bool = False,
    resolution: int = 64,
    **options: Unpack[CalibrationOptions],
) -> Calibration:
    """Fit a calibrator, which turns scores into calibrated posteriors, to every group of a log at once.

    With K classes, affine is softmax(alpha ln q + beta), with alpha >= 0 and beta of mean 0 that minimise the cross-entropy; temperature has
    beta = 0. Each step of Newton's method is one pass over the log, for all groups and folds together. About six are needed, and their memory
    does not grow with the rows.

    For two classes with one score per row, this is `Sketch.calibrate` of a sketch, which is exact up to 100,000 rows. With `prior` and "raw"
    scores it is prior-weighted logistic regression.

    Parameters
    ----------
    score
        Column name or expression: posteriors of K classes or their logarithms, or one score for two classes.
    folds
        The number of folds. Each fold gets a calibrator fitted on the other folds, besides the one fitted on all rows.
    resolution
        Bins per nat of the sketch, for one score per row and more than 100,000 rows. Affine and gaussian with raw scores keep every distinct
        score, so memory grows with these.

    Returns
    -------
    A `Calibration`; with K classes its `beta` is an array. If there are no parameters they are null, and `reason` explains why:
    `"wrong rows"` (invalid rows), "no rows", "no prior", "a class without rows", "not converged", "separable" (no minimum of the
    cross-entropy) or "infinite log-odds". The last means that a row has posterior 0 for its own class. Scores that point the wrong way get
    alpha = 0, so that every posterior is the prior, and the reason "reversed".

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2 and Eq. 23.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> q = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.1, 0.8, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8], [0.5, 0.2, 0.3]]
    >>> log = pl.DataFrame({"q": q, "y": [0, 0, 1, 1, 2, 2]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    >>> log.ec.calibrate("q", "y", "temperature").frame.select(pl.col("alpha").round(4), "n").rows()
    [(1.5015, 6)]
    >>> scores = pl.DataFrame({"margin": [12.0, 3.0, -9.0, 5.0, -14.0, -20.0], "y": [1, 1, 1, 0, 0, 0]})
    >>> calibration = scores.ec.calibrate("margin", "y", score_type="raw", prior=0.1)
    >>> scores.select(calibration.apply("margin").round(3))["margin_calibrated"].to_list()
    [0.36, 0.179, 0.058, 0.212, 0.035, 0.019]
    """
    lazy = as_lazy(frame)
    options = _with_counted_prior(lazy, score, label, options)
    # Raw scores are read as those of ranking metrics are: any number but NaN.
    lazy, checked = with_prior_column(lazy, parse_options(options, ranking=True))
    rows, fold_key = resolve_columns(lazy, score, label, checked), FoldKey(folds, fold_by, stratified)
    if not isinstance(rows.scores, VectorScores | ManyScores):
        # No decision is taken, so that no threshold need be declared, which LLRs would want the prior for.
        exact = checked.scale.has_order_only and calibrator not in STEPPED
        check_calibrator(calibrator, checked.scale, exact=exact)
        read: Any = {name: value for name, value in options.items() if name != "prior"}
        cells, _ = make_cells(
            *(lazy, score, label, read), by=by, resolution=resolution, exact=exact, few_rows=_FEW_ROWS, folds=fold_key
        )
        return calibrate_cells(cells, calibrator, prior=_prior_of_groups(lazy, rows, by, checked))
    keys = expand(lazy, by, "by")
    return _of_classes(lazy, rows, calibrator, keys, fold_key.fold(rows, keys), folds or 0)


def _with_counted_prior(frame: pl.LazyFrame, score: IntoExpr, label: IntoExpr, options: OptionsT) -> OptionsT:
    prior = options.get("prior")
    if not is_overall(prior):
        return options
    # Like raw scores, log-odds are any number but NaN.
    read = {**options, "score_type": LOG_ODDS.name} if scale_of(options) is RAW else options
    shares = frame.select(class_prior_of_log(score, label, read)).collect(engine="streaming").item()
    if shares is None:
        raise ValueError('prior="overall" cannot be counted: the log has invalid or no usable rows. Pass a number')
    return cast("OptionsT", {**options, "prior": shares})


def _prior_of_groups(frame: pl.LazyFrame, rows: Rows, by: IntoExpr | Sequence[IntoExpr], checked: Options) -> Any:
    """The prior as a sketch takes it, which knows no columns of the log but its keys."""
    if rows.prior is None:
        return None
    share = rows.prior[1].alias(_PRIOR)
    if checked.prior.expression is None:
        return [pl.select(p).item() for p in rows.prior]
    keys = [key for key in expand(frame, by, "by") if key.meta.output_name() != FOLD]
    if not keys:
        return pl.lit(frame.select(share).collect(engine="streaming").item(), dtype=pl.Float64)
    names = [key.meta.output_name() for key in keys]
    stated = frame.group_by(keys).agg(share).collect(engine="streaming")

    def look_up(groups: pl.Series) -> pl.Series:
        return join_groups(groups.struct.unnest(), stated, names)[_PRIOR]

    return pl.struct(names).map_batches(look_up, return_dtype=pl.Float64)


def _of_classes(
    frame: pl.LazyFrame, rows: Rows, calibrator: Calibrator, keys: list[pl.Expr], fold: pl.Expr | None, n_folds: int
) -> Calibration:
    if calibrator not in ("affine", "temperature"):
        raise ValueError(
            f"calibrator={calibrator!r} is for one score per row, and these are vectors: pass 'affine' or 'temperature'"
        )
    check_names(keys, {FOLD, *PARAMETERS}, "calibration")
    assert isinstance(rows.scores, VectorScores | ManyScores)
    if rows.scores.scale.needs_prior:
        raise ValueError("log-likelihoods are calibrated as posteriors: pass ec.posterior(score, prior=...)")
    fitted = fit_classes(frame, keys, fold, n_folds, rows, with_shift=calibrator == "affine")
    return Calibration(fitted, calibrator, rows.scores.scale.name, rows.class_names)


@with_options(
    CalibrationLossOptions, raises='An unknown rule or training; "cv" without folds; intervals for vectors of K scores.'
)
def calibration_loss(
    frame: FrameLike,
    score: IntoExpr,
    label: IntoExpr,
    rule: Rule = "cross_entropy",
    *,
    calibrator: Calibrator = "affine",
    training: Literal["cv", "test"] | Calibration = "cv",
    by: IntoExpr | Sequence[IntoExpr] = (),
    folds: int | None = None,
    fold_by: IntoExpr | None = None,
    stratified: bool = False,
    resolution: int = 64,
    **options: Unpack[CalibrationLossOptions],
) -> pl.DataFrame:
    """Compute the calibration loss per group: the loss of the scores as they are, minus the loss after calibration.

    Higher means worse calibrated scores. Well calibrated scores have about 0, and an overfitted calibrator gives values below 0. CalLoss =
    EPSR raw - EPSR calibrated, with EPSR the mean loss; RCL = 100 CalLoss / EPSR raw. EPSR raw = CalLoss - discrimination + uncertainty. With
    "pav" and "test" these are MCB, DSC and UNC of reliability diagrams (CORP). With one score per row it is `Sketch.calibration_loss` of a
    sketch, which is exact up to 100,000 rows.

    Parameters
    ----------
    score
        Column name or expression: posteriors of K classes or their logarithms, or one score for two classes.
    rule
        "cross_entropy", "brier", or "bayes_risk", the expected cost of Bayes decisions at the costs. For LLRs "bayes_risk", or "cllr",
        without a prior, for calibrated LLRs.
    training
        The data to fit the calibrator on. "cv": cross-validation, which sums the losses of all folds, each with a calibrator fitted on the
        other folds; it requires `folds` and `fold_by`. "test": the same rows. A `Calibration`: one fitted on another log; it may have fewer
        group columns.
    folds
        The number of folds, such as 5; only with "cv".
    resolution
        Bins per nat of the sketch, for one score per row and more than 100,000 rows. `Sketch.calibration_loss` has the accuracy.
    prior
        Class priors of the losses and of the fit, in the same forms as for `report`. None: the group's own.
    method
        The method of the intervals. "influence" is a jackknife here, with calibrators refitted without each of 20 parts of the rows in turn:
        buckets of clusters, or independent rows assigned at random. "bootstrap" takes percentiles over resampled rows or clusters, with
        refitted calibrators. "bca" is not available.

    Returns
    -------
    One row per group, sorted: the group columns, `n`, `class_prior`, `raw` (the loss of the scores as they are), `calibrated`, `cal_loss`,
    `rcl` in percent (null if `raw` is 0), `discrimination` and `uncertainty`. The last is the loss of a system that always returns the prior,
    and discrimination is that minus `calibrated`. With `interval` each loss has `NAME_ci_low` and `NAME_ci_high`. `reason` explains a missing
    calibrated loss, as in `calibrate`. For "infinite log-odds" (a row has posterior 0 for its own class), clip the scores.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.5.3, Eqs. 30 to 33; Dimitriadis, Gneiting and Jordan, "Stable
    reliability diagrams for probabilistic classifiers", 2021.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> q = [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.1, 0.8, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8], [0.5, 0.2, 0.3]]
    >>> log = pl.DataFrame({"q": q, "y": [0, 0, 1, 1, 2, 2]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    >>> log.ec.calibration_loss("q", "y", training="test").select(pl.col("raw", "calibrated", "rcl").round(3)).rows()
    [(0.628, 0.479, 23.78)]
    """
    request, clusters = parse_interval(options), ClusterKey(options.get("cluster"), options.get("buckets", 100))
    read_options = {name: value for name, value in options.items() if name not in INTERVAL_KEYWORDS}
    options = cast("CalibrationLossOptions", read_options)
    check_loss(rule, training, score_type_of(options), options.get("prior"))
    if (training == "cv") != (folds is not None):
        raise ValueError(
            "training='cv' needs folds=, and no other training has them: pass folds=5 and fold_by='user_id', the column that keeps "
            "related rows in one fold, or training='test' to fit and judge on the same rows"
        )
    lazy = as_lazy(frame)
    options = _with_counted_prior(lazy, score, label, options)
    lazy, checked = with_prior_column(lazy, parse_options(options))
    rows, fold_key = resolve_columns(lazy, score, label, checked), FoldKey(folds, fold_by, stratified)
    if not isinstance(rows.scores, VectorScores | ManyScores):
        # Only the decisions of LLRs are at the prior; of others only the loss is.
        at_prior = checked.scale.needs_prior
        read: Any = {name: value for name, value in options.items() if at_prior or name != "prior"}
        cells, point = make_cells(
            *(lazy, score, label, read),
            by=by,
            resolution=resolution,
            few_rows=_FEW_ROWS,
            folds=fold_key,
            clusters=clusters,
        )
        prior = _prior_of_groups(lazy, rows, by, checked)
        return loss_of_cells(cells, rule, calibrator, training, {}, {"prior": prior, "costs": point.costs}, request)
    if request is not None:
        raise ValueError(
            f"interval={request.level!r} is for one score per row, and these are vectors: use "
            "sketch(...).calibration_loss(interval=), which has each class against the rest"
        )
    keys = expand(lazy, by, "by")
    check_names(keys, {FOLD, *PARAMETERS, *NAMES}, "calibration")
    fold = fold_key.fold(rows, keys)
    if not isinstance(training, Calibration):
        training = _of_classes(lazy, rows, calibrator, keys, fold, folds or 0)
    return _losses(lazy, keys, fold, rows, training, rule, options)


def _losses(
    frame: pl.LazyFrame,
    keys: list[pl.Expr],
    fold: pl.Expr | None,
    rows: Rows,
    calibration: Calibration,
    rule: Rule,
    options: RiskOptions,
) -> pl.DataFrame:
    names = [key.meta.output_name() for key in keys]
    _check_fits(calibration, rows, names)
    calibrated = _calibrated(frame, keys, fold, rows, calibration)
    table = calibrated.group_by(names or pl.lit(0).alias(_GROUP)).agg(**_of_group(rows, rule, options))
    return compare(table.collect(engine="streaming")).select(*names, *LOSS_COLUMNS).sort(names or "n")


def _check_fits(calibration: Calibration, rows: Rows, names: Sequence[str]) -> None:
    unknown = sorted(set(calibration.keys) - set(names))
    if unknown:
        raise SketchError(f"training= has groups by {unknown[0]!r}, which is not a column in by=")
    n_classes = len(rows.labels.in_class)
    if not calibration.is_of_vectors or calibration.n_classes != n_classes:
        made_of = f"vectors of {calibration.n_classes}" if calibration.is_of_vectors else "one score per row"
        raise SketchError(f"training= is a calibration for {made_of}, but the scores are vectors of {n_classes}")
    own, fitted = rows.class_names.known, calibration.classes
    if own and fitted is not None and fitted.known and fitted.places(own, "the log") != list(range(n_classes)):
        raise SketchError(
            f"training= is a calibration for the classes {list(fitted.known)} in this order, but the scores have {list(own)}"
        )


def _calibrated(
    frame: pl.LazyFrame, keys: list[pl.Expr], fold: pl.Expr | None, rows: Rows, calibration: Calibration
) -> pl.LazyFrame:
    assert isinstance(rows.scores, VectorScores | ManyScores)
    scored = frame.select(
        *keys,
        *([] if fold is None else [fold]),
        rows.labels.label.alias(_LABEL),
        (pl.lit(1.0) if rows.weight is None else rows.weight).alias(_WEIGHT),
        rows.scores.of_log_posteriors(pl.concat_arr).alias(_RAW),
        # An invalid score may have no log posteriors, and would count as missing.
        pl.when(rows.usable).then(pl.lit(value=False)).otherwise(rows.present).alias(_INVALID),
        *([] if rows.prior is None else [pl.concat_arr(rows.row_prior or []).alias(_PRIOR)]),
    )
    parameters, on = calibration.fits(out_of_fold=fold is not None)
    found = pl.col("reason").alias(_REASON), pl.lit(value=True).alias(_FOUND)
    parameters = parameters.select(*on, "alpha", "beta", *found)
    joined = (
        scored.join(parameters.lazy(), on=on, how="left", nulls_equal=True)
        if on
        else scored.join(parameters.lazy(), how="cross")
    )
    calibrated = softmax_affine(pl.col(_RAW), pl.col("alpha"), pl.col("beta"), len(rows.labels.in_class))
    return joined.with_columns(calibrated.alias(_CALIBRATED))


def _of_group(rows: Rows, rule: Rule, options: RiskOptions) -> dict[str, pl.Expr]:
    read: Any = {
        "score_type": LOG_POSTERIORS.name,
        "weight": None if rows.weight is None else _WEIGHT,
        "pos_label": options.get("pos_label"),
        "classes": options.get("classes"),
    }
    judge: Any = {**read, "prior": None if rows.prior is None else pl.col(_PRIOR)}
    if rule == "bayes_risk":
        judge["costs"] = CostMatrix(rows.costs.values)
    metrics = {"cross_entropy": cross_entropy, "brier": brier, "bayes_risk": bayes_risk}
    metric: Callable[..., pl.Expr] = metrics[rule]

    def of_prior(rows: Rows) -> pl.Expr:
        return rows.sums().guarded(prior_loss(rule, rows.sums(), rows.costs))

    is_valid = ~pl.col(_INVALID).any()
    usable = pl.col(_RAW).is_not_null() & pl.col(_LABEL).is_not_null() & (pl.col(_WEIGHT) > 0)
    lost = usable & pl.col(_CALIBRATED).is_null()
    reason = pl.when(pl.col(_FOUND).is_null()).then(pl.lit("not calibrated")).otherwise(_REASON)
    # The reason of lost rows, if there are any, comes before another.
    most_telling_reason = pl.coalesce(pl.when(lost).then(reason).max(), pl.when(usable).then(reason).max())
    return {
        "n": n_rows(_RAW, _LABEL, **read),
        "n_invalid": pl.col(_INVALID).sum(),
        "class_prior": pl.when(is_valid).then(class_prior(_RAW, _LABEL, **read)),
        "raw": pl.when(is_valid).then(metric(_RAW, _LABEL, **judge)),
        "calibrated": pl.when(is_valid).then(metric(_CALIBRATED, _LABEL, **judge)),
        "uncertainty": per_group("uncertainty", _RAW, _LABEL, parse_options(judge), of_prior),
        "lost": lost.any(),
        "reason": pl.when(~usable.any()).then(pl.lit("no rows")).otherwise(most_telling_reason),
    }
