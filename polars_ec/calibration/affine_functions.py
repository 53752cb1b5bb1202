"""Affine calibration, alpha times the log-odds plus beta: which fits have a solution, and the solutions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from polars_ec.calibration.arrays import Booleans, Floats, Integers, Texts
from polars_ec.calibration.logistic_newton import Points, fit_lines
from polars_ec.calibration.parameters import REVERSED
from polars_ec.calibration.training_set import Training, first_reason, reason_column


@np.errstate(all="ignore")
def fit_affine(training: Training, with_shift: bool) -> pl.DataFrame:
    """A row per `fit`: `alpha`, `beta`, `n`, `n_iterations`, `gradient_norm`, `reason`."""
    reasons = [*training.why_untrained(), *_why_unsolved(training, with_shift)]
    reversed_, infinite = _reversed(training, with_shift), training.total(np.isinf(training.log_odds)) > 0
    # The limit at alpha = 0 would send infinite scores nowhere.
    reasons += [(reversed_ & infinite, "infinite log-odds"), (reversed_, REVERSED)]
    reason = first_reason(reasons)
    solved = reason == ""
    columns = {name: np.full(training.n_fits, np.nan) for name in ("alpha", "beta", "gradient_norm")}
    n_iterations = np.full(training.n_fits, -1)
    at_zero = reason == REVERSED
    columns["alpha"][at_zero] = columns["gradient_norm"][at_zero] = n_iterations[at_zero] = 0
    columns["beta"][at_zero] = training.prior_log_odds[at_zero] if with_shift else 0
    _solve(training, with_shift, solved, columns, n_iterations)
    failed = solved & np.isnan(columns["alpha"])
    reason = np.where(failed, "not converged", reason).astype(np.str_)
    return affine_table(training, reason, columns, n_iterations)


def affine_table(
    training: Training, reason: Texts, columns: Mapping[str, Floats], n_iterations: Integers
) -> pl.DataFrame:
    """A row per `fit`: its parameters, null where they are NaN or, of iterations, negative."""
    table = pl.DataFrame(
        {
            "fit": np.arange(training.n_fits),
            "alpha": columns["alpha"],
            "beta": columns["beta"],
            "n": training.n,
            "n_iterations": n_iterations,
            "gradient_norm": columns["gradient_norm"],
            "reason": reason_column(reason),
        }
    )
    return table.with_columns(
        pl.col("alpha", "beta", "gradient_norm").fill_nan(None),
        pl.when(pl.col("n_iterations") >= 0).then("n_iterations"),
    )


def _why_unsolved(training: Training, with_shift: bool) -> list[tuple[Booleans, str]]:
    """Fits whose loss has no least value, or has it at many places."""
    x, positive, finite = training.log_odds, training.positive, np.isfinite(training.log_odds)
    # For alpha > 0 an infinite score on its class's side costs nothing, and one on the other side infinitely much.
    hopeless = training.total(np.isinf(x) & ((x > 0) != positive)) > 0
    cell = training.cell
    lowest, highest = training.lowest(cell, finite), -training.lowest(-cell, finite)
    if with_shift:
        # Within a cell the order is not known: classes that share one cell and no more may be separable.
        separable = -training.lowest(-cell, finite & ~positive) <= training.lowest(cell, finite & positive)
        flat = lowest == highest
    else:
        separable = (training.lowest(-x, finite & ~positive) >= 0) & (training.lowest(x, finite & positive) >= 0)
        flat = (training.lowest(x, finite) == 0) & (training.lowest(-x, finite) == 0)
    return [(hopeless, "infinite log-odds"), (flat, "one score"), (separable, "separable")]


def _reversed(training: Training, with_shift: bool) -> Booleans:
    """Whether the least loss is at some alpha <= 0: whether it does not fall from alpha = 0 upwards."""
    finite = np.isfinite(training.log_odds)
    x, weight = np.where(finite, training.log_odds, 0.0), training.weight * finite
    half = np.full(training.n_fits, 0.5)
    at_zero = training.total(weight * training.positive) / training.total(weight) if with_shift else half
    return training.total(weight * (at_zero[training.fit] - training.positive) * x) >= 0


def _solve(
    training: Training, with_shift: bool, solved: Booleans, columns: dict[str, Floats], n_iterations: Integers
) -> None:
    """Newton: first for all rows of each group, from where the folds of a group then start."""
    first = np.arange(training.n_fits) < training.n_groups
    for chosen in (solved & first, solved & ~first):
        if not chosen.any():
            continue
        kept = chosen[training.fit] & np.isfinite(training.log_odds)
        number = np.cumsum(chosen) - 1
        points = Points(
            number[training.fit[kept]],
            training.log_odds[kept],
            training.positive[kept].astype(np.float64),
            training.weight[kept],
        )
        whole = np.flatnonzero(chosen) % training.n_groups
        start = columns["alpha"][whole], columns["beta"][whole]
        lines = fit_lines(points, with_shift=with_shift, start=start)
        for name, values in (("alpha", lines.alpha), ("beta", lines.beta), ("gradient_norm", lines.gradient_norm)):
            columns[name][chosen] = np.where(lines.converged, values, np.nan)
        n_iterations[chosen] = np.where(lines.converged, lines.n_iterations, -1)
