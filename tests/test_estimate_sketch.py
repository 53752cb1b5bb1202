"""Sketches that keep the rows without a label: their estimates are those from the rows, and their metrics those of any sketch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.sketches import cells
from polars_ec.sketches.cells import Cells
from polars_ec.sketches.files import read_tables
from tests.support.estimates import by_sketches, through_file
from tests.support.sketch_files import described, restated

RNG = np.random.default_rng(11)
N = 900
Z = RNG.normal(-1, 1.5, N)
LOG = pl.DataFrame(
    {
        "month": np.repeat([1, 2, 3], N // 3),
        "g": np.tile(["a", "b", None], N // 3),
        "p": np.round(1 / (1 + np.exp(-Z)), 3),
        "q": 1 / (1 + np.exp(-0.5 * Z)),
        "y": RNG.random(N) < 1 / (1 + np.exp(-0.7 * Z)),
        "w": RNG.choice([0.0, 0.5, 1.0, 3.0], N),
        "user": RNG.integers(0, 60, N),
    }
)
# Month 2 has a third of its labels, and month 3 none; some rows have no score, no weight or no cluster.
AT = pl.int_range(pl.len())
COMING = LOG.with_columns(
    y=pl.when((pl.col("month") == 1) | ((pl.col("month") == 2) & (AT // 3 % 3 == 0))).then("y"),
    p=pl.when(AT % 50 != 7).then("p"),
    w=pl.when(AT % 60 != 8).then("w"),
    user=pl.when(AT % 4 != 1).then("user"),
)
TEXT = pl.when("y").then(pl.lit("yes")).when(~pl.col("y")).then(pl.lit("no"))


def sketch(log: pl.DataFrame = COMING, by: Any = ("month", "g"), **options: Any) -> ec.Sketch:
    return log.ec.sketch("p", "y", by=by, unlabelled=True, **options)  # type: ignore[no-any-return]


# Estimates.


@pytest.mark.quick("options3", "options9")
@pytest.mark.parametrize(
    "options",
    [
        {"cost_fn": 5, "by": "g"},
        {"weight": "w"},
        {"cluster": "user", "buckets": 20, "by": "g"},
        {"cluster": "user", "weight": "w", "shift_prior": "em", "reference": 2, "labelled": 0.3},
        {"shift_prior": "em"},
        {"calibrator": "pav", "prior": 0.2},
        {"calibrator": "histogram", "threshold": 0.25, "seed": 3},
        {"calibrator": None, "cost_fn": 3, "cost_fp": 2},
        {"score": "z", "score_type": "log_odds"},
        {"label": "text", "pos_label": "yes", "by": "g"},
        {"label": "text", "classes": ["no", "yes"]},
        {"label": "none", "calibrator": None},
        {"score": ["p", "q"], "by": "g"},
        {"metrics": ["mcc", "brier", "fpr"]},
    ],
)
def test_estimates_of_merged_files_are_those_from_rows(options: dict[str, Any]) -> None:
    texts = {"text": TEXT, "none": pl.lit(None, pl.Boolean), "z": (pl.col("p") / (1 - pl.col("p"))).log()}
    log = COMING.with_columns(**texts)
    call: dict[str, Any] = {"score": "p", "label": "y", "period": "month", "replicates": 12, **options}
    found, expected = by_sketches(log, **call), ec.estimate(log, **call)
    assert expected["value"].count() > 4
    assert_frame_equal(found, expected, rel_tol=1e-11, abs_tol=1e-12)


def test_other_bins_are_within_their_error() -> None:
    exact = ec.estimate(COMING, "p", "y", period="month", interval=None, metrics=["auc_roc", "recall", "nce"])
    found = sketch(by="month", resolution=8).estimate("auc_roc", "recall", "nce", period="month", interval=None)
    assert found["value"].drop_nulls().to_list() == pytest.approx(exact["value"].drop_nulls().to_list(), abs=0.02)


@pytest.mark.slow
def test_a_period_is_sketched_again_when_its_labels_come() -> None:
    months = {month: sketch(COMING.filter(month=month)) for month in (1, 2, 3)}
    call: dict[str, Any] = {"period": "month", "replicates": 10}
    before = ec.merge([*months.values()]).estimate("nec", **call)
    assert before.filter(month=2)["observed"].null_count() == 3
    months[2] = sketch(LOG.filter(month=2))
    after = months[3] + months[2] + months[1]
    now = COMING.with_columns(y=pl.when(pl.col("month") == 2).then(LOG["y"]).otherwise("y"))
    now = now.with_columns(p=pl.when(pl.col("month") == 2).then(LOG["p"]).otherwise("p"))
    assert_frame_equal(
        after.estimate("nec", **call).drop("model"),
        ec.estimate(now, "p", "y", by="g", metrics=["nec"], **call).drop("model"),
        rel_tol=1e-11,
    )


def test_groups_are_rolled_up_and_filtered() -> None:
    whole = sketch(by=["month", "g"], folds=3, fold_by="user")
    call: dict[str, Any] = {"period": "month", "interval": None}
    rows: dict[str, Any] = {"score": "p", "label": "y", "metrics": ["nec", "nce"], **call}
    assert_frame_equal(
        whole.group_by("month").estimate("nec", "nce", **call).drop("model"),
        ec.estimate(COMING, **rows).drop("model"),
        rel_tol=1e-11,
    )
    assert_frame_equal(
        whole.filter(pl.col("g") == "a").estimate("nec", "nce", **call).drop("model"),
        ec.estimate(COMING.filter(g="a"), by="g", **rows).drop("model"),
        rel_tol=1e-11,
    )


# Everything else does as if these rows had been left out.


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "user", "buckets": 100}])
def test_other_methods_count_them_as_rows_with_missing_values(options: dict[str, Any]) -> None:
    kept, plain = sketch(**options), COMING.ec.sketch("p", "y", by=["month", "g"], **options)
    assert_frame_equal(kept.frame, plain.frame)
    assert_frame_equal(kept.sums, plain.sums)
    assert (kept.coarse is None) == (plain.coarse is None)
    if kept.coarse is not None:
        assert_frame_equal(kept.coarse, plain.coarse)
    for ask in (
        lambda one: one.evaluate("nec", "auc_roc", "tp", interval=0.9),
        lambda one: one.compare("nec", reference={"month": 1, "g": "a"}),
        lambda one: one.drift("nec", period="month"),
        lambda one: one.calibrate().frame,
        lambda one: one.roc(),
        lambda one: (one + one).group_by("g").evaluate("nce"),
        lambda one: one.filter(pl.col("month") < 3).evaluate("nce"),
    ):
        assert_frame_equal(ask(kept), ask(plain))
    assert "unlabelled" in repr(kept)
    assert "unlabelled" not in repr(plain)


@pytest.mark.parametrize("values", [2**22, 50])
def test_windows_do_without_them(monkeypatch: pytest.MonkeyPatch, values: int) -> None:
    monkeypatch.setattr(cells, "MOST_OF_BLOCK", values)
    log = COMING.with_columns(day=pl.date(2025, "month", 1))
    kept, plain = sketch(log, by=["day", "g"]), log.ec.sketch("p", "y", by=["day", "g"])
    for ask in (
        lambda one: one.rolling("day", periods=2, every="1mo").evaluate("nec"),
        lambda one: one.rolling("day", periods=2, every="1mo").drift("nec"),
    ):
        assert_frame_equal(ask(kept), ask(plain))


# Merges and files.


def test_the_sum_with_a_sketch_that_left_them_out_has_metrics_and_no_estimates() -> None:
    kept, plain = sketch(), COMING.ec.sketch("p", "y", by=["month", "g"])
    for both in (kept + plain, plain + kept, ec.merge([kept, plain, kept])):
        assert both.unlabelled is None
        assert both.evaluate("nec").height == kept.evaluate("nec").height
        with pytest.raises(ec.SketchError, match=r"no rows without a label: .* with unlabelled=True"):
            both.estimate("nec", period="month")


@pytest.mark.parametrize("options", [{}, {"weight": "w", "cluster": "user"}])
def test_files_hold_them(options: dict[str, Any]) -> None:
    kept = sketch(**options)
    read = through_file(kept)
    for one, other in ((read, kept), (read.unlabelled, kept.unlabelled)):
        assert one is not None
        assert other is not None
        assert_frame_equal(one.frame, other.frame, check_exact=True)
        assert_frame_equal(one.sums, other.sums, check_exact=True)
        assert one.buckets == other.buckets


def test_a_file_of_other_tables_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "sketch.parquet"
    kept = sketch()
    kept.write_parquet(file)
    tables = described(file)["tables"]
    without = {name: columns for name, columns in tables.items() if name != "unlabelled_sums"}
    with pytest.raises(ec.SketchError, match="damaged sketch"):
        ec.Sketch.read_parquet(restated(file, tables=without))
    assert kept.unlabelled is not None
    rest: Cells = kept.unlabelled
    for wrong, words in (
        (
            {"n": pl.when(pl.col("class").is_null()).then(pl.col("n") + 1000).otherwise("n")},
            "more rows without a label than rows with missing values",
        ),
        ({"bin": pl.col("bin") + 10_000}, "'bin' that is not on the grid"),
    ):
        changed = rest.frame.with_columns(**wrong)
        bad = ec.merge([kept])
        object.__setattr__(bad, "unlabelled", Cells(changed, rest.grid, rest.weighted, rest.sums))
        bad.write_parquet(file)
        with pytest.raises(ec.SketchError, match=words):
            ec.Sketch.read_parquet(file)


def test_a_version_that_does_not_know_them_says_so(tmp_path: Path) -> None:
    file = tmp_path / "sketch.parquet"
    sketch().write_parquet(file)
    # Earlier versions know these tables.
    with pytest.raises(
        ec.SketchError, match="a table 'unlabelled_cells', which this version of polars_ec does not know"
    ):
        read_tables(file, ("cells", "sums", "coarse"))


# Misuse.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exact": True}, r"leave out exact=True and reduction="),
        ({"reduction": "decisions"}, r"leave out exact=True and reduction="),
        ({"reduction": "top_label"}, r"leave out exact=True and reduction="),
        ({"score_type": "raw"}, "score_type='raw' gives no posteriors"),
        ({"score_type": "llr"}, "score_type='llr' gives no posteriors"),
        ({"score": pl.concat_arr("p", 1 - pl.col("p"))}, "'p' holds K scores per row"),
    ],
)
def test_sketches_that_have_no_estimates_are_refused(options: dict[str, Any], message: str) -> None:
    call = {"score": "p", "label": "y", "unlabelled": True, **options}
    with pytest.raises(ValueError, match=message):
        COMING.ec.sketch(**call)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"period": "day"}, ec.SketchError, "period='day' is not a group column of the sketch"),
        ({"cost_fn": 7}, ec.SketchError, r"at threshold 0\.125 is not exact in this sketch: declare it"),
        ({"prior": "overall"}, ValueError, "prior='overall'"),
        ({"reference": 9}, ValueError, "reference=.* is not a group of month"),
        ({"calibrator": "platt"}, ValueError, "calibrator='platt' is none of"),
        ({"interval": 95}, ValueError, r"interval=95 .*pass 0\.95"),
        ({"labelled": 0}, ValueError, "labelled=0 is not a share"),
        ({"metrics": "nec"}, TypeError, "metrics"),
    ],
)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        sketch().estimate("nec", **{"period": "month", **options})


@pytest.mark.parametrize("costs", [{"cost_fn": 5}, {"costs": [[0, 1], [5, 0]]}])
def test_costs_in_any_form(costs: dict[str, Any]) -> None:
    declared = COMING.ec.sketch("p", "y", by="month", thresholds=[1 / 6], unlabelled=True)
    found = declared.estimate("expected_cost", period="month", interval=None, **costs)
    expected = declared.estimate("expected_cost", period="month", interval=None, costs=ec.CostMatrix.binary(5, 1))
    assert_frame_equal(found, expected)


def test_names_of_metrics_and_groups_are_checked() -> None:
    with pytest.raises(ValueError, match="metrics= holds 'eer', which cannot be estimated"):
        sketch().estimate("eer", period="month")
    named = COMING.rename({"g": "metric"}).ec.sketch("p", "y", by=["month", "metric"], unlabelled=True)
    with pytest.raises(ec.SketchError, match="has a group column 'metric', as the result has"):
        named.estimate("nec", period="month")
    with pytest.raises(ec.SketchError, match="no rows without a label"):
        COMING.ec.sketch("p", "y", by="month").estimate("nec", period="month")


VECTORS = COMING.with_columns(
    p=pl.concat_arr(0.7 - 0.7 * pl.col("p"), 0.7 * pl.col("p"), pl.lit(0.3, pl.Float64)),
    y=pl.when(AT % 4 == 0, pl.col("y").is_not_null()).then(2).otherwise(pl.col("y").cast(pl.Int64)),
)


@pytest.mark.quick("three-affine", "two-None")
@pytest.mark.parametrize("calibrator", ["affine", None])
@pytest.mark.parametrize("log", [COMING, VECTORS], ids=["two", "three"])
def test_estimates_do_not_depend_on_the_unit_of_weights(log: pl.DataFrame, calibrator: Any) -> None:
    """Squares of such weights are 0 or infinite."""
    call: Any = {"period": "month", "by": "g", "weight": "w", "cluster": "user", "metrics": ["nec", "nbs"]}
    call |= {"calibrator": calibrator, "replicates": 10, "classes": None if log is COMING else [0, 1, 2]}
    expected = ec.estimate(log, "p", "y", **call)
    assert expected["value"].null_count() < expected.height
    for unit in (1e-300, 1e200):
        found = ec.estimate(log.with_columns(pl.col("w") * unit), "p", "y", **call)
        assert_frame_equal(found, expected, rel_tol=1e-9)


def test_weights_near_the_largest_number_have_estimates() -> None:
    """The power of two above such a weight is not a number."""
    y = np.where(np.arange(200) < 100, np.random.default_rng(2).random(200) < 0.4, None)
    log = pl.DataFrame({"month": [1] * 100 + [2] * 100, "p": [*np.linspace(0.01, 0.99, 100)] * 2, "y": [*y]})
    call: Any = {"period": "month", "weight": "w", "metrics": ["nec"], "replicates": 10}
    found, expected = (ec.estimate(log.with_columns(w=unit), "p", "y", **call) for unit in (1e308, 1.0))
    assert expected["value"].null_count() == 1
    assert_frame_equal(found, expected, rel_tol=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200])
def test_sketches_of_such_weights_have_no_estimates(unit: float) -> None:
    """They were wrong without a calibrator, because labels that had come did not correct them."""
    of_such = sketch(COMING.with_columns(pl.col("w") * unit), weight="w")
    for calibrator in ("affine", None):
        found = of_such.estimate("nec", period="month", calibrator=calibrator, replicates=20)
        assert found["value"].null_count() == found.height


def test_a_weight_that_is_nothing_beside_others_changes_nothing() -> None:
    log = COMING.with_columns(w=pl.when(AT % 7 == 3).then(1e-200).otherwise("w"))
    found, expected = (
        ec.estimate(of, "p", "y", period="month", weight="w", metrics=["nec"], replicates=20, calibrator="affine")
        for of in (log, log.with_columns(w=pl.when(AT % 7 != 3).then("w").otherwise(0)))
    )
    of_values = pl.col("month", "metric", "value", "observed", "class_prior")
    assert_frame_equal(found.select(of_values), expected.select(of_values))
    assert found["value_ci_low"].null_count() == expected["value_ci_low"].null_count()
