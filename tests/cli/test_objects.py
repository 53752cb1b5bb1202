"""Objects in stores: which of them an address means, by a store that is a folder; and what is refused before any is asked."""

from __future__ import annotations

import gzip
import socket
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler

import obstore
import pytest
from obstore.store import LocalStore

from polars_ec.cli import formats, object_store
from polars_ec.cli.discovery import check_names_and_magic, find, kind_of
from polars_ec.cli.formats import metadata_names
from polars_ec.cli.object_store import DeniedError, StoredObject, head
from polars_ec.cli.terminal import DataError, UsageError, without_queries
from tests.support.cli import READ, fails
from tests.support.stores import serving, to_s3

TREE = [
    "log/a.parquet",
    "log/month=1/x1.parquet",
    "log/month=1/x2.parquet",
    "log/month=1/y1.parquet",
    "log/month=2/x1.parquet",
    "log/month=2/deep/x3.parquet",
    "log/month=2/_temporary/x9.parquet",
    "log/.hidden/x8.parquet",
    "log/_SUCCESS",
    "log/notes.txt",
    "logs/b.csv",
    "one.csv",
]


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A folder that is a bucket at the same time."""
    for name in TREE:
        file = tmp_path / "b" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"p,y\n0.5,{len(name)}\n")
    store = LocalStore(tmp_path / "b")
    monkeypatch.setattr(object_store, "_store", lambda _: store)
    return tmp_path / "b"


PATTERNS = [
    "log",
    "log/",
    "logs",
    "one.csv",
    "log/month=1",
    "log/*/x*.parquet",
    "log/month=?/x1.parquet",
    "log/month=[!1]",
    "log/month=*",
    "log/**",
    "log/**/x*.parquet",
    "**/x1.parquet",
    "log/**/deep/*",
    "*.csv",
    "log/month=2/_temporary/*.parquet",
    "log/.hidden",
    "log/.h*/*",
    "l*/*.csv",
    "log/.*",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_address_means_what_a_path_means(bucket, pattern):
    local = find(f"{bucket}/{pattern}")
    assert not local.problems
    names = sorted({str(file.relative_to(bucket)) for file in local.files})
    far = find(f"s3://b/{pattern}")
    assert not far.problems
    assert sorted(file.url.removeprefix("s3://b/") for file in far.files) == names


@pytest.mark.parametrize("pattern", ["no", "lo", "log/m*/z*", "no*", "log/month=3/*", "log/deep/**"])
def test_what_is_not_there(bucket, pattern):
    for path in (f"{bucket}/{pattern}", f"s3://b/{pattern}"):
        with pytest.raises(UsageError, match=r"no such|no file matches|no object matches"):
            find(path)


def test_a_folder_without_data(bucket):
    for name in ("log/empty/notes.txt", "tables/.x/a.parquet"):
        (bucket / name).parent.mkdir(parents=True)
        (bucket / name).write_text("x")
    for pattern in ("log/empty", "log/e*", "tables"):
        for path in (f"{bucket}/{pattern}", f"s3://b/{pattern}"):
            with pytest.raises(DataError, match="no data files"):
                find(path)


def test_what_only_stands_for_a_folder_is_no_object(bucket, monkeypatch):
    """Consoles of stores make an object without a byte for a folder, of the folder's own name."""
    markers = [{"path": name, "size": 0} for name in ("log", "log/month=1")]
    first = next(iter(obstore.list(LocalStore(bucket), "log")))[0]
    listed = obstore.list
    made = [{**first, **marker} for marker in markers]
    monkeypatch.setattr(
        obstore, "list", lambda store, key, **more: [*([made] if key == "log/" else []), *listed(store, key, **more)]
    )
    assert sorted(file.url for file in find("s3://b/log/").files) == [f"s3://b/{name}" for name in sorted(TREE[:6])]


