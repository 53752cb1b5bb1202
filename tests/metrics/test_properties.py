"""Random logs with everything that goes wrong in logs: every door against plain NumPy, group by group."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import polars_ec as ec
from tests.support.cases import CASES, RANKING_OF_CLASSES, Case, mostly_slow
from tests.support.doors import evaluate
from tests.support.oracle import Group
from tests.support.profile import EXAMPLES, PROFILE

# In SQL: at most one of them in an example.
SLOW_TO_PLAN = ("ece", "ece_mc", "epsr")
COUNTS = ("n_rows", "n_missing", "n_invalid")
NOTHING = -7.0


# Strategies ----------------------------------------------------------------------------------------------------------

GOOD_NUMBERS = {
    "posterior": st.one_of(
        st.sampled_from([0.0, 1.0, 0.5, 0.25, 1e-300, 1e-10, 1 - 1e-16, 0.1, 0.2]), st.floats(0, 1, width=64)
    ),
    "percent": st.one_of(
        st.sampled_from([0.0, 100.0, 50.0, 29.0, 1e-298, 1e-8, 7.0, 10.0, 20.0]), st.floats(0, 100, width=64)
    ),
    "log_odds": st.one_of(st.sampled_from([-math.inf, math.inf, 0.0, -800.0, 800.0]), st.floats(-40, 40)),
    "llr": st.one_of(st.sampled_from([-math.inf, math.inf, 0.0, -800.0, 800.0]), st.floats(-40, 40)),
    "decision": st.sampled_from([0.0, 1.0]),
}
WRONG_NUMBERS = {
    "posterior": [math.nan, 1.5, -1e-9, math.inf],
    "percent": [math.nan, 100.5, -1e-9, math.inf],
    "log_odds": [math.nan],
    "llr": [math.nan],
    "decision": [0.5, 2.0, -1.0, math.nan],
}
PRIORS = st.sampled_from([None, None, 0.1, 0.5, 0.999, "uniform", 0.0, 1.0])
STATED = st.sampled_from([0.1, 0.5, 0.999, "uniform"])
COSTS = st.sampled_from(
    [
        {},
        {},
        {"cost_fn": 10.0},
        {"cost_fn": 0.25, "cost_fp": 3.0},
        {"costs": [[0, 1], [4, 0]]},
        {"costs": [[1, 3], [7, 2]]},
    ]
)
WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 0.5]), st.floats(1e-3, 1e3))


@st.composite
def binary_logs(draw: st.DrawFn, score_type: str) -> tuple[list[tuple], dict[str, Any]]:
    wrong = draw(st.sampled_from([False, False, True]))
    one_class = draw(st.sampled_from([None, None, None, 0, 1]))
    score = GOOD_NUMBERS[score_type]
    labels = [0, 1] if one_class is None else [one_class]
    missing = draw(st.booleans())
    if missing:
        score = st.one_of(score, st.none())
        labels = [*labels, None]
    weight = WEIGHTS if draw(st.booleans()) else None
    if wrong:
        score = st.one_of(score, score, st.sampled_from(WRONG_NUMBERS[score_type]))
        labels = [*labels, 7]
        if weight is not None:
            weight = st.one_of(weight, weight, st.sampled_from([math.nan, -1.0, math.inf, None]))
    row = st.tuples(
        st.sampled_from(["a", "b"]), score, st.sampled_from(labels), st.just(1.0) if weight is None else weight
    )
    rows = draw(st.lists(row, min_size=0, max_size=12))
    options = {**draw(COSTS), "prior": draw(STATED if score_type == "llr" else PRIORS)}
    if weight is not None:
        options["weight"] = "w"
    if score_type == "posterior" and "costs" not in options:
        options["threshold"] = draw(st.sampled_from([None, None, 0.5, 0.1]))
    if score_type == "percent" and "costs" not in options:
        options["threshold"] = draw(st.sampled_from([None, None, 50, 10]))
    return rows, {**options, "score_type": score_type}


@st.composite
def vector_logs(draw: st.DrawFn) -> tuple[list[tuple], dict[str, Any], int]:
    k = draw(st.integers(2, 12))
    score_type = draw(st.sampled_from(["posteriors", "log_posteriors", "log_likelihoods"]))
    wrong, missing = draw(st.sampled_from([False, False, True])), draw(st.booleans())
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        if score_type == "log_likelihoods":
            x = rng.normal(0, 20, k)
        else:
            counts = rng.integers(0, 4, k)
            counts[rng.integers(k)] += 1
            x = counts / counts.sum()
            if score_type == "log_posteriors":
                x = rng.normal(0, 5, k)
                x = x - np.logaddexp.reduce(x)
        score: list[float | None] | None = [float(v) for v in x]
        label: int | None = int(rng.integers(k))
        weight: float | None = float(rng.choice([0.0, 0.5, 1.0, 3.25]))
        if missing and rng.random() < 0.2:
            kind = rng.integers(3)
            score = None if kind == 0 else score
            label = None if kind == 1 else label
            if kind == 2:
                score[int(rng.integers(k))] = None
        if wrong and rng.random() < 0.15:
            kind = rng.integers(3)
            label = k if kind == 0 else label
            if kind == 1 and score is not None:
                score[0] = math.nan
            if kind == 2 and score is not None:
                score = [*score, 0.0] if rng.random() < 0.5 else score[:-1]
        rows.append((str(rng.choice(["a", "b"])), score, label, weight))
    options: dict[str, Any] = {"score_type": score_type}
    shares = rng.integers(1, 5, k) / 1.0
    stated = [float(p) for p in shares / shares.sum()]
    need = score_type == "log_likelihoods"
    options["prior"] = draw(st.sampled_from(["uniform", stated] if need else [None, "uniform", stated]))
    m = draw(st.sampled_from([k, k + 1, k + 2]))
    asymmetric = [[float(rng.integers(1, 9)) / 4 for _ in range(m)] for _ in range(k)]
    options["costs"] = draw(
        st.sampled_from([None, asymmetric, [[float(i != j) for j in range(k)] + [0.25] for i in range(k)]])
    )
    if draw(st.booleans()):
        options["weight"] = "w"
    return rows, options, k


# Doors ---------------------------------------------------------------------------------------------------------------


def frame_of(rows: list[tuple], dtype: pl.DataType, label: type[pl.DataType]) -> pl.DataFrame:
    schema = {"g": pl.String, "s": dtype, "y": pl.Int64, "w": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").cast({"y": label})


def keywords(case: Case, options: dict[str, Any]) -> dict[str, Any]:
    return {**case.arguments, **{name: value for name, value in options.items() if name in case.options}}


def in_polars(
    cases: list[Case], frame: pl.DataFrame, options: dict[str, Any], engine: str
) -> dict[str, dict[str, Any]]:
    metrics = [getattr(ec, case.name)("s", "y", **keywords(case, options)).alias(case.name) for case in cases]
    table = frame.lazy().group_by("g").agg(metrics).collect(engine=engine)
    return {row.pop("g"): row for row in table.to_dicts()}


def in_sql(
    cases: list[Case], frame: pl.DataFrame, options: dict[str, Any], connection: duckdb.DuckDBPyConnection
) -> dict[str, dict[str, Any]]:
    connection.register("log", frame.to_arrow())
    calls = []
    for case in cases:
        named = "".join(f", {name} := {literal(name, value)}" for name, value in keywords(case, options).items())
        calls.append(f"ec.{case.name}(s, y{named}) AS {case.name}")
    rows = connection.execute(f"SELECT g, {', '.join(calls)} FROM log GROUP BY g")
    names = [column[0] for column in rows.description]
    groups = {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in rows.fetchall()}
    for values in groups.values():
        # SQL does not know K while it plans: the shares of two classes in a list are a list too.
        if isinstance(values.get("class_prior"), list) and len(values["class_prior"]) == 2:
            values["class_prior"] = values["class_prior"][1]
    return groups


def literal(name: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if name == "weight":
        return value
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return f"[{', '.join(literal(name, v) for v in value)}]"
    return f"CAST({value!r} AS DOUBLE)"


# Comparison ----------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Structs and arrays as nested lists of floats, where a null is a number that no metric has."""
    if isinstance(value, dict):
        return [[float(value["tn"]), float(value["fp"])], [float(value["fn"]), float(value["tp"])]]
    if hasattr(value, "to_list"):
        value = value.to_list()
    if isinstance(value, list | tuple):
        return [NOTHING if v is None else plain(v) for v in value]
    return value


