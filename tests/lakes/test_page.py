"""The commands of docs/integrations/lakes.md do what stands there. Run by `make test-lake`."""

from __future__ import annotations

import re
import shlex

import pytest
from deltalake import write_deltalake

from tests.lakes.conftest import Bucket
from tests.lakes.logs import LOG, months
from tests.support.cli import ROOT, invoke, process, typed
from tests.support.iceberg_tables import make_catalog, properties_in

pytestmark = pytest.mark.lake

PAGE = (ROOT / "docs/integrations/lakes.md").read_text("utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
    if "duckdb:" not in line
]


@pytest.fixture
def lake(environment, tmp_path, monkeypatch):
    """What the page takes for granted, in the current folder and in a bucket."""
    flights = LOG.rename({"g": "carrier"})
    bucket = Bucket("flights", environment)
    bucket.ask("PUT", "")
    bucket.put_folder(months(tmp_path / "files", ".parquet", flights), "log/")
    write_deltalake(tmp_path / "tables" / "flights", flights)
    bucket.put_folder(tmp_path / "tables", "tables/")
    properties = properties_in(tmp_path)
    for name, value in {"type": "sql", **properties}.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name.upper()}", value)
    catalog = make_catalog("prod", properties, "scores")
    location = f"file://{tmp_path}/warehouse/flights"
    table = catalog.create_table("scores.flights", schema=flights.to_arrow().schema, location=location)
    table.append(flights.to_arrow().cast(table.schema().as_arrow()))
    catalog.close()
    return tmp_path


def test_commands(lake, monkeypatch):
    """As they are pasted, one after the other."""
    monkeypatch.chdir(lake)
    assert len(COMMANDS) == 9
    for line in COMMANDS:
        name, *args = shlex.split(line)
        assert name == "polars-ec"
        if "iceberg:" in line:
            # Catalogs are read from the environment once in a process.
            run = process(*args, cwd=lake)
            code, printed = run.returncode, run.stdout
        else:
            result = invoke(*args)
            code, printed = result.exit_code, result.output
        assert code == 0, (line, printed)
        assert "nec" in printed or " 300 rows" in printed
    # Each of the carriers is there, with all its rows.
    for sketches in ("sketches", "sketches-of-table"):
        table = typed(lake, "report", sketches, "--by", "carrier", "--metrics", "nec")
        assert table.select("carrier", "n").rows() == [("a", 100), ("b", 100), ("c", 100)]
