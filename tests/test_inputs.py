"""Logs of other libraries go in where Polars frames do, mean the same, and are not read into memory whole."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.arguments.inputs import as_lazy
from polars_ec.calibration import rows as calibration_rows
from tests.support.cases import mostly_slow

N = 60
RNG = np.random.default_rng(11)
SCORES = RNG.uniform(0.05, 0.95, N)
LOG = pl.DataFrame(
    {
        "segment": RNG.choice(["a", "b"], N),
        "p": [None, *SCORES[1:]],
        "y": [*(RNG.random(N - 1) < SCORES[:-1]).astype(int), None],
        "id": np.arange(N),
    },
    schema_overrides={"y": pl.Int64},
)
VECTORS = pl.DataFrame(
    {"q": RNG.dirichlet([1, 1, 1], N), "y": RNG.integers(0, 3, N), "id": np.arange(N)},
    schema_overrides={"q": pl.Array(pl.Float64, 3)},
)


class Batches:
    """A reader of another library: neither of pyarrow, nor one that takes weak references."""

    __slots__ = ("reader",)

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __next__(self) -> Any:
        return self.reader.read_next_batch()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


class Stream:
    """A table of a library that nobody knows: all that it can is to give its rows as Arrow data."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def relation(log: pl.DataFrame) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("log", log.to_arrow())
    return connection.sql("SELECT *, INTERVAL 1 DAY AS delay FROM log")


def in_pandas(log: pl.DataFrame) -> pd.DataFrame:
    """With scores of NumPy, in which what is missing is NaN, and labels of a type that has missing integers."""
    return log.to_pandas().astype({"y": "Int64"})


def reader(log: pl.DataFrame) -> pa.RecordBatchReader:
    return log.to_arrow().to_reader(max_chunksize=7)


KINDS: dict[str, Any] = {
    "polars": lambda log: log,
    "pandas": in_pandas,
    "pandas of Arrow types": lambda log: log.to_pandas(use_pyarrow_extension_array=True),
    "table": lambda log: log.to_arrow(),
    "batch": lambda log: pa.RecordBatch.from_struct_array(log.to_struct().to_arrow()),
    "reader": reader,
    "dataset": lambda log: ds.dataset(log.to_arrow().to_batches(max_chunksize=7), schema=log.to_arrow().schema),
    "relation": relation,
    "stream": lambda log: Stream(log.to_arrow()),
    "narwhals": nw.from_native,
    "narwhals, lazy": lambda log: nw.from_native(log.lazy()),
    "narwhals of pandas": lambda log: nw.from_native(in_pandas(log)),
    "narwhals of a relation": lambda log: nw.from_native(relation(log)),
}


# As the report reads them, so do the others.
@pytest.fixture(params=mostly_slow(KINDS, ["pandas", "reader", "dataset", "relation", "stream"]))
def of_kind(request):
    return KINDS[request.param]


def nec_by_hand(rows: pl.DataFrame, cost_fn: float) -> float:
    """From the counts of plain Python."""
    used = [(p > 1 / (1 + cost_fn), y) for p, y in rows.select("p", "y").rows() if p is not None and y is not None]
    fn, fp = (used.count(cell) for cell in [(False, 1), (True, 0)])
    positives = sum(y for _, y in used)
    return (cost_fn * fn + fp) / min(cost_fn * positives, len(used) - positives)


@pytest.mark.parametrize("kind", KINDS)
def test_report(kind: str) -> None:
    table = ec.report(KINDS[kind](LOG), "p", "y", by="segment", cost_fn=4)
    assert isinstance(table, pl.DataFrame)
    assert table["segment"].to_list() == ["a", "b"]
    for row in table.iter_rows(named=True):
        rows = LOG.filter(segment=row["segment"])
        assert row["n"] == rows.drop_nulls(["p", "y"]).height
        assert row["n_missing"] == rows.height - row["n"]
        assert row["nec"] == pytest.approx(nec_by_hand(rows, 4), rel=1e-12)


