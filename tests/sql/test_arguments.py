"""Arguments of the macros: what is missing, wrong or not constant is an error or NULL, never a number of something else."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.support.cases import CASES, LEARNED, OF_EACH_FAMILY, RANKING, ROW_FUNCTIONS, mostly_slow, one_of_each_family
from tests.support.doors import evaluate, sql_literal
from tests.support.macro_calls import AGGREGATES, APPROXIMATE, LOG, ROWS, with_argument


@pytest.fixture(scope="module", autouse=True)
def log_in_sql(connection) -> None:
    connection.execute(LOG)


@pytest.fixture(scope="module")
def log(connection) -> pl.DataFrame:
    frame = pl.DataFrame(connection.sql("FROM log").to_arrow_table())
    return frame.rename({"y": "label", "p": "score"}).with_columns(pl.col("v").list.to_array(2))


# Every number that a macro takes ---------------------------------------------------------------------------------------

NUMBERS = ("threshold", "prior", "cost_fn", "cost_fp", "beta", "p_t", "a", "b", "bins", "norm", "sensitivity", "specificity",
           "resolution", "alpha", "from_", "to", "buckets", "folds")  # fmt: skip
REQUIRED = {
    "net_benefit": {"p_t": 0.3},
    "cllr": {"score_type": "llr"},
    "dcf": {"score_type": "llr", "prior": 0.3},
    "llr": {"prior": 0.3},
    "shift_prior": {"from_": 0.3, "to": 0.5},
    "affine": {"alpha": 2.0, "beta": 1.0},
}
TAKE_NUMBERS = {
    **{case.name: {*case.options, *case.arguments} & set(NUMBERS) for case in CASES},
    **{name: ({*options} & set(NUMBERS)) for name, options in (RANKING | LEARNED).items()},
    **{name: ({*options} & set(NUMBERS)) for name, (options, _) in ROW_FUNCTIONS.items()},
}
TAKE_NUMBERS["specificity_at_sensitivity"] |= {"sensitivity"}
TAKE_NUMBERS["sensitivity_at_specificity"] |= {"specificity"}
for _name in REQUIRED:
    TAKE_NUMBERS[_name] |= set(REQUIRED[_name]) & set(NUMBERS)


def outcome(door: str, name: str, log: pl.DataFrame, keywords: dict[str, Any]) -> Any:
    """The value, or values of rows; None where all are null, or "error"."""
    try:
        value = evaluate(door, name, log, **keywords)
    except (ValueError, TypeError, duckdb.Error, pl.exceptions.PolarsError):
        return "error"
    return None if value == [None] * log.height else value


def assert_close(here: Any, there: Any, tolerance: float) -> None:
    if isinstance(there, list):
        assert isinstance(here, list)
        for a, b in zip(here, there, strict=True):
            assert_close(a, b, tolerance)
    elif there is None:
        assert here is None
    else:
        assert here == pytest.approx(there, rel=tolerance, abs=tolerance)


EVERY_NUMBER = [(name, argument) for name, taken in TAKE_NUMBERS.items() for argument in sorted(taken)]


@pytest.mark.quick(
    "nec-*", "fbeta-beta", "cross_entropy-*", "shift_prior-to", "min_dcf-cost_fn", "bayes_decision-threshold"
)
@pytest.mark.parametrize(
    ("name", "argument"),
    mostly_slow(
        EVERY_NUMBER, [case for case in EVERY_NUMBER if case[0] in OF_EACH_FAMILY and case != ("ece", "prior")]
    ),
)
def test_what_python_refuses_is_no_number(name: str, argument: str, log) -> None:
    """Python's errors are errors or NULL here, for SQL cannot tell a literal from a column; what it takes has its value."""
    for value in (math.nan, math.inf, -math.inf, -1.0, 0.0, True, None):
        keywords = REQUIRED.get(name, {}) | {argument: value}
        there, here = (outcome(door, name, log, keywords) for door in ("function", "sql"))
        if there == "error" or there != there:
            assert here in ("error", None), value
        else:
            # A ranking metric of a histogram is within its bound.
            assert_close(here, there, 0.02 if name in RANKING else 1e-12)


