"""How good `estimate` is where the truth is known, beside two baselines: run as `python -m tests.coverage.estimates [DEMO_LOG]`.

With the folder of the log that `make demo` writes, it prints the months of the flights instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]

import polars_ec as ec
from examples.demo.findings import COST_FN

CLASS_METRICS = ("expected_cost", "nec", "nce", "nbs", "accuracy", "macro_recall", "macro_f1")
METRICS = ("expected_cost", "nec", "nce", "nbs", "precision", "recall", "f1", "auc_roc")
COMPARED = "nec"
DAYS = 30
SCORES = Path(__file__).parents[2] / "examples" / "papers" / "scores"

Draw = Callable[[np.random.Generator, int, int], pl.DataFrame]
"""The `p`, `y` and `day` of so many rows for each of many groups, in the reference period (0) or the next (1); of K classes `p` is an Array."""


def _rows(z: np.ndarray, log_odds: np.ndarray, generator: np.random.Generator, size: int) -> pl.DataFrame:
    """Rows with the posteriors of z, and with labels of these log-odds."""
    y = generator.random(len(z)) < 1 / (1 + np.exp(-log_odds))
    return pl.DataFrame({"p": 1 / (1 + np.exp(-z)), "y": y, "day": np.arange(len(z)) % size % DAYS})


def _covariate(moved: float, slope: float = 0.8, shift: float = -0.3, of_day: float = 0.0) -> Callable[[int], Draw]:
    """Scores that move by so much in the next period; the labels given a score follow this line, with effects of days."""

    def draw(generator: np.random.Generator, groups: int, size: int, period: int) -> pl.DataFrame:
        z = generator.normal(-1.2 + moved * period, 1.3, groups * size)
        day = generator.normal(0, of_day, (groups, DAYS))[
            np.repeat(np.arange(groups), size), np.arange(len(z)) % size % DAYS
        ]
        line = (slope * z + shift) if period else 0.8 * z - 0.3
        return _rows(z, line + day, generator, size)

    return lambda period: lambda generator, groups, size: draw(generator, groups, size, period)


def _prior(period: int) -> Draw:
    """Scores of each class that stay, with a prior of 0.3 that falls to 0.12."""

    def draw(generator: np.random.Generator, groups: int, size: int) -> pl.DataFrame:
        y = generator.random(groups * size) < (0.12 if period else 0.3)
        z = 1.2 * (generator.normal(np.where(y, 1.0, -1.0), np.sqrt(2)) + np.log(0.3 / 0.7)) + 0.3
        return pl.DataFrame({"p": 1 / (1 + np.exp(-z)), "y": y, "day": np.arange(len(z)) % size % DAYS})

    return draw


def _softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _class_rows(q: np.ndarray, posteriors: np.ndarray, generator: np.random.Generator, size: int) -> pl.DataFrame:
    """Rows with scores q, (rows, classes), and with labels of these posteriors."""
    y = (posteriors.cumsum(axis=1) < generator.random(len(q))[:, None]).sum(axis=1)
    return _of_classes(q, y, size)


def _of_classes(q: np.ndarray, y: np.ndarray, size: int) -> pl.DataFrame:
    p = pl.Series(q, dtype=pl.Array(pl.Float64, q.shape[1]))
    return pl.DataFrame({"p": p, "y": y, "day": np.arange(len(y)) % size % DAYS})


def _class_covariate(n_classes: int, moved: float, slope: float = 0.7, of_day: float = 0.0) -> Callable[[int], Draw]:
    """Scores of which those of the first class rise by so much; the labels given the scores have this slope in the next period, and 0.7 before."""

    def draw(generator: np.random.Generator, groups: int, size: int, period: int) -> pl.DataFrame:
        ends = np.linspace(0.5, -0.5, n_classes)
        z = generator.normal(ends + moved * period * (np.arange(n_classes) == 0), 1.5, (groups * size, n_classes))
        day = generator.normal(0, of_day, (groups, DAYS, n_classes))[
            np.repeat(np.arange(groups), size), np.arange(len(z)) % size % DAYS
        ]
        q = _softmax(z)
        return _class_rows(q, _softmax((slope if period else 0.7) * np.log(q) - ends + day), generator, size)

    return lambda period: lambda generator, groups, size: draw(generator, groups, size, period)


def _class_prior(n_classes: int) -> Callable[[int], Draw]:
    """Scores of each class that stay, with equal priors that become 3 to 1 for the first half of the classes."""

    def draw(generator: np.random.Generator, groups: int, size: int, period: int) -> pl.DataFrame:
        prior = np.where(np.arange(n_classes) < n_classes / 2, 3.0 if period else 1.0, 1.0)
        y = generator.choice(n_classes, groups * size, p=prior / prior.sum())
        z = generator.normal(1.5 * np.eye(n_classes)[y], 1.0)
        # The posteriors at equal priors are the softmax of 1.5 z: the scores are too sure.
        return _of_classes(_softmax(2 * z + np.linspace(0.3, -0.3, n_classes)), y, size)

    return lambda period: lambda generator, groups, size: draw(generator, groups, size, period)


def _real_classes(name: str, selected: bool) -> Callable[[int], Draw]:
    """Random halves of a real score set; `selected`: of the second half mostly rows of which the first classes have the highest score."""
    log = pl.read_parquet(SCORES / f"{name}.parquet")
    p, y = log.select(pl.col("^lp.*$").exp()).to_numpy(), log["label"].to_numpy()
    is_first = p.argmax(axis=1) < p.shape[1] / 2

    def draw(period: int, groups: int, size: int) -> pl.DataFrame:
        parts = []
        for group in range(groups):
            generator = np.random.default_rng(group)
            half = np.array_split(generator.permutation(len(p)), 2)[period]
            weight = np.where(is_first[half], 3.0, 1.0) if selected and period else np.ones(len(half))
            parts.append(generator.choice(half, size, replace=False, p=weight / weight.sum()))
        rows = np.concatenate(parts)
        return _of_classes(p[rows], y[rows], size)

    return lambda period: lambda _, groups, size: draw(period, groups, size)


def _real(name: str, target: int, selected: bool) -> Callable[[int], Draw]:
    """Random halves of a real score set, a class against the rest; `selected`: of the second half mostly the high scores."""
    log = pl.read_parquet(SCORES / f"{name}.parquet")
    p, y = log[f"lp{target}"].exp().to_numpy(), (log["label"] == target).to_numpy()

    def draw(period: int, groups: int, size: int) -> pl.DataFrame:
        parts = []
        for group in range(groups):
            generator = np.random.default_rng(group)
            half = np.array_split(generator.permutation(len(p)), 2)[period]
            weight = np.where(p[half] > np.median(p), 3.0, 1.0) if selected and period else np.ones(len(half))
            parts.append(generator.choice(half, size, replace=False, p=weight / weight.sum()))
        rows = np.concatenate(parts)
        return pl.DataFrame({"p": p[rows], "y": y[rows], "day": np.arange(len(rows)) % size % DAYS})

    return lambda period: lambda _, groups, size: draw(period, groups, size)


@dataclass(frozen=True)
class Shift:
    """What changes between two periods, the keywords of the call, and the share of the rows of the next one that have labels."""

    name: str
    draw: Callable[[int], Draw]
    options: Mapping[str, Any] = field(default_factory=dict)
    labelled: float = 0.0
    size: int = 1000
    cost_fn: float = 3.0


SHIFTS = (
    Shift("nothing", _covariate(0.0)),
    Shift("scores (covariate shift)", _covariate(1.0)),
    Shift("scores, 200 rows", _covariate(1.0), size=200),
    Shift("scores, days as clusters", _covariate(1.0, of_day=0.6), {"cluster": "day"}),
    Shift("prior, shift_prior='em'", _prior, {"shift_prior": "em"}),
    Shift("prior, without it", _prior),
    Shift("P(class | score), no labels", _covariate(0.0, 0.55, 0.2)),
    Shift("P(class | score), 10 % labels", _covariate(0.0, 0.55, 0.2), labelled=0.1),
    Shift("P(class | score), 50 % labels", _covariate(0.0, 0.55, 0.2), labelled=0.5),
)


KINDS = (("random halves", False), ("more high scores", True))
# Score sets with a class, and the cost of a miss for which some rows are decided either way.
REAL = (
    *(
        Shift(f"{name}, {kind}", _real(name, target, selected), size=500, cost_fn=cost_fn)
        for name, target, cost_fn in (
            ("sst2_gpt2", 1, 0.25),
            ("sst2_gpt2_4shot", 1, 0.25),
            ("cifar10_resnet-20", 3, 3.0),
            ("agnews_gpt2", 2, 3.0),
        )
        for kind, selected in KINDS
    ),
    *(
        Shift(f"agnews_gpt2, {kind}, affine", _real("agnews_gpt2", 2, selected), {"calibrator": "affine"}, size=500)
        for kind, selected in KINDS
    ),
)


CLASS_SHIFTS = (
    Shift("nothing, 3 classes", _class_covariate(3, 0.0)),
    Shift("scores (covariate shift), 3 classes", _class_covariate(3, 1.5)),
    Shift("scores (covariate shift), 10 classes", _class_covariate(10, 1.5)),
    Shift("scores, 3 classes, days as clusters", _class_covariate(3, 1.5, of_day=0.6), {"cluster": "day"}),
    Shift("prior, 3 classes, shift_prior='em'", _class_prior(3), {"shift_prior": "em"}),
    Shift("prior, 10 classes, shift_prior='em'", _class_prior(10), {"shift_prior": "em"}),
    Shift("prior, 3 classes, without it", _class_prior(3)),
    Shift("P(class | score), 3 classes, no labels", _class_covariate(3, 0.0, 0.3)),
    Shift("P(class | score), 3 classes, 10 % labels", _class_covariate(3, 0.0, 0.3), labelled=0.1),
    *(
        Shift(f"{name}, {kind}", _real_classes(name, selected), size=500)
        for name in ("agnews_gpt2", "cifar10_resnet-20")
        for kind, selected in (("random halves", False), ("more of the first classes", True))
    ),
    *(
        Shift(
            f"agnews_gpt2, {kind}, affine", _real_classes("agnews_gpt2", selected), {"calibrator": "affine"}, size=500
        )
        for kind, selected in (("random halves", False), ("more of the first classes", True))
    ),
)


@dataclass(frozen=True)
class Judged:
    """Shares of groups whose interval holds the value, by metric, and root mean squared errors of NEC by estimator.

    `worse` is the mean difference between the squared errors of the estimate and of CBPE in a group, in standard errors.
    """

    covered: Mapping[str, float]
    errors: Mapping[str, float]
    worse: float


def judge(shift: Shift, groups: int, seed: int = 0, replicates: int = 200) -> Judged:
    """Estimate the next period of each group, and compare with what all of its labels show."""
    generator = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), shift.size)
    periods = [shift.draw(t)(generator, groups, shift.size).with_columns(g=group, t=t) for t in range(2)]
    log = pl.concat([rows.with_columns(day=pl.col("day") + DAYS * t) for t, rows in enumerate(periods)])
    known = (pl.col("t") == 0) | pl.Series(generator.random(log.height) < shift.labelled)
    of_classes = log["p"].dtype.is_nested()
    metrics, costs = CLASS_METRICS if of_classes else METRICS, {} if of_classes else {"cost_fn": shift.cost_fn}
    estimates = ec.estimate(
        log.with_columns(y=pl.when(known).then("y")),
        "p",
        "y",
        period="t",
        by="g",
        reference=0,
        metrics=metrics,
        replicates=replicates,
        **costs,
        **shift.options,
    )
    if of_classes:
        truth = log.ec.report("p", "y", by=["g", "t"], metrics=metrics)
    else:
        truth = log.ec.sketch("p", "y", by=["g", "t"], **costs).evaluate(*metrics)
    truth = truth.unpivot(metrics, index=["g", "t"], variable_name="metric", value_name="truth")
    joined = estimates.filter(t=1).join(truth.with_columns(pl.col("t").cast(pl.Int32)), on=["g", "t", "metric"])
    is_covered = pl.col("truth").is_between("value_ci_low", "value_ci_high").mean().alias("covered")
    covered = dict(joined.group_by("metric", maintain_order=True).agg(is_covered).rows())
    nec = joined.filter(metric=COMPARED).sort("g")
    before = truth.filter(pl.col("t") == 0, pl.col("metric") == COMPARED).sort("g")["truth"]
    by_group = zip(*(rows.partition_by("g", maintain_order=True) for rows in periods), strict=True)
    others = {
        "estimate": nec["value"],
        "CBPE": pl.Series(
            [class_cbpe_nec(*pair) if of_classes else cbpe_nec(*pair, shift.cost_fn) for pair in by_group]
        ),
        "carried on": before,
    }
    squares = {name: ((value - nec["truth"]) ** 2).to_numpy() for name, value in others.items()}
    worse = squares["estimate"] - squares["CBPE"]
    errors = {name: float(np.sqrt(of.mean())) for name, of in squares.items()}
    return Judged(covered, errors, float(worse.mean() / worse.std(ddof=1) * np.sqrt(groups)))


def cbpe_nec(reference: pl.DataFrame, rows: pl.DataFrame, cost_fn: float) -> float:
    """NEC by confidence-based performance estimation: counts of expected classes, by posteriors of isotonic regression."""
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(reference["p"].to_numpy(), reference["y"].to_numpy())
    q = isotonic.predict(rows["p"].to_numpy())
    positive = rows["p"].to_numpy() > 1 / (1 + cost_fn)
    misses, alarms, prior = q[~positive].sum(), (1 - q)[positive].sum(), q.mean()
    return float((cost_fn * misses + alarms) / len(q) / min(cost_fn * prior, 1 - prior))


def class_cbpe_nec(reference: pl.DataFrame, rows: pl.DataFrame) -> float:
    """NEC of K classes by confidence-based performance estimation: isotonic regression of each class against the rest, normalised."""
    p, y, of_rows = reference["p"].to_numpy(), reference["y"].to_numpy(), rows["p"].to_numpy()
    calibrated = [
        IsotonicRegression(out_of_bounds="clip").fit(p[:, k], y == k).predict(of_rows[:, k]) for k in range(p.shape[1])
    ]
    q = np.stack(calibrated, axis=1)
    q = np.where(q.sum(axis=1, keepdims=True) > 0, q, 1.0)
    q /= q.sum(axis=1, keepdims=True)
    right = np.take_along_axis(q, of_rows.argmax(axis=1)[:, None], axis=1).mean()
    return float((1 - right) / (1 - q.mean(axis=0).max()))


def flights(folder: Path) -> pl.DataFrame:
    """NEC of each month of the flights by the labels of April, with days as clusters, beside the value that the labels show.

    `value_checked` has the labels of one flight in ten too.
    """
    log = pl.scan_parquet(folder, hive_partitioning=True).select("month", "date", p="score", y="late")
    known = log.drop_nulls().sort("date").collect()
    april, later = known.filter(month=4), pl.col("month") > 4
    call: dict[str, Any] = {"period": "month", "reference": 4, "metrics": [COMPARED], "cluster": "date"}
    estimates = ec.estimate(known, "p", "y", cost_fn=COST_FN, **call).filter(later)
    some = known.with_columns(y=pl.when(~later | (pl.int_range(pl.len()) % 10 == 0)).then("y"))
    checked = (
        ec.estimate(some, "p", "y", cost_fn=COST_FN, **call).filter(later).with_columns(observed=estimates["observed"])
    )
    held = pl.col("observed").is_between("value_ci_low", "value_ci_high").alias("covered")
    checked = checked.select(
        pl.col("value", "value_ci_low", "value_ci_high").name.suffix("_checked"), held.name.suffix("_checked")
    )
    cbpe = [cbpe_nec(april, known.filter(month=month), COST_FN) for month in estimates["month"]]
    carried = april.ec.report("p", "y", metrics=[COMPARED], cost_fn=COST_FN)[COMPARED].item()
    shown = estimates.select("month", "observed", "value", "value_ci_low", "value_ci_high", "covered")
    return shown.with_columns(checked, cbpe=pl.Series(cbpe), carried_on=carried)


def main() -> None:
    if len(sys.argv) > 1:
        with pl.Config(tbl_rows=20, tbl_cols=20, float_precision=3):
            print(flights(Path(sys.argv[1])))
        return
    print(
        f"{'what changes':48}{'covered':>12}   error of NEC: estimate, CBPE, carried on; worse than CBPE by standard errors"
    )
    for place, shift in enumerate((*SHIFTS, *REAL, *CLASS_SHIFTS)):
        found = judge(shift, groups=100 if shift in CLASS_SHIFTS else 200, seed=place)
        low, high = min(found.covered.values()), max(found.covered.values())
        errors = "  ".join(f"{error:.3f}" for error in found.errors.values())
        print(f"{shift.name:48}{low:5.0%} to {high:4.0%}   {errors}  {found.worse:+.1f}", flush=True)


if __name__ == "__main__":
    main()
