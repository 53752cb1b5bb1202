"""Spread and limits of ranking metrics against counts of pairs, derivatives by weights, and bootstraps."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments, evaluate_all, prepare
from polars_ec.formulas.ranking_influence import SMOOTH_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import random_parts
from polars_ec.inference.ranking import newcombe
from polars_ec.sketches import ranking
from polars_ec.sketches.grid import Grid
from polars_ec.sketches.moments import UsableCells
from polars_ec.sketches.ranking import Ranking, ranking_influence, ranking_limits, ranking_variances, replicates_of
from polars_ec.sketches.sums import ordered_cells
from tests.support import ranking_oracle as oracle
from tests.support.cases import mostly_slow
from tests.support.reference import log_of

ARGUMENTS = RankingArguments(CostMatrix([[0, 1], [3, 0]]))
SETS = [
    *("agnews_gpt2", "cifar10_resnet-20", "emotion_final_tst"),
    *("pneumoniamnist_resnet50", "sst2_gpt2", "sst2_gpt2_4shot"),
]
AT_BEST = [name for name in RANKING_METRICS if name not in SMOOTH_METRICS]


def log(n=2000, seed=0, prior=0.2, distance=1.5, groups=1, digits=None):
    rng = np.random.default_rng(seed)
    label = rng.random(n) < prior
    score = np.where(label, 0.5, -0.5) * distance**2 + distance * rng.standard_normal(n) + math.log(prior / (1 - prior))
    return pl.DataFrame(
        {
            "score": score if digits is None else np.round(score, digits),
            "label": label,
            "group": rng.integers(0, groups, n),
            "weight": rng.choice([0.5, 1.0, 3.0], n),
            "user": rng.integers(0, 400, n),
        }
    )


def cells_of(rows, resolution=64, *, weighted=False, buckets=None):
    """The cells of the rows, counted here, and their grid; `resolution` None: each score is one."""
    grid = Grid("log_odds", resolution)
    place = {"score_value": pl.col("score")}
    if resolution is not None:
        place = {"bin": (pl.col("score") * resolution).floor().cast(pl.Int32), "above": pl.lit(0, dtype=pl.Int16)}
    bucket = {} if buckets is None else {"bucket": ec.bucket("user", buckets)}
    amounts = {"weight": pl.len().cast(pl.Float64)}
    if weighted:
        amounts = {"weight": pl.col("weight").sum(), "weight2": (pl.col("weight") ** 2).sum()}
    keys = [pl.col("group").cast(pl.UInt32).alias(GROUP), pl.col("label").cast(pl.Int8).alias("class")]
    return rows.group_by(*keys, **place, **bucket).agg(**amounts), grid


def ranking_of(cells, grid, metrics, arguments=ARGUMENTS, prior=None):
    """The metrics of these cells, which may have weights and buckets."""
    buckets = 1 + (cells["bucket"].max() or 0) if "bucket" in cells.columns else 0
    weighted = "weight2" in cells.columns
    squared = cells if weighted else cells.with_columns(weight2="weight")
    return Ranking(UsableCells(squared, grid, cells[GROUP].max() + 1, buckets), weighted, metrics, arguments, prior)


def spread(rows, metrics, resolution=64, prior=None, seed=0, **options):
    return spread_of(*cells_of(rows, resolution, **options), metrics, prior=prior, seed=seed)


def spread_of(cells, grid, metrics, arguments=ARGUMENTS, prior=None, seed=0):
    """Variance and degrees of freedom of each metric, by group."""
    ranking = ranking_of(cells, grid, metrics, arguments, prior)
    found, _ = ranking_variances(ranking, seed)
    groups = ranking.ranked.group_ids
    return {name: pl.DataFrame({GROUP: groups, "variance": of.variance, "df": of.df}) for name, of in found.items()}


def one(found, metric, column="variance"):
    return found[metric][column].item()


def limits(rows, metrics=RANKING_METRICS, level=0.95, resolution=64, **options):
    """Estimates with their limits, by group."""
    cells, grid = cells_of(rows, resolution, **options)
    fine, fine_grid = cells_of(rows, None if resolution is None else 64, weighted=options.get("weighted", False))
    prepared = prepare(ordered_cells(fine, fine_grid, options.get("weighted", False)), None)
    values = fine.select(GROUP).unique().sort(GROUP)
    for name, found in evaluate_all(prepared, metrics, ARGUMENTS).items():
        named = found.select(GROUP, pl.col("value").alias(name), pl.col("error").alias(f"{name}_error"))
        values = values.join(named, on=GROUP, how="left")
    found = ranking_limits(ranking_of(cells, grid, metrics), values, level)
    return values.join(found, on=GROUP, how="left").sort(GROUP)


def prior_of(groups, p1):
    return pl.DataFrame({GROUP: groups}, schema={GROUP: pl.UInt32}).with_columns(p1=pl.lit(p1), p0=pl.lit(1 - p1))


def test_auc_of_independent_rows_is_delong_with_ties():
    rows = log(300, digits=1)
    x, y = (rows.filter(label=of)["score"].to_numpy() for of in (True, False))
    wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    expected = wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(y)
    assert one(spread(rows, ["auc_roc"], None), "auc_roc") == pytest.approx(expected, rel=1e-12)


OF_POINTS = {
    "average_precision": oracle.average_precision,
    "auprg": oracle.auprg,
    "ks": lambda points, _: oracle.ks(points),
    "eer": lambda points, _: oracle.eer(points),
    "min_expected_cost": lambda points, share: oracle.min_expected_cost(points, share, 3, 1),
    "min_dcf": lambda points, share: oracle.min_expected_cost(points, share, 3, 1) / min(3 * share, 1 - share),
}


@pytest.mark.quick("auc_roc-0.03", "average_precision-None", "auprg-*", "min_dcf-*", "eer-None", "ks-None")
@pytest.mark.parametrize("stated", [None, 0.2])
@pytest.mark.parametrize("metric", ["auc_roc", *OF_POINTS])
def test_influence_is_how_the_metric_moves_with_the_weight_of_a_row(metric, stated):
    rows = log(120, seed=3, prior=0.3, digits=1)
    scores, labels, weights = (rows[name].to_list() for name in ("score", "label", "weight"))

    def value(changed):
        if metric == "auc_roc":
            return oracle.auc_roc(scores, labels, changed)
        share = math.fsum(w for w, y in zip(changed, labels, strict=True) if y) / math.fsum(changed)
        return OF_POINTS[metric](oracle.roc_points(scores, labels, changed), share if stated is None else stated)

    cells, grid = cells_of(rows, None, weighted=True)
    prior = None if stated is None else prior_of([0], stated)
    found = ranking_influence(ranking_of(cells, grid, [metric], prior=prior), metric)
    influence = {(row["class"], row["score_value"]): row["influence"] for row in found.iter_rows(named=True)}
    step = 1e-4
    for i in range(0, len(scores), 7):
        up, down = ([w + (j == i) * by for j, w in enumerate(weights)] for by in (step, -step))
        expected = (value(up) - value(down)) / (2 * step)
        # AUPRG between its points: the influence is that of a curve, the area that of trapezoids.
        rel, least = (1e-3, 2e-5) if metric == "auprg" else (1e-5, 1e-9)
        assert influence[int(labels[i]), scores[i]] == pytest.approx(expected, rel=rel, abs=least)


@pytest.mark.parametrize("metric", RANKING_METRICS)
def test_influence_sums_to_0_within_each_group(metric):
    cells, grid = cells_of(log(3000, groups=3), weighted=True)
    found = ranking_influence(ranking_of(cells, grid, [metric]), metric)
    joined = cells.join(found, on=[GROUP, "class", "bin", "above"])
    sums = joined.group_by(GROUP).agg((pl.col("weight") * pl.col("influence")).sum())["weight"]
    assert joined.height == cells.height
    assert sums.abs().max() < 1e-12


def test_specificity_moves_with_the_rates_at_its_threshold_as_a_quantile_does():
    # Exponential scores: the sensitivity at the threshold t is exp(-t/3), the specificity 1 - exp(-t): all slopes are known.
    n, s, places = 40_000, 0.8, (np.arange(40_000) + 0.5) / 40_000
    scores = np.concatenate([-3 * np.log(places), -np.log(places)])
    rows = pl.DataFrame({"score": scores, "label": np.arange(2 * n) < n, "group": 0})
    arguments = RankingArguments(ARGUMENTS.costs, sensitivity=s)
    cells, grid = cells_of(rows, None)
    found = spread_of(cells, grid, ["specificity_at_sensitivity"], arguments)
    # The specificity is 1 - s^3, which falls by 3 s^2 times what the sensitivity rises.
    expected = ((3 * s**2) ** 2 * s * (1 - s) + s**3 * (1 - s**3)) / n
    assert one(found, "specificity_at_sensitivity") == pytest.approx(expected, rel=1e-2)


def bootstrap(rows, metrics, replicates, seed=1):
    """Metrics of samples of the rows with replacement."""
    drawn = np.random.default_rng(seed).multinomial(rows.height, [1 / rows.height] * rows.height, size=replicates)
    row, replicate = np.nonzero(drawn.T)
    samples = rows[row].with_columns(weight=drawn.T[row, replicate], group=replicate)
    cells, grid = cells_of(samples, None, weighted=True)
    prepared = prepare(ordered_cells(cells, grid, weighted=True), None)
    found = evaluate_all(prepared, metrics, ARGUMENTS)
    return {name: found[name]["value"].to_numpy() for name in metrics}


def test_standard_errors_by_influence_are_those_of_a_bootstrap():
    rows = log(1500, seed=5, prior=0.35)
    metrics = ["auc_roc", "average_precision"]
    drawn, found = bootstrap(rows, metrics, 400), spread(rows, metrics)
    for name in metrics:
        # 400 replicates: 3.5 %
        assert math.sqrt(one(found, name)) == pytest.approx(drawn[name].std(), rel=0.1), name


@pytest.mark.slow
def test_standard_errors_at_the_best_threshold_are_those_of_other_logs():
    # 400 logs: 3.5 %. In few rows the best threshold moves about, so that a value varies less than one at a threshold that stays.
    rows = log(600 * 400, seed=5, prior=0.35).with_columns(group=pl.int_range(pl.len()) % 400)
    found = limits(rows, AT_BEST, resolution=8)
    variances = spread(rows, AT_BEST, 8)
    for name in AT_BEST:
        assert math.sqrt(variances[name]["variance"].mean()) == pytest.approx(found[name].std(), rel=0.15), name


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_standard_errors_of_score_sets_are_those_of_20_000_bootstraps(name):
    rows = log_of(name)
    score = pl.col("log_posteriors") if "log_posteriors" in rows.columns else None
    assert score is not None
    last = score.arr.get(-1)
    log_odds = last - (1 - last.exp()).log()
    binary = rows.select(score=log_odds, label=pl.col("label") == rows["label"].max(), group=0).head(3000)
    metrics = ["auc_roc", "average_precision"]
    found = spread(binary, metrics)
    drawn = [bootstrap(binary, metrics, 500, seed) for seed in range(40)]
    n1 = binary["label"].sum()
    for metric in metrics:
        expected = np.concatenate([of[metric] for of in drawn]).std()
        assert math.sqrt(one(found, metric)) == pytest.approx(expected, rel=0.03 if n1 >= 500 else 0.07), metric


def test_coarse_cells_are_enough_for_a_variance():
    rows = log(20_000, seed=7)
    fine, coarse = (spread(rows, ["auc_roc", "average_precision"], resolution) for resolution in (64, 8))
    for name, off in (("auc_roc", 0.005), ("average_precision", 0.01)):
        assert math.sqrt(one(coarse, name) / one(fine, name)) == pytest.approx(1, abs=off)


def test_clusters_are_sums_of_influence_over_buckets():
    rows = log(3000, seed=8, digits=1)
    x, y = rows["score"].to_numpy(), rows["label"].to_numpy()
    bucket = rows.select(ec.bucket("user", 50)).to_series().to_numpy()
    wins = (x[y][:, None] > x[~y]) + 0.5 * (x[y][:, None] == x[~y])
    psi = np.empty(len(x))
    psi[y], psi[~y] = (wins.mean(axis=1) - wins.mean()) / y.sum(), (wins.mean(axis=0) - wins.mean()) / (~y).sum()

    def left_out(bucket):
        """The AUC moves by so much as one bucket after the other is left out, to the first order in the distributions that remain."""
        return sum(np.bincount(bucket, psi * of) / (1 - np.bincount(bucket, of) / of.sum()) for of in (y, ~y))

    found = spread(rows, ["auc_roc"], None, buckets=50)
    assert one(found, "auc_roc") == pytest.approx((left_out(bucket) ** 2).sum() * 49 / 50, rel=1e-10)
    variances = [(np.bincount(bucket, psi * of) ** 2).sum() for of in (y, ~y)]
    df = [of.sum() ** 2 / (np.bincount(bucket, of) ** 2).sum() - 1 for of in (y, ~y)]
    assert one(found, "auc_roc", "df") == pytest.approx(sum(variances) / np.sum(np.array(variances) / df))
    alone = np.arange(len(x)) % 3 == 0
    keyless = rows.with_columns(user=pl.when(pl.Series(alone)).then(None).otherwise("user"))
    found = spread(keyless, ["auc_roc"], None, buckets=50)
    singles = np.where(alone, 50 + np.cumsum(alone), bucket)
    _, singles = np.unique(singles, return_inverse=True)
    number = 50 + alone.sum()
    expected = (left_out(singles) ** 2).sum() * (number - 1) / number
    assert one(found, "auc_roc") == pytest.approx(expected, rel=1e-10)


def test_replicates_leave_out_the_rows_of_their_buckets():
    rows = log(3000, seed=9)
    cells, grid = cells_of(rows, 8, buckets=100)
    metrics = ["ks", "min_dcf", "eer"]
    found = replicates_of(ranking_of(cells, grid, metrics), metrics, 0)
    part = rows.select(ec.bucket("user", 20)).to_series()
    for k in (0, 7, 19):
        rest, _ = cells_of(rows.filter(part != k), 8)
        prepared = prepare(ordered_cells(rest, grid, weighted=False).with_columns(point=True), None)
        expected = {name: of["value"].item() for name, of in evaluate_all(prepared, metrics, ARGUMENTS).items()}
        assert found.weight[0, k] == (part == k).sum()
        assert {name: found.values[name][0, k] for name in metrics} == pytest.approx(expected, rel=1e-12)


def test_rows_without_a_key_are_dealt_out_to_all_parts():
    cells, grid = cells_of(log(4000).with_columns(user=pl.lit(None, dtype=pl.Int64)), buckets=100)
    of_clusters = replicates_of(ranking_of(cells, grid, ["ks"]), ["ks"], 0)
    assert of_clusters.weight.sum() == 4000
    assert ((of_clusters.weight >= 140) & (of_clusters.weight <= 260)).all()


@pytest.mark.quick("options2")
@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"buckets": 20, "resolution": 8}])
def test_limits_hang_on_the_cells_of_the_group_alone(options):
    rows = log(4000, groups=3)
    expected = limits(rows, **options)
    assert_frame_equal(limits(rows.reverse(), **options), expected, rel_tol=1e-9)
    assert_frame_equal(limits(rows.filter(group=1), **options), expected.filter(pl.col(GROUP) == 1), rel_tol=1e-9)


@pytest.mark.parametrize("options", [{}, {"buckets": 20, "resolution": 8}])
def test_limits_hold_the_estimate_and_narrow_with_the_level(options):
    rows = log(6000, groups=4)
    wide, narrow = (limits(rows, level=level, **options) for level in (0.99, 0.5))
    for name in RANKING_METRICS:
        low, value, high = (wide[f"{name}{suffix}"] for suffix in ("_ci_low", "", "_ci_high"))
        assert low.null_count() == 0
        assert ((low < value) & (value < high)).all(), name
        assert ((high - low) > narrow[f"{name}_ci_high"] - narrow[f"{name}_ci_low"]).all(), name
        assert name == "auprg" or (low >= 0).all()
        assert name == "min_expected_cost" or (high <= 1).all()


def test_duplicated_rows_under_their_keys_leave_the_width():
    rows = log(3000)
    once, twice = (limits(of, buckets=100, resolution=None) for of in (rows, pl.concat([rows, rows])))
    # The slopes of min Cllr are those without half a row.
    assert_frame_equal(once.drop(pl.col("^min_cllr_ci.*$")), twice.drop(pl.col("^min_cllr_ci.*$")), rel_tol=1e-9)
    assert_frame_equal(once.select("^min_cllr_ci.*$"), twice.select("^min_cllr_ci.*$"), rel_tol=3e-3)
    independent = [limits(of, ["auc_roc"], resolution=None) for of in (rows, pl.concat([rows, rows]))]
    width = [(of["auc_roc_ci_high"] - of["auc_roc_ci_low"]).item() for of in independent]
    assert width[1] / width[0] == pytest.approx(math.sqrt(0.5), rel=0.01)


def test_equal_weights_are_no_weights():
    rows = log(2000)
    assert_frame_equal(
        limits(rows.with_columns(weight=4.0), weighted=True, resolution=None),
        limits(rows, resolution=None),
        rel_tol=1e-8,
    )


def test_a_row_of_weight_w_is_one_row():
    rows = log(1000, seed=2, digits=1)
    x, y, w = (rows[name].to_numpy() for name in ("score", "label", "weight"))
    wins = (x[y][:, None] > x[~y]) + 0.5 * (x[y][:, None] == x[~y])
    shares = [w[y] / w[y].sum(), w[~y] / w[~y].sum()]
    auc, expected = shares[0] @ wins @ shares[1], 0
    for share, beaten in ((shares[0], wins @ shares[1]), (shares[1], shares[0] @ wins)):
        rows_of_class = 1 / (share**2).sum()
        expected += (share**2 * (beaten - auc) ** 2).sum() * rows_of_class / (rows_of_class - 1)
    assert one(spread(rows, ["auc_roc"], None, weighted=True), "auc_roc") == pytest.approx(expected, rel=1e-10)


def test_weights_are_fewer_rows():
    rows = log(4000, seed=2)
    plain, weighted = (one(spread(rows, ["eer"], weighted=of), "eer") for of in (False, True))
    # Kish: 1.52 times the variance, if weights have nothing to do with scores.
    assert weighted / plain == pytest.approx(1.52, rel=0.12)


@pytest.mark.quick("options1")
@pytest.mark.parametrize("options", [{}, {"buckets": 20, "resolution": 8}])
def test_groups_may_be_taken_some_at_a_time(monkeypatch, options):
    rows = log(4000, groups=5)
    expected = limits(rows, **options)
    monkeypatch.setattr(ranking, "_BLOCK", 300)
    assert_frame_equal(limits(rows, **options), expected)


@pytest.mark.quick("options0")
@pytest.mark.parametrize("options", [{}, {"buckets": 100, "resolution": 8}])
def test_limits_hold_what_many_more_rows_give(options):
    found = limits(log(120 * 600, seed=11, prior=0.25, groups=120), **options)
    # 600 rows a group, by keys of which each has but one or two of them.
    truth = limits(log(200_000, seed=12, prior=0.25), **options)
    for name in RANKING_METRICS:
        value = truth[name].item()
        covered = ((found[f"{name}_ci_low"] <= value) & (value <= found[f"{name}_ci_high"])).mean()
        # Three standard errors of a share of 95 % among 120 are 6 %.
        assert covered >= 0.89, name
        assert name in ("specificity_at_sensitivity", "sensitivity_at_specificity") or covered < 1, name


def test_rows_are_dealt_out_once_each_and_anew_in_every_group():
    rows = np.array([[5, 0], [1000, 40], [5, 0], [1000, 40]])
    dealt = random_parts(rows, rows, np.array([0, 2]), 3)
    assert dealt.shape == (20, 4, 2)
    assert (dealt.sum(axis=0) == rows).all()
    assert (dealt[:, :2] == dealt[:, 2:]).all()
    assert (dealt != random_parts(rows, rows, np.array([0, 2]), 4)).any()
    # 20 parts of 1000 rows: chi-square with 19 degrees of freedom.
    assert 5 < ((dealt[:, 1, 0] - 50) ** 2 / 50).sum() < 45


def few(positive, negative):
    rows = [(score, True) for score in positive] + [(score, False) for score in negative]
    return pl.DataFrame(rows, schema=["score", "label"], orient="row").with_columns(group=0)


def test_a_perfect_auc_has_the_limits_of_newcombe():
    found = limits(few(np.linspace(2, 3, 40), np.linspace(-2, 1, 60)), resolution=None)
    low, _ = newcombe(np.array([1.0]), np.array([[60.0, 40.0]]), 0.95)
    assert found["auc_roc_ci_low"].item() == pytest.approx(low[0])
    assert found["auc_roc_ci_high"].item() == pytest.approx(1)
    assert 0.9 < low[0] < 0.97
    for name in ("eer", "ks", "min_dcf", "average_precision"):
        assert found[f"{name}_ci_low"].item() is None, name


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "key"}])
def test_equal_scores_have_no_limits_of_zero_width(options: dict[str, str]) -> None:
    """Rows that all have one score do not say how others would be ranked: an interval from 0.5 to 0.5 would claim to know."""
    rows = pl.DataFrame({"y": [1, 0, 0] * 100, "key": [*range(150)] * 2, "w": [0.3, 1.0, 0.7, 2.0] * 75})
    constant = rows.with_columns(p=0.3).ec.sketch("p", "y", exact=True, **options)
    other = rows.with_columns(p=pl.Series([0.3] * 299 + [0.2])).ec.sketch("p", "y", exact=True, **options)
    for metric in ("auc_roc",) if "cluster" in options else ("auc_roc", "auprg"):
        found, wider = (of.evaluate(metric, interval=0.95).row(0, named=True) for of in (constant, other))
        assert found[metric] == pytest.approx(0.5 if metric == "auc_roc" else 0, abs=1e-12)
        assert (found[f"{metric}_ci_low"], found[f"{metric}_ci_high"]) == (None, None)
        assert wider[f"{metric}_ci_high"] - wider[f"{metric}_ci_low"] > 1e-4


def test_one_row_in_a_class_has_limits_of_the_auc_alone():
    found = limits(few([0.6], np.linspace(-2, 1, 30)), resolution=None)
    low, high = newcombe(found["auc_roc"].to_numpy(), np.array([[30.0, 1.0]]), 0.95)
    assert found.select("auc_roc_ci_low", "auc_roc_ci_high").row(0) == pytest.approx((low[0], high[0]))
    for name in AT_BEST:
        assert found[f"{name}_ci_low"].item() is None, name


def test_a_class_without_rows_has_no_limits():
    found = limits(few([], np.linspace(-2, 1, 30)), resolution=None)
    assert all(found[column].item() is None for column in found.columns if "_ci_" in column)


def test_a_cluster_of_nearly_all_rows_leaves_little_to_say():
    rows = log(2000)
    keyed = rows.with_columns(user=pl.when(pl.int_range(pl.len()) < 1800).then(1).otherwise("user"))
    found = spread(keyed, RANKING_METRICS, 8, buckets=100)
    assert all(math.isnan(one(found, name, "df")) or one(found, name, "df") < 1 for name in RANKING_METRICS)
    few, many = (limits(of, ["auc_roc"], buckets=100, resolution=8) for of in (keyed, rows))
    width = [(of["auc_roc_ci_high"] - of["auc_roc_ci_low"]).item() for of in (few, many)]
    assert width[0] > 3 * width[1]


def test_few_clusters_have_no_limits():
    rows = log(2000).with_columns(user=pl.int_range(pl.len()) % 4)
    found = limits(rows, buckets=100, resolution=8)
    assert all(found[column].item() is None for column in found.columns if "_ci_" in column)


def test_points_beyond_which_few_rows_lie_have_no_limits():
    rows = log(400, prior=0.1)
    assert rows["label"].sum() * 0.05 < 5 < (~rows["label"]).sum() * 0.05
    found = limits(rows, ["specificity_at_sensitivity", "sensitivity_at_specificity"])
    assert found["specificity_at_sensitivity_ci_low"].item() is None
    assert found["sensitivity_at_specificity_ci_low"].item() is not None


@pytest.mark.parametrize(
    ("auc", "n1", "n0"), [(0.5, 10, 10), (0.9, 12, 40), (1.0, 5, 50), (0.02, 3, 7), (0.999, 1, 30)]
)
def test_newcombe_is_the_root_of_its_polynomial(auc, n1, n0):
    """Newcombe 2006, method 5: |A - x| = z sqrt(V(x)), multiplied by (2 - x)(1 + x), is of the fourth degree."""
    z, others = 1.959963984540054, (n1 + n0) / 2 - 1
    x, one_less = np.poly1d([1, 0]), np.poly1d([-1, 1])
    below, above = np.poly1d([-1, 2]), np.poly1d([1, 1])
    variance = x * one_less * (below * above + others * (one_less * above + x * below))
    roots = ((auc - x) ** 2 * n1 * n0 * below * above - z**2 * variance).roots
    real = sorted(root.real for root in roots if abs(root.imag) < 1e-9 and -1e-9 <= root.real <= 1 + 1e-9)
    low, high = newcombe(np.array([auc]), np.array([[n0, n1]], dtype=float), 0.95)
    assert low[0] == pytest.approx(real[0], abs=1e-9)
    assert high[0] == pytest.approx(real[-1], abs=1e-9)


def test_the_report_has_limits_beside_its_ranking_metrics():
    rows = log(3000, groups=3).with_columns(other=-pl.col("score") / 2)
    metrics = ["auc_roc", "average_precision", "ks"]
    options = {"by": "group", "metrics": metrics, "score_type": "log_odds", "interval": 0.9, "prior": 0.1}
    found = rows.ec.report(["score", "other"], "label", total=True, **options)
    ends = ["", "_error", "_ci_low", "_ci_high"]
    named = [*metrics[:2], "average_precision_at_prior", "ks"]
    assert [c for c in found.columns if c.startswith(tuple(metrics))] == [
        f"{name}{end}" for name in named for end in ends
    ]
    lazy = rows.lazy().ec.report(["score", "other"], "label", total=True, **options)
    assert_frame_equal(lazy.collect(), found)
    whole = rows.ec.report("score", "label", **{**options, "by": ()})
    columns = [f"{name}{end}" for name in named for end in ends]
    assert_frame_equal(found.filter(score="score").tail(1).select(columns), whole.select(columns))
    for name in ("auc_roc", "ks"):
        expected = limits(rows, [name], level=0.9)
        of_score = found.filter(pl.col("score") == "score", ~pl.col("total"))
        assert of_score[f"{name}_ci_low"].to_list() == pytest.approx(expected[f"{name}_ci_low"].to_list(), rel=1e-3)


@pytest.mark.quick("weight")
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_report_of_clusters_is_that_of_their_buckets(weight):
    rows = log(4000, groups=2, seed=4)
    options = {
        "by": "group",
        "metrics": ["auc_roc", "eer"],
        "score_type": "log_odds",
        "interval": 0.95,
        "weight": weight,
    }
    found = rows.ec.report("score", "label", cluster="user", total=True, **options)
    expected = limits(rows, ["auc_roc", "eer"], weighted=weight is not None, buckets=100, resolution=8)
    # The thresholds of the report cut a bin in two.
    for name in ("auc_roc_ci_low", "auc_roc_ci_high"):
        assert found[name].head(2).to_list() == pytest.approx(expected[name].to_list(), abs=3e-3)
    whole = rows.ec.report("score", "label", cluster="user", **{**options, "by": ()})
    columns = [c for c in whole.columns if c.startswith(("auc_roc", "eer"))]
    assert_frame_equal(found.tail(1).select(columns), whole.select(columns))


@pytest.mark.quick("options3")
@pytest.mark.parametrize(
    "options",
    mostly_slow(
        [{}, {"cluster": "user"}, {"weight": "weight"}, {"cluster": "user", "weight": "weight"}],
        [{}, {"cluster": "user", "weight": "weight"}],
    ),
)
def test_the_sketch_has_the_limits_of_the_report(options):
    rows = log(3000, groups=3)
    given = {"by": "group", "score_type": "log_odds", **options}
    report = rows.ec.report("score", "label", metrics=RANKING_METRICS, interval=0.95, **given)
    sketch = rows.ec.sketch("score", "label", costs=None, **given)
    columns = ["group", *(f"{name}{end}" for name in RANKING_METRICS for end in ("", "_ci_low", "_ci_high"))]
    found = sketch.evaluate(*RANKING_METRICS, interval=0.95).sort("group")
    assert_frame_equal(found.select(columns), report.select(columns), rel_tol=1e-12)
    parts = [rows.filter(group=g).ec.sketch("score", "label", costs=None, **given) for g in range(3)]
    whole = ec.merge(parts).group_by().evaluate("auc_roc", "eer", interval=0.95)
    at_once = rows.ec.sketch("score", "label", costs=None, **{**given, "by": ()})
    assert_frame_equal(whole, at_once.evaluate("auc_roc", "eer", interval=0.95), rel_tol=1e-12)


@pytest.mark.parametrize(("positives", "known"), [(29, False), (30, True)])
def test_points_of_a_curve_of_few_rows_have_no_limits(positives: int, known: bool) -> None:
    """EER, KS and min_cllr of fewer than 30 rows of a class; areas have theirs, and so have costs over all thresholds."""
    rng = np.random.default_rng(4)
    y = np.arange(400) < positives
    log = pl.DataFrame({"y": y, "p": 1 / (1 + np.exp(-rng.normal(1.5 * y - 1, 1))), "user": np.arange(400) % 100})
    few, others = ("eer", "ks", "min_cllr"), ("auc_roc", "average_precision", "min_dcf")
    for cluster in (None, "user"):
        report = log.ec.report("p", "y", metrics=[*few, *others], interval=0.95, cluster=cluster)
        sketch = log.ec.sketch("p", "y", cluster=cluster).evaluate(*few, *others, interval=0.95)
        for table in (report, sketch):
            assert {table[f"{name}_ci_low"].item() is not None for name in few} == {known}
            assert all(table[f"{name}_ci_low"].item() is not None for name in others)
