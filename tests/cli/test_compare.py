"""`polars-ec compare`: the differences of the package, from files, tables of DuckDB and sketches; references as they are written."""

from __future__ import annotations

import io
import json
import math
from datetime import datetime
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cases import mostly_slow
from tests.support.cli import fails, invoke, sketch, source, typed

READ = ("--score", "p", "--label", "y")
PAIR = ("--score", "p", "--score", "q", "--label", "y")
ROWS = ["log.parquet", "log.csv", "halves", "duckdb"]


def made_log(n=1200):
    rng = np.random.default_rng(4)
    late, tail = rng.random(n) < 0.3, rng.integers(0, 90, n)
    z = 1.5 * late - 1.2 + rng.normal(size=n)
    return pl.DataFrame(
        {
            "s": [None if i % 9 == 0 else "ab"[i % 2] for i in range(n)],
            "hour": np.arange(n) % 4 + 8,
            "wet": np.arange(n) % 3 == 0,
            "ts": pl.Series([i * 86_400_000_000 // 8 for i in range(n)], dtype=pl.Int64).cast(pl.Datetime("us")),
            "p": 1 / (1 + np.exp(-z)),
            "q": 1 / (1 + np.exp(-0.7 * z - 0.5 * rng.normal(size=n))),
            "y": late,
            "tail": [f"N{t:03d}" for t in tail.tolist()],
            "w": rng.exponential(1, n),
        }
    )


LOG = made_log()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.write_csv(folder / "log.csv")
    (folder / "halves").mkdir()
    for name, part, dtype in (("one", LOG.head(700), pl.Int16), ("two", LOG.tail(500), pl.Int64)):
        part.with_columns(pl.col("hour").cast(dtype)).write_parquet(folder / "halves" / f"{name}.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        wide = "CAST(hour AS HUGEINT) AS wide, CAST(hour / 10 AS DECIMAL(9, 1)) AS tenth"
        connection.execute(f"CREATE TABLE log AS SELECT *, {wide} FROM log")
    columns = ("--by", "s", "--time", "ts", "--every", "1d", "--cost-fn", "5", "--cluster", "tail")
    sketch(folder / "halves", out=folder / "sketches", args=(*PAIR, *columns))
    return folder


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-9, check_dtypes=False)
    assert [*ours.schema.values()][-12:] == [*theirs.schema.values()][-12:]


# Rows -------------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("log.csv")
@pytest.mark.parametrize("name", mostly_slow(ROWS, ["log.csv", "duckdb"]))
def test_differences_of_models_are_those_of_the_package(folder, tmp_path, name):
    args = ("--by", "s", "--cost-fn", "5", "--prior", "overall", "--cluster", "tail", "--weight", "w")
    args = (*args, "--metrics", "nec,auc_roc", "--interval", "0.9", "--min-rows", "200")
    ours = typed(tmp_path, "compare", source(folder, name), *PAIR, *args)
    options = {"cost_fn": 5, "prior": "overall", "cluster": "tail", "weight": "w", "interval": 0.9, "min_rows": 200}
    theirs = LOG.ec.compare(["p", "q"], "y", by="s", metrics=["nec", "auc_roc"], **options)
    same(ours, theirs)
    assert ours["metric"].to_list() == ["nec", "nec_at_prior", "auc_roc"] * 3
    assert ours["small"].to_list() == [True] * 3 + [False] * 6


@pytest.mark.quick("log.csv-rest")
@pytest.mark.parametrize(
    ("name", "reference"), mostly_slow(product(ROWS, ["rest", "best"]), [("log.csv", "rest"), ("duckdb", "best")])
)
def test_differences_of_groups_are_those_of_the_package(folder, tmp_path, name, reference):
    args = (*READ, "--by", "hour", "--cost-fn", "5", "--reference", reference)
    theirs = LOG.ec.compare("p", "y", by="hour", cost_fn=5, reference=reference)
    same(typed(tmp_path, "compare", source(folder, name), *args), theirs)


def test_two_models_by_plain_formulas(folder, tmp_path):
    row = typed(
        tmp_path, "compare", folder / "log.csv", *PAIR, "--cost-fn", "5", "--metrics", "nec,recall", "--reference", "q"
    )
    y = LOG["y"].to_numpy()
    decided = {name: LOG[name].to_numpy() > 1 / 6 for name in "pq"}
    cost = {name: np.where(y, 5.0 * ~d, 1.0 * d).mean() for name, d in decided.items()}
    naive = min(5 * y.mean(), 1 - y.mean())
    found = row.row(by_predicate=pl.col("metric") == "nec", named=True)
    assert (found["model"], found["reference"], found["n"]) == ("p", "q", 1200)
    assert found["difference"] == pytest.approx((cost["p"] - cost["q"]) / naive, rel=1e-12)
    # Recall: McNemar's discordant rows.
    d = decided["p"][y].astype(float) - decided["q"][y]
    n, mean = len(d), d.mean()
    error = math.sqrt(((d**2).mean() - mean**2) / (n - 1))
    found = row.row(by_predicate=pl.col("metric") == "recall", named=True)
    half = stats.t.ppf(0.975, n - 1) * error
    assert found["difference_ci_low"] == pytest.approx(mean - half, rel=1e-7)
    assert found["difference_ci_high"] == pytest.approx(mean + half, rel=1e-7)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(mean) / error, n - 1), rel=1e-6)


