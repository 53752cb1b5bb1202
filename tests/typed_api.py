"""What type checkers see of the public functions: `make lint` runs mypy over this file, and nothing calls its functions.

Each `assert_type` states a type exactly, and each `type: ignore` an error that must be found, for one too many is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import altair as alt
import duckdb
import narwhals as nw
import polars as pl

import polars_ec as ec


def counts() -> None:
    assert_type(ec.confusion("p", "y", costs=[[0, 1], [1, 0]], weight="w"), pl.Expr)
    assert_type(ec.n_rows("p", "y", costs=ec.CostMatrix.zero_one(3), score_type="decision"), pl.Expr)
    assert_type(ec.n_missing("p", "y"), pl.Expr)
    assert_type(ec.n_invalid("p", "y", pos_label="late"), pl.Expr)
    assert_type(ec.class_prior("p", "y", classes=["ok", "late"]), pl.Expr)
    ec.n_rows("p", "y", prior=0.5)  # type: ignore[call-arg]


def decisions() -> None:
    assert_type(ec.expected_cost("p", "y", costs=ec.CostMatrix.binary(4, 1)), pl.Expr)
    assert_type(ec.nec(pl.col("p"), pl.col("y") > 0, cost_fn=4, prior=0.2, weight=pl.col("w")), pl.Expr)
    assert_type(ec.error_rate("p", "y", threshold=0.5), pl.Expr)
    assert_type(ec.accuracy("p", "y", prior="uniform"), pl.Expr)
    assert_type(ec.balanced_error_rate("p", "y", prior=[0.5, 0.5]), pl.Expr)
    assert_type(ec.balanced_accuracy("p", "y", prior={"ok": 0.9, "late": 0.1}), pl.Expr)
    assert_type(ec.dcf("llr", "y", score_type="llr", prior=pl.col("prior")), pl.Expr)
    assert_type(ec.c_primary("llr", "y", [(0.01, 1, 1), (0.005, 1, 1)], score_type="llr"), pl.Expr)
    ec.c_primary("llr", "y", [0.01])  # type: ignore[list-item]
    ec.nec("p", "y", cost_fm=4)  # type: ignore[call-arg]
    assert_type(ec.nec("p", "y", cost_fn="amount", threshold=pl.col("threshold")), pl.Expr)
    ec.nec("p", "y", cost_fn=[4])  # type: ignore[arg-type]
    ec.dcf("llr", "y", cost_fn="amount")  # type: ignore[arg-type]
    ec.nec("p", "y", score_type="probability")  # type: ignore[arg-type]
    ec.nec("p", "y", 4)  # type: ignore[call-arg, arg-type]
    ec.nec("p")  # type: ignore[call-arg]
    ec.nec(3, "y")  # type: ignore[arg-type]
    ec.dcf("llr", "y", costs=[[0, 1], [1, 0]])  # type: ignore[call-arg]


def binary_decisions() -> None:
    assert_type(ec.precision("p", "y", prior=0.5), pl.Expr)
    assert_type(ec.recall("p", "y"), pl.Expr)
    assert_type(ec.specificity("p", "y"), pl.Expr)
    assert_type(ec.fpr("p", "y"), pl.Expr)
    assert_type(ec.fnr("p", "y"), pl.Expr)
    assert_type(ec.fbeta("p", "y", beta=2.0, threshold=0.3), pl.Expr)
    assert_type(ec.f1("p", "y"), pl.Expr)
    assert_type(ec.mcc("p", "y"), pl.Expr)
    assert_type(ec.lr_plus("p", "y"), pl.Expr)
    assert_type(ec.lr_minus("p", "y"), pl.Expr)
    assert_type(ec.net_benefit("p", "y", 0.2, threshold=None), pl.Expr)
    assert_type(ec.precision_gain("p", "y"), pl.Expr)
    assert_type(ec.recall_gain("p", "y"), pl.Expr)
    ec.net_benefit("p", "y")  # type: ignore[call-arg]
    ec.net_benefit("p", "y", 0.2, cost_fn=4)  # type: ignore[call-arg]


def averages() -> None:
    assert_type(ec.class_f1("q", "y", prior="uniform"), pl.Expr)
    assert_type(ec.decision_share("p", "y", 1, costs=ec.CostMatrix.zero_one(2, abstain=0.2)), pl.Expr)
    assert_type(ec.decision_share("p", "y", decision="abstain"), pl.Expr)
    assert_type(ec.macro_f1("q", "y", weight="w"), pl.Expr)
    assert_type(ec.f1_of_averages("q", "y"), pl.Expr)
    assert_type(ec.decision_share("p", "y"), pl.Expr)
    ec.macro_f1("q", "y", average="macro")  # type: ignore[call-arg]


def scoring_rules() -> None:
    assert_type(ec.cross_entropy("p", "y", prior=0.2), pl.Expr)
    assert_type(ec.nce("q", "y", score_type="log_posteriors"), pl.Expr)
    assert_type(ec.brier("p", "y"), pl.Expr)
    assert_type(ec.nbs("p", "y"), pl.Expr)
    assert_type(ec.bayes_risk("p", "y", cost_fp=2), pl.Expr)
    assert_type(ec.cllr("llr", "y", score_type="llr"), pl.Expr)
    assert_type(ec.epsr("p", "y", a=2, b=2), pl.Expr)
    assert_type(ec.ece("p", "y", bins=20, norm=2, equal_mass=True), pl.Expr)
    assert_type(ec.ece_mc("q", "y"), pl.Expr)
    assert_type(ec.expected_score_divergence("q", "s", rule="brier", weight="w"), pl.Expr)
    assert_type(ec.semi_empirical_epsr("q", "s", normalized=True), pl.Expr)
    ec.nce("p", "y", threshold=0.5)  # type: ignore[call-arg]
    ec.cllr("llr", "y", prior=0.5)  # type: ignore[call-arg]
    ec.ece("p", "y", norm=3)  # type: ignore[arg-type]


def ranking() -> None:
    assert_type(ec.auc_roc("p", "y", score_type="log_odds"), pl.Expr)
    assert_type(ec.macro_auc_roc("q", "y", score_type="log_posteriors", prior="uniform"), pl.Expr)
    assert_type(ec.weighted_auc_roc("q", "y", prior=[0.2, 0.3, 0.5], weight="w"), pl.Expr)
    assert_type(ec.pairwise_auc_roc("q", "y", classes=["a", "b", "c"]), pl.Expr)
    assert_type(ec.average_precision("p", "y", prior=0.2), pl.Expr)
    assert_type(ec.auprg("p", "y"), pl.Expr)
    assert_type(ec.eer("p", "y", method="linear"), pl.Expr)
    assert_type(ec.min_expected_cost("p", "y", costs=[[0, 1], [4, 0]]), pl.Expr)
    assert_type(ec.best_threshold("p", "y", costs=[[0, 1], [4, 0]], prior=0.1, weight="w"), pl.Expr)
    assert_type(ec.min_dcf("p", "y", cost_fn=4), pl.Expr)
    assert_type(ec.specificity_at_sensitivity("p", "y", sensitivity=0.9), pl.Expr)
    assert_type(ec.sensitivity_at_specificity("p", "y", specificity=0.9), pl.Expr)
    assert_type(ec.ks("p", "y", score_type="raw"), pl.Expr)
    assert_type(ec.min_cllr("p", "y"), pl.Expr)
    ec.auc_roc("p", "y", prior=0.2)  # type: ignore[call-arg]
    ec.nec("p", "y", score_type="raw")  # type: ignore[arg-type]
    ec.eer("p", "y", method="area")  # type: ignore[arg-type]


def rows() -> None:
    assert_type(ec.bayes_decision("p", cost_fn=9), pl.Expr)
    assert_type(ec.row_cost("p", "y", threshold=0.5), pl.Expr)
    assert_type(ec.row_log_loss("p", "y"), pl.Expr)
    assert_type(ec.row_brier("p", "y", pos_label=1), pl.Expr)
    assert_type(ec.posterior("llr", score_type="llr", prior=0.1), pl.Expr)
    assert_type(ec.log_odds("p"), pl.Expr)
    assert_type(ec.llr("p", 0.1), pl.Expr)
    assert_type(ec.shift_prior("p", 0.5, pl.col("share")), pl.Expr)
    assert_type(ec.affine("p", "alpha", 0.0), pl.Expr)
    assert_type(ec.bucket("id", 100), pl.Expr)
    assert_type(ec.fold("id", folds=5), pl.Expr)
    assert_type(ec.stratified_fold("id", ["segment", "y"]), pl.Expr)
    ec.row_log_loss("p", "y", weight="w")  # type: ignore[call-arg]
    ec.llr("p")  # type: ignore[call-arg]


def other_frames(
    either: pl.LazyFrame | pl.DataFrame, relation: duckdb.DuckDBPyRelation, narwhals: nw.DataFrame[Any]
) -> None:
    assert_type(ec.report(either, "p", "y"), pl.LazyFrame | pl.DataFrame)
    assert_type(ec.report(relation, "p", "y"), pl.DataFrame)
    assert_type(ec.report(narwhals, "p", "y"), pl.DataFrame)
    assert_type(ec.report(frame=narwhals, score="p", label="y"), pl.DataFrame)
    assert_type(ec.validate(narwhals, "p", "y"), nw.DataFrame[Any])
    assert_type(ec.sketch(relation, "p", "y"), ec.Sketch)


def frames(lazy: pl.LazyFrame, eager: pl.DataFrame) -> None:
    assert_type(ec.report(lazy, "p", "y", by=["carrier"], min_rows=100, prior=0.2), pl.LazyFrame)
    assert_type(ec.report(eager, ["p", "q"], "y"), pl.DataFrame)
    assert_type(ec.report(lazy, "p", "y", metrics=["nec"], total=True, prior="overall"), pl.LazyFrame)
    assert_type(ec.report(eager, "p", "y", per_class=True, missing="by_part", score_prior=0.2, prior=0.1), pl.DataFrame)
    assert_type(
        ec.compare(lazy, ["p", "q"], "y", by="carrier", metrics=["nec"], cluster="day", min_rows=50), pl.LazyFrame
    )
    assert_type(ec.compare(eager, "p", "y", by=["carrier", "month"], reference={"month": 4}, prior=0.1), pl.DataFrame)
    assert_type(ec.compare(eager, ["p", "q"], "y", metrics=["nec"], interval=0.9, margin=0.02), pl.DataFrame)
    assert_type(ec.drift(lazy, "p", "y", period="month", mix="carrier", cluster="day"), pl.LazyFrame)
    assert_type(ec.drift(eager, "p", "y", period="month", reference=4, metrics=["nec"], min_rows=9), pl.DataFrame)
    assert_type(
        ec.estimate(lazy, "p", "y", period="month", by="carrier", shift_prior="em", cluster="day"), pl.DataFrame
    )
    assert_type(ec.estimate(eager, ["p", "q"], "y", period="month", calibrator=None, interval=None), pl.DataFrame)
    assert_type(ec.best_thresholds(lazy, "p", "y", period="month", by="carrier", cost_fn=4), pl.LazyFrame)
    assert_type(ec.best_thresholds(eager, ["p", "q"], "y", period="month", reference="previous"), pl.DataFrame)
    assert_type(ec.capacity(lazy, "p", "y", k=50, period="day", by="month", interval=0.9), pl.LazyFrame)
    assert_type(ec.capacity(eager, "p", "y", share=0.1, score_type="raw"), pl.DataFrame)
    assert_type(ec.alarms(eager, "nec", period="day", above=0.4, looks=365, by=["s"], test="counts"), pl.DataFrame)
    assert_type(ec.capacity(eager, ["p", "q"], "y", k=50, cost_fn="amount", cost_fp=pl.col("a")), pl.DataFrame)
    assert_type(ec.rows_needed(lazy, "nec", width=0.1), pl.LazyFrame)
    assert_type(ec.rows_needed(eager, "nec", width=0.1), pl.DataFrame)
    assert_type(ec.validate(lazy, "p", "y"), pl.LazyFrame)
    assert_type(ec.validate(eager, "p", "y", pos_label="late"), pl.DataFrame)
    assert_type(ec.table(eager, "latex"), str)
    ec.table(eager, "html")  # type: ignore[arg-type]
    assert_type(ec.sketch(lazy, "p", "y", by="carrier", thresholds=[0.5], folds=5, fold_by="id"), ec.Sketch)
    assert_type(ec.calibrate(lazy, "p", "y", "temperature", prior=0.2), ec.Calibration)
    assert_type(ec.calibrate(lazy, "margin", "y", "gaussian", score_type="raw", prior=0.2), ec.Calibration)
    assert_type(ec.calibration_loss(lazy, "p", "y", "brier", training="test"), pl.DataFrame)
    assert_type(ec.report(lazy, "p", "y", interval=0.95, cluster=pl.col("user"), buckets=20), pl.LazyFrame)
    assert_type(ec.report(eager, "p", "y", interval=0.9, method="bca", replicates=500, seed=1), pl.DataFrame)
    assert_type(ec.report_page("page.html", lazy, "p", "y", by="carrier", period="month", cluster="day"), Path)
    assert_type(ec.report_page("page.html", ec.sketch(lazy, "p", "y"), period="month", cost_fn=4), Path)
    ec.report_page("page.html", lazy, "p", "y", interval="0.95")  # type: ignore[arg-type]
    ec.report(lazy, "p", "y", interval="0.95")  # type: ignore[call-overload]
    ec.report(lazy, "p", "y", interval=0.95, method="jackknife")  # type: ignore[call-overload]
    ec.report(lazy, "p", "y", missing="apart")  # type: ignore[call-overload]
    ec.report(lazy, "p", "y", metric=["nec"])  # type: ignore[call-overload]
    ec.report("log.parquet", "p", "y")  # type: ignore[call-overload]
    ec.sketch("log.parquet", "p", "y")  # type: ignore[arg-type]
    assert_type(ec.sketch(lazy, ["p", pl.col("q")], "y", unlabelled=True), ec.Sketch)
    assert_type(ec.sketch(lazy, "margin", "y", score_type="raw", exact=True), ec.Sketch)
    assert_type(ec.sketch(lazy, "p", "y", cost_fn="amount", reduction="decisions"), ec.Sketch)
    ec.sketch(lazy, "p", "y", reduction="pairs")  # type: ignore[arg-type]


def sketches(sketch: ec.Sketch, others: Sequence[ec.Sketch]) -> None:
    assert_type(ec.merge([sketch, *others]), ec.Sketch)
    assert_type(sketch.group_by("carrier").filter(pl.col("carrier") == "AA"), ec.Sketch)
    assert_type(sketch.evaluate("nec", "auc_roc", prior=0.2), pl.DataFrame)
    assert_type(sketch.evaluate("nec", prior="overall"), pl.DataFrame)
    assert_type(sketch.compare("nec", "auc_roc", reference="rest", interval=0.9, min_rows=50), pl.DataFrame)
    assert_type(sketch.drift("nec", period="month", reference="previous", mix=["country"], min_rows=9), pl.DataFrame)
    assert_type(sketch.estimate("nec", period="month", calibrator=None, shift_prior="em", prior=0.2), pl.DataFrame)
    assert_type(sketch.rolling("day", periods=28, every="1d"), ec.Windows)
    assert_type(sketch.rolling("day").evaluate("nec", "auc_roc", interval=0.9, prior="overall"), pl.DataFrame)
    assert_type(sketch.rolling("day").drift("nec", mix="country", cost_fn=5), pl.DataFrame)
    sketch.drift("nec")  # type: ignore[call-arg]
    sketch.drift("nec", period="month", treshold=0.5)  # type: ignore[call-arg]
    sketch.rolling("day").evaluate("nec", treshold=0.5)  # type: ignore[call-arg]
    sketch.rolling("day").drift("nec", period="month")  # type: ignore[call-arg]
    sketch.rolling("day").group_by("country")  # type: ignore[attr-defined]
    assert_type(sketch.mean_over_targets("f1", "auc_roc", average="weighted", threshold=0.5), pl.DataFrame)
    assert_type(sketch.epsr(lambda t: 6 * t * (1 - t), prior="uniform"), pl.DataFrame)
    assert_type(sketch.epsr({"t": [0.5], "weight": [1.0]}), pl.DataFrame)
    assert_type(sketch.tippett(), pl.DataFrame)
    assert_type(sketch.cost_curve("nec"), pl.DataFrame)
    assert_type(sketch.murphy(prior=0.2, interval=0.9), pl.DataFrame)
    assert_type(sketch.decision_curve(normalized=True), pl.DataFrame)
    assert_type(sketch.best_threshold("f1"), pl.DataFrame)
    assert_type(sketch.pr(prior=0.2), pl.DataFrame)
    assert_type(sketch.reliability(calibrator="pav"), pl.DataFrame)
    assert_type(sketch.calibrate("pav"), ec.Calibration)
    assert_type(sketch.calibration_loss(training="test"), pl.DataFrame)
    assert_type(sketch.calibrate().apply("p"), pl.Expr)
    assert_type(ec.equivalent_cost(sketch, "f1"), pl.DataFrame)
    sketch.evaluate("nec", treshold=0.5)  # type: ignore[call-arg]
    sketch.mean_over_targets("f1", treshold=0.5)  # type: ignore[call-arg]
    sketch.epsr("uniform")  # type: ignore[arg-type]
    sketch.evaluate("nec", cost_fn="4")  # type: ignore[arg-type]
    sketch.cost_curve("nec", betta=1)  # type: ignore[call-arg]
    sketch.best_threshold("f1", betta=1)  # type: ignore[call-arg]
    ec.equivalent_cost(sketch, "sensitivity", sensitivty=0.9)  # type: ignore[call-arg]


def charts(sketch: ec.Sketch, log: pl.LazyFrame, pandas: Any, scores: pl.Series, labels: list[bool]) -> None:
    assert_type(ec.plot.roc(sketch, interval=0.9), alt.LayerChart)
    assert_type(ec.plot.roc(log, "p", pl.col("y"), by=["m"], cluster="user", interval=None), alt.LayerChart)
    assert_type(ec.plot.roc(pandas, ["p", "q"], "y", weight="w"), alt.LayerChart)
    assert_type(ec.plot.roc(scores, labels, by=scores, pos_label=True), alt.LayerChart)
    assert_type(ec.plot.cost_curve(log, "p", "y", "nec", "f1", cost_fn=5), alt.LayerChart | alt.HConcatChart)
    assert_type(ec.plot.cost_curve(sketch, "nec"), alt.LayerChart | alt.HConcatChart)
    assert_type(ec.plot.bayes_error(scores.to_numpy(), labels, [-1.0, 0.0], score_type="llr"), alt.LayerChart)
    assert_type(ec.plot.reliability(scores, labels, resolution=4), alt.VConcatChart | alt.ConcatChart)
    assert_type(sketch.plot.pr(prior=0.2), alt.LayerChart)
    ec.plot.roc(log, "p")  # type: ignore[call-overload]
    ec.plot.roc(scores)  # type: ignore[call-overload]
    ec.plot.roc(log, "p", "y", intervall=0.9)  # type: ignore[call-overload]
    ec.plot.roc(log, "p", "y", score_type="probability")  # type: ignore[call-overload]


def of_spark(frame: Any) -> None:
    assert_type(ec.spark.sketch(frame, ["p", "q"], "y", by="m", cluster="user", cost_fn=5), ec.Sketch)
    ec.spark.sketch(frame, "p", "y", exact=True)  # type: ignore[call-arg]
    ec.spark.sketch(frame, "p", "y", score_type="posteriors")  # type: ignore[arg-type]
    ec.spark.sketch(frame, "p", "y", threshold="t")  # type: ignore[arg-type]


def values_and_databases(connection: duckdb.DuckDBPyConnection) -> None:
    assert_type(ec.CostMatrix.zero_one(3, abstain=0.2), ec.CostMatrix)
    assert_type(ec.CostMatrix.operating_point([0.2, 0.3, 0.5]), ec.CostMatrix)
    assert_type(ec.effective_prior(0.1, 1, 9), float)
    assert_type(ec.CostMatrix.binary(cost_fn=4).bayes_threshold(), float)
    assert_type(ec.report_query("log", "p", "y", by="carrier", metrics=["nec"], prior=0.1, dialect="postgres"), str)
    assert_type(ec.report_query("log", "p", "y", cost_fn="amount", cost_fp=2.5, interval=0.9, cluster="user"), str)
    assert_type(ec.sketch_query("log", "p", "y", by="carrier", dialect="duckdb"), str)
    ec.register(connection)
    errors: list[type[ValueError]] = [ec.InvalidDataError, ec.SketchError]
    del errors
