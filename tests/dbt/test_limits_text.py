"""Limits by the dbt macros in plain SQL: the text is that of ec.report_query, and the numbers are those of Polars."""

from __future__ import annotations

from typing import Any, get_args

import duckdb
import numpy as np
import pytest

import polars_ec as ec
from polars_ec.inference.confidence import normal_quantile, t_quantile
from polars_ec.output.dialects import WarehouseDialect
from tests.support.dbt_calls import macro_call, shape
from tests.support.dbt_text import CompileError, package
from tests.support.report_queries import COSTS_OF_ROWS_WITH_LIMITS, WITH_LIMITS, ReportCase, check, make_log
from tests.support.slow import mostly_slow

DIALECTS = get_args(WarehouseDialect)
CASES = [*WITH_LIMITS, *COSTS_OF_ROWS_WITH_LIMITS]
EVERY = [(case, dialect) for case in CASES for dialect in DIALECTS]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "dialect"), EVERY, ids=lambda value: getattr(value, "name", value))
def test_the_text_is_that_of_the_report_query(case: ReportCase, dialect: str) -> None:
    assert shape(macro_call(case, dialect), dialect) == shape(case.query(dialect), dialect)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["recall"], "interval": 0.95},
        pytest.param(
            {"metrics": ["nec", "tp", "nbs"], "interval": 0.5, "prior": 0.1, "weight": "w"}, marks=pytest.mark.slow
        ),
        pytest.param({"metrics": ["tn"], "interval": 0.9, "min_rows": 7}, marks=pytest.mark.slow),
        # Normal quantiles of 0 and infinity.
        pytest.param({"metrics": ["recall"], "interval": 1e-17}, marks=pytest.mark.slow),
        pytest.param({"metrics": ["recall"], "interval": 1 - 2**-53}, marks=pytest.mark.slow),
    ],
)
def test_texts_of_other_calls(options: dict[str, Any], dialect: str) -> None:
    text = package(dialect).report("log", "p", "y", by=["segment"], **options)
    assert shape(text, dialect) == shape(
        ec.report_query("log", "p", "y", by=["segment"], dialect=dialect, **options), dialect
    )


@pytest.mark.parametrize(
    "case", mostly_slow(CASES, [WITH_LIMITS[6], COSTS_OF_ROWS_WITH_LIMITS[4]]), ids=lambda case: case.name
)
@pytest.mark.slow
def test_plain_sql_in_duckdb(case: ReportCase) -> None:
    log = make_log()
    check(case, log, duckdb.sql(macro_call(case, "duckdb")).pl())


def test_normal_quantiles_are_those_of_python() -> None:
    """In the middle, beyond, and far out."""
    for p in (0.500001, 0.6, 0.9, 0.925, 0.95, 0.975, 0.995, 0.9999999, 1 - 2**-36, 1 - 2**-40, 1 - 2**-53):
        assert package("duckdb").normal_quantile(p) == pytest.approx(float(normal_quantile(p)), rel=1e-15, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.1, 0.8123, 0.99, 1 - 1e-7])
def test_quantiles_of_t_are_those_of_python(level: float) -> None:
    """The polynomial that Jinja works out, put together as the levels of the query do."""
    degrees = np.array([1, 1.5, 3, 28.25, 1e4, 1e12])
    numbers = package("duckdb").numbers_of_level(level)
    powers = [numbers[f"power_{i}"] for i in range(23)]
    w = numbers["twice_shifted"] / (degrees + numbers["shift"]) - 1
    z = numbers["normal"] * np.polyval(powers, w)
    t = np.sqrt(degrees * np.expm1(z * z / degrees))
    assert t == pytest.approx(t_quantile(0.5 + level / 2, degrees), rel=1e-10)


def test_clusters_need_the_macros() -> None:
    with pytest.raises(
        CompileError, match=r"cluster=user: intervals with clusters .* polars_ec.report_query\(cluster=...\)"
    ):
        package("trino").report("log", "p", "y", interval=0.95, cluster="user")
