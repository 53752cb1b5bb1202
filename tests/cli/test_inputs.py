"""What the command line is given to read: names, folders, links, formats that differ, files that are broken."""

from __future__ import annotations

import csv
import io
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_ec.cli import logs as csv_fields
from polars_ec.cli.discovery import Inputs, find
from polars_ec.cli.logs import FileLog, first_ragged_row
from tests.support.cases import mostly_slow
from tests.support.cli import READ, ROOT, fails, invoke, quiet_report, sketch
from tests.support.profile import PROFILE

LOG = pl.DataFrame({"p": [0.9, 0.2, 0.6, 0.3], "y": [1, 0, 0, 1], "s": [1, 1, 2, 2]})
PATTERNS = ["a[12]", "a*", "~", "a\nb", "a?", "[!b]", "a\\[1]", "{a,b}"]
WRITE = {
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "csv": pl.DataFrame.write_csv,
    "ndjson": pl.DataFrame.write_ndjson,
}


def write(log, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:  # by Python, which takes every name
        WRITE[path.name.rsplit(".", 1)[1]](log, file)
    return path


def report(*paths, by=(), args=READ):
    return quiet_report(*paths, *args, *(f"--by={name}" for name in by))


# Names -------------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("parquet-a?12?", "parquet-~", "csv-*", "ndjson-*")
@pytest.mark.parametrize(
    ("kind", "name"),
    mostly_slow(
        product(WRITE, PATTERNS), [*(("parquet", name) for name in PATTERNS[:4]), *product([*WRITE][1:], PATTERNS[:1])]
    ),
)
def test_a_name_is_no_pattern(tmp_path, kind, name):
    """Beside the file lie others, which a pattern of its name would match."""
    for other in ("a1", "a2", "a", "b", "ab", "a\\1"):
        write(LOG.with_columns(y=1), tmp_path / f"{other}.{kind}")
    write(LOG, tmp_path / f"{name}.{kind}")
    n = report(tmp_path / f"{name}.{kind}")["n"].item()
    assert n == LOG.height
    assert report(tmp_path / f"{name}.{kind}")["class_prior"].item() == 0.5
    assert f"; {LOG.height} rows" in sketch(tmp_path / f"{name}.{kind}", out=tmp_path / "out").stdout


@pytest.mark.quick("~/log-csv", "file:/log-*", "~log-ndjson")
@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("name", ["~/log", "file:/log", "~log"])
def test_a_relative_name_is_no_address(tmp_path, monkeypatch, kind, name):
    home = tmp_path / "home"
    write(LOG.with_columns(y=1), home / f"log.{kind}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    write(LOG, tmp_path / f"{name}.{kind}")
    assert report(f"{name}.{kind}")["class_prior"].item() == 0.5


def test_names_that_are_not_utf8(tmp_path):
    write(LOG, tmp_path / "logs" / "good.parquet")
    bad = tmp_path / "logs" / os.fsdecode(b"\xffbad.parquet")
    write(LOG, bad)
    assert r"logs/\xffbad.parquet: the name is not UTF-8: rename" in fails(1, "report", tmp_path / "logs", *READ)
    result = sketch(tmp_path / "logs", out=tmp_path / "out", code=1)
    assert len(result.stderr.splitlines()) == 1
    assert ": 1 sketched, 0 unchanged, 1 failed; 4 rows" in result.stdout
    assert invoke("report", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("command", ["report", "sketch"])
def test_names_that_are_too_long(tmp_path, command):
    more = () if command == "report" else ("--out", tmp_path / "out")
    assert "File name too long" in fails(1, command, tmp_path / ("x" * 300 + ".csv"), *READ, *more)


# Folders -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A log of which one folder cannot be listed: by a patch, because root may list them all."""
    write(LOG, tmp_path / "logs" / "a" / "x.parquet")
    write(LOG, tmp_path / "logs" / "b" / "x.parquet")
    scan = os.scandir

    def refused(path="."):
        if str(path).rstrip("/").endswith("logs/b"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    return tmp_path / "logs"


@pytest.mark.parametrize("path", ["", "*", "**/*.parquet", "*/*.parquet"])
def test_a_folder_that_cannot_be_listed_is_an_error(locked, path):
    message = fails(1, "report", locked / path, *READ)
    assert message.endswith("logs/b: the folder cannot be listed: Permission denied")


def test_the_job_does_the_rest_beside_such_a_folder(locked, tmp_path, monkeypatch):
    result = sketch(locked, out=tmp_path / "out", code=1)
    assert "logs/b: the folder cannot be listed" in result.stderr
    assert ": 1 sketched, 0 unchanged, 1 failed; 4 rows" in result.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_as_somebody_who_may_not():
    code = """
import os, sys
from typer.testing import CliRunner
from polars_ec.cli.commands import app
def run(path):
    return CliRunner().invoke(app, ["report", path, "--score", "p", "--label", "y"])
assert run(sys.argv[1] + "/good.parquet").exit_code == 0  # all is imported, which may be out of reach below
os.setuid(65534)
result = run(sys.argv[1] + "/logs")
print(result.exit_code, result.stderr, end="")
"""
    with tempfile.TemporaryDirectory() as folder:  # that of pytest is root's alone
        os.chmod(folder, 0o755)
        for name in ("good", "logs/a/x", "logs/b/x"):
            write(LOG, Path(folder) / f"{name}.parquet")
        os.chmod(Path(folder) / "logs" / "a" / "x.parquet", 0)
        for mode, message in ((0, "b: the folder cannot be listed"), (0o755, "a/x.parquet")):
            os.chmod(Path(folder) / "logs" / "b", mode)
            command = [sys.executable, "-c", code, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
            assert done.stdout == f"1 polars-ec: {folder}/logs/{message}: Permission denied\n"


def test_links_to_folders_and_to_nothing_are_named(tmp_path):
    write(LOG, tmp_path / "logs" / "a" / "x.parquet")
    write(LOG, tmp_path / "elsewhere" / "x.parquet")
    (tmp_path / "logs" / "out").symlink_to(tmp_path / "elsewhere")
    message = fails(1, "report", tmp_path / "logs", *READ)
    assert "logs/out: links to folders are not followed. Name the folder itself too" in message
    assert "logs/out: links to folders" in sketch(tmp_path / "logs", out=tmp_path / "s", code=1).stderr
    assert report(tmp_path / "logs" / "a", tmp_path / "logs" / "out")["n"].item() == 8
    (tmp_path / "logs" / "out").unlink()
    (tmp_path / "logs" / "2024").symlink_to(tmp_path / "nowhere")
    assert "logs/2024: the link points to a file that does not exist" in fails(1, "report", tmp_path / "logs", *READ)


@pytest.mark.quick("parquet", "csv")
@pytest.mark.parametrize("kind", WRITE)
def test_links_within_the_log_double_nothing(tmp_path, kind):
    logs = tmp_path / "logs"
    write(LOG, logs / "a" / f"x.{kind}")
    (logs / "latest").symlink_to(logs / "a")
    (logs / "loop").symlink_to(logs)
    (logs / f"latest.{kind}").symlink_to(logs / "a" / f"x.{kind}")
    for paths in ([logs], [logs / "**" / f"*.{kind}"], [logs, logs / "a", logs / "a" / f"x.{kind}"], [logs / "latest"]):
        assert report(*paths)["n"].item() == LOG.height
    assert f"; {LOG.height} rows" in sketch(logs, out=tmp_path / "out").stdout


def test_links_that_lead_in_a_circle(tmp_path):
    (tmp_path / "a.parquet").symlink_to(tmp_path / "b.parquet")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "a.parquet")
    assert "symbolic links" in fails(1, "report", tmp_path / "a.parquet", *READ)
    assert "symbolic links" in fails(1, "report", tmp_path, *READ)
    write(LOG, tmp_path / "c.parquet")
    result = sketch(tmp_path, out=tmp_path / "out", code=1)
    assert len(result.stderr.splitlines()) == 2
    assert ": 1 sketched, 0 unchanged, 2 failed;" in result.stdout


@pytest.mark.parametrize("what", ["fifo", "socket"])
@pytest.mark.parametrize("path", ["logs", "logs/x.parquet", "logs/*.parquet"])
def test_what_is_no_file_is_not_waited_for(tmp_path, monkeypatch, what, path):
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    if what == "fifo":
        os.mkfifo("logs/x.parquet")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("logs/x.parquet")
    assert "logs/x.parquet: not a regular file" in fails(1, "report", path, *READ)
    assert "logs/x.parquet: not a regular file" in sketch(path, out="out", code=1).stderr


def test_what_a_folder_is_found_to_hold(tmp_path):
    """Against the files that were put there: hidden ones are not data, and neither are other kinds."""
    names = ["a.parquet", "b/c.csv", "b/.d.csv", "_e/f.csv", ".g/h.csv", "i.txt", "j.parquet/k.parquet", "l=1/m.csv.gz"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    expected = [tmp_path / name for name in ("a.parquet", "b/c.csv", "j.parquet/k.parquet", "l=1/m.csv.gz")]
    assert find(str(tmp_path)) == Inputs(expected)


# Files that are broken ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITE)
def test_damaged_files_are_told_in_a_line(tmp_path, kind, capfd):
    """Bytes flipped, cut off and cut out: whatever comes of it, the command ends with a line or with a table."""
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"p": rng.random(50), "y": rng.random(50) < 0.4, "s": rng.choice(["a", "ü"], 50)})
    content = write(log, tmp_path / f"log.{kind}").read_bytes()
    random_ = random.Random(1)
    refused = 0
    for i in range(24):
        broken = bytearray(content)
        if i % 3 == 0:
            del broken[random_.randrange(len(content)) :]
        else:
            for _ in range(3):
                broken[-1 - random_.randrange(min(len(content), 600))] ^= 1 << random_.randrange(7)
        (tmp_path / f"log.{kind}").write_bytes(broken)
        result = invoke("report", tmp_path / f"log.{kind}", *READ, "--by", "s")
        assert isinstance(result.exception, SystemExit | None), result.exception
        if result.exit_code:
            refused += 1
            assert len(result.stderr.splitlines()) == 1, result.stderr
            assert f"log.{kind}" in result.stderr or result.exit_code == 2
    assert refused > 8
    assert capfd.readouterr().err == ""


PANIC = """
import polars as pl, sys
from polars.exceptions import PanicException
import os
scan = pl.scan_parquet
def panicking(files, **kwargs):
    if "bad" in files[0]:
        os.write(2, b"thread 'async-executor-0' panicked at crates/x.rs: stack backtrace\\n")
        raise PanicException("called unwrap() on an Err value\\nstack")
    os.write(2, b"a warning\\n")
    return scan(files, **kwargs)
pl.scan_parquet = panicking
from polars_ec_command import main
sys.argv = ["polars-ec", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("debug", mostly_slow([False, True], [False]))
@pytest.mark.slow
def test_a_panic_of_the_reader_is_an_error_like_others(tmp_path, debug):
    for name in ("bad", "good"):
        write(LOG, tmp_path / "logs" / f"{name}.parquet")
    args = ["sketch", tmp_path / "logs", "--out", tmp_path / "out", *READ, *(["--debug"] if debug else [])]
    done = subprocess.run(
        [sys.executable, "-c", PANIC, *map(str, args)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert done.stdout.endswith(": 1 sketched, 0 unchanged, 1 failed; 4 rows\n")
    lines = [line for line in done.stderr.splitlines() if line != "a warning"]  # what was printed otherwise is not lost
    assert len(lines) < len(done.stderr.splitlines())
    assert lines == [f"polars-ec: {tmp_path}/logs/bad.parquet: called unwrap() on an Err value"]
    args = ["report", tmp_path / "logs" / "bad.parquet", *READ, *(["--debug"] if debug else [])]
    done = subprocess.run(
        [sys.executable, "-c", PANIC, *map(str, args)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) == debug
    assert "panicked at" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"polars-ec: {tmp_path}/logs/bad.parquet")


@pytest.mark.slow
def test_an_input_that_ends_the_process_comes_last_the_next_time(tmp_path):
    """A size that a flipped bit makes absurd aborts the process: the others must be done all the same."""
    for name in ("a", "b", "c"):
        write(LOG, tmp_path / "logs" / f"{name}.parquet")
    code = re.sub("raise PanicException.*", "os.abort()", PANIC).replace('"bad"', '"a.par"')
    assert "os.abort()" in code
    args = ["sketch", tmp_path / "logs", "--out", tmp_path / "out", *READ]
    command = [sys.executable, "-c", code, *map(str, args)]
    made = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == -6
        made.append(len(list((tmp_path / "out").glob("*.sketch.parquet"))))
    assert made == [0, 2]
    assert "a.parquet has not been read yet" in invoke("report", tmp_path / "out").stderr
    assert ": 1 sketched, 2 unchanged;" in sketch(tmp_path / "logs", out=tmp_path / "out").stdout


# CSV rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "line", "words"),
    [
        ("0.5,1,a\n0.4\n0.3,0,b\n", 3, "1 field, but the header has 3"),
        ("0.5,1,a\n0.4,1\n", 3, "2 fields, but the header has 3"),
        ("0.5,1,a\n0.4,1,a,7\n", 3, "4 fields, but the header has 3"),
        ("0.5,1,a\n0.4,1,a,\n", 3, "4 fields, but the header has 3"),
        ("0.5,1,a\n\n0.3,0,b\n", 3, "1 field, but the header has 3"),
        ('0.5,1,"a\n,b"\n0.4,1\n', 4, "2 fields, but the header has 3"),
        ('0.5,1,"a,b"\n0.4,"1,0"\n', 3, "2 fields, but the header has 3"),
    ],
)
def test_ragged_rows_are_refused(tmp_path, rows, line, words):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "log.csv").write_text(f"p,y,s\n{rows}")
    assert f"log.csv, line {line}: {words}" in fails(1, "report", tmp_path / "logs" / "log.csv", *READ)
    write(LOG, tmp_path / "logs" / "other.csv")
    assert f"log.csv, line {line}: {words}" in sketch(tmp_path / "logs", out=tmp_path / "out", code=1).stderr


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("log.csv", "p,y,p\n0.9,1,0.1\n0.2,0,0.7\n", ": the header has the column 'p' twice"),
        ("log.csv", '\ufeffp,y,"a\nb","a\nb"\n0.9,1,,\n', r": the header has the column 'a\nb' twice"),
        ("log.csv", "\np,y,s,s\n", ": the header has the column 's' twice"),
        ("log.csv", "p,y,y\n", ": the header has the column 'y' twice"),
        ("log.ndjson", '{"p":0.9,"y":1}\n{"p":0.2,"y":0,"p":0.7}\n', ", line 2: the object has the field 'p' twice"),
        (
            "log.ndjson",
            '{"p":0.9,"y":1}\n{"p":0.2,"y":0,"\\u0070" :0.7}\n',
            ", line 2: the object has the field 'p' twice",
        ),
    ],
)
def test_a_column_that_is_named_twice(tmp_path, name, text, words):
    """Polars reads one of the two, without a word."""
    (tmp_path / name).write_text(text, "utf-8")
    assert f"{name}{words}" in fails(1, "report", tmp_path / name, *READ)
    assert f"{name}{words}" in sketch(tmp_path / name, out=tmp_path / "out", code=1).stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "p,y,p_duplicated_0,P,,\n0.9,1,2,3,,\n0.2,0,2,3,,\n"),
        ("log.ndjson", '{"p":0.9,"y":1,"s":{"p":1,"y":2},"t":"\\"p\\":"}\n{"p":0.2,"y":0,"s":null,"t":"","t":"a"}\n'),
    ],
)
def test_a_column_that_is_named_once(tmp_path, name, text):
    """Beside columns without a name, and names of other objects and in texts; what is not asked for may be there twice."""
    (tmp_path / name).write_text(text)
    assert report(tmp_path / name, args=(*READ, "--metrics", "brier"))["brier"].item() == pytest.approx(0.025)


@PROFILE
@given(st.data())
def test_ragged_rows_against_the_csv_module(tmp_path_factory, data):
    n = data.draw(st.integers(2, 4))
    cells = st.sampled_from(["", "a", "1,2", "x\ny", 'q"r', '"', "\n\n", "é", " "])
    rows = data.draw(
        st.lists(st.one_of(st.lists(cells, min_size=n, max_size=n), st.lists(cells, max_size=5)), max_size=8)
    )
    text = io.StringIO(newline="")
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([[f"h{i}" for i in range(n)], *rows])
    file = tmp_path_factory.mktemp("csv") / "log.csv"
    file.write_text(text.getvalue(), newline="")
    reader, expected, line = csv.reader(io.StringIO(text.getvalue(), newline="")), None, 1
    for row in reader:
        if expected is None and max(len(row), 1) != n:
            expected = (line, max(len(row), 1))
        line = reader.line_num + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_fields, "_BATCH", data.draw(st.sampled_from([1, 2, 1000])))
        assert first_ragged_row(str(file), n) == expected


def test_dates_that_may_be_of_either_order_are_refused(tmp_path):
    for day in ("01/02/2024", "02-01-2024", "02/01/2024 05:00"):
        (tmp_path / "log.csv").write_text(f"ts,p,y\n{day},0.1,0\n{day},0.8,1\n", "utf-8")
        result = invoke("report", tmp_path / "log.csv", *READ, "--time", "ts", "--every", "1mo")
        assert result.exit_code == 2
        assert "is not an ISO date or timestamp: convert it first" in result.stderr


def test_wrong_rows_are_told(tmp_path):
    pl.DataFrame({"p": [0.1, 1.5, -2.0], "y": [0, 1, 1]}).write_parquet(tmp_path / "log.parquet")
    result = invoke("report", tmp_path / "log.parquet", *READ)
    assert result.exit_code == 0
    assert "2 rows have an invalid score, label or weight" in result.stderr
    result = invoke("sketch", tmp_path / "log.parquet", "--out", tmp_path / "out", *READ)
    assert result.exit_code == 0
    assert "2 of the sketched rows have an invalid score" in result.stderr


@pytest.mark.quick("p,y,s", '"p"*')
@pytest.mark.parametrize("text", ["p,y,s\n", "p,y,s", "p,y,s\r\n", '"p","y","s"\n'])
def test_a_header_alone_is_a_log_without_rows(tmp_path, text):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.csv").write_text(text)
    args = (*READ, "--by", "s", "--weight", "s")
    table = report(logs / "a.csv", args=args)
    assert (table.height, table.columns[0]) == (0, "s")
    assert report(logs / "a.csv", args=READ)["n"].to_list() == [0]
    assert report(logs / "a.csv", args=(*READ, "--time", "s", "--every", "1mo")).height == 0
    assert "no column 'q'" in fails(2, "report", logs / "a.csv", "--score", "q", "--label", "y")
    write(LOG, logs / "b.csv")
    assert_frame_equal(report(logs, by=["s"]), report(logs / "b.csv", by=["s"]))
    sketch(logs, out=tmp_path / "out", args=(*READ, "--by", "s"))
    assert report(tmp_path / "out", args=("--by", "s"))["n"].to_list() == [2, 2]


# Columns that differ between files ---------------------------------------------------------------------------------------


def keys(values, dtype):
    return pl.Series(values, dtype=dtype)


MIXED = {
    "sizes": (keys([1, 2], pl.Int32), keys([2, 3], pl.Int64), {1: 1, 2: 2, 3: 1}),
    "signs": (keys([1, 2], pl.UInt8), keys([2, -3], pl.Int16), {1: 1, 2: 2, -3: 1}),
    "large": (keys([1, 2**63 + 1], pl.UInt64), keys([1, -3], pl.Int64), {1: 2, 2**63 + 1: 1, -3: 1}),
    "categories": (keys(["a", "b"], pl.Categorical), keys(["b", "c"], pl.String), {"a": 1, "b": 2, "c": 1}),
    "enums": (keys(["a", "b"], pl.Enum(["a", "b"])), keys(["b", "c"], pl.Enum(["c", "b"])), {"a": 1, "b": 2, "c": 1}),
    "units": (
        keys([0, 1000], pl.Int64).cast(pl.Datetime("ms")),
        keys([0, 1], pl.Int64).cast(pl.Datetime("ns")),
        {"1970-01-01T00:00:00.000000000": 2, "1970-01-01T00:00:01.000000000": 1, "1970-01-01T00:00:00.000000001": 1},
    ),
    "dates": (
        keys([0, 1], pl.Int32).cast(pl.Date),
        keys([0, 1], pl.Int64).cast(pl.Datetime("us")),
        {"1970-01-01T00:00:00.000000": 2, "1970-01-02T00:00:00.000000": 1, "1970-01-01T00:00:00.000001": 1},
    ),
    "zones": (
        keys([0, 1], pl.Int64).cast(pl.Datetime("us", "Asia/Tokyo")),
        keys([0, 2], pl.Int64).cast(pl.Datetime("us", "UTC")),
        {
            "1970-01-01T00:00:00.000000+0000": 2,
            "1970-01-01T00:00:00.000001+0000": 1,
            "1970-01-01T00:00:00.000002+0000": 1,
        },
    ),
    "nulls": (keys([None, None], pl.Null), keys(["b", None], pl.String), {None: 3, "b": 1}),
}


@pytest.mark.quick("sizes-False-parquet", "categories-False-parquet", "zones-False-parquet")
@pytest.mark.parametrize("kind", mostly_slow(["parquet", "arrow"], ["parquet"]))
@pytest.mark.parametrize("swapped", mostly_slow([False, True], [False]))
@pytest.mark.parametrize("case", MIXED)
def test_keys_of_types_that_mean_the_same(tmp_path, kind, swapped, case):
    *values, expected = MIXED[case]
    for name, s in zip("ba" if swapped else "ab", values, strict=True):
        write(pl.DataFrame({"p": [0.9, 0.2], "y": [1, 0], "s": s}), tmp_path / "logs" / f"{name}.{kind}")
    sketch(tmp_path / "logs", out=tmp_path / "out", args=(*READ, "--by", "s"))
    for table in (report(tmp_path / "logs", by=["s"]), report(tmp_path / "out", by=["s"], args=())):
        assert dict(table.select("s", "n").iter_rows()) == expected


@pytest.mark.quick("*-parquet")
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (keys([1, 2], pl.Int64), keys(["1", "2"], pl.String)),
        (keys([1, 2], pl.Int64), keys([1.0, 2.0], pl.Float64)),
        (keys([0, 1], pl.Int64).cast(pl.Datetime("us")), keys([0, 1], pl.Int64).cast(pl.Datetime("us", "UTC"))),
        (keys([True, False], pl.Boolean), keys([1, 0], pl.Int64)),
    ],
)
def test_keys_of_types_that_do_not(tmp_path, kind, one, other):
    for name, s in (("a", one), ("b", other)):
        write(pl.DataFrame({"p": [0.9, 0.2], "y": [1, 0], "s": s}), tmp_path / "logs" / f"{name}.{kind}")
    message = fails(1, "report", tmp_path / "logs", *READ, "--by", "s")
    assert f"the column 's' is {other.dtype} in " in message
    assert f"b.{kind}, but {one.dtype} in" in message
    result = sketch(tmp_path / "logs", out=tmp_path / "out", args=(*READ, "--by", "s"), code=1)
    assert f"b.{kind}: the group column 's' is {other.dtype}, but {one.dtype} in the other inputs" in result.stderr


@pytest.mark.quick("parquet", "csv")
@pytest.mark.parametrize("kind", WRITE)
def test_other_columns_may_differ(tmp_path, kind):
    """A column that was added, left out or moved is nothing to a report that does not ask for it."""
    logs = tmp_path / "logs"
    write(LOG, logs / f"a.{kind}")
    write(LOG.with_columns(extra=1), logs / f"b.{kind}")
    write(LOG.select("y", "s", "p"), logs / f"c.{kind}")
    write(LOG.with_columns(extra=pl.lit("x")), logs / f"d.{kind}")
    assert report(logs, by=["s"])["n"].to_list() == [8, 8]
    write(LOG.drop("s"), logs / f"e.{kind}")
    if kind != "ndjson":  # where a field may be left out of any row
        assert f"e.{kind} has no column 's' (--by)" in fails(2, "report", logs, *READ, "--by", "s")


def test_text_that_passes_for_numbers_in_one_file(tmp_path):
    """As of so many files that the reader does not look at all of them."""
    for i in range(12):
        s = ["01", "2"] if i < 11 else ["x", "2"]
        write(pl.DataFrame({"p": [0.9, 0.2], "y": [1, 0], "s": s}), tmp_path / f"{i:02}.csv")
    assert dict(report(tmp_path, by=["s"]).select("s", "n").iter_rows()) == {"01": 11, "2": 12, "x": 1}


def test_scores_of_whole_numbers_beside_floats(tmp_path):
    write(LOG.with_columns(p=pl.Series([1, 0, 1, 0])), tmp_path / "a.parquet")
    write(LOG, tmp_path / "b.parquet")
    assert report(tmp_path)["n"].item() == 8


# Hive folders ------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("parquet", "csv")
@pytest.mark.parametrize("kind", WRITE)
def test_a_folder_does_not_replace_a_column(tmp_path, kind):
    write(LOG, tmp_path / "logs" / "p=0.5" / f"x.{kind}")
    message = f"x.{kind} has a column 'p' whose values differ from its folder p=0.5: rename the folder"
    assert message in fails(1, "report", tmp_path / "logs", *READ)
    assert message in sketch(tmp_path / "logs", out=tmp_path / "out", code=1).stderr
    write(LOG.with_columns(p=0.5), tmp_path / "logs" / "p=0.5" / f"x.{kind}")  # as Polars writes partitions
    assert report(tmp_path / "logs")["n"].item() == 4


@pytest.mark.quick("arrow", "ndjson")
@pytest.mark.parametrize("kind", WRITE)
def test_a_folder_may_say_what_its_files_say(tmp_path, kind):
    log = LOG.with_columns(
        day=pl.lit("2024-01-01").str.to_date() if kind in ("parquet", "arrow") else pl.lit("2024-01-01")
    )
    write(log, tmp_path / "day=2024-01-01" / f"x.{kind}")
    write(LOG.with_columns(s=1), tmp_path / "s=1" / f"x.{kind}")
    assert report(tmp_path / "day=2024-01-01", by=["day"])["n"].to_list() == [4]
    assert report(tmp_path / "s=1", by=["s"])["n"].to_list() == [4]
    write(LOG.with_columns(s=pl.lit(None, dtype=pl.Int64)), tmp_path / "s=1" / f"y.{kind}")
    assert "whose values differ from its folder" in fails(1, "report", tmp_path / "s=1", *READ)


def test_errors_name_a_file_that_changed_since(tmp_path, monkeypatch):
    write(LOG, tmp_path / "a.parquet")
    schema = FileLog.schema

    def vanishes(self):
        found = schema(self)
        (tmp_path / "a.parquet").unlink()
        return found

    monkeypatch.setattr(FileLog, "schema", vanishes)
    assert "a.parquet: No such file or directory" in fails(1, "report", tmp_path / "a.parquet", *READ)
