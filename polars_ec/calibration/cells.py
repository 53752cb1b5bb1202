"""Fit calibrators to the cells of a log, for all groups and folds at once, and compute calibration losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL, Prior, parse_prior
from polars_ec.arguments.keywords import Request
from polars_ec.arguments.scales import LLR, LOG_ODDS, RAW, ScoreScale, scale_of
from polars_ec.calibration.calibration import (
    AFFINE,
    CALIBRATORS,
    FIT,
    PARAMETERS,
    REVERSED,
    STEPPED,
    STEPS,
    Calibration,
    Calibrator,
    log_odds_of_steps,
    numbered,
    with_fit,
)
from polars_ec.calibration.cell_table import (
    CellTable,
    Training,
    counted,
    first_reason,
    reason_column,
    rolled_up,
    table_of,
    training_of,
)
from polars_ec.calibration.logistic_newton import Points, fit_lines
from polars_ec.calibration.loss_intervals import with_drawn_limits, with_limits, without_far
from polars_ec.exceptions import SketchError
from polars_ec.formulas.hull import upper_hull
from polars_ec.formulas.losses import prior_loss
from polars_ec.formulas.sums import GROUP
from polars_ec.numerics import Bools, Floats, Integers, Texts, np, quiet
from polars_ec.scores.folds import FOLD
from polars_ec.scores.scores import BinaryScores, affine_log_odds
from polars_ec.sketches.arguments import parse_arguments
from polars_ec.sketches.cells import Cells, check_keys
from polars_ec.sketches.evaluation import evaluate
from polars_ec.sketches.grid import EXACT, Grid
from polars_ec.sketches.sums import GroupSums, is_overall, overall_prior, prior_columns, tabulate
from polars_ec.typing import Rule

# Affine calibration, alpha times the log-odds plus beta: which fits have a solution, and the solutions.


@quiet
def fit_affine(training: Training, with_shift: bool) -> pl.DataFrame:
    """A row per `fit`: `alpha`, `beta`, `n`, `n_iterations`, `gradient_norm`, `reason`."""
    x = training.table.log_odds
    # Without a shift posteriors keep the prior that they have, and LLRs are at that of the fit.
    held = None if with_shift else np.where(training.table.grid.scale.needs_prior, training.prior_log_odds, 0.0)
    reasons = [*training.why_untrained(), *_why_unsolved(training, with_shift)]
    reversed_, infinite = _reversed(training, held), training.any(training.seen & np.isinf(x))
    # The limit at alpha = 0 is undefined for infinite scores.
    reasons += [(reversed_ & infinite, "infinite log-odds"), (reversed_, REVERSED)]
    reason = first_reason(reasons)
    solved = reason == ""
    columns = {name: np.full(training.n_fits, np.nan) for name in ("alpha", "beta", "gradient_norm")}
    n_iterations = np.full(training.n_fits, -1)
    at_zero = reason == REVERSED
    columns["alpha"][at_zero] = columns["gradient_norm"][at_zero] = n_iterations[at_zero] = 0
    columns["beta"][at_zero] = (training.prior_log_odds if held is None else held)[at_zero]
    first, finite = np.arange(training.n_fits) < training.n_groups, np.isfinite(x)
    # Newton: first for all rows of each group, from where the folds of a group then start.
    for chosen in (solved & first, solved & ~first):
        if not chosen.any():
            continue
        fit, cell = training.points(chosen, finite)
        starts = np.flatnonzero(np.diff(fit, prepend=-1))
        points = Points(starts, x[cell], *training.weights(fit, cell))
        whole = np.flatnonzero(chosen) % training.n_groups
        start = columns["alpha"][whole], columns["beta"][whole]
        lines = fit_lines(points, held=None if held is None else held[chosen], start=start)
        for name, values in columns.items():
            values[chosen] = np.where(lines.converged, getattr(lines, name), np.nan)
        n_iterations[chosen] = np.where(lines.converged, lines.n_iterations, -1)
    failed = solved & np.isnan(columns["alpha"])
    reason = np.where(failed, "not converged", reason).astype(np.str_)
    return affine_table(training, reason, columns, n_iterations)


def affine_table(
    training: Training, reason: Texts, columns: Mapping[str, Floats], n_iterations: Integers
) -> pl.DataFrame:
    """A row per `fit`: its parameters, null where they are NaN or, of iterations, negative."""
    about = {"n": training.n, "n_iterations": n_iterations, "reason": reason_column(reason)}
    table = pl.DataFrame({"fit": np.arange(training.n_fits), **columns, **about})
    known = pl.when(pl.col("n_iterations") >= 0).then("n_iterations")
    return table.with_columns(pl.col(*columns).fill_nan(None), known)


def _why_unsolved(training: Training, with_shift: bool) -> list[tuple[Bools, str]]:
    """Fits whose loss has no least value, or has it at many places."""
    x = training.table.log_odds
    finite, negative, positive = np.isfinite(x), training.weight[:, 0] > 0, training.weight[:, 1] > 0
    # For alpha > 0 an infinite score on its class's side costs nothing, and one on the other side infinitely much.
    hopeless = training.any((negative & (x == np.inf)) | (positive & (x == -np.inf)))
    # Within a cell the order is not known: classes that share one cell and no more may be separable.
    place = np.arange(len(x), dtype=np.float64) if with_shift else x
    lowest_0, highest_0 = training.range(place, negative & finite)
    lowest_1, highest_1 = training.range(place, positive & finite)
    lowest, highest = np.minimum(lowest_0, lowest_1), np.maximum(highest_0, highest_1)
    if with_shift:
        separable, flat = highest_0 <= lowest_1, lowest == highest
    else:
        separable, flat = (highest_0 <= 0) & (lowest_1 >= 0), (lowest == 0) & (highest == 0)
    return [(hopeless, "infinite log-odds"), (flat, "one score"), (separable, "separable")]


def _reversed(training: Training, held: Floats | None) -> Bools:
    """True if the least loss is at some alpha <= 0: if it does not fall from alpha = 0 upwards, with beta as it is `held`."""
    table = training.table
    finite = np.isfinite(table.log_odds)
    weight = training.weight * finite
    x = np.where(finite, table.log_odds, 0.0)
    if held is not None:
        shares = 1 / (1 + np.exp(np.multiply.outer([1, -1], held.reshape(len(weight), -1))))
    else:
        own = table.total(weight)
        shares = (own / own.sum(axis=1, keepdims=True)).swapaxes(0, 1)
        # The shares of a class, times the other's sums, cancel where all scores are the same: so they may be moved to the middle.
        lowest, highest = table.reduce(np.minimum, x, 0.0), table.reduce(np.maximum, x, 0.0)
        x -= (lowest / 2 + highest / 2)[table.group]
    sums = table.total(weight * x)
    rises: Bools = shares[1] * sums[:, 0] - shares[0] * sums[:, 1] >= 0
    return rises.ravel()


# The Gaussian score model: normal scores with a mean for each class and one variance, so that their LLR is affine.

# The share of alpha times the range of the scores that rounding may take from alpha x + beta.
_DIGITS_LOST = 1e-6


@quiet
def fit_gaussian(training: Training) -> pl.DataFrame:
    """A row per `fit`, as `fit_affine` gives it; no iterations are needed."""
    x, seen = training.table.log_odds, training.seen
    lowest, highest = training.range(x, seen)
    half_range = highest / 2 - lowest / 2
    fit, cell = training.points(np.ones(training.n_fits, dtype=bool))
    negative, positive = training.weights(fit, cell)
    # On a scale from 0 to 1 squares do not overflow, and do not lose digits if scores are far from 0.
    unit = (x[cell] / 2 - lowest[fit] / 2) / half_range[fit]

    def mean(values: Floats, weight: Floats) -> Floats:
        return np.bincount(fit, values, training.n_fits) / np.bincount(fit, weight, training.n_fits)

    mean_0, mean_1 = mean(negative * unit, negative), mean(positive * unit, positive)
    squares = negative * (unit - mean_0[fit]) ** 2 + positive * (unit - mean_1[fit]) ** 2
    slope = (mean_1 - mean_0) / mean(squares, negative + positive)
    alpha = slope / half_range / 2
    beta = training.prior_log_odds - slope * (mean_0 + mean_1) / 2 - alpha * lowest
    lost = np.spacing(np.maximum(np.abs(alpha * lowest), np.abs(alpha * highest))) > _DIGITS_LOST * slope
    place = np.arange(len(x), dtype=np.float64)
    one_cell_0, one_cell_1, one_cell = (
        np.equal(*training.range(place, chosen))
        for chosen in (training.weight[:, 0] > 0, training.weight[:, 1] > 0, seen)
    )
    reason = first_reason(
        [
            *training.why_untrained(),
            (training.any(seen & np.isinf(x)), "infinite log-odds"),
            (one_cell, "one score"),
            (mean_1 <= mean_0, REVERSED),
            (one_cell_0 & one_cell_1, "separable"),
            (~np.isfinite(alpha) | ~np.isfinite(beta) | lost, "not converged"),
        ]
    )
    solved, at_zero = reason == "", reason == REVERSED
    columns = {
        "alpha": np.where(solved, alpha, np.where(at_zero, 0.0, np.nan)),
        "beta": np.where(solved, beta, np.where(at_zero, training.prior_log_odds, np.nan)),
        "gradient_norm": np.full(training.n_fits, np.nan),
    }
    return affine_table(training, reason, columns, np.full(training.n_fits, -1))


# Calibrators that are step functions of the score: isotonic regression (PAV) and histogram binning.


@dataclass(frozen=True)
class _TrainableCells:
    """Cells of the fits that can be trained, sorted by fit and score; a cell is above the threshold `above`, and the lower cells are not."""

    fit: Integers
    positives: Floats
    negatives: Floats
    above: Floats
    value: Floats

    def running(self, values: Floats) -> Floats:
        """Sums from the first cell of the fit on."""
        sums = pl.DataFrame({"fit": self.fit, "value": values}).select(pl.col("value").cum_sum().over("fit"))
        return sums["value"].to_numpy()


@dataclass(frozen=True)
class _Steps:
    """Steps of many fits, sorted as cells are; each is of the scores strictly above `above`, up to the next step."""

    fit: Integers
    above: Floats
    positives: Floats
    negatives: Floats

    @property
    def log_odds(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.positives / self.negatives)


def fit_pav(training: Training) -> pl.DataFrame:
    """Isotonic regression: the slopes of the convex hull of each fit's ROC curve."""
    cells = _trainable_cells(training)
    # A ROC curve goes from the highest score down, from a point before the first cell.
    fit, above = cells.fit[::-1], cells.above[::-1]
    down = _TrainableCells(fit, cells.positives[::-1], cells.negatives[::-1], above, cells.value[::-1])
    new = _new(fit)
    place = np.arange(len(fit)) + np.cumsum(new)
    origin = place[new] - 1
    n_points = len(place) + len(origin)
    fp, tp, threshold, of_fit = np.zeros(n_points), np.zeros(n_points), np.zeros(n_points), np.zeros(n_points, np.int64)
    fp[place], tp[place] = down.running(down.negatives), down.running(down.positives)
    threshold[place], of_fit[place], of_fit[origin] = above, fit, fit[new]
    corner = upper_hull(of_fit, fp, tp)
    slope = ~_new(of_fit[corner])[1:]
    lower = corner[1:][slope]
    # Sums between two corners, because differences of running sums lose the digits of small weights.
    first = corner[:-1][slope] + 1
    rise, run = _sums_from(first, down.positives, place, n_points), _sums_from(first, down.negatives, place, n_points)
    steps = _Steps(of_fit[lower][::-1], threshold[lower][::-1], rise[::-1], run[::-1])
    return _table(_without_falls(steps), training)


