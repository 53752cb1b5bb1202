"""Buckets and folds of keys: in Polars, in DuckDB, in plain Python and as Apache Iceberg publishes them."""

from __future__ import annotations

import math
import random
import uuid
from datetime import date, datetime, time, timedelta

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.scores.folds import murmur3
from tests.support.buckets import plain_bucket, plain_fold, plain_hash
from tests.support.database import needs_duckdb_2
from tests.support.plans import assert_streams
from tests.support.profile import EXAMPLES, PROFILE

# Apache Iceberg, Table Spec, Appendix B: the key, its 32-bit hash, and the key in SQL.
PUBLISHED = [
    (34, 2017239379, "34"),
    ("iceberg", 1210000089, "'iceberg'"),
    (date(2017, 11, 16), -653330422, "DATE '2017-11-16'"),
    (time(22, 31, 8), -662762989, "TIME '22:31:08'"),
    (datetime(2017, 11, 16, 22, 31, 8), -2047944441, "TIMESTAMP '2017-11-16 22:31:08'"),
    (datetime(2017, 11, 16, 22, 31, 8, 1), -1207196810, "TIMESTAMP '2017-11-16 22:31:08.000001'"),
    (datetime(2017, 11, 16, 22, 31, 8), -2047944441, "TIMESTAMPTZ '2017-11-16 14:31:08-08:00'"),
]


@pytest.mark.parametrize(("key", "hashed", "in_sql"), PUBLISHED)
def test_published_values(key, hashed, in_sql, connection) -> None:
    """The transform is (hash & 2147483647) % N."""
    for buckets in (2, 16, 100, 1000):
        expected = (hashed & 0x7FFFFFFF) % buckets
        assert plain_bucket(key, buckets) == expected
        assert pl.select(ec.bucket(pl.lit(key), buckets)).item() == expected
        assert connection.execute(f"SELECT ec.bucket({in_sql}, {buckets})").fetchall() == [(expected,)]


INTEGERS = {
    "Int8": "TINYINT", "Int16": "SMALLINT", "Int32": "INTEGER", "Int64": "BIGINT", "Int128": "HUGEINT",
    "UInt8": "UTINYINT", "UInt16": "USMALLINT", "UInt32": "UINTEGER", "UInt64": "UBIGINT", "UInt128": "UHUGEINT",
}  # fmt: skip


def range_of(dtype: str) -> tuple[int, int]:
    bits = int(dtype.lstrip("UInt"))
    return (0, 2**bits - 1) if dtype.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@pytest.mark.slow
def test_an_integer_has_one_bucket_whatever_its_width(connection) -> None:
    edges, queries = [5, -5, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64 - 1], []
    for key in [*edges, 2**64, -(2**63) - 1, 2**127 - 1, -(2**127), 2**128 - 1]:
        expected = plain_bucket(key, 1000)
        wide = {dtype: in_sql for dtype, in_sql in INTEGERS.items() if range_of(dtype)[0] <= key <= range_of(dtype)[1]}
        of_dtypes = [ec.bucket(pl.lit(key, dtype=getattr(pl, dtype)), 1000).alias(dtype) for dtype in wide]
        assert set(pl.select(of_dtypes).row(0)) == {expected}
        queries += [(f"ec.bucket(CAST('{key}' AS {in_sql}), 1000)", expected) for in_sql in wide.values()]
    found = connection.execute(f"SELECT {', '.join(query for query, _ in queries)}").fetchall()[0]
    assert list(found) == [expected for _, expected in queries]


TEXTS = ["", "a", "user_1", "e\u0301", "👨‍👩‍👧", "\x00", "\x00\x00", "a" * 15, "ü" * 8, "a" * 17, "z" * 32, "é" * 5000]
INSTANTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
KEYS = {
    **{
        dtype: st.integers(*range_of(dtype))
        for dtype in INTEGERS
        if not dtype.endswith("128")
    },
    "Boolean": st.booleans(),
    "String": st.text(max_size=60),
    "Categorical": st.text(max_size=20),
    "Enum": st.sampled_from(TEXTS),
    "Date": st.dates(),
    "Time": st.times(),
    "us": INSTANTS,
    "ms": INSTANTS.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    "ns": INSTANTS,
    "zoned": INSTANTS,
    "zoned ns": INSTANTS,
    "Duration": st.timedeltas(timedelta(-10000), timedelta(10000)),
}  # fmt: skip
EDGES = {
    **{dtype: range_of(dtype) for dtype in INTEGERS if not dtype.endswith("128")},
    "Boolean": (True, False),
    "Date": (date.min, date.max, date(1969, 12, 31)),
}
DTYPES = {
    "Enum": pl.Enum(TEXTS),
    "us": pl.Datetime("us"),
    "ms": pl.Datetime("ms"),
    "ns": pl.Datetime("ns"),
    "zoned": pl.Datetime("us", "UTC"),
    "zoned ns": pl.Datetime("ns", "UTC"),
    "Duration": pl.Duration("us"),
}


