"""Charts of tables: what they draw is what the tables hold, value by value, and no name, number or table breaks one."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.charts import data_of, drawn_in_silence, rendered, texts_of

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    *("a.b", "a[0]", "a:b", "image", "{{7*7}}", "line\nbreak", "\x00nul", "\u202eturned", "", None, "back\\slash"),
    *(
        "__proto__",
        "constructor",
        "toString",
        "valueOf",
        "hasOwnProperty",
        "quo\"t'e",
        "<b>&amp;",
        "x" * 5000,
        "x" * 5001,
    ),
]


def made_log(groups, periods, n, seed=0):
    """Each group in each period has rows; the more, the earlier the group stands."""
    rng = np.random.default_rng(seed)
    g = np.minimum(rng.geometric(3 / len(groups), n) - 1, len(groups) - 1)
    y = rng.random(n) < 0.35
    z = rng.normal(size=n) + (1.2 + np.sin(g)) * y - 1
    return pl.DataFrame(
        {
            "g": pl.Series(groups).gather(g),
            "month": pl.Series(periods).gather(rng.integers(0, len(periods), n)),
            "p": 1 / (1 + np.exp(-z)),
            "q": 1 / (1 + np.exp(-0.6 * z - rng.normal(size=n))),
            "y": y,
        }
    )


MONTHS = [date(2024, k, 1) for k in range(1, 7)]
LOG = made_log([f"group {i:02d}" for i in range(30)], MONTHS, 8_000)
OPTIONS = {"cost_fn": 3, "min_rows": 40}
REPORT = LOG.ec.report(
    "p", "y", by=["g", "month"], metrics=["nec", "f1"], prior=0.2, interval=0.95, total=True, **OPTIONS
)
BY_GROUP = LOG.ec.report("p", "y", by="g", metrics=["nec", "recall"], interval=0.95, total=True, **OPTIONS)
BY_MONTH = LOG.ec.report("p", "y", by="month", metrics=["nec", "f1"], prior=0.2, interval=0.95, **OPTIONS)
COMPARED = LOG.ec.compare("p", "y", by="g", reference="rest", metrics=["nec", "recall"], **OPTIONS)
DRIFT = LOG.ec.drift("p", "y", by="g", period="month", mix=[], metrics=["nec"], **OPTIONS)
DRIFT_OF_MIX = LOG.ec.drift("p", "y", period="month", mix=["g"], metrics=["nec"], **OPTIONS)


def same(ours, theirs):
    """Sequences of numbers, of which infinities are nulls to a chart."""
    theirs = [None if value is None or not math.isfinite(value) else value for value in theirs]
    assert list(ours) == theirs


# Trends -----------------------------------------------------------------------------------------------------------------


def worst_of(table, others, metric, sign):
    """By the mean over rows of periods that are not small, in plain Python."""
    means = {}
    for name in others:
        rows = [r for r in table.filter(g=name).iter_rows(named=True) if not r["small"] and r[metric] is not None]
        if rows:
            means[name] = sign * sum(r[metric] * r["n"] for r in rows) / sum(r["n"] for r in rows)
    return sorted(means, key=means.get, reverse=True)


@pytest.mark.parametrize(("metric", "sign"), [("nec", 1), ("f1", -1)])
def test_a_trend_by_group_has_the_reports_values(metric, sign):
    chart = ec.plot.trend(REPORT, metric, x="month", facet="g")
    drawn = data_of(chart)
    groups = REPORT.filter(~pl.col("total"))
    sizes = dict(groups.group_by("g").agg(pl.col("n").sum()).rows())
    by_size = sorted(sizes, key=sizes.get, reverse=True)
    expected = [*by_size[:8], *worst_of(groups, by_size[8:], metric, sign)[:4]]
    assert set(drawn["panel"]) == {*expected, "other 18"}
    assert chart.to_dict()["facet"]["sort"] == [*expected, "other 18"]
    for name in expected:
        theirs, ours = groups.filter(g=name).sort("month"), drawn.filter(panel=name).sort("order")
        assert ours["x"].to_list() == [f"{month}T00:00:00.000Z" for month in theirs["month"]]
        assert ours["when"].to_list() == [f"{month:%Y-%m}" for month in theirs["month"]]
        for column, of in (("y", metric), ("low", f"{metric}_ci_low"), ("high", f"{metric}_ci_high"), ("n", "n")):
            same(ours[column], theirs[of])
        assert ours["small"].to_list() == theirs["small"].to_list()


def test_all_other_groups_are_a_median_and_tenths():
    drawn = data_of(ec.plot.trend(REPORT, "nec", x="month", facet="g"))
    shown = set(drawn["panel"]) - {"other 18"}
    groups = REPORT.filter(~pl.col("total"), ~pl.col("g").is_in([*shown]))
    rest = drawn.filter(panel="other 18").sort("order")
    assert rest.height == len(MONTHS)
    for month, row in zip(MONTHS, rest.iter_rows(named=True), strict=True):
        values = groups.filter(month=month)["nec"].drop_nulls().to_numpy()
        values = values[np.isfinite(values)]
        assert (row["y"], row["low"], row["high"]) == pytest.approx(np.quantile(values, [0.5, 0.1, 0.9]), rel=1e-12)
        assert row["n"] == groups.filter(month=month)["n"].sum()


def test_groups_without_a_facet_are_lines():
    chart = ec.plot.trend(REPORT, "nec", x="month")
    drawn = data_of(chart)
    assert drawn["group"].n_unique() == 7
    assert "other 24" in set(drawn["group"])
    domains = [layer["encoding"]["color"]["scale"]["domain"] for layer in chart.to_dict()["layer"][1:]]
    assert all(domain == domains[0] and domain[-1] == "other 24" for domain in domains)


def test_a_metric_and_the_same_at_the_reference_prior():
    drawn = data_of(ec.plot.trend(BY_MONTH, ["f1", "f1_at_prior"], x="month"))
    for column, words in (("f1", "F1"), ("f1_at_prior", "F1 at the reference prior")):
        ours = drawn.filter(measure=words).sort("order")
        same(ours["y"], BY_MONTH[column])
        same(ours["low"], BY_MONTH[f"{column}_ci_low"])


def test_models_and_classes_are_lines():
    two = LOG.ec.report(["p", "q"], "y", by="month", metrics=["nec"])
    drawn = data_of(ec.plot.trend(two, "nec", x="month"))
    for model in "pq":
        same(drawn.filter(group=model).sort("order")["y"], two.filter(score=model)["nec"])
    each = LOG.ec.report("p", "y", by="month", per_class=True)
    drawn = data_of(ec.plot.trend(each, "recall", x="month"))
    same(drawn.filter(group="true").sort("order")["y"], each.filter("class")["recall"])


ZONED = [datetime(2024, 3, 30, 23, tzinfo=UTC) + timedelta(hours=h) for h in range(4)]


@pytest.mark.quick("periods0-*", "periods3-*", "periods6-*")
@pytest.mark.parametrize(
    ("periods", "when"),
    [
        (pl.Series(MONTHS), [f"2024-0{k}" for k in range(1, 7)]),
        (pl.Series([date(2023, 1, 1), date(2024, 1, 1)]), ["2023", "2024"]),
        (pl.Series([date(2024, 1, 1)]), ["2024-01-01"]),
        (pl.Series([datetime(2024, 1, 1, 5), datetime(2024, 1, 2)]), ["2024-01-01 05:00", "2024-01-02 00:00"]),
        (
            pl.Series(ZONED).dt.convert_time_zone("Europe/Berlin"),
            ["2024-03-31 00:00", "2024-03-31 01:00", "2024-03-31 03:00", "2024-03-31 04:00"],
        ),
        (pl.Series([10, 9, 11, None]), ["(missing)", "9", "10", "11"]),
        (pl.Series(["q2", "q1", "Q3"]), ["Q3", "q1", "q2"]),
        (pl.Series(["mo", "tu", "we"], dtype=pl.Enum(["we", "tu", "mo"])), ["we", "tu", "mo"]),
        (pl.Series([True, False]), ["false", "true"]),
        (pl.Series([timedelta(hours=2), timedelta(hours=1)]), ["1h", "2h"]),
        (pl.Series([[1, 2], [0, 5]]), ["[0, 5]", "[1, 2]"]),
    ],
)
def test_periods_of_any_kind(periods, when):
    report = pl.DataFrame({"month": periods, "n": 5, "nec": [0.5 + 0.1 * i for i in range(len(periods))]})
    chart = ec.plot.trend(report, "nec", x="month")
    drawn = data_of(chart).sort("order")
    assert drawn["when"].to_list() == when
    same(drawn["y"], report.sort("month")["nec"])
    if isinstance(periods.dtype, pl.Datetime) or periods.dtype == pl.Date:
        # Marks stand where the clock of the column says, whichever zone the reader is in.
        assert [x[:16].replace("T", " ") for x in drawn["x"]] == [
            str(at.replace(tzinfo=None) if isinstance(at, datetime) else datetime(at.year, at.month, at.day))[:16]
            for at in periods.sort().to_list()
        ]
        x = chart.to_dict()["layer"][-1]["encoding"]["x"]
        assert x["scale"] == {"type": "utc"}
        assert len(x["axis"]["values"]) == len(periods)
        # The axis is labelled at each of them, by the same names.
        assert {*when} <= {*texts_of(chart)}


def test_the_axis_has_every_so_manieth_period():
    days = pl.date_range(date(2024, 1, 1), date(2024, 3, 31), eager=True)
    chart = ec.plot.trend(pl.DataFrame({"day": days, "n": 5, "nec": 0.5}), "nec", x="day")
    values = chart.to_dict()["layer"][-1]["encoding"]["x"]["axis"]["values"]
    assert values == [int(datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp() * 1000) for d in days[::8]]


def test_rows_without_a_date_have_no_place():
    report = pl.DataFrame({"day": [None, date(2024, 1, 1)], "n": 5, "nec": [0.3, 0.4]})
    chart = ec.plot.trend(report, "nec", x="day")
    assert data_of(chart)["y"].to_list() == [0.4]
    assert "Left out: 1 without a period" in chart.title.subtitle


def test_no_line_goes_across_periods_without_rows():
    """Those that one group does not have, and those that no group has; weekends, which nobody has, are no gap."""

    def parts_of(log, x):
        report = log.with_columns(x=x).ec.report("p", "y", by=["g", "x"], metrics=["nec"])
        return data_of(ec.plot.trend(report, "nec", x="x")).sort("group", "order")["part"].to_list()

    log = made_log([*"abcd"], range(6), 2000).filter(pl.col("g") <= "b")
    log = log.filter((pl.col("g") == "a") | (pl.col("month") != 3))
    start, month = pl.lit(date(2024, 1, 1)), pl.col("month")
    assert parts_of(log, month) == [0] * 6 + [0, 0, 0, 1, 1]
    assert parts_of(log, start.dt.offset_by(pl.format("{}mo", month))) == [0] * 6 + [0, 0, 0, 1, 1]
    assert parts_of(log, start + pl.duration(days=month + 300 * (month > 1))) == [0, 0, 1, 1, 1, 1, 0, 0, 1, 2, 2]
    assert parts_of(log, start + pl.duration(days=month // 5 * 2 + month)) == [0] * 5 + [1] + [0, 0, 0, 1, 2]
    days = [date(2024, 1, 1) + timedelta(days=7 * (k // 5) + k % 5) for k in range(25)]
    assert set(parts_of(made_log([*"abcd"], days, 2000).filter(g="a"), month)) == {0}


def test_a_point_alone_has_its_limits():
    report = pl.DataFrame(
        {"m": range(5), "n": 9, "nec": 0.5, "nec_ci_low": [0.4, None, 0.3, 0.3, None], "nec_ci_high": 0.9}
    )
    drawn = data_of(ec.plot.trend(report, "nec", x="m")).sort("order")
    assert drawn["alone"].to_list() == [True, False, False, False, False]


def test_each_panel_has_the_naive_line_and_its_own_rows():
    """A layer with rows of its own would be shown with all rows in each panel."""
    small = REPORT.filter(pl.col("g").is_in(["group 00", "group 01"]), ~pl.col("total"))
    spec = ec.plot.trend(small, "nec", x="month", facet="g").to_dict()
    assert all("data" not in layer for layer in spec["spec"]["layer"])
    paths = rendered(ec.plot.trend(small.drop("^.*_ci_.*$"), "nec", x="month", facet="g"))
    lines = [path for path in paths if path["kind"] == "line"]
    assert [path["d"].count("L") for path in lines] == [len(MONTHS) - 1] * 2
    assert sum(path["kind"] == "rule" for path in paths) == 2


# Forests ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "sign"), [("nec", 1), ("recall", -1)])
def test_a_forest_has_the_reports_values(metric, sign):
    chart = ec.plot.forest(BY_GROUP, metric)
    drawn = data_of(chart)
    assert drawn["group"][-1] == "all groups"
    groups = BY_GROUP.filter(~pl.col("total"))
    assert groups.height == drawn.height - 1 == 30
    values = [sign * value for value in drawn["x"][:-1]]
    assert values == sorted(values, reverse=True)
    theirs = {row["g"] or "all groups": row for row in BY_GROUP.iter_rows(named=True)}
    for row in drawn.iter_rows(named=True):
        of = theirs[row["group"]]
        same([row["x"], row["low"], row["high"]], [of[metric], of[f"{metric}_ci_low"], of[f"{metric}_ci_high"]])
        assert (row["n"], row["small"], row["total"]) == (of["n"], of["small"], of["total"])


def test_a_forest_of_many_groups_has_the_largest_and_the_worst():
    n = 200
    report = pl.DataFrame(
        {
            "g": [f"g{i}" for i in range(n)],
            "n": [1000 - i for i in range(n)],
            "nec": [(i * 37 % n) / n for i in range(n)],
        }
    )
    report = report.with_columns(small=pl.col("g") == "g181")
    chart = ec.plot.forest(report, "nec")
    others = sorted((i for i in range(20, n) if i != 181), key=lambda i: -(i * 37 % n))
    assert set(data_of(chart)["group"]) == {f"g{i}" for i in [*range(20), *others[:10]]}
    assert "30 of 200 groups: the largest, and the worst of the others" in chart.title.subtitle


# Comparisons ------------------------------------------------------------------------------------------------------------


def test_a_comparison_has_the_tables_values():
    spec = ec.plot.compare(COMPARED)
    assert len(spec.concat) == 2
    for metric, chart, sign in zip(("nec", "recall"), spec.concat, (1, -1), strict=True):
        drawn, theirs = data_of(chart), COMPARED.filter(metric=metric)
        assert drawn.height == theirs.height == 30
        values = [sign * value for value in drawn["x"].drop_nulls()]
        assert values == sorted(values, reverse=True)
        joined = drawn.join(theirs, left_on="group", right_on="g", suffix="_of", maintain_order="left")
        for ours, of in (("x", "difference"), ("low", "difference_ci_low"), ("high", "difference_ci_high")):
            same(joined[ours], joined[of])
        assert drawn["verdict"].n_unique() > 2
        for row in joined.iter_rows(named=True):
            if row["small"] or row["low"] is None:
                expected = {"few rows", "no interval"}
            elif row["p_adjusted"] >= 0.05:
                expected = {"not significant"}
            else:
                expected = {"worse" if sign * row["x"] > 0 else "better"}
            assert row["verdict"] in expected


def test_against_the_best_limits_say_it():
    log = made_log([f"g{i}" for i in range(6)], MONTHS, 6_000)
    table = log.ec.compare("p", "y", by="g", reference="best", metrics=["nec"])
    chart = ec.plot.compare(table)
    drawn = data_of(chart)
    assert any("simultaneous" in line for line in chart.title.subtitle)
    reached = {
        row["g"] for row in table.iter_rows(named=True) if row["difference_ci_low"] <= 0 <= row["difference_ci_high"]
    }
    assert {row["group"] for row in drawn.iter_rows(named=True) if row["verdict"] == "not significant"} == reached
    assert 0 < len(reached) < 6


def test_models_are_compared_by_group():
    table = LOG.filter(pl.col("g") < "group 03").ec.compare(["p", "q"], "y", by="g", metrics=["nec"])
    assert set(data_of(ec.plot.compare(table))["group"]) == {f"group 0{i}" for i in range(3)}
    whole = LOG.ec.compare(["p", "q"], "y", metrics=["nec"])
    chart = ec.plot.compare(whole)
    assert data_of(chart)["group"].to_list() == ["q"]
    assert chart.title.subtitle[0] == "Against p"


# Drift ------------------------------------------------------------------------------------------------------------------

WORDS = {"mix": "Mix of strata", "prior": "Base rate", "likelihood": "Model (scores within the classes)"}


@pytest.mark.parametrize(
    ("table", "parts"), [(DRIFT, ["prior", "likelihood"]), (DRIFT_OF_MIX, ["mix", "prior", "likelihood"])]
)
def test_bars_are_the_parts_and_end_where_they_add_up(table, parts):
    chart = ec.plot.drift(table)
    drawn = data_of(chart)
    keys = ["g"] if "g" in table.columns else []
    theirs = {(row["g"] if keys else "all", f"{row['month']:%Y-%m}"): row for row in table.iter_rows(named=True)}
    rows = sorted(drawn.iter_rows(named=True), key=lambda row: (row["panel"], row["x"]))
    seen = 0
    for place, group in groupby(rows, key=lambda row: (row["panel"], row["x"])):
        of, bars, seen = theirs[place], {bar["part"]: bar for bar in group}, seen + 1
        assert set(bars) == {*(WORDS[part] for part in parts), "difference"}
        whole = bars["difference"]
        same(
            [whole["y"], whole["low"], whole["high"]],
            [of["difference"], of["difference_ci_low"], of["difference_ci_high"]],
        )
        ends = {1: 0.0, -1: 0.0}
        for part in parts:
            bar = bars[WORDS[part]]
            same([bar["y"], bar["low"], bar["high"]], [of[part], of[f"{part}_ci_low"], of[f"{part}_ci_high"]])
            if of[part] is None:
                assert bar["start"] is bar["end"] is None
                continue
            side = 1 if of[part] >= 0 else -1
            assert bar["start"] == pytest.approx(ends[side], abs=1e-12)
            assert bar["end"] == pytest.approx(ends[side] + of[part], abs=1e-12)
            ends[side] += of[part]
        if all(of[part] is not None for part in parts):
            assert ends[1] + ends[-1] == pytest.approx(of["difference"], abs=1e-9)
    assert seen == (12 if keys else 1) * (len(MONTHS) - 1)


def test_a_drift_shows_the_largest_groups_and_those_that_got_worst():
    sizes = (
        DRIFT.group_by("g", maintain_order=True).agg(pl.col("n").sum()).sort("n", descending=True, maintain_order=True)
    )
    largest = sizes["g"][:8].to_list()
    last = DRIFT.filter(~pl.col("small"), ~pl.col("g").is_in(largest)).group_by("g").agg(pl.col("difference").last())
    worst = last.sort("difference", descending=True)["g"][:4].to_list()
    chart = ec.plot.drift(DRIFT)
    assert chart.to_dict()["facet"]["sort"] == [*largest, *worst]
    assert any(line.startswith("12 of 30 groups") for line in chart.title.subtitle)


def test_metrics_of_a_drift_are_panels():
    table = LOG.ec.drift("p", "y", period="month", metrics=["nec", "f1"], prior=0.2, **OPTIONS)
    drawn = data_of(ec.plot.drift(table)).filter(part="difference")
    for panel, metric in (("NEC", "nec"), ("NEC at the reference prior", "nec_at_prior"), ("F1", "f1")):
        same(drawn.filter(panel=panel).sort("order")["y"], table.filter(metric=metric)["difference"])


# Any table --------------------------------------------------------------------------------------------------------------


def all_charts(log, by="g"):
    periods = log.ec.report("p", "y", by=[by, "month"], interval=0.95, metrics=["nec"])
    yield ec.plot.trend(periods, "nec", x="month", facet=by)
    yield ec.plot.trend(periods, "nec", x=by)
    yield ec.plot.forest(log.ec.report("p", "y", by=by, total=True), "nec")
    yield ec.plot.compare(log.ec.compare("p", "y", by=by, reference="rest", metrics=["nec"]))
    yield ec.plot.drift(log.ec.drift("p", "y", by=by, period="month", metrics=["nec"]))


@pytest.mark.slow
def test_hostile_names_are_text():
    column = "a.b[0]:c\x07</script>"
    log = made_log(HOSTILE, MONTHS[:2], 3000).rename({"g": column})
    for chart in all_charts(log, column):
        rendered(chart, dark=True)
        fields = {field for field in _fields(chart.to_dict()) if field is not None}
        assert fields <= {*_OURS}
    names = data_of(ec.plot.compare(log.ec.compare("p", "y", by=column, reference="rest", metrics=["nec"])))["group"]
    assert names.n_unique() == log[column].n_unique()


_OURS = (
    "x",
    "y",
    "when",
    "order",
    "panel",
    "group",
    "measure",
    "low",
    "high",
    "n",
    "total",
    "verdict",
    "reference",
    "value",
)
_OURS += ("value_reference", "p_adjusted", "start", "end", "part")


def _fields(spec):
    if isinstance(spec, dict):
        yield from (value for key, value in spec.items() if key == "field")
        yield from (name for key, value in spec.items() if key != "datasets" for name in _fields(value))
    elif isinstance(spec, list):
        yield from (name for value in spec for name in _fields(value))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("n", [0, 1])
def test_no_row_and_one_row(n):
    log = LOG.head(n).with_columns(g=pl.lit("a"), month=pl.lit(date(2024, 1, 1)))
    report = log.ec.report("p", "y", by=["g", "month"], interval=0.95, metrics=["nec"])
    charts = [ec.plot.trend(report, "nec", x="month", facet="g"), ec.plot.trend(report, "nec", x="month")]
    charts += [ec.plot.forest(report, "nec"), ec.plot.drift(DRIFT.head(n)), ec.plot.compare(COMPARED.head(n))]
    for chart in charts:
        rendered(chart)
        assert data_of(chart).height == n or n
        assert (chart.title.subtitle == ["No rows"]) == (n == 0)


@pytest.mark.quick("inf")
@pytest.mark.parametrize("value", mostly_slow([None, math.inf, -math.inf, math.nan], [None, math.inf]))
def test_values_that_are_none(value):
    report = pl.DataFrame(
        {"g": ["a", "b"], "m": [1, 1], "n": 5, "nec": [value, 0.5]}, schema_overrides={"nec": pl.Float64}
    )
    forest, trend = ec.plot.forest(report.drop("m"), "nec"), ec.plot.trend(report, "nec", x="m", facet="g")
    for chart in (forest, trend):
        json.dumps(chart.to_dict(), allow_nan=False)
        assert sum(mark["kind"] == "symbol" for mark in rendered(chart)) == 1
    # Infinite costs are the worst.
    rows = [("b", 0.5), ("a", None)]
    assert data_of(forest).select("group", "x").rows() == (rows[::-1] if value == math.inf else rows)


@pytest.mark.slow
def test_a_group_whose_loss_is_infinite_is_among_the_worst():
    certain = pl.DataFrame(
        {"g": ["wrong"] * 40, "month": MONTHS[:1] * 40, "y": [True, False] * 20, "p": [0.0, 0.5] * 20}
    )
    log = pl.concat([LOG.select("g", "month", "y", "p"), certain])
    how = {"metrics": ["nce"], "min_rows": 40, "interval": 0.95}
    forest = ec.plot.forest(log.ec.report("p", "y", by="g", **how), "nce")
    assert data_of(forest).row(0)[:2] == ("wrong", None)
    assert "Without a mark: 1 infinite" in forest.title.subtitle
    trend = ec.plot.trend(log.ec.report("p", "y", by=["g", "month"], **how), "nce", x="month", facet="g")
    assert trend.to_dict()["facet"]["sort"][8] == "wrong"
    against_rest = log.ec.compare("p", "y", by="g", reference="rest", metrics=["nce"])
    assert against_rest.filter(g="wrong")["value"].to_list() == [math.inf]
    diagrams = ec.plot.reliability(log.ec.sketch("p", "y", by="g")).to_dict()["concat"]
    assert diagrams[4]["vconcat"][0]["title"]["text"] == "wrong"


@pytest.mark.quick("limit")
@pytest.mark.parametrize("far", ["limit", "few rows", "value"])
def test_one_wide_limit_does_not_make_all_others_look_alike(far):
    """It is cut off, and that is said, as are values of few rows; others never are."""
    rows = [{"g": f"g{i}", "m": m, "n": 500, "nec": 0.5 + m / 20, "small": False} for i in range(3) for m in range(4)]
    report = pl.DataFrame(rows).with_columns(nec_ci_low=pl.col("nec") - 0.1, nec_ci_high=pl.col("nec") + 0.1)
    last = pl.int_range(pl.len()) == 11
    value = pl.when(last & (far != "limit")).then(60.0).otherwise("nec").alias("nec")
    high = pl.when(last).then(70.0).otherwise("nec_ci_high").alias("nec_ci_high")
    one = report.with_columns(value, high, small=last & (far == "few rows"))
    for made, channel in ((ec.plot.trend, "y"), (ec.plot.forest, "x")):
        how = {"x": "m", "facet": "g"} if channel == "y" else {}
        for table, cut_off in ((report, False), (one, far != "value")):
            chart = made(table, "nec", **how)
            spec = chart.to_dict()
            (scale,) = [
                layer["encoding"][channel]["scale"]
                for layer in spec.get("spec", spec)["layer"]
                if "tooltip" in layer["encoding"]
            ]
            assert ("domainMax" in scale) is cut_off
            assert any(line.startswith("Cut off at") for line in chart.title.subtitle) is cut_off
            # The naive system's 1 is there, and all values of many rows.
            assert 1 < scale.get("domainMax", 2) < 3


@pytest.mark.slow
def test_five_thousand_rows():
    report = pl.DataFrame({"t": range(5000), "n": 5, "nec": 0.5})
    assert data_of(ec.plot.trend(report, "nec", x="t")).height == 5000
    many = pl.DataFrame(
        {"g": [i % 50 for i in range(30_000)], "t": [i // 50 for i in range(30_000)], "n": 5, "nec": 0.5}
    )
    for facet in ("g", None):
        chart = ec.plot.trend(many, "nec", x="t", facet=facet)
        assert 2000 < data_of(chart).height <= 5000
        chart.to_dict()
    assert data_of(ec.plot.forest(many.select("g", "n", "nec").with_row_index("i").drop("g"), "nec")).height == 30
    parts = pl.concat([DRIFT_OF_MIX.head(1)] * 1200).with_columns(month=pl.int_range(1200))
    assert data_of(ec.plot.drift(parts)).height == 4800


def test_all_groups_is_a_name_too():
    report = pl.DataFrame({"g": ["all groups", None], "total": [False, True], "nec": [0.5, 0.6], "n": 5}).select(
        "g", "n", "nec", "total"
    )
    assert data_of(ec.plot.forest(report, "nec"))["group"].to_list() == ["all groups", "(all groups)"]


def test_groups_that_read_alike_are_two():
    report = pl.DataFrame({"a": ["x, y", "x"], "b": ["z", "y, z"], "n": 5, "nec": [0.1, 0.2]})
    assert data_of(ec.plot.forest(report, "nec")).select("group", "x").rows() == [
        ("x, y, z (2)", 0.2),
        ("x, y, z", 0.1),
    ]
    # One that has the name which a number would make.
    third = pl.DataFrame({"g": ["(missing)", None, "(missing) (2)"], "n": 5, "nec": [0.1, 0.2, 0.3]})
    assert data_of(ec.plot.forest(third, "nec"))["group"].n_unique() == 3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ec.plot.forest(BY_GROUP.lazy(), "nec"), TypeError, ["LazyFrame", "collect()"]),
        (lambda: ec.plot.forest(COMPARED.drop("n"), "nec"), ValueError, ["'n'", "ec.report"]),
        (lambda: ec.plot.forest(BY_GROUP, "brier"), ValueError, ["'brier'", "it has n, nec, recall"]),
        (
            lambda: ec.plot.forest(pl.DataFrame({"n": [1], "nec_low": [0.1], "nec_high": [0.2]}), "nec"),
            ValueError,
            ["bounds", "nec_low"],
        ),
        (lambda: ec.plot.forest(BY_GROUP, "small"), ValueError, ["'small'", "Boolean"]),
        (lambda: ec.plot.trend(REPORT, "nec", x="week"), ValueError, ["x='week'", "g, month"]),
        (lambda: ec.plot.trend(REPORT, "nec", x="month", facet=["g", "h"]), ValueError, ["facet='h'"]),
        (lambda: ec.plot.trend(REPORT, "nec", x="month", facet="month"), ValueError, ["leave it out"]),
        (lambda: ec.plot.trend(REPORT, [], x="month"), ValueError, ["metric=[]"]),
        (lambda: ec.plot.trend(REPORT, ["nec", "nec"], x="month"), ValueError, ["twice"]),
        (
            lambda: ec.plot.trend(pl.DataFrame({"t": range(5001), "n": 5, "nec": 0.5}), "nec", x="t"),
            ValueError,
            ["5001 periods", "truncate"],
        ),
        (lambda: ec.plot.compare(DRIFT), ValueError, ["ec.plot.drift"]),
        (lambda: ec.plot.compare(REPORT), ValueError, ["'model'", "ec.compare"]),
        (lambda: ec.plot.drift(COMPARED), ValueError, ["ec.plot.compare"]),
        (lambda: ec.plot.save(BY_GROUP, "x.svg"), TypeError, ["DataFrame"]),
        (lambda: ec.plot.save(ec.plot.forest(BY_GROUP, "nec"), "x.gif"), ValueError, [".gif", ".svg"]),
        (
            lambda: ec.plot.save("x.svg", ec.plot.forest(BY_GROUP, "nec")),
            TypeError,
            ["a str is no chart", "then the path"],
        ),
        (
            lambda: ec.plot.save(ec.plot.forest(BY_GROUP, "nec"), "none/x.svg"),
            FileNotFoundError,
            ["there is no folder 'none'"],
        ),
    ],
)
def test_errors_say_the_way_out(call, error, words):
    with pytest.raises(error) as raised:
        call()
    for word in words:
        assert word in str(raised.value)


def test_what_vega_warns_of_is_seen():
    spec = ec.plot.forest(BY_GROUP, "nec").to_dict()
    spec["layer"][1]["encoding"]["bogus"] = {"field": "x"}
    with pytest.raises(AssertionError, match="bogus"):
        drawn_in_silence(spec)