def test_a_table_among_objects(bucket, monkeypatch):
    """Each way of naming its files, from above, beside and within."""

    def refused(path, kind, shown):
        raise DataError(f"{shown} cannot be read as {kind.name}")

    monkeypatch.setattr(formats, "opened", refused)
    for name in ("lake/d/_delta_log/0.json", "lake/d/s=1/x.parquet", "lake/i/metadata/1-a.metadata.json"):
        (bucket / name).parent.mkdir(parents=True, exist_ok=True)
        (bucket / name).write_text("{}")
    (bucket / "lake/i/data").mkdir()
    (bucket / "lake/i/data/x.parquet").write_text("x")
    for part in (
        "d/s=1",
        "d/s=1/x.parquet",
        "d/*/*.parquet",
        "*/*/*.parquet",
        "d/_delta_log",
        "i/data",
        "**/x.parquet",
    ):
        inside = find(f"s3://b/lake/{part}")
        assert not inside.files
        assert all("name the table" in problem for problem in inside.problems.values())
        assert inside.problems.keys() <= {"s3://b/lake/d", "s3://b/lake/i"}
    for part, tables in {"": "di", "*": "di", "d*": "d", "i*": "i"}.items():
        whole = find(f"s3://b/lake/{part}")  # neither of which can be read
        assert whole.problems.keys() == {f"s3://b/lake/{table}" for table in tables}
        assert all("cannot be read as" in problem for problem in whole.problems.values())


@pytest.mark.parametrize("pattern", ["log", "log/*", "log/month=*"])
def test_a_hidden_table_is_no_part(bucket, pattern):
    for table in ("log/month=2/_old", "log/.old/d", "log/month=1/.x/y"):
        for name in ("_delta_log/0.json", "s=1/x.parquet"):
            (bucket / table / name).parent.mkdir(parents=True)
            (bucket / table / name).write_text("{}")
    local, far = find(f"{bucket}/{pattern}"), find(f"s3://b/{pattern}")
    assert (local.problems, far.problems) == ({}, {})
    names = {str(file.relative_to(bucket)) for file in local.files}
    assert {file.url.removeprefix("s3://b/") for file in far.files} == names


def test_the_last_metadata_of_many(bucket):
    """More of it than stores list at once; and of a folder that is searched upwards, nothing is listed that is further down."""
    (bucket / "t/metadata/deep").mkdir(parents=True)
    (bucket / "t/metadata/deep/1-a.metadata.json").write_text("{}")
    for i in range(1100):
        (bucket / f"t/metadata/{i:05}-a.metadata.json").touch()
    names = metadata_names("s3://b/t/metadata")
    assert (len(names), names[-1]) == (1100, "01099-a.metadata.json")


def test_where_one_cannot_tell_whether_there_is_a_table(bucket, monkeypatch):
    """Whether it may not be listed, or just did not answer, which could turn files that are deleted into a log."""

    def answers(error):
        def listed(url):
            raise error(f"{url}: sorry")

        monkeypatch.setattr(formats, "is_above_any", listed)

    answers(DeniedError)
    assert [file.url for file in find("s3://b/one.csv").files] == ["s3://b/one.csv"]
    answers(DataError)
    with pytest.raises(DataError, match="sorry"):
        find("s3://b/one.csv")


def test_a_list_says_of_an_object_what_the_object_says():
    """Google's store and MinIO list milliseconds, and Azure lists tags without quotes, where none of their objects has them."""
    when = datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)
    itself = {"path": "x.csv", "size": 5, "last_modified": when, "e_tag": '"abc"'}
    in_list = {**itself, "last_modified": when.replace(microsecond=123_000), "e_tag": "abc"}
    assert object_store._stored_object("s3://b", in_list) == object_store._stored_object("s3://b", itself)
    assert object_store._stored_object("s3://b", {**itself, "e_tag": '"abd"'}) != object_store._stored_object(
        "s3://b", itself
    )


def test_what_an_object_begins_with(bucket):
    (bucket / "log/e.csv").write_bytes(b"")
    (bucket / "log/z.csv.gz").write_bytes(gzip.compress(b"p,y\n"))
    for name, problem in {"log/e.csv": "is empty", "log/a.parquet": "not a Parquet file"}.items():
        with pytest.raises(DataError, match=problem) as caught:
            check_names_and_magic([head(f"s3://b/{name}")], kind_of(head(f"s3://b/{name}")))
        assert f"s3://b/{name}" in str(caught.value)
    for name in ("one.csv", "log/z.csv.gz"):
        check_names_and_magic([head(f"s3://b/{name}")], kind_of(head(f"s3://b/{name}")))