def fit_histogram(training: Training, bins: int, equal_mass: bool) -> pl.DataFrame:
    """Base rate in each of several bins of the posterior, of equal width or equal weight."""
    cells = _trainable_cells(training)
    if equal_mass:
        weight = cells.positives + cells.negatives
        below = cells.running(weight) - weight / 2
        total = np.bincount(cells.fit, weight, training.n_fits)[cells.fit]
        bin_, above = np.minimum(below / total * bins, bins - 1).astype(np.int64), cells.above
    else:
        grid = training.table.grid
        edges = np.array([grid.declared(edge) for edge in grid.scale.posterior_edges(bins)])
        bin_ = np.searchsorted(edges, cells.value, side="left")
        above = np.concatenate([[-np.inf], edges])[bin_]
    starts = np.flatnonzero(_new(cells.fit) | _new(bin_))
    positives, negatives = (np.add.reduceat(values, starts) for values in (cells.positives, cells.negatives))
    return _table(_Steps(cells.fit[starts], above[starts], positives, negatives), training)


def _without_falls(steps: _Steps) -> _Steps:
    """The steps, neighbours pooled that do not rise: of corners on one line rounding keeps some, and may turn their slopes."""
    while True:
        value = steps.log_odds
        rises = _new(steps.fit)
        rises[1:] |= ~(value[1:] <= value[:-1])
        if rises.all():
            return steps
        starts = np.flatnonzero(rises)
        positives, negatives = (np.add.reduceat(values, starts) for values in (steps.positives, steps.negatives))
        steps = _Steps(steps.fit[starts], steps.above[starts], positives, negatives)


