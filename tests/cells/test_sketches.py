"""The sketch: its cells, sums, thresholds, merging and files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import CELLS
from polars_ec.sketches.files import description, write_tables
from tests.support.cases import CASES
from tests.support.profile import EXAMPLES, PROFILE
from tests.support.reference import BINARY, expected_of, scores_of
from tests.support.warehouse_tables import table_of

pytestmark = pytest.mark.filterwarnings("ignore:metrics are null in all groups")
DECISIONS = [
    case for case in CASES if "threshold" in case.options and case.sketched and case.name not in ("dcf", "confusion")
]
LOSSES = ("cross_entropy", "nce", "brier", "nbs")

KEYS = st.sampled_from(["a", "b", None])
SCORES = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, 1 / 6, 0.2]), st.floats(0, 1), st.none())
WRONG = st.sampled_from([math.nan, 1.5, -0.1])


def logs(wrong: bool = False) -> st.SearchStrategy[pl.DataFrame]:
    scores = st.one_of(SCORES, WRONG) if wrong else SCORES
    weight = st.sampled_from([1.0, 0.5, 0.0, 3.0, None])
    number = st.sampled_from([1.0, math.nan, None, -0.0, 0.0])
    row = st.tuples(KEYS, number, scores, st.sampled_from([True, False, None]), weight)
    schema = {"g": pl.String, "x": pl.Float64, "p": pl.Float64, "y": pl.Boolean, "w": pl.Float64}
    return st.lists(row, max_size=25).map(lambda rows: pl.DataFrame(rows, schema=schema, orient="row"))


def same(one: ec.Sketch, other: ec.Sketch) -> None:
    """Equal but for the last digits of sums, which depend on the order of the rows."""
    assert (one.grid, one.weighted) == (other.grid, other.weighted)
    assert_frame_equal(one.frame, other.frame, rel_tol=1e-12, abs_tol=1e-300)
    assert (one.sums is None) == (other.sums is None)
    if one.sums is not None:
        assert_frame_equal(one.sums, other.sums, rel_tol=1e-12, abs_tol=1e-300)


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(logs(wrong=True), st.booleans(), st.booleans(), st.sampled_from([{}, {"prior": 0.2}, {"threshold": 0.2}]))
def test_sums_are_those_of_the_expressions(log, weighted, exact, keywords) -> None:
    weight = "w" if weighted else None
    sketch = log.lazy().ec.sketch("p", "y", by="g", weight=weight, exact=exact, thresholds=[0.2])
    rows = {"weight": weight, **keywords}
    expected = log.group_by("g").agg(
        ec.n_rows("p", "y", weight=weight).alias("n"),
        ec.n_missing("p", "y", weight=weight).alias("n_missing"),
        ec.n_invalid("p", "y", weight=weight).alias("n_invalid"),
        ec.class_prior("p", "y", weight=weight).alias("class_prior"),
        *(
            getattr(ec, case.name)(
                "p", "y", **case.arguments, **(rows if case.name != "net_benefit" else {**rows, "threshold": 0.2})
            ).alias(case.name)
            for case in DECISIONS
        ),
        *(
            getattr(ec, name)("p", "y", **{k: v for k, v in rows.items() if k != "threshold"}).alias(name)
            for name in LOSSES
        ),
    )
    arguments = {key: value for case in DECISIONS for key, value in case.arguments.items() if key != "decision"}
    names = [*(case.name for case in DECISIONS if case.name != "net_benefit"), *LOSSES]
    found = sketch.evaluate(*names, **arguments, **keywords).join(
        sketch.evaluate("net_benefit", **arguments, **{**keywords, "threshold": 0.2}).select("g", "net_benefit"),
        on="g",
        nulls_equal=True,
    )
    assert_frame_equal(
        found.sort("g"), expected.select(found.columns).sort("g"), rel_tol=1e-9, abs_tol=1e-12, check_dtypes=False
    )


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(
    logs(),
    st.floats(0.001, 0.999).filter(lambda t: t not in (0.2, 0.5)),
    st.sampled_from([1, 8, 64]),
    st.booleans(),
    st.sampled_from([None, 0.1, 0.7]),
)
@pytest.mark.slow
def test_undeclared_thresholds_have_bounds(log, threshold, resolution, weighted, prior) -> None:
    """low <= exact <= high for every formula, wherever the threshold falls and whatever its bin holds."""
    weight = "w" if weighted else None
    sketch = log.ec.sketch("p", "y", resolution=resolution, thresholds=[0.2], weight=weight)
    arguments = {key: value for case in DECISIONS for key, value in case.arguments.items() if key != "decision"}
    names = [case.name for case in DECISIONS]
    found = sketch.evaluate(*names, *CELLS, **arguments, threshold=threshold, prior=prior).row(0, named=True)
    values = log.select(
        ec.confusion("p", "y", threshold=threshold, weight=weight).struct.unnest(),
        *(
            getattr(ec, case.name)("p", "y", **case.arguments, threshold=threshold, weight=weight, prior=prior).alias(
                case.name
            )
            for case in DECISIONS
        ),
    ).row(0, named=True)
    for name in [*names, *CELLS]:
        value, low, high = values[name], found[f"{name}_low"], found[f"{name}_high"]
        assert value is None or low - 1e-12 <= value <= high + 1e-12, name


@pytest.mark.slow
@pytest.mark.parametrize("label", [0, 1])
def test_bounds_where_the_bin_of_the_threshold_holds_one_class(label: int) -> None:
    """Phi near 0 where nearly all is decided alike is inside, though at the corner itself it is not defined."""
    top = [0.9, 0.901, 0.902, 0.903]
    p = top if label else [1 - x for x in top]
    log = pl.DataFrame({"p": [*p, 0.5, 0.4, 0.6], "y": [label] * 4 + [1 - label] * 3})
    sketch = log.ec.sketch("p", "y", resolution=1)
    # Beside the bin, below its scores, and above each of them.
    for threshold in (0.8999, min(p) - 1e-4, *(x + 1e-4 for x in p)):
        found = sketch.evaluate("mcc", threshold=threshold).row(0, named=True)
        value = log.select(ec.mcc("p", "y", threshold=threshold)).item()
        assert value is None or found["mcc_low"] - 1e-12 <= value <= found["mcc_high"] + 1e-12
    assert {"mcc_low", "mcc_high"} <= found.keys()


@pytest.mark.slow
def test_a_sketch_keeps_its_costs(tmp_path: Path) -> None:
    log = pl.DataFrame({"g": ["a"] * 4 + ["b"] * 4, "p": [0.9, 0.4, 0.7, 0.1] * 2, "y": [1, 1, 0, 0, 1, 0, 0, 0]})
    metrics = ["nec", "expected_cost", "bayes_risk", "f1", "min_dcf", "min_expected_cost"]
    for stated in (
        {"cost_fn": 4},
        {"cost_fn": 2, "cost_fp": 3},
        {"costs": [[1, 3], [9, 2]]},
        {"threshold": 0.3, "cost_fn": 4},
    ):
        costs = {name: value for name, value in stated.items() if name != "threshold"}
        sketch = log.ec.sketch("p", "y", by="g", **stated)
        wanted = sketch.evaluate(*metrics, **stated)
        rows = log.group_by("g").agg(ec.nec("p", "y", **stated).alias("nec")).sort("g")
        assert sketch.evaluate("nec").select("g", "nec").equals(rows)
        sketch.write_parquet(tmp_path / "sketch.parquet")
        read = ec.Sketch.read_parquet(tmp_path / "sketch.parquet")
        for kept in (sketch, read, ec.merge([sketch.filter(pl.col("g") == g) for g in "ab"])):
            assert kept.evaluate(*metrics).equals(wanted)
            assert kept.best_threshold("nec").equals(sketch.best_threshold("nec", **costs))
            assert kept.cost_curve("nec").equals(sketch.cost_curve("nec", **costs))
        assert sketch.group_by().evaluate("nec")["nec"].item() == log.select(ec.nec("p", "y", **stated)).item()
        # One cost alone: the other one is the sketch's, where its costs are two.
        both = {"cost_fn": 7, "cost_fp": stated.get("cost_fp", 1)}
        other = sketch.evaluate("min_dcf", "min_expected_cost", cost_fn=7)
        assert other.equals(log.ec.sketch("p", "y", by="g").evaluate("min_dcf", "min_expected_cost", **both))
    # The rule decides by the costs, and another threshold than theirs is another decision.
    sketch = log.ec.sketch("p", "y", exact=True, cost_fn=4, threshold=0.3)
    raw = sketch.calibration_loss("bayes_risk", training="test", calibrator="pav")["raw"].item()
    assert raw == log.select(ec.bayes_risk("p", "y", cost_fn=4)).item()
    assert ec.equivalent_cost(log.ec.sketch("p", "y", cost_fn=4), "nec")["nec"].item() == pytest.approx(
        log.ec.sketch("p", "y").best_threshold("nec", cost_fn=4)["nec"].item()
    )
    with pytest.raises(SketchError, match="different costs"):
        log.ec.sketch("p", "y", cost_fn=4, thresholds=[0.5]) + log.ec.sketch("p", "y", thresholds=[0.2])


def test_more_rows_than_an_integer_holds() -> None:
    log = pl.DataFrame({"p": [0.9, 0.4], "y": [1, 0]})
    sketch = log.ec.sketch("p", "y")
    just = replace(sketch, frame=sketch.frame.with_columns(n=pl.Series([2**62, 2**62 - 1])))
    with pytest.raises(SketchError, match=rf"more than a 64-bit integer holds \({2**63 - 1}\)"):
        just + sketch
    with pytest.raises(SketchError, match="more than"):
        replace(sketch, frame=sketch.frame.with_columns(n=pl.lit(2**62, dtype=pl.Int64)))
    assert just.group_by().evaluate("nec")["n"].item() == 2**63 - 1


LLRS = st.one_of(st.floats(-20, 20), st.sampled_from([0.0, -63.99, 64.0, -64.5, 200.0, -300.0, math.inf, -math.inf]))


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(
    st.lists(st.tuples(LLRS, st.booleans(), st.sampled_from([1.0, 0.5, 0.0, 3.0])), min_size=1, max_size=20),
    st.sampled_from([0.5, 0.01, 1e-9, 1 - 1e-9, 0.7]),
    st.sampled_from([1, 4, 64]),
    st.booleans(),
)
def test_losses_of_llrs_at_a_prior(rows, prior: float, resolution: int, weighted: bool) -> None:
    """As the expressions have them, within the error; and the error is small where bins are narrow."""
    log = pl.DataFrame(rows, schema={"s": pl.Float64, "y": pl.Boolean, "w": pl.Float64}, orient="row")
    weight = "w" if weighted else None
    options = {"score_type": "llr", "weight": weight}
    wanted = log.select(getattr(ec, name)("s", "y", prior=prior, **options).alias(name) for name in LOSSES).row(
        0, named=True
    )
    for keywords in ({"exact": True}, {"resolution": resolution}):
        found = log.ec.sketch("s", "y", **options, **keywords).evaluate(*LOSSES, prior=prior).row(0, named=True)
        for name in LOSSES:
            value, error = found[name], found[f"{name}_error"]
            assert (value is None) == (wanted[name] is None), name
            if value is None:
                continue
            if math.isinf(wanted[name]):
                assert value == wanted[name]
                continue
            assert abs(value - wanted[name]) <= error + 1e-9 * (1 + abs(wanted[name])), name
            if "exact" in keywords:
                assert error <= 1e-12
            elif log["s"].abs().max() < 20 and name in ("cross_entropy", "brier"):
                # Half a bin, times the steepest that the loss is: 1 for the log loss, and 8/27 for the Brier loss.
                assert error <= (1 if name == "cross_entropy" else 8 / 27) / 2 / resolution


def test_a_prior_of_llrs_by_group() -> None:
    random = np.random.default_rng(4)
    log = pl.DataFrame(
        {"g": random.integers(0, 3, 300), "s": random.normal(size=300) * 2, "y": random.random(300) < 0.4}
    ).with_columns(prior=0.1 + 0.3 * pl.col("g"))
    found = log.ec.sketch("s", "y", by="g", score_type="llr", exact=True).evaluate("nce", prior=0.1 + 0.3 * pl.col("g"))
    wanted = log.group_by("g").agg(ec.nce("s", "y", score_type="llr", prior=pl.col("prior")).alias("nce")).sort("g")
    assert_frame_equal(found.select("g", "nce"), wanted)
    with pytest.raises(SketchError, match="ece needs posteriors"):
        log.ec.sketch("s", "y", score_type="llr").evaluate("ece")


@settings(PROFILE)
@given(st.lists(logs(wrong=True), min_size=1, max_size=4), st.booleans())
def test_merging_is_sketching_together(parts, exact) -> None:
    def sketch(log: pl.DataFrame) -> ec.Sketch:
        return log.ec.sketch("p", "y", by=["g", "x"], weight="w", exact=exact, thresholds=[1 / 6])

    whole = sketch(pl.concat(parts))
    pieces = [sketch(part) for part in parts]
    same(ec.merge(pieces), whole)
    same(ec.merge(pieces[::-1]), whole)
    left = pieces[0]
    for piece in pieces[1:]:
        left = left + piece
    same(left, whole)
    rolled = pl.concat(parts).ec.sketch("p", "y", by="g", weight="w", exact=exact, thresholds=[1 / 6])
    same(whole.group_by("g"), rolled)
    same(whole.filter(pl.col("g") == "a").group_by("g"), rolled.filter(pl.col("g") == "a"))


def test_cells_against_numpy() -> None:
    random = np.random.default_rng(1)
    log_odds = random.normal(size=2000) * 3
    positive = random.random(2000) < 0.4
    log = pl.DataFrame({"s": log_odds, "y": positive})
    sketch = log.ec.sketch("s", "y", score_type="log_odds", resolution=8, thresholds=[1.3])
    frame, sums, above = sketch.frame, sketch.sums, (log_odds > 0).astype(int) + (log_odds > 1.3)
    bins = np.floor(log_odds * 8).astype(int)
    posterior = 1 / (1 + np.exp(-log_odds))
    for label in (False, True):
        for bin_ in np.unique(bins[positive == label]):
            mask = (bins == bin_) & (positive == label)
            row = frame.filter(bin=bin_, **{"class": int(label)})
            assert row["n"].sum() == mask.sum()
            assert set(row["above"]) == set(above[mask])
        for over in (0, 1, 2):
            mask = (above == over) & (positive == label)
            (row,) = sums.filter(above=over, **{"class": int(label)}).rows(named=True)
            assert row["posterior"] == pytest.approx(posterior[mask].sum(), rel=1e-12)
            true = posterior[mask] if label else 1 - posterior[mask]
            assert row["log_loss"] == pytest.approx(-np.log(true).sum(), rel=1e-9)
            assert row["brier"] == pytest.approx(((posterior[mask] - label) ** 2).sum(), rel=1e-12)
    assert frame["n"].sum() == 2000
    assert sums.height == 6


@pytest.mark.quick("log_odds-*")
@pytest.mark.parametrize(
    ("score_type", "scores"),
    [
        ("posterior", [0.0, 1e-300, 0.2, 0.5, 0.7, 1 - 2**-53, 1.0]),
        ("log_odds", [-math.inf, -1e300, -64.0, -1.0, -1e-300, 0.0, 1.0, 63.0, 1e300, math.inf]),
        ("raw", [-math.inf, -1e300, -1.0, -1e-300, 0.0, 1e-300, 1.0, 3.0, 1e300, math.inf]),
    ],
)
def test_thresholds_of_cells_separate_them(score_type, scores) -> None:
    """Deciding by the threshold that a metric attains takes the very cells that it counted."""
    log = pl.DataFrame({"s": scores})
    for i in range(len(scores)):
        labelled = log.with_columns(y=pl.Series([k >= i for k in range(len(scores))]))
        for extra in ([], [0.3]):
            sketch = labelled.ec.sketch("s", "y", score_type=score_type, thresholds=extra)
            if i == 0:
                continue
            found = sketch.evaluate("ks")
            assert (found["ks"].item(), found["ks_threshold"].item() < scores[i]) == (1.0, True)
            assert scores[i - 1] <= found["ks_threshold"].item()


@pytest.mark.parametrize("score_type", ["posterior", "log_odds", "llr", "raw"])
def test_rows_that_are_left_out_have_no_bin(score_type) -> None:
    log = pl.DataFrame({"s": [None, math.nan, 0.5], "y": [True, True, True]})
    frame = log.with_columns(w=1.0).ec.sketch("s", "y", weight="w", score_type=score_type).frame
    left_out = frame.filter(pl.col("class").is_null() | (pl.col("class") == -1))
    assert left_out.height == 2
    assert left_out["bin"].null_count() == left_out["above"].null_count() == 2
    assert left_out["n"].to_list() == [1, 1]
    assert left_out["weight"].to_list() == [0, 0]


def test_the_declared_operating_points() -> None:
    log = pl.DataFrame({"p": [0.1, 0.6], "y": [False, True]})
    assert log.ec.sketch("p", "y").grid.thresholds == (0.5,)
    assert log.ec.sketch("p", "y", cost_fn=4).grid.thresholds == (0.2,)
    costs = ec.CostMatrix.binary(1, 4)
    assert log.ec.sketch("p", "y", threshold=0.3, thresholds=[0.3, costs]).grid.thresholds == (0.3, 0.8)
    llr = log.ec.sketch("p", "y", score_type="llr")
    assert llr.grid.thresholds == ()
    assert log.ec.sketch("p", "y", score_type="llr", prior=0.1).grid.thresholds == pytest.approx((math.log(9),))
    assert log.ec.sketch("p", "y", score_type="log_odds", cost_fn=4).grid.thresholds == (math.log(1 / 4),)
    with pytest.raises(ValueError, match="raw scores have no Bayes threshold"):
        log.ec.sketch("p", "y", score_type="raw", thresholds=[costs])
    with pytest.raises(ValueError, match="'p' is not a number"):
        log.ec.sketch("p", "y", thresholds=["p"])


def test_llrs() -> None:
    log = pl.DataFrame({"s": [2.0, -0.5, 1.0, -3.0, math.inf], "y": [True, True, False, False, True]})
    sketch = log.ec.sketch("s", "y", score_type="llr", prior=0.1)
    assert sketch.evaluate("cllr")["cllr"].item() == pytest.approx(
        log.select(ec.cllr("s", "y", score_type="llr")).item()
    )
    assert sketch.evaluate("dcf", prior=0.1)["dcf"].item() == pytest.approx(
        log.select(ec.dcf("s", "y", score_type="llr", prior=0.1)).item()
    )
    with pytest.raises(SketchError, match="use cllr, which needs no prior"):
        sketch.evaluate("cross_entropy")


def test_priors_of_groups() -> None:
    log = pl.DataFrame({"g": ["a"] * 4 + ["b"] * 4, "p": [0.9, 0.4, 0.7, 0.1] * 2, "y": [1, 1, 0, 0, 1, 0, 0, 0]})
    sketch = log.ec.sketch("p", "y", by="g")
    reference = pl.col("class_prior").filter(pl.col("g") == "a").first()
    found = sketch.evaluate("precision", prior=reference).select("g", "precision").rows()
    assert found == sketch.evaluate("precision", prior=0.5).select("g", "precision").rows()


def test_a_group_whose_prior_is_none_has_no_value() -> None:
    """It has no prior; its own, which is none that anybody stated, is not taken instead."""
    log = pl.DataFrame({"g": ["a"] * 4 + ["b"] * 4, "p": [0.9, 0.4, 0.7, 0.1] * 2, "y": [1, 1, 0, 0, 1, 0, 0, 0]})
    for bad in (None, math.nan, 1.5):
        names = ("nec", "nce", "f1", "min_dcf", "min_expected_cost", "average_precision", "auprg")
        prior = pl.when(pl.col("g") == "a").then(0.3).otherwise(bad)
        found = log.ec.sketch("p", "y", by="g", exact=True).evaluate(*names, prior=prior)
        for name in names:
            value = log.filter(pl.col("g") == "a").select(getattr(ec, name)("p", "y", prior=0.3)).item()
            assert found[name].to_list() == [pytest.approx(value), None], name


def test_own_thresholds_are_of_decisions_that_have_none() -> None:
    """bayes_risk decides at the costs' threshold and net_benefit at p_t, whatever threshold the sketch was made for."""
    log = pl.DataFrame({"p": [0.9, 0.35, 0.7, 0.1], "y": [1, 1, 0, 0]})
    sketch = log.ec.sketch("p", "y", threshold=0.3, thresholds=[0.5, 0.8])
    assert sketch.threshold == 0.3
    # At 0.3 nothing is missed; at 0.5 the positive of 0.35 is; at 0.8 no negative is taken for a positive.
    found = sketch.evaluate("fn", "bayes_risk", "net_benefit", p_t=0.8)
    assert found.select("fn", "bayes_risk", "net_benefit").row(0) == (0, 0.5, 0.25)
    assert sketch.evaluate("fn", threshold=0.5)["fn"].item() == 1
    assert sketch.evaluate("fn", cost_fn=1)["fn"].item() == 1


