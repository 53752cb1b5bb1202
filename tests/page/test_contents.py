"""The tables of a page: their numbers by NumPy, and that there is a page for every log."""

import datetime as dt
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.page import sources
from polars_ec.page.contents import Contents, sentences
from polars_ec.page.layout import ModelsView, figures, group_rows
from tests.support.pages import of_models
from tests.support.pages import one_model as contents_of

COST_FN = 4.0
SEGMENTS = {"a": 900, "b": 700, "c": 500, "d": 300}


def make_log(seed: int = 0) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    n = sum(SEGMENTS.values())
    label = generator.random(n) < 0.25
    log_odds = 1.5 * (2 * label - 1 + generator.normal(size=n)) - 1
    vector = generator.dirichlet([1, 1, 1], n)
    return pl.DataFrame(
        {
            "segment": np.repeat(list(SEGMENTS), list(SEGMENTS.values())),
            "month": [dt.date(2024, 1 + i % 4, 1) for i in range(n)],
            "user": generator.integers(0, 300, n),
            "p": 1 / (1 + np.exp(-log_odds)),
            "log_odds": log_odds,
            "y": label,
            "q": vector,
            "k": [generator.choice(3, p=row) for row in vector],
            "cost": generator.random(n) * 5 + 1,
        },
        schema_overrides={"q": pl.Array(pl.Float64, 3)},
    )


LOG = make_log()


def contents(log=LOG, score="p", label="y", by="segment", period="month", **given) -> Contents:
    options = {name: given.pop(name) for name in [*given] if name in OPTIONS}
    return contents_of(log, score, label, by=() if by is None else by, period=period, **given, options=options)


OPTIONS = ("costs", "cost_fn", "cost_fp", "threshold", "score_type", "weight", "pos_label", "classes")


def nec(rows: pl.DataFrame, prior: float | None = None) -> float:
    """The cost of Bayes decisions, by rates and shares, over that of the cheaper constant decision."""
    positive, label = rows["p"].to_numpy() > 1 / (1 + COST_FN), rows["y"].to_numpy()
    share = label.mean() if prior is None else prior
    cost = share * COST_FN * (~positive[label]).mean() + (1 - share) * positive[~label].mean()
    return cost / min(share * COST_FN, 1 - share)


def at(**values) -> pl.DataFrame:
    return LOG.filter(**values)


NO_MONTH = LOG.with_columns(month=pl.when(pl.int_range(pl.len()) >= 10).then("month"))


@pytest.fixture(scope="module")
def page() -> Contents:
    return contents(NO_MONTH, cost_fn=COST_FN, cluster="user", reference=dt.date(2024, 2, 1))


@pytest.mark.slow
def test_groups_and_their_total_are_those_of_the_rows(page) -> None:
    made = page
    assert made.groups["segment"].to_list() == ["a", "b", "c", "d"]
    assert made.groups["n"].to_list() == list(SEGMENTS.values())
    share = LOG["y"].mean()
    assert made.prior == pytest.approx(share, rel=1e-12)
    assert made.groups["nec"].to_list() == pytest.approx([nec(at(segment=s)) for s in SEGMENTS], rel=1e-12)
    of_prior = [nec(at(segment=s), share) for s in SEGMENTS]
    assert made.groups["nec_at_prior"].to_list() == pytest.approx(of_prior, rel=1e-12)
    assert made.total["nec"].item() == pytest.approx(nec(LOG), rel=1e-12)
    assert made.total.columns == [name for name in made.groups.columns if name != "segment"]
    for name in ("nec", "nec_at_prior", "nce", "precision", "auc_roc", "rcl"):
        assert (made.groups[f"{name}_ci_low"] <= made.groups[name]).all()
        assert (made.groups[f"{name}_ci_high"] >= made.groups[name]).all()
    assert made.metrics[0] == "nec"
    assert made.notes == ["10 rows have no month. They count for their group and for the whole log, but for no period."]


