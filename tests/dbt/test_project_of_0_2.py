"""A project that used the dbt package of version 0.2: each of its calls parses, and dbt builds it to the tables of today's project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.fixtures.make_0_2 import FOLDER, dbt_arguments
from tests.support.dbt_project import SEED, Project, scores
from tests.support.dbt_text import FOLDER as MACROS


def test_arguments_keep_their_names_and_places() -> None:
    now = dbt_arguments(MACROS)
    for name, arguments in json.loads((FOLDER / "dbt_arguments.json").read_text("utf-8")).items():
        assert now[name][: len(arguments)] == arguments


@pytest.mark.dbt
def test_dbt_builds_it(project: Project, tmp_path: Path) -> None:
    if project.engine == "postgres":
        pytest.skip("both projects would write the same tables")
    old = Project(Path(shutil.copytree(FOLDER / "dbt", tmp_path / "dbt")), project.engine)
    shutil.copy(SEED, old.folder / "seeds")
    (old.folder / "packages.yml").write_text(f"packages: [{{local: {project.folder.parent}}}]\n", "utf-8")
    old.done("deps")
    old.done("build", "--exclude", "tag:must_fail")
    models = [name for name in old.results() if (old.folder / "models" / f"{name}.sql").exists()]
    assert len(models) == (15 if project.engine == "duckdb" else 14)
    for name in models:
        table = old.table(name)
        if name == "sketch_by_code":
            assert table["n"].filter(table["table"] == "cells").sum() == scores().height
            options = {"resolution": 8, "thresholds": [0.5], "weighted": True, "cluster": "code", "buckets": 20}
            plain = pl.col("segment") == "plain"
            table = ec.Sketch.from_arrow(table.filter(plain), **options).evaluate("recall", threshold=0.5)
            rows = scores().filter(plain, "late", pl.col("p") > 0.5), scores().filter(plain, "late")
            wanted = table.with_columns(recall=pl.lit(rows[0]["w"].sum() / rows[1]["w"].sum()))
        else:
            # Today's project has more metrics.
            wanted = project.table(name).select(table.columns)
        # Bounds are quotients of sums whose order is that of the threads.
        assert_frame_equal(table, wanted, check_row_order=False, rel_tol=1e-6, abs_tol=1e-9)
