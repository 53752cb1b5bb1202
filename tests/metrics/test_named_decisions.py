"""Decisions by name, and Enum labels, whose categories are the classes: against the same rows as indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.plans import assert_streams

NAMES = ["ok", "late", "lost"]
RNG = np.random.default_rng(3)
CLASS = RNG.integers(0, 3, 60)
DECISION = np.where(RNG.random(60) < 0.6, CLASS, RNG.integers(0, 3, 60))
WEIGHT = RNG.integers(1, 5, 60)
TABLE = np.array([[WEIGHT[(i == CLASS) & (j == DECISION)].sum() for j in range(3)] for i in range(3)])
LOG = pl.DataFrame({"label": np.array(NAMES)[CLASS], "decision": np.array(NAMES)[DECISION], "w": WEIGHT})
DTYPES = [pl.String, pl.Categorical, pl.Enum(NAMES), pl.Enum([*reversed(NAMES), "never"])]
GIVEN: dict[str, Any] = {"score_type": "decision", "classes": NAMES, "weight": "w"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_decision_is_the_class_of_that_name(dtype: Any) -> None:
    log = LOG.with_columns(pl.col("decision").cast(dtype))
    assert np.array_equal(log.select(ec.confusion("decision", "label", **GIVEN)).item(), TABLE)
    hits = np.trace(TABLE) / TABLE.sum()
    assert log.select(ec.accuracy("decision", "label", **GIVEN)).item() == pytest.approx(hits)
    (row,) = log.ec.report("decision", "label", **GIVEN).to_dicts()
    assert np.array_equal(row["confusion"], TABLE)
    assert row["nec"] == pytest.approx((1 - hits) / (1 - max(TABLE.sum(axis=1)) / TABLE.sum()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pos_label_leaves_all_other_decisions_to_the_negative_class(dtype: Any) -> None:
    log = LOG.with_columns(pl.col("decision").cast(dtype))
    found = log.select(ec.confusion("decision", "label", score_type="decision", pos_label="late", weight="w")).item()
    tp, fn = TABLE[1, 1], TABLE[1, [0, 2]].sum()
    fp = TABLE[[0, 2], 1].sum()
    assert found == {"tn": TABLE.sum() - tp - fn - fp, "fp": fp, "fn": fn, "tp": tp}


ABSTAIN = [
    ec.CostMatrix.zero_one(3, abstain=0.25),
    ec.CostMatrix([[0, 1, 1, 0.25], [1, 0, 1, 0.25], [1, 1, 0, 0.25]], decisions=[*NAMES, "abstain"]),
    ec.CostMatrix(
        [[0.25, 1, 1, 0], [0.25, 0, 1, 1], [0.25, 1, 0, 1]],
        classes=["ok", "lost", "late"],
        decisions=["abstain", "lost", "late", "ok"],
    ),
]


@pytest.mark.parametrize("costs", ABSTAIN)
def test_further_decisions_have_the_names_of_the_costs(costs: ec.CostMatrix) -> None:
    log = LOG.with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("abstain")).otherwise("decision").alias("decision")
    )
    abstained = np.arange(60) % 5 == 0
    wrong = ~abstained & (CLASS != DECISION)
    mean = (WEIGHT * (wrong + 0.25 * abstained)).sum() / WEIGHT.sum()
    assert log.select(ec.expected_cost("decision", "label", costs=costs, **GIVEN)).item() == pytest.approx(mean)


def test_what_is_no_decision_is_a_wrong_row_and_null_a_missing_one() -> None:
    faulty = pl.Series(["Late", None, *LOG["decision"][2:]])
    log = LOG.with_columns(decision=faulty)
    for kind, n in (("n_invalid", 1), ("n_missing", 1), ("n_rows", 58)):
        assert log.select(getattr(ec, kind)("decision", "label", **GIVEN)).item() == n
    assert log.select(ec.accuracy("decision", "label", **GIVEN)).item() is None
    with pytest.raises(
        ec.InvalidDataError, match=r"decision is none of ok, late, lost in 1 row; the first: row 0 .*Late"
    ):
        log.ec.validate("decision", "label", **GIVEN)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("wrong", [float("nan"), 1e300, -1.0, 0.5])
def test_numbers_that_are_no_decisions_are_wrong_rows(wrong: float) -> None:
    log = pl.DataFrame({"y": [0, 1, 1], "d": [0.0, 1.0, wrong]})
    (row,) = log.ec.report("d", "y", score_type="decision").to_dicts()
    assert (row["n"], row["n_invalid"], row["tp"], row["nec"]) == (2, 1, None, None)
    assert log.select(ec.bayes_decision("d", score_type="decision")).to_series().to_list() == [0, 1, None]


def test_true_and_false_are_names_of_classes_that_are() -> None:
    log = pl.DataFrame({"y": [True, True, False, False, False], "d": [True, False, False, False, True]})
    wanted = {"tn": 2, "fp": 1, "fn": 1, "tp": 1}
    swapped = {"tn": 1, "fp": 1, "fn": 1, "tp": 2}
    for given, table in (
        ({}, wanted),
        ({"pos_label": True}, wanted),
        ({"classes": [False, True]}, wanted),
        ({"pos_label": False}, swapped),
        ({"classes": [True, False]}, swapped),
    ):
        assert log.select(ec.confusion("d", "y", score_type="decision", **given)).item() == table
    # Of classes with other names True is the decision 1.
    named = log.with_columns(pl.when("y").then(pl.lit("late")).otherwise(pl.lit("ok")).alias("y"))
    assert named.select(ec.confusion("d", "y", score_type="decision", pos_label="late")).item() == wanted


def test_what_to_write_in_sql(connection) -> None:
    """As docs/reference/sql.md has it: a name that is none is a wrong row there too, and null a missing one."""
    index = "CASE WHEN {} IS NOT NULL THEN [coalesce(list_position(['ok', 'late', 'lost'], {}), 0) - 1] END"
    label, decision = f"({index.format('label', 'label')})[1]", index.format("decision", "decision")
    zero_one = "[[0, 1, 1], [1, 0, 1], [1, 1, 0]]"
    call = f"{decision}, {label}, score_type := 'decision', costs := {zero_one}, weight := w"
    for names, missing, invalid in ((LOG["decision"], 0, 0), (["Late", None, *LOG["decision"][2:]], 1, 1)):
        connection.register("log", LOG.with_columns(decision=pl.Series(names)).to_arrow())
        query = f"SELECT ec.confusion({call}), ec.n_missing({call}), ec.n_invalid({call}) FROM log"
        ((table, *counts),) = connection.execute(query).fetchall()
        assert counts == [missing, invalid]
        assert table is None if invalid else np.array_equal(table, TABLE)


def test_they_stream(tmp_path) -> None:
    LOG.write_parquet(tmp_path / "log.parquet")
    log = pl.scan_parquet(tmp_path / "log.parquet")
    assert_streams(log.group_by("label").agg(ec.nec("decision", "label", **GIVEN)))


def test_names_that_do_not_go_together() -> None:
    log = LOG.lazy()
    whole = log.with_columns(label=pl.lit(1))
    with pytest.raises(
        TypeError, match="decisions 'decision' are String, but the classes have no names: pass classes= or pos_label="
    ):
        whole.select(ec.nec("decision", "label", score_type="decision")).collect_schema()
    costs = ec.CostMatrix([[0, 1], [1, 0]], decisions=["late", "ok"])
    with pytest.raises(ValueError, match="names decision 0 'late', which is class 1: put its columns in the order"):
        log.select(ec.nec("decision", "label", score_type="decision", classes=NAMES[:2], costs=costs)).collect_schema()
    with pytest.raises(ValueError, match="score_type='decision' cannot be sketched"):
        log.ec.sketch("decision", "label", **GIVEN)
    # Numbers are indices, whatever the classes are called.
    numbers = LOG.with_columns(decision=pl.Series(DECISION))
    assert np.array_equal(numbers.select(ec.confusion("decision", "label", **GIVEN)).item(), TABLE)


POSTERIORS = RNG.dirichlet(np.ones(3), 60)
VECTORS = LOG.select(
    pl.col("label").cast(pl.Enum(NAMES)),
    index=pl.Series(CLASS),
    array=pl.Series(POSTERIORS, dtype=pl.Array(pl.Float64, 3)),
    list=pl.Series(POSTERIORS.tolist(), dtype=pl.List(pl.Float64)),
    struct=pl.Series([dict(zip(reversed(NAMES), row[::-1], strict=True)) for row in POSTERIORS.tolist()]),
)


@pytest.mark.parametrize("score", ["array", "list", "struct"])
def test_categories_of_an_enum_label_are_the_classes(score: str) -> None:
    decided = POSTERIORS.argmax(axis=1)
    table = [[int(((i == CLASS) & (decided == j)).sum()) for j in range(3)] for i in range(3)]
    assert np.array_equal(VECTORS.select(ec.confusion(score, "label")).item(), table)
    losses = -np.log(POSTERIORS[np.arange(60), CLASS])
    by_name = {"lost": 0.5, "ok": 0.3, "late": 0.2}
    wanted = sum(share * losses[NAMES.index(name) == CLASS].mean() for name, share in by_name.items())
    assert VECTORS.select(ec.cross_entropy(score, "label", prior=by_name)).item() == pytest.approx(wanted)
    costs = ec.CostMatrix(
        [[0, 2, 2], [7, 0, 7], [3, 3, 0]], classes=["lost", "ok", "late"], decisions=["lost", "ok", "late"]
    )
    dear = np.array([7, 3, 2])[CLASS]
    cheapest = np.argmin((POSTERIORS * [7, 3, 2]).sum(axis=1, keepdims=True) - POSTERIORS * [7, 3, 2], axis=1)
    mean = np.where(cheapest == CLASS, 0, dear).mean()
    assert VECTORS.select(ec.expected_cost(score, "label", costs=costs)).item() == pytest.approx(mean)
    (row,) = VECTORS.ec.report(score, "label").to_dicts()
    assert np.array_equal(row["confusion"], table)
    assert VECTORS.ec.sketch(score, "label").evaluate("auc_roc")["target"].to_list() == NAMES


def test_enum_labels_that_do_not_say_enough() -> None:
    other = VECTORS.lazy().with_columns(pl.col("label").cast(pl.Enum([*NAMES, "never"])))
    with pytest.raises(
        ValueError, match=r"'label' is an Enum with 4 categories, .* there are 3 classes: pass classes="
    ):
        other.select(ec.nec("array", "label")).collect_schema()
    assert (
        other.select(ec.nec("array", "label", classes=NAMES)).collect().item()
        == VECTORS.select(ec.nec("array", "index")).item()
    )
    with pytest.raises(
        TypeError,
        match=r"'label' is Enum.*which does not say which of the two classes is the positive one: pass pos_label=, or classes=\[\.\.\.\] for decisions of all 4",
    ):
        other.select(ec.nec(pl.col("array").arr.get(0), "label")).collect_schema()