def test_a_prior_of_the_whole_log_takes_one_pass(of_kind) -> None:
    """It is in the plan of the report, so that a reader does."""
    table = ec.report(of_kind(LOG), "p", "y", by="segment", prior=pl.col("y").mean())
    overall = LOG["y"].mean()
    for row in table.iter_rows(named=True):
        decided = LOG.filter(segment=row["segment"]).drop_nulls(["p", "y"])
        hit, false = (decided.filter(y=y)["p"].gt(0.5).mean() for y in (1, 0))
        assert row["precision_at_prior"] == pytest.approx(overall * hit / (overall * hit + (1 - overall) * false))


def test_sketch(of_kind) -> None:
    sketch = ec.sketch(of_kind(LOG), "p", "y", by="segment", thresholds=[0.2])
    table = sketch.evaluate("nec", cost_fn=4).sort("segment")
    assert table["nec"].to_list() == pytest.approx([nec_by_hand(LOG.filter(segment=s), 4) for s in "ab"], rel=1e-12)


def test_calibration(of_kind) -> None:
    """The raw loss is the cross-entropy, in NumPy here."""
    used = LOG.drop_nulls(["p", "y"])
    p, y = used["p"].to_numpy(), used["y"].to_numpy()
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean()
    table = ec.calibration_loss(of_kind(LOG), "p", "y", training="test")
    assert table["raw"].item() == pytest.approx(loss, rel=1e-12)
    assert table["n"].item() == len(p)
    fitted = ec.calibrate(of_kind(LOG), "p", "y").frame.row(0, named=True)
    log_odds = np.log(p / (1 - p))
    calibrated = 1 / (1 + np.exp(-fitted["alpha"] * log_odds - fitted["beta"]))
    # At the least loss residuals do not depend on the score; bins are 1/64 wide.
    assert [np.mean(calibrated - y), np.mean((calibrated - y) * log_odds)] == pytest.approx([0, 0], abs=1e-4)


@pytest.mark.parametrize("most_kept", [7, N - 1, N])
def test_two_classes_take_one_pass_over_many_rows(monkeypatch, most_kept: int) -> None:
    monkeypatch.setattr(calibration_rows, "_FEW_ROWS", most_kept)
    of_table, of_reader = (
        ec.calibration_loss(log, "p", "y", training="test", by="segment", resolution=4) for log in (LOG, reader(LOG))
    )
    assert_frame_equal(of_reader, of_table)
    given = reader(LOG)
    ec.calibrate(given, "p", "y")
    with pytest.raises(ValueError, match="a RecordBatchReader can be read only once, and its rows are already read"):
        ec.calibrate(given, "p", "y")


def test_calibration_of_classes_takes_several_passes(of_kind) -> None:
    given = of_kind(VECTORS)
    call = lambda: ec.calibration_loss(given, "q", "y", folds=2, fold_by="id", classes=[0, 1, 2])  # noqa: E731
    if isinstance(given, pa.RecordBatchReader):
        with pytest.raises(
            ValueError, match="a RecordBatchReader can be read only once, and its rows are already read: pass"
        ):
            call()
        return
    q, y = VECTORS["q"].to_numpy(), VECTORS["y"].to_numpy()
    assert call()["raw"].item() == pytest.approx(-np.log(q[np.arange(N), y]).mean(), rel=1e-12)


def test_what_is_validated_comes_back(of_kind) -> None:
    given = of_kind(LOG)
    if isinstance(given, pa.RecordBatchReader):
        with pytest.raises(
            ValueError, match="a RecordBatchReader can be read only once, so its rows would be lost after"
        ):
            ec.validate(given, "p", "y")
        assert ec.report(given, "p", "y")["n"].item() == N - 2
        return
    assert ec.validate(given, "p", "y") is given
    wrong = of_kind(LOG.with_columns(p=pl.col("p") * 2))
    with pytest.raises(
        ec.InvalidDataError, match=r"'p': posterior is NaN or outside \[0, 1\] in \d+ rows; the first: row"
    ):
        ec.validate(wrong, "p", "y")


