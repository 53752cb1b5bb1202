"""Ranking metrics in DuckDB: exact by sorting, and from bins within the bound that comes with each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.support import ranking_oracle as oracle
from tests.support.cases import RANKING, mostly_slow
from tests.support.reference import BINARY, expected_of, scores_of

METRICS = tuple(RANKING)
IN_A_TABLE = (
    "auc_roc",
    "average_precision",
    "auprg",
    "min_dcf",
    "specificity_at_sensitivity",
    "sensitivity_at_specificity",
    "ks",
)
TAKES_PRIOR = {name for name, options in RANKING.items() if "prior" in options}
ROUNDING = 1e-12


def query(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    return pl.DataFrame(connection.sql(sql).to_arrow_table())


def by_group(connection: duckdb.DuckDBPyConnection, calls: Iterable[str]) -> dict[Any, dict[str, Any]]:
    """The calls' values on the log of each group; in queries of their own, for many in one take long to plan."""
    groups: dict[Any, dict[str, Any]] = {}
    for call in calls:
        for row in query(connection, f"SELECT g, {call} FROM log GROUP BY g").to_dicts():
            groups.setdefault(row["g"], {}).update(row)
    return groups


def arguments(name: str, prior: float | None, score_type: str) -> str:
    stated = f", prior := {'NULL' if prior is None else prior}" if name in TAKES_PRIOR else ""
    return f"score, label, score_type := '{score_type}'{stated}"


def approximate(name: str, *, prior: float | None = None, score_type: str = "posterior", resolution: int = 64) -> str:
    """A metric from bins and its bound in SQL."""
    given = f"{arguments(name, prior, score_type)}, resolution := {resolution}"
    return f"ec.approx_{name}({given}) AS {name}, ec.approx_{name}_error({given}) AS {name}_error"


def by_sorting(name: str, *, prior: float | None = None, score_type: str = "posterior", weight: str = "NULL") -> str:
    return f"ec.{name}({arguments(name, prior, score_type)}, weight := {weight}) AS {name}"


# Plain NumPy ---------------------------------------------------------------------------------------------------------