@pytest.mark.parametrize(
    ("keys", "stated", "reference"),
    [
        (["s"], ["a"], "a"),
        (["s"], ["s=a"], "a"),
        (["hour"], ["10"], 10),
        (["wet"], ["true"], True),
        (["hour", "wet"], ["wet=false"], {"wet": False}),
        (["s", "hour"], ["hour=9", "s=b"], {"s": "b", "hour": 9}),
        (["s", "hour"], ["rest"], "rest"),
    ],
)
@pytest.mark.parametrize("name", mostly_slow(["log.parquet", "log.csv"], ["log.csv"]))
def test_a_group_is_named_by_its_values(folder, tmp_path, name, keys, stated, reference):
    args = [part for key in keys for part in ("--by", key)] + [
        part for text in stated for part in ("--reference", text)
    ]
    ours = typed(tmp_path, "compare", folder / name, *READ, *args, "--metrics", "brier")
    theirs = LOG.ec.compare("p", "y", by=keys, reference=reference, metrics=["brier"])
    same(ours, theirs.with_columns(pl.col("reference").str.to_lowercase()))


@pytest.mark.quick("wide-rest", "tenth-1.0")
@pytest.mark.parametrize(("key", "stated"), [("wide", "10"), ("wide", "rest"), ("tenth", "1.0")])
def test_groups_of_wide_integers_and_decimals_in_duckdb(folder, tmp_path, key, stated):
    args = (*READ, "--by", key, "--reference", stated, "--metrics", "brier,recall")
    ours = typed(tmp_path, "compare", source(folder, "duckdb"), *args)
    reference = "rest" if stated == "rest" else 10
    theirs = LOG.ec.compare("p", "y", by="hour", reference=reference, metrics=["brier", "recall"])
    same(ours.drop(key, "reference"), theirs.drop("hour", "reference"))
    if stated == "1.0":
        fails(2, "compare", source(folder, "duckdb"), *args[:6], "--reference", "7", words=["There are 0.8; 0.9; 1.0"])


@pytest.mark.parametrize("name", mostly_slow(["log.parquet", "log.csv", "duckdb"], ["log.csv"]))
@pytest.mark.parametrize("stated", ["1970-02-01", "ts=1970-02-01T00:00"])
def test_periods_are_iso_dates(folder, tmp_path, name, stated):
    args = (*READ, "--time", "ts", "--every", "1mo", "--metrics", "brier", "--reference", stated)
    month = pl.col("ts").dt.truncate("1mo")
    theirs = LOG.ec.compare("p", "y", by=month, reference=datetime(1970, 2, 1), metrics=["brier"])
    same(typed(tmp_path, "compare", source(folder, name), *args), theirs)


@pytest.mark.parametrize(
    ("every", "stated"), [("1mo", "1970-02-01"), ("1h", "1970-01-05T04:00"), ("1h", "1970-01-05T03:00Z")]
)
def test_periods_of_instants_are_those_of_the_zone(tmp_path, every, stated):
    log = LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    log.write_parquet(tmp_path / "log.parquet")
    args = (*READ, "--time", "ts", "--every", every, "--time-zone", "Europe/Berlin", "--metrics", "brier")
    ours = typed(tmp_path, "compare", tmp_path / "log.parquet", *args, "--reference", stated)
    local = log.with_columns(pl.col("ts").dt.convert_time_zone("Europe/Berlin").dt.truncate(every))
    start = datetime.fromisoformat(stated[:13] + ":00" if "T" in stated else stated).replace(tzinfo=None)
    start = start.replace(hour=4) if stated.endswith("Z") else start
    here = local["ts"].dt.replace_time_zone(None) == start
    assert here.any()
    brier = ((local["p"] - local["y"].cast(float)) ** 2).filter(here).mean()
    assert ours["value_reference"].unique().to_list() == [pytest.approx(brier, rel=1e-12)]
    assert ours.height == local["ts"].n_unique() - 1
    assert ours.schema["ts"] == pl.Datetime("us", "Europe/Berlin")


