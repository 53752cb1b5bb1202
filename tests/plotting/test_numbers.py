"""Charts carry their numbers: areas in legends, the best threshold as a mark, and a diagram for each of many groups."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from tests.support.curves import EXACT, GROUPS, LOG, layers, plot, rows_of


@pytest.mark.slow
def test_more_than_four_groups_have_a_reliability_diagram_each() -> None:
    chart = plot("reliability", GROUPS.ec.sketch("p", "y", by="g"), interval=0.9)
    titles = [diagram.vconcat[0].title.text for diagram in chart.concat]
    assert len(titles) == 7
    assert titles[-1] == f"other {GROUPS['g'].n_unique() - 6}"
    assert chart.title.subtitle[0] == "8,000 rows"
    bars = [rows_of(diagram, "bar") for diagram in chart.concat]
    assert sum(bar["n"].sum() for bar in bars) == GROUPS.height
    for name, diagram in zip(titles[:-1], chart.concat, strict=False):
        own = GROUPS.filter(g=int(name)).ec.sketch("p", "y").reliability(calibrator="pav", interval=0.9)
        drawn = rows_of(diagram, "point").select("n", "x", "y", "low", "high", "calibrated")
        assert drawn.rows() == [pytest.approx(row) for row in own.drop("bin", "weight").rows()]


def test_the_legend_of_roc_curves_has_the_areas() -> None:
    sketch = GROUPS.filter(pl.col("g") < 3).ec.sketch("p", "y", by="g", exact=True)
    chart = plot("roc", sketch)
    legend = next(spec["encoding"]["color"] for spec, _ in layers(chart.to_dict()) if "color" in spec["encoding"])
    labels = json.loads(legend["legend"]["labelExpr"].removesuffix("[datum.label]"))
    assert legend["legend"]["title"] == "AUC, g"
    assert legend["scale"]["domain"] == [*labels]
    areas = sketch.evaluate("auc_roc", interval=0.95)
    for g, low, high in areas.select("g", "auc_roc_ci_low", "auc_roc_ci_high").rows():
        area = roc_auc_score(*GROUPS.filter(g=g).select("y", "p").get_columns())
        assert labels[str(g)] == f"{area:.3f} [{low:.3f}, {high:.3f}] {g}"
    assert plot("roc", EXACT, interval=None).title.subtitle == [
        "600 rows",
        f"AUC {roc_auc_score(LOG['y'], LOG['p']):.3f}",
    ]


@pytest.mark.parametrize(("metric", "word"), [("nec", "cheapest"), ("f1", "best"), ("error_rate", "best")])
def test_a_cost_curve_marks_the_best_threshold(metric: str, word: str) -> None:
    texts = [
        row["text"]
        for spec, data in layers(plot("cost_curve", EXACT, metric).to_dict())
        for row in data
        if "text" in row
    ]
    best, _ = EXACT.best_threshold(metric).row(0)
    assert f"{word} {best:.4g}" in texts
    assert any(text.startswith("Bayes") for text in texts)
    of_groups = plot("cost_curve", GROUPS.filter(pl.col("g") < 3).ec.sketch("p", "y", by="g"), metric).to_dict()
    assert not any(row.get("text", "").startswith(word) for _, data in layers(of_groups) for row in data)


def test_there_is_no_best_threshold_where_all_cases_are_decided_alike() -> None:
    log = pl.DataFrame({"x": [-math.inf] * 300 + [0.0, 1.0] * 20, "y": [True] * 280 + [False] * 60})
    of_log_odds = log.ec.sketch("x", "y", score_type="log_odds", cost_fn=50)
    for chart in (plot("cost_curve", EXACT, "recall"), plot("cost_curve", of_log_odds)):
        texts = [row["text"] for _, data in layers(chart.to_dict()) for row in data if "text" in row]
        assert not any(text.startswith(("best", "cheapest")) for text in texts)


TREND = LOG.with_columns(month=pl.int_range(pl.len()) % 3, q=pl.col("p").sqrt())


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (None, "at the reference prior"),
        (0.02, "at prior 0.02"),
        (1 / 3, "at prior 0.3333"),
        ("uniform", "at prior 0.5"),
        ("overall", "at the prior of the whole log"),
        ([0.8, 0.2], "at the stated prior"),
    ],
)
def test_a_trend_names_its_reference_prior(prior: Any, words: str) -> None:
    report = TREND.ec.report("p", "y", by="month", prior=0.2 if prior is None else prior)
    chart = ec.plot.trend(report, "nec_at_prior", x="month", prior=prior)
    assert chart.title.text == f"Normalised expected cost (NEC) {words}"
    spec = chart.to_dict()
    assert f"Normalised expected cost (NEC) {words}" in {
        layer["encoding"]["y"].get("title") for layer in spec["layer"] if "y" in layer["encoding"]
    }
    assert chart.data["y"].to_list() == report["nec_at_prior"].to_list()
    two = ec.plot.trend(report, ["precision", "precision_at_prior"], x="month", prior=prior)
    assert (two.title.text, two.data["measure"].unique(maintain_order=True).to_list()) == (
        "Precision",
        ["Precision", f"Precision {words}"],
    )


def test_a_prior_at_which_no_metric_is() -> None:
    report = TREND.ec.report("p", "y", by="month", prior=0.2)
    with pytest.raises(
        ValueError, match=r"prior=0.2 names the reference prior, and no metric is at it: pass metric='nec_at_prior'"
    ):
        ec.plot.trend(report, "nec", x="month", prior=0.2)
    with pytest.raises(ValueError, match=r"prior=1\.2"):
        ec.plot.trend(report, "nec_at_prior", x="month", prior=1.2)


def test_titles_name_the_one_model() -> None:
    report = TREND.ec.report(["p", "q"], "y", by="month")
    assert ec.plot.trend(report, "nec", x="month").title.text == "Normalised expected cost (NEC)"
    of_q = report.filter(score="q")
    assert ec.plot.trend(of_q, "nec", x="month").title.text == "Normalised expected cost (NEC) of q"
    forest = ec.plot.forest(of_q, "nec")
    assert forest.title.text == "Normalised expected cost (NEC) of q"
    assert set(forest.data["group"]) == {"0", "1", "2"}
    assert ec.plot.forest(TREND.ec.report(["p", "q"], "y").filter(score="q"), "nec").data["group"].to_list() == ["q"]
    drift = TREND.ec.drift(["p", "q"], "y", period="month", metrics=["nec"])
    assert ec.plot.drift(drift).title.text == "Change of Normalised expected cost (NEC)"
    assert ec.plot.drift(drift.filter(model="p")).title.text == "Change of Normalised expected cost (NEC) of p"
    of_sketch = TREND.ec.sketch("p", "y", by="month").drift("nec", period="month")
    assert ec.plot.drift(of_sketch).title.text == "Change of Normalised expected cost (NEC)"
    compared = TREND.ec.compare(["p", "q"], "y", metrics=["nec"], by="month")
    assert ec.plot.compare(compared).title.text == "Normalised expected cost (NEC) of q"
    models = ec.plot.compare(TREND.ec.compare(["p", "q"], "y", metrics=["nec"]))
    assert (models.title.text, models.data["group"].to_list()) == ("Normalised expected cost (NEC)", ["q"])
