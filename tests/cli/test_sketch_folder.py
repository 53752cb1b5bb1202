"""Folders of sketches that were renamed, copied, tampered with, locked, damaged or made unreadable."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

import polars_ec as ec
from polars_ec.cells.files import description
from polars_ec.cli import commands, sketch_folder
from polars_ec.cli.sketch_folder import SketchFolder
from tests.cli.test_sketch_job import LOG, MADE_WITH, same, whole, write_files

ROOT = Path(__file__).parents[2]
FILES = 4


def invoke(*args):
    return CliRunner().invoke(commands.app, [str(arg) for arg in args])


def sketch(*paths, out, code=0, args=MADE_WITH):
    result = invoke("sketch", *paths, "--out", out, *args)
    assert result.exit_code == code, result.output
    return result


def report(out, *args):
    result = invoke("report", out, *args, "--format", "csv")
    assert result.exit_code == 0, result.output
    return pl.read_csv(io.StringIO(result.stdout), try_parse_dates=True)


def fails(out, *words, code=1):
    result = invoke("report", out)
    assert result.exit_code == code, result.output
    *before, line = result.stderr.splitlines()
    assert all("left something undone" in other for other in before)
    for word in words:
        assert word in line
    return line


def loaded(out):
    (total,) = SketchFolder(out).opened().total(lambda sketch: sketch)
    return total.frame


@pytest.fixture
def logs(tmp_path):
    return write_files(tmp_path / "logs", files=FILES)


@pytest.fixture
def out(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log that no test changes, and its sketches, of which each test has its own."""
    logs = write_files(tmp_path_factory.mktemp("made") / "logs", files=FILES)
    sketch(logs, out=logs.parent / "out")
    return logs, logs.parent / "out"


def sketch_of(out, logs, i=1):
    return out / SketchFolder.name_for(str(logs / f"part-{i:02}.parquet"))


def n_rows(out):
    return loaded(out)["n"].sum()


# Renamed -----------------------------------------------------------------------------------------------------------------


def test_a_renamed_log_is_never_counted_twice(logs, out, tmp_path):
    expected = report(out)
    logs.rename(tmp_path / "renamed")
    result = sketch(tmp_path / "renamed", out=out, code=1)
    assert f", {FILES} waiting, {FILES} failed; {LOG.height} rows" in result.stdout
    assert f"renamed/part-00.parquet and {FILES - 1} more, which is new, waits until it is settled" in result.stderr
    assert_frame_equal(report(out), expected)
    assert "left something undone" in invoke("report", out).stderr
    result = sketch(tmp_path / "renamed", out=out, args=(*MADE_WITH, "--vanished", "drop"))
    assert f": {FILES} sketched, 0 unchanged; {LOG.height} rows" in result.stdout
    same(report(out), expected)
    assert invoke("report", out).stderr == ""


def test_whoever_says_keep_for_what_was_renamed_is_told(logs, out, tmp_path):
    logs.rename(tmp_path / "renamed")
    LOG.head(10).write_parquet(tmp_path / "renamed" / "new.parquet")
    result = sketch(tmp_path / "renamed", out=out, code=1, args=(*MADE_WITH, "--vanished", "keep"))
    assert (
        f": 1 sketched, 0 unchanged, {FILES} of other inputs, {FILES} failed; {LOG.height + 10} rows" in result.stdout
    )
    assert "part-00.parquet, which has vanished and still counts: renamed? Then --vanished drop" in result.stderr
    assert n_rows(out) == LOG.height + 10


def test_new_files_are_not_taken_for_renamed_ones(logs, out, tmp_path):
    """As in a log that is rotated: what vanished was deleted, and what is new is new, though of the same size and time."""
    gone = logs / "part-00.parquet"
    size, stamp = gone.stat().st_size, gone.stat().st_mtime_ns
    new = logs / "part-99.parquet"
    rows = pl.read_parquet(gone)
    rows.with_columns(p=1 - pl.col("p")).write_parquet(new, compression="uncompressed")
    content = new.read_bytes()
    gone.unlink()
    os.utime(new, ns=(0, stamp))
    entry = SketchFolder(out).records()[SketchFolder.name_for(str(gone))]
    assert entry.size == size != len(content)
    result = sketch(logs, out=out, args=(*MADE_WITH, "--vanished", "keep"))
    assert f": 1 sketched, {FILES - 1} unchanged, 1 of other inputs; {LOG.height + rows.height} rows" in result.stdout