def test_the_test_has_every_number(connection) -> None:
    rows = connection.execute(
        "SELECT function_name, parameters FROM duckdb_functions() "
        "WHERE schema_name = 'ec' AND function_type = 'macro' AND NOT starts_with(function_name, '_')"
    ).fetchall()
    taken = {name: set(parameters) & set(NUMBERS) for name, parameters in rows}
    only_in_sql = {"resolution"}
    checked = {name: taken[name] - only_in_sql for name in taken if name in TAKE_NUMBERS}
    assert checked == TAKE_NUMBERS
    others = {name for name in taken if taken[name] - only_in_sql and name not in TAKE_NUMBERS}
    assert others <= {macro for pair in APPROXIMATE.values() for macro in pair} | {
        "bucket",
        "effective_prior",
        "fold",
        "stratified_fold",
        # Their prior has a number for each class.
        "macro_auc_roc",
        "weighted_auc_roc",
    }


# A row without a weight is missing, which these count.
COUNTS = ("n_rows", "n_missing", "n_invalid", "confusion")


@pytest.mark.quick("auc_roc", "cross_entropy", "n_rows", "shift_prior")
@pytest.mark.parametrize(
    "name",
    mostly_slow(sorted(({*AGGREGATES} | {*ROWS}) - {"bucket", "fold", "stratified_fold"}), OF_EACH_FAMILY - {"ece"}),
)
def test_a_null_of_a_type_is_no_number(name: str, connection) -> None:
    """It may have been looked for and not found: the value is NULL or an error."""
    query = "SELECT parameters FROM duckdb_functions() WHERE schema_name = 'ec' AND function_name = ?"
    parameters = {p for (overload,) in connection.execute(query, [name]).fetchall() for p in overload}
    for argument in sorted(parameters & {*NUMBERS, "weight", "costs"}):
        null = "CAST(NULL AS DOUBLE[][])" if argument == "costs" else "CAST(NULL AS DOUBLE)"
        for call in AGGREGATES.get(name) or [ROWS[name]]:
            if "weight := " in call or ("v, " in call and argument not in ("threshold", "prior", "costs", "cost_fn")):
                continue  # lists are slow to plan
            query = f"SELECT {with_argument(call, argument, null)} AS value FROM log"
            try:
                found = [value for (value,) in connection.execute(query).fetchall()]
            except duckdb.InvalidInputException:  # of error()
                continue
            if (argument, name) not in [("weight", count) for count in COUNTS]:
                assert found == [None] * len(found), query


# Macros whose first argument after score and label is a number of their own, and what it then means.
OWN_NUMBERS = {"dcf": "cost_fn", "fbeta": "beta", "net_benefit": "p_t", "epsr": "a", "ece": "bins", "ece_mc": "bins",
               "specificity_at_sensitivity": "sensitivity", "sensitivity_at_specificity": "specificity",
               "llr": "prior"}  # fmt: skip
OWN_NUMBERS |= {macro: OWN_NUMBERS[name] for name, pair in APPROXIMATE.items() if name in OWN_NUMBERS for macro in pair}
OTHERS = {"shift_prior", "affine", "bucket", "effective_prior", "fold", "stratified_fold"}


@pytest.mark.quick("nec", "auc_roc", "cross_entropy", "fbeta", "n_rows")
@pytest.mark.parametrize("name", one_of_each_family(sorted(({*AGGREGATES} | {*ROWS}) - OTHERS)))
def test_a_number_without_its_name(name: str, connection) -> None:
    """ec.nec(p, y, 5) is an error that says so; where a number is what comes next, it is that."""
    named = (AGGREGATES.get(name) or [ROWS[name]])[0]
    own = OWN_NUMBERS.get(name)
    score, *rest = named[:-1].split("(", 1)[1].split(", ")
    label = [part for part in rest if ":=" not in part]
    rest = [part for part in rest if ":=" in part and not part.startswith(f"{own} := ")]

    def call(number: str) -> str:
        return f"ec.{name}({', '.join([score, *label, number, *rest])})"

    if own is None:
        for number in ("0.5", "5", "w"):
            with pytest.raises(
                duckdb.Error, match=r"must be named|rule must be|appear in the GROUP BY|does not support"
            ):
                connection.execute(f"SELECT {call(number)} FROM log").fetchall()
    else:
        value = "4" if own in ("bins", "cost_fn") else "0.25"
        both = f"SELECT {call(value)}, {with_argument(named, own, value)} FROM log"
        assert all(a == b for a, b in connection.execute(both).fetchall())