# Sketches ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", mostly_slow([None, "overall"], ["overall"]))
def test_sketches_compare_models_as_the_rows_do(folder, tmp_path, prior):
    args = ("--by", "s", "--metrics", "nec,nce", *([] if prior is None else ["--prior", prior]))
    ours = typed(tmp_path, "compare", folder / "sketches", *args, "--min-rows", "200")
    options = {"cost_fn": 5, "cluster": "tail", "prior": prior, "min_rows": 200}
    theirs = LOG.ec.compare(["p", "q"], "y", by="s", metrics=["nec", "nce"], **options)
    # A loss has its spread from the middles of bins.
    limits = ["difference_ci_low", "difference_ci_high"]
    unsure = [*limits, "p_value", "p_adjusted"]
    assert_frame_equal(ours.drop(unsure), theirs.drop(unsure), rel_tol=1e-9)
    width = (theirs["difference_ci_high"] - theirs["difference_ci_low"]).max()
    assert_frame_equal(ours.select(limits), theirs.select(limits), abs_tol=0.05 * width, rel_tol=0)
    of_counts = pl.col("metric").str.starts_with("nec")
    same(ours.filter(of_counts), theirs.filter(of_counts))
    turned = typed(tmp_path, "compare", folder / "sketches", *args, "--reference", "q")
    assert turned["difference"].to_list() == pytest.approx((-ours["difference"]).to_list())


def test_sketches_compare_groups_and_periods_as_the_rows_do(folder, tmp_path):
    args = (
        "--by",
        "s",
        "--by",
        "month",
        "--every",
        "1mo",
        "--metrics",
        "nec,recall",
        "--reference",
        "month=1970-03-01",
    )
    ours = typed(tmp_path, "compare", folder / "sketches", *args, "--score", "p", "--score", "q")
    month = pl.col("ts").dt.truncate("1mo").alias("month")
    theirs = LOG.ec.compare(
        ["p", "q"],
        "y",
        by=["s", month],
        cost_fn=5,
        cluster="tail",
        metrics=["nec", "recall"],
        reference={"month": datetime(1970, 3, 1)},
    )
    same(ours, theirs)


@pytest.mark.slow
def test_the_usual_metrics_of_sketches_have_auc(folder, tmp_path):
    ours = typed(tmp_path, "compare", folder / "sketches", "--reference", "best", "--by", "s")
    assert ours["metric"].unique(maintain_order=True).to_list() == [
        "nec",
        "nce",
        "nbs",
        "precision",
        "f1",
        "recall",
        "auc_roc",
    ]
    assert ours["model"].unique().sort().to_list() == ["p", "q"]
    assert ours["n"].to_list() == [134] * 14 + [533] * 28


def test_a_sketch_of_one_model_has_its_name(folder, tmp_path):
    made = ("--score", "p", "--label", "y", "--by", "hour", "--threshold", "0.3")
    sketch(folder / "log.parquet", out=tmp_path / "sketches", args=made)
    args = (tmp_path / "sketches", "--by", "hour", "--metrics", "f1", "--reference", "9")
    ours = typed(tmp_path, "compare", *args, "--threshold", "0.3")
    same(ours, LOG.ec.compare("p", "y", by="hour", reference=9, metrics=["f1"], threshold=0.3))
    fails(2, "compare", *args, "--threshold", "0.2", words=["f1 at threshold 0.2", "polars-ec sketch --threshold 0.2"])
    fails(2, "compare", *args[:-2], words=["pass at least two models"])