def assert_close(value: Any, wanted: Any, what: str, rel: float = 1e-9) -> None:
    value, wanted = plain(value), plain(wanted)
    assert (value is None) == (wanted is None), f"{what}: {value} instead of {wanted}"
    if wanted is not None:
        # Differences of rates cancel: what is left is off by the rounding of the rates, not of itself.
        np.testing.assert_allclose(value, wanted, rtol=rel, atol=1e-12, err_msg=what)


def wanted_of(case: Case, rows: list[tuple], options: dict[str, Any], k: int) -> Any:
    given = {n: v for n, v in options.items() if n in case.options or n in ("score_type", "costs")}
    if case.name == "net_benefit":
        given |= {"cost_fp": case.arguments["p_t"], "cost_fn": 1 - case.arguments["p_t"], "costs": None}
    if case.name == "dcf":
        given["costs"] = None
    if case.name == "cllr":
        given |= {"prior": 0.5}
    weights = [w for *_, w in rows] if given.pop("weight", None) else None
    group = Group([s for _, s, *_ in rows], [y for _, _, y, _ in rows], weights, k=k, **given)
    if case.name in COUNTS:
        return getattr(group, case.name)
    if case.name == "confusion":
        return None if group.confusion is None else group.confusion.tolist()
    if case.name == "class_prior":
        shares = group.class_prior
        return None if shares is None else shares[1] if k == 2 else shares.tolist()
    if case.name == "dcf":
        return group.nec()
    if case.expected is not None:
        return case.expected(group)
    method = getattr(group, case.name)
    return method(**case.arguments) if callable(method) else method


