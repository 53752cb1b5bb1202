"""Sketches of decisions, against plain NumPy and scikit-learn, and against reports and comparisons of the rows."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches.grid import DecisionGrid
from tests.support.cli import invoke, typed_report
from tests.support.pages import one_model

GROUPS, DAYS = ["a", "b"], [dt.date(2024, 3, day) for day in range(1, 5)]


def make_log(n_classes: int, n: int = 600, seed: int = 3) -> pl.DataFrame:
    """Posteriors in 32nds, without rounding, so that decisions tie; some rows lack a part, and group "c" has an invalid one."""
    rng = np.random.default_rng(seed + n_classes)
    q = np.stack([rng.multinomial(32 - n_classes, p) + 1 for p in rng.dirichlet([0.7] * n_classes, n)]) / 32
    y = np.array([rng.choice(n_classes, p=row) for row in q])
    log = pl.DataFrame(
        {
            "g": rng.choice(GROUPS, n),
            "day": [DAYS[i] for i in rng.integers(0, len(DAYS), n)],
            "y": y,
            "w": rng.integers(0, 5, n) / 2,
            "user": rng.integers(0, 90, n),
            "q": pl.Series(q, dtype=pl.Array(pl.Float64, n_classes)),
        }
    )
    absent = {name: pl.Series(rng.random(n) < 0.03) for name in ("q", "y", "w", "user")}
    log = log.with_columns(pl.when(~where).then(name).alias(name) for name, where in absent.items())
    wrong = log[:2].with_columns(g=pl.lit("c"), y=pl.Series([n_classes, 0]), w=pl.lit(1.0), q=log["q"].drop_nulls()[:2])
    return pl.concat([log, wrong])


def rows_of(log: pl.DataFrame, group: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = log.drop_nulls(["q", "y", "w"]).filter(g=group)
    return rows["q"].to_numpy(), rows["y"].to_numpy(), rows["w"].to_numpy()


def by_hand(log: pl.DataFrame, group: str, costs: np.ndarray, prior: np.ndarray | None) -> dict[str, Any]:
    """Each metric as an expectation over classes at the priors, of decisions with the least expected cost, the first on ties."""
    q, y, w = rows_of(log, group)
    n_classes, n_decisions = costs.shape
    d = np.argmin(q @ costs, axis=1)
    mass = np.array([w[y == i].sum() for i in range(n_classes)])
    p = mass / mass.sum() if prior is None else prior
    rate = (
        np.array([[w[(y == i) & (d == j)].sum() for j in range(n_decisions)] for i in range(n_classes)]) / mass[:, None]
    )
    joint = p[:, None] * rate
    hits = joint.diagonal()
    decided = joint.sum(axis=0)[:n_classes]
    losses = -np.log(q[np.arange(len(y)), y]), ((q - np.eye(n_classes)[y]) ** 2).mean(axis=1)
    ce, bs = (sum(p[i] * (w * loss)[y == i].sum() / mass[i] for i in range(n_classes)) for loss in losses)
    cost = (joint * costs).sum()
    return {
        "expected_cost": cost,
        "nec": cost / (p @ costs).min(),
        "accuracy": hits.sum(),
        "balanced_accuracy": rate.diagonal().mean(),
        "class_recall": rate.diagonal(),
        "class_precision": np.divide(hits, decided, out=np.full(n_classes, np.nan), where=decided > 0),
        "macro_f1": (2 * hits / (p + decided)).mean(),
        "cross_entropy": ce,
        "nce": ce / -(p * np.log(p)).sum(),
        "brier": bs,
        "nbs": bs / ((p * (1 - p)).sum() / n_classes),
    }


def costs_of(n_classes: int, abstain: bool) -> np.ndarray:
    costs = np.array([[abs(i - j) + (i > j) for j in range(n_classes)] for i in range(n_classes)], dtype=float)
    return np.hstack([costs, np.full((n_classes, 1), 0.5)]) if abstain else costs


@pytest.mark.quick("12-*", "3-stated-abstain")
@pytest.mark.parametrize("abstain", [False, True], ids=["square", "abstain"])
@pytest.mark.parametrize("prior", [None, "stated", "overall"])
@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_values_are_those_by_hand(n_classes: int, prior: str | None, abstain: bool) -> None:
    log = make_log(n_classes, 600 if n_classes < 12 else 3000)
    costs = costs_of(n_classes, abstain)
    sketch = log.ec.sketch("q", "y", by=["g", "day"], costs=costs.tolist(), weight="w", reduction="decisions")
    stated: Any = prior
    if prior == "stated":
        stated = (np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()).tolist()
    shares = None if prior is None else np.array(stated if prior == "stated" else 0)
    if prior == "overall":
        _, y, w = (np.concatenate(parts) for parts in zip(*(rows_of(log, g) for g in GROUPS), strict=True))
        shares = np.bincount(y, w, n_classes) / w.sum()
    names = [*by_hand(log, "a", costs, None)]
    if abstain:
        names = [name for name in names if name != "macro_f1"]
    # The prior of all rows is not known where one is invalid.
    valid = sketch.group_by("g").filter(pl.col("g") != "c")
    table = valid.evaluate(*names, prior=stated)
    assert table["g"].to_list() == GROUPS
    for row in table.rows(named=True):
        wanted = by_hand(log, row["g"], costs, shares)
        for name in names:
            value = np.array(row[name], dtype=float)
            assert value == pytest.approx(wanted[name], rel=1e-9, nan_ok=True), name
    with_invalid = sketch.group_by("g").evaluate("nec", "nce")
    assert with_invalid.filter(g="c").select("n", "n_invalid", "nec", "nce").row(0) == (1, 1, None, None)
    counted = log.filter(g="a").select(pl.any_horizontal(pl.col("q", "y", "w").is_null()).sum()).item()
    assert with_invalid["n_missing"][0] == counted


def test_values_are_those_of_scikit_learn() -> None:
    log = make_log(4, 1500)
    q, y, w = rows_of(log, "a")
    row = log.filter(g="a").ec.sketch("q", "y", weight="w", reduction="decisions").evaluate(
        "accuracy", "balanced_accuracy", "macro_f1", "cross_entropy"
    ).row(0, named=True)  # fmt: skip
    decided = q.argmax(axis=1)
    assert row["accuracy"] == pytest.approx(accuracy_score(y, decided, sample_weight=w), rel=1e-12)
    assert row["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, decided, sample_weight=w), rel=1e-12)
    assert row["macro_f1"] == pytest.approx(f1_score(y, decided, average="macro", sample_weight=w), rel=1e-12)
    assert row["cross_entropy"] == pytest.approx(log_loss(y, q, sample_weight=w), rel=1e-9)


NAMES = ["nec", "accuracy", "class_recall", "nce", "nbs", "confusion"]
PRIOR = [0.2, 0.3, 0.5]
SCORES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vectors": ("q", "y", {"weight": "w"}),
    "abstain": ("q", "y", {"costs": costs_of(3, abstain=True).tolist()}),
    "numbers": ("p", "late", {"cost_fn": 3}),
    "threshold": ("p", "late", {"threshold": 0.3, "weight": "w"}),
    "costs by row": ("p", "late", {"cost_fn": "amount", "cost_fp": 2}),
    "likelihoods": ("log_q", "y", {"score_type": "log_likelihoods", "prior": PRIOR}),
    "decisions": ("d", "y", {"score_type": "decision", "classes": [0, 1, 2]}),
}


def scored(n: int = 900) -> pl.DataFrame:
    log = make_log(3, n)
    columns = {
        "p": pl.col("q").arr.get(1),
        "d": pl.col("q").arr.arg_max(),
        "log_q": pl.col("q").arr.eval(pl.element().log()),
    }
    amount = pl.int_range(pl.len()) % 7 + pl.lit(0.5)
    return log.with_columns(**columns, late=pl.when(pl.col("y") < 3).then(pl.col("y") == 1), amount=amount).filter(
        pl.col("g") != "c"
    )


SCORED = scored()
SCORED = SCORED.with_columns(posteriors=ec.posterior("log_q", score_type="log_likelihoods", prior=PRIOR))


def names_of(kind: str) -> list[str]:
    names = ["expected_cost", *NAMES]
    return [name for name in names if kind != "decisions" or name not in ("nce", "nbs")]


@pytest.mark.quick(
    "vectors-clusters-None", "costs by row-clusters-stated", "likelihoods-rows-stated", "decisions-clusters-None"
)
@pytest.mark.parametrize("prior", [None, "stated"])
@pytest.mark.parametrize("cluster", [None, "user"], ids=["rows", "clusters"])
@pytest.mark.parametrize("kind", SCORES)
def test_intervals_are_those_of_the_report_on_rows(kind: str, cluster: str | None, prior: str | None) -> None:
    """Rolled up from groups and days, added from parts and read from a file, as the report computes them from rows."""
    score, label, options = SCORES[kind]
    clusters = {} if cluster is None else {"cluster": cluster}
    made = {"by": ["g", "day"], "reduction": "decisions", **options, **clusters}
    sketch = ec.merge([SCORED.gather_every(3, i).ec.sketch(score, label, **made) for i in range(3)]).group_by("g")
    stated = None if prior is None else 0.2 if label == "late" else [0.5, 0.3, 0.2]
    names = names_of(kind)
    table = sketch.evaluate(*names, prior=stated, interval=0.9)
    reported: Any = {**options, **clusters} if stated is None else {**options, **clusters, "prior": stated}
    if kind == "likelihoods":
        # Posteriors at the prior of the sketch, whatever weighs the classes.
        score, reported = "posteriors", {**reported, "score_type": "posteriors", "prior": stated}
    report = SCORED.ec.report(score, label, by="g", metrics=names, interval=0.9, **reported)
    ends = ("_ci_low", "_ci_high", "")
    split = {name: next((name.removesuffix(end), end) for end in ends if name.endswith(end)) for name in table.columns}
    moved = {name: f"{of}_at_prior{end}" for name, (of, end) in split.items()}
    wanted = report.select(**{name: moved[name] if moved[name] in report.columns else name for name in table.columns})
    assert_frame_equal(table, wanted, rel_tol=1e-9)
    assert table.select(pl.col("^.*_ci_.*$").null_count()).sum_horizontal().item() == 0


def test_a_file_is_the_sketch(tmp_path: Path) -> None:
    for kind, (score, label, options) in SCORES.items():
        sketch = SCORED.ec.sketch(score, label, by="g", cluster="user", reduction="decisions", **options)
        sketch.write_parquet(tmp_path / "sketch.parquet")
        read = ec.Sketch.read_parquet(tmp_path / "sketch.parquet")
        assert_frame_equal(read.frame, sketch.frame)
        assert read.coarse is not None
        assert sketch.coarse is not None
        assert_frame_equal(read.coarse, sketch.coarse)
        assert (repr(read), read.grid) == (repr(sketch), sketch.grid), kind


def test_impossible_cells_of_files_are_refused(tmp_path: Path) -> None:
    sketch = SCORED.ec.sketch("q", "y", reduction="decisions")
    for column, value, words in (
        ("class", 3, "a class that is not 0 to 2, one for each row of the costs"),
        ("decision", 3, "a decision that the costs do not have"),
        ("decision", -1, "a decision that the costs do not have"),
        ("brier", -1.0, "an impossible sum of 'brier'"),
        ("log_loss_square", 0.0, "an impossible sum of 'log_loss'"),
    ):
        frame = sketch.frame.with_columns(
            pl.when(pl.int_range(pl.len()) == 1)
            .then(value)
            .otherwise(column)
            .cast(sketch.frame.schema[column])
            .alias(column)
        )
        changed = ec.Sketch(frame, sketch.grid, costs=sketch.costs)
        changed.write_parquet(tmp_path / "sketch.parquet")
        with pytest.raises(SketchError, match=words):
            ec.Sketch.read_parquet(tmp_path / "sketch.parquet")


def test_infinite_losses_are_read(tmp_path: Path) -> None:
    log = pl.DataFrame({"p": [0.0, 0.5, 0.9], "y": [1, 0, 1]})
    log.ec.sketch("p", "y", reduction="decisions").write_parquet(tmp_path / "sketch.parquet")
    read = ec.Sketch.read_parquet(tmp_path / "sketch.parquet").evaluate("cross_entropy", "accuracy", interval=0.9)
    assert read.select("cross_entropy", "cross_entropy_ci_low", "accuracy").row(0) == (np.inf, None, 2 / 3)


def test_weights_are_1_where_another_sketch_has_them() -> None:
    half = SCORED.drop_nulls("w")[:400]
    ones = half.with_columns(w=pl.lit(1.0)).ec.sketch("q", "y", weight="w", cluster="user", reduction="decisions")
    weighted = SCORED[400:].ec.sketch("q", "y", weight="w", cluster="user", reduction="decisions")
    added = half.ec.sketch("q", "y", cluster="user", reduction="decisions") + weighted
    assert_frame_equal(added.frame, (ones + weighted).frame)
    assert_frame_equal(added.evaluate(interval=0.9), (ones + weighted).evaluate(interval=0.9))


def test_models_share_a_pass() -> None:
    log = SCORED.with_columns(r=pl.col("q").arr.reverse())
    both = log.ec.sketch(["q", "r"], "y", by="g", cluster="user", reduction="decisions")
    for name in ("q", "r"):
        alone = log.ec.sketch(name, "y", by="g", cluster="user", reduction="decisions")
        chosen = both.filter(pl.col("score") == name).group_by("g")
        assert_frame_equal(chosen.frame, alone.frame)


@pytest.mark.parametrize("kind", ["vectors", pytest.param("costs by row", marks=pytest.mark.slow)])
def test_comparisons_and_drift_are_those_of_rows(kind: str) -> None:
    score, label, options = SCORES[kind]
    metrics = ["nec", "accuracy", "nce"]
    sketch = SCORED.ec.sketch(score, label, by=["g", "day"], cluster="user", reduction="decisions", **options)
    found = sketch.group_by("g").compare(*metrics, reference="rest")
    wanted = SCORED.ec.compare(score, label, by="g", cluster="user", metrics=metrics, reference="rest", **options)
    assert_frame_equal(found.drop("model"), wanted.drop("model"), rel_tol=1e-7)
    found = sketch.drift(*metrics, period="day", mix="g")
    wanted = SCORED.ec.drift(score, label, period="day", mix="g", cluster="user", metrics=metrics, **options)
    assert_frame_equal(found.drop("model"), wanted.drop("model"), rel_tol=1e-7, abs_tol=1e-12)


def test_models_are_compared_as_on_rows() -> None:
    log = SCORED.drop_nulls(["q", "y", "user"]).with_columns(
        r=pl.col("q").arr.eval(0.7 * pl.element() + 0.1), s=pl.col("q").arr.reverse()
    )
    sketch = log.ec.sketch(["q", "r", "s"], "y", by="g", cluster="user", reduction="decisions")
    found = sketch.compare("nec", "nce")
    wanted = log.ec.compare(["q", "r", "s"], "y", by="g", cluster="user", metrics=["nec", "nce"])
    assert_frame_equal(found.sort("g", "model", "metric"), wanted.sort("g", "model", "metric"), rel_tol=1e-7)


@pytest.mark.slow
def test_windows_are_sketches_of_their_periods() -> None:
    sketch = SCORED.ec.sketch("q", "y", by=["g", "day"], weight="w", cluster="user", reduction="decisions")
    windows = sketch.rolling("day", periods=2).evaluate("nec", "nbs", prior="overall", interval=0.9)
    _, y, w = (np.concatenate(parts) for parts in zip(*(rows_of(SCORED, g) for g in GROUPS), strict=True))
    shares = (np.bincount(y, w) / w.sum()).tolist()
    for before, day in pairwise(DAYS):
        rows = SCORED.filter(pl.col("day").is_in([before, day]))
        alone = rows.ec.sketch("q", "y", by="g", weight="w", cluster="user", reduction="decisions")
        wanted = alone.evaluate("nec", "nbs", prior=shares, interval=0.9)
        assert_frame_equal(windows.filter(day=day).drop("day"), wanted, rel_tol=1e-9)


def test_resampled_intervals_are_about_those_of_influence() -> None:
    sketch = SCORED.ec.sketch("p", "late", cluster="user", reduction="decisions")
    names = ["nec", "nce"]
    influence = sketch.evaluate(*names, interval=0.9)
    resampled = sketch.evaluate(*names, interval=0.9, method="bootstrap", replicates=400)
    for name in names:
        width, other = ((pl.col(f"{name}_ci_high") - pl.col(f"{name}_ci_low")) for _ in range(2))
        assert resampled.select(width).item() == pytest.approx(influence.select(other).item(), rel=0.2)


@pytest.mark.slow
def test_a_prior_of_each_group() -> None:
    of_days = SCORED.ec.sketch("q", "y", by=["g", "day"], cluster="user", reduction="decisions")
    sketch = of_days.group_by("g")
    shares = {"a": [0.5, 0.25, 0.25], "b": [0.2, 0.2, 0.6]}
    prior = pl.col("g").replace_strict(shares, return_dtype=pl.List(pl.Float64))
    found = sketch.evaluate("nec", "accuracy", prior=prior)
    for group, stated in shares.items():
        alone = sketch.filter(pl.col("g") == group).evaluate("nec", "accuracy", prior=stated)
        assert_frame_equal(found.filter(g=group), alone)
        changes = of_days.drift("nec", period="day", prior=prior).filter(g=group).drop("p_adjusted")
        wanted = of_days.filter(pl.col("g") == group).drift("nec", period="day", prior=stated).drop("p_adjusted")
        assert_frame_equal(changes, wanted)


# What it does not have.

REFUSED: dict[str, Any] = {
    "curves": lambda sketch: sketch.roc(),
    "hull": lambda sketch: sketch.roc_hull(),
    "costs": lambda sketch: sketch.cost_curve("nec"),
    "best threshold": lambda sketch: sketch.best_threshold("f1"),
    "murphy": lambda sketch: sketch.murphy(),
    "epsr": lambda sketch: sketch.epsr((1, 1)),
    "tippett": lambda sketch: sketch.tippett(),
    "reliability": lambda sketch: sketch.reliability(),
    "calibrate": lambda sketch: sketch.calibrate(),
    "calibration loss": lambda sketch: sketch.calibration_loss(),
    "charts": lambda sketch: ec.plot.roc(sketch),
    "equivalent cost": lambda sketch: ec.equivalent_cost(sketch, "sensitivity"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_questions_about_scores_are_refused(call: str) -> None:
    sketch = SCORED.ec.sketch("p", "late", cost_fn=2, reduction="decisions")
    with pytest.raises(SketchError, match="the sketch has the decisions of the rows, not their scores"):
        REFUSED[call](sketch)


def test_other_decisions_are_refused() -> None:
    sketch = SCORED.ec.sketch("q", "y", costs=costs_of(3, abstain=False).tolist(), reduction="decisions")
    same = sketch.evaluate("nec", costs=costs_of(3, abstain=False).tolist())
    assert_frame_equal(same, sketch.evaluate("nec"))
    for keywords in ({"costs": np.ones((3, 3))}, {"costs": costs_of(3, abstain=True)}, {"threshold": 0.3}):
        with pytest.raises(
            SketchError,
            match=r"makes other decisions than those in the sketch \(Bayes, CostMatrix\(\[\[0, 1, 2\], .*sketch the log again",
        ):
            sketch.evaluate("nec", **keywords)
    for name in ("auc_roc", "macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc"):
        with pytest.raises(SketchError, match=f"^{name} needs scores, and the sketch has decisions"):
            sketch.evaluate(name)
    by_row = SCORED.ec.sketch("p", "late", cost_fn="amount", reduction="decisions")
    for other in ({"cost_fn": 2}, {"cost_fn": "w"}):
        with pytest.raises(SketchError, match=r"those in the sketch \(Bayes, cost_fn=amount, cost_fp=1\)"):
            by_row.evaluate("nec", **other)
    # A threshold decides at any costs.
    decided = SCORED.ec.sketch("p", "late", threshold=0.3, reduction="decisions")
    report = SCORED.ec.report("p", "late", threshold=0.3, cost_fn=4, metrics=["nec"])
    assert decided.evaluate("nec", cost_fn=4)["nec"].item() == pytest.approx(report["nec"].item())


def test_sketches_that_differ_are_not_added() -> None:
    one = SCORED.ec.sketch("p", "late", cost_fn=2, reduction="decisions")
    for other, words in (
        ({}, "with different costs"),
        ({"cost_fn": "amount"}, "with different cost_fn and cost_fp cannot be added: None and .'amount', '1'"),
        (
            {"cost_fn": 2, "reduction": "one_vs_rest"},
            "with different cells cannot be added: of decisions and of scores",
        ),
    ):
        with pytest.raises(SketchError, match=words):
            _ = one + SCORED.ec.sketch("p", "late", **{"reduction": "decisions", **other})


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"exact": True}, "exact= is for cells of scores"),
        ({"resolution": 8}, "resolution= is for cells of scores"),
        ({"thresholds": [0.2]}, "thresholds= is for cells of scores"),
        ({"folds": 3, "fold_by": "user"}, "folds= is for cells of scores"),
        ({"score_type": "raw"}, "score_type='raw' is for ranking metrics only"),
        ({"score_type": "llr"}, "score_type='llr' needs prior="),
        ({"prior": 0.3}, "pass prior= to evaluate"),
        ({"threshold": "amount"}, "threshold='amount' is a column, but one number is needed"),
        ({"by": pl.col("g").alias("decision")}, "'decision', which is also a column of a sketch"),
        ({"by": [pl.col("g").alias("target")]}, "'target', which is also a column of a sketch"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_a_sketch_of_decisions_does_not_take(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SCORED.ec.sketch("p", "late", reduction="decisions", **keywords)


# Other doors.

COSTS = costs_of(3, abstain=True).tolist()


@pytest.fixture(scope="module")
def connection() -> Any:
    with duckdb.connect() as connection:
        ec.register(connection)
        odd = [None, [0.5, None, 0.5], [0.4, 0.4, 0.4], [0.2, 0.8], [0.0, 1.0, 0.0], [0.4, 0.4, 0.2]]
        rows = pl.DataFrame(
            {
                "g": ["a"] * 6,
                "q": odd,
                "y": [0, 1, 2, 0, 1, 3],
                "w": [1.0, 1, 1, 1, 0, 1],
                "user": [1, 2, None, 4, 5, 6],
            }
        )
        columns = ["g", "q", "y", "w", "user"]
        log = pl.concat([SCORED.select(columns).with_columns(pl.col("q").arr.to_list()), rows.select(columns)])
        connection.register("log", log)
        yield connection


@pytest.mark.quick("clusters-w-abstain")
@pytest.mark.parametrize("costs", [None, COSTS], ids=["zero_one", "abstain"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("cluster", [None, "user"], ids=["rows", "clusters"])
def test_the_cells_of_duckdb(connection: Any, cluster: str | None, weight: str | None, costs: Any) -> None:
    more = f", weight := {weight or 'NULL'}, costs := {costs or 'NULL'}{', cluster := user' if cluster else ''}"
    table = connection.sql(
        f"FROM ec.sketch('log', q, y, classes := 3, reduction := 'decisions', groups := ['g']{more})"
    )
    clusters = {} if cluster is None else {"cluster": cluster}
    found = ec.Sketch.from_arrow(table.pl(), weighted=weight is not None, **clusters)
    assert np.array_equal(found.operating_point.costs, costs or ec.CostMatrix.zero_one(3))
    log = connection.sql("FROM log").pl()
    wanted = log.ec.sketch(
        "q", "y", by="g", classes=[0, 1, 2], costs=costs, weight=weight, reduction="decisions", **clusters
    )
    assert_frame_equal(found.frame, wanted.frame)
    if cluster is not None:
        assert found.coarse is not None
        assert wanted.coarse is not None
        assert_frame_equal(found.coarse, wanted.coarse)
    assert_frame_equal((found + found).evaluate("nec", "nce"), (wanted + wanted).evaluate("nec", "nce"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("costs := [[0, 1], [1, 0]]", "costs has 2 rows, but classes := 3"),
        ("costs := [[0, 1], [1, 0], [1, 'nan'::DOUBLE]]", "costs must be finite numbers"),
        ("costs := [[0, 1, 1], [coalesce(w, 7), 0, 1], [1, 1, 0]]", "costs differ between rows"),
        ("costs := [[0, 1, 1], [coalesce(w, 7), 0, 1], [1, 1, 0]], cluster := user", "costs differ between rows"),
        ("costs := CASE WHEN w > 0 THEN [[0, 1, 1], [7, 0, 1], [1, 1, 0]] END", "costs differ between rows"),
        ("groups := ['decision']", "name a column that is also a column of the result"),
    ],
)
def test_what_duckdb_refuses(connection: Any, arguments: str, words: str) -> None:
    with pytest.raises(duckdb.Error, match=words.replace("(", r"\(")):
        connection.sql(f"FROM ec.sketch('log', q, y, classes := 3, reduction := 'decisions', {arguments})").fetchall()


def test_tables_have_the_costs_of_their_query(connection: Any) -> None:
    table = connection.sql("FROM ec.sketch('log', q, y, classes := 3, reduction := 'decisions')").pl()
    without = table.drop("decision_costs")  # as of earlier versions
    with pytest.raises(SketchError, match="a class that is not 0 to 1, one for each row of the costs"):
        ec.Sketch.from_arrow(without)
    read = (ec.Sketch.from_arrow(table), ec.Sketch.from_arrow(without, costs=ec.CostMatrix.zero_one(3)))
    assert_frame_equal(*(sketch.frame for sketch in read))
    doubled = (2 * np.array(ec.CostMatrix.zero_one(3))).tolist()
    for costs in (costs_of(3, abstain=False).tolist(), doubled, COSTS):
        with pytest.raises(SketchError, match=r"the Bayes decisions at costs=\[\[0.0, 1.0, 1.0\]"):
            ec.Sketch.from_arrow(table, costs=costs)
    both = pl.concat([table, table.with_columns(decision_costs=pl.lit(doubled, pl.List(pl.List(pl.Float64))))])
    with pytest.raises(SketchError, match=r"the Bayes decisions at costs=.*, not at "):
        ec.Sketch.from_arrow(both)
    for classes in (["x", "y"], ["x", "y", "z", "more"]):
        with pytest.raises(
            SketchError, match=f"classes= has {len(classes)} classes, but the costs of the table have 3"
        ):
            ec.Sketch.from_arrow(table, classes=classes)
    named = ec.Sketch.from_arrow(table, classes=["x", "y", "z"])
    prior = {"z": 0.5, "x": 0.25, "y": 0.25}
    assert isinstance(named.grid, DecisionGrid)
    with pytest.warns(UserWarning, match="metrics are null in all groups: each has invalid rows, or no rows"):
        assert named.evaluate("accuracy", prior=prior)["accuracy"].item() is None
    of_two = connection.sql(
        "FROM ec.sketch('log', q[:2], y, classes := 2, reduction := 'decisions', costs := [[0, 1], [3, 0]])"
    ).pl()
    for point in ({}, {"cost_fn": 3}):
        assert ec.Sketch.from_arrow(of_two, **point).operating_point.costs.values == ((0, 1), (3, 0))
    for point in ({"cost_fn": 2}, {"cost_fn": 1}, {"cost_fn": 3, "threshold": 0.25}):
        with pytest.raises(SketchError, match=r"at costs=\[\[0.0, 1.0\], \[3.0, 0.0\]\], not at "):
            ec.Sketch.from_arrow(of_two, **point)
    with pytest.raises(ValueError, match="is for tables of decisions"):
        ec.Sketch.from_arrow(connection.sql("FROM ec.sketch('log', w, y = 1)").pl(), classes=[0, 1])


READ = ("--score", "[q0,q1,q2]", "--label", "kind", "--classes", "x,y,z", "--weight", "w", "--cluster", "user")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    (folder / "logs").mkdir()
    kinds = pl.col("y").replace_strict([0, 1, 2], ["x", "y", "z"])
    log = SCORED.with_columns(kinds.alias("kind"), *(pl.col("q").arr.get(k).alias(f"q{k}") for k in range(3)))
    for i in range(2):
        log.drop("q", "log_q", "posteriors").gather_every(2, i).write_parquet(folder / "logs" / f"{i}.parquet")
    made = ("--reduction", "decisions", "--costs", str(COSTS), "--by", "g", "--time", "day", "--every", "1d")
    result = invoke("sketch", folder / "logs", "--out", folder / "out", *READ, *made)
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.quick("prior1")
@pytest.mark.parametrize("prior", [(), ("--prior", "[0.5,0.3,0.2]"), ("--prior", "overall", "--total")])
def test_the_report_on_a_folder_is_that_on_the_log(folder: Path, prior: tuple[str, ...]) -> None:
    asked = ("--by", "g", "--interval", "0.9", "--metrics", "nec,macro_recall,nce,confusion", *prior)
    found = typed_report(folder / "out", *asked)
    wanted = typed_report(folder / "logs", *asked, *READ, "--costs", str(COSTS))
    assert_frame_equal(found, wanted, check_column_order=False, rel_tol=1e-9)


@pytest.mark.slow
def test_other_answers_of_a_folder(folder: Path) -> None:
    for command in (
        ("compare", "--by", "g", "--reference", "rest"),
        ("drift", "--every", "1d", "--mix", "g"),
        ("report", "--by", "g", "--every", "1d", "--window", "2"),
    ):
        result = invoke(command[0], folder / "out", *command[1:], "--format", "csv")
        assert (result.exit_code, result.stdout[:2]) == (0, "g," if "--by" in command else "da"), result.output
    for command, words in (
        (("--costs", "[[0,1],[1,0]]"), "makes other decisions than those in the sketch"),
        (("--metrics", "auc_roc"), "auc_roc needs scores, and the sketch has decisions"),
        (("--per-class",), "those of decisions, which have metrics such as class_recall"),
    ):
        result = invoke("report", folder / "out", *command)
        assert (result.exit_code, words in result.stderr) == (2, True), result.output
    made = ("--reduction", "decisions", "--by", "g", "--time", "day", "--every", "1d")
    result = invoke("sketch", folder / "logs", "--out", folder / "out", *READ, *made)
    assert "was made with other options: --cost-fn and --cost-fp" in result.stderr
    result = invoke("sketch", folder / "logs", "--out", folder / "other", *READ, "--costs", str(COSTS))
    assert "--costs is for --reduction decisions" in result.stderr


@pytest.mark.slow
def test_a_file_without_rows_says_nothing_of_the_classes(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for i, rows in enumerate((SCORED.head(0), SCORED, SCORED.head(0))):
        rows.select("q", "y", "g").write_parquet(tmp_path / "logs" / f"{i}.parquet")
    made = ("--score", "q", "--label", "y", "--by", "g", "--reduction", "decisions", "--out", tmp_path / "out")
    result = invoke("sketch", tmp_path / "logs", *made)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{tmp_path / 'out'}: 3 sketched, 0 unchanged; {SCORED.height} rows\n",
    )
    found = typed_report(tmp_path / "out", "--by", "g", "--metrics", "nec")
    assert found["nec"].to_list() == pytest.approx(SCORED.ec.report("q", "y", by="g", metrics=["nec"])["nec"].to_list())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vectors", "costs by row"])
def test_the_page_of_a_sketch_is_that_of_the_rows(kind: str) -> None:
    score, label, options = SCORES[kind]
    sketch = SCORED.ec.sketch(score, label, by=["g", "day"], cluster="user", reduction="decisions", **options)
    found = one_model(sketch, None, None, by="g", period="day", options={})
    wanted = one_model(SCORED, score, label, by="g", period="day", cluster="user", options=options)
    for name in ("groups", "total", "trend", "trend_total", "rest", "periods", "changes", "history"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        # Comparisons of sketches name the metric without the prior.
        ours, theirs = (table.drop("metric", "model", strict=False) for table in (ours, theirs))
        assert_frame_equal(ours, theirs.select(ours.columns), rel_tol=1e-7, abs_tol=1e-12)
    assert (found.metrics, found.curves) == (wanted.metrics, None)
    assert found.notes[0].startswith("There are no curves and no calibration loss (RCL)")


@pytest.mark.slow
def test_a_page_names_groups_without_costs() -> None:
    log = SCORED.with_columns(
        amount=pl.when(pl.int_range(pl.len()) > 0).then("amount"),
        g=pl.when(pl.int_range(pl.len()) % 3 > 0).then("g").otherwise(pl.lit("z")),
    )
    sketch = log.ec.sketch("p", "late", by=["g", "day"], cost_fn="amount", reduction="decisions")
    found = one_model(sketch, None, None, by="g", period="day", options={})
    assert found.notes[1] == "1 row without a valid cost. z: no metrics of decisions and no comparison with all others."
    assert found.rest is not None
    assert found.rest["g"].to_list() == ["a", "b"]
    assert found.options["Costs"] == "cost_fn=amount, cost_fp=1"
