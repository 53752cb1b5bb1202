"""Intervals of the command: those of the package, from files, from tables of DuckDB and from sketches; and how they are shown."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from polars_ec.cli.output import as_text
from tests.support.cli import fails, invoke, sketch, typed_report

READ = ("--score", "p", "--label", "y", "--by", "s", "--cost-fn", "5")
INTERVAL = ("--interval", "0.9")
CLUSTERED = (*INTERVAL, "--cluster", "tailnum", "--buckets", "40")


def make_log(n=1200):
    rng = np.random.default_rng(3)
    late, tail = rng.random(n) < 0.3, rng.integers(0, 90, n)
    return pl.DataFrame(
        {
            "s": [None if i % 9 == 0 else "ab"[i % 2] for i in range(n)],
            "ts": pl.Series([i * 86_400_000_000 // 8 for i in range(n)], dtype=pl.Int64).cast(pl.Datetime("us")),
            "p": 1 / (1 + np.exp(1.5 - rng.normal(size=n) - 1.5 * late)),
            "y": late,
            "tailnum": [None if t == 7 else f"N{t:03d}" for t in tail.tolist()],
            "number": tail,
            "hour": rng.normal(size=n),
        }
    )


LOG = make_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.write_csv(folder / "log.csv")
    LOG.write_ndjson(folder / "log.ndjson")
    (folder / "halves").mkdir()
    for name, part in (("one", LOG.head(700)), ("two", LOG.tail(500))):
        part.with_columns(pl.col("number").cast(pl.Int16)).write_parquet(folder / "halves" / f"{name}.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS SELECT *, CAST(number AS HUGEINT) AS wide FROM log")
    return folder


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-9)


@pytest.mark.quick("log.csv", "halves")
@pytest.mark.parametrize("source", ["log.parquet", "log.csv", "log.ndjson", "halves", "duckdb"])
def test_intervals_are_those_of_the_package(folder, source):
    path = f"duckdb:{folder}/log.duckdb::log" if source == "duckdb" else folder / source
    theirs = LOG.ec.report("p", "y", by="s", cost_fn=5, interval=0.9, cluster="tailnum", buckets=40, prior="overall")
    same(typed_report(path, *READ, *CLUSTERED, "--prior", "overall"), theirs)


def test_rows_are_independent_unless_clusters_are_named(folder):
    ours = typed_report(folder / "log.parquet", *READ, *INTERVAL, "--metrics", "nec")
    same(ours, LOG.ec.report("p", "y", by="s", cost_fn=5, metrics=["nec"], interval=0.9))
    other = typed_report(folder / "log.parquet", *READ, *CLUSTERED, "--metrics", "nec")
    assert other["nec"].to_list() == pytest.approx(ours["nec"].to_list())
    assert (other["nec_ci_low"] != ours["nec_ci_low"]).all()


@pytest.mark.quick("duckdb")
@pytest.mark.parametrize("source", ["log.parquet", "duckdb"])
def test_keys_of_other_types_periods_and_totals(folder, source):
    path = f"duckdb:{folder}/log.duckdb::log" if source == "duckdb" else folder / source
    args = ("--score", "p", "--label", "y", "--time", "ts", "--every", "1mo", "--total", "--metrics", "nec,ece")
    ours = typed_report(path, *args, *INTERVAL, "--cluster", "number")
    month = pl.col("ts").dt.truncate("1mo")
    same(ours, LOG.ec.report("p", "y", by=month, metrics=["nec", "ece"], total=True, interval=0.9, cluster="number"))


def test_groups_and_clusters_of_wide_integers_in_duckdb(folder):
    args = ("--score", "p", "--label", "y", "--by", "wide", "--metrics", "nec", *INTERVAL)
    ours = typed_report(f"duckdb:{folder}/log.duckdb::log", *args)
    theirs = LOG.ec.report("p", "y", by=pl.col("number").cast(pl.Int128).alias("wide"), metrics=["nec"], interval=0.9)
    same(ours, theirs)


def test_codes_of_csv_may_be_the_clusters_as_well(folder, tmp_path):
    LOG.select("p", "y", s=pl.format("0{}", "number")).write_csv(tmp_path / "codes.csv")
    ours = typed_report(tmp_path / "codes.csv", *READ, *INTERVAL, "--cluster", "s", "--metrics", "recall")
    assert ours["s"].head(2).to_list() == ["00", "01"]
    assert ours["recall_ci_low"].null_count() == ours.height  # all of a group are one cluster


def test_bootstraps_have_a_seed(folder):
    args = (*READ, *INTERVAL, "--metrics", "nec", "--method", "bootstrap", "--replicates", "50", "--seed", "4")
    theirs = LOG.ec.report(
        "p", "y", by="s", cost_fn=5, metrics=["nec"], interval=0.9, method="bootstrap", replicates=50, seed=4
    )
    same(typed_report(folder / "log.parquet", *args), theirs)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--interval", "95"), ["--interval 95.0 is not a level between 0 and 1: pass 0.95"]),
        (("--interval", "0"), ["--interval 0.0", "pass 0.95"]),
        (("--cluster", "tailnum"), ["--cluster 'tailnum'", "pass --interval 0.95 too"]),
        (("--seed", "3"), ["--seed 3", "pass --interval 0.95 too"]),
        ((*INTERVAL, "--buckets", "40"), ["--buckets 40", "pass --cluster"]),
        ((*INTERVAL, "--cluster", "tailnum", "--buckets", "4"), ["--buckets 4", "from 5 to 1000"]),
        ((*INTERVAL, "--replicates", "500"), ["--replicates 500", '--method "bootstrap"']),
        ((*INTERVAL, "--method", "bca", "--replicates", "5"), ["--replicates 5", '--method "bca" needs 100']),
    ],
    ids=" ".join,
)
def test_mistakes_are_told_before_the_log_is_looked_for(args, words):
    fails(2, "report", "nowhere.parquet", *READ, *args, words=words)


@pytest.mark.quick("log.parquet")
@pytest.mark.parametrize("source", ["log.parquet", "duckdb"])
def test_keys_that_are_not_there_or_cannot_be_keys(folder, source):
    path = f"duckdb:{folder}/log.duckdb::log" if source == "duckdb" else folder / source
    fails(
        2, "report", path, *READ, *INTERVAL, "--cluster", "tail", words=["no column 'tail' (--cluster)", "'tailnum'?"]
    )
    fails(2, "report", path, *READ, *INTERVAL, "--cluster", "hour", words=["hour", "Float64"])


def test_a_level_that_is_no_number_and_a_method_that_is_none():
    for args in (("--interval", "wide"), (*INTERVAL, "--method", "guess")):
        result = invoke("report", "nowhere.parquet", *READ, *args)
        assert result.exit_code == 2
        assert f"'{args[-2]}'" in result.output


def test_the_table_shows_limits_beside_values(folder):
    result = invoke("report", folder / "log.parquet", *READ, *CLUSTERED, "--metrics", "nec,recall")
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    row = LOG.ec.report(
        "p", "y", by="s", cost_fn=5, metrics=["nec", "recall"], interval=0.9, cluster="tailnum", buckets=40
    ).row(0, named=True)
    for name in ("nec", "recall"):
        low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
        assert f"{row[name]:.4f} [{low:.4f}, {high:.4f}]" in lines[1]
    assert "ci" not in lines[0]
    rows = json.loads(invoke("report", folder / "log.parquet", *READ, *CLUSTERED, "--format", "json").stdout)
    assert rows[0]["nec_ci_low"] == pytest.approx(row["nec_ci_low"], rel=1e-12)


def test_what_has_no_limits_is_shown_without():
    table = pl.DataFrame({"k": ["a", "b", "c"], "x": [0.25, 10.5, None]}).with_columns(
        x_ci_low=pl.Series([0.125, None, None], dtype=pl.Float64), x_ci_high=pl.Series([0.5, None, None]), y_ci_low=1.0
    )
    assert as_text(table, names=1).splitlines() == [
        "k                         x  y_ci_low",
        "a   0.2500 [0.1250, 0.5000]    1.0000",
        "b  10.5000 [-, -]              1.0000",
        "c        -                     1.0000",
    ]


def sketched(folder, tmp_path, *args):
    columns = ("--score", "p", "--label", "y", "--by", "s", "--time", "ts", "--every", "1mo", "--cost-fn", "5")
    sketch(folder / "halves", out=tmp_path / "sketches", args=(*columns, *args))
    return tmp_path / "sketches"


@pytest.mark.quick("cluster1")
@pytest.mark.parametrize("cluster", [{}, {"cluster": "tailnum", "buckets": 40}])
def test_reports_of_sketches_have_the_intervals_of_the_whole_log(folder, tmp_path, cluster):
    made_with = [part for name, value in cluster.items() for part in (f"--{name}", value)]
    sketches = sketched(folder, tmp_path, *made_with)
    names = ["nec", "nce", "recall"]
    args = ("--by", "s", "--metrics", ",".join(names), "--prior", "0.25", *INTERVAL)
    ours = typed_report(sketches, *args)
    theirs = LOG.ec.report("p", "y", by="s", cost_fn=5, metrics=names, prior=0.25, interval=0.9, **cluster)
    assert ours.columns == theirs.columns
    # A loss has its spread from the middles of bins.
    losses = pl.col("^nce.*_ci_(low|high)$")
    assert_frame_equal(ours.select(losses), theirs.select(losses), rel_tol=1e-3)
    same(ours.select(pl.exclude("^nce.*_ci_(low|high)$")), theirs.select(pl.exclude("^nce.*_ci_(low|high)$")))
    if cluster:
        # What the sketches know may be said again.
        assert_frame_equal(typed_report(sketches, *args, "--cluster", "tailnum", "--buckets", "40"), ours)


def test_the_usual_columns_of_sketches_with_total_and_small_groups(folder, tmp_path):
    table = typed_report(sketched(folder, tmp_path), "--by", "s", "--total", "--min-rows", "300", *INTERVAL)
    columns = table.columns
    assert columns[columns.index("class_prior") + 1 :][:2] == ["small", "total"]
    assert columns[columns.index("nec") + 1 :][:3] == ["nec_ci_low", "nec_ci_high", "nec_kinked"]
    assert columns[columns.index("auc_roc") + 1 :][:3] == ["auc_roc_error", "auc_roc_ci_low", "auc_roc_ci_high"]
    assert table["small"].to_list() == [True, False, False, False]
    assert (table["auc_roc_ci_low"] < table["auc_roc"]).all()
    shown = typed_report(tmp_path / "sketches", "--by", "s", "--metrics", "ece", *INTERVAL)
    assert shown.columns[2:6] == ["ece", "ece_error", "ece_if_calibrated", "ece_if_calibrated_high"]


def test_clusters_that_sketches_do_not_know(folder, tmp_path):
    sketches = sketched(folder, tmp_path)
    fails(
        2,
        "report",
        sketches,
        *INTERVAL,
        "--cluster",
        "tailnum",
        words=["--cluster tailnum", "sketched without clusters"],
    )
    other = sketched(folder, tmp_path / "other", "--cluster", "tailnum")
    fails(2, "report", other, *INTERVAL, "--cluster", "number", words=["with --cluster tailnum", "not number"])
    fails(2, "report", other, *CLUSTERED, words=["with --buckets 100", "not 40"])
