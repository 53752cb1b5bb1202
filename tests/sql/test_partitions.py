"""The recipes of docs/integrations/spark.md for Ray and Daft: each runs as it stands there, and gives the sketch of the whole log. Run by `make test-partitions`.

What such engines need of a sketch, that it pickles and that thousands of them merge, is run with all other tests.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

PAGE = (Path(__file__).parents[2] / "docs/integrations/spark.md").read_text("utf-8")
HEAD, *BLOCKS = re.findall(
    r"^```py\n(.*?)^```", PAGE.split("The recipes below start with")[1], re.DOTALL | re.MULTILINE
)
RECIPES = dict(zip(("ray", "ray data", "daft on ray"), BLOCKS, strict=True))
ASKED: dict[str, Any] = {"score": "p", "label": "late", "by": "month", "cost_fn": 5, "cluster": "user"}
FILES, ROWS = 6, 5_000


def make_log() -> pl.DataFrame:
    """With a score that is wrong in one file, and labels and months that are missing."""
    rng = np.random.default_rng(5)
    n = FILES * ROWS
    rows = pl.int_range(n)
    log = pl.DataFrame({"p": rng.beta(0.5, 1, n), "user": rng.integers(0, 400, n), "of": rng.integers(1, 4, n)})
    return log.select(
        pl.when(rows == n - 1).then(1.5).otherwise("p").alias("p"),
        pl.when(rows % 97 > 0).then(pl.Series(rng.random(n)) < pl.col("p")).alias("late"),
        pl.when(rows % 89 > 0).then(pl.date(2026, pl.col("of"), 1)).alias("month"),
        pl.format("u{}", "user").alias("user"),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the recipes run: the log is in files below `logs`."""
    place = tmp_path_factory.mktemp("partitions")
    (place / "logs").mkdir()
    for i, part in enumerate(make_log().iter_slices(ROWS)):
        part.write_parquet(place / "logs" / f"{i}.parquet")
    return place


def assert_same(found: ec.Sketch) -> None:
    """The sketch of the whole log: counts are equal, and sums to rounding."""
    wanted = ec.sketch(make_log(), **ASKED)
    assert found.frame.equals(wanted.frame)
    assert found.coarse is not None
    assert found.coarse.equals(wanted.coarse)
    assert found.sums is not None
    assert wanted.sums is not None
    assert_frame_equal(found.sums, wanted.sums, rel_tol=1e-12, abs_tol=0)
    assert (found.grid, found.costs, found.cluster, found.hash) == (
        wanted.grid,
        wanted.costs,
        wanted.cluster,
        wanted.hash,
    )
    values = [sketch.evaluate("nec", "auc_roc", interval=0.95) for sketch in (found, wanted)]
    assert_frame_equal(*values, rel_tol=1e-9)


def run(code: str, folder: Path) -> ec.Sketch:
    """What a recipe calls `sketch`, made by a process of its own."""
    script, made = folder / "recipe.py", folder / "sketch.parquet"
    made.unlink(missing_ok=True)
    script.write_text(f"{HEAD}\n{code}\nsketch.write_parquet({made.name!r})\n", "utf-8")
    done = subprocess.run([sys.executable, script.name], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ec.Sketch.read_parquet(made)


@pytest.mark.partitions
@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes(recipe: str, folder: Path) -> None:
    pytest.importorskip(recipe.split()[0])
    assert_same(run(RECIPES[recipe], folder))


@pytest.mark.partitions
def test_small_batches_of_ray_data(folder: Path) -> None:
    pytest.importorskip("ray")
    assert "batch_size=None" in RECIPES["ray data"]
    assert_same(run(RECIPES["ray data"].replace("batch_size=None", "batch_size=3_000"), folder))


@pytest.mark.partitions
def test_a_frame_of_daft_is_a_table(folder: Path) -> None:
    daft = pytest.importorskip("daft")
    log = daft.read_parquet(str(folder / "logs" / "*.parquet"))
    assert_same(ec.sketch(log, **ASKED))
    report = ec.report(log, "p", "late", by="month", cost_fn=5)
    assert_frame_equal(report, ec.report(make_log(), "p", "late", by="month", cost_fn=5), rel_tol=1e-12)


def test_a_sketch_pickles() -> None:
    whole = ec.sketch(make_log(), **ASKED)
    assert_same(pickle.loads(pickle.dumps(whole)))


@pytest.mark.slow
def test_the_sketch_of_parts_is_that_of_the_whole() -> None:
    """However the log was cut: here into parts of every size, some without rows, put together in another order."""
    log, rng = make_log(), np.random.default_rng(1)
    cuts = np.sort(rng.integers(0, log.height, 20))
    parts = [log[low:high] for low, high in zip([0, *cuts], [*cuts, log.height], strict=True)]
    sketches = [ec.sketch(part, **ASKED) for part in parts]
    assert_same(ec.merge([sketches[i] for i in rng.permutation(len(sketches))]))


@pytest.mark.slow
def test_thousands_of_sketches_merge() -> None:
    part = ec.sketch(make_log().head(200), **ASKED)
    merged = ec.merge([part] * 2000)
    assert merged.frame["n"].sum() == 2000 * 200
    assert merged.frame.with_columns(pl.col("n") // 2000).equals(part.frame)
