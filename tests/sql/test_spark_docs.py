"""The code of docs/integrations/spark.md that is for Spark runs as it stands there, and gives what Polars gives. Run by `make test-spark`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.spark import assert_same, start

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

PAGE = (Path(__file__).parents[2] / "docs/integrations/spark.md").read_text("utf-8")
BLOCKS = re.findall(r"^```py\n(.*?)^```", PAGE.split("## Any other engine")[0], re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    n = 4000
    p, late = rng.beta(1, 2, n), rng.random(n) < 0.4
    return pl.DataFrame(
        {
            "p": p,
            "q": 1 - p,
            "scores": np.stack([1 - p, p], axis=1).tolist(),
            "late": late,
            "outcome": np.where(late, "it's late", "on time"),
            "month": rng.integers(1, 4, n),
            "carrier": rng.choice(["AA", "UA"], n),
            "ts": pl.Series(
                [datetime(2026, month, 9) for month in rng.integers(1, 4, n)], dtype=pl.Datetime("us", "UTC")
            ),
            "amount": rng.integers(1, 900, n),
            "user": rng.integers(0, 300, n),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, log: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """What all blocks leave behind."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "logs").mkdir()
    log.write_parquet(folder / "logs" / "log.parquet")
    names: dict[str, Any] = {"spark": start("local[2]", folder)}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in BLOCKS:
            # Java has the folder in which it was started.
            exec(block.replace('"logs/"', repr(str(folder / "logs"))), names)
        names["file"] = ec.Sketch.read_parquet("sketch.parquet")
        yield names
    names["spark"].stop()


def test_sketches(made: dict[str, Any], log: pl.DataFrame) -> None:
    wanted = ec.sketch(log, "p", "late", by="month", cost_fn=5)
    assert_same(made["sketch"], wanted)
    assert_same(made["file"], wanted)
    names = ["month", "n", "nec", "nec_ci_low", "nec_ci_high"]
    values = wanted.evaluate("nec", "auc_roc", cost_fn=5, interval=0.95)
    assert_frame_equal(made["values"].select(names), values.select(names), rel_tol=1e-11)
    by = [pl.col("ts").dt.date().dt.truncate("1mo").alias("of_month"), "carrier"]
    assert_same(made["months"], ec.sketch(log, ["p", "q"], "late", by=by))
    assert_same(made["shipped"], ec.sketch(log, "p", "late", weight=pl.col("amount") / 100))
    assert_same(made["by_user"], ec.sketch(log, "p", "outcome", pos_label="it's late", cluster="user"))


def test_report(made: dict[str, Any], log: pl.DataFrame) -> None:
    found = pl.DataFrame(made["report"].toArrow())
    wanted = ec.report(log, "p", "late", by="month", cost_fn=5, prior=0.2, interval=0.95)
    shared = [name for name in found.columns if name in wanted.columns]
    assert {"month", "n", "nec", "nec_at_prior", "nce", "f1", "nec_ci_low", "f1_at_prior_ci_high"} <= set(shared)
    assert_frame_equal(found.select(shared), wanted.select(shared), rel_tol=1e-9)
