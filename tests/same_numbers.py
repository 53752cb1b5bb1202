"""Compare the numbers of this checkout with those of another one: every public function, on random logs.

Run as `python -m tests.same_numbers CHECKOUT [SEED ...]`: it prints how many answers are equal to the last bit, and how many
only to 1e-10: the streaming engine adds
up floats in an order that differs from run to run, and numeric gradients multiply that. Calls that are refused must be
refused in the same words. It prints what differs more, and exits with 1 where anything does.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec

ROOT = Path(__file__).parents[1]
os.environ.setdefault("POLARS_MAX_THREADS", "1")
ROWS, K = 600, 4
SCALES = {
    "posterior": "p", "log_odds": "x", "llr": "x", "decision": "d",
    "posteriors": "q", "log_posteriors": "lq", "log_likelihoods": "lq", "raw": "x",
}  # fmt: skip
REQUIRED = {"p_t": 0.3, "decision": 1, "operating_points": [(0.1, 1.0, 2.0), (0.3, 1.0, 1.0)], "prior": 0.3}
CHOICES: dict[str, list[Any]] = {
    "cost_fn": [1, 5.0, "amount"],
    "cost_fp": [1, 0.5],
    "prior": [None, 0.2, "uniform", [0.1, 0.2, 0.3, 0.4]],
    "threshold": [None, 0.3, "t"],
    "weight": [None, "w"],
    "costs": [None, ec.CostMatrix.zero_one(2, abstain=0.2), ec.CostMatrix.zero_one(K), [[0, 1], [4, 0.5]]],
    "bins": [5, 15],
    "norm": [1, 2],
    "equal_mass": [False, True],
    "method": ["hull", "interpolate", "nearest"],
    "rule": ["cross_entropy", "brier"],
    "normalized": [False, True],
    "beta": [1, 2.0],
}  # fmt: skip


def log_of(seed: int) -> pl.DataFrame:
    """A log of two classes and one of K, with ties, nulls, invalid rows, weights, clusters and periods."""
    r = np.random.default_rng(seed)
    y = r.integers(0, 2, ROWS)
    x = np.round(r.normal(y * 1.5 - 0.7, 1.2), int(r.integers(1, 6)))
    k = r.integers(0, K, ROWS)
    z = r.normal(0, 1, (ROWS, K)) + 1.5 * np.eye(K)[k]
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    frame = pl.DataFrame(
        {
            "g": [f"g{i % 3}" for i in range(ROWS)],
            "user": r.integers(0, 80, ROWS),
            "month": [date(2024, 1 + i % 3, 1) for i in range(ROWS)],
            "y": y, "k": k, "d": (x > 0).astype(int), "x": x, "p": 1 / (1 + np.exp(-x)),
            "p2": 1 / (1 + np.exp(-x + r.normal(0, 0.7, ROWS))),
            "w": r.integers(0, 5, ROWS) / 2, "amount": np.round(r.lognormal(1, 1, ROWS), 2), "t": r.uniform(0.2, 0.6, ROWS),
        }
    )  # fmt: skip
    vectors = [
        pl.Series("q", q, dtype=pl.Array(pl.Float64, K)),
        pl.Series("lq", np.log(q), dtype=pl.Array(pl.Float64, K)),
    ]
    frame = frame.with_columns(*vectors)
    if seed % 3 == 1:  # labels arrive late
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 7 != 0).then("y").alias("y"))
    if seed % 3 == 2:  # one group has an invalid row
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) != 4).then("p").otherwise(1.5).alias("p"))
    return frame


def _fits(value: Any, column: str) -> bool:
    """Whether a prior or a cost matrix is for as many classes as the scores have."""
    n_classes = value.n_classes if isinstance(value, ec.CostMatrix) else len(value) if isinstance(value, list) else None
    many_classes = column in ("q", "lq")
    return n_classes in (None, K if many_classes else 2) and not (many_classes and isinstance(value, float))


def metric_calls(frame: pl.DataFrame, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every exported function of expressions, with random keywords, per group, in memory and streaming."""
    choose = random.Random(seed)
    for name in ec.__all__:
        function = getattr(ec, name)
        parameters = (
            inspect.signature(function).parameters if callable(function) and not inspect.isclass(function) else {}
        )
        if next(iter(parameters), "") != "score":
            continue
        for scale, column in SCALES.items():
            if scale == "raw" and "Ranking" not in str(parameters.get("score_type")):
                continue
            allowed = {n for n in parameters if n in CHOICES and choose.random() < 0.4} - (
                {"cost_fn", "cost_fp", "threshold"} if column in ("q", "lq", "d") else set()
            )
            allowed -= {"costs"} if {"cost_fn", "cost_fp"} & allowed else set()
            allowed -= {"threshold"} if "costs" in allowed else set()
            options = {n: choose.choice([c for c in CHOICES[n] if _fits(c, column)]) for n in sorted(allowed)}
            options |= {n: REQUIRED[n] for n, p in parameters.items() if n in REQUIRED and p.default is p.empty}
            options |= {"score_type": scale} if "score_type" in parameters else {}
            columns = {"label": "k" if column in ("q", "lq") else "y", "reference": column, "from_": 0.3, "to": 0.6}
            columns |= {"alpha": 1.2, "beta": -0.3} if name == "affine" else {}
            options |= {n: columns[n] for n in parameters if n in columns}
            shown = f"{name}({column}, {options})"
            grouped = name not in ("affine", "bayes_decision", "llr", "log_odds", "posterior", "shift_prior") and not (
                name.startswith("row_")
            )
            if grouped:
                yield shown, lambda f=function, c=column, o=options: frame.group_by("g").agg(v=f(c, **o)).sort("g")
                yield (
                    f"lazy {shown}",
                    lambda f=function, c=column, o=options: (
                        frame.lazy().select(v=f(c, **o)).collect(engine="streaming")
                    ),
                )
            else:
                yield shown, lambda f=function, c=column, o=options: frame.select(v=f(c, **o))


