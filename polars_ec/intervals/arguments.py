"""The keywords of intervals, checked: errors name the value and the way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import polars as pl

from polars_ec.arguments import as_expr, parse_whole
from polars_ec.options import DEFAULTS
from polars_ec.typing import IntervalMethod

FEWEST_BUCKETS, MOST_BUCKETS = 5, 1000
"""Of fewer buckets than this no variance is known; and as many as `bucket` deals keys out to."""

FEW_OF_A_CLASS = 10
"""A group with fewer rows of a class than this is small: its limits mean little."""

INTERVAL_KEYWORDS = ("interval", "cluster", "buckets", "method", "replicates", "seed")
_FEWEST_REPLICATES: Mapping[str, int] = {"bootstrap": 2, "bca": 100}


@dataclass(frozen=True)
class Request:
    """The intervals that a call asks for: their level, whether rows come in clusters, and how they are made."""

    level: float
    cluster: pl.Expr | None
    buckets: int
    method: IntervalMethod
    replicates: int
    seed: int

    @property
    def is_drawn(self) -> bool:
        """Whether rows or clusters are drawn anew."""
        return self.method != "influence"


def parse_interval(options: Mapping[str, Any]) -> Request | None:
    """Check the keywords of intervals among others; what is left out has its default. None: no interval is asked for."""
    given = {name: options.get(name, DEFAULTS[name]) for name in INTERVAL_KEYWORDS}
    method, replicates = _method(given["method"]), given["replicates"]
    fewest = _FEWEST_REPLICATES.get(method, 2)
    parse_whole(replicates, "replicates", fewest, way_out=' (method="bca" needs 100)' if fewest > 2 else "")
    if method == "influence" and replicates != DEFAULTS["replicates"]:
        raise ValueError(f'replicates={replicates!r} are of method="bootstrap" or "bca": pass it, or leave them out')
    cluster, buckets = given["cluster"], parse_whole(given["buckets"], "buckets", FEWEST_BUCKETS, MOST_BUCKETS)
    if cluster is None and buckets != DEFAULTS["buckets"]:
        raise ValueError(
            f"buckets={buckets} is how many parts clusters are dealt out to: pass cluster=, or leave it out"
        )
    if given["interval"] is None:
        for name in INTERVAL_KEYWORDS:
            if _differs(given[name], DEFAULTS[name]):
                shown = str(given[name]) if isinstance(given[name], pl.Expr) else repr(given[name])
                raise ValueError(f"{name}={shown} says how intervals are made: pass interval=0.95 too, or leave it out")
        return None
    return Request(
        level=parse_level(given["interval"]),
        cluster=None if cluster is None else as_expr(cluster, "cluster"),
        buckets=buckets,
        method=method,
        replicates=int(replicates),
        seed=parse_whole(given["seed"], "seed", 0),
    )


def parse_level(interval: Any) -> float:
    """The level of an interval: how often it holds what it is of."""
    if isinstance(interval, bool | str | pl.Expr) or not hasattr(interval, "__float__") or not 0 < float(interval) < 1:
        percent = not isinstance(interval, bool) and isinstance(interval, int | float) and 1 < interval < 100
        way_out = f"{interval / 100:g}" if percent else "0.95"
        raise ValueError(f"interval={interval!r} is not a level between 0 and 1: pass {way_out}")
    return float(interval)


def _method(method: Any) -> IntervalMethod:
    for name in get_args(IntervalMethod):
        if isinstance(method, str) and method == name:
            return name  # type: ignore[no-any-return]
    raise ValueError(f"method={method!r} is none of {', '.join(get_args(IntervalMethod))}")


def _differs(value: Any, default: Any) -> bool:
    # An expression compared is an expression.
    return value is not None if default is None else value != default
