"""The integration project of the dbt package, run by dbt: its models hold what Polars makes of the same seeds. Run by `make test-dbt`."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from tests.support.dbt_project import SCHEMA, Project, scores
from tests.support.dbt_sketches import MODELS as SKETCHES
from tests.support.report_queries import ALL

pytestmark = pytest.mark.dbt

BY = {"by": ["segment"]}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "usual": ("p", "late", BY),
    "every_metric": ("p", "late", {**BY, "metrics": ALL, "prior": 0.1, "cost_fn": 5, "cost_fp": 0.5}),
    "weighted": ("p", "late", {**BY, "weight": "w", "prior": [0.3, 0.7], "threshold": 0.3}),
    "by_month": (
        "p",
        "outcome",
        {"by": ["segment", "month"], "pos_label": "it's late", "prior": "uniform", "min_rows": 20},
    ),
    "named_classes": ("p", "outcome", {**BY, "classes": ["on\\time", "it's late"], "weight": "w"}),
    "codes": ("p", "code", {**BY, "classes": [0, 1], "metrics": ["nec", "nbs"]}),
    "positive_code": ("p", "code", {**BY, "classes": [1, 0], "metrics": ["nec", "brier"]}),
    "log_odds": ("x", "late", {**BY, "score_type": "log_odds", "weight": "w", "cost_fp": 3}),
    "llr": ("x", "late", {**BY, "score_type": "llr", "prior": 0.3, "cost_fn": 2}),
    "llr_threshold": ("x", "late", {**BY, "metrics": ["recall", "mcc"], "score_type": "llr", "threshold": 1.5}),
    "decisions": ("d", "late", {**BY, "score_type": "decision", "prior": 0.2, "cost_fn": 7}),
    "limits": (
        "p",
        "late",
        {
            **BY,
            "interval": 0.95,
            "prior": 0.2,
            "weight": "w",
            "min_rows": 20,
            "metrics": ["nec", "recall", "nce", "nbs"],
        },
    ),
    "costs_of_rows": (
        "p",
        "late",
        {
            **BY,
            "metrics": ["nec", "expected_cost", "recall"],
            "cost_fn": 1 + 2 * pl.col("p"),
            "cost_fp": 2,
            "interval": 0.9,
            "prior": 0.2,
        },
    ),
    "no_rows": ("p", "late", {"metrics": ["nec", "nce"]}),
}
ONLY_BY_MACROS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "intervals": (
        "p",
        "late",
        {
            **BY,
            "cost_fn": 5,
            "prior": 0.2,
            "total": True,
            "interval": 0.9,
            "cluster": pl.col("ts").dt.month(),
            "buckets": 7,
        },
    )
}


def assert_equal(found: pl.DataFrame, wanted: pl.DataFrame, keys: list[str]) -> None:
    """All values, by the groups; rows come in any order."""
    assert found.columns == wanted.columns
    by_key = {tuple(row[key] for key in keys): row for row in found.rows(named=True)}
    assert len(by_key) == found.height == wanted.height
    for row in wanted.rows(named=True):
        got = by_key[tuple(row[key] for key in keys)]
        for name, value in row.items():
            same = got[name] == value
            if isinstance(value, float) and got[name] is not None:
                # Limits are as close as finite differences make them.
                tolerance = 1e-6 if "_ci_" in name else 1e-9
                same = math.isclose(got[name], value, rel_tol=tolerance, abs_tol=tolerance)
            assert same, (row, name, got[name], value)


def test_models(project: Project) -> None:
    models = MODELS | (ONLY_BY_MACROS if project.engine == "duckdb" else {})
    built = {name for name, node in project.results().items() if node["unique_id"].startswith("model.")}
    assert built - set(SKETCHES) == set(models)
    for name, (score, label, options) in models.items():
        log = scores().clear() if name == "no_rows" else scores()
        wanted = log.lazy().ec.report(score, label, **options).collect()
        assert_equal(project.table(name), wanted, [*options.get("by", []), *(["total"] if "total" in options else [])])


def report(where: pl.Expr | bool = True, score: str = "p", label: str = "late", **options: Any) -> pl.DataFrame:
    return scores().lazy().filter(where).ec.report(score, label, **{**BY, **options}).collect()


def failures() -> dict[str, pl.DataFrame]:
    """The groups that the tests are to name, by their rules in Polars."""
    null, value = pl.col("nec").is_null(), pl.col("nec")
    of_llr = {"score": "x", "score_type": "llr", "prior": 0.3, "metrics": ["cross_entropy"]}
    of_codes = {"label": "code", "classes": [0, 1], "threshold": 0.6, "metrics": ["recall"]}
    return {
        "fails_nec_of_groups": report().filter(value > 0.4),
        "fails_nec_of_nulls": report(weight="w").filter(null | (value > 0.4)),
        "fails_nec_of_nothing": pl.DataFrame({"segment": [None]}, schema={"segment": pl.String}),
        "fails_nec_beyond_its_interval": report(interval=0.95).filter((pl.col("nec_ci_low") > 0.2) & ~pl.col("small")),
        "fails_cross_entropy_at_prior": report(**of_llr).filter(pl.col("cross_entropy_at_prior") > 0.5),
        "fails_recall_of_groups": report(**of_codes).filter(pl.col("recall") < 0.9),
        "fails_invalid_rows": report(score="x", score_type="llr", threshold=0, metrics=["recall"], weight="w").filter(
            pl.col("n_invalid") > 0
        ),
        "fails_missing_rows": report(score="d", score_type="decision").filter(
            (pl.col("n_invalid") > 5) | (pl.col("n_missing") > 1)
        ),
    }


def test_tests_that_fail(project: Project) -> None:
    done = project.dbt("test", "--select", "tag:must_fail", "--store-failures")
    assert done.returncode == 1, done.stdout
    results, expected = project.results(), failures()
    assert {name: node["status"] for name, node in results.items()} == dict.fromkeys(expected, "fail")
    audit = f"{SCHEMA if project.engine == 'postgres' else 'main'}_dbt_test__audit"
    for name, wanted in expected.items():
        found = project.table(name, audit)
        assert 0 < results[name]["failures"] == found.height == wanted.height, name
        groups = found[found.columns[0]].to_list()
        assert sorted(map(str, groups)) == sorted(map(str, wanted["segment"].to_list())), name
        limit = {"fails_missing_rows": 5, "fails_invalid_rows": 0}.get(name)
        assert limit is None or found["at_most"].cast(pl.Float64).unique().to_list() == [limit]


def test_a_second_run_and_no_rows(project: Project) -> None:
    for arguments in (
        ["build", "--exclude", "tag:must_fail", "sketch_*"],
        ["run", "--empty", "--select", "usual"],
        ["run", "--select", "usual"],
    ):
        project.done(*arguments)