def test_trends_are_those_of_the_rows_and_leave_out_rows_without_a_period(page) -> None:
    log, made = NO_MONTH, page
    assert made.trend is not None
    assert made.trend_total is not None
    months = sorted(set(LOG["month"]))
    assert made.trend.select("segment", "month").rows() == [(s, m) for s in SEGMENTS for m in months]
    expected = [nec(log.filter(segment=s, month=m)) for s in SEGMENTS for m in months]
    assert made.trend["nec"].to_list() == pytest.approx(expected, rel=1e-12)
    assert made.trend_total["nec"].to_list() == pytest.approx([nec(log.filter(month=m)) for m in months], rel=1e-12)
    assert made.groups["n"].sum() == LOG.height


def test_the_rest_of_a_group_are_all_other_rows(page) -> None:
    rest = page.rest
    assert rest is not None
    for row in rest.to_dicts():
        others = LOG.filter(pl.col("segment") != row["segment"])
        # Both at the prior of the whole log.
        assert row["value"] == pytest.approx(nec(at(segment=row["segment"]), page.prior), rel=1e-12)
        assert row["value_reference"] == pytest.approx(nec(others, page.prior), rel=1e-12)


def test_periods_are_compared_with_all_others_at_the_reference_prior(page) -> None:
    periods = page.periods
    assert periods is not None
    assert periods["month"].to_list() == sorted(set(LOG["month"]))
    for row in periods.to_dicts():
        month, others = (
            NO_MONTH.filter(rows) for rows in (pl.col("month") == row["month"], pl.col("month") != row["month"])
        )
        assert row["value"] == pytest.approx(nec(month, page.prior), rel=1e-12)
        assert row["value_reference"] == pytest.approx(nec(others, page.prior), rel=1e-12)
    two = contents(LOG.filter(pl.col("month") < dt.date(2024, 3, 1)), cost_fn=COST_FN, metrics=["nec"])
    assert two.periods is None


@pytest.mark.parametrize("cost_fn", [4, pytest.param("cost", marks=pytest.mark.slow)], ids=["sketch", "rows"])
def test_a_collapse_in_one_month_is_a_finding(cost_fn: float | str) -> None:
    in_march = pl.col("month") == dt.date(2024, 3, 1)
    bad = LOG.with_columns(p=pl.when(in_march).then(1 - pl.col("p")).otherwise("p"))
    collapse = [s.text for s in sentences(contents(bad, cost_fn=cost_fn, metrics=["nec"])) if "periods" in s.text]
    assert collapse[0].startswith(
        "1 of 4 periods is significantly worse than all others (NEC at the reference prior): 2024-03 (+"
    )
    calm = [s.text for s in sentences(contents(cost_fn=cost_fn, metrics=["nec"])) if "periods" in s.text]
    assert calm == ["None of 4 periods is significantly worse than all others (NEC at the reference prior)."]


def test_groups_with_other_base_rates_are_not_called_worse() -> None:
    """The same model in every group: only the base rate differs, which moves NEC and is no fault of the model."""
    generator = np.random.default_rng(1)
    n = 30_000
    segment = generator.integers(0, 3, n)
    label = generator.random(n) < np.array([0.1, 0.2, 0.4])[segment]
    p = 1 / (1 + np.exp(-(generator.normal(4 * label - 2, 2) + np.log(0.25))))
    made = contents(pl.DataFrame({"segment": segment, "p": p, "y": label}), period=None, cost_fn=5, metrics=["nec"])
    own = made.groups["nec"]
    assert own.max() - own.min() > 0.2
    texts = [s.text for s in sentences(made)]
    assert "None of 3 groups differs significantly from all others (NEC at the reference prior)." in texts


