"""Where the logs lie. Imports nothing large: see `measure.run_apart`."""

from __future__ import annotations

from pathlib import Path

# A log is four files of equal length, so that a quarter or half of it is a list of files and no other query.
N_PARTS = 4


def log_folder(folder: Path, kind: str, rows: int) -> Path:
    """The folder of a log of this many rows."""
    return folder / f"{kind}-{rows}"


def log_paths(folder: Path, kind: str, rows: int) -> list[str]:
    """The files of that log."""
    return [str(log_folder(folder, kind, rows) / f"part-{part}.parquet") for part in range(N_PARTS)]
