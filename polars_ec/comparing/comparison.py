"""A comparison, checked: what its tables are made of."""

from __future__ import annotations

from dataclasses import dataclass

from polars_ec.comparing.choice import Reference
from polars_ec.comparing.joint_pass import Pair
from polars_ec.comparing.rank_pass import Grids
from polars_ec.reporting.models import Model
from polars_ec.reporting.tables import Layout


@dataclass(frozen=True)
class Comparison:
    """What is compared, checked."""

    keys: tuple[str, ...]
    models: tuple[Model, ...]
    names: tuple[str, ...]
    reference: Reference
    layout: Layout
    level: float
    buckets: int | None
    min_rows: int | None = None
    grids: tuple[Grids, ...] = ()
    """Of each model, where there are ranking metrics."""

    @property
    def pairs(self) -> list[Pair]:
        """Each model, with its reference if that is one of them."""
        if self.reference.model is None:
            return [(model, None) for model in self.models]
        other = next(model for model in self.models if model.name == self.reference.model)
        return [(model, other) for model in self.models if model is not other]
