"""Murphy diagrams and decision curves: tables against the rows, lines against the tables, differences against `Sketch.compare`."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.cases import mostly_slow
from tests.support.curves import LOG, layers, plot, rows_of

RANDOM = np.random.default_rng(4)
ROWS = LOG.with_columns(
    w=pl.Series(RANDOM.choice([0.5, 1, 3], LOG.height)),
    g=pl.int_range(pl.len()) % 2,
    user=pl.int_range(pl.len()) // 2,
    worse=(pl.col("llr") + pl.Series(RANDOM.normal(size=LOG.height))).ec.posterior(score_type="llr", prior=0.4),
)
NAMES = {"murphy": "elementary_score", "decision_curve": "net_benefit"}
AXIS = {"murphy": "t", "decision_curve": "p_t"}


def of_rows(name: str, rows: pl.DataFrame, t: float, prior: float | None = None) -> float:
    """The formulas of Ehm et al. and of Vickers and Elkin, at one threshold."""
    y, w, decided = rows["y"].to_numpy() == 1, rows["w"].to_numpy(), rows["p"].to_numpy() > t
    share = np.average(y, weights=w) if prior is None else prior
    hits, alarms = share * np.average(decided[y], weights=w[y]), (1 - share) * np.average(decided[~y], weights=w[~y])
    if name == "murphy":
        return float((1 - t) * (share - hits) + t * alarms)
    return float(hits - alarms * t / (1 - t))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("kind", "prior"),
    mostly_slow(
        [*product([{"exact": True}, {}, {"score_type": "log_odds"}], [None, 0.1])], [({"exact": True}, 0.1), ({}, None)]
    ),
)
def test_tables_are_of_the_rows_at_every_edge(name: str, kind: dict[str, Any], prior: float | None) -> None:
    score = pl.col("p").ec.log_odds() if kind.get("score_type") else "p"
    sketch = ROWS.ec.sketch(score, "y", by="g", weight="w", **kind)
    curve = getattr(sketch, name)(prior=prior)
    assert curve.columns == ["g", AXIS[name], NAMES[name], *(["treat_all"] if name == "decision_curve" else [])]
    for (g,), rows in ROWS.group_by("g"):
        points = curve.filter(g=g)
        assert points[AXIS[name]].is_sorted(descending=True)
        assert points[AXIS[name]].is_unique().all()
        for row in points[:: len(points) // 40].to_dicts():
            # An edge of a bin is rounded, and a score on it may be above.
            expected = of_rows(name, rows, row[AXIS[name]], prior)
            assert row[NAMES[name]] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            if name == "decision_curve":
                share = rows["y"].to_numpy() @ rows["w"].to_numpy() / rows["w"].sum() if prior is None else prior
                odds = row["p_t"] / (1 - row["p_t"])
                assert row["treat_all"] == pytest.approx(share - (1 - share) * odds, rel=1e-9, abs=1e-12)


def test_the_area_below_a_murphy_diagram_is_half_the_brier_score() -> None:
    drawn = rows_of(plot("murphy", ROWS.ec.sketch("p", "y", exact=True), interval=None), "line")
    brier = ROWS.select(ec.brier("p", "y")).item()
    assert np.trapezoid(drawn["y"], drawn["x"]) == pytest.approx(brier / 2, rel=1e-3)
    t, score = ROWS.ec.sketch("p", "y", exact=True).murphy().sort("t")
    inner = (t > 0) & (t < 1)
    assert np.trapezoid(score, t) == pytest.approx(brier / 2, rel=1e-2)
    risk = ROWS.ec.sketch("p", "y", exact=True).bayes_risk().sort("t")["bayes_risk"]
    assert (score / (t * (1 - t))).filter(inner).to_list() == pytest.approx(risk.filter(inner).to_list())


def test_a_decision_curve_is_the_net_benefit_of_rows_and_normalized_that_of_a_perfect_model() -> None:
    sketch = ROWS.ec.sketch("p", "y", exact=True)
    curve, normalized = sketch.decision_curve(), sketch.decision_curve(normalized=True)
    base_rate = ROWS["y"].mean()
    for row, other in zip(curve[:-2:50].to_dicts(), normalized[:-2:50].to_dicts(), strict=True):
        expected = ROWS.select(ec.net_benefit("p", "y", p_t=row["p_t"])).item()
        assert row["net_benefit"] == pytest.approx(expected, rel=1e-12)
        for name in ("net_benefit", "treat_all"):
            assert other[name] == pytest.approx(row[name] / base_rate, rel=1e-12)
    perfect = pl.DataFrame({"p": [0.0, 1.0, 0.0], "y": [0, 1, 0]}).ec.sketch("p", "y", exact=True)
    assert set(perfect.decision_curve(normalized=True)["net_benefit"]) == {1.0}


@pytest.mark.slow
def test_posteriors_of_0_and_1() -> None:
    log = pl.DataFrame({"p": [0.0, 0.5, 1.0, 1.0], "y": [1, 0, 0, 1]})
    exact = log.ec.sketch("p", "y", exact=True)
    assert exact.murphy().rows() == [(1.0, 0.0), (0.5, pytest.approx(0.25)), (0.0, pytest.approx(0.25))]
    assert exact.decision_curve().rows() == [(0.5, 0.0, 0.0), (0.0, 0.25, 0.5)]
    log_odds = pl.col("p").ec.log_odds()
    for binned in (log.ec.sketch("p", "y"), log.ec.sketch(log_odds, "y", score_type="log_odds")):
        # A row that has posterior 0 is above no threshold.
        assert binned.murphy().row(-1) == (0.0, pytest.approx(0.25))
        assert binned.decision_curve().row(-1) == (0.0, 0.25, 0.5)


@pytest.mark.parametrize("name", NAMES)
def test_bounds_are_those_of_the_metric_at_each_threshold(name: str) -> None:
    sketch = ROWS.ec.sketch("p", "y", exact=True, cluster="user", weight="w")
    curve = getattr(sketch, name)(interval=0.9, prior=0.3)
    metric = "net_benefit" if name == "decision_curve" else "expected_cost"
    for row in curve[5::120].to_dicts():
        t = row[AXIS[name]]
        point = {"p_t": t} if name == "decision_curve" else {"cost_fn": 1 - t, "cost_fp": t, "threshold": t}
        (expected,) = sketch.evaluate(metric, prior=0.3, interval=0.9, **point).to_dicts()
        for end in ("low", "high"):
            found = row[f"{NAMES[name]}_ci_{end}"]
            assert found == pytest.approx(expected[f"{metric}_ci_{end}"], rel=1e-9)


def whole_line(chart) -> pl.DataFrame:
    return rows_of(chart, "line").with_columns(pl.col("x").round(4))


@pytest.mark.quick("murphy-kind0")
@pytest.mark.parametrize("kind", [{"exact": True}, {"thresholds": [0.1, 0.3, 0.5]}])
@pytest.mark.parametrize("name", NAMES)
def test_differences_are_those_of_compare(name: str, kind: dict[str, Any], monkeypatch) -> None:
    monkeypatch.setattr("polars_ec.plot.curves.thin", lambda curve, *_: curve)
    sketch = ROWS.ec.sketch(["p", "worse"], "y", cluster="user", weight="w", **kind)
    for prior in (None, 0.2):
        chart = plot(name, sketch, reference="p", prior=prior, interval=0.9)
        drawn = whole_line(chart)
        assert drawn["group"].unique().to_list() == ["all"]
        assert chart.title.text.endswith(" of worse: difference from p")
        for t in (0.1, 0.3, 0.5):
            point = {"p_t": t} if name == "decision_curve" else {"cost_fn": 1 - t, "cost_fp": t}
            metric = "net_benefit" if name == "decision_curve" else "expected_cost"
            expected = sketch.compare(metric, reference="p", prior=prior, interval=0.9, **point)
            columns = ["difference", "difference_ci_low", "difference_ci_high"]
            found = drawn.filter(x=t).select("y", "low", "high").row(0)
            assert found == pytest.approx(expected.select(columns).row(0), rel=1e-9)
    better = "Above 0" if name == "decision_curve" else "Below 0"
    assert chart.title.subtitle[1:3] == [f"{better}: better than p", "Band: 90% confidence interval of each point"]
    assert "area" not in str(plot(name, sketch, reference="p", interval=None).to_dict()["layer"])


@pytest.mark.slow
def test_groups_are_added_up_in_differences_and_models_apart(monkeypatch) -> None:
    monkeypatch.setattr("polars_ec.plot.curves.thin", lambda curve, *_: curve)
    three = ROWS.with_columns(third=pl.col("p").sqrt())
    drawn, alone = (
        whole_line(plot("murphy", three.ec.sketch(models, "y", by=by, cluster="user"), reference="worse"))
        for models, by in ((["p", "worse", "third"], "g"), (["worse", "third"], []))
    )
    assert drawn["group"].unique(maintain_order=True).to_list() == ["p", "third"]
    found, expected = (of.drop("group").to_numpy() for of in (drawn.filter(group="third"), alone))
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
def test_treating_all_is_one_dashed_line_for_models_and_one_each_for_groups() -> None:
    models = plot("decision_curve", ROWS.ec.sketch(["p", "worse"], "y", cluster="user"))
    lines = [data for spec, data in layers(models.to_dict()) if spec["mark"]["type"] == "line"]
    base_rate = ROWS["y"].mean()
    dashed = next(data for data in lines if "group" not in data[0])
    for row in dashed:
        assert row["y"] == pytest.approx(base_rate - (1 - base_rate) * row["x"] / (1 - row["x"]), abs=1e-12)
        assert row["y"] >= -base_rate / 4 - 1e-12
    groups = ROWS.with_columns(y=pl.when(pl.col("g") == 1).then(pl.lit(1) - pl.col("y")).otherwise("y"))
    dashed = rows_of(plot("decision_curve", groups.ec.sketch("p", "y", by="g")), "line", dashed=True)
    assert dashed["group"].unique().sort().to_list() == ["0", "1"]
    assert f"Cut off at {-base_rate / 4:.4g}" in models.title.subtitle


def test_where_no_case_is_treated_there_is_no_band() -> None:
    drawn = rows_of(plot("decision_curve", ROWS.ec.sketch("p", "y", exact=True)), "line")
    beyond = drawn.filter(pl.col("x") > ROWS["p"].max())
    assert beyond.height
    assert beyond["y"].unique().to_list() == [0.0]
    assert beyond["low"].null_count() == beyond.height
    assert drawn["low"].null_count() < drawn.height / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_has_no_curve_or_no_difference(name: str) -> None:
    sketch = ROWS.ec.sketch(["p", "worse"], "y", cluster="user")
    llrs, single = ROWS.ec.sketch("llr", "y", score_type="llr"), ROWS.ec.sketch("p", "y")
    with pytest.raises(
        SketchError, match=rf"{NAMES[name]} needs posteriors, .* llr scores: pass those of ec\.posterior\("
    ):
        getattr(llrs, name)()
    with pytest.raises(SketchError, match=r"raw scores: pass those of calibrate\(\.\.\.\)\.apply\(score\)$"):
        getattr(ROWS.ec.sketch("p", "y", score_type="raw"), name)()
    for of, message in (
        (sketch, r"reference='q' is not a model of the sketch: the models are \['p', 'worse'\]"),
        (single, "reference='q' is not a model of the sketch: the sketch has one model"),
    ):
        with pytest.raises(SketchError, match=message):
            plot(name, of, reference="q")
    without = ROWS.ec.sketch(["p", "worse"], "y")
    with pytest.raises(SketchError, match="does not know which rows of 'the others' are those of the other model"):
        plot(name, without, reference="p")
    assert plot(name, without, reference="p", interval=None).title.subtitle[0] == "600 rows"
    missing = ROWS.with_columns(worse=pl.when(pl.col("user") > 0).then("worse"))
    with pytest.raises(SketchError, match="'the others' does not have the same rows as 'p'"):
        plot(name, missing.ec.sketch(["p", "worse"], "y", cluster="user"), reference="p")
    wrong = ROWS.with_columns(p=pl.when(pl.col("user") > 0).then("p").otherwise(7.0))
    for reference in ("p", "worse"):
        with pytest.raises(SketchError, match=f"reference='{reference}': it, or every other model, has invalid rows"):
            plot(name, wrong.ec.sketch(["p", "worse"], "y", cluster="user"), reference=reference)
    with pytest.raises(ValueError, match="normalized=True is for the curves"):
        plot("decision_curve", sketch, reference="p", normalized=True)