@pytest.mark.slow
def test_several_models_are_compared_with_the_first_on_the_same_rows() -> None:
    blunt = LOG.with_columns(other=1 / (1 + (1 / pl.col("p") - 1) ** 0.2), segment=pl.lit("a"))
    first, second = of_models(blunt, ["p", "other"], "y", metrics=["nec"], cluster="user", options={"cost_fn": COST_FN})
    assert (first.model, second.model) == ("p", "other")
    other = nec(LOG.with_columns(p=blunt["other"]))
    assert second.total["nec"].item() == pytest.approx(other, rel=1e-12)
    assert first.versus.is_empty()
    assert second.versus["difference"].item() == pytest.approx(other - nec(LOG), rel=1e-9)
    sketch = blunt.ec.sketch(["p", "other"], "y", cluster="user", cost_fn=COST_FN)
    of_cells = of_models(sketch, None, None, metrics=["nec"], options={})
    by_name = {of_model.model: of_model for of_model in of_cells}
    assert set(by_name) == {"p", "other"}
    view = ModelsView.of([first, second])
    assert view.headline == (f"Model p has the lowest NEC at the reference prior, {nec(LOG):.3f}.")
    assert [row.name for row in view.rows] == ["p", "other"]
    assert view.findings == []
    without = of_models(blunt.ec.sketch(["p", "other"], "y", cost_fn=COST_FN), None, None, metrics=["nec"], options={})
    assert all(of_model.notes[0].startswith("The models are not compared: ") for of_model in without)
    assert "significant" not in ModelsView.of(without).headline


@pytest.mark.quick("sketch")
@pytest.mark.parametrize("source", ["rows", "sketch"])
def test_a_model_that_is_worse_in_one_group_is_a_finding(source: str) -> None:
    jittered = pl.col("p") * (0.9 + 0.2 * (ROWS % 7) / 6)
    log = LOG.with_columns(other=pl.when(segment="a").then(1 - pl.col("p")).otherwise(jittered.clip(0, 1)))
    given = {"metrics": ["nec"], "options": {"cost_fn": COST_FN}}
    if source == "rows":
        models = of_models(log, ["p", "other"], "y", by="segment", **given)
    else:
        models = of_models(
            log.ec.sketch(["p", "other"], "y", by="segment", cluster="user", cost_fn=COST_FN), None, None, **given
        )
    names = [of_model.model for of_model in models]
    (text,) = [finding.text for finding in ModelsView.of(models).findings]
    # Of a sketch the models are sorted.
    assert text.startswith(
        f"1 of 4 groups differs significantly if {names[1]} replaces {names[0]} (NEC at the reference prior)."
    )
    assert f"{'Worse' if names[1] == 'other' else 'Better'}: a (" in text


@pytest.mark.slow
def test_changes_are_of_the_last_month_with_labels_against_the_reference() -> None:
    # Segment b ends in February, and of c the labels of the last two months are not there yet.
    ended = LOG.filter((pl.col("segment") != "b") | (pl.col("month") < dt.date(2024, 3, 1)))
    late = (pl.col("segment") == "c") & (pl.col("month") > dt.date(2024, 2, 1))
    made = contents(ended.with_columns(y=pl.when(~late).then("y")), cost_fn=COST_FN, metrics=["nec"])
    assert made.reference == dt.date(2024, 1, 1)
    changes = made.changes
    assert changes is not None
    ends = dict(changes.select("segment", "month").rows())
    assert ends == {s: dt.date(2024, 2 if s in "bc" else 4, 1) for s in SEGMENTS}
    for row in changes.to_dicts():
        assert row["value"] == pytest.approx(nec(at(segment=row["segment"], month=row["month"]), made.prior), rel=1e-12)
        begin = nec(at(segment=row["segment"], month=made.reference), made.prior)
        assert row["value_reference"] == pytest.approx(begin, rel=1e-12)
    p, m = changes["p_value"].sort().to_numpy(), changes.height
    stepped = np.minimum.accumulate((p * m / np.arange(1, m + 1))[::-1])[::-1]
    assert changes["p_adjusted"].sort().to_list() == pytest.approx(np.minimum(stepped, 1).tolist(), rel=1e-9)


@pytest.mark.quick("rows")
@pytest.mark.parametrize("given", [{"cost_fn": COST_FN}, {"cost_fn": "cost"}], ids=["sketch", "rows"])
def test_changes_are_of_periods_after_the_reference(given: dict) -> None:
    # Segment b ends in February.
    ended = LOG.filter((pl.col("segment") != "b") | (pl.col("month") < dt.date(2024, 3, 1)))
    made = contents(ended, metrics=["nec"], reference=dt.date(2024, 3, 1), **given)
    assert made.changes is not None
    assert set(made.changes.drop_nulls("difference").select("segment", "month").rows()) == {
        (s, dt.date(2024, 4, 1)) for s in "acd"
    }
    none = contents(ended, metrics=["nec"], reference=dt.date(2024, 4, 1), **given)
    texts = [s.text for s in sentences(none)]
    assert "There is no period after 2024-04, so there is no change to judge." in texts
    assert not any("changed" in text or " rose " in text or " fell " in text for text in texts)


