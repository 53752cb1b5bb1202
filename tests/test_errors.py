"""Errors come early and name the offending value and the way out; labels and scores of every dtype that explains itself."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import polars_ec as ec

LOG = pl.LazyFrame(
    {
        "p": [0.9, 0.2, 0.6, 0.4],
        "y": [1, 0, 0, 1],
        "flag": [True, False, False, True],
        "text": ["late", "ok", "ok", "late"],
        "v": [[0.1, 0.9], [0.8, 0.2], [0.4, 0.6], [0.6, 0.4]],
    }
).with_columns(
    enum=pl.col("text").cast(pl.Enum(["ok", "late"])),
    category=pl.col("text").cast(pl.Categorical),
    number=pl.col("y").cast(pl.Float64),
    odd=pl.col("y") * 3 + 2,
    a=pl.col("v").cast(pl.Array(pl.Float64, 2)),
)

AT_THE_CALL = [
    ({"score_type": "probability"}, "probability"),
    ({"costs": [[0, 1], [1, 0]], "cost_fn": 2}, "not both"),
    ({"cost_fn": -1}, "cost_fn=-1"),
    ({"cost_fp": float("nan")}, "cost_fp=nan"),
    ({"threshold": float("nan")}, "threshold=nan"),
    ({"threshold": "0.5"}, "threshold='0.5'"),
    ({"threshold": "best"}, "see best_threshold"),
    ({"prior": 1.5}, "1.5"),
    ({"prior": -0.1}, "-0.1"),
    ({"prior": True}, "True"),
    ({"prior": "pi"}, r'pl.col\("pi"\)'),
    ({"prior": [0.5, 0.6]}, "sums to 1.1"),
    ({"prior": {0: 0.5, 1: 0.6}}, "sums to 1.1"),
    ({"costs": [[0, 1], [1]]}, "ragged"),
    ({"costs": pl.DataFrame({"ok": [0, 5], "late": [1, 0]})}, r"costs are a DataFrame: pass its to_numpy\(\)"),
    ({"pos_label": "a", "classes": ["a", "b"]}, "not both"),
    ({"classes": ["a"]}, "at least two"),
    ({"classes": ["a", "a"]}, "different"),
]


@pytest.mark.parametrize(("options", "message"), AT_THE_CALL)
def test_bad_options_fail_at_the_call(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ec.nec("p", "y", **options)
    with pytest.raises(ValueError, match=message):
        LOG.ec.report("p", "y", **options)


WHEN_RESOLVED = [
    (("p", "text", {}), TypeError, "label 'text' is String.*pos_label"),
    (("p", "number", {}), TypeError, "label 'number' is Float64.*pos_label.*are score and label swapped"),
    (("enum", "enum", {"score_type": "decision"}), TypeError, r"pass pos_label=, or classes=\[...\] in class order"),
    (("p", "enum", {"pos_label": "early"}), ValueError, "'early'.*not a category of label 'enum'"),
    (("p", "text", {"pos_label": 1}), TypeError, "pos_label holds 1"),
    (("p", "y", {"pos_label": True}), TypeError, "pos_label holds True"),
    (("p", "text", {"classes": ["ok", "late", "never"]}), ValueError, "3 (classes|shares), but there are 2"),
    (
        ("text", "y", {}),
        TypeError,
        "scores must be numbers, but 'text' is String: if these are names of decisions, pass score_type='decision'",
    ),
    (("flag", "y", {}), TypeError, "'flag' is Boolean: pass score_type='decision'"),
    (("p", "y", {"score_type": "posteriors"}), ValueError, "vector per row, but 'p' is Float64"),
    (("a", "y", {"score_type": "log_odds"}), ValueError, r"one number per row, but 'a' is Array\(Float64"),
    (("v", "y", {}), TypeError, "does not say how many classes"),
    (("p", "y", {"score_type": "llr"}), ValueError, "'llr' needs prior="),
    (("a", "y", {"score_type": "log_likelihoods"}), ValueError, "'log_likelihoods' needs prior="),
    (("a", "y", {"threshold": 0.5}), ValueError, "pass costs= to decide on vectors"),
    (("p", "y", {"threshold": 0.5, "costs": [[0, 1, 0.1], [1, 0, 0.1]]}), ValueError, "has 3"),
    (("p", "y", {"costs": [[0, 1], [1, 0], [1, 1]]}), ValueError, "has 3 rows, but 'p' has 2 classes"),
    (("p", "y", {"prior": [0.2, 0.3, 0.5]}), ValueError, "3 (classes|shares), but there are 2"),
    (("p", "y", {"prior": {"no": 0.5, "yes": 0.5}}), ValueError, r"\['no', 'yes'\]"),
    (("p", "y", {"prior": pl.col("text")}), TypeError, "the prior's dtype is String"),
    (("p", "y", {"weight": "text"}), TypeError, "weights must be numbers, but 'text' is String"),
    (("p", "y", {"costs": [[0, -1], [1, 0]]}), ValueError, r"decision 1 is -1.0.*normalized\(\)"),
    (("y", "y", {"score_type": "decision", "threshold": 1}), ValueError, "decisions already"),
]


@pytest.mark.parametrize(("call", "kind", "message"), WHEN_RESOLVED)
def test_bad_columns_fail_when_the_plan_is_resolved(call, kind, message: str) -> None:
    score, label, options = call
    plan = LOG.group_by("flag").agg(ec.nec(score, label, **options))
    with pytest.raises(kind, match=message):
        plan.collect_schema()
    with pytest.raises(kind, match=message):
        LOG.ec.report(score, label, **options)


@pytest.mark.parametrize("name", ["precision", "recall", "fnr", "f1", "lr_plus", "recall_gain"])
def test_binary_metrics_say_that_they_are(name: str) -> None:
    three = pl.LazyFrame({"v": [[0.2, 0.3, 0.5]], "y": [1]}, schema_overrides={"v": pl.Array(pl.Float64, 3)})
    with pytest.raises(ValueError, match=f"{name} is for 2 classes and 2 decisions, not 3 x 3"):
        three.select(getattr(ec, name)("v", "y")).collect_schema()
    if name in ("precision", "f1"):
        with pytest.raises(ValueError, match=f"class_{name} has the values per class, macro_{name} their mean"):
            three.ec.report("v", "y", metrics=[name])
    with pytest.raises(ValueError, match="not 2 x 3"):
        LOG.select(getattr(ec, name)("p", "y", costs=[[0, 1, 0.1], [1, 0, 0.1]])).collect_schema()


def test_decisions_for_more_classes_need_to_be_told() -> None:
    three = pl.DataFrame({"d": [0, 1, 2], "y": [0, 1, 1]})
    with pytest.raises(
        ec.InvalidDataError, match=r"none of 0..1 \(with more classes pass classes= or costs=\) in 1 row"
    ):
        three.ec.validate("d", "y", score_type="decision")
    assert three.ec.validate("d", "y", score_type="decision", classes=[0, 1, 2]) is three


def test_llr_metrics_point_to_llr() -> None:
    with pytest.raises(ValueError, match=r"cllr.*llr\(score, prior\)"):
        ec.cllr("p", "y")
    with pytest.raises(ValueError, match=r"dcf.*llr\(score, prior\)"):
        ec.dcf("p", "y", prior=0.1)
    with pytest.raises(ValueError, match="dcf needs prior="):
        ec.dcf("p", "y", score_type="llr")


def test_other_arguments_are_checked() -> None:
    for p_t in (0, 1, -0.1, float("nan")):
        with pytest.raises(ValueError, match="p_t="):
            ec.net_benefit("p", "y", p_t)
    with pytest.raises(ValueError, match="beta=0"):
        ec.fbeta("p", "y", beta=0)
    for a in (0, -1, 21, float("inf")):
        with pytest.raises(ValueError, match="a="):
            ec.epsr("p", "y", a=a)
    with pytest.raises(TypeError, match="score=3"):
        ec.nec(3, "y")
    with pytest.raises(ValueError, match=r"has (none|no posteriors)"):
        LOG.select(ec.nce("y", "y", score_type="decision")).collect_schema()
    with pytest.raises(ValueError, match=r"has (none|no posteriors)"):
        LOG.select(ec.bayes_risk("y", "y", score_type="decision")).collect_schema()


@pytest.mark.parametrize("name", ["bayes", "Bayes", "best"])
def test_a_column_is_not_taken_for_the_bayes_or_the_best_threshold(name: str) -> None:
    log = pl.DataFrame({"p": [0.2, 0.8, 0.6], "y": [0, 1, 1], name: [0.7, 0.7, 0.7]})
    words = f"threshold='{name}' is not a number: leave threshold= out for the Bayes decisions"
    for call in (
        log.ec.report,
        log.ec.compare,
        lambda score, label, **options: log.select(ec.nec(score, label, **options)),
    ):
        with pytest.raises(ValueError, match=words):
            call("p", "y", threshold=name)
    of_column = log.ec.report("p", "y", threshold=pl.col(name))["nec"].item()
    assert of_column == log.ec.report("p", "y", threshold=0.7)["nec"].item() != log.ec.report("p", "y")["nec"].item()


def test_row_functions_check_their_priors() -> None:
    with pytest.raises(ValueError, match="llr needs prior"):
        ec.llr("p", None)
    with pytest.raises(ValueError, match="has no prior"):
        ec.llr("p", 0.5, score_type="llr")
    with pytest.raises(ValueError, match="shift_prior needs to"):
        ec.shift_prior("p", 0.5, None)
    with pytest.raises(ValueError, match="class of prior 0"):
        ec.shift_prior("p", 0.0, 0.5)
    with pytest.raises(ValueError, match="one posterior, log-odds or LLR per row"):
        LOG.select(ec.log_odds("a")).collect_schema()


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ("y", {}),
        ("flag", {}),
        (pl.col("y").cast(pl.UInt8), {}),
        (pl.col("y").cast(pl.Int8), {}),
        ("text", {"pos_label": "late"}),
        ("enum", {"pos_label": "late"}),
        ("category", {"pos_label": "late"}),
        ("odd", {"pos_label": 5}),
        ("number", {"pos_label": 1.0}),
        ("text", {"classes": ["ok", "late"]}),
        ("enum", {"classes": ["ok", "late"]}),
        ("odd", {"classes": [2, 5]}),
        ("flag", {"classes": [False, True]}),
    ],
)
@pytest.mark.parametrize("score", ["p", "a", "struct", pl.col("p").cast(pl.Decimal(5, 2))])
def test_labels_and_scores_of_every_dtype(label, options: dict, score) -> None:
    if isinstance(score, str) and score == "struct":
        names = options.get("classes") or ["every other", options.get("pos_label", 1)]
        score = pl.struct(pl.col("p").alias(str(names[1])), (1 - pl.col("p")).alias(str(names[0])))
        score = score if options else pl.struct(no=1 - pl.col("p"), yes="p")
    value = LOG.select(ec.confusion(score, label, **options)).collect().item()
    assert value == {"tn": 1, "fp": 1, "fn": 1, "tp": 1}


def test_swapped_classes_swap_the_counts() -> None:
    value = LOG.select(ec.confusion(1 - pl.col("p"), "text", classes=["late", "ok"], threshold=0.7)).collect().item()
    assert value == {"tn": 2, "fp": 0, "fn": 1, "tp": 1}


def test_prior_by_class_name() -> None:
    by_name = {"late": 0.25, "ok": 0.75}
    a = LOG.select(ec.nec("p", "text", classes=["ok", "late"], prior=by_name)).collect().item()
    assert a == LOG.select(ec.nec("p", "y", prior=0.25)).collect().item()


def test_all_null_columns_are_missing() -> None:
    nulls = pl.DataFrame({"p": [0.1, 0.9], "y": [None, None]})
    assert nulls.select(ec.n_missing("p", "y", pos_label="late")).item() == 2
    log = pl.DataFrame({"p": [None, None], "y": [None, None]})
    row = log.select(ec.nec("p", "y"), ec.n_missing("p", "y"), ec.n_rows("p", "y"), c=ec.confusion("p", "y")).row(0)
    assert row == (None, 2, 0, {"tn": 0, "fp": 0, "fn": 0, "tp": 0})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ec.nec("p", "y", 5),
            r"nec\(\) takes score and label by position, and 5 is one argument too many: pass options by name",
        ),
        (lambda: pl.col("p").ec.nec("y", 5), r"nec\(\) takes score and label by position, and 5 is one argument"),
        (lambda: ec.fbeta("p", "y", 2), r"fbeta\(\) takes score and label by position.* such as beta= or costs="),
        (lambda: ec.nec("p", "y", fn_cost=1), r"nec\(\) has no keyword fn_cost=: did you mean cost_fn\?"),
        (lambda: ec.nec("p", "y", cost_fm=1), r"nec\(\) has no keyword cost_fm=: did you mean cost_fp\? It has score,"),
        (
            lambda: ec.nec(np.array([0.5]), "y"),
            r"^score= holds values \(ndarray\), .* put both into a frame and pass column names$",
        ),
        (lambda: ec.nec("p", pl.Series([True])), r"^label= holds values \(Series\)"),
        (
            lambda: ec.nec(["p", "q"], "y"),
            r"score=\['p', 'q'\] is neither .* to give one vector per row pass pl\.concat_arr\(\.\.\.\)",
        ),
        (
            lambda: LOG.ec.report("p", "y", classes=["a", "b", "c"]),
            "lists 3 classes, but there are 2: scores for 3 classes are one column with a vector per row",
        ),
        (lambda: ec.nec("p", "y", prior="share"), r"prior='share' is no prior: pass .* for a column pl.col"),
        (lambda: ec.nec("p", "y", prior="overall"), 'prior="overall" needs the whole table, which an expression'),
        (
            lambda: ec.shift_prior("p", 0.5, "overall"),
            'prior="overall" needs the whole table, which an expression does not see: pass a number here',
        ),
        (
            lambda: ec.register("log.duckdb"),
            r"connection='log.duckdb' is not a DuckDB connection: pass what duckdb.connect",
        ),
        (lambda: ec.nec("p"), r"nec\(\): missing a required argument: 'label'"),
        (
            lambda: LOG.ec.report("p", "y", metric=["nec"]),
            r"report\(\) has no keyword metric=: did you mean metrics\? It has score, label, by",
        ),
        (lambda: LOG.ec.report("p", "y", by=None), r"report\(\): by=None names no groups: leave by= out"),
        (lambda: LOG.ec.sketch("p", "y", by=None), r"sketch\(\): by=None"),
        (lambda: ec.calibrate(LOG, "p", "y", by=None), r"calibrate\(\): by=None"),
        (
            lambda: LOG.ec.report("p", "y", interval=0.95, cluster=["p", "y"]),
            r"cluster=\['p', 'y'\] is neither .*: for a key of several columns pass pl.concat_str",
        ),
        (lambda: ec.nec("p", "y", interval=0.95), r"has no keyword interval=: report\(\), compare\(\) and"),
        (
            lambda: LOG.select(ec.bucket(pl.struct("p", "y"))).collect_schema(),
            r"key 'p' is Struct.*: buckets need .* make one of its fields by pl.concat_str",
        ),
        (lambda: LOG.ec.report("p", "y", by=3), "by=3 is not a column's name, an expression or a sequence"),
        (
            lambda: LOG.collect().ec.sketch("p", "y").evaluate("nec", treshold=1),
            r"evaluate\(\).* did you mean threshold\?",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").evaluate("auc"),
            r"'auc' is not a metric of a sketch: did you mean auc_roc\?",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").cost_curve("recal"),
            r"'recal' is not a metric of decisions: did you mean",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").cost_curve(["nec"]),
            r"\['nec'\] is not a metric of decisions: did you mean nec\?",
        ),
        (lambda: LOG.ec.sketch(frame=LOG, score="p", label="y"), r"sketch\(\): multiple values for argument 'frame'"),
        (
            lambda: ec.equivalent_cost(LOG.collect().ec.sketch("p", "y"), "sensitivity", sensitivty=0.9),
            r"equivalent_cost\(\) has no keyword sensitivty=: did you mean sensitivity\?",
        ),
        (
            lambda: ec.equivalent_cost(LOG.collect().ec.sketch("p", "y"), "f1", costfn=1),
            r"equivalent_cost\(\) has no keyword costfn=: did you mean cost_fn\?",
        ),
        (
            lambda: ec.equivalent_cost(LOG.collect().ec.sketch("p", "y"), "sensitivity", cost_fn=4),
            "cost_fn=4 is for metrics of decisions: 'sensitivity' takes sensitivity= only",
        ),
        (
            lambda: ec.equivalent_cost(LOG.collect().ec.sketch("p", "y"), "sensitivity", beta=2),
            "beta=2 is for metrics of decisions",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").best_threshold("f1", betta=1),
            r"best_threshold\(\) has no keyword betta=: did you mean beta\?",
        ),
        (
            lambda: LOG.ec.sketch("p", "y", prior=0.2),
            r"prior=0\.2 sets the decisions for LLRs and log-likelihoods only, but score_type='posterior': pass prior= to evaluate\(\)",
        ),
        (lambda: LOG.ec.sketch("p", "y", thresholds=0.5), r"thresholds=0.5 is not a sequence: pass a list"),
        (lambda: ec.merge(LOG.collect().ec.sketch("p", "y")), r"merge\(\) takes a list of sketches, and this is one"),
        (lambda: ec.nec("p", "y", classes=5), r"classes=5 must list at least two different label values"),
        (lambda: ec.nec("p", "y", classes={"a", "b"}), r"classes=.* must list at least two .*in class order"),
        (
            lambda: LOG.ec.report("p", "y", min_rows=1.5),
            r"min_rows=1\.5 is not a number of rows: pass a whole number, at least 0",
        ),
        (
            lambda: LOG.ec.report("p", "y", min_rows=-1),
            "min_rows=-1 is not a number of rows: pass a whole number, at least 0",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").bayes_error([]),
            r"prior_log_odds=\[\] is not a sequence of numbers: pass \[0.0\]",
        ),
        (lambda: ec.epsr("p", "y", a=1e-5), r"a=1e-05: the Beta weight needs a and b from 0\.001 to 20"),
        (
            lambda: ec.fbeta("p", "y", beta=float("inf")),
            "beta=inf must be above 0 and finite: for misses only use recall",
        ),
        (
            lambda: LOG.collect().ec.sketch("p", "y").evaluate("fbeta", beta=float("inf")),
            r"beta=inf must be above 0 and finite",
        ),
        (
            lambda: LOG.with_columns(d=pl.date(2020, 1, 1)).select(ec.nec("p", "d", pos_label=1)).collect(),
            r"pos_label holds 1 \(int\), but label 'd' is Date",
        ),
        (
            lambda: LOG.select(ec.nec("p", "y", pos_label=2**70)).collect_schema(),
            "pos_label holds 1180591620717411303424, which is too large for label 'y'",
        ),
        (
            lambda: LOG.with_columns(g=pl.lit("a")).select(ec.affine("p", "g", 2.0)).collect_schema(),
            r"alpha must be a number, and 'g' is String",
        ),
    ],
)
def test_calls_that_are_slips_name_the_function_and_the_way_out(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("function", [ec.sketch, ec.report, ec.validate, ec.calibrate, ec.calibration_loss])
def test_the_frame_goes_by_name_too(function) -> None:
    with pytest.raises(TypeError, match=r"\(\) has no keyword fold="):
        function(frame=LOG, score="p", label="y", fold=1)
    own = {"training": "test"} if function is ec.calibration_loss else {}
    assert function(frame=LOG, score="p", label="y", **own) is not None


def test_many_classes_are_named_in_short() -> None:
    vector = [1.5, *[0.0] * 99]
    log = pl.DataFrame({"q": [vector], "y": ["a"]}, schema_overrides={"q": pl.Array(pl.Float64, 100)})
    with pytest.raises(ec.InvalidDataError, match=r"q=\[1\.5(, 0\.0){9}, \.\.\. 100 in all\], y=a\)$"):
        log.ec.validate("q", "y", classes=["a", *(f"c{i}" for i in range(99))])
    with pytest.raises(ValueError, match=r"^classes=\['c0', .*'c5', \.\.\.\] lists 99 classes, but there are 100$"):
        log.select(ec.nec("q", "y", classes=[f"c{i}" for i in range(99)]))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("log_loss", "cross_entropy"),
        ("roc_auc", "auc_roc"),
        ("brier_score", "brier"),
        ("confusion_matrix", "confusion"),
        ("tpr", "recall"),
    ],
)
def test_names_of_scikit_learn_lead_to_ours(theirs: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean {ours}"):
        getattr(ec, theirs)
    for asked in (LOG.ec.report, LOG.ec.compare):
        with pytest.raises(ValueError, match=f"did you mean {ours}"):
            asked("p", "y", metrics=[theirs])
    with pytest.raises(ec.SketchError, match=f"did you mean {ours}"):
        LOG.ec.sketch("p", "y").evaluate(theirs)


def test_names_that_are_nobodys_are_errors() -> None:
    with pytest.raises(AttributeError, match="no 'xyz'"):
        _ = ec.xyz  # type: ignore[attr-defined]


NAMED = pl.DataFrame(
    {"p": [0.9, 0.2, 0.7, 0.4] * 30, "y": [1, 0, 0, 1] * 30, "k": [1, 2, 3] * 40, "period": [1, 1, 2] * 40}
)


@pytest.mark.parametrize("name", ["", "*", "^k$"])
def test_a_group_column_without_a_name(name):
    """A sketch by such a column could not be read again, and Polars finds no column by a pattern."""
    for function in (ec.report, ec.sketch):
        with pytest.raises(ValueError, match="rename it"):
            function(NAMED, "p", "y", by=pl.col("k").alias(name))
    both = ("by", "period")
    for function, options in ((ec.drift, (*both, "mix")), (ec.best_thresholds, both), (ec.estimate, both)):
        for option in options:
            with pytest.raises(ValueError, match=f"{option}= has a column .*rename it"):
                function(NAMED, "p", "y", **{"period": "period", option: pl.col("k").alias(name)})


@pytest.mark.parametrize("name", ["metric", "value"])
def test_best_thresholds_by_a_column_of_a_comparison(name):
    with pytest.raises(ValueError, match=f"by= has a column '{name}'"):
        ec.best_thresholds(NAMED.rename({"k": name}), "p", "y", by=name, period="period")


def test_a_calibration_of_an_exact_sketch_by_a_column_of_bins():
    sketch = NAMED.rename({"k": "bin"}).ec.sketch("p", "y", by="bin", exact=True)
    for method in (sketch.calibrate, lambda: sketch.calibration_loss(training="test")):
        with pytest.raises(ec.SketchError, match=r"'bin'.*rename it"):
            method()


@pytest.mark.parametrize("unit", [dt.timedelta(days=1), b"\xff"])
def test_periods_of_durations_and_bytes_have_previous_ones(unit):
    log = NAMED.with_columns(period=pl.Series([unit * i for i in NAMED["period"]]))
    drift = log.ec.drift("p", "y", period="period", reference="previous", metrics=["error_rate"])
    assert drift.select("period", "value", "value_reference").rows() == [(2 * unit, 0.5, 0.5)]


def test_a_drift_of_a_sketch_needs_periods_with_an_order():
    sketch = NAMED.ec.sketch("p", "y", by=pl.struct("period").alias("month"))
    with pytest.raises(TypeError, match=r"'month' is Struct.*no order"):
        sketch.drift("recall", period="month")
