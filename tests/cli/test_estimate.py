"""`polars-ec estimate`: the estimates of the package, from files and tables of DuckDB."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cases import mostly_slow
from tests.support.cli import fails, invoke, report, sketch, source, typed

READ = ("--score", "p", "--label", "y")
MONTHS = ("--time", "ts", "--every", "1mo")
RNG = np.random.default_rng(3)
N = 600
Z = RNG.normal(-1, 1.5, N)
LOG = pl.DataFrame(
    {
        "s": RNG.choice(["a", "b"], N),
        # From the first of January to the first days of April.
        "ts": pl.Series(np.arange(N) * 13_000_000_000, dtype=pl.Int64).cast(pl.Datetime("us")),
        "p": 1 / (1 + np.exp(-Z)),
        "y": RNG.random(N) < 1 / (1 + np.exp(-0.8 * Z)),
        "u": RNG.integers(0, 40, N),
        "c": RNG.choice([0.4, 0.8], N),
    }
).with_columns(y=pl.when((pl.col("ts").dt.month() < 3) | (pl.int_range(pl.len()) % 3 == 0)).then("y"))
MONTH = pl.col("ts").dt.truncate("1mo")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    LOG.write_parquet(folder / "log.parquet")
    LOG.write_csv(folder / "log.csv")
    with duckdb.connect(str(folder / "log.duckdb")) as connection:
        log = LOG.to_arrow()  # noqa: F841
        connection.execute("CREATE TABLE log AS FROM log")
    return folder


@pytest.mark.parametrize("name", mostly_slow(["log.parquet", "log.csv", "duckdb"], ["log.csv"]))
def test_estimates_are_those_of_the_package(folder, tmp_path, name):
    args = (
        "--by",
        "s",
        "--metrics",
        "nec,recall",
        "--cost-fn",
        "5",
        "--cluster",
        "u",
        "--interval",
        "0.9",
        "--seed",
        "4",
    )
    args = (*args, "--replicates", "20", "--labelled", "0.8", "--calibrator", "pav", "--shift-prior", "0.3")
    args = (*args, "--label-probability", "c", "--reference", "1970-02")
    ours = typed(tmp_path, "estimate", source(folder, name), *READ, *MONTHS, *args)
    theirs = LOG.ec.estimate(
        "p",
        "y",
        period=MONTH,
        by="s",
        metrics=["nec", "recall"],
        cost_fn=5,
        cluster="u",
        interval=0.9,
        seed=4,
        replicates=20,
        labelled=0.8,
        calibrator="pav",
        shift_prior=0.3,
        label_probability="c",
        reference=pl.Series(["1970-02-01"]).str.to_datetime().item(),
    )
    assert theirs["value"].count() > 4
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-8, abs_tol=1e-10)


@pytest.mark.slow
def test_a_gate_looks_at_past_estimates(folder):
    args = (folder / "log.parquet", *READ, *MONTHS, "--metrics", "nec", "--format", "csv")
    right = invoke("estimate", *args, "--fail-if", "covered < 1")
    assert right.exit_code == 0
    wrong = invoke("estimate", *args, "--fail-if", "covered == 1")
    assert wrong.exit_code == 3
    assert "ts=1970-02-01: covered is true" in wrong.stderr
    alone = invoke("estimate", *args, "--calibrator", "none", "--shift-prior", "em", "--labelled", "1")
    assert alone.exit_code == 0
    assert (
        invoke("estimate", *args, "--calibrator", "None").stdout
        == invoke("estimate", *args, "--calibrator", "none").stdout
    )
    late = invoke("estimate", *args, "--labelled", "1", "--reference", "1970-01", "--interval", "0.5")
    assert "1970-02" in late.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (READ, ["an estimate is of periods", "--every 1mo"]),
        ((*READ, *MONTHS, "--shift-prior", "x"), ["--shift-prior x: pass a prior such as 0.1"]),
        ((*READ, *MONTHS, "--calibrator", "platt"), ["--calibrator 'platt' is none of spline, affine"]),
        ((*READ, *MONTHS, "--labelled", "90"), ["--labelled 90.0 is not a share"]),
        ((*READ, *MONTHS, "--metrics", "eer"), ["'eer', which cannot be estimated"]),
        ((*READ, *MONTHS, "--prior", "overall"), ["--prior 'overall' is not a number"]),
        ((*READ, *MONTHS, "--reference", "1971-01"), ["--reference", "is not a group of ts"]),
        ((*READ, *MONTHS, "--label-probability", "zz"), ["--label-probability", "zz"]),
        ((*READ, *MONTHS, "--fail-if", "nec > 1"), ["each metric has rows of its own", 'such as "value_ci_low > 0"']),
    ],
)
def test_misuse_is_told(folder, args, words):
    fails(2, "estimate", folder / "log.parquet", *args, words=words)


@pytest.mark.parametrize("option", ["--plot", "--min-rows", "--false-alarms"])
def test_options_of_tables_with_other_columns_are_not_there(folder, option):
    result = invoke("estimate", folder / "log.parquet", *READ, *MONTHS, option, "5")
    assert result.exit_code == 2
    assert f"No such option: {option}" in result.stderr


def test_what_is_not_there_is_told(folder, tmp_path):
    none = LOG.with_columns(y=pl.lit(None, dtype=pl.Boolean))
    none.write_parquet(tmp_path / "none.parquet")
    result = invoke("estimate", tmp_path / "none.parquet", *READ, *MONTHS, "--metrics", "nec")
    assert result.exit_code == 0
    assert "no period has an estimate: rows are invalid, or no earlier period has enough labels" in result.stderr
    LOG.head(0).write_parquet(tmp_path / "empty.parquet")
    assert invoke("estimate", tmp_path / "empty.parquet", *READ, *MONTHS, "--metrics", "nec").exit_code == 0


KEPT = ("--by", "s", "--cost-fn", "5", "--cluster", "u", "--unlabelled")


@pytest.mark.slow
def test_a_folder_of_sketches_has_the_estimates_of_its_files(tmp_path):
    days, out = tmp_path / "days", tmp_path / "sketches"
    days.mkdir()
    for start in range(0, N, 60):
        LOG[start : start + 60].write_parquet(days / f"{start:03}.parquet")
    daily = (*READ, "--time", "ts", "--every", "1d", *KEPT)
    sketch(days, out=out, args=daily)
    args = ("--metrics", "nec,auc_roc", "--replicates", "20", "--seed", "4")
    ours = typed(tmp_path, "estimate", out, "--every", "1mo", *args)
    call = {"period": MONTH, "metrics": ["nec", "auc_roc"], "cost_fn": 5, "cluster": "u", "replicates": 20, "seed": 4}
    expected = LOG.ec.estimate("p", "y", **call)
    assert expected["value"].count() > 4
    assert_frame_equal(ours, expected, rel_tol=1e-9)
    of_groups = typed(tmp_path, "estimate", out, "--every", "1mo", "--by", "s", "--reference", "1970-01", *args)
    reference = pl.Series(["1970-01-01"]).str.to_datetime().item()
    assert_frame_equal(of_groups, LOG.ec.estimate("p", "y", by="s", reference=reference, **call), rel_tol=1e-9)
    # The labels of a file come.
    late = sorted(days.iterdir())[-1]
    rows = pl.read_parquet(late).with_columns(y=pl.lit(value=True))
    rows.write_parquet(late)
    sketch(days, out=out, args=daily)
    log = pl.concat([pl.read_parquet(file) for file in sorted(days.iterdir())])
    ours = typed(tmp_path, "estimate", out, "--every", "1mo", *args)
    assert_frame_equal(ours, log.ec.estimate("p", "y", **call), rel_tol=1e-9)


@pytest.mark.slow
def test_what_a_folder_of_sketches_does_not_have_is_told(folder, tmp_path):
    plain, kept = tmp_path / "plain", tmp_path / "kept"
    sketch(folder / "log.parquet", out=plain, args=(*READ, *MONTHS))
    fails(2, "estimate", plain, "--every", "1mo", words=["keeps no rows without a label", "with --unlabelled"])
    words = ["made with other options", "--unlabelled none and true"]
    fails(2, "sketch", folder / "log.parquet", "--out", plain, *READ, *MONTHS, "--unlabelled", words=words)
    sketch(folder / "log.parquet", out=kept, args=(*READ, *MONTHS, *KEPT))
    estimates = ("estimate", kept, "--every", "1mo")
    fails(2, *estimates, "--label-probability", "c", words=["--label-probability c: sketches do not have it"])
    fails(2, *estimates, "--prior", "overall", words=["--prior 'overall' is not a number"])
    fails(2, *estimates, "--cost-fn", "7", words=["is not exact in this sketch"])
    fails(2, *estimates, "--by", "zz", words=["has no group column 'zz'"])
    exact = ("--out", tmp_path / "exact", *READ, "--unlabelled", "--exact")
    fails(
        2,
        "sketch",
        folder / "log.parquet",
        *exact,
        words=["--unlabelled keeps bins", "leave out --exact and --reduction"],
    )
    sketch(folder / "log.parquet", out=tmp_path / "same", args=(*READ, *MONTHS, *KEPT[:-1]))
    reports = [report(of, "--every", "1mo") for of in (kept, tmp_path / "same")]
    assert_frame_equal(*reports, rel_tol=1e-9)


@pytest.mark.parametrize(
    "command", ["report", "compare --reference best", "drift", "capacity --k 9", "estimate --replicates 5"]
)
def test_the_help_of_gates_names_a_column_that_the_command_has(folder, command):
    name, *more = command.split()
    gate = re.search(r'holds in a group: "([^"]+)"', " ".join(invoke(name, "--help").stdout.split()))[1]
    args = (name, folder / "log.csv", *READ, *MONTHS, *more, "--fail-if", gate, "--quiet", "--format", "csv")
    assert invoke(*args).exit_code == 0
    assert invoke(*args[:-4], re.sub("[0-9]+", "-1", gate), *args[-3:]).exit_code == 3
