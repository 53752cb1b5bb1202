"""Each test of a paper takes its metrics through a door; `make test` through one, since the property tests prove that doors agree."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.support.cases import mostly_slow
from tests.support.doors import DOORS, evaluate


@pytest.fixture(params=mostly_slow(DOORS, ["function"]))
def metric(request):
    """A metric through each door: metric(name, frame, **keywords)."""

    def call(name: str, frame: pl.DataFrame, score: str = "score", **keywords: Any) -> Any:
        return evaluate(request.param, name, frame, score, **keywords)

    return call