def test_an_exact_sketch_tells_thresholds_apart_that_differ_in_a_bit() -> None:
    """It has every score, so that no threshold need be taken for a declared one."""
    above = math.nextafter(0.2, 1)
    sketch = pl.DataFrame({"p": [above, 0.1], "y": [1, 0]}).ec.sketch("p", "y", exact=True, thresholds=[above])
    assert [sketch.evaluate("tp", threshold=t)["tp"].item() for t in (0.2, above)] == [1, 0]
    assert sketch.evaluate("tp", cost_fn=4)["tp"].item() == 1, "the Bayes threshold is 1/5"


@pytest.mark.parametrize("stated", [{"yes": 0.3, "no": 0.7}, pl.struct(yes=0.3, no=0.7)])
def test_priors_of_sketches_are_found_by_name(stated) -> None:
    log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.6], "y": ["yes", "yes", "no", "no", "no"]})
    sketch = log.ec.sketch("p", "y", classes=["no", "yes"], exact=True)
    expected = sketch.evaluate("nec", "f1", "auprg", prior=0.3)
    assert sketch.evaluate("nec", "f1", "auprg", prior=stated).equals(expected)
    other = {"maybe": 0.3, "no": 0.7} if isinstance(stated, dict) else pl.struct(maybe=0.3, no=0.7)
    with pytest.raises(ValueError, match=r"names the classes \['maybe', 'no'\], but the classes are \['no', 'yes'\]"):
        sketch.evaluate("nec", prior=other)


