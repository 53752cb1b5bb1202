"""The physical plans stream: nothing falls back to the in-memory engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import CASES, RANKING_OF_CLASSES, ROW_FUNCTIONS
from tests.support.plans import assert_holds_cells_only, assert_streams, physical_plan

SCALAR = [case for case in CASES if "posterior" in case.score_types]
CALIBRATION = [case for case in SCALAR if case.name in ("ece", "ece_mc")]
OTHERS = [case for case in SCALAR if case not in CALIBRATION]
LLR = [case for case in CASES if "llr" in case.score_types]
VECTOR = [case for case in (*CASES, *RANKING_OF_CLASSES) if not case.binary]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> pl.LazyFrame:
    rng = np.random.default_rng(0)
    path: Path = tmp_path_factory.mktemp("log") / "log.parquet"
    n = 200
    frame = pl.DataFrame(
        {
            "g": rng.integers(0, 4, n),
            "p": rng.random(n),
            "llr": rng.normal(size=n),
            "y": rng.integers(0, 2, n),
            "w": rng.random(n),
            "pi": np.full(n, 0.25),
        }
    )
    frame.with_columns(
        v=pl.concat_arr(pl.col("p") / 2, (1 - pl.col("p")) / 2, pl.lit(0.5, pl.Float64)),
        l=pl.concat_list(pl.col("p") / 2, (1 - pl.col("p")) / 2, pl.lit(0.5, pl.Float64)),
    ).write_parquet(path)
    return pl.scan_parquet(path)


def metrics(cases, score: str, **options) -> list[pl.Expr]:
    taken = lambda case: {name: value for name, value in options.items() if name in case.options}  # noqa: E731
    return [getattr(ec, case.name)(score, "y", **case.arguments, **taken(case)) for case in cases]


def test_the_check_sees_a_fallback(log: pl.LazyFrame) -> None:
    assert "in-memory-map" in physical_plan(log.group_by("g").agg(pl.col("p").rank().sum()))


@pytest.mark.quick("plain", "weight", "prior1", "cost_fn")
@pytest.mark.parametrize(
    "options",
    [{}, {"weight": "w"}, {"prior": 0.3}, {"prior": pl.col("pi")}, {"threshold": 0.4}, {"cost_fn": 7.0}],
    ids=lambda options: next(iter(options), "plain"),
)
def test_all_metrics_stream(log: pl.LazyFrame, options: dict) -> None:
    # More than one plan: the engine cannot write a plan whose nodes have very long texts.
    for cases in (OTHERS, *([case] for case in CALIBRATION)):
        assert_streams(log.group_by("g").agg(metrics(cases, "p", **options)))


@pytest.mark.parametrize("prior", [0.3, pl.col("pi")], ids=["number", "column"])
def test_llr_metrics_stream(log: pl.LazyFrame, prior) -> None:
    assert_streams(log.group_by("g").agg(metrics(LLR, "llr", score_type="llr", prior=prior)))


@pytest.mark.quick("zero-one-l", "3x4-v")
@pytest.mark.parametrize("score", ["v", "l"])
@pytest.mark.parametrize("costs", [None, [[0, 1, 2, 0.5], [3, 0, 1, 0.5], [1, 9, 0, 0.5]]], ids=["zero-one", "3x4"])
def test_vector_metrics_stream(log: pl.LazyFrame, score: str, costs) -> None:
    cases = [case for case in VECTOR if costs is None or ("costs" in case.options and not case.square)]
    expressions = [
        getattr(ec, case.name)(
            score, "y", **case.arguments, classes=[0, 1, 2], **({"costs": costs} if "costs" in case.options else {})
        )
        for case in cases
    ]
    assert_streams(log.group_by("g").agg(expressions))


def test_row_functions_stream(log: pl.LazyFrame) -> None:
    arguments = {"llr": (0.5,), "shift_prior": (0.5, 0.1), "affine": ("w", "pi")}
    expressions = [
        getattr(ec, name)("p", *(["y"] if labelled else []), *arguments.get(name, ()))
        for name, (_, labelled) in ROW_FUNCTIONS.items()
    ]
    assert_streams(log.select(expressions))


@pytest.mark.quick("own-one model-*", "*-two models-column", "column-*-expression")
@pytest.mark.parametrize("by", [(), "g", ["g", pl.col("w") > 0.5]], ids=["one group", "column", "expression"])
@pytest.mark.parametrize("score", ["p", ["p", "w"]], ids=["one model", "two models"])
@pytest.mark.parametrize("prior", [None, 0.2, pl.col("pi")], ids=["own", "number", "column"])
def test_report_streams(log: pl.LazyFrame, by, score, prior) -> None:
    assert_streams(log.ec.report(score, "y", by=by, prior=prior))


def test_vector_report_holds_cells_only(log: pl.LazyFrame) -> None:
    """Cells are listed in memory: the streaming engine takes 40 times as long to list structs of many groups."""
    assert_holds_cells_only(log.ec.report("v", "y", by="g"))
    shifted = log.ec.report("v", "y", by="g", per_class=True, prior=[0.2, 0.3, 0.5], score_prior="uniform")
    assert_holds_cells_only(shifted)


@pytest.mark.parametrize(
    "options",
    [
        {"prior": "overall", "total": True, "missing": "by_part"},
        {"prior": "overall", "score_prior": 0.3},
        {"per_class": True, "prior": 0.2},
        {"metrics": ["ece", "mcc", "brier"], "weight": "w"},
    ],
    ids=lambda options: "-".join(options),
)
def test_every_kind_of_report_streams(log: pl.LazyFrame, options: dict) -> None:
    assert_streams(log.ec.report("p", "y", by="g", **options))


@pytest.mark.parametrize("prior", [None, 0.2, "overall"])
def test_one_pass_is_one_scan(log: pl.LazyFrame, prior) -> None:
    plan = physical_plan(log.ec.report("p", "y", by="g", total=True, prior=prior))
    assert plan.count('"multi-scan[parquet]') == 1


def test_ranking_metrics_of_a_report_hold_cells_only(log: pl.LazyFrame) -> None:
    """Whatever is done in memory comes after a group-by that streams."""
    report = log.ec.report("p", "y", by="g", metrics=["nec", "auc_roc"], prior=0.2, total=True)
    assert_holds_cells_only(report, scans=2)


def test_calibration_streams(log: pl.LazyFrame) -> None:
    by_group = log.ec.sketch("p", "y", by="g")
    for calibrator in ("affine", "pav"):
        assert_streams(log.select(by_group.calibrate(calibrator).apply("p")))
        assert_streams(log.select(by_group.group_by().calibrate(calibrator).apply("p")))
    assert_streams(log.group_by("g", ec.fold("y")).agg(ec.nce("p", "y")))
    assert_streams(log.group_by("g", ec.fold(pl.col("y").cast(pl.String))).agg(ec.nce("p", "y")))


def test_metrics_share_their_sums(log: pl.LazyFrame) -> None:
    """One of two cells of a class is what the other leaves of it; and a loss is one sum, for all rows weigh alike."""
    decided = [ec.nec, ec.precision, ec.recall, ec.f1, ec.mcc, ec.expected_cost, ec.accuracy, ec.specificity]
    expressions = [metric("p", "y", cost_fn=5).alias(metric.__name__) for metric in decided]
    expressions += [metric("p", "y").alias(metric.__name__) for metric in (ec.nce, ec.nbs, ec.brier, ec.cross_entropy)]
    plan = physical_plan(log.group_by("g").agg(expressions))
    aggregates = plan.split("aggs:")[1].split("style=")[0]
    assert aggregates.count(".sum()") == len(["wrong", "present", "N_0", "N_1", "N_01", "N_11", "log loss", "Brier"])
    assert plan.split("fused agg inputs:")[1].count(".log(") == 1
