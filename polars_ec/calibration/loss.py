"""What calibration would take off a loss: the loss of cells before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Floats, Integers
from polars_ec.calibration.calibration import Calibration
from polars_ec.calibration.cell_table import CellTable, rolled_up, table_of
from polars_ec.calibration.draws import with_drawn_limits
from polars_ec.calibration.fit import fit
from polars_ec.calibration.parameters import FIT, Calibrator, Parameters, numbered, with_fit
from polars_ec.calibration.spread import with_limits, without_far
from polars_ec.calibration.step_functions import log_odds_of_steps, values_of_cells
from polars_ec.cells.arguments import parse_arguments
from polars_ec.cells.cells import Cells, check_keys
from polars_ec.cells.evaluate import evaluate
from polars_ec.cells.grid import EXACT, Grid, SketchScoreType
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.rows.folds import FOLD
from polars_ec.rows.scores import BinaryScores, affine_log_odds
from polars_ec.typing import Rule

NAMES = frozenset({"n", "n_invalid", "class_prior", "raw", "calibrated", "cal_loss", "rcl", "reason", "lost", EXACT})
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
    """What `Sketch.calibration_loss` gives; `request` says which intervals there are."""

    def losses_at(of: Cells, prior: Any) -> pl.DataFrame:
        return _losses(of, rule, calibrator, training, histogram, {**keywords, "prior": prior})

    def losses(of: Cells) -> pl.DataFrame:
        return losses_at(of, keywords["prior"])

    shown = losses(cells)
    if request is None:
        return shown
    if request.method == "bca":
        raise ValueError(
            'method="bca" would train calibrators without each of the rows, one after the other: pass "bootstrap" or "influence"'
        )
    check_keys(cells.keys, [f"{name}_ci_{end}" for name in shown.columns for end in ("low", "high")])
    if request.is_drawn:
        limited = with_drawn_limits(shown, cells, losses_at, keywords["prior"], request)
    else:
        limited = with_limits(shown, cells, isinstance(training, str) and training == "cv", losses, request)
    return without_far(limited, cells) if rule in _WITHOUT_END else limited


def _losses(
    cells: Cells,
    rule: Rule,
    calibrator: Calibrator,
    training: Any,
    histogram: dict[str, Any],
    keywords: dict[str, Any],
) -> pl.DataFrame:
    grid, keys = cells.grid, cells.keys_beside_fold
    check_loss(rule, training, grid.score_type, keywords["prior"])
    clash = sorted(NAMES.intersection(keys))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which calibration_loss() needs: rename it")
    raw = evaluate(cells, [rule], keywords, keys=keys)
    if rule not in raw.columns:
        raise SketchError(
            "the threshold of these costs cuts cells of the sketch, so that the risk is not known: declare it, with "
            "sketch(..., thresholds=[costs]), or sketch with exact=True"
        )
    out_of_fold = isinstance(training, str) and training == "cv"
    if out_of_fold and FOLD not in cells.keys:
        raise SketchError(
            "training='cv' needs a sketch with folds, sketch(..., folds=5, fold_by=key); training='test' needs none"
        )
    table = table_of(cells, by_fold=out_of_fold)
    if isinstance(training, Calibration):
        calibration = _checked(training, cells)
    else:
        # Posteriors at even priors are calibrated LLRs.
        prior = 0.5 if rule == "cllr" else keywords["prior"]
        calibration = fit(table, calibrator, prior=prior, **histogram)
    found = calibrated_of(table, calibration, out_of_fold=out_of_fold)
    moved = _sketch_of_calibrated(
        table, found.log_odds - (_prior_log_odds(calibration) if rule == "cllr" else 0.0), rule, keywords
    )
    calibrated = evaluate(moved, [rule], keywords)
    both = raw.rename({rule: "raw"}).hstack([calibrated[rule].alias("calibrated"), found.lost, found.reason])
    columns = [*keys, "n", "class_prior", "raw", "calibrated", "cal_loss", "rcl", "reason"]
    return compare(both).select(columns).sort(keys or "n", nulls_last=True)


def _checked(training: Calibration, cells: Cells) -> Calibration:
    unknown = sorted(set(training.keys) - set(cells.keys_beside_fold))
    if unknown:
        raise SketchError(f"training= is a calibration by {unknown[0]!r}, which is not a group column of the sketch")
    if training.score_type != cells.grid.score_type:
        raise SketchError(f"training= is of {training.score_type}, and the sketch is of {cells.grid.score_type}")
    return training


def _prior_log_odds(calibration: Calibration) -> float:
    """What its log-odds are above LLRs."""
    prior = calibration.prior
    if prior is None:
        raise SketchError(
            "training= is a calibration of no stated prior, which would have to be taken from its posteriors to get LLRs: make "
            "it with calibrate(prior=0.5)"
        )
    return math.log(prior) - math.log1p(-prior) if 0 < prior < 1 else 0.0


# Sums of weights and losses near the largest float overflow: they are infinite.
@np.errstate(over="ignore")
def _sketch_of_calibrated(table: CellTable, log_odds: Floats, rule: Rule, keywords: dict[str, Any]) -> Cells:
    """The sketch of the calibrated log-odds of cells, in each fold: its sums are exact, and so is what the costs decide.

    Rows without a calibrated score count, for a prior of all groups, but have no loss: that of their group is null.
    """
    score_type: SketchScoreType = "llr" if rule == "cllr" else "log_odds"
    scores = BinaryScores(pl.lit(pl.Series(log_odds.ravel())), "log_odds", None)
    weight = table.weight
    if rule == "bayes_risk":
        grid = Grid(score_type, 1, classes=table.grid.classes)
        (threshold,) = parse_arguments([rule], grid, keywords).thresholds.values()
        above = (log_odds > threshold)[:, None]
        sides = [table.total((weight * side).sum(axis=0)) for side in (~above, above)]
        return rolled_up(table, replace(grid, thresholds=(threshold,)), np.stack(sides), {})
    name, loss_of = ("brier", scores.brier) if rule == "brier" else ("log_loss", scores.log_loss)
    losses = np.zeros(weight.shape[1:])
    for i in range(2):
        loss = pl.select(loss_of([pl.lit(i == k) for k in range(2)])).to_series().to_numpy().reshape(log_odds.shape)
        # Where there is no weight the loss may be infinite.
        has_loss = (weight[:, i] > 0) & ~np.isnan(loss)
        losses[i] = np.multiply(weight[:, i], loss, where=has_loss, out=np.zeros_like(loss)).sum(axis=0)
    counts = table.total(weight.sum(axis=0))
    return rolled_up(
        table, Grid(score_type, 1, classes=table.grid.classes), counts[None], {name: table.total(losses)[None]}
    )


@dataclass(frozen=True)
class Calibrated:
    """Calibrated log-odds of cells, a row for each fold of the table; NaN where there are none.

    Of each group: whether some of its rows are `lost`, without calibrated log-odds; and the `reason` why they are, or what
    to know of the others.
    """

    log_odds: Floats
    lost: pl.Series
    reason: pl.Series


def calibrated_of(table: CellTable, calibration: Parameters, *, out_of_fold: bool) -> Calibrated:
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
        log_odds = _stepped(table, with_fit(parameters, fits, by), of_cell)
    reasons = pl.DataFrame(
        {
            GROUP: np.tile(np.arange(table.n_groups), len(used)),
            "used": used.ravel(),
            "lost": (used & ~known).ravel(),
            _REASON: texts.gather(np.where(of_group < 0, fits.height, of_group).ravel()),
        }
    )
    found = reasons.group_by(GROUP, maintain_order=True).agg(
        pl.col("lost").any(),
        reason=pl.when(~pl.col("used").any())
        .then(pl.lit("no rows"))
        .otherwise(pl.coalesce(pl.col(_REASON).filter(name).drop_nulls().first() for name in ("lost", "used"))),
    )
    return Calibrated(np.where(known[:, table.group], log_odds, np.nan), found["lost"], found["reason"])


def _fits_of_groups(table: CellTable, fits: pl.DataFrame, by: list[str]) -> Integers:
    """The number of the fit of each group, in a row for each fold if fits are by fold; -1 where there is none."""
    folds = table.folds if FOLD in by else table.folds.clear()
    folds = folds if len(folds) else pl.Series(FOLD, [None], dtype=folds.dtype)
    pairs = pl.DataFrame(folds).join(table.groups, how="cross", maintain_order="left_right")
    found = with_fit(pairs, fits, by)[FIT].cast(pl.Int64).fill_null(-1).to_numpy()
    return found.reshape(len(folds), table.n_groups)


def _affine(table: CellTable, fits: pl.DataFrame, of_cell: Integers) -> Floats:
    alpha, beta = (np.append(fits[name].to_numpy(), np.nan)[of_cell.ravel()] for name in ("alpha", "beta"))
    rows = pl.DataFrame({"x": np.tile(table.log_odds, len(of_cell)), "alpha": alpha, "beta": beta})
    moved = rows.select(affine_log_odds(*(pl.col(name) for name in rows.columns))).to_series()
    values: Floats = moved.to_numpy().reshape(of_cell.shape)
    return values


def _stepped(table: CellTable, steps: pl.DataFrame, of_cell: Integers) -> Floats:
    value = np.tile(values_of_cells(table.grid, table.cells).to_numpy(), len(of_cell))
    return log_odds_of_steps(steps, FIT, of_cell.ravel(), value).reshape(of_cell.shape)


def compare(table: pl.DataFrame) -> pl.DataFrame:
    """`cal_loss`, `rcl` and `reason` of `raw`, `calibrated`, `n_invalid`, and whether some rows were `lost`."""
    invalid, raw = pl.col("n_invalid") > 0, pl.col("raw")
    gain = raw - pl.col("calibrated")
    return (
        table.with_columns(
            pl.when(invalid).then(pl.lit("wrong rows")).otherwise("reason").alias("reason"),
            pl.when(~pl.col("lost")).then("calibrated"),
        )
        .with_columns(cal_loss=gain.fill_nan(None))
        .with_columns(rcl=pl.when(raw != 0).then(100 * pl.col("cal_loss") / raw).fill_nan(None))
    )


def check_loss(rule: Rule, training: Any, score_type: str, prior: Any) -> None:
    """ValueError if there is no such loss to compare before and after calibration, or no such way to train."""
    if rule not in get_args(Rule):
        raise ValueError(f"rule={rule!r} is none of {', '.join(get_args(Rule))}")
    if not isinstance(training, Calibration) and not (isinstance(training, str) and training in ("cv", "test")):
        raise ValueError(f"training={training!r} is neither 'cv' nor 'test' nor a Calibration")
    if score_type == "raw":
        raise SketchError(
            f"raw scores have no {rule} before calibration: make posteriors of them with calibrate(score_type='raw'), "
            "and ask for the loss of these"
        )
    if rule == "cllr" and score_type != "llr":
        raise SketchError(
            f"rule='cllr' is about log-likelihood ratios, and score_type={score_type!r}: convert with llr(score, prior), prior "
            "being the share that the posteriors were made for, and pass score_type='llr'"
        )
    if score_type == "llr" and rule not in ("bayes_risk", "cllr"):
        raise SketchError(
            f"{score_type} scores have no {rule} before calibration: sketch posteriors, such as ec.posterior(score, ...)"
        )
    if rule == "cllr" and prior is not None:
        raise ValueError(f"prior={prior!r}: rule='cllr' is at even priors, whatever the shares are: leave prior= out")
