"""Thresholds and costs that rows have of their own, by every door, against plain NumPy on one group."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_ec as ec
from tests.support.cases import CASES, RANKING
from tests.support.doors import DOORS, QUICK_DOORS, evaluate
from tests.support.plans import assert_streams
from tests.support.profile import EXAMPLES, PROFILE

METRICS = ("expected_cost", "nec", "recall", "precision", "error_rate", "confusion")
SCORES = {
    "posterior": st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.25]), st.floats(0, 1)),
    "log_odds": st.one_of(st.sampled_from([0.0, -800.0, 800.0]), st.floats(-9, 9)),
    "llr": st.one_of(st.sampled_from([0.0, -800.0, 800.0]), st.floats(-9, 9)),
    "decision": st.sampled_from([0.0, 1.0]),
}
COSTS = st.one_of(st.sampled_from([0.0, 1.0, 2.5, 1e-3]), st.floats(0, 100))
WRONG = st.sampled_from([None, math.nan, -1.0, math.inf])
COLUMNS = {"g": pl.String, "s": pl.Float64, "y": pl.Int64, "w": pl.Float64, "t": pl.Float64, "fn": pl.Float64}
COLUMNS |= {"fp": pl.Float64}


@st.composite
def logs(draw: st.DrawFn, score_type: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Rows of two groups, a few of them missing or wrong, and keywords that say which columns are used."""
    missing, wrong = draw(st.booleans()), draw(st.sampled_from([False, False, True]))
    cost = st.one_of(*[COSTS] * 9, WRONG) if wrong else COSTS
    threshold = SCORES["posterior" if score_type == "posterior" else "log_odds"]
    threshold = st.one_of(*[threshold] * 9, st.sampled_from([None, math.nan, math.inf])) if wrong else threshold
    row = st.tuples(
        st.sampled_from(["a", "b"]),
        st.one_of(*[SCORES[score_type]] * 5, st.none()) if missing else SCORES[score_type],
        st.sampled_from([0, 1, None] if missing else [0, 1]),
        st.sampled_from([0.0, 1.0, 0.5, 3.0]),
        threshold,
        cost,
        cost,
    )
    rows = draw(st.lists(row, min_size=1, max_size=14))
    used = draw(st.sampled_from([("cost_fn",), ("cost_fp",), ("cost_fn", "cost_fp")]))
    options: dict[str, Any] = {"score_type": score_type, **{name: name.removeprefix("cost_") for name in used}}
    if score_type != "decision" and draw(st.booleans()):
        options["threshold"] = "t"
    if draw(st.booleans()):
        options["weight"] = "w"
    prior = draw(st.sampled_from([0.3, 0.3, 0.9] if score_type == "llr" else [None, 0.3, 0.0, 1.0]))
    if prior is not None:
        options["prior"] = prior
    return pl.DataFrame(rows, schema=COLUMNS, orient="row"), options