def test_a_log_that_became_a_link(logs, out, tmp_path):
    """Its files have other full paths then, and the old ones still lead to something."""
    expected = report(out)
    logs.rename(tmp_path / "moved")
    logs.symlink_to(tmp_path / "moved")
    result = sketch(logs, out=out, code=1)
    assert f"part-00.parquet is now a link to {tmp_path}/moved/part-00.parquet since it was sketched" in result.stderr
    assert_frame_equal(report(out), expected)
    sketch(logs, out=out, args=(*MADE_WITH, "--vanished", "drop"))
    same(report(out), expected)


def test_a_file_that_became_a_folder(logs, out):
    expected = report(out)
    file = logs / "part-00.parquet"
    rows = pl.read_parquet(file)
    file.unlink()
    file.mkdir()
    rows.write_parquet(file / "0.parquet")
    assert "part-00.parquet is no longer a file since it was sketched" in sketch(logs, out=out, code=1).stderr
    assert_frame_equal(report(out), expected)
    sketch(logs, out=out, args=(*MADE_WITH, "--vanished", "drop"))
    same(report(out), expected)


def test_changed_files_are_read_while_the_question_is_open(logs, out):
    (logs / "part-00.parquet").unlink()
    LOG.head(7).write_parquet(logs / "part-01.parquet")
    LOG.head(5).write_parquet(logs / "new.parquet")
    result = sketch(logs, out=out, code=1)
    assert f": 1 sketched, {FILES - 2} unchanged, 1 waiting, 1 failed;" in result.stdout
    parts = [LOG.gather_every(FILES, i) for i in (0, 2, 3)]
    same(loaded(out), whole(pl.concat([*parts, LOG.head(7)])).frame)


@pytest.mark.parametrize("step", ["remove", "_sketch_all"])
def test_killed_between_dropping_and_adding(logs, out, tmp_path, step):
    """A report then has fewer rows than the log, never more, and says that something is undone."""
    logs.rename(tmp_path / "renamed")
    code = f"""
import os, signal, sys
from pathlib import Path
import polars_ec.cli.sketch_job as job, polars_ec.cli.sketch_folder as folder
from tests.cli.test_sketch_job import options
owner = folder.SketchFolder if {step!r} == "remove" else job._Run
call, left = getattr(owner, {step!r}), [3 if {step!r} == "remove" else 1]
def killing(*args):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return call(*args)
setattr(owner, {step!r}, killing)
job.run([sys.argv[1]], Path(sys.argv[2]), options(), vanished=job.Vanished.drop)
"""
    command = [sys.executable, "-c", code, tmp_path / "renamed", out]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == -9
    result = invoke("report", out)
    assert "left something undone" in result.stderr
    left = SketchFolder(out).records()
    assert sum(record.rows for record in left.values()) < LOG.height
    if step == "_sketch_all":
        assert not left
    sketch(tmp_path / "renamed", out=out, args=(*MADE_WITH, "--vanished", "drop"))
    same(loaded(out), whole().frame)


# What may not be looked at -----------------------------------------------------------------------------------------------


@pytest.fixture
def forbidden(logs, monkeypatch):
    """Nobody may look at the second file, as in a folder that lost its permissions."""
    for name in ("stat", "lstat"):
        call = getattr(os, name)

        def refused(path, *args, call=call, **kwargs):
            if str(path).endswith("logs/part-01.parquet"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *args, **kwargs)

        monkeypatch.setattr(os, name, refused)
    return logs


@pytest.mark.parametrize("vanished", ["stop", "keep", "drop"])
def test_what_cannot_be_seen_has_not_vanished(out, forbidden, vanished):
    result = sketch(forbidden / "part-00.parquet", out=out, code=1, args=(*MADE_WITH, "--vanished", vanished))
    assert (
        "part-01.parquet: Permission denied: one cannot tell whether it is there, and its sketch counts"
        in result.stderr
    )
    assert "has vanished" not in result.stderr
    assert n_rows(out) == LOG.height


