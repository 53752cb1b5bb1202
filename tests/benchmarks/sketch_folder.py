"""A folder of ten sketches by segment and hour, as the command makes it of the log in ten files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

N_SKETCHES = 10


def command_line(*arguments: str) -> None:
    """What the command `polars-ec` does with these arguments."""
    from polars_ec_command import main as run

    sys.argv = ["polars-ec", *arguments]
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise


def write_files(paths: list[str], folder: Path, number: int) -> None:
    """The rows of a log in so many files of equal length."""
    import polars as pl

    log = pl.scan_parquet(paths)
    n_rows = log.select(pl.len()).collect().item()
    folder.mkdir()
    for i in range(number):
        start, stop = n_rows * i // number, n_rows * (i + 1) // number
        log.slice(start, stop - start).sink_parquet(folder / f"log-{i}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("paths", nargs="+")
    arguments = parser.parse_args()
    logs = arguments.folder / "logs"
    write_files(arguments.paths, logs, N_SKETCHES)
    columns = ("--score", "score", "--label", "label", "--by", "segment", "--time", "ts", "--every", "1h")
    command_line("sketch", str(logs), "--out", str(arguments.folder / "sketches"), *columns, "--quiet")


if __name__ == "__main__":
    main()
