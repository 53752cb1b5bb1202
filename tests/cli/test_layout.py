"""What a report is asked for beside the usual columns: the same from files, from a table of DuckDB and from sketches."""

from __future__ import annotations

import datetime as dt
import io
import itertools

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.formulas.ranking import RANKING_METRICS
from tests.support.cases import mostly_slow
from tests.support.cli import fails, invoke, sketch, typed_report

READ = ("--score", "p", "--label", "y")
BY = ("--by", "s")


def make_log(n=800):
    rng = np.random.default_rng(11)
    late = rng.random(n) < 0.3
    p, q = (1 / (1 + np.exp(1 - rng.normal(size=n) - slope * late)) for slope in (1.2, 2.0))
    some = rng.random((3, n)) < 0.1
    vectors = rng.dirichlet([1, 1, 1], n)
    return pl.DataFrame(
        {
            "s": [None if i % 7 == 0 else "ab"[i % 2] for i in range(n)],
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=2 * i) for i in range(n)],
            "p": [None if x else value for x, value in zip(some[0], p.tolist(), strict=True)],
            "q": q,
            "x": np.log(p / (1 - p)),
            "y": [None if x else bool(value) for x, value in zip(some[1], late, strict=True)],
            "w": [None if x else value for x, value in zip(some[2], (rng.integers(0, 5, n) / 2).tolist(), strict=True)],
            "v": pl.Series(vectors.tolist(), dtype=pl.Array(pl.Float64, 3)),
            "c": [int(rng.choice(3, p=row)) for row in vectors],
        }
    )


LOG = make_log()
MONTH = pl.col("ts").dt.truncate("1mo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    return folder


FILES, DUCKDB = "log.parquet", "log.duckdb::log"


def at(folder, source):
    """What the command takes for the log in this folder."""
    return f"{'duckdb:' if source == DUCKDB else ''}{folder}/{source}"


def of_sources(cases, quick):
    """Each case of either source: of DuckDB, whose macros take long to plan, `make test` has the quick ones."""
    both = [(source, *case) for source in (FILES, DUCKDB) for case in cases]
    return mostly_slow(both, [case for case in both if case[0] == FILES or case[1] in quick])


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-12, abs_tol=1e-15)


def named(value):
    return " ".join(value) if isinstance(value, tuple) else value if isinstance(value, str) else ""


CASES = [
    (("--metrics", "f1,nec", "--metrics", " mcc"), {"metrics": ["f1", "nec", "mcc"]}),
    (("--metrics", "nec,recall,ece,cross_entropy", "--prior", "0.2"),
     {"metrics": ["nec", "recall", "ece", "cross_entropy"], "prior": 0.2}),
    (("--metrics", "confusion,tp"), {"metrics": ["confusion", "tp"]}),
    (("--metrics", "bayes_risk,expected_cost,accuracy", "--cost-fn", "4"),
     {"metrics": ["bayes_risk", "expected_cost", "accuracy"], "cost_fn": 4}),
    (("--metrics", "lr_plus,informedness,fpr,balanced_accuracy", "--weight", "w"),
     {"metrics": ["lr_plus", "informedness", "fpr", "balanced_accuracy"], "weight": "w"}),
    (("--total", "--min-rows", "300", "--prior", "overall"), {"total": True, "min_rows": 300, "prior": "overall"}),
    (("--missing", "by-part"), {"missing": "by_part"}),
    (("--missing", "by-part", "--weight", "w", "--total"), {"missing": "by_part", "weight": "w", "total": True}),
    (("--missing", "together"), {}),
]  # fmt: skip


@pytest.mark.quick("log.parquet-*", "log.duckdb::log---total*")
@pytest.mark.parametrize(("source", "args", "layout"), of_sources(CASES, [CASES[i][0] for i in (1, 5, 7)]), ids=named)
def test_reports_are_those_of_the_package(folder, source, args, layout):
    same(typed_report(at(folder, source), *READ, *BY, *args), LOG.ec.report("p", "y", by="s", **layout))


@pytest.mark.quick("log.parquet")
@pytest.mark.parametrize("source", [FILES, DUCKDB])
def test_totals_of_periods_and_of_several_models(folder, source):
    args = ("--score", "p", "--score", "q", "--label", "y", *BY, "--time", "ts", "--every", "1mo")
    table = typed_report(at(folder, source), *args, "--total", "--prior", "overall")
    same(table, LOG.ec.report(["p", "q"], "y", by=["s", MONTH], total=True, prior="overall"))
    assert table.select("score", "total").tail(3).rows() == [("q", False), ("p", True), ("q", True)]
    # Missing scores differ, so the models have overall priors of their own.
    assert table.filter("total")["class_prior"].n_unique() == 2