def test_an_unreadable_folder_loses_nothing(tmp_path, monkeypatch):
    for name in ("a", "b"):
        write_files(tmp_path / "logs" / name, files=2) if (tmp_path / "logs").mkdir(exist_ok=True) is None else None
    sketch(tmp_path / "logs", out=tmp_path / "out")
    scan = os.scandir

    def refused(path="."):
        if str(path).endswith("logs/b"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    result = sketch(tmp_path / "logs", out=tmp_path / "out", code=1, args=(*MADE_WITH, "--vanished", "drop"))
    assert "logs/b: the folder cannot be listed: Permission denied" in result.stderr
    assert ": 0 sketched, 2 unchanged, 2 of other inputs, 1 failed;" in result.stdout
    assert n_rows(tmp_path / "out") == 2 * LOG.height


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_sketches_that_may_not_be_read_are_not_called_damaged(logs, out, tmp_path):
    file = sketch_of(out, logs)
    os.chmod(file, 0)
    code = """
import os, sys
from pathlib import Path
from polars_ec.cli.sketch_folder import SketchFolder
folder = SketchFolder(Path(sys.argv[1]))
folder.opened()
os.chdir(sys.argv[1])
os.setuid(65534)
try:
    SketchFolder(Path(".")).opened()
except Exception as error:
    print(error)
"""
    for above in (out, *out.parents):
        if above.stat().st_uid == 0 and not above.stat().st_mode & 1 and above != Path("/"):
            os.chmod(above, above.stat().st_mode | 1)
    os.chmod(out, 0o755)
    done = subprocess.run([sys.executable, "-c", code, out], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == f"{file.name} cannot be read: Permission denied\n"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_messages_of_sketches_that_cannot_be_opened(logs, out, monkeypatch, number):
    def refused(path, *args):
        if str(path) == str(sketch_of(out, logs)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *args)

    real = open
    monkeypatch.setattr("polars_ec.cells.parquet.open", refused, raising=False)
    line = fails(out, f"{sketch_of(out, logs)} cannot be read: {os.strerror(number)}")
    assert "damaged" not in line
    assert "remove" not in line
    result = sketch(logs, out=out, code=1)
    assert f"{sketch_of(out, logs)} cannot be read: {os.strerror(number)}" in result.stderr
    assert sketch_of(out, logs).exists()


# The manifest --------------------------------------------------------------------------------------------------------------


def rewritten(file, change, *, checksum=True):
    """The sketch with another entry of the manifest; as a program that knows the checksum writes it, or as an older one."""
    found = ec.Sketch.read_parquet(file)
    entry = pl.read_parquet_metadata(file)["polars_ec.input"]
    text = change(json.loads(entry))
    text = text if isinstance(text, str) else json.dumps(text)
    if checksum:
        found.write_parquet(file, metadata={"polars_ec.input": text})
    else:
        about = {"polars_ec.sketch": json.dumps(description(found, found.operating_point)), "polars_ec.input": text}
        found.frame.write_parquet(file, metadata=about)


def without(name):
    return lambda entry: {key: value for key, value in entry.items() if key != name}


TAMPERED = {
    "no JSON": lambda entry: "{",
    "empty": lambda entry: "",
    "a list": lambda entry: [entry],
    "null": lambda entry: None,
    "a number": lambda entry: 7,
    "deep": lambda entry: "[" * 100_000,
    "no version": without("version"),
    "version of text": lambda entry: {**entry, "version": "1"},
    "version 0": lambda entry: {**entry, "version": 0},
    "version true": lambda entry: {**entry, "version": True},
    "no input": without("input"),
    "input of a number": lambda entry: {**entry, "input": 7},
    "input not absolute": lambda entry: {**entry, "input": "part-01.parquet"},
    "input with a null byte": lambda entry: {**entry, "input": entry["input"] + "\0"},
    "no size": without("size"),
    "size of text": lambda entry: {**entry, "size": "7"},
    "negative size": lambda entry: {**entry, "size": -1},
    "no time": without("modified_ns"),
    "time of null": lambda entry: {**entry, "modified_ns": None},
    "no rows": without("rows"),
    "rows of a float": lambda entry: {**entry, "rows": 1.5},
    "other rows": lambda entry: {**entry, "rows": entry["rows"] + 1},
    "no key types": without("key_types"),
    "key types in a list": lambda entry: {**entry, "key_types": [*entry["key_types"]]},
    "other keys": lambda entry: {**entry, "key_types": {"b": "String"}},
    "other types": lambda entry: {**entry, "key_types": {**entry["key_types"], "carrier": "Int64"}},
    "types of numbers": lambda entry: {**entry, "key_types": dict.fromkeys(entry["key_types"], 7)},
    "no options": without("options"),
    "options in a list": lambda entry: {**entry, "options": [1]},
    "lacking an option": lambda entry: {**entry, "options": without("--by")(entry["options"])},
    "another time": lambda entry: {**entry, "options": {**entry["options"], "--time": "carrier"}},
    "--by of text": lambda entry: {**entry, "options": {**entry["options"], "--by": "carrier"}},
    "--every of null": lambda entry: {**entry, "options": {**entry["options"], "--every": None}},
    "a zone of a number": lambda entry: {**entry, "options": {**entry["options"], "--time-zone": 1}},
    "positives of text": lambda entry: {**entry, "positives": "many"},
}


@pytest.mark.parametrize(
    ("change", "checksum"),
    [(change, i % 2 == 0) for i, change in enumerate(TAMPERED.values())],
    ids=TAMPERED,
)
def test_entries_that_were_tampered_with(made, tmp_path, change, checksum):
    """A line in the report; and made again by the job, for their input is there."""
    logs, out = made[0], shutil.copytree(made[1], tmp_path / "out")
    rewritten(sketch_of(out, logs), change, checksum=checksum)
    fails(out, str(sketch_of(out, logs)), "damaged")
    assert f": 1 sketched, {FILES - 1} unchanged; {LOG.height} rows" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)


def test_fields_of_a_later_version_are_no_matter(logs, out):
    rewritten(sketch_of(out, logs), lambda entry: {**entry, "colour": "blue"})
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    rewritten(sketch_of(out, logs), without("positives"))
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)


