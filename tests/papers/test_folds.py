"""Folds of the papers' cross-validation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from examples.papers.simulated import FOLDS, stratified_folds, with_folds


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[159, 40], [8, 30, 21]])
@pytest.mark.parametrize("seed", [0, 3])
def test_folds_are_those_of_the_papers(counts, seed):
    """The papers take them from scikit-learn."""
    model_selection = pytest.importorskip("sklearn.model_selection")
    label = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    folds = stratified_folds(pl.Series(label), np.random.RandomState(seed))
    splits = model_selection.StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(label, label)
    for fold, (_, held_out) in enumerate(splits):
        assert np.flatnonzero(folds == fold).tolist() == held_out.tolist()


def test_keys_lead_to_the_folds():
    frame = pl.DataFrame({"label": [0, 1] * 20})
    folds = stratified_folds(frame["label"], np.random.RandomState(0))
    assert with_folds(frame, folds)["fold"].to_list() == folds.tolist()