@pytest.mark.quick("log.parquet")
@pytest.mark.parametrize("source", [FILES, DUCKDB])
def test_classes_and_vectors(folder, source):
    args = (
        "--score",
        "v",
        "--label",
        "c",
        *BY,
        "--metrics",
        "accuracy,nec,macro_f1,class_recall,mcc,confusion",
        "--missing",
        "by-part",
    )
    table = typed_report(at(folder, source), *args)
    metrics = ["accuracy", "nec", "macro_f1", "class_recall", "mcc", "confusion"]
    expected = LOG.ec.report("v", "c", by="s", metrics=metrics, missing="by_part")
    same(table.with_columns(pl.col("confusion").cast(expected.schema["confusion"])), expected)


PER_CLASS = [
    (("--score", "p", "--label", "y"), {}),
    (("--score", "p", "--label", "y", "--total", "--metrics", "recall,confusion", "--prior", "0.4"),
     {"total": True, "metrics": ["recall", "confusion"], "prior": 0.4}),
    (("--score", "p", "--label", "y", "--pos-label", "false", "--weight", "w", "--prior", "overall"),
     {"pos_label": False, "weight": "w", "prior": "overall"}),
    (("--score", "v", "--label", "c", "--min-rows", "300", "--missing", "by-part", "--prior", "uniform"),
     {"min_rows": 300, "missing": "by_part", "prior": "uniform"}),
    (("--score", "v", "--label", "c", "--costs", "[[0,1,1,0.2],[2,0,1,0.2],[1,4,0,0.2]]", "--classes", "0,1,2", "--total"),
     {"costs": [[0, 1, 1, 0.2], [2, 0, 1, 0.2], [1, 4, 0, 0.2]], "classes": [0, 1, 2], "total": True}),
    (("--score", "x", "--label", "y", "--score-type", "llr", "--prior", "0.3"), {"score_type": "llr", "prior": 0.3}),
    (("--score", "q", "--score", "p", "--label", "y", "--metrics", "nec,f1"), {"metrics": ["nec", "f1"]}),
]  # fmt: skip


@pytest.mark.quick("log.parquet-*", "log.duckdb::log---score p*")
@pytest.mark.parametrize(
    ("source", "args", "layout"), of_sources(PER_CLASS, [PER_CLASS[i][0] for i in (2, 4)]), ids=named
)
def test_rows_per_class(folder, source, args, layout):
    scores = [value for option, value in itertools.pairwise(args) if option == "--score"]
    expected = LOG.ec.report(scores, args[args.index("--label") + 1], by="s", per_class=True, **layout)
    same(typed_report(at(folder, source), *args, *BY, "--per-class"), expected)


VALUES = [("late", pl.String), (7, pl.Int32), (1.5, pl.Float64)]


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize(("source", "positive", "dtype"), of_sources(VALUES, ["late"]))
def test_classes_by_their_values_and_wrong_rows(tmp_path, source, positive, dtype):
    other = "ok" if dtype == pl.String else positive - 1
    y = [positive, other, positive, other, positive, None]
    log = pl.DataFrame(
        {"p": [0.9, 0.2, 0.4, 1.5, 0.6, 0.1], "y": pl.Series(y, dtype=dtype), "s": ["a", "a", "a", "b", "b", "c"]}
    )
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        rows = log.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM rows")
    path = at(tmp_path, source)
    table = typed_report(path, *READ, *BY, "--pos-label", str(positive), "--per-class", "--total")
    same(table, log.ec.report("p", "y", by="s", pos_label=positive, per_class=True, total=True))


@pytest.mark.parametrize("source", mostly_slow([FILES, DUCKDB], [FILES]))
def test_llrs_at_the_overall_prior(folder, source):
    args = ("--score", "x", "--label", "y", "--score-type", "llr", *BY, "--prior", "overall", "--metrics", "nec,ece")
    same(
        typed_report(at(folder, source), *args, "--total"),
        LOG.ec.report("x", "y", by="s", score_type="llr", prior="overall", metrics=["nec", "ece"], total=True),
    )


