"""Fit calibrators of K posteriors by passes over the log that compute the sums of every group and fold for `logistic_newton`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from polars_ec.arguments.inputs import batches
from polars_ec.calibration.calibration import REVERSED
from polars_ec.calibration.cell_table import all_and_others, first_reason, reason_column
from polars_ec.calibration.logistic_newton import Batch, SoftmaxFits, fit_softmax
from polars_ec.numerics import Bools, Floats, Numbers, Texts, np
from polars_ec.scores.folds import FOLD
from polars_ec.scores.read import Rows, class_index
from polars_ec.scores.scores import ManyScores, VectorScores

_BATCH = 100_000
_KEPT = 20_000_000  # numbers
_LARGE, _ONE_IN, _SAMPLE = 50_000, 16, 200_000  # rows
# Names while rows are read: no group column is called so.
_GROUP, _FOLD, _CLASS, _WEIGHT, _LOG, _ROW = "__group", "__fold", "__class", "__weight", "__log", "__row"
_N, _IMPOSSIBLE = "__n", "__impossible"


@dataclass(frozen=True)
class _ClassLog:
    """Usable rows as log posteriors, and by group, fold and class `n`, `weight`, `impossible` (an own posterior of 0); `invalid` groups."""

    rows: pl.LazyFrame
    groups: pl.DataFrame
    n: Floats
    weight: Floats
    impossible: Floats
    invalid: Bools

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.n.shape[2])

    def by_fit(self, values: Numbers) -> Floats:
        """Sums by group, fold and class as sums by fit and class: of all folds, then of all others than each."""
        n_folds = values.shape[1] if values.shape[1] > 1 else 0
        return all_and_others(values.swapaxes(0, 1), n_folds).reshape(-1, self.n_classes)

    def sample(self) -> tuple[_ClassLog, int]:
        """A log of one row in so many, kept in memory."""
        every = max(_ONE_IN, int(self.n.sum()) // _SAMPLE)
        chosen = self.rows.with_row_index(_ROW).filter(pl.col(_ROW) % every == 0).drop(_ROW)
        return replace(self, rows=chosen.collect(engine="streaming").lazy()), every

    def batches(self, active: Bools, scale: Floats) -> Iterator[Batch]:
        """A pass over the rows of active fits, with weights times the `scale` of their fit and class."""
        n_groups = self.groups.height
        by_fit = active.reshape(-1, n_groups)
        wanted = self.groups.filter(pl.Series(by_fit.any(axis=0)))[_GROUP]
        rows = self.rows.filter(pl.col(_GROUP).is_in(wanted.implode()))
        for frame in batches(rows, _BATCH):
            group, fold, label = (frame[name].to_numpy().astype(np.int64) for name in (_GROUP, _FOLD, _CLASS))
            weight = frame[_WEIGHT].to_numpy()
            logs = frame.select(f"{_LOG}_{k}" for k in range(self.n_classes)).to_numpy()
            for number, of_groups in enumerate(by_fit):
                used = of_groups[group] & (fold != number - 1)
                if used.any():
                    fit = number * n_groups + group[used]
                    yield Batch(fit, logs[used], label[used], weight[used] * scale[fit, label[used]])


def fit_classes(
    frame: pl.LazyFrame, keys: list[pl.Expr], fold: pl.Expr | None, n_folds: int, rows: Rows, with_shift: bool
) -> pl.DataFrame:
    """Fit each group and fold: a row with the group columns, `fold` (null: all rows), the parameters and diagnostics."""
    log = _read(frame, keys, fold, n_folds, rows)
    weight, n = log.by_fit(log.weight), log.by_fit(log.n).sum(axis=1)
    prior = _stated_shares(frame, keys, log.groups, rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        empirical = weight / weight.sum(axis=1, keepdims=True)
        shares = empirical if prior is None else np.tile(prior, (len(empirical) // max(len(prior), 1), 1))
        scale = np.where(weight > 0, shares / weight, 0.0)
    lacking = (weight == 0) | (shares == 0) if with_shift else (weight == 0) & (shares > 0)
    reason = first_reason(
        [
            (np.tile(log.invalid, len(empirical) // max(log.groups.height, 1)), "wrong rows"),
            (~(weight.sum(axis=1) > 0), "no rows"),
            (np.isnan(shares).any(axis=1), "no prior"),
            (lacking.any(axis=1), "a class without rows"),
            (log.by_fit(log.impossible).sum(axis=1) > 0, "infinite log-odds"),
        ]
    )
    fits = None
    # With shifts losses are in proportion to the share of the classes beside the most frequent one.
    unit = np.sort(shares, axis=1)[:, :-1].sum(axis=1) if with_shift else np.ones(len(shares))
    # A sample finds the neighbourhood, so that all rows are passed over two or three times less often.
    for part, every in [*([log.sample()] if log.n.sum() >= _LARGE else []), (log, 1)]:
        passes = partial(_ClassLog.batches, part, scale=scale * every)
        fits = fit_softmax(passes, reason == "", log.n_classes, with_shift=with_shift, unit=unit, start=fits)
    assert fits is not None
    fits, reason = settled(fits, reason, shares, with_shift)
    folds = [None, *range(log.n.shape[1])] if n_folds else [None]
    made = pl.concat([log.groups.drop(_GROUP).with_columns(pl.lit(f, dtype=pl.Int16).alias(FOLD)) for f in folds])
    known = pl.when(pl.Series(np.isin(reason, ["", REVERSED])))
    return made.with_columns(
        alpha=known.then(pl.Series(fits.alpha)),
        beta=known.then(pl.Series(fits.beta, dtype=pl.Array(pl.Float64, log.n_classes))),
        n=pl.Series(n.astype(np.int64)),
        n_iterations=known.then(pl.Series(fits.n_iterations)),
        gradient_norm=known.then(pl.Series(fits.gradient_norm)),
        reason=reason_column(reason),
    )


def settled(fits: SoftmaxFits, reason: Texts, shares: Floats, with_shift: bool) -> tuple[SoftmaxFits, Texts]:
    """SoftmaxFits held to alpha >= 0, at which the best posteriors are the prior; and why the others have no parameters."""
    reason = np.where(fits.separable, "separable", reason)
    reason = np.where((reason == "") & ~fits.converged, "not converged", reason)
    backwards = (reason == "") & (fits.alpha < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(shares)
        at_prior = logs - logs.mean(axis=1, keepdims=True) if with_shift else np.zeros_like(logs)
    return (
        replace(
            fits,
            alpha=np.where(backwards, 0.0, fits.alpha),
            beta=np.where(backwards[:, None], at_prior, fits.beta),
            gradient_norm=np.where(backwards, 0.0, fits.gradient_norm),
        ),
        np.where(backwards, REVERSED, reason),
    )


def _read(frame: pl.LazyFrame, keys: list[pl.Expr], fold: pl.Expr | None, n_folds: int, rows: Rows) -> _ClassLog:
    assert isinstance(rows.scores, VectorScores | ManyScores)
    names = [key.meta.output_name() for key in keys]
    n_classes = len(rows.labels.in_class)
    weight = pl.lit(1.0) if rows.weight is None else rows.weight
    logs = rows.scores.of_log_posteriors(pl.concat_list)
    classified = frame.select(
        *keys,
        (pl.lit(0, dtype=pl.Int16) if fold is None else fold).alias(_FOLD),
        rows.class_or_invalid(class_index(rows.labels)).alias(_CLASS),
        pl.when(rows.usable).then(weight).alias(_WEIGHT),
        logs.alias(_LOG),
    ).with_columns(pl.col(_LOG).list.get(k).alias(f"{_LOG}_{k}") for k in range(n_classes))
    own_log = pl.coalesce(pl.when(pl.col(_CLASS) == k).then(pl.col(f"{_LOG}_{k}")) for k in range(n_classes))
    counted = (
        classified.group_by(*names, _FOLD, _CLASS)
        .agg(
            pl.len().cast(pl.Int64).alias(_N),
            pl.col(_WEIGHT).sum(),
            ((own_log == -float("inf")) & (pl.col(_WEIGHT) > 0)).any().alias(_IMPOSSIBLE),
        )
        .collect(engine="streaming")
    )
    groups = counted.select(names).unique().sort(names, nulls_last=True) if names else pl.DataFrame(height=1)
    groups = groups.with_row_index(_GROUP)
    numbered = _number(counted.lazy(), groups, names).collect()
    invalid = np.zeros(groups.height, dtype=bool)
    invalid[numbered.filter(pl.col(_CLASS) == -1)[_GROUP].to_numpy()] = True
    cells = numbered.filter(pl.col(_CLASS) >= 0)
    at = tuple(cells[name].to_numpy().astype(np.int64) for name in (_GROUP, _FOLD, _CLASS))

    # Rows without a key are in one fold more.
    n_places = max(n_folds, 1, *counted[_FOLD].unique() + 1)

    def spread(name: str) -> Floats:
        table = np.zeros((groups.height, n_places, n_classes))
        table[at] = cells[name].to_numpy()
        return table

    used = _number(classified.drop(_LOG), groups, names).filter(pl.col(_CLASS) >= 0, pl.col(_WEIGHT) > 0).drop(names)
    if counted[_N].sum() * (n_classes + 3) <= _KEPT:
        # Small enough to be read once.
        used = used.collect(engine="streaming").lazy()
    return _ClassLog(used, groups, spread(_N), spread(_WEIGHT), spread(_IMPOSSIBLE), invalid)


def _number(frame: pl.LazyFrame, groups: pl.DataFrame, names: list[str]) -> pl.LazyFrame:
    if not names:
        return frame.with_columns(pl.lit(0, dtype=groups.schema[_GROUP]).alias(_GROUP))
    return frame.join(groups.lazy(), on=names, how="left", nulls_equal=True)


def _stated_shares(frame: pl.LazyFrame, keys: list[pl.Expr], groups: pl.DataFrame, rows: Rows) -> Floats | None:
    """Groups x classes; NaN where an expression gives no shares."""
    if rows.prior is None:
        return None
    names = [key.meta.output_name() for key in keys]
    shares = [share.alias(f"{_LOG}_{k}") for k, share in enumerate(rows.prior)]
    one_group = pl.lit(0, dtype=groups.schema[_GROUP]).alias(_GROUP)
    stated = frame.group_by(*(keys or [one_group])).agg(shares)
    found = _number(stated, groups, names) if names else stated
    return found.sort(_GROUP).select(pl.col("^__log_.*$")).collect(engine="streaming").to_numpy()
