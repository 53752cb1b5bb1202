"""Charts of curves: their data are the points of the tables, and lines drawn through them are the curves of the rows, to a pixel."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
import vl_convert
from sklearn.metrics import roc_auc_score

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.plot.layers import alt, thin
from tests.support.cases import mostly_slow
from tests.support.curves import EXACT, GROUPS, LLRS, LOG, PRIORS, layers, plot, rows_of

CURVES = [
    *("roc", "det", "pr", "prg", "gains", "tippett", "bayes_error", "cost_curve", "reliability"),
    *("bayes_risk", "murphy", "decision_curve"),
]
PIXEL = 1 / 400
FIELDS = {"group", "threshold", "x", "y", "low", "high", "lift", "fpr", "fnr", "n", "calibrated", "right", "text"}


def distance(points: np.ndarray, line: np.ndarray) -> float:
    """The largest distance of points from a line through others."""
    start, step = line[:-1], np.diff(line, axis=0)
    length = (step**2).sum(axis=1)
    worst = 0.0
    for point in points:
        along = ((point - start) * step).sum(axis=1) / np.where(length > 0, length, 1)
        feet = start + np.clip(along, 0, 1)[:, None] * step
        worst = max(worst, np.sqrt(((feet - point) ** 2).sum(axis=1)).min())
    return worst


def stepped(points: list[tuple[float, ...]], *, hold_before: bool = False) -> list[tuple[float, ...]]:
    """Points with the corners between them, x ascending."""
    whole = points[:1]
    for (x0, *y0), (x1, *y1) in pairwise(points):
        whole += [(x0, *y1) if hold_before else (x1, *y0), (x1, *y1)]
    return whole


def over_scores(table: pl.DataFrame, names: list[str], highest: float, low: float, high: float) -> list[Any]:
    """Points over thresholds, of a table from the highest one down: each value holds from its threshold up."""
    (_, *top), *rest = table.select("threshold", *names).rows()
    ascending = [(max(t, low), *y) for t, *y in reversed(rest)]
    return stepped([(low, *ascending[0][1:]), *ascending, (highest, *top), (high, *top)])


def expected_lines() -> dict[str, tuple[Any, list[tuple[Any, ...]], tuple[float, float], bool]]:
    """The line that each chart should have, with x, y and bounds; the lengths of its axes; whether it is the dashed one."""
    roc, det, pr = EXACT.roc(interval=0.95), EXACT.det(interval=0.95), EXACT.pr(prior=0.1, interval=0.95)
    prg, cost = EXACT.prg(), EXACT.cost_curve("mcc", interval=0.95)
    deviates = det.select("fpr_probit", "fnr_probit", "fnr_probit_ci_low", "fnr_probit_ci_high").rows()
    highest, odds = LOG["p"].max(), {"posterior": EXACT.tippett()}["posterior"]
    gains = [(x, y) for _, x, y in prg.rows() if y is not None and math.isfinite(x)]
    first = sum(x < 0 for x, _ in gains) - 1
    axis = plot("tippett", EXACT).to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    width = axis[1] - axis[0]
    margin = 0.02 * width
    to_tippett = (math.log(highest / (1 - highest)), axis[0] - margin, axis[1] + margin)
    errors = LLRS.bayes_error(PRIORS)
    return {
        "roc": (plot("roc"), roc.select("fpr", "tpr", "tpr_ci_low", "tpr_ci_high").rows(), (1, 1), False),
        "det": (plot("det"), [row for row in deviates if all(map(math.isfinite, row[:2]))], (5, 5), False),
        "pr": (
            plot("pr", prior=0.1),
            stepped(pr.select("recall", pl.selectors.starts_with("precision")).rows(), hold_before=True),
            (1, 1),
            False,
        ),
        "prg": (plot("prg"), gains[max(first, 0) :], (1, 1), False),
        "gains": (
            plot("gains", prior=0.1),
            EXACT.gains(prior=0.1, interval=0.95).select("share", pl.selectors.starts_with("recall")).rows(),
            (1, 1),
            False,
        ),
        "positives": (plot("tippett"), over_scores(odds, ["positives_above"], *to_tippett), (width, 1), False),
        "negatives": (plot("tippett"), over_scores(odds, ["negatives_above"], *to_tippett), (width, 1), True),
        "cost_curve": (
            plot("cost_curve", EXACT, "mcc"),
            over_scores(cost, ["mcc", "mcc_ci_low", "mcc_ci_high"], highest, -0.02, 1.02),
            (1, 1),
            False,
        ),
        "actual": (plot("bayes_error", LLRS, PRIORS), errors.select("prior_log_odds", "dcf").rows(), (10, 2), False),
        "minimum": (
            plot("bayes_error", LLRS, PRIORS),
            errors.select("prior_log_odds", "min_dcf").rows(),
            (10, 2),
            True,
        ),
    }


LINES = ["roc", "det", "pr", "prg", "gains", "positives", "negatives", "cost_curve", "actual", "minimum"]


@pytest.fixture(scope="module")
def lines():
    return expected_lines()


@pytest.mark.parametrize("name", LINES)
def test_points_are_those_of_the_table_and_the_line_is_within_a_pixel(name: str, lines) -> None:
    chart, line, widths, dashed = lines[name]
    drawn = rows_of(chart, "line", dashed=dashed)
    columns = ["x", "y", "low", "high"][: len(line[0])]
    assert ("low" in drawn.columns) is ("low" in columns)
    found, whole = (np.array(rows, float) for rows in (drawn.select(columns).rows(), line))
    whole = whole[~np.isnan(whole[:, 1])]
    if name == "det":  # limits of 0 and 1 are as far off as the axis goes
        whole[:, 2:] = np.clip(whole[:, 2:], found[:, 2].min(), found[:, 3].max())
    if name in ("roc", "gains"):  # limits rise as the rate does
        whole[:, 2] = np.maximum.accumulate(whole[:, 2])
        whole[:, 3] = np.minimum.accumulate(whole[::-1, 3])[::-1]
    # Each of them is one of the points, in their order; the ends are there.
    place = 0
    for row in found:
        while not np.allclose(whole[place], row, rtol=1e-12, atol=1e-12, equal_nan=True):
            place += 1
    for end in (0, -1):
        assert whole[end] == pytest.approx(found[end], nan_ok=True)
    assert len(found) < len(whole) or name in ("minimum", "prg")
    scale = np.array(widths)
    for height in range(1, len(columns)):
        known = ~np.isnan(whole[:, height])
        kept = found[~np.isnan(found[:, height])]
        assert distance(whole[known][:, [0, height]] / scale, kept[:, [0, height]] / scale) < PIXEL


@pytest.mark.parametrize("score_type", ["posterior", "log_odds", "llr", "raw"])
def test_lines_over_thresholds_are_those_of_the_rows_to_a_bin(score_type: Any) -> None:
    """At the edges of bins, two to a nat, exactly; in between the line is straight, so off by the rows of the bin."""
    score_of, positive = LOG["p" if score_type == "posterior" else "llr"].to_numpy(), LOG["y"].to_numpy() == 1
    sketch = LOG.with_columns(s=score_of).ec.sketch("s", "y", score_type=score_type, resolution=2)
    chart = plot("cost_curve", sketch, "recall", interval=None)
    x, y = rows_of(chart, "line").select("x", "y").get_columns()
    low, high = chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low <= score_of.min() < score_of.max() <= high
    nats = np.arange(-12, 13) / 2
    sizes = np.exp(nats)
    edges = {"posterior": sizes / (1 + sizes), "raw": np.sort([*-sizes, 0, *sizes])}.get(score_type, nats)
    recall = [np.mean(score_of[positive] > t) for t in edges]
    # Declared thresholds are edges as well; the one of these scores is 0, or 0.5.
    inside = (edges > low) & (edges < high)
    assert np.interp(edges[inside], x, y) == pytest.approx(np.array(recall)[inside], abs=2 * PIXEL)
    for t in np.linspace(low, high, 40):
        least, most = (
            np.mean(score_of[positive] > edges[at]) if 0 <= at < len(edges) else default
            for at, default in ((np.searchsorted(edges, t), 0), (np.searchsorted(edges, t) - 1, 1))
        )
        assert least - 2 * PIXEL <= np.interp(t, x, y) <= most + 2 * PIXEL


def test_a_det_curve_of_one_point_is_within_its_axes() -> None:
    log = pl.DataFrame({"p": [0.1] * 1000 + [0.9] + [0.1] * 30 + [0.9] * 70, "y": [0] * 1001 + [1] * 100})
    chart = plot("det", log.ec.sketch("p", "y"))
    (point,) = rows_of(chart, "point").rows(named=True)
    assert (point["fpr"], point["fnr"]) == (pytest.approx(1 / 1001), pytest.approx(0.3))
    for channel in ("x", "y"):
        low, high = chart.to_dict()["layer"][-1]["encoding"][channel]["scale"]["domain"]
        assert low < point[channel] < high


def test_thresholds_of_points_are_those_of_the_table() -> None:
    drawn = rows_of(plot("roc"), "line").select("x", "y", "threshold")
    table = EXACT.roc().with_columns(pl.when(pl.col("threshold").is_finite()).then("threshold").alias("threshold"))
    assert set(drawn.rows()) <= set(table.select("fpr", "tpr", "threshold").rows())


@pytest.mark.parametrize("sketched", [{"exact": True}, {"score_type": "log_odds", "resolution": 1024}])
def test_bayes_risk_is_that_of_the_rows_at_every_t(sketched: dict[str, Any]) -> None:
    """Also between two scores, where the errors stay and their costs move."""
    odds = (pl.col("p") / (1 - pl.col("p"))).log() if "score_type" in sketched else pl.col("p")
    sketch = LOG.with_columns(s=odds).ec.sketch("s", "y", **sketched)
    score, label = LOG["p"].to_numpy(), LOG["y"].to_numpy()
    drawn = rows_of(plot("bayes_risk", sketch), "line")
    x, y = drawn["x"].to_numpy(), drawn["y"].to_numpy()
    for t in np.linspace(0.013, 0.987, 60):
        risk = np.mean((label == 1) & (score <= t)) / t + np.mean((label == 0) & (score > t)) / (1 - t)
        assert distance(np.array([[t, risk]]), np.column_stack([x, y])) < 2 * PIXEL
    table = sketch.bayes_risk().filter(pl.col("t").is_between(0, 1, closed="none")).select("t", "bayes_risk").rows()
    assert distance(np.array(table), np.column_stack([x, y])) < 2 * PIXEL


def test_reliability_is_its_table_over_the_rows_of_each_bin() -> None:
    sketch = GROUPS.ec.sketch("p", "y")
    chart = plot("reliability", sketch, interval=0.9)
    table = sketch.reliability(calibrator="pav", interval=0.9).drop("bin", "weight")
    drawn = rows_of(chart, "point").select("n", "x", "y", "low", "high", "calibrated")
    assert drawn.rows() == [pytest.approx(row) for row in table.rows()]
    log_odds = np.log(GROUPS["p"] / (1 - GROUPS["p"]))
    bars = rows_of(chart, "bar")
    assert bars["low"].to_list() == [0] * bars.height
    for left, right, n in bars.select("x", "right", "high").rows():
        low, high = (math.log(x / (1 - x)) for x in (left, right))
        assert high - low == pytest.approx(0.5)
        assert n == ((log_odds >= low - 1e-9) & (log_odds < high - 1e-9)).sum()


def test_bars_of_groups_stand_one_upon_the_other() -> None:
    bars = rows_of(plot("reliability", GROUPS.filter(pl.col("g") < 4).ec.sketch("p", "y", by="g")), "bar")
    assert bars["n"].sum() == GROUPS.filter(pl.col("g") < 4).height
    assert (bars["high"] - bars["low"] == bars["n"]).all()
    for _, bin_ in bars.group_by("x", maintain_order=True):
        assert bin_["low"].to_list() == [0, *bin_["high"][:-1]]


def test_of_many_groups_the_largest_the_worst_and_the_rest_as_one() -> None:
    chart = plot("roc", GROUPS.ec.sketch("p", "y", by="g", exact=True), interval=None)
    sizes = GROUPS.group_by("g").agg(pl.len(), of_class=pl.min_horizontal(pl.col("y").sum(), (1 - pl.col("y")).sum()))
    largest = sizes.sort("len", "g", descending=[True, False])["g"][:4].to_list()
    candidates = sizes.filter(~pl.col("g").is_in(largest) & (pl.col("of_class") >= 10))["g"]
    auc = {g: roc_auc_score(*GROUPS.filter(g=g).select("y", "p").get_columns()) for g in candidates}
    worst = sorted(auc, key=auc.__getitem__)[:2]
    names = [*map(str, largest), *map(str, worst)]
    rest = f"other {sizes.height - 6}"
    legend = next(spec["encoding"]["color"] for spec, _ in layers(chart.to_dict()) if "color" in spec["encoding"])
    assert legend["scale"]["domain"] == [*names, rest]
    drawn = rows_of(chart, "line")
    assert drawn["group"].unique(maintain_order=True).to_list() == [*names, rest]
    # Their rows together, not a mean of their curves.
    others = GROUPS.filter(~pl.col("g").is_in([*largest, *worst])).ec.sketch("p", "y", exact=True)
    whole = drawn.filter(group=rest).select("x", "y").to_numpy()
    assert distance(others.roc().select("fpr", "tpr").to_numpy(), whole) < PIXEL
    assert {tuple(row) for row in whole.tolist()} <= set(others.roc().select("fpr", "tpr").rows())
    assert chart.title.subtitle == [
        "8,000 rows",
        f"{sizes.height} groups: largest 4, worst 2 by AUC, other {sizes.height - 6} together",
    ]


def test_the_band_of_a_roc_curve_never_widens_to_a_block_where_all_positives_are_above() -> None:
    log = LOG.with_columns(u=pl.int_range(pl.len()) % 40)
    sketch = log.ec.sketch("p", "y", exact=True, cluster="u")
    drawn, table = rows_of(plot("roc", sketch), "area"), sketch.roc(interval=0.95)
    below = table.filter(pl.col("tpr") < 1)["tpr_ci_low"].max()
    assert table.filter(tpr=1.0)["tpr_ci_low"].min() < below
    assert drawn.filter(y=1.0)["low"].min() >= below
    assert drawn["low"].is_sorted()
    assert drawn["high"].is_sorted()


def test_rows_of_several_models_are_counted_once() -> None:
    models = GROUPS.with_columns(q=pl.col("p").sqrt())
    subtitle = plot("roc", models.ec.sketch(["p", "q"], "y", by="g")).title.subtitle
    assert subtitle[:2] == ["8,000 rows", f"{2 * GROUPS['g'].n_unique()} curves: largest 4, worst 2 by AUC"]
    fewer = models.with_columns(q=pl.when(pl.int_range(pl.len()) < 5000).then("q"))
    assert plot("roc", fewer.ec.sketch(["p", "q"], "y")).title.subtitle[0] == "5,000 to 8,000 rows"
    target = odd("classes")
    assert plot("roc", target).title.subtitle[0] == "4 rows"


def test_groups_without_a_line_are_named() -> None:
    """A group with one class has no rates for the other; and gains of scores that are upside down, as in group 3, are below 0."""
    few = GROUPS.filter(pl.col("g") < 4).with_columns(y=pl.when(pl.col("g") == 1).then(1).otherwise("y"))
    few = few.with_columns(p=pl.when(pl.col("g") == 2).then(1 - pl.col("p")).otherwise("p"))
    sketch = few.ec.sketch("p", "y", by="g")
    assert plot("roc", sketch).title.subtitle[-1] == "No line: 1"
    assert plot("cost_curve", sketch).title.subtitle[-1] == "No line: 1"
    assert plot("prg", sketch).title.subtitle[-1] == "No line: 1, 2, 3"
    named = few.with_columns(g=pl.col("g").cast(pl.String) + "x" * 70).ec.sketch("p", "y", by="g")
    assert plot("prg", named).title.subtitle[-1] == "No line: 3 of 4"


def test_models_are_not_added_up_and_the_prior_of_the_log_is_of_each() -> None:
    models = [f"m{i}" for i in range(9)]
    log = LOG.with_columns(pl.col("p").pow(1 + i / 3).alias(model) for i, model in enumerate(models))
    # One of them misses scores, so that its prior is another one.
    log = log.with_columns(m0=pl.when(pl.int_range(pl.len()) > 99).then("m0"))
    sketch = log.ec.sketch(models, "y")
    drawn = rows_of(plot("pr", sketch, prior="overall"), "line")
    names = drawn["group"].unique().to_list()
    assert len(names) == 6
    for name in names:
        table = sketch.pr(prior="overall").filter(score=name).drop_nulls()
        assert set(drawn.filter(group=name)["y"]) <= set(table["precision"])


def test_groups_with_wrong_rows_are_left_out_and_named_so() -> None:
    wrong = GROUPS.with_columns(p=pl.when(pl.col("g") == 1).then(2.0).otherwise("p"))
    chart = plot("roc", wrong.ec.sketch("p", "y", by="g"))
    n_groups = GROUPS["g"].n_unique()
    drawn = set(rows_of(chart, "line")["group"])
    assert "1" not in drawn
    assert f"other {n_groups - 7}" in drawn
    assert chart.title.subtitle[2] == f"Left out because of invalid rows: 1 of {n_groups} groups"


HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "a.b[0]:Q",
    "",
    "(missing)",
    None,
    "other 3",
    "null",
    "{{x}}",
    "é\n\"'\\",
]


@cache
def odd(case: str) -> ec.Sketch:
    raw = LOG.with_columns(p=(8 * pl.col("p")).exp())
    infinite = LOG.with_columns(llr=pl.when(pl.col("p") > 0.7).then(math.inf).otherwise(pl.col("llr").sign()))
    few = GROUPS.filter(pl.col("g") < 9)
    named = few.with_columns(pl.col("g").replace_strict(range(9), HOSTILE, return_dtype=pl.String).alias("x.y[z]:N"))
    keys = few.select("p", lab="y", x=pl.col("g") % 3, group=pl.col("g") % 2, small=pl.col("g") > 4, low=1)
    made = {
        "hostile names": lambda: named.ec.sketch("p", "y", by="x.y[z]:N"),
        "hostile keys": lambda: keys.ec.sketch("p", "lab", by=["x", "group", "small", "low"]),
        "no rows": lambda: LOG.clear().ec.sketch("p", "y"),
        "no groups": lambda: GROUPS.clear().ec.sketch("p", "y", by="g", exact=True),
        "one row": lambda: LOG[:1].ec.sketch("llr", "y", score_type="llr"),
        "one class": lambda: LOG.filter(y=1).ec.sketch("p", "y"),
        "alike": lambda: LOG.with_columns(p=0.3).ec.sketch("p", "y", exact=True),
        "0 and 1": lambda: LOG.with_columns(p=pl.col("p").round(0)).ec.sketch("p", "y"),
        "perfect": lambda: LOG.with_columns(p=0.1 + 0.8 * pl.col("y")).ec.sketch("p", "y"),
        "infinite": lambda: infinite.ec.sketch("llr", "y", score_type="llr"),
        "raw": lambda: raw.ec.sketch("p", "y", score_type="raw", threshold=9.0),
        "missing": lambda: LOG.with_columns(p=pl.lit(None, pl.Float64)).ec.sketch("p", "y"),
        "wrong": lambda: LOG.with_columns(p=2.0).ec.sketch("p", "y"),
        "weights": lambda: LOG.with_columns(w=pl.col("p")).ec.sketch("p", "y", weight="w"),
        "clusters": lambda: LOG.with_columns(u=pl.int_range(pl.len()) // 7).ec.sketch("p", "y", cluster="u"),
        "log-odds": lambda: LOG.ec.sketch("llr", "y", score_type="log_odds", threshold=-1.0),
        "many": lambda: GROUPS.ec.sketch("p", "y", by="g"),
        "LLRs": lambda: GROUPS.ec.sketch("llr", "y", by="g", score_type="llr", resolution=4),
        "classes": lambda: pl.DataFrame(
            {"p": [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], "y": [0, 1, 2, 1]},
            schema_overrides={"p": pl.Array(pl.Float64, 3)},
        ).ec.sketch("p", "y", exact=True),
    }
    return made[case]()


ODD = [
    "hostile names", "hostile keys", "no rows", "no groups", "one row", "one class", "alike", "0 and 1", "perfect", "infinite", "raw",
    "missing", "wrong", "weights", "clusters", "log-odds", "many", "LLRs", "classes",
]  # fmt: skip
QUICK = ["hostile names", "no rows", "infinite"]


def check(chart, capfd, *, render: bool) -> None:
    """The chart is valid JSON of few rows, by fields of our own, on axes whose ends are stated, and Vega takes it without a word."""
    spec = chart.to_dict()
    json.dumps(spec, allow_nan=False)
    assert sum(map(len, spec["datasets"].values())) <= 5000
    assert {field for data in spec["datasets"].values() for row in data for field in row} <= FIELDS
    for part, _ in layers(spec):
        channels = [
            c for channel in part["encoding"].values() for c in (channel if isinstance(channel, list) else [channel])
        ]
        assert {c["field"] for c in channels if "field" in c} <= FIELDS
        assert {c["title"] for c in part["encoding"].get("tooltip", [])}.isdisjoint(HOSTILE)
    if render:
        assert vl_convert.vegalite_to_svg(spec, show_warnings=True).startswith("<svg")
    compiled = vl_convert.vegalite_to_vega(spec, show_warnings=True)
    for scale in scales(compiled):
        # What Vega has to look for in data it warns of where there are none.
        assert isinstance(scale["domain"], list), scale["name"]
        assert scale["type"] == "ordinal" or scale["domain"][0] < scale["domain"][1]
    assert "".join(capfd.readouterr()) == ""


def scales(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from spec.get("scales", [])
    for mark in spec.get("marks", []):
        yield from scales(mark)


def refused(name: str, score_type: str) -> bool:
    """Whether a curve is of other scores."""
    if name == "bayes_error":
        return score_type != "llr"
    return (score_type == "raw" and name == "tippett") or (
        name in ("bayes_risk", "murphy", "decision_curve", "reliability") and score_type in ("raw", "llr")
    )


@pytest.mark.quick("no rows-*", "infinite-*", "hostile names-pr", "hostile names-bayes_error")
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("case", mostly_slow(ODD, QUICK))
def test_every_chart_of_every_sketch_is_valid_or_refused(case: str, name: str, capfd) -> None:
    sketch = odd(case)
    if refused(name, sketch.grid.score_type):
        with pytest.raises(SketchError, match=f"sketch has {sketch.grid.score_type} scores"):
            plot(name, sketch)
    else:
        few = [PRIORS[::10]] if name == "bayes_error" else []
        check(plot(name, sketch, *few), capfd, render=case not in QUICK[1:])


def test_names_stay_whole_and_apart() -> None:
    """A missing value and a group that is called so are two, and the rest has a name that no group has."""
    sketch = odd("hostile names")
    drawn = set(rows_of(plot("roc", sketch), "line")["group"])
    sizes = sketch.frame.group_by("x.y[z]:N").agg(pl.col("n").sum()).sort("n", descending=True)
    assert {x for x in sizes["x.y[z]:N"][:4] if x not in (None, "(missing)")} <= drawn
    assert "other 3 (2)" in drawn
    two = LOG[:8].with_columns(k=pl.Series(["(missing)", None] * 4)).ec.sketch("p", "y", by="k")
    assert set(rows_of(plot("reliability", two), "bar")["group"]) == {"(missing)", "(missing) (2)"}
    keys = LOG[:8].with_columns(a=pl.Series(["x, y", "x"] * 4), b=pl.Series(["z", "y, z"] * 4))
    joined = plot("reliability", keys.ec.sketch("p", "y", by=["a", "b"]))
    assert set(rows_of(joined, "bar")["group"]) == {"x, y, z", "x, y, z (2)"}


def marks(chart) -> dict[str, float]:
    """The marks but that of the best threshold, which hangs on the rows."""
    texts = [data[0] for spec, data in layers(chart.to_dict()) if spec["mark"]["type"] == "text"]
    found = {data["text"].split()[0]: data["x"] for data in texts}
    return {name: place for name, place in found.items() if name not in ("best", "cheapest")}


def test_thresholds_are_marked() -> None:
    assert marks(plot("cost_curve")) == {"Bayes": 0.25}
    assert marks(plot("cost_curve", cost_fn=9)) == {"Bayes": 0.1}
    declared = LOG.ec.sketch("p", "y", threshold=0.4)
    assert marks(plot("cost_curve", declared)) == {"declared": 0.4, "Bayes": 0.5}
    # Other costs, other decisions.
    assert marks(plot("cost_curve", declared, cost_fn=3)) == {"Bayes": 0.25}
    assert marks(plot("cost_curve", EXACT, "net_benefit", p_t=0.2)) == {"Bayes": pytest.approx(0.2)}
    assert marks(plot("cost_curve", LLRS)) == {}
    assert marks(plot("cost_curve", LLRS, prior=0.1)) == {"Bayes": pytest.approx(math.log(9))}


def test_several_metrics_stand_side_by_side() -> None:
    chart = plot("cost_curve", EXACT, "nec", "tp", "lr_plus")
    titles = [part["title"]["text"] for part in chart.to_dict()["hconcat"]]
    assert titles == [
        f"{x} over thresholds"
        for x in ("Normalised expected cost (NEC)", "True positives", "Positive likelihood ratio")
    ]
    with pytest.raises(SketchError, match="'brier' is not a metric of decisions"):
        plot("cost_curve", GROUPS.ec.sketch("p", "y", by="g"), "brier")


def test_priors_of_the_bayes_error_plot_reach_from_minus_7_to_7() -> None:
    priors = inspect.signature(ec.plot.bayes_error).parameters["prior_log_odds"].default
    assert priors == pytest.approx(np.arange(-7, 7.1, 0.25))


def test_actual_costs_at_thresholds_that_are_not_declared_lie_in_a_band() -> None:
    sketch = LOG.ec.sketch("llr", "y", score_type="llr", resolution=2)
    drawn = rows_of(plot("bayes_error", sketch, PRIORS[::4]), "area")
    table = sketch.bayes_error(PRIORS[::4]).select("prior_log_odds", "dcf_low", "dcf_high")
    assert set(drawn.select("x", "low", "high").rows()) <= set(table.rows())
    assert (drawn["low"] < drawn["high"]).any()
    assert drawn["y"].to_list() == drawn["high"].to_list()


@pytest.mark.quick("roc", "reliability")
@pytest.mark.parametrize("name", ["roc", "det", "pr", "cost_curve", "murphy", "decision_curve", "reliability"])
def test_without_interval_there_is_no_band(name: str) -> None:
    text = json.dumps(plot(name, interval=None).to_dict())
    assert "confidence interval" not in text
    assert '"area"' not in text
    assert "95% confidence interval" in json.dumps(plot(name).to_dict())
    with pytest.raises(ValueError, match="interval="):
        plot(name, interval=95)


def test_a_band_that_is_not_there_is_not_announced() -> None:
    """Three clusters are too few for bounds."""
    sketch = LOG.with_columns(u=pl.int_range(pl.len()) % 3).ec.sketch("p", "y", cluster="u")
    for name in ("roc", "det", "pr", "cost_curve", "murphy"):
        assert "95% confidence interval of each point: none is known" in plot(name, sketch).title.subtitle
    assert (
        "95% confidence interval of each share: none is known" in plot("reliability", sketch).vconcat[0].title.subtitle
    )


def test_lines_of_very_many_points_are_thinned_further_and_keep_their_ends() -> None:
    random = np.random.default_rng(0)
    jagged = pl.DataFrame({"group": ["a", "b"] * 5_000, "x": random.random(10_000), "y": random.random(10_000)})
    jagged = jagged.sort("group", "x")
    for most in (2000, 300):
        kept = thin(jagged, most=most)
        assert most / 3 < kept.height <= most
        for end in ("first", "last"):
            ends = [getattr(table.group_by("group", maintain_order=True), end)() for table in (jagged, kept)]
            assert ends[0].equals(ends[1])


OF_ROWS = ("score", "label", "by", "score_type", "weight", "pos_label", "classes", "cluster", "buckets")


@pytest.mark.quick("roc", "reliability", "bayes_risk")
@pytest.mark.parametrize("name", CURVES)
def test_the_method_is_the_function(name: str) -> None:
    function, method = getattr(ec.plot, name), getattr(LLRS.plot, name)
    parameters = [*inspect.signature(function).parameters.values()]
    assert parameters[0].name == "sketch"
    # It has no rows to read.
    kept = [*inspect.signature(method).parameters.values()]
    assert kept == [parameter for parameter in parameters[1:] if parameter.name not in OF_ROWS]
    assert set(OF_ROWS) == {parameter.name for parameter in parameters[1:]} - {parameter.name for parameter in kept}
    assert str(method.__doc__).startswith(str(function.__doc__).partition("\n")[0])
    assert not re.search(f"^({'|'.join(OF_ROWS)}) :", str(method.__doc__), re.M)
    if not refused(name, "llr"):
        few = [PRIORS[:2]] if name == "bayes_error" else []
        assert method(*few).to_dict() == function(LLRS, *few).to_dict()


def test_completion_offers_the_charts() -> None:
    assert {name for name in dir(EXACT.plot) if not name.startswith("_")} == set(CURVES)
    assert set(dir(ec.plot)) > set(CURVES)
    assert not {"curves", "annotations", "pl"} & set(dir(ec.plot))


def test_without_altair_the_error_says_what_to_install(monkeypatch) -> None:
    for name in [name for name in vars(alt) if not name.startswith("__")]:
        monkeypatch.delitem(vars(alt), name)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'polars_ec\[plot\]'"):
        ec.plot.roc(EXACT)