@pytest.mark.filterwarnings("ignore:.* null")
def test_a_model_whose_overall_prior_cannot_be_counted_has_no_values_at_it(tmp_path):
    log = LOG.with_columns(q=pl.when(pl.int_range(pl.len()) == 5).then(1.5).otherwise("q"))
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        rows = log.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM rows")
    args = ("--score", "p", "--score", "q", "--label", "y", *BY, "--prior", "overall")
    for path in (tmp_path / "log.parquet", f"duckdb:{tmp_path}/log.duckdb::log"):
        table = typed_report(path, *args)
        same(table, log.ec.report(["p", "q"], "y", by="s", prior="overall"))
        of_q = table.filter(score="q")
        assert of_q["nec_at_prior"].null_count() == of_q.height
        assert of_q["nec"].null_count() == 1
        assert "invalid or no usable rows" in fails(1, "report", path, "--score", "q", *args[4:])


def test_of_llrs_of_such_a_model_rows_are_counted(tmp_path):
    log = pl.DataFrame(
        {"s": [*"aabbb"], "y": [1, 0, 1, 1, 0], "p": [0.5, 1, -1, float("nan"), 2], "q": [0.5, 1, -1, -3, 2]}
    )
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        rows = log.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM rows")
    args = ("--score", "p", "--score", "q", "--label", "y", *BY, "--score-type", "llr", "--prior", "overall")
    for source in (FILES, DUCKDB):
        of_p = typed_report(at(tmp_path, source), *args, "--metrics", "nec,tp").filter(score="p")
        assert of_p.select("n", "n_invalid", "class_prior", "tp").rows() == [(2, 0, 0.5, None), (2, 1, None, None)]


RANKS = [
    (("--score", "p", "--metrics", "auc_roc,nec"), {"metrics": ["auc_roc", "nec"]}),
    (("--score", "p", "--score", "q", "--metrics", "min_dcf,eer,average_precision", "--prior", "overall", "--total", "--cost-fn", "3"),
     {"metrics": ["min_dcf", "eer", "average_precision"], "prior": "overall", "total": True, "cost_fn": 3}),
    (("--score", "p", "--metrics", ",".join(RANKING_METRICS), "--prior", "0.2", "--weight", "w", "--costs", "[[0.5,2],[7,1]]"),
     {"metrics": RANKING_METRICS, "prior": 0.2, "weight": "w", "costs": [[0.5, 2], [7, 1]]}),
    (("--score", "p", "--metrics", "ks", "--costs", "[[0,1,0.2],[4,0,0.2]]"),
     {"metrics": ["ks"], "costs": [[0, 1, 0.2], [4, 0, 0.2]]}),
    (("--score", "x", "--score-type", "llr", "--metrics", "auprg,min_expected_cost", "--prior", "uniform", "--min-rows", "300"),
     {"score_type": "llr", "metrics": ["auprg", "min_expected_cost"], "prior": "uniform", "min_rows": 300}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("args", "layout"), mostly_slow(RANKS, [RANKS[2]]), ids=named)
def test_ranking_metrics_in_duckdb_are_those_of_the_same_bins(folder, args, layout):
    scores = [value for option, value in itertools.pairwise(args) if option == "--score"]
    table = typed_report(f"duckdb:{folder}/{DUCKDB}", *args, "--label", "y", *BY)
    same(table, LOG.ec.report(scores, "y", by="s", **layout))


def test_ranking_metrics_in_duckdb_bound_the_exact_ones(folder):
    args = ("--metrics", "auc_roc,average_precision,min_cllr", "--prior", "0.2")
    table = typed_report(f"duckdb:{folder}/{DUCKDB}", *READ, *BY, *args)
    exact = LOG.group_by("s").agg(
        ec.auc_roc("p", "y").alias("auc_roc"),
        ec.average_precision("p", "y", prior=0.2).alias("average_precision_at_prior"),
        ec.min_cllr("p", "y").alias("min_cllr"),
    )
    for name in exact.columns[1:]:
        both = table.join(exact, on="s", suffix="_exact", nulls_equal=True)
        assert both.height == 3
        assert (
            both.select((pl.col(name) - pl.col(f"{name}_exact")).abs() <= pl.col(f"{name}_error") + 1e-12)
            .to_series()
            .all()
        )
        assert 0 < both[f"{name}_error"].max() < 0.01


@pytest.mark.slow
def test_ranking_metrics_in_duckdb_by_odd_groups_and_with_wrong_rows(tmp_path):
    log = LOG.select(
        "p", "y", "ts", q=pl.when(pl.int_range(pl.len()) == 5).then(1.5).otherwise("q"),
        bin=pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.lit(float("nan"))), key_0=pl.lit("a"),
    )  # fmt: skip
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        rows = log.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM rows; CREATE TABLE nothing AS FROM rows LIMIT 0")
    models = ("--score", "p", "--score", "q", "--label", "y", "--metrics", "auprg,ks", "--prior")
    groups = ("--by", "bin", "--by", "key_0", "--time", "ts", "--every", "1mo")
    of_files, of_duckdb = (
        typed_report(at(tmp_path, source), *models, "overall", *groups) for source in (FILES, DUCKDB)
    )
    same(of_duckdb, of_files)
    assert of_duckdb.filter(score="q")["auprg_at_prior"].null_count() == of_files.height / 2
    assert of_duckdb.filter(score="q")["ks"].null_count() == 1
    empty = f"duckdb:{tmp_path}/log.duckdb::nothing"
    assert typed_report(empty, "--score", "p", "--label", "y", "--metrics", "ks")["ks"].to_list() == [None]