def roc(score: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Rows (true positives, false positives) from (0, 0) on, one for each distinct score from the highest down."""
    order = np.argsort(-score, kind="stable")
    score, label = score[order], label[order]
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    points = np.stack([np.cumsum(label), np.cumsum(1 - label)], axis=1)[ends]
    return np.vstack([[0, 0], points]).astype(float)


def auprg(points: np.ndarray, p1: float) -> float | None:
    if not 0 < p1 < 1:
        return None
    (n1, n0), odds = points[-1], p1 / (1 - p1)
    start = p1 * n1
    after = np.flatnonzero(points[:, 0] > start)[0]
    (t, f), (u, g) = points[after - 1], points[after]
    first = [start, f + (g - f) * (start - t) / (u - t)]
    t, f = np.vstack([first, points[after:]]).T
    recall_gain, precision_gain = 1 - odds * (n1 - t) / t, 1 - (f / n0) / (t / n1)
    return float(np.sum(np.diff(recall_gain) * (precision_gain[1:] + precision_gain[:-1]) / 2))


def hull_eer(x: np.ndarray, miss: np.ndarray) -> float:
    """Lowest crossing of the diagonal by a chord between any two ROC points."""
    d = x - miss
    left, right = np.flatnonzero(d < 0), np.flatnonzero(d >= 0)
    dl, dr = d[left][:, None], d[right][None, :]
    return float(np.min(x[left][:, None] + (x[right][None, :] - x[left][:, None]) * (-dl / (dr - dl))))


def min_cllr(points: np.ndarray) -> float:
    """Pool adjacent violators from the top score down, then the cost of the pooled likelihood ratios."""
    n1, n0 = points[-1]
    blocks: list[list[float]] = []
    for w1, w0 in np.diff(points, axis=0):
        blocks.append([w1 / n1, w0 / n0])
        while len(blocks) > 1 and blocks[-1][0] * blocks[-2][1] >= blocks[-2][0] * blocks[-1][1]:
            x, y = blocks.pop()
            blocks[-1][0] += x
            blocks[-1][1] += y
    total = 0.0
    for x, y in blocks:
        total += (x * math.log2(1 + y / x) if x else 0.0) + (y * math.log2(1 + x / y) if y else 0.0)
    return total / 2


def expected(score: np.ndarray, label: np.ndarray, prior: float | None) -> dict[str, float | None]:
    """Every metric by its definition, over distinct scores."""
    if label.sum() in (0, len(label)):
        return dict.fromkeys(METRICS)
    points = roc(score, label)
    n1, n0 = points[-1]
    t, f = points.T
    recall, x = t / n1, f / n0
    p1 = n1 / (n1 + n0) if prior is None else prior
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = p1 * recall / (p1 * recall + (1 - p1) * x)
    won = np.diff(recall)
    above, below = score[label == 1][:, None], score[label == 0][None, :]
    dcf = np.min(p1 * (1 - recall) + (1 - p1) * x)
    return {
        "auc_roc": float(np.mean((above > below) + (above == below) / 2)),
        "average_precision": None if p1 == 0 else float(np.sum(np.where(won > 0, won * precision[1:], 0))),
        "auprg": auprg(points, p1),
        "eer": hull_eer(x, 1 - recall),
        "min_expected_cost": float(dcf),
        "min_dcf": None if p1 in (0, 1) else float(dcf / min(p1, 1 - p1)),
        "specificity_at_sensitivity": float(1 - x[np.flatnonzero(recall >= 0.95)[0]]),
        "sensitivity_at_specificity": float(recall[np.flatnonzero((n0 - f) / n0 >= 0.95)[-1]]),
        "ks": float(np.max(np.abs(recall - x))),
        "min_cllr": min_cllr(points),
    }


# Random logs ---------------------------------------------------------------------------------------------------------


def log_odds_of(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "ties":
        return rng.integers(-3, 4, n) / 2
    if kind == "one score":
        return np.full(n, 0.3)
    if kind == "one bin":
        return 0.3 + rng.random(n) / 1000
    if kind == "edges":
        return rng.integers(-130, 130, n) / 64
    if kind == "ends":
        return rng.choice([-math.inf, -800.0, -70.0, -0.1, 0.0, 0.1, 65.0, 800.0, math.inf], n)
    return rng.normal(0, 3, n)


KINDS = ("smooth", "ties", "one score", "one bin", "edges", "ends")


def random_log(score_type: str) -> tuple[pl.DataFrame, dict[int, tuple[np.ndarray, np.ndarray]]]:
    """Groups of every kind, large and small, balanced and rare."""
    rng, frames, groups = np.random.default_rng(7), [], {}
    for kind in KINDS:
        for n, rate, signal in [(2, 0.5, 0), (5, 0.5, 1), (30, 0.3, 1), (30, 0.9, -2), (200, 0.05, 2), (400, 0.5, 0.5)]:
            label = (rng.random(n) < rate).astype(int)
            score = log_odds_of(kind, n, rng)
            if kind == "smooth":
                score = score + signal * label
            if score_type == "posterior":
                score = np.exp(-np.logaddexp(0, -score))
            elif score_type == "raw":
                score = np.sign(score) * np.abs(score) ** 3
            groups[len(groups)] = (score, label)
            frames.append(pl.DataFrame({"g": [len(groups) - 1] * n, "score": score, "label": label}))
    return pl.concat(frames), groups


def within(value: float | None, error: float | None, truth: float | None) -> bool:
    if truth is None or value is None or error is None:
        return value is truth is error
    return error + ROUNDING >= 0 and abs(value - truth) <= error + ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score_type", "resolution"),
    [("posterior", 4), ("posterior", 64), ("log_odds", 1), ("llr", 4), ("raw", 1), ("raw", 64)],
)
def test_values_of_bins_are_within_their_bounds(connection, score_type: str, resolution: int) -> None:
    log, groups = random_log(score_type)
    connection.register("log", log)
    prior = {1: None, 4: 0.1, 64: 0.9}[resolution]
    given = {"prior": prior, "score_type": score_type, "resolution": resolution}
    rows = by_group(connection, (approximate(name, **given) for name in METRICS))
    assert len(rows) == len(groups) == 36
    for row in rows.values():
        truth = expected(*groups[row["g"]], prior)
        for name in METRICS:
            assert within(row[name], row[f"{name}_error"], truth[name]), (row["g"], name, row[name], truth[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score_type", "prior"),
    mostly_slow(
        [("posterior", None), ("posterior", 0.2), ("log_odds", 0), ("llr", 1), ("raw", 0.9)],
        [("posterior", None), ("llr", 1)],
    ),
)
def test_values_by_sorting(connection, score_type: str, prior: float | None) -> None:
    log, groups = random_log("posterior" if score_type == "posterior" else "raw")
    connection.register("log", log)
    if score_type == "llr":  # certain LLRs contradict a prior of 0 or 1
        groups = {g: (score, label) for g, (score, label) in groups.items() if np.isfinite(score).all()}
    calls = ", ".join(by_sorting(name, prior=prior, score_type=score_type) for name in METRICS)
    rows = query(connection, f"SELECT g, {calls} FROM log GROUP BY g").to_dicts()
    assert len(rows) == 36
    for row in rows:
        truth = expected(*groups[row["g"]], prior) if row["g"] in groups else {}
        for name, value in truth.items():
            slack = 1e-9 if name == "eer" else ROUNDING
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-12, abs=slack)), name


ORACLES = {
    "auc_roc": lambda s, y, w, p: oracle.auc_roc(s, y, w),
    "average_precision": lambda s, y, w, p: oracle.average_precision(oracle.roc_points(s, y, w), p),
    "auprg": lambda s, y, w, p: oracle.auprg(oracle.roc_points(s, y, w), p),
    "eer": lambda s, y, w, p: oracle.eer(oracle.roc_points(s, y, w)),
    "min_expected_cost": lambda s, y, w, p: oracle.min_expected_cost(oracle.roc_points(s, y, w), p, 1.0, 1.0),
    "min_dcf": lambda s, y, w, p: oracle.min_expected_cost(oracle.roc_points(s, y, w), p, 1.0, 1.0) / min(p, 1 - p),
    "specificity_at_sensitivity": lambda s, y, w, p: oracle.specificity_at_sensitivity(
        oracle.roc_points(s, y, w), 0.95
    ),
    "sensitivity_at_specificity": lambda s, y, w, p: oracle.sensitivity_at_specificity(
        oracle.roc_points(s, y, w), 0.95
    ),
    "ks": lambda s, y, w, p: oracle.ks(oracle.roc_points(s, y, w)),
    "min_cllr": lambda s, y, w, p: oracle.min_cllr(oracle.roc_points(s, y, w)),
}


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, 0.2])
def test_weights(connection, prior: float | None) -> None:
    """Weights have any size, beside rows of weight 0, with runs of equal scores of all lengths."""
    rng, frames = np.random.default_rng(5), []
    for scale in (1.0, 1e-200, 1e100):
        for n, levels in [(6, 3), (7, 1), (60, 5), (60, 1000)]:
            weight = scale * rng.choice([0.0, 1.0, 2.25, 1e-3], n)
            weight[:2] = scale
            scores = rng.integers(0, levels, n) / levels
            labels = np.append([0, 1], rng.random(n - 2) < 0.4).astype(int)
            columns = {"score": scores, "label": labels, "w": weight}
            frames.append(pl.DataFrame(columns).with_columns(g=pl.lit(len(frames))))
    log = pl.concat(frames)
    connection.register("log", log)
    calls = ", ".join(by_sorting(name, prior=prior, weight="w") for name in METRICS)
    for row in query(connection, f"SELECT g, {calls} FROM log GROUP BY g").to_dicts():
        group = frames[row["g"]].filter(pl.col("w") > 0)
        s, y, w = group["score"].to_list(), group["label"].cast(pl.Boolean).to_list(), group["w"].to_list()
        w = [x / max(w) for x in w]  # a factor for all
        p1 = math.fsum(x for x, positive in zip(w, y, strict=True) if positive) / math.fsum(w)
        for name, compute in ORACLES.items():
            truth = compute(s, y, w, p1 if prior is None else prior)
            assert row[name] == pytest.approx(truth, rel=1e-11, abs=1e-12), (row["g"], name)


@pytest.mark.slow
def test_wrong_weights_and_missing_ones(connection) -> None:
    rows = [(g, s, y, 1.0) for g in ("good", "missing", "wrong") for s, y in [(0.9, 1), (0.8, 0), (0.3, 1), (0.1, 0)]]
    rows += [("missing", 0.7, 1, None), ("wrong", 0.7, 1, -1.0)]
    log = pl.DataFrame(rows, schema=["g", "score", "label", "w"], orient="row")
    connection.register("log", log)
    calls = ", ".join(by_sorting(name, weight="w") for name in METRICS)
    found = {row.pop("g"): row for row in query(connection, f"SELECT g, {calls} FROM log GROUP BY g").to_dicts()}
    assert found["missing"] == found["good"]
    assert found["good"]["auc_roc"] == 0.75
    assert set(found["wrong"].values()) == {None}


@pytest.mark.slow
def test_costs_of_any_kind_of_errors(connection) -> None:
    """min over the thresholds of EC, of right decisions that cost something too."""
    log, groups = random_log("log_odds")
    connection.register("log", log)
    given = "score, label, costs := [[0.5, 2], [4, 1]], prior := 0.3, score_type := 'log_odds'"
    rows = query(
        connection,
        f"SELECT g, ec.min_expected_cost({given}) AS value, ec.approx_min_expected_cost({given}) AS of_bins, "
        f"ec.approx_min_expected_cost_error({given}) AS error FROM log GROUP BY g",
    )
    for row in rows.to_dicts():
        score, label = groups[row["g"]]
        truth = None
        if 0 < label.sum() < len(label):
            recall, x = (roc(score, label) / roc(score, label)[-1]).T
            truth = float(np.min(0.3 * (4 * (1 - recall) + 1 * recall) + 0.7 * (2 * x + 0.5 * (1 - x))))
        assert row["value"] == (None if truth is None else pytest.approx(truth, rel=1e-12))
        assert within(row["of_bins"], row["error"], truth)


@pytest.mark.parametrize("weight", ["NULL", "w"])
@pytest.mark.parametrize(
    ("score_type", "prior", "costs"),
    [("posterior", None, [[0, 1], [3, 0]]), ("llr", 0.2, [[0.5, 2], [4, 1]]), ("raw", None, [[0, 0], [0, 0]])],
)
def test_best_threshold(connection, score_type: str, prior: float | None, costs: list, weight: str) -> None:
    """With ties, scores of -inf and rows of weight 0."""
    log, groups = random_log("posterior" if score_type == "posterior" else "raw")
    if score_type == "llr":  # certain LLRs contradict a prior of 0 or 1
        log = log.filter(~pl.col("score").is_infinite().any().over("g"))
    log = log.with_columns(w=pl.int_range(pl.len()) % 3 * 0.75)
    connection.register("log", log)
    given = f"{arguments('min_dcf', prior, score_type)}, costs := {costs}, weight := {weight}"
    found = query(connection, f"SELECT g, ec.best_threshold({given}) AS threshold FROM log GROUP BY g")
    thresholds = dict(found.rows())
    assert len(thresholds) == log["g"].n_unique()
    (c00, c01), (c10, c11) = costs
    for (g,), rows in log.group_by("g"):
        used = rows.with_columns(w=pl.lit(1.0) if weight == "NULL" else "w").drop_nulls()
        used = used.filter(pl.col("w") > 0)
        s, y, w = (used[name].to_numpy() for name in ("score", "label", "w"))
        if g not in groups or len(set(y)) < 2:
            assert thresholds[g] is None
            continue
        p1 = w[y == 1].sum() / w.sum() if prior is None else prior
        # What all decisions cost alike moves no threshold.
        truth = oracle.best_threshold(s.tolist(), y.tolist(), w.tolist(), p1, c10 - c11, c01 - c00)
        assert thresholds[g] == truth


def test_linear_eer(connection) -> None:
    log, groups = random_log("log_odds")
    connection.register("log", log)
    values = connection.execute(
        "SELECT g, ec.eer(score, label, method := 'linear', score_type := 'log_odds') FROM log GROUP BY g"
    ).fetchall()
    assert len(values) == 36
    for g, value in values:
        score, label = groups[g]
        truth = None
        if 0 < label.sum() < len(label):
            truth = oracle.eer_linear([(f, t) for t, f in roc(score, label) / roc(score, label)[-1]])
        assert value == (None if truth is None else pytest.approx(truth, abs=1e-12))


def test_running_sums_of_long_lists(connection) -> None:
    """Sums never fall, and an element of 0 leaves them: lengths around powers of two."""
    for n in (1, 2, 3, 63, 64, 65, 1000):
        x = np.random.default_rng(n).choice([0, 0.1, 1e-9, 3.3], n)
        found = connection.execute("SELECT ec._running(?::DOUBLE[]), ec._after(?::DOUBLE[])", [x, x]).fetchall()[0]
        assert found[0] == pytest.approx(np.cumsum(x), rel=1e-13)
        assert found[1] == pytest.approx(np.append(np.cumsum(x[::-1])[::-1][1:], 0), rel=1e-13)
        steps = np.diff(found[0])
        assert (steps >= 0).all()
        assert (steps[x[1:] == 0] == 0).all()


def test_hulls_of_curves_of_many_corners(connection) -> None:
    """Thinning leaves all corners of an arc, and the two ends of one that sags."""
    for n in (1, 2, 3, 40, 300):
        t = np.arange(n + 1) / n
        for y, corners in ((1 - (1 - t) ** 2, n + 1), (t**2, 2)):
            points = [{"x": float(a), "y": float(b)} for a, b in zip(t, y, strict=True)]
            found = connection.execute(
                "SELECT len(ec._chained(p)), len(ec._chained(ec._thinned(p))) "
                "FROM (SELECT list_transform(?, lambda q: {'x': q['x'], 'y': q['y']}) AS p)",
                [points],
            ).fetchall()[0]
            assert found == (corners, corners), n


@pytest.mark.quick("posterior-0.2", "raw-*")
@pytest.mark.parametrize("prior", [None, 0.2, 0, 1])
@pytest.mark.parametrize("score_type", ["posterior", "raw"])
def test_exact_table_macro(connection, score_type: str, prior: float | None) -> None:
    log, groups = random_log(score_type)
    connection.register("log", log)
    stated = "NULL" if prior is None else prior
    rows = query(
        connection,
        f"FROM ec.ranking_exact('log', score, label, groups := ['g'], prior := {stated}, score_type := '{score_type}')",
    )
    assert rows.columns == ["g", "n", "n_missing", "n_invalid", *IN_A_TABLE]
    for row in rows.to_dicts():
        truth = expected(*groups[row["g"]], prior)
        assert row["n"] == len(groups[row["g"]][0])
        for name in IN_A_TABLE:
            value = truth[name]
            assert row[name] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)), name


EQUAL = [(0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1), (0.3, 1), (0.6, 0)]
GOOD = [(0.9, 1), (0.8, 0), (0.3, 1), (0.1, 0)]
WRONG = {"nan": (math.nan, 1), "above": (1.5, 0), "below": (-0.1, 1), "label": (0.5, 2)}


@pytest.fixture(scope="module")
def few_rows(connection) -> dict[str, dict[str, Any]]:
    """From bins, the metrics of the groups of a table `few_rows`."""
    rows = [("equal", *row) for row in EQUAL] + [("good", *row) for row in GOOD]
    rows += [("missing", *row) for row in [*GOOD, (None, 1), (0.2, None), (None, None)]]
    rows += [(kind, *row) for kind, bad in WRONG.items() for row in [*GOOD, bad]]
    rows += [("one class", 0.4, 1), ("one class", 0.6, 1), ("nothing", None, 1)]
    log = pl.DataFrame(rows, schema={"g": pl.String, "score": pl.Float64, "label": pl.Int64}, orient="row")
    connection.register("few_rows", log)
    connection.register("log", log)
    return by_group(connection, map(approximate, METRICS))


@pytest.mark.slow
def test_equal_scores_and_single_rows_leave_no_error(few_rows) -> None:
    row = few_rows["equal"]
    truth = expected(*map(np.array, zip(*EQUAL, strict=True)), None)
    for name in METRICS:
        assert row[name] == pytest.approx(truth[name], abs=ROUNDING), name
        assert row[f"{name}_error"] == pytest.approx(0, abs=ROUNDING), name


@pytest.mark.slow
def test_missing_rows_are_left_out_and_wrong_ones_leave_null(connection, few_rows) -> None:
    found = few_rows
    calls = ", ".join(map(by_sorting, METRICS))
    of_rows = {row["g"]: row for row in query(connection, f"SELECT g, {calls} FROM few_rows GROUP BY g").to_dicts()}
    sorted_ = {
        row["g"]: row
        for row in query(connection, "FROM ec.ranking_exact('few_rows', score, label, groups := ['g'])").to_dicts()
    }
    assert found.keys() == sorted_.keys() == of_rows.keys()
    assert found["missing"] == found["good"] | {"g": "missing"}
    assert of_rows["missing"] == of_rows["good"] | {"g": "missing"}
    assert sorted_["missing"] == sorted_["good"] | {"g": "missing", "n_missing": 3}
    assert found["good"]["auc_roc"] == sorted_["good"]["auc_roc"] == of_rows["good"]["auc_roc"] == 0.75
    for kind in [*WRONG, "one class", "nothing"]:
        assert {found[kind][name] for name in METRICS} == {of_rows[kind][name] for name in METRICS} == {None}
        assert {sorted_[kind][name] for name in IN_A_TABLE} == {None}
        assert sorted_[kind]["n_invalid"] == (kind in WRONG)


@pytest.mark.slow
def test_no_rows(connection) -> None:
    calls = ", ".join([*map(by_sorting, METRICS), *map(approximate, ("auc_roc", "average_precision", "min_cllr"))])
    values = connection.execute(f"SELECT {calls} FROM (SELECT 0.5 AS score, true AS label) WHERE score > 1").fetchall()
    assert set(values[0]) == {None}


BOTH_KINDS = [macro for name in METRICS for macro in (name, f"approx_{name}")]


@pytest.mark.quick("auc_roc-*", "approx_auc_roc-*", "min_dcf-*", "ks-*")
@pytest.mark.parametrize(
    ("name", "label"),
    mostly_slow(
        product(BOTH_KINDS, ["label", "label = 1"]),
        [*((name, "label") for name in BOTH_KINDS), (BOTH_KINDS[0], "label = 1")],
    ),
)
def test_score_and_label_swapped(connection, name: str, label: str) -> None:
    with pytest.raises(duckdb.Error, match=r"swapped|supplied arguments"):
        connection.execute(
            f"SELECT ec.{name}({label}, score) FROM (VALUES (0.2::DOUBLE, 1), (0.7, 0)) AS log(score, label)"
        ).fetchall()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("ec.auc_roc(s, y, score_type := 'decision')", "decision"),
        ("ec.nec(s, y, score_type := 'raw')", "raw scores have just an order"),
        ("ec.approx_auc_roc(s, y, resolution := 0.5)", "0.5"),
        ("ec.approx_auc_roc_error(s, y, resolution := 0)", "resolution"),
        ("ec.specificity_at_sensitivity(s, y, sensitivity := 95)", "95"),
        ("ec.sensitivity_at_specificity(s, y, specificity := 0)", "specificity must be"),
        ("ec.approx_sensitivity_at_specificity(s, y, specificity := 95)", "95"),
        ("ec.eer(s, y, method := 'area')", "is not 'hull' or 'linear'"),
        ("ec.min_dcf(s, y, cost_fn := -1)", "-1"),
        ("ec.min_dcf(s, y, 0.1)", "must be named"),
        ("ec.min_dcf(s, y, prior := 1.5)", "1.5"),
        ("ec.min_expected_cost(s, y, costs := [[1, 0], [1, 0]])", "an error must not cost less"),
        ("ec.best_threshold(s, y, costs := [[1, 0], [1, 0]])", "an error must not cost less"),
    ],
)
def test_bad_calls_are_errors(connection, bad: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"SELECT {bad} FROM (VALUES (0.2, 1), (0.7, 0)) AS log(s, y)").fetchall()


def test_exact_names_a_group_that_is_not_there(connection) -> None:
    connection.register("log", pl.DataFrame({"score": [0.2], "label": [1]}))
    with pytest.raises(duckdb.Error, match="month"):
        connection.execute("FROM ec.ranking_exact('log', score, label, groups := ['month'])").fetchall()


@pytest.mark.slow
def test_costs_of_min_dcf(connection) -> None:
    log, groups = random_log("log_odds")
    connection.register("log", log)
    given = "score, label, prior := 0.3, cost_fn := 5, cost_fp := 2, score_type := 'log_odds'"
    rows = query(
        connection,
        f"SELECT g, ec.min_dcf({given}) AS exact, ec.approx_min_dcf({given}) AS value, "
        f"ec.approx_min_dcf_error({given}) AS error "
        "FROM log GROUP BY g",
    )
    sorted_ = query(
        connection,
        "SELECT g, min_dcf FROM ec.ranking_exact('log', score, label, groups := ['g'], prior := 0.3, cost_fn := 5, "
        "cost_fp := 2, score_type := 'log_odds')",
    )
    for row in rows.join(sorted_, on="g").to_dicts():
        score, label = groups[row["g"]]
        truth = None
        if 0 < label.sum() < len(label):
            recall, x = (roc(score, label) / roc(score, label)[-1]).T
            truth = float(np.min(0.3 * 5 * (1 - recall) + 0.7 * 2 * x) / min(0.3 * 5, 0.7 * 2))
        for name in ("exact", "min_dcf"):
            assert row[name] == (None if truth is None else pytest.approx(truth, abs=ROUNDING))
        assert within(row["value"], row["error"], truth)


# Reference values ----------------------------------------------------------------------------------------------------


def golden(name: str, prior: float | None) -> dict[str, float]:
    binary = expected_of(name)["binary"]
    if prior is None:
        return {
            "auc_roc": binary["ranking"]["AUC_ROC"],
            "average_precision": binary["ranking"]["average_precision"],
            "auprg": binary["AUPRG"]["AUPRG"],
            "specificity_at_sensitivity": binary["specificity_at_sensitivity_0.95"]["attained"],
            "eer": binary["EER"]["rocch"],
            "min_cllr": binary["minCllr"],
        }
    return {
        "average_precision": binary["calibrated"][str(prior)]["average_precision"],
        "auprg": binary["AUPRG"][f"corrected_calibrated_AUPRG_{prior}"],
        "min_dcf": binary["DCF"][str(prior)]["minDCF"],
    }


@pytest.fixture
def reference(connection) -> str:
    """The score sets, each a group."""
    sets = (f"SELECT '{name}' AS name, lp1 - lp0 AS score, label FROM '{scores_of(name)}'" for name in BINARY)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW reference AS {' UNION ALL '.join(sets)}")
    return "reference"


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, 0.5, 0.1, 0.01])
def test_reference_values(connection, reference: str, prior: float | None) -> None:
    given: dict[str, Any] = {"prior": prior, "score_type": "log_odds"}
    metrics = golden(BINARY[0], prior)
    stated = "NULL" if prior is None else prior
    table = f"score, label, groups := ['name'], prior := {stated}, score_type := 'log_odds'"
    of_bins, by_macro, of_table = (
        {row["name"]: row for row in query(connection, sql).to_dicts()}
        for sql in (
            f"SELECT name, {', '.join(approximate(metric, **given) for metric in metrics)} FROM {reference} GROUP BY name",
            f"SELECT name, {', '.join(by_sorting(metric, **given) for metric in metrics)} FROM {reference} GROUP BY name",
            f"FROM ec.ranking_exact('{reference}', {table})",
        )
    )
    for name in BINARY:
        values, row = golden(name, prior), of_bins[name]
        for metric, value in values.items():
            slack = 1e-8 if metric == "eer" else 1e-10
            assert abs(row[metric] - value) <= row[f"{metric}_error"] + slack, (name, metric)
            assert by_macro[name][metric] == pytest.approx(value, rel=slack, abs=0), (name, metric)
        assert row.get("auc_roc_error", 0) <= 2e-3
        for metric in set(values) & set(IN_A_TABLE):
            assert of_table[name][metric] == pytest.approx(values[metric], rel=1e-9, abs=0), (name, metric)


@pytest.mark.slow
def test_a_fine_resolution_is_exact_for_the_hull(connection, reference: str) -> None:
    calls = ", ".join(
        approximate(metric, score_type="log_odds", resolution=1_000_000) for metric in ("eer", "min_cllr")
    )
    rows = connection.execute(f"SELECT name, {calls} FROM {reference} GROUP BY name").fetchall()
    assert {name for name, *_ in rows} == set(BINARY)
    for name, eer, eer_error, cllr, cllr_error in rows:
        values = golden(name, None)
        assert eer == pytest.approx(values["eer"], abs=1e-7)
        assert cllr == pytest.approx(values["min_cllr"], rel=1e-9)
        assert eer_error == pytest.approx(0, abs=1e-9)
        assert cllr_error == pytest.approx(0, abs=1e-9)