# Thresholds and priors from columns ------------------------------------------------------------------------------------

DECIDED = sorted(case.name for case in CASES if "threshold" in case.options)
AT_A_PRIOR = sorted(
    {case.name for case in CASES if "prior" in case.options}
    | {name for name, options in (RANKING | LEARNED).items() if "prior" in options}
)
THRESHOLDS = "(VALUES ('a', 0.3e0), ('c', 0.5)) AS thresholds(g, threshold)"


def by_group(
    connection: duckdb.DuckDBPyConnection, calls: list[str], source: str = "log"
) -> dict[str, tuple[Any, ...]]:
    rows = connection.execute(f"SELECT g, {', '.join(calls)} FROM {source} GROUP BY g").fetchall()
    return {g: tuple(found) for g, *found in rows}


def first_call(name: str, **arguments: str) -> str:
    call = AGGREGATES[name][0]
    for key, value in arguments.items():
        call = with_argument(call, key, value)
    return call


def test_a_threshold_for_each_segment(connection) -> None:
    """The table of thresholds lacks segment b. At 0.3, segment a has one error, at 0.7; the best naive system makes 2."""
    calls = ["ec.nec(p, y, threshold := threshold)", "ec.confusion(p, y, threshold := threshold)"]
    found = by_group(connection, calls, f"log LEFT JOIN {THRESHOLDS} USING (g)")
    assert found == {"a": (pytest.approx(0.5), {"tn": 2, "fp": 1, "fn": 0, "tp": 2}), "b": (None, None)}


def test_a_threshold_for_each_row(connection, log) -> None:
    rows = log.drop_nulls(["score", "label"])
    positive = pl.col("score") > pl.when(pl.col("w") > 1).then(0.7).otherwise(0.15)
    expected = rows.group_by("g").agg(
        (~pl.col("label") & ~positive).sum().alias("tn"),
        (~pl.col("label") & positive).sum().alias("fp"),
        (pl.col("label") & ~positive).sum().alias("fn"),
        (pl.col("label") & positive).sum().alias("tp"),
    )
    found = by_group(connection, ["ec.confusion(p, y, threshold := CASE WHEN w > 1 THEN 0.7 ELSE 0.15 END)"])
    assert {g: cells for g, (cells,) in found.items()} == {row.pop("g"): row for row in expected.rows(named=True)}
    decisions = "ec.bayes_decision(p, threshold := CASE WHEN w > 1 THEN 0.7 ELSE 0.15 END)"
    query = f"SELECT sum({decisions}) FROM log WHERE y IS NOT NULL"
    assert connection.execute(query).fetchone() == (rows.select(positive.sum()).item(),)


@pytest.mark.parametrize("name", DECIDED)
def test_a_threshold_is_missing_anywhere_in_the_group(name: str, connection) -> None:
    """The row of group a that lacks its label lacks its threshold too."""
    given = first_call(name, threshold="0.5")
    calls = [given, with_argument(given, "threshold", "CASE WHEN y IS NOT NULL THEN 0.5 END")]
    found = by_group(connection, calls)
    assert found["a"][0] is not None
    assert found["a"][1] is None
    assert found["b"][0] == found["b"][1] is not None


# A call of these at a prior takes 0.2 s to plan: `make test` has the forms that differ most, `make test-all` has all.
SLOW_AT_A_PRIOR = ("ece", "ece_mc")
FORMS_OF_A_PRIOR = mostly_slow(
    [(name, "all") for name in AT_A_PRIOR] + [(name, "few") for name in SLOW_AT_A_PRIOR],
    [(name, "few" if name in SLOW_AT_A_PRIOR else "all") for name in OF_EACH_FAMILY],
)


