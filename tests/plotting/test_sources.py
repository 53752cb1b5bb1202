"""Charts from a log, and from arrays: each is the chart of the sketch of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from tests.support.curves import LOG, plot

ROWS = LOG.with_columns(
    g=pl.col("g").cast(pl.String) + pl.Series([*"ab"] * 300),
    w=pl.int_range(pl.len()) % 3 + 1.0,
    user=pl.int_range(pl.len()) // 4,
    late=pl.when(pl.col("y") == 1).then(pl.lit("yes")).otherwise(pl.lit("no")),
)
LLR = {"score_type": "llr"}
CASES = {
    "roc": ("p", {}, (), {"interval": 0.9}),
    "det": ("p", {"cluster": "user", "buckets": 20}, (), {}),
    "pr": ("p", {"weight": "w"}, (), {"prior": 0.1}),
    "prg": ("p", {}, (), {}),
    "tippett": ("llr", LLR, (), {}),
    "bayes_error": ("llr", LLR, ([-1.0, 0.0, 1.0],), {}),
    "bayes_risk": ("p", {}, (), {}),
    "reliability": ("p", {}, (), {"calibrator": None}),
    "cost_curve": ("p", {}, ("nec", "f1"), {}),
}


def without_model(chart: Any, model: str) -> Any:
    """The chart as text, with titles that name no model."""
    return chart.to_json().replace(f" of {model}", "")


@pytest.mark.quick("tippett-None", "pr-g", "reliability-None")
@pytest.mark.parametrize(("name", "by"), [(name, by) for name in CASES for by in (None, "g")])
def test_it_is_the_chart_of_the_sketch(name: str, by: str | None) -> None:
    score, reading, more, keywords = CASES[name]
    options = reading if by is None else {**reading, "by": by}
    expected = plot(name, ROWS.ec.sketch(score, "y", **options), *more, **keywords)
    chart = plot(name, ROWS, score, "y", *more, **options, **keywords)
    assert f" of {score}" in chart.to_json()
    assert without_model(chart, score) == expected.to_json()
    columns = {
        option: ROWS[column] if option in ("weight", "cluster", "by") else column for option, column in options.items()
    }
    of_values = plot(name, ROWS[score].to_numpy(), ROWS["y"].to_list(), *more, **columns, **keywords)
    titled = {"AUC, g": "AUC, group", '"title": "g"': '"title": "group"'}
    text = expected.to_json()
    for title, of_group in titled.items():
        text = text.replace(title, of_group)
    assert of_values.to_json() == text


def test_the_area_is_that_of_the_arrays() -> None:
    area = roc_auc_score(LOG["y"], LOG["p"])
    chart = plot("roc", LOG["p"].to_numpy(), LOG["y"].to_numpy(), interval=None)
    assert (chart.title.text, chart.title.subtitle) == ("ROC curve", ["600 rows", f"AUC {area:.3f}"])


P, Y = LOG["p"], LOG["y"]
PAIRS = {
    "series": (P, Y),
    "lists": (P.to_list(), Y.to_list()),
    "tuple and Booleans": (tuple(P), (Y == 1).to_numpy()),
    "pandas": (pd.Series(P.to_numpy()), pd.Series(Y.to_numpy())),
    "pandas with an index called columns": (pd.Series(P.to_numpy(), index=["columns", *range(599)]), Y),
    "arrow": (P.to_arrow(), pa.chunked_array([Y.to_arrow()])),
    "by name": (LOG.lazy(), {"score": "p", "label": pl.col("y") == 1}),
    "frame of pandas": (pd.DataFrame(LOG.to_dict(as_series=False)), "p", "y"),
    "frame of arrow": (LOG.to_arrow(), "p", "y"),
    "labels by name": (P, {"label": Y}),
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", PAIRS.values(), ids=PAIRS)
def test_any_table_and_any_array(rows: tuple[Any, ...]) -> None:
    arguments, keywords = (rows[:1], rows[1]) if isinstance(rows[1], dict) else (rows, {})
    found = ec.plot.bayes_risk(*arguments, **keywords)
    assert without_model(found, "p") == plot("bayes_risk", LOG.ec.sketch("p", "y")).to_json()


def test_missing_values_and_labels_of_text() -> None:
    late = ROWS.with_columns(p=pl.when(pl.col("user") > 3).then("p"))
    expected = plot("pr", late.ec.sketch("p", "y")).to_json()
    assert "584 rows" in expected
    assert without_model(plot("pr", late, "p", "late", pos_label="yes"), "p") == expected
    with_nan = pd.Series(late["p"].to_numpy())
    assert plot("pr", with_nan, late["late"], classes=["no", "yes"]).to_json() == expected


def test_the_costs_are_those_of_the_sketch() -> None:
    """So that the cost at their threshold is exact, by which the worst of many groups are found."""
    many = pl.concat([ROWS.with_columns(g=pl.lit(f"{i}")).head(600 - 20 * i) for i in range(8)])
    expected = plot("cost_curve", many.ec.sketch("p", "y", by="g", cost_fn=5))
    assert without_model(plot("cost_curve", many, "p", "y", by="g", cost_fn=5), "p") == expected.to_json()


@pytest.mark.slow
def test_several_models_and_classes() -> None:
    log = ROWS.with_columns(q=pl.col("p").sqrt())
    both = plot("roc", log, ["p", "q"], "y")
    assert both.to_json() == plot("roc", log.ec.sketch(["p", "q"], "y")).to_json()
    assert both.title.text == "ROC curve"
    of_q = plot("roc", log.ec.sketch(["p", "q"], "y", by="g").filter(pl.col("score") == "q"))
    assert of_q.title.text == "ROC curve of q"
    assert without_model(of_q, "q") == plot("roc", log.ec.sketch("q", "y", by="g")).to_json()
    three = np.column_stack([P / 2, P / 2, 1 - P])
    labels = np.where(Y == 1, np.arange(600) % 2, 2)
    frame = pl.DataFrame({"q": three, "y": labels})
    assert plot("roc", three, labels).to_json() == plot("roc", frame.ec.sketch("q", "y")).to_json()


def test_names_of_models_are_short_and_plain() -> None:
    log = LOG.select(pl.col("p").alias("m\n" + "x" * 99), "y")
    assert (
        plot("reliability", log, log.columns[0], "y").vconcat[0].title.text
        == "Reliability diagram of m\ufffd" + "x" * 57 + "…"
    )


def test_none_is_as_if_left_out() -> None:
    expected = plot("prg", SKETCH).to_json()
    assert plot("prg", SKETCH, score=None, label=None, weight=None, cluster=None).to_json() == expected
    assert plot("prg", P, Y, weight=None, cluster=None).to_json() == expected


SKETCH = LOG.ec.sketch("p", "y")
WRONG = {
    "no columns": (
        "roc",
        (LOG,),
        {},
        r"first argument is a log \(DataFrame\), and score= is missing: pass roc\(log, 'score'",
    ),
    "no label": ("roc", (LOG, "p"), {}, "and label= is missing"),
    "no labels": ("pr", (P,), {}, r"holds scores, and labels are missing: pass pr\(scores, labels\)"),
    "names first": ("roc", ("p", "y"), {}, "first argument is 'p', and the rows come first"),
    "label by name": ("roc", (P, "y"), {}, r"holds scores \(Series\), but label='y' holds no values"),
    "group by name": ("roc", (P, Y), {"by": "g"}, "but by='g' holds no values"),
    "score beside scores": ("roc", (P,), {"score": "p", "label": Y}, "first argument holds scores: leave score= out"),
    "values beside a log": ("roc", (LOG, "p", Y), {}, r"is a log \(DataFrame\), but label= holds values \(Series\)"),
    "labels beside a frame of scores": ("roc", (LOG.select("p"), Y), {}, r"but score= holds values \(Series\)"),
    "weights beside a log": ("roc", (LOG, "p", "y"), {"weight": P}, r"but weight= holds values \(Series\)"),
    "a sketch and columns": ("roc", (SKETCH, "p", "y"), {}, "'p' describes rows, and the first argument is a sketch"),
    "a sketch and groups": ("roc", (SKETCH,), {"by": "g"}, "by='g' describes rows"),
    "a sketch and a score": ("bayes_error", (SKETCH, "p"), {}, "'p' describes rows"),
    "one more": ("roc", (P, Y, Y), {}, r"takes no further argument by position \(Series\)"),
    "no table": ("roc", (3, "p", "y"), {}, "int, which is not a table"),
    "unknown": ("roc", (LOG, "p", "y"), {"intervall": 0.9}, "no keyword intervall=: did you mean interval"),
}


@pytest.mark.parametrize(("name", "rows", "keywords", "error"), WRONG.values(), ids=WRONG)
def test_errors(name: str, rows: tuple[Any, ...], keywords: dict[str, Any], error: str) -> None:
    with pytest.raises(TypeError, match=error):
        plot(name, *rows, **keywords)


def test_lengths_and_orders_that_differ() -> None:
    with pytest.raises(ValueError, match="score= holds 600 and label= holds 2"):
        ec.plot.roc(P, Y.head(2))
    reversed_labels = pd.Series(Y.to_numpy())[::-1]
    with pytest.raises(ValueError, match="same index in different orders"):
        ec.plot.roc(pd.Series(P.to_numpy()), reversed_labels)
