"""The tables of the benchmarks go together; what they measure is measured by `make bench`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.benchmarks.cases import CASES
from tests.benchmarks.layout import N_PARTS
from tests.benchmarks.logs import KINDS
from tests.benchmarks.measure import Measurement
from tests.benchmarks.summary import table
from tests.benchmarks.targets import PEAK, TARGETS, TIME, Target, judged

BY_NAME = {case.name: case for case in CASES}
RUN = Measurement(seconds=2.0, cpu_seconds=3.0, peak_bytes=400_000_000, baseline_bytes=100_000_000)


def test_cases_have_names_of_their_own_floors_and_logs() -> None:
    assert len(BY_NAME) == len(CASES)
    for case in CASES:
        assert case.floor in BY_NAME, case.name
        assert case.log in KINDS, case.name


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.text)
def test_targets_are_of_cases(target: Target) -> None:
    case = BY_NAME[target.case]
    assert not case.on_request
    if target.floor is None:
        return
    floor = BY_NAME[target.floor]
    assert not floor.on_request
    # Of memory the rows may be others: that is what is asked.
    assert floor.same_rows == case.same_rows or target.quantity is PEAK


def test_each_target_is_met_or_missed_or_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [
        Target("twice", "one", 2.0, "other"),
        Target("less", "one", 1.9, "other"),
        Target("faster", "one", 2.0, "other", at_least=True),
        Target("peak", "one", 0.9, "other", PEAK),
        Target("seconds", "one", 2.0, quantity=TIME),
        Target("megabytes", "one", 399, quantity=PEAK),
        Target("absent", "one", 2.0, "third"),
    ]
    monkeypatch.setattr("tests.benchmarks.targets.TARGETS", targets)
    half = replace(RUN, seconds=1.0, cpu_seconds=1.0)
    lines = judged(["one"], {"one": [RUN, RUN, replace(RUN, seconds=9.0)], "other": [half, half, half]})
    assert [line.split(":")[0] for line in lines] == ["met", "missed", "met", "missed", "met", "missed", "not measured"]
    assert lines[0] == ("met: twice (one): at most 2 x the time of (other): 2 x (processor time 3 x; rounds 2, 2, 9)")
    assert judged(["other"], {}) == []
    assert lines[5] == "missed: megabytes (one): at most 399 MB of the peak memory: 400 MB (rounds 400, 400, 400)"


def test_a_ratio_is_of_the_same_rows_only() -> None:
    cases = [BY_NAME[name] for name in ("a", "c", "b/2")]
    assert BY_NAME["b/2"].parts != N_PARTS
    measured = {"a": [RUN], "c": [replace(RUN, seconds=5.0)], "b/2": [RUN]}
    lines = table(cases, measured, {"binary": 1_000_000})
    assert " 2.50 " in lines[3]
    assert lines[4].split()[-1] == "100"
