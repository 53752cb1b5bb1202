"""Which reports and metrics Polars' GPU engine takes, and whether its values are those of the CPU: `python -m tests.gpu`.

By hand, where there is a GPU; docs/integrations/gpu.md says what is known without. Exit code 1: a query failed or differs; 2: no GPU engine.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.cases import CASES, DIVERGENCES, LEARNED, RANKING, RANKING_OF_CLASSES, ROW_FUNCTIONS, WITHOUT_MACRO

TOLERANCE = 1e-9
EQUAL, DIFFERS, FELL_BACK, FAILED = "ran, equal", "ran, differs", "fell back", "failed"
Run = Callable[[pl.LazyFrame], pl.DataFrame]
METRICS = ["nec", "cross_entropy", "brier", "bayes_risk", "precision", "recall", "f1", "mcc"]
REPORTS: dict[str, dict[str, Any]] = {
    "report": {},
    "report(metrics)": {"metrics": METRICS},
    "report(metrics, prior, weight, total)": {"metrics": METRICS, "prior": 0.2, "weight": "weight", "total": True},
    "report(metrics, interval)": {"metrics": METRICS, "interval": 0.95},
}
# What a metric must be given, beside what tests/support/cases.py has.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "dcf": {"prior": 0.1, "score_type": "llr"},
    "cllr": {"score_type": "llr"},
    "min_cllr": {"score_type": "llr"},
    "c_primary": {"operating_points": [(0.01, 1, 1), (0.1, 10, 1)], "score_type": "llr"},
    "specificity_at_sensitivity": {"sensitivity": 0.9},
    "sensitivity_at_specificity": {"specificity": 0.9},
    "llr": {"prior": 0.2},
    "shift_prior": {"from_": 0.2, "to": 0.4},
    "affine": {"alpha": 0.5, "beta": 0.1},
}


def log() -> pl.DataFrame:
    """Ordinary segments, and ones with missing rows, with a wrong one, of one class, of scores at the ends."""
    rng = np.random.default_rng(1)
    segment = np.repeat(["plain", "other", "missing", "wrong", "one class", "ends"], 300)
    late = (rng.random(segment.size) < 0.3) & (segment != "one class")
    llr = rng.normal(3 * late - 1.5, 1.5)
    reference, score = 1 / (1 + np.exp(-llr)), 1 / (1 + np.exp(-llr) * 7 / 3)
    columns = {"segment": segment, "late": late, "llr": llr, "score": score, "reference": reference}
    of, third = pl.col("segment"), pl.int_range(pl.len()) % 3
    odd = pl.when(of == "missing", third == 0).then(None).when(of == "wrong", third == 0).then(float("nan"))
    return pl.DataFrame(columns | {"weight": rng.random(segment.size) + 0.5}).with_columns(
        late=pl.when((of != "missing") | (third != 1)).then(pl.col("late")),
        score=odd.when(of == "ends", third == 0).then(pl.col("late").cast(pl.Float64)).otherwise(pl.col("score")),
    )


def queries(frame: pl.DataFrame) -> dict[str, pl.LazyFrame]:
    """Reports, and every metric: in a group_by, also at a stated prior; functions of rows in a select."""
    lazy = frame.lazy()
    made = {text: lazy.ec.report("score", "late", by="segment", **keywords) for text, keywords in REPORTS.items()}
    metrics = [(case.name, case.options, case.arguments) for case in (*CASES, *RANKING_OF_CLASSES)]
    metrics += [(name, options, {}) for name, options in (RANKING | LEARNED | DIVERGENCES | WITHOUT_MACRO).items()]
    for name, options, own in metrics:
        arguments = own | _ARGUMENTS.get(name, {})
        score, label = arguments.get("score_type", "score"), "reference" if name in DIVERGENCES else "late"
        if name in [case.name for case in RANKING_OF_CLASSES]:
            score = pl.concat_arr(1 - pl.col("score"), "score")
        metric = partial(getattr(ec, name), score, label, **arguments)
        made[name] = lazy.group_by("segment").agg(metric())
        if "prior" in options and "prior" not in arguments:
            made[f"{name}(prior)"] = lazy.group_by("segment").agg(metric(prior=0.2))
    for name, (_, reads_label) in ROW_FUNCTIONS.items():
        row = partial(getattr(ec, name), "score", **_ARGUMENTS.get(name, {}))
        made[name] = lazy.select("segment", row("late") if reads_label else row())
    return made


def on_gpu(query: pl.LazyFrame) -> pl.DataFrame:
    """The result, all of it from the GPU, or an error."""
    return query.collect(engine=pl.GPUEngine(raise_on_fail=True))


def outcome(query: pl.LazyFrame, run: Run) -> tuple[str, str]:
    """What became of a query, and why."""
    expected = query.collect(engine="in-memory").sort("segment", maintain_order=True)
    try:
        found = run(query).sort("segment", maintain_order=True)
    except Exception as error:  # whatever a driver raises
        # A text, and a list of the same as objects, as one text; an ErrorExpr is what is made of what is unsupported.
        lines = re.split(r"""['"], \[""", str(error).replace("\\n", "\n"))[0].split("\n")
        if "unsupported operations" not in lines[0]:
            return FAILED, f"{type(error).__name__}: {lines[0]}"
        return FELL_BACK, "; ".join(x.partition(": ")[2] for x in lines if x[:2] == "- " and "ErrorExpr" not in x)
    try:
        assert_frame_equal(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except AssertionError as error:
        return DIFFERS, str(error).replace("\n", " ")
    return EQUAL, ""


def main(run: Run = on_gpu) -> int:
    """Prints a line for each query, and how many there are of each kind."""
    try:
        run(pl.LazyFrame({"n": [1, 2]}).select(pl.col("n") * 2))
    except Exception as error:  # each way of having no GPU has an error of its own
        print(f"There is no GPU engine here: {type(error).__name__}: {(str(error) or '-').splitlines()[0]}")
        return 2
    outcomes = {name: outcome(query, run) for name, query in queries(log()).items()}
    for name, (kind, why) in outcomes.items():
        print(f"{name:40} {kind:12} {why}".rstrip())
    kinds = Counter(kind for kind, _ in outcomes.values())
    print(f"of {kinds.total()} queries: " + "; ".join(f"{number} {kind}" for kind, number in kinds.most_common()))
    return int(bool(kinds[DIFFERS] + kinds[FAILED]))


if __name__ == "__main__":
    sys.exit(main())