@pytest.mark.quick("nec-all", "fbeta-all", "cross_entropy-all")
@pytest.mark.parametrize(("name", "forms"), FORMS_OF_A_PRIOR)
def test_a_prior_is_missing_or_wrong_anywhere_in_the_group(name: str, forms: str, connection) -> None:
    given = first_call(name, prior="0.3")
    values = ("NULL",) if forms == "few" else ("NULL", "CAST('nan' AS DOUBLE)", "2", "-1", "0.4")
    wrong = [f"CASE WHEN y IS NOT NULL THEN 0.3e0 ELSE {value} END" for value in values]
    wrong += ["CASE WHEN y IS NOT NULL THEN [0.7e0, 0.3] ELSE [CAST('nan' AS DOUBLE), 0.3] END"]
    if forms == "all":
        wrong += ["CASE WHEN y IS NOT NULL THEN [0.7e0, 0.3] END"]
    found = by_group(connection, [given, *(with_argument(given, "prior", prior) for prior in wrong)])
    assert found["a"][0] is not None
    assert found["a"][1:] == (None,) * len(wrong)
    assert found["b"] == (pytest.approx(found["b"][0], rel=1e-12),) * (1 + len(wrong))


@pytest.mark.quick("nec-all", "fbeta-all", "cross_entropy-all")
@pytest.mark.parametrize(("name", "forms"), FORMS_OF_A_PRIOR)
def test_where_a_prior_may_come_from(name: str, forms: str, connection) -> None:
    """A number, and the same from a column, lists of columns, a field, an expression, an aggregate."""
    log = "(SELECT *, 0.3e0 AS q, {'q': 0.3e0} AS s, [0.7e0, 0.3e0] AS l, 'uniform' AS u FROM log) AS log"
    places = ["0.3", "[1 - q, q]"]
    if forms == "all":
        places += ["s.q", "q", "s['q']", "l", "array_value(1 - q, q)", "q + 0", "CASE WHEN q > 0 THEN q END"]
    if name not in ("ece", "ece_mc", "epsr", "dcf", *RANKING, *LEARNED):
        places += ["any_value(q)", "any_value(l)"]
    of_030 = [first_call(name, prior=prior) for prior in places]
    of_050 = [first_call(name, prior=prior) for prior in ("0.5", "u")]
    of_050 += [first_call(name, prior="'uniform'")] if forms == "all" else []
    for first, *others in (*by_group(connection, of_030, log).values(), *by_group(connection, of_050, log).values()):
        assert first is not None
        assert others == [pytest.approx(first, rel=1e-12, abs=1e-15)] * len(others)


@pytest.mark.quick("nec", "fbeta", "cross_entropy", "n_rows")
@pytest.mark.parametrize("name", one_of_each_family(sorted(set(AGGREGATES) & {case.name for case in CASES})))
def test_where_a_weight_or_threshold_may_come_from(name: str, connection) -> None:
    log = "(SELECT *, 0.45e0 AS t, {'t': 0.45e0, 'w': w} AS s, [0.45e0] AS l FROM log) AS log"
    forms = {"weight": ["w", "s.w", "s['w']", "w * 1", "CASE WHEN w > 0 THEN w END", "CAST(w AS DOUBLE)"]}
    if name in DECIDED:
        forms["threshold"] = ["0.45e0", "t", "s.t", "s['t']", "l[1]", "t + 0", "CASE WHEN t > 0 THEN t END", "'0.45'"]
    for argument, values in forms.items():
        calls = [first_call(name, **{argument: value}) for value in values]
        for first, *others in by_group(connection, calls, log).values():
            assert first is not None
            assert others == [first] * len(others) or others == [pytest.approx(first, rel=1e-14)] * len(others)


