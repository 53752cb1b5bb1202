"""`polars-ec drift`: the drift of the package, from files, tables of DuckDB and sketches; strata and references as they are written."""

from __future__ import annotations

import io
from datetime import datetime
from itertools import product

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cases import mostly_slow
from tests.support.cli import fails, invoke, sketch, source, typed

READ = ("--score", "p", "--label", "y")
PAIR = ("--score", "p", "--score", "q", "--label", "y")
MONTHS = ("--time", "ts", "--every", "1mo")
ROWS = ["log.parquet", "log.csv", "halves", "duckdb"]
MONTH = pl.col("ts").dt.truncate("1mo")
NOTHING = "polars-ec: no group has another period beside the reference, so there is no change to explain\n"


def made_log(n=1200):
    """150 days of 8 rows."""
    rng = np.random.default_rng(7)
    i = np.arange(n)
    late, tail = rng.random(n) < 0.2 + 0.5 * (i > 600), rng.integers(0, 120, n)
    z = 1.5 * late - 1.2 + rng.normal(size=n)
    return pl.DataFrame(
        {
            "s": ["ab"[k] for k in (rng.random(n) < 0.3 + i / 3000).astype(int)],
            "code": [None if k % 11 == 0 else ("1", "01", "1.0")[k % 3] for k in range(n)],
            "wet": i % 2 == 0,
            "ts": pl.Series(i * 86_400_000_000 // 8, dtype=pl.Int64).cast(pl.Datetime("us")),
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
    for name, part, dtype in (("one", LOG.head(700), pl.Categorical), ("two", LOG.tail(500), pl.String)):
        part.with_columns(pl.col("s", "code").cast(dtype)).write_parquet(folder / "halves" / f"{name}.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    columns = ("--by", "s", "--by", "wet", "--time", "ts", "--every", "1d", "--cost-fn", "5", "--cluster", "tail")
    sketch(folder / "halves", out=folder / "sketches", args=(*PAIR, *columns))
    return folder


def same(ours, theirs):
    assert theirs.height
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-8, abs_tol=1e-10)


# Rows -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", mostly_slow(ROWS, ["log.csv"]))
def test_parts_are_those_of_the_package(folder, tmp_path, name):
    args = ("--by", "wet", "--mix", "s", "--mix", "code", "--cost-fn", "5", "--prior", "overall", "--cluster", "tail")
    args = (
        *args,
        "--buckets",
        "110",
        "--weight",
        "w",
        "--metrics",
        "nec,nce",
        "--interval",
        "0.9",
        "--min-rows",
        "115",
    )
    ours = typed(tmp_path, "drift", source(folder, name), *PAIR, *MONTHS, *args)
    theirs = LOG.ec.drift(
        ["p", "q"],
        "y",
        period=MONTH,
        by="wet",
        mix=["s", "code"],
        metrics=["nec", "nce"],
        interval=0.9,
        cluster="tail",
        buckets=110,
        min_rows=115,
        cost_fn=5,
        prior="overall",
        weight="w",
    )
    same(ours, theirs)
    assert ours["metric"].to_list() == ["nec", "nec_at_prior", "nce", "nce_at_prior"] * 16
    assert ours["small"].to_list()[:8] == [True] * 8
    assert not ours["small"].to_list()[8]
    assert ours["mix"].abs().max() > 0


def test_parts_by_a_plain_formula(folder, tmp_path):
    """Kitagawa, 1955: the error rate is the mean of those of the classes."""
    args = ("--metrics", "error_rate", "--threshold", "0.4", "--reference", "1970-02")
    ours = typed(tmp_path, "drift", folder / "log.csv", *READ, *MONTHS, *args)

    def of(month):
        rows = LOG.filter(datetime(1970, month, 1) == MONTH)
        y, wrong = rows["y"].to_numpy(), (rows["p"] > 0.4).to_numpy() != rows["y"].to_numpy()
        return np.array([1 - y.mean(), y.mean()]), np.array([wrong[~y].mean(), wrong[y].mean()])

    before = of(2)
    assert ours["ts"].dt.month().to_list() == [1, 3, 4, 5]
    for month, prior, likelihood, difference in ours.select(
        pl.col("ts").dt.month(), "prior", "likelihood", "difference"
    ).rows():
        after = of(month)
        assert prior == pytest.approx(((after[0] - before[0]) * (after[1] + before[1])).sum() / 2, abs=1e-12)
        assert likelihood == pytest.approx(((after[1] - before[1]) * (after[0] + before[0])).sum() / 2, abs=1e-12)
        assert difference == pytest.approx((after[0] * after[1]).sum() - (before[0] * before[1]).sum(), abs=1e-12)


REFERENCES = [
    ("1mo", None, None),
    ("1mo", "1970-03", datetime(1970, 3, 1)),
    ("1mo", "1970-03-01", datetime(1970, 3, 1)),
    ("1mo", "1970-03-01T00:00", datetime(1970, 3, 1)),
    ("1q", "1970-04", datetime(1970, 4, 1)),
    ("1y", "1970", datetime(1970, 1, 1)),
    ("1w", "1970-01-12", datetime(1970, 1, 12)),
    ("1mo", "previous", "previous"),
]


@pytest.mark.quick("log.parquet-stated1", "sketches-stated33")
@pytest.mark.parametrize(
    ("name", "stated"),
    mostly_slow(
        product([*ROWS, "sketches"], REFERENCES),
        [("sketches", REFERENCES[1]), *product(["log.parquet"], REFERENCES[1::2])],
    ),
)
def test_references_are_periods_by_their_begin(folder, tmp_path, name, stated):
    every, text, reference = stated
    asked = () if text is None else ("--reference", text)
    columns = () if name == "sketches" else (*PAIR, "--time", "ts", "--cost-fn", "5", "--cluster", "tail")
    ours = typed(
        tmp_path,
        "drift",
        source(folder, name),
        *columns,
        "--every",
        every,
        "--metrics",
        "nec",
        *asked,
        said=NOTHING if every == "1y" else "",
    )
    period = pl.col("ts").dt.truncate(every)
    options = {"reference": reference, "metrics": ["nec"], "cluster": "tail", "cost_fn": 5}
    theirs = LOG.ec.drift(["p", "q"], "y", period=period, **options)
    if every == "1y":
        assert ours.height == theirs.height == 0
    else:
        same(ours, theirs)


def test_periods_of_instants_are_those_of_the_zone(tmp_path):
    log = LOG.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    log.write_parquet(tmp_path / "log.parquet")
    args = (*READ, *MONTHS, "--time-zone", "America/New_York", "--metrics", "brier", "--reference", "1970-02")
    ours = typed(tmp_path, "drift", tmp_path / "log.parquet", *args)
    month = log["ts"].dt.convert_time_zone("America/New_York").dt.replace_time_zone(None).dt.truncate("1mo")
    theirs = log.with_columns(ts=month).ec.drift(
        "p", "y", period="ts", metrics=["brier"], reference=datetime(1970, 2, 1)
    )
    same(ours.with_columns(pl.col("ts").dt.replace_time_zone(None)), theirs)
    assert ours.schema["ts"] == pl.Datetime("us", "America/New_York")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=(*READ, *args[4:6], "--every", "1h"))
    of_sketches = typed(tmp_path, "drift", tmp_path / "sketches", *args[6:])
    assert_frame_equal(
        of_sketches.select("ts", "value", "difference", "prior"), ours.select("ts", "value", "difference", "prior")
    )


def test_strata_of_csv_are_as_they_are_written(tmp_path):
    """And those of 128-bit integers, which Polars does not have from DuckDB, are themselves."""
    log = LOG.with_columns(code=pl.when("wet").then(pl.lit("01")).otherwise(pl.lit("1")))
    log.write_csv(tmp_path / "log.csv")
    args = (*READ, *MONTHS, "--metrics", "brier", "--mix")
    theirs = LOG.ec.drift("p", "y", period=MONTH, mix="wet", metrics=["brier"])
    same(typed(tmp_path, "drift", tmp_path / "log.csv", *args, "code"), theirs)
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE log AS SELECT *, CASE WHEN wet THEN 2::HUGEINT ** 100 ELSE 1 END::HUGEINT AS wide, "
            f"INTERVAL 1 DAY AS step FROM '{tmp_path}/log.csv'"
        )
    same(typed(tmp_path, "drift", source(tmp_path, "duckdb"), *args, "wide"), theirs)
    fails(2, "drift", source(tmp_path, "duckdb"), *args, "step", words=["--mix step", "an interval type"])


# Sketches ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", mostly_slow([None, "0.3", "overall"], ["overall"]))
@pytest.mark.slow
def test_sketches_have_the_parts_of_the_rows(folder, tmp_path, prior):
    args = ("--by", "wet", "--by", "month", "--mix", "s", "--every", "1mo", "--metrics", "nec,nce,error_rate")
    ours = typed(
        tmp_path,
        "drift",
        folder / "sketches",
        *args,
        "--min-rows",
        "115",
        *([] if prior is None else ["--prior", prior]),
    )
    theirs = LOG.ec.drift(
        ["p", "q"],
        "y",
        period=MONTH.alias("month"),
        by="wet",
        mix="s",
        metrics=["nec", "nce", "error_rate"],
        cluster="tail",
        cost_fn=5,
        min_rows=115,
        prior=float(prior) if prior == "0.3" else prior,
    )
    # A loss has its spread from the middles of bins.
    unsure = pl.selectors.matches("_ci_|^p_")
    assert_frame_equal(ours.select(~unsure), theirs.select(~unsure), rel_tol=1e-9, abs_tol=1e-12)
    of_counts = pl.col("metric").str.starts_with("nce").not_()
    same(ours.filter(of_counts), theirs.filter(of_counts))
    nulls = [table.filter(~of_counts)["prior_ci_low"].is_null() for table in (ours, theirs)]
    assert_series_equal(*nulls)
    assert not nulls[0].all()


@pytest.mark.slow
def test_the_usual_metrics_are_those_of_the_rows(folder, tmp_path):
    ours = typed(tmp_path, "drift", folder / "sketches", "--every", "1mo")
    assert ours["metric"].unique(maintain_order=True).to_list() == ["nec", "nce", "nbs", "precision", "f1", "recall"]
    assert ours["model"].unique(maintain_order=True).to_list() == ["p", "q"]
    rows = typed(tmp_path, "drift", folder / "log.parquet", *PAIR, *MONTHS, "--cost-fn", "5")
    columns = ["ts", "model", "reference", "metric", "value", "difference", "prior", "likelihood", "n", "n_reference"]
    assert_frame_equal(ours.select(columns), rows.select(columns))


# Gates and mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", mostly_slow(["log.csv", "duckdb", "sketches"], ["sketches"]))
def test_gates_name_group_period_and_metric(folder, name):
    columns = ("--every", "1mo") if name == "sketches" else (*PAIR, *MONTHS, "--cost-fn", "5", "--cluster", "tail")
    args = ("drift", source(folder, name), *columns, "--by", "s", "--metrics", "expected_cost", "--format", "csv")
    gate = "prior_ci_high < 0"
    result = invoke(*args, "--fail-if", gate, "--quiet")
    assert result.exit_code == 3
    table = pl.read_csv(io.StringIO(result.stdout), try_parse_dates=True).filter(
        pl.col("prior_ci_high") < 0, ~pl.col("small")
    )
    assert result.stderr.splitlines() == [
        f"polars-ec: s={s}, ts={ts.date()}, model={model}: prior_ci_high is {high:.6g} (--fail-if '{gate}')"
        for s, ts, model, high in table.select("s", "ts", "model", "prior_ci_high").rows()
    ]
    assert 0 < table.height < 16
    fails(2, *args, "--fail-if", "mix_ci_low > 0", words=["no column 'mix_ci_low': pass --mix"])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (READ, ["a drift compares periods", "--every 1mo", "--time"]),
        ((*READ, "--every", "1mo"), ["pass both --time and --every"]),
        ((*READ, *MONTHS, "--reference", "1970"), ["--reference 1970: the periods are 1mo long", "2024-05-01"]),
        (
            (*READ, "--time", "ts", "--every", "1d", "--reference", "1970-02"),
            ["--reference 1970-02: the periods are 1d long"],
        ),
        ((*READ, *MONTHS, "--reference", "1970-13"), ["'1970-13-01' is not a value of ts"]),
        ((*READ, *MONTHS, "--reference", "before"), ["'before' is not a value of ts, which is an ISO date"]),
        (
            (*READ, *MONTHS, "--reference", "1970-02-02"),
            ["--reference 1970-02-02 00:00:00 is not a group of ts", "1970-05-01"],
        ),
        ((*READ, *MONTHS, "--mix", "S"), ["no column 'S' (--mix)", "did you mean 's'"]),
        ((*READ, *MONTHS, "--mix", "s", "--by", "s"), ["--mix s is also --by s"]),
        ((*READ, *MONTHS, "--mix", "ts"), ["--mix ts is also --time ts"]),
        ((*READ, *MONTHS, "--mix", "s", "--mix", "s"), ["--mix s is named twice"]),
        (
            (*READ, *MONTHS, "--metrics", "auc_roc"),
            ["--metrics holds 'auc_roc'", "polars-ec compare --reference has its"],
        ),
        ((*READ, *MONTHS, "--cluster", "tail", "--buckets", "50"), ["--buckets 50", "100"]),
        ((*READ, *MONTHS, "--by", "ts"), ["--time 'ts' is also a column in --by"]),
        (("--score", "p", *MONTHS), ["a drift on rows needs --label"]),
        ((*READ, *MONTHS, "--window", "7"), ["--window 7", "run polars-ec sketch on the log first"]),
        ((*READ, *MONTHS, "--fail-if", "drift > 0"), ["no column 'drift'"]),
    ],
    ids=" ".join,
)
def test_mistakes(folder, args, words):
    fails(2, "drift", folder / "log.parquet", *args, words=words)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), ["a drift compares periods"]),
        (("--every", "1mo", "--mix", "code"), ["no group column 'code' (--mix): It has s, wet, ts"]),
        (("--every", "1mo", "--mix", "ts"), ["--mix names 'ts', which is the period"]),
        (("--every", "1mo", "--by", "month", "--by", "ts"), ["--by has the periods twice, as month and ts"]),
        (("--every", "1mo", "--cluster", "wet"), ["with --cluster tail"]),
        (("--every", "1mo", "--metrics", "auc_roc"), ["--metrics holds 'auc_roc'"]),
        (
            ("--every", "1mo", "--metrics", "nec", "--cost-fn", "7"),
            ["nec at threshold 0.125", "polars-ec sketch --threshold 0.125"],
        ),
        (("--every", "1mo", "--reference", "1971-02"), ["not a group of ts. There are 1970-01-01"]),
    ],
    ids=" ".join,
)
def test_what_sketches_do_not_have(folder, args, words):
    fails(2, "drift", folder / "sketches", *args, words=words)


