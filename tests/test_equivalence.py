"""Equivalence and non-inferiority in comparisons: against one-sided t tests written here, in every interface."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec
from polars_ec.page.layout import ModelsView
from tests.support.cli import fails, invoke, sketch
from tests.support.pages import of_models

RNG = np.random.default_rng(4)
N = 1200
LABELS = RNG.random(N) < 0.35
ODDS = np.where(LABELS, 1.0, -1.0) + RNG.normal(0, 1.2, N)
LOG = pl.DataFrame(
    {
        "g": RNG.integers(0, 3, N),
        "id": np.arange(N),
        "y": LABELS,
        "a": 1 / (1 + np.exp(-ODDS)),
        "b": 1 / (1 + np.exp(-ODDS - 0.25 - RNG.normal(0, 0.2, N))),
    }
)
VERDICTS = ["not_worse", "equivalent"]


def one_sided(errors, margin, level):
    """Whether the mean of paired differences of errors is significantly below and above the margin: t tests, each at (1 - level) / 2."""
    greater, less = (
        stats.ttest_1samp(errors, popmean=bound, alternative=side).pvalue
        for bound, side in ((-margin, "greater"), (margin, "less"))
    )
    return less < (1 - level) / 2, greater < (1 - level) / 2


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("margin", [0.001, 0.01, 0.02, 0.03, 0.05, 0.2])
def test_verdicts_are_those_of_two_one_sided_t_tests(margin, level):
    """The error rate, for which lower is better, and the accuracy, for which higher is: the same tests the other way round."""
    metrics = ["error_rate", "accuracy"]
    table = LOG.ec.compare(["a", "b"], "y", metrics=metrics, margin=margin, interval=level)
    y, a, b = (LOG[name].to_numpy() for name in ("y", "a", "b"))
    below, above = one_sided(((b > 0.5) != y) * 1.0 - ((a > 0.5) != y), margin, level)
    assert table.select("metric", *VERDICTS).rows() == [(name, below, below and above) for name in metrics]


def test_a_margin_adds_two_columns_and_changes_no_other():
    options = {"by": "g", "metrics": ["nec", "recall", "decision_share", "auc_roc"], "prior": 0.2}
    table = LOG.ec.compare(["a", "b"], "y", **options)
    with_margin = LOG.ec.compare(["a", "b"], "y", margin=0.05, **options)
    assert with_margin.columns[with_margin.columns.index("p_adjusted") + 1 :] == [*VERDICTS, "small", "n", "n_missing"]
    assert_frame_equal(with_margin.drop(VERDICTS), table, rel_tol=1e-9)
    assert_frame_equal(
        LOG.lazy().ec.compare(["a", "b"], "y", margin=0.05, **options).collect(), with_margin, rel_tol=1e-9
    )
    for row in with_margin.rows(named=True):
        low, high = row["difference_ci_low"], row["difference_ci_high"]
        assert row["equivalent"] == (low > -0.05 and high < 0.05)
        metric = row["metric"].removesuffix("_at_prior")
        not_worse = {"nec": high < 0.05, "recall": low > -0.05, "auc_roc": low > -0.05, "decision_share": None}[metric]
        assert row["not_worse"] == not_worse
    # Each verdict occurs.
    assert set(with_margin["equivalent"]) == {True, False}
    assert set(with_margin["not_worse"]) == {True, False, None}


def test_groups_are_equivalent_to_the_rest():
    table = LOG.ec.compare("a", "y", by="g", metrics=["recall"], reference="rest", margin=0.15)
    low, high = (table[f"difference_ci_{end}"] for end in ("low", "high"))
    assert table["equivalent"].to_list() == ((low > -0.15) & (high < 0.15)).to_list()
    assert table["not_worse"].to_list() == (low > -0.15).to_list()


def test_a_sketch_has_the_verdicts_of_the_rows():
    options = {"margin": 0.02, "interval": 0.9}
    rows = LOG.ec.compare(["a", "b"], "y", metrics=["nec", "recall"], cluster="id", buckets=200, **options)
    made = LOG.ec.sketch(["a", "b"], "y", cluster="id", buckets=200)
    assert made.compare("nec", "recall", **options).select(VERDICTS).rows() == rows.select(VERDICTS).rows()


def test_models_with_equal_scores_are_equivalent_and_an_unknown_difference_is_null():
    same = LOG.with_columns(b="a")
    assert same.ec.compare(["a", "b"], "y", metrics=["nec"], margin=1e-9).select(VERDICTS).row(0) == (True, True)
    absent = LOG.filter(y=True).ec.compare(["a", "b"], "y", metrics=["recall", "fpr"], margin=0.5)
    assert absent.select("metric", *VERDICTS).rows()[1] == ("fpr", None, None)


@pytest.mark.parametrize("margin", [0, -0.1, math.inf, math.nan, "0.02", True])
def test_margins_that_are_none(margin):
    with pytest.raises(ValueError, match="is not a positive number"):
        LOG.ec.compare(["a", "b"], "y", margin=margin)
    with pytest.raises(ValueError, match="is not a positive number"):
        LOG.ec.sketch("a", "y", by="g").compare("nec", reference="rest", margin=margin)


def test_a_group_column_of_the_name_of_a_verdict_is_refused():
    named = LOG.rename({"g": "equivalent"})
    with pytest.raises(ValueError, match="by= has a column 'equivalent'"):
        named.ec.compare(["a", "b"], "y", by="equivalent", margin=0.1)


@pytest.mark.slow
def test_the_tests_are_wrong_as_often_as_they_say():
    """Error rates that differ by exactly the margin: equivalence is claimed in at most (1 - level) / 2 of the logs."""
    rng, logs, n = np.random.default_rng(7), 4000, 400
    y = rng.random(logs * n) < 0.4
    wrong_a, wrong_b = rng.random(logs * n) < 0.1, rng.random(logs * n) < 0.15
    log = pl.DataFrame(
        {"g": np.repeat(np.arange(logs), n), "y": y, "a": (y != wrong_a) * 0.8 + 0.1, "b": (y != wrong_b) * 0.8 + 0.1}
    )
    table = log.ec.compare(["a", "b"], "y", by="g", metrics=["error_rate"], margin=0.05, interval=0.9)
    for verdict in VERDICTS:
        assert table[verdict].mean() == pytest.approx(0.05, abs=0.012)


# The command and the page -----------------------------------------------------------------------------------------------

READ = ("--score", "a", "--score", "b", "--label", "y", "--metrics", "nec", "--interval", "0.9")


@pytest.mark.slow
def test_a_gate_on_a_verdict(tmp_path):
    LOG.write_parquet(tmp_path / "log.parquet")
    sketch(tmp_path / "log.parquet", out=tmp_path / "sketches", args=(*READ[:6], "--cluster", "id"))
    for margin in (0.001, 0.3):
        (of_rows,) = LOG.ec.compare(["a", "b"], "y", metrics=["nec"], margin=margin, interval=0.9)["not_worse"]
        for args in (
            (tmp_path / "log.parquet", *READ),
            (tmp_path / "sketches", "--metrics", "nec", "--interval", "0.9"),
        ):
            result = invoke("compare", *args, "--margin", margin, "--fail-if", "not_worse == 0")
            assert result.exit_code == (0 if of_rows else 3) == (3 if margin == 0.001 else 0)
    assert (
        "not_worse is false (--fail-if 'not_worse == 0')"
        in invoke("compare", tmp_path / "log.parquet", *READ, "--margin", "0.001", "--fail-if", "not_worse == 0").stderr
    )
    fails(2, "compare", tmp_path / "log.parquet", *READ, "--fail-if", "not_worse == 0", words=["pass --margin"])
    fails(2, "compare", "nowhere.parquet", *READ, "--margin", "-1", words=["--margin -1.0 is not a positive number"])


@pytest.mark.quick("sketch*")
@pytest.mark.parametrize(
    ("source", "scores", "margin", "metric", "sentence"),
    [
        (
            "rows",
            ["a", "b"],
            0.2,
            "error_rate",
            "b is equivalent to a: error rate differs by less than 0.2 (significant).",
        ),
        ("rows", ["a", "c"], 0.01, "error_rate", "c is worse than a by more than 0.01 (error rate, significant)."),
        ("rows", ["c", "a"], 0.05, "error_rate", "a is not worse than c by 0.05 or more (error rate, significant)."),
        (
            "rows",
            ["a", "b"],
            0.02,
            "error_rate",
            "It is not known whether b differs from a by less than 0.02 (error rate).",
        ),
        (
            "rows",
            ["a", "c"],
            0.01,
            "decision_share",
            "c differs from a by more than 0.01 (share of positive decisions, significant).",
        ),
        (
            "sketch",
            ["a", "b"],
            0.2,
            "error_rate",
            "b is equivalent to a: error rate differs by less than 0.2 (significant).",
        ),
    ],
)
def test_the_page_says_it_in_a_sentence(source, scores, margin, metric, sentence):
    log = LOG.with_columns(c=1 / (1 + (1 / pl.col("a") - 1) * 12))
    arguments = {"metrics": [metric], "margin": margin, "prior": None, "options": {}}
    args = (log, scores, "y") if source == "rows" else (log.ec.sketch(scores, "y", cluster="id"), None, None)
    (finding,) = ModelsView.of(of_models(*args, **arguments)).findings
    assert finding.text.lower() == sentence.lower()
    assert finding.kind == (
        "bad"
        if "is worse" in sentence
        else "good"
        if "(significant)" in sentence or "not worse" in sentence
        else "neutral"
    )


def test_a_page_of_one_model_has_no_margin(tmp_path):
    with pytest.raises(ValueError, match=r"margin=0\.1 is for the differences of models"):
        ec.report_page(tmp_path / "page.html", LOG, "a", "y", margin=0.1)
    args = ("report", "nowhere.parquet", *READ, "--margin", "0.1")
    fails(2, *args, words=["--margin 0.1 is for a page: pass --html FILE too"])


@pytest.mark.slow
def test_the_command_writes_it_on_the_page(tmp_path):
    LOG.write_parquet(tmp_path / "log.parquet")
    page = tmp_path / "page.html"
    args = ("report", tmp_path / "log.parquet", *READ, "--margin", "0.3", "--html", page)
    assert invoke(*args).exit_code == 0
    assert "b is equivalent to a: " in page.read_text("utf-8").replace("\u2068", "").replace("\u2069", "")
