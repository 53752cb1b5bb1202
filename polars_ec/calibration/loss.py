"""What calibration would take off a loss: the loss of cells before and after."""

from __future__ import annotations

import math
from typing import Any, get_args

import polars as pl

from polars_ec.calibration.calibration import Calibration
from polars_ec.calibration.fit import calibrate
from polars_ec.calibration.parameters import REASON, Calibrator, transform
from polars_ec.calibration.step_functions import values_of_cells
from polars_ec.calibration.training_set import log_odds_of_cells
from polars_ec.cells.cells import Cells
from polars_ec.cells.evaluate import evaluate
from polars_ec.cells.grid import EXACT, Grid
from polars_ec.exceptions import SketchError
from polars_ec.rows.folds import FOLD
from polars_ec.rows.scores import BinaryScores
from polars_ec.typing import Rule

NAMES = frozenset({"n", "n_invalid", "class_prior", "raw", "calibrated", "cal_loss", "rcl", "reason", "lost", EXACT})
"""Columns of the result, and on the way to it, that no group column can have the name of."""


def calibration_loss(
    cells: Cells,
    rule: Rule,
    calibrator: Calibrator,
    training: Any,
    histogram: dict[str, Any],
    keywords: dict[str, Any],
) -> pl.DataFrame:
    """What `Sketch.calibration_loss` gives."""
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
    # Posteriors at even priors are calibrated LLRs.
    options = {"prior": 0.5 if rule == "cllr" else keywords["prior"], **histogram}
    calibration = _calibration(cells, calibrator, training, options)
    moved = calibrated_cells(
        cells,
        calibration,
        isinstance(training, str) and training == "cv",
        _prior_log_odds(calibration) if rule == "cllr" else 0.0,
    )
    exact = Grid("llr" if rule == "cllr" else "log_odds", None, classes=grid.classes)
    calibrated = evaluate(Cells(moved.select(*keys, *exact.columns), exact, cells.weighted), [rule], keywords)
    table = raw.rename({rule: "raw"}).hstack([calibrated[rule].alias("calibrated")]).hstack(_reasons(moved, keys))
    columns = [*keys, "n", "class_prior", "raw", "calibrated", "cal_loss", "rcl", "reason"]
    return compare(table).select(columns).sort(keys or "n", nulls_last=True)


def _calibration(cells: Cells, calibrator: Calibrator, training: Any, options: dict[str, Any]) -> Calibration:
    if isinstance(training, Calibration):
        unknown = sorted(set(training.keys) - set(cells.keys_beside_fold))
        if unknown:
            raise SketchError(
                f"training= is a calibration by {unknown[0]!r}, which is not a group column of the sketch"
            )
        if training.score_type != cells.grid.score_type:
            raise SketchError(f"training= is of {training.score_type}, and the sketch is of {cells.grid.score_type}")
        return training
    if training == "cv":
        if FOLD not in cells.keys:
            raise SketchError(
                "training='cv' needs a sketch with folds, sketch(..., folds=5, fold_by=key); training='test' needs none"
            )
        return calibrate(cells, calibrator, **options)
    return calibrate(cells.group_by(*cells.keys_beside_fold), calibrator, **options)


def _prior_log_odds(calibration: Calibration) -> float:
    """What its log-odds are above LLRs."""
    prior = calibration.prior
    if prior is None:
        raise SketchError(
            "training= is a calibration of no stated prior, which would have to be taken from its posteriors to get LLRs: make "
            "it with calibrate(prior=0.5)"
        )
    return math.log(prior) - math.log1p(-prior) if 0 < prior < 1 else 0.0


def calibrated_cells(
    cells: Cells, calibration: Calibration, out_of_fold: bool, prior_log_odds: float = 0.0
) -> pl.DataFrame:
    """The cells as those of an exact sketch of calibrated log-odds, in their order, and why they have none.

    `prior_log_odds` are taken from them, which leaves LLRs.
    """
    used = pl.col("class") >= 0
    parameters, by = calibration.fits(out_of_fold=out_of_fold)
    # A row without weight enters no loss, and its cell may have no mean.
    counted = pl.when(used, pl.col("weight") > 0)
    if calibration.is_affine:
        x = cells.frame.select(x=counted.then(log_odds_of_cells(cells.grid)))["x"]
    else:
        x = values_of_cells(cells.grid, cells.frame)
    calibrated = transform(parameters, by, cells.frame, x).with_columns(pl.col(EXACT) - prior_log_odds)
    z = pl.col(EXACT)
    scores = BinaryScores(z, "log_odds", None)
    in_class = [pl.col("class") == 0, pl.col("class") == 1]
    losses = {
        "log_odds": z,
        "posterior": scores.posteriors[1],
        "log_loss": scores.log_loss(in_class),
        "brier": scores.brier(in_class),
    }
    weight = pl.col("weight")
    return cells.frame.with_columns(calibrated).with_columns(
        pl.when(used & (weight > 0)).then(value * weight).otherwise(0.0).alias(name) for name, value in losses.items()
    )


def _reasons(cells: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Of each group, in the order of the cells: whether some of it has no calibrated posterior, and why, or what to know."""
    used = (pl.col("class") >= 0) & (pl.col("weight") > 0)
    lost = used & pl.col(EXACT).is_null()
    aggregates = {
        "lost": lost.any(),
        "reason": pl.when(~used.any())
        .then(pl.lit("no rows"))
        .otherwise(
            pl.coalesce(pl.when(mask).then(REASON).drop_nulls().first() for mask in (lost, used)),
        ),
    }
    if not keys:
        return cells.select(**aggregates)
    return cells.group_by(keys, maintain_order=True).agg(**aggregates).select("lost", "reason")


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
