"""Subgroups: selection rates, the gap between the extreme groups, and a metric for which neither direction is better."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import direction, lower_is_better, verdict, worst
from tests.support.doors import QUICK_DOORS, evaluate

GAP = ["difference", "difference_ci_low", "difference_ci_high"]
RATES = ["decision_share", "recall", "fpr"]


def log_of(rng: np.random.Generator, rows: int, groups: int, *, base_rates: np.ndarray | float = 0.3) -> pl.DataFrame:
    """Groups whose scores are as good; their base rates differ if more than one is given."""
    group = rng.integers(0, groups, rows)
    y = rng.random(rows) < np.broadcast_to(base_rates, groups)[group]
    odds = np.exp(np.where(y, 1.5, -1.5) + 1.5 * rng.standard_normal(rows)) * 3 / 7
    return pl.DataFrame({"g": group, "y": y, "p": odds / (1 + odds), "w": rng.integers(1, 4, rows).astype(float)})


LOG = log_of(np.random.default_rng(5), 3_000, 5, base_rates=np.linspace(0.1, 0.5, 5))


def by_group(log: pl.DataFrame) -> dict[str, np.ndarray]:
    """The frame of rates as fairlearn's formulas have it: means of the decision over all rows, positives and negatives."""
    y, d, w = log["y"].to_numpy(), log["p"].to_numpy() > 0.5, log["w"].to_numpy()
    rows = [log["g"].to_numpy() == g for g in log["g"].unique().sort()]
    return {
        name: np.array([np.average(d[of & kept], weights=w[of & kept]) for of in rows])
        for name, kept in (("decision_share", y | ~y), ("recall", y), ("fpr", ~y))
    }


# Selection rates in every interface ----------------------------------------------------------------------------------


@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.slow
def test_the_positive_decision_is_the_default(door: str) -> None:
    log = pl.DataFrame({"score": [0.9, 0.4, 0.7, 0.1, 0.2], "label": [1, 1, 0, 0, 0]})
    assert evaluate(door, "decision_share", log) == pytest.approx(0.4)
    assert evaluate(door, "decision_share", log, prior=0.5) == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert evaluate(door, "decision_share", log.with_columns(pl.lit(None, pl.Int64).alias("label"))) is None
    with pytest.raises(Exception, match=r"there are 3 decisions: pass decision=|must be the index of one"):
        evaluate(door, "decision_share", log, costs=ec.CostMatrix.zero_one(2, abstain=0.25))


def test_rates_of_groups_are_fairlearns() -> None:
    expected = by_group(LOG)
    report = LOG.ec.report("p", "y", by="g", metrics=RATES, weight="w", threshold=0.5)
    cells = LOG.ec.sketch("p", "y", by="g", weight="w", thresholds=[0.5])
    for table in (report, cells.evaluate(*RATES, threshold=0.5).sort("g")):
        for name in RATES:
            assert table[name].to_list() == pytest.approx(expected[name].tolist(), rel=1e-12)
    compared = LOG.ec.compare("p", "y", by="g", metrics=RATES, weight="w", threshold=0.5, reference="highest")
    gaps = compared.group_by("metric").agg(pl.col("difference").min())
    for name, gap in gaps.rows():
        assert -gap == pytest.approx(np.ptp(expected[name]), rel=1e-12)
    total = LOG.ec.compare("p", "y", by="g", metrics=["decision_share"], weight="w", threshold=0.5, reference="total")
    overall = np.average(LOG["p"].to_numpy() > 0.5, weights=LOG["w"].to_numpy())
    assert total["difference"].to_list() == pytest.approx((expected["decision_share"] - overall).tolist(), abs=1e-12)


def test_at_a_common_prior_groups_with_the_same_rates_are_selected_alike() -> None:
    # Rates of 0.5 and 0.25 in both groups, whose base rates are 2/6 and 4/8.
    rows = {"a": ((1, 1), (1, 3)), "b": ((2, 2), (1, 3))}
    log = pl.DataFrame(
        [
            (group, positive, decided)
            for group, (of_positives, of_negatives) in rows.items()
            for positive, (hits, others) in ((True, of_positives), (False, of_negatives))
            for decided in [True] * hits + [False] * others
        ],
        schema=["g", "y", "d"],
        orient="row",
    )
    report = log.ec.report("d", "y", by="g", score_type="decision", metrics=["decision_share"], prior=0.4)
    assert report["decision_share"].to_list() == pytest.approx([2 / 6, 3 / 8])
    assert report["decision_share_at_prior"].to_list() == pytest.approx([0.4 * 0.5 + 0.6 * 0.25] * 2)