def test_a_table_is_a_sketch_of_the_costs_that_are_stated() -> None:
    log = pl.DataFrame({"p": [0.9, 0.15, 0.7, 0.1], "y": [1, 1, 0, 0]})
    own = log.ec.sketch("p", "y", cost_fn=4)
    read = {"score_type": "posterior", "resolution": 64, "thresholds": own.grid.thresholds}
    table = table_of(log, thresholds=[0.2]).to_arrow()
    made = ec.Sketch.from_arrow(table, **read, cost_fn=4)
    # At 1/5 the positive of 0.15 is missed and the negative of 0.7 taken: (4/2 + 1/2) / 2, over the naive 1/2.
    assert made.evaluate("nec")["nec"].item() == own.evaluate("nec")["nec"].item() == 2.5
    assert made.costs == own.costs
    assert (own + made).evaluate("nec")["nec"].item() == 2.5
    assert ec.Sketch.from_arrow(table, **read, threshold=0.2).threshold == 0.2


def test_a_table_that_was_made_otherwise_is_refused() -> None:
    log = pl.DataFrame({"p": [k / 100 + 0.005 for k in range(100)], "y": [k % 3 == 0 for k in range(100)]})
    table = table_of(log, thresholds=[0.2, 0.5])
    ec.Sketch.from_arrow(table, thresholds=[0.2, 0.5])
    for thresholds in ([0.35, 0.5], [0.2, 0.35, 0.5], [0.5, 0.2 + 0.1]):
        with pytest.raises(SketchError, match="on the wrong side of the thresholds"):
            ec.Sketch.from_arrow(table, thresholds=thresholds)
    for resolution in (32, 63, 128):
        with pytest.raises(SketchError, match="it was made with"):
            ec.Sketch.from_arrow(table, thresholds=[0.2, 0.5], resolution=resolution)
    # Engines may put a threshold on an edge into either bin.
    edge = 1 / (1 + math.exp(-1))
    near = table_of(log.with_columns(p=pl.when(pl.col("p") > 0.7).then(edge).otherwise("p")), thresholds=[0.5, edge])
    for t in (math.nextafter(edge, 0), edge, math.nextafter(edge, 1)):
        ec.Sketch.from_arrow(near, thresholds=[0.5, t])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"pos_label": False}),
        ({"classes": [True, False]}, {}),
        ({"classes": [True, False]}, {"classes": [False, True]}),
        ({"pos_label": True}, {"pos_label": False}),
    ],
)
@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int64])
def test_sketches_of_opposite_classes_are_not_added_up(one: dict, other: dict, dtype) -> None:
    log = pl.DataFrame({"p": [0.9, 0.2, 0.6], "y": [1, 0, 0]}).cast({"y": dtype})
    one, other = (
        {
            name: [dtype.to_python()(v) for v in x] if name == "classes" else dtype.to_python()(x)
            for name, x in o.items()
        }
        for o in (one, other)
    )
    made = [log.ec.sketch("p", "y", **options) for options in (one, other)]
    for pair in (made, made[::-1]):
        with pytest.raises(SketchError, match="sketches with different classes"):
            ec.merge(pair)


