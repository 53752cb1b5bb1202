"""Comparisons of logs with a row per model and item: the same as of a column of scores per model, on the items that both have."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.support.cli import invoke
from tests.support.items import LONG, MODELS, OF_ITEMS, WIDE


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["nec", "recall"], "cost_fn": 5},
        {"cluster": "id", "metrics": ["nce", "auc_roc"]},
        {"by": "topic", "weight": "w", "metrics": ["nec"], "prior": 0.2},
        {"by": pl.col("topic").str.to_uppercase(), "metrics": ["f1"], "reference": "judge c", "min_rows": 50},
        {"by": "topic", "reference": "rest", "metrics": ["nec"]},
    ],
)
def test_it_is_the_comparison_of_columns(options: dict[str, Any]) -> None:
    expected = WIDE.ec.compare(MODELS, "bad", **options)
    for log in (LONG, LONG.lazy()):
        found = log.ec.compare("p", "bad", **OF_ITEMS, **options).lazy().collect()
        assert_frame_equal(found, expected, rel_tol=1e-9)


def test_items_of_one_model_alone_are_left_out_and_counted() -> None:
    some = LONG.filter(~((pl.col("judge") == "judge b") & (pl.col("id") < 20)) & (pl.col("judge") != "judge c"))
    (row,) = some.ec.compare("p", "bad", **OF_ITEMS, metrics=["error_rate"]).rows(named=True)
    both = WIDE.filter(pl.col("id") >= 20)
    assert (row["n"], row["n_missing"]) == (both.height, 40)
    errors = [((both[name] > 0.5) != both["bad"]).mean() for name in ("judge a", "judge b")]
    assert (row["value_reference"], row["value"]) == pytest.approx(tuple(errors))


def test_a_label_that_one_row_lacks_is_that_of_the_item() -> None:
    late = LONG.with_columns(bad=pl.when(pl.col("judge") == "judge b").then("bad"))
    found = late.ec.compare("p", "bad", **OF_ITEMS, metrics=["nec"])
    assert_frame_equal(found, WIDE.ec.compare(MODELS, "bad", metrics=["nec"]), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        (
            {},
            {"item": "id"},
            r"the item id=\d+ has 2 rows of model 'judge .': add the column .* item=\['id', 'epoch'\]",
        ),
        (
            {"bad": pl.col("bad") ^ ((pl.col("judge") == "judge b") & (pl.col("id") == 7))},
            {},
            "id=7, epoch=. has several values of the label",
        ),
        ({"w": pl.col("p")}, {"weight": "w"}, "has several values of w"),
        ({}, {"by": pl.col("judge").str.head(2)}, "has several values of judge"),
        ({"judge": pl.lit("one")}, {"item": ["id", "epoch", "p"]}, "one value, 'one': a comparison needs two"),
        ({"judge": pl.when(pl.col("id") > 3).then("judge")}, {}, "model= is null in some rows"),
        ({"id": pl.when(pl.col("id") > 3).then("id")}, {}, "item= is null in some rows"),
        ({}, {"item": []}, "item= names no column"),
        ({}, {"reference": "judge d"}, "judge d"),
        ({}, {"item": None}, "go together"),
        ({}, {"model": ["judge", "topic"]}, "model= holds 2 columns"),
    ],
)
def test_errors(change: dict[str, pl.Expr], options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        LONG.with_columns(**change).ec.compare("p", "bad", **{**OF_ITEMS, **options}, metrics=["nec"])


@pytest.mark.parametrize(
    ("names", "dtype", "instead"),
    [
        (pl.concat_list("judge"), "List(String)", "list.first()"),
        (pl.concat_list("judge").list.to_array(1), "Array(String, shape=(1,))", "arr.first()"),
        (pl.struct("judge"), "Struct({'judge': String})", "struct.field('name')"),
        (pl.col("judge").cast(pl.Binary), "Binary", "bin.encode('hex')"),
        (pl.duration(hours=pl.col("judge").str.len_chars()), "Duration(time_unit='us')", "dt.to_string()"),
    ],
    ids=lambda value: str(value).partition("(")[0] if isinstance(value, str) else "",
)
def test_models_need_names(names: pl.Expr, dtype: str, instead: str) -> None:
    log = LONG.with_columns(judge=names)
    message = (
        f"model= is the column 'judge', which is {dtype}, and models need names: .* such as pl.col('judge').{instead}"
    )
    for frame in (log, log.lazy()):
        with pytest.raises(TypeError, match=re.escape(message).replace(re.escape(".*"), ".*")):
            frame.ec.compare("p", "bad", **OF_ITEMS, metrics=["nec"])


@pytest.mark.parametrize(
    ("names", "way_out"),
    [
        (pl.concat_list("judge"), pl.col("judge").list.first()),
        (pl.concat_list("judge").list.to_array(1), pl.col("judge").arr.first()),
        (pl.struct(name="judge"), pl.col("judge").struct.field("name")),
        (pl.col("judge").cast(pl.Binary), pl.col("judge").bin.encode("hex")),
        (
            pl.duration(hours=pl.col("judge").replace_strict(dict(zip(MODELS, (1, 2, 3), strict=True)))),
            pl.col("judge").dt.to_string(),
        ),
    ],
    ids=["list", "array", "struct", "binary", "duration"],
)
def test_what_the_error_says_to_do_works(names: pl.Expr, way_out: pl.Expr) -> None:
    found = LONG.with_columns(judge=names).ec.compare("p", "bad", **{**OF_ITEMS, "model": way_out}, metrics=["nec"])
    expected = WIDE.ec.compare(MODELS, "bad", metrics=["nec"])
    assert_frame_equal(found.drop("model", "reference"), expected.drop("model", "reference"), rel_tol=1e-9)


def test_drift_of_each_model_is_that_of_its_column() -> None:
    """A drift needs no items: `by=` the column of models."""
    found = LONG.ec.drift("p", "bad", period="month", by="judge", metrics=["nec"], cluster="id")
    for name in MODELS:
        expected = WIDE.ec.drift(name, "bad", period="month", metrics=["nec"], cluster="id")
        beside = ["model", "p_adjusted"]
        assert_frame_equal(found.filter(judge=name).drop("judge", *beside), expected.drop(beside), rel_tol=1e-9)


HOSTILE = ["^z.*$", "*", "", "topic", "p", "__ec_label", "__ec_item_label", "judge", "a\nb"]


@pytest.mark.parametrize("metrics", [["nec"], ["auc_roc"]])
def test_models_of_any_name(metrics: list[str]) -> None:
    log = pl.concat(LONG.filter(judge=MODELS[i % 3]).with_columns(judge=pl.lit(name)) for i, name in enumerate(HOSTILE))
    found = log.ec.compare("p", "bad", **OF_ITEMS, by="topic", metrics=metrics, reference="*")
    assert found.filter(topic="law")["model"].to_list() == sorted(set(HOSTILE) - {"*"})
    expected = WIDE.ec.compare(MODELS, "bad", by="topic", metrics=metrics, reference="judge b")
    of_c = found.filter(model="").drop("model", "reference")
    assert_frame_equal(of_c, expected.filter(model="judge c").drop("model", "reference"), rel_tol=1e-9)


@pytest.mark.parametrize(("dtype", "reference"), [(pl.Int64, 1), (pl.Enum(["0", "1"]), "1"), (pl.Boolean, True)])
def test_models_that_are_no_text(dtype: Any, reference: Any) -> None:
    some = LONG.filter(pl.col("judge") != "judge c").with_columns(
        judge=(pl.col("judge") == "judge b").cast(pl.Int64).cast(pl.String)
    )
    log = some.with_columns(judge=pl.col("judge") == "1" if dtype == pl.Boolean else pl.col("judge").cast(dtype))
    found = log.ec.compare("p", "bad", **OF_ITEMS, metrics=["nec"], reference=reference)
    expected = WIDE.ec.compare(MODELS[:2], "bad", metrics=["nec"], reference="judge b")
    assert found["difference"].item() == pytest.approx(expected["difference"].item())


def test_columns_are_those_of_the_log() -> None:
    """Not the columns of scores, which are named as models, nor those that an item's expression hides."""
    log = LONG.with_columns(judge=pl.col("judge").str.slice(-1))
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        log.ec.compare("p", "bad", **OF_ITEMS, weight="a", metrics=["nec"])
    selected = log.ec.compare(
        "p", "bad", **OF_ITEMS, by=pl.exclude("judge", "p", "bad", "id", "month", "epoch", "w"), metrics=["nec"]
    )
    assert selected.columns[:2] == ["topic", "model"]
    item = [(pl.col("id") * 2 + pl.col("epoch")).alias("w"), pl.col("epoch").alias("id")]
    found = log.ec.compare("p", "bad", model="judge", item=item, weight="w", cluster="id", metrics=["nec"])
    expected = WIDE.ec.compare(MODELS, "bad", weight="w", cluster="id", metrics=["nec"])
    assert_frame_equal(found.drop("model", "reference"), expected.drop("model", "reference"), rel_tol=1e-9)


