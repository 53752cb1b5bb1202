"""Files and objects that are replaced while a command reads them: no number is of two versions."""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler

import polars as pl
import pytest

from polars_ec.cli.logs import FileLog
from polars_ec.cli.questions import PageFile
from tests.support.cli import READ, fails, invoke, sketch
from tests.support.stores import serving

OLD = pl.DataFrame({"p": [0.9, 0.2, 0.6, 0.3] * 50, "y": [1, 0, 0, 1] * 50, "day": ["2024-01-01", "2024-02-01"] * 100})
# Of the same size, in text.
NEW = OLD.with_columns(y=1 - pl.col("y"))
WRITE = {"csv": pl.DataFrame.write_csv, "ndjson": pl.DataFrame.write_ndjson, "parquet": pl.DataFrame.write_parquet}
COMMANDS = {
    "report": ("report", *READ),
    "compare": ("compare", *READ, "--by", "day", "--reference", "rest"),
    "drift": ("drift", *READ, "--time", "day", "--every", "1mo"),
}


def replace(file, log):
    """As a job does that writes a new file and gives it the old one's name."""
    WRITE[file.suffix[1:]](log, file.with_name("new"))
    os.replace(file.with_name("new"), file)


@pytest.fixture(params=WRITE)
def file(request, tmp_path):
    WRITE[request.param](OLD, tmp_path / f"log.{request.param}")
    return tmp_path / f"log.{request.param}"


@pytest.mark.quick("csv-report", "ndjson-compare", "parquet-drift")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_replaced_between_passes(file, tmp_path, monkeypatch, command):
    """After the pass that looks for rows that are not whole."""
    checked = FileLog.check_rows

    def swapped(log, *args):
        checked(log, *args)
        replace(file, NEW)

    monkeypatch.setattr(FileLog, "check_rows", swapped)
    name, *args = COMMANDS[command]
    line = fails(1, name, file, *args)
    assert line == f"polars-ec: {file} changed while it was read: run the command again when nothing writes to it"
    assert f"{file} changed while it was read" in sketch(file, out=tmp_path / "out", code=1).stderr
    monkeypatch.undo()
    assert invoke(name, file, *args).exit_code == 0


def test_a_file_of_other_bytes_is_not_called_broken(file, monkeypatch):
    """A reader that finds what it did not expect knows no better."""
    checked = FileLog.check_rows

    def swapped(log, *args):
        checked(log, *args)
        file.write_bytes(b"PAR1" + b"x" * 1000)

    monkeypatch.setattr(FileLog, "check_rows", swapped)
    assert f"{file} changed while it was read" in fails(1, "report", file, *READ)


@pytest.mark.slow
def test_the_page_and_the_table_are_of_one_version(file, tmp_path, monkeypatch):
    pages, page_of = [], PageFile.from_rows

    def swapped(page, rows):
        pages.append(rows)
        if len(pages) == 2:  # the first is of no rows
            replace(file, NEW)
        return page_of(page, rows)

    monkeypatch.setattr(PageFile, "from_rows", swapped)
    line = fails(1, "report", file, *READ, "--html", tmp_path / "page.html")
    assert "changed while it was read" in line
    assert not (tmp_path / "page.html").exists()


class Store(BaseHTTPRequestHandler):
    """A store of one object, which is another one of the same size and time once it was read some times."""

    old, new = (log.write_csv().encode() for log in (OLD, NEW))
    reads, most = 0, 0

    def do_HEAD(self):
        self.answer(headers_alone=True)

    def do_GET(self):
        self.answer(headers_alone=False)

    def answer(self, headers_alone):
        is_old = Store.reads < Store.most
        content = Store.old if is_old else Store.new
        if "list-type" in self.path:
            content = b"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>"
        elif not headers_alone:
            Store.reads += 1
        size, asked = len(content), self.headers.get("Range")
        begin, end = 0, size - 1
        if asked is not None:
            begin, end = (int(part or size - 1) for part in asked.removeprefix("bytes=").split("-"))
            end = min(end, size - 1)
        self.send_response(200 if asked is None else 206)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{size}")
        self.send_header("Content-Length", str(end - begin + 1))
        self.send_header("ETag", f'"{"old" if is_old else "new"}"')
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        if not headers_alone:
            self.wfile.write(content[begin : end + 1])


@pytest.fixture
def address(monkeypatch):
    with serving(monkeypatch, Store) as port:
        yield f"s3://replaced{port}/log.csv"


@pytest.mark.quick("report")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_object_that_is_replaced(address, monkeypatch, command):
    """At any moment: the answer is of the one object or of the other one, or there is none."""
    name, *args = COMMANDS[command]
    monkeypatch.setattr(Store, "most", 10**9)
    monkeypatch.setattr(Store, "reads", 0)
    old = invoke(name, address, *args)
    assert old.exit_code == 0, old.output
    reads = Store.reads
    monkeypatch.setattr(Store, "most", 0)
    new = invoke(name, address, *args)
    assert new.exit_code == 0, new.output
    for most in (1, reads // 2, reads - 1):
        monkeypatch.setattr(Store, "most", most)
        monkeypatch.setattr(Store, "reads", 0)
        line = fails(1, name, address, *args)
        assert (
            line == f"polars-ec: {address} changed while it was read: run the command again when nothing writes to it"
        )