def test_shares_of_each_class_of_several() -> None:
    rng = np.random.default_rng(2)
    log = pl.DataFrame({"d": rng.integers(0, 3, 60), "y": rng.integers(0, 3, 60)})
    options: dict[str, Any] = {"score_type": "decision", "costs": ec.CostMatrix.zero_one(3)}
    table = log.ec.report("d", "y", per_class=True, metrics=["decision_share"], **options)
    assert table["decision_share"].to_list() == pytest.approx([(log["d"] == k).mean() for k in range(3)])
    refused: Any = {"metrics": ["decision_share"], **options}
    for call in (log.ec.report, lambda d, y, **rest: log.with_columns(e=d).ec.compare([d, "e"], y, **rest)):
        with pytest.raises(ValueError, match="'decision_share', which is for two decisions: use group_by") as error:
            call("d", "y", **refused)
        # The advice is a call that works.
        advised = str(error.value).split(".agg")[1].replace("...", "'d', 'y', **options")
        assert log.select(eval(advised, {"ec": ec, "options": options})).item() == pytest.approx((log["d"] == 0).mean())


def test_rows_without_a_label_can_be_counted() -> None:
    log = LOG.with_columns(y=pl.when(pl.int_range(pl.len()) % 3 > 0).then("y"))
    assert log.select(ec.decision_share("p", pl.lit(value=False))).item() == pytest.approx((LOG["p"] > 0.5).mean())


# The gap between the extremes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", [None, pytest.param("row", marks=pytest.mark.slow)])
def test_highest_and_lowest_are_the_best_by_either_direction(cluster: str | None) -> None:
    log = LOG.with_row_index("row")
    sketch = log.ec.sketch("p", "y", by="g", cluster=cluster) if cluster else log.ec.sketch("p", "y", by="g")
    call: dict[str, Any] = {"by": "g", "metrics": ["recall", "error_rate", "auc_roc"], "cluster": cluster}
    for reference, better in (("highest", "higher"), ("lowest", "lower")):
        found, best = (log.ec.compare("p", "y", **call | {"reference": of}) for of in (reference, "best"))
        same = [name for name in call["metrics"] if direction(name) == better]
        assert same
        assert_frame_equal(*(table.filter(pl.col("metric").is_in(same)) for table in (found, best)))
        other = found.filter(~pl.col("metric").is_in(same))
        assert (other["difference"] * (1 if reference == "lowest" else -1) >= 0).all()
        of_sketch = sketch.compare(*call["metrics"], reference=reference)
        assert of_sketch["difference"].to_list() == pytest.approx(found["difference"].to_list(), abs=2e-3)
        assert of_sketch["reference"].to_list() == found["reference"].to_list()


def test_a_small_highest_group_hides_no_difference_from_the_intervals() -> None:
    """Group 2 is the highest by few rows, so its p-value says nothing. Group 1 is surely higher than group 0, so the adjusted one does."""
    rows = np.repeat([0, 1, 2], [2_000, 2_000, 12])
    place = np.concatenate([np.arange(2_000), np.arange(2_000), np.arange(12)])
    decided = place % 20 < np.array([6, 8, 5])[rows]
    log = pl.DataFrame({"g": rows, "p": np.where(decided, 0.9, 0.1), "y": place % 2 == 0})
    low = log.ec.compare("p", "y", by="g", metrics=["decision_share"], reference="highest").row(0, named=True)
    assert low["reference"] == "2"
    assert low["p_value"] > 0.3
    assert low["difference_ci_high"] < 0
    of_pair = log.ec.compare("p", "y", by="g", metrics=["decision_share"], reference=1).row(0, named=True)
    assert low["p_adjusted"] == pytest.approx(3 * of_pair["p_value"], rel=1e-9)


