"""The pass that makes a sketch: K classes as binary problems, and by the streaming engine."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_ec.arguments.inputs import batches
from polars_ec.sketches import log_pass as _sketch_pass
from tests.support.cases import mostly_slow
from tests.support.plans import assert_streams

RANDOM = np.random.default_rng(11)
VECTORS = pl.DataFrame(
    {
        "g": RANDOM.choice(["a", "b"], 300),
        "p": RANDOM.dirichlet([1, 1, 1, 1], 300),
        "y": RANDOM.choice(["w", "x", "y", "z", None, "none"], 300),
        "w": RANDOM.integers(0, 3, 300).astype(float),
    },
    schema_overrides={"p": pl.Array(pl.Float64, 4)},
).with_columns(p=pl.when(RANDOM.random(300) < 0.95).then("p"))
CLASSES = ["w", "x", "y", "z"]


@pytest.mark.quick("array-w", "list-None", "logs-w")
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("form", ["array", "list", "logs"])
def test_one_against_the_rest_is_a_sketch_of_each_class(weight: str | None, form: str) -> None:
    score = {
        "array": pl.col("p"),
        "list": pl.col("p").cast(pl.List(pl.Float64)),
        "logs": pl.col("p").arr.eval(pl.element().log()),
    }
    options = {"classes": CLASSES, "weight": weight, "by": "g", "cost_fn": 4}
    kind = "log_posteriors" if form == "logs" else "posteriors"
    sketch = VECTORS.ec.sketch(score[form].alias("p"), "y", score_type=kind, **options)
    assert sketch.keys == ["g", "target"]
    for k, name in enumerate(CLASSES):
        rest = (
            pl.when(pl.col("y") == name)
            .then(1)
            .when(pl.col("y").is_in(CLASSES))
            .then(0)
            .when(pl.col("y").is_not_null())
            .then(2)
        )
        one = VECTORS.ec.sketch(pl.col("p").arr.get(k), rest.alias("y"), weight=weight, by="g", cost_fn=4)
        part = sketch.filter(pl.col("target") == name).frame.drop("target")
        if form == "logs":
            part, expected = (
                frame.select(pl.exclude("bin"))
                .group_by("g", "class", "above")
                .agg(pl.col("n").sum(), pl.col(pl.Float64).sum())
                .sort("g", "class", "above")
                for frame in (part, one.frame)
            )
            assert_frame_equal(part, expected, rel_tol=1e-12)
        else:
            assert_frame_equal(part, one.frame, rel_tol=1e-12)


def test_the_top_label_is_right_or_wrong() -> None:
    log = VECTORS.filter(pl.col("y").is_in(CLASSES), pl.col("p").is_not_null())
    posteriors, labels = log["p"].to_numpy(), [CLASSES.index(y) for y in log["y"]]
    expected = pl.DataFrame({"p": posteriors.max(axis=1), "y": posteriors.argmax(axis=1) == labels}).ec.sketch("p", "y")
    found = log.ec.sketch("p", "y", classes=CLASSES, reduction="top_label")
    assert_frame_equal(found.frame, expected.frame, rel_tol=1e-12)
    binary = log.select(p=pl.col("p").arr.get(0), y=pl.col("y") == "w")
    confident = binary.select(p=pl.max_horizontal("p", 1 - pl.col("p")), y=(pl.col("p") > 0.5) == pl.col("y"))
    assert_frame_equal(
        binary.ec.sketch("p", "y", reduction="top_label").frame, confident.ec.sketch("p", "y").frame, rel_tol=1e-12
    )


@pytest.mark.parametrize(("score", "labels"), [("p", {"classes": CLASSES}), ("q", {"pos_label": "w"})])
@pytest.mark.parametrize("exact", [True, False])
def test_the_pass_streams(tmp_path: Path, monkeypatch, score: str, labels: dict, exact: bool) -> None:
    VECTORS.with_columns(q=pl.col("p").arr.get(0)).write_parquet(tmp_path / "log.parquet")
    passes = []
    sink_batches = pl.LazyFrame.sink_batches

    def record(frame: pl.LazyFrame, function, **keywords):
        passes.append((frame, keywords["engine"]))
        return sink_batches(frame, function, **keywords)

    monkeypatch.setattr(pl.LazyFrame, "sink_batches", record)
    pl.scan_parquet(tmp_path / "log.parquet").ec.sketch(score, "y", by="g", exact=exact, weight="w", **labels)
    monkeypatch.undo()
    ((frame, engine),) = passes
    assert engine == "streaming"
    assert_streams(frame)


@pytest.mark.quick("100")
@pytest.mark.parametrize("batch", mostly_slow([1, 7, 100], [1, 100]))
def test_batches_add_up(monkeypatch, batch: int) -> None:
    whole = VECTORS.ec.sketch("p", "y", by="g", weight="w", classes=CLASSES)
    monkeypatch.setattr(_sketch_pass, "_BATCH", batch)
    assert_frame_equal(
        VECTORS.ec.sketch("p", "y", by="g", weight="w", classes=CLASSES).frame, whole.frame, rel_tol=1e-12
    )


def test_an_error_in_the_middle_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(_sketch_pass, "_BATCH", 1000)
    texts = pl.Series([*["0.5"] * 250_000, "half", *["0.5"] * 50_000])
    with pytest.raises(pl.exceptions.InvalidOperationError, match="half"):
        pl.LazyFrame({"p": texts, "y": True}).ec.sketch(pl.col("p").cast(pl.Float64), "y")


# Polars cannot truncate it to months, and panics.
BEYOND = pl.Series([2**63 - 1], dtype=pl.Int64).cast(pl.Datetime("us"))


def test_a_panic_of_the_engine_loses_no_rows_silently(capfd):
    n = 50_000
    days = pl.concat([pl.Series([0] * n, dtype=pl.Int64).cast(pl.Datetime("us")), BEYOND])
    log = pl.DataFrame({"p": [0.5] * (n + 1), "y": [1] * (n + 1), "t": days})
    assert log.ec.sketch("p", "y", by=pl.col("t").dt.truncate("1d")).frame["n"].sum() == n + 1
    with pytest.raises(pl.exceptions.PanicException):
        log.ec.sketch("p", "y", by=pl.col("t").dt.truncate("1mo"))
    capfd.readouterr()


def test_batches_are_all_rows_or_an_error(capfd):
    frame = pl.LazyFrame({"i": range(1000)})
    assert pl.concat(batches(frame, 100, in_order=True)).equals(frame.collect())
    assert sorted(pl.concat(batches(frame, 7))["i"]) == list(range(1000))
    assert [*batches(frame.clear(), 7)] == [] or pl.concat(batches(frame.clear(), 7)).height == 0
    first = next(batches(frame, 10, in_order=True))
    assert first["i"].to_list()[:2] == [0, 1], "who stops early is not waited for"
    for fails, error in (
        (pl.col("i").cast(pl.String).replace("999", "x").cast(pl.Int64), pl.exceptions.InvalidOperationError),
        (pl.col("i").map_batches(lambda _: 1 / 0, return_dtype=pl.Int64), ZeroDivisionError),
        (
            pl.lit(BEYOND).first().dt.truncate(pl.concat_str(pl.col("i") % 2 + 1, pl.lit("mo"))),
            pl.exceptions.PanicException,
        ),
    ):
        with pytest.raises(error):
            list(batches(frame.select(fails), 100))
    before = threading.active_count()
    some = batches(frame, 10)
    next(some)
    some.close()
    assert threading.active_count() == before
    capfd.readouterr()