def check(
    cases: list[Case],
    rows: list[tuple],
    options: dict[str, Any],
    k: int,
    dtype: pl.DataType,
    connection: Any,
    label: type[pl.DataType] = pl.Int64,
) -> None:
    frame = frame_of(rows, dtype, label)
    doors = {
        "streaming": in_polars(cases, frame, options, "streaming"),
        "in-memory": in_polars(cases, frame, options, "in-memory"),
        "sql": in_sql(cases, frame, options, connection),
    }
    for group in {g for g, *_ in rows}:
        own = [row for row in rows if row[0] == group]
        for case in cases:
            wanted = wanted_of(case, own, options, k)
            if case.name == "confusion" and dtype.is_nested() and all(score is None for _, score, *_ in own):
                continue  # of what size SQL does not know where no row has a vector: test_a_group_without_vectors
            for door, values in doors.items():
                assert_close(values[group][case.name], wanted, f"{case.name} by {door} with {options}")
            assert_close(doors["sql"][group][case.name], doors["streaming"][group][case.name], case.name, rel=1e-12)


@pytest.mark.quick("posterior", "llr", "decision")
@pytest.mark.parametrize("score_type", ["posterior", "percent", "log_odds", "llr", "decision"])
@settings(PROFILE, max_examples=int(EXAMPLES or 3))
@given(data=st.data())
def test_binary(score_type: str, data: st.DataObject, connection: duckdb.DuckDBPyConnection) -> None:
    rows, options = data.draw(binary_logs(score_type))
    usable = [
        case
        for case in CASES
        if score_type in case.score_types and not (case.name == "dcf" and options["prior"] is None)
    ]
    quick = [case for case in usable if case.name not in SLOW_TO_PLAN]
    cases = data.draw(st.lists(st.sampled_from(quick), min_size=6, max_size=6, unique_by=lambda case: case.name))
    cases += data.draw(st.sampled_from([*[[]] * 9, *([case] for case in usable if case.name in SLOW_TO_PLAN)]))
    boolean = data.draw(st.booleans()) and all(y in (0, 1, None) for _, _, y, _ in rows)
    check(cases, rows, options, 2, pl.Float64(), connection, pl.Boolean if boolean else pl.Int64)


