"""Charts carry their numbers: areas in legends, the best threshold as a mark, and a diagram for each of many groups."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from tests.support.curves import EXACT, GROUPS, LOG, layers, plot, rows_of


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
