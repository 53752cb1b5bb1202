"""OpenMetrics text, as a parser of Prometheus reads it."""

from __future__ import annotations

import math
from datetime import datetime

import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from polars_ec.integrations.openmetrics import as_openmetrics
from tests.support.cli import invoke

HOSTILE = ['a "b"', "back\\slash", "two\nlines", "Über", "", None]


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    families = list(text_string_to_metric_families(text))
    assert all(family.type == "gauge" and family.documentation for family in families)
    read = [sample for family in families for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in read}
    assert len(found) == len(read)
    return found


def test_a_report_of_the_command(tmp_path) -> None:
    """One missed positive of two, which costs 5, beside one false alarm of three: (5 + 1) / min(10, 3)."""
    log = tmp_path / "log.csv"
    log.write_text(
        "carrier,p,y\n" + "".join(f"AA,{p},{y}\n" for p, y in [(0.9, 1), (0.1, 1), (0.7, 0), (0.1, 0), (0.1, 0)])
    )
    options = ["--score", "p", "--label", "y", "--by", "carrier", "--threshold", "0.5", "--cost-fn", "5"]
    out = tmp_path / "report.prom"
    invoke("report", str(log), *options, "--interval", "0.95", "--out", str(out))
    printed = invoke("report", str(log), *options, "--interval", "0.95", "--format", "openmetrics").output
    assert out.read_text("utf-8") == printed
    found, carrier = samples(printed), frozenset({("carrier", "AA")})
    assert found["polars_ec_nec", carrier] == pytest.approx(6 / 3)
    assert found["polars_ec_recall", carrier] == 0.5
    assert found["polars_ec_nec_ci_low", carrier] < 2 < found["polars_ec_nec_ci_high", carrier]
    assert found["polars_ec_n", carrier] == 5


def test_labels_and_numbers_are_escaped() -> None:
    table = pl.DataFrame(
        {
            "the group": HOSTILE,
            "nec": [1.0, math.inf, -math.inf, math.nan, None, 1e-300],
            "small": [True, True, True, True, None, True],
        }
    )
    found = samples(as_openmetrics(table, ["the group"]))
    read = {dict(labels).get("the_group"): value for (name, labels), value in found.items() if name == "polars_ec_nec"}
    # An empty label is as one that is not there; its value is null.
    assert read == pytest.approx(
        dict(zip([*HOSTILE[:4], None], [1.0, math.inf, -math.inf, math.nan, 1e-300], strict=True)), nan_ok=True
    )
    assert sum(name == "polars_ec_small" for name, _ in found) == 5


def test_the_total_is_apart_from_a_group_without_a_name() -> None:
    table = pl.DataFrame(
        {"g": [None, None], "total": [False, True], "nec": [1.0, 2.0]}, schema_overrides={"g": pl.String}
    )
    assert samples(as_openmetrics(table, ["g"])) == {
        ("polars_ec_nec", frozenset()): 1.0,
        ("polars_ec_nec", frozenset({("total", "true")})): 2.0,
    }


def test_periods_that_begin_a_day_are_dates() -> None:
    days, hours = pl.Series([datetime(2026, 1, 1), None]), pl.Series([datetime(2026, 1, 1, 5), None])
    for column, label in ((days, "2026-01-01"), (hours, "2026-01-01 05:00:00.000000")):
        found = samples(as_openmetrics(pl.DataFrame({"month": column, "nec": [0.5, 0.7]}), ["month"]))
        assert found["polars_ec_nec", frozenset({("month", label)})] == 0.5


def test_a_group_of_the_name_total_keeps_its_text() -> None:
    found = samples(as_openmetrics(pl.DataFrame({"total": ["false", "true", None], "nec": [1.0, 2.0, 3.0]}), ["total"]))
    labels = ({("total", "false")}, {("total", "true")}, set())
    assert found == {("polars_ec_nec", frozenset(label)): i + 1 for i, label in enumerate(labels)}


def test_labels_that_cannot_be_told_apart_are_an_error() -> None:
    with pytest.raises(ValueError, match="a b, a-b do not have different names"):
        as_openmetrics(pl.DataFrame({"a b": ["x"], "a-b": ["y"], "nec": [1.0]}), ["a b", "a-b"])


def test_an_empty_text_and_a_null_are_the_same_label() -> None:
    table = pl.DataFrame({"segment": ["", None], "nec": [0.5, 0.7]})
    with pytest.raises(ValueError, match="two rows have the same segment"):
        as_openmetrics(table, ["segment"])
    assert "polars_ec_nec" in as_openmetrics(table.with_columns(nec=pl.Series([0.5, None])), ["segment"])


def test_no_label_has_a_name_that_prometheus_reserves() -> None:
    assert '{_name__="a"}' in as_openmetrics(pl.DataFrame({"__name__": ["a"], "nec": [0.5]}), ["__name__"])