def _sums_from(first: Integers, values: Floats, place: Integers, n_points: int) -> Floats:
    spread = np.zeros(n_points)
    spread[place] = values
    return np.asarray(np.add.reduceat(spread, first), dtype=np.float64)


def values_of_cells(grid: Grid, cells: pl.DataFrame) -> pl.Series:
    """The values to compare with the thresholds of steps: a cell of many scores is where its lowest score is."""
    if grid.resolution is None:
        return cells[EXACT]
    # The lower edge of a cell is a threshold that its scores are above, unless they are the lowest that there are.
    lowest = (cells["bin"] == grid.infinite_bins[0]).fill_null(False).to_numpy()
    return pl.Series(np.where(lowest, -np.inf, np.nextafter(_lower_edges(grid, cells), np.inf)))


def _lower_edges(grid: Grid, cells: pl.DataFrame) -> Floats:
    # Rows that are not usable have no cell, and no threshold below it.
    return cells.with_columns(pl.col("above").fill_null(0)).select(edge=grid.lower_edge())["edge"].to_numpy()


def _new(values: Integers) -> Bools:
    different = np.ones(len(values), dtype=bool)
    different[1:] = values[1:] != values[:-1]
    return different


def _trainable_cells(training: Training) -> _TrainableCells:
    fit, cell = training.points(first_reason(training.why_untrained()) == "")
    negatives, positives = training.weights(fit, cell)
    table = training.table
    value = values_of_cells(table.grid, table.cells).to_numpy()[cell]
    if table.grid.resolution is None:
        above = np.concatenate([[-np.inf], value])[:-1]
    else:
        above = _lower_edges(table.grid, table.cells)[cell]
    # The lowest step is of whatever lies below the rows too.
    return _TrainableCells(fit, positives, negatives, np.where(_new(fit), -np.inf, above), value)