@pytest.mark.quick("rows")
@pytest.mark.parametrize("given", [{"cost_fn": COST_FN}, {"cost_fn": "cost"}], ids=["sketch", "rows"])
def test_one_group_has_no_other_shares_of_groups(given: dict) -> None:
    made = contents(LOG.filter(segment="a"), metrics=["nec"], interval=0.975, **given)
    assert made.history is not None
    assert not any(column.count() for column in made.history if column.name.startswith("mix"))
    assert not any("mix of groups" in s.text for s in sentences(made))
    assert made.options["Confidence level"] == "97.5%"


@pytest.mark.quick("rows")
@pytest.mark.parametrize("cost_fn", [COST_FN, "cost"], ids=["sketch", "rows"])
def test_the_foot_names_weight_and_positive_label(cost_fn: float | str) -> None:
    made = contents(
        LOG.head(400), by=None, period=None, metrics=["nec"], cost_fn=cost_fn, weight="cost", pos_label=False
    )
    assert made.options["Weight"] == "cost"
    assert made.options["Positive label"] == "False"
    assert "Weight" not in contents(LOG.head(400), by=None, period=None, metrics=["nec"], cost_fn=cost_fn).options


def test_history_is_of_all_rows_with_groups_as_strata(page) -> None:
    history = page.history
    assert history is not None
    assert history["month"].to_list() == [dt.date(2024, m, 1) for m in (1, 3, 4)]
    begin = nec(NO_MONTH.filter(month=dt.date(2024, 2, 1)))
    expected = [nec(NO_MONTH.filter(month=month)) - begin for month in history["month"]]
    assert history["difference"].to_list() == pytest.approx(expected, abs=1e-12)
    parts = history.select(pl.sum_horizontal("mix", "prior", "likelihood")).to_series()
    assert parts.to_list() == pytest.approx(expected, abs=1e-9)


def test_more_classes_have_tables_of_their_rows() -> None:
    made = contents(score="q", label="k", metrics=["nec"])
    wrong = LOG.select(pl.col("q").arr.arg_max().cast(pl.Int64) != pl.col("k")).to_series().to_numpy()
    groups = LOG["segment"].to_numpy()
    label = LOG["k"].to_numpy()

    def of(rows: np.ndarray, shares: np.ndarray | None = None) -> float:
        shares = np.bincount(label[rows], minlength=3) / rows.sum() if shares is None else shares
        errors = sum(share * wrong[rows & (label == k)].mean() for k, share in enumerate(shares))
        return errors / (1 - shares.max())

    assert made.groups["nec"].to_list() == pytest.approx([of(groups == s) for s in SEGMENTS], rel=1e-12)
    assert made.total["nec"].item() == pytest.approx(of(groups != ""), rel=1e-12)
    assert made.curves is None
    assert made.prior is None
    assert made.rest is not None
    log = np.bincount(label) / label.size
    assert made.rest["value_reference"].to_list() == pytest.approx([of(groups != s, log) for s in SEGMENTS], rel=1e-9)
    assert made.changes is not None
    assert made.changes["month"].unique().to_list() == [dt.date(2024, 4, 1)]
    month = LOG["month"].to_numpy()
    ends = [of((groups == s) & (month == np.datetime64("2024-04-01")), log) for s in SEGMENTS]
    assert made.changes["value"].to_list() == pytest.approx(ends, rel=1e-9)


def test_costs_of_each_row_have_tables_of_their_rows() -> None:
    made = contents(cost_fn="cost", metrics=["nec"], period=None)
    assert made.curves is None
    assert any("the same costs and threshold for all" in note for note in made.notes)
    assert made.options["Scores"] == "posterior"
    rows = at(segment="a")
    cost, p, y = (rows[name].to_numpy() for name in ("cost", "p", "y"))
    decided = p > 1 / (1 + cost)
    total = (cost * (y & ~decided) + (~y & decided)).sum()
    expected = total / min((cost * y).sum(), (~y).sum())
    assert made.groups["nec"][0] == pytest.approx(expected, rel=1e-12)


