"""Calls on values and reports that come back null say why: one warning, at the caller's line, with the number of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_ec as ec

N = 200
RNG = np.random.default_rng(5)
LLR = RNG.normal(0, 2, N)
POSTERIOR = 1 / (1 + np.exp(-LLR))
LABEL = (RNG.random(N) < POSTERIOR).astype(int)
WITH_NAN = np.where(LLR > 1, np.nan, POSTERIOR)
LOG = pl.DataFrame(
    {"p": POSTERIOR, "llr": LLR, "nan": WITH_NAN, "y": LABEL, "sign": 2 * LABEL - 1, "g": np.arange(N) % 3}
)
BEYOND = int(((LLR < 0) | (LLR > 1)).sum())


def warned(call: Callable[[], Any]) -> str:
    """The text of the one warning of a call, which names the line of the call in this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    (warning,) = caught
    assert warning.category is UserWarning
    assert (warning.filename, warning.lineno) == (__file__, call.__code__.co_firstlineno)
    return str(warning.message)


def test_scores_beyond_their_range() -> None:
    assert f"outside [0, 1] in {BEYOND} of {N} rows" in warned(lambda: ec.nec(LLR, LABEL))
    assert 'score_type="percent", "log_odds", "llr"' in warned(lambda: ec.nec(LLR, LABEL))
    assert 'for ranking metrics, "raw"' in warned(lambda: ec.auc_roc(LLR, LABEL))
    percent = np.where(LABEL == 1, 101.0, 50.0)
    assert f"in {LABEL.sum()} of {N} rows" in warned(lambda: ec.nec(percent, LABEL, score_type="percent"))


def test_labels_that_are_no_classes() -> None:
    text = warned(lambda: ec.nec(POSTERIOR, 2 * LABEL - 1))
    assert f"label is not a class in {(LABEL == 0).sum()} of {N} rows" in text
    assert "pass pos_label=" in text
    assert ec.nec(POSTERIOR, 2 * LABEL - 1, pos_label=1) == ec.nec(POSTERIOR, LABEL)
    vectors = np.column_stack([1 - POSTERIOR, POSTERIOR, np.zeros(N)])
    assert f"label is not a class in {(LABEL == 1).sum()} of {N} rows" in warned(lambda: ec.nec(vectors, LABEL * 3))


def test_nan() -> None:
    n_nan = int((LLR > 1).sum())
    text = warned(lambda: ec.nec(WITH_NAN, LABEL))
    assert (
        f"posterior is NaN or outside [0, 1] in {n_nan} of {N} rows (.fill_nan(None) turns NaN into missing values"
        in text
    )
    assert f"log_odds is NaN in {n_nan} of {N} rows" in warned(lambda: ec.nec(WITH_NAN, LABEL, score_type="log_odds"))
    assert ec.nec(pl.Series(WITH_NAN).fill_nan(None), LABEL) is not None
    labels = np.where(LLR > 1, np.nan, LABEL)
    assert f"label is not a class in {n_nan} of {N} rows" in warned(lambda: ec.nec(POSTERIOR, labels, pos_label=1.0))


def test_weights_and_thresholds() -> None:
    negative = f"in {(LLR < 0).sum()} of {N} rows"
    assert f"weight is negative, infinite or NaN {negative}" in warned(lambda: ec.nec(POSTERIOR, LABEL, weight=LLR))
    thresholds = np.where(LLR < 0, np.nan, 0.5)
    assert f"threshold is null or NaN {negative}" in warned(lambda: ec.nec(POSTERIOR, LABEL, threshold=thresholds))


def test_rows_that_are_missing_classes_that_are_absent_and_values_that_are_undefined() -> None:
    assert f"missing in {N} of {N} rows" in warned(lambda: ec.nec(pl.Series([None] * N, dtype=pl.Float64), LABEL))
    assert "there are no rows" in warned(lambda: ec.nec([], []))
    assert f"no row has the class 1, of {N} rows" in warned(lambda: ec.nec(POSTERIOR, LABEL * 0))
    assert f"undefined for these {N} rows" in warned(lambda: ec.precision(POSTERIOR, LABEL, threshold=2))
    assert "expected_score_divergence() is null" in warned(lambda: ec.expected_score_divergence(LLR, POSTERIOR))
    assert f"in {N} of {N} rows" in warned(lambda: ec.row_brier(POSTERIOR + 1, LABEL))


def test_a_positive_label_that_is_missing_is_said_once_at_the_line_of_the_call() -> None:
    assert "no row has the label" in warned(lambda: ec.nec(POSTERIOR, LABEL, pos_label=7))
    assert "no row has the label" in warned(lambda: ec.validate(LOG, "p", "y", pos_label=7))
    assert "no row has the label" in warned(lambda: LOG.ec.validate("p", "y", pos_label=7))


REPORTS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda log: log,
    "pandas": lambda log: log.to_pandas(),
    "arrow": lambda log: log.to_arrow(),
    "duckdb": lambda log: duckdb.sql("SELECT * FROM log"),
}


