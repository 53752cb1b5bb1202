"""What metrics are called, which way they are better, and what a naive system has."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec import report, sketch
from polars_ec.formulas.decisions import lower_is_better
from polars_ec.formulas.ranking import CLASS_AREAS, RANKING_METRICS
from polars_ec.output.words import TITLES, naive_value, short, unique, unlike
from polars_ec.reports.models import METRICS

RNG = np.random.default_rng(5)
LABEL = RNG.random(2_000) < 0.4
LOG = pl.DataFrame(
    {
        "y": LABEL,
        "naive": np.full(LABEL.size, LABEL.mean()),
        "good": np.clip(0.4 + 0.8 * (LABEL - 0.4) + RNG.normal(0, 0.1, LABEL.size), 0.02, 0.98),
        "bad": np.clip(0.4 + 0.1 * (LABEL - 0.4) + RNG.normal(0, 0.3, LABEL.size), 0.02, 0.98),
    }
)
COUNTS = ("tn", "fp", "fn", "tp", "confusion")
OF_EACH_CLASS = ("class_precision", "class_recall", "class_f1", "class_nec")
NAMES = [name for name in METRICS if name not in (*COUNTS, *OF_EACH_CLASS)]
RANKED = [name for name in NAMES if name in RANKING_METRICS]


def values(score: str) -> dict[str, float | None]:
    """Each metric; a report has those of ranks with an error, an exact sketch without."""
    exact = sketch(LOG, score, "y", exact=True).evaluate(*RANKED)
    both = pl.concat_arr(1 - pl.col(score), score)
    areas = LOG.select(getattr(ec, name)(both, "y").alias(name) for name in CLASS_AREAS)
    of_rows = report(LOG, score, "y", metrics=[name for name in NAMES if name not in CLASS_AREAS])
    return {k: v for table in (of_rows, exact, areas) for k, v in table.row(0, named=True).items()}


VALUES = {score: values(score) for score in ("naive", "good", "bad")}


def test_each_metric_of_a_report_has_a_name():
    assert set(NAMES) <= set(TITLES)
    assert len({*TITLES.values()}) == len({*map(short, TITLES)}) == len(TITLES)


@pytest.mark.parametrize("name", NAMES)
def test_better_scores_are_better(name):
    good, bad = VALUES["good"][name], VALUES["bad"][name]
    assert good < bad if lower_is_better(name) else good > bad


@pytest.mark.parametrize("name", NAMES)
def test_a_naive_system_has_the_naive_value(name):
    stated, value = naive_value(name), VALUES["naive"][name]
    if stated is not None and value is not None:
        assert value == pytest.approx(stated)
    assert naive_value(f"{name}_at_prior") == stated


def test_names_are_told_apart():
    assert unique(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
    assert unlike("other 3", ["a", "other 3", "other 3 (2)"]) == "other 3 (3)"