def _table(steps: _Steps, training: Training) -> pl.DataFrame:
    above = np.where(_new(steps.fit), -np.inf, steps.above)
    found = pl.DataFrame({"fit": steps.fit, "above": above, "log_odds": steps.log_odds})
    reason = reason_column(first_reason(training.why_untrained()))
    fits = pl.DataFrame({"fit": np.arange(training.n_fits), "n": training.n, "reason": reason})
    joined = fits.join(found, on="fit", how="left", maintain_order="left_right")
    return joined.select("fit", "above", "log_odds", "n", "reason")


# Calibrators fitted to the cells of a log, for all groups and folds at once.


def calibrate(
    cells: Cells, calibrator: Calibrator = "affine", *, prior: Prior = None, bins: int = 15, equal_mass: bool = False
) -> Calibration:
    """Fit a calibrator, which turns scores into calibrated posteriors, to every group of a sketch at once.

    The calibrators:

    - affine: log-odds' = alpha log-odds + beta, with alpha >= 0 and beta that minimise the cross-entropy, by Newton's method. With a stated
      prior it is prior-weighted logistic regression, also for raw scores.
    - temperature: the same with beta = 0, or for LLRs with beta = ln(P_1 / P_0).
    - gaussian: the scores of each class are normal, with means m_1 and m_0 and a common variance v, the prior-weighted mean of both classes'
      variances. Then alpha = (m_1 - m_0) / v and beta = -alpha (m_1 + m_0) / 2 + ln(P_1 / P_0).
    - pav: isotonic regression, the non-decreasing posterior that minimises every proper scoring rule. Equal scores are kept together.
    - histogram: the base rate of each bin.

    affine and temperature keep the order of the scores. Scores that point the wrong way get alpha = 0 and the reason "reversed": then every
    posterior is the prior (0.5 for temperature, except for LLRs). LLRs are treated as log-odds, and become posteriors at the prior.

    Parameters
    ----------
    cells
        Cells of posteriors, log-odds or LLRs. Raw scores work with pav and the histogram of equal mass and, in an exact sketch, with affine
        and gaussian, which treat them as log-odds. A group column `fold` is taken as the fold of cross-validation: each fold gets the
        calibrator fitted on the other folds, and the group also one fitted on all rows. An exact sketch uses the score of each row. Otherwise
        affine, temperature and gaussian use the middle of its bin, at most 1 / (2 resolution) from its log-odds. The means and sqrt(v) of
        gaussian are as close, unless finite log-odds are beyond 64. Steps start at the edges of cells.
    calibrator
        The name of the calibrator.
    prior
        As for `Sketch.evaluate`. Rows of class i are weighted by P_i over their share. Default None: the group's own.
    bins, equal_mass
        The number of bins of the histogram, and whether they have equal weight instead of equal width. Equal width is exact if the edges k /
        bins of the posterior are declared thresholds. Otherwise a cell that contains an edge counts as below it. A bin without rows joins the
        one below.

    Returns
    -------
    A `Calibration`. If there are no parameters they are null, and `reason` explains why:

    - `"wrong rows"` (invalid rows), "no rows" (of positive weight), "no prior" (an invalid one), "one class".
    - For affine and temperature, no minimum of the cross-entropy: "one score" (all rows in one cell), "separable" (a threshold separates the
      classes, except within one cell), "infinite log-odds" (against the class), "not converged".
    - For gaussian: "one score", "separable" (one cell per class), "infinite log-odds" (any: the variance is infinite), "not converged"
      (scores that differ too little relative to their size).

    Steps with a single class have infinite log-odds.

    Raises
    ------
    ValueError
        An unknown calibrator; raw scores for a calibrator that does not accept them, or in bins for affine and gaussian; a null fold; a group
        column with the name of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2 and Eq. 23. Cumani, "Bayes decisions and model evaluation", score
    calibration approaches, for isotonic and prior-weighted logistic regression and Gaussian score models.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"x": [2.0, 0.5, -1.0, 1.0, -2.0, -3.0], "y": [1, 1, 1, 0, 0, 0]})
    >>> sketch = log.ec.sketch("x", "y", score_type="log_odds", exact=True)
    >>> sketch.calibrate().frame.select(pl.col("alpha", "beta").round(4), "reason").rows()
    [(0.7248, 0.2847, None)]
    >>> sketch.calibrate("gaussian", prior=0.5).frame.select(pl.col("alpha", "beta").round(4), "reason").rows()
    [(0.8354, 0.3481, None)]
    >>> sketch.calibrate("pav").frame.select("above", pl.col("log_odds").round(4)).rows()
    [(-inf, -inf), (-2.0, 0.6931), (1.0, inf)]
    """
    return fit(table_of(cells), calibrator, prior=prior, bins=bins, equal_mass=equal_mass)


