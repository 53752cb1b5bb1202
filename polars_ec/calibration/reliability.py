"""The reliability diagram of a log."""

from __future__ import annotations

import polars as pl

from polars_ec.calibration.fit import calibrate
from polars_ec.calibration.parameters import Calibrator
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import EXACT, Grid, checked_resolution
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import ratio

# Names while cells are read: no group column is called so.
_INVALID, _CALIBRATED = "__invalid", "__calibrated"


def reliability(cells: Cells, *, resolution: int = 2, calibrator: Calibrator | None = None) -> pl.DataFrame:
    """The reliability diagram: mean posterior and share of positives per bin of log-odds, and the calibration curve.

    Calibrated scores have `posterior` = `positive_share` in every bin, up to chance; the curve shows what a calibrator would
    make of them.

    Parameters
    ----------
    cells
        Of posteriors or log-odds. Of K classes it has a curve for each `target`, or one of the top label.
    resolution
        Bins per nat; a divisor of the sketch's own, unless that is exact.
    calibrator
        One of those of `Sketch.calibrate`, fitted to these very rows of the group: it has seen the labels.

    Returns
    -------
    The group columns without `fold`, whose folds are taken together; `bin`, `n`, `weight`, `posterior` (mean) and
    `positive_share`; with a calibrator `calibrated`, the mean calibrated posterior, of cells as in
    `Sketch.calibration_loss`. Means are null where a bin has no weight or its group has wrong rows; `calibrated` also where
    the calibrator has no parameters.

    Raises
    ------
    ValueError
        LLRs and raw scores; another resolution or calibrator; a group column with the name of another column of the result or
        of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2, for the calibrators.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y")
    >>> sketch.reliability(resolution=1, calibrator="pav").drop("n", "weight").rows()
    [(-3, 0.1, 0.0, 0.0), (-1, 0.4, 1.0, 0.5), (0, 0.7, 0.0, 0.5), (2, 0.9, 1.0, 1.0)]
    """
    if cells.grid.score_type not in ("posterior", "log_odds"):
        raise SketchError(f"reliability is of posteriors, and the sketch is of {cells.grid.score_type} scores")
    bins = _coarse_bins(cells.grid, checked_resolution(resolution)).alias("bin")
    keys = cells.keys_beside_fold
    clash = sorted(set(keys) & {"bin", "positive_share", "calibrated"})
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which its reliability has too: rename it")
    whole = cells.group_by(*keys)
    weight, invalid = pl.col("weight"), (pl.col("class") == -1).any()
    judged = whole.frame.with_columns((invalid.over(keys) if keys else invalid).alias(_INVALID))
    totals = {
        "posterior": pl.col("posterior").sum(),
        "positive_share": pl.when(pl.col("class") == 1).then(weight).sum(),
    }
    if calibrator is not None:
        # Imported here, for it needs numpy.
        from polars_ec.calibration.loss import calibrated_cells

        calibrated = calibrated_cells(whole, calibrate(whole, calibrator), out_of_fold=False)["posterior"]
        judged = judged.with_columns(calibrated.alias(_CALIBRATED))
        known = pl.col(_CALIBRATED).is_not_null().all()
        totals["calibrated"] = pl.when(known).then(pl.col(_CALIBRATED).sum())
    means = {name: pl.when(~pl.col(_INVALID).any()).then(ratio(total, weight.sum())) for name, total in totals.items()}
    return (
        judged.filter(pl.col("class") >= 0)
        .group_by(*keys, bins)
        .agg(pl.col("n").sum(), weight.sum(), **means)
        .sort(*keys, "bin", nulls_last=True)
    )


def _coarse_bins(grid: Grid, resolution: int) -> pl.Expr:
    """The bin that a cell is in where there are fewer bins per nat."""
    coarse = Grid(grid.score_type, resolution)
    if grid.resolution is None:
        return coarse.bin(pl.col(EXACT), coarse.position(pl.col(EXACT)))
    if grid.resolution % resolution:
        raise SketchError(f"resolution={resolution} does not divide the sketch's own, {grid.resolution}")
    (lowest, highest), (below, above) = grid.infinite_bins, coarse.infinite_bins
    ends = {lowest: below, lowest + 1: below + 1, highest - 1: above - 1, highest: above}
    inner = pl.when(pl.col("bin").is_between(lowest + 2, highest - 2))
    return inner.then(pl.col("bin").floordiv(grid.resolution // resolution)).otherwise(pl.col("bin").replace(ends))