def test_an_empty_log_has_no_changes(tmp_path):
    LOG.clear().write_parquet(tmp_path / "log.parquet")
    first = ("--reference", "1970-01")
    assert typed(tmp_path, "drift", tmp_path / "log.parquet", *READ, *MONTHS, *first, said=NOTHING).height == 0
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=(*READ, "--time", "ts", "--every", "1d"))
    assert typed(tmp_path, "drift", tmp_path / "sketches", "--every", "1mo", *first, said=NOTHING).height == 0


def test_why_nothing_is_found_is_said(folder, tmp_path):
    args = ("--metrics", "nec", "--time", "ts", "--every")
    assert typed(tmp_path, "drift", folder / "log.parquet", *READ, *args, "1y", said=NOTHING).height == 0
    LOG.with_columns(y=pl.col("ts") < pl.col("ts").max()).write_parquet(tmp_path / "one.parquet")
    few = "no group has a difference: every group, or its reference, has too few rows of a class, or invalid rows"
    said = f"polars-ec: {few}. See n and n_invalid in polars-ec report\n"
    assert typed(tmp_path, "drift", tmp_path / "one.parquet", *READ, *args, "1mo", said=said).height == 4
    last = pl.when(pl.col("ts") >= datetime(1970, 5, 1)).then(7.0).otherwise("p")
    LOG.with_columns(p=last).write_parquet(tmp_path / "last.parquet")
    said = "polars-ec: 1 group has only invalid rows. See n_invalid in polars-ec report\n"
    table = typed(tmp_path, "drift", tmp_path / "last.parquet", *READ, *args, "1mo", said=said)
    assert table["n"].to_list()[3:] == [0]
    wrong = "no group has a difference: do rows have an invalid score"
    LOG.with_columns(pl.col("p") + 2).write_parquet(tmp_path / "wrong.parquet")
    result = invoke("drift", tmp_path / "wrong.parquet", *READ, *args, "1mo")
    assert wrong in result.stderr


def test_a_reference_is_shown_as_periods_are(folder):
    said = invoke("drift", folder / "log.csv", *READ, *MONTHS, "--metrics", "brier").stdout
    assert "1970-01-01" in said
    assert "00:00:00" not in said
