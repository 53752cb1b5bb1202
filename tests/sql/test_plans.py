"""How much text a metric makes of its arguments, and which sums metrics share: what the time for planning, and for rows, follows."""

from __future__ import annotations

import pytest

from tests.support.database import needs_duckdb_2

pytestmark = needs_duckdb_2

# Marks every place of the plan that holds the score.
MARK = "0.98765"
LOG = "(SELECT i / 10 AS p, i % 2 AS y, [1 - i / 10, i / 10] AS v FROM range(10) AS r(i)) AS log"
NUMBER = f"p * CAST({MARK} AS DOUBLE)"
LIST = f"list_transform(v, lambda x: x + CAST({MARK} AS DOUBLE))"


def plan(connection, call: str, stage: str) -> str:
    connection.execute("SET explain_output = 'all'")
    try:
        stages = connection.execute(f"EXPLAIN (FORMAT json) SELECT {call} FROM {LOG}").fetchall()
    finally:
        connection.execute("RESET explain_output")
    return dict(stages)[stage]


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (f"ec.nec({NUMBER}, y)", 20),
        (f"ec.nec({NUMBER}, y, prior := 0.3)", 20),
        (f"ec.nec({NUMBER}, y, weight := p)", 20),
        (f"ec.nce({NUMBER}, y)", 20),
        (f"ec.shift_prior({NUMBER}, 0.2, 0.4)", 2),
        (f"ec.shift_prior(ec.shift_prior({NUMBER}, 0.2, 0.4), 0.4, 0.3)", 2),
        (f"ec.nec(ec.shift_prior({NUMBER}, 0.2, 0.4), y)", 20),
        (f"ec.nec({LIST}, y)", 4),
        (f"ec.nce({LIST}, y)", 4),
        (f"ec.nbs({LIST}, y)", 4),
        (f"ec.nec(ec.shift_prior({LIST}, [0.8, 0.2], [0.6, 0.4]), y)", 4),
        (f"ec.nce(ec.shift_prior({LIST}, [0.8, 0.2], [0.6, 0.4]), y)", 4),
    ],
)
def test_a_score_is_copied_a_few_times(call: str, most: int, connection) -> None:
    assert 1 <= plan(connection, call, "logical_plan").count(MARK) <= most


@pytest.mark.quick("ec.nec(v*")
@pytest.mark.parametrize(
    ("one", "other", "aggregates", "stage"),
    [
        ("ec.nec(v, y)", "ec.error_rate(v, y)", ("histogram",), "logical_plan"),
        (
            "ec.nec(ec.shift_prior(p, 0.2, 0.4), y)",
            "ec.precision(ec.shift_prior(p, 0.2, 0.4), y)",
            ("count_if", "count_star"),
            "logical_opt",
        ),
    ],
)
def test_metrics_share_their_counts(one: str, other: str, aggregates: tuple[str, ...], stage: str, connection) -> None:
    """A metric beside another one counts nothing that the first has counted already."""

    def counted(call: str) -> int:
        return sum(plan(connection, call, stage).count(f"{name}(") for name in aggregates)

    assert counted(f"{one}, {other}") == counted(one) > 0


def test_a_report_groups_twice_and_ranks_nothing(connection) -> None:
    """Rows by group and class, then by group: to number a million groups, and to group them again, takes as long as the rows do."""
    connection.execute(f"CREATE TEMP TABLE rows_by_key AS FROM {LOG}")
    query = "EXPLAIN FROM ec.report('rows_by_key', p, y, groups := ['v'])"
    text = dict(connection.execute(query).fetchall())["physical_plan"].lower()
    assert ("window" in text, text.count("group by")) == (False, 2)