def fit(
    table: CellTable, calibrator: Calibrator, *, prior: Prior = None, bins: int = 15, equal_mass: bool = False
) -> Calibration:
    """Fit a calibrator to a table of cells: see `calibrate`."""
    exact = table.grid.resolution is None
    check_calibrator(calibrator, table.grid.scale, exact=exact, equal_mass=equal_mass)
    if isinstance(bins, bool) or not hasattr(bins, "__index__") or bins < 1:
        raise ValueError(f"bins={bins!r} is not a number of bins: pass a whole number, at least 1")
    clash = sorted(PARAMETERS.intersection(table.keys))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, as calibrations have: rename it")
    training = training_of(table, prior)
    if calibrator == "pav":
        fitted = fit_pav(training)
    elif calibrator == "histogram":
        fitted = fit_histogram(training, int(bins), equal_mass)
    elif calibrator == "gaussian":
        fitted = fit_gaussian(training)
    else:
        fitted = fit_affine(training, with_shift=calibrator == "affine")
    fits, stepped = training.frame(), calibrator in STEPPED
    frame = fits[fitted["fit"]].hstack(fitted.select(STEPS if stepped else AFFINE))
    frame = frame.sort(*table.keys, "fold", *(["above"] if stepped else []), nulls_last=True, maintain_order=True)
    return Calibration(frame, calibrator, table.grid.score_type, prior=_stated_share(counted(table), prior))


