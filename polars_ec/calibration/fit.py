"""Calibrators fitted to the cells of a log, for all groups and folds at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_ec.calibration.calibration import Calibration
from polars_ec.calibration.parameters import AFFINE, CALIBRATORS, PARAMETERS, STEPPED, STEPS, Calibrator
from polars_ec.cells.cells import Cells
from polars_ec.cells.sums import overall_prior
from polars_ec.exceptions import SketchError
from polars_ec.priors import EMPIRICAL, Prior, parse_prior

if TYPE_CHECKING:
    from polars_ec.calibration.cell_table import CellTable


def calibrate(
    cells: Cells, calibrator: Calibrator = "affine", *, prior: Prior = None, bins: int = 15, equal_mass: bool = False
) -> Calibration:
    """The transform of scores into calibrated posteriors, fitted for every group of a sketch at once.

    affine: log-odds' = alpha log-odds + beta, where alpha >= 0 and beta make the cross-entropy least, found by Newton's
    method; temperature: the same with beta = 0. The order of the scores is kept: scores that point the wrong way get
    alpha = 0, the limit at which every posterior is the prior (0.5 for temperature), and the reason "reversed". LLRs are
    taken as log-odds are, and become posteriors at the prior. With a stated prior, affine is prior-weighted logistic
    regression, of raw scores too. gaussian: the scores of either class are normal, with means m_1 and m_0 and one variance v,
    the mean of those of both classes at the prior; then alpha = (m_1 - m_0) / v, beta = -alpha (m_1 + m_0) / 2 + ln(P_1 / P_0).
    pav: isotonic regression, the posterior that never falls
    with the score and makes every proper scoring rule least, equal scores being one. histogram: the share of positives in
    each bin.

    Parameters
    ----------
    cells
        Of posteriors, log-odds or LLRs; of raw scores for pav and the histogram of equal mass, and, in an exact sketch, for
        affine and gaussian, which take them for log-odds. A group column called `fold` is taken for the fold of
        cross-validation: each fold gets the calibrator that the other folds' rows make, and the group one of all rows. In an
        exact sketch every row has its own score, else, for affine, temperature and gaussian, the middle of its bin, which is
        1 / (2 resolution) away from its log-odds at most, as are the means and sqrt(v) of gaussian, where no finite log-odds are
        beyond 64. Steps begin at edges of cells.
    calibrator
        Its name.
    prior
        As for `Sketch.evaluate`. Rows of class i weigh P_i over their share. Default None: the group's own.
    bins, equal_mass
        Of the histogram: how many, and whether they are of equal weight instead of equal width. Equal width is exact
        where the edges k / bins of the posterior are declared thresholds; a cell that an edge cuts is below it. A bin
        without rows goes with the one below.

    Returns
    -------
    A `Calibration`. Parameters are null where there are none, and `reason` says why: "wrong rows", "no rows" (of weight),
    "no prior" (one that is not a share), "one class"; for affine and temperature, where the cross-entropy has no least
    value: "one score" (all rows in one cell), "separable" (a threshold parts the classes, but for rows of one cell),
    "infinite log-odds" (against the row's class), "not converged". For gaussian: "one score", "separable" (a cell for each
    class), "infinite log-odds" (any: they have no variance), "not converged" (scores that differ by too little of their size).
    Steps of one class alone have infinite log-odds.

    Raises
    ------
    ValueError
        Another calibrator; raw scores for one that is not of these, or in bins for affine and gaussian; a fold that is null; a
        group column with the name of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2 and Eq. 23. Cumani, "Bayes decisions and model
    evaluation", score calibration approaches, for isotonic and prior-weighted logistic regression and Gaussian score models.

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
    # Imported here, for it needs numpy.
    from polars_ec.calibration.cell_table import table_of

    return fit(table_of(cells), calibrator, prior=prior, bins=bins, equal_mass=equal_mass)


def fit(
    table: CellTable, calibrator: Calibrator, *, prior: Prior = None, bins: int = 15, equal_mass: bool = False
) -> Calibration:
    """What `calibrate` gives, of a table of cells."""
    exact = table.grid.resolution is None
    check_calibrator(calibrator, table.grid.score_type, exact=exact, equal_mass=equal_mass)
    if isinstance(bins, bool) or not hasattr(bins, "__index__") or bins < 1:
        raise ValueError(f"bins={bins!r} is not a whole number from 1")
    clash = sorted(PARAMETERS.intersection(table.keys))
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which a calibration has too: rename it")
    # Imported here, for they need numpy.
    from polars_ec.calibration.affine_functions import fit_affine
    from polars_ec.calibration.cell_table import counted
    from polars_ec.calibration.gaussian import fit_gaussian
    from polars_ec.calibration.step_functions import fit_histogram, fit_pav
    from polars_ec.calibration.training_set import training_of

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


def check_calibrator(calibrator: str, score_type: str, *, exact: bool, equal_mass: bool = False) -> None:
    """ValueError if there is no such calibrator, or none for such cells."""
    if calibrator not in CALIBRATORS:
        raise ValueError(f"calibrator={calibrator!r} is none of {', '.join(CALIBRATORS)}")
    if score_type != "raw":
        return
    if calibrator == "temperature":
        raise SketchError(
            "raw scores are not log-odds, whose 0 temperature leaves where it is: calibrate them with 'affine', 'gaussian' or 'pav'"
        )
    if calibrator == "histogram" and not equal_mass:
        raise SketchError(
            "raw scores are not posteriors, which bins of equal width are of: calibrate them with 'pav', or with equal_mass=True"
        )
    if calibrator not in STEPPED and not exact:
        raise SketchError(
            f"bins of raw scores do not hold their sums, which {calibrator!r} needs: sketch with exact=True, or calibrate with 'pav'"
        )


def _stated_share(cells: Cells, prior: Prior) -> float | None:
    """The share of class 1 that a prior states for all groups, if it does."""
    stated = overall_prior(cells) if isinstance(prior, str) and prior == "overall" else prior
    checked = EMPIRICAL if stated is None else parse_prior(stated)
    if not checked.stated or checked.overall or checked.expression is not None:
        return None
    share: float = pl.select(checked.per_row(cells.grid.classes, None)[1]).item()
    return share