def test_what_a_sketch_decides_is_checked_and_survives_a_file(tmp_path: Path) -> None:
    log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [True, True, False, False]})
    sketch = log.ec.sketch("p", "y", threshold=np.float64(0.5))
    sketch.write_parquet(tmp_path / "sketch.parquet")
    read = ec.Sketch.read_parquet(tmp_path / "sketch.parquet")
    assert read.threshold == 0.5
    for prior in ({False: 0.3, True: 0.7}, {0: 0.3, 1: 0.7}):
        assert read.evaluate("nec", prior=prior).equals(sketch.evaluate("nec", prior=prior))
    abstaining = [[0, 1, 0.1], [5, 0, 0.1]]
    with pytest.raises(ValueError, match="costs= is 2 x 3, but a sketch has two"):
        log.ec.sketch("p", "y", costs=abstaining, threshold=0.5)
    with pytest.raises(ValueError, match="costs= is 2 x 3, but a sketch has two"):
        ec.Sketch.from_arrow(table_of(log, thresholds=[0.5]), thresholds=[0.5], costs=abstaining)


def test_default_battery() -> None:
    log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    found = log.ec.sketch("p", "y").evaluate()
    report = log.ec.report("p", "y")
    shared = [name for name in report.columns if name in found.columns]
    assert set(report.columns) <= set(found.columns)
    assert_frame_equal(found.select(shared), report.select(shared))


