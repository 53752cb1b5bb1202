"""Means over the targets of a sketch of each class against the rest."""

from __future__ import annotations

import inspect

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import f1_score, roc_auc_score

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches.operating_points import EvaluationKeywords
from tests.support.reference import log_of

RANDOM = np.random.default_rng(3)
N, K = 500, 3
LABELS = RANDOM.integers(0, K, N)
SCORES = RANDOM.dirichlet([1.0] * K, N) * 0.6 + 0.4 * np.eye(K)[LABELS] * RANDOM.random((N, 1))
POSTERIORS = SCORES / SCORES.sum(axis=1, keepdims=True)
GROUPS = np.where(np.arange(N) % 3 == 0, "a", "b")
LOG = pl.DataFrame({"g": GROUPS, "p": POSTERIORS, "y": LABELS}, schema_overrides={"p": pl.Array(pl.Float64, K)})


@pytest.mark.parametrize("exact", [True, False])
def test_means_are_those_of_the_detectors(exact: bool) -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", exact=exact)
    found = sketch.mean_over_targets("f1", "auc_roc", "cross_entropy")
    assert found["n"].to_list() == [(g == GROUPS).sum() for g in "ab"]
    for row in found.iter_rows(named=True):
        of_group = row["g"] == GROUPS
        y, q = np.eye(K)[LABELS[of_group]], POSTERIORS[of_group]
        assert row["f1"] == pytest.approx(np.mean([f1_score(y[:, k], q[:, k] > 0.5) for k in range(K)]), rel=1e-12)
        auc = np.mean([roc_auc_score(y[:, k], q[:, k]) for k in range(K)])
        assert abs(row["auc_roc"] - auc) <= row["auc_roc_error"] + 1e-12
        assert (row["auc_roc_error"] == 0) == exact
        loss = -np.where(y == 1, np.log(q), np.log1p(-q)).mean(axis=0)
        assert row["cross_entropy"] == pytest.approx(loss.mean(), rel=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_means_weighted_by_class_are_those_of_scikit_learn(exact: bool) -> None:
    found = LOG.ec.sketch("p", "y", exact=exact, resolution=4).mean_over_targets("f1", "auc_roc", average="weighted")
    assert found.columns == ["n", "n_missing", "n_invalid", "f1", "auc_roc", "auc_roc_error"]
    detected = [f1_score(k == LABELS, POSTERIORS[:, k] > 0.5) for k in range(K)]
    assert found["f1"].item() == pytest.approx(np.bincount(LABELS) @ detected / N, rel=1e-12)
    auc = roc_auc_score(LABELS, POSTERIORS, multi_class="ovr", average="weighted")
    assert abs(found["auc_roc"].item() - auc) <= found["auc_roc_error"].item() + 1e-12
    assert (found["auc_roc_error"].item() == 0) == exact


def test_a_class_without_rows_weighs_nothing() -> None:
    sketch = LOG.filter(pl.col("y") != 1).ec.sketch("p", "y", exact=True)
    assert sketch.mean_over_targets("auc_roc")["auc_roc"].item() is None
    weighted = sketch.mean_over_targets("auc_roc", average="weighted")["auc_roc"].item()
    assert weighted == pytest.approx(
        LOG.filter(pl.col("y") != 1).select(ec.weighted_auc_roc("p", "y")).item(), rel=1e-12
    )


def test_areas_of_classes_are_means_over_targets() -> None:
    sketch = LOG.ec.sketch("p", "y")
    for name, instead in (
        ("macro_auc_roc", r"mean_over_targets\('auc_roc'\)"),
        ("weighted_auc_roc", r"mean_over_targets\('auc_roc', average='weighted'\)"),
        ("pairwise_auc_roc", r"each class against the rest: compute it from the rows"),
    ):
        with pytest.raises(SketchError, match=instead):
            sketch.evaluate(name)
    with pytest.raises(ValueError, match="average='micro' is not 'macro' or 'weighted'"):
        sketch.mean_over_targets("auc_roc", average="micro")  # type: ignore[arg-type]
    with pytest.raises(SketchError, match="leave prior= out"):
        sketch.mean_over_targets("f1", average="weighted", prior=0.2)


def test_bounds_bound_the_mean() -> None:
    found = LOG.ec.sketch("p", "y", resolution=4).mean_over_targets("f1", threshold=0.3)
    y = np.eye(K)[LABELS]
    mean = np.mean([f1_score(y[:, k], POSTERIORS[:, k] > 0.3) for k in range(K)])
    low, high = found.select("f1_low", "f1_high").row(0)
    assert low < mean < high


def test_a_mean_of_fewer_detectors_is_none() -> None:
    """Precision is null for a class that is never detected."""
    log = pl.DataFrame(
        {"p": [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]], "y": [0, 1, 2]},
        schema_overrides={"p": pl.Array(pl.Float64, 3)},
    )
    sketch = log.ec.sketch("p", "y", threshold=0.65)
    assert sketch.evaluate("precision", "recall").select("precision", "recall").rows() == [(None, 0), (1, 1), (None, 0)]
    assert sketch.mean_over_targets("precision", "recall").select("precision", "recall").rows() == [(None, 1 / 3)]


