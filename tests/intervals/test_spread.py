"""Variances and degrees of freedom, where rounding would show."""

from __future__ import annotations

import numpy as np
import pytest

from polars_ec.inference.confidence import cluster_influence


def test_a_class_in_one_cluster_has_no_spread_of_its_own() -> None:
    """Six clusters, class 1 in the first alone: degrees of freedom are those of class 0 and of the clusters, not of what rounding leaves."""
    rng = np.random.default_rng(0)
    weight, influence = rng.uniform(1, 2, (300, 6, 2)), rng.normal(0, 1, (300, 6, 2))
    weight[:, 1:, 1] = influence[:, 1:, 1] = 0.0
    made = cluster_influence(weight, influence, weight.sum(axis=-1))
    whole = weight.sum(axis=-1)
    mean = influence.sum(axis=1) / weight.sum(axis=1)
    within = ((influence - weight * mean[:, None])[..., 0] ** 2).sum(axis=-1)
    among = ((weight * mean[:, None]).sum(axis=-1) ** 2).sum(axis=-1)
    lost = within / (weight[..., 0].sum(axis=-1) ** 2 / (weight[..., 0] ** 2).sum(axis=-1) - 1)
    lost += among / (whole.sum(axis=-1) ** 2 / (whole**2).sum(axis=-1) - 1)
    assert made.df == pytest.approx((within + among) / lost, rel=1e-9)