def test_files(tmp_path: Path) -> None:
    log = pl.DataFrame({"g": ["a", None], "p": [0.9, 0.2], "y": [True, False], "w": [1.0, 2.0]})
    for keywords in ({}, {"exact": True}, {"weight": "w", "thresholds": [0.1, math.inf]}, {"score_type": "raw"}):
        sketch = log.ec.sketch("p", "y", by="g", **keywords)
        path = tmp_path / "sketch[1].parquet"
        sketch.write_parquet(path)
        read = ec.Sketch.read_parquet(path)
        assert (read.grid, read.weighted) == (sketch.grid, sketch.weighted)
        assert_frame_equal(read.frame, sketch.frame)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SketchError, match="cannot be read as Parquet"):
        ec.Sketch.read_parquet(path)
    log.write_parquet(path)
    with pytest.raises(SketchError, match="is Parquet, but no sketch"):
        ec.Sketch.read_parquet(path)
    about = description(sketch, sketch.operating_point)
    write_tables({"cells": sketch.frame}, path, {**about, "schema_version": 99}, None)
    with pytest.raises(SketchError, match="schema version 99"):
        ec.Sketch.read_parquet(path)
    write_tables({"cells": sketch.frame.drop("n")}, path, about, None)
    with pytest.raises(SketchError, match="damaged sketch"):
        ec.Sketch.read_parquet(path)
    with pytest.raises(FileNotFoundError):
        ec.Sketch.read_parquet(tmp_path / "absent.parquet")


