"""The lock of a folder of sketches: held, left behind, and what else may be in its place."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from polars_ec.cli import sketch_folder
from polars_ec.cli.sketch_folder import SketchFolder, locked
from polars_ec.cli.sketch_job import run
from polars_ec.cli.terminal import DataError
from tests.support.cli import ROOT
from tests.support.sketch_jobs import MADE_WITH, options, sketch

FILES = 4


def test_a_folder_in_use_is_refused_and_a_lock_left_behind_is_not(logs, tmp_path):
    out = tmp_path / "out"
    with locked(out):
        message = sketch(logs, out=out, code=1).stderr
    assert message == (
        f"polars-ec: {out}: another job is running here (process {os.getpid()}). Wait until it ends, or choose another "
        "--out\n"
    )
    with (out / ".polars-ec-sketch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="another job"):
            run([str(logs)], out, options())
    sketch(logs, out=out)


def test_a_lock_that_is_a_link_is_not_followed(logs, tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".polars-ec-sketch.lock").symlink_to(tmp_path / "victim")
    result = sketch(logs, out=tmp_path / "out", code=1)
    assert "out/.polars-ec-sketch.lock is a link, not a lock file of polars-ec: remove it" in result.stderr
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.slow
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
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
        (errno.EWOULDBLOCK, "another job is running here"),
        (errno.EACCES, "another job is running here"),
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


def test_a_full_disk_names_the_file(logs, tmp_path, monkeypatch):
    def full(target, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sketch_folder, "whole_file", full)
    file = tmp_path / "out" / sketch_folder.NOTE
    message = sketch(logs, out=tmp_path / "out", code=1).stderr
    assert message == f"polars-ec: {file} cannot be written: No space left on device\n"


@pytest.mark.quick("", "{*", "[[]*")
@pytest.mark.parametrize("content", [b"", b"7\n", b'{"input": "half', b"\xff\xfe\n[[[[", b"x" * 100_000, b'["a"]'])
def test_whatever_a_lock_and_its_note_hold(logs, tmp_path, content):
    (tmp_path / "out").mkdir()
    for name in (".polars-ec-sketch.lock", ".polars-ec-sketch.reading.json"):
        (tmp_path / "out" / name).write_bytes(content)
    sketch(logs, out=tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").glob(".*")} == {
        ".polars-ec-sketch.lock",
        ".polars-ec-sketch.verified.json",
    }


def test_a_note_that_is_a_link_is_not_followed(logs, tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".polars-ec-sketch.reading.json").symlink_to(tmp_path / "victim")
    sketch(logs, out=tmp_path / "out")
    assert (tmp_path / "victim").read_text() == "precious"


def test_temporaries_are_new_files(logs, tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda n: "known")
    planted = tmp_path / "out" / ".polars-ec-sketch-known.tmp"
    monkeypatch.setattr(SketchFolder, "clean", lambda self: planted.symlink_to(tmp_path / "victim"))
    assert "cannot be written: File exists" in sketch(logs, out=tmp_path / "out", code=1).stderr
    assert (tmp_path / "victim").read_text() == "precious"
