"""A log with everything that engines treat differently, its sketch by NumPy, and the comparison with what an engine made."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_ec.sql.sketch_query import sketch_query
from tests.support.buckets import plain_bucket

WEIGHTS = ("weight", "weight2")
SUMS = ("log_loss", "brier", "posterior")
MONTH = "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"
MONTH_IN = {"clickhouse": "toStartOfMonth(ts)"}  # there CAST(NULL AS DATE) is an error
NEAR_EDGE = 1e-9  # bins; ln of engines differs by some 1e-12 of them


@dataclass(frozen=True)
class Case:
    """One call of sketch_query on the log."""

    name: str
    score: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = "late"

    @property
    def score_type(self) -> str:
        return self.arguments.get("score_type", "posterior")

    @property
    def resolution(self) -> int:
        return self.arguments.get("resolution", 64)

    def query(self, dialect: str, table: str = "log") -> str:
        arguments = dict(self.arguments)
        if "month" in arguments.get("by", ()):
            arguments["by"] = {**arguments["by"], "month": MONTH_IN.get(dialect, MONTH)}
        return sketch_query(table, self.score, self.label, dialect=dialect, **arguments)


CASES = [
    Case("posterior", "p"),
    Case("posterior_weighted", "p", {"by": ["segment"], "weight": "w", "thresholds": [0.5, 0.1, 0.5, 0.3, 0.0]}),
    Case("posterior_month", "p", {"by": {"month": MONTH, "segment": "segment"}, "resolution": 5}),
    Case("posterior_pos_label", "p", {"pos_label": "it's late", "thresholds": [math.inf, -math.inf, 1]}, "outcome"),
    Case("posterior_classes", "p", {"classes": ["on\\time", "it's late"], "weight": "w"}, "outcome"),
    Case("posterior_codes", "p", {"classes": (0, 1), "by": "segment"}, "code"),
    Case("posterior_number", "p", {"pos_label": 1.0}, "number"),
    Case("log_odds", "x", {"score_type": "log_odds", "thresholds": [0.1, -1.5, 0, math.inf, -math.inf]}),
    Case("log_odds_weighted", "x", {"score_type": "log_odds", "resolution": 100, "weight": "w", "by": ["segment"]}),
    Case("percent", "p", {"score_type": "percent", "thresholds": [0.5, 20]}),
    Case("llr", "x", {"score_type": "llr", "by": "segment", "thresholds": [2.5]}),
    Case("raw", "x", {"score_type": "raw", "thresholds": [-math.inf, 1e-300, 5e-324]}),
    Case("raw_weighted", "x", {"score_type": "raw", "weight": "w", "resolution": 3}),
]
CLUSTERS = [
    Case("clusters", "p", {"by": "segment", "cluster": "account", "buckets": 7, "thresholds": [0.3]}),
    Case("clusters_weighted", "p", {"cluster": "account", "weight": "w", "resolution": 24}),
    Case("clusters_log_odds", "x", {"cluster": "outcome", "score_type": "log_odds", "resolution": 12}),
    Case("clusters_raw", "x", {"cluster": "account", "score_type": "raw", "resolution": 16, "buckets": 1000}),
]
"""Cases with coarse cells below the cells."""


def make_log() -> pl.DataFrame:
    """Edges of bins and thresholds with their neighbours, NULL, NaN of both signs, infinities, subnormal numbers."""
    rng = np.random.default_rng(7)
    edges = np.concatenate([np.arange(-4100, 4101, 41) / 64, np.arange(-130, 131) / 64, [-64, 64]])
    special = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e-310, 1e-200, 1e-17, 0.1, 0.3, 0.5, 1.0]
    more = [1.5, -0.25, 2.5, -1.5, 40.0, -40.0, 710.0, -744.0, -746.0, 1e300, -1e300, -5e-324]
    x = np.concatenate([edges, special * 3, more * 3, rng.normal(0, 5, 2000), rng.normal(0, 0.001, 200)])
    x = np.concatenate([x, *(np.nextafter(x, np.where(np.isfinite(x), to, x)) for to in (math.inf, -math.inf))])
    p = np.concatenate([1 / (1 + np.exp(-np.clip(edges, -700, 40))), special * 3, more * 3, rng.beta(0.3, 0.7, 2200)])
    p = np.concatenate([p, np.nextafter(p, 1), np.nextafter(p, 0)])
    n = len(x)
    assert len(p) == n
    weights = [0.0, -0.0, 0.5, 1.0, 2.0, 3.7, 1e-3, 1e3, None, math.nan, -math.nan, -1.0, math.inf, -math.inf]
    often = [0.07] * 8 + [0.11] + [0.33 / 5] * 5

    def choose(values: Sequence[Any], shares: Sequence[float] | None = None) -> list[Any]:
        return [values[i] for i in rng.choice(len(values), n, p=shares)]

    return pl.DataFrame(
        {
            "ts": choose([datetime(2026, 1, 31, 23, 59), datetime(2026, 2, 1), datetime(2026, 12, 24, 12), None]),
            "segment": choose(["a", "B", "", None]),
            "p": [None if i % 97 == 0 else value for i, value in enumerate(p[rng.permutation(n)].tolist())],
            "x": [None if i % 89 == 0 else value for i, value in enumerate(x[rng.permutation(n)].tolist())],
            "w": choose(weights, often),
            "late": choose([True, False, None], [0.4, 0.55, 0.05]),
            "outcome": choose(["it's late", "on\\time", "Late", None], [0.4, 0.5, 0.05, 0.05]),
            "code": choose([0, 1, 2, -1, None], [0.4, 0.5, 0.04, 0.03, 0.03]),
            "number": choose([0.0, 1.0, 2.0, math.nan, None], [0.4, 0.5, 0.04, 0.03, 0.03]),
            "account": choose([*range(-30, 300), 2**40, None]),
        }
    )


def write_log(path: Path) -> Path:
    # Timestamps in microseconds, as Spark reads them.
    make_log().with_columns(pl.col("ts").cast(pl.Datetime("us"))).write_parquet(path)
    return path


def check(case: Case, log: pl.DataFrame, result: pl.DataFrame, least: float = 0.0) -> None:
    """The result of the query is the sketch of the log, but for rows within rounding of a bin's edge.

    Sums may be off by `least` where an engine takes products that underflow as 0.
    """
    if "cluster" in case.arguments:
        result = _check_coarse(case, log, result)
    keys = _keys(case)
    sums = () if case.score_type == "raw" else SUMS
    assert result.columns == [*keys, "class", "bin", "above", "n", *WEIGHTS, *sums]
    _check_cells(case, log, result, sums, least)


def _check_cells(case: Case, log: pl.DataFrame, result: pl.DataFrame, sums: Sequence[str], least: float = 0.0) -> None:
    keys = _keys(case)
    wanted = _rows(case, log)
    got: dict[Any, dict[Any, Any]] = defaultdict(dict)
    for row in result.rows(named=True):
        cell = (*(row[key] for key in keys), row["class"], row["above"])
        assert row["bin"] not in got[cell]
        got[cell][row["bin"]] = row
    assert set(got) == set(wanted)
    for cell, rows in wanted.items():
        _check_cell(rows, got[cell], sums, least)


def _check_coarse(case: Case, log: pl.DataFrame, result: pl.DataFrame) -> pl.DataFrame:
    """The cells of a result that has coarse cells too, which are the sketch of the usable rows by bucket."""
    assert result["table"].unique().sort().to_list() == ["cells", "coarse"]
    (hashed_by,) = result["hash"].unique()
    number, resolution = case.arguments.get("buckets", 100), min(8, case.resolution)
    hashed = plain_bucket if hashed_by == "murmur3" else _md5_bucket
    bucket = [hashed(key, number) for key in log[case.arguments["cluster"]]]
    keys, amounts = [*_keys(case), "bucket"], ["class", "bin", "above", "n", *WEIGHTS]
    plain = {name: value for name, value in case.arguments.items() if name not in ("cluster", "buckets")}
    of_coarse = Case(case.name, case.score, {**plain, "by": keys, "resolution": resolution}, case.label)
    coarse = result.filter(pl.col("table") == "coarse")
    assert all(coarse[name].null_count() == coarse.height for name in SUMS if name in coarse.columns)
    usable = [klass is not None and klass >= 0 for klass in _classes(case, log)]
    rows = log.with_columns(pl.Series("bucket", bucket, dtype=pl.Int64)).filter(pl.Series(usable))
    _check_cells(of_coarse, rows, coarse.select(*keys, *amounts), ())
    return result.filter(pl.col("table") == "cells").drop("table", "bucket", "hash")


def _md5_bucket(key: Any, buckets: int) -> int | None:
    if key is None:
        return None
    digits = hashlib.md5(str(key).encode()).hexdigest()[:6]
    return sum(int(digit, 16) * 16**i for i, digit in enumerate(digits)) % buckets


def _check_cell(rows: list[dict[str, Any]], bins: Mapping[Any, Any], sums: Sequence[str], least: float) -> None:
    """One group, class and rank; the bins of its rows, in order, and their sums."""
    assert sum(row["n"] for row in bins.values()) == len(rows)
    if rows[0]["low"] is None:
        assert list(bins) == [None]
        assert all(bins[None][name] == 0 for name in (*WEIGHTS, *sums))
        return
    low, high = (np.sort([row[name] for row in rows]) for name in ("low", "high"))
    assert None not in bins
    found = np.repeat(sorted(bins), [bins[b]["n"] for b in sorted(bins)])
    assert (low <= found).all()
    assert (found <= high).all()
    unsure = {b for row in rows if row["low"] != row["high"] for b in (row["low"], row["high"])}
    in_bin = defaultdict(list)
    for row in rows:
        in_bin[row["low"]].append(row)
    for b in set(bins) - unsure:
        _check_sums(in_bin[b], [bins[b]], sums, least)
    _check_sums(rows, list(bins.values()), sums, least)


def _check_sums(rows: list[dict[str, Any]], cells: list[Any], sums: Sequence[str], least: float) -> None:
    for name in (*WEIGHTS, *sums):
        terms = [row[name] for row in rows]
        got = math.fsum(cell[name] for cell in cells)
        allowed = 1e-12 * math.fsum(terms) + least
        assert abs(got - math.fsum(terms)) <= allowed, (name, got, math.fsum(terms), rows[:3])


def _keys(case: Case) -> list[str]:
    by = case.arguments.get("by", ())
    return [by] if isinstance(by, str) else list(by)


def _rows(case: Case, log: pl.DataFrame) -> dict[Any, list[dict[str, Any]]]:
    """Group, class and rank of every row, the bins it may be in, and what it adds to the sums."""
    log = log.with_columns(month=pl.col("ts").dt.date().dt.truncate("1mo"))
    cells = defaultdict(list)
    for row in log.rows(named=True):
        weight = row["w"] if "weight" in case.arguments else 1.0
        klass = _class(case, row[case.score], row[case.label], weight)
        usable = klass is not None and klass >= 0
        score = row[case.score]
        above = sum(score > t for t in set(case.arguments.get("thresholds", ()))) if usable else None
        cell = (*(row[key] for key in _keys(case)), klass, above)
        cells[cell].append(_values(case, score, klass, weight) if usable else {"low": None})
    return cells


def _classes(case: Case, log: pl.DataFrame) -> list[int | None]:
    weights = log["w"] if "weight" in case.arguments else [1.0] * log.height
    return [_class(case, *row) for row in zip(log[case.score], log[case.label], weights, strict=True)]


# The scores of a posterior of 1.
_UPPER = {"posterior": 1, "percent": 100}


def _class(case: Case, score: float | None, label: Any, weight: float | None) -> int | None:
    if score is None or label is None or weight is None:
        return None
    upper = _UPPER.get(case.score_type)
    if math.isnan(score) or not 0 <= weight < math.inf or (upper is not None and not 0 <= score <= upper):
        return -1
    if "classes" in case.arguments:
        values = list(case.arguments["classes"])
        return values.index(label) if label in values else -1
    if isinstance(label, float) and math.isnan(label):
        return -1
    return int(label == case.arguments.get("pos_label", True))


def _values(case: Case, score: float, y: int, weight: float) -> dict[str, Any]:
    if case.score_type == "raw":
        low, high = _raw_bins(score, case.resolution)
        return {"low": low, "high": high, "weight": weight, "weight2": weight**2}
    with np.errstate(all="ignore"):
        if case.score_type in _UPPER:
            score = score / _UPPER[case.score_type]
            log_odds = np.log(score) - np.log1p(-score)
            posterior, log_loss = score, -np.log(score) if y else -np.log1p(-score)
            error = score - y
        else:
            log_odds = score
            posterior, log_loss = np.exp(-np.logaddexp(0, -score)), np.logaddexp(0, -score if y else score)
            error = np.exp(-np.logaddexp(0, score if y else -score))
    low, high = _bins(float(log_odds), case.resolution, exact=case.score_type not in _UPPER and case.resolution == 64)
    infinite = math.isinf(log_odds)
    return {
        "low": low,
        "high": high,
        "weight": weight,
        "weight2": weight**2,
        "log_loss": 0.0 if infinite else weight * float(log_loss),
        "brier": weight * float(error) ** 2,
        "posterior": weight * float(posterior),
    }


def _bins(log_odds: float, resolution: int, *, exact: bool) -> tuple[int, int]:
    edge = 64 * resolution
    if math.isinf(log_odds):
        return (edge + 1, edge + 1) if log_odds > 0 else (-edge - 2, -edge - 2)
    near = 0 if exact else NEAR_EDGE
    low, high = (min(max(math.floor(log_odds * resolution + d), -edge - 1), edge) for d in (-near, near))
    return low, high


def _raw_bins(score: float, resolution: int) -> tuple[int, int]:
    offset = 746 * resolution + 1
    if score == 0 or math.isinf(score):
        only = 0 if score == 0 else int(math.copysign(2 * offset, score))
        return only, only
    size = resolution * math.log(abs(score))
    low, high = math.floor(size - NEAR_EDGE) + offset, math.floor(size + NEAR_EDGE) + offset
    return (low, high) if score > 0 else (-high, -low)
