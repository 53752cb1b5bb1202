"""What Windows does not have is not needed: flags and calls of POSIX, folders that can be opened, and slashes in paths."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest.mock import MagicMock

import filelock
import polars as pl
import pytest

from polars_ec.cli import discovery, formats, logs, terminal
from tests.support.cli import invoke

POSIX_ONLY = (
    "O_CLOEXEC",
    "O_NONBLOCK",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "posix_spawn",
    "pread",
    "fork",
    "geteuid",
    "getuid",
)
POSIX_ONLY += ("sched_getaffinity", "fchmod", "mkfifo", "sysconf", "setsid", "getpgid", "killpg", "chown")


@pytest.fixture
def windows(monkeypatch) -> None:
    opened = os.open

    def refuse_folders(path, flags, *args, **keywords):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *args, **keywords)

    for name in POSIX_ONLY:
        monkeypatch.delattr(os, name)
    terminal._held.cache_clear()
    monkeypatch.setattr(os, "open", refuse_folders)
    monkeypatch.setattr(sys, "platform", "win32")
    # The library of locks has one for each system; the one here needs POSIX.
    monkeypatch.setattr(filelock, "FileLock", lambda *_, **__: MagicMock())
    yield
    terminal._held.cache_clear()


@pytest.mark.usefixtures("windows")
def test_the_command_needs_nothing_of_posix(tmp_path: Path) -> None:
    log, sketches, out = tmp_path / "log.csv", tmp_path / "sketches", tmp_path / "report.csv"
    pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]}).write_csv(log)
    columns = ["--score", "p", "--label", "y"]
    for arguments in (
        ["report", log, *columns, "--cost-fn", 5, "--out", out],
        ["sketch", log, *columns, "--out", sketches],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
    # The threshold is 1/6: one false alarm in four cases costs 0.25, and always deciding positive costs 0.5.
    assert pl.read_csv(out)["nec"].item() == pytest.approx(0.5)
    assert list(sketches.glob("*.sketch.parquet"))


def test_paths_with_backslashes(monkeypatch) -> None:
    monkeypatch.setattr(os, "sep", "\\")
    assert logs.partition("C:\\data\\month=2024-01\\a=b\\log.parquet") == {"month": "2024-01", "a": "b"}
    assert discovery._order("C:\\b\\a") == ["C:", "b", "a"]
    looked_at: list[str] = []

    def kind_of(folder: str) -> formats.FileKind | None:
        looked_at.append(folder)
        return formats.DELTA if folder.endswith("table") else None

    assert formats.table_around("C:\\data\\table\\month=1\\", kind_of) == ("C:/data/table", formats.DELTA)
    assert looked_at == ["C:/data/table/month=1", "C:/data/table"]
