"""Objects in stores are read as the same files on a disk are. Run by `make test-lake`."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.lakes.logs import BY, LOG, is_report_of, make_log, months, reported, write
from tests.support.cli import READ, fails, invoke, typed, typed_report

pytestmark = pytest.mark.lake

KINDS = [".parquet", ".csv", ".csv.gz", ".arrow", ".ndjson"]
SCHEMES = ["s3", "gs"]


# What is read -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("suffix", KINDS)
def test_one_object(bucket, tmp_path, suffix, scheme):
    file = write(LOG, tmp_path / f"log{suffix}")
    bucket.put(f"deep/log{suffix}", file.read_bytes())
    address = bucket.url(f"deep/log{suffix}", scheme)
    is_report_of(LOG, address)
    assert_frame_equal(reported(address, "--by", "code"), reported(file, "--by", "code"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("suffix", KINDS)
def test_patterns_and_prefixes(bucket, tmp_path, suffix, scheme):
    folder = tmp_path / "log"
    for i in range(3):
        write(LOG.gather_every(3, i), folder / f"x{i}" / f"part{i}{suffix}")
    bucket.put_folder(folder, "logs/")
    for key in ("logs", "logs/", f"logs/*/*{suffix}", f"logs/**/*{suffix}", "logs/x[012]", f"l?gs/x*/part*{suffix}"):
        is_report_of(LOG, bucket.url(key, scheme))
    some = f"x[12]/part*{suffix}"
    assert_frame_equal(reported(bucket.url(f"logs/{some}", scheme)), reported(folder / some))


def test_a_whole_bucket(bucket, tmp_path):
    bucket.put("log.parquet", write(LOG, tmp_path / "log.parquet").read_bytes())
    is_report_of(LOG, bucket.url())
    is_report_of(LOG, bucket.url().rstrip("/"))


def test_a_prefix_is_a_folder_and_not_the_beginning_of_a_name(bucket, tmp_path):
    content = write(LOG, tmp_path / "log.parquet").read_bytes()
    bucket.put("log/a.parquet", content)
    bucket.put("log-of-others/a.parquet", content)
    is_report_of(LOG, bucket.url("log"))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_partitions(bucket, tmp_path, suffix, scheme):
    folder = months(tmp_path / "log", suffix)
    bucket.put_folder(folder, "log/")
    expected = ec.report(LOG, "p", "y", by="month")
    for key in ("log", "log/*", f"log/**/*{suffix}", f"log/month=*/part{suffix}"):
        table = typed_report(bucket.url(key, scheme), *READ, "--by", "month")
        assert_frame_equal(table, expected, rel_tol=1e-12)
    some = typed_report(bucket.url("log/month=[12]", scheme), *READ, "--by", "month")
    assert_frame_equal(some, expected.filter(pl.col("month") < 3), rel_tol=1e-12)


def test_a_partition_and_a_column_of_the_same_name_that_differ(bucket, tmp_path):
    bucket.put("log/month=4/a.parquet", write(LOG, tmp_path / "a.parquet").read_bytes())
    fails(1, "report", bucket.url("log"), *READ, words=[bucket.url("log/month=4/a.parquet"), "month=4"])


def test_what_is_hidden_is_no_part(bucket, tmp_path):
    write(LOG, tmp_path / "log" / "a.parquet")
    for name in ("_delta.parquet", ".a.parquet", "_temporary/b.parquet", ".hidden/b.parquet"):
        write(make_log(seed=2), tmp_path / "log" / name)
    for name in ("_SUCCESS", "notes.txt", "x/_SUCCESS"):
        (tmp_path / "log" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "log" / name).touch()
    bucket.put_folder(tmp_path / "log", "log/")
    for key in ("log", "log/*.parquet", "log/**/*.parquet"):
        expected = reported(tmp_path / key)
        assert_frame_equal(reported(bucket.url(key)), expected)
    is_report_of(LOG, bucket.url("log"))


def test_what_only_stands_for_a_folder_is_no_part(bucket, tmp_path):
    """As consoles of stores make them."""
    bucket.put("log/", b"")
    bucket.put("log/deep/", b"")
    bucket.put("log/deep/a.parquet", write(LOG, tmp_path / "a.parquet").read_bytes())
    is_report_of(LOG, bucket.url("log"))
    is_report_of(LOG, bucket.url("log/*"))
    # And of the very name that is asked for.
    bucket.put("log", b"")
    bucket.put("log/deep", b"")
    for key in ("log", "log/", "log/deep", "log/*"):
        is_report_of(LOG, bucket.url(key))


@pytest.mark.parametrize(
    "name", ["a b.parquet", "a%20b.parquet", "a+b#c.parquet", "é/ü.parquet", "a=b&c.parquet", "q?.csv"]
)
def test_odd_names(bucket, tmp_path, name):
    bucket.put(f"odd/{name}", write(LOG, tmp_path / "log" / name).read_bytes())
    is_report_of(LOG, bucket.url(f"odd/{name}"))
    is_report_of(LOG, bucket.url("odd"))


def test_several_addresses_and_one_of_them_twice(bucket, tmp_path):
    for i in range(2):
        bucket.put(f"log/{i}.csv", write(LOG.gather_every(2, i), tmp_path / f"{i}.csv").read_bytes())
    both = ec.report(LOG, "p", "y", by="g")
    args = [bucket.url("log/0.csv"), bucket.url("log/*.csv"), *READ, *BY]
    assert_frame_equal(typed_report(*args), both, rel_tol=1e-12)
    # Half of it on this machine.
    table = typed_report(bucket.url("log/0.csv"), tmp_path / "1.csv", *READ, *BY)
    assert_frame_equal(table, both, rel_tol=1e-12)


def test_more_objects_than_one_answer_lists(bucket, tmp_path):
    row = write(LOG.head(1), tmp_path / "row.csv").read_bytes()
    for i in range(1010):
        bucket.put(f"many/{i:04}.txt", b"no log")
    bucket.put("many/zzzz.csv", row)
    assert reported(bucket.url("many"))["n"].item() == 1


# As on a disk -------------------------------------------------------------------------------------------------------------


def test_codes_of_csv(bucket, tmp_path):
    """007 stays 007 as long as some code is no number, here in another object."""
    coded = LOG.with_columns(code=pl.when(pl.col("g") == "c").then(pl.lit("x")).otherwise("code"))
    for i in range(2):
        write(coded.gather_every(2, i), tmp_path / "log" / f"{i}.csv")
    bucket.put_folder(tmp_path / "log", "log/")
    args = (*READ, "--by", "code")
    table = typed_report(bucket.url("log"), *args)
    assert_frame_equal(table, typed_report(tmp_path / "log", *args))
    assert table["code"].to_list() == ["000", "001", "002", "003", "x"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz"])
@pytest.mark.parametrize(
    "args",
    [
        ("report", *READ, *BY, "--metrics", "nec,auc_roc,ece", "--interval", "0.9", "--cluster", "code"),
        ("report", *READ, *BY, "--prior", "overall", "--min-rows", "110"),
        ("report", *READ, "--by", "code", "--fail-if", "n < 0"),
        ("compare", *READ, *BY, "--metrics", "nec,accuracy", "--reference", "rest"),
        ("drift", *READ, "--time", "ts", "--every", "1mo", "--mix", "g", "--metrics", "nec", "--reference", "previous"),
    ],
)
def test_commands(bucket, tmp_path, suffix, args):
    for i in range(2):
        write(LOG.gather_every(2, i), tmp_path / "log" / f"{i}{suffix}")
    bucket.put_folder(tmp_path / "log", "log/")
    command, *rest = args
    on_disk = typed(tmp_path, command, tmp_path / "log", *rest)
    in_store = typed(tmp_path, command, bucket.url("log"), *rest)
    assert_frame_equal(in_store, on_disk, rel_tol=1e-12)


def test_objects_whose_types_differ(bucket, tmp_path):
    first = LOG.head(100).with_columns(pl.col("p").cast(pl.Float32), pl.col("g").cast(pl.Categorical))
    for name, rows in (("a", first), ("b", LOG.tail(200).select("y", "p", "g"))):
        write(rows, tmp_path / "log" / f"{name}.parquet")
    bucket.put_folder(tmp_path / "log", "log/")
    assert_frame_equal(reported(bucket.url("log")), reported(tmp_path / "log"))


def test_a_csv_without_rows_beside_others(bucket, tmp_path):
    write(LOG.clear(), tmp_path / "log" / "a.csv")
    write(LOG, tmp_path / "log" / "b.csv")
    bucket.put_folder(tmp_path / "log", "log/")
    is_report_of(LOG, bucket.url("log"))
    table = typed(tmp_path, "report", bucket.url("log/a.csv"), *READ, *BY)
    assert table.height == 0


def test_page_and_chart(bucket, tmp_path):
    bucket.put("log.parquet", write(LOG, tmp_path / "log.parquet").read_bytes())
    result = invoke("report", bucket.url("log.parquet"), *READ, *BY, "--html", tmp_path / "report.html", "--quiet")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").stat().st_size > 10_000
