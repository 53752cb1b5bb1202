"""Folders of sketches that were renamed, copied, damaged or made unreadable."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli.sketch_folder import Record, SketchFolder
from tests.support.cli import ROOT, invoke, report
from tests.support.sketch_jobs import (
    LOG,
    MADE_WITH,
    loaded,
    of_before,
    report_fails,
    same,
    sketch,
    sketch_of,
    whole,
    write_files,
)

FILES = 3


def n_rows(out):
    return loaded(out)["n"].sum()


# Renamed -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_renamed_log_is_never_counted_twice(logs, out, tmp_path):
    expected = report(out)
    logs.rename(tmp_path / "renamed")
    result = sketch(tmp_path / "renamed", out=out, code=1)
    assert f", {FILES} waiting, {FILES} failed; {LOG.height} rows" in result.stdout
    assert f"renamed/part-00.parquet and {FILES - 1} more is new, and waits until you settle" in result.stderr
    assert_frame_equal(report(out), expected)
    assert "is incomplete" in invoke("report", out).stderr
    result = sketch(tmp_path / "renamed", out=out, args=(*MADE_WITH, "--vanished", "drop"))
    assert f": {FILES} sketched, 0 unchanged; {LOG.height} rows" in result.stdout
    same(report(out), expected)
    assert invoke("report", out).stderr == ""


def test_whoever_says_keep_for_what_was_renamed_is_told(logs, out, tmp_path):
    logs.rename(tmp_path / "renamed")
    LOG.head(10).write_parquet(tmp_path / "renamed" / "new.parquet")
    result = sketch(tmp_path / "renamed", out=out, code=1, args=(*MADE_WITH, "--vanished", "keep"))
    assert (
        f": 1 sketched, 0 unchanged, {FILES} from other inputs, {FILES} failed; {LOG.height + 10} rows" in result.stdout
    )
    assert (
        "part-00.parquet, which has vanished but still counts. If it was renamed, pass --vanished drop" in result.stderr
    )
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
    assert f": 1 sketched, {FILES - 1} unchanged, 1 from other inputs; {LOG.height + rows.height} rows" in result.stdout


@pytest.mark.slow
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


@pytest.mark.slow
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
    parts = [LOG.gather_every(FILES, i) for i in (0, 2)]
    same(loaded(out), whole(pl.concat([*parts, LOG.head(7)])).frame)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["remove", "_sketch_all"])
def test_killed_between_dropping_and_adding(logs, out, tmp_path, step):
    """A report then has fewer rows than the log, never more, and says that something is undone."""
    logs.rename(tmp_path / "renamed")
    code = f"""
import os, signal, sys
from pathlib import Path
import polars_ec.cli.sketch_job as job, polars_ec.cli.sketch_folder as folder
from tests.support.sketch_jobs import options
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
    assert "is incomplete" in result.stderr
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


