"""Numbers that Siblini et al. print in "Master your metrics with calibration"."""

from __future__ import annotations

from tests.support.papers import counted, exactly


def test_calibrated_precision(metric):
    """TP / (TP + r FP) with r = pi (1 - pi0) / (pi0 (1 - pi)); pi0 = pi is the plain metric."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("precision", frame, **options) == exactly(0.5)
    for prior, expected in ((0.5, 0.9), (0.1, 0.5), (0.01, 0.08333333333333333)):
        r = 0.1 * (1 - prior) / (prior * 0.9)
        assert metric("precision", frame, prior=prior, **options) == exactly(expected)
        assert expected == exactly(90 / (90 + r * 90))
        assert expected == exactly(0.9 / (0.9 + (1 - prior) / prior * 0.1))
    assert metric("f1", frame, prior=0.5, **options) == exactly(0.9)
    assert metric("f1", frame, prior=0.1, **options) == exactly(metric("f1", frame, **options))


def test_precision_gain_and_recall_gain(metric):
    """A reference prior leaves precision gain as it is, and recall gain is (recall - pi0) / ((1 - pi0) recall)."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    plain = metric("precision_gain", frame, **options)
    assert plain == exactly((0.5 - 0.1) / ((1 - 0.1) * 0.5))
    for prior in (0.5, 0.1, 0.01):
        assert metric("precision_gain", frame, prior=prior, **options) == exactly(plain)
        expected = (0.9 - prior) / ((1 - prior) * 0.9)
        assert metric("recall_gain", frame, prior=prior, **options) == exactly(expected)
