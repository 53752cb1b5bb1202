"""The log of flights and its sketches, in as many files as the module's FILES says."""

from __future__ import annotations

import pytest

from tests.support.sketch_jobs import sketch, write_files


@pytest.fixture(autouse=True)
def _macros(macros_at_hand):
    """For reports on DuckDB within this process."""


@pytest.fixture
def logs(request, tmp_path):
    return write_files(tmp_path / "logs", files=request.module.FILES)


@pytest.fixture
def out(logs, tmp_path):
    sketch(logs, out=tmp_path / "out")
    return tmp_path / "out"