@pytest.mark.quick("*log.parquet", "--prior 0.4 *")
@pytest.mark.parametrize("source", [FILES, DUCKDB])
@pytest.mark.parametrize(
    ("args", "layout"),
    [
        (("--prior", "0.4", "--score-prior", "0.2"), {"prior": 0.4, "score_prior": 0.2}),
        (("--prior", "uniform", "--score-prior", "[0.7,0.3]", "--total"),
         {"prior": "uniform", "score_prior": [0.7, 0.3], "total": True}),
    ],
    ids=named,
)  # fmt: skip
def test_posteriors_that_are_moved(folder, source, args, layout):
    same(typed_report(at(folder, source), *READ, *BY, *args), LOG.ec.report("p", "y", by="s", **layout))


# Sketches ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sketches(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("sketches")
    args = ("--time", "ts", "--every", "1d", "--threshold", "0.25")
    sketch(folder / "log.parquet", out=out / "p", args=(*READ, *BY, *args))
    sketch(folder / "log.parquet", out=out / "both", args=("--score", "p", "--score", "q", "--label", "y", *BY, *args))
    return out


OF_SKETCHES = [
    ("--metrics", "f1,auc_roc,nec"),
    ("--metrics", "nec,confusion,average_precision,nbs", "--prior", "0.2", "--total"),
    ("--total", "--min-rows", "300", "--prior", "overall"),
    ("--total", "--prior", "overall", "--metrics", "nec,precision", "--threshold", "0.25"),
]


@pytest.mark.quick("p--*", "both---metrics*")
@pytest.mark.parametrize(
    ("made", "args"),
    mostly_slow(
        [(made, args) for made in ("p", "both") for args in OF_SKETCHES],
        [("p", OF_SKETCHES[2]), *(("both", args) for args in OF_SKETCHES[::3])],
    ),
    ids=named,
)
def test_sketches_give_the_same(folder, sketches, made, args):
    scores = READ if made == "p" else ("--score", "p", "--score", "q", "--label", "y")
    for groups in (BY, (*BY, "--time", "ts", "--every", "1mo")):
        theirs = typed_report(folder / "log.parquet", *scores, *groups, *args)
        ours = typed_report(sketches / made, *groups, *args)
        if "--metrics" in args:
            assert ours.columns == theirs.columns
        # Bins are those of the report on rows, and ranking metrics with them.
        same(ours.select(theirs.columns), theirs)


def test_bounds_at_a_threshold_that_sketches_do_not_know(sketches):
    table = typed_report(sketches / "p", "--threshold", "0.4", "--metrics", "nec,recall,nbs", "--prior", "0.2")
    assert table.columns == [
        "n", "nec_low", "nec_high", "nec_at_prior_low", "nec_at_prior_high", "recall_low", "recall_high", "nbs", "nbs_at_prior",
        "class_prior", "n_missing", "n_invalid",
    ]  # fmt: skip
    exact = LOG.ec.report("p", "y", threshold=0.4, prior=0.2)
    for name in ("nec", "nec_at_prior", "recall"):
        assert table[f"{name}_low"].item() <= exact[name].item() <= table[f"{name}_high"].item()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--per-class",), "--per-class on "),
        (("--missing", "by-part"), "--missing on "),
        (("--score-prior", "0.2", "--prior", "0.3"), "--score-prior on "),
    ],
    ids=" ".join,
)
def test_what_sketches_do_not_have(sketches, args, words):
    message = fails(2, "report", sketches / "p", *args)
    assert message.startswith(f"polars-ec: {words}")
    assert message.endswith("Run polars-ec report on the log instead")