def test_bounds_of_selection_rates_are_those_of_means() -> None:
    """Two groups are one pair, so the interval is the usual one of a difference, with half a row in each cell."""
    log = LOG.filter(pl.col("g") < 2)
    found = log.ec.compare("p", "y", by="g", metrics=["decision_share"], reference="lowest").row(1, named=True)
    d, g = log["p"].to_numpy() > 0.5, log["g"].to_numpy()
    variance = sum(d[g == i].var(ddof=1) / (g == i).sum() for i in (0, 1))
    assert found["difference"] == pytest.approx(d[g == 1].mean() - d[g == 0].mean(), rel=1e-12)
    assert (found["difference_ci_high"] - found["difference"]) / 1.962 == pytest.approx(np.sqrt(variance), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "rows"), [(40, 150), (6, 150), (10, 100)])
def test_the_interval_of_the_gap_of_equal_groups_contains_0(groups: int, rows: int) -> None:
    rng = np.random.default_rng(groups + rows)
    n_logs = 100
    gaps = []
    for _ in range(n_logs):
        log = log_of(rng, groups * rows, 1).with_columns(g=pl.int_range(pl.len()) % groups)
        compared = log.ec.compare("p", "y", by="g", metrics=["decision_share"], reference="highest")
        gaps.append(compared.select(pl.col(GAP).min()).row(0))
    plain, low, high = np.array(gaps).T
    # The plain gap is never 0, and larger the more groups there are.
    assert plain.mean() < -0.06
    assert (low < plain).all()
    assert (high == 0).mean() > 0.95 - 3 * np.sqrt(0.05 * 0.95 / n_logs)


# Ratios --------------------------------------------------------------------------------------------------------------

RATIO = ["ratio", "ratio_ci_low", "ratio_ci_high"]
DECIDED: dict[str, Any] = {"score_type": "decision", "by": "g"}


