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
    x = training.table.log_odds
    reasons = [*training.why_untrained(), *_why_unsolved(training, with_shift)]
    reversed_, infinite = _reversed(training, with_shift), training.any(training.seen & np.isinf(x))
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


def _reversed(training: Training, with_shift: bool) -> Booleans:
    """Whether the least loss is at some alpha <= 0: whether it does not fall from alpha = 0 upwards."""
    table = training.table
    finite = np.isfinite(table.log_odds)
    weight = training.weight * finite
    x = np.where(finite, table.log_odds, 0.0)
    shares = np.full((2, len(weight), 1), 0.5)
    if with_shift:
        own = table.total(weight)
        shares = (own / own.sum(axis=1, keepdims=True)).swapaxes(0, 1)
        # The shares of a class, times the other's sums, cancel where all scores are the same: so they may be moved to the middle.
        lowest, highest = table.reduce(np.minimum, x, 0.0), table.reduce(np.maximum, x, 0.0)
        x -= (lowest / 2 + highest / 2)[table.group]
    sums = table.total(weight * x)
    rises: Booleans = shares[1] * sums[:, 0] - shares[0] * sums[:, 1] >= 0
    return rises.ravel()


def _solve(
    training: Training, with_shift: bool, solved: Booleans, columns: dict[str, Floats], n_iterations: Integers
) -> None:
    """Newton: first for all rows of each group, from where the folds of a group then start."""
    first = np.arange(training.n_fits) < training.n_groups
    finite = np.isfinite(training.table.log_odds)
    for chosen in (solved & first, solved & ~first):
        if not chosen.any():
            continue
        fit, cell = training.points(chosen, finite)
        starts = np.flatnonzero(np.diff(fit, prepend=-1))
        points = Points(starts, training.table.log_odds[cell], *training.weights(fit, cell))
        whole = np.flatnonzero(chosen) % training.n_groups
        start = columns["alpha"][whole], columns["beta"][whole]
        lines = fit_lines(points, with_shift=with_shift, start=start)
        for name, values in (("alpha", lines.alpha), ("beta", lines.beta), ("gradient_norm", lines.gradient_norm)):
            columns[name][chosen] = np.where(lines.converged, values, np.nan)
        n_iterations[chosen] = np.where(lines.converged, lines.n_iterations, -1)
