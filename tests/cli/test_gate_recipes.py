"""The recipes of docs/reference/gates.md: each is run as it stands there, with a command that ends as the test says."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import polars as pl
import pytest

from tests.support.cli import ROOT, invoke

PAGE = (ROOT / "docs/reference/gates.md").read_text("utf-8")
LINE = "polars-ec: carrier=UA: nec_at_prior_ci_low is 1.04318 (--fail-if 'nec_at_prior_ci_low > 1')"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


(OPERATOR,) = blocks("py")
(WORKFLOW,) = blocks("yaml")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a log, and a `polars-ec` that writes down how it was called."""
    rng = np.random.default_rng(2)
    late = rng.random(400) < 0.3
    columns = {name: 1 / (1 + np.exp(1 - 2 * late - rng.normal(size=400))) for name in "pq"}
    (tmp_path / "logs").mkdir()
    pl.DataFrame({"carrier": ["AA", "UA"] * 200, "y": late, "tailnum": np.arange(400) % 60, **columns}).write_parquet(
        tmp_path / "logs" / "all.parquet"
    )
    (tmp_path / "bin").mkdir()
    note = f"""#!{sys.executable}
import json, os, sys
with open({str(tmp_path / "calls")!r}, "a") as file:
    print(json.dumps([sys.argv[1:], os.getcwd()]), file=file)
print(os.environ["SAID"], end="", file=sys.stderr)
sys.exit(int(os.environ["CODE"]))
"""
    program = tmp_path / "bin" / "polars-ec"
    program.write_text(note)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def arguments_of_call(place):
    """The arguments of the one call of `polars-ec`."""
    ((arguments, folder),) = [json.loads(line) for line in (place / "calls").read_text().splitlines()]
    assert folder == str(place)
    return arguments


def run(script, monkeypatch, code, said=""):
    monkeypatch.setenv("CODE", str(code))
    monkeypatch.setenv("SAID", f"{said}\n" if said else "")
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


def really_works(arguments):
    """The command itself takes these arguments: it ends as a gate does that is not tripped, or is."""
    result = invoke(*arguments)
    assert result.exit_code in (0, 3), result.output
    out = Path(arguments[arguments.index("--out") + 1])
    assert pl.read_csv(out)["carrier"].unique().sort().to_list() == ["AA", "UA"]


@pytest.mark.parametrize(
    ("code", "title"), [(0, "### No gate tripped"), (3, "### Exit code 3"), (1, "### Exit code 1")]
)
def test_github_actions(place, monkeypatch, code, title):
    (step,) = re.findall(r"^ {8}run: \|\n((?: {10}.*\n)+)", WORKFLOW, re.MULTILINE)
    summary = place / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    # As the runner does with `shell: bash`.
    done = run("set -eo pipefail\n" + textwrap.dedent(step), monkeypatch, code, LINE if code else "")
    assert done.returncode == code
    lines = summary.read_text().splitlines()
    assert lines == [title, *([f"- {LINE.removeprefix('polars-ec: ')}"] if code else [])]
    assert done.stdout.strip() == (LINE if code else "")
    arguments = arguments_of_call(place)
    if not code:
        really_works(arguments)


def test_the_gate_of_the_other_schedulers(place):
    page = (ROOT / "docs/integrations/recipes.md").read_text("utf-8")
    (gate,) = re.findall(r'^GATE = "(.*)"$', page, re.MULTILINE)
    assert invoke("report", place / "logs", *shlex.split(gate)).exit_code == 0
    log = pl.read_parquet(place / "logs" / "all.parquet")
    log.with_columns(y=pl.lit(None, dtype=pl.Boolean)).write_parquet(place / "logs" / "all.parquet")
    assert invoke("report", place / "logs", *shlex.split(gate)).exit_code == 3


def airflow(monkeypatch):
    """What the recipe takes of Airflow."""
    made = {
        "airflow": {},
        "airflow.providers": {},
        "airflow.providers.standard": {},
        "airflow.providers.standard.operators": {},
        "airflow.providers.standard.operators.bash": {"BashOperator": SimpleNamespace},
    }
    for name, content in made.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_airflow_operator(place, monkeypatch):
    airflow(monkeypatch)
    names: dict = {}
    exec(OPERATOR, names)
    gate = names["gate"]
    assert gate.skip_on_exit_code == 3
    assert run(gate.bash_command, monkeypatch, 3, LINE).returncode == 3
    really_works(arguments_of_call(place))
