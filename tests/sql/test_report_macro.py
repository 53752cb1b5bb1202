"""FROM ec.report in DuckDB: the numbers of `lf.ec.report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from polars_ec.formulas.decisions import CELLS, DECISIONS, interval_scale, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.reports import models
from tests.support.cases import mostly_slow
from tests.support.report_macro import METRICS, OF_DECISIONS, Column, assert_equal, both, hostile_log

if TYPE_CHECKING:
    import duckdb

OF_COSTS = ["nec", "expected_cost"]
CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "as it comes": ([], {}),
    "groups": (["g"], {"cost_fn": 5, "prior": 0.1, "total": True}),
    "every metric": (["g"], {"cost_fn": 5, "prior": 0.1, "metrics": METRICS, "min_rows": 60}),
    "weights": (
        ["g", "h"],
        {"cost_fn": 5, "weight": Column("w"), "metrics": METRICS, "prior": "uniform", "total": True},
    ),
    "a threshold": (["h"], {"threshold": 0.4, "metrics": OF_DECISIONS}),
    "thresholds of rows": (["g"], {"threshold": Column("t"), "total": True, "prior": [0.8, 0.2]}),
    "costs of rows": (["g"], {"cost_fn": Column("a"), "cost_fp": 2, "prior": 0.1, "metrics": METRICS, "total": True}),
    "costs of rows, weights": (
        ["g", "h"],
        {"cost_fn": Column("a"), "cost_fp": Column("a"), "weight": Column("w"), "metrics": [*OF_COSTS, "f1"]},
    ),
}


@pytest.mark.parametrize("limits", [False, True], ids=["values", "limits"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(2, 17))
@pytest.mark.slow
def test_posteriors_of_many_logs(connection: duckdb.DuckDBPyConnection, seed: int, case: str, limits: bool) -> None:
    check(connection, seed, case, limits)


@pytest.mark.quick("groups-False", "weights-True")
@pytest.mark.parametrize(
    ("case", "limits"),
    mostly_slow(
        [("as it comes", False), ("groups", False), ("a threshold", False), ("every metric", True), ("weights", True)],
        [("groups", False), ("every metric", True), ("weights", True)],
    ),
)
def test_posteriors(connection: duckdb.DuckDBPyConnection, case: str, limits: bool) -> None:
    check(connection, 2, case, limits)


def check(connection: duckdb.DuckDBPyConnection, seed: int, case: str, limits: bool) -> None:
    by, options = CASES[case]
    level = {"interval": 0.9} if limits else {}
    assert_equal(*both(connection, hostile_log(seed, 300), by, **options, **level))


CLUSTERS = {
    "keys": {},
    "five buckets": {"buckets": 5},
    "weights": {"buckets": 20, "weight": Column("w")},
    "costs of rows": {"cost_fn": Column("a"), "weight": Column("w")},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "case"),
    [
        (4, "weights"),
        (9, "keys"),
        *(pytest.param(seed, case, marks=pytest.mark.slow) for seed in range(15) for case in CLUSTERS),
    ],
)
def test_clusters(connection: duckdb.DuckDBPyConnection, seed: int, case: str) -> None:
    """Keys of which some are null, and few of them; groups without errors at a threshold; a class in one cluster."""
    asked = {"prior": 0.1, "metrics": METRICS, "total": True, "interval": 0.95, "cluster": Column("k")}
    assert_equal(*both(connection, hostile_log(seed, 300), ["g"], **asked, **CLUSTERS[case]))


@pytest.mark.slow
@pytest.mark.parametrize("score_type", ["log_odds", "llr", "decision"])
def test_other_scores(connection: duckdb.DuckDBPyConnection, score_type: str) -> None:
    log = hostile_log(1, 300)
    p = pl.col("p")
    score = p > 0.4 if score_type == "decision" else (p / (1 - p)).log()
    asked = {"cost_fn": 5, "prior": 0.2, "score_type": score_type, "total": True, "interval": 0.95}
    assert_equal(*both(connection, log.with_columns(p=score), ["g"], **asked))


def test_metrics_of_two_classes_are_all_there(connection: duckdb.DuckDBPyConnection) -> None:
    """A metric that Python has is in both lists of the macros, and among those whose values are compared here."""
    of_sums = [name for name in (*DECISIONS, *SCORING_RULES) if name in models.METRICS]
    ((names,),) = connection.sql("SELECT ec._report_names()").fetchall()
    assert sorted(names) == sorted([*of_sums, models.CONFUSION])
    with_limits = [name for name in of_sums if name not in CELLS]
    assert sorted(with_limits) == sorted(METRICS)
    known = connection.sql(
        "SELECT name, scale, moves FROM ec._metrics_with_limits(ec._report_names(), NULL)"
    ).fetchall()
    wanted = [(name, interval_scale(name), is_moved_by_prior(name)) for name in with_limits]
    assert sorted(known) == sorted([*wanted, ("ec: kink", "identity", False)])
    elsewhere = [name for name in (*models.METRICS, *models.ELSEWHERE) if name not in names]
    said = [connection.execute("SELECT ec._where_it_is(?)", [name]).fetchall()[0][0] for name in elsewhere]
    assert [name for name, where in zip(elsewhere, said, strict=True) if where.startswith("it has")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", [1e-158, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-145, 1e-300, 1e152, 1e200))]
)
@pytest.mark.parametrize("cluster", [{}, {"cluster": Column("k")}], ids=["rows", "clusters"])
def test_weights_whose_squares_are_no_numbers(
    connection: duckdb.DuckDBPyConnection, size: float, cluster: dict[str, Any]
) -> None:
    """They have no limits, rather than ones of no width, and few rows as far as anybody knows."""
    log = hostile_log(1, 300).with_columns(pl.col("w") * size)
    asked = {"weight": Column("w"), "metrics": ["recall", "brier"], "interval": 0.95}
    for made in both(connection, log, [], **asked, **cluster):
        row = made.row(0, named=True)
        assert row["recall"] is not None
        assert [row[f"{name}_ci_{end}"] for name in ("recall", "brier") for end in ("low", "high")] == [None] * 4
        assert row["small"] is True


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-160, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-100, 1e160))])
def test_costs_whose_squares_are_no_numbers(connection: duckdb.DuckDBPyConnection, size: float) -> None:
    asked: dict[str, Any] = {"metrics": ["expected_cost"], "interval": 0.95}
    log = hostile_log(1, 300)
    whole, tiny = (both(connection, log, [], cost_fn=cost, cost_fp=cost, **asked) for cost in (1, size))
    for ones, others in zip(whole, tiny, strict=True):
        for end in ("low", "high"):
            one, other = (of[f"expected_cost_ci_{end}"].item() for of in (ones, others))
            assert other == (pytest.approx(one * size, rel=1e-9) if size == 1e-100 else None)


def test_numbers_by_hand(connection: duckdb.DuckDBPyConnection) -> None:
    """NEC of one group, and limits of a rate: half a row more of each decision, on the scale of log-odds."""
    rng = np.random.default_rng(0)
    label = rng.random(500) < 0.3
    score = 0.1 * label + 0.9 * rng.random(500)
    connection.register("of_one", pl.DataFrame({"p": score, "y": label}).to_arrow())
    made = connection.sql("FROM ec.report('of_one', p, y, cost_fn := 5, \"interval\" := 0.95)").pl().row(0, named=True)
    decided = score > 1 / 6
    fn, fp = int((label & ~decided).sum()), int((~label & decided).sum())
    n1, n0 = int(label.sum()), int((~label).sum())
    assert made["nec"] == pytest.approx((5 * fn + fp) / min(5 * n1, n0), rel=1e-12)
    hits, misses = n1 - fn + 0.5, fn + 0.5
    rate, rows = hits / (hits + misses), hits + misses
    variance = rate * (1 - rate) / (rows - 1)
    # With one class's spread alone Satterthwaite's degrees of freedom are that class's.
    t = stats.t.ppf(0.975, rows - 1)
    at, half = np.log(hits / misses), t * variance**0.5 / (rate * (1 - rate))
    # Shares of fewer than 20 misses are skewed.
    square = (2 * rate - 1) * half**2
    assert 1 < misses < 20
    want = [1 / (1 + np.exp(-(at - half))), 1 / (1 + np.exp(-(at + half + square / 4 + square**2 / 8)))]
    assert [made["recall_ci_low"], made["recall_ci_high"]] == pytest.approx(want, rel=1e-9)


def test_columns_and_rows_come_in_the_order_of_polars(connection: duckdb.DuckDBPyConnection) -> None:
    """Groups in that of the log; nulls first, all groups last."""
    asked = {"prior": 0.1, "min_rows": 10, "total": True, "interval": 0.95}
    of_polars, of_duckdb = both(connection, hostile_log(0, 300), ["g", "h"], **asked)
    assert of_duckdb.columns == of_polars.columns
    assert of_duckdb.select("g", "h").rows() == of_polars.select("g", "h").rows()
    assert of_duckdb.schema["tp"] == of_polars.schema["tp"] == pl.Int64


@pytest.mark.slow
def test_a_log_without_rows(connection: duckdb.DuckDBPyConnection) -> None:
    nothing = hostile_log(0, 300).clear()
    assert_equal(*both(connection, nothing, []))
    assert_equal(*both(connection, nothing, [], interval=0.95, prior=0.1))
    assert_equal(*both(connection, nothing, ["g"], total=True, interval=0.95, cluster=Column("k")))


@pytest.fixture
def flights(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    log = hostile_log(5, 300).with_columns(day=pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 10, 26), eager=True))
    connection.register("flights", log.to_arrow())
    return connection


@pytest.mark.slow
def test_a_report_is_a_table(flights: duckdb.DuckDBPyConnection) -> None:
    """The report takes a month that a WITH clause names. It works with WHERE, in a join, in a view, and with a table named like a parameter."""
    months = "WITH by_month AS (SELECT *, date_trunc('month', day) AS month FROM flights)"
    report = "ec.report('by_month', p, y, groups := ['month'], \"interval\" := 0.95)"
    necs = [nec for (nec,) in flights.execute(f"{months} SELECT nec FROM {report}").fetchall()]
    assert len(necs) == 10
    found = flights.execute(f"{months} SELECT nec FROM {report} WHERE nec > {necs[4]} AND nec_ci_low > 0").fetchall()
    assert [nec for (nec,) in found] == [nec for nec in necs if nec > necs[4]] != []
    named = "(VALUES ('a', 'first'), ('b', 'second')) AS names(g, name)"
    joined = flights.execute(
        f"SELECT name FROM ec.report('flights', p, y, groups := ['g']) JOIN {named} USING (g) ORDER BY g"
    ).fetchall()
    assert joined == [("first",), ("second",)]
    flights.execute("CREATE TEMP VIEW reported AS FROM ec.report('flights', p, y, groups := ['g'], prior := 0.2)")
    assert flights.execute("SELECT count(*) FROM reported WHERE nec_at_prior > 0").fetchall() == [(5,)]
    flights.execute(
        "CREATE TEMP TABLE named AS SELECT p AS score, y AS label, g AS prior, k AS cluster, t AS threshold FROM flights"
    )
    made = flights.sql(
        "FROM ec.report('named', score, label, groups := ['prior'], \"interval\" := 0.9, cluster := cluster)"
    ).pl()
    assert_equal(
        made.rename({"prior": "g"}),
        flights.sql("FROM ec.report('flights', p, y, groups := ['g'], \"interval\" := 0.9, cluster := k)").pl(),
    )


def test_a_prior_of_the_whole_log_and_one_of_each_group(flights: duckdb.DuckDBPyConnection) -> None:
    overall = flights.sql(
        "FROM ec.report('flights', p, y, groups := ['g'], prior := (SELECT avg(y::INT) FROM flights WHERE p IS NOT NULL))"
    ).pl()
    log = flights.table("flights").pl()
    assert_equal(log.ec.report("p", "y", by="g", prior="overall"), overall)
    shares = {"h": [0, 1], "share": [0.2, 0.4]}
    of_groups = log.join(pl.DataFrame(shares), on="h")
    flights.register("of_groups", of_groups.to_arrow())
    asked = "prior := share, total := true, score_type := 'llr'"
    made = flights.sql(
        f"FROM ec.report('of_groups', CASE WHEN p > 0 THEN ln(p) ELSE '-inf'::DOUBLE * (p = 0)::INT END, y, groups := ['h'], {asked})"
    ).pl()
    assert_equal(
        of_groups.ec.report(pl.col("p").log(), "y", by="h", prior=pl.col("share"), total=True, score_type="llr"), made
    )
    assert made["nec_at_prior"].is_null().to_list() == [False, False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("groups := ['nowhere']", "name a column that the log does not have"),
        pytest.param("groups := ['n']", "name a column that is also a column of the result", marks=pytest.mark.slow),
        ("metrics := ['nce', 'recal']", "'recal' is not a metric of ec.report: the metrics are nec, nce"),
        pytest.param(
            "metrics := ['auc_roc']",
            r"use SELECT ..., ec.auc_roc\(score, label\) FROM log GROUP BY ...",
            marks=pytest.mark.slow,
        ),
        pytest.param("metrics := ['n']", "every report has it", marks=pytest.mark.slow),
        pytest.param("metrics := []", "is empty: leave it out", marks=pytest.mark.slow),
        pytest.param("metrics := ['f1', 'f1']", "contain a name twice", marks=pytest.mark.slow),
        pytest.param("metrics := ['bayes_risk'], threshold := 0.5", "leave threshold out", marks=pytest.mark.slow),
        pytest.param("metrics := ['nce'], score_type := 'decision'", "has no posteriors", marks=pytest.mark.slow),
        ("total := true", "without groups there is only one"),
        pytest.param("min_rows := -1", "min_rows := -1 is not a number of rows", marks=pytest.mark.slow),
        ("cost_fn := 'a'", "Could not convert string 'a'"),
        pytest.param("cost_fn := -1", "costs must be finite", marks=pytest.mark.slow),
        pytest.param("prior := 1.5", "prior must be a number", marks=pytest.mark.slow),
        pytest.param("prior := NULL", "prior := NULL is not a prior", marks=pytest.mark.slow),
        ('"interval" := 95', "interval := 95.0 is not a level"),
        pytest.param('"interval" := NULL', "interval := NULL is not a level", marks=pytest.mark.slow),
        pytest.param(
            '"interval" := 0.95, cluster := k, buckets := 3',
            "buckets must be a whole number in",
            marks=pytest.mark.slow,
        ),
        pytest.param("score_type := 'llr'", "needs prior", marks=pytest.mark.slow),
        ("0.3", "arguments after the label must be named"),
        ("CAST(0.3 AS DOUBLE)", "must be named"),
        *(
            pytest.param(n, "must be named", marks=pytest.mark.slow)
            for n in ("3e-1", "CAST(0.3 AS FLOAT)", "1", "0.3, 3e-1")
        ),
        pytest.param('0.3, "interval" := 0.95', "must be named", marks=pytest.mark.slow),
        pytest.param("0.95, cluster := k", "must be named", marks=pytest.mark.slow),
        pytest.param('0.3, "interval" := 0.95, cluster := k', "must be named", marks=pytest.mark.slow),
    ],
)
def test_errors(flights: duckdb.DuckDBPyConnection, arguments: str, message: str) -> None:
    with pytest.raises(duckdb_error(), match=message):
        flights.execute(f"FROM ec.report('flights', p, y, {arguments})")


def test_a_parameter_needs_its_name(flights: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb_error(), match="must be named: prior := "):
        flights.execute("FROM ec.report('flights', p, y, ?)", [0.3])
    named = flights.execute("SELECT nec_at_prior FROM ec.report('flights', p, y, prior := ?)", [0.3]).fetchall()
    assert named == flights.execute("SELECT nec_at_prior FROM ec.report('flights', p, y, prior := 0.3)").fetchall()


@pytest.mark.parametrize(
    ("score", "label", "message"),
    [
        ("y", "p", "a BOOLEAN score is a decision"),
        ("[1 - p, p]", "y", "takes one score per row"),
        ("'p'", "y", "the score is text, not a number: write the column without quotes"),
        ("p", "p > 0", None),
        ("p", "g", "label must be BOOLEAN"),
        ("nowhere", "y", 'column "nowhere" not found'),
        ("p", "nowhere", 'column "nowhere" not found'),
    ],
)
def test_errors_of_columns(flights: duckdb.DuckDBPyConnection, score: str, label: str, message: str | None) -> None:
    query = f"FROM ec.report('flights', {score}, {label})"
    if message is None:
        assert flights.execute(query).fetchall()
        return
    with pytest.raises(duckdb_error(), match=message):
        flights.execute(query)


def duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error
