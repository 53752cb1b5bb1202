"""The limits of a report's metrics by the bootstrap: of rows that are alike, or of clusters, that are drawn anew after the pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_ec.intervals.arguments import Request
from polars_ec.reporting.features import Features
from polars_ec.reporting.models import Model
from polars_ec.reporting.squares import ONCE, TWICE

if TYPE_CHECKING:
    import numpy as np

    from polars_ec.intervals.drawn import FormulaOf
    from polars_ec.intervals.estimates import Clusters
    from polars_ec.intervals.limits import Limits
    from polars_ec.intervals.spread import Moments

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Entries:
    """Sums of rows of a group and a class that are drawn together: `bucket` is -1 for those without a cluster, None if all are.

    `squares` are those of the weights.
    """

    group: Numbers
    index: Numbers
    bucket: Numbers | None
    sums: Mapping[str, Numbers]
    squares: Numbers

    @classmethod
    def of(
        cls,
        model: Model,
        place: tuple[Numbers, Numbers, Numbers],
        read: Callable[[str], Numbers],
        names: Sequence[str],
        n_buckets: int | None,
    ) -> Entries:
        """From the group, bucket (the one after the last for none) and class of each, and the sums of a name."""
        import numpy as np

        group, bucket, index = place
        squares = "count" if model.rows.weight is None else f"count{TWICE}"
        sums = {name: np.asarray(read(name), dtype=np.float64) for name in ("count", squares, *names)}
        alone = None if n_buckets is None else np.where(bucket == n_buckets, -1, bucket)
        return cls(group, index, alone, sums, sums[squares])


def drawn_limits(
    features: Features,
    moments: Moments,
    clusters: Clusters | None,
    estimates: Numbers,
    request: Request,
    formula_of: FormulaOf,
    entries: Callable[[Model, Sequence[str]], Entries],
) -> Limits:
    """The limits of metrics of these features, (groups, metrics)."""
    import numpy as np

    from polars_ec.intervals.drawn import drawn_of_decisions, drawn_of_values, limits_of_draws

    if features.values is None:
        drawn = drawn_of_decisions(moments, clusters)
    else:
        names, once = features.values, ONCE if features.weighted else ""
        rows = entries(features.model, [f"{name}{of}" for name in names for of in dict.fromkeys(("", once, TWICE))])
        weight, sums = rows.sums["count"], rows.sums
        with np.errstate(all="ignore"):
            means = [sums[name] / weight for name in names]
        squares = [(sums[f"{name}{once}"], sums[f"{name}{TWICE}"]) for name in names]
        shape = moments.linear.shape[:2]
        drawn = drawn_of_values(rows.group, rows.index, means, weight, squares, rows.squares, shape, rows.bucket)
    return limits_of_draws(formula_of, *drawn, estimates, request)
