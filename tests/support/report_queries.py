"""Calls of report_query on a log of hostile groups, and what Polars makes of the same: for every engine that runs the query."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.formulas.decisions import DECISIONS, interval_scale
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.reports.models import METRICS
from polars_ec.sql.report_query import report_query
from tests.support.warehouse_cases import MONTH, MONTH_IN

OF_DECISIONS = [name for name in DECISIONS if name in METRICS]
LOSSES = list(SCORING_RULES)
OF_COSTS = ["nec", "expected_cost", "bayes_risk"]
ALL = [*OF_DECISIONS, *LOSSES]
OF_THRESHOLDS = [name for name in ALL if name != "bayes_risk"]
OF_DECIDED = [name for name in OF_DECISIONS if name != "bayes_risk"]
TOLERANCE = 1e-9
# Of the distance of limits. Slopes are differences of 1e-4 of a sum, so that rounding leaves 1e-12 of what a metric is; the exponential of a
# scale makes more of it.
OF_LIMITS = 1e-8
# A share that lacks x of 1 moves by 1e-4 x at most, of which rounding leaves 1e-12 / x. In group "often" x is 5e-6 and more; by exact
# arithmetic each of the engines is off by its own rounding, and none by its formula.
NEAR, OF_LIMITS_NEAR = 1e-4, 1e-6
# The variance of losses that are all alike is what rounding leaves of squares, 1e-16 of the square of a value and more where one row has
# nearly all weight: its root is the width.
ALIKE = 3e-5
TABLE = (
    "CREATE TEMP TABLE log (segment text, ts timestamp, late boolean, outcome text, code integer, p double precision, x double precision, "
    "d double precision, w double precision, a double precision, k bigint)"
)


@dataclass(frozen=True)
class ReportCase:
    """One call of report_query on the log, and of the report."""

    name: str
    score: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    label: str = "late"
    segment: str | None = None
    """Whose rows alone are the log."""

    def query(self, dialect: str, table: str = "log") -> str:
        arguments = dict(self.arguments)
        if self.segment is not None:
            table = f"(SELECT * FROM {table} WHERE segment = '{self.segment}') AS rows_of_one"
        if "month" in self.keys:
            arguments["by"] = {"segment": "segment", "month": MONTH_IN.get(dialect, MONTH)}
        return report_query(table, self.score, self.label, dialect=dialect, **arguments)

    @property
    def keys(self) -> list[str]:
        by = self.arguments.get("by", [])
        return [by] if isinstance(by, str) else list(by)

    def wanted(self, log: pl.DataFrame) -> pl.DataFrame:
        if self.segment is not None:
            log = log.filter(segment=self.segment)
        month = pl.col("ts").dt.date().dt.truncate("1mo")
        # Of a lazy log, which says nothing of the groups that are null on purpose.
        return log.lazy().with_columns(month=month).ec.report(self.score, self.label, **self.arguments).collect()


CASES = [
    ReportCase("usual", "p", {"by": "segment"}),
    ReportCase("all", "p", {"by": ["segment"], "metrics": ALL, "prior": 0.1, "cost_fn": 5, "cost_fp": 0.5}),
    ReportCase("weighted", "p", {"by": ["segment"], "metrics": OF_THRESHOLDS, "weight": "w", "prior": [0.3, 0.7], "threshold": 0.3}),
    ReportCase("weighted_usual", "p", {"by": "segment", "weight": "w", "prior": {False: 0.25, True: 0.75}}),
    ReportCase("month", "p", {"by": ["segment", "month"], "pos_label": "it's late", "prior": "uniform"}, "outcome"),
    ReportCase("classes", "p", {"by": "segment", "classes": ["on\\time", "it's late"], "metrics": ALL, "weight": "w"}, "outcome"),
    ReportCase("codes", "p", {"classes": (0, 1), "prior": 0.5}, "code", "plain"),
    ReportCase("no_rows", "p", {"metrics": ALL, "prior": 0.5, "weight": "w"}, segment="nobody"),
    ReportCase("no_costs", "p", {"by": "segment", "metrics": ALL, "cost_fn": 0, "cost_fp": 0, "prior": 1}),
    ReportCase("all_positive", "p", {"by": "segment", "metrics": OF_THRESHOLDS, "threshold": -math.inf, "prior": 0}),
    ReportCase("all_negative", "x", {"by": "segment", "metrics": OF_DECIDED, "threshold": math.inf, "score_type": "llr"}),
    ReportCase("log_odds", "x", {"by": "segment", "metrics": ALL, "score_type": "log_odds", "weight": "w", "cost_fp": 3}),
    ReportCase("llr", "x", {"by": "segment", "metrics": ALL, "score_type": "llr", "prior": 0.3, "cost_fn": 2}),
    ReportCase("llr_threshold", "x", {"by": "segment", "score_type": "llr", "prior": 1e-9, "threshold": 1.5, "weight": "w"}),
    ReportCase("llr_certain", "x", {"by": "segment", "metrics": ALL, "score_type": "llr", "prior": 1}),
    ReportCase("llr_impossible", "x", {"by": "segment", "metrics": ALL, "score_type": "llr", "prior": 0.0, "cost_fp": 0}),
    ReportCase("decision", "d", {"by": "segment", "metrics": OF_DECIDED, "score_type": "decision", "prior": 0.2, "cost_fn": 7}),
    ReportCase("decision_usual", "d", {"by": "segment", "score_type": "decision", "weight": "w"}),
]  # fmt: skip

COSTS_OF_ROWS = [
    ReportCase("costs_of_rows", "p", {"by": "segment", "metrics": ALL, "prior": 0.1, "cost_fn": "a", "cost_fp": 2}),
    ReportCase("costs_of_rows_weighted", "x", {"by": "segment", "metrics": [*OF_COSTS, "brier"], "cost_fn": 0.5, "cost_fp": "a", "weight": "w", "score_type": "log_odds"}),
    ReportCase("costs_of_rows_llr", "x", {"by": "segment", "metrics": OF_COSTS, "score_type": "llr", "prior": 0.3, "cost_fn": "a"}),
    ReportCase("costs_of_rows_decided", "d", {"by": "segment", "metrics": ["nec", "tp"], "score_type": "decision", "cost_fp": "a"}),
    ReportCase("costs_of_rows_threshold", "p", {"by": "segment", "metrics": ["nec"], "threshold": 0.3, "cost_fn": "a", "cost_fp": "a"}),
]  # fmt: skip
"""Costs of each row."""


def _with_limits(cases: Sequence[ReportCase]) -> list[ReportCase]:
    return [
        replace(case, name=f"{case.name}_limits", arguments={**case.arguments, "interval": level, "min_rows": 20})
        for case, level in zip(cases, itertools.cycle((0.95, 0.9, 0.99)), strict=False)
    ]


WITH_LIMITS = _with_limits(CASES)
"""The same with limits, of whose quantiles some are summed in the middle and some in the tail."""

COSTS_OF_ROWS_WITH_LIMITS = _with_limits(COSTS_OF_ROWS)

OF_CLUSTERS = _with_limits([
    ReportCase("clusters", "p", {"by": "segment", "metrics": ALL, "prior": 0.1, "cluster": "k"}),
    ReportCase("clusters_weighted", "x", {"by": "segment", "weight": "w", "score_type": "log_odds", "cluster": "k", "threshold": 0.2}),
    ReportCase("clusters_costs_of_rows", "p", {"by": "segment", "metrics": [*OF_COSTS, "nce", "f1"], "prior": 0.3, "cost_fn": "a", "cost_fp": 2, "weight": "w", "cluster": "k"}),
    ReportCase("clusters_codes", "p", {"classes": (0, 1), "prior": 0.5, "cluster": "k"}, "code", "plain"),
    ReportCase("clusters_no_rows", "p", {"metrics": ALL, "prior": 0.5, "cluster": "k"}, segment="nobody"),
])  # fmt: skip
"""Rows in clusters, no two of which are in one bucket of the report."""

EVERY = [*CASES, *COSTS_OF_ROWS, *WITH_LIMITS, *COSTS_OF_ROWS_WITH_LIMITS, *OF_CLUSTERS]
# Of the first whole numbers one for each bucket.
KEYS = pl.DataFrame({"k": range(300)}).unique(ec.bucket("k"), keep="first", maintain_order=True)["k"].to_numpy()


def make_log() -> pl.DataFrame:
    """Groups that go wrong in one way each."""
    return pl.concat(list(_groups(np.random.default_rng(3))))


def _groups(rng: np.random.Generator) -> Iterator[pl.DataFrame]:
    def group(segment: str | None, n: int, share: float = 0.4, **columns: Any) -> pl.DataFrame:
        late = rng.random(n) < share
        x = rng.normal(np.where(late, 1.5, -1.5), 2)
        frame = pl.DataFrame({"late": late, "x": x, "w": rng.choice([0.0, 0.5, 1.0, 2.0, 1e-3, 1e3, 3.7], n)})
        frame = frame.with_columns(p=1 / (1 + (-pl.col("x")).exp()), d=(pl.col("x") > 0).cast(pl.Float64))
        frame = frame.with_columns(**{name: pl.Series(name, values, strict=False) for name, values in columns.items()})
        late = pl.col("late")
        return frame.select(
            pl.lit(segment, dtype=pl.String).alias("segment"),
            pl.datetime(2026, pl.int_range(n) % 3 + 1, 28, 23).alias("ts"),
            "late",
            pl.when(late).then(pl.lit("it's late")).when(~late).then(pl.lit("on\\time")).alias("outcome"),
            late.cast(pl.Int32).alias("code"),
            pl.col("p", "x", "d", "w").cast(pl.Float64),
            pl.Series("a", columns.get("a", (np.arange(n) * 7 % 13) ** 2 / 4), pl.Float64),
            # Some rows have no cluster, so each is its own.
            pl.when(pl.int_range(n) % 11 > 0)
            .then(pl.Series(KEYS[np.random.default_rng(n).integers(0, 40, n)]))
            .alias("k"),
        )

    def some(n: int, values: list[Any], plain: float = 0.5) -> list[Any]:
        return [*values, *[plain] * (n - len(values))]

    nan, inf = math.nan, math.inf
    yield group("plain", 300)
    yield group(None, 50)
    yield group(
        "missing",
        40,
        p=some(40, [None, 0.3]),
        x=some(40, [None, 1.0]),
        d=some(40, [None], 1.0),
        w=some(40, [1.0, None]),
    )
    yield group("missing only", 4, p=[None] * 4, x=[None] * 4, d=[None] * 4)
    yield group("missing labels", 4, late=[None, None, True, False])
    for name, value in {"NaN": nan, "-NaN": -nan, "beyond": 1.5, "negative": -5e-324, "inf": inf, "-inf": -inf}.items():
        yield group(name, 20, p=some(20, [value]), x=some(20, [value]), d=some(20, [value], 1.0))
    for value in (nan, inf, -1.0, -0.0):
        yield group(f"weight {value}", 20, w=some(20, [value], 1.0))
    yield group("weights of 0", 12, w=[0.0] * 12)
    yield group(
        "wrong beside missing", 6, p=[nan, 0.5, 0.5, 0.2, 0.7, 0.9], late=[None, True, False, True, False, False]
    )
    yield group("positive", 9, share=2.0)
    yield group("negative class", 9, share=-1.0)
    yield group("rare", 4000, late=some(4000, [True], False))
    yield group("often", 4000, late=some(4000, [False], True))
    yield group("decided alike", 20, p=[0.1] * 20, x=[-3.0] * 20, d=[0.0] * 20)
    yield group(
        "right",
        4,
        late=[True, True, False, False],
        p=[1.0, 0.9, 0.0, 0.2],
        x=[inf, 3.0, -inf, -2.0],
        d=[1.0, 1.0, 0.0, 0.0],
    )
    yield group(
        "all wrong",
        4,
        late=[True, True, False, False],
        p=[0.0, 0.1, 1.0, 0.8],
        x=[-inf, -3.0, inf, 2.0],
        d=[0.0, 0.0, 1.0, 1.0],
    )
    yield group(
        "wrong of weight 0",
        4,
        late=[True, True, False, False],
        p=[0.0, 0.9, 1.0, 0.2],
        x=[-inf, 3.0, inf, 2.0],
        w=[0.0, 1.0, 0.0, 2.0],
    )
    small = [5e-324, 1e-310, 1e-300, 1e-200, 1e-160, 1e-100, 1e-60, 1e-17]
    yield group(
        "small",
        16,
        late=[True, False] * 8,
        p=small * 2,
        x=[-740.0, 740.0, -746.0, 746.0, 40.0, -40.0, 1e300, -1e300] * 2,
    )
    near = [
        1 - 2.0**-53,
        1 - 2.0**-52,
        0.5,
        math.nextafter(0.5, 1),
        math.nextafter(0.5, 0),
        0.3,
        math.nextafter(0.3, 1),
        1 / 11,
    ]
    yield group(
        "near",
        16,
        late=[True, False] * 8,
        p=near * 2,
        x=[1.5, math.nextafter(1.5, 2), 0.0, -0.0, 1e-17, 5e-324, -5e-324, -1e-17] * 2,
    )
    yield group("light", 40, w=[1e-40, 1e-30, 1e-20, 1.0] * 10)
    for value in (nan, inf, -1.0, None):
        yield group(f"cost {value}", 20, a=some(20, [value], 1.0))
    yield group("costs of 0", 20, a=[0.0] * 20)


def write_log(path: Path) -> Path:
    # Timestamps in microseconds, as Spark reads them.
    make_log().with_columns(pl.col("ts").cast(pl.Datetime("us"))).write_parquet(path)
    return path


def check(case: ReportCase, log: pl.DataFrame, result: pl.DataFrame, least: float = 0.0) -> None:
    """The result of the query is the report of Polars, in another order.

    Values below `least` may have no limits, where an engine makes an error of products that underflow.
    """
    wanted = case.wanted(log)
    assert result.columns == wanted.columns
    counts = [name for name in wanted.columns if wanted.schema[name] == pl.Int64]
    assert all(result.schema[name] == pl.Int64 for name in counts)
    by_key = {tuple(row[key] for key in case.keys): row for row in result.rows(named=True)}
    assert len(by_key) == result.height == wanted.height
    for row in wanted.rows(named=True):
        got = by_key[tuple(row[key] for key in case.keys)]
        for name, value in row.items():
            shown = row.get("segment"), name, got[name], value
            metric = re.sub("_ci_(low|high)$", "", name)
            lacks = metric != name and got[name] is None and row[metric] is not None and abs(row[metric]) < least
            assert lacks or _is_close(got[name], value) or _are_close_limits(metric, name, got, row), shown


def _is_close(got: Any, value: Any) -> bool:
    if not isinstance(value, float) or got is None:
        return got is value or got == value
    return math.isclose(got, value, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _are_close_limits(metric: str, name: str, got: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Limits are as close as rounding makes them."""
    if metric == name or wanted[name] is None:
        return False
    widths = [row[f"{metric}_ci_high"] - row[f"{metric}_ci_low"] for row in (got, wanted) if row[name] is not None]
    formula = metric.removesuffix("_at_prior")
    if formula in LOSSES and max(widths) <= ALIKE * abs(wanted[metric]):
        # Here one of them may see that losses are all alike, so that there are no limits.
        return True
    if got[name] is None:
        return False
    is_near = interval_scale(formula) in ("logit", "atanh") and wanted[metric] > 1 - NEAR
    return abs(got[name] - wanted[name]) <= (OF_LIMITS_NEAR if is_near else OF_LIMITS) * widths[1]
