"""The recipe for MLflow, as the page has it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_ec as ec

RECIPE = re.search(
    r"^## MLflow\n\n```text\n(.*?)^```",
    (Path(__file__).parents[1] / "docs" / "integrations" / "recipes.md").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.mlflow
def test_a_run_has_the_metrics_and_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    score = np.random.default_rng(1).random(1000)
    late = np.random.default_rng(2).random(1000) < score
    names = {"mlflow": mlflow, "ec": ec, "log": pl.DataFrame({"score": score, "label": late})}
    exec(RECIPE[1], names)
    run = mlflow.last_active_run()
    missed, false = 5 * (late & (score <= 1 / 6)).sum(), (~late & (score > 1 / 6)).sum()
    expected = (missed + false) / min(5 * late.sum(), (~late).sum())
    assert run.data.metrics["nec"] == pytest.approx(expected)
    assert run.data.metrics["nec_ci_low"] < expected < run.data.metrics["nec_ci_high"]
    assert [file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id)] == ["page.html"]