def test_a_total_of_nothing(tmp_path):
    LOG.clear().write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "out", args=(*READ, *BY))
    for path, read in ((tmp_path / "log.parquet", READ), (tmp_path / "out", ())):
        table = typed_report(path, *read, *BY, "--total")
        assert table.height == 0
        assert table.schema["total"] == pl.Boolean


# Errors and messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--metrics", "nce_roc"), ["--metrics holds 'nce_roc'", "did you mean"]),
        (("--metrics", "n"), ["--metrics holds 'n', which every report has"]),
        (("--metrics", ""), ["--metrics holds ''"]),
        (("--score-prior", "0.2"), ["--prior"]),
        (
            ("--score-prior", "overall", "--prior", "0.2"),
            ["--score-prior overall: pass a prior such as 0.1, one prior per class", "] or uniform"],
        ),
        (("--metrics", "tp", "--metrics", "nec,tp"), ["--metrics has 'tp' twice"]),
    ],
    ids=str,
)
def test_refusals(folder, args, words):
    message = fails(2, "report", folder / "log.parquet", *READ, *args)
    assert all(word in message for word in words)
    assert "=" not in message.replace("ec.", "").split("agg(")[0]


@pytest.mark.parametrize("made", ["rows", "duckdb", "sketches"])
def test_a_total_without_groups(folder, sketches, made):
    path = {
        "rows": folder / "log.parquet",
        "duckdb": f"duckdb:{folder / 'log.duckdb'}::log",
        "sketches": sketches / "p",
    }
    message = fails(2, "report", path[made], *(() if made == "sketches" else READ), "--total")
    assert "--total adds a row over all groups" in message


def test_rows_are_told_of_once(tmp_path):
    """Wrong rows are those of the groups: not those of the total again, nor of every class."""
    log = LOG.with_columns(p=pl.when(pl.int_range(pl.len()) < 2).then(1.5).otherwise("p"), y=pl.lit(value=True))
    log.write_parquet(tmp_path / "log.parquet")
    for args in ((), ("--total",), ("--per-class",), ("--per-class", "--total")):
        told = invoke("report", tmp_path / "log.parquet", *READ, *BY, *args, "--format", "csv").stderr
        assert told.startswith("polars-ec: 2 rows have an invalid score")


def test_positives_are_looked_for_in_the_groups(tmp_path):
    log = pl.DataFrame({"p": [0.9, 0.2], "y": ["no", "no"], "s": ["a", "b"]})
    log.write_parquet(tmp_path / "log.parquet")
    for args in ((), ("--total",), ("--per-class",)):
        told = invoke("report", tmp_path / "log.parquet", *READ, *BY, "--pos-label", "late", *args, "--format", "csv")
        assert "no row has the label 'late'" in told.stderr


def test_totals_of_codes_in_csv_come_last(tmp_path):
    LOG.select("p", "y", s=pl.int_range(pl.len()) % 12).write_csv(tmp_path / "log.csv")
    table = typed_report(tmp_path / "log.csv", *READ, *BY, "--total")
    assert table["s"].to_list() == [*range(12), None]
    assert table["total"].to_list() == [False] * 12 + [True]


def test_the_default_table_begins_with_nec(folder):
    header = invoke("report", folder / "log.parquet", *READ, *BY, "--prior", "overall").stdout.splitlines()[0]
    assert header.split()[:3] == ["s", "n", "nec"]
    assert len(header) <= 80
    csv = pl.read_csv(io.StringIO(invoke("report", folder / "log.parquet", *READ, *BY, "--format", "csv").stdout))
    assert csv.columns == ec.report(LOG, "p", "y", by="s").columns


NAMES = [
    (("--pos-label", "late"), {"pos_label": "late"}),
    (("--classes", "ok,late"), {"classes": ["ok", "late"]}),
    (("--classes", "ok,late,?"), {"classes": ["ok", "late", "?"]}),
]


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("log.parquet-*")
@pytest.mark.parametrize(("source", "args", "options"), of_sources(NAMES, [NAMES[1][0]]), ids=named)
def test_decisions_by_name(tmp_path, source, args, options):
    names = ["ok", "late", "late", None, "ok", "?", "late"]
    log = pl.DataFrame({"d": names, "y": ["ok", "late", "ok", "ok", "late", "ok", None]})
    log.write_parquet(tmp_path / "log.parquet")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        rows = log.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM rows")
    expected = log.ec.report("d", "y", score_type="decision", **options)
    path = at(tmp_path, source)
    same(typed_report(path, "--score", "d", "--label", "y", "--score-type", "decision", *args), expected)
