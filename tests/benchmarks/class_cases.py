"""Cases of K classes: ten, a hundred, a thousand; the floor of the large ones is NumPy's matrix product."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks.case import Query, Values
from tests.benchmarks.polars_cases import per_segment

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


def report(paths: list[str]) -> Query:
    import polars as pl

    import polars_ec  # noqa: F401  (registers the namespace)

    return lambda: (
        pl.scan_parquet(paths)
        .ec.report("posteriors", "label", by="segment", prior="uniform")
        .collect(engine="streaming")
    )


def metrics(paths: list[str], names: tuple[str, ...], with_costs: bool = False) -> Query:
    """Metrics as expressions in one agg; with costs, all of a matrix's entries are other than 0-1."""
    import polars as pl

    import polars_ec as ec

    log = pl.scan_parquet(paths)
    options = {"costs": _costs(_n_classes(log))} if with_costs else {}
    return lambda: per_segment(log, [getattr(ec, name)("posteriors", "label", **options).alias(name) for name in names])


def column(paths: list[str]) -> Query:
    """A scan of the column of posteriors."""
    import polars as pl

    return lambda: pl.scan_parquet(paths).select(pl.col("posteriors").arr.sum().sum()).collect(engine="streaming")


def product(paths: list[str]) -> Query:
    """Expected costs of all decisions for all rows: the matrix product that NEC cannot do without, of one array."""
    import polars as pl

    log = pl.scan_parquet(paths)
    posteriors = log.select("posteriors").collect().to_series().to_numpy()
    costs = _costs(posteriors.shape[1])

    def query() -> Values:
        expected = posteriors @ costs
        return partial(_nec_by_numpy, log, expected, costs)

    return query


def _nec_by_numpy(log: pl.LazyFrame, expected: np.ndarray, costs: np.ndarray) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    rows = log.select("segment", "label").collect()
    n_classes, label = len(costs), rows["label"].to_numpy()
    cost = costs[label, expected.argmin(axis=1)]
    segments = rows["segment"].to_numpy()
    table = []
    for segment in np.unique(segments):
        of_segment = segments == segment
        shares = np.bincount(label[of_segment], minlength=n_classes) / of_segment.sum()
        table.append({"segment": segment, "nec": cost[of_segment].mean() / (shares @ costs).min()})
    return pl.DataFrame(table).sort("segment")


def plan(paths: list[str], as_list: bool = False) -> Query:
    """NEC with a full matrix, NCE and error rate of ten rows: what they take to plan."""
    import polars as pl

    import polars_ec as ec

    rows = pl.scan_parquet(paths).head(10).collect()
    costs = ec.CostMatrix(_costs(_n_classes(rows.lazy())))
    if as_list:
        rows = rows.with_columns(pl.col("posteriors").arr.to_list())
    named = {"classes": range(costs.n_classes)} if as_list else {}

    def query() -> pl.DataFrame:
        metrics = {"nec": ec.nec("posteriors", "label", costs=costs, **named)}
        metrics |= {metric.__name__: metric("posteriors", "label", **named) for metric in (ec.nce, ec.error_rate)}
        found = per_segment(rows.lazy(), [metric.alias(f"{name}_of_ten") for name, metric in metrics.items()])
        # Ten rows have fewer segments than the log.
        return found.drop("segment")

    return query


def _n_classes(log: pl.LazyFrame) -> int:
    import polars as pl

    dtype = log.collect_schema()["posteriors"]
    assert isinstance(dtype, pl.Array)
    return dtype.size


def _costs(n_classes: int) -> np.ndarray:
    """Errors that cost each something else; right decisions cost nothing."""
    import numpy as np

    costs = np.random.default_rng(0).uniform(1, 3, (n_classes, n_classes))
    np.fill_diagonal(costs, 0)
    return costs