@pytest.mark.parametrize("content", ["[]", "7", "{", "[" * 100_000, '{"a": 1}', "\udcff"])
def test_lists_of_what_is_undone_that_were_tampered_with(logs, out, content):
    (out / ".polars-ec-sketch.undone.json").write_bytes(content.encode(errors="surrogateescape"))
    fails(out, ".polars-ec-sketch.undone.json is damaged", "remove it")
    assert len(sketch(logs, out=out, code=1).stderr.splitlines()) == 1


# What the sketches hold ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_list_of_what_is_undone_that_is_no_file(logs, out, make):
    make(out / ".polars-ec-sketch.undone.json")
    # A process of its own, which can be ended where it would wait for ever.
    command = [sys.executable, "-m", "polars_ec", "report", out]
    reported = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30)
    for code, stderr in ((reported.returncode, reported.stderr), (1, sketch(logs, out=out, code=1).stderr)):
        assert (code, len(stderr.splitlines())) == (1, 1)
        assert "undone.json is not a regular file: remove it" in stderr


def halved(file):
    about = pl.read_parquet_metadata(file)
    frame = pl.read_parquet(file)
    frame.head(frame.height // 2).write_parquet(file, metadata={k: v for k, v in about.items() if k != "ARROW:schema"})


def flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "damage", [halved, flipped, lambda file: file.write_bytes(b""), lambda file: file.write_bytes(b"PAR1")]
)
def test_sketches_that_changed_are_made_again(logs, out, tmp_path, damage):
    damage(sketch_of(out, logs))
    fails(out, str(sketch_of(out, logs)), "damaged", "remove it and run polars-ec sketch again")
    # Of another input than this run's: said, and not counted as it is.
    result = sketch(logs / "part-00.parquet", out=out, code=1)
    assert f"{sketch_of(out, logs)} is" in result.stderr
    assert f": 1 sketched, {FILES - 1} unchanged;" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)
    damage(sketch_of(out, logs))
    (logs / "part-01.parquet").unlink()
    result = sketch(logs, out=out, code=1)
    assert f"{sketch_of(out, logs)} is" in result.stderr
    assert sketch_of(out, logs).exists()


