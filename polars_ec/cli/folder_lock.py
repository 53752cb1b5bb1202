"""The lock of a folder of sketches: one job at a time, and which input it reads."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polars_ec.cli.errors import DataError, UsageError

LOCK = ".polars-ec-sketch.lock"
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class Lock:
    """The lock while it is held: it says which process is at work, and on which input."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        # A job that ended by itself has left no input here; one that was killed, perhaps by its input, has.
        self.suspect = _second_line(os.pread(handle, 65536, 0))
        self.reading(None)

    def reading(self, source: str | None) -> None:
        """Note the input that is being read, in case the process does not survive it."""
        note = f"{os.getpid()}\n" + ("" if source is None else f"{json.dumps(source)}\n")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, note.encode(), 0)


def _second_line(note: bytes) -> str | None:
    try:
        found = json.loads(note.split(b"\n")[1])
    except (IndexError, ValueError, RecursionError):
        return None
    return found if isinstance(found, str) else None


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Keep any other job out until this one ends; DataError if there is one."""
    try:
        import fcntl  # which Windows does not have, and only this needs
    except ModuleNotFoundError:
        raise UsageError("polars-ec sketch needs the file locks of POSIX (Linux, macOS, WSL)") from None
    file = folder / LOCK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Never removed: a process that waits for the old file and one that makes a new one would both get a lock.
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(file):
            raise DataError(f"{file} is a link, not a lock of polars-ec: remove it") from None
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise DataError(f"{file} is not a regular file, so not a lock of polars-ec: remove it")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _BUSY:
                raise DataError(f"{file} cannot be locked: {error.strerror}") from None
            holder = os.pread(handle, 32, 0).decode(errors="replace").split("\n", 1)[0]
            raise DataError(
                f"{folder}: another job is at work here (process {holder or 'unknown'}): wait until it ends, or "
                "choose another --out"
            ) from None
        lock = Lock(handle)
        try:
            yield lock
        finally:
            lock.reading(None)
    finally:
        os.close(handle)