def check_calibrator(calibrator: str, scale: ScoreScale, *, exact: bool, equal_mass: bool = False) -> None:
    """ValueError if there is no such calibrator, or none for such cells."""
    if calibrator not in CALIBRATORS:
        raise ValueError(f"calibrator={calibrator!r} is none of {', '.join(CALIBRATORS)}")
    if not scale.has_order_only:
        return
    if calibrator == "temperature":
        raise SketchError(
            "calibrator='temperature' cannot calibrate raw scores, because their 0 has no meaning: use 'affine', 'gaussian' or 'pav'"
        )
    if calibrator == "histogram" and not equal_mass:
        raise SketchError(
            "calibrator='histogram' needs posteriors for bins of equal width, and these are raw scores: use 'pav', or pass equal_mass=True"
        )
    if calibrator not in STEPPED and not exact:
        raise SketchError(
            f"calibrator={calibrator!r} needs the sums of scores, which bins of raw scores do not hold: sketch with exact=True, or use 'pav'"
        )


def _stated_share(cells: Cells, prior: Prior) -> float | None:
    stated = overall_prior(cells) if is_overall(prior) else prior
    checked = EMPIRICAL if stated is None else parse_prior(stated)
    if not checked.stated or checked.overall or checked.expression is not None:
        return None
    share: float = pl.select(checked.per_row(cells.grid.classes, None)[1]).item()
    return share


# Calibration loss: the loss of cells before and after calibration.

LOSS_COLUMNS = ("n", "class_prior", "raw", "calibrated", "cal_loss", "rcl", "discrimination", "uncertainty", "reason")
"""The columns of the result after the group columns."""

NAMES = frozenset({*LOSS_COLUMNS, "n_invalid", "lost", EXACT})
"""Columns of the result, and on the way to it, that no group column can have the name of."""

# Losses of any size.
_WITHOUT_END: tuple[Rule, ...] = ("cross_entropy", "cllr")
# No group column is called so.
_REASON = "__reason"


def calibration_loss(
    cells: Cells,
    rule: Rule,
    calibrator: Calibrator,
    training: Any,
    histogram: dict[str, Any],
    keywords: dict[str, Any],
    request: Request | None = None,
) -> pl.DataFrame:
    """The loss before and after calibration: see `Sketch.calibration_loss`."""

    def losses_at(of: Cells, prior: Any) -> pl.DataFrame:
        return _losses(of, rule, calibrator, training, histogram, {**keywords, "prior": prior})

    def losses(of: Cells) -> pl.DataFrame:
        return losses_at(of, keywords["prior"])

    shown = losses(cells)
    if request is None:
        return shown
    if request.method == "bca":
        raise ValueError(
            'method="bca" would refit the calibrator once for each row: pass method="bootstrap" or "influence"'
        )
    check_keys(cells.keys, [f"{name}_ci_{end}" for name in shown.columns for end in ("low", "high")])
    if request.is_resampled:
        limited = with_drawn_limits(shown, cells, losses_at, keywords["prior"], request)
    else:
        limited = with_limits(shown, cells, isinstance(training, str) and training == "cv", losses, request)
    return without_far(limited, cells) if rule in _WITHOUT_END else limited


def _losses(
    cells: Cells, rule: Rule, calibrator: Calibrator, training: Any, histogram: dict[str, Any], keywords: dict[str, Any]
) -> pl.DataFrame:
    grid, keys = cells.grid, cells.keys_beside_fold
    check_loss(rule, training, grid.score_type, keywords["prior"])
    clash = sorted(NAMES.intersection(keys))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which calibration_loss() needs: rename it")
    raw = evaluate(cells, [rule], keywords, keys=keys)
    if rule not in raw.columns:
        raise SketchError(
            "the threshold for these costs lies inside bins of the sketch, so that the risk is not exact: declare it "
            "with sketch(..., thresholds=[costs]), or sketch with exact=True"
        )
    out_of_fold = isinstance(training, str) and training == "cv"
    if out_of_fold and FOLD not in cells.keys:
        raise SketchError(
            "training='cv' needs a sketch with folds, sketch(..., folds=5, fold_by=key), and training='test' needs one without folds"
        )
    table = table_of(cells, by_fold=out_of_fold)
    if isinstance(training, Calibration):
        calibration = _checked(training, cells)
    else:
        # Posteriors at even priors are calibrated LLRs.
        prior = 0.5 if rule == "cllr" else keywords["prior"]
        calibration = fit(table, calibrator, prior=prior, **histogram)
    fitted = calibrated_of(table, calibration, out_of_fold=out_of_fold)
    shift = _prior_log_odds(calibration) if rule == "cllr" else 0.0
    of_calibrated = _sketch_of_calibrated(table, fitted.log_odds - shift, rule, keywords)
    calibrated = evaluate(of_calibrated, [rule], keywords)[rule].alias("calibrated")
    arguments = parse_arguments([rule], of_calibrated.grid, keywords)
    _, numbered = tabulate(of_calibrated, of_calibrated.keys, arguments)
    loss = prior_loss(rule, GroupSums(prior_columns(arguments)), arguments.formula.costs)
    uncertainty = numbered.with_columns(uncertainty=loss)["uncertainty"]
    both = raw.rename({rule: "raw"}).hstack([calibrated, uncertainty, fitted.lost, fitted.reason])
    return compare(both).select(*keys, *LOSS_COLUMNS).sort(keys or "n")


