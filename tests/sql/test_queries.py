"""Metrics wherever SQL takes an expression: HAVING, ORDER BY, windows; and the ways round where it takes none."""

from __future__ import annotations

import math

import duckdb
import pytest

from tests.support.cases import one_of_each_family
from tests.support.database import needs_duckdb_2
from tests.support.macro_calls import AGGREGATES, LOG, ROWS


@pytest.fixture(scope="module", autouse=True)
def log_in_sql(connection) -> None:
    connection.execute(LOG)


def test_every_macro_is_called(connection) -> None:
    names = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE schema_name = 'ec' AND NOT starts_with(function_name, '_')"
    ).fetchall()
    assert {name for (name,) in names} == {
        *AGGREGATES,
        *ROWS,
        "version",
        "sketch",
        "ranking_exact",
        "report",
        "capacity",
    }


# All calls of one metric, or, where they take long to plan, one of a number and one of a list.
CALLS_IN_HAVING = {
    name: [*calls[:1], *[call for call in calls if "(v, " in call][:1]] if name in ("ece", "ece_mc", "epsr") else calls
    for name, calls in AGGREGATES.items()
}


@pytest.mark.quick("auc_roc", "n_rows")
@pytest.mark.parametrize("name", one_of_each_family(sorted(AGGREGATES)))
def test_having(name: str, connection) -> None:
    """The groups whose values are those of group b: by their texts, for they may be structs or lists."""
    texts = [f"CAST({call} AS VARCHAR)" for call in CALLS_IN_HAVING[name]]
    rows = connection.execute(f"SELECT g, {', '.join(texts)} FROM log GROUP BY g ORDER BY g").fetchall()
    (_, *a), (_, *b) = rows
    assert None not in a + b
    query = f"SELECT g FROM log GROUP BY g HAVING {' AND '.join(f'{text} = ?' for text in texts)} ORDER BY g"
    assert connection.execute(query, b).fetchall() == ([("a",), ("b",)] if a == b else [("b",)])


def nec(rows: list[tuple[bool, float]], threshold: float = 0.5) -> float:
    """At equal costs, in plain Python."""
    positive = sum(label for label, _ in rows)
    errors = sum((score > threshold) != label for label, score in rows)
    return errors / min(positive, len(rows) - positive)


GROUPS = {
    "a": [(True, 0.9), (True, 0.45), (False, 0.7), (False, 0.1), (False, 0.2)],
    "b": [(True, 0.6), (True, 0.8), (False, 0.4), (False, 0.55)],
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g FROM log GROUP BY g HAVING ec.nec(p, y) > 0.6",
        "SELECT g FROM log GROUP BY g ORDER BY ec.nec(p, y) DESC LIMIT 1",
        "SELECT g FROM (SELECT g, ec.nec(p, y) AS nec FROM log GROUP BY g) WHERE nec > 0.6",
        "SELECT g FROM (SELECT g, ec.nec(p, y) AS nec FROM log GROUP BY g) QUALIFY row_number() OVER (ORDER BY nec DESC) = 1",
        "SELECT g FROM log GROUP BY g HAVING ec.nec(p, y) > (SELECT ec.nec(p, y) FROM log)",
    ],
)
def test_the_worst_group(query: str, connection) -> None:
    assert nec(GROUPS["a"]) > 0.6 > nec(GROUPS["b"])
    assert connection.execute(query).fetchall() == [("a",)]


def test_in_a_row_of_windows(connection) -> None:
    query = "SELECT g, max(ec.nec(p, y)) OVER (), rank() OVER (ORDER BY g), ec.nec(p, y) FROM log GROUP BY g ORDER BY g"
    a, b = nec(GROUPS["a"]), nec(GROUPS["b"])
    assert connection.execute(query).fetchall() == [("a", a, 1, a), ("b", a, 2, b)]


def test_grouping_sets(connection) -> None:
    query = "SELECT g, ec.nec(p, y) FROM log GROUP BY ROLLUP (g) ORDER BY g NULLS LAST"
    found = connection.execute(query).fetchall()
    expected = [*((g, nec(rows)) for g, rows in GROUPS.items()), (None, nec(GROUPS["a"] + GROUPS["b"]))]
    assert [g for g, _ in found] == [g for g, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], rel=1e-12)


# What DuckDB does not take, and the way round that README names.
IMPOSSIBLE = [
    ("SELECT ec.nec(p, y) FILTER (WHERE p < 0.6) FROM log", "FILTER"),
    ("SELECT ec.nec(p, y) OVER (PARTITION BY g) FROM log", "exactly one aggregate|macros must be functions"),
    pytest.param(
        "SELECT g FROM log GROUP BY g QUALIFY rank() OVER (ORDER BY ec.nec(p, y)) = 1", "volatile", marks=needs_duckdb_2
    ),
    ("SELECT g, ec.nec(p, y) AS nec FROM log GROUP BY g HAVING nec > 0.6", "side effects"),
]


@pytest.mark.parametrize(("query", "message"), IMPOSSIBLE)
def test_what_is_impossible_is_an_error(query: str, message: str, connection) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(query)


def test_instead_of_filter(connection) -> None:
    """CASE within the argument makes rows missing."""
    rows = [row for group in GROUPS.values() for row in group if row[1] < 0.6]
    query = "SELECT ec.nec(CASE WHEN p < 0.6 THEN p END, y), ec.n_rows(CASE WHEN p < 0.6 THEN p END, y) FROM log"
    assert connection.execute(query).fetchall() == [(nec(rows), len(rows))]
    of_lists = "SELECT ec.nec(CASE WHEN p < 0.6 THEN v END, y) FROM log"
    assert connection.execute(of_lists).fetchone()[0] == pytest.approx(nec(rows), rel=1e-12)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, p, nec FROM log JOIN (SELECT g, ec.nec(p, y) AS nec FROM log GROUP BY g) USING (g)",
        "SELECT g, p, (SELECT ec.nec(i.p, i.y) FROM log AS i WHERE i.g = o.g) AS nec FROM log AS o",
    ],
)
def test_instead_of_over(query: str, connection) -> None:
    found = connection.execute(query).fetchall()
    assert len(found) == 11
    assert all(math.isclose(value, nec(GROUPS[g]), rel_tol=1e-12) for g, _, value in found)
