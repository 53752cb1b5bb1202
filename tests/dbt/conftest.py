"""One project for all tests that dbt runs on an engine, built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.dbt_project import DSN, Project, built_project
from tests.support.dbt_sketches import MODELS

ENGINES = ["duckdb", "duckdb_plain", pytest.param("postgres", marks=pytest.mark.skipif(not DSN, reason="needs DSN"))]


@pytest.fixture(scope="session", params=ENGINES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from built_project(tmp_path_factory.mktemp(request.param) / "dbt", request.param, MODELS)