def test_a_group_without_vectors(connection: duckdb.DuckDBPyConnection) -> None:
    """Its confusion is of no rows where the size is known: by the dtype, or by the costs; else SQL gives NULL."""
    frame = frame_of([("a", None, 1, 1.0), ("b", [0.5, 0.3, 0.2], 0, 1.0)], pl.Array(pl.Float64, 3), pl.Int64)
    (confusion,) = [case for case in CASES if case.name == "confusion"]
    nothing = [[0.0] * 3] * 3
    for costs in (None, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]):
        options = {"score_type": "posteriors", "costs": costs}
        for engine in ("streaming", "in-memory"):
            assert plain(in_polars([confusion], frame, options, engine)["a"]["confusion"]) == nothing
        of_sql = plain(in_sql([confusion], frame, options, connection)["a"]["confusion"])
        assert of_sql == (None if costs is None else nothing)


GOOD_ROWS = [("a", 0.9, 1, 2.0), ("a", 0.2, 0, 1.0), ("a", 0.4, 1, 0.5), ("a", 0.7, 0, 3.0)]
OF_POSTERIORS = [case for case in CASES if "posterior" in case.score_types and case.name != "dcf"]


@pytest.mark.quick("None")
@pytest.mark.parametrize("prior", [None, 0.1])
def test_a_missing_row_may_have_any_weight(connection, prior: float | None) -> None:
    rows = [*GOOD_ROWS, ("a", None, 1, math.nan), ("a", None, 0, math.inf), ("a", 0.6, None, math.nan)]
    rows += [("b", s, y, w) for _, s, y, w in GOOD_ROWS] + [("b", None, 1, -1.0), ("b", 0.6, None, math.inf)]
    options = {"prior": prior, "weight": "w", "score_type": "posterior"}
    check(OF_POSTERIORS, rows, options, 2, pl.Float64(), connection)


ARRAY, LIST = pl.Array(pl.Float64, 3), pl.List(pl.Float64)


# A metric of counts, of averages, of classes, of losses and of bins: they read the vectors each in its way.
OF_VECTORS = {"confusion", "nec", "class_recall", "macro_f1", "cross_entropy", "brier", "bayes_risk", "ece_mc"}


@pytest.mark.parametrize("is_whole", mostly_slow([False, True], [False]), ids=["of each kind", "all metrics"])
@pytest.mark.parametrize(
    ("dtype", "score_type"),
    mostly_slow(
        [(dtype, kind) for dtype in (ARRAY, LIST) for kind in ("posteriors", "log_posteriors", "log_likelihoods")],
        [(LIST, "log_posteriors")],
    ),
)
def test_a_missing_part_of_a_vector(connection, dtype: pl.DataType, score_type: str, is_whole: bool) -> None:
    rows = [("a", [0.7, 0.2, 0.1], 0, 2.0), ("a", [0.2, 0.5, 0.3], 2, 1.0), ("a", [0.3, 0.4, 0.3], 1, 1.0)]
    rows += [("a", [0.5, None, 0.5], 1, 1.0), ("a", [None] * 3, 0, 1.0), ("a", None, 0, 1.0)]
    if score_type != "posteriors":
        rows = [(g, s and [x and math.log(x) for x in s], y, w) for g, s, y, w in rows]
    costs = [[0, 1, 2, 0.25], [3, 0, 1, 0.25], [1, 4, 0, 0.25]]
    options = {"prior": [0.5, 0.25, 0.25], "weight": "w", "score_type": score_type, "costs": costs}
    cases = [*CASES, *RANKING_OF_CLASSES]
    cases = [case for case in cases if not case.binary and not case.square and score_type in case.score_types]
    cases = [case for case in cases if is_whole or case.name in OF_VECTORS]
    if isinstance(dtype, pl.List):  # K must show in the arguments
        cases = [case for case in cases if "prior" in case.options]
    check(cases, rows, options, 3, dtype, connection)


@pytest.mark.parametrize(
    ("prior", "weight"), mostly_slow([(None, None), (0.0, None), (0.0, "w"), (1.0, "w")], [(0.0, "w")])
)
@pytest.mark.slow
def test_a_group_without_rows_has_no_value(connection, prior: float | None, weight: str | None) -> None:
    rows = [*GOOD_ROWS, ("b", None, 1, 1.0), ("b", None, 0, 1.0), ("b", 0.6, None, 1.0)]
    options = {"prior": prior, "score_type": "posterior"} | ({} if weight is None else {"weight": weight})
    check(OF_POSTERIORS, rows, options, 2, pl.Float64(), connection)
    values = in_polars(OF_POSTERIORS, frame_of(rows, pl.Float64(), pl.Int64), options, "streaming")["b"]
    assert {name for name, value in values.items() if value is not None} == {*COUNTS, "confusion"}


