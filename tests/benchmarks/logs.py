"""The prediction logs of the benchmarks: made up, the same on every machine, written chunk by chunk."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks.layout import N_PARTS, log_folder

N_SEGMENTS = 200
N_STORES = 5_000

_SEED = 20_000
_YEAR_START = np.datetime64("2025-01-01", "us")
_YEAR = 365 * 24 * 3600 * 1_000_000
_SEGMENTS = pa.array([f"segment-{i:03d}" for i in range(N_SEGMENTS)])
_ACCOUNTS = pa.array([f"account-{i:09d}" for i in range(500_000)])


@dataclass(frozen=True)
class Kind:
    """One sort of log: how a chunk of it is made (so many rows, from one share of the year to another), and how many rows
    a row group holds.
    """

    make_chunk: Callable[[np.random.Generator, int, float, float], pa.Table]
    rows_per_group: int


def make_log(folder: Path, kind: str, rows: int) -> None:
    """Write the log, unless it is there already with the right number of rows."""
    final = log_folder(folder, kind, rows)
    if final.is_dir() and sum(pq.read_metadata(path).num_rows for path in sorted(final.iterdir())) == rows:
        return
    # Written under another name first, so that a log which was cut short is never taken for a whole one.
    unfinished = final.with_name(f"{final.name}.unfinished")
    for old in (final, unfinished):
        shutil.rmtree(old, ignore_errors=True)
    unfinished.mkdir(parents=True)
    bounds = [rows * part // N_PARTS for part in range(N_PARTS + 1)]
    for part, (start, stop) in enumerate(pairwise(bounds)):
        _write_part(unfinished / f"part-{part}.parquet", KINDS[kind], start, stop, rows)
    unfinished.rename(final)


def _write_part(path: Path, kind: Kind, start: int, stop: int, rows: int) -> None:
    writer: pq.ParquetWriter | None = None
    for first in range(start, stop, kind.rows_per_group):
        n = min(kind.rows_per_group, stop - first)
        chunk = kind.make_chunk(np.random.default_rng([_SEED, first]), n, first / rows, (first + n) / rows)
        writer = writer or pq.ParquetWriter(path, chunk.schema, compression="zstd")
        writer.write_table(chunk)
    if writer is not None:
        writer.close()


def _binary_chunk(random: np.random.Generator, n: int, since: float, until: float) -> pa.Table:
    """A posterior that is somewhat overconfident, of a class with a prior of about 0.2 that varies by segment."""
    segment = random.integers(0, N_SEGMENTS, n)
    log_odds = random.normal(-2 + segment / N_SEGMENTS, 1.5)
    label = random.random(n) < _sigmoid(0.8 * log_odds + 0.2)
    since_start = (np.sort(random.uniform(since, until, n)) * _YEAR).astype("timedelta64[us]")
    return pa.table(
        {
            "segment": _SEGMENTS.take(pa.array(segment)),
            "ts": _YEAR_START + since_start,
            "label": label,
            "score": _sigmoid(log_odds),
        }
    )


def _weighted_chunk(random: np.random.Generator, n: int, since: float, until: float) -> pa.Table:
    """A binary log whose rows have weights, whose labels are late now and then, and which lacks some scores."""
    made = _binary_chunk(random, n, since, until)
    label = pa.array(made["label"].to_numpy(), mask=random.random(n) < 0.05)
    score = pa.array(made["score"].to_numpy(), mask=random.random(n) < 0.01)
    weight = pa.array(random.gamma(2, 1, n))
    return pa.table({"segment": made["segment"], "label": label, "score": score, "weight": weight})


def _keyed_chunk(random: np.random.Generator, n: int, since: float, until: float) -> pa.Table:
    """A binary log whose rows have keys: integers, strings of 5,000 values and of 500,000."""
    made = _binary_chunk(random, n, since, until).drop_columns(["ts"])
    made = made.append_column("integer", pa.array(random.integers(0, 2**40, n)))
    for name, n_values in (("few", 5_000), ("many", 500_000)):
        values = random.integers(0, n_values, n)
        made = made.append_column(name, pa.array(np.char.add("customer-", np.char.zfill(values.astype("U"), 9))))
    return made


def _clustered_chunk(random: np.random.Generator, n: int, since: float, until: float) -> pa.Table:
    """A binary log whose rows belong to users, integers, and to accounts, strings; and which has 5,000 stores."""
    made = _binary_chunk(random, n, since, until).drop_columns(["ts"])
    made = made.append_column("user", pa.array(random.integers(0, 1_000_000, n)))
    made = made.append_column("account", _ACCOUNTS.take(pa.array(random.integers(0, len(_ACCOUNTS), n))))
    return made.append_column("store", pa.array(random.integers(0, N_STORES, n).astype(np.int16)))


def _classes_chunk(
    random: np.random.Generator, n: int, _since: float, _until: float, n_classes: int, n_segments: int
) -> pa.Table:
    segment = random.integers(0, n_segments, n)
    # Class i is about 1/(i + 1) as frequent as class 0.
    shares = 1 / np.arange(1, n_classes + 1)
    label = random.choice(n_classes, n, p=shares / shares.sum())
    evidence = random.normal(np.log(shares), 1.0, (n, n_classes))
    evidence[np.arange(n), label] += 1 + segment / n_segments
    weights = np.exp(evidence)
    posteriors = weights / weights.sum(axis=1, keepdims=True)
    return pa.table(
        {
            "segment": _SEGMENTS.take(pa.array(segment)),
            "label": label.astype(np.int8 if n_classes <= 128 else np.int16),
            "posteriors": pa.FixedSizeListArray.from_arrays(posteriors.ravel(), n_classes),
        }
    )


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


KINDS = {
    "binary": Kind(_binary_chunk, 2**18),
    "weighted": Kind(_weighted_chunk, 2**18),
    "clustered": Kind(_clustered_chunk, 2**18),
    "keys": Kind(_keyed_chunk, 2**18),
    "classes": Kind(partial(_classes_chunk, n_classes=10, n_segments=N_SEGMENTS), 2**16),
    "hundred": Kind(partial(_classes_chunk, n_classes=100, n_segments=50), 2**15),
    "thousand": Kind(partial(_classes_chunk, n_classes=1000, n_segments=50), 2**12),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make one log.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("rows", type=int)
    arguments = parser.parse_args()
    make_log(arguments.folder, arguments.kind, arguments.rows)


if __name__ == "__main__":
    main()