@pytest.mark.parametrize("library", REPORTS)
def test_a_report(library: str) -> None:
    log = REPORTS[library](LOG)
    text = warned(lambda: ec.report(log, "llr", "y"))
    assert (
        f"metrics are null in 1 of 1 rows of the report: posterior is NaN or outside [0, 1] in {BEYOND} of {N} rows"
        in text
    )


def test_a_report_of_groups_models_and_a_reader() -> None:
    one = LOG.with_columns(p=pl.when(pl.int_range(pl.len()) == 4).then(2.0).otherwise("p"))
    text = warned(lambda: one.ec.report("p", "y", by="g", total=True))
    assert f"null in 2 of 4 rows of the report: posterior is NaN or outside [0, 1] in 1 of {N} rows" in text
    text = warned(lambda: LOG.ec.report(["p", "llr"], "sign", prior=0.5, interval=0.9, metrics=["nec", "auc_roc"]))
    assert f"'p', 'llr': label is not a class in {(LABEL == 0).sum()} of {N} rows" in text
    assert f"'llr': posterior is NaN or outside [0, 1] in {BEYOND} of {N} rows" in text
    assert "n_invalid" in warned(lambda: ec.report(LOG.to_arrow().to_reader(), "llr", "y"))


def test_a_sketch_whose_groups_all_have_invalid_rows() -> None:
    sketch = LOG.with_columns(p=pl.when(g=0).then(2.0).otherwise("p")).ec.sketch("p", "y", by="g")
    assert sketch.evaluate("nec")["nec"].null_count() == 1
    assert "null in all groups: each has invalid rows" in warned(lambda: sketch.group_by().evaluate("nec"))
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 4), eager=True)
    of_days = LOG.with_columns(p=pl.lit(2.0), day=pl.Series(days.sample(N, with_replacement=True, seed=1)))
    windows = of_days.ec.sketch("p", "y", by="day").rolling("day", periods=2)
    assert "each has invalid rows, or no rows (see n, n_missing" in warned(lambda: windows.evaluate("nec"))


def test_columns_of_posteriors_in_a_list_are_models() -> None:
    posteriors = RNG.dirichlet(np.ones(10), N)
    labels = RNG.integers(0, 10, N)
    names = [f"p{k}" for k in range(10)]
    log = pl.DataFrame(posteriors, schema=names).with_columns(y=labels)
    text = warned(lambda: log.ec.report(names, "y"))
    assert f"label is not a class in {(labels > 1).sum()} of {N} rows" in text
    assert "these are 10 models; posteriors of K classes are one column" in text
    assert "pl.concat_arr('p0', ..., 'p9')" in text
    accuracy = log.ec.report(pl.concat_arr(names), "y", metrics=["accuracy"])["accuracy"].item()
    assert accuracy == pytest.approx((posteriors.argmax(axis=1) == labels).mean())


def test_what_is_not_null_and_what_is_lazy_does_not_warn() -> None:
    assert LOG.ec.report("p", "y", by="g")["nec"].null_count() == 0
    assert LOG.lazy().ec.report("llr", "y").collect()["nec"].to_list() == [None]
    assert LOG.select(ec.nec("llr", "y")).item() is None
    # A group without a positive row lacks some metrics, as groups do.
    lacking = LOG.with_columns(y=pl.when(pl.col("g") > 0).then("y").otherwise(0))
    assert lacking.ec.report("p", "y", by="g")["nec"].null_count() == 1


@pytest.mark.parametrize("library", REPORTS)
def test_a_comparison(library: str) -> None:
    one = LOG.with_columns(q=pl.when(pl.int_range(pl.len()) == 4).then(2.0).otherwise("p"))
    log = REPORTS[library](one)
    text = warned(lambda: ec.compare(log, ["p", "q"], "y", by="g", metrics=["nec", "recall"]))
    assert f"null in 2 of 6 rows of the comparison: 'q': posterior is NaN or outside [0, 1] in 1 of {N} rows" in text
    assert "'p'" not in text
    text = warned(lambda: ec.compare(log, "q", "y", by="g", reference="rest", metrics=["nec"]))
    assert "null in 3 of 3 rows of the comparison: posterior" in text


def test_a_comparison_by_item_of_a_reader_and_of_values_that_are_undefined() -> None:
    one = LOG.with_columns(q=pl.when(pl.int_range(pl.len()) == 4).then(2.0).otherwise("p")).with_row_index("id")
    long = one.unpivot(on=["p", "q"], index=["id", "y", "g"], variable_name="model", value_name="score")
    text = warned(lambda: long.ec.compare("score", "y", model="model", item="id", metrics=["nec"]))
    assert f"null in 1 of 1 rows of the comparison: 'q': posterior is NaN or outside [0, 1] in 1 of {N} rows" in text
    assert "n_invalid" in warned(lambda: ec.compare(one.to_arrow().to_reader(), ["p", "q"], "y", by="g"))
    with warnings.catch_warnings(action="error"):
        one.lazy().ec.compare(["p", "q"], "y").collect()
        # No row of the group is decided positive, which makes none invalid.
        rare = LOG.with_columns(q=pl.when(g=0).then(0.1).otherwise("p"))
        assert rare.ec.compare(["p", "q"], "y", by="g", metrics=["precision"])["value"].null_count() == 1