@pytest.fixture(scope="module")
def through_polars() -> Contents:
    return contents(cost_fn=COST_FN, metrics=["nec"], period=None)


@pytest.mark.quick("duckdb", "sketch")
@pytest.mark.parametrize(
    "door", ["reader", "duckdb", "sketch", *(pytest.param(door, marks=pytest.mark.slow) for door in ("lazy", "pandas"))]
)
def test_a_log_has_the_same_page_through_every_door(door: str, through_polars) -> None:
    log = LOG.select("segment", "p", "y")
    doors = {
        "lazy": lambda: log.lazy(),
        "pandas": lambda: log.to_pandas(),
        "reader": lambda: log.to_arrow().to_reader(),
        "duckdb": lambda: duckdb.connect().from_arrow(log.to_arrow()),
        "sketch": lambda: log.ec.sketch("p", "y", by="segment", resolution=16, cost_fn=COST_FN),
    }
    if door == "sketch":
        made = contents_of(doors[door](), None, None, metrics=["nec"], options={})
    else:
        made = contents(doors[door](), cost_fn=COST_FN, metrics=["nec"], period=None)
    for name in ("groups", "total", "rest"):
        assert_frame_equal(getattr(made, name), getattr(through_polars, name), rel_tol=1e-9)
    assert [s.text for s in sentences(made)] == [s.text for s in sentences(through_polars)]


ROWS = pl.int_range(pl.len())
LOGS = {
    "empty": LOG.clear(),
    "of one class": LOG.filter("y"),
    "of one group": LOG.filter(segment="a"),
    "of one month": LOG.filter(month=dt.date(2024, 1, 1)),
    "with wrong rows": LOG.with_columns(p=pl.when(ROWS < 3).then(float("nan")).otherwise("p")),
    "without labels": LOG.with_columns(y=pl.lit(None, pl.Boolean)),
    "without groups": LOG.with_columns(segment=pl.lit(None, pl.String)),
    "of two rows": LOG.head(2),
}


QUICK = [
    ("empty", "posterior"),
    ("of one class", "posterior"),
    ("with wrong rows", "posterior"),
    ("without labels", "row costs"),
]
KINDS = ("posterior", "llr", "raw", "row costs")
OTHERS = [pytest.param(*pair, marks=pytest.mark.slow) for pair in product(LOGS, KINDS) if pair not in QUICK]


@pytest.mark.quick("empty-*", "with wrong rows-*")
@pytest.mark.parametrize(("what", "kind"), [*QUICK, *OTHERS])
def test_every_log_has_a_page(what: str, kind: str) -> None:
    log = LOGS[what]
    of_kind = {"posterior": {"metrics": ["nec"]}, "row costs": {"cost_fn": "cost"}}
    given = of_kind.get(kind, {"score": "log_odds", "score_type": kind})
    made = contents(log, **given)
    assert made.total.height == 1
    assert made.total["n"].item() <= log.height
    assert all(sentence.text.endswith(".") for sentence in sentences(made))
    assert made.costly == []


@pytest.mark.quick("given1-*", "given2-*")
@pytest.mark.parametrize(
    ("given", "main", "note"),
    [
        pytest.param(
            {"score": "log_odds", "score_type": "llr", "prior": 0.1}, "nec", "Intervals", marks=pytest.mark.slow
        ),
        ({"score": "log_odds", "score_type": "llr", "prior": None}, "cllr", "Intervals"),
        ({"score": "log_odds", "score_type": "raw"}, "auc_roc", "Changes are not shown"),
        pytest.param(
            {"score": "log_odds", "score_type": "raw", "threshold": 0.0}, "nec", "Intervals", marks=pytest.mark.slow
        ),
        ({"score": "p", "metrics": ["f1", "auc_roc"]}, "f1", "RCL is too high"),
    ],
)
def test_what_scores_do_not_tell_is_left_out_and_said(given: dict, main: str, note: str) -> None:
    made = contents(**given, by=None)
    assert made.metrics[0] == main
    assert any(text.startswith(note) for text in made.notes), made.notes


