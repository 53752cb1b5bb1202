"""The scale on which a metric is nearest to normal: where its limits are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.costs import CostMatrix

Floats: TypeAlias = NDArray[np.float64]
Scale: TypeAlias = Literal["identity", "log", "logit", "atanh"]


@dataclass(frozen=True)
class _Functions:
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    slope: Callable[[Any], Any]


_FUNCTIONS: Mapping[Scale, _Functions] = MappingProxyType(
    {
        "identity": _Functions(lambda x: x, lambda z: z, np.ones_like),
        "log": _Functions(np.log, np.exp, lambda x: 1 / x),
        "logit": _Functions(
            lambda x: np.log(x) - np.log1p(-x), lambda z: 1 / (1 + np.exp(-z)), lambda x: 1 / (x * (1 - x))
        ),
        "atanh": _Functions(np.arctanh, np.tanh, lambda x: 1 / (1 - x * x)),
    }
)

# Of shares that are summed over classes.
_ROUNDING = 1e-12

_OF_LOSSES = (
    *("expected_cost", "bayes_risk", "nec", "class_nec", "macro_nec", "dcf", "lr_plus", "lr_minus"),
    *("cross_entropy", "nce", "brier", "nbs", "cllr", "epsr"),
    *("min_dcf", "min_expected_cost", "min_cllr"),
)
# Those of them that costs below 0 have too.
_OF_COSTS = ("expected_cost", "bayes_risk")
_OF_CORRELATIONS = ("mcc", "informedness")
# They have no lower end, or pass through 0.
_AS_THEY_ARE = ("net_benefit", "precision_gain", "recall_gain", "fbeta_gain", "auprg", "cal_loss", "rcl", "markedness")


def scale_of(metric: str, costs: CostMatrix | None = None) -> Scale:
    """That of the metric of this name, whatever prior it is at: rates and areas are shares. Costs below 0 make it one of any sign."""
    if costs is not None and metric in _OF_COSTS and min(map(min, costs.values)) < 0:
        return "identity"
    if metric in _OF_LOSSES:
        return "log"
    if metric in _OF_CORRELATIONS:
        return "atanh"
    return "identity" if metric in _AS_THEY_ARE else "logit"


def is_at_end(scale: Scale, values: Floats) -> NDArray[np.bool_]:
    """Whether a value is at an end of its scale, but for rounding; costs may be of any size, and are at theirs at 0 alone."""
    if scale in ("logit", "atanh"):
        lower = -1.0 if scale == "atanh" else 0.0
        return np.asarray(np.minimum(values - lower, 1 - values) <= _ROUNDING)
    return ~np.isfinite(forward(scale, values))


def forward(scale: Scale, values: Floats) -> Floats:
    """From the metric to its scale; infinite or NaN at and beyond its ends."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].forward(values), dtype=np.float64)


def inverse(scale: Scale, values: Floats) -> Floats:
    """From the scale to the metric."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].inverse(values), dtype=np.float64)


def slope(scale: Scale, values: Floats) -> Floats:
    """How fast the scale runs at these values of the metric."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].slope(values), dtype=np.float64)