@pytest.mark.parametrize("name", ["ece", "ece_mc"])
def test_where_no_prior_may_come_from(name: str, connection) -> None:
    with pytest.raises(duckdb.Error, match="leave out any_value"):
        connection.execute(f"SELECT ec.{name}(p, y, prior := any_value(0.3)) FROM log").fetchall()
    with pytest.raises(duckdb.Error, match="nested"):
        connection.execute("SELECT ec.nec(v, y, prior := any_value(0.3)) FROM log").fetchall()
    with pytest.raises(duckdb.Error, match="needs prior, a number or a column"):
        connection.execute("SELECT ec.nec(x, y, prior := any_value(0.3), score_type := 'llr') FROM log").fetchall()


@pytest.mark.quick("nec-*", "nce-*")
@pytest.mark.parametrize(
    ("name", "score_type"),
    mostly_slow(
        [(n, kind) for n in ("nec", "nce", "ece", "ece_mc", "confusion") for kind in ("llr", "log_likelihoods")],
        [
            ("nec", "llr"),
            ("nec", "log_likelihoods"),
            ("nce", "llr"),
            ("ece_mc", "log_likelihoods"),
            ("confusion", "llr"),
        ],
    ),
)
def test_a_prior_column_makes_posteriors(name: str, score_type: str, connection) -> None:
    score = "x" if score_type == "llr" else "[0, x]"
    calls = [
        f"ec.{name}({score}, y, score_type := '{score_type}', prior := {prior})" for prior in ("0.3", "q", "[1 - q, q]")
    ]
    for a, b, c in by_group(connection, calls, "(SELECT *, 0.3e0 AS q FROM log) AS log").values():
        assert a is not None
        assert a == b == c or a == pytest.approx(b, rel=1e-12) == pytest.approx(c, rel=1e-12)


@pytest.mark.parametrize("argument", ["prior", "threshold", "costs", "weight"])
def test_a_bound_none_is_an_argument_left_out(argument: str, connection) -> None:
    query = f"SELECT ec.nec(p, y, {argument} := ?), ec.nec(v, y, {argument} := ?) FROM log"
    assert connection.execute(query, [None, None]).fetchone() == pytest.approx((3 / 4, 3 / 4), rel=1e-12)


def test_a_bound_number_is_a_number(connection) -> None:
    query = (
        "SELECT ec.nec(p, y, threshold := ?), ec.class_prior(p, y, weight := ?), ec.brier(p, y, prior := ?) FROM log"
    )
    brier = [sum(losses) / len(losses) for losses in ([0.01, 0.3025, 0.16, 0.04], [0.49, 0.01, 0.04, 0.16, 0.3025])]
    found = connection.execute(query, [0.65, 2, 1.0]).fetchone()
    assert found == pytest.approx((3 / 4, 4 / 9, brier[0]), rel=1e-12)


# The costs of a group: constant, or what it is grouped by --------------------------------------------------------------


@pytest.mark.quick("confusion")
@pytest.mark.parametrize("name", mostly_slow(["nec", "expected_cost", "precision", "confusion"], ["nec", "confusion"]))
def test_costs_for_each_segment(name: str, connection) -> None:
    """The table of costs lacks segment b."""
    calls = [f"ec.{name}({score}, y, {given})" for score in "pv" for given in ("costs := matrix", "cost_fn := cost")]
    source = "log LEFT JOIN (VALUES ('a', 4, [[0, 1], [4, 0]])) AS costs(g, cost, matrix) USING (g)"
    query = f"SELECT g, {', '.join(calls)} FROM {source} GROUP BY g, cost, matrix"
    found = {g: values for g, *values in connection.execute(query).fetchall()}
    constant = "SELECT {}(p, y, cost_fn := 4), {}(v, y, cost_fn := 4) FROM log WHERE g = 'a'".replace(
        "{}", f"ec.{name}"
    )
    of_scores, of_lists = connection.execute(constant).fetchone()
    assert of_scores is not None
    assert found == {"a": [of_scores, of_scores, of_lists, of_lists], "b": [None] * 4}
    with pytest.raises(duckdb.Error, match="costs must be finite numbers"):
        connection.execute(query.replace("costs := matrix", "costs := [[0, 1], [cost, 0]]")).fetchall()
    with pytest.raises(duckdb.Error, match="must appear in the GROUP BY"):
        connection.execute(query.replace("GROUP BY g, cost, matrix", "GROUP BY g")).fetchall()


