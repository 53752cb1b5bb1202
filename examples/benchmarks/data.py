"""The logs, made up and the same on every machine; and the oracle: the answers in plain NumPy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from examples.benchmarks.task import COST_FN, THRESHOLD, Columns, Log, Z

SEED = 36
ROWS_OF_FILE = 2**22
# Posteriors in a row group.
ROW_GROUP = 2**19
# The oracle holds so many posteriors in memory for AUC, and compares no more.
LARGEST_SORT = 10**8
# Below, the normal approximation says little.
ROWS_FOR_INTERVALS = 1_000


@dataclass(frozen=True)
class Size:
    """Rows, groups and classes of a log. Scores of the log for checks are rounded, so that they have ties."""

    rows: int
    groups: int
    classes: int
    rounded: bool = False

    @property
    def bytes(self) -> int:
        """What its files take, about: posteriors do not compress."""
        return self.rows * (8 * (self.classes if self.classes > 2 else 1) + 3)

    @property
    def enough_rows(self) -> bool:
        """Whether each group has rows of each class, without which AUC is undefined."""
        return self.rows >= 50 * self.groups * self.classes

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.groups:,} groups, {self.classes} classes"


def check_size(classes: int) -> Size:
    """Size of the small log on which each solution shows that it is right."""
    return Size(max(20_000, 500 * classes), 10, classes, rounded=True)


def make_log(folder: Path, size: Size) -> Log:
    """Write the log, unless it is there."""
    final = folder / f"{size.rows}-{size.groups}-{size.classes}{'-rounded' if size.rounded else ''}"
    if not final.exists():
        # Under another name first, so that half a log is never taken for a whole one.
        unfinished = final.with_name(f"{final.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for first in range(0, size.rows, ROWS_OF_FILE):
            _write_file(unfinished / f"part-{first // ROWS_OF_FILE:04d}.parquet", size, first)
        unfinished.rename(final)
    return Log([str(path) for path in sorted(final.iterdir())], size.classes)


def _write_file(path: Path, size: Size, first: int) -> None:
    step = max(1, ROW_GROUP // size.classes)
    stop = min(first + ROWS_OF_FILE, size.rows)
    chunks = ((start, min(step, stop - start)) for start in range(first, stop, step))
    tables = (_rows(np.random.default_rng([SEED, start]), size, n) for start, n in chunks)
    table = next(tables)
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        for table in tables:
            writer.write_table(table)


def _rows(random: np.random.Generator, size: Size, n: int) -> pa.Table:
    """Two classes: about a fifth is positive, the posteriors overconfident. More: the last class is a third as frequent as the first."""
    group = random.integers(0, size.groups, n)
    segments = pa.array([f"segment-{i:06d}" for i in range(size.groups)])
    columns = {"segment": segments.take(pa.array(group))}
    if size.classes == 2:
        log_odds = random.normal(-2 + group / size.groups, 1.5)
        label = random.random(n) < 1 / (1 + np.exp(-0.8 * log_odds - 0.2))
        score = 1 / (1 + np.exp(-log_odds))
        columns["label"] = label.astype(np.int8)
        columns["score"] = np.clip(score.round(3), 0.001, 0.999) if size.rounded else score
        return pa.table(columns)
    shares = np.linspace(3, 1, size.classes)
    label = random.choice(size.classes, n, p=shares / shares.sum())
    evidence = random.normal(np.log(shares), 1.0, (n, size.classes))
    evidence[np.arange(n), label] += 1 + group / size.groups
    weights = np.exp(evidence.round(1) if size.rounded else evidence)
    posteriors = weights / weights.sum(axis=1, keepdims=True)
    columns["label"] = label.astype(np.int16)
    columns["posteriors"] = pa.FixedSizeListArray.from_arrays(posteriors.ravel(), size.classes)
    return pa.table(columns)


def oracle(log: Log, size: Size, task: str) -> Columns | None:
    """The right answer, or nothing where it is too large to compute here or the interval's approximation is poor."""
    if task == "auc":
        return _areas(log, size) if size.rows * size.classes <= LARGEST_SORT else None
    counts, losses, squares = _sums(log, size)
    n = counts.sum(axis=(1, 2))
    right = np.diagonal(counts, axis1=1, axis2=2)
    costs = 1.0 - np.eye(size.classes)
    decided_or_true = counts.sum(axis=1) + counts.sum(axis=2)
    f1 = 2 * right / decided_or_true
    if size.classes == 2:
        costs[1, 0] = COST_FN
        f1 = f1[:, 1:]
    cost = (counts * costs).sum(axis=(1, 2)) / n
    answer = {"segment": np.array([f"segment-{i:06d}" for i in range(size.groups)])}
    if task == "metrics":
        if size.classes == 2:
            answer |= dict(zip(("tn", "fp", "fn", "tp"), counts.reshape(-1, 4).T, strict=True))
        answer |= {"expected_cost": cost, "f1": f1.mean(axis=1), "log_loss": losses / n, "brier": squares / n}
    elif size.rows < ROWS_FOR_INTERVALS * size.groups:
        return None
    elif size.classes == 2:
        # A ratio of sums, 2 tp / (2 tp + fp + fn): a row's residual is its part of the first less F1 times its part of the second.
        value, errors = f1[:, 0], counts[:, 0, 1] + counts[:, 1, 0]
        residuals = right[:, 1] * (2 - 2 * value) ** 2 + errors * value**2
        answer |= _bounds("f1", value, np.sqrt(residuals) / decided_or_true[:, 1])
    else:
        answer |= _bounds("expected_cost", cost, np.sqrt(cost * (1 - cost) / n))
    return {name: column.tolist() for name, column in answer.items()}


