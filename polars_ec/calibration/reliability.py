"""Reliability diagrams."""

from __future__ import annotations

import polars as pl

from polars_ec.arguments.keywords import Request, parse_interval
from polars_ec.calibration.calibration import Calibrator
from polars_ec.calibration.cell_table import table_of
from polars_ec.calibration.cells import calibrated_of, fit
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP, ratio
from polars_ec.scores.scores import sigmoid
from polars_ec.sketches.cells import Cells
from polars_ec.sketches.evaluation import share_limits
from polars_ec.sketches.grid import BUCKET, EXACT, Grid, checked_resolution
from polars_ec.sketches.moments import usable_rows
from polars_ec.sketches.sums import number_groups, scores_of_cells, with_group

_LIMITS = ("positive_share_ci_low", "positive_share_ci_high")


def reliability(
    cells: Cells, *, resolution: int = 2, calibrator: Calibrator | None = None, interval: float | None = None
) -> pl.DataFrame:
    """Compute the reliability diagram: mean posterior and base rate per bin of log-odds, and the calibration curve.

    Calibrated scores have `posterior` = `positive_share` in every bin, apart from sampling noise. The curve shows what a calibrator would
    turn them into.

    Parameters
    ----------
    cells
        Cells of posteriors or log-odds. With K classes there is one curve per `target`, or one for the top label.
    resolution
        Bins per nat; it must divide the resolution of the sketch, unless that is exact.
    calibrator
        A calibrator of `Sketch.calibrate`, fitted to the same rows of the group, so it has seen the labels.
    interval
        The level of the confidence intervals, such as 0.95, for the base rate of each bin alone. They are for clusters if the sketch was made
        with `cluster=`; bins are then an eighth of a nat or wider.

    Returns
    -------
    The group columns without `fold`, whose folds are merged; `bin`, `n`, `weight`; `posterior`, the mean; and `positive_share`. With
    `interval` also `positive_share_ci_low` and `positive_share_ci_high`; with a calibrator `calibrated`, the mean calibrated posterior,
    computed as in `Sketch.calibration_loss`. Unless the sketch is exact, `posterior` is computed from the middles of its bins, and off by at
    most an eighth of their width. Means are null if a bin has no weight or its group has invalid rows; `calibrated` also if the calibrator
    has no parameters.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2, for the calibrators.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.reliability(resolution=1, calibrator="pav").drop("n", "weight").rows()
    [(-3, 0.1, 0.0, 0.0), (-1, 0.4, 1.0, 0.5), (0, 0.7, 0.0, 0.5), (2, 0.9, 1.0, 1.0)]
    """
    cells.grid.check_posteriors("reliability")
    request = parse_interval({"interval": interval})
    bins = _coarse_bins(cells.grid, checked_resolution(resolution)).alias("bin")
    of_clusters = cells.grid.coarse.resolution if request is not None and cells.coarse is not None else None
    if of_clusters is not None and of_clusters % resolution:
        raise SketchError(
            f"resolution={resolution} with interval= must divide the resolution of the clusters' cells, {of_clusters} bins per nat"
        )
    keys = cells.keys_beside_fold
    clash = sorted(set(keys) & {"bin", "positive_share", *_LIMITS, "calibrated"})
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, as the result has: rename it")
    table, (numbered, _) = table_of(cells, by_fold=False), number_groups(cells, keys)
    negative, positive = table.weight[0]
    group = pl.Series(GROUP, table.group, dtype=pl.get_index_type())
    judged = table.cells.with_columns(group, weight=pl.Series(negative + positive), positive_share=pl.Series(positive))
    shares = {"posterior": scores_of_cells(cells.grid).posteriors[1]}
    if calibrator is not None:
        calibrated = calibrated_of(table, fit(table, calibrator), out_of_fold=False)
        shares["calibrated"] = sigmoid(pl.lit(pl.Series(calibrated.log_odds[0]).fill_nan(None)))
    weighed = judged.with_columns(share.mul(pl.col("weight")).alias(name) for name, share in shares.items())
    sums = weighed.group_by(GROUP, bins).agg(
        pl.col("weight", "positive_share").sum(),
        *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name) for name in shares),
    )
    counts = numbered.filter(pl.col("class") >= 0).group_by(GROUP, bins).agg(pl.col("n").sum())
    invalid = pl.col(GROUP).is_in(table.counts.filter(pl.col("class") == -1)[GROUP].unique().implode())
    means = [
        pl.when(~invalid).then(ratio(pl.col(name), pl.col("weight"))).alias(name)
        for name in ("posterior", "positive_share", *(["calibrated"] if calibrator is not None else []))
    ]
    diagram = counts.join(sums, on=[GROUP, "bin"], how="left").join(table.groups, on=GROUP, how="left")
    weight = pl.col("weight").fill_null(0.0)
    if request is not None:
        limits = _limits(diagram.select(GROUP, "bin"), cells, numbered, keys, resolution, request)
        diagram = diagram.with_columns(limits)
        means[2:2] = [pl.when(~invalid, means[1].is_not_null()).then(name).alias(name) for name in _LIMITS]
    return diagram.select(*keys, "bin", "n", weight, *means).sort(*keys, "bin", nulls_last=True)


def _limits(
    shown: pl.DataFrame, cells: Cells, numbered: pl.DataFrame, keys: list[str], resolution: int, request: Request
) -> list[pl.Series]:
    sums = {
        f"{x}{i}": pl.when(pl.col("class") == i).then(weight).sum()
        for x, weight in (("w", "weight"), ("v", "weight2"))
        for i in range(2)
    }
    row = shown.with_row_index("row")
    used = usable_rows(numbered, cells.weighted)
    of_bins = used.group_by(GROUP, _coarse_bins(cells.grid, resolution).alias("bin")).agg(**sums)
    rows = row.join(of_bins, on=[GROUP, "bin"], how="left", maintain_order="left").fill_null(0.0)
    by_bucket = None
    if cells.coarse is not None:
        coarse = usable_rows(with_group(cells.coarse, numbered.unique(GROUP), keys), cells.weighted)
        coarse_bins = _coarse_bins(cells.grid.coarse, resolution).alias("bin")
        in_buckets = coarse.group_by(GROUP, coarse_bins, BUCKET).agg(**sums)
        by_bucket = row.join(in_buckets, on=[GROUP, "bin"])
    ends = share_limits(rows, by_bucket, cells.buckets or 0, request)
    return [pl.Series(name, values, nan_to_null=True) for name, values in zip(_LIMITS, ends, strict=True)]


def _coarse_bins(grid: Grid, resolution: int) -> pl.Expr:
    coarse = Grid(grid.score_type, resolution)
    if grid.resolution is None:
        return coarse.bin(pl.col(EXACT), coarse.scale.position(pl.col(EXACT)))
    if grid.resolution % resolution:
        raise SketchError(f"resolution={resolution} does not divide the resolution of the sketch, {grid.resolution}")
    (lowest, highest), (below, above) = grid.infinite_bins, coarse.infinite_bins
    ends = {lowest: below, lowest + 1: below + 1, highest - 1: above - 1, highest: above}
    inner = pl.when(pl.col("bin").is_between(lowest + 2, highest - 2))
    return inner.then(pl.col("bin").floordiv(grid.resolution // resolution)).otherwise(pl.col("bin").replace(ends))