# Lists of as many classes as the metric or its costs are for -----------------------------------------------------------

# Three classes in each row; in some rows two; three, and a row that is wrong. The label fits any.
LISTS = """(SELECT y, w, [(1 - p) / 2, (1 - p) / 2, p] AS three, CASE WHEN p < 0.5 THEN v ELSE three END AS mixed,
                   CASE WHEN p = 0.1 THEN [2, -1, 0] ELSE three END AS one_wrong FROM log) AS lists"""
OF_LISTS = [case for case in CASES if "posteriors" in case.score_types]


def of_lists(connection: duckdb.DuckDBPyConnection, name: str, given: list[str], score: str = "three") -> Any:
    return connection.execute(f"SELECT ec.{name}({', '.join([score, 'y', *given])}) FROM {LISTS}").fetchone()[0]


@pytest.mark.quick("nec", "cross_entropy", "n_rows")
@pytest.mark.parametrize("case", one_of_each_family(OF_LISTS), ids=lambda case: case.name)
def test_lists_of_other_classes(case, connection, log) -> None:
    """Where all usable rows have as many classes, and too many, an error, as in Python; where lengths are mixed, NULL."""
    own = {key: value for key, value in case.arguments.items() if key in ("p_t", "bins", "decision")}
    frame = log.with_columns(
        pl.concat_arr((1 - pl.col("score")) / 2, (1 - pl.col("score")) / 2, "score").alias("three"),
        pl.col("label").cast(pl.Int8),
    )
    too_few = {"costs": [[0, 1], [1, 0]], "cost_fn": 3.0}
    for more in [{}] * case.binary + [{key: value} for key, value in too_few.items() if key in case.options]:
        assert outcome("function", case.name, frame, {"score": "three", **own, **more}) == "error"
        given = [f"{key} := {sql_literal(key, value)}" for key, value in (own | more).items()]
        if case.name in ("n_rows", "n_missing", "n_invalid"):
            continue
        for score in ("three", "one_wrong"):
            for weight in ([], ["weight := w"]):
                with pytest.raises(duckdb.InvalidInputException, match=r"the lists have 3 classes, but .* have 2"):
                    of_lists(connection, case.name, given + weight, score)
        assert of_lists(connection, case.name, given, "mixed") is None
    given = [f"{key} := {value}" for key, value in own.items()]
    # One of the three classes has no rows, and another one is never decided.
    of_every_class = ("balanced_", "macro_precision", "macro_recall", "f1_of_averages", "weighted_precision")
    undefined = case.name.startswith(of_every_class)
    assert case.binary or (of_lists(connection, case.name, given, "three") is None) == undefined


def test_counts_of_lists_of_other_classes(connection) -> None:
    """They say how many rows are wrong. Of 11 rows, one has no label and one no score; 4 of the other 9 are of two classes."""
    costs = ["costs := [[0, 1], [1, 0]]"]
    for given, score, n_rows in (
        ([], "three", 9),
        (costs, "three", 0),
        ([], "mixed", 5),
        (costs, "mixed", 4),
        ([], "one_wrong", 8),
    ):
        counts = [of_lists(connection, name, given, score) for name in ("n_rows", "n_missing", "n_invalid")]
        assert counts == [n_rows, 2, 9 - n_rows]


@pytest.mark.parametrize("name", ["expected_score_divergence", "semi_empirical_epsr"])
def test_lists_and_references_of_other_classes(name: str, connection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="have 3 classes, but those of the reference have 2"):
        connection.execute(f"SELECT ec.{name}(three, v) FROM (SELECT [0.5, 0.25, 0.25] AS three), log").fetchall()
    assert connection.execute(f"SELECT ec.{name}(mixed, three) FROM {LISTS}").fetchone() == (None,)
    with pytest.raises(duckdb.InvalidInputException, match="have 2 classes, but those of the reference have 3"):
        connection.execute(f"SELECT ec.{name}(mixed, three) FROM {LISTS} WHERE len(mixed) = 2").fetchall()
