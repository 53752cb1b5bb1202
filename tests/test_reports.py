"""The report is the metrics, group by group; validate says what is wrong."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec import InvalidDataError


def make_log(n: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.3
    score = 1 / (1 + np.exp(-rng.normal(2.0 * label - 1.5, 1.0)))
    start = datetime.datetime(2025, 1, 1)
    return pl.DataFrame(
        {
            "g": rng.choice(["a", "b", "c"], n),
            "ts": [start + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 24 * 90, n)],
            "y": label,
            "p": score,
            "q": rng.random(n),
            "w": rng.random(n),
            "pi": np.full(n, 0.2),
        }
    ).with_columns(
        y=pl.when(pl.Series(rng.random(n) > 0.05)).then("y"), p=pl.when(pl.Series(rng.random(n) > 0.02)).then("p")
    )


LOG = make_log()
OPTIONS = [
    {},
    {"cost_fn": 5.0, "prior": 0.1},
    {"prior": "uniform", "threshold": 0.4},
    {"weight": "w", "cost_fn": 3.0},
    {"weight": "w", "prior": pl.col("pi")},
    {"costs": [[0, 1, 0.2], [4, 0, 0.3]]},
]


def by_metrics(log: pl.DataFrame, score: str, keys: list, options: dict) -> pl.DataFrame:
    """The report once more, by the metrics as expressions."""
    rows = {k: v for k, v in options.items() if k in ("weight", "costs")}
    own = {k: v for k, v in options.items() if k != "prior"}
    wide = len(options.get("costs", [[0, 0]])[0]) == 2
    rule = {k: v for k, v in options.items() if k == "weight"}
    names = ["nec", *(["precision", "f1"] if wide else ["accuracy", "macro_f1"])]
    columns = [
        ec.n_rows(score, "y", **rows).alias("n"),
        ec.n_missing(score, "y", **rows).alias("n_missing"),
        ec.n_invalid(score, "y", **rows).alias("n_invalid"),
        ec.class_prior(score, "y", **rows).alias("class_prior"),
        ec.confusion(score, "y", **own).alias("confusion"),
        *[getattr(ec, name)(score, "y", **own).alias(name) for name in names],
        *[getattr(ec, name)(score, "y", **rule).alias(name) for name in ("nce", "nbs")],
    ]
    if wide:
        columns.append(ec.recall(score, "y", **own).alias("recall"))
    else:
        columns.append(ec.macro_recall(score, "y", **own).alias("macro_recall"))
    if "prior" in options:
        columns += [getattr(ec, name)(score, "y", **options).alias(f"{name}_at_prior") for name in names]
        rule = {**rule, "prior": options["prior"]}
        columns += [getattr(ec, name)(score, "y", **rule).alias(f"{name}_at_prior") for name in ("nce", "nbs")]
    table = log.group_by(keys).agg(columns).sort([k if isinstance(k, str) else k.meta.output_name() for k in keys])
    return table.unnest("confusion") if wide else table


@pytest.mark.quick("prior-threshold", "weight-cost_fn", "costs")
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_report_is_the_metrics(options: dict) -> None:
    keys = ["g", pl.col("ts").dt.truncate("1mo")]
    report = LOG.ec.report("p", "y", by=keys, **options)
    assert report.columns[:4] == ["g", "ts", "n", "nec"]
    assert_frame_equal(report, by_metrics(LOG, "p", keys, options), check_column_order=False, rel_tol=1e-11)


@pytest.mark.quick("streaming")
@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_lazy_and_eager_are_one(engine: str) -> None:
    lazy = LOG.lazy().ec.report("p", "y", by="g", prior=0.3)
    assert isinstance(lazy, pl.LazyFrame)
    eager = LOG.ec.report("p", "y", by="g", prior=0.3)
    assert_frame_equal(lazy.collect(engine=engine), eager, rel_tol=1e-12)


def test_one_group() -> None:
    report = LOG.ec.report("p", "y")
    assert report.height == 1
    assert report["n"].item() == LOG.drop_nulls(["p", "y"]).height


def test_models_side_by_side() -> None:
    both = LOG.ec.report(["p", "q"], "y", by="g", cost_fn=2)
    assert both["score"].to_list() == ["p", "q"] * 3
    for model in ("p", "q"):
        own = both.filter(score=model).drop("score")
        assert_frame_equal(own, LOG.ec.report(model, "y", by="g", cost_fn=2), rel_tol=1e-12)
    assert_frame_equal(LOG.ec.report(pl.col("p", "q"), "y", by="g", cost_fn=2), both, rel_tol=1e-12)
    assert LOG.ec.report(["p", "q"], "y").columns[0] == "score"


def test_overall_prior_as_an_expression() -> None:
    overall = LOG["y"].mean()
    by_expression = LOG.ec.report("p", "y", by="g", prior=pl.col("y").mean())
    assert_frame_equal(by_expression, LOG.ec.report("p", "y", by="g", prior=overall), rel_tol=1e-12)


def test_prior_that_is_not_constant_is_null() -> None:
    report = LOG.ec.report("p", "y", by="g", prior=pl.col("w"))
    assert report["nec_at_prior"].null_count() == 3
    assert report["nec"].null_count() == 0


def test_small_groups_are_marked_and_kept() -> None:
    report = LOG.ec.report("p", "y", by="g", min_rows=int(LOG.ec.report("p", "y", by="g")["n"].sort()[1]))
    assert sorted(report["small"].to_list()) == [False, False, True]
    assert "small" not in LOG.ec.report("p", "y", by="g").columns


def test_null_and_nan_groups_survive() -> None:
    log = pl.DataFrame(
        {"g": [None, float("nan"), 1.0, None], "p": [0.9, 0.8, 0.7, 0.1], "y": [1, 1, 0, 0]},
        schema_overrides={"g": pl.Float64},
    )
    report = log.ec.report("p", "y", by="g")
    assert report["n"].to_list() == [2, 1, 1]
    assert [None if g is None else str(g) for g in report["g"]] == [None, "1.0", "nan"]


def test_vectors_and_abstaining() -> None:
    log = pl.DataFrame(
        {"v": [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6]], "y": [0, 2, 2]},
        schema_overrides={"v": pl.Array(pl.Float64, 3)},
    )
    row = log.ec.report("v", "y", costs=ec.CostMatrix.zero_one(3, abstain=0.45)).to_dicts()[0]
    assert row["confusion"] == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]]
    np.testing.assert_allclose(row["nec"], (0.45 / 3) / (1 / 3))
    np.testing.assert_allclose(row["class_prior"], [1 / 3, 0, 2 / 3])
    assert "precision" not in row


def test_decisions_have_no_scoring_rules() -> None:
    report = LOG.select("g", "y", d=pl.col("p") > 0.5).ec.report("d", "y", by="g", score_type="decision")
    assert "nce" not in report.columns
    expected = LOG.ec.report("p", "y", by="g")
    assert_frame_equal(report, expected.select(report.columns), rel_tol=1e-12)


@pytest.mark.filterwarnings("ignore:.* null")
def test_a_wrong_row_costs_its_group_the_metrics_only() -> None:
    log = pl.DataFrame({"g": ["a", "a", "b"], "p": [0.9, 1.7, 0.2], "y": [1, 0, 0]})
    a, b = log.ec.report("p", "y", by="g").to_dicts()
    assert (a["n"], a["n_invalid"], a["nec"], a["tp"], a["class_prior"]) == (1, 1, None, None, None)
    assert (b["n"], b["n_invalid"], b["tn"]) == (1, 0, 1)


@pytest.mark.filterwarnings("ignore:.* null")
def test_groups_without_a_row_have_no_averages() -> None:
    """All of them, so that nothing tells how many classes there are."""
    log = LOG.select("g", "p", y=pl.lit(None, dtype=pl.Int64))
    three = {"costs": [[0, 1, 0.1], [5, 0, 0.1]]}
    names = ["macro_f1", "weighted_precision", "micro_f1", "class_f1"]
    for options in ({}, {"interval": 0.9}):
        table = log.ec.report("p", "y", by="g", metrics=names, **three, **options)
        assert table["g"].len() > 1
        assert all(table[name].null_count() == table.height for name in names)
    of_groups = log.group_by("g").agg(ec.macro_f1("p", "y", **three), ec.class_f1("p", "y", **three).alias("of_each"))
    assert of_groups.drop("g").null_count().row(0) == (of_groups.height, of_groups.height)


def test_empty_log() -> None:
    empty = LOG.clear()
    assert empty.ec.report("p", "y", by="g").height == 0
    row = empty.ec.report("p", "y").to_dicts()[0]
    assert (row["n"], row["tp"], row["nec"], row["class_prior"]) == (0, 0, None, None)


def test_names_that_clash_are_refused() -> None:
    with pytest.raises(ValueError, match="'n'"):
        LOG.ec.report("p", "y", by=pl.col("g").alias("n"))
    with pytest.raises(ValueError, match="'p' twice"):
        LOG.ec.report(["p", "p"], "y")
    with pytest.raises(ValueError, match="no column"):
        LOG.ec.report([], "y")
    with pytest.raises(ValueError, match="one by one"):
        LOG.ec.report(pl.col("p", "q") * 2, "y")


def test_report_does_not_read_the_log() -> None:
    never = pl.LazyFrame({"p": [0.5], "y": [1]}).map_batches(
        lambda _: pytest.fail("the log was read"), schema={"p": pl.Float64, "y": pl.Int64}
    )
    assert isinstance(never.ec.report("p", "y"), pl.LazyFrame)


def test_validate_passes_a_good_log_through() -> None:
    assert LOG.ec.validate("p", "y") is LOG
    lazy = LOG.lazy()
    assert lazy.ec.validate(["p", "q"], "y", weight="w") is lazy


def test_validate_names_every_kind() -> None:
    log = pl.DataFrame(
        {
            "p": [0.5, float("nan"), 1.5, 0.5, 0.5, None, *[2.0] * 5],
            "y": [0, 1, 1, 7, 0, 7, *[1] * 5],
            "w": [1.0, 1.0, 1.0, 1.0, -1.0, 1.0, *[1.0] * 5],
        }
    )
    with pytest.raises(InvalidDataError) as caught:
        log.lazy().ec.validate("p", "y", weight="w")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(
        "'p': posterior is NaN or outside [0, 1] in 7 rows; the first: row 1 (p=nan, y=1, w=1.0)"
    )
    assert lines[0].count("row ") == 5
    assert "label is not a class in 1 row; the first: row 3 (p=0.5, y=7, w=1.0)" in lines[1]
    assert "weight is negative, infinite or NaN in 1 row; the first: row 4" in lines[2]
    assert issubclass(InvalidDataError, ValueError)


@pytest.mark.parametrize(
    ("vectors", "score_type", "message"),
    [
        ([[0.5, 0.6]], "posteriors", "do not sum to 1"),
        ([[1.5, -0.5]], "posteriors", "outside"),
        ([[-0.1, 0.5]], "log_posteriors", "above 0"),
        ([[-5.0, -5.0]], "log_posteriors", "do not sum to 1"),
        ([[float("inf"), 0.0]], "log_likelihoods", "NaN or \\+inf"),
        ([[-float("inf")] * 2], "log_likelihoods", "all log-likelihoods are -inf"),
        ([[0.5, 0.3, 0.2]], "posteriors", "another length"),
    ],
)
def test_validate_vectors(vectors, score_type: str, message: str) -> None:
    log = pl.DataFrame({"v": vectors, "y": [0]})
    with pytest.raises(InvalidDataError, match=message):
        log.ec.validate("v", "y", score_type=score_type, classes=[0, 1], prior="uniform")


def test_a_vector_of_two_with_a_null_beside_the_true_class_is_missing() -> None:
    vectors = [[0.9, 0.1], [0.3, 0.7], [0.2, None], [None, 0.9]]
    log = pl.DataFrame({"q": pl.Series(vectors, dtype=pl.Array(pl.Float64, 2)), "y": [0, 1, 0, 1], "w": [1.0] * 4})
    for weight in (None, "w"):
        row = log.ec.report("q", "y", metrics=["cross_entropy"], weight=weight).row(0, named=True)
        assert row["n_missing"] == 2
        assert row["cross_entropy"] == pytest.approx(-np.log(0.9 * 0.7) / 2)