def test_models_and_folds_are_groups() -> None:
    log = LOG.with_columns(q=pl.col("p"), i=pl.int_range(N))
    found = log.ec.sketch(["p", "q"], "y", by="g").mean_over_targets("recall")
    assert found.columns == ["g", "score", "n", "n_missing", "n_invalid", "recall"]
    single = LOG.ec.sketch("p", "y", by="g").mean_over_targets("recall")
    for name in ("p", "q"):
        assert_frame_equal(found.filter(score=name).drop("score"), single)


def test_the_keywords_are_those_of_evaluate() -> None:
    parameters = inspect.signature(ec.Sketch.evaluate).parameters.values()
    of_evaluate = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    of_intervals = ["interval", "replicates", "seed"]
    assert [*EvaluationKeywords.__annotations__, *of_intervals] == of_evaluate


def test_no_threshold_is_averaged() -> None:
    found = LOG.ec.sketch("p", "y").mean_over_targets("min_expected_cost")
    assert found.columns == ["n", "n_missing", "n_invalid", "min_expected_cost", "min_expected_cost_error"]


def test_real_scores() -> None:
    log = log_of("sst2_gpt2_4shot")
    sketch = log.ec.sketch("log_posteriors", "label", score_type="log_posteriors", exact=True)
    f1, auc = sketch.mean_over_targets("f1", "auc_roc").select("f1", "auc_roc").row(0)
    y, decided = log["label"].to_numpy(), log["posterior"].to_numpy() > 0.5
    assert f1 == pytest.approx(f1_score(y, decided, average="macro"), rel=1e-12)
    assert auc == pytest.approx(roc_auc_score(y, log["log_odds"].to_numpy()), abs=1e-6)
    assert round(1 - auc, 3) == 0.048


@pytest.mark.parametrize(
    ("sketch", "metrics", "error"),
    [
        (LOG.ec.sketch(pl.col("p").arr.get(0), pl.col("y") == 0), ["f1"], "rest, with a group column 'target'"),
        (LOG.ec.sketch("p", "y"), [], "the name of at least one metric"),
        (LOG.ec.sketch("p", "y"), ["f1", "tp"], "tp is a count"),
        (LOG.ec.sketch("p", "y"), ["f2"], "'f2' is not a metric"),
    ],
)
def test_what_has_no_mean(sketch: ec.Sketch, metrics: list[str], error: str) -> None:
    with pytest.raises(SketchError, match=error):
        sketch.mean_over_targets(*metrics)
    with pytest.raises(TypeError, match="did you mean threshold"):
        sketch.group_by().evaluate("f1", treshold=1)
