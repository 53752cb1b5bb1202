"""Siblini et al., "Master your metrics with calibration": calibrated metrics of decisions through every door.

The entries of the paper ask functions and sketches; these are the numbers that macros and methods have to give as well.
"""

from __future__ import annotations

from examples.papers.calibration.equations import COUNTS, DERIVED, FN, FP, OWN, RECALL, TP
from tests.support.papers import counted, exactly

OPTIONS = {"score_type": "decision", "weight": "n"}


def test_calibrated_precision(metric):
    """TP / (TP + r FP) with r = pi (1 - pi0) / (pi0 (1 - pi)); pi0 = pi is the plain metric."""
    assert metric("precision", counted(COUNTS), **OPTIONS) == exactly(DERIVED[OWN])
    for prior, expected in DERIVED.items():
        assert metric("precision", counted(COUNTS), prior=prior, **OPTIONS) == exactly(expected)
    assert metric("f1", counted(COUNTS), prior=0.5, **OPTIONS) == exactly(0.9)
    assert metric("f1", counted(COUNTS), prior=OWN, **OPTIONS) == exactly(2 * TP / (2 * TP + FP + FN))


def test_precision_gain_and_recall_gain(metric):
    """A reference prior leaves precision gain as it is, and recall gain is (recall - pi0) / ((1 - pi0) recall)."""
    plain = (DERIVED[OWN] - OWN) / ((1 - OWN) * DERIVED[OWN])
    assert metric("precision_gain", counted(COUNTS), **OPTIONS) == exactly(plain)
    for prior in DERIVED:
        assert metric("precision_gain", counted(COUNTS), prior=prior, **OPTIONS) == exactly(plain)
        expected = (RECALL - prior) / ((1 - prior) * RECALL)
        assert metric("recall_gain", counted(COUNTS), prior=prior, **OPTIONS) == exactly(expected)