def test_what_cannot_be_added_up() -> None:
    log = pl.DataFrame({"g": ["a"], "h": ["a"], "p": [0.9], "y": [True]})
    sketch = log.ec.sketch("p", "y", by="g")
    for other, what in (
        (log.ec.sketch("p", "y", by="g", resolution=8), "resolution"),
        (log.ec.sketch("p", "y", by="g", cost_fn=2), "thresholds"),
        (log.ec.sketch("p", "y", by="h"), "group columns"),
        (log.ec.sketch("p", "y", by="g", score_type="log_odds", threshold=0.5), "score_type"),
        (log.with_columns(pl.lit(1).alias("g")).ec.sketch("p", "y", by="g"), "types of the group columns"),
    ):
        with pytest.raises(SketchError, match=f"different {what}"):
            sketch + other
    with pytest.raises(SketchError, match="at least one"):
        ec.merge([])
    with pytest.raises(SketchError, match="'bin' is not a group column"):
        sketch.filter(pl.col("bin") > 0)


def test_errors() -> None:
    log = pl.DataFrame({"n": ["a"], "p": [0.9], "y": [True]})
    sketch = log.ec.sketch("p", "y")
    with pytest.raises(SketchError, match="'auc' is not a metric of a sketch"):
        sketch.evaluate("auc")
    with pytest.raises(SketchError, match="epsr"):
        sketch.evaluate("epsr")
    with pytest.raises(TypeError, match=r"evaluate\(\) has no keyword resolution="):
        sketch.evaluate("nec", resolution=3)
    with pytest.raises(ValueError, match="p_t"):
        sketch.evaluate("net_benefit", threshold=0.5)
    with pytest.raises(ValueError, match="resolution=0"):
        log.ec.sketch("p", "y", resolution=0)
    with pytest.raises(ValueError, match="score_type='decision' cannot be sketched"):
        log.ec.sketch("p", "y", score_type="decision")
    with pytest.raises(ValueError, match="has a column 'n', which is also a column of a sketch: rename it"):
        log.ec.sketch("p", "y", by="n")
    with pytest.raises(ValueError, match="reduction='rest' is none of one_vs_rest, top_label"):
        log.ec.sketch("p", "y", reduction="rest")
    with pytest.raises(ValueError, match="reduction='top_label' needs posteriors"):
        log.ec.sketch("p", "y", reduction="top_label", score_type="log_odds")
    with pytest.raises(ValueError, match="has a column 'target'"):
        log.ec.sketch(pl.concat_arr("p", 1 - pl.col("p")), "y", by=pl.col("n").alias("target"))
    with pytest.raises(TypeError, match="not a sequence: pass a list"):
        log.ec.sketch("p", "y", thresholds="0.5")