@pytest.mark.quick("stop", "drop")
@pytest.mark.parametrize("vanished", ["stop", "keep", "drop"])
def test_what_cannot_be_seen_has_not_vanished(out, forbidden, vanished):
    result = sketch(forbidden / "part-00.parquet", out=out, code=1, args=(*MADE_WITH, "--vanished", vanished))
    assert (
        "part-01.parquet: Permission denied: whether it still exists is unknown, so its sketch counts" in result.stderr
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
    assert ": 0 sketched, 2 unchanged, 2 from other inputs, 1 failed;" in result.stdout
    assert n_rows(tmp_path / "out") == 2 * LOG.height


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_sketches_that_may_not_be_read_are_not_called_damaged(logs, out, tmp_path):
    file = sketch_of(out, logs)
    os.chmod(file, 0)
    code = """
import os, sys
from pathlib import Path
from polars_ec.cli.sketch_folder import SketchFolder
folder = SketchFolder(Path(sys.argv[1]))
folder.manifest()
os.chdir(sys.argv[1])
os.setuid(65534)
try:
    SketchFolder(Path(".")).manifest()
except Exception as error:
    print(error)
"""
    for above in (out, *out.parents):
        if above.stat().st_uid == 0 and not above.stat().st_mode & 1 and above != Path("/"):
            os.chmod(above, above.stat().st_mode | 1)
    os.chmod(out, 0o755)
    done = subprocess.run([sys.executable, "-c", code, out], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == f"{file.name} cannot be read: Permission denied\n"


@pytest.mark.quick("13")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_messages_of_sketches_that_cannot_be_opened(logs, out, monkeypatch, number):
    def refused(path, *args):
        if str(path) == str(sketch_of(out, logs)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *args)

    real = open
    monkeypatch.setattr("polars_ec.sketches.files.open", refused, raising=False)
    line = report_fails(out, f"{sketch_of(out, logs)} cannot be read: {os.strerror(number)}")
    assert "damaged" not in line
    assert "remove" not in line
    result = sketch(logs, out=out, code=1)
    assert f"{sketch_of(out, logs)} cannot be read: {os.strerror(number)}" in result.stderr
    assert sketch_of(out, logs).exists()


# What the sketches hold ----------------------------------------------------------------------------------------------------


def test_of_what_is_undone_no_input_is_looked_at_that_a_run_is_about(logs, out, monkeypatch):
    """It was looked at when the run began, and in a store each look takes its time."""
    folder, inputs = SketchFolder(out), [str(file) for file in sorted(logs.iterdir())]
    folder.leave_undone(dict.fromkeys(inputs, "has not been read yet"))
    assert folder.undone() == {}
    looked_at = []
    monkeypatch.setattr(Record, "is_current", lambda record: looked_at.append(record.input))
    assert folder.undone(inputs[1:]) == {inputs[0]: "has not been read yet"}
    assert looked_at == inputs[:1]


@pytest.mark.slow
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


def test_a_run_reads_only_the_sketches_that_it_does_not_know(logs, out, monkeypatch):
    def noted(self, name, entry):
        seen.append(name)
        return read(self, name, entry)

    seen, read = [], SketchFolder.read
    monkeypatch.setattr(SketchFolder, "read", noted)
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    assert seen == []
    touched = sketch_of(out, logs)
    os.utime(touched, ns=(0, touched.stat().st_mtime_ns + 1))
    sketch(logs, out=out)
    assert seen == [touched.name]
    # Nothing is known where the note is not what a run has left.
    for content in (b"", b"[]", b'{"a": 1}', b"\xff"):
        seen.clear()
        (out / ".polars-ec-sketch.verified.json").write_bytes(content)
        sketch(logs, out=out)
        assert len(seen) == FILES


@pytest.mark.quick("flipped")
@pytest.mark.parametrize(
    "damage",
    [
        halved,
        flipped,
        pytest.param(lambda file: file.write_bytes(b""), marks=pytest.mark.slow),
        pytest.param(lambda file: file.write_bytes(b"PAR1"), marks=pytest.mark.slow),
    ],
)
def test_sketches_that_changed_are_made_again(logs, out, tmp_path, damage):
    damage(sketch_of(out, logs))
    report_fails(out, str(sketch_of(out, logs)), "damaged", "remove it and run polars-ec sketch again")
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


def test_sketches_of_an_earlier_version_are_made_again(logs, out):
    """By the job, of inputs that are there; a report says so, and of inputs that are gone there is no other way."""
    for i in range(2):
        of_before(sketch_of(out, logs, i))
    report_fails(
        out, f"{sketch_of(out, logs, 0)} is a sketch of schema version 2", "make the sketch again from its log"
    )
    assert f": 2 sketched, {FILES - 2} unchanged; {LOG.height} rows" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)
    of_before(sketch_of(out, logs))
    (logs / "part-01.parquet").unlink()
    assert f"{sketch_of(out, logs)} is a sketch of schema version 2" in sketch(logs, out=out, code=1).stderr


def test_a_copied_sketch_does_not_count_twice(logs, out):
    copy = out / "copy.sketch.parquet"
    shutil.copy(sketch_of(out, logs), copy)
    message = f"{copy} is a copy of the sketch of {logs}/part-01.parquet, whose rows would count twice: remove it"
    report_fails(out, message)
    result = sketch(logs, out=out, code=1)
    assert message in result.stderr
    assert f"; {LOG.height} rows" in result.stdout
    copy.unlink()
    assert "is incomplete" not in invoke("report", out).stderr, "it has been removed, as was asked"
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
    report_fails(out, f"{other} is not a sketch made by polars-ec sketch: move it elsewhere")
    other.unlink()
    os.mkfifo(other)
    report_fails(out, f"{other} is not a regular file")
    assert "not a regular file" in sketch(logs, out=out, code=1).stderr
    other.unlink()
    other.mkdir()
    report_fails(out, f"{other} is not a regular file")
    other.rmdir()
    other.symlink_to(out / "nowhere")
    report_fails(out, f"{other} is not a regular file")


def test_several_bad_ones_are_counted(logs, out):
    for i in range(3):
        flipped(sketch_of(out, logs, i))
        sketch_of(out, logs, i).write_bytes(b"")
    report_fails(out, f"(2 more of {FILES} files are bad too)")


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


@pytest.mark.slow
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
    report_fails(out, "cannot be read: No such file or directory")
