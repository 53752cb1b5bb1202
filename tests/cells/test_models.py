"""Several models sketched in one pass: the sketches of each, told apart by the group column `score`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.arguments.inputs import batches
from polars_ec.sketches import log_pass
from tests.support.cases import mostly_slow

RANDOM = np.random.default_rng(5)
N = 600
LOG = pl.DataFrame(
    {
        "id": range(N),
        "g": RANDOM.choice(["x", "y"], N),
        "y": RANDOM.random(N) < 0.3,
        "b": RANDOM.random(N).round(2),
        "a": RANDOM.random(N).round(2),
        "w": RANDOM.integers(0, 4, N).astype(float),
        "v": RANDOM.dirichlet([1, 1, 1], N),
        "u": RANDOM.dirichlet([2, 1, 1], N),
        "both": RANDOM.dirichlet([1, 1], N),
        "c": RANDOM.integers(0, 3, N),
    },
    schema_overrides={"v": pl.Array(pl.Float64, 3), "u": pl.Array(pl.Float64, 3), "both": pl.Array(pl.Float64, 2)},
).with_columns(
    # Missing and wrong rows of one model are none of the other.
    b=pl.when(pl.col("id") % 10 != 1).then("b"),
    a=pl.when(pl.col("id") == 3).then(2.0).otherwise("a"),
    y=pl.when(pl.col("id") % 7 != 2).then("y"),
    v=pl.when(pl.col("id") % 5 != 2).then("v"),
)

PAIRS = {
    "binned": (["b", "a"], "y", {}),
    "exact": (["b", "a"], "y", {"exact": True}),
    "weighted, thresholds": (["b", "a"], "y", {"weight": "w", "thresholds": [0.25], "cost_fn": 3}),
    "folds": (["b", "a"], "y", {"folds": 3, "fold_by": "id"}),
    "stratified": (["b", "a"], "y", {"folds": 2, "fold_by": "id", "stratified": True}),
    "raw": ([pl.col("b") - 0.5, pl.col("a") * 3], "y", {"score_type": "raw"}),
    "llr": (["b", "a"], "y", {"score_type": "llr", "prior": 0.2}),
    "vectors": (["v", "u"], "c", {"weight": "w", "folds": 2, "fold_by": "id"}),
    "top label": (["v", "u"], "c", {"reduction": "top_label"}),
}


@pytest.mark.quick("binned-g", "weighted, thresholds-g", "stratified-g", "llr-g", "vectors-g")
@pytest.mark.parametrize(
    ("case", "by"), mostly_slow(product(PAIRS, ("g", ())), [*((case, "g") for case in PAIRS), ("binned", ())])
)
def test_one_pass_gives_the_sketch_of_each_model(case: str, by: str | tuple[()]) -> None:
    scores, label, options = PAIRS[case]
    several = LOG.ec.sketch(scores, label, by=by, **options)
    singles = [LOG.ec.sketch(score, label, by=by, **options) for score in scores]
    assert several.keys == [*(["g"] if by else []), "score", *(k for k in singles[0].keys if k != "g")]
    assert several.grid == singles[0].grid
    assert several.grid.classes == singles[0].grid.classes
    for name, single in zip(("b", "a") if label == "y" else ("v", "u"), singles, strict=True):
        part = several.filter(pl.col("score") == name)
        assert_frame_equal(part.frame.drop("score"), single.frame, rel_tol=1e-12)
    expected = pl.concat(
        single.frame.with_columns(score=pl.lit(name))
        for name, single in zip(("b", "a") if label == "y" else ("v", "u"), singles, strict=True)
    )
    assert_frame_equal(several.frame, expected, check_row_order=False, check_column_order=False, rel_tol=1e-12)


@pytest.mark.parametrize(("scores", "label"), [(["b", "a"], "y"), (["v", "u"], "c")])
def test_the_log_is_read_once(monkeypatch, scores: list[str], label: str) -> None:
    monkeypatch.setattr(log_pass, "_BATCH", 90)
    read: list[int] = []

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        assert predicate is None
        for start in range(0, N, 100):
            part = LOG.slice(start, 100).select(columns or LOG.columns)
            read.append(part.height)
            yield part

    scan = register_io_source(source, schema=LOG.schema)
    found = scan.ec.sketch(scores, label, by="g")
    assert sum(read) == N
    monkeypatch.undo()
    assert_frame_equal(found.frame, LOG.ec.sketch(scores, label, by="g").frame, rel_tol=1e-12)


def test_a_batch_has_fewer_rows_where_each_becomes_one_of_each_class(monkeypatch) -> None:
    """Memory is for so many rows, whatever a row becomes."""
    sizes = []

    def recorded(frame: pl.LazyFrame, size: int) -> Iterator[pl.DataFrame]:
        sizes.append(size)
        return batches(frame, size)

    monkeypatch.setattr(log_pass, "batches", recorded)
    monkeypatch.setattr(log_pass, "_BATCH", 90)
    for score, label, options in (("v", "c", {}), ("v", "c", {"reduction": "top_label"}), (["b", "a"], "y", {})):
        LOG.ec.sketch(score, label, **options)
    assert sizes == [30, 90, 90]


@pytest.mark.slow
def test_a_sketch_of_models_goes_where_a_sketch_goes(tmp_path) -> None:
    log = LOG.filter(pl.col("a") <= 1)
    options = {"by": "g", "folds": 3, "fold_by": "id", "cost_fn": 3}
    several = log.ec.sketch(["b", "a"], "y", **options)
    several.write_parquet(tmp_path / "models.parquet")
    assert_frame_equal(ec.Sketch.read_parquet(tmp_path / "models.parquet").frame, several.frame)
    halves = [log[:200].ec.sketch(["b", "a"], "y", **options), log[200:].ec.sketch(["b", "a"], "y", **options)]
    assert_frame_equal(ec.merge(halves).frame, several.group_by("g", "score", "fold").frame, rel_tol=1e-12)
    rolled = several.group_by("g", "score")
    report = log.ec.report(["b", "a"], "y", by="g", cost_fn=3).sort("g", "score")
    assert_frame_equal(
        rolled.evaluate("nec", "nce"),
        report.select("g", "score", "n", "n_missing", "n_invalid", "class_prior", "nec", "nce"),
        rel_tol=1e-9,
    )
    for name in ("b", "a"):
        single = log.ec.sketch(name, "y", **options)
        part = several.filter(pl.col("score") == name).group_by("g", "fold")
        for found, expected in (
            (part.calibrate("pav").frame, single.calibrate("pav").frame),
            (part.roc(), single.roc()),
            (several.calibration_loss().filter(pl.col("score") == name).drop("score"), single.calibration_loss()),
        ):
            assert_frame_equal(found, expected, rel_tol=1e-9)
    exact = log.ec.sketch(["b", "a"], "y", exact=True)
    single = log.ec.sketch("b", "y", exact=True)
    loss = exact.calibration_loss(training="test", calibrator="pav")
    expected = single.calibration_loss(training="test", calibrator="pav")
    assert_frame_equal(loss.filter(pl.col("score") == "b").drop("score"), expected, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("score", "label", "options", "error"),
    [
        (["a", "b"], "y", {"by": pl.col("g").alias("score")}, r"by= has a column 'score'"),
        ("a", "y", {"by": pl.col("g").alias("target")}, r"by= has a column 'target'"),
        (["v", "a"], "c", {}, "'v' and 'a', which are not both one number per row or vectors of the same classes"),
        (["v", "both"], "c", {}, "'v' and 'both', which are not both one"),
        (["a", "a"], "y", {}, r"score= has the name 'a' twice"),
        ([], "y", {}, r"score= names no column"),
    ],
)
def test_scores_that_are_not_of_one_sketch(score, label: str, options: dict, error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        LOG.ec.sketch(score, label, **options)


def test_one_model_in_a_list_is_that_model() -> None:
    assert_frame_equal(LOG.ec.sketch(["b"], "y").frame, LOG.ec.sketch("b", "y").frame)