# One query has a column of each type, because planning it takes longer than running it.
@pytest.mark.slow
@settings(PROFILE, max_examples=int(EXAMPLES or 1))
@given(st.data())
def test_buckets_are_the_same_everywhere(connection, data) -> None:
    keys = {kind: data.draw(st.lists(values, min_size=20, max_size=20)) for kind, values in KEYS.items()}
    edges = {kind: (TEXTS if kind in ("String", "Categorical", "Enum") else list(EDGES.get(kind, ()))) for kind in KEYS}
    keys = {kind: [*drawn, None, *edges[kind], *[None] * 13][:33] for kind, drawn in keys.items()}
    log = pl.DataFrame([pl.Series(k, keys[k], dtype=DTYPES.get(k) or getattr(pl, k)) for k in KEYS])
    log = log.with_columns(pl.col("zoned").dt.convert_time_zone("America/New_York"))
    buckets = log.select(ec.bucket(kind, 1000).alias(kind) for kind in KEYS)
    assert set(buckets.dtypes) == {pl.Int16}
    assert buckets.to_dict(as_series=False) == {k: [plain_bucket(key, 1000) for key in keys[k]] for k in KEYS}
    streamed = log.lazy().select(ec.bucket(kind, 1000).alias(kind) for kind in KEYS).collect(engine="streaming")
    assert_frame_equal(streamed, buckets)
    of_each_macro = ("Int64", "String", "Date")
    folds = log.select(ec.fold(kind, 7).alias(f"fold {kind}") for kind in of_each_macro)
    assert folds.rows() == list(
        zip(*([plain_fold(key, 7) for key in keys[kind]] for kind in of_each_macro), strict=True)
    )
    calls = [f'ec.bucket("{kind}", 1000) AS "{kind}"' for kind in KEYS]
    calls += [f'ec.fold("{kind}", 7) AS "fold {kind}"' for kind in of_each_macro]
    in_sql = pl.DataFrame(connection.sql(f"SELECT {', '.join(calls)} FROM log").to_arrow_table())
    assert_frame_equal(in_sql, pl.concat([buckets, folds], how="horizontal"))


def test_texts_of_every_length(connection) -> None:
    """The macro cuts texts into blocks of 16 bytes, words of four and what is left, and texts of other characters by bytes."""
    texts = pl.Series(
        [alphabet[:n] for alphabet in ("0az~" * 17, "\x7f\0" * 34, "é漢ü\U0001f600" * 17) for n in range(68)]
    )
    log = pl.DataFrame({"text": texts})
    in_sql = connection.sql("SELECT ec.bucket(text, 1000) AS bucket FROM log").fetchall()
    assert [bucket for (bucket,) in in_sql] == [plain_bucket(text, 1000) for text in texts]
    assert log.select(ec.bucket("text", 1000)).to_series().to_list() == [bucket for (bucket,) in in_sql]


@pytest.mark.quick("UInt128")
@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(st.data())
@pytest.mark.parametrize("dtype", ["Int128", "UInt128"])
def test_buckets_of_large_integers(dtype, connection, data) -> None:
    lowest, highest = range_of(dtype)
    edges = [None, lowest, highest, 0, 2**63, 2**64 - 1, 2**64]
    keys = [*edges, *data.draw(st.lists(st.integers(lowest, highest), max_size=12))]
    log = pl.DataFrame({"key": pl.Series(keys, dtype=getattr(pl, dtype))})
    expected = [plain_bucket(key, 1000) for key in keys]
    assert log.select(ec.bucket("key", 1000))["bucket"].to_list() == expected
    assert log.lazy().select(ec.bucket("key", 1000)).collect(engine="streaming")["bucket"].to_list() == expected
    values = ", ".join(
        f"({i}, CAST({'NULL' if key is None else repr(str(key))} AS {INTEGERS[dtype]}))" for i, key in enumerate(keys)
    )
    query = (
        f"SELECT ec.bucket(key, 1000), ec.stratified_fold(key, 1, 3) FROM (VALUES {values}) AS log(i, key) ORDER BY i"
    )
    found = connection.execute(query).fetchall()
    assert [bucket for bucket, _ in found] == expected
    assert log.select(ec.stratified_fold("key", pl.lit(1), folds=3))["fold"].to_list() == [turn for _, turn in found]