def _checked(training: Calibration, cells: Cells) -> Calibration:
    unknown = sorted(set(training.keys) - set(cells.keys_beside_fold))
    if unknown:
        raise SketchError(f"training= has groups by {unknown[0]!r}, which is not a group column of the sketch")
    if training.score_type != cells.grid.score_type:
        raise SketchError(f"training= is for {training.score_type}, but the sketch has {cells.grid.score_type} scores")
    return training


def _prior_log_odds(calibration: Calibration) -> float:
    prior = calibration.prior
    if prior is None:
        raise SketchError(
            "training= is a calibration without a stated prior, which is needed to get LLRs from its posteriors: make "
            "it with calibrate(prior=0.5)"
        )
    return math.log(prior) - math.log1p(-prior) if 0 < prior < 1 else 0.0


# Sums of weights and losses near the largest float overflow: they are infinite.
@quiet
def _sketch_of_calibrated(table: CellTable, log_odds: Floats, rule: Rule, keywords: dict[str, Any]) -> Cells:
    """Sketch the calibrated log-odds of cells, exactly; rows without any count for a prior of all groups, but have no loss."""
    grid = Grid((LLR if rule == "cllr" else LOG_ODDS).name, 1, classes=table.grid.classes)
    scores = BinaryScores(pl.lit(pl.Series(log_odds.ravel())), LOG_ODDS)
    weight = table.weight
    if rule == "bayes_risk":
        (threshold,) = parse_arguments([rule], grid, keywords).thresholds.values()
        above = (log_odds > threshold)[:, None]
        sides = [table.total((weight * side).sum(axis=0)) for side in (~above, above)]
        return rolled_up(table, replace(grid, thresholds=(threshold,)), np.stack(sides), {})
    name, loss_of = ("brier", scores.brier) if rule == "brier" else ("log_loss", scores.log_loss)
    losses = np.zeros(weight.shape[1:])
    for i in range(2):
        loss = pl.select(loss_of([pl.lit(i == k) for k in range(2)])).to_series().to_numpy().reshape(log_odds.shape)
        # The loss of cells without weight may be infinite.
        has_loss = (weight[:, i] > 0) & ~np.isnan(loss)
        losses[i] = np.multiply(weight[:, i], loss, where=has_loss, out=np.zeros_like(loss)).sum(axis=0)
    counts = table.total(weight.sum(axis=0))
    return rolled_up(table, grid, counts[None], {name: table.total(losses)[None]})


@dataclass(frozen=True)
class Calibrated:
    """Calibrated log-odds of cells, (folds, cells), NaN if unknown; for each group whether rows are `lost`, and the `reason`."""

    log_odds: Floats
    lost: pl.Series
    reason: pl.Series


