"""The README is true: its Python runs, its SQL runs, its commands exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import duckdb
import pytest

import polars_ec as ec
from tests.support.cases import RANKING
from tests.test_contract import METRICS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_python_blocks() -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.attempted > 15
    assert result.failed == 0


@pytest.mark.parametrize("statement", re.findall(r"```sql\n(.*?)```", README, re.DOTALL))
def test_sql_blocks(statement: str) -> None:
    connection = duckdb.connect()
    ec.register(connection)
    connection.execute(
        "CREATE TABLE flights AS SELECT 'AA' AS carrier, i / 10 AS score, i % 3 = 0 AS late FROM range(10) AS r(i)"
    )
    row = connection.execute(statement).fetchone()
    assert row is not None
    assert None not in row


@pytest.mark.parametrize("database", [":memory:", "ec.duckdb"])
def test_the_query_for_the_macros(database: str, tmp_path: Path) -> None:
    """One row for each, with what there is to know."""
    connection = duckdb.connect(database if database == ":memory:" else tmp_path / database)
    ec.register(connection)
    (query,) = re.findall(r"```sql\n(SELECT DISTINCT function_name.*?)```", README, re.DOTALL)
    rows = connection.execute(query).fetchall()
    names = [name for name, _, _ in rows]
    assert names == sorted(set(names))
    assert {"nec", "brier", "auc_roc", "auc_roc_error", "fold", "sketch", "ranking_exact", "version"} <= set(names)
    assert len(names) == len(METRICS - {"min_expected_cost"}) + len(RANKING) - 1 + 5
    assert all(comment and ":" in comment for _, _, comment in rows)
    (parameters,) = (parameters for name, parameters, _ in rows if name == "net_benefit")
    assert parameters == ["score", "label", "p_t", "prior", "threshold", "score_type", "weight"]


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)\b", README.split("## Two commands")[1])) & targets >= {
        "demo",
        "test",
        "lint",
    }
    assert set(re.findall(r"`make ([a-z-]+)", README)) <= targets


def test_the_table_names_every_metric() -> None:
    table = README.split("## The metrics")[1].split("EC: L. Ferrer")[0]
    assert set(re.findall(r"`([a-z_0-9]+)(?:\(|`)", table)) >= METRICS