@pytest.mark.slow
def test_a_sketch_decides_where_the_page_says() -> None:
    sketch = LOG.ec.sketch("p", "y", by=["segment", "month"], thresholds=[1 / (1 + COST_FN)])
    assert sketch.evaluate("nec")["nec"][0] != nec(LOG)
    made = contents_of(sketch, None, None, metrics=["nec"], options={"cost_fn": COST_FN})
    assert made.total["nec"].item() == pytest.approx(nec(LOG), rel=1e-12)
    assert made.curves is not None
    assert made.curves.costs == ec.CostMatrix.binary(COST_FN)
    # What is not declared is within bounds only.
    other = contents_of(sketch, None, None, by=["segment"], options={"cost_fn": 9})
    assert other.metrics == ["nce", "nbs", "auc_roc"]
    assert other.notes[0].startswith("Left out: nec, precision, f1, recall, known only within bounds")
    with pytest.raises(ec.SketchError, match="nec is known only within bounds"):
        contents_of(sketch, None, None, metrics=["nec"], options={"cost_fn": 9})


def test_days_become_months() -> None:
    log = LOG.with_columns(day=pl.col("month").dt.offset_by("7d"))
    sketch = log.ec.sketch("p", "y", by=["segment", "day"])
    made = contents_of(sketch, None, None, period=pl.col("day").dt.truncate("1mo"), metrics=["nec"], options={})
    assert made.keys == ["segment"]
    assert made.trend_total is not None
    assert made.trend_total["day"].to_list() == [dt.date(2024, m, 1) for m in (1, 2, 3, 4)]


def test_one_of_the_models_has_a_page() -> None:
    two = LOG.with_columns(other=1 - pl.col("p")).ec.sketch(["p", "other"], "y", by="segment")
    one = contents_of(two.filter(pl.col("score") == "p"), None, None, metrics=["nec"], options={})
    assert one.keys == ["segment"]


@pytest.mark.parametrize("prior", ["overall", pytest.param(0.2, marks=pytest.mark.slow)])
def test_classes_have_a_table(prior: float | str) -> None:
    sketch = LOG.ec.sketch("q", "k", by="segment")
    made = of_models(sketch, None, None, metrics=["nec"], prior=prior, options={})
    assert [(of_class.noun, of_class.model) for of_class in made] == [("Class", str(k)) for k in range(3)]
    nec = [ec.nec(pl.col("q").arr.get(k), pl.col("k") == k).alias(str(k)) for k in range(3)]
    own = LOG.select(nec).row(0)
    assert [of_class.total["nec"].item() for of_class in made] == pytest.approx(own, rel=1e-12)
    view = ModelsView.of(made)
    columns = [column.name for column in view.columns]
    assert columns[:2] == (["nec", "nec_at_prior"] if prior == 0.2 else ["nec", "rcl"])
    assert "versus" not in columns
    if prior == "overall":
        worst, best = np.argmax(own), np.argmin(own)
        extremes = f"{worst} has the highest NEC, {own[worst]:.3f}, and {best} the lowest, {own[best]:.3f}."
        assert view.headline == f"Each class against the rest: {extremes}"
        assert view.best == worst


def test_classes_that_are_too_many_for_a_page(monkeypatch) -> None:
    monkeypatch.setattr(sources, "_MOST_CLASSES", 2)
    sketch = LOG.ec.sketch("q", "k")
    with pytest.raises(ec.SketchError, match=r"has 3 classes, and a page shows at most 2: pass sketch.filter"):
        of_models(sketch, None, None, options={})
    one = contents_of(sketch.filter(pl.col("target") == 1), None, None, metrics=["nec"], options={})
    assert one.total["n"].item() == LOG.height
    models = LOG.with_columns(r="q").ec.sketch(["q", "r"], "k")
    with pytest.raises(ec.SketchError, match="has 2 models of 3 classes, and a page shows the classes of one model"):
        of_models(models, None, None, options={})


