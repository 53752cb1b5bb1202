"""What is wrong in a store is said in one line, soon, and without secrets. Run by `make test-lake`."""

from __future__ import annotations

import socket
import time
from contextlib import closing

import pytest

from tests.lakes.logs import LOG, write
from tests.support.cli import READ, fails
from tests.support.stores import KEY, SECRET, to_s3

pytestmark = pytest.mark.lake

SCHEMES = ["s3", "gs"]
# What somebody waits for at a prompt.
SOON = 60


def refused(code, address, *words, args=READ):
    """One line that names the address, and neither the key nor the secret."""
    start = time.monotonic()
    line = fails(code, "report", address, *args, words=words)
    assert time.monotonic() - start < SOON
    assert SECRET not in line
    assert KEY not in line
    return line


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("key", ["log.parquet", "log/*.parquet", "log", ""])
def test_no_such_bucket(environment, scheme, key):
    refused(2, f"{scheme}://nosuchbucket{scheme}/{key}", f"{scheme}://nosuchbucket{scheme}")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("key", ["nope.parquet", "nope", "nope/", "nope/*.parquet", "nope/**/*.csv"])
def test_no_such_key(bucket, tmp_path, scheme, key):
    bucket.put("log.parquet", write(LOG, tmp_path / "log.parquet").read_bytes())
    address = bucket.url(key, scheme)
    refused(2, address, address)


def test_a_prefix_without_data(bucket):
    bucket.put("log/notes.txt", b"none")
    refused(1, bucket.url("log"), bucket.url("log"), "no data files")


def test_an_empty_bucket(bucket):
    refused(2, bucket.url(), bucket.url().rstrip("/"))


def test_access_denied(bucket, tmp_path):
    bucket.put("log.parquet", write(LOG, tmp_path / "log.parquet").read_bytes(), public=False)
    address = bucket.url("log.parquet", "gs")
    refused(1, address, address, "denied")


@pytest.mark.parametrize("key", ["log.parquet", "log/*.parquet"])
def test_a_server_that_is_down(environment, monkeypatch, key):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    to_s3(monkeypatch, f"http://127.0.0.1:{port}")
    address = f"s3://bucket-that-is-down/{key}"
    refused(1, address, address)


def test_a_server_that_does_not_answer(environment, monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        to_s3(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}")
        start = time.monotonic()
        address = "s3://bucket-that-is-silent/log.parquet"
        fails(1, "report", address, *READ, words=[address])
        assert time.monotonic() - start < 2 * SOON


def test_no_credentials(environment, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    refused(1, "s3://bucket-of-nobody/log.parquet", "s3://bucket-of-nobody/log.parquet")


# What is not what its name says -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty.parquet", b"", 1, "empty"),
        ("empty.csv", b"", 1, "empty"),
        ("a.parquet", b"p,y\n0.5,1\n", 1, "not a Parquet file, despite its name"),
        ("a.csv", b"PAR1\0\0\0\0PAR1", 1, "it begins like Parquet"),
        ("a.parquet", b"PAR1\0\0\0\0PAR1", 1, "cannot be read as Parquet"),
        ("a.csv", b"p,y\n0.5,1\n0.5,1,7\n", 1, "line 3: 3 fields"),
        ("a.csv", b"p,y\n0.5,1\n0.5\n", 1, "line 3: 1 field"),
        ("a.csv", b"p,y\n" + b"0.5,1\n" * 20_000 + b"half,1\n", 1, "cannot be read as CSV"),
        ("a.xlsx", b"p,y\n0.5,1\n", 2, "unknown kind of file"),
    ],
)
def test_what_is_not_what_its_name_says(bucket, name, content, code, words):
    bucket.put(f"log/{name}", content)
    refused(code, bucket.url(f"log/{name}"), bucket.url(f"log/{name}"), words)


def test_one_of_many_that_is_broken(bucket, tmp_path):
    for i in range(4):
        bucket.put(f"log/{i}.parquet", write(LOG, tmp_path / "a.parquet").read_bytes())
    bucket.put("log/2.parquet", (tmp_path / "a.parquet").read_bytes()[:400])
    refused(1, bucket.url("log"), bucket.url("log/2.parquet"))


def test_several_kinds(bucket, tmp_path):
    for suffix in (".csv", ".parquet"):
        bucket.put(f"log/a{suffix}", write(LOG, tmp_path / f"a{suffix}").read_bytes())
    refused(2, bucket.url("log"), "different kinds")


def test_a_column_that_is_not_there(bucket, tmp_path):
    bucket.put("log.parquet", write(LOG, tmp_path / "a.parquet").read_bytes())
    address = bucket.url("log.parquet")
    refused(2, address, f"{address} has no column 'q'", args=("--score", "q", "--label", "y"))


@pytest.mark.parametrize(
    "address",
    [
        "https://bucket.s3.amazonaws.com/log.parquet?X-Amz-Signature=secret-of-tests",
        "hdfs://host/log.parquet",
        "s4://bucket/log.parquet",
    ],
)
def test_addresses_of_other_kinds(environment, address):
    refused(2, address, address.split("?")[0], "s3://")