def plain(frame: pl.DataFrame, options: dict[str, Any]) -> dict[str, Any]:
    """The metrics of one group, from its rows one by one."""
    nothing = dict.fromkeys(METRICS)
    own = {key: value for key, value in options.items() if key in ("threshold", "cost_fn", "cost_fp")}
    for key, column in own.items():
        values = [math.nan if value is None else value for value in frame[column]]
        if any(math.isnan(v) or (key != "threshold" and not 0 <= v < math.inf) for v in values):
            return nothing
    used = frame.filter(pl.col("s").is_not_null() & pl.col("y").is_not_null())
    score, positive = used["s"].to_numpy(), used["y"].to_numpy() == 1
    weight = used["w"].to_numpy() if "weight" in options else np.ones(len(used))
    fn, fp = (used[own[name]].to_numpy() if name in own else np.ones(len(used)) for name in ("cost_fn", "cost_fp"))
    if options["score_type"] == "decision":
        decided = score > 0.5
    elif "threshold" in own:
        decided = score > used["t"].to_numpy()
    elif options["score_type"] == "posterior":
        bound = [p / (n + p) if n + p > 0 else 1.0 for n, p in zip(fn, fp, strict=True)]
        decided = score > np.array(bound)
    else:
        shift = math.log(options["prior"] / (1 - options["prior"])) if options["score_type"] == "llr" else 0.0
        bound = [
            math.inf if n == 0 else -math.inf if p == 0 else math.log(p) - math.log(n)
            for n, p in zip(fn, fp, strict=True)
        ]
        decided = score > np.array(bound) - shift
    cells = [[float(weight[(positive == i) & (decided == j)].sum()) for j in (0, 1)] for i in (0, 1)]
    n0, n1 = sum(cells[0]), sum(cells[1])
    found: dict[str, Any] = {**nothing, "confusion": cells}
    if n0 + n1 == 0:
        return found
    p1 = options.get("prior", n1 / (n0 + n1))
    p0 = n0 / (n0 + n1) if "prior" not in options else 1 - p1
    found["recall"] = cells[1][1] / n1 if n1 else None
    if (p1 > 0 and not n1) or (p0 > 0 and not n0):
        return found
    share = (weight * np.where(positive, p1 / (n1 or 1), p0 / (n0 or 1))).astype(float)
    cost = np.where(positive, fn, fp)
    found["expected_cost"] = math.fsum((share * cost)[positive != decided])
    naive = min(math.fsum((share * cost)[positive]), math.fsum((share * cost)[~positive]))
    found["nec"] = found["expected_cost"] / naive if naive > 0 else None
    found["error_rate"] = math.fsum(share[positive != decided])
    alarms = math.fsum(share[decided])
    found["precision"] = math.fsum(share[decided & positive]) / alarms if alarms > 0 else None
    return found


def in_polars(frame: pl.DataFrame, options: dict[str, Any], engine: Any) -> dict[str, dict[str, Any]]:
    metrics = [getattr(ec, name)("s", "y", **options).alias(name) for name in METRICS]
    table = frame.lazy().group_by("g").agg(metrics).collect(engine=engine)
    return {row.pop("g"): row for row in table.to_dicts()}


def in_sql(
    frame: pl.DataFrame, options: dict[str, Any], connection: duckdb.DuckDBPyConnection
) -> dict[str, dict[str, Any]]:
    connection.register("log", frame.to_arrow())
    given = ", ".join(
        f"{key} := '{value}'" if key == "score_type" else f"{key} := {value}" for key, value in options.items()
    )
    calls = ", ".join(f"ec.{name}(s, y, {given}) AS {name}" for name in METRICS)
    rows = connection.execute(f"SELECT g, {calls} FROM log GROUP BY g").fetchall()
    return {group: dict(zip(METRICS, values, strict=True)) for group, *values in rows}


@pytest.mark.quick("posterior", "llr")
@pytest.mark.parametrize("score_type", list(SCORES))
@settings(PROFILE, max_examples=int(EXAMPLES or 3))
@given(data=st.data())
def test_any_log(score_type: str, data: st.DataObject, connection: duckdb.DuckDBPyConnection) -> None:
    frame, options = data.draw(logs(score_type))
    doors = {"streaming": in_polars(frame, options, "streaming"), "sql": in_sql(frame, options, connection)}
    for (group,), rows in frame.group_by("g"):
        wanted = plain(rows, options)
        for door, found in doors.items():
            values = found[group]
            if values["confusion"] is not None:
                tn, fp, fn, tp = (values["confusion"][cell] for cell in ("tn", "fp", "fn", "tp"))
                values["confusion"] = [[tn, fp], [fn, tp]]
            for name in METRICS:
                what = f"{name} by {door} with {options}"
                assert (values[name] is None) == (wanted[name] is None), f"{what}: {values[name]}, {wanted[name]}"
                if wanted[name] is not None:
                    np.testing.assert_allclose(values[name], wanted[name], rtol=1e-9, atol=1e-300, err_msg=what)


