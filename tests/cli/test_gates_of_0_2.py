"""The gates of a pipeline that version 0.2 ran: what it sees is what it saw."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from tests.fixtures.make_0_2 import FOLDER
from tests.support.cli import invoke

SEEN = json.loads((FOLDER / "gates.json").read_text("utf-8"))


@pytest.mark.parametrize("seen", SEEN, ids=lambda seen: seen["call"][-1])
def test_a_gate_has_the_exit_code_and_the_lines_of_version_0_2(seen, monkeypatch):
    monkeypatch.chdir(FOLDER)
    result = invoke(*seen["call"])
    assert result.exit_code == seen["exit_code"], result.output
    assert [line for line in result.stderr.splitlines() if line.endswith("')")] == seen["lines"]


def test_the_values_in_the_lines_are_those_of_the_log():
    """The recall at a cost of 5, whose Bayes threshold is 1 / 6."""
    stated = {}
    for line in (line for seen in SEEN for line in seen["lines"] if "recall" in line):
        stated[re.search(r"carrier=(\w+)", line)[1]] = float(re.search("recall is (\\S+)", line)[1])
    late = pl.read_parquet(FOLDER / "log.parquet").filter("late").with_columns(pl.col("carrier").fill_null("null"))
    decided = late.group_by("carrier").agg(recall=(pl.col("p") > 1 / 6).mean()).filter(pl.col("recall") < 0.99)
    assert len(stated) == 3
    assert stated == pytest.approx(dict(decided.iter_rows()), rel=1e-5)
