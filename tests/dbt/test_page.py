"""What docs/integrations/dbt.md has to be pasted makes a project that dbt runs. Run by `make test-dbt`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_ec  # noqa: F401
from tests.support.dbt_project import run_dbt

pytestmark = pytest.mark.dbt

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/integrations/dbt.md").read_text("utf-8")
SKETCH = re.search(r"^```python\n(.*?from_arrow.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
FILES = dict(re.findall(r"^```(?:yaml|jinja)\n(?:#|--) (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def test_the_files_of_the_page(tmp_path: Path) -> None:
    assert set(FILES) >= {
        "packages.yml",
        "profiles.yml",
        "dbt_project.yml",
        "models/nec_by_month.sql",
        "models/sources.yml",
    }
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace("/path/to/this/repository", str(ROOT)), "utf-8")
    flights = (
        pl.select(i=pl.int_range(3000))
        .select(
            carrier=pl.when(pl.col("i") % 2 == 0).then(pl.lit("AA")).otherwise(pl.lit("UA")),
            ts=pl.datetime(2026, 1, 1) + pl.duration(hours=pl.col("i") % 2000),
            score=(pl.col("i") * 0.618034) % 1,
            late=(pl.col("i") * 0.618034) % 1 > (pl.col("i") * 0.414214) % 1,
        )
        .with_columns(day=pl.col("ts").dt.date())
    )
    with duckdb.connect(tmp_path / "flights.duckdb") as connection:
        rows = flights.to_arrow()
        connection.register("rows", rows)
        connection.execute("CREATE TABLE flights AS FROM rows")
    for command in ("deps", "build"):
        done = run_dbt(tmp_path, command)
        assert done.returncode == 0, done.stdout
    month = flights.with_columns(month=pl.col("ts").dt.truncate("1mo"))
    wanted = month.ec.report(
        "score", "late", by=["carrier", "month"], metrics=["nec", "precision"], cost_fn=5, prior=0.2
    )
    with duckdb.connect(tmp_path / "flights.duckdb", read_only=True) as connection:
        found = connection.sql("FROM nec_by_month ORDER BY carrier, month").pl()
    assert found.columns == wanted.columns
    assert found["nec_at_prior"].to_list() == pytest.approx(wanted["nec_at_prior"].to_list(), rel=1e-12)

    done = subprocess.run([sys.executable, "-c", SKETCH], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sketch = flights.ec.sketch("score", "late", by=["carrier"], thresholds=[0.5, 0.2], cluster="day")
    assert done.stdout == f"{sketch.evaluate('nec', 'auc_roc', threshold=0.2, interval=0.95)}\n"

    plain = run_dbt(tmp_path, "build", "--vars", "{polars_ec_macros: false}")
    assert plain.returncode == 0, plain.stdout
