"""Files that become visible only when complete, and whose writes cannot be redirected by a link."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

TEMPORARY = ".tmp"


@contextmanager
def whole_file(target: Path, prefix: str = ".polars-ec-", *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes the place of `target` if the block ends well, and vanishes if not.

    `durable`: its bytes are on the disk before its name is, and its name before this returns.
    """
    # A name of its own, however long that of the target; O_EXCL follows no link.
    temporary = target.with_name(f"{prefix}{secrets.token_hex(8)}{TEMPORARY}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(handle)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Names that were given or taken in this folder are on the disk; Windows opens no folder."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
