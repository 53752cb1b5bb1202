"""Operating points of detection (a prior and two costs): the equivalent prior at equal costs, and the mean DCF over several points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.classes import literal_prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.options import RowOptions
from polars_ec.arguments.scales import LLR, scale_of, score_type_of
from polars_ec.arguments.signatures import checked_keywords, with_options
from polars_ec.metrics.decisions import decision_metric
from polars_ec.typing import IntoExpr


@checked_keywords
def effective_prior(prior: float, cost_fn: float = 1.0, cost_fp: float = 1.0) -> float:
    """The prior at which equal costs lead to the same decisions as these costs at this prior.

    P_1 C_fn / (P_1 C_fn + P_0 C_fp), in [0, 1]. The `dcf` at (prior, cost_fn, cost_fp) is that at (effective prior, 1, 1).

    Parameters
    ----------
    prior
        The prior of the positive class, a number between 0 and 1.
    cost_fn, cost_fp
        Costs of a miss and of a false alarm, non-negative numbers. Default 1 each.

    Raises
    ------
    ValueError
        A prior outside [0, 1], an invalid cost, or a cost of 0 for every class with prior above 0.

    References
    ----------
    Cumani, "Bayes decisions and model evaluation", section on Bayes decisions.

    Examples
    --------
    >>> import polars_ec as ec
    >>> round(ec.effective_prior(0.1, cost_fn=1, cost_fp=9), 6)
    0.012195
    """
    negative, positive = literal_prior(prior, 2)
    (_, alarm), (miss, _) = CostMatrix.binary(cost_fn, cost_fp).values
    # Costs in units of the larger one: neither their products nor their sum overflows.
    unit = max(miss, alarm) or 1.0
    of_misses, of_alarms = positive * (miss / unit), negative * (alarm / unit)
    if of_misses + of_alarms == 0:
        raise ValueError(
            f"no error costs anything at prior={prior!r}, cost_fn={cost_fn!r}, cost_fp={cost_fp!r}, so all decisions cost the same"
        )
    return of_misses / (of_misses + of_alarms)


@with_options(
    RowOptions, raises='No operating point, or one that is not three numbers; a `score_type` other than "llr".'
)
def c_primary(
    score: IntoExpr,
    label: IntoExpr,
    operating_points: Sequence[tuple[float, float, float]],
    **options: Unpack[RowOptions],
) -> pl.Expr:
    """Mean of the normalised detection costs (DCFs) of log-likelihood ratios over several operating points.

    Lower is better; in [0, inf): 0 is perfect, 1 is naive at every point. (1/n) sum_k DCF(P_k, C_fn,k, C_fp,k), the `dcf` at each operating
    point with its own Bayes decisions.

    Parameters
    ----------
    score
        Column name or expression: natural log-likelihood ratios.
    operating_points
        A list of (prior, cost_fn, cost_fp): the prior of the positive class, and the costs of a miss and of a false alarm.
    score_type
        It must be "llr", log-likelihood ratios.

    Returns
    -------
    Float64, one per group; null if a class has no rows, or the naive cost of a point is 0.

    References
    ----------
    NIST 2016 Speaker Recognition Evaluation Plan, section 3.1; Cumani, "Bayes decisions and model evaluation", for the DCF.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -0.5, 1.0, -3.0], "y": [1, 1, 0, 0]})
    >>> points = [(0.5, 1, 1), (0.9, 1, 1)]
    >>> log.select(ec.c_primary("llr", "y", points, score_type="llr").round(4)).item()
    0.75
    """
    if scale_of(options) is not LLR:
        raise ValueError(
            "c_primary needs log-likelihood ratios, because the decisions differ between operating points, but "
            f"score_type={score_type_of(options)!r}. Convert with llr(score, prior) and pass score_type='llr'"
        )
    costs = [
        decision_metric("dcf", score, label, {**options, **point}, by_row=(), column="c_primary")
        for point in _points(operating_points)
    ]
    return reduce(add, costs) / len(costs)


def _points(operating_points: Any) -> list[dict[str, float]]:
    points = list(operating_points) if hasattr(operating_points, "__iter__") else []
    if not points or isinstance(operating_points, str):
        raise ValueError(f"operating_points={operating_points!r} must list at least one (prior, cost_fn, cost_fp)")
    for point in points:
        if not isinstance(point, tuple | list) or len(point) != 3 or not hasattr(point[0], "__float__"):
            raise ValueError(f"operating_points: {point!r} is not (prior, cost_fn, cost_fp), three numbers")
    return [dict(zip(("prior", "cost_fn", "cost_fp"), point, strict=True)) for point in points]
