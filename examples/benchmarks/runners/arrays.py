"""The log in memory, group by group, for libraries that take arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from examples.benchmarks.task import COST_FN, Columns, Log

if TYPE_CHECKING:
    import numpy as np


def groups(log: Log) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The segment, labels, and scores or posteriors of each group."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(log.files, read_dictionary=["segment"]).unify_dictionaries()
    segment = table["segment"].combine_chunks()
    label = table["label"].to_numpy()
    score = table[log.score].combine_chunks()
    score = score.to_numpy() if log.n_classes == 2 else score.flatten().to_numpy().reshape(-1, log.n_classes)
    number = segment.indices.to_numpy()
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(segment.dictionary) + 1))
    for name, (start, stop) in zip(segment.dictionary.to_pylist(), pairwise(bounds), strict=True):
        rows = order[start:stop]
        yield name, label[rows], score[rows]


def with_cost(tn: int, fp: int, fn: int, tp: int) -> dict[str, float]:
    """The counts of two classes, and the expected cost."""
    return {"tn": tn, "fp": fp, "fn": fn, "tp": tp, "expected_cost": (COST_FN * fn + fp) / (tn + fp + fn + tp)}


def by_group(log: Log, metrics: Callable[[np.ndarray, np.ndarray], dict[str, float]]) -> Columns:
    """The metrics, a function of labels and scores that returns values by name, of each group."""
    rows = [{"segment": name, **metrics(label, score)} for name, label, score in groups(log)]
    return {name: [row[name] for row in rows] for name in rows[0]}