def _bounds(name: str, value: np.ndarray, deviation: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{name}_low": value - Z * deviation, f"{name}_high": value + Z * deviation}


def _batches(log: Log, size: Size) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Number of the group, label and posteriors of all classes, some rows at a time."""
    for file in log.files:
        parquet = pq.ParquetFile(file)
        for number in range(parquet.num_row_groups):
            table = parquet.read_row_group(number)
            names = table["segment"].combine_chunks().dictionary_encode()
            group = np.array([int(name.as_py()[-6:]) for name in names.dictionary])[names.indices.to_numpy()]
            if size.classes == 2:
                score = table["score"].to_numpy()
                posteriors = np.stack([1 - score, score], axis=1)
            else:
                posteriors = table["posteriors"].combine_chunks().flatten().to_numpy().reshape(-1, size.classes)
            yield group, table["label"].to_numpy().astype(int), posteriors


def _sums(log: Log, size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts by group, class and decision; sums of log losses and Brier scores by group."""
    groups, classes = size.groups, size.classes
    counts = np.zeros(groups * classes * classes, np.int64)
    losses, squares = np.zeros(groups), np.zeros(groups)
    for group, label, posteriors in _batches(log, size):
        decision = (posteriors[:, 1] > THRESHOLD).astype(int) if classes == 2 else posteriors.argmax(axis=1)
        np.add.at(counts, (group * classes + label) * classes + decision, 1)
        losses -= np.bincount(group, np.log(posteriors[np.arange(len(label)), label]), groups)
        squares += np.bincount(group, ((posteriors - np.eye(classes)[label]) ** 2).mean(axis=1), groups)
    return counts.reshape(groups, classes, classes), losses, squares


def _areas(log: Log, size: Size) -> Columns:
    group, label, posteriors = (np.concatenate(parts) for parts in zip(*_batches(log, size), strict=True))
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(size.groups + 1))
    ranked = range(1, 2) if size.classes == 2 else range(size.classes)
    areas = []
    for start, stop in pairwise(bounds):
        rows = order[start:stop]
        areas.append(np.mean([_area(posteriors[rows, i], label[rows] == i) for i in ranked]))
    return {"segment": [f"segment-{i:06d}" for i in range(size.groups)], "auc": np.array(areas).tolist()}


def _area(score: np.ndarray, positive: np.ndarray) -> float:
    """By the ranks of the positives; tied scores share their mean rank."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    n_positive = positive.sum()
    return (rank[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * (len(score) - n_positive))