def test_many_objects_are_looked_at_together(bucket):
    """What is wrong is told of the first in order, whichever the store answers first."""
    for i in range(40):
        (bucket / f"log/m{i}.csv").write_text("p,y\n0.5,1\n", "utf-8")
    many = [head(f"s3://b/log/m{i}.csv") for i in range(40)]
    check_names_and_magic(many, kind_of(many[0]))
    (bucket / "log/m33.csv").write_bytes(b"PAR1")
    (bucket / "log/m39.csv").unlink()
    with pytest.raises(DataError, match=r"m39\.csv: no such object"):
        check_names_and_magic(many, kind_of(many[0]))
    (bucket / "log/m7.csv").write_bytes(b"\0")
    with pytest.raises(DataError, match=r"m7\.csv: not a CSV file"):
        check_names_and_magic(many, kind_of(many[0]))


def test_names_that_polars_takes_for_patterns():
    thing = StoredObject("s3://b/a*.ndjson", 5, 0, None)
    with pytest.raises(DataError, match="pattern"):
        check_names_and_magic([thing], kind_of(thing))


def test_sketches_are_local(bucket, tmp_path):
    (bucket / "sketches").mkdir()
    (bucket / "sketches" / "a-1.sketch.parquet").write_text("x")
    fails(1, "report", "s3://b/sketches", *READ, words=["s3://b/sketches/a-1.sketch.parquet", "Copy the folder"])
    fails(2, "sketch", tmp_path, *READ, "--out", "s3://b/out", words=["--out s3://b/out", "local path"])
    fails(2, "report", tmp_path, *READ, "--out", "gs://b/t.csv", words=["--out gs://b/t.csv", "local path"])


@pytest.mark.parametrize(
    "url",
    [
        "https://u:secret@h/x.csv?sig=secret",
        "s3://u:secret@b/x.csv",
        "s3://u:secret@b/v1.metadata.json",
        "s3a://b/x.csv",
        "s3://",
        "gs:///x.csv",
    ],
)
def test_other_addresses(url):
    line = fails(2, "report", url, *READ, words=["not a supported address"])
    assert "secret" not in line


@pytest.mark.parametrize("url", ["s3://b//log", "s3://b/log//", "s3://b/log//a.csv", "s3://b//*.csv"])
def test_a_slash_too_many(url):
    """What is below `log` was searched by the length of `/log`, and in part not found."""
    fails(2, "report", url, *READ, words=[url, "a / too many"])


@pytest.mark.parametrize("query", ["sv=2024&sig=secret", "X-Amz-Signature=secret", "a=1&X-Goog-Signature=secret"])
def test_a_signed_address_is_refused(query):
    assert "secret" not in fails(2, "report", f"az://b/x.csv?{query}", *READ, words=["az://b/x.csv", "signed URLs"])


def test_a_database_is_not_sketched(tmp_path):
    line = fails(2, "sketch", "duckdb:postgres:password=secret::t", *READ, "--out", tmp_path / "o", words=["duckdb:"])
    assert "secret" not in line


def test_no_secret_is_told():
    told = "Error performing GET https://user:pass@host/x?sig=abc%2F&se=1 in 5ms, and http://h/y?X-Amz-Signature=z"
    assert without_queries(told) == "Error performing GET https://host/x in 5ms, and http://h/y"


def test_a_store_that_does_not_answer(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        to_s3(monkeypatch, f"http://127.0.0.1:{taken.getsockname()[1]}")
        line = fails(1, "report", "s3://unheard/x.csv", *READ, words=["s3://unheard/x.csv", "does not answer"])
    assert "secret" not in line
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    fails(1, "report", "s3://encrypted/x.csv", *READ, words=["s3://encrypted/x.csv", "AWS_ALLOW_HTTP=true"])


class Denying(BaseHTTPRequestHandler):
    """A store that has no object of a name that is asked for, and lets nobody list."""

    def do_HEAD(self):
        self.send_error(404)

    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.quick("log")
@pytest.mark.parametrize("key", ["log/", "log", "log/*.parquet", "log/month=1/**/x.csv"])
def test_a_list_that_is_denied(monkeypatch, key):
    with serving(monkeypatch, Denying) as port:
        address = f"s3://denied{port}/{key}"
        assert fails(1, "report", address, *READ).startswith(
            f"polars-ec: {address}: access denied with the environment's credentials (AWS_"
        )