def test_sketches_without_a_checksum_are_held_against_their_entry(logs, out):
    file = sketch_of(out, logs)
    rewritten(file, lambda entry: entry, checksum=False)
    same(loaded(out), whole().frame)
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    halved(file)
    fails(out, f"{file} is damaged: it is not what its entry says")
    assert f": 1 sketched, {FILES - 1} unchanged;" in sketch(logs, out=out).stdout


def test_a_copied_sketch_does_not_count_twice(logs, out):
    copy = out / "copy.sketch.parquet"
    shutil.copy(sketch_of(out, logs), copy)
    message = f"{copy} is a copy of the sketch of {logs}/part-01.parquet, which would count twice: remove it"
    fails(out, message)
    result = sketch(logs, out=out, code=1)
    assert message in result.stderr
    assert f"; {LOG.height} rows" in result.stdout
    copy.unlink()
    assert "left something undone" not in invoke("report", out).stderr, "it has been removed, as was asked"
    assert n_rows(out) == LOG.height
    # In the API nobody knows whether it is one.
    one = ec.Sketch.read_parquet(sketch_of(out, logs))
    assert (one + one).frame["n"].sum() == 2 * one.frame["n"].sum()


def test_a_folder_that_was_moved_as_a_whole_is_fine(logs, out, tmp_path):
    out.rename(tmp_path / "moved")
    same(loaded(tmp_path / "moved"), whole().frame)
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=tmp_path / "moved").stdout


def test_what_else_may_be_called_a_sketch(logs, out):
    other = out / "other.sketch.parquet"
    LOG.ec.sketch("p", "y").write_parquet(other)
    fails(out, f"{other} is no sketch of a polars-ec sketch job: put it elsewhere")
    other.unlink()
    os.mkfifo(other)
    fails(out, f"{other} is not a regular file")
    assert "not a regular file" in sketch(logs, out=out, code=1).stderr
    other.unlink()
    other.mkdir()
    fails(out, f"{other} is not a regular file")
    other.rmdir()
    other.symlink_to(out / "nowhere")
    fails(out, f"{other} is not a regular file")


def test_several_bad_ones_are_counted(logs, out):
    for i in range(3):
        flipped(sketch_of(out, logs, i))
        sketch_of(out, logs, i).write_bytes(b"")
    fails(out, f"(2 more of {FILES} files are bad too)")


# The lock ------------------------------------------------------------------------------------------------------------------


def test_a_lock_that_is_a_link_is_not_followed(logs, tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".polars-ec-sketch.lock").symlink_to(tmp_path / "victim")
    result = sketch(logs, out=tmp_path / "out", code=1)
    assert "out/.polars-ec-sketch.lock is a link, and no lock of polars-ec: remove it" in result.stderr
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.mkdir(path)])
def test_a_lock_that_is_no_file(logs, tmp_path, make):
    (tmp_path / "out").mkdir()
    make(tmp_path / "out" / ".polars-ec-sketch.lock")
    command = [sys.executable, "-m", "polars_ec", "sketch", logs, "--out", tmp_path / "out", *MADE_WITH]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=30)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EWOULDBLOCK, "another job is at work here"),
        (errno.EACCES, "another job is at work here"),
        (errno.ENOLCK, "cannot be locked: No locks available"),
        (errno.ENOTSUP, "cannot be locked: Operation not supported"),
    ],
)
def test_not_every_failure_to_lock_is_another_job(logs, tmp_path, monkeypatch, number, words):
    def refused(handle, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refused)
    result = sketch(logs, out=tmp_path / "out", code=1)
    assert words in result.stderr
    assert ("another job" in result.stderr) == ("another job" in words)


@pytest.mark.parametrize("content", [b"", b"7\n", b'7\n"half', b"\xff\xfe\n[[[[", b"x" * 100_000])
def test_whatever_a_lock_holds(logs, tmp_path, content):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".polars-ec-sketch.lock").write_bytes(content)
    sketch(logs, out=tmp_path / "out")
    assert (tmp_path / "out" / ".polars-ec-sketch.lock").read_text() == f"{os.getpid()}\n"


def test_temporaries_are_new_files(logs, tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda n: "known")
    planted = tmp_path / "out" / ".polars-ec-sketch-known.tmp"
    monkeypatch.setattr(SketchFolder, "clean", lambda self: planted.symlink_to(tmp_path / "victim"))
    assert "cannot be written: File exists" in sketch(logs, out=tmp_path / "out", code=1).stderr
    assert (tmp_path / "victim").read_text() == "precious"


