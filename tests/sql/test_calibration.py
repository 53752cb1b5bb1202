"""Folds and calibrated posteriors in DuckDB against Polars and plain Python."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.calibration_logs import rows_to_calibrate, simulated
from tests.support.profile import PROFILE


def plain_fold(key: int | str | None, folds: int) -> int:
    prime, mask = 4294967291, 2**32 - 1
    if key is None:
        return 0
    if isinstance(key, str):
        number = 1
        for character in key:
            number = (number * 1000003 + ord(character)) % prime
        key = number
    x = key % prime
    for _ in range(2):
        x = (x ^ (x >> 16)) * 73244475 & mask
    return (x ^ (x >> 16)) % folds


def test_folds_within_strata_are_even_and_the_same(connection) -> None:
    log = pl.DataFrame(
        {
            "key": [*range(200), *range(100), None],
            "g": [*["a", "b", None] * 100, "a"],
            "y": [*[True, False] * 150, None],
        }
    )
    for within, in_sql, strata in (("g", "g", ["g"]), (["g", pl.col("y")], "{'g': g, 'y': y}", ["g", "y"])):
        found = log.with_columns(ec.stratified_fold("key", within, 4))
        query = f"SELECT key, g, y, ec.stratified_fold(key, {in_sql}, folds := 4) AS fold FROM log"
        theirs = pl.DataFrame(connection.sql(query).to_arrow_table())
        assert_frame_equal(theirs, found, check_row_order=False)
        sizes = (
            found.group_by(*strata, "fold")
            .agg(pl.col("key").n_unique().alias("n"))
            .group_by(strata)
            .agg(pl.col("n").max() - pl.col("n").min())
        )
        assert (sizes["n"] <= 1).all()
        ranks = {}
        for stratum in {row[1:] if len(strata) == 2 else row[1:2] for row in log.rows()}:
            keys = {row[0] for row in log.rows() if (row[1:] if len(strata) == 2 else row[1:2]) == stratum}
            hashes = sorted({plain_fold(key, 2**32) for key in keys})
            ranks |= {(key, stratum): (hashes.index(plain_fold(key, 2**32)) + 1) % 4 for key in keys}
        for key, g, y, fold in found.rows():
            assert fold == ranks[key, (g, y) if len(strata) == 2 else (g,)]


INTEGERS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.just(4294967291))
TEXTS = st.one_of(
    st.none(), st.text(max_size=40), st.sampled_from(["", "user_1", "e\u0301", "👨‍👩‍👧", "\x00", "a" * 999])
)


@settings(PROFILE, max_examples=60)
@given(
    st.one_of(
        st.lists(INTEGERS, max_size=20).map(lambda keys: pl.Series("key", keys, dtype=pl.Int64)),
        st.lists(TEXTS, max_size=20).map(lambda keys: pl.Series("key", keys, dtype=pl.String)),
    ),
    st.sampled_from([2, 5, 127]),
)
def test_folds_are_the_same_everywhere(connection, keys, folds) -> None:
    log = keys.to_frame()
    found = log.select(ec.fold("key", folds))["fold"]
    assert found.to_list() == [plain_fold(key, folds) for key in keys]
    assert log.lazy().select(ec.fold("key", folds)).collect(engine="streaming")["fold"].to_list() == found.to_list()
    query = f"SELECT ec.fold(key, folds := {folds}) AS fold FROM log"
    in_sql = pl.DataFrame(connection.sql(query).to_arrow_table())["fold"]
    assert in_sql.dtype == pl.Int8
    assert in_sql.to_list() == found.to_list()


def test_folds_of_other_types(connection) -> None:
    log = pl.DataFrame({"key": ["a", "b", None]}, schema={"key": pl.Enum(["a", "b"])})
    expected = [plain_fold(key, 5) for key in log["key"]]
    for dtype in (pl.Enum(["a", "b"]), pl.Categorical):
        assert log.select(ec.fold(pl.col("key").cast(dtype)))["fold"].to_list() == expected
    found = connection.execute("SELECT ec.fold(CAST(key AS ENUM('a', 'b'))) FROM log").fetchall()
    assert [fold for (fold,) in found] == expected
    for sql, python in (("UTINYINT", pl.UInt8), ("HUGEINT", pl.Int128), ("INTEGER", pl.Int32)):
        expected = plain_fold(77, 5)
        assert connection.execute(f"SELECT ec.fold(CAST(77 AS {sql}))").fetchall() == [(expected,)]
        assert pl.select(ec.fold(pl.lit(77, dtype=python)))["fold"].to_list() == [expected]
    assert connection.execute("SELECT ec.fold(NULL), ec.fold('')").fetchall() == [(0, plain_fold("", 5))]
    for key, message in (("1.5", "integers or strings"), ("DATE '2026-01-01'", "not DATE")):
        with pytest.raises(duckdb.Error, match=message):
            connection.execute(f"SELECT ec.fold({key})").fetchall()
    for folds in ("1", "128", "2.5", "NULL"):
        with pytest.raises(duckdb.Error, match="folds is a whole number"):
            connection.execute(f"SELECT ec.fold(7, folds := {folds})").fetchall()


LARGE = {
    "UInt64": ("UBIGINT", 0, 2**64 - 1),
    "Int128": ("HUGEINT", -(2**127), 2**127 - 1),
    "UInt128": ("UHUGEINT", 0, 2**128 - 1),
}


@PROFILE
@given(st.data())
@pytest.mark.parametrize("dtype", LARGE)
def test_folds_of_large_integers(dtype, connection, data) -> None:
    """Hashes of 64 and 128 bits; those that fit into 64 have the folds that they have there."""
    in_sql, lowest, highest = LARGE[dtype]
    numbers = st.one_of(st.integers(lowest, highest), st.sampled_from([lowest, highest, 0, 1, 2**63 - 1, 2**63]))
    keys = data.draw(st.lists(st.one_of(st.none(), numbers), min_size=1, max_size=12))
    log = pl.DataFrame({"key": pl.Series(keys, dtype=getattr(pl, dtype))})
    expected = [plain_fold(key, 5) for key in keys]
    assert log.select(ec.fold("key"))["fold"].to_list() == expected
    assert log.lazy().select(ec.fold("key")).collect(engine="streaming")["fold"].to_list() == expected
    values = ", ".join(
        f"({i}, CAST({'NULL' if key is None else repr(str(key))} AS {in_sql}))" for i, key in enumerate(keys)
    )
    query = "SELECT ec.fold(key), ec.stratified_fold(key, 1, folds := 3) FROM (VALUES {}) AS log(i, key) ORDER BY i"
    found = connection.execute(query.format(values)).fetchall()
    assert [fold for fold, _ in found] == expected
    hashes = sorted({plain_fold(key, 2**32) for key in keys})
    turns = [(hashes.index(plain_fold(key, 2**32)) + 1) % 3 for key in keys]
    assert [turn for _, turn in found] == turns
    assert log.select(ec.stratified_fold("key", pl.lit(1), folds=3))["fold"].to_list() == turns
    small = [key for key in keys if key is not None and -(2**63) <= key < 2**63]
    of_64_bits = pl.DataFrame({"key": pl.Series(small, dtype=pl.Int64)})
    assert of_64_bits.select(ec.fold("key"))["fold"].to_list() == [plain_fold(key, 5) for key in small]


def test_cross_validation_of_a_sketch_made_in_sql(connection) -> None:
    log = simulated().drop("fold").with_row_index("id")
    connection.register("log", log)
    connection.execute("CREATE OR REPLACE TEMP VIEW folded AS SELECT *, ec.fold(id) AS fold FROM log")
    made = connection.sql("FROM ec.sketch('folded', p, y, groups := ['g', 'fold'], thresholds := [0.5])")
    in_sql = ec.Sketch.from_arrow(made.to_arrow_table(), thresholds=[0.5]).calibration_loss()
    in_polars = log.ec.sketch("p", "y", by="g", folds=5, fold_by="id").calibration_loss()
    assert_frame_equal(in_sql, in_polars, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("score_type", "exact", "calibrator"),
    [
        (score_type, exact, calibrator)
        for score_type in ("posterior", "log_odds")
        for exact in (True, False)
        for calibrator in ("affine", "temperature", "gaussian", "pav", "histogram")
    ]
    + [("raw", True, calibrator) for calibrator in ("affine", "gaussian", "pav")],
)
def test_sql_text_is_apply(score_type, exact, calibrator, connection) -> None:
    log = simulated().with_columns(y=pl.when(pl.col("g") == 2).then(pl.lit(value=True)).otherwise("y"))
    # A score that points the wrong way, in one group.
    log = log.with_columns(y=pl.when(pl.col("g") == 3).then(~pl.col("y")).otherwise("y"))
    score = "p" if score_type == "posterior" else "x"
    key = pl.col("g").replace_strict({0: "it's", 1: None, 2: 'a "b"', 3: "ü"}, return_dtype=pl.String).alias("g")
    day = pl.date(2026, 1, 1) + pl.duration(days=pl.col("id") % 2)
    log = log.with_row_index("id").with_columns(key, day.alias("the day"), (pl.col("id") % 3 == 0).alias("flag"))
    keys = ["g", "the day", "flag"]
    calibration = log.ec.sketch(score, "y", by=keys, score_type=score_type, exact=exact).calibrate(calibrator)
    groups = log.select(keys).unique().with_columns(pl.col("g").fill_null("new").alias("g"))
    new = pl.concat([log.select(keys).unique(), groups]).join(
        rows_to_calibrate().select("p", "x").head(10), how="cross"
    )
    expected = new.select(calibration.apply(score)).to_series()
    connection.register("new", new.to_arrow())
    query = f"SELECT {calibration.to_sql(score)} FROM new"
    found = [value for (value,) in connection.execute(query).fetchall()]
    assert [value is None for value in found] == expected.is_null().to_list()
    assert expected.null_count() < new.height * 3 / 4
    for value, want in zip(found, expected, strict=True):
        assert value == (None if want is None else pytest.approx(want, rel=1e-12, abs=2e-304))


def test_sql_text_without_groups(connection) -> None:
    log = simulated()
    affine = log.ec.sketch("x", "y", score_type="llr").calibrate(prior=0.2)
    alpha, beta = affine.frame.select("alpha", "beta").row(0)
    connection.register("log", log.to_arrow())
    text = affine.to_sql("x + 1")
    query = f"SELECT max(abs({text} - ec.affine(x + 1, {alpha!r}, {beta!r}, score_type := 'llr'))) FROM log"
    assert connection.execute(query).fetchall()[0][0] < 1e-15
    nothing = log.filter(pl.col("y")).ec.sketch("x", "y", score_type="log_odds").calibrate()
    assert connection.execute(f"SELECT {nothing.to_sql('x')}, x FROM log LIMIT 1").fetchall()[0][0] is None


def test_sql_text_of_a_group_called_like_a_placeholder(connection) -> None:
    log = simulated().with_columns(pl.col("g").replace_strict({2: "ec_text_0"}, default="b").alias("ec_text_0"))
    calibration = log.ec.sketch("p", "y", by="ec_text_0").calibrate()
    connection.register("named", log.to_arrow())
    found = connection.execute(f"SELECT {calibration.to_sql('p')} FROM named").fetchall()
    expected = log.select(calibration.apply("p")).to_series().to_list()
    assert [value for (value,) in found] == pytest.approx(expected, rel=1e-12)


def test_sql_text_of_other_dialects() -> None:
    calibration = simulated().ec.sketch("p", "y", by="g").calibrate()
    assert '"g" = 0' in calibration.to_sql("p", dialect="postgres")
    assert "`g` = 0" in calibration.to_sql("p", dialect="bigquery")
    with pytest.raises(ValueError, match="dialect='oracle' is none of"):
        calibration.to_sql("p", dialect="oracle")
    with pytest.raises(ValueError, match="is not one expression"):
        calibration.to_sql("p, q")
    by_list = simulated().ec.sketch("p", "y", by=pl.concat_list("g").alias("l")).calibrate()
    with pytest.raises(ValueError, match="the group column 'l' holds"):
        by_list.to_sql("p")
