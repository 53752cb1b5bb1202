"""Some groups of the table of sums, as arrays: what intervals are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.reporting.draws import Entries
from polars_ec.reporting.features import AGAINST, DECISIONS, Features
from polars_ec.reporting.models import Model
from polars_ec.reporting.squares import BUCKET, TWICE, UNITS
from polars_ec.reporting.sums import CLASS_OF_SUMS, is_collected
from polars_ec.rows.kernel import CLASS, DECISION, WEIGHT

if TYPE_CHECKING:
    import numpy as np

    from polars_ec.intervals.estimates import Clusters
    from polars_ec.intervals.spread import Moments

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Chunk:
    """Some rows of the table of sums, and the sums of their buckets."""

    def __init__(self, table: pl.DataFrame, n_buckets: int | None) -> None:
        import numpy as np

        self.table, self.n_buckets = table, n_buckets
        self._listed: dict[str, _Listed] = {}
        if UNITS not in table.columns:
            return
        lists = table[UNITS]
        group = np.repeat(np.arange(table.height), lists.list.len().to_numpy())
        rows = lists.explode().struct.unnest()
        bucket = np.zeros_like(group)
        if n_buckets is not None:
            # Rows without a cluster are in one more bucket, the last.
            bucket = rows[BUCKET].fill_null(n_buckets).to_numpy()
        index = rows[CLASS_OF_SUMS].fill_null(-1).to_numpy()
        used = index >= 0
        self._rows, self._used = rows, used
        self._place = group[used], bucket[used].astype(np.int64), index[used].astype(np.int64)

    def of_groups(self, model: Model, name: str) -> Numbers:
        """A sum of each group, (groups, classes); NaN for what is more than a float holds."""
        import numpy as np

        if is_collected(model):
            return _finite(self._cells(model).sum(name, by_bucket=False))
        columns = [self.table[f"{model.prefix}{name}_{i}"].to_numpy() for i in range(model.rows.costs.n_classes)]
        return _finite(np.stack(columns, axis=-1).astype(np.float64))

    def of_buckets(self, model: Model, name: str) -> Numbers:
        """The same of each bucket, (groups, buckets, classes), and of the rows that are in none."""
        import numpy as np

        assert self.n_buckets is not None
        if is_collected(model):
            return _finite(self._cells(model).sum(name, by_bucket=True))
        shape = (self.table.height, self.n_buckets + 1, model.rows.costs.n_classes)
        values = self._rows[f"{model.prefix}{name}"].to_numpy()[self._used]
        place = np.ravel_multi_index(self._place, shape)
        return _finite(np.bincount(place, values, minlength=int(np.prod(shape))).reshape(shape))

    def entries(self, model: Model, names: Sequence[str]) -> Entries:
        """The entries of the lists, with sums of these names."""
        if is_collected(model):
            cells = self._cells(model)
            return Entries.of(model, (cells.group, cells.bucket, cells.index), cells.of_rows, names, self.n_buckets)
        prefix, rows, used = model.prefix, self._rows, self._used
        return Entries.of(model, self._place, lambda x: rows[f"{prefix}{x}"].to_numpy()[used], names, self.n_buckets)

    def _cells(self, model: Model) -> _Listed:
        if model.prefix not in self._listed:
            self._listed[model.prefix] = _Listed(self.table, model, self.n_buckets)
        return self._listed[model.prefix]

    def has_alone(self, model: Model) -> bool:
        """Whether there are rows without a cluster."""
        place = self._cells(model).bucket if is_collected(model) else self._place[1]
        return bool((place == self.n_buckets).any())

    def moments(self, features: Features) -> Moments:
        """Of each group."""
        return features.moments(lambda name: self.of_groups(features.model, name))

    def clusters(self, features: Features, unit: Numbers) -> Clusters | None:
        """Of each group the buckets; None where rows are independent."""
        from polars_ec.intervals.estimates import Clusters

        if self.n_buckets is None:
            return None
        alone, n_buckets = None, self.n_buckets
        if self.has_alone(features.model):
            alone = features.moments(lambda name: self.of_buckets(features.model, name)[:, n_buckets])
        weight = self.of_buckets(features.model, "count")[:, :n_buckets].sum(axis=-1)
        linear = features.linear(lambda name: self.of_buckets(features.model, name)[:, :n_buckets])
        return Clusters(linear, weight, unit, alone)


class _Listed:
    """The cells of groups of many classes, each with its group, bucket, class and decision."""

    def __init__(self, table: pl.DataFrame, model: Model, n_buckets: int | None) -> None:
        import numpy as np

        lists = table[f"{model.prefix}cells"]
        rows = lists.explode(empty_as_null=False, keep_nulls=False).struct.unnest()
        group = np.repeat(np.arange(table.height), lists.list.len().to_numpy())
        used = rows[CLASS].fill_null(-1).to_numpy() >= 0
        self._rows, self.group = rows.filter(pl.Series(used)), group[used]
        self.index = self._rows[CLASS].to_numpy().astype(np.int64)
        self.bucket = np.zeros_like(self.group)
        if n_buckets is not None:
            self.bucket = self._rows[BUCKET].fill_null(n_buckets).to_numpy().astype(np.int64)
        self._shape = (table.height, (n_buckets or 0) + 1, model.rows.costs.n_classes, model.rows.costs.n_decisions)

    def sum(self, name: str, by_bucket: bool) -> Numbers:
        """Of each group, perhaps bucket, class and perhaps decision."""
        import numpy as np

        place, shape = [self.group, self.bucket, self.index], list(self._shape[:3])
        name, suffix = name.removesuffix(TWICE), TWICE if name.endswith(TWICE) else ""
        if name == DECISIONS or name.startswith(AGAINST):
            place.append(self._rows[DECISION].to_numpy().astype(np.int64))
            shape.append(self._shape[3])
        if name.startswith(AGAINST):
            k = int(name.removeprefix(AGAINST))
            place[2:], shape[2:] = [(values == k).astype(np.int64) for values in place[2:]], [2, 2]
        if name in (DECISIONS, "count") or name.startswith(AGAINST):
            name = WEIGHT
        if not by_bucket:
            del place[1], shape[1]
        code = np.ravel_multi_index(place, shape)
        values = self._rows[f"{name}{suffix}"].to_numpy()
        return np.asarray(np.bincount(code, values, minlength=int(np.prod(shape))).reshape(shape))

    def of_rows(self, name: str) -> Numbers:
        """The rows or their weight, as `count`, the squares of that, or a loss, of each entry."""
        return self._rows[name.replace("count", WEIGHT)].to_numpy()


def _finite(values: Numbers) -> Numbers:
    import numpy as np

    return np.where(np.isfinite(values), values, np.nan)