def calibrated_of(table: CellTable, calibration: Calibration, *, out_of_fold: bool) -> Calibrated:
    """The calibrated log-odds of cells, by the fits of all rows or, of each fold, by the fits that leave it out."""
    parameters, by = calibration.fits(out_of_fold=out_of_fold)
    fits = numbered(parameters, by)
    of_group = _fits_of_groups(table, fits, by)
    # The last place is of groups that have no fit.
    texts = fits["reason"].cast(pl.String).append(pl.Series(["not calibrated"]))
    has_parameters = fits["alpha" if calibration.is_affine else "log_odds"].is_not_null()
    used = table.reduce(np.logical_or, (table.weight[:, 0] > 0) | (table.weight[:, 1] > 0), of_none=False)
    known = np.append(has_parameters.to_numpy(), False)[of_group]
    of_cell = of_group[:, table.group]
    if calibration.is_affine:
        log_odds = _affine(table, fits, of_cell)
    else:
        value = np.tile(values_of_cells(table.grid, table.cells).to_numpy(), len(of_cell))
        log_odds = log_odds_of_steps(with_fit(parameters, fits, by), of_cell.ravel(), value).reshape(of_cell.shape)
    reasons = pl.DataFrame(
        {
            GROUP: np.tile(np.arange(table.n_groups), len(used)),
            "used": used.ravel(),
            "lost": (used & ~known).ravel(),
            _REASON: texts.gather(np.where(of_group < 0, fits.height, of_group).ravel()),
        }
    )
    by_group = reasons.group_by(GROUP, maintain_order=True).agg(
        pl.col("lost").any(),
        reason=pl.when(~pl.col("used").any())
        .then(pl.lit("no rows"))
        .otherwise(pl.coalesce(pl.col(_REASON).filter(name).drop_nulls().first() for name in ("lost", "used"))),
    )
    return Calibrated(np.where(known[:, table.group], log_odds, np.nan), by_group["lost"], by_group["reason"])


def _fits_of_groups(table: CellTable, fits: pl.DataFrame, by: list[str]) -> Integers:
    folds = table.folds if FOLD in by else table.folds.clear()
    folds = folds if len(folds) else pl.Series(FOLD, [None], dtype=folds.dtype)
    pairs = pl.DataFrame(folds).join(table.groups, how="cross", maintain_order="left_right")
    found = with_fit(pairs, fits, by)[FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    return found.reshape(len(folds), table.n_groups)


def _affine(table: CellTable, fits: pl.DataFrame, of_cell: Integers) -> Floats:
    alpha, beta = (np.append(fits[name].to_numpy(), np.nan)[of_cell.ravel()] for name in ("alpha", "beta"))
    rows = pl.DataFrame({"x": np.tile(table.log_odds, len(of_cell)), "alpha": alpha, "beta": beta})
    moved = rows.select(affine_log_odds(*(pl.col(name) for name in rows.columns))).to_series()
    return moved.to_numpy().reshape(of_cell.shape)


def compare(table: pl.DataFrame) -> pl.DataFrame:
    """`LOSS_COLUMNS` of `raw`, `calibrated`, `uncertainty`, `n_invalid`, and whether some rows were `lost`."""
    invalid, raw = pl.col("n_invalid") > 0, pl.col("raw")
    gain, left = raw - pl.col("calibrated"), pl.col("uncertainty") - pl.col("calibrated")
    return (
        table.with_columns(
            pl.when(invalid).then(pl.lit("wrong rows")).otherwise("reason").alias("reason"),
            pl.when(~pl.col("lost")).then("calibrated"),
            pl.when(raw.is_not_null()).then("uncertainty"),
        )
        .with_columns(cal_loss=gain.fill_nan(None), discrimination=left)
        .with_columns(rcl=pl.when(raw != 0).then(100 * pl.col("cal_loss") / raw).fill_nan(None))
    )


def check_loss(rule: Rule, training: Any, score_type: Any, prior: Any) -> None:
    """ValueError if there is no such loss to compare before and after calibration, or no such way to train."""
    if rule not in get_args(Rule):
        raise ValueError(f"rule={rule!r} is none of {', '.join(get_args(Rule))}")
    if not isinstance(training, Calibration) and not (isinstance(training, str) and training in ("cv", "test")):
        raise ValueError(f"training={training!r} is not 'cv', 'test' or a Calibration")
    scale = scale_of({"score_type": score_type})
    if scale is RAW:
        raise SketchError(
            f"rule={rule!r} needs posteriors, and these are raw scores: make posteriors with "
            "calibrate(score_type='raw'), then compute their loss"
        )
    if rule == "cllr" and scale is not LLR:
        raise SketchError(
            f"rule='cllr' needs log-likelihood ratios, but score_type={score_type!r}: convert with llr(score, prior), "
            "where prior is the one that the posteriors were made with, and pass score_type='llr'"
        )
    if scale is LLR and rule not in ("bayes_risk", "cllr"):
        raise SketchError(
            f"rule={rule!r} needs posteriors, and these are {score_type} scores: sketch posteriors, such as ec.posterior(score, ...)"
        )
    if rule == "cllr" and prior is not None:
        raise ValueError(f"prior={prior!r}: rule='cllr' always uses even priors: leave prior= out")
