"""The keywords of intervals: what they take, and the errors of what they do not."""

from __future__ import annotations

import re

import polars as pl
import pytest

from polars_ec.arguments.keywords import Request, parse_interval


def test_none_is_asked_for() -> None:
    assert parse_interval({}) is None
    assert parse_interval({"interval": None, "cluster": None, "buckets": 100, "cost_fn": 4}) is None


def test_defaults() -> None:
    assert parse_interval({"interval": 0.9}) == Request(0.9, None, 100, "influence", 1000, 0)


def test_all_keywords() -> None:
    request = parse_interval(
        {"interval": 0.5, "cluster": "user", "buckets": 20, "method": "bca", "replicates": 100, "seed": 7}
    )
    assert request is not None
    assert request.cluster is not None
    assert request.cluster.meta.eq(pl.col("user"))
    assert (request.buckets, request.method, request.replicates, request.seed) == (20, "bca", 100, 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 95}, "interval=95 is not a level between 0 and 1: pass 0.95"),
        ({"interval": 97.5}, "interval=97.5 is not a level between 0 and 1: pass 0.975"),
        ({"interval": 1}, "interval=1 is not a level between 0 and 1: pass 0.95"),
        ({"interval": 0.0}, "interval=0.0 is not a level between 0 and 1: pass 0.95"),
        ({"interval": float("nan")}, "interval=nan is not a level"),
        ({"interval": True}, "interval=True is not a level between 0 and 1: pass 0.95"),
        ({"interval": "0.95"}, "interval='0.95' is not a level"),
        ({"cluster": "user"}, "cluster='user' is an option of intervals: pass interval=0.95 too"),
        ({"cluster": pl.col("user")}, "is an option of intervals: pass interval=0.95 too"),
        ({"method": "bootstrap"}, "method='bootstrap' is an option of intervals: pass interval=0.95 too"),
        ({"seed": 1}, "seed=1 is an option of intervals"),
        ({"interval": 0.95, "buckets": 20}, "buckets=20 is the number of hash buckets of clusters: pass cluster="),
        ({"interval": 0.95, "cluster": "u", "buckets": 4}, "buckets=4 is not a whole number from 5 to 1000"),
        ({"interval": 0.95, "cluster": "u", "buckets": 1001}, "buckets=1001 is not a whole number from 5 to 1000"),
        ({"interval": 0.95, "cluster": "u", "buckets": True}, "buckets=True is not a whole number"),
        ({"interval": 0.95, "method": "jackknife"}, "method='jackknife' is none of influence, bootstrap, bca"),
        ({"interval": 0.95, "method": ["bca"]}, "method=['bca'] is none of"),
        ({"interval": 0.95, "method": "bootstrap", "replicates": 1}, "replicates=1 is not a whole number from 2"),
        ({"interval": 0.95, "method": "bca", "replicates": 99}, "replicates=99 is not a whole number from 100"),
        ({"interval": 0.95, "replicates": 99}, 'replicates=99 is for method="bootstrap" or "bca"'),
        ({"interval": 0.95, "seed": -1}, "seed=-1 is not a whole number from 0"),
    ],
)
def test_errors_name_the_value_and_the_way_out(options, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_interval(options)


def test_a_cluster_that_holds_values() -> None:
    with pytest.raises(TypeError, match="cluster= holds values"):
        parse_interval({"interval": 0.95, "cluster": [1, 2]})