@pytest.mark.slow
def test_sketches_of_llrs_have_differences_of_decisions_and_areas(folder, tmp_path):
    log = LOG.with_columns(pl.col("p", "q").log() - (1 - pl.col("p", "q")).log() + 0.8)
    log.write_parquet(tmp_path / "log.parquet")
    made = (*PAIR, "--by", "s", "--score-type", "llr", "--prior", "0.3", "--cluster", "tail")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=made)
    args = (tmp_path / "sketches", "--by", "s", "--prior", "0.3")
    ours = typed(tmp_path, "compare", *args)
    names = ["nec", "precision", "f1", "recall", "auc_roc"]
    theirs = log.ec.compare(["p", "q"], "y", by="s", score_type="llr", prior=0.3, cluster="tail", metrics=names[:4])
    same(ours.filter(pl.col("metric") != "auc_roc"), theirs)
    assert ours["metric"].str.strip_suffix("_at_prior").unique(maintain_order=True).to_list() == names
    fails(2, "compare", *args, "--metrics", "nce", words=["--metrics nce from LLRs", "report on the log"])


# Gates and formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", mostly_slow(["log.parquet", "sketches"], ["log.parquet"]))
def test_gates_name_group_model_and_metric(folder, name):
    columns = () if name == "sketches" else (*PAIR, "--cost-fn", "5", "--cluster", "tail")
    args = ("compare", source(folder, name), *columns, "--by", "s", "--metrics", "nec,recall", "--format", "csv")
    plain = invoke(*args)
    result = invoke(*args, "--fail-if", "value > 0.8", "--quiet")
    assert (result.exit_code, result.stdout) == (3, plain.stdout)
    table = pl.read_csv(io.StringIO(plain.stdout)).filter(pl.col("value") > 0.8, ~pl.col("small"))
    expected = [
        f"polars-ec: s={s or 'null'}, metric={metric}: value is {value:.6g} (--fail-if 'value > 0.8')"
        for s, metric, value in table.select("s", "metric", "value").rows()
    ]
    assert result.stderr.splitlines() == expected
    assert 0 < len(expected) < 6
    models = invoke(*args, "--reference", "best", "--fail-if", "p_adjusted < 2")
    assert models.stderr.startswith("polars-ec: s=null, model=p, metric=nec: p_adjusted is ")
    fails(2, *args, "--fail-if", "nec > 1", words=["no column 'nec'", "metric", "difference_ci_low > 0"])
    fails(2, *args, "--fail-if", "diff > 1", words=["no column 'diff'", "difference"])


def test_the_table_shows_limits_beside_the_difference(folder):
    lines = invoke("compare", folder / "log.parquet", *PAIR, "--metrics", "nec").stdout.splitlines()
    row = LOG.ec.compare(["p", "q"], "y", metrics=["nec"]).row(0, named=True)
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    assert lines[0].split() == ["model", "reference", "metric", "value", "value_reference", "difference"]
    assert f"{row['difference']:.4f} [{low:.4f}, {high:.4f}]" in lines[1]
    rows = json.loads(invoke("compare", folder / "log.parquet", *PAIR, "--metrics", "nec", "--format", "json").stdout)
    assert rows[0]["difference"] == pytest.approx(row["difference"])


# Mistakes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (READ, ["--score names only one model, 'p'", "--reference"]),
        ((*READ, "--reference", "p"), ["--reference 'p' is the only model: pass at least two models"]),
        ((*READ, "--reference", "rest"), ["--reference 'rest' compares groups", "--by"]),
        ((*PAIR, "--reference", "pp"), ["--reference 'pp' is not a model", "did you mean p?"]),
        ((*READ, "--by", "s", "--reference", "c"), ["--reference 'c' is not a group of s. There are None; 'a'; 'b'"]),
        ((*READ, "--by", "s", "--reference", "S=a"), ["S is not a group column", "--reference s=VALUE"]),
        ((*READ, "--by", "s", "--reference", "s=a", "--reference", "s=b"), ["s already has a value"]),
        ((*READ, "--by", "s", "--by", "wet", "--reference", "a"), ["--reference s=VALUE --reference wet=VALUE"]),
        ((*READ, "--by", "wet", "--reference", "1"), ["'1' is not a value of wet, which is Boolean"]),
        ((*READ, "--by", "hour", "--reference", "hour=1.5"), ["'1.5' is not a value of hour, which is Int64"]),
        (
            (*READ, "--time", "ts", "--every", "1mo", "--reference", "1970-02"),
            ["'1970-02' is not a value of ts, which is an ISO date, such as 2024-05-01"],
        ),
        ((*READ, "--time", "ts", "--every", "1mo", "--reference", "1970-02-01T00:00Z"), ["is not a value of ts"]),
        (
            (*READ, "--time", "ts", "--every", "1mo", "--reference", "1970-02-02"),
            ["--reference 1970-02-02 00:00:00 is not a group of ts. There are 1970-01-01 00:00:00;"],
        ),
        ((*PAIR, "--metrics", "ece"), ["--metrics holds 'ece'"]),
        ((*PAIR, "--cluster", "tail", "--buckets", "50"), ["--buckets 50", "100"]),
        ((*PAIR, "--buckets", "200"), ["--buckets 200", "--cluster"]),
        ((*PAIR, "--interval", "95"), ["--interval 95.0", "pass 0.95"]),
        ((*PAIR, "--min-rows", "-1"), ["--min-rows -1"]),
        (("--score", "p"), ["a comparison on rows needs --label"]),
        ((*PAIR, "--by", "metric"), ["no column 'metric' (--by)"]),
    ],
    ids=" ".join,
)
def test_mistakes(folder, args, words):
    fails(2, "compare", folder / "log.parquet", *args, words=words)