@pytest.mark.quick("True-pneumoniamnist_resnet50")
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("exact", [True, False])
def test_golden(name: str, exact: bool) -> None:
    golden = expected_of(name)["binary"]
    log = pl.read_parquet(scores_of(name)).with_columns(s=pl.col("lp1") - pl.col("lp0"))
    sketch = log.ec.sketch("s", "label", score_type="log_odds", exact=exact)

    def check(expected: float, metric: str, tolerance: float = 1e-9, **keywords) -> None:
        row = sketch.evaluate(metric, **keywords).to_dicts()[0]
        function = log.select(getattr(ec, metric)("s", "label", score_type="log_odds", **keywords)).item()
        assert function == pytest.approx(expected, rel=tolerance)
        if exact:
            assert row[metric] == pytest.approx(expected, rel=tolerance)
        else:
            assert abs(row[metric] - expected) <= row[f"{metric}_error"] + tolerance
            assert metric != "auc_roc" or row["auc_roc_error"] <= 2e-3

    check(golden["ranking"]["AUC_ROC"], "auc_roc")
    check(golden["ranking"]["average_precision"], "average_precision")
    check(golden["specificity_at_sensitivity_0.95"]["attained"], "specificity_at_sensitivity")
    check(golden["EER"]["rocch"], "eer", 1e-7)
    check(golden["EER"]["linear_interpolation"], "eer", method="linear")
    check(golden["minCllr"], "min_cllr")
    check(golden["AUPRG"]["AUPRG"], "auprg")
    for prior in ("0.01", "0.1", "0.5"):
        check(golden["DCF"][prior]["minDCF"], "min_dcf", prior=float(prior))
        check(golden["AUPRG"][f"corrected_calibrated_AUPRG_{prior}"], "auprg", prior=float(prior))
        check(golden["calibrated"][prior]["average_precision"], "average_precision", prior=float(prior))


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("tpr", lambda sketch: sketch.roc()),
        ("fpr", lambda sketch: sketch.roc_hull()),
        ("fnr_probit", lambda sketch: sketch.det()),
        ("threshold", lambda sketch: sketch.cost_curve("nec")),
        ("nec", lambda sketch: sketch.evaluate("nec")),
        ("f1", lambda sketch: sketch.best_threshold("f1")),
        ("cost_fn", ec.equivalent_cost),
        ("alpha", lambda sketch: ec.equivalent_cost(sketch, "sensitivity")),
        ("prior_log_odds", lambda sketch: sketch.bayes_error([0.0])),
        ("threshold", lambda sketch: sketch.bayes_risk()),
        ("t", lambda sketch: sketch.murphy()),
        ("elementary_score_ci_low", lambda sketch: sketch.murphy(interval=0.9)),
        ("p_t", lambda sketch: sketch.decision_curve()),
        ("treat_all", lambda sketch: sketch.decision_curve()),
    ],
)
def test_group_columns_with_names_of_results(name: str, ask) -> None:
    sketch = pl.DataFrame({name: [1, 2], "p": [0.1, 0.9], "y": [0, 1]}).ec.sketch("p", "y", by=name)
    with pytest.raises(SketchError, match=f"group column '{name}'.* rename it"):
        ask(sketch)


@pytest.mark.parametrize("name", ["n_missing", "n_invalid", "class_prior"])
def test_group_columns_with_names_of_counts(name: str) -> None:
    sketch = pl.DataFrame({"g": [1, 2], "p": [0.1, 0.9], "y": [0, 1]}).ec.sketch("p", "y", by=pl.col("g").alias(name))
    for ask in (sketch.evaluate, sketch.roc, sketch.calibrate):
        with pytest.raises(SketchError, match=f"group column '{name}'.* rename it"):
            ask()