# Plans for K classes are long.
@settings(PROFILE, max_examples=int(EXAMPLES or 3))
@given(data=st.data())
def test_vectors(data: st.DataObject, connection: duckdb.DuckDBPyConnection) -> None:
    rows, options, k = data.draw(vector_logs())
    lists = any(s is not None and len(s) != k for _, s, *_ in rows)
    # In SQL lists that are all of another length are of other classes than the costs, which is an error.
    of_length_k = {g for g, s, y, _ in rows if s is not None and len(s) == k and y in range(k) and None not in s}
    assume(all(s is None or len(s) == k or g in of_length_k for g, s, *_ in rows))
    dtype = pl.List(pl.Float64) if lists else pl.Array(pl.Float64, k)
    square = options["costs"] is None or len(options["costs"][0]) == k
    usable = [*CASES, *RANKING_OF_CLASSES]
    usable = [case for case in usable if not case.binary and options["score_type"] in case.score_types]
    usable = [case for case in usable if square or not case.square]
    cases = data.draw(st.lists(st.sampled_from(usable), min_size=5, max_size=5, unique_by=lambda case: case.name))
    if lists:  # K must show somewhere
        options["costs"] = options["costs"] or [[float(i != j) for j in range(k)] for i in range(k)]
        cases = [case for case in cases if "costs" in case.options]
    check(cases, rows, options, k, dtype, connection)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize(
    ("labels", "scores", "prior", "expected"),
    [
        # No positives: recall and the prior are 0/0 and 0.
        ([0, 0, 0], [0.1, 0.2, 0.9], None, None),
        ([0, 0, 0], [0.1, 0.2, 0.9], 0.0, None),
        # No negatives, so that the class of prior 0.7 has no rows.
        ([1, 1, 1], [0.1, 0.8, 0.9], 0.3, None),
        # A prior of 0 and no hit: 0/0. With a hit it is (recall - 0) / recall.
        ([0, 1, 1], [0.1, 0.2, 0.3], 0.0, None),
        ([0, 1, 1], [0.1, 0.2, 0.9], 0.0, 1.0),
        ([0, 1, 1], [0.1, 0.2, 0.9], 0.3, (0.5 - 0.3) / (0.7 * 0.5)),
        ([0, 1, 1], [0.1, 0.2, 0.3], 0.3, -math.inf),
    ],
)
def test_recall_gain_is_null_where_it_is_not_defined(labels, scores, prior, expected) -> None:
    log = pl.DataFrame({"score": scores, "label": labels}, schema={"score": pl.Float64, "label": pl.Int64})
    stated = {} if prior is None else {"prior": prior}
    values = [evaluate(door, "recall_gain", log, **stated) for door in ("function", "sql")]
    values.append(log.ec.sketch("score", "label").evaluate("recall_gain", **stated)["recall_gain"].item())
    report = log.ec.report("score", "label", metrics=["recall_gain"], **stated)
    values.append(report["recall_gain" if prior is None else "recall_gain_at_prior"].item())
    assert values == [None if expected is None else pytest.approx(expected)] * 4


@pytest.mark.parametrize("door", mostly_slow(["function", "sql"], ["sql"]))
@pytest.mark.parametrize("missing", [[-math.inf, -math.inf, None], [None, -math.inf, -math.inf], [None, None, None]])
def test_log_likelihoods_that_are_null_or_impossible_are_missing(door: str, missing: list[float | None]) -> None:
    """Null in any part is missing, whatever else the row holds: the value is that of the other rows."""
    rows = np.log([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    schema = {"score": pl.Array(pl.Float64, 3), "label": pl.Int64}
    log = pl.DataFrame({"score": [missing, *rows.tolist()], "label": [0, 0, 1, 2]}, schema=schema)
    options = {"score_type": "log_likelihoods", "prior": "uniform"}
    assert evaluate(door, "cross_entropy", log, **options) == pytest.approx(-np.trace(rows) / 3)
    assert evaluate(door, "accuracy", log, **options) == 1
