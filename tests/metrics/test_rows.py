"""Row functions through every door, against plain NumPy."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.doors import sql_literal
from tests.support.oracle import WrongRowError, brier_of, decision_of, log_loss_of, posterior_of

POSTERIORS = [0.0, 1e-300, 1e-10, 0.1, 0.2, 0.5, 0.9, 1 - 1e-16, 1.0, None, math.nan, 1.5, -0.1]
LOG_ODDS = [-math.inf, -800.0, -3.0, 0.0, 2.5, 40.0, 800.0, math.inf, None, math.nan]
VECTORS = [
    [0.2, 0.3, 0.5],
    [1.0, 0.0, 0.0],
    [0.4, 0.4, 0.2],
    [0.5, 0.6, 0.2],
    [0.1, math.nan, 0.9],
    [0.3, None, 0.7],
    None,
]
LOGS = [[-800.0, -1.0, -2.0], [0.0, 0.0, 0.0], [-math.inf, 3.0, 1.0], [-math.inf] * 3, [math.inf, 0.0, 1.0], None]
COSTS = [[0.0, 2.0, 1.0, 0.4], [5.0, 0.0, 1.0, 0.6], [1.0, 1.0, 0.0, 0.5]]


def through_the_doors(name: str, scores, labels, dtype, connection, arguments: str, **options) -> list[list]:
    """Values by function, namespace and macro; `arguments` are the same options in SQL."""
    frame = pl.DataFrame(
        {"i": range(len(scores)), "s": scores, "y": labels}, schema_overrides={"s": dtype, "y": pl.Int64}
    )
    positional = ["y"] if "label" in getattr(ec, name).__annotations__ else []
    by_function = getattr(ec, name)("s", *positional, **options)
    by_namespace = getattr(pl.col("s").ec, name)(*positional, **options)
    connection.register("log", frame.to_arrow())
    call = ", ".join(["s", *positional, *([arguments] if arguments else [])])
    sql = connection.execute(f"SELECT ec.{name}({call}) FROM log ORDER BY i")
    streamed = frame.lazy().select(by_function).collect(engine="streaming").to_series().to_list()
    in_memory = frame.lazy().select(by_namespace).collect(engine="in-memory").to_series().to_list()
    return [streamed, in_memory, [row[0] for row in sql.fetchall()]]


def assert_rows(doors: list[list], wanted: list) -> None:
    for values in doors:
        assert [v is None for v in values] == [w is None for w in wanted], (values, wanted)
        for value, want in zip(values, wanted, strict=True):
            if want is not None:
                np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-300)


def or_none(function, score, *arguments):
    parts = score if isinstance(score, list) else [score]
    if score is None or None in parts:
        return None
    try:
        return function(score, *arguments)
    except WrongRowError:
        return None


@pytest.mark.parametrize("label", [0, 1, None, 7])
@pytest.mark.parametrize(("scores", "score_type"), [(POSTERIORS, "posterior"), (LOG_ODDS, "log_odds")])
def test_binary_losses(scores, score_type: str, label, connection) -> None:
    usable = [label in (0, 1) and or_none(posterior_of, s, score_type, None, 2) is not None for s in scores]
    for name, loss in (("row_log_loss", log_loss_of), ("row_brier", brier_of)):
        doors = through_the_doors(
            name,
            scores,
            [label] * len(scores),
            pl.Float64,
            connection,
            f"score_type := '{score_type}'",
            score_type=score_type,
        )
        wanted = [loss(s, label, score_type, None, 2) if ok else None for s, ok in zip(scores, usable, strict=True)]
        assert_rows(doors, wanted)


@pytest.mark.parametrize("label", [0, 2, None, 3])
def test_vector_losses(label, connection) -> None:
    dtype = pl.Array(pl.Float64, 3)
    usable = [label in (0, 1, 2) and or_none(posterior_of, v, "posteriors", None, 3) is not None for v in VECTORS]
    for name, loss in (("row_log_loss", log_loss_of), ("row_brier", brier_of)):
        doors = through_the_doors(name, VECTORS, [label] * len(VECTORS), dtype, connection, "")
        wanted = [loss(v, label, "posteriors", None, 3) if ok else None for v, ok in zip(VECTORS, usable, strict=True)]
        assert_rows(doors, wanted)


@pytest.mark.quick("scores0-*-4.0-1.0", "scores1-*-1.0-9.0", "scores2-*-4.0-1.0")
@pytest.mark.parametrize(("cost_fn", "cost_fp"), [(1.0, 1.0), (4.0, 1.0), (1.0, 9.0)])
@pytest.mark.parametrize(
    ("scores", "score_type"), [(POSTERIORS, "posterior"), (LOG_ODDS, "log_odds"), (LOG_ODDS, "llr")]
)
def test_binary_decisions_and_costs(scores, score_type: str, cost_fn: float, cost_fp: float, connection) -> None:
    prior = np.array([0.7, 0.3])
    costs = np.array([[0, cost_fp], [cost_fn, 0]])
    decide = lambda s: decision_of(s, score_type, prior, costs, None)  # noqa: E731
    decisions = [or_none(decide, s) for s in scores]
    options = {"score_type": score_type, "prior": 0.3, "cost_fn": cost_fn, "cost_fp": cost_fp}
    named = f"score_type := '{score_type}', prior := 0.3, cost_fn := {cost_fn}, cost_fp := {cost_fp}"
    assert_rows(
        through_the_doors("bayes_decision", scores, [0] * len(scores), pl.Float64, connection, named, **options),
        decisions,
    )
    for label in (0, 1):
        doors = through_the_doors("row_cost", scores, [label] * len(scores), pl.Float64, connection, named, **options)
        assert_rows(doors, [None if d is None else costs[label, d] for d in decisions])


def test_vector_decisions(connection) -> None:
    dtype = pl.Array(pl.Float64, 3)
    for costs in (COSTS, [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]):
        decisions = [
            or_none(lambda v, c=costs: decision_of(v, "posteriors", None, np.array(c), None), v) for v in VECTORS
        ]
        doors = through_the_doors(
            "bayes_decision", VECTORS, [0] * len(VECTORS), dtype, connection, f"costs := {costs}", costs=costs
        )
        assert_rows(doors, decisions)
        doors = through_the_doors(
            "row_cost", VECTORS, [2] * len(VECTORS), dtype, connection, f"costs := {costs}", costs=costs
        )
        assert_rows(doors, [None if d is None else costs[2][d] for d in decisions])


@pytest.mark.quick("0.25-posterior", "0.25-llr", "0.5-log_odds")
@pytest.mark.parametrize("score_type", ["posterior", "log_odds", "llr"])
@pytest.mark.parametrize("threshold", [0.25, 0.5])
def test_a_score_at_the_threshold_is_decided_negative(score_type: str, threshold: float, connection) -> None:
    """At a stated one, and at the Bayes threshold of costs; LLRs at even priors."""
    prior = {"prior": 0.5} if score_type == "llr" else {}
    own = threshold if score_type == "posterior" else math.log(threshold / (1 - threshold))
    scores = [math.nextafter(own, -math.inf), own, math.nextafter(own, math.inf)]
    stated = {"threshold": own, "score_type": score_type, **prior}
    of_costs = {"cost_fn": 1 / threshold - 1, "score_type": score_type, **prior}
    for options in (stated, of_costs):
        named = ", ".join(f"{name} := {sql_literal(name, value)}" for name, value in options.items())
        doors = through_the_doors("bayes_decision", scores, [0] * 3, pl.Float64, connection, named, **options)
        assert doors == [[0, 0, 1]] * 3, options


@pytest.mark.parametrize(("q", "lowest"), [([0.05, 0.4, 0.15, 0.4], 1), ([0.3, 0.1, 0.3, 0.1, 0.2], 0)])
def test_a_tie_goes_to_the_lowest_index(q, lowest, connection) -> None:
    # 0.1 + 0.2 + 0.7 and its permutations are not associative in floating point: equal posteriors must still tie.
    doors = through_the_doors("bayes_decision", [q], [0], pl.Array(pl.Float64, len(q)), connection, "")
    assert doors == [[lowest]] * 3


def test_abstaining_at_the_papers_rule(connection) -> None:
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet([0.5] * 4, 200)
    alpha = 0.35
    costs = [[float(i != j) for j in range(4)] + [alpha] for i in range(4)]
    wanted = [4 if max(q) < 1 - alpha else int(np.argmax(q)) for q in posteriors]
    doors = through_the_doors(
        "bayes_decision",
        posteriors.tolist(),
        [0] * 200,
        pl.Array(pl.Float64, 4),
        connection,
        f"costs := {costs}",
        costs=costs,
    )
    assert doors == [wanted] * 3


def test_posteriors(connection) -> None:
    for score_type in ("log_odds", "llr"):
        wanted = [or_none(lambda s, t=score_type: posterior_of(s, t, np.array([0.8, 0.2]), 2)[1], s) for s in LOG_ODDS]
        named = f"score_type := '{score_type}', prior := 0.2"
        doors = through_the_doors(
            "posterior", LOG_ODDS, [0] * len(LOG_ODDS), pl.Float64, connection, named, score_type=score_type, prior=0.2
        )
        assert_rows(doors, wanted)
    prior = [0.5, 0.25, 0.25]
    wanted = [or_none(lambda v: posterior_of(v, "log_likelihoods", np.array(prior), 3), v) for v in LOGS]
    doors = through_the_doors(
        "posterior",
        LOGS,
        [0] * len(LOGS),
        pl.Array(pl.Float64, 3),
        connection,
        f"score_type := 'log_likelihoods', prior := {prior}",
        score_type="log_likelihoods",
        prior=prior,
    )
    assert_rows(doors, wanted)


def test_log_odds_and_llr(connection) -> None:
    good = [None if s is None or not 0 <= s <= 1 else s for s in POSTERIORS]
    with np.errstate(divide="ignore"):
        wanted = [None if s is None else float(np.log(s) - np.log1p(-s)) for s in good]
    assert_rows(through_the_doors("log_odds", POSTERIORS, [0] * 13, pl.Float64, connection, ""), wanted)
    shift = math.log(0.2 / 0.8)
    doors = through_the_doors("llr", POSTERIORS, [0] * 13, pl.Float64, connection, "0.2", prior=0.2)
    assert_rows(doors, [None if x is None else x - shift for x in wanted])


def test_shift_prior(connection) -> None:
    good = [None if s is None or not 0 <= s <= 1 else s for s in POSTERIORS]
    up, down = 0.1 / 0.4, 0.9 / 0.6
    wanted = [None if s is None else s * up / (s * up + (1 - s) * down) for s in good]
    doors = through_the_doors(
        "shift_prior", POSTERIORS, [0] * 13, pl.Float64, connection, "0.4, 0.1", from_=0.4, to=0.1
    )
    assert_rows(doors, wanted)
    shift = math.log(0.1 / 0.9) - math.log(0.4 / 0.6)
    doors = through_the_doors(
        "shift_prior", LOG_ODDS, [0] * 10, pl.Float64, connection, "0.4, 0.1, score_type := 'log_odds'",
        from_=0.4, to=0.1, score_type="log_odds",
    )  # fmt: skip
    assert_rows(doors, [None if x is None or math.isnan(x) else x + shift for x in LOG_ODDS])
    old, new = np.array([0.5, 0.25, 0.25]), np.array([0.2, 0.2, 0.6])
    moved = [or_none(lambda v: posterior_of(v, "posteriors", None, 3) * new / old, v) for v in VECTORS]
    doors = through_the_doors(
        "shift_prior", VECTORS, [0] * 7, pl.Array(pl.Float64, 3), connection, f"{old.tolist()}, {new.tolist()}",
        from_=old.tolist(), to=new.tolist(),
    )  # fmt: skip
    assert_rows(doors, [None if v is None else v / v.sum() for v in moved])


def test_shifting_there_and_back_and_through_the_llr() -> None:
    log = pl.DataFrame({"p": [0.1, 0.5, 0.9]})
    there = log.select(p=ec.shift_prior("p", 0.3, 0.05))
    back = there.select(ec.shift_prior("p", 0.05, 0.3))
    np.testing.assert_allclose(back.to_series(), log["p"], rtol=1e-12)
    by_llr = log.select(llr=ec.llr("p", 0.3)).select(ec.posterior("llr", score_type="llr", prior=0.05))
    np.testing.assert_allclose(there.to_series(), by_llr.to_series(), rtol=1e-12)


def test_means_of_rows_are_the_metrics() -> None:
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"p": rng.random(50), "y": rng.integers(0, 2, 50)})
    for row, metric in (("row_log_loss", "cross_entropy"), ("row_brier", "brier")):
        means = log.select(getattr(ec, row)("p", "y").mean(), getattr(ec, metric)("p", "y")).row(0)
        np.testing.assert_allclose(*means, rtol=1e-12)
    means = log.select(ec.row_cost("p", "y", cost_fn=3).mean(), ec.expected_cost("p", "y", cost_fn=3)).row(0)
    np.testing.assert_allclose(*means, rtol=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, -1.0), (2.5, 0.25), (0.0, 0.75)])
def test_affine(alpha: float, beta: float, connection) -> None:
    def calibrated(x: float | None) -> float | None:
        if x is None or math.isnan(x):
            return None
        z = alpha * x + beta if alpha else beta
        return float(np.exp(-np.logaddexp(0, -z)))

    with np.errstate(divide="ignore"):
        log_odds = [None if s is None or not 0 <= s <= 1 else float(np.log(s) - np.log1p(-s)) for s in POSTERIORS]
    doors = through_the_doors(
        "affine", POSTERIORS, [0] * 13, pl.Float64, connection, f"{alpha}, {beta}", alpha=alpha, beta=beta
    )
    assert_rows(doors, [calibrated(x) for x in log_odds])
    for score_type in ("log_odds", "llr"):
        doors = through_the_doors(
            "affine", LOG_ODDS, [0] * 10, pl.Float64, connection, f"{alpha}, {beta}, score_type := '{score_type}'",
            alpha=alpha, beta=beta, score_type=score_type,
        )  # fmt: skip
        assert_rows(doors, [calibrated(x) for x in LOG_ODDS])


def test_affine_with_parameters_in_columns(connection) -> None:
    log = pl.DataFrame({"p": [0.2] * 5, "a": [1.0, 2.0, None, math.inf, 0.5], "b": [0.0, -1.0, 0.0, 0.0, math.nan]})
    x = math.log(0.25)
    wanted = [0.2, 1 / (1 + math.exp(-(2 * x - 1))), None, None, None]
    connection.register("log", log.to_arrow())
    in_sql = [row[0] for row in connection.execute("SELECT ec.affine(p, a, b) FROM log").fetchall()]
    by_name = log.select(ec.affine("p", "a", "b"))["p_affine"].to_list()
    by_expression = log.select(pl.col("p").ec.affine(pl.col("a"), pl.col("b"))).to_series().to_list()
    assert_rows([in_sql, by_name, by_expression], wanted)
    with pytest.raises(ValueError, match="alpha"):
        ec.affine("p", math.nan, 0.0)
    with pytest.raises(ValueError, match="affine is for one posterior"):
        log.select(ec.affine(pl.concat_arr("p", "p"), 1.0, 0.0))