def test_columns_that_both_have_are_renamed_where_one_can(folder, tmp_path):
    LOG.rename({"s": "small"}).write_parquet(tmp_path / "log.parquet")
    args = ("compare", tmp_path / "log.parquet", *PAIR, "--by", "small")
    assert fails(2, *args, words=["--by has a column 'small'"]).endswith("rename it in the log")


def test_what_sketches_cannot_compare(folder, tmp_path):
    sketch(folder / "log.parquet", out=tmp_path / "sketches", args=(*PAIR, "--by", "s"))
    told = fails(2, "compare", tmp_path / "sketches", words=["are the same", "--cluster"])
    assert told.endswith("or compare the rows with polars-ec compare LOG")
    fails(2, "compare", folder / "sketches", "--cluster", "wet", words=["with --cluster tail, not wet"])
    fails(2, "compare", folder / "sketches", folder / "log.parquet", words=["one folder of sketches at a time"])


def said(path, *args, code=0):
    result = invoke("compare", path, *args, "--format", "csv")
    assert result.exit_code == code, result.output
    return result.stderr.splitlines()


def test_labels_that_nobody_has_are_told_as_in_reports(folder, tmp_path):
    log = LOG.with_columns(y=pl.when("y").then(pl.lit("Yes")).otherwise(pl.lit("no")))
    log.write_parquet(tmp_path / "log.parquet")
    args = (*PAIR, "--metrics", "nec,error_rate", "--pos-label")
    assert said(tmp_path / "log.parquet", *args, "Yes") == []
    fails(1, "compare", tmp_path / "log.parquet", *args, "yes", words=["no row has the label 'yes'", "'Yes'"])
    (line,) = said(tmp_path / "log.parquet", *args, "late")
    assert "no row has the label 'late' (--pos-label)" in line


def test_groups_that_lack_values_are_told_of(folder, tmp_path):
    """One with wrong rows; those that are small need no word."""
    wrong = LOG.with_columns(p=pl.when(pl.col("ts") == datetime(1970, 1, 2)).then(7.0).otherwise("p"))
    wrong.write_parquet(tmp_path / "log.parquet")
    hour = wrong.filter(pl.col("p") == 7.0)["hour"].item()
    args = (*PAIR, "--by", "hour", "--metrics", "nec")
    (line,) = said(tmp_path / "log.parquet", *args)
    assert "1 group that is not small has no difference" in line
    table = wrong.lazy().ec.compare(["p", "q"], "y", by="hour", metrics=["nec"]).collect()
    assert table.filter(pl.col("difference").is_null())["hour"].to_list() == [hour]
    fails(
        1,
        "compare",
        tmp_path / "log.parquet",
        *args,
        "--prior",
        "overall",
        words=["--prior overall", "invalid or no usable rows"],
    )
    (line,) = said(folder / "log.parquet", "--score", "p", "--score", "hour", "--label", "y", "--metrics", "nec")
    assert "no group has a difference" in line
    few = said(folder / "log.parquet", *PAIR, "--by", "tail", "--metrics", "nec")
    assert few == []


def test_an_empty_log_has_no_differences(tmp_path):
    LOG.clear().write_parquet(tmp_path / "log.parquet")
    assert said(tmp_path / "log.parquet", *PAIR, "--by", "s") == []
    (line,) = said(tmp_path / "log.parquet", *PAIR, "--by", "s", "--fail-if", "p_adjusted < 0.05")
    assert "judged no value, which only --fail-on-null counts as a failure: the table is empty" in line