@needs_duckdb_2
def test_nanoseconds_are_rounded_down(connection) -> None:
    """Casts of DuckDB round them to the nearest."""
    nanos = [-1001, -1000, -999, -1, 0, 1, 999, 1000, 1500]
    log = pl.DataFrame({"key": pl.Series(nanos).cast(pl.Datetime("ns"))})
    expected = [plain_bucket(nano // 1000, 1000) for nano in nanos]
    zoned = log.select(pl.col("key").dt.replace_time_zone("UTC"))
    assert log.select(ec.bucket("key", 1000))["bucket"].to_list() == expected
    assert zoned.select(ec.bucket("key", 1000))["bucket"].to_list() == expected
    for frame in (log, zoned):
        connection.register("in_nanoseconds", frame)
        found = connection.execute("SELECT ec.bucket(key, 1000) FROM in_nanoseconds").fetchall()
        assert [bucket for (bucket,) in found] == expected
    kinds = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPTZ_NS")
    buckets = [
        f"ec.bucket(CAST(TIMESTAMPTZ '1969-12-31 23:59:58+00' AT TIME ZONE 'UTC' AS {kind}))" for kind in kinds[:4]
    ]
    buckets += [f"ec.bucket(CAST(TIMESTAMPTZ '1969-12-31 23:59:58+00' AS {kind}))" for kind in kinds[4:]]
    assert set(connection.execute(f"SELECT {', '.join(buckets)}").fetchall()[0]) == {plain_bucket(-2_000_000, 100)}


@settings(PROFILE)
@given(
    st.one_of(
        st.lists(st.one_of(st.none(), KEYS["String"])).map(lambda keys: pl.Series(keys, dtype=pl.String)),
        st.lists(st.one_of(st.none(), KEYS["Int64"])).map(lambda keys: pl.Series(keys, dtype=pl.Int64)),
        st.lists(st.one_of(st.none(), KEYS["Int8"])).map(lambda keys: pl.Series(keys, dtype=pl.Int8)),
    )
)
@pytest.mark.slow
def test_the_hash_in_numpy(keys) -> None:
    assert murmur3(keys).dtype == pl.Int32
    found = [None if hashed is None else hashed & 0x7FFFFFFF for hashed in murmur3(keys)]
    assert found == [None if key is None else plain_hash(key) for key in keys]


def test_a_polars_without_the_hash(monkeypatch) -> None:
    log = pl.LazyFrame({"id": [1, 2, None], "user": ["a", None, "é"], "day": [date(2026, 1, 1), None, date.max]})
    buckets = [ec.bucket(name).alias(name) for name in ("id", "user", "day")]
    expected = log.select(buckets).collect()
    monkeypatch.delattr(pl.Expr, "_mm3_hash")
    assert_frame_equal(log.select(buckets).collect(engine="streaming"), expected)
    for name in ("id", "user", "day"):
        assert expected[name].to_list() == [plain_bucket(key, 100) for key in log.collect()[name]]


def sets_of_keys() -> dict[str, pl.Series]:
    n = 100_000
    generator = random.Random(1)
    at = pl.datetime_range(
        datetime(2026, 1, 1), interval="1s", eager=True, end=datetime(2026, 1, 1) + timedelta(seconds=n - 1)
    )
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return {
        "sequential": pl.int_range(n, eager=True),
        "below zero": -pl.int_range(n, eager=True),
        "hundreds": 100 * pl.int_range(n, eager=True),
        "powers": 2**20 * pl.int_range(n, eager=True),
        "seconds": at,
        "days": pl.Series(range(-n // 2, n // 2)).cast(pl.Date).cast(pl.Datetime("us")),
        "dates": pl.Series(range(-n // 2, n // 2)).cast(pl.Date),
        "users": pl.select(pl.format("user-{}", pl.int_range(n).cast(pl.String).str.zfill(6))).to_series(),
        "uuids": pl.Series([str(uuid.UUID(int=generator.getrandbits(128), version=4)) for _ in range(n)]),
        "short": pl.Series([a + b + c for a in letters for b in letters for c in letters]),
    }


def test_buckets_are_even_and_independent() -> None:
    """Chi-square of a thousand buckets, hence of all their divisors and of how these go together; and of neighbours."""
    for name, keys in sets_of_keys().items():
        found = keys.to_frame("key").select(
            ec.bucket("key", 1000), coarse=ec.bucket("key", 100), fold=ec.fold("key", 20)
        )
        assert (found["bucket"] % 100 == found["coarse"]).all()
        assert (found["coarse"] % 20 == found["fold"]).all()
        after = found["fold"].cast(pl.Int32) * 20 + found["fold"].shift(1).cast(pl.Int32)
        for column, parts in ((found["bucket"], 1000), (after.drop_nulls(), 400)):
            counts, expected = column.value_counts()["count"].to_list(), len(column) / parts
            assert len(counts) == parts
            chi_square = sum((count - expected) ** 2 / expected for count in counts)
            assert abs(chi_square - (parts - 1)) < 5 * math.sqrt(2 * (parts - 1)), (name, parts)


def test_buckets_stream(tmp_path) -> None:
    log = pl.DataFrame({"id": [1, 2], "user": ["a", "b"], "p": [0.1, 0.2]}).with_columns(
        large=pl.col("id").cast(pl.Int128),
        unsigned=pl.col("id").cast(pl.UInt64),
        day=pl.col("id").cast(pl.Date),
        at=pl.col("id").cast(pl.Datetime("ns", "UTC")),
        kind=pl.col("user").cast(pl.Categorical),
    )
    log.write_parquet(tmp_path / "log.parquet")
    frame = pl.scan_parquet(tmp_path / "log.parquet")
    for key in ("id", "user", "large", "unsigned", "day", "at", "kind"):
        assert_streams(frame.group_by(ec.bucket(key, 100), ec.fold(key)).agg(pl.col("p").sum()))


def test_rows_without_a_key(connection) -> None:
    for dtype, in_sql in ((pl.String, "VARCHAR"), (pl.Int64, "BIGINT"), (pl.Date, "DATE"), (pl.Null, '"NULL"')):
        log = pl.DataFrame({"key": pl.Series([None], dtype=dtype)})
        turn = ec.stratified_fold("key", pl.lit(1), 7).alias("turn")
        assert log.select(ec.bucket("key"), ec.fold("key", 7), turn).rows() == [(None, 7, 7)]
        key = "NULL" if dtype == pl.Null else f"CAST(NULL AS {in_sql})"
        query = f"SELECT ec.bucket({key}), ec.fold({key}, folds := 7), ec.stratified_fold({key}, 1, folds := 7)"
        assert connection.execute(query).fetchall() == [(None, 7, 7)]


@needs_duckdb_2
def test_instants_out_of_reach_have_no_bucket(connection) -> None:
    """Microseconds count them in 64 bits; milliseconds reach further."""
    log = pl.DataFrame({"key": pl.Series([10**16, -(10**16), 0]).cast(pl.Datetime("ms"))})
    assert log.select(ec.bucket("key"))["bucket"].to_list() == [None, None, plain_bucket(0, 100)]
    connection.register("far", log)
    assert connection.execute("SELECT ec.bucket(key) FROM far").fetchall() == [
        (None,),
        (None,),
        (plain_bucket(0, 100),),
    ]


def test_keys_and_numbers_that_cannot_be(connection) -> None:
    log = pl.DataFrame({"x": [0.5], "v": [[1]], "id": [1]})
    for column, message in (
        ("x", "'x' is Float64, whose last digits"),
        ("v", r"'v' is List\(Int64\): buckets need integers, strings, dates or times, make one of"),
    ):
        for build in (ec.bucket, ec.fold, lambda key: ec.stratified_fold(key, "id")):
            with pytest.raises(TypeError, match=message):
                log.lazy().select(build(column)).collect_schema()
    keys = {
        "1.5": r"DECIMAL\(2,1\)",
        "1.5::DOUBLE": "DOUBLE",
        "[1]": "INTEGER",
        "'a'::BLOB": "BLOB",
        "NULL::UUID": "UUID",
    }
    for i, (key, name) in enumerate(keys.items()):
        call = (f"ec.bucket({key})", f"ec.fold({key})", f"ec.stratified_fold({key}, 1)")[i % 3]
        with pytest.raises(duckdb.Error, match=rf"a bucket key must be an integer, string, date or time, not {name}"):
            connection.execute(f"SELECT {call}").fetchall()
    for number in (1, 0, -5, 1001, 2.5, True, None, "5"):
        with pytest.raises(ValueError, match=r"buckets=.* is not a whole number from 2 to 1000"):
            ec.bucket("id", number)
        with pytest.raises(ValueError, match=r"folds=.* is not a whole number from 2 to 1000"):
            ec.fold("id", number)
    for number in ("1", "-5", "1001", "2.5", "NULL"):
        for name, call in (("buckets", "bucket(7"), ("folds", "fold(7"), ("folds", "stratified_fold(7, 1")):
            with pytest.raises(duckdb.Error, match=f"{name} must be a whole number in 2..1000, not"):
                connection.execute(f"SELECT ec.{call}, {name} := {number})").fetchall()


def test_folds_within_strata_are_even_and_the_same(connection) -> None:
    log = pl.DataFrame(
        {
            "key": [*range(200), *range(100), None],
            "g": [*["a", "b", None] * 100, "a"],
            "y": [*[True, False] * 150, None],
        }
    )
    for within, in_sql, strata in (("g", "g", ["g"]), (["g", pl.col("y")], "{'g': g, 'y': y}", ["g", "y"])):
        for kind, key in (("BIGINT", pl.Int64), ("VARCHAR", pl.String), ("UBIGINT", pl.UInt64)):
            found = log.with_columns(ec.stratified_fold(pl.col("key").cast(key), within, 4))
            query = f"SELECT key, g, y, ec.stratified_fold(CAST(key AS {kind}), {in_sql}, folds := 4) AS fold FROM log"
            theirs = pl.DataFrame(connection.sql(query).to_arrow_table())
            assert_frame_equal(theirs, found, check_row_order=False)
            sizes = (
                found.drop_nulls("key")
                .group_by(*strata, "fold")
                .agg(pl.col("key").n_unique().alias("n"))
                .group_by(strata)
                .agg(pl.col("n").max() - pl.col("n").min())
            )
            assert (sizes["n"] <= 1).all()
            ranks = {(None, row[1:] if len(strata) == 2 else row[1:2]): 4 for row in log.rows()}
            for stratum in {row[1:] if len(strata) == 2 else row[1:2] for row in log.rows()}:
                keys = {row[0] for row in log.rows() if (row[1:] if len(strata) == 2 else row[1:2]) == stratum} - {None}
                of_key = {k: plain_hash(str(k) if kind == "VARCHAR" else k) for k in keys}
                hashes = sorted(set(of_key.values()))
                ranks |= {(k, stratum): (hashes.index(of_key[k]) + 1) % 4 for k in keys}
            for k, g, y, fold in found.rows():
                assert fold == ranks[k, (g, y) if len(strata) == 2 else (g,)]


@pytest.mark.slow
def test_keys_whose_type_is_not_known_while_the_query_is_read(connection) -> None:
    """An alias of the same SELECT, an aggregate, the parameter of another macro: the bucket of the value."""
    for key, in_sql in [(34, "34"), (34, "34::HUGEINT"), ("iceberg", "'iceberg'"), (None, "NULL::DATE")]:
        expected = None if key is None else plain_bucket(key, 1000)
        fold = 7 if key is None else plain_bucket(key, 7)
        found = connection.execute(
            f"SELECT {in_sql} AS k, ec.bucket(k, 1000), ec.fold(k, 7), ec.bucket(max({in_sql}), 1000) FROM range(2)"
        )
        assert found.fetchall()[0][1:] == (expected, fold, expected)
    connection.execute("CREATE OR REPLACE TEMP MACRO of_mine(k) AS ec.fold(k, 7)")
    assert connection.execute("SELECT of_mine(34), of_mine('iceberg')").fetchall() == [
        (plain_bucket(34, 7), plain_bucket("iceberg", 7))
    ]
    with pytest.raises(duckdb.Error, match="not DOUBLE: cast the key"):
        connection.execute("SELECT 1e0 AS k, ec.fold(k, 7)").fetchall()