DECIDED = [case for case in CASES if "threshold" in case.options and "posterior" in case.score_types]
LOG = pl.DataFrame(
    {
        "score": [0.9, 0.45, 0.7, 0.1, 0.2, 0.3, 0.6],
        "label": [1, 1, 0, 0, 0, None, 1],
        "weight": [1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        "two": [2.0] * 7,
        "amount": [5.0, 1.0, 2.0, 3.0, 1.0, 1.0, 4.0],
        "whole": [5, 1, 2, 3, 1, 1, 4],
        "threshold": [0.5, 0.4, 0.8, 0.05, 0.5, 0.5, 0.7],
    }
)


CELLS = [("tn", 0, 0), ("fp", 0, 1), ("fn", 1, 0), ("tp", 1, 1)]


def same(value: Any, wanted: Any) -> None:
    assert (value is None) == (wanted is None)
    if wanted is not None:
        # Some are of each class, which may have none.
        value, wanted = (np.asarray(x, dtype=float) for x in (value, wanted))
        np.testing.assert_allclose(value, wanted, rtol=1e-12)


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", QUICK_DOORS)
def test_a_column_of_constants_is_the_constant(door: str) -> None:
    for case in DECIDED:
        for column, number in (({"cost_fn": "two"}, {"cost_fn": 2.0}), ({"threshold": "two"}, {"threshold": 2.0})):
            if not column.keys() <= set(case.options):
                continue
            found = evaluate(door, case.name, LOG, weight="weight", **case.arguments, **column)
            same(found, evaluate("function", case.name, LOG, weight="weight", **case.arguments, **number))


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", QUICK_DOORS)
def test_metrics_of_rows(door: str) -> None:
    """By hand: threshold amount/(amount + 1) of false alarms at 1, or the row's own."""
    log = LOG.with_columns(amount=pl.Series([5.0, 1.0, 2.0, None, -1.0, math.nan, 4.0]))
    wanted = [1, 0, 1, None, None, None, 1]  # 1/6, 1/2, 1/3, ..., 1/5
    assert evaluate(door, "bayes_decision", log, cost_fn="amount") == wanted
    assert evaluate(door, "row_cost", log, cost_fn="amount") == [0.0, 1.0, 1.0, None, None, None, 0.0]
    log = LOG.with_columns(threshold=pl.Series([0.5, 0.4, 0.8, None, math.nan, 0.5, 0.7]))
    assert evaluate(door, "bayes_decision", log, threshold="threshold") == [1, 1, 0, None, None, 0, 0]
    assert evaluate(door, "row_cost", log, threshold="threshold", cost_fn="amount") == [0, 0, 0, None, None, None, 4]


@pytest.mark.quick("*-function", "whole-sql")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("column", ["amount", "whole"])
def test_metrics_of_money(door: str, column: str) -> None:
    """By hand: of positives 5, 1 and 4 the one of 1 is missed at 0.45, and of the negatives that of 0.7 is a false alarm."""
    given = {"cost_fn": column, "cost_fp": column, "threshold": 0.5}
    assert evaluate(door, "expected_cost", LOG, **given) == pytest.approx((1 + 2) / 6)
    assert evaluate(door, "nec", LOG, **given) == pytest.approx((1 + 2) / min(5 + 1 + 4, 2 + 3 + 1))
    assert evaluate(door, "nec", LOG, prior=0.25, **given) == pytest.approx(
        (1 / 3 + 3 * 2 / 3) / min(10 / 3, 3 * 6 / 3)
    )
    # Bayes decisions of costs 5:1, 1:1, 2:1, ...: all positives but the one of 0.45 at 1/2, and 0.7 at 1/3.
    assert evaluate(door, "bayes_risk", LOG, cost_fn=column) == pytest.approx((1 + 1) / 6)


@pytest.mark.parametrize("door", QUICK_DOORS)
def test_costs_that_no_float_can_add_up(door: str) -> None:
    log = LOG.with_columns(huge=pl.lit(1.5e308))
    assert evaluate(door, "nec", log, cost_fn="huge", threshold=2.0) is None
    assert evaluate(door, "recall", log, cost_fn="huge", cost_fp="huge") == pytest.approx(2 / 3)


@pytest.mark.parametrize("door", QUICK_DOORS)
def test_costs_whose_quotient_no_float_holds(door: str) -> None:
    """The threshold is ln(1e-600), or minus that."""
    log = pl.DataFrame({"score": [-1381.0, -1382.0, 1382.0, 1381.0], "fn": [1e300] * 2 + [1e-300] * 2})
    log = log.with_columns(fp=1 / pl.col("fn"))
    given = {"cost_fn": "fn", "cost_fp": "fp", "score_type": "log_odds"}
    assert evaluate(door, "bayes_decision", log, **given) == [1, 0, 1, 0]


def test_vectors_of_two_follow_the_costs_of_the_row() -> None:
    score, amount = pl.col("score"), pl.col("amount")
    s, y, a = LOG.drop_nulls("label").select("score", "label", "amount").to_numpy().T
    decided = s > 1 / (1 + a)
    cells = {cell: int(((y == i) & (decided == j)).sum()) for cell, i, j in CELLS}
    nec = (a[(y == 1) & ~decided].sum() / (y == 1).sum() + decided[y == 0].mean()) / min(a[y == 1].mean(), 1)
    for score_type, pair in {
        "posteriors": [1 - score, score],
        "log_posteriors": [(1 - score).log(), score.log()],
        "log_likelihoods": [(1 - score).log() + 3, score.log() + 3],
    }.items():
        given = {"score_type": score_type, "prior": 0.5, "cost_fn": amount}
        assert LOG.select(ec.nec(pl.concat_arr(pair), "label", **given)).item() == pytest.approx(nec, rel=1e-12)
        found = LOG.select(ec.confusion(pl.concat_arr(pair), "label", **given)).item()
        assert found == cells
        decisions = LOG.select(ec.bayes_decision(pl.concat_arr(pair), **given)).to_series()
        assert decisions.to_list() == (LOG["score"] > 1 / (1 + LOG["amount"])).cast(pl.Int32).to_list()


def test_row_functions_of_lists_of_two_in_sql(connection) -> None:
    calls = "ec.bayes_decision([1 - score, score], cost_fn := amount), ec.row_cost([1 - score, score], label, cost_fn := amount)"
    connection.register("log", LOG.to_arrow())
    rows = connection.execute(f"SELECT {calls} FROM log").fetchall()
    for name, found in zip(("bayes_decision", "row_cost"), zip(*rows, strict=True), strict=True):
        assert list(found) == evaluate("function", name, LOG, cost_fn="amount")


def test_they_stream(tmp_path: Path) -> None:
    LOG.write_parquet(tmp_path / "log.parquet")
    log = pl.scan_parquet(tmp_path / "log.parquet")
    given: dict[str, Any] = {"cost_fn": "amount", "threshold": pl.col("threshold"), "prior": 0.2}
    assert_streams(
        log.group_by("whole").agg(
            ec.nec("score", "label", weight="weight", **given), ec.f1("score", "label", cost_fp="two")
        )
    )
    assert_streams(log.ec.report("score", "label", by="whole", **given))


def test_the_report() -> None:
    given = {"cost_fn": "amount", "cost_fp": pl.col("two"), "weight": "weight", "prior": 0.2}
    (row,) = LOG.ec.report("score", "label", **given).to_dicts()
    own = {key: value for key, value in given.items() if key != "prior"}
    for name in ("nec", "precision", "recall", "f1"):
        assert row[name] == pytest.approx(LOG.select(getattr(ec, name)("score", "label", **own)).item())
    for name in ("nec", "precision", "f1"):
        assert row[f"{name}_at_prior"] == pytest.approx(LOG.select(getattr(ec, name)("score", "label", **given)).item())
    assert row["fn"] == LOG.select(ec.confusion("score", "label", **own)).item()["fn"]


@pytest.mark.quick("amount")
@pytest.mark.parametrize("faulty", ["threshold", "amount"])
def test_the_report_of_rows_without_threshold_or_costs(faulty: str) -> None:
    """What is made of decisions is null, also where the row is missing; what is not, is not."""
    log = LOG.with_columns(pl.when(pl.col("label").is_not_null()).then(faulty))
    (row,) = log.ec.report("score", "label", cost_fn="amount", threshold="threshold", prior=0.2).to_dicts()
    (whole,) = LOG.ec.report("score", "label", cost_fn="amount", threshold="threshold", prior=0.2).to_dicts()
    decided = {"tn", "fp", "fn", "tp", "nec", "precision", "recall", "f1"}
    decided |= {"nec_at_prior", "precision_at_prior", "f1_at_prior"}
    assert {name for name in row if row[name] is None} == decided
    assert None not in whole.values()
    assert {**whole, **dict.fromkeys(decided)} == row
    kind = "threshold is null or NaN" if faulty == "threshold" else "cost_fn is null, NaN, negative or infinite"
    with pytest.raises(ec.InvalidDataError, match=rf"'score': {kind} in 1 row; the first: row 5 .*{faulty}=None"):
        log.ec.validate("score", "label", cost_fn="amount", threshold="threshold")


SKETCH = LOG.ec.sketch("score", "label")
REFUSED = [
    (lambda given: ec.min_dcf("score", "label", **given), "cost"),
    (lambda given: ec.min_expected_cost("score", "label", **given), "cost"),
    (lambda given: ec.dcf("score", "label", score_type="llr", prior=0.5, **given), "cost"),
    (lambda given: LOG.ec.sketch("score", "label", **given), "threshold"),
    (lambda given: SKETCH.evaluate("nec", **given), "both"),
    (lambda given: SKETCH.cost_curve("nec", **given), "cost"),
    (lambda given: SKETCH.best_threshold("nec", **given), "cost"),
    (lambda given: LOG.ec.calibration_loss("score", "label", rule="bayes_risk", training="test", **given), "cost"),
]


@pytest.mark.parametrize(("call", "takes"), REFUSED)
@pytest.mark.parametrize("keyword", ["cost_fn", "cost_fp", "threshold"])
def test_where_one_number_is_needed(call: Any, takes: str, keyword: str) -> None:
    if takes != "both" and not keyword.startswith(takes):
        return
    for column, shown in (("amount", "'amount'"), (pl.col("amount"), r"col\(.amount.\)")):
        with pytest.raises(
            ValueError, match=rf"{keyword}={shown} is a column, but one number is needed here: .*ec.nec\("
        ):
            call({keyword: column})


def test_cells_of_scores_have_one_cost() -> None:
    for keyword in ("cost_fn", "cost_fp"):
        with pytest.raises(ValueError, match=f"{keyword}='amount' is a column.*: pass reduction='decisions'"):
            LOG.ec.sketch("score", "label", **{keyword: "amount"})


def test_errors_at_the_call_and_of_dtypes() -> None:
    with pytest.raises(ValueError, match="not both"):
        ec.nec("score", "label", cost_fn="amount", costs=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="cost_fp=-1"):
        ec.nec("score", "label", cost_fn="amount", cost_fp=-1)
    with pytest.raises(ValueError, match=r"cost_fn='5' is a number as text: pass 5, or pl.col\('5'\)"):
        ec.nec("score", "label", cost_fn="5")
    for values in (LOG["amount"], LOG["amount"].to_numpy()):
        for keyword in ("threshold", "cost_fn"):
            with pytest.raises(TypeError, match=rf"{keyword}= holds values \(\w+\), not a column's name"):
                ec.nec("score", "label", **{keyword: values})
    text = LOG.lazy().with_columns(name=pl.lit("a"))
    for keyword in ("threshold", "cost_fn"):
        with pytest.raises(TypeError, match=f"{keyword}= must be numbers, but 'name' is String"):
            text.select(ec.nec("score", "label", **{keyword: "name"})).collect_schema()
    three = pl.LazyFrame(
        {"v": [[0.2, 0.3, 0.5]], "y": [1], "c": [1.0]}, schema_overrides={"v": pl.Array(pl.Float64, 3)}
    )
    with pytest.raises(ValueError, match="cost_fn and cost_fp are for two classes, but there are 3"):
        three.select(ec.nec("v", "y", cost_fn="c")).collect_schema()


def rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    connection.register("log", LOG.to_arrow())
    return connection.execute(query).fetchall()


GROUPED = "ec.{}(score, label, score_type := 'llr', prior := 0.3, cost_fn := {})"


@pytest.mark.quick("nec", "precision")
@pytest.mark.parametrize("name", ["nec", "dcf", "precision", "confusion"])
def test_columns_that_a_query_is_grouped_by_are_constants_in_it(connection, name: str) -> None:
    columns, constants = GROUPED.format(name, "two"), GROUPED.format(name, 2)
    ((value,),) = rows_of(connection, f"SELECT {columns} FROM log GROUP BY two")
    assert value is not None
    assert rows_of(connection, f"SELECT {constants} FROM log") == [(value,)]


@pytest.mark.parametrize(
    "call",
    [
        "ec.dcf(score, label, score_type := 'llr', prior := 0.3, cost_fn := amount)",
        "ec.nec([1 - score, score], label, cost_fn := amount)",
        "ec.nec(score, label, costs := [[0, 1], [1, 0]], cost_fn := amount)",
        "ec.net_benefit(score, label, amount)",
    ],
)
def test_macros_that_take_no_column_of_costs(connection, call: str) -> None:
    with pytest.raises(duckdb.BinderException, match="GROUP BY"):
        rows_of(connection, f"SELECT {call} FROM log")


def test_macros_tell_constants_from_columns_while_they_plan(connection) -> None:
    """Constants cost no sum a row, and are no columns wherever they come from."""

    def n_sums(cost: str, where: str = "log") -> int:
        ((_, plan),) = rows_of(connection, f"EXPLAIN SELECT ec.nec(score, label, cost_fn := {cost}) FROM {where}")
        return plan.count("sum(")

    for constant in ("5", "5.5", "5e0", "CAST('5' AS DOUBLE)", "2 + 3", "[4, 5][2]", "getvariable('cost')"):
        connection.execute("SET VARIABLE cost = 5")
        assert n_sums(constant) == 0, constant
    for column in ("amount", "whole", "amount + 1", "CASE WHEN whole > 2 THEN 1 END", "s.amount"):
        assert n_sums(column, "(SELECT *, {'amount': amount} AS s FROM log)") > 0, column


def test_a_column_of_costs_in_having_and_of_decimals(connection) -> None:
    call = "ec.nec(score, label, cost_fn := CAST(amount AS DECIMAL(9, 2)))"
    wanted = evaluate("function", "nec", LOG, cost_fn="amount")
    ((value,),) = rows_of(connection, f"SELECT {call} FROM log HAVING {call} > 0")
    assert value == pytest.approx(wanted, rel=1e-12)


WITH_PRIOR = [case for case in CASES if "prior" in case.options and case.name != "dcf"]


def test_a_prior_that_differs_by_row_leaves_no_value() -> None:
    log = LOG.with_columns(prior=pl.when(pl.col("score") > 0.5).then(0.2).otherwise(0.3))
    for case in WITH_PRIOR:
        given = {**case.arguments, "score_type": case.score_types[0]}
        assert evaluate("function", case.name, log, prior=0.2, **given) is not None, case.name
        assert evaluate("function", case.name, log, prior="prior", **given) is None, case.name
    for name, options in RANKING.items():
        if "prior" in options:
            assert evaluate("function", name, log, prior="prior") is None, name


def test_a_prior_that_is_not_one_leaves_no_value_in_sql(connection: duckdb.DuckDBPyConnection) -> None:
    log = LOG.with_columns(prior=pl.when(pl.col("label").is_not_null()).then(0.2))
    connection.register("log", log.to_arrow())
    cases = [case for case in WITH_PRIOR if case.name not in ("ece", "ece_mc", "epsr")]
    own = ["".join(f", {name} := {value}" for name, value in case.arguments.items()) for case in cases]
    calls = [f"ec.{case.name}(score, label, prior := prior{more})" for case, more in zip(cases, own, strict=True)]
    (values,) = connection.execute(f"SELECT {', '.join(calls)} FROM log").fetchall()
    assert dict(zip([case.name for case in cases], values, strict=True)) == dict.fromkeys(case.name for case in cases)


@pytest.mark.quick("*-function", "row_cost-sql")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("name", ["bayes_decision", "row_cost", "row_log_loss", "row_brier"])
def test_a_row_whose_prior_is_not_one_has_no_value(door: str, name: str) -> None:
    log = LOG.with_columns(prior=pl.Series([0.2, 2.0, math.nan, None, 0.2, 0.2, 0.3]))
    wanted = evaluate("function", name, LOG, prior=0.2)
    for i in (1, 2, 3):
        wanted[i] = None
    same(
        [math.nan if v is None else v for v in evaluate(door, name, log, prior="prior")],
        [math.nan if v is None else v for v in wanted],
    )


def test_counts_of_a_group_without_rows_are_0_whatever_the_prior() -> None:
    log = LOG.with_columns(score=pl.lit(None, dtype=pl.Float64), prior=pl.lit(2.0))
    nothing = [[0, 0], [0, 0]]
    assert [evaluate(door, "confusion", log, prior="prior") for door in DOORS] == [nothing] * 3