def test_an_empty_log_compares_nothing() -> None:
    assert LONG.clear().ec.compare("p", "bad", **OF_ITEMS, by="topic", metrics=["nec"]).is_empty()


@pytest.mark.parametrize(
    "more", [[], ["--by", "topic"], ["--reference", "judge b"], ["--by", "topic", "--reference", "rest"]]
)
def test_the_command(tmp_path, more: list[str]) -> None:
    LONG.write_parquet(tmp_path / "long.parquet")
    options = [
        "--label",
        "bad",
        "--metrics",
        "nec",
        "--cost-fn",
        5,
        "--cluster",
        "id",
        "--out",
        tmp_path / "out.parquet",
        *more,
    ]
    args = ["compare", tmp_path / "long.parquet", "--score", "p", "--model", "judge", "--item", "id", "--item", "epoch"]
    result = invoke(*args, *options)
    assert result.exit_code == 0, result.output
    keywords = {"by": "topic"} if "--by" in more else {}
    keywords |= {"reference": more[-1]} if "--reference" in more else {}
    expected = WIDE.ec.compare(MODELS, "bad", metrics=["nec"], cost_fn=5, cluster="id", **keywords)
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), expected, rel_tol=1e-9)


def test_errors_of_the_command(tmp_path) -> None:
    LONG.write_parquet(tmp_path / "long.parquet")
    args = ["compare", tmp_path / "long.parquet", "--score", "p", "--label", "bad", "--model"]
    for more, error in (
        (["judge"], "--model and --item go together"),
        (["judge", "--item", "it"], "it"),
        (["judge", "--item", "id"], "has 2 rows of model"),
        (["judge", "--item", "id", "--item", "epoch", "--reference", "x"], "x"),
    ):
        result = invoke(*args, *more)
        assert result.exit_code == 2, result.output
        assert error in result.stderr
    invoke("sketch", tmp_path / "long.parquet", "--out", tmp_path / "sketches", "--score", "p", "--label", "bad")
    result = invoke("compare", tmp_path / "sketches", "--model", "judge", "--item", "id", "--reference", "rest")
    assert "sketches have no items" in result.stderr