@pytest.mark.slow
def test_of_many_groups_trends_are_of_the_largest_and_the_worst(monkeypatch) -> None:
    monkeypatch.setattr(sources, "_MOST_IN_TRENDS", 8)
    monkeypatch.setattr(sources, "_MOST_CALIBRATED", 2)
    log = LOG.with_columns(p=pl.when(segment="d").then(1 - pl.col("p")).otherwise("p"))
    made = contents(log, cost_fn=COST_FN, metrics=["nec"])
    assert made.trend is not None
    assert made.trend["segment"].unique().sort().to_list() == ["a", "d"]
    assert made.groups["rcl_ci_low"].is_null().to_list() == [False, False, True, True]
    assert made.groups["rcl"].null_count() == 0
    assert any("2 of 4 groups have a trend" in note for note in made.notes)
    assert any("Only the 2 largest groups have" in note for note in made.notes)
    assert made.changes is not None
    assert made.changes.height == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": None}, "label= is left out"),
        ({"reference": "previous"}, "pass its value"),
        ({"reference": dt.date(2024, 1, 1), "period": None}, "is a period, and the page has none"),
        ({"reference": dt.date(2030, 1, 1)}, r"is not a group of month\. There are 2024-01-01"),
        ({"by": ["segment", "month"]}, "which is the period: leave it out there"),
        ({"prior": pl.col("p")}, "one prior for all groups"),
        ({"prior": 3}, "is not a share between 0 and 1"),
        ({"buckets": 50, "cluster": "user"}, "too few for p-values"),
        ({"buckets": 200}, "pass cluster="),
        ({"interval": None}, "is not a level between 0 and 1"),
        ({"metrics": ["ece"]}, "has no confidence interval near perfect calibration"),
        ({"metrics": ["nec", "confusion"]}, "is a count"),
        ({"metrics": ["nonsense"]}, "is not a metric"),
        ({"min_rows": -1}, "min_rows=-1"),
        ({"period": ["segment", "month"]}, "it takes one column"),
    ],
)
def test_what_makes_no_page_is_refused(given: dict, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        contents(**given)


@pytest.mark.parametrize("name", ["score", "label", "cluster", "weight"])
def test_what_a_sketch_has_is_not_stated_again(name: str) -> None:
    sketch = LOG.ec.sketch("p", "y", by="segment")
    given = {"score": None, "label": None, "options": {"weight": "w"} if name == "weight" else {}}
    if name != "weight":
        given[name] = "x"
    with pytest.raises(TypeError, match=f"{name}='.' describes rows"):
        contents_of(sketch, given.pop("score"), given.pop("label"), **given)


WRONG = LOG.with_columns(
    p=pl.when(ROWS.is_in([901, 902])).then(1.5).otherwise("p"),
    llr=pl.when(ROWS.is_in([901, 902])).then(float("nan")).otherwise("log_odds"),
)
RIGHT = LOG.filter(pl.col("segment") != "b")


@pytest.mark.quick("rows")
@pytest.mark.parametrize(
    "given",
    [
        {"cost_fn": COST_FN},
        {"cost_fn": pl.lit(COST_FN) + 0 * pl.col("log_odds")},
        pytest.param({"score": "llr", "score_type": "llr"}, marks=pytest.mark.slow),
        {"score": "llr", "score_type": "llr", "cost_fn": pl.lit(COST_FN) + 0 * pl.col("log_odds")},
    ],
    ids=["sketch", "rows", "llr", "rows of llr"],
)
def test_invalid_rows_of_a_group_leave_the_others_judged(given: dict) -> None:
    made = contents(WRONG, metrics=["nec"], **given)
    alone = contents(RIGHT.with_columns(llr="log_odds"), metrics=["nec"], **given)
    is_b = pl.col("segment") == "b"
    # Whatever is said of the other groups is what a log without the group says; of the group, and of all rows, nothing is known.
    for name in ("groups", "rest", "changes"):
        found, expected = (getattr(table, name).filter(~is_b).sort("segment") for table in (made, alone))
        if name == "changes":
            # Adjusted among as many groups as there are.
            found, expected = found.drop("p_adjusted"), expected.drop("p_adjusted")
        assert_frame_equal(found.select(expected.columns), expected, rel_tol=1e-9)
    assert made.rest is not None
    assert made.rest["difference"].null_count() == 0
    if isinstance(given.get("cost_fn"), float):
        others = [nec(RIGHT.filter(pl.col("segment") != s), made.prior) for s in "acd"]
        assert made.rest.sort("segment")["value_reference"].to_list() == pytest.approx(others, rel=1e-12)
    assert made.groups.filter(is_b).select("nec", "nec_at_prior").row(0) == (None, None)
    assert made.total["nec"].item() is None
    assert made.prior == alone.prior == pytest.approx(RIGHT["y"].mean(), rel=1e-12)
    texts = [s.text for s in sentences(made)]
    assert any("of 3 groups with enough rows differ" in text for text in texts)
    assert texts[-1] == (
        "1 of 4 groups has invalid rows. Comparisons, curves and the prior of the whole log leave it out, and there are no values for all "
        "rows together."
    )
    if isinstance(given.get("cost_fn"), float):
        assert {figure.id for figure in figures(made)} >= {"roc", "reliability", "cost_curve", "pr"}
    cell = {column.name: cell for column, cell in group_rows(made, [1], made.labels, None)[0].cells}["rest"]
    assert (cell.text, cell.why) == ("–", "not known: 2 invalid rows")


def nec_by_row(rows: pl.DataFrame, prior: float | None = None) -> float:
    """What the errors of Bayes decisions cost, each its row's cost, over what the cheaper constant decision costs."""
    cost, label = rows["cost"].to_numpy(), rows["y"].to_numpy()
    positive = rows["p"].to_numpy() > 1 / (1 + cost)
    share = label.mean() if prior is None else prior
    of_positives, of_negatives = share / label.sum(), (1 - share) / (~label).sum()
    costs = of_positives * cost[label & ~positive].sum() + of_negatives * (positive & ~label).sum()
    return costs / min(of_positives * cost[label].sum(), of_negatives * (~label).sum())


@pytest.mark.parametrize("cost", [None, -1.0])
def test_rows_without_a_cost_leave_the_other_groups_judged(cost: float | None) -> None:
    given = {"metrics": ["nec"], "cost_fn": "cost", "period": None}
    made = contents(LOG.with_columns(cost=pl.when(ROWS.is_in([901, 902])).then(cost).otherwise("cost")), **given)
    alone = contents(RIGHT, **given)
    assert made.rest is not None
    assert made.rest["segment"].sort().to_list() == alone.rest["segment"].sort().to_list()
    others = [nec_by_row(RIGHT.filter(pl.col("segment") != s), LOG["y"].mean()) for s in "acd"]
    assert made.rest.sort("segment")["value_reference"].to_list() == pytest.approx(others, rel=1e-12)
    assert made.groups.filter(pl.col("segment") == "b")["nec"].to_list() == [None]
    # The classes of these rows are known, and so is the prior of the whole log.
    assert made.prior == pytest.approx(LOG["y"].mean(), rel=1e-12)
    assert made.notes[-1] == (
        "2 rows without a valid cost or threshold. b: no metrics of decisions and no comparison with all others."
    )
    assert not any("without a valid cost" in note for note in alone.notes)
    # Losses need no cost.
    losses = contents(LOG.with_columns(cost=cost), **{**given, "metrics": ["nce"]})
    assert losses.rest["difference"].null_count() == 0


@pytest.mark.quick("rows", "costs")
@pytest.mark.parametrize(
    ("given", "wrong"),
    [({"cost_fn": COST_FN}, {"p": 1.5}), ({"cost_fn": "cost"}, {"p": 1.5}), ({"cost_fn": "cost"}, {"cost": -1.0})],
    ids=["sketch", "rows", "costs"],
)
def test_one_group_that_is_left_is_compared_with_no_others(given: dict, wrong: dict) -> None:
    two = LOG.filter(pl.col("segment").is_in(["a", "b"]))
    (name, value), is_wrong = *wrong.items(), (pl.col("segment") == "b") & (pl.int_range(pl.len()).over("segment") < 2)
    made = contents(two.with_columns(pl.when(is_wrong).then(value).otherwise(name).alias(name)), period=None, **given)
    assert made.rest is None
    values, a = dict(made.groups.select("segment", "nec").iter_rows()), two.filter(pl.col("segment") == "a")
    assert values["b"] is None
    assert values["a"] == pytest.approx(nec(a) if given["cost_fn"] == COST_FN else nec_by_row(a), rel=1e-12)