# Other ways to fail ----------------------------------------------------------------------------------------------------------


def test_folders_that_cannot_be_listed(logs, out, monkeypatch):
    listed = os.listdir

    def refused(path="."):
        if str(path) == str(out):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "listdir", refused)
    assert f"{out}: the folder cannot be listed: Permission denied" in sketch(logs, out=out, code=1).stderr


@pytest.mark.parametrize("out", ["x" * 300, "a/" + "x" * 300])
def test_names_of_folders_that_are_too_long(logs, tmp_path, out):
    result = invoke("sketch", logs, "--out", tmp_path / out, *MADE_WITH)
    assert result.exit_code in (1, 2)
    assert len(result.stderr.splitlines()) == 1
    assert "File name too long" in result.stderr


def test_inputs_with_the_longest_names(tmp_path):
    name = "x" * 247 + ".parquet"
    (tmp_path / "logs").mkdir()
    LOG.write_parquet(tmp_path / "logs" / name)
    sketch(tmp_path / "logs", out=tmp_path / "out")
    same(loaded(tmp_path / "out"), whole().frame)


def test_all_inputs_deleted(logs, out):
    for file in logs.iterdir():
        file.unlink()
    assert sketch(logs, out=out, code=1).stderr.count("has vanished since it was sketched") == FILES
    for path in (logs, logs / "*.parquet", logs / "part-00.parquet"):
        sketch(path, out=out, args=(*MADE_WITH, "--vanished", "keep"))
    assert n_rows(out) == LOG.height
    (logs.parent / "empty").mkdir()
    for path, code in ((logs.parent / "empty", 1), (logs.parent / "empty" / "*.parquet", 2)):
        assert len(sketch(path, out=out, code=code, args=(*MADE_WITH, "--vanished", "keep")).stderr.splitlines()) == 1


def test_a_report_while_a_sketch_goes(logs, out, monkeypatch):
    """Between the list of the sketches and their reading a job may drop one: that is said, not left out."""
    read = SketchFolder.read

    def vanishing(self, name, entry):
        (out / name).unlink()
        return read(self, name, entry)

    monkeypatch.setattr(SketchFolder, "read", vanishing)
    fails(out, "cannot be read: No such file or directory")


# Memory --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [("--by", "carrier"), ("--by", "carrier", "--time", "ts", "--every", "1d"), ()])
def test_a_report_holds_one_sketch_at_a_time(out, monkeypatch, by):
    """While a sketch is read, none of those before it is there any more."""
    alive, most = [], []
    read = SketchFolder.read

    def watched(self, name, entry):
        most.append(sum(found() is not None for found in alive))
        made = read(self, name, entry)
        alive.append(weakref.ref(made))
        return made

    monkeypatch.setattr(SketchFolder, "read", watched)
    assert report(out, *by)["n"].sum() == LOG.drop_nulls("y").height
    assert most == [0] * FILES


def test_what_waits_is_added_up(tmp_path, monkeypatch):
    """Of ten sketches of the same cells no more than two and a half are ever kept."""
    made = whole()
    monkeypatch.setattr(sketch_folder, "_BATCH", 0)
    total = sketch_folder._Sum(lambda sketch: sketch)
    for _ in range(10):
        total.add(made)
        kept = sum(frame.height for part in total._parts for frame in part)
        assert kept <= 2.5 * made.frame.height
    same(total.total().frame, ec.merge([made] * 10).frame)


@pytest.mark.parametrize("batch", [0, 500_000])
def test_sums_are_those_of_all_at_once(logs, out, monkeypatch, batch):
    monkeypatch.setattr(sketch_folder, "_BATCH", batch)
    same(loaded(out), whole().frame)
    expected = ec.merge([ec.Sketch.read_parquet(file) for file in sorted(out.glob("*.sketch.parquet"))])
    same(loaded(out), expected.frame)
    by_carrier = report(out, "--by", "carrier", "--prior", "overall")
    assert by_carrier["n"].sum() == LOG.drop_nulls("y").height
    assert pq.read_metadata(next(out.glob("*.sketch.parquet"))).num_rows > 0
