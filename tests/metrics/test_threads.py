"""Rows that several threads take in small parts give what they give all at once."""

from __future__ import annotations

import os

import numpy as np
import pytest

import polars_ec as ec
from polars_ec.scores.scores import Decider
from tests.support.cli import python

COMPARED = """
import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.cases import CASES

assert pl.thread_pool_size() == 4
rng = np.random.default_rng(0)
n = 1000
p, v = rng.random(n), rng.dirichlet([1, 1, 1], n)
log = pl.DataFrame(
    {
        "g": rng.integers(0, 5, n),
        "p": p,
        "y": rng.integers(0, 2, n),
        "llr": rng.normal(size=n),
        "w": rng.random(n),
        "v": pl.Series(v, dtype=pl.Array(pl.Float64, 3)),
        "k": rng.integers(0, 3, n),
    }
)
many = [log.slice(i, 37) for i in range(0, n, 37)]
frames = {"at once": log, "in parts": pl.concat(many, rechunk=False)}
for score, label, kind in (("p", "y", "posterior"), ("llr", "y", "llr"), ("v", "k", "posteriors")):
    cases = [case for case in CASES if kind in case.score_types and not (case.binary and kind == "posteriors")]
    options = {"score_type": kind} if kind == "llr" else {}
    metrics = []
    for case in cases:
        given = {**case.arguments, **options}
        for name, value in (("weight", "w"), ("prior", 0.3 if kind != "posteriors" else None)):
            if name in case.options and value is not None:
                given[name] = value
        metrics.append(getattr(ec, case.name)(score, label, **given).alias(case.name))
    whole = frames["at once"].group_by("g").agg(metrics).sort("g")
    parts = frames["in parts"].lazy().group_by("g").agg(metrics).sort("g").collect(engine="streaming")
    assert_frame_equal(whole, parts, rel_tol=1e-9, abs_tol=1e-12)
    print(kind, len(cases))
cells = [frame.ec.sketch("p", "y", by="g", weight="w", resolution=8).frame for frame in frames.values()]
assert_frame_equal(*cells, rel_tol=1e-12, check_row_order=False)
"""


@pytest.mark.slow
def test_threads_and_small_parts_change_no_metric() -> None:
    several = os.environ | {"POLARS_MAX_THREADS": "4", "POLARS_IDEAL_MORSEL_SIZE": "64"}
    result = python(COMPARED, env=several)
    assert result.returncode == 0, result.stderr
    counts = dict(line.split() for line in result.stdout.splitlines())
    assert counts.keys() == {"posterior", "llr", "posteriors"}
    assert min(map(int, counts.values())) > 5


@pytest.mark.parametrize(("n_classes", "n_decisions"), [(5, 7), (100, 100), (40, 500), (300, 10)])
def test_the_cheapest_decision_of_any_number_of_rows_is_that_of_the_whole_product(
    n_classes: int, n_decisions: int
) -> None:
    rng = np.random.default_rng(0)
    costs = rng.uniform(1, 3, (n_classes, n_decisions))
    decider = Decider(ec.CostMatrix(costs.tolist()))
    for n in (0, 1, 51, 52, 53, 2621):
        q = rng.dirichlet(np.ones(n_classes), n)
        expected = (q[:, :, None] * costs).sum(axis=1) if n < 100 else q @ costs
        np.testing.assert_array_equal(decider.decide(q), expected.argmin(axis=1))


OF_OTHER_THREADS = """
import time
import numpy as np
import polars_ec as ec
from polars_ec.scores.scores import Decider

rng = np.random.default_rng(0)
q, costs = rng.dirichlet(np.ones(100), 2621), rng.uniform(1, 3, (100, 100))
decider = Decider(ec.CostMatrix(costs.tolist()))

def share():
    process, thread = time.process_time(), time.thread_time()
    for _ in range(5):
        decider.decide(q)
    return 1 - (time.thread_time() - thread) / (time.process_time() - process)

print(min(share() for _ in range(10)))
"""


@pytest.mark.slow
def test_decisions_take_one_thread_each_for_the_engine_has_its_own() -> None:
    result = python(OF_OTHER_THREADS, env=os.environ | {"OPENBLAS_NUM_THREADS": "4"})
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 0.1
