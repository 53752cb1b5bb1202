"""`python -m tests.gpu`, with functions that stand in for the GPU engine; and docs/integrations/gpu.md has each metric once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import polars_ec as ec
from tests import gpu
from tests.support.cases import METRICS, ROW_FUNCTIONS

PAGE = (Path(__file__).parent.parent / "docs/integrations/gpu.md").read_text("utf-8")
# What Polars 1.44.2 raised, word for word, of a plan that cudf-polars 26.10.2 does not take, and where there is no driver.
UNSUPPORTED = (
    "'cuda' conversion failed: NotImplementedError: (\"Query execution with GPU not possible: unsupported operations.\\n"
    "The errors were:\\n- NotImplementedError: No support for <class 'cudf_polars.dsl.expressions.base.ErrorExpr'> in "
    'groupby/rolling\\n- NotImplementedError: list.eval", [NotImplementedError("No support for <class '
    "'cudf_polars.dsl.expressions.base.ErrorExpr'> in groupby/rolling\"), NotImplementedError('list.eval')])"
)
NO_DRIVER = "'cuda' conversion failed: NVMLError_LibraryNotFound: NVML Shared Library Not Found"


def refuses(error: Exception) -> Callable[[pl.LazyFrame], pl.DataFrame]:
    def run(query: pl.LazyFrame) -> pl.DataFrame:
        raise error

    return run


@pytest.fixture
def query() -> pl.LazyFrame:
    return gpu.log().lazy().group_by("segment").agg(ec.nec("score", "late"), ec.confusion("score", "late"))


def moved(by: float) -> gpu.Run:
    return lambda query: query.with_columns(pl.col("score_nec") + by).collect()


@pytest.mark.parametrize(
    ("run", "kind", "why"),
    [
        (lambda query: query.collect(engine="streaming"), gpu.EQUAL, ""),
        (moved(1e-12), gpu.EQUAL, ""),
        (moved(1e-8), gpu.DIFFERS, "score_nec"),
        (lambda query: query.with_columns(pl.col("score_nec").fill_null(0)).collect(), gpu.DIFFERS, "null"),
        (lambda query: query.with_columns(pl.col("score_nec").cast(pl.Float32)).collect(), gpu.DIFFERS, "dtype"),
        (lambda query: query.filter(pl.col("segment") != "wrong").collect(), gpu.DIFFERS, "height"),
        (refuses(pl.exceptions.ComputeError(UNSUPPORTED)), gpu.FELL_BACK, "^list.eval$"),
        (refuses(MemoryError("std::bad_alloc\nmore")), gpu.FAILED, "^MemoryError: std::bad_alloc$"),
        (refuses(AssertionError()), gpu.FAILED, "^AssertionError: $"),
    ],
)
def test_outcome(query, run: gpu.Run, kind: str, why: str) -> None:
    found, told = gpu.outcome(query, run)
    assert found == kind, told
    assert re.search(why, told)


def test_of_several_reasons_each_is_told(query) -> None:
    several = UNSUPPORTED.replace("- NotImplementedError: list.eval", "- NotImplementedError: a\\n- ValueError: b: c")
    assert gpu.outcome(query, refuses(pl.exceptions.ComputeError(several))) == (gpu.FELL_BACK, "a; b: c")


def test_log_has_what_the_data_rules_are_about() -> None:
    table = gpu.log().lazy().ec.report("score", "late", by="segment").sort("segment").collect()
    assert dict(table.select("segment", "n_missing").rows())["missing"] == 200
    assert dict(table.select("segment", "n_invalid").rows())["wrong"] == 100
    assert set(table.filter(pl.col("nec").is_null())["segment"]) == {"wrong", "one class"}
    assert {0.0, 1.0} < set(gpu.log().filter(segment="ends")["score"])


def test_every_metric_is_asked() -> None:
    names = list(gpu.queries(gpu.log()))
    assert {name for name in names if "(" not in name} == METRICS | {"report"}
    assert {"nec(prior)", "report(metrics)"} < set(names)


@pytest.mark.slow
def test_every_query_runs(capsys) -> None:
    assert gpu.main(lambda query: query.collect(engine="streaming")) == 0
    assert re.search(r"\nof (\d+) queries: \1 ran, equal\n$", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModuleNotFoundError("required package 'cudf_polars' could not be imported.\nPlease"), "required .* imported."),
        (pl.exceptions.ComputeError(NO_DRIVER), "NVML Shared Library Not Found"),
        (OSError(), "-"),
    ],
)
def test_without_a_gpu(error: Exception, told: str, capsys) -> None:
    assert gpu.main(refuses(error)) == 2
    output = capsys.readouterr().out
    assert re.fullmatch(rf"There is no GPU engine here: {type(error).__name__}: .*{told}\n", output)


def test_table(query, monkeypatch, capsys) -> None:
    """A line for each query, the sum of them, and an exit code that says whether any has failed."""
    monkeypatch.setattr(gpu, "queries", lambda frame: {"first": query, "second": query.with_columns(made=1)})
    probes = iter((True, False, False))

    def run(query: pl.LazyFrame) -> pl.DataFrame:
        if next(probes) or "made" in query.collect_schema():
            return query.collect()
        raise pl.exceptions.ComputeError(UNSUPPORTED)

    assert gpu.main(run) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.split(r" {2,}", line) for line in lines] == [
        ["first", "fell back", "list.eval"],
        ["second", "ran, equal"],
        ["of 2 queries: 1 fell back; 1 ran, equal"],
    ]

    def fails(query: pl.LazyFrame) -> pl.DataFrame:
        if "n" in query.collect_schema():
            return query.collect()
        raise RuntimeError("out of memory")

    assert gpu.main(fails) == 1
    assert capsys.readouterr().out.endswith("of 2 queries: 2 failed\n")


def test_page_has_each_metric_once() -> None:
    table = [line for line in PAGE.splitlines() if line.startswith("| ")]
    named = re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table))
    assert sorted(set(named)) == sorted(named)
    assert METRICS - set(named) - set(ROW_FUNCTIONS) == set()