def frame_calls(frame: pl.DataFrame, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Reports, comparisons, drift, sketches, calibration, and the queries for warehouses."""
    choose = random.Random(seed)
    shared: list[dict[str, Any]] = [
        {},
        {"prior": 0.3},
        {"weight": "w"},
        {"cost_fn": 5.0, "threshold": 0.3},
        {"cost_fn": "amount"},
    ]
    inference: list[dict[str, Any]] = [{}, {"cluster": "user"}, {"cluster": "user", "buckets": 20}]
    ranks = ["auc_roc", "eer", "ks", "average_precision", "min_cllr"]
    for options in shared:
        for extra in inference:
            arguments = {"by": "g", **options, **extra}
            for metrics in (None, ["nec", "recall", "precision", "f1", "mcc", "nce"], ranks):
                a = {**arguments, "metrics": metrics} if metrics else arguments
                yield f"report {a}", lambda a=a: frame.lazy().ec.report("p", "y", interval=0.9, **a).collect()
                yield f"compare {a}", lambda a=a: frame.lazy().ec.compare(["p", "p2"], "y", **a).collect()
            a = {**arguments, "reference": choose.choice(["rest", "total", "g1"]), "metrics": ["nec", "brier", "f1"]}
            yield f"compare {a}", lambda a=a: frame.lazy().ec.compare("p", "y", **a).collect()
            for mix in ((), ("g",)):
                a = {
                    **options,
                    **extra,
                    "period": "month",
                    "reference": date(2024, 1, 1),
                    "mix": mix,
                    "metrics": ["nec", "nce", "auc_roc"],
                }
                yield f"drift {a}", lambda a=a: frame.lazy().ec.drift("p", "y", **a).collect()
    a = {"by": "g", "interval": 0.95, "per_class": True}
    yield f"report K {a}", lambda: frame.lazy().ec.report("q", "k", score_type="posteriors", **a).collect()
    yield "compare K", lambda: frame.lazy().ec.compare(["q", "q"], "k", score_type="posteriors", by="g").collect()
    yield "bootstrap", lambda: frame.lazy().ec.report("p", "y", by="g", interval=0.9, method="bootstrap").collect()
    for scale in ("posterior", "log_odds", "llr", "raw"):
        column = SCALES[scale]
        for options in ({}, {"weight": "w"}, {"cluster": "user"}, {"folds": 3, "fold_by": "user"}, {"exact": True}):
            a = {"by": ["g"], "score_type": scale, **options}
            shown = f"sketch({column}, {a})"

            def made(a: dict[str, Any] = a, column: str = column) -> Any:
                return frame.lazy().ec.sketch(column, "y", **a)

            yield f"{shown}.cells", lambda m=made: m().sums
            over_t = ("bayes_risk", "murphy", "decision_curve")
            for method in (
                "evaluate",
                "roc",
                "pr",
                "det",
                "prg",
                "gains",
                "roc_hull",
                "cost_curve",
                "tippett",
                *over_t,
            ):
                yield f"{shown}.{method}", lambda m=made, n=method: getattr(m(), n)()
            yield f"{shown}.bayes_error", lambda m=made: m().bayes_error([-1.0, 0.0, 2.0])
            yield f"{shown}.reliability", lambda m=made: m().reliability()
            yield f"{shown}.best_threshold", lambda m=made: m().best_threshold("nec")
            yield f"{shown}.group_by", lambda m=made: m().group_by().evaluate(metrics=["nec", *ranks])
            yield f"{shown}.interval", lambda m=made: m().evaluate(interval=0.95)
            for calibrator in ("affine", "temperature", "gaussian", "pav", "histogram"):
                yield f"{shown}.calibrate {calibrator}", lambda m=made, c=calibrator: m().calibrate(c).frame
                yield (
                    f"{shown}.calibration_loss {calibrator}",
                    lambda m=made, c=calibrator: m().calibration_loss(calibrator=c, training="test"),
                )
            yield f"{shown}.equivalent_cost", lambda m=made: ec.equivalent_cost(m())
        for calibrator in ("affine", "pav", "histogram"):
            a = {"by": "g", "score_type": scale, "folds": 3, "fold_by": "user"}
            call = lambda c=calibrator, s=column, a=a: frame.lazy().ec.calibration_loss(s, "y", calibrator=c, **a)  # noqa: E731
            yield f"calibration_loss {calibrator} {scale}", call
    yield "calibrate K", lambda: ec.calibrate(frame, "q", "k", score_type="posteriors", by="g").frame
    yield (
        "calibration_loss K",
        lambda: ec.calibration_loss(frame, "q", "k", score_type="posteriors", by="g", training="test"),
    )
    yield (
        "calibration_loss interval",
        lambda: ec.calibration_loss(frame, "p", "y", by="g", interval=0.95, cluster="user"),
    )
    yield "validate", lambda: ec.validate(frame, "p", "y").height
    yield "rows_needed", lambda: ec.rows_needed(ec.report(frame, "p", "y", interval=0.95), "nec", width=0.1)
    for dialect in (
        "duckdb",
        "postgres",
        "spark",
        "bigquery",
        "snowflake",
        "clickhouse",
        "trino",
        "databricks",
        "redshift",
    ):
        for scale in ("posterior", "log_odds", "llr"):
            a = {"by": "g", "score_type": scale, "dialect": dialect, "weight": "w", "prior": 0.2}
            yield f"report_query {a}", lambda a=a: ec.report_query("log", "s", "y", **a)
            a = {"by": "g", "score_type": scale, "dialect": dialect, "thresholds": [0.3]}
            yield f"sketch_query {a}", lambda a=a: ec.sketch_query("log", "s", "y", **a)


def answer(call: Callable[[], Any]) -> str:
    """The answer to the last bit, or the error."""
    try:
        value = call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    value = value.collect() if isinstance(value, pl.LazyFrame) else value
    if isinstance(value, pl.DataFrame):
        return (
            f"{value.schema}\n{value.sort(value.columns[0], maintain_order=True).rows()!r}" if value.width else "empty"
        )
    return repr(value)


def _checkout(text: str) -> Path:
    if not (Path(text) / "polars_ec").is_dir():
        raise ArgumentTypeError(f"{text} is no folder with polars_ec")
    return Path(text)


def main() -> int:
    """Compare, or answer all calls where another process asks for them."""
    parser = ArgumentParser(description="Compare the numbers of this checkout with those of another one.")
    parser.add_argument("checkout", nargs="?", type=_checkout)
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED")
    parser.add_argument(
        "--answers", nargs="+", type=int, metavar="SEED", help="print the answers of this checkout alone"
    )
    stated = parser.parse_args()
    if (stated.checkout is None) == (stated.answers is None):
        parser.error("pass the folder of a checkout, or --answers with seeds")
    if stated.answers is not None:
        answers = {
            f"{seed} {shown}": answer(call)
            for seed in stated.answers
            for calls in (metric_calls, frame_calls)
            for shown, call in calls(log_of(seed), seed)
        }
        print(json.dumps(answers))
        return 0
    answers = []
    seeds = [str(seed) for seed in stated.seeds or (0, 1, 2)]
    for root in (stated.checkout.resolve(), ROOT):
        with tempfile.NamedTemporaryFile() as file:
            command = [sys.executable, __file__, "--answers", *seeds]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(root)}, stdout=file)
            answers.append(json.loads(Path(file.name).read_text("utf-8")))
    old, new = answers
    equal = [shown for shown in old if old[shown] == new.get(shown)]
    close = [shown for shown in old if shown not in set(equal) and are_close(old[shown], new.get(shown, ""))]
    different = [shown for shown in old if shown not in {*equal, *close}]
    for shown in different[:20]:
        there, here = old[shown], new.get(shown, "(nothing)")
        place = next((i for i, (a, b) in enumerate(zip(there, here, strict=False)) if a != b), 0)
        print(
            f"{shown}\n  there: ...{there[max(0, place - 40) : place + 80]!r}\n  here:  ...{here[max(0, place - 40) : place + 80]!r}"
        )
    refused = sum(re.match(r"\w*Error: ", text) is not None for text in old.values())
    print(
        f"{len(old)} calls, {refused} of them refused; {len(equal)} answers are the same to the last bit, {len(close)} to 1e-10,"
    )
    print(f"{len(different)} differ")
    return bool(different)


NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?|-?\d+e[-+]\d+")


def are_close(there: str, here: str) -> bool:
    """Whether two answers differ by rounding alone, of values or of what they are differences of."""
    numbers = zip(NUMBER.findall(there), NUMBER.findall(here), strict=False)
    return NUMBER.sub("#", there) == NUMBER.sub("#", here) and all(
        math.isclose(float(a), float(b), rel_tol=1e-10, abs_tol=1e-10) for a, b in numbers
    )


if __name__ == "__main__":
    raise SystemExit(main())