def decisions_of(groups: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Positives by group, of which so many are decided positive and so many negative, and two negatives, each decided once."""
    rows = [
        (g, True, d)
        for g, counts in groups.items()
        for d, n in zip((True, False), counts, strict=True)
        for _ in range(n)
    ]
    rows += [(g, False, d) for g in groups for d in (True, False)]
    return pl.DataFrame(rows, schema=["g", "y", "d"], orient="row")


def test_ratios_are_fairlearns() -> None:
    """As MetricFrame.ratio has them, between groups and to the overall value, and demographic_parity_ratio."""
    expected = by_group(LOG)
    call: dict[str, Any] = {"by": "g", "metrics": RATES, "weight": "w", "threshold": 0.5}
    cells = LOG.ec.sketch("p", "y", by="g", weight="w", thresholds=[0.5])
    tables = [LOG.ec.compare("p", "y", reference="highest", **call)]
    tables += [cells.compare(*RATES, threshold=0.5, reference="highest")]
    for table in tables:
        for name, ratio in table.group_by("metric").agg(pl.col("ratio").min()).rows():
            assert ratio == pytest.approx(expected[name].min() / expected[name].max(), rel=1e-12)
    assert_frame_equal(*(table.sort("g", "metric").select("g", "metric", *RATIO) for table in tables), rel_tol=1e-9)
    overall = np.average(LOG["p"].to_numpy() > 0.5, weights=LOG["w"].to_numpy())
    total = LOG.ec.compare("p", "y", reference="total", **call | {"metrics": ["decision_share"]})
    assert total["ratio"].to_list() == pytest.approx((expected["decision_share"] / overall).tolist(), rel=1e-12)


def log_variance(hits: int, others: int) -> tuple[float, int]:
    """The variance of the logarithm of a rate, with half a row more of each kind; and its degrees of freedom."""
    df = hits + others
    p = (hits + 0.5) / (df + 1)
    return p * (1 - p) / df / (hits / df or p) ** 2, df


@pytest.mark.parametrize("counts", [(40, 60), (3, 27), (0, 50), (30, 0)])
def test_the_bounds_of_a_ratio_are_of_the_difference_of_logarithms(counts: tuple[int, int]) -> None:
    """Katz's interval of a ratio of rates, in plain NumPy; a rate of 0 has one about the rate with half a row."""
    hits, n = counts[0], sum(counts)
    log = decisions_of({"a": (25, 50), "b": counts})
    found = log.ec.compare("d", "y", metrics=["recall"], reference="a", **DECIDED)
    (variance, df), (other, of_other) = log_variance(*counts), log_variance(25, 50)
    half = (
        stats.t.ppf(0.975, (variance + other) ** 2 / (variance**2 / df + other**2 / of_other))
        * (variance + other) ** 0.5
    )
    ratio, centre = hits / n * 3, (hits / n or 0.5 / (n + 1)) * 3
    expected = [ratio, min(centre * np.exp(-half), ratio), centre * np.exp(half)]
    assert found.select(RATIO).row(0) == pytest.approx(expected, rel=1e-9)
    # With two groups, all others are the other one, and there is one pair.
    for reference in ("rest", "highest" if ratio < 1 else "lowest"):
        same = log.ec.compare("d", "y", metrics=["recall"], reference=reference, **DECIDED).filter(g="b")
        end = min(expected[2], 1.0) if reference == "highest" else expected[2]
        low = max(expected[1], 1.0) if reference == "lowest" else expected[1]
        assert same.select(RATIO).row(0) == pytest.approx([ratio, low, end], rel=1e-9)


@pytest.mark.parametrize("clusters", [{}, {"cluster": "row", "buckets": 1000}])
def test_the_bounds_of_the_ratio_to_the_total_know_the_shared_rows(clusters: dict[str, Any]) -> None:
    log = LOG.filter("y").with_row_index("row")
    d, g = log["p"].to_numpy() > 0.3, log["g"].to_numpy()
    log = pl.concat([log, log.with_columns(y=pl.lit(value=False))])
    call: dict[str, Any] = {"by": "g", "metrics": ["recall"], "threshold": 0.3, "reference": "total", **clusters}
    for of, low, high in log.ec.compare("p", "y", **call).select("g", "ratio_ci_low", "ratio_ci_high").rows():
        influence = np.where(g == of, (d / d[g == of].mean() - 1) / (g == of).sum(), 0.0) - (d / d.mean() - 1) / len(d)
        assert np.log(high / low) / 2 / 1.97 == pytest.approx(np.sqrt((influence**2).sum()), rel=0.06)


def test_where_there_is_no_ratio() -> None:
    log = decisions_of({"a": (5, 15), "b": (0, 20), "c": (15, 5)})
    found = {
        reference: log.ec.compare("d", "y", metrics=["recall", "informedness"], reference=reference, **DECIDED)
        for reference in ("highest", "lowest", "b")
    }
    recall, informed = (found["highest"].filter(metric=name).sort("g") for name in ("recall", "informedness"))
    assert recall["ratio"].to_list() == pytest.approx([1 / 3, 0, 1])
    assert recall["ratio_ci_low"].to_list()[1] == 0
    assert recall.select(pl.col(RATIO).null_count()).row(0) == (0, 0, 0)
    # 0.25, 0 and 0.75 less 0.5: bounds for all pairs would need the logarithm of each.
    assert informed["ratio"].to_list() == [None, None, 1]
    assert informed.select(pl.col(RATIO).null_count()).row(0) == (2, 3, 3)
    for reference in ("lowest", "b"):
        assert found[reference].select(pl.col(RATIO).null_count()).row(0) == (found[reference].height,) * 3
    models = log.with_columns(other=~pl.col("d")).ec.compare(["d", "other"], "y", **DECIDED)
    assert not {*RATIO} & {*models.columns}
    with pytest.raises(ValueError, match="by= has a column 'ratio', which is also a column of the comparison"):
        log.ec.compare("d", "y", **DECIDED | {"by": pl.col("g").alias("ratio")}, reference="rest")


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["highest", "lowest"])
def test_simultaneous_bounds_of_ratios_contain_the_true_ones(reference: str) -> None:
    rng, truth, inside = np.random.default_rng(8), np.array([0.2, 0.25, 0.25, 0.4]), []
    ratios = truth / (truth.max() if reference == "highest" else truth.min())
    for _ in range(150):
        group = np.arange(1_200) % 4
        log = pl.DataFrame({"g": group, "y": rng.random(1_200) < 0.5, "d": rng.random(1_200) < truth[group]})
        found = log.ec.compare("d", "y", metrics=["decision_share"], reference=reference, **DECIDED).sort("g")
        low, high = found["ratio_ci_low"].to_numpy(), found["ratio_ci_high"].to_numpy()
        inside.append(((low <= ratios + 1e-12) & (ratios <= high + 1e-12)).all())
    assert np.mean(inside) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "truth"), [(50, (0.5, 0.25)), (200, (0.1, 0.05)), (1_000, (0.02, 0.01)), (40, (0.9, 0.7))]
)
def test_bounds_of_a_ratio_cover(rows: int, truth: tuple[float, float]) -> None:
    rng, n_logs = np.random.default_rng(rows), 800
    group = np.tile(np.repeat([0, 1], rows), n_logs)
    log = pl.DataFrame(
        {"g": group, "y": np.arange(len(group)) % 2 == 0, "d": rng.random(len(group)) < np.array(truth)[group]}
    )
    log = log.with_columns(log=pl.int_range(pl.len()) // (2 * rows))
    call: dict[str, Any] = {"by": ["log", "g"], "metrics": ["decision_share"], "reference": {"g": 0}}
    found = log.ec.compare("d", "y", score_type="decision", **call)
    low, high = found["ratio_ci_low"].to_numpy(), found["ratio_ci_high"].to_numpy()
    assert ((low <= truth[1] / truth[0]) & (truth[1] / truth[0] <= high)).mean() > 0.93


# Neither direction is better -----------------------------------------------------------------------------------------


def test_a_selection_rate_is_neither_better_nor_worse() -> None:
    assert [direction(name) for name in ("decision_share", "decision_share_at_prior", "nec", "recall_at_prior")] == [
        *(None, None),
        *("lower", "higher"),
    ]
    assert not lower_is_better("decision_share")
    assert [verdict("decision_share", by) for by in (0.1, -0.1)] == ["higher", "lower"]
    assert [verdict(name, 0.1) for name in ("recall", "nec", "nce_at_prior")] == ["better", "worse", "worse"]
    assert [worst(name) for name in ("decision_share_at_prior", "nec")] == ["lowest", "worst"]


def test_no_group_and_no_threshold_is_best() -> None:
    sketch = LOG.ec.sketch("p", "y", by="g")
    with pytest.raises(ValueError, match="neither direction is better: pass 'highest' or 'lowest'"):
        LOG.ec.compare("p", "y", by="g", metrics=["recall", "decision_share"], reference="best")
    with pytest.raises(ValueError, match="neither direction is better"):
        sketch.compare("decision_share", reference="best")
    with pytest.raises(SketchError, match="no threshold is best for decision_share"):
        sketch.best_threshold("decision_share")
    with pytest.raises(ValueError, match="did you mean decision_share"):
        LOG.ec.report("p", "y", metrics=["selection_rate"])


def test_tables_and_charts_call_no_selection_rate_better() -> None:
    compared = LOG.ec.compare("p", "y", by="g", metrics=["decision_share"], reference="rest")
    assert (compared["p_adjusted"] < 0.05).any()
    assert "**" not in ec.table(compared)
    assert "**" in ec.table(compared.with_columns(metric=pl.lit("recall")))
    chart = ec.plot.compare(compared)
    assert {"higher", "lower"} <= set(chart.data["verdict"]) <= {"higher", "lower", "not significant"}
    assert "Higher, lower: adjusted p below 0.05" in str(chart.title.to_dict())
    for reference, word in (("highest", "the highest"), ("lowest", "the lowest")):
        chart = ec.plot.compare(LOG.ec.compare("p", "y", by="g", metrics=["decision_share"], reference=reference))
        assert f"reaches 0 may be {word}" in str(chart.title.to_dict())
    best = LOG.ec.compare("p", "y", by="g", metrics=["error_rate"], reference="lowest")
    assert "reaches 0 may be the best" in str(ec.plot.compare(best).title.to_dict())
