"""Each example runs as a stranger would run it, with warnings as errors, and says what it is there to say."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

LINES = {
    "better_model": [
        "phone     0.575  0.607      +0.032  [-0.004, +0.068]       0.081  not significant (with independent rows: a is better)",
        "Mean width of the intervals: 0.086. With independent rows: 0.063, which is too short.",
    ],
    "daily_sketches": [
        "half 1: actual DCF 0.7, minimum DCF 0.6 on average",
        "half 2: actual DCF 0.9, minimum DCF 0.6 on average",
    ],
    "drift": [
        "2     nce        +0.033  +0.036 [+0.026, +0.046]*  -0.003 [-0.030, +0.025]   +0.000 [-0.002, +0.002]   twice the positives",
        "3     nce        +0.288  +0.001 [-0.007, +0.009]   +0.289 [+0.250, +0.327]*  -0.001 [-0.002, +0.000]   noisier scores",
        "4     nce        +0.153  +0.001 [-0.002, +0.003]   +0.000 [-0.022, +0.022]   +0.152 [+0.143, +0.160]*  a new segment",
        "5     precision  -0.147  +0.206 [+0.189, +0.224]*  -0.348 [-0.364, -0.332]*  -0.005 [-0.009, -0.001]*  harder cases",
        "The parts add up to the change: True",
        "month 5: 0.328 0.338  harder cases",
    ],
    "rain": [
        "NEC, forecast (1: no better than constant)       1.42857   lecture: -",
        "risk                                             0.55962   lecture: 0.55962",
    ],
    "segments_and_periods": [
        "east: precision +0.12 over the year, -0.01 at the common prior: only the base rate changed",
        "west: precision +0.07 over the year, -0.11 at the common prior: the model drifted",
    ],
    "sketch_resolution": [
        "         8     993      0.002     0.003290 (0.000087)     0.003875 (0.003503)     0.010074 (0.009058)",
        "        64 223,945      0.560     0.000566 (0.000141)     0.001740 (0.001183)     0.002227 (0.001325)",
    ],
    "warehouse": ["DuckDB and Polars agree to 12 digits: True"],
}


SLOW = ("sketch_resolution", "daily_sketches")


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(LINES)


def test_the_demo_imports_what_a_user_does():
    texts = [file.read_text("utf-8") for file in (EXAMPLES / "demo").glob("*.py")]
    named = {found for text in texts for found in re.findall(r"(?:from|import) (polars_ec[\w.]*)", text)}
    assert named == {"polars_ec"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LINES])
def test_example(name, tmp_path, monkeypatch, capsys, macros_at_hand):
    script = EXAMPLES / f"{name}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    with pl.Config():
        runpy.run_path(str(script), run_name="__main__")
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    printed = [line.rstrip() for line in stdout.splitlines()]
    for line in LINES[name]:
        assert line in printed
    assert len(script.read_text("utf-8").splitlines()) < 100


def test_an_example_in_a_process_of_its_own(tmp_path):
    # Elsewhere than in the repository, so that it is the installed package that is imported.
    command = [sys.executable, "-W", "error", str(EXAMPLES / "rain.py")]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    assert finished.stderr == ""
    assert {*LINES["rain"]} <= {*finished.stdout.splitlines()}