def test_a_lazy_frame_gives_a_lazy_frame() -> None:
    assert isinstance(ec.report(LOG.lazy(), "p", "y"), pl.LazyFrame)
    assert isinstance(ec.report(LOG, "p", "y"), pl.DataFrame)
    assert as_lazy(LOG.lazy()).explain() == LOG.lazy().explain()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("log.parquet", r"frame= is str, .* for a file pass pl\.scan_parquet\(path\)"),
        ({"p": [0.5], "y": [1]}, "frame= is dict, which is not a table: pass a Polars, pandas or narwhals frame"),
        (None, "frame= is NoneType"),
        (pl.Series([0.5]), "frame= is Series"),
        (nw.from_native(pl.Series([0.5]), series_only=True), "frame= is Series"),
        (np.zeros((2, 2)), "frame= is ndarray"),
        ([pl.DataFrame()], "frame= is list"),
    ],
)
@pytest.mark.parametrize("function", [ec.report, ec.sketch, ec.calibrate, ec.validate])
def test_what_is_not_a_table_is_named(function, given, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        function(given, "p", "y")


# Batch by batch ------------------------------------------------------------------------------------------------------


def counted(n_batches: int, pulled: list[int]) -> pa.RecordBatchReader:
    """Batches of two rows, a positive scored 0.9 and a negative scored 0.2; each notes that it is pulled."""
    schema = pa.schema([("p", pa.float64()), ("y", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(n_batches):
            pulled.append(i)
            yield pa.record_batch([[0.9, 0.2], [1, 0]], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def test_each_batch_of_a_reader_is_pulled_once_and_late() -> None:
    pulled: list[int] = []
    lazy = as_lazy(counted(30, pulled))
    assert lazy.collect_schema() == {"p": pl.Float64, "y": pl.Int64}
    assert pulled == []
    assert lazy.select(ec.n_rows("p", "y"), ec.nec("p", "y")).collect(engine="streaming").row(0) == (60, 0.0)
    assert pulled == list(range(30))


def test_errors_of_the_call_leave_a_reader_unread() -> None:
    pulled: list[int] = []
    log = counted(3, pulled)
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        ec.report(log, "q", "y")
    assert pulled == []
    assert ec.report(log, "p", "y")["n"].item() == 6


def test_a_reader_is_not_held_in_memory() -> None:
    """A batch goes when it is summed: of what all of them take, only a part is there at any time."""
    schema = pa.schema([("p", pa.float64()), ("y", pa.int64())])
    ones = pa.array(np.ones(20_000, dtype=np.int32))
    before, most = pa.total_allocated_bytes(), 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for _ in range(300):
            yield pa.record_batch([ones.cast(pa.float64()), ones.cast(pa.int64())], schema=schema)
            most = max(most, pa.total_allocated_bytes() - before)

    table = ec.report(pa.RecordBatchReader.from_batches(schema, batches()), "p", "y")
    assert table["n"].item() == 300 * 20_000
    assert 0 < most < 300 * 20_000 * 16 / 4


def test_a_reader_that_has_been_read_is_an_error_and_not_an_empty_log() -> None:
    log = counted(3, [])
    assert ec.report(log, "p", "y")["n"].item() == 6
    for again in (ec.report, ec.sketch):
        with pytest.raises(
            ValueError,
            match=r"can be read only once, and its rows are already read: pass a table, such as reader\.read_all\(\)\. For",
        ):
            again(log, "p", "y")
    assert ec.report(pa.RecordBatchReader.from_batches(log.schema, []), "p", "y")["n"].item() == 0


def test_a_reader_of_another_library_is_read_once_too() -> None:
    lazy = as_lazy(Batches(counted(3, [])))
    assert lazy.select(pl.len()).collect().item() == 6
    with pytest.raises(ValueError, match="a Batches can be read only once, and its rows are already read"):
        lazy.select(pl.len()).collect()


def test_two_plans_of_one_reader_do_not_share_its_rows() -> None:
    log = counted(3, [])
    first, second = as_lazy(log), as_lazy(log)
    assert first.select(pl.len()).collect().item() == 6
    with pytest.raises(ValueError, match="a RecordBatchReader can be read only once"):
        second.select(pl.len()).collect()


def test_a_stream_that_is_empty_the_second_time_is_an_error() -> None:
    lazy = as_lazy(Stream(counted(3, [])))
    assert lazy.select(pl.len()).collect().item() == 6
    with pytest.raises(
        Exception, match="the second pass over the Stream gave 0 rows and the first 6: pass a source that can be read"
    ):
        lazy.select(pl.len()).collect()


def test_a_pass_may_stop_early() -> None:
    pulled: list[int] = []
    lazy = as_lazy(counted(2_000, pulled))
    assert lazy.head(3).collect(engine="streaming").height == 3
    assert 2 <= len(pulled) < 1_000


def test_a_relation_is_read_by_the_columns_that_are_needed() -> None:
    """Another column is not even computed, and the connection is free again, also after a pass that stops early."""
    connection = duckdb.connect()
    log = connection.sql(
        """SELECT 0.9::DOUBLE AS "a ""p"" b", i % 2 = 0 AS y, error('this column is read') AS wrong FROM range(300000) AS r(i)"""
    )
    assert ec.report(log, 'a "p" b', "y")["n"].item() == 300_000
    lazy = as_lazy(log)
    assert lazy.select("y").head(5).collect(engine="streaming").height == 5
    assert connection.sql("SELECT 1").fetchall() == [(1,)]
    with pytest.raises(Exception, match="this column is read"):
        lazy.collect()


def test_types_of_duckdb() -> None:
    log = duckdb.connect().sql(
        """SELECT 0.25::DECIMAL(9, 4) AS p, [0.1, 0.9]::DOUBLE[2] AS q, {'no': 0.2, 'yes': 0.8} AS s, i::HUGEINT AS h,
        'yes'::ENUM ('no', 'yes') AS y, TIMESTAMPTZ '2026-01-01 00:00:00+00' AS t FROM range(2) AS r(i)"""
    )
    assert ec.report(log, "p", "y", pos_label="yes")["nce"].item() is None
    for score in ("p", "q", "s"):
        table = ec.report(log, score, "y", classes=["no", "yes"], by=pl.col("t").dt.truncate("1mo"))
        assert table["n"].item() == 2
    assert ec.sketch(log, "p", "h", pos_label=1).evaluate("brier")["brier"].item() == pytest.approx(
        (0.25**2 + 0.75**2) / 2
    )


@pytest.mark.parametrize("kind", ["table", "batch", "reader", "dataset", "stream"])
def test_intervals_of_arrow_are_left_out(kind: str) -> None:
    """Polars has no such type."""
    delay = pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval())
    log = LOG.to_arrow().append_column("delay", delay)
    given = {
        "table": log,
        "batch": log.to_batches()[0],
        "reader": log.to_reader(),
        "dataset": ds.dataset(log),
        "stream": Stream(log),
    }[kind]
    assert as_lazy(given).collect_schema().names() == LOG.columns
    assert ec.report(given, "p", "y")["n"].item() == N - 2


def test_a_dataset_of_files_in_partitions(tmp_path) -> None:
    table = LOG.rename({"p": "p.1"}).to_arrow()
    ds.write_dataset(
        table,
        tmp_path,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("segment", pa.string())]), flavor="hive"),
    )
    found = ec.report(ds.dataset(tmp_path, partitioning="hive"), "p.1", "y", by="segment", cost_fn=4)
    assert found["nec"].to_list() == pytest.approx([nec_by_hand(LOG.filter(segment=s), 4) for s in "ab"], rel=1e-12)


def test_two_columns_of_one_name_are_named() -> None:
    column = pa.array([0.5])
    for log in (pa.table([column, column], ["p", "p"]), pd.DataFrame([[0.5, 0.5]], columns=["p", "p"])):
        with pytest.raises(ValueError, match=r"frame= has two columns 'p': rename one of them"):
            ec.report(log, "p", "y")


# pandas --------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "double[pyarrow]", "object"])
def test_nan_in_pandas_is_missing(dtype: str) -> None:
    """There it is how a missing number is written; anywhere else it is a wrong one."""
    log = pd.DataFrame({"p": pd.Series([0.75, np.nan, 0.25], dtype=dtype), "y": pd.Series([1, 0, None], dtype="Int64")})
    row = ec.report(log, "p", "y").row(0, named=True)
    assert (row["n"], row["n_missing"], row["n_invalid"]) == (1, 2, 0)
    arrow = pa.table({"p": [0.75, math.nan, 0.25], "y": [1, 0, None]})
    row = ec.report(arrow, "p", "y").row(0, named=True)
    assert (row["n"], row["n_missing"], row["n_invalid"]) == (1, 1, 1)


def test_labels_that_pandas_made_floats_need_a_positive_label() -> None:
    log = pd.DataFrame({"p": [0.75, 0.25, 0.5], "y": [1, 0, None]})
    assert log["y"].dtype == float
    with pytest.raises(TypeError, match="label 'y' is Float64, not Boolean or integers"):
        ec.report(log, "p", "y")
    row = ec.report(log, "p", "y", pos_label=1).row(0, named=True)
    assert (row["n"], row["n_missing"], row["tp"], row["tn"]) == (2, 1, 1, 1)


def test_levels_of_an_index_that_have_names_are_columns() -> None:
    log = pd.DataFrame(
        {"p": [0.9, 0.2, 0.6, 0.3], "y": [1, 0, 0, 1]},
        index=pd.MultiIndex.from_arrays([["b", "a", "b", "a"], [3, 2, 1, 0]], names=["segment", None]),
    )
    assert ec.report(log, "p", "y", by="segment").select("segment", "n", "tp").rows() == [("a", 2, 0), ("b", 2, 1)]
    kept = log.reset_index("segment").set_index("p", drop=False)
    assert as_lazy(kept).collect_schema().names() == ["segment", "p", "y"]
    assert list(log.columns) == ["p", "y"]


def test_periods_of_pandas_are_their_first_moment() -> None:
    days = pd.to_datetime(["2026-01-31", "2026-02-01", None, "2026-02-28"])
    frame = pd.DataFrame({"p": [0.9, 0.2, 0.3, 0.8], "y": [1, 0, 0, 1], "month": days.to_period("M")})
    for log, by in ((frame, "month"), (frame.set_index("month"), "month")):
        found = ec.report(log, "p", "y", by=by)
        assert found.select("month", "n").rows() == [(None, 1), (datetime(2026, 1, 1), 1), (datetime(2026, 2, 1), 2)]


def test_columns_of_pandas() -> None:
    log = pd.DataFrame(
        {
            0: [0.9, 0.2],
            "y": pd.Categorical(["late", "ok"]),
            "t": pd.to_datetime(["2026-01-05", "2026-01-20"], utc=True),
            "flag": pd.array([True, None], dtype="boolean"),
            "w": np.array([2, 3], dtype="uint8"),
        }
    )
    table = ec.report(log, "0", "y", pos_label="late", by=pl.col("t").dt.truncate("1mo"), weight="w")
    assert table.select("tn", "tp").row(0) == (3.0, 2.0)
    assert as_lazy(log).collect_schema()["flag"] == pl.Boolean


@pytest.mark.parametrize("column", [pd.Series([1, "a"], dtype=object), pd.Series(pd.arrays.SparseArray([1.0, np.nan]))])
def test_a_column_of_pandas_that_polars_does_not_have_is_named(column) -> None:
    log = pd.DataFrame({"p": [0.9, 0.2], "y": [1, 0], "note": column})
    with pytest.raises(
        TypeError, match=r"column 'note' of the pandas frame has the type .*: convert it, or pass only the columns"
    ):
        ec.report(log, "p", "y")
    assert ec.report(log[["p", "y"]], "p", "y")["n"].item() == 2


def test_frames_of_no_rows(of_kind) -> None:
    empty = LOG.clear()
    assert ec.report(of_kind(empty), "p", "y", pos_label=1).select("n", "nec").row(0) == (0, None)


def test_a_dict_of_scores_is_no_list_of_columns() -> None:
    log = pl.DataFrame({"p": [0.2, 0.8], "y": [0, 1]})
    with pytest.raises(TypeError, match=r"score= is a dict, whose values would be ignored: pass the names of columns"):
        ec.report(log, {"p": log["p"]}, "y")  # type: ignore[call-overload]
