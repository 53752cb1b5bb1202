"""The recipe for MLflow, as the page has it, and the notebook for marimo."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_ec as ec

pytestmark = pytest.mark.platforms

ROOT = Path(__file__).parents[1]

RECIPE = re.search(
    r"^## MLflow\n\n```text\n(.*?)^```",
    (ROOT / "docs" / "integrations" / "recipes.md").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)


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


class Slider:
    """Stands for the slider, at another cost."""

    value = 3


def test_the_marimo_notebook_follows_its_slider() -> None:
    specification = importlib.util.spec_from_file_location("costs", ROOT / "examples" / "notebooks" / "costs.py")
    notebook = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(notebook)
    for found, cost_fn in ((notebook.app.run()[1], 10), (notebook.app.run(defs={"cost_fn": Slider()})[1], 3)):
        malignant, costs = found["log"]["malignant"].to_numpy(), []
        for model in ("bayes", "linear"):
            decided = found["log"][model].to_numpy() > 1 / (1 + cost_fn)
            costs.append((cost_fn * (malignant & ~decided) + (~malignant & decided)).mean())
        assert found["report"]["expected_cost"].to_list() == pytest.approx(costs)
        assert found["comparison"]["difference"].item() == pytest.approx(costs[1] - costs[0])
        assert found["chart"].to_dict()["layer"]
