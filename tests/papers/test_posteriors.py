"""Numbers that Ferrer and Ramos print in "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration"."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from examples.papers.posteriors import tables
from examples.papers.posteriors.synthetic import two_classes
from examples.papers.posteriors.tables import COLUMNS_1, PRINTED_1, SYSTEMS_1, differences
from examples.papers.score_files import ScoreSet, shipped
from examples.papers.simulated import stratified_folds
from tests.support.cases import mostly_slow
from tests.support.papers import counted, exactly, printed


@pytest.mark.parametrize(
    ("prior", "cross_entropy", "brier"), [(0.4, 0.6730116670092565, 0.24), (0.2, 0.5004024235381879, 0.16)]
)
def test_naive_posteriors(metric, prior, cross_entropy, brier):
    """Who always answers the prior has the entropy of the priors as CE and sum P (1 - P) / K as Brier score."""
    frame = pl.DataFrame({"score": [prior] * 10, "label": [1] * round(10 * prior) + [0] * round(10 - 10 * prior)})
    assert metric("cross_entropy", frame) == exactly(cross_entropy)
    assert metric("brier", frame) == exactly(brier)
    assert metric("nce", frame) == exactly(1.0)
    assert metric("nbs", frame) == exactly(1.0)


def test_accuracy_identity(metric):
    """With priors (0.8, 0.2), accuracy = 1 - 0.2 times the normalised risk of 0-1 costs."""
    frame = counted([[70, 10], [5, 15]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("accuracy", frame, **options) == exactly(0.85)
    assert 1 - 0.2 * metric("nec", frame, **options) == exactly(0.85)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS_1)
@pytest.mark.parametrize("n", mostly_slow([200, 2000, 20000], [200]))
def test_table_1_semi_empirical_cross_entropy(metric, name, n):
    """Two of its rows through each door: percent that the empirical cross-entropy is above the semi-empirical one."""
    frame = two_classes(name, n).with_columns(posterior=ec.posterior("log_odds", score_type="log_odds"))
    bins = (15 * pl.col("posterior")).ceil().clip(1, 15)
    share = pl.col("label").mean().over(bins)
    frame = frame.with_columns(Htt=ec.log_odds(share))
    empirical = metric("nce", frame, "log_odds", score_type="log_odds")
    column = COLUMNS_1.index(f"{name} {n}")
    for row, reference in {"true": "true", "Htt": "Htt"}.items():
        options = {"label": reference, "normalized": True, "score_type": "log_odds"}
        value = metric("semi_empirical_epsr", frame, "log_odds", **options)
        assert 100 * (empirical - value) / empirical == printed(float(PRINTED_1[row].split()[column]), 0)


@pytest.mark.slow
def test_scores_of_a_user_are_held_against_their_row(monkeypatch):
    monkeypatch.setattr(tables, "SHIPPED_SYSTEMS", {})
    log = shipped("sst2_gpt2")
    table = tables.table_2([ScoreSet("sst2-gpt2-0shot", log), ScoreSet("mine", log.head(200))])
    rows = dict(table.rows)
    assert " ".join(number.shown for number in rows["sst2-gpt2-0shot cal"]) == "0.310 0.655 0.685 0.495 -0.6 1.4 1.5"
    assert all(number.agrees for number in table.numbers)
    assert not any(number.compared for number in rows["mine cal"])
    assert rows["fvcaus: no scores at hand"] == [None] * len(table.columns)


def test_scores_that_cannot_be_calibrated_say_so(monkeypatch):
    monkeypatch.setattr(tables, "SHIPPED_SYSTEMS", {})
    apart = [[-0.1, -2.3], [-2.3, -0.1]] * 10
    log = pl.DataFrame({"label": [0, 1] * 10, "score": pl.Series(apart, dtype=pl.Array(pl.Float64, 2))})
    table = tables.table_2([ScoreSet("mine", log)])
    assert dict(table.rows)["mine cal"] == [None] * len(table.columns)
    assert table.notes[-1].startswith("Empty: in a fold the rows of the others have no affine calibration")
    assert not tables.table_2().notes


def test_systems_of_the_paper_have_its_classes():
    frame = pl.DataFrame({"label": [0], "score": [[-0.7, -0.7]]}, schema_overrides={"score": pl.Array(pl.Float64, 2)})
    for name in ("mine", "sitw", "cifar-1vso"):
        tables.check_classes(ScoreSet(name, frame))
    for name, classes in (("iemocap", 4), ("cifar10-vgg19", 10), ("cifar100-vgg19", 100)):
        with pytest.raises(ValueError, match=f"2 classes, and {name} of the paper has {classes}"):
            tables.check_classes(ScoreSet(name, frame))


@pytest.mark.slow
def test_other_folds_move_table_1_as_it_says():
    label = two_classes("cal", 200)["label"]
    for name in SYSTEMS_1:
        of_paper = differences(name, 200)
        for seed in range(1, 6):
            generator = np.random.RandomState(seed)
            found = differences(name, 200, iter([stratified_folds(label, generator) for _ in range(3)]))
            moved = {row: abs(found[row] - value) for row, value in of_paper.items()}
            assert [moved[row] for row in ("true", "Dtt", "Ttt", "Htt")] == [0] * 4
            assert moved["Dxv"] < 3.95
            assert moved["Txv"] < 1.65
            assert moved["Hxv"] < 21.5


@pytest.mark.slow
def test_other_folds_move_table_2_as_it_says():
    log = shipped("sst2_gpt2")
    of_paper = tables.measured(log, seed=0)
    for seed in range(1, 6):
        found = tables.measured(log, seed=seed)
        for made in ("raw", "calp"):
            moved = np.abs(np.subtract(found[made], of_paper[made]))
            assert moved[tables.COLUMNS.index("RCL")] < 0.7
            assert np.delete(moved, tables.COLUMNS.index("RCL")) == pytest.approx(0, abs=1e-12)
        *risks, nce, rcl, ece_mc, ece = np.abs(np.subtract(found["cal"], of_paper["cal"]))
        assert max(risks) < 0.02
        assert nce < 0.002
        assert max(rcl, ece_mc, ece) < 0.7


@pytest.mark.slow
def test_scores_of_many_classes_stand_alone(monkeypatch):
    monkeypatch.setattr(tables, "SHIPPED_SYSTEMS", {})
    rows = dict(tables.table_2([ScoreSet("mine", shipped("agnews_gpt2"))]).rows)
    assert "mine calp" not in rows
    *numbers, ece = rows["mine cal"]
    assert ece is None
    assert [round(number.computed, 1) for number in numbers] == [0.4, 1.0, 0.8, 0.5, -0.1, 3.7]
